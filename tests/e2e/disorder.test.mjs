// SPDX-License-Identifier: Apache-2.0
// Lines of a file in any order: what they say is sorted by time before it is looked at.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

const binary = process.env.TC_BINARY;
const replay = path.join(process.env.TC_SOURCE_DIR ?? process.cwd(), 'tests/replay');

let top;
before(() => {
  assert.ok(binary, 'TC_BINARY names the program to test');
  top = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_disorder_'));
});
after(() => fs.rmSync(top, { recursive: true, force: true }));

// Where in the file a fact stands has changed; nothing else may.
const told = (ndjson) => ndjson.split('\n').filter(Boolean).map((line) => JSON.parse(line))
  .map((verdict) => ({ ...verdict, evidence_trail: verdict.evidence_trail.map(({ raw, ...rest }) => rest) }));

// The same disorder each time.
function shuffle(lines) {
  let seed = 7;
  const out = [...lines];
  for (let i = out.length - 1; i > 0; i--) {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    const j = seed % (i + 1);
    [out[i], out[j]] = [out[j], out[i]];
  }
  return out;
}

describe('lines of events in any order', () => {
  for (const pattern of fs.readdirSync(replay).filter((name) => fs.existsSync(path.join(replay, name, 'make.py')))) {
    test(pattern, (t) => {
      let compared = 0;
      for (const name of fs.readdirSync(path.join(replay, pattern)).filter((n) => /^(fires|resolved)_/.test(n))) {
        const home = path.join(top, pattern, name);
        fs.cpSync(path.join(replay, pattern, name), home, { recursive: true });
        const files = fs.readdirSync(path.join(home, 'input')).filter((file) => file.endsWith('.ndjson'));
        for (const file of files.map((f) => path.join(home, 'input', f))) {
          const lines = fs.readFileSync(file, 'utf8').split('\n').filter(Boolean);
          fs.writeFileSync(file, shuffle(lines).map((line) => `${line}\n`).join(''));
        }
        if (files.length > 0) {
          const args = path.join(home, 'args');
          const more = fs.existsSync(args) ? fs.readFileSync(args, 'utf8').split('\n').filter(Boolean) : [];
          const run = spawnSync(binary, ['detect', '--json', ...more, 'input'], { encoding: 'utf8', cwd: home });
          const golden = fs.readFileSync(path.join(home, 'expected.ndjson'), 'utf8');
          assert.deepEqual(told(run.stdout), told(golden), `${pattern}/${name}`);
          compared++;
        }
      }
      if (compared === 0) {
        t.skip('no case of it is given as events');
      }
    });
  }
});
