// SPDX-License-Identifier: Apache-2.0
// A simulated fleet sent to a receiver: the same records in either encoding, the same verdicts as
// from its files, and what happens when the receiver does not take it.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { dataPoints, logRecords, startPeer } from './support/otlp_peer.mjs';

const binary = process.env.TC_BINARY;
const fleet = ['--nodes', '8', '--gpus-per-node', '4', '--hours', '0.5', '--seed', '4'];

let folder;
before(() => {
  assert.ok(binary, 'TC_BINARY names the program to test');
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_simulate_otlp_'));
});
after(() => fs.rmSync(folder, { recursive: true, force: true }));

function run(args, env = {}) {
  const child = spawn(binary, ['simulate', ...args], { cwd: folder, env: { ...process.env, ...env } });
  const result = { child, stdout: '', stderr: '' };
  child.stdout.on('data', (data) => { result.stdout += data; });
  child.stderr.on('data', (data) => { result.stderr += data; });
  result.ended = new Promise((resolve) => {
    child.on('close', (status, signal) => resolve({ ...result, status, signal, stdout: result.stdout, stderr: result.stderr }));
  });
  return result;
}

async function send(peer, ...args) {
  return run([...fleet, '--otlp', peer.url, '--speed', '0', ...args]).ended;
}

// Waits for something without saying how long it may take; the runner ends a test that hangs.
async function until(what) {
  while (!what()) {
    await new Promise((resolve) => { setTimeout(resolve, 10); });
  }
}

// A message without what protobuf leaves out: empty lists.
function bare(value) {
  if (Array.isArray(value)) return value.map(bare);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).filter(([, v]) => !(Array.isArray(v) && v.length === 0))
    .map(([k, v]) => [k, bare(v)]));
}

// Member for member, in order: one by one, since a difference of all of them could not be shown.
function assertSame(some, others) {
  assert.equal(some.length, others.length);
  for (let i = 0; i < some.length; i++) {
    assert.equal(JSON.stringify(bare(some[i])), JSON.stringify(bare(others[i])));
  }
}

describe('a fleet that is taken', () => {
  let asJson;
  let result;
  before(async () => {
    asJson = await startPeer();
    result = await send(asJson, '--encoding', 'json', '--upload', asJson.url, '--json', '--out', 'fleet',
      '--header', 'X-Token: abc');
    await asJson.stop();
  });

  test('is counted', () => {
    assert.equal(result.status, 0, result.stderr);
    const summary = JSON.parse(result.stdout);
    assert.equal(summary.log_records, logRecords(asJson.logs).length);
    assert.equal(summary.data_points, dataPoints(asJson.metrics).length);
    assert.equal(summary.dumps_sent, asJson.uploads.size);
    assert.ok(summary.dumps_sent > 0);
    assert.equal(summary.requests, asJson.taken);
    assert.equal(summary.retries, 0);
    assert.equal(summary.rejected, 0);
    assert.equal(summary.complete, true);
  });

  test('comes in batches, with the headers that were given', () => {
    for (const request of asJson.logs) assert.ok(logRecords([request]).length <= 1024);
    for (const request of asJson.metrics) assert.ok(dataPoints([request]).length <= 1024);
    for (const request of asJson.requests) assert.equal(request.headers['x-token'], 'abc');
  });

  test('uploads the dumps as they are', () => {
    for (const [name, bytes] of asJson.uploads) {
      assert.deepEqual(bytes, fs.readFileSync(path.join(folder, 'fleet', name)), name);
    }
  });

  test('gives the verdicts that its files give', () => {
    const sent = path.join(folder, 'sent');
    fs.mkdirSync(sent);
    for (const kind of ['logs', 'metrics']) {
      fs.writeFileSync(path.join(sent, `${kind}.json`), asJson[kind].map((r) => `${JSON.stringify(r)}\n`).join(''));
    }
    for (const [name, bytes] of asJson.uploads) {
      fs.mkdirSync(path.dirname(path.join(sent, name)), { recursive: true });
      fs.writeFileSync(path.join(sent, name), bytes);
    }
    const verdicts = (input) => {
      const told = spawnSync(binary, ['detect', '--json', input], { encoding: 'utf8', cwd: folder, maxBuffer: 1 << 28 });
      assert.equal(told.status, 1, told.stderr);
      return told.stdout.trim().split('\n').map((line) => JSON.parse(line))
        .map((v) => [v['pattern.name'], v.incident_id, v.discriminator, v.status, v.headline].join(' | ')).sort();
    };
    const fromFiles = verdicts('fleet');
    assert.ok(fromFiles.length > 5);
    assert.deepEqual(verdicts('sent'), fromFiles);
  });

  test('is the same in protobuf, compressed, and in time order', async () => {
    const asProtobuf = await startPeer();
    const other = await send(asProtobuf, '--gzip');
    await asProtobuf.stop();
    assert.equal(other.status, 0, other.stderr);
    assert.match(other.stderr, /\d+ dumps left out/);
    assertSame(logRecords(asProtobuf.logs), logRecords(asJson.logs));
    assertSame(dataPoints(asProtobuf.metrics), dataPoints(asJson.metrics));
    assert.equal(asProtobuf.requests[0].headers['content-encoding'], 'gzip');
    assert.equal(asProtobuf.requests[0].headers['content-type'], 'application/x-protobuf');
  });
});

