// SPDX-License-Identifier: Apache-2.0
// `tracecore migrate` between DuckDB and real ClickHouse servers: all rows of all tables, once, whenever it is
// killed; and targets that are none.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { noClickHouse, startClickHouse, startProxy } from './support/clickhouse.mjs';
import { Daemon } from './support/daemon.mjs';
import { logs, metrics, xid48 } from './support/otlp.mjs';
import { binary, contract, dump, scratch, vllm } from './support/runs.mjs';
import { ask, tables } from './support/warehouse.mjs';
import { post, until } from './support/wire.mjs';

let place;
let servers;
let daemon;
let databases = 0;
const NODE = 'gpu-07.example.com';
const BATCH = ['--batch', '700'];

/** A command; `started` gets its process. */
function run(args, { url = '', started } = {}) {
  return new Promise((resolve) => {
    const child = spawn(binary, args, { env: { ...process.env, TRACECORE_WAREHOUSE: url } });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (text) => { stdout += text; });
    child.stderr.on('data', (text) => { stderr += text; });
    child.on('close', (status, signal) => resolve({ status, signal, stdout, stderr }));
    started?.(child);
  });
}
async function good(args, options) {
  const result = await run(args, options);
  assert.equal(result.status, 0, result.stderr + result.stdout);
  return result.stdout;
}
const migrate = async (from, to) => JSON.parse(await good(['migrate', '--json', ...BATCH, '--from', from, '--to', to]));
const database = async (hosts = servers.slice(0, 1)) => {
  const name = `moved_${++databases}`;
  await Promise.all(hosts.map((server) => server.sql(`CREATE DATABASE ${name}`)));
  return name;
};
const urlOf = (name, { hosts = servers.slice(0, 1), rest = '' } = {}) => `clickhouse://default@${hosts.map((s) => s.address).join(',')}/${name}${rest}`;
const folder = (name) => path.join(place.folder, name);

/** Every row of every table, with the runs that were found for them. */
function rows(warehouse) {
  const url = warehouse.includes('://') ? warehouse : '';
  return dump(url ? folder('empty') : warehouse, tables, { env: { ...process.env, TRACECORE_WAREHOUSE: url } });
}

function samples(minutes) {
  const at = Date.parse('2026-02-13T14:13:00Z');
  let text = '';
  for (let i = 0; i < minutes * 8; i++) {
    text += `DCGM_FI_DEV_GPU_TEMP{gpu="${i % 8}",UUID="GPU-0000000${i % 8}-0000-0000-0000-000000000000",Hostname="gpu-01"} ${60 + i % 7} ${at + Math.floor(i / 8) * 60000}\n`;
  }
  return text;
}

/** A data_dir in whose tables there is something of everything: runs, slices, verdicts, numbers. */
async function fill() {
  daemon = new Daemon(folder('home'), { warehouse: { slice_window: '1s', slice_lateness: '1s' } });
  await daemon.start();
  const add = (...args) => good(['run', 'add', '--data-dir', daemon.dataDir, ...args]);
  const ended = new Date(Date.now() + 60000).toISOString().replace(/[-:]/gu, '').replace('T', '-').slice(0, 15);
  const yaml = place.file('run.yaml', contract().replace('minReplicates: 5', 'minReplicates: 3'));
  for (const n of [1, 2, 3]) {
    await add('--contract', yaml, '--run-id', `r${n}`, place.file(`r${n}.json`, vllm({ duration: 31 + n, p99_ttft_ms: 500 + n })), ...(n === 1 ? ['--telemetry', place.file('many.prom', samples(1000))] : []));
  }
  await add('--run-id', 'now', '--node', 'gpu-07', place.file('now.json', vllm({ date: ended, duration: 600 })));
  assert.equal((await post(daemon.http, 'logs', logs({ 'host.name': NODE }, [{ body: xid48(), severity: 17 }]))).status, 200);
  const point = (host) => metrics({ 'host.name': host }, [{ name: 'tests.level', points: [{ value: 1 }] }]);
  for (const host of [NODE, 'gpu-99']) assert.equal((await post(daemon.http, 'metrics', point(host))).status, 200);
  const count = async (sql) => (await ask(daemon, sql))[0].n;
  await until('slices', async () => (await count("SELECT count(*) AS n FROM telemetry_slice_fact WHERE metric = 'tests.level'")) === 2, 30000, 100);
  await until('the verdict', async () => (await count("SELECT count(*) AS n FROM verdict_fact WHERE run_id = 'now'")) === 1, 30000, 100);
  await good(['publish', '--data-dir', daemon.dataDir, 'r1', '--metric', 'ttft_p99_ms', '--unstable', 'a first look']);
}

