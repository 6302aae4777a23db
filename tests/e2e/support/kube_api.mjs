// SPDX-License-Identifier: Apache-2.0
// An API server of Kubernetes as far as lists and watches of pods, events and nodes go: one history
// of changes with one counter of versions, pages with continue tokens of a snapshot, watches from a
// version on with bookmarks, and 410 Gone for what was compacted. That kubectl works with it shows
// that it keeps to the protocol.
import http from 'node:http';
import https from 'node:https';
import { randomUUID } from 'node:crypto';

const KINDS = {
  pods: { kind: 'Pod', namespaced: true },
  events: { kind: 'Event', namespaced: true },
  nodes: { kind: 'Node', namespaced: false },
};

const gone = (version) => ({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: `too old resource version: ${version}`, reason: 'Expired', code: 410 });
const at = (object, path) => path.split('.').reduce((value, part) => value?.[part], object);

export class KubeApi {
  constructor({ token = null, page = Infinity, tls = null } = {}) {
    this.token = token;
    this.tls = tls; // { key, cert, ca }: clients show a certificate of that authority
    this.page = page; // what a page has at most, whatever is asked for
    this.version = 1000;
    this.compacted = 0;
    this.history = []; // { version, resource, type, object }
    this.watches = new Set();
    this.requests = [];
    this.sent = { lists: 0, watches: 0, gone: 0 };
  }

