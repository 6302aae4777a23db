// SPDX-License-Identifier: Apache-2.0
// A simulated fleet as a daemon meets one: `tracecore simulate --stream` says what happens when, and this plays the
// cluster. Kernel logs and every other job's log are files that grow and are rotated, exporters answer with the newest
// scrape of their nodes, an API server tells of pods, events and nodes, dumps appear in folders, and the other jobs'
// logs are sent as OTLP. All that was handed over is kept as files as well, for `tracecore detect`.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { binary } from './daemon.mjs';
import { KubeApi } from './kube_api.mjs';
import { JSON_TYPE, post, sleep, until } from './wire.mjs';

const KINDS = { pods: 'Pod', events: 'Event', nodes: 'Node' };
const REQUEST = '{"resourceLogs":[';
const TARGETS_MAX = 64;

/** The pieces of the stream: { at: milliseconds, file, bytes }. Nobody reads ahead of who asks. */
async function* pieces(stream) {
  let rest = Buffer.alloc(0);
  for await (const part of stream) {
    rest = rest.length === 0 ? part : Buffer.concat([rest, part]);
    for (let at = 0; ;) {
      const end = rest.indexOf(10, at);
      const [time, length, file] = end < 0 ? [] : rest.toString('latin1', at, end).split(' ');
      if (end < 0 || rest.length < end + 1 + Number(length)) { rest = rest.subarray(at); break; }
      at = end + 1 + Number(length);
      yield { at: Number(time) / 1e6, file, bytes: rest.subarray(end + 1, at) };
    }
  }
  if (rest.length > 0) throw new Error('the stream ends in the middle of a piece');
}

/** A value of OTLP's JSON as plain JSON. */
function plain(value) {
  if (value.kvlistValue) return members(value.kvlistValue.values);
  if (value.arrayValue) return (value.arrayValue.values ?? []).map(plain);
  if (value.intValue !== undefined) return Number(value.intValue);
  return value.stringValue ?? value.boolValue ?? value.doubleValue ?? null;
}
const members = (list) => Object.fromEntries((list ?? []).map(({ key, value }) => [key, plain(value)]));

/** What a record of the Collector's k8seventsreceiver was made from. */
function eventObject(resource, record) {
  const about = members(resource.attributes);
  const said = members(record.attributes);
  const last = `${new Date(Number(BigInt(record.timeUnixNano) / 1000000n)).toISOString().slice(0, 19)}Z`;
  return {
    metadata: { name: said['k8s.event.name'], namespace: said['k8s.namespace.name'], uid: said['k8s.event.uid'], creationTimestamp: said['k8s.event.start_time'] },
    involvedObject: { kind: about['k8s.object.kind'], namespace: said['k8s.namespace.name'], name: about['k8s.object.name'], uid: about['k8s.object.uid'], apiVersion: about['k8s.object.api_version'] },
    reason: said['k8s.event.reason'], message: record.body.stringValue, type: record.severityText, count: said['k8s.event.count'],
    firstTimestamp: said['k8s.event.start_time'], lastTimestamp: last,
    source: { component: said['k8s.event.reporting_controller'], host: about['k8s.node.name'] },
    reportingComponent: said['k8s.event.reporting_controller'], reportingInstance: said['k8s.event.reporting_instance'],
  };
}

/** A log that somebody rotates: by rename, or by copy and truncate. */
class RotatedLog {
  constructor(file, mode, most) {
    Object.assign(this, { file, mode, most, size: 0, rotations: 0 });
    fs.mkdirSync(path.dirname(file), { recursive: true });
  }

  append(text) {
    if (this.size + text.length > this.most && this.size > 0) this.#rotate();
    fs.appendFileSync(this.file, text);
    this.size += text.length;
  }

  #rotate() {
    this.rotations++;
    this.size = 0;
    if (fs.existsSync(`${this.file}.1`)) fs.renameSync(`${this.file}.1`, `${this.file}.2`);
    if (this.mode === 'rename') { fs.renameSync(this.file, `${this.file}.1`); return; }
    fs.copyFileSync(this.file, `${this.file}.1`);
    fs.truncateSync(this.file, 0);
  }
}

