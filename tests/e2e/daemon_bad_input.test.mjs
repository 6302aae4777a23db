// SPDX-License-Identifier: Apache-2.0
// Bad input: every body that is not what it should be gets the answer that the specification has for
// it, leaves a counter and nothing else, and costs no memory to speak of. Afterwards the daemon
// serves as before.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import zlib from 'node:zlib';
import * as bad from './support/bad.mjs';
import { Daemon, growth, workspace } from './support/daemon.mjs';
import { fields, join, logRecord, logs, logsJson, metrics, traces, xid48, zstdBomb, zstdRaw, len } from './support/otlp.mjs';
import { Grpc, JSON_TYPE, PROTOBUF, call, exchange, frame, post } from './support/wire.mjs';

const GRPC = { OK: 0, INVALID_ARGUMENT: 3, RESOURCE_EXHAUSTED: 8, UNIMPLEMENTED: 12, INTERNAL: 13 };
const MEBI = 1024; // KiB
const space = workspace('bad_input');
const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
let daemon;
let grpc;
before(async () => {
  daemon = await new Daemon(space.file('daemon'), { log: { level: 'debug' } }).start();
  grpc = new Grpc(daemon.grpc);
});
after(async () => {
  agent.destroy();
  await grpc?.close();
  await daemon?.destroy();
  space.remove();
});

const count = async (name, labels) => (await daemon.metrics()).sum(name, labels);
const stored = async () => count('tracecore_evidence_batches_total');

/** The text of an OTLP error answer: a google.rpc.Status in the form of the request. */
function reason(answer, type) {
  assert.match(answer.headers['content-type'] ?? '', new RegExp(`^${type}`), 'the error comes in the form of the request');
  if (type === JSON_TYPE) return JSON.parse(answer.body.toString('utf8')).message;
  return fields(answer.body)[2]?.[0]?.toString('utf8');
}

/** Over HTTP: 400 with a reason, nothing stored. */
async function refused(signal, body, type = PROTOBUF) {
  const answer = await post(daemon.http, signal, body, { 'content-type': type }, { agent });
  assert.equal(answer.status, 400);
  assert.ok(reason(answer, type)?.length > 0, 'the answer says why');
}
/** Over gRPC: INVALID_ARGUMENT with a reason. */
async function refusedGrpc(signal, body) {
  const answer = await grpc.export(signal, body);
  assert.equal(answer.grpc, GRPC.INVALID_ARGUMENT, answer.text);
  assert.equal(answer.status, 200, 'gRPC errors come in the trailers');
  assert.ok(answer.text.length > 0, 'the answer says why');
}

/** Counts that a group of tests must have raised, and the store must not have grown meanwhile. */
async function bracket(reasons, work) {
  const sumOf = async () => {
    const now = await daemon.metrics();
    return now.rows.filter((row) => row.name === 'tracecore_requests_rejected_total' && reasons.includes(row.labels.reason)).reduce((n, row) => n + row.value, 0);
  };
  const [rejected, kept] = [await sumOf(), await stored()];
  const requests = await work();
  assert.equal(await sumOf() - rejected, requests, `rejected as ${reasons.join(' or ')}`);
  assert.equal(await stored(), kept, 'nothing of it was stored');
}

describe('nesting of 10,000 levels and more', () => {
  for (const [name, body] of Object.entries(bad.deepProtobuf)) {
    test(`protobuf: ${name}`, async () => {
      await bracket(['malformed', 'too_deep'], async () => {
        await refused('logs', body);
        await refusedGrpc('logs', body);
        return 2;
      });
    });
  }
  for (const [name, body] of Object.entries(bad.deepJsonBodies)) {
    test(`JSON: ${name}`, () => bracket(['malformed', 'too_deep'], async () => { await refused('logs', body, JSON_TYPE); return 1; }));
  }
  test('fifteen levels are taken', async () => {
    let value = 'x';
    for (let i = 0; i < 15; i++) value = [value];
    assert.equal((await post(daemon.http, 'logs', logs({}, [{ body: value }]))).status, 200);
    assert.equal((await post(daemon.http, 'logs', logsJson({}, [{ body: value }]), { 'content-type': JSON_TYPE })).status, 200);
  });
});

