// SPDX-License-Identifier: Apache-2.0
// docs/tutorial.md is what happens: its blocks are run one after another by a shell, in a folder
// with the examples and a data_dir of their own, and print what the page shows.
//
// A line that begins with `$ ` is a command, `> ` goes on with it, the rest of a block is its
// standard output; a line `...` stands for any lines. `--update` writes what is printed into the
// page, but for commands whose output has such a line. Read the difference before you commit it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

const binary = path.resolve(process.env.TC_BINARY ?? 'build/release/tracecore');
const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const page = path.join(source, 'docs/tutorial.md');
const BLOCK = /^```\n(\$ [^]*?)^```\n/gm;
const ANY = /^\s*\.\.\.$/mu;
// The name of a published number: a digest in which the time is.
const NUMBER = /num-[0-9a-f]{16}/gu;

/** The commands of a block, each with what is shown behind it. */
function commandsOf(block) {
  const commands = [];
  for (const line of block.split('\n').slice(0, -1)) {
    if (line.startsWith('$ ')) {
      commands.push({ written: [line], shown: [] });
    } else if (line.startsWith('> ') && commands.at(-1).shown.length === 0) {
      commands.at(-1).written.push(line);
    } else {
      commands.at(-1).shown.push(line);
    }
  }
  return commands.map(({ written, shown }) => ({
    written: `${written.join('\n')}\n`,
    command: written.map((line) => line.slice(2)).join('\n'),
    shown: shown.map((line) => `${line}\n`).join(''),
  }));
}

function matches(shown, output) {
  const parts = shown.split('\n').slice(0, -1)
    .map((line) => (ANY.test(line) ? '(?:.*\\n)*?' : `${line.replace(/[$()*+.?[\\\]^{|}]/gu, '\\$&').replaceAll(NUMBER, NUMBER.source)}\\n`));
  return new RegExp(`^${parts.join('')}$`, 'u').test(output);
}

/** Calls back with every command of the page and what it prints, in order. */
function follow(take) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_tutorial_'));
  try {
    fs.symlinkSync(path.join(source, 'examples'), path.join(folder, 'examples'));
    fs.mkdirSync(path.join(folder, 'bin'));
    fs.symlinkSync(binary, path.join(folder, 'bin/tracecore'));
    const env = { PATH: `${folder}/bin:${process.env.PATH}`, HOME: folder, TRACECORE_DUCKDB: process.env.TRACECORE_DUCKDB, COLUMNS: '100', LC_ALL: 'C.UTF-8' };
    for (const [, block] of fs.readFileSync(page, 'utf8').matchAll(BLOCK)) {
      for (const step of commandsOf(block)) {
        const { stdout, stderr, status } = spawnSync('sh', ['-c', step.command], { cwd: folder, env, encoding: 'utf8', timeout: 120000 });
        assert.ok(status === 0 || status === 1, `${step.command}: ${stderr}`);
        take(step, stdout);
      }
    }
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv.includes('--update')) {
  let text = fs.readFileSync(page, 'utf8');
  follow(({ written, shown }, output) => {
    if (!ANY.test(shown)) {
      text = text.replace(written + shown, () => written + output);
    }
  });
  fs.writeFileSync(page, text);
} else {
  test('the tutorial tells what happens', () => follow(({ command, shown }, output) => {
    if (!matches(shown, output)) {
      assert.equal(output, shown, command);
    }
  }));
}