export class Fleet {
  /**
   * @param {object} o { dir, nodes, hours, seed, startMs: when the fleet's day begins, kernelLog, jobLog: bytes after which a log is rotated,
   *   more: options of simulate }
   */
  constructor(o) {
    this.o = { kernelLog: 16384, jobLog: 1 << 20, more: [], ...o };
    this.kept = path.join(o.dir, 'kept'); // what `detect` reads
    this.live = path.join(o.dir, 'live'); // what is rotated
    fs.mkdirSync(this.kept, { recursive: true });
    this.counts = { lines: 0, objects: 0, scrapes: 0, stale: 0, samples: 0, dumps: 0, requests: 0, posted: 0, retried: 0, records: 0 };
    this.logs = new Map();
    this.posting = Promise.resolve(); // requests, one after the other
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    this.scrapes = new Map(); // node -> { bytes, served }
    this.waiting = []; // elements of OTLP that the next request has
    this.appends = new Map(); // file -> pieces that are not written yet
    this.atMs = o.startMs;
    this.marks = []; // what had been handed over, when
    this.lagMs = 0; // the most
    const each = Math.ceil(o.nodes / TARGETS_MAX);
    this.targets = Array.from({ length: Math.ceil(o.nodes / each) }, (_, t) => Array.from({ length: Math.min(each, o.nodes - t * each) }, (_n, n) => `gpu-${String(1 + t * each + n).padStart(4, '0')}`));
  }

  async start() {
    this.api = await new KubeApi().start();
    this.exporters = http.createServer({ keepAliveTimeout: 60000 }, (request, answer) => this.#scrape(Number(request.url.slice(2)), request, answer));
    await new Promise((resolve) => { this.exporters.listen(0, '127.0.0.1', resolve); });
    return this;
  }

  async stop() {
    this.child?.kill();
    this.agent.destroy();
    this.exporters.closeAllConnections();
    await new Promise((resolve) => { this.exporters.close(resolve); });
    await this.api.stop();
  }

  /** The sources of a daemon that watches all of it. */
  sources(scrapeInterval) {
    const at = `http://127.0.0.1:${this.exporters.address().port}`;
    return {
      files: { paths: [path.join(this.live, 'kernel/kern-{node}.log'), path.join(this.live, 'jobs/{job}.json')], poll: '200ms' },
      dumps: { paths: [path.join(this.kept, 'dumps/*/nccl_trace_rank_*')], poll: '100ms' },
      scrape: { enabled: 'true', interval: scrapeInterval, timeout: scrapeInterval, targets: this.targets.map((_, t) => `t${String(t).padStart(2, '0')}=${at}/t${t}`) },
      kubernetes: { url: this.api.url, watch: '1m' },
    };
  }

  /**
   * An exporter's page: what its nodes said last, one family after the other, each scrape once. That an answer arrived is
   * known when the next request comes on its connection: who gave up waiting has closed it. Only then is it kept.
   */
  #scrape(target, request, answer) {
    const arrived = request.socket.page;
    request.socket.page = null;
    if (arrived) {
      this.#keep(`exporters/t${target}.prom`, arrived.text);
      this.counts.samples += arrived.samples;
      this.counts[arrived.fresh ? 'scrapes' : 'stale']++;
    } else if (arrived === undefined) {
      request.socket.on('close', () => request.socket.page?.nodes.forEach((one) => { one.served = false; }));
    }
    const nodes = this.targets[target].map((name) => this.scrapes.get(name)).filter(Boolean);
    if (nodes.length === 0) { answer.statusCode = 503; answer.end(); return; }
    const fresh = nodes.filter((one) => !one.served);
    const pages = (fresh.length > 0 ? fresh : nodes).map((one) => one.bytes.toString('latin1').split(/^(?=# TYPE )/mu));
    let text = '';
    for (let f = 0; f < pages[0].length; f++) pages.forEach((page, p) => { text += p === 0 ? page[f] : page[f].slice(page[f].indexOf('\n') + 1); });
    for (const one of fresh) one.served = true;
    request.socket.page = { text, nodes: fresh, fresh: fresh.length > 0, samples: text.split('\n').length - 1 - pages[0].length };
    answer.setHeader('content-type', 'text/plain; version=0.0.4');
    answer.end(text);
  }

  #keep(file, bytes) {
    const list = this.appends.get(file) ?? [];
    list.push(bytes);
    this.appends.set(file, list);
  }

  #log(file, mode, most) {
    if (!this.logs.has(file)) this.logs.set(file, new RotatedLog(path.join(this.live, file), mode, most));
    return this.logs.get(file);
  }

  /** One piece of the stream happens. */
  #happen({ file, bytes }) {
    const [kind, name] = file.split('/');
    const number = Number(/(\d+)\./u.exec(file)?.[1] ?? 0);
    this.counts.records++;
    if (kind === 'kernel') {
      this.#log(file, number % 2 ? 'rename' : 'copytruncate', this.o.kernelLog).append(bytes);
      this.#keep(file, Buffer.from(bytes));
      this.counts.lines++;
    } else if (kind === 'dcgm') {
      this.scrapes.set(name.slice(5, -5), { bytes: Buffer.from(bytes), served: false });
    } else if (kind === 'training') {
      this.#keep(file, Buffer.from(bytes));
      if (number % 2) {
        this.waiting.push(bytes.toString('utf8', REQUEST.length, bytes.length - 3));
      } else {
        this.#log(`jobs/${name}`, 'rename', this.o.jobLog).append(bytes);
        this.counts.lines++;
      }
    } else if (kind === 'k8s') {
      this.#change(JSON.parse(bytes).resourceLogs[0]);
    } else {
      this.#dumpPart(path.join(this.kept, file), bytes);
      this.counts.dumps += kind === 'dumps' && this.dump !== file;
      this.dump = file;
    }
  }

