// SPDX-License-Identifier: Apache-2.0
// The life of the daemon as an operator meets it: start, configuration and its mistakes, reload,
// signals, status, metrics, who may speak to it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { Daemon, run, workspace } from './support/daemon.mjs';
import { fields, logs, xid48 } from './support/otlp.mjs';
import { Grpc, PROTOBUF, Raw, call, frame, get, post, sleep, until } from './support/wire.mjs';

const space = workspace('life');
const daemons = [];
after(async () => { for (const daemon of daemons) await daemon.destroy(); space.remove(); });

function make(name, config, options) {
  const daemon = new Daemon(space.file(name), config, options);
  daemons.push(daemon);
  return daemon;
}
const start = (name, config, options) => make(name, config, options).start();
const fault = (node) => logs({ 'host.name': node }, [{ body: xid48(), severity: 17 }]);
const ofNode = (verdicts, node) => verdicts.filter((verdict) => verdict['k8s.node.name'] === node);
const head = (length) => `POST /v1/logs HTTP/1.1\r\nhost: x\r\ncontent-type: ${PROTOBUF}\r\ncontent-length: ${length}\r\n\r\n`;

/** Starts a daemon that must not start; gives what it said. */
async function refuses(name, config, options) {
  const daemon = make(name, config, options);
  let said = '';
  await assert.rejects(daemon.start(), (error) => { said = error.message; return true; });
  assert.notEqual(daemon.exit?.code, 0, 'the exit status says so');
  assert.equal(daemon.exit?.signal, null, said);
  return said;
}

describe('start', () => {
  test('nothing but a data directory is needed, and it says where it listens', async () => {
    const daemon = await start('plain');
    for (const where of ['/healthz', '/readyz', '/metrics', '/api/v1/status']) {
      const answer = await get(daemon.api, where);
      assert.equal(answer.status, 200, where);
    }
    assert.equal((await daemon.metrics()).sum('tracecore_ready'), 1);
    assert.equal((await daemon.metrics()).sum('tracecore_ingest_ack_stored'), 1, 'durable unless told otherwise');
    for (const address of [daemon.http, daemon.grpc, daemon.api]) assert.match(address, /^127\.0\.0\.1:\d+$/);
    await daemon.stop();
    await assert.rejects(get(daemon.api, '/readyz'), { code: 'ECONNREFUSED' });
  });
  test('a second daemon on the same data directory is refused', async () => {
    const first = await start('first');
    const said = await refuses('second', { data_dir: first.dataDir });
    assert.match(said, /another|already|in use|locked|lock/i);
    assert.ok(said.includes(first.dataDir), said);
    assert.equal((await get(first.api, '/readyz')).status, 200, 'the first goes on');
    await first.stop();
    const again = await start('second-again', { data_dir: first.dataDir });
    await again.stop();
  });
  test('a port that is taken is named', async () => {
    const taken = net.createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => { taken.on('listening', resolve); });
    const { port } = taken.address();
    const said = await refuses('taken', { receivers: { otlp: { http: { listen: `127.0.0.1:${port}` } } } });
    assert.ok(said.includes(`127.0.0.1:${port}`), said);
    assert.match(said, /in use/i);
    taken.close();
  });
  test('a listener that others can reach needs TLS, tokens or a word', async () => {
    for (const [name, config] of [
      ['open-http', { receivers: { otlp: { http: { listen: '0.0.0.0:0' } } } }],
      ['open-grpc', { receivers: { otlp: { grpc: { listen: '[::]:0' } } } }],
      ['open-api', { api: { listen: '0.0.0.0:0' } }],
    ]) {
      const said = await refuses(name, config);
      assert.match(said, /insecure/, said);
    }
    const daemon = await start('insecure', { insecure: true, receivers: { otlp: { http: { listen: '0.0.0.0:0' } } } });
    assert.match(daemon.http, /^0\.0\.0\.0:\d+$/);
    await daemon.stop();
  });
  test('a data directory that cannot be made is named', async () => {
    fs.writeFileSync(space.file('a_file'), '');
    const said = await refuses('nowhere', { data_dir: space.file('a_file', 'data') });
    assert.ok(said.includes(space.file('a_file')), said);
  });
  test('ingest.ack: memory says so in /metrics and in the log; the environment overrides the file', async () => {
    const daemon = await start('memory', {}, { env: { TRACECORE_INGEST_ACK: 'memory' } });
    assert.equal((await daemon.metrics()).sum('tracecore_ingest_ack_stored'), 0);
    assert.match(daemon.log(), /memory/);
    assert.equal((await post(daemon.http, 'logs', fault('gpu-memory'))).status, 200);
    await daemon.untilVerdicts('the verdict', 1);
    await until('the bytes in the store', () => daemon.batches().length === 1);
    await daemon.stop();
  });
  test('an unknown variable of ours is a mistake', async () => {
    const said = await refuses('typo', {}, { env: { TRACECORE_INGEST_AKC: 'memory' } });
    assert.match(said, /TRACECORE_INGEST_AKC/);
  });
});

