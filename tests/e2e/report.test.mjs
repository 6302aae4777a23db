// SPDX-License-Identifier: Apache-2.0
// `tracecore report`: three audiences, three formats, from the same rows. No number without its runs, its interval
// and a lineage id that leads back to the rows; nothing from outside is markup; the page asks nobody for anything.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { add, scratch, tracecore, vllm } from './support/runs.mjs';

const AUDIENCES = ['engineering', 'product', 'partner'];
const ATTACK = 'x"><script>alert(1)</script>|`b`](https://e.example) @all \u202e';
const source = process.env.TC_SOURCE_DIR ?? process.cwd();
let place;
let data;
const report = (...args) => tracecore(['report', '--data-dir', data, ...args]);
const text = (...args) => {
  const result = report(...args);
  assert.equal(result.status, 0, result.stderr);
  assert.equal(result.stderr, '');
  return result.stdout;
};
const json = (...args) => JSON.parse(text(...args, '--format', 'json'));

/** A run with times that are `factor` as long, at two loads. */
function measure(name, factor, index) {
  const files = [4, 16].map((load) => {
    const wobble = 1 + index / 100;
    const result = vllm({ max_concurrency: load, model_id: ATTACK, tokenizer_id: ATTACK, date: `20260213-14${10 + index}00` });
    for (const key of Object.keys(result)) {
      if (key.endsWith('_ms')) result[key] = result[key] * factor * wobble * Math.sqrt(load);
      if (key.endsWith('throughput')) result[key] = (result[key] * Math.sqrt(load)) / factor / wobble;
    }
    delete result.std_ttft_ms;
    return place.file(`${name}-${index}-${load}.json`, { ...result, duration: 31.08 * wobble });
  });
  const added = add(data, ['--name', name, ...files.flatMap((one) => ['--result', one])]);
  assert.equal(added.status, 0, added.stderr);
}

before(() => {
  place = scratch('report');
  data = path.join(place.folder, 'data');
  for (let i = 1; i <= 4; i++) measure('base', 1, i);
  for (let i = 1; i <= 4; i++) measure('candidate', 1.6, i);
  measure('alone', 1, 9);
});
after(() => place.remove());

/** All numbers of a document, wherever they stand. */
function numbers(value, found = []) {
  if (Array.isArray(value)) value.forEach((one) => numbers(one, found));
  else if (value !== null && typeof value === 'object') {
    for (const [key, inner] of Object.entries(value)) {
      if (key === 'number' || key === 'median') found.push(inner);
      else numbers(inner, found);
    }
  }
  return found;
}

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};

describe('every number', () => {
  for (const audience of AUDIENCES) {
    for (const runs of audience === 'engineering' ? [['base', 'candidate'], ['base'], ['alone']] : [['base', 'candidate']]) {
      test(`of ${runs.join(' and ')} for ${audience} has its runs, an interval and an id`, () => {
        const doc = json(...runs, '--for', audience);
        const all = numbers(doc);
        assert.equal(doc.audience, audience);
        assert.ok(all.length > 0);
        const ids = new Map(doc.lineage.map((entry) => [entry.id, entry]));
        for (const number of all) {
          assert.match(number.id, /^num-[0-9a-f]{16}$/u);
          assert.ok(ids.has(number.id), `${number.id} is in the lineage`);
          assert.ok(Number.isInteger(number.n) && number.n > 0);
          assert.ok(Number.isFinite(number.value));
          if (number.interval === null) assert.match(number.no_interval, /no interval can be given/u);
          else {
            assert.ok(number.interval.low <= number.value && number.value <= number.interval.high, JSON.stringify(number));
            assert.ok(number.interval.level > 0 && number.interval.level < 1);
          }
          if (runs[0] === 'alone') assert.equal(number.no_interval, 'one run: no interval can be given');
        }
        for (const { query, query_spec_digest: digest, published } of doc.lineage) {
          assert.match(query, /^SELECT run_id, /u);
          assert.match(digest, /^sha256:[0-9a-f]{64}$/u);
          assert.equal(published, false);
        }
        for (const { runs: basis, sources } of doc.runs) {
          basis.forEach((run) => assert.match(run.artifact_manifest_digest, /^sha256:/u));
          assert.ok(sources.length >= basis.length && sources.every((one) => one.name && one.digest));
        }
      });
    }
  }
  test('is what its query gives', () => {
    const doc = json('base', 'candidate');
    const all = new Map(numbers(doc).map((number) => [number.id, number]));
    let checked = 0;
    for (const entry of doc.lineage.filter((one) => /: median of /u.test(one.what) && all.has(one.id)).slice(0, 4)) {
      const rows = tracecore(['sql', '--data-dir', data, '--json', entry.query]).stdout.trim().split('\n').map((line) => JSON.parse(line));
      assert.equal(rows.length, all.get(entry.id).n);
      assert.ok(Math.abs(median(rows.map((row) => row.value)) - all.get(entry.id).value) < 1e-9 * all.get(entry.id).value);
      checked++;
    }
    assert.equal(checked, 4);
  });
  test('has the same id from the same rows, and another from others', () => {
    const first = json('base', 'candidate');
    assert.deepEqual(json('base', 'candidate'), first);
    const one = numbers(json('alone'))[0];
    assert.ok(!first.lineage.some((entry) => entry.id === one.id));
  });
});

