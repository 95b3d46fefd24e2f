// The words of V8 for what QuickJS says in its own. Programs print messages, and people look them up.

import { isOwn, original, sourceLine } from './places.js';

/** Puts V8's words in place of QuickJS's. */
export function translate(error, sites) {
  const rules = RULES.get(Object.getPrototypeOf(error));
  if (rules === undefined) return;
  const message = Object.getOwnPropertyDescriptor(error, 'message')?.value;
  if (typeof message !== 'string') return;
  for (const [pattern, words] of rules) {
    const match = typeof pattern === 'string' ? message === pattern && [message] : pattern.exec(message);
    if (!match) continue;
    const text = typeof words === 'string' ? words : words(match, sites, error);
    if (text !== undefined) error.message = text;
    return;
  }
}

const isNative = (sites) => sites[0]?.isNative() ?? true;

/** Where the engine was, in the caller's text: `{ file, line, column }`. */
function placeAt(sites) {
  const file = sites[0]?.getFileName();
  if (typeof file !== 'string' || isOwn(file)) return undefined;
  return { file, ...original(file, sites[0].getLineNumber(), sites[0].getColumnNumber()) };
}

/** The line of the caller's text that a stack starts at, and the index in it. */
function textAt(sites) {
  const place = placeAt(sites);
  const text = place === undefined ? undefined : sourceLine(place.file, place.line);
  return text === undefined ? undefined : { text, at: place.column - 1 };
}

/** The expression that ends at `end`, as V8 writes it: calls lose their arguments. */
function expressionBefore(text, end) {
  const name = /([\p{ID_Start}$_#][\p{ID_Continue}$]*|"[^"]*"|'[^']*'|`[^`]*`|\d+)\s*$/u.exec(text.slice(0, end))?.[1];
  if (name !== undefined) {
    const start = text.slice(0, end).trimEnd().length - name.length;
    const before = text.slice(0, start).trimEnd();
    const dot = before.endsWith('?.') ? 2 : before.endsWith('.') ? 1 : 0;
    return dot === 0 ? name : `${expressionBefore(text, before.length - dot)}.${name}`;
  }
  const before = text.slice(0, end).trimEnd();
  const last = before.at(-1);
  if (last === ')' || last === ']') {
    let depth = 0;
    for (let i = before.length - 1; i >= 0; i -= 1) {
      if (')]}'.includes(before[i])) depth += 1;
      if ('([{'.includes(before[i])) depth -= 1;
      if (depth > 0) continue;
      const inside = before.slice(i);
      const callee = /[\w$)\]]\s*$/.test(before.slice(0, i)) ? expressionBefore(before, i) : '(intermediate value)';
      if (callee === '(intermediate value)') return callee;
      return last === ')' ? `${callee}(...)` : `${callee}${inside}`;
    }
  }
  return '(intermediate value)';
}

/** The expression at the place of an error, which the engine sets at the name that ends it. */
function expressionAt({ text, at }) {
  const rest = text.slice(at);
  const [, space, called] =
    /^(\s*(?:new\s+)?(?:\?\.|\.)?\s*)([\p{ID_Start}$_#][\p{ID_Continue}$]*(?:\.[\p{ID_Start}$_#][\p{ID_Continue}$]*)*)?/u.exec(
      rest,
    );
  if (called === undefined) {
    if (!rest.startsWith('[')) return '(intermediate value)';
    const end = rest.indexOf(']');
    return expressionBefore(text, at + (end === -1 ? rest.length : end + 1));
  }
  const before = (text.slice(0, at) + space).trimEnd();
  const dot = before.endsWith('?.') ? 2 : before.endsWith('.') ? 1 : 0;
  return dot === 0 ? called : `${expressionBefore(before, before.length - dot)}.${called}`;
}

const notA = (kind) => (match, sites) => {
  if (isNative(sites)) {
    const name = sites[0]?.getFunctionName();
    return name === 'Promise' ? `Promise resolver is not ${kind}` : `callback is not ${kind}`;
  }
  const place = textAt(sites);
  if (place === undefined) return `(intermediate value) is not ${kind}`;
  const isConstructed =
    /\bnew\s+(?:[\p{ID_Continue}$]+\.)*$/u.test(place.text.slice(0, place.at)) || /^new\b/.test(place.text.slice(place.at));
  return `${expressionAt(place)} is not ${isConstructed ? 'a constructor' : kind}`;
};

/** Names what was to be iterated, if the line of the error has only one such thing. */
function notIterable(sites, fallback) {
  const place = textAt(sites);
  const found = [
    ...(place?.text
      .slice(place.at)
      .matchAll(/(?:\bof\s+|\.\.\.|\]\s*=\s*)([\p{ID_Start}$_][\p{ID_Continue}$.]*)(?=\s*[;,)\]}]|$)/gu) ?? []),
  ];
  return `${found.length === 1 ? found[0][1] : fallback} is not iterable`;
}

