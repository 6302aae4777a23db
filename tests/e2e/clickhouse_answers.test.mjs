// SPDX-License-Identifier: Apache-2.0
// The answers of a warehouse in ClickHouse are those of DuckDB. They are not written down here: other
// test files run a second time, with each data_dir's warehouse in a real ClickHouse, its daemon's too, on one
// server and on two shards behind Distributed tables (support/elsewhere.mjs, TC_CLICKHOUSE).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { scratch } from './support/runs.mjs';
import { noClickHouse, startClickHouse } from './support/clickhouse.mjs';

const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const ONE = ['compare', 'diagnose', 'publish', 'report', 'retain', 'run_add', 'run_daemon', 'run_incidents', 'run_publish', 'run_show', 'run_slices', 'run_telemetry', 'traces'];
const TWO = ['diagnose', 'publish', 'retain', 'run_incidents', 'run_slices', 'run_telemetry'];
let place;
let servers;

function tests(files, url) {
  return new Promise((resolve) => {
    const env = { ...process.env, TC_CLICKHOUSE: url };
    delete env.NODE_TEST_CONTEXT;
    const child = spawn(process.execPath, ['--test', '--test-concurrency=1', '--test-reporter=tap', ...files.map((file) => path.join(source, `tests/e2e/${file}.test.mjs`))], { env });
    let stdout = '';
    child.stdout.on('data', (text) => { stdout += text; });
    child.on('close', (status) => resolve({ status, stdout }));
  });
}

describe('ClickHouse', { skip: noClickHouse }, () => {
  before(async () => {
    place = scratch('clickhouse');
    servers = await startClickHouse(place.folder, 2);
  });
  after(async () => {
    await Promise.all((servers ?? []).map((server) => server.kill()));
    place.remove();
  });

  test('answers as DuckDB does, on one server', async () => {
    const { status, stdout } = await tests(ONE, `clickhouse://default@${servers[0].address}/DATABASE`);
    assert.equal(status, 0, stdout);
  });

  test('answers as DuckDB does, on two shards', async () => {
    const { status, stdout } = await tests(TWO, `clickhouse://default@${servers.map((s) => s.address).join(',')}/DATABASE?cluster=two`);
    assert.equal(status, 0, stdout);
  });
});