describe('lineage --report', () => {
  const check = (doc) => tracecore(['lineage', '--data-dir', data, '--json', '--report', place.file('checked.json', doc)]);
  const lines = (result) => result.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  test('holds for what the tables say, and knows what was published', () => {
    const published = tracecore(['publish', 'base', '--data-dir', data, '--metric', 'ttft_p99_ms', '--point', 'concurrency=16', '--unstable', 'a test', '--json']);
    assert.equal(published.status, 0, published.stderr);
    const id = /num-[0-9a-f]{16}/u.exec(published.stdout)[0];
    const doc = json('base', 'candidate');
    assert.equal(doc.lineage.filter((entry) => entry.published).map((entry) => entry.id).join(), id);
    assert.match(doc.lineage.find((entry) => entry.id === id).what, /unstable or not representative: a test/u);
    const result = check(doc);
    assert.equal(result.status, 0, result.stdout + result.stderr);
    assert.deepEqual(lines(result).map((line) => line.number_id ?? line.number).sort(), doc.lineage.map((entry) => entry.id).sort());
  });
  test('names what was changed', () => {
    const broken = (change) => {
      const doc = json('alone');
      change(doc, doc.lineage[0]);
      const result = check(doc);
      assert.equal(result.status, 1, result.stderr);
      return lines(result).filter((line) => line.holds === false).map((line) => line.why).join();
    };
    assert.match(broken((doc) => { numbers(doc)[0].value += 1; }), /another value or interval than its claim/u);
    assert.match(broken((doc, entry) => { entry.claim.value += 1; }), /its claim gives the id num-/u);
    assert.match(broken((doc, entry) => { delete entry.claim; }), /no claim/u);
    assert.match(broken((doc) => { numbers(doc)[0].id = 'num-0000000000000000'; }), /does not list it/u);
    for (const nonsense of ['{}', '[]', 'null', '{"lineage":{"id":1}}', 'x']) assert.notEqual(check(nonsense).status, 139, nonsense);
  });
});

describe('audiences', () => {
  test('engineering has metrics, hypothesis, repro and experiment', () => {
    const page = text('base', 'candidate');
    for (const part of ['## Metrics', '## Hypothesis', '## Proposed experiment', '## Minimal repro', '**worse**']) assert.ok(page.includes(part), part);
    assert.match(page, /tracecore compare base candidate --metric \w+ --point 'concurrency=\d+'|tracecore compare base candidate --metric/u);
  });
  test('product has impact, users, confidence and the next step, and no money', () => {
    const page = text('base', 'candidate', '--for', 'product');
    for (const part of ['## Impact', '## Expected user impact', '## Confidence', '## Next step']) assert.ok(page.includes(part), part);
    assert.match(page, /In the slowest 1 % of requests a user waits at least \*\*[\d.,]+ ms\*\*/u);
    assert.doesNotMatch(page, /USD|\$/u);
  });
  test('partner has ours, upstream, repro and the smallest change', () => {
    const page = text('base', 'candidate', '--for', 'partner');
    for (const part of ['## What is ours', '## What is upstream', '## Minimal repro', '## The smallest change to act on']) assert.ok(page.includes(part), part);
  });
  test('too few runs are words and no ratio', () => {
    const page = text("name = 'base' AND replicate_index < 3", "name = 'candidate'");
    assert.match(page, /\*\*Insufficient evidence:\*\* with 2 and 4 runs/u);
    assert.match(page, /too few runs to say/u);
    assert.doesNotMatch(page, / x \|/u);
  });
});

