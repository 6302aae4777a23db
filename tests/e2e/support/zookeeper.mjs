// SPDX-License-Identifier: Apache-2.0
// Debian's ZooKeeper on loopback, with a folder of its own: what replicated tables of ClickHouse need.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { freePort } from './prometheus.mjs';
import { until } from './wire.mjs';

const CLASSES = '/usr/share/java/zookeeper.jar';
const START_MS = 60000;

export const noZooKeeper = spawnSync('java', ['-version']).error || !fs.existsSync(CLASSES) ? 'zookeeper and a Java runtime are not installed' : false;

/** What it answers to a word of four letters; '' while it does not. */
function say(port, word) {
  return new Promise((resolve) => {
    let text = '';
    const socket = net.connect(port, '127.0.0.1', () => socket.end(word));
    socket.on('data', (chunk) => { text += chunk; });
    socket.on('error', () => resolve(''));
    socket.on('close', () => resolve(text));
  });
}

export async function startZooKeeper(home) {
  const port = await freePort();
  fs.mkdirSync(home, { recursive: true });
  const config = path.join(home, 'zoo.cfg');
  fs.writeFileSync(config, `tickTime=1000\ndataDir=${home}/data\nclientPort=${port}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n4lw.commands.whitelist=ruok\n`);
  const child = spawn('java', ['-Xmx128m', '-XX:TieredStopAtLevel=1', '-cp', CLASSES, 'org.apache.zookeeper.server.quorum.QuorumPeerMain', config], { stdio: 'ignore', cwd: home });
  let ended = null;
  const end = new Promise((resolve) => {
    child.on('exit', (code) => { ended = `exit status ${code}`; resolve(); });
    child.on('error', (error) => { ended = error.message; resolve(); });
  });
  await until('ZooKeeper to be ready', async () => {
    if (ended) throw new Error(`ZooKeeper: ${ended}`);
    return (await say(port, 'ruok')) === 'imok';
  }, START_MS, 200);
  return { port, kill: async () => { child.kill('SIGKILL'); await end; } };
}
