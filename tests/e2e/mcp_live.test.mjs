// SPDX-License-Identifier: Apache-2.0
// The question of who is on call, asked of a running daemon with nothing but the tools: which node,
// and what do I do? Over `tracecore mcp`, and over HTTP at /mcp.
import assert from 'node:assert/strict';
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
