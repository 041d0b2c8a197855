'use strict';
// Node before 22.21 and 24 knows no proxy: fetch, http and https go by CONNECT.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 21) || major === 23) {
  const http = require('http'), https = require('https'), net = require('net'), tls = require('tls');
  const proxy = new URL(process.env.https_proxy || 'http://127.0.0.1:3128');
  const own = (process.env.NO_PROXY || '').split(',');
  const plain = (o) => o.socketPath || own.includes(o.hostname || o.host) || (o.host === proxy.hostname && String(o.port) === proxy.port);
  const connect = (o, secure, done) => {
    const host = o.hostname || o.host || 'localhost';
    const to = (net.isIPv6(host) ? '[' + host + ']' : host) + ':' + (o.port || (secure ? 443 : 80));
    const req = http.request({host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: to, headers: {host: to}, agent: false, createConnection: () => net.connect(Number(proxy.port), proxy.hostname)});
    req.once('error', done);
    req.once('connect', (res, socket) => {
      req.removeListener('error', done);
      if (res.statusCode !== 200) {
        socket.destroy();
        return done(new Error('the proxy refuses ' + to + ': ' + res.statusMessage));
      }
      if (!secure) return done(null, socket);
      const name = o.servername || (net.isIP(host) ? '' : host);
      const s = tls.connect({...o, socket, servername: name, host, port: undefined});
      s.once('error', done);
      s.once('secureConnect', () => { s.removeListener('error', done); done(null, s); });
    });
    req.end();
  };
  for (const [agent, secure] of [[http.Agent, false], [https.Agent, true]]) {
    const before = agent.prototype.createConnection;
    agent.prototype.createConnection = function (...args) {
      const o = args[0], done = args.find((a) => typeof a === 'function');
      if (!o || typeof o !== 'object' || plain(o) || !done) return before.apply(this, args);
      connect(o, secure, done);
    };
  }
  const fetch = globalThis.fetch, slot = Symbol.for('undici.globalDispatcher.1');
  if (fetch) {
    let ready = false;
    globalThis.fetch = function (...args) {
      if (!ready) {
        ready = true;
        fetch('data:,').catch(() => {}); // it makes its dispatcher only now
        const Agent = globalThis[slot] && globalThis[slot].constructor;
        if (Agent) globalThis[slot] = new Agent({connect: (o, done) => plain(o) ? done(null, net.connect(o.port, o.hostname)) : connect(o, o.protocol === 'https:', done)});
      }
      return fetch(...args);
    };
  }
}
