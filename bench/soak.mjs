// SPDX-License-Identifier: Apache-2.0
// ./dev bench --soak: a day of a fleet with faults, 100 times as fast as in life, through the sources of a daemon: file
// tails with rotation, exporters, Flight Recorder dumps, a Kubernetes API server, OTLP (tests/e2e/support/fleet.mjs). Its
// memory stays level, it reads everything, and its verdicts are those of `tracecore detect` on the same bytes. One JSON line;
// exit 1 when one of these does not hold, 2 when it could not be measured.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Daemon, detect, lines, run } from '../tests/e2e/support/daemon.mjs';
import { Fleet, differences, settled } from '../tests/e2e/support/fleet.mjs';
import { until } from '../tests/e2e/support/wire.mjs';

const usage = `usage: ./dev bench --soak [OPTIONS]

  --hours N      simulated (24)
  --nodes N      of eight GPUs (256)
  --speed N      times real time (100)
  --scrape TIME  how often each exporter is asked, of our time (2s)
  --seed N       of the fleet (1)
  --no-warehouse without tables
  --dir DIR      where all of it is kept; what detect reads and what the daemon stores
  --keep         does not delete it at the end
`;
const { values: given } = parseArgs({ options: {
  hours: { type: 'string', default: '24' },
  nodes: { type: 'string', default: '256' },
  speed: { type: 'string', default: '100' },
  scrape: { type: 'string', default: '2s' },
  seed: { type: 'string', default: '1' },
  'no-warehouse': { type: 'boolean', default: false },
  dir: { type: 'string', default: os.tmpdir() },
  keep: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} });
if (given.help) { process.stdout.write(usage); process.exit(0); }

const RSS_DRIFT_MIB = 8;
const HOLD_MS = 10000;
const say = (line) => process.stderr.write(`soak: ${line}\n`);
const mib = (kib) => Math.round(kib / 102.4) / 10;
const hours = Number(given.hours);
const speed = Number(given.speed);
const lengthMs = hours * 3600000;
const work = fs.mkdtempSync(path.join(given.dir, 'tc_soak_'));
const missed = [];
// The default of detection.lateness, of the fleet's time: that goes by so much faster. A day is the most there is.
const latenessS = Math.min(86400, Math.ceil(60 * Math.max(1, speed)));

function cpuSeconds(pid) {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /u, '').split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

const folderBytes = (folder) => fs.readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
  .reduce((sum, one) => { try { return sum + fs.statSync(path.join(one.parentPath ?? one.path, one.name)).size; } catch { return sum; } }, 0);

// Its last moment is now, give or take a minute: nothing is in the daemon's future however fast it goes.
const startMs = Math.floor(Date.now() / 1000) * 1000 - lengthMs + (speed > 0 ? lengthMs / speed : 0) - 60000;
const fleet = await new Fleet({ dir: path.join(work, 'fleet'), nodes: Number(given.nodes), hours, seed: given.seed, startMs }).start();
const daemon = new Daemon(path.join(work, 'daemon'), {
  sources: fleet.sources(given.scrape),
  // A source that is a second behind the others is 100 s behind in the fleet's time: the hold has to bear that.
  detection: { hold: `${HOLD_MS}ms`, hold_bytes: '256MiB', lateness: `${latenessS}s` },
  warehouse: { enabled: !given['no-warehouse'] },
  log: { level: 'warn' },
});

const rss = [];
const sample = () => { rss.push({ at: fleet.atMs, ...daemon.memory() }); };
const windows = []; // what the records of detectors have written to, which is bounded by their budgets
const sampleWindows = async () => { windows.push({ at: fleet.atMs, kib: (await daemon.metrics()).sum('tracecore_detector_window_bytes') / 1024 }); };

/** Memory of each half and what else was seen: flat, or not. Windows of detectors fill up to their budgets, and say what of it they have touched. */
function memory() {
  const at = (part) => startMs + (fleet.atMs - startMs) * part;
  const most = (list, key, from, to) => mib(Math.max(0, ...list.filter((one) => one.at >= at(from) && one.at < at(to)).map((one) => one[key])));
  const halves = { first: most(rss, 'VmRSS', 0, 0.5), second: most(rss, 'VmRSS', 0.5, 2) };
  const filled = { first: most(windows, 'kib', 0, 0.5), second: most(windows, 'kib', 0.5, 2) };
  const eighths = (key) => Array.from({ length: 8 }, (_, i) => most(rss, key, i / 8, i < 7 ? (i + 1) / 8 : 2));
  const drift = halves.second - halves.first - (filled.second - filled.first);
  if (drift > RSS_DRIFT_MIB) missed.push(`memory: ${halves.second} MiB in the second half, ${halves.first} in the first; windows ${filled.second} and ${filled.first}`);
  const anon = { first: most(rss, 'RssAnon', 0, 0.5), second: most(rss, 'RssAnon', 0.5, 2) }; // without pages of programs and files
  return { rss_mib: halves, anon_mib: anon, windows_mib: filled, rss_eighths: eighths('VmRSS'), anon_eighths: eighths('RssAnon') };
}

