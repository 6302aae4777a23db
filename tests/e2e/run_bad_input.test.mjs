// SPDX-License-Identifier: Apache-2.0
// What `tracecore run add` does with files that are not what they should be: an error or a recorded
// warning that names file, place and field, and nothing half loaded.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { add, contract, list, scratch, show, stored, tracecore, vllm } from './support/runs.mjs';

let place;
let number = 0;
before(() => { place = scratch('run_bad'); });
after(() => place.remove());

const file = (...args) => place.file(...args);
const fresh = () => path.join(place.folder, `data${number++}`);
const MLLOG = (key, ms, value = null) =>
  `:::MLLOG ${JSON.stringify({ namespace: '', time_ms: ms, event_type: 'POINT_IN_TIME', key, value, metadata: {} })}\n`;

/** Refused with this message, exit status 1 (or 2), and no data_dir was made. */
function refused(args, message, status = 1) {
  const data = fresh();
  const result = add(data, args);
  assert.equal(result.status, status, result.stderr);
  assert.match(result.stderr, message);
  assert.match(result.stderr, /nothing was added/u);
  assert.equal(result.answer.status, 'refused');
  assert.ok(result.answer.problems.some((problem) => problem.kind === 'error'));
  assert.equal(fs.existsSync(data), false, 'nothing is made');
  return result;
}

describe('a result file is refused', () => {
  const whole = JSON.stringify(vllm());
  const cases = {
    'that is cut off': ['cut.json', whole.slice(0, 200), /cut\.json: .*cut off: it ends at byte 200/u],
    'that is empty': ['empty.json', '', /empty\.json: the file is empty/u],
    'that is blank': ['blank.json', ' \n\n', /blank\.json: .*nothing but blanks/u],
    'of no known format': ['other.json', '{"hello":1}', /other\.json: JSON that no reader knows; --format: .*vllm.*nccl-tests/u],
    'that is no text': ['bytes.bin', Buffer.from([0, 1, 2, 255, 254]), /bytes\.bin: .*no reader knows/u],
    'whose p50 is above its p99': ['order.json', vllm({ median_ttft_ms: 900 }), /order\.json: .*median_ttft_ms: .*900, above ttft_p99_ms/u],
    'with a negative duration': ['negative.json', vllm({ duration: -1 }), /negative\.json: .*duration: duration_s is negative: -1/u],
    'whose requests are not successes and failures': ['sum.json', vllm({ num_prompts: 50 }), /sum\.json: .*50 requests are not 40 completed and 0 failed/u],
  };
  for (const [name, [label, content, message]] of Object.entries(cases)) {
    test(name, () => refused(['--result', file(label, content)], message));
  }
  test('that is not there', () => refused(['--result', path.join(place.folder, 'gone.json')], /gone\.json: cannot be opened: No such file/u, 2));
  test('that is a pipe', () => {
    const pipe = path.join(place.folder, 'pipe');
    assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
    refused(['--result', pipe], /pipe: no regular file/u, 2);
  });
  test('that may not be read', (t) => {
    if (process.getuid() === 0) { t.skip('root may read everything'); return; }
    const name = file('secret.json', vllm());
    fs.chmodSync(name, 0);
    refused(['--result', name], /secret\.json: cannot be opened: Permission denied/u, 2);
  });
  test('by a reader that was insisted on', () => {
    refused(['--format', 'fio', '--result', file('a.json', vllm())], /a\.json: /u);
  });
});

describe('all that is wrong', () => {
  test('is told in one go', () => {
    const { stderr } = refused(['--contract', file('part.yaml', 'apiVersion: x\nkind: BenchmarkRun\nmetadata:\n  name: n\nspec: {}\n'),
      '--result', file('good.json', vllm()), file('empty.json', ''), file('order.json', vllm({ median_ttft_ms: 900 })),
      '--telemetry', file('no.prom', 'nothing {{{\n')], /the contract is not valid/u);
    for (const message of [/part\.yaml: line 5, column 7: spec\.intent/u, /spec\.trials/u, /empty\.json: the file is empty/u,
      /order\.json: .*median_ttft_ms/u, /no\.prom: not telemetry/u, /contract check/u]) {
      assert.match(stderr, message);
    }
  });
  test('keeps what is there as it is', () => {
    const data = fresh();
    assert.equal(add(data, [file('good.json', vllm())]).status, 0);
    const evidence = stored(data);
    const runs = JSON.stringify(list(data));
    assert.equal(add(data, [file('more.json', vllm({ max_concurrency: 8 })), file('empty.json', '')]).status, 1);
    assert.deepEqual(stored(data), evidence);
    assert.equal(JSON.stringify(list(data)), runs);
  });
});

