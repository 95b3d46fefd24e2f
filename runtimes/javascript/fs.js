// `fs`, on the files of the run. The host has files by path; descriptors and streams are made of that here.

import { Buffer, asBuffer } from './buffer.js';
import { bytesOf } from './encoding.js';
import { abortError } from './events.js';
import * as host from './host.js';
import { inspect } from './inspect.js';
import { later } from './loop.js';
import { codeError, invalidType, notAFunction } from './node_error.js';
import * as paths from './path.js';
import { Readable, Writable } from './stream.js';
import { systemError } from './system_error.js';
import { fileURLToPath, URL } from './url.js';
import { fill, unsupported } from './unsupported.js';

const constants = {
  F_OK: 0,
  X_OK: 1,
  W_OK: 2,
  R_OK: 4,
  COPYFILE_EXCL: 1,
  COPYFILE_FICLONE: 2,
  COPYFILE_FICLONE_FORCE: 4,
  O_RDONLY: 0,
  O_WRONLY: 1,
  O_RDWR: 2,
  O_CREAT: 64,
  O_EXCL: 128,
  O_TRUNC: 512,
  O_APPEND: 1024,
  S_IFMT: 0o170000,
  S_IFREG: 0o100000,
  S_IFDIR: 0o040000,
  S_IFLNK: 0o120000,
};

/** A path as the caller wrote it. */
function pathText(value, name = 'path') {
  let text = value;
  if (value instanceof URL) text = fileURLToPath(value);
  else if (value instanceof Uint8Array) text = asBuffer(value).toString();
  if (typeof text !== 'string') throw invalidType(name, 'of type string or an instance of Buffer or URL', value);
  if (text.includes('\0')) {
    const message = `The argument '${name}' must be a string, Uint8Array, or URL without null bytes. Received ${inspect(text)}`;
    throw codeError('ERR_INVALID_ARG_VALUE', message, TypeError);
  }
  return text;
}

/** The path for the host. A name with a slash behind it must be a directory, which the host hears by that slash. */
function locate(text) {
  if (text === '') return '';
  const resolved = paths.resolve(text);
  return text.endsWith('/') && resolved !== '/' ? `${resolved}/` : resolved;
}

/** The host's answer, or the error it stands for. */
function check(answer, syscall, path, destination) {
  if (typeof answer === 'number' && answer < 0) throw systemError(answer, syscall, path, destination);
  return answer;
}

const settings = (options, defaults = {}) =>
  typeof options === 'string'
    ? { ...defaults, encoding: options }
    : { ...defaults, ...(typeof options === 'object' ? options : {}) };

/** Bytes in the form that was asked for: text, or a Buffer when no encoding is named. */
const inEncoding = (bytes, encoding) =>
  encoding === undefined || encoding === null || encoding === 'buffer' ? asBuffer(bytes) : asBuffer(bytes).toString(encoding);

/** What can be written to a file, as text or bytes. */
function contents(data, encoding) {
  if (typeof data === 'string')
    return encoding === undefined || encoding === null || /^utf-?8$/i.test(encoding) ? data : Buffer.from(data, encoding);
  const bytes = bytesOf(data);
  if (bytes === undefined) throw invalidType('data', 'of type string or an instance of Buffer, TypedArray, or DataView', data);
  return bytes;
}

function readAllStdin() {
  const parts = [];
  for (;;) {
    const part = host.readStdin(1 << 20);
    if (part.length === 0) break;
    parts.push(part);
  }
  return parts.length === 1 ? parts[0] : Buffer.concat(parts);
}

const STDIN_PATHS = new Set(['/dev/stdin', '/proc/self/fd/0', '/dev/fd/0']);
const STREAM_PATHS = new Map([
  ['/dev/stdout', 1],
  ['/dev/fd/1', 1],
  ['/dev/stderr', 2],
  ['/dev/fd/2', 2],
]);

const descriptors = new Map();
/** As many as the other languages may have, with the three that are always open. */
const MAX_DESCRIPTORS = 1024 - 3;
let nextDescriptor = 3;

function descriptor(fd, syscall) {
  if (typeof fd !== 'number') throw invalidType('fd', 'of type number', fd);
  const file = descriptors.get(fd);
  if (file === undefined) throw systemError(-9, syscall);
  return file;
}