  async start(port = 0) {
    const answer = (request, response) => { response.on('error', () => {}); this.#answer(request, response); };
    this.server = this.tls ? https.createServer({ ...this.tls, requestCert: true, rejectUnauthorized: true }, answer) : http.createServer(answer);
    await new Promise((resolve) => { this.server.listen(port, '127.0.0.1', resolve); });
    this.url = `${this.tls ? 'https' : 'http'}://127.0.0.1:${this.server.address().port}`;
    return this;
  }

  async stop() {
    this.disconnect();
    this.server.closeAllConnections();
    await new Promise((resolve) => { this.server.close(resolve); });
  }

  /** Something changes: ADDED, MODIFIED or DELETED. Gives the object with its version. */
  change(resource, type, object) {
    const version = ++this.version;
    const whole = { ...object, metadata: { uid: randomUUID(), creationTimestamp: new Date().toISOString().replace(/\.\d+/u, ''), ...object.metadata, resourceVersion: String(version) } };
    const entry = { version, resource, type, object: whole };
    this.history.push(entry);
    for (const watch of this.watches) if (watch.resource === resource) this.#send(watch, entry);
    return whole;
  }

  /** Versions up to this one cannot be watched from any more, nor lists of them gone on with. */
  compact(version = this.version) {
    const now = this.#snapshot(null, this.version);
    this.compacted = version;
    this.history = [...now.filter((entry) => entry.version <= version), ...this.history.filter((entry) => entry.version > version)];
  }

  /** Breaks all watches (or one of them), in the middle of a line if so told. */
  disconnect({ torn = false } = {}) {
    for (const watch of [...this.watches]) {
      if (torn) watch.response.write('{"type":"ADDED","object":{"metadata":{"name":"torn","resourceVersion":"99999999"');
      watch.response.socket?.destroy();
      this.watches.delete(watch);
    }
  }

  /** A watch hears that its version is gone, as a compacted etcd says it. */
  expire() {
    for (const watch of [...this.watches]) {
      watch.response.end(`${JSON.stringify({ type: 'ERROR', object: gone(watch.from) })}\n`);
      this.watches.delete(watch);
      this.sent.gone++;
    }
  }

  bookmark() {
    for (const watch of this.watches) {
      const { kind } = KINDS[watch.resource];
      watch.response.write(`${JSON.stringify({ type: 'BOOKMARK', object: { kind, apiVersion: 'v1', metadata: { resourceVersion: String(this.version), creationTimestamp: null } } })}\n`);
    }
  }

  /** The objects as of a version, in the order of their keys. */
  #snapshot(resource, version) {
    const objects = new Map();
    for (const entry of this.history) {
      if (entry.version > version || (resource && entry.resource !== resource)) continue;
      const key = `${entry.resource} ${entry.object.metadata.namespace ?? ''}/${entry.object.metadata.name}`;
      if (entry.type === 'DELETED') objects.delete(key); else objects.set(key, entry);
    }
    return [...objects].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b))).map(([, entry]) => entry);
  }

  #matches(object, query, namespace) {
    if (namespace && object.metadata.namespace !== namespace) return false;
    return (query.get('fieldSelector') ?? '').split(',').filter(Boolean).every((one) => {
      const [, path, not, value] = /^([\w.]+)(!?)==?(.*)$/u.exec(one);
      return (String(at(object, path) ?? '') === value) !== (not === '!');
    });
  }

  #reply(response, status, body) {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  }

  #answer(request, response) {
    const url = new URL(request.url, this.url);
    const path = url.pathname.split('/').filter(Boolean);
    this.requests.push(request.url);
    if (this.token && request.headers.authorization !== `Bearer ${this.token}`) {
      this.#reply(response, 401, { kind: 'Status', apiVersion: 'v1', status: 'Failure', message: 'Unauthorized', reason: 'Unauthorized', code: 401 });
    } else if (url.pathname === '/api') {
      this.#reply(response, 200, { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] });
    } else if (url.pathname === '/apis') {
      this.#reply(response, 200, { kind: 'APIGroupList', apiVersion: 'v1', groups: [] });
    } else if (url.pathname === '/api/v1') {
      this.#reply(response, 200, { kind: 'APIResourceList', groupVersion: 'v1', resources: Object.entries(KINDS).map(([name, { kind, namespaced }]) => ({ name, singularName: kind.toLowerCase(), namespaced, kind, verbs: ['get', 'list', 'watch'] })) });
    } else {
      const namespace = path[2] === 'namespaces' ? path[3] : null;
      const resource = path[namespace ? 4 : 2];
      if (path[0] !== 'api' || path[1] !== 'v1' || !KINDS[resource]) {
        this.#reply(response, 404, { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 });
      } else if (['true', '1'].includes(url.searchParams.get('watch'))) {
        this.#watch(request, response, resource, url.searchParams, namespace);
      } else {
        this.#list(response, resource, url.searchParams, namespace);
      }
    }
  }

  #list(response, resource, query, namespace) {
    const token = query.get('continue') ? JSON.parse(Buffer.from(query.get('continue'), 'base64url')) : { version: this.version, start: 0 };
    if (token.version < this.compacted) {
      this.sent.gone++;
      this.#reply(response, 410, gone(token.version));
      return;
    }
    this.sent.lists++;
    const all = this.#snapshot(resource, token.version).map((entry) => entry.object).filter((object) => this.#matches(object, query, namespace));
    const limit = Math.min(Number(query.get('limit') ?? 0) || Infinity, this.page);
    const items = all.slice(token.start, token.start + limit);
    const metadata = { resourceVersion: String(token.version) };
    if (token.start + items.length < all.length) {
      metadata.continue = Buffer.from(JSON.stringify({ version: token.version, start: token.start + items.length })).toString('base64url');
      metadata.remainingItemCount = all.length - token.start - items.length;
    }
    this.#reply(response, 200, { kind: `${KINDS[resource].kind}List`, apiVersion: 'v1', metadata, items });
  }

  #watch(request, response, resource, query, namespace) {
    const from = Number(query.get('resourceVersion') || 0);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    if (from < this.compacted) { // as the API server does: the error is in the stream
      this.sent.gone++;
      response.end(`${JSON.stringify({ type: 'ERROR', object: gone(from) })}\n`);
      return;
    }
    this.sent.watches++;
    const watch = { resource, query, namespace, from, response };
    this.watches.add(watch);
    for (const entry of this.history) if (entry.resource === resource && entry.version > from) this.#send(watch, entry);
    const seconds = Number(query.get('timeoutSeconds') ?? 0);
    const timer = seconds > 0 ? setTimeout(() => { this.watches.delete(watch); response.end(); }, seconds * 1000) : null;
    request.on('close', () => { this.watches.delete(watch); clearTimeout(timer); });
  }

  #send(watch, { type, resource, object }) {
    if (!this.#matches(object, watch.query, watch.namespace)) return;
    watch.response.write(`${JSON.stringify({ type, object: { kind: KINDS[resource].kind, apiVersion: 'v1', ...object } })}\n`);
  }
}

export const pod = (name, { namespace = 'train', node = 'gpu-01', status = { phase: 'Running' } } = {}) => ({
  metadata: { name, namespace }, spec: { nodeName: node, containers: [{ name: 'worker', image: 'train:1' }] }, status,
});
export const node = (name) => ({
  metadata: { name, labels: { 'kubernetes.io/hostname': name } }, spec: {},
  status: { nodeInfo: { kubeletVersion: 'v1.32.4' }, conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', lastTransitionTime: new Date().toISOString().replace(/\.\d+/u, '') }] },
});
export const event = (name, about, reason, message, host = 'gpu-01') => {
  const now = new Date().toISOString().replace(/\.\d+/u, '');
  return {
    metadata: { name, namespace: 'train' }, reason, message, type: reason === 'Pulled' ? 'Normal' : 'Warning', count: 1,
    involvedObject: { kind: 'Pod', namespace: 'train', name: about, apiVersion: 'v1', uid: `uid-${about}` },
    source: { component: 'kubelet', host }, firstTimestamp: now, lastTimestamp: now,
  };
};
