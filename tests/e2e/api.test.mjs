// SPDX-License-Identifier: Apache-2.0
// The HTTP API from outside: what is asked, who may ask, errors as problems, ETags, cursors, the stream of verdicts and
// its readers, and the files of the dashboard. Every path of openapi.json is asked.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import net from 'node:net';
import { after, before, describe, test } from 'node:test';
import zlib from 'node:zlib';
import { Daemon, workspace } from './support/daemon.mjs';
import { logs, metrics } from './support/otlp.mjs';
import { call, get, post, sleep, until } from './support/wire.mjs';
import { Events } from './support/sse.mjs';

const space = workspace('api');
const daemons = [];
async function start(name, config, options) {
  const daemon = new Daemon(space.file(name), config, options);
  await daemon.start();
  daemons.push(daemon);
  return daemon;
}
const json = (answer) => JSON.parse(answer.body.toString('utf8'));
const sha = (text) => crypto.createHash('sha256').update(text).digest('hex');
const xid = (node, text = 'NVRM: Xid (PCI:0000:43:00): 48, pid=4711, name=python, DBE (double bit error)') =>
  logs({ 'k8s.node.name': node }, [{ body: text }]);

let daemon;
before(async () => { daemon = await start('daemon', {}); });
after(async () => { await Promise.all(daemons.map((one) => one.destroy())); space.remove(); });

const tell = async (count, of = daemon, prefix = 'gpu') => {
  for (let i = 0; i < count; i += 1) assert.equal((await post(of.http, 'logs', xid(`${prefix}-${String(i).padStart(3, '0')}`))).status, 200);
};
const listed = async (query = '', of = daemon) => json(await get(of.api, `/api/v1/incidents${query}`));
const isProblem = (answer, status, detail = /./u) => {
  assert.equal(answer.status, status, answer.body.toString());
  assert.equal(answer.headers['content-type'], 'application/problem+json');
  const problem = json(answer);
  assert.equal(problem.status, status);
  assert.match(problem.detail, detail);
  for (const key of ['type', 'title']) assert.equal(typeof problem[key], 'string');
};

/** Values that a parameter in a path or one that is needed is given. */
const NEEDED = { node: 'gpu-000', sql: 'SELECT 1 AS one' };

