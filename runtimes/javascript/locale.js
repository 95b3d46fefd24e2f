// Numbers, dates and the order of words, as they are written in the United States: what Node does unless told otherwise. QuickJS has no
// tables of other languages, so another language, or an option that is not here, is unsupported.

import { unsupported } from './unsupported.js';

const ENGLISH = /^(en|en-US|C|POSIX)$/i;

function checkLocale(locales, what) {
  for (const locale of [locales].flat()) {
    if (locale === undefined) continue;
    if (!/^[a-z]{2,8}(-[a-z0-9]{1,8})*$/i.test(`${locale}`)) throw new RangeError(`Incorrect locale information provided`);
    if (!ENGLISH.test(`${locale}`)) throw unsupported(`${what} for ${locale}`);
    return;
  }
}

function checkOptions(options, known, what) {
  for (const key of Object.keys(options ?? {})) {
    if (options[key] !== undefined && !known.includes(key)) throw unsupported(`${what} with \`${key}\``);
  }
}

/** The digits of a number, shortest form, without an exponent: `{ negative, whole, fraction }`. */
function digitsOf(value) {
  const text = typeof value === 'bigint' ? `${value}` : Object.is(value, -0) ? '-0' : `${value}`;
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(text);
  const shift = Number(exponent);
  const all = whole + fraction;
  const point = whole.length + shift;
  const padded = point <= 0 ? '0'.repeat(1 - point) + all : all.padEnd(point, '0');
  const at = Math.max(point, 1);
  return { negative: sign === '-', whole: padded.slice(0, at), fraction: padded.slice(at) };
}

/** Rounds half away from zero, in decimal, to at most `most` digits and at least `least`. */
function rounded({ whole, fraction }, least, most) {
  let kept = fraction.slice(0, most);
  if (fraction.length > most && fraction[most] >= '5') {
    const up = (BigInt(whole + kept) + 1n).toString().padStart(whole.length + kept.length, '0');
    whole = up.slice(0, up.length - kept.length);
    kept = up.slice(up.length - kept.length);
  }
  kept = kept.replace(/0+$/, '').padEnd(least, '0');
  return { whole: whole.replace(/^0+(?=\d)/, ''), fraction: kept };
}

const SYMBOLS = {
  USD: '$',
  EUR: '€',
  GBP: '£',
  JPY: '¥',
  INR: '₹',
  CNY: 'CN¥',
  KRW: '₩',
  CAD: 'CA$',
  AUD: 'A$',
  BRL: 'R$',
  MXN: 'MX$',
  NZD: 'NZ$',
  HKD: 'HK$',
  TWD: 'NT$',
  VND: '₫',
  ILS: '₪',
  PHP: '₱',
};
const WITHOUT_CENTS = ['JPY', 'KRW', 'VND', 'CLP', 'ISK', 'UGX', 'XAF', 'XOF', 'PYG', 'RWF'];
const NUMBER_OPTIONS = [
  'style',
  'currency',
  'minimumFractionDigits',
  'maximumFractionDigits',
  'useGrouping',
  'minimumIntegerDigits',
  'currencyDisplay',
  'notation',
  'localeMatcher',
];

function digitCount(value, name, fallback, most = 100) {
  if (value === undefined) return fallback;
  const count = Math.floor(Number(value));
  if (!(count >= 0 && count <= most)) throw new RangeError(`${name} value is out of range.`);
  return count;
}