describe('a contract is refused', () => {
  const good = () => file('good.json', vllm());
  test('that is no YAML', () => refused(['--contract', file('no.yaml', 'a: [1,\nb: 2'), '--result', good()], /no\.yaml: line \d+, column \d+: no YAML/u));
  test('that is empty', () => refused(['--contract', file('empty.yaml', ''), '--result', good()], /empty\.yaml: line 1, column 1: document: expected YAML mapping/u));
  test('that breaks one rule, with line and column', () => {
    const text = contract().replace(/minReplicates: \d+/u, 'minReplicates: 2');
    const line = text.split('\n').findIndex((l) => l.includes('minReplicates')) + 1;
    refused(['--contract', file('two.yaml', text), '--result', good()],
      new RegExp(`two\\.yaml: line ${line}, column \\d+: spec\\.trials\\.minReplicates: `, 'u'));
  });
  test('even by force', () => refused(['--force', '--contract', file('empty.yaml', ''), '--result', good()], /the contract is not valid/u));
});

describe('what is odd', () => {
  test('is recorded: two models in one run', () => {
    const data = fresh();
    const { status, answer } = add(data, [file('a.json', vllm()), file('b.json', vllm({ model_id: 'other/model', max_concurrency: 8 }))]);
    assert.equal(status, 0);
    const { run, workload } = show(data, answer.run_id);
    const told = run.warnings.find((w) => w.field === 'model');
    assert.match(told.text, /says "[^"]+"; recorded is "[^"]+" of [ab]\.json/u);
    assert.ok(['meta/llama', 'other/model'].includes(workload.model));
  });
  test('is recorded: an MLPerf log without run_stop is incomplete, and not fast', () => {
    const data = fresh();
    const { status, answer } = add(data, [file('result_0.txt', MLLOG('submission_benchmark', 1600000000000, 'bert') + MLLOG('run_start', 1600000001000))]);
    assert.equal(status, 0);
    const { run, training } = show(data, answer.run_id);
    assert.equal(run.status, 'incomplete');
    assert.equal(training[0].time_to_train_s, null);
    assert.ok(run.warnings.some((w) => w.file === 'result_0.txt' && w.field === 'run_stop' && w.where), JSON.stringify(run.warnings));
  });
  test('is recorded: a contradiction that is forced, and then nothing is to be published', () => {
    const data = fresh();
    const yaml = file('run.yaml', contract());
    const { status, answer } = add(data, ['--force', '--contract', yaml, '--result', file('sum.json', vllm({ num_prompts: 50 }))]);
    assert.equal(status, 0);
    assert.equal(answer.publishable, false);
    const { run, serving } = show(data, answer.run_id);
    assert.equal(run.publishable, false);
    assert.ok(run.warnings.some((w) => /50 requests are not 40 completed/u.test(w.text)));
    assert.equal(serving.length, 1);
  });
  test('in a directory is left out and told, what was named is an error', () => {
    const folder = path.join(place.folder, 'mixed');
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, 'a.json'), JSON.stringify(vllm()));
    fs.writeFileSync(path.join(folder, 'readme.md'), '# no result\n');
    const { status, answer, stderr } = add(fresh(), [folder]);
    assert.equal(status, 0);
    assert.match(stderr, /readme\.md: warning: left out: no reader knows it/u);
    assert.equal(answer.files.length, 1);
    refused([path.join(folder, 'a.json'), path.join(folder, 'readme.md')], /readme\.md: .*no reader knows/u);
    fs.rmSync(path.join(folder, 'a.json'));
    const none = add(fresh(), [folder]);
    assert.equal(none.status, 1);
    assert.match(none.stderr, /no reader knows any of the files as a result; nothing was added/u);
  });
});

describe('names from outside', () => {
  test('cannot move the cursor', () => {
    const result = tracecore(['run', 'add', '--data-dir', fresh(), '--result', file('a\u001b[2Jb.json', '{"x":1}')]);
    assert.equal(result.status, 1);
    assert.doesNotMatch(result.stderr, /\u001b/u);
    assert.match(result.stderr, /a\\x1b\[2Jb\.json/u);
  });
});
