// `path`, for POSIX.

import { invalidType } from './node_error.js';

function text(value, name) {
  if (typeof value === 'string') return value;
  throw invalidType(name, 'of type string', value);
}

let workingDirectory = '/';
export const setWorkingDirectory = (path) => {
  workingDirectory = path;
};
export const getWorkingDirectory = () => workingDirectory;

/** Takes `.` and `..` out. A relative path keeps the `..` it starts with. */
function simplify(path, isAbsolutePath) {
  const parts = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (!isAbsolutePath) parts.push('..');
  }
  return parts.join('/');
}

export function resolve(...paths) {
  let result = '';
  for (let i = paths.length - 1; i >= 0; i -= 1) {
    const path = text(paths[i], `paths[${i}]`);
    if (path === '') continue;
    result = result === '' ? path : `${path}/${result}`;
    if (path[0] === '/') return `/${simplify(result, true)}`;
  }
  return `/${simplify(`${workingDirectory}/${result}`, true)}`;
}

export function normalize(path) {
  text(path, 'path');
  if (path === '') return '.';
  const absolute = path[0] === '/';
  const trailing = path.endsWith('/');
  let result = simplify(path, absolute);
  if (result === '') return absolute ? '/' : trailing ? './' : '.';
  if (trailing) result += '/';
  return absolute ? `/${result}` : result;
}

export const isAbsolute = (path) => text(path, 'path')[0] === '/';

export function join(...paths) {
  const parts = paths.map((path) => text(path, 'path')).filter((path) => path !== '');
  return parts.length === 0 ? '.' : normalize(parts.join('/'));
}

export function relative(from, to) {
  const source = resolve(text(from, 'from')).split('/').filter(Boolean);
  const target = resolve(text(to, 'to')).split('/').filter(Boolean);
  let common = 0;
  while (common < source.length && common < target.length && source[common] === target[common]) common += 1;
  return [...source.slice(common).map(() => '..'), ...target.slice(common)].join('/');
}

export function dirname(path) {
  text(path, 'path');
  if (path === '') return '.';
  const trimmed = path.replace(/(?<=.)\/+$/, '');
  const slash = trimmed.lastIndexOf('/');
  if (slash === -1) return '.';
  return trimmed.slice(0, slash).replace(/\/+$/, '') || '/';
}

export function basename(path, suffix) {
  text(path, 'path');
  if (suffix !== undefined) text(suffix, 'suffix');
  const trimmed = path.replace(/\/+$/, '');
  const name = trimmed.slice(trimmed.lastIndexOf('/') + 1);
  return suffix !== undefined && name !== suffix && name.endsWith(suffix) ? name.slice(0, name.length - suffix.length) : name;
}

export function extname(path) {
  const name = basename(path);
  const dot = name.lastIndexOf('.');
  return dot <= 0 || name === '..' ? '' : name.slice(dot);
}

export function parse(path) {
  text(path, 'path');
  const root = path[0] === '/' ? '/' : '';
  const base = basename(path);
  const ext = extname(path);
  const trimmed = path.replace(/\/+$/, '');
  const slash = trimmed.lastIndexOf('/');
  const dir = slash === -1 ? '' : slash === 0 ? '/' : trimmed.slice(0, slash);
  return {
    root,
    dir: path !== '' && trimmed === '' ? '/' : dir,
    base,
    ext,
    name: ext === '' ? base : base.slice(0, -ext.length),
  };
}

export function format(parts) {
  if (parts === null || typeof parts !== 'object') throw invalidType('pathObject', 'of type object', parts);
  const dir = parts.dir || parts.root;
  const extension = parts.ext && parts.ext[0] !== '.' ? `.${parts.ext}` : (parts.ext ?? '');
  const base = parts.base || `${parts.name ?? ''}${extension}`;
  if (!dir) return base;
  return dir === parts.root ? `${dir}${base}` : `${dir}/${base}`;
}

const path = {
  resolve,
  normalize,
  isAbsolute,
  join,
  relative,
  toNamespacedPath: (value) => value,
  dirname,
  basename,
  extname,
  format,
  parse,
  sep: '/',
  delimiter: ':',
  _makeLong: (value) => value,
};
path.posix = path;
export default path;
