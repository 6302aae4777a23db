// SPDX-License-Identifier: Apache-2.0
// `tracecore compare` and `trend`: five runs a side, three, the runs of MLPerf that have two modes,
// bad input; and that README.md and docs/compare.md show what the program prints.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { add, noSamples, samples, scratch, tracecore } from './support/runs.mjs';

const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const examples = path.join(source, 'examples/benchmark');
const LATENCY = /_(?:ttft|tpot|itl|e2el)_ms$/u;
let place;
let five;
let three;
const compare = (data, ...args) => tracecore(['compare', '--data-dir', data, ...args]);
const trend = (data, ...args) => tracecore(['trend', '--data-dir', data, ...args]);
const page = (name) => fs.readFileSync(path.join(source, name), 'utf8');

/** A run like an example, all latencies times a factor, at another hour. */
function variant(example, hour, factor) {
  return ['vllm-c16.json', 'vllm-c64.json'].map((name, n) => {
    const result = JSON.parse(fs.readFileSync(path.join(examples, example, name), 'utf8'));
    for (const key of Object.keys(result)) {
      if (LATENCY.test(key) || key === 'duration') {
        result[key] *= factor;
      } else if (/throughput$/u.test(key)) {
        result[key] /= factor;
      }
    }
    result.date = `${result.date.slice(0, 9)}0${hour}0${n}00`;
    return place.file(`${example}-${hour}/${name}`, result);
  });
}

function addRuns(data, side, runs) {
  runs.forEach((files, n) => {
    // A sixth is no replicate, but of the same case: the history has twelve.
    const group = n < 5 ? side : 'more';
    const { status, stderr } = add(data, ['--name', side, '--replicate-group', group, '--run-id', `${side}-${n + 1}`,
      '--result', ...files]);
    assert.equal(status, 0, stderr);
  });
}

const example = (name) => ['vllm-c16.json', 'vllm-c64.json'].map((file) => path.join(examples, name, file));

before(() => {
  place = scratch('compare');
  five = path.join(place.folder, 'five');
  three = path.join(place.folder, 'three');
  for (const side of ['base', 'candidate']) {
    addRuns(five, side, [...[1, 2, 3].map((n) => example(`${side}-${n}`)),
      variant(`${side}-1`, 5, 1.004), variant(`${side}-2`, 6, 0.997), variant(`${side}-3`, 7, 1.002)]);
    addRuns(three, side, [1, 2, 3].map((n) => example(`${side}-${n}`)));
  }
});
after(() => place.remove());

