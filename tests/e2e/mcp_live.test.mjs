// SPDX-License-Identifier: Apache-2.0
// The question of who is on call, asked of a running daemon with nothing but the tools: which node,
// and what do I do? Over `tracecore mcp`, and over HTTP at /mcp.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Daemon, source, workspace } from './support/daemon.mjs';
import { closeAll, connect, connectHttp, connectStateless, toolbox } from './support/mcp.mjs';
import { call as send, until } from './support/wire.mjs';

const incident = path.join(source, 'examples/incident');
const space = workspace('mcp_live');
let daemon;

const url = () => `http://${daemon.api}`;

function upload(file) {
  return new Promise((resolve, reject) => {
    const request = http.request(`${url()}/api/v1/upload?name=${path.basename(file)}`, { method: 'POST', headers: { 'content-type': 'application/octet-stream' } }, (reply) => {
      reply.resume().on('end', () => resolve(reply.statusCode));
    });
    request.on('error', reject).end(fs.readFileSync(file));
  });
}

before(async () => {
  daemon = await new Daemon(space.file('daemon')).start();
  for (const name of fs.readdirSync(incident, { recursive: true }).sort()) {
    const file = path.join(incident, name);
    if (fs.statSync(file).isFile()) {
      assert.equal(await upload(file), 200, name);
    }
  }
  await until('detection to be level', async () => (await daemon.status()).batches_behind === 0);
});
after(async () => {
  await closeAll();
  await daemon?.destroy();
  space.remove();
});

/** What an agent does with the prompt on_call. */
async function onCall(client) {
  const { messages } = await client.getPrompt({ name: 'on_call' });
  assert.match(messages[0].content.text, /fleet_health[^]*list_incidents[^]*explain_incident[^]*get_evidence/u);
  const { call, refused } = await toolbox(client);
  // Which nodes are not well?
  const health = await call('fleet_health');
  assert.ok(health.worst_nodes_total > 0);
  // What others follow from comes first.
  const { incidents } = await call('list_incidents', { limit: 3 });
  const root = incidents[0];
  assert.equal(root.caused_by, undefined);
  // What happened, where, what to do.
  const story = await call('explain_incident', { id: root.incident_id });
  assert.equal(story.incident.incident_id, root.incident_id);
  assert.ok(story.roots.includes(root.incident_id));
  const node = story.incident['k8s.node.name'];
  assert.ok(JSON.stringify(health.worst_nodes).includes(node), `${node} is among the worst`);
  assert.match(story.incident.remediation, new RegExp(node, 'u'));
  // The line that proves it.
  const { raw } = story.incident.evidence_trail.find((item) => item.raw);
  const proof = await call('get_evidence', { digest: raw.digest, at: `${raw.offset},${raw.length}` });
  assert.ok(proof.lines.some((line) => line.cited.length > 0) || proof.rows.length > 0);
  // The same as resources.
  const { contents } = await client.readResource({ uri: `tracecore://incident/${root.incident_id}` });
  assert.equal(JSON.parse(contents[0].text).incident.incident_id, root.incident_id);
  assert.match(await refused('explain_incident', { id: 'nobody' }), /nobody|no incident/u);
  return { node, todo: story.incident.remediation };
}

test('which node, and what do I do? over stdio', async () => {
  const client = await connect(daemon.dataDir, ['--api', url()]);
  const { node, todo } = await onCall(client);
  assert.ok(node.length > 0 && todo.length > 0);
  await client.close();
});

test('which node, and what do I do? over stdio, stateless', async (t) => {
  const client = await connectStateless(daemon.dataDir, { args: ['--api', url()] });
  if (client === null) {
    t.skip('the client needs Node 20');
    return;
  }
  await onCall(client);
  await client.close();
});

/* ---- HTTP ---- */

test('which node, and what do I do? over HTTP', async () => {
  const client = await connectHttp(`${url()}/mcp`);
  await onCall(client);
  const { runs } = await (await toolbox(client)).call('list_runs');
  assert.deepEqual(runs, []);
  await client.close();
});

