// SPDX-License-Identifier: Apache-2.0
// An OTLP/HTTP receiver for tests: keeps what it is sent, decoded, and answers as it is told. The
// protobuf decoder is independent of the program's: written from opentelemetry-proto's numbers.
import http from 'node:http';
import https from 'node:https';
import zlib from 'node:zlib';

const messages = {
  LogsRequest: { 1: ['resourceLogs', 'ResourceLogs', true] },
  ResourceLogs: { 1: ['resource', 'Resource'], 2: ['scopeLogs', 'ScopeLogs', true] },
  ScopeLogs: { 1: ['scope', 'Scope'], 2: ['logRecords', 'LogRecord', true] },
  LogRecord: {
    1: ['timeUnixNano', 'fixed64'], 2: ['severityNumber', 'varint'], 3: ['severityText', 'string'],
    5: ['body', 'AnyValue'], 6: ['attributes', 'KeyValue', true],
    11: ['observedTimeUnixNano', 'fixed64'], 12: ['eventName', 'string'],
  },
  MetricsRequest: { 1: ['resourceMetrics', 'ResourceMetrics', true] },
  ResourceMetrics: { 1: ['resource', 'Resource'], 2: ['scopeMetrics', 'ScopeMetrics', true] },
  ScopeMetrics: { 1: ['scope', 'Scope'], 2: ['metrics', 'Metric', true] },
  Metric: { 1: ['name', 'string'], 5: ['gauge', 'Gauge'], 7: ['sum', 'Sum'] },
  Gauge: { 1: ['dataPoints', 'Point', true] },
  Sum: { 1: ['dataPoints', 'Point', true], 2: ['aggregationTemporality', 'varint'], 3: ['isMonotonic', 'bool'] },
  Point: { 3: ['timeUnixNano', 'fixed64'], 4: ['asDouble', 'double'], 7: ['attributes', 'KeyValue', true] },
  Resource: { 1: ['attributes', 'KeyValue', true] },
  Scope: { 1: ['name', 'string'], 2: ['version', 'string'] },
  KeyValue: { 1: ['key', 'string'], 2: ['value', 'AnyValue'] },
  AnyValue: {
    1: ['stringValue', 'string'], 2: ['boolValue', 'bool'], 3: ['intValue', 'int64'], 4: ['doubleValue', 'double'],
    5: ['arrayValue', 'ArrayValue'], 6: ['kvlistValue', 'KeyValueList'],
  },
  ArrayValue: { 1: ['values', 'AnyValue', true] },
  KeyValueList: { 1: ['values', 'KeyValue', true] },
};

function varint(bytes, at) {
  let value = 0n;
  for (let shift = 0n; ; shift += 7n) {
    const byte = bytes[at++];
    if (byte === undefined || shift > 63n) throw new Error('a varint without an end');
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return [BigInt.asUintN(64, value), at];
  }
}

// A message as OTLP's JSON has it.
export function decode(bytes, name) {
  const result = {};
  for (let at = 0; at < bytes.length;) {
    let tag;
    [tag, at] = varint(bytes, at);
    const field = messages[name][Number(tag >> 3n)];
    if (!field) throw new Error(`${name} has no field ${tag >> 3n}`);
    const [key, type, repeated] = field;
    const wire = Number(tag & 7n);
    let value;
    if (wire === 1) {
      const word = bytes.subarray(at, at + 8);
      value = type === 'double' ? word.readDoubleLE() : String(word.readBigUInt64LE());
      at += 8;
    } else if (wire === 0) {
      [value, at] = varint(bytes, at);
      value = type === 'bool' ? value === 1n : type === 'int64' ? String(BigInt.asIntN(64, value)) : Number(value);
    } else if (wire === 2) {
      let length;
      [length, at] = varint(bytes, at);
      const part = bytes.subarray(at, at + Number(length));
      if (part.length !== Number(length)) throw new Error(`${name}.${key} is longer than its message`);
      at += Number(length);
      value = type === 'string' ? part.toString() : decode(part, type);
    } else {
      throw new Error(`wire type ${wire} in ${name}`);
    }
    if (repeated) (result[key] ??= []).push(value);
    else result[key] = value;
  }
  return result;
}

const kinds = { '/v1/logs': 'LogsRequest', '/v1/metrics': 'MetricsRequest' };

// answer(request, number) returns undefined for 200, or {status, headers, body, destroy, delay}.
export async function startPeer(answer = () => undefined, tls = undefined) {
  const peer = { logs: [], metrics: [], uploads: new Map(), requests: [], taken: 0 };
  let number = 0;
  const handler = (request, response) => {
    const chunks = [];
    request.on('error', () => {});
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      let body = Buffer.concat(chunks);
      const told = answer(request, number++, body) ?? {};
      peer.requests.push({ url: request.url, headers: request.headers, bytes: body.length });
      if (told.destroy) {
        request.socket.destroy();
        return;
      }
      if ((told.status ?? 200) < 300) {
        keep(peer, request, body);
      }
      setTimeout(() => {
        response.writeHead(told.status ?? 200, { 'content-type': 'application/json', ...told.headers });
        response.end(told.body ?? (request.headers['content-type'] === 'application/json' ? '{}' : ''));
      }, told.delay ?? 0);
    });
  };
  const server = tls ? https.createServer(tls, handler) : http.createServer(handler);
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  peer.port = server.address().port;
  peer.url = `${tls ? 'https' : 'http'}://127.0.0.1:${peer.port}`;
  peer.stop = () => new Promise((resolve) => {
    server.closeAllConnections?.();
    server.close(resolve);
  });
  return peer;
}

function keep(peer, request, packed) {
  peer.taken++;
  const body = request.headers['content-encoding'] === 'gzip' ? zlib.gunzipSync(packed) : packed;
  const { pathname, searchParams } = new URL(request.url, 'http://peer');
  if (pathname === '/api/v1/upload') {
    peer.uploads.set(searchParams.get('name'), body);
    return;
  }
  const json = request.headers['content-type'] === 'application/json';
  const decoded = json ? JSON.parse(body) : decode(body, kinds[pathname]);
  (pathname === '/v1/logs' ? peer.logs : peer.metrics).push(decoded);
}

// The records of all requests, each with its resource.
export function logRecords(requests) {
  return requests.flatMap((request) => request.resourceLogs.flatMap((resource) => resource.scopeLogs.flatMap(
    (scope) => scope.logRecords.map((record) => ({ resource: resource.resource, record })))));
}

export function dataPoints(requests) {
  return requests.flatMap((request) => request.resourceMetrics.flatMap((resource) => resource.scopeMetrics.flatMap(
    (scope) => scope.metrics.flatMap((metric) => (metric.gauge ?? metric.sum).dataPoints
      .map((point) => ({ resource: resource.resource, name: metric.name, point }))))));
}
