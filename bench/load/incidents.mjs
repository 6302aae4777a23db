// SPDX-License-Identifier: Apache-2.0
// From the sending of the one event that an incident needs to its line in the verdict file, beside a
// steady load of small logs. The client's own delays are in it.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { logs, nowNs, xid48 } from '../../tests/e2e/support/otlp.mjs';
import { post, sleep } from '../../tests/e2e/support/wire.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const P99_MS = 50;
const RATE = 200000;

/** Reads what is added to a file; calls `line` with each line. */
function follow(file, line) {
  const fd = fs.openSync(file, 'a+');
  const chunk = Buffer.alloc(1 << 20);
  let read = 0;
  let rest = '';
  const look = () => {
    for (;;) {
      const n = fs.readSync(fd, chunk, 0, chunk.length, read);
      if (n === 0) return;
      read += n;
      const parts = (rest + chunk.toString('latin1', 0, n)).split('\n');
      rest = parts.pop();
      parts.forEach(line);
    }
  };
  const watch = setInterval(look, 1);
  return () => { clearInterval(watch); fs.closeSync(fd); };
}

/** The upper edge of the bucket that a quantile falls into, in ms. */
function bucketQuantile(metrics, name, q) {
  const rows = metrics.rows.filter((row) => row.name === `${name}_bucket`);
  const total = rows.find((row) => row.labels.le === '+Inf')?.value ?? 0;
  const row = rows.find((r) => r.value >= q * total);
  return total === 0 || !row ? undefined : Number(row.labels.le) * 1000;
}

/** Takes a started target and stops it: { line, missed, unmeasured }. */
export async function incidents(target, { count, core }) {
  const { daemon } = target;
  const [host, port] = daemon.http.split(':');
  const worker = new Worker(path.join(here, '../serve_load.mjs'), { workerData: { host, port: Number(port), pace: RATE } });
  spawnSync('taskset', ['-a', '-cp', core, String(process.pid)]);
  await sleep(2000);
  const sentAt = new Map();
  const took = [];
  const stop = follow(daemon.verdictFile, (line) => {
    const node = /"k8s\.node\.name":"(gpu-lat-\d+)"/.exec(line)?.[1];
    if (node && sentAt.has(node)) { took.push(performance.now() - sentAt.get(node)); sentAt.delete(node); }
  });
  const a = await target.counted();
  let refused = 0;
  for (let i = 0; i < count; i++) {
    const node = `gpu-lat-${i}`;
    sentAt.set(node, performance.now());
    post(daemon.http, 'logs', logs({ 'host.name': node }, [{ body: xid48(), severity: 17, time: nowNs() }]))
      .then((answer) => { if (answer.status !== 200) { refused++; sentAt.delete(node); } }, () => { refused++; sentAt.delete(node); });
    await sleep(50);
  }
  await sleep(2000);
  const b = await target.counted();
  stop();
  const sums = await new Promise((resolve) => { worker.once('message', resolve); worker.postMessage('stop'); });
  const metrics = await daemon.metrics();
  await target.stop();
  took.sort((x, y) => x - y);
  const at = (q) => (took.length === 0 ? null : Math.round(took[Math.min(took.length - 1, Math.floor(q * took.length))] * 10) / 10);
  const elapsed = (b.at - a.at) / 1000;
  const rate = Math.round((b.records - a.records) / elapsed);
  const line = { case: 'incidents', records_per_s: rate, incidents: count, seen: took.length, missing: sentAt.size, refused,
    p50_ms: at(0.5), p90_ms: at(0.9), p99_ms: at(0.99), max_ms: at(1), inside_p99_ms: bucketQuantile(metrics, 'tracecore_detection_seconds', 0.99),
    server_cpu: Math.round((b.cpu - a.cpu) / elapsed * 100) / 100, load_late: sums.late, load_refused: sums.refused + sums.failed };
  const missed = [];
  if (sentAt.size > 0) missed.push(`incidents: ${sentAt.size} were never told`);
  if (line.p99_ms === null || line.p99_ms >= P99_MS) missed.push(`incidents: p99 ${line.p99_ms} ms, not under ${P99_MS} ms`);
  return { line, missed, unmeasured: rate < 0.95 * RATE ? `the load was ${rate} records/s, not ${RATE}` : null };
}
