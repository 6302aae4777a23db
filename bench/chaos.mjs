// SPDX-License-Identifier: Apache-2.0
// ./dev bench --chaos: what the daemon promises, under violence. One JSON line for each part; exit 1
// when anything was lost or told twice.
//   kill   kill -9 under load, 200 times
//   storm  the same while 20,000 incidents are told: each is opened once
//   power  the disk is cut off without a flush, 30 times; skipped where nothing can be mounted
//   once   160,000 incidents over three restarts (bench_once)
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { chaos } from '../tests/e2e/support/chaos.mjs';

const PARTS = ['kill', 'storm', 'power', 'once'];
const { values } = parseArgs({ options: {
  part: { type: 'string', multiple: true },
  rounds: { type: 'string', default: '200' },
  incidents: { type: 'string', default: '20000' },
  cuts: { type: 'string', default: '30' },
  senders: { type: 'string', default: '6' },
  life: { type: 'string', default: '800' },
  seed: { type: 'string', default: String(Date.now() % 1000000) },
  dir: { type: 'string' },
  keep: { type: 'boolean', default: false },
} });

const top = values.dir ?? fs.mkdtempSync(path.join(os.tmpdir(), 'tc_chaos_'));
const say = (line) => process.stderr.write(`chaos: ${line}\n`);
const common = { senders: Number(values.senders), lifeMs: Number(values.life), seed: Number(values.seed), say };
let bad = 0;

async function measure(part, options) {
  const began = Date.now();
  const { problems, ...figures } = await chaos({ ...common, ...options });
  process.stdout.write(`${JSON.stringify({ bench: 'chaos', part, seed: common.seed, ...figures, problems: problems.length, seconds: Math.round((Date.now() - began) / 1000) })}\n`);
  for (const problem of problems.slice(0, 20)) say(`${part}: ${problem}`);
  bad += problems.length;
}

const power = (...args) => spawnSync('python3', ['-B', path.join(import.meta.dirname, 'power.py'), ...args], { encoding: 'utf8' });

/** Each kill comes with the loss of what the disk was not told to keep. */
async function cutPower() {
  const image = path.join(top, 'disk.img');
  const disk = path.join(top, 'disk');
  const mounted = power('mount', image, disk);
  const able = mounted.status === 0 ? power('cut', disk) : mounted;
  if (mounted.status === 0) power('unmount', disk);
  if (able.status !== 0) {
    process.stdout.write(`${JSON.stringify({ bench: 'chaos', part: 'power', skipped: able.stderr.trim() })}\n`);
    return;
  }
  fs.rmSync(image);
  power('mount', image, disk);
  try {
    await measure('power', { dir: path.join(top, 'power'), disk, rounds: Number(values.cuts),
      before: () => power('cut', disk),
      cut: () => {
        power('unmount', disk);
        const again = power('mount', image, disk);
        if (again.status !== 0) throw new Error(again.stderr);
      } });
  } finally {
    power('unmount', disk);
  }
}

function once() {
  const program = path.join(path.dirname(process.env.TC_BINARY), 'bench/bench_once');
  const done = spawnSync(program, [top], { stdio: 'inherit' });
  if (done.status !== 0) bad++;
}

const parts = {
  kill: () => measure('kill', { dir: path.join(top, 'kill'), rounds: Number(values.rounds) }),
  storm: () => measure('storm', { dir: path.join(top, 'storm'), rounds: 4, senders: 24, lifeMs: 6000, pace: 0, faultShare: 1, faults: Number(values.incidents) }),
  power: cutPower,
  once,
};
for (const part of values.part ?? PARTS) {
  if (parts[part] === undefined) {
    say(`there is no part ${part}; there are ${PARTS.join(', ')}`);
    process.exit(2);
  }
  await parts[part]();
}
if (bad > 0 || values.keep) say(`kept ${top}`);
else fs.rmSync(top, { recursive: true, force: true });
process.exit(bad > 0 ? 1 : 0);
