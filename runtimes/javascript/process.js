// `process`: what the run was given, its streams, and its end.

import { Buffer, asBuffer } from './buffer.js';
import { announceExit, argumentsGiven, environmentGiven, getMainFile, process } from './circumstances.js';
import * as host from './host.js';
import { later, nextTick } from './loop.js';
import { invalidType } from './node_error.js';
import * as paths from './path.js';
import { Readable, Writable } from './stream.js';
import { systemError } from './system_error.js';
import { fill, unsupported } from './unsupported.js';

/** The version of Node whose interface this follows. */
const NODE = '20.19.0';
const ENGINE = '0.17.0';

class StandardInput extends Readable {
  constructor() {
    super({ highWaterMark: 64 * 1024 });
    this.fd = 0;
    this.isTTY = undefined;
  }
  _read(size) {
    later(() => {
      if (this.destroyed) return;
      const bytes = host.readStdin(size);
      this.push(bytes.length === 0 ? null : asBuffer(bytes));
    });
  }
  setRawMode() {
    throw unsupported('process.stdin.setRawMode');
  }
  ref() {
    return this;
  }
  unref() {
    return this;
  }
}

/** Output is handed over at once: nothing is lost when the program ends in the middle. */
class StandardOutput extends Writable {
  constructor(fd) {
    super({ decodeStrings: false });
    this.fd = fd;
    this.isTTY = undefined;
    this._type = 'pipe';
  }
  write(chunk, encoding, callback) {
    if (typeof encoding === 'function') [callback, encoding] = [encoding, undefined];
    if (typeof chunk === 'string')
      host.write(this.fd, encoding === undefined || /^utf-?8$/i.test(encoding) ? chunk : Buffer.from(chunk, encoding));
    else if (chunk instanceof Uint8Array) host.write(this.fd, chunk);
    else throw invalidType('chunk', 'of type string or an instance of Buffer, TypedArray, or DataView', chunk);
    if (callback) nextTick(callback);
    return true;
  }
  _write(chunk, encoding, callback) {
    host.write(this.fd, chunk);
    callback();
  }
  end(chunk, encoding, callback) {
    if (chunk !== undefined && typeof chunk !== 'function') this.write(chunk, encoding);
    const done = [chunk, encoding, callback].find((item) => typeof item === 'function');
    if (done) nextTick(done);
    return this;
  }
  _destroy(error, done) {
    done(error);
  }
  getColorDepth() {
    return 1;
  }
  hasColors() {
    return false;
  }
  cursorTo = clearing;
  moveCursor = clearing;
  clearLine = clearing;
  clearScreenDown = clearing;
}

// What moves the cursor of a terminal does nothing where there is none.
const clearing = (...args) => {
  const callback = args.at(-1);
  if (typeof callback === 'function') nextTick(callback);
  return true;
};

/** A property that is worked out when it is first looked at: after the snapshot, and only by those who want it. */
function lazy(target, name, make) {
  Object.defineProperty(target, name, {
    configurable: true,
    enumerable: true,
    get() {
      const value = make();
      Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: true });
      return value;
    },
    set(value) {
      Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: true });
    },
  });
}

/** Everything in an environment is text. */
function environment() {
  const store = environmentGiven();
  const textOnly = (key, value) => {
    if (typeof key === 'symbol' || typeof value === 'symbol') throw new TypeError('Cannot convert a Symbol value to a string');
    store[key] = `${value}`;
    return true;
  };
  return new Proxy(store, {
    set: (target, key, value) => textOnly(key, value),
    defineProperty: (target, key, property) => textOnly(key, property.value),
  });
}

const lazyArguments = () => lazy(process, 'argv', () => ['/usr/bin/node', getMainFile(), ...argumentsGiven()]);
const lazyInput = () => lazy(process, 'stdin', () => new StandardInput());
lazyArguments();
lazyInput();
lazy(process, 'env', environment);
lazy(process, 'stdout', () => new StandardOutput(1));
lazy(process, 'stderr', () => new StandardOutput(2));

function exitCodeOf(code) {
  if (code === undefined || code === null) return undefined;
  const number = typeof code === 'string' && code !== '' ? Number(code) : code;
  if (Number.isInteger(number)) return number;
  throw invalidType('code', 'of type number', code);
}

