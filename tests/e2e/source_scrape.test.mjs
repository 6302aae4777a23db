// SPDX-License-Identifier: Apache-2.0
// The daemon scrapes exporters: Debian's node_exporter, a server with real scrapes of dcgm-exporter
// whose counters rise, and servers that answer as nobody should.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import zlib from 'node:zlib';
import { Daemon, run, source, workspace } from './support/daemon.mjs';
import { isInstalled, startNodeExporter } from './support/prometheus.mjs';
import { sleep, until } from './support/wire.mjs';

const samples = process.env.TC_SAMPLES ?? path.join(source, '../shared/samples');
const real = path.join(samples, 'real/088-dcgm-fixture-datadog/in/dcgm-host.prom');
const space = workspace('scrape');
const servers = [];
const others = [];
const daemons = [];
after(async () => {
  for (const daemon of daemons) await daemon.destroy();
  for (const other of others) await other.stop();
  for (const server of servers) { server.closeAllConnections(); server.close(); }
  space.remove();
});

/** A server whose answers `answer(request, response, count)` writes; its address. */
async function serve(answer) {
  let count = 0;
  const server = http.createServer((request, response) => { response.on('error', () => {}); answer(request, response, ++count); });
  servers.push(server);
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return `http://127.0.0.1:${server.address().port}/metrics`;
}

const TEXT = { 'content-type': 'text/plain; version=0.0.4' };
const say = (text) => (request, response) => { response.writeHead(200, TEXT); response.end(text); };

/** Four GPUs of one node, as dcgm-exporter tells of them. */
const fleet = { gpus: [0, 1, 2, 3], xid: [0, 0, 0, 0], ecc: [0, 0, 0, 0] };
function dcgm() {
  const rows = (name, type, value) => `# HELP ${name} of the GPU.\n# TYPE ${name} ${type}\n${fleet.gpus.map((gpu) => `${name}{gpu="${gpu}",UUID="GPU-${gpu}a56d28-0da5-6d26-a36a-e7af1ce2586e",pci_bus_id="00000000:0${gpu}:00.0",device="nvidia${gpu}",modelName="NVIDIA H100",Hostname="gpu-42"} ${value(gpu)}\n`).join('')}`;
  return rows('DCGM_FI_DEV_GPU_TEMP', 'gauge', (gpu) => 41 + gpu) + rows('DCGM_FI_DEV_GPU_UTIL', 'gauge', () => 97) +
    rows('DCGM_FI_DEV_XID_ERRORS', 'gauge', (gpu) => fleet.xid[gpu]) + rows('DCGM_FI_DEV_ECC_DBE_VOL_TOTAL', 'counter', (gpu) => fleet.ecc[gpu]);
}

const targetOf = async (daemon, name) => (await daemon.status()).sources.find((one) => one.name === 'scrape').targets.find((one) => one.name === name);
const untilTarget = (daemon, name, what, is) => until(`${name} to ${what}`, async () => {
  const one = await targetOf(daemon, name);
  return is(one) ? one : null;
}, 30000);
const sql = (daemon, query) => {
  const result = run(['sql', '--json', '--data-dir', daemon.dataDir, query]);
  assert.equal(result.status, 0, result.stderr);
  return result.text;
};