describe('a receiver that does not take everything', () => {
  test('gets it again, and each record once', async () => {
    const odd = [{ status: 503, headers: { 'retry-after': '0' } }, { destroy: true }, { status: 429 }, { status: 502 }];
    const peer = await startPeer((request, number) => (number < 27 ? odd[number % 9] : undefined));
    const result = await send(peer, '--json');
    await peer.stop();
    assert.equal(result.status, 0, result.stderr);
    const summary = JSON.parse(result.stdout);
    assert.ok(summary.retries >= 4);
    assert.equal(summary.log_records, logRecords(peer.logs).length);
    assert.equal(summary.data_points, dataPoints(peer.metrics).length);
    assert.match(result.stderr, /trying again/);
  });

  test('and rejects some of it: that is counted, and the status says so', async () => {
    const partial = Buffer.from([0x0a, 6, 0x08, 3, 0x12, 2, 0x6e, 0x6f]); // 3 rejected, "no"
    const peer = await startPeer((request, number) => (number === 0 ? { body: partial }
      : number === 1 ? { status: 400, body: 'bad \u001b[31m' } : undefined));
    const result = await send(peer, '--json');
    await peer.stop();
    assert.equal(result.status, 1, result.stderr);
    assert.ok(JSON.parse(result.stdout).rejected > 3);
    assert.match(result.stderr, /rejects records \(status 200\): no/);
    assert.doesNotMatch(result.stderr, /\u001b/);
  });

  test('and has no such path: it ends at once', async () => {
    const peer = await startPeer(() => ({ status: 404, body: 'nothing here' }));
    const result = await send(peer);
    await peer.stop();
    assert.equal(result.status, 2);
    assert.match(result.stderr, /status 404: nothing here/);
    assert.equal(peer.requests.length, 1);
  });
});

test('a signal ends it cleanly, also while it waits', async () => {
  const peer = await startPeer();
  const paced = run([...fleet, '--otlp', peer.url, '--speed', '1']);
  await until(() => peer.taken > 0);
  paced.child.kill('SIGINT');
  const result = await paced.ended;
  await peer.stop();
  assert.equal(result.signal, null);
  assert.equal(result.status, 1, result.stderr);
  assert.match(result.stderr, /stopped: \d+ log records/);
  const waiting = run([...fleet, '--otlp', peer.url, '--speed', '0']); // nobody listens any more
  await until(() => waiting.stderr.includes('trying again'));
  waiting.child.kill('SIGTERM');
  assert.equal((await waiting.ended).status, 1);
});

