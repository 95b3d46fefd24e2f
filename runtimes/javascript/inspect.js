// Values as text, in Node's layout: what `console.log` and `util.inspect` print. The rules for line breaks and columns are those of
// Node 20, because programs and their readers compare outputs; the tests hold the two against each other.

import { promiseResult, promiseState } from './host.js';
import { proxyTarget } from './proxies.js';
import { stringWidth } from './width.js';

export const custom = Symbol.for('nodejs.util.inspect.custom');

export const defaultOptions = {
  showHidden: false,
  depth: 2,
  colors: false,
  customInspect: true,
  showProxy: false,
  maxArrayLength: 100,
  maxStringLength: 10000,
  breakLength: 80,
  compact: 3,
  sorted: false,
  getters: false,
  numericSeparator: false,
};

// What a list of entries belongs to: an object, an element of an array, or an array with further keys.
const OBJECT = 0;
const ELEMENT = 1;
const ARRAY = 2;

/** What one inspection knows: its options, and where it is. Written out, because most are short and this is most of their time. */
const newContext = () => ({
  showHidden: defaultOptions.showHidden,
  depth: defaultOptions.depth ?? Infinity,
  colors: defaultOptions.colors,
  customInspect: defaultOptions.customInspect,
  showProxy: defaultOptions.showProxy,
  maxArrayLength: defaultOptions.maxArrayLength ?? Infinity,
  maxStringLength: defaultOptions.maxStringLength ?? Infinity,
  breakLength: defaultOptions.breakLength,
  compact: defaultOptions.compact,
  sorted: defaultOptions.sorted,
  getters: defaultOptions.getters,
  numericSeparator: defaultOptions.numericSeparator,
  indentation: 0,
  currentDepth: 0,
  seen: [],
  circular: undefined,
  stylize: plain,
});

export function inspect(value, options) {
  const context = newContext();
  // The old form: showHidden, depth, colors.
  if (typeof options === 'boolean') context.showHidden = options;
  else if (options) {
    for (const key of Object.keys(options)) {
      if (key in defaultOptions || key === 'stylize') context[key] = options[key];
      else context.userOptions ??= options;
    }
  }
  if (arguments.length > 2 && arguments[2] !== undefined) context.depth = arguments[2];
  if (arguments.length > 3 && arguments[3] !== undefined) context.colors = arguments[3];
  if (context.colors) context.stylize = colored;
  context.maxArrayLength ??= Infinity;
  context.maxStringLength ??= Infinity;
  context.depth ??= Infinity;
  return formatValue(context, value, 0);
}

inspect.custom = custom;
Object.defineProperty(inspect, 'defaultOptions', {
  get: () => defaultOptions,
  set: (options) => void Object.assign(defaultOptions, options),
});

inspect.colors = Object.assign(Object.create(null), {
  reset: [0, 0],
  bold: [1, 22],
  dim: [2, 22],
  italic: [3, 23],
  underline: [4, 24],
  blink: [5, 25],
  inverse: [7, 27],
  hidden: [8, 28],
  strikethrough: [9, 29],
  doubleunderline: [21, 24],
  framed: [51, 54],
  overlined: [53, 55],
});
['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'].forEach((name, index) => {
  inspect.colors[name] = [30 + index, 39];
  inspect.colors[`bg${name[0].toUpperCase()}${name.slice(1)}`] = [40 + index, 49];
});
['gray', 'redBright', 'greenBright', 'yellowBright', 'blueBright', 'magentaBright', 'cyanBright', 'whiteBright'].forEach(
  (name, index) => {
    inspect.colors[name] = [90 + index, 39];
    inspect.colors[`bg${name[0].toUpperCase()}${name.slice(1)}`] = [100 + index, 49];
  },
);
inspect.colors.grey = inspect.colors.gray;

inspect.styles = Object.assign(Object.create(null), {
  special: 'cyan',
  number: 'yellow',
  bigint: 'yellow',
  boolean: 'yellow',
  undefined: 'grey',
  null: 'bold',
  string: 'green',
  symbol: 'green',
  date: 'magenta',
  regexp: 'red',
  module: 'underline',
});

const plain = (text) => text;

function colored(text, style) {
  const color = inspect.colors[inspect.styles[style]];
  return color === undefined ? text : `\x1b[${color[0]}m${text}\x1b[${color[1]}m`;
}

