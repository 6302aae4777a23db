// SPDX-License-Identifier: Apache-2.0
// The daemon says what `tracecore detect` says of the same data: sent as files, sent as OTLP, with a
// restart in the middle, with clocks that are wrong. Its verdicts conform to the schemas, name bytes
// that the store has, and reach a collector downstream in the end.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { Daemon, detect, lines, run, source, workspace } from './support/daemon.mjs';
import { logs, logsJson, nowNs, xid48 } from './support/otlp.mjs';
import { assertVerdict } from './support/schema.mjs';
import { JSON_TYPE, call, get, post, sleep, until } from './support/wire.mjs';

const space = workspace('verdicts');
const daemons = [];
after(async () => { for (const daemon of daemons) await daemon.destroy(); space.remove(); });
async function start(name, config) {
  const daemon = new Daemon(space.file(name), config);
  daemons.push(daemon);
  return daemon.start();
}

const walk = (folder) => fs.readdirSync(folder, { recursive: true }).sort()
  .map((name) => path.join(folder, name)).filter((file) => fs.statSync(file).isFile());

/** Who did what: all that an operator acts on, and what names the incident. */
const CULPRIT = ['k8s.node.name', 'gpu.uuid', 'pci.bdf', 'gpu.index', 'k8s.namespace.name', 'k8s.pod.name', 'job.id', 'rank', 'ranks', 'device'];
const essence = (verdict) => Object.fromEntries(['pattern.name', 'incident_id', 'discriminator', 'severity', ...CULPRIT]
  .filter((key) => verdict[key] !== undefined).map((key) => [key, verdict[key]]));
const essences = (verdicts) => [...verdicts].map(essence).map((e) => JSON.stringify(e)).sort();
/** Of several lines of an incident the last; `detect` prints that one only. */
const latest = (verdicts) => new Map(verdicts.map((verdict) => [verdict.incident_id, verdict])).values();

/** No incident is opened twice, or after it was told otherwise. */
function openedOnce(verdicts) {
  const seen = new Set();
  for (const { incident_id: id, status } of verdicts) {
    if (status === 'open') assert.ok(!seen.has(id), `incident ${id} was opened twice`);
    else assert.ok(seen.has(id), `incident ${id} was ${status} before it was opened`);
    seen.add(id);
  }
}

async function upload(daemon, file, name) {
  const answer = await call(daemon.api, 'POST', `/api/v1/upload?name=${encodeURIComponent(name)}`, { body: fs.readFileSync(file), headers: { 'content-type': 'application/octet-stream' } });
  assert.equal(answer.status, 200, `${name}: ${answer.body}`);
}

/**
 * The files of a folder, in the order of what they tell first: an incident is named by when it was
 * first seen, and what was told once keeps its name.
 */
function inOrder(folder, cwd) {
  return walk(folder).map((file) => {
    const decoded = run(['decode', path.relative(cwd, file)], { cwd }).text;
    return { file, first: lines(decoded).map((event) => event.time).filter(Boolean).sort()[0] ?? '9' };
  }).sort((a, b) => (a.first < b.first ? -1 : 1)).map(({ file }) => file);
}

/** Waits for what detect found, looks a little longer for what it did not, and compares. */
async function same(daemon, expected) {
  const ids = new Set(expected.map((verdict) => verdict.incident_id));
  await daemon.untilVerdicts(`the ${ids.size} incidents that detect finds`, (all) => {
    const told = new Set(all.map((verdict) => verdict.incident_id));
    return [...ids].every((id) => told.has(id));
  }, 20000).catch((error) => {
    assert.deepEqual(essences(latest(daemon.verdicts())), essences(expected), error.message.split('\n')[0]);
    throw error;
  });
  await until('the verdicts to be those of detect', () => {
    assert.deepEqual(essences(latest(daemon.verdicts())), essences(expected));
    return true;
  }, 10000);
  const all = daemon.verdicts();
  openedOnce(all);
  all.forEach(assertVerdict);
  return all;
}

/** Each piece of evidence is in the store under the digest, offset and length that the verdict gives. */
function walkBack(daemon, verdicts) {
  let walked = 0;
  for (const verdict of verdicts) {
    for (const { raw } of verdict.evidence_trail) {
      if (raw) {
        assert.equal(daemon.cite(raw).length, raw.length);
        walked++;
      }
    }
  }
  assert.ok(walked > 0, 'some evidence names its bytes');
}

