// `console`: information to standard output, trouble to standard error.

import { write, milliseconds } from './host.js';
import { formatWithOptions, inspect, shown } from './inspect.js';
import { missing } from './unsupported.js';
import { stringWidth } from './width.js';

const STDOUT = 1;
const STDERR = 2;

/** A console that writes to these two functions. */
export class Console {
  #write;
  #indentation = '';
  #counts = new Map();
  #timers = new Map();

  constructor(options, second) {
    const stdout = options?.stdout ?? options;
    const stderr = options?.stderr ?? second ?? stdout;
    if (typeof stdout?.write !== 'function') throw new TypeError('Console expects a writable stream instance');
    this.#write = (stream, text) => (stream === STDOUT ? stdout : stderr).write(text);
    // Methods are passed around without their object: `promise.then(console.log)`.
    for (const name of Object.getOwnPropertyNames(Console.prototype)) {
      if (name !== 'constructor') this[name] = this[name].bind(this);
    }
  }

  #print(stream, values) {
    let text;
    if (values.length !== 1) text = formatWithOptions(undefined, ...values);
    else text = typeof values[0] === 'string' ? values[0] : shown(values[0]);
    if (this.#indentation !== '') text = this.#indentation + text.replaceAll('\n', `\n${this.#indentation}`);
    this.#write(stream, `${text}\n`);
  }

  log(...values) {
    this.#print(STDOUT, values);
  }
  info(...values) {
    this.#print(STDOUT, values);
  }
  debug(...values) {
    this.#print(STDOUT, values);
  }
  error(...values) {
    this.#print(STDERR, values);
  }
  warn(...values) {
    this.#print(STDERR, values);
  }
  dirxml(...values) {
    this.#print(STDOUT, values);
  }
  dir(value, options) {
    this.#print(STDOUT, [inspect(value, { customInspect: false, ...options })]);
  }
  trace(...values) {
    const trace = { name: 'Trace', message: formatWithOptions(undefined, ...values) };
    Error.captureStackTrace(trace, this.trace);
    this.#print(STDERR, [trace.stack]);
  }
  assert(condition, ...values) {
    if (condition) return;
    if (typeof values[0] === 'string') values[0] = `Assertion failed: ${values[0]}`;
    else values.unshift(values.length === 0 ? 'Assertion failed' : 'Assertion failed:');
    this.#print(STDERR, values);
  }
  clear() {
    // Only a terminal can be cleared.
  }
  count(label = 'default') {
    const count = (this.#counts.get(`${label}`) ?? 0) + 1;
    this.#counts.set(`${label}`, count);
    this.#print(STDOUT, [`${label}: ${count}`]);
  }
  countReset(label = 'default') {
    if (!this.#counts.delete(`${label}`)) this.#warning(`Count for '${label}' does not exist`);
  }
  group(...values) {
    if (values.length > 0) this.#print(STDOUT, values);
    this.#indentation += '  ';
  }
  groupCollapsed(...values) {
    this.group(...values);
  }
  groupEnd() {
    this.#indentation = this.#indentation.slice(2);
  }
  time(label = 'default') {
    if (this.#timers.has(`${label}`)) this.#warning(`Label '${label}' already exists for console.time()`);
    else this.#timers.set(`${label}`, milliseconds());
  }
  timeLog(label = 'default', ...values) {
    const start = this.#timers.get(`${label}`);
    if (start === undefined) this.#warning(`No such label '${label}' for console.timeLog()`);
    else this.#print(STDOUT, [`${label}: ${duration(milliseconds() - start)}`, ...values]);
  }
  timeEnd(label = 'default') {
    const start = this.#timers.get(`${label}`);
    if (start === undefined) this.#warning(`No such label '${label}' for console.timeEnd()`);
    else this.#print(STDOUT, [`${label}: ${duration(milliseconds() - start)}`]);
    this.#timers.delete(`${label}`);
  }
  table(data, properties) {
    if (data === null || typeof data !== 'object') this.#print(STDOUT, [data]);
    else this.#print(STDOUT, [table(data, properties)]);
  }

  #warning(text) {
    this.#write(STDERR, `(node:1) Warning: ${text}\n`);
  }
}

function duration(time) {
  const two = (value) => String(value).padStart(2, '0');
  if (time < 1000) return `${Number(time.toFixed(3))}ms`;
  const seconds = time / 1000;
  if (seconds < 60) return `${seconds.toFixed(3)}s`;
  const [whole, fraction] = (seconds % 60).toFixed(3).split('.');
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${two(whole)}.${fraction} (m:ss.mmm)`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole)} (h:mm:ss)`;
}

function table(data, properties) {
  const cell = (value) => {
    const isLarge = value !== null && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length > 2;
    return inspect(value, { depth: isLarge ? -1 : 0, maxArrayLength: 3, breakLength: Infinity });
  };
  const indexes = (length) => Array.from({ length }, (_, index) => cell(index));
  if (data instanceof Map) {
    const entries = [...data];
    const columns = [indexes(data.size), entries.map(([key]) => cell(key)), entries.map(([, value]) => cell(value))];
    return drawTable(['(iteration index)', 'Key', 'Values'], columns);
  }
  if (data instanceof Set) return drawTable(['(iteration index)', 'Values'], [indexes(data.size), Array.from(data, cell)]);

  const columns = Object.create(null);
  const values = [];
  const rows = Object.keys(data);
  rows.forEach((row, index) => {
    const item = data[row];
    const isPrimitive = item === null || (typeof item !== 'object' && typeof item !== 'function');
    if (isPrimitive && properties === undefined) {
      values[index] = cell(item);
      return;
    }
    for (const key of properties ?? Object.keys(item)) {
      columns[key] ??= [];
      columns[key][index] = isPrimitive || !Object.hasOwn(item, key) ? '' : cell(item[key]);
    }
  });
  const head = ['(index)', ...Object.keys(columns)];
  const body = [rows, ...Object.values(columns)];
  if (values.length > 0) {
    head.push('Values');
    body.push(values);
  }
  return drawTable(head, body);
}

function drawTable(head, columns) {
  const height = Math.max(...columns.map((column) => column.length));
  const widths = head.map((title, index) =>
    Math.max(stringWidth(title), ...Array.from({ length: height }, (_, row) => stringWidth(columns[index][row] ?? ''))),
  );
  const line = (cells) => `│ ${cells.map((text, index) => text + ' '.repeat(widths[index] - stringWidth(text))).join(' │ ')} │`;
  const rule = (left, middle, right) => left + widths.map((width) => '─'.repeat(width + 2)).join(middle) + right;
  const body = Array.from({ length: height }, (_, row) => line(columns.map((column) => column[row] ?? '')));
  return [rule('┌', '┬', '┐'), line(head), rule('├', '┼', '┤'), ...body, rule('└', '┴', '┘')].join('\n');
}

export const console = new Console({
  stdout: { write: (text) => write(STDOUT, text) },
  stderr: { write: (text) => write(STDERR, text) },
});
Object.assign(console, { Console, profile() {}, profileEnd() {}, timeStamp() {}, context: missing('console.context') });
Object.defineProperty(console, Symbol.toStringTag, { value: 'console', configurable: true });
