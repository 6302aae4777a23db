// SPDX-License-Identifier: Apache-2.0
// OTLP requests as the OpenTelemetry Collector writes them (fields in the order of their numbers, absent
// ones left out but for ids; JSON in the order of its generated structs), with marks where a value
// moves on each time the request is sent: times, steps, counters. A load says what is in a request as
//   { signal: 'logs', resources: [{ attributes: [[key, value]], scope, records: [...] }] } or
//   { signal: 'metrics', resources: [{ attributes, scope, metrics: [...] }] }.
// Times are nanoseconds before the moment of sending, so negative; JSON's seconds alone move on.

export const JSON_FORM = 'json';
export const FORMS = ['protobuf', 'json', 'grpc'];
export const typeOf = (form) => ({ protobuf: 'application/x-protobuf', json: 'application/json', grpc: 'application/grpc' })[form];

/** What moves: kind of a mark. The same numbers are in post.lua. */
export const KIND = { time: 0, timeDigits: 1, stepVarint: 2, stepDigits: 3, counter: 4, counterDigits: 5 };
export const STEP_MIN = 100000; // six digits and three bytes of a varint, whatever is added
const COUNTER_DIGITS = 13;
const SECOND = 1000000000;

/** An integer that moves by `per` each time its request is sent again. In a text it is six digits. */
export class Step {
  constructor(value) { this.value = value; }

  toString() { return String(this.value); }
}
/** A text with a step inside. */
export class StepText {
  constructor(before, step, after) { Object.assign(this, { before, step, after }); }
}
/** A whole number of thirteen digits that only grows. */
export class Counter {
  constructor(value, per) { this.value = value; this.per = per; }
}

/** Protobuf from its end to its beginning, so that a length is known when it is written. */
class Back {
  constructor(size) { this.buffer = Buffer.alloc(size); this.at = size; this.marks = []; }

  room(bytes) {
    if (this.at >= bytes) return;
    const grown = Buffer.alloc(this.buffer.length * 2 + bytes);
    this.buffer.copy(grown, grown.length - this.buffer.length);
    this.at += grown.length - this.buffer.length;
    this.buffer = grown;
  }

  /** Marks count from the end until all is written. */
  mark(kind, value, per = 0) { this.marks.push({ kind, at: this.buffer.length - this.at, value, per }); }

  /** Of whole numbers that are not negative. */
  varint(n) {
    this.room(10);
    if (n < 0x80) { this.buffer[--this.at] = n; return; }
    this.at -= varintSize(n);
    let rest = n;
    for (let i = this.at; ; i++) {
      const more = rest > 0x7f;
      this.buffer[i] = (rest % 128) | (more ? 0x80 : 0);
      if (!more) return;
      rest = Math.floor(rest / 128);
    }
  }

  text(number, text) {
    const size = Buffer.byteLength(text);
    this.room(size + 20);
    this.at -= size;
    this.buffer.write(text, this.at);
    this.varint(size);
    this.varint((number << 3) | 2);
  }

  hex(number, text) {
    const size = text.length / 2;
    this.room(size + 20);
    this.at -= size;
    this.buffer.write(text, this.at, 'hex');
    this.varint(size);
    this.varint((number << 3) | 2);
  }

  message(number, write) {
    const end = this.buffer.length - this.at;
    write();
    this.varint(this.buffer.length - this.at - end);
    this.varint((number << 3) | 2);
  }

  int(number, n) { this.varint(n); this.varint(number << 3); }

  time(number, add) {
    this.room(20);
    this.at -= 8;
    this.mark(KIND.time, add);
    this.varint((number << 3) | 1);
  }

  double(number, n) {
    this.room(20);
    this.at -= 8;
    if (n instanceof Counter) this.mark(KIND.counter, n.value, n.per);
    else this.buffer.writeDoubleLE(n, this.at);
    this.varint((number << 3) | 1);
  }

  fixed32(number, n) {
    this.room(20);
    this.at -= 4;
    this.buffer.writeUInt32LE(n, this.at);
    this.varint((number << 3) | 5);
  }

  any(number, value) {
    this.message(number, () => {
      if (typeof value === 'string') this.text(1, value);
      else if (typeof value === 'boolean') this.int(2, value ? 1 : 0);
      else if (value instanceof Step) {
        this.room(20);
        this.at -= 3;
        this.mark(KIND.stepVarint, value.value);
        this.varint(3 << 3);
      } else if (value instanceof StepText) {
        const text = `${value.before}${value.step}${value.after}`;
        this.text(1, text);
        const head = 1 + varintSize(Buffer.byteLength(text));
        this.marks.push({ kind: KIND.stepDigits, at: this.buffer.length - this.at - head - Buffer.byteLength(value.before), value: value.step.value, per: 0 });
      } else if (Number.isInteger(value)) this.int(3, value);
      else if (typeof value === 'number') this.double(4, value);
      else if (Array.isArray(value)) this.message(6, () => this.attributes(1, value)); // of pairs: a map
      else throw new Error(`no AnyValue is made of ${value}`);
    });
  }

