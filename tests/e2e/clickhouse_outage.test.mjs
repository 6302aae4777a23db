// SPDX-License-Identifier: Apache-2.0
// A daemon whose ClickHouse stops while telemetry comes in, and returns: nobody who sends waits, the daemon says what it
// waits for, and in the end the rows are those of a daemon with DuckDB that was sent the same, each once.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { noClickHouse, startClickHouse } from './support/clickhouse.mjs';
import { Daemon, workspace } from './support/daemon.mjs';
import { attributes, gauge, join, logs, metrics, nowNs, span, traces, xid48 } from './support/otlp.mjs';
import { ask } from './support/warehouse.mjs';
import { get, post, sleep, until } from './support/wire.mjs';

const OUTAGE_MS = Number(process.env.TC_OUTAGE_S ?? 6) * 1000;
const BEFORE_MS = 4000;
const AFTER_MS = 2000;
const EVERY_MS = 200;
const QUICK = { warehouse: { slice_window: '1s', slice_lateness: '2s' } };
const POD = { 'service.name': 'vllm', 'k8s.pod.uid': '7c9e6679-7425-40de-944b-e07fc1f90ae7', 'k8s.node.name': 'gpu-01' };

let space;
let servers;
const daemons = [];

/** The n-th of what both daemons are sent. */
function bodies(n) {
  const time = nowNs();
  return [
    ['metrics', metrics({ 'k8s.node.name': `gpu-${n % 3}` }, [gauge({ name: 'hw.gpu.temperature', points: [0, 1].map((gpu) => ({ value: 50 + (n % 20), time, attributes: { gpu } })) })])],
    ['traces', traces(POD, [join(span({ name: 'llm_request', spanId: Buffer.from(String(n).padStart(8, '0')), start: time, end: time }), attributes(9, { 'gen_ai.request.id': `cmpl-${n}`, 'gen_ai.request.model': 'm', 'gen_ai.usage.output_tokens': n }))])],
    ...(n % 5 === 0 ? [['logs', logs({ 'host.name': `node-${n}` }, [{ body: xid48(), severity: 17 }])]] : []),
  ];
}

const QUESTIONS = {
  slices: 'SELECT metric, node_name, point, window_start, "count", mean, min, max, last FROM telemetry_slice_fact ORDER BY ALL',
  requests: 'SELECT request_id, trace_id, started_at, pod_uid, node_name FROM serving_request_fact ORDER BY ALL',
  verdicts: 'SELECT node_name, pattern, status, headline FROM verdict_fact ORDER BY ALL',
};

async function rowsOf(daemon) {
  const out = {};
  for (const [name, sql] of Object.entries(QUESTIONS)) out[name] = await ask(daemon, sql);
  return out;
}

const counts = (rows) => Object.values(rows).map((list) => list.length).join('/');

describe('ClickHouse stops while telemetry comes in', { skip: noClickHouse }, () => {
  before(async () => {
    space = workspace('outage');
    servers = await startClickHouse(space.top, 2);
  });
  after(async () => {
    for (const daemon of daemons) await daemon.destroy();
    await Promise.all((servers ?? []).map((server) => server.kill()));
    space.remove();
  });

  for (const [name, hosts, stopped, rest] of [['one', 1, 0, ''], ['two', 2, 1, '?cluster=two']]) {
    test(`${hosts === 1 ? 'the server' : 'one of two shards'}: every row is there once`, async (t) => {
      await Promise.all(servers.map((server) => server.sql(`CREATE DATABASE ${name}`)));
      const url = `clickhouse://default@${servers.slice(0, hosts).map((s) => s.address).join(',')}/${name}${rest}`;
      const there = new Daemon(space.file(`there-${name}`), { warehouse: { ...QUICK.warehouse, url } });
      const here = new Daemon(space.file(`here-${name}`), QUICK);
      daemons.push(there, here);
      await Promise.all([there.start(), here.start()]);
      const waits = [];
      let stoppedAt = null;
      let backAt = null;
      let failing = null;
      const begun = Date.now();
      for (let n = 0; backAt === null || Date.now() - backAt < AFTER_MS; n++) {
        const at = Date.now();
        for (const [signal, body] of bodies(n)) {
          const answers = await Promise.all([there, here].map((daemon) => post(daemon.http, signal, body)));
          assert.deepEqual(answers.map((a) => a.status), [200, 200], String(answers[0].body));
        }
        waits.push(Date.now() - at);
        if (stoppedAt === null && at - begun > BEFORE_MS && Number(await servers[0].sql(`SELECT count() FROM ${name}.telemetry_slice`).catch(() => 0)) > 0) {
          await servers[stopped].kill();
          stoppedAt = Date.now();
        } else if (stoppedAt !== null && backAt === null) {
          const { warehouse } = await there.status();
          failing ??= warehouse.error ? warehouse : null;
          // It has to be noticed, which on a busy machine takes its time.
          if ((failing && Date.now() - stoppedAt > OUTAGE_MS) || Date.now() - stoppedAt > OUTAGE_MS + 60000) {
            await servers[stopped].start();
            backAt = Date.now();
          }
        }
        assert.ok(stoppedAt !== null || Date.now() - begun < 60000, 'rows come to ClickHouse');
        await sleep(EVERY_MS);
      }
      assert.ok(Math.max(...waits) < 3000, `a sender waited ${Math.max(...waits)} ms`);
      assert.match(there.log(), /wait for the warehouse/u);
      assert.ok(failing, 'the status says that it waits');
      assert.match(failing.error, /ClickHouse at 127\.0\.0\.1:\d+/u);
      assert.ok(failing.failures > 0 && Date.parse(failing.failing_since) >= begun);
      assert.ok((await there.metrics()).sum('tracecore_warehouse_write_failures_total') > 0);
      await sleep(4000); // the last window
      const want = await rowsOf(here);
      assert.ok(Object.values(want).every((rows) => rows.length > 0), counts(want));
      const got = await until('the rows to be there', async () => {
        const rows = await rowsOf(there).catch(() => null);
        return rows !== null && counts(rows) === counts(want) ? rows : null;
      }, 60000, 500).catch(async (error) => { throw new Error(`${error.message}: ${counts(await rowsOf(there))}, not ${counts(want)}\n${there.log()}`); });
      assert.deepEqual(got, want);
      t.diagnostic(`stopped for ${OUTAGE_MS / 1000} s; slices/requests/verdicts ${counts(want)}; a sender waited ${Math.max(...waits)} ms at most; ${failing.error}`);
      await sleep(3000); // nothing comes a second time
      assert.deepEqual(await rowsOf(there), want);
      const { warehouse } = await there.status();
      assert.equal(warehouse.error, undefined);
      assert.equal((await get(there.api, '/readyz')).status, 200);
      await Promise.all([there.stop(), here.stop()]);
    });
  }
});
