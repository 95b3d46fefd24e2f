// `readline`: lines from a stream, most often standard input.

import { EventEmitter, on, abortError } from './events.js';
import { fill } from './unsupported.js';

const ownEnd = (text) => (text.endsWith('\r') ? text.slice(0, -1) : text);

class Interface extends EventEmitter {
  #output;
  #prompt;
  #rest = '';
  #questions = [];
  /** Lines that came while nobody listened for them. */
  #waiting = [];

  constructor(input, output) {
    super();
    const options = typeof input?.on === 'function' ? { input, output } : (input ?? {});
    this.input = options.input;
    this.output = options.output;
    this.terminal = false;
    this.line = '';
    this.cursor = 0;
    this.history = [];
    this.closed = false;
    this.#output = options.output;
    this.#prompt = options.prompt ?? '> ';
    const decoder = new TextDecoder();
    this.input.on('data', (chunk) => this.#take(typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })));
    this.input.on('end', () => {
      if (this.#rest !== '') this.#line(this.#rest);
      this.#rest = '';
      this.close();
    });
    options.signal?.addEventListener('abort', () => this.close(), { once: true });
  }

  #take(text) {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop();
    for (const line of lines) this.#line(ownEnd(line));
  }
  #line(line) {
    if (this.closed) return;
    const question = this.#questions.shift();
    if (question !== undefined) question(line);
    else if (this.paused || (this.asking && this.listenerCount('line') === 0)) this.#waiting.push(line);
    else this.emit('line', line);
  }

  question(query, options, callback) {
    if (typeof options === 'function') [callback, options] = [options, {}];
    if (this.closed) throw Object.assign(new Error('readline was closed'), { code: 'ERR_USE_AFTER_CLOSE' });
    this.asking = true;
    this.#output?.write(query);
    if (this.#waiting.length > 0) callback(this.#waiting.shift());
    else {
      this.#questions.push(callback);
      options?.signal?.addEventListener('abort', () => {
        const index = this.#questions.indexOf(callback);
        if (index !== -1) this.#questions.splice(index, 1);
      });
    }
    this.resume();
  }
  prompt() {
    this.#output?.write(this.#prompt);
    this.resume();
  }
  setPrompt(prompt) {
    this.#prompt = prompt;
  }
  getPrompt() {
    return this.#prompt;
  }
  write(data) {
    if (typeof data === 'string') this.#take(data);
  }
  pause() {
    if (!this.paused) {
      this.paused = true;
      this.input.pause();
      this.emit('pause');
    }
    return this;
  }
  resume() {
    if (this.paused) {
      this.paused = false;
      this.input.resume();
      this.emit('resume');
    }
    return this;
  }
  close() {
    if (this.closed) return;
    this.closed = true;
    this.input.pause();
    this.emit('close');
  }
  async *[Symbol.asyncIterator]() {
    for await (const [line] of on(this, 'line', { close: ['close'] })) yield line;
  }
  [Symbol.dispose]() {
    this.close();
  }
}

class PromisesInterface extends Interface {
  question(query, { signal } = {}) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) reject(abortError(signal));
      else super.question(query, { signal }, resolve);
      signal?.addEventListener('abort', () => reject(abortError(signal)), { once: true });
    });
  }
}

// Nothing here is a terminal, so there is no cursor to move.
const nothing = (...args) => {
  const callback = args.at(-1);
  if (typeof callback === 'function') globalThis.process.nextTick(callback);
  return true;
};
export const promises = fill(
  { Interface: PromisesInterface, createInterface: (input, output) => new PromisesInterface(input, output) },
  'readline/promises',
  'Readline',
);

export default {
  Interface,
  createInterface: (input, output) => new Interface(input, output),
  clearLine: nothing,
  clearScreenDown: nothing,
  cursorTo: nothing,
  moveCursor: nothing,
  emitKeypressEvents() {},
  promises,
};
