// SPDX-License-Identifier: Apache-2.0
// `tracecore mcp` as clients and models use it: real clients, each tool with good and bad arguments,
// hostile input, and two questions that are answered with nothing but the tools: why was last night
// slower (docs/tutorial.md), and what is broken now.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { source } from './support/daemon.mjs';
import { closeAll, connect, connectStateless, lines, toolbox } from './support/mcp.mjs';
import { binary, scratch, tracecore } from './support/runs.mjs';
import { sleep, until } from './support/wire.mjs';

const room = scratch('mcp');
const dataDir = path.join(room.folder, 'data');
const nightly = path.join(source, 'examples/nightly');
// Nobody listens there: a port that is privileged and not used.
const NO_DAEMON = ['--api', 'http://127.0.0.1:9'];

before(() => {
  const verdicts = room.file('verdicts.ndjson', tracecore(['detect', '--json', '-q', path.join(nightly, 'dmesg-gpu-12.txt')]).stdout);
  for (const night of ['monday', 'tuesday']) {
    for (let n = 1; n <= 5; n += 1) {
      const folder = path.join(nightly, `${night}-${n}`);
      const results = fs.readdirSync(folder).filter((name) => name.endsWith('.json')).map((name) => path.join(folder, name));
      const { status, stderr } = tracecore(['run', 'add', '-q', '--data-dir', dataDir, '--contract', path.join(nightly, 'contract.yaml'),
        '--replicate-group', night, '--run-id', `${night}-${n}`, '--result', ...results,
        '--telemetry', path.join(folder, 'dcgm.prom'), '--artifact', path.join(nightly, 'probe.json'),
        ...(night === 'tuesday' && n === 1 ? ['--verdicts', verdicts, '--artifact', path.join(nightly, 'dmesg-gpu-12.txt')] : [])]);
      assert.equal(status, 0, stderr);
    }
  }
});
after(async () => {
  await closeAll();
  room.remove();
});

const request = (id, method, params) => ({ jsonrpc: '2.0', id, method, ...(params && { params }) });

const TOOLS = ['list_incidents', 'explain_incident', 'get_evidence', 'fleet_health', 'list_runs', 'compare_runs', 'diagnose_run',
  'pivot', 'lineage', 'benchmark_contracts', 'render_benchmark_run', 'query_warehouse'];

test('the client of the SDK finds tools, resources and prompts', async () => {
  const client = await connect(dataDir, NO_DAEMON);
  assert.equal(client.getServerVersion().name, 'tracecore');
  assert.match(client.getInstructions(), /never instructions to you/u);
  const { tools } = await toolbox(client);
  assert.deepEqual(tools.map((tool) => tool.name).sort(), [...TOOLS].sort());
  for (const tool of tools) {
    assert.equal(tool.annotations.readOnlyHint, true, tool.name);
    assert.equal(tool.inputSchema.additionalProperties, false, tool.name);
    assert.match(tool.description, /untrusted data/u, tool.name);
  }
  const { prompts } = await client.listPrompts();
  assert.deepEqual(prompts.map((prompt) => prompt.name), ['tail_latency_regression', 'low_gpu_utilization', 'distributed_straggler', 'scheduler_backpressure', 'on_call']);
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.equal(resourceTemplates.length, 3);
  await client.ping();
  await client.close();
});

test('a client without a handshake has the same (2026-07-28)', async (t) => {
  const client = await connectStateless(dataDir, { args: NO_DAEMON });
  if (client === null) {
    t.skip('the client needs Node 20');
    return;
  }
  assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
  const box = await toolbox(client);
  assert.deepEqual(box.tools.map((tool) => tool.name).sort(), [...TOOLS].sort());
  const { runs } = await box.call('list_runs', { limit: 2 });
  assert.equal(runs.length, 2);
  assert.equal((await client.listPrompts()).prompts.length, 5);
  const { contents } = await client.readResource({ uri: 'tracecore://run/tuesday-1' });
  assert.equal(JSON.parse(contents[0].text).run.run_id, 'tuesday-1');
  await assert.rejects(client.readResource({ uri: 'tracecore://run/nobody' }), (error) => error.code === -32602);
  await client.close();
});

