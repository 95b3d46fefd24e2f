// `util`.

import { TextDecoder, TextEncoder } from './encoding.js';
import { isDeepStrictEqual } from './equal.js';
import { abortError } from './events.js';
import { format, formatWithOptions, inspect } from './inspect.js';
import { setImmediate, setTimeout } from './loop.js';
import { codeError, notAFunction } from './node_error.js';
import { process } from './process.js';
import { proxyTarget } from './proxies.js';
import { errorMap } from './system_error.js';
import { fill } from './unsupported.js';

const customPromisify = Symbol.for('nodejs.util.promisify.custom');

function promisify(original) {
  if (typeof original !== 'function') throw notAFunction('original', original);
  if (typeof original[customPromisify] === 'function') return original[customPromisify];
  const promised = function (...args) {
    return new Promise((resolve, reject) => {
      original.call(this, ...args, (error, ...values) => {
        if (error) reject(error);
        else resolve(values[0]);
      });
    });
  };
  Object.setPrototypeOf(promised, Object.getPrototypeOf(original));
  return Object.defineProperties(promised, Object.getOwnPropertyDescriptors(original));
}
promisify.custom = customPromisify;

setTimeout[customPromisify] = (delay, value, options) => timersPromises.setTimeout(delay, value, options);
setImmediate[customPromisify] = (value, options) => timersPromises.setImmediate(value, options);

function callbackify(original) {
  if (typeof original !== 'function') throw notAFunction('original', original);
  return function (...args) {
    const callback = args.pop();
    original.apply(this, args).then(
      (value) => process.nextTick(callback, null, value),
      (reason) => {
        const error =
          reason ||
          Object.assign(new Error('Promise was rejected with a falsy value'), { code: 'ERR_FALSY_VALUE_REJECTION', reason });
        process.nextTick(callback, error);
      },
    );
  };
}

function cancellable(signal, start) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(abortError(signal));
      return;
    }
    const cancel = start(resolve);
    signal?.addEventListener(
      'abort',
      () => {
        cancel();
        reject(abortError(signal));
      },
      { once: true },
    );
  });
}

export const timersPromises = {
  setTimeout: (delay, value, { signal, ref = true } = {}) =>
    cancellable(signal, (resolve) => {
      const timer = setTimeout(resolve, delay, value);
      if (!ref) timer.unref();
      return () => timer.close();
    }),
  setImmediate: (value, { signal } = {}) =>
    cancellable(signal, (resolve) => {
      const immediate = setImmediate(resolve, value);
      return () => immediate[Symbol.dispose]();
    }),
  async *setInterval(delay, value, options) {
    for (;;) yield await timersPromises.setTimeout(delay, value, options);
  },
};
timersPromises.scheduler = {
  wait: (delay, options) => timersPromises.setTimeout(delay, undefined, options),
  yield: () => timersPromises.setImmediate(),
};

const TypedArray = Object.getPrototypeOf(Uint8Array);
const tagOf = (value) => Object.prototype.toString.call(value).slice(8, -1);
const isA = (type) => (value) => value instanceof type;
const isTyped = (name) => (value) => value instanceof TypedArray && value[Symbol.toStringTag] === name;

export const types = {
  isProxy: (value) => proxyTarget(value) !== undefined,
  isDate: isA(Date),
  isRegExp: isA(RegExp),
  isMap: isA(Map),
  isSet: isA(Set),
  isWeakMap: isA(WeakMap),
  isWeakSet: isA(WeakSet),
  isPromise: isA(Promise),
  isNativeError: (value) => Error.isError(value),
  isArrayBuffer: isA(ArrayBuffer),
  isSharedArrayBuffer: isA(SharedArrayBuffer),
  isAnyArrayBuffer: (value) => value instanceof ArrayBuffer || value instanceof SharedArrayBuffer,
  isArrayBufferView: (value) => ArrayBuffer.isView(value),
  isTypedArray: isA(TypedArray),
  isDataView: isA(DataView),
  isNumberObject: isA(Number),
  isStringObject: isA(String),
  isBooleanObject: isA(Boolean),
  isBigIntObject: isA(BigInt),
  isSymbolObject: isA(Symbol),
  isBoxedPrimitive: (value) => [Number, String, Boolean, BigInt, Symbol].some((type) => value instanceof type),
  isAsyncFunction: (value) => typeof value === 'function' && /^Async/.test(tagOf(value)),
  isGeneratorFunction: (value) => typeof value === 'function' && /GeneratorFunction$/.test(tagOf(value)),
  isGeneratorObject: (value) => typeof value === 'object' && /Generator$/.test(tagOf(value)),
  isMapIterator: (value) => tagOf(value) === 'Map Iterator',
  isSetIterator: (value) => tagOf(value) === 'Set Iterator',
  isArgumentsObject: (value) => tagOf(value) === 'Arguments',
  isModuleNamespaceObject: (value) => tagOf(value) === 'Module' && Object.getPrototypeOf(value) === null,
  isExternal: () => false,
};
for (const name of [
  'Int8',
  'Uint8',
  'Uint8Clamped',
  'Int16',
  'Uint16',
  'Int32',
  'Uint32',
  'BigInt64',
  'BigUint64',
  'Float32',
  'Float64',
]) {
  types[`is${name}Array`] = isTyped(`${name}Array`);
}
fill(types, 'util.types', 'isKeyObject isCryptoKey isEventTarget');

function inherits(constructor, superConstructor) {
  Object.defineProperty(constructor, 'super_', { value: superConstructor, writable: true, configurable: true });
  Object.setPrototypeOf(constructor.prototype, superConstructor.prototype);
}

