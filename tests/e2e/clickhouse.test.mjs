// SPDX-License-Identifier: Apache-2.0
// A warehouse in a real ClickHouse, one server and two shards: errors that name what to change, rows
// that are there once whatever happens to the server. The answers: clickhouse_answers.test.mjs.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { binary, scratch, vllm } from './support/runs.mjs';
import { putRows } from './support/rows.mjs';
import { sleep, until } from './support/wire.mjs';
import { noClickHouse, startClickHouse, startProxy } from './support/clickhouse.mjs';

/** How long a server is away beyond the moment in which it is missed; by hand: a minute. */
const OUTAGE_MS = Number(process.env.TC_OUTAGE_S ?? 0) * 1000;

let place;
let servers;
let databases = 0;

/** A command with its warehouse there; what it says while it runs is looked at too. */
function run(url, args, { password, onError, data = path.join(place.folder, 'data') } = {}) {
  return new Promise((resolve) => {
    const env = { ...process.env, TRACECORE_WAREHOUSE: url, ...(password && { TRACECORE_CLICKHOUSE_PASSWORD: password }) };
    const child = spawn(binary, [args[0], ...(args[0] === 'run' ? [args[1]] : []), '--data-dir', data, ...args.slice(args[0] === 'run' ? 2 : 1)], { env });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (text) => { stdout += text; });
    child.stderr.on('data', (text) => { stderr += text; onError?.(stderr); });
    child.on('close', (status) => resolve({ status, stdout, stderr }));
  });
}

async function database(hosts = servers.slice(0, 1)) {
  const name = `own_${++databases}`;
  await Promise.all(hosts.map((server) => server.sql(`CREATE DATABASE ${name}`)));
  return name;
}

const urlOf = (name, rest = '', hosts = servers.slice(0, 1)) => `clickhouse://default@${hosts.map((s) => s.address).join(',')}/${name}${rest}`;
const count = async (url, table, options) => {
  const { status, stdout, stderr } = await run(url, ['sql', '--csv', `SELECT count(*) AS n FROM ${table}`], options);
  assert.equal(status, 0, stderr);
  return Number(stdout.trim().split('\n').at(-1));
};

/** As many slices as lines: a gauge of one GPU each, one minute each. */
function samples(lines) {
  const at = Date.parse('2026-02-13T14:13:00Z');
  const text = [];
  for (let i = 0; i < lines; i++) {
    text.push(`DCGM_FI_DEV_GPU_TEMP{gpu="${i % 8}",UUID="GPU-0000000${i % 8}-0000-0000-0000-000000000000",Hostname="gpu-01"} 60 ${at + Math.floor(i / 8) * 60000}`);
  }
  return `${text.join('\n')}\n`;
}

