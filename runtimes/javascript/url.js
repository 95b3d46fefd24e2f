// `URL` and `URLSearchParams`. The host parses and takes addresses apart; this keeps the parts.

import * as host from './host.js';
import { custom, inspect } from './inspect.js';
import { codeError } from './node_error.js';
import * as path from './path.js';
import querystring from './querystring.js';
import { fill } from './unsupported.js';

const PARTS = ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'];

function partsOf(text) {
  const values = text.split('\n');
  return Object.fromEntries(PARTS.map((part, index) => [part, values[index]]));
}

/** Set when the parameters belong to a URL, which has to hear of changes. */
const onChange = Symbol('change');

export class URLSearchParams {
  #list = [];

  constructor(init = '') {
    Object.defineProperty(this, onChange, { value: undefined, writable: true });
    if (init === null || typeof init !== 'object') this.#parse(`${init}`);
    else if (typeof init[Symbol.iterator] === 'function') {
      for (const pair of init) {
        const entry = [...pair];
        if (entry.length !== 2) {
          throw codeError('ERR_INVALID_TUPLE', 'Each query pair must be an iterable [name, value] tuple', TypeError);
        }
        this.#list.push(entry.map((item) => `${item}`.toWellFormed()));
      }
    } else
      for (const key of Reflect.ownKeys(init)) if (typeof key === 'string') this.#list.push([key, `${init[key]}`.toWellFormed()]);
  }

