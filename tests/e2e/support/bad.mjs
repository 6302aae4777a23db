// SPDX-License-Identifier: Apache-2.0
// Requests that no correct client sends, as tables: each row is a name and a body.
import zlib from 'node:zlib';
import { any, fixed64, int, join, len, logRecord, logs, pair, span, tag, traces, varint } from './otlp.mjs';

export const DEEP = 10001;

/** `inner` in `levels` messages, the tag bytes of each given by `tags` in turn from the outside. */
function nest(inner, levels, tags) {
  const parts = [inner];
  let size = inner.length;
  for (let i = 0; i < levels; i++) {
    for (const number of [...tags].reverse()) {
      const head = join(tag(number, 2), varint(size));
      parts.push(head);
      size += head.length;
    }
  }
  return Buffer.concat(parts.reverse());
}

const ofValue = (value) => logs({}, [join(fixed64(1, 1n), len(5, value))]);
const ofAttribute = (value) => logs({}, [join(fixed64(1, 1n), len(6, join(len(1, 'k'), len(2, value))))]);
// An array is field 5 of a value and its values are field 1; a map 6, its pairs 1, a pair's value 2.
export const deepProtobuf = {
  'arrays in a body': ofValue(nest(any('x'), DEEP, [5, 1])),
  'maps in a body': ofValue(nest(any('x'), DEEP, [6, 1, 2])),
  'arrays in an attribute': ofAttribute(nest(any('x'), DEEP, [5, 1])),
  'arrays in a resource': len(1, len(1, len(1, join(len(1, 'k'), len(2, nest(any('x'), DEEP, [5, 1])))))),
  'eight hundred thousand levels': ofValue(nest(any('x'), 800000, [5, 1])),
};
const deepJson = (open, close, around) => around(open.repeat(DEEP) + '{"stringValue":"x"}' + close.repeat(DEEP));
const jsonBody = (value) => `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":${value}}]}]}]}`;
export const deepJsonBodies = {
  'arrays in a body': deepJson('{"arrayValue":{"values":[', ']}}', jsonBody),
  'maps in a body': deepJson('{"kvlistValue":{"values":[{"key":"k","value":', '}]}}', jsonBody),
  'brackets alone': '['.repeat(DEEP),
  'an unknown member': `{"resourceLogs":[],"other":${'['.repeat(DEEP)}${']'.repeat(DEEP)}}`,
  'a hundred thousand levels': jsonBody('{"arrayValue":{"values":['.repeat(100000)),
};