describe('configuration', () => {
  const check = (text) => {
    const file = space.file('check.yaml');
    fs.writeFileSync(file, text);
    return run(['config', 'check', file]);
  };
  test('the defaults are a configuration without mistakes', () => {
    const defaults = run(['config', 'print-default']);
    assert.equal(defaults.status, 0);
    const checked = check(defaults.text);
    assert.equal(checked.status, 0, checked.stderr + checked.text);
  });
  test('all mistakes in one pass, each with line, column and path', () => {
    const result = check([
      'data_dir: /tmp/x',
      'receivers:',
      '  otlp:',
      '    http:',
      '      listen: nowhere',
      '    htpp: {}',
      'ingest:',
      '  ack: maybe',
      'limits:',
      '  memory: -5',
      '  body: 12 parsecs',
      'detection:',
      '  patterns:',
      '    nccl_hung:',
      '      threshold: 60s',
      'verdicts: 7',
      '',
    ].join('\n'));
    assert.notEqual(result.status, 0);
    const said = result.stderr + result.text;
    for (const [line, path] of [[5, 'receivers.otlp.http.listen'], [6, 'receivers.otlp.htpp'], [8, 'ingest.ack'], [10, 'limits.memory'],
      [11, 'limits.body'], [14, 'detection.patterns.nccl_hung'], [16, 'verdicts']]) {
      const found = new RegExp(`check\\.yaml:${line}:\\d+: ${path.replaceAll('.', '\\.')}: `);
      assert.match(said, found);
    }
    assert.match(said, /stored/, 'it says what would be right');
  });
  test('what is no YAML, or hides', () => {
    for (const text of ['a: [1, 2', 'a: b: c', '\tdata_dir: x', 'data_dir: x\ndata_dir: y\n', `${'a: {'.repeat(2000)}`, '- 1\n- 2\n', '&a [*a, *a]', 'data_dir: "a\\0b"']) {
      const result = check(text);
      assert.notEqual(result.status, 0, JSON.stringify(text.slice(0, 40)));
      assert.equal(result.signal, null);
      assert.match(result.stderr + result.text, /check\.yaml/, JSON.stringify(text.slice(0, 40)));
    }
  });
  test('serve refuses the same mistakes', async () => {
    const daemon = make('mistakes');
    fs.writeFileSync(daemon.configFile, 'ingest:\n  ack: maybe\n  que: 1\n');
    let said = '';
    await assert.rejects(daemon.start(), (error) => { said = error.message; return true; });
    assert.match(said, /tracecore\.yaml:2:\d+: ingest\.ack: /);
    assert.match(said, /tracecore\.yaml:3:\d+: ingest\.que: /);
  });
  test('the fixed keys, as other programs set them', async () => {
    const daemon = make('fixed');
    fs.writeFileSync(daemon.configFile, `# as a chart would write it
data_dir: ${daemon.dataDir}
receivers:
  otlp:
    http:
      listen: 127.0.0.1:0
    grpc:
      listen: "127.0.0.1:0"
api:
  listen: '127.0.0.1:0'
ingest:
  ack: stored
verdicts:
  file:
    path: ${daemon.verdictFile}
`);
    await daemon.start();
    assert.equal((await post(daemon.http, 'logs', fault('gpu-fixed'))).status, 200);
    await daemon.untilVerdicts('the verdict', 1);
    await daemon.stop();
  });
});

