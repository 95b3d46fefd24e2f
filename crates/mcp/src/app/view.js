// The result of a run, put together.

const [view, parts, status, runtime, facts, expand] = ['view', 'parts', 'status', 'runtime', 'facts', 'expand'].map(id => document.getElementById(id));
// Bytes of a file or display that are fetched to be looked at.
const MOST_PREVIEW = 200_000;
const NAMES = {
  bash: 'Bash', c: 'C', cpp: 'C++', go: 'Go', java: 'Java', javascript: 'JavaScript', lua: 'Lua', perl: 'Perl', php: 'PHP', python: 'Python', r: 'R',
  ruby: 'Ruby', rust: 'Rust', sql: 'SQL', typescript: 'TypeScript',
};
const CLOCK = 'M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18';
const CHIP = 'M7 7h10v10H7zM10 3v4M14 3v4M10 17v4M14 17v4M3 10h4M3 14h4M17 10h4M17 14h4';
const SHIELD = 'M12 3l8 3v6c0 5-3.4 8-8 9-4.6-1-8-4-8-9V6z';
const FOLDER = 'M3 6h6l2 2h10v11H3z';
let program = {};

function section(title, contents, button) {
  const head = node('div', { className: 'title' });
  if (title) head.append(node('h2', {}, title));
  if (button) head.append(button);
  return node('section', {}, head, contents);
}

function button(label, action) {
  const made = node('button', { type: 'button', className: 'button' }, label);
  made.onclick = () => action(made);
  return made;
}

function copying(text) {
  const made = button('Copy', async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Hosts need not allow that; the older way asks for nothing but the click.
      const field = node('textarea', { value: text });
      document.body.append(field);
      field.select();
      document.execCommand('copy');
      field.remove();
    }
    made.textContent = 'Copied';
    setTimeout(() => { made.textContent = 'Copy'; }, 1500);
  });
  made.classList.add('plain');
  return made;
}

function folded(title, ...contents) {
  return node('section', {}, node('details', {}, node('summary', {}, title), ...contents));
}

function callout(kind, ...contents) {
  return node('section', {}, node('div', { className: `callout ${kind}` }, ...contents));
}

function fact(icon, text, title) {
  const drawing = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  drawing.setAttribute('viewBox', '0 0 24 24');
  drawing.setAttribute('aria-hidden', 'true');
  drawing.append(document.createElementNS('http://www.w3.org/2000/svg', 'path'));
  drawing.firstChild.setAttribute('d', icon);
  facts.append(node('li', { title }, drawing, visible(text)));
}

function size(bytes) {
  const units = ['B', 'kB', 'MB', 'GB'];
  let unit = 0;
  for (; bytes >= 1000 && unit < 3; unit++) bytes /= 1000;
  return `${unit && bytes < 100 ? bytes.toFixed(1) : Math.round(bytes)} ${units[unit]}`;
}

const time = ms => (ms < 1000 ? `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`);

function say(kind, text) {
  status.className = `badge ${kind}`;
  status.textContent = visible(text);
}

function verdict(run) {
  switch (run.status) {
    case 'completed': return run.exit_code === 0 ? ['good', 'Completed'] : ['bad', `Exit code ${run.exit_code}`];
    case 'crashed': return ['bad', `Crashed: ${run.signal}`];
    case 'timed_out': return ['warn', 'Timed out'];
    case 'limit_exceeded': return ['bad', `Over its ${run.limit} limit`];
    case 'cancelled': return ['warn', 'Cancelled'];
    default: return ['warn', String(run.status)];
  }
}

function source(lines, from, marked) {
  const made = node('div', { className: 'code' });
  lines.forEach((line, at) => {
    const here = from + at === marked ? ' here' : '';
    made.append(node('span', { className: `number${here}` }, String(from + at)), node('span', { className: here }, visible(line) || ' '));
  });
  return made;
}

function failure(error) {
  const head = node('p', { className: 'message' }, node('strong', {}, visible(error.kind)), error.message ? `: ${visible(error.message)}` : '');
  const made = callout('bad', head);
  const lines = typeof program.code === 'string' ? program.code.split('\n') : [];
  if (error.line >= 1 && error.line <= lines.length) {
    const from = Math.max(1, error.line - 2);
    const excerpt = node('div', { className: 'excerpt', tabIndex: 0 }, source(lines.slice(from - 1, error.line + 2), from, error.line));
    excerpt.setAttribute('role', 'region');
    excerpt.setAttribute('aria-label', `The program around line ${error.line}`);
    made.firstChild.append(excerpt);
  } else if (error.line) {
    head.append(` (line ${error.line})`);
  }
  if (error.hint) made.firstChild.append(node('p', { className: 'hint' }, visible(error.hint)));
  return made;
}