  attributes(number, pairs) {
    for (let i = pairs.length - 1; i >= 0; i--) {
      this.message(number, () => { this.any(2, pairs[i][1]); this.text(1, pairs[i][0]); });
    }
  }

  each(number, list, write) { for (let i = list.length - 1; i >= 0; i--) this.message(number, () => write(list[i])); }

  scope({ name, version }) { this.message(1, () => { if (version) this.text(2, version); if (name) this.text(1, name); }); }

  logRecord(r) {
    this.time(11, r.observed);
    this.hex(10, r.spanId ?? '');
    this.hex(9, r.traceId ?? '');
    if (r.traceId) this.fixed32(8, 1);
    this.attributes(6, r.attributes);
    this.any(5, r.body);
    if (r.severityText) this.text(3, r.severityText);
    if (r.severity) this.int(2, r.severity);
    this.time(1, r.time);
  }

  point(p) {
    this.attributes(7, p.attributes);
    this.double(4, p.value);
    this.time(3, p.time);
    if (p.start !== undefined) this.time(2, p.start);
  }

  metric(m) {
    if (m.metadata) this.attributes(12, m.metadata);
    this.message(m.sum ? 7 : 5, () => {
      if (m.sum) { this.int(3, 1); this.int(2, 2); } // monotonic, cumulative
      this.each(1, m.points, (p) => this.point(p));
    });
    if (m.unit) this.text(3, m.unit);
    if (m.description) this.text(2, m.description);
    this.text(1, m.name);
  }

  request({ signal, resources }) {
    this.each(1, resources, (r) => {
      this.message(2, () => {
        if (signal === 'logs') this.each(2, r.records, (record) => this.logRecord(record));
        else this.each(2, r.metrics, (metric) => this.metric(metric));
        this.scope(r.scope);
      });
      this.message(1, () => this.attributes(1, r.attributes));
    });
    const size = this.buffer.length - this.at;
    return { bytes: Buffer.from(this.buffer.subarray(this.at)), marks: this.marks.map((m) => ({ ...m, at: size - m.at })).reverse() };
  }
}

function varintSize(n) {
  let size = 1;
  for (let rest = n; rest > 0x7f; rest = Math.floor(rest / 128)) size++;
  return size;
}

/** JSON as the Collector's pdata writes it. */
class Forward {
  constructor() { this.parts = []; this.at = 0; this.marks = []; }

  put(text) { this.parts.push(text); this.at += Buffer.byteLength(text); }

  mark(kind, value, per = 0) { this.marks.push({ kind, at: this.at, value, per }); }

  time(key, add) {
    this.put(`"${key}":"`);
    this.mark(KIND.timeDigits, add);
    this.put(`${'0'.repeat(10)}${String(((add % SECOND) + SECOND) % SECOND).padStart(9, '0')}"`);
  }

  list(items, write) {
    this.put('[');
    items.forEach((item, i) => { if (i > 0) this.put(','); write(item); });
    this.put(']');
  }

  any(value) {
    if (typeof value === 'string') this.put(`{"stringValue":${JSON.stringify(value)}}`);
    else if (typeof value === 'boolean') this.put(`{"boolValue":${value}}`);
    else if (value instanceof Step) {
      this.put('{"intValue":"');
      this.mark(KIND.stepDigits, value.value);
      this.put(`${value}"}`);
    } else if (value instanceof StepText) {
      this.put(`{"stringValue":"${JSON.stringify(value.before).slice(1, -1)}`);
      this.mark(KIND.stepDigits, value.step.value);
      this.put(`${value.step}${JSON.stringify(value.after).slice(1)}}`);
    } else if (Number.isInteger(value)) this.put(`{"intValue":"${value}"}`);
    else if (typeof value === 'number') this.put(`{"doubleValue":${value}}`);
    else { this.put('{"kvlistValue":{"values":'); this.attributes(value); this.put('}}'); }
  }

  attributes(pairs) {
    this.list(pairs, ([key, value]) => { this.put(`{"key":${JSON.stringify(key)},"value":`); this.any(value); this.put('}'); });
  }

  logRecord(r) {
    this.put('{');
    this.time('timeUnixNano', r.time);
    this.put(',');
    this.time('observedTimeUnixNano', r.observed);
    if (r.severity) this.put(`,"severityNumber":${r.severity}`);
    if (r.severityText) this.put(`,"severityText":"${r.severityText}"`);
    this.put(',"body":');
    this.any(r.body);
    this.put(',"attributes":');
    this.attributes(r.attributes);
    if (r.traceId) this.put(',"flags":1');
    this.put(`,"traceId":"${r.traceId ?? ''}","spanId":"${r.spanId ?? ''}"}`);
  }

  point(p) {
    this.put('{"attributes":');
    this.attributes(p.attributes);
    this.put(',');
    if (p.start !== undefined) { this.time('startTimeUnixNano', p.start); this.put(','); }
    this.time('timeUnixNano', p.time);
    this.put(',"asDouble":');
    if (p.value instanceof Counter) {
      this.mark(KIND.counterDigits, p.value.value, p.value.per);
      this.put('0'.repeat(COUNTER_DIGITS));
    } else this.put(String(p.value));
    this.put('}');
  }

