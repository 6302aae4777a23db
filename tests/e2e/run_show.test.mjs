// SPDX-License-Identifier: Apache-2.0
// `tracecore run list`, `show` and `diff`, and docs/runs.md as the program says it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { add, binary, contract, list, scratch, tracecore, vllm } from './support/runs.mjs';

const source = process.env.TC_SOURCE_DIR ?? process.cwd();
let place;
let data;
const file = (...args) => place.file(...args);
const run = (...args) => tracecore(['run', args[0], '--data-dir', data, ...args.slice(1)]);
const sglang = { backend: 'sglang', model_id: 'meta/llama', request_rate: 'inf', max_concurrency: 4,
  duration: 30, completed: 40, total_input_tokens: 40960, total_output_tokens: 5120, request_throughput: 1.33,
  output_throughput: 170.6, mean_ttft_ms: 210, median_ttft_ms: 200, p99_ttft_ms: 400, mean_itl_ms: 20, median_itl_ms: 19, p99_itl_ms: 60,
  mean_e2e_latency_ms: 2500, median_e2e_latency_ms: 2400, random_input_len: 1024, random_output_len: 128 };

before(() => {
  place = scratch('run_show');
  data = path.join(place.folder, 'data');
  for (const [id, args] of [
    ['alpha-1', ['--name', 'alpha', file('a1.json', vllm())]],
    ['alpha-2', ['--name', 'alpha', file('a2.json', vllm({ median_ttft_ms: 290, request_throughput: 1.4 }))]],
    ['beta', ['--name', 'second', file('b.json', vllm({ max_concurrency: 8, model_id: 'meta/other', tokenizer_id: 'meta/other' }))]],
    ['other-tool', ['--name', 'sgl', file('s.jsonl', `${JSON.stringify(sglang)}\n`)]],
    ['strict', ['--contract', file('run.yaml', contract()), file('c.json', vllm({ duration: 32 }))]],
  ]) {
    const { status, stderr } = add(data, ['--run-id', id, ...args]);
    assert.equal(status, 0, stderr);
  }
});
after(() => place.remove());

describe('list', () => {
  test('has the newest first', () => {
    assert.deepEqual(list(data).map((r) => r.run_id), ['strict', 'other-tool', 'beta', 'alpha-2', 'alpha-1']);
  });
  test('by name, class, time and number', () => {
    const ids = (...args) => list(data, args).map((r) => r.run_id);
    assert.deepEqual(ids('--name', 'alpha'), ['alpha-2', 'alpha-1']);
    assert.deepEqual(ids('--class', 'publication_grade'), ['strict']);
    assert.equal(ids('--since', '1h').length, 5);
    assert.equal(ids('--since', '2100-01-01T00:00:00Z').length, 0);
    assert.deepEqual(ids('--name', 'alpha', '--class', 'exploratory', '--since', '1h'), ['alpha-2', 'alpha-1']);
    const two = run('list', '--limit', '2');
    assert.equal(two.stdout.trimEnd().split('\n').length, 3);
    assert.match(two.stderr, /3 more; --limit 0 shows all/u);
  });
  test('is a table of at most 80 columns', () => {
    const { stdout } = run('list');
    assert.match(stdout, /^run +name +class +status +started +points +rep/u);
    stdout.split('\n').forEach((line) => assert.ok([...line].length <= 80, line));
  });
  test('refuses what it does not understand', () => {
    for (const [args, message] of [[['--since', 'yesterday'], /--since takes/u], [['--limit', 'few'], /--limit takes a number/u],
      [['--class', 'foo'], /--class takes exploratory, publication_grade or realism_grade, not "foo"/u], [['x'], /too much/u]]) {
      const out = run('list', ...args);
      assert.equal(out.status, 2);
      assert.match(out.stderr, message);
    }
  });
  test('without a database says what to do', { skip: process.env.TC_CLICKHOUSE && 'it says so of the other database' }, () => {
    const out = tracecore(['run', 'list', '--data-dir', path.join(place.folder, 'none')]);
    assert.equal(out.status, 2);
    assert.match(out.stderr, /no runs in .*none yet; add one with `tracecore run add`/u);
  });
});

describe('read', () => {
  test('names the readers, and says that a directory is none', () => {
    const none = tracecore(['run', 'read', '--format', 'nope', 'x.json']);
    assert.equal(none.status, 2);
    assert.match(none.stderr, /no reader is called "nope"; there are .*vllm/u);
    const folder = tracecore(['run', 'read', place.folder]);
    assert.equal(folder.status, 2);
    assert.match(folder.stderr, /is a directory; give the files in it/u);
  });
});

