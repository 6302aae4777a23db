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
        ...(night === 'tuesday' && n === 1 ? ['--verdicts', verdicts] : [])]);
      assert.equal(status, 0, stderr);
    }
  }
});
after(async () => {
  await closeAll();
  room.remove();
});

const request = (id, method, params) => ({ jsonrpc: '2.0', id, method, ...(params && { params }) });
const META = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };

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
  const { call } = await toolbox(client);
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
  const text = JSON.stringify(there);
  assert.match(text, /nvlink_crc_flit_errors/u);
  assert.match(text, /gpu-12/u);
  // Why?
  const { answer } = await call('diagnose_run', { run: suspect, against: 'monday' });
  assert.equal(answer.cause, 'nvlink');
  assert.equal(answer.scope.node, 'gpu-12');
  // Prove it: the verdict of the incident cites bytes, and they say it.
  const asked = await call('query_warehouse', { sql: `SELECT incident_id, verdict_json FROM verdict_fact WHERE run_id = '${suspect}'` });
  assert.ok(text.includes(asked.rows[0][0]), 'the pivot names the incident');
  const { raw } = JSON.parse(asked.rows[0][1]).evidence_trail.find((item) => item.kind === 'xid');
  const proof = await call('get_evidence', { digest: raw.digest, at: `${raw.offset},${raw.length}` });
  assert.match(proof.lines.map((line) => line.cited).join(''), /NVRM: Xid .*: 74,/u);
  await client.close();
});
