// Stacks as Node's users know them: with a heading, with places in the caller's text, without our own frames.

import { translate } from './messages.js';
import { isOwn, original, sourceLine } from './places.js';

/** The name of the function that a CommonJS module's text is put into. */
const WRAPPER = '__module';

/** What V8 calls the built-in functions in a stack: `Array.map`. */
const nativeNames = new Map();

export function nameNatives() {
  const add = (object, prefix) => {
    for (const key of Reflect.ownKeys(object)) {
      const value = Object.getOwnPropertyDescriptor(object, key).value;
      if (typeof value === 'function' && typeof key === 'string' && key !== 'constructor') {
        nativeNames.set(value, `${prefix}.${key}`);
      }
    }
  };
  for (const type of [
    Object,
    Function,
    Array,
    String,
    Number,
    Boolean,
    BigInt,
    Symbol,
    RegExp,
    Date,
    Map,
    Set,
    Promise,
    ArrayBuffer,
  ]) {
    add(type, type.name === 'Function' || type.name === 'Promise' || type.name === 'Object' ? type.name : 'Function');
    add(type.prototype, type.name);
  }
  for (const [name, object] of Object.entries({ JSON, Math, Reflect })) add(object, name);
  add(Object.getPrototypeOf(Uint8Array).prototype, 'Uint8Array');
}

/** The frames of a stack that are the program's: where, and how V8 would write it. */
function frames(sites) {
  const result = [];
  for (const site of sites) {
    const file = site.getFileName();
    if (isOwn(file)) {
      // What our files call is theirs too: the `call` that starts the program.
      while (result.length > 0 && result.at(-1).file === undefined) result.pop();
      continue;
    }
    let name = site.getFunctionName() ?? '';
    if (site.isNative() || typeof file !== 'string') {
      result.push({ text: `    at ${nativeNames.get(site.getFunction()) ?? (name || 'native')} (<anonymous>)` });
      continue;
    }
    const { line, column } = original(file, site.getLineNumber(), site.getColumnNumber());
    const place = `${file}:${line}:${column}`;
    if (name === WRAPPER) name = 'Object.<anonymous>';
    const plain = name === '' || name.startsWith('<');
    result.push({ file, line, column, text: plain ? `    at ${place}` : `    at ${name} (${place})` });
  }
  return result;
}

const rawStack = Object.getOwnPropertyDescriptor(Error.prototype, 'stack').get;
const defineStack = (error, value) =>
  Object.defineProperty(error, 'stack', { value, writable: true, enumerable: false, configurable: true });

/** `Kind: message` of anything that has both, as the heading of its stack. */
function heading(error) {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return 'Error';
  }
}

const places = new WeakMap();

function stackOf(error, sites) {
  const list = frames(sites);
  const place = list.find((frame) => frame.file !== undefined);
  if (place !== undefined) places.set(error, place);
  return [heading(error), ...list.map((frame) => frame.text)].join('\n');
}

/** The error for a text that the host could not read: `line`, `column` and `message`, each on a line. */
export function refusal(file, text) {
  const [line, column, ...message] = text.split('\n');
  const error = new SyntaxError(message.join('\n'));
  const place = { file, line: Number(line), column: Number(column) };
  places.set(error, place);
  defineStack(error, `${heading(error)}\n    at ${file}:${line}:${column}`);
  return error;
}

/** Says where a module was imported, which the engine does not tell. */
export function locateImport(error, file, name) {
  for (let line = 1; ; line += 1) {
    const text = sourceLine(file, line);
    if (text === undefined) return;
    const column =
      Math.max(...[`'${name}'`, `"${name}"`, `'node:${name}'`, `"node:${name}"`].map((quoted) => text.indexOf(quoted))) + 1;
    if (column > 0) {
      places.set(error, { file, line, column });
      defineStack(error, `${heading(error)}\n    at ${file}:${line}:${column}`);
      return;
    }
  }
}

/** Where an error was thrown, in the caller's text: `{ file, line, column }` or undefined. */
export function placeOf(error) {
  if (error === null || typeof error !== 'object') return undefined;
  // The stack says it, and is made when somebody asks.
  void error.stack;
  return places.get(error);
}

// The engine calls this when an error is made, and keeps what it returns. Most errors are caught and never looked at, so the frames are
// written out when somebody asks for the stack.
function prepare(error, sites) {
  try {
    translate(error, sites);
  } catch {
    // An error whose message cannot be looked at keeps it.
  }
  unwritten.add(sites);
  return sites;
}

/** Frames that are not text yet. A program may have its own idea of stacks, and set `Error.prepareStackTrace`: those are none of ours. */
const unwritten = new WeakSet();

export function installStacks() {
  Object.defineProperty(Error.prototype, 'stack', {
    configurable: true,
    get() {
      const sites = rawStack.call(this);
      if (!unwritten.has(sites)) return sites ?? undefined;
      const stack = stackOf(this, sites);
      defineStack(this, stack);
      return stack;
    },
    set(value) {
      defineStack(this, value);
    },
  });
  const capture = Error.captureStackTrace;
  Object.defineProperty(Error, 'captureStackTrace', {
    configurable: true,
    writable: true,
    value: function captureStackTrace(target, above) {
      capture(target, above ?? captureStackTrace);
      const sites = Object.getOwnPropertyDescriptor(target, 'stack')?.value;
      if (unwritten.has(sites)) defineStack(target, stackOf(target, sites));
    },
  });
  Error.prepareStackTrace = prepare;
}
