// SPDX-License-Identifier: Apache-2.0
// A disk that is full or fails: nothing is acknowledged that is not stored, the sender is told to
// come back, and the daemon recovers by itself once there is room.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { Daemon, source, workspace } from './support/daemon.mjs';
import { logs, xid48 } from './support/otlp.mjs';
import { Grpc, post, sleep, until } from './support/wire.mjs';

const space = workspace('disk');
const daemons = [];
const mounts = [];
after(async () => {
  for (const daemon of daemons) await daemon.destroy();
  for (const dir of mounts) spawnSync('umount', [dir]);
  space.remove();
});
const make = (name, config, options) => {
  const daemon = new Daemon(space.file(name), config, options);
  daemons.push(daemon);
  return daemon;
};

const UNAVAILABLE = 14;
let next = 0;
/** A request that compression does not make smaller, with an id. */
function bulk(kibibytes = 64) {
  const id = `bulk-${String(next++).padStart(6, '0')}-end`;
  return { id, body: logs({ 'host.name': 'gpu-bulk' }, [{ body: id, attributes: { noise: randomBytes(Math.ceil(kibibytes * 1024)) } }]) };
}
const fault = (node) => logs({ 'host.name': node }, [{ body: xid48(), severity: 17 }]);

/** Sends until nothing is taken, however small: in the end what the tests send themselves. Gives the last answer. */
async function fill(daemon, acked, most = 2000) {
  let size = 64;
  for (let i = 0; i < most; i++) {
    const { id, body } = size < 0.1 ? { body: fault(`gpu-${i}`) } : bulk(size);
    const answer = await post(daemon.http, 'logs', body);
    if (answer.status !== 200 && size < 0.1) return answer;
    if (answer.status !== 200) size /= 2;
    else if (id) acked.push(id);
  }
  return assert.fail(`the disk is not full after ${most} requests`);
}
function allStored(daemon, acked) {
  const text = daemon.bodies().map(({ body }) => body.toString('latin1')).join('');
  for (const id of acked) assert.ok(text.includes(id), `${id} was acknowledged and is not in the store`);
}
/** Refused with a time to come back, over both protocols, and without a trace in the store. */
async function refusesWell(daemon) {
  const before = daemon.batches().length;
  const answer = await post(daemon.http, 'logs', fault('gpu-refused'));
  assert.equal(answer.status, 503);
  assert.ok(Number(answer.headers['retry-after']) >= 1, 'Retry-After');
  const grpc = new Grpc(daemon.grpc);
  const call = await grpc.export('logs', fault('gpu-refused'));
  assert.equal(call.grpc, UNAVAILABLE, call.text);
  const details = Buffer.from(String(call.trailers['grpc-status-details-bin'] ?? call.headers['grpc-status-details-bin'] ?? ''), 'base64');
  assert.ok(details.includes('google.rpc.RetryInfo'), 'RetryInfo says when to come back');
  await grpc.close();
  assert.equal(daemon.batches().length, before);
  assert.ok(!daemon.verdicts().some((v) => v['k8s.node.name'] === 'gpu-refused'), 'what was refused raises nothing');
}

describe('a full disk', () => {
  test('answers 503, acknowledges nothing, and recovers by itself', async (t) => {
    const daemon = make('full', { evidence: { reserve: '1MiB', segment_bytes: '2MiB' }, log: { level: 'debug' } });
    fs.mkdirSync(daemon.dataDir);
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16m,mode=0700', 'tmpfs', daemon.dataDir]);
    if (mounted.error || mounted.status !== 0) { t.skip('no right to mount a small file system'); return; }
    mounts.push(daemon.dataDir);
    const filler = path.join(daemon.dataDir, 'filler');
    fs.writeFileSync(filler, Buffer.alloc(8 << 20, 1));
    await daemon.start();
    const acked = [];
    const answer = await fill(daemon, acked);
    assert.equal(answer.status, 503);
    assert.ok(acked.length > 10, `${acked.length} were taken first`);
    await refusesWell(daemon);
    assert.equal((await daemon.metrics()).sum('tracecore_evidence_full'), 1);
    assert.ok((await daemon.metrics()).sum('tracecore_requests_rejected_total') >= 3);
    assert.match(daemon.log(), /full|room|space/i);
    allStored(daemon, acked);
    // Restarted on a full disk it still starts, and still refuses.
    await daemon.kill();
    await daemon.start();
    await fill(daemon, acked);
    await refusesWell(daemon);
    fs.rmSync(filler);
    await until('it to take requests again', async () => (await post(daemon.http, 'logs', fault('gpu-room'))).status === 200);
    await daemon.untilVerdicts('the verdict', (all) => all.some((v) => v['k8s.node.name'] === 'gpu-room'));
    assert.equal((await daemon.metrics()).sum('tracecore_evidence_full'), 0);
    allStored(daemon, acked);
    daemon.assertWhole();
    await daemon.stop();
  });
  test('a file that may not grow (RLIMIT_FSIZE) is the same', async (t) => {
    const limit = 4 << 20;
    const daemon = make('fsize', {}, { prefix: ['prlimit', `--fsize=${limit}:`] });
    if (spawnSync('prlimit', ['--version']).error) { t.skip('prlimit is not installed'); return; }
    await daemon.start();
    const acked = [];
    const answer = await fill(daemon, acked);
    assert.equal(answer.status, 503);
    assert.ok(daemon.running, 'SIGXFSZ ends nobody');
    await refusesWell(daemon);
    allStored(daemon, acked);
    const raised = spawnSync('prlimit', [`--pid=${daemon.pid}`, `--fsize=${1 << 30}:`], { encoding: 'utf8' });
    assert.equal(raised.status, 0, raised.stderr);
    await until('it to take requests again', async () => (await post(daemon.http, 'logs', fault('gpu-room'))).status === 200);
    await daemon.untilVerdicts('the verdict', (all) => all.some((v) => v['k8s.node.name'] === 'gpu-room'));
    allStored(daemon, acked);
    daemon.assertWhole();
    await daemon.stop();
  });
});