describe('what can be asked', () => {
  test('openapi.json describes it, and each path answers', async () => {
    await tell(3);
    await until('incidents', async () => (await listed()).incidents.length >= 3);
    const openapi = json(await get(daemon.api, '/api/v1/openapi.json'));
    assert.match(openapi.openapi, /^3\.1\./u);
    const id = (await listed()).incidents[0].incident_id;
    let asked = 0;
    for (const [where, methods] of Object.entries(openapi.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        if (where === '/api/v1/events' || !['get', 'post'].includes(method)) continue;
        const filled = where.replace(/\{(\w+)\}/gu, (_, name) => (name === 'id' ? id : NEEDED[name] ?? 'unknown-thing'));
        const needed = (operation.parameters ?? []).filter((one) => one.required && one.in === 'query');
        const query = needed.map((one) => `${one.name}=${encodeURIComponent(NEEDED[one.name] ?? 'unknown-thing')}`).join('&');
        const answer = method === 'post'
          ? await call(daemon.api, 'POST', filled, { body: '{}', headers: { 'content-type': 'application/json' } })
          : await get(daemon.api, `${filled}${query ? `?${query}` : ''}`);
        assert.ok([200, 400, 404, 409, 422].includes(answer.status), `${method} ${filled}: ${answer.status} ${answer.body}`);
        if (answer.status !== 200) isProblem(answer, answer.status);
        asked += 1;
        // An unknown parameter is refused, and named.
        if (method === 'get') isProblem(await get(daemon.api, `${filled}?${query ? `${query}&` : ''}no_such=1`), 400, /no_such/u);
        const wrong = await call(daemon.api, method === 'get' ? 'PUT' : 'DELETE', filled);
        isProblem(wrong, 405);
        assert.ok(wrong.headers.allow.length > 0);
      }
    }
    assert.ok(asked >= 14, `only ${asked} were asked`);
  });

  test('values that are wrong are refused, with what would be right', async () => {
    for (const query of ['limit=0', 'limit=1001', 'limit=-1', 'limit=1e3', 'limit=1&limit=2&limit=x', 'status=closed', 'severity=fatal', 'since=yesterday',
      'cursor=!', 'cursor=YWJj', 'q=%00', 'q=%zz', '%ff=1', `q=${'x'.repeat(70000)}`]) {
      const answer = await get(daemon.api, `/api/v1/incidents?${query}`);
      assert.ok([400, 431].includes(answer.status), `${query.slice(0, 40)}: ${answer.status}`);
    }
  });

  test('unknown ids and tricks with paths are 404, and nothing leaks', async () => {
    for (const where of ['/api/v1/incidents/ffffffffffffffffffffffffffffffff', '/api/v1/incidents/..%2f..%2fetc%2fpasswd', '/api/v1/incidents/%2e%2e',
      '/api/v1/incidents/', '/api/v1//incidents', '/api/v1/incidents/a/b', '/api/v2/incidents', '/api', '/api/v1/fleet/nodes/no-such-node',
      '/api/v1/fleet/nodes/<script>', '/api/v1/runs/..%2f..%2f', '/apix']) {
      const answer = await get(daemon.api, where);
      assert.equal(answer.status, 404, `${where}: ${answer.body}`);
      assert.doesNotMatch(answer.body.toString(), /root:/u);
    }
  });

  test('HEAD has the head of GET', async () => {
    const full = await get(daemon.api, '/api/v1/stories');
    const head = await call(daemon.api, 'HEAD', '/api/v1/stories');
    assert.equal(head.status, 200);
    assert.equal(head.body.length, 0);
    assert.equal(head.headers['content-length'], full.headers['content-length']);
    assert.equal(head.headers.etag, full.headers.etag);
  });

  test('ETags: the same answer is not sent twice', async () => {
    const first = await get(daemon.api, '/api/v1/incidents?limit=1');
    assert.match(first.headers.etag, /^"[0-9a-f]{32}"$/u);
    for (const tag of [first.headers.etag, `W/${first.headers.etag}`, `"x", ${first.headers.etag}`, '*']) {
      const again = await get(daemon.api, '/api/v1/incidents?limit=1', { headers: { 'if-none-match': tag } });
      assert.equal(again.status, 304);
      assert.equal(again.body.length, 0);
    }
    assert.equal((await get(daemon.api, '/api/v1/incidents?limit=1', { headers: { 'if-none-match': '"x"' } })).status, 200);
  });
});