describe('files', () => {
  test('the example incident', async () => {
    const folder = path.join(source, 'examples/incident');
    const expected = detect([folder]);
    assert.ok(expected.length >= 7);
    const daemon = await start('incident');
    for (const file of inOrder(folder, folder)) await upload(daemon, file, path.relative(path.dirname(folder), file));
    const all = await same(daemon, expected);
    walkBack(daemon, latest(all));
    const { incidents } = JSON.parse((await get(daemon.api, '/api/v1/incidents')).body.toString('utf8'));
    assert.deepEqual(essences(incidents), essences(expected), 'the API has the same');
    incidents.forEach(assertVerdict);
    // The bodies in the store are the files, byte for byte.
    const digests = new Set(daemon.bodies().map(({ body }) => createHash('sha256').update(body).digest('hex')));
    for (const file of walk(folder)) assert.ok(digests.has(createHash('sha256').update(fs.readFileSync(file)).digest('hex')), file);
    await daemon.stop();
  });

  test('faults of one GPU that are days apart, in any order', async () => {
    const daemon = await start('apart');
    const files = [];
    for (const [node, xid] of [['gpu-31', '95, pid=1, name=p, Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No'], ['gpu-32', '79, pid=1, GPU has fallen off the bus.']]) {
      for (const day of ['09', '01', '04']) {
        const file = space.file(`dmesg-${node}.${day}.txt`);
        fs.writeFileSync(file, `2026-03-${day}T06:00:00,000000+00:00 NVRM: Xid (PCI:0000:1b:00): ${xid}\n`);
        files.push(file);
        await upload(daemon, file, path.basename(file));
      }
    }
    const expected = detect(files);
    assert.equal(expected.length, 6, 'one incident per day and GPU');
    await daemon.untilVerdicts('all of them', () => daemon.incidents().size >= 6);
    assert.deepEqual([...daemon.incidents().keys()].sort(), expected.map((one) => one.incident_id).sort());
    await daemon.stop();
  });

  const cases = ['hbm_ecc/fires_on_each_gpu', 'pod_evicted/fires_on_memory_pressure', 'xid_correlation/fires_on_xid79_then_failed_pod',
    'host_oom/fires_on_container_limit', 'nccl_hang/fires_on_missing_rank_pickle', 'pcie_aer/fires_on_fatal_error',
    'nvlink_degraded/fires_on_fatal_sxid', 'network_link_fault/fires_on_link_flap', 'checkpoint_stall/fires_on_io_error',
    'thermal_throttle/fires_on_hw_thermal', 'straggler/fires_on_late_rank', 'xid_correlation/stays_quiet_other_node'];
  for (const name of cases) {
    test(name, async () => {
      const home = path.join(source, 'tests/replay', name);
      const expected = detect(['input'], [], { cwd: home });
      const daemon = await start(name.replace('/', '_'));
      for (const file of inOrder(path.join(home, 'input'), home)) await upload(daemon, file, path.relative(home, file));
      if (expected.length === 0) await sleep(1500);
      await same(daemon, expected);
      await daemon.stop();
    });
  }
});

// The kernel logs of a simulated fleet, as a collector passes them on: in order of time.
const KERNEL = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\+00:00 (\S+) kernel: (.*)$/;
function kernelRecords(folder) {
  const records = walk(folder).flatMap((file) => fs.readFileSync(file, 'utf8').split('\n').map((line) => {
    const m = KERNEL.exec(line);
    return m && { time: BigInt(Date.parse(`${m[1]}Z`)) * 1000000n + BigInt((m[2] ?? '').padEnd(9, '0')), node: m[3], body: `kernel: ${m[4]}` };
  }).filter(Boolean));
  return records.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
}
/** Requests of some records each, a resource for each record: the file that detect reads, and the bodies. */
function asRequests(records, each) {
  const out = [];
  for (let at = 0; at < records.length; at += each) {
    const part = records.slice(at, at + each);
    out.push({ json: JSON.stringify({ resourceLogs: part.flatMap((r) => JSON.parse(logsJson({ 'host.name': r.node }, [r])).resourceLogs) }),
      protobuf: Buffer.concat(part.map((r) => logs({ 'host.name': r.node }, [r]))) });
  }
  return out;
}

