// SPDX-License-Identifier: Apache-2.0
// `tracecore diagnose`, and `run show --slower-than` from a slow run to its bytes.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { add, scratch, tracecore } from './support/runs.mjs';

const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const start = Date.parse('2026-03-04T02:00:00Z');
let place;
let data;
const run = (...args) => tracecore(['run', args[0], '--data-dir', data, ...args.slice(1)]);
const diagnose = (...args) => tracecore(['diagnose', '--data-dir', data, ...args]);

// Two hundred steps of a second; of a slow run, three in ten take two.
function titan(day, slow) {
  const lines = [];
  let at = start + day * 86400000;
  for (let step = 1; step <= 200; step++) {
    at += slow && step % 10 < 3 ? 2000 : 1000;
    const when = new Date(at).toISOString().replace('T', ' ').replace('.', ',').replace('Z', '');
    lines.push(`[rank0]:[titan] ${when} - root - INFO - step: ${step}  loss:  4.00000  grad_norm:  1.0000  memory: 47.80GiB(60.43%)  tps: 8,000  tflops: 400.00  mfu: 40.00%`);
  }
  return `${lines.join('\n')}\n`;
}

// Four nodes with one GPU each; that of gpu-03 may be hot and slow.
function dcgm(day, hot) {
  const lines = [];
  for (let minute = 0; minute < 4; minute++) {
    for (let node = 1; node <= 4; node++) {
      const labels = `{gpu="0",UUID="GPU-00000000-0000-0000-0000-00000000000${node}",Hostname="gpu-0${node}"}`;
      const odd = hot && node === 3;
      const at = start + day * 86400000 + minute * 60000;
      for (const [name, value] of [['TEMP', odd ? 88 : 60 + node], ['UTIL', 97]]) {
        lines.push(`DCGM_FI_DEV_GPU_${name}${labels} ${value} ${at}`);
      }
      lines.push(`DCGM_FI_DEV_SM_CLOCK${labels} ${odd ? 1200 : 1980} ${at}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

before(() => {
  place = scratch('diagnose');
  data = path.join(place.folder, 'data');
  const examples = (name) => ['--result', ...[16, 64].map((c) => path.join(source, `examples/benchmark/${name}/vllm-c${c}.json`)),
    '--telemetry', path.join(source, `examples/benchmark/${name}/dcgm.prom`)];
  const straggler = (name, day, bad) => ['--result', place.file(`${name}.log`, titan(day, bad)), '--telemetry', place.file(`${name}.prom`, dcgm(day, bad))];
  for (const [id, args] of [
    ['night-1', ['--name', 'nightly', ...examples('base-1')]],
    ['night-2', ['--name', 'nightly', ...examples('candidate-1')]],
    ['even', ['--name', 'train', ...straggler('even', 0, false)]],
    ['spiky', ['--name', 'train', ...straggler('spiky', 1, true)]],
    ['blind', ['--name', 'alone', '--result', place.file('blind.log', titan(-1, true))]],
  ]) {
    const { status, stderr } = add(data, ['--run-id', id, ...args]);
    assert.equal(status, 0, stderr);
  }
});
after(() => place.remove());

describe('run show --slower-than', () => {
  test('goes from points to scopes to a node to bytes, each step naming the next', () => {
    const points = run('show', 'night-2', '--slower-than', 'night-1');
    assert.equal(points.status, 0, points.stderr);
    assert.equal(points.stdout, `night-2  nightly, against night-1 (1 run)
slower at 2 of 2 points
1. in=1024 out=128 concurrency=64
  metric        base    run  ratio  verdict
  ttft_p99_ms  247.6  404.4  1.633  worse
2. in=1024 out=128 concurrency=16
  metric        base    run  ratio  verdict
  ttft_p99_ms  151.7  163.1  1.075  worse
worse: outside of what the base's runs had, by 5 % or more. So few runs say
little of chance.
next: tracecore run show night-2 --slower-than 'night-1' --point 'in=1024 out=128 concurrency=64'
`);
    const scopes = run('show', 'night-2', '--slower-than', 'night-1', '--point', 'in=1024 out=128 concurrency=64');
    assert.match(scopes.stdout, /gpu-12 GPU \.\.120000000001 {2}gpu_sm_clock +1,375 MHz +1,972 +-/u);
    assert.match(scopes.stdout, /next: .* --node 'gpu-12'\n/u);
    const node = run('show', 'night-2', '--slower-than', 'nightly', '--point', '1', '--node', 'gpu-12');
    const digest = /tracecore evidence cat (sha256:[0-9a-f]{64})/u.exec(node.stdout)[1];
    const bytes = tracecore(['evidence', 'cat', '--data-dir', data, digest]);
    assert.match(bytes.stdout, /DCGM_FI_DEV_SM_CLOCK/u);
  });
  test('is the same as JSON', () => {
    const points = JSON.parse(run('show', 'night-2', '--slower-than', 'nightly', '--json').stdout);
    assert.equal(points.points[0].point, 'in=1024 out=128 concurrency=64');
    assert.ok(points.points[0].metrics.some((m) => m.metric === 'ttft_p99_ms' && m.worse));
    const odd = JSON.parse(run('show', 'spiky', '--slower-than', 'even', '--point', '1', '--json').stdout);
    assert.deepEqual(odd.series.map((s) => [s.node, s.metric, s.peers]),
      [['gpu-03', 'gpu_sm_clock', 'run'], ['gpu-03', 'gpu_temperature', 'run']]);
  });
  test('says what it cannot find', () => {
    for (const [args, message] of [
      [['show', 'night-2', '--slower-than', 'night-2'], /the base is the run itself/u],
      [['show', 'night-2', '--slower-than', 'night-3'], /night-[12]/u],
      [['show', 'night-2', '--slower-than', 'night-1', '--point', 'in=7'], /there is no point "in=7"; the run has:\n {2}1 {2}in=1024/u],
      [['show', 'night-2', '--slower-than', 'night-1', '--point', 'in=1024'], /more than one point "in=1024"/u],
    ]) {
      const out = run(...args);
      assert.equal(out.status, 2, args.join(' '));
      assert.match(out.stderr, message);
    }
  });
});

describe('diagnose', () => {
  test('names the cause, where to look, and what to do', () => {
    const out = diagnose('spiky', '--against', 'even');
    assert.equal(out.status, 0, out.stderr);
    const digest = /evidence cat (sha256:\S+)/u.exec(out.stdout)[1];
    assert.equal(out.stdout.replaceAll(digest, 'sha256:...'), `spiky  train, against even (1 run)

Most likely: a GPU is slowed by heat
  look at      node gpu-03, GPU ...000000000003
  because      a GPU of gpu-03 runs at 1,200 MHz, the others at 1,980, up to 88
               C (median of all 63)
  seen as      p99 of the step time is 2 times its median (1 in the base), the
               mean 1.3 times the base's
  confidence   high: strong evidence, and no other cause comes near

distributed_straggler: recognised
  no data      rank-level collectives
  no data      PCIe width and speed
  no data      NVLink health
  supports     thermals: as above
  no data      packet loss and NIC errors
  no data      distribution without the suspect node

tail_latency_regression: no data to recognise it by

low_gpu_utilization: not recognised
               tokens_per_second_per_gpu is 1 times the base's, GPU utilisation
               97 (97 in the base)

scheduler_backpressure: no data to recognise it by

next
  to prove it  kubectl cordon gpu-03; check its fans and inlet temperature;
               repeat the run without it, then: tracecore diagnose NEW --against
               even

evidence
  gpu_sm_clock
    tracecore evidence cat sha256:...
  gpu_temperature
    tracecore evidence cat sha256:...
  all that stands out
    tracecore run show spiky --slower-than 'even' --node gpu-03
`);
    out.stdout.split('\n').forEach((line) => assert.ok([...line].length <= 100 || line.includes('tracecore'), line));
  });
  test('has the same as JSON, and its own base', () => {
    const out = diagnose('spiky', '--json');
    const answer = JSON.parse(out.stdout);
    assert.equal(out.status, 0);
    assert.equal(answer.against, 'earlier runs of its case');
    assert.equal(answer.answer.cause, 'thermal');
    assert.equal(answer.answer.scope.node, 'gpu-03');
    assert.deepEqual(answer.playbooks.map((p) => p.recognised), ['no data', 'no', 'yes', 'no data']);
    assert.match(answer.answer.experiment, /--against case-[0-9a-f]+$/u);
  });
  test('claims nothing where nothing is recognised', () => {
    const out = diagnose('night-2', '--against', 'night-1');
    assert.equal(out.status, 1);
    assert.match(out.stdout, /No scenario is recognised: nothing is claimed\./u);
    assert.match(out.stdout, /weak hints, none of them a claim\n {2}low +a GPU is slowed by heat/u);
    assert.equal(JSON.parse(diagnose('night-2', '--against', 'night-1', '--json').stdout).answer, null);
  });
  test('says when there is nothing to go by', () => {
    const out = diagnose('blind');
    assert.equal(out.status, 2);
    assert.match(out.stdout, /against nothing: there is no base/u);
    assert.match(out.stdout, /the run has no telemetry/u);
    for (const [args, message] of [
      [['spikey'], /did you mean "spiky"\?/u], [['nightly'], /means 2 runs/u], [[], /which run\?/u], [['a', 'b'], /too much/u],
      [['spiky', '--against', 'spiky'], /the base is the run itself/u], [['spiky', '--against', 'evn'], /did you mean "even"\?/u],
      [['spiky', '--against', "name = 'x' OR"], /\S/u]]) {
      const bad = diagnose(...args);
      assert.equal(bad.status, 2, args.join(' '));
      assert.match(bad.stderr, message);
    }
  });
});
