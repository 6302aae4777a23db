// SPDX-License-Identifier: Apache-2.0
// A daemon with something to show: the runs of the tutorial, a published number, the example incident, the kernel log of
// the tutorial, and a simulated fleet. For the dashboard's tests and its screenshots.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { run, source } from './daemon.mjs';
import { call, until } from './wire.mjs';

const example = (...parts) => path.join(source, 'examples', ...parts);

function must(args, options) {
  const result = run(args, options);
  assert.equal(result.status, 0, `tracecore ${args.join(' ')}: ${result.stderr}`);
  return result;
}

/** The ten runs of docs/tutorial.md, signed, and Monday's number published: its id. */
export function addTutorial(dataDir, folder) {
  fs.mkdirSync(folder, { recursive: true });
  const data = ['--data-dir', dataDir];
  const told = run(['detect', '--json', '-q', example('nightly', 'dmesg-gpu-12.txt')]);
  fs.writeFileSync(path.join(folder, 'verdicts.ndjson'), told.stdout);
  for (const night of ['monday', 'tuesday']) {
    for (let n = 1; n <= 5; n++) {
      const id = `${night}-${n}`;
      const results = fs
        .readdirSync(example('nightly', id))
        .filter((name) => name.endsWith('.json'))
        .flatMap((name) => ['--result', example('nightly', id, name)]);
      must([
        'run',
        'add',
        '-q',
        ...data,
        '--contract',
        example('nightly', 'contract.yaml'),
        '--replicate-group',
        night,
        '--run-id',
        id,
        ...results,
        '--telemetry',
        example('nightly', id, 'dcgm.prom'),
        '--artifact',
        example('nightly', 'probe.json'),
        ...(id === 'tuesday-1' ? ['--verdicts', path.join(folder, 'verdicts.ndjson')] : []),
      ]);
    }
  }
  for (let n = 1; n <= 5; n++) {
    must(['evidence', 'sign', `monday-${n}`, n === 1 ? '--new-key' : '--key', path.join(folder, 'key'), ...data]);
  }
  return JSON.parse(must(['publish', 'monday', '--metric', 'output_token_throughput', '--point', 'concurrency=64', '--json', ...data]).text)
    .number_id;
}

export async function upload(daemon, name, body) {
  const answer = await call(daemon.api, 'POST', `/api/v1/upload?name=${encodeURIComponent(name)}`, {
    body,
    headers: { 'content-type': 'application/octet-stream' },
  });
  assert.equal(answer.status, 200, answer.body.toString());
}

/** The files of the example incident, in the order of their first lines as far as it matters: kernel log, dumps, Kubernetes. */
export async function uploadIncident(daemon) {
  const top = example('incident');
  const files = fs
    .readdirSync(top, { recursive: true })
    .map(String)
    .filter((name) => fs.statSync(path.join(top, name)).isFile());
  const weight = (name) => (name.startsWith('pods') ? 0 : name.startsWith('dmesg') ? 1 : name.includes('/') ? 2 : 3);
  for (const name of files.sort((a, b) => weight(a) - weight(b) || a.localeCompare(b)))
    await upload(daemon, name, fs.readFileSync(path.join(top, name)));
}

/** The kernel log of the tutorial's slow night. */
export const uploadNight = (daemon) => upload(daemon, 'dmesg-gpu-12.txt', fs.readFileSync(example('nightly', 'dmesg-gpu-12.txt')));

/** A fleet that is told of as fast as it goes, dated so that it ends now. */
export function simulate(daemon, { nodes = 32, seed = 1 } = {}) {
  must([
    'simulate',
    '--nodes',
    String(nodes),
    '--hours',
    '1',
    '--seed',
    String(seed),
    '--otlp',
    `http://${daemon.http}`,
    '--now',
    '--speed',
    '0',
    '--upload',
    `http://${daemon.api}`,
    '-q',
  ]);
}

/** Waits until the list of incidents has what `wanted` accepts. */
export const untilIncidents = (daemon, what, wanted) =>
  until(
    what,
    async () => {
      const answer = await call(daemon.api, 'GET', '/api/v1/incidents?limit=1000');
      const list = JSON.parse(answer.body.toString()).incidents;
      return wanted(list) ? list : null;
    },
    30000,
  );
