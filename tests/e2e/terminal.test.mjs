// SPDX-License-Identifier: Apache-2.0
// What comes from outside never reaches a terminal as it is: every string of every kind of event
// carries escape sequences, line ends, bidirectional controls and bytes that are no UTF-8 through
// `detect` as text. The list of fields is that of docs/events.md, which a unit test holds to
// src/event/fields.c.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

const binary = process.env.TC_BINARY;
const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const replay = path.join(source, 'tests/replay');

// A terminal would obey these, or show nothing: C0 and C1 controls, DEL, marks and overrides of
// direction, line and paragraph separators, characters without a shape.
const OBEYED = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;
const HOSTILE = '\u001b[31m\u001b]0;owned\u0007\r\n\u009b2J\u0085\u061c\u200b\u200f\u202e\u2028\u2066\u206a\ufeff\ufffa\u{e0041}\u0008\t\u007f';

let folder;
before(() => {
  assert.ok(binary, 'TC_BINARY names the program to test');
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_terminal_'));
});
after(() => fs.rmSync(folder, { recursive: true, force: true }));

function clean(result, what) {
  assert.equal(result.signal, null, what);
  for (const stream of ['stdout', 'stderr']) {
    let text;
    try {
      text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(result[stream]);
    } catch {
      assert.fail(`${what}: ${stream} is not UTF-8`);
    }
    const raw = OBEYED.exec(text);
    assert.equal(raw, null, raw && `${what}: ${stream} has U+${raw[0].codePointAt(0).toString(16)} `
      + `raw, after ${JSON.stringify(text.slice(Math.max(0, raw.index - 60), raw.index))}`);
  }
}

function run(command, args) {
  return spawnSync(binary, [command, ...args], { cwd: folder, maxBuffer: 1 << 28 });
}

// `tracecore detect --all` over events as NDJSON; how many verdicts it printed.
function detect(lines, what, args = []) {
  fs.writeFileSync(path.join(folder, 'events.ndjson'), lines);
  const result = run('detect', ['--all', ...args, 'events.ndjson']);
  clean(result, what);
  return result.status === 1;
}

// Kinds and string fields, from the page.
const page = fs.readFileSync(path.join(source, 'docs/events.md'), 'utf8');
const kinds = [...page.slice(page.indexOf('## Kinds'), page.indexOf('## Fields'))
  .matchAll(/^\| `([a-z0-9_]+)` \|/gmu)].map((row) => row[1]);
const fields = [...page.slice(page.indexOf('<!-- fields: begin -->'), page.indexOf('<!-- fields: end -->'))
  .matchAll(/^\| `([^`]+)` \| ([^|]+) \| string \|/gmu)]
  .map((row) => ({ name: row[1], kinds: row[2].trim() === 'every kind' ? kinds : row[2].trim().split(', ') }));

const hasField = (field, kind) => field.kinds.includes(kind);

// The events of a case, as the program itself writes them.
function eventsOf(home) {
  const file = path.join(home, 'args');
  const args = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  const mapped = args.filter((arg) => /^--(map|node|now|tz)=/u.test(arg));
  const result = spawnSync(binary, ['decode', ...mapped, 'input'], { cwd: home, maxBuffer: 1 << 28 });
  const events = result.stdout.toString().split('\n').filter(Boolean).map((line) => JSON.parse(line));
  return events.map(({ raw, ...event }) => event);
}

const firing = fs.readdirSync(replay).flatMap((pattern) => {
  const home = path.join(replay, pattern);
  return fs.statSync(home).isDirectory()
    ? fs.readdirSync(home).filter((name) => name.startsWith('fires_')).map((name) => ({ pattern, name, home: path.join(home, name) }))
    : [];
});

const written = (events) => events.map((event) => `${JSON.stringify(event)}\n`).join('');
const seen = new Set();

describe('a string of the events of a verdict', () => {
  for (const pattern of [...new Set(firing.map((entry) => entry.pattern))]) {
    test(pattern, () => {
      let told = 0;
      for (const { name, home } of firing.filter((entry) => entry.pattern === pattern)) {
        const events = eventsOf(home);
        for (const field of fields) {
          if (!events.some((event) => typeof event[field.name] === 'string' && hasField(field, event.kind))) {
            continue;
          }
          // The same in all events, so that what belonged together still does.
          const changed = events.map((event) => {
            if (typeof event[field.name] !== 'string' || !hasField(field, event.kind)) {
              return event;
            }
            seen.add(`${event.kind} ${field.name}`);
            return { ...event, [field.name]: event[field.name] + HOSTILE };
          });
          told += detect(written(changed), `${pattern}/${name}, ${field.name}`);
        }
      }
      assert.ok(told > 0, 'some still fire');
    });
  }
});

test('every string field of every kind', () => {
  assert.ok(kinds.length > 20 && fields.length > 50, 'the tables of the page are found');
  const all = [];
  for (const kind of kinds) {
    const event = { kind, time: '2026-03-04T05:06:00Z' };
    for (const field of fields.filter((entry) => hasField(entry, kind))) {
      event[field.name] = HOSTILE;
      seen.add(`${kind} ${field.name}`);
    }
    all.push(event);
    detect(written([event]), kind);
  }
  detect(written(all), 'all kinds');
  for (const field of fields) {
    for (const kind of field.kinds) {
      assert.ok(seen.has(`${kind} ${field.name}`), `${kind} ${field.name} was not tried`);
    }
  }
});

test('bytes that are no UTF-8, in formats that are not JSON', () => {
  const bytes = Buffer.from([0x1b, 0x5b, 0x32, 0x4a, 0xff, 0xc0, 0xaf, 0xed, 0xa0, 0x80, 0xf8, 0x9b, 0xe2, 0x80, 0xae]);
  const around = (before_, after_) => Buffer.concat([Buffer.from(before_), bytes, Buffer.from(after_)]);
  const inputs = {
    'kern.log': around('Mar  4 05:06:00 gpu-', ' kernel: NVRM: Xid (PCI:0000:1b:00): 48, pid=1, name=x, DBE\n'),
    'kern2.log': around('Mar  4 05:06:00 gpu-07 kernel: NVRM: Xid (PCI:0000:1b:00): 48, pid=1, name=', ', DBE\n'),
    'oom.log': around('Mar  4 05:06:00 gpu-07 kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,'
      + 'oom_memcg=/kubepods/burstable/pod6fd4a3b1-90ab-4f7e-bb0a-1c2d3e4f5a6b,task_memcg=/kubepods/burstable/pod6fd4a3b1-90ab-4f7e-bb0a-1c2d3e4f5a6b/x,task=', ',pid=7,uid=0\n'),
    'm.prom': around('DCGM_FI_DEV_ROW_REMAP_FAILURE{gpu="0",UUID="GPU-1",Hostname="', '"} 1 1772600760000\n'),
    'train.log': around('2026-03-04 05:06:00 step: 7  loss: ', ' DataLoader worker (pid 11) is killed by signal: Killed.\n'),
  };
  for (const [name, content] of Object.entries(inputs)) {
    fs.writeFileSync(path.join(folder, name), content);
    clean(run('detect', ['--all', '--now=2026-03-04T05:10:00Z', name]), name);
  }
});

test('names of files, and of what the command line takes', () => {
  const name = 'a\u001b[31mb\n\u009b\u202e.log';
  fs.writeFileSync(path.join(folder, name), 'no format at all \u001b[2J');
  clean(run('detect', [name]), 'a file');
  clean(run('detect', [`missing${name}`]), 'a file that is not there');
  clean(run('detect', [`--map=${name}`, name]), 'a map');
  clean(run('detect', [`--only=${name}`, name]), 'a pattern');
  clean(run('detect', [`--set=${name}`, name]), 'a knob');
  clean(run('detect', [`--${name}`]), 'an option');
  clean(run(`x${HOSTILE.replaceAll('\0', '')}`, []), 'a command');
});

// The same words, with a terminal as standard output: bytes that come out of it.
const TERMINAL = `
import os, pty, sys
pid, fd = pty.fork()
if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
seen = b''
while True:
    try: part = os.read(fd, 65536)
    except OSError: break
    if not part: break
    seen += part
