// SPDX-License-Identifier: Apache-2.0
// TLS of the listeners, tried with openssl s_client and Node's client: protocols that are too old, clients without a
// certificate, with one of another authority or one that has expired; and certificates that change under load.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import https from 'node:https';
import { after, before, describe, test } from 'node:test';
import { Daemon, run, workspace } from './support/daemon.mjs';
import { logs } from './support/otlp.mjs';
import { Grpc, PROTOBUF, until } from './support/wire.mjs';

const space = workspace('tls');
const file = (name) => space.file(name);
const openssl = (...args) => {
  const { status, stderr, error } = spawnSync('openssl', args, { encoding: 'utf8' });
  assert.ok(!error && status === 0, `openssl ${args.join(' ')}: ${error ?? stderr}`);
};
const has = spawnSync('openssl', ['version']).status === 0;

/** A certificate of an authority, valid for so many days from now on (below 0: it has expired). */
function issue(name, ca, { days = 2, server = false } = {}) {
  openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', `/CN=${name}`, '-keyout', file(`${name}.key`), '-out', file(`${name}.csr`));
  fs.writeFileSync(file(`${name}.ext`), server ? 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n' : 'extendedKeyUsage=clientAuth\n');
  const end = new Date(Date.now() + days * 86400000).toISOString().replace(/[-:T]/gu, '').slice(0, 14);
  const begin = new Date(Date.now() - 10 * 86400000).toISOString().replace(/[-:T]/gu, '').slice(0, 14);
  fs.writeFileSync(file('ca.cnf'), `[ca]\ndefault_ca=d\n[d]\nnew_certs_dir=${file('.')}\ndatabase=${file('index.txt')}\nrand_serial=yes\ndefault_md=sha256\npolicy=p\nunique_subject=no\n[p]\ncommonName=supplied\n`);
  fs.writeFileSync(file('index.txt'), '');
  openssl('ca', '-batch', '-config', file('ca.cnf'), '-cert', file(`${ca}.pem`), '-keyfile', file(`${ca}.key`), '-in', file(`${name}.csr`), '-out', file(`${name}.pem`),
    '-startdate', `${begin}Z`, '-enddate', `${end}Z`, '-notext', '-extfile', file(`${name}.ext`));
}
const authority = (name) => openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', `/CN=${name}`,
  '-keyout', file(`${name}.key`), '-out', file(`${name}.pem`));

