// `Buffer`: a Uint8Array that knows text encodings and number formats.

import * as host from './host.js';
import { bytesOf, latin1Text, utf16Text } from './encoding.js';
import { custom, inspect } from './inspect.js';
import { codeError, invalidType, outOfRange } from './node_error.js';
import { fill } from './unsupported.js';

class FastBuffer extends Uint8Array {}

const MAX_LENGTH = 2 ** 31 - 1;

const ENCODINGS = new Map(
  Object.entries({
    utf8: ['utf8', 'utf-8'],
    hex: ['hex'],
    base64: ['base64'],
    base64url: ['base64url'],
    latin1: ['latin1', 'binary'],
    ascii: ['ascii'],
    utf16le: ['utf16le', 'utf-16le', 'ucs2', 'ucs-2'],
  }).flatMap(([encoding, names]) => names.map((name) => [name, encoding])),
);

/** The encoding of that name; undefined when there is none. */
function findEncoding(name) {
  return ENCODINGS.get(name) ?? ENCODINGS.get(`${name}`.toLowerCase());
}

function encodingOf(name) {
  if (name === undefined || name === null || name === '') return 'utf8';
  const encoding = findEncoding(name);
  if (encoding !== undefined) return encoding;
  throw codeError('ERR_UNKNOWN_ENCODING', `Unknown encoding: ${name}`, TypeError);
}

/** The bytes of a text, leniently: what is no hex or base64 ends or is skipped, as in Node. */
function encode(text, name) {
  switch (encodingOf(name)) {
    case 'hex': {
      const digits = /^(?:[0-9a-fA-F]{2})*/.exec(text)[0];
      return Uint8Array.fromHex(digits);
    }
    case 'base64':
    case 'base64url': {
      let digits = text
        .replace(/=[^]*$/, '')
        .replace(/-/g, '+')
        .replace(/_/g, '/')
        .replace(/[^A-Za-z0-9+/]/g, '');
      // One digit alone has not the bits for a byte, and bits that are left over are nobody's.
      if (digits.length % 4 === 1) digits = digits.slice(0, -1);
      return Uint8Array.fromBase64(digits, { lastChunkHandling: 'loose' });
    }
    case 'latin1':
    case 'ascii': {
      const bytes = new Uint8Array(text.length);
      for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
      return bytes;
    }
    case 'utf16le': {
      const bytes = new Uint8Array(text.length * 2);
      for (let i = 0; i < text.length; i += 1) {
        const unit = text.charCodeAt(i);
        bytes[2 * i] = unit;
        bytes[2 * i + 1] = unit >> 8;
      }
      return bytes;
    }
    default:
      return host.encodeUtf8(text);
  }
}

function decode(bytes, name) {
  switch (encodingOf(name)) {
    case 'hex':
      return bytes.toHex();
    case 'base64':
      return bytes.toBase64();
    case 'base64url':
      return bytes.toBase64({ alphabet: 'base64url', omitPadding: true });
    case 'latin1':
      return latin1Text(bytes);
    case 'ascii':
      return latin1Text(bytes.map((byte) => byte & 0x7f));
    case 'utf16le':
      return utf16Text(bytes);
    default:
      return host.decodeUtf8(bytes);
  }
}

