// SPDX-License-Identifier: Apache-2.0
// Starts `tracecore serve` as its users do, in a directory of its own and on ports of its own, and
// looks at it from outside: answers, /metrics, files, /proc. Nothing here knows its inside.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { placed, setServed, warehouseUrl } from './elsewhere.mjs';
import { get, sleep, until } from './wire.mjs';

export const binary = process.env.TC_BINARY;
export const source = process.env.TC_SOURCE_DIR ?? process.cwd();

const START_MS = 30000;
const STOP_MS = 30000;

/** `a` with what `b` says in addition; objects are joined, all else is replaced. */
export function merge(a, b) {
  const out = { ...a };
  for (const [key, value] of Object.entries(b ?? {})) {
    const both = value && typeof value === 'object' && !Array.isArray(value) && out[key] && typeof out[key] === 'object';
    out[key] = both ? merge(out[key], value) : value;
  }
  return out;
}

/** Runs the program to its end. */
export function run(args, options = {}) {
  const result = spawnSync(binary, args, { maxBuffer: 1 << 30, timeout: 120000, ...placed(args, options) });
  const text = (bytes) => (typeof bytes === 'string' ? bytes : bytes.toString('utf8'));
  return { status: result.status, signal: result.signal, stdout: result.stdout, text: text(result.stdout), stderr: text(result.stderr) };
}

export const lines = (text) => text.split('\n').filter(Boolean).map((line) => JSON.parse(line));

/** Verdicts of `tracecore detect --json` on these paths. */
export function detect(paths, args = [], options = {}) {
  const result = run(['detect', '--json', '-q', ...args, ...paths], options);
  assert.ok(result.status === 0 || result.status === 1, result.stderr);
  return lines(result.text);
}