  #parse(text) {
    this.#list = [];
    for (const part of text.replace(/^\?/, '').split('&')) {
      if (part === '') continue;
      const at = part.indexOf('=');
      const [name, value] = at === -1 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)];
      this.#list.push([unescapeForm(name), unescapeForm(value)]);
    }
  }
  #changed() {
    this[onChange]?.(this.toString());
  }

  get size() {
    return this.#list.length;
  }
  append(name, value) {
    this.#list.push([`${name}`.toWellFormed(), `${value}`.toWellFormed()]);
    this.#changed();
  }
  delete(name, value) {
    this.#list = this.#list.filter((entry) => entry[0] !== `${name}` || (value !== undefined && entry[1] !== `${value}`));
    this.#changed();
  }
  get(name) {
    return this.#list.find((entry) => entry[0] === `${name}`)?.[1] ?? null;
  }
  getAll(name) {
    return this.#list.filter((entry) => entry[0] === `${name}`).map((entry) => entry[1]);
  }
  has(name, value) {
    return this.#list.some((entry) => entry[0] === `${name}` && (value === undefined || entry[1] === `${value}`));
  }
  set(name, value) {
    const first = this.#list.findIndex((entry) => entry[0] === `${name}`);
    if (first === -1) this.#list.push([`${name}`.toWellFormed(), `${value}`.toWellFormed()]);
    else {
      this.#list[first][1] = `${value}`.toWellFormed();
      this.#list = this.#list.filter((entry, index) => index <= first || entry[0] !== `${name}`);
    }
    this.#changed();
  }
  sort() {
    this.#list.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
    this.#changed();
  }
  forEach(callback, receiver) {
    for (const [name, value] of this.#list) callback.call(receiver, value, name, this);
  }
  *entries() {
    for (const entry of this.#list) yield [...entry];
  }
  *keys() {
    for (const [name] of this.#list) yield name;
  }
  *values() {
    for (const [, value] of this.#list) yield value;
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  toString() {
    return this.#list.map(([name, value]) => `${escapeForm(name)}=${escapeForm(value)}`).join('&');
  }
  [custom](depth, options) {
    if (depth < 0) return '[URLSearchParams]';
    if (this.#list.length === 0) return 'URLSearchParams {}';
    return `URLSearchParams { ${this.#list.map(([name, value]) => `${inspect(name, options)} => ${inspect(value, options)}`).join(', ')} }`;
  }

  /** For URL alone. */
  static replace(params, text) {
    params.#parse(text);
  }
}
const replaceParams = URLSearchParams.replace;
delete URLSearchParams.replace;

function unescapeForm(text) {
  const spaced = text.replaceAll('+', ' ');
  if (!spaced.includes('%')) return spaced;
  const bytes = [];
  for (const byte of host.encodeUtf8(spaced)) bytes.push(byte);
  const result = [];
  for (let i = 0; i < bytes.length; i += 1) {
    const digits = bytes[i] === 37 ? String.fromCharCode(...bytes.slice(i + 1, i + 3)) : '';
    if (/^[0-9a-f]{2}$/i.test(digits)) {
      result.push(parseInt(digits, 16));
      i += 2;
    } else result.push(bytes[i]);
  }
  return host.decodeUtf8(new Uint8Array(result));
}

const escapeForm = (text) =>
  encodeURIComponent(text.toWellFormed())
    .replace(/%20/g, '+')
    .replace(/[!'()~]/g, (unit) => `%${unit.charCodeAt(0).toString(16).toUpperCase()}`);

function invalid(input, base) {
  const error = codeError('ERR_INVALID_URL', 'Invalid URL', TypeError);
  error.input = `${input}`;
  if (base !== undefined) error.base = `${base}`;
  return error;
}

export class URL {
  #parts;
  #params;

  constructor(input, base) {
    const text = host.parseUrl(`${input}`, base === undefined ? undefined : `${base}`);
    if (text === undefined) throw invalid(input, base);
    this.#parts = partsOf(text);
  }
  static canParse(input, base) {
    return host.parseUrl(`${input}`, base === undefined ? undefined : `${base}`) !== undefined;
  }
  static parse(input, base) {
    return URL.canParse(input, base) ? new URL(input, base) : null;
  }
  static createObjectURL() {
    throw new TypeError('The "obj" argument must be an instance of Blob');
  }

  #set(part, value) {
    const text = host.setUrlPart(this.#parts.href, part, `${value}`);
    if (text === undefined) {
      if (part === 'href') throw invalid(value);
      return;
    }
    this.#parts = partsOf(text);
    if (this.#params !== undefined && (part === 'search' || part === 'href')) replaceParams(this.#params, this.#parts.search);
  }

  get href() {
    return this.#parts.href;
  }
  set href(value) {
    this.#set('href', value);
  }
  get origin() {
    return this.#parts.origin;
  }
  get protocol() {
    return this.#parts.protocol;
  }
  set protocol(value) {
    this.#set('protocol', value);
  }
  get username() {
    return this.#parts.username;
  }
  set username(value) {
    this.#set('username', value);
  }
  get password() {
    return this.#parts.password;
  }
  set password(value) {
    this.#set('password', value);
  }
  get host() {
    return this.#parts.host;
  }
  set host(value) {
    this.#set('host', value);
  }
  get hostname() {
    return this.#parts.hostname;
  }
  set hostname(value) {
    this.#set('hostname', value);
  }
  get port() {
    return this.#parts.port;
  }
  set port(value) {
    this.#set('port', value);
  }
  get pathname() {
    return this.#parts.pathname;
  }
  set pathname(value) {
    this.#set('pathname', value);
  }
  get search() {
    return this.#parts.search;
  }
  set search(value) {
    this.#set('search', value);
  }
  get searchParams() {
    if (this.#params === undefined) {
      this.#params = new URLSearchParams(this.#parts.search);
      this.#params[onChange] = (text) => {
        this.#parts = partsOf(host.setUrlPart(this.#parts.href, 'search', text));
      };
    }
    return this.#params;
  }
  get hash() {
    return this.#parts.hash;
  }
  set hash(value) {
    this.#set('hash', value);
  }
  toString() {
    return this.#parts.href;
  }
  toJSON() {
    return this.#parts.href;
  }
  [custom](depth, options) {
    if (depth < 0) return '[URL]';
    const { href, origin, protocol, username, password, host: hostPart, hostname, port, pathname, search, hash } = this.#parts;
    const shown = {
      href,
      origin,
      protocol,
      username,
      password,
      host: hostPart,
      hostname,
      port,
      pathname,
      search,
      searchParams: this.searchParams,
      hash,
    };
    return `URL ${inspect(shown, { ...options, depth })}`;
  }
}

for (const type of [URL, URLSearchParams]) {
  Object.defineProperty(type.prototype, Symbol.toStringTag, { value: type.name, configurable: true });
  for (const [key, property] of Object.entries(Object.getOwnPropertyDescriptors(type.prototype))) {
    if (key !== 'constructor') Object.defineProperty(type.prototype, key, { ...property, enumerable: true });
  }
}

export function fileURLToPath(value) {
  const url = typeof value === 'string' ? new URL(value) : value;
  if (url?.protocol !== 'file:') throw codeError('ERR_INVALID_URL_SCHEME', 'The URL must be of scheme file', TypeError);
  return decodeURIComponent(url.pathname);
}

export function pathToFileURL(file) {
  let resolved = path.resolve(file);
  if (file.endsWith('/') && !resolved.endsWith('/')) resolved += '/';
  const url = new URL('file:///');
  url.pathname = resolved
    .replace(/%/g, '%25')
    .replace(/\\/g, '%5C')
    .replace(/\n/g, '%0A')
    .replace(/\r/g, '%0D')
    .replace(/\t/g, '%09')
    .replace(/\?/g, '%3F')
    .replace(/#/g, '%23');
  return url;
}

/** The old parser of Node's `url` module: no errors, and parts that are not there are null. */
function parse(text, parseQuery = false) {
  const [, protocol, slashes, authority, pathname, search, hash] =
    /^([a-z][a-z0-9+.-]*:)?(\/\/)?(?:(?<=\/\/)([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?$/is.exec(text.trim()) ?? [];
  const at = authority?.lastIndexOf('@') ?? -1;
  const auth = at > 0 ? decodeURIComponent(authority.slice(0, at)) : null;
  const hostPart = (at === -1 ? authority : authority.slice(at + 1))?.toLowerCase();
  const [, hostname, port] = /^(.*?)(?::(\d*))?$/.exec(hostPart ?? '') ?? [];
  const result = Object.assign(new Url(), {
    protocol: protocol?.toLowerCase() ?? null,
    slashes: slashes ? true : null,
    auth,
    host: hostPart || (slashes ? '' : null),
    port: port || null,
    hostname: hostname?.replace(/^\[(.*)\]$/, '$1') || (slashes ? '' : null),
    hash: hash ?? null,
    search: search ?? (parseQuery ? '' : null),
    query: parseQuery ? querystring.parse(search?.slice(1) ?? '') : (search?.slice(1) ?? null),
    pathname: pathname || (/^(https?|ftp):$/i.test(protocol ?? '') && slashes ? '/' : null),
    path: null,
    href: '',
  });
  result.path = result.pathname === null && result.search === null ? null : `${result.pathname ?? ''}${search ?? ''}`;
  result.href = format(result);
  return result;
}

function Url() {
  Object.assign(this, {
    protocol: null,
    slashes: null,
    auth: null,
    host: null,
    port: null,
    hostname: null,
    hash: null,
    search: null,
    query: null,
    pathname: null,
    path: null,
    href: null,
  });
}
Url.prototype.format = function () {
  return format(this);
};

function format(value, { auth = true, fragment = true, search = true, unicode = false } = {}) {
  if (typeof value === 'string') value = parse(value);
  if (value instanceof URL) {
    const copy = new URL(value.href);
    if (!auth) [copy.username, copy.password] = ['', ''];
    if (!fragment) copy.hash = '';
    if (!search) copy.search = '';
    return unicode ? copy.href.replace(copy.hostname, host.domainTo('unicode', copy.hostname)) : copy.href;
  }
  const protocol = value.protocol ? `${value.protocol}${value.protocol.endsWith(':') ? '' : ':'}` : '';
  const hostPart = value.host ?? (value.hostname ? `${value.hostname}${value.port ? `:${value.port}` : ''}` : null);
  const slashes = value.slashes || (/^(https?|ftp|file|wss?):$/.test(protocol) && hostPart !== null) ? '//' : '';
  const query =
    value.search ??
    (value.query && typeof value.query === 'object' && Object.keys(value.query).length > 0
      ? `?${querystring.stringify(value.query)}`
      : '');
  let pathname = value.pathname ?? '';
  if (slashes && pathname && pathname[0] !== '/') pathname = `/${pathname}`;
  const hash = value.hash ? (value.hash[0] === '#' ? value.hash : `#${value.hash}`) : '';
  const user = value.auth ? `${encodeURIComponent(value.auth).replace(/%3A/i, ':')}@` : '';
  return `${protocol}${slashes}${hostPart === null ? '' : user}${hostPart ?? ''}${pathname}${query && query[0] !== '?' ? `?${query}` : query}${hash}`;
}

function resolve(from, to) {
  const base = new URL(from, 'resolve://');
  const result = new URL(to, base);
  return result.protocol === 'resolve:' ? `${result.pathname}${result.search}${result.hash}` : result.href;
}

export default fill(
  {
    URL,
    URLSearchParams,
    Url,
    parse,
    format,
    resolve,
    fileURLToPath,
    pathToFileURL,
    domainToASCII: (name) => host.domainTo('ascii', `${name}`),
    domainToUnicode: (name) => host.domainTo('unicode', `${name}`),
    urlToHttpOptions(url) {
      const { hash, search, pathname, href, hostname, protocol, port, username, password } = url;
      const options = {
        __proto__: null,
        protocol,
        hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
        hash,
        search,
        pathname,
        path: `${pathname}${search}`,
        href,
      };
      if (port !== '') options.port = Number(port);
      if (username || password) options.auth = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
      return options;
    },
  },
  'url',
  'resolveObject',
);