/** A Buffer over the same memory. */
export function asBuffer(bytes) {
  return new FastBuffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function Buffer(value, encodingOrOffset, length) {
  if (typeof value === 'number') return Buffer.alloc(value);
  return Buffer.from(value, encodingOrOffset, length);
}
Buffer.prototype = FastBuffer.prototype;
Object.setPrototypeOf(Buffer, Uint8Array);
Object.defineProperty(FastBuffer.prototype, 'constructor', { value: Buffer, writable: true, configurable: true });

function checkSize(size) {
  if (typeof size !== 'number') throw invalidType('"size" argument', 'of type number', size);
  if (!(size >= 0 && size <= MAX_LENGTH)) throw outOfRange('size', `>= 0 && <= ${MAX_LENGTH}`, size);
}

const statics = {
  from(value, encodingOrOffset, length) {
    if (typeof value === 'string') return asBuffer(encode(value, encodingOrOffset));
    if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer)
      return new FastBuffer(value, encodingOrOffset, length);
    if (value !== null && typeof value === 'object') {
      if (ArrayBuffer.isView(value) || Array.isArray(value)) return new FastBuffer(value);
      const primitive = value.valueOf?.();
      if (
        primitive !== undefined &&
        primitive !== null &&
        primitive !== value &&
        (typeof primitive === 'string' || typeof primitive === 'object')
      ) {
        return Buffer.from(primitive, encodingOrOffset, length);
      }
      if (value.type === 'Buffer' && Array.isArray(value.data)) return new FastBuffer(value.data);
      if (typeof value.length === 'number') return new FastBuffer(Array.from(value));
      const text = value[Symbol.toPrimitive]?.('string');
      if (typeof text === 'string') return Buffer.from(text, encodingOrOffset);
    }
    throw invalidType(
      'first argument',
      'of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object',
      value,
    );
  },
  alloc(size, filling, encoding) {
    checkSize(size);
    const buffer = new FastBuffer(size);
    return filling === undefined || filling === 0 ? buffer : buffer.fill(filling, encoding);
  },
  allocUnsafe(size) {
    checkSize(size);
    return new FastBuffer(size);
  },
  allocUnsafeSlow(size) {
    checkSize(size);
    return new FastBuffer(size);
  },
  concat(list, total) {
    if (!Array.isArray(list)) throw invalidType('"list" argument', 'an instance of Array', list);
    const length = total ?? list.reduce((sum, item) => sum + item.length, 0);
    const result = new FastBuffer(length);
    let at = 0;
    list.forEach((item, index) => {
      if (!(item instanceof Uint8Array))
        throw invalidType(`"list[${index}]" argument`, 'an instance of Buffer or Uint8Array', item);
      if (at >= length) return;
      result.set(item.length > length - at ? item.subarray(0, length - at) : item, at);
      at += item.length;
    });
    return result;
  },
  byteLength(value, encoding) {
    if (typeof value !== 'string') {
      const bytes = bytesOf(value);
      if (bytes !== undefined) return bytes.length;
      throw invalidType('"string" argument', 'of type string or an instance of Buffer or ArrayBuffer', value);
    }
    return encode(value, findEncoding(encoding ?? 'utf8') ?? 'utf8').length;
  },
  compare(a, b) {
    if (!(a instanceof Uint8Array)) throw invalidType('"buf1" argument', 'an instance of Buffer or Uint8Array', a);
    if (!(b instanceof Uint8Array)) throw invalidType('"buf2" argument', 'an instance of Buffer or Uint8Array', b);
    const length = Math.min(a.length, b.length);
    for (let i = 0; i < length; i += 1) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
    return Math.sign(a.length - b.length);
  },
  isBuffer: (value) => value instanceof Buffer,
  isEncoding: (name) => typeof name === 'string' && name !== '' && findEncoding(name) !== undefined,
  copyBytesFrom(view, offset = 0, length = view.length - offset) {
    return asBuffer(bytesOf(view.slice(offset, offset + length)));
  },
  of: (...bytes) => new FastBuffer(bytes),
};

/** A start or end, as `slice` and `toString` take it. */
function bound(value, fallback, length) {
  if (value === undefined) return fallback;
  const index = Math.trunc(Number(value)) || 0;
  return Math.min(Math.max(index, 0), length);
}

