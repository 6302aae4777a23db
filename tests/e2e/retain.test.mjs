// SPDX-License-Identifier: Apache-2.0
// `tracecore retain` and `tracecore export`: what is old moves and goes, what was published never,
// and a kill at any point loses nothing.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { add, binary, scratch, stored, tracecore, vllm } from './support/runs.mjs';
import { placed } from './support/elsewhere.mjs';
import { putRows } from './support/rows.mjs';

const DAY = 86400e3;
const ago = (days) => new Date(Date.now() - days * DAY);
let place;
before(() => { place = scratch('retain'); });
after(() => place.remove());

const sha256 = (bytes) => crypto.createHash('sha256').update(bytes).digest('hex');
const sql = (data, query) => {
  const { status, stdout, stderr } = tracecore(['sql', '--json', '--data-dir', data, query]);
  assert.equal(status, 0, stderr);
  return stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
};
const count = (data, table, where = 'true') => sql(data, `SELECT count(*) AS n FROM ${table} WHERE ${where}`)[0].n;
const retain = (data, args = []) => tracecore(['retain', '--data-dir', data, ...args]);
const cold = (data) => (fs.existsSync(path.join(data, 'cold')) ? fs.readdirSync(path.join(data, 'cold')).sort() : []);

/** Two old runs, one of them published, a young one; slices and verdicts of several ages. */
function fill(name) {
  const data = path.join(place.folder, name);
  fs.mkdirSync(data);
  const rows = [];
  for (const [id, days] of [['old', 200], ['published', 400], ['young', 10]]) {
    rows.push(['benchmark_run_fact', { run_id: id, name: id, added_at: ago(days) }],
      ['serving_outcome_fact', { run_id: id, ttft_p50_ms: 12.5 }],
      ['serving_request_fact', { run_id: id, request_id: `r-${id}`, started_at: ago(days), e2e_ms: 250.125 }],
      ['training_outcome_fact', { run_id: id, steps: 7 }],
      ['telemetry_slice_fact', { run_id: id, window_start: ago(days), window_end: ago(days), metric: 'm', count: 1 }],
      ['artifact_lineage_dim', { run_id: id, lineage_key: `k-${id}`, signing_state: 'unsigned', raw_uris: '[]' }]);
  }
  for (const days of [1, 29, 31, 300]) {
    rows.push(['telemetry_slice_fact', { window_start: ago(days), window_end: ago(days), metric: 'free', count: 1 }],
      ['serving_request_fact', { trace_id: `t${days}`, started_at: ago(days) }]);
  }
  for (const days of [1, 179, 181]) {
    rows.push(['verdict_fact', { verdict_digest: `v${days}`, incident_id: 'i', told_at: ago(days) }]);
  }
  rows.push(['verdict_fact', { verdict_digest: 'vp', told_at: ago(500), run_id: 'published' }],
    ['published_number', { number_id: 'n1', metric: 'ttft', value: 1.5, run_id: 'published' }]);
  putRows(data, rows);
  return data;
}

const ids = (data, table) => sql(data, `SELECT DISTINCT run_id FROM ${table} WHERE run_id IS NOT NULL ORDER BY run_id`)
  .map((row) => row.run_id);

function checkDone(data) {
  for (const table of ['benchmark_run_fact', 'serving_outcome_fact', 'serving_request_fact', 'training_outcome_fact', 'telemetry_slice_fact']) {
    assert.deepEqual(ids(data, table), ['published', 'young'], table);
  }
  assert.deepEqual(ids(data, 'artifact_lineage_dim'), ['old', 'published', 'young'], 'the way to its files stays');
  assert.equal(count(data, 'telemetry_slice_fact', 'run_id IS NULL'), 2);
  assert.equal(count(data, 'serving_request_fact', 'run_id IS NULL'), 2);
  assert.deepEqual(sql(data, 'SELECT verdict_digest AS v FROM verdict_fact ORDER BY v').map((r) => r.v), ['v1', 'v179', 'vp']);
  assert.equal(count(data, 'published_number'), 1);
}