describe('incidents', () => {
  test('pages give each once, whatever their size', async () => {
    await tell(40, daemon, 'page');
    const all = await until('all of them', async () => {
      const { incidents } = await listed('?limit=1000');
      return incidents.length === 43 && incidents;
    });
    for (const limit of [1, 7, 40, 1000]) {
      const seen = [];
      let next = '';
      let pages = 0;
      do {
        const page = await listed(`?limit=${limit}${next ? `&cursor=${encodeURIComponent(next)}` : ''}`);
        seen.push(...page.incidents.map((one) => one.incident_id));
        next = page.next;
        pages += 1;
        assert.ok(pages < 1000);
      } while (next);
      assert.deepEqual(seen, all.map((one) => one.incident_id), `limit ${limit}`);
    }
    // The same for stories.
    const stories = json(await get(daemon.api, '/api/v1/stories?limit=1000')).stories.map((one) => one.id);
    const walked = [];
    for (let next = ''; next !== null;) {
      const page = json(await get(daemon.api, `/api/v1/stories?limit=3${next ? `&cursor=${next}` : ''}`));
      walked.push(...page.stories.map((one) => one.id));
      next = page.next;
    }
    assert.deepEqual(walked, stories);
    assert.equal(new Set(walked).size, walked.length);
  });

  test('filters', async () => {
    const ids = async (query) => (await listed(`?limit=1000&${query}`)).incidents;
    assert.equal((await ids('node=page-001')).length, 1);
    assert.equal((await ids('node=page-001.example.org')).length, 1, 'with its domain too');
    assert.equal((await ids('q=PAGE-001')).length, 1);
    assert.equal((await ids('q=nothing-like-it')).length, 0);
    assert.ok((await ids('pattern=hbm_ecc')).length >= 40);
    assert.ok((await ids('severity=critical')).every((one) => one.severity === 'critical'));
    assert.equal((await ids('severity=info')).length, 0);
    assert.equal((await ids('status=resolved')).length, 0);
    assert.ok((await ids('status=open')).length >= 40);
    assert.ok((await ids('since=1h')).length >= 40);
    assert.equal((await ids('since=2199-01-01T00:00:00Z')).length, 0);
    assert.equal((await ids('job=none')).length, 0);
  });

  test('one incident with its story', async () => {
    const [{ incident_id: id }] = (await listed('?limit=1')).incidents;
    const told = json(await get(daemon.api, `/api/v1/incidents/${id}`));
    assert.equal(told.incident.incident_id, id);
    assert.deepEqual(json(await get(daemon.api, `/api/v1/incidents/${id.slice(0, 10)}`)), told, 'by how its id begins');
    assert.ok(told.story.incident_ids.includes(id));
    assert.ok(told.graph.nodes.some((one) => one.incident_id === id));
    assert.ok(told.timeline.length >= 1);
    for (const signal of told.timeline) assert.match(signal.raw.digest, /^sha256:[0-9a-f]{64}$/u);
    assert.ok(told.story.what_to_do.length > 10);
    assert.equal((await get(daemon.api, `/api/v1/incidents/${id.slice(0, 2)}`)).status, 404, 'two digits say too little');
  });

  test('script in telemetry comes back as text', async () => {
    const node = '<img src=x onerror=alert(1)>';
    await post(daemon.http, 'logs', xid(node));
    const found = await until('it', async () => (await listed(`?q=${encodeURIComponent('onerror')}`)).incidents[0]);
    assert.equal(found['k8s.node.name'], node);
    for (const where of ['/api/v1/incidents', '/api/v1/stories', '/api/v1/fleet', `/api/v1/fleet/nodes/${encodeURIComponent(node)}`]) {
      const answer = await get(daemon.api, where);
      assert.equal(answer.status, 200, where);
      assert.equal(answer.headers['content-type'], 'application/json');
      assert.equal(answer.headers['x-content-type-options'], 'nosniff');
    }
  });
});

describe('the fleet', () => {
  test('columns agree, states follow from what is open', async () => {
    const fleet = json(await get(daemon.api, '/api/v1/fleet'));
    for (const part of ['nodes', 'gpus']) {
      const lengths = new Set(Object.values(fleet[part]).map((column) => column.length));
      assert.equal(lengths.size, 1, `columns of ${part}`);
      assert.equal([...lengths][0], fleet.summary[part]);
    }
    const at = fleet.nodes.name.indexOf('gpu-000');
    assert.equal(fleet.states[fleet.nodes.state[at]], 'critical');
    assert.equal(fleet.gpus.node[fleet.nodes.first_gpu[at]], at);
    assert.equal(fleet.gpus.pci[fleet.nodes.first_gpu[at]], '0000:43:00.0');
    for (const place of ['rack', 'zone']) assert.ok(fleet.nodes[place].every((one) => one === null), `no ${place} is invented`);
    const health = json(await get(daemon.api, '/api/v1/fleet/health'));
    assert.deepEqual(health.summary, fleet.summary);
    assert.ok(health.worst_nodes.length <= 20 && health.worst_nodes_total >= 40);
    const node = json(await get(daemon.api, '/api/v1/fleet/nodes/gpu-000'));
    assert.equal(node.state, 'critical');
    assert.equal(node.gpus[0].incident_ids.length, 1);
    assert.equal(node.incidents_total, 1);
  });

  // As a Collector with the k8sattributes and resourcedetection processors sends metrics, and the k8sobjects receiver Nodes.
  test('racks and zones are those of labels and resources', async () => {
    const util = { name: 'DCGM_FI_DEV_GPU_UTIL', points: [{ value: 5, attributes: { gpu: '0' } }] };
    const resources = [
      { 'k8s.node.name': 'gpu-000', 'k8s.node.label.topology.kubernetes.io/rack': 'r7', 'cloud.availability_zone': 'eu-1a', 'cloud.region': 'eu' },
      { 'k8s.node.name': 'gpu-001', 'k8s.node.labels.oci.oraclecloud.com/host.rack_id': '116<b>', 'cloud.region': 'eu' },
      { 'k8s.node.name': 'gpu-002', 'topology.k8s.aws/network-node-layer-3': 'nn-1' },
    ];
    for (const resource of resources) assert.equal((await post(daemon.http, 'metrics', metrics(resource, [util]))).status, 200);
    const object = { kind: 'Node', apiVersion: 'v1',
      metadata: { name: 'cpu-1', labels: { 'topology.kubernetes.io/zone': 'eu-1b', 'node.coreweave.cloud/rack': '42' } },
      status: { nodeInfo: {}, conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: new Date().toISOString() }] } };
    assert.equal((await post(daemon.http, 'logs', logs({ 'k8s.object.kind': 'Node' }, [{ body: { object, type: 'MODIFIED' } }]))).status, 200);
    const place = async () => {
      const { nodes } = json(await get(daemon.api, '/api/v1/fleet'));
      return Object.fromEntries(nodes.name.map((name, i) => [name, [nodes.rack[i], nodes.zone[i]]]));
    };
    await until('places', async () => { const now = await place(); return now['cpu-1']?.[0] && now['gpu-001'][0]; });
    const places = await place();
    assert.deepEqual([places['gpu-000'], places['gpu-001'], places['gpu-002'], places['cpu-1']],
      [['r7', 'eu-1a'], ['116<b>', 'eu'], [null, null], ['42', 'eu-1b']]);
    const node = json(await get(daemon.api, '/api/v1/fleet/nodes/gpu-000'));
    assert.deepEqual([node.rack, node.zone], ['r7', 'eu-1a']);
    const health = json(await get(daemon.api, '/api/v1/fleet/health'));
    for (const one of health.worst_nodes) assert.deepEqual([one.rack, one.zone], places[one.node]);
  });
});

