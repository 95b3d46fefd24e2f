// `require` and `import`: Node's own modules, and files of the run.

import { builtins, builtinText, exportsOf, MISSING, setImported } from './builtins.js';
import * as host from './host.js';
import { codeError, invalidType } from './node_error.js';
import path from './path.js';
import { process } from './process.js';
import { locateImport, refusal } from './stacks.js';
import { fill, mark, unsupported } from './unsupported.js';
import { fileURLToPath } from './url.js';

const withoutScheme = (name) => (name.startsWith('node:') ? name.slice(5) : name);
const isNodeModule = (name) => builtins.has(withoutScheme(name)) || MISSING.has(withoutScheme(name));
/** These have their name only behind `node:`. */
const SCHEME_ONLY = new Set(['sqlite', 'sea', 'test', 'test/reporters']);

const kindOf = (file) => {
  const answer = host.stat(file, true);
  return typeof answer === 'string' ? answer[0] : undefined;
};
const isFile = (file) => kindOf(file) === '0';
const isDirectory = (file) => kindOf(file) === '1';

const EXTENSIONS = ['', '.js', '.json', '.mjs', '.cjs', '.ts', '.tsx', '.mts', '.cts'];

/** The file that a path without an ending may mean, or undefined. */
function findFile(file) {
  for (const extension of EXTENSIONS) if (isFile(file + extension)) return file + extension;
  // TypeScript names the file that will be.
  const typed = file.replace(/\.(m|c)?js$/, '.$1ts');
  if (typed !== file && isFile(typed)) return typed;
  if (!isDirectory(file)) return undefined;
  const manifest = readManifest(file);
  if (typeof manifest?.main === 'string') {
    const main = findFile(path.resolve(file, manifest.main));
    if (main !== undefined) return main;
  }
  for (const extension of EXTENSIONS.slice(1)) if (isFile(`${file}/index${extension}`)) return `${file}/index${extension}`;
  return undefined;
}

