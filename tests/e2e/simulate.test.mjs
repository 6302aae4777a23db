// SPDX-License-Identifier: Apache-2.0
// A small labelled fleet from end to end: written, read as it is, and scored.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

const binary = process.env.TC_BINARY;

let folder;
before(() => {
  assert.ok(binary, 'TC_BINARY names the program to test');
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_simulate_'));
});
after(() => fs.rmSync(folder, { recursive: true, force: true }));

function run(...args) {
  return spawnSync(binary, args, { encoding: 'utf8', cwd: folder, maxBuffer: 1 << 28 });
}

function files(root) {
  return fs.readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath ?? entry.path, entry.name)))
    .sort();
}

function digest(root) {
  const hash = createHash('sha256');
  for (const file of files(root)) {
    hash.update(file).update(fs.readFileSync(path.join(root, file)));
  }
  return hash.digest('hex');
}

describe('a fleet of 48 nodes', () => {
  before(() => {
    const result = run('simulate', '--nodes', '48', '--hours', '1', '--seed', '5', '--out', 'fleet');
    assert.equal(result.status, 0, result.stderr);
    assert.match(result.stderr, /48 nodes, \d+ jobs with \d+ ranks, \d+ faults/);
    const told = run('detect', '--json', 'fleet');
    assert.equal(told.status, 1, told.stderr);
    fs.writeFileSync(path.join(folder, 'verdicts'), told.stdout);
    fs.writeFileSync(path.join(folder, 'said'), told.stderr);
  });

  test('is read whole: nothing is unknown, broken or dropped', () => {
    const said = fs.readFileSync(path.join(folder, 'said'), 'utf8');
    assert.equal(said.trim().split('\n').length, 1, said);
    assert.doesNotMatch(said, /dropped|unknown|not understood|memory/);
  });

  test('holds every kind of file', () => {
    const kinds = new Set(files(path.join(folder, 'fleet')).map((file) => file.split('/')[0]));
    assert.deepEqual([...kinds].sort(), ['dcgm', 'dumps', 'k8s', 'kernel', 'training', 'truth.ndjson']);
  });

  test('is scored: every fault is found, nothing else is told', () => {
    const result = run('score', '--truth', 'fleet/truth.ndjson', 'verdicts',
      '--min-precision', '0.98', '--min-recall', '0.95', '--min-culprit', '0.9');
    assert.equal(result.status, 0, result.stdout + result.stderr);
  });

  test('is the same again, and another with another seed', () => {
    const again = run('simulate', '--nodes', '48', '--hours', '1', '--seed', '5', '-q', '--out', 'again');
    assert.equal(again.status, 0, again.stderr);
    assert.equal(again.stderr, '');
    assert.equal(digest(path.join(folder, 'again')), digest(path.join(folder, 'fleet')));
    assert.equal(run('simulate', '--nodes', '2', '--seed', '6', '-q', '--out', 'other').status, 0);
  });

  test('a quiet fleet raises nothing', () => {
    const made = run('simulate', '--nodes', '24', '--faults', 'none', '--seed', '9', '-q', '--out', 'quiet');
    assert.equal(made.status, 0, made.stderr);
    const told = run('detect', '--json', 'quiet');
    assert.equal(told.stdout, '');
    assert.equal(told.status, 0, told.stderr);
  });
});

