// SPDX-License-Identifier: Apache-2.0
// Rows straight into a warehouse, by the test program put_rows.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { placed } from './elsewhere.mjs';
import { binary } from './runs.mjs';

// Beside the program, or where ./dev test builds the test programs: a release build has none.
const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const program = [path.dirname(binary), path.join(source, 'build/asan')]
  .map((folder) => path.join(folder, 'tests/put_rows')).find((place) => fs.existsSync(place));

/** rows: [table, {column: value}]; times as Date, or in microseconds. options: of spawn. */
export function putRows(dataDir, rows, options = {}) {
  const text = rows.map(([table, cells]) => [table, ...Object.entries(cells).map(([name, value]) =>
    `${name}=${value instanceof Date ? value.getTime() * 1000 : value}`)].join('\t')).join('\n');
  give(dataDir, text, options);
}

/** SQL that changes rows, as nobody should. */
export function spoilRows(dataDir, statements) {
  give(dataDir, statements.map((sql) => `!${sql}`).join('\n'));
}

function give(dataDir, text, options = {}) {
  assert.ok(program, 'the test program put_rows is not built: ./dev test');
  const done = spawnSync(program, [dataDir], placed(['--data-dir', dataDir], { ...options, input: `${text}\n`, encoding: 'utf8' }));
  assert.equal(done.status, 0, done.stderr);
}
