// SPDX-License-Identifier: Apache-2.0
// The load of the anchor (batches of 1,024 log records with five attributes, made by the
// OpenTelemetry JS serialisers), with times that can be set anew, and a sender that keeps a pace.
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';

import { fleetRound, ROUND_NS, ROUND_STEPS } from './serve_fleet.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const require = createRequire(path.join(here, '../tests/package.json'));

export const RECORDS = 1024;
const FLEET_ROUNDS = 4;
const BASE_S = 1762000000; // what the anchor has; the times that are set later take its place

/** A batch as bytes, with the offsets of its times: { body, type, refresh() }. */
export class Payload {
  constructor(form) {
    const { JsonLogsSerializer, ProtobufLogsSerializer } = require('@opentelemetry/otlp-transformer');
    const { resourceFromAttributes } = require('@opentelemetry/resources');
    const resource = resourceFromAttributes({ 'service.name': 'gpu-agent', 'host.name': 'node-0417', 'k8s.cluster.name': 'train-a', 'gpu.model': 'H100-SXM5-80GB' });
    const records = Array.from({ length: RECORDS }, (_, i) => ({
      hrTime: [BASE_S, i * 1000], hrTimeObserved: [BASE_S, i * 1000 + 5], severityNumber: 17, severityText: 'ERROR',
      body: `NVRM: Xid (PCI:0000:3b:00): 79, pid=${10000 + i}, GPU has fallen off the bus.`,
      attributes: { 'gpu.index': i % 8, 'gpu.uuid': `GPU-6f1b2c3d-${100000 + i}`, xid: 79, rank: i, 'job.id': 'slurm-884213' },
      droppedAttributesCount: 0, resource, instrumentationScope: { name: 'gpu.agent', version: '1.2.0' },
    }));
    this.form = form;
    this.json = form === 'json';
    this.type = this.json ? 'application/json' : 'application/x-protobuf';
    this.body = Buffer.from((this.json ? JsonLogsSerializer : ProtobufLogsSerializer).serializeRequest(records));
    this.offsets = [];
    let at = 0;
    for (let i = 0; i < RECORDS; i++) {
      for (const extra of [0, 5]) {
        const needle = this.time(BigInt(BASE_S) * 1000000000n + BigInt(i * 1000 + extra));
        const found = this.body.indexOf(needle, at);
        if (found < 0) throw new Error(`the time of record ${i} is not where it was expected`);
        this.offsets.push({ at: found, add: BigInt(i * 1000 + extra) });
        if (extra === 5) at = found;
      }
    }
    this.refresh();
  }

  time(ns) {
    if (this.json) return Buffer.from(String(ns));
    const b = Buffer.alloc(8);
    b.writeBigUInt64LE(ns);
    return b;
  }

  /** The records are of now. */
  refresh() {
    const now = BigInt(Date.now()) * 1000000n;
    for (const { at, add } of this.offsets) {
      if (this.json) this.body.write(String(now + add), at, 'latin1');
      else this.body.writeBigUInt64LE(now + add, at);
    }
  }

  /** Writes it for wrk or h2load; `grpc` puts the five bytes of a message in front. */
  save(file) {
    this.refresh();
    const head = Buffer.alloc(5);
    head.writeUInt32BE(this.body.length, 1);
    fs.writeFileSync(file, this.form === 'grpc' ? Buffer.concat([head, this.body]) : this.body);
    return [{ file, signal: 'logs' }];
  }
}

/** What a healthy cluster sent in the last seconds, request by request. */
export class Fleet {
  constructor() {
    this.form = 'protobuf';
    this.type = 'application/x-protobuf';
    this.step = 100000;
  }

  /** Each time later steps; a client that sends it in turns tells them again. */
  save(file) {
    const start = BigInt(Date.now()) * 1000000n - BigInt(FLEET_ROUNDS) * ROUND_NS;
    return Array.from({ length: FLEET_ROUNDS }, (_, i) => fleetRound(start + BigInt(i) * ROUND_NS, this.step += ROUND_STEPS)).flat()
      .map(({ signal, body }, i) => {
        fs.writeFileSync(`${file}.${i}`, body);
        return { file: `${file}.${i}`, signal };
      });
  }
}

// In a thread of its own: records at a steady pace until told to stop.
if (!isMainThread && workerData?.pace) {
  const { host, port, pace } = workerData;
  const payload = new Payload('protobuf');
  const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
  const sums = { sent: 0, ok: 0, refused: 0, failed: 0, late: 0 };
  const began = performance.now();
  let fresh = began;
  const send = () => {
    sums.sent++;
    const request = http.request({ host, port, agent, method: 'POST', path: '/v1/logs', headers: { 'content-type': payload.type, 'content-length': payload.body.length } }, (answer) => {
      answer.resume();
      if (answer.statusCode === 200) sums.ok++;
      else sums.refused++;
    });
    request.on('error', () => { sums.failed++; });
    request.end(payload.body);
  };
  const timer = setInterval(() => {
    const now = performance.now();
    if (now - fresh > 1000) { payload.refresh(); fresh = now; }
    const due = Math.floor((now - began) / 1000 * pace / RECORDS);
    if (due - sums.sent > 100) sums.late += due - sums.sent - 100;
    for (let n = Math.min(due - sums.sent, 100); n > 0; n--) send();
  }, 2);
  parentPort.on('message', () => {
    clearInterval(timer);
    parentPort.postMessage({ ...sums, seconds: (performance.now() - began) / 1000 });
    setTimeout(() => process.exit(0), 200);
  });
}
