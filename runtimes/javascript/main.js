// A run, from the program's text to its exit code. The host calls `main` once and then `turn` until it says that the run is over.

import { announceExit, goOn, process, setCircumstances } from './circumstances.js';
import { installDecorators } from './decorators.js';
import { installGlobals } from './globals.js';
import * as host from './host.js';
import { inspect } from './inspect.js';
import { forget, nextTick, runTicks, step } from './loop.js';
import { loadImport, mainScope, resolveImport, runMain } from './modules.js';
import { setWorkingDirectory } from './path.js';
import { addCell, setMainFile, sourceLine } from './places.js';
import { renew } from './process.js';
import { installStacks, locateImport, nameNatives, placeOf, refusal } from './stacks.js';
import { setHandler } from './uncaught.js';
import { reasonOf } from './unsupported.js';
import { installDeno } from './deno.js';

// What the host has seen in a program; the numbers are the host's too.
const USES_DENO = 1;
const HAS_VALUE = 2;

/** The name of the export that holds the value of a module's last expression. */
const VALUE = '__belljar_value';

const MAX_JSON = 256 * 1024;
const MAX_TEXT = 64 * 1024;
/** Deeper values are shown as text: whoever reads the JSON may be less patient. */
const MAX_JSON_DEPTH = 100;
const MAX_JSON_NODES = 100_000;

let mainFile;
let value;
/** Whether the program's own text came to its end: false while a top-level `await` waits. */
let finished = false;

function main(kind, file, facts, text, circumstances, variables) {
  mainFile = file;
  setCircumstances(file, circumstances);
  setMainFile(file);
  if (facts & USES_DENO) installDeno();
  try {
    if (variables !== undefined) Object.assign(globalThis, JSON.parse(variables));
    run(kind, file, text);
  } catch (error) {
    fatal(error);
  }
}

function run(kind, file, text) {
  if (kind === host.REFUSED) throw refusal(file, text);
  if (kind === host.BROKEN) host.compile(text, file, host.BROKEN);
  const isModule = kind === host.MODULE;
  const program = host.compile(text, file, isModule || kind === host.ASYNC_SCRIPT ? kind : host.SCRIPT);
  const result = isModule ? program : runMain(program, file);
  if (!isModule) runTicks();
  if (kind !== host.ASYNC_SCRIPT && !isModule) {
    value = result;
    finished = true;
    return;
  }
  result.then((outcome) => {
    value = isModule ? outcome[VALUE] : outcome;
    finished = true;
  }, fatal);
}

/** Of a session's programs: how the current one failed, if it did. */
let cellCode;
let isCell = false;

/** One of the programs of a session, which run one after another and share what they declare. */
function cell(kind, file, facts, text, circumstances, variables, source, map) {
  if (!isCell) startCells();
  mainFile = file;
  value = cellCode = undefined;
  finished = dying = false;
  addCell(file, source, map);
  setCircumstances(file, circumstances);
  renew();
  if (facts & USES_DENO) installDeno();
  try {
    if (variables !== undefined) Object.assign(globalThis, JSON.parse(variables));
    runCell(kind, file, text, (facts & HAS_VALUE) !== 0);
  } catch (error) {
    fatal(error);
  }
}

function runCell(kind, file, text, hasValue) {
  if (kind === host.REFUSED) throw refusal(file, text);
  if (kind === host.BROKEN) host.compile(text, file, host.BROKEN);
  const isAsync = kind === host.ASYNC_SCRIPT;
  const result = host.compile(text, file, isAsync ? host.ASYNC_CELL : host.CELL);
  runTicks();
  const finish = (outcome) => {
    if (hasValue) value = outcome;
    finished = true;
  };
  // The engine's promise is for an object with the value.
  if (isAsync) result.then((outcome) => finish(outcome.value), fatal);
  else finish(result);
}