describe('a disk that fails', () => {
  const library = space.file('failing.so');
  const built = spawnSync('cc', ['-shared', '-fPIC', '-D_GNU_SOURCE', '-O1', '-o', library, path.join(source, 'tests/e2e/support/failing.c'), '-ldl'], { encoding: 'utf8' });
  const ERRNO = { EIO: 5, ENOSPC: 28 };
  for (const [call, errno, nth] of [['sync', 'EIO', 1], ['sync', 'EIO', 3], ['write', 'EIO', 1], ['write', 'EIO', 3], ['write', 'ENOSPC', 1]]) {
    test(`${errno} from ${nth === 1 ? 'every' : `every ${nth}rd`} ${call}: never a false acknowledgement`, async (t) => {
      if (built.status !== 0) { t.skip(`no compiler: ${built.stderr ?? built.error}`); return; }
      const name = `fails_${call}_${errno}_${nth}`;
      const control = space.file(`${name}.control`);
      const daemon = make(name, { evidence: { segment_bytes: '256KiB' } }, { env: { LD_PRELOAD: library, TC_FAILING: control, ASAN_OPTIONS: 'verify_asan_link_order=0' } });
      await daemon.start();
      const acked = [];
      const send = async () => {
        const { id, body } = bulk(4);
        const answer = await post(daemon.http, 'logs', body);
        if (answer.status === 200) acked.push(id);
        else assert.equal(answer.status, 503);
        return answer.status;
      };
      for (let i = 0; i < 10; i++) assert.equal(await send(), 200);
      fs.writeFileSync(control, `${call} ${ERRNO[errno]} ${nth}\n`);
      const statuses = [];
      for (let i = 0; i < 30; i++) statuses.push(await send());
      if (nth === 1) assert.ok(!statuses.includes(200), `while every ${call} fails nothing is acknowledged`);
      else assert.ok(statuses.includes(503), 'some were refused');
      assert.ok((await daemon.metrics()).sum('tracecore_evidence_commit_failures_total') > 0);
      // What was acknowledged while it failed must survive the next crash.
      await daemon.kill();
      fs.rmSync(control);
      await daemon.start();
      allStored(daemon, acked);
      for (let i = 0; i < 5; i++) {
        await until('it to take requests again', async () => await send() === 200);
      }
      allStored(daemon, acked);
      daemon.assertWhole();
      await daemon.stop();
    });
  }
  test('ingest.ack: memory counts what was acknowledged and lost', async (t) => {
    if (built.status !== 0) { t.skip('no compiler'); return; }
    const control = space.file('memory.control');
    const daemon = make('fails_memory', { ingest: { ack: 'memory' } }, { env: { LD_PRELOAD: library, TC_FAILING: control, ASAN_OPTIONS: 'verify_asan_link_order=0' } });
    await daemon.start();
    fs.writeFileSync(control, `sync ${ERRNO.EIO} 1\n`);
    let acked = 0;
    for (let i = 0; i < 10; i++) if ((await post(daemon.http, 'logs', bulk(4).body)).status === 200) acked++;
    await until('the losses to be counted', async () => (await daemon.metrics()).sum('tracecore_evidence_lost_batches_total') >= Math.min(acked, 1));
    fs.rmSync(control);
    await sleep(100);
    await until('it to store again', async () => {
      const before = (await daemon.metrics()).sum('tracecore_evidence_batches_total');
      await post(daemon.http, 'logs', bulk(4).body);
      await sleep(100);
      return (await daemon.metrics()).sum('tracecore_evidence_batches_total') > before;
    });
    await daemon.stop();
  });
});
