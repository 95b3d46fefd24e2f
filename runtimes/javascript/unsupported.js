// What Node has and this runtime has not. A program that meets it is told so by an error, and the host by a report, so that it can run
// the program again where the thing exists. Nothing that is missing may quietly do something else.

import { reportUnsupported } from './host.js';

const reasons = new WeakMap();

/** The error to throw for a thing that is not here. */
export function unsupported(what, Kind = Error) {
  const reason = `\`${what}\` is not in the WebAssembly JavaScript`;
  const error = new Kind(reason);
  error.code = 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM';
  mark(error, reason);
  return error;
}

/** Remembers that this error is about something that is not here. */
export function mark(error, reason) {
  reasons.set(error, reason);
  reportUnsupported(reason);
  return error;
}

/** Stands in for a function that is not here: it exists, as in Node, and cannot be called. */
export function missing(what) {
  const name = what.slice(what.lastIndexOf('.') + 1);
  const stub = {
    [name]() {
      throw unsupported(what);
    },
  }[name];
  return stub;
}

/** Adds to a module what Node's has and ours has not. `names` are functions and classes; anything else is left out. */
export function fill(module, moduleName, names) {
  for (const name of names.split(' ')) {
    if (!(name in module)) module[name] = missing(`${moduleName}.${name}`);
  }
  return module;
}

// Globals of Node, Deno and Bun: a ReferenceError that names one of them is about what is missing here, not a mistake.
const GLOBALS = new Set(
  (
    'Intl WebAssembly Atomics fetch Request Response Headers FormData WebSocket EventSource CloseEvent navigator Navigator ' +
    'MessageChannel MessagePort MessageEvent BroadcastChannel Blob File CustomEvent Crypto CryptoKey SubtleCrypto ' +
    'ReadableStream ReadableStreamDefaultReader ReadableStreamBYOBReader ReadableStreamDefaultController ReadableByteStreamController ' +
    'ReadableStreamBYOBRequest WritableStream WritableStreamDefaultWriter WritableStreamDefaultController TransformStream ' +
    'TransformStreamDefaultController ByteLengthQueuingStrategy CountQueuingStrategy TextEncoderStream TextDecoderStream ' +
    'CompressionStream DecompressionStream PerformanceEntry PerformanceMark PerformanceMeasure PerformanceObserver ' +
    'PerformanceObserverEntryList PerformanceResourceTiming Deno Bun'
  ).split(' '),
);

/** Why an error that nobody caught is about something missing, or undefined. */
export function reasonOf(error) {
  if (error === null || typeof error !== 'object') return undefined;
  const reason = reasons.get(error);
  if (reason !== undefined) return reason;
  // Node's stack is deeper: what does not end here may end there.
  if (error instanceof RangeError && error.message === 'Maximum call stack size exceeded')
    return 'calls this deep need a larger stack than WebAssembly has';
  if (error instanceof ReferenceError) {
    const name = /^(\w+) is not defined$/.exec(error.message)?.[1];
    if (name !== undefined && GLOBALS.has(name)) return `\`${name}\` is not in the WebAssembly JavaScript`;
  }
  return undefined;
}