describe('listeners with certificates', { skip: !has && 'openssl is not installed' }, () => {
  let daemon;
  before(async () => {
    authority('ca');
    authority('other');
    issue('server', 'ca', { server: true });
    issue('client', 'ca');
    issue('stranger', 'other');
    issue('expired', 'ca', { days: -1 });
    const tls = { cert: file('server.pem'), key: file('server.key'), client_ca: file('ca.pem') };
    daemon = new Daemon(file('daemon'), { receivers: { otlp: { http: { tls }, grpc: { tls } } }, api: { tls: { cert: tls.cert, key: tls.key } } });
    await daemon.start({ replayed: false });
  });
  after(async () => { await daemon?.destroy(); space.remove(); });

  const who = (name) => (name ? { cert: fs.readFileSync(file(`${name}.pem`)), key: fs.readFileSync(file(`${name}.key`)) } : {});
  const send = (name, address = daemon.http, { method = 'POST', path = '/v1/logs', agent = false } = {}) => new Promise((resolve) => {
    const [host, port] = address.split(':');
    https.request({ host, port, method, path, ca: fs.readFileSync(file('ca.pem')), agent, headers: { 'content-type': PROTOBUF }, ...who(name) }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode));
    }).on('error', (error) => resolve(error.code)).end(method === 'POST' ? logs({}, [{ body: 'x' }]) : undefined);
  });
  const sClient = (address, ...args) => spawnSync('openssl', ['s_client', '-connect', address, '-CAfile', file('ca.pem'), ...args], { input: '', encoding: 'utf8' });

  test('a client with a certificate of the authority is let in, others are not', async () => {
    assert.equal(await send('client'), 200);
    for (const name of [null, 'stranger', 'expired', 'server']) assert.match(String(await send(name)), /^(ECONNRESET|EPIPE|EPROTO|ERR_SSL\w*)$/u, name ?? 'none');
    const grpc = new Grpc(daemon.grpc, { ca: fs.readFileSync(file('ca.pem')), protocol: 'https:', ...who('client') });
    assert.equal((await grpc.export('logs', logs({}, [{ body: 'x' }]))).grpc, 0);
    await grpc.close();
    assert.equal(await send(null, daemon.api, { method: 'GET', path: '/healthz' }), 200, 'the API asks for none here');
  });

  test('status and incidents show a certificate to an API that wants one', async () => {
    const mutual = new Daemon(file('mutual'), { api: { tls: { cert: file('server.pem'), key: file('server.key'), client_ca: file('ca.pem') } } });
    await mutual.start({ replayed: false });
    const ask = (command, ...args) => run([command, '--api', `https://${mutual.api}`, '--cacert', file('ca.pem'), ...args]);
    const as = (name) => ['--cert', file(`${name}.pem`), '--key', file(`${name}.key`)];
    const good = ask('status', ...as('client'));
    assert.equal(good.status, 0, good.stderr);
    assert.match(good.text, /^tracecore \S+ is /u);
    assert.equal(ask('incidents', ...as('client')).status, 0);
    for (const args of [[], as('stranger'), as('expired')]) assert.equal(ask('status', ...args).status, 2);
    const missing = ask('status', '--cert', file('nobody.pem'), '--key', file('client.key'));
    assert.equal(missing.status, 2);
    assert.match(missing.stderr, /nobody\.pem: No such file/u);
    await mutual.destroy();
  });

  test('protocols before TLS 1.2 are refused', () => {
    for (const old of ['-tls1', '-tls1_1']) {
      const { stdout, stderr } = sClient(daemon.api, old, '-cipher', 'ALL@SECLEVEL=0');
      assert.match(stdout + stderr, /alert protocol version|no protocols available|unsupported protocol/u, old);
      assert.match(stdout, /Cipher is \(NONE\)/u, old);
    }
    for (const [now, said] of [['-tls1_2', /TLSv1\.2, Cipher is (?!\(NONE)/u], ['-tls1_3', /TLSv1\.3, Cipher is (?!\(NONE)/u]]) assert.match(sClient(daemon.api, now).stdout, said);
  });

  test('a resumed session is let in, with a certificate', async () => {
    const agent = new https.Agent({ maxCachedSessions: 10, keepAlive: false });
    for (let i = 0; i < 3; i += 1) assert.equal(await send('client', daemon.http, { agent }), 200);
  });

  test('certificates are reloaded under load, and nobody is cut off', async () => {
    let done = 0;
    let failed = 0;
    let going = true;
    const sender = async () => {
      while (going) {
        if ((await send('client')) === 200) done += 1;
        else failed += 1;
      }
    };
    const senders = [sender(), sender(), sender()];
    const shown = () => /serial=?\s*([0-9A-F:]+)/iu.exec(spawnSync('sh', ['-c', `openssl s_client -connect ${daemon.api} </dev/null 2>/dev/null | openssl x509 -noout -serial`], { encoding: 'utf8' }).stdout)?.[1];
    const first = shown();
    for (let turn = 0; turn < 3; turn += 1) {
      const before_ = shown();
      issue('server', 'ca', { server: true });
      daemon.signal('SIGHUP');
      await until('the new certificate', () => shown() !== before_);
      const sent = done + failed;
      await until('more to be sent', () => done + failed >= sent + 10);
    }
    assert.notEqual(shown(), first);
    // A broken one: the old one stays in use, and the log says so.
    const kept = shown();
    const whole = fs.readFileSync(file('server.pem'));
    fs.writeFileSync(file('server.pem'), 'no certificate');
    daemon.signal('SIGHUP');
    await until('the log', () => daemon.log().includes('certificates were not reloaded'));
    assert.equal(shown(), kept);
    fs.writeFileSync(file('server.pem'), whole);
    // Another authority of clients: whoever was let in is not any more.
    const ca = fs.readFileSync(file('ca.pem'));
    going = false;
    await Promise.all(senders);
    fs.writeFileSync(file('ca.pem'), fs.readFileSync(file('other.pem')));
    daemon.signal('SIGHUP');
    await until('the other authority', async () => {
      const [host, port] = daemon.http.split(':');
      return new Promise((resolve) => {
        https.request({ host, port, method: 'POST', path: '/v1/logs', rejectUnauthorized: false, agent: false, headers: { 'content-type': PROTOBUF }, ...who('stranger') },
          (answer) => { answer.resume(); resolve(answer.statusCode === 200); }).on('error', () => resolve(false)).end(logs({}, [{ body: 'x' }]));
      });
    });
    fs.writeFileSync(file('ca.pem'), ca);
    daemon.signal('SIGHUP');
    await until('the first one', async () => (await send('client')) === 200);
    assert.ok(done >= 30, `${done} were sent`);
    assert.equal(failed, 0);
  });
});