const overlong = Buffer.from([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]);
const tooBig = Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
const record = (bytes) => logs({}, [bytes]);
export const malformedLogs = {
  'a tag of eleven bytes': join(overlong),
  'a length of eleven bytes': join(tag(1, 2), overlong),
  'a number of eleven bytes': record(join(tag(2, 0), overlong)),
  'a number of more than 64 bits': record(join(tag(2, 0), tooBig)),
  'a number without an end': record(join(tag(2, 0), Buffer.from([0x80]))),
  'a length past the end': join(tag(1, 2), varint(100), Buffer.alloc(10)),
  'a length past the end of its message': len(1, len(2, join(tag(2, 2), varint(50), logRecord({ body: 'x' })))),
  'a length of 2^31': join(tag(1, 2), varint(1n << 31n)),
  'a length of 2^63': join(tag(1, 2), varint(1n << 63n)),
  'a length of 2^64-1': join(tag(1, 2), varint((1n << 64n) - 1n)),
  'field 0': join(tag(0, 2), varint(0)),
  'field 0 in a record': record(join(tag(0, 0), varint(1))),
  'field 0 in a value': ofValue(join(tag(0, 0), varint(1))),
  'a field number over 2^29-1': record(join(tag(1n << 29n, 0), varint(1))),
  'a group': join(tag(1, 3), tag(1, 4)),
  'a group in a record': record(join(tag(99, 3), int(1, 1), tag(99, 4))),
  'the end of a group': record(join(tag(5, 4))),
  'a group in a group': record(join(tag(99, 3), tag(98, 3), tag(98, 4), tag(99, 4))),
  'wire type 6': join(Buffer.from([(1 << 3) | 6])),
  'wire type 7': record(join(Buffer.from([(1 << 3) | 7]), Buffer.alloc(8))),
  'a fixed64 that is cut off': record(join(tag(1, 1), Buffer.alloc(7))),
  'a fixed32 that is cut off': record(join(tag(8, 5), Buffer.alloc(3))),
  'a resource that is a number': len(1, int(1, 5)),
  'records that are numbers': len(1, len(2, int(2, 5))),
  'a body that is a number': record(int(5, 5)),
  'a time that is a text': record(len(1, 'now')),
  'a trace id of 3 bytes': record(join(fixed64(1, 1n), len(9, Buffer.from([1, 2, 3])))),
  'a trace id of 17 bytes': record(len(9, Buffer.alloc(17, 1))),
  'a span id of 3 bytes': record(len(10, Buffer.from([1, 2, 3]))),
  'text': Buffer.from('Once upon a time there was a cluster of GPUs'),
  'zeros': Buffer.alloc(64),
  'JSON': Buffer.from('{"resourceLogs":[]}'),
};
export const malformedTraces = {
  'a trace id of 3 bytes': traces({}, [span({ traceId: Buffer.from([1, 2, 3]) })]),
  'a span id of 7 bytes': traces({}, [span({ spanId: Buffer.alloc(7, 1) })]),
  'a parent of 3 bytes': traces({}, [span({ extra: len(4, Buffer.from([1, 2, 3])) })]),
  'a link with a trace id of 3 bytes': traces({}, [span({ extra: len(13, len(1, Buffer.from([1, 2, 3]))) })]),
};
export const malformedMetrics = {
  'a gauge that is a number': len(1, len(2, len(2, join(len(1, 'm'), int(5, 1))))),
  'a point whose value is a text': len(1, len(2, len(2, join(len(1, 'm'), len(5, len(1, len(4, 'one'))))))),
  'a point that is cut off': len(1, len(2, len(2, join(len(1, 'm'), len(5, len(1, join(tag(3, 1), Buffer.alloc(4)))))))),
};

const withRecord = (text) => `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${text}]}]}]}`;
export const malformedJson = {
  'nothing but a brace': '{',
  'a word': 'nope',
  'an array': '[]',
  'a text': '"resourceLogs"',
  'a number': '12',
  'two values': '{} {}',
  'a comma too many': '{"resourceLogs":[],}',
  'a text without an end': '{"resourceLogs":["',
  'a control character in a text': withRecord('{"body":{"stringValue":"a\nb"}}'),
  'a wrong escape': withRecord('{"body":{"stringValue":"\\q"}}'),
  'resources that are an object': '{"resourceLogs":{}}',
  'a resource that is a number': '{"resourceLogs":[5]}',
  'records that are an object': '{"resourceLogs":[{"scopeLogs":[{"logRecords":{}}]}]}',
  'a record that is a text': withRecord('"x"'),
  'a body that is a text': withRecord('{"body":"x"}'),
  'a text that is a number': withRecord('{"body":{"stringValue":5}}'),
  'a truth that is a text': withRecord('{"body":{"boolValue":"yes"}}'),
  'a double that is an object': withRecord('{"body":{"doubleValue":{}}}'),
  'attributes that are an object': withRecord('{"attributes":{"k":"v"}}'),
  'a key that is a number': withRecord('{"attributes":[{"key":5,"value":{"intValue":"1"}}]}'),
  'a time that is a truth': withRecord('{"timeUnixNano":true}'),
  'a time that is a word': withRecord('{"timeUnixNano":"now"}'),
  'a time before zero': withRecord('{"timeUnixNano":"-1"}'),
  'a time over 64 bits': withRecord('{"timeUnixNano":"18446744073709551616"}'),
  'an integer over 63 bits': withRecord('{"body":{"intValue":"9223372036854775808"}}'),
  'an integer under 63 bits': withRecord('{"body":{"intValue":"-9223372036854775809"}}'),
  'an integer with a fraction': withRecord('{"body":{"intValue":1.5}}'),
  'a severity over 32 bits': withRecord('{"severityNumber":2147483648}'),
  'a count before zero': withRecord('{"droppedAttributesCount":-1}'),
  'a count over 32 bits': withRecord('{"droppedAttributesCount":4294967296}'),
  'a trace id of 3 bytes': withRecord('{"traceId":"aabbcc"}'),
  'a trace id that is no hex': withRecord('{"traceId":"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"}'),
  'a span id of 3 bytes': withRecord('{"spanId":"aabbcc"}'),
  'a trace id that is a number': withRecord('{"traceId":5}'),
};

