// SPDX-License-Identifier: Apache-2.0
// No column that nothing can fill: one run with all that people can give has a value in each column
// of the tables that a run fills. A table that comes later is added to TABLES; a column that stays
// NULL needs a line in EXCEPTIONS that says why.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { add, contract, scratch, show, tracecore, vllm } from './support/runs.mjs';

const TABLES = ['benchmark_run_fact', 'serving_outcome_fact', 'serving_request_fact', 'run_scope_fact', 'training_outcome_fact', 'telemetry_slice_fact', 'software_version_dim',
  'hardware_topology_dim', 'cluster_region_dim', 'workload_dim', 'artifact_lineage_dim', 'metric_definition_dim'];
/** Tables that a run does not fill, and why. */
const OTHER_TABLES = {
  verdict_fact: 'the daemon writes verdicts: daemon_verdicts.test.mjs',
  published_number: 'no command publishes numbers yet',
};
const EXCEPTIONS = {
  'serving_request_fact.evidence_batch': 'only requests that the daemon received have one: traces.test.mjs',
  'serving_outcome_fact.tool_version': "vLLM's file does not say its own version; those of AIPerf and llm-d do (unit.result_result, unit.result_llm_d)",
};

const IMAGE = `sha256:${'5'.repeat(64)}`;
const START = Date.parse('2026-02-13T14:12:49.920Z'); // vLLM's date is the end, 31.08 s later
let place;
let data;
let id;

/** Scrapes of a server's histogram and of a GPU, every 10 s. `waits`: [seconds, requests so far]. */
function scrapes() {
  const lines = ['# TYPE vllm:request_queue_time_seconds histogram'];
  for (let n = 0; n <= 4; n++) {
    const at = START - 2000 + n * 10000;
    const done = 100 + n * 10; // 10 requests more each: 5 below 0.1 s, 4 from 0.1 to 0.5 s, 1 from 0.5 to 1 s
    const bucket = (le, count) => lines.push(`vllm:request_queue_time_seconds_bucket{engine="0",le="${le}"} ${count} ${at}`);
    bucket('0.1', 50 + n * 5);
    bucket('0.5', 90 + n * 9);
    bucket('1.0', done);
    bucket('+Inf', done);
    lines.push(`vllm:request_queue_time_seconds_sum{engine="0"} ${(20 + n * 2).toFixed(1)} ${at}`);
    lines.push(`vllm:request_queue_time_seconds_count{engine="0"} ${done} ${at}`);
    lines.push(`DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",Hostname="gpu-1",rank="3",pod_uid="p-1",job_uid="j-1",scheduler_run_id="s-1",request_class="chat",zone="a"} ${90 + n} ${at}`);
  }
  return `${lines.join('\n')}\n`;
}

const kubernetes = () => ({ apiVersion: 'v1', kind: 'List', items: [
  { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'server-0', labels: { 'kueue.x-k8s.io/queue-name': 'team-a' } },
    spec: { nodeName: 'gpu-1', containers: [{ name: 'server', image: 'registry.example/vllm-openai:v0.9.1', resources: { limits: { 'nvidia.com/gpu': '8' } } }] },
    status: { phase: 'Running', containerStatuses: [{ name: 'server', imageID: `registry.example/vllm-openai@${IMAGE}` }] } },
  { apiVersion: 'v1', kind: 'Node', metadata: { name: 'gpu-1', labels: { 'topology.kubernetes.io/region': 'eu-1', 'topology.kubernetes.io/zone': 'eu-1b',
    'karpenter.sh/nodepool': 'h100', 'alpha.eksctl.io/cluster-name': 'big', 'node.kubernetes.io/instance-type': 'p5' } },
  status: { nodeInfo: { kernelVersion: '6.1.0', osImage: 'Debian 12' } } },
  { apiVersion: 'v1', kind: 'Node', metadata: { name: 'other', labels: { 'topology.kubernetes.io/zone': 'eu-1c' } } },
  { apiVersion: 'kueue.x-k8s.io/v1beta1', kind: 'Workload', metadata: { name: 'w' }, spec: { queueName: 'team-a' },
    status: { admission: { podSetAssignments: [{ flavors: { 'nvidia.com/gpu': 'h100-spot' } }] } } },
] });

