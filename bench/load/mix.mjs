// SPDX-License-Identifier: Apache-2.0
// The realistic mix: what a gateway Collector passes on of a training cluster, 512 log records a request
// under some twenty resources: the kernels' lines as the journald receiver reads them, lines of
// containers as the filelog receiver does, and the training steps of 64 ranks, half of them text and
// half records of an SDK. Written after what the receivers emit; keys come in the order of Go's maps.
import { Body, random, Step, STEP_MIN, StepText } from './body.mjs';
import { apps, containerResource, detected, GPUS, logFile, NODES, nodes, trainers } from './cluster.mjs';
import { kernelLine } from './kernel_lines.mjs';

export const RECORDS = 512;
export const BODIES = 256;
const KERNEL_GROUPS = 4;
const KERNEL_LINES = 56;
const APP_GROUPS = 7;
const APP_LINES = 32;
const SPAN_NS = 2000000000; // of time in a request
const SEVERITY = { 3: [17, 'err'], 4: [13, 'warning'], 5: [10, 'notice'], 6: [9, 'info'] };

/** Nanoseconds before now: in order, with gaps by chance. */
function times(r, count) {
  return Array.from({ length: count }, () => -1000 - r.below(SPAN_NS)).sort((a, b) => a - b);
}
const observedAfter = (r, time) => Math.min(-1, time + 150000 + r.below(200000000));

/** journald: the map that journalctl -o json gives; operators move it to attributes, or nobody does. */
function journalRecord(r, node, time, asMap) {
  const { priority, text } = kernelLine(r);
  const monotonic = 884213000000 + r.below(900000000);
  const fields = [
    ['_TRANSPORT', 'kernel'], ['SYSLOG_IDENTIFIER', 'kernel'], ['SYSLOG_FACILITY', '0'], ['PRIORITY', String(priority)], ['_HOSTNAME', node.name],
    ['_BOOT_ID', node.bootId], ['_MACHINE_ID', node.machineId], ['_RUNTIME_SCOPE', 'system'], ['_SOURCE_MONOTONIC_TIMESTAMP', String(monotonic)],
    ['__MONOTONIC_TIMESTAMP', String(monotonic + r.below(900))],
    ['__CURSOR', `s=${node.machineId};i=${r.hex(6)};b=${node.bootId};m=${r.hex(10)};t=${r.hex(13)};x=${r.hex(16)}`],
  ];
  const [severity, severityText] = SEVERITY[priority];
  const base = { time, observed: observedAfter(r, time) };
  if (asMap) return { ...base, body: r.walk([...fields, ['MESSAGE', text]]), attributes: [] };
  return { ...base, severity, severityText, body: text, attributes: r.walk(fields) };
}

function kernelGroup(r, node, asMap) {
  return { attributes: [['service.name', 'node-journal'], ['k8s.node.name', node.name], ...detected(node)], scope: {},
    records: times(r, KERNEL_LINES).map((time) => journalRecord(r, node, time, asMap)) };
}

