// SPDX-License-Identifier: Apache-2.0
// What is measured: tracecore, and where TC_OTELCOL names one, an OpenTelemetry Collector that throws
// everything away. Both answer the same questions: addresses, CPU time, memory, what they counted.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { Daemon, merge, parseMetrics } from '../../tests/e2e/support/daemon.mjs';
import { get, until } from '../../tests/e2e/support/wire.mjs';

const TICKS = Number(spawnSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }).stdout) || 100;

/** User and system CPU seconds of a process so far. */
export function cpuSeconds(pid) {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}
/** Resident memory in KiB: { VmRSS, VmHWM }. */
const memoryOf = (pid) => Object.fromEntries([...fs.readFileSync(`/proc/${pid}/status`, 'utf8').matchAll(/^(Vm\w+):\s+(\d+) kB$/gm)].map((m) => [m[1], Number(m[2])]));

export class Tracecore {
  constructor(home, config, { program, core, label }) {
    this.daemon = new Daemon(home, merge({ evidence: { keep: '4GiB' }, log: { level: 'warn' } }, config), { program, prefix: ['taskset', '-c', core] });
    this.label = label;
    this.ours = true;
  }

  async start() {
    await this.daemon.start();
    Object.assign(this, { http: this.daemon.http, grpc: this.daemon.grpc, pid: this.daemon.pid });
    return this;
  }

  memory() { return memoryOf(this.pid); }

  /** What the daemon counted, at one moment. */
  async counted() {
    const metrics = await this.daemon.metrics();
    const of = (name, labels) => (metrics.has(name, labels) ? metrics.sum(name, labels) : null);
    return {
      at: performance.now(), cpu: cpuSeconds(this.pid),
      records: of('tracecore_records_received_total'), fed: of('tracecore_events_total', { outcome: 'fed' }),
      grpcRefused: of('tracecore_grpc_errors_total'),
      rejected: of('tracecore_requests_rejected_total') + of('tracecore_http_refused_total'),
      stored: of('tracecore_evidence_bytes_total'), written: of('tracecore_evidence_written_bytes_total'),
      lost: of('tracecore_evidence_lost_batches_total'), allocations: of('tracecore_allocations_total'),
      detectors: of('tracecore_detector_budget_bytes'), again: of('tracecore_bodies_parsed_again_total', { by: 'detection' }),
    };
  }

  async stop() { await this.daemon.stop(); }

  async kill() { await this.daemon.destroy(); }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => { const { port } = server.address(); server.close(() => resolve(port)); });
  });
}

/** The Collector: its OTLP receiver, and the exporter that drops all (TC_OTELCOL_EXPORTER, nop by default). */
export class Collector {
  constructor(home, { program, core }) {
    Object.assign(this, { home, program, core, label: 'otelcol', ours: false });
    fs.mkdirSync(home, { recursive: true });
  }

  async start() {
    const [http, grpc, own] = [await freePort(), await freePort(), await freePort()];
    const exporter = process.env.TC_OTELCOL_EXPORTER ?? 'nop';
    const pipeline = { receivers: ['otlp'], exporters: [exporter] };
    const config = {
      receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${http}` }, grpc: { endpoint: `127.0.0.1:${grpc}` } } } },
      exporters: { [exporter]: exporter === 'debug' ? { verbosity: 'basic', sampling_initial: 0, sampling_thereafter: 0 } : {} },
      service: {
        pipelines: { logs: pipeline, metrics: pipeline, traces: pipeline },
        telemetry: { logs: { level: 'error' }, metrics: { level: 'basic', readers: [{ pull: { exporter: { prometheus: { host: '127.0.0.1', port: own } } } }] } },
      },
    };
    const file = path.join(this.home, 'otelcol.yaml');
    fs.writeFileSync(file, JSON.stringify(config)); // JSON is YAML
    const log = fs.openSync(path.join(this.home, 'otelcol.log'), 'a');
    this.child = spawn('taskset', ['-c', this.core, this.program, '--config', file], { stdio: ['ignore', log, log], env: { ...process.env, GOMAXPROCS: '1' } });
    fs.closeSync(log);
    this.ended = new Promise((resolve) => { this.child.on('exit', resolve); this.child.on('error', resolve); });
    Object.assign(this, { http: `127.0.0.1:${http}`, grpc: `127.0.0.1:${grpc}`, own: `127.0.0.1:${own}`, pid: this.child.pid });
    await until('the Collector to start', async () => {
      if (this.child.exitCode !== null) throw new Error(fs.readFileSync(path.join(this.home, 'otelcol.log'), 'utf8').slice(-2000));
      return (await get(this.own, '/metrics')).status === 200;
    }, 30000, 50);
    return this;
  }

  memory() { return memoryOf(this.pid); }

  async counted() {
    const metrics = parseMetrics((await get(this.own, '/metrics')).body.toString('utf8'));
    const of = (start) => metrics.rows.filter((row) => row.name.startsWith(start)).reduce((sum, row) => sum + row.value, 0);
    return { at: performance.now(), cpu: cpuSeconds(this.pid),
      records: of('otelcol_receiver_accepted_log_records') + of('otelcol_receiver_accepted_metric_points'),
      rejected: of('otelcol_receiver_refused_log_records') + of('otelcol_receiver_refused_metric_points'), grpcRefused: 0, detectors: null };
  }

  async stop() {
    this.child.kill('SIGTERM');
    await this.ended;
  }

  async kill() {
    if (this.child === undefined || this.child.exitCode !== null) return;
    this.child.kill('SIGKILL');
    await this.ended;
  }
}
