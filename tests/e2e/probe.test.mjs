// SPDX-License-Identifier: Apache-2.0
// `tracecore probe` on this machine, on machines that scripts pretend to be, and on real outputs.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

const binary = path.resolve(process.env.TC_BINARY ?? 'build/release/tracecore');
const source = process.env.TC_SOURCE_DIR ?? process.cwd();
const samples = path.join(process.env.TC_SAMPLES ?? '/nowhere', 'results');
const SOFTWARE = ['image_digest', 'driver_version', 'cuda_version', 'nccl_version', 'framework',
  'framework_version', 'runtime', 'runtime_version', 'server', 'server_version', 'kernel', 'os'];
const HARDWARE = ['gpu_model', 'gpu_count', 'node_count', 'gpu_memory_mib', 'nic', 'pcie_layout',
  'nvlink_topology', 'gpu_nic_affinity', 'numa', 'storage_fabric', 'cpu_model'];

let folder;
before(() => { folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_probe_')); });
after(() => fs.rmSync(folder, { recursive: true, force: true }));

function run(args, env = {}) {
  const result = spawnSync(binary, args, { encoding: 'utf8', cwd: folder, timeout: 120_000,
    env: { PATH: process.env.PATH, HOME: folder, ...env } });
  assert.equal(result.signal, null, result.stderr);
  return result;
}

function probe(args, env) {
  const result = run(['probe', '--json', ...args], env);
  assert.equal(result.status, 0, result.stderr);
  return JSON.parse(result.stdout);
}

/** A directory with a program nvidia-smi that does what the lines say. */
function pretend(name, lines) {
  const dir = path.join(folder, name);
  fs.mkdirSync(dir);
  fs.writeFileSync(path.join(dir, 'nvidia-smi'), `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
  return { PATH: `${dir}:${process.env.PATH}` };
}

describe('this machine', () => {
  test('is told with every column, unknown ones null', () => {
    const told = probe([], { PATH: folder });
    assert.equal(told.tracecore_probe, 1);
    assert.deepEqual(Object.keys(told.software), SOFTWARE);
    assert.deepEqual(Object.keys(told.hardware), HARDWARE);
    assert.equal(told.software.kernel, os.release());
    assert.equal(told.node, os.hostname());
    assert.equal(told.hardware.gpu_model, null);
    assert.deepEqual(told.sources.find(({ name }) => name === 'nvidia-smi.txt'),
      { name: 'nvidia-smi.txt', what: null, bytes: null, error: 'not installed' });
    for (const { what, error } of told.sources) {
      assert.notEqual(what === null, error === null);
    }
  });
  test('is written as files that give the same again', () => {
    const dir = path.join(folder, 'bundle');
    assert.equal(run(['probe', '-o', dir]).status, 0);
    const first = JSON.parse(fs.readFileSync(path.join(dir, 'probe.json'), 'utf8'));
    assert.ok(fs.existsSync(path.join(dir, 'uname.txt')));
    const again = probe(['--from', dir]);
    assert.deepEqual(again.software, first.software);
    assert.deepEqual(again.hardware, first.hardware);
    assert.equal(again.captured_at, null);
  });
  test('keeps no secrets of the environment', () => {
    const dir = path.join(folder, 'secret');
    run(['probe', '-o', dir], { AWS_SECRET_ACCESS_KEY: 'hidden-value', CUDA_VERSION: '12.4.1',
      TRACECORE_IMAGE_DIGEST: `sha256:${'a'.repeat(64)}` });
    for (const name of fs.readdirSync(dir)) {
      assert.ok(!fs.readFileSync(path.join(dir, name), 'utf8').includes('hidden-value'), name);
    }
    const { software } = JSON.parse(fs.readFileSync(path.join(dir, 'probe.json'), 'utf8'));
    assert.equal(software.image_digest, `sha256:${'a'.repeat(64)}`);
    assert.equal(software.cuda_version, '12.4.1');
  });
});

describe('a machine with GPUs', () => {
  test('is told by its nvidia-smi', () => {
    const env = pretend('gpus', `case "$*" in
-L) printf 'GPU 0: NVIDIA B200 (UUID: GPU-a)\\nGPU 1: NVIDIA B200 (UUID: GPU-b)\\n';;
"topo -m") printf '\\t\\033[4mGPU0\\tGPU1\\tNIC0\\tCPU Affinity\\tNUMA Affinity\\tGPU NUMA ID\\033[0m\\nGPU0\\t X \\tNV18\\tPIX\\t0-55\\t0\\t\\tN/A\\nGPU1\\tNV18\\t X \\tPXB\\t0-55\\t0\\t\\tN/A\\nNIC0\\tPIX\\tPXB\\t X \\n\\nNIC Legend:\\n\\n  NIC0: mlx5_0\\n';;
--query*) printf 'index, name, uuid, memory.total [MiB], driver_version, pcie.link.gen.max, pcie.link.width.max\\n0, NVIDIA B200, GPU-a, 183359 MiB, 570.86.15, 6, 16\\n1, NVIDIA B200, GPU-b, 183359 MiB, 570.86.15, 6, 16\\n';;
nvlink*) printf 'GPU 0: NVIDIA B200 (UUID: GPU-a)\\n\\t Link 0: 50 GB/s\\nGPU 1: NVIDIA B200 (UUID: GPU-b)\\n\\t Link 0: 50 GB/s\\n';;
*) exit 3;;
esac`);
    const { software, hardware, sources } = probe([], env);
    assert.equal(software.driver_version, '570.86.15');
    assert.equal(hardware.gpu_model, 'NVIDIA B200');
    assert.equal(hardware.gpu_count, 2);
    assert.equal(hardware.gpu_memory_mib, 183359);
    assert.equal(hardware.pcie_layout, '2 x gen6 x16');
    assert.equal(hardware.nvlink_topology, 'NV18: all pairs; 2 GPUs x 1 links x 50 GB/s');
    assert.equal(hardware.gpu_nic_affinity, 'GPU0 mlx5_0 PIX, GPU1 mlx5_0 PXB');
    assert.equal(sources.find(({ name }) => name === 'nvidia-smi.txt').error, 'ended with status 3');
  });
  test('that answers without end is cut off', () => {
    const env = pretend('endless', 'while :; do echo 0123456789012345678901234567890123456789; done');
    const told = probe([], env);
    assert.equal(told.hardware.gpu_count, null);
    for (const { name, error, bytes } of told.sources) {
      if (name.startsWith('nvidia-smi')) {
        assert.ok(error !== null || bytes <= 4 << 20, name);
      }
    }
  });
});

describe('captured outputs', () => {
  const skip = fs.existsSync(samples) ? false : 'no samples';
  test('of a K80 machine', { skip }, () => {
    const { software, hardware } = probe(['--from', path.join(samples, 'topology')]);
    assert.equal(software.driver_version, '375.66');
    assert.equal(software.cuda_version, null);
    assert.equal(hardware.gpu_model, 'Tesla K80');
    assert.equal(hardware.gpu_count, 4);
    assert.equal(hardware.gpu_memory_mib, 11439);
    assert.equal(hardware.nvlink_topology, 'p2p OK: 0-1 2-3; NS: 0-2 0-3 1-2 1-3');
  });
  test('of an A100 machine', { skip }, () => {
    const { hardware, gpus } = probe(['--from', path.join(samples, 'nvlink')]);
    assert.equal(hardware.gpu_model, 'NVIDIA A100-SXM4-80GB');
    assert.equal(hardware.nvlink_topology, '8 GPUs x 12 links x 25 GB/s');
    const text = fs.readFileSync(path.join(samples, 'nvlink/nvidia-smi.nvlink.status.a100'), 'utf8');
    assert.deepEqual(gpus.map(({ uuid }) => uuid),
      [...text.matchAll(/UUID: (GPU-[0-9a-f-]+)/gu)].map(([, uuid]) => uuid));
  });
  test('that nobody knows are told', () => {
    const dir = path.join(folder, 'unknown');
    fs.mkdirSync(dir);
    fs.writeFileSync(path.join(dir, 'notes.txt'), 'hello\n');
    const result = run(['probe', '--from', dir]);
    assert.equal(result.status, 2);
    assert.match(result.stderr, /no output that is known/u);
    assert.match(run(['probe', '--from', path.join(folder, 'nowhere')]).stderr, /No such file/u);
    assert.equal(run(['probe', 'x']).status, 2);
  });
});

describe('a run', () => {
  test('with probe.json has its dimensions', { skip: fs.existsSync(path.join(samples, 'vllm-bench-serve')) ? false : 'no samples' }, () => {
    const dir = path.join(folder, 'attached');
    run(['probe', '--from', path.join(samples, 'nvlink'), '-o', dir]);
    const result = fs.readdirSync(path.join(samples, 'vllm-bench-serve')).find((name) => name.endsWith('.json'));
    const data = path.join(folder, 'data');
    const added = run(['run', 'add', '--data-dir', data, '--result', path.join(samples, 'vllm-bench-serve', result),
      '--artifact', path.join(dir, 'probe.json'), '--json']);
    assert.equal(added.status, 0, added.stderr);
    const shown = run(['run', 'show', '--data-dir', data, '--json', JSON.parse(added.stdout).run_id]);
    assert.equal(shown.status, 0, shown.stderr);
    assert.match(shown.stdout, /NVIDIA A100-SXM4-80GB/u);
    assert.match(shown.stdout, /8 GPUs x 12 links x 25 GB\/s/u);
  });
});

test('the page shows a probe.json that is one', () => {
  const page = fs.readFileSync(path.join(source, 'docs/probe.md'), 'utf8');
  const [, example] = page.match(/```json\n([^]*?)```/u);
  const told = JSON.parse(example);
  assert.deepEqual(Object.keys(told.software), SOFTWARE);
  assert.deepEqual(Object.keys(told.hardware), HARDWARE);
});
