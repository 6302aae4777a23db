// SPDX-License-Identifier: Apache-2.0
// An hour of a small fleet with faults through all the sources of a daemon: it reads everything, and its verdicts are those
// of `tracecore detect` on the same bytes. The long form is ./dev bench --soak: a day of 256 nodes, and memory.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Daemon, detect, workspace } from './support/daemon.mjs';
import { Fleet, differences, settled } from './support/fleet.mjs';
import { until } from './support/wire.mjs';

const HOUR_MS = 3600000;
const HOLD_MS = 4000;
const space = workspace('soak');
let fleet;
let daemon;
let status;
after(async () => {
  await daemon?.destroy();
  await fleet?.stop();
  space.remove();
});

before(async () => {
  const startMs = Math.floor(Date.now() / 1000) * 1000 - HOUR_MS - 60000;
  fleet = await new Fleet({ dir: space.file('fleet'), nodes: 8, hours: 1, seed: 1, startMs, kernelLog: 2048, jobLog: 65536 }).start();
  daemon = new Daemon(space.file('daemon'), { sources: fleet.sources('100ms'), detection: { hold: `${HOLD_MS}ms`, hold_bytes: '64MiB' } });
  await daemon.start();
  await until('its watches', () => fleet.api.watches.size === 3);
  await fleet.play(daemon, { tickMs: 30000 });
  status = await settled(fleet, daemon, HOLD_MS);
});

describe('an hour of eight nodes', () => {
  test('every source has read everything, over rotations', () => {
    const records = Object.fromEntries(status.sources.map((one) => [one.name, one.records]));
    assert.equal(records.files, fleet.counts.lines);
    assert.equal(records.kubernetes, fleet.counts.objects);
    assert.equal(records.dumps, fleet.counts.dumps);
    assert.ok(records.scrape >= fleet.counts.samples - fleet.targets.length * 8 * 19, `${records.scrape} of ${fleet.counts.samples} samples`);
    assert.deepEqual(status.sources.filter((one) => one.lost > 0 || one.state === 'starting'), []);
    assert.ok(fleet.counts.dumps > 0 && fleet.counts.objects > 10 && fleet.counts.posted > 10 && fleet.counts.scrapes > 100);
    assert.ok([...fleet.logs.values()].reduce((sum, log) => sum + log.rotations, 0) > 10);
  });

  test('its verdicts are those of detect', async () => {
    await daemon.stop();
    const offline = detect([fleet.kept]);
    assert.ok(new Set(offline.map((one) => one['pattern.name'])).size >= 5);
    const differs = differences([...daemon.incidents().values()], offline);
    const name = (one) => `${one['pattern.name']} ${one.incident_id} ${one.headline}`;
    assert.deepEqual({ live: differs.live.map(name), offline: differs.offline.map(name), fields: differs.fields, examples: differs.examples },
      { live: [], offline: [], fields: {}, examples: [] });
  });
});
