// Places in the text that the caller wrote, rather than in what was made of it.

import * as host from './host.js';

/** Our own files. Their frames are no business of the program. */
export const isOwn = (file) => typeof file === 'string' && file.startsWith('belljar:');

const maps = new Map();
let mainFile;

/** The program's own file, of which the host made something else than of other files. */
export const setMainFile = (file) => {
  mainFile = file;
};

/** Texts that are in no file, and where their lines came from. */
const cells = new Map();
export const addCell = (file, text, map) => void cells.set(file, { text, map });

/** Where line and column of the text that ran were in the text that was written. Both count from 1. */
export function original(file, line, column) {
  let map = maps.get(file);
  if (map === undefined) {
    const text = cells.has(file) ? cells.get(file).map : host.sourceMap(file, file === mainFile);
    map = text === undefined ? null : JSON.parse(text);
    maps.set(file, map);
  }
  if (map === null) return { line, column };
  for (const [shiftLine, shiftColumn, width] of map.shifts) {
    if (line === shiftLine && column > shiftColumn) column = Math.max(column - width, shiftColumn);
  }
  if (map.tokens === null) return { line, column };
  // The last token that starts at or before the place, if it is on the same line.
  let low = 0;
  let high = map.tokens.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const [tokenLine, tokenColumn] = map.tokens[middle];
    if (tokenLine < line || (tokenLine === line && tokenColumn <= column)) low = middle + 1;
    else high = middle;
  }
  const token = map.tokens[low - 1];
  if (token === undefined) return { line, column };
  return { line: token[2], column: token[3] };
}

const sources = new Map();

/** A line of the caller's text, or undefined. */
export function sourceLine(file, line) {
  let lines = sources.get(file);
  if (lines === undefined) {
    const text = cells.has(file) ? cells.get(file).text : host.readText(file);
    lines = typeof text === 'string' ? text.split(/\r\n|[\n\r\u2028\u2029]/) : null;
    sources.set(file, lines);
  }
  return lines?.[line - 1];
}
