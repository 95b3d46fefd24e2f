// Errors with a code, in Node's words.

import { inspect } from './inspect.js';

export function codeError(code, message, Kind = Error) {
  const error = new Kind(message);
  error.code = code;
  return error;
}

/** What a function was given instead of what it takes. */
function received(value) {
  if (value === null || value === undefined) return `Received ${value}`;
  if (typeof value === 'function') return `Received function ${value.name}`;
  if (typeof value === 'object') {
    return value.constructor?.name
      ? `Received an instance of ${value.constructor.name}`
      : `Received ${inspect(value, { depth: -1 })}`;
  }
  const text = inspect(value, { colors: false });
  return `Received type ${typeof value} (${text.length > 28 ? `${text.slice(0, 25)}...` : text})`;
}

export function invalidType(name, expected, value) {
  const what = name.endsWith(' argument') ? `The ${name}` : `The "${name}" ${name.includes('.') ? 'property' : 'argument'}`;
  return codeError('ERR_INVALID_ARG_TYPE', `${what} must be ${expected}. ${received(value)}`, TypeError);
}

export function outOfRange(name, range, value) {
  const shown = inspect(value, { numericSeparator: Math.abs(Number(value)) > 2 ** 32 });
  return codeError(
    'ERR_OUT_OF_RANGE',
    `The value of "${name}" is out of range. It must be ${range}. Received ${shown}`,
    RangeError,
  );
}

export const notAFunction = (name, value) => invalidType(name, 'of type function', value);