function readManifest(directory) {
  const text = host.readText(`${directory}/package.json`);
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

/** What a package says is its entry, for this way of loading it. */
function exported(target, conditions) {
  if (typeof target === 'string') return target;
  if (Array.isArray(target)) return target.map((item) => exported(item, conditions)).find((item) => item !== undefined);
  if (target === null || typeof target !== 'object') return undefined;
  for (const [condition, inner] of Object.entries(target)) {
    if (conditions.includes(condition)) {
      const found = exported(inner, conditions);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** The entry of a package's map that a path in it means: its own, or that of the longest pattern. */
function entryOf(map, subpath, conditions) {
  if (Object.hasOwn(map, subpath)) return exported(map[subpath], conditions);
  let best;
  for (const key of Object.keys(map)) {
    const star = key.indexOf('*');
    if (star < 0) continue;
    const [head, tail] = [key.slice(0, star), key.slice(star + 1)];
    const fits = subpath.startsWith(head) && subpath.endsWith(tail) && subpath.length >= head.length + tail.length;
    if (fits && (best === undefined || head.length > best.head.length)) best = { key, head, tail };
  }
  if (best === undefined) return undefined;
  const part = subpath.slice(best.head.length, subpath.length - best.tail.length);
  return exported(map[best.key], conditions)?.replaceAll('*', part);
}

function findPackage(name, from, conditions) {
  const [, packageName, rest] = /^((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(name) ?? [undefined, name];
  for (let directory = from; ; directory = path.dirname(directory)) {
    const root = path.join(directory, 'node_modules', packageName);
    if (isDirectory(root)) {
      const manifest = readManifest(root);
      const { exports } = manifest ?? {};
      if (exports !== undefined && exports !== null) {
        const isMap =
          typeof exports === 'object' && !Array.isArray(exports) && Object.keys(exports).some((key) => key.startsWith('.'));
        const target = isMap
          ? entryOf(exports, `.${rest ?? ''}`, conditions)
          : rest === undefined
            ? exported(exports, conditions)
            : undefined;
        if (target !== undefined) return path.join(root, target);
      }
      const found = findFile(rest === undefined ? root : path.join(root, rest));
      if (found !== undefined) return found;
    }
    if (directory === '/') return undefined;
  }
}

/** What a package calls `#name` within itself. */
function findInternal(name, from, conditions) {
  for (let directory = from; ; directory = path.dirname(directory)) {
    const manifest = readManifest(directory);
    if (manifest !== undefined) {
      const target = entryOf(manifest.imports ?? {}, name, conditions);
      return target === undefined
        ? undefined
        : target.startsWith('.')
          ? path.join(directory, target)
          : find(target, directory, conditions);
    }
    if (directory === '/') return undefined;
  }
}

/** The module that a name means to a file in `from`: `node:fs`, or an absolute path. Undefined when there is none. */
function find(name, from, conditions) {
  if (isNodeModule(name) && !(SCHEME_ONLY.has(name) && !name.startsWith('node:'))) return `node:${withoutScheme(name)}`;
  if (name.startsWith('#')) return findInternal(name, from, conditions);
  if (name.startsWith('node:')) throw codeError('ERR_UNKNOWN_BUILTIN_MODULE', `No such built-in module: ${name}`);
  if (name.startsWith('file:')) return findFile(fileURLToPath(name));
  if (name.startsWith('npm:')) {
    // `npm:zod@^3/v4`: which version that is was decided when it was installed.
    const [, packageName, rest] = /^npm:\/?((?:@[^/]+\/)?[^/@]+)(?:@[^/]*)?(\/.*)?$/.exec(name) ?? [];
    const found = packageName && findPackage(packageName + (rest ?? ''), from, conditions);
    if (found) return found;
  }
  if (/^(https?|npm|jsr|data|bun):/.test(name)) throw unsupported(name);
  if (/^(\.{0,2}\/|\.{1,2}$)/.test(name)) return findFile(path.resolve(from, name));
  return findPackage(name, from, conditions);
}

const isBare = (name) => !/^(\.{0,2}\/|\.{1,2}$|file:)/.test(name);
const notHere = (name) => `\`${name}\` is not in the WebAssembly JavaScript`;

const cache = Object.create(null);

class Module {
  constructor(id, parent) {
    this.id = id;
    this.path = path.dirname(id);
    this.exports = {};
    this.filename = id;
    this.loaded = false;
    this.children = [];
    this.paths = [];
    Object.defineProperty(this, 'parent', { value: parent, configurable: true, writable: true });
    this.require = makeRequire(this);
  }
}

function resolveRequired(name, module) {
  if (typeof name !== 'string') throw invalidType('id', 'of type string', name);
  if (name === '')
    throw codeError('ERR_INVALID_ARG_VALUE', "The argument 'id' must be a non-empty string. Received ''", TypeError);
  const found = find(name, module.path, ['node', 'require', 'default']);
  if (found !== undefined) return found;
  const stack = [];
  for (let item = module; item; item = item.parent) stack.push(item.filename);
  const error = codeError(
    'MODULE_NOT_FOUND',
    `Cannot find module '${name}'\nRequire stack:\n${stack.map((file) => `- ${file}`).join('\n')}`,
  );
  error.requireStack = stack;
  // What a package looks for and does not find, it can do without, or says so itself.
  if (isBare(name) && !module.path.includes('/node_modules/')) mark(error, notHere(name));
  throw error;
}

const stubs = new Map();

/** A module of Node's that is not here. Libraries load some that they never use: it is missed when something is wanted of it. */
function stubOf(name) {
  if (!stubs.has(name)) {
    const get = (target, key) => {
      if (typeof key === 'symbol' || key === '__esModule' || key === 'default' || key === 'then') return undefined;
      throw unsupported(`${name}.${key}`);
    };
    stubs.set(name, new Proxy({}, { get }));
  }
  return stubs.get(name);
}

function load(file, parent) {
  if (file.startsWith('node:')) {
    const name = file.slice('node:'.length);
    return builtins.get(name) ?? stubOf(name);
  }
  const cached = cache[file];
  if (cached !== undefined) return cached.exports;
  const module = new Module(file, parent);
  parent?.children.push(module);
  cache[file] = module;
  try {
    execute(module);
  } catch (error) {
    delete cache[file];
    throw error;
  }
  module.loaded = true;
  return module.exports;
}

function execute(module) {
  const text = host.readText(module.filename);
  if (typeof text === 'number') throw codeError('MODULE_NOT_FOUND', `Cannot find module '${module.filename}'`);
  if (module.filename.endsWith('.json')) {
    try {
      module.exports = JSON.parse(text.replace(/^\ufeff/, ''));
    } catch (error) {
      error.message = `${module.filename}: ${error.message}`;
      throw error;
    }
    return;
  }
  const prepared = prepare(text, module.filename);
  if (prepared[0] === 'm') {
    module.exports = importNow(module.filename);
    return;
  }
  runIn(module, host.compile(prepared.slice(1), module.filename, host.SCRIPT));
}

/** What an ES module exports, for `require`: it must not have to wait for anything. */
function importNow(file) {
  const promise = import(file);
  host.runJobs();
  const state = host.promiseState(promise);
  if (state === 0) {
    throw codeError(
      'ERR_REQUIRE_ASYNC_MODULE',
      'require() cannot be used on an ESM graph with top-level await. Use import() instead.',
    );
  }
  const result = host.promiseResult(promise);
  if (state === 1) return 'module.exports' in result ? result['module.exports'] : result;
  // Told to the caller instead.
  promise.catch(() => {});
  throw result;
}

function prepare(text, file) {
  const prepared = host.prepare(text, file);
  if (prepared[0] === 'e') throw refusal(file, prepared.slice(1));
  return prepared;
}

/** Runs a module's text, which is the body of `compiled`. */
function runIn(module, compiled) {
  return compiled.call(module.exports, module.exports, module.require, module, module.filename, module.path);
}

function makeRequire(module) {
  const require = (name) => load(resolveRequired(name, module), module);
  Object.assign(require, {
    resolve: (name) => {
      const found = resolveRequired(name, module);
      return found.startsWith('node:') ? withoutScheme(name) : found;
    },
    cache,
    main: typeof module.parent === 'object' && module.parent !== null ? mainModule : undefined,
    extensions: Object.create(null),
  });
  require.resolve.paths = () => [];
  return require;
}

/** The program's own module. Made before the snapshot: a run only says which file it is. */
const mainModule = new Module('/box/main.js', null);
mainModule.id = '.';
mainModule.require.main = mainModule;

/** Runs the program as a CommonJS module; returns what its text returned. */
export function runMain(compiled, file) {
  if (mainModule.filename !== file) {
    mainModule.filename = file;
    mainModule.path = path.dirname(file);
  }
  cache[file] = mainModule;
  const result = runIn(mainModule, compiled);
  mainModule.loaded = true;
  return result;
}

/** What the program of a file has in its scope, for one that is in no file. */
export const mainScope = () => ({
  require: mainModule.require,
  module: mainModule,
  exports: mainModule.exports,
  __filename: mainModule.filename,
  __dirname: mainModule.path,
});

/** A `require` for the file of a path or URL, as `module.createRequire` makes them. */
export function createRequire(from) {
  const file = typeof from === 'string' && from.startsWith('/') ? from : fileURLToPath(from);
  return new Module(file, null).require;
}

builtins.set(
  'module',
  fill(
    Object.assign(Module, {
      Module,
      createRequire,
      isBuiltin: isNodeModule,
      builtinModules: [...builtins.keys(), 'module', ...MISSING].filter((name) => !SCHEME_ONLY.has(name)).sort(),
      _cache: cache,
      wrap: (text) => `(function (exports, require, module, __filename, __dirname) { ${text}\n});`,
      syncBuiltinESMExports() {},
      globalPaths: [],
    }),
    'module',
    'register findSourceMap SourceMap runMain _load _resolveFilename _extensions',
  ),
);
process.getBuiltinModule = (name) => builtins.get(withoutScheme(name));

// What the engine asks when a module is imported. A name with one of these schemes is ours: the text behind it is made here, and a
// program cannot write one.
const COMMONJS = 'commonjs:';
const JSON_FILE = 'json:';

/** The name under which a module is known, for the module `base` that imports it. */
export function resolveImport(base, name) {
  const from = base.startsWith('/') ? path.dirname(base) : process.cwd();
  let found;
  try {
    found = find(name, from, ['node', 'import', 'module', 'default']);
  } catch (error) {
    locateImport(error, base, name);
    throw error;
  }
  if (found === undefined) {
    const what = isBare(name)
      ? `package '${name}'`
      : `module '${path.resolve(from, name.startsWith('file:') ? fileURLToPath(name) : name)}'`;
    const error = codeError('ERR_MODULE_NOT_FOUND', `Cannot find ${what} imported from ${base}`);
    if (isBare(name)) mark(error, notHere(name));
    locateImport(error, base, name);
    throw error;
  }
  if (found.startsWith('node:')) {
    if (builtins.has(found.slice('node:'.length))) return found;
    const error = unsupported(name);
    locateImport(error, base, name);
    throw error;
  }
  if (found.endsWith('.json')) return JSON_FILE + found;
  if (found.endsWith('.cjs') || found.endsWith('.cts')) return COMMONJS + found;
  if (found.endsWith('.mjs') || found.endsWith('.mts') || cacheOfTexts.has(found)) return found;
  const text = host.readText(found);
  if (typeof text === 'number') throw codeError('ERR_MODULE_NOT_FOUND', `Cannot find module '${found}' imported from ${base}`);
  const prepared = prepare(text, found);
  // A script without any sign of either kind may be imported for its effects.
  if (prepared[0] === 's') return COMMONJS + found;
  cacheOfTexts.set(found, prepared.slice(1));
  return found;
}

/** Texts that were looked at to see what they are. */
const cacheOfTexts = new Map();

/** The text of a module, by the name that `resolveImport` gave it. */
export function loadImport(name) {
  if (name.startsWith('node:')) return builtinText(name.slice(5));
  if (name.startsWith(COMMONJS)) {
    const file = name.slice(COMMONJS.length);
    const exports = load(file, mainModule);
    setImported(file, exports);
    return exportsOf(exports, `required(${JSON.stringify(file)})`);
  }
  if (name.startsWith(JSON_FILE)) {
    const file = name.slice(JSON_FILE.length);
    return `export default ${JSON.stringify(load(file, mainModule))};`;
  }
  const known = cacheOfTexts.get(name);
  if (known !== undefined) return known;
  const text = host.readText(name);
  if (typeof text === 'number') throw codeError('ERR_MODULE_NOT_FOUND', `Cannot find module '${name}'`);
  return prepare(text, name).slice(1);
}
