// SPDX-License-Identifier: Apache-2.0
// `tracecore run add`: whole or not at all, once or not at all, and what it says.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { spawnSync } from 'node:child_process';
import { elsewhere } from './support/elsewhere.mjs';
import { add, contract, list, referred, scratch, show, stored, tracecore, vllm } from './support/runs.mjs';

let place;
let data; // the data_dir of one test
let number = 0;
before(() => { place = scratch('run_add'); });
after(() => place.remove());

const file = (...args) => place.file(...args);
const fresh = () => { data = path.join(place.folder, `data${number++}`); return data; };
const sha256 = (bytes) => `sha256:${crypto.createHash('sha256').update(bytes).digest('hex')}`;

describe('a run', () => {
  test('without a contract is exploratory and never to be published', () => {
    const result = file('a.json', vllm());
    const { status, answer } = add(fresh(), ['--result', result]);
    assert.equal(status, 0);
    assert.equal(answer.status, 'added');
    assert.equal(answer.benchmark_class, 'exploratory');
    assert.equal(answer.publishable, false);
    const identity = JSON.stringify({ files: [{ digest: sha256(fs.readFileSync(result)), role: 'result' }] });
    assert.equal(answer.run_id, `run-${sha256(identity).slice(7, 23)}`, 'its bytes name it, not its file');
    const all = show(data, answer.run_id);
    assert.equal(all.run.contract_digest, null);
    assert.equal(all.run.name, 'a.json');
    assert.equal(all.run.workload_type, 'inference');
    assert.equal(all.serving.length, 1);
    assert.equal(all.serving[0].ttft_p50_ms, 265);
    assert.equal(all.serving[0].tpot_p99_ms, 26.45);
    assert.equal(all.serving[0].itl_p99_ms, 70.2);
    assert.equal(all.serving[0].source_digest, sha256(fs.readFileSync(result)));
    assert.equal(all.workload.model, 'meta/llama');
    assert.equal(all.run.cadence, null, 'unknown is null');
  });

  test('has a definition for every value', () => {
    const { serving, definitions } = show(data, 'run-');
    const known = new Map(definitions.map((d) => [d.definition_id, d]));
    for (const [column, id] of Object.entries(serving[0].definitions)) {
      assert.ok(known.has(id), `${column}: ${id}`);
    }
    assert.equal(known.get(serving[0].definitions.tpot_p50_ms).measures, 'tpot');
    assert.equal(known.get(serving[0].definitions.itl_p50_ms).measures, 'itl');
  });

  test('with a contract has what the contract says', () => {
    const { status, answer } = add(fresh(), ['--contract', file('run.yaml', contract()), '--result', file('a.json', vllm()),
      '--job-uid', 'job-1', '--scheduler-run-id', 'slurm-7', '--intent', 'why not']);
    assert.equal(status, 0);
    const { run, workload, cluster, lineage } = show(data, answer.run_id);
    assert.equal(answer.publishable, false, 'one replicate of five, unsigned, on a machine that nobody knows');
    assert.equal(run.name, 'nightly-llama');
    assert.equal(run.benchmark_class, 'publication_grade');
    assert.equal(run.job_uid, 'job-1');
    assert.equal(run.scheduler_run_id, 'slurm-7');
    assert.equal(run.intent, 'why not');
    assert.ok(run.min_replicates >= 3);
    assert.equal(workload.workload_spec_digest, run.workload_spec_digest);
    assert.equal(cluster.scheduler_path, run.scheduler_path);
    assert.deepEqual(lineage.raw_uris.map((uri) => uri.role), ['contract', 'result']);
  });

  test('of another model than the contract\'s is taken, and never to be published', () => {
    const { status, answer } = add(fresh(), ['--contract', file('run.yaml', contract()),
      '--result', file('a.json', vllm({ model_id: 'meta/another' }))]);
    assert.equal(status, 0);
    assert.equal(answer.publishable, false);
    const { run, workload } = show(data, answer.run_id);
    assert.equal(workload.model, 'meta/llama');
    assert.ok(run.warnings.some((w) => w.field === 'model' && w.text.includes('meta/another')), JSON.stringify(run.warnings));
  });

  test('keeps every file as evidence, and the manifest', () => {
    const files = { contract: file('run.yaml', contract()), result: file('a.json', vllm()),
      artifact: file('notes.bin', Buffer.from([0, 255, 1, 254])) };
    const { answer } = add(fresh(), Object.entries(files).flatMap(([role, name]) => [`--${role}`, name]));
    const wanted = Object.values(files).map((name) => sha256(fs.readFileSync(name)));
    assert.deepEqual(stored(data), [...wanted, answer.artifact_manifest_digest].sort());
    assert.deepEqual(stored(data), referred(data));
  });

  test('takes words behind --result and directories', () => {
    file('many/b.json', vllm({ max_concurrency: 8 }));
    file('many/deep/c.json', vllm({ max_concurrency: 16 }));
    file('many/readme.txt', 'nothing that a reader knows\n');
    const a = file('a.json', vllm());
    const d = file('d.json', vllm({ max_concurrency: 32 }));
    const { status, answer, stderr } = add(fresh(), ['--result', a, d, path.join(place.folder, 'many'), '--quiet']);
    assert.equal(status, 0, stderr);
    assert.equal(answer.rows.serving_outcome_fact, 4);
    assert.deepEqual(answer.problems.filter((p) => p.text.startsWith('left out')).map((p) => path.basename(p.path)), ['readme.txt']);
    assert.equal(show(data, 'run-').lineage.raw_uris.length, 4, 'what is left out is no evidence');
  });
});

