// The part of `Deno` that small programs use. It is there only for programs that call it: others look for it to find out where they are.

import fs, { promises } from './fs.js';
import { inspect } from './inspect.js';
import { argumentsGiven, process } from './circumstances.js';
import { unsupported } from './unsupported.js';

class NotFound extends Error {}
class AlreadyExists extends Error {}
class PermissionDenied extends Error {}
for (const type of [NotFound, AlreadyExists, PermissionDenied]) type.prototype.name = type.name;

/** Deno has a class for each kind of error. */
function translated(error) {
  const Kind = { ENOENT: NotFound, EEXIST: AlreadyExists, EACCES: PermissionDenied, EROFS: PermissionDenied }[error.code];
  return Kind === undefined ? error : Object.assign(new Kind(error.message), { code: error.code });
}

const wrap =
  (run) =>
  (...args) => {
    try {
      return run(...args);
    } catch (error) {
      throw translated(error);
    }
  };
const wrapAsync =
  (run) =>
  async (...args) => {
    try {
      return await run(...args);
    } catch (error) {
      throw translated(error);
    }
  };

const info = (stats) => ({
  isFile: stats.isFile(),
  isDirectory: stats.isDirectory(),
  isSymlink: stats.isSymbolicLink(),
  size: stats.size,
  mtime: stats.mtime,
  atime: stats.atime,
  birthtime: stats.birthtime,
});
const entryOf = (entry) => ({
  name: entry.name,
  isFile: entry.isFile(),
  isDirectory: entry.isDirectory(),
  isSymlink: entry.isSymbolicLink(),
});
const flagOf = (options) => (options?.append ? 'a' : options?.createNew ? 'wx' : 'w');

const known = {
  get args() {
    return argumentsGiven();
  },
  env: {
    get: (name) => process.env[name],
    has: (name) => name in process.env,
    set: (name, value) => void (process.env[name] = value),
    delete: (name) => void delete process.env[name],
    toObject: () => ({ ...process.env }),
  },
  exit: (code = 0) => process.exit(code),
  cwd: () => process.cwd(),
  chdir: (path) => process.chdir(path),
  pid: 1,
  noColor: true,
  build: { os: 'linux', arch: 'wasm32', target: 'wasm32-wasi', vendor: 'unknown', standalone: false },
  version: { deno: '2.0.0', v8: '0.0.0', typescript: '5.6.0' },
  inspect,
  errors: { NotFound, AlreadyExists, PermissionDenied },
  readTextFile: wrapAsync((path) => promises.readFile(path, 'utf8')),
  readTextFileSync: wrap((path) => fs.readFileSync(path, 'utf8')),
  readFile: wrapAsync(async (path) => new Uint8Array(await promises.readFile(path))),
  readFileSync: wrap((path) => new Uint8Array(fs.readFileSync(path))),
  writeTextFile: wrapAsync((path, text, options) => promises.writeFile(path, text, { flag: flagOf(options) })),
  writeTextFileSync: wrap((path, text, options) => fs.writeFileSync(path, text, { flag: flagOf(options) })),
  writeFile: wrapAsync((path, data, options) => promises.writeFile(path, data, { flag: flagOf(options) })),
  writeFileSync: wrap((path, data, options) => fs.writeFileSync(path, data, { flag: flagOf(options) })),
  mkdir: wrapAsync((path, options) => promises.mkdir(path, options).then(() => {})),
  mkdirSync: wrap((path, options) => void fs.mkdirSync(path, options)),
  remove: wrapAsync((path, options) => promises.rm(path, options)),
  removeSync: wrap((path, options) => fs.rmSync(path, options)),
  rename: wrapAsync((from, to) => promises.rename(from, to)),
  renameSync: wrap((from, to) => fs.renameSync(from, to)),
  copyFile: wrapAsync((from, to) => promises.copyFile(from, to)),
  copyFileSync: wrap((from, to) => fs.copyFileSync(from, to)),
  stat: wrapAsync(async (path) => info(await promises.stat(path))),
  statSync: wrap((path) => info(fs.statSync(path))),
  lstat: wrapAsync(async (path) => info(await promises.lstat(path))),
  lstatSync: wrap((path) => info(fs.lstatSync(path))),
  readDir: async function* (path) {
    for (const entry of fs.readdirSync(path, { withFileTypes: true })) yield entryOf(entry);
  },
  *readDirSync(path) {
    for (const entry of fs.readdirSync(path, { withFileTypes: true })) yield entryOf(entry);
  },
  makeTempDir: async () => fs.mkdtempSync('/tmp/'),
  makeTempDirSync: () => fs.mkdtempSync('/tmp/'),
  stdout: {
    writeSync: (bytes) => fs.writeSync(1, bytes),
    write: async (bytes) => fs.writeSync(1, bytes),
    isTerminal: () => false,
  },
  stderr: {
    writeSync: (bytes) => fs.writeSync(2, bytes),
    write: async (bytes) => fs.writeSync(2, bytes),
    isTerminal: () => false,
  },
  stdin: {
    readSync: (bytes) => fs.readSync(0, bytes) || null,
    read: async (bytes) => fs.readSync(0, bytes) || null,
    isTerminal: () => false,
  },
};

export function installDeno() {
  const Deno = new Proxy(known, {
    get(target, name) {
      if (name in target || typeof name === 'symbol') return target[name];
      throw unsupported(`Deno.${name}`);
    },
  });
  Object.defineProperty(globalThis, 'Deno', { value: Deno, writable: true, configurable: true, enumerable: false });
}
