// SPDX-License-Identifier: Apache-2.0
// Measurements by point: what `run diff` and `run show` say of runs of nccl-tests and the like.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { add, scratch, show, tracecore, vllm } from './support/runs.mjs';

let place;
let data;
const file = (...args) => place.file(...args);
const run = (...args) => tracecore(['run', args[0], '--data-dir', data, ...args.slice(1)]);
const diff = (a, b) => JSON.parse(run('diff', '--json', a, b).stdout);

/** What nccl-tests prints, with the bus bandwidth of each size. */
const nccl = (op, rows) => [
  `# Collective test starting: ${op}_perf`,
  '# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0',
  '#',
  '# Using devices',
  '#  Rank  0 Group  0 Pid 1234 on node-1 device  0 [0000:0f:00] NVIDIA H100 80GB HBM3',
  '#  Rank  1 Group  0 Pid 1235 on node-1 device  1 [0000:2d:00] NVIDIA H100 80GB HBM3',
  '#',
  '#                                                              out-of-place                       in-place          ',
  '#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong ',
  '#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)         ',
  ...rows.map(([size, busbw]) => `  ${size}     ${size / 8}     float    none      -1   ${(size / busbw / 2000).toFixed(2)}  ${(busbw * 2).toFixed(2)}  ${busbw.toFixed(2)}       0   ${(size / busbw / 2000).toFixed(2)}  ${(busbw * 2).toFixed(2)}  ${busbw.toFixed(2)}       0`),
  '# Out of bounds values : 0 OK',
  '#',
  `# Collective test concluded: ${op}_perf`, ''].join('\n');
const MIB = 1 << 20;
const GIB = 1 << 30;

before(() => {
  place = scratch('run_slices');
  data = path.join(place.folder, 'data');
  for (const [id, args] of [
    ['gather-1', [file('g1.txt', nccl('all_gather', [[MIB, 15.5], [GIB, 107.37]]))]],
    ['gather-2', [file('g2.txt', nccl('all_gather', [[MIB, 15.5], [GIB, 90]]))]],
    ['gather-3', [file('g3.txt', nccl('all_gather', [[MIB, 15.25]]))]],
    ['alltoall', [file('a.txt', nccl('alltoall', [[MIB, 15.5], [GIB, 107.37]]))]],
    ['once', [file('o.json', vllm())]],
    ['twice', [file('t1.json', vllm()), file('t2.json', vllm({ duration: 31 }))]],
  ]) {
    const { status, stderr } = add(data, ['--run-id', id, ...args]);
    assert.equal(status, 0, stderr);
  }
});
after(() => place.remove());

describe('diff', () => {
  test('compares what a tool measured, point by point', () => {
    const { values, not_compared: odd } = diff('gather-1', 'gather-2');
    const busbw = values.filter((v) => v.metric === 'busbw' && v.a !== v.b);
    assert.deepEqual(busbw.map((v) => [v.a, v.b, v.unit, v.family, v.statistic]),
      [[107.37, 90, 'GB/s', 'nccl-tests', 'mean'], [107.37, 90, 'GB/s', 'nccl-tests', 'mean']]);
    assert.ok(busbw.every((v) => v.point.includes(`size=${GIB}`)));
    assert.ok(values.some((v) => v.point.includes(`size=${MIB}`) && v.ratio === 1));
    assert.deepEqual(odd, []);
    const text = run('diff', 'gather-1', 'gather-2').stdout;
    assert.match(text, /measurements of nccl-tests\n +metric +point +first +second +ratio\n/u);
    assert.match(text, / {2}busbw +op=all_gather.* 107\.4 +90 +0\.838/u);
    assert.match(text, / {2}equal: \d+ values\n/u);
  });
  test('of a run with itself is all equal', () => {
    const { values, not_compared: odd } = diff('alltoall', 'alltoall');
    assert.ok(values.length > 10 && values.every((v) => v.a === v.b));
    assert.deepEqual(odd, []);
  });
  test('says which points one of them does not have, once per point', () => {
    const fewer = diff('gather-1', 'gather-3');
    assert.deepEqual(fewer.not_compared.map((o) => o.why), ['only in the first', 'only in the first']);
    assert.ok(fewer.not_compared.every((o) => o.point.includes(`size=${GIB}`)));
    assert.ok(diff('gather-3', 'gather-1').not_compared.every((o) => o.why === 'only in the second'));
    const other = diff('gather-1', 'alltoall');
    assert.deepEqual(other.values, []);
    assert.ok(other.not_compared.some((o) => o.why === 'only in the first') && other.not_compared.some((o) => o.why === 'only in the second'));
  });
  test('says that a point is there twice', () => {
    assert.ok(diff('once', 'twice').not_compared.some((o) => o.why === 'twice in the second'));
    assert.ok(diff('twice', 'once').not_compared.some((o) => o.why === 'twice in the first'));
    assert.ok(!diff('once', 'twice').not_compared.some((o) => o.why.startsWith('only')));
  });
  test('says that telemetry is not compared', () => {
    const prom = file('t.prom', '# TYPE DCGM_FI_DEV_GPU_TEMP gauge\nDCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-1"} 50 1770969127254\n');
    const { status, stderr } = add(data, ['--run-id', 'warm', file('w.json', vllm({ duration: 33 })), '--telemetry', prom]);
    assert.equal(status, 0, stderr);
    const told = diff('once', 'warm').not_compared.find((o) => o.point === 'telemetry');
    assert.deepEqual([told.a, told.b], ['0 slices', '1 slices']);
    assert.match(run('diff', 'once', 'warm').stdout, /telemetry: see telemetry_slice_fact/u);
  });
});

describe('the case', () => {
  test('is that of one collective and its sizes', () => {
    const kase = (id) => show(data, id).run.benchmark_case_id;
    assert.equal(kase('gather-1'), kase('gather-2'));
    assert.notEqual(kase('gather-1'), kase('gather-3'));
    assert.notEqual(kase('gather-1'), kase('alltoall'));
    assert.deepEqual(['gather-1', 'gather-2', 'gather-3', 'alltoall'].map((id) => show(data, id).run.replicate_index), [1, 2, 1, 1]);
  });
});

describe('show', () => {
  test('has the points, and the least and the greatest value', () => {
    const { stdout } = run('show', 'gather-1');
    assert.match(stdout, /nccl-tests +busbw +GB\/s +4 +15\.5 +61\.\d+ +107\.4\n/u);
    assert.match(stdout, /measurements by point\n {2}nccl-tests op=all_gather/u);
    assert.match(stdout, /op=all_gather size=1073741824[^,]*in_place=0\n {4}algbw 214\.7 GB\/s, busbw 107\.4 GB\/s/u);
    const busbw = show(data, 'gather-1').telemetry.find((t) => t.metric === 'busbw');
    assert.deepEqual([busbw.slices, busbw.min, busbw.max], [4, 15.5, 107.37]);
  });
});
