// SPDX-License-Identifier: Apache-2.0
// docs/ATTRIBUTES.md is what the program says it reads, the wordings of training in docs/otlp.md are
// as the program takes them, and the codecs of docs/internals/architecture.md are those of codecs.def.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

const binary = process.env.TC_BINARY;
const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const page = fs.readFileSync(path.join(source, 'docs/otlp.md'), 'utf8');

const between = (from, to) => page.slice(page.indexOf(from), page.indexOf(to));
const rowsOf = (text) => text.split('\n').filter((line) => line.startsWith('| ')).slice(2)
  .map((line) => line.split(/(?<!\\)\|/u).slice(1, -1).map((cell) => cell.trim().replaceAll('\\|', '|')));
const spans = (text) => [...text.matchAll(/`([^`]+)`/gu)].map((span) => span[1]);

describe('docs/ATTRIBUTES.md', () => {
  test('is what the program prints', () => {
    const result = spawnSync(binary, ['decode', '--attributes'], { encoding: 'utf8' });
    assert.equal(result.status, 0, result.stderr);
    assert.equal(result.stdout, fs.readFileSync(path.join(source, 'docs/ATTRIBUTES.md'), 'utf8'),
      "run 'tracecore decode --attributes > docs/ATTRIBUTES.md'");
  });
  test('an attribute of otlp.md is one of its', () => {
    const all = new Set(spans(fs.readFileSync(path.join(source, 'docs/ATTRIBUTES.md'), 'utf8')));
    const told = spans(between('## What a log record is', '### Wordings'))
      .filter((name) => /^(?:_|SYSLOG_|log\.|k8s\.[a-z]+\.name|gen_ai\.|training\.)/u.test(name));
    assert.ok(told.length > 5, String(told));
    assert.deepEqual(told.filter((name) => !all.has(name)), []);
  });
});

const KINDS = ['dataloader_error', 'checkpoint', 'train_step'];
const wordings = rowsOf(between('### Wordings', 'Left out on purpose'))
  .flatMap(([, lines, become]) => spans(lines).map((line) => ({ line, become })));

let folder;
before(() => {
  assert.ok(binary, 'TC_BINARY names the program to test');
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_codec_docs_'));
});
after(() => fs.rmSync(folder, { recursive: true, force: true }));

function decode(text, format) {
  fs.writeFileSync(path.join(folder, 'input'), text);
  const result = spawnSync(binary, ['decode', `--format=${format}`, 'input'], { cwd: folder, encoding: 'utf8' });
  assert.equal(result.status, 0, result.stderr);
  return result.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

const asRecord = (body) => `${JSON.stringify({ resourceLogs: [{ resource: {}, scopeLogs: [{
  logRecords: [{ timeUnixNano: '1772600760000000000', body: { stringValue: body } }] }] }] })}\n`;

describe('wordings of training', () => {
  test('the table is found', () => assert.ok(wordings.length > 25, String(wordings.length)));
  for (const { line, become } of wordings) {
    test(line, () => {
      const words = spans(become);
      const kind = KINDS.includes(words[0]) ? words[0] : 'dataloader_error';
      const body = line.replace(/\bN\b/u, '30');
      for (const events of [decode(`2026-03-04 05:06:00 ${body}\n`, 'train_log'), decode(asRecord(body), 'otlp')]) {
        assert.equal(events.length, 1);
        assert.equal(events[0].kind, kind);
        if (kind === 'dataloader_error') {
          assert.ok(words.includes(events[0].error_class), events[0].error_class);
        } else if (kind === 'checkpoint') {
          assert.ok(become.endsWith(` ${events[0].state}`), events[0].state);
        } else if (become.includes('phase eval') && !become.includes('train or eval')) {
          assert.equal(events[0].phase, 'eval');
        }
      }
    });
  }
});

test('the codecs of docs/internals/architecture.md', () => {
  const text = fs.readFileSync(path.join(source, 'docs/internals/architecture.md'), 'utf8');
  const list = text.slice(text.indexOf('## The codecs'), text.indexOf('## The flow'));
  const codecs = fs.readFileSync(path.join(source, 'src/codec/codecs.def'), 'utf8');
  assert.deepEqual(rowsOf(list).map(([name]) => spans(name)[0]),
    [...codecs.matchAll(/^CODEC\((\w+)\)/gmu)].map((line) => line[1]));
});