const METHODS = ['GET', 'POST', 'GET', 'PUT'];
const PATHS = ['/v1/chat/completions', '/v1/completions', '/healthz', '/metrics', '/v1/models', '/api/v1/namespaces/llm-pretrain/pods'];
/** What an application's line says, and what the json_parser made of it. */
const LINES = {
  coredns: (r) => ({ level: 'INFO', body: `[INFO] 10.244.${r.below(9)}.${r.below(250)}:${30000 + r.below(30000)} - ${r.below(65000)} "A IN ${r.pick(['kubernetes.default.svc.cluster.local', 's3.eu-north-1.amazonaws.com', 'etcd-0.etcd.kube-system.svc.cluster.local'])}. udp ${40 + r.below(60)} false 1232" NOERROR qr,aa,rd ${90 + r.below(200)} 0.000${r.below(900000)}s`, extra: [] }),
  'kube-proxy': (r) => ({ level: 'INFO', body: `I1118 04:${10 + r.below(49)}:${10 + r.below(49)}.${100000 + r.below(899999)}       1 proxier.go:${700 + r.below(300)}] "SyncProxyRules complete" ipFamily="IPv4" elapsed="${10 + r.below(200)}.${r.below(999)}ms"`, extra: [['klog.file', 'proxier.go'], ['klog.thread', '1']] }),
  'calico-node': (r) => ({ level: 'INFO', body: `2026-11-18 04:${10 + r.below(49)}:${10 + r.below(49)}.${100 + r.below(899)} [INFO][${r.below(90)}] felix/summary.go 100: Summarising ${r.below(20)} dataplane reconciliation loops over 1m${r.below(9)}.${r.below(9)}s: avg=${r.below(20)}ms longest=${20 + r.below(200)}ms (resync-filter-v4)`, extra: [['component', 'felix']] }),
  controller: (r) => ({ level: 'INFO', body: `10.42.${r.below(255)}.${r.below(255)} - - [18/Nov/2026:04:${10 + r.below(49)}:${10 + r.below(49)} +0000] "${r.pick(METHODS)} ${r.pick(PATHS)} HTTP/2.0" ${r.pick([200, 200, 200, 201, 404, 502])} ${r.below(90000)} "-" "OpenAI/Python 1.54.3" ${r.below(900)} 0.${100 + r.below(899)} [serving-router-8000] [] 10.244.5.${r.below(250)}:8000 ${r.below(90000)} 0.${100 + r.below(899)} 200 ${r.hex(32)}`,
    extra: [['http.request.method', r.pick(METHODS)], ['http.response.status_code', r.pick([200, 200, 201, 404])], ['request_id', r.hex(32)], ['upstream', `10.244.5.${r.below(250)}:8000`]], traced: true }),
  vllm: (r) => ({ level: 'INFO', body: `INFO 11-18 04:${10 + r.below(49)}:${10 + r.below(49)} [loggers.py:111] Engine 000: Avg prompt throughput: ${r.below(9000)}.${r.below(9)} tokens/s, Avg generation throughput: ${r.below(3000)}.${r.below(9)} tokens/s, Running: ${r.below(256)} reqs, Waiting: ${r.below(30)} reqs, GPU KV cache usage: ${r.below(99)}.${r.below(9)}%, Prefix cache hit rate: ${r.below(99)}.${r.below(9)}%`, extra: [['logger', 'vllm.v1.metrics.loggers'], ['process.pid', 100 + r.below(900)], ['engine', '000']] }),
  router: (r) => ({ level: r.pick(['info', 'info', 'info', 'warn', 'error']), body: r.pick(['request completed', 'upstream selected', 'retrying request: upstream reset before headers', 'context deadline exceeded while reading response body']),
    extra: [['caller', `proxy/handler.go:${100 + r.below(300)}`], ['request_id', r.hex(32)], ['duration_ms', r.next() * 900], ['status', r.pick([200, 200, 200, 503])], ['model', 'llama-3.3-70b-instruct'], ['tenant', `team-${r.below(40)}`]], traced: true }),
  'nvidia-device-plugin': (r) => ({ level: 'INFO', body: `I1118 04:${10 + r.below(49)}:${10 + r.below(49)}.${100000 + r.below(899999)}       1 server.go:197] Registered device plugin for 'nvidia.com/gpu' with Kubelet`, extra: [['klog.file', 'server.go'], ['klog.thread', '1']] }),
  'lustre-csi': (r) => ({ level: 'DEBUG', body: `GRPC call: /csi.v1.Node/${r.pick(['NodeGetVolumeStats', 'NodePublishVolume', 'NodeGetCapabilities'])} request: {"volume_id":"fs-0${r.hex(16)}","volume_path":"/var/lib/kubelet/pods/${r.hex(8)}-${r.hex(4)}-4${r.hex(3)}-a${r.hex(3)}-${r.hex(12)}/volumes/kubernetes.io~csi/scratch/mount"}`, extra: [['csi.method', 'NodeGetVolumeStats']] }),
};
const LEVELS = { DEBUG: [5, 'DEBUG'], INFO: [9, 'INFO'], info: [9, 'info'], warn: [13, 'warn'], error: [17, 'error'] };

/** Attributes that the filelog receiver with the container operator leaves on a record. */
const fileAttributes = (r, pod, stream) => [
  ['log.file.path', logFile(pod)], ['log.file.name', `${pod.restarts}.log`], ['time', `2026-11-18T04:${10 + r.below(49)}:${10 + r.below(49)}.${100000000 + r.below(899999999)}Z`],
  ['log.iostream', stream], ['logtag', 'F'],
];

