// SPDX-License-Identifier: Apache-2.0
// ./dev bench --chaos: kill -9 under load, 200 times. One JSON line; exit 1 when anything was lost.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { chaos } from '../tests/e2e/support/chaos.mjs';

const { values } = parseArgs({ options: {
  rounds: { type: 'string', default: '200' },
  senders: { type: 'string', default: '6' },
  life: { type: 'string', default: '800' },
  seed: { type: 'string', default: String(Date.now() % 1000000) },
  dir: { type: 'string' },
  keep: { type: 'boolean', default: false },
} });

const dir = values.dir ?? fs.mkdtempSync(path.join(os.tmpdir(), 'tc_chaos_'));
const began = Date.now();
const { problems, ...figures } = await chaos({
  dir, rounds: Number(values.rounds), senders: Number(values.senders), lifeMs: Number(values.life), seed: Number(values.seed),
  say: (line) => process.stderr.write(`chaos: ${line}\n`),
});
process.stdout.write(`${JSON.stringify({ bench: 'chaos', seed: Number(values.seed), ...figures, problems: problems.length, seconds: Math.round((Date.now() - began) / 1000) })}\n`);
for (const problem of problems.slice(0, 20)) process.stderr.write(`chaos: ${problem}\n`);
if (problems.length > 0 || values.keep) process.stderr.write(`chaos: kept ${dir}\n`);
else fs.rmSync(dir, { recursive: true, force: true });
process.exit(problems.length > 0 ? 1 : 0);