describe('a new machine', () => {
  test('has no directory for state yet: it is made', () => {
    const home = path.join(place.folder, 'home');
    const env = { PATH: process.env.PATH, HOME: home };
    const out = tracecore(['run', 'add', '--quiet', '--result', file('a.json', vllm())], { env });
    assert.equal(out.status, 0, out.stderr);
    assert.ok(fs.existsSync(path.join(home, '.local/state/tracecore/warehouse.duckdb')));
  });
  test('can be probed, and the run has its software and hardware', () => {
    const bundle = path.join(place.folder, 'bundle');
    assert.equal(tracecore(['probe', '-o', bundle]).status, 0);
    const { status, answer } = add(fresh(), ['--result', file('a.json', vllm()), '--artifact', bundle]);
    assert.equal(status, 0);
    assert.equal(answer.files.find((f) => path.basename(f.path) === 'probe.json').reader, 'probe');
    const { run, software, hardware } = show(data, answer.run_id);
    const said = JSON.parse(fs.readFileSync(path.join(bundle, 'probe.json'), 'utf8'));
    assert.equal(software.kernel, said.software.kernel);
    assert.equal(hardware.node_count, said.hardware.node_count);
    assert.deepEqual(run.tools, ['vllm']);
  });
});

describe('the same again', () => {
  test('changes nothing, whatever the order and the place of the files', () => {
    const names = [4, 8, 16].map((c) => file(`once/c${c}.json`, vllm({ max_concurrency: c })));
    const first = add(fresh(), names);
    const before = JSON.stringify(show(data, first.answer.run_id));
    const moved = [16, 4, 8].map((c) => file(`twice/c${c}.json`, vllm({ max_concurrency: c })));
    for (const again of [names, [...names].reverse(), moved]) {
      const second = add(data, again);
      assert.equal(second.status, 0);
      assert.equal(second.answer.status, 'there');
      assert.equal(second.answer.run_id, first.answer.run_id);
    }
    assert.equal(JSON.stringify(show(data, first.answer.run_id)), before);
    assert.equal(list(data).length, 1);
    const other = add(data, [...names, '--intent', 'another']);
    assert.equal(other.answer.status, 'there');
    assert.match(other.stderr, /warning: --intent is not taken over: the run has ""/u);
    const text = tracecore(['run', 'add', '--data-dir', data, ...names]);
    assert.match(text.stdout, /^already there: run-[0-9a-f]{16} {2}c16\.json\nnothing was changed\n/u);
  });

  test('puts back evidence that is missing or damaged', () => {
    const a = file('a.json', vllm());
    const { answer } = add(fresh(), [a]);
    const place_of = (digest) => fs.readdirSync(path.join(data, 'files'), { recursive: true })
      .map((name) => path.join(data, 'files', name)).find((name) => name.endsWith(digest.slice(7)));
    const before = stored(data);
    const result = sha256(fs.readFileSync(a));
    fs.rmSync(place_of(result));
    const missing = add(data, [a]);
    assert.equal(missing.status, 0, missing.stderr);
    assert.equal(missing.answer.status, 'there');
    assert.equal(missing.answer.put_back, 1);
    assert.match(missing.stderr, /the stored copy was missing; it is put back/u);
    assert.deepEqual(stored(data), before);
    for (const digest of [result, answer.artifact_manifest_digest]) {
      const bytes = fs.readFileSync(place_of(digest));
      bytes[bytes.length >> 1] ^= 0x40;
      fs.chmodSync(place_of(digest), 0o600);
      fs.writeFileSync(place_of(digest), bytes);
    }
    const dry = add(data, ['--dry-run', a]);
    assert.equal(dry.answer.put_back, undefined);
    const text = tracecore(['run', 'add', '--data-dir', data, a]);
    assert.equal(text.status, 0, text.stderr);
    assert.match(text.stdout, /\n2 files of its evidence were put back\n/u);
    assert.match(text.stderr, /the stored copy of the manifest was damaged; it is put back/u);
    assert.equal(tracecore(['evidence', 'verify', '--data-dir', data, answer.run_id]).status, 0);
    assert.match(tracecore(['run', 'add', '--data-dir', data, a]).stdout, /nothing was changed/u);
  });

  test('gives each dimension and each definition once', () => {
    const one = file('one.json', vllm({ max_concurrency: 1 }));
    const two = file('two.json', vllm({ max_concurrency: 2 }));
    const first = add(fresh(), [one]).answer.rows;
    const second = add(data, [two]).answer.rows;
    assert.ok(first.metric_definition_dim > 10);
    assert.equal(first.workload_dim, 1);
    assert.equal(second.metric_definition_dim, undefined);
    assert.equal(second.workload_dim, undefined);
    assert.equal(second.benchmark_run_fact, 1);
  });

  test('of the same file twice is one file', () => {
    const a = file('a.json', vllm());
    const b = file('same.json', vllm());
    const { answer } = add(fresh(), [a, b]);
    assert.equal(answer.rows.serving_outcome_fact, 1);
    assert.match(answer.problems.at(-1).text, /the same bytes as another result file/u);
  });

  test('with other content under the same id is an error that says which file', () => {
    const a = file('a.json', vllm());
    assert.equal(add(fresh(), ['--run-id', 'mine', a]).answer.run_id, 'mine');
    const before = stored(data);
    assert.equal(add(data, ['--run-id', 'mine', a]).answer.status, 'there');
    file('a.json', vllm({ completed: 39, num_prompts: 39 }));
    const changed = add(data, ['--run-id', 'mine', a]);
    assert.equal(changed.status, 1);
    assert.match(changed.stderr, /a\.json differs: it has sha256:/u);
    assert.match(changed.stderr, /run mine is there with other content/u);
    const b = file('b.json', vllm({ max_concurrency: 64 }));
    const other = add(data, ['--run-id', 'mine', b]);
    assert.equal(other.status, 1);
    assert.match(other.stderr, /it has the result a\.json, which is not given here/u);
    assert.deepEqual(stored(data), before);
    assert.equal(list(data).length, 1);
  });
});