class Stats {
  constructor(text) {
    const [kind, size, inode, accessed, modified, changed, links] = text.split(' ').map(Number);
    const type = [constants.S_IFREG | 0o644, constants.S_IFDIR | 0o755, constants.S_IFLNK | 0o777, 0o020000 | 0o666][kind];
    Object.assign(this, {
      dev: 1,
      mode: type,
      nlink: links || 1,
      uid: 1000,
      gid: 1000,
      rdev: 0,
      blksize: 4096,
      ino: inode,
      size,
      blocks: Math.ceil(size / 512),
      atimeMs: accessed,
      mtimeMs: modified,
      ctimeMs: changed,
      birthtimeMs: changed,
    });
    for (const name of ['atime', 'mtime', 'ctime', 'birthtime']) this[name] = new Date(this[`${name}Ms`]);
  }
  #is(type) {
    return (this.mode & constants.S_IFMT) === type;
  }
  isFile() {
    return this.#is(constants.S_IFREG);
  }
  isDirectory() {
    return this.#is(constants.S_IFDIR);
  }
  isSymbolicLink() {
    return this.#is(constants.S_IFLNK);
  }
  isCharacterDevice() {
    return this.#is(0o020000);
  }
  isBlockDevice() {
    return false;
  }
  isFIFO() {
    return false;
  }
  isSocket() {
    return false;
  }
}

class Dirent {
  #kind;
  constructor(name, parentPath, kind) {
    this.name = name;
    this.parentPath = parentPath;
    this.path = parentPath;
    this.#kind = kind;
    Object.defineProperty(this, Symbol('type'), { value: kind, enumerable: false });
  }
  isFile() {
    return this.#kind === 'f';
  }
  isDirectory() {
    return this.#kind === 'd';
  }
  isSymbolicLink() {
    return this.#kind === 'l';
  }
  isCharacterDevice() {
    return this.#kind === 'c';
  }
  isBlockDevice() {
    return false;
  }
  isFIFO() {
    return false;
  }
  isSocket() {
    return false;
  }
}

/** The flags of `open` that matter, from their short names. */
function openFlags(flags) {
  if (typeof flags === 'number') {
    return {
      read: (flags & 3) !== 1,
      write: (flags & 3) !== 0,
      create: (flags & constants.O_CREAT) !== 0,
      exclusive: (flags & constants.O_EXCL) !== 0,
      truncate: (flags & constants.O_TRUNC) !== 0,
      append: (flags & constants.O_APPEND) !== 0,
    };
  }
  const name = String(flags ?? 'r').replace('s', '');
  if (!/^(r|w|a)x?\+?$|^(w|a)\+?x$/.test(name)) {
    throw codeError('ERR_INVALID_ARG_VALUE', `The argument 'flags' is invalid. Received '${flags}'`, TypeError);
  }
  const plus = name.includes('+');
  return {
    read: name[0] === 'r' || plus,
    write: name[0] !== 'r' || plus,
    create: name[0] !== 'r',
    exclusive: name.includes('x'),
    truncate: name[0] === 'w',
    append: name[0] === 'a',
  };
}

function listEntries(path, given) {
  const text = check(host.list(path), 'scandir', given);
  return text === '' ? [] : text.split('\0').map((entry) => ({ kind: entry[0], name: entry.slice(1) }));
}