const KEYWORDS = new Set(
  (
    'break case catch class const continue debugger default delete do else export extends false finally for function if import in ' +
    'instanceof new null return super switch this throw true try typeof var void while with enum'
  ).split(' '),
);

/** What V8 says of a token that does not belong where it is. */
function unexpected(token) {
  if (token === '') return 'Unexpected end of input';
  if (/^\d/.test(token)) return 'Unexpected number';
  if (/^["']/.test(token)) return 'Unexpected string';
  if (token[0] === '`') return 'Unexpected template string';
  if (/^[\p{ID_Start}$_]/u.test(token) && !KEYWORDS.has(token)) return `Unexpected identifier '${token}'`;
  return `Unexpected token '${token}'`;
}

/** The token at the place of a syntax error. */
function tokenAt(sites) {
  const place = placeAt(sites);
  if (place === undefined) return undefined;
  for (let { line, column } = place; ; line += 1, column = 1) {
    const text = sourceLine(place.file, line);
    if (text === undefined) return '';
    const token =
      /^\s*([\p{ID_Start}$_][\p{ID_Continue}$]*|\d[\w.]*|["'`]|=>|===?|!==?|\?\?|\?\.|\.\.\.|&&|\|\||<=|>=|\*\*|[^\s])/u.exec(
        text.slice(column - 1),
      )?.[1];
    if (token !== undefined) return token;
  }
}

const misplaced = (match, sites) => {
  const token = tokenAt(sites);
  return token === undefined ? undefined : unexpected(token);
};

const RULES = new Map([
  [
    TypeError.prototype,
    [
      ['not a function', notA('a function')],
      [
        /^cannot read property 'Symbol\.iterator' of (null|undefined)$/,
        ([, value], sites) =>
          isNative(sites)
            ? `${value === 'null' ? 'object null' : value} is not iterable (cannot read property Symbol(Symbol.iterator))`
            : notIterable(sites, value),
      ],
      [
        /^cannot read property '(.*)' of (null|undefined)$/s,
        ([, name, value]) => `Cannot read properties of ${value} (reading '${name}')`,
      ],
      [
        /^cannot set property '(.*)' of (null|undefined)$/s,
        ([, name, value]) => `Cannot set properties of ${value} (setting '${name}')`,
      ],
      ['not a constructor', notA('a constructor')],
      [
        /^'(.*)' is read-only$/s,
        ([, name], sites) => {
          const place = textAt(sites);
          const assigned = place?.text.slice(place.at).trimStart() ?? '';
          return assigned.startsWith(name) || assigned.startsWith('++') || assigned.startsWith('--')
            ? 'Assignment to constant variable.'
            : `Cannot assign to read only property '${name}' of object '#<Object>'`;
        },
      ],
      [
        'value is not iterable',
        (match, sites) =>
          isNative(sites)
            ? 'object is not iterable (cannot read property Symbol(Symbol.iterator))'
            : notIterable(sites, 'object'),
      ],
      ['object is not extensible', 'Cannot add property, object is not extensible'],
      [
        "class constructors must be invoked with 'new'",
        (match, sites) => `Class constructor ${sites[0]?.getFunctionName() ?? ''} cannot be invoked without 'new'`,
      ],
      [
        'cannot convert BigInt to number',
        (match, sites) =>
          isNative(sites)
            ? 'Cannot convert a BigInt value to a number'
            : 'Cannot mix BigInt and other types, use explicit conversions',
      ],
      ['cannot convert symbol to string', 'Cannot convert a Symbol value to a string'],
      ['cannot convert symbol to number', 'Cannot convert a Symbol value to a number'],
      ["invalid 'instanceof' right operand", "Right-hand side of 'instanceof' is not callable"],
      ["invalid 'in' operand", "Cannot use 'in' operator to search for a key in a value that is not an object"],
      ['BigInt are forbidden in JSON.stringify', 'Do not know how to serialize a BigInt'],
      ['circular reference', 'Converting circular structure to JSON'],
      ['empty array', 'Reduce of empty array with no initial value'],
      ['toPrimitive', 'Cannot convert object to primitive value'],
      [
        /^private class field '(.*)' does not exist$/,
        ([, name]) => `Cannot read private member ${name} from an object whose class did not declare it`,
      ],
    ],
  ],
  [
    ReferenceError.prototype,
    [
      [/^(.*) is not initialized$/, ([, name]) => `Cannot access '${name}' before initialization`],
      [
        /^(require|module|exports|__filename|__dirname) is not defined$/,
        ([message, name]) =>
          name === 'require' ? `${message} in ES module scope, you can use import instead` : `${message} in ES module scope`,
      ],
    ],
  ],
  [
    RangeError.prototype,
    [
      ['invalid array length', 'Invalid array length'],
      ['invalid repeat count', 'Invalid count value'],
      ['invalid array buffer length', 'Array buffer allocation failed'],
      ['Date value is NaN', 'Invalid time value'],
      [
        'invalid number of digits',
        (match, sites) => {
          const name = sites[0]?.getFunctionName();
          if (name === 'toPrecision') return 'toPrecision() argument must be between 1 and 100';
          return name === 'toExponential'
            ? 'toExponential() argument must be between 0 and 100'
            : 'toFixed() digits argument must be between 0 and 100';
        },
      ],
      ['cannot convert to BigInt: not an integer', 'The number cannot be converted to a BigInt because it is not an integer'],
    ],
  ],
  [URIError.prototype, [[/./, 'URI malformed']]],
  [
    InternalError.prototype,
    [
      [
        'string too long',
        (match, sites, error) => {
          // V8 has no such class.
          Object.setPrototypeOf(error, RangeError.prototype);
          return 'Invalid string length';
        },
      ],
    ],
  ],
  [
    SyntaxError.prototype,
    [
      [/^unexpected token in expression: '(.*)'$/s, ([, token], sites) => misplaced(undefined, sites) ?? unexpected(token)],
      [/^unsupported keyword: (.*)$/, ([, token]) => `Unexpected token '${token}'`],
      [/^expecting /, misplaced],
      ['return not in a function', 'Illegal return statement'],
      [
        /^Could not find export '(.*)' in module '(?:node:|json:|commonjs:)?(.*)'$/,
        ([, name, module]) => `The requested module '${module}' does not provide an export named '${name}'`,
      ],
      [
        'invalid redefinition of lexical identifier',
        (match, sites) => {
          const place = textAt(sites);
          const name = /([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*$/u.exec(place?.text.slice(0, place.at) ?? '')?.[1];
          return name === undefined ? undefined : `Identifier '${name}' has already been declared`;
        },
      ],
      [/^missing initializer for /, 'Missing initializer in const declaration'],
      ['unexpected end of string', 'Invalid or unexpected token'],
      ['unexpected end of regexp', 'Invalid regular expression: missing /'],
      ['function name expected', 'Function statements require a function name'],
      [
        /./,
        ([message], sites) =>
          sites[0]?.getFunctionName?.() === 'RegExp' && isNative(sites) && !message.startsWith('Invalid')
            ? `Invalid regular expression: ${message}`
            : undefined,
      ],
    ],
  ],
]);
