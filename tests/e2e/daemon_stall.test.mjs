// SPDX-License-Identifier: Apache-2.0
// One request or upload never stops the loop: what is long is read by a thread and fed in turns,
// readiness comes before the replay, and a replay that was cut off leaves nothing unjudged.
//
// The bound is on the processor time that the loop's thread spends in one callback, as the daemon
// measures it: the clock also runs while other processes have the machine.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, describe, test } from 'node:test';
import zlib from 'node:zlib';
import { Daemon, run, workspace } from './support/daemon.mjs';
import { logs, xid48 } from './support/otlp.mjs';
import { JSON_TYPE, PROTOBUF, call, get, post, sleep, until } from './support/wire.mjs';

const STALL_CPU_S = 0.05;
const space = workspace('stall');
const daemons = [];
after(async () => { for (const daemon of daemons) await daemon.destroy(); space.remove(); });

function make(name, config) {
  const daemon = new Daemon(space.file(name), { warehouse: { enabled: false }, ...config });
  daemons.push(daemon);
  return daemon;
}

const fault = (node) => logs({ 'host.name': node }, [{ body: xid48(), severity: 17 }]);
const begin = Date.parse('2026-11-16T00:00:00Z');

/** Events as lines: metrics of many GPUs, which lead to nothing, and a fault on each of some nodes. */
function events(count, faults) {
  const rows = [];
  for (let i = 0; i < count; i++) {
    const time = new Date(begin + i * 5).toISOString();
    const node = `node-${String(i % 997).padStart(4, '0')}`;
    rows.push((i + 1) % Math.ceil(count / faults) === 0
      ? { kind: 'xid', time, 'k8s.node.name': `bad-${i}`, xid: 48, 'pci.bdf': '0000:3b:00.0', message: 'DBE (double bit error) ECC error' }
      : { kind: 'metric', time, 'k8s.node.name': node, gpu: i % 8, metric: 'gpu_temperature', value: 40 + (i % 20) });
  }
  return Buffer.from(rows.map((row) => JSON.stringify(row)).join('\n') + '\n');
}

const upload = (daemon, body, name = 'events.ndjson') => call(daemon.api, 'POST', `/api/v1/upload?name=${name}`,
  { body, headers: { 'content-type': 'application/octet-stream' }, timeoutMs: 120000 });
const level = (daemon) => until('detection to be level', async () => (await daemon.status()).batches_behind === 0, 240000, 100);

async function assertNoStall(daemon) {
  const { loop } = await daemon.status();
  assert.ok((await daemon.metrics()).sum('tracecore_loop_stall_seconds_count') > 0);
  if (loop.longest_stall_cpu_seconds > STALL_CPU_S) throw new Stall(`a callback took ${loop.longest_stall_cpu_seconds} s of processor time`);
}

class Stall extends Error {}

/**
 * A test that ends in assertNoStall. What a host takes from a virtual machine counts as the time of whoever was running, so one
 * long callback proves nothing; a stall of our own is there each time.
 */
function testStall(name, body) {
  test(name, async () => {
    for (let left = 2; ; left--) {
      try { await body(left); return; } catch (error) { if (!(error instanceof Stall) || left === 0) throw error; }
    }
  });
}

/** Asks /healthz and sends records until `done`; how many were answered. */
async function meanwhile(daemon, done) {
  let answers = 0;
  let ended = false;
  done.finally(() => { ended = true; });
  while (!ended) {
    assert.equal((await get(daemon.api, '/healthz')).status, 200);
    assert.equal((await post(daemon.http, 'logs', logs({ 'host.name': 'other' }, [{ body: 'fine', severity: 9 }]))).status, 200);
    answers++;
    await sleep(5);
  }
  await done;
  return answers;
}

describe('what is long', () => {
  testStall('35 MB of uploaded events are read while another client gets its answers', async (left) => {
    const daemon = await make(`upload-${left}`).start();
    const body = events(280000, 200);
    assert.ok(body.length > 35e6, String(body.length));
    const answers = await meanwhile(daemon, (async () => {
      assert.equal((await upload(daemon, body)).status, 200);
      await level(daemon);
    })());
    assert.ok(answers > 5, `${answers} answers`);
    const verdicts = await daemon.untilVerdicts('the faults', (v) => v.filter((x) => x.status === 'open').length >= 200, 60000);
    assert.equal(new Set(verdicts.map((v) => v.incident_id)).size, 200);
    assert.ok((await daemon.metrics()).sum('tracecore_events_total') >= 280000);
    await assertNoStall(daemon);
    await daemon.stop();
  });

  // More than the stories and the statements of who runs where hold: both make room again and again.
  testStall('170,000 incidents in one upload are linked while another client gets its answers', async (left) => {
    const daemon = await make(`storm-${left}`).start();
    const body = events(170000, 170000);
    const answers = await meanwhile(daemon, (async () => {
      assert.equal((await upload(daemon, body)).status, 200);
      await level(daemon);
    })());
    assert.ok(answers > 5, `${answers} answers`);
    assert.equal((await daemon.status()).incidents.opened, 170000);
    await assertNoStall(daemon);
    await daemon.stop();
  });

  testStall('16 KB of gzip that hold 5.5 million empty objects are refused, in both notations', async (left) => {
    const daemon = await make(`bomb-${left}`).start();
    const json = zlib.gzipSync(Buffer.from(`{"resourceLogs":[${'{},'.repeat(5.5e6)}{}]}`));
    const protobuf = zlib.gzipSync(Buffer.alloc(11e6, Buffer.from([0x0a, 0x00])));
    assert.ok(json.length < 20000 && protobuf.length < 20000);
    const refused = async (body, type) => {
      const answer = await post(daemon.http, 'logs', body, { 'content-type': type, 'content-encoding': 'gzip' });
      assert.equal(answer.status, 400);
      assert.match(answer.body.toString(), /more than 1048576 objects in one request \(limits\.objects\)/);
    };
    await meanwhile(daemon, (async () => {
      for (let i = 0; i < 3; i++) { await refused(json, JSON_TYPE); await refused(protobuf, PROTOBUF); }
    })());
    assert.equal(daemon.batches().filter((b) => b.bytes > 1000).length, 0, 'nothing of it is kept');
    await assertNoStall(daemon);
    await daemon.stop();
  });
});

