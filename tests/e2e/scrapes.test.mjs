// SPDX-License-Identifier: Apache-2.0
// When scrapes were taken: names, modification times, order, options. Every scrape here is invented.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';

const binary = process.env.TC_BINARY;
const samples = process.env.TC_SAMPLES ?? '../shared/samples';
const T0 = Date.parse('2026-03-04T05:06:00Z') / 1000;

let top;
let folder;
before(() => {
  assert.ok(binary, 'TC_BINARY names the program to test');
  top = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_scrapes_'));
});
after(() => fs.rmSync(top, { recursive: true, force: true }));
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(top, 'case-'));
});

function run(...args) {
  const result = spawnSync(binary, args, { encoding: 'utf8', cwd: folder });
  assert.equal(result.signal, null, result.stderr);
  return { code: result.status, out: result.stdout, err: result.stderr };
}

function scrape(value, time = '') {
  return `# TYPE DCGM_FI_DEV_GPU_TEMP gauge
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-1",Hostname="gpu-07"} ${value}${time}
`;
}

// Written at so many seconds from T0.
function write(name, content, seconds = 0) {
  const file = path.join(folder, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, content);
  fs.utimesSync(file, T0 + seconds, T0 + seconds);
}

// { value of a sample: seconds from T0 } of what decode prints, and what it says.
function times(...args) {
  const { code, out, err } = run('decode', ...args);
  assert.equal(code, 0, err);
  const events = out.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  return {
    at: Object.fromEntries(events.map((e) => [e.value, Date.parse(e.time) / 1000 - T0])),
    events,
    err,
  };
}

describe('the time of a scrape', () => {
  test('is what its samples say, before all else', () => {
    write('s-2026-03-04T05:10:00Z.prom', scrape(1, ` ${(T0 + 5) * 1000}`), 60);
    assert.deepEqual(times('.').at, { 1: 5 });
  });

  test('is what a comment says', () => {
    write('s.prom', `# scraped at 2026-03-04T05:06:10Z\n${scrape(1)}`, 60);
    const { at, err } = times('.');
    assert.deepEqual(at, { 1: 10 });
    assert.equal(err, '');
  });

  test('is in its name, in many forms', () => {
    const names = [
      'a-2026-03-04T05:06:01Z.prom',
      'a-20260304T050602Z.prom',
      'a-2026-03-04_05-06-03.prom',
      `a-${T0 + 4}.prom`,
      `a-${(T0 + 5) * 1000}.prom`,
      '2026-03-04T05:06:06Z/a.prom',
    ];
    names.forEach((name, i) => write(name, scrape(i + 1), 1000));
    const { at, err } = times('.');
    assert.deepEqual(at, { 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6 });
    assert.equal(err, '');
  });

  test('in a name without a zone is in that of --tz', () => {
    write('a-20260304T070600.prom', scrape(1));
    assert.deepEqual(times('--tz', '+02:00', '.').at, { 1: 0 });
  });

  test('is else when it was written, or --now for a single one', () => {
    write('a.prom', scrape(1), 30);
    assert.deepEqual(times('.').at, { 1: 30 });
    assert.deepEqual(times('--now', '2026-03-04T05:06:45Z', '.').at, { 1: 45 });
    write('b.prom', scrape(2), 90);
    assert.deepEqual(times('--now', '2026-03-04T05:06:45Z', '.').at, { 1: 30, 2: 90 });
  });

  test('of files copied together follows their names, and that is said', () => {
    for (const i of [1, 2, 9, 10, 11]) {
      write(`m/scrape_${i}.prom`, scrape(i));
    }
    const { at, err } = times('.');
    assert.deepEqual(at, { 1: -60, 2: -45, 9: -30, 10: -15, 11: 0 });
    assert.match(err, /^\.\/m\/: 5 scrapes say no time; assumed: in the order of their names, 15 s apart, the last at 2026-03-04T05:06:00Z/);
    const other = times('--scrape-interval', '1m', '.');
    assert.deepEqual(other.at, { 1: -240, 2: -180, 9: -120, 10: -60, 11: 0 });
    assert.equal(other.err, '');
    assert.equal(times('--now', '2026-03-04T05:07:00Z', '.').at[11], 60);
  });

  test('of files written one after the other is their own, unless told otherwise', () => {
    write('s1.prom', scrape(1), 0);
    write('s2.prom', scrape(2), 31);
    write('s3.prom', scrape(3), 62);
    const { at, err } = times('.');
    assert.deepEqual(at, { 1: 0, 2: 31, 3: 62 });
    assert.equal(err, '');
    assert.deepEqual(times('--scrape-interval=30s', '.').at, { 1: 2, 2: 32, 3: 62 });
  });

  test('of several in one file is an interval apart', () => {
    write('all.prom', scrape(1) + scrape(2) + scrape(3));
    const { at, err } = times('all.prom');
    assert.deepEqual(at, { 1: -30, 2: -15, 3: 0 });
    assert.match(err, /^all\.prom: 3 scrapes say no time; assumed: in the order of the file/);
    assert.deepEqual(times('--scrape-interval', '5s', 'all.prom').at, { 1: -10, 2: -5, 3: 0 });
    assert.deepEqual(times('--now', '2026-03-04T06:06:00Z', 'all.prom').at[3], 3600);
  });

  test('on standard input is now', () => {
    const result = spawnSync(binary, ['decode', '-'], { encoding: 'utf8', input: scrape(1) });
    assert.equal(result.status, 0, result.stderr);
    const age = Date.now() - Date.parse(JSON.parse(result.stdout).time);
    assert.ok(age >= -1000 && age < 600000);
  });

  test('of a dump by series is in order again for detect', () => {
    const dump = [0, 15, 30]
      .map((s) => `{__name__="DCGM_FI_DEV_GPU_TEMP", gpu="0", instance="gpu-07:9400"} ${s} ${(T0 + s) * 1000}\n`)
      .join('');
    write('dump.txt', dump + dump.replaceAll('TEMP', 'UTIL'));
    const { code, err } = run('detect', 'dump.txt');
    assert.equal(code, 0);
    assert.match(err, /6 events from 2026-03-04T05:06:00Z to 2026-03-04T05:06:30Z, 0 stories/);
    assert.doesNotMatch(err, /late/);
  });

  test('is refused when it makes no sense', () => {
    write('a.prom', scrape(1));
    for (const text of ['0', '-5s', 'soon', '2d', '500ms']) {
      const { code, err } = run('decode', `--scrape-interval=${text}`, 'a.prom');
      assert.equal(code, 2);
      assert.match(err, /--scrape-interval/);
    }
  });
});

