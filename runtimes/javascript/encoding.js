// `TextEncoder` and `TextDecoder`, and the encodings that `Buffer` shares with them.

import * as host from './host.js';
import { codeError, invalidType } from './node_error.js';
import { unsupported } from './unsupported.js';

/** The bytes of any buffer or view of one. */
export function bytesOf(value) {
  if (value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) return new Uint8Array(value);
  return undefined;
}

export class TextEncoder {
  get encoding() {
    return 'utf-8';
  }
  encode(text = '') {
    return host.encodeUtf8(`${text}`);
  }
  encodeInto(text, target) {
    const bytes = host.encodeUtf8(`${text}`);
    let written = Math.min(bytes.length, target.length);
    // A character that does not fit is left out whole.
    while (written < bytes.length && written > 0 && (bytes[written] & 0xc0) === 0x80) written -= 1;
    target.set(bytes.subarray(0, written));
    return { read: host.decodeUtf8(bytes.subarray(0, written)).length, written };
  }
}

const LABELS = new Map([
  ...['utf-8', 'utf8', 'unicode-1-1-utf-8'].map((label) => [label, 'utf-8']),
  ...['utf-16le', 'utf-16', 'ucs-2', 'unicode'].map((label) => [label, 'utf-16le']),
  ...['latin1', 'iso-8859-1', 'iso8859-1', 'ascii', 'us-ascii', 'windows-1252', 'cp1252', 'l1'].map((label) => [
    label,
    'windows-1252',
  ]),
]);

// What windows-1252 has at 0x80–0x9f; the rest is its own number.
const WINDOWS =
  '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178';

export function latin1Text(bytes) {
  let text = '';
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode.apply(null, bytes.subarray(i, i + 8192));
  return text;
}

export function utf16Text(bytes) {
  let text = '';
  const count = bytes.length >> 1;
  for (let i = 0; i < count; i += 4096) {
    const units = [];
    for (let j = i; j < Math.min(i + 4096, count); j += 1) units.push(bytes[2 * j] | (bytes[2 * j + 1] << 8));
    text += String.fromCharCode.apply(null, units);
  }
  return text;
}

/** How many bytes at the end belong to a character that is not complete. */
export function incompleteUtf8(bytes) {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back];
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

export class TextDecoder {
  #held = new Uint8Array(0);
  #started = false;

  constructor(label = 'utf-8', { fatal = false, ignoreBOM = false } = {}) {
    const encoding = LABELS.get(`${label}`.trim().toLowerCase());
    if (encoding === undefined) {
      if (/^(utf-16be|iso-8859|windows-|shift|euc-|gb|big5|koi8|macintosh|x-)/i.test(`${label}`.trim())) {
        throw unsupported(`TextDecoder for ${label}`, RangeError);
      }
      throw codeError('ERR_ENCODING_NOT_SUPPORTED', `The "${label}" encoding is not supported`, RangeError);
    }
    this.encoding = encoding;
    this.fatal = Boolean(fatal);
    this.ignoreBOM = Boolean(ignoreBOM);
  }

  decode(input, { stream = false } = {}) {
    let bytes = input === undefined ? new Uint8Array(0) : bytesOf(input);
    if (bytes === undefined) throw invalidType('list', 'an instance of SharedArrayBuffer, ArrayBuffer or ArrayBufferView', input);
    if (this.#held.length > 0) {
      const joined = new Uint8Array(this.#held.length + bytes.length);
      joined.set(this.#held);
      joined.set(bytes, this.#held.length);
      bytes = joined;
      this.#held = new Uint8Array(0);
    }
    if (stream) {
      const incomplete = this.encoding === 'utf-8' ? incompleteUtf8(bytes) : this.encoding === 'utf-16le' ? bytes.length % 2 : 0;
      this.#held = bytes.slice(bytes.length - incomplete);
      bytes = bytes.subarray(0, bytes.length - incomplete);
    }
    let text = this.#text(bytes);
    if (!this.#started && text !== '' && this.encoding !== 'windows-1252') {
      this.#started = true;
      if (!this.ignoreBOM && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    if (!stream) this.#started = false;
    return text;
  }

  #text(bytes) {
    if (this.encoding === 'windows-1252') {
      return latin1Text(bytes).replace(/[\x80-\x9f]/g, (unit) => WINDOWS[unit.charCodeAt(0) - 0x80]);
    }
    if (this.encoding === 'utf-16le') {
      const text = utf16Text(bytes);
      if (this.fatal && (bytes.length % 2 === 1 || !text.isWellFormed())) throw invalidData(this.encoding);
      return bytes.length % 2 === 1 ? `${text}\ufffd` : text.toWellFormed();
    }
    if (this.fatal && !host.isValidUtf8(bytes)) throw invalidData(this.encoding);
    return host.decodeUtf8(bytes);
  }
}

const invalidData = (encoding) =>
  codeError('ERR_ENCODING_INVALID_ENCODED_DATA', `The encoded data was not valid for encoding ${encoding}`, TypeError);

for (const type of [TextEncoder, TextDecoder]) {
  Object.defineProperty(type.prototype, Symbol.toStringTag, { value: type.name, configurable: true });
}
