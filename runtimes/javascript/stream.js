// `stream`: the parts that programs use. Back pressure is kept, so that a producer waits for a slow consumer.

import { Buffer } from './buffer.js';
import { StringDecoder } from './string_decoder.js';
import { EventEmitter, abortError } from './events.js';
import { nextTick } from './loop.js';
import { codeError, invalidType } from './node_error.js';
import { fill } from './unsupported.js';

const HIGH_WATER_MARK = 16 * 1024;
const OBJECT_HIGH_WATER_MARK = 16;

/** What all streams have: an end that comes once, with or without an error. */
export function Stream(options) {
  EventEmitter.call(this, options);
}
Object.setPrototypeOf(Stream.prototype, EventEmitter.prototype);
Object.setPrototypeOf(Stream, EventEmitter);

function initialize(stream, options) {
  stream.destroyed = false;
  stream.closed = false;
  stream.errored = null;
  for (const name of ['read', 'write', 'writev', 'final', 'destroy', 'transform', 'flush', 'construct']) {
    if (typeof options?.[name] === 'function') stream[`_${name}`] = options[name];
  }
  stream._autoDestroy = options?.autoDestroy ?? true;
  const signal = options?.signal;
  if (signal?.aborted) stream.destroy(abortError(signal));
  else signal?.addEventListener('abort', () => stream.destroy(abortError(signal)), { once: true });
  if (typeof stream._construct === 'function') {
    stream._constructing = true;
    nextTick(() =>
      stream._construct((error) => {
        stream._constructing = false;
        if (error) stream.destroy(error);
        else {
          if (stream._readable) maybeRead(stream);
          if (stream._writable) writeNext(stream);
        }
      }),
    );
  }
}

Stream.prototype.destroy = function destroy(error) {
  if (this.destroyed) return this;
  this.destroyed = true;
  this.errored = error ?? null;
  this._destroy(error ?? null, (other) => {
    const final = other ?? error;
    nextTick(() => {
      this.closed = true;
      if (final) this.emit('error', final);
      this.emit('close');
    });
  });
  return this;
};
Stream.prototype._destroy = function (error, done) {
  done(error);
};
Stream.prototype[Symbol.asyncDispose] = async function () {
  this.destroy();
};

export function Readable(options) {
  if (!(this instanceof Readable)) return new Readable(options);
  Stream.call(this, options);
  startReadable(this, options);
  initialize(this, options);
}
Object.setPrototypeOf(Readable.prototype, Stream.prototype);
Object.setPrototypeOf(Readable, Stream);

function startReadable(stream, options) {
  const objectMode = Boolean(options?.objectMode ?? options?.readableObjectMode);
  Object.defineProperty(stream, '_readable', {
    configurable: true,
    value: {
      objectMode,
      limit: options?.highWaterMark ?? options?.readableHighWaterMark ?? (objectMode ? OBJECT_HIGH_WATER_MARK : HIGH_WATER_MARK),
      chunks: [],
      length: 0,
      flowing: null,
      ended: false,
      ending: false,
      endEmitted: false,
      reading: false,
      scheduled: false,
      decoder: null,
      pipes: [],
    },
  });
  if (options?.encoding) stream.setEncoding(options.encoding);
}

const sizeOf = (state, chunk) => (state.objectMode ? 1 : chunk.length);

function maybeRead(stream) {
  const state = stream._readable;
  if (state.reading || state.ended || stream.destroyed || stream._constructing || state.length >= Math.max(state.limit, 1))
    return;
  state.reading = true;
  try {
    stream._read(state.limit);
  } catch (error) {
    stream.destroy(error);
  }
}

/** Hands out what is there, soon. */
function schedule(stream) {
  const state = stream._readable;
  if (state.scheduled) return;
  state.scheduled = true;
  nextTick(() => {
    state.scheduled = false;
    flow(stream);
  });
}

function flow(stream) {
  const state = stream._readable;
  if (stream.destroyed) return;
  while (state.flowing && state.chunks.length > 0) stream.emit('data', take(stream));
  if (!state.flowing && stream.listenerCount('readable') > 0 && (state.chunks.length > 0 || state.ended)) stream.emit('readable');
  if (state.ended && state.chunks.length === 0 && (state.flowing || stream.listenerCount('readable') > 0 || state.wasRead)) {
    if (state.ending) return;
    state.ending = true;
    nextTick(() => {
      if (stream.destroyed) return;
      state.endEmitted = true;
      stream.emit('end');
      if (stream._autoDestroy && (!stream._writable || stream._writable.finished)) stream.destroy();
    });
    return;
  }
  if (state.flowing || stream.listenerCount('readable') > 0) maybeRead(stream);
}