describe('a warehouse in ClickHouse', { skip: noClickHouse }, () => {
  before(async () => {
    place = scratch('clickhouse');
    place.file('result.json', vllm());
    servers = await startClickHouse(place.folder, 2);
  });
  after(async () => {
    await Promise.all((servers ?? []).map((server) => server.kill()));
    place.remove();
  });

  test('names the setting that is wrong', async () => {
    const [server] = servers;
    const refused = async (url, expected, options) => {
      const { status, stderr } = await run(url, ['run', 'list'], options);
      assert.equal(status, 2, stderr);
      assert.match(stderr, expected);
    };
    const guarded = `clickhouse://guarded@${server.address}/default`;
    await refused(guarded, /refuses the user "guarded": wrong password.*TRACECORE_CLICKHOUSE_PASSWORD or \?password_file=/u);
    await refused(guarded, /no warehouse in the database default .*nothing was added/u, { password: 'right' });
    await refused(`${guarded}?password_file=${place.file('secret', 'right\n')}`, /no warehouse in the database default/u);
    await refused(`clickhouse://default@${server.address}/none`, /has no database "none": make it there/u);
    await refused('clickhouse://default@127.0.0.1:9/x?wait=1', /waiting for ClickHouse \(up to 1 s\).*cannot connect[^]*waited 1 s/u);
    await refused(`clickhouse://default:secret@${server.address}/x`, /has a password, which others would see/u);
    const name = await database();
    const { status, stderr } = await run(urlOf(name, '?cluster=nine'), ['run', 'add', '--result', path.join(place.folder, 'result.json')]);
    assert.equal(status, 2);
    assert.match(stderr, /nine.*\?cluster= in the warehouse's address/u);
  });

  test('speaks TLS, and trusts the authority that it is told', async () => {
    const key = path.join(place.folder, 'key.pem');
    const cert = path.join(place.folder, 'cert.pem');
    spawnSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost',
      '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', cert]);
    const proxy = await startProxy(servers[0], () => null, { key: fs.readFileSync(key), cert: fs.readFileSync(cert) });
    const url = `clickhouses://guarded@localhost:${proxy.address.split(':')[1]}/default?wait=0`;
    const distrusted = await run(url, ['run', 'list'], { password: 'right' });
    const trusted = await run(`${url}&ca_file=${cert}`, ['run', 'list'], { password: 'right' });
    await proxy.stop();
    assert.match(distrusted.stderr, /its certificate is not trusted/u);
    assert.match(trusted.stderr, /no warehouse in the database default/u);
  });

  test('refuses what it cannot do, before it does a part of it', async () => {
    const name = await database();
    const { status, stderr } = await run(urlOf(name), ['rebuild']);
    assert.equal(status, 2);
    assert.match(stderr, /migrate to the data_dir, rebuild there.*TRACECORE_WAREHOUSE names one in ClickHouse/u);
  });

  for (const [where, hosts, rest] of [['one server', 1, ''], ['two shards', 2, '?cluster=two']]) {
    test(`retain frees the space of what it forgets, on ${where}`, async () => {
      const used = servers.slice(0, hosts);
      const name = await database(used);
      const url = urlOf(name, rest, used);
      const data = path.join(place.folder, name);
      fs.mkdirSync(data);
      const day = (n) => new Date(Date.now() - n * 86400e3);
      const slice = (days, node, metric) => ['telemetry_slice_fact', { window_start: day(days), window_end: day(days), node_name: node, metric, count: 1 }];
      const rows = [['run_scope_fact', { run_id: 'r', kind: 'node', name: 'n-0', window_start: day(91), window_end: day(89) }],
        ['benchmark_run_fact', { run_id: 'r', name: 'r', added_at: day(89) }]];
      for (let i = 0; i < 40; i++) {
        rows.push(slice(200, `n-${i}`, 'whole'), slice(90, `n-${i}`, 'part'), slice(1, `n-${i}`, 'young'));
      }
      putRows(data, rows, { env: { ...process.env, TRACECORE_WAREHOUSE: url } });
      const done = await run(url, ['retain', '--json'], { data });
      assert.equal(done.status, 0, done.stderr);
      assert.equal(JSON.parse(done.stdout).hot.slices, 79, 'all but the one that is found to be of the run');
      const { stdout } = await run(url, ['sql', '--csv', 'SELECT metric, run_id, count(*) AS n FROM telemetry_slice_fact GROUP BY ALL ORDER BY ALL'], { data });
      assert.deepEqual(stdout.trim().split(/\r?\n/u).slice(1), ['part,r,1', 'young,,40']);
      const table = `telemetry_slice${hosts > 1 ? '_shard' : ''}`;
      for (const server of used) {
        const months = (await server.sql(`SELECT DISTINCT partition FROM system.parts WHERE database = '${name}' AND table = '${table}' AND active AND rows > 0`)).split('\n');
        const whole = day(200).toISOString().slice(0, 7).replace('-', '');
        assert.ok(!months.includes(whole), `${whole} was dropped: ${months}`);
      }
      const left = async () => Promise.all(used.map((server) => server.sql(`SELECT count() FROM ${name}.${table} WHERE metric = 'part'`)));
      // Deleted in the background, from months of which some rows stay.
      await until('the other rows to be deleted', async () => (await left()).reduce((sum, n) => sum + Number(n), 0) === 1, 20000, 100);
    });
  }

  test('has every row once when replies are lost and the server dies in the middle', async () => {
    const name = await database();
    const telemetry = place.file('many.prom', samples(320000));
    const [server] = servers;
    let killed = false;
    const proxy = await startProxy(server, async (kind, n) => {
      if (kind === 'telemetry_slice' && n === 2 && !killed) {
        killed = true;
        await server.kill();
        setTimeout(() => server.start(), 500);
        return 'drop';
      }
      if (kind === 'other' || kind === 'tracecore_schema') {
        return null;
      }
      return n === 1 ? 'deaf' : null;
    });
    try {
      const url = `clickhouse://default@${proxy.address}/${name}`;
      const added = await run(url, ['run', 'add', '--run-id', 'r', '--result', path.join(place.folder, 'result.json'), '--telemetry', telemetry]);
      assert.equal(added.status, 0, added.stderr);
      assert.match(added.stderr, /waiting for ClickHouse \(up to 120 s\): ClickHouse at/u);
      assert.ok(killed);
      const slices = await count(url, 'telemetry_slice_fact');
      assert.equal(await count(url, 'benchmark_run_fact'), 1);
      const beside = { data: path.join(place.folder, 'duckdb') };
      await run('', ['run', 'add', '--run-id', 'r', '--result', path.join(place.folder, 'result.json'), '--telemetry', telemetry], beside);
      assert.equal(slices, await count('', 'telemetry_slice_fact', beside));
      // What arrived and was never acknowledged is there, and nobody sees it.
      assert.ok(Number(await server.sql(`SELECT count() FROM ${name}.telemetry_slice`)) > slices);
      assert.ok(slices >= 320000, 'more than a block, which another thread sends');
      const again = await run(url, ['run', 'add', '--run-id', 'r', '--result', path.join(place.folder, 'result.json'), '--telemetry', telemetry]);
      assert.equal(again.status, 0, again.stderr);
      assert.equal(await count(url, 'telemetry_slice_fact'), slices);
    } finally {
      await proxy.stop();
    }
  });

  test('writes nothing of a run when the server does not come back', async () => {
    const name = await database();
    const proxy = await startProxy(servers[0], (kind) => (kind === 'tracecore_ledger' ? 'drop' : null));
    const url = (address) => `clickhouse://default@${address}/${name}?wait=1`;
    const { status, stderr } = await run(url(proxy.address), ['run', 'add', '--run-id', 'r', '--result', path.join(place.folder, 'result.json')]);
    await proxy.stop();
    assert.equal(status, 2, stderr);
    assert.match(stderr, /waited 1 s/u);
    assert.equal(await count(url(servers[0].address), 'benchmark_run_fact'), 0);
  });

  test('waits for a shard that stops during an import', async () => {
    const name = await database(servers);
    const url = urlOf(name, '?cluster=two', servers);
    const first = await run(url, ['run', 'add', '--run-id', 'a', '--result', path.join(place.folder, 'result.json')]);
    assert.equal(first.status, 0, first.stderr);
    await servers[1].kill();
    let back = null;
    const added = await run(url, ['run', 'add', '--run-id', 'b', '--name', 'b', '--result', place.file('b.json', vllm({ date: '20260214-141321' })), '--telemetry', place.file('b.prom', samples(2000))], {
      onError: (text) => { back ??= /waiting for ClickHouse/u.test(text) ? sleep(OUTAGE_MS).then(() => servers[1].start()) : null; },
    });
    await (back ?? servers[1].start());
    assert.equal(added.status, 0, added.stderr);
    assert.match(added.stderr, /waiting for ClickHouse/u);
    assert.equal(await count(url, 'benchmark_run_fact'), 2);
    assert.ok((await count(url, 'telemetry_slice_fact')) >= 2000);
    for (const server of servers) {
      assert.ok(Number(await server.sql(`SELECT count() FROM ${name}.telemetry_slice_shard`)) > 0, 'both shards have slices');
    }
  });

  test('leaves no file of DuckDB behind', () => {
    assert.ok(!fs.existsSync(path.join(place.folder, 'data/warehouse.duckdb')));
  });
});
