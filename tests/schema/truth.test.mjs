// SPDX-License-Identifier: Apache-2.0
// A line of a truth conforms to schemas/truth.schema.json, and a falsified one does not; the
// program refuses what the schema refuses.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, it } from 'node:test';
import Ajv2020 from 'ajv/dist/2020.js';

const ROOT = process.env.TC_SOURCE_DIR ?? join(dirname(fileURLToPath(import.meta.url)), '../..');
const binary = process.env.TC_BINARY;
const schema = JSON.parse(readFileSync(join(ROOT, 'schemas/truth.schema.json'), 'utf8'));
const validate = new Ajv2020({ allErrors: true }).compile(schema);

const RUN = { truth: 'run', version: 1, seed: 7, nodes: 256, gpus_per_node: 8,
  start: '2026-03-02T00:00:00Z', end: '2026-03-02T02:00:00Z', faults: 'mixed' };
const FAULT = { truth: 'fault', id: 'f0003', pattern: 'hbm_ecc', discriminator: 'uncorrectable',
  start: '2026-03-02T00:20:11.250Z', end: '2026-03-02T00:20:11.250Z', caused_by: ['f0002'],
  culprit: { 'k8s.node.name': 'gpu-0007', 'gpu.uuid': 'GPU-1', 'pci.bdf': '0000:1b:00.0',
    'gpu.index': 0, 'k8s.namespace.name': 'train', 'k8s.pod.name': 'p', 'job.id': 'llm', rank: 1,
    ranks: [1], device: 'mlx5_0' },
  affected_pods: ['train/llm-003-worker-2'], affected_ranks: [16, 17], what: 'one sentence' };

const copy = (value) => JSON.parse(JSON.stringify(value));

/** Whether the program reads these lines as a truth. */
function isRead(lines) {
  assert.ok(binary, 'TC_BINARY names the program to test');
  const input = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const verdicts = join(ROOT, 'docs/score/verdicts.ndjson');
  const result = spawnSync(binary, ['score', '--truth', '-', verdicts], { encoding: 'utf8', input });
  assert.ok(result.status === 0 || /^-:\d+: /.test(result.stderr), result.stderr);
  return result.status === 0;
}

describe('truth: schema', () => {
  it('accepts the lines of the contract and of the example', () => {
    const text = readFileSync(join(ROOT, 'docs/score/truth.ndjson'), 'utf8');
    const lines = text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
    assert.ok(lines.length > 3);
    for (const line of [RUN, FAULT, { ...FAULT, truth: 'noise' }, ...lines]) {
      assert.ok(validate(line), `${JSON.stringify(line)}: ${JSON.stringify(validate.errors)}`);
    }
    assert.ok(isRead(lines));
    assert.ok(isRead([RUN, FAULT]));
  });

  it('knows every pattern', () => {
    const patterns = readdirSync(join(ROOT, 'schemas/verdict'))
      .map((file) => file.replace('.schema.json', ''))
      .filter((name) => name !== 'envelope');
    assert.deepEqual(schema.$defs.injected.properties.pattern.enum, patterns.sort());
  });

  const falsified = {
    'another kind': (f) => { f.truth = 'fable'; },
    'no id': (f) => { delete f.id; },
    'an empty id': (f) => { f.id = ''; },
    'a pattern that does not exist': (f) => { f.pattern = 'gpu_on_fire'; },
    'no pattern': (f) => { delete f.pattern; },
    'no start': (f) => { delete f.start; },
    'no end': (f) => { delete f.end; },
    'a start that is no time': (f) => { f.start = 'yesterday'; },
    'a start that is a number': (f) => { f.start = 1772410811; },
    'a discriminator that is no string': (f) => { f.discriminator = 1; },
    'no culprit': (f) => { delete f.culprit; },
    'a culprit that names nothing': (f) => { f.culprit = {}; },
    'an unknown key of the culprit': (f) => { f.culprit.node = 'gpu-0007'; },
    'a node that is no string': (f) => { f.culprit['k8s.node.name'] = 7; },
    'an address that is none': (f) => { f.culprit['pci.bdf'] = '1b'; },
    'a negative index': (f) => { f.culprit['gpu.index'] = -1; },
    'a rank that is a string': (f) => { f.culprit.rank = '1'; },
    'ranks that are no list': (f) => { f.culprit.ranks = 1; },
    'pods that are no list': (f) => { f.affected_pods = 'train/p'; },
    'a negative rank': (f) => { f.affected_ranks = [-1]; },
    'a sentence that is none': (f) => { f.what = 1; },
  };
  for (const [name, edit] of Object.entries(falsified)) {
    it(`refuses, as the program does: ${name}`, () => {
      const fault = copy(FAULT);
      edit(fault);
      assert.ok(!validate(fault));
      assert.ok(!isRead([RUN, fault]));
    });
  }

  it('refuses members it does not know, and other versions', () => {
    assert.ok(!validate({ ...FAULT, extra: 1 }));
    assert.ok(!validate({ ...RUN, version: 2 }));
    assert.ok(!isRead([{ ...RUN, version: 2 }]));
    assert.ok(!validate({ ...RUN, seed: -1 }));
  });
});
