// `crypto`: random numbers, hashes and keys made from passwords. The host computes.

import { Buffer, asBuffer } from './buffer.js';
import { bytesOf } from './encoding.js';
import * as host from './host.js';
import { later } from './loop.js';
import { codeError, invalidType, outOfRange } from './node_error.js';
import { Transform } from './stream.js';
import { fill, unsupported } from './unsupported.js';

const HASHES = { md5: 16, sha1: 20, sha224: 28, sha256: 32, sha384: 48, sha512: 64 };

function algorithmOf(name, what) {
  if (typeof name !== 'string') throw invalidType('algorithm', 'of type string', name);
  const plain = name
    .toLowerCase()
    .replace(/^rsa-/, '')
    .replace(/^sha-(?=\d)/, 'sha');
  if (plain in HASHES) return plain;
  // Other hashes exist in Node, so this may not be a mistake.
  if (/^(sha512-\d+|sha3-\d+|shake\d+|blake2[bs]\d+|ripemd(160)?|rmd160|sm3|md4|md5-sha1|whirlpool)$/.test(plain)) {
    throw unsupported(`crypto ${what} ${name}`);
  }
  if (what === 'hash') throw new Error('Digest method not supported');
  throw codeError('ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${name}`, TypeError);
}

function dataOf(data, encoding) {
  const bytes = typeof data === 'string' ? Buffer.from(data, encoding) : bytesOf(data);
  if (bytes !== undefined) return bytes;
  throw invalidType('data', 'of type string or an instance of Buffer, TypedArray, or DataView', data);
}

const encoded = (bytes, encoding) =>
  encoding === undefined || encoding === 'buffer' ? asBuffer(bytes) : asBuffer(bytes).toString(encoding);

const finalized = () => codeError('ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');

/** Keeps what it is given, and has it hashed at the end. */
class Digest extends Transform {
  #compute;
  #parts = [];
  #done = false;

  constructor(compute) {
    super();
    this.#compute = compute;
  }
  update(data, encoding) {
    if (this.#done) throw finalized();
    // A copy: the caller may change its buffer afterwards.
    this.#parts.push(typeof data === 'string' ? dataOf(data, encoding) : dataOf(data).slice());
    return this;
  }
  digest(encoding) {
    if (this.#done) throw finalized();
    this.#done = true;
    return encoded(this.#compute(Buffer.concat(this.#parts)), encoding);
  }
  _transform(chunk, encoding, callback) {
    this.update(chunk, encoding);
    callback();
  }
  _flush(callback) {
    callback(null, this.digest());
  }
  _copyTo(other) {
    if (this.#done) throw finalized();
    other.#parts = [...this.#parts];
    return other;
  }
}

class Hash extends Digest {
  #algorithm;
  constructor(algorithm) {
    super((bytes) => host.hash(algorithm, bytes));
    this.#algorithm = algorithm;
  }
  copy() {
    return this._copyTo(new Hash(this.#algorithm));
  }
}

class Hmac extends Digest {
  constructor(algorithm, key) {
    super((bytes) => host.hmac(algorithm, key, bytes));
  }
}

const createHash = (algorithm) => new Hash(algorithmOf(algorithm, 'hash'));
const createHmac = (algorithm, key, options) => new Hmac(algorithmOf(algorithm, 'hmac'), dataOf(key, options?.encoding));
const hash = (algorithm, data, encoding = 'hex') => createHash(algorithm).update(data).digest(encoding);

function pbkdf2Sync(password, salt, iterations, length, digest) {
  const algorithm = algorithmOf(digest, 'digest');
  const key = dataOf(password);
  const start = dataOf(salt);
  const result = Buffer.alloc(Math.ceil(length / HASHES[algorithm]) * HASHES[algorithm]);
  for (let block = 1; (block - 1) * HASHES[algorithm] < length; block += 1) {
    const number = Buffer.alloc(4);
    number.writeUInt32BE(block);
    let last = host.hmac(algorithm, key, Buffer.concat([start, number]));
    const sum = last.slice();
    for (let i = 1; i < iterations; i += 1) {
      last = host.hmac(algorithm, key, last);
      for (let j = 0; j < sum.length; j += 1) sum[j] ^= last[j];
    }
    result.set(sum, (block - 1) * HASHES[algorithm]);
  }
  return result.subarray(0, length);
}

function hkdfSync(digest, key, salt, info, length) {
  const algorithm = algorithmOf(digest, 'digest');
  const secret = host.hmac(algorithm, dataOf(salt), dataOf(key));
  let last = Buffer.alloc(0);
  let result = Buffer.alloc(0);
  for (let block = 1; result.length < length; block += 1) {
    last = host.hmac(algorithm, secret, Buffer.concat([last, dataOf(info), Buffer.from([block])]));
    result = Buffer.concat([result, last]);
  }
  return result.buffer.slice(0, length);
}

/** The form with a callback as the last argument. */
const asynchronous =
  (run) =>
  (...args) => {
    const callback = args.pop();
    const result = run(...args);
    later(callback, null, result);
  };

function randomBytes(size, callback) {
  if (typeof size !== 'number') throw invalidType('size', 'of type number', size);
  if (!(size >= 0 && size <= 2 ** 31 - 1)) throw outOfRange('size', '>= 0 && <= 2147483647', size);
  const bytes = asBuffer(host.randomBytes(size));
  if (typeof callback !== 'function') return bytes;
  later(callback, null, bytes);
  return undefined;
}

function randomFillSync(target, offset = 0, size) {
  const bytes = bytesOf(target);
  const count = size ?? bytes.length - offset;
  bytes.set(host.randomBytes(count), offset);
  return target;
}

function randomInt(low, high, callback) {
  if (high === undefined || typeof high === 'function') [low, high, callback] = [0, low, high];
  const range = high - low;
  if (!Number.isSafeInteger(low) || !Number.isSafeInteger(high) || range <= 0 || range > 2 ** 48 - 1) {
    throw outOfRange('max', `greater than the value of "min" (${low})`, high);
  }
  // Numbers above the last whole multiple of the range would favour the small ones.
  const limit = 2 ** 48 - (2 ** 48 % range);
  let number;
  do number = asBuffer(host.randomBytes(6)).readUIntBE(0, 6);
  while (number >= limit);
  const result = low + (number % range);
  if (typeof callback !== 'function') return result;
  later(callback, null, result);
  return undefined;
}

function randomUUID() {
  const bytes = host.randomBytes(16);
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return bytes.toHex().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function getRandomValues(target) {
  if (
    !ArrayBuffer.isView(target) ||
    target instanceof Float32Array ||
    target instanceof Float64Array ||
    target instanceof DataView
  ) {
    throw new DOMException('The data argument must be an integer-type TypedArray', 'TypeMismatchError');
  }
  if (target.byteLength > 65536) {
    throw new DOMException(`The requested length exceeds 65,536 bytes`, 'QuotaExceededError');
  }
  bytesOf(target).set(host.randomBytes(target.byteLength));
  return target;
}

function timingSafeEqual(a, b) {
  const [first, second] = [bytesOf(a), bytesOf(b)];
  if (first.length !== second.length) {
    throw codeError('ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH', 'Input buffers must have the same byte length', RangeError);
  }
  let different = 0;
  for (let i = 0; i < first.length; i += 1) different |= first[i] ^ second[i];
  return different === 0;
}

const subtle = fill(
  {
    async digest(algorithm, data) {
      const name = algorithmOf(algorithm?.name ?? algorithm, 'hash');
      const result = host.hash(name, bytesOf(data));
      return result.buffer.slice(result.byteOffset, result.byteOffset + result.byteLength);
    },
  },
  'crypto.subtle',
  'encrypt decrypt sign verify generateKey deriveKey deriveBits importKey exportKey wrapKey unwrapKey',
);

/** The global: the web's half of the module. */
export const webcrypto = { getRandomValues, randomUUID, subtle };
Object.defineProperty(webcrypto, Symbol.toStringTag, { value: 'Crypto', configurable: true });

export default fill(
  {
    createHash,
    createHmac,
    hash,
    Hash,
    Hmac,
    getHashes: () => Object.keys(HASHES),
    randomBytes,
    pseudoRandomBytes: randomBytes,
    prng: randomBytes,
    rng: randomBytes,
    randomFillSync,
    randomFill: asynchronous(randomFillSync),
    randomInt,
    randomUUID,
    getRandomValues,
    timingSafeEqual,
    pbkdf2Sync,
    pbkdf2: asynchronous(pbkdf2Sync),
    hkdfSync,
    hkdf: asynchronous(hkdfSync),
    webcrypto,
    subtle,
    constants: {},
    getFips: () => 0,
    fips: 0,
  },
  'crypto',
  'checkPrime checkPrimeSync createCipheriv createDecipheriv createDiffieHellman createDiffieHellmanGroup createECDH createPrivateKey ' +
    'createPublicKey createSecretKey createSign createVerify diffieHellman generatePrime generatePrimeSync getCiphers getCipherInfo ' +
    'getCurves getDiffieHellman generateKeyPair generateKeyPairSync generateKey generateKeySync privateDecrypt privateEncrypt ' +
    'publicDecrypt publicEncrypt scrypt scryptSync sign setEngine setFips verify Certificate Cipher Cipheriv Decipher Decipheriv ' +
    'DiffieHellman DiffieHellmanGroup ECDH KeyObject Sign Verify X509Certificate secureHeapUsed createCipher createDecipher',
);
