// SPDX-License-Identifier: Apache-2.0
// `tracecore rebuild`: tables that were cut, changed, emptied or removed are as they were, from the
// evidence and the ledger; and a rebuild that is killed at any moment changes nothing.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, source, workspace } from './support/daemon.mjs';
import { logs, traces, xid48 } from './support/otlp.mjs';
import { putRows, spoilRows } from './support/rows.mjs';
import { add, contract, dump as rowsOf, tracecore, vllm } from './support/runs.mjs';
import { sendLogs, sendMetrics } from './support/sdk.mjs';
import { ask } from './support/warehouse.mjs';
import { post, until } from './support/wire.mjs';

const ENOSPC = 28;
const POINTS = 2;
const TABLES = ['benchmark_run_fact', 'serving_outcome_fact', 'serving_request_fact', 'training_outcome_fact', 'telemetry_slice_fact', 'software_version_dim',
  'hardware_topology_dim', 'cluster_region_dim', 'workload_dim', 'artifact_lineage_dim', 'metric_definition_dim', 'verdict_fact', 'published_number', 'run_scope_fact'];
const space = workspace('rebuild');
const daemons = [];
let whole; // a data_dir of a daemon that was fed, and runs
let wanted; // what its tables hold
after(async () => { for (const daemon of daemons) await daemon.destroy(); space.remove(); });

const file = (name, content) => {
  const full = space.file(name);
  fs.mkdirSync(path.dirname(full), { recursive: true });
  fs.writeFileSync(full, typeof content === 'string' ? content : JSON.stringify(content));
  return full;
};
const sql = (data, query) => {
  const { status, stdout, stderr } = tracecore(['sql', '--json', '--limit', '0', '--data-dir', data, query]);
  assert.equal(status, 0, stderr);
  return stdout.split('\n').filter(Boolean);
};
const dump = (data, but = []) => rowsOf(data, TABLES.filter((table) => !but.includes(table)));
const database = (data) => path.join(data, 'warehouse.duckdb');
const verify = (data) => tracecore(['evidence', 'verify', '--data-dir', data]);
const assertGood = (data) => {
  const { status, stdout } = verify(data);
  assert.equal(status, 0, stdout);
};
const rebuild = (data, args = [], options = {}) => {
  const result = tracecore(['rebuild', '--json', '--data-dir', data, ...args], options);
  return { ...result, answer: result.stdout ? JSON.parse(result.stdout) : null };
};
const copyOf = (name, from = whole) => {
  const data = space.file(name);
  fs.cpSync(from, data, { recursive: true, preserveTimestamps: true });
  return data;
};
const sumOf = (answer, key) => TABLES.reduce((sum, table) => sum + (answer.tables[table][key] ?? 0), 0);

const QUICK = { warehouse: { slice_window: '1s', slice_lateness: '1s' } };
const RUN = { 'service.name': 'trainer', 'k8s.node.name': 'gpu-run', 'tracecore.run.id': 'run-e2e' };

