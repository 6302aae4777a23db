// SPDX-License-Identifier: Apache-2.0
// ./dev bench --sources: file tails over 1,000 rotations under load, with kill -9 in between. One
// JSON line; exit 1 when a line is missing or there twice.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { tails } from '../tests/e2e/support/tails.mjs';

const { values } = parseArgs({ options: {
  rotations: { type: 'string', default: '1000' },
  kills: { type: 'string', default: '25' },
  lines: { type: 'string', default: '200' },
  seed: { type: 'string', default: String(Date.now() % 1000000) },
} });

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_sources_'));
const began = Date.now();
const modes = ['rename', 'copytruncate'];
const { problems, ...figures } = await tails({ dir, modes, rotations: Math.ceil(Number(values.rotations) / modes.length),
  kills: Number(values.kills), lines: Number(values.lines), seed: Number(values.seed) });
process.stdout.write(`${JSON.stringify({ bench: 'sources', seed: Number(values.seed), ...figures, problems: problems.length, seconds: Math.round((Date.now() - began) / 1000) })}\n`);
for (const problem of problems.slice(0, 20)) process.stderr.write(`sources: ${problem}\n`);
if (problems.length > 0) process.stderr.write(`sources: kept ${dir}\n`);
else fs.rmSync(dir, { recursive: true, force: true });
process.exit(problems.length > 0 ? 1 : 0);
