// SPDX-License-Identifier: Apache-2.0
// Telemetry files of a run: what becomes a slice, how it is joined, and what is refused.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { add, scratch, tracecore, vllm } from './support/runs.mjs';

let place;
let number = 0;
before(() => { place = scratch('run_telemetry'); });
after(() => place.remove());

const file = (name, content) => {
  const target = path.join(place.folder, name);
  fs.writeFileSync(target, content);
  return target;
};
const fresh = () => path.join(place.folder, `data${number++}`);
const T0 = 1772600760000; // 2026-03-04T05:06:00Z
const rows = (data, query) => {
  const run = tracecore(['sql', '--data-dir', data, '--json', query]);
  assert.equal(run.status, 0, run.stderr);
  return run.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
};
const exporter = (run = '') => [
  '# TYPE DCGM_FI_DEV_GPU_TEMP gauge',
  ...[0, 15, 30, 45].map((s, i) => `DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-1",Hostname="n1"${run}} ${50 + i} ${T0 + s * 1000}`),
  '# TYPE kueue_admitted_workloads_total counter',
  ...[0, 30, 60].map((s, i) => `kueue_admitted_workloads_total{cluster_queue="q"${run}} ${60 * i} ${T0 + s * 1000}`),
].join('\n').concat('\n');

test('samples become windows with the run they were given with', () => {
  const data = fresh();
  const { status, answer } = add(data, ['--result', file('r.json', JSON.stringify(vllm())), '--telemetry', file('t.prom', exporter())]);
  assert.equal(status, 0);
  const got = rows(data, `SELECT family, metric, unit, node_name, gpu_uuid, point, run_id, run_join, count, min, max,
    mean, p50, p95, last FROM telemetry_slice_fact WHERE family <> 'vllm' ORDER BY window_start, metric`);
  assert.equal(got.length, 3);
  const [gpu, first, second] = got;
  assert.deepEqual(gpu, {
    family: 'dcgm', metric: 'gpu_temperature', unit: 'C', node_name: 'n1', gpu_uuid: 'GPU-1', point: null,
    run_id: answer.run_id, run_join: 'given', count: 4, min: 50, max: 53, mean: 51.5, p50: 51, p95: 53, last: 53,
  });
  assert.equal(first.point, 'cluster_queue=q');
  assert.equal(first.mean, 2, 'sixty in thirty seconds');
  assert.equal(second.mean, 2);
  assert.equal(second.last, 120);
  const [definition] = rows(data, "SELECT measures, unit FROM metric_definition_dim WHERE definition_id = 'dcgm:DCGM_FI_DEV_GPU_TEMP'");
  assert.deepEqual(definition, { measures: 'gpu_temperature', unit: 'C' });
});

test('the same import again changes nothing', () => {
  const data = fresh();
  const args = ['--result', file('r.json', JSON.stringify(vllm())), '--telemetry', file('t.prom', exporter())];
  assert.equal(add(data, args).answer.status, 'added');
  assert.notEqual(add(data, args).answer.status, 'added');
  assert.equal(rows(data, "SELECT count(*) AS n FROM telemetry_slice_fact WHERE family <> 'vllm'")[0].n, 3);
});

test('a label that names the run is a join by identity; another run is refused', () => {
  const data = fresh();
  const result = file('r.json', JSON.stringify(vllm()));
  assert.equal(add(data, ['--run-id', 'nightly-1', '--result', result, '--telemetry', file('mine.prom', exporter(',run_id="nightly-1"'))]).status, 0);
  assert.deepEqual(rows(data, "SELECT DISTINCT run_id, run_join FROM telemetry_slice_fact WHERE family <> 'vllm'"), [{ run_id: 'nightly-1', run_join: 'identity' }]);
  const other = tracecore(['run', 'add', '--data-dir', data, '--run-id', 'nightly-2', '--result', result,
    '--telemetry', file('other.prom', exporter(',run_id="nightly-1"'))]);
  assert.notEqual(other.status, 0);
  assert.match(other.stderr + other.stdout, /belong to run nightly-1/u);
  assert.equal(rows(data, 'SELECT count(*) AS n FROM benchmark_run_fact')[0].n, 1);
});

test('what is no telemetry is an error that says what would be', () => {
  const data = fresh();
  const run = tracecore(['run', 'add', '--data-dir', data, '--result', file('r.json', JSON.stringify(vllm())),
    '--telemetry', file('t.txt', 'hello there, this is a note\n')]);
  assert.notEqual(run.status, 0);
  assert.match(run.stderr + run.stdout, /expected Prometheus text/u);
});
