// A live JavaScript: runs one cell after another in one global scope, as a notebook does.
//
// Frames on descriptor 3, both ways: the length in decimal, a line feed, and that many bytes of JSON. A cell may change anything that JavaScript
// can reach, this file too: what it breaks is its own session, and nothing that is sent from here is believed any more than the cell's output.

'use strict';

const fs = require('node:fs');
const Module = require('node:module');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const url = require('node:url');
const util = require('node:util');
const vm = require('node:vm');

const { rewrite } = require('./rewrite.js');

const EXIT_INTERRUPTED = 130;

// Who pays: the server's memory, and the caller who reads the result.
const MAX_JSON = 256 * 1024;
const MAX_TEXT = 64 * 1024;
const MAX_JSON_DEPTH = 100;
const MAX_JSON_NODES = 100_000;
const MAX_MESSAGE = 2000;

/** Told by who starts this; Node from 22.13 and Deno can take the types away. */
const isTypeScript = process.argv[2] === 'typescript';

const workspace = process.cwd();
const { stdout, stderr } = process;
const { stringify } = JSON;

/** Below these are only our own. */
const OUR_FRAMES = /new Script \(|Script\.(?:runInThisContext|#runInContext)|sigintHandlersWrap/;

/** The lines of all cells, for what is thrown from functions of earlier ones. */
const sources = new Map();

const importers = new Map();
const packageFolders = [];

/** Imports as a file of that folder would. */
function importerOf(folder) {
  if (!importers.has(folder)) {
    const file = path.join(folder, 'cell.js');
    const module = new Module(file);
    module._compile('module.exports=(specifier,options)=>import(specifier,options)', file);
    importers.set(folder, module.exports);
  }
  return importers.get(folder);
}

/** `npm:zod@^3/v4` as `zod/v4`: which version that is was decided when it was installed. */
function withoutScheme(specifier) {
  return `${specifier}`.replace(/^npm:\/*((?:@[^/]+\/)?[^/@]+)(?:@[^/]*)?(?=\/|$)/, '$1');
}

async function importModule(given, options) {
  const specifier = withoutScheme(given);
  const isPackage = !/^(?:\.{0,2}\/|[a-z]+:)/.test(specifier);
  let failure;
  for (const folder of isPackage ? [workspace, ...packageFolders] : [workspace]) {
    try {
      return await importerOf(folder)(specifier, options);
    } catch (error) {
      // Deno's has no code.
      const isMissing = /MODULE_NOT_FOUND$/.test(error?.code) || /not a dependency/.test(error?.message);
      if (!isMissing || !error.message.includes(specifier.split('/')[0])) throw error;
      failure ??= error;
    }
  }
  throw failure;
}

function requireOf(file) {
  const require = Module.createRequire(file);
  // Deno has no NODE_PATH.
  const isDeno = globalThis.Deno !== undefined;
  const find = (given) => {
    const specifier = typeof given === 'string' ? withoutScheme(given) : given;
    try {
      return require(specifier);
    } catch (error) {
      if (!isDeno || error?.code !== 'MODULE_NOT_FOUND' || /^\.{0,2}\//.test(specifier)) throw error;
      for (const folder of packageFolders) {
        try {
          return Module.createRequire(path.join(folder, 'cell.js'))(specifier);
        } catch (other) {
          if (other?.code !== 'MODULE_NOT_FOUND') throw other;
        }
      }
      throw error;
    }
  };
  return Object.assign(find, require);
}

function addPackages(folders) {
  const added = folders.filter((folder) => !packageFolders.includes(folder));
  if (added.length === 0) return;
  packageFolders.unshift(...added);
  // Other programs that a cell starts find them, too.
  const known = added.map((folder) => path.join(folder, 'node_modules'));
  process.env.NODE_PATH = [...known, process.env.NODE_PATH].filter(Boolean).join(':');
  Module._initPaths?.();
}

let current;

class Exit {
  constructor(code) {
    this.code = code;
  }
}

async function run(cell) {
  const report = { done: cell.cell, exit_code: 0 };
  let stop;
  const stopped = new Promise((resolve) => {
    stop = resolve;
  });
  current = { stop };
  process.exitCode = undefined;
  sources.set(cell.file, cell.code.split('\n'));
  const outcome = await Promise.race([
    stopped,
    (async () => {
      try {
        prepare(cell);
        return { value: await execute(cell) };
      } catch (error) {
        return { error };
      }
    })(),
  ]);
  if (!('error' in outcome)) {
    // What needs no waiting still belongs to the cell, and so does what it throws.
    Object.assign(outcome, await Promise.race([stopped, new Promise((resolve) => setImmediate(resolve, {}))]));
  }
  current = undefined;
  if ('error' in outcome) tell(report, outcome.error, cell.file);
  else report.exit_code = Number(process.exitCode ?? 0) & 255;
  process.exitCode = undefined;
  if (!('error' in outcome) && outcome.value !== undefined) tellValue(report, outcome.value);
  [stdout, stderr].forEach(release);
  await Promise.all([stdout, stderr].map((stream) => stream.writableLength > 0 && new Promise((resolve) => stream.write('', resolve))));
  return report;
}

function prepare(cell) {
  Object.assign(process.env, cell.env);
  process.argv = [process.execPath, cell.file, ...(cell.args ?? [])];
  for (const [key, value] of Object.entries(cell.variables ?? {})) globalThis[key] = value;
  if (cell.paths?.length > 0) addPackages(cell.paths);
  giveInput(cell.stdin);
}

/** Deno's numbers of descriptors are its own, and it does not close them on exec. */
const libc = globalThis.Deno?.dlopen('libc.so.6', {
  open: { parameters: ['buffer', 'i32'], result: 'i32' },
  dup2: { parameters: ['i32', 'i32'], result: 'i32' },
  close: { parameters: ['i32'], result: 'i32' },
  fcntl: { parameters: ['i32', 'i32', 'i32'], result: 'i32' },
}).symbols;
const F_SETFD = 2;
const FD_CLOEXEC = 1;

let input;
let hasInput = false;

/** Descriptor 0 itself, for the processes that the cell starts: what is closed is the number that is opened next. */
function giveInput(text) {
  input = undefined;
  if (!text && !hasInput) return;
  hasInput = Boolean(text);
  let file = '/dev/null';
  if (text) {
    file = path.join(os.tmpdir(), `stdin-${process.pid}-${process.hrtime.bigint()}`);
    fs.writeFileSync(file, text, { mode: 0o600 });
  }
  if (libc === undefined) {
    fs.closeSync(0);
    fs.openSync(file, 'r');
  } else {
    const descriptor = libc.open(Buffer.from(`${file}\0`), 0);
    libc.dup2(descriptor, 0);
    libc.close(descriptor);
  }
  if (text) fs.unlinkSync(file);
}

async function execute(cell) {
  let script;
  try {
    script = compile(cell.code, cell.file);
  } catch (error) {
    throw globalThis.Deno === undefined ? error : await refusal(cell, error);
  }
  return interruptible(() => {
    // A signal before this would be lost, and none comes.
    tellBegun(cell.cell);
    return script.runInThisContext({ displayErrors: false });
  });
}

/** Deno's parser knows the line, which its `vm` does not tell. */
async function refusal({ code, file }, error) {
  const type = isTypeScript ? 'typescript' : 'javascript';
  try {
    await import(`data:application/${type},${encodeURIComponent(`throw 0;${code}`)}`);
  } catch (other) {
    const found = /^SyntaxError: (.*)[^]*? at data:\S*:(\d+):\d+/.exec(other?.message);
    if (found !== null) {
      const known = new SyntaxError(found[1]);
      known.stack = `${file}:${found[2]}\nSyntaxError: ${found[1]}`;
      return known;
    }
  }
  return error;
}

function compile(code, filename) {
  const script = (text) => new vm.Script(rewrite(text).text, { filename });
  if (isTypeScript) return script(withoutTypes(code));
  const trimmed = code.trim();
  if (trimmed.startsWith('{') && trimmed.endsWith('}')) {
    // An object, if it can be one.
    try {
      return script(`(${code}\n)`);
    } catch {
      // A block.
    }
  }
  return script(code);
}

/** Types become spaces; what is more than a type, an `enum` say, becomes what it stands for. */
function withoutTypes(code) {
  const isObject = /^\s*\{[^]*\}\s*$/.test(code);
  const attempts = [...(isObject ? [[`(${code}\n)`, 'strip']] : []), [code, 'strip'], [code, 'transform']];
  let failure;
  for (const [text, mode] of attempts) {
    try {
      return Module.stripTypeScriptTypes(text, { mode });
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

const CALL = Symbol.for('belljar.call');
const caller = new vm.Script("globalThis[Symbol.for('belljar.call')]()", { filename: __filename });

/** Calls what may take for ever: a signal ends it. */
function interruptible(action) {
  globalThis[CALL] = () => {
    delete globalThis[CALL];
    return action();
  };
  return caller.runInThisContext({ breakOnSigint: true, displayErrors: false });
}

function tellValue(report, value) {
  last = value;
  try {
    if (isPlain(value)) {
      const text = stringify(value);
      if (text.length <= MAX_JSON) {
        report.value_json = text;
        return;
      }
    }
    const text = interruptible(() => util.inspect(value));
    report.value_repr = text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`;
  } catch (error) {
    // A value that cannot be looked at is none.
    if (isInterrupt(error)) interrupted(report);
  }
}

/** Runs none of the program's code: no getter, no proxy, no `toJSON`. */
function isPlain(root) {
  let nodes = 0;
  const visit = (item, depth) => {
    nodes += 1;
    if (depth > MAX_JSON_DEPTH || nodes > MAX_JSON_NODES) return false;
    switch (typeof item) {
      case 'string':
        return !/\p{Surrogate}/u.test(item);
      case 'number':
        return Number.isFinite(item);
      case 'boolean':
        return true;
      case 'object':
        break;
      default:
        return false;
    }
    if (item === null) return true;
    if (util.types.isProxy(item)) return false;
    const prototype = Object.getPrototypeOf(item);
    if (Array.isArray(item)) {
      if (prototype !== Array.prototype || Object.keys(item).length !== item.length) return false;
      return item.every((inner) => visit(inner, depth + 1));
    }
    if (prototype !== Object.prototype && prototype !== null) return false;
    if (Object.getOwnPropertySymbols(item).length > 0 || 'toJSON' in item) return false;
    return Object.entries(Object.getOwnPropertyDescriptors(item)).every(
      ([key, property]) => property.enumerable && 'value' in property && visit(key, depth + 1) && visit(property.value, depth + 1),
    );
  };
  return visit(root, 0);
}

const isInterrupt = (error) => error?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED';

function interrupted(report) {
  Object.assign(report, { exit_code: EXIT_INTERRUPTED, interrupted: true });
}

function tell(report, error, file) {
  if (error instanceof Exit) {
    report.exit_code = error.code;
    return;
  }
  if (isInterrupt(error)) {
    interrupted(report);
    stderr.write('Interrupted\n');
    return;
  }
  report.exit_code = 1;
  try {
    interruptible(() => describe(report, error, file));
  } catch (other) {
    report.error ??= { kind: 'Uncaught', message: '' };
    if (isInterrupt(other)) interrupted(report);
  }
}

/** Writes the error as Node does, without our frames, and reports it. */
function describe(report, error, file) {
  if (!util.types.isNativeError(error) && !(error instanceof Error)) {
    const text = util.inspect(error);
    report.error = { kind: 'Uncaught', message: text.split('\n')[0].slice(0, MAX_MESSAGE) };
    stderr.write(`Uncaught ${text}\n`);
    return;
  }
  const place = clean(error);
  const line = place?.file === file ? place.line : lineIn(error, file);
  report.error = { kind: nameOf(error), message: summary(error), ...(line && { line }) };
  const source = place && sources.get(place.file)?.[place.line - 1];
  const head = source === undefined ? '' : `${place.file}:${place.line}\n${source}\n\n`;
  // Without a frame it would stand in brackets.
  stderr.write(`${head}${/\n {4}at /.test(error.stack) ? util.inspect(error) : error.stack}\n`);
}

/** Takes our frames from the stack; where in a cell it happened. */
function clean(error) {
  if (typeof error.stack !== 'string') return undefined;
  let lines = error.stack.split('\n');
  // What the compiler refuses has the place, the line and a mark before it; the line is the rewritten one.
  const refused = /^(<cell \d+>|.*):(\d+)$/.exec(lines[0]);
  const title = lines.findIndex((line) => /^\w*Error\b/.test(line));
  if (refused !== null && title > 0) lines = lines.slice(title);
  const ours = lines.findIndex((line) => line.startsWith('    at ') && (line.includes(__filename) || OUR_FRAMES.test(line)));
  if (ours > 0) lines = lines.slice(0, ours);
  const stack = lines.join('\n');
  try {
    error.stack = stack;
  } catch {
    // It is the program's.
  }
  if (refused !== null) return { file: refused[1], line: Number(refused[2]) };
  const frame = /^    at (?:.*\()?(<cell \d+>):(\d+):\d+\)?$/m.exec(stack);
  return frame === null ? undefined : { file: frame[1], line: Number(frame[2]) };
}

/** The innermost line of a file that an error's stack names. */
function lineIn(error, file) {
  const start = typeof error.stack === 'string' ? error.stack.indexOf(`${file}:`) : -1;
  return start === -1 ? undefined : parseInt(error.stack.slice(start + file.length + 1), 10) || undefined;
}

function nameOf(error) {
  const given = String(error.name ?? 'Error');
  const type = error.constructor?.name;
  return given === 'Error' && type ? type : given;
}

/** The first line of the message that says something. */
function summary(error) {
  const lines = String(error.message ?? '').split('\n');
  return (lines.find((line) => line.trim() !== '') ?? '').trim().slice(0, MAX_MESSAGE);
}

let last;

function define(key, value) {
  Object.defineProperty(globalThis, key, { value, writable: true, configurable: true, enumerable: false });
}

function start() {
  const file = path.join(workspace, 'main.js');
  const module = new Module(file);
  module.filename = file;
  module.paths = Module._nodeModulePaths?.(workspace) ?? [];
  define('module', module);
  define('exports', module.exports);
  define('require', requireOf(file));
  define('__filename', file);
  define('__dirname', workspace);
  define(Symbol.for('belljar.import'), importModule);
  define(Symbol.for('belljar.meta'), { url: url.pathToFileURL(file).href, filename: file, dirname: workspace });
  // Until the program has one of its own.
  Object.defineProperty(globalThis, '_', {
    configurable: true,
    enumerable: false,
    get: () => last,
    set: (value) => define('_', value),
  });
  Object.defineProperty(process, 'stdin', {
    configurable: true,
    enumerable: true,
    get: () => (input ??= new fs.ReadStream(null, { fd: 0, autoClose: false })),
  });
  process.exit = (code) => {
    const exit = new Exit(Number(code ?? process.exitCode ?? 0) & 255);
    current?.stop({ error: exit });
    throw exit;
  };
  process.on('SIGINT', () => {
    current?.stop({ error: Object.assign(new Error('interrupted'), { code: 'ERR_SCRIPT_EXECUTION_INTERRUPTED' }) });
  });
  // In Node a program would end here; between cells there is none that could.
  for (const event of ['uncaughtException', 'unhandledRejection']) {
    process.on(event, (error) => {
      if (error instanceof Exit || process.listenerCount(event) > 1) return;
      if (current !== undefined) current.stop({ error });
      else tell({}, error, '');
    });
  }
}

let socket;

function send(report) {
  const body = Buffer.from(stringify(report));
  socket.write(`${body.length}\n`);
  socket.write(body);
}

/** A signal may come as soon as this is read: in the middle of `send` it would leave a socket that never writes again. */
function tellBegun(cell) {
  if (globalThis.Deno !== undefined) return send({ begun: cell });
  const body = stringify({ begun: cell });
  fs.writeSync(3, `${body.length}\n${body}`);
}

/** An interrupt between a write to a pipe and its return leaves a stream that waits for the end of that write for ever. */
function release(stream) {
  const state = stream._writableState;
  // Node's own pipes are written to at once, so here none can be under way. Deno's are not.
  if (globalThis.Deno === undefined && state?.writing) state.onwrite();
}

function main() {
  libc?.fcntl(3, F_SETFD, FD_CLOEXEC);
  socket = new net.Socket({ fd: 3, readable: true, writable: true });
  let waiting = Buffer.alloc(0);
  let queue = Promise.resolve();
  socket.on('data', (part) => {
    waiting = waiting.length > 0 ? Buffer.concat([waiting, part]) : part;
    for (;;) {
      const end = waiting.indexOf(10);
      if (end === -1) return;
      const length = Number(waiting.subarray(0, end).toString('latin1'));
      if (waiting.length < end + 1 + length) return;
      const cell = JSON.parse(waiting.subarray(end + 1, end + 1 + length).toString());
      waiting = waiting.subarray(end + 1 + length);
      const failed = (error) => ({ done: cell.cell, exit_code: 1, error: { kind: 'Error', message: `${error?.message}` } });
      queue = queue.then(() => run(cell)).catch(failed).then(send);
    }
  });
  const leave = () => process.reallyExit(0);
  socket.on('end', leave);
  socket.on('error', leave);
  start();
  send({ ready: true });
}

main();
