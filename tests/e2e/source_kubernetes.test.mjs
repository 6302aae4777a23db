// SPDX-License-Identifier: Apache-2.0
// The daemon watches an API server: support/kube_api.mjs, which kubectl works with too. Servers
// break off, compact and refuse, and the daemon is killed: all arrives, and nothing twice.
// TC_KUBE_ROUNDS=100 for the long form.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { after, describe, test } from 'node:test';
import { Daemon, workspace } from './support/daemon.mjs';
import { KubeApi, event, node, pod } from './support/kube_api.mjs';
import { random } from './support/tails.mjs';
import { sleep, until } from './support/wire.mjs';

const rounds = Number(process.env.TC_KUBE_ROUNDS ?? 10);
const space = workspace('kube');
const daemons = [];
const servers = [];
after(async () => {
  for (const daemon of daemons) await daemon.destroy();
  for (const server of servers) await server.stop();
  space.remove();
});

async function serve(options) {
  const api = await new KubeApi(options).start();
  servers.push(api);
  return api;
}

function make(name, api, more = {}, options = {}) {
  const daemon = new Daemon(space.file(name), { sources: { kubernetes: { url: api.url, watch: '2s', ...more } } }, options);
  daemons.push(daemon);
  return daemon;
}

/** Versions that were stored, each as often as it was; "pods 1007". */
function stored(daemon) {
  const all = new Map();
  for (const { body } of daemon.bodies()) {
    for (const line of body.toString().split('\n').filter(Boolean)) {
      const { type, object } = JSON.parse(line);
      assert.match(type, /^(ADDED|MODIFIED|DELETED)$/u);
      const version = Number(object.metadata.resourceVersion);
      all.set(version, (all.get(version) ?? 0) + 1);
    }
  }
  return all;
}

const sourceOf = async (daemon) => (await daemon.status()).sources.find((one) => one.name === 'kubernetes');
const untilSource = (daemon, what, is) => until(`the source to ${what}`, async () => {
  const one = await sourceOf(daemon);
  return is(one) ? one : null;
}, 30000);
const records = async (daemon) => (await sourceOf(daemon)).records;

describe('the server that stands in for an API server', () => {
  const has = spawnSync('kubectl', ['version', '--client']).status === 0;
  test('kubectl lists and watches with it, pages and all', { skip: !has && 'kubectl is not installed' }, async () => {
    const api = await serve();
    for (let i = 0; i < 7; i++) api.change('pods', 'ADDED', pod(`worker-${i}`));
    api.change('nodes', 'ADDED', node('gpu-01'));
    const config = space.file('kubeconfig');
    fs.writeFileSync(config, 'apiVersion: v1\nkind: Config\n');
    const words = ['--server', api.url, '--cache-dir', space.file('kubectl'), '--kubeconfig', config];
    const ask = (...args) => new Promise((resolve) => {
      const child = spawn('kubectl', [...words, ...args]);
      let out = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => { out += text; });
      child.on('close', (code) => resolve({ code, out }));
    });
    const pods = await ask('get', 'pods', '-n', 'train', '-o', 'name', '--chunk-size', '3');
    assert.deepEqual(pods, { code: 0, out: [0, 1, 2, 3, 4, 5, 6].map((i) => `pod/worker-${i}\n`).join('') });
    assert.ok(api.requests.some((one) => one.includes('continue=')), 'it asked for pages');
    assert.deepEqual(await ask('get', 'nodes', '-o', 'name'), { code: 0, out: 'node/gpu-01\n' });
    const watching = spawn('kubectl', [...words, 'get', 'pods', '--watch', '-n', 'train', '-o', 'name']);
    let seen = '';
    watching.stdout.on('data', (text) => { seen += text; });
    await until('its watch', () => api.watches.size > 0, 30000);
    api.change('pods', 'ADDED', pod('worker-late'));
    await until('kubectl to see it', () => seen.includes('pod/worker-late'), 30000);
    watching.kill();
  });
});