/** Prometheus text as { 'name{labels}': value }, with a sum over labels that are given in part. */
export function parseMetrics(text) {
  const rows = [];
  for (const line of text.split('\n')) {
    const m = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (m) {
      const labels = Object.fromEntries([...(m[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map((l) => [l[1], l[2]]));
      rows.push({ name: m[1], labels, value: Number(m[3]) });
    }
  }
  const chosen = (name, labels) => rows.filter((row) => row.name === name &&
    Object.entries(labels ?? {}).every(([k, v]) => row.labels[k] === v));
  return {
    rows,
    has: (name, labels) => chosen(name, labels).length > 0,
    sum: (name, labels) => {
      const found = chosen(name, labels);
      assert.ok(found.length > 0, `/metrics has no ${name}${JSON.stringify(labels ?? {})}`);
      return found.reduce((total, row) => total + row.value, 0);
    },
  };
}

/** A directory of the test's own, gone with `remove`. */
export function workspace(name) {
  const top = fs.mkdtempSync(path.join(process.env.TC_TMP ?? os.tmpdir(), `tc_${name}_`));
  return { top, file: (...parts) => path.join(top, ...parts), remove: () => fs.rmSync(top, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }) };
}

export class Daemon {
  /**
   * @param {string} home   where its configuration, data and verdicts are
   * @param {object} config what differs from the tests' defaults
   * @param {object} options { env, prefix: words before the program, such as taskset's, program: instead of TC_BINARY,
   *                         disk: where data and verdicts are, if not in home }
   */
  constructor(home, config = {}, options = {}) {
    this.home = home;
    this.options = options;
    this.dataDir = path.join(options.disk ?? home, 'data');
    this.verdictFile = path.join(options.disk ?? home, 'verdicts.ndjson');
    this.configFile = path.join(home, 'tracecore.yaml');
    this.logFile = path.join(home, 'daemon.log');
    fs.mkdirSync(home, { recursive: true });
    this.configure(config);
  }

  /** Writes the configuration; JSON is YAML. A running daemon sees it on SIGHUP. */
  configure(config) {
    this.config = merge({
      data_dir: this.dataDir,
      receivers: { otlp: { http: { listen: '127.0.0.1:0' }, grpc: { listen: '127.0.0.1:0' } } },
      api: { listen: '127.0.0.1:0' },
      verdicts: { file: { path: this.verdictFile } },
      // What this machine logs is none of a test's business.
      sources: { kmsg: { enabled: false }, journal: { enabled: false } },
      // Tables of tests are small: a second thread of DuckDB would only wait in a loop for the first. warehouse_daemon has two.
      warehouse: { threads: 1, url: warehouseUrl(this.dataDir) },
    }, config);
    fs.writeFileSync(this.configFile, `${JSON.stringify(this.config, null, 2)}\n`);
  }

  /** Starts it; unless told not to, waits until the replay of what is stored is over. */
  async start({ replayed = true } = {}) {
    assert.ok(binary, 'TC_BINARY names the program to test');
    const words = [...(this.options.prefix ?? []), this.options.program ?? binary, 'serve', '--config', this.configFile, '--announce'];
    const log = fs.openSync(this.logFile, 'a');
    this.logStart = fs.fstatSync(log).size;
    this.child = spawn(words[0], words.slice(1), {
      stdio: ['ignore', 'pipe', log], cwd: this.home, env: { ...process.env, ...this.options.env },
    });
    fs.closeSync(log);
    this.exit = null;
    setServed(this.dataDir, true);
    this.ended = new Promise((resolve) => {
      const end = (exit) => { this.exit = exit; setServed(this.dataDir, false); resolve(exit); };
      this.child.on('exit', (code, signal) => end({ code, signal }));
      this.child.on('error', (error) => end({ error }));
    });
    let out = '';
    this.child.stdout.setEncoding('utf8');
    this.child.stdout.on('data', (text) => { out += text; });
    const announced = await until('the daemon to announce itself', () => {
      if (this.exit) return 'ended';
      return out.includes('\n') && out.slice(0, out.indexOf('\n'));
    }, START_MS, 5).catch((error) => { this.child.kill('SIGKILL'); throw new Error(`${error.message}\n${this.log()}`); });
    if (announced === 'ended') throw new Error(`the daemon ended: ${JSON.stringify(this.exit)}\n${this.log()}`);
    Object.assign(this, JSON.parse(announced));
    this.pid = this.child.pid;
    if (replayed && this.api) await this.untilReplayed();
    return this;
  }

  /** Waits until what was stored before is judged: /readyz says how far that is. */
  async untilReplayed() {
    await until('the replay to end', async () => {
      if (this.exit) throw new Error(`the daemon ended: ${JSON.stringify(this.exit)}\n${this.log()}`);
      const answer = await get(this.api, '/readyz');
      return answer.status === 200 && JSON.parse(answer.body).state === 'ready';
    }, START_MS, 5);
  }

  /** What it wrote to standard error, this start's only. */
  log() {
    const all = fs.existsSync(this.logFile) ? fs.readFileSync(this.logFile) : Buffer.alloc(0);
    return all.subarray(this.logStart ?? 0).toString('utf8');
  }

  get running() { return this.child !== undefined && this.exit === null; }

  signal(name) { this.child.kill(name); }

  async wait(timeoutMs = STOP_MS) {
    const timer = setTimeout(() => this.child.kill('SIGKILL'), timeoutMs);
    const exit = await this.ended;
    clearTimeout(timer);
    return exit;
  }

  /** SIGTERM, and a clean end. */
  async stop() {
    if (!this.running) return;
    this.signal('SIGTERM');
    const exit = await this.wait();
    assert.deepEqual(exit, { code: 0, signal: null }, `the daemon ended badly\n${this.log()}`);
  }

  async kill() {
    if (!this.running) return;
    this.signal('SIGKILL');
    await this.wait();
  }

  /** For after(): whatever it is doing, it ends. */
  async destroy() { if (this.running) { this.signal('SIGKILL'); await this.wait(); } }

  async metrics() {
    const answer = await get(this.api, '/metrics');
    assert.equal(answer.status, 200);
    return parseMetrics(answer.body.toString('utf8'));
  }

  async status() {
    const answer = await get(this.api, '/api/v1/status');
    assert.equal(answer.status, 200);
    return JSON.parse(answer.body.toString('utf8'));
  }

  /** Verdict lines so far; a line that is not finished yet is left for later. */
  verdicts(file = this.verdictFile) {
    if (!fs.existsSync(file)) return [];
    const text = fs.readFileSync(file, 'utf8');
    return lines(text.slice(0, text.lastIndexOf('\n') + 1));
  }

  /** The latest line of each incident. */
  incidents() {
    const latest = new Map();
    for (const verdict of this.verdicts()) latest.set(verdict.incident_id, verdict);
    return latest;
  }

  /** Waits until there are these many incidents, or those that `wanted` accepts. */
  async untilVerdicts(what, wanted, timeoutMs = 15000) {
    const ok = typeof wanted === 'number' ? (v) => v.length >= wanted : wanted;
    return until(what, () => { const v = this.verdicts(); return ok(v) ? v : null; }, timeoutMs)
      .catch((error) => { throw new Error(`${error.message}; ${this.verdicts().length} verdicts\n${this.log()}`); });
  }

  /** Batches as `evidence ls` has them. */
  batches() {
    const result = run(['evidence', 'ls', '--json', '--data-dir', this.dataDir]);
    assert.equal(result.status, 0, result.stderr);
    return lines(result.text);
  }

  /** The bytes of one batch. */
  body(number) {
    const result = run(['evidence', 'cat', '--data-dir', this.dataDir, String(number)]);
    assert.equal(result.status, 0, result.stderr);
    return result.stdout;
  }

  /** Every batch in the store with its body, one after the other. */
  * eachBody() {
    for (const batch of this.batches()) yield { ...batch, body: this.body(batch.number) };
  }

  bodies() { return [...this.eachBody()]; }

  /** The bytes that a verdict names: { digest, offset, length }. */
  cite(raw) {
    const result = run(['evidence', 'cat', '--data-dir', this.dataDir, raw.digest, '--at', `${raw.offset},${raw.length}`]);
    assert.equal(result.status, 0, result.stderr);
    return result.stdout;
  }

  verify() { return run(['evidence', 'verify', '--data-dir', this.dataDir]); }

  /** Every byte of the store is what was written. */
  assertWhole() {
    const result = this.verify();
    assert.equal(result.status, 0, result.stderr + result.text);
  }

  /** Memory of the process in KiB: { VmRSS, VmHWM, ... }. */
  memory() {
    const text = fs.readFileSync(`/proc/${this.pid}/status`, 'utf8');
    return Object.fromEntries([...text.matchAll(/^(Vm\w+|Rss\w+):\s+(\d+) kB$/gm)].map((m) => [m[1], Number(m[2])]));
  }

  files() { return fs.readdirSync(`/proc/${this.pid}/fd`).length; }
}

/** Runs `work` and says by how many KiB the peak of the daemon's memory rose meanwhile. */
export async function growth(daemon, work) {
  // Writing 5 resets the peak (proc(5)); without the right to, the peak since the start is compared.
  try { fs.writeFileSync(`/proc/${daemon.pid}/clear_refs`, '5'); } catch { /* not permitted */ }
  const before = daemon.memory().VmHWM;
  await work();
  await sleep(50);
  return daemon.memory().VmHWM - before;
}
