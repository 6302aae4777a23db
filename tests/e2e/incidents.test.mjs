// SPDX-License-Identifier: Apache-2.0
// `tracecore incidents`: the stories of a running daemon, as detect prints those of files.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon, binary, lines, run, source, workspace } from './support/daemon.mjs';
import { get, until } from './support/wire.mjs';

const incident = path.join(source, 'examples/incident');
const TOKEN = 'a-token-to-read-with';
const space = workspace('incidents');
let daemon;
before(async () => { daemon = await new Daemon(space.file('daemon')).start(); });
after(async () => { await daemon?.destroy(); space.remove(); });

const url = () => `http://${daemon.api}`;
const ask = (...args) => run(['incidents', '--api', url(), ...args], { encoding: 'utf8' });

// One file of the example to the daemon.
function upload(file) {
  return new Promise((resolve, reject) => {
    const request = http.request(`${url()}/api/v1/upload?name=${path.basename(file)}`, { method: 'POST', headers: { 'content-type': 'application/octet-stream' } }, (reply) => {
      reply.resume().on('end', () => resolve(reply.statusCode));
    });
    request.on('error', reject).end(fs.readFileSync(file));
  });
}

async function uploadExample() {
  for (const name of fs.readdirSync(incident, { recursive: true }).sort()) {
    const file = path.join(incident, name);
    if (fs.statSync(file).isFile()) {
      assert.equal(await upload(file), 200, name);
    }
  }
  // An upload is answered when it is stored; detection reads it then.
  await until('detection to be level', async () => (await daemon.status()).batches_behind === 0);
  await until('the whole story', () => lines(ask('--json').text).length === 7);
}

// Without what differs by nature: where the evidence is, and the ids that depend on it.
const common = (text) => text.slice(0, text.indexOf('  Evidence\n'));

describe('incidents', () => {
  test('none yet: exit status 0, and that is said', () => {
    const { status, text, stderr } = ask();
    assert.equal(status, 0);
    assert.equal(text, '');
    assert.match(stderr, /has no incidents$/mu);
  });

  test('the page is that of detect', async () => {
    await uploadExample();
    const { status, text } = ask();
    assert.equal(status, 1);
    const page = run(['detect', '-q', incident], { encoding: 'utf8' }).text;
    assert.equal(common(text), common(page));
  });

  test('the API lists roots first, and refuses what it does not know', async () => {
    const api = async (query) => {
      const answer = await get(daemon.api, `/api/v1/incidents${query}`);
      return { status: answer.status, ...JSON.parse(answer.body) };
    };
    const { incidents } = await api('');
    const caused = incidents.map((one) => (one.caused_by ?? []).length > 0);
    assert.ok(caused.includes(true) && caused.includes(false), 'the example has both');
    assert.deepEqual(caused, [...caused].sort(), 'no root comes behind what follows from it');
    const roots = caused.filter((one) => !one).length;
    assert.deepEqual((await api(`?limit=${roots}`)).incidents, incidents.slice(0, roots));
    assert.equal((await api(`?limit=${roots + 1}`)).incidents.length, roots + 1);
    for (const query of ['?limits=1', '?limit=x', '?limit=0', '?limit=1001', '?%zz', '?status=opened', '?since=now', '?cursor=abc']) {
      const answer = await api(query);
      assert.equal(answer.status, 400, query);
      assert.ok(answer.detail.length > 10, query);
    }
  });

  test('the commands print the stored evidence', () => {
    const commands = [...ask().text.matchAll(/^ {4}tracecore (evidence cat .*)$/gmu)].map((m) => m[1]);
    assert.ok(commands.length >= 8);
    for (const command of commands) {
      const { status, stdout } = run(command.split(' '), { encoding: 'utf8' });
      assert.equal(status, 0, command);
      assert.ok(stdout.length > 0);
    }
  });

  test('--json, --brief, filters and the ID', () => {
    const all = lines(ask('--json').text);
    assert.equal(all[0].root, true, 'the root comes first, as in detect');
    assert.match(ask('--brief').text, /^1 story on 2026-03-04 \(UTC\): 1 open \(1 critical\)\n {2}1 {2}CRITICAL .* · 6 followed\n$/u);
    assert.equal(lines(ask('--json', '--node', 'gpu-07.example.org').text).length, 7);
    assert.equal(ask('--node', 'gpu-99').status, 0);
    assert.equal(ask('--since', '1h').text, '', 'it was long ago');
    const id = all[3].incident_id;
    assert.equal(ask(id.slice(0, 8)).text, ask().text, 'the story that it belongs to');
    const none = ask('ffffffff');
    assert.equal(none.status, 2);
    assert.match(none.stderr, /no incident ffffffff; 'tracecore incidents' lists them/u);
    assert.equal(ask('a', 'b').status, 2);
  });

  test('--follow prints stories as they come', async () => {
    const child = spawn(binary, ['incidents', '--api', url(), '--follow', '--brief'], { stdio: ['ignore', 'pipe', 'inherit'] });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text) => { out += text; });
    try {
      await until('the first story', () => out.includes('node gpu-07'));
      const log = space.file('dmesg-gpu-21.txt');
      fs.writeFileSync(log, '2026-03-04T06:00:00,000000+00:00 NVRM: Xid (PCI:0000:1b:00): 95, pid=1, name=p, Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No\n');
      assert.equal(await upload(log), 200);
      await until('the second story', () => out.includes('node gpu-21'));
      assert.equal(out.match(/node gpu-07/gu).length, 1, 'what did not change is not printed again');
    } finally {
      child.kill('SIGTERM');
    }
  });
});

