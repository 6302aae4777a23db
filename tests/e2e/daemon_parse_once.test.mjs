// SPDX-License-Identifier: Apache-2.0
// A body of OTLP is parsed once, for detection and for slices, while there is memory for it; and
// when there is none, nothing but time is lost.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Daemon, workspace } from './support/daemon.mjs';
import { logs, logsJson, metrics, nowNs, xid48 } from './support/otlp.mjs';
import { post, until } from './support/wire.mjs';

const space = workspace('parse_once');
const daemons = [];
after(async () => { for (const daemon of daemons) await daemon.destroy(); space.remove(); });
async function start(name, config) {
  const daemon = new Daemon(space.file(name), config);
  daemons.push(daemon);
  await daemon.start();
  return daemon;
}
const again = async (daemon, by) => (await daemon.metrics()).sum('tracecore_bodies_parsed_again_total', { by });
const points = (n) => metrics({ 'host.name': 'gpu-1' }, [{ name: 'queue', points: Array.from({ length: n }, (_, i) => ({ time: nowNs() + BigInt(i), value: i })) }]);
const sliced = async (daemon) => (await daemon.metrics()).sum('tracecore_warehouse_samples_total');

for (const ack of ['stored', 'memory']) {
  test(`requests that wait keep what was parsed (ack: ${ack})`, async () => {
    const daemon = await start(ack, { ingest: { ack }, warehouse: { slice_window: '1s' } });
    // Until the slicer has seen that there is no evidence, it reads batches from there.
    let sent = 0;
    await until('the slicer follows', async () => {
      assert.equal((await post(daemon.http, 'metrics', points(1))).status, 200);
      sent++;
      const before = await again(daemon, 'slices');
      await until('the point is sliced', async () => await sliced(daemon) === sent);
      return await again(daemon, 'slices') === before;
    });
    const before = await again(daemon, 'slices');
    const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => {
      if (i % 3 === 0) return post(daemon.http, 'metrics', points(10));
      const record = { body: xid48(), severity: 17 };
      return i % 3 === 1 ? post(daemon.http, 'logs', logs({ 'host.name': `gpu-${i}` }, [record]))
        : post(daemon.http, 'logs', logsJson({ 'host.name': `gpu-${i}` }, [record]), { 'content-type': 'application/json' });
    }));
    for (const answer of answers) assert.equal(answer.status, 200);
    await daemon.untilVerdicts('a verdict for each node', 40);
    await until('all points are sliced', async () => await sliced(daemon) === sent + 200);
    assert.equal(await again(daemon, 'detection'), 0);
    assert.equal(await again(daemon, 'slices'), before);
  });
}

test('what finds no memory is parsed again', async () => {
  const daemon = await start('short', { limits: { memory: '1MiB', body: '300KiB', body_decompressed: '300KiB' }, warehouse: { slice_window: '1s' } });
  const body = points(10000); // 200 KB; what is parsed of it is more than any buffer may be
  let taken = 0;
  for (let i = 0; i < 12; i++) {
    const [answer] = await Promise.all([post(daemon.http, 'metrics', body), post(daemon.http, 'logs', logs({ 'host.name': `gpu-${i}` }, [{ body: xid48(), severity: 17 }]))]);
    assert.equal(answer.status, 200, 'one such body at a time always finds room');
    taken += 10000;
  }
  await daemon.untilVerdicts('a verdict for each node', 12);
  await until('all points are sliced', async () => await sliced(daemon) === taken, 30000);
  const now = await daemon.metrics();
  assert.ok(now.sum('tracecore_bodies_parsed_again_total') > 0);
  assert.equal(now.sum('tracecore_request_memory_refused_total'), 0);
  assert.ok(now.sum('tracecore_request_memory_held_bytes') <= 1 << 20);
});

for (const ack of ['stored', 'memory']) {
  test(`what finds no room with detection waits for it, in order (ack: ${ack})`, async () => {
    // One body fills most of the room; the next ones wait until the older half is cut short.
    const daemon = await start(`room_${ack}`, { ingest: { ack }, warehouse: { enabled: false }, detection: { hold: '1m', hold_bytes: '1MiB' } });
    const body = (node) => logs({ 'host.name': node }, Array.from({ length: 1000 }, () => ({ body: xid48(), severity: 17, time: nowNs() })));
    // After half a second they wait no longer, which a machine that stands still may bring about: one round of five must do.
    let parsedAgain = 1;
    for (let round = 0; round < 5 && parsedAgain > 0; round++) {
      const before = await again(daemon, 'detection');
      const answers = await Promise.all(Array.from({ length: 6 }, (_, i) => post(daemon.http, 'logs', body(`gpu-${i}`))));
      for (const answer of answers) assert.equal(answer.status, 200);
      await until('detection to be level', async () => (await daemon.status()).batches_behind === 0);
      parsedAgain = await again(daemon, 'detection') - before;
    }
    assert.equal(parsedAgain, 0);
    assert.ok((await daemon.metrics()).sum('tracecore_events_total', { outcome: 'cut_short' }) > 0);
    await daemon.stop(); // what is held is told
    assert.equal(new Set(daemon.verdicts().map((v) => v['k8s.node.name'])).size, 6);
  });
}
