// `Math.random`. The engine's own generator was seeded before the snapshot, and would give every run the same numbers.

import { randomBytes } from './host.js';

// xoshiro128**, seeded from the host when it is first used.
let state;

const rotate = (value, count) => (value << count) | (value >>> (32 - count));

function next() {
  const [a, b, c, d] = state;
  const result = Math.imul(rotate(Math.imul(b, 5), 7), 9);
  const t = b << 9;
  state[2] = c ^ a;
  state[3] = d ^ b;
  state[1] = b ^ state[2];
  state[0] = a ^ state[3];
  state[2] ^= t;
  state[3] = rotate(state[3], 11);
  return result >>> 0;
}

export function random() {
  if (state === undefined) {
    const bytes = randomBytes(16);
    state = new Int32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + 16));
  }
  return (next() * 2 ** 21 + (next() >>> 11)) / 2 ** 53;
}