describe('malformed', () => {
  for (const [signal, table] of [['logs', bad.malformedLogs], ['traces', bad.malformedTraces], ['metrics', bad.malformedMetrics]]) {
    for (const [name, body] of Object.entries(table)) {
      test(`${signal}: ${name}`, () => bracket(['malformed'], async () => {
        await refused(signal, body);
        await refusedGrpc(signal, body);
        return 2;
      }));
    }
  }
  for (const [name, body] of Object.entries(bad.malformedJson)) {
    test(`JSON: ${name}`, () => bracket(['malformed'], async () => { await refused('logs', body, JSON_TYPE); return 1; }));
  }
  test('JSON of the other signals', () => bracket(['malformed'], async () => {
    await refused('metrics', '{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"gauge":{"dataPoints":[{"asDouble":"x"}]}}]}]}]}', JSON_TYPE);
    await refused('metrics', '{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"gauge":{"dataPoints":[{"asInt":"9223372036854775808"}]}}]}]}]}', JSON_TYPE);
    await refused('traces', '{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"aabbcc"}]}]}]}', JSON_TYPE);
    await refused('traces', '{"resourceSpans":[{"scopeSpans":[{"spans":{}}]}]}', JSON_TYPE);
    return 4;
  }));
});

describe('cut off', () => {
  const point = { name: 'm', points: [{ value: 1.5, attributes: { a: 'b' } }] };
  const whole = {
    logs: logs({ 'host.name': 'h' }, [{ body: 'x', attributes: { a: ['b', 1] }, traceId: Buffer.alloc(16, 1) }]),
    metrics: metrics({ 'host.name': 'h' }, [point]),
    traces: traces({ 'host.name': 'h' }, [{ name: 'x' }]),
  };
  for (const [signal, body] of Object.entries(whole)) {
    test(`${signal} at every offset`, async () => {
      assert.equal((await post(daemon.http, signal, body, {}, { agent })).status, 200);
      await bracket(['malformed'], async () => {
        for (let at = 1; at < body.length; at++) {
          const answer = await post(daemon.http, signal, body.subarray(0, at), {}, { agent });
          assert.equal(answer.status, 400, `at ${at} of ${body.length}`);
        }
        return body.length - 1;
      });
    });
  }
  test('over gRPC at every offset', async () => {
    for (let at = 1; at < whole.logs.length; at++) {
      assert.equal((await grpc.export('logs', whole.logs.subarray(0, at))).grpc, GRPC.INVALID_ARGUMENT, `at ${at}`);
    }
  });
  test('JSON at every offset', async () => {
    const text = logsJson({ 'host.name': 'h' }, [{ body: 'x', attributes: { a: 1.5 } }]);
    for (let at = 1; at < text.length; at++) {
      const answer = await post(daemon.http, 'logs', text.slice(0, at), { 'content-type': JSON_TYPE }, { agent });
      assert.equal(answer.status, 400, `at ${at}: ${text.slice(0, at)}`);
    }
  });
  test('compressed at every offset', async () => {
    for (const [encoding, packed] of [['gzip', zlib.gzipSync(whole.logs)], ['zstd', zstdRaw(whole.logs)]]) {
      assert.equal((await post(daemon.http, 'logs', packed, { 'content-encoding': encoding }, { agent })).status, 200, encoding);
      for (let at = 1; at < packed.length; at++) {
        const answer = await post(daemon.http, 'logs', packed.subarray(0, at), { 'content-encoding': encoding }, { agent });
        assert.equal(answer.status, 400, `${encoding} at ${at} of ${packed.length}`);
      }
    }
  });
  test('a sender that goes away in the middle', async () => {
    const kept = await stored();
    const head = `POST /v1/logs HTTP/1.1\r\nhost: x\r\ncontent-type: ${PROTOBUF}\r\ncontent-length: ${whole.logs.length}\r\n\r\n`;
    for (const part of [head.slice(0, 20), head, Buffer.concat([Buffer.from(head), whole.logs.subarray(0, 20)])]) {
      const { status } = await exchange(daemon.http, part);
      assert.ok(Number.isNaN(status) || status === 400, `answered ${status}`);
    }
    assert.equal(await stored(), kept, 'nothing of it was stored');
  });
});

