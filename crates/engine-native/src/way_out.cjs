// Leads what `http`, `https` and `fetch` connect to through the run's way out. From version 24 on Node does so by itself.
'use strict';
const { HTTPS_PROXY } = process.env;
if (HTTPS_PROXY && Number.parseInt(process.versions.node, 10) < 24) {
  const [http, https, net, tls] = ['http', 'https', 'net', 'tls'].map((name) => require(name));
  const proxy = new URL(HTTPS_PROXY);

  const isOwn = ({ host, hostname = host, socketPath }) =>
    Boolean(socketPath) || /^(localhost|127(\.\d+){3}|\[?::1\]?)$/.test(hostname);

  function tunnel(host, port, done) {
    const socket = net.connect(Number(proxy.port), proxy.hostname);
    const failed = (error) => done(error, null);
    let heard = Buffer.alloc(0);
    const hear = (part) => {
      heard = Buffer.concat([heard, part]);
      const end = heard.indexOf('\r\n\r\n');
      if (end < 0) return;
      // As new: whoever gets it decides how it is read.
      socket.off('data', hear).off('error', failed).pause().readableFlowing = null;
      const [, status] = heard.toString('latin1', 0, end).split(' ', 2);
      if (status === '200') {
        socket.unshift(heard.subarray(end + 4));
        done(null, socket);
      } else {
        socket.on('error', () => {}).destroy();
        const reason = heard.toString('utf8', end + 4).trim() || `the way out answered with ${status}`;
        failed(Object.assign(new Error(reason), { code: 'ERR_PROXY_TUNNEL' }));
      }
    };
    socket.on('data', hear).once('error', failed);
    socket.write(`CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`);
  }

  const { createConnection } = http.Agent.prototype;
  http.Agent.prototype.createConnection = function (options, done) {
    if (isOwn(options)) return createConnection.call(this, options, done);
    return void tunnel(options.host, options.port, done);
  };
  const { createConnection: createSecure } = https.Agent.prototype;
  https.Agent.prototype.createConnection = function (options, done) {
    if (isOwn(options)) return createSecure.call(this, options, done);
    return void tunnel(options.host, options.port, (error, socket) =>
      error ? done(error) : done(null, tls.connect({ ...options, socket, servername: options.servername || options.host })));
  };

  // Naming one of its classes loads what `fetch` is made of.
  if (globalThis.Headers) {
    const dispatcher = Symbol.for('undici.globalDispatcher.1');
    const connect = (options, done) => {
      const { hostname, protocol, port = protocol === 'https:' ? 443 : 80 } = options;
      const secure = (error, socket) => {
        if (error || protocol !== 'https:') return done(error, socket);
        const servername = options.servername || hostname;
        const wrapped = tls.connect({ socket, servername, ALPNProtocols: ['http/1.1'] });
        return wrapped.once('secureConnect', () => done(null, wrapped)).once('error', (late) => done(late, null));
      };
      if (isOwn(options)) return void secure(null, net.connect(Number(port), hostname));
      return tunnel(hostname, port || (protocol === 'https:' ? 443 : 80), secure);
    };
    const { constructor: Agent } = globalThis[dispatcher] ?? {};
    if (Agent) globalThis[dispatcher] = new Agent({ connect });
  }
}
