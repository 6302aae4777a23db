// SPDX-License-Identifier: Apache-2.0
// Where ranks run: --map, and what other watchdogs say of them. The maps are invented; the metrics
// of xpu_timer are real samples, read in place.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

const binary = process.env.TC_BINARY;
const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const samples = process.env.TC_SAMPLES ?? path.join(source, '../shared/samples');
const PREFIX = 'tracecore.alert.nccl_hang.';

let folder;
before(() => {
  assert.ok(binary, 'TC_BINARY names the program to test');
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_ranks_'));
  write('event.ndjson', '{"kind":"rank_place","rank":9,"k8s.node.name":"elsewhere"}\n');
});
after(() => fs.rmSync(folder, { recursive: true, force: true }));

function run(args) {
  const result = spawnSync(binary, args, { encoding: 'utf8', cwd: folder });
  assert.equal(result.signal, null, result.stderr);
  return { code: result.status, out: result.stdout, err: result.stderr };
}

function write(name, content) {
  fs.writeFileSync(path.join(folder, name), content);
  return name;
}

const events = (text) => text.split('\n').filter(Boolean).map((line) => JSON.parse(line));

describe('--map', () => {
  test('its ranks are read beside the other inputs, whatever the file is called', () => {
    write('hosts', 'gpu-07 slots=2\ngpu-08 slots=2\n');
    const { code, out } = run(['decode', '--map', 'hosts', 'event.ndjson']);
    assert.equal(code, 0);
    const places = events(out).filter((ev) => ev.origin === 'map');
    assert.deepEqual(places.map((ev) => [ev.rank, ev['k8s.node.name'], ev['gpu.index']]), [
      [0, 'gpu-07', 0], [1, 'gpu-07', 1], [2, 'gpu-08', 0], [3, 'gpu-08', 1],
    ]);
    assert.ok(places.every((ev) => ev.time === undefined));
  });

  test('a map without a time is not warned about', () => {
    const { code, err } = run(['detect', '--map', 'hosts', 'event.ndjson']);
    assert.equal(code, 0);
    assert.doesNotMatch(err, /no time/);
  });

  test('every mistake is told with line and column, and refuses the map', () => {
    write('bad.csv', 'rank,node,gpu\n0,a,0\nx,b,1\n0,c,many\n');
    const { code, out, err } = run(['detect', '--map', 'bad.csv', 'event.ndjson']);
    assert.equal(code, 2);
    assert.equal(out, '');
    assert.match(err, /bad\.csv: line 3, column 1: a rank is a number from 0 on: "x"/);
    assert.match(err, /bad\.csv: line 4, column 5: gpu is the number of the GPU/);
    assert.match(err, /--map bad\.csv: not a map of ranks; write a header such as rank,node,gpu/);
  });

  test('a missing, an empty and a second map are wrong usage with a remedy', () => {
    write('empty.csv', '');
    for (const [args, text] of [
      [['--map', 'none.csv'], /--map none\.csv: .*No such file/],
      [['--map', 'empty.csv'], /empty\.csv.*\n.*write a header such as rank,node,gpu/],
      [['--map', 'hosts', '--map', 'hosts'], /--map: given twice/],
    ]) {
      const { code, err } = run(['detect', ...args, 'event.ndjson']);
      assert.equal(code, 2);
      assert.match(err, text);
    }
  });

  test('a table of ranks and nodes is recognised without it, a hostfile is not', () => {
    write('map.csv', 'rank,node\n0,gpu-07\n');
    assert.equal(events(run(['decode', 'map.csv']).out)[0].origin, 'map');
    assert.equal(run(['decode', 'hosts']).code, 2);
  });
});

// The reader of Prometheus text is another part of the program; without it there is nothing to see.
describe('xpu_timer', () => {
  const files = {
    hang: path.join(samples, 'xpu_timer/hang_xpu_timer_metric_all'),
    normal: path.join(samples, 'xpu_timer/normal_xpu_timer_metric_0'),
  };

  function detect(t, file) {
    if (!fs.existsSync(file)) {
      t.skip('the samples are not here');
      return undefined;
    }
    const result = run(['detect', '--json', '--now', '2026-03-04T05:06:07Z', file]);
    if (/not a format we read/.test(result.err)) {
      t.skip('this program does not read Prometheus text');
      return undefined;
    }
    return result;
  }

  test('the flags of a job that hangs are one verdict that blames nobody', (t) => {
    const result = detect(t, files.hang);
    if (result) {
      const verdicts = events(result.out).filter((v) => v['pattern.name'] === 'nccl_hang');
      assert.equal(result.code, 1);
      assert.equal(verdicts.length, 1);
      assert.equal(verdicts[0].discriminator, 'watchdog');
      assert.equal(verdicts[0].confidence, 'partial');
      assert.deepEqual(verdicts[0][`${PREFIX}waiting_ranks`], [0, 1, 2, 3, 4, 5, 6, 7]);
      assert.deepEqual(verdicts[0][`${PREFIX}culprit_ranks`], []);
      assert.equal(verdicts[0]['job.id'], 'aistudio-155220033');
    }
  });

  test('the same job in good health is silence', (t) => {
    const result = detect(t, files.normal);
    if (result) {
      assert.equal(result.code, 0);
      assert.equal(result.out, '');
    }
  });
});
