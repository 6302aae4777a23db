// SPDX-License-Identifier: Apache-2.0
// What the daemon writes to the warehouse, and what a command is told of it: while the daemon runs,
// after it stopped, after kill -9, and when the database cannot be written.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { Daemon, binary, run, source, workspace } from './support/daemon.mjs';
import { logs, xid48 } from './support/otlp.mjs';
import { complaints, sendLogs, sendMetrics } from './support/sdk.mjs';
import { Warehouse, ask } from './support/warehouse.mjs';
import { post, sleep, until } from './support/wire.mjs';

const space = workspace('warehouse');
const daemons = [];
after(async () => { for (const daemon of daemons) await daemon.destroy(); space.remove(); });
const QUICK = { warehouse: { threads: 2, slice_window: '1s', slice_lateness: '1s' } };
const make = (name, config = QUICK, options = {}) => {
  const daemon = new Daemon(space.file(name), config, options);
  daemons.push(daemon);
  return daemon;
};
const fault = (node) => logs({ 'host.name': node }, [{ body: xid48(), severity: 17 }]);
const count = async (daemon, table, where = '1 = 1') => (await ask(daemon, `SELECT count(*) AS n FROM ${table} WHERE ${where}`))[0].n;
const untilRows = (daemon, table, want, where) => until(`${want} rows of ${table}`, async () => (await count(daemon, table, where)) >= want, 30000, 100);
const lineDigests = (daemon) => fs.readFileSync(daemon.verdictFile, 'utf8').split('\n').filter(Boolean)
  .map((line) => `sha256:${createHash('sha256').update(line).digest('hex')}`).sort();

