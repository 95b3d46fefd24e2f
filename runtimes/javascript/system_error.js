// Errors of the operating system, as Node words them.

const ERRORS = {
  1: ['EPERM', 'operation not permitted'],
  2: ['ENOENT', 'no such file or directory'],
  3: ['ESRCH', 'no such process'],
  5: ['EIO', 'i/o error'],
  9: ['EBADF', 'bad file descriptor'],
  13: ['EACCES', 'permission denied'],
  16: ['EBUSY', 'resource busy or locked'],
  17: ['EEXIST', 'file already exists'],
  18: ['EXDEV', 'cross-device link not permitted'],
  20: ['ENOTDIR', 'not a directory'],
  21: ['EISDIR', 'illegal operation on a directory'],
  22: ['EINVAL', 'invalid argument'],
  23: ['ENFILE', 'file table overflow'],
  24: ['EMFILE', 'too many open files'],
  27: ['EFBIG', 'file too large'],
  28: ['ENOSPC', 'no space left on device'],
  30: ['EROFS', 'read-only file system'],
  36: ['ENAMETOOLONG', 'name too long'],
  39: ['ENOTEMPTY', 'directory not empty'],
  40: ['ELOOP', 'too many symbolic links encountered'],
  95: ['ENOTSUP', 'operation not supported'],
  122: ['EDQUOT', 'disk quota exceeded'],
};

export const errorNames = Object.fromEntries(Object.entries(ERRORS).map(([number, [code]]) => [code, Number(number)]));
export const errorMap = new Map(Object.entries(ERRORS).map(([number, entry]) => [-number, entry]));

/** The error for a negative number that the host answered with. */
export function systemError(number, syscall, path, destination) {
  const [code, words] = ERRORS[-number] ?? ['UNKNOWN', 'unknown error'];
  let message = `${code}: ${words}, ${syscall}`;
  if (path !== undefined) message += ` '${path}'`;
  if (destination !== undefined) message += ` -> '${destination}'`;
  const error = new Error(message);
  error.errno = number;
  error.code = code;
  error.syscall = syscall;
  if (path !== undefined) error.path = path;
  if (destination !== undefined) error.dest = destination;
  return error;
}
