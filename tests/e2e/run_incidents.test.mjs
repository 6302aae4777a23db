// SPDX-License-Identifier: Apache-2.0
// Runs and verdicts find each other, whichever comes first: a real daemon, `run add` through its
// socket and without it, restarts in between, and the tables made anew.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { Daemon, run } from './support/daemon.mjs';
import { elsewhere } from './support/elsewhere.mjs';
import { logs, metrics, xid48 } from './support/otlp.mjs';
import { add, scratch, show, vllm } from './support/runs.mjs';
import { ask } from './support/warehouse.mjs';
import { post, until } from './support/wire.mjs';

const place = scratch('run_incidents');
const daemons = [];
after(async () => { for (const daemon of daemons) await daemon.destroy(); place.remove(); });

const QUICK = { warehouse: { slice_window: '1s', slice_lateness: '1s' } };
/** As vLLM writes it: a result that ended then, in UTC. */
const stamp = (at) => at.toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15);
const NODE = 'gpu-07.example.com';

/** The run of now, by its short node name. */
const addRun = (daemon) => {
  const ended = new Date(Date.now() + 60000);
  const added = add(daemon.dataDir, ['--result', place.file('now.json', vllm({ date: stamp(ended), duration: 600 })), '--run-id', 'run-now', '--node', 'gpu-07']);
  assert.equal(added.status, 0, added.stderr);
};
const tell = async (daemon) => {
  const { status } = await post(daemon.http, 'logs', logs({ 'host.name': NODE }, [{ body: xid48(), severity: 17 }]));
  assert.equal(status, 200);
  await daemon.untilVerdicts('the verdict', 1);
  await until('its row', async () => (await ask(daemon, 'SELECT count(*) AS n FROM verdict_fact'))[0].n > 0, 30000, 100);
};
const measure = async (daemon) => {
  const { status } = await post(daemon.http, 'metrics', metrics({ 'host.name': NODE }, [{ name: 'tests.level', points: [{ value: 1 }] }]));
  assert.equal(status, 200);
  await until('its slice', async () => (await ask(daemon, "SELECT count(*) AS n FROM telemetry_slice_fact WHERE node_name IS NOT NULL"))[0].n > 0, 30000, 100);
};
const restart = async (daemon) => { await daemon.stop(); await daemon.start(); };

const JOINED = `SELECT 'verdict' AS what, pattern AS name, run_id, run_join, node_name FROM verdict_fact
  UNION ALL SELECT 'slice', metric, run_id, run_join, node_name FROM telemetry_slice_fact WHERE node_name IS NOT NULL ORDER BY 1, 2`;
const rows = (daemon) => {
  const result = run(['sql', '--json', '--data-dir', daemon.dataDir, JOINED]);
  assert.equal(result.status, 0, result.stderr);
  return result.text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
};

describe('a run and what happened to it', () => {
  const ORDERS = { verdict_first: [tell, measure, addRun], run_first: [addRun, restart, measure, tell], between: [measure, addRun, tell, restart] };
  for (const [name, steps] of Object.entries(ORDERS)) {
    test(`are tied by node and time: ${name}`, async () => {
      const daemon = new Daemon(path.join(place.folder, name), QUICK);
      daemons.push(daemon);
      await daemon.start();
      for (const step of steps) await step(daemon);
      /* A row is there a moment before its run is found. */
      await until('the runs', () => rows(daemon).every((row) => row.run_id !== null), 30000, 100);
      const there = rows(daemon);
      assert.deepEqual(there.map(({ what, run_id, run_join, node_name }) => [what, run_id, run_join, node_name]),
        [['slice', 'run-now', 'time', NODE], ['verdict', 'run-now', 'time', NODE]]);
      const [verdict] = show(daemon.dataDir, 'run-now').verdicts;
      assert.equal(verdict.run_join, 'time');
      await daemon.stop();
      assert.deepEqual(rows(daemon), there, 'the same without the daemon');
      const text = run(['run', 'show', '--data-dir', daemon.dataDir, 'run-now']).text;
      assert.match(text, new RegExp(`on its node in its time: tracecore incidents ${verdict.incident_id}`));
      if (elsewhere) return; // What is in ClickHouse is not rebuilt.
      const rebuilt = run(['rebuild', '--json', '--data-dir', daemon.dataDir]);
      assert.equal(rebuilt.status, 0, rebuilt.stderr);
      assert.equal(JSON.parse(rebuilt.text).equal, true, rebuilt.text);
      assert.deepEqual(rows(daemon), there, 'the same when made anew');
    });
  }
});

describe('names of a run', () => {
  const verdict = (node) => `${JSON.stringify({ incident_id: `i-${node}`, status: 'open', 'pattern.name': 'hbm_ecc', headline: `a fault of ${node}`, first_seen: '2026-03-04T02:00:00Z', 'k8s.node.name': node })}\n`;
  const result = (n) => place.file(`r${n}.json`, vllm({ date: '20260304-020100', duration: 100 + n }));

  test('come with options and verdicts, and two runs that fit equally well get nothing', () => {
    const dir = path.join(place.folder, 'names');
    const first = add(dir, ['--run-id', 'first', '--result', result(1), '--verdicts', place.file('v.ndjson', verdict('n1')), '--node', 'n2', '--node', 'n3', '--job', 'nightly', '--pod', 'ml/w-0', '--pod', '0a1b2c3d-4e5f-6789-abcd-ef0123456789']);
    assert.equal(first.status, 0, first.stderr);
    const shown = show(dir, 'first');
    assert.deepEqual(shown.scope.map(({ kind, name, source }) => [kind, name, source]), [
      ['job', 'nightly', 'option'], ['node', 'n1', 'verdict'], ['node', 'n2', 'option'], ['node', 'n3', 'option'],
      ['pod', 'ml/w-0', 'option'], ['pod_uid', '0a1b2c3d-4e5f-6789-abcd-ef0123456789', 'option']]);
    assert.deepEqual(shown.verdicts.map((v) => [v.incident_id, v.run_join]), [['i-n1', 'given']]);
    /* Of another run, on a node of both. */
    assert.equal(add(dir, ['--run-id', 'second', '--result', result(2), '--node', 'n2']).status, 0);
    assert.equal(add(dir, ['--run-id', 'third', '--result', result(3), '--node', 'n9']).status, 0);
    assert.deepEqual(show(dir, 'second').verdicts, []);
    const text = run(['run', 'list', '--data-dir', dir]).text;
    assert.match(text, /incidents/);
    if (elsewhere) return;
    const rebuilt = run(['rebuild', '--json', '--data-dir', dir]);
    assert.equal(JSON.parse(rebuilt.text).equal, true, rebuilt.text);
    assert.deepEqual(show(dir, 'first').scope, shown.scope);
  });

  test('that are too many, and lines that are no verdicts, are refused in words', () => {
    const dir = path.join(place.folder, 'refused');
    const many = Array.from({ length: 65537 }, (_, n) => `up{node="n${n}"} 1 1772589600000\n`).join('');
    const tooMany = add(dir, ['--result', result(4), '--telemetry', place.file('many.prom', many)]);
    assert.equal(tooMany.status, 1);
    assert.match(tooMany.stderr, /many\.prom: names more than 65536 pods, jobs and nodes; give the telemetry of this run's nodes only/);
    const wrong = add(dir, ['--result', result(5), '--verdicts', place.file('bad.ndjson', `${verdict('n1')}{"a":1}\n`)]);
    assert.equal(wrong.status, 1);
    assert.match(wrong.stderr, /bad\.ndjson: line 2 is no verdict .*detect --json/);
  });
});
