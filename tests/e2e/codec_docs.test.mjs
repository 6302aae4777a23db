// SPDX-License-Identifier: Apache-2.0
// docs/ATTRIBUTES.md is what the program says it reads and what the schemas say it emits, the wordings of training in docs/otlp.md are
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

const attributesFile = path.join(source, 'docs/ATTRIBUTES.md');
const EMITTED = '<!-- emitted: made of schemas/verdict -->\n';
const SLICES = '<!-- slices: made of src/telemetry/labels.def -->\n';
const json = (name) => JSON.parse(fs.readFileSync(path.join(source, 'schemas/verdict', name), 'utf8'));

function attributesRead() {
  const result = spawnSync(binary, ['decode', '--attributes'], { encoding: 'utf8' });
  assert.equal(result.status, 0, result.stderr);
  return result.stdout;
}

// One row for each member of a verdict: those of all patterns first, then what each adds.
function emittedTable() {
  const envelope = Object.keys(json('envelope.schema.json').properties);
  const rows = envelope.map((name) => [name, 'all']);
  const patterns = fs.readdirSync(path.join(source, 'schemas/verdict')).filter((name) => !name.startsWith('envelope')).sort();
  for (const file of patterns) {
    rows.push(...Object.keys(json(file).properties).filter((name) => !envelope.includes(name))
      .map((name) => [name, file.replace('.schema.json', '')]));
  }
  return `| attribute | pattern |\n| --- | --- |\n${rows.map(([name, of]) => `| \`${name}\` | ${of} |\n`).join('')}`;
}

function slicesTable() {
  const says = { RUN: '`run_id`', SCHEDULER: '`scheduler_run_id`', CLASS: '`request_class`', JOB: '`job_uid`',
    REQUEST: 'of one request: never kept', ABOUT: 'does not tell one series from another: left out' };
  const rows = [...fs.readFileSync(path.join(source, 'src/telemetry/labels.def'), 'utf8').matchAll(/^LABEL\("(\w+)", (\w+)\)/gmu)];
  assert.ok(rows.length > 20);
  return `| label | says |\n| --- | --- |\n${rows.map(([, key, what]) => `| \`${key}${key.endsWith('_') ? '*' : ''}\` | ${says[what]} |\n`).join('')}`;
}

// The page with its parts written anew; what people wrote between them stays.
function attributesPage(page) {
  const table = (text, mark, rows) => {
    const from = text.indexOf(mark) + mark.length;
    assert.ok(from > mark.length, mark);
    return text.slice(0, from) + rows + text.slice(from).replace(/^(?:\|.*\n)*/u, '');
  };
  const prose = page.slice(page.indexOf('\n## Labels of telemetry slices'));
  return table(table(attributesRead() + prose, SLICES, slicesTable()), EMITTED, emittedTable());
}

if (process.argv.includes('--update')) {
  fs.writeFileSync(attributesFile, attributesPage(fs.readFileSync(attributesFile, 'utf8')));
  process.exit(0);
}

// Names with a dot that a reader of attributes looks for.
const ATTRIBUTE = /"((?:k8s|hw|host|service|error|gen_ai|training|checkpoint|dataloader|log|process|batch|jobset|topology|nvidia)\.[\w.-]*\w(?:\/[\w-]+)?)"/gu;
const FILES_NOT_NAMES = /\.(?:h|c|def|log)$/u;

test('docs/formats.md has the table of readers that the program prints', () => {
  const result = spawnSync(binary, ['decode', '--formats'], { encoding: 'utf8' });
  assert.equal(result.status, 0, result.stderr);
  const formats = fs.readFileSync(path.join(source, 'docs/formats.md'), 'utf8');
  const begin = '<!-- formats: begin -->\n';
  const from = formats.indexOf(begin) + begin.length;
  assert.equal(formats.slice(from, formats.indexOf('<!-- formats: end -->')), result.stdout);
});

describe('docs/ATTRIBUTES.md', () => {
  const written = fs.readFileSync(attributesFile, 'utf8');
  test('is what the program and the schemas say', () => {
    assert.equal(written, attributesPage(written), "run 'node tests/e2e/codec_docs.test.mjs --update'");
  });
  test('has every attribute that a codec names, and no others', () => {
    const code = new Map(['codec', 'telemetry'].flatMap((room) => fs.readdirSync(path.join(source, 'src', room), { recursive: true })
      .filter((name) => /\.(?:c|def)$/u.test(name) && !name.endsWith('attributes.c'))
      .map((name) => [name, fs.readFileSync(path.join(source, 'src', room, name), 'utf8')])));
    const named = new Set([...code.values()].flatMap((text) => [...text.matchAll(ATTRIBUTE)].map((m) => m[1]))
      .filter((name) => !FILES_NOT_NAMES.test(name)));
    assert.ok(named.size > 40, String(named.size));
    const told = new Set(spans(written));
    assert.deepEqual([...named].filter((name) => !told.has(name)), []);
    const single = rowsOf(written.slice(written.indexOf('## Kubernetes, and the rest'), written.indexOf('## Attributes and labels of metrics')));
    assert.ok(single.length > 15);
    assert.deepEqual(single.map(([name]) => spans(name)[0]).filter((name) => !named.has(name)), []);
  });
  test('has what an OTLP export says of itself', () => {
    const code = fs.readFileSync(path.join(source, 'src/verdict/export_otlp.c'), 'utf8');
    const keys = [...code.matchAll(/(?:service|tracecore)\.[\w.]+/gu)].map((m) => m[0]);
    assert.ok(keys.length >= 3);
    const told = new Set(spans(written.slice(written.indexOf('# What is emitted'))));
    assert.deepEqual(keys.filter((key) => !told.has(key)), []);
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
