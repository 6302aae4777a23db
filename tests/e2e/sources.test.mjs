// SPDX-License-Identifier: Apache-2.0
// Sources beside OTLP, with the real daemon: what arrives is compared with what was written, line by
// line, over rotations and kills. `./dev bench --sources` does 1,000 rotations.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { Daemon, run, source, workspace } from './support/daemon.mjs';
import { storedLines, tails } from './support/tails.mjs';
import { call, sleep, until } from './support/wire.mjs';

const space = workspace('sources');
const daemons = [];
const others = [];
after(async () => {
  for (const daemon of daemons) await daemon.destroy();
  for (const child of others) child.kill('SIGKILL');
  space.remove();
});

function make(name, sources, config = {}) {
  const daemon = new Daemon(space.file(name), { sources: { node: 'gpu-01', ...sources }, ...config });
  daemons.push(daemon);
  return daemon;
}

const off = { enabled: false };
const xid = (number, gpu = '0000:3b:00') => `NVRM: Xid (PCI:${gpu}): ${number}, pid=1234, name=python`;
const stamp = () => new Date().toISOString();
const sourceOf = async (daemon, name) => (await daemon.status()).sources.find((one) => one.name === name);
const untilState = (daemon, name, state) => until(`${name} to be ${state}`, async () => {
  const one = await sourceOf(daemon, name);
  return one?.state === state ? one : null;
}, 20000);
/** How often each incident was opened. */
const opens = (daemon) => daemon.verdicts().filter((verdict) => verdict.status === 'open').map((verdict) => verdict.incident_id);

test('file tails lose and double nothing over rotations and kills', async (t) => {
  const seed = Number(process.env.TC_SEED ?? Date.now() % 1000000);
  const { problems, ...figures } = await tails({ dir: space.file('tails'), rotations: 40, kills: 5, seed });
  t.diagnostic(JSON.stringify({ seed, ...figures }));
  assert.deepEqual(problems.slice(0, 5), [], `seed ${seed}`);
  assert.ok(figures.killed >= 2, `${figures.killed} kills`);
  assert.ok(figures.loop.longest_stall_cpu_seconds < 0.05, 'no callback of the loop takes long');
});

test('what could not be stored is read again, and not twice', async (t) => {
  const library = space.file('failing.so');
  const built = spawnSync('cc', ['-shared', '-fPIC', '-D_GNU_SOURCE', '-O1', '-o', library, path.join(source, 'tests/e2e/support/failing.c'), '-ldl']);
  if (built.status !== 0) return t.skip('no compiler');
  const control = space.file('failing.control');
  const EIO = 5;
  const { problems, ...figures } = await tails({
    dir: space.file('failing'), rotations: 12, kills: 0, seed: 7,
    options: { env: { LD_PRELOAD: library, TC_FAILING: control, ASAN_OPTIONS: 'verify_asan_link_order=0' } },
    started: () => fs.writeFileSync(control, `sync ${EIO} 2\n`),
    ended: async (daemon) => {
      const failed = await until('a failure', async () => { const one = await sourceOf(daemon, 'files'); return one.errors > 0 ? one : null; });
      assert.ok(failed.errors > 0);
      fs.rmSync(control);
    },
  });
  t.diagnostic(JSON.stringify(figures));
  assert.deepEqual(problems.slice(0, 5), []);
  return undefined;
});