function checkSnapshot(data, name) {
  const folder = path.join(data, 'cold', name);
  const manifest = JSON.parse(fs.readFileSync(path.join(folder, 'manifest.json')));
  assert.deepEqual(manifest.retention.runs, ['old']);
  for (const { file, bytes, digest } of manifest.tables) {
    const content = fs.readFileSync(path.join(folder, file));
    assert.equal(content.length, bytes);
    assert.equal(`sha256:${sha256(content)}`, digest);
    assert.equal(content.subarray(0, 4).toString(), 'PAR1');
  }
  const rows = Object.fromEntries(manifest.tables.map((t) => [t.table, t.rows]));
  assert.equal(rows.benchmark_run_fact, 3);
  assert.ok(rows.telemetry_slice_fact >= 1);
  assert.ok(rows.serving_request_fact >= 1);
  assert.ok(rows.verdict_fact >= 1);
}

describe('retain', () => {
  test('prints a plan, and with --dry-run does nothing', () => {
    const data = fill('dry');
    const text = retain(data, ['--dry-run']);
    assert.equal(text.status, 0, text.stderr);
    assert.match(text.stdout, /forget 2 slices and 2 requests of no run/);
    assert.match(text.stdout, /move 1 run \(1 serving row, 1 request, 1 training row, 1 slice\) and 1 verdict to a snapshot\n {8}old  added/);
    assert.match(text.stdout, /1 old run stays: a published number stands on it/);
    const plan = JSON.parse(retain(data, ['--dry-run', '--json']).stdout);
    assert.deepEqual(plan.warm.runs, ['old']);
    assert.deepEqual([plan.hot.slices, plan.hot.requests, plan.warm.requests], [2, 2, 1]);
    assert.equal(plan.protected_runs, 1);
    assert.equal(count(data, 'benchmark_run_fact'), 3);
    assert.deepEqual(cold(data), []);
  });

  test('moves and forgets by age, once', () => {
    const data = fill('once');
    assert.equal(retain(data).status, 0);
    checkDone(data);
    assert.equal(cold(data).length, 1);
    checkSnapshot(data, cold(data)[0]);
    const again = JSON.parse(retain(data, ['--json']).stdout);
    assert.deepEqual([again.hot.slices, again.warm.runs, again.warm.verdicts], [0, [], 0]);
    assert.equal(cold(data).length, 1);
  });

  test('removes snapshots, lineages and files when they are cold, and nothing that is published', () => {
    const data = path.join(place.folder, 'cold_data');
    const digests = {};
    for (const id of ['gone', 'kept']) {
      const file = path.join(place.folder, `${id}.json`);
      fs.writeFileSync(file, JSON.stringify(vllm({ duration: id === 'gone' ? 31.5 : 32.5 })));
      const { answer } = add(data, ['--run-id', id, '--result', file]);
      digests[id] = [answer.artifact_manifest_digest, `sha256:${sha256(fs.readFileSync(file))}`];
    }
    putRows(data, [['published_number', { number_id: 'n', run_id: 'kept', artifact_manifest_digest: digests.kept[0] }],
      ['benchmark_run_fact', { run_id: 'ancient', added_at: ago(900) }],
      ['artifact_lineage_dim', { run_id: 'ancient', raw_uris: JSON.stringify([{ digest: digests.gone[1] }]) }]]);
    // `ancient` moves to a snapshot that is too old as soon as it is there.
    assert.equal(retain(data).status, 0);
    assert.equal(cold(data).length, 1);
    const old = ago(800);
    for (const digest of stored(data)) {
      fs.utimesSync(path.join(data, 'files', digest.slice(7, 9), digest.slice(7)), old, old);
    }
    const moved = tracecore(['run', 'show', 'ancient', '--data-dir', data]);
    assert.equal(moved.status, 2);
    assert.match(moved.stderr, /run ancient was moved by `tracecore retain` to a snapshot/);
    assert.match(tracecore(['evidence', 'manifest', 'ancient', '--data-dir', data]).stderr,
      /^tracecore evidence: run ancient has no manifest in artifact_lineage_dim/);
    assert.match(tracecore(['evidence', 'manifest', 'nope', '--data-dir', data]).stderr, /^tracecore evidence: there is no run "nope"/);
    const plan = JSON.parse(retain(data, ['--json']).stdout);
    assert.equal(plan.cold.snapshots, 1);
    assert.deepEqual(plan.cold.runs, ['ancient']);
    assert.equal(plan.cold.files, 0, 'a file that another run has too stays');
    assert.deepEqual(cold(data), []);
    assert.deepEqual(ids(data, 'artifact_lineage_dim'), ['gone', 'kept']);
    assert.equal(stored(data).length, 4);
    // What nothing refers to goes; what is published stays, even without its rows.
    const stray = path.join(data, 'files', 'ab', 'ab'.repeat(32));
    fs.mkdirSync(path.dirname(stray), { recursive: true });
    fs.writeFileSync(stray, 'x');
    assert.equal(JSON.parse(retain(data, ['--json']).stdout).cold.files, 0, 'it is young');
    fs.utimesSync(stray, old, old);
    assert.equal(JSON.parse(retain(data, ['--json']).stdout).cold.files, 1);
    assert.ok(!fs.existsSync(stray));
    assert.equal(tracecore(['evidence', 'verify', '--data-dir', data]).status, 0);
  });

  test('refuses wrong days and a directory without a database', () => {
    const data = fill('wrong');
    for (const args of [['--hot-days', '0'], ['--hot-days', 'x'], ['--warm-days', '10'], ['--cold-days', '99999'], ['what']]) {
      assert.equal(retain(data, args).status, 2, args.join(' '));
    }
    const none = path.join(place.folder, 'none');
    assert.equal(retain(none).status, 2);
    assert.ok(!fs.existsSync(none));
  });

  test('killed at any moment, it loses nothing and the next one ends the work', async () => {
    const data = fill('killed');
    for (let i = 0; i < 8; i++) {
      const args = ['retain', '--data-dir', data];
      const child = spawn(binary, args, placed(args, { stdio: 'ignore' }));
      await new Promise((done) => { setTimeout(done, 40 + 90 * i); });
      child.kill('SIGKILL');
      await new Promise((done) => { if (child.exitCode !== null || child.signalCode !== null) done(); else child.on('exit', done); });
      const runs = ids(data, 'benchmark_run_fact');
      const snapshots = cold(data).filter((name) => !name.startsWith('.'));
      assert.ok(runs.includes('old') || snapshots.length > 0, 'the run is in the tables or in a snapshot');
      for (const name of snapshots) checkSnapshot(data, name);
    }
    assert.equal(retain(data).status, 0);
    checkDone(data);
    assert.ok(cold(data).filter((name) => !name.startsWith('.')).length > 0);
  });
});

