// SPDX-License-Identifier: Apache-2.0
// How soon a daemon with much in its store is ready, after it was stopped and after it was killed. What it
// received lately is read again behind that: how long this takes is printed beside it.
import fs from 'node:fs';
import { get, until } from '../../tests/e2e/support/wire.mjs';
import { drive } from './drive.mjs';
import { cpuSeconds } from './targets.mjs';

const READY_MS = 500;
const round = (n, digits = 0) => Math.round(n * 10 ** digits) / 10 ** digits;

/** Sends the load until so many bytes of bodies are stored. */
async function fill(target, load, bytes, core) {
  let stored = 0;
  while (stored < bytes) {
    await drive(target, load, { seconds: 2, connections: 32, core });
    const now = (await target.counted()).stored;
    if (now <= stored) throw new Error(`nothing more is stored after ${stored} bytes`);
    stored = now;
  }
  return stored;
}

/** { lines, missed }: one line for each start. */
export async function start(target, load, { bytes, repeat, core }) {
  const lines = [];
  const missed = [];
  const { daemon } = target;
  const stored = await fill(target, load, bytes, core);
  for (let i = 0; i < 2 * repeat; i++) {
    const after = i % 2 === 0 ? 'stop' : 'kill';
    await daemon[after]();
    const began = performance.now();
    await daemon.start({ replayed: false });
    await until('the daemon to be ready', async () => (await get(daemon.api, '/readyz')).status === 200, 60000, 1);
    const ready = performance.now() - began;
    const cpu = cpuSeconds(daemon.pid);
    const read = Number(/^rchar: (\d+)$/m.exec(fs.readFileSync(`/proc/${daemon.pid}/io`, 'utf8'))[1]);
    await daemon.untilReplayed();
    const { replay } = await daemon.status();
    lines.push({ case: 'start', after, program: target.label, stored_mb: round(stored / 1e6), ready_ms: round(ready), ready_cpu_ms: round(cpu * 1000), read_mb: round(read / 1e6, 1),
      replayed_mb: round(replay.bytes / 1e6), replayed_after_ms: round(performance.now() - began), replayed_cpu_ms: round(cpuSeconds(daemon.pid) * 1000) });
    if (ready > READY_MS) missed.push(`start after ${after}: ready after ${round(ready)} ms, not ${READY_MS}`);
  }
  return { lines, missed };
}
