// SPDX-License-Identifier: Apache-2.0
// Alerts from a daemon to what people really run: Debian's Alertmanager, and servers that take the
// payloads of Slack, PagerDuty and Teams. They begin, grow and end under one id, survive a receiver
// that is down and a daemon that is killed, and two daemons that are fed alike page once.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, binary, run, source, workspace } from './support/daemon.mjs';
import { logs, metrics, nowNs } from './support/otlp.mjs';
import { freePort, isInstalled, startAlertmanager } from './support/prometheus.mjs';
import { call, get, post, sleep, until } from './support/wire.mjs';

const space = workspace('alerts');
const ends = [];
after(async () => { for (const end of ends.reverse()) await end(); space.remove(); });

async function start(name, config) {
  const daemon = new Daemon(space.file(name), config);
  ends.push(() => daemon.destroy());
  return daemon.start();
}

/** A receiver that keeps what it is sent; `answer(request, body)` may say something else than 200. */
async function receiver(answer = null, port = 0) {
  const bodies = [];
  const requests = [];
  const server = http.createServer((request, response) => {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      const text = Buffer.concat(parts).toString('utf8');
      requests.push({ url: request.url, headers: request.headers, at: Date.now() });
      bodies.push(text);
      if (answer) answer(request, response, bodies.length);
      else response.end('{"ok":true}');
    });
  });
  await new Promise((resolve) => { server.listen(port, '127.0.0.1', resolve); });
  const stop = () => new Promise((resolve) => { server.closeAllConnections(); server.close(resolve); });
  ends.push(stop);
  const address = `127.0.0.1:${server.address().port}`;
  return { bodies, requests, stop, address, port: server.address().port, url: `http://${address}/hook`, json: () => bodies.map((body) => JSON.parse(body)) };
}

const packaged = (name) => path.join(source, 'packaging/alerts', `${name}.json`);
const quick = { settle: '1s', resend: '1s', timeout: '500ms', backoff: { min: '100ms', max: '300ms' } };
const alerts = (outputs, more = {}) => ({ alerts: { ...quick, outputs, ...more } });

const GPU = 'GPU-7d3c1a52-9e04-5b6f-a1c8-2f60d94b7e13';
const fallen = (pci = '0000:b3:00') => `NVRM: Xid (PCI:${pci}): 79, pid=4711, name=python, GPU has fallen off the bus.`;
const LOADED = 'NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56';
async function say(daemon, lines, node = 'gpu-07', time = nowNs()) {
  const body = logs({ 'host.name': node }, lines.map((line, i) => ({ time: time + BigInt(i), body: line })));
  const answer = await post(daemon.http, 'logs', body);
  assert.equal(answer.status, 200, String(answer.body));
}
/** The driver is loaded again, and the GPU is in the scrapes: what ends the incident. */
async function mend(daemon) {
  await say(daemon, [LOADED]);
  await sleep(20);
  const point = { value: 54, attributes: { UUID: GPU, gpu: '3', Hostname: 'gpu-07', pci_bus_id: '00000000:B3:00.0' } };
  const answer = await post(daemon.http, 'metrics', metrics({ 'host.name': 'gpu-07' }, [{ name: 'DCGM_FI_DEV_GPU_TEMP', points: [point] }]));
  assert.equal(answer.status, 200, String(answer.body));
}
const opened = (daemon) => daemon.untilVerdicts('a verdict', (all) => all.some((v) => v.status === 'open'));
const idOf = (daemon) => daemon.verdicts()[0].incident_id;

const active = async (address) => JSON.parse((await get(address, '/api/v2/alerts')).body);
const FINGERPRINT = /^[0-9a-f]{32}$/;

