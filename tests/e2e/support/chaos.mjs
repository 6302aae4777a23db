// SPDX-License-Identifier: Apache-2.0
// kill -9 under load. Several senders write records with ids of their own, in every form; the daemon
// is killed at random moments and started again. At the end every acknowledged request must be in
// the store byte for byte, everything in the store must be something that was sent, and every
// fault that was acknowledged must have been told as one incident, opened once.
import { createHash } from 'node:crypto';
import http from 'node:http';
import zlib from 'node:zlib';
import { Daemon } from './daemon.mjs';
import { logs, logsJson, metrics, nowNs, traces, xid48 } from './otlp.mjs';
import { Grpc, JSON_TYPE, PROTOBUF, post, sleep, until } from './wire.mjs';

const ID = /req-(\d{8})-end/;
const digest = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** Chance that a seed repeats. */
export function random(seed) {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13; state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5; state >>>= 0;
    return state / 4294967296;
  };
}

class Chaos {
  constructor(options) {
    this.options = options;
    this.chance = random(options.seed);
    this.sent = new Map(); // id -> { sha, acked }
    this.faults = new Map(); // node -> { acked }
    this.next = 1;
    this.running = false;
    this.errors = [];
  }

  /** One request: where to, what. */
  make(sender) {
    const id = `req-${String(this.next++).padStart(8, '0')}-end`;
    const fault = this.chance() < this.options.faultShare;
    const node = fault ? `gpu-${id.slice(4, 12)}` : `gpu-load-${sender}`;
    const time = nowNs();
    const records = fault ? [{ body: xid48(), severity: 17, time, attributes: { id } }]
      : Array.from({ length: 1 + Math.floor(this.chance() * 60) }, (_, i) => ({
        body: `step ${i} of ${id}, loss ${this.chance()}`, time, attributes: { id, rank: i } }));
    const kind = fault ? sender % 3 : Math.floor(this.chance() * 5);
    const resource = { 'host.name': node };
    if (fault) this.faults.set(node, { acked: false, id });
    if (kind === 1) return { id, node, fault, form: 'json', signal: 'logs', body: Buffer.from(logsJson(resource, records)) };
    if (kind === 3) return { id, form: 'http', signal: 'metrics', body: metrics(resource, [{ name: 'tests.level', points: records.map((r, i) => ({ value: i, time, attributes: r.attributes })) }]) };
    if (kind === 4) return { id, form: 'http', signal: 'traces', body: traces(resource, records.map((r) => ({ name: r.body, attributes: r.attributes }))) };
    return { id, node, fault, form: kind === 2 ? 'grpc' : 'http', signal: 'logs', body: logs(resource, records) };
  }

  async deliver(link, request) {
    const packed = this.chance() < 0.3 ? zlib.gzipSync(request.body, { level: 1 }) : null;
    if (request.form === 'grpc') {
      const answer = await link.grpc.export(request.signal, packed ?? request.body, packed ? { 'grpc-encoding': 'gzip' } : {}, { compressed: packed ? 1 : 0 });
      if (Number.isNaN(answer.grpc)) return 'gone'; // the stream ended without a status
      return answer.grpc === 0 ? 'acked' : `gRPC ${answer.grpc} ${answer.text}`;
    }
    const headers = { 'content-type': request.form === 'json' ? JSON_TYPE : PROTOBUF, ...(packed ? { 'content-encoding': 'gzip' } : {}) };
    const answer = await post(this.daemon.http, request.signal, packed ?? request.body, headers, { agent: link.agent });
    if (answer.status === 200) return 'acked';
    return answer.status === 503 ? 'busy' : `HTTP ${answer.status} ${answer.body}`;
  }

  /** Sends until the daemon is gone. A fault that was not acknowledged is sent again, as clients do. */
  async sender(number) {
    const link = { agent: new http.Agent({ keepAlive: true, maxSockets: 1 }), grpc: new Grpc(this.daemon.grpc) };
    const { pace } = this.options;
    while (this.running) {
      const request = this.waiting[number] ?? this.make(number);
      this.waiting[number] = null;
      if (!this.sent.has(request.id)) this.sent.set(request.id, { sha: digest(request.body), acked: false });
      let outcome;
      try {
        outcome = await this.deliver(link, request);
      } catch {
        outcome = 'gone';
      }
      if (outcome === 'acked') {
        this.sent.get(request.id).acked = true;
        if (request.fault) this.faults.get(request.node).acked = true;
      } else {
        if (request.fault) this.waiting[number] = request;
        if (outcome !== 'gone' && outcome !== 'busy') this.errors.push(outcome);
        if (outcome === 'gone') break;
        await sleep(10);
      }
      if (pace > 0) await sleep(pace);
    }
    link.agent.destroy();
    link.grpc.session.destroy();
  }

