// SPDX-License-Identifier: Apache-2.0
// Slow and malicious clients: each costs bounded memory and time, and a healthy client is answered
// meanwhile. Time limits are set short here; nothing is asserted about how fast anything is.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, growth, workspace } from './support/daemon.mjs';
import { FLAG, TYPE, frames, givenUp, grpcHead, h2frame, h2open, headers, hpackField, hpackIndexed, reset, u32 } from './support/h2.mjs';
import { fields, logs } from './support/otlp.mjs';
import { Grpc, PROTOBUF, Raw, call, frame, get, post, sleep, until } from './support/wire.mjs';

const MEBI = 1024; // KiB
const space = workspace('hostile');
let daemon;
before(async () => {
  daemon = await new Daemon(space.file('daemon'), {
    limits: { connections: 4096, header_timeout: '500ms', body_timeout: '700ms', idle_timeout: '60s', write_timeout: '500ms' },
  }).start();
});
after(async () => { await daemon?.destroy(); space.remove(); });

const small = logs({ 'host.name': 'healthy' }, [{ body: 'x' }]);
/** A healthy client over both protocols. */
async function served() {
  assert.equal((await post(daemon.http, 'logs', small)).status, 200);
  const grpc = new Grpc(daemon.grpc);
  const answer = await grpc.export('logs', small).finally(() => grpc.close());
  assert.equal(answer.grpc, 0, answer.text);
  assert.equal((await get(daemon.api, '/healthz')).status, 200);
}
async function many(count, address) {
  const all = Array.from({ length: count }, () => new Raw(address));
  await Promise.all(all.map((raw) => raw.open));
  return all;
}
const destroy = (all) => all.forEach((raw) => raw.destroy());
/** No connection of a test is left behind. */
async function closed() {
  let open = 0;
  await until('all connections to be gone', async () => {
    open = (await daemon.metrics()).sum('tracecore_connections_open');
    return open <= 1;
  }).catch((error) => assert.fail(`${error.message}: ${open} are open`));
}

