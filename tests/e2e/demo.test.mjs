// SPDX-License-Identifier: Apache-2.0
// `./dev run --demo`, shortened: what it runs after the build fills a daemon with runs and incidents,
// and leaves nothing behind.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { binary, parseMetrics, source, workspace } from './support/daemon.mjs';
import { get, until } from './support/wire.mjs';

const room = workspace('demo');
after(() => room.remove());

const any = '127.0.0.1:0';
const env = { ...process.env, TMPDIR: room.top, TC_DEMO_NODES: '8', TC_DEMO_SPEED: '0', TRACECORE_API_LISTEN: any,
  TRACECORE_RECEIVERS_OTLP_HTTP_LISTEN: any, TRACECORE_RECEIVERS_OTLP_GRPC_LISTEN: any };

/* In a group of its own, as a terminal has it; `signal` goes to all of the group. */
function start(more = {}) {
  const child = spawn(path.join(source, 'tools/demo.sh'), [binary], { env: { ...env, ...more }, stdio: ['ignore', 'ignore', 'pipe'], detached: true });
  const demo = { said: '', exit: null, signal: (name) => process.kill(-child.pid, name) };
  child.stderr.setEncoding('utf8');
  child.stderr.on('data', (text) => { demo.said += text; });
  demo.ended = new Promise((resolve) => { child.on('close', (code, signal) => { demo.exit = { code, signal }; resolve(demo.exit); }); });
  demo.find = (pattern) => until(`${pattern} in what it says`, () => {
    assert.equal(demo.exit, null, demo.said);
    return pattern.exec(demo.said)?.[1];
  }, 120000, 50);
  return demo;
}

/** Those whose environment names that directory. */
const processesOf = (data) => fs.readdirSync('/proc').filter((name) => /^\d+$/u.test(name)).filter((pid) => {
  try {
    return fs.readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`TRACECORE_DATA_DIR=${data}`);
  } catch { return false; }
}).map(Number);

const running = (pid) => { try { process.kill(pid, 0); return true; } catch { return false; } };

test('runs, incidents and metrics come, and Ctrl-C leaves nothing', async () => {
  const demo = start();
  try {
    const api = await demo.find(/API\s+http:\/\/(\S+)/u);
    const data = await demo.find(/data\s+(\S+)/u);
    await demo.find(/(16 runs are there)/u);
    const list = spawnSync(binary, ['run', 'list', '--json'], { encoding: 'utf8', env: { ...process.env, TRACECORE_DATA_DIR: data } });
    assert.equal(list.status, 0, list.stderr);
    for (const id of ['monday-1', 'tuesday-5', 'base-1', 'candidate-3']) assert.ok(list.stdout.includes(`"${id}"`), id);
    await until('incidents', async () => JSON.parse((await get(api, '/api/v1/incidents')).body).incidents.length > 3, 120000, 200);
    await until('hot metrics', async () => parseMetrics((await get(api, '/metrics')).body.toString()).has('tracecore_gpu_temperature_celsius'), 120000, 200);
    await demo.find(/(in real time)/u);
    const pids = await until('the daemon and the simulator', () => {
      const found = processesOf(data);
      return found.length >= 2 && found;
    });
    demo.signal('SIGINT');
    assert.deepEqual(await demo.ended, { code: 0, signal: null }, demo.said);
    assert.match(demo.said, /ended; \S+ is removed/u);
    assert.ok(!fs.existsSync(data));
    assert.deepEqual(fs.readdirSync(room.top), []);
    await until('its processes to be gone', () => pids.filter(running).length === 0);
  } finally {
    if (demo.exit === null) { demo.signal('SIGTERM'); await demo.ended; }
  }
});

test('a directory that was named stays, and SIGTERM while it fills ends it', async () => {
  const demo = start({ TC_DEMO_DIR: room.file('kept') });
  await demo.find(/(Ctrl-C ends it)/u);
  demo.signal('SIGTERM');
  assert.deepEqual(await demo.ended, { code: 0, signal: null }, demo.said);
  assert.match(demo.said, /the data stays in \S+kept/u);
  assert.ok(fs.existsSync(room.file('kept', 'data')));
  fs.rmSync(room.file('kept'), { recursive: true });
});

test('a daemon that cannot start says why', async () => {
  const demo = start({ TRACECORE_API_LISTEN: 'nonsense' });
  assert.deepEqual(await demo.ended, { code: 1, signal: null }, demo.said);
  assert.match(demo.said, /did not start[^]*api\.listen|API_LISTEN/u);
  assert.deepEqual(fs.readdirSync(room.top), []);
});

test('./dev knows it', () => {
  const dev = (...args) => spawnSync(path.join(source, 'dev'), args, { encoding: 'utf8' });
  assert.match(dev('run', '--help').stdout, /--demo/u);
  const result = dev('run', '--demo', 'more');
  assert.equal(result.status, 2);
  assert.match(result.stderr, /--demo takes no arguments/u);
});