  async round(number) {
    const began = Date.now();
    this.rounds = number;
    await this.daemon.start();
    const startMs = Date.now() - began;
    this.slowest = Math.max(this.slowest ?? 0, startMs);
    this.running = true;
    const senders = Array.from({ length: this.options.senders }, (_, i) => this.sender(i));
    await sleep(this.chance() ** 2 * this.options.lifeMs);
    this.running = number === this.options.rounds ? false : this.running;
    this.options.before?.();
    await this.daemon.kill();
    this.running = false;
    await Promise.all(senders);
  }

  /** Every body in the store, once: its id and its digest. */
  readStore(problems) {
    const found = new Map();
    for (const { number, bytes, body } of this.daemon.eachBody()) {
      const id = ID.exec(body.toString('latin1'))?.[0];
      if (!id) problems.push(`batch ${number} of ${bytes} bytes is nothing that was sent`);
      else if (this.sent.get(id)?.sha !== digest(body)) problems.push(`batch ${number}, ${id}: other bytes than were sent`);
      else found.set(id, (found.get(id) ?? 0) + 1);
    }
    return found;
  }

  check() {
    const problems = [];
    const verify = this.daemon.verify();
    if (verify.status !== 0) problems.push(`evidence verify: ${verify.stderr || verify.text}`);
    const found = this.readStore(problems);
    let acked = 0;
    for (const [id, request] of this.sent) {
      if (request.acked) {
        acked++;
        if (!found.has(id)) problems.push(`${id} was acknowledged and is not in the store`);
      }
    }
    const opened = new Map();
    for (const verdict of this.daemon.verdicts()) {
      const node = verdict['k8s.node.name'];
      if (verdict.status === 'open') opened.set(node, (opened.get(node) ?? 0) + 1);
      if (!this.faults.has(node)) problems.push(`a verdict about ${node}, of which no fault was sent`);
    }
    for (const [node, n] of opened) if (n !== 1) problems.push(`the incident of ${node} was opened ${n} times`);
    for (const [node, fault] of this.faults) {
      if (fault.acked && !opened.has(node)) problems.push(`the incident of ${node} was lost`);
    }
    return { problems, requests: this.sent.size, acked, stored: found.size, faults: this.faults.size, incidents: opened.size };
  }

  async run() {
    const { dir, disk, rounds, faults, config, say } = this.options;
    this.daemon = new Daemon(dir, config, { disk });
    this.waiting = [];
    for (let number = 1; number <= rounds || this.faults.size < faults; number++) {
      await this.round(number);
      await this.options.cut?.(this.daemon);
      if (number % 20 === 0) say?.(`round ${number} of ${rounds}: ${this.sent.size} requests, ${this.faults.size} faults`);
    }
    await this.daemon.start();
    await this.settle();
    const result = this.check();
    await this.daemon.stop();
    if (this.errors.length > 0) result.problems.push(`answers that no load deserves: ${[...new Set(this.errors)].slice(0, 5).join('; ')}`);
    return { rounds: this.rounds, ...result, slowest_start_ms: this.slowest };
  }

  /** Faults that were never acknowledged are sent once more; then what was acknowledged is told. */
  async settle() {
    for (const request of this.waiting.filter(Boolean)) {
      if ((await post(this.daemon.http, 'logs', request.body, { 'content-type': request.form === 'json' ? JSON_TYPE : PROTOBUF })).status === 200) {
        this.sent.get(request.id).acked = true;
        this.faults.get(request.node).acked = true;
      }
    }
    const wanted = [...this.faults].filter(([, fault]) => fault.acked).map(([node]) => node);
    await until('all incidents to be told', () => {
      const told = new Set(this.daemon.verdicts().map((verdict) => verdict['k8s.node.name']));
      return wanted.every((node) => told.has(node));
    }, 15000, 100).catch(() => {});
  }
}

/**
 * options: dir, disk (of data and verdicts, if another), rounds, senders, lifeMs (the longest life of a round), pace (ms between two requests
 * of a sender), faultShare, seed, config, say; faults: rounds go on until so many were sent;
 * before, cut: called before and after each kill.
 */
export const chaos = (options) => new Chaos({
  rounds: 8, senders: 6, lifeMs: 800, pace: 2, faultShare: 0.04, faults: 0, seed: 1, config: {}, ...options,
}).run();
