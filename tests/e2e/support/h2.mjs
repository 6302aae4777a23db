// SPDX-License-Identifier: Apache-2.0
// HTTP/2 frames by hand, for clients that no library would be.
import { Raw, until } from './wire.mjs';

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
export const TYPE = { DATA: 0, HEADERS: 1, RST_STREAM: 3, SETTINGS: 4, PING: 6, GOAWAY: 7, WINDOW_UPDATE: 8, CONTINUATION: 9 };
export const FLAG = { ACK: 1, END_STREAM: 1, END_HEADERS: 4 };

export function h2frame(type, flags, stream, payload = Buffer.alloc(0)) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
export const settings = (payload) => h2frame(TYPE.SETTINGS, 0, 0, payload);
export const settingsAck = () => h2frame(TYPE.SETTINGS, FLAG.ACK, 0);
export function u32(n) { const b = Buffer.alloc(4); b.writeUInt32BE(n); return b; }
export const reset = (stream, code = 8) => h2frame(TYPE.RST_STREAM, 0, stream, u32(code));

/** An HPACK integer with an n-bit prefix, whose upper bits are `top`. */
function hpackInt(top, bits, n) {
  const max = (1 << bits) - 1;
  if (n < max) return Buffer.from([top | n]);
  const out = [top | max];
  for (n -= max; n >= 128; n >>= 7) out.push((n & 127) | 128);
  out.push(n);
  return Buffer.from(out);
}
const hpackString = (text) => Buffer.concat([hpackInt(0, 7, Buffer.byteLength(text)), Buffer.from(text)]);
/** A header field in full; `index` puts it into the dynamic table. */
export const hpackField = (name, value, index = false) =>
  Buffer.concat([Buffer.from([index ? 0x40 : 0]), hpackString(name), hpackString(value)]);
export const hpackIndexed = (index) => hpackInt(0x80, 7, index);
export const grpcHead = (path = '/opentelemetry.proto.collector.logs.v1.LogsService/Export') => Buffer.concat([
  Buffer.from([0x83, 0x86]), hpackField(':path', path), hpackField(':authority', 'tests'),
  hpackField('content-type', 'application/grpc'), hpackField('te', 'trailers'),
]);
export const headers = (stream, block, flags = FLAG.END_HEADERS) => h2frame(TYPE.HEADERS, flags, stream, block);

/** A connection with the preface said. */
export async function h2open(address, settingsPayload) {
  const raw = new Raw(address);
  await raw.open;
  await raw.write(Buffer.concat([PREFACE, settings(settingsPayload), settingsAck()]));
  return raw;
}

/** Frames that came so far. */
export function frames(raw) {
  const out = [];
  for (let at = 0; at + 9 <= raw.received.length;) {
    const size = raw.received.readUIntBE(at, 3);
    if (at + 9 + size > raw.received.length) break;
    out.push({ type: raw.received[at + 3], flags: raw.received[at + 4], stream: raw.received.readUInt32BE(at + 5) & 0x7fffffff,
      payload: raw.received.subarray(at + 9, at + 9 + size) });
    at += 9 + size;
  }
  return out;
}
export const goaway = (raw) => frames(raw).find((f) => f.type === TYPE.GOAWAY);

/** The daemon gave this connection up: it said GOAWAY, or closed it. */
export const givenUp = (raw, timeoutMs = 10000) =>
  until('the daemon to give the connection up', () => raw.ended || goaway(raw), timeoutMs);
