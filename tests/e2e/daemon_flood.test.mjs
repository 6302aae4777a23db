// SPDX-License-Identifier: Apache-2.0
// One sender makes up thousands of nodes, each with a fault: what happens elsewhere is raised all the
// same, before and after a restart, nothing is opened twice, and the log says that memory is full.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Daemon, run, workspace } from './support/daemon.mjs';
import { logs, xid48 } from './support/otlp.mjs';
import { get, post, until } from './support/wire.mjs';

const NODES = 24000;
const BATCH = 1000;
const WAIT_MS = 240000;
const space = workspace('flood');
const daemon = new Daemon(space.file('flood'));
after(async () => { await daemon.destroy(); space.remove(); });

const fault = (node) => logs({ 'host.name': node }, [{ body: xid48(), severity: 17 }]);
const send = async (body) => assert.equal((await post(daemon.http, 'logs', body, {}, { timeoutMs: WAIT_MS })).status, 200);
const opened = () => daemon.verdicts().filter((v) => v.status === 'open' && v['pattern.name'] === 'hbm_ecc');
const isOf = (node) => (v) => v['k8s.node.name'] === node;

test('invented nodes hide no fault, and a restart opens nothing again', { timeout: 600000 }, async () => {
  await daemon.start();
  for (let from = 0; from < NODES; from += BATCH) {
    await send(Buffer.concat(Array.from({ length: BATCH }, (_, i) => fault(`invented-${from + i}`))));
  }
  await send(fault('real-1'));
  await until('the log says so', () => /memory of a detector is full.*hbm_ecc/.test(daemon.log()), WAIT_MS);
  const metrics = await daemon.metrics();
  assert.ok(metrics.sum('tracecore_detector_dropped_total') > 0);
  assert.equal(metrics.sum('tracecore_detector_saturations_total', { pattern: 'hbm_ecc' }), 1);
  const { saturated } = JSON.parse((await get(daemon.api, '/api/v1/status')).body);
  assert.equal(saturated.find((one) => one.pattern === 'hbm_ecc')?.source, '127.0.0.1');
  assert.match(run(['status', '--api', `http://${daemon.api}`]).text, /memory +of hbm_ecc is full since .*, most of it from 127\.0\.0\.1: \d+ records dropped/);
  assert.equal(daemon.log().match(/memory of a detector is full.*hbm_ecc.*source=127\.0\.0\.1/g)?.length, 1);
  await daemon.stop();
  assert.equal(opened().filter(isOf('real-1')).length, 1, 'the fault amid the flood');
  assert.equal(opened().length, NODES + 1);

  await daemon.start();
  await send(fault('real-2'));
  await daemon.stop();
  assert.equal(opened().filter(isOf('real-2')).length, 1, 'the fault after the restart');
  assert.equal(opened().length, NODES + 2, 'opened once each');
});
