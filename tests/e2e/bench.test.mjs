// SPDX-License-Identifier: Apache-2.0
// tracecore-bench, the program that measures: it stands beside tracecore, which counts no allocations.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { binary, Daemon, source, workspace } from './support/daemon.mjs';

const program = `${binary}-bench`;
const run = (...args) => spawnSync(program, args, { encoding: 'utf8', timeout: 60000 });
const detectors = [...fs.readFileSync(path.join(source, 'src/detect/detectors.def'), 'utf8').matchAll(/^DETECTOR\((\w+)\)/gmu)]
  .map((m) => m[1]);

test('the shipped program has no command bench', () => {
  const { status, stderr } = spawnSync(binary, ['bench'], { encoding: 'utf8' });
  assert.equal(status, 2);
  assert.match(stderr, /there is no command "bench"/u);
});

test('there is a benchmark for each detector', () => {
  const names = run('--list').stdout.split('\n').map((line) => line.split(' ')[0]);
  assert.ok(detectors.length > 10);
  assert.deepEqual(names.slice(0, detectors.length), detectors);
});

test('a measurement is one line of JSON with its allocations', () => {
  const { status, stdout } = run('--json', '--windows=2', 'nccl_hang');
  assert.equal(status, 0);
  const line = JSON.parse(stdout);
  assert.equal(line.bench, 'nccl_hang');
  assert.equal(line.events, 2048);
  assert.equal(line.allocs_per_event, 0);
});

test('startup times the shipped program, not this one', () => {
  const { status, stdout } = run('startup');
  assert.equal(status, 0);
  assert.ok(JSON.parse(stdout).median_ms > 0);
  const dir = workspace('bench');
  fs.copyFileSync(program, dir.file('tracecore-bench'));
  const alone = spawnSync(dir.file('tracecore-bench'), ['startup'], { encoding: 'utf8' });
  dir.remove();
  assert.equal(alone.status, 2);
  assert.match(alone.stderr, /cannot run the tracecore beside this program/u);
});

test('wrong usage is told, and help fits 80 columns', () => {
  for (const args of [['--no-such-option'], ['no_such_benchmark'], ['--windows=0']]) {
    const { status, stdout, stderr } = run(...args);
    assert.equal(status, 2);
    assert.equal(stdout, '');
    assert.match(stderr, /^tracecore-bench: /u);
  }
  const { status, stdout } = run('--help');
  assert.equal(status, 0);
  assert.deepEqual(stdout.split('\n').filter((line) => line.length > 80), []);
});

test('only tracecore-bench serve counts allocations', async () => {
  const dir = workspace('bench_serve');
  try {
    for (const [name, counts] of [[binary, false], [program, true]]) {
      const daemon = new Daemon(dir.file(path.basename(name)), {}, { program: name });
      await daemon.start();
      const total = (await daemon.metrics()).sum('tracecore_allocations_total');
      await daemon.stop();
      assert.equal(total > 0, counts, name);
    }
  } finally {
    dir.remove();
  }
});
