// `performance`: time since the run began.

import * as host from './host.js';
import { fill } from './unsupported.js';

const entries = [];

function entry(name, entryType, startTime, duration, detail) {
  const made = { name, entryType, startTime, duration, detail: detail ?? null };
  entries.push(made);
  return made;
}

/** The time of a mark, or a number as it is. */
function timeOf(mark, fallback) {
  if (mark === undefined) return fallback;
  if (typeof mark === 'number') return mark;
  const found = entries.findLast((item) => item.entryType === 'mark' && item.name === mark);
  if (found !== undefined) return found.startTime;
  throw new DOMException(`The "${mark}" performance mark has not been set`, 'SyntaxError');
}

export const performance = {
  now: () => host.milliseconds(),
  get timeOrigin() {
    return Date.now() - host.milliseconds();
  },
  mark: (name, { startTime = host.milliseconds(), detail } = {}) => entry(`${name}`, 'mark', startTime, 0, detail),
  measure(name, startOrOptions, endMark) {
    const {
      start,
      end = endMark,
      duration,
      detail,
    } = typeof startOrOptions === 'object' && startOrOptions !== null ? startOrOptions : { start: startOrOptions };
    const from = timeOf(start, 0);
    const to = duration === undefined ? timeOf(end, host.milliseconds()) : from + duration;
    return entry(`${name}`, 'measure', from, to - from, detail);
  },
  getEntries: () => entries.toSorted((a, b) => a.startTime - b.startTime),
  getEntriesByName: (name, type) =>
    entries.filter((item) => item.name === name && (type === undefined || item.entryType === type)),
  getEntriesByType: (type) => entries.filter((item) => item.entryType === type),
  clearMarks: (name) => clear('mark', name),
  clearMeasures: (name) => clear('measure', name),
  toJSON: () => ({ timeOrigin: performance.timeOrigin }),
};
fill(performance, 'performance', 'timerify eventLoopUtilization');
Object.defineProperty(performance, Symbol.toStringTag, { value: 'Performance', configurable: true });

function clear(type, name) {
  for (let i = entries.length - 1; i >= 0; i -= 1) {
    if (entries[i].entryType === type && (name === undefined || entries[i].name === name)) entries.splice(i, 1);
  }
}

export default fill(
  { performance, constants: {} },
  'perf_hooks',
  'Performance PerformanceEntry PerformanceMark PerformanceMeasure PerformanceObserver PerformanceObserverEntryList ' +
    'PerformanceResourceTiming monitorEventLoopDelay createHistogram',
);
