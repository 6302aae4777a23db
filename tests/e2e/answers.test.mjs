// SPDX-License-Identifier: Apache-2.0
// One table of questions: what a command prints with --json and what the HTTP API answers are the same bytes, and the
// answers are what openapi.json says they are.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import zlib from 'node:zlib';
import { Daemon, workspace } from './support/daemon.mjs';
import { add, tracecore } from './support/runs.mjs';
import { call, get } from './support/wire.mjs';

const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const examples = path.join(source, 'examples/benchmark');
const space = workspace('answers');
let daemon;
let openapi;

before(async () => {
  daemon = new Daemon(space.file('daemon'), {});
  for (const side of ['base', 'candidate']) {
    for (const n of [1, 2, 3]) {
      const files = ['vllm-c16.json', 'vllm-c64.json'].map((name) => path.join(examples, `${side}-${n}`, name));
      const { status, stderr } = add(daemon.dataDir, ['--name', side, '--replicate-group', side, '--run-id', `${side}-${n}`, '--result', ...files]);
      assert.equal(status, 0, stderr);
    }
  }
  await daemon.start();
  openapi = JSON.parse((await get(daemon.api, '/api/v1/openapi.json')).body);
});
after(async () => { await daemon.destroy(); space.remove(); });

const query = (params) => new URLSearchParams(params).toString();
const ask = async (where, params = {}) => {
  const answer = await get(daemon.api, `${where}?${query(params)}`);
  assert.equal(answer.status, 200, `${where}: ${answer.body}`);
  return answer.body.toString('utf8');
};
const post = (where, body) => call(daemon.api, 'POST', where, { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
const printed = (...args) => {
  const result = tracecore([...args, '--data-dir', daemon.dataDir]);
  assert.ok(result.status === 0 || result.status === 1, `${args.join(' ')}: ${result.stderr}`);
  return result.stdout;
};

test('the copy of the description is the one that is served', () => {
  assert.deepEqual(JSON.parse(fs.readFileSync(path.join(source, 'schemas/openapi.json'), 'utf8')), openapi);
});

test('commands and the API give the same bytes', async () => {
  const against = { base: 'base', candidate: 'candidate' };
  assert.equal(await ask('/api/v1/compare', against), printed('compare', 'base', 'candidate', '--json'));
  assert.equal(await ask('/api/v1/compare', { ...against, metric: 'ttft', point: 'concurrency=64', confidence: '0.9' }),
    printed('compare', 'base', 'candidate', '--json', '--metric', 'ttft', '--point', 'concurrency=64', '--confidence', '0.9'));
  const none = tracecore(['trend', 'ttft_p99_ms', '--runs', 'base', '--json', '--data-dir', daemon.dataDir]);
  assert.equal(none.status, 2); // three runs are no history
  assert.equal(await ask('/api/v1/trend', { metric: 'ttft_p99_ms', runs: 'base' }), none.stdout);
  assert.equal(await ask('/api/v1/runs/candidate-1'), printed('run', 'show', 'candidate-1', '--json'));
  assert.equal(await ask('/api/v1/runs/candidate-1/pivot', { base: 'base' }), printed('run', 'show', 'candidate-1', '--slower-than', 'base', '--json'));
  assert.equal(await ask('/api/v1/runs/candidate-1/pivot', { base: 'base', point: '1' }),
    printed('run', 'show', 'candidate-1', '--slower-than', 'base', '--point', '1', '--json'));
  assert.equal(await ask('/api/v1/report', { runs: 'candidate', base: 'base', format: 'markdown', for: 'product' }),
    printed('report', 'base', 'candidate', '--for', 'product'));
});

test('a diagnosis is the same, also where it finds nothing', async () => {
  const result = tracecore(['diagnose', 'candidate-1', '--against', 'base', '--json', '--data-dir', daemon.dataDir]);
  assert.equal(await ask('/api/v1/runs/candidate-1/diagnose', { against: 'base' }), result.stdout);
});

test('lists have the rows that commands print line by line', async () => {
  const rows = printed('run', 'list', '--json', '--limit', '0').split('\n').filter(Boolean);
  const all = JSON.parse(await ask('/api/v1/runs'));
  assert.deepEqual(all.runs, rows.map((line) => JSON.parse(line)));
  assert.equal(all.next, null);
  const tables = printed('sql', '--describe', '--json').split('\n').filter(Boolean).map((line) => JSON.parse(line));
  assert.deepEqual(JSON.parse(await ask('/api/v1/tables')).tables, tables);
});

test('SQL gives the values that the command prints', async () => {
  const sql = 'SELECT run_id, name, started_at, publishable, tools FROM benchmark_run_fact ORDER BY run_id';
  const answer = await post('/api/v1/sql', { sql });
  assert.equal(answer.status, 200, answer.body.toString());
  const { columns, rows, truncated } = JSON.parse(answer.body);
  const objects = printed('sql', '--json', sql).split('\n').filter(Boolean).map((line) => JSON.parse(line));
  assert.deepEqual(rows.map((row) => Object.fromEntries(row.map((value, n) => [columns[n].name, value]))), objects);
  assert.equal(truncated, false);
  for (const wrong of ['DROP TABLE benchmark_run_fact', "SELECT * FROM read_text('/etc/passwd')", 'SELECT 1; SELECT 2']) {
    assert.equal((await post('/api/v1/sql', { sql: wrong })).status, 400, wrong);
  }
});

test('a number is published over HTTP, and its chain is the one that the command follows', async () => {
  const wanted = { group: 'candidate', metric: 'ttft_p99_ms', point: 'concurrency=64', unstable: 'a test' };
  const answer = await post('/api/v1/publish', wanted);
  assert.equal(answer.status, 200, answer.body.toString());
  const { number_id: id, published } = JSON.parse(answer.body);
  assert.equal(published, true);
  assert.match(daemon.log(), /msg="?audit"? action="?publish"? by="no token" result="?done"?/u);
  assert.equal(await ask(`/api/v1/numbers/${id}/lineage`), printed('lineage', id, '--json'));
  const listed = printed('publish', 'list', '--json').split('\n').filter(Boolean).map((line) => JSON.parse(line));
  assert.deepEqual(JSON.parse(await ask('/api/v1/numbers')).numbers, listed);
});

test('evidence is given as it was stored, and quoted', async () => {
  const file = path.join(examples, 'candidate-1/vllm-c64.json');
  const run = JSON.parse(await ask('/api/v1/runs/candidate-1'));
  const { digest } = run.lineage.raw_uris.find((one) => one.name.endsWith('vllm-c64.json'));
  const bytes = await get(daemon.api, `/api/v1/evidence/${digest}`);
  assert.deepEqual(bytes.body, fs.readFileSync(file));
  const text = fs.readFileSync(file, 'utf8');
  const at = text.indexOf('p99_ttft_ms');
  const part = await get(daemon.api, `/api/v1/evidence/${digest}?at=${at},11`);
  assert.equal(part.body.toString(), 'p99_ttft_ms');
  const view = JSON.parse(await ask(`/api/v1/evidence/${digest}/view`, { at: `${at},11` }));
  assert.equal(view.lines.map((line) => line.cited).join(''), 'p99_ttft_ms');
  assert.equal(view.kind, 'text');
});

test('a contract is rendered as the command renders it', async () => {
  const answer = JSON.parse((await post('/api/benchmark/contracts/render-run', { name: 'mine', workloadType: 'training' })).body);
  const command = JSON.parse(tracecore(['contract', 'init', '--json', '--name', 'mine', '--workload-type', 'training']).stdout);
  for (const one of [answer, command]) delete one.generated_at_utc;
  assert.deepEqual(answer, command);
});

test('the contracts are listed as the command lists them', async () => {
  const answer = JSON.parse(await ask('/api/benchmark/contracts'));
  const command = JSON.parse(tracecore(['contract', 'list', '--json']).stdout);
  for (const one of [answer, command]) delete one.generated_at_utc;
  assert.deepEqual(answer, command);
  const lines = tracecore(['contract', 'list']).stdout.trimEnd().split('\n');
  assert.deepEqual(lines.map((line) => line.split(' ')[0]), answer.surface_order);
  assert.equal(tracecore(['contract', 'list', 'x']).status, 2);
  assert.equal(tracecore(['contract', 'list', '--strict']).status, 2);
});

test('answers have the members that the description says', async () => {
  const asked = {
    '/api/v1/runs': {}, '/api/v1/runs/{run}': { run: 'base-1' }, '/api/v1/compare': { base: 'base', candidate: 'candidate' },
    '/api/v1/runs/{run}/points': { run: 'base' }, '/api/v1/runs/{run}/series': { run: 'base-1', metric: 'x' }, '/api/v1/verdicts': {},
    '/api/v1/fleet/nodes/{node}/history': { node: 'n1' }, '/api/v1/tables': {}, '/api/benchmark/contracts': {}, '/api/v1/numbers': {},
  };
  for (const [where, params] of Object.entries(asked)) {
    const rest = { ...params };
    const filled = where.replace(/\{(\w+)\}/gu, (_, name) => { const value = rest[name]; delete rest[name]; return value; });
    const answer = JSON.parse(await ask(filled, rest));
    const { schema } = openapi.paths[where].get.responses['200'].content['application/json'];
    assert.deepEqual(Object.keys(answer).filter((key) => !schema.properties[key]), [], where);
    assert.deepEqual(schema.required.filter((key) => !(key in answer)), [], where);
  }
});

const keptCount = async () => {
  const page = (await get(daemon.api, '/metrics')).body.toString();
  return Number(/^tracecore_api_answers_kept_total (\d+)$/mu.exec(page)[1]);
};

test('an answer is kept, and what a command writes is in the next one', async () => {
  const listed = () => get(daemon.api, '/api/v1/runs?limit=77');
  const first = await listed();
  const before_ = await keptCount();
  const again = await listed();
  assert.equal(await keptCount(), before_ + 1);
  assert.deepEqual(again.body, first.body);
  assert.match(again.headers.age, /^\d+$/u);
  assert.equal(first.headers.age, undefined);
  const files = ['vllm-c16.json', 'vllm-c64.json'].map((name) => path.join(examples, 'base-1', name));
  const { status, stderr } = add(daemon.dataDir, ['--name', 'later', '--run-id', 'later-1', '--result', ...files]);
  assert.equal(status, 0, stderr);
  const runs = JSON.parse((await listed()).body).runs.map((run) => run.run_id);
  assert.ok(runs.includes('later-1'), runs.join());
});

test('long answers are compressed for those who take gzip, with a tag of their own', async () => {
  const where = '/api/v1/tables';
  const plain = await get(daemon.api, where);
  const packed = await get(daemon.api, where, { headers: { 'accept-encoding': 'gzip' } });
  assert.equal(plain.headers['content-encoding'], undefined);
  assert.equal(packed.headers['content-encoding'], 'gzip');
  assert.equal(packed.headers.vary, 'Accept-Encoding');
  assert.ok(packed.body.length < plain.body.length / 3, `${packed.body.length} of ${plain.body.length}`);
  assert.deepEqual(zlib.gunzipSync(packed.body), plain.body);
  assert.notEqual(packed.headers.etag, plain.headers.etag);
  const same = { 'accept-encoding': 'gzip', 'if-none-match': packed.headers.etag };
  assert.equal((await get(daemon.api, where, { headers: same })).status, 304);
  assert.equal((await get(daemon.api, where, { headers: { 'if-none-match': packed.headers.etag } })).status, 200);
});

test('many who ask the same at once are answered alike', async () => {
  const where = '/api/v1/compare?base=base&candidate=candidate&confidence=0.91';
  const answers = await Promise.all(Array.from({ length: 40 }, () => get(daemon.api, where)));
  for (const one of answers) {
    assert.equal(one.status, 200, one.body.toString());
    assert.deepEqual(one.body, answers[0].body);
  }
});
