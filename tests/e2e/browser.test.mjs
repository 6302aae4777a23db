// SPDX-License-Identifier: Apache-2.0
// A web page on a machine that reaches the daemon is not a way in: what a browser would send is
// refused, with and without a real browser. docs/decisions/0019-browsers.md has the reasons.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { spawn, spawnSync } from 'node:child_process';
import http from 'node:http';
import os from 'node:os';
import { after, before, describe, test } from 'node:test';
import { Daemon, workspace } from './support/daemon.mjs';
import { logs } from './support/otlp.mjs';
import { Grpc, JSON_TYPE, call, get, post, until } from './support/wire.mjs';

const space = workspace('browser');
const daemons = [];
async function start(name, config) {
  daemons.push(new Daemon(space.file(name), config));
  return daemons.at(-1).start();
}
let daemon;
before(async () => { daemon = await start('daemon', { server: { allowed_hosts: ['tracecore.monitoring.svc', '*.corp.example'] } }); });
after(async () => { await Promise.all(daemons.map((one) => one.destroy())); space.remove(); });

const OCTETS = 'application/octet-stream';
const kernel = 'kern  :err   : [    1.000000] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n';
const upload = (headers) => call(daemon.api, 'POST', '/api/v1/upload?name=dmesg-gpu-07.txt&boot_time=2026-01-01T00:00:00Z', { body: kernel, headers });
const uploads = async () => (await daemon.status()).received.uploads;
const port = (address) => address.slice(address.lastIndexOf(':') + 1);

describe('Host', () => {
  const paths = ['/healthz', '/readyz', '/metrics', '/api/v1/status', '/api/v1/incidents'];
  test('names of ours are served', async () => {
    for (const host of ['localhost', `LOCALHOST:${port(daemon.api)}`, '127.0.0.1', '[::1]:4320', '10.20.30.40:4320', os.hostname(),
      'tracecore.monitoring.svc:4320', 'a.b.corp.example']) {
      for (const path of paths) assert.equal((await get(daemon.api, path, { headers: { host } })).status, 200, `${host} ${path}`);
    }
  });
  test('others are refused, and told the remedy', async () => {
    for (const host of ['evil.example', 'localhost.evil.example', 'corp.example', 'tracecore', 'tracecore.monitoring.svc.evil.example']) {
      for (const path of paths) {
        const answer = await get(daemon.api, path, { headers: { host } });
        assert.equal(answer.status, 403, `${host} ${path}`);
        assert.match(answer.body.toString(), /server\.allowed_hosts/);
      }
      assert.equal((await upload({ host, 'content-type': OCTETS })).status, 403);
    }
    assert.ok((await daemon.metrics()).sum('tracecore_requests_rejected_total', { reason: 'unknown_host' }) >= 5);
  });
  test('exporters may use any name', async () => {
    const body = logs({}, [{ body: 'x' }]);
    for (const host of ['otel-gateway.monitoring.svc.cluster.local:4318', 'evil.example']) {
      assert.equal((await post(daemon.http, 'logs', body, { host })).status, 200);
    }
    const grpc = new Grpc(daemon.grpc);
    assert.equal((await grpc.export('logs', body, { ':authority': 'otel-gateway.monitoring.svc:4317' })).grpc, 0);
    await grpc.close();
  });
  test('a reload adds one', async () => {
    const other = await start('reload', {});
    const status = async () => (await get(other.api, '/readyz', { headers: { host: 'tracecore.svc' } })).status;
    assert.equal(await status(), 403);
    other.configure({ server: { allowed_hosts: ['tracecore.svc'] } });
    other.signal('SIGHUP');
    await until('the name to be known', async () => (await status()) === 200);
    await other.stop();
  });
});