/** What the sources say of themselves, and whether all that was handed over was read. */
function health(status) {
  const out = {};
  const wanted = { files: fleet.counts.lines, kubernetes: fleet.counts.objects, dumps: fleet.counts.dumps };
  for (const one of status.sources) {
    out[one.name] = { state: one.state, records: one.records, errors: one.errors, lost: one.lost };
    if (one.state !== 'ok' || one.lost > 0) missed.push(`source ${one.name} is ${one.state}, ${one.lost} lost: ${one.error ?? ''}`);
    if (one.name in wanted && one.records !== wanted[one.name]) missed.push(`source ${one.name} read ${one.records} of ${wanted[one.name]}`);
  }
  return out;
}

// Ctrl-C ends the day early: what happened until then is judged.
process.once('SIGINT', () => { fleet.ending = true; });

let status = 2;
try {
  await daemon.start();
  await until('its watches', () => fleet.api.watches.size === 3, 30000);
  const timer = setInterval(sample, 1000);
  const windowTimer = setInterval(() => sampleWindows().catch(() => {}), 10000);
  const cpu = cpuSeconds(daemon.pid);
  const said = setInterval(() => say(`${Math.round((fleet.atMs - startMs) / 36000) / 100} of ${hours} h, ${mib(daemon.memory().VmRSS)} MiB, ${Math.round(fleet.lagMs)} ms behind at most`), 30000);
  await fleet.play(daemon, { speed, slackMs: 500 });
  const sources = health(await settled(fleet, daemon, HOLD_MS));
  clearInterval(timer);
  clearInterval(windowTimer);
  await sampleWindows();
  clearInterval(said);
  const metrics = await daemon.metrics();
  const events = Object.fromEntries(metrics.rows.filter((row) => row.name === 'tracecore_events_total').map((row) => [row.labels.outcome, row.value]));
  const cpuUsed = cpuSeconds(daemon.pid) - cpu;
  await daemon.stop();
  const stored = folderBytes(daemon.dataDir);
  say(`${folderBytes(fleet.kept)} bytes for detect`);
  const offline = detect([fleet.kept], ['--memory', '2G'], { timeout: 3600000 });
  const live = [...daemon.incidents().values()];
  const differs = differences(live, offline);
  for (const one of differs.live) missed.push(`only the daemon: ${one.incident_id} ${one.headline}`);
  for (const one of differs.offline) missed.push(`only detect: ${one.incident_id} ${one.headline}`);
  for (const [field, count] of Object.entries(differs.fields)) missed.push(`${field} differs in ${count} incidents`);
  for (const one of differs.examples) say(`${one.pattern} ${one.id} ${one.key}: daemon ${one.live}, detect ${one.offline}`);
  const scored = run(['score', '--json', '--truth', path.join(fleet.kept, 'truth.ndjson'), daemon.verdictFile]);
  const score = scored.status === 0 ? lines(scored.text).at(-1).all : undefined;
  process.stdout.write(`${JSON.stringify({
    bench: 'soak', nodes: Number(given.nodes), hours: Math.round((fleet.atMs - startMs) / 36000) / 100, speed, took_s: Math.round(fleet.tookMs / 1000), speed_had: Math.round((fleet.atMs - startMs) / fleet.tookMs * 10) / 10,
    ...memory(), cpu_cores: Math.round(cpuUsed / fleet.tookMs * 100000) / 100, lag_max_ms: Math.round(fleet.lagMs), sources, counts: fleet.counts,
    rotations: [...fleet.logs.values()].reduce((sum, log) => sum + log.rotations, 0), events,
    rechecks: metrics.sum('tracecore_rechecks_total'), kept_bytes: folderBytes(fleet.kept), stored_bytes: stored,
    incidents: live.length, offline: offline.length, differences: differs.live.length + differs.offline.length, fields: differs.fields,
    precision: score?.precision, recall: score?.recall, // of all that was injected, also after an early end
  })}\n`);
  status = missed.length > 0 ? 1 : 0;
} catch (error) {
  say(`${error.stack}\n${daemon.log().slice(-4000)}`);
} finally {
  for (const what of missed.slice(0, 200)) say(`MISSED ${what}`);
  await daemon.destroy();
  await fleet.stop();
  if (given.keep) say(`kept in ${work}`); else fs.rmSync(work, { recursive: true, force: true });
}
process.exit(status);