describe('nothing from outside', () => {
  test('is markup or an address in the page', () => {
    for (const audience of ['engineering', 'partner']) {
      const page = text('base', 'candidate', '--for', audience, '--format', 'html');
      assert.ok(page.includes('&lt;script&gt;alert(1)'), 'it is there, as text');
      assert.doesNotMatch(page, /<script|\u202e|\son\w+=|javascript:|<link|<img|@import|url\(/iu);
      assert.deepEqual([...page.matchAll(/(?:src|href|action)="([^"]*)"/gu)].map((m) => m[1]).filter((to) => !to.startsWith('#')), []);
      assert.match(page, /Content-Security-Policy" content="default-src 'none'; style-src 'sha256-[\w+/]{43}='/u);
    }
  });
  test('is markup in Markdown', () => {
    const page = text('base', 'candidate', '--for', 'partner');
    assert.doesNotMatch(page, /\u202e/u);
    assert.ok(page.includes('`` x"><script>alert(1)</script>\\|`b`](https://e.example) @all \\xe2\\x80\\xae ``')
      || page.includes('``x"><script>alert(1)</script>\\|`b`](https://e.example) @all \\xe2\\x80\\xae``'), 'as code, with the bar escaped');
  });
});

describe('output', () => {
  test('goes by the name of the file', () => {
    for (const [name, begins] of [['a.md', '# '], ['a.html', '<!doctype html>'], ['a.json', '{"title"'], ['a.txt', '# ']]) {
      const file = path.join(place.folder, name);
      assert.equal(text('alone', '-o', file), '');
      assert.ok(fs.readFileSync(file, 'utf8').startsWith(begins), name);
    }
    assert.deepEqual(fs.readdirSync(place.folder).filter((name) => name.includes('.tmp')), []);
  });
  test('that cannot be written is an error, and the old file stays', () => {
    const full = report('alone', '-o', '/dev/full');
    assert.equal(full.status, 2);
    assert.match(full.stderr, /\/dev\/full: No space left/u);
    const nowhere = report('alone', '-o', path.join(place.folder, 'no', 'such', 'dir.html'));
    assert.equal(nowhere.status, 2);
    assert.match(nowhere.stderr, /No such file/u);
  });
  test('wrong words are refused', () => {
    for (const [args, says] of [[[], /which runs\?/u], [['a', 'b', 'c'], /which runs\?/u], [['base', '--for', 'everyone'], /engineering, product or partner/u],
      [['base', '--format', 'pdf'], /markdown, html or json/u], [['no-such-run'], /no-such-run/u], [[''], /empty/u]]) {
      const result = report(...args);
      assert.equal(result.status, 2, args.join(' '));
      assert.match(result.stderr, says);
      assert.equal(result.stdout, '');
    }
  });
});

/** Debian's Chromium, or what CHROMIUM names; null: there is none. */
const chromium = [process.env.CHROMIUM, 'chromium', 'chromium-browser', 'google-chrome'].filter(Boolean)
  .find((name) => spawnSync(name, ['--version'], { timeout: 20000 }).status === 0) ?? null;

describe('a real browser', { skip: chromium === null && 'no chromium here: install Debian\'s chromium, or name one in CHROMIUM' }, () => {
  /** What the page became, and what the browser said of it. */
  const open = (file) => {
    const shown = spawnSync(chromium, ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--enable-logging=stderr',
      `--user-data-dir=${path.join(place.folder, 'profile')}`, '--dump-dom', `file://${file}`], { encoding: 'utf8', timeout: 60000, maxBuffer: 1 << 26 });
    return { dom: shown.stdout, said: shown.stderr.split('\n').filter((line) => /CONSOLE/u.test(line)) };
  };
  test('takes the page and its style, and has nothing to complain of', () => {
    const file = path.join(place.folder, 'browser.html');
    text('base', 'candidate', '-o', file);
    const { dom, said } = open(file);
    assert.deepEqual(said, []);
    assert.match(dom, /<svg role="img"/u);
    // A byte more in the style, and the policy refuses it: it is the policy that is being asked.
    fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('</style>', ' </style>'));
    assert.ok(open(file).said.some((line) => /Content Security Policy/u.test(line)));
  });
});

test('docs/reports.md shows what the program says of examples/benchmark', () => {
  const dir = path.join(place.folder, 'example');
  for (const side of ['base', 'candidate']) {
    for (let i = 1; i <= 3; i++) {
      const from = path.join(source, 'examples/benchmark', `${side}-${i}`);
      const added = add(dir, ['--name', side, '--result', path.join(from, 'vllm-c16.json'), '--result', path.join(from, 'vllm-c64.json'), '--telemetry', path.join(from, 'dcgm.prom')]);
      assert.equal(added.status, 0, added.stderr);
    }
  }
  const page = tracecore(['report', '--data-dir', dir, 'base', 'candidate', '--for', 'product']).stdout;
  const said = /<!-- lines of the report on examples\/benchmark -->\n```\n([^]*?)```\n/u.exec(fs.readFileSync(path.join(source, 'docs/reports.md'), 'utf8'))[1];
  let at = 0;
  for (const line of said.split('\n').filter(Boolean)) {
    at = page.indexOf(`${line}\n`, at);
    assert.ok(at >= 0, `docs/reports.md says: ${line}\n${page.slice(0, 4000)}`);
  }
});