test('while the disk is full sources wait, and go on when there is room', async (t) => {
  const logs = space.file('full_logs');
  const daemon = make('full', { kmsg: off, journal: off, files: { paths: [`${logs}/*.log`], poll: '100ms' } }, { evidence: { reserve: '1MiB', segment_bytes: '2MiB' } });
  fs.mkdirSync(daemon.dataDir);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16m,mode=0700', 'tmpfs', daemon.dataDir]).status !== 0) return t.skip('no right to mount a small file system');
  try {
    const filler = path.join(daemon.dataDir, 'filler');
    fs.writeFileSync(filler, Buffer.alloc(12 << 20, 1));
    fs.mkdirSync(logs);
    const lines = Array.from({ length: 40000 }, (_, i) => `noise ${i} ${randomBytes(48).toString('hex')}`);
    fs.writeFileSync(path.join(logs, 'a.log'), `${lines.join('\n')}\n`);
    await daemon.start();
    await until('the disk to be full', async () => (await daemon.metrics()).sum('tracecore_evidence_full') === 1);
    const stuck = await until('the lag to be seen', async () => { const one = await sourceOf(daemon, 'files'); return one.lag_seconds > 1 ? one : null; });
    assert.ok(stuck.records < lines.length);
    fs.rmSync(filler);
    await until('the rest', async () => (await sourceOf(daemon, 'files')).records === lines.length);
    await until('it to be well', async () => { const one = await sourceOf(daemon, 'files'); return one.state === 'ok' && one.lag_seconds === 0; });
    await daemon.stop();
    assert.deepEqual(storedLines(daemon).by.get('noise'), lines);
  } finally {
    await daemon.destroy();
    spawnSync('umount', [daemon.dataDir]);
  }
  return undefined;
});