function startCells() {
  isCell = true;
  for (const [name, item] of Object.entries(mainScope()))
    Object.defineProperty(globalThis, name, { value: item, writable: true, configurable: true, enumerable: false });
  // The last value, as long as no program has something else under this name.
  let last;
  Object.defineProperty(globalThis, '_', {
    configurable: true,
    get: () => last,
    set(own) {
      keepLast = () => {};
      Object.defineProperty(globalThis, '_', { value: own, writable: true, configurable: true, enumerable: true });
    },
  });
  keepLast = (item) => {
    last = item;
  };
}

let keepLast;

/** What to do next in a cell, as `turn` says it. */
function cellTurn() {
  if (cellCode === undefined) {
    if (reportRejections()) return 0;
    const wait = step();
    if (wait >= 0) return wait;
    if (!finished) {
      host.write(2, `Warning: Detected unsettled top-level await at ${mainFile}\n`);
      cellCode = 13;
    }
  }
  if (cellCode !== undefined) {
    stop();
    return -1 - cellCode;
  }
  if (value !== undefined) {
    reportValue();
    keepLast(settled(value));
  }
  const code = Number(process.exitCode ?? 0) & 255;
  goOn();
  return -1 - code;
}

/** A cell is over, whatever it still has to do. */
function stop() {
  forget();
  rejections.clear();
  goOn();
}

let saidGoodbye = false;

/** What to do next: 0 for another turn, milliseconds to wait before it, or -1 minus the exit code at the end. */
function turn() {
  try {
    if (isCell) return cellTurn();
    if (reportRejections()) return 0;
    const wait = step();
    if (wait >= 0) return wait;
    if (!finished) {
      host.write(2, `Warning: Detected unsettled top-level await at ${mainFile}\n`);
      return -1 - announceExit(13);
    }
    if (!saidGoodbye) {
      saidGoodbye = true;
      if (process._events.beforeExit !== undefined && process.emit('beforeExit', Number(process.exitCode ?? 0))) return 0;
    }
    if (value !== undefined) reportValue();
    return -1 - (announceExit() & 255);
  } catch (error) {
    fatal(error);
    return 0;
  }
}

const rejections = new Map();

/** The engine tells of every promise that is rejected with nobody to hear of it, and again when somebody does. */
function rejected(promise, reason, isHandled) {
  if (!isHandled) rejections.set(promise, reason);
  else if (!rejections.delete(promise)) nextTick(() => process.emit('rejectionHandled', promise));
}

function reportRejections() {
  if (rejections.size === 0) return false;
  const list = [...rejections];
  rejections.clear();
  for (const [promise, reason] of list) {
    if (process.emit('unhandledRejection', reason, promise)) continue;
    if (Error.isError(reason) || reason instanceof Error) {
      fatal(reason, 'unhandledRejection');
      continue;
    }
    const error = new Error(
      'This error originated either by throwing inside of an async function without a catch block, or by rejecting a promise which was ' +
        `not handled with .catch(). The promise rejected with the reason "${typeof reason === 'string' ? reason : inspect(reason)}".`,
    );
    error.name = 'UnhandledPromiseRejection';
    error.code = 'ERR_UNHANDLED_REJECTION';
    Object.defineProperty(error, 'stack', { value: `${error.name}: ${error.message}`, configurable: true });
    fatal(error, 'unhandledRejection');
  }
  return true;
}

let dying = false;

/** The end of a run by an error that nobody caught. Returns only if the program has a listener for such errors. */
function fatal(error, origin = 'uncaughtException') {
  if (isOutOfMemory(error)) {
    host.relieve();
    host.write(2, '\nFATAL ERROR: JavaScript heap out of memory\n');
    host.reportError('OutOfMemory', 'JavaScript heap out of memory');
    host.exit(134);
  }
  if (!dying) {
    process.emit('uncaughtExceptionMonitor', error, origin);
    if (process.emit('uncaughtException', error, origin)) return;
  }
  if (isCell) {
    cellCode ??= 1;
    describe(error);
    return;
  }
  dying = true;
  let code = 1;
  try {
    describe(error);
    code = announceExit(1);
  } catch (other) {
    host.write(2, `${other?.stack ?? other}\n`);
  }
  host.exit(code);
}

