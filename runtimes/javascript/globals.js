// The global names of Node.

import { Buffer } from './buffer.js';
import { structuredClone } from './clone.js';
import { console } from './console.js';
import { webcrypto } from './crypto.js';
import { TextDecoder, TextEncoder } from './encoding.js';
import { AbortController, AbortSignal, CustomEvent, Event, EventTarget } from './events.js';
import * as locale from './locale.js';
import { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } from './loop.js';
import { notAFunction } from './node_error.js';
import { performance } from './performance.js';
import { process } from './process.js';
import * as proxies from './proxies.js';
import { random } from './random.js';
import { raise } from './uncaught.js';
import { unsupported } from './unsupported.js';
import { URL, URLSearchParams } from './url.js';

const nativeQueue = globalThis.queueMicrotask;

function queueMicrotask(callback) {
  if (typeof callback !== 'function') throw notAFunction('callback', callback);
  nativeQueue(() => {
    try {
      callback();
    } catch (error) {
      raise(error);
    }
  });
}

/** There is no network here, but there may be where the program can run again. */
async function fetch() {
  throw unsupported('fetch', TypeError);
}

export function installGlobals() {
  const enumerable = {
    clearImmediate,
    setImmediate,
    clearInterval,
    clearTimeout,
    setInterval,
    setTimeout,
    queueMicrotask,
    structuredClone,
    atob,
    btoa,
    performance,
    fetch,
    crypto: webcrypto,
  };
  const hidden = {
    console,
    process,
    Buffer,
    TextDecoder,
    TextEncoder,
    URL,
    URLSearchParams,
    AbortController,
    AbortSignal,
    Event,
    EventTarget,
    CustomEvent,
    global: globalThis,
  };
  for (const [names, isEnumerable] of [
    [enumerable, true],
    [hidden, false],
  ]) {
    for (const [name, value] of Object.entries(names)) {
      Object.defineProperty(globalThis, name, {
        value,
        writable: true,
        configurable: true,
        enumerable: isEnumerable || name === 'global',
      });
    }
  }
  Object.defineProperty(globalThis, Symbol.toStringTag, { value: 'global', configurable: true });
  Object.defineProperty(Math, 'random', { value: { random: () => random() }.random, writable: true, configurable: true });
  proxies.install();
  locale.install();
}
