// SPDX-License-Identifier: Apache-2.0
// Evidence that goes to an object store and comes back, against a real S3 server: OpenStack Swift with
// s3api, one start for all of it. What is asked of the server beside the program is asked by
// support/s3.mjs.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, lines, run, workspace } from './support/daemon.mjs';
import { logs, xid48 } from './support/otlp.mjs';
import { S3Server } from './support/s3.mjs';
import { get, post, sleep, until } from './support/wire.mjs';

/** How long the store is away beyond the moment in which it is missed; by hand: a minute. */
const OUTAGE_MS = Number(process.env.TC_OUTAGE_S ?? 0) * 1000;

const space = workspace('remote');
const s3 = new S3Server(space.file('s3'));
const daemons = [];
const keys = { AWS_ACCESS_KEY_ID: 'test:tester', AWS_SECRET_ACCESS_KEY: 'testing' };
// So that `tracecore evidence`, which the tests run too, finds its way.
Object.assign(process.env, keys);

before(async () => { await s3.start(); });
const mounts = [];
after(async () => {
  for (const daemon of daemons) await daemon.destroy();
  for (const dir of mounts) spawnSync('umount', [dir]);
  await s3.stop();
  space.remove();
});

/** A daemon whose segments are sealed at once, with a bucket of its own unless it is told another. */
async function make(name, { keep = '0', evidence = {}, env = {}, bucket = name } = {}) {
  if (bucket === name) await s3.makeBucket(name);
  const daemon = new Daemon(space.file(name), {
    evidence: { segment_bytes: '64KiB', keep, remote: s3.url(bucket, 'evi/dence'), remote_timeout: '5s', ...evidence },
  }, { env: { ...keys, ...env } });
  daemons.push(daemon);
  return daemon;
}

const noise = (bytes) => crypto.randomBytes(bytes / 2).toString('hex');
/** A request that alone fills more than a segment; what it says is new each time. */
const large = (node) => logs({ 'host.name': node }, [{ body: noise(200000), severity: 9 }]);
const send = async (daemon, body) => assert.equal((await post(daemon.http, 'logs', body)).status, 200);
const remote = async (daemon) => (await daemon.status()).evidence.remote;
const shipped = (daemon, count) => until('all objects to be copied', async () => {
  const r = await remote(daemon);
  return r.waiting_objects === 0 && r.objects >= count && r;
}, 30000).catch(async (error) => { throw new Error(`${error.message}: ${JSON.stringify(await remote(daemon))}\n${daemon.log()}`); });
const objects = (daemon) => lines(run(['evidence', 'ls', '--objects', '--json', '--data-dir', daemon.dataDir]).text);
const evidence = (daemon, ...args) => run(['evidence', ...args, '--data-dir', daemon.dataDir]);
const key = (object) => { const hex = object.digest.slice(7); return `evi/dence/${hex.slice(0, 2)}/${hex}`; };
/** Local files of sealed objects. */
const local = (daemon) => fs.readdirSync(path.join(daemon.dataDir, 'evidence/objects'), { recursive: true }).filter((f) => f.length > 60);
const untilError = (daemon, wanted) => until(`an error like ${wanted}`, async () => {
  const { error } = await remote(daemon);
  return error && wanted.test(error) && error;
}, 30000).catch(async (error) => { throw new Error(`${error.message}: ${JSON.stringify(await remote(daemon))}`); });