/** With no memory left for an error object, the engine throws null. */
function isOutOfMemory(error) {
  if (error === null) return host.wasRefusedMemory();
  return error instanceof InternalError && error.message === 'out of memory';
}

/** Writes the error as Node does, and reports it. */
function describe(error) {
  const isError = Error.isError(error) || error instanceof Error;
  const module = isError ? /^The requested module '(.*)' does not provide an export/.exec(error.message)?.[1] : undefined;
  if (module !== undefined) locateImport(error, mainFile, module);
  const place = isError ? placeOf(error) : undefined;
  let text = '';
  if (place !== undefined) {
    const line = sourceLine(place.file, place.line);
    if (line !== undefined) {
      const indent = line.slice(0, place.column - 1).replace(/[^\t]/g, ' ');
      text += `${place.file}:${place.line}\n${line}\n${indent}^\n\n`;
    }
  }
  text += isError ? inspect(error) : `Uncaught ${inspect(error)}`;
  host.write(2, `${text}\n`);

  const line = place?.file === mainFile ? place.line : lineIn(error, mainFile);
  if (isError) host.reportError(nameOf(error), summary(error), line);
  else host.reportError('Uncaught', inspect(error));
  const reason = reasonOf(error);
  if (reason !== undefined) host.reportUnsupported(reason);
}

/** The innermost line of a file that an error's stack names. */
function lineIn(error, file) {
  const start = typeof error?.stack === 'string' ? error.stack.indexOf(`${file}:`) : -1;
  if (start === -1) return undefined;
  return parseInt(error.stack.slice(start + file.length + 1), 10) || undefined;
}

function nameOf(error) {
  const name = String(error.name ?? 'Error');
  const type = error.constructor?.name;
  return name === 'Error' && type ? type : name;
}

/** The first line of the message that says something. */
function summary(error) {
  const lines = String(error.message ?? '')
    .split('\n')
    .filter((line) => line.trim() !== '');
  return (lines[0] ?? '').trim().replace(/:$/, '');
}

/** The value of the program's last expression: as JSON if it is plain data, otherwise as it would be printed. */
function reportValue() {
  try {
    reportAsData(value);
  } catch {
    // A value that cannot be looked at is none.
  }
}

/** What a promise has come to. */
function settled(given) {
  let result = given;
  for (let depth = 0; result instanceof Promise && depth < 100; depth += 1) {
    if (host.promiseState(result) !== 1) break;
    result = host.promiseResult(result);
  }
  return result;
}

function reportAsData(given) {
  const result = settled(given);
  if (result === undefined) return;
  if (isPlain(result)) {
    const text = JSON.stringify(result);
    if (text.length <= MAX_JSON) {
      host.reportJson(text);
      return;
    }
  }
  const text = inspect(result);
  host.reportText(text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`);
}

function isPlain(root) {
  let nodes = 0;
  const visit = (item, depth) => {
    nodes += 1;
    if (depth > MAX_JSON_DEPTH || nodes > MAX_JSON_NODES) return false;
    switch (typeof item) {
      case 'string':
        return item.isWellFormed();
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
    if (typeof item.toJSON === 'function') return false;
    const prototype = Object.getPrototypeOf(item);
    if (Array.isArray(item)) {
      if (prototype !== Array.prototype || Object.keys(item).length !== item.length) return false;
      return item.every((inner) => visit(inner, depth + 1));
    }
    if (prototype !== Object.prototype && prototype !== null) return false;
    const properties = Object.entries(Object.getOwnPropertyDescriptors(item));
    if (Object.getOwnPropertySymbols(item).length > 0) return false;
    return properties.every(
      ([name, property]) => name.isWellFormed() && property.enumerable && 'value' in property && visit(property.value, depth + 1),
    );
  };
  return visit(root, 0);
}

installStacks();
installGlobals();
installDecorators();
nameNatives();
setHandler(fatal);
setWorkingDirectory('/box');

export default [main, turn, resolveImport, loadImport, rejected, cell, stop];
