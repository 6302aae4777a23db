// SPDX-License-Identifier: Apache-2.0
// The daemon asks GPUs through NVML: a library of the tests' own stands in for libnvidia-ml.so.1 (tests/standin/nvml.c).
// No GPU is involved.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, source, workspace } from './support/daemon.mjs';
import { sleep, until } from './support/wire.mjs';

const space = workspace('nvml');
const daemons = [];
after(async () => { for (const daemon of daemons) await daemon.destroy(); space.remove(); });

const libraries = space.file('lib');
const library = path.join(libraries, 'libnvidia-ml.so.1');
before(() => {
  fs.mkdirSync(libraries);
  const made = spawnSync('cc', ['-w', '-shared', '-fPIC', '-o', library, path.join(source, 'tests/standin/nvml.c')]);
  assert.equal(made.status, 0, String(made.stderr));
});

/** What the library says from now on. */
const say = (name, text) => { fs.writeFileSync(space.file(`${name}.new`), text); fs.renameSync(space.file(`${name}.new`), space.file(name)); };
const sourceOf = async (daemon) => (await daemon.status()).sources.find((one) => one.name === 'nvml');
const untilSource = (daemon, what, is) => until(`nvml to ${what}`, async () => {
  const one = await sourceOf(daemon);
  return one && is(one) ? one : null;
}, 30000);
const uuid = (n) => `GPU-7d3c1a52-9e04-5b6f-a1c8-00000000000${n}`;

describe('NVML beside the kernel\'s log', () => {
  let daemon;
  before(async () => {
    say('both', 'links 4\n');
    fs.writeFileSync(space.file('kmsg'), '');
    daemon = new Daemon(space.file('both_daemon'), { sources: {
      node: 'gpu-07', kmsg: { enabled: true, path: space.file('kmsg') },
      nvml: { library, interval: '200ms', timeout: '1s', xids: true },
    } }, { env: { TC_NVML_SCRIPT: space.file('both') } });
    daemons.push(daemon);
    await daemon.start();
    await untilSource(daemon, 'read', (one) => one.state === 'ok' && one.gpus === 2 && one.records > 60);
  });

  test('one fault that both tell of is one incident, with all names of the GPU', async () => {
    say('both', 'links 4\nevent 1 1 79\n');
    fs.appendFileSync(space.file('kmsg'), `4,1,${Math.floor(Number(process.hrtime.bigint() / 1000n))},-;NVRM: Xid (PCI:0000:3c:00): 79, pid=4711, name=python, GPU has fallen off the bus.\n`);
    await daemon.untilVerdicts('the incident', 1, 30000);
    say('both', 'links 4\nevent 1 1 79\nlost 1\n');
    await until('the lost GPU to be stored', () => daemon.bodies().some((one) => /GPU is lost/u.test(one.body)), 30000);
    await sleep(1500);
    const faults = daemon.verdicts().filter((v) => v['pattern.name'] === 'gpu_fault');
    assert.ok(faults[0].incident_id);
    assert.equal(new Set(faults.map((v) => v.incident_id)).size, 1, JSON.stringify(faults.map((v) => v.headline)));
    const last = faults.at(-1);
    assert.match(last.headline, /^GPU 1 \(0000:3c:00\.0\) of node gpu-07: .*Xid 79/u);
    const cited = faults.flatMap((v) => v.evidence_trail.map((e) => e.raw)).filter(Boolean).map((raw) => daemon.cite(raw).toString());
    assert.ok(cited.some((line) => line.includes('NVRM: Xid')) || cited.some((line) => line.includes('"xid":79')), cited.join('\n'));
    assert.ok(daemon.bodies().some((one) => one.body.toString().includes(uuid(1))));
  });

  test('a link that goes down is the incident that nvidia-smi would have given', async () => {
    say('both', 'links 4\nlink.0.2 0\n');
    const found = await until('nvlink_degraded', () => daemon.verdicts().find((v) => v['pattern.name'] === 'nvlink_degraded'), 60000);
    assert.match(found.headline, /gpu-07/u);
  });

  test('its health is in the status, in /metrics, and a call that hangs makes it failing', async () => {
    const one = await sourceOf(daemon);
    assert.equal(one.driver, '550.54.15');
    assert.equal(one.xids, 1);
    const metrics = await daemon.metrics();
    assert.equal(metrics.sum('tracecore_nvml_gpus'), 2);
    assert.equal(metrics.sum('tracecore_nvml_xids_total'), 1);
    say('both', 'hang power\n');
    const failing = await untilSource(daemon, 'hang', (s) => s.state === 'failing');
    assert.match(failing.error, /^nvmlDeviceGetPowerUsage has not returned for \d+ s: the driver hangs/u);
    assert.equal((await daemon.metrics()).sum('tracecore_source_up', { source: 'nvml' }), 0);
    await daemon.stop(); // it does not wait for the library
    assert.deepEqual(daemon.exit, { code: 0, signal: null });
  });
});

describe('without configuration', () => {
  test('a library that gives GPUs is found, and the log says what is watched', async () => {
    say('auto', '');
    const daemon = new Daemon(space.file('auto_daemon'), {}, { env: { TC_NVML_SCRIPT: space.file('auto'), LD_LIBRARY_PATH: libraries } });
    daemons.push(daemon);
    await daemon.start();
    await untilSource(daemon, 'read', (one) => one.state === 'ok' && one.watches === 2);
    assert.match(daemon.log(), /msg="watching" source=nvml what="libnvidia-ml\.so\.1: GPUs that are lost, NVLinks, metrics, Xids"/u);
    assert.match(daemon.log(), /msg="confined"/u);
  });

  test('a library without a driver is left alone', async () => {
    say('none', 'code init 9\n');
    const daemon = new Daemon(space.file('none_daemon'), {}, { env: { TC_NVML_SCRIPT: space.file('none'), LD_LIBRARY_PATH: libraries } });
    daemons.push(daemon);
    await daemon.start();
    const one = await untilSource(daemon, 'give up', (s) => s.state === 'ok');
    assert.equal(one.errors, 0);
    assert.match(daemon.log(), /NVML gives no GPUs: they are not asked/u);
  });
});