describe('SIGTERM', () => {
  test('drains: what is in flight is answered, what is new is not begun', async () => {
    const daemon = await start('drain');
    const body = fault('gpu-drain');
    const raw = new Raw(daemon.http);
    await raw.open;
    await raw.write(Buffer.concat([Buffer.from(head(body.length)), body.subarray(0, 20)]));
    const grpc = new Grpc(daemon.grpc);
    const message = frame(fault('gpu-drain-grpc'));
    const stream = grpc.session.request({ ':method': 'POST', ':path': '/opentelemetry.proto.collector.logs.v1.LogsService/Export', 'content-type': 'application/grpc', te: 'trailers' });
    let status = null;
    stream.on('trailers', (trailers) => { status = trailers['grpc-status']; });
    stream.on('error', () => {});
    stream.resume();
    stream.write(message.subarray(0, 20));
    await until('both to be in flight', async () => (await daemon.metrics()).sum('tracecore_connections_open') >= 2);
    await sleep(100);
    daemon.signal('SIGTERM');
    let before = 0; // taken before the signal was seen
    await until('new ones to be refused', async () => {
      try {
        const { status: answer } = await post(daemon.http, 'logs', body, {}, { timeoutMs: 1000 });
        before += answer === 200 ? 1 : 0;
        return answer === 503;
      } catch { return true; }
    });
    assert.ok(daemon.running, 'it waits for what is in flight');
    stream.end(message.subarray(20));
    await raw.write(body.subarray(20));
    assert.equal(await raw.answer(), 200);
    await until('the trailers', () => status !== null);
    assert.equal(status, '0');
    assert.deepEqual(await daemon.wait(), { code: 0, signal: null });
    grpc.session.destroy();
    assert.equal(ofNode(daemon.verdicts(), 'gpu-drain').length, 1, 'the verdict left before the end');
    assert.equal(ofNode(daemon.verdicts(), 'gpu-drain-grpc').length, 1);
    assert.equal(daemon.batches().length, 2 + before);
  });
  test('does not wait for ever', async () => {
    const daemon = await start('stuck', { server: { shutdown_timeout: '500ms' } });
    const raw = new Raw(daemon.http);
    await raw.open;
    await raw.write(head(1000));
    const idle = new Raw(daemon.grpc);
    await idle.open;
    await sleep(100);
    await daemon.stop();
    raw.destroy();
    idle.destroy();
  });
  test('SIGINT is the same', async () => {
    const daemon = await start('interrupt');
    daemon.signal('SIGINT');
    assert.deepEqual(await daemon.wait(), { code: 0, signal: null });
  });
});

