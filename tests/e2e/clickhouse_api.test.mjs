// SPDX-License-Identifier: Apache-2.0
// The API of a daemon gives the same bytes wherever its warehouse is: DuckDB, one ClickHouse server, two shards. One
// data_dir is filled, copied, and its tables are migrated; then every GET route of openapi.json is asked of all three,
// in the ways that the dashboard asks too.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { noClickHouse, startClickHouse } from './support/clickhouse.mjs';
import { Daemon, run, workspace } from './support/daemon.mjs';
import { attributes, gauge, join, logs, metrics, nowNs, span, traces, xid48 } from './support/otlp.mjs';
import { add, tracecore } from './support/runs.mjs';
import { ask } from './support/warehouse.mjs';
import { call, get, post, until } from './support/wire.mjs';

const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const examples = path.join(source, 'examples/benchmark');
const QUICK = { warehouse: { slice_window: '1s', slice_lateness: '1s' } };
const LIVE = { 'service.name': 'trainer', 'k8s.node.name': 'gpu-live', 'tracecore.run.id': 'live-run' };
/** What depends on the moment or on the process, and so must differ: path, and what is made equal. */
const MOMENT = {
  '/api/benchmark/contracts': /"generated_at_utc":"[^"]*"/gu,
};

let space;
let servers;
let openapi;
let ids;
const daemons = [];

async function fill(daemon) {
  for (const side of ['base', 'candidate']) {
    for (const n of [1, 2, 3]) {
      const folder = path.join(examples, `${side}-${n}`);
      const { status, stderr } = add(daemon.dataDir, ['--name', side, '--replicate-group', side, '--run-id', `${side}-${n}`,
        '--result', path.join(folder, 'vllm-c16.json'), path.join(folder, 'vllm-c64.json'), '--telemetry', path.join(folder, 'dcgm.prom')]);
      assert.equal(status, 0, stderr);
    }
  }
  await daemon.start();
  const time = nowNs();
  const chat = join(span({ name: 'llm_request', start: time, end: time + 250000000n }), attributes(9, { 'gen_ai.request.id': 'cmpl-1', 'gen_ai.usage.output_tokens': 7 }));
  for (const [signal, body] of [
    ['metrics', metrics(LIVE, [gauge({ name: 'hw.gpu.temperature', points: [{ value: 71, time, attributes: { gpu: 0 } }] })])],
    ['metrics', metrics({ 'k8s.node.name': 'gpu-live' }, [gauge({ name: 'hw.gpu.power', points: [{ value: 500, time, attributes: { gpu: 0 } }] })])],
    ['traces', traces(LIVE, [chat])],
    ['logs', logs({ 'k8s.node.name': 'gpu-live' }, [{ body: xid48(), severity: 17, time }])],
    ['logs', logs({ 'k8s.node.name': 'gpu-else' }, [{ body: xid48(), severity: 17, time }])],
  ]) {
    assert.equal((await post(daemon.http, signal, body)).status, 200);
  }
  const count = async (table) => (await ask(daemon, `SELECT count(*) AS n FROM ${table}`))[0].n;
  await until('the rows of the daemon', async () => (await count('verdict_fact')) >= 2 && (await count('serving_request_fact')) >= 1 &&
    (await ask(daemon, "SELECT count(*) AS n FROM telemetry_slice_fact WHERE node_name = 'gpu-live'"))[0].n >= 2, 60000, 200);
  const published = tracecore(['publish', 'candidate', '--metric', 'ttft_p99_ms', '--point', 'concurrency=64', '--unstable', 'a test', '--json', '--data-dir', daemon.dataDir]);
  const verdict = (await ask(daemon, 'SELECT evidence FROM verdict_fact WHERE evidence IS NOT NULL ORDER BY verdict_digest LIMIT 1'))[0];
  const digest = JSON.parse(verdict.evidence)[0].digest;
  assert.equal(published.status, 0, published.stderr);
  ids = { number: JSON.parse(published.stdout.split('\n')[0]).number_id, digest };
  assert.ok(ids.number, published.stderr + published.stdout);
  await daemon.stop();
}

/** The values with which a path is asked: several where they matter. */
function queries(where, operation, incident) {
  const values = { id: incident, node: 'gpu-live', run: 'candidate-1', number: ids.number, digest: ids.digest };
  const filled = where.replace(/\{(\w+)\}/gu, (_, name) => encodeURIComponent(values[name]));
  const more = {
    '/api/v1/compare': ['base=base&candidate=candidate', 'base=base&candidate=candidate&metric=ttft&confidence=0.9'],
    '/api/v1/trend': ['metric=ttft_p99_ms', 'metric=ttft_p99_ms&runs=base'],
    '/api/v1/runs': ['', 'name=base', 'limit=2'],
    '/api/v1/runs/{run}/pivot': ['', 'base=base', 'base=base&point=1'],
    '/api/v1/runs/{run}/diagnose': ['', 'against=base'],
    '/api/v1/runs/{run}/series': ['metric=gpu_temperature', 'metric=gpu_sm_clock&points=10', 'metric=gpu_temperature&node=gpu-12'],
    '/api/v1/report': ['runs=candidate&base=base', 'runs=candidate&base=base&format=markdown&for=product', 'runs=base&format=html'],
    '/api/v1/verdicts': ['', 'node=gpu-live', 'run=live-run', 'limit=1'],
    '/api/v1/numbers': ['', 'all=true'],
    '/api/v1/tables': ['', 'table=telemetry_slice_fact'],
  };
  assert.ok(more[where] || !(operation.parameters ?? []).some((one) => one.required && one.in === 'query'), `${where} needs parameters: say here which`);
  return (more[where] ?? ['']).map((query) => (query ? `${filled}?${query}` : filled));
}