describe('tokens', () => {
  test('each scope opens what is its own, on every path and method', async () => {
    const scopes = ['ingest', 'read', 'admin'];
    const guarded = await start('tokens', { auth: { tokens: scopes.map((scope) => ({ name: scope, sha256: sha(scope), scopes: [scope] })) } });
    const openapi = json(await get(guarded.api, '/api/v1/openapi.json'));
    for (const [where, methods] of Object.entries(openapi.paths)) {
      const filled = where.replace(/\{\w+\}/gu, 'x');
      for (const [method, operation] of Object.entries(methods)) {
        if (!['get', 'post'].includes(method) || where === '/api/v1/events') continue;
        const ask = (token) => call(guarded.api, method.toUpperCase(), filled, {
          headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) }, body: method === 'post' ? '{}' : undefined });
        isProblem(await ask(), 401, /bearer token/u);
        const answers = Object.fromEntries(await Promise.all(scopes.map(async (scope) => [scope, (await ask(scope)).status])));
        const mine = answers.read === 403 ? 'admin' : 'read';
        for (const scope of scopes) assert.equal(answers[scope] === 403, scope !== mine, `${method} ${where} with ${scope}: ${answers[scope]}`);
        assert.equal(mine === 'admin', operation.operationId === 'publish', operation.operationId);
      }
    }
    isProblem(await get(guarded.api, '/api/v1/events', { headers: { authorization: 'Bearer ingest' } }), 403);
    assert.equal((await get(guarded.api, '/')).status, 200, 'the page itself needs none');
    assert.equal((await get(guarded.api, '/api/v1/incidents', { headers: { authorization: 'Bearer wrong' } })).status, 401);
  });
});

