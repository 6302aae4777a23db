// SPDX-License-Identifier: Apache-2.0
// The bytes behind a claim: those that are cited, and some around them.
import { part as pathPart, request } from './api.js';

const AROUND = 1200;
const CITED_MAX = 65536;
const HEX_WIDTH = 16;

/** { from, bytes, total }: a part of a piece of evidence. */
export async function readPart(digest, from, length, signal) {
  const response = await request(`evidence/${pathPart(digest)}`, {}, {
    headers: { Range: `bytes=${from}-${from + length - 1}` }, signal,
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const range = /bytes (\d+)-\d+\/(\d+)/.exec(response.headers.get('Content-Range') ?? '');
  return range ? { from: Number(range[1]), total: Number(range[2]), bytes } : { from: 0, total: bytes.length, bytes };
}

export async function readCited(raw, signal) {
  const from = Math.max(0, raw.offset - AROUND);
  const length = Math.min(raw.length, CITED_MAX) + (raw.offset - from) + AROUND;
  const part = await readPart(raw.digest, from, length, signal);
  return { ...part, offset: raw.offset, length: Math.min(raw.length, CITED_MAX) };
}

/** Text when all of it decodes and hardly any control character is in it. */
export function isText(bytes) {
  let odd = 0;
  for (const byte of bytes) odd += byte < 32 && byte !== 9 && byte !== 10 && byte !== 13;
  if (odd > bytes.length / 200) return false;
  try {
    // The ends may cut a character: up to three bytes at each are not held against it.
    let begin = 0;
    while (begin < 4 && (bytes[begin] & 0xc0) === 0x80) begin++;
    new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(begin, Math.max(begin, bytes.length - 4)));
    return true;
  } catch { return false; }
}

/** Lines as [{ before, cited, after }]; a part that is cut at its begin or end loses the broken line. */
export function linesOf(part) {
  const decode = (from, to) => new TextDecoder().decode(part.bytes.subarray(Math.max(0, from), Math.max(0, to)));
  const begin = part.offset - part.from;
  const end = begin + part.length;
  const before = decode(0, begin);
  const cited = decode(begin, end).replace(/\n$/, '');
  const after = decode(begin + part.length, part.bytes.length);
  const head = before.split('\n');
  if (part.from > 0 && head.length > 1) head.shift();
  const tail = (decode(begin, end).endsWith('\n') ? `\n${after}` : after).split('\n');
  if (part.from + part.bytes.length < part.total && tail.length > 1) tail.pop();
  return { before: head, cited, after: tail };
}

/** Rows of a hex dump of what is cited: [{ at, hex, text }]. */
export function hexOf(part, rowsMax = 256) {
  const begin = part.offset - part.from;
  const bytes = part.bytes.subarray(begin, begin + part.length);
  const rows = [];
  for (let i = 0; i < bytes.length && rows.length < rowsMax; i += HEX_WIDTH) {
    const row = [...bytes.subarray(i, i + HEX_WIDTH)];
    rows.push({
      at: (part.offset + i).toString(16).padStart(8, '0'),
      hex: row.map((b) => b.toString(16).padStart(2, '0')).join(' '),
      text: row.map((b) => (b > 31 && b < 127 ? String.fromCharCode(b) : '·')).join(''),
    });
  }
  return rows;
}