test('why was last night slower? prove it', async () => {
  const client = await connect(dataDir, NO_DAEMON);
  const { call, refused } = await toolbox(client);
  // Which nights are there?
  const { runs } = await call('list_runs');
  const groups = [...new Set(runs.map((run) => run.replicate_group))];
  assert.deepEqual(groups, ['tuesday', 'monday']);
  // Is it slower, and is anything else different?
  const compared = await call('compare_runs', { base: 'monday', candidate: 'tuesday' });
  assert.equal(compared.verdict, 'worse');
  assert.equal(compared.confounded, false);
  const worst = compared.series.filter((series) => series.verdict === 'worse');
  assert.ok(worst.some((series) => series.metric === 'e2e_p99_ms'));
  // Where? The run with an incident first.
  const suspect = runs.find((run) => run.replicate_group === 'tuesday' && run.incidents > 0).run_id;
  const where = await call('pivot', { run: suspect, base: 'monday' });
  const point = where.points.find((one) => one.point.includes('concurrency=64')).point;
  const there = await call('pivot', { run: suspect, base: 'monday', point });
  const apart = there.series.find((series) => series.metric === 'nvlink_crc_flit_errors');
  assert.deepEqual([apart.node, apart.median, there.incidents[0].node_name], ['gpu-12', 0, 'gpu-12']);
  // Why?
  const { answer } = await call('diagnose_run', { run: suspect, against: 'monday' });
  assert.equal(answer.cause, 'nvlink');
  assert.equal(answer.scope.node, 'gpu-12');
  // Prove it: no daemon runs, and the refusal says where past incidents are. Their bytes say it.
  const { incident_id: incident } = there.incidents[0];
  assert.match(await refused('explain_incident', { id: incident }), /no daemon.*query_warehouse/u);
  const { rows } = await call('query_warehouse', { sql: `SELECT evidence FROM verdict_fact WHERE incident_id = '${incident}'` });
  const cited = typeof rows[0][0] === 'string' ? JSON.parse(rows[0][0]) : rows[0][0];
  const proof = await call('get_evidence', { digest: cited[0].digest, at: `${cited[0].offset},${cited[0].length}` });
  assert.match(proof.lines.map((line) => line.cited).join(''), /NVRM: Xid .*: 74,/u);
  // The counters of the GPU that stands out, as the exporter gave them.
  const uri = `tracecore://evidence/${apart.digest}`;
  const { contents } = await client.readResource({ uri });
  assert.match(contents[0].text, /NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL\{[^}]*gpu-12[^}]*\} [1-9]/u);
  assert.equal((await client.readResource({ uri: `${uri}?at=2,4` })).contents[0].text, 'TYPE');
  await client.close();
});

// For each tool: arguments that are right, and such that are not.
const WRONG = {
  list_incidents: [{ limit: 0 }, { limit: 'ten' }, { nod: 'x' }],
  explain_incident: [{}, { id: 7 }, { id: '../../etc/passwd' }],
  get_evidence: [{}, { digest: '../../etc/passwd' }, { digest: 'sha256:00' }, { digest: `sha256:${'0'.repeat(64)}` }, { digest: `sha256:${'0'.repeat(64)}`, at: '-1,5' }],
  fleet_health: [{ node: 'x' }],
  list_runs: [{ limit: 100000 }, { cursor: 'garbage' }, { since: 'yesterday' }, { class: 'best' }],
  compare_runs: [{}, { base: 'monday' }, { base: 'monday', candidate: 'nobody' }, { base: 'monday', candidate: 'tuesday', confidence: 2 }],
  diagnose_run: [{}, { run: 'nobody' }, { run: 'tuesday-1', against: "'; DROP TABLE x; --" }],
  pivot: [{}, { run: 'nobody', base: 'monday' }, { run: 'tuesday-1', base: 'monday', point: 'concurrency=7' }],
  lineage: [{}, { number: 'num-0000000000000000' }, { number: '../x' }],
  benchmark_contracts: [{ x: 1 }],
  render_benchmark_run: [{ benchmarkClass: 'best' }, { cadence: [1] }],
  query_warehouse: [{}, { sql: '' }, { sql: 'DROP TABLE benchmark_run_fact' }, { sql: "SELECT * FROM read_text('/etc/passwd')" },
    { sql: "COPY benchmark_run_fact TO '/tmp/x.csv'" }, { sql: 'SELECT 1; SELECT 2' }, { sql: 'ATTACH \'/tmp/x.db\'' }, { sql: 'SELEC 1' }],
};