function stream(title, text, dropped, kind, place) {
  const made = section(title, output(text, title || 'Errors and warnings', kind), copying(text));
  if (dropped > 0) made.append(node('p', { className: 'note' }, `${size(dropped)} from the middle are not here${place ? `; more of it is in ${place}` : ''}.`));
  return made;
}

function value(run) {
  if (run.result === undefined) return section('Value', output(run.result_repr, 'Value'), copying(run.result_repr));
  const shown = isTable(run.result) ? tableOfObjects(run.result, 'Value') : json(run.result, 'Value');
  return section('Value', shown, copying(JSON.stringify(run.result, null, 2)));
}

// A resource of the server, or why it cannot be shown.
async function fetched(place, uri, show) {
  place.replaceChildren(node('p', { className: 'quiet' }, 'Loading…'));
  try {
    place.replaceChildren(show(await read(uri)));
  } catch (error) {
    place.replaceChildren(node('p', { className: 'quiet' }, `Not loaded: ${visible(error.message)}`));
  }
}

const isText = mime => /^text\/|json|xml|yaml|toml|javascript/.test(mime) && mime !== 'image/svg+xml';

function preview({ text, blob }, mime, name) {
  if (PICTURES.includes(mime)) return picture(mime, blob ?? base64(text), name);
  if (text === undefined) return node('p', { className: 'quiet' }, 'No preview of this kind of file');
  const rows = mime === 'text/csv' ? rowsOf(text, ',') : mime === 'text/tab-separated-values' ? rowsOf(text, '\t') : null;
  return rows?.length > 1 ? table(rows[0], rows.slice(1), rows.length - 1, visible(name)) : output(text, visible(name));
}

function base64(text) {
  return btoa(Array.from(new TextEncoder().encode(text), byte => String.fromCharCode(byte)).join(''));
}

function file(entry) {
  const about = [visible(entry.mime), size(entry.bytes)].join(' · ');
  const row = node('div', { className: 'file' }, node('span', { className: 'name' }, visible(entry.path)), node('span', { className: 'quiet' }, about));
  const item = node('li', {}, row);
  if (!entry.uri || !canRead()) return item;
  const place = node('div', { className: 'shown', hidden: true });
  const isLong = entry.bytes > MOST_PREVIEW && isText(entry.mime);
  if (isText(entry.mime) || PICTURES.includes(entry.mime) || entry.bytes <= MOST_PREVIEW) {
    const look = button('View', made => {
      place.hidden = !place.hidden;
      made.textContent = place.hidden ? 'View' : 'Hide';
      made.setAttribute('aria-expanded', String(!place.hidden));
      if (!place.hidden) fetched(place, isLong ? `${entry.uri}?offset=0&limit=${MOST_PREVIEW}` : entry.uri, found => preview(found, entry.mime, entry.path));
    });
    look.setAttribute('aria-expanded', 'false');
    look.setAttribute('aria-label', `View ${visible(entry.path)}`);
    row.append(look);
  }
  if (canSave()) {
    const save = button('Save', async made => {
      made.disabled = true;
      try {
        const resource = await read(entry.uri);
        await request('ui/download-file', { contents: [{ type: 'resource', resource: { mimeType: entry.mime, ...resource } }] });
      } catch (error) {
        place.hidden = false;
        place.replaceChildren(node('p', { className: 'quiet' }, `Not saved: ${visible(error.message)}`));
      }
      made.disabled = false;
    });
    save.setAttribute('aria-label', `Save ${visible(entry.path)}`);
    row.append(save);
  }
  item.append(place);
  return item;
}

const isRaster = ({ mime }) => PICTURES.includes(mime) && mime !== 'image/svg+xml';