describe('replicates', () => {
  test('are counted within their group', () => {
    const yaml = file('run.yaml', contract());
    fresh();
    const indexes = [1, 2, 3].map((n) => {
      const { answer } = add(data, ['--contract', yaml, file(`r${n}.json`, vllm({ duration: 30 + n }))]);
      return show(data, answer.run_id).run;
    });
    assert.deepEqual(indexes.map((run) => run.replicate_index), [1, 2, 3]);
    assert.equal(new Set(indexes.map((run) => run.benchmark_case_id)).size, 1);
    assert.equal(indexes[0].replicate_group, indexes[0].benchmark_case_id);
    const own = add(data, ['--contract', yaml, '--replicate-group', 'mine', file('r4.json', vllm({ duration: 40 }))]);
    assert.equal(show(data, own.answer.run_id).run.replicate_index, 1);
  });

  test('are not the same bytes under another id', () => {
    const yaml = file('run.yaml', contract());
    const result = file('r.json', vllm());
    assert.equal(add(fresh(), ['--contract', yaml, result]).status, 0);
    const twin = add(data, ['--contract', yaml, '--run-id', 'twin', result]);
    assert.equal(twin.status, 1);
    assert.match(twin.stderr, /the same bytes are no second measurement/u);
    const forced = add(data, ['--contract', yaml, '--run-id', 'twin', '--force', result]);
    assert.equal(forced.status, 0);
    assert.equal(forced.answer.publishable, false);
    assert.equal(show(data, 'twin').run.replicate_index, null, 'and counts for nothing');
    const next = add(data, ['--contract', yaml, file('r2.json', vllm({ duration: 41 }))]);
    assert.equal(show(data, next.answer.run_id).run.replicate_index, 2);
    const explored = add(data, [result]);
    assert.equal(explored.status, 0, 'exploring is free');
    assert.match(explored.answer.problems.at(-1).text, /is a result of .* too/u);
    assert.equal(show(data, explored.answer.run_id).run.replicate_index, 1, 'of its own case');
    const again = add(data, ['--name', 'again', result]);
    assert.equal(again.status, 0);
    assert.equal(show(data, again.answer.run_id).run.replicate_index, null);
  });

  test('are the same bytes when --again says so, and never under another file name', () => {
    const yaml = file('run.yaml', contract());
    const first = add(fresh(), ['--contract', yaml, file('r.json', vllm())]);
    const renamed = add(data, ['--contract', yaml, file('other.json', vllm())]);
    assert.equal(renamed.answer.status, 'there');
    assert.equal(renamed.answer.run_id, first.answer.run_id);
    assert.equal(renamed.answer.artifact_manifest_digest, first.answer.artifact_manifest_digest);
    const ids = [2, 3].map((n) => {
      const { answer } = add(data, ['--contract', yaml, '--again', file('other.json', vllm())]);
      assert.equal(answer.status, 'added');
      assert.match(answer.problems.at(-1).text, new RegExp(`repetition ${n} of it`, 'u'));
      const { run } = show(data, answer.run_id);
      assert.equal(run.replicate_index, n);
      return answer.run_id;
    });
    assert.equal(new Set([first.answer.run_id, ...ids]).size, 3);
    if (!elsewhere) {
      const rebuilt = tracecore(['rebuild', '--dry-run', '--data-dir', data]);
      assert.equal(rebuilt.status, 0, rebuilt.stdout);
    }
    const both = add(data, ['--again', '--run-id', 'x', file('r.json', vllm())]);
    assert.match(both.stderr, /leave out --run-id, or --again/u);
  });

  test('are not runs of another model or type, or forced ones', () => {
    const yaml = file('run.yaml', contract());
    const index = (id) => show(data, id).run.replicate_index;
    fresh();
    add(data, ['--contract', yaml, '--run-id', 'first', file('r1.json', vllm())]);
    add(data, ['--contract', yaml, '--run-id', 'model', file('r2.json', vllm({ model_id: 'meta/another' }))]);
    const line = (ms, key, value) => `:::MLLOG ${JSON.stringify({ namespace: '', time_ms: ms, event_type: 'POINT_IN_TIME', key, value, metadata: { status: 'success' } })}`;
    const training = file('m.log', [line(1770000000000, 'submission_benchmark', 'llama2_70b_lora'), line(1770000001000, 'run_start', null),
      line(1770000900000, 'eval_accuracy', 0.92), line(1770000901000, 'run_stop', null), ''].join('\n'));
    const type = add(data, ['--contract', yaml, '--run-id', 'type', training]);
    assert.equal(type.status, 0, type.stderr);
    assert.equal(type.answer.publishable, false);
    assert.ok(type.answer.problems.some((p) => p.field === 'workload_type' && /the contract says inference, and there are results of training/u.test(p.text)));
    add(data, ['--contract', yaml, '--run-id', 'forced', '--force', file('r3.json', vllm({ completed: 400 }))]);
    add(data, ['--contract', yaml, '--run-id', 'second', file('r4.json', vllm({ duration: 44 }))]);
    assert.deepEqual(['first', 'model', 'type', 'forced', 'second'].map(index), [1, null, null, null, 2]);
  });

  test('without a contract have the same points and tools', () => {
    const bundle = path.join(place.folder, 'machine');
    assert.equal(tracecore(['probe', '-o', bundle]).status, 0);
    fresh();
    const kase = (args) => show(data, add(data, args).answer.run_id).run.benchmark_case_id;
    const four = kase([file('c4.json', vllm())]);
    assert.equal(kase([file('c4b.json', vllm({ duration: 35 })), '--artifact', bundle]), four, 'a probe measures nothing');
    assert.equal(kase([file('c4c.json', vllm({ duration: 36 })), path.join(bundle, 'probe.json')]), four);
    assert.notEqual(kase([file('c8.json', vllm({ max_concurrency: 8 }))]), four);
    assert.notEqual(kase([file('c4d.json', vllm({ duration: 37 })), file('c8b.json', vllm({ max_concurrency: 8, duration: 38 }))]), four);
  });

  test('are runs of their own: a point that is there twice is a warning', () => {
    const { status, answer } = add(fresh(), [file('a.json', vllm()), file('b.json', vllm({ duration: 34 }))]);
    assert.equal(status, 0);
    assert.ok(answer.problems.some((p) => /^the point ".*concurrency=4.*" is there 2 times/u.test(p.text)), JSON.stringify(answer.problems));
    const one = add(fresh(), [path.join(place.folder, 'a.json'), file('d.json', vllm({ max_concurrency: 8 }))]);
    assert.ok(!one.answer.problems.some((p) => /is there 2 times/u.test(p.text)));
  });
});

