// SPDX-License-Identifier: Apache-2.0
// The daemon asks Slurm and NCCL's RAS service: commands that print what sacct and scontrol print, and
// a service that speaks NCCL's protocol and gives reports as NCCL does. And those that do not.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, detect, lines, run, source, workspace } from './support/daemon.mjs';
import { sleep, until } from './support/wire.mjs';

const space = workspace('poll');
const servers = [];
const daemons = [];
after(async () => {
  for (const daemon of daemons) await daemon.destroy();
  for (const server of servers) { server.close(); for (const one of server.open) one.destroy(); }
  space.remove();
});

const HEADER = 'JobID|State|ExitCode|NodeList|End';
const minute = (ago) => new Date(Date.now() - ago * 60000).toISOString().slice(0, 19);

/** A command of the test's own; replaced as a whole, since the daemon may run it right now. */
function command(name, text) {
  const file = space.file(name);
  fs.writeFileSync(`${file}.new`, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  fs.renameSync(`${file}.new`, file);
  return file;
}
/** What it prints from now on. */
const print = (name, text) => {
  fs.writeFileSync(space.file(`${name}.out.new`), text);
  fs.renameSync(space.file(`${name}.out.new`), space.file(`${name}.out`));
};
/** One that prints that, and writes down how it was called. */
const printing = (name, text) => {
  print(name, text);
  return command(name, `echo "$*" >>${space.file(`${name}.calls`)}\ncat ${space.file(`${name}.out`)}`);
};
/** A line of `scontrol --oneliner show node`, of Slurm 23.11. */
const node = (name, state, more = '') => `NodeName=${name} Arch=x86_64 CoresPerSocket=48  CPUAlloc=0 CPUEfctv=192 CPUTot=192 CPULoad=${Math.random().toFixed(2)} AvailableFeatures=h100 ActiveFeatures=h100 Gres=gpu:h100:8 NodeAddr=${name} NodeHostName=${name} Version=23.11.4 OS=Linux 5.15.0-105-generic #115-Ubuntu SMP  RealMemory=2000000 AllocMem=0 FreeMem=${1900000 + Math.floor(Math.random() * 9999)} Sockets=2 Boards=1 State=${state} ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=gpu  BootTime=2026-11-01T08:00:00 SlurmdStartTime=2026-11-01T08:02:11 CfgTRES=cpu=192,mem=2000000M,billing=192,gres/gpu=8 AllocTRES= CapWatts=n/a CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/a ExtSensorsWatts=0 ExtSensorsTemp=n/a ${more}\n`;

const sourceOf = async (daemon, name) => (await daemon.status()).sources.find((one) => one.name === name);
const untilSource = (daemon, name, what, is) => until(`${name} to ${what}`, async () => {
  const one = await sourceOf(daemon, name);
  return one && is(one) ? one : null;
}, 30000);
/** What detect finds in the bytes that the daemon has stored, each batch as a file. */
function detectStored(daemon, name, args = []) {
  const folder = fs.mkdtempSync(space.file(`bytes_${name}_`));
  for (const { number, name: label, body } of daemon.bodies()) fs.writeFileSync(path.join(folder, `${number}-${label.split('\n')[0].replace(/[^\w.]/gu, '_')}.txt`), body);
  return detect([folder], args);
}
const key = (v) => [v['pattern.name'], v['k8s.node.name'] ?? '', v['k8s.job.name'] ?? v.job ?? ''].join(' ');

describe('Slurm', () => {
  let daemon;
  const end = minute(3);
  const earlier = minute(9);
  before(async () => {
    const sacct = printing('sacct', `${HEADER}\n4711|RUNNING|0:0|gpu-07|Unknown\n4700|COMPLETED|0:0|gpu-08|${earlier}\n4699|CANCELLED by 1000|0:0|gpu-08|${earlier}\n`);
    const scontrol = printing('scontrol', node('gpu-07', 'ALLOCATED') + node('gpu-08', 'IDLE'));
    daemon = new Daemon(space.file('slurm'), { sources: { slurm: { enabled: true, sacct, scontrol, interval: '200ms' } } });
    daemons.push(daemon);
    await daemon.start();
  });

  test('jobs and nodes are stored once while nothing changes', async () => {
    await untilSource(daemon, 'slurm', 'store', (one) => one.state === 'ok' && one.records === 5);
    const calls = () => fs.readFileSync(space.file('sacct.calls'), 'utf8').trim().split('\n').length;
    const before = calls();
    await until('more polls', () => calls() > before + 3, 30000, 50);
    assert.equal((await sourceOf(daemon, 'slurm')).records, 5);
    assert.deepEqual(daemon.verdicts(), []);
    const call = fs.readFileSync(space.file('sacct.calls'), 'utf8').split('\n')[0];
    assert.match(call, /^--allusers --allocations --duplicates --parsable2 --format=JobID,State,ExitCode,NodeList,End --starttime=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/u);
  });

  test('a job that ran out of memory and a node that was drained are the incidents of detect', async () => {
    print('sacct', `${HEADER}\n4711|OUT_OF_MEMORY|0:125|gpu-07|${end}\n4700|COMPLETED|0:0|gpu-08|${earlier}\n`);
    print('scontrol', node('gpu-07', 'IDLE+DRAIN', `Reason=Kill task failed [root@${end}]`) + node('gpu-08', 'IDLE'));
    const verdicts = await daemon.untilVerdicts('the incident of the job', 1, 30000);
    assert.equal(verdicts[0]['pattern.name'], 'host_oom');
    assert.equal(verdicts[0]['k8s.node.name'], 'gpu-07');
    const raw = verdicts.flatMap((v) => v.evidence_trail.map((e) => e.raw)).filter(Boolean);
    assert.match(daemon.cite(raw[0]).toString(), /^4711\|OUT_OF_MEMORY\|0:125\|gpu-07\|/u);
    await untilSource(daemon, 'slurm', 'have stored it', (one) => one.records === 7);
    const found = detectStored(daemon, 'slurm');
    assert.deepEqual([...new Set(found.map(key))].sort(), [...new Set(daemon.verdicts().map(key))].sort());
  });

  test('after a kill nothing is stored again', async () => {
    const before = daemon.batches().length;
    await daemon.kill();
    await daemon.start();
    await untilSource(daemon, 'slurm', 'poll', (one) => one.state === 'ok');
    await sleep(600);
    assert.equal((await sourceOf(daemon, 'slurm')).records, 0);
    assert.equal(daemon.batches().length, before);
    const since = fs.readFileSync(space.file('sacct.calls'), 'utf8').trim().split('\n').at(-1).match(/--starttime=(\S+)/u)[1];
    const minutes = (Date.now() - Date.parse(`${since}Z`)) / 60000;
    assert.ok(minutes > 9 && minutes < 15, `the window begins at ${since}`);
  });

  test('commands that nobody wants are failures that are said, and end with the daemon', async () => {
    const good = printing('scontrol', node('gpu-07', 'IDLE'));
    const cases = [
      ['echo "sacct: error: slurm_persist_conn_open_without_init: Connection refused" >&2; exit 1', /ended with status 1: sacct: error: slurm_persist_conn_open/u],
      ['yes 4711', /prints too much/u],
      ['echo garbage', /something else than a table/u],
      ['kill -SEGV $$', /ended with signal 11/u],
      ['sleep 3600', /killed/u],
    ];
    const bad = new Daemon(space.file('bad_daemon'), { sources: { slurm: { enabled: true, sacct: command('bad', cases[0][0]), scontrol: good, interval: '100ms', timeout: '2s' } } });
    daemons.push(bad);
    await bad.start();
    for (const [text, why] of cases) {
      command('bad', text);
      await untilSource(bad, 'slurm', String(why), (one) => one.state === 'failing' && why.test(one.error));
    }
    command('bad', `printf '${HEADER}\\n'`);
    await untilSource(bad, 'slurm', 'be well again', (one) => one.state === 'ok');
    command('bad', `echo $$ >${space.file('pid')}; exec sleep 3600`);
    await until('it to hang', () => fs.existsSync(space.file('pid')), 30000, 20);
    await bad.stop();
    const pid = Number(fs.readFileSync(space.file('pid'), 'utf8'));
    assert.throws(() => process.kill(pid, 0), /ESRCH/u);
  });

  test('the epilog hands over how a job ended, and never fails', async () => {
    const epilog = path.join(source, 'packaging/slurm/epilog.sh');
    const hand = (env) => spawnSync(epilog, [], { env: { PATH: process.env.PATH, TRACECORE_API: `http://${daemon.api}`, ...env } }).status;
    const count = () => daemon.batches().length;
    const before = count();
    for (const env of [{}, { SLURM_JOB_ID: '1|x' }, { SLURM_JOB_ID: '1', SLURMD_NODENAME: 'a|b' }, { SLURM_JOB_ID: '1', SLURM_JOB_EXIT_CODE2: '1:0|x' }]) assert.equal(hand(env), 0);
    assert.equal(hand({ SLURM_JOB_ID: '1', TRACECORE_API: 'http://127.0.0.1:1' }), 0);
    assert.equal(count(), before);
    assert.equal(hand({ SLURM_JOB_ID: '5001', SLURMD_NODENAME: 'gpu-33', SLURM_JOB_EXIT_CODE: '35072' }), 0);
    assert.equal(hand({ SLURM_JOB_ID: '5002', SLURMD_NODENAME: 'gpu-34', SLURM_JOB_EXIT_CODE2: '0:0' }), 0);
    const bodies = daemon.bodies().slice(before).map((one) => one.body.toString());
    assert.match(bodies[0], /^JobID\|State\|ExitCode\|NodeList\|End\n5001\|FAILED\|137:0\|gpu-33\|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n$/u);
    assert.match(bodies[1], /\n5002\|COMPLETED\|0:0\|gpu-34\|/u);
    fs.writeFileSync(space.file('epilog.txt'), bodies[0] + bodies[1]);
    const events = lines(run(['decode', '--format', 'slurm', space.file('epilog.txt')]).text);
    assert.deepEqual(events.map((e) => [e.kind, e['job.id'], e['k8s.node.name'], e.exit_code]), [['rank_exit', '5001', 'gpu-33', 137]]);
  });
});

// ---- NCCL ----

/** What NCCL 2.24 prints for 4 ranks on 2 nodes. */
const summary = (status) => `NCCL version 2.24.3 compiled with CUDA 12.6
CUDA runtime version 12060, driver version 12060

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      2          2            1          4        4

Communicators... (${(Math.random() / 10).toFixed(2)}s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2       1-2         4         4   RUNNING  ${status}

`;
const well = () => `${summary('    OK')}Errors\n======\n\nWarnings\n========\n\n`;
const missing = () => `${summary('INCOMPLETE')}Errors
======

INCOMPLETE
  Missing communicator data from 1 job process
  Process 3487984 on node 10.0.0.6 managing GPU 1
  1 job process is considered dead (unreachable via the RAS network)

#0-0 (27a079b828ff1a75) INCOMPLETE
  Missing communicator data from 1 rank
  The missing rank: 3

Warnings
========

`;

/** A service that speaks as NCCL does; `talk` may do something else with a line. */
async function ras(report, talk = () => false) {
  const server = net.createServer((socket) => {
    let text = '';
    server.open.add(socket);
    socket.on('close', () => server.open.delete(socket));
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      text += bytes;
      for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n')) {
        const line = text.slice(0, at);
        text = text.slice(at + 1);
        server.heard.push(line);
        if (talk(line, socket)) continue;
        if (/^client protocol \d+$/iu.test(line)) socket.write('SERVER PROTOCOL 2\n');
        else if (/^timeout \d+$/iu.test(line)) socket.write('OK\n');
        else if (/^verbose status$/iu.test(line)) { server.reports++; socket.end(report()); }
        else socket.end('ERROR: Unknown command\n');
      }
    });
  });
  Object.assign(server, { open: new Set(), heard: [], reports: 0 });
  servers.push(server);
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return server;
}
const at = (server) => `127.0.0.1:${server.address().port}`;
const targetOf = async (daemon, name) => (await sourceOf(daemon, 'ncclras')).targets.find((one) => one.name === name);
const untilTarget = (daemon, name, what, is) => until(`${name} to ${what}`, async () => {
  const one = await targetOf(daemon, name);
  return is(one) ? one : null;
}, 30000);

