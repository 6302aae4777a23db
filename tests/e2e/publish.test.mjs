// SPDX-License-Identifier: Apache-2.0
// From a query's result to a published number and back to its bytes, as people do it: also beside a daemon,
// after a rebuild, and on a machine that has only the packet. tests/unit/publish has each kind of tampering.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon } from './support/daemon.mjs';
import { elsewhere, placed } from './support/elsewhere.mjs';
import { add, binary, contract, scratch, tracecore, vllm } from './support/runs.mjs';

let place;
let daemon;
let data;
let key;
before(async () => {
  place = scratch('publish');
  daemon = new Daemon(path.join(place.folder, 'home'));
  await daemon.start();
  data = daemon.dataDir;
  key = path.join(place.folder, 'key');
  const yaml = contract().replace('minReplicates: 5', 'minReplicates: 3').replace('  workload:\n', '  cost:\n    gpuHourUsd: 3.6\n  workload:\n');
  const probe = { tracecore_probe: 1, software: { driver_version: '570.1', cuda_version: '12.8', nccl_version: '2.26.2', image_digest: `sha256:${'5'.repeat(64)}` },
    hardware: { gpu_model: 'NVIDIA H100', gpu_count: 8 } };
  for (const n of [1, 2, 3]) {
    const result = vllm({ mean_e2el_ms: 3000, median_e2el_ms: 2900, std_e2el_ms: 50, p99_e2el_ms: 3400, duration: 31 + n, p99_ttft_ms: 500 + n });
    assert.equal(add(data, ['--contract', place.file('run.yaml', yaml), '--run-id', `r${n}`, place.file(`r${n}.json`, result), '--artifact', place.file('probe.json', probe)]).status, 0);
  }
});
after(async () => {
  if (daemon.running) {
    await daemon.stop();
  }
  place.remove();
});

const run = (args) => tracecore([...args, '--data-dir', data]);
const json = ({ stdout }) => stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
const publish = (args) => {
  const result = run(['publish', '--json', ...args]);
  assert.notEqual(result.stdout, '', result.stderr);
  return { ...json(result)[0], exit: result.status };
};
const lineage = (id, ...more) => {
  const result = run(['lineage', '--json', id, ...more]);
  return { ...json(result)[0], exit: result.status };
};
const unmet = ({ claim }) => claim.conditions.filter((c) => c.state !== 'met').map((c) => c.condition);

describe('beside a daemon', () => {
  test('runs that are not signed are refused, if the contract asks for it', () => {
    assert.deepEqual(unmet(publish(['nightly-llama', '--metric', 'ttft_p99_ms'])), ['runs']);
    [1, 2, 3].forEach((n) => assert.equal(run(['evidence', 'sign', `r${n}`, n === 1 ? '--new-key' : '--key', key]).status, 0));
  });

  test('a group is published once, and too few runs only with the statement', () => {
    const refused = publish(['r1', '--metric', 'ttft_p99_ms']);
    assert.deepEqual([refused.exit, refused.number_id, unmet(refused)], [1, null, ['replicates', 'confidence']]);
    assert.deepEqual(unmet(publish(["name = 'nightly-llama' AND run_id <> 'r3'", '--metric', 'ttft_p99_ms'])), ['replicates']);
    const excused = publish(['r1', '--metric', 'ttft_p99_ms', '--unstable', 'a first look']);
    assert.equal(excused.claim.statement, 'unstable or not representative: a first look; not met: replicates, confidence');
    const dry = publish(['nightly-llama', '--metric', 'cost_per_token_usd', '--dry-run']);
    assert.deepEqual([dry.exit, dry.published, unmet(dry)], [0, false, []], 'computed columns too');
    const all = publish(['nightly-llama', '--metric', 'ttft_p99_ms']);
    assert.deepEqual([all.exit, all.published, all.was_there, all.claim.value], [0, true, false, 502]);
    const again = publish(['nightly-llama', '--metric', 'ttft_p99_ms']);
    assert.deepEqual([again.exit, again.was_there, again.number_id], [0, true, all.number_id]);
    assert.match(run(['publish', 'nightly-llama', '--metric', 'ttft_p98_ms']).stderr, /did you mean ttft_p9/u);
  });

  test('every step holds, by the key that signed', () => {
    const [number] = json(run(['publish', 'list', '--json'])).filter((n) => n.claim.value === 502);
    const good = lineage(number.number_id, '--pub', `${key}.pub`);
    assert.deepEqual([good.exit, good.publication_safe, good.broken_step], [0, true, null]);
    assert.deepEqual(new Set(good.steps.map((s) => s.state)), new Set(['holds']));
    assert.equal(lineage('num-0000000000000000').exit, 2);
    assert.equal(run(['publish', 'retract', number.number_id]).status, 2, 'a reason is asked for');
  });

  test('publishers at the same time wait for each other', async () => {
    const metrics = ['e2e_p99_ms', 'tpot_p99_ms', 'output_token_throughput'];
    const ended = await Promise.all(metrics.map((metric) => new Promise((resolve) => {
      const args = ['publish', 'nightly-llama', '--metric', metric, '--data-dir', data];
      spawn(binary, args, placed(args, { stdio: 'ignore' })).on('close', resolve);
    })));
    assert.deepEqual(ended, [0, 0, 0]);
    assert.deepEqual(json(run(['publish', 'list', '--json'])).length, 5);
    assert.match(run(['publish', 'list']).stdout, /^5 acts in the audit log/mu);
  });

  test('a query may say what is meant', () => {
    const sql = "SELECT run_id, ttft_p99_ms - ttft_p50_ms AS value FROM serving_outcome_fact WHERE run_id LIKE 'r_' ORDER BY run_id";
    const spread = publish(['--query', sql, '--metric', 'ttft tail', '--unit', 'ms', '--report-row', 'tail of the night']);
    assert.deepEqual([spread.exit, spread.claim.value, spread.claim.unit], [0, 237, 'ms']);
    assert.match(run(['publish', '--query', 'SELECT 1', '--metric', 'x']).stderr, /run_id and value/u);
  });
});

