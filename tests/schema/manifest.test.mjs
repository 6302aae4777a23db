// SPDX-License-Identifier: Apache-2.0
// The manifest of a run conforms to schemas/manifest.schema.json, and a falsified one does not.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, describe, it } from 'node:test';
import Ajv2020 from 'ajv/dist/2020.js';

const ROOT = process.env.TC_SOURCE_DIR ?? join(dirname(fileURLToPath(import.meta.url)), '../..');
const binary = process.env.TC_BINARY;
const schema = JSON.parse(readFileSync(join(ROOT, 'schemas/manifest.schema.json'), 'utf8'));
const validate = new Ajv2020({ allErrors: true }).compile(schema);

let folder;
let manifest; // as the program stores it
before(() => {
  assert.ok(binary, 'TC_BINARY names the program to test');
  folder = mkdtempSync(join(tmpdir(), 'tc_manifest_'));
  const result = join(folder, 'result.json');
  writeFileSync(result, JSON.stringify({ backend: 'vllm', date: '20260213-141321', model_id: 'm', num_prompts: 2, completed: 2,
    duration: 1.5, max_concurrency: 1, total_input_tokens: 10, total_output_tokens: 10, request_throughput: 1.33,
    output_throughput: 6.7, mean_ttft_ms: 3, median_ttft_ms: 3, p99_ttft_ms: 4 }));
  const data = join(folder, 'data');
  const run = (args) => {
    const out = spawnSync(binary, args, { encoding: 'utf8' });
    assert.equal(out.status, 0, out.stderr);
    return out.stdout;
  };
  const answer = JSON.parse(run(['run', 'add', '--json', '--data-dir', data, '--run-id', 'r.1', '--name', 'first', '--result', result]));
  manifest = run(['evidence', 'manifest', '--json', '--data-dir', data, answer.run_id]).trimEnd();
  assert.equal(`sha256:${crypto.createHash('sha256').update(manifest).digest('hex')}`, answer.artifact_manifest_digest);
});
after(() => rmSync(folder, { recursive: true, force: true }));

const falsified = {
  'another version': (m) => { m.manifest_version = 2; },
  'a member more': (m) => { m.extra = 1; },
  'no files': (m) => { m.files = []; },
  'a path': (m) => { m.files[0].name = '../a'; },
  'an unknown role': (m) => { m.files[0].role = 'log'; },
  'a short digest': (m) => { m.files[0].digest = 'sha256:00'; },
  'a negative size': (m) => { m.files[0].size = -1; },
  'no run': (m) => { delete m.run; },
  'an id with blanks': (m) => { m.run.run_id = 'a b'; },
};

describe('manifest: schema', () => {
  it('accepts what the program stores', () => {
    assert.ok(validate(JSON.parse(manifest)), JSON.stringify(validate.errors));
    assert.deepEqual(Object.keys(JSON.parse(manifest)), ['files', 'manifest_version', 'run']);
  });
  for (const [name, change] of Object.entries(falsified)) {
    it(`refuses ${name}`, () => {
      const copy = JSON.parse(manifest);
      change(copy);
      assert.equal(validate(copy), false);
    });
  }
});