function take(stream) {
  const state = stream._readable;
  const chunk = state.chunks.shift();
  state.length -= sizeOf(state, chunk);
  return chunk;
}

const readableMethods = {
  push(chunk, encoding) {
    const state = this._readable;
    state.reading = false;
    if (state.ended) {
      if (chunk !== null) this.destroy(codeError('ERR_STREAM_PUSH_AFTER_EOF', 'stream.push() after EOF'));
      return false;
    }
    if (chunk === null) {
      state.ended = true;
      const rest = state.decoder?.end();
      if (rest) add(state, rest);
    } else if (state.objectMode) add(state, chunk);
    else {
      let part = typeof chunk === 'string' && !(state.decoder && !encoding) ? Buffer.from(chunk, encoding) : chunk;
      if (typeof part !== 'string' && !(part instanceof Buffer)) {
        if (!(part instanceof Uint8Array)) {
          this.destroy(invalidType('chunk', 'of type string or an instance of Buffer or Uint8Array', chunk));
          return false;
        }
        part = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
      }
      if (state.decoder && typeof part !== 'string') part = state.decoder.write(part);
      if (part.length > 0) add(state, part);
    }
    schedule(this);
    return !state.ended && state.length < state.limit;
  },
  unshift(chunk, encoding) {
    const state = this._readable;
    const part = !state.objectMode && typeof chunk === 'string' && !state.decoder ? Buffer.from(chunk, encoding) : chunk;
    state.chunks.unshift(part);
    state.length += sizeOf(state, part);
    schedule(this);
  },
  read(size) {
    const state = this._readable;
    state.wasRead = true;
    if (state.chunks.length === 0) {
      maybeRead(this);
      if (state.chunks.length === 0) {
        if (state.ended) schedule(this);
        return null;
      }
    }
    let result;
    if (state.objectMode) result = take(this);
    else {
      const all = state.decoder ? state.chunks.join('') : Buffer.concat(state.chunks);
      const count = size === undefined || size >= all.length ? all.length : size;
      if (size !== undefined && size > all.length && !state.ended) {
        maybeRead(this);
        return null;
      }
      result = all.slice(0, count);
      state.chunks = count < all.length ? [all.slice(count)] : [];
      state.length = all.length - count;
    }
    if (!state.flowing) {
      schedule(this);
      if (state.flowing === null && this.listenerCount('data') > 0) this.emit('data', result);
    }
    maybeRead(this);
    return result;
  },
  _read() {
    throw codeError('ERR_METHOD_NOT_IMPLEMENTED', 'The _read() method is not implemented');
  },
  on(name, listener) {
    EventEmitter.prototype.on.call(this, name, listener);
    const state = this._readable;
    if (name === 'data' && state.flowing !== false) this.resume();
    else if (name === 'readable') {
      state.flowing = false;
      schedule(this);
    }
    return this;
  },
  resume() {
    this._readable.flowing = true;
    schedule(this);
    return this;
  },
  pause() {
    this._readable.flowing = false;
    this.emit('pause');
    return this;
  },
  isPaused() {
    return this._readable.flowing === false;
  },
  setEncoding(encoding) {
    const state = this._readable;
    state.decoder = new StringDecoder(encoding);
    state.encoding = state.decoder.encoding;
    const text = state.chunks.map((chunk) => state.decoder.write(chunk)).join('');
    state.chunks = text === '' ? [] : [text];
    state.length = text.length;
    return this;
  },
  pipe(target, { end = true } = {}) {
    const onData = (chunk) => {
      if (target.write(chunk) === false) this.pause();
    };
    const onDrain = () => this.resume();
    const onEnd = () => {
      if (end && target !== globalThis.process?.stdout && target !== globalThis.process?.stderr) target.end();
    };
    this._readable.pipes.push({ target, onData, onDrain, onEnd });
    target.on('drain', onDrain);
    this.on('end', onEnd);
    target.emit('pipe', this);
    this.on('data', onData);
    return target;
  },
  unpipe(target) {
    const state = this._readable;
    for (const pipe of state.pipes.filter((item) => target === undefined || item.target === target)) {
      this.off('data', pipe.onData);
      this.off('end', pipe.onEnd);
      pipe.target.off('drain', pipe.onDrain);
      pipe.target.emit('unpipe', this);
    }
    state.pipes = state.pipes.filter((item) => target !== undefined && item.target !== target);
    if (state.pipes.length === 0) this.pause();
    return this;
  },
  [Symbol.asyncIterator]() {
    return iterate(this);
  },
  iterator() {
    return iterate(this);
  },
  async toArray() {
    const items = [];
    for await (const item of this) items.push(item);
    return items;
  },
  async forEach(callback) {
    for await (const item of this) await callback(item);
  },
  map(callback) {
    return from(
      transformed(this, async function* (item) {
        yield await callback(item);
      }),
    );
  },
  filter(callback) {
    return from(
      transformed(this, async function* (item) {
        if (await callback(item)) yield item;
      }),
    );
  },
  async reduce(callback, initial) {
    const items = await this.toArray();
    return arguments.length < 2 ? items.reduce((a, b) => callback(a, b)) : items.reduce((a, b) => callback(a, b), initial);
  },
};
readableMethods.addListener = readableMethods.on;

