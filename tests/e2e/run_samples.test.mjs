// SPDX-License-Identifier: Apache-2.0
// Every sample of a tool that is listed imports: each file as a run of its own, and all of a tool as
// one run. What is in the tables is what `run read` gives, and in simple cases what the file says
// when it is read here.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { add, list, noSamples, referred, samples, scratch, show, stored, tracecore } from './support/runs.mjs';

/* Folder of the samples -> which files are results, and their readers. */
const TOOLS = {
  'vllm-bench-serve': [/\.json$/u, ['inferencex', 'vllm']],
  'sglang-bench-serving': [/\.jsonl$/u, ['sglang']],
  aiperf: [/\.jsonl?$/u, ['aiperf', 'aiperf-requests', 'genai-perf']],
  guidellm: [/\.json$/u, ['guidellm']],
  'inference-perf': [/lifecycle.*\.(json|yaml)$/u, ['inference-perf', 'llm-d']],
  'llm-d-benchmark-report': [/example\.yaml$/u, ['llm-d']],
  'mlperf-mllog': [/result_\d+\.txt$/u, ['mllog']],
  'nccl-tests': [/output\.txt$|p4de\.txt$/u, ['nccl-tests']],
  fio: [/\.json$/u, ['fio']],
};
const OUTCOMES = ['serving_outcome_fact', 'serving_request_fact', 'training_outcome_fact', 'telemetry_slice_fact'];

let place;
let data;
before(() => { place = scratch('run_samples'); data = path.join(place.folder, 'data'); });
after(() => place.remove());

const filesOf = (tool) => (noSamples ? [] : fs.readdirSync(path.join(samples, tool))
  .filter((name) => TOOLS[tool][0].test(name)).sort().map((name) => path.join(samples, tool, name)));
const count = (rows) => OUTCOMES.reduce((sum, table) => sum + (rows[table] ?? 0), 0);

describe('each sample', { skip: noSamples }, () => {
  for (const [tool, [, readers]] of Object.entries(TOOLS)) {
    test(`of ${tool} is a run, once`, () => {
      const files = filesOf(tool);
      assert.ok(files.length > 0, `no sample of ${tool}`);
      for (const file of files) {
        const { status, answer, stderr } = add(data, ['--result', file]);
        assert.equal(status, 0, `${file}: ${stderr}`);
        assert.equal(answer.status, 'added');
        assert.ok(readers.includes(answer.files[0].reader), `${file}: ${answer.files[0].reader}`);
        assert.ok(count(answer.rows) > 0, file);
        assert.equal(count(answer.rows), answer.files[0].rows, file);
      }
      const again = add(data, ['--result', files[0]]);
      assert.equal(again.answer.status, 'there');
    });
  }
  test('is one run in the list', () => {
    const runs = list(data);
    assert.equal(runs.length, Object.keys(TOOLS).reduce((sum, tool) => sum + filesOf(tool).length, 0));
    assert.ok(runs.every((run) => run.benchmark_class === 'exploratory' && run.publishable === false));
    assert.deepEqual(stored(data), referred(data));
  });
});

describe('all samples of a tool', { skip: noSamples }, () => {
  for (const tool of ['vllm-bench-serve', 'mlperf-mllog', 'nccl-tests', 'inference-perf']) {
    test(`${tool}: one run`, () => {
      const files = filesOf(tool);
      const one = path.join(place.folder, `one_${tool}`);
      const { status, answer, stderr } = add(one, ['--name', tool, ...files]);
      assert.equal(status, 0, stderr);
      assert.equal(answer.files.length, files.length);
      const all = show(one, tool);
      const sources = new Set([...all.serving, ...all.training].map((row) => row.source_digest));
      const slices = all.telemetry.reduce((sum, t) => sum + t.slices, 0);
      assert.equal(all.serving.length + all.training.length + slices, count(answer.rows));
      assert.ok(sources.size === 0 || [...sources].every((digest) => all.lineage.raw_uris.some((uri) => uri.digest === digest)));
      assert.ok([...all.serving, ...all.training].every((row) => row.run_id === answer.run_id &&
        row.artifact_manifest_digest === answer.artifact_manifest_digest && row.benchmark_case_id === all.run.benchmark_case_id));
    });
  }
});

describe('values', { skip: noSamples }, () => {
  test('of InferenceX are those of the file, whose seconds became ms', () => {
    const runs = list(data).map((run) => show(data, run.run_id));
    for (const file of filesOf('vllm-bench-serve')) {
      const said = JSON.parse(fs.readFileSync(file, 'utf8'));
      const rows = runs.filter((all) => all.lineage.raw_uris.some((uri) => uri.name === path.basename(file)));
      assert.equal(rows.length, 1);
      const [row] = rows[0].serving;
      assert.equal(row.concurrency, said.max_concurrency);
      assert.ok(Math.abs(row.ttft_p50_ms - said.median_ttft * 1000) < 1e-6, file);
      assert.ok(Math.abs(row.e2e_p99_ms - said.p99_e2el * 1000) < 1e-6, file);
      assert.ok(Math.abs(row.output_token_throughput - said.output_throughput) < 1e-6, file);
    }
  });

  test('of MLPerf are run_stop less run_start', () => {
    const one = path.join(place.folder, 'one_mlperf-mllog');
    const { training, lineage } = show(one, 'mlperf-mllog');
    for (const file of filesOf('mlperf-mllog')) {
      const events = fs.readFileSync(file, 'utf8').split('\n').filter((line) => line.includes(':::MLLOG'))
        .map((line) => JSON.parse(line.slice(line.indexOf('{'))));
      const start = events.find((e) => e.key === 'run_start');
      const stop = events.findLast((e) => e.key === 'run_stop');
      const { digest } = lineage.raw_uris.find((uri) => uri.name === path.basename(file));
      const row = training.find((t) => t.source_digest === digest);
      if (stop) {
        assert.ok(Math.abs(row.time_to_train_s - (stop.time_ms - start.time_ms) / 1000) < 1e-6, file);
      } else {
        assert.equal(row.time_to_train_s, null, file);
      }
    }
  });
});

describe('show', { skip: noSamples }, () => {
  test('of every run fits into 80 columns where it is a table, and names its evidence', () => {
    for (const { run_id: id } of list(data)) {
      const { status, stdout, stderr } = tracecore(['run', 'show', '--data-dir', data, id]);
      assert.equal(status, 0, stderr);
      const tables = stdout.split('\n').filter((line) => /^ {2}(point|phase|family|in=|dcgm|fio|nccl)/u.test(line));
      tables.forEach((line) => assert.ok([...line].length <= 80, line));
      assert.match(stdout, /\nevidence\n {2}result/u);
    }
  });
});
