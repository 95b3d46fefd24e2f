// The event loop: what runs after the program's own text. The host drains the engine's jobs (promises) and calls `turn` in between.

import { milliseconds } from './host.js';
import { inspect } from './inspect.js';
import { notAFunction } from './node_error.js';
import { raise } from './uncaught.js';

function attempt(callback, args) {
  try {
    callback(...args);
  } catch (error) {
    raise(error);
  }
}

const ticks = [];

export function nextTick(callback, ...args) {
  if (typeof callback !== 'function') throw notAFunction('callback', callback);
  ticks.push({ callback, args });
}

/** Runs everything that `process.nextTick` was given. True if there was anything. */
export function runTicks() {
  if (ticks.length === 0) return false;
  for (let i = 0; i < ticks.length; i += 1) attempt(ticks[i].callback, ticks[i].args);
  ticks.length = 0;
  return true;
}

const MAX_DELAY = 2 ** 31 - 1;

/** Waiting timers, the next one first. */
const timers = [];
/** The loop's idea of the time, in whole milliseconds. It stands still while a task runs, as in Node: timers of one task keep their order. */
let now = 0;
const byId = new Map();
let nextId = 1;

class Timeout {
  constructor(callback, delay, repeat, args) {
    delay = Number(delay);
    this._idleTimeout = delay >= 1 && delay <= MAX_DELAY ? Math.trunc(delay) : 1;
    this._onTimeout = callback;
    this._repeat = repeat;
    this._args = args;
    this._ref = true;
    this._id = nextId;
    nextId += 1;
    start(this);
  }
  ref() {
    this._ref = true;
    return this;
  }
  unref() {
    this._ref = false;
    return this;
  }
  hasRef() {
    return this._ref;
  }
  refresh() {
    remove(this);
    start(this);
    return this;
  }
  close() {
    remove(this);
    return this;
  }
  [Symbol.toPrimitive]() {
    return this._id;
  }
  [Symbol.dispose]() {
    remove(this);
  }
  [inspect.custom]() {
    return `Timeout {\n  _idleTimeout: ${this._idleTimeout},\n  _repeat: ${this._repeat ? this._idleTimeout : null},\n  [Symbol(asyncId)]: ${this._id}\n}`;
  }
}

function start(timer) {
  timer._due = now + timer._idleTimeout;
  byId.set(timer._id, timer);
  let low = 0;
  let high = timers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (timers[middle]._due <= timer._due) low = middle + 1;
    else high = middle;
  }
  timers.splice(low, 0, timer);
}

function remove(timer) {
  byId.delete(timer._id);
  const index = timers.indexOf(timer);
  if (index !== -1) timers.splice(index, 1);
}

export function setTimeout(callback, delay, ...args) {
  if (typeof callback !== 'function') throw notAFunction('callback', callback);
  return new Timeout(callback, delay, false, args);
}

export function setInterval(callback, delay, ...args) {
  if (typeof callback !== 'function') throw notAFunction('callback', callback);
  return new Timeout(callback, delay, true, args);
}

export function clearTimeout(timer) {
  if (timer instanceof Timeout) remove(timer);
  else if (timer !== undefined && timer !== null && typeof timer !== 'object') {
    const found = byId.get(Number(timer));
    if (found !== undefined) remove(found);
  }
}
export const clearInterval = { clearInterval: (timer) => clearTimeout(timer) }.clearInterval;

const immediates = [];

class Immediate {
  constructor(callback, args) {
    this._onImmediate = callback;
    this._args = args;
    this._ref = true;
    immediates.push(this);
  }
  ref() {
    this._ref = true;
    return this;
  }
  unref() {
    this._ref = false;
    return this;
  }
  hasRef() {
    return this._ref;
  }
  [Symbol.dispose]() {
    clearImmediate(this);
  }
}

export function setImmediate(callback, ...args) {
  if (typeof callback !== 'function') throw notAFunction('callback', callback);
  return new Immediate(callback, args);
}

export function clearImmediate(immediate) {
  if (immediate instanceof Immediate) immediate._onImmediate = null;
}

/** Work that the runtime itself has promised for later: the answers of `fs`, the data of standard input. In order, one a turn. */
const pending = [];
export const later = (callback, ...args) => void pending.push({ callback, args });

/** What is left of the current round of immediates: those that they add wait for the next. */
let round = 0;

/** One task. True if there was any. */
function runTask() {
  // A program that has only just started counts as a millisecond old: `setTimeout(…, 0)` comes before `setImmediate`, as it does in
  // Node, which takes longer to start.
  if (timers.length > 0) now = Math.floor(milliseconds()) + 1;
  if (timers.length > 0 && timers[0]._due <= now && round === 0) {
    const timer = timers.shift();
    if (timer._repeat) start(timer);
    else byId.delete(timer._id);
    attempt(timer._onTimeout.bind(timer), timer._args);
    return true;
  }
  if (round === 0 && pending.length > 0) {
    const { callback, args } = pending.shift();
    attempt(callback, args);
    return true;
  }
  if (round === 0) round = immediates.length;
  while (round > 0) {
    round -= 1;
    const immediate = immediates.shift();
    const callback = immediate._onImmediate;
    if (callback === null) continue;
    immediate._onImmediate = null;
    attempt(callback, immediate._args);
    return true;
  }
  return false;
}

/**
 * Runs the next thing. 0 when there was one, a number of milliseconds when there is one to wait for, -1 when there is nothing left.
 */
export function step() {
  if (runTicks()) return 0;
  if (runTask()) {
    runTicks();
    return 0;
  }
  if (timers.length > 0 && timers.some((timer) => timer._ref)) return Math.max(timers[0]._due - 1 - milliseconds(), 0.001);
  return -1;
}

/** Forgets everything that was to come: of a cell that was stopped, nothing goes on in the next. */
export function forget() {
  for (const list of [ticks, timers, immediates, pending]) list.length = 0;
  byId.clear();
  round = 0;
}
