// SPDX-License-Identifier: Apache-2.0
// A source that fails for long becomes an incident that cites what the daemon stored of it, is over when all work
// again, is told once whatever is restarted, and comes out the same of a rebuild.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import { after, test } from 'node:test';
import { Daemon, detect, workspace } from './support/daemon.mjs';
import { sleep, until } from './support/wire.mjs';

const space = workspace('outage');
const daemons = [];
const servers = [];
after(async () => {
  for (const daemon of daemons) await daemon.destroy();
  for (const server of servers) { server.closeAllConnections(); server.close(); }
  space.remove();
});

/** Exporters that answer, or not: all of them at once, as when a network is gone. */
async function exporters(count) {
  const all = { works: true, urls: [] };
  for (let i = 0; i < count; i++) {
    const server = http.createServer((request, response) => {
      if (!all.works) { request.socket.destroy(); return; }
      response.end(`# TYPE node_vmstat_oom_kill counter\nnode_vmstat_oom_kill ${i}\n`);
    });
    servers.push(server);
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    all.urls.push(`t${i}=http://127.0.0.1:${server.address().port}/metrics`);
  }
  return all;
}

const outages = (daemon) => [...daemon.incidents().values()].filter((v) => v['pattern.name'] === 'source_failing');
const untilOutage = (daemon, what, is) => until(what, () => { const found = outages(daemon).filter(is); return found.length > 0 ? found : null; }, 60000);
const records = (daemon) => daemon.batches().filter((one) => one.name.split('\n')[0] === 'sources').map((one) => daemon.body(one.number).toString());

test('64 targets and a journal that fail at once are one incident, told once, resolved together', async () => {
  const all = await exporters(64);
  const journal = space.file('no_journal');
  fs.writeFileSync(journal, 'not a folder');
  const config = { sources: { node: 'gpu-07', failing_after: '2s', scrape: { targets: all.urls, interval: '1s' } } };
  const daemon = new Daemon(space.file('one'), config);
  daemons.push(daemon);
  await daemon.start();
  const sourceOf = async (name) => (await daemon.status()).sources.find((one) => one.name === name);
  await until('all targets to answer', async () => { const one = await sourceOf('scrape'); return one.state === 'ok' && one.targets.every((t) => t.answers > 1); }, 60000);
  assert.deepEqual((await daemon.status()).sources.map((one) => one.name), ['scrape'], 'what watches the sources is none of them');

  all.works = false;
  const [open] = await untilOutage(daemon, 'the incident', (v) => v.status === 'open');
  assert.equal(open.severity, 'warning');
  assert.equal(open['k8s.node.name'], 'gpu-07');
  assert.match(open.headline, /^Source scrape of node gpu-07 stopped working at \d\d:\d\d:\d\d: t\d+: /u);
  const cited = daemon.cite(open.evidence_trail[0].raw).toString();
  assert.match(cited, /^\{"kind":"source_state",.*"source":"scrape","state":"failing"/u);

  // Killed and started again while it fails: nothing is told twice, and another source joins the same incident.
  await daemon.kill();
  daemon.configure({ ...config, sources: { ...config.sources, journal: { enabled: true, directory: journal } } });
  await daemon.start();
  const [updated] = await untilOutage(daemon, 'the journal to join', (v) => v.discriminator === 'several_sources');
  assert.equal(updated.incident_id, open.incident_id);
  assert.deepEqual(updated['tracecore.alert.source_failing.sources'], ['journal', 'scrape']);
  assert.equal(records(daemon).length, 2);

  // The targets work again and the journal is no longer wanted: the incident is over.
  all.works = true;
  await daemon.stop();
  daemon.configure(config);
  await daemon.start();
  const [over] = await untilOutage(daemon, 'the end', (v) => v.status === 'resolved');
  assert.equal(over.incident_id, open.incident_id);
  assert.equal(outages(daemon).length, 1);
  await sleep(1500);
  assert.equal(records(daemon).length, 4, records(daemon).join(''));
  await daemon.stop();
  assert.equal(records(daemon).length, 4, records(daemon).join(''));

  // What is stored says the same offline.
  fs.writeFileSync(space.file('stored.ndjson'), records(daemon).join(''));
  const [offline, ...more] = detect([space.file('stored.ndjson')]);
  assert.equal(more.length, 0);
  assert.deepEqual([offline.incident_id, offline.status, offline.headline], [over.incident_id, 'resolved', over.headline]);
});

test('a source that fails for less is none', async () => {
  const all = await exporters(1);
  const daemon = new Daemon(space.file('short'), { sources: { failing_after: '1h', scrape: { targets: all.urls, interval: '100ms' } } });
  daemons.push(daemon);
  all.works = false;
  await daemon.start();
  await until('it to fail', async () => (await daemon.status()).sources[0].state === 'failing', 30000);
  await sleep(1500);
  all.works = true;
  await until('it to work', async () => (await daemon.status()).sources[0].state === 'ok', 30000);
  await daemon.stop();
  assert.deepEqual(records(daemon), []);
  assert.deepEqual(daemon.verdicts(), []);
});