describe('compressed wrongly', () => {
  const body = logs({}, [{ body: 'x' }]);
  const damaged = zlib.gzipSync(body);
  damaged[damaged.length - 6] ^= 0xff;
  const rows = {
    'gzip that is none': ['gzip', Buffer.from('not compressed at all')],
    'zstd that is none': ['zstd', Buffer.from('not compressed at all')],
    'gzip with a wrong checksum': ['gzip', damaged],
    'zstd that is gzip': ['zstd', zlib.gzipSync(body)],
    'what comes out is no request': ['gzip', zlib.gzipSync('Once upon a time')],
  };
  for (const [name, [encoding, bytes]] of Object.entries(rows)) {
    test(name, async () => {
      const answer = await post(daemon.http, 'logs', bytes, { 'content-encoding': encoding });
      assert.equal(answer.status, 400);
      assert.equal((await grpc.export('logs', bytes, { 'grpc-encoding': encoding }, { compressed: 1 })).grpc, GRPC.INVALID_ARGUMENT);
    });
  }
});

describe('bombs', () => {
  const GIBI = 1 << 30;
  const bombs = {
    'gzip, 1 GiB of zeros in 1 MiB': ['gzip', bad.gzipBomb(1024)],
    'zstd, 1 GiB of zeros in 40 KiB': ['zstd', zstdBomb(GIBI)],
    'zstd that says how large it is': ['zstd', zstdBomb(GIBI, { claim: true })],
  };
  for (const [name, [encoding, bytes]] of Object.entries(bombs)) {
    test(name, async () => {
      const grown = await growth(daemon, async () => {
        await bracket(['too_large_decompressed', 'too_large'], async () => {
          for (const type of [PROTOBUF, JSON_TYPE]) {
            const answer = await post(daemon.http, 'logs', bytes, { 'content-type': type, 'content-encoding': encoding });
            assert.equal(answer.status, 413);
          }
          assert.equal((await grpc.export('logs', bytes, { 'grpc-encoding': encoding }, { compressed: 1 })).grpc, GRPC.RESOURCE_EXHAUSTED);
          return 3;
        });
      });
      assert.ok(grown < 64 * MEBI, `memory rose by ${grown} KiB`);
    });
  }
  test('forty at once', async () => {
    const grown = await growth(daemon, async () => {
      const [encoding, bytes] = bombs['zstd, 1 GiB of zeros in 40 KiB'];
      const answers = await Promise.all(Array.from({ length: 40 }, () =>
        post(daemon.http, 'logs', bytes, { 'content-encoding': encoding })));
      for (const { status } of answers) assert.ok(status === 413 || status === 503, `answered ${status}`);
    });
    assert.ok(grown < 64 * MEBI, `memory rose by ${grown} KiB`);
  });
  test('a body larger than the limit, not compressed', async () => {
    const answer = await exchange(daemon.http, Buffer.concat([
      Buffer.from(`POST /v1/logs HTTP/1.1\r\nhost: x\r\ncontent-type: ${PROTOBUF}\r\ncontent-length: ${GIBI}\r\n\r\n`), Buffer.alloc(1000)]), { end: false });
    assert.equal(answer.status, 413, 'answered before the body came');
    const message = Buffer.alloc(9 << 20);
    assert.equal((await grpc.export('logs', message)).grpc, GRPC.RESOURCE_EXHAUSTED);
  });
  test('chunks larger than the limit', async () => {
    const chunk = Buffer.alloc(1 << 20);
    const grown = await growth(daemon, async () => {
      const answer = await call(daemon.http, 'POST', '/v1/logs', {
        headers: { 'content-type': PROTOBUF, 'transfer-encoding': 'chunked' }, body: Buffer.concat(Array.from({ length: 12 }, () => chunk)),
      }).catch((error) => ({ status: 413, cut: error.code }));
      assert.equal(answer.status, 413);
    });
    assert.ok(grown < 64 * MEBI, `memory rose by ${grown} KiB`);
  });
});

