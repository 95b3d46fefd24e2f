// `StringDecoder`: text from bytes that arrive in pieces.

import { Buffer } from './buffer.js';
import { incompleteUtf8 } from './encoding.js';
import { codeError } from './node_error.js';

export class StringDecoder {
  #held = Buffer.alloc(0);

  constructor(encoding = 'utf8') {
    if (!Buffer.isEncoding(encoding)) {
      throw codeError('ERR_UNKNOWN_ENCODING', `Unknown encoding: ${encoding}`, TypeError);
    }
    this.encoding =
      { 'utf-8': 'utf8', ucs2: 'utf16le', 'ucs-2': 'utf16le', 'utf-16le': 'utf16le', binary: 'latin1' }[encoding.toLowerCase()] ??
      encoding.toLowerCase();
  }

  #incomplete(bytes) {
    if (this.encoding === 'utf8') return incompleteUtf8(bytes);
    if (this.encoding === 'utf16le') return bytes.length % 2;
    return this.encoding.startsWith('base64') ? bytes.length % 3 : 0;
  }
  write(chunk) {
    if (typeof chunk === 'string') return chunk;
    const bytes = this.#held.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#held, chunk]);
    const complete = bytes.length - this.#incomplete(bytes);
    this.#held = bytes.subarray(complete);
    return bytes.toString(this.encoding, 0, complete);
  }
  end(chunk) {
    const text = chunk === undefined ? '' : this.write(chunk);
    const rest = this.#held.toString(this.encoding);
    this.#held = Buffer.alloc(0);
    return text + rest;
  }
}

export default { StringDecoder };
