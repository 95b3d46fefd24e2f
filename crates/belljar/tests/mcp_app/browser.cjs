// Chromium with a host of MCP Apps in it.

const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const { createServer } = require('node:http');
const path = require('node:path');
const esbuild = require('esbuild');
const puppeteer = require('puppeteer-core').default ?? require('puppeteer-core');

// What the specification tells hosts to use for a view that asks for nothing.
const POLICY = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; "
  + "connect-src 'none'; frame-src 'none'; object-src 'none'; base-uri 'self'";
// The host's own page has a frame from the proxy.
const HOST_POLICY = POLICY.replace("frame-src 'none'", 'frame-src http://localhost:*');

// A window may take long to open on a machine that has other things to do.
const PATIENCE = 60_000;

async function open(chromium, folder) {
  const bridge = await esbuild.build({
    stdin: { contents: "export { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';", resolveDir: process.env.NODE_PATH },
    nodePaths: [process.env.NODE_PATH], bundle: true, format: 'iife', globalName: 'apps', write: false, logLevel: 'error',
  });
  const pages = {
    '/host': [HOST_POLICY, 'text/html', readFileSync(path.join(__dirname, 'host.html'))],
    '/proxy': [POLICY, 'text/html', readFileSync(path.join(__dirname, 'proxy.html'))],
    '/bridge.js': [POLICY, 'text/javascript', bridge.outputFiles[0].contents],
    '/open': ["script-src 'unsafe-inline'", 'text/html', '<!doctype html><link rel="icon" href="data:,">'],
  };
  const server = createServer((request, response) => {
    const [policy, type, body] = pages[request.url] ?? ["default-src 'none'", 'text/plain', ''];
    response.writeHead(body ? 200 : 404, { 'Content-Security-Policy': policy, 'Content-Type': `${type}; charset=utf-8` }).end(body);
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  const netLog = path.join(folder, 'net-log.json');
  const browser = await puppeteer.launch({
    executablePath: chromium, timeout: PATIENCE, protocolTimeout: PATIENCE, userDataDir: path.join(folder, 'profile'),
    args: [
      `--log-net-log=${netLog}`, '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-gpu', '--disable-dev-shm-usage',
      '--host-resolver-rules=MAP localhost 127.0.0.1', '--force-color-profile=srgb', '--hide-scrollbars',
      // Root has no sandbox of Chromium's.
      ...(process.getuid() === 0 ? ['--no-sandbox'] : []),
    ],
  });
  return {
    host: `http://127.0.0.1:${port}/host`, proxy: `http://localhost:${port}/proxy`, open: `http://127.0.0.1:${port}/open`, browser,
    // What it asked the network for, from its own log.
    async close() {
      await browser.close();
      server.close();
      return readFileSync(netLog, 'utf8');
    },
  };
}

// A result in the view, in a window of its own.
async function show(window, { html, input, result, theme = 'light', proxied = false, width = 760, scale = 1, server, capabilities }) {
  const page = await window.browser.newPage();
  const seen = { saved: [], trouble: [], asked: [] };
  await page.setViewport({ width, height: 900, deviceScaleFactor: scale });
  // What the specification wants of a proxy is not to Chromium's taste.
  const isProxy = text => text.startsWith('An iframe which has both allow-scripts and allow-same-origin');
  page.on('console', message => ['error', 'warn'].includes(message.type()) && !isProxy(message.text()) && seen.trouble.push(message.text()));
  page.on('pageerror', error => seen.trouble.push(String(error)));
  page.on('dialog', dialog => (seen.trouble.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
  page.on('request', request => request.url().startsWith('data:') || seen.asked.push(request.url()));
  await page.exposeFunction('ofServer', async (method, params) => (seen.asked.push(params.uri), server(method, params)));
  await page.exposeFunction('ofHost', async (what, params) => (seen[what].push(params), {}));
  await page.goto(window.host);
  const given = { html, proxy: proxied ? window.proxy : null, capabilities: capabilities ?? { serverResources: {}, downloadFile: {} } };
  await page.evaluate(given => mount(given), { ...given, context: { theme, displayMode: 'inline', availableDisplayModes: ['inline', 'fullscreen'] } });
  const view = await viewOf(page);
  if (input) await page.evaluate(given => bridge.sendToolInput({ arguments: given }), input);
  if (result) {
    await page.evaluate(result => bridge.sendToolResult(result), result);
    const isThere = () => !document.querySelector('.badge.waiting') && !document.body.innerText.includes('Loading…') && [...document.images].every(image => image.complete);
    await view.waitForFunction(isThere, { timeout: PATIENCE });
  }
  return { page, view, seen };
}

async function viewOf(page) {
  for (const frame of page.frames()) if (await frame.$('#view')) return frame;
  assert.fail('there is no view');
}

module.exports = { open, show, PATIENCE };
