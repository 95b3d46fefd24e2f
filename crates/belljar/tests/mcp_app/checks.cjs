// Shows results of a real server in a real browser, as a client with MCP Apps would. Throws where the page is wrong.
//
// Usage: checks.cjs BELLJAR CHROMIUM FOLDER PICTURES
//
// What it is like to look at is left in PICTURES; docs/app.png is one of them.

const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const path = require('node:path');
const { Client } = require('@modelcontextprotocol/client');
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
const { getToolUiResourceUri, RESOURCE_MIME_TYPE } = require('@modelcontextprotocol/ext-apps/app-bridge');
const { open, show, PATIENCE } = require('./browser.cjs');
const hostile = require('./hostile.cjs');

const plot = readFileSync(path.join(__dirname, 'plot.py'), 'utf8');

// What the page says, as a reader finds it.
const reading = () => ({
  status: document.getElementById('status').innerText,
  runtime: document.getElementById('runtime').innerText,
  facts: [...document.querySelectorAll('#facts li')].map(fact => fact.title),
  titles: [...document.querySelectorAll('h2, summary')].map(title => title.textContent),
  pictures: [...document.querySelectorAll('img')].map(image => [image.alt, image.naturalWidth, image.naturalHeight]),
  height: document.getElementById('view').getBoundingClientRect().height,
});

