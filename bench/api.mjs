// SPDX-License-Identifier: Apache-2.0
// ./dev bench --api: the HTTP API at a steady rate while telemetry comes in. One JSON line for each case: latency from the
// moment a request was due, and what it cost the daemon. docs/performance.md has the method. Exit 0 all gates held, 1 one
// was missed, 2 something could not be measured.
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { Daemon } from '../tests/e2e/support/daemon.mjs';
import { gauge, logs, metrics } from '../tests/e2e/support/otlp.mjs';
import { get, post, sleep, until } from '../tests/e2e/support/wire.mjs';

const usage = `usage: ./dev bench --api [OPTIONS]

  --warehouse DIR   a folder of bench_warehouse --keep, whose runs and slices are asked (it is
                    used as data_dir: give a copy); without it there are no cases of runs
  --case NAME       only this case, may be repeated: incidents, stories, incident, fleet, runs,
                    pivot
  --rate N          requests a second (200)
  --seconds N       of each case (10)
  --nodes N         of the fleet (1250), with eight GPUs each
  --incidents N     that are kept (4096)
  --ingest N        log records a second meanwhile (50000)
  --no-gate         only measure
`;
const { values: given } = parseArgs({ options: {
  warehouse: { type: 'string' },
  case: { type: 'string', multiple: true, default: [] },
  rate: { type: 'string', default: '200' },
  seconds: { type: 'string', default: '10' },
  nodes: { type: 'string', default: '1250' },
  incidents: { type: 'string', default: '4096' },
  ingest: { type: 'string', default: '50000' },
  'no-gate': { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} });
if (given.help) { process.stdout.write(usage); process.exit(0); }

const LIST_P99_MS = 50;
const PIVOT_P99_MS = 100;
const WARM_MS = 3000;
const GPUS = 8;
const NODES_EACH = 25; // of one request
const here = path.dirname(fileURLToPath(import.meta.url));
const work = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_api_'));
const say = (line) => process.stderr.write(`api: ${line}\n`);
let status = 0;

const daemon = new Daemon(path.join(work, 'daemon'), {
  log: { level: 'warn' }, evidence: { keep: '2GiB' }, detection: { incidents: Number(given.incidents) },
  ...(given.warehouse ? { data_dir: path.resolve(given.warehouse) } : {}),
});
const node = (n) => `gpu-node-${String(n).padStart(4, '0')}`;
const uuid = (n, g) => `GPU-${String(n).padStart(8, '0')}-0000-4000-8000-${String(g).padStart(12, '0')}`;
const json = (answer) => JSON.parse(answer.body.toString('utf8'));

/** What scrapers say of every GPU, and an uncorrectable error on as many as there are to be incidents. */
async function fill(nodes, incidents) {
  for (let n = 0; n < nodes; n += NODES_EACH) {
    const points = [];
    for (let i = n; i < Math.min(n + NODES_EACH, nodes); i += 1) {
      for (let g = 0; g < GPUS; g += 1) {
        points.push({ value: 60, attributes: { gpu: String(g), UUID: uuid(i, g), pci_bus_id: `00000000:${(0x10 + g).toString(16)}:00.0`, Hostname: node(i) } });
      }
    }
    const answer = await post(daemon.http, 'metrics', metrics({ 'service.name': 'dcgm-exporter' }, [gauge({ name: 'DCGM_FI_DEV_GPU_TEMP', points })]));
    if (answer.status !== 200) throw new Error(`metrics: ${answer.status}`);
  }
  for (let i = 0; i < incidents; i += 1) {
    const n = Math.floor(i / GPUS) % nodes;
    const line = `NVRM: Xid (PCI:0000:${(0x10 + (i % GPUS)).toString(16)}:00): 48, pid=${4711 + i}, name=python, DBE (double bit error)`;
    await post(daemon.http, 'logs', logs({ 'k8s.node.name': node(n) }, [{ body: line }]));
  }
  let kept = 0;
  await until('the incidents to be told', async () => {
    const before = kept;
    kept = json(await get(daemon.api, '/api/v1/fleet/health')).summary.open_incidents;
    await sleep(500);
    return kept > 0 && kept === before;
  }, 120000);
  return kept;
}

const cpuSeconds = () => {
  const fields = fs.readFileSync(`/proc/${daemon.pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
};
const quantile = (sorted, q) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] * 100) / 100;

/** Asks at the rate, whether answers come or not. */
async function drive(paths, rate, seconds) {
  const at = daemon.api.lastIndexOf(':');
  const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
  const took = [];
  let bytes = 0;
  let errors = 0;
  const ask = (where, due) => new Promise((resolve) => {
    const request = http.get({ host: daemon.api.slice(0, at), port: Number(daemon.api.slice(at + 1)), path: where, agent }, (answer) => {
      answer.on('data', (part) => { bytes += part.length; });
      answer.on('end', () => {
        took.push(performance.now() - due);
        errors += answer.statusCode !== 200;
        resolve();
      });
    });
    request.on('error', () => { errors += 1; resolve(); });
  });
  const began = performance.now();
  const all = [];
  for (let i = 0; i < rate * seconds; i += 1) {
    const due = began + (i * 1000) / rate;
    if (due > performance.now()) await sleep(Math.max(0, due - performance.now()));
    all.push(ask(paths[i % paths.length], due));
  }
  await Promise.all(all);
  agent.destroy();
  took.sort((a, b) => a - b);
  return { took, bytes, errors, seconds: (performance.now() - began) / 1000 };
}

async function measure(name, paths, limitMs, rate = Number(given.rate)) {
  for (const one of paths) await get(daemon.api, one, { timeoutMs: 120000 }); // the first opens what is to be open
  await drive(paths, rate, 1); // and the client warms up
  const cpu = cpuSeconds();
  const { took, bytes, errors, seconds } = await drive(paths, rate, Number(given.seconds));
  const line = {
    case: name, rate, requests: took.length, errors, p50_ms: quantile(took, 0.5), p99_ms: quantile(took, 0.99), max_ms: quantile(took, 1),
    kib_each: Math.round(bytes / took.length / 102.4) / 10, cpu_share: Math.round(((cpuSeconds() - cpu) / seconds) * 100) / 100,
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  if (!given['no-gate'] && (line.p99_ms > limitMs || errors > 0)) {
    say(`MISSED ${name}: p99 ${line.p99_ms} ms, limit ${limitMs}; ${errors} errors`);
    status = Math.max(status, 1);
  }
}

const wanted = (name) => given.case.length === 0 || given.case.includes(name);

async function pivotPaths() {
  const { runs } = json(await get(daemon.api, '/api/v1/runs', { timeoutMs: 120000 }));
  if (runs.length < 2) return null;
  const [run, base] = runs.map((one) => encodeURIComponent(one.run_id));
  const steps = [`/api/v1/runs/${run}/pivot?base=${base}`];
  const points = json(await get(daemon.api, steps[0], { timeoutMs: 120000 })).points ?? [];
  if (points.length > 0 && points[0].point) steps.push(`${steps[0]}&point=${encodeURIComponent(points[0].point)}`);
  return steps;
}

try {
  await daemon.start();
  const kept = await fill(Number(given.nodes), Number(given.incidents));
  const health = json(await get(daemon.api, '/api/v1/fleet/health')).summary;
  say(`${kept} incidents, ${health.nodes} nodes, ${health.gpus} GPUs`);
  const at = daemon.http.lastIndexOf(':');
  const worker = Number(given.ingest) > 0 ? new Worker(path.join(here, 'serve_load.mjs'),
    { workerData: { host: daemon.http.slice(0, at), port: Number(daemon.http.slice(at + 1)), pace: Number(given.ingest) } }) : null;
  await sleep(WARM_MS);
  const id = json(await get(daemon.api, '/api/v1/incidents?limit=1')).incidents[0]?.incident_id;
  if (wanted('incidents')) await measure('incidents', ['/api/v1/incidents?limit=100'], LIST_P99_MS);
  if (wanted('stories')) await measure('stories', ['/api/v1/stories?limit=100'], LIST_P99_MS);
  if (wanted('incident') && id) await measure('incident', [`/api/v1/incidents/${id}`], LIST_P99_MS);
  if (wanted('fleet')) await measure('fleet', ['/api/v1/fleet'], LIST_P99_MS, Math.min(20, Number(given.rate)));
  if (given.warehouse && wanted('runs')) await measure('runs', ['/api/v1/runs'], LIST_P99_MS);
  const pivot = given.warehouse && wanted('pivot') ? await pivotPaths() : null;
  if (pivot) await measure('pivot', pivot, PIVOT_P99_MS);
  const longest = /"longest_stall_cpu_seconds":([\d.e-]+)/u.exec((await get(daemon.api, '/api/v1/status')).body.toString());
  say(`longest callback of the loop: ${longest ? Math.round(Number(longest[1]) * 1e5) / 100 : '?'} ms of CPU`);
  if (worker) {
    const sums = await new Promise((resolve) => { worker.on('message', resolve); worker.postMessage('stop'); });
    say(`ingest: ${Math.round((sums.ok * 1024) / sums.seconds)} records/s taken, ${sums.refused} refused, ${sums.failed} failed`);
  }
  await daemon.stop();
} catch (error) {
  say(error.stack);
  status = 2;
} finally {
  await daemon.destroy();
  fs.rmSync(work, { recursive: true, force: true });
}
process.exit(status);