// Pictures come as content, displays' before files', each in order. Those that there was no room for are links.
function pictures(run, content, links) {
  const blocks = content.filter(block => block.type === 'image');
  const came = entries => (entries ?? []).filter(entry => isRaster(entry) && !links.has(entry.uri));
  const names = [
    ...came(run.displays).map((_, at, all) => (all.length > 1 ? `Figure ${at + 1}` : 'Figure')),
    ...came(run.files).map(entry => `${entry.path} · ${size(entry.bytes)}`),
  ];
  const isSure = names.length === blocks.length;
  return blocks.map((block, at) => picture(block.mimeType, block.data, isSure ? names[at] : `Picture ${at + 1}`));
}

const KINDS = { 'text/html': 'HTML', 'text/markdown': 'Markdown', 'text/latex': 'LaTeX', 'text/plain': 'Text', 'image/svg+xml': 'Picture' };

function display(entry) {
  const label = `${Object.hasOwn(KINDS, entry.mime) ? KINDS[entry.mime] : visible(entry.mime)} · ${size(entry.bytes)}`;
  const show = found => {
    if (entry.mime === 'text/html') return frame(found.text ?? '', label);
    if (/json/.test(entry.mime)) return jsonText(found.text, label);
    return preview(found, entry.mime, label);
  };
  const place = node('div');
  if (!entry.uri || !canRead()) return node('p', { className: 'note' }, label);
  if (['text/html', 'image/svg+xml', 'text/markdown', 'text/plain', 'text/latex'].includes(entry.mime) && entry.bytes <= 5 * MOST_PREVIEW) {
    fetched(place, entry.uri, show);
    return section(label, place);
  }
  const made = folded(label, place);
  const details = made.firstChild;
  details.ontoggle = () => details.open && !place.hasChildNodes() && fetched(place, entry.uri, show);
  return made;
}

function jsonText(text, label) {
  try {
    return json(JSON.parse(text), label);
  } catch {
    return output(text, label);
  }
}

function remarks(run) {
  const made = [];
  if (run.promoted) made.push(`Ran natively: ${run.promoted.reason}.`);
  const installed = run.packages?.installed ?? [];
  if (installed.length) {
    const names = installed.slice(0, 8).map(({ name, version }) => `${name} ${version}`).join(', ');
    const more = installed.length > 8 ? ` and ${installed.length - 8} more` : '';
    made.push(`Packages: ${names}${more}${run.packages.cached ? '' : `, installed in ${time(run.packages.ms)}`}.`);
  }
  if (run.packages?.unknown?.length) made.push(`No package for: ${run.packages.unknown.join(', ')}.`);
  if (run.packages?.problem) made.push(run.packages.problem);
  if (run.skipped_files?.length) made.push(`Not brought back: ${run.skipped_files.slice(0, 5).map(({ path, reason }) => `${path} (${reason})`).join(', ')}.`);
  if (run.isolation?.missing?.length) made.push(`This host does not give: ${run.isolation.missing.join(', ')}.`);
  return made.length ? node('div', { className: 'remarks' }, ...made.map(remark => node('p', { className: 'note' }, visible(remark)))) : null;
}

function show({ content = [], structuredContent: run, isError }) {
  parts.replaceChildren();
  facts.replaceChildren();
  if (!run?.status) return refusal(content, isError);
  say(...verdict(run));
  named(run.runtime.language, run.runtime.version);
  if (run.session) fact(FOLDER, run.session, 'Session');
  fact(CLOCK, time(run.usage.wall_ms), 'Wall clock');
  fact(CHIP, size(run.usage.peak_memory_bytes), 'Peak memory');
  const { level } = run.isolation;
  fact(SHIELD, level.startsWith(run.engine) ? level : `${run.engine} · ${level}`, 'Engine and isolation');
  const add = (...made) => parts.append(...made.filter(Boolean));
  if (run.state === 'lost') add(callout('warn', node('p', {}, node('strong', {}, 'The session starts afresh.'), ' Its variables were lost; its files are there.')));
  if (run.state === 'gone') add(callout('warn', node('p', {}, node('strong', {}, 'The session starts afresh.'), ' Its variables and files were lost.')));
  if (run.error) add(failure(run.error));
  const place = name => run.run && `run://${run.run}/${name}`;
  if (run.stdout) add(stream('Output', run.stdout, run.dropped?.stdout, '', place('stdout')));
  if (run.stderr) {
    const title = 'Errors and warnings';
    const complaints = stream(run.error ? '' : title, run.stderr, run.dropped?.stderr, 'stderr', place('stderr'));
    // What is above says most of it.
    add(run.error ? folded(title, complaints) : complaints);
  }
  if (run.diagnostics) add(stream('Compiler', run.diagnostics, 0, 'stderr'));
  const links = new Set(content.filter(block => block.type === 'resource_link').map(block => block.uri));
  const drawn = pictures(run, content, links);
  if (drawn.length) add(section(drawn.length > 1 ? 'Pictures' : 'Picture', node('div', {}, ...drawn)));
  for (const entry of run.displays ?? []) if (!isRaster(entry) || links.has(entry.uri)) add(display(entry));
  if (run.result !== undefined) add(value(run));
  // What was displayed is mostly the same, and better to read.
  else if (run.result_repr !== undefined) add(run.displays?.length ? folded('Value as text', output(run.result_repr, 'Value as text')) : value(run));
  if (run.files?.length) add(section(run.files.length > 1 ? `${run.files.length} files` : 'File', node('ul', { className: 'files' }, ...run.files.map(file))));
  if (!parts.hasChildNodes()) add(node('section', {}, node('p', { className: 'quiet' }, 'The program printed nothing.')));
  if (typeof program.code === 'string') add(listing());
  add(remarks(run));
}