test('which node, and what do I do? over HTTP, stateless', async (t) => {
  const client = await connectStateless(undefined, { url: `${url()}/mcp` });
  if (client === null) {
    t.skip('the client needs Node 20');
    return;
  }
  assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
  await onCall(client);
  await client.close();
});

const META = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
const JSON_TYPE = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const MODERN = { ...JSON_TYPE, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };

async function posted(body, headers = JSON_TYPE) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const reply = await send(daemon.api, 'POST', '/mcp', { body: text, headers });
  const said = reply.body.toString('utf8');
  return { status: reply.status, code: said ? JSON.parse(said).error?.code : undefined, said };
}

test('what the head says is held against the body', async () => {
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: META } };
  assert.equal((await posted(list, MODERN)).status, 200);
  assert.deepEqual([400, -32020], Object.values(await posted(list, { ...MODERN, 'mcp-method': 'tools/call' })).slice(0, 2));
  assert.deepEqual([400, -32020], Object.values(await posted(list)).slice(0, 2));
  const old = { 'io.modelcontextprotocol/protocolVersion': '1900-01-01', 'io.modelcontextprotocol/clientCapabilities': {} };
  assert.deepEqual([400, -32022], Object.values(await posted({ ...list, params: { _meta: old } }, { ...MODERN, 'mcp-protocol-version': '1900-01-01' })).slice(0, 2));
  assert.deepEqual([404, -32601], Object.values(await posted({ ...list, method: 'no/such' }, { ...MODERN, 'mcp-method': 'no/such' })).slice(0, 2));
  assert.deepEqual([400, -32700], Object.values(await posted('{')).slice(0, 2));
  const { status, said } = await posted({ jsonrpc: '2.0', method: 'notifications/initialized' });
  assert.deepEqual([status, said], [202, '']);
});

test('other methods, other origins and forms are kept out', async () => {
  for (const method of ['GET', 'DELETE', 'PUT']) {
    assert.equal((await send(daemon.api, method, '/mcp', { headers: { accept: 'text/event-stream' } })).status, 405, method);
  }
  const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
  assert.equal((await posted(ping, { ...JSON_TYPE, origin: 'http://evil.example' })).status, 403);
  assert.equal((await posted(ping, { ...JSON_TYPE, host: 'evil.example' })).status, 403);
  const form = await send(daemon.api, 'POST', '/mcp', { body: ping, headers: { 'content-type': 'text/plain' } });
  assert.ok([403, 415].includes(form.status), `${form.status}`);
  assert.equal((await posted(`${ping.slice(0, -1)},"x":"${'y'.repeat(2 << 20)}"}`).catch(() => ({ status: 413 }))).status, 413);
});

test('a daemon that wants a token gets it, and who has none is told', async () => {
  const token = 'a-token-to-read-with';
  const sha256 = createHash('sha256').update(token).digest('hex');
  const guarded = await new Daemon(space.file('guarded'), { auth: { tokens: [{ name: 'agents', sha256, scopes: ['read'] }] } }).start();
  const api = `http://${guarded.api}`;
  try {
    const without = await connect(guarded.dataDir, ['--api', api]);
    assert.match(await (await toolbox(without)).refused('list_incidents', {}), /token .*TRACECORE_TOKEN/u);
    await without.close();
    const within = await connect(guarded.dataDir, ['--api', api], { TRACECORE_TOKEN: token });
    assert.deepEqual((await (await toolbox(within)).call('list_incidents')).incidents, []);
    await within.close();
    await assert.rejects(connectHttp(`${api}/mcp`));
    const client = await connectHttp(`${api}/mcp`, token);
    assert.deepEqual((await (await toolbox(client)).call('list_incidents')).incidents, []);
    await client.close();
  } finally {
    await guarded.destroy();
  }
});
