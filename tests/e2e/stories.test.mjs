// SPDX-License-Identifier: Apache-2.0
// What a person reads: the page of a story, the overview, the filters. docs/internals/text.md is the
// design. Every input here is invented.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import zlib from 'node:zlib';

const binary = process.env.TC_BINARY;

let folder;
before(() => {
  assert.ok(binary, 'TC_BINARY names the program to test');
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_stories_'));
  fs.mkdirSync(path.join(folder, 'logs'));
  // Three GPUs lose memory on three nodes: an uncorrectable error, a remap that is pending, and one that failed.
  write('logs/dmesg-gpu-07.txt', `${xid(48, '05:06:41', 'DBE at 0x1')}${xid(63, '05:06:42', 'Row Remapper: New row marked for remapping')}`);
  write('logs/dmesg-gpu-08.example.org.txt', xid(63, '05:10:00', 'Row Remapper: New row marked for remapping'));
  write('logs/dmesg-gpu-09.txt', xid(64, '03:00:00', 'Row Remapper: failed'));
});
after(() => fs.rmSync(folder, { recursive: true, force: true }));

function write(name, content) {
  fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  fs.writeFileSync(path.join(folder, name), content);
}

function xid(number, time, words) {
  return `2026-03-04T${time},000000+00:00 NVRM: Xid (PCI:0000:43:00): ${number}, pid=4711, name=python3, ${words}\n`;
}

function run(args, env = {}) {
  const result = spawnSync(binary, args, { encoding: 'utf8', cwd: folder, env: { PATH: process.env.PATH, HOME: folder, ...env } });
  assert.equal(result.signal, null, result.stderr);
  return { code: result.status, out: result.stdout, err: result.stderr };
}

const patterns = (text) => text.split('\n').filter(Boolean).map((line) => JSON.parse(line)['k8s.node.name']);
// The commands of all pages.
const commands = (text) => [...text.matchAll(/^ {4}((?:sed|tracecore) .*)$/gmu)].map((m) => m[1]);
const shell = (command, dir) => execFileSync('bash', ['-c', `tracecore() { ${JSON.stringify(binary)} "$@"; }; ${command}`],
  { cwd: path.join(folder, dir ?? '.'), encoding: 'utf8' });

describe('the page', () => {
  test('severity, what and where; what to do; why; then the rest', () => {
    const { code, out } = run(['detect', '-q', 'logs/dmesg-gpu-07.txt']);
    assert.equal(code, 1);
    const lines = out.split('\n');
    assert.match(lines[0], /^CRITICAL {2}hbm_ecc \w+ · node gpu-07 · PCI 0000:43:00\.0/u);
    const titles = lines.filter((line) => /^ {2}[A-Z]/u.test(line));
    assert.deepEqual(titles, ['  To do', '  Why', '  Timeline', '  Evidence', '  Details']);
    const why = lines.slice(lines.indexOf('  Why') + 1, lines.indexOf('  Timeline'));
    assert.ok(why.length >= 1 && why.length <= 3, why.join('\n'));
  });

  test('every piece of evidence is printed by its command', () => {
    const quoted = run(['detect', '-q', 'logs']).out;
    const found = commands(quoted);
    assert.ok(found.length >= 4);
    for (const command of found) {
      const printed = shell(command).trim();
      assert.ok(printed.startsWith('2026-03-04T') && quoted.includes(printed), `${command}: ${printed}`);
    }
  });

  test('also from archives, from names that need quotes, and from documents', () => {
    write("odd/it's a log-gpu-07.txt", xid(48, '05:06:41', 'DBE'));
    write('odd/kern-gpu-08.log.gz', zlib.gzipSync(`quiet\n${xid(95, '05:06:41', 'Uncontained: LTC TAG')}`));
    write('odd/a\tb-gpu-09.txt', xid(48, '05:06:41', 'DBE'));
    execFileSync('tar', ['czf', path.join(folder, 'odd/bundle.tgz'), '-C', folder, 'logs/dmesg-gpu-09.txt']);
    const { out } = run(['detect', '-q', 'odd']);
    const found = commands(out);
    assert.ok(found.some((command) => command.includes('kern-gpu-08.log.gz')), out);
    assert.ok(found.some((command) => command.includes('bundle.tgz')), out);
    assert.ok(found.length >= 4);
    for (const command of found) {
      assert.match(shell(command), /^2026-03-04T.*NVRM: Xid/u, command);
    }
  });
});