const probe = () => ({ tracecore_probe: 1,
  software: { driver_version: '570.1', cuda_version: '12.8', nccl_version: '2.26.2', framework: 'torch', framework_version: '2.7', runtime: 'tensorrt',
    runtime_version: '10.9', kernel: '6.1.0', os: 'Debian 12' },
  hardware: { gpu_model: 'NVIDIA H100', gpu_count: 8, node_count: 1, gpu_memory_mib: 81559, nic: '8 x ConnectX-7', pcie_layout: '8 x Gen5 x16',
    nvlink_topology: 'NV18', gpu_nic_affinity: 'PIX', numa: '2', storage_fabric: 'nvme', cpu_model: 'Xeon' } });

/** MLPerf's log of a training on so many nodes of 8 GPUs. */
function mllog(nodes, samples) {
  let ms = START - 1000000;
  const line = (key, value, metadata = {}) => {
    ms += 1000;
    return `:::MLLOG ${JSON.stringify({ namespace: '', time_ms: ms, event_type: 'POINT_IN_TIME', key, value, metadata })}`;
  };
  const first = ms;
  const lines = [line('submission_benchmark', 'meta/llama'), line('number_of_nodes', nodes), line('accelerators_per_node', 8), line('global_batch_size', 64 * nodes),
    line('target_accuracy', 0.9), line('run_start', null), line('tracked_stats', { throughput: samples, train_step_time: 0.5, train_loss: 1.5 }, { step: 100 })];
  ms = first + 60000;
  lines.push(line('train_loss', 1.4), line('eval_accuracy', 0.92), line('run_stop', null, { status: 'success', step_num: 100 }), '');
  return lines.join('\n');
}

/** torchtitan: step 11 to 40 in two attempts, a second each. */
function torchtitan() {
  const at = (s) => new Date(START + s * 1000).toISOString().slice(0, 19).replace('T', ' ');
  const step = (s, n) => `[rank0]:[titan] ${at(s)},000 - root - INFO - step: ${String(n).padStart(2)}  loss: ${(12 - n / 10).toFixed(4)}  `
    + 'grad_norm:  9.6  memory: 48.87GiB(51.44%)  tps: 4,000  tflops: 253.41  mfu: 25.62%';
  const lines = [`[rank0]:[titan] ${at(0)},000 - root - INFO - torchtitan version: 0.2.0`];
  for (let n = 11; n <= 30; n++) {
    lines.push(step(n - 11, n));
  }
  for (let n = 21; n <= 40; n++) { // after a restart at 20 s
    lines.push(step(40 + n - 21, n));
  }
  return `${lines.join('\n')}\n`;
}

/** Two requests as vLLM traces them, one of which failed. */
function traces() {
  const attributes = (of) => Object.entries(of).map(([key, value]) => ({ key, value: typeof value === 'string' ? { stringValue: value }
    : Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value } }));
  const span = (n, status) => ({ traceId: `${n}`.repeat(32), spanId: `${n}`.repeat(16), name: 'llm_request', kind: 2, status,
    startTimeUnixNano: `${START + n * 1000}000000`, endTimeUnixNano: `${START + n * 1000 + 800}000000`,
    attributes: attributes({ 'gen_ai.request.id': `cmpl-${n}`, 'gen_ai.usage.prompt_tokens': 1024, 'gen_ai.usage.completion_tokens': 128,
      'gen_ai.latency.time_in_queue': 0.05, 'gen_ai.latency.time_to_first_token': 0.25, 'gen_ai.latency.e2e': 0.8 }) });
  return { resourceSpans: [{ resource: { attributes: attributes({ 'service.name': 'vllm', 'host.name': 'gpu-1', 'k8s.pod.uid': 'p-1', 'k8s.pod.name': 'server-0', 'job.id': 'j-1' }) },
    scopeSpans: [{ scope: { name: 'vllm.llm_engine' }, spans: [span(1, {}), span(2, { code: 2, message: 'out of memory' })] }] }] };
}

