// SPDX-License-Identifier: Apache-2.0
// Late and skewed telemetry: in whatever order a fleet's telemetry reaches the daemon, and however
// wrong clocks are, it ends with the incidents that `detect --data-dir` finds in the same bytes, and
// those are what the telemetry in order gives.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Daemon, lines, run, workspace } from './support/daemon.mjs';
import { startPeer } from './support/otlp_peer.mjs';
import { get, JSON_TYPE, post, until } from './support/wire.mjs';
import { spawn } from 'node:child_process';

const space = workspace('late');
const SECOND = 1_000_000_000n;
const quick = { detection: { recheck: { quiet: '3s' } } };
let parts; // what collectors would send: of one resource and ten seconds each, in order of time

const nodeOf = (resource) => {
  const found = (resource?.attributes ?? []).find((a) => a.key === 'host.name') ??
    (resource?.attributes ?? []).find((a) => a.key === 'k8s.node.name');
  return found?.value.stringValue ?? '';
};

// One request per resource and ten seconds.
function split(requests, list, scopes, records) {
  const all = new Map();
  for (const request of requests) {
    for (const entry of request[list] ?? []) {
      for (const scope of entry[scopes] ?? []) {
        for (const record of scope[records] ?? []) {
          const time = records === 'logRecords' ? BigInt(record.timeUnixNano ?? record.observedTimeUnixNano) : timeOf(record);
          const key = `${JSON.stringify(entry.resource)} ${time / (10n * SECOND)}`;
          if (!all.has(key)) all.set(key, { node: nodeOf(entry.resource), signal: list === 'resourceLogs' ? 'logs' : 'metrics', time, resource: entry.resource, scope: scope.scope, records: [] });
          const part = all.get(key);
          part.time = time < part.time ? time : part.time;
          part.records.push(record);
        }
      }
    }
  }
  return [...all.values()];
}

const pointsOf = (metric) => (metric.gauge ?? metric.sum).dataPoints;
const timeOf = (metric) => BigInt(pointsOf(metric)[0].timeUnixNano);

// The request of a part, with its times moved by so many seconds.
function request(part, shift = 0n) {
  const moved = (time) => (time === undefined ? undefined : String(BigInt(time) + shift * SECOND));
  const records = part.records.map((record) => {
    if (part.signal === 'logs') return { ...record, timeUnixNano: moved(record.timeUnixNano), observedTimeUnixNano: moved(record.observedTimeUnixNano) };
    const kind = record.gauge ? 'gauge' : 'sum';
    return { ...record, [kind]: { ...record[kind], dataPoints: pointsOf(record).map((p) => ({ ...p, timeUnixNano: moved(p.timeUnixNano) })) } };
  });
  return part.signal === 'logs'
    ? { resourceLogs: [{ resource: part.resource, scopeLogs: [{ scope: part.scope, logRecords: records }] }] }
    : { resourceMetrics: [{ resource: part.resource, scopeMetrics: [{ scope: part.scope, metrics: records }] }] };
}

async function send(daemon, list, shift = () => 0n) {
  for (const part of list) {
    const answer = await post(daemon.http, part.signal, Buffer.from(JSON.stringify(request(part, shift(part)))), { 'content-type': JSON_TYPE });
    assert.equal(answer.status, 200, answer.body.toString());
  }
}

const late = async (daemon) => (await daemon.status()).late;

// Until everything that came late was checked.
async function settled(daemon) {
  await until('late events to be judged', async () => {
    const state = await late(daemon);
    return !state.checking && state.waiting === 0;
  }, 120000, 200);
}

// What an engineer would call the same incident.
const name = (v) => [v['pattern.name'], v.discriminator, v['k8s.node.name'], v['gpu.uuid'] ?? v['pci.bdf'], v['job.id'], v['k8s.pod.name'], v.rank].filter((x) => x !== undefined).join(' ');
const names = (verdicts) => [...new Set(verdicts.map(name))].sort();
const told = (daemon) => names([...daemon.incidents().values()]);
const stored = (daemon) => {
  const result = run(['detect', '--json', '-q', '--data-dir', daemon.dataDir], { encoding: 'utf8' });
  assert.ok(result.status === 0 || result.status === 1, result.stderr);
  return names(lines(result.text));
};

