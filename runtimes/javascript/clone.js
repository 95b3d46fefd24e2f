// `structuredClone`.

function refused(what) {
  return new DOMException(`${what} could not be cloned.`, 'DataCloneError');
}

const ERRORS = new Map(
  [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].map((type) => [type.name, type]),
);

export function structuredClone(value, options) {
  if (arguments.length === 0) throw new TypeError('The "value" argument must be specified');
  const transfer = new Set(options?.transfer);
  const seen = new Map();

  const clone = (given) => {
    if (typeof given === 'symbol') throw refused(given.toString());
    if (typeof given === 'function') throw refused(Function.prototype.toString.call(given));
    if (typeof given !== 'object' || given === null) return given;
    if (seen.has(given)) return seen.get(given);
    const keep = (copy) => {
      seen.set(given, copy);
      return copy;
    };
    const fill = (copy) => {
      for (const key of Object.keys(given)) copy[key] = clone(given[key]);
      return copy;
    };

    if (Array.isArray(given)) return fill(keep(new Array(given.length)));
    if (given instanceof Date) return keep(new Date(given.getTime()));
    if (given instanceof RegExp) return keep(new RegExp(given.source, given.flags));
    if (given instanceof Map) {
      const copy = keep(new Map());
      for (const [key, item] of [...given]) copy.set(clone(key), clone(item));
      return copy;
    }
    if (given instanceof Set) {
      const copy = keep(new Set());
      for (const item of [...given]) copy.add(clone(item));
      return copy;
    }
    if (given instanceof ArrayBuffer) return keep(transfer.has(given) ? given.transfer() : given.slice(0));
    if (given instanceof SharedArrayBuffer) return keep(given);
    if (given instanceof DataView) return keep(new DataView(clone(given.buffer), given.byteOffset, given.byteLength));
    if (ArrayBuffer.isView(given)) {
      // A subclass, such as Buffer, arrives as what it is underneath.
      const Type = globalThis[given[Symbol.toStringTag]];
      return keep(new Type(clone(given.buffer), given.byteOffset, given.length));
    }
    if (Error.isError(given)) {
      const Type = ERRORS.get(given.name) ?? Error;
      const copy = keep(Object.create(Type.prototype));
      const error = new Type(given.message);
      Object.defineProperty(error, 'stack', { value: given.stack, writable: true, configurable: true });
      if ('cause' in given)
        Object.defineProperty(error, 'cause', { value: clone(given.cause), writable: true, configurable: true });
      void copy;
      return keep(error);
    }
    for (const type of [Number, String, Boolean, BigInt]) if (given instanceof type) return keep(Object(given.valueOf()));
    for (const type of [Promise, WeakMap, WeakSet, WeakRef]) if (given instanceof type) throw refused(`#<${type.name}>`);
    return fill(keep({}));
  };
  return clone(value);
}
