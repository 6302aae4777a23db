// SPDX-License-Identifier: Apache-2.0
// Debian's prometheus scrapes the daemon, evaluates packaging/prometheus, and raises the alert into
// Debian's alertmanager; promtool runs the tests of the rules.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { Daemon, source, workspace } from './support/daemon.mjs';
import { sendAll } from './support/hot.mjs';
import { logs, xid48 } from './support/otlp.mjs';
import { isInstalled, startAlertmanager, startPrometheus } from './support/prometheus.mjs';
import { post, until } from './support/wire.mjs';

const folder = path.join(source, 'packaging/prometheus');
const rules = path.join(folder, 'tracecore.rules.yaml');
const room = workspace('prometheus');
after(() => room.remove());

const promtool = (...args) => spawnSync('promtool', args, { encoding: 'utf8', cwd: folder });

describe('rules', { skip: !isInstalled('promtool') && 'promtool is not installed' }, () => {
  test('are valid', () => {
    const result = promtool('check', 'rules', rules);
    assert.equal(result.status, 0, result.stdout + result.stderr);
  });
  test('do what their tests say, and each alert has one', () => {
    const file = path.join(folder, 'tracecore.rules.test.yaml');
    const result = promtool('test', 'rules', file);
    assert.equal(result.status, 0, result.stdout + result.stderr);
    const tests = fs.readFileSync(file, 'utf8');
    const alerts = [...fs.readFileSync(rules, 'utf8').matchAll(/alert: (\w+)/gu)].map((m) => m[1]);
    assert.ok(alerts.length > 10);
    assert.deepEqual(alerts.filter((name) => !tests.includes(`alertname: ${name}\n        exp_alerts:\n`)), []);
  });
});

describe('remote write', { skip: !isInstalled('prometheus') && 'prometheus is not installed' }, () => {
  const start = (name, url) => new Daemon(room.file(name), { warehouse: { slice_window: '1s' },
    hot_metrics: { remote_write: { url, interval: '1s', timeout: '5s', headers: { Authorization: 'Bearer a-secret', 'X-Scope-OrgID': '7' } } } }).start();

  test('brings hot metrics to a store, and goes on when that was away', async () => {
    fs.mkdirSync(room.file('store'));
    let store = await startPrometheus(room.file('store'), {});
    const daemon = await start('writer', `http://${store.address}/api/v1/write`);
    const found = (value) => until(`the value ${value}`, async () => {
      await sendAll(daemon, value, { modelName: 'H100' });
      return (await store.query('tracecore_serving_tokens_total{kind="output"}')).find((row) => row.value >= value - 1);
    }, 60000, 500);
    try {
      await sendAll(daemon, 1, { modelName: 'H100' });
      const row = await found(3);
      assert.deepEqual(row.metric, { __name__: 'tracecore_serving_tokens_total', cluster: 'c1', region: 'eu', gpu_model: 'H100',
        instance: os.hostname(), job: 'tracecore', kind: 'output' });
      const [temperature] = await store.query('tracecore_gpu_temperature_celsius{stat="max"}');
      assert.equal(temperature.value, 3);
      assert.equal((await daemon.metrics()).sum('tracecore_remote_write_samples_total', { result: 'refused' }), 0);
      const { address } = store;
      await store.stop();
      await until('pages that are replaced', async () => (await daemon.metrics()).sum('tracecore_remote_write_samples_total', { result: 'replaced' }) > 0, 30000, 200);
      assert.equal((daemon.log().match(/hot metrics are not taken/gu) ?? []).length, 1, 'it is said once');
      store = await startPrometheus(room.file('store'), { address });
      await found(9);
    } finally {
      await store.stop();
      await daemon.stop();
    }
  });

  test('that is refused is counted, and a store that hangs does not keep the daemon from ending', async () => {
    const answers = [];
    const server = http.createServer((question, answer) => {
      question.resume();
      answers.push(question.headers);
      if (answers.length === 1) { answer.writeHead(400).end('no'); }
    });
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    const daemon = await start('refused', `http://127.0.0.1:${server.address().port}/write`);
    try {
      await sendAll(daemon, 1);
      await until('refused samples', async () => (await daemon.metrics()).sum('tracecore_remote_write_samples_total', { result: 'refused' }) > 0, 30000, 100);
      assert.equal(answers[0]['content-encoding'], 'snappy');
      assert.equal(answers[0]['content-type'], 'application/x-protobuf');
      assert.equal(answers[0]['x-prometheus-remote-write-version'], '0.1.0');
      assert.deepEqual([answers[0].authorization, answers[0]['x-scope-orgid']], ['Bearer a-secret', '7']);
      assert.ok(!daemon.log().includes('a-secret'), 'it is a secret');
      await until('a request that hangs', () => answers.length >= 2, 30000, 50);
    } finally {
      await daemon.stop();
      server.closeAllConnections();
      server.close();
    }
  });
});

const missing = ['prometheus', 'prometheus-alertmanager'].filter((program) => !isInstalled(program));
describe('an incident', { skip: missing.length > 0 && `not installed: ${missing}` }, () => {
  test('is scraped, becomes an alert and arrives with its labels', async () => {
    const daemon = await new Daemon(room.file('daemon'), { warehouse: { slice_window: '1s' } }).start();
    fs.mkdirSync(room.file('prom'));
    const manager = await startAlertmanager(room.file('prom'));
    const prometheus = await startPrometheus(room.file('prom'), { targets: [daemon.api], rules: [rules], alertmanagers: [manager.address] });
    try {
      await until('a scrape', async () => (await prometheus.query('up{job="tracecore"} == 1')).length === 1, 30000, 200);
      assert.deepEqual(await manager.json('/api/v2/alerts'), []);
      await post(daemon.http, 'logs', logs({ 'host.name': 'gpu-07' }, [{ body: xid48(), severity: 17 }]));
      const [verdict] = await daemon.untilVerdicts('the verdict', 1);
      const alert = await until('the alert', async () => (await manager.json('/api/v2/alerts'))
        .find((one) => one.labels.alertname === 'TracecoreIncidentCritical'), 60000, 200);
      assert.deepEqual(alert.labels, { alertname: 'TracecoreIncidentCritical', instance: daemon.api, job: 'tracecore',
        pattern: verdict['pattern.name'], severity: 'critical', site: 'test' });
      assert.match(alert.annotations.summary, /^1 critical \w+ on /u);
      assert.equal(alert.status.state, 'active');

      /* Hot metrics of telemetry are scraped like the rest. */
      await sendAll(daemon, 42, { modelName: 'H100' });
      const [hot] = await until('a hot metric', async () => {
        const found = await prometheus.query('tracecore_gpu_temperature_celsius{stat="max"}');
        return found.length > 0 && found;
      }, 30000, 200);
      assert.equal(hot.value, 42);
      assert.equal(hot.metric.gpu_model, 'H100');
      const recorded = await until('a recording', async () => {
        const found = await prometheus.query('tracecore:gpu_utilization:mean');
        return found.length > 0 && found;
      }, 30000, 200);
      assert.ok(Math.abs(recorded[0].value - 0.42) < 1e-9);
      const groups = (await prometheus.json('/api/v1/rules')).data.groups.flatMap((group) => group.rules);
      assert.deepEqual(groups.filter((rule) => rule.health !== 'ok').map((rule) => [rule.name, rule.lastError]), []);
    } finally {
      await prometheus.stop();
      await manager.stop();
      await daemon.stop();
    }
  });
});
