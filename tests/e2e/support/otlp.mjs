// SPDX-License-Identifier: Apache-2.0
// A small writer of OTLP requests in protobuf and JSON, independent of the SDK and of the program,
// so that tests can also write what no client would: every field is a number, a wire type and bytes.

const big = (n) => (typeof n === 'bigint' ? n : BigInt(n));

/** Unsigned LEB128; negative numbers as the ten bytes that protobuf gives them. */
export function varint(n) {
  let rest = BigInt.asUintN(64, big(n));
  const out = [];
  do {
    out.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return Buffer.from(out);
}

export const tag = (number, wire) => varint((BigInt(number) << 3n) | BigInt(wire));
export const len = (number, bytes) => {
  const body = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes);
  return Buffer.concat([tag(number, 2), varint(body.length), body]);
};
export const int = (number, n) => Buffer.concat([tag(number, 0), varint(n)]);
export function fixed64(number, n) {
  const b = Buffer.alloc(8);
  b.writeBigUInt64LE(BigInt.asUintN(64, big(n)));
  return Buffer.concat([tag(number, 1), b]);
}
export function double(number, n) {
  const b = Buffer.alloc(8);
  b.writeDoubleLE(n);
  return Buffer.concat([tag(number, 1), b]);
}
export const join = (...parts) => Buffer.concat(parts.flat(Infinity).filter(Boolean));

export const nowNs = () => BigInt(Date.now()) * 1000000n;

/** AnyValue: strings, integers, doubles, booleans, Buffers, arrays and objects. */
export function any(value) {
  if (typeof value === 'string') return len(1, value);
  if (typeof value === 'boolean') return int(2, value ? 1 : 0);
  if (typeof value === 'bigint' || Number.isInteger(value)) return int(3, value);
  if (typeof value === 'number') return double(4, value);
  if (Buffer.isBuffer(value)) return len(7, value);
  if (Array.isArray(value)) return len(5, join(value.map((v) => len(1, any(v)))));
  return len(6, join(Object.entries(value).map(([k, v]) => len(1, pair(k, v)))));
}
export const pair = (key, value) => join(len(1, key), value === undefined ? null : len(2, any(value)));
export const attributes = (number, object) =>
  join(Object.entries(object ?? {}).map(([k, v]) => len(number, pair(k, v))));

/** One LogRecord: { time, body, attributes, severity, traceId, spanId, extra }. */
export const logRecord = (r) => join(
  fixed64(1, r.time ?? nowNs()),
  int(2, r.severity ?? 9),
  r.body === undefined ? null : len(5, any(r.body)),
  attributes(6, r.attributes),
  r.traceId ? len(9, r.traceId) : null,
  r.spanId ? len(10, r.spanId) : null,
  r.extra,
);

export const numberPoint = (p) => join(
  fixed64(3, p.time ?? nowNs()), double(4, p.value), attributes(7, p.attributes));
/** A Metric of gauge points: { name, unit, points, extra }. */
export const gauge = (m) => join(
  len(1, m.name), m.unit ? len(3, m.unit) : null, len(5, join(m.points.map((p) => len(1, numberPoint(p))))), m.extra);
export const span = (s) => join(
  len(1, s.traceId ?? Buffer.alloc(16, 1)), len(2, s.spanId ?? Buffer.alloc(8, 2)),
  len(5, s.name ?? 'span'), int(6, 1), fixed64(7, s.start ?? nowNs()), fixed64(8, s.end ?? nowNs()),
  attributes(9, s.attributes), s.extra);

const encoders = { logs: logRecord, metrics: gauge, traces: span };
/** An export request of one resource and one scope; `resource` null leaves the resource out. */
export function request(signal, resource, items) {
  const encode = encoders[signal];
  const scope = len(2, join(len(1, len(1, 'tests')), items.map((item) =>
    len(2, Buffer.isBuffer(item) ? item : encode(item)))));
  return len(1, join(resource === null ? null : len(1, attributes(1, resource)), scope));
}
export const logs = (resource, records) => request('logs', resource, records);
export const metrics = (resource, items) => request('metrics', resource, items);
export const traces = (resource, items) => request('traces', resource, items);