  #dumpPart(file, bytes) {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.appendFileSync(file, bytes);
  }

  #change({ resource, scopeLogs: [{ logRecords: [record] }] }) {
    const body = plain(record.body);
    const kind = record.body.kvlistValue ? members(record.attributes)['k8s.resource.name'] : 'events';
    const [type, object] = kind === 'events' ? ['ADDED', eventObject(resource, record)] : [body.type, body.object];
    const whole = this.api.change(kind, type, object);
    this.#keep(`k8s/${kind}.json`, `${JSON.stringify({ type, object: { kind: KINDS[kind], apiVersion: 'v1', ...whole } })}\n`);
    this.counts.objects++;
  }

  /** What was gathered goes out: to the files that are kept, and as OTLP, one request after the other. */
  #flush(daemon) {
    for (const [file, list] of this.appends) {
      fs.mkdirSync(path.dirname(path.join(this.kept, file)), { recursive: true });
      fs.appendFileSync(path.join(this.kept, file), typeof list[0] === 'string' ? list.join('') : Buffer.concat(list));
    }
    this.appends.clear();
    while (this.waiting.length > 0) {
      let size = 0;
      const some = this.waiting.findIndex((text) => (size += text.length) > 1 << 20);
      const body = `${REQUEST}${this.waiting.splice(0, some < 0 ? this.waiting.length : Math.max(1, some)).join(',')}]}`;
      this.counts.requests++;
      this.posting = this.posting.then(() => this.#post(daemon, body)).catch((error) => { this.error = error; });
    }
    this.marks.push({ at: performance.now(), ...this.counts });
  }

  async #post(daemon, body) {
    for (;;) {
      const { status } = await post(daemon.http, 'logs', body, { 'content-type': JSON_TYPE }, { agent: this.agent });
      if (status === 200) break;
      if (status !== 503 && status !== 429) throw new Error(`OTLP is answered with ${status}`);
      this.counts.retried++;
      await sleep(50);
    }
    this.counts.posted++;
  }

  /** How long ago that happened which the daemon has not read yet, in milliseconds; 0: it has read all of it. */
  async #lag(daemon) {
    const sources = new Map((await daemon.status()).sources.map((one) => [one.name, one]));
    const reached = (mark) => this.counts.posted >= mark.requests && sources.get('files').records >= mark.lines && sources.get('kubernetes').records >= mark.objects;
    if (this.error) throw this.error;
    while (this.marks.length > 0 && reached(this.marks[0])) this.marks.shift();
    return this.marks.length > 0 ? performance.now() - this.marks[0].at : 0;
  }

  /** Waits until the daemon is no further behind than `slackMs`; with 0, until exporters were asked for all they have too. */
  async #level(daemon, slackMs) {
    for (;;) {
      const lag = await this.#lag(daemon);
      this.lagMs = Math.max(this.lagMs, lag);
      if (lag <= slackMs && (slackMs > 0 || [...this.scrapes.values()].every((one) => one.served))) return;
      await sleep(5);
    }
  }

  /**
   * Plays the whole of it to a daemon that watches.
   * @param {object} o { speed: times real time; 0: the next tick comes as soon as the daemon has read the last one,
   *   tickMs: of the fleet's time, slackMs: how far (of ours) the daemon may be behind before the fleet waits for it }
   */
  async play(daemon, { speed = 0, tickMs = 5000, slackMs = 0 }) {
    const { nodes, hours, seed, startMs, more } = this.o;
    const words = ['simulate', '--stream', '--nodes', String(nodes), '--hours', String(hours), '--seed', String(seed), '--start', new Date(startMs).toISOString(), ...more];
    this.child = spawn(binary, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = new Promise((resolve) => { this.child.on('close', resolve); });
    const began = performance.now();
    let end = startMs + tickMs;
    let looked = began;
    for await (const piece of pieces(this.child.stdout)) {
      while (piece.at >= end) {
        this.atMs = end;
        this.#flush(daemon);
        const due = speed > 0 ? began + (end - startMs) / speed : 0;
        if (performance.now() < due) await sleep(due - performance.now());
        if (slackMs === 0 || performance.now() - looked > 100) {
          await this.#level(daemon, slackMs);
          looked = performance.now();
        }
        end += tickMs;
      }
      if (this.ending) { this.child.kill(); break; }
      this.#happen(piece);
    }
    this.#flush(daemon);
    await this.posting;
    if (this.error) throw this.error;
    if (await ended !== 0 && !this.ending) throw new Error('simulate failed');
    this.tookMs = performance.now() - began;
  }
}