async function main(belljar, chromium, folder, pictures) {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [RESOURCE_MIME_TYPE] } } } });
  const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => name === 'PATH' || name.startsWith('BELLJAR_')));
  await client.connect(new StdioClientTransport({ command: belljar, args: ['serve'], env: environment }));
  const { tools } = await client.listTools();
  const { contents } = await client.readResource({ uri: getToolUiResourceUri(tools.find(tool => tool.name === 'run_code')) });
  assert.equal(contents[0].mimeType, RESOURCE_MIME_TYPE);
  const window = await open(chromium, folder);
  const server = (_, params) => client.readResource(params);
  const run = async (input, options = {}) => {
    const result = await client.callTool({ name: 'run_code', arguments: input });
    const { added, ...others } = options;
    Object.assign(result.structuredContent ?? {}, added);
    const shown = await show(window, { html: contents[0].text, input, result, server, ...others });
    return { ...shown, result, read: await shown.view.evaluate(reading) };
  };
  const checks = [...CHECKS, ...hostile.CHECKS];
  for (const proxied of [false, true]) {
    // With a proxy around it the page has another origin and another policy, but it reads the same.
    for (const check of checks.filter(check => !proxied || !READING.includes(check.name))) {
      console.error(proxied ? 'through a proxy:' : 'directly:', check.name);
      const seen = [];
      await check((input, options) => run(input, { proxied, ...options }).then(shown => (seen.push(shown), shown)), window);
      for (const { page, seen: { trouble, asked } } of seen) {
        assert.deepEqual(trouble, []);
        assert.deepEqual(await page.evaluate(() => strangers), []);
        const known = [window.host, window.proxy, window.host.replace('/host', '/bridge.js'), 'about:srcdoc'];
        assert.deepEqual(asked.filter(url => !known.includes(url) && !/^(run|session):\/\//.test(url)), []);
        await page.close();
      }
    }
  }
  await drawn(run, pictures);
  await hostile.control(window);
  hostile.assertNothingLeft(await window.close());
  await client.close();
}

async function outputAndValue(run) {
  const { view, read } = await run({ language: 'python', code: "print('<b>1 & 2</b>')\n6 * 7", engine: 'wasm' });
  assert.deepEqual([read.status, read.titles], ['Completed', ['Output', 'Value', 'Program · 2 lines']]);
  assert.match(read.runtime, /^Python 3\.\d+\.\d+$/);
  assert.deepEqual(read.facts, ['Wall clock', 'Peak memory', 'Engine and isolation']);
  assert.deepEqual(await view.$$eval('pre', boxes => boxes.map(box => box.textContent)), ['<b>1 & 2</b>\n', '42']);
}

async function tables(run) {
  const { view, read } = await run({ language: 'python', code: "[{'n': n, 'square': n * n, 'name': f'<i>{n}', 'none': None} for n in range(700)]" });
  assert.deepEqual(read.titles, ['Value', 'Program · 1 line']);
  assert.deepEqual(await view.$$eval('thead th', heads => heads.map(head => [head.textContent, head.scope, head.className])), [
    ['n', 'col', 'numeric'], ['square', 'col', 'numeric'], ['name', 'col', ''], ['none', 'col', ''],
  ]);
  assert.deepEqual(await view.$eval('tbody tr:nth-child(4)', row => [...row.cells].map(cell => cell.textContent)), ['3', '9', '<i>3', 'null']);
  assert.equal(await view.$eval('.note', note => note.textContent), 'Shown: the first 500 of 700 rows');
}

async function failures(run) {
  const { view, read } = await run({ language: 'python', code: "def half(n):\n    return n / 0\n\nprint('before')\nhalf(3)\n" });
  assert.deepEqual([read.status, read.titles], ['Exit code 1', ['Output', 'Errors and warnings', 'Program · 5 lines']]);
  assert.equal(await view.$eval('.callout .message', message => message.textContent), 'ZeroDivisionError: division by zero');
  assert.deepEqual(await view.$$eval('.callout .here', parts => parts.map(part => part.textContent)), ['2', '    return n / 0']);
  const late = await run({ language: 'python', code: 'while True: pass', timeout_ms: 300, engine: 'wasm' });
  assert.equal(late.read.status, 'Timed out');
  const refused = await run({ language: 'klingon', code: '1' });
  assert.equal(refused.read.status, 'Did not run');
  assert.match(await refused.view.$eval('.callout', callout => callout.textContent), /`klingon` is not a language/);
}

async function picturesAndFiles(run) {
  const { page, view, read, seen, result } = await run({ language: 'python', code: plot, engine: 'wasm' });
  const [picture] = result.structuredContent.files;
  assert.deepEqual(read.pictures, [[`damped.png · ${(picture.bytes / 1000).toFixed(1)} kB`, 640, 280]]);
  assert.deepEqual(await view.$$eval('.files .name', names => names.map(name => name.textContent)), ['damped.png', 'samples.csv']);
  // With the keyboard alone.
  await view.focus('[aria-label="View samples.csv"]');
  await page.keyboard.press('Enter');
  await view.waitForSelector('.files table', { timeout: PATIENCE });
  assert.deepEqual(await view.$$eval('.files tbody tr:nth-child(4) td', cells => cells.map(cell => cell.textContent)), ['0.3', '0.6188', 'a "quoted", cell']);
  await view.click('[aria-label="Save damped.png"]');
  for (let tries = 0; !seen.saved.length && tries < 200; tries++) await new Promise(resolve => setTimeout(resolve, 50));
  const { resource } = seen.saved[0].contents[0];
  assert.deepEqual([resource.uri, resource.mimeType], [picture.uri, 'image/png']);
  assert.equal(Buffer.from(resource.blob, 'base64').length, picture.bytes);
  // A host that reads nothing for us is not asked to.
  const poor = await run({ language: 'python', code: plot, engine: 'wasm' }, { capabilities: {} });
  assert.equal(await poor.view.$('.files button'), null);
}

async function figures(run) {
  const code = `${plot}
class Figure:
    def _repr_png_(self):
        return open('damped.png', 'rb').read()
display(Figure())
print('drawn')`;
  const { read } = await run({ language: 'python', code, engine: 'native', session: 'figures' });
  assert.deepEqual(read.facts[0], 'Session');
  assert.deepEqual(read.pictures.map(([name]) => name.split(' · ')[0]), ['Figure', 'damped.png']);
}

async function hostsAreFollowed(run) {
  const code = "[{'a': 1}]";
  const shades = [];
  for (const theme of ['light', 'dark']) {
    const { page, view, read } = await run({ language: 'python', code }, { theme, added: { state: 'lost' } });
    assert.match(await view.$eval('.callout', callout => callout.textContent), /variables were lost/);
    // The host gives the page its height when it hears of it.
    const fits = height => Math.abs(document.querySelector('iframe').getBoundingClientRect().height - height) <= 1;
    await page.waitForFunction(fits, { timeout: PATIENCE }, read.height);
    shades.push(await view.evaluate(() => getComputedStyle(document.body).backgroundColor));
    await page.evaluate(() => bridge.setHostContext({ theme: 'dark', styles: { variables: { '--color-background-primary': 'rgb(1, 2, 3)' } } }));
    await view.waitForFunction(() => getComputedStyle(document.body).backgroundColor === 'rgb(1, 2, 3)', { timeout: PATIENCE });
    await view.click('#expand');
    await view.waitForFunction(() => document.documentElement.dataset.mode === 'fullscreen', { timeout: PATIENCE });
    assert.deepEqual(await page.evaluate(() => bridge.teardownResource({})), {});
  }
  assert.deepEqual(shades, ['rgb(255, 255, 255)', 'rgb(23, 24, 27)']);
}

const GALLERY = {
  table: "cities = [('Tokyo', 37.2, 2194), ('Delhi', 33.8, 1484), ('São Paulo', 22.8, 1521)]\n[dict(city=city, millions=m, km2=area) for city, m, area in cities]",
  failure: "def mean(values):\n    return sum(values) / len(values)\n\nprint('reading')\nprint(mean([]))\n",
  plot,
};

async function drawn(run, folder) {
  for (const [name, code] of Object.entries(GALLERY)) {
    for (const theme of ['light', 'dark']) {
      const { page, view } = await run({ language: 'python', code, engine: 'wasm' }, { theme, scale: 1.5 });
      if (name === 'plot') {
        await view.click('[aria-label="View samples.csv"]');
        await view.waitForSelector('.files table', { timeout: PATIENCE });
      }
      // Until the host has given the page its height.
      await new Promise(resolve => setTimeout(resolve, 300));
      await (await page.$('iframe')).screenshot({ path: path.join(folder, `${name}-${theme}.png`) });
      await page.close();
    }
  }
}

const READING = ['tables', 'failures', 'textThatHides', 'floods'];
const CHECKS = [outputAndValue, tables, failures, picturesAndFiles, figures, hostsAreFollowed];
main(...process.argv.slice(2)).catch(error => {
  console.error(error);
  process.exit(1);
});
