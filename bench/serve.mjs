// SPDX-License-Identifier: Apache-2.0
// ./dev bench --serve: the daemon under the load of the anchor, and under that of a healthy cluster.
// The server has one core, the client another. One JSON line for each case; docs/performance.md has the method. Exit 0 all
// gates held, 1 one was missed, 2 something could not be measured.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { binary, Daemon, merge } from '../tests/e2e/support/daemon.mjs';
import { logs, nowNs, xid48 } from '../tests/e2e/support/otlp.mjs';
import { post, sleep } from '../tests/e2e/support/wire.mjs';
import { Fleet, Payload } from './serve_load.mjs';

const usage = `usage: ./dev bench --serve [OPTIONS]

  --case NAME       only this case, may be repeated: protobuf, json, grpc, stored, fleet
                    (what a healthy cluster sends; the others are faults only), latency,
                    allocations (of tracecore-bench serve, which counts them)
  --against FILE    another tracecore, measured turn by turn with this one in protobuf,
                    json, grpc, stored and fleet; may be repeated
  --seconds N       of each run (10); the latency case takes as long as its incidents
  --repeat N        runs of each case (3); the median counts
  --incidents N     of the latency case (600, 20 a second, beside 200,000 records a second)
  --overload N      instead: overload for N seconds, memory every second
  --connections N   of wrk and h2load (8; 32 for stored, 64 with --overload)
  --dir DIR         where the daemon keeps its data
  --no-gate         only measure
`;
const { values: given } = parseArgs({ options: {
  case: { type: 'string', multiple: true },
  against: { type: 'string', multiple: true, default: [] },
  seconds: { type: 'string', default: '10' },
  repeat: { type: 'string', default: '3' },
  incidents: { type: 'string', default: '600' },
  overload: { type: 'string' },
  connections: { type: 'string' },
  dir: { type: 'string', default: os.tmpdir() },
  'no-gate': { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} });
if (given.help) { process.stdout.write(usage); process.exit(0); }

const MEGA = 1e6;
// Records a second that issue and anchor ask for; memory beyond the detectors' budget; latency.
const GATES = { protobuf: 1.0 * MEGA, json: 0.8 * MEGA, grpc: 0.8 * MEGA, stored: 0.7 * MEGA };
const RSS_BEYOND_DETECTORS_MIB = 64;
const RSS_DRIFT_MIB = 8;
const LATENCY_P99_MS = 50;
const LATENCY_RATE = 200000;

const here = path.dirname(fileURLToPath(import.meta.url));
const work = fs.mkdtempSync(path.join(given.dir, 'tc_serve_'));
const say = (line) => process.stderr.write(`serve: ${line}\n`);
const mib = (kib) => Math.round(kib / 102.4) / 10;
let status = 0;
const missed = (what) => { say(`MISSED ${what}`); if (status === 0) status = 1; };
const cores = Number(spawnSync('nproc').stdout);
const serverCore = 0;
const clientCore = cores > 1 ? '1' : '0';
if (cores < 2) say('one core only: client and server share it, and the figures say so little');

const SERVER = { evidence: { keep: '2GiB' }, log: { level: 'warn' } };
async function start(name, config, options = {}) {
  const daemon = new Daemon(path.join(work, name), merge(SERVER, config), { prefix: ['taskset', '-c', String(serverCore)], ...options });
  await daemon.start();
  return daemon;
}

/** CPU seconds of the process so far. */
function cpuSeconds(pid) {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** What the daemon counted, at one moment. */
async function counted(daemon) {
  const metrics = await daemon.metrics();
  const of = (name, labels) => (metrics.has(name, labels) ? metrics.sum(name, labels) : null);
  return {
    at: performance.now(), cpu: cpuSeconds(daemon.pid),
    records: of('tracecore_records_received_total'), fed: of('tracecore_events_total', { outcome: 'fed' }),
    rejected: of('tracecore_requests_rejected_total') + of('tracecore_http_refused_total'),
    stored: of('tracecore_evidence_bytes_total'), written: of('tracecore_evidence_written_bytes_total'),
    lost: of('tracecore_evidence_lost_batches_total'), allocations: of('tracecore_allocations_total'),
    detectors: of('tracecore_detector_budget_bytes'), again: of('tracecore_bodies_parsed_again_total', { by: 'detection' }),
  };
}

function command(words) {
  return new Promise((resolve, reject) => {
    const child = spawn(words[0], words.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    child.stdout.on('data', (part) => { text += part; });
    child.stderr.on('data', (part) => { text += part; });
    child.on('error', reject);
    child.on('exit', (code) => (code === 0 ? resolve(text) : reject(new Error(`${words.join(' ')}: ${text}`))));
  });
}

/** One run of wrk or h2load against the daemon: errors that the client saw. */
async function drive(daemon, payload, seconds, connections) {
  const files = payload.save(path.join(work, `load.${payload.form}`));
  if (payload.form === 'grpc') {
    const [{ file }] = files;
    const text = await command(['taskset', '-c', clientCore, 'h2load', '-t1', `-c${connections}`, '-m4', '-D', String(seconds), '-d', file,
      '-H', 'content-type: application/grpc', '-H', 'te: trailers',
      `http://${daemon.grpc}/opentelemetry.proto.collector.logs.v1.LogsService/Export`]);
    const m = /requests: .* (\d+) failed, (\d+) errored, (\d+) timeout/.exec(text);
    if (!m) throw new Error(`h2load said: ${text}`);
    return Number(m[1]) + Number(m[2]) + Number(m[3]);
  }
  const script = path.join(work, 'post.lua');
  const requests = files.map(({ file, signal }) => `{"/v1/${signal}", "${file}"}`).join(', ');
  fs.writeFileSync(script, `local requests = {}
wrk.headers["Content-Type"] = "${payload.type}"
init = function()
  for _, r in ipairs({${requests}}) do
    local f = assert(io.open(r[2], "rb"))
    requests[#requests + 1] = wrk.format("POST", r[1], nil, f:read("*a"))
    f:close()
  end
end
local at = 0
request = function()
  at = at % #requests + 1
  return requests[at]
end
`);
  const text = await command(['taskset', '-c', clientCore, 'wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '30s', '-s', script, `http://${daemon.http}/`]);
  const bad = Number(/Non-2xx or 3xx responses: (\d+)/.exec(text)?.[1] ?? 0);
  const sockets = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(text);
  return bad + (sockets ? sockets.slice(1).reduce((n, s) => n + Number(s), 0) : 0);
}

const per = (a, b, key) => (b[key] === null || a[key] === null ? undefined : b[key] - a[key]);

/** One run: what it printed. */
async function measure(daemon, name, payload, connections, ack, rssStart) {
  const a = await counted(daemon);
  const errors = await drive(daemon, payload, Number(given.seconds), connections);
  const b = await counted(daemon);
  const elapsed = (b.at - a.at) / 1000;
  const records = Math.max(1, per(a, b, 'records'));
  const run = {
    bench: 'serve', case: name, ack, ...(given.against.length > 0 ? { program: daemon.options.program } : {}),
    records_per_s: Math.round(per(a, b, 'records') / elapsed), cpu_ns_per_record: Math.round((b.cpu - a.cpu) / records * 1e9), errors,
    rejected: per(a, b, 'rejected'), server_cpu: Math.round((b.cpu - a.cpu) / elapsed * 100) / 100,
    detected: Math.round(per(a, b, 'fed') / records * 1000) / 1000,
    stored_mb_per_s: Math.round(per(a, b, 'stored') / elapsed / MEGA), written_mb_per_s: Math.round(per(a, b, 'written') / elapsed / MEGA * 10) / 10,
    lost_batches: per(a, b, 'lost'), bodies_parsed_again: per(a, b, 'again'),
    rss_start_mib: mib(rssStart), rss_mib: mib(daemon.memory().VmRSS), rss_max_mib: mib(daemon.memory().VmHWM),
  };
  process.stdout.write(`${JSON.stringify(run)}\n`);
  return run;
}

const medianOf = (runs, key) => runs.map((run) => run[key]).sort((x, y) => x - y)[Math.floor(runs.length / 2)];

/** Programs take turns, so that they share what the machine does beside; the first is judged. */
async function throughput(name, payload, ack) {
  // Group commit needs requests that wait together.
  const connections = Number(given.connections ?? (ack === 'stored' ? 32 : 8));
  const turns = [];
  for (const program of [binary, ...given.against]) {
    const daemon = await start(`${name}_${turns.length}`, { ingest: { ack } }, { program });
    turns.push({ program, daemon, rssStart: daemon.memory().VmRSS, runs: [] });
    await drive(daemon, payload, 2, connections); // warm: pools, caches, detectors
  }
  for (let i = 0; i < Number(given.repeat); i++) {
    for (const turn of turns) turn.runs.push(await measure(turn.daemon, name, payload, connections, ack, turn.rssStart));
  }
  for (const { program, daemon, runs } of turns) {
    const budget = (await counted(daemon)).detectors;
    await daemon.stop();
    const median = medianOf(runs, 'records_per_s');
    const rssMax = Math.max(...runs.map((run) => run.rss_max_mib));
    process.stdout.write(`${JSON.stringify({ bench: 'serve', case: name, ...(turns.length > 1 ? { program } : {}), median_records_per_s: median, wanted: GATES[name],
      median_cpu_ns_per_record: medianOf(runs, 'cpu_ns_per_record'), rss_max_mib: rssMax, detectors_mib: budget && mib(budget / 1024) })}\n`);
    if (program !== binary) continue;
    if (median < GATES[name]) missed(`${name}: ${median} records/s < ${GATES[name]}`);
    if (runs.some((run) => run.errors > 0 && run.rejected === 0)) missed(`${name}: the client saw errors that the daemon did not count`);
    if (budget !== null && rssMax > RSS_BEYOND_DETECTORS_MIB + mib(budget / 1024)) missed(`${name}: ${rssMax} MiB > ${RSS_BEYOND_DETECTORS_MIB} MiB beyond the detectors' ${mib(budget / 1024)}`);
  }
}

/** Allocations per record, counted in front of the C library's allocator. */
async function allocations() {
  for (const form of ['protobuf', 'json', 'grpc']) {
    const daemon = await start(`allocations_${form}`, {}, { program: `${binary}-bench` });
    const payload = new Payload(form);
    await drive(daemon, payload, 2, 8);
    const a = await counted(daemon);
    await drive(daemon, payload, 2, 8);
    const b = await counted(daemon);
    await daemon.stop();
    if (b.allocations === 0) throw new Error('tracecore-bench serve counted no allocations');
    const line = { bench: 'serve', case: 'allocations', form, records: per(a, b, 'records'), allocations: per(a, b, 'allocations'),
      allocations_per_record: per(a, b, 'allocations') / per(a, b, 'records') };
    process.stdout.write(`${JSON.stringify(line)}\n`);
  }
}

/** From the sending of the one event that an incident needs to its line in the verdict file. */
async function latency() {
  const daemon = await start('latency', { ingest: { ack: 'stored' } });
  const [host, port] = daemon.http.split(':');
  const worker = new Worker(path.join(here, 'serve_load.mjs'), { workerData: { host, port: Number(port), pace: LATENCY_RATE } });
  const pinned = spawnSync('taskset', ['-a', '-cp', clientCore, String(process.pid)]);
  if (pinned.status !== 0) say('the client could not be held to its core');
  await sleep(2000);
  const sentAt = new Map();
  const took = [];
  let read = 0;
  let rest = '';
  const fd = fs.openSync(daemon.verdictFile, 'a+');
  const chunk = Buffer.alloc(1 << 20);
  const look = () => {
    for (;;) {
      const n = fs.readSync(fd, chunk, 0, chunk.length, read);
      if (n === 0) return;
      const now = performance.now();
      read += n;
      const lines = (rest + chunk.toString('latin1', 0, n)).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        const node = /"k8s\.node\.name":"(gpu-lat-\d+)"/.exec(line)?.[1];
        if (node && sentAt.has(node)) { took.push(now - sentAt.get(node)); sentAt.delete(node); }
      }
    }
  };
  const watch = setInterval(look, 1);
  const count = Number(given.incidents);
  const a = await counted(daemon);
  let refused = 0;
  for (let i = 0; i < count; i++) {
    const node = `gpu-lat-${i}`;
    const body = logs({ 'host.name': node }, [{ body: xid48(), severity: 17, time: nowNs() }]);
    sentAt.set(node, performance.now());
    post(daemon.http, 'logs', body).then((answer) => { if (answer.status !== 200) { refused++; sentAt.delete(node); } }, () => { refused++; sentAt.delete(node); });
    await sleep(50);
  }
  await sleep(2000);
  const b = await counted(daemon);
  clearInterval(watch);
  const sums = await new Promise((resolve) => { worker.once('message', resolve); worker.postMessage('stop'); });
  const metrics = await daemon.metrics();
  await daemon.stop();
  fs.closeSync(fd);
  took.sort((x, y) => x - y);
  const at = (q) => (took.length === 0 ? null : Math.round(took[Math.min(took.length - 1, Math.floor(q * took.length))] * 10) / 10);
  const rate = Math.round(per(a, b, 'records') / ((b.at - a.at) / 1000));
  const line = { bench: 'serve', case: 'latency', records_per_s: rate, incidents: count, seen: took.length, missing: sentAt.size, refused,
    p50_ms: at(0.5), p90_ms: at(0.9), p99_ms: at(0.99), max_ms: at(1), inside_p99_ms: bucketQuantile(metrics, 'tracecore_detection_seconds', 0.99),
    server_cpu: Math.round((b.cpu - a.cpu) / ((b.at - a.at) / 1000) * 100) / 100, load_late: sums.late, load_refused: sums.refused + sums.failed };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  if (sentAt.size > 0) missed(`latency: ${sentAt.size} incidents were never told`);
  if (rate < 0.95 * LATENCY_RATE) { say(`the load was ${rate} records/s, not ${LATENCY_RATE}`); status = 2; }
  if (line.p99_ms === null || line.p99_ms >= LATENCY_P99_MS) missed(`latency: p99 ${line.p99_ms} ms, not under ${LATENCY_P99_MS} ms`);
}

/** The upper edge of the bucket that a quantile falls into, in ms. */
function bucketQuantile(metrics, name, q) {
  const rows = metrics.rows.filter((row) => row.name === `${name}_bucket`);
  const total = rows.find((row) => row.labels.le === '+Inf')?.value ?? 0;
  const row = rows.find((r) => r.value >= q * total);
  return total === 0 || !row ? undefined : Number(row.labels.le) * 1000;
}

/** More than it can take, for minutes: memory must not move. Times are made new every half minute. */
async function overload(seconds) {
  const daemon = await start('overload', { ingest: { ack: 'stored' } });
  const forms = ['protobuf', 'json', 'grpc'].map((form) => new Payload(form));
  const samples = [];
  const began = performance.now();
  const watch = setInterval(() => samples.push({ s: (performance.now() - began) / 1000, rss: mib(daemon.memory().VmRSS) }), 1000);
  const a = await counted(daemon);
  let errors = 0;
  for (let turn = 0; (performance.now() - began) / 1000 < seconds; turn++) {
    const left = Math.ceil(seconds - (performance.now() - began) / 1000);
    errors += await drive(daemon, forms[turn % forms.length], Math.max(1, Math.min(30, left)), Number(given.connections ?? 64));
    say(`${Math.round((performance.now() - began) / 1000)} s: ${samples.at(-1)?.rss} MiB`);
  }
  const b = await counted(daemon);
  clearInterval(watch);
  await daemon.stop();
  // The first turn of each form fills pools and windows; after that nothing may grow.
  const settled = samples.filter((sample) => sample.s > Math.min(100, seconds / 3));
  const half = Math.floor(settled.length / 2);
  const peak = (list) => Math.max(...list.map((sample) => sample.rss));
  const [first, second] = [peak(settled.slice(0, half)), peak(settled.slice(half))];
  const line = { bench: 'serve', case: 'overload', seconds: Math.round((b.at - a.at) / 1000), records_per_s: Math.round(per(a, b, 'records') / ((b.at - a.at) / 1000)),
    rejected: per(a, b, 'rejected'), client_errors: errors, rss_first_half_mib: first, rss_second_half_mib: second, rss_max_mib: peak(samples),
    detectors_mib: b.detectors && mib(b.detectors / 1024) };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  if (second - first > RSS_DRIFT_MIB) missed(`overload: memory grew from ${first} to ${second} MiB`);
  if (b.detectors !== null && line.rss_max_mib > RSS_BEYOND_DETECTORS_MIB + line.detectors_mib) missed(`overload: ${line.rss_max_mib} MiB > ${RSS_BEYOND_DETECTORS_MIB} MiB beyond the detectors' ${line.detectors_mib}`);
}

const CASES = {
  protobuf: () => throughput('protobuf', new Payload('protobuf'), 'memory'),
  json: () => throughput('json', new Payload('json'), 'memory'),
  grpc: () => throughput('grpc', new Payload('grpc'), 'memory'),
  stored: () => throughput('stored', new Payload('protobuf'), 'stored'),
  fleet: () => throughput('fleet', new Fleet(), 'memory'),
  latency,
  allocations,
};

try {
  if (given.overload) await overload(Number(given.overload));
  else {
    for (const name of given.case ?? Object.keys(CASES)) {
      if (!CASES[name]) throw new Error(`no case ${name}; there are ${Object.keys(CASES).join(', ')}`);
      await CASES[name]();
    }
  }
} catch (error) {
  say(error.stack);
  status = 2;
}
fs.rmSync(work, { recursive: true, force: true });
process.exit(given['no-gate'] && status === 1 ? 0 : status);
