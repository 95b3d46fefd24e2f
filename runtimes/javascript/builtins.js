// Node's own modules, by name.

import assert, { strict } from './assert.js';
import buffer from './buffer.js';
import { console } from './console.js';
import crypto from './crypto.js';
import events from './events.js';
import fs, { promises as fsPromises } from './fs.js';
import * as loop from './loop.js';
import os from './os.js';
import path from './path.js';
import perfHooks from './performance.js';
import { process } from './process.js';
import querystring from './querystring.js';
import readline, { promises as readlinePromises } from './readline.js';
import stream, { promises as streamPromises } from './stream.js';
import stringDecoder from './string_decoder.js';
import url from './url.js';
import util, { timersPromises, types } from './util.js';
import { fill, unsupported } from './unsupported.js';

const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate } = loop;
const timers = fill(
  { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate, promises: timersPromises },
  'timers',
  'active enroll unenroll',
);

Object.defineProperty(path, 'win32', {
  configurable: true,
  get() {
    throw unsupported('path.win32');
  },
});
fill(path, 'path', 'matchesGlob');

export const builtins = new Map(
  Object.entries({
    assert,
    'assert/strict': strict,
    buffer,
    console,
    constants: { ...os.constants.signals, ...fs.constants },
    crypto,
    events,
    fs,
    'fs/promises': fsPromises,
    os,
    path,
    'path/posix': path,
    perf_hooks: perfHooks,
    process,
    querystring,
    readline,
    'readline/promises': readlinePromises,
    stream,
    'stream/promises': streamPromises,
    string_decoder: stringDecoder,
    sys: util,
    timers,
    'timers/promises': timersPromises,
    tty: fill({ isatty: () => false }, 'tty', 'ReadStream WriteStream'),
    url,
    util,
    'util/types': types,
  }),
);

/** Those that are not here. */
export const MISSING = new Set(
  (
    'async_hooks child_process cluster dgram diagnostics_channel dns dns/promises domain http http2 https inspector ' +
    'inspector/promises net path/win32 punycode repl stream/consumers stream/web tls trace_events v8 vm wasi worker_threads zlib ' +
    'sqlite sea test test/reporters _http_agent _http_client _http_common _http_incoming _http_outgoing _http_server ' +
    '_stream_duplex _stream_passthrough _stream_readable _stream_transform _stream_wrap _stream_writable _tls_common _tls_wrap'
  ).split(' '),
);

export const builtin = (name) => builtins.get(name);

/** CommonJS modules that an ES module imports, by file. */
const imported = new Map();
export const setImported = (file, exports) => imported.set(file, exports);
export const required = (file) => imported.get(file);

const RESERVED = new Set(
  (
    'default break case catch class const continue debugger delete do else enum export extends false finally for function if import in ' +
    'instanceof new null return super switch this throw true try typeof var void while with yield let static implements interface package ' +
    'private protected public await eval arguments'
  ).split(' '),
);

/** A module that exports what an object has. */
export function exportsOf(object, expression) {
  const isObject = (typeof object === 'object' && object !== null) || typeof object === 'function';
  const names = isObject
    ? Object.keys(object).filter((name) => /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name) && !RESERVED.has(name))
    : [];
  return `import { builtin, required } from 'belljar:builtins.js';\nconst value = ${expression};\nexport default value;\n${
    names.length === 0
      ? ''
      : `const { ${names.map((name, index) => `${name}: v${index}`).join(', ')} } = value;\nexport { ${names.map((name, index) => `v${index} as ${name}`).join(', ')} };\n`
  }`;
}

/** A module that imports everything of Node's, to be run once before the snapshot. `process` is made of things that a run brings. */
const preload = () =>
  [...builtins.keys()]
    .filter((name) => name !== 'process' && name !== 'module')
    .map((name) => `import 'node:${name}';`)
    .join('\n');

/** The text of one of these as an ES module. */
export const builtinText = (name) => exportsOf(builtins.get(name), `builtin(${JSON.stringify(name)})`);

export default [(name) => builtinText(name.slice('node:'.length)), preload];