describe('the stream', () => {
  test('events come as they are told, with filters', async () => {
    const all = new Events(daemon.api, '/api/v1/events');
    const some = new Events(daemon.api, '/api/v1/events?node=stream-b');
    const answer = await all.answered;
    assert.equal(answer.statusCode, 200);
    assert.equal(answer.headers['content-type'], 'text/event-stream');
    await some.answered;
    await post(daemon.http, 'logs', xid('stream-a'));
    await post(daemon.http, 'logs', xid('stream-b'));
    await until('both', () => all.events.length >= 2);
    await until('the one', () => some.events.length >= 1);
    assert.deepEqual(all.events.slice(0, 2).map((one) => one.event), ['opened', 'opened']);
    assert.equal(some.events[0].data['k8s.node.name'], 'stream-b');
    assert.equal(some.events.length, 1);
    assert.deepEqual(all.events.map((one) => one.id), all.events.map((_, i) => all.events[0].id + i), 'numbered without gaps');
    isProblem(await get(daemon.api, '/api/v1/events?nope=1'), 400, /nope/u);
    isProblem(await get(daemon.api, '/api/v1/events', { headers: { 'last-event-id': 'x' } }), 400, /Last-Event-ID/u);
    isProblem(await call(daemon.api, 'POST', '/api/v1/events', { headers: { 'content-type': 'application/json' } }), 405);
    all.close();
    some.close();
  });

  test('a reader goes on where it was, over a restart too', async () => {
    const own = await start('resume', {});
    const first = new Events(own.api, '/api/v1/events');
    await first.answered;
    await tell(3, own, 'one');
    await until('three events', () => first.events.length === 3);
    first.close();
    await tell(2, own, 'two');
    await until('five verdicts', async () => (await listed('', own)).incidents.length === 5);
    await own.stop();
    await own.start();
    await tell(2, own, 'three');
    const second = new Events(own.api, '/api/v1/events', { 'last-event-id': first.lastId });
    await until('what was missed', () => second.events.length >= 4);
    await sleep(200);
    // What is told at once is in no order of ours.
    const nodes = second.events.map((one) => one.data['k8s.node.name']);
    assert.deepEqual([nodes.slice(0, 2).sort(), nodes.slice(2).sort()], [['two-000', 'two-001'], ['three-000', 'three-001']]);
    assert.deepEqual(second.events.map((one) => one.id), [4, 5, 6, 7]);
    // With a filter, and from the beginning.
    const filtered = new Events(own.api, '/api/v1/events?node=two-001', { 'last-event-id': '0' });
    await until('the one', () => filtered.events.length >= 1);
    assert.equal(filtered.events[0].id, 4 + nodes.indexOf('two-001'));
    // An id that the log never had.
    const lost = new Events(own.api, '/api/v1/events', { 'last-event-id': '4000' });
    await until('a reset', () => lost.events.length >= 1);
    assert.equal(lost.events[0].event, 'reset');
    assert.equal(lost.lastId, '7');
    for (const one of [second, filtered, lost]) one.close();
    await until('all are gone', async () => (await own.metrics()).sum('tracecore_api_streams') === 0);
    await own.stop();
  });

  test('the end of the daemon ends the streams at once', async () => {
    const own = await start('ending', {});
    const reader = new Events(own.api, '/api/v1/events');
    await reader.answered;
    await own.stop();
    assert.equal(own.exit.code, 0);
    await reader.ended;
  });

  test('a thousand readers that do not read slow nobody', async () => {
    const own = await start('slow', { api: { streams: 16 }, limits: { api_connections: 64 } });
    const [host, port] = own.api.split(':');
    const sockets = [];
    for (let i = 0; i < 1000; i += 1) {
      const socket = net.connect(Number(port), host);
      socket.on('error', () => {});
      socket.pause(); // never read
      socket.write('GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n');
      sockets.push(socket);
      if (i % 50 === 49) await sleep(5);
    }
    await until('some are refused', async () => (await own.metrics()).sum('tracecore_api_streams_refused_total') > 0);
    const times = [];
    for (let i = 0; i < 50; i += 1) {
      await post(own.http, 'logs', xid(`slow-${i}`, `NVRM: Xid (PCI:0000:43:00): 48, pid=${i}, name=${'x'.repeat(4000)}, DBE (double bit error)`));
      const began = performance.now();
      assert.equal((await get(own.api, '/api/v1/incidents?limit=10')).status, 200);
      times.push(performance.now() - began);
    }
    const metrics = await own.metrics();
    assert.ok(metrics.sum('tracecore_api_streams') <= 16);
    await until('all of them', async () => (await listed('?limit=1000', own)).incidents.length === 50);
    for (const socket of sockets) socket.destroy();
    await until('they are gone', async () => (await own.metrics()).sum('tracecore_api_streams') === 0);
    await own.stop();
  });
});