test('without a daemon the address and the remedy are named', () => {
  for (const command of ['incidents', 'status']) {
    const { status, stderr } = run([command, '--api', 'http://127.0.0.1:9'], { encoding: 'utf8' });
    assert.equal(status, 2);
    assert.match(stderr, /no daemon answers at http:\/\/127\.0\.0\.1:9 \(.*\); start one with 'tracecore serve', or say where it is with --api URL/u);
  }
});

test('what is no daemon is not taken for one', async () => {
  const bodies = ['', '{}', '{"incidents":[{}]}', '{"incidents":[{"incident_id":"1"},\n{"incident_id":"1"}]}', '{"incidents":[nonsense]}', '{"incidents":['];
  let body = '';
  const server = http.createServer((request, reply) => reply.end(body)).listen(0, '127.0.0.1');
  await until('it listens', () => server.address());
  try {
    for (body of bodies) {
      const child = spawn(binary, ['incidents', '--api', `http://127.0.0.1:${server.address().port}`], { stdio: ['ignore', 'ignore', 'pipe'] });
      let err = '';
      child.stderr.setEncoding('utf8').on('data', (text) => { err += text; });
      const code = await new Promise((resolve) => { child.on('close', resolve); });
      assert.equal(code, 2, body);
      assert.match(err, /no tracecore/u, body);
    }
  } finally {
    server.close();
  }
});

test('a daemon with tokens is given the one of the environment', async () => {
  const { createHash } = await import('node:crypto');
  const sha256 = createHash('sha256').update(TOKEN).digest('hex');
  const guarded = await new Daemon(space.file('guarded'), { auth: { tokens: [{ name: 'people', sha256, scopes: ['read'] }] } }).start();
  try {
    const args = ['incidents', '--api', `http://${guarded.api}`];
    const without = run(args, { encoding: 'utf8' });
    assert.equal(without.status, 2);
    assert.match(without.stderr, /answered 401 to \/api\/v1\/incidents\S*: a bearer token of auth\.tokens is needed; put a token with the scope 'read' into TRACECORE_TOKEN/u);
    assert.equal(run(args, { encoding: 'utf8', env: { ...process.env, TRACECORE_TOKEN: TOKEN } }).status, 0);
  } finally {
    await guarded.destroy();
  }
});