describe('odd but right', () => {
  const received = () => count('tracecore_records_received_total', { signal: 'logs' });
  for (const [name, [body, records]] of Object.entries(bad.fineProtobuf)) {
    test(`protobuf: ${name}`, async () => {
      const before = await received();
      const answer = await post(daemon.http, 'logs', body);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers['content-type'], PROTOBUF);
      assert.deepEqual(fields(answer.body), {}, 'no partial success is told when there is none');
      const other = await grpc.export('logs', body);
      assert.equal(other.grpc, GRPC.OK, other.text);
      assert.equal(other.message?.length, 0);
      assert.equal(await received() - before, 2 * records);
    });
  }
  for (const [name, [body, records]] of Object.entries(bad.fineJson)) {
    test(`JSON: ${name}`, async () => {
      const before = await received();
      const answer = await post(daemon.http, 'logs', body, { 'content-type': JSON_TYPE });
      assert.equal(answer.status, 200, answer.body.toString('utf8'));
      assert.equal(answer.headers['content-type'], JSON_TYPE);
      assert.deepEqual(JSON.parse(answer.body.toString('utf8')), {});
      assert.equal(await received() - before, records);
    });
  }
  test('an empty body of each signal, in each form', async () => {
    for (const signal of ['logs', 'metrics', 'traces']) {
      assert.equal((await post(daemon.http, signal, '')).status, 200);
      assert.equal((await post(daemon.http, signal, '', { 'content-type': JSON_TYPE })).status, 200);
      assert.equal((await grpc.export(signal, Buffer.alloc(0))).grpc, GRPC.OK);
    }
  });
});

describe('records over a limit', () => {
  const many = Object.fromEntries(Array.from({ length: 1025 }, (_, i) => [`k${i}`, i]));
  const rows = {
    'attributes': { body: 'x', attributes: many },
    'the length of a key': { body: 'x', attributes: { ['k'.repeat(1025)]: 1 } },
    'the length of a value': { body: 'x'.repeat((1 << 20) + 1) },
  };
  for (const [name, record] of Object.entries(rows)) {
    test(`${name}: the rest is taken and the sender is told`, async () => {
      const before = await count('tracecore_records_rejected_total', { signal: 'logs' });
      const body = logs({}, [{ body: 'first' }, record, { body: 'last' }]);
      const answer = await post(daemon.http, 'logs', body);
      assert.equal(answer.status, 200);
      const partial = fields(fields(answer.body)[1][0]);
      assert.equal(partial[1][0], 1n, 'one record was rejected');
      assert.ok(partial[2][0].length > 0, 'and why');
      const json = await post(daemon.http, 'logs', logsJson({}, [{ body: 'first' }, record]), { 'content-type': JSON_TYPE });
      const { partialSuccess } = JSON.parse(json.body.toString('utf8'));
      assert.equal(String(partialSuccess.rejectedLogRecords), '1');
      assert.ok(partialSuccess.errorMessage.length > 0);
      const other = await grpc.export('logs', body);
      assert.equal(other.grpc, GRPC.OK);
      assert.equal(fields(fields(other.message)[1][0])[1][0], 1n);
      assert.equal(await count('tracecore_records_rejected_total', { signal: 'logs' }) - before, 3);
    });
  }
});

