// What a run was given, and `process` as far as every run has to do with it: that it may have listeners, and an exit code.

import { EventEmitter } from './events.js';

function Process() {
  EventEmitter.call(this);
}
Object.setPrototypeOf(Process.prototype, EventEmitter.prototype);
Object.defineProperty(Process, 'name', { value: 'process' });
Object.defineProperty(Process.prototype, Symbol.toStringTag, { value: 'process', configurable: true });

export const process = new Process();
process.exitCode = undefined;

let mainFile;
let circumstances;

/** The program's file, and a JSON text with `args` and `env`, which is read only if somebody asks. */
export function setCircumstances(file, text) {
  mainFile = file;
  circumstances = text;
}
export const getMainFile = () => mainFile;
const given = () => (typeof circumstances === 'string' ? (circumstances = JSON.parse(circumstances)) : circumstances);
export const argumentsGiven = () => [...given().args];
export const environmentGiven = () => given().env;

let exiting = false;

/** Tells listeners of the end, once. Returns the exit code, which they may set. */
export function announceExit(code) {
  if (!exiting) {
    exiting = true;
    if (code !== undefined) process.exitCode = code;
    if (process._events.exit !== undefined) process.emit('exit', Number(process.exitCode ?? 0));
  }
  return Number(process.exitCode ?? 0);
}

/** A cell of a session has ended, and not the program. */
export function goOn() {
  exiting = false;
  process.exitCode = undefined;
}