describe('there and back', () => {
  let daemon;
  let cited;
  const sent = [];
  test('objects are copied, verified, deleted here, and found again', async () => {
    daemon = await make('back', { keep: '1KiB' });
    await daemon.start();
    await send(daemon, logs({ 'host.name': 'gpu-cited' }, [{ body: xid48(), severity: 17 }]));
    [cited] = await daemon.untilVerdicts('the verdict', 1);
    for (let i = 0; i < 8; i++) { sent.push(large(`gpu-${i}`)); await send(daemon, sent[i]); }
    await shipped(daemon, 8);
    await until('what is beyond evidence.keep to be deleted', () => local(daemon).length === 1, 20000);
    const listed = objects(daemon);
    assert.equal(listed.length, 8, 'the first has the cited batch too');
    assert.equal(listed.filter((o) => o.remote).length, 7, JSON.stringify(listed));
    assert.deepEqual((await s3.keys('back')).sort(), listed.map(key).sort());
    const metrics = await daemon.metrics();
    assert.equal(metrics.sum('tracecore_evidence_remote_objects_total'), 8);
    assert.equal(metrics.sum('tracecore_evidence_remote_waiting_objects'), 0);
    assert.equal(metrics.sum('tracecore_evidence_remote_waiting_bytes'), 0);
    assert.equal(metrics.sum('tracecore_evidence_remote_failures_total'), 0);
    assert.ok(metrics.sum('tracecore_evidence_remote_stalled_seconds') < 60);
  });
  test('batches are what was sent, wherever they are, and it is said that they are fetched', async () => {
    const batches = daemon.batches();
    assert.equal(batches.length, 9);
    for (const [i, body] of sent.entries()) assert.deepEqual(daemon.body(batches[i + 1].number), Buffer.from(body), `batch ${i}`);
    assert.equal(objects(daemon)[0].remote, true, 'the one that is cited too');
    const first = evidence(daemon, 'cat', String(batches[0].number));
    assert.match(first.stderr, /fetching sha256:[0-9a-f]{64} from s3:\/\/back\/evi\/dence: \d+ bytes/);
    const here = run(['evidence', 'cat', String(batches[0].number), '--local', '--data-dir', daemon.dataDir]);
    assert.equal(here.status, 2);
    assert.ok(run(['evidence', 'ls', '--json', '--local', '--data-dir', daemon.dataDir]).text.split('\n').length < 9);
  });
  test('a citation leads to its bytes, by the command and by the API', async () => {
    const { raw } = cited.evidence_trail[0];
    assert.match(daemon.cite(raw).toString(), /NVRM: Xid/);
    const answer = await get(daemon.api, `/api/v1/evidence/${raw.digest}?at=${raw.offset},${raw.length}`);
    assert.match(answer.body.toString(), /NVRM: Xid/);
    assert.equal(evidence(daemon, 'verify', raw.digest).status, 0);
  });
  test('verify fetches and checks what is not here', async () => {
    const result = evidence(daemon, 'verify');
    assert.equal(result.status, 0, result.stderr + result.text);
    assert.match(result.text, /8 objects, .* 7 fetched from the object store; no damage/);
  });
  test('a store of files and one whose objects are in S3 answer alike', async () => {
    const twin = new Daemon(space.file('twin'), { evidence: { segment_bytes: '64KiB' } });
    daemons.push(twin);
    await twin.start();
    await send(twin, logs({ 'host.name': 'gpu-cited' }, [{ body: xid48(), severity: 17 }]));
    const [verdict] = await twin.untilVerdicts('the verdict', 1);
    for (const body of sent) await send(twin, body);
    await until('the same objects', () => objects(twin).length === 8, 20000);
    // When it came is another time, and with it the noise around the bodies.
    const plain = (list) => list.map(({ number, kind, bytes, name, sender }) => ({ number, kind, bytes, name, sender }));
    assert.deepEqual(plain(daemon.batches()), plain(twin.batches()));
    const spans = (d) => objects(d).map(({ first, last, batches, bytes }) => ({ first, last, batches, bytes }));
    assert.deepEqual(spans(daemon), spans(twin));
    for (const { number } of twin.batches().slice(1)) assert.deepEqual(daemon.body(number), twin.body(number));
    const summary = (d) => lines(run(['evidence', 'verify', '--json', '--data-dir', d.dataDir]).text).find((l) => l.objects !== undefined);
    for (const key of ['objects', 'batches', 'citations', 'citations_gone', 'damaged', 'unreachable']) {
      assert.equal(summary(daemon)[key], summary(twin)[key], key);
    }
    assert.equal(twin.cite(verdict.evidence_trail[0].raw).length, daemon.cite(cited.evidence_trail[0].raw).length);
    await twin.stop();
  });
  test('tracecore status says where it goes', async () => {
    const { text } = run(['status', '--api', `http://${daemon.api}`]);
    assert.match(text, /remote {5}8 objects copied, 0 wait \(0 bytes\)\n/);
  });
  test('a damaged copy is found and named', async () => {
    const object = objects(daemon).find((o) => o.remote && o.first > 2);
    const good = (await s3.request('GET', `/back/${key(object)}`)).body;
    const bad = Buffer.from(good);
    bad[bad.length / 2 | 0] ^= 1;
    assert.equal((await s3.request('PUT', `/back/${key(object)}`, { body: bad })).status, 200);
    const cat = evidence(daemon, 'cat', String(object.first));
    assert.equal(cat.status, 1);
    assert.equal(cat.stdout.length, 0);
    assert.equal(evidence(daemon, 'ls').status, 1, 'what is whole is listed');
    assert.match(cat.stderr, new RegExp(`${object.digest.slice(0, 20)}.*cannot be fetched: s3://back/${key(object)} is damaged`, 's'));
    const verify = evidence(daemon, 'verify');
    assert.equal(verify.status, 1, verify.stderr + verify.text);
    assert.match(verify.text, /is damaged/);
    assert.equal((await s3.request('DELETE', `/back/${key(object)}`)).status, 204);
    const gone = evidence(daemon, 'verify');
    assert.equal(gone.status, 1);
    assert.match(gone.text, /NoSuchKey/);
    assert.equal((await s3.request('PUT', `/back/${key(object)}`, { body: good })).status, 200);
    assert.equal(evidence(daemon, 'verify').status, 0);
  });
  test('another place is refused while objects are in the old one alone', async () => {
    await daemon.stop();
    daemon.configure({ evidence: { ...daemon.config.evidence, remote: s3.url('elsewhere') } });
    await assert.rejects(daemon.start(), /evidence\.remote: \d objects are in s3:\/\/back\/evi\/dence.* alone/);
    // Without the setting it starts, and what was copied is found.
    daemon.configure({ evidence: { segment_bytes: '64KiB' } });
    await daemon.start();
    assert.equal(daemon.batches().length, 9);
    await daemon.stop();
  });
});

