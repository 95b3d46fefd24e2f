// What guests may try with the page that shows their results. Each attack says `pwned` where somebody would hear it.

const assert = require('node:assert/strict');

const SCRIPT = "window.top.postMessage('pwned', '*'); window.pwned = true; new Image().src = 'http://pwned.example/image'";
const MARKUP = [
  `<script>${SCRIPT}</script>`,
  `<img src=x onerror="${SCRIPT}">`,
  `</script></pre></style><script>${SCRIPT}</script>`,
  `<svg onload="${SCRIPT}"><script>${SCRIPT}</script></svg>`,
  `<iframe srcdoc="<script>${SCRIPT.replaceAll('"', '')}</script>"></iframe>`,
  '<meta http-equiv="refresh" content="0;url=http://pwned.example/refresh">',
  '<link rel="stylesheet" href="http://pwned.example/style"><link rel="dns-prefetch" href="http://look-up.pwned.example">',
  '<link rel="preconnect" href="http://pwned.example"><link rel="prefetch" href="http://pwned.example/prefetch">',
  '<style>@import "http://pwned.example/import"; body { background: url(http://pwned.example/background) }</style>',
  '<img src="http://pwned.example/pixel"><video src="http://pwned.example/video" autoplay></video><object data="http://pwned.example/object"></object>',
  '<base href="http://pwned.example/"><form action="http://pwned.example/form"><button autofocus>go</button></form>',
  '<a href="http://pwned.example/link" ping="http://pwned.example/ping">a link</a>',
  '<table background="http://pwned.example/table"><tr><td>kept</td><td style="background: url(http://pwned.example/cell)" onclick="pwned()">2</td></tr></table>',
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=pwned()&gt;">',
].join('\n');
const MARKED = `print(${JSON.stringify(MARKUP)})`;

// Whether something of the guest's ran anywhere in the page.
async function assertUnharmed({ page, view }) {
  for (const frame of page.frames()) {
    assert.equal(await frame.evaluate(() => typeof window.pwned), 'undefined', frame.url());
    assert(!frame.url().includes('pwned'), frame.url());
  }
  // The page's own elements, and no others: what is in frames has documents of its own.
  assert.deepEqual(await view.$$eval('script, style, link, base, form, object, video, a, meta[http-equiv=refresh]', all => all.map(one => one.localName)), ['style', 'script']);
}

async function markupInText(run) {
  const program = `${MARKED}\nimport sys\nsys.stderr.write(${JSON.stringify(MARKUP)})\nopen('<img src=x onerror=pwned()>.txt', 'w').write('x')\n[{${JSON.stringify(MARKUP)}: ${JSON.stringify(MARKUP)}}]`;
  const shown = await run({ language: 'python', code: program, engine: 'wasm' });
  assert.equal(shown.read.status, 'Completed');
  assert.deepEqual(await shown.view.$$eval('pre', boxes => boxes.map(box => box.textContent)), [`${MARKUP}\n`, MARKUP]);
  assert.equal(await shown.view.$eval('.files .name', name => name.textContent), '<img src=x onerror=pwned()>.txt');
  await assertUnharmed(shown);
  const raised = await run({ language: 'python', code: `raise ValueError(${JSON.stringify(MARKUP)})`, engine: 'wasm' });
  assert((await raised.view.$eval('.callout .message', message => message.textContent)).startsWith('ValueError: <script>'));
  await assertUnharmed(raised);
}

// A cell that displays these, each as what it says it is.
const displaying = forms => ({
  language: 'python', engine: 'native', session: 'view',
  code: `class Shown:
    def __init__(self, mime, data):
        self.bundle = {mime: data}
    def _repr_mimebundle_(self):
        return self.bundle
for mime, data in ${JSON.stringify(forms)}:
    display(Shown(mime, data))`,
});

