// SPDX-License-Identifier: Apache-2.0
// Log files that are written, rotated and deleted under a daemon that follows them and is killed
// now and then; and what it stored, compared with what was written, line by line.
import fs from 'node:fs';
import path from 'node:path';
import { Daemon } from './daemon.mjs';
import { sleep, until } from './wire.mjs';

/** A small generator, so that a run can be had again by its seed. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** One log and its rotation. Every line has its file and number first, so no two are alike. */
export class Log {
  constructor(file, mode, kept) {
    Object.assign(this, { file, mode, kept, count: 0, rotations: 0 });
    this.fd = fs.openSync(file, 'a');
  }

  write(lines, pad = 0) {
    let text = '';
    for (let i = 0; i < lines; i++) text += `${path.basename(this.file)} ${String(++this.count).padStart(8, '0')} ${'x'.repeat(pad)}\n`;
    fs.writeSync(this.fd, text);
  }

  name(n) { return `${this.file}.${n}`; }

  rotate() {
    this.rotations++;
    fs.rmSync(this.name(this.kept), { force: true });
    for (let n = this.kept - 1; n > 0; n--) if (fs.existsSync(this.name(n))) fs.renameSync(this.name(n), this.name(n + 1));
    if (this.mode === 'copytruncate') {
      fs.copyFileSync(this.file, this.name(1));
      fs.ftruncateSync(this.fd, 0);
      return;
    }
    fs.renameSync(this.file, this.name(1));
    fs.closeSync(this.fd);
    this.fd = fs.openSync(this.file, 'a');
  }
}

/** What of the lines of a log is missing, doubled or out of its order, in what was stored. */
export function compare(log, stored) {
  const seen = new Map();
  const problems = [];
  let last = 0;
  let disorder = 0;
  for (const line of stored) {
    const number = Number(line.split(' ')[1]);
    seen.set(number, (seen.get(number) ?? 0) + 1);
    disorder += number < last;
    last = number;
  }
  for (let n = 1; n <= log.count; n++) {
    const times = seen.get(n) ?? 0;
    if (times !== 1) problems.push(`${path.basename(log.file)} (${log.mode}): line ${n} is there ${times} times`);
  }
  return { problems, disorder };
}

/** The stored lines by the name that they begin with. */
export function storedLines(daemon) {
  const by = new Map();
  let batches = 0;
  for (const batch of daemon.eachBody()) {
    batches++;
    for (const line of batch.body.toString('utf8').split('\n')) {
      const name = line.split(' ')[0];
      if (name === '') continue;
      if (!by.has(name)) by.set(name, []);
      by.get(name).push(line);
    }
  }
  return { by, batches };
}

/**
 * @param {object} o { dir, rotations: of each log, kills, seed, modes, kept: rotated files that stay, lines: of a generation, options: of the daemon,
 *   started: called once it watches, ended: when all is written }
 */
export async function tails(o) {
  const { dir, rotations, kills, seed, modes = ['rename', 'copytruncate'], kept = 60, lines = 40, pauseMs = 4 } = o;
  const chance = random(seed);
  const logs = path.join(dir, 'logs');
  fs.mkdirSync(logs, { recursive: true });
  const daemon = new Daemon(dir, { sources: { files: { paths: [path.join(logs, '*.log')], poll: '200ms' } }, ...o.config }, o.options);
  const all = modes.map((mode, i) => new Log(path.join(logs, `${mode}${i}.log`), mode, kept));
  let killed = 0;
  let busy = null;
  await daemon.start();
  // From its first look on it misses nothing.
  await until('the first look', async () => (await daemon.status()).sources[0].state === 'ok', 20000);
  await o.started?.(daemon);
  const killAt = new Set(Array.from({ length: kills }, () => Math.floor(chance() * rotations)));
  for (let r = 0; r < rotations; r++) {
    for (const log of all) {
      for (let part = 0; part < 4; part++) {
        log.write(Math.ceil(chance() * lines / 2), Math.floor(chance() * 200));
        if (chance() < 0.5) await sleep(chance() * pauseMs);
      }
      log.rotate();
    }
    await sleep(chance() * pauseMs);
    if (killAt.has(r) && busy === null) {
      killed++;
      busy = daemon.kill().then(() => daemon.start({ replayed: false })).then(() => { busy = null; });
    }
  }
  await busy;
  await o.ended?.(daemon);
  for (const log of all) log.write(1);
  const written = all.reduce((sum, log) => sum + log.count, 0);
  // Older lines of a log are read before newer ones: with the last of each, all are there.
  const seen = new Set();
  const last = new Set(all.map((log) => `${path.basename(log.file)} ${String(log.count).padStart(8, '0')} `));
  await until('the last lines', () => {
    for (const { number } of daemon.batches().reverse()) {
      if (seen.has(number)) continue;
      seen.add(number);
      for (const line of daemon.body(number).toString('utf8').split('\n')) last.delete(line);
    }
    return last.size === 0;
  }, 120000, 200).catch((error) => { throw new Error(`${error.message}: ${[...last]}\n${daemon.log()}`); });
  const metrics = await daemon.status();
  await daemon.stop();
  const { by, batches } = storedLines(daemon);
  const problems = [];
  let disorder = 0;
  for (const log of all) {
    const result = compare(log, by.get(path.basename(log.file)) ?? []);
    problems.push(...result.problems);
    disorder += result.disorder;
  }
  return { problems, written, killed, batches, disorder, rotations: rotations * all.length, loop: metrics.loop };
}