const methods = {
  toString(encoding, start, end) {
    const from = bound(start, 0, this.length);
    const to = bound(end, this.length, this.length);
    if (to <= from) return '';
    return decode(from === 0 && to === this.length ? this : this.subarray(from, to), encoding);
  },
  toJSON() {
    return { type: 'Buffer', data: Array.from(this) };
  },
  equals(other) {
    if (!(other instanceof Uint8Array)) throw invalidType('"otherBuffer" argument', 'an instance of Buffer or Uint8Array', other);
    return this === other || (this.length === other.length && Buffer.compare(this, other) === 0);
  },
  compare(target, targetStart = 0, targetEnd = target.length, start = 0, end = this.length) {
    return Buffer.compare(this.subarray(start, end), target.subarray(targetStart, targetEnd));
  },
  copy(target, targetStart = 0, start = 0, end = this.length) {
    const count = Math.max(0, Math.min(end - start, target.length - targetStart, this.length - start));
    target.set(this.subarray(start, start + count), targetStart);
    return count;
  },
  slice(start, end) {
    return this.subarray(start, end);
  },
  subarray(start, end) {
    const part = Uint8Array.prototype.subarray.call(asPlain(this), start, end);
    return new FastBuffer(part.buffer, part.byteOffset, part.length);
  },
  fill(value, start, end, encoding) {
    if (typeof start === 'string') [encoding, start, end] = [start, undefined, undefined];
    else if (typeof end === 'string') [encoding, end] = [end, undefined];
    const from = bound(start, 0, this.length);
    const to = bound(end, this.length, this.length);
    if (typeof value === 'number' || typeof value === 'boolean') {
      Uint8Array.prototype.fill.call(this, value & 255, from, to);
      return this;
    }
    const pattern = typeof value === 'string' ? encode(value, encoding) : value;
    if (pattern.length === 0) Uint8Array.prototype.fill.call(this, 0, from, to);
    else for (let i = from; i < to; i += 1) this[i] = pattern[(i - from) % pattern.length];
    return this;
  },
  write(text, offset, length, encoding) {
    if (typeof text !== 'string') throw invalidType('argument', 'of type string', text);
    if (typeof offset === 'string') [encoding, offset, length] = [offset, undefined, undefined];
    else if (typeof length === 'string') [encoding, length] = [length, undefined];
    const from = offset ?? 0;
    if (from < 0 || from > this.length) throw outOfRange('offset', `>= 0 && <= ${this.length}`, from);
    let bytes = encode(text, encoding);
    let count = Math.min(bytes.length, length ?? Infinity, this.length - from);
    // No half characters.
    if (encodingOf(encoding) === 'utf8') while (count < bytes.length && count > 0 && (bytes[count] & 0xc0) === 0x80) count -= 1;
    if (encodingOf(encoding) === 'utf16le') count -= count % 2;
    this.set(bytes.subarray(0, count), from);
    return count;
  },
  indexOf(value, offset, encoding) {
    return search(this, value, offset, encoding, 1);
  },
  lastIndexOf(value, offset, encoding) {
    return search(this, value, offset, encoding, -1);
  },
  includes(value, offset, encoding) {
    return search(this, value, offset, encoding, 1) !== -1;
  },
  swap16() {
    return swap(this, 2);
  },
  swap32() {
    return swap(this, 4);
  },
  swap64() {
    return swap(this, 8);
  },
  [custom](depth, options) {
    const shown = this.subarray(0, 50);
    let text = shown.toHex().replace(/(..)(?=.)/g, '$1 ');
    if (this.length > 50) text += ` ... ${this.length - 50} more byte${this.length > 51 ? 's' : ''}`;
    const extras = Object.keys(this).filter((key) => !/^\d+$/.test(key));
    for (const key of extras) text += `${text === '' ? '' : ', '}${key}: ${inspect(this[key], options)}`;
    return `<Buffer${text === '' ? '' : ` ${text}`}>`;
  },
};

const asPlain = (buffer) => new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length);

function search(buffer, value, offset, encoding, direction) {
  if (typeof offset === 'string') [encoding, offset] = [offset, undefined];
  let needle;
  if (typeof value === 'number') needle = [value & 255];
  else if (typeof value === 'string') needle = encode(value, encoding);
  else if (value instanceof Uint8Array) needle = value;
  else throw invalidType('"value" argument', 'one of type number or string or an instance of Buffer or Uint8Array', value);
  const last = buffer.length - needle.length;
  let at = Math.trunc(Number(offset));
  if (Number.isNaN(at)) at = direction === 1 ? 0 : last;
  if (at < 0) at += buffer.length;
  if (direction === 1) at = Math.max(at, 0);
  else at = Math.min(at, last);
  if (needle.length === 0) return Math.min(at, buffer.length);
  for (; at >= 0 && at <= last; at += direction) {
    let i = 0;
    while (i < needle.length && buffer[at + i] === needle[i]) i += 1;
    if (i === needle.length) return at;
  }
  return -1;
}

function swap(buffer, size) {
  if (buffer.length % size !== 0) {
    throw codeError('ERR_INVALID_BUFFER_SIZE', `Buffer size must be a multiple of ${size * 8}-bits`, RangeError);
  }
  for (let i = 0; i < buffer.length; i += size) buffer.subarray(i, i + size).reverse();
  return buffer;
}

function checkOffset(buffer, offset, size) {
  if (typeof offset !== 'number') throw invalidType('"offset" argument', 'of type number', offset);
  if (!Number.isInteger(offset)) throw outOfRange('offset', 'an integer', offset);
  if (offset >= 0 && offset + size <= buffer.length) return;
  if (buffer.length < size) {
    throw codeError('ERR_BUFFER_OUT_OF_BOUNDS', 'Attempt to access memory outside buffer bounds', RangeError);
  }
  throw outOfRange('offset', `>= 0 and <= ${buffer.length - size}`, offset);
}

const viewOf = (buffer) => new DataView(buffer.buffer, buffer.byteOffset, buffer.length);