let workingDirectory;
const hrtime = (since) => {
  const time = host.milliseconds();
  let seconds = Math.floor(time / 1000);
  let nanoseconds = Math.floor((time % 1000) * 1e6);
  if (since !== undefined) {
    seconds -= since[0];
    nanoseconds -= since[1];
    if (nanoseconds < 0) [seconds, nanoseconds] = [seconds - 1, nanoseconds + 1e9];
  }
  return [seconds, nanoseconds];
};
hrtime.bigint = () => BigInt(Math.floor(host.milliseconds() * 1e6));

function memoryUsage() {
  const rss = host.memoryUsed();
  return { rss, heapTotal: rss, heapUsed: rss, external: 0, arrayBuffers: 0 };
}
memoryUsage.rss = host.memoryUsed;

Object.assign(process, {
  version: `v${NODE}`,
  versions: { node: NODE, quickjs: ENGINE },
  arch: 'wasm32',
  platform: 'linux',
  release: { name: 'node', lts: 'Iron' },
  title: 'node',
  pid: 1,
  ppid: 0,
  execPath: '/usr/bin/node',
  execArgv: [],
  argv0: 'node',
  features: { inspector: false, debug: false, uv: false, ipv6: false, tls: false, typescript: 'transform' },
  config: { target_defaults: {}, variables: {} },
  debugPort: 9229,
  moduleLoadList: [],
  sourceMapsEnabled: false,
  exit(code) {
    host.exit(announceExit(exitCodeOf(code)) & 255);
  },
  reallyExit(code = 0) {
    host.exit(code & 255);
  },
  abort() {
    throw unsupported('process.abort');
  },
  kill(pid, signal = 'SIGTERM') {
    if (pid !== process.pid) throw systemError(-3, 'kill');
    if (signal === 0) return true;
    // Only the program itself can hear of a signal. To die of one takes a kernel.
    if (process.listenerCount(signal) === 0) throw unsupported('process.kill');
    later(() => process.emit(signal, signal));
    return true;
  },
  cwd: () => (workingDirectory ??= paths.getWorkingDirectory()),
  chdir(directory) {
    const target = paths.resolve(directory);
    const answer = host.stat(target, true);
    if (typeof answer === 'number') throw systemError(answer, 'chdir', `${process.cwd()}' -> '${directory}`);
    if (!answer.startsWith('1')) throw systemError(-20, 'chdir', `${process.cwd()}' -> '${directory}`);
    paths.setWorkingDirectory(target);
    workingDirectory = target;
  },
  umask: () => 0o22,
  uptime: () => host.milliseconds() / 1000,
  hrtime,
  nextTick,
  memoryUsage,
  cpuUsage: () => ({ user: Math.round(host.milliseconds() * 1000), system: 0 }),
  constrainedMemory: () => 0,
  getuid: () => 1000,
  geteuid: () => 1000,
  getgid: () => 1000,
  getegid: () => 1000,
  getgroups: () => [1000],
  emitWarning(warning, type = 'Warning', code) {
    if (type !== null && typeof type === 'object') ({ type = 'Warning', code } = type);
    const error =
      warning instanceof Error
        ? warning
        : Object.assign(new Error(`${warning}`), { name: typeof type === 'string' ? type : 'Warning' });
    if (code) error.code ??= code;
    nextTick(() => {
      if (!process.emit('warning', error))
        host.write(2, `(node:1) ${error.code ? `[${error.code}] ` : ''}${error.name}: ${error.message}\n`);
    });
  },
  getActiveResourcesInfo: () => [],
  hasUncaughtExceptionCaptureCallback: () => false,
  setSourceMapsEnabled() {},
});
fill(
  process,
  'process',
  'binding dlopen _linkedBinding loadEnvFile resourceUsage availableMemory openStdin setUncaughtExceptionCaptureCallback ' +
    'initgroups setgroups setegid seteuid setgid setuid getBuiltinModule',
);

/** For a cell that was given something else than the one before. Of the environment, what the program itself set stays. */
export function renew() {
  lazyArguments();
  lazyInput();
  if ('value' in Object.getOwnPropertyDescriptor(process, 'env')) Object.assign(process.env, environmentGiven());
}

export { process };
export default process;