before(async () => {
  const daemon = new Daemon(space.file('daemon'), QUICK);
  daemons.push(daemon);
  await daemon.start();
  await sendMetrics(daemon, 'protobuf', 'gzip', RUN, [{ shard: 'a' }, { shard: 'b' }]);
  await sendLogs(daemon, 'protobuf', 'none', RUN, [{ body: 'step', severityNumber: 9, attributes: { 'training.step': 5, rank: 0, 'step.duration': 0.5 } }]);
  for (const node of ['gpu-run', 'gpu-2', 'gpu-3']) {
    assert.equal((await post(daemon.http, 'logs', logs({ 'host.name': node, 'k8s.node.name': node }, [{ body: xid48(), severity: 17 }]))).status, 200);
  }
  assert.equal((await post(daemon.http, 'traces', traces(RUN, [{ name: 'llm_request', attributes: { 'gen_ai.request.id': 'cmpl-1' } }]))).status, 200);
  const told = await daemon.untilVerdicts('the verdicts', 3);
  const data = daemon.dataDir;
  // Runs of several kinds: with a contract, forced, named, with words; telemetry without a time.
  const prom = file('in/metrics.prom', '# TYPE DCGM_FI_DEV_GPU_TEMP gauge\nDCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-1",Hostname="n1"} 61\n');
  const yaml = file('in/run.yaml', contract());
  const runs = [
    ['--contract', yaml, '--result', file('in/b.json', vllm()), file('in/a.json', vllm({ max_concurrency: 8 })), '--telemetry', prom, '--artifact', file('in/notes.txt', 'notes\n')],
    ['--contract', yaml, '--result', file('in/c.json', vllm({ mean_ttft_ms: 301 })), '--intent', 'a second time', '--job-uid', 'job-7'],
    ['--name', 'loose', '--run-id', 'my.run', '--replicate-group', 'mine', '--scheduler-run-id', 's-1', '--result', file('in/d.json', vllm({ mean_ttft_ms: 302 })), '--telemetry', prom],
    ['--force', '--result', file('in/e.json', vllm({ median_ttft_ms: 9000 }))],
    ['--result', file('in/sub/d.json', vllm({ mean_ttft_ms: 303 })), file('in/d.json', vllm({ mean_ttft_ms: 302 }))],
  ];
  const ids = runs.map((args) => {
    const added = add(data, args);
    assert.equal(added.status, 0, added.stderr);
    return added.answer.run_id;
  });
  const signed = tracecore(['evidence', 'sign', ids[0], '--new-key', space.file('key'), '--data-dir', data]);
  assert.equal(signed.status, 0, signed.stderr);
  const count = async (table, where) => (await ask(daemon, `SELECT count(*) AS n FROM ${table} WHERE ${where}`))[0].n;
  await until('verdicts in the tables', async () => (await count('verdict_fact', 'true')) >= told.length, 30000, 100);
  await until('slices in the tables', async () => (await count('telemetry_slice_fact', 'source_digest IS NULL')) >= 2, 30000, 100);
  await until('requests in the tables', async () => (await count('serving_request_fact', 'evidence_batch IS NOT NULL')) >= 1, 30000, 100);
  await daemon.stop();
  putRows(data, [['published_number', { number_id: 'n1', metric: 'ttft', value: 1.5, run_id: ids[0] }]]);
  whole = data;
  wanted = dump(whole);
  for (const table of TABLES) {
    assert.ok(wanted[table].length > 0 || ['training_outcome_fact', 'hardware_topology_dim', 'cluster_region_dim', 'software_version_dim'].includes(table), `${table} is empty`);
  }
});