const SQL = ['SELECT metric, node_name, run_id, run_join, count(*) AS n, max(mean) AS highest FROM telemetry_slice_fact GROUP BY ALL ORDER BY ALL',
  'SELECT * FROM serving_request_fact ORDER BY request_id', 'SELECT * FROM verdict_fact ORDER BY verdict_digest', 'SELECT * FROM benchmark_run_fact ORDER BY run_id',
  "SELECT * FROM telemetry_slice_fact WHERE run_id = 'candidate-1' ORDER BY ALL LIMIT 50", 'SELECT * FROM run_scope_fact ORDER BY ALL'];

describe('the API on DuckDB and on ClickHouse', { skip: noClickHouse }, () => {
  before(async () => {
    space = workspace('chapi');
    servers = await startClickHouse(space.top, 2);
    const first = new Daemon(space.file('duckdb'), QUICK);
    daemons.push(first);
    await fill(first);
    for (const [name, hosts, rest] of [['one', 1, ''], ['two', 2, '?cluster=two']]) {
      await Promise.all(servers.map((server) => server.sql(`CREATE DATABASE ${name}`)));
      const url = `clickhouse://default@${servers.slice(0, hosts).map((s) => s.address).join(',')}/${name}${rest}`;
      const moved = run(['migrate', '--from', first.dataDir, '--to', url]);
      assert.equal(moved.status, 0, moved.stderr);
      const daemon = new Daemon(space.file(name), { warehouse: { ...QUICK.warehouse, url } });
      fs.cpSync(first.dataDir, daemon.dataDir, { recursive: true, filter: (from) => !/warehouse\.duckdb/u.test(from) });
      daemons.push(daemon);
    }
    await Promise.all(daemons.map((daemon) => daemon.start()));
    openapi = JSON.parse((await get(first.api, '/api/v1/openapi.json')).body);
  });
  after(async () => {
    for (const daemon of daemons) await daemon.destroy();
    await Promise.all((servers ?? []).map((server) => server.kill()));
    space.remove();
  });

  test('every GET route answers with the same bytes', async (t) => {
    const incident = JSON.parse((await get(daemons[0].api, '/api/v1/incidents')).body).incidents[0].incident_id;
    let asked = 0;
    const different = [];
    for (const [where, methods] of Object.entries(openapi.paths)) {
      if (!methods.get || where === '/api/v1/events') continue; // that one does not end
      for (const target of queries(where, methods.get, incident)) {
        const answers = await Promise.all(daemons.map((daemon) => get(daemon.api, target)));
        const [want, ...others] = answers.map((a) => a.body.toString('utf8').replace(MOMENT[where] ?? /$^/u, '"moment"'));
        assert.equal(answers[0].status, 200, `${target}: ${want}`);
        if (where.endsWith('/series')) assert.ok(JSON.parse(want).series.length > 0, want);
        others.forEach((got, i) => {
          assert.equal(answers[i + 1].status, 200, `${target} of ${['one server', 'two shards'][i]}: ${got}`);
          const at = [...want].findIndex((c, k) => c !== got[k]);
          if (got !== want) different.push(`${target} of ${['one server', 'two shards'][i]}: ${want.slice(Math.max(0, at - 80), at + 80)} is not ${got.slice(Math.max(0, at - 80), at + 80)}`);
        });
        asked += 1;
      }
    }
    t.diagnostic(`${asked} questions`);
    assert.deepEqual(different, []);
    assert.ok(asked > 35, `${asked} were asked`);
  });

  test('SQL by POST too', async () => {
    for (const sql of SQL) {
      const options = { body: JSON.stringify({ sql }), headers: { 'content-type': 'application/json' } };
      const answers = await Promise.all(daemons.map((daemon) => call(daemon.api, 'POST', '/api/v1/sql', options)));
      // How long it took is nobody's property.
      const [want, ...others] = answers.map((a) => JSON.stringify({ ...JSON.parse(a.body), seconds: 0, elapsed_ms: 0 }));
      assert.equal(answers[0].status, 200, want);
      others.forEach((got) => assert.equal(got, want, sql));
    }
  });
});