describe('slow clients', () => {
  test('headers a byte at a time', async () => {
    const all = await many(100, daemon.http);
    const head = `POST /v1/logs HTTP/1.1\r\nhost: x\r\ncontent-type: ${PROTOBUF}\r\nx-slow: ${'y'.repeat(4000)}`;
    let at = 0;
    const drip = setInterval(() => { all.forEach((raw) => raw.write(head[at])); at++; }, 25);
    try {
      await served();
      await until('all of them to be ended', () => all.every((raw) => raw.ended), 15000);
      await served();
      for (const raw of all) assert.ok(Number.isNaN(raw.status) || raw.status === 408, raw.text);
    } finally {
      clearInterval(drip);
      destroy(all);
    }
  });
  test('a body a byte at a time', async () => {
    const all = await many(100, daemon.http);
    const grown = await growth(daemon, async () => {
      const drip = setInterval(() => all.forEach((raw) => raw.write('x')), 25);
      try {
        await Promise.all(all.map((raw) => raw.write(`POST /v1/logs HTTP/1.1\r\nhost: x\r\ncontent-type: ${PROTOBUF}\r\ncontent-length: 8000000\r\n\r\n`)));
        await served();
        await until('all of them to be ended', () => all.every((raw) => raw.ended), 15000);
        await served();
        for (const raw of all) assert.ok(Number.isNaN(raw.status) || [408, 503].includes(raw.status), raw.text);
      } finally {
        clearInterval(drip);
        destroy(all);
      }
    });
    assert.ok(grown < 64 * MEBI, `memory rose by ${grown} KiB: a claimed length is no length`);
  });
  test('a gRPC call whose message never ends', async () => {
    const all = await Promise.all(Array.from({ length: 50 }, () => h2open(daemon.grpc)));
    const grown = await growth(daemon, async () => {
      for (const raw of all) {
        await raw.write(Buffer.concat([headers(1, grpcHead()), h2frame(TYPE.DATA, 0, 1, frame(Buffer.alloc(10), { claim: 8000000 }))]));
      }
      await served();
      await until('all calls to be ended', () => all.every((raw) => raw.ended || frames(raw).some((f) =>
        f.type === TYPE.RST_STREAM || (f.stream === 1 && f.flags & FLAG.END_STREAM && f.type === TYPE.HEADERS) || f.type === TYPE.GOAWAY)), 15000);
      await served();
    });
    destroy(all);
    assert.ok(grown < 64 * MEBI, `memory rose by ${grown} KiB`);
  });
  test('an answer that nobody reads', async () => {
    const all = await many(20, daemon.api);
    const grown = await growth(daemon, async () => {
      for (const raw of all) {
        raw.socket.pause();
        await raw.write('GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(2000));
      }
      await served();
      await sleep(1200);
      await served();
    });
    destroy(all);
    assert.ok(grown < 96 * MEBI, `memory rose by ${grown} KiB`);
  });
  test('2,000 connections that say nothing', async () => {
    await closed();
    const all = [];
    const grown = await growth(daemon, async () => {
      for (let i = 0; i < 20; i++) all.push(...await many(50, daemon.http), ...await many(50, daemon.grpc));
      await served();
    });
    assert.ok((await daemon.metrics()).sum('tracecore_connections_open') >= 2000);
    destroy(all);
    assert.ok(grown < 48 * MEBI, `memory rose by ${grown} KiB, ${Math.round(grown / 2)} B a connection`);
    await closed();
    await served();
  });
});

describe('large files', () => {
  // A kernel log of 48 MiB in which one line matters.
  const line = (i) => `2026-03-04T05:06:${String(i % 60).padStart(2, '0')}.000000+00:00 gpu-large kernel: usb 1-${i}: new device found, number ${i}\n`;
  const block = Buffer.from(Array.from({ length: 10000 }, (_, i) => line(i)).join(''));
  const large = Buffer.concat(Array.from({ length: Math.ceil((48 << 20) / block.length) }, () => block));
  test('one is uploaded while others are served; it does not stay in memory', async () => {
    const grown = await growth(daemon, async () => {
      const uploading = call(daemon.api, 'POST', '/api/v1/upload?name=kern-gpu-large.log', { body: large, headers: { 'content-type': 'application/octet-stream' }, timeoutMs: 60000 });
      for (let i = 0; i < 5; i++) await served();
      const answer = await uploading;
      assert.equal(answer.status, 200, answer.body.toString());
      await served();
    });
    // The file itself is mapped while it is read, which counts as resident.
    assert.ok(grown < 128 * MEBI, `memory rose by ${grown} KiB`);
  });
  test('whoever looks for metrics in it later reads its beginning only', async () => {
    const slicing = await new Daemon(space.file('slicing'), { warehouse: { slice_window: '1s' } }).start();
    try {
      const answer = await call(slicing.api, 'POST', '/api/v1/upload?name=kern-gpu-large.log', { body: large, headers: { 'content-type': 'application/octet-stream' }, timeoutMs: 60000 });
      assert.equal(answer.status, 200, answer.body.toString());
      const grown = await growth(slicing, () => sleep(2000)); // it looks every 250 ms
      assert.ok(grown < 16 * MEBI, `memory rose by ${grown} KiB`);
    } finally {
      await slicing.destroy();
    }
  });
  test('one that is given up in the middle leaves nothing behind', async () => {
    const raw = new Raw(daemon.api);
    await raw.open;
    await raw.write(`POST /api/v1/upload?name=kern-gpu-large.log HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/octet-stream\r\ncontent-length: ${large.length}\r\n\r\n`);
    await raw.write(large.subarray(0, 4 << 20));
    raw.destroy();
    await until('its file to be gone', () => fs.readdirSync(path.join(daemon.dataDir, 'spool')).length === 0);
    await served();
  });
});

describe('more connections than the limit', () => {
  let other;
  before(async () => {
    other = await new Daemon(space.file('few'), { limits: { connections: 40 } }).start();
  });
  after(() => other?.destroy());
  test('are closed and counted, and there is room again once some are gone', async () => {
    const all = await many(120, other.http);
    await until('those beyond the limit to be closed', () => all.filter((raw) => raw.ended).length >= 80);
    assert.ok(all.filter((raw) => !raw.ended).length <= 40);
    destroy(all);
    await until('room', async () => (await post(other.http, 'logs', small, {}, { timeoutMs: 2000 })).status === 200);
    const metrics = await other.metrics();
    const counted = metrics.sum('tracecore_connections_refused_total') + metrics.sum('tracecore_connections_closed_total', { reason: 'limit' });
    assert.ok(counted >= 80, `${counted} counted`);
    await other.stop();
  });
});

describe('HTTP/2 floods', () => {
  /** Writes the same bytes over and over until the daemon gives the connection up, or the bound. */
  async function flood(raw, bytesOf, bound) {
    for (let i = 0; i < bound && !raw.ended; i++) {
      if (!await Promise.race([raw.write(bytesOf(i)), sleep(2000).then(() => false)])) break;
      if (i % 64 === 0) await sleep(0);
    }
  }
  /** The flood costs little, others are served meanwhile, and the connection is given up. */
  async function survives(open, bytesOf, bound, { giveUp = true } = {}) {
    const raw = await h2open(daemon.grpc);
    const grown = await growth(daemon, async () => {
      if (open) await raw.write(open);
      const flooding = flood(raw, bytesOf, bound);
      await served();
      if (giveUp) await givenUp(raw, 20000);
      await Promise.race([flooding, sleep(5000)]);
      await served();
    });
    raw.destroy();
    assert.ok(grown < 48 * MEBI, `memory rose by ${grown} KiB`);
  }
  const head = grpcHead();

  test('rapid reset: calls taken back as soon as they are made', async () => {
    await survives(null, (i) => Buffer.concat(Array.from({ length: 100 }, (_, k) => {
      const stream = 2 * (100 * i + k) + 1;
      return Buffer.concat([headers(stream, head), reset(stream)]);
    })), 1000);
  });
  test('rapid reset of calls with a message', async () => {
    await survives(null, (i) => Buffer.concat(Array.from({ length: 50 }, (_, k) => {
      const stream = 2 * (50 * i + k) + 1;
      return Buffer.concat([headers(stream, head), h2frame(TYPE.DATA, FLAG.END_STREAM, stream, frame(small)), reset(stream)]);
    })), 1000);
  });
  test('CONTINUATION without an end', async () => {
    const part = h2frame(TYPE.CONTINUATION, 0, 1, hpackField('x-flood', 'y'.repeat(8000)));
    await survives(headers(1, head, 0), () => part, 20000);
  });
  test('empty CONTINUATION without an end', async () => {
    const part = Buffer.concat(Array.from({ length: 1000 }, () => h2frame(TYPE.CONTINUATION, 0, 1)));
    await survives(headers(1, head, 0), () => part, 2000);
  });
  test('a header list that grows in the table', async () => {
    const block = Buffer.concat([head, hpackField('x-bomb', 'y'.repeat(3000), true), ...Array.from({ length: 12000 }, () => hpackIndexed(62))]);
    const raw = await h2open(daemon.grpc);
    const grown = await growth(daemon, async () => {
      await raw.write(headers(1, block));
      await until('an answer', () => raw.ended || frames(raw).some((f) => f.type === TYPE.GOAWAY || f.type === TYPE.RST_STREAM || (f.type === TYPE.HEADERS && f.stream === 1)));
      await served();
    });
    raw.destroy();
    assert.ok(grown < 48 * MEBI, `memory rose by ${grown} KiB`);
  });
  test('PING and SETTINGS that nobody reads the answers of', async () => {
    const pings = Buffer.concat(Array.from({ length: 500 }, () => h2frame(TYPE.PING, 0, 0, Buffer.alloc(8))));
    const settings = Buffer.concat(Array.from({ length: 500 }, () => h2frame(TYPE.SETTINGS, 0, 0)));
    for (const part of [pings, settings]) {
      const raw = await h2open(daemon.grpc);
      raw.socket.pause();
      const grown = await growth(daemon, async () => {
        const flooding = flood(raw, () => part, 2000);
        await served();
        await Promise.race([flooding, sleep(3000)]);
        await served();
      });
      raw.destroy();
      assert.ok(grown < 48 * MEBI, `memory rose by ${grown} KiB`);
    }
  });
  test('empty DATA without an end', async () => {
    const part = Buffer.concat(Array.from({ length: 1000 }, () => h2frame(TYPE.DATA, 0, 1)));
    await survives(headers(1, head), () => part, 500, { giveUp: false });
  });
  test('more streams than the limit', async () => {
    const raw = await h2open(daemon.grpc);
    const grown = await growth(daemon, async () => {
      await raw.write(Buffer.concat(Array.from({ length: 5000 }, (_, i) => headers(2 * i + 1, head))));
      await until('the refusal', () => raw.ended || frames(raw).some((f) => f.type === TYPE.RST_STREAM || f.type === TYPE.GOAWAY));
      await served();
    });
    raw.destroy();
    assert.ok(grown < 48 * MEBI, `memory rose by ${grown} KiB`);
  });
  test('wrong frames', async () => {
    const rows = {
      'a frame larger than allowed': h2frame(TYPE.DATA, 0, 1, Buffer.alloc(1 << 20)),
      'a stream of even number': headers(2, head),
      'a window that overflows': Buffer.concat([h2frame(TYPE.WINDOW_UPDATE, 0, 0, u32(0x7fffffff)), h2frame(TYPE.WINDOW_UPDATE, 0, 0, u32(0x7fffffff))]),
      'a header block that is no HPACK': headers(1, Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff])),
      'CONTINUATION of nothing': h2frame(TYPE.CONTINUATION, FLAG.END_HEADERS, 1, head),
      'DATA of no stream': h2frame(TYPE.DATA, 0, 0, Buffer.alloc(10)),
    };
    for (const [name, bytes] of Object.entries(rows)) {
      const raw = await h2open(daemon.grpc);
      await raw.write(bytes);
      await givenUp(raw).catch((error) => { throw new Error(`${name}: ${error.message}`); });
      raw.destroy();
    }
    const noise = new Raw(daemon.grpc);
    await noise.open;
    await noise.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await until('what is no HTTP/2 to be given up', () => noise.ended || noise.received.length > 0);
    noise.destroy();
    await served();
  });
});

