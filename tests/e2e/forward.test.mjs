// SPDX-License-Identifier: Apache-2.0
// An agent forwards all that it stores to a pair of judges: the same bytes, the same incidents; and nothing is lost or
// told twice, whoever is killed.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { random } from './support/chaos.mjs';
import { binary, Daemon, run, workspace } from './support/daemon.mjs';
import { logs, logsJson, metrics, nowNs, traces, xid48 } from './support/otlp.mjs';
import { freePort, isInstalled, startAlertmanager } from './support/prometheus.mjs';
import { call, get, JSON_TYPE, post, sleep, until } from './support/wire.mjs';
import { uploadIncident } from './support/world.mjs';

const space = workspace('forward');
const ends = [];
after(async () => { for (const end of ends.reverse()) await end(); space.remove(); });

const QUICK = { backoff: { min: '20ms', max: '200ms' } };

function make(name, config) {
  const daemon = new Daemon(space.file(name), config);
  ends.push(() => daemon.destroy());
  return daemon;
}

/** A judge whose address stays over restarts. */
async function judge(name, config = {}) {
  const daemon = make(name, { receivers: { otlp: { http: { listen: `127.0.0.1:${await freePort()}` } } }, ...config });
  await daemon.start();
  daemon.url = `http://${daemon.http}`;
  return daemon;
}
const agent = (name, judges, config = {}) =>
  make(name, { forward: { endpoints: judges.map((one) => one.url), ...QUICK, ...config.forward }, ...config.rest }).start();

async function server(answer) {
  const one = http.createServer(answer);
  await new Promise((resolve) => { one.listen(0, '127.0.0.1', resolve); });
  ends.push(() => { one.closeAllConnections(); one.close(); });
  return `http://127.0.0.1:${one.address().port}`;
}

/** Waits until every receiver has all. */
const untilForwarded = (daemon, timeoutMs = 30000) => until('all to be forwarded', async () => {
  const { forward } = await daemon.status();
  return forward.length > 0 && forward.every((one) => one.waiting === 0);
}, timeoutMs).catch(async (error) => { throw new Error(`${error.message}\n${JSON.stringify((await daemon.status()).forward)}\n${daemon.log()}`); });

const digest = (bytes) => crypto.createHash('sha256').update(bytes).digest('hex');
/** What a store holds, in its order: kind and digest of each body. */
const held = (daemon) => daemon.bodies().map((batch) => `${batch.kind} ${digest(batch.body)}`);
const opened = (daemon) => daemon.verdicts().filter((v) => v.status === 'open').map((v) => v.incident_id).sort();
const fault = (node, time = nowNs()) => logs({ 'host.name': node }, [{ time, body: xid48(), severity: 17 }]);
const dcgm = (celsius) => `# TYPE DCGM_FI_DEV_GPU_TEMP gauge\nDCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-0",Hostname="gpu-41"} ${celsius}\n` +
  `# TYPE DCGM_FI_DEV_XID_ERRORS gauge\nDCGM_FI_DEV_XID_ERRORS{gpu="0",UUID="GPU-0",Hostname="gpu-41"} ${celsius > 50 ? 79 : 0}\n`;

