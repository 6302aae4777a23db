// SPDX-License-Identifier: Apache-2.0
// `tracecore config` as people and scripts use it, and docs/configuration.md as the program says it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

const binary = path.resolve(process.env.TC_BINARY ?? 'build/release/tracecore');
const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const page = fs.readFileSync(path.join(source, 'docs/configuration.md'), 'utf8');
const MADE = '<!-- made by: tracecore config print-default --markdown -->\n';

let folder;
before(() => { folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_config_')); });
after(() => fs.rmSync(folder, { recursive: true, force: true }));

function run(args, { env = {}, input = '' } = {}) {
  const result = spawnSync(binary, ['config', ...args], { encoding: 'utf8', cwd: folder, input,
    env: { PATH: process.env.PATH, ...env } });
  assert.equal(result.signal, null, result.stderr);
  return result;
}

function write(name, text) {
  fs.writeFileSync(path.join(folder, name), text);
  return name;
}

describe('the page', () => {
  test('has the tables that the program prints', () => {
    const tables = page.slice(page.indexOf(MADE) + MADE.length);
    assert.ok(page.includes(MADE));
    assert.equal(tables, run(['print-default', '--markdown']).stdout,
      'docs/configuration.md differs: write what `tracecore config print-default --markdown` prints below the mark');
  });
  test('has examples that are right', () => {
    const blocks = [...page.matchAll(/```yaml\n([^]*?)```/gu)].map((block) => block[1]);
    assert.equal(blocks.length, 2);
    for (const block of blocks) {
      const result = run(['check', '-'], { input: block });
      assert.equal(result.stderr, '');
      assert.equal(result.status, 0);
    }
  });
  test('has mistakes that the program tells so', () => {
    const [, told] = page.match(/\$ tracecore config check tracecore\.yaml\n([^]*?)```/u);
    write('tracecore.yaml', 'limits:\n  memory: 64M\n  conections: 5\n\napi:\n    listen: :4320\n');
    const result = run(['check', 'tracecore.yaml']);
    assert.equal(result.stderr, told);
    assert.equal(result.status, 1);
  });
});

describe('check', () => {
  test('refuses paths and targets that a start would refuse', () => {
    const wrong = {
      'files.paths': ['relative/*.log', /a path begins with \//u],
      'dumps.paths': ['dumps/*', /a path begins with \//u],
      'scrape.targets': ['127.0.0.1:9100', /write http:\/\/host:port\/metrics/u],
      'ncclras.targets': ['nohost', /write host:port/u],
    };
    for (const [key, [value, why]] of Object.entries(wrong)) {
      const [source, list] = key.split('.');
      const result = run(['check', '-'], { input: `sources: {${source}: {${list}: ["${value}"]}}\n` });
      assert.equal(result.status, 1, key);
      assert.match(result.stderr, new RegExp(`^sources\\.${source}\\.${list}: "${value.replace('*', '\\*')}": `, 'mu'));
      assert.match(result.stderr, why);
    }
    const formats = run(['check', '-'], { input: 'sources: {files: {paths: ["/var/log/syslog format=sylog"]}}\n' });
    assert.match(formats.stderr, /"sylog" is no format; tracecore decode --formats lists them/u);
    assert.equal(run(['check', '-'], { input: 'sources: {files: {paths: ["/var/log/{node}/*.log format=kmsg,slurm"]}, scrape: {targets: ["a=http://b:1/m node=n"]}}\n' }).status, 0);
  });
  test('of the printed default is right and changes nothing', () => {
    const text = run(['print-default']).stdout;
    const file = write('default.yaml', text);
    const result = run(['check', file]);
    assert.deepEqual([result.status, result.stdout, result.stderr], [0, 'default.yaml: ok\n', '']);
    const values = (json) => Object.fromEntries(
      Object.entries(JSON.parse(json).values).map(([key, entry]) => [key, entry.value]));
    assert.deepEqual(values(run(['check', '--json', file]).stdout), values(run(['check', '--json']).stdout));
    for (const line of text.split('\n')) {
      assert.ok(line.length <= 100, line);
    }
  });
  test('shows where a value comes from', () => {
    const file = write('a.yaml', 'limits: {memory: 64MiB}\ndetection: {patterns: {straggler: {enabled: false}}}\n');
    const result = run(['check', '-v', file], { env: { TRACECORE_LOG_LEVEL: 'debug' } });
    assert.equal(result.status, 0);
    assert.match(result.stdout, /^limits\.memory: 64MiB {2}# file$/mu);
    assert.match(result.stdout, /^log\.level: "debug" {2}# environment$/mu);
    assert.match(result.stdout, /^log\.format: "logfmt" {2}# default$/mu);
    assert.match(result.stdout, /^detection\.patterns\.straggler\.enabled: false {2}# file$/mu);
    const { values } = JSON.parse(run(['check', '--json', file]).stdout);
    assert.deepEqual(values['limits.memory'], { value: '64MiB', origin: 'file' });
  });
  test('gives mistakes as JSON', () => {
    const file = write('b.yaml', 'zzz: 1\n');
    const result = run(['check', '--json', file]);
    assert.equal(result.status, 1);
    assert.deepEqual(JSON.parse(result.stdout), { file: 'b.yaml', ok: false,
      mistakes: ["b.yaml:1:1: zzz: there is no such key; 'tracecore config print-default' shows all"] });
    assert.equal(JSON.parse(run(['check', '--json', 'missing']).stdout).ok, false);
  });
  test('of the environment alone', () => {
    assert.deepEqual([run(['check']).status, run(['check']).stdout], [0, 'environment: ok\n']);
    const result = run(['check'], { env: { TRACECORE_API_LISTEN: '0.0.0.0:1' } });
    assert.equal(result.status, 1);
    assert.match(result.stderr, /^TRACECORE_API_LISTEN: api\.listen: other machines can reach 0\.0\.0\.0:1; /u);
  });
  test('of what cannot be read', () => {
    for (const name of ['missing.yaml', folder]) {
      const result = run(['check', name]);
      assert.equal(result.status, 2);
      assert.match(result.stderr, /: cannot be read: /u);
    }
  });
  test('escapes what comes from outside', () => {
    const name = write('a\u001b[2J\n.yaml', 'a\u00e4: 1\n"\\e[2J": 1\n');
    const result = run(['check', name]);
    assert.equal(result.status, 1);
    assert.ok(!result.stderr.includes('\u001b'));
    assert.equal(result.stderr.trimEnd().split('\n').length, 2);
    assert.ok(result.stderr.includes('a\u00e4'));
  });
});

describe('wrong usage', () => {
  for (const args of [[], ['frobnicate'], ['check', 'a', 'b'], ['print-default', 'a'], ['check', '--markdown'],
    ['print-default', '--json'], ['print-default', '-v'], ['--nope']]) {
    test(`config ${args.join(' ')}`, () => {
      const result = run(args);
      assert.equal(result.status, 2);
      assert.equal(result.stdout, '');
      assert.match(result.stderr, /tracecore config/u);
    });
  }
});
