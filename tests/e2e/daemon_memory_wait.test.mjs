// SPDX-License-Identifier: Apache-2.0
// When limits.memory is spent, senders wait and are not refused: 256 connections over HTTP/1 and HTTP/2,
// compressed bodies, those who stop in the middle of a body, and the end of the daemon meanwhile.
import assert from 'node:assert/strict';
import http from 'node:http';
import test from 'node:test';
import zlib from 'node:zlib';
import { Daemon, workspace } from './support/daemon.mjs';
import { logs, nowNs } from './support/otlp.mjs';
import { call, get, Grpc, post, PROTOBUF, Raw, sleep, until } from './support/wire.mjs';

const MEMORY = 8 << 20;
const CONNECTIONS = 256;
const space = workspace('memory_wait');
test.after(() => space.remove());

/** A request of some 100 KB that compresses little; each is another one. */
function body(n, records = 400) {
  const time = nowNs();
  return logs({ 'host.name': `gpu-node-${n}`, 'service.name': 'waiting' }, Array.from({ length: records }, (_, i) => ({
    time: time + BigInt(i), body: `line ${i} of ${n}: ${Buffer.from(`${n * 7919 + i * 104729}`.repeat(12)).toString('base64')}`,
    attributes: { 'log.file.path': `/var/log/pods/${n}/${i}.log` },
  })));
}

function daemonWith(name, limits) {
  return new Daemon(space.file(name), { limits: { memory: '8MiB', body: '1MiB', body_decompressed: '2MiB', ...limits }, log: { level: 'warn' }, warehouse: { enabled: false } });
}

/** Asks for the metrics until told to stop: the most that requests had. */
function watchMemory(daemon) {
  let most = 0;
  let stopped = false;
  const done = (async () => {
    while (!stopped) {
      const metrics = await daemon.metrics();
      most = Math.max(most, metrics.sum('tracecore_request_memory_held_bytes'));
      await sleep(20);
    }
  })();
  return async () => { stopped = true; await done; return most; };
}

async function waitsOf(daemon) {
  const metrics = await daemon.metrics();
  return { waits: metrics.sum('tracecore_request_memory_waits_total'), refused: metrics.sum('tracecore_request_memory_wait_ends_total', { outcome: 'refused' }),
    granted: metrics.sum('tracecore_request_memory_wait_ends_total', { outcome: 'granted' }), waiting: metrics.sum('tracecore_request_memory_waiting'),
    reclaimed: metrics.sum('tracecore_request_memory_reclaimed_total'), seconds: metrics.sum('tracecore_request_memory_wait_seconds_count') };
}

test('256 connections wait for memory, and none is refused', async (t) => {
  const daemon = daemonWith('many', { memory_wait: '1m' });
  await daemon.start();
  t.after(() => daemon.destroy());
  const bodies = Array.from({ length: 16 }, (_, i) => body(i));
  const stop = watchMemory(daemon);

  await t.test('over HTTP/1, with and without a length', async () => {
    const agents = Array.from({ length: CONNECTIONS }, () => new http.Agent({ keepAlive: true, maxSockets: 1 }));
    const statuses = await Promise.all(agents.flatMap((agent, i) => [0, 1].map(async (round) => {
      const bytes = bodies[(i + round) % bodies.length];
      const headers = i % 4 === 0 ? { 'content-type': PROTOBUF, 'transfer-encoding': 'chunked' } : { 'content-type': PROTOBUF, 'content-length': bytes.length };
      return (await call(daemon.http, 'POST', '/v1/logs', { body: bytes, headers, agent, timeoutMs: 120000 })).status;
    })));
    agents.forEach((agent) => agent.destroy());
    assert.deepEqual([...new Set(statuses)], [200]);
  });

  await t.test('over HTTP/2, several calls on each', async () => {
    const clients = Array.from({ length: CONNECTIONS }, () => new Grpc(daemon.grpc));
    const answers = await Promise.all(clients.flatMap((client, i) => [0, 1].map((n) => client.export('logs', bodies[(i + n) % bodies.length]))));
    await Promise.all(clients.map((client) => client.close()));
    assert.deepEqual([...new Set(answers.map((answer) => answer.grpc))], [0]);
  });

  await t.test('compressed: what is inside waits too', async () => {
    const small = Array.from({ length: 8 }, (_, i) => zlib.gzipSync(body(100 + i, 1200)));
    const answers = await Promise.all(Array.from({ length: 128 }, (_, i) => post(daemon.http, 'logs', small[i % small.length], { 'content-encoding': 'gzip' }, { timeoutMs: 120000 })));
    assert.deepEqual([...new Set(answers.map((answer) => answer.status))], [200]);
  });

  const most = await stop();
  const counts = await waitsOf(daemon);
  assert.ok(most > 0 && most <= MEMORY, `${most} bytes of requests at once`);
  assert.ok(counts.waits > 0, 'nobody had to wait: the test asks too little');
  assert.equal(counts.refused, 0);
  assert.equal(counts.granted, counts.seconds);
  assert.equal(counts.waiting, 0);
  await daemon.stop();
});