describe('a stream', () => {
  /** The pieces: { at, file, bytes }. */
  function pieces(all) {
    const out = [];
    for (let at = 0; at < all.length;) {
      const end = all.indexOf(10, at);
      const [time, length, file] = all.toString('latin1', at, end).split(' ');
      at = end + 1 + Number(length);
      out.push({ at: BigInt(time), file, bytes: all.subarray(end + 1, at) });
    }
    return out;
  }
  const fleet = ['simulate', '--nodes', '8', '--gpus-per-node', '16', '--hours', '0.5', '--seed', '4'];

  test('is the files of the fleet, in the order of time', () => {
    const made = run(...fleet, '-q', '--out', 'streamed');
    assert.equal(made.status, 0, made.stderr);
    const told = spawnSync(binary, [...fleet, '--stream'], { cwd: folder, maxBuffer: 1 << 28 });
    assert.equal(told.status, 0, told.stderr.toString());
    const all = pieces(told.stdout);
    const parts = new Map();
    for (let i = 0; i < all.length; i++) {
      assert.ok(i === 0 || all[i].at >= all[i - 1].at);
      parts.set(all[i].file, [...(parts.get(all[i].file) ?? []), all[i].bytes]);
    }
    assert.deepEqual([...parts.keys()].sort(), files(path.join(folder, 'streamed')));
    // The records of Kubernetes come one a request, and in files several.
    const elements = (text) => text.replaceAll(/^\{"resourceLogs":\[|\]\}$/gmu, '').replaceAll('},{"resource":', '}\n{"resource":');
    for (const [file, list] of parts) {
      const [got, wanted] = [Buffer.concat(list), fs.readFileSync(path.join(folder, 'streamed', file))];
      if (file.startsWith('k8s/')) assert.equal(elements(got.toString()), elements(wanted.toString()), file);
      else assert.ok(got.equals(wanted), file);
    }
  });

  test('whose reader has gone ends quietly', () => {
    const told = spawnSync('sh', ['-c', `"${binary}" ${fleet.join(' ')} --stream 2>said | head -c 100000 | wc -c`], { cwd: folder, encoding: 'utf8' });
    assert.equal(told.stdout.trim(), '100000');
    assert.equal(fs.readFileSync(path.join(folder, 'said'), 'utf8'), '');
  });
});

describe('what is wrong is told', () => {
  const refuses = (name, args, wanted) => test(name, () => {
    const result = run('simulate', ...args);
    assert.equal(result.status, 2, result.stderr);
    assert.match(result.stderr, wanted);
  });
  refuses('no directory', [], /--out DIR, --otlp URL or --stream is missing/);
  refuses('a stream and a directory', ['--stream', '--out', 'x'], /--stream goes with neither --out nor --otlp/);
  refuses('a stream and a speed', ['--stream', '--speed', '2'], /--speed is for sending/);
  refuses('an unknown fault', ['--faults', 'hbm', '--out', 'x'], /--faults: no fault "hbm"; there are chain, /);
  refuses('too many nodes', ['--nodes', '99999', '--out', 'x'], /--nodes: 99999 is not between 1 and 20000/);
  refuses('no number', ['--nodes', 'many', '--out', 'x'], /--nodes: "many" is no whole number/);
  refuses('too short', ['--hours', '0.25', '--out', 'x'], /--hours: 15 minutes is not between/);
  refuses('no hours', ['--hours', '1h', '--out', 'x'], /--hours: "1h" is no number of hours/);
  refuses('no time', ['--start', 'monday', '--out', 'x'], /--start: "monday" is no time/);
  refuses('a SPEC that is not there', ['--faults', './no/spec', '--out', 'x'], /no\/spec: No such file/);

  test('the line of a SPEC file', () => {
    fs.writeFileSync(path.join(folder, 'spec'), '# faults\nchain\nhbm_ecc count=x\n');
    const result = run('simulate', '--faults', 'spec', '--out', 'x');
    assert.equal(result.status, 2);
    assert.match(result.stderr, /spec:3: count=x: not a number/);
    assert.ok(!fs.existsSync(path.join(folder, 'x')), 'nothing is written for a bad SPEC');
  });

  test('a directory with something in it is left alone', () => {
    fs.mkdirSync(path.join(folder, 'full'));
    fs.writeFileSync(path.join(folder, 'full/mine'), 'mine');
    const result = run('simulate', '--nodes', '1', '--out', 'full');
    assert.equal(result.status, 2);
    assert.match(result.stderr, /full is not empty/);
    assert.deepEqual(files(path.join(folder, 'full')), ['mine']);
  });

  test('--list-faults lists faults and variants', () => {
    const result = run('simulate', '--list-faults');
    assert.equal(result.status, 0);
    assert.match(result.stdout, /nccl_hang: .*\n {4}variants: host device gone mismatch\n/);
  });
});