describe('a daemon with exporters', () => {
  let daemon;
  const hasNode = isInstalled('prometheus-node-exporter');
  before(async () => {
    const targets = [`dcgm=${await serve((request, response) => say(dcgm())(request, response))}`];
    if (fs.existsSync(real)) targets.push(`real=${await serve(say(fs.readFileSync(real)))}`);
    targets.push(`packed=${await serve((request, response) => {
      assert.match(request.headers['accept-encoding'], /gzip/u);
      response.writeHead(200, { ...TEXT, 'content-encoding': 'gzip' });
      response.end(zlib.gzipSync('# TYPE packed gauge\npacked 7\n'));
    })}`);
    if (hasNode) {
      const exporter = await startNodeExporter(space.top);
      others.push(exporter);
      targets.push(`node=http://${exporter.address}/metrics`);
    }
    daemon = new Daemon(space.file('good'), {
      sources: { node: 'gpu-01', scrape: { targets, interval: '250ms' } },
      detection: { patterns: { gpu_fault: { scrapes: 3, absent: 1 } } },
      warehouse: { slice_window: '1s', slice_lateness: '1s' },
    });
    daemons.push(daemon);
    await daemon.start();
  });

  test('all answer, and are counted', async () => {
    for (const { name } of (await daemon.status()).sources[0].targets) await untilTarget(daemon, name, 'answer', (one) => one.state === 'ok' && one.samples > 0);
    const metrics = await daemon.metrics();
    assert.equal(metrics.sum('tracecore_scrape_up', { target: 'dcgm' }), 1);
    assert.equal(metrics.sum('tracecore_scrape_gpus', { target: 'dcgm' }), 4);
    assert.equal(metrics.sum('tracecore_scrape_samples', { target: 'packed' }), 1);
    assert.equal((await daemon.status()).sources[0].state, 'ok');
  });

  test('node_exporter of this machine: its samples are those of sources.node', { skip: !hasNode && 'prometheus-node-exporter is not installed' }, async () => {
    const one = await untilTarget(daemon, 'node', 'answer', (target) => target.answers > 2);
    assert.ok(one.samples > 100, `${one.samples} samples`);
    await until('a slice of it', () => /gpu-01/u.test(sql(daemon, "SELECT DISTINCT node_name FROM telemetry_slice_fact WHERE metric = 'node_load1'")), 30000, 300);
  });

  test('metrics of GPUs are sliced and hot', async () => {
    await until('a slice', () => /gpu-42/u.test(sql(daemon, "SELECT DISTINCT node_name FROM telemetry_slice_fact WHERE gpu_uuid LIKE 'GPU-0a56d28%'")), 30000, 300);
    await until('the hot metric', async () => (await daemon.metrics()).rows.some((row) => row.name === 'tracecore_gpu_temperature_celsius' && row.labels.gpu_model === 'NVIDIA H100' && row.labels.stat === 'max' && row.value === 44), 30000, 100);
  });

  test('counters that rise become incidents, of the node that the samples name', async () => {
    assert.deepEqual(daemon.verdicts(), []);
    fleet.xid[1] = 79;
    fleet.ecc[2] = 3;
    const verdicts = await daemon.untilVerdicts('both incidents', (all) => new Set(all.map((v) => v['pattern.name'])).size >= 2, 30000);
    assert.deepEqual([...new Set(verdicts.map((v) => v['pattern.name']))].sort(), ['gpu_fault', 'hbm_ecc']);
    assert.deepEqual([...new Set(verdicts.map((v) => v['k8s.node.name']))], ['gpu-42']);
    const fault = verdicts.find((v) => v['pattern.name'] === 'gpu_fault');
    const raw = fault.evidence_trail.map((e) => e.raw).filter(Boolean);
    assert.match(daemon.cite(raw.at(-1)).toString(), /^DCGM_FI_DEV_XID_ERRORS\{gpu="1".* 79$/u);
  });

  test('a GPU that disappears while its target answers is told, and is an incident', async () => {
    fleet.gpus = [0, 1, 2];
    const one = await untilTarget(daemon, 'dcgm', 'miss a GPU', (target) => target.gpus_missing === 1);
    assert.equal(one.state, 'ok');
    assert.equal(one.gpus, 3);
    assert.match(daemon.log(), /level=warn msg="a GPU is missing from the answers of a scrape target" target=dcgm.*gpu=GPU-3a56d28/u);
    await daemon.untilVerdicts('the GPU that is gone', (all) => all.some((v) => v['pattern.name'] === 'gpu_fault' && JSON.stringify(v).includes('GPU-3a56d28')), 30000);
    assert.equal((await daemon.metrics()).sum('tracecore_scrape_gpus_missing_total', { target: 'dcgm' }), 1);
  });

  test('after a kill the same incidents go on', async () => {
    const opened = () => daemon.verdicts().filter((v) => v.status === 'open').map((v) => v.incident_id).sort();
    const before = opened();
    await daemon.kill();
    await daemon.start();
    await untilTarget(daemon, 'dcgm', 'answer again', (target) => target.answers > 3);
    await sleep(500);
    assert.deepEqual(opened(), before);
    assert.equal(new Set(before).size, before.length);
  });
});

describe('servers that nobody wants', () => {
  let daemon;
  const seen = { redirected: 0, token: new Set() };
  before(async () => {
    const elsewhere = await serve((request, response) => { seen.redirected++; say('a 1\n')(request, response); });
    const token = space.file('token');
    const bomb = zlib.gzipSync(Buffer.alloc(64 << 20, 'a 1\n'));
    fs.writeFileSync(token, 'first\n');
    const targets = [
      `good=${await serve(say('# TYPE up gauge\nup 1\n'))}`,
      `huge=${await serve(say('metric{label="value"} 1\n'.repeat(400000)))}`,
      `bomb=${await serve((request, response) => { response.writeHead(200, { ...TEXT, 'content-encoding': 'gzip' }); response.end(bomb); })}`,
      `endless=${await serve((request, response) => {
        response.writeHead(200, TEXT);
        const timer = setInterval(() => response.write('a 1\n'), 50);
        response.on('close', () => clearInterval(timer));
      })}`,
      `silent=${await serve(() => {})}`,
      `html=${await serve(say('<!doctype html>\n<html><body>\n<p>It works!</p>\n</body></html>\n'))}`,
      `binary=${await serve(say(Buffer.from(Array.from({ length: 4096 }, (v, i) => (i * 7919) % 256))))}`,
      `moved=${await serve((request, response) => { response.writeHead(302, { location: elsewhere }); response.end(); })}`,
      'refused=http://127.0.0.1:1/metrics',
      `flaps=${await serve((request, response, count) => (count % 2 === 1 ? say('a 1\n')(request, response) : request.socket.destroy()))}`,
      `token=${await serve((request, response) => { seen.token.add(request.headers.authorization); say('a 1\n')(request, response); })} token_file=${token}`,
    ];
    daemon = new Daemon(space.file('bad'), { sources: { node: 'gpu-01', scrape: { targets, interval: '1s' } } });
    daemons.push(daemon);
    await daemon.start();
  });

  const WHY = {
    huge: /too long/u, bomb: /too long/u, endless: /timed out/u, silent: /timed out/u, html: /neither Prometheus text nor OpenMetrics/u,
    binary: /neither Prometheus text nor OpenMetrics/u, moved: /302: redirects are not followed/u, refused: /refused/u,
  };
  for (const [name, why] of Object.entries(WHY)) {
    test(`${name}: is failing, and why`, async () => {
      await untilTarget(daemon, name, `fail: ${why}`, (target) => target.state === 'failing' && why.test(target.error));
      assert.equal((await daemon.metrics()).sum('tracecore_scrape_up', { target: name }), 0);
      assert.match(daemon.log(), new RegExp(`msg="a scrape target fails: [^"]*" target=${name} `, 'u'));
    });
  }

  test('tracecore status names each that fails, and why, and none that works', () => {
    const { text } = run(['status', '--api', `http://${daemon.api}`]);
    for (const [name, why] of Object.entries(WHY)) assert.match(text, new RegExp(`^ {13}${name}: .*(?:${why.source})`, 'mu'));
    assert.doesNotMatch(text, /^ {13}good: /mu);
  });

  test('the others are asked all the same', async () => {
    const { answers } = await targetOf(daemon, 'good');
    const later = await untilTarget(daemon, 'good', 'go on', (one) => one.answers >= answers + 3);
    assert.equal(later.failures, 0);
    assert.equal(later.state, 'ok');
    const flaps = await targetOf(daemon, 'flaps');
    assert.ok(flaps.failures > 0 && flaps.answers > 0 && flaps.state === 'ok', JSON.stringify(flaps));
    assert.equal(seen.redirected, 0);
  });

  test('a token is read anew each time, and goes to its own target only', async () => {
    fs.writeFileSync(space.file('token'), 'second');
    await until('the new token', () => seen.token.has('Bearer second'), 10000);
    assert.deepEqual([...seen.token], ['Bearer first', 'Bearer second']);
  });

  test('what is stored is what good ones answered', async () => {
    await daemon.stop();
    for (const { body } of daemon.eachBody()) assert.match(body.toString(), /^(?:# TYPE up gauge\nup 1\n|a 1\n)$/u);
  });
});

test('what is no target is refused at the start', () => {
  for (const [targets, why] of [[['gpu-07:9400'], /write http:\/\/host:port\/metrics/u], [['a=http://h/m', 'a=http://h/n'], /there twice/u], [['http://u:p@h/m'], /user name/u]]) {
    const file = space.file('bad.yaml');
    fs.writeFileSync(file, JSON.stringify({ data_dir: space.file('none'), api: { listen: '127.0.0.1:0' }, receivers: { otlp: { http: { listen: '127.0.0.1:0' }, grpc: { listen: '127.0.0.1:0' } } }, sources: { kmsg: { enabled: false }, journal: { enabled: false }, scrape: { targets } } }));
    const result = run(['serve', '--config', file]);
    assert.notEqual(result.status, 0);
    assert.match(result.stderr, /sources\.scrape\.targets/u);
    assert.match(result.stderr, why);
  }
});