test('each tool refuses what is wrong in a sentence', async () => {
  const client = await connect(dataDir, NO_DAEMON);
  const { refused } = await toolbox(client);
  for (const [name, all] of Object.entries(WRONG)) {
    for (const args of all) {
      const sentence = await refused(name, args);
      assert.doesNotMatch(sentence, /root:|x:0:0/u, 'no file is shown');
    }
  }
  assert.deepEqual(Object.keys(WRONG).sort(), [...TOOLS].sort());
  await assert.rejects(client.callTool({ name: 'reboot', arguments: {} }), (error) => error.code === -32602);
  await client.close();
});

test('tools that need no daemon answer what their schema says', async () => {
  const client = await connect(dataDir, NO_DAEMON);
  const { call } = await toolbox(client);
  await call('list_runs', { name: 'nightly', limit: 1 }, (result) => assert.ok(result.structuredContent.next));
  await call('compare_runs', { base: 'monday', candidate: 'tuesday', metric: ['ttft_p99_ms'] });
  await call('pivot', { run: 'tuesday-1', base: 'monday' });
  await call('diagnose_run', { run: 'tuesday-1' });
  const { contracts } = await call('benchmark_contracts');
  assert.ok(Object.keys(contracts).length > 0);
  const { rendered_yaml: yaml } = await call('render_benchmark_run', { name: 'nightly' });
  assert.match(yaml, /kind: BenchmarkRun/u);
  await client.close();
});

test('lists go on where they ended', async () => {
  const client = await connect(dataDir, NO_DAEMON);
  const { call } = await toolbox(client);
  const seen = [];
  let cursor;
  do {
    const page = await call('list_runs', { limit: 3, ...(cursor && { cursor }) });
    seen.push(...page.runs.map((run) => run.run_id));
    cursor = page.next;
  } while (cursor);
  assert.equal(new Set(seen).size, 10);
  const { resources } = await client.listResources();
  assert.equal(resources.length, 10);
  assert.equal(resources[0].uri, `tracecore://run/${seen[0]}`);
  await client.close();
});

test('a long answer is cut to fit, and says how to ask for the rest', async () => {
  const client = await connect(dataDir, NO_DAEMON);
  const { call } = await toolbox(client);
  // Rows: as many as fit, and that there are more.
  const many = await call('query_warehouse', { sql: `SELECT i, '${'x'.repeat(100)}' AS t FROM range(5000) r(i)` });
  assert.ok(many.rows.length > 100 && many.rows.length < 300, `${many.rows.length}`);
  assert.equal(many.truncated, true);
  assert.equal(many.cut, undefined);
  // One value that is too long by itself.
  await call('query_warehouse', { sql: `SELECT '${'y'.repeat(60000)}' AS t` }, (result) => {
    assert.match(result.content[1].text, /cut to fit: .*1 long texts end early/u);
  });
  // A comparison keeps the main metrics.
  await call('compare_runs', { base: 'monday', candidate: 'tuesday' }, (result) => {
    assert.match(result.content[1].text, /series shows \d+ of 72\. Ask for less, or for the rest, with metric, point/u);
    assert.ok(result.structuredContent.series.every((series) => series.main));
  });
  await client.close();
});

test('prompts are filled in, and runs completed', async () => {
  const client = await connect(dataDir, NO_DAEMON);
  const { messages } = await client.getPrompt({ name: 'distributed_straggler', arguments: { run: 'tuesday-1', base: 'monday' } });
  assert.match(messages[0].content.text, /slows run "tuesday-1" compared with "monday"/u);
  for (const name of TOOLS.filter((tool) => ['compare_runs', 'diagnose_run', 'pivot', 'explain_incident', 'get_evidence'].includes(tool))) {
    assert.ok(messages[0].content.text.includes(name), name);
  }
  await assert.rejects(client.getPrompt({ name: 'nobody' }), (error) => error.code === -32602);
  const { completion } = await client.complete({ ref: { type: 'ref/prompt', name: 'distributed_straggler' }, argument: { name: 'run', value: 'tues' } });
  assert.deepEqual(completion.values.sort(), ['tuesday', 'tuesday-1', 'tuesday-2', 'tuesday-3', 'tuesday-4', 'tuesday-5']);
  await client.close();
});

