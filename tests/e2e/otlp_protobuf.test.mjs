// SPDX-License-Identifier: Apache-2.0
// A request in protobuf says the same as in JSON: the logs of a simulated fleet and the worked
// examples of the documentation, written as protobuf by an encoder of this test, from
// opentelemetry-proto. Requests of one signal that follow each other are one request in protobuf.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

const binary = process.env.TC_BINARY;
const source = process.env.TC_SOURCE_DIR ?? process.cwd();

// [number, type]; a type in capitals is a message.
const PROTO = {
  Request: { resourceLogs: [1, 'ResourceLogs'], resourceMetrics: [1, 'ResourceMetrics'] },
  ResourceLogs: { resource: [1, 'Resource'], scopeLogs: [2, 'ScopeLogs'], schemaUrl: [3, 'string'] },
  ScopeLogs: { scope: [1, 'Scope'], logRecords: [2, 'LogRecord'], schemaUrl: [3, 'string'] },
  LogRecord: {
    timeUnixNano: [1, 'fixed64'], observedTimeUnixNano: [11, 'fixed64'], severityNumber: [2, 'varint'],
    severityText: [3, 'string'], body: [5, 'AnyValue'], attributes: [6, 'KeyValue'],
    droppedAttributesCount: [7, 'varint'], flags: [8, 'fixed32'], traceId: [9, 'hex'], spanId: [10, 'hex'],
    eventName: [12, 'string'],
  },
  Resource: { attributes: [1, 'KeyValue'], droppedAttributesCount: [2, 'varint'] },
  Scope: { name: [1, 'string'], version: [2, 'string'], attributes: [3, 'KeyValue'] },
  KeyValue: { key: [1, 'string'], value: [2, 'AnyValue'] },
  AnyValue: {
    stringValue: [1, 'string'], boolValue: [2, 'varint'], intValue: [3, 'varint'], doubleValue: [4, 'double'],
    arrayValue: [5, 'ArrayValue'], kvlistValue: [6, 'KeyValueList'],
  },
  ArrayValue: { values: [1, 'AnyValue'] },
  KeyValueList: { values: [1, 'KeyValue'] },
  ResourceMetrics: { resource: [1, 'Resource'], scopeMetrics: [2, 'ScopeMetrics'] },
  ScopeMetrics: { scope: [1, 'Scope'], metrics: [2, 'Metric'] },
  Metric: { name: [1, 'string'], description: [2, 'string'], unit: [3, 'string'], gauge: [5, 'Gauge'], sum: [7, 'Sum'] },
  Gauge: { dataPoints: [1, 'NumberDataPoint'] },
  Sum: { dataPoints: [1, 'NumberDataPoint'], aggregationTemporality: [2, 'varint'], isMonotonic: [3, 'varint'] },
  NumberDataPoint: {
    attributes: [7, 'KeyValue'], startTimeUnixNano: [2, 'fixed64'], timeUnixNano: [3, 'fixed64'],
    asDouble: [4, 'double'], asInt: [6, 'fixed64'], flags: [8, 'varint'],
  },
};

const varint = (value) => {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return Buffer.from(bytes);
};
const tag = (number, wire) => varint(number * 8 + wire);
const block = (number, bytes) => Buffer.concat([tag(number, 2), varint(bytes.length), bytes]);

function field(number, type, value) {
  const fixed = Buffer.alloc(8);
  switch (type) {
    case 'string': return block(number, Buffer.from(value));
    case 'hex': return block(number, Buffer.from(value, 'hex'));
    case 'varint': return Buffer.concat([tag(number, 0), varint(value)]);
    case 'fixed64':
      fixed.writeBigInt64LE(BigInt(value));
      return Buffer.concat([tag(number, 1), fixed]);
    case 'double':
      fixed.writeDoubleLE(value);
      return Buffer.concat([tag(number, 1), fixed]);
    case 'fixed32':
      fixed.writeUInt32LE(value);
      return Buffer.concat([tag(number, 5), fixed.subarray(0, 4)]);
    default: return block(number, encode(type, value));
  }
}

