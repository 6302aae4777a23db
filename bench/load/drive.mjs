// SPDX-License-Identifier: Apache-2.0
// Sends a load with wrk (HTTP) or h2load (gRPC), on the load's core. h2load posts one file for as long as
// it runs, so it is started again and again with the next body, as many at a time as connections allow.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { typeOf } from './body.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const SERVICE = { logs: 'logs.v1.LogsService', metrics: 'metrics.v1.MetricsService', traces: 'trace.v1.TraceService' };
const H2_SLOTS = 8; // programs at a time
const H2_STREAMS = 4;
const H2_REQUESTS = 48; // of one body before the next

function command(words, env = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(words[0], words.slice(1), { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
    let text = '';
    child.stdout.on('data', (part) => { text += part; });
    child.stderr.on('data', (part) => { text += part; });
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve(text) : reject(new Error(`${words.join(' ')}: ${text}`))));
  });
}

/** A load in one form, on disk for wrk and h2load. */
export class Prepared {
  constructor(load, form, dir) {
    const bodies = load.bodies(form);
    fs.mkdirSync(dir, { recursive: true });
    bodies.forEach((body, i) => {
      fs.writeFileSync(path.join(dir, `${i}.body`), body.bytes);
      fs.writeFileSync(path.join(dir, `${i}.marks`), body.marksAsBytes());
    });
    Object.assign(this, { form, dir, count: bodies.length, signal: bodies[0].signal, records: bodies[0].records, steps: load.steps,
      bytesPerRecord: bodies.reduce((n, b) => n + b.bytes.length, 0) / bodies.reduce((n, b) => n + b.records, 0) });
    if (bodies.some((b) => b.records !== this.records)) throw new Error('the requests of a load have the same number of records');
    this.bodies = form === 'grpc' ? bodies : undefined; // made new before they are sent
    this.turn = 0;
  }

  /** h2load reads files: they get the times of now. */
  refresh() {
    this.turn++;
    this.bodies.forEach((body, i) => fs.writeFileSync(path.join(this.dir, `${i}.body`), body.refresh(Date.now(), this.turn, this.steps).bytes));
  }
}

const inMs = (text, unit) => Number(text) * { us: 0.001, ms: 1, s: 1000, m: 60000 }[unit];

/** wrk's own account: requests that were answered, those with another answer than 2xx, latencies. */
async function driveHttp(target, prepared, { seconds, connections, core, pace = 0 }) {
  const text = await command(['taskset', '-c', core, 'wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '30s', '--latency', '-s', path.join(here, 'post.lua'), `http://${target.http}/`], {
    TC_LOAD: prepared.dir, TC_COUNT: String(prepared.count), TC_TYPE: typeOf(prepared.form), TC_PATH: `/v1/${prepared.signal}`, TC_STEPS: String(prepared.steps),
    TC_PACE: String(pace / prepared.records),
  });
  const done = /(\d+) requests in /.exec(text);
  if (!done) throw new Error(`wrk said: ${text}`);
  const refused = Number(/Non-2xx or 3xx responses: (\d+)/.exec(text)?.[1] ?? 0);
  const sockets = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(text);
  const quantile = (q) => { const m = new RegExp(`^\\s+${q}%\\s+([\\d.]+)(us|ms|s|m)$`, 'm').exec(text); return m ? Math.round(inMs(m[1], m[2]) * 100) / 100 : undefined; };
  return { requests: Number(done[1]), ok: Number(done[1]) - refused, refused, errors: sockets ? sockets.slice(1).reduce((n, s) => n + Number(s), 0) : 0,
    p50_ms: quantile(50), p90_ms: quantile(90), p99_ms: quantile(99) };
}

/** h2load counts HTTP's status alone; what gRPC refused, the server's own metrics say. */
async function driveGrpc(target, prepared, { seconds, connections, core }) {
  prepared.refresh();
  const end = performance.now() + seconds * 1000;
  const sums = { requests: 0, ok: 0, refused: 0, errors: 0 };
  const slots = Math.min(H2_SLOTS, connections);
  const each = Math.ceil(connections / slots);
  let next = 0;
  const slot = async () => {
    while (performance.now() < end) {
      const file = path.join(prepared.dir, `${next++ % prepared.count}.body`);
      const text = await command(['taskset', '-c', core, 'h2load', '-t1', `-c${each}`, `-m${H2_STREAMS}`, `-n${Math.max(H2_REQUESTS, each * H2_STREAMS)}`, '-d', file,
        '-H', 'content-type: application/grpc', '-H', 'te: trailers', `http://${target.grpc}/opentelemetry.proto.collector.${SERVICE[prepared.signal]}/Export`]);
      const m = /requests: (\d+) total, .* (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout/.exec(text);
      if (!m) throw new Error(`h2load said: ${text}`);
      sums.requests += Number(m[2]);
      sums.ok += Number(m[3]);
      sums.errors += Number(m[1]) - Number(m[3]);
    }
  };
  await Promise.all(Array.from({ length: slots }, slot));
  return sums;
}

/** One run: { requests, ok, refused, errors, p50_ms, p99_ms }. */
export const drive = (target, prepared, options) => (prepared.form === 'grpc' ? driveGrpc : driveHttp)(target, prepared, options);
