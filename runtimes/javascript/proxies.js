// What a proxy stands for. The language hides it on purpose; printing a proxy must not set off its traps, so every one that is made is
// remembered.

const NativeProxy = Proxy;
const targets = new WeakMap();
let made = 0;

function remember(proxy, target, handler) {
  targets.set(proxy, { target, handler });
  made += 1;
  return proxy;
}

/** `{ target, handler }` of a proxy, null when it was revoked, undefined for anything else. */
export function proxyTarget(value) {
  return made === 0 ? undefined : targets.get(value);
}

export function install() {
  const Wrapper = function Proxy(target, handler) {
    if (new.target === undefined) throw new TypeError("Constructor Proxy requires 'new'");
    return remember(new NativeProxy(target, handler), target, handler);
  };
  Wrapper.prototype = undefined;
  Object.defineProperty(Wrapper, 'length', { value: 2, configurable: true });
  Object.defineProperty(Wrapper, 'revocable', {
    configurable: true,
    writable: true,
    value: function revocable(target, handler) {
      const { proxy, revoke } = NativeProxy.revocable(target, handler);
      remember(proxy, target, handler);
      return {
        proxy,
        revoke() {
          targets.set(proxy, null);
          revoke();
        },
      };
    },
  });
  Object.defineProperty(globalThis, 'Proxy', { value: Wrapper, writable: true, configurable: true });
}
