// What a guest made, as nodes. All of it is untrusted: it becomes text, pictures from data: URLs, or a frame in which nothing runs.

// Characters of a text that are shown before somebody asks for all.
const MOST_TEXT = 120_000;
// Of JSON, with colours.
const MOST_JSON = 60_000;
const MOST_ROWS = 500;
const MOST_COLUMNS = 40;
const MOST_CELL = 400;
const MOST_NODES = 20_000;

function node(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Controls, and what turns or hides the text around it, are made visible.
const HIDDEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu;

function visible(text) {
  return String(text).replace(HIDDEN, character => {
    const code = character.codePointAt(0);
    return code < 0x20 ? String.fromCodePoint(0x2400 + code) : `⟨U+${code.toString(16).toUpperCase()}⟩`;
  });
}

// Escape sequences: colours (the first group), and all others, which say nothing here.
const ESCAPES = /\x1b\[([0-9;:]*)m|\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])/g;
const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
const WAYS = { 1: 'bold', 2: 'dim', 3: 'italic', 4: 'underline', 7: 'inverse' };

// What a terminal shows: a carriage return starts its line again, escapes colour.
function terminal(text) {
  const made = document.createDocumentFragment();
  const ways = new Set();
  let colour = null;
  let from = 0;
  const add = part => {
    if (!part) return;
    if (!colour && !ways.size) return made.append(visible(part));
    const span = node('span', { className: [...ways].join(' ') }, visible(part));
    if (colour?.startsWith('rgb')) span.style.color = colour;
    else if (colour) span.classList.add(colour);
    made.append(span);
  };
  const settled = rewound(text);
  for (const match of settled.matchAll(ESCAPES)) {
    add(settled.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[1] === undefined) continue;
    const codes = match[1].split(/[;:]/).map(Number);
    for (let at = 0; at < codes.length; at++) {
      const code = codes[at];
      if (code === 0) { ways.clear(); colour = null; }
      else if (WAYS[code]) ways.add(WAYS[code]);
      else if (code === 22) { ways.delete('bold'); ways.delete('dim'); }
      else if (code >= 23 && code <= 27) ways.delete(WAYS[code - 20]);
      else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) colour = COLOURS[code % 10];
      else if (code === 39) colour = null;
      else if (code === 38 && codes[at + 1] === 5) { colour = indexed(codes[at + 2] & 255); at += 2; }
      else if (code === 38 && codes[at + 1] === 2) { colour = `rgb(${codes.slice(at + 2, at + 5).map(part => part & 255)})`; at += 4; }
      else if (code === 48) at += codes[at + 1] === 5 ? 2 : 4;
    }
  }
  add(settled.slice(from));
  return made;
}

function indexed(number) {
  if (number < 16) return COLOURS[number % 8];
  if (number > 231) return `rgb(${Array(3).fill(8 + (number - 232) * 10)})`;
  const level = part => (part ? 55 + part * 40 : 0);
  const cube = number - 16;
  return `rgb(${[Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(level)})`;
}

function rewound(text) {
  if (!text.includes('\r')) return text;
  const last = line => line.slice(line.replace(/\r+$/, '').lastIndexOf('\r') + 1).replace(/\r+$/, '');
  return text.split('\n').map(last).join('\n');
}

// Text in a box that scrolls, its middle left out while it is long.
function output(text, label, kind = '') {
  const box = node('pre', { className: `box ${kind}`, tabIndex: 0 });
  box.setAttribute('role', 'region');
  box.setAttribute('aria-label', label);
  if (text.length <= MOST_TEXT) {
    box.append(terminal(text));
    return box;
  }
  const half = MOST_TEXT / 2;
  const all = node('button', { type: 'button', className: 'button' }, 'Show all');
  // Without colours: a million of them would be a million nodes.
  all.onclick = () => box.replaceChildren(visible(rewound(text).replace(ESCAPES, '')));
  const gap = node('span', { className: 'gap' }, `${(text.length - MOST_TEXT).toLocaleString('en')} characters in between`, all);
  box.append(terminal(text.slice(0, half)), gap, terminal(text.slice(-half)));
  return box;
}

const clipped = text => visible(text.length > MOST_CELL ? `${text.slice(0, MOST_CELL)}…` : text);

// Rows of objects, as SQL and most programs have tables.
function isTable(value) {
  const isRow = row => row !== null && typeof row === 'object' && !Array.isArray(row);
  return Array.isArray(value) && value.length > 0 && value.every(isRow) && value.some(row => Object.keys(row).length > 0);
}

function tableOfObjects(value, label) {
  const columns = [...new Set(value.slice(0, MOST_ROWS).flatMap(row => Object.keys(row)))];
  return table(columns, value.slice(0, MOST_ROWS).map(row => columns.map(column => row[column])), value.length, label);
}

function table(columns, rows, total, label) {
  const shown = columns.slice(0, MOST_COLUMNS);
  const isNumeric = shown.map((_, at) => rows.some(row => isNumber(row[at])) && rows.every(row => isNumber(row[at]) || row[at] == null || row[at] === ''));
  const align = (cell, at) => (isNumeric[at] && cell.classList.add('numeric'), cell);
  const heads = shown.map((column, at) => align(node('th', { scope: 'col' }, clipped(String(column))), at));
  const cell = (value, at) => {
    if (value === undefined) return node('td');
    if (value === null) return node('td', { className: 'nothing' }, 'null');
    return align(node('td', {}, clipped(typeof value === 'object' ? JSON.stringify(value) : String(value))), at);
  };
  const body = rows.slice(0, MOST_ROWS).map(row => node('tr', {}, ...shown.map((_, at) => cell(row[at], at))));
  const made = node('table', {}, node('caption', {}, label), node('thead', {}, node('tr', {}, ...heads)), node('tbody', {}, ...body));
  const box = node('div', { className: 'box', tabIndex: 0 }, made);
  box.setAttribute('role', 'region');
  box.setAttribute('aria-label', label);
  const more = [];
  if (total > rows.length || rows.length > MOST_ROWS) more.push(`the first ${body.length} of ${total} rows`);
  if (columns.length > shown.length) more.push(`the first ${shown.length} of ${columns.length} columns`);
  return more.length ? node('div', {}, box, node('p', { className: 'note' }, `Shown: ${more.join(', ')}`)) : box;
}