// ---- JSON ----

export function anyJson(value) {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'bigint' || Number.isInteger(value)) return { intValue: String(value) };
  if (typeof value === 'number') return { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyJson) } };
  return { kvlistValue: { values: attributesJson(value) } };
}
export const attributesJson = (object) =>
  Object.entries(object ?? {}).map(([key, v]) => (v === undefined ? { key } : { key, value: anyJson(v) }));

export const logRecordJson = (r) => ({
  timeUnixNano: String(r.time ?? nowNs()),
  severityNumber: r.severity ?? 9,
  ...(r.body === undefined ? {} : { body: anyJson(r.body) }),
  attributes: attributesJson(r.attributes),
  ...(r.traceId === undefined ? {} : { traceId: r.traceId }),
  ...(r.spanId === undefined ? {} : { spanId: r.spanId }),
});
export const logsJson = (resource, records) => JSON.stringify({ resourceLogs: [{
  ...(resource === null ? {} : { resource: { attributes: attributesJson(resource) } }),
  scopeLogs: [{ scope: { name: 'tests' }, logRecords: records.map(logRecordJson) }],
}] });

// ---- answers ----

/** Fields of a protobuf message, one level: { number: [value, ...] }. */
export function fields(bytes) {
  const out = {};
  let at = 0;
  const readVarint = () => {
    let n = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const b = bytes[at++];
      if (b === undefined) throw new Error('the message ends in a number');
      n |= BigInt(b & 0x7f) << shift;
      if (b < 0x80) return n;
    }
  };
  while (at < bytes.length) {
    const head = readVarint();
    const number = Number(head >> 3n);
    const wire = Number(head & 7n);
    let value;
    if (wire === 0) value = readVarint();
    else if (wire === 1) { value = bytes.subarray(at, at + 8); at += 8; }
    else if (wire === 5) { value = bytes.subarray(at, at + 4); at += 4; }
    else if (wire === 2) { const n = Number(readVarint()); value = bytes.subarray(at, at + n); at += n; }
    else throw new Error(`wire type ${wire}`);
    (out[number] ??= []).push(value);
  }
  return out;
}

// ---- what leads to a verdict ----

/** A kernel line that opens one hbm_ecc incident by itself; its node tells incidents apart. */
export const xid48 = (pci = '0000:43:00') =>
  `NVRM: Xid (PCI:${pci}): 48, pid=48211, name=python3, An uncorrectable double bit error (DBE) has been detected`;

// ---- compression by hand ----

/** A zstd frame of RLE blocks: `total` zero bytes in a few dozen. `claim`: write the content size. */
export function zstdBomb(total, { claim = false } = {}) {
  const blockMax = 128 * 1024;
  const blocks = [];
  for (let left = total; left > 0; left -= blockMax) {
    const size = Math.min(left, blockMax);
    const head = (size << 3) | (1 << 1) | (left <= blockMax ? 1 : 0);
    blocks.push(Buffer.from([head & 0xff, (head >> 8) & 0xff, (head >> 16) & 0xff, 0]));
  }
  const magic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
  if (!claim) {
    // No single segment, no checksum; window 2^17: exponent 7, mantissa 0.
    return Buffer.concat([magic, Buffer.from([0x00, 7 << 3]), ...blocks]);
  }
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(total));
  return Buffer.concat([magic, Buffer.from([0xc0, 7 << 3]), size, ...blocks]);
}

/** A zstd frame that holds bytes as they are. */
export function zstdRaw(bytes) {
  const blockMax = 128 * 1024;
  const out = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 7 << 3])];
  let at = 0;
  do {
    const part = bytes.subarray(at, at + blockMax);
    at += part.length;
    const head = (part.length << 3) | (at >= bytes.length ? 1 : 0);
    out.push(Buffer.from([head & 0xff, (head >> 8) & 0xff, (head >> 16) & 0xff]), part);
  } while (at < bytes.length);
  return Buffer.concat(out);
}
