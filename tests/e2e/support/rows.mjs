// SPDX-License-Identifier: Apache-2.0
// Rows straight into a warehouse, by the test program put_rows.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { binary } from './runs.mjs';

/** rows: [table, {column: value}]; times as Date, or in microseconds. */
export function putRows(dataDir, rows) {
  const text = rows.map(([table, cells]) => [table, ...Object.entries(cells).map(([name, value]) =>
    `${name}=${value instanceof Date ? value.getTime() * 1000 : value}`)].join('\t')).join('\n');
  const done = spawnSync(path.join(path.dirname(binary), 'tests/put_rows'), [dataDir],
    { input: `${text}\n`, encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
}