/** Waits until a daemon has read and judged all that was played to it, `holdMs` after it came; gives its status. */
export async function settled(fleet, daemon, holdMs) {
  const wanted = { files: 'lines', kubernetes: 'objects', dumps: 'dumps' };
  await until('the sources', async () => {
    const now = await daemon.status();
    return now.sources.every((one) => !(one.name in wanted) || one.records >= fleet.counts[wanted[one.name]]) ? now : null;
  }, 60000, 100).catch(() => {}); // what is missing is the caller's to say
  // Nothing that happened waits any more: what still comes are scrapes that were there before.
  const scraped = fleet.counts.stale;
  await until('exporters to be asked again', () => fleet.counts.stale >= scraped + 2 * fleet.targets.length, 60000);
  await sleep(holdMs + 2000); // files are settled a second after that
  let told = -1;
  await until('the last verdict', async () => {
    const before = told;
    told = (await daemon.metrics()).sum('tracecore_verdicts_total');
    return before === told;
  }, 120000, 2000);
  return daemon.status();
}

/** A verdict as it would be told of the same events at another time: when it was found, and how often told, are left out. */
function essence({ detected_at: _at, status, evidence_trail: trail, ...rest }) {
  return { ...rest, resolved: status === 'resolved', evidence_trail: trail.map(({ raw, ...one }) => one) };
}

/** What of two lists of verdicts differs: those that one has alone, and fields that are not the same. */
export function differences(live, offline) {
  const at = (list) => new Map(list.map((one) => [one.incident_id, essence(one)]));
  const [a, b] = [at(live), at(offline)];
  const fields = {};
  const examples = [];
  for (const [id, one] of a) {
    const other = b.get(id);
    if (!other) continue;
    for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
      const [x, y] = [one, other].map((v) => JSON.stringify(v[key]));
      if (x === y) continue;
      fields[key] = (fields[key] ?? 0) + 1;
      if (fields[key] <= 3) examples.push({ id, pattern: one['pattern.name'], key, live: x, offline: y });
    }
  }
  return { live: live.filter((one) => !b.has(one.incident_id)), offline: offline.filter((one) => !a.has(one.incident_id)), fields, examples };
}