describe('without the daemon', () => {
  test('a rebuild brings the numbers back, and the chain holds', async () => {
    await daemon.stop();
    if (!elsewhere) { // What is in ClickHouse is not rebuilt.
      fs.rmSync(path.join(data, 'warehouse.duckdb'));
      assert.equal(run(['rebuild', '--drop-old']).status, 1);
    }
    const all = json(run(['lineage', '--all', '--json']));
    assert.deepEqual(all.map((n) => n.publication_safe), Array(6).fill(true));
    assert.match(run(['evidence', 'verify']).stdout, /6 acts in the audit log: the chain is whole/u);
  });

  test('a packet is checked without data_dir, and one byte is enough to refuse it', () => {
    const [number] = json(run(['publish', 'list', '--json'])).filter((n) => n.claim.value === 502);
    const packet = path.join(place.folder, 'packet');
    assert.equal(run(['publish', 'export', number.number_id, '-o', packet]).status, 0);
    const check = () => tracecore(['verify', '--json', packet, '--pub', `${key}.pub`], { env: { PATH: process.env.PATH, HOME: '/nonexistent' } });
    const good = check();
    assert.deepEqual([good.status, json(good)[0].steps.find((s) => s.step === 'number').state], [0, 'holds'], good.stderr);
    const files = fs.readdirSync(path.join(packet, 'files')).map((name) => path.join(packet, 'files', name));
    const raw = files.find((name) => fs.readFileSync(name, 'utf8').includes('"p99_ttft_ms":501'));
    fs.writeFileSync(raw, fs.readFileSync(raw, 'utf8').replace('"p99_ttft_ms":501', '"p99_ttft_ms":401'));
    const bad = check();
    assert.deepEqual([bad.status, json(bad)[0].broken_step], [1, 'raw_files']);
  });

  test('an audit log that was edited is told, and nothing is claimed behind it', () => {
    const log = path.join(data, 'ledger', 'audit.log');
    const text = fs.readFileSync(log, 'utf8');
    const lines = text.split('\n');
    fs.writeFileSync(log, [lines[1], lines[0], ...lines.slice(2)].join('\n'));
    const verify = run(['evidence', 'verify']);
    assert.deepEqual([verify.status, /audit\.log: line 1 /u.test(verify.stdout)], [1, true], verify.stdout);
    assert.match(run(['publish', 'nightly-llama', '--metric', 'e2e_p99_ms']).stderr, /the audit log is broken: line 1/u);
    assert.equal(run(['publish', 'list']).status, 1);
    fs.writeFileSync(log, text);
  });

  test('what was retracted is no number, and is no longer kept', () => {
    const [number] = json(run(['publish', 'list', '--json'])).filter((n) => n.claim.runs.length === 1);
    assert.equal(run(['publish', 'retract', number.number_id, '--reason', 'one run is no number']).status, 0);
    const gone = lineage(number.number_id);
    assert.deepEqual([gone.exit, gone.broken_step], [1, 'audit_log']);
    assert.match(gone.steps[0].what, /retracted .*: one run is no number/u);
    assert.equal(json(run(['publish', 'list', '--json'])).length, 5);
    assert.equal(json(run(['publish', 'list', '--json', '--all'])).length, 6);
  });
});

describe('scaling efficiency', () => {
  test('names the runs that it is measured against', () => {
    const folder = path.join(place.folder, 'scaling');
    const line = (ms, name, value, metadata = {}) => `:::MLLOG ${JSON.stringify({ namespace: '', time_ms: 1770000000000 + ms, event_type: 'POINT_IN_TIME', key: name, value, metadata })}`;
    const log = (nodes, samples) => [line(0, 'number_of_nodes', nodes), line(1, 'accelerators_per_node', 8), line(2, 'run_start', null),
      line(3, 'tracked_stats', { throughput: samples, train_step_time: 0.5 }, { step: 100 }), line(60000, 'run_stop', null, { status: 'success', step_num: 100 }), ''].join('\n');
    const yaml = place.file('training.yaml', contract(['--workload-type', 'training']));
    for (const [id, text] of Object.entries({ s8: log(1, 100), s16: log(2, 180) })) {
      assert.equal(add(folder, ['--contract', yaml, '--run-id', id, place.file(`${id}.log`, text)]).status, 0);
    }
    const [{ claim, ...number }] = json(tracecore(['publish', 's16', '--metric', 'scaling_efficiency_pct', '--unstable', 'one run', '--json', '--data-dir', folder]));
    assert.deepEqual([number.published, claim.value], [true, 90]);
    assert.deepEqual(claim.runs.map((r) => [r.run_id, r.basis ?? false, r.value]), [['s16', false, 90], ['s8', true, null]]);
    assert.equal(tracecore(['lineage', number.number_id, '--data-dir', folder]).status, 0);
  });
});