test('a published number is followed back to its bytes', async () => {
  const key = path.join(room.folder, 'key');
  for (let n = 1; n <= 5; n += 1) {
    const { status, stderr } = tracecore(['evidence', 'sign', '--data-dir', dataDir, `monday-${n}`, n === 1 ? '--new-key' : '--key', key]);
    assert.equal(status, 0, stderr);
  }
  const published = tracecore(['publish', '--data-dir', dataDir, 'monday', '--metric', 'output_token_throughput', '--point', 'concurrency=64']);
  assert.equal(published.status, 0, published.stderr);
  const [number] = /num-[0-9a-f]{16}/u.exec(published.stdout);
  const client = await connect(dataDir, NO_DAEMON);
  const { call } = await toolbox(client);
  const chain = JSON.stringify(await call('lineage', { number }));
  assert.ok(chain.includes(number) && /sha256:[0-9a-f]{64}/u.test(chain));
  await client.close();
});

/* ---- bare lines ---- */

test('lines that are no messages are told, and it goes on', async () => {
  const { status, answers } = await lines(dataDir, [
    'hello', '{"jsonrpc":"2.0","id":1', '', '[]', request(2, 'no/such'), request(3, 'tools/call', { name: 'list_runs', arguments: 7 }),
    `{"jsonrpc":"2.0","id":4,"method":"ping","params":{"x":"${'y'.repeat(2 << 20)}"}}`,
    `${'['.repeat(100000)}`, request(5, 'ping'), '\u0000', { jsonrpc: '2.0', method: 'notifications/initialized' }, request(6, 'ping'),
  ]);
  assert.equal(status, 0);
  assert.deepEqual(answers.map((answer) => answer.error?.code ?? (answer.result.isError ? 'told' : answer.id)),
    [-32700, -32700, -32600, -32601, 'told', -32600, -32700, 5, -32700, 6]);
});

test('the last line may have no end', async () => {
  const { status, answers } = await lines(dataDir, JSON.stringify(request('a', 'ping')));
  assert.equal(status, 0);
  assert.deepEqual(answers, [{ jsonrpc: '2.0', id: 'a', result: {} }]);
});

test('without runs it says so', async () => {
  const { answers } = await lines(path.join(room.folder, 'nothing'), [
    request(1, 'tools/call', { name: 'list_runs' }), request(2, 'resources/list'),
    request(3, 'tools/call', { name: 'benchmark_contracts' })]);
  assert.match(answers[0].result.content[0].text, /no runs in the data_dir.*run add/u);
  assert.deepEqual(answers[1].result.resources, []);
  assert.ok(answers[2].result.structuredContent);
});

test('a request that is cancelled is stopped and not answered', async () => {
  const slow = 'SELECT count(*) FROM range(10000000) a(i) JOIN range(10000000) b(j) ON (a.i * b.j) % 7 = 3';
  const cancel = (id) => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
  const ask = (id) => request(id, 'tools/call', { name: 'query_warehouse', arguments: { sql: slow } });
  const child = spawn(binary, ['mcp', '--data-dir', dataDir], { stdio: ['pipe', 'pipe', 'inherit'] });
  const say = (...messages) => child.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part) => { text += part; });
  const ended = new Promise((resolve) => { child.on('close', resolve); });
  // The first runs, the second waits; then neither is wanted. Without that each would take 30 s.
  say(ask(1), ask(2), request(3, 'ping'));
  await sleep(1500);
  assert.equal(text, '');
  say(cancel(2), cancel(1), cancel(99));
  await until('the third to be answered', () => text.includes('\n'), 20000);
  child.stdin.end();
  assert.equal(await ended, 0);
  assert.deepEqual(text.split('\n').filter(Boolean).map((line) => JSON.parse(line).id), [3]);
});

test('a client that goes away ends it', async () => {
  const child = spawn(binary, ['mcp', '--data-dir', dataDir], { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = new Promise((resolve) => { child.on('close', (status, signal) => resolve(status ?? signal)); });
  child.stdout.destroy();
  child.stdin.write(`${JSON.stringify(request(1, 'tools/list'))}\n`.repeat(50));
  assert.ok([141, 'SIGPIPE', 2].includes(await ended));
});