before(() => {
  place = scratch('run_columns');
  data = path.join(place.folder, 'data');
  const yaml = contract(['--workload-type', 'mixed', '--concurrency-model', 'open_loop']).replace('  workload:\n', '  cost:\n    gpuHourUsd: 3.6\n  workload:\n    protocol: openai-chat\n    deploymentModel: single-node\n');
  const all = ['ttft', 'tpot', 'itl', 'e2el'].flatMap((m) => [['mean', 300], ['median', 265], ['p90', 400], ['p95', 450], ['p99', 584.8], ['std', 20]].map(([s, v]) => [`${s}_${m}_ms`, v]));
  const point = (concurrency) => JSON.stringify(vllm({ ...Object.fromEntries(all), max_concurrency: concurrency, request_rate: 8, input_throughput: 1317.6,
    request_goodput: 1.1, version: '0.9.1', ttfts: Array(40).fill(0.265), itls: Array(40).fill([0.02, 0.02]), input_lens: Array(40).fill(1024),
    output_lens: Array(40).fill(128), errors: Array(40).fill('') }));
  const result = add(data, ['--contract', place.file('run.yaml', yaml), '--job-uid', 'j-1', '--scheduler-run-id', 's-1', '--intent', 'to see all columns',
    '--result', place.file('a.json', `${point(4)}\n${point(8)}\n`),
    place.file('t8.log', mllog(1, 100)), place.file('t16.log', mllog(2, 180)), place.file('titan.log', torchtitan()),
    '--telemetry', place.file('metrics.prom', scrapes()), place.file('traces.json', traces()), '--artifact', place.file('probe.json', probe()), place.file('objects.json', kubernetes())]);
  assert.equal(result.status, 0, result.stderr);
  id = result.answer.run_id;
  assert.equal(tracecore(['evidence', 'sign', id, '--data-dir', data, '--new-key', path.join(place.folder, 'key')]).status, 0);
});
after(() => place.remove());

function sql(query) {
  const { status, stdout, stderr } = tracecore(['sql', '--data-dir', data, '--json', query]);
  assert.equal(status, 0, stderr);
  return stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

describe('a run with all that people can give', () => {
  test('leaves no column empty', () => {
    const tables = tracecore(['sql', '--describe', '--json']).stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
    const empty = [];
    for (const { table, columns } of tables.filter((t) => !(t.table in OTHER_TABLES))) {
      const names = columns.map(({ name }) => name);
      const [counts] = sql(`SELECT ${names.map((name) => `count("${name}") AS "${name}"`).join(', ')} FROM ${table}`);
      empty.push(...names.filter((name) => counts[name] === 0).map((name) => `${table}.${name}`));
    }
    assert.deepEqual(tables.map((t) => t.table).filter((name) => !TABLES.includes(name) && !(name in OTHER_TABLES)), [], 'a table that is not looked at');
    assert.deepEqual(empty.filter((name) => !(name in EXCEPTIONS)), []);
    assert.deepEqual(Object.keys(EXCEPTIONS).filter((name) => !empty.includes(name)), [], 'has a value after all: take it out of EXCEPTIONS');
  });

  test('has the values that follow from its files', () => {
    const { serving, training, software, cluster, hardware, definitions } = show(data, id);
    const near = (value, want) => assert.ok(Math.abs(value - want) <= 1e-9 * Math.abs(want), `${value} is not ${want}`);
    const [row] = serving;
    near(row.cost_per_request_usd, 3.6 * 8 * 31.08 / 3600 / 40);
    near(row.cost_per_token_usd, 3.6 * 8 * 31.08 / 3600 / 5120);
    near(row.queue_mean_ms, 200); // 8 s over 40 requests
    near(row.queue_p50_ms, 100);
    near(row.queue_p99_ms, 950);
    assert.equal(row.definitions.queue_p99_ms, 'tracecore:vllm:request_queue_time_seconds');
    const ids = new Set(definitions.map((d) => d.definition_id));
    assert.ok([...serving, ...training].every((r) => Object.values(r.definitions).every((d) => ids.has(d))));
    const logs = training.filter((r) => r.tool === 'mllog');
    assert.deepEqual(logs.map((r) => [r.gpus, r.scaling_efficiency_pct]).sort((a, b) => a[0] - b[0]), [[8, 100], [16, 90]]);
    const [titan] = training.filter((r) => r.tool === 'torchtitan');
    assert.equal(titan.gpus, 8);
    assert.equal(titan.tokens_per_second, 32000);
    assert.equal(titan.restarts, 1);
    near(titan.training_reliability_pct, 100 * 29 / 59); // steps 11 to 40 in 59 s
    assert.equal(software.image_digest, IMAGE);
    assert.deepEqual([software.server, software.server_version], ['vllm', '0.9.1']);
    assert.deepEqual(cluster, { ...cluster, cluster: 'big', region: 'eu-1', zone: 'eu-1b', node_pool: 'h100', queue: 'team-a', resource_flavor: 'h100-spot', tenant_mode: 'dedicated' });
    assert.equal(hardware.gpu_count, 8);
  });
});
