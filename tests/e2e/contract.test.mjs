// SPDX-License-Identifier: Apache-2.0
// `tracecore contract` as people and scripts use it, and docs/contract.md as the program says it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

const binary = path.resolve(process.env.TC_BINARY ?? 'build/release/tracecore');
const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const page = fs.readFileSync(path.join(source, 'docs/contract.md'), 'utf8');
const MADE = '<!-- made by: tracecore contract explain --markdown -->\n';

let folder;
before(() => { folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_contract_')); });
after(() => fs.rmSync(folder, { recursive: true, force: true }));

function run(args, input = '') {
  const result = spawnSync(binary, ['contract', ...args], { encoding: 'utf8', cwd: folder, input,
    env: { PATH: process.env.PATH }, maxBuffer: 1 << 28 });
  assert.equal(result.signal, null, result.stderr);
  return result;
}

function write(name, text) {
  fs.writeFileSync(path.join(folder, name), text);
  return name;
}

describe('the page', () => {
  test('has the table that the program prints', () => {
    const table = page.slice(page.indexOf(MADE) + MADE.length);
    assert.ok(page.includes(MADE));
    assert.equal(table, run(['explain', '--markdown']).stdout,
      'docs/contract.md differs: write what `tracecore contract explain --markdown` prints below the mark');
  });
  test('shows what the program tells', () => {
    const [, told] = page.match(/\$ tracecore contract check --strict run\.yaml\n([^]*?)```/u);
    const text = run(['init', '--workload-type', 'training']).stdout
      .replace('minReplicates: 5', 'minReplicates: 2')
      .replace('        precision: bf16', '        precision: fp8')
      .replace('  automation:', '  automations:');
    const result = run(['check', '--strict', write('run.yaml', text)]);
    assert.equal(result.stdout, told);
    assert.equal(result.status, 1);
  });
});

describe('check', () => {
  test('says where and what, on standard output', () => {
    const result = run(['check', write('bad.yaml', 'kind: Run\n')]);
    assert.equal(result.status, 1);
    assert.equal(result.stderr, '');
    const lines = result.stdout.trimEnd().split('\n');
    assert.equal(lines[1], 'bad.yaml:1:7: kind: expected BenchmarkRun, found string "Run"');
    for (const line of lines) {
      assert.match(line, /^bad\.yaml:\d+:\d+: [A-Za-z_.]+: /u);
    }
  });
  test('reads standard input, and several files', () => {
    const good = write('good.yaml', run(['init']).stdout);
    assert.equal(run(['check', '-'], run(['init']).stdout).stdout,
      '<stdin>: valid: publication_grade inference, runtime_version under test\n');
    assert.equal(run(['check', good, good]).status, 0);
    assert.equal(run(['check', good, write('bad.yaml', 'kind: Run\n')]).status, 1);
    assert.equal(run(['check', good, 'bad.yaml', 'nothing.yaml']).status, 2);
    assert.match(run(['check', 'nothing.yaml']).stderr, /^nothing\.yaml: No such file/u);
    assert.match(run(['check', folder]).stderr, /Is a directory/u);
  });
  test('tells what is no YAML with its place', () => {
    const result = run(['check', '-'], 'a: [\n');
    assert.equal(result.status, 2);
    assert.equal(result.stdout, '');
    assert.match(result.stderr, /^<stdin>: line \d+, column \d+: no YAML: /u);
  });
  test('takes 4 MiB and no more', () => {
    const line = `- ${'x'.repeat(61)}\n`;
    const most = line.repeat((4 << 20) / 64);
    assert.equal(run(['check', write('most.yaml', most)]).status, 1);
    const result = run(['check', write('more.yaml', `${most}\n`)]);
    assert.equal(result.status, 2);
    assert.match(result.stderr, /a contract has at most 4194304/u);
  });
  test('gives JSON with sorted keys, one line per file', () => {
    const good = write('good.yaml', run(['init']).stdout);
    const bad = write('bad.yaml', 'kind: Run\n');
    const result = run(['check', '--json', good, bad, 'nothing.yaml']);
    assert.equal(result.status, 2);
    const answers = result.stdout.trimEnd().split('\n').map((line) => JSON.parse(line));
    assert.equal(answers.length, 3);
    for (const answer of answers) {
      assert.deepEqual(Object.keys(answer), ['errors', 'file', 'summary', 'valid', 'violations']);
    }
    assert.deepEqual(answers.map((answer) => answer.valid), [true, false, false]);
    assert.deepEqual(Object.keys(answers[0].summary), ['benchmark_class', 'ci_schedule',
      'enabled_layers', 'hot_metrics_store', 'name', 'scheduler_path', 'variable_under_test',
      'warehouse_store', 'workload_type']);
    assert.deepEqual(answers[1].summary, {});
    assert.deepEqual(answers[1].violations[1], { column: 7, line: 1,
      message: 'expected BenchmarkRun, found string "Run"', path: 'kind', strict: false });
    assert.equal(answers[1].errors[1], 'kind: expected BenchmarkRun, found string "Run"');
    assert.deepEqual(answers[2].errors, ['document: cannot be read']);
  });
  test('escapes what a terminal would act on', () => {
    const result = run(['check', '-'], 'kind: "\\e[31m"\n');
    assert.ok(!result.stdout.includes('\u001b'));
  });
});

describe('init', () => {
  test('passes the strict check for every class and type', () => {
    for (const grade of ['publication_grade', 'realism_grade']) {
      for (const type of ['training', 'inference', 'mixed']) {
        const text = run(['init', '--class', grade, '--workload-type', type]).stdout;
        const result = run(['check', '--strict', '-'], text);
        assert.equal(result.stdout, `<stdin>: valid: ${grade} ${type}, runtime_version under test\n`);
      }
    }
  });
  test('takes all fields, by option or by the names of the original', () => {
    const fields = { name: 'n', benchmarkClass: 'realism_grade', workloadType: 'mixed',
      schedulerPath: 'slurm', cadence: 'canary', model: 'm', precision: 'fp8',
      batchingPolicy: 'static', concurrencyModel: 'open_loop', comparisonVariable: 'driver_stack' };
    const byOptions = run(['init', '--name', 'n', '--class', 'realism_grade', '--workload-type', 'mixed',
      '--scheduler-path', 'slurm', '--cadence', 'canary', '--model', 'm', '--precision', 'fp8',
      '--batching-policy', 'static', '--concurrency-model', 'open_loop', '--variable', 'driver_stack']);
    const byJson = run(['init', '--overrides-json', JSON.stringify(fields)]);
    assert.equal(byOptions.status, 0);
    assert.equal(byOptions.stdout, byJson.stdout);
    const rendered = JSON.parse(run(['init', '--json', '--overrides-json', JSON.stringify(fields)]).stdout);
    assert.deepEqual(rendered.applied_values, fields);
    assert.equal(rendered.rendered_yaml, byJson.stdout);
    assert.equal(rendered.schema_version, '2026-03-13');
    assert.match(rendered.generated_at_utc, /^\d{4}-\d\d-\d\dT.*Z$/u);
    assert.ok('template_path' in rendered);
  });
  test('leaves blank overrides out and refuses unknown ones', () => {
    const blank = run(['init', '--overrides-json', '{"name": "  ", "model": null}']);
    assert.equal(blank.stdout, run(['init']).stdout);
    assert.match(run(['init', '--overrides-json', '{"name": 7}']).stdout, / name: "7"\n/u);
    for (const [bad, why] of [['{"nam": "x"}', /unknown field nam; there are name, /u],
      ['{"cadence": "weekly"}', /cadence must be one of: canary, nightly, pre_release, adhoc/u],
      ['{"name": [1]}', /a list or an object/u], ['[1]', /expected a JSON object/u], ['{', /./u]]) {
      const result = run(['init', '--overrides-json', bad]);
      assert.equal(result.status, 2);
      assert.match(result.stderr, why);
      assert.equal(result.stdout, '');
    }
    assert.equal(run(['init', '--class', 'gold']).status, 2);
  });
  test('keeps a file that is there, unless told to', () => {
    const file = path.join(folder, 'new.yaml');
    assert.equal(run(['init', '-o', file]).status, 0);
    const first = fs.readFileSync(file, 'utf8');
    assert.equal(first, run(['init']).stdout);
    const again = run(['init', '-o', file, '--name', 'other']);
    assert.equal(again.status, 2);
    assert.match(again.stderr, /File exists; --force replaces it/u);
    assert.equal(fs.readFileSync(file, 'utf8'), first);
    assert.equal(run(['init', '-o', file, '--name', 'other', '--force']).status, 0);
    assert.match(fs.readFileSync(file, 'utf8'), / name: other\n/u);
    assert.equal(run(['init', '-o', path.join(folder, 'no/dir.yaml')]).status, 2);
  });
});

describe('explain', () => {
  test('knows a field, what is below one, and all', () => {
    assert.match(run(['explain', 'spec.trials.minReplicates']).stdout, /rule: {5}integer >= 3/u);
    assert.match(run(['explain', 'spec.sinks']).stdout, /below it:\n/u);
    assert.ok(run(['explain']).stdout.split('\n').length > 100);
  });
  test('names what is near', () => {
    const result = run(['explain', 'spec.trails']);
    assert.equal(result.status, 2);
    assert.match(result.stderr, /did you mean spec\.trials\?/u);
  });
  test('explains every path that check tells', () => {
    const told = JSON.parse(run(['check', '--json', '-'], 'spec: {layers: [{}, {name: a}, {name: b, enabled: true}]}').stdout);
    for (const { path: where } of told.violations) {
      assert.equal(run(['explain', where]).status, 0, where);
    }
  });
});

describe('wrong usage', () => {
  test('is told', () => {
    for (const args of [[], ['verify'], ['check'], ['init', 'x'], ['explain', 'a', 'b'],
      ['check', '--name', 'x', 'y'], ['init', '--strict'], ['explain', '--json'], ['--what']]) {
      const result = run(args);
      assert.equal(result.status, 2, args.join(' '));
      assert.notEqual(result.stderr, '');
    }
  });
});