function refusal(content, isError) {
  const text = content.filter(block => block.type === 'text').map(block => block.text).join('\n');
  say(isError ? 'bad' : 'good', isError ? 'Did not run' : 'Done');
  parts.append(isError ? callout('bad', node('p', { className: 'message' }, visible(text))) : section('Answer', output(text, 'Answer')));
}

function listing() {
  const lines = program.code.slice(0, MOST_PREVIEW).replace(/\n$/, '').split('\n').slice(0, 2000);
  const box = node('div', { className: 'box', tabIndex: 0 }, source(lines, 1));
  box.setAttribute('role', 'region');
  box.setAttribute('aria-label', 'Program');
  return folded(`Program · ${lines.length} ${lines.length > 1 ? 'lines' : 'line'}`, box);
}

function named(language, version) {
  runtime.replaceChildren(Object.hasOwn(NAMES, language) ? NAMES[language] : visible(language ?? ''));
  if (version) runtime.append(' ', node('span', {}, visible(version)));
}

const THEMED = ['--color-background-primary', '--color-text-primary', '--color-text-secondary', '--font-sans', '--font-mono'];

function adapt(changes) {
  Object.assign(host.context, changes);
  const { theme, styles, displayMode, availableDisplayModes, safeAreaInsets } = host.context;
  const root = document.documentElement;
  if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
  for (const name of THEMED) {
    const given = styles?.variables?.[name];
    if (typeof given === 'string') root.style.setProperty(name, given);
  }
  for (const [side, pixels] of Object.entries(safeAreaInsets ?? {})) {
    if (['top', 'right', 'bottom', 'left'].includes(side) && pixels > 0) document.body.style.setProperty(`padding-${side}`, `${pixels}px`);
  }
  root.dataset.mode = displayMode === 'fullscreen' ? 'fullscreen' : 'inline';
  expand.hidden = !availableDisplayModes?.includes(displayMode === 'fullscreen' ? 'inline' : 'fullscreen');
  expand.textContent = displayMode === 'fullscreen' ? 'Close' : 'Expand';
  for (const shown of document.querySelectorAll('iframe')) shown.paint();
}

expand.onclick = async () => {
  const mode = host.context.displayMode === 'fullscreen' ? 'inline' : 'fullscreen';
  adapt({ displayMode: (await request('ui/request-display-mode', { mode })).mode });
};

let told = 0;
new ResizeObserver(() => {
  const height = Math.ceil(view.getBoundingClientRect().height);
  if (height === told) return;
  told = height;
  notify('ui/notifications/size-changed', { height });
}).observe(view);

function starts({ arguments: given }) {
  program = given ?? {};
  say('waiting live', 'Running');
  named(program.language);
}

connect({
  'ui/notifications/host-context-changed': adapt,
  'ui/notifications/tool-input-partial': starts,
  'ui/notifications/tool-input': starts,
  'ui/notifications/tool-cancelled': ({ reason }) => {
    say('warn', 'Cancelled');
    parts.replaceChildren(...(reason ? [node('p', { className: 'note' }, visible(reason))] : []));
  },
  'ui/notifications/tool-result': show,
});