describe('a database that is whole', () => {
  test('is made anew, the same in every table', () => {
    const data = copyOf('same');
    const done = rebuild(data);
    assert.equal(done.status, 0, `${done.stderr}${JSON.stringify(done.answer, null, 1)}`);
    assert.equal(done.answer.equal, true);
    assert.deepEqual(dump(data), wanted);
    for (const [name, table] of Object.entries(done.answer.tables)) {
      assert.equal(table.before, wanted[name].length, name);
      assert.equal(table.digest_before, table.digest_after, name);
      assert.equal(table.copied, name === 'published_number' ? 1 : 0, name);
    }
    assert.deepEqual(done.answer.runs, { made: 5, copied: 0, lost: 0 });
    assert.match(done.answer.old, /warehouse\.duckdb\.before-rebuild-\d{8}T\d{6}Z$/u);
    assert.ok(fs.existsSync(done.answer.old));
    assert.ok(!fs.existsSync(path.join(data, 'warehouse.rebuild')));
    assertGood(data);
    assert.equal(rebuild(data, ['--drop-old']).answer.old, null);
  });
  test('keeps the old one under another name when that of this second is taken', () => {
    const data = copyOf('second');
    const stamp = (ms) => new Date(ms).toISOString().replace(/[-:]|\.\d+/gu, '');
    const taken = Array.from({ length: 30 }, (_, n) => `${database(data)}.before-rebuild-${stamp(Date.now() + n * 1000)}`);
    for (const name of taken) fs.writeFileSync(name, 'an older one');
    const done = rebuild(data);
    assert.equal(done.status, 0, done.stderr);
    assert.match(done.answer.old, /before-rebuild-\d{8}T\d{6}Z-2$/u);
    assert.ok(fs.existsSync(done.answer.old));
    for (const name of taken) assert.equal(fs.readFileSync(name, 'utf8'), 'an older one');
  });
  test('stays as it is with --dry-run and --into', () => {
    const data = copyOf('dry');
    const bytes = fs.readFileSync(database(data));
    assert.equal(rebuild(data, ['--dry-run']).status, 0);
    const into = space.file('into.duckdb');
    assert.equal(rebuild(data, ['--into', into]).status, 0);
    assert.ok(bytes.equals(fs.readFileSync(database(data))));
    assert.ok(fs.statSync(into).size > 12288);
    assert.ok(!fs.existsSync(`${into}.rebuild`));
    assert.equal(rebuild(data, ['--into', into]).status, 2, 'a file that is there is not written over');
  });
  test('and a daemon goes on with it', async () => {
    const daemon = new Daemon(space.file('goes_on'), QUICK);
    daemons.push(daemon);
    copyOf('goes_on/data');
    fs.rmSync(database(daemon.dataDir));
    assert.equal(rebuild(daemon.dataDir).status, 1);
    await daemon.start();
    const refused = rebuild(daemon.dataDir);
    assert.equal(refused.status, 2);
    assert.match(refused.stderr, /a daemon serves this data_dir.*stop it first/u);
    assert.equal((await post(daemon.http, 'logs', logs({ 'host.name': 'gpu-9' }, [{ body: xid48(), severity: 17 }]))).status, 200);
    const count = async () => (await ask(daemon, 'SELECT count(*) AS n FROM verdict_fact'))[0].n;
    await until('the next verdict', async () => (await count()) > wanted.verdict_fact.length, 30000, 100);
    await daemon.stop();
    const rows = dump(daemon.dataDir);
    assert.deepEqual(rows.verdict_fact.filter((row) => wanted.verdict_fact.includes(row)), wanted.verdict_fact);
    assert.equal(new Set(rows.verdict_fact).size, rows.verdict_fact.length);
  });
});

describe('rows', () => {
  const halve = (table) => `DELETE FROM ${table} WHERE rowid % 2 = 0`;
  test('that were deleted come back', () => {
    const data = copyOf('half');
    const tables = TABLES.filter((name) => name !== 'published_number');
    const kept = { telemetry_slice_fact: 'telemetry_slice', serving_request_fact: 'serving_request', verdict_fact: 'verdict' }; // the tables behind the views
    spoilRows(data, tables.map((name) => halve(kept[name] ?? name)));
    const left = dump(data);
    const done = rebuild(data);
    assert.equal(done.status, 1, done.stderr);
    for (const name of tables) {
      assert.ok(left[name].length < wanted[name].length || wanted[name].length === 0, name);
      assert.equal(done.answer.tables[name].missing, wanted[name].length - left[name].length, name);
    }
    assert.equal(sumOf(done.answer, 'extra') + sumOf(done.answer, 'differing'), 0);
    assert.deepEqual(dump(data), wanted);
  });
  test('that were changed or invented are found and put right', () => {
    const data = copyOf('changed');
    spoilRows(data, ['UPDATE serving_outcome_fact SET ttft_mean_ms = 1', "UPDATE verdict SET headline = 'all is well'"]);
    putRows(data, [['serving_outcome_fact', { run_id: 'nobody', ttft_p50_ms: 1 }], ['benchmark_run_fact', { run_id: 'nobody' }]]);
    const checked = rebuild(data, ['--dry-run']);
    assert.equal(checked.status, 1);
    const { tables } = rebuild(data).answer;
    assert.deepEqual(tables, checked.answer.tables);
    assert.equal(tables.serving_outcome_fact.differing, wanted.serving_outcome_fact.length);
    assert.equal(tables.verdict_fact.differing, wanted.verdict_fact.length);
    assert.equal(tables.serving_outcome_fact.extra, 1);
    assert.equal(tables.benchmark_run_fact.extra, 1);
    assert.deepEqual(dump(data), wanted);
  });
  test('of runs that retain has moved do not come back', () => {
    const data = copyOf('retained');
    spoilRows(data, ["UPDATE benchmark_run_fact SET added_at = '2025-01-01' WHERE run_id = 'my.run'"]);
    const done = tracecore(['retain', '--data-dir', data]);
    assert.equal(done.status, 0, done.stderr);
    const after = dump(data);
    assert.equal(after.benchmark_run_fact.length, wanted.benchmark_run_fact.length - 1);
    assert.equal(after.artifact_lineage_dim.length, wanted.artifact_lineage_dim.length);
    const again = rebuild(data);
    assert.equal(again.status, 0, JSON.stringify(again.answer, null, 1));
    assert.deepEqual(dump(data), after);
  });
});

