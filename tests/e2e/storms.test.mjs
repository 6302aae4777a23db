// SPDX-License-Identifier: Apache-2.0
// Ten thousand reports of one trouble within a minute: one incident, told once, in bounded memory.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';

const binary = process.env.TC_BINARY;
const COUNT = 10000;
const T0 = Date.parse('2026-03-04T05:06:00Z');
// Far above what one run takes; a window or a queue that grew with the storm would not be.
const RSS_MAX_KB = 1 << 19;
const MEASURE = 'import resource, subprocess, sys\n'
  + 'r = subprocess.run(sys.argv[1:])\n'
  + 'print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)\n'
  + 'sys.exit(r.returncode)\n';

let top;
before(() => {
  assert.ok(binary, 'TC_BINARY names the program to test');
  top = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_storms_'));
});
after(() => fs.rmSync(top, { recursive: true, force: true }));

const at = (i) => new Date(T0 + i * 6).toISOString();
const node = { 'k8s.node.name': 'gpu-07' };
const gpu = { ...node, 'gpu.uuid': 'GPU-34d874be-0835-5f1e-8425-67ac19991809', 'gpu.index': 3 };
const pod = { ...node, 'k8s.namespace.name': 'train', 'k8s.pod.name': 'worker-3', 'k8s.pod.uid': 'uid-3' };
const pci = { 'pci.bdf': '0000:43:00.0' };
const failed = { ...pod, kind: 'pod_state', time: at(COUNT), phase: 'Failed', reason: 'Error', exit_code: 139 };

const storms = {
  gpu_fault: () => ({ kind: 'xid', ...node, ...pci, xid: 119 }),
  hbm_ecc: () => ({ kind: 'xid', ...node, ...pci, xid: 48 }),
  xid_correlation: () => ({ kind: 'xid', ...node, ...pci, xid: 79 }),
  nvlink_degraded: () => ({ kind: 'xid', ...node, ...pci, xid: 74 }),
  pcie_aer: () => ({ kind: 'aer', ...node, ...pci, severity: 'corrected', layer: 'data_link', status: 64 }),
  network_link_fault: (i) => ({ kind: 'network_fault', ...node, fault: i % 2 ? 'link_up' : 'link_down', device: 'mlx5_3' }),
  thermal_throttle: () => ({ kind: 'metric', ...gpu, metric: 'gpu_throttle_reasons', value: 64 }),
  host_oom: (i) => ({ kind: 'oom_kill', ...pod, 'process.pid': 1000 + i, 'process.name': 'python', constraint: 'CONSTRAINT_MEMCG' }),
  pod_evicted: (i) => ({ kind: 'k8s_event', ...pod, uid: 'event-1', reason: 'Evicted', type: 'Warning',
    'object.kind': 'Pod', 'object.name': 'worker-3', count: i + 1,
    message: 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ' }),
};

for (const [pattern, report] of Object.entries(storms)) {
  test(`${pattern}: one verdict`, () => {
    const events = Array.from({ length: COUNT }, (_, i) => ({ time: at(i), ...report(i) }));
    if (pattern === 'xid_correlation') {
      events.push(failed);
    }
    const file = path.join(top, `${pattern}.ndjson`);
    fs.writeFileSync(file, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
    const run = spawnSync('python3', ['-c', MEASURE, binary, 'detect', '--json', '--only', pattern, file], { encoding: 'utf8' });
    assert.equal(run.status, 1, run.stderr);
    const verdicts = run.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
    assert.deepEqual(verdicts.map((verdict) => verdict['pattern.name']), [pattern], run.stdout.slice(0, 2000));
    assert.ok(run.stdout.length < 16384, 'a verdict of a storm is as short as any');
    const rss = Number(run.stderr.trim().split('\n').at(-1));
    assert.ok(rss > 0 && rss < RSS_MAX_KB, `${rss} KiB`);
  });
}