describe('SIGHUP', () => {
  const reloads = async (daemon, result) => (await daemon.metrics()).sum('tracecore_config_reloads_total', { result });

  test('reads the configuration again while connections go on', async () => {
    const daemon = await start('reload');
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const grpc = new Grpc(daemon.grpc);
    const local = [];
    agent.on('free', (socket) => local.push(socket.localPort));
    assert.equal((await post(daemon.http, 'logs', fault('gpu-before'), {}, { agent })).status, 200);
    assert.equal((await grpc.export('logs', fault('gpu-before'))).grpc, 0);
    await daemon.untilVerdicts('the verdict before', (all) => ofNode(all, 'gpu-before').length > 0);
    const moved = path.join(path.dirname(daemon.verdictFile), 'moved.ndjson');
    daemon.configure({ log: { level: 'debug', format: 'json' }, verdicts: { file: { path: moved } } });
    daemon.signal('SIGHUP');
    await until('the reload', async () => await reloads(daemon, 'ok') >= 1);
    assert.equal((await post(daemon.http, 'logs', fault('gpu-after'), {}, { agent })).status, 200);
    assert.equal((await grpc.export('logs', fault('gpu-after'))).grpc, 0);
    assert.ok(!grpc.session.destroyed, 'the gRPC connection is the same');
    assert.equal(new Set(local).size, 1, 'the HTTP connection is the same');
    await until('the verdict in the other file', () => ofNode(daemon.verdicts(moved), 'gpu-after').length > 0);
    assert.equal(ofNode(daemon.verdicts(), 'gpu-after').length, 0, 'and not in the first');
    const last = daemon.log().trim().split('\n').at(-1);
    assert.equal(typeof JSON.parse(last), 'object', 'the log is JSON now');
    await grpc.close();
    agent.destroy();
    await daemon.stop();
  });
  test('a verdict file in another folder needs a restart, unless the daemon is not confined', async (t) => {
    const elsewhere = space.file('elsewhere');
    fs.mkdirSync(elsewhere);
    const moved = path.join(elsewhere, 'verdicts.ndjson');
    const daemon = await start('confined');
    if (/no Landlock/.test(daemon.log())) { t.skip('this kernel has no Landlock'); return; }
    assert.match(daemon.log(), /msg="?confined"? writes="to data_dir, the verdict file's folder and temporary files only" system_calls="without those that are never needed"/);
    daemon.configure({ verdicts: { file: { path: moved } } });
    daemon.signal('SIGHUP');
    await until('the reload', async () => await reloads(daemon, 'ok') >= 1);
    assert.match(daemon.log(), /this change needs a restart.*verdicts\.file\.path/);
    assert.equal((await post(daemon.http, 'logs', fault('gpu-kept'))).status, 200);
    await daemon.untilVerdicts('the verdict in the same file', (all) => ofNode(all, 'gpu-kept').length > 0);
    await daemon.stop();
    const open = await start('not_confined', { confine: false });
    open.configure({ confine: false, verdicts: { file: { path: moved } } });
    open.signal('SIGHUP');
    await until('the reload', async () => await reloads(open, 'ok') >= 1);
    assert.equal((await post(open.http, 'logs', fault('gpu-moved'))).status, 200);
    await until('the verdict in the other folder', () => ofNode(open.verdicts(moved), 'gpu-moved').length > 0);
    await open.stop();
  });
  test('a configuration with mistakes is refused and says why; the old one stays', async () => {
    const daemon = await start('bad_reload');
    fs.writeFileSync(daemon.configFile, 'ingest:\n  ack: maybe\n');
    daemon.signal('SIGHUP');
    await until('the refusal', async () => await reloads(daemon, 'failed') >= 1);
    assert.match(daemon.log(), /tracecore\.yaml:2:\d+: ingest\.ack/);
    assert.equal((await post(daemon.http, 'logs', fault('gpu-same'))).status, 200);
    await daemon.untilVerdicts('the verdict in the same file', 1);
    fs.rmSync(daemon.configFile);
    daemon.signal('SIGHUP');
    await until('a file that is gone to be refused too', async () => await reloads(daemon, 'failed') >= 2);
    assert.equal((await get(daemon.api, '/readyz')).status, 200);
    await daemon.stop();
  });
  test('what needs a restart is named', async () => {
    const daemon = await start('fixed_reload');
    daemon.configure({ ingest: { ack: 'memory' }, log: { level: 'debug' } });
    daemon.signal('SIGHUP');
    await until('the log to name it', () => /ingest\.ack/.test(daemon.log()));
    assert.match(daemon.log(), /restart/i);
    assert.equal((await daemon.metrics()).sum('tracecore_ingest_ack_stored'), 1, 'it did not change');
    await daemon.stop();
  });
  test('a hundred in a row', async () => {
    const daemon = await start('storm');
    for (let i = 0; i < 100; i++) { daemon.signal('SIGHUP'); if (i % 10 === 0) await sleep(5); }
    assert.equal((await post(daemon.http, 'logs', fault('gpu-storm'))).status, 200);
    await daemon.untilVerdicts('the verdict', 1);
    assert.ok(daemon.files() < 100, 'no file is left open');
    await daemon.stop();
  });
});