describe('an agent and a pair', () => {
  test('the pair has the bytes in their order, and the incidents that the agent finds itself', async () => {
    // Files of long ago are judged with what comes while they wait: the same wait for all. And the agent judges what is uploaded to it when nothing
    // more comes for that and a second, as on a busy machine dumps of one job come apart; judges wait longer for what is forwarded.
    const detection = { hold: '2s' };
    const pair = [await judge('alike_a', { detection }), await judge('alike_b', { detection })];
    let celsius = 40;
    const exporter = await server((request, response) => { response.setHeader('content-type', 'text/plain; version=0.0.4'); response.end(dcgm(celsius)); });
    const log = space.file('app', 'gpu-23.log');
    fs.mkdirSync(path.dirname(log));
    fs.writeFileSync(log, '');
    const one = await agent('alike', pair, { rest: {
      detection: { ...detection, enabled: true }, // so that there is something to compare with
      sources: { files: { paths: [`${log} node=gpu-23`], poll: '50ms' }, scrape: { targets: [`dcgm=${exporter}/metrics node=gpu-41`], interval: '200ms' } },
    } });
    for (let i = 0; i < 5; i++) assert.equal((await post(one.http, 'logs', fault(`gpu-0${i}`))).status, 200);
    assert.equal((await post(one.http, 'logs', logsJson({ 'host.name': 'gpu-06' }, [{ time: nowNs(), body: xid48() }]), { 'content-type': JSON_TYPE })).status, 200);
    // Without a time: it is dated by when it came to the agent, at the judges too.
    assert.equal((await post(one.http, 'logs', logsJson({ 'host.name': 'gpu-17' }, [{ time: 0n, body: xid48() }]), { 'content-type': JSON_TYPE })).status, 200);
    assert.equal((await post(one.http, 'metrics', metrics({ 'host.name': 'gpu-01' }, [{ name: 'load', points: [{ time: nowNs(), value: 1 }] }]))).status, 200);
    assert.equal((await post(one.http, 'traces', traces({ 'service.name': 'x' }, [{ name: 'a' }]))).status, 200);
    fs.appendFileSync(log, `${xid48()}\nnothing\n`);
    celsius = 60;
    await uploadIncident(one);
    await until('the agent to have found all', () => {
      const nodes = JSON.stringify([...one.incidents().values()]);
      return nodes.includes('gpu-23') && nodes.includes('gpu-41') && nodes.includes('gpu-17') && one.incidents().size >= 9;
    }, 30000).catch((error) => { throw new Error(`${error.message}: ${JSON.stringify([...one.incidents().values()].map((v) => [v.pattern, v.headline]))}`); });
    let seen = 0;
    await until('nothing more to be found', async () => {
      const before = seen;
      seen = one.verdicts().length;
      await sleep(3000);
      return before === one.verdicts().length;
    });
    await untilForwarded(one);
    const sure = held(one).length;
    assert.match(run(['status', '--api', `http://${one.api}`]).text, /forward +http:\/\/127\.0\.0\.1:\d+: \d+ batches, \d+ waiting, 0 refused/u);
    assert.equal((await one.metrics()).sum('tracecore_forward_up', { endpoint: pair[0].url }), 1);
    await one.stop();
    await until('the judges to have found as much', () => pair.every((p) => p.incidents().size >= one.incidents().size), 30000).catch(() => {});
    const mine = held(one);
    for (const p of pair) {
      const his = held(p);
      assert.ok(his.length >= sure, `${his.length} of ${mine.length}`);
      assert.deepEqual(his, mine.slice(0, his.length)); // scrapes go on to the last moment
      assert.deepEqual(opened(p), opened(one), JSON.stringify([one, p].map((d) => [...d.incidents().values()].map((v) => [v.incident_id.slice(0, 6), v.pattern, v.status, v.first_seen, v.headline.slice(0, 80)])), null, 1));
      // What a verdict cites is there, byte for byte.
      for (const v of p.incidents().values()) {
        for (const e of v.evidence ?? []) {
          if (e.raw?.digest) assert.deepEqual(p.cite(e.raw), one.cite(e.raw));
        }
      }
      p.assertWhole();
    }
    const names = pair[0].batches().filter((batch) => batch.kind === 'source');
    assert.ok(names.some((batch) => /format=prometheus/u.test(batch.name) && /node=gpu-41/u.test(batch.name)), JSON.stringify(names[0]));
    assert.ok((await pair[0].metrics()).sum('tracecore_forwarded_batches_total', { outcome: 'stored' }) >= sure);
    for (const p of pair) await p.stop();
  });

  test('by default an agent does not judge, and what it forwards goes on to whom its receiver forwards to', async () => {
    const last = await judge('chain_last');
    const middle = make('chain_middle', { receivers: { otlp: { http: { listen: `127.0.0.1:${await freePort()}` } } }, forward: { endpoints: [last.url], ...QUICK } });
    await middle.start();
    middle.url = `http://${middle.http}`;
    const log = space.file('chain.log');
    fs.writeFileSync(log, `${xid48()}\n`);
    const first = await agent('chain_first', [middle], { rest: { sources: { files: { paths: [`${log} node=gpu-31`], poll: '50ms' } } } });
    await post(first.http, 'logs', fault('gpu-30'));
    await last.untilVerdicts('both verdicts', 2);
    assert.deepEqual([...last.incidents().values()].map((v) => v.node ?? v.where?.node ?? JSON.stringify(v).match(/gpu-3[01]/u)[0]).sort(), ['gpu-30', 'gpu-31']);
    assert.equal(first.verdicts().length + middle.verdicts().length, 0);
    assert.equal((await first.status()).detection, false);
    assert.equal((await last.status()).detection, true);
    await first.stop();
    await first.start();
    assert.equal((await first.status()).state, 'ready');
    for (const daemon of [first, middle, last]) await daemon.stop();
  });
});