/** Odd, but as the specification has it: taken. Each is [body, records]. */
export const fineProtobuf = {
  'nothing at all': [Buffer.alloc(0), 0],
  'a resource that is missing': [logs(null, [{ body: 'x' }]), 1],
  'a resource that is empty': [logs({}, [{ body: 'x' }]), 1],
  'records of nothing': [logs({}, [Buffer.alloc(0), Buffer.alloc(0)]), 2],
  'an attribute without a value': [logs({ a: undefined }, [{ body: 'x', attributes: { b: undefined } }]), 1],
  'an attribute with an empty value': [record(join(fixed64(1, 1n), len(6, join(len(1, 'k'), len(2, Buffer.alloc(0)))))), 1],
  'an attribute without a key': [record(join(fixed64(1, 1n), len(6, len(2, any('v'))))), 1],
  'an empty attribute': [record(len(6, Buffer.alloc(0))), 1],
  'fields of a later version': [join(logs({}, [{ body: 'x', extra: join(len(500, 'new'), int(501, 7), fixed64(502, 8)) }]), len(77, 'new')), 1],
  'an empty trace id': [record(join(len(9, Buffer.alloc(0)), len(10, Buffer.alloc(0)))), 1],
  'a resource twice': [len(1, join(len(1, len(1, pair('a', 'b'))), len(1, len(1, pair('c', 'd'))), len(2, len(2, logRecord({ body: 'x' }))))), 1],
};
export const fineJson = {
  'nothing at all': ['', 0],
  'an empty object': ['{}', 0],
  'white space around': [' \r\n\t{} \n', 0],
  'a resource that is missing': [withRecord('{"body":{"stringValue":"x"}}'), 1],
  'records of nothing': [withRecord('{},{}'), 2],
  'an attribute without a value': [withRecord('{"attributes":[{"key":"k"}]}'), 1],
  'an attribute with an empty value': [withRecord('{"attributes":[{"key":"k","value":{}}]}'), 1],
  'members of a later version': ['{"resourceLogs":[{"new":[1,{"a":null}],"scopeLogs":[{"logRecords":[{"newer":{"x":[]}}]}]}]}', 1],
  'numbers as numbers': [withRecord('{"timeUnixNano":1772600801429408000,"body":{"intValue":5}}'), 1],
  'numbers as texts': [withRecord('{"timeUnixNano":"1772600801429408000","body":{"intValue":"-5"},"severityNumber":"9"}'), 1],
  'escapes': [withRecord('{"body":{"stringValue":"a\\u00e9\\n\\ud83d\\ude00"}}'), 1],
};

/** A gzip stream that unpacks to `mebibytes` of zeros: 16 MiB, packed once and repeated. */
export function gzipBomb(mebibytes) {
  const block = zlib.deflateRawSync(Buffer.alloc(16 << 20), { level: 9, finishFlush: zlib.constants.Z_FULL_FLUSH });
  const head = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
  const end = Buffer.from([0x03, 0x00, 0, 0, 0, 0, 0, 0, 0, 0]);
  return Buffer.concat([head, ...Array.from({ length: mebibytes / 16 }, () => block), end]);
}