describe('gRPC lengths that lie', () => {
  let grpc;
  before(() => { grpc = new Grpc(daemon.grpc); });
  after(() => grpc?.close());
  const logsPath = '/opentelemetry.proto.collector.logs.v1.LogsService/Export';
  const rows = {
    'four gigabytes are announced': [frame(Buffer.alloc(10), { claim: 0xffffffff }), [8]],
    'more than the limit is announced': [frame(Buffer.alloc(10), { claim: 9 << 20 }), [8]],
    'more than comes is announced': [frame(small, { claim: small.length + 1 }), [3, 13]],
    'less than comes is announced': [frame(small, { claim: small.length - 1 }), [3, 12, 13]],
    'three bytes of five': [Buffer.alloc(3), [3, 13]],
    'nothing at all': [Buffer.alloc(0), [3, 12, 13]],
    'two messages': [Buffer.concat([frame(small), frame(small)]), [3, 12, 13]],
    'a compressed message without an encoding': [frame(small, { compressed: 1 }), [3, 12, 13]],
    'a flag that means nothing': [frame(small, { compressed: 7 }), [3, 12, 13]],
  };
  for (const [name, [bytes, wanted]] of Object.entries(rows)) {
    test(name, async () => {
      const grown = await growth(daemon, async () => {
        const answer = await grpc.raw(logsPath, bytes);
        assert.ok(wanted.includes(answer.grpc), `status ${answer.grpc}: ${answer.text}`);
      });
      assert.ok(grown < 16 * MEBI, `memory rose by ${grown} KiB`);
      assert.equal((await grpc.export('logs', small)).grpc, 0, 'the connection goes on');
    });
  }
});

