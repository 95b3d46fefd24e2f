// `assert`, and `assert/strict`.

import { isDeepEqual, isDeepStrictEqual } from './equal.js';
import { inspect } from './inspect.js';
import { notAFunction } from './node_error.js';
import { sourceLine } from './places.js';
import { placeOf } from './stacks.js';
import { fill } from './unsupported.js';

const HEADINGS = {
  deepStrictEqual: 'Expected values to be strictly deep-equal:',
  strictEqual: 'Expected values to be strictly equal:',
  deepEqual: 'Expected values to be loosely deep-equal:',
  equal: undefined,
  notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
  notStrictEqual: 'Expected "actual" to be strictly unequal to:',
  notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
};

const show = (value) =>
  inspect(value, { compact: false, customInspect: false, depth: 1000, maxArrayLength: Infinity, sorted: true, getters: true });

/** The lines that differ, with `+` for what is and `-` for what should be. */
function difference(actual, expected) {
  const [left, right] = [actual.split('\n'), expected.split('\n')];
  // The longest common run of lines, by the usual table. Long texts are compared from both ends only.
  if (left.length * right.length > 250_000)
    return {
      text: `+ actual - expected\n\n${left.map((line) => `+ ${line}`).join('\n')}\n${right.map((line) => `- ${line}`).join('\n')}`,
    };
  const table = Array.from({ length: left.length + 1 }, () => new Uint32Array(right.length + 1));
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      table[i][j] = left[i] === right[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  const lines = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      lines.push(`  ${left[i]}`);
      i += 1;
      j += 1;
    } else if (i < left.length && (j === right.length || table[i + 1][j] >= table[i][j + 1])) {
      lines.push(`+ ${left[i]}`);
      i += 1;
    } else {
      lines.push(`- ${right[j]}`);
      j += 1;
    }
  }
  return { text: `+ actual - expected\n\n${lines.join('\n')}` };
}

function describe(actual, expected, operator) {
  if (operator === 'equal' || operator === 'notEqual') {
    const inline = (value) => inspect(value, { depth: 1000 });
    const sign = operator === 'equal' ? '==' : '!=';
    return `${inline(actual)} ${sign} ${inline(expected)}`;
  }
  const heading = HEADINGS[operator];
  if (heading === undefined) return operator;
  const [left, right] = [show(actual), show(expected)];
  if (operator.startsWith('not'))
    return left.includes('\n') || left.length > 50 ? `${heading}\n\n${left}\n` : `${heading.slice(0, -1)}: ${left}`;
  const isSimple = (value) => typeof value !== 'object' && typeof value !== 'function';
  if (operator === 'strictEqual' && !left.includes('\n') && !right.includes('\n') && left !== right) {
    if ((isSimple(actual) || actual === null) && (isSimple(expected) || expected === null) && left.length + right.length < 62) {
      return `${heading}\n\n${left} !== ${right}\n`;
    }
  }
  if (left === right) {
    const same =
      operator === 'strictEqual'
        ? 'Values have same structure but are not reference-equal:'
        : 'Values identical but not reference-equal:';
    return `${same}\n\n${left}\n`;
  }
  return `${heading}\n${difference(left, right).text}\n`;
}

export class AssertionError extends Error {
  constructor(options) {
    const { message, actual, expected, operator, stackStartFn } = options;
    super(message === undefined ? describe(actual, expected, operator) : String(message));
    this.generatedMessage = message === undefined;
    this.code = 'ERR_ASSERTION';
    this.actual = actual;
    this.expected = expected;
    this.operator = operator;
    Object.defineProperty(this, 'name', { value: 'AssertionError', writable: true, configurable: true, enumerable: false });
    Error.captureStackTrace(this, stackStartFn);
    const [, ...frames] = String(this.stack).split('\n    at ');
    const heading = `AssertionError [ERR_ASSERTION]: ${this.message}`;
    Object.defineProperty(this, 'stack', { value: [heading, ...frames].join('\n    at '), writable: true, configurable: true });
  }
  toString() {
    return `${this.name} [${this.code}]: ${this.message}`;
  }
}