function appRecord(r, pod, time) {
  const { level, body, extra, traced } = LINES[pod.container](r);
  const [severity, severityText] = LEVELS[level];
  return { time, observed: observedAfter(r, time), severity, severityText, body,
    attributes: r.walk([...fileAttributes(r, pod, r.pick(['stdout', 'stderr'])), ['level', level], ['log.record.uid', r.hex(26)], ['stream.seq', r.below(900000)], ...extra]),
    ...(traced && r.below(2) === 0 ? { traceId: r.hex(32), spanId: r.hex(16) } : {}) };
}

const appGroup = (r, pod) => ({ attributes: containerResource(pod, r), scope: {}, records: times(r, APP_LINES).map((time) => appRecord(r, pod, time)) });

/** torchtitan's line, from the container's log. */
function stepLine(r, pod, rank, step, time) {
  const before = `[rank${rank}]:[titan] 2026-11-18 04:${10 + r.below(49)}:${10 + r.below(49)},${100 + r.below(899)} - root - INFO - step: `;
  const after = `  loss:  ${2 + r.below(2)}.${1000 + r.below(8999)}  grad_norm:  0.${1000 + r.below(8999)}  memory: ${60 + r.below(15)}.${10 + r.below(89)}GiB(${75 + r.below(20)}.${10 + r.below(89)}%)  tps: ${7 + r.below(2)},${100 + r.below(899)}  tflops: ${400 + r.below(60)}.${10 + r.below(89)}  mfu: ${40 + r.below(6)}.${10 + r.below(89)}%`;
  return { time, observed: observedAfter(r, time), severity: 9, severityText: 'INFO', body: new StepText(before, new Step(step), after),
    attributes: r.walk([...fileAttributes(r, pod, 'stdout'), ['level', 'INFO'], ['logger', 'root'], ['stream.seq', r.below(900000)]]) };
}

/** The same as an OpenTelemetry SDK in the process sends it. */
function stepRecord(r, rank, step, time) {
  return { time, observed: time, severity: 9, severityText: 'INFO', body: 'train step', attributes: [
    ['code.file.path', '/workspace/torchtitan/components/metrics.py'], ['code.function.name', 'log'], ['code.line.number', 376], ['rank', rank], ['local_rank', rank % GPUS],
    ['world_size', NODES * GPUS], ['gen_ai.training.step', new Step(step)], ['training.step.duration', 0.24 + r.next() * 0.02], ['loss', 2 + r.next()], ['job.id', 'pretrain-70b']],
  ...(r.below(4) === 0 ? { traceId: r.hex(32), spanId: r.hex(16) } : {}) };
}

function trainerGroup(r, n, step, structured) {
  const pod = trainers[n];
  const records = times(r, GPUS).map((time, g) => (structured ? stepRecord(r, n * GPUS + g, step, time) : stepLine(r, pod, n * GPUS + g, step, time)));
  const sdk = [['telemetry.sdk.language', 'python'], ['telemetry.sdk.name', 'opentelemetry'], ['telemetry.sdk.version', '1.39.1'], ['service.name', 'pretrain-70b']];
  return { attributes: structured ? [...sdk, ...containerResource(pod, r)] : containerResource(pod, r),
    scope: structured ? { name: 'torchtitan.components.metrics' } : {}, records };
}

/** The requests of a turn: each has one step of every rank. */
function requests(count) {
  return Array.from({ length: count }, (_, i) => {
    const r = random(1000 + i);
    const resources = [];
    for (let k = 0; k < KERNEL_GROUPS; k++) resources.push(kernelGroup(r, nodes[(i * KERNEL_GROUPS + k) % NODES], r.below(8) === 0));
    for (let k = 0; k < APP_GROUPS; k++) resources.push(appGroup(r, apps[(i * APP_GROUPS + k) % apps.length]));
    for (let n = 0; n < NODES; n++) resources.push(trainerGroup(r, n, STEP_MIN + i, n % 2 === 0));
    return { signal: 'logs', resources };
  });
}
/** Steps are this many on when the requests are sent again. */
export const steps = BODIES;
export const bodies = (form, count = BODIES) => requests(count).map((request) => Body.encode(request, form));