  metric(m) {
    this.put(`{"name":"${m.name}"`);
    if (m.description) this.put(`,"description":${JSON.stringify(m.description)}`);
    if (m.unit) this.put(`,"unit":"${m.unit}"`);
    this.put(m.sum ? ',"sum":{"dataPoints":' : ',"gauge":{"dataPoints":');
    this.list(m.points, (p) => this.point(p));
    this.put(m.sum ? ',"aggregationTemporality":2,"isMonotonic":true}' : '}');
    if (m.metadata) { this.put(',"metadata":'); this.attributes(m.metadata); }
    this.put('}');
  }

  request({ signal, resources }) {
    const [outer, scopes, items] = signal === 'logs' ? ['resourceLogs', 'scopeLogs', 'logRecords'] : ['resourceMetrics', 'scopeMetrics', 'metrics'];
    this.put(`{"${outer}":`);
    this.list(resources, (r) => {
      this.put('{"resource":{"attributes":');
      this.attributes(r.attributes);
      this.put(`},"${scopes}":[{"scope":${JSON.stringify(r.scope)},"${items}":`);
      if (signal === 'logs') this.list(r.records, (record) => this.logRecord(record));
      else this.list(r.metrics, (metric) => this.metric(metric));
      this.put('}]}');
    });
    this.put('}');
    return { bytes: Buffer.from(this.parts.join('')), marks: this.marks };
  }
}

const count = ({ signal, resources }) => resources.reduce((sum, r) => sum +
  (signal === 'logs' ? r.records.length : r.metrics.reduce((points, m) => points + m.points.length, 0)), 0);

/** One request in one form: bytes that `refresh` makes new. For gRPC the five bytes of a message are in front. */
export class Body {
  constructor({ signal, records, bytes, marks }, form) {
    const head = form === 'grpc' ? 5 : 0;
    Object.assign(this, { signal, records, bytes, marks });
    if (head > 0) {
      this.bytes = Buffer.concat([Buffer.alloc(head), bytes]);
      this.bytes.writeUInt32BE(bytes.length, 1);
      this.marks = marks.map((m) => ({ ...m, at: m.at + head }));
    }
    this.refresh(Date.now(), 0);
  }

  static encode(request, form) {
    const made = form === JSON_FORM ? new Forward().request(request) : new Back(1 << 19).request(request);
    return new Body({ signal: request.signal, records: count(request), ...made }, form);
  }

  /** Sent now (ms), for the `turn`th time: steps are `steps` on with every turn. */
  refresh(nowMs, turn, steps = 0) {
    const b = this.bytes;
    for (const { kind, at, value, per } of this.marks) {
      if (kind === KIND.time) b.writeBigUInt64LE(BigInt(nowMs) * 1000000n + BigInt(value), at);
      else if (kind === KIND.timeDigits) b.write(String(Math.floor(nowMs / 1000) + Math.floor(value / SECOND)), at, 'latin1');
      else if (kind === KIND.stepVarint) {
        const n = value + turn * steps;
        b[at] = (n & 0x7f) | 0x80;
        b[at + 1] = ((n >> 7) & 0x7f) | 0x80;
        b[at + 2] = n >> 14;
      } else if (kind === KIND.stepDigits) b.write(String(value + turn * steps), at, 'latin1');
      else if (kind === KIND.counter) b.writeDoubleLE(value + turn * per, at);
      else b.write(String(value + turn * per).padStart(COUNTER_DIGITS, '0'), at, 'latin1');
    }
    return this;
  }

  /** The marks for post.lua: where, what kind, value and what is added in each turn. */
  marksAsBytes() {
    const out = Buffer.alloc(this.marks.length * 24);
    this.marks.forEach(({ kind, at, value, per }, i) => {
      out.writeUInt32LE(at, i * 24);
      out.writeUInt32LE(kind, i * 24 + 4);
      out.writeDoubleLE(value, i * 24 + 8);
      out.writeDoubleLE(per, i * 24 + 16);
    });
    return out;
  }
}

/** Numbers by chance that are the same in every run (mulberry32). */
export function random(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const below = (n) => Math.floor(next() * n);
  return {
    next, below,
    pick: (list) => list[below(list.length)],
    hex: (digits) => {
      let text = '';
      while (text.length < digits) text += (next() * 4294967296 >>> 0).toString(16).padStart(8, '0');
      return text.slice(0, digits);
    },
    /** Pairs as Go's maps are walked: in groups of eight slots, from a slot by chance. */
    walk: (pairs) => {
      const groups = [];
      for (let i = 0; i < pairs.length; i += 8) groups.push(pairs.slice(i, i + 8));
      const first = below(Math.max(1, groups.length));
      return groups.map((_, i) => groups[(i + first) % groups.length]).flatMap((group) => {
        const at = below(group.length);
        return [...group.slice(at), ...group.slice(0, at)];
      });
    },
  };
}
