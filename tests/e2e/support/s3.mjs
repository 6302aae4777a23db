// SPDX-License-Identifier: Apache-2.0
// A real S3 server on loopback (s3_server.py: OpenStack Swift with s3api), and a client of its own to
// look into it: signed here, with Node's crypto, not by the program that is tested.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import crypto from 'node:crypto';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from './wire.mjs';

const script = path.join(path.dirname(fileURLToPath(import.meta.url)), 's3_server.py');
const sha256 = (bytes) => crypto.createHash('sha256').update(bytes).digest('hex');
const hmac = (key, text) => crypto.createHmac('sha256', key).update(text).digest();

export class S3Server {
  constructor(folder) { this.folder = folder; this.port = 0; }

  /** Starts it; again on the port that it had. Debian's Python: others do not see its packages. */
  async start() {
    this.child = spawn('/usr/bin/python3', [script, this.folder, String(this.port)], { stdio: ['pipe', 'pipe', 'pipe'] });
    let out = '';
    let errors = '';
    this.child.stdout.on('data', (text) => { out += text; });
    this.child.stderr.on('data', (text) => { errors = (errors + text).slice(-4000); });
    this.exit = null;
    this.ended = new Promise((resolve) => this.child.on('exit', (code) => { this.exit = code ?? -1; resolve(); }));
    const port = await until('the S3 server to listen', () => {
      if (this.exit !== null) throw new Error(`the S3 server ended: ${errors}`);
      return /listening (\d+)/.exec(out)?.[1];
    }, 60000, 50);
    this.port = Number(port);
    return this;
  }

  async stop() {
    if (this.child && this.exit === null) { this.child.kill('SIGKILL'); await this.ended; }
  }

  setClock(isAhead) { this.child.kill(isAhead ? 'SIGUSR1' : 'SIGUSR2'); }

  get endpoint() { return `http://127.0.0.1:${this.port}`; }

  url(bucket, prefix = '') { return `s3://${bucket}/${prefix}?endpoint=${this.endpoint}`; }

  /** One signed request: { status, headers, body }. The query is sorted and escaped. */
  async request(method, pathname, { query = '', body = Buffer.alloc(0) } = {}) {
    const stamp = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
    const day = stamp.slice(0, 8);
    const scope = `${day}/us-east-1/s3/aws4_request`;
    const headers = { host: `127.0.0.1:${this.port}`, 'x-amz-content-sha256': sha256(body), 'x-amz-date': stamp };
    const names = Object.keys(headers).sort();
    const canonical = [method, pathname, query, ...names.map((n) => `${n}:${headers[n]}`), '', names.join(';'), headers['x-amz-content-sha256']].join('\n');
    const key = ['us-east-1', 's3', 'aws4_request'].reduce(hmac, hmac('AWS4testing', day));
    const signature = hmac(key, ['AWS4-HMAC-SHA256', stamp, scope, sha256(canonical)].join('\n')).toString('hex');
    headers.authorization = `AWS4-HMAC-SHA256 Credential=test:tester/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
    return new Promise((resolve, reject) => {
      const call = http.request({ host: '127.0.0.1', port: this.port, method, path: pathname + (query ? `?${query}` : ''), headers, agent: false }, (answer) => {
        const parts = [];
        answer.on('data', (part) => parts.push(part));
        answer.on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts) }));
      });
      call.on('error', reject);
      call.end(body);
    });
  }

  async makeBucket(name) { assert.equal((await this.request('PUT', `/${name}`)).status, 200); }

  /** The keys in a bucket. */
  async keys(bucket) {
    const { status, body } = await this.request('GET', `/${bucket}`);
    assert.equal(status, 200);
    return [...body.toString().matchAll(/<Key>([^<]*)<\/Key>/g)].map((m) => m[1]);
  }

  /** Uploads in parts that were begun and not ended. */
  async uploads(bucket) {
    const { status, body } = await this.request('GET', `/${bucket}`, { query: 'uploads=' });
    assert.equal(status, 200);
    return [...body.toString().matchAll(/<UploadId>([^<]*)<\/UploadId>/g)].map((m) => m[1]);
  }
}