// Each incident is opened once, and first.
function assertOnce(daemon) {
  const opened = daemon.verdicts().filter((v) => v.status === 'open').map((v) => v.incident_id);
  assert.equal(new Set(opened).size, opened.length);
  assert.equal(new Set(daemon.verdicts().map((v) => v.incident_id)).size, opened.length);
}

let inOrder;
before(async () => {
  const peer = await startPeer();
  const child = spawn(process.env.TC_BINARY, ['simulate', '--nodes', '8', '--gpus-per-node', '4', '--hours', '0.5', '--seed', '4', '--now', '--otlp', peer.url, '--speed', '0', '--encoding', 'json', '-q']);
  const code = await new Promise((resolve) => { child.on('close', resolve); });
  await peer.stop();
  assert.equal(code, 0);
  parts = [...split(peer.logs, 'resourceLogs', 'scopeLogs', 'logRecords'), ...split(peer.metrics, 'resourceMetrics', 'scopeMetrics', 'metrics')]
    .sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
  const daemon = await new Daemon(space.file('in_order'), quick).start();
  await send(daemon, parts);
  await settled(daemon);
  await daemon.stop();
  inOrder = stored(daemon);
  assert.ok(inOrder.length > 3, inOrder.join('\n'));
});
after(() => space.remove());

const lateness = {
  'a collector that was away comes back with all it has': (part) => (part.node.endsWith('3') ? 3600n * SECOND : 0n),
  'half a fleet is 150 s late': (part) => (Number(/(\d+)$/u.exec(part.node)?.[1] ?? 0) % 2 === 1 ? 150n * SECOND : 0n),
  'the daemon was down: every sender delivers its backlog, one after the other': (part) => BigInt(Number(/(\d+)$/u.exec(part.node)?.[1] ?? 0)) * 7200n * SECOND,
};

describe('telemetry that comes late', () => {
  for (const [what, delay] of Object.entries(lateness)) {
    test(what, async () => {
      const daemon = await new Daemon(space.file(what.slice(0, 12).replaceAll(' ', '_')), quick).start();
      try {
        const order = parts.map((part) => ({ part, at: part.time + delay(part) })).sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0)).map((x) => x.part);
        await send(daemon, order);
        await settled(daemon);
        assert.ok((await late(daemon)).rechecks > 0);
        assert.match(daemon.log(), /a source is late/u);
        await daemon.stop();
        assert.deepEqual(stored(daemon), inOrder);
        assert.deepEqual(told(daemon), inOrder);
        assertOnce(daemon);
      } finally { await daemon.destroy(); }
    });
  }
});

describe('clocks that are wrong', () => {
  const number = (part) => Number(/(\d+)$/u.exec(part.node)?.[1] ?? 0);
  const own = (part) => part.signal === 'logs' && part.node !== '';
  // Not fast on gpu-0005: what its kubelet reports is dated by its clock too, and `detect` takes that for the API server's where it corrects the node's
  // (docs/internals/clocks.md). How much of a fast clock arrival tells, and so whether `detect` compares steps at all, depends on how long ago the fleet was.
  const clocks = {
    'one in four is ten minutes slow': (part) => (own(part) && number(part) % 4 === 1 ? -600n : 0n),
    'one in four is ten minutes fast': (part) => (own(part) && number(part) % 4 === 3 ? 600n : 0n),
  };
  for (const [what, shift] of Object.entries(clocks)) {
    test(what, async () => {
      const daemon = await new Daemon(space.file(what.replaceAll(' ', '_')), quick).start();
      try {
        await send(daemon, parts, shift);
        await settled(daemon);
        await daemon.stop();
        assert.deepEqual(stored(daemon), inOrder);
        assert.deepEqual(told(daemon), inOrder);
        assertOnce(daemon);
      } finally { await daemon.destroy(); }
    });
  }
});
