// SPDX-License-Identifier: Apache-2.0
// Hot metrics on /metrics: every metric of the table from real telemetry, only the allowed labels,
// the budget; and that rules and dashboards ask for nothing that the page does not have.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, parseMetrics, source, workspace } from './support/daemon.mjs';
import { make, send, sendAll } from './support/hot.mjs';
import { request } from './support/otlp.mjs';
import { get, post, until } from './support/wire.mjs';

const ALLOWED = ['run_id', 'benchmark_case_id', 'cluster', 'region', 'node_pool', 'gpu_model', 'scheduler_path', 'concurrency_bucket'];
const OWN = ['stat', 'kind', 'by'];
const read = (...parts) => fs.readFileSync(path.join(source, ...parts), 'utf8');
const table = [...read('src/hot/metrics.def').matchAll(/^(?:GAUGE|COUNTER|EDGE|SUMMARY)\(\w+, "(\w+)"/gmu)].map((m) => m[1]);

const room = workspace('hot');
after(() => room.remove());
/* Metrics are looked for four times in a slice. */
const start = (name, config = {}) => new Daemon(room.file(name), { warehouse: { slice_window: '1s' }, ...config }).start();

describe('the page', () => {
  let daemon;
  let text;
  before(async () => {
    daemon = await start('page', { sources: { scrape: { targets: ['nobody=http://127.0.0.1:1/metrics'] }, dumps: { paths: [room.file('dumps/*')] } } });
    await sendAll(daemon, 1, { modelName: 'H100', 'tracecore.run.id': 'r1', team: 'x' });
    await sendAll(daemon, 3, { modelName: 'H100', 'tracecore.run.id': 'r1', team: 'x' });
    text = await until('the samples', async () => {
      const body = (await get(daemon.api, '/metrics')).body.toString();
      return /^tracecore_serving_tokens_total\S+ 2$/mu.test(body) && body;
    });
  });
  after(() => daemon.stop());

  test('has every metric of the table', () => {
    const there = new Set(parseMetrics(text).rows.map((row) => row.name.replace(/_(?:sum|count)$/u, '')));
    assert.ok(table.length > 30);
    assert.deepEqual(table.filter((name) => !there.has(name)), []);
  });

  test('has the allowed labels and those of the metric', () => {
    const rows = parseMetrics(text).rows.filter((row) => table.includes(row.name.replace(/_(?:sum|count)$/u, '')));
    assert.ok(rows.length > 40);
    for (const row of rows) {
      assert.deepEqual(Object.keys(row.labels).filter((key) => ![...ALLOWED, ...OWN].includes(key)), [], row.name);
      assert.equal(row.labels.cluster, 'c1');
    }
    const found = rows.find((row) => row.name === 'tracecore_gpu_temperature_celsius' && row.labels.stat === 'max');
    assert.deepEqual(found, { name: 'tracecore_gpu_temperature_celsius', value: 3,
      labels: { run_id: 'r1', cluster: 'c1', region: 'eu', gpu_model: 'H100', stat: 'max' } });
  });

  test('promtool has nothing to say', (t) => {
    const result = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
    if (result.error) { t.skip('promtool is not installed'); return; }
    assert.equal(result.stdout + result.stderr, '');
    assert.equal(result.status, 0);
  });

  test('is what docs/metrics.md says', () => {
    const labels = new Map();
    for (const row of parseMetrics(text).rows) {
      for (const name of [row.name, row.name.replace(/_(?:sum|count|bucket)$/u, '')]) {
        labels.set(name, new Set([...(labels.get(name) ?? []), ...Object.keys(row.labels)]));
      }
    }
    const hot = new Set(table);
    const line = ([, name, help, type]) => {
      const own = [...labels.get(name)].filter((key) => key !== 'le' && (!hot.has(name) || OWN.includes(key)));
      return `| \`${name}\` | ${type} | ${own.join(', ')} | ${help} |`;
    };
    const heads = [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\w+)$/gmu)];
    const page = read('docs/metrics.md');
    for (const [mark, chosen] of [['hot', heads.filter((head) => hot.has(head[1]))], ['own', heads.filter((head) => !hot.has(head[1]))]]) {
      const want = chosen.map(line).join('\n');
      const begin = `<!-- made of /metrics: ${mark} -->\n| metric | type | labels | |\n| --- | --- | --- | --- |\n`;
      const at = page.indexOf(begin) + begin.length;
      assert.ok(at >= begin.length, mark);
      assert.equal(page.slice(at, page.indexOf('\n\n', at)), want, `docs/metrics.md, ${mark}: write what is expected here`);
    }
  });

  test('has all that rules, dashboards and the documentation ask for', () => {
    // Receivers of alerts, and of what is forwarded, have theirs once there are any: alerts.test.mjs and forward.test.mjs look for them.
    const ofReceivers = ['src/observe/metrics_alerts.c', 'src/server/forward/show.c']
      .flatMap((file) => [...read(file).matchAll(/"(tracecore_\w+)"/gu)].map((m) => m[1]));
    const there = new Set([...parseMetrics(text).rows.map((row) => row.name), ...ofReceivers]);
    const rules = 'packaging/prometheus/tracecore.rules.yaml';
    const recorded = new Set([...read(rules).matchAll(/record: (\S+)/gu)].map((m) => m[1]));
    const boards = fs.readdirSync(path.join(source, 'packaging/grafana')).map((name) => {
      const board = JSON.parse(read('packaging/grafana', name));
      const asked = [...board.panels.flatMap((panel) => panel.targets ?? []).map((target) => target.expr),
        ...board.templating.list.map((variable) => variable.definition ?? '')];
      assert.ok(asked.length > 20, name);
      assert.deepEqual(board.panels.map((panel) => panel.id), [...new Set(board.panels.map((panel) => panel.id))]);
      return [name, asked.join('\n')];
    });
    assert.equal(boards.length, 2);
    for (const [name, asked] of [[rules, read(rules)], ...boards]) {
      const names = new Set([...asked.matchAll(/\b(?:tracecore|process)_[a-z0-9_]+|\btracecore:[a-z0-9_:]+/gu)].map((m) => m[0]));
      assert.ok(names.size > 10, name);
      assert.deepEqual([...names].filter((metric) => !there.has(metric) && !recorded.has(metric)
        && metric !== 'tracecore_' && !/^tracecore_(?:gpu|training|serving)_$/u.test(metric)), [], name);
    }
    const page = read('docs/metrics.md');
    assert.deepEqual([...recorded].filter((name) => !page.includes(`\`${name}\``)), []);
    const alerts = [...read(rules).matchAll(/alert: (\w+)/gu)].map((m) => m[1]);
    assert.deepEqual(alerts.filter((name) => !page.includes(`\`${name}\``)), []);
  });
});