describe('a simulated fleet over OTLP', () => {
  let requests;
  let expected;
  test('is made', () => {
    const fleet = space.file('fleet');
    const made = run(['simulate', '-q', '--nodes', '48', '--hours', '0.5', '--seed', '11', '--faults',
      'hbm_ecc count=3, pcie_aer count=2, nvlink_degraded count=2, network_link_fault count=2, noise 20', '--out', fleet]);
    assert.equal(made.status, 0, made.stderr);
    requests = asRequests(kernelRecords(path.join(fleet, 'kernel')), 100);
    const file = space.file('fleet.json');
    fs.writeFileSync(file, requests.map((r) => r.json).join('\n'));
    expected = detect([file]);
    assert.ok(requests.length > 4, `${requests.length} requests`);
    assert.ok(expected.length > 3, `${expected.length} incidents`);
  });
  const send = async (daemon, form, part) => {
    for (const request of part) {
      const answer = await post(daemon.http, 'logs', request[form], { 'content-type': form === 'json' ? JSON_TYPE : 'application/x-protobuf' });
      assert.equal(answer.status, 200, answer.body.toString());
    }
  };
  for (const form of ['protobuf', 'json']) {
    test(form, async () => {
      const daemon = await start(`fleet_${form}`);
      await send(daemon, form, requests);
      walkBack(daemon, latest(await same(daemon, expected)));
      await daemon.stop();
    });
  }
  for (const [how, end] of [['stopped', 'stop'], ['killed', 'kill']]) {
    test(`the daemon is ${how} in the middle, five times: nothing is lost, nothing is told twice`, async () => {
      const daemon = await start(`fleet_${how}`);
      const size = Math.ceil(requests.length / 6);
      for (let i = 0; i < 6; i++) {
        await send(daemon, 'protobuf', requests.slice(i * size, (i + 1) * size));
        if (i < 5) {
          await daemon[end]();
          await daemon.start();
        }
      }
      await same(daemon, expected);
      await daemon[end]();
      const told = daemon.verdicts().length;
      await daemon.start();
      await sleep(1000);
      assert.equal(daemon.verdicts().length, told, 'a restart with nothing new tells nothing');
      await daemon.stop();
    });
  }
  test('the same requests again raise nothing', async () => {
    const daemon = await start('fleet_twice');
    await send(daemon, 'protobuf', requests);
    await same(daemon, expected);
    await send(daemon, 'protobuf', requests);
    await sleep(500);
    openedOnce(daemon.verdicts());
    assert.deepEqual(new Set(daemon.verdicts().map((v) => v.incident_id)), new Set(expected.map((v) => v.incident_id)));
    await daemon.stop();
  });
});

test('of many requests in a row each verdict names the bytes of its own', async () => {
  const daemon = await start('citing');
  const nodes = Array.from({ length: 60 }, (_, i) => `gpu-cite-${i}-end`);
  for (const node of nodes) {
    assert.equal((await post(daemon.http, 'logs', logs({ 'host.name': node }, [{ body: xid48(), severity: 17 }]))).status, 200);
    await sleep(nodes.indexOf(node) % 5 * 6); // around the time that an event is held
  }
  const all = await daemon.untilVerdicts('all verdicts', nodes.length);
  const bodies = new Map(daemon.bodies().map(({ body }) => [`sha256:${createHash('sha256').update(body).digest('hex')}`, body.toString('latin1')]));
  for (const verdict of all) {
    const body = bodies.get(verdict.evidence_trail[0].raw.digest);
    assert.ok(body?.includes(verdict['k8s.node.name']), `${verdict['k8s.node.name']} cites ${/gpu-cite-\d+-end/.exec(body ?? '')}`);
  }
  daemon.assertWhole();
  await daemon.stop();
});

describe('simulate --otlp', () => {
  test('sends a fleet that the daemon diagnoses', async () => {
    const daemon = await start('simulated');
    const made = run(['simulate', '-q', '--nodes', '4', '--hours', '0.5', '--seed', '3', '--faults', 'hbm_ecc count=2, noise 10',
      '--otlp', `http://${daemon.http}`, '--speed', '3600']);
    assert.equal(made.status, 0, made.stderr);
    const all = await daemon.untilVerdicts('both faults', (told) => new Set(told.filter((v) => v['pattern.name'] === 'hbm_ecc').map((v) => v.incident_id)).size >= 2);
    openedOnce(all);
    assert.equal((await daemon.metrics()).sum('tracecore_requests_rejected_total'), 0);
    await daemon.stop();
  });
});

