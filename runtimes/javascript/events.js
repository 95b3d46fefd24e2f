// `EventEmitter`, `EventTarget` and `AbortController`.

import { inspect } from './inspect.js';
import { setTimeout } from './loop.js';
import { codeError, invalidType, notAFunction } from './node_error.js';
import { raise } from './uncaught.js';
import { fill } from './unsupported.js';

export const errorMonitor = Symbol('events.errorMonitor');
const captureRejectionSymbol = Symbol.for('nodejs.rejection');
let defaultMaxListeners = 10;

export function EventEmitter(options) {
  EventEmitter.init.call(this, options);
}

EventEmitter.init = function init() {
  if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) this._events = Object.create(null);
  this._maxListeners ??= undefined;
};

const checkListener = (listener) => {
  if (typeof listener !== 'function') throw notAFunction('listener', listener);
};

function add(emitter, name, listener, atFront) {
  checkListener(listener);
  emitter._events ??= Object.create(null);
  if (emitter._events.newListener !== undefined) emitter.emit('newListener', name, listener.listener ?? listener);
  const list = (emitter._events[name] ??= []);
  // Those who are being called keep their list.
  emitter._events[name] = atFront ? [listener, ...list] : [...list, listener];
  return emitter;
}

function onceWrapper(emitter, name, listener) {
  checkListener(listener);
  const wrapper = (...args) => {
    emitter.removeListener(name, wrapper);
    return listener.apply(emitter, args);
  };
  wrapper.listener = listener;
  return wrapper;
}

const emitterMethods = {
  on(name, listener) {
    return add(this, name, listener, false);
  },
  prependListener(name, listener) {
    return add(this, name, listener, true);
  },
  once(name, listener) {
    return add(this, name, onceWrapper(this, name, listener), false);
  },
  prependOnceListener(name, listener) {
    return add(this, name, onceWrapper(this, name, listener), true);
  },
  removeListener(name, listener) {
    checkListener(listener);
    const list = this._events?.[name];
    if (list === undefined) return this;
    const index = list.findLastIndex((item) => item === listener || item.listener === listener);
    if (index === -1) return this;
    if (list.length === 1) delete this._events[name];
    else this._events[name] = list.toSpliced(index, 1);
    if (this._events.removeListener !== undefined) this.emit('removeListener', name, listener);
    return this;
  },
  removeAllListeners(name) {
    if (name === undefined) this._events = Object.create(null);
    else if (this._events !== undefined) delete this._events[name];
    return this;
  },
  emit(name, ...args) {
    const list = this._events?.[name];
    if (name === 'error') {
      for (const listener of this._events?.[errorMonitor] ?? []) listener.apply(this, args);
      if (list === undefined) throw unhandled(args[0]);
    }
    if (list === undefined) return false;
    for (const listener of list) listener.apply(this, args);
    return true;
  },
  listeners(name) {
    return (this._events?.[name] ?? []).map((listener) => listener.listener ?? listener);
  },
  rawListeners(name) {
    return [...(this._events?.[name] ?? [])];
  },
  listenerCount(name, listener) {
    const list = this._events?.[name] ?? [];
    return listener === undefined ? list.length : list.filter((item) => item === listener || item.listener === listener).length;
  },
  eventNames() {
    return this._events === undefined ? [] : Reflect.ownKeys(this._events);
  },
  setMaxListeners(count) {
    this._maxListeners = count;
    return this;
  },
  getMaxListeners() {
    return this._maxListeners ?? defaultMaxListeners;
  },
};
emitterMethods.addListener = emitterMethods.on;
emitterMethods.off = emitterMethods.removeListener;
Object.assign(EventEmitter.prototype, emitterMethods);
for (const key of Object.keys(emitterMethods)) Object.defineProperty(EventEmitter.prototype, key, { enumerable: false });

function unhandled(error) {
  if (error instanceof Error) return error;
  const wrapper = codeError(
    'ERR_UNHANDLED_ERROR',
    `Unhandled error. (${typeof error === 'string' ? `'${error}'` : inspect(error)})`,
  );
  wrapper.context = error;
  return wrapper;
}

export class Event {
  #type;
  #cancelable;
  #bubbles;
  #composed;
  #prevented = false;
  stopped = false;
  #target = null;
  #timeStamp = globalThis.performance.now();