function encode(message, object) {
  return Buffer.concat(Object.entries(object).flatMap(([name, value]) => {
    assert.ok(PROTO[message][name], `${message}.${name}`);
    const [number, type] = PROTO[message][name];
    return (Array.isArray(value) ? value : [value]).map((one) => field(number, type, one));
  }));
}

let folder;
before(() => {
  assert.ok(binary, 'TC_BINARY names the program to test');
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_otlp_protobuf_'));
});
after(() => fs.rmSync(folder, { recursive: true, force: true }));

function run(...args) {
  const result = spawnSync(binary, args, { cwd: folder, encoding: 'utf8', maxBuffer: 1 << 28 });
  assert.equal(result.status, 0, result.stderr);
  return result.stdout;
}

const events = (file) => run('decode', file).split('\n').filter(Boolean).map((line) => {
  const { raw, ...event } = JSON.parse(line);
  assert.ok(raw.length > 0);
  return event;
});

function compare(name, lines) {
  fs.writeFileSync(path.join(folder, `${name}.json`), `${lines.join('\n')}\n`);
  fs.writeFileSync(path.join(folder, `${name}.pb`),
    Buffer.concat(lines.map((line) => encode('Request', JSON.parse(line)))));
  const json = events(`${name}.json`);
  assert.deepEqual(events(`${name}.pb`), json);
  return json.length;
}

describe('a simulated fleet', () => {
  const files = ['k8s/events.json', 'k8s/objects.json'];
  before(() => {
    run('simulate', '--nodes', '8', '--hours', '0.5', '--seed', '5', '-q', '--out', 'fleet');
    files.push(...fs.readdirSync(path.join(folder, 'fleet/training')).map((name) => `training/${name}`));
  });
  test('has the same events in protobuf', () => {
    let count = 0;
    for (const name of files.filter((file) => file.endsWith('.json'))) {
      const lines = fs.readFileSync(path.join(folder, 'fleet', name), 'utf8').split('\n')
        .filter((line) => line.startsWith('{"resourceLogs"'));
      count += lines.length > 0 ? compare(name.replaceAll('/', '_'), lines) : 0;
    }
    assert.ok(count > 1000, String(count));
  });
});

describe('the worked example of docs/otlp.md', () => {
  const page = fs.readFileSync(path.join(source, 'docs/otlp.md'), 'utf8');
  const example = [...page.matchAll(/^\{"resource(?:Logs|Metrics)".*$/gmu)].map((line) => line[0]
    .replaceAll(/\.\.\.([\w., ]+)\.\.\./gu, (_, names) => names.split(', ')
      .map((key) => JSON.stringify({ key, value: { stringValue: `the-${key}` } })).join(',')));
  test('is found', () => assert.equal(example.length, 3));
  test('has the same events in protobuf', () => {
    assert.ok(compare('logs', example.filter((line) => line.startsWith('{"resourceLogs"'))) > 2);
    assert.equal(compare('metrics', example.filter((line) => line.startsWith('{"resourceMetrics"'))), 1);
  });
});

test('a body that is cut off is told with its byte and its field', () => {
  const body = encode('Request', { resourceLogs: [{ scopeLogs: [{ logRecords: [
    { timeUnixNano: '1772600760000000000', body: { stringValue: 'NVRM: Xid (PCI:0000:3b:00): 79, gone' } }] }] }] });
  fs.writeFileSync(path.join(folder, 'cut.pb'), body.subarray(0, body.length - 1));
  const result = spawnSync(binary, ['decode', '--format=otlp_protobuf', 'cut.pb'], { cwd: folder, encoding: 'utf8' });
  assert.equal(result.status, 2);
  assert.match(result.stderr, /resourceLogs: a length past the end/u);
});
