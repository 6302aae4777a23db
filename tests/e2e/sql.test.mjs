// SPDX-License-Identifier: Apache-2.0
// `tracecore sql`: one query, queries from a pipe, a session at a terminal; what it prints and what
// it refuses.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { binary, scratch, tracecore } from './support/runs.mjs';
import { putRows } from './support/rows.mjs';

let place;
let data;
before(() => {
  place = scratch('sql');
  data = path.join(place.folder, 'data');
  fs.mkdirSync(data);
  putRows(data, [
    ['benchmark_run_fact', { run_id: 'r1', name: 'first', added_at: new Date('2026-03-04T05:06:07.089Z'), publishable: 1,
      replicate_index: 9007199254740993n, confidence_level: 0.95 }],
    ['benchmark_run_fact', { run_id: 'r2', name: 'a,"b"', intent: '\u001b[31mred', publishable: 0 }],
    ['benchmark_run_fact', { run_id: 'r3', name: '', confidence_level: 1e300 }],
  ]);
});
after(() => place.remove());

const sql = (args, options) => tracecore(['sql', '--data-dir', data, ...args], options);
const QUERY = 'SELECT run_id, name, intent, added_at, publishable, replicate_index, confidence_level '
  + 'FROM benchmark_run_fact ORDER BY run_id';