describe('Alertmanager', { skip: !isInstalled('prometheus-alertmanager') && 'no prometheus-alertmanager' }, () => {
  let hook;
  let manager;
  before(async () => {
    hook = await receiver();
    fs.mkdirSync(space.file('am'));
    manager = await startAlertmanager(space.file('am'), { webhook: hook.url });
    ends.push(() => manager.stop());
  });
  /** Notifications of one story. */
  const told = (id) => hook.json().filter((n) => n.groupLabels.story === id);

  test('an incident arrives firing, stays, and is resolved; two daemons page once', async () => {
    const output = { name: 'am', type: 'alertmanager', url: `http://${manager.address}`, labels: { cluster: 'test' } };
    const one = await start('one', alerts([output], { link: 'https://tracecore.example/' }));
    const two = await start('two', alerts([output], { link: 'https://tracecore.example/' }));
    const time = nowNs();
    for (const daemon of [one, two]) await say(daemon, [`NVRM: GPU at PCI:0000:b3:00: ${GPU}`, fallen()], 'gpu-07', time);
    await opened(one);
    await opened(two);
    const id = idOf(one);
    assert.match(id, FINGERPRINT);
    assert.equal(idOf(two), id, 'both name it alike');
    const [alert] = await until('the alert', async () => { const all = await active(manager.address); return all.length > 0 && all; });
    assert.deepEqual(alert.labels, { alertname: 'TracecoreIncident', story: id, severity: 'critical', pattern: 'gpu_fault', cluster: 'test' });
    assert.equal(alert.annotations.summary, one.verdicts()[0].headline);
    assert.match(alert.annotations.description, /^1 incident, 1 open\.\n- critical gpu_fault on gpu-07: /);
    assert.equal(alert.annotations.remediation, one.verdicts()[0].remediation);
    assert.equal(alert.generatorURL, `https://tracecore.example/#/incidents/${id}`);
    assert.equal(alert.status.state, 'active');
    assert.equal(Date.parse(alert.startsAt), Date.parse(one.verdicts()[0].first_seen));
    // It is told again before it lapses (four times alerts.resend), by both.
    await until('it to be told several times', async () => {
      const delivered = await Promise.all([one, two].map(async (daemon) => (await daemon.metrics()).sum('tracecore_alerts_delivered_total', { output: 'am' })));
      return delivered.every((n) => n >= 4);
    });
    const still = await active(manager.address);
    assert.equal(still.length, 1, 'one alert of two daemons');
    assert.ok(Date.parse(still[0].endsAt) > Date.now(), 'it does not lapse');
    const query = spawnSync('amtool', ['--alertmanager.url', `http://${manager.address}`, 'alert', 'query', '-o', 'json', `story=${id}`], { encoding: 'utf8' });
    assert.equal(JSON.parse(query.stdout).length, 1, query.stderr);
    assert.deepEqual(told(id).map((n) => n.status), ['firing'], 'one page of two daemons');
    for (const daemon of [one, two]) await mend(daemon);
    await until('the end', async () => (await active(manager.address)).length === 0);
    await until('the notification of the end', () => told(id).at(-1).status === 'resolved');
    const status = await one.status();
    assert.equal(status.alerts[0].waiting, 0);
    await one.stop();
    await two.stop();
  });

  test('down for a while, the daemon killed in between: nothing is lost, ids are stable', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const port = await freePort();
    const daemon = await start('killed', alerts([
      { name: 'am', type: 'alertmanager', url: `http://${address}` },
      { name: 'pd', type: 'webhook', url: `http://127.0.0.1:${port}/v2/enqueue`, template: packaged('pagerduty'), token_file: secret('key', 'R0UT1NGKEY') },
    ]));
    await say(daemon, [`NVRM: GPU at PCI:0000:b3:00: ${GPU}`, fallen()]);
    await opened(daemon);
    const id = idOf(daemon);
    await until('a failure', async () => (await daemon.metrics()).sum('tracecore_alerts_retries_total', { output: 'pd' }) > 1);
    const counts = await daemon.metrics();
    for (const output of ['am', 'pd']) {
      assert.equal(counts.sum('tracecore_alerts_waiting', { output }), 1);
      assert.equal(counts.sum('tracecore_alerts_failing', { output }), 1);
    }
    const shown = run(['status', '--api', `http://${daemon.api}`]).text;
    assert.match(shown, /alerts +am: 0 delivered, 0 refused, 1 waiting; failing since .*cannot connect/);
    assert.match(daemon.log(), /alerts wait: their receiver does not take them.*output=pd/);
    await daemon.kill();
    await daemon.start();
    await until('the next process to fail too', async () => (await daemon.metrics()).sum('tracecore_alerts_retries_total', { output: 'pd' }) > 0);
    fs.mkdirSync(space.file('am2'));
    const late = await startAlertmanager(space.file('am2'), { address });
    ends.push(() => late.stop());
    const pd = await receiver(null, port);
    const [alert] = await until('the alert', async () => { const all = await active(address); return all.length > 0 && all; });
    assert.equal(alert.labels.story, id);
    const [event] = await until('the page', () => pd.json().length > 0 && pd.json());
    assert.equal(event.dedup_key, `tracecore/${id}`);
    assert.equal(event.event_action, 'trigger');
    await until('the recovery to be said', () => /alerts are delivered again.*output=pd/.test(daemon.log()));
    // What was told is not told again by the next process, and its end is.
    await until('the cursor', async () => (await daemon.metrics()).sum('tracecore_alerts_waiting') === 0);
    await daemon.kill();
    await daemon.start();
    await mend(daemon);
    await until('the end', async () => pd.json().some((e) => e.event_action === 'resolve') && (await active(address)).length === 0);
    assert.deepEqual(pd.json().map((e) => [e.event_action, e.dedup_key]), [['trigger', `tracecore/${id}`], ['resolve', `tracecore/${id}`]]);
    await daemon.stop();
  });

  test('a storm of one story is one page', async () => {
    const slack = await receiver();
    const daemon = await start('storm', alerts([
      { name: 'am', type: 'alertmanager', url: `http://${manager.address}` },
      { name: 'slack', type: 'webhook', url: slack.url, template: packaged('slack') },
    ], { settle: '5s' }));
    const at = (ms) => new Date(Date.now() + ms).toISOString();
    const events = [{ kind: 'xid', time: at(-60000), 'k8s.node.name': 'gpu-09', 'pci.bdf': '0000:43:00.0', xid: 48 }];
    for (let i = 0; i < 500; i++) {
      events.push({ kind: 'k8s_event', time: at(-30000 + i), 'k8s.node.name': 'gpu-09', 'k8s.namespace.name': 'train', 'k8s.pod.name': `worker-${i}`,
        'k8s.pod.uid': `uid-${i}`, uid: `event-${i}`, reason: 'Evicted', type: 'Warning', 'object.kind': 'Pod', 'object.name': `worker-${i}`, count: 1,
        message: 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ' });
    }
    const body = events.map((event) => `${JSON.stringify(event)}\n`).join('');
    const answer = await call(daemon.api, 'POST', '/api/v1/upload?name=storm.ndjson', { body, headers: { 'content-type': 'application/octet-stream' } });
    assert.equal(answer.status, 200, String(answer.body));
    await until('a thousand incidents', () => daemon.incidents().size > 1000);
    const stories = new Set([...daemon.incidents().values()].map((v) => v.incident_group));
    assert.equal(stories.size, 1);
    const [id] = stories;
    const whole = `${daemon.incidents().size} incidents`;
    const alert = await until('the whole story', async () => (await active(manager.address))
      .find((a) => a.labels.story === id && a.annotations.description.startsWith(whole)));
    assert.equal(alert.labels.pattern, 'hbm_ecc');
    assert.match(alert.annotations.description, /\n- and \d{3,} more$/);
    await sleep(1000);
    assert.deepEqual((await active(manager.address)).filter((a) => a.status.state === 'active').map((a) => a.labels.story), [id]);
    assert.equal(slack.bodies.length, 1, 'one message');
    await until('the page', () => told(id).length === 1);
    await daemon.stop();
  });
});

function secret(name, text) {
  const file = space.file(name);
  fs.writeFileSync(file, `${text}\n`, { mode: 0o600 });
  return file;
}

describe('webhooks', () => {
  const HOSTILE = 'gpu"\\<!channel>\n[x](http://evil)\u0007\u{1f525}';
  let daemon;
  const to = {};
  const TOKEN = 't0k3n-of-a-receiver';
  let firstAt;

  /** All receivers at one daemon: the shapes, and those who do not behave. */
  before(async () => {
    to.slack = await receiver();
    to.pagerduty = await receiver();
    to.teams = await receiver();
    to.slow = await receiver(() => {}); // never answers
    to.refuses = await receiver((request, response) => { response.statusCode = 400; response.end('no such field\u0007'); });
    to.busy = await receiver((request, response, n) => {
      response.statusCode = n <= 1 ? 429 : 200;
      response.setHeader('retry-after', '2');
      response.end();
    });
    to.broken = await receiver((request, response, n) => { response.statusCode = n <= 3 ? 500 : 204; response.end(); });
    to.huge = await receiver((request, response) => { response.end(Buffer.alloc(6 << 20, 'x')); });
    to.elsewhere = await receiver();
    to.redirects = await receiver((request, response) => { response.writeHead(302, { location: to.elsewhere.url }); response.end(); });
    to.low = await receiver();
    const hook = (name, more = {}) => ({ name, type: 'webhook', url: to[name].url, template: packaged('slack'), ...more });
    daemon = await start('hooks', alerts([
      { ...hook('slack'), url: undefined, url_file: secret('slack_url', `${to.slack.url}?x=1&sig=a%2Bb`) },
      hook('pagerduty', { template: packaged('pagerduty'), token_file: secret('pd', 'R0UT1NGKEY') }),
      hook('teams', { template: packaged('teams'), token_file: secret('token', TOKEN), headers: { 'X-Team': 'gpu' }, severity: 'warning' }),
      hook('slow'), hook('refuses'), hook('busy'), hook('broken'), hook('huge'), hook('redirects'),
      hook('low', { severity: 'critical' }),
    ].map((o) => JSON.parse(JSON.stringify(o)))));
    const at = (ms) => new Date(Date.now() + ms).toISOString();
    const events = [{ kind: 'xid', time: at(-2000), 'k8s.node.name': HOSTILE, 'pci.bdf': '0000:43:00.0', xid: 79 }];
    const answer = await call(daemon.api, 'POST', '/api/v1/upload?name=one.ndjson', { body: `${JSON.stringify(events[0])}\n`, headers: { 'content-type': 'application/octet-stream' } });
    assert.equal(answer.status, 200, String(answer.body));
    firstAt = Date.now();
    await opened(daemon);
  });

  const arrived = (name) => until(`${name} to be told`, () => to[name].bodies.length > 0 && to[name].json()[0]);

  test('Slack: blocks whose text from outside is plain_text', async () => {
    const body = await arrived('slack');
    assert.equal(to.slack.requests[0].url, '/hook?x=1&sig=a%2Bb', 'the address of a file, with its query');
    assert.equal(to.slack.requests[0].headers['content-type'], 'application/json');
    assert.equal(body.text, '[critical] gpu_fault firing');
    assert.ok(body.blocks.length >= 3 && body.blocks.length <= 50);
    const texts = body.blocks.flatMap((block) => [block.text, ...(block.elements ?? [])]).filter(Boolean);
    for (const text of texts) {
      assert.equal(text.type, 'plain_text');
      assert.ok(text.text.length > 0 && text.text.length <= 3000);
    }
    assert.ok(texts[0].text.includes(daemon.verdicts()[0]['k8s.node.name']), texts[0].text);
  });

  test('PagerDuty: an event of Events API v2', async () => {
    const body = await arrived('pagerduty');
    const id = idOf(daemon);
    assert.equal(body.routing_key, 'R0UT1NGKEY');
    assert.equal(to.pagerduty.requests[0].headers.authorization, undefined, 'the key is in the body alone');
    assert.equal(body.event_action, 'trigger');
    assert.equal(body.dedup_key, `tracecore/${id}`);
    assert.ok(body.dedup_key.length <= 255 && body.payload.summary.length <= 1024);
    assert.ok(['critical', 'error', 'warning', 'info'].includes(body.payload.severity));
    assert.equal(body.payload.source, daemon.verdicts()[0]['k8s.node.name']);
    assert.ok(!Number.isNaN(Date.parse(body.payload.timestamp)));
    assert.equal(body.payload.class, 'gpu_fault');
    assert.equal(body.payload.custom_details.parts[0].id, id);
  });

  test('Teams: an Adaptive Card with text runs', async () => {
    const body = await arrived('teams');
    assert.equal(to.teams.requests[0].headers.authorization, `Bearer ${TOKEN}`);
    assert.equal(to.teams.requests[0].headers['x-team'], 'gpu');
    assert.equal(body.type, 'message');
    const [attachment] = body.attachments;
    assert.equal(attachment.contentType, 'application/vnd.microsoft.card.adaptive');
    const card = attachment.content;
    assert.deepEqual([card.type, card.version], ['AdaptiveCard', '1.4']);
    for (const block of card.body) {
      assert.equal(block.type, 'RichTextBlock');
      for (const inline of block.inlines) assert.ok(inline.type === 'TextRun' && inline.text.length > 0);
    }
  });

  test('receivers that do not behave', async () => {
    await until('all of them', () => ['refuses', 'huge', 'redirects'].every((name) => to[name].bodies.length > 0)
      && to.busy.bodies.length > 1 && to.broken.bodies.length > 3 && to.slow.bodies.length > 1);
    const counts = await until('the counts', async () => {
      const m = await daemon.metrics();
      return m.sum('tracecore_alerts_delivered_total', { output: 'broken' }) === 1 && m.sum('tracecore_alerts_delivered_total', { output: 'busy' }) === 1 && m;
    });
    const of = (name, output) => counts.sum(`tracecore_alerts_${name}`, { output });
    assert.equal(of('failed_total', 'refuses'), 1, 'a 4xx is said and not tried again');
    assert.equal(to.refuses.bodies.length, 1);
    assert.match(daemon.log(), /alerts were refused by their receiver.*output=refuses.*status=400.*no such field/);
    assert.ok(!daemon.log().includes('\u0007'), 'nothing of an answer drives a terminal');
    assert.equal(of('delivered_total', 'huge'), 1);
    assert.equal(of('failed_total', 'redirects'), 1);
    assert.equal(to.elsewhere.bodies.length, 0, 'redirects are not followed');
    assert.ok(to.busy.requests[1].at - to.busy.requests[0].at >= 1900, 'Retry-After is kept');
    assert.equal(of('waiting', 'slow'), 1);
    assert.equal(of('failing', 'slow'), 1);
    assert.ok(of('oldest_seconds', 'slow') * 1000 <= Date.now() - firstAt + 1000);
    assert.equal(to.low.bodies.length, 1);
  });

  test('a receiver is told of what is severe enough for it', async () => {
    const info = { kind: 'k8s_event', time: new Date().toISOString(), 'k8s.node.name': 'gpu-08', 'k8s.namespace.name': 'train', 'k8s.pod.name': 'worker-1',
      'k8s.pod.uid': 'uid-1', uid: 'event-1', reason: 'Evicted', type: 'Warning', 'object.kind': 'Pod', 'object.name': 'worker-1', count: 1,
      message: 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ' };
    await call(daemon.api, 'POST', '/api/v1/upload?name=two.ndjson', { body: `${JSON.stringify(info)}\n`, headers: { 'content-type': 'application/octet-stream' } });
    await daemon.untilVerdicts('the second', (all) => all.some((v) => v['k8s.pod.name'] === 'worker-1'));
    const { severity } = daemon.verdicts().find((v) => v['k8s.pod.name'] === 'worker-1');
    await until('slack to be told', () => to.slack.bodies.length > 1);
    assert.notEqual(severity, 'critical');
    await sleep(500);
    assert.equal(to.low.bodies.length, 1, `critical only, and this is ${severity}`);
    await daemon.stop();
  });
});

describe('Kubernetes', () => {
  test('an Event and a condition of the node, and nothing else', async () => {
    const events = new Map();
    const patches = [];
    const server = await receiver((request, response) => {
      const body = server.json().at(-1);
      if (request.method === 'POST' && request.url === '/api/v1/namespaces/default/events') {
        response.statusCode = events.has(body.metadata.name) ? 409 : 201;
        events.set(body.metadata.name, body);
      } else if (request.method === 'PATCH' && request.url === '/api/v1/nodes/gpu-07/status') {
        assert.equal(request.headers['content-type'], 'application/strategic-merge-patch+json');
        patches.push(body.status.conditions[0]);
      } else {
        response.statusCode = 403;
      }
      response.end('{}');
    });
    const output = { name: 'k8s', type: 'kubernetes', url: `http://${server.address}`, token_file: secret('account', 'ACCOUNT'), condition: 'TracecoreIncident' };
    const one = await start('k8s1', alerts([output]));
    const two = await start('k8s2', alerts([output]));
    const time = nowNs();
    for (const daemon of [one, two]) await say(daemon, [`NVRM: GPU at PCI:0000:b3:00: ${GPU}`, fallen()], 'gpu-07', time);
    await until('both daemons', async () => (await one.metrics()).sum('tracecore_alerts_delivered_total') === 1
      && (await two.metrics()).sum('tracecore_alerts_delivered_total') === 1);
    const id = idOf(one);
    assert.deepEqual([...events.keys()], [`tracecore.${id}.firing`], 'one Event of two daemons');
    const event = events.get(`tracecore.${id}.firing`);
    assert.deepEqual(event.involvedObject, { apiVersion: 'v1', kind: 'Node', name: 'gpu-07', uid: 'gpu-07' });
    assert.deepEqual([event.kind, event.type, event.reason, event.message], ['Event', 'Warning', 'gpu_fault', one.verdicts()[0].headline]);
    assert.match(event.lastTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, 'a time of the API has no fraction');
    assert.deepEqual([patches[0].status, patches[0].reason, patches[0].type], ['True', 'gpu_fault', 'TracecoreIncident']);
    assert.equal(server.requests[0].headers.authorization, 'Bearer ACCOUNT');
    await mend(one);
    await until('the end', () => patches.some((patch) => patch.status === 'False'));
    assert.ok(events.has(`tracecore.${id}.resolved`));
    assert.deepEqual(new Set(server.requests.map((r) => r.url)), new Set(['/api/v1/namespaces/default/events', '/api/v1/nodes/gpu-07/status']));
    await one.stop();
    await two.stop();
  });
});

/** The program to its end, while this process answers what it sends. */
const runAsync = (args) => new Promise((resolve) => {
  const child = spawn(binary, args);
  let out = '';
  child.stdout.on('data', (part) => { out += part; });
  child.on('close', (status) => resolve({ status, out }));
});

describe('tracecore alert test', () => {
  test('trusts and shows the certificates that a receiver has', async (t) => {
    const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
      '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', space.file('key.pem'), '-out', space.file('cert.pem')]);
    if (made.error || made.status !== 0) { t.skip('openssl is not installed'); return; }
    const pem = (name) => fs.readFileSync(space.file(name));
    const server = https.createServer({ key: pem('key.pem'), cert: pem('cert.pem'), ca: pem('cert.pem'), requestCert: true, rejectUnauthorized: false },
      (request, response) => { response.statusCode = request.client.authorized ? 200 : 403; request.resume().on('end', () => response.end()); });
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    ends.push(() => new Promise((resolve) => { server.closeAllConnections(); server.close(resolve); }));
    const output = { type: 'alertmanager', url: `https://127.0.0.1:${server.address().port}` };
    const ca = { ca_file: space.file('cert.pem') };
    const file = space.file('tls.yaml');
    fs.writeFileSync(file, JSON.stringify(alerts([
      { name: 'strange', ...output }, { name: 'nobody', ...output, ...ca },
      { name: 'known', ...output, ...ca, cert_file: space.file('cert.pem'), key_file: space.file('key.pem') },
      { name: 'missing', ...output, ca_file: space.file('no.pem') },
    ])));
    const { status, out } = await runAsync(['alert', 'test', '--config', file]);
    assert.equal(status, 1);
    assert.match(out, /^strange: firing: not taken: .*its certificate is not trusted/m);
    assert.match(out, /^nobody: firing: not taken \(HTTP 403\)$/m);
    assert.match(out, /^known: resolved: taken \(HTTP 200\)$/m);
    assert.match(out, /^missing: cannot be set up: .*no\.pem: No such file/m);
  });

  test('the examples of docs/alerts.md are right', () => {
    const page = fs.readFileSync(path.join(source, 'docs/alerts.md'), 'utf8');
    const blocks = [...page.matchAll(/```yaml\n([^]*?)```/gu)].map((block) => block[1]).filter((block) => block.startsWith('alerts:'));
    assert.equal(blocks.length, 2);
    for (const block of blocks) {
      const result = run(['config', 'check', '-'], { input: block });
      assert.equal(result.status, 0, result.stderr);
    }
  });

  test('says what the receiver answered', async () => {
    const good = await receiver();
    const bad = await receiver((request, response) => { response.statusCode = 403; response.end('who are you?'); });
    const file = space.file('test.yaml');
    fs.writeFileSync(file, JSON.stringify(alerts([
      { name: 'good', type: 'webhook', url: good.url, template: packaged('pagerduty'), token_file: secret('t', 'KEY') },
      { name: 'bad', type: 'alertmanager', url: bad.url },
      { name: 'broken', type: 'webhook', url: good.url, template: secret('broken.tpl', '{"a": "{{hedline}}"}') },
    ])));
    const all = await runAsync(['alert', 'test', '--config', file]);
    assert.equal(all.status, 1);
    assert.match(all.out, /^good: firing: taken \(HTTP 200\): \{"ok":true\}$/m);
    assert.match(all.out, /^good: resolved: taken \(HTTP 200\)/m);
    assert.match(all.out, /^bad: firing: not taken \(HTTP 403\): who are you\?$/m);
    assert.match(all.out, /^broken: cannot be set up: .*line 1: there is no field "hedline"; did you mean headline\?$/m);
    assert.deepEqual(good.json().map((e) => e.event_action), ['trigger', 'resolve']);
    assert.equal(bad.requests[0].url, '/hook/api/v2/alerts');
    const one = await runAsync(['alert', 'test', '--config', file, '--print', 'good']);
    assert.equal(one.status, 0);
    assert.equal(JSON.parse(one.out.slice(0, one.out.indexOf('\n}\n') + 3)).routing_key, 'KEY');
    assert.equal((await runAsync(['alert', 'test', '--config', file, 'nobody'])).status, 2);
  });
});