describe('gRPC as it should be', () => {
  let grpc;
  before(() => { grpc = new Grpc(daemon.grpc); });
  after(() => grpc?.close());
  test('a message in many small frames and one of several megabytes', async () => {
    const large = logs({}, Array.from({ length: 6000 }, (_, i) => ({ body: `${i}${'x'.repeat(1000)}` })));
    const before = (await daemon.metrics()).sum('tracecore_records_received_total', { signal: 'logs' });
    assert.equal((await grpc.export('logs', large)).grpc, 0);
    const raw = await h2open(daemon.grpc);
    const message = frame(small);
    await raw.write(headers(1, grpcHead()));
    for (let i = 0; i < message.length; i++) {
      await raw.write(h2frame(TYPE.DATA, i === message.length - 1 ? FLAG.END_STREAM : 0, 1, message.subarray(i, i + 1)));
    }
    await until('the trailers', () => frames(raw).some((f) => f.type === TYPE.HEADERS && f.stream === 1 && f.flags & FLAG.END_STREAM));
    raw.destroy();
    assert.equal((await daemon.metrics()).sum('tracecore_records_received_total', { signal: 'logs' }) - before, 6001);
  });
  test('fifty calls at once on one connection', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => grpc.export('logs', small)));
    for (const answer of answers) assert.equal(answer.grpc, 0, answer.text);
  });
  test('PING is answered', async () => {
    await new Promise((resolve, reject) => { grpc.session.ping((error) => (error ? reject(error) : resolve())); });
  });
  test('the health service', async () => {
    const check = async (message) => grpc.raw('/grpc.health.v1.Health/Check', frame(message));
    const whole = await check(Buffer.alloc(0));
    assert.equal(whole.grpc, 0);
    assert.equal(fields(whole.message)[1][0], 1n, 'SERVING');
    const name = Buffer.from('opentelemetry.proto.collector.logs.v1.LogsService');
    assert.equal(fields((await check(Buffer.concat([Buffer.from([0x0a, name.length]), name]))).message)[1][0], 1n);
    assert.equal((await check(Buffer.from([0x0a, 4, 0x6e, 0x6f, 0x70, 0x65]))).grpc, 5, 'NOT_FOUND');
  });
});

test('after all of it the daemon still serves, and ends well', async () => {
  await served();
  await closed();
  assert.equal((await call(daemon.api, 'GET', '/readyz')).status, 200);
  daemon.assertWhole();
  await daemon.stop();
});
