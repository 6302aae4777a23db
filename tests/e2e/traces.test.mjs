// SPDX-License-Identifier: Apache-2.0
// Traces become requests: of the real SDK through the daemon, whatever ends when, and of files of a
// run; with the bytes that prove them, and the same again after a rebuild.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { after, describe, test } from 'node:test';
import { SpanKind } from '@opentelemetry/api';
import { Daemon, binary, workspace } from './support/daemon.mjs';
import { elsewhere } from './support/elsewhere.mjs';
import { attributes, fixed64, int, join, len, request, span, traces } from './support/otlp.mjs';
import { add, tracecore, vllm } from './support/runs.mjs';
import { complaints, sendSpans } from './support/sdk.mjs';
import { ask } from './support/warehouse.mjs';
import { JSON_TYPE, post, until } from './support/wire.mjs';

const space = workspace('traces');
const daemons = [];
after(async () => { for (const daemon of daemons) await daemon.destroy(); space.remove(); });
const QUICK = { warehouse: { slice_window: '1s' } };
const make = (name) => {
  const daemon = new Daemon(space.file(name), QUICK);
  daemons.push(daemon);
  return daemon;
};
const sql = (data, query) => {
  const { status, stdout, stderr } = tracecore(['sql', '--json', '--limit', '0', '--data-dir', data, query]);
  assert.equal(status, 0, stderr);
  return stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
};
const count = async (daemon, where = 'true') => (await ask(daemon, `SELECT count(*) AS n FROM serving_request_fact WHERE ${where}`))[0].n;
const untilRows = (daemon, want, where) => until(`${want} requests`, async () => (await count(daemon, where)) >= want, 30000, 100);

const T0 = 1772600760000; // 2026-03-04T05:06:00Z
// What vLLM's engine sets on a request that is finished (vllm/v1/engine/output_processor.py).
const engine = (id) => ({
  'gen_ai.latency.time_to_first_token': 0.25, 'gen_ai.latency.e2e': 1.75, 'gen_ai.latency.time_in_queue': 0.125,
  'gen_ai.usage.prompt_tokens': 512, 'gen_ai.usage.completion_tokens': 31, 'gen_ai.latency.time_in_model_prefill': 0.125,
  'gen_ai.latency.time_in_model_decode': 1.5, 'gen_ai.latency.time_in_model_inference': 1.625, 'gen_ai.request.id': id,
  'gen_ai.request.temperature': 0.5, 'gen_ai.request.n': 1,
});
const served = (id, more = {}) => ({ name: 'llm_request', options: { kind: SpanKind.SERVER, startTime: T0, attributes: engine(id) }, end: T0 + 1800, ...more });
const asked = (id, more = {}) => ({
  name: 'chat llama', options: { kind: SpanKind.CLIENT, startTime: T0 - 10, attributes: {
    'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'llama', 'gen_ai.response.id': id, 'gen_ai.usage.input_tokens': 512,
    'gen_ai.usage.output_tokens': 31, 'gen_ai.response.finish_reasons': ['stop'] } }, end: T0 + 1990, ...more });
const POD = { 'service.name': 'vllm', 'k8s.pod.name': 'vllm-0', 'k8s.pod.uid': 'uid-1', 'k8s.node.name': 'gpu-07', 'k8s.job.uid': 'job-1' };
const ALL = 'SELECT * EXCLUDE (evidence_batch) FROM serving_request_fact ORDER BY ALL';

