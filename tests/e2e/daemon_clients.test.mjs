// SPDX-License-Identifier: Apache-2.0
// Real clients: the OpenTelemetry JS SDK sends logs, metrics and traces in protobuf, JSON and gRPC,
// with and without compression. Every record is accounted for three times: the client was told so,
// /metrics counts it, and its bytes are in the store.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Daemon, detect, workspace } from './support/daemon.mjs';
import { xid48 } from './support/otlp.mjs';
import { complaints, forms, sendLogs, sendMetrics, sendTraces } from './support/sdk.mjs';

const SUCCESS = 0;
const COUNT = 600; // more than one batch of the SDK
const space = workspace('clients');
let daemon;
before(async () => { daemon = await new Daemon(space.file('daemon')).start(); });
after(async () => { await daemon?.destroy(); space.remove(); });

const RESOURCE = { 'service.name': 'trainer', 'host.name': 'gpu-07' };
const received = async (signal) => (await daemon.metrics()).sum('tracecore_records_received_total', { signal });

/** Sends, and checks that the client saw success, that the counter rose and that the store has it. */
async function account(signal, ids, records, send) {
  const already = complaints.length;
  const before = await received(signal);
  const last = Math.max(0, ...daemon.batches().map((batch) => batch.number));
  const results = await send();
  assert.ok(results.length > 0, 'something was exported');
  for (const result of results) assert.equal(result.code, SUCCESS, String(result.error));
  assert.deepEqual(complaints.slice(already), [], 'the SDK had nothing to complain about');
  assert.equal(await received(signal) - before, records, 'the counter of records');
  const stored = daemon.batches().filter((batch) => batch.number > last).map((batch) => daemon.body(batch.number));
  assert.equal(stored.length, results.length, 'one batch in the store for each export');
  const text = Buffer.concat(stored).toString('latin1');
  for (const id of ids) assert.ok(text.includes(id), `the store has ${id}`);
}

for (const form of forms) {
  for (const compression of ['none', 'gzip']) {
    describe(`${form}, ${compression === 'none' ? 'not compressed' : compression}`, () => {
      const name = (i) => `id-${form}-${compression}-${String(i).padStart(5, '0')}-end`;
      test('logs', async () => {
        const ids = Array.from({ length: COUNT }, (_, i) => name(i));
        await account('logs', ids, COUNT, () => sendLogs(daemon, form, compression, RESOURCE, ids.map((id, i) => ({
          body: i % 2 ? `line of ${id}` : { text: id, list: [1, 2.5, true, null] },
          severityNumber: 9, severityText: 'INFO',
          attributes: { 'tests.id': id, rank: i, loss: 0.5, ok: true, shape: [1, 2, 3], nested: { a: { b: 'c' } } },
        }))));
      });
      test('metrics', async () => {
        const ids = Array.from({ length: 50 }, (_, i) => name(i));
        await account('metrics', ids, 3 * ids.length, () => sendMetrics(daemon, form, compression, RESOURCE,
          ids.map((id) => ({ 'tests.id': id }))));
      });
      test('traces', async () => {
        const ids = Array.from({ length: COUNT }, (_, i) => name(i));
        await account('traces', ids, ids.length, () => sendTraces(daemon, form, compression, RESOURCE, ids));
      });
    });
  }
}

describe('what a client sends becomes what detect says', () => {
  const when = Date.now();
  for (const form of forms) {
    test(`a kernel line through ${form}`, async () => {
      const node = `gpu-${form}`;
      await sendLogs(daemon, form, 'none', { 'host.name': node }, [{ body: xid48(), timestamp: when, severityNumber: 17 }]);
      const mine = (verdicts) => verdicts.filter((verdict) => verdict['k8s.node.name'] === node);
      const [told] = mine(await daemon.untilVerdicts('the verdict', (all) => mine(all).length > 0));
      // The same fact, recorded by another collector as a file.
      const file = space.file(`${node}.json`);
      fs.writeFileSync(file, JSON.stringify({ resourceLogs: [{
        resource: { attributes: [{ key: 'host.name', value: { stringValue: node } }] },
        scopeLogs: [{ logRecords: [{ timeUnixNano: `${when}000000`, severityNumber: 17, body: { stringValue: xid48() } }] }],
      }] }));
      const [expected] = detect([file]);
      for (const key of ['pattern.id', 'incident_id', 'status', 'severity', 'discriminator', 'headline', 'remediation', 'first_seen', 'pci.bdf']) {
        assert.deepEqual(told[key], expected[key], key);
      }
      // Its evidence is in the store under the digest that it names, and is the line that was sent.
      const raw = told.evidence_trail[0].raw;
      assert.match(raw.digest, /^sha256:[0-9a-f]{64}$/);
      const bytes = daemon.cite(raw);
      assert.ok(bytes.toString('latin1').includes('NVRM: Xid (PCI:0000:43:00): 48'), bytes.toString('latin1'));
      assert.equal(bytes.length, raw.length);
    });
  }
});

test('nothing was rejected, lost or dropped on the way', async () => {
  const metrics = await daemon.metrics();
  for (const name of ['tracecore_records_rejected_total', 'tracecore_requests_rejected_total', 'tracecore_evidence_lost_batches_total',
    'tracecore_evidence_commit_failures_total', 'tracecore_outbox_dropped_total']) {
    assert.equal(metrics.sum(name), 0, name);
  }
  daemon.assertWhole();
  await daemon.stop();
});