test('those who stop in the middle of a body do not keep others out', async (t) => {
  const daemon = daemonWith('hostile', { memory_wait: '2s' });
  await daemon.start();
  t.after(() => daemon.destroy());
  const bytes = body(1);
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const known = () => call(daemon.http, 'POST', '/v1/logs', { body: bytes, headers: { 'content-type': PROTOBUF, 'content-length': bytes.length }, agent });
  assert.equal((await known()).status, 200);

  const stallers = [];
  for (let i = 0; i < CONNECTIONS; i++) {
    const raw = new Raw(daemon.http);
    await raw.open;
    raw.write(Buffer.concat([Buffer.from(`POST /v1/logs HTTP/1.1\r\nHost: x\r\nContent-Type: ${PROTOBUF}\r\nContent-Length: ${bytes.length}\r\n\r\n`), bytes.subarray(0, bytes.length / 2)]));
    stallers.push(raw);
  }
  await until('somebody to wait', async () => (await waitsOf(daemon)).waiting > 0);
  // A connection that has brought requests before, health and the API are served meanwhile.
  for (let i = 0; i < 5; i++) assert.equal((await known()).status, 200);
  assert.equal((await get(daemon.api, '/healthz')).status, 200);
  // A new one is served, or told to come again after the wait.
  const fresh = await post(daemon.http, 'logs', bytes);
  assert.ok(fresh.status === 200 || (fresh.status === 503 && Number(fresh.headers['retry-after']) > 0), `status ${fresh.status}`);
  await until('those who stalled to be gone', async () => {
    const { waiting, reclaimed } = await waitsOf(daemon);
    return waiting === 0 && reclaimed > 0 && (await post(daemon.http, 'logs', bytes)).status === 200;
  });
  const answered = stallers.filter((raw) => /^HTTP\/1.1 (408|503) /.test(raw.received.toString('latin1')));
  assert.ok(answered.length > 0);
  for (const raw of stallers) raw.socket.destroy();
  agent.destroy();
  await daemon.stop();
});

test('a wait ends with a reload to none, and with the daemon', async (t) => {
  const daemon = daemonWith('ends', { memory_wait: '1m' });
  await daemon.start();
  t.after(() => daemon.destroy());
  const bytes = body(2, 3500);
  const head = Buffer.from(`POST /v1/logs HTTP/1.1\r\nHost: x\r\nContent-Type: ${PROTOBUF}\r\nContent-Length: ${bytes.length}\r\n\r\n`);
  const half = bytes.length / 2;
  const waiting = Array.from({ length: 60 }, () => new Raw(daemon.http));
  for (const raw of waiting) { await raw.open; raw.write(Buffer.concat([head, bytes.subarray(0, half)])); }
  await until('somebody to wait', async () => (await waitsOf(daemon)).waiting > 0);
  // Bodies that move keep their memory: a few bytes from time to time.
  let at = half;
  const moving = setInterval(() => { for (const raw of waiting) raw.write(bytes.subarray(at, at + 4096)); at += 4096; }, 200);
  daemon.configure({ ...daemon.config, limits: { ...daemon.config.limits, memory_wait: '0s' } });
  daemon.signal('SIGHUP');
  const refused = await until('a request to be refused at once', async () => {
    // Others take what those left who were refused, or were taken for stalled on a busy machine.
    const more = Array.from({ length: 20 }, () => new Raw(daemon.http));
    for (const raw of more) { await raw.open; raw.write(Buffer.concat([head, bytes.subarray(0, half)])); }
    waiting.push(...more);
    const answer = await post(daemon.http, 'logs', bytes);
    return answer.status === 503 ? answer : null;
  }, 20000).finally(() => clearInterval(moving));
  assert.ok(Number(refused.headers['retry-after']) > 0);
  await daemon.stop();
  for (const raw of waiting) raw.socket.destroy();
});