describe('types, encodings, methods and paths', () => {
  const body = logs({}, [{ body: 'x' }]);
  test('an unknown content type is answered 415', () => bracket(['unsupported_type'], async () => {
    const types = ['text/plain', 'application/octet-stream', 'application/x-protobuf2', 'json', 'multipart/form-data', ''];
    for (const type of types) {
      assert.equal((await post(daemon.http, 'logs', body, { 'content-type': type })).status, 415, type);
    }
    return types.length;
  }));
  test('no content type is answered 415', async () => {
    const { status } = await exchange(daemon.http, Buffer.concat([
      Buffer.from(`POST /v1/logs HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n`), body]));
    assert.equal(status, 415);
  });
  test('a content type with parameters, in any case, is taken', async () => {
    const text = logsJson({}, [{ body: 'x' }]);
    for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset=UTF-8']) {
      assert.equal((await post(daemon.http, 'logs', text, { 'content-type': type })).status, 200, type);
    }
  });
  test('an unknown encoding is answered 415', async () => {
    for (const encoding of ['br', 'compress', 'snappy', 'gzip, gzip', 'x']) {
      assert.equal((await post(daemon.http, 'logs', body, { 'content-encoding': encoding })).status, 415, encoding);
    }
    assert.equal((await post(daemon.http, 'logs', body, { 'content-encoding': 'identity' })).status, 200);
    const answer = await grpc.export('logs', body, { 'grpc-encoding': 'snappy' }, { compressed: 1 });
    assert.equal(answer.grpc, GRPC.UNIMPLEMENTED);
    assert.match(String({ ...answer.headers, ...answer.trailers }['grpc-accept-encoding']), /gzip/, 'it says what it does take');
  });
  test('a wrong method is answered 405, with the right one', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS']) {
      const answer = await call(daemon.http, method, '/v1/logs');
      assert.equal(answer.status, 405, method);
      assert.match(answer.headers.allow ?? '', /POST/);
    }
    const answer = await call(daemon.api, 'POST', '/metrics', { body: 'x' });
    assert.equal(answer.status, 405);
    assert.match(answer.headers.allow ?? '', /GET/);
    assert.equal((await call(daemon.api, 'GET', '/api/v1/upload?name=x')).status, 405);
    const { status } = await exchange(daemon.http, 'BREW /v1/logs HTTP/1.1\r\nhost: x\r\n\r\n', { end: true });
    assert.ok([400, 405, 501].includes(status), `answered ${status}`);
  });
  test('an unknown path is answered 404', async () => {
    for (const where of ['/', '/v1', '/v1/nope', '/v1/logs/', '/v1/logs/x', '//v1/logs', '/%2e%2e/v1/logs', '/v1/../v1/logs', '/v1/l%00ogs']) {
      const { status } = await call(daemon.http, 'POST', where, { body, headers: { 'content-type': PROTOBUF } });
      assert.ok(status === 404 || status === 400, `${where}: ${status}`);
    }
    assert.equal((await call(daemon.http, 'POST', '/v1/nope', { body })).status, 404);
    assert.equal((await grpc.raw('/opentelemetry.proto.collector.logs.v1.LogsService/Nope', frame(body))).grpc, GRPC.UNIMPLEMENTED);
    assert.equal((await grpc.raw('/nope', frame(body))).grpc, GRPC.UNIMPLEMENTED);
  });
  test('the gRPC port takes nothing but gRPC', async () => {
    const answer = await grpc.raw('/opentelemetry.proto.collector.logs.v1.LogsService/Export', frame(body), { 'content-type': 'application/json' });
    assert.equal(answer.status, 415);
  });
  test('what is no HTTP at all is answered or ended, not waited for', async () => {
    for (const text of ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 'hello\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n', 'POST /v1/logs HTTP/1.1\r\n: x\r\n\r\n',
      'POST /v1/logs HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n', 'POST /v1/logs HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999\r\n\r\n',
      'POST /v1/logs HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
      'POST /v1/logs HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      `POST /v1/logs HTTP/1.1\r\nhost: x\r\ncontent-type: ${PROTOBUF}\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n`,
      `POST /v1/logs HTTP/1.1\r\nhost: x\r\ncontent-type: ${PROTOBUF}\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n`]) {
      const { status } = await exchange(daemon.http, Buffer.from(text, 'latin1'));
      assert.ok(Number.isNaN(status) || (status >= 400 && status < 500) || status === 505, `${JSON.stringify(text)}: ${status}`);
    }
  });
  test('headers over the limit are answered 431', async () => {
    const large = await exchange(daemon.http, `GET / HTTP/1.1\r\nhost: x\r\nx: ${'a'.repeat(100000)}\r\n\r\n`, { end: false });
    assert.equal(large.status, 431);
    const many = await exchange(daemon.http, `GET / HTTP/1.1\r\nhost: x\r\n${'a: b\r\n'.repeat(2000)}\r\n`, { end: false });
    assert.equal(many.status, 431);
  });
});