describe('a run is meant by', () => {
  const shown = (word) => JSON.parse(run('show', '--json', word).stdout).run.run_id;
  test('its id, its name, or the start of one', () => {
    assert.equal(shown('beta'), 'beta');
    assert.equal(shown('second'), 'beta');
    assert.equal(shown('bet'), 'beta');
    assert.equal(shown('sec'), 'beta');
    assert.equal(shown('alpha-1'), 'alpha-1', 'a whole id, though others begin alike');
  });
  test('not by what means several', () => {
    const out = run('show', 'alpha');
    assert.equal(out.status, 2);
    assert.match(out.stderr, /"alpha" means 2 runs; give the id, or more of it:\n {2}alpha-2 {2}alpha\n {2}alpha-1 {2}alpha\n/u);
  });
  test('not by what means none: the nearest is suggested', () => {
    assert.match(run('show', 'betta').stderr, /there is no run "betta"; did you mean "beta"\?/u);
    assert.match(run('show', 'qqqqqqqq').stderr, /there is no run "qqqqqqqq"; `tracecore run list` shows/u);
    assert.equal(run('show', '').status, 2);
    assert.equal(run('show', '%').status, 2);
  });
});

describe('diff', () => {
  const diff = (a, b) => JSON.parse(run('diff', '--json', a, b).stdout);
  test('of a run with itself is all equal', () => {
    const { differs, values, not_compared: odd } = diff('beta', 'beta');
    assert.deepEqual(differs, []);
    assert.deepEqual(odd, []);
    assert.ok(values.length > 10 && values.every((v) => v.a === v.b && (v.ratio === 1 || v.a === 0)));
  });
  test('sets values of one definition beside each other', () => {
    const { values, statistical } = diff('alpha-1', 'alpha-2');
    const ttft = values.find((v) => v.metric === 'ttft_p50_ms');
    assert.deepEqual([ttft.a, ttft.b], [265, 290]);
    assert.ok(Math.abs(ttft.ratio - 290 / 265) < 1e-12);
    assert.equal(statistical, false);
    assert.match(run('diff', 'alpha-1', 'alpha-2').stdout, /no statistical comparison/u);
  });
  test('does not compare what two tools call alike', () => {
    const { values, not_compared: odd } = diff('alpha-1', 'other-tool');
    const itl = odd.find((o) => o.metric === 'itl_p50_ms');
    assert.equal(itl.why, 'not comparable: definitions differ');
    assert.match(itl.a, /^vllm:/u);
    assert.match(itl.b, /^sglang:/u);
    assert.deepEqual(values, []);
  });
  test('tells other points and other facts', () => {
    const { differs, not_compared: odd } = diff('alpha-1', 'beta');
    assert.deepEqual(differs.filter((d) => d.field === 'model'), [{ part: 'workload', field: 'model', a: 'meta/llama', b: 'meta/other' }]);
    assert.deepEqual([...new Set(odd.map((o) => o.why))].sort(), ['only in the first', 'only in the second']);
    const exploratory = diff('alpha-1', 'strict');
    assert.ok(exploratory.differs.some((d) => d.field === 'benchmark_class' && d.b === 'publication_grade'));
    assert.ok(exploratory.differs.some((d) => d.field === 'contract_digest' && d.a === null));
  });
});

describe('the page', () => {
  test('shows what the program prints', () => {
    const page = fs.readFileSync(path.join(source, 'docs/runs.md'), 'utf8');
    const env = { ...process.env, TRACECORE_DATA_DIR: path.join(place.folder, 'page') };
    const shell = (command) => spawnSync('bash', ['-c', `${command.replace(/^tracecore /u, `'${binary}' `)} 2>&1`],
      { encoding: 'utf8', env, cwd: source }).stdout;
    /* Ids and digests follow the readers; the moment of adding is now. */
    const masked = (text) => text.replaceAll(/[0-9a-f]{8,64}/gu, '#').replaceAll(/added {8}\S+/gu, 'added #');
    const blocks = [...page.matchAll(/^\$ (tracecore (?:run|sql) [^\n]+)\n((?:(?!\$ |```)[^\n]*\n)*)/gmu)];
    assert.equal(blocks.length, 12);
    for (const [, command, told] of blocks) {
      if (command.includes('broken.json')) {
        continue;
      }
      let words = command;
      if (/ (show|diff) /u.test(command)) {
        const ids = shell('tracecore run list --json').trim().split('\n').map((line) => JSON.parse(line).run_id);
        const of = { 'run-e6541de4': ids[1], 'run-ac9cd099': ids[0] };
        words = command.replaceAll(/run-[0-9a-f]{8}\b/gu, (id) => of[id].slice(0, id.length));
      }
      assert.equal(masked(shell(words)), masked(told), command);
      if (command.includes('add -q')) { // the second night
        shell(command.replaceAll('base-1', 'candidate-1'));
      }
    }
  });
});