os.waitpid(pid, 0)
sys.stdout.buffer.write(seen)
`;
function onTerminal(args) {
  const result = spawnSync('python3', ['-c', TERMINAL, binary, ...args], { cwd: folder, maxBuffer: 1 << 28, timeout: 60000 });
  assert.equal(result.status, 0, result.stderr.toString());
  // The terminal itself turns \n into \r\n.
  return Buffer.from(result.stdout.toString('latin1').replaceAll('\r\n', '\n'), 'latin1');
}

describe('decode and sql on a terminal', () => {
  const text = `a${HOSTILE}b`;
  test('decode escapes what its JSON has, and it stays the same JSON', () => {
    // Long enough that characters fall on the end of every buffer.
    const record = (pod) => JSON.stringify({ kind: 'k8s_event', time: '2026-03-04T05:06:07Z', pod, message: text.repeat(40) });
    const kernel = `2026-03-04T05:06:07,000000+00:00 NVRM: Xid (PCI:0000:1b:00): 95, pid=1, name=${text.replace(/[\r\n]/g, '')}, Uncontained\n`;
    fs.writeFileSync(path.join(folder, 'dmesg-gpu-1.txt'), kernel.repeat(2000));
    fs.writeFileSync(path.join(folder, 'events.ndjson'), `${record('p')}\n`);
    for (const file of ['dmesg-gpu-1.txt', 'events.ndjson']) {
      const piped = run('decode', [file]);
      const shown = onTerminal(['decode', file]);
      clean({ signal: null, stdout: shown, stderr: Buffer.alloc(0) }, file);
      const parse = (bytes) => bytes.toString('utf8').split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
      assert.deepEqual(parse(shown), parse(piped.stdout), file);
    }
    assert.match(run('decode', ['dmesg-gpu-1.txt']).stdout.toString('utf8'), /\u202e/u, 'a pipe gets the bytes as they are');
  });
  test('sql escapes cells and names, in every form', () => {
    const data = path.join(folder, 'data');
    const made = run('run', ['add', '--data-dir', data, '--result', path.join(source, 'examples/benchmark/base-1/vllm-c16.json')]);
    const quoted = text.replaceAll("'", "''");
    for (const form of ['--table', '--csv', '--json']) {
      const shown = onTerminal(['sql', '--data-dir', data, form, `SELECT '${quoted}' AS t, 1 AS "n\u202e", 'x\ny' AS lines`]);
      clean({ signal: null, stdout: shown, stderr: Buffer.alloc(0) }, form);
      const lines = shown.toString('utf8').trim().split('\n').filter((line) => !/^1 row$/.test(line));
      assert.equal(lines.length, { '--table': 3, '--csv': 2, '--json': 1 }[form], `${made.stderr}${shown}`);
    }
  });
});