describe('local sources of one daemon', () => {
  const folder = space.file('machine');
  const at = (...parts) => path.join(folder, ...parts);
  const daemon = make('local', {
    kmsg: { enabled: true, path: at('kmsg') },
    journal: off,
    files: { paths: [at('logs/{node}/*.log')], poll: '200ms' },
    dumps: { paths: [at('dumps/*/nccl_trace_rank_*')], poll: '100ms' },
  });
  const dumps = path.join(source, 'tests/replay/nccl_hang/fires_after_training_is_done/input/pretrain');
  fs.mkdirSync(at('logs/gpu-07'), { recursive: true });
  fs.mkdirSync(at('dumps'), { recursive: true });

  test('a kernel record and a log line become verdicts, and name their nodes', async () => {
    const uptime = Math.floor(Number(fs.readFileSync('/proc/uptime', 'utf8').split(' ')[0]) * 1e6);
    fs.writeFileSync(at('kmsg'), `6,100,${uptime - 1000},-;a line of no interest\n3,101,${uptime},-;${xid(79)}, GPU has fallen off the bus.\n`);
    fs.writeFileSync(at('logs/gpu-07/kern.log'), `${stamp()} kernel: ${xid(48)}, DBE\n`);
    await daemon.start();
    assert.match(daemon.log(), /msg="?watching"? source=kmsg/u);
    const verdicts = await daemon.untilVerdicts('both verdicts', (all) => new Set(all.map((v) => v['k8s.node.name'])).size >= 2);
    assert.deepEqual([...new Set(verdicts.map((v) => v['k8s.node.name']))].sort(), ['gpu-01', 'gpu-07']);
    // Its bytes are found as those of OTLP are.
    const [raw] = verdicts.find((v) => v['k8s.node.name'] === 'gpu-01').evidence_trail.map((e) => e.raw);
    assert.match(daemon.cite(raw).toString(), /^3,101,\d+,-;NVRM: Xid .*79/u);
  });

  test('dumps are taken when they are whole, and judged as an upload is', async () => {
    fs.mkdirSync(at('dumps/pretrain'));
    const names = fs.readdirSync(dumps);
    for (const name of names.slice(1)) fs.copyFileSync(path.join(dumps, name), at('dumps/pretrain', name));
    const bytes = fs.readFileSync(path.join(dumps, names[0]));
    fs.writeFileSync(at('dumps/pretrain', names[0]), bytes.subarray(0, bytes.length / 2));
    await until('the whole ones', async () => (await sourceOf(daemon, 'dumps')).records === names.length - 1);
    await sleep(400);
    assert.equal((await sourceOf(daemon, 'dumps')).records, names.length - 1, 'half a dump is none');
    fs.writeFileSync(at('dumps/pretrain', names[0]), bytes);
    await until('the last one', async () => (await sourceOf(daemon, 'dumps')).records === names.length);
    const files = daemon.batches().filter((batch) => batch.kind === 'file');
    assert.equal(files.length, names.length);
    const stored = new Map(files.map((batch) => [path.basename(batch.name.split('\n')[0]), daemon.body(batch.number)]));
    for (const name of names) assert.ok(stored.get(name).equals(fs.readFileSync(path.join(dumps, name))), name);
    await daemon.untilVerdicts('the hang', (all) => all.some((v) => v['pattern.name'] === 'nccl_hang'));
  });

  test('a restart reads nothing twice and opens nothing twice', async () => {
    const before = daemon.batches().length;
    const opened = opens(daemon);
    await daemon.kill();
    await daemon.start();
    for (const name of ['kmsg', 'files', 'dumps']) await untilState(daemon, name, 'ok');
    await sleep(500);
    assert.equal(daemon.batches().length, before);
    assert.deepEqual(opens(daemon), opened);
    fs.appendFileSync(at('kmsg'), '6,102,1,-;the next\n6,105,1,-;two were overwritten\n');
    fs.appendFileSync(at('logs/gpu-07/kern.log'), 'the next\n');
    await until('the next lines', async () => (await sourceOf(daemon, 'kmsg')).records === 2 && (await sourceOf(daemon, 'files')).records === 1);
    assert.equal((await sourceOf(daemon, 'kmsg')).lost, 2);
    // The daemon, from a damaged summary: every position is in the batches too.
    await daemon.kill();
    fs.writeFileSync(path.join(daemon.dataDir, 'source_positions'), 'nonsense');
    await daemon.start();
    for (const name of ['kmsg', 'files', 'dumps']) await untilState(daemon, name, 'ok');
    await sleep(500);
    assert.match(daemon.log(), /where sources go on is read from all that is stored/u);
    const { by } = storedLines(daemon);
    assert.equal(by.get('the').length, 1);
    assert.equal(by.get('6,102,1,-;the').length, 1);
  });

  test('status and /metrics say how they are', async () => {
    const metrics = await daemon.metrics();
    for (const name of ['kmsg', 'files', 'dumps']) assert.equal(metrics.sum('tracecore_source_up', { source: name }), 1);
    assert.equal(metrics.sum('tracecore_source_watched', { source: 'files' }), 1);
    const text = run(['status', '--api', `http://${daemon.api}`]).text;
    assert.match(text, /source {5}kmsg is ok since \S+, 1 watched/u);
    fs.rmSync(at('kmsg'));
    await daemon.stop();
    await daemon.start();
    const kmsg = await untilState(daemon, 'kmsg', 'failing');
    assert.match(kmsg.error, /kmsg: No such file or directory/u);
    assert.equal((await daemon.metrics()).sum('tracecore_source_up', { source: 'kmsg' }), 0);
    await until('the log to say so', () => /a source fails.*kmsg/u.test(daemon.log()), 20000);
    assert.match(run(['status', '--api', `http://${daemon.api}`]).text, /kmsg is failing since .*\n\s+\S*kmsg: No such file/u);
  });

  test('an upload cannot say where a source goes on', async () => {
    for (const key of ['source', 'stream', 'position']) {
      const answer = await call(daemon.api, 'POST', `/api/v1/upload?name=a.log&${key}=files`,
        { body: Buffer.from(`${stamp()} gpu-01 kernel: ${xid(48)}, DBE\n`), headers: { 'content-type': 'application/octet-stream' } });
      assert.equal(answer.status, 400);
      assert.match(answer.body.toString(), new RegExp(`${key} is for the daemon to say`, 'u'));
    }
  });

  test('offline, what it stored is judged alike', async () => {
    await daemon.stop();
    const result = run(['detect', '--json', '-q', '--data-dir', daemon.dataDir]);
    assert.equal(result.status, 1, result.stderr);
    const offline = new Set(result.text.trim().split('\n').map((line) => JSON.parse(line)['pattern.name']));
    for (const pattern of ['gpu_fault', 'hbm_ecc', 'nccl_hang']) assert.ok(offline.has(pattern), pattern);
  });
});

