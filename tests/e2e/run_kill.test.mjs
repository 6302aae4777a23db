// SPDX-License-Identifier: Apache-2.0
// An import that is killed, or that a full disk meets, at any call that changes the file system:
// the database is as before or has the whole run, and no evidence is left that nothing refers to.
// TC_EVERY_CALL=1 tries every call; else some of them, others each time the seed is changed.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { add, binary, contract, list, referred, scratch, show, stored, tracecore, vllm } from './support/runs.mjs';

const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const POINTS = 5;
const ENOSPC = 28;

let place;
let library;
let built;
let total; // calls of one import
before(() => {
  place = scratch('run_kill');
  library = path.join(place.folder, 'dying.so');
  built = spawnSync('cc', ['-shared', '-fPIC', '-D_GNU_SOURCE', '-O1', '-o', library,
    path.join(source, 'tests/e2e/support/dying.c'), '-ldl'], { encoding: 'utf8' });
});
after(() => place.remove());

const file = (...args) => place.file(...args);
const environment = (extra) => ({ ...process.env, LD_PRELOAD: library,
  ASAN_OPTIONS: 'verify_asan_link_order=0:detect_leaks=0', ...extra });

/** The import that is disturbed: a contract, results, telemetry, an artifact. */
const inputs = () => ['--contract', file('run.yaml', contract()),
  '--result', file('one.json', vllm()), file('two.json', vllm({ max_concurrency: 8 })),
  '--telemetry', file('metrics.prom', '# TYPE DCGM_FI_DEV_GPU_TEMP gauge\nDCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-1",Hostname="n1"} 61 1771000000000\n'),
  '--artifact', file('notes.txt', 'what the driver said\n')];

/** A data_dir with one run in it. */
function prepared(name) {
  const base = path.join(place.folder, 'base');
  const data = path.join(place.folder, name);
  if (!fs.existsSync(base)) {
    assert.equal(add(base, [file('base.json', vllm({ max_concurrency: 2 }))]).status, 0);
  }
  fs.cpSync(base, data, { recursive: true });
  return data;
}

function numbers() {
  if (process.env.TC_EVERY_CALL) {
    return Array.from({ length: total }, (_, n) => n + 1);
  }
  const step = total / POINTS;
  return Array.from({ length: POINTS }, (_, n) => Math.max(1, Math.round((n + 0.5) * step)));
}

/** After whatever happened: what was there is there, the run is whole or absent, and adds well. */
function check(data, what) {
  const runs = list(data).length;
  assert.ok(runs === 1 || runs === 2, what);
  const again = add(data, inputs());
  assert.equal(again.status, 0, `${what}: ${again.stderr}`);
  assert.equal(again.answer.status, runs === 1 ? 'added' : 'there', what);
  const all = show(data, again.answer.run_id);
  assert.equal(all.serving.length, 2, what);
  assert.equal(all.telemetry.filter((t) => t.family === 'dcgm').length, 1, what);
  assert.equal(all.lineage.raw_uris.length, 5, what);
  assert.equal(add(data, [file('third.json', vllm({ max_concurrency: 64 }))]).status, 0, what);
  assert.deepEqual(stored(data), referred(data), `${what}: evidence that nothing refers to`);
}

