// SPDX-License-Identifier: Apache-2.0
// Clients of the daemon at three depths: HTTP requests, gRPC calls over node:http2, and raw sockets
// for what neither of them would send. Every wait has an end.
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';

export const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** Waits until `ask` gives something true; the last error or `what` when it does not. */
export async function until(what, ask, timeoutMs = 60000, everyMs = 20) {
  const end = Date.now() + timeoutMs;
  let problem = '';
  for (;;) {
    try {
      const answer = await ask();
      if (answer) return answer;
      problem = '';
    } catch (error) {
      problem = `: ${error.message}`;
    }
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms for ${what}${problem}`);
    await sleep(everyMs);
  }
}

const split = (address) => {
  const at = address.lastIndexOf(':');
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(address.slice(at + 1)) };
};

/** One HTTP/1.1 request: { status, headers, body }. */
export function call(address, method, path, { body, headers = {}, agent, timeoutMs = 60000 } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request({ ...split(address), method, path, headers, agent: agent ?? false }, (answer) => {
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('error', reject);
      answer.on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts) }));
    });
    request.setTimeout(timeoutMs, () => request.destroy(new Error(`${method} ${path}: no answer in ${timeoutMs} ms`)));
    request.on('error', reject);
    request.end(body);
  });
}
export const get = (address, path, options) => call(address, 'GET', path, options);

export const PROTOBUF = 'application/x-protobuf';
export const JSON_TYPE = 'application/json';
/** POST /v1/SIGNAL. */
export const post = (address, signal, body, headers = {}, options = {}) => call(address, 'POST', `/v1/${signal}`,
  { body, headers: { 'content-type': PROTOBUF, 'content-length': Buffer.byteLength(body), ...headers }, ...options });

const service = (signal) => {
  const name = { logs: 'logs', metrics: 'metrics', traces: 'trace' }[signal];
  const camel = name[0].toUpperCase() + name.slice(1);
  return `/opentelemetry.proto.collector.${name}.v1.${camel}Service/Export`;
};

/** A gRPC message with its five bytes in front; `claim` lies about the length. */
export function frame(message, { compressed = 0, claim = message.length } = {}) {
  const head = Buffer.alloc(5);
  head.writeUInt8(compressed, 0);
  head.writeUInt32BE(claim, 1);
  return Buffer.concat([head, message]);
}

/** One HTTP/2 connection to a gRPC listener. */
export class Grpc {
  constructor(address, options = {}) {
    this.session = http2.connect(`${options.protocol ?? 'http:'}//${address}`, options);
    this.error = null;
    this.session.on('error', (error) => { this.error ??= error; });
    this.closed = new Promise((resolve) => { this.session.on('close', resolve); });
  }

  /** Sends `bytes` as the body of a call to `path`: { status, headers, trailers, grpc, message, body }. */
  raw(path, bytes, headers = {}, timeoutMs = 60000) {
    return new Promise((resolve, reject) => {
      if (this.session.destroyed) { reject(this.error ?? new Error('the connection is closed')); return; }
      const stream = this.session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers', ...headers });
      const parts = [];
      let head = {};
      let trailers = {};
      stream.setTimeout(timeoutMs, () => { stream.close(http2.constants.NGHTTP2_CANCEL); reject(new Error(`${path}: no answer in ${timeoutMs} ms`)); });
      stream.on('response', (h) => { head = h; });
      stream.on('trailers', (h) => { trailers = h; });
      stream.on('data', (part) => parts.push(part));
      stream.on('error', reject);
      stream.on('close', () => {
        const body = Buffer.concat(parts);
        resolve({
          status: head[':status'], headers: head, trailers, body,
          reset: stream.rstCode,
          grpc: Number(trailers['grpc-status'] ?? head['grpc-status'] ?? NaN),
          text: decodeURIComponent(trailers['grpc-message'] ?? head['grpc-message'] ?? ''),
          message: body.length >= 5 ? body.subarray(5) : null,
        });
      });
      stream.end(bytes);
    });
  }

  export(signal, message, headers = {}, framing = {}) {
    return this.raw(service(signal), frame(message, framing), headers);
  }

  async close() {
    if (!this.session.destroyed) this.session.close();
    const timer = setTimeout(() => this.session.destroy(), 2000);
    await this.closed;
    clearTimeout(timer);
  }
}

/** A raw TCP connection that gathers what comes. */
export class Raw {
  constructor(address) {
    this.received = Buffer.alloc(0);
    this.ended = false;
    this.error = null;
    this.socket = net.connect(split(address));
    this.socket.on('data', (part) => { this.received = Buffer.concat([this.received, part]); });
    this.socket.on('error', (error) => { this.error = error; });
    this.closed = new Promise((resolve) => {
      this.socket.on('close', () => { this.ended = true; resolve(); });
    });
    this.socket.on('end', () => { this.ended = true; });
    this.open = new Promise((resolve, reject) => {
      this.socket.on('connect', resolve);
      this.socket.on('error', reject);
    });
    this.open.catch(() => {});
  }

  write(bytes) {
    return new Promise((resolve) => {
      if (this.socket.destroyed || this.socket.writableEnded) { resolve(false); return; }
      this.socket.write(bytes, (error) => resolve(!error));
    });
  }

  get text() { return this.received.toString('latin1'); }
  get status() { return Number(/^HTTP\/1\.[01] (\d{3})/.exec(this.text)?.[1] ?? NaN); }

  answer(timeoutMs = 60000) {
    return until('an answer on the socket', () => this.status || (this.ended && -1), timeoutMs);
  }

  gone(timeoutMs = 60000) { return until('the end of the connection', () => this.ended, timeoutMs); }
  destroy() { this.socket.destroy(); }
}

/** Sends bytes, ends that side and gives all that came back. */
export async function exchange(address, bytes, { end = true, timeoutMs = 10000 } = {}) {
  const raw = new Raw(address);
  await raw.open;
  await raw.write(bytes);
  if (end) raw.socket.end();
  await raw.gone(timeoutMs);
  raw.destroy();
  return raw;
}