describe('spans of the SDK', () => {
  test('are requests with all they say, and their bytes are found', async () => {
    const daemon = await make('sdk').start();
    const results = [
      ...await sendSpans(daemon, 'protobuf', 'gzip', { ...POD, 'tracecore.run.id': 'nightly-1' },
        [asked('cmpl-1'), served('cmpl-1', { isChild: true }), { name: 'GET /metrics', options: { kind: SpanKind.SERVER } }]),
      ...await sendSpans(daemon, 'json', 'none', POD, [served('cmpl-2', { status: { code: 2, message: 'no KV blocks' } })]),
      ...await sendSpans(daemon, 'grpc', 'none', {}, [asked('cmpl-3', { options: { startTime: T0, attributes: { 'gen_ai.operation.name': 'chat', 'error.type': 'AbortError' } } })]),
    ];
    for (const result of results) assert.equal(result.code, 0, String(result.error));
    assert.deepEqual(complaints, []);
    await untilRows(daemon, 4);
    const rows = await ask(daemon, "SELECT * FROM serving_request_fact ORDER BY coalesce(request_id, 'z'), tool DESC");
    assert.equal(rows.length, 4);
    const [server, client, failed, cancelled] = rows;
    assert.match(server.trace_id, /^[0-9a-f]{32}$/u);
    assert.equal(server.trace_id, client.trace_id, 'two views of one request');
    assert.deepEqual([server.tool, client.tool], ['otlp:vllm', 'otlp:gen_ai_client']);
    assert.deepEqual([server.run_id, server.run_join, server.pod_name, server.pod_uid, server.node_name, server.job_uid, server.status, server.error],
      ['nightly-1', 'identity', 'vllm-0', 'uid-1', 'gpu-07', 'job-1', 'ok', null]);
    assert.deepEqual([server.queue_ms, server.ttft_ms, server.tpot_ms, server.e2e_ms, server.input_tokens, server.output_tokens], [125, 250, 50, 1750, 512, 31]);
    assert.deepEqual([client.queue_ms, client.ttft_ms, client.e2e_ms, client.input_tokens, client.output_tokens], [null, null, 2000, 512, 31]);
    assert.deepEqual([failed.run_id, failed.status, failed.error], [null, 'error', 'no KV blocks']);
    assert.deepEqual([cancelled.status, cancelled.error, cancelled.pod_name], ['cancelled', 'AbortError', null]);
    const [times] = await ask(daemon, `SELECT epoch_ms(started_at) AS a, epoch_ms(first_token_at) AS b, epoch_ms(ended_at) AS c
      FROM serving_request_fact WHERE run_id = 'nightly-1' AND tool = 'otlp:vllm'`);
    assert.deepEqual([times.a, times.b, times.c], [T0, T0 + 250, T0 + 1800]);
    // The place leads to the bytes: those of the span.
    const [, at] = /^at:(\d+,\d+)$/u.exec(failed.source_pointer);
    const cat = spawnSync(binary, ['evidence', 'cat', failed.source_digest, '--at', at, '--data-dir', daemon.dataDir], { encoding: 'utf8' });
    assert.equal(cat.status, 0, cat.stderr);
    const bytes = JSON.parse(cat.stdout);
    assert.equal(bytes.name, 'llm_request');
    assert.equal(bytes.traceId, failed.trace_id);
    const metrics = await daemon.metrics();
    assert.equal(metrics.sum('tracecore_warehouse_rows_written_total', { table: 'serving_request_fact' }), 4);
    assert.equal(metrics.sum('tracecore_warehouse_spans_other_total'), 1);
    await daemon.stop();
  });
  test('are there once after kill -9 at any moment, a batch that is sent again too, and after a rebuild', async () => {
    const daemon = make('killed');
    const body = (n) => traces(POD, [join(span({ name: 'llm_request' }), attributes(9, engine(`cmpl-${n}`)))]);
    let n = 0;
    for (let round = 0; round < 3; round++) {
      await daemon.start();
      for (let i = 0; i < 20; i++, n++) {
        const bytes = body(n);
        for (let sent = 0; sent < (i % 4 === 0 ? 2 : 1); sent++) assert.equal((await post(daemon.http, 'traces', bytes)).status, 200);
      }
      if (round > 0) await untilRows(daemon, round * 20); // those of the round before, at least
      await daemon.kill();
    }
    await daemon.start();
    await untilRows(daemon, n);
    assert.deepEqual(await ask(daemon, 'SELECT count(*) AS n, count(DISTINCT request_id) AS ids FROM serving_request_fact'), [{ n, ids: n }]);
    await daemon.stop();
    const before = sql(daemon.dataDir, ALL);
    assert.equal(before.length, n);
    if (elsewhere) return; // What is in ClickHouse is not rebuilt.
    const done = tracecore(['rebuild', '--json', '--data-dir', daemon.dataDir]);
    assert.equal(done.status, 0, done.stdout + done.stderr);
    assert.deepEqual(sql(daemon.dataDir, ALL), before);
  });
});

describe('hostile spans', () => {
  test('are refused or become rows without what cannot be', async () => {
    const daemon = await make('hostile').start();
    const chat = attributes(9, { 'gen_ai.operation.name': 'chat' });
    const times = (start, end) => join(len(5, 'x'), fixed64(7, start), fixed64(8, end), chat);
    const many = Object.fromEntries(Array.from({ length: 10000 }, (_, i) => [`a${i}`, 1]));
    let deep = 'end';
    for (let i = 0; i < 60; i++) deep = [deep];
    assert.equal((await post(daemon.http, 'traces', traces({}, [join(len(1, Buffer.alloc(5)), chat)]))).status, 400, 'an id of five bytes');
    assert.equal((await post(daemon.http, 'traces', '{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"abc"}]}]}]}', { 'content-type': JSON_TYPE })).status, 400);
    const good = [
      traces({}, [join(times(0, 0), attributes(9, many)), join(times(1, 2), attributes(9, { 'gen_ai.request.id': 'after' }))]), // too many: that one is left out
      traces({}, [times(16725225600000000000n, 16725225600000000000n)]), // the year 2500
      traces({}, [times(2000000000n, 1000000000n)]), // it ends before it begins
      traces({}, [join(times(1, 2), attributes(9, { deep, 'gen_ai.usage.input_tokens': -5, 'gen_ai.latency.e2e': 1e300, 'gen_ai.request.id': 'x'.repeat(100000), 'error.type': 'bad\u0000\n\u001b[31m'.repeat(200) }))]),
      request('traces', {}, [join(times(1, 2), int(6, 99))]),
    ];
    for (const body of good) assert.equal((await post(daemon.http, 'traces', body)).status, 200);
    await untilRows(daemon, 5);
    const rows = await ask(daemon, 'SELECT * FROM serving_request_fact ORDER BY evidence_batch');
    assert.equal(rows.length, 5);
    assert.equal(rows[0].request_id, 'after');
    assert.deepEqual([rows[1].started_at, rows[1].ended_at, rows[1].e2e_ms], [null, null, null]);
    assert.deepEqual([rows[2].ended_at, rows[2].e2e_ms], [null, null]);
    assert.deepEqual([rows[3].input_tokens, rows[3].status], [null, 'error']);
    assert.match(rows[3].request_id, /^sha256:/u, 'a text that is no id is kept as its digest');
    assert.ok(rows[3].error.length <= 512 && !/[\u0000-\u001f]/u.test(rows[3].error));
    assert.equal(rows[4].tool, 'otlp:gen_ai_client');
    await daemon.stop();
  });
});

