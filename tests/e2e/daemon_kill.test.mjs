// SPDX-License-Identifier: Apache-2.0
// kill -9 at random moments under load, a few rounds; `./dev bench --chaos` does 200. No
// acknowledged record is lost or changed, no incident is lost or opened twice.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { chaos } from './support/chaos.mjs';
import { Daemon, workspace } from './support/daemon.mjs';
import { logs, xid48 } from './support/otlp.mjs';
import { post, until } from './support/wire.mjs';

const space = workspace('kill');
const daemons = [];
after(async () => { for (const daemon of daemons) await daemon.destroy(); space.remove(); });

describe('killed under load', () => {
  for (const [name, config] of [
    ['as it comes', {}],
    ['with small segments, so that kills hit their sealing', { evidence: { segment_bytes: '64KiB' } }],
  ]) {
    test(name, async (t) => {
      const seed = Number(process.env.TC_SEED ?? Date.now() % 1000000);
      const { problems, ...figures } = await chaos({ dir: space.file(`chaos_${config.evidence ? 'small' : 'plain'}`), rounds: 8, seed, config, lifeMs: 600 });
      t.diagnostic(JSON.stringify({ seed, ...figures }));
      assert.deepEqual(problems.slice(0, 5), [], `seed ${seed}`);
      assert.ok(figures.acked >= 8, `${figures.acked} requests were acknowledged`);
      assert.ok(figures.incidents > 0, 'there were incidents');
    });
  }
});

describe('killed while segments are compressed anew', () => {
  test('nothing is lost, nothing is left over, and all of it is sealed in the end', async () => {
    const daemon = new Daemon(space.file('anew'), { evidence: { segment_bytes: '64KiB' } });
    daemons.push(daemon);
    const folder = path.join(daemon.dataDir, 'evidence/open');
    const files = (end) => fs.readdirSync(folder).filter((file) => file.endsWith(end)).length;
    const records = Array.from({ length: 8 }, () => ({ body: crypto.randomBytes(8000).toString('hex'), severity: 9 }));
    await daemon.start();
    let sent = 0;
    for (let life = 0; life < 6; life++) {
      for (let i = 0; i < 10; i++, sent++) {
        assert.equal((await post(daemon.http, 'logs', logs({ 'host.name': `gpu-${sent}` }, records))).status, 200);
      }
      await daemon.kill();
      await daemon.start();
    }
    await until('all full segments to be objects', async () => (await daemon.metrics()).sum('tracecore_evidence_waiting_bytes') === 0, 60000);
    assert.equal(daemon.batches().length, sent);
    assert.equal(files('.new'), 0);
    assert.ok(files('.seg') <= 1);
    daemon.assertWhole();
    const index = fs.readFileSync(path.join(daemon.dataDir, 'evidence/objects.idx'), 'latin1').trimEnd().split('\n');
    assert.ok(index.length >= sent / 3, `${index.length} objects`);
    assert.equal(daemon.verify().status, 0);
    await daemon.stop();
  });
});

describe('what a crash or a disk left behind', () => {
  const fault = (node) => logs({ 'host.name': node }, [{ body: xid48(), severity: 17 }]);
  const openSegment = (daemon) => {
    const folder = path.join(daemon.dataDir, 'evidence/open');
    const [name] = fs.readdirSync(folder).filter((file) => file.endsWith('.seg')).sort().reverse();
    return path.join(folder, name);
  };
  async function filled(name, count) {
    const daemon = new Daemon(space.file(name));
    daemons.push(daemon);
    await daemon.start();
    for (let i = 0; i < count; i++) assert.equal((await post(daemon.http, 'logs', fault(`gpu-${name}-${i}`))).status, 200);
    await daemon.untilVerdicts('the verdicts', count);
    await daemon.kill();
    return daemon;
  }
  test('a torn tail is cut, counted and said, and what came before it is whole', async () => {
    const daemon = await filled('torn', 5);
    fs.appendFileSync(openSegment(daemon), Buffer.from('half of a record that was never acknow'));
    await daemon.start();
    const metrics = await daemon.metrics();
    assert.equal(metrics.sum('tracecore_evidence_torn_tails_total'), 1);
    assert.ok(metrics.sum('tracecore_evidence_torn_bytes_total') > 0);
    assert.match(daemon.log(), /torn/);
    assert.equal(daemon.batches().length, 5);
    daemon.assertWhole();
    assert.equal((await post(daemon.http, 'logs', fault('gpu-torn-next'))).status, 200);
    assert.equal(daemon.batches().length, 6);
    await daemon.stop();
  });
  test('a flipped bit is found, set aside and counted; the daemon starts and the rest is whole', async () => {
    const daemon = await filled('flipped', 5);
    const file = openSegment(daemon);
    const bytes = fs.readFileSync(file);
    bytes[Math.floor(bytes.length / 2)] ^= 0x10;
    fs.writeFileSync(file, bytes);
    assert.notEqual(daemon.verify().status, 0, 'verify finds it');
    await daemon.start();
    const metrics = await daemon.metrics();
    assert.ok(metrics.sum('tracecore_evidence_damaged_batches_total') + metrics.sum('tracecore_evidence_torn_tails_total') >= 1);
    assert.ok(daemon.batches().length < 5 && daemon.batches().length >= 2, `${daemon.batches().length} batches are left`);
    assert.equal((await post(daemon.http, 'logs', fault('gpu-flipped-next'))).status, 200);
    await daemon.untilVerdicts('the next verdict', (all) => all.some((v) => v['k8s.node.name'] === 'gpu-flipped-next'));
    await daemon.stop();
  });
  test('after a torn line of the verdict file the next is a line of its own', async () => {
    const daemon = await filled('line', 3);
    const whole = fs.readFileSync(daemon.verdictFile);
    fs.writeFileSync(daemon.verdictFile, whole.subarray(0, whole.length - 40));
    await daemon.start();
    assert.equal((await post(daemon.http, 'logs', fault('gpu-line-next'))).status, 200);
    const last = await until('the next verdict', () => fs.readFileSync(daemon.verdictFile, 'utf8').split('\n')
      .find((line) => line.includes('"k8s.node.name":"gpu-line-next"')));
    assert.equal(JSON.parse(last)['k8s.node.name'], 'gpu-line-next');
    await daemon.stop();
  });
});
