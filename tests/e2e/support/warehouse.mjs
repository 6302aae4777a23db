// SPDX-License-Identifier: Apache-2.0
// A client of data_dir/warehouse.sock, written from docs/internals/warehouse-socket.md and not from the
// program: frames of a length, a kind and a body, in the machine's byte order.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { source } from './daemon.mjs';

const KIND = { hello: 1, error: 2, done: 3, rows: 4, begin: 16, commit: 17, rollback: 18, append: 19, forget: 20, query: 21, cancel: 22, parquet: 23 };
const MAGIC = 0x48574354;
const TYPES = ['text', 'int', 'real', 'bool', 'time'];

const u32 = (n) => { const b = Buffer.alloc(4); b.writeUInt32LE(n); return b; };
const i64 = (n) => { const b = Buffer.alloc(8); b.writeBigInt64LE(BigInt(n)); return b; };
const text = (s) => Buffer.concat([u32(Buffer.byteLength(s)), Buffer.from(s)]);

/** Tables in the order of their numbers on the wire. */
export const tables = [...fs.readFileSync(path.join(source, 'src/warehouse/tables.def'), 'utf8')
  .matchAll(/^TABLE_BEGIN\(\w+, "(\w+)"/gm)].map((m) => m[1]);

function cell(type, bytes, at, block) {
  if (type === 0) return block.subarray(bytes.readUInt32LE(at), bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4)).toString('utf8');
  if (type === 2) return bytes.readDoubleLE(at);
  return type === 3 ? bytes.readBigInt64LE(at) === 1n : Number(bytes.readBigInt64LE(at));
}

function parseRows(body) {
  const [columns, count, textLength] = [0, 4, 8].map((at) => body.readUInt32LE(at));
  let at = 12;
  const heads = [];
  for (let i = 0; i < columns; i++) {
    const length = body[at + 1];
    heads.push({ type: body[at] & 0x7f, name: body.subarray(at + 2, at + 2 + length).toString('utf8') });
    at += 2 + length;
  }
  const words = Math.ceil(count / 64);
  const block = body.subarray(body.length - textLength);
  const rows = Array.from({ length: count }, () => ({}));
  for (const head of heads) {
    for (let i = 0; i < count; i++) {
      const there = (body[at + (i >> 3)] >> (i & 7) & 1) === 1;
      rows[i][head.name] = there ? cell(head.type, body, at + words * 8 + i * 8, block) : null;
    }
    at += words * 8 + count * 8;
  }
  assert.equal(at + textLength, body.length, 'a frame of rows is as long as it says');
  return { heads, rows };
}

export class Warehouse {
  static async connect(daemon, { version = 2, schema = 4, write = false } = {}) {
    const w = new Warehouse();
    w.socket = net.connect(path.join(daemon.dataDir, 'warehouse.sock'));
    w.bytes = Buffer.alloc(0);
    w.frames = [];
    w.closed = false;
    w.socket.on('data', (data) => { w.bytes = Buffer.concat([w.bytes, data]); w.cut(); });
    const ended = () => { w.closed = true; w.cut(); };
    w.socket.on('end', ended).on('close', ended).on('error', ended);
    await new Promise((resolve, reject) => { w.socket.once('connect', resolve); w.socket.once('error', reject); });
    w.send(KIND.hello, u32(MAGIC), u32(version), u32(schema), u32(write ? 1 : 0), text(''));
    const hello = await w.next();
    assert.equal(hello.kind, KIND.hello);
    w.engine = hello.body.subarray(20).toString('utf8');
    return w;
  }

  cut() {
    while (this.bytes.length >= 8 && this.bytes.length >= 8 + this.bytes.readUInt32LE(0)) {
      const end = 8 + this.bytes.readUInt32LE(0);
      this.frames.push({ kind: this.bytes.readUInt32LE(4), body: Buffer.from(this.bytes.subarray(8, end)) });
      this.bytes = this.bytes.subarray(end);
    }
    this.wake?.();
  }

  send(kind, ...parts) {
    const body = Buffer.concat(parts);
    this.socket.write(Buffer.concat([u32(body.length), u32(kind), body]));
  }

  /** The next frame; an error of the daemon is thrown. */
  async next() {
    while (this.frames.length === 0) {
      if (this.closed) throw new Error('the daemon closed the connection');
      await new Promise((resolve) => { this.wake = resolve; });
    }
    const frame = this.frames.shift();
    if (frame.kind === KIND.error) {
      const error = new Error(frame.body.subarray(16).toString('utf8'));
      error.status = frame.body.readInt32LE(0);
      throw error;
    }
    return frame;
  }

  async call(kind, ...parts) {
    this.send(kind, ...parts);
    const frame = await this.next();
    assert.equal(frame.kind, KIND.done);
    return Number(frame.body.readBigUInt64LE(0));
  }

  begin() { return this.call(KIND.begin); }

  commit() { return this.call(KIND.commit); }

  async query(sql) {
    const rows = [];
    this.send(KIND.query, Buffer.from([0]), i64(0), i64(0), text(sql), u32(0));
    for (;;) {
      const frame = await this.next();
      if (frame.kind === KIND.done) return rows;
      assert.equal(frame.kind, KIND.rows);
      const got = parseRows(frame.body);
      this.heads = got.heads;
      rows.push(...got.rows);
    }
  }

  /** Appends rows of text columns; what a row does not have is NULL. */
  async append(table, rows) {
    await this.query(`SELECT * FROM ${table} LIMIT 0`);
    const { heads } = this;
    const words = Math.ceil(rows.length / 64);
    const block = [];
    let used = 0;
    const columns = heads.map((head) => {
      const valid = Buffer.alloc(words * 8);
      const cells = Buffer.alloc(rows.length * 8);
      rows.forEach((row, i) => {
        if (row[head.name] === undefined) return;
        assert.equal(TYPES[head.type], 'text');
        valid[i >> 3] |= 1 << (i & 7);
        const bytes = Buffer.from(row[head.name]);
        cells.writeUInt32LE(used, i * 8);
        cells.writeUInt32LE(bytes.length, i * 8 + 4);
        block.push(bytes);
        used += bytes.length;
      });
      return Buffer.concat([valid, cells]);
    });
    return this.call(KIND.append, u32(tables.indexOf(table)), u32(heads.length), u32(rows.length), u32(used),
      ...heads.map((head) => Buffer.concat([Buffer.from([head.type, head.name.length]), Buffer.from(head.name)])),
      ...columns, ...block);
  }

  close() { this.socket.destroy(); }
}

/** One query on a running daemon. */
export async function ask(daemon, sql) {
  const w = await Warehouse.connect(daemon);
  try {
    return await w.query(sql);
  } finally {
    w.close();
  }
}