describe('seen from outside', () => {
  test('promtool has nothing to say about /metrics', async (t) => {
    const daemon = await start('promtool');
    await post(daemon.http, 'logs', fault('gpu-prom'));
    await daemon.untilVerdicts('the verdict', 1);
    const { body } = await get(daemon.api, '/metrics');
    await daemon.stop();
    const result = spawnSync('promtool', ['check', 'metrics'], { input: body, encoding: 'utf8' });
    if (result.error) { t.skip('promtool is not installed'); return; }
    assert.equal(result.status, 0, result.stdout + result.stderr);
    assert.equal(result.stdout + result.stderr, '');
  });
  test('status, as text and JSON, of a daemon and of none', async () => {
    const daemon = await start('status');
    await post(daemon.http, 'logs', fault('gpu-status'));
    await daemon.untilVerdicts('the verdict', 1);
    const status = await daemon.status();
    assert.equal(typeof status, 'object');
    const url = `http://${daemon.api}`;
    const text = run(['status', '--api', url]);
    assert.equal(text.status, 0, text.stderr);
    assert.match(text.text, /ready/i);
    const json = run(['status', '--json', '--api', url]);
    assert.equal(json.status, 0, json.stderr);
    assert.deepEqual(Object.keys(JSON.parse(json.text)), Object.keys(status));
    await daemon.stop();
    const gone = run(['status', '--api', url]);
    assert.notEqual(gone.status, 0);
    assert.ok(gone.stderr.includes(daemon.api), gone.stderr);
  });
  test('HEAD, keep-alive, pipelining, Expect and chunks', async () => {
    const daemon = await start('http');
    const headOnly = await call(daemon.api, 'HEAD', '/healthz');
    assert.equal(headOnly.status, 200);
    assert.equal(headOnly.body.length, 0);
    const body = logs({}, [{ body: 'x' }]);
    const raw = new Raw(daemon.http);
    await raw.open;
    await raw.write(Buffer.concat(Array.from({ length: 20 }, () => Buffer.concat([Buffer.from(head(body.length)), body]))));
    await until('twenty answers', () => (raw.text.match(/HTTP\/1\.1 200/g) ?? []).length === 20);
    await raw.write(`${head(body.length).replace('\r\n\r\n', '\r\nexpect: 100-continue\r\n\r\n')}`);
    await until('100 Continue', () => /HTTP\/1\.1 100/.test(raw.text));
    await raw.write(body);
    await until('one more', () => (raw.text.match(/HTTP\/1\.1 200/g) ?? []).length === 21);
    raw.destroy();
    const chunked = await call(daemon.http, 'POST', '/v1/logs', { body, headers: { 'content-type': PROTOBUF, 'transfer-encoding': 'chunked' } });
    assert.equal(chunked.status, 200);
    await daemon.stop();
  });
});

