// SPDX-License-Identifier: Apache-2.0
// ./dev bench --agent: what a daemon costs that does nothing but watch a node: the kernel's log, the journal where there
// is one, and ten exporters of a DCGM page every 15 seconds. One JSON line; exit 1 when it is over 30 MiB or half a
// percent of a core.
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Daemon } from '../tests/e2e/support/daemon.mjs';
import { get, sleep, until } from '../tests/e2e/support/wire.mjs';

const usage = `usage: ./dev bench --agent [OPTIONS]

  --seconds N   how long it is watched, after a minute to settle (120)
  --settle N    seconds before that (60)
  --targets N   exporters (10)
  --gpus N      of each page (8)
  --warehouse   with the warehouse, as a server has it; an agent has none
`;
const { values: given } = parseArgs({ options: {
  seconds: { type: 'string', default: '120' },
  settle: { type: 'string', default: '60' },
  targets: { type: 'string', default: '10' },
  gpus: { type: 'string', default: '8' },
  warehouse: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} });
if (given.help) { process.stdout.write(usage); process.exit(0); }

const MEMORY_MIB = 30;
const CPU_SHARE = 0.005;
/** Families of dcgm-exporter, as many as its default page has. */
const FIELDS = ['SM_CLOCK', 'MEM_CLOCK', 'MEMORY_TEMP', 'GPU_TEMP', 'POWER_USAGE', 'PCIE_REPLAY_COUNTER', 'GPU_UTIL', 'MEM_COPY_UTIL', 'ENC_UTIL', 'DEC_UTIL', 'XID_ERRORS',
  'FB_FREE', 'FB_USED', 'NVLINK_BANDWIDTH_TOTAL', 'VGPU_LICENSE_STATUS', 'UNCORRECTABLE_REMAPPED_ROWS', 'CORRECTABLE_REMAPPED_ROWS', 'ROW_REMAP_FAILURE'];
const page = (target) => FIELDS.map((field, f) => `# HELP DCGM_FI_DEV_${field} x\n# TYPE DCGM_FI_DEV_${field} gauge\n${Array.from({ length: Number(given.gpus) }, (_, g) =>
  `DCGM_FI_DEV_${field}{gpu="${g}",UUID="GPU-${target}-${g}",pci_bus_id="00000000:${(16 + g).toString(16)}:00.0",device="nvidia${g}",modelName="NVIDIA H100 80GB HBM3",Hostname="gpu-${target}"} ${/ERROR|REMAP|REPLAY|LICENSE/u.test(field) ? 0 : 40 + f + Math.floor(Math.random() * 5)}\n`).join('')}`).join('');

const servers = await Promise.all(Array.from({ length: Number(given.targets) }, (_, n) => new Promise((resolve) => {
  const server = http.createServer((_request, answer) => answer.setHeader('content-type', 'text/plain; version=0.0.4').end(page(n)));
  server.listen(0, '127.0.0.1', () => resolve(server));
})));
const work = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_agent_'));
const daemon = new Daemon(path.join(work, 'daemon'), {
  warehouse: { enabled: given.warehouse },
  sources: { kmsg: { enabled: 'auto' }, journal: { enabled: 'auto' }, scrape: { enabled: 'true', interval: '15s', targets: servers.map((one) => `http://127.0.0.1:${one.address().port}/metrics`) } },
});
const cpuSeconds = () => {
  const fields = fs.readFileSync(`/proc/${daemon.pid}/stat`, 'utf8').replace(/^.*\) /u, '').split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
};
let status = 2;
try {
  await daemon.start();
  await until('a scrape of each', async () => (await daemon.metrics()).sum('tracecore_source_records_total', { source: 'scrape' }) > 0, 60000);
  await sleep(Number(given.settle) * 1000);
  const cpu = cpuSeconds();
  const began = performance.now();
  let most = 0;
  while (performance.now() - began < Number(given.seconds) * 1000) {
    await sleep(1000);
    most = Math.max(most, daemon.memory().VmRSS);
  }
  const share = (cpuSeconds() - cpu) / ((performance.now() - began) / 1000);
  const { sources } = JSON.parse((await get(daemon.api, '/api/v1/status')).body);
  const line = { bench: 'agent', rss_mib: Math.round((most / 1024) * 10) / 10, cpu_percent: Math.round(share * 1e5) / 1e3, seconds: Number(given.seconds), targets: servers.length,
    sources: Object.fromEntries(sources.map((one) => [one.name, one.state])), samples: (await daemon.metrics()).sum('tracecore_source_records_total', { source: 'scrape' }) };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  status = line.rss_mib > MEMORY_MIB || share > CPU_SHARE ? 1 : 0;
  if (status) process.stderr.write(`agent: MISSED: ${line.rss_mib} MiB (limit ${MEMORY_MIB}), ${line.cpu_percent} % of a core (limit ${CPU_SHARE * 100})\n`);
  await daemon.stop();
} catch (error) {
  process.stderr.write(`agent: ${error.stack}\n`);
} finally {
  await daemon.destroy();
  for (const server of servers) server.close();
  fs.rmSync(work, { recursive: true, force: true });
}
process.exit(status);
