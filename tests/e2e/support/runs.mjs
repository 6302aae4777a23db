// SPDX-License-Identifier: Apache-2.0
// `tracecore run` as people and scripts use it, in a data_dir of its own.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { placed } from './elsewhere.mjs';

export const binary = path.resolve(process.env.TC_BINARY ?? 'build/asan/tracecore');
export const samples = process.env.TC_SAMPLES ? path.join(process.env.TC_SAMPLES, 'results') : '';
export const noSamples = samples && fs.existsSync(samples) ? false : 'no samples: TC_SAMPLES is not set';

/** A directory for one test file, removed at the end. */
export function scratch(name) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), `tc_${name}_`));
  /** A file in it: text and bytes as they are, all else as JSON. */
  const file = (target, content) => {
    const full = path.join(folder, target);
    fs.mkdirSync(path.dirname(full), { recursive: true });
    fs.writeFileSync(full, typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content));
    return full;
  };
  return { folder, file, remove: () => fs.rmSync(folder, { recursive: true, force: true }) };
}

export function tracecore(args, options = {}) {
  const result = spawnSync(binary, args, { encoding: 'utf8', timeout: 120000, maxBuffer: 1 << 28, ...placed(args, options) });
  return { status: result.status, signal: result.signal, stdout: result.stdout, stderr: result.stderr };
}

/** `tracecore run add --json`: what it answered, and the exit status. */
export function add(dataDir, args, options = {}) {
  const result = tracecore(['run', 'add', '--json', '--data-dir', dataDir, ...args], options);
  assert.equal(result.signal, null, result.stderr);
  return { ...result, answer: result.stdout ? JSON.parse(result.stdout) : null };
}

export function show(dataDir, id) {
  const result = tracecore(['run', 'show', '--json', '--data-dir', dataDir, id]);
  assert.equal(result.status, 0, result.stderr);
  return JSON.parse(result.stdout);
}

export function list(dataDir, args = []) {
  const result = tracecore(['run', 'list', '--json', '--limit', '0', '--data-dir', dataDir, ...args]);
  assert.equal(result.status, 0, result.stderr);
  return result.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

/** All rows of tables in order, as lines of JSON by table; one process, for each loads DuckDB. */
export function dump(dataDir, tables, options = {}) {
  const input = tables.map((table) => `SELECT '${table}' AS "table"; SELECT * FROM ${table} ORDER BY ALL;`).join('\n');
  const { status, stdout, stderr } = tracecore(['sql', '--json', '--limit', '0', '--data-dir', dataDir], { input, ...options });
  assert.equal(status, 0, stderr);
  const rows = Object.fromEntries(tables.map((table) => [table, []]));
  let table;
  for (const line of stdout.split('\n').filter(Boolean)) {
    const named = /^\{"table":"(\w+)"\}$/u.exec(line);
    if (named) [, table] = named; else rows[table].push(line);
  }
  return rows;
}

/** The files under data_dir/files that are content, by digest. */
export function stored(dataDir) {
  const folder = path.join(dataDir, 'files');
  if (!fs.existsSync(folder)) {
    return [];
  }
  return fs.readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /^[0-9a-f]{64}$/u.test(entry.name))
    .map((entry) => `sha256:${entry.name}`).sort();
}

/** What the runs of a data_dir refer to. */
export function referred(dataDir) {
  const all = new Set();
  for (const { run_id: id } of list(dataDir)) {
    const { lineage } = show(dataDir, id);
    all.add(lineage.artifact_manifest_digest);
    lineage.raw_uris.forEach((uri) => all.add(uri.digest));
  }
  return [...all].sort();
}

/** A result of vLLM's benchmark, small and right. */
export function vllm(overrides = {}) {
  return {
    date: '20260213-141321', endpoint_type: 'openai', backend: 'vllm', label: null,
    model_id: 'meta/llama', tokenizer_id: 'meta/llama', num_prompts: 40, request_rate: 'inf',
    burstiness: 1.0, max_concurrency: 4, duration: 31.08, completed: 40, failed: 0,
    total_input_tokens: 40960, total_output_tokens: 5120, request_throughput: 1.287,
    output_throughput: 164.7, total_token_throughput: 1482.3,
    mean_ttft_ms: 300.5, median_ttft_ms: 265.0, std_ttft_ms: 80.1, p99_ttft_ms: 584.8,
    mean_tpot_ms: 22.1, median_tpot_ms: 21.37, std_tpot_ms: 1.4, p99_tpot_ms: 26.45,
    mean_itl_ms: 22.3, median_itl_ms: 20.9, std_itl_ms: 9.7, p99_itl_ms: 70.2,
    ...overrides,
  };
}

/** A valid contract, made by the program. */
export function contract(args = []) {
  const result = tracecore(['contract', 'init', '--workload-type', 'inference', '--name', 'nightly-llama',
    '--model', 'meta/llama', ...args]);
  assert.equal(result.status, 0, result.stderr);
  // One length, which is that of vllm() below: the template's first of two has half the input.
  return result.stdout.replaceAll(/( *)- inputTokens: 512\n.*\n.*weight: 0\.7\n.*\n.*\n.*\n/gu,
    '$1- inputTokens: 1024\n$1  outputTokens: 128\n$1  weight: 1\n');
}