describe('NCCL\'s RAS service', () => {
  let daemon;
  let server;
  let report = well;
  before(async () => {
    server = await ras(() => report());
    daemon = new Daemon(space.file('ras'), { sources: { node: 'gpu-07', ncclras: { targets: [`${at(server)} job=4711`, '127.0.0.1:1'], interval: '150ms' } } });
    daemons.push(daemon);
    await daemon.start();
  });

  test('a job that is well is stored once; no job is no failure', async () => {
    await untilTarget(daemon, at(server), 'be asked', (one) => one.reports > 4);
    assert.deepEqual(server.heard.slice(0, 3), ['CLIENT PROTOCOL 2', 'TIMEOUT 5', 'VERBOSE STATUS']);
    assert.equal((await targetOf(daemon, at(server))).stored, 1);
    assert.equal((await targetOf(daemon, '127.0.0.1:1')).state, 'no job');
    assert.equal((await sourceOf(daemon, 'ncclras')).state, 'ok');
    assert.equal(daemon.batches().length, 1);
    assert.deepEqual(daemon.verdicts(), []);
  });

  test('a rank that is missing is the incident of detect, citing the report', async () => {
    report = missing;
    const verdicts = await daemon.untilVerdicts('the incident', 1, 30000);
    assert.equal(verdicts[0]['pattern.name'], 'nccl_hang');
    const raw = verdicts[0].evidence_trail.map((e) => e.raw).filter(Boolean);
    assert.match(daemon.cite(raw[0]).toString(), /missing rank/u);
    await untilTarget(daemon, at(server), 'be stored again', (one) => one.stored > 4);
    const found = detectStored(daemon, 'ras');
    assert.deepEqual([...new Set(found.map((v) => v['pattern.name']))], ['nccl_hang']);
  });

  test('after the job nobody listens, and the daemon is well', async () => {
    const name = at(server);
    await new Promise((resolve) => { server.close(resolve); });
    await untilTarget(daemon, name, 'be without a job', (one) => one.state === 'no job');
    assert.equal((await sourceOf(daemon, 'ncclras')).state, 'ok');
  });

  test('services that nobody wants', async () => {
    const good = await ras(well);
    const kinds = {
      garbage: [await ras(() => 'hello\n'), /no report/u],
      endless: [await ras(well, (line, socket) => line === 'VERBOSE STATUS' && (setInterval(() => socket.destroyed || socket.write('x'.repeat(1 << 16)), 1).unref(), true)), /more than 1 MiB/u],
      web: [await ras(well, (line, socket) => { socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'); return true; }), /something else|closed/u],
      silent: [await ras(well, () => true), /in time/u],
      closes: [await ras(well, (line, socket) => { socket.end(); return true; }), /closed/u],
    };
    const bad = new Daemon(space.file('ras_bad'), { sources: { ncclras: { targets: [at(good), ...Object.values(kinds).map(([one]) => at(one))], interval: '200ms', timeout: '1500ms' } } });
    daemons.push(bad);
    await bad.start();
    for (const [one, why] of Object.values(kinds)) await untilTarget(bad, at(one), String(why), (target) => target.state === 'failing' && why.test(target.error));
    assert.equal((await sourceOf(bad, 'ncclras')).state, 'failing');
    await untilTarget(bad, at(good), 'be asked all the same', (one) => one.state === 'ok' && one.reports > 1);
    assert.equal(bad.batches().length, 1);
    await bad.stop();
  });
});