test('100,000 different request ids make no series', async () => {
  const daemon = await start('requests');
  const point = (i) => ({ value: i % 9, attributes: { 'request_id': `q${i}`, 'trace_id': `t${i}`, 'prompt_hash': `h${i}` } });
  await post(daemon.http, 'metrics', request('metrics', { cluster: 'c' }, [{ name: 'vllm:num_requests_running', points: [point(0)] }]));
  const before = await until('a series', async () => {
    const metrics = await daemon.metrics();
    return metrics.has('tracecore_serving_requests_running') && metrics;
  });
  assert.equal(before.sum('tracecore_hot_series'), 3);
  for (let at = 0; at < 100000; at += 1000) {
    const points = Array.from({ length: 1000 }, (_, i) => point(at + i + 1));
    const answer = await post(daemon.http, 'metrics', request('metrics', { cluster: 'c' }, [{ name: 'vllm:num_requests_running', points }]));
    assert.equal(answer.status, 200);
  }
  const seen = await until('all of them', async () => {
    const metrics = await daemon.metrics();
    return metrics.sum('tracecore_hot_samples_total') === 100001 && metrics;
  }, 60000);
  assert.equal(seen.sum('tracecore_hot_series'), 3);
  assert.equal(seen.rows.length, before.rows.length, 'no line more');
  assert.equal(seen.sum('tracecore_hot_labels_dropped_total', { reason: 'request' }), 300003);
  assert.equal(seen.sum('tracecore_hot_series_refused_total'), 0);
  await daemon.stop();
});

test('new series past the budget are refused, those that are there go on, stale ones make room', async () => {
  const daemon = await start('budget', { hot_metrics: { series: 100, stale: '10s' } });
  const names = (from, to) => Array.from({ length: to - from }, (_, i) => `c${from + i}`);
  const tokens = (clusters, value) => send(daemon, {}, [make.sum('training_tokens_total',
    clusters.map((cluster) => ({ value, attributes: { cluster } })))]);
  await tokens(names(0, 150), 1);
  await until('a full table', async () => (await daemon.metrics()).sum('tracecore_hot_series_refused_total', { reason: 'budget' }) === 50);
  await tokens(['c7'], 6);
  const full = await until('one that goes on', async () => {
    const metrics = await daemon.metrics();
    return metrics.sum('tracecore_training_tokens_total', { cluster: 'c7' }) === 5 && metrics;
  });
  assert.equal(full.sum('tracecore_hot_series'), 100);
  assert.equal(full.sum('tracecore_hot_series_limit'), 100);
  assert.ok(!full.has('tracecore_training_tokens_total', { cluster: 'c149' }));
  await until('the stale ones to leave', async () => (await daemon.metrics()).sum('tracecore_hot_series_expired_total') >= 99, 30000, 200);
  await tokens(['c149'], 1);
  await until('a refused one to come in', async () => (await daemon.metrics()).has('tracecore_training_tokens_total', { cluster: 'c149' }));
  await daemon.stop();
});

test('a page that limits.output could not carry is not made', async () => {
  const daemon = await start('output', { limits: { output: '384KiB' }, hot_metrics: { series: 100000 } });
  for (let part = 0; part < 4; part++) {
    await send(daemon, {}, [make.sum('training_tokens_total', Array.from({ length: 1000 }, (_, i) => ({ value: 1, attributes: { cluster: `cluster-${part}-${i}` } })))]);
  }
  const metrics = await until('refused series', async () => {
    const now = await daemon.metrics();
    return now.sum('tracecore_hot_samples_total') + now.sum('tracecore_hot_samples_dropped_total', { reason: 'refused' }) === 4000 && now;
  });
  assert.ok(metrics.sum('tracecore_hot_series_refused_total', { reason: 'page' }) > 0);
  assert.ok(metrics.sum('tracecore_hot_series') > 100);
  await daemon.stop();
});

test('without hot_metrics.enabled there are none', async () => {
  const daemon = await start('off', { hot_metrics: { enabled: false } });
  await sendAll(daemon, 1);
  await until('the samples', async () => (await daemon.metrics()).sum('tracecore_warehouse_samples_total') > 0);
  const metrics = await daemon.metrics();
  assert.equal(metrics.sum('tracecore_hot_series_limit'), 0);
  assert.equal(metrics.sum('tracecore_hot_samples_total'), 0);
  await daemon.stop();
});