/** The functions that everything else is made of. Each either returns or throws. */
const sync = {
  readFileSync(path, options) {
    const { encoding, flag } = settings(options);
    if (Number.isInteger(path)) {
      if (path === 0) return inEncoding(readAllStdin(), encoding);
      const file = descriptor(path, 'read');
      const bytes = check(host.readAt(file.path, file.position, Number.MAX_SAFE_INTEGER), 'read');
      file.position += bytes.length;
      return inEncoding(bytes, encoding);
    }
    const given = pathText(path);
    const located = locate(given);
    if (STDIN_PATHS.has(located)) return inEncoding(readAllStdin(), encoding);
    if (flag !== undefined && openFlags(flag).create) sync.closeSync(sync.openSync(given, flag));
    const syscall = (answer) => (answer === -21 ? 'read' : 'open');
    const isUtf8 = typeof encoding === 'string' && /^utf-?8$/i.test(encoding);
    const answer = isUtf8 ? host.readText(located) : host.readFile(located);
    if (typeof answer === 'number') throw systemError(answer, syscall(answer), answer === -21 ? undefined : given);
    return isUtf8 ? answer : inEncoding(answer, encoding);
  },
  writeFileSync(path, data, options) {
    const { encoding, flag } = settings(options);
    const bytes = contents(data, encoding);
    if (typeof path === 'number') {
      sync.writeSync(path, bytes);
      return;
    }
    const given = pathText(path);
    const located = locate(given);
    if (STREAM_PATHS.has(located)) {
      host.write(STREAM_PATHS.get(located), bytes);
      return;
    }
    const flags = openFlags(flag ?? 'w');
    if (!flags.create && !flags.truncate) {
      const fd = sync.openSync(given, flag);
      sync.writeSync(fd, bytes);
      sync.closeSync(fd);
      return;
    }
    const how = flags.exclusive ? host.CREATE_NEW : flags.append ? host.APPEND : host.REPLACE;
    check(host.writeFile(located, bytes, how), 'open', given);
  },
  appendFileSync(path, data, options) {
    sync.writeFileSync(path, data, { ...settings(options), flag: settings(options).flag ?? 'a' });
  },
  existsSync(path) {
    try {
      return typeof host.stat(locate(pathText(path)), true) === 'string';
    } catch {
      return false;
    }
  },
  accessSync(path) {
    const given = pathText(path);
    check(host.stat(locate(given), true), 'access', given);
  },
  statSync(path, options) {
    return statOf(path, options, true, 'stat');
  },
  lstatSync(path, options) {
    return statOf(path, options, false, 'lstat');
  },
  fstatSync(fd) {
    if (fd >= 0 && fd <= 2) return new Stats('3 0 0 0 0 0 1');
    return new Stats(check(host.stat(descriptor(fd, 'fstat').path, true), 'fstat'));
  },
  mkdirSync(path, options) {
    const given = pathText(path);
    const located = paths.resolve(given);
    if (typeof options !== 'object' || !options?.recursive) {
      check(host.makeDirectory(located), 'mkdir', given);
      return undefined;
    }
    let first;
    let current = '';
    for (const part of located.split('/').slice(1)) {
      current += `/${part}`;
      const answer = host.makeDirectory(current);
      if (answer >= 0) first ??= current;
      else if (answer !== -17 && answer !== -21) {
        const there = host.stat(current, true);
        if (typeof there !== 'string') throw systemError(answer, 'mkdir', given);
      }
    }
    const there = check(host.stat(located, true), 'mkdir', given);
    if (!new Stats(there).isDirectory()) throw systemError(-17, 'mkdir', given);
    return first;
  },
  mkdtempSync(prefix, options) {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
    const name = `${pathText(prefix, 'prefix')}${Array.from(host.randomBytes(6), (byte) => letters[byte % letters.length]).join('')}`;
    check(host.makeDirectory(locate(name)), 'mkdtemp', `${prefix}XXXXXX`);
    return settings(options).encoding === 'buffer' ? Buffer.from(name) : name;
  },
  readdirSync(path, options) {
    const { withFileTypes = false, recursive = false, encoding } = settings(options);
    const given = pathText(path);
    const results = [];
    const visit = (located, relative) => {
      const parent = relative === '' ? given : paths.join(given, relative);
      const inner = [];
      for (const { kind, name } of listEntries(located, given)) {
        const full = relative === '' ? name : `${relative}/${name}`;
        if (withFileTypes) results.push(new Dirent(name, parent, kind));
        else results.push(encoding === 'buffer' ? Buffer.from(full) : full);
        if (recursive && kind === 'd') inner.push([`${located === '/' ? '' : located}/${name}`, full]);
      }
      for (const [directory, name] of inner) visit(directory, name);
    };
    visit(paths.resolve(given), '');
    return results;
  },
  opendirSync(path) {
    const entries = sync.readdirSync(path, { withFileTypes: true });
    return new Dir(pathText(path), entries);
  },
  unlinkSync(path) {
    const given = pathText(path);
    check(host.unlink(locate(given)), 'unlink', given);
  },
  rmdirSync(path, options) {
    const given = pathText(path);
    if (options?.recursive) sync.rmSync(path, { recursive: true });
    else check(host.removeDirectory(paths.resolve(given)), 'rmdir', given);
  },
  rmSync(path, options) {
    const { recursive = false, force = false } = options ?? {};
    const given = pathText(path);
    const located = paths.resolve(given);
    const there = host.stat(located, false);
    if (typeof there === 'number') {
      if (force && there === -2) return;
      throw systemError(there, 'rm', given);
    }
    if (!new Stats(there).isDirectory()) {
      check(host.unlink(located), 'rm', given);
      return;
    }
    if (!recursive) {
      const error = new Error(`Path is a directory: rm returned EISDIR (is a directory) ${given}`);
      Object.assign(error, { name: 'SystemError', code: 'ERR_FS_EISDIR', errno: 21, syscall: 'rm', path: given });
      throw error;
    }
    removeTree(located, given);
  },
  renameSync(from, to) {
    const [source, target] = [pathText(from, 'oldPath'), pathText(to, 'newPath')];
    check(host.rename(locate(source), locate(target)), 'rename', source, target);
  },
  copyFileSync(from, to, mode = 0) {
    const [source, target] = [pathText(from, 'src'), pathText(to, 'dest')];
    const bytes = check(host.readFile(locate(source)), 'copyfile', source, target);
    const how = mode & constants.COPYFILE_EXCL ? host.CREATE_NEW : host.REPLACE;
    check(host.writeFile(locate(target), bytes, how), 'copyfile', source, target);
  },
  cpSync(from, to, options) {
    const { recursive = false, force = true, errorOnExist = false, filter } = options ?? {};
    const copy = (source, target) => {
      if (filter !== undefined && !filter(source, target)) return;
      if (!sync.statSync(source).isDirectory()) {
        if (sync.existsSync(target)) {
          if (!force && errorOnExist) throw systemError(-17, 'cp', target);
          if (!force) return;
        }
        sync.mkdirSync(paths.dirname(target), { recursive: true });
        sync.copyFileSync(source, target);
        return;
      }
      if (!recursive) {
        const error = new Error(
          `Recursive option not enabled, cannot copy a directory: cp returned EISDIR (${source} is a directory (not copied)) ${source}`,
        );
        Object.assign(error, { name: 'SystemError', code: 'ERR_FS_EISDIR' });
        throw error;
      }
      sync.mkdirSync(target, { recursive: true });
      for (const name of sync.readdirSync(source)) copy(paths.join(source, name), paths.join(target, name));
    };
    copy(pathText(from, 'src'), pathText(to, 'dest'));
  },
  truncateSync(path, length = 0) {
    if (typeof path === 'number') {
      sync.ftruncateSync(path, length);
      return;
    }
    const given = pathText(path);
    check(host.truncate(locate(given), length ?? 0), 'open', given);
  },
  ftruncateSync(fd, length = 0) {
    check(host.truncate(descriptor(fd, 'ftruncate').path, length ?? 0), 'ftruncate');
  },
  utimesSync(path, accessed, modified) {
    const time = (value) => (value instanceof Date ? value.getTime() : Number(value) * 1000);
    const given = pathText(path);
    check(host.setTimes(locate(given), time(accessed), time(modified)), 'utime', given);
  },
  futimesSync(fd, accessed, modified) {
    sync.utimesSync(descriptor(fd, 'futime').path, accessed, modified);
  },
  symlinkSync(target, path) {
    const given = pathText(path);
    check(host.symlink(pathText(target, 'target'), locate(given)), 'symlink', pathText(target), given);
  },
  readlinkSync(path, options) {
    const given = pathText(path);
    const target = check(host.readLink(locate(given)), 'readlink', given);
    return settings(options).encoding === 'buffer' ? Buffer.from(target) : target;
  },
  realpathSync(path, options) {
    const given = pathText(path);
    const real = check(host.realPath(paths.resolve(given)), 'lstat', given);
    return settings(options).encoding === 'buffer' ? Buffer.from(real) : real;
  },
  // There is one user, who may do everything: modes and owners cannot change what they may.
  chmodSync(path) {
    sync.accessSync(path);
  },
  chownSync(path) {
    sync.accessSync(path);
  },
  fchmodSync(fd) {
    descriptor(fd, 'fchmod');
  },
  fchownSync(fd) {
    descriptor(fd, 'fchown');
  },
  openSync(path, flags = 'r') {
    const given = pathText(path);
    const located = locate(given);
    const wanted = openFlags(flags);
    if (STDIN_PATHS.has(located)) return 0;
    if (STREAM_PATHS.has(located)) return STREAM_PATHS.get(located);
    if (descriptors.size >= MAX_DESCRIPTORS) throw systemError(-24, 'open', given);
    const there = host.stat(located, true);
    if (typeof there === 'string') {
      if (wanted.exclusive && wanted.create) throw systemError(-17, 'open', given);
      if (wanted.write && new Stats(there).isDirectory()) throw systemError(-21, 'open', given);
      if (wanted.truncate && wanted.write) check(host.truncate(located, 0), 'open', given);
    } else if (!wanted.create) throw systemError(there, 'open', given);
    else check(host.writeFile(located, '', host.CREATE_NEW), 'open', given);
    const fd = nextDescriptor;
    nextDescriptor += 1;
    descriptors.set(fd, { path: located, position: 0, ...wanted });
    return fd;
  },
  closeSync(fd) {
    if (fd >= 0 && fd <= 2) return;
    descriptor(fd, 'close');
    descriptors.delete(fd);
  },
  readSync(fd, buffer, offset, length, position) {
    if (offset !== null && typeof offset === 'object') ({ offset, length, position } = offset);
    const target = bytesOf(buffer);
    if (target === undefined) throw invalidType('buffer', 'an instance of Buffer, TypedArray, or DataView', buffer);
    const start = offset ?? 0;
    const count = length ?? target.length - start;
    if (fd === 0) {
      const bytes = host.readStdin(count);
      target.set(bytes, start);
      return bytes.length;
    }
    const file = descriptor(fd, 'read');
    if (!file.read) throw systemError(-9, 'read');
    const isGiven = position !== undefined && position !== null && position !== -1;
    const bytes = check(host.readAt(file.path, Number(isGiven ? position : file.position), count), 'read');
    target.set(bytes, start);
    if (!isGiven) file.position += bytes.length;
    return bytes.length;
  },
  writeSync(fd, data, offset, length, position) {
    let bytes;
    if (typeof data === 'string') {
      // The rest of the arguments are position and encoding then.
      [position, bytes] = [
        typeof offset === 'number' ? offset : undefined,
        Buffer.from(data, typeof length === 'string' ? length : 'utf8'),
      ];
    } else {
      if (offset !== null && typeof offset === 'object') ({ offset, length, position } = offset);
      const all = bytesOf(data);
      if (all === undefined)
        throw invalidType('buffer', 'of type string or an instance of Buffer, TypedArray, or DataView', data);
      bytes = all.subarray(offset ?? 0, length === undefined || length === null ? undefined : (offset ?? 0) + length);
    }
    if (fd === 1 || fd === 2) {
      host.write(fd, bytes);
      return bytes.length;
    }
    const file = descriptor(fd, 'write');
    if (!file.write) throw systemError(-9, 'write');
    if (file.append) check(host.writeFile(file.path, bytes, host.APPEND), 'write');
    else {
      const isGiven = typeof position === 'number';
      check(host.writeAt(file.path, isGiven ? position : file.position, bytes), 'write');
      if (!isGiven) file.position += bytes.length;
    }
    return bytes.length;
  },
  readvSync(fd, buffers, position) {
    let total = 0;
    for (const buffer of buffers) {
      const count = sync.readSync(fd, buffer, 0, buffer.length, typeof position === 'number' ? position + total : undefined);
      total += count;
      if (count < buffer.length) break;
    }
    return total;
  },
  writevSync(fd, buffers, position) {
    return buffers.reduce(
      (total, buffer) =>
        total + sync.writeSync(fd, buffer, 0, buffer.length, typeof position === 'number' ? position + total : undefined),
      0,
    );
  },
  // Nothing is ever in a cache.
  fsyncSync(fd) {
    if (fd > 2) descriptor(fd, 'fsync');
  },
  fdatasyncSync(fd) {
    if (fd > 2) descriptor(fd, 'fdatasync');
  },
};
sync.realpathSync.native = sync.realpathSync;
sync.lchownSync = sync.chownSync;
sync.lutimesSync = sync.utimesSync;