describe('files of a run', () => {
  const anyValue = (v) => (typeof v === 'string' ? { stringValue: v } : Number.isInteger(v) ? { intValue: String(v) } : { doubleValue: v });
  const pairs = (object) => Object.entries(object).map(([key, v]) => ({ key, value: anyValue(v) }));
  const line = (id, resource = POD) => JSON.stringify({ resourceSpans: [{ resource: { attributes: pairs(resource) }, scopeSpans: [{ scope: {}, spans: [{
    traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', name: 'llm_request', kind: 2,
    startTimeUnixNano: `${T0}000000`, endTimeUnixNano: `${T0 + 1800}000000`, attributes: pairs(engine(id)), status: {} }] }] }] });
  const METRICS = JSON.stringify({ resourceMetrics: [{ resource: {}, scopeMetrics: [{ metrics: [{ name: 'queue', gauge: { dataPoints: [{ timeUnixNano: `${T0}000000`, asDouble: 3 }] } }] }] }] });
  const file = (name, content) => {
    const full = space.file(name);
    fs.writeFileSync(full, content);
    return full;
  };
  const result = () => file('r.json', JSON.stringify(vllm()));
  test('become requests of that run, beside the slices of the same file, and again in a rebuild', () => {
    const data = space.file('given');
    const spans = file('spans.jsonl', `${line('cmpl-1')}\n${METRICS}\n{"resourceSpans":[{"torn\n${line('cmpl-2', { ...POD, run_id: 'nightly-2' })}\n${line('cmpl-3', { run_id: 'other' })}\n`);
    const added = add(data, ['--run-id', 'nightly-2', '--result', result(), '--telemetry', spans]);
    assert.equal(added.status, 0, added.stderr);
    assert.match(added.stderr + JSON.stringify(added.answer), /1 requests belong to run other/u);
    const rows = sql(data, "SELECT * FROM serving_request_fact WHERE tool = 'otlp:vllm' ORDER BY request_id");
    assert.deepEqual(rows.map((r) => [r.request_id, r.run_id, r.run_join, r.pod_name, r.evidence_batch]),
      [['cmpl-1', 'nightly-2', 'given', 'vllm-0', null], ['cmpl-2', 'nightly-2', 'identity', 'vllm-0', null]]);
    assert.equal(sql(data, "SELECT count(*) AS n FROM telemetry_slice_fact WHERE metric = 'queue'")[0].n, 1);
    const [, at] = /^at:(\d+,\d+)$/u.exec(rows[1].source_pointer);
    const cat = tracecore(['evidence', 'cat', rows[1].source_digest, '--at', at, '--data-dir', data]);
    assert.equal(cat.status, 0, cat.stderr);
    assert.equal(JSON.parse(cat.stdout).attributes.find((a) => a.key === 'gen_ai.request.id').value.stringValue, 'cmpl-2');
    if (elsewhere) return;
    const before = sql(data, ALL);
    const done = tracecore(['rebuild', '--json', '--data-dir', data]);
    assert.equal(done.status, 0, done.stdout + done.stderr);
    assert.deepEqual(sql(data, ALL), before);
  });
  test('in protobuf too; one without a request says so', () => {
    const data = space.file('protobuf');
    const pb = file('spans.pb', traces(POD, [join(span({ name: 'llm_request' }), attributes(9, engine('cmpl-1')))]));
    const added = add(data, ['--result', result(), '--telemetry', pb]);
    assert.equal(added.status, 0, added.stderr);
    assert.equal(sql(data, "SELECT count(*) AS n FROM serving_request_fact WHERE tool = 'otlp:vllm' AND run_join = 'given'")[0].n, 1);
    const none = tracecore(['run', 'add', '--data-dir', data, '--result', result(), '--telemetry', file('none.pb', traces(POD, [span({ name: 'GET /' })]))]);
    assert.notEqual(none.status, 0);
    assert.match(none.stderr + none.stdout, /none of its 1 spans is a request to a language model; docs\/otlp\.md/u);
  });
});
