// SPDX-License-Identifier: Apache-2.0
// Nobody gathers an incident only once: the same files lie in two directories, an exporter is
// scraped twice, the kernel's lines come as a log and through a collector. What is told twice
// happened once.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

const binary = process.env.TC_BINARY;
const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const replay = path.join(source, 'tests/replay');

let folder;
before(() => {
  assert.ok(binary, 'TC_BINARY names the program to test');
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_dedupe_'));
});
after(() => fs.rmSync(folder, { recursive: true, force: true }));

function detect(cwd, args) {
  const result = spawnSync(binary, ['detect', '--json', ...args], { encoding: 'utf8', cwd });
  assert.equal(result.signal, null, result.stderr);
  return result.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

// The bytes that prove a fact may lie in either copy; everything else is the same.
const told = (verdicts) => verdicts.map((verdict) => ({
  ...verdict,
  evidence_trail: verdict.evidence_trail.map(({ kind, uid, time, description }) =>
    ({ kind, uid, time, description })),
}));

const patterns = fs.readdirSync(replay, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== '__pycache__')
  .map((entry) => entry.name);

describe('all files twice, in two directories', () => {
  for (const pattern of patterns) {
    test(pattern, () => {
      const cases = fs.readdirSync(path.join(replay, pattern))
        .filter((name) => fs.existsSync(path.join(replay, pattern, name, 'input')));
      let verdicts = 0;
      for (const name of cases) {
        const home = path.join(replay, pattern, name);
        const copy = path.join(folder, pattern, name);
        fs.cpSync(path.join(home, 'input'), path.join(copy, 'input'), { recursive: true });
        const file = path.join(home, 'args');
        const args = fs.existsSync(file)
          ? fs.readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
        const once = detect(home, [...args, 'input']);
        const twice = detect(home, [...args, 'input', path.join(copy, 'input')]);
        assert.deepEqual(told(twice), told(once), `${pattern}/${name}`);
        verdicts += once.length;
      }
      assert.ok(verdicts > 0, 'some of the cases fire');
    });
  }
});

describe('copies of dumps', () => {
  const dumps = path.join(replay, 'nccl_hang/fires_on_missing_rank/input/pretrain');

  test('one dump that differs makes it another job', () => {
    const here = path.join(folder, 'other');
    for (const name of ['a/pretrain', 'b/pretrain']) {
      fs.cpSync(dumps, path.join(here, name), { recursive: true });
    }
    const first = path.join(here, 'b/pretrain', fs.readdirSync(dumps).sort()[0]);
    fs.appendFileSync(first, '\n');
    const jobs = detect(here, ['a', 'b']).map((verdict) => verdict['job.id']);
    assert.deepEqual(jobs.sort(), ['a/pretrain', 'b/pretrain']);
  });

  test('a copy of some of the dumps is none either', () => {
    const here = path.join(folder, 'some');
    fs.cpSync(dumps, path.join(here, 'a/pretrain'), { recursive: true });
    const name = fs.readdirSync(dumps).sort()[1];
    fs.mkdirSync(path.join(here, 'b/pretrain'), { recursive: true });
    fs.copyFileSync(path.join(dumps, name), path.join(here, 'b/pretrain', name));
    const jobs = detect(here, ['a', 'b']).map((verdict) => verdict['job.id']);
    assert.deepEqual(jobs, ['pretrain']);
  });
});