describe('uploads that are none', () => {
  const upload = (query, body, headers = {}) => call(daemon.api, 'POST', `/api/v1/upload${query}`, { body, headers: { 'content-type': 'application/octet-stream', ...headers } });
  const rows = {
    'a format nobody knows': [415, '?name=x.bin', Buffer.from([0, 1, 2, 3, 4, 5, 6, 7]), {}],
    'an empty file': [400, '?name=dmesg-x.txt', Buffer.alloc(0), {}],
    'a compressed file': [415, '?name=dmesg-x.txt.gz', zlib.gzipSync('x'), { 'content-encoding': 'gzip' }],
    'a hint that is none': [400, '?name=dmesg-x.txt&nope=1', 'x', {}],
    'a time that is none': [400, '?name=dmesg-x.txt&boot_time=yesterday&format=kmsg', '[    1.000000] x\n', {}],
    'a format that is none': [400, '?name=dmesg-x.txt&format=nope', 'x', {}],
    'a parameter with a wrong escape': [400, '?name=%zz', 'x', {}],
  };
  for (const [name, [wanted, query, body, headers]] of Object.entries(rows)) {
    test(name, async () => {
      const kept = await stored();
      const answer = await upload(query, body, headers);
      assert.equal(answer.status, wanted, answer.body.toString());
      assert.ok(JSON.parse(answer.body.toString('utf8')).error.length > 0, 'it says why');
      assert.equal(await stored(), kept);
      assert.deepEqual(fs.readdirSync(path.join(daemon.dataDir, 'spool')), [], 'nothing is left behind');
    });
  }
  test('a pickle that would call something is refused as data, and hurts nobody', async () => {
    const answer = await upload('?name=job/nccl_trace_rank_0', Buffer.from("\x80\x02cos\nsystem\nq\x00X\x04\x00\x00\x00exitq\x01\x85q\x02Rq\x03.", 'latin1'));
    assert.ok([200, 400, 415].includes(answer.status), `answered ${answer.status}`);
    assert.equal((await call(daemon.api, 'GET', '/healthz')).status, 200);
  });
});

describe('names from outside', () => {
  // The file of verdicts is made when the first is told, and the warehouse when it is first needed: at any time.
  const tree = () => fs.readdirSync(space.top, { recursive: true })
    .filter((name) => !/(^|\/)((evidence|outbox|spool)\/|verdicts\.ndjson$|warehouse\.)/.test(name)).sort();
  const line = '2026-03-04T05:06:41.429408+00:00 HOST kernel: ';
  const names = {
    'a way up': '../../../../escaped.txt',
    'an absolute path': '/tmp/tc_escaped.txt',
    'a NUL': 'dmesg-a\0b.txt',
    'newlines': 'dmesg-x.txt\nlevel=error msg=injected\r\nlevel=error msg=injected',
    'nothing': '',
    'a terminal\'s escape': 'dmesg-\x1b[2Jx.txt',
    'quotes': 'dmesg-"q" msg="injected".txt',
    'no UTF-8': Buffer.from([0xff, 0xfe, 0x2f, 0xc0]),
    'a very long one': `dmesg-${'x'.repeat(5000)}.txt`,
  };
  const escape = (name) => [...Buffer.from(name)].map((b) => `%${b.toString(16).padStart(2, '0')}`).join('');
  for (const [what, name] of Object.entries(names)) {
    test(`a file named with ${what}`, async () => {
      const before = tree();
      const body = `${line.replace('HOST', 'gpu-names')}${xid48('0000:44:00')}\n`;
      const answer = await call(daemon.api, 'POST', `/api/v1/upload?name=${escape(name)}`, { body, headers: { 'content-type': 'application/octet-stream' } });
      assert.ok([200, 202, 400, 414, 431].includes(answer.status), `answered ${answer.status}`);
      assert.deepEqual(tree(), before, 'no file but in the store');
      assert.ok(!fs.existsSync('/tmp/tc_escaped.txt'));
      assert.ok(!fs.existsSync(path.resolve(daemon.dataDir, '../../../../escaped.txt')));
    });
  }
  test('nodes, jobs and pods with such names', async () => {
    const hostile = '../../x\n\0level=error msg=injected\u001b[2J';
    const body = logs({ 'host.name': hostile, 'k8s.pod.name': hostile, 'job.id': hostile }, [{ body: xid48(), severity: 17 }]);
    assert.equal((await post(daemon.http, 'logs', body)).status, 200);
    assert.equal((await post(daemon.http, 'logs', logsJson({ 'host.name': `${hostile}2` }, [{ body: xid48(), severity: 17 }]), { 'content-type': JSON_TYPE })).status, 200);
    const told = await daemon.untilVerdicts('both verdicts', (all) => all.filter((v) => (v['k8s.node.name'] ?? '').includes('..')).length >= 2);
    assert.ok(told.some((v) => v['k8s.node.name'] === hostile), 'the name is told as it is, escaped by JSON');
  });
  test('every line of the log is one line of the daemon', () => {
    const log = daemon.log();
    for (const row of log.split('\n').filter(Boolean)) {
      assert.match(row, /^(time|ts)=\S+ level=\w+ msg=/, row);
      assert.ok(!/[\0-\x08\x0b-\x1f\x7f]/.test(row), JSON.stringify(row));
    }
    assert.ok(!/^level=error msg=injected/m.test(log));
  });
});