describe('clocks', () => {
  const HOUR = 3600n * 1000000000n;
  const outcome = async (daemon, name) => (await daemon.metrics()).sum('tracecore_events_total', { outcome: name });
  const fault = (node, time) => logs({ 'host.name': node }, [{ body: xid48(), severity: 17, time }]);

  test('a sender whose clock is wrong is judged, is counted, and moves nobody\'s time', async () => {
    const daemon = await start('clocks');
    const ok = async (body) => assert.equal((await post(daemon.http, 'logs', body)).status, 200);
    await ok(fault('gpu-right', nowNs()));
    await daemon.untilVerdicts('the verdict of the right one', 1);
    await ok(fault('gpu-ahead', nowNs() + HOUR));
    await until('it to be counted', async () => await outcome(daemon, 'ahead') >= 1);
    await ok(fault('gpu-behind', nowNs() - HOUR));
    await until('it to be counted', async () => await outcome(daemon, 'too_late') >= 1);
    // Of no year that a cluster has seen: that is no time at all, and what it tells counts as of its arrival.
    await ok(fault('gpu-no-time', 10413792000n * 1000000000n));
    await ok(fault('gpu-no-time', (1n << 64n) - 1n));
    await ok(fault('gpu-no-time', 0n));
    await until('them to be counted', async () => await outcome(daemon, 'misdated') + await outcome(daemon, 'undated') >= 3);
    await ok(fault('gpu-right-too', nowNs()));
    await daemon.untilVerdicts('the next verdict of a right one', (all) => all.some((v) => v['k8s.node.name'] === 'gpu-right-too'));
    // What is dated in the future is corrected; what is of an hour ago is judged from the store, a moment later.
    await daemon.untilVerdicts('those of the wrong ones', (all) => ['gpu-ahead', 'gpu-behind'].every((n) => all.some((v) => v['k8s.node.name'] === n)), 60000);
    for (const v of daemon.verdicts()) {
      const age = Date.now() - Date.parse(v.first_seen);
      assert.ok(v['k8s.node.name'] === 'gpu-behind' ? age > 3500000 : Math.abs(age) < 60000, `${v['k8s.node.name']} ${v.first_seen}`);
    }
    assert.match(daemon.log(), /a source's clock is fast.*source=gpu-ahead/u);
    assert.match(daemon.log(), /a source is late.*source=gpu-behind/u);
    await daemon.stop();
  });
  test('some seconds late is in time', async () => {
    const daemon = await start('late');
    assert.equal((await post(daemon.http, 'logs', fault('gpu-a', nowNs()))).status, 200);
    assert.equal((await post(daemon.http, 'logs', fault('gpu-b', nowNs() - 20n * 1000000000n))).status, 200);
    await daemon.untilVerdicts('both', 2);
    await daemon.stop();
  });
});

describe('downstream', () => {
  test('verdicts reach a collector that was away, at least once, with their ids', async () => {
    const got = [];
    let mood = 'down';
    const collector = http.createServer((request, answer) => {
      const parts = [];
      request.on('data', (part) => parts.push(part));
      request.on('end', () => {
        if (mood === 'down') { answer.writeHead(503, { 'retry-after': '0' }); answer.end(); return; }
        got.push({ type: request.headers['content-type'], url: request.url, token: request.headers['x-token'], body: Buffer.concat(parts) });
        answer.writeHead(200, { 'content-type': request.headers['content-type'] });
        answer.end(request.headers['content-type'] === JSON_TYPE ? '{}' : '');
      });
    });
    await new Promise((resolve) => { collector.listen(0, '127.0.0.1', resolve); });
    const endpoint = `http://127.0.0.1:${collector.address().port}/v1/logs`;
    const daemon = await start('downstream', { verdicts: { otlp: { endpoint, headers: { 'x-token': 'secret' }, backoff: { min: '20ms', max: '100ms' } } } });
    const names = ['gpu-d1', 'gpu-d2', 'gpu-d3'];
    for (const node of names) assert.equal((await post(daemon.http, 'logs', logs({ 'host.name': node }, [{ body: xid48(), severity: 17 }]))).status, 200);
    const all = await daemon.untilVerdicts('the verdicts in the file', 3);
    await until('retries', async () => (await daemon.metrics()).sum('tracecore_outbox_retries_total') >= 2);
    await daemon.kill();
    await daemon.start();
    mood = 'up';
    await until('all of them downstream', () => {
      const text = got.map(({ body }) => body.toString('latin1')).join('\n');
      return all.every((verdict) => text.includes(verdict.incident_id));
    });
    assert.equal(got[0].url, '/v1/logs');
    assert.equal(got[0].token, 'secret');
    await until('nothing to be pending', async () => (await daemon.metrics()).sum('tracecore_outbox_pending') === 0);
    const before = got.length;
    await daemon.stop();
    await daemon.start();
    await sleep(300);
    assert.equal(got.length, before, 'what was delivered stays delivered');
    // What it sends is OTLP: another daemon takes it.
    const other = await start('taker');
    for (const { type, body } of got) {
      const answer = await post(other.http, 'logs', body, { 'content-type': type });
      assert.equal(answer.status, 200, answer.body.toString());
    }
    assert.ok((await other.metrics()).sum('tracecore_records_received_total', { signal: 'logs' }) >= 3);
    await other.stop();
    await daemon.stop();
    collector.close();
    assert.ok(!daemon.log().includes('secret'), 'no header in the log');
  });
});
