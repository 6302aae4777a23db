// SPDX-License-Identifier: Apache-2.0
// `tracecore run` while the daemon has the database: the same answers, the same care.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Daemon } from './support/daemon.mjs';
import { add, binary, contract, list, referred, scratch, show, stored, tracecore, vllm } from './support/runs.mjs';

let place;
let daemon;
before(async () => {
  place = scratch('run_daemon');
  daemon = new Daemon(path.join(place.folder, 'home'));
  await daemon.start();
});
after(async () => {
  if (daemon.running) {
    await daemon.stop();
  }
  place.remove();
});

const file = (...args) => place.file(...args);
const inputs = () => ['--contract', file('run.yaml', contract()), '--result', file('a.json', vllm()), file('b.json', vllm({ max_concurrency: 8 }))];
/** Without what depends on the moment. */
const timeless = (all) => JSON.stringify({ ...all, run: { ...all.run, added_at: null } });

describe('beside the daemon', () => {
  test('a run is added, once, and shown', () => {
    const first = add(daemon.dataDir, inputs());
    assert.equal(first.status, 0, first.stderr);
    assert.equal(first.answer.status, 'added');
    assert.equal(add(daemon.dataDir, inputs()).answer.status, 'there');
    assert.equal(show(daemon.dataDir, first.answer.run_id).serving.length, 2);
    assert.equal(list(daemon.dataDir).length, 1);
  });

  test('imports at the same time are all there, each replicate with its number', async () => {
    const yaml = file('run.yaml', contract(['--model', 'another']));
    const children = [1, 2, 3, 4].map((n) => new Promise((resolve) => {
      const child = spawn(binary, ['run', 'add', '--data-dir', daemon.dataDir, '--contract', yaml,
        '--result', file(`r${n}.json`, vllm({ duration: 30 + n, model_id: 'another' }))]);
      let text = '';
      child.stderr.on('data', (bytes) => { text += bytes; });
      child.on('exit', (status) => resolve({ status, text }));
    }));
    for (const { status, text } of await Promise.all(children)) {
      assert.equal(status, 0, text);
    }
    const group = list(daemon.dataDir).filter((run) => run.points === 1);
    assert.deepEqual(group.map((run) => run.replicate_index).sort(), [1, 2, 3, 4]);
    assert.deepEqual(stored(daemon.dataDir), referred(daemon.dataDir));
  });

  test('of the same at the same time there is one, and each dimension once', async () => {
    const args = ['--result', file('same.json', vllm({ model_id: 'same', tokenizer_id: 'same' }))];
    const before = list(daemon.dataDir).length;
    const children = [1, 2, 3, 4].map(() => new Promise((resolve) => {
      spawn(binary, ['run', 'add', '--data-dir', daemon.dataDir, ...args], { stdio: 'ignore' }).on('exit', resolve);
    }));
    assert.deepEqual(await Promise.all(children), [0, 0, 0, 0]);
    assert.equal(list(daemon.dataDir).length, before + 1);
    const twice = tracecore(['sql', '--data-dir', daemon.dataDir, '--json',
      'SELECT definition_id FROM metric_definition_dim GROUP BY definition_id HAVING count(*) > 1']);
    assert.equal(twice.status, 0, twice.stderr);
    assert.equal(twice.stdout.trim().replace('[]', ''), '');
  });

  test('a killed import leaves nothing behind', async () => {
    const before = list(daemon.dataDir).length;
    for (const delay of [50, 150, 300, 500]) {
      const child = spawn(binary, ['run', 'add', '--data-dir', daemon.dataDir, '--name', `killed${delay}`,
        '--result', file(`k${delay}.json`, vllm({ duration: delay }))], { stdio: 'ignore' });
      const ended = new Promise((resolve) => { child.on('exit', resolve); });
      await new Promise((resolve) => { setTimeout(resolve, delay); });
      child.kill('SIGKILL');
      await ended;
      const again = add(daemon.dataDir, ['--name', `killed${delay}`, '--result', path.join(place.folder, `k${delay}.json`)]);
      assert.equal(again.status, 0, again.stderr);
    }
    assert.equal(list(daemon.dataDir).length, before + 4);
    assert.deepEqual(stored(daemon.dataDir), referred(daemon.dataDir));
  });

  test('answers are the same without it', async () => {
    const runs = list(daemon.dataDir);
    const shown = runs.map((run) => timeless(show(daemon.dataDir, run.run_id)));
    const texts = runs.map((run) => tracecore(['run', 'show', '--data-dir', daemon.dataDir, run.run_id]).stdout);
    await daemon.stop();
    assert.deepEqual(list(daemon.dataDir), runs);
    assert.deepEqual(runs.map((run) => timeless(show(daemon.dataDir, run.run_id))), shown);
    assert.deepEqual(runs.map((run) => tracecore(['run', 'show', '--data-dir', daemon.dataDir, run.run_id]).stdout), texts);
  });
});