async function* transformed(source, callback) {
  for await (const item of source) yield* callback(item);
}

function add(state, chunk) {
  state.chunks.push(chunk);
  state.length += sizeOf(state, chunk);
}

async function* iterate(stream) {
  const state = stream._readable;
  let wake;
  let error;
  let finished = false;
  const notify = () => wake?.();
  const onError = (reason) => {
    error = reason;
    notify();
  };
  const onEnd = () => {
    finished = true;
    notify();
  };
  stream.on('readable', notify);
  stream.on('error', onError);
  stream.on('end', onEnd);
  stream.on('close', notify);
  try {
    while (true) {
      const chunk =
        state.chunks.length > 0 && !stream.destroyed
          ? state.objectMode || state.decoder
            ? takeAny(stream)
            : stream.read()
          : null;
      if (chunk !== null) yield chunk;
      else if (error) throw error;
      else if (finished || state.endEmitted) return;
      else if (stream.destroyed) {
        if (stream.errored) throw stream.errored;
        throw codeError('ERR_STREAM_PREMATURE_CLOSE', 'Premature close');
      } else {
        schedule(stream);
        await new Promise((resolve) => {
          wake = resolve;
        });
        wake = undefined;
      }
    }
  } finally {
    stream.off('readable', notify);
    stream.off('error', onError);
    stream.off('end', onEnd);
    stream.off('close', notify);
    if (!state.endEmitted && !finished) stream.destroy();
  }
}

function takeAny(stream) {
  const chunk = take(stream);
  schedule(stream);
  return chunk;
}

function define(target, methods) {
  for (const key of Reflect.ownKeys(methods)) {
    Object.defineProperty(target, key, { value: methods[key], writable: true, configurable: true, enumerable: false });
  }
}
define(Readable.prototype, readableMethods);
for (const [name, get] of Object.entries({
  readable: (stream) => !stream.destroyed && !stream._readable.endEmitted,
  readableEnded: (stream) => stream._readable.endEmitted,
  readableFlowing: (stream) => stream._readable.flowing,
  readableLength: (stream) => stream._readable.length,
  readableHighWaterMark: (stream) => stream._readable.limit,
  readableObjectMode: (stream) => stream._readable.objectMode,
  readableEncoding: (stream) => stream._readable.encoding ?? null,
  readableAborted: (stream) => stream.destroyed && !stream._readable.endEmitted,
})) {
  Object.defineProperty(Readable.prototype, name, {
    configurable: true,
    get() {
      return this._readable === undefined ? undefined : get(this);
    },
    set() {},
  });
}

function from(iterable, options) {
  if (typeof iterable === 'string' || iterable instanceof Buffer) iterable = [iterable];
  const iterator = (iterable[Symbol.asyncIterator] ?? iterable[Symbol.iterator]).call(iterable);
  return new Readable({
    objectMode: true,
    highWaterMark: 1,
    ...options,
    read() {
      (async () => {
        try {
          const { value, done } = await iterator.next();
          this.push(done ? null : await value);
        } catch (error) {
          this.destroy(error);
        }
      })();
    },
    destroy(error, done) {
      Promise.resolve(iterator.return?.()).then(
        () => done(error),
        (other) => done(error ?? other),
      );
    },
  });
}
Readable.from = from;

