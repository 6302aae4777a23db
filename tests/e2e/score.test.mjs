// SPDX-License-Identifier: Apache-2.0
// `tracecore score` on what `tracecore detect --json` really prints for the replays of the story:
// all of it found, something not recorded, something raised too much; and what it refuses.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

const binary = path.resolve(process.env.TC_BINARY ?? 'build/release/tracecore');
const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const story = path.join(source, 'tests/replay/story');

let folder;
before(() => { folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_score_')); });
after(() => fs.rmSync(folder, { recursive: true, force: true }));

function run(args, options = {}) {
  const result = spawnSync(binary, args, { encoding: 'utf8', cwd: folder, maxBuffer: 1 << 26, ...options });
  assert.equal(result.signal, null, result.stderr);
  return result;
}

function write(name, text) {
  const file = path.join(folder, name);
  fs.writeFileSync(file, text);
  return file;
}

const lines = (list) => list.map((line) => `${JSON.stringify(line)}\n`).join('');
const RUN = { truth: 'run', version: 1 };
const gpu = { 'k8s.node.name': 'gpu-07', 'gpu.uuid': 'GPU-34d874be-0835-5f1e-8425-67ac19991809',
  'pci.bdf': '0000:43:00.0', 'gpu.index': 1 };
const pod = { 'k8s.namespace.name': 'train', 'k8s.pod.name': 'llama-worker-5' };
const at = (time) => `2026-03-04T${time}Z`;
const CHAIN = [
  RUN,
  { truth: 'fault', id: 'f1', pattern: 'hbm_ecc', discriminator: 'uncorrectable', start: at('05:06:39'),
    end: at('05:06:47'), culprit: gpu },
  { truth: 'fault', id: 'f2', pattern: 'xid_correlation', discriminator: 'hardware_xid',
    start: at('05:06:39'), end: at('05:08:42'), culprit: { ...pod, 'k8s.node.name': 'gpu-07' } },
  { truth: 'fault', id: 'f3', pattern: 'nccl_hang', discriminator: 'lagging_rank', start: at('05:06:41'),
    end: at('05:08:42'), culprit: { 'job.id': 'llama', ranks: [5] }, affected_ranks: [0, 1, 2, 3, 4, 5, 6, 7] },
  { truth: 'fault', id: 'f4', pattern: 'pod_evicted', start: at('05:08:42'), end: at('05:08:42'), culprit: pod },
  { truth: 'noise', id: 'n1', pattern: 'hbm_ecc', start: at('05:00:00'), end: at('05:01:00'),
    culprit: { 'k8s.node.name': 'gpu-08' } },
];

function detect(name) {
  const home = path.join(story, name);
  const file = path.join(home, 'args');
  const args = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  return run(['detect', '--json', ...args, 'input'], { cwd: home }).stdout;
}

const score = (args, options) => {
  const result = run(['score', '--json', ...args], options);
  return { ...result, score: result.stdout === '' ? null : JSON.parse(result.stdout) };
};

describe('score', () => {
  test('a chain of which everything is found is perfect', () => {
    const truth = write('chain.ndjson', lines(CHAIN));
    const verdicts = detect('fires_chain_of_four_files');
    const { status, score: s } = score(['--truth', truth, '-', '--min-precision', '1', '--min-recall=1',
      '--min-culprit', '1', '--per-pattern'], { input: verdicts });
    assert.equal(status, 0);
    assert.equal(s.all.true_positives, 4);
    assert.equal(s.all.false_positives + s.all.false_negatives, 0);
    assert.equal(s.all.true_negatives, 1);
    assert.equal(s.all.culprit_accuracy, 1);
    assert.equal(s.all.discriminator_accuracy, 1);
    assert.deepEqual(s.patterns.map((row) => row.pattern),
      ['hbm_ecc', 'nccl_hang', 'pod_evicted', 'xid_correlation']);
    assert.ok(s.all.time_to_detection_median_seconds >= 0);
  });

  test('without the dumps the hang is missed', () => {
    const truth = write('chain.ndjson', lines(CHAIN));
    const verdicts = write('v.ndjson', detect('degrades_chain_without_dumps'));
    const { status, stderr, score: s } = score(['--truth', truth, verdicts, '--min-recall', '0.9']);
    assert.equal(status, 1);
    assert.match(stderr, /all: recall 0\.7500 is below 0\.9/);
    assert.equal(s.all.false_negatives, 1);
    assert.deepEqual(s.false_negatives_list.list.map((entry) => entry.id), ['f3']);
  });

  test('a verdict for which there is no fault is a false positive', () => {
    const truth = write('less.ndjson', lines(CHAIN.filter((line) => line.id !== 'f4')));
    const verdicts = write('v.ndjson', detect('fires_chain_of_four_files'));
    const { status, stderr, score: s } = score([verdicts, '--truth', truth, '--min-precision', '0.8',
      '--per-pattern']);
    assert.equal(status, 1);
    assert.equal(stderr, 'tracecore score: pod_evicted: precision 0.0000 is below 0.8\n' +
      'tracecore score: all: precision 0.7500 is below 0.8\n');
    assert.equal(s.false_positives_list.total, 1);
    assert.equal(s.false_positives_list.list[0].pattern, 'pod_evicted');
    assert.equal(score([verdicts, '--truth', truth, '--min-precision', '0.75']).status, 0);
  });

  test('pairs are summed, each with its own verdicts', () => {
    const truth = write('chain.ndjson', lines(CHAIN));
    const all = write('v.ndjson', detect('fires_chain_of_four_files'));
    const none = write('none.ndjson', '');
    const { score: s } = score(['--truth', truth, all, '--truth', truth, none, '--', all]);
    assert.equal(s.pairs, 2);
    assert.equal(s.all.true_positives, 8);
    const other = score(['--truth', truth, none, '--truth', truth, all]).score;
    assert.equal(other.all.true_positives, 4);
    assert.equal(other.all.false_negatives, 4);
  });

  test('the cascade of the example is one hang', () => {
    const truth = path.join(source, 'docs/score/truth.ndjson');
    const verdicts = run(['detect', '--json', 'examples/incident'], { cwd: source }).stdout;
    const { score: s } = score(['--truth', truth, '-'], { input: verdicts });
    const hang = s.patterns.find((row) => row.pattern === 'nccl_hang');
    assert.deepEqual([hang.true_positives, hang.false_positives, hang.explained], [1, 0, 4]);
  });

  test('a figure that is asked for and does not exist fails', () => {
    const truth = write('run.ndjson', lines([RUN]));
    const none = write('none.ndjson', '');
    assert.equal(score(['--truth', truth, none]).status, 0);
    const { status, stderr } = score(['--truth', truth, none, '--min-precision', '0.5', '--min-recall', '0']);
    assert.equal(status, 1);
    assert.match(stderr, /all: there is no precision: no verdicts/);
    assert.match(stderr, /all: there is no recall: no faults/);
  });

  test('--list and --grace', () => {
    const truth = write('chain.ndjson', lines(CHAIN));
    const none = write('none.ndjson', '');
    const text = run(['score', '--list=1', '--truth', truth, none]).stdout;
    assert.match(text, /^False negatives: 4\n {2}f1 [^]* and 3 more$/m);
    const bare = run(['score', '--list=0', '--truth', truth, none]).stdout;
    assert.ok(!bare.includes('False'));
    const late = write('late.ndjson', lines([RUN, { ...CHAIN[4], start: at('04:00:00'), end: at('04:00:00') }]));
    const verdicts = write('v.ndjson', detect('fires_chain_of_four_files'));
    const hits = (grace) => score(['--truth', late, verdicts, '--grace', grace]).score.all.true_positives;
    assert.equal(hits('1h'), 0);
    assert.equal(hits('4122s'), 1);
    assert.equal(hits('4121s'), 0);
  });

  test('what is wrong is named with file and line', () => {
    const truth = write('chain.ndjson', lines(CHAIN));
    const none = write('none.ndjson', '');
    const bad = [
      [['--truth', write('bad.ndjson', lines([RUN, { ...CHAIN[1], pattern: 'hbm' }])), none],
        /bad\.ndjson:2: "pattern": no pattern hbm; use checkpoint_stall, .*xid_correlation\n/],
      [['--truth', truth, write('worse.ndjson', '{"pattern.name":"hbm_ecc"}\n')],
        /worse\.ndjson:1: "incident_id" is missing: this is no verdict/],
      [['--truth', truth, truth], /chain\.ndjson:1: .*give it with --truth/],
      [['--truth', truth, 'missing.ndjson'], /missing\.ndjson: /],
      [['--truth', truth], /no verdicts follow/],
      [[none], /give --truth FILE/],
      [[none, '--truth', truth, '--truth', truth, none], /verdicts come after the --truth/],
      [['--truth', '-', '-'], /only once/],
      [['--truth', truth, none, '--min-recall', '95'], /"95" is not a number from 0 to 1/],
      [['--truth', truth, none, '--min-recall', 'nan'], /is not a number from 0 to 1/],
      [['--truth', truth, none, '--list', '-1'], /--list/],
      [['--truth', truth, none, '--grace', 'soon'], /--grace: "soon" is not a duration/],
      [['--truth', truth, none, '--jason'], /did you mean --json/],
    ];
    for (const [args, message] of bad) {
      const { status, stdout, stderr } = run(['score', ...args]);
      assert.equal(status, 2, args.join(' '));
      assert.equal(stdout, '');
      assert.match(stderr, message);
    }
  });
});

describe('a truth beside the telemetry', () => {
  test('detect does not read it, and does not complain', () => {
    const home = path.join(folder, 'beside');
    fs.cpSync(path.join(source, 'examples/incident'), home, { recursive: true });
    const before = run(['detect', '--json', home]);
    fs.copyFileSync(path.join(source, 'docs/score/truth.ndjson'), path.join(home, 'truth.ndjson'));
    const beside = run(['detect', '--json', home]);
    assert.equal(beside.stdout, before.stdout);
    assert.equal(beside.status, before.status);
    assert.ok(!beside.stderr.includes('not recognised'), beside.stderr);
    assert.equal(run(['decode', '--unknown', path.join(home, 'truth.ndjson')]).stdout, '');
  });

  test('a kernel log beside it is still dated by itself', () => {
    const home = path.join(folder, 'log');
    fs.mkdirSync(home);
    fs.writeFileSync(path.join(home, 'dmesg-gpu-07.txt'),
      '[  100.000000] NVRM: Xid (PCI:0000:43:00): 48, pid=1, name=python3, DBE\n');
    const alone = run(['detect', '--json', home]);
    fs.copyFileSync(path.join(source, 'docs/score/truth.ndjson'), path.join(home, 'truth.ndjson'));
    const beside = run(['detect', '--json', home]);
    assert.equal(alone.status, 1);
    assert.equal(beside.stdout, alone.stdout);
  });
});
