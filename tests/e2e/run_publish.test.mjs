// SPDX-License-Identifier: Apache-2.0
// What publishing asks of a run: every condition is named, and neither the order of runs nor that of
// signatures matters. Also what a dry run shows, and what `run add` says is unknown.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { add, contract, scratch, show, tracecore, vllm } from './support/runs.mjs';

let place;
let number = 0;
before(() => { place = scratch('run_publish'); });
after(() => place.remove());
const fresh = () => path.join(place.folder, `data${number++}`);

const e2e = { mean_e2el_ms: 3000, median_e2el_ms: 2900, std_e2el_ms: 50, p99_e2el_ms: 3400 };
const unmet = (conditions) => conditions.filter((c) => c.state !== 'met').map((c) => c.condition);
const signWith = (data, id) => {
  const key = path.join(place.folder, 'key');
  const { status, stderr } = tracecore(['evidence', 'sign', id, '--data-dir', data, fs.existsSync(key) ? '--key' : '--new-key', key]);
  assert.equal(status, 0, stderr);
};
/** Arguments of the n-th replicate, with all that a contract of three asks for. */
function replicate(n) {
  const yaml = contract().replace('minReplicates: 5', 'minReplicates: 3').replace('  workload:\n', '  cost:\n    gpuHourUsd: 3.6\n  workload:\n');
  const probe = { tracecore_probe: 1, software: { driver_version: '570.1', cuda_version: '12.8', nccl_version: '2.26.2', image_digest: `sha256:${'5'.repeat(64)}` },
    hardware: { gpu_model: 'NVIDIA H100', gpu_count: 8 } };
  return ['--contract', place.file('run.yaml', yaml), '--run-id', `r${n}`, place.file(`r${n}.json`, vllm({ ...e2e, duration: 31 + n })),
    '--artifact', place.file('probe.json', probe)];
}

describe('a run', () => {
  test('of other lengths, alone, unsigned and on an unknown machine names each of these', () => {
    const data = fresh();
    const yaml = contract().replaceAll('inputTokens: 1024', 'inputTokens: 512');
    const { answer } = add(data, ['--contract', place.file('other.yaml', yaml), place.file('other.json', vllm())]);
    assert.equal(answer.benchmark_class, 'publication_grade');
    assert.equal(answer.publishable, false);
    const shown = show(data, answer.run_id);
    assert.equal(shown.publishable, false);
    assert.deepEqual(shown.conditions, shown.run.conditions.map((c) => (c.condition === 'manifest' ? { ...c, why: 'every file is as it was stored' } : c)));
    assert.deepEqual(unmet(shown.conditions), ['workload', 'metrics', 'hardware', 'software', 'image', 'replicates', 'signed']);
    const why = Object.fromEntries(shown.conditions.map((c) => [c.condition, c.why]));
    assert.match(why.workload, /measured with 1024 input and 128 output tokens.*\(512 and 128 first\)/u);
    assert.match(why.metrics, /p99_latency_ms, cost_per_request_usd, cost_per_token_usd/u);
    assert.match(why.replicates, /^0 of 5/u, 'of something else: no replicate');
    assert.match(tracecore(['run', 'show', '--data-dir', data, answer.run_id]).stdout, /conditions for publishing\n {2}contract {8}met {11}valid\n {2}workload {8}not met/u);
  });

  test('may be published when its replicates and signatures are there, in any order', () => {
    for (const [first, second] of [[true, false], [false, true]]) {
      const data = fresh();
      const publishable = () => ['r1', 'r2', 'r3'].map((id) => show(data, id)).map((s) => s.publishable && s.run.publishable);
      for (const n of first ? [1, 2, 3] : [3, 1, 2]) {
        assert.equal(add(data, replicate(n)).answer.publishable, false);
        if (first) {
          signWith(data, `r${n}`);
        }
      }
      assert.deepEqual(publishable(), [first, first, first]);
      if (second) {
        ['r2', 'r3', 'r1'].forEach((id) => signWith(data, id));
        assert.deepEqual(publishable(), [true, true, true]);
      }
      if (first) {
        const digest = show(data, 'r2').lineage.raw_uris.find((uri) => uri.role === 'result').digest.slice(7);
        const [stored] = fs.readdirSync(path.join(data, 'files'), { recursive: true }).filter((name) => name.endsWith(digest));
        fs.rmSync(path.join(data, 'files', stored), { force: true });
        const { conditions, publishable: still } = show(data, 'r2');
        assert.deepEqual([still, unmet(conditions)], [false, ['manifest']]);
      }
    }
  });
});