describe('an import', () => {
  test('makes a number of calls', (t) => {
    if (built.status !== 0) { t.skip(`no compiler: ${built.stderr ?? built.error}`); return; }
    const data = prepared('count');
    const count = path.join(place.folder, 'count.txt');
    const result = add(data, inputs(), { env: environment({ TC_CALL_COUNT: count }) });
    assert.equal(result.status, 0, result.stderr);
    total = Number(fs.readFileSync(count, 'utf8'));
    assert.ok(total > 10, `${total} calls`);
    check(data, 'undisturbed');
  });

  test('that is killed leaves the database as before, or with the whole run', (t) => {
    if (built.status !== 0) { t.skip('no compiler'); return; }
    for (const at of numbers()) {
      const data = prepared(`kill_${at}`);
      const result = tracecore(['run', 'add', '--data-dir', data, ...inputs()], { env: environment({ TC_CALL_AT: String(at) }) });
      assert.equal(result.signal, 'SIGKILL', `call ${at} of ${total}: ${result.stderr}`);
      check(data, `killed at call ${at} of ${total}`);
    }
  });

  test('whose disk is full at one call says so, or does not need it', (t) => {
    if (built.status !== 0) { t.skip('no compiler'); return; }
    for (const at of numbers()) {
      const data = prepared(`full_${at}`);
      const result = tracecore(['run', 'add', '--data-dir', data, ...inputs()],
        { env: environment({ TC_CALL_AT: String(at), TC_CALL_FAILS: String(ENOSPC) }) });
      assert.ok(result.status === 0 || result.status === 2, `call ${at}: ${result.status} ${result.signal} ${result.stderr}`);
      if (result.status === 2) {
        assert.notEqual(result.stderr, '');
      }
      check(data, `full at call ${at} of ${total}`);
    }
  });
});

describe('imports at random moments', () => {
  test('killed again and again, and then right', async () => {
    const data = path.join(place.folder, 'random');
    const args = inputs();
    let seed = Number(process.env.TC_SEED ?? 7);
    for (let n = 0; n < 8; n++) {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      const child = spawn(binary, ['run', 'add', '--data-dir', data, ...args], { stdio: 'ignore' });
      const ended = new Promise((resolve) => { child.on('exit', resolve); });
      await new Promise((resolve) => { setTimeout(resolve, seed % 700); });
      child.kill('SIGKILL');
      await ended;
    }
    const result = add(data, args);
    assert.equal(result.status, 0, result.stderr);
    assert.equal(list(data).length, 1);
    assert.equal(show(data, result.answer.run_id).serving.length, 2);
    assert.deepEqual(stored(data), referred(data));
  });

  test('two at once: both are there in the end', async () => {
    const data = path.join(place.folder, 'two');
    const children = [1, 2, 3].map((n) => new Promise((resolve) => {
      const child = spawn(binary, ['run', 'add', '--json', '--data-dir', data, file(`at_once_${n}.json`, vllm({ mean_ttft_ms: 300 + n }))]);
      let text = '';
      child.stderr.on('data', (bytes) => { text += bytes; });
      child.on('exit', (status) => resolve({ status, text }));
    }));
    for (const { status, text } of await Promise.all(children)) {
      assert.equal(status, 0, text);
    }
    assert.deepEqual(list(data).map((run) => run.replicate_index).sort(), [1, 2, 3]);
    assert.deepEqual(stored(data), referred(data));
  });

  test('two of the same at once: one run', async () => {
    const data = path.join(place.folder, 'same');
    const args = inputs();
    const children = [1, 2].map(() => new Promise((resolve) => {
      const child = spawn(binary, ['run', 'add', '--data-dir', data, ...args], { stdio: 'ignore' });
      child.on('exit', resolve);
    }));
    assert.deepEqual(await Promise.all(children), [0, 0]);
    assert.equal(list(data).length, 1);
    assert.deepEqual(stored(data), referred(data));
  });
});

describe('a data_dir', () => {
  test('that cannot be written is an error, and the remedy is clear', (t) => {
    if (process.getuid() === 0) { t.skip('root may write everywhere'); return; }
    const data = path.join(place.folder, 'locked');
    fs.mkdirSync(data, { mode: 0o500 });
    const result = add(data, inputs());
    assert.equal(result.status, 2);
    assert.match(result.stderr, /locked/u);
  });
  test('that is a file is an error that names it', () => {
    const result = add(file('no_dir', 'x'), inputs());
    assert.equal(result.status, 2);
    assert.match(result.stderr, /no_dir/u);
  });
});
