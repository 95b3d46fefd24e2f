// What TypeScript's decorators become when they are written out: calls of these.

const isDescribed = (target, key, description) =>
  description === null ? Object.getOwnPropertyDescriptor(target, key) : description;

/** Applies decorators to a class, or to a member of it, the last one first. */
function decorate(decorators, target, key, description) {
  const isClass = arguments.length < 3;
  let result = isClass ? target : isDescribed(target, key, description);
  for (const decorator of decorators.toReversed()) {
    const replaced = isClass ? decorator(result) : arguments.length > 3 ? decorator(target, key, result) : decorator(target, key);
    result = replaced || result;
  }
  if (arguments.length > 3 && result) Object.defineProperty(target, key, result);
  return result;
}

const decorateParam = (index, decorator) => (target, key) => decorator(target, key, index);
const decorateMetadata = (key, value) => (typeof Reflect.metadata === 'function' ? Reflect.metadata(key, value) : () => {});

export function installDecorators() {
  Object.defineProperty(globalThis, 'babelHelpers', {
    value: { decorate, decorateParam, decorateMetadata },
    configurable: true,
    writable: true,
  });
}
