// SPDX-License-Identifier: Apache-2.0
// ./dev bench --serve-count: instructions of the daemon per record, counted by callgrind, so that
// they can be compared on a busy machine. docs/performance.md has the method. One JSON line per
// program and load.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { binary, Daemon } from '../tests/e2e/support/daemon.mjs';
import { call, until } from '../tests/e2e/support/wire.mjs';
import { typeOf } from './load/body.mjs';
import * as logs from './load/logs.mjs';
import * as mix from './load/mix.mjs';
import * as gauges from './load/gauges.mjs';

const usage = `usage: ./dev bench --serve-count [OPTIONS]

  --load NAME      only this load, may be repeated: logs, mix or gauges, in a form
                   (mix_protobuf, mix_json) or in both (mix)
  --rounds N       that are counted (12), after as many that are not
  --against FILE   another tracecore, which is counted too; may be repeated
  --off PATTERN    a pattern that is not looked for, may be repeated
  --profile DIR    keep callgrind's files there
`;
const { values: given } = parseArgs({ options: {
  load: { type: 'string', multiple: true, default: ['logs', 'mix', 'gauges'] },
  rounds: { type: 'string', default: '12' },
  against: { type: 'string', multiple: true, default: [] },
  off: { type: 'string', multiple: true, default: [] },
  profile: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} });
if (given.help) { process.stdout.write(usage); process.exit(0); }

const MODULES = { logs, mix, gauges };
const LOADS = Object.keys(MODULES).flatMap((name) => ['protobuf', 'json'].map((form) => `${name}_${form}`));
const REQUESTS = 4; // a round

/** Rounds of requests, each of other bodies and later than the one before it: [{ signal, type, body }]. */
function loadOf(name) {
  const [load, form] = name.split('_');
  const bodies = MODULES[load].bodies(form, Math.min(MODULES[load].BODIES, 2 * REQUESTS * Number(given.rounds)));
  let at = 0;
  return { records: REQUESTS * bodies[0].records, next: () => Array.from({ length: REQUESTS }, () => {
    const body = bodies[at % bodies.length].refresh(Date.now(), Math.floor(at / bodies.length), MODULES[load].steps);
    at++;
    return { signal: body.signal, type: typeOf(form), body: body.bytes };
  }) };
}

/** Sends rounds one request at a time, and waits until all of it was passed to the detectors. */
async function send(daemon, load, agent) {
  let records = 0;
  for (let i = 0; i < Number(given.rounds); i++) {
    for (const { signal, type, body } of load.next()) {
      const headers = { 'content-type': type, 'content-length': body.length };
      const answer = await call(daemon.http, 'POST', `/v1/${signal}`, { body, headers, agent, timeoutMs: 60000 });
      if (answer.status !== 200) throw new Error(`${signal}: ${answer.status} ${answer.body}`);
    }
    records += load.records;
  }
  let before = -1;
  await until('detection to be done', async () => {
    const fed = (await daemon.metrics()).sum('tracecore_events_total');
    const done = fed === before;
    before = fed;
    return done;
  }, 60000, 1000);
  return records;
}

function control(daemon, ...words) {
  const result = spawnSync('callgrind_control', [...words, String(daemon.pid)], { encoding: 'utf8' });
  if (result.status !== 0) throw new Error(`callgrind_control: ${result.stdout}${result.stderr}`);
}

async function count(program, name) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_serve_count_'));
  const out = path.join(home, 'callgrind.out');
  const patterns = Object.fromEntries(given.off.map((pattern) => [pattern, { enabled: false }]));
  const daemon = new Daemon(home, { ingest: { ack: 'memory' }, log: { level: 'warn' }, warehouse: { enabled: false }, detection: { lateness: '1h', patterns } },
    { program, prefix: ['valgrind', '-q', '--tool=callgrind', `--callgrind-out-file=${out}`] });
  await daemon.start();
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const load = loadOf(name);
  await send(daemon, load, agent); // pools, windows, tables
  control(daemon, '--zero');
  const records = await send(daemon, load, agent);
  control(daemon, '--dump');
  const file = `${out}.1`;
  await until('callgrind to write', () => fs.existsSync(file) && /^totals: /m.test(fs.readFileSync(file, 'latin1')));
  const instructions = Number(/^totals: (\d+)/m.exec(fs.readFileSync(file, 'latin1'))[1]);
  const metrics = await daemon.metrics();
  agent.destroy();
  await daemon.stop();
  if (given.profile) fs.copyFileSync(file, path.join(given.profile, `${name}.${path.basename(path.resolve(program, '../../..'))}`));
  fs.rmSync(home, { recursive: true, force: true });
  process.stdout.write(`${JSON.stringify({ bench: 'serve_count', program, load: name, off: given.off, records, instructions_per_record: Math.round(instructions / records),
    events: metrics.sum('tracecore_events_total') })}\n`);
}

for (const wanted of given.load) {
  const names = LOADS.filter((name) => name === wanted || name.startsWith(`${wanted}_`));
  if (names.length === 0) throw new Error(`no load ${wanted}; there are ${LOADS.join(', ')}`);
  for (const name of names) for (const program of [binary, ...given.against]) await count(program, name);
}