export function Writable(options) {
  if (!(this instanceof Writable) && !(this instanceof Duplex)) return new Writable(options);
  Stream.call(this, options);
  startWritable(this, options);
  initialize(this, options);
}
Object.setPrototypeOf(Writable.prototype, Stream.prototype);
Object.setPrototypeOf(Writable, Stream);

function startWritable(stream, options) {
  const objectMode = Boolean(options?.objectMode ?? options?.writableObjectMode);
  Object.defineProperty(stream, '_writable', {
    configurable: true,
    value: {
      objectMode,
      decodeStrings: options?.decodeStrings ?? true,
      encoding: options?.defaultEncoding ?? 'utf8',
      limit: options?.highWaterMark ?? options?.writableHighWaterMark ?? (objectMode ? OBJECT_HIGH_WATER_MARK : HIGH_WATER_MARK),
      queue: [],
      length: 0,
      busy: false,
      corked: 0,
      needDrain: false,
      ending: false,
      finished: false,
    },
  });
}

function writeNext(stream) {
  const state = stream._writable;
  if (state.busy || state.corked > 0 || stream.destroyed || stream._constructing) return;
  if (state.queue.length === 0) {
    if (state.ending && !state.finishing) finishWriting(stream);
    return;
  }
  state.busy = true;
  const many = typeof stream._writev === 'function' && (state.queue.length > 1 || typeof stream._write !== 'function');
  const batch = many ? state.queue.splice(0) : [state.queue.shift()];
  let isSync = true;
  const done = (error) => {
    const settle = () => {
      state.busy = false;
      for (const item of batch) state.length -= item.size;
      if (error) {
        for (const item of batch) item.callback?.(error);
        stream.destroy(error);
        return;
      }
      if (state.needDrain && state.length === 0 && !state.ending) {
        state.needDrain = false;
        stream.emit('drain');
      }
      for (const item of batch) item.callback?.(null);
      writeNext(stream);
    };
    if (isSync) nextTick(settle);
    else settle();
  };
  try {
    if (many)
      stream._writev(
        batch.map(({ chunk, encoding }) => ({ chunk, encoding })),
        done,
      );
    else stream._write(batch[0].chunk, batch[0].encoding, done);
  } catch (error) {
    isSync = false;
    throw error;
  }
  isSync = false;
}

function finishWriting(stream) {
  const state = stream._writable;
  state.finishing = true;
  const done = (error) => {
    if (error) {
      stream.destroy(error);
      return;
    }
    state.finished = true;
    nextTick(() => {
      stream.emit('finish');
      if (stream._autoDestroy && (!stream._readable || stream._readable.endEmitted)) stream.destroy();
    });
  };
  if (typeof stream._final === 'function') stream._final(done);
  else done();
}