test('--now dates the fleet so that it ends when it is sent', async () => {
  const peer = await startPeer();
  const begin = Date.now();
  const result = await send(peer, '--now');
  await peer.stop();
  assert.equal(result.status, 0, result.stderr);
  const times = dataPoints(peer.metrics).map(({ point }) => Number(point.timeUnixNano) / 1e6);
  const last = times.reduce((a, b) => Math.max(a, b));
  const first = times.reduce((a, b) => Math.min(a, b));
  assert.ok(last <= Date.now() && last > begin - 120000, `${last} ${begin}`);
  assert.ok(last - first > 25 * 60000);
});

test('https is verified against the trust store', async () => {
  const pem = (name) => path.join(folder, name);
  const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
    '-keyout', pem('key.pem'), '-out', pem('cert.pem'), '-days', '2', '-subj', '/CN=peer', '-addext', 'subjectAltName=IP:127.0.0.1']);
  assert.equal(made.status, 0, String(made.stderr));
  const peer = await startPeer(undefined, { key: fs.readFileSync(pem('key.pem')), cert: fs.readFileSync(pem('cert.pem')) });
  const args = [...fleet, '--otlp', peer.url, '--speed', '0'];
  const trusted = await run(args, { SSL_CERT_FILE: pem('cert.pem') }).ended;
  const wrongName = await run(args.map((a) => a.replace('127.0.0.1', 'localhost')), { SSL_CERT_FILE: pem('cert.pem') }).ended;
  const unknown = await run(args, { SSL_CERT_FILE: '/dev/null' }).ended;
  await peer.stop();
  assert.equal(trusted.status, 0, trusted.stderr);
  assert.ok(logRecords(peer.logs).length > 100);
  for (const refused of [wrongName, unknown]) {
    assert.equal(refused.status, 2, refused.stderr);
    assert.match(refused.stderr, /certificate is not trusted/);
  }
});

test('without libcurl, or with one that is none, it says so', () => {
  const libraries = path.join(folder, 'libraries');
  const file = path.join(libraries, 'libcurl.so.4');
  const status = () => spawnSync(binary, ['status'], { encoding: 'utf8', env: { ...process.env, LD_LIBRARY_PATH: libraries } });
  fs.mkdirSync(libraries);
  fs.writeFileSync(file, 'no library');
  const broken = status();
  fs.copyFileSync(/=> (\S*libz\.so\S*)/.exec(spawnSync('ldd', [binary], { encoding: 'utf8' }).stdout)[1], file);
  const other = status();
  assert.equal(broken.status, 2);
  assert.match(broken.stderr, /cannot load libcurl: .*libcurl\.so\.4.*the package libcurl4 has it/);
  assert.equal(other.status, 2);
  assert.match(other.stderr, /libcurl\.so\.4: has no curl_\w+; 7\.85 or newer is wanted/);
});

test('mistakes are told', () => {
  const cases = [
    [[], /--out DIR, --otlp URL or --stream is missing/],
    [['--out', 'x', '--gzip'], /--gzip is for sending; --otlp URL is missing/],
    [['--otlp', 'http://127.0.0.1:1', '--now', '--start', '2026-03-02T00:00:00Z'], /exclude each other/],
    [['--otlp', '127.0.0.1:1'], /does not begin with http/],
    [['--otlp', 'http://127.0.0.1:1', '--upload', 'ftp://x'], /does not begin with http/],
    [['--otlp', 'http://127.0.0.1:1', '--speed', 'fast'], /--speed: "fast" is no number/],
    [['--otlp', 'http://127.0.0.1:1', '--speed', '-1'], /--speed/],
    [['--otlp', 'http://127.0.0.1:1', '--encoding', 'xml'], /neither protobuf nor json/],
    [['--otlp', 'http://127.0.0.1:1', '--header', 'nothing'], /not of the form/],
    [['--otlp', 'http://127.0.0.1:1', '--header', 'A: b\r\nC: d'], /not of the form/],
    [['--otlp', 'http://127.0.0.1:1', 'word'], /takes options only/],
  ];
  for (const [args, message] of cases) {
    const result = spawnSync(binary, ['simulate', ...args], { encoding: 'utf8', cwd: folder });
    assert.equal(result.status, 2, args.join(' '));
    assert.match(result.stderr, message, args.join(' '));
  }
});
