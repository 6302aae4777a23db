// SPDX-License-Identifier: Apache-2.0
// Several collectors tell of one fact, each in its own words and a little later: the kernel's log
// and a journal that was sent on, two servers that scrape one exporter, three ways to gather the
// events of Kubernetes. It is one incident, opened once, and nothing is counted twice.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

const binary = process.env.TC_BINARY;
const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const replay = path.join(source, 'tests/replay');

let top;
before(() => {
  assert.ok(binary, 'TC_BINARY names the program to test');
  top = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_collectors_'));
});
after(() => fs.rmSync(top, { recursive: true, force: true }));

function detect(cwd, args) {
  const result = spawnSync(binary, ['detect', '--json', ...args], { encoding: 'utf8', cwd });
  assert.equal(result.signal, null, result.stderr);
  return result.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

// Which incidents there are, and every count of theirs; how long something took is no count.
const counts = (verdicts) => verdicts.map((verdict) => ({
  pattern: verdict['pattern.name'],
  discriminator: verdict.discriminator,
  ...Object.fromEntries(Object.entries(verdict).filter(([key, value]) =>
    key.startsWith('tracecore.alert.') && typeof value === 'number' && !/[._]seconds$/.test(key))),
})).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

function cases(pattern) {
  return fs.readdirSync(path.join(replay, pattern))
    .filter((name) => /^(fires|resolved)_/.test(name))
    .map((name) => ({ name, home: path.join(replay, pattern, name) }));
}

function argsOf(home) {
  const file = path.join(home, 'args');
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}

const any = (value) => (typeof value === 'string' ? { stringValue: value }
  : { kvlistValue: { values: Object.entries(value).map(([key, v]) => ({ key, value: any(v) })) } });

const KERNEL = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d{6}))?\+00:00 (?:(\S+) kernel: )?(.*)$/;

// The lines of a kernel log as journald's receiver passes them on, some milliseconds later.
function journal(file) {
  const ofName = /^[^-]*-(.*)\.(txt|log)$/.exec(path.basename(file))?.[1];
  const lines = fs.readFileSync(file, 'utf8').split('\n').map((line) => KERNEL.exec(line));
  const logRecords = lines.filter((m) => m && (m[3] ?? ofName)).map(([, date, us, host, text]) => ({
    timeUnixNano: String(BigInt(Date.parse(`${date}Z`)) * 1000000n + BigInt(us ?? 0) * 1000n + 3000000n),
    body: any({ _TRANSPORT: 'kernel', SYSLOG_IDENTIFIER: 'kernel', _HOSTNAME: host ?? ofName, MESSAGE: text }),
  }));
  return logRecords.length === 0 ? null
    : JSON.stringify({ resourceLogs: [{ resource: {}, scopeLogs: [{ scope: {}, logRecords }] }] });
}

// The samples among our events as a second server has them, which scrapes four seconds later.
function laterScrapes(file) {
  const lines = fs.readFileSync(file, 'utf8').split('\n').filter(Boolean)
    .map((line) => JSON.parse(line)).filter((event) => event.kind === 'metric')
    .map((event) => JSON.stringify({ ...event, time: new Date(Date.parse(event.time) + 4000).toISOString() }));
  return lines.length === 0 ? null : `${lines.join('\n')}\n`;
}

const walk = (folder) => fs.readdirSync(folder, { recursive: true })
  .map((name) => path.join(folder, name)).filter((file) => fs.statSync(file).isFile());

// Every case of a pattern with what a second collector has of it.
function twice(pattern, again, ending) {
  let compared = 0;
  for (const { name, home } of cases(pattern)) {
    const more = walk(path.join(home, 'input')).filter((file) => ending.test(file))
      .map(again).filter(Boolean);
    if (more.length > 0) {
      const folder = path.join(top, `${pattern}-${name}-${ending.source.length}`);
      fs.mkdirSync(folder);
      more.forEach((text, i) => fs.writeFileSync(path.join(folder, `second-${i}.json`), text));
      const args = argsOf(home);
      const once = detect(home, [...args, 'input']);
      const both = detect(home, [...args, 'input', folder]);
      assert.deepEqual(counts(both), counts(once), `${pattern}/${name}`);
      compared++;
    }
  }
  return compared;
}

describe('the kernel log, and the journal through a collector', () => {
  for (const pattern of ['hbm_ecc', 'host_oom', 'network_link_fault', 'nvlink_degraded', 'pcie_aer', 'xid_correlation']) {
    test(pattern, () => assert.ok(twice(pattern, journal, /\.(txt|log)$/) > 0));
  }
});

describe('two servers scrape one exporter', () => {
  for (const pattern of ['hbm_ecc', 'network_link_fault', 'nvlink_degraded', 'pcie_aer', 'thermal_throttle']) {
    test(pattern, () => assert.ok(twice(pattern, laterScrapes, /\.ndjson$/) > 0));
  }
});

const NANO = 1000000n;