  constructor(type, { bubbles = false, cancelable = false, composed = false } = {}) {
    if (arguments.length === 0) throw new TypeError('The "type" argument must be specified');
    this.#type = `${type}`;
    this.#cancelable = Boolean(cancelable);
    this.#bubbles = Boolean(bubbles);
    this.#composed = Boolean(composed);
    Object.defineProperty(this, 'stopped', { enumerable: false, writable: true });
  }
  get type() {
    return this.#type;
  }
  get target() {
    return this.#target;
  }
  get currentTarget() {
    return this.#target;
  }
  get srcElement() {
    return this.#target;
  }
  get cancelable() {
    return this.#cancelable;
  }
  get defaultPrevented() {
    return this.#cancelable && this.#prevented;
  }
  get returnValue() {
    return !this.defaultPrevented;
  }
  get bubbles() {
    return this.#bubbles;
  }
  get composed() {
    return this.#composed;
  }
  get eventPhase() {
    return this.#target === null ? 0 : 2;
  }
  get timeStamp() {
    return this.#timeStamp;
  }
  get isTrusted() {
    return false;
  }
  preventDefault() {
    this.#prevented = true;
  }
  stopPropagation() {}
  stopImmediatePropagation() {
    this.stopped = true;
  }
  composedPath() {
    return this.#target === null ? [] : [this.#target];
  }
  static send(event, target) {
    event.#target = target;
  }
}

export class CustomEvent extends Event {
  #detail;
  constructor(type, options = {}) {
    super(type, options);
    this.#detail = options.detail ?? null;
  }
  get detail() {
    return this.#detail;
  }
}

const sendTo = Event.send;
delete Event.send;

export class EventTarget {
  #listeners = new Map();

  addEventListener(type, listener, options) {
    if (listener === null || listener === undefined) return;
    const { capture = false, once = false, signal } = typeof options === 'boolean' ? { capture: options } : (options ?? {});
    if (signal?.aborted) return;
    const list = this.#listeners.get(`${type}`) ?? [];
    if (list.some((item) => item.listener === listener && item.capture === Boolean(capture))) return;
    this.#listeners.set(`${type}`, [...list, { listener, capture: Boolean(capture), once: Boolean(once) }]);
    signal?.addEventListener('abort', () => this.removeEventListener(type, listener, options), { once: true });
  }
  removeEventListener(type, listener, options) {
    const capture = Boolean(typeof options === 'boolean' ? options : options?.capture);
    const list = this.#listeners.get(`${type}`) ?? [];
    this.#listeners.set(
      `${type}`,
      list.filter((item) => item.listener !== listener || item.capture !== capture),
    );
  }
  dispatchEvent(event) {
    if (!(event instanceof Event)) throw invalidType('event', 'an instance of Event', event);
    sendTo(event, this);
    for (const item of this.#listeners.get(event.type) ?? []) {
      if (item.once) this.removeEventListener(event.type, item.listener, item.capture);
      try {
        if (typeof item.listener === 'function') item.listener.call(this, event);
        else item.listener.handleEvent(event);
      } catch (error) {
        raise(error);
      }
      if (event.stopped) break;
    }
    return !event.defaultPrevented;
  }
}

const makeSignal = Symbol('make');

export class AbortSignal extends EventTarget {
  #aborted = false;
  #reason;
  #handler = null;