describe('equal contracts', () => {
  const python = spawnSync('python3', ['-c', 'import yaml']).status === 0;
  const parsed = () => JSON.parse(spawnSync('python3', ['-c',
    'import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))'], { input: contract(), encoding: 'utf8' }).stdout);
  const shuffled = (value) => {
    if (Array.isArray(value)) {
      return value.map(shuffled);
    }
    return value && typeof value === 'object'
      ? Object.fromEntries(Object.entries(value).reverse().map(([key, v]) => [key, shuffled(v)])) : value;
  };
  /** YAML of flow style, numbers in another spelling. */
  const spelled = (value) => {
    if (Array.isArray(value)) {
      return `[ ${value.map(spelled).join(' ,  ')} ]`;
    }
    if (value && typeof value === 'object') {
      return `{ ${Object.entries(value).map(([k, v]) => `${JSON.stringify(k)}:   ${spelled(v)}`).join(' ,\n ')} }`;
    }
    if (typeof value === 'number') {
      return Number.isInteger(value) ? `0x${value.toString(16)}` : `${value}000`;
    }
    return JSON.stringify(value);
  };
  test('have one workload digest and one case', { skip: python ? false : 'no PyYAML' }, () => {
    const document = parsed();
    const texts = [contract(), JSON.stringify(document), JSON.stringify(shuffled(document), null, 3), spelled(shuffled(document))];
    assert.equal(new Set(texts).size, 4);
    fresh();
    const runs = texts.map((text, n) => {
      const { status, answer, stderr } = add(data, ['--contract', file(`c${n}.yaml`, text), file(`s${n}.json`, vllm({ duration: 50 + n }))]);
      assert.equal(status, 0, stderr);
      return show(data, answer.run_id).run;
    });
    assert.equal(new Set(runs.map((run) => run.workload_spec_digest)).size, 1);
    assert.equal(new Set(runs.map((run) => run.contract_digest)).size, 1);
    assert.equal(new Set(runs.map((run) => run.benchmark_case_id)).size, 1);
    document.spec.workload.precision = 'fp8';
    const other = add(data, ['--contract', file('other.yaml', JSON.stringify(document)), file('s9.json', vllm({ duration: 59 }))]);
    assert.notEqual(show(data, other.answer.run_id).run.workload_spec_digest, runs[0].workload_spec_digest);
  });
});