describe('a file', () => {
  // Nothing but the table itself holds what was published: what cannot be read of it is lost.
  const but = ['published_number'];
  const rest = () => Object.fromEntries(Object.entries(wanted).filter(([name]) => !but.includes(name)));
  const damages = {
    removed: (data) => fs.rmSync(database(data)),
    empty: (data) => fs.truncateSync(database(data), 0),
    cut: (data) => fs.truncateSync(database(data), Math.floor(fs.statSync(database(data)).size / 2)),
    'cut within its headers': (data) => fs.truncateSync(database(data), 5000),
    'of other bytes': (data) => fs.writeFileSync(database(data), Buffer.alloc(100000, 'x')),
    'with flipped bytes': (data) => {
      const bytes = fs.readFileSync(database(data));
      for (let at = 12288 + 1000; at < bytes.length; at += 100003) bytes[at] ^= 0x55;
      fs.writeFileSync(database(data), bytes);
    },
    'with a flipped header': (data) => {
      const bytes = fs.readFileSync(database(data));
      for (const at of [100, 4096 + 20, 8192 + 20]) bytes[at] ^= 0xff;
      fs.writeFileSync(database(data), bytes);
    },
  };
  for (const [what, harm] of Object.entries(damages)) {
    test(`that is ${what}: verify tells, rebuild mends`, () => {
      const data = copyOf(`file_${what.replaceAll(' ', '_')}`);
      harm(data);
      const told = verify(data);
      assert.equal(told.status, 1, told.stdout + told.stderr);
      assert.match(told.stdout, /tracecore rebuild/u);
      const done = rebuild(data);
      assert.equal(done.status, 1, done.stderr);
      assert.equal(done.answer.equal, false);
      assert.deepEqual(dump(data, but), rest());
      const published = sql(data, 'SELECT * FROM published_number');
      assert.ok(published.length === 0 || published[0] === wanted.published_number[0]);
      assertGood(data);
    });
  }
});