async function markupInDisplays(run) {
  const shown = await run(displaying([['text/html', MARKUP], ['application/vnd.vegalite.v5+json', '{"mark": "<script>"}']]));
  assert.deepEqual(shown.result.structuredContent.displays.map(({ mime }) => mime), ['text/html', 'application/vnd.vegalite.v5+json']);
  const frame = await (await shown.view.waitForSelector('iframe')).contentFrame();
  await frame.waitForSelector('td');
  assert.equal(await shown.view.$eval('iframe', frame => frame.getAttribute('sandbox')), '');
  // Of all that markup, this is left.
  assert.equal(await frame.$eval('table', table => table.outerHTML), '<table><tbody><tr><td>kept</td><td>2</td></tr></tbody></table>');
  assert.deepEqual(await frame.$$eval('body *', all => [...new Set(all.map(one => one.localName))].sort()), ['img', 'table', 'tbody', 'td', 'tr']);
  assert.deepEqual(await frame.$$eval('img', all => all.map(image => image.attributes.length)), [0, 0]);
  assert.deepEqual(await frame.$$eval('[href], [onclick], [style], [background]', all => all.length), 0);
  await shown.view.click('summary');
  await shown.view.waitForSelector('details pre .key');
  assert.equal(await shown.view.$eval('details pre', box => box.textContent), '{\n  "mark": "<script>"\n}');
  await assertUnharmed(shown);
  // The policy holds where the markup is taken apart, too, and the browser says so.
  const refused = shown.seen.trouble.splice(0).filter(text => !text.endsWith('The action has been blocked.'));
  assert.deepEqual(refused, []);
}

// As a picture, a drawing draws and does nothing else.
async function drawings(run) {
  const drawing = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="120" height="40" onload="${SCRIPT}"><script>${SCRIPT}</script>`
    + '<image xlink:href="http://pwned.example/image" width="9" height="9"/><rect width="120" height="40" style="fill: red"/></svg>';
  const shown = await run(displaying([['image/svg+xml', drawing], ['text/markdown', '# A <b>title']]));
  await shown.view.waitForFunction(() => document.querySelector('img')?.naturalWidth > 0 && document.querySelector('pre'));
  assert.deepEqual(await shown.view.$$eval('img', all => all.map(image => [image.naturalWidth, image.naturalHeight])), [[120, 40]]);
  assert.equal(await shown.view.$eval('pre', box => box.textContent), '# A <b>title');
  await assertUnharmed(shown);
}

async function textThatHides(run) {
  const code = String.raw`print('\x1b[31mred\x1b[0m \x1b[1;38;5;208mbold\x1b[m \x1b]0;title\x07\x1b[2J\x1b[38;2;1;2;3mdeep\x1b[0m')
print('10%\r50%\r100%')
print('a\u202eb\u2066c\x00\x1b\U000e0041d')
open('gpj\u202e.exe', 'w').write('x')`;
  const { view } = await run({ language: 'python', code, engine: 'wasm' });
  assert.equal(await view.$eval('pre', box => box.textContent), 'red bold deep\n100%\na⟨U+202E⟩b⟨U+2066⟩c␀␛⟨U+E0041⟩d\n');
  const colours = await view.$$eval('section:first-child pre span', spans => spans.map(span => [span.textContent, span.className, span.style.color]));
  assert.deepEqual(colours, [['red', 'red', ''], ['bold', 'bold', 'rgb(255, 135, 0)'], ['deep', '', 'rgb(1, 2, 3)']]);
  assert.equal(await view.$eval('.files .name', name => name.textContent), 'gpj⟨U+202E⟩.exe');
}

async function floods(run) {
  const { view, read } = await run({ language: 'python', code: "print('\\x1b[31m<b>\\x1b[32m' * 60_000, end='')", engine: 'wasm' });
  assert(read.height < 700, `${read.height}`);
  assert((await view.$$eval('pre *', all => all.length)) < 60_000);
  await view.click('.gap .button');
  assert((await view.$eval('pre', box => box.textContent)).startsWith('<b><b>'));
  const long = await run({ language: 'python', code: "print('x' * 1_000_000)", engine: 'wasm' });
  assert.match(await long.view.$eval('.gap', gap => gap.textContent), /^\d{3},\d{3} characters in between/);
}

// The same markup does harm in a page that takes it for its own.
async function control(window) {
  const page = await window.browser.newPage();
  await page.goto(window.open);
  await page.evaluate(markup => {
    const frame = document.createElement('iframe');
    frame.srcdoc = markup;
    document.body.append(frame);
    return new Promise(resolve => { window.onmessage = resolve; });
  }, MARKUP.replaceAll('pwned.example', 'control.example'));
  await new Promise(resolve => setTimeout(resolve, 1000));
  await page.close();
}

// By the browser's own log of what it asked the network for.
function assertNothingLeft(log) {
  for (const name of ['control.example', 'look-up.control.example']) assert(log.includes(name), `the log would not show ${name}`);
  assert(!log.includes('pwned'), log.match(/.{0,300}pwned.{0,100}/)?.[0]);
}

module.exports = { CHECKS: [markupInText, markupInDisplays, drawings, textThatHides, floods], control, assertNothingLeft };