describe('several stories', () => {
  test('begin with an overview: open before resolved, critical first', () => {
    const { out } = run(['detect', '-q', 'logs']);
    const lines = out.split('\n');
    assert.match(lines[0], /^3 stories on 2026-03-04 \(UTC\): 3 open \(2 critical, 1 warning\)$/u);
    assert.match(lines[1], /^ {2}1 {2}CRITICAL {2}03:00 {2}hbm_ecc \w+ · node gpu-09 /u);
    assert.match(lines[2], /^ {2}2 {2}CRITICAL {2}05:06 {2}hbm_ecc \w+ · node gpu-07 /u);
    assert.match(lines[3], /^ {2}3 {2}WARNING {3}05:10 {2}hbm_ecc \w+ · node gpu-08\.example\.org /u);
    assert.equal(lines[4], '');
    assert.deepEqual([...out.matchAll(/^(\d)\. ([A-Z]+)/gmu)].map((m) => `${m[1]} ${m[2]}`), ['1 CRITICAL', '2 CRITICAL', '3 WARNING']);
    assert.match(run(['detect', 'logs']).err, /, 3 stories$/mu);
  });

  test('--brief is the overview alone', () => {
    const { code, out } = run(['detect', '-q', '--brief', 'logs']);
    assert.equal(code, 1);
    assert.equal(out, run(['detect', '-q', 'logs']).out.split('\n\n')[0] + '\n');
    assert.equal(run(['detect', '-q', '--brief', 'logs/dmesg-gpu-07.txt']).out.split('\n').length, 3);
  });

  test('nothing is cut in a pipe, and nothing is wider than a terminal', () => {
    assert.ok(!run(['detect', '-q', 'logs']).out.includes('…'));
    const shown = spawnSync('script', ['-qec', `stty cols 60; '${binary}' detect -q --color=never logs`, '/dev/null'],
      { encoding: 'utf8', cwd: folder, env: { PATH: process.env.PATH, TERM: 'xterm' } });
    if (!shown.error) {
      assert.match(shown.stdout, /…/u);
      for (const line of shown.stdout.split('\r\n').filter((l) => !/^ {4}(?:sed|tracecore) /u.test(l))) {
        assert.ok([...line].length <= 60, line);
      }
    }
  });
});

describe('filters', () => {
  test('--node takes short and full names', () => {
    const nodes = (name) => patterns(run(['detect', '-q', '--json', '--node', name, 'logs']).out);
    assert.deepEqual(nodes('gpu-07'), ['gpu-07']);
    assert.deepEqual(nodes('GPU-07.example.org'), ['gpu-07']);
    assert.deepEqual(nodes('gpu-08'), ['gpu-08.example.org']);
    assert.deepEqual(nodes('gpu-08.example.org'), ['gpu-08.example.org']);
    assert.deepEqual(nodes('gpu-08.example.com'), []);
    assert.deepEqual(nodes('gpu-0'), []);
  });

  test('--node NAME=FILE still says whose file it is', () => {
    write('plain/dmesg.txt', xid(48, '05:06:41', 'DBE'));
    assert.deepEqual(patterns(run(['detect', '-q', '--json', '--node', 'gpu-11=dmesg.txt', '--node', 'gpu-11', 'plain']).out), ['gpu-11']);
  });

  test('--since takes a time, or how long before the end of the data', () => {
    const nodes = (...args) => patterns(run(['detect', '-q', '--json', ...args, 'logs']).out);
    assert.deepEqual(nodes('--since', '2026-03-04T05:00:00Z'), ['gpu-07', 'gpu-08.example.org']);
    assert.deepEqual(nodes('--since', '2m'), ['gpu-08.example.org']);
    assert.deepEqual(nodes('--since', '10m'), ['gpu-07', 'gpu-08.example.org']);
    assert.deepEqual(nodes('--since', '10m', '--now', '2026-03-04T06:00:00Z'), []);
    assert.equal(nodes('--since', '3d').length, 3);
  });

  test('what filters hide is counted', () => {
    const { out, err, code } = run(['detect', '--json', '--job', 'none', 'logs']);
    assert.equal(out, '');
    assert.equal(code, 0);
    assert.match(err, /, 3 stories, 0 shown$/mu);
  });

  test('without filters --json is what it was: every verdict, in order', () => {
    const all = run(['detect', '-q', '--json', 'logs']).out;
    assert.equal(run(['detect', '-q', '--json', '--brief', '--all', 'logs']).out, all);
    assert.equal(run(['detect', '-q', '--json', '--since', '1970-01-01T00:00:00Z', 'logs']).out, all);
  });
});
