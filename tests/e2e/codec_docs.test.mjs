// SPDX-License-Identifier: Apache-2.0
// The tables of docs/otlp.md are what the code reads: attributes as src/codec/otlp_attrs.c lists
// them, and wordings of training as the program takes them. The codecs of docs/architecture.md are
// those of codecs.def.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

const binary = process.env.TC_BINARY;
const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const page = fs.readFileSync(path.join(source, 'docs/otlp.md'), 'utf8');
const code = fs.readFileSync(path.join(source, 'src/codec/otlp_attrs.c'), 'utf8');

const between = (from, to) => page.slice(page.indexOf(from), page.indexOf(to));
const rowsOf = (text) => text.split('\n').filter((line) => line.startsWith('| ')).slice(2)
  .map((line) => line.split(/(?<!\\)\|/u).slice(1, -1).map((cell) => cell.trim().replaceAll('\\|', '|')));
const spans = (text) => [...text.matchAll(/`([^`]+)`/gu)].map((span) => span[1]);

const table = [...code.matchAll(/ROW\("([^"]+)", (\w+), (\d+)\)/gu)]
  .map(([, name, field, claim]) => ({ name, field, claim: Number(claim) }));
const attributes = rowsOf(between('### Attributes', '### Wordings'));
const told = attributes.flatMap(([names]) => spans(names));

// Told in words: one name with two prefixes, the record's own member, forms of a value.
const SAID_OTHERWISE = ['k8s.pod.label.training.kubeflow.org/job-name', 'k8s.pod.labels.training.kubeflow.org/job-name'];
const NO_ATTRIBUTE = ['k8s.pod.label.', 'k8s.pod.labels.', 'eventName', 'checkpoint.WORD', 'checkpoint_WORD', 'GPU-',
  '.../pods/NAMESPACE_POD_UID/CONTAINER/N.log'];

describe('attributes', () => {
  test('every one that is read is told', () => {
    assert.ok(table.length > 40, 'the table of the code is found');
    const anywhere = new Set(spans(between('## What a log record is', '### Wordings')));
    const missing = table.map((row) => row.name)
      .filter((name) => !anywhere.has(name) && !SAID_OTHERWISE.includes(name));
    assert.deepEqual(missing, []);
  });
  test('every one that is told is read', () => {
    const read = new Set(table.map((row) => row.name));
    assert.deepEqual(told.filter((name) => !read.has(name) && !NO_ATTRIBUTE.includes(name)), []);
  });
  test('the upper one counts', () => {
    for (const field of new Set(table.map((row) => row.field))) {
      const claims = table.filter((row) => row.field === field)
        .sort((a, b) => told.indexOf(a.name) - told.indexOf(b.name))
        .filter((row) => told.includes(row.name)).map((row) => row.claim);
      // checkpoint.step is told with the checkpoint, above the other names of a step.
      const ordered = [...claims].sort((a, b) => b - a);
      assert.ok(field === 'STEP' || String(claims) === String(ordered), `${field}: ${claims}`);
    }
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

test('the codecs of docs/architecture.md', () => {
  const text = fs.readFileSync(path.join(source, 'docs/architecture.md'), 'utf8');
  const list = text.slice(text.indexOf('## The codecs'), text.indexOf('## The flow'));
  const codecs = fs.readFileSync(path.join(source, 'src/codec/codecs.def'), 'utf8');
  assert.deepEqual(rowsOf(list).map(([name]) => spans(name)[0]),
    [...codecs.matchAll(/^CODEC\((\w+)\)/gmu)].map((line) => line[1]));
});