describe('whoever is killed', { skip: !isInstalled('prometheus-alertmanager') && 'no prometheus-alertmanager' }, () => {
  test('nothing is lost, and nothing is told twice', async (t) => {
    const rounds = Number(process.env.TC_ROUNDS ?? 12);
    const seed = Number(process.env.TC_SEED ?? Date.now() % 1000000);
    const chance = random(seed);
    const notes = [];
    const hook = await server((request, response) => {
      const parts = [];
      request.on('data', (part) => parts.push(part));
      request.on('end', () => { notes.push(JSON.parse(Buffer.concat(parts))); response.end('{}'); });
    });
    fs.mkdirSync(space.file('am'));
    const manager = await startAlertmanager(space.file('am'), { webhook: `${hook}/` });
    ends.push(() => manager.stop());
    // A firing alert lapses after four times `resend`, and a busy machine may take seconds for a restart of both.
    const alerts = { alerts: { settle: '1s', resend: '10s', timeout: '500ms', backoff: { min: '100ms', max: '300ms' },
      outputs: [{ name: 'am', type: 'alertmanager', url: `http://${manager.address}` }] } };
    const pair = [await judge('kill_a', { ...alerts, evidence: { segment_bytes: '64KiB' } }), await judge('kill_b', alerts)];
    const one = await agent('kill', pair, { rest: { evidence: { segment_bytes: '64KiB' } } });
    const sent = new Map();
    let stopped = false;
    const sending = (async () => {
      for (let i = 0; !stopped; i++) {
        const node = `gpu-${String(i).padStart(4, '0')}`;
        const body = fault(node);
        while (!stopped) {
          const answer = await post(one.http, 'logs', body, {}, { timeoutMs: 2000 }).catch(() => null);
          if (answer?.status === 200) { sent.set(node, digest(body)); break; }
          await sleep(10);
        }
        await sleep(15);
      }
    })();
    for (let round = 0; round < rounds; round++) {
      await sleep(200 + chance() % 300);
      const victim = [one, ...pair][round % 3];
      await victim.kill();
      await sleep(chance() % 400);
      await victim.start({ replayed: false });
    }
    await sleep(500);
    stopped = true;
    await sending;
    await untilForwarded(one, 60000);
    const all = (told) => new Set(told.filter((v) => v.status === 'open').map((v) => v.incident_id)).size >= sent.size;
    for (const p of pair) await p.untilVerdicts('an incident of each node', all, 60000);
    assert.deepEqual(opened(pair[0]), opened(pair[1]));
    const ids = new Set(opened(pair[0]));
    // What is stored is read behind the pages: that takes seconds in which this program answers no webhook, and an
    // Alertmanager that is not answered tells again.
    await until('all pages', () => new Set(notes.map((n) => n.groupLabels.story)).size >= ids.size, 60000);
    await sleep(2500);
    const firing = notes.filter((n) => n.status === 'firing').map((n) => n.groupLabels.story);
    assert.deepEqual([...new Set(firing)].sort(), [...ids].sort());
    assert.equal(firing.length, ids.size, 'one page each');
    const mine = held(one);
    for (const node of sent.values()) assert.ok(mine.includes(`logs/protobuf ${node}`), 'what was acknowledged is stored');
    for (const p of pair) {
      assert.deepEqual(held(p), mine, `seed ${seed}`);
      assert.equal(new Set(opened(p)).size, opened(p).length, 'no incident was opened twice');
      p.assertWhole();
    }
    t.diagnostic(JSON.stringify({ seed, rounds, sent: sent.size, batches: mine.length, incidents: ids.size, pages: firing.length }));
    for (const daemon of [one, ...pair]) await daemon.stop();
    assert.ok(fs.readFileSync(path.join(pair[0].dataDir, 'source_positions'), 'utf8').includes('forward '), 'a start does not read all names');
  });
});