export const stripColors = (text) => text.replace(/\x1b\[[0-9;]*m/g, '');

const ESCAPES = { 8: '\\b', 9: '\\t', 10: '\\n', 12: '\\f', 13: '\\r', 92: '\\\\', 39: "\\'" };
const escapeUnit = (unit) => {
  const code = unit.charCodeAt(0);
  if (code in ESCAPES) return ESCAPES[code];
  return code < 256 ? `\\x${code.toString(16).toUpperCase().padStart(2, '0')}` : `\\u${code.toString(16)}`;
};
const CONTROL = /[\x00-\x1f\x5c\x7f-\x9f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const CONTROL_AND_QUOTE = /[\x00-\x1f\x27\x5c\x7f-\x9f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** A string as a literal: in the kind of quotes that needs no escapes, if there is one. */
function quote(text) {
  if (!text.includes("'")) return `'${text.replace(CONTROL, escapeUnit)}'`;
  if (!text.includes('"')) return `"${text.replace(CONTROL, escapeUnit)}"`;
  if (!text.includes('`') && !text.includes('${')) return `\`${text.replace(CONTROL, escapeUnit)}\``;
  return `'${text.replace(CONTROL_AND_QUOTE, escapeUnit)}'`;
}

function formatNumber(context, number) {
  const text = Object.is(number, -0) ? '-0' : String(number);
  return context.stylize(context.numericSeparator ? separated(text) : text, 'number');
}

function formatBigInt(context, number) {
  return context.stylize(`${context.numericSeparator ? separated(String(number)) : number}n`, 'bigint');
}

function separated(text) {
  if (!/^-?\d+(\.\d+)?$/.test(text)) return text;
  const [whole, fraction] = text.split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, '_');
  return fraction === undefined ? grouped : `${grouped}.${fraction.replace(/(\d{3})(?=\d)/g, '$1_')}`;
}

const plural = (count, word) => `${count} more ${word}${count > 1 ? 's' : ''}`;
const moreItems = (count) => `... ${plural(count, 'item')}`;

function formatPrimitive(context, value) {
  switch (typeof value) {
    case 'string': {
      let trailer = '';
      if (value.length > context.maxStringLength) {
        trailer = `... ${plural(value.length - context.maxStringLength, 'character')}`;
        value = value.slice(0, context.maxStringLength);
      }
      if (context.compact !== true && value.length > 16 && value.length > context.breakLength - context.indentation - 4) {
        const lines = value.split(/(?<=\n)/).map((line) => context.stylize(quote(line), 'string'));
        return lines.join(` +\n${' '.repeat(context.indentation + 2)}`) + trailer;
      }
      return context.stylize(quote(value), 'string') + trailer;
    }
    case 'number':
      return formatNumber(context, value);
    case 'bigint':
      return formatBigInt(context, value);
    case 'symbol':
      return context.stylize(Symbol.prototype.toString.call(value), 'symbol');
    default:
      return context.stylize(String(value), typeof value);
  }
}

function formatValue(context, value, level, insideTypedArray) {
  if (value === null) return context.stylize('null', 'null');
  if (typeof value !== 'object' && typeof value !== 'function') return formatPrimitive(context, value);

  const given = value;
  const proxy = proxyTarget(value);
  if (proxy !== undefined) {
    if (proxy === null) return context.stylize('<Revoked Proxy>', 'special');
    if (context.showProxy) return formatProxy(context, proxy, level);
    value = proxy.target;
    while (proxyTarget(value)) value = proxyTarget(value).target;
  }

  if (context.customInspect) {
    const own = value[custom];
    if (typeof own === 'function' && own !== inspect && !(value.constructor && value.constructor.prototype === value)) {
      const { indentation, currentDepth, seen, circular, userOptions, ...options } = context;
      const depth = context.depth === Infinity ? null : context.depth - level;
      const result = own.call(given, depth, { ...options, ...userOptions, depth }, inspect);
      if (result !== given) {
        if (typeof result !== 'string') return formatValue(context, result, level);
        return result.replaceAll('\n', `\n${' '.repeat(context.indentation)}`);
      }
    }
  }

  if (context.seen.includes(value)) {
    context.circular ??= new Map();
    if (!context.circular.has(value)) context.circular.set(value, context.circular.size + 1);
    return context.stylize(`[Circular *${context.circular.get(value)}]`, 'special');
  }
  return formatObject(context, value, level, insideTypedArray);
}

function formatProxy(context, { target, handler }, level) {
  if (level > context.depth) return context.stylize('Proxy [Array]', 'special');
  context.indentation += 2;
  const entries = [formatValue(context, target, level + 1), formatValue(context, handler, level + 1)];
  context.indentation -= 2;
  return join(context, entries, '', ['Proxy [', ']'], ARRAY, level + 1);
}

function isInstance(value, type) {
  try {
    return value instanceof type;
  } catch {
    return false;
  }
}

/** The name of the class that made an object; null when it has no prototype. */
function constructorName(context, value, level) {
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Object.prototype && !Object.hasOwn(value, 'constructor')) return 'Object';
  if (prototype === Array.prototype && !Object.hasOwn(value, 'constructor')) return 'Array';
  let first;
  for (let object = value; object !== null; object = Object.getPrototypeOf(object)) {
    if (object === Object.prototype && isInstance(value, Object)) return 'Object';
    const constructor = Object.getOwnPropertyDescriptor(object, 'constructor')?.value;
    if (typeof constructor === 'function' && constructor.name !== '' && isInstance(value, constructor)) {
      return String(constructor.name);
    }
    if (first === undefined) first = Object.getPrototypeOf(object);
  }
  if (first === null || first === undefined) return null;
  const own = brand(value);
  if (level > context.depth) return `${own} <Complex prototype>`;
  const name = constructorName(context, first, level + 1);
  return `${own} <${name ?? inspect(first, { ...context, customInspect: false, depth: -1 })}>`;
}

/** What the engine calls it, whatever its prototype. */
const brand = (value) => (Array.isArray(value) ? 'Array' : typeof value === 'function' ? 'Function' : 'Object');

function prefix(constructor, tag, fallback, size = '') {
  if (constructor === null) {
    return tag !== '' && fallback !== tag
      ? `[${fallback}${size}: null prototype] [${tag}] `
      : `[${fallback}${size}: null prototype] `;
  }
  return tag !== '' && constructor !== tag ? `${constructor}${size} [${tag}] ` : `${constructor}${size} `;
}

function visibleKeys(value, showHidden) {
  const symbols = Object.getOwnPropertySymbols(value);
  if (showHidden) return [...Object.getOwnPropertyNames(value), ...symbols];
  const keys = Object.keys(value);
  if (symbols.length === 0) return keys;
  for (const symbol of symbols) if (Object.prototype.propertyIsEnumerable.call(value, symbol)) keys.push(symbol);
  return keys;
}

/** The keys of an array that are not its elements. */
function extraKeys(value, showHidden) {
  if (!showHidden && value.length < 1000) {
    // Elements come first: as many keys as there are elements, and the last of them an element's, are elements all.
    const keys = Object.keys(value);
    const last = keys.length - 1;
    const isPlain = keys.length === value.length && (last === -1 || keys[last] === `${last}`);
    if (isPlain && Object.getOwnPropertySymbols(value).length === 0) return [];
  }
  return visibleKeys(value, showHidden).filter((key) => typeof key === 'symbol' || !/^(0|[1-9]\d{0,9})$/.test(key));
}

const TypedArray = Object.getPrototypeOf(Uint8Array);
const typedArrayTag = Object.getOwnPropertyDescriptor(TypedArray.prototype, Symbol.toStringTag).get;
const mapSize = Object.getOwnPropertyDescriptor(Map.prototype, 'size').get;
const setSize = Object.getOwnPropertyDescriptor(Set.prototype, 'size').get;
const MapIterator = Object.getPrototypeOf(new Map().entries());
const SetIterator = Object.getPrototypeOf(new Set().entries());
const GeneratorFunction = Object.getPrototypeOf(function* () {}).constructor;
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
const AsyncGeneratorFunction = Object.getPrototypeOf(async function* () {}).constructor;
const isArguments = (value) => Object.prototype.toString.call(value) === '[object Arguments]' && !(Symbol.toStringTag in value);

/** Whether the object really is one of these, and not only has its prototype. */
function isGenuine(check, value) {
  try {
    check.call(value);
    return true;
  } catch {
    return false;
  }
}
const isMap = (value) => isInstance(value, Map) && isGenuine(mapSize, value);
const isSet = (value) => isInstance(value, Set) && isGenuine(setSize, value);
const isDate = (value) => isInstance(value, Date) && isGenuine(Date.prototype.getTime, value);
const isRegExp = (value) => isInstance(value, RegExp) && value !== RegExp.prototype;

/** How one kind of object is written: the text before its entries, its braces, the entries that are not properties. */
function shapeOf(context, value, constructor, tag, insideTypedArray) {
  const { showHidden } = context;
  if (Array.isArray(value)) {
    const name = constructor !== 'Array' || tag !== '' ? prefix(constructor, tag, 'Array', `(${value.length})`) : '';
    const keys = extraKeys(value, showHidden);
    if (value.length === 0 && keys.length === 0) return { whole: `${name}[]` };
    return { keys, braces: [`${name}[`, ']'], kind: ARRAY, entries: arrayEntries };
  }
  if (constructor === 'Object' && tag === '' && !isArguments(value)) {
    const keys = visibleKeys(value, showHidden);
    return keys.length === 0 ? { whole: '{}' } : { keys, braces: ['{', '}'] };
  }
  if (isSet(value)) {
    const size = setSize.call(value);
    const name = prefix(constructor, tag, 'Set', `(${size})`);
    const keys = visibleKeys(value, showHidden);
    if (size === 0 && keys.length === 0) return { whole: `${name}{}` };
    return { keys, braces: [`${name}{`, '}'], entries: setEntries };
  }
  if (isMap(value)) {
    const size = mapSize.call(value);
    const name = prefix(constructor, tag, 'Map', `(${size})`);
    const keys = visibleKeys(value, showHidden);
    if (size === 0 && keys.length === 0) return { whole: `${name}{}` };
    return { keys, braces: [`${name}{`, '}'], entries: mapEntries };
  }
  if (ArrayBuffer.isView(value) && !isInstance(value, DataView)) {
    const keys = extraKeys(value, showHidden);
    const name = prefix(constructor, tag, typedArrayTag.call(value), `(${value.length})`);
    if (value.length === 0 && keys.length === 0 && !showHidden) return { whole: `${name}[]` };
    return { keys, braces: [`${name}[`, ']'], kind: ARRAY, entries: typedArrayEntries };
  }
  const proto = Object.getPrototypeOf(value);
  if (proto === MapIterator || proto === SetIterator) return iteratorShape(context, value, tag);

  const keys = visibleKeys(value, showHidden);
  if (typeof value === 'function') {
    const base = functionBase(value, constructor, tag);
    return keys.length === 0 ? { whole: context.stylize(base, 'special') } : { keys, base, braces: ['{', '}'] };
  }
  if (constructor === 'Object') {
    const brace = isArguments(value) ? '[Arguments] [' : `${prefix(constructor, tag, 'Object')}{`;
    if (isArguments(value)) {
      const rest = extraKeys(value, showHidden);
      if (value.length === 0 && rest.length === 0) return { whole: '[Arguments] []' };
      return { keys: rest, braces: [brace, ']'], kind: ARRAY, entries: arrayEntries };
    }
    return keys.length === 0 ? { whole: `${brace}}` } : { keys, braces: [brace, '}'] };
  }
  if (isRegExp(value)) {
    const name = prefix(constructor, tag, 'RegExp');
    const text = RegExp.prototype.toString.call(value);
    const base = name === 'RegExp ' ? text : `${name}${text}`;
    return keys.length === 0 ? { whole: context.stylize(base, 'regexp') } : { keys, base, braces: ['{', '}'] };
  }
  if (isDate(value)) {
    const name = prefix(constructor, tag, 'Date');
    const text = Number.isNaN(Date.prototype.getTime.call(value)) ? 'Invalid Date' : Date.prototype.toISOString.call(value);
    const base = name === 'Date ' ? text : `${name}${text}`;
    return keys.length === 0 ? { whole: context.stylize(base, 'date') } : { keys, base, braces: ['{', '}'] };
  }
  if (isInstance(value, Error) || Error.isError(value)) {
    const base = errorBase(context, value, constructor, tag, keys);
    return keys.length === 0 ? { whole: base } : { keys, base, braces: ['{', '}'] };
  }
  if (isInstance(value, ArrayBuffer) || isInstance(value, SharedArrayBuffer)) {
    const name = prefix(constructor, tag, isInstance(value, ArrayBuffer) ? 'ArrayBuffer' : 'SharedArrayBuffer');
    if (insideTypedArray && keys.length === 0)
      return { whole: `${name}{ byteLength: ${formatNumber(context, value.byteLength)} }` };
    return { keys: ['byteLength', ...keys], braces: [`${name}{`, '}'], entries: insideTypedArray ? undefined : bufferEntries };
  }
  if (isInstance(value, DataView)) {
    return { keys: ['byteLength', 'byteOffset', 'buffer', ...keys], braces: [`${prefix(constructor, tag, 'DataView')}{`, '}'] };
  }
  if (isInstance(value, Promise))
    return { keys, braces: [`${prefix(constructor, tag, 'Promise')}{`, '}'], entries: promiseEntries };
  if (isInstance(value, WeakSet) || isInstance(value, WeakMap)) {
    const name = isInstance(value, WeakSet) ? 'WeakSet' : 'WeakMap';
    return {
      keys,
      braces: [`${prefix(constructor, tag, name)}{`, '}'],
      entries: () => [context.stylize('<items unknown>', 'special')],
    };
  }
  if (isInstance(value, WeakRef)) {
    const entries = (inner, ref, level) => {
      inner.indentation += 2;
      const text = formatValue(inner, ref.deref(), level);
      inner.indentation -= 2;
      return [text];
    };
    return { keys, braces: [`${prefix(constructor, tag, 'WeakRef')}{`, '}'], entries };
  }
  for (const type of [Number, String, Boolean, BigInt, Symbol]) {
    if (isInstance(value, type) && isGenuine(type.prototype.valueOf, value))
      return boxedShape(context, value, type, constructor, tag, keys);
  }
  if (tag === 'Module' && constructor === null) {
    return { keys, braces: ['[Module: null prototype] {', '}'] };
  }
  const fallback = constructor === null ? brand(value) : '';
  const brace = `${prefix(constructor, tag, fallback === tag ? 'Object' : fallback)}{`;
  return keys.length === 0 ? { whole: `${brace}}` } : { keys, braces: [brace, '}'] };
}

function boxedShape(context, value, type, constructor, tag, keys) {
  let base = `[${type.name}`;
  if (type.name !== constructor) base += constructor === null ? ' (null prototype)' : ` (${constructor})`;
  base += `: ${formatPrimitive({ ...context, stylize: plain }, type.prototype.valueOf.call(value))}]`;
  if (tag !== '' && tag !== constructor) base += ` [${tag}]`;
  if (type === String) keys = keys.slice(value.length);
  if (keys.length === 0) return { whole: context.stylize(base, type.name.toLowerCase()) };
  return { keys, base, braces: ['{', '}'] };
}

function iteratorShape(context, value, tag) {
  const type = Object.getPrototypeOf(value) === MapIterator ? 'Map' : 'Set';
  // Looking at the rest of an iterator takes it: there is no way to put it back.
  const name = tag === `${type} Iterator` ? tag : `${tag}] [${type} Iterator`;
  return {
    keys: visibleKeys(value, context.showHidden),
    braces: [`[${name}] {`, '}'],
    entries: () => [context.stylize('<items unknown>', 'special')],
  };
}

function functionBase(value, constructor, tag) {
  const text = Function.prototype.toString.call(value);
  if (text.startsWith('class') && text.endsWith('}')) {
    const name = (Object.hasOwn(value, 'name') && value.name) || '(anonymous)';
    let base = `class ${name}`;
    if (constructor !== 'Function' && constructor !== null) base += ` [${constructor}]`;
    if (tag !== '' && constructor !== tag) base += ` [${tag}]`;
    if (constructor === null) base += ' extends [null prototype]';
    else {
      const parent = Object.getPrototypeOf(value).name;
      if (parent) base += ` extends ${parent}`;
    }
    return `[${base}]`;
  }
  let type = 'Function';
  if (isInstance(value, GeneratorFunction)) type = 'GeneratorFunction';
  else if (isInstance(value, AsyncFunction)) type = 'AsyncFunction';
  else if (isInstance(value, AsyncGeneratorFunction)) type = 'AsyncGeneratorFunction';
  let base = `[${type}`;
  if (constructor === null) base += ' (null prototype)';
  base += value.name === '' ? ' (anonymous)]' : `: ${value.name}]`;
  if (constructor !== type && constructor !== null) base += ` ${constructor}`;
  if (tag !== '' && constructor !== tag) base += ` [${tag}]`;
  return base;
}

const stackText = (error) => (error.stack ? String(error.stack) : Error.prototype.toString.call(error));

function errorBase(context, error, constructor, tag, keys) {
  const name = error.name != null ? String(error.name) : 'Error';
  let stack = stackText(error);
  if (!context.showHidden) {
    for (const key of ['name', 'message', 'stack']) {
      const index = keys.indexOf(key);
      if (index !== -1 && stack.includes(error[key])) keys.splice(index, 1);
    }
  }
  if ('cause' in error && !keys.includes('cause')) keys.push('cause');
  if (Array.isArray(error.errors) && !keys.includes('errors')) keys.push('errors');

  stack = withClassName(stack, constructor, name, tag);
  const message = error.message ? stack.indexOf(error.message) : -1;
  const start = stack.indexOf('\n    at', message === -1 ? 0 : message + error.message.length);
  if (start === -1) stack = `[${stack}]`;
  else stack = `${stack.slice(0, start)}\n${framesWithoutCause(context, error, stack.slice(start + 1)).join('\n')}`;
  return context.indentation === 0 ? stack : stack.replaceAll('\n', `\n${' '.repeat(context.indentation)}`);
}

/** A stack that starts with the name of a base class gets the name of the class before it. */
function withClassName(stack, constructor, name, tag) {
  let length = name.length;
  const looksNormal = name.endsWith('Error') && stack.startsWith(name) && [undefined, ':', '\n'].includes(stack[length]);
  if (constructor !== null && !looksNormal) return stack;
  let fallback = 'Error';
  if (constructor === null) {
    const start = /^([A-Z][a-z_ A-Z0-9[\]()-]+)(?::|\n {4}at)/.exec(stack) ?? /^([a-z_A-Z0-9-]*Error)$/.exec(stack);
    fallback = start?.[1] ?? '';
    length = fallback.length;
    fallback ||= 'Error';
  }
  const full = prefix(constructor, tag, fallback).slice(0, -1);
  if (name === full) return stack;
  if (full.includes(name)) return length === 0 ? `${full}: ${stack}` : `${full}${stack.slice(length)}`;
  return `${full} [${name}]${stack.slice(length)}`;
}

function framesWithoutCause(context, error, text) {
  const frames = text.split('\n');
  let cause;
  try {
    ({ cause } = error);
  } catch {
    return frames;
  }
  if (cause == null || !Error.isError(cause)) return frames;
  const causeText = stackText(cause);
  const start = causeText.indexOf('\n    at');
  if (start === -1) return frames;
  const others = causeText.slice(start + 1).split('\n');
  for (let i = 0; i < frames.length - 3; i += 1) {
    const at = others.indexOf(frames[i]);
    if (at === -1 || others.length - at <= 3) continue;
    let length = 1;
    const most = Math.min(frames.length - i, others.length - at);
    while (length < most && frames[i + length] === others[at + length]) length += 1;
    if (length > 3) {
      frames.splice(
        i + 1,
        length - 2,
        context.stylize(`    ... ${length - 2} lines matching cause stack trace ...`, 'undefined'),
      );
      break;
    }
  }
  return frames;
}

function formatObject(context, value, level, insideTypedArray) {
  const constructor = constructorName(context, value, level);
  let tag = value[Symbol.toStringTag];
  const own = context.showHidden ? Object.prototype.hasOwnProperty : Object.prototype.propertyIsEnumerable;
  if (typeof tag !== 'string' || (tag !== '' && own.call(value, Symbol.toStringTag))) tag = '';

  const shape = shapeOf(context, value, constructor, tag, insideTypedArray);
  if (shape.whole !== undefined) return shape.whole;
  let { base = '' } = shape;
  const { keys, braces, kind = OBJECT, entries } = shape;
  if (level > context.depth) {
    if (isRegExp(value)) return context.stylize(base, 'regexp');
    const fallback = constructor === null ? brand(value) : '';
    const name = prefix(constructor, tag, fallback === tag ? 'Object' : fallback).slice(0, -1);
    return context.stylize(constructor === null ? name : `[${name}]`, 'special');
  }

  level += 1;
  context.seen.push(value);
  context.currentDepth = level;
  const output = entries === undefined ? [] : entries(context, value, level);
  for (const key of keys) output.push(formatProperty(context, value, level, key, kind));
  context.seen.pop();

  const index = context.circular?.get(value);
  if (index !== undefined) {
    const reference = context.stylize(`<ref *${index}>`, 'special');
    if (context.compact !== true) base = base === '' ? reference : `${reference} ${base}`;
    else braces[0] = `${reference} ${braces[0]}`;
  }
  if (context.sorted) {
    const order = context.sorted === true ? undefined : context.sorted;
    if (kind === OBJECT) output.sort(order);
    else if (keys.length > 1) output.push(...output.splice(output.length - keys.length).sort(order));
  }
  return join(context, output, base, braces, kind, level, value);
}

function arrayEntries(context, value, level) {
  const length = Math.min(Math.max(0, context.maxArrayLength), value.length);
  const output = [];
  for (let i = 0; i < length; i += 1) {
    if (!Object.hasOwn(value, i)) return sparseEntries(context, value, level, length, output, i);
    output.push(formatProperty(context, value, level, i, ELEMENT));
  }
  if (value.length > length) output.push(moreItems(value.length - length));
  return output;
}

function sparseEntries(context, value, level, limit, output, from) {
  const empty = (count) => context.stylize(`<${count} empty item${count > 1 ? 's' : ''}>`, 'undefined');
  const keys = Object.keys(value);
  let index = from;
  for (let i = from; i < keys.length && output.length < limit; i += 1) {
    if (!/^(0|[1-9]\d*)$/.test(keys[i]) || +keys[i] > 2 ** 32 - 2) break;
    if (String(index) !== keys[i]) {
      output.push(empty(keys[i] - index));
      index = +keys[i];
      if (output.length === limit) break;
    }
    output.push(formatProperty(context, value, level, keys[i], ELEMENT));
    index += 1;
  }
  const remaining = value.length - index;
  if (remaining > 0) output.push(output.length === limit ? moreItems(remaining) : empty(remaining));
  return output;
}

function typedArrayEntries(context, value, level) {
  const length = Math.min(Math.max(0, context.maxArrayLength), value.length);
  const format = typeof value[0] === 'bigint' ? formatBigInt : formatNumber;
  const output = [];
  for (let i = 0; i < length; i += 1) output.push(format(context, value[i]));
  if (value.length > length) output.push(moreItems(value.length - length));
  if (context.showHidden) {
    context.indentation += 2;
    for (const key of ['BYTES_PER_ELEMENT', 'length', 'byteLength', 'byteOffset', 'buffer']) {
      output.push(`[${key}]: ${formatValue(context, value[key], level, true)}`);
    }
    context.indentation -= 2;
  }
  return output;
}

function bufferEntries(context, value) {
  const bytes = new Uint8Array(value);
  const shown = bytes.subarray(0, Math.max(0, Math.min(context.maxArrayLength, bytes.length)));
  let text = shown.toHex().replace(/(..)(?=.)/g, '$1 ');
  if (bytes.length > shown.length) text += ` ... ${plural(bytes.length - shown.length, 'byte')}`;
  return [`${context.stylize('[Uint8Contents]', 'special')}: <${text}>`];
}

/** The first entries of a collection, as many as fit. */
function* limited(context, collection, size, output) {
  const limit = Math.min(Math.max(0, context.maxArrayLength), size);
  context.indentation += 2;
  let count = 0;
  for (const entry of collection) {
    if (count >= limit) break;
    count += 1;
    yield entry;
  }
  if (size > limit) output.push(moreItems(size - limit));
  context.indentation -= 2;
}

function setEntries(context, value, level) {
  const output = [];
  for (const item of limited(context, Set.prototype.values.call(value), setSize.call(value), output)) {
    output.push(formatValue(context, item, level));
  }
  return output;
}

function mapEntries(context, value, level) {
  const output = [];
  for (const [key, item] of limited(context, Map.prototype.entries.call(value), mapSize.call(value), output)) {
    output.push(`${formatValue(context, key, level)} => ${formatValue(context, item, level)}`);
  }
  return output;
}

function promiseEntries(context, value, level) {
  const state = promiseState(value);
  if (state === 0) return [context.stylize('<pending>', 'special')];
  context.indentation += 2;
  const text = formatValue(context, promiseResult(value), level);
  context.indentation -= 2;
  return [state === 2 ? `${context.stylize('<rejected>', 'special')} ${text}` : text];
}

function formatProperty(context, value, level, key, kind) {
  const property = Object.getOwnPropertyDescriptor(value, key) ?? { value: value[key], enumerable: true };
  let text;
  let space = ' ';
  if (property.value !== undefined) {
    const step = context.compact !== true || kind !== OBJECT ? 2 : 3;
    context.indentation += step;
    text = formatValue(context, property.value, level);
    if (step === 3 && context.breakLength < stringWidth(text)) space = `\n${' '.repeat(context.indentation)}`;
    context.indentation -= step;
  } else if (property.get !== undefined) {
    text = formatGetter(context, value, level, property);
  } else {
    text = property.set !== undefined ? context.stylize('[Setter]', 'special') : context.stylize('undefined', 'undefined');
  }
  if (kind === ELEMENT) return text;
  return `${propertyName(context, key, property)}:${space}${text}`;
}

function propertyName(context, key, property) {
  if (typeof key === 'symbol') {
    return `[${context.stylize(Symbol.prototype.toString.call(key).replace(CONTROL_AND_QUOTE, escapeUnit), 'symbol')}]`;
  }
  if (key === '__proto__') return "['__proto__']";
  if (property.enumerable === false) return `[${key.replace(CONTROL_AND_QUOTE, escapeUnit)}]`;
  return /^[a-zA-Z_][a-zA-Z_0-9]*$/.test(key) ? context.stylize(key, 'name') : context.stylize(quote(key), 'string');
}

function formatGetter(context, value, level, property) {
  const label = property.set !== undefined ? 'Getter/Setter' : 'Getter';
  const special = (text) => context.stylize(text, 'special');
  const { getters } = context;
  const wanted = getters === true || (getters === 'get' && !property.set) || (getters === 'set' && property.set);
  if (!wanted) return special(`[${label}]`);
  try {
    const result = property.get.call(value);
    context.indentation += 2;
    const text = formatValue(context, result, level);
    context.indentation -= 2;
    return typeof result === 'object' && result !== null
      ? `${special(`[${label}]`)} ${text}`
      : `${special(`[${label}:`)} ${text}${special(']')}`;
  } catch (error) {
    return `${special(`[${label}:`)} <Inspection threw (${error.message})>${special(']')}`;
  }
}

function fits(context, output, start, base) {
  let length = output.length + start;
  if (length + output.length > context.breakLength) return false;
  for (const entry of output) {
    length += context.colors ? stripColors(entry).length : entry.length;
    if (length > context.breakLength) return false;
  }
  return base === '' || !base.includes('\n');
}

/** Puts entries between braces: on one line if the object is flat and short, in columns if it is a long array, else a line each. */
function join(context, output, base, braces, kind, level, value) {
  const head = base ? `${base} ` : '';
  if (context.compact === true) {
    if (fits(context, output, 0, base)) return `${braces[0]}${base ? ` ${base}` : ''} ${output.join(', ')} ${braces[1]}`;
    const indentation = ' '.repeat(context.indentation);
    const line = base === '' && braces[0].length === 1 ? ' ' : `${base ? ` ${base}` : ''}\n${indentation}  `;
    return `${braces[0]}${line}${output.join(`,\n${indentation}  `)} ${braces[1]}`;
  }
  if (typeof context.compact === 'number' && context.compact >= 1) {
    const count = output.length;
    if (kind === ARRAY && count > 6) output = columns(context, output, value);
    if (context.currentDepth - level < context.compact && count === output.length) {
      const start = output.length + context.indentation + braces[0].length + base.length + 10;
      if (fits(context, output, start, base)) {
        const line = output.join(', ');
        if (!line.includes('\n')) return `${head}${braces[0]} ${line} ${braces[1]}`;
      }
    }
  }
  const indentation = `\n${' '.repeat(context.indentation)}`;
  return `${head}${braces[0]}${indentation}  ${output.join(`,${indentation}  `)}${indentation}${braces[1]}`;
}

/** Lays the elements of a long array out in columns of equal width. */
function columns(context, output, value) {
  const hasMore = context.maxArrayLength < output.length;
  const count = hasMore ? output.length - 1 : output.length;
  const widths = [];
  let total = 0;
  let widest = 0;
  for (let i = 0; i < count; i += 1) {
    widths[i] = stringWidth(context.colors ? stripColors(output[i]) : output[i]);
    total += widths[i] + 2;
    widest = Math.max(widest, widths[i]);
  }
  const width = widest + 2;
  if (width * 3 + context.indentation >= context.breakLength || (total / width <= 5 && widest > 6)) return output;
  const biased = Math.max(width - 3 - Math.sqrt(width - total / output.length), 1);
  const number = Math.min(
    Math.round(Math.sqrt(2.5 * biased * count) / biased),
    Math.floor((context.breakLength - context.indentation) / width),
    context.compact * 4,
    15,
  );
  if (number <= 1) return output;
  const lineWidths = [];
  for (let i = 0; i < number; i += 1) {
    let most = 0;
    for (let j = i; j < count; j += number) most = Math.max(most, widths[j]);
    lineWidths.push(most + 2);
  }
  const isNumeric = (item) => typeof item === 'number' || typeof item === 'bigint';
  let right = true;
  if (value !== undefined) for (let i = 0; i < output.length && right; i += 1) right = isNumeric(value[i]);
  const lines = [];
  for (let i = 0; i < count; i += number) {
    const end = Math.min(i + number, count);
    let line = '';
    for (let j = i; j < end; j += 1) {
      const last = j === end - 1;
      const cell = last ? output[j] : `${output[j]}, `;
      const target = lineWidths[j - i] + output[j].length - widths[j] - (last ? 2 : 0);
      line += right ? cell.padStart(target) : last ? cell : cell.padEnd(target);
    }
    lines.push(line);
  }
  if (hasMore) lines.push(output[count]);
  return lines;
}

/** Whether printing an object with `%s` should show its structure: it has no `toString` of its own. */
function hasOnlyBuiltInText(value) {
  const proxy = proxyTarget(value);
  if (proxy === null) return true;
  if (proxy !== undefined) value = proxy.target;
  if (typeof value.toString !== 'function') return true;
  if (Object.hasOwn(value, 'toString') || Object.hasOwn(value, Symbol.toPrimitive)) return false;
  let owner = value;
  do owner = Object.getPrototypeOf(owner);
  while (owner !== null && !Object.hasOwn(owner, 'toString') && !Object.hasOwn(owner, Symbol.toPrimitive));
  const constructor = owner === null ? undefined : Object.getOwnPropertyDescriptor(owner, 'constructor')?.value;
  return typeof constructor === 'function' && BUILT_IN.has(constructor.name);
}
const BUILT_IN = new Set(Object.getOwnPropertyNames(globalThis).filter((name) => /^[A-Z][a-zA-Z0-9]+$/.test(name)));

function tryStringify(value) {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error.name === 'TypeError' && /circular/.test(error.message)) return '[Circular]';
    throw error;
  }
}

const numberText = (value) => (typeof value === 'bigint' ? `${value}n` : Object.is(value, -0) ? '-0' : String(value));

function placeholder(kind, value, options) {
  switch (kind) {
    case 's':
      if (typeof value === 'number' || typeof value === 'bigint') return numberText(value);
      if (typeof value !== 'object' || value === null || !hasOnlyBuiltInText(value)) return String(value);
      return inspect(value, { ...options, depth: 0, colors: false, compact: 3 });
    case 'd':
      if (typeof value === 'symbol') return 'NaN';
      return numberText(typeof value === 'bigint' ? value : Number(value));
    case 'i':
      if (typeof value === 'symbol') return 'NaN';
      return numberText(typeof value === 'bigint' ? value : parseInt(value));
    case 'f':
      return typeof value === 'symbol' ? 'NaN' : numberText(parseFloat(value));
    case 'j':
      return tryStringify(value);
    case 'O':
      return inspect(value, options);
    case 'o':
      return inspect(value, { ...options, showHidden: true, showProxy: true, depth: 4 });
    default:
      return '';
  }
}

/** A value as `console.log` shows it. Short work for what has no inside. */
export function shown(value) {
  switch (typeof value) {
    case 'number':
      if (defaultOptions.numericSeparator) break;
      return value === 0 && 1 / value < 0 ? '-0' : `${value}`;
    case 'boolean':
    case 'undefined':
      return `${value}`;
    default:
      if (value === null) return 'null';
  }
  return inspect(value);
}

export function formatWithOptions(options, ...values) {
  const [first] = values;
  if (values.length === 1 && typeof first === 'string') return first;
  let text = '';
  let next = 0;
  if (typeof first === 'string' && first.includes('%')) {
    let used = 0;
    text = first.replace(/%([sdifjoOc%])/g, (whole, kind) => {
      if (kind === '%') return '%';
      if (used + 1 >= values.length) return whole;
      used += 1;
      return placeholder(kind, values[used], options);
    });
    // `%%` alone is left as it is when there is nothing else to put in.
    next = used + 1;
  } else if (typeof first === 'string') {
    text = first;
    next = 1;
  }
  for (; next < values.length; next += 1) {
    const value = values[next];
    const part = typeof value === 'string' ? value : options === undefined ? shown(value) : inspect(value, options);
    text = next === 0 ? part : `${text} ${part}`;
  }
  return text;
}

export const format = (...values) => formatWithOptions(undefined, ...values);