function deprecate(original, message, code) {
  let warned = false;
  return function (...args) {
    if (!warned) process.emitWarning(message, 'DeprecationWarning', code);
    warned = true;
    return new.target ? Reflect.construct(original, args, new.target) : original.apply(this, args);
  };
}

/** Colors are for terminals: there are none here, unless the caller says that it does not matter. */
function styleText(style, text, { validateStream = true } = {}) {
  return [style].flat().reduceRight((inner, name) => {
    const color = inspect.colors[name];
    if (color === undefined) {
      const known = Object.keys(inspect.colors).map((item) => `'${item}'`);
      throw codeError(
        'ERR_INVALID_ARG_VALUE',
        `The argument 'format' must be one of: ${known.join(', ')}. Received '${name}'`,
        TypeError,
      );
    }
    return validateStream ? inner : `\x1b[${color[0]}m${inner}\x1b[${color[1]}m`;
  }, text);
}

function parseEnv(text) {
  const result = {};
  for (const [, name, quoted, plain] of text.matchAll(
    /^\s*(?:export\s+)?([\w.-]+)\s*=\s*(?:("(?:\\"|[^"])*"|'[^']*'|`[^`]*`)|([^#\n\r]*))?.*$/gm,
  )) {
    if (quoted === undefined) result[name] = (plain ?? '').trim();
    else result[name] = quoted[0] === '"' ? quoted.slice(1, -1).replaceAll('\\n', '\n') : quoted.slice(1, -1);
  }
  return result;
}

const argumentError = (code, message) => codeError(code, message, TypeError);

function parseArgs({ args = process.argv.slice(2), options = {}, strict = true, allowPositionals = !strict } = {}) {
  const values = Object.create(null);
  const positionals = [];
  const store = (name, value, shown) => {
    const option = options[name];
    if (option === undefined && strict) throw argumentError('ERR_PARSE_ARGS_UNKNOWN_OPTION', `Unknown option '${shown}'`);
    if (option?.multiple) (values[name] ??= []).push(value);
    else values[name] = value;
  };
  const queue = [...args];
  while (queue.length > 0) {
    const argument = queue.shift();
    if (argument === '--') {
      positionals.push(...queue.splice(0));
    } else if (/^--./.test(argument)) {
      const at = argument.indexOf('=');
      const name = at === -1 ? argument.slice(2) : argument.slice(2, at);
      const isText = options[name]?.type === 'string';
      if (at !== -1) {
        if (strict && options[name]?.type === 'boolean')
          throw argumentError('ERR_PARSE_ARGS_INVALID_OPTION_VALUE', `Option '--${name}' does not take an argument`);
        store(name, argument.slice(at + 1), `--${name}`);
      } else if (isText) {
        if (strict && (queue.length === 0 || /^-./.test(queue[0])))
          throw argumentError('ERR_PARSE_ARGS_INVALID_OPTION_VALUE', `Option '--${name} <value>' argument missing`);
        store(name, queue.shift(), `--${name}`);
      } else store(name, true, `--${name}`);
    } else if (/^-[^-]/.test(argument)) {
      for (let i = 1; i < argument.length; i += 1) {
        const letter = argument[i];
        const [name] = Object.entries(options).find(([, option]) => option.short === letter) ?? [letter];
        if (options[name]?.type === 'string') {
          const rest = argument.slice(i + 1);
          store(name, rest !== '' ? rest : queue.shift(), `-${letter}`);
          break;
        }
        store(name, true, `-${letter}`);
      }
    } else {
      if (!allowPositionals)
        throw argumentError(
          'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL',
          `Unexpected argument '${argument}'. This command does not take positional arguments`,
        );
      positionals.push(argument);
    }
  }
  for (const [name, option] of Object.entries(options))
    if (option.default !== undefined && values[name] === undefined) values[name] = option.default;
  return { values, positionals };
}

const debuglog = () => Object.assign(() => {}, { enabled: false });

const util = {
  inspect,
  format,
  formatWithOptions,
  promisify,
  callbackify,
  inherits,
  deprecate,
  debuglog,
  debug: debuglog,
  isDeepStrictEqual,
  types,
  styleText,
  parseEnv,
  parseArgs,
  TextEncoder,
  TextDecoder,
  stripVTControlCharacters: (text) =>
    text.replace(
      /[\u001B\u009B][[\]()#;?]*(?:(?:(?:[a-zA-Z\d]*(?:;[-a-zA-Z\d/#&.:=?%@~_]*)*)?\u0007)|(?:(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-ntqry=><~]))/g,
      '',
    ),
  toUSVString: (text) => `${text}`.toWellFormed(),
  getSystemErrorName: (number) => errorMap.get(number)?.[0],
  getSystemErrorMap: () => errorMap,
  aborted: (signal) => new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true })),
  _extend: Object.assign,
  log: (...values) => globalThis.console.log(...values),
  isArray: Array.isArray,
  isBoolean: (value) => typeof value === 'boolean',
  isBuffer: (value) => globalThis.Buffer.isBuffer(value),
  isNull: (value) => value === null,
  isNullOrUndefined: (value) => value === null || value === undefined,
  isNumber: (value) => typeof value === 'number',
  isString: (value) => typeof value === 'string',
  isSymbol: (value) => typeof value === 'symbol',
  isUndefined: (value) => value === undefined,
  isRegExp: types.isRegExp,
  isObject: (value) => value !== null && typeof value === 'object',
  isDate: types.isDate,
  isError: (value) => Error.isError(value) || value instanceof Error,
  isFunction: (value) => typeof value === 'function',
  isPrimitive: (value) => value === null || (typeof value !== 'object' && typeof value !== 'function'),
};
export default fill(
  util,
  'util',
  'MIMEType MIMEParams transferableAbortSignal transferableAbortController getCallSite getCallSites',
);
