// SPDX-License-Identifier: Apache-2.0
// Health and status answer whatever is done to the listeners, and connections that say nothing,
// wait or dribble make room for those who speak. docs/internals/connections.md is the design.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Daemon, workspace } from './support/daemon.mjs';
import { grpcHead, h2frame, h2open, headers, TYPE } from './support/h2.mjs';
import { logs } from './support/otlp.mjs';
import { Grpc, PROTOBUF, Raw, frame, get, post, sleep, until } from './support/wire.mjs';

const space = workspace('health');
const daemons = [];
const raws = [];
after(async () => {
  raws.forEach((raw) => raw.destroy());
  await Promise.all(daemons.map((one) => one.destroy()));
  space.remove();
});
// Time limits are long: nothing here is let go because its time is over.
const patient = { header_timeout: '10m', body_timeout: '10m', idle_timeout: '10m', write_timeout: '10m' };
async function start(name, limits) {
  daemons.push(new Daemon(space.file(name), { limits: { ...patient, ...limits } }));
  return daemons.at(-1).start();
}
async function open(count, address, text) {
  const all = Array.from({ length: count }, () => new Raw(address));
  raws.push(...all);
  await Promise.all(all.map((raw) => raw.open));
  await Promise.all(all.map((raw) => raw.write(text)));
  return all;
}
const small = logs({ 'host.name': 'healthy' }, [{ body: 'x' }]);
async function healthy(daemon) {
  assert.equal((await get(daemon.api, '/healthz')).status, 200);
  assert.equal((await get(daemon.api, '/readyz')).status, 200);
  const metrics = await get(daemon.api, '/metrics');
  assert.equal(metrics.status, 200);
  assert.ok(metrics.body.length > 4096, 'the whole of it');
  assert.equal((await get(daemon.api, '/api/v1/status')).status, 200);
}
/** After a second, what has begun is old enough to go first. */
const aged = () => sleep(1100);

describe('slow clients make room', () => {
  for (const [what, text] of [['half a head', 'GET /healthz HTTP/1.1\r\nhost: local'], ['nothing', '']]) {
    test(`the API, full of connections that sent ${what}`, async () => {
      const daemon = await start(`api_${what.replace(/ /g, '_')}`, { connections: 64 });
      await open(200, daemon.api, text);
      for (let i = 0; i < 5; i++) await healthy(daemon);
      await aged();
      await healthy(daemon);
      await daemon.kill();
    });
  }
  test('OTLP, full of half heads and half bodies: exporters are served', async () => {
    const daemon = await start('otlp', { connections: 32 });
    await open(16, daemon.http, 'POST /v1/logs HTTP/1.1\r\nhost: x\r\n');
    await open(16, daemon.http, `POST /v1/logs HTTP/1.1\r\nhost: x\r\ncontent-type: ${PROTOBUF}\r\ncontent-length: 100000\r\n\r\nabc`);
    await aged();
    for (let i = 0; i < 3; i++) assert.equal((await post(daemon.http, 'logs', small)).status, 200);
    await healthy(daemon);
    await daemon.kill();
  });
  test('gRPC, full of half calls', async () => {
    const daemon = await start('grpc', { connections: 32 });
    for (let i = 0; i < 32; i++) {
      const raw = await h2open(daemon.grpc).catch(() => null);
      if (raw === null) break;
      raws.push(raw);
      await raw.write(Buffer.concat([headers(1, grpcHead()), h2frame(TYPE.DATA, 0, 1, frame(Buffer.from('abc'), { claim: 100000 }))]));
    }
    await aged();
    for (let i = 0; i < 3; i++) {
      const grpc = new Grpc(daemon.grpc);
      assert.equal((await grpc.export('logs', small)).grpc, 0);
      await grpc.close();
    }
    await healthy(daemon);
    await daemon.kill();
  });
  test('who waits for an answer, or sends at a reasonable rate, stays', async () => {
    const daemon = await start('stays', { connections: 16 });
    const body = Buffer.alloc(1 << 20, logs({}, [{ body: 'y'.repeat(1000) }]));
    const [steady] = await open(1, daemon.http,
      `POST /v1/logs HTTP/1.1\r\nhost: x\r\ncontent-type: ${PROTOBUF}\r\ncontent-length: ${body.length}\r\n\r\n`);
    let at = 0;
    while (at < body.length / 2) { await steady.write(body.subarray(at, at + 65536)); at += 65536; }
    await aged();
    const idle = await open(30, daemon.http, '');
    assert.equal((await post(daemon.http, 'logs', small)).status, 200);
    assert.ok(idle.some((raw) => raw.ended));
    await steady.write(body.subarray(at));
    assert.ok([200, 400].includes(await steady.answer()), 'it was read to its end');
    await daemon.kill();
  });
});

describe('memory of its own', () => {
  test('with that of OTLP used up, the API answers in full', async () => {
    const daemon = await start('memory', { memory: '1MiB', body: '512KiB', body_decompressed: '1MiB' });
    await open(400, daemon.http, `POST /v1/logs HTTP/1.1\r\nhost: x\r\ncontent-type: ${PROTOBUF}\r\ncontent-length: 4000\r\n\r\nabc`);
    await until('the memory to be used up', async () => (await post(daemon.http, 'logs', small)).status === 503);
    for (let i = 0; i < 5; i++) await healthy(daemon);
    // A head that is longer than what every connection has.
    const long = { headers: { authorization: `Bearer ${'x'.repeat(8000)}` } };
    assert.equal((await get(daemon.api, '/healthz', long)).status, 200);
    assert.equal((await get(daemon.api, '/metrics', long)).status, 200);
    await daemon.kill();
  });
});