describe('the replay', () => {
  // A long replay: the bytes of an upload, again and again.
  const body = events(60000, 40);
  const parts = 6;
  let template;
  const stored = async () => {
    if (template) return template;
    const daemon = await make('template').start();
    for (let i = 0; i < parts; i++) assert.equal((await upload(daemon, body, `part-${i}.ndjson`)).status, 200);
    await post(daemon.http, 'logs', fault('live-1'));
    await level(daemon);
    const verdicts = await daemon.untilVerdicts('all faults', (v) => new Set(v.map((x) => x.incident_id)).size >= 41, 60000);
    await daemon.stop();
    template = { dataDir: daemon.dataDir, verdicts };
    return template;
  };
  /** The evidence of the template, with nothing judged and nothing told. */
  const copy = async (name, config) => {
    const { dataDir } = await stored();
    const daemon = make(name, config);
    fs.mkdirSync(daemon.dataDir, { recursive: true });
    fs.cpSync(`${dataDir}/evidence`, `${daemon.dataDir}/evidence`, { recursive: true });
    return daemon;
  };
  const opened = (verdicts) => verdicts.filter((v) => v.status === 'open').map((v) => v.incident_id).sort();

  testStall('the daemon is ready before it has ended, and says how far it is', async (left) => {
    const daemon = await copy(`early-${left}`);
    await daemon.start({ replayed: false });
    const first = await get(daemon.api, '/readyz');
    assert.equal((await get(daemon.api, '/healthz')).status, 200);
    assert.equal(first.status, 200);
    const { state, replay } = JSON.parse(first.body);
    assert.equal(state, 'replaying');
    assert.equal(replay.batches_total, parts + 1);
    assert.ok(replay.batches <= parts && replay.bytes < replay.bytes_total && replay.bytes_total > parts * body.length);
    const metrics = await daemon.metrics();
    assert.deepEqual([metrics.sum('tracecore_ready'), metrics.sum('tracecore_replaying')], [1, 1]);
    assert.equal((await daemon.status()).state, 'replaying');
    assert.match(run(['status', '--api', `http://${daemon.api}`]).text, new RegExp(`is replaying, .*\\n[^]*replay +\\d of ${parts + 1} batches`, 'u'));
    assert.match(daemon.log(), new RegExp(`msg="ready"[^]*msg="what was stored lately is read again[^\n]* batches_total=${parts + 1} `, 'u'));
    // What comes meanwhile is stored and answered as always, and judged in its turn: after all that
    // was stored before it. A fault that was known already is no news; one that is new comes last.
    for (const node of ['live-1', 'live-2']) assert.equal((await post(daemon.http, 'logs', fault(node))).status, 200);
    assert.equal(daemon.verdicts().length, 0);
    await daemon.untilReplayed();
    const after = JSON.parse((await get(daemon.api, '/readyz')).body);
    assert.deepEqual([after.state, after.replay], ['ready', { ...after.replay, batches: parts + 1, bytes: replay.bytes_total }]);
    assert.equal((await daemon.metrics()).sum('tracecore_replaying'), 0);
    const verdicts = await daemon.untilVerdicts('all, and the new one', (v) => opened(v).length >= 42, 60000);
    const { verdicts: before } = await stored();
    const fresh = opened(verdicts).filter((id) => !opened(before).includes(id));
    assert.deepEqual([opened(verdicts).length, fresh.length], [42, 1], 'each is told once');
    assert.equal(verdicts.filter((v) => v.status === 'open').at(-1).incident_id, fresh[0], 'in its turn');
    await assertNoStall(daemon);
    await daemon.stop();
  });

  test('one that is killed again and again tells the same in the end, each once, when its window has passed', async () => {
    const daemon = await copy('killed');
    for (let i = 0; i < 4; i++) {
      await daemon.start({ replayed: false });
      assert.equal(JSON.parse((await get(daemon.api, '/readyz')).body).state, 'replaying');
      await sleep(20 * i);
      await daemon.kill();
      assert.equal(daemon.verdicts().length, 0, 'nothing is told before the end');
      // From here on nothing that is stored is in the window.
      daemon.configure({ warehouse: { enabled: false }, detection: { replay: { window: '0' } } });
    }
    await daemon.start();
    const { verdicts: before } = await stored();
    const verdicts = await daemon.untilVerdicts('all', (v) => opened(v).length >= 41, 60000);
    assert.deepEqual(opened(verdicts), opened(before));
    await daemon.stop();
    const marks = fs.readFileSync(`${daemon.dataDir}/judged`, 'utf8');
    assert.match(marks, new RegExp(`^tracecore-judged 1 ${parts + 1} \\d+ [0-9a-f]{16}\\n$`));
  });
});