const writableMethods = {
  write(chunk, encoding, callback) {
    if (typeof encoding === 'function') [callback, encoding] = [encoding, undefined];
    const state = this._writable;
    if (chunk === null) throw codeError('ERR_STREAM_NULL_VALUES', 'May not write null values to stream', TypeError);
    if (!state.objectMode) {
      if (typeof chunk === 'string') {
        if (state.decodeStrings) [chunk, encoding] = [Buffer.from(chunk, encoding ?? state.encoding), 'buffer'];
      } else if (chunk instanceof Uint8Array)
        [chunk, encoding] = [
          chunk instanceof Buffer ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength),
          'buffer',
        ];
      else throw invalidType('chunk', 'of type string or an instance of Buffer, TypedArray, or DataView', chunk);
    }
    if (state.ending || this.destroyed) {
      const error = state.ending
        ? codeError('ERR_STREAM_WRITE_AFTER_END', 'write after end')
        : codeError('ERR_STREAM_DESTROYED', 'Cannot call write after a stream was destroyed');
      nextTick(() => callback?.(error));
      if (state.ending) this.destroy(error);
      return false;
    }
    const size = sizeOf(state, chunk);
    state.queue.push({ chunk, encoding: encoding ?? state.encoding, callback, size });
    state.length += size;
    const isBelow = state.length < state.limit;
    if (!isBelow) state.needDrain = true;
    writeNext(this);
    return isBelow;
  },
  _write(chunk, encoding, callback) {
    if (typeof this._writev === 'function') this._writev([{ chunk, encoding }], callback);
    else throw codeError('ERR_METHOD_NOT_IMPLEMENTED', 'The _write() method is not implemented');
  },
  end(chunk, encoding, callback) {
    if (typeof chunk === 'function') [callback, chunk] = [chunk, undefined];
    else if (typeof encoding === 'function') [callback, encoding] = [encoding, undefined];
    const state = this._writable;
    if (chunk !== undefined && chunk !== null) this.write(chunk, encoding);
    if (callback) {
      if (state.finished) nextTick(callback);
      else this.once('finish', callback);
    }
    if (!state.ending) {
      state.corked = 0;
      state.ending = true;
      writeNext(this);
    }
    return this;
  },
  cork() {
    this._writable.corked += 1;
  },
  uncork() {
    this._writable.corked = Math.max(0, this._writable.corked - 1);
    writeNext(this);
  },
  setDefaultEncoding(encoding) {
    this._writable.encoding = encoding;
    return this;
  },
};
define(Writable.prototype, writableMethods);
const writableProperties = {
  writable: (stream) => !stream.destroyed && !stream._writable.ending,
  writableEnded: (stream) => stream._writable.ending,
  writableFinished: (stream) => stream._writable.finished,
  writableLength: (stream) => stream._writable.length,
  writableHighWaterMark: (stream) => stream._writable.limit,
  writableNeedDrain: (stream) => stream._writable.needDrain,
  writableObjectMode: (stream) => stream._writable.objectMode,
  writableCorked: (stream) => stream._writable.corked,
};

export function Duplex(options) {
  if (!(this instanceof Duplex)) return new Duplex(options);
  Stream.call(this, options);
  startReadable(this, options);
  startWritable(this, options);
  initialize(this, options);
  if (options?.allowHalfOpen === false) this.once('end', () => this.end());
}
Object.setPrototypeOf(Duplex.prototype, Readable.prototype);
Object.setPrototypeOf(Duplex, Readable);
define(Duplex.prototype, writableMethods);
for (const target of [Writable.prototype, Duplex.prototype]) {
  for (const [name, get] of Object.entries(writableProperties)) {
    Object.defineProperty(target, name, {
      configurable: true,
      get() {
        return this._writable === undefined ? undefined : get(this);
      },
      set() {},
    });
  }
}
Object.defineProperty(Writable, Symbol.hasInstance, {
  value(object) {
    return Function.prototype[Symbol.hasInstance].call(this, object) || (this === Writable && object?._writable !== undefined);
  },
});

export function Transform(options) {
  if (!(this instanceof Transform)) return new Transform(options);
  Duplex.call(this, options);
}
Object.setPrototypeOf(Transform.prototype, Duplex.prototype);
Object.setPrototypeOf(Transform, Duplex);
define(Transform.prototype, {
  _transform() {
    throw codeError('ERR_METHOD_NOT_IMPLEMENTED', 'The _transform() method is not implemented');
  },
  _write(chunk, encoding, callback) {
    this._transform(chunk, encoding, (error, result) => {
      if (error) {
        callback(error);
        return;
      }
      if (result !== undefined && result !== null) this.push(result);
      const { length, limit, ended } = this._readable;
      // The reader has enough: the next chunk waits until it asks.
      if (ended || length < Math.max(limit, 1)) callback();
      else this._waiting = callback;
    });
  },
  _read() {
    const waiting = this._waiting;
    this._waiting = undefined;
    this._readable.reading = false;
    waiting?.();
  },
  _final(callback) {
    if (typeof this._flush !== 'function') {
      this.push(null);
      callback();
      return;
    }
    this._flush((error, result) => {
      if (error) {
        callback(error);
        return;
      }
      if (result !== undefined && result !== null) this.push(result);
      this.push(null);
      callback();
    });
  },
});

export function PassThrough(options) {
  if (!(this instanceof PassThrough)) return new PassThrough(options);
  Transform.call(this, options);
}
Object.setPrototypeOf(PassThrough.prototype, Transform.prototype);
Object.setPrototypeOf(PassThrough, Transform);
PassThrough.prototype._transform = function (chunk, encoding, callback) {
  callback(null, chunk);
};