// An event of Kubernetes as kubectl, k8seventsreceiver and k8sobjectsreceiver have it.
function kubernetes(file) {
  const { items } = JSON.parse(fs.readFileSync(file, 'utf8'));
  const attributes = (object) => Object.entries(object).map(([key, value]) => ({ key, value: any(value) }));
  const events = items.filter((item) => item.kind === 'Event');
  const flat = events.map((event) => ({
    resource: { attributes: attributes({
      'k8s.node.name': event.source?.host ?? '',
      'k8s.object.kind': event.involvedObject.kind,
      'k8s.object.name': event.involvedObject.name,
      'k8s.object.uid': event.involvedObject.uid ?? '',
    }) },
    scopeLogs: [{ scope: {}, logRecords: [{
      timeUnixNano: String(BigInt(Date.parse(event.lastTimestamp)) * NANO),
      severityText: event.type,
      body: any(event.message),
      attributes: [...attributes({
        'k8s.event.reason': event.reason,
        'k8s.event.uid': event.metadata.uid,
        'k8s.event.start_time': event.firstTimestamp,
        'k8s.event.reporting_controller': event.source?.component ?? '',
        'k8s.namespace.name': event.metadata.namespace ?? '',
      }), { key: 'k8s.event.count', value: { intValue: String(event.count ?? 1) } }],
    }] }],
  }));
  const objects = events.map((event) => ({
    resource: {},
    scopeLogs: [{ scope: {}, logRecords: [{
      timeUnixNano: String((BigInt(Date.parse(event.lastTimestamp)) + 250n) * NANO),
      body: any(JSON.stringify({ type: 'ADDED', object: { apiVersion: 'v1', ...event } })),
    }] }],
  }));
  return events.length === 0 ? null : JSON.stringify({ resourceLogs: [...flat, ...objects] });
}

describe('kubectl get events, k8seventsreceiver and k8sobjectsreceiver', () => {
  for (const pattern of ['checkpoint_stall', 'dataloader_hang', 'host_oom', 'pod_evicted']) {
    test(pattern, () => assert.ok(twice(pattern, kubernetes, /events\.json$/) > 0));
  }
});

describe('one GPU', () => {
  test('an uncorrectable error by Xid and by counter is one error', () => {
    const folder = path.join(top, 'ecc');
    fs.mkdirSync(folder);
    fs.writeFileSync(path.join(folder, 'dmesg-gpu-07.txt'),
      '2026-03-04T05:05:00,000000+00:00 NVRM: GPU at PCI:0000:43:00: GPU-34d874be-0835-5f1e-8425-67ac19991809\n'
      + '2026-03-04T05:06:41,429408+00:00 NVRM: Xid (PCI:0000:43:00): 48, pid=4711, name=python, DBE (double bit error) ECC error\n');
    const kernel = detect(folder, ['.']);
    const sample = (time, value) => JSON.stringify({
      kind: 'metric', time, 'k8s.node.name': 'gpu-07', 'gpu.uuid': 'GPU-34d874be-0835-5f1e-8425-67ac19991809',
      metric: 'gpu_ecc_uncorrected', value });
    fs.writeFileSync(path.join(folder, 'dcgm.ndjson'), [['05:06:30', 0], ['05:06:45', 1], ['05:07:00', 1]]
      .map(([time, value]) => `${sample(`2026-03-04T${time}Z`, value)}\n`).join(''));
    const problem = { apiVersion: 'v1', kind: 'List', items: [{
      apiVersion: 'v1', kind: 'Event', metadata: { name: 'npd', namespace: 'default', uid: 'npd-1' },
      involvedObject: { kind: 'Node', name: 'gpu-07', uid: 'gpu-07' }, reason: 'XidError', type: 'Warning',
      message: 'NVRM: Xid (PCI:0000:43:00): 48, pid=4711, name=python, DBE (double bit error) ECC error',
      source: { component: 'kernel-monitor', host: 'gpu-07' }, count: 1,
      firstTimestamp: '2026-03-04T05:06:41Z', lastTimestamp: '2026-03-04T05:06:41Z' }] };
    fs.writeFileSync(path.join(folder, 'events.json'), JSON.stringify(problem));
    const all = detect(folder, ['.']);
    assert.equal(kernel.length, 1);
    assert.equal(all.length, 1);
    assert.equal(all[0].incident_id, kernel[0].incident_id);
    assert.equal(all[0]['tracecore.alert.hbm_ecc.uncorrected_errors'], 1);
  });
});

test('a dump as pickle and as JSON is one hang', () => {
  const folder = path.join(top, 'dumps/pretrain');
  for (const name of ['fires_on_missing_rank', 'fires_on_missing_rank_pickle']) {
    fs.cpSync(path.join(replay, 'nccl_hang', name, 'input/pretrain'), folder, { recursive: true });
  }
  const verdicts = detect(path.dirname(folder), ['pretrain']);
  assert.deepEqual(verdicts.map((v) => v['pattern.name']), ['nccl_hang']);
});