describe('the node of a scrape', () => {
  test('is in its name or given, and missed where it is neither', () => {
    write('node_exporter-gpu-08.prom', 'node_vmstat_oom_kill 1\n');
    assert.equal(times('node_exporter-gpu-08.prom').events[0]['k8s.node.name'], 'gpu-08');
    write('x.prom', 'node_vmstat_oom_kill 1\n');
    assert.equal(times('--node', 'gpu-09=x.prom', 'x.prom').events[0]['k8s.node.name'], 'gpu-09');
    assert.match(run('detect', 'x.prom').err, /x\.prom: 1 event names no node; give --node NAME=x\.prom/);
  });
});

describe('what is not understood', () => {
  test('is listed with line and reason, and is no error', () => {
    write('a.prom', `up 1\n${scrape(1)}oops\nDCGM_FI_DEV_GPU_TEMP{gpu="0"} 9223372036854775794\n`);
    const { code, out } = run('decode', '--unknown', 'a.prom');
    assert.equal(code, 0);
    assert.deepEqual(out.split('\n').filter(Boolean), [
      'a.prom:1: not a metric that any pattern reads: up 1',
      'a.prom:4: not a sample: oops',
      'a.prom:5: the exporter has no value for it (not supported): DCGM_FI_DEV_GPU_TEMP{gpu="0"} 9223372036854775794',
    ]);
  });

  test('is an error when nothing is understood', () => {
    write('a.txt', 'one\ntwo\n');
    const { code, err } = run('decode', '--format', 'prometheus', 'a.txt');
    assert.equal(code, 2);
    assert.match(err, /a\.txt: line 1, at byte 0: no line of it is a sample/);
  });
});

describe('the samples', { skip: fs.existsSync(samples) ? false : 'the samples are not here' }, () => {
  test('of xpu_timer differ in the hang flag only', () => {
    const [hang, normal] = ['hang_xpu_timer_metric_all', 'normal_xpu_timer_metric_0'].map((name) => {
      const { code, out, err } = run('decode', path.resolve(process.cwd(), samples, 'xpu_timer', name));
      assert.equal(code, 0, err);
      return out
        .split('\n')
        .filter(Boolean)
        .map((line) => {
          const { time, raw, ...rest } = JSON.parse(line);
          assert.ok(time && raw);
          return rest;
        })
        .sort((a, b) => a.kind.localeCompare(b.kind) || a.rank - b.rank);
    });
    assert.equal(hang.length, 16);
    const flags = (events) => events.filter((e) => e.metric === 'hang_flag').map((e) => e.value ?? 0);
    assert.deepEqual(flags(hang), Array(8).fill(1));
    assert.deepEqual(flags(normal), Array(8).fill(0));
    const rest = (events) => events.map(({ value, ...e }) => e);
    assert.deepEqual(rest(hang), rest(normal));
  });
});
