// SPDX-License-Identifier: Apache-2.0
// The tables of metrics: what is in them is counted by something, and what tests and benchmarks
// look for is in them. A counter that nothing counts says that all is well when it is not.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const observe = path.join(source, 'src/observe');
const read = (file) => fs.readFileSync(file, 'utf8');

const code = fs.readdirSync(path.join(source, 'src'), { recursive: true })
  .filter((name) => name.endsWith('.c')).map((name) => read(path.join(source, 'src', name))).join('\n');

function rows(file, macro) {
  const found = [...read(path.join(observe, file)).matchAll(new RegExp(`^${macro}\\((\\w+), "(\\w+)"`, 'gmu'))]
    .map(([, id, name]) => ({ id, name }));
  assert.ok(found.length > 2, file);
  return found;
}

const TABLES = [
  ['metrics.def', '(?:COUNTER|GAUGE)', 'TC_COUNT_'],
  ['metrics_patterns.def', '(?:PATTERN_COUNTER|PATTERN_GAUGE)', 'TC_PATTERN_'],
  ['metrics_histograms.def', 'HISTOGRAM', 'TC_HIST_'],
];

for (const [file, macro, prefix] of TABLES) {
  test(`${file}: every row is counted`, () => {
    const named = new Set([...code.matchAll(new RegExp(`\\b${prefix}(\\w+)\\b(?!##)`, 'gu'))].map((m) => m[1]));
    // Names that a table of the code makes: TC_COUNT_GRPC_END_##name.
    const made = [...code.matchAll(new RegExp(`\\b${prefix}(\\w+)##`, 'gu'))].map((m) => m[1]).filter((m) => m !== '');
    const idle = rows(file, macro).map((row) => row.id)
      .filter((id) => !named.has(id) && !made.some((start) => id.startsWith(start)));
    assert.deepEqual(idle, []);
  });
}

test('what is looked for is there', () => {
  const names = new Set([...TABLES, ['../hot/metrics.def', '(?:GAUGE|COUNTER|EDGE|SUMMARY)']]
    .flatMap(([file, macro]) => rows(file, macro).map((row) => row.name)));
  for (const file of ['metrics_verdicts.c', 'metrics_alerts.c']) {
    for (const [, name] of read(path.join(observe, file)).matchAll(/"(tracecore_\w+)"/gu)) names.add(name);
  }
  for (const file of ['src/server/sources/watch.c', 'src/server/forward/show.c', 'src/source/scrape/health.c', 'src/source/nvml/nvml.c']) {
    for (const [, name] of read(path.join(source, file)).matchAll(/"(tracecore_\w+)"/gu)) names.add(name);
  }
  // Tables, and what they are called on a shard, which are no metrics, and are named by tests all the same.
  for (const [, name] of read(path.join(source, 'src/warehouse/clickhouse/clickhouse_priv.h')).matchAll(/"(tracecore_\w+)"/gu)) names.add(name).add(`${name}_shard`);
  const folders = ['tests/e2e', 'tests/e2e/support', 'bench'].map((folder) => path.join(source, folder));
  const texts = folders.filter((folder) => fs.existsSync(folder)).flatMap((folder) => fs.readdirSync(folder)
    .filter((name) => name.endsWith('.mjs')).map((name) => read(path.join(folder, name))));
  const wanted = new Set(texts.flatMap((text) => [...text.matchAll(/['"`](tracecore_[a-z_]+?)(?:_bucket|_sum|_count)?['"`{ ]/gu)]
    .map((m) => m[1])));
  assert.ok(wanted.size > 5);
  assert.deepEqual([...wanted].filter((name) => !names.has(name)), []);
});
