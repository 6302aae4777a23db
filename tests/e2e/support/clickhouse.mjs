// SPDX-License-Identifier: Apache-2.0
// Debian's clickhouse-server on loopback, with a configuration and a folder of its own; several of
// them know each other as the shards of a cluster, or as the replicas of one.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import path from 'node:path';
import { freePort } from './prometheus.mjs';
import { get, until } from './wire.mjs';

const START_MS = 60000;
const MEMORY = '/dev/shm';
const MEMORY_BYTES_MIN = 4e9;

export const noClickHouse = spawnSync('clickhouse-server', ['--help']).error ? 'clickhouse-server is not installed' : false;

const users = `<yandex><profiles><default><max_threads>1</max_threads><background_pool_size>2</background_pool_size></default></profiles><quotas><default/></quotas><users>
<default><password/><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
<guarded><password>right</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></guarded>
</users></yandex>`;

/**
 * Where a server keeps its tables: in memory, where there is room, for each insert makes dozens of files
 * there. Removed when the process ends.
 */
function placeOfTables(home) {
  try {
    const { bavail, bsize } = fs.statfsSync(MEMORY);
    if (bavail * bsize >= MEMORY_BYTES_MIN) {
      const place = fs.mkdtempSync(path.join(MEMORY, 'tc_clickhouse_'));
      process.on('exit', () => fs.rmSync(place, { recursive: true, force: true }));
      return place;
    }
  } catch {
    // No such file system: the server's own folder.
  }
  return home;
}

/** As the shards of the cluster "two"; with a ZooKeeper, as the replicas of its only shard. */
function clusterOf(servers, zookeeper) {
  const replicas = servers.map((s) => `<replica><host>127.0.0.1</host><port>${s.tcp}</port></replica>`);
  return zookeeper ? `<shard><internal_replication>true</internal_replication>${replicas.join('')}</shard>` : replicas.map((r) => `<shard>${r}</shard>`).join('');
}

function configOf(home, place, { port, tcp, interserver }, servers, zookeeper) {
  const replicated = zookeeper ? `<zookeeper><node><host>127.0.0.1</host><port>${zookeeper}</port></node><session_timeout_ms>4000</session_timeout_ms></zookeeper>
<macros><shard>1</shard><replica>r${tcp}</replica></macros><interserver_http_port>${interserver}</interserver_http_port><interserver_http_host>127.0.0.1</interserver_http_host>` : '';
  return `<yandex><logger><level>warning</level><log>${home}/log</log><errorlog>${home}/errors</errorlog></logger>
<http_port>${port}</http_port><tcp_port>${tcp}</tcp_port><listen_host>127.0.0.1</listen_host>
<path>${place}/data/</path><tmp_path>${place}/tmp/</tmp_path><users_config>users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>67108864</mark_cache_size><remote_servers incl="none"><two>${clusterOf(servers, zookeeper)}</two></remote_servers>${replicated}</yandex>`;
}

async function startOne(home, own, servers, { zookeeper, onDisk }) {
  const place = onDisk ? home : placeOfTables(home);
  for (const folder of [home, path.join(place, 'data'), path.join(place, 'tmp')]) {
    fs.mkdirSync(folder, { recursive: true });
  }
  fs.writeFileSync(path.join(home, 'config.xml'), configOf(home, place, own, servers, zookeeper));
  fs.writeFileSync(path.join(home, 'users.xml'), users);
  const address = `127.0.0.1:${own.port}`;
  let child;
  let ended;
  let end;
  const start = async () => {
    ended = null;
    child = spawn('clickhouse-server', [`--config-file=${path.join(home, 'config.xml')}`], { stdio: 'ignore', cwd: home });
    end = new Promise((resolve) => {
      child.on('exit', (code) => { ended = `exit status ${code}`; resolve(); });
      child.on('error', (error) => { ended = error.message; resolve(); });
    });
    await until('clickhouse-server to be ready', async () => {
      if (ended) throw new Error(`clickhouse-server: ${ended}\n${fs.readFileSync(path.join(home, 'errors'), 'utf8')}`);
      return (await get(address, '/').catch(() => ({}))).status === 200;
    }, START_MS, 100);
  };
  await start();
  return {
    address,
    start,
    /** Seconds of processor time that it has spent. */
    spent: () => {
      const fields = fs.readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1].split(' ');
      return (Number(fields[11]) + Number(fields[12])) / 100;
    },
    kill: async (signal = 'SIGKILL') => { child.kill(signal); await end; },
    sql: (text) => post(address, text),
  };
}

function post(address, text) {
  return new Promise((resolve, reject) => {
    const request = http.request(`http://${address}/`, { method: 'POST', agent: false }, (reply) => {
      let body = '';
      reply.on('data', (chunk) => { body += chunk; });
      reply.on('end', () => (reply.statusCode === 200 ? resolve(body.trim()) : reject(new Error(body))));
    });
    request.on('error', reject);
    request.end(text);
  });
}

/**
 * As many servers as asked for, each a shard of the cluster "two"; zookeeper: the port of one, they are replicas of
 * its only shard. onDisk: tables are in home, as in a benchmark.
 */
export async function startClickHouse(home, count, { zookeeper = null, onDisk = false } = {}) {
  const servers = [];
  for (let i = 0; i < count; i++) {
    servers.push({ port: await freePort(), tcp: await freePort(), interserver: zookeeper ? await freePort() : null });
  }
  return Promise.all(servers.map((own, i) => startOne(path.join(home, `shard-${i}`), own, servers, { zookeeper, onDisk })));
}

/**
 * Between a command and a server. `fate(sql, count)` decides for the count-th statement of its kind:
 * nothing, 'drop' (it never arrives) or 'deaf' (it arrives, and the reply is lost). With a key and a
 * certificate it speaks TLS.
 */
export async function startProxy(server, fate, tls = null) {
  const counts = {};
  const serve = (request, reply) => {
    const parts = [];
    request.on('data', (chunk) => parts.push(chunk));
    request.on('end', async () => {
      const body = Buffer.concat(parts);
      const query = new URL(request.url, 'http://x').searchParams.get('query') ?? body.toString('latin1');
      const kind = /^INSERT INTO (\w+)/u.exec(query)?.[1] ?? 'other';
      counts[kind] = (counts[kind] ?? 0) + 1;
      const what = await fate(kind, counts[kind]);
      if (what === 'drop') {
        request.socket.destroy();
        return;
      }
      const [host, port] = server.address.split(':');
      const headers = { ...request.headers, connection: 'close' };
      const onward = http.request({ host, port, path: request.url, method: request.method, headers }, (answer) => {
        if (what === 'deaf') {
          answer.resume();
          answer.on('end', () => request.socket.destroy());
          return;
        }
        reply.writeHead(answer.statusCode, { 'content-type': 'text/plain' });
        answer.pipe(reply);
      });
      onward.on('error', () => request.socket.destroy());
      onward.end(body);
    });
  };
  const proxy = tls ? https.createServer(tls, serve) : http.createServer(serve);
  await new Promise((resolve) => { proxy.listen(0, '127.0.0.1', resolve); });
  return {
    address: `127.0.0.1:${proxy.address().port}`,
    counts,
    stop: () => new Promise((resolve) => { proxy.closeAllConnections(); proxy.close(resolve); }),
  };
}