describe('questions to the warehouse', () => {
  test('one that is switched off says so', async () => {
    const none = await start('none', { warehouse: { enabled: false } });
    isProblem(await get(none.api, '/api/v1/runs'), 409, /warehouse/u);
    assert.equal((await get(none.api, '/api/v1/incidents')).status, 200);
    await none.stop();
  });

  test('bodies that are no JSON, too long or of a form are refused', async () => {
    const openapi = json(await get(daemon.api, '/api/v1/openapi.json'));
    const where = Object.entries(openapi.paths).find(([, methods]) => methods.post)[0];
    const send = (body, type = 'application/json') => call(daemon.api, 'POST', where, { body, headers: { 'content-type': type } });
    isProblem(await send('{'), 400);
    isProblem(await send('[]'), 400);
    isProblem(await send('{"no_such":1}'), 400, /no_such/u);
    isProblem(await send('a=b', 'application/x-www-form-urlencoded'), 415);
    assert.equal((await send(Buffer.alloc(3 << 20, 0x20))).status, 413);
    const foreign = await call(daemon.api, 'POST', where, { body: '{}', headers: { 'content-type': 'application/json', origin: 'https://evil.example' } });
    isProblem(foreign, 403, /another origin/u);
  });

  test('many who ask the same at once get the same, whoever of them goes away', async () => {
    const few = await start('few', { api: { workers: 1, queue: 2 } });
    const ask = (where) => get(few.api, where);
    const first = await ask('/api/v1/runs');
    const [host, port] = few.api.split(':');
    const leaving = Array.from({ length: 20 }, () => {
      const socket = net.connect(Number(port), host);
      socket.on('error', () => {});
      socket.write('GET /api/v1/runs HTTP/1.1\r\nHost: localhost\r\n\r\n');
      return socket;
    });
    const all = Promise.all(Array.from({ length: 80 }, () => ask('/api/v1/runs')));
    for (const socket of leaving) socket.destroy();
    for (const answer of await all) {
      assert.equal(answer.status, 200, 'one that waits is answered with the others, so the queue is never full');
      assert.deepEqual(answer.body, first.body);
      assert.equal(answer.headers.etag, first.headers.etag);
    }
    // Different ones take a place each.
    const others = await Promise.all(Array.from({ length: 60 }, (_, i) => ask(`/api/v1/runs?limit=${i + 1}`)));
    const busy = others.filter((one) => one.status === 503);
    for (const one of busy) { isProblem(one, 503, /api\.queue/u); assert.equal(one.headers['retry-after'], '1'); }
    assert.ok(others.every((one) => [200, 503].includes(one.status)));
    await few.stop();
  });

  test('whoever goes away cancels what was asked', async () => {
    const slow = 'SELECT count(*) AS n FROM range(100000000) a, range(100000000) b';
    const openapi = json(await get(daemon.api, '/api/v1/openapi.json'));
    if (!openapi.paths['/api/v1/sql']) return;
    const [host, port] = daemon.api.split(':');
    const body = JSON.stringify({ sql: slow });
    const before = performance.now();
    for (let i = 0; i < 4; i += 1) {
      const socket = net.connect(Number(port), host);
      socket.on('error', () => {});
      socket.write(`POST /api/v1/sql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      await sleep(100);
      socket.destroy();
    }
    const answer = await call(daemon.api, 'POST', '/api/v1/sql', { body: '{"sql":"SELECT 1 AS one"}', headers: { 'content-type': 'application/json' }, timeoutMs: 30000 });
    assert.equal(answer.status, 200, answer.body.toString());
    assert.ok(performance.now() - before < 30000, 'the workers were free again long before the limit of a minute');
  });
});

describe('MCP over HTTP', () => {
  const send = (message, headers = {}) => call(daemon.api, 'POST', '/mcp', { body: JSON.stringify(message), headers: {
    'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25', ...headers } });
  const rpc = async (method, params) => json(await send({ jsonrpc: '2.0', id: 1, method, params })).result;

  test('tools of now and of the warehouse are answered', async () => {
    const { tools } = await rpc('tools/list', {});
    for (const name of ['list_incidents', 'explain_incident', 'fleet_health', 'list_runs', 'query_warehouse']) {
      assert.ok(tools.some((tool) => tool.name === name), name);
    }
    const incidents = await rpc('tools/call', { name: 'list_incidents', arguments: { limit: 2 } });
    assert.ok(incidents.structuredContent.incidents.length > 0);
    const runs = await rpc('tools/call', { name: 'list_runs', arguments: {} });
    assert.deepEqual(runs.structuredContent.runs, []);
    assert.equal((await send({ jsonrpc: '2.0', method: 'notifications/initialized' })).status, 202);
  });

  test('other methods, types and origins are refused', async () => {
    isProblem(await get(daemon.api, '/mcp'), 405);
    isProblem(await send({}, { 'content-type': 'text/plain' }), 415);
    isProblem(await send({}, { origin: 'https://evil.example' }), 403);
    assert.equal((await call(daemon.api, 'POST', '/mcp', { body: Buffer.alloc(2 << 20, 0x20), headers: { 'content-type': 'application/json' } })).status, 413);
    assert.equal((await call(daemon.api, 'POST', '/mcp', { body: '{', headers: { 'content-type': 'application/json' } })).status, 400);
  });
});

describe('evidence', () => {
  test('bytes, whole and in ranges', async () => {
    const [{ incident_id: id }] = (await listed('?limit=1')).incidents;
    const { raw } = json(await get(daemon.api, `/api/v1/incidents/${id}`)).timeline[0];
    const where = `/api/v1/evidence/${raw.digest}`;
    const whole = await get(daemon.api, where);
    assert.equal(whole.status, 200, whole.body.toString());
    assert.equal(sha(whole.body), raw.digest.slice(7));
    const total = whole.body.length;
    const part = async (range) => get(daemon.api, where, { headers: { range } });
    const cited = await part(`bytes=${raw.offset}-${raw.offset + raw.length - 1}`);
    assert.equal(cited.status, 206);
    assert.equal(cited.headers['content-range'], `bytes ${raw.offset}-${raw.offset + raw.length - 1}/${total}`);
    assert.ok(cited.body.equals(whole.body.subarray(raw.offset, raw.offset + raw.length)));
    assert.match(cited.body.toString(), /Xid/u);
    assert.ok((await part('bytes=-5')).body.equals(whole.body.subarray(total - 5)));
    assert.ok((await part(`bytes=3-${total * 2}`)).body.equals(whole.body.subarray(3)), 'over the end');
    assert.equal((await part('bytes=0-1,3-4')).status, 200, 'several ranges: the whole');
    isProblem(await part(`bytes=${total}-`), 416, /behind the end/u);
    const view = json(await get(daemon.api, `${where}/view?at=${raw.offset},${raw.length}`));
    assert.equal(typeof view, 'object');
    for (const digest of ['..%2f..%2fetc%2fpasswd', 'sha256:..%2f', `sha256:${'0'.repeat(64)}`, 'sha256:zz', '%2e%2e']) {
      assert.ok([400, 404].includes((await get(daemon.api, `/api/v1/evidence/${digest}`)).status), digest);
    }
  });
});

describe('the dashboard', () => {
  test('its files, with a strict policy', async () => {
    const page = await get(daemon.api, '/');
    assert.equal(page.status, 200);
    assert.match(page.headers['content-type'], /^text\/html/u);
    const policy = page.headers['content-security-policy'];
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"]) assert.ok(policy.includes(part), part);
    assert.doesNotMatch(policy, /unsafe|https?:|\*/u);
    assert.equal(page.headers['x-content-type-options'], 'nosniff');
    assert.equal(page.headers['referrer-policy'], 'no-referrer');
    assert.match(page.body.toString(), /<!doctype html>/iu);
    const again = await get(daemon.api, '/', { headers: { 'if-none-match': page.headers.etag } });
    assert.equal(again.status, 304);
    const small = await get(daemon.api, '/', { headers: { 'accept-encoding': 'gzip' } });
    const plain = small.headers['content-encoding'] === 'gzip' ? zlib.gunzipSync(small.body) : small.body;
    assert.ok(plain.equals(page.body));
    assert.equal((await call(daemon.api, 'POST', '/', { headers: { 'content-type': 'application/json' } })).status, 404);
  });

  test('addresses within it are the page, for browsers only; files that are not there are not', async () => {
    const html = { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };
    for (const where of ['/incidents/abc', '/fleet', '/runs/r1?metric=x']) {
      assert.equal((await get(daemon.api, where, html)).status, 200, where);
      assert.equal((await get(daemon.api, where)).status, 404, where);
    }
    for (const where of ['/assets/nope.js', '/api/nope', '/v1/logs', '/../etc/passwd', '/a/..%2f..%2fx', '//evil.example', '/mcpx/..']) {
      assert.ok([404, 405].includes((await get(daemon.api, where, html)).status), where);
    }
  });
});