describe('a dry run', () => {
  test('checks everything and writes nothing', () => {
    const { status, answer } = add(fresh(), ['--dry-run', file('a.json', vllm())]);
    assert.equal(status, 0);
    assert.equal(answer.status, 'checked');
    assert.equal(fs.existsSync(data), false);
    const real = add(data, [path.join(place.folder, 'a.json')]);
    assert.equal(real.answer.run_id, answer.run_id);
    assert.equal(add(data, ['--dry-run', path.join(place.folder, 'a.json')]).answer.status, 'there');
    const bad = add(data, ['--dry-run', file('bad.json', '{"model_id":')]);
    assert.equal(bad.status, 1);
  });
});

describe('the text', () => {
  test('is a short summary', () => {
    const out = tracecore(['run', 'add', '--data-dir', fresh(), '--result', file('a.json', vllm()), '--name', 'first\u001b[31m try']);
    assert.equal(out.status, 0, out.stderr);
    assert.match(out.stdout, /^added: run-[0-9a-f]{16} {2}first\\x1b\[31m try\n {2}class: exploratory, not to be published: it has no contract\n/u);
    assert.match(out.stdout, / {2}a\.json +result +vllm +3\n/u);
    assert.match(out.stdout, /\nnext: tracecore run show run-[0-9a-f]{16}\n$/u);
    for (const line of out.stdout.split('\n')) {
      assert.ok([...line].length <= 80, line);
    }
  });
});

describe('wrong usage', () => {
  const cases = {
    'no result': [[], /a run needs a result/u],
    'telemetry only': [['--telemetry', 'x.prom'], /a run needs a result/u],
    'an id with blanks': [['--run-id', 'a b', 'x.json'], /--run-id takes 1 to 100 letters/u],
    'an id of 101 bytes': [['--run-id', 'a'.repeat(101), 'x.json'], /--run-id takes/u],
    'two contracts': [['--contract', 'a', '--contract', 'b', '--result', 'x.json'], /one contract, not 2/u],
    'a name beside a contract': [['--contract', 'a', '--name', 'n', '--result', 'x.json'], /--name is for runs without a contract/u],
    'an empty intent': [['--intent', '', '--result', 'x.json'], /--intent: empty/u],
    'an unknown reader': [['--format', 'vlm', '--result', 'x.json'], /no reader is called "vlm"; there are .*vllm/u],
  };
  for (const [name, [args, message]] of Object.entries(cases)) {
    test(name, () => {
      const out = tracecore(['run', 'add', '--data-dir', fresh(), ...args]);
      assert.equal(out.status, 2);
      assert.match(out.stderr, message);
      assert.equal(fs.existsSync(data), false);
    });
  }
  test('an action that is none', () => {
    assert.match(tracecore(['run', 'ad']).stderr, /"ad" is no action; did you mean "add"\?/u);
    assert.match(tracecore(['run']).stderr, /what is to be done\?/u);
    assert.match(tracecore(['run', 'show']).stderr, /something is missing: tracecore run show RUN/u);
    assert.match(tracecore(['run', 'diff', 'a', 'b', 'c']).stderr, /that is too much: tracecore run diff A B/u);
  });
});
