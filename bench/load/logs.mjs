// SPDX-License-Identifier: Apache-2.0
// The small logs of the anchor: batches of 1,024 log records with five attributes (231 bytes each), made by
// the OpenTelemetry JS serialisers. Every record is an Xid 79: faults only, of the anchor's 1,024 GPUs. The
// processes differ from request to request.
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Body, KIND } from './body.mjs';

const require = createRequire(path.join(path.dirname(fileURLToPath(import.meta.url)), '../../tests/package.json'));

export const RECORDS = 1024;
export const BODIES = 64;
export const steps = 0;
const BASE_S = 1762000000; // what the anchor has; the times of the run take its place

export function body(form, variant = 0) {
  const { JsonLogsSerializer, ProtobufLogsSerializer } = require('@opentelemetry/otlp-transformer');
  const { resourceFromAttributes } = require('@opentelemetry/resources');
  const resource = resourceFromAttributes({ 'service.name': 'gpu-agent', 'host.name': 'node-0417', 'k8s.cluster.name': 'train-a', 'gpu.model': 'H100-SXM5-80GB' });
  const records = Array.from({ length: RECORDS }, (_, i) => ({
    hrTime: [BASE_S, i * 1000], hrTimeObserved: [BASE_S, i * 1000 + 5], severityNumber: 17, severityText: 'ERROR',
    body: `NVRM: Xid (PCI:0000:3b:00): 79, pid=${10000 + variant * 1000 + i}, GPU has fallen off the bus.`,
    attributes: { 'gpu.index': i % 8, 'gpu.uuid': `GPU-6f1b2c3d-${100000 + i}`, xid: 79, rank: i, 'job.id': 'slurm-884213' },
    droppedAttributesCount: 0, resource, instrumentationScope: { name: 'gpu.agent', version: '1.2.0' },
  }));
  const json = form === 'json';
  const bytes = Buffer.from((json ? JsonLogsSerializer : ProtobufLogsSerializer).serializeRequest(records));
  const marks = [];
  let at = 0;
  for (let i = 0; i < RECORDS; i++) {
    for (const extra of [0, 5]) {
      const ns = BigInt(BASE_S) * 1000000000n + BigInt(i * 1000 + extra);
      const needle = json ? Buffer.from(String(ns)) : Buffer.alloc(8);
      if (!json) needle.writeBigUInt64LE(ns);
      const found = bytes.indexOf(needle, at);
      if (found < 0) throw new Error(`the time of record ${i} is not where it was expected`);
      // A millisecond ago and later, but the seconds of JSON stay those of the run: nanoseconds do not move there.
      marks.push({ kind: json ? KIND.timeDigits : KIND.time, at: found, value: json ? 0 : i * 1000 + extra - RECORDS * 1000, per: 0 });
      if (extra === 5) at = found;
    }
  }
  return new Body({ signal: 'logs', records: RECORDS, bytes, marks }, form);
}

export const bodies = (form, count = BODIES) => Array.from({ length: count }, (_, i) => body(form, i));
