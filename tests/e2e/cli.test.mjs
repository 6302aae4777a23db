// SPDX-License-Identifier: Apache-2.0
// The command line of the real binary. Every input here is invented.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import zlib from 'node:zlib';

const binary = process.env.TC_BINARY;
const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const samples = process.env.TC_SAMPLES ?? path.join(source, '../shared/samples');

let folder;
before(() => {
  assert.ok(binary, 'TC_BINARY names the program to test');
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_e2e_'));
});
after(() => fs.rmSync(folder, { recursive: true, force: true }));

// Runs the program; stdout and stderr as text.
function run(args, options = {}) {
  const result = spawnSync(binary, args, {
    encoding: 'utf8',
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, ...options.env },
    input: options.input ?? '',
    stdio: options.stdio,
    maxBuffer: 1 << 28,
  });
  assert.equal(result.signal, null, `${args.join(' ')}: ${result.stderr}`);
  return { code: result.status, out: result.stdout, err: result.stderr };
}

function write(name, content) {
  const file = path.join(folder, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, content);
  return name;
}

function ndjson(text) {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

const XID_LINE =
  '2026-11-15T03:04:05,123456+00:00 NVRM: Xid (PCI:0000:b3:00): 79, pid=1234, name=python, GPU has fallen off the bus.\n';

// An Xid of an application: nobody's fault but the program's, so no pattern fires on it.
const QUIET_LINE = XID_LINE.replace('79,', '13,').replace('GPU has fallen off the bus.', 'Graphics Exception');

function podEvent(reason, message, time, name = 'llm-0') {
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name}.1`, namespace: 'train', uid: `uid-${name}-${reason}` },
    involvedObject: { kind: 'Pod', namespace: 'train', name, uid: `pod-${name}` },
    reason,
    message,
    type: 'Warning',
    source: { component: 'kubelet', host: 'gpu-07' },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
}

const EVICTION = podEvent(
  'Evicted',
  'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. Container main was using 9Gi, request is 1Gi, has larger consumption of memory.',
  '2026-11-15T03:05:05Z',
);

const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'llm-0', namespace: 'train', uid: 'pod-llm-0', creationTimestamp: '2026-11-15T01:00:00Z' },
  spec: { nodeName: 'gpu-07', containers: [{ name: 'main' }] },
  status: {
    phase: 'Failed',
    startTime: '2026-11-15T01:00:00Z',
    containerStatuses: [
      {
        name: 'main',
        state: {
          terminated: {
            exitCode: 1,
            reason: 'Error',
            startedAt: '2026-11-15T01:00:00Z',
            finishedAt: '2026-11-15T03:01:00Z',
          },
        },
      },
    ],
  },
};

function writeIncident(into) {
  write(`${into}/dmesg-gpu-07.txt`, `2026-11-15T03:00:00,000000+00:00 usb 1-1: quiet\n${XID_LINE}`);
  write(
    `${into}/events.json`,
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [EVICTION] }, null, 2),
  );
  return into;
}

const commands = ['detect', 'decode', 'evidence', 'score', 'completion', 'help'];

// { command: [[long option, takes a value], ...] } as --help has them.
function helpOptions(command) {
  const { out, code } = run([command, '--help']);
  assert.equal(code, 0);
  return [...out.matchAll(/^ {2}(?:-\w, | {4})--([a-z-]+)(=\S+)?/gm)].map((m) => [m[1], Boolean(m[2])]);
}

describe('help', () => {
  test('the program says how to use it', () => {
    for (const args of [['--help'], ['-h'], ['help']]) {
      const { code, out, err } = run(args);
      assert.equal(code, 0);
      assert.equal(err, '');
      for (const command of commands) {
        assert.match(out, new RegExp(`^  ${command} `, 'm'));
      }
    }
  });

  test('without a command it says so on standard error', () => {
    const { code, out, err } = run([]);
    assert.equal(code, 2);
    assert.equal(out, '');
    assert.match(err, /^usage: tracecore COMMAND/);
  });

  test('every command has synopsis, exit status or examples, and the same text by both ways', () => {
    for (const command of commands) {
      const { code, out } = run([command, '--help']);
      assert.equal(code, 0, command);
      assert.match(out, new RegExp(`^usage: tracecore ${command}`));
      assert.equal(run(['help', command]).out, out);
      assert.equal(run([command, '-h']).out, out);
    }
    for (const command of ['detect', 'decode', 'evidence', 'score']) {
      const { out } = run(['help', command]);
      assert.match(out, /^Exit status:$/m);
      assert.match(out, /^Examples:$/m);
    }
  });

  test('every option in --help is taken by the parser', () => {
    for (const command of commands) {
      for (const [name, takesValue] of helpOptions(command)) {
        const args = takesValue ? [`--${name}=x`] : [`--${name}`];
        // --help behind it ends the run before anything is done with the option.
        const { err } = run([command, ...args, '--help']);
        assert.doesNotMatch(err, /unknown option|takes no value|needs a value/, `${command} ${args}`);
      }
    }
  });

  test('--version is one line', () => {
    const { code, out } = run(['--version']);
    assert.equal(code, 0);
    assert.match(out, /^tracecore \d+\.\d+\.\d+\S*\n$/);
    assert.equal(run(['-V']).out, out);
  });

  test('help with an unknown command is wrong usage', () => {
    assert.equal(run(['help', 'frobnicate']).code, 2);
  });
});

describe('completion', () => {
  const files = { bash: 'completions/tracecore.bash', zsh: 'completions/_tracecore', fish: 'completions/tracecore.fish' };

  for (const [shell, file] of Object.entries(files)) {
    test(`the ${shell} script in the tree is what the program prints`, () => {
      const { code, out } = run(['completion', shell]);
      assert.equal(code, 0);
      assert.equal(
        fs.readFileSync(path.join(source, file), 'utf8'),
        out,
        `run: tracecore completion ${shell} > ${file}`,
      );
    });

    test(`every command and option is in the ${shell} script`, () => {
      const text = fs.readFileSync(path.join(source, file), 'utf8');
      for (const command of commands) {
        assert.match(text, new RegExp(`\\b${command}\\b`));
        for (const [name] of helpOptions(command)) {
          assert.ok(text.includes(shell === 'fish' ? `-l ${name} ` : `--${name}`), `${command} --${name}`);
        }
      }
    });
  }

  test('bash completes commands, options and values', () => {
    const complete = (...words) => {
      const script = [
        `source ${JSON.stringify(path.join(source, files.bash))}`,
        `COMP_WORDS=(${words.map((w) => JSON.stringify(w)).join(' ')})`,
        `COMP_CWORD=${words.length - 1}`,
        '_tracecore',
        'printf "%s\\n" "${COMPREPLY[@]}"',
      ].join('\n');
      return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).split('\n').filter(Boolean);
    };
    assert.deepEqual(complete('tracecore', 'de'), ['detect', 'decode']);
    assert.deepEqual(complete('tracecore', 'detect', '--js'), ['--json']);
    assert.deepEqual(complete('tracecore', 'detect', '--format', 'km'), ['kmsg']);
    assert.deepEqual(complete('tracecore', 'detect', '--format', '=', 'km'), ['kmsg']);
    assert.deepEqual(complete('tracecore', 'detect', '--color', '='), ['auto', 'always', 'never']);
    assert.deepEqual(complete('tracecore', 'detect', '-f', 'fl'), ['flight_recorder']);
    assert.deepEqual(complete('tracecore', 'evidence', 'c'), ['cat']);
    assert.deepEqual(complete('tracecore', 'detect', 'some'), []);
  });

  test('zsh reads its script', (t) => {
    const probe = spawnSync('zsh', ['-n', path.join(source, files.zsh)], { encoding: 'utf8' });
    if (probe.error) {
      t.skip('no zsh here');
      return;
    }
    assert.equal(probe.status, 0, probe.stderr);
  });

  test('fish reads its script', (t) => {
    const probe = spawnSync('fish', ['-n', path.join(source, files.fish)], { encoding: 'utf8' });
    if (probe.error) {
      t.skip('no fish here');
      return;
    }
    assert.equal(probe.status, 0, probe.stderr);
  });

  test('another shell is wrong usage', () => {
    assert.equal(run(['completion', 'tcsh']).code, 2);
    assert.equal(run(['completion']).code, 2);
  });
});

describe('wrong usage', () => {
  test('is exit status 2 with a remedy on standard error', () => {
    const cases = [
      [['deteckt'], /did you mean detect\?/],
      [['frobnicate'], /try: tracecore help/],
      [['--frob'], /unknown option --frob/],
      [['detect'], /nothing to read/],
      [['decode'], /nothing to read/],
      [['detect', '--jsno', 'x'], /tracecore detect: unknown option --jsno; did you mean --json\?/],
      [['decode', '--unknwon', 'x'], /did you mean --unknown\?/],
      [['detect', '--json=yes', 'x'], /takes no value/],
      [['detect', '--format'], /needs a value/],
      [['detect', '--format', 'pdf', 'x'], /known: .*kmsg/],
      [['detect', '--color', 'blue', 'x'], /auto, always, never/],
      [['detect', '--memory', 'lots', 'x'], /--memory/],
      [['detect', '--memory', '1K', 'x'], /1M or more/],
      [['detect', '--now', 'noon', 'x'], /--now: "noon" is not a time/],
      [['detect', '--tz', 'CET', 'x'], /--tz: "CET" is not a zone/],
      [['detect', '--since', 'yesterday', 'x'], /--since: "yesterday" is neither a time \(.*\) nor a duration/],
      [['decode', '--node', 'gpu-07', '.'], /--node gpu-07: give it as NAME=FILE/],
      [['detect', '--set', 'nonsense', 'x'], /pattern\.key=value/],
      [['detect', '--set', 'nccl_hang.nonsense=1', 'x'], /nccl_hang\.nonsense/],
      [['detect', '--set', 'nccl_hang.threshold=1ms', 'x'], /nccl_hang\.threshold/],
      [['detect', '--gpus', '0', 'x'], /--gpus 0: give a number from 1 to 160000/],
      [['detect', '--gpus', '160001', 'x'], /from 1 to 160000/],
      [['detect', '--gpus', 'many', 'x'], /from 1 to 160000/],
      [['detect', '--only', 'nccl_hang', '--gpus', '20000', 'x'], /give it before --only, --disable, --set and --xid/],
      [['detect', '--only', 'nonsense', 'x'], /there are: .*nccl_hang/],
      [['detect', '--disable', 'nonsense', 'x'], /there are: .*nccl_hang/],
      [['evidence'], /evidence cat FILE/],
      [['evidence', 'dog', 'x'], /evidence cat FILE/],
      [['evidence', 'cat', 'x'], /--at OFFSET,LENGTH/],
      [['evidence', 'cat', 'x', '--at', '5'], /two numbers/],
      [['evidence', 'cat', 'x', '--at', '-1,5'], /two numbers/],
      [['evidence', 'cat', 'x', '--at', '1,2', '--verify', 'md5:1'], /64 hex digits/],
    ];
    for (const [args, message] of cases) {
      const { code, out, err } = run(args);
      assert.equal(code, 2, args.join(' '));
      assert.equal(out, '', args.join(' '));
      assert.match(err, message, args.join(' '));
    }
  });
});

describe('inputs', () => {
  test('a file that is missing is said, and the others are read', () => {
    const log = write('missing/dmesg-gpu-07.txt', XID_LINE);
    const { code, err } = run(['detect', 'missing/no-such-file', log]);
    assert.equal(code, 2);
    assert.match(err, /^missing\/no-such-file: cannot be opened: No such file or directory$/m);
    assert.match(err, /1 file, 1 event /);
  });

  test('a file that is nothing we know is an error when named and a note in a directory', () => {
    write('junk/blob', Buffer.from([0, 1, 2, 3, 255, 254, 10, 0, 7]));
    write('junk/empty', '');
    const named = run(['detect', 'junk/blob']);
    assert.equal(named.code, 2);
    assert.match(named.err, /^junk\/blob: not a format we read; known: .*kmsg/m);
    const walked = run(['detect', 'junk']);
    assert.equal(walked.code, 2);
    assert.match(walked.err, /nothing was read: tried junk, but 1 file of no known format; give kernel logs/);
    assert.match(walked.err, /1 file not recognised: use -v/);
    assert.match(walked.err, /^junk\/blob: not a format we read; it begins with: \?+$/m);
    assert.doesNotMatch(walked.err, /empty/);
    for (let i = 0; i < 7; i += 1) write(`many/n${i}`, `nobody knows ${i}\n`);
    const many = run(['detect', 'many']);
    assert.equal([...many.err.matchAll(/: not a format we read; it begins with: nobody knows \d$/gmu)].length, 5);
    assert.match(many.err, /7 files not recognised/);
    assert.equal([...run(['detect', '-v', 'many']).err.matchAll(/it begins with: nobody/gu)].length, 7);
  });

  test('more room for patterns changes nothing of what has enough', () => {
    const incident = path.join(source, 'examples/incident');
    const usual = run(['detect', '--json', '-q', incident]);
    assert.ok(usual.out.split('\n').length > 3);
    assert.equal(run(['detect', '--gpus', '160000', '--json', '-q', incident]).out, usual.out);
  });

  test('too little address space for it is said with the setting', () => {
    const { status, stderr } = spawnSync('sh', ['-c', `ulimit -v 8000000; exec "${binary}" detect --gpus 160000 "${path.join(source, 'examples/incident')}"`], { encoding: 'utf8' });
    assert.equal(status, 2);
    assert.match(stderr, /^tracecore detect: no memory for what detectors keep of 160000 GPUs \(detection\.gpus\): some 21 GiB of address space/mu);
  });

  test('an empty file is an error when named', () => {
    write('zero', '');
    const { code, err } = run(['detect', 'zero']);
    assert.equal(code, 2);
    assert.match(err, /^zero: empty, not a format we read/m);
    assert.equal(run(['detect', '--format', 'kmsg', 'zero']).code, 0);
  });

  test('standard input is read as "-"', () => {
    const { code, out } = run(['decode', '-'], { input: XID_LINE });
    assert.equal(code, 0);
    assert.equal(ndjson(out)[0].xid, 79);
    assert.equal(run(['detect', '-'], { input: '' }).code, 2);
    const node = ndjson(run(['decode', '--node', 'gpu-07=-', '-'], { input: XID_LINE }).out);
    assert.equal(node[0]['k8s.node.name'], 'gpu-07');
  });

  test('what is no regular file is refused', () => {
    const { code, err } = run(['detect', '/dev/null']);
    assert.equal(code, 2);
    assert.match(err, /is a character device, not a regular file/);
  });

  test('the same file under two names counts once', () => {
    write('twice/dmesg-gpu-07.txt', XID_LINE);
    const { err } = run(['detect', 'twice', 'twice/dmesg-gpu-07.txt']);
    assert.match(err, /1 file, 1 event /);
  });

  test('times since boot are warned about, and --boot-time dates them', () => {
    const line = '[  100.500000] NVRM: Xid (PCI:0000:b3:00): 13, pid=1, Graphics Exception\n';
    write('boot/dmesg-gpu-07.txt', line);
    write('bootpod/dmesg-gpu-07.txt', line);
    write('bootpod/pod.json', '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"n"},"spec":{"nodeName":"gpu-07"},"status":{"phase":"Running"}}\n');
    const { err } = run(['detect', 'bootpod']);
    assert.match(err, /^bootpod\/dmesg-gpu-07\.txt: 1 event has only a time since boot; give --boot-time gpu-07=TIME$/m);
    for (const who of ['', 'gpu-07=', 'dmesg-gpu-07.txt=', 'boot/dmesg-gpu-07.txt=']) {
      const { out } = run(['decode', '--boot-time', `${who}2026-11-15T03:00:00Z`, 'boot']);
      assert.equal(ndjson(out)[0].time, '2026-11-15T03:01:40.500Z');
      assert.equal(ndjson(out)[0]['k8s.node.name'], 'gpu-07');
    }
    const unused = run(['detect', '--boot-time', 'gpu-99=2026-11-15T03:00:00Z', 'boot']);
    assert.equal(unused.code, 0);
    assert.match(unused.err, /--boot-time gpu-99=\.\.\. was not used/);
    assert.match(unused.err, /only a time since boot/);
  });

  test('kernel logs by themselves are dated by their end, and that is said', () => {
    const xid = 'NVRM: Xid (PCI:0000:b3:00): 95, pid=1, name=p, Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No\n';
    const last = 'usb 1-1: new high-speed USB device\n';
    const shapes = {
      dmesg: `[  100.500000] ${xid}[  160.500000] ${last}`,
      raw: `<3>[  100.500000] ${xid}<6>[  160.500000] ${last}`,
      thread: `[  100.500000][  T291] ${xid}[  160.500000][   T12] ${last}`,
      kmsg: `3,17,100500000,-;${xid}6,18,160500000,-;${last} SUBSYSTEM=usb\n`,
      torn: `[  100.500000] ${xid}[  160.500000] ${last}[  161.50`,
    };
    for (const [name, text] of Object.entries(shapes)) {
      write(`bootend/${name}/dmesg-gpu-07.txt`, text);
      const { code, out, err } = run(['detect', '--json', '--now', '2026-11-15T03:01:00Z', `bootend/${name}`]);
      assert.equal(code, 1, name);
      assert.equal(ndjson(out)[0].first_seen, '2026-11-15T03:00:00Z', name);
      assert.match(err, /^bootend\/\w+\/dmesg-gpu-07\.txt: has only times since boot; assumed: it ends at 2026-11-15T03:01:00Z\. --boot-time gpu-07=TIME sets them right$/m);
      assert.equal(ndjson(run(['decode', '--now', '2026-11-15T03:01:00Z', `bootend/${name}`]).out)[0].time, undefined);
    }
    write('bootend/long/dmesg.txt', `[9999999999.500000] ${xid}`);
    const long = run(['detect', '--json', '--now', '2026-11-15T03:01:00Z', 'bootend/long']);
    assert.deepEqual([long.code, ndjson(long.out)[0]?.undated], [1, true]);
  });

  test('--boot-time takes a node that only the lines name', () => {
    const line = '[  100.500000] gpu-07 kernel: NVRM: Xid (PCI:0000:b3:00): 13, pid=1, Graphics Exception\n';
    write('bootline/x.log', line);
    const known = ndjson(run(['decode', 'bootline']).out);
    assert.equal(known[0]['k8s.node.name'], 'gpu-07');
    assert.equal(known[0].time, undefined);
    for (const command of ['decode', 'detect']) {
      const { code, err } = run([command, '--boot-time', 'gpu-07=2026-11-15T03:00:00Z', 'bootline']);
      assert.equal(code, 0);
      assert.doesNotMatch(err, /was not used|only a time since boot/);
      const other = run([command, '--boot-time', 'gpu-08=2026-11-15T03:00:00Z', 'bootline']);
      assert.equal(other.code, 0);
      assert.match(other.err, new RegExp(`tracecore ${command}: --boot-time gpu-08=... was not used`));
    }
    const { out } = run(['decode', '--boot-time', 'gpu-07=2026-11-15T03:00:00Z', 'bootline']);
    assert.equal(ndjson(out)[0].time, '2026-11-15T03:01:40.500Z');
  });

  test('events without a node or without any time are warned about, once per file', () => {
    write('nonode/dmesg.txt', XID_LINE + XID_LINE);
    assert.match(
      run(['detect', '-q', 'nonode']).err,
      /^nonode\/dmesg\.txt: 2 events name no node; give --node NAME=dmesg\.txt$/m,
    );
    assert.equal(run(['detect', '-q', '--node', 'gpu-07=dmesg.txt', 'nonode']).err, '');
    write('undated/dmesg-gpu-07.txt', 'NVRM: Xid (PCI:0000:b3:00): 13, pid=1, Graphics Exception\n');
    const undated = run(['detect', '-q', 'undated']);
    assert.equal(undated.code, 0);
    assert.equal(undated.err, 'undated/dmesg-gpu-07.txt: 1 event has no time: taken in the order of the lines\n');
  });

  test('compressed files are read, UTF-16 is an error, in a directory too', () => {
    const log = write('packed/dmesg-gpu-07.txt', XID_LINE);
    write('packed/old.gz', zlib.gzipSync(XID_LINE));
    write('packed/wide.txt', Buffer.from(`\ufeff${XID_LINE}`, 'utf16le'));
    const { code, err } = run(['detect', 'packed']);
    assert.equal(code, 2);
    assert.match(err, /^packed\/wide\.txt: UTF-16 text; convert it first \(iconv -f UTF-16 -t UTF-8 packed\/wide\.txt \|/m);
    assert.match(err, /2 files, 2 events /);
    assert.doesNotMatch(err, /nothing was read|not recognised/);
    const piped = run(['detect', '-'], { input: zlib.gzipSync(fs.readFileSync(path.join(folder, log))) });
    assert.match(piped.err, /1 file, 1 event /);
  });

  test('when nothing was read that is an error, with what was tried and what to give', () => {
    fs.mkdirSync(path.join(folder, 'void'));
    for (const command of ['detect', 'decode']) {
      const { code, out, err } = run([command, 'void']);
      assert.equal(code, 2);
      assert.equal(out, '');
      assert.match(err, /nothing was read: tried void: no files there; give kernel logs .*Flight Recorder dumps/);
    }
    const five = run(['detect', 'void', './void', 'void/.', './void/.', '../' + path.basename(folder) + '/void']);
    assert.match(five.err, /tried void, \.\/void, void\/\., \.\/void\/\. and 1 more path/);
  });

  test('links to directories and pipes in a directory are counted, and named with -v', () => {
    write('links/dmesg-gpu-07.txt', QUIET_LINE);
    fs.symlinkSync('.', path.join(folder, 'links/circle'));
    execFileSync('mkfifo', [path.join(folder, 'links/pipe')]);
    assert.match(run(['detect', 'links']).err, /; 2 links, pipes or sockets not read: use -v$/m);
    const { code, err } = run(['detect', '-v', 'links']);
    assert.equal(code, 0);
    assert.match(err, /^links\/circle: not read: a link to a directory$/m);
    assert.match(err, /^links\/pipe: not read: a pipe$/m);
  });

  test('the order of events in a file of events does not matter', () => {
    // The pod's end is the last line though it belongs near the first: two batches are not enough.
    const lines = [];
    const stamp = (s) => new Date(Date.UTC(2026, 10, 15, 3, 0, s)).toISOString().replace('Z', '');
    for (let i = 0; i < 20000; i++) {
      const fatal = i === 0 ? '79, pid=1, GPU has fallen off the bus.' : '13, pid=1, Graphics Exception';
      lines.push(`${stamp(i).replace('.', ',')}000+00:00 NVRM: Xid (PCI:0000:b3:00): ${fatal}\n`);
    }
    write('disorder/dmesg-gpu-07.txt', lines.join(''));
    write('disorder/pods.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [POD] }));
    const straight = run(['detect', '--json', 'disorder']);
    assert.equal(straight.code, 1);
    write('disorder.ndjson', run(['decode', 'disorder']).out);
    const { code, out, err } = run(['detect', '--json', 'disorder.ndjson']);
    assert.equal(code, 1, err);
    assert.equal(ndjson(out)[0].headline, ndjson(straight.out)[0].headline);
    assert.doesNotMatch(err, /too late/);
    // Without the memory to sort it, what came too late is at least said.
    const tight = run(['detect', '--memory', '1M', 'disorder.ndjson']);
    assert.match(tight.err, /; 1 event came too late: sort the input by time/);
  });

  test('events with an impossible date are counted', () => {
    write('misdated.ndjson', run(['decode', '-'], { input: XID_LINE }).out.replace('2026-', '2250-'));
    assert.match(run(['detect', 'misdated.ndjson']).err, /; 1 event is dated before 1970 or after 2200/);
  });

  test('a file that shrinks while it is read is an error, and the others are read', async () => {
    const strange = `${'[    1.000000] NVRM: nobody knows this'.padEnd(400, '.')}\n`;
    write('shrink/big.txt', XID_LINE + strange.repeat(8000));
    write('shrink/small.txt', XID_LINE + strange);
    const child = spawn(binary, ['decode', '--unknown', 'shrink/big.txt', 'shrink/small.txt'], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    // Its output is longer than a pipe: once it has begun, it waits in the middle of the file.
    await once(child.stdout, 'readable');
    fs.truncateSync(path.join(folder, 'shrink/big.txt'), 4096);
    const texts = [child.stdout, child.stderr].map(async (stream) => {
      let text = '';
      for await (const piece of stream.setEncoding('utf8')) {
        text += piece;
      }
      return text;
    });
    const [code, signal] = await once(child, 'close');
    const [out, err] = await Promise.all(texts);
    assert.equal(signal, null);
    assert.equal(code, 2);
    assert.match(err, /^shrink\/big\.txt: changed while being read: it became shorter/m);
    assert.match(out, /^shrink\/big\.txt:2: /m);
    assert.match(out, /^shrink\/small\.txt:2: /m);
  });

  test('names with control characters are shown escaped', () => {
    const name = write('evil/a\x1b[2J', 'junk\n');
    const { err } = run(['detect', name]);
    assert.ok(!err.includes('\x1b'));
    assert.match(err, /\\x1b\[2J/);
  });
});

describe('detect', () => {
  test('nothing wrong is exit status 0 and silence on standard output', () => {
    write('quiet/dmesg-gpu-07.txt', QUIET_LINE);
    const { code, out, err } = run(['detect', 'quiet']);
    assert.equal(code, 0);
    assert.equal(out, '');
    assert.match(err, /^tracecore detect: 1 file, 1 event from 2026-11-15T03:04:05Z .* 0 stories$/m);
    assert.equal(run(['detect', '--quiet', 'quiet']).err, '');
  });

  test('an eviction after an Xid is found, in text and in JSON', () => {
    writeIncident('incident');
    const text = run(['detect', 'incident']);
    assert.equal(text.code, 1);
    assert.match(text.out, /xid_correlation/);
    assert.match(text.out, /pod_evicted/);
    assert.match(text.out, /^ {4}sed -n 2p incident\/dmesg-gpu-07\.txt$/m);
    assert.ok(text.out.includes(`      ${XID_LINE}`), 'a quote is not cut in a pipe');
    assert.ok(!text.out.includes('\x1b'), 'no colour into a pipe');
    for (const line of text.out.slice(0, text.out.indexOf('  Evidence')).split('\n')) {
      assert.ok([...line].length <= 80, line);
    }
    const json = run(['detect', '--json', 'incident']);
    assert.equal(json.code, 1);
    const verdicts = ndjson(json.out);
    assert.deepEqual(new Set(verdicts.map((v) => v['pattern.name'])), new Set(['gpu_fault', 'xid_correlation', 'pod_evicted']));
    assert.match(json.err, /, 1 story \(3 verdicts\)$/m);
  });

  test('the evidence of a verdict is the bytes of the file', () => {
    writeIncident('proof');
    const digests = new Map(
      ['dmesg-gpu-07.txt', 'events.json'].map((name) => {
        const bytes = fs.readFileSync(path.join(folder, 'proof', name));
        return [`sha256:${createHash('sha256').update(bytes).digest('hex')}`, `proof/${name}`];
      }),
    );
    const verdicts = ndjson(run(['detect', '--json', 'proof']).out);
    const xid = verdicts
      .flatMap((v) => v.evidence_trail)
      .find((e) => e.kind === 'xid');
    assert.ok(xid, 'an Xid is cited');
    const file = digests.get(xid.raw.digest);
    assert.equal(file, 'proof/dmesg-gpu-07.txt');
    const at = `${xid.raw.offset},${xid.raw.length}`;
    const cat = run(['evidence', 'cat', file, '--at', at, '--verify', xid.raw.digest]);
    assert.equal(cat.code, 0);
    assert.ok(XID_LINE.includes(cat.out.trim()) && cat.out.includes('79'), cat.out);
    for (const e of verdicts.flatMap((v) => v.evidence_trail)) {
      assert.ok(digests.has(e.raw.digest), JSON.stringify(e));
    }
  });

  test('the order of the inputs changes nothing', () => {
    writeIncident('order');
    const a = run(['detect', '--json', 'order/dmesg-gpu-07.txt', 'order/events.json']);
    const b = run(['detect', '--json', 'order/events.json', 'order/dmesg-gpu-07.txt']);
    assert.equal(a.code, 1);
    assert.equal(a.out, b.out);
    // The same events in two files: which of them is cited must not depend on the order either.
    fs.copyFileSync(path.join(folder, 'order/events.json'), path.join(folder, 'order/replayed.json'));
    fs.appendFileSync(path.join(folder, 'order/replayed.json'), '\n');
    const files = ['dmesg-gpu-07.txt', 'events.json', 'replayed.json'].map((f) => `order/${f}`);
    const expected = run(['detect', '--json', 'order']).out;
    for (const i of [0, 1, 2]) {
      const turned = [...files.slice(i), ...files.slice(0, i)];
      assert.equal(run(['detect', '--json', ...turned]).out, expected);
      assert.equal(run(['detect', '--json', ...turned.reverse()]).out, expected);
    }
  });

  test('patterns can be chosen, left out and tuned', () => {
    writeIncident('choose');
    const names = (...args) =>
      ndjson(run(['detect', '--json', ...args, 'choose']).out).map((v) => v['pattern.name']);
    assert.deepEqual(names('--only', 'pod_evicted'), ['pod_evicted']);
    assert.deepEqual(names('--disable', 'pod_evicted'), ['gpu_fault', 'xid_correlation']);
    assert.deepEqual(names('--only', 'pod_evicted,xid_correlation').sort(), ['pod_evicted', 'xid_correlation']);
    assert.deepEqual(names('--only', 'nccl_hang'), []);
    assert.deepEqual(names('--only', 'xid_correlation', '--set', 'xid_correlation.window=30s'), []);
    assert.equal(run(['detect', '--only', 'nccl_hang', 'choose']).code, 0);
  });

  test('patterns and their knobs are listed', () => {
    const { code, out } = run(['detect', '--list-patterns']);
    assert.equal(code, 0);
    assert.match(out, /^nccl_hang /m);
    assert.match(out, /--set nccl_hang\.threshold=/);
    const json = ndjson(run(['detect', '--list-patterns', '--json']).out);
    const hang = json.find((p) => p['pattern.name'] === 'nccl_hang');
    assert.equal(hang['pattern.id'], '1');
    const knob = hang.knobs.find((k) => k.name === 'threshold');
    assert.equal(knob.default, 300);
    assert.ok(knob.min >= 1 && knob.max > knob.default);
    const names = (...args) =>
      ndjson(run(['detect', '--list-patterns', '--json', ...args]).out).map((p) => p['pattern.name']);
    assert.deepEqual(names('--only', 'straggler,pcie_aer'), ['pcie_aer', 'straggler']);
    assert.equal(names('--disable', 'straggler').length, json.length - 1);
    assert.match(run(['detect', '--list-patterns', '--only', 'host_oom']).out, /^host_oom /);
  });

  test('a map of ranks can be decoded alone', () => {
    fs.writeFileSync(path.join(folder, 'ranks.csv'), 'rank,node\n0,gpu-01\n1,gpu-02\n');
    const { code, out } = run(['decode', '--map', 'ranks.csv']);
    assert.equal(code, 0);
    assert.deepEqual(ndjson(out).map((e) => [e.kind, e.rank]), [['rank_place', 0], ['rank_place', 1]]);
    assert.equal(run(['detect', '--map', 'ranks.csv']).code, 2);
    assert.equal(run(['decode']).code, 2);
  });

  test('zsh completes files where an option takes one', () => {
    assert.match(run(['completion', 'zsh']).out, /'\*--map=\[.*\]:FILE:_files' /);
  });

  test('colour is for terminals, unless asked for or refused', () => {
    writeIncident('colour');
    assert.ok(run(['detect', '--color=always', 'colour']).out.includes('\x1b[1;'));
    assert.ok(!run(['detect', '--color=never', 'colour']).out.includes('\x1b'));
    const onTerminal = (environment, ...args) =>
      spawnSync('script', ['-qec', `'${binary}' detect -q ${args.join(' ')} colour`, '/dev/null'], {
        encoding: 'utf8',
        cwd: folder,
        env: { PATH: process.env.PATH, TERM: 'xterm', ...environment },
      });
    const probe = onTerminal({});
    if (!probe.error) {
      assert.ok(probe.stdout.includes('\x1b[1;'), 'colour on a terminal');
      assert.ok(!onTerminal({ TERM: 'dumb' }).stdout.includes('\x1b'), 'TERM=dumb');
      assert.ok(!onTerminal({ NO_COLOR: '1' }).stdout.includes('\x1b[1;'), 'NO_COLOR');
      assert.ok(onTerminal({ NO_COLOR: '' }).stdout.includes('\x1b[1;'), 'an empty NO_COLOR is none');
      assert.ok(!onTerminal({}, '--color=never').stdout.includes('\x1b[1;'));
    }
  });

  test('an unreadable dump is said, and does not hide the rest', () => {
    writeIncident('torn');
    write('torn/dumps/_dump_3', Buffer.from('8002', 'hex'));
    const { code, out, err } = run(['detect', '--json', 'torn']);
    assert.equal(code, 2);
    assert.match(err, /^torn\/dumps\/_dump_3: at byte \d+: /m);
    assert.equal(ndjson(out).filter((v) => v['pattern.name'] === 'xid_correlation').length, 1);
  });

  test('a malformed line of JSON is said with its line', () => {
    write('bad/events.ndjson', '{"kind":"xid","time":"2026-11-15T03:04:05Z","xid":79}\n{"kind":"xid",\n');
    const { code, err, out } = run(['decode', 'bad/events.ndjson']);
    assert.equal(code, 2);
    assert.match(err, /^bad\/events\.ndjson: .*line 2/m);
    assert.equal(ndjson(out).length, 1);
  });

  test('too little memory is said with the knob', () => {
    const many = [];
    for (let i = 0; i < 20000; i++) {
      many.push(podEvent('BackOff', `restart ${i} `.padEnd(200, 'x'), '2026-11-15T03:05:05Z', `pod-${i}`));
    }
    write('many/events.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: many }));
    const { code, err } = run(['detect', '--memory', '1M', 'many']);
    assert.equal(code, 2);
    assert.match(err, /raise --memory/);
    assert.equal(run(['detect', 'many']).code, 0);
  });
});

describe('output', () => {
  test('a full disk is an error, whatever is printed', () => {
    writeIncident('full');
    const commands = [
      ['--help'],
      ['--version'],
      ['help', 'detect'],
      ['completion', 'bash'],
      ['detect', 'full'],
      ['detect', '--json', 'full'],
      ['detect', '--list-patterns'],
      ['decode', 'full'],
      ['evidence', 'cat', 'full/dmesg-gpu-07.txt', '--at', '0,10'],
    ];
    for (const args of commands) {
      const sink = fs.openSync('/dev/full', 'w');
      const { code, err } = run(args, { stdio: ['pipe', sink, 'pipe'] });
      fs.closeSync(sink);
      assert.equal(code, 2, args.join(' '));
      assert.match(err, /cannot write standard output: No space left on device/, args.join(' '));
    }
  });

  test('a reader that goes away is no message', () => {
    const line = XID_LINE.repeat(20000);
    write('pipe/dmesg-gpu-07.txt', line);
    const result = spawnSync('bash', ['-c', `'${binary}' decode pipe | head -n 1; echo "\${PIPESTATUS[0]}"`], {
      encoding: 'utf8',
      cwd: folder,
    });
    assert.equal(result.stderr, '');
    assert.equal(result.stdout.split('\n')[1], '141');
  });
});

describe('decode', () => {
  test('what it prints reads back as the same events', () => {
    writeIncident('round');
    const first = run(['decode', 'round']);
    assert.equal(first.code, 0);
    const events = ndjson(first.out);
    assert.ok(events.length >= 2);
    write('again/events.ndjson', first.out);
    const second = ndjson(run(['decode', 'again/events.ndjson']).out);
    const strip = (e) => ({ ...e, raw: undefined });
    assert.deepEqual(second.map(strip), events.map(strip));
    const verdicts = (dir) => ndjson(run(['detect', '--json', dir]).out).map((v) => v.headline);
    assert.deepEqual(verdicts('again'), verdicts('round'));
  });

  test('raw names the bytes of the line', () => {
    write('raw/dmesg-gpu-07.txt', `2026-11-15T03:00:00,000000+00:00 usb 1-1: quiet\n${XID_LINE}`);
    const [event] = ndjson(run(['decode', 'raw']).out);
    const bytes = fs.readFileSync(path.join(folder, 'raw/dmesg-gpu-07.txt'));
    assert.equal(event.raw.digest, `sha256:${createHash('sha256').update(bytes).digest('hex')}`);
    const quoted = bytes.subarray(event.raw.offset, event.raw.offset + event.raw.length).toString();
    assert.ok(XID_LINE.includes(quoted) && quoted.includes('NVRM: Xid'));
  });

  test('--unknown lists what was not understood, with its line', () => {
    write('unknown/dmesg-gpu-07.txt', `${XID_LINE}2026-11-15T03:04:06,000000+00:00 flux capacitor: \x1b[2Jcharged\n`);
    const { code, out } = run(['decode', '--unknown', 'unknown']);
    assert.equal(code, 0);
    assert.match(out, /^unknown\/dmesg-gpu-07\.txt:2: .+: .*flux capacitor: \\x1b\[2Jcharged$/m);
    assert.doesNotMatch(out, /Xid/);
  });

  test('an unreadable input is exit status 2 and the rest is printed', () => {
    write('rest/dmesg-gpu-07.txt', XID_LINE);
    const { code, out } = run(['decode', 'rest/gone', 'rest/dmesg-gpu-07.txt']);
    assert.equal(code, 2);
    assert.equal(ndjson(out).length, 1);
  });
});

describe('evidence cat', () => {
  test('prints exactly the bytes asked for', () => {
    const bytes = Buffer.from([...Array(256).keys()]);
    write('bytes', bytes);
    const result = spawnSync(binary, ['evidence', 'cat', 'bytes', '--at', '3,250'], { cwd: folder });
    assert.equal(result.status, 0);
    assert.deepEqual(result.stdout, bytes.subarray(3, 253));
    assert.equal(run(['evidence', 'cat', 'bytes', '--at', '256,0']).code, 0);
    assert.equal(run(['evidence', 'cat', '--at', '0,256', 'bytes']).code, 0);
  });

  test('a range outside of the file names its size', () => {
    write('short', 'hello');
    for (const at of ['0,6', '5,1', '6,0', '18446744073709551615,1', '1,18446744073709551615']) {
      const { code, out, err } = run(['evidence', 'cat', 'short', '--at', at]);
      assert.equal(code, 2, at);
      assert.equal(out, '');
      assert.match(err, /has 5 bytes/);
    }
  });

  test('another digest is exit status 1 and prints nothing', () => {
    write('verified', 'abc');
    const good = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'; // FIPS 180-2, B.1
    for (const digest of [`sha256:${good}`, good, good.toUpperCase()]) {
      const { code, out } = run(['evidence', 'cat', 'verified', '--at', '0,3', '--verify', digest]);
      assert.equal(code, 0);
      assert.equal(out, 'abc');
    }
    const bad = run(['evidence', 'cat', 'verified', '--at', '0,3', '--verify', `sha256:${'0'.repeat(64)}`]);
    assert.equal(bad.code, 1);
    assert.equal(bad.out, '');
    assert.match(bad.err, new RegExp(good));
  });

  test('a missing file is exit status 2', () => {
    assert.equal(run(['evidence', 'cat', 'gone', '--at', '0,1']).code, 2);
  });
});

describe('recorded dumps', () => {
  const dumps = path.join(samples, 'fr/gpu_error_1st');

  test('a hang is told with cause, consequences and evidence', (t) => {
    if (!fs.existsSync(dumps)) {
      t.skip(`no samples in ${samples}`);
      return;
    }
    const text = run(['detect', dumps]);
    assert.equal(text.code, 1);
    assert.match(text.out, /^CRITICAL {2}nccl_hang/);
    assert.match(text.out, /^ {2}To do\n {4}.*\n(?: {4}.*\n)* {2}Why\n {4}.*\n(?: {4}.*\n){0,2} {2}What followed$/m);
    assert.match(text.out, /^ {6}and (\d+) other groups$/m);
    const verdicts = ndjson(run(['detect', '--json', dumps]).out);
    const full = run(['detect', '--all', dumps]).out;
    assert.equal([...full.matchAll(/^ {2}incident /gm)].length, verdicts.length);
    assert.equal([...text.out.matchAll(/^ {2}incident /gm)].length, 1, 'one story, one page');
    const groups = text.out.match(/^ {6}and (\d+) other groups$/m);
    const roots = verdicts.filter((v) => v.root).length;
    assert.equal(roots + 1 + Number(groups[1]), verdicts.length);
    for (const v of verdicts) {
      assert.equal(v['job.id'], 'gpu_error_1st');
    }
    // One story: its roots first, then what followed, by time.
    const key = (v) => `${v.root ? 0 : 1} ${v.first_seen}`;
    assert.equal(new Set(verdicts.map((v) => v.incident_group)).size, 1);
    assert.deepEqual(verdicts.map(key), verdicts.map(key).sort());
  });
});

test('help is at most 80 columns wide', () => {
  for (const name of ['evidence', 'run', 'sql', 'export', 'retain']) {
    const { code, out } = run(['help', name]);
    assert.equal(code, 0);
    assert.deepEqual(out.split('\n').filter((line) => [...line].length > 80), [], name);
  }
});