/** A function that writes numbers with these options. */
function numberFormat(locales, options, what) {
  checkLocale(locales, what);
  checkOptions(options, NUMBER_OPTIONS, what);
  const { style = 'decimal', currency, useGrouping = true, currencyDisplay = 'symbol', notation = 'standard' } = options ?? {};
  if (!['decimal', 'percent', 'currency'].includes(style))
    throw style === 'unit'
      ? unsupported(`${what} of units`)
      : new RangeError(`Value ${style} out of range for Intl.NumberFormat options property style`);
  if (style === 'currency' && currency === undefined) throw new TypeError('Currency code is required with currency style.');
  if (currencyDisplay !== 'symbol') throw unsupported(`${what} with \`currencyDisplay\``);
  if (notation !== 'standard') throw unsupported(`${what} with \`notation\``);
  const code = `${currency ?? ''}`.toUpperCase();
  const usual = style === 'currency' ? (WITHOUT_CENTS.includes(code) ? 0 : 2) : 0;
  let least = digitCount(options?.minimumFractionDigits, 'minimumFractionDigits', undefined);
  let most = digitCount(options?.maximumFractionDigits, 'maximumFractionDigits', undefined);
  if (least !== undefined && most !== undefined && least > most)
    throw new RangeError('maximumFractionDigits value is out of range.');
  least ??= Math.min(usual, most ?? usual);
  most ??= Math.max(least, style === 'currency' ? usual : style === 'percent' ? 0 : 3);
  const leastWhole = digitCount(options?.minimumIntegerDigits, 'minimumIntegerDigits', 1, 21);

  const body = (value) => {
    if (typeof value === 'number' && Number.isNaN(value)) return 'NaN';
    if (value === Infinity || value === -Infinity) return '∞';
    let digits = digitsOf(value);
    if (style === 'percent') {
      const shifted = `${digits.fraction}00`;
      digits = { whole: digits.whole + shifted.slice(0, 2), fraction: digits.fraction.slice(2) };
    }
    const { whole, fraction } = rounded(digits, least, most);
    const padded = whole.padStart(leastWhole, '0');
    const grouped = useGrouping === false || useGrouping === 'false' ? padded : padded.replace(/\B(?=(\d{3})+$)/g, ',');
    return fraction === '' ? grouped : `${grouped}.${fraction}`;
  };
  return (given) => {
    const value = typeof given === 'bigint' ? given : Number(given);
    const sign = value < 0 || Object.is(value, -0) ? '-' : '';
    const text = body(value);
    if (style === 'percent') return `${sign}${text}%`;
    if (style === 'currency') return `${sign}${SYMBOLS[code] ?? `${code}\xa0`}${text}`;
    return `${sign}${text}`;
  };
}

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const DATE_FIELDS = ['weekday', 'year', 'month', 'day'];
const TIME_FIELDS = ['hour', 'minute', 'second', 'fractionalSecondDigits', 'dayPeriod'];
const DATE_OPTIONS = [
  'weekday',
  'year',
  'month',
  'day',
  'hour',
  'minute',
  'second',
  'hour12',
  'hourCycle',
  'timeZone',
  'dateStyle',
  'timeStyle',
  'localeMatcher',
];
const DATE_STYLES = {
  full: { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' },
  long: { year: 'numeric', month: 'long', day: 'numeric' },
  medium: { year: 'numeric', month: 'short', day: 'numeric' },
  short: { year: '2-digit', month: 'numeric', day: 'numeric' },
};
const TIME_STYLES = {
  medium: { hour: 'numeric', minute: '2-digit', second: '2-digit' },
  short: { hour: 'numeric', minute: '2-digit' },
};

const two = (value) => String(value).padStart(2, '0');
const sized = (value, size) => (size === '2-digit' ? two(value % 100) : String(value));

function dateText(date, { weekday, year, month, day }) {
  const named = month === 'long' || month === 'short';
  const dayName =
    weekday === undefined
      ? undefined
      : weekday === 'long'
        ? DAYS[date.getDay()]
        : DAYS[date.getDay()].slice(0, weekday === 'narrow' ? 1 : 3);
  const yearText = year === undefined ? undefined : sized(date.getFullYear(), year);
  const dayText = day === undefined ? undefined : sized(date.getDate(), day);
  if (!named) {
    const monthText = month === undefined ? undefined : sized(date.getMonth() + 1, month);
    const numbers = [monthText, dayText, yearText].filter((part) => part !== undefined).join('/');
    if (dayName !== undefined && month === undefined && year === undefined && day !== undefined) return `${dayText} ${dayName}`;
    return [dayName, numbers].filter((part) => part !== undefined && part !== '').join(', ');
  }
  const monthName = month === 'long' ? MONTHS[date.getMonth()] : MONTHS[date.getMonth()].slice(0, 3);
  const monthDay = dayText === undefined ? monthName : `${monthName} ${dayText}`;
  const withYear =
    yearText === undefined ? monthDay : dayText === undefined ? `${monthDay} ${yearText}` : `${monthDay}, ${yearText}`;
  return dayName === undefined ? withYear : `${dayName}, ${withYear}`;
}

function timeText(date, { hour, minute, second }, is12) {
  if (hour === undefined) {
    const parts = [
      minute === undefined ? undefined : two(date.getMinutes()),
      second === undefined ? undefined : two(date.getSeconds()),
    ];
    return minute !== undefined && second !== undefined
      ? parts.join(':')
      : String(minute !== undefined ? date.getMinutes() : date.getSeconds());
  }
  const hours = date.getHours();
  const shown = is12 ? hours % 12 || 12 : hours;
  const parts = [is12 && hour !== '2-digit' ? String(shown) : two(shown)];
  if (minute !== undefined) parts.push(two(date.getMinutes()));
  if (second !== undefined) parts.push(two(date.getSeconds()));
  return is12 ? `${parts.join(':')} ${hours < 12 ? 'AM' : 'PM'}` : parts.join(':');
}

/** A function that writes dates. `needed` and `usual` say which fields there are when the options name none. */
function dateFormat(locales, options, needed, usual, what) {
  checkLocale(locales, what);
  checkOptions(options, DATE_OPTIONS, what);
  const { timeZone = 'UTC', hour12, hourCycle, dateStyle, timeStyle } = options ?? {};
  if (!/^(UTC|Etc\/UTC|GMT|Etc\/GMT)$/i.test(timeZone)) throw unsupported(`${what} for the time zone ${timeZone}`);
  if (timeStyle === 'full' || timeStyle === 'long') throw unsupported(`${what} with \`timeStyle\` ${timeStyle}`);
  let fields = Object.fromEntries(
    [...DATE_FIELDS, ...TIME_FIELDS].map((name) => [name, options?.[name]]).filter(([, size]) => size !== undefined),
  );
  if (fields.month === 'narrow' || fields.weekday === 'narrow') throw unsupported(`${what} with narrow names`);
  if (dateStyle !== undefined || timeStyle !== undefined) {
    if ((needed === 'date' && timeStyle !== undefined) || (needed === 'time' && dateStyle !== undefined))
      throw new TypeError(`Invalid option : ${needed === 'date' ? 'timeStyle' : 'dateStyle'}`);
    fields = { ...DATE_STYLES[dateStyle], ...TIME_STYLES[timeStyle] };
  } else {
    const has = (names) => names.some((name) => fields[name] !== undefined);
    const isEnough =
      needed === 'date' ? has(DATE_FIELDS) : needed === 'time' ? has(TIME_FIELDS) : has(DATE_FIELDS) || has(TIME_FIELDS);
    if (!isEnough) {
      if (usual !== 'time') Object.assign(fields, { year: 'numeric', month: 'numeric', day: 'numeric' });
      if (usual !== 'date') Object.assign(fields, { hour: 'numeric', minute: '2-digit', second: '2-digit' });
    }
  }
  if (hourCycle === 'h11' || hourCycle === 'h24') throw unsupported(`${what} with \`hourCycle\``);
  const is12 = hour12 ?? hourCycle !== 'h23';
  return (date) => {
    if (Number.isNaN(date.getTime())) return 'Invalid Date';
    const hasDate = DATE_FIELDS.some((name) => fields[name] !== undefined);
    const hasTime = TIME_FIELDS.some((name) => fields[name] !== undefined);
    const day = hasDate ? dateText(date, fields) : '';
    const time = hasTime ? timeText(date, fields, is12) : '';
    if (day === '' || time === '') return day || time;
    const onlyDay =
      fields.weekday !== undefined && fields.month === undefined && fields.year === undefined && fields.day === undefined;
    const between = onlyDay ? ' ' : fields.month === 'long' ? ' at ' : ', ';
    return `${day}${between}${time}`;
  };
}

// The order of the common characters, as ICU's root collation has it. Others follow by their number.
const ORDER = ' _-,;:!?.\'"()[]{}@*/\\&#%`^+<=>|~$0123456789';
const PRIMARY = new Map([...ORDER].map((character, index) => [character, index + 1]));
for (let i = 0; i < 26; i += 1) PRIMARY.set(String.fromCharCode(97 + i), 1000 + i * 10);
for (const [letter, after] of [
  ['æ', 'a'],
  ['ø', 'o'],
  ['đ', 'd'],
  ['ł', 'l'],
  ['þ', 't'],
  ['ð', 'd'],
  ['œ', 'o'],
])
  PRIMARY.set(letter, PRIMARY.get(after) + 5);

function weights(text, isNumeric) {
  const result = [];
  const decomposed = text.replaceAll('ß', 'ss').normalize('NFD');
  for (let i = 0; i < decomposed.length; i += 1) {
    const code = decomposed.codePointAt(i);
    const character = String.fromCodePoint(code);
    if (code > 0xffff) i += 1;
    if (code >= 0x300 && code <= 0x36f) {
      if (result.length > 0) result.at(-1).accent += character;
      continue;
    }
    if (isNumeric && code >= 48 && code <= 57) {
      const digits = /^\d+/.exec(decomposed.slice(i))[0];
      result.push({ primary: PRIMARY.get('0') + Math.min(Number(digits), 1e15) / 1e16, accent: '', upper: false });
      i += digits.length - 1;
      continue;
    }
    const lower = character.toLowerCase();
    result.push({ primary: PRIMARY.get(lower) ?? 2000 + lower.codePointAt(0), accent: '', upper: lower !== character });
  }
  return result;
}

function compareText(a, b, { numeric = false, sensitivity = 'variant', caseFirst = 'false' } = {}) {
  if (a === b) return 0;
  const [left, right] = [weights(a, numeric), weights(b, numeric)];
  const length = Math.min(left.length, right.length);
  for (let i = 0; i < length; i += 1) {
    if (left[i].primary !== right[i].primary) return left[i].primary < right[i].primary ? -1 : 1;
  }
  if (left.length !== right.length) return left.length < right.length ? -1 : 1;
  if (sensitivity === 'accent' || sensitivity === 'variant') {
    for (let i = 0; i < length; i += 1) {
      if (left[i].accent !== right[i].accent) return left[i].accent < right[i].accent ? -1 : 1;
    }
  }
  if (sensitivity === 'case' || sensitivity === 'variant') {
    const lowerFirst = caseFirst === 'upper' ? 1 : -1;
    for (let i = 0; i < length; i += 1) if (left[i].upper !== right[i].upper) return left[i].upper ? -lowerFirst : lowerFirst;
  }
  return 0;
}

const COLLATION_OPTIONS = ['numeric', 'sensitivity', 'usage', 'caseFirst', 'localeMatcher'];

class NumberFormat {
  #format;
  #options;
  constructor(locales, options) {
    this.#format = numberFormat(locales, options, 'Intl.NumberFormat');
    this.#options = options;
  }
  get format() {
    return this.#format;
  }
  resolvedOptions() {
    return { locale: 'en-US', numberingSystem: 'latn', style: 'decimal', ...this.#options };
  }
}

class DateTimeFormat {
  #format;
  #options;
  constructor(locales, options) {
    this.#format = dateFormat(locales, options, 'any', 'date', 'Intl.DateTimeFormat');
    this.#options = options;
  }
  get format() {
    return (date) => {
      const given = date === undefined ? new Date() : new Date(date);
      if (Number.isNaN(given.getTime())) throw new RangeError('Invalid time value');
      return this.#format(given);
    };
  }
  resolvedOptions() {
    return { locale: 'en-US', calendar: 'gregory', numberingSystem: 'latn', timeZone: 'UTC', ...this.#options };
  }
}

class Collator {
  #options;
  constructor(locales, options) {
    checkLocale(locales, 'Intl.Collator');
    checkOptions(options, COLLATION_OPTIONS, 'Intl.Collator');
    this.#options = options;
  }
  get compare() {
    return (a, b) => compareText(`${a}`, `${b}`, this.#options);
  }
  resolvedOptions() {
    return { locale: 'en-US', usage: 'sort', sensitivity: 'variant', numeric: false, ...this.#options };
  }
}

function intl() {
  const Intl = { NumberFormat, DateTimeFormat, Collator, getCanonicalLocales: (locales) => [locales ?? []].flat() };
  for (const type of [NumberFormat, DateTimeFormat, Collator]) {
    type.supportedLocalesOf = (locales) => [locales ?? []].flat().filter((locale) => ENGLISH.test(locale));
    for (const name of ['formatToParts', 'formatRange', 'formatRangeToParts']) {
      type.prototype[name] = () => {
        throw unsupported(`Intl.${type.name}.${name}`);
      };
    }
  }
  for (const name of [
    'PluralRules',
    'RelativeTimeFormat',
    'ListFormat',
    'Segmenter',
    'DisplayNames',
    'Locale',
    'DurationFormat',
  ]) {
    Intl[name] = class {
      constructor() {
        throw unsupported(`Intl.${name}`);
      }
    };
    Object.defineProperty(Intl[name], 'name', { value: name });
  }
  for (const key of Object.keys(Intl)) Object.defineProperty(Intl, key, { enumerable: false });
  Object.defineProperty(Intl, Symbol.toStringTag, { value: 'Intl', configurable: true });
  return Intl;
}

export function install() {
  const define = (target, methods) => {
    for (const [name, value] of Object.entries(methods))
      Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
  };
  const toString = Date.prototype.toString;
  const toTimeString = Date.prototype.toTimeString;
  const withZone = (text) => text.replace(/GMT\+0000$/, 'GMT+0000 (Coordinated Universal Time)');
  define(Number.prototype, {
    toLocaleString(locales, options) {
      return numberFormat(locales, options, 'toLocaleString')(Number.prototype.valueOf.call(this));
    },
  });
  define(BigInt.prototype, {
    toLocaleString(locales, options) {
      return numberFormat(locales, options, 'toLocaleString')(BigInt.prototype.valueOf.call(this));
    },
  });
  define(Date.prototype, {
    toLocaleString(locales, options) {
      return dateFormat(locales, options, 'any', 'all', 'toLocaleString')(this);
    },
    toLocaleDateString(locales, options) {
      return dateFormat(locales, options, 'date', 'date', 'toLocaleDateString')(this);
    },
    toLocaleTimeString(locales, options) {
      return dateFormat(locales, options, 'time', 'time', 'toLocaleTimeString')(this);
    },
    toString() {
      return withZone(toString.call(this));
    },
    toTimeString() {
      return withZone(toTimeString.call(this));
    },
  });
  define(String.prototype, {
    localeCompare(that, locales, options) {
      checkLocale(locales, 'localeCompare');
      checkOptions(options, COLLATION_OPTIONS, 'localeCompare');
      return compareText(`${this}`, `${that}`, options);
    },
  });
  define(Array.prototype, {
    toLocaleString(locales, options) {
      return Array.from(this, (item) => (item === null || item === undefined ? '' : item.toLocaleString(locales, options))).join(
        ',',
      );
    },
  });
  Object.defineProperty(globalThis, 'Intl', { value: intl(), writable: true, configurable: true, enumerable: false });
}