function fail(actual, expected, message, operator, stackStartFn, generated) {
  if (message instanceof Error) throw message;
  const error = new AssertionError({ actual, expected, message: message ?? generated, operator, stackStartFn });
  if (message === undefined) error.generatedMessage = true;
  throw error;
}

export function assert(...args) {
  checkTrue(assert, args);
}

/** What Node says of a condition that is false: the call itself, as it was written. */
function checkTrue(self, args) {
  const [value, message] = args;
  if (value) return;
  if (args.length === 0) fail(value, true, 'No value argument passed to `assert.ok()`', '==', self);
  if (message !== undefined) fail(value, true, message, '==', self);
  const error = new AssertionError({ actual: value, expected: true, message: '', operator: '==', stackStartFn: self });
  const place = placeOf(error);
  const line = place === undefined ? undefined : sourceLine(place.file, place.line);
  const call = /\bassert(?:\.\w+)*\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)/.exec(line ?? '')?.[0];
  const text =
    call === undefined
      ? 'The expression evaluated to a falsy value'
      : `The expression evaluated to a falsy value:\n\n  ${call}\n`;
  const final = new AssertionError({ actual: value, expected: true, message: text, operator: '==', stackStartFn: self });
  final.generatedMessage = true;
  throw final;
}

function matches(error, expected, message, self, operator) {
  if (expected === undefined) return;
  if (expected instanceof RegExp) {
    if (expected.test(String(error))) return;
    fail(
      error,
      expected,
      message ?? `The input did not match the regular expression ${inspect(expected)}. Input:\n\n${inspect(String(error))}\n`,
      operator,
      self,
    );
  }
  if (typeof expected === 'function') {
    if (expected.prototype !== undefined && error instanceof expected) return;
    if (Error.isPrototypeOf(expected) || expected === Error) {
      if (message === undefined)
        message = `The error is expected to be an instance of "${expected.name}". Received "${error?.constructor?.name}"\n\nError message:\n\n${error?.message}`;
      fail(error, expected, message, operator, self);
    }
    if (expected.call({}, error) !== true) {
      fail(
        error,
        expected,
        message ??
          `The ${expected.name ? `"${expected.name}" ` : ''}validation function is expected to return "true". Received ${inspect(expected.call({}, error))}\n\nCaught error:\n\n${inspect(error)}`,
        operator,
        self,
      );
    }
    return;
  }
  for (const key of Object.keys(expected)) {
    const [is, should] = [error?.[key], expected[key]];
    if (typeof is === 'string' && should instanceof RegExp && should.test(is)) continue;
    if (!isDeepStrictEqual(is, should))
      fail(
        error,
        expected,
        message ??
          describe(Object.fromEntries(Object.keys(expected).map((name) => [name, error?.[name]])), expected, 'deepStrictEqual'),
        operator,
        self,
      );
  }
}

const NOTHING = Symbol('nothing');

function thrownBy(callback) {
  if (typeof callback !== 'function') throw notAFunction('fn', callback);
  try {
    callback();
  } catch (error) {
    return error;
  }
  return NOTHING;
}

async function rejectionOf(promise) {
  const given = typeof promise === 'function' ? promise() : promise;
  try {
    await given;
  } catch (error) {
    return error;
  }
  return NOTHING;
}

function expectError(error, args, self, operator, kind) {
  let [expected, message] = args;
  if (typeof expected === 'string') [expected, message] = [undefined, expected];
  if (error === NOTHING) {
    const name = typeof expected === 'function' && expected.name ? ` (${expected.name})` : '';
    fail(undefined, expected, `Missing expected ${kind}${name}${message ? `: ${message}` : '.'}`, operator, self);
  }
  matches(error, expected, message, self, operator);
}