describe('a dry run', () => {
  test('shows the rows that are written then', () => {
    const data = fresh();
    const preview = add(data, ['--dry-run', ...replicate(1)]).answer;
    assert.equal(fs.existsSync(data), false);
    const { answer } = add(data, replicate(1));
    assert.deepEqual(preview.rows, answer.rows);
    const shown = show(data, 'r1');
    const same = (row) => ({ ...row, added_at: null });
    assert.deepEqual(preview.tables.benchmark_run_fact.map(same), [same(shown.run)]);
    assert.deepEqual(preview.tables.serving_outcome_fact, shown.serving);
    assert.deepEqual(preview.tables.hardware_topology_dim, [shown.hardware].map((row) => ({ ...row })));
    assert.equal(preview.tables.telemetry_slice_fact.length, answer.rows.telemetry_slice_fact);
  });
});

describe('what is unknown', () => {
  test('is told, with what to give for it', () => {
    const file = place.file('bare.json', vllm());
    const { stdout } = tracecore(['run', 'add', '-q', '--data-dir', fresh(), file]);
    assert.match(stdout.replaceAll(/\n +/gu, ' '), /unknown: cost per token \(--gpu-hour-usd N\); queueing delay \(.*driver version, CUDA version, NCCL version \(attach the output of tracecore probe\)/u);
    const { answer } = add(fresh(), replicate(1));
    assert.deepEqual(answer.unknown.map((u) => u.what), ['queueing delay', 'cluster', 'zone', 'queue']);
    assert.equal(tracecore(['run', 'add', '--data-dir', fresh(), '--gpu-hour-usd', '-1', file]).status, 2);
  });
});

describe('scaling', () => {
  test('is against the smallest scale of the case, in whichever order its runs come', () => {
    const log = (nodes, samples) => {
      const line = (ms, key, value, metadata = {}) => `:::MLLOG ${JSON.stringify({ namespace: '', time_ms: 1770000000000 + ms, event_type: 'POINT_IN_TIME', key, value, metadata })}`;
      return [line(0, 'number_of_nodes', nodes), line(1, 'accelerators_per_node', 8), line(2, 'run_start', null),
        line(3, 'tracked_stats', { throughput: samples, train_step_time: 0.5 }, { step: 100 }), line(60000, 'run_stop', null, { status: 'success', step_num: 100 }), ''].join('\n');
    };
    const yaml = place.file('training.yaml', contract(['--workload-type', 'training']));
    const runs = { s8: log(1, 100), s16: log(2, 180), s32: log(4, 300) };
    const told = Object.values({ a: ['s8', 's16', 's32'], b: ['s32', 's16', 's8'] }).map((order) => {
      const data = fresh();
      order.forEach((id) => assert.equal(add(data, ['--contract', yaml, '--run-id', id, place.file(`${id}.log`, runs[id])]).status, 0));
      return ['s8', 's16', 's32'].map((id) => show(data, id)).map(({ training: [row], conditions }) => [row.scaling_efficiency_pct,
        row.definitions.scaling_efficiency_pct, conditions.find((c) => c.condition === 'scaling').state]);
    });
    assert.deepEqual(told[0], [100, 90, 75].map((pct) => [pct, 'tracecore:scaling_efficiency_pct', 'met']));
    assert.deepEqual(told[1], told[0]);
  });
});