describe('an answer', () => {
  test('as JSON has numbers as numbers, times as RFC 3339, and null', () => {
    const { status, stdout } = sql(['--json', QUERY]);
    assert.equal(status, 0);
    const lines = stdout.trim().split('\n');
    assert.match(lines[0], /"replicate_index":9007199254740993,/);
    assert.deepEqual(JSON.parse(lines[0]), { run_id: 'r1', name: 'first', intent: null, added_at: '2026-03-04T05:06:07.089Z',
      publishable: true, replicate_index: 9007199254740993, confidence_level: 0.95 });
    assert.equal(JSON.parse(lines[1]).intent, '\u001b[31mred');
    assert.equal(JSON.parse(lines[2]).name, '');
    assert.match(lines[2], /"confidence_level":1e\+300/);
  });

  test('of lists and structs is JSON in JSON', () => {
    const query = "SELECT list(run_id ORDER BY run_id) AS l, {'a': 1, 'b': 'x'} AS s, [1.5, NULL] AS n, ['nan'::DOUBLE] AS o, '[1]' AS t FROM benchmark_run_fact";
    assert.deepEqual(JSON.parse(sql(['--json', query]).stdout),
      { l: ['r1', 'r2', 'r3'], s: { a: 1, b: 'x' }, n: [1.5, null], o: '[NaN]', t: '[1]' });
  });

  test('of PIVOT has a column for each value that there is', () => {
    const { stdout } = sql(['--json', 'PIVOT (SELECT run_id, confidence_level FROM benchmark_run_fact) ON run_id USING max(confidence_level)']);
    assert.deepEqual(JSON.parse(stdout), { r1: 0.95, r2: null, r3: 1e300 });
  });

  test('as CSV follows RFC 4180', () => {
    const { stdout } = sql(['--csv', QUERY]);
    assert.equal(stdout.split('\r\n')[0], 'run_id,name,intent,added_at,publishable,replicate_index,confidence_level');
    assert.equal(stdout.split('\r\n')[1], 'r1,first,,2026-03-04T05:06:07.089Z,true,9007199254740993,0.95');
    assert.equal(stdout.split('\r\n')[2], 'r2,"a,""b""",\u001b[31mred,,false,,');
    assert.equal(stdout.split('\r\n')[3], 'r3,"",,,,,1e+300');
    assert.ok(stdout.endsWith('\r\n'));
  });

  test('as a table is aligned, escaped, and no wider than 80 columns', () => {
    const { stdout, stderr } = sql([QUERY]);
    const lines = stdout.trimEnd().split('\n');
    assert.ok(lines.every((line) => [...line].length <= 80), stdout);
    assert.match(stdout, /\\x1b\[31mred/);
    assert.ok(!stdout.includes('\u001b'));
    assert.match(lines[2], /^r1 {6}first {2}\u2205/);
    assert.match(stderr, /more columns? ha(s|ve) no room; --csv and --json have all/);
    const numbers = sql(['SELECT 7 AS n, 1.5 AS x UNION ALL SELECT 12345, 2']).stdout;
    assert.match(numbers, / {4}7 {2}1\.5\n/);
    assert.match(numbers, /12345 {4}2\n/);
  });

  test('tells NaN and infinity from NULL', () => {
    const query = "SELECT 'nan'::DOUBLE AS a, 'inf'::DOUBLE AS b, -1.0 / 0.0 AS c, NULL::DOUBLE AS d, 1.5 AS e";
    assert.equal(sql(['--csv', query]).stdout, 'a,b,c,d,e\r\nNaN,Infinity,-Infinity,,1.5\r\n');
    assert.match(sql([query]).stdout, /NaN {2}Infinity {2}-Infinity {2}\u2205 {2}1\.5\n/);
    assert.deepEqual(JSON.parse(sql(['--json', query]).stdout), { a: null, b: null, c: null, d: null, e: 1.5 });
  });

  test('as a table has the lines of a text below each other', () => {
    const { stdout } = sql(["SELECT 1 AS n, 'ab' || chr(10) || chr(10) || 'c' AS t, 2 AS m UNION ALL SELECT 3, 'd' || chr(10), 4 ORDER BY n"]);
    assert.equal(stdout, 'n  t   m\n-  --  -\n1  ab  2\n        \n   c    \n3  d   4\n'.replace(/ +\n/g, (blanks) => blanks));
    const plan = sql(['EXPLAIN SELECT 1']);
    assert.equal(plan.status, 0);
    assert.doesNotMatch(plan.stdout, /\\x0a|\u2026/);
    assert.match(plan.stdout, /PROJECTION|DUMMY_SCAN/);
  });

  test('without rows has its columns', () => {
    assert.equal(sql(['--csv', 'SELECT run_id FROM benchmark_run_fact WHERE false']).stdout, 'run_id\r\n');
    assert.equal(sql(['--json', 'SELECT run_id FROM benchmark_run_fact WHERE false']).stdout, '');
    assert.match(sql(['SELECT run_id FROM benchmark_run_fact WHERE false']).stdout, /^run_id\n-+\n$/);
  });

  test('has each name once, as JSON', () => {
    assert.deepEqual(JSON.parse(sql(['--json', 'SELECT 1 AS a, 2 AS a, 3 AS a_2']).stdout), { a: 1, a_2: 2, a_2_2: 3 });
  });

  test('is cut at the limit, and says so', () => {
    const { stdout, stderr, status } = sql(['--csv', '--limit', '2', 'SELECT run_id FROM benchmark_run_fact']);
    assert.equal(status, 0);
    assert.equal(stdout.trim().split('\r\n').length, 3);
    assert.match(stderr, /only the first 2 rows/);
    assert.equal(sql(['--csv', '--limit', '0', 'SELECT * FROM range(5000)']).stdout.trim().split('\r\n').length, 5001);
  });
});

describe('a query', () => {
  test('may come from a pipe or a file, several of them', () => {
    const text = "SELECT 1 AS a; -- a ; in a comment\nSELECT 'x;y' AS b; /* ; */ SELECT 3 AS c";
    const want = 'a\r\n1\r\nb\r\nx;y\r\nc\r\n3\r\n';
    assert.equal(sql(['--csv'], { input: text }).stdout, want);
    const file = path.join(place.folder, 'q.sql');
    fs.writeFileSync(file, text);
    assert.equal(sql(['--csv', '--file', file]).stdout, want);
    assert.equal(sql(['--csv'], { input: ' ; -- nothing\n' }).status, 2);
  });

  test('that is wrong says what and shows where', () => {
    const { status, stderr, stdout } = sql(['SELECT run_id,\n  nam FROM benchmark_run_fact']);
    assert.equal(status, 1);
    assert.equal(stdout, '');
    assert.match(stderr, /"nam" not found/);
    assert.match(stderr, /\n {4}nam FROM benchmark_run_fact\n {4}\^\n/);
    const table = sql(['SELECT * FROM runs']);
    assert.match(table.stderr, /\n {2}SELECT \* FROM runs\n {16}\^\n/);
  });

  test('only reads', () => {
    for (const query of ['DELETE FROM benchmark_run_fact', 'CREATE TABLE x (a INT)', 'SELECT 1; DROP TABLE verdict_fact',
      "COPY benchmark_run_fact TO 'x.csv'", "SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM '/etc/passwd'",
      "ATTACH 'x.db'", 'SET threads = 1', 'INSTALL httpfs', 'PRAGMA version', "SELECT getenv('HOME')"]) {
      const { status } = sql(['--csv', query], { cwd: place.folder });
      assert.equal(status, 1, query);
    }
    assert.equal(sql(['--csv', 'SELECT count(*) AS n FROM benchmark_run_fact']).stdout, 'n\r\n3\r\n');
  });

  test('that takes too long is stopped', () => {
    const { status, stderr } = sql(['--timeout', '1', 'SELECT count(*) FROM range(1000000000) a JOIN range(1000000) b ON a.range % 7 = b.range']);
    assert.equal(status, 1);
    assert.match(stderr, /took too long and was stopped after 1 s; --timeout S gives it more/);
    assert.match(tracecore(['sql', '--help']).stdout, /--timeout=S +Stop a query after so many seconds, by default 60; 0 for\s+never/);
  });

  test('without a database is exit 2, and makes none', () => {
    const none = path.join(place.folder, 'none');
    const { status, stderr } = tracecore(['sql', '--data-dir', none, 'SELECT 1']);
    assert.equal(status, 2);
    assert.match(stderr, /there are no runs in/);
    assert.ok(!fs.existsSync(none));
  });

  test('wrong options are exit 2', () => {
    for (const args of [['--limit', 'x', 'SELECT 1'], ['--timeout', '-1', 'SELECT 1'], ['a', 'b'], ['--markdown', 'SELECT 1'],
      ['--file', 'x', 'SELECT 1'], ['--file', path.join(place.folder, 'gone')]]) {
      assert.equal(sql(args).status, 2, args.join(' '));
    }
  });
});

describe('the schema', () => {
  test('is described without a database, as text, Markdown and JSON', () => {
    const env = { ...process.env, HOME: '/nonexistent', TRACECORE_DATA_DIR: '' };
    const text = tracecore(['sql', '--describe', 'verdict_fact'], { env });
    assert.equal(text.status, 0);
    assert.match(text.stdout, /^verdict_fact: an incident/);
    assert.match(text.stdout, /told_at +time +by our clock/);
    const json = tracecore(['sql', '--describe', '--json'], { env }).stdout.trim().split('\n').map((line) => JSON.parse(line));
    assert.ok(json.length >= 12);
    const run = json.find((t) => t.table === 'serving_outcome_fact').columns.find((c) => c.name === 'ttft_p99_ms');
    assert.equal(run.type, 'real');
    assert.equal(run.unit, 'ms');
    assert.match(tracecore(['sql', '--describe', '--markdown'], { env }).stdout, /benchmark_run_fact/);
    const wrong = tracecore(['sql', '--describe', 'verdict_fct'], { env });
    assert.equal(wrong.status, 2);
    assert.match(wrong.stderr, /did you mean "verdict_fact"/);
  });
});

// A terminal by Python's pty: what is typed, and what is seen.
const PTY = `
import os, pty, select, sys, termios, time, json
steps = json.load(sys.stdin)
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
seen = b''
at = 0
def wait(word, seconds=60):
    global seen, at
    end = time.time() + seconds
    while word.encode() not in seen[at:]:
        ready, _, _ = select.select([fd], [], [], max(0, end - time.time()))
        if not ready: sys.exit('waited in vain for %r, saw %r' % (word, seen[-2000:]))
        try: part = os.read(fd, 65536)
        except OSError: part = b''
        if not part: sys.exit('ended before %r, saw %r' % (word, seen[-2000:]))
        seen += part
    at = seen.index(word.encode(), at) + len(word)
def edited():
    # What is typed before the editor has the terminal is lost, and it has it when lines are off.
    end = time.time() + 60
    while 'libedit' in open('/proc/%d/maps' % pid).read() and termios.tcgetattr(fd)[3] & termios.ICANON:
        if time.time() > end: sys.exit('the editor does not come, saw %r' % seen[-2000:])
        time.sleep(0.01)
for word, text in steps:
    wait(word)
    if text is None: continue
    if text != chr(3): edited() # Ctrl-C is for a query, which runs outside of the editor
    os.write(fd, text.encode('latin-1'))
while True:
    if not select.select([fd], [], [], 30)[0]: sys.exit('does not end: %r' % seen[-2000:])
    try: part = os.read(fd, 65536)
    except OSError: break
    if not part: break
    seen += part
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(status))
`;

describe('at a terminal', () => {
  const session = (steps, home) => spawnSync('python3', ['-c', PTY, binary, 'sql', '--data-dir', data],
    { input: JSON.stringify(steps), encoding: 'utf8', timeout: 120000,
      env: { ...process.env, HOME: home, XDG_STATE_HOME: '', TERM: 'xterm' } });

  test('queries of several lines, commands, history', () => {
    const home = path.join(place.folder, 'home');
    fs.mkdirSync(home);
    const done = session([
      ['tracecore> ', '.tables\n'],
      ['published_number', null],
      ['tracecore> ', 'SELECT run_id\n'],
      ['...> ', "FROM benchmark_run_fact WHERE run_id = 'r2';\n"],
      ['1 row', null],
      ['tracecore> ', '.mode json\n'],
      ['tracecore> ', 'SELECT 41 + 1 AS answer;\n'],
      ['{"answer":42}', null],
      ['tracecore> ', '.limit 2\n'],
      ['tracecore> ', 'SELECT * FROM range(5);\n'],
      ['only the first 2 rows; .limit 0 gives all', null],
      ['tracecore> ', '.describe verdict_fact\n'],
      ['told_at', null],
      ['tracecore> ', 'SELECT nope;\n'],
      ['nope', null],
      ['tracecore> ', '.what\n'],
      ['no such command', null],
      ['tracecore> ', '.quit\n'],
    ], home);
    assert.equal(done.status, 0, done.stderr + done.stdout);
    const history = path.join(home, '.local/state/tracecore/sql_history');
    if (fs.existsSync(history)) { // where libedit is
      assert.equal(fs.statSync(history).mode & 0o777, 0o600);
      const again = session([['tracecore> ', '\u001b[A\u001b[A\u001b[A\n'], ['tracecore> ', '\u0004']], home);
      assert.equal(again.status, 0, again.stderr + again.stdout);
      assert.match(again.stdout, /SELECT nope|\.what|no such command/);
    }
  });

  test('Ctrl-C stops the query, not the program', () => {
    const home = path.join(place.folder, 'home2');
    fs.mkdirSync(home);
    // Rows that are seen are rows of a query that runs.
    const done = session([
      ['tracecore> ', '.mode csv\n'],
      ['tracecore> ', '.limit 0\n'],
      ['tracecore> ', 'SELECT 100 * range AS n FROM range(1000000000000);\n'],
      ['700\r', '\u0003'],
      ['stopped', null],
      ['tracecore> ', 'SELECT 40 + 2 AS still_here;\n'],
      ['42', null],
      ['tracecore> ', 'SELECT 7 * 6 AS clean;\n'],
      ['42', null],
      ['tracecore> ', '\u0004'],
    ], home);
    assert.equal(done.status, 0, done.stderr + done.stdout);
  });
});