const isNumber = value => typeof value === 'number' || (typeof value === 'string' && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value));

const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|\b(true|false|null)\b/g;

function json(value, label) {
  const text = JSON.stringify(value, null, 2);
  if (text.length > MOST_JSON) return output(text, label);
  const box = output('', label);
  let from = 0;
  for (const match of text.matchAll(TOKENS)) {
    const [token, string, colon, number] = match;
    const kind = string ? (colon ? 'key' : 'text') : number ? 'figure' : 'word';
    box.append(visible(text.slice(from, match.index)), node('span', { className: kind }, visible(string ?? token)), colon ?? '');
    from = match.index + token.length;
  }
  box.append(visible(text.slice(from)));
  return box;
}

const PICTURES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/svg+xml'];

// SVG too: as a picture it neither runs scripts nor loads anything.
function picture(mime, base64, caption) {
  if (!PICTURES.includes(mime) || !/^[A-Za-z0-9+/]+=*$/.test(base64)) return node('p', { className: 'note' }, `${visible(caption)} cannot be shown`);
  const image = node('img', { alt: visible(caption), src: `data:${mime};base64,${base64}` });
  return node('figure', {}, image, node('figcaption', {}, visible(caption)));
}

// Elements and attributes of HTML that are kept. Nothing that loads, links, runs or styles: CSP and the frame's sandbox stop most of that too, but
// not every browser's look-up of the names that links mention.
const KEPT = new Set(('table thead tbody tfoot tr th td caption colgroup col div span p br hr pre code kbd samp var b i em strong small s u sub sup '
  + 'mark abbr blockquote ul ol li dl dt dd h1 h2 h3 h4 h5 h6 details summary figure figcaption img').split(' '));
const DROPPED = new Set(['script', 'style', 'template', 'noscript', 'iframe', 'object', 'embed', 'svg', 'math', 'head', 'title', 'textarea', 'select', 'xmp', 'plaintext']);
const ATTRIBUTES = ['colspan', 'rowspan', 'scope', 'alt', 'open'];

// The one place where a string becomes markup, and only for documents in which nothing runs.
const markup = window.trustedTypes?.createPolicy('display', { createHTML: text => text }) ?? { createHTML: text => text };

function cleaned(html) {
  const inert = new DOMParser().parseFromString(markup.createHTML(html), 'text/html');
  let left = MOST_NODES;
  const copy = (from, to) => {
    for (const child of from.childNodes) {
      if (--left < 0) return;
      if (child.nodeType === Node.TEXT_NODE) to.append(visible(child.data));
      if (child.nodeType !== Node.ELEMENT_NODE || DROPPED.has(child.localName)) continue;
      if (!KEPT.has(child.localName)) { copy(child, to); continue; }
      const made = inert.createElement(child.localName);
      for (const name of ATTRIBUTES) if (child.hasAttribute(name)) made.setAttribute(name, child.getAttribute(name));
      const source = child.getAttribute('src') ?? '';
      if (child.localName === 'img' && /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/.test(source)) made.setAttribute('src', source);
      to.append(made);
      copy(child, made);
    }
  };
  const made = inert.createElement('div');
  copy(inert.body, made);
  return made;
}

function frame(html, label) {
  const contents = cleaned(html);
  const rows = contents.querySelectorAll('tr').length;
  const height = rows ? 40 + rows * 31 : 44 + Math.ceil(contents.textContent.length / 80) * 22 + contents.querySelectorAll('img').length * 200;
  const made = node('iframe', { title: visible(label) });
  made.setAttribute('sandbox', '');
  made.style.height = `${Math.min(height, 380)}px`;
  // Our own style sheet is the only one that the policy, which the frame inherits, lets in.
  const style = document.querySelector('style').textContent;
  made.paint = () => {
    const theme = document.documentElement.dataset.theme ?? '';
    made.srcdoc = markup.createHTML(`<!doctype html><html data-theme="${theme === 'dark' || theme === 'light' ? theme : ''}"><meta charset="utf-8">`
      + `<meta http-equiv="x-dns-prefetch-control" content="off"><style>${style}</style><body class="display">${contents.innerHTML}</body></html>`);
  };
  made.paint();
  return made;
}

// Fields of a line may be quoted and hold anything.
function rowsOf(text, separator) {
  const rows = [[]];
  const field = separator === '\t' ? /(?:"((?:[^"]|"")*)"|([^"\t\n][^\t\n]*|))(\t|\n|$)/y : /(?:"((?:[^"]|"")*)"|([^",\n][^,\n]*|))(,|\n|$)/y;
  const lines = text.replaceAll('\r\n', '\n').replace(/\n+$/, '');
  while (rows.length <= MOST_ROWS + 1) {
    const match = field.exec(lines);
    if (!match) return null;
    rows.at(-1).push(match[1]?.replaceAll('""', '"') ?? match[2]);
    if (match[3] === '') return rows;
    if (match[3] === '\n') rows.push([]);
  }
  return rows.slice(0, -1);
}