function statOf(path, options, follow, syscall) {
  const given = pathText(path);
  if (options?.bigint) throw unsupported(`fs.${syscall} with bigint`);
  const answer = host.stat(locate(given), follow);
  if (options?.throwIfNoEntry === false && (answer === -2 || answer === -20)) return undefined;
  return new Stats(check(answer, syscall, given));
}

function removeTree(located, given) {
  for (const { kind, name } of listEntries(located, given)) {
    const inner = `${located === '/' ? '' : located}/${name}`;
    if (kind === 'd') removeTree(inner, given);
    else check(host.unlink(inner), 'rm', given);
  }
  check(host.removeDirectory(located), 'rm', given);
}

class Dir {
  #entries;
  constructor(path, entries) {
    this.path = path;
    this.#entries = entries;
  }
  readSync() {
    return this.#entries.shift() ?? null;
  }
  async read() {
    return this.readSync();
  }
  closeSync() {}
  async close() {}
  async *[Symbol.asyncIterator]() {
    while (this.#entries.length > 0) yield this.#entries.shift();
  }
}

/** The form with a promise: it is done at once, and answered in a later turn of the loop. */
function promised(name) {
  const run = sync[`${name}Sync`];
  return {
    [name]: (...args) =>
      new Promise((resolve, reject) => {
        const { signal } = (typeof args.at(-1) === 'object' && args.at(-1)) || {};
        if (signal?.aborted) {
          reject(abortError(signal));
          return;
        }
        let result;
        try {
          result = run(...args.map((argument) => (argument instanceof FileHandle ? argument.fd : argument)));
        } catch (error) {
          later(reject, error);
          return;
        }
        later(resolve, result);
      }),
  }[name];
}

/** The form with a callback, which may be given more than an error. */
function withCallback(name, answer = (result) => (result === undefined ? [null] : [null, result])) {
  const run = sync[`${name}Sync`];
  return {
    [name](...args) {
      const callback = args.pop();
      if (typeof callback !== 'function') throw notAFunction('cb', callback);
      let result;
      try {
        result = run(...args);
      } catch (error) {
        // Wrong arguments are thrown, as they would be in Node.
        if (error.code?.startsWith('ERR_INVALID_ARG')) throw error;
        later(callback, error);
        return;
      }
      later(callback, ...answer(result, args));
    },
  }[name];
}

class FileHandle {
  constructor(fd) {
    this.fd = fd;
  }
  readFile(options) {
    return promises.readFile(this.fd, options);
  }
  writeFile(data, options) {
    return promises.writeFile(this.fd, data, options);
  }
  appendFile(data, options) {
    return promises.appendFile(this.fd, data, options);
  }
  async read(buffer, offset, length, position) {
    if (buffer === undefined || (typeof buffer === 'object' && bytesOf(buffer) === undefined)) {
      ({ buffer = Buffer.alloc(16384), offset, length, position } = buffer ?? {});
    }
    return { bytesRead: sync.readSync(this.fd, buffer, offset, length, position), buffer };
  }
  async write(data, ...rest) {
    return { bytesWritten: sync.writeSync(this.fd, data, ...rest), buffer: data };
  }
  async stat() {
    return sync.fstatSync(this.fd);
  }
  async truncate(length) {
    sync.ftruncateSync(this.fd, length);
  }
  async sync() {}
  async datasync() {}
  async utimes(accessed, modified) {
    sync.futimesSync(this.fd, accessed, modified);
  }
  async *readLines(options) {
    const text = (await this.readFile(options?.encoding ?? 'utf8')).split(/\r?\n/);
    if (text.at(-1) === '') text.pop();
    yield* text;
  }
  createReadStream(options) {
    return new ReadStream(undefined, { ...options, fd: this.fd });
  }
  createWriteStream(options) {
    return new WriteStream(undefined, { ...options, fd: this.fd });
  }
  async close() {
    sync.closeSync(this.fd);
  }
  async [Symbol.asyncDispose]() {
    await this.close();
  }
}

class ReadStream extends Readable {
  constructor(path, options) {
    const given = settings(options);
    super({ highWaterMark: 64 * 1024, ...given });
    this.path = path;
    this.flags = given.flags ?? 'r';
    this.bytesRead = 0;
    this.fd = typeof given.fd === 'number' ? given.fd : null;
    this._position = given.start;
    this._left = given.end === undefined || given.end === Infinity ? Infinity : given.end - (given.start ?? 0) + 1;
    this._close = given.autoClose ?? true;
  }
  _construct(done) {
    if (this.fd === null) {
      try {
        this.fd = sync.openSync(this.path, this.flags);
      } catch (error) {
        later(done, error);
        return;
      }
    }
    later(() => {
      done();
      this.emit('open', this.fd);
      this.emit('ready');
    });
  }
  _read(size) {
    later(() => {
      if (this.destroyed) return;
      const buffer = Buffer.alloc(Math.min(size, this._left));
      let count;
      try {
        count = buffer.length === 0 ? 0 : sync.readSync(this.fd, buffer, 0, buffer.length, this._position);
      } catch (error) {
        this.destroy(error);
        return;
      }
      this.bytesRead += count;
      this._left -= count;
      if (this._position !== undefined) this._position += count;
      this.push(count === 0 ? null : buffer.subarray(0, count));
    });
  }
  _destroy(error, done) {
    if (this.fd !== null && this._close) {
      try {
        sync.closeSync(this.fd);
      } catch {
        // It was closed already.
      }
      this.fd = null;
    }
    done(error);
  }
  close(callback) {
    if (callback) this.once('close', callback);
    this.destroy();
  }
}

class WriteStream extends Writable {
  constructor(path, options) {
    const given = settings(options);
    super({ decodeStrings: true, ...given, defaultEncoding: given.encoding });
    this.path = path;
    this.flags = given.flags ?? 'w';
    this.bytesWritten = 0;
    this.fd = typeof given.fd === 'number' ? given.fd : null;
    this._position = given.start;
  }
  _construct(done) {
    if (this.fd === null) {
      try {
        this.fd = sync.openSync(this.path, this.flags);
      } catch (error) {
        later(done, error);
        return;
      }
    }
    later(() => {
      done();
      this.emit('open', this.fd);
      this.emit('ready');
    });
  }
  _write(chunk, encoding, done) {
    try {
      const count = sync.writeSync(this.fd, chunk, 0, chunk.length, this._position);
      this.bytesWritten += count;
      if (this._position !== undefined) this._position += count;
    } catch (error) {
      later(done, error);
      return;
    }
    later(done);
  }
  _destroy(error, done) {
    ReadStream.prototype._destroy.call(Object.assign(this, { _close: true }), error, done);
  }
  close(callback) {
    if (callback) this.once('close', callback);
    this.end();
  }
}

const BOTH = (
  'readFile writeFile appendFile access stat lstat mkdir mkdtemp readdir opendir unlink rmdir rm rename copyFile cp truncate utimes ' +
  'lutimes symlink readlink realpath chmod chown lchown'
).split(' ');
const CALLBACK_ONLY = 'open close fstat ftruncate futimes fchmod fchown fsync fdatasync'.split(' ');

export const promises = { constants };
for (const name of BOTH) promises[name] = promised(name);
promises.open = async (path, flags, mode) => new FileHandle(sync.openSync(path, flags, mode));
fill(promises, 'fs.promises', 'watch statfs link lchmod');

const fs = {
  ...sync,
  constants,
  promises,
  Stats,
  Dirent,
  Dir,
  ReadStream,
  WriteStream,
  FileReadStream: ReadStream,
  FileWriteStream: WriteStream,
};
for (const name of [...BOTH, ...CALLBACK_ONLY]) fs[name] = withCallback(name);
for (const name of ['read', 'readv']) fs[name] = withCallback(name, (count, args) => [null, count, args[1]]);
for (const name of ['write', 'writev']) fs[name] = withCallback(name, (count, args) => [null, count, args[1]]);
fs.realpath.native = fs.realpath;
fs.exists = (path, callback) => later(callback, sync.existsSync(path));
fs.createReadStream = (path, options) => new ReadStream(path, options);
fs.createWriteStream = (path, options) => new WriteStream(path, options);
for (const name of ['F_OK', 'R_OK', 'W_OK', 'X_OK']) fs[name] = constants[name];
fill(fs, 'fs', 'link linkSync openAsBlob statfs statfsSync watch watchFile unwatchFile glob globSync');

export default fs;