describe('in parts', () => {
  test('a large object goes in parts, and what an attempt left before is removed', async () => {
    const daemon = await make('parts', { evidence: { segment_bytes: '12MiB', remote_part_bytes: '5MiB' } });
    await daemon.start();
    for (let i = 0; i < 5; i++) {
      await send(daemon, logs({ 'host.name': `gpu-${i}` }, Array.from({ length: 20 }, () => ({ body: noise(300000), severity: 9 }))));
    }
    const [object] = await until('an object', () => { const all = objects(daemon); return all.length > 0 && all; }, 60000);
    await shipped(daemon, 1);
    const head = await s3.request('HEAD', `/parts/${key(object)}`);
    assert.equal(Number(head.headers['content-length']), object.disk_bytes);
    assert.match(head.headers.etag, /-[2-4]"$/);
    assert.equal(crypto.createHash('sha256').update((await s3.request('GET', `/parts/${key(object)}`)).body).digest('hex'), object.digest.slice(7));
    assert.deepEqual(await s3.uploads('parts'), []);

    // As a process that was killed leaves it: an upload with a part, the object not there, no line.
    await daemon.kill();
    assert.equal((await s3.request('DELETE', `/parts/${key(object)}`)).status, 204);
    fs.truncateSync(path.join(daemon.dataDir, 'evidence/shipped.idx'), 0);
    const begun = await s3.request('POST', `/parts/${key(object)}`, { query: 'uploads=' });
    const [, id] = /<UploadId>([^<]*)</.exec(begun.body);
    assert.equal((await s3.request('PUT', `/parts/${key(object)}`, { query: `partNumber=1&uploadId=${encodeURIComponent(id)}`, body: Buffer.alloc(100) })).status, 200);
    assert.deepEqual(await s3.uploads('parts'), [id]);
    await daemon.start();
    await shipped(daemon, 1);
    assert.deepEqual(await s3.uploads('parts'), []);
    assert.match((await s3.request('HEAD', `/parts/${key(object)}`)).headers.etag, /-[2-4]"$/);
    await daemon.stop();
  });
});

describe('the store is away', () => {
  test('ingest goes on, nothing is deleted, lost or doubled, and all is said', async () => {
    const daemon = await make('away', { keep: '300KiB' });
    await daemon.start();
    await send(daemon, large('gpu-0'));
    await shipped(daemon, 1);
    await s3.stop();
    for (let i = 1; i < 6; i++) await send(daemon, large(`gpu-${i}`));
    const why = await untilError(daemon, /cannot connect/);
    assert.match(why, /Connection refused; is it running/);
    await until('all to be sealed', async () => (await remote(daemon)).waiting_objects === 5, 20000);
    assert.equal(local(daemon).length >= 5, true, 'more than evidence.keep stays');
    assert.match(daemon.log(), /could not be copied to evidence\.remote; it is tried again/);
    assert.match(run(['status', '--api', `http://${daemon.api}`]).text, /remote {5}1 objects copied, 5 wait \(\d+ bytes\); failing since .*cannot connect/);
    const metrics = await daemon.metrics();
    assert.ok(metrics.sum('tracecore_evidence_remote_failures_total') > 0);
    assert.equal(metrics.sum('tracecore_evidence_full'), 0);
    await sleep(OUTAGE_MS);
    await s3.start();
    await shipped(daemon, 6);
    assert.match(daemon.log(), /the object store takes evidence again/);
    assert.equal((await remote(daemon)).error, undefined);
    await until('what is beyond evidence.keep to be deleted', () => local(daemon).length <= 2, 20000);
    assert.equal((await s3.keys('away')).length, 6);
    assert.equal(daemon.batches().length, 6);
    daemon.assertWhole();
    await daemon.stop();

    // Reading what is in the store alone names object and cause.
    await s3.stop();
    const [object] = objects(daemon);
    assert.equal(object.remote, true);
    const cat = evidence(daemon, 'cat', String(object.first));
    assert.equal(cat.status, 2);
    assert.match(cat.stderr, new RegExp(`object ${object.digest.slice(0, 20)}.*cannot be fetched: 127\\.0\\.0\\.1:\\d+: cannot connect`, 's'));
    const verify = evidence(daemon, 'verify');
    assert.equal(verify.status, 2, verify.text);
    assert.match(verify.stderr, /objects and citations were not checked: object sha256:.*cannot connect/);
    assert.equal(evidence(daemon, 'verify', '--local').status, 0);
    await s3.start();
  });
});

describe('the disk fills up while the store is away', () => {
  test('requests are answered 503, and taken again when there is room', async (t) => {
    const daemon = await make('full', { keep: '1MiB', evidence: { segment_bytes: '256KiB', reserve: '1MiB' } });
    fs.mkdirSync(daemon.dataDir);
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=10m,mode=0700', 'tmpfs', daemon.dataDir]);
    if (mounted.error || mounted.status !== 0) { t.skip('no right to mount a small file system'); return; }
    mounts.push(daemon.dataDir);
    await daemon.start();
    await s3.stop();
    let answer;
    let taken = 0;
    for (let i = 0; i < 200 && (answer = await post(daemon.http, 'logs', large(`gpu-${i}`))).status === 200; i++) taken++;
    assert.equal(answer.status, 503);
    assert.ok(Number(answer.headers['retry-after']) >= 1);
    assert.ok(taken > 10, `${taken} were taken`);
    assert.equal((await daemon.metrics()).sum('tracecore_evidence_objects_deleted_total'), 0);
    assert.match(daemon.log(), /evidence\.remote/);
    await s3.start();
    await until('room', async () => (await post(daemon.http, 'logs', logs({}, [{ body: 'again' }]))).status === 200, 60000, 500);
    await until('all to be copied', async () => (await remote(daemon)).waiting_objects === 0, 60000);
    assert.ok(daemon.batches().length >= taken + 1);
    daemon.assertWhole();
    await daemon.stop();
  });
});

describe('killed', () => {
  test('at any moment: every batch is there, once, and copied in the end', async () => {
    const daemon = await make('killed', { keep: '300KiB' });
    await daemon.start();
    let count = 0;
    for (let life = 0; life < 6; life++) {
      for (let i = 0; i < 3; i++, count++) await send(daemon, large(`gpu-${count}`));
      await sleep(120 * life);
      await daemon.kill();
      await daemon.start();
    }
    await until('all to be copied', async () => (await remote(daemon)).waiting_objects === 0 && (await s3.keys('killed')).length === count, 60000);
    assert.equal(daemon.batches().length, count);
    daemon.assertWhole();
    await daemon.stop();
  });
  test('a damaged line is left out and its object copied again', async () => {
    const daemon = await make('torn');
    await daemon.start();
    for (let i = 0; i < 3; i++) await send(daemon, large(`gpu-${i}`));
    await shipped(daemon, 3);
    await daemon.kill();
    const file = path.join(daemon.dataDir, 'evidence/shipped.idx');
    const bytes = fs.readFileSync(file);
    assert.equal(bytes.length, 3 * 256);
    const before = Buffer.from(bytes);
    bytes[256 + 40] ^= 1;
    fs.writeFileSync(file, bytes);
    await daemon.start();
    assert.match(daemon.log(), /shipped\.idx: 1 lines were damaged/);
    await shipped(daemon, 1);
    assert.deepEqual(fs.readFileSync(file), before);
    await daemon.stop();
  });
});

describe('what is wrong is named', () => {
  test('a wrong key, in a file that is read again', async () => {
    const file = space.file('credentials');
    const write = (key, secret) => fs.writeFileSync(file, `[default]\naws_access_key_id = ${key}\naws_secret_access_key = ${secret}\n`);
    write('test:tester', 'wrong');
    const daemon = await make('wrong', { evidence: { remote_credentials_file: file } });
    await daemon.start();
    await send(daemon, large('gpu-0'));
    await untilError(daemon, /SignatureDoesNotMatch: the secret key is wrong.*evidence\.remote_credentials_file/);
    write('test:reader', 'reading');
    await untilError(daemon, /AccessDenied: the key may not do this/);
    fs.rmSync(file);
    await untilError(daemon, /evidence\.remote_credentials_file: .*credentials: No such file/);
    write('test:tester', 'testing');
    await shipped(daemon, 1);
    await daemon.stop();
  });
  test('clocks that differ: both times', async () => {
    const daemon = await make('skewed');
    await daemon.start();
    s3.setClock(true);
    await send(daemon, large('gpu-0'));
    const error = await untilError(daemon, /RequestTimeTooSkewed/);
    const [, theirs, ours] = /the store's clock says (.+), this machine's (\S+); set the clock/.exec(error);
    assert.ok(Math.abs(Date.parse(theirs) - Date.parse(ours) - 3600000) < 60000, error);
    s3.setClock(false);
    await shipped(daemon, 1);
    await daemon.stop();
  });
  test('no bucket, no lock, no credentials', async () => {
    const daemon = await make('absent', { bucket: 'nowhere' });
    await daemon.start();
    await send(daemon, large('gpu-0'));
    await untilError(daemon, /NoSuchBucket: the bucket of evidence\.remote is not there/);
    await daemon.stop();
    await s3.makeBucket('nowhere');
    daemon.configure({ evidence: { ...daemon.config.evidence, remote_lock: 'governance', remote_legal_hold: true } });
    await daemon.start();
    await untilError(daemon, /bucket nowhere does not lock objects.*evidence\.remote_lock/);
    await daemon.stop();
    daemon.configure({ evidence: { ...daemon.config.evidence, remote_lock: 'none', remote_legal_hold: false } });
    daemon.options.env = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' };
    await daemon.start();
    await untilError(daemon, /AWS_ACCESS_KEY_ID is missing in the environment/);
    await daemon.stop();
    daemon.options.env = keys;
    await daemon.start();
    await shipped(daemon, 1);
    await daemon.stop();
  });
  test('no S3 server, TLS where there is none, and a bad address', async () => {
    const other = http.createServer((request, answer) => { answer.writeHead(404, { 'content-type': 'text/html' }); answer.end('<html><p>no'); });
    await new Promise((resolve) => other.listen(0, '127.0.0.1', resolve));
    const endpoint = `127.0.0.1:${other.address().port}`;
    const daemon = await make('other', { bucket: 'whatever', evidence: { remote: `s3://whatever/?endpoint=http://${endpoint}` } });
    await daemon.start();
    await send(daemon, large('gpu-0'));
    await untilError(daemon, /HTTP 404 with no document of S3; is the endpoint of evidence\.remote an S3 server\?/);
    await daemon.stop();
    daemon.configure({ evidence: { ...daemon.config.evidence, remote: `s3://whatever/?endpoint=https://${endpoint}` } });
    await daemon.start();
    await untilError(daemon, /TLS handshake/);
    await daemon.stop();
    other.close();
    daemon.configure({ evidence: { remote: 's3://Whatever/x' } });
    await assert.rejects(daemon.start(), /evidence\.remote.*"Whatever" is no name of a bucket/s);
  });
});