describe('text that is no UTF-8', () => {
  const wrong = Buffer.from([0x6e, 0x6f, 0xff, 0xfe, 0xc0, 0xaf, 0xed, 0xa0, 0x80, 0x64, 0x65]);
  test('is kept as it came and shown escaped', async () => {
    const record = join(logRecord({ severity: 17 }), len(5, len(1, Buffer.concat([Buffer.from(`${xid48('0000:45:00')} `), wrong]))));
    const body = len(1, join(len(1, len(1, join(len(1, 'host.name'), len(2, len(1, wrong))))), len(2, len(2, record))));
    const last = Math.max(0, ...daemon.batches().map((b) => b.number));
    assert.equal((await post(daemon.http, 'logs', body)).status, 200);
    const told = await daemon.untilVerdicts('the verdict', (all) => all.some((v) => v['pci.bdf'] === '0000:45:00.0'));
    const verdict = told.find((v) => v['pci.bdf'] === '0000:45:00.0');
    new TextDecoder('utf-8', { fatal: true }).decode(fs.readFileSync(daemon.verdictFile));
    assert.ok(verdict['k8s.node.name'].startsWith('no') && verdict['k8s.node.name'].endsWith('de'), verdict['k8s.node.name']);
    const [batch] = daemon.batches().filter((b) => b.number > last);
    assert.deepEqual(daemon.body(batch.number), body, 'the bytes are those that were sent');
    assert.ok(daemon.cite(verdict.evidence_trail[0].raw).includes(wrong));
  });
  test('in JSON too', async () => {
    const text = Buffer.from(logsJson({ 'host.name': 'gpu-json-utf8' }, [{ body: 'WRONG' }]));
    const at = text.indexOf('WRONG');
    const body = Buffer.concat([text.subarray(0, at), wrong, text.subarray(at + 5)]);
    const last = Math.max(0, ...daemon.batches().map((b) => b.number));
    assert.equal((await post(daemon.http, 'logs', body, { 'content-type': JSON_TYPE })).status, 200);
    const [batch] = daemon.batches().filter((b) => b.number > last);
    assert.deepEqual(daemon.body(batch.number), body);
  });
});

test('after all of it the daemon still serves, and ends well', async () => {
  assert.equal((await call(daemon.api, 'GET', '/healthz')).status, 200);
  assert.equal((await call(daemon.api, 'GET', '/readyz')).status, 200);
  const body = logs({ 'host.name': 'gpu-after' }, [{ body: xid48(), severity: 17 }]);
  assert.equal((await post(daemon.http, 'logs', body)).status, 200);
  assert.equal((await grpc.export('logs', body)).grpc, GRPC.OK);
  await daemon.untilVerdicts('a verdict', (all) => all.some((v) => v['k8s.node.name'] === 'gpu-after'));
  daemon.assertWhole();
  await grpc.close();
  agent.destroy();
  await daemon.stop();
});