describe('export', () => {
  test('writes every table with its digest, and never over what is there', () => {
    const data = fill('export');
    const out = path.join(place.folder, 'out');
    const first = tracecore(['export', '--parquet', out, '--json', '--data-dir', data]);
    assert.equal(first.status, 0, first.stderr);
    const lines = first.stdout.trim().split('\n').map((line) => JSON.parse(line));
    assert.ok(lines.length >= 12);
    assert.equal(lines.find((t) => t.table === 'benchmark_run_fact').rows, 3);
    const manifest = JSON.parse(fs.readFileSync(path.join(out, 'manifest.json')));
    for (const { file, bytes, digest } of manifest.tables) {
      const content = fs.readFileSync(path.join(out, file));
      assert.deepEqual([content.length, `sha256:${sha256(content)}`], [bytes, digest]);
    }
    const again = tracecore(['export', '--parquet', out, '--data-dir', data]);
    assert.equal(again.status, 2);
    assert.match(again.stderr, /--force/);
    const part = tracecore(['export', '--parquet', out, '--force', '--table', 'verdict_fact', '--data-dir', data]);
    assert.equal(part.status, 2, 'the other files would be in no manifest');
    assert.match(part.stderr, /would be in no manifest/);
    assert.deepEqual(JSON.parse(fs.readFileSync(path.join(out, 'manifest.json'))), manifest);
    assert.equal(tracecore(['export', '--parquet', out, '--force', '--data-dir', data]).status, 0);
    const some = path.join(place.folder, 'some');
    for (const args of [[], ['--force']]) {
      assert.equal(tracecore(['export', '--parquet', some, ...args, '--table', 'verdict_fact', '--data-dir', data]).status, 0);
    }
    assert.equal(tracecore(['export', '--parquet', out, '--table', 'nope', '--data-dir', data]).status, 2);
    assert.equal(tracecore(['export', '--data-dir', data]).status, 2);
  });
});
