// SPDX-License-Identifier: Apache-2.0
// ./dev bench --serve: the daemon under three loads that were written from what people's senders emit:
// small logs, the mix of a training cluster, the gauges of 64 GPUs. The server has one core, the load
// another. One JSON line for each run; docs/performance.md has the method. Exit 0 all gates held, 1
// one was missed, 2 something could not be measured.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { binary } from '../tests/e2e/support/daemon.mjs';
import { Grpc, post } from '../tests/e2e/support/wire.mjs';
import { FORMS, typeOf } from './load/body.mjs';
import { drive, Prepared } from './load/drive.mjs';
import { incidents } from './load/incidents.mjs';
import { start } from './load/start.mjs';
import { Collector, Tracecore } from './load/targets.mjs';
import * as logs from './load/logs.mjs';
import * as mix from './load/mix.mjs';
import * as gauges from './load/gauges.mjs';

const usage = `usage: ./dev bench --serve [OPTIONS]

  --case NAME       only this case, may be repeated:
                    logs, mix, gauges: records a second, CPU per record, memory
                    latency: of answers, at 100,000 records a second of the mix
                    refusals: of the mix at 1, 8, 64 and 256 connections
                    verify: each body once; what was accepted, counted and stored is the same
                    incidents: from a fault to its verdict, beside 200,000 records a second
                    start: with much in the store, until it is ready, and until all is replayed
                    allocations: of tracecore-bench serve, which counts them
  --form NAME       only protobuf, json or grpc, may be repeated
  --ack NAME        only memory or stored, may be repeated
  --against FILE    another tracecore, measured turn by turn with this one; may be repeated
  --seconds N       of each run (10)
  --repeat N        runs of each case (3); the median counts
  --stored N        MB of the mix that are stored, for the start case (1000)
  --incidents N     of the incidents case (600, 20 a second)
  --overload N      instead: overload for N seconds, memory every second
  --connections N   of wrk and h2load (8; 32 for stored, 64 with --overload)
  --dir DIR         where the daemon keeps its data
  --no-gate         only measure

Where TC_OTELCOL names an OpenTelemetry Collector, it takes turns too, dropping all that it receives,
and ratios to it are printed.
`;
const { values: given } = parseArgs({ options: {
  case: { type: 'string', multiple: true },
  form: { type: 'string', multiple: true, default: FORMS },
  ack: { type: 'string', multiple: true, default: ['memory', 'stored'] },
  against: { type: 'string', multiple: true, default: [] },
  seconds: { type: 'string', default: '10' },
  repeat: { type: 'string', default: '3' },
  incidents: { type: 'string', default: '600' },
  stored: { type: 'string', default: '1000' },
  overload: { type: 'string' },
  connections: { type: 'string' },
  dir: { type: 'string', default: os.tmpdir() },
  'no-gate': { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} });
if (given.help) { process.stdout.write(usage); process.exit(0); }

const LOADS = { logs, mix, gauges };
// What must hold: times the Collector that drops all, with what is stored; memory beyond the detectors'
// budget; answers at a steady pace.
const TIMES_COLLECTOR = 3;
const RSS_BEYOND_DETECTORS_MIB = 64;
const RSS_DRIFT_MIB = 8;
const ANSWER_RATE = 100000;
const ANSWER_P99_MS = { memory: 5, stored: 15 };
/** Allocations per record that are none: connections, and what is opened once. */
const ALLOCATIONS_MAX = 0.001;
const CONNECTIONS = [1, 8, 64, 256];
const VERIFIED = 24; // bodies of each load and form

const seconds = Number(given.seconds);
const work = fs.mkdtempSync(path.join(given.dir, 'tc_serve_'));
const say = (line) => process.stderr.write(`serve: ${line}\n`);
const print = (line) => process.stdout.write(`${JSON.stringify({ bench: 'serve', ...line })}\n`);
const mib = (kib) => Math.round(kib / 102.4) / 10;
const round = (n, digits = 0) => Math.round(n * 10 ** digits) / 10 ** digits;
let status = 0;
const missed = (what) => { say(`MISSED ${what}`); if (status === 0) status = 1; };
const cores = Number(spawnSync('nproc').stdout);
const serverCore = '0';
const clientCore = cores > 1 ? '1' : '0';
if (cores < 2) say('one core only: client and server share it, and the figures say so little');

/** A load in a form, written once. */
const prepared = new Map();
function prepare(load, form) {
  const key = `${load}_${form}`;
  if (!prepared.has(key)) {
    const made = new Prepared(LOADS[load], form, path.join(work, key));
    print({ case: 'load', load, form, bodies: made.count, records_per_request: made.records, bytes_per_record: round(made.bytesPerRecord) });
    prepared.set(key, made);
  }
  return prepared.get(key);
}

/** Those that run: whatever happens, none is left behind. */
const running = new Set();
async function begin(target) {
  running.add(target);
  return target.start();
}

let homes = 0;
const ours = (config, options = {}) => new Tracecore(path.join(work, `home_${homes++}`), config, { core: serverCore, program: binary, label: 'this', ...options });
/** This program, those it is compared with, and the Collector; all started. */
async function everyone(ack) {
  const targets = [ours({ ingest: { ack } }), ...given.against.map((program) => ours({ ingest: { ack } }, { program, label: program }))];
  if (process.env.TC_OTELCOL) targets.push(new Collector(path.join(work, `home_${homes++}`), { program: process.env.TC_OTELCOL, core: serverCore }));
  for (const target of targets) await begin(target);
  return targets;
}
async function endAll(targets) {
  for (const target of targets) {
    await target.stop();
    running.delete(target);
    fs.rmSync(target.daemon?.home ?? target.home, { recursive: true, force: true });
  }
}

const per = (a, b, key) => (b[key] === null || a[key] === null || b[key] === undefined ? undefined : b[key] - a[key]);
const medianOf = (runs, key) => runs.map((run) => run[key]).sort((x, y) => x - y)[Math.floor(runs.length / 2)];

/** Whether what the server counted is what the client saw accepted; wrk leaves requests under way at its end, this run's and that of the run before. */
function agrees(result, load, refused, records, connections) {
  const accepted = (load.form === 'grpc' ? result.ok - refused : result.ok) * load.records;
  const open = (load.form === 'grpc' ? 0 : 2 * connections + result.errors) * load.records;
  return records >= accepted && records <= accepted + open;
}

/** One run: what it printed. */
async function measure(target, line, load, options) {
  const a = await target.counted();
  const result = await drive(target, load, { seconds, core: clientCore, ...options });
  const b = await target.counted();
  const elapsed = (b.at - a.at) / 1000;
  const records = per(a, b, 'records');
  const refused = load.form === 'grpc' ? per(a, b, 'grpcRefused') : result.refused;
  const run = {
    ...line, program: target.label, connections: options.connections,
    records_per_s: round(records / elapsed), cpu_ns_per_record: round((b.cpu - a.cpu) / Math.max(1, records) * 1e9),
    requests: result.requests, refused, refused_share: round(refused / Math.max(1, result.requests), 4), client_errors: result.errors, rejected: per(a, b, 'rejected'),
    counts_agree: agrees(result, load, refused, records, options.connections), server_cpu: round((b.cpu - a.cpu) / elapsed, 2),
    ...(result.p50_ms === undefined ? {} : { p50_ms: result.p50_ms, p90_ms: result.p90_ms, p99_ms: result.p99_ms }),
    ...(target.ours ? { detected: round(per(a, b, 'fed') / Math.max(1, records), 3), stored_mb_per_s: round(per(a, b, 'stored') / elapsed / 1e6),
      written_mb_per_s: round(per(a, b, 'written') / elapsed / 1e6, 1), lost_batches: per(a, b, 'lost'), bodies_parsed_again: per(a, b, 'again') } : {}),
    rss_mib: mib(target.memory().VmRSS), rss_max_mib: mib(target.memory().VmHWM),
  };
  print(run);
  if (!run.counts_agree) missed(`${line.case} ${load.form}: ${target.label} counted ${records} records, the client saw ${result.ok} requests accepted and ${refused} refused`);
  return run;
}

async function judgeMemory(what, target, rssMax) {
  const budget = (await target.counted()).detectors;
  if (budget !== null && rssMax > RSS_BEYOND_DETECTORS_MIB + mib(budget / 1024)) missed(`${what}: ${rssMax} MiB > ${RSS_BEYOND_DETECTORS_MIB} MiB beyond the detectors' ${mib(budget / 1024)}`);
  return budget && mib(budget / 1024);
}

/** Programs take turns, so that they share what the machine does beside; the first is judged. */
async function throughput(name, form, ack) {
  const load = prepare(name, form);
  // Group commit needs requests that wait together.
  const connections = Number(given.connections ?? (ack === 'stored' ? 32 : 8));
  const targets = await everyone(ack);
  const runs = targets.map(() => []);
  for (const target of targets) await drive(target, load, { seconds: 2, connections, core: clientCore }); // warm: pools, caches, detectors
  for (let i = 0; i < Number(given.repeat); i++) {
    for (let t = 0; t < targets.length; t++) runs[t].push(await measure(targets[t], { case: name, form, ack }, load, { connections }));
  }
  const first = medianOf(runs[0], 'records_per_s');
  for (let t = 0; t < targets.length; t++) {
    const target = targets[t];
    const rssMax = Math.max(...runs[t].map((run) => run.rss_max_mib));
    const median = medianOf(runs[t], 'records_per_s');
    print({ case: name, form, ack, program: target.label, median_records_per_s: median, median_cpu_ns_per_record: medianOf(runs[t], 'cpu_ns_per_record'), rss_max_mib: rssMax,
      ...(t === 0 ? { detectors_mib: await judgeMemory(`${name} ${form} ${ack}`, target, rssMax) } : { times: round(first / median, 2) }) });
    if (!target.ours && ack === 'stored' && first < TIMES_COLLECTOR * median) missed(`${name} ${form} stored: ${round(first / median, 2)} times the Collector's ${median} records/s, not ${TIMES_COLLECTOR}`);
  }
  await endAll(targets);
}

/** How long answers take at a steady pace. */
async function latency(form, ack) {
  if (form === 'grpc') return;
  const load = prepare('mix', form);
  const targets = await everyone(ack);
  for (const target of targets) await drive(target, load, { seconds: 2, connections: 16, core: clientCore, pace: ANSWER_RATE });
  for (let i = 0; i < Number(given.repeat); i++) {
    for (const target of targets) {
      const run = await measure(target, { case: 'latency', form, ack }, load, { connections: 16, pace: ANSWER_RATE });
      if (target !== targets[0]) continue;
      if (run.records_per_s < 0.95 * ANSWER_RATE) { say(`latency ${form} ${ack}: the load was ${run.records_per_s} records/s, not ${ANSWER_RATE}`); status = 2; }
      if (run.p99_ms > ANSWER_P99_MS[ack]) missed(`latency ${form} ${ack}: p99 ${run.p99_ms} ms, not ${ANSWER_P99_MS[ack]}`);
    }
  }
  await endAll(targets);
}

/** Senders that wait for their answers are not refused, however many there are. */
async function refusals(form, ack) {
  const load = prepare('mix', form);
  for (const connections of CONNECTIONS) {
    const targets = await everyone(ack);
    for (const target of targets) {
      const run = await measure(target, { case: 'refusals', form, ack }, load, { connections });
      if (target !== targets[0]) continue;
      if (run.refused > 0) missed(`refusals ${form} ${ack}: ${run.refused} of ${run.requests} requests at ${connections} connections`);
      await judgeMemory(`refusals ${form} ${ack} ${connections}`, target, run.rss_max_mib);
    }
    await endAll(targets);
  }
}

/** Each body once: accepted, counted and stored must be the same, byte for byte. */
async function verify(name, form) {
  const target = await begin(ours({ ingest: { ack: 'stored' } }));
  const bodies = LOADS[name].bodies(form, VERIFIED);
  const call = form === 'grpc' ? new Grpc(target.grpc) : null;
  let accepted = 0;
  for (const body of bodies) {
    body.refresh(Date.now(), 0);
    const answer = call ? await call.export(body.signal, body.bytes.subarray(5)) : await post(target.http, body.signal, body.bytes, { 'content-type': typeOf(form) });
    if (call ? answer.grpc === 0 : answer.status === 200) accepted += body.records;
  }
  await call?.close();
  const { records } = await target.counted();
  await target.stop();
  const held = [...target.daemon.eachBody()].map((batch) => batch.body);
  const same = held.length === bodies.length && bodies.every((body, i) => held[i].equals(call ? body.bytes.subarray(5) : body.bytes));
  print({ case: 'verify', load: name, form, requests: bodies.length, sent: bodies.reduce((n, b) => n + b.records, 0), accepted, counted: records, stored_requests: held.length, same_bytes: same });
  if (accepted !== records || !same || accepted !== bodies.reduce((n, b) => n + b.records, 0)) missed(`verify ${name} ${form}: sent, accepted, counted and stored differ`);
  fs.rmSync(target.daemon.home, { recursive: true, force: true });
}

/**
 * Allocations per record, counted in front of the C library's allocator. Once with the warehouse, whose engine allocates
 * when it is opened and for each write, however many records there were; once without, where there must be none per record.
 */
async function allocations(name, form) {
  const load = prepare(name, form);
  for (const enabled of [true, false]) {
    const target = await begin(ours({ warehouse: { enabled } }, { program: `${binary}-bench` }));
    await drive(target, load, { seconds: 2, connections: 8, core: clientCore });
    const a = await target.counted();
    await drive(target, load, { seconds, connections: 8, core: clientCore });
    const b = await target.counted();
    await endAll([target]);
    if (b.allocations === 0) throw new Error('tracecore-bench serve counted no allocations');
    const each = per(a, b, 'allocations') / per(a, b, 'records');
    print({ case: 'allocations', load: name, form, warehouse: enabled, records: per(a, b, 'records'), allocations: per(a, b, 'allocations'), allocations_per_record: Number(each.toFixed(6)) });
    if (!enabled && each > ALLOCATIONS_MAX) missed(`allocations ${name} ${form}: ${each.toFixed(4)} per record without the warehouse, not ${ALLOCATIONS_MAX}`);
  }
}

/** More than it can take, for minutes: memory must not move. */
async function overload(total) {
  const target = await begin(ours({ ingest: { ack: 'stored' } }));
  const loads = Object.keys(LOADS).flatMap((name) => given.form.map((form) => [name, form]));
  const samples = [];
  const began = performance.now();
  const sinceBegan = () => (performance.now() - began) / 1000;
  const watch = setInterval(() => samples.push({ s: sinceBegan(), rss: mib(target.memory().VmRSS) }), 1000);
  const a = await target.counted();
  let errors = 0;
  for (let turn = 0; sinceBegan() < total; turn++) {
    const load = prepare(...loads[turn % loads.length]);
    const part = Math.max(1, Math.min(30, Math.ceil(total - sinceBegan())));
    errors += (await drive(target, load, { seconds: part, connections: Number(given.connections ?? 64), core: clientCore })).errors;
    say(`${round(sinceBegan())} s: ${samples.at(-1)?.rss} MiB`);
  }
  const b = await target.counted();
  clearInterval(watch);
  // The first turn of each form fills pools and windows; after that nothing may grow.
  const settled = samples.filter((sample) => sample.s > Math.min(300, total / 3));
  const half = Math.floor(settled.length / 2);
  const peak = (list) => Math.max(...list.map((sample) => sample.rss));
  const [first, second] = [peak(settled.slice(0, half)), peak(settled.slice(half))];
  const rssMax = peak(samples);
  print({ case: 'overload', seconds: round((b.at - a.at) / 1000), records_per_s: round(per(a, b, 'records') / ((b.at - a.at) / 1000)), rejected: per(a, b, 'rejected'), client_errors: errors,
    rss_first_half_mib: first, rss_second_half_mib: second, rss_max_mib: rssMax, detectors_mib: await judgeMemory('overload', target, rssMax) });
  if (second - first > RSS_DRIFT_MIB) missed(`overload: memory grew from ${first} to ${second} MiB`);
  await endAll([target]);
}

const eachForm = async (work_) => { for (const form of given.form) await work_(form); };
const eachFormAndAck = (work_) => eachForm(async (form) => { for (const ack of given.ack) await work_(form, ack); });
const eachLoadAndForm = async (work_) => { for (const name of Object.keys(LOADS)) await eachForm((form) => work_(name, form)); };
const CASES = {
  logs: () => eachFormAndAck((form, ack) => throughput('logs', form, ack)),
  mix: () => eachFormAndAck((form, ack) => throughput('mix', form, ack)),
  gauges: () => eachFormAndAck((form, ack) => throughput('gauges', form, ack)),
  latency: () => eachFormAndAck(latency),
  refusals: () => eachFormAndAck(refusals),
  verify: () => eachLoadAndForm(verify),
  incidents: async () => {
    const outcome = await incidents(await begin(ours({ ingest: { ack: 'stored' } })), { count: Number(given.incidents), core: clientCore });
    print(outcome.line);
    outcome.missed.forEach(missed);
    if (outcome.unmeasured) { say(outcome.unmeasured); status = 2; }
  },
  start: async () => {
    const targets = await everyone('stored');
    for (const target of targets.filter((one) => one.ours)) {
      const outcome = await start(target, prepare('mix', 'protobuf'), { bytes: Number(given.stored) * 1e6, repeat: Number(given.repeat), core: clientCore });
      outcome.lines.forEach(print);
      if (target === targets[0]) outcome.missed.forEach(missed);
    }
    await endAll(targets);
  },
  allocations: () => eachLoadAndForm(allocations),
};

try {
  for (const [what, list, known] of [['case', given.case ?? [], Object.keys(CASES)], ['form', given.form, FORMS], ['ack', given.ack, ['memory', 'stored']]]) {
    for (const name of list) if (!known.includes(name)) throw new Error(`no ${what} ${name}; there are ${known.join(', ')}`);
  }
  if (given.overload) await overload(Number(given.overload));
  else for (const name of given.case ?? Object.keys(CASES)) await CASES[name]();
} catch (error) {
  say(error.stack);
  status = 2;
}
for (const target of running) await target.kill();
fs.rmSync(work, { recursive: true, force: true });
process.exit(given['no-gate'] && status === 1 ? 0 : status);