describe('migrate', { skip: noClickHouse }, () => {
  before(async () => {
    place = scratch('migrate');
    fs.mkdirSync(folder('empty'));
    servers = await startClickHouse(place.folder, 2);
    await fill();
  });
  after(async () => {
    await daemon?.destroy();
    await Promise.all((servers ?? []).map((server) => server.kill()));
    place.remove();
  });

  test('does not begin beside a daemon', async () => {
    const target = folder('beside');
    const { status, stderr } = await run(['migrate', '--from', daemon.dataDir, '--to', target]);
    assert.equal(status, 2);
    assert.match(stderr, /a daemon serves this data_dir, or another migration is at work; stop it first/u);
    assert.ok(!fs.existsSync(target));
    await daemon.stop();
  });

  for (const shards of [1, 2]) {
    test(`there and back, on ${shards === 1 ? 'one server' : 'two shards'}: every row of every table`, async () => {
      const hosts = servers.slice(0, shards);
      const url = urlOf(await database(hosts), { hosts, rest: shards === 1 ? '' : '?cluster=two' });
      const back = folder(`back-${shards}`);
      const first = await migrate(daemon.dataDir, url);
      const second = await migrate(url, back);
      const before = rows(daemon.dataDir);
      assert.ok(first.equal && second.equal);
      assert.deepEqual(Object.keys(first.tables), tables);
      for (const table of tables) {
        const { from, to, copied, digest_from: a, digest_to: b } = first.tables[table];
        assert.deepEqual([from, to, copied, b], [before[table].length, before[table].length, before[table].length, a]);
        assert.deepEqual(second.tables[table], first.tables[table], table);
      }
      assert.deepEqual(rows(url), before);
      assert.deepEqual(rows(back), before);
      for (const table of ['benchmark_run_fact', 'serving_outcome_fact', 'telemetry_slice_fact', 'verdict_fact', 'run_scope_fact', 'published_number', 'artifact_lineage_dim']) {
        assert.ok(before[table].length > 0, `${table} has rows`);
      }
      assert.ok(before.telemetry_slice_fact.some((line) => JSON.parse(line).run_id === null), 'some slices are of no run');
      const again = await migrate(daemon.dataDir, url);
      assert.ok(again.equal && Object.values(again.tables).every(({ copied }) => copied === 0), 'a second call copies nothing');
    });
  }

  /** Kills the command at the statements that `when` picks, and begins again, until it ends by itself. */
  async function killed(when, args, server = servers[0]) {
    let child;
    let kills = 0;
    let due = null;
    const proxy = await startProxy(server, async (kind, n) => {
      if (due && when(kind, n, due)) {
        const fate = due.fate;
        due = null;
        // Killed before it arrives, or after, as the fate says.
        if (fate === 'drop') child.kill('SIGKILL');
        else setTimeout(() => child.kill('SIGKILL'), 5);
        return fate;
      }
      return null;
    });
    try {
      for (let round = 0; ; round++) {
        due = { round, fate: round % 2 === 0 ? 'drop' : 'deaf' };
        for (const key of Object.keys(proxy.counts)) proxy.counts[key] = 0;
        const result = await run(args(`clickhouse://default@${proxy.address}/`), { started: (it) => { child = it; } });
        if (result.signal !== 'SIGKILL') {
          assert.equal(result.status, 0, result.stderr);
          return { kills, answer: JSON.parse(result.stdout) };
        }
        kills++;
        assert.ok(kills < 100, 'it comes to an end');
      }
    } finally {
      await proxy.stop();
    }
  }

  test('into ClickHouse, killed again and again: no row is lost or there twice', async () => {
    const name = await database();
    // At an insert of rows, or of the ledger's lines that make them count: that many times of its kind.
    const at = [['benchmark_run_fact', 1], ['tracecore_ledger', 1], ['tracecore_ledger', 3], ['verdict_fact', 1], ['telemetry_series', 1], ['telemetry_slice', 1],
      ['telemetry_slice', 2], ['tracecore_ledger', 1], ['tracecore_ledger', 2], ['telemetry_slice', 3], ['tracecore_ledger', 1], ['tracecore_ledger', 1]];
    const when = (kind, n, { round }) => kind === at[round]?.[0] && n === at[round][1];
    const { kills, answer } = await killed(when, (url) => ['migrate', '--json', ...BATCH, '--from', daemon.dataDir, '--to', url + name]);
    assert.equal(kills, at.length);
    assert.ok(answer.equal);
    assert.ok(answer.tables.telemetry_slice_fact.copied < answer.tables.telemetry_slice_fact.to, 'what was there was not copied again');
    assert.deepEqual(rows(urlOf(name)), rows(daemon.dataDir));
  });

  test('waits for what a command that is dead has sent', async () => {
    const name = await database();
    await good(['migrate', '--from', daemon.dataDir, '--to', urlOf(name)]);
    const query = `INSERT INTO tracecore_ledger (tbl, id, batch, kind, rows, detail) VALUES`;
    const late = http.request(`http://${servers[0].address}/?database=${name}&query=${encodeURIComponent(query)}`, { method: 'POST' });
    const written = new Promise((resolve) => { late.on('response', (reply) => { reply.resume(); reply.on('end', () => resolve(reply.statusCode)); }); });
    late.write("('benchmark_run_fact', 1, 1, 0, 0, ''), ".padEnd(1 << 21)); // the server counts it as running when it has read some of it
    await until('the insert to run', async () => (await servers[0].sql("SELECT count() FROM system.processes WHERE query LIKE 'INSERT INTO tracecore_ledger%'")) === '1', 10000, 50);
    let said = '';
    const done = run(['migrate', '--from', daemon.dataDir, '--to', urlOf(name)], { started: (child) => child.stderr.on('data', (text) => { said += text; }) });
    await until('the command to say so', () => /waiting for ClickHouse .*a command that ended is still being written/u.test(said), 30000, 50);
    late.end("('benchmark_run_fact', 2, 1, 0, 0, '')");
    assert.equal(await written, 200);
    const { status, stderr } = await done;
    assert.equal(status, 0, stderr);
  });

  test('out of ClickHouse, killed again and again: the same', async () => {
    const name = await database();
    await migrate(daemon.dataDir, urlOf(name));
    const back = folder('back-killed');
    // At a statement that reads, a little later each time.
    const when = (kind, n, { round }) => round < 8 && n > 15 + 6 * round;
    const { kills, answer } = await killed(when, (url) => ['migrate', '--json', '--batch', '200', '--from', url + name, '--to', back]);
    assert.equal(kills, 8);
    assert.ok(answer.equal);
    assert.deepEqual(rows(back), rows(daemon.dataDir));
  });

  test('refuses what is no target or no source, in words, and changes nothing', async () => {
    const name = await database();
    const url = urlOf(name);
    const refused = async (from, to, expected) => {
      const { status, stderr } = await run(['migrate', ...BATCH, '--from', from, '--to', to]);
      assert.equal(status, 2, stderr);
      assert.match(stderr, expected);
    };
    const source = daemon.dataDir;
    await refused(source, `${source}/../data`, /--from and --to are the same warehouse/u);
    await refused(url, `${url}?wait=3`, /--from and --to are the same warehouse/u);
    await refused(folder('nowhere'), url, /nowhere: there is no such directory; a warehouse is a data_dir, or clickhouse:/u);
    await refused(folder('empty'), url, /there is no warehouse in .*empty yet/u);
    await refused(url, folder('target'), /no warehouse in the database moved_\d+ .*nothing was added to it/u);
    await refused(source, 'postgres://x/y', /begins with neither clickhouse:\/\/ nor clickhouses:/u);
    // Other runs are there.
    await good(['run', 'add', '--data-dir', folder('other'), '--run-id', 'other', place.file('other.json', vllm())]);
    await good(['migrate', '--from', folder('other'), '--to', url]);
    const there = rows(url);
    await refused(source, url, /has other rows of benchmark_run_fact: this is no migration from there that was begun, or the source was written to since; name an empty warehouse, nothing was copied/u);
    assert.deepEqual(rows(url), there);
    // As many rows, with other values.
    await good(['run', 'add', '--data-dir', folder('alike'), '--run-id', 'alike', place.file('alike.json', vllm({ duration: 77 }))]);
    await refused(folder('alike'), url, /has rows with other values of benchmark_run_fact/u);
    assert.deepEqual(rows(url), there);
    // A schema of later.
    await servers[0].sql(`INSERT INTO ${name}.tracecore_schema (version, since) VALUES (99, 0)`);
    await refused(source, url, /has schema version 99, this program knows up to \d+: use a newer tracecore/u);
    const usage = await run(['migrate', '--from', source]);
    assert.match(usage.stderr, /from where to where\? --from and --to/u);
    const batch = await run(['migrate', '--from', source, '--to', url, '--batch', '0']);
    assert.match(batch.stderr, /--batch takes rows, from 1 to/u);
  });
});
