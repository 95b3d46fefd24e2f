'use strict';
// The app's side of MCP Apps (2026-01-26): JSON-RPC with the window that shows us.

const PROTOCOL = '2026-01-26';

const host = { capabilities: {}, context: {} };
const waiting = new Map();
let lastId = 0;

// Nobody tells us the host's origin. What we send is of no use to anyone but the window around us.
const send = message => window.parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
const notify = (method, params) => send({ method, params });

function request(method, params) {
  const id = ++lastId;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    send({ id, method, params });
  });
}

// Handlers of the host's notifications come from the view.
async function connect(handlers) {
  window.addEventListener('message', ({ source, data }) => {
    if (source !== window.parent || data?.jsonrpc !== '2.0') return;
    if (typeof data.method !== 'string') return settle(data);
    if (data.id === undefined) return Object.hasOwn(handlers, data.method) && handlers[data.method](data.params ?? {});
    const known = ['ping', 'ui/resource-teardown'].includes(data.method);
    send(known ? { id: data.id, result: {} } : { id: data.id, error: { code: -32601, message: 'Method not found' } });
  });
  const { hostCapabilities, hostContext } = await request('ui/initialize', {
    appInfo: { name: 'belljar-result', version: document.documentElement.dataset.version },
    appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
    protocolVersion: PROTOCOL,
  });
  host.capabilities = hostCapabilities ?? {};
  handlers['ui/notifications/host-context-changed'](hostContext ?? {});
  notify('ui/notifications/initialized', {});
}

function settle({ id, result, error }) {
  const answer = waiting.get(id);
  waiting.delete(id);
  if (error) answer?.reject(new Error(String(error.message)));
  else answer?.resolve(result);
}

// The text or base64 of a resource of the server.
async function read(uri) {
  const { contents } = await request('resources/read', { uri });
  return contents[0];
}

const canRead = () => host.capabilities.serverResources !== undefined;
const canSave = () => canRead() && host.capabilities.downloadFile !== undefined;
