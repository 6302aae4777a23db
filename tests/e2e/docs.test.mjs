// SPDX-License-Identifier: Apache-2.0
// What the pages say is what the program does.
//
//   <!-- runs in FOLDER -->   before a block: its first line is `$ tracecore ...`, the rest what that
//                             prints on standard output. A line `...` stands for any lines.
//   <!-- knobs of PATTERN --> before a table: the pattern's knobs.
//
// `TC_BINARY=... node tests/e2e/docs.test.mjs --update` writes the blocks without `...` and the
// tables anew. Read the difference before you commit it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';

const binary = path.resolve(process.env.TC_BINARY ?? 'build/release/tracecore');
const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const RUNS = /<!-- runs in (\S+) -->\n```\n\$ tracecore (.*)\n([^]*?)```\n/g;
const KNOBS = /<!-- knobs of (\w+) -->\n((?:\|.*\n)*)/g;
const CATALOGUE = 'docs/patterns/README.md';

function run(args, folder = '.') {
  const result = spawnSync(binary, args, {
    encoding: 'utf8',
    cwd: path.join(source, folder),
    env: { PATH: process.env.PATH },
    maxBuffer: 1 << 26,
  });
  assert.equal(result.signal, null, result.stderr);
  assert.ok(result.status === 0 || result.status === 1, `${args.join(' ')}: ${result.stderr}`);
  return result.stdout;
}

function read(page) {
  return fs.readFileSync(path.join(source, page), 'utf8');
}

function pages() {
  const found = ['README.md', 'CONTRIBUTING.md', 'examples/README.md'];
  for (const folder of ['docs', 'docs/internals', 'docs/patterns', 'docs/decisions']) {
    for (const name of fs.readdirSync(path.join(source, folder)).sort()) {
      if (name.endsWith('.md')) {
        found.push(`${folder}/${name}`);
      }
    }
  }
  return found;
}

const patterns = run(['detect', '--list-patterns', '--json'])
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line));

function amount(knob, value) {
  if (knob.unit !== 's') {
    return value.toLocaleString('en-US');
  }
  const units = [
    [86400, 'd'],
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
  ];
  const [seconds, unit] = value === 0 ? units.at(-1) : units.find(([length]) => value % length === 0);
  return `${value / seconds} ${unit}`;
}

function knobTable(name) {
  const pattern = patterns.find((p) => p['pattern.name'] === name);
  assert.ok(pattern, `there is no pattern ${name}`);
  const rows = pattern.knobs.map(
    (k) =>
      `| \`${name}.${k.name}\` | ${amount(k, k.default)} | ${amount(k, k.min)} to ${amount(k, k.max)} | ${k.help} |\n`,
  );
  return `| knob | default | range | meaning |\n| --- | --- | --- | --- |\n${rows.join('')}`;
}

function discriminators(name) {
  const schema = JSON.parse(read(`schemas/verdict/${name}.schema.json`));
  return schema.properties.discriminator.enum;
}

// Whether the text is the output, with `...` for any lines.
function matches(text, output) {
  const lines = text.split('\n').slice(0, -1);
  const pattern = lines.map((line) =>
    line.trim() === '...' ? '(?:.*\\n)*?' : line.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&') + '\\n',
  );
  return new RegExp(`^${pattern.join('')}$`).test(output);
}

function update(page) {
  const before = read(page);
  const text = before
    .replace(RUNS, (block, folder, command, shown) =>
      /^\s*\.\.\.$/m.test(shown)
        ? block
        : `<!-- runs in ${folder} -->\n\`\`\`\n$ tracecore ${command}\n${run(command.split(' '), folder)}\`\`\`\n`,
    )
    .replace(KNOBS, (_, name) => `<!-- knobs of ${name} -->\n${knobTable(name)}`);
  if (text !== before) {
    fs.writeFileSync(path.join(source, page), text);
    console.log(`${page}: written`);
  }
}

function check() {
  describe('documents', () => {
    for (const page of pages()) {
      const text = read(page);
      for (const [, folder, command, shown] of text.matchAll(RUNS)) {
        test(`${page}: tracecore ${command}`, () => {
          const output = run(command.split(' '), folder);
          if (!matches(shown, output)) {
            assert.equal(shown, output);
          }
        });
      }
      for (const [, name, table] of text.matchAll(KNOBS)) {
        test(`${page}: knobs of ${name}`, () => assert.equal(table, knobTable(name)));
      }
      test(`${page}: its links lead somewhere`, () => {
        const plain = text.replace(/```[^]*?```/g, '').replace(/`[^`\n]*`/g, '');
        for (const [, target] of plain.matchAll(/\]\(([^)\s]+)\)/g)) {
          if (!/^[a-z]+:/.test(target)) {
            const [file, anchor] = target.split('#');
            const to = path.join(source, path.dirname(page), file);
            assert.ok(file === '' || fs.existsSync(to), `${page}: ${target}`);
            if (anchor && (file === '' || file.endsWith('.md'))) {
              const there = file === '' ? text : fs.readFileSync(to, 'utf8');
              const headings = [...there.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
                heading.toLowerCase().replace(/[^\w\- ]/g, '').replaceAll(' ', '-'),
              );
              assert.ok(headings.includes(anchor), `${page}: ${target}`);
            }
          }
        }
      });
    }

    test('a block that is not what is printed is noticed', () => {
      assert.ok(matches('a\nb\n', 'a\nb\n'));
      assert.ok(matches('a\n  ...\nd\n', 'a\nb\nc\nd\n'));
      assert.ok(matches('a\n...\n', 'a\nb\n'));
      assert.ok(!matches('a\n', 'a\nb\n'));
      assert.ok(!matches('b\n', 'a\nb\n'));
      assert.ok(!matches('a\n...\nc\n', 'a\nc\nd\n'));
      assert.ok(!matches('a\n...\nc\n', 'a\nbc\n'));
    });

    for (const { 'pattern.name': name, 'pattern.id': id, knobs } of patterns) {
      test(`${name}: its pages name every knob and discriminator`, () => {
        const section = read(CATALOGUE).split(/^## /m).find((part) => part.startsWith(`${name}\n`));
        assert.ok(section, `${CATALOGUE} has no section on ${name}`);
        assert.match(section, /^<!-- runs in /m);
        const row = read(CATALOGUE).split('\n').find((line) => line.startsWith(`| [${name}](`));
        assert.ok(row?.includes(`| ${id} |`), `${CATALOGUE} has no row on ${name} with its id`);
        const page = read(`docs/patterns/${name}.md`);
        assert.ok(page.startsWith(`# ${name} (pattern ${id})\n`), `the title of ${name}.md`);
        for (const word of discriminators(name)) {
          for (const [where, text] of Object.entries({ row, section, page })) {
            assert.ok(text.includes(`\`${word}\``), `${where} of ${name}: ${word}`);
          }
        }
        for (const knob of knobs) {
          assert.ok(section.includes(`\`${name}.${knob.name}\``), `${CATALOGUE}: ${knob.name}`);
          assert.ok(page.includes(`\`${name}.${knob.name}\``), `${name}.md: ${knob.name}`);
        }
      });
    }
  });
}

if (process.argv.includes('--update')) {
  pages().forEach(update);
} else {
  check();
}