describe('Origin and Sec-Fetch-Site', () => {
  const own = () => `http://127.0.0.1:${port(daemon.api)}`;
  test('another origin changes nothing', async () => {
    const before = await uploads();
    for (const headers of [{ origin: 'https://evil.example' }, { origin: 'null' }, { origin: 'http://localhost:1' }, { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' }, { origin: own(), 'sec-fetch-site': 'cross-site' }]) {
      for (const method of ['POST', 'PUT']) {
        const answer = await call(daemon.api, method, '/api/v1/upload?name=x', { body: kernel, headers: { 'content-type': OCTETS, ...headers } });
        assert.equal(answer.status, 403, JSON.stringify(headers));
      }
    }
    assert.equal(await uploads(), before);
  });
  test('nor does telemetry from a page, its name pointed here or not', async () => {
    const stored = async () => (await daemon.status()).received.logs;
    const before = await stored();
    const host = `evil.example:${port(daemon.http)}`;
    for (const headers of [{ origin: 'https://evil.example' }, { host, origin: `http://${host}` }, { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'cross-site' }]) {
      assert.equal((await post(daemon.http, 'logs', '{}', { 'content-type': JSON_TYPE, ...headers })).status, 403, JSON.stringify(headers));
    }
    assert.equal(await stored(), before);
  });
  test('the own origin, a person at the address bar and reads are let in', async () => {
    assert.equal((await upload({ 'content-type': OCTETS, origin: own(), 'sec-fetch-site': 'same-origin' })).status, 200);
    assert.equal((await upload({ 'content-type': OCTETS, 'sec-fetch-site': 'none' })).status, 200);
    const read = await get(daemon.api, '/api/v1/incidents', { headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' } });
    assert.equal(read.status, 200);
    assert.equal(Object.keys(read.headers).filter((name) => name.startsWith('access-control')).length, 0, 'the page must not see it');
  });
  test('nobody is given permission in advance', async () => {
    for (const address of [daemon.api, daemon.http]) {
      const answer = await call(address, 'OPTIONS', address === daemon.api ? '/api/v1/upload' : '/v1/logs', { headers: {
        origin: 'https://evil.example', 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' } });
      assert.ok(answer.status >= 400);
      assert.equal(Object.keys(answer.headers).filter((name) => name.startsWith('access-control')).length, 0);
    }
  });
});

describe('content types of uploads', () => {
  test('those of forms are refused, and none at all', async () => {
    const before = await uploads();
    for (const type of [undefined, 'text/plain', 'text/plain;charset=UTF-8', 'multipart/form-data; boundary=x', 'application/x-www-form-urlencoded', 'nonsense']) {
      const answer = await upload(type === undefined ? {} : { 'content-type': type });
      assert.equal(answer.status, 415, type);
      assert.match(JSON.parse(answer.body).error, /Content-Type: application\/octet-stream/);
    }
    assert.equal(await uploads(), before);
  });
  test('any other is taken', async () => {
    for (const type of [OCTETS, 'application/json', 'text/x-log']) assert.equal((await upload({ 'content-type': type })).status, 200, type);
  });
});

describe('wrong tokens', () => {
  const sha = (text) => crypto.createHash('sha256').update(text).digest('hex');
  test('are slowed, right ones are not', async () => {
    const guarded = await start('tokens', { auth: { tokens: [{ name: 'all', sha256: sha('right'), scopes: ['ingest', 'read'] }] } });
    const ask = (token) => get(guarded.api, '/api/v1/status', { headers: token ? { authorization: `Bearer ${token}` } : {} });
    const body = logs({}, [{ body: 'x' }]);
    let answered = 0;
    const guesses = Array.from({ length: 30 }, (_, i) => ask(`guess ${i}`).then((answer) => { answered++; return answer.status; }));
    const grpc = new Grpc(guarded.grpc);
    const calls = Array.from({ length: 4 }, (_, i) => grpc.export('logs', body, { authorization: `Bearer guess ${i}` }));
    await until('the guesses to be waiting', async () => {
      const metrics = await get(guarded.api, '/metrics', { headers: { authorization: 'Bearer right' } });
      return /tracecore_auth_delayed_total (2[4-9]|[3-9]\d)/.test(metrics.body.toString());
    });
    assert.ok(answered < 30, 'some are still waiting');
    // Meanwhile everybody else is answered, from the same address.
    assert.equal((await ask('right')).status, 200);
    assert.equal((await ask()).status, 401, 'no token is no guess');
    assert.equal((await post(guarded.http, 'logs', body, { authorization: 'Bearer right' })).status, 200);
    assert.equal((await grpc.export('logs', body, { authorization: 'Bearer right' })).grpc, 0, 'on the same connection too');
    assert.ok(answered < 30, 'and none of these had to wait for them');
    assert.deepEqual(new Set(await Promise.all(guesses)), new Set([401]));
    assert.deepEqual(new Set((await Promise.all(calls)).map((answer) => answer.grpc)), new Set([16]));
    await grpc.close();
    await guarded.stop();
  });
});

/** Debian's Chromium, or what CHROMIUM names; null: there is none. */
const chromium = [process.env.CHROMIUM, 'chromium', 'chromium-browser', 'google-chrome'].filter(Boolean)
  .find((name) => spawnSync(name, ['--version'], { timeout: 20000 }).status === 0) ?? null;

/** What a page does to get in: forms, fetch, sendBeacon, and the same under its own name when that name leads here. */
const page = (api, otlp) => `<!doctype html><title>other</title><body>
<iframe name="sink"></iframe>
<form id="plain" target="sink" method="post" enctype="text/plain" action="${api}/api/v1/upload?name=dmesg-a.txt"><input name="kern" value="x"></form>
<form id="multi" target="sink" method="post" enctype="multipart/form-data" action="${api}/api/v1/upload?name=dmesg-b.txt"><input name="a" value="b"></form>
<script>
const tries = [];
const attempt = (what, work) => tries.push(Promise.resolve().then(work).then((got) => what + '=' + got, (error) => what + '=' + error.name));
const body = ${JSON.stringify(kernel)};
document.getElementById('plain').submit();
document.getElementById('multi').submit();
attempt('no-cors', () => fetch('${api}/api/v1/upload?name=dmesg-c.txt', { method: 'POST', mode: 'no-cors', body }).then((r) => r.type));
attempt('untyped', () => fetch('${api}/api/v1/upload?name=dmesg-d.txt', { method: 'POST', mode: 'no-cors', body: new TextEncoder().encode(body) }).then((r) => r.type));
attempt('typed', () => fetch('${api}/api/v1/upload?name=dmesg-e.txt', { method: 'POST', headers: { 'Content-Type': '${OCTETS}' }, body }).then((r) => r.status));
attempt('beacon', () => navigator.sendBeacon('${api}/api/v1/upload?name=dmesg-f.txt', body));
attempt('read', () => fetch('${api}/api/v1/incidents').then((r) => r.text()));
attempt('otlp', () => fetch('${otlp}/v1/logs', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"resourceLogs":[]}' }).then((r) => r.status));
Promise.all(tries).then((all) => fetch('/done', { method: 'POST', body: all.join('\\n') }));
</script>`;

describe('a real browser', { skip: chromium === null && 'no chromium here: install Debian\'s chromium, or name one in CHROMIUM' }, () => {
  /** Opens the address in a Chromium of its own until the page has posted to /done. */
  async function visit(address, site, rules) {
    const args = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', `--user-data-dir=${space.file('profile')}`,
      `--host-resolver-rules=${rules}`, address];
    // A group of its own: its helpers outlive it and go on writing to the profile.
    const child = spawn(chromium, args, { stdio: 'ignore', detached: true });
    const gone = new Promise((resolve) => { child.on('exit', resolve); });
    try {
      return await until('the page to be done', () => site.done, 60000);
    } finally {
      process.kill(-child.pid, 'SIGKILL');
      await gone;
    }
  }
  /** A site that serves the page and hears what came of it. */
  async function serve(html) {
    const site = { done: null };
    site.server = http.createServer((request, answer) => {
      const parts = [];
      request.on('data', (part) => parts.push(part));
      request.on('end', () => {
        if (request.url === '/done') site.done = Buffer.concat(parts).toString();
        answer.writeHead(200, { 'content-type': 'text/html' }).end(request.url === '/' ? html : '');
      });
    });
    await new Promise((resolve) => { site.server.listen(0, '127.0.0.1', resolve); });
    site.port = site.server.address().port;
    return site;
  }
  test('a page of another origin gets nothing in and nothing out', async () => {
    const before = await daemon.status();
    const site = await serve(page(`http://127.0.0.1:${port(daemon.api)}`, `http://127.0.0.1:${port(daemon.http)}`));
    const said = await visit(`http://evil.example:${site.port}/`, site, 'MAP evil.example 127.0.0.1');
    site.server.close();
    assert.match(said, /typed=TypeError/);
    assert.match(said, /read=TypeError/);
    assert.match(said, /otlp=TypeError/);
    const now = await daemon.status();
    assert.equal(now.received.uploads, before.received.uploads, said);
    assert.equal(now.evidence.batches, before.evidence.batches, said);
  });
  test('nor does one whose name was pointed here', async () => {
    const before = await daemon.status();
    // The page comes from one name, and asks for others that lead to the daemon: what rebinding makes of one name.
    const site = await serve(page(`http://rebound.example:${port(daemon.api)}`, `http://rebound.example:${port(daemon.http)}`));
    const said = await visit(`http://rebound.example:${site.port}/`, site, 'MAP rebound.example 127.0.0.1');
    site.server.close();
    assert.match(said, /read=TypeError/);
    const now = await daemon.status();
    assert.equal(now.received.uploads, before.received.uploads, said);
    assert.equal(now.evidence.batches, before.evidence.batches, said);
  });
});