test('a pattern that is none refuses the start', async () => {
  const daemon = make('wrong', { files: { paths: ['relative/*.log'] } });
  await assert.rejects(daemon.start(), /sources\.files\.paths: .*a path begins with \//u);
});

/** A journald of its own, in a mount namespace of its own; null where that cannot be. */
async function journald() {
  const script = 'mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal /run/log/journal && exec /lib/systemd/systemd-journald';
  const able = fs.existsSync('/lib/systemd/systemd-journald') && spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/run']).status === 0;
  if (!able) return null;
  const child = spawn('unshare', ['-m', 'sh', '-c', script], { stdio: 'ignore' });
  others.push(child);
  const root = `/proc/${child.pid}/root/run`;
  const up = await until('journald', () => fs.existsSync(`${root}/systemd/journal/dev-log`), 10000).catch(() => null);
  return up && { child, directory: `${root}/log/journal`, logger: (tag, text) => spawnSync('logger', ['-u', `${root}/systemd/journal/dev-log`, '-t', tag, text]) };
}

test('journal entries that logger writes arrive, once, over restarts', async (t) => {
  const journal = await journald();
  if (journal === null) return t.skip('needs root, unshare and systemd-journald');
  const daemon = make('journal', { kmsg: off, journal: { enabled: true, directory: journal.directory, kernel: false, units: ['SYSLOG_IDENTIFIER=fabric'] } },
    // The folder is reached through /proc/PID/root, which is closed to a process that is confined; package.test.mjs has a confined one read the journal.
    { confine: false });
  const texts = (from, count) => Array.from({ length: count }, (_, i) => `entry ${from + i}`);
  const all = [];
  const write = (from, count) => { for (const text of texts(from, count)) { all.push(text); assert.equal(journal.logger('fabric', text).status, 0); } };
  write(0, 5);
  journal.logger('somebody', 'not asked for');
  await daemon.start();
  write(5, 20);
  await until('the first entries', async () => (await sourceOf(daemon, 'journal')).records === 25);
  await daemon.kill();
  write(25, 20);
  await daemon.start();
  // Rotated meanwhile: journald begins a new file on SIGUSR2.
  journal.child.kill('SIGUSR2');
  write(45, 10);
  await until('the rest', async () => (await sourceOf(daemon, 'journal')).records === 30);
  journal.logger('fabric', `two lines\n2026-11-18T00:00:00Z gpu-01 kernel: ${xid(79)}`);
  all.push('two lines', `2026-11-18T00:00:00Z gpu-01 kernel: ${xid(79)}`);
  await until('the last', async () => (await sourceOf(daemon, 'journal')).records === 31);
  await sleep(300);
  await daemon.stop();
  const stored = daemon.bodies().flatMap((batch) => batch.body.toString().split('\n').filter(Boolean)).map((line) => line.replace(/^\S+ \S+ fabric(\[\d+\])?: /u, ''));
  assert.deepEqual(stored, all);
  assert.deepEqual(daemon.verdicts(), [], 'a program cannot speak as the kernel');
  return undefined;
});

test('without configuration it says what it watches', async (t) => {
  const readable = spawnSync('dd', ['if=/dev/kmsg', 'iflag=nonblock', 'bs=8k', 'count=1']).status === 0;
  if (!readable) return t.skip('/dev/kmsg cannot be read here');
  const daemon = make('found', { kmsg: { enabled: 'auto' }, journal: off });
  await daemon.start();
  await untilState(daemon, 'kmsg', 'ok');
  assert.match(daemon.log(), /source=kmsg what=\/dev\/kmsg/u);
  const one = await until('its records', async () => { const s = await sourceOf(daemon, 'kmsg'); return s.records > 0 ? s : null; });
  assert.equal(one.watches, 1);
  await daemon.stop();
  return undefined;
});
