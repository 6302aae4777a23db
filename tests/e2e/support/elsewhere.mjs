// SPDX-License-Identifier: Apache-2.0
// The conformance suite (clickhouse_answers.test.mjs) runs test files a second time with TC_CLICKHOUSE: then each
// data_dir has a database there in the place of its own file, for its daemon and for commands without one.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import path from 'node:path';

/** The address of a warehouse in ClickHouse, with DATABASE in the place of a name; or nothing. */
export const elsewhere = process.env.TC_CLICKHOUSE;
const databases = new Set();
const served = new Set();

/** The warehouse of a data_dir; undefined: it is in the data_dir. */
export function warehouseUrl(dataDir) {
  if (!elsewhere) {
    return undefined;
  }
  const name = `d_${createHash('sha256').update(path.resolve(dataDir)).digest('hex').slice(0, 16)}`;
  if (!databases.has(name)) {
    for (const host of elsewhere.split('@')[1].split('/')[0].split(',')) {
      const made = spawnSync('curl', ['-sS', '--fail', `http://${host}/`, '--data-binary', `CREATE DATABASE IF NOT EXISTS ${name}`]);
      assert.equal(made.status, 0, String(made.stderr));
    }
    databases.add(name);
  }
  return elsewhere.replace('DATABASE', name);
}

/** A daemon runs on that data_dir, or no longer: its commands ask it meanwhile, and need no address. */
export function setServed(dataDir, is) {
  served[is ? 'add' : 'delete'](path.resolve(dataDir));
}

/** Options of spawn for a command, whose --data-dir says which warehouse is meant. */
export function placed(args, options = {}) {
  const at = args.indexOf('--data-dir');
  if (!elsewhere || at < 0 || served.has(path.resolve(args[at + 1]))) {
    return options;
  }
  return { ...options, env: { ...(options.env ?? process.env), TRACECORE_WAREHOUSE: warehouseUrl(args[at + 1]) } };
}