describe('evidence', () => {
  test('of a run that is damaged: its rows are copied, and told', () => {
    const data = copyOf('bad_evidence');
    const [row] = sql(data, "SELECT * FROM artifact_lineage_dim WHERE run_id = 'my.run'").map((line) => JSON.parse(line));
    const digest = JSON.parse(row.raw_uris).find((uri) => uri.role === 'result').digest.slice(7);
    const stored = path.join(data, 'files', digest.slice(0, 2), digest);
    // It is a file of another run too.
    const bytes = fs.readFileSync(stored);
    bytes[40] ^= 0x55;
    fs.chmodSync(stored, 0o600);
    fs.writeFileSync(stored, bytes);
    const done = rebuild(data);
    assert.equal(done.status, 0, done.stderr);
    assert.deepEqual(done.answer.runs, { made: 3, copied: 2, lost: 0 });
    assert.match(done.answer.notes.join('\n'), /run my\.run: its rows are copied from the old database: .*damaged/u);
    assert.deepEqual(dump(data), wanted);
    fs.rmSync(database(data));
    const without = rebuild(data);
    assert.equal(without.status, 1);
    assert.deepEqual(without.answer.runs, { made: 3, copied: 0, lost: 2 });
  });
  test('of a time before the ledger: words come from the old database', () => {
    const data = copyOf('older');
    fs.rmSync(path.join(data, 'ledger'), { recursive: true });
    fs.rmSync(path.join(data, 'evidence'), { recursive: true });
    spoilRows(data, ['DELETE FROM telemetry_slice WHERE scope_id IN (SELECT scope_id FROM telemetry_scope WHERE source_digest IS NULL)', 'DELETE FROM metric_definition_dim']);
    const done = rebuild(data);
    assert.equal(done.status, 1, done.stderr);
    const rows = dump(data, ['telemetry_slice_fact']);
    for (const [name, lines] of Object.entries(rows)) assert.deepEqual(lines, wanted[name], name);
    assert.equal(done.answer.tables.verdict_fact.copied, wanted.verdict_fact.length);
    fs.rmSync(database(data));
    assert.equal(rebuild(data).status, 1);
    assert.equal(sql(data, 'SELECT run_id FROM benchmark_run_fact').length, 5);
  });
});

describe('a rebuild that is disturbed', () => {
  let library;
  let built;
  let total;
  before(() => {
    library = space.file('dying.so');
    built = spawnSync('cc', ['-shared', '-fPIC', '-D_GNU_SOURCE', '-O1', '-o', library, path.join(source, 'tests/e2e/support/dying.c'), '-ldl'], { encoding: 'utf8' });
  });
  const disturbed = (data, extra) => rebuild(data, [], { env: { ...process.env, LD_PRELOAD: library, ASAN_OPTIONS: 'verify_asan_link_order=0:detect_leaks=0', ...extra } });
  const numbers = () => (process.env.TC_EVERY_CALL ? Array.from({ length: total }, (_, n) => n + 1)
    : [...Array.from({ length: POINTS }, (_, n) => Math.max(1, Math.round((n + 0.5) * (total / POINTS)))), total - 1, total]);
  const check = (data, what) => {
    assert.deepEqual(dump(data), wanted, what);
    const again = rebuild(data);
    assert.equal(again.status, 0, `${what}: ${again.stderr}`);
    assert.deepEqual(dump(data), wanted, what);
    assert.ok(!fs.existsSync(path.join(data, 'warehouse.rebuild')), what);
  };
  test('makes a number of calls', (t) => {
    if (built.status !== 0) { t.skip(`no compiler: ${built.stderr ?? built.error}`); return; }
    const count = space.file('count.txt');
    const done = disturbed(copyOf('count'), { TC_CALL_COUNT: count });
    assert.equal(done.status, 0, done.stderr);
    total = Number(fs.readFileSync(count, 'utf8'));
    assert.ok(total > 50, `${total} calls`);
  });
  test('by kill -9 leaves the old tables or the new ones', (t) => {
    if (built.status !== 0) { t.skip('no compiler'); return; }
    for (const at of numbers()) {
      const data = copyOf(`kill_${at}`);
      const done = disturbed(data, { TC_CALL_AT: String(at) });
      assert.equal(done.signal, 'SIGKILL', `call ${at} of ${total}: ${done.stderr}`);
      check(data, `killed at call ${at} of ${total}`);
      fs.rmSync(data, { recursive: true });
    }
  });
  test('by a full disk says so and changes nothing, or does not need it', (t) => {
    if (built.status !== 0) { t.skip('no compiler'); return; }
    for (const at of numbers()) {
      const data = copyOf(`full_${at}`);
      const done = disturbed(data, { TC_CALL_AT: String(at), TC_CALL_FAILS: String(ENOSPC) });
      assert.ok(done.status === 0 || done.status === 2, `call ${at}: ${done.status} ${done.signal} ${done.stderr}`);
      assert.ok(done.status === 0 || done.stderr !== '');
      check(data, `full at call ${at} of ${total}`);
      fs.rmSync(data, { recursive: true });
    }
  });
});