const loose = {
  fail(message = 'Failed') {
    if (message instanceof Error) throw message;
    throw new AssertionError({ message, operator: 'fail', stackStartFn: loose.fail });
  },
  ok(...args) {
    checkTrue(loose.ok, args);
  },
  equal(actual, expected, message) {
    if (!(actual == expected || (actual !== actual && expected !== expected)))
      fail(actual, expected, message, 'equal', loose.equal);
  },
  notEqual(actual, expected, message) {
    if (actual == expected || (actual !== actual && expected !== expected))
      fail(actual, expected, message, 'notEqual', loose.notEqual);
  },
  strictEqual(actual, expected, message) {
    if (!Object.is(actual, expected)) fail(actual, expected, message, 'strictEqual', loose.strictEqual);
  },
  notStrictEqual(actual, expected, message) {
    if (Object.is(actual, expected)) fail(actual, expected, message, 'notStrictEqual', loose.notStrictEqual);
  },
  deepEqual(actual, expected, message) {
    if (!isDeepEqual(actual, expected)) fail(actual, expected, message, 'deepEqual', loose.deepEqual);
  },
  notDeepEqual(actual, expected, message) {
    if (isDeepEqual(actual, expected)) fail(actual, expected, message, 'notDeepEqual', loose.notDeepEqual);
  },
  deepStrictEqual(actual, expected, message) {
    if (!isDeepStrictEqual(actual, expected)) fail(actual, expected, message, 'deepStrictEqual', loose.deepStrictEqual);
  },
  notDeepStrictEqual(actual, expected, message) {
    if (isDeepStrictEqual(actual, expected)) fail(actual, expected, message, 'notDeepStrictEqual', loose.notDeepStrictEqual);
  },
  throws(callback, ...args) {
    expectError(thrownBy(callback), args, loose.throws, 'throws', 'exception');
  },
  async rejects(promise, ...args) {
    expectError(await rejectionOf(promise), args, loose.rejects, 'rejects', 'rejection');
  },
  doesNotThrow(callback, expected, message) {
    const error = thrownBy(callback);
    if (error === NOTHING) return;
    const text = typeof expected === 'string' ? expected : message;
    fail(
      error,
      expected,
      `Got unwanted exception${text ? `: ${text}` : '.'}\nActual message: "${error?.message}"`,
      'doesNotThrow',
      loose.doesNotThrow,
    );
  },
  async doesNotReject(promise, expected, message) {
    const error = await rejectionOf(promise);
    if (error === NOTHING) return;
    const text = typeof expected === 'string' ? expected : message;
    fail(
      error,
      expected,
      `Got unwanted rejection${text ? `: ${text}` : '.'}\nActual message: "${error?.message}"`,
      'doesNotReject',
      loose.doesNotReject,
    );
  },
  ifError(value) {
    if (value !== null && value !== undefined)
      fail(value, null, `ifError got unwanted exception: ${value?.message ?? inspect(value)}`, 'ifError', loose.ifError);
  },
  match(text, pattern, message) {
    if (typeof text !== 'string' || !pattern.test(text))
      fail(
        text,
        pattern,
        message,
        'match',
        loose.match,
        `The input did not match the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`,
      );
  },
  doesNotMatch(text, pattern, message) {
    if (typeof text === 'string' && pattern.test(text))
      fail(
        text,
        pattern,
        message,
        'doesNotMatch',
        loose.doesNotMatch,
        `The input was expected to not match the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`,
      );
  },
};

Object.assign(assert, loose, { AssertionError });
fill(assert, 'assert', 'CallTracker');

export const strict = Object.assign((...args) => checkTrue(strict, args), assert, {
  equal: loose.strictEqual,
  notEqual: loose.notStrictEqual,
  deepEqual: loose.deepStrictEqual,
  notDeepEqual: loose.notDeepStrictEqual,
});
assert.strict = strict;
strict.strict = strict;

export default assert;