  constructor(key) {
    super();
    if (key !== makeSignal) throw codeError('ERR_ILLEGAL_CONSTRUCTOR', 'Illegal constructor', TypeError);
  }
  get aborted() {
    return this.#aborted;
  }
  get reason() {
    return this.#reason;
  }
  get onabort() {
    return this.#handler;
  }
  set onabort(handler) {
    if (this.#handler !== null) this.removeEventListener('abort', this.#handler);
    this.#handler = typeof handler === 'function' ? handler : null;
    if (this.#handler !== null) this.addEventListener('abort', this.#handler);
  }
  throwIfAborted() {
    if (this.#aborted) throw this.#reason;
  }
  [inspect.custom](depth, options) {
    return `AbortSignal ${inspect({ aborted: this.#aborted }, options)}`;
  }
  static #abort(signal, reason) {
    if (signal.#aborted) return;
    signal.#aborted = true;
    signal.#reason = reason ?? new DOMException('This operation was aborted', 'AbortError');
    signal.dispatchEvent(new Event('abort'));
  }
  static abort(reason) {
    const signal = new AbortSignal(makeSignal);
    AbortSignal.#abort(signal, reason);
    return signal;
  }
  static timeout(delay) {
    const signal = new AbortSignal(makeSignal);
    setTimeout(
      () => AbortSignal.#abort(signal, new DOMException('The operation was aborted due to timeout', 'TimeoutError')),
      delay,
    ).unref();
    return signal;
  }
  static any(signals) {
    const result = new AbortSignal(makeSignal);
    for (const signal of signals) {
      if (signal.aborted) {
        AbortSignal.#abort(result, signal.reason);
        break;
      }
      signal.addEventListener('abort', () => AbortSignal.#abort(result, signal.reason), { once: true });
    }
    return result;
  }
  static controller() {
    const signal = new AbortSignal(makeSignal);
    return { signal, abort: (reason) => AbortSignal.#abort(signal, reason) };
  }
}

const newController = AbortSignal.controller;
delete AbortSignal.controller;

export class AbortController {
  #inner = newController();
  get signal() {
    return this.#inner.signal;
  }
  abort(reason) {
    this.#inner.abort(reason);
  }
  [inspect.custom](depth, options) {
    return `AbortController ${inspect({ signal: this.signal }, options)}`;
  }
}

for (const type of [Event, CustomEvent, EventTarget, AbortSignal, AbortController]) {
  Object.defineProperty(type.prototype, Symbol.toStringTag, { value: type.name, configurable: true });
}

export function abortError(signal) {
  const error = new Error('The operation was aborted', { cause: signal?.reason });
  error.name = 'AbortError';
  error.code = 'ABORT_ERR';
  return error;
}

export function once(emitter, name, { signal } = {}) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(abortError(signal));
      return;
    }
    if (typeof emitter.addEventListener === 'function') {
      emitter.addEventListener(name, (event) => resolve([event]), { once: true });
      return;
    }
    const clean = () => {
      emitter.removeListener(name, arrived);
      emitter.removeListener('error', failed);
    };
    const arrived = (...args) => {
      clean();
      resolve(args);
    };
    const failed = (error) => {
      clean();
      reject(error);
    };
    emitter.once(name, arrived);
    if (name !== 'error') emitter.once('error', failed);
    signal?.addEventListener(
      'abort',
      () => {
        clean();
        reject(abortError(signal));
      },
      { once: true },
    );
  });
}

/** An asynchronous iterator over what an emitter emits. `ends` are the events that end it. */
export function on(emitter, name, { signal, close: ends = [] } = {}) {
  const arrived = [];
  const waiting = [];
  let finished = false;
  let failure;
  const settle = () => {
    while (waiting.length > 0) {
      if (arrived.length > 0) waiting.shift().resolve({ value: arrived.shift(), done: false });
      else if (failure !== undefined) {
        waiting.shift().reject(failure);
        failure = undefined;
      } else if (finished) waiting.shift().resolve({ value: undefined, done: true });
      else return;
    }
  };
  const onEvent = (...args) => {
    arrived.push(args);
    settle();
  };
  const onError = (error) => {
    failure = error;
    finish();
  };
  const finish = () => {
    finished = true;
    emitter.removeListener(name, onEvent);
    emitter.removeListener('error', onError);
    for (const end of ends) emitter.removeListener(end, finish);
    settle();
  };
  emitter.on(name, onEvent);
  if (name !== 'error') emitter.on('error', onError);
  for (const end of ends) emitter.on(end, finish);
  if (signal?.aborted) throw abortError(signal);
  signal?.addEventListener('abort', () => onError(abortError(signal)), { once: true });
  return {
    next: () =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        settle();
      }),
    return() {
      finish();
      return Promise.resolve({ value: undefined, done: true });
    },
    throw(error) {
      onError(error);
      return Promise.resolve({ value: undefined, done: true });
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

Object.assign(EventEmitter, {
  EventEmitter,
  once,
  on,
  errorMonitor,
  captureRejectionSymbol,
  captureRejections: false,
  usingDomains: false,
  listenerCount: (emitter, name) => emitter.listenerCount(name),
  getEventListeners: (emitter, name) => emitter.listeners(name),
  getMaxListeners: (emitter) => emitter.getMaxListeners(),
  setMaxListeners(count, ...emitters) {
    if (emitters.length === 0) defaultMaxListeners = count;
    for (const emitter of emitters) emitter.setMaxListeners?.(count);
  },
  addAbortListener(signal, listener) {
    signal.addEventListener('abort', listener, { once: true });
    return { [Symbol.dispose]: () => signal.removeEventListener('abort', listener) };
  },
});
Object.defineProperty(EventEmitter, 'defaultMaxListeners', {
  enumerable: true,
  get: () => defaultMaxListeners,
  set: (count) => {
    defaultMaxListeners = count;
  },
});
fill(EventEmitter, 'events', 'EventEmitterAsyncResource');

export default EventEmitter;
