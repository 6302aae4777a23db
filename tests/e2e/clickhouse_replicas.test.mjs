// SPDX-License-Identifier: Apache-2.0
// A warehouse on two replicas of one shard, ZooKeeper between them: tables are replicated, an import outlives either of
// them, and in the end both have every row once.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { binary, scratch, vllm } from './support/runs.mjs';
import { until } from './support/wire.mjs';
import { noClickHouse, startClickHouse } from './support/clickhouse.mjs';
import { noZooKeeper, startZooKeeper } from './support/zookeeper.mjs';

const SLICES = 700000; // more than two blocks
const CAUGHT_UP_MS = 60000;

let place;
let keeper;
let replicas;

const urlOf = (hosts) => `clickhouse://default@${hosts.map((s) => s.address).join(',')}/pair?cluster=two`;

/** A command; `onLine` sees what it says meanwhile. */
function run(hosts, args, onError) {
  return new Promise((resolve) => {
    const env = { ...process.env, TRACECORE_WAREHOUSE: urlOf(hosts) };
    const child = spawn(binary, args.concat('--data-dir', path.join(place.folder, 'data')), { env });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (text) => { stdout += text; });
    child.stderr.on('data', (text) => { stderr += text; onError?.(stderr); });
    child.on('close', (status) => resolve({ status, stdout, stderr }));
  });
}

async function ask(hosts, sql) {
  const { status, stdout, stderr } = await run(hosts, ['sql', '--csv', sql]);
  assert.equal(status, 0, stderr);
  return stdout.trim().split(/\r?\n/u).slice(1);
}

/** Rows of the table as the server itself has it. */
const rowsOn = async (server, table) => Number(await server.sql(`SELECT count() FROM pair.${table}`).catch(() => -1));

function add(id, telemetry, onError) {
  const result = place.file(`${id}.json`, vllm({ date: `2026021${id}-141321` }));
  return run(replicas, ['run', 'add', '--run-id', id, '--name', `run-${id}`, '--result', result, ...(telemetry ? ['--telemetry', telemetry] : [])], onError);
}

describe('a warehouse on two replicas', { skip: noClickHouse || noZooKeeper }, () => {
  before(async () => {
    place = scratch('replicas');
    keeper = await startZooKeeper(path.join(place.folder, 'zookeeper'));
    replicas = await startClickHouse(place.folder, 2, { zookeeper: keeper.port });
    await Promise.all(replicas.map((server) => server.sql('CREATE DATABASE pair')));
  });
  after(async () => {
    await Promise.all((replicas ?? []).map((server) => server.kill()));
    await keeper?.kill();
    place.remove();
  });

  test('its tables are replicated, and both have what one was given', async () => {
    const added = await add('1');
    assert.equal(added.status, 0, added.stderr);
    for (const server of replicas) {
      assert.equal(await server.sql("SELECT engine FROM system.tables WHERE database = 'pair' AND name = 'telemetry_slice_shard'"), 'ReplicatedMergeTree');
      assert.equal(await server.sql("SELECT engine FROM system.tables WHERE database = 'pair' AND name = 'telemetry_slice'"), 'Distributed');
      await until('the run to be there', async () => (await rowsOn(server, 'benchmark_run_fact_shard')) === 1, CAUGHT_UP_MS, 100);
    }
  });

  test('an import goes on without the second, which catches up when it returns', async () => {
    const lines = [];
    const at = Date.parse('2026-02-13T14:13:00Z');
    for (let i = 0; i < SLICES; i++) lines.push(`DCGM_FI_DEV_GPU_TEMP{gpu="${i % 8}",UUID="GPU-0000000${i % 8}-0000-0000-0000-000000000000",Hostname="gpu-01"} 60 ${at + Math.floor(i / 8) * 60000}`);
    const adding = add('2', place.file('many.prom', `${lines.join('\n')}\n`));
    await until('a part of it to be there', async () => (await rowsOn(replicas[0], 'telemetry_slice_shard')) > 0, CAUGHT_UP_MS, 20);
    await replicas[1].kill();
    const before = await rowsOn(replicas[0], 'benchmark_run_fact_shard');
    const added = await adding;
    assert.equal(before, 1, 'it was killed while the import ran');
    assert.equal(added.status, 0, added.stderr);
    const [slices] = await ask(replicas, 'SELECT count(*) FROM telemetry_slice_fact');
    assert.ok(Number(slices) >= SLICES, slices);
    await replicas[1].start();
    for (const table of ['telemetry_slice_shard', 'tracecore_ledger_shard']) {
      const want = await rowsOn(replicas[0], table);
      await until(`${table} to be copied`, async () => (await rowsOn(replicas[1], table)) === want, CAUGHT_UP_MS, 100);
    }
  });

  test('what both have is read from the second, named first, when the first is gone', async () => {
    const sql = 'SELECT metric, count(*) AS n, min(window_start), max(window_end) FROM telemetry_slice_fact GROUP BY metric ORDER BY metric';
    const want = await ask(replicas, sql);
    const runs = await ask(replicas, 'SELECT run_id, name FROM benchmark_run_fact ORDER BY run_id');
    await replicas[0].kill();
    const turned = [...replicas].reverse();
    assert.deepEqual(await ask(turned, sql), want);
    assert.deepEqual(await ask(turned, 'SELECT run_id, name FROM benchmark_run_fact ORDER BY run_id'), runs);
  });

  test('an import waits for the one that its address names first', async () => {
    let back = null;
    const added = await add('3', null, (text) => { back ??= /waiting for ClickHouse/u.test(text) ? replicas[0].start() : null; });
    await (back ?? replicas[0].start());
    assert.equal(added.status, 0, added.stderr);
    assert.match(added.stderr, /waiting for ClickHouse \(up to 120 s\)/u);
    assert.deepEqual(await ask(replicas, 'SELECT run_id FROM benchmark_run_fact ORDER BY run_id'), ['1', '2', '3']);
    assert.ok(!fs.existsSync(path.join(place.folder, 'data/warehouse.duckdb')));
  });
});