describe('a daemon that watches', () => {
  test('what is there comes from lists in pages, what happens from watches; an eviction is an incident', async () => {
    const api = await serve({ page: 4 });
    for (let i = 0; i < 10; i++) api.change('pods', 'ADDED', pod(`worker-${i}`));
    api.change('nodes', 'ADDED', node('gpu-01'));
    const daemon = await make('plain', api).start();
    await until('the lists', async () => await records(daemon) === 11);
    api.change('pods', 'MODIFIED', pod('worker-3', { status: { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' } }));
    api.change('events', 'ADDED', event('worker-3.1', 'worker-3', 'Evicted', 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 20Mi.'));
    const verdicts = await daemon.untilVerdicts('the eviction', (all) => all.some((v) => v['pattern.name'] === 'pod_evicted'), 30000);
    const [verdict] = verdicts.filter((v) => v['pattern.name'] === 'pod_evicted');
    assert.equal(verdict['k8s.node.name'], 'gpu-01');
    const raw = verdict.evidence_trail.map((e) => e.raw).find(Boolean);
    assert.match(daemon.cite(raw).toString(), /"reason":"Evicted"/u);
    const one = await sourceOf(daemon);
    assert.equal(one.state, 'ok');
    assert.deepEqual(one.resources.map((r) => [r.name, r.state]), [['pods', 'ok'], ['events', 'ok'], ['nodes', 'ok']]);
    assert.ok(api.requests.some((path) => path.includes('allowWatchBookmarks=true')));
    await daemon.stop();
    assert.deepEqual([...stored(daemon).values()].filter((count) => count !== 1), []);
    assert.equal(stored(daemon).size, api.history.length);
  });

  test('kills, disconnects and compactions: every object is stored once', async (t) => {
    const api = await serve({ page: Math.max(5, Math.ceil(rounds / 5)) });
    const chance = random(20261118);
    const daemon = make('chaos', api);
    const expected = [];
    const done = { kills: 0, stops: 0, disconnects: 0 };
    let count = 0;
    const happen = (some) => {
      for (let i = 0; i < some; i++) {
        const name = `worker-${String(++count).padStart(6, '0')}`;
        const made = chance() < 0.5 ? api.change('pods', 'ADDED', pod(name)) : api.change('events', 'ADDED', event(name, 'worker-0', 'Pulled', 'Successfully pulled image'));
        expected.push(Number(made.metadata.resourceVersion));
      }
    };
    happen(12);
    await daemon.start();
    for (let round = 0; round < rounds; round++) {
      happen(1 + Math.floor(chance() * 12));
      const what = chance();
      if (what < 0.3) { await sleep(chance() * 60); api.disconnect({ torn: chance() < 0.5 }); done.disconnects++; }
      if (what > 0.2 && what < 0.4) api.bookmark();
      if (what > 0.4 && what < 0.55) api.expire();
      if (what > 0.5 && what < 0.7) { api.disconnect(); done.disconnects++; happen(3); api.compact(); }
      if (what > 0.6 || round % 3 === 0) {
        await sleep(chance() * chance() * 800);
        const how = chance() < 0.7 ? 'kill' : 'stop';
        await daemon[how]();
        done[`${how}s`]++;
        happen(Math.floor(chance() * 8));
        if (chance() < 0.2) api.compact();
        await daemon.start();
      }
    }
    happen(1);
    await until('all', () => { const all = stored(daemon); return expected.every((version) => all.has(version)); }, 60000, 500);
    await daemon.stop();
    const all = stored(daemon);
    assert.deepEqual(expected.filter((version) => !all.has(version)), [], 'missing');
    assert.deepEqual([...all].filter(([, times]) => times !== 1), [], 'more than once');
    assert.equal(all.size, expected.length);
    assert.ok(api.sent.gone > 0, 'something was compacted');
    t.diagnostic(`${all.size} objects; ${JSON.stringify({ ...done, ...api.sent })}`);
  });

  test('a pod that is OOMKilled, and the kernel of its node: one incident that cites both', async () => {
    const api = await serve();
    const log = space.file('kern.log');
    fs.writeFileSync(log, '');
    const worker = pod('worker-3');
    worker.metadata.uid = 'dcf459d4-80a5-5117-9789-219ef6881db0';
    api.change('pods', 'ADDED', worker);
    const daemon = new Daemon(space.file('oom'), { sources: { node: 'gpu-01', files: { paths: [log], poll: '100ms' }, kubernetes: { url: api.url } } });
    daemons.push(daemon);
    await daemon.start();
    await until('the list', async () => await records(daemon) === 1);
    const cgroup = '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poddcf459d4_80a5_5117_9789_219ef6881db0.slice';
    const now = new Date();
    const clock = now.toISOString().replace('Z', '000+00:00');
    worker.status = { phase: 'Failed', containerStatuses: [{ name: 'worker', restartCount: 0, state: { terminated: { exitCode: 137, reason: 'OOMKilled', finishedAt: now.toISOString().replace(/\.\d+/u, '') } } }] };
    api.change('pods', 'MODIFIED', worker);
    fs.appendFileSync(log, `${clock} gpu-01 kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0-1,oom_memcg=${cgroup},task_memcg=${cgroup}/cri-containerd-5f5f.scope,task=python,pid=461754,uid=0\n` +
      `${clock} gpu-01 kernel: Memory cgroup out of memory: Killed process 461754 (python) total-vm:97617567kB, anon-rss:97517568kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0\n`);
    const verdicts = await daemon.untilVerdicts('the kill', (all) => all.some((v) => v['pattern.name'] === 'host_oom' && JSON.stringify(v).includes('train/worker-3')), 30000);
    const cited = verdicts.flatMap((v) => v.evidence_trail).map((e) => e.raw).filter(Boolean).map((raw) => daemon.cite(raw).toString());
    assert.ok(cited.some((text) => text.includes('oom-kill:constraint')), cited.join('\n'));
    await until('the pod in the trail', () => daemon.verdicts().flatMap((v) => v.evidence_trail).map((e) => e.raw).filter(Boolean).some((raw) => daemon.cite(raw).toString().includes('"reason":"OOMKilled"')), 30000, 200);
    await daemon.stop();
  });

  test('one node: its pods, itself and events about it', async () => {
    const api = await serve();
    api.change('pods', 'ADDED', pod('here', { node: 'gpu-01' }));
    api.change('pods', 'ADDED', pod('there', { node: 'gpu-02' }));
    for (const name of ['gpu-01', 'gpu-02']) api.change('nodes', 'ADDED', node(name));
    const daemon = await make('node', api, { node: 'gpu-01' }).start();
    await until('the lists', async () => await records(daemon) === 2);
    await daemon.stop();
    assert.deepEqual([...stored(daemon).keys()].sort(), [1001, 1003]);
  });
});

describe('accounts', () => {
  const has = spawnSync('openssl', ['version']).status === 0;
  test('authority and certificate of the client from files', { skip: !has && 'openssl is not installed' }, async () => {
    const both = ['key', 'pem'].map((end) => space.file(`self.${end}`));
    const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=self',
      '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', both[0], '-out', both[1]], { encoding: 'utf8' });
    assert.equal(made.status, 0, made.stderr);
    const [key, cert] = both.map((file) => fs.readFileSync(file));
    const api = await serve({ tls: { key, cert, ca: cert } });
    api.change('pods', 'ADDED', pod('worker-0'));
    const daemon = await make('tls', api, { ca_file: both[1], cert_file: both[1], key_file: both[0] }).start();
    await until('the list', async () => await records(daemon) === 1);
    await daemon.stop();
    const stranger = await make('untrusted', api).start();
    const one = await untilSource(stranger, 'fail', (source) => source.state === 'failing');
    assert.match(one.error, /its certificate is not trusted/u);
    await stranger.stop();
    assert.equal(stored(stranger).size, 0);
    if (spawnSync('kubectl', ['version', '--client']).status !== 0) return;

    // The same by kubeconfigs that kubectl writes: certificates in the file, and beside it.
    for (const embedded of [true, false]) {
      const config = space.file(`made-${embedded}`);
      const kubectl = (...args) => assert.equal(spawnSync('kubectl', ['config', '--kubeconfig', config, ...args]).status, 0, args.join(' '));
      kubectl('set-cluster', 'one', `--server=${api.url}`, `--certificate-authority=${both[1]}`, `--embed-certs=${embedded}`);
      kubectl('set-credentials', 'me', `--client-certificate=${both[1]}`, `--client-key=${both[0]}`, `--embed-certs=${embedded}`);
      kubectl('set-context', 'used', '--cluster=one', '--user=me');
      kubectl('set-context', 'other', '--cluster=two', '--user=me');
      kubectl('use-context', embedded ? 'used' : 'other');
      assert.equal(fs.readFileSync(config, 'utf8').includes('certificate-authority-data'), embedded);
      const follows = await make(`kubeconfig-${embedded}`, api, { url: '', kubeconfig: config, context: embedded ? '' : 'used' }).start();
      await until('the list', async () => await records(follows) === 1);
      assert.match(follows.log(), new RegExp(`msg="watching" source=kubernetes what=\\S*made-${embedded}`, 'u'));
      await follows.stop();
    }
  });

  test('a kubeconfig with a token, and one that wants a program', async () => {
    const api = await serve({ token: 'in-the-file' });
    api.change('pods', 'ADDED', pod('worker-0'));
    const config = (user) => {
      fs.writeFileSync(space.file('kube.json'), JSON.stringify({ 'current-context': 'a', contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
        clusters: [{ name: 'a', cluster: { server: api.url } }], users: [{ name: 'a', user }] }));
      return { url: '', kubeconfig: space.file('kube.json') };
    };
    const daemon = await make('kube-token', api, config({ token: 'in-the-file' })).start();
    await until('the list', async () => await records(daemon) === 1);
    await daemon.stop();
    const refused = make('kube-exec', api, config({ exec: { command: 'aws' } }));
    await assert.rejects(refused.start());
    assert.match(refused.log(), /sources\.kubernetes: .*kube\.json: the user logs in by exec, and the daemon runs no programs for that/u);
  });
});

describe('what goes wrong', () => {
  test('a token that is not valid is told, and one that changes is taken', async () => {
    const api = await serve({ token: 'second' });
    const file = space.file('token');
    fs.writeFileSync(file, 'first\n');
    api.change('pods', 'ADDED', pod('worker-0'));
    const daemon = await make('refused', api, { token_file: file }).start();
    const one = await untilSource(daemon, 'fail', (source) => source.state === 'failing');
    assert.match(one.error, /answers 401: the token is missing or not valid/u);
    fs.writeFileSync(file, 'second\n');
    await untilSource(daemon, 'work', (source) => source.state === 'ok' && source.records === 1);
    await daemon.stop();
  });

  test('objects that are too long are counted, and what is no watch event; the rest arrives', async () => {
    const api = await serve();
    const daemon = await make('bounds', api).start();
    await until('watches', () => api.watches.size === 3, 30000);
    const long = pod('long');
    long.metadata.annotations = { note: 'x'.repeat(300 << 10) };
    api.change('pods', 'ADDED', long);
    for (const watch of api.watches) watch.response.write('\n[1,2,\n{"type":"ADDED"}\n{"type":"NEWS","object":{"metadata":{"resourceVersion":"7"}}}\n');
    api.change('pods', 'ADDED', pod('short'));
    const one = await untilSource(daemon, 'take the short one', (source) => source.records === 1);
    assert.ok(one.lost >= 4, `${one.lost} lost`);
    await daemon.stop();
    assert.deepEqual([...stored(daemon)], [[1002, 1]]);
  });

  test('outside of a cluster enabled: true says what is missing', async () => {
    const daemon = new Daemon(space.file('outside'), { sources: { kubernetes: { enabled: true } } }, { env: { KUBERNETES_SERVICE_HOST: '' } });
    daemons.push(daemon);
    await assert.rejects(daemon.start(), /set sources\.kubernetes\.url/u);
  });
});