/** The block behind the command in a page: a line `...` stands for any lines. */
function shows(name, command, output) {
  const text = page(name);
  const start = text.indexOf(`$ ${command}\n`);
  assert.ok(start >= 0, `${name} has no "$ ${command}"`);
  const block = text.slice(start + command.length + 3);
  const lines = block.slice(0, block.search(/^(?:```|\$ )/mu));
  const pattern = lines.split(/^ *\.\.\.\n/mu).map((s) => s.replace(/[.*+?^${}()|[\]\\]/gu, '\\$&')).join('(?:.*\\n)*?');
  assert.match(output, new RegExp(`^${pattern}$`, 'u'), `${name}: ${command}`);
}

describe('five runs a side', () => {
  test('the page answers first, fits 100 columns, and is what docs/compare.md shows', () => {
    const { status, stdout, stderr } = compare(five, 'base', 'candidate');
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^Worse at 1 of 2 points: ttft_p99_ms at concurrency=64 is 1\.6\dx \[1\.\d\d, 1\.\d\d\]\s\(n\s5\+5, p 0\.0\d+\)/u);
    assert.match(stdout, /next: tracecore diagnose candidate-\d --against base-\d\n$/u);
    stdout.split('\n').forEach((line) => assert.ok([...line].length <= 100, line));
    shows('docs/compare.md', 'tracecore compare base candidate', stdout);
  });
  test('is the same again, byte for byte', () => {
    assert.equal(compare(five, 'base', 'candidate').stdout, compare(five, 'base', 'candidate').stdout);
  });
  test('signs are ASCII where the locale says so', () => {
    const { stdout } = tracecore(['compare', '--data-dir', five, 'base', 'candidate'], { env: { ...process.env, LC_ALL: 'C' } });
    assert.match(stdout, / {2}o base {2}x candidate\n/u);
    assert.doesNotMatch(stdout, /[^\x00-\x7f]/u);
  });
  test('JSON has all series with their values', () => {
    const { status, stdout } = compare(five, 'base', 'candidate', '--json');
    assert.equal(status, 0);
    const found = JSON.parse(stdout);
    assert.equal(found.verdict, 'worse');
    assert.deepEqual(found.base.runs, ['base-1', 'base-2', 'base-3', 'base-4', 'base-5']);
    const worst = found.series.find((s) => s.metric === 'ttft_p99_ms' && s.point.endsWith('concurrency=64'));
    assert.equal(worst.verdict, 'worse');
    assert.equal(worst.base.values.length, 5);
    assert.ok(worst.ratio_low > 1.4 && worst.ratio_low <= worst.ratio && worst.ratio <= worst.ratio_high);
    assert.equal(worst.definition, 'vllm:p99_ttft_ms');
    assert.equal(Object.values(found.counts).reduce((a, b) => a + b), found.series.length);
  });
  test('metrics and points can be chosen, --all shows all', () => {
    const one = JSON.parse(compare(five, 'base', 'candidate', '-m', 'ttft_p99_ms', '-p', 'concurrency=64', '--json').stdout);
    assert.equal(one.series.length, 1);
    assert.ok(one.series[0].p_corrected < 0.01); // of one test
    assert.match(compare(five, 'base', 'candidate', '--all').stdout, /itl_p95_ms/u);
    assert.doesNotMatch(compare(five, 'base', 'candidate').stdout, /itl_p95_ms/u);
  });
  test('--fail-on sets the exit status', () => {
    assert.equal(compare(five, 'base', 'candidate', '--fail-on', 'worse').status, 1);
    assert.equal(compare(five, 'candidate', 'base', '--fail-on', 'worse').status, 0);
    assert.equal(compare(five, 'candidate', 'base', '--fail-on', 'worse,better').status, 1);
    assert.equal(compare(five, 'base', 'base', '--fail-on', 'worse,better,different').status, 0);
  });
  test('Markdown for a pull request', () => {
    const { stdout } = compare(five, 'base', 'candidate', '--markdown');
    assert.match(stdout, /^### Worse at 1 of 2 points: ttft\\_p99\\_ms/u);
    assert.match(stdout, /^\| \*\*worse\*\* \| ttft\\_p99\\_ms \| in=1024 out=128 concurrency=64 \|/mu);
    assert.match(stdout, /<details><summary>\d+ other series: /u);
  });
  test('conditions choose runs', () => {
    const { stdout } = compare(five, "replicate_group = 'base' AND run_id < 'base-5'", 'candidate', '--json');
    assert.equal(JSON.parse(stdout).base.runs.length, 4);
  });
});

describe('three runs a side', () => {
  test('no test can decide, and README.md shows it', () => {
    const { status, stdout } = compare(three, 'base', 'candidate');
    assert.equal(status, 0);
    assert.match(stdout, /^No test can decide with 3 and 3 runs/u);
    shows('README.md', 'tracecore compare base candidate', stdout);
    assert.equal(compare(three, 'base', 'candidate', '--fail-on', 'worse').status, 0);
    assert.equal(compare(three, 'base', 'candidate', '--fail-on', 'insufficient').status, 1);
  });
});

test('ten MLPerf runs of one system have two modes, and no difference from themselves', { skip: noSamples }, () => {
  const data = path.join(place.folder, 'mlperf');
  const folder = path.join(samples, 'mlperf-mllog');
  const files = fs.readdirSync(folder).filter((name) => name.startsWith('NVIDIA_nyx'));
  assert.equal(files.length, 10);
  files.forEach((name) => assert.equal(add(data, ['--name', 'sd', '--result', path.join(folder, name)]).status, 0));
  const found = JSON.parse(compare(data, 'sd', 'sd', '--json').stdout);
  const time = found.series.find((s) => s.metric === 'time_to_train_s');
  assert.equal(time.verdict, 'multimodal');
  assert.equal(time.base.median, null);
  assert.equal(time.ratio, null);
  assert.deepEqual(time.base.modes.map((m) => m.n), [4, 6]);
  assert.deepEqual([found.counts.worse, found.counts.better, found.counts.different, found.counts.unstable], [0, 0, 0, 0]);
  assert.equal(found.runs_on_both_sides, 10);
  const history = JSON.parse(trend(data, 'time_to_train_s', '--json').stdout);
  assert.equal(history.changed, 0);
  assert.ok(history.series[0].multimodal);
});

test('trend finds the run where it changed', () => {
  const { status, stdout } = trend(five, 'ttft_p99_ms', '--point', 'concurrency=64', '--json');
  assert.equal(status, 0);
  const [series] = JSON.parse(stdout).series;
  assert.deepEqual(series.changes.map((c) => [c.run_id, c.verdict]), [['candidate-1', 'worse']]);
  shows('docs/compare.md', 'tracecore trend ttft_p99_ms', trend(five, 'ttft_p99_ms').stdout);
});

test('what is wrong gets a sentence and status 2, and no number', () => {
  for (const [command, args, message] of [
    [compare, ['base'], /it takes two: BASE and CANDIDATE/u],
    [compare, ['bese', 'candidate'], /no run, group or name "bese"; did you mean "base"\?/u],
    [compare, ['base-1', 'candidate'], /the base is one run \(base-1\), and one run says nothing of chance/u],
    [compare, ['base', 'candidate', '-m', 'tttf_p99_ms'], /did you mean ttft_p99_ms\?/u],
    [compare, ['base', 'candidate', '-m', 'mfu_pct'], /no run of either side has a value of "mfu_pct"/u],
    [compare, ['base', 'candidate', '-m', 'error_rate'], /all values of error_rate are equal on both sides, in each of 2 series/u],
    [trend, ['error_rate'], /All values are equal, in each of 2 series: no change can be found/u],
    [trend, ['ttft_p99_ms', '--runs', 'base'], /at most 5 runs of a series, and it takes 6/u],
    [trend, ['ttft_p99_ms', '--runs', 'base-1'], /it takes 6 to see a change/u],
    [compare, ['base', 'candidate', '-p', 'concurrency=1'], /no run of the base has a value at that point/u],
    [compare, ["name = 'base'; DROP TABLE benchmark_run_fact", 'candidate'], /nor is it a condition/u],
    [compare, ['1=1) UNION SELECT 1 WHERE (1=1', 'candidate'], /nor is it a condition/u],
    [compare, ["name = 'nobody'", 'candidate'], /no run fulfils the condition name = 'nobody'/u],
    [compare, ['base', 'candidate', '--confidence', '95'], /--confidence takes a level from 0\.5 to below 1/u],
    [compare, ['base', 'candidate', '--fail-on', 'bad'], /--fail-on takes worse, /u],
    [compare, ['base', 'candidate', '--json', '--markdown'], /do not go together/u],
    [trend, [], /it takes one METRIC/u],
    [trend, ['tttf_p99_ms'], /did you mean ttft_p99_ms\?/u],
    [trend, ['ttft_p99_ms', '--runs', 'nobody'], /there is no run, group or name "nobody"/u],
  ]) {
    const { status, stdout, stderr } = command(five, ...args);
    assert.equal(status, 2, args.join(' '));
    assert.equal(stdout, '');
    assert.match(stderr, message);
  }
});
