// Deep equality, strict and loose, as `assert` and `util.isDeepStrictEqual` mean it.

const LOOSE = false;
const STRICT = true;

const enumerableKeys = (value) => {
  const symbols = Object.getOwnPropertySymbols(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key));
  return [...Object.keys(value), ...symbols];
};

const isObject = (value) => typeof value === 'object' && value !== null;

function sameKind(a, b) {
  return Object.prototype.toString.call(a) === Object.prototype.toString.call(b);
}

function compare(a, b, mode, seen) {
  if (a === b) return a !== 0 || mode === LOOSE || Object.is(a, b);
  if (mode === STRICT) {
    if (!isObject(a) || !isObject(b)) return Object.is(a, b);
    if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  } else {
    if (!isObject(a)) return (!isObject(b) && (a == b || (a !== a && b !== b))) || false;
    if (!isObject(b)) return false;
  }
  if (!sameKind(a, b)) return false;

  if (Array.isArray(a) !== Array.isArray(b)) return false;
  if (Array.isArray(a) && a.length !== b.length) return false;
  if (a instanceof Date) {
    if (!(b instanceof Date) || !Object.is(a.getTime(), b.getTime())) return false;
  } else if (a instanceof RegExp) {
    if (!(b instanceof RegExp) || String(a) !== String(b) || a.lastIndex !== b.lastIndex) return false;
  } else if (Error.isError(a)) {
    if (!Error.isError(b) || a.message !== b.message || a.name !== b.name) return false;
  } else if (ArrayBuffer.isView(a) || a instanceof ArrayBuffer) {
    if (!sameBytes(a, b, mode)) return false;
    if (ArrayBuffer.isView(a)) return true;
  } else if (a instanceof Number || a instanceof String || a instanceof Boolean || a instanceof BigInt || a instanceof Symbol) {
    if (!Object.is(a.valueOf(), b.valueOf())) return false;
  } else if (a instanceof Promise || a instanceof WeakMap || a instanceof WeakSet || typeof a === 'function') {
    return false;
  }

  // A cycle is equal if it closes at the same place in both.
  for (const [first, second] of seen) if (first === a || second === b) return first === a && second === b;
  seen = [...seen, [a, b]];
  if (a instanceof Map && (!(b instanceof Map) || !sameMap(a, b, mode, seen))) return false;
  if (a instanceof Set && (!(b instanceof Set) || !sameSet(a, b, mode, seen))) return false;
  const keys = mode === STRICT ? enumerableKeys(a) : Object.keys(a);
  const others = mode === STRICT ? enumerableKeys(b) : Object.keys(b);
  if (keys.length !== others.length) return false;
  return keys.every((key) => Object.prototype.propertyIsEnumerable.call(b, key) && compare(a[key], b[key], mode, seen));
}

function sameBytes(a, b, mode) {
  if (ArrayBuffer.isView(a) && a instanceof Float64Array)
    return a.length === b.length && a.every((item, i) => (mode === STRICT ? Object.is(item, b[i]) : item === b[i]));
  const view = (value) =>
    ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array(value);
  const [first, second] = [view(a), view(b)];
  return first.length === second.length && first.every((byte, i) => byte === second[i]);
}

function sameSet(a, b, mode, seen) {
  if (a.size !== b.size) return false;
  const left = [...b];
  for (const item of a) {
    if (b.has(item)) {
      left.splice(left.indexOf(item), 1);
      continue;
    }
    const index = left.findIndex((other) => (isObject(item) || mode === LOOSE) && compare(item, other, mode, seen));
    if (index === -1) return false;
    left.splice(index, 1);
  }
  return true;
}

function sameMap(a, b, mode, seen) {
  if (a.size !== b.size) return false;
  const left = [...b.keys()];
  for (const [key, value] of a) {
    let index = left.findIndex((other) => Object.is(other, key) || other === key);
    if (index === -1 || !compare(value, b.get(left[index]), mode, seen)) {
      index = left.findIndex(
        (other) =>
          (isObject(key) || mode === LOOSE) && compare(key, other, mode, seen) && compare(value, b.get(other), mode, seen),
      );
    }
    if (index === -1) return false;
    left.splice(index, 1);
  }
  return true;
}

export const isDeepStrictEqual = (a, b) => compare(a, b, STRICT, []);
export const isDeepEqual = (a, b) => compare(a, b, LOOSE, []);
