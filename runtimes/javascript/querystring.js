// `querystring`.

function unescape(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const escape = (text) => encodeURIComponent(typeof text === 'object' ? String(text) : text);

function parse(text, separator = '&', equals = '=', { maxKeys = 1000, decodeURIComponent: decode = querystring.unescape } = {}) {
  const result = Object.create(null);
  if (typeof text !== 'string' || text === '') return result;
  let parts = text.split(separator || '&');
  if (maxKeys > 0) parts = parts.slice(0, maxKeys);
  for (const part of parts) {
    if (part === '') continue;
    const at = part.indexOf(equals || '=');
    const [name, value] = (at === -1 ? [part, ''] : [part.slice(0, at), part.slice(at + (equals || '=').length)]).map((item) =>
      decode(item.replaceAll('+', ' ')),
    );
    if (!(name in result)) result[name] = value;
    else if (Array.isArray(result[name])) result[name].push(value);
    else result[name] = [result[name], value];
  }
  return result;
}

const primitive = (value) => {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return `${value}`;
  return typeof value === 'bigint' || typeof value === 'boolean' ? `${value}` : '';
};

function stringify(object, separator = '&', equals = '=', { encodeURIComponent: encode = querystring.escape } = {}) {
  if (object === null || typeof object !== 'object') return '';
  const pair = (name, value) => `${encode(name)}${equals || '='}${encode(primitive(value))}`;
  return Object.keys(object)
    .flatMap((name) =>
      Array.isArray(object[name]) ? object[name].map((value) => pair(name, value)) : [pair(name, object[name])],
    )
    .join(separator || '&');
}

const querystring = {
  parse,
  stringify,
  escape,
  unescape,
  decode: parse,
  encode: stringify,
  unescapeBuffer: (text) => Buffer.from(unescape(`${text}`)),
};
export default querystring;