describe('what an agent says of itself', () => {
  /** What `serve` prints for people, until it listens. */
  async function said(name, config) {
    const daemon = make(name, { warehouse: { enabled: false }, ...config });
    const child = spawn(binary, ['serve', '--config', daemon.configFile], { stdio: ['ignore', 'pipe', 'ignore'] });
    let text = '';
    child.stdout.on('data', (part) => { text += part; });
    const ended = new Promise((resolve) => { child.on('exit', resolve); });
    await until('it to say that it is ready', () => /^(Try|It does not judge).*\n/mu.test(text), 15000);
    child.kill();
    await ended;
    return text;
  }

  test('where it forwards to, and that it does not judge', async () => {
    const text = await said('said', { forward: { endpoints: ['http://127.0.0.1:1', 'http://127.0.0.1:2'] } });
    assert.match(text, /^ {2}forwards {3}to http:\/\/127\.0\.0\.1:1\n {2}forwards {3}to http:\/\/127\.0\.0\.1:2\nIt does not judge what it stores \(detection\.enabled\): incidents are found where it forwards to\.\n/mu);
    assert.doesNotMatch(text, /Try:/u);
  });

  test('an agent that judges too can be tried', async () => {
    const text = await said('said_both', { forward: { endpoints: ['http://127.0.0.1:1'] }, detection: { enabled: 'true' } });
    assert.match(text, /^ {2}forwards {3}to http:\/\/127\.0\.0\.1:1\nTry: /mu);
  });

  test('one that neither judges nor forwards only stores', async () => {
    assert.match(await said('said_none', { detection: { enabled: 'false' } }), /^It does not judge what it stores \(detection\.enabled\)\.\n/mu);
  });
});

describe('a receiver that is away', () => {
  test('ingest does not wait for it, and it has all when it is back', async () => {
    const [a, b] = [await judge('away_a'), await judge('away_b')];
    const one = await agent('away', [a, b]);
    await b.kill();
    const begin = Date.now();
    for (let i = 0; i < 200; i++) assert.equal((await post(one.http, 'logs', fault(`gpu-${i}`))).status, 200);
    const took = Date.now() - begin;
    assert.ok(took < 5000, `200 requests took ${took} ms`);
    await a.untilVerdicts('the verdicts of the one that is there', (all) => all.length >= 200);
    const status = (await one.status()).forward.find((f) => f.endpoint === b.url);
    assert.ok(status.waiting >= 200 && status.failing_since, JSON.stringify(status));
    const shown = run(['status', '--api', `http://${one.api}`]).text;
    assert.match(shown, new RegExp(`forward    ${b.url}: .*; failing since [^ ]+: ${b.http}: cannot connect`, 'u'), 'the address is not said twice');
    assert.match(shown, /^ {2}incidents {2}are not looked for here/mu);
    assert.equal((await one.metrics()).sum('tracecore_forward_up', { endpoint: b.url }), 0);
    await one.kill(); // what waits survives that
    await one.start();
    await b.start();
    await untilForwarded(one);
    await b.untilVerdicts('the verdicts of the other', (all) => all.length >= 200);
    assert.deepEqual(held(b), held(a));
    assert.deepEqual(opened(b), opened(a));
    for (const daemon of [one, a, b]) await daemon.stop();
  });

  test('what it has not is kept beyond evidence.keep, up to forward.backlog; then it is counted', async () => {
    const a = await judge('keep_a');
    const one = await agent('keep', [a], { forward: { backlog: '512KiB' }, rest: { evidence: { keep: '128KiB', segment_bytes: '64KiB' } } });
    const send = async (count) => {
      for (let i = 0; i < count; i++) {
        assert.equal((await post(one.http, 'logs', logs({ 'host.name': 'gpu-1' }, [{ time: nowNs(), body: crypto.randomBytes(6000).toString('hex') }]))).status, 200);
      }
      await until('all full segments to be sealed', async () => (await one.metrics()).sum('tracecore_evidence_waiting_bytes') === 0);
    };
    await send(10);
    await untilForwarded(one);
    const { url } = a;
    await a.stop();
    await send(40); // some 240 KiB
    await sleep(1500);
    assert.equal((await one.metrics()).sum('tracecore_forward_dropped_batches_total'), 0);
    await a.start();
    await untilForwarded(one);
    assert.equal(a.batches().length, 50);
    await until('what is forwarded to be deleted', async () => one.batches().length < 45, 20000);
    assert.equal((await one.metrics()).sum('tracecore_forward_dropped_batches_total'), 0);
    await a.stop();
    await send(150); // some 900 KiB: more than may wait
    await until('it to be counted', async () => (await one.metrics()).sum('tracecore_forward_dropped_batches_total') > 0, 20000);
    await a.start();
    await untilForwarded(one);
    const lost = (await one.metrics()).sum('tracecore_forward_dropped_batches_total');
    // What was open while it was deleted is still forwarded: the count is the most that can be missing.
    assert.ok(a.batches().length < 200 && a.batches().length + lost >= 200, `${a.batches().length} and ${lost}`);
    assert.equal(url, a.url);
    for (const daemon of [one, a]) await daemon.stop();
  });
});