describe('tracecore status', () => {
  const ask = (daemon, env = {}) => run(['status', '--api', `http://${daemon.api}`], { encoding: 'utf8', env: { ...process.env, ...env } });
  test('counts the evidence of earlier processes', async () => {
    const daemon = await start('amount', {});
    for (let i = 0; i < 3; i++) assert.equal((await post(daemon.http, 'logs', logs({}, [{ body: `x${i}` }]))).status, 200);
    const first = (await daemon.status()).evidence;
    assert.equal(first.batches, 3);
    await daemon.stop();
    await daemon.start();
    const second = (await daemon.status()).evidence;
    assert.deepEqual([second.batches, second.bytes], [3, first.bytes]);
    assert.ok(second.written_bytes > 0);
    assert.match(ask(daemon).text, /evidence +3 batches, /);
    await daemon.stop();
  });
  test('takes a token, and gives the reason when it is refused', async () => {
    const sha256 = crypto.createHash('sha256').update('reader').digest('hex');
    const ingest = crypto.createHash('sha256').update('writer').digest('hex');
    const daemon = await start('reasons', { auth: { tokens: [{ name: 'r', sha256, scopes: ['read'] }, { name: 'w', sha256: ingest, scopes: ['ingest'] }] } });
    assert.equal(ask(daemon, { TRACECORE_TOKEN: 'reader' }).status, 0);
    const none = ask(daemon);
    assert.equal(none.status, 2);
    assert.match(none.stderr, /answered 401 to \/api\/v1\/status: a bearer token of auth\.tokens is needed; put a token .* into TRACECORE_TOKEN/);
    assert.match(ask(daemon, { TRACECORE_TOKEN: 'writer' }).stderr, /answered 403 .*: the token's scopes do not allow this; put a token/);
    await daemon.stop();
  });
});

describe('who may speak to it', () => {
  const token = 'correct horse battery staple';
  const sha = (text) => crypto.createHash('sha256').update(text).digest('hex');
  test('tokens and their scopes', async () => {
    const daemon = await start('tokens', { auth: { tokens: [
      { name: 'collector', sha256: sha(token), scopes: ['ingest'] }, { name: 'grafana', sha256: sha('reader'), scopes: ['read'] }] } });
    const body = logs({}, [{ body: 'x' }]);
    const bearer = (text) => ({ authorization: `Bearer ${text}` });
    assert.equal((await post(daemon.http, 'logs', body)).status, 401);
    assert.equal((await post(daemon.http, 'logs', body, bearer('wrong'))).status, 401);
    assert.equal((await post(daemon.http, 'logs', body, bearer('reader'))).status, 403);
    assert.equal((await post(daemon.http, 'logs', body, bearer(token))).status, 200);
    const grpc = new Grpc(daemon.grpc);
    assert.equal((await grpc.export('logs', body)).grpc, 16);
    assert.equal((await grpc.export('logs', body, bearer('reader'))).grpc, 7);
    assert.equal((await grpc.export('logs', body, bearer(token))).grpc, 0);
    await grpc.close();
    assert.equal((await get(daemon.api, '/metrics')).status, 401);
    assert.equal((await get(daemon.api, '/metrics', { headers: bearer('reader') })).status, 200);
    assert.equal((await get(daemon.api, '/api/v1/status', { headers: bearer(token) })).status, 403);
    assert.equal((await get(daemon.api, '/healthz')).status, 200, 'a probe needs none');
    await daemon.stop();
    assert.ok(!daemon.log().includes(token), 'no token in the log');
  });
  test('TLS', async (t) => {
    const [cert, key] = [space.file('cert.pem'), space.file('key.pem')];
    const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
      '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert]);
    if (made.error || made.status !== 0) { t.skip('openssl is not installed'); return; }
    const tls = { cert, key };
    const daemon = await start('tls', { receivers: { otlp: { http: { tls }, grpc: { tls } } } });
    const body = logs({}, [{ body: 'x' }]);
    const [host, port] = daemon.http.split(':');
    const ca = fs.readFileSync(cert);
    const status = await new Promise((resolve, reject) => {
      https.request({ host, port, method: 'POST', path: '/v1/logs', ca, agent: false, headers: { 'content-type': PROTOBUF } }, (answer) => {
        answer.resume();
        answer.on('end', () => resolve(answer.statusCode));
      }).on('error', reject).end(body);
    });
    assert.equal(status, 200);
    const grpc = new Grpc(daemon.grpc, { ca, protocol: 'https:' });
    const answer = await grpc.export('logs', body);
    assert.equal(answer.grpc, 0);
    assert.deepEqual(fields(answer.message), {});
    await grpc.close();
    await assert.rejects(post(daemon.http, 'logs', body, {}, { timeoutMs: 5000 }), 'plain HTTP is not taken there');
    await daemon.stop();
  });
});
