// SPDX-License-Identifier: Apache-2.0
// nccl_hang on the real Flight Recorder dumps with injected faults: exactly the faulty ranks, also
// when any one dump is missing or torn. The samples are read in place; copies live in a temporary folder.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';

const binary = process.env.TC_BINARY ?? 'build/release/tracecore';
const samples = join(process.env.TC_SAMPLES ?? '../shared/samples', 'fr');
const RANKS = 16;
const PREFIX = 'tracecore.alert.nccl_hang.';

const runs = [
  { name: 'gpu_error_1st', faulty: [12, 14], reason: /device stopped/ },
  { name: 'lock_gil_1st', faulty: [9, 14], reason: /never issued/ },
];

function detect(folder) {
  const run = spawnSync(binary, ['detect', '--json', folder], { encoding: 'utf8' });
  const verdicts = run.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  return { status: run.status, stderr: run.stderr, verdicts };
}

function culprits(verdicts) {
  return [...new Set(verdicts.flatMap((v) => v[`${PREFIX}culprit_ranks`]))].sort((a, b) => a - b);
}

for (const { name, faulty, reason } of runs) {
  describe(name, { skip: existsSync(samples) ? false : 'the samples are not here' }, () => {
    const folder = join(samples, name);

    // A changed copy of the run, seen by `look` and removed.
    function changed(change, look) {
      const copy = mkdtempSync(join(tmpdir(), 'tracecore-fr-'));
      try {
        for (const file of readdirSync(folder)) {
          cpSync(join(folder, file), join(copy, file), { mode: 0 });
        }
        spawnSync('chmod', ['-R', 'u+w', copy]);
        change(copy);
        look(detect(copy));
      } finally {
        rmSync(copy, { recursive: true });
      }
    }

    test('exactly the faulty ranks are named, with a reason each', () => {
      const { status, verdicts } = detect(folder);
      assert.equal(status, 1);
      assert.deepEqual(culprits(verdicts), faulty);
      const roots = verdicts.filter((v) => v.root);
      assert.equal(roots.length, 1);
      assert.deepEqual(roots[0][`${PREFIX}culprit_ranks`], faulty);
      const reasons = roots[0][`${PREFIX}culprit_reasons`];
      assert.equal(reasons.length, faulty.length);
      for (const [i, rank] of faulty.entries()) {
        assert.ok(reasons[i].startsWith(`rank ${rank}: `), reasons[i]);
        assert.match(reasons[i], reason);
      }
      for (const v of verdicts.filter((x) => !x.root)) {
        assert.equal(v.caused_by[0].incident_id, roots[0].incident_id);
      }
    });

    test('every list of ranks is ascending and no rank is on two sides', () => {
      for (const v of detect(folder).verdicts) {
        for (const key of ['culprit_ranks', 'waiting_ranks', 'blocking_ranks']) {
          const ranks = v[PREFIX + key];
          assert.deepEqual(ranks, [...new Set(ranks)].sort((a, b) => a - b));
        }
        const waiting = new Set(v[`${PREFIX}waiting_ranks`]);
        assert.ok(v[`${PREFIX}culprit_ranks`].every((r) => !waiting.has(r)));
      }
    });

    test('without any one dump the faulty ranks are still named', () => {
      for (let rank = 0; rank < RANKS; rank++) {
        changed(
          (copy) => rmSync(join(copy, `_dump_${rank}`)),
          ({ status, verdicts }) => {
            const named = culprits(verdicts);
            assert.equal(status, 1, `without ${rank}`);
            assert.ok(faulty.every((r) => named.includes(r)), `without ${rank}: ${named}`);
            const others = named.filter((r) => !faulty.includes(r) && r !== rank);
            assert.deepEqual(others, [], `without ${rank}`);
          },
        );
      }
    });

    test('with any one dump torn the rest is analysed and no healthy rank is named', () => {
      for (let rank = 0; rank < RANKS; rank++) {
        changed(
          (copy) => truncateSync(join(copy, `_dump_${rank}`), 87),
          ({ status, stderr, verdicts }) => {
            const named = culprits(verdicts);
            assert.equal(status, 2, `torn ${rank}`);
            assert.match(stderr, new RegExp(`_dump_${rank}: at byte 87`));
            assert.deepEqual(
              named.filter((r) => r !== rank),
              faulty.filter((r) => r !== rank),
              `torn ${rank}`,
            );
            assert.ok(faulty.includes(rank) || !named.includes(rank), `torn ${rank}: ${named}`);
          },
        );
      }
    });
  });
}