describe('what is wrong is said', () => {
  const untilError = (daemon, words) => until(`an error with ${words}`, async () => {
    const [one] = (await daemon.status()).forward;
    return words.test(one.error ?? '') && one;
  }, 15000).catch(async (error) => { throw new Error(`${error.message}: ${JSON.stringify((await daemon.status()).forward)}`); });

  test('a token that is not known, and then is', async () => {
    const token = 'a-long-token-of-an-agent';
    const a = await judge('token_a', { auth: { tokens: [{ name: 'agents', sha256: digest(token), scopes: ['ingest', 'read'] }] } });
    const file = space.file('token.txt');
    fs.writeFileSync(file, 'another\n');
    const one = await agent('token', [a], { forward: { token_file: file } });
    await post(one.http, 'logs', fault('gpu-1'));
    await untilError(one, /HTTP status 401: it does not know the token: see forward\.token_file/u);
    assert.match(one.log(), /batches wait to be forwarded.*forward\.token_file/u);
    fs.writeFileSync(file, `${token}\n`);
    await untilForwarded(one);
    assert.match(a.batches()[0].sender, /^agents@127\.0\.0\.1$/u);
    for (const daemon of [one, a]) await daemon.stop();
  });

  test('the address of the API, of nobody, and no address', async () => {
    const a = await judge('wrong_a');
    const one = await agent('wrong', [{ url: `http://${a.api}` }]);
    await post(one.http, 'logs', fault('gpu-1'));
    await untilError(one, /HTTP status 404: no tracecore that takes what others forward: forward\.endpoints is the address of receivers\.otlp\.http\.listen there/u);
    await one.stop();
    for (const [endpoints, words] of [[['judge-a:4318'], /forward\.endpoints: "judge-a:4318" is no address such as/u], [['http://x', 'http://x'], /"http:\/\/x" is there twice/u],
      [['http://u:p@x'], /a token goes into forward\.token_file/u]]) {
      one.configure({ forward: { endpoints } });
      const result = run(['config', 'check', one.configFile]);
      assert.notEqual(result.status, 0);
      assert.match(result.stderr + result.text, words);
    }
    await a.stop();
  });

  test('a certificate of an authority that is not known', { skip: spawnSync('openssl', ['version']).status !== 0 && 'no openssl' }, async () => {
    const [cert, key] = [space.file('judge.pem'), space.file('judge.key')];
    const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=localhost',
      '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', key, '-out', cert]);
    assert.equal(made.status, 0, String(made.stderr));
    const a = make('tls_a', { receivers: { otlp: { http: { listen: `127.0.0.1:${await freePort()}`, tls: { cert, key } } } } });
    await a.start();
    const url = `https://${a.http}`;
    const one = await agent('tls', [{ url }]);
    await post(one.http, 'logs', fault('gpu-1'));
    await untilError(one, /certificate/u);
    await one.stop();
    const two = await agent('tls2', [{ url }], { forward: { tls: { ca: cert } } });
    await post(two.http, 'logs', fault('gpu-2'));
    await untilForwarded(two);
    for (const daemon of [two, a]) await daemon.stop();
  });

  test('what is no batch', async () => {
    const a = await judge('bad_a');
    const id = '0123456789abcdef'.repeat(2);
    const send = (route, body, headers) => call(a.http, 'POST', route, { body, headers });
    const type = { 'content-type': 'application/octet-stream' };
    const dated = (node) => `${new Date().toISOString().replace('Z', '000+00:00')} ${node} kernel: ${xid48()}\n`;
    const piece = (number) => ({ ...type, 'tracecore-batch': `${id} ${number} ${nowNs()}` });
    assert.equal((await send('/v1/tracecore/source', 'x\n\ny', type)).status, 415);
    assert.equal((await send('/v1/tracecore/source', 'x\n\ny', { ...type, 'tracecore-batch': 'me 1 1' })).status, 400);
    assert.equal((await send('/v1/tracecore/source', 'no name', piece(1))).status, 400);
    for (const hint of ['sender=x', 'source=kmsg', 'position=1', 'taken=1', 'colour=red']) assert.equal((await send('/v1/tracecore/source', `x\n${hint}\n\ny`, piece(1))).status, 400);
    assert.equal((await send('/v1/logs', fault('gpu-1'), { 'content-type': 'application/x-protobuf', 'tracecore-batch': `${id} 0 1` })).status, 400);
    assert.equal((await send('/v1/logs', Buffer.from('nonsense'), { 'content-type': 'application/x-protobuf', 'tracecore-batch': `${id} 1 1` })).status, 400);
    assert.equal(a.batches().length, 0);
    assert.equal((await send('/v1/tracecore/source', `kernel\nnode=gpu-9\n\n${dated('gpu-9')}`, piece(3))).status, 200);
    for (const number of [1, 2, 3]) {
      const again = await send('/v1/tracecore/source', 'kernel\n\nother', piece(number));
      assert.deepEqual([again.status, String(again.body)], [409, '3\n']);
    }
    assert.equal((await send('/v1/tracecore/file', `dmesg.txt\nnode=gpu-8\n\n${dated('gpu-8')}`, piece(4))).status, 200);
    assert.equal((await send('/v1/tracecore/file', `dmesg.txt\nnode=gpu-8\n\n${dated('gpu-8')}`, piece(4))).status, 409);
    await a.kill();
    await a.start();
    assert.equal((await send('/v1/tracecore/file', `dmesg.txt\nnode=gpu-8\n\n${dated('gpu-8')}`, piece(4))).status, 409, 'after kill -9 too');
    assert.equal(a.batches().length, 2);
    await a.untilVerdicts('of both', (all) => JSON.stringify(all).includes('gpu-9') && JSON.stringify(all).includes('gpu-8'));
    assert.equal((await get(a.http, '/v1/tracecore/source')).status, 405);
    await a.stop();
  });

  test('a data_dir that was put back to an earlier state has a new id, and nothing of it is taken for known', async () => {
    const a = await judge('back_a');
    const one = await agent('back', [a]);
    for (let i = 0; i < 3; i++) await post(one.http, 'logs', fault(`gpu-${i}`));
    await untilForwarded(one);
    await one.stop();
    fs.cpSync(one.dataDir, space.file('copy'), { recursive: true });
    await one.start();
    for (let i = 3; i < 20; i++) await post(one.http, 'logs', fault(`gpu-${i}`));
    await untilForwarded(one);
    await one.kill();
    fs.rmSync(one.dataDir, { recursive: true });
    fs.cpSync(space.file('copy'), one.dataDir, { recursive: true });
    await one.start();
    for (let i = 20; i < 25; i++) await post(one.http, 'logs', fault(`gpu-${i}`));
    await untilForwarded(one);
    assert.match(one.log(), /has a new id/u);
    assert.equal(a.batches().length, 25);
    for (const daemon of [one, a]) await daemon.stop();
  });
});