/** `readInt16LE` and all the others that a DataView has under another name. */
function addNumberMethods() {
  const kinds = [
    ['Int8', 1],
    ['Uint8', 1],
    ['Int16', 2],
    ['Uint16', 2],
    ['Int32', 4],
    ['Uint32', 4],
    ['BigInt64', 8],
    ['BigUint64', 8],
    ['Float32', 4],
    ['Float64', 8],
  ];
  for (const [kind, size] of kinds) {
    const name = kind.replace('Float32', 'Float').replace('Float64', 'Double');
    const isInteger = !kind.startsWith('Float');
    const bits = BigInt(size * 8);
    const unsigned = kind.includes('Uint');
    const lowest = unsigned ? 0n : -(2n ** (bits - 1n));
    const highest = unsigned ? 2n ** bits - 1n : 2n ** (bits - 1n) - 1n;
    const isBig = kind.startsWith('Big');
    const [low, high] = isBig ? [lowest, highest] : [Number(lowest), Number(highest)];
    for (const ending of size === 1 ? [''] : ['LE', 'BE']) {
      const read = function (offset = 0) {
        checkOffset(this, offset, size);
        return viewOf(this)[`get${kind}`](offset, ending === 'LE');
      };
      const write = function (value, offset = 0) {
        if (isBig && typeof value !== 'bigint') throw invalidType('"value" argument', 'of type bigint', value);
        if (!isBig) value = Number(value);
        if (isInteger && (value < low || value > high))
          throw outOfRange('value', `>= ${low}${isBig ? 'n' : ''} and <= ${high}${isBig ? 'n' : ''}`, value);
        checkOffset(this, offset, size);
        viewOf(this)[`set${kind}`](offset, value, ending === 'LE');
        return offset + size;
      };
      for (const alias of unsigned ? [name, name.replace('Uint', 'UInt')] : [name]) {
        methods[`read${alias}${ending}`] = read;
        methods[`write${alias}${ending}`] = write;
      }
    }
  }
  // Integers of any width up to six bytes.
  for (const signed of [true, false]) {
    for (const ending of ['LE', 'BE']) {
      const places = (size) => Array.from({ length: size }, (_, i) => (ending === 'LE' ? i : size - 1 - i));
      const read = function (offset, size) {
        checkOffset(this, offset, size);
        const value = places(size).reduce((sum, place, i) => sum + this[offset + place] * 2 ** (8 * i), 0);
        return signed && value >= 2 ** (8 * size - 1) ? value - 2 ** (8 * size) : value;
      };
      const write = function (value, offset, size) {
        checkOffset(this, offset, size);
        let rest = Number(value) < 0 ? Number(value) + 2 ** (8 * size) : Number(value);
        for (const place of places(size)) {
          this[offset + place] = rest % 256;
          rest = Math.floor(rest / 256);
        }
        return offset + size;
      };
      for (const name of signed ? ['Int'] : ['UInt', 'Uint']) {
        methods[`read${name}${ending}`] = read;
        methods[`write${name}${ending}`] = write;
      }
    }
  }
}

addNumberMethods();
methods.toLocaleString = methods.toString;
for (const [target, source] of [
  [Buffer, statics],
  [FastBuffer.prototype, methods],
]) {
  for (const key of Reflect.ownKeys(source)) {
    Object.defineProperty(target, key, { value: source[key], writable: true, configurable: true, enumerable: false });
  }
}
Buffer.poolSize = 8192;

const slicer = (encoding) =>
  function (start, end) {
    return this.toString(encoding, start, end);
  };
for (const encoding of ['utf8', 'hex', 'base64', 'base64url', 'latin1', 'ascii', 'ucs2']) {
  Object.defineProperty(FastBuffer.prototype, `${encoding}Slice`, {
    value: slicer(encoding),
    writable: true,
    configurable: true,
  });
}

export default fill(
  {
    Buffer,
    constants: { MAX_LENGTH, MAX_STRING_LENGTH: 2 ** 29 - 24 },
    kMaxLength: MAX_LENGTH,
    kStringMaxLength: 2 ** 29 - 24,
    INSPECT_MAX_BYTES: 50,
    atob: globalThis.atob,
    btoa: globalThis.btoa,
    isUtf8: (value) => host.isValidUtf8(bytesOf(value)),
    isAscii: (value) => bytesOf(value).every((byte) => byte < 128),
  },
  'buffer',
  'SlowBuffer transcode Blob File resolveObjectURL',
);
