// SPDX-License-Identifier: Apache-2.0
// Debian's prometheus and prometheus-alertmanager on ports of their own, for tests that let them
// scrape a daemon. Each ends with `stop`.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { get, until } from './wire.mjs';

const START_MS = 60000;

export const isInstalled = (program) => spawnSync(program, ['--version']).error === undefined;

export const freePort = () => new Promise((resolve, reject) => {
  const server = net.createServer();
  server.on('error', reject);
  server.listen(0, '127.0.0.1', () => { const { port } = server.address(); server.close(() => resolve(port)); });
});

async function startProgram(program, args, address, home, readyAt = '/-/ready') {
  const log = fs.openSync(path.join(home, `${program}.log`), 'w');
  const child = spawn(program, args, { stdio: ['ignore', log, log], cwd: home });
  fs.closeSync(log);
  let ended = null;
  const end = new Promise((resolve) => {
    child.on('exit', (code) => { ended = `exit status ${code}`; resolve(); });
    child.on('error', (error) => { ended = error.message; resolve(); });
  });
  await until(`${program} to be ready`, async () => {
    if (ended) return true;
    return (await get(address, readyAt)).status === 200;
  }, START_MS, 100);
  if (ended) throw new Error(`${program}: ${ended}\n${fs.readFileSync(path.join(home, `${program}.log`), 'utf8')}`);
  return {
    address,
    json: async (where) => JSON.parse((await get(address, where)).body),
    stop: async () => { child.kill('SIGTERM'); await end; },
  };
}

/** Tells of this machine. */
export async function startNodeExporter(home) {
  const address = `127.0.0.1:${await freePort()}`;
  return startProgram('prometheus-node-exporter', [`--web.listen-address=${address}`], address, home, '/');
}

/** Keeps alerts, and tells nobody, or the webhook of that address at once: one group per story. */
export async function startAlertmanager(home, { address = null, webhook = null } = {}) {
  address ??= `127.0.0.1:${await freePort()}`;
  const config = path.join(home, 'alertmanager.yml');
  const route = { receiver: 'it', group_by: ['story'], group_wait: '1s', group_interval: '1s', repeat_interval: '1h' };
  const receiver = { name: 'it', ...(webhook ? { webhook_configs: [{ url: webhook, send_resolved: true }] } : {}) };
  fs.writeFileSync(config, JSON.stringify({ route, receivers: [receiver] }));
  return startProgram('prometheus-alertmanager', [`--config.file=${config}`, `--storage.path=${path.join(home, 'alerts')}`,
    `--web.listen-address=${address}`, '--cluster.listen-address='], address, home);
}

/** Scrapes `targets` every second as job "tracecore", and evaluates `rules` as often; takes remote write. */
export async function startPrometheus(home, { targets = [], rules = [], alertmanagers = [], address = null }) {
  address ??= `127.0.0.1:${await freePort()}`;
  const config = path.join(home, 'prometheus.yml');
  fs.writeFileSync(config, JSON.stringify({
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s', external_labels: { site: 'test' } },
    rule_files: rules,
    alerting: { alertmanagers: [{ static_configs: [{ targets: alertmanagers }] }] },
    scrape_configs: [{ job_name: 'tracecore', static_configs: [{ targets }] }],
  }));
  const started = await startProgram('prometheus', [`--config.file=${config}`, `--storage.tsdb.path=${path.join(home, 'tsdb')}`,
    `--web.listen-address=${address}`, '--log.level=warn', '--web.enable-remote-write-receiver'], address, home);
  return {
    ...started,
    /** The samples of an instant query: [{ metric, value }]. */
    query: async (expression) => (await started.json(`/api/v1/query?query=${encodeURIComponent(expression)}`)).data.result
      .map((row) => ({ metric: row.metric, value: Number(row.value[1]) })),
  };
}