export function finished(stream, options, callback) {
  if (typeof options === 'function') callback = options;
  const needsRead = stream._readable !== undefined && options?.readable !== false;
  const needsWrite = stream._writable !== undefined && options?.writable !== false;
  let isDone = false;
  const done = (error) => {
    if (isDone) return;
    isDone = true;
    callback.call(stream, error);
  };
  const check = () => {
    if ((!needsRead || stream._readable.endEmitted) && (!needsWrite || stream._writable.finished)) done();
  };
  const onClose = () => {
    check();
    done(stream.errored ?? codeError('ERR_STREAM_PREMATURE_CLOSE', 'Premature close'));
  };
  stream.on('end', check);
  stream.on('finish', check);
  stream.on('error', done);
  stream.on('close', onClose);
  if (stream.closed) nextTick(onClose);
  else nextTick(check);
  return () => {
    stream.off('end', check);
    stream.off('finish', check);
    stream.off('error', done);
    stream.off('close', onClose);
  };
}

export function pipeline(...steps) {
  const callback = typeof steps.at(-1) === 'function' && steps.length > 1 ? steps.pop() : undefined;
  if (Array.isArray(steps[0]) && steps.length === 1) steps = steps[0];
  if (callback === undefined)
    throw codeError('ERR_INVALID_ARG_TYPE', 'The "streams[stream.length - 1]" property must be of type function', TypeError);
  runPipeline(steps).then(
    (value) => nextTick(callback, undefined, value),
    (error) => nextTick(callback, error),
  );
  return steps.at(-1);
}

async function runPipeline(steps, options) {
  const streams = [];
  let current = steps[0];
  if (typeof current === 'function') current = current(options ?? {});
  let result;
  const joined = [];
  for (let i = 1; i <= steps.length; i += 1) {
    if (current?._readable !== undefined || current?._writable !== undefined) streams.push(current);
    if (i === steps.length) break;
    const next = steps[i];
    if (typeof next === 'function') {
      current = next(current, options ?? {});
      if (i === steps.length - 1) result = current;
      continue;
    }
    const source = current?._readable !== undefined ? current : from(current);
    if (source !== current) streams.push(source);
    joined.push(complete(source, { writable: false }));
    source.pipe(next);
    current = next;
  }
  const last = steps.at(-1);
  if (typeof last !== 'function') joined.push(complete(last, { readable: false }));
  try {
    await Promise.all(joined);
    return await result;
  } catch (error) {
    for (const stream of streams) if (!stream.destroyed) stream.on('error', () => {}).destroy(error);
    throw error;
  }
}

const complete = (stream, options) =>
  new Promise((resolve, reject) => {
    finished(stream, options ?? {}, (error) => (error ? reject(error) : resolve()));
  });

export const promises = {
  pipeline(...steps) {
    const options =
      steps.length > 1 &&
      typeof steps.at(-1) === 'object' &&
      steps.at(-1)._readable === undefined &&
      steps.at(-1)._writable === undefined &&
      !(Symbol.asyncIterator in steps.at(-1))
        ? steps.pop()
        : undefined;
    return runPipeline(steps, options);
  },
  finished: complete,
};

Object.assign(Stream, {
  Stream,
  Readable,
  Writable,
  Duplex,
  Transform,
  PassThrough,
  pipeline,
  finished,
  promises,
  isReadable: (stream) => stream?.readable ?? null,
  isWritable: (stream) => stream?.writable ?? null,
  isErrored: (stream) => Boolean(stream?.errored),
  isDestroyed: (stream) => Boolean(stream?.destroyed),
  getDefaultHighWaterMark: (objectMode) => (objectMode ? OBJECT_HIGH_WATER_MARK : HIGH_WATER_MARK),
  addAbortSignal(signal, stream) {
    signal.addEventListener('abort', () => stream.destroy(abortError(signal)), { once: true });
    return stream;
  },
  destroy: (stream, error) => stream.destroy(error),
});
fill(Stream, 'stream', 'compose duplexPair isDisturbed setDefaultHighWaterMark');
fill(Readable, 'stream.Readable', 'fromWeb toWeb wrap');
fill(Readable.prototype, 'stream.Readable', 'flatMap drop take some every find compose asIndexedPairs wrap');

export default Stream;