/** `tracecore sql`, with a daemon or without. */
function sql(daemon, query) {
  const result = run(['sql', '--json', '--data-dir', daemon.dataDir, query]);
  assert.equal(result.status, 0, result.stderr);
  return result.text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

const ALL_VERDICTS = 'SELECT verdict_digest, incident_id, status, pattern, headline, run_id, run_join, node_name, evidence FROM verdict_fact ORDER BY verdict_digest';
const ALL_SLICES = 'SELECT run_id, run_join, family, metric, node_name, point, "count", mean, last FROM telemetry_slice_fact ORDER BY metric, point, window_start';

describe('verdicts and slices', () => {
  const RUN = { 'service.name': 'trainer', 'k8s.node.name': 'gpu-run', 'tracecore.run.id': 'run-e2e' };
  test('of the real SDK are in the tables, tied to their run, the same with and without the daemon', async () => {
    const daemon = await make('sdk').start();
    assert.ok(!fs.existsSync(path.join(daemon.dataDir, 'warehouse.duckdb')), 'nothing is opened before it is needed');
    const results = [
      ...await sendMetrics(daemon, 'protobuf', 'gzip', RUN, [{ shard: 'a' }, { shard: 'b' }]),
      ...await sendLogs(daemon, 'protobuf', 'none', RUN, [{ body: 'step', severityNumber: 9, attributes: { 'training.step': 5, rank: 0, 'step.duration': 0.5 } }]),
      ...await sendLogs(daemon, 'json', 'none', { 'k8s.node.name': 'gpu-run' }, [{ body: xid48(), severityNumber: 17 }]),
    ];
    for (const result of results) assert.equal(result.code, 0, String(result.error));
    assert.deepEqual(complaints, []);
    const told = await daemon.untilVerdicts('the verdict', 1);
    await untilRows(daemon, 'verdict_fact', told.length);
    await untilRows(daemon, 'telemetry_slice_fact', 2, "metric = 'tests.level' OR metric = 'tests_level'");

    const verdicts = await ask(daemon, ALL_VERDICTS);
    assert.deepEqual(verdicts.map((v) => v.verdict_digest), lineDigests(daemon));
    const [verdict] = verdicts;
    assert.equal(verdict.incident_id, told[0].incident_id);
    assert.equal(verdict.pattern, told[0]['pattern.name']);
    assert.equal(verdict.node_name, 'gpu-run');
    assert.equal(verdict.run_id, 'run-e2e');
    assert.equal(verdict.run_join, 'time', 'the kernel names no run: it is the node and the time');
    const raw = told[0].evidence_trail.map((e) => e.raw);
    assert.deepEqual(JSON.parse(verdict.evidence), raw);

    const slices = await ask(daemon, ALL_SLICES);
    assert.ok(slices.every((s) => s.run_id === 'run-e2e' && s.run_join === 'identity' && s.node_name === 'gpu-run'), JSON.stringify(slices));
    const levels = slices.filter((s) => /tests.level/.test(s.metric));
    assert.equal(levels.length, 2);
    assert.ok(levels.every((s) => s.count === 1 && s.mean === 0.5 && s.last === 0.5));

    const metrics = await daemon.metrics();
    assert.equal(metrics.sum('tracecore_warehouse_rows_written_total', { table: 'verdict_fact' }), told.length);
    assert.equal(metrics.sum('tracecore_warehouse_open'), 1);
    const asked = sql(daemon, ALL_VERDICTS);
    const askedSlices = sql(daemon, ALL_SLICES);
    assert.deepEqual(asked, verdicts);
    await daemon.stop();
    assert.ok(!fs.existsSync(path.join(daemon.dataDir, 'warehouse.sock')));
    assert.deepEqual(sql(daemon, ALL_VERDICTS), asked);
    assert.deepEqual(sql(daemon, ALL_SLICES), askedSlices);
  });
});

describe('a daemon that ends badly', () => {
  test('after kill -9 every verdict is there once', async () => {
    const daemon = make('killed');
    for (let round = 0; round < 4; round++) {
      await daemon.start();
      for (let i = 0; i < 10; i++) assert.equal((await post(daemon.http, 'logs', fault(`gpu-${round}-${i}`))).status, 200);
      await daemon.untilVerdicts('the verdicts', (round + 1) * 10);
      await sleep(round * 400); // before, while and after the warehouse gets them
      await daemon.kill();
      assert.ok(fs.existsSync(path.join(daemon.dataDir, 'warehouse.sock')), 'the dead one left its socket');
    }
    // A stale socket is no daemon: a command opens the database itself.
    sql(daemon, 'SELECT count(*) AS n FROM verdict_fact');
    await daemon.start();
    const digests = lineDigests(daemon);
    await untilRows(daemon, 'verdict_fact', digests.length);
    await sleep(1500);
    const rows = await ask(daemon, 'SELECT verdict_digest FROM verdict_fact ORDER BY verdict_digest');
    assert.deepEqual(rows.map((r) => r.verdict_digest), digests);
    await daemon.stop();
  });
});

describe('commands', () => {
  test('that die in a transaction leave nothing, and others go on', async () => {
    const daemon = await make('transaction').start();
    const first = await Warehouse.connect(daemon, { write: true });
    assert.match(first.engine, /^duckdb \d/);
    await first.begin();
    await first.append('verdict_fact', [{ verdict_digest: 'd1', incident_id: 'x' }, { verdict_digest: 'd2' }]);
    assert.equal((await first.query('SELECT count(*) AS n FROM verdict_fact'))[0].n, 2, 'it sees its own');
    assert.equal(await count(daemon, 'verdict_fact'), 0, 'others do not');
    first.close();
    const second = await Warehouse.connect(daemon, { write: true });
    await second.begin();
    await second.append('verdict_fact', [{ verdict_digest: 'd3' }]);
    await second.commit();
    assert.deepEqual(await ask(daemon, 'SELECT verdict_digest FROM verdict_fact'), [{ verdict_digest: 'd3' }]);
    second.close();
    await daemon.stop();
  });
  test('of another version are told so', async () => {
    const daemon = await make('version').start();
    await assert.rejects(Warehouse.connect(daemon, { version: 99 }), /version/);
    await assert.rejects(Warehouse.connect(daemon, { schema: 99 }), /version/);
    await daemon.stop();
  });
  test('a second daemon on the same data_dir does not take the socket away', async () => {
    const daemon = await make('second').start();
    const other = run(['serve', '--config', daemon.configFile]);
    assert.notEqual(other.status, 0);
    assert.match(other.stderr, /another tracecore/);
    assert.equal(await count(daemon, 'verdict_fact'), 0);
    await daemon.stop();
  });
  test('without the warehouse there is no socket', async () => {
    const daemon = await make('off', { warehouse: { enabled: false } }).start();
    assert.ok(!fs.existsSync(path.join(daemon.dataDir, 'warehouse.sock')));
    assert.equal((await post(daemon.http, 'logs', fault('gpu-off'))).status, 200);
    await daemon.untilVerdicts('the verdict', 1);
    await daemon.stop();
    assert.ok(!fs.existsSync(path.join(daemon.dataDir, 'warehouse.duckdb')));
  });
});

describe('a database that cannot be written', () => {
  test('stops neither ingestion nor verdicts, and gets them when it can be again', async (t) => {
    const library = space.file('failing.so');
    const built = spawnSync('cc', ['-shared', '-fPIC', '-D_GNU_SOURCE', '-O1', '-o', library, path.join(source, 'tests/e2e/support/failing.c'), '-ldl'], { encoding: 'utf8' });
    assert.equal(built.status, 0, built.stderr);
    const command = space.file('failing.txt');
    const asan = spawnSync('ldd', [binary], { encoding: 'utf8' }).stdout.match(/\S*libasan\.so\S*/g)?.find((word) => word.startsWith('/'));
    const daemon = make('full', QUICK, { env: {
      LD_PRELOAD: [asan, library].filter(Boolean).join(':'), TC_FAILING: command, TC_FAILING_ONLY: 'warehouse.duckdb',
    } });
    await daemon.start();
    assert.equal((await post(daemon.http, 'logs', fault('gpu-before'))).status, 200);
    await untilRows(daemon, 'verdict_fact', 1);
    fs.writeFileSync(command, 'write 28 1\n'); // ENOSPC, always
    for (let i = 0; i < 5; i++) assert.equal((await post(daemon.http, 'logs', fault(`gpu-full-${i}`))).status, 200);
    await daemon.untilVerdicts('verdicts in their file', 6);
    await until('failed writes', async () => (await daemon.metrics()).sum('tracecore_warehouse_write_failures_total') > 0, 20000, 100);
    assert.equal((await post(daemon.http, 'logs', fault('gpu-full-last'))).status, 200);
    await daemon.untilVerdicts('verdicts in their file', 7);
    assert.ok(daemon.running);
    fs.rmSync(command);
    await until('all verdicts in the warehouse', async () => {
      try {
        return (await count(daemon, 'verdict_fact')) === 7;
      } catch (error) {
        t.diagnostic(error.message);
        return false;
      }
    }, 90000, 500);
    const rows = await ask(daemon, 'SELECT verdict_digest FROM verdict_fact ORDER BY verdict_digest');
    assert.deepEqual(rows.map((r) => r.verdict_digest), lineDigests(daemon));
    await daemon.stop();
  });
});

test('tables are exported through a daemon to a folder that it cannot write to itself', async () => {
  const daemon = make('export');
  await daemon.start();
  assert.equal((await post(daemon.http, 'logs', fault('gpu-07'))).status, 200);
  await untilRows(daemon, 'verdict_fact', 1);
  const out = fs.mkdtempSync(path.join(os.homedir(), '.tc_export_'));
  try {
    const { status, stderr } = run(['export', '--data-dir', daemon.dataDir, '--parquet', out, '--table', 'verdict_fact']);
    assert.equal(status, 0, stderr);
    assert.equal(fs.readFileSync(path.join(out, 'verdict_fact.parquet')).subarray(0, 4).toString(), 'PAR1');
    assert.deepEqual(fs.readdirSync(path.join(daemon.dataDir, 'spool')), []);
  } finally {
    fs.rmSync(out, { recursive: true });
  }
  await daemon.stop();
});
