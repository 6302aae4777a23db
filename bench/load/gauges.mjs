// SPDX-License-Identifier: Apache-2.0
// The metrics of 64 GPUs: dcgm-exporter's default counters as the Collector's prometheus receiver sends
// them, eight scraped targets of eight GPUs in a request. Labels are in Prometheus's order (bytes), the
// families in that of a Go map; counters are monotonic sums, values doubles; each scrape has its own
// five metrics beside.
import { Body, Counter, random } from './body.mjs';
import { detected, exporters, k8sattributes, nodes, trainers } from './cluster.mjs';

export const BODIES = 128;
const BIG = 1000000000000; // thirteen digits

/** [name, description, how its value comes about] in the order of default-counters.csv. */
const GAUGES = [
  ['DCGM_FI_DEV_SM_CLOCK', 'SM clock frequency (in MHz).', (r) => 1755 + 15 * r.below(16)],
  ['DCGM_FI_DEV_MEM_CLOCK', 'Memory clock frequency (in MHz).', () => 2619],
  ['DCGM_FI_DEV_MEMORY_TEMP', 'Memory temperature (in C).', (r) => 60 + r.below(16)],
  ['DCGM_FI_DEV_GPU_TEMP', 'GPU temperature (in C).', (r) => 48 + r.below(16)],
  ['DCGM_FI_DEV_POWER_USAGE', 'Power draw (in W).', (r) => Math.round((560 + 130 * r.next()) * 1000) / 1000],
  ['DCGM_FI_DEV_GPU_UTIL', 'GPU utilization (in %).', (r) => 92 + r.below(9)],
  ['DCGM_FI_DEV_MEM_COPY_UTIL', 'Memory utilization (in %).', (r) => 30 + r.below(40)],
  ['DCGM_FI_DEV_ENC_UTIL', 'Encoder utilization (in %).', () => 0],
  ['DCGM_FI_DEV_DEC_UTIL', 'Decoder utilization (in %).', () => 0],
  ['DCGM_FI_DEV_XID_ERRORS', 'Value of the last XID error encountered.', () => 0],
  ['DCGM_FI_DEV_FB_FREE', 'Framebuffer memory free (in MiB).', (r) => 9000 + r.below(2000)],
  ['DCGM_FI_DEV_FB_USED', 'Framebuffer memory used (in MiB).', (r) => 70000 + r.below(2000)],
  ['DCGM_FI_DEV_FB_RESERVED', 'Framebuffer memory reserved (in MiB).', () => 641],
  ['DCGM_FI_DEV_VGPU_LICENSE_STATUS', 'vGPU License status', () => 0],
  ['DCGM_FI_DEV_ROW_REMAP_FAILURE', 'Whether remapping of rows has failed', () => 0],
  ['DCGM_FI_PROF_GR_ENGINE_ACTIVE', 'Ratio of time the graphics engine is active.', (r) => Math.round((0.9 + 0.1 * r.next()) * 1e6) / 1e6],
  ['DCGM_FI_PROF_PIPE_TENSOR_ACTIVE', 'Ratio of cycles the tensor (HMMA) pipe is active.', (r) => Math.round((0.3 + 0.2 * r.next()) * 1e6) / 1e6],
  ['DCGM_FI_PROF_DRAM_ACTIVE', 'Ratio of cycles the device memory interface is active sending or receiving data.', (r) => Math.round((0.2 + 0.2 * r.next()) * 1e6) / 1e6],
  ['DCGM_FI_PROF_PCIE_TX_BYTES', 'The rate of data transmitted over the PCIe bus - including both protocol headers and data payloads - in bytes per second.', (r) => 1000000000 + r.below(900000000)],
  ['DCGM_FI_PROF_PCIE_RX_BYTES', 'The rate of data received over the PCIe bus - including both protocol headers and data payloads - in bytes per second.', (r) => 1000000000 + r.below(900000000)],
];
const COUNTERS = [
  ['DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION', 'Total energy consumption since boot (in mJ).', (i, g) => new Counter(BIG + g * 90000000 + i * 650000, BODIES * 650000)],
  ['DCGM_FI_DEV_PCIE_REPLAY_COUNTER', 'Total number of PCIe retries.', () => 0],
  ['DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL', 'Total number of NVLink bandwidth counters for all lanes.', (i, g) => new Counter(2 * BIG + g * 70000000 + i * 380000, BODIES * 380000)],
  ['DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS', 'Number of remapped rows for uncorrectable errors', () => 0],
  ['DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS', 'Number of remapped rows for correctable errors', (_, g) => (g % 17 === 5 ? 1 : 0)],
];
const SCRAPE = [
  ['up', 'The scraping was successful', '', () => 1],
  ['scrape_duration_seconds', 'Duration of the scrape', 's', (r) => 0.01 + r.next() / 50],
  ['scrape_samples_scraped', 'The number of samples the target exposed', '', () => 200],
  ['scrape_samples_post_metric_relabeling', 'The number of samples remaining after metric relabeling was applied', '', () => 200],
  ['scrape_series_added', 'The approximate number of new series in this scrape', '', () => 0],
];

const labels = (n, g) => [
  ['DCGM_FI_DRIVER_VERSION', '570.86.15'], ['Hostname', nodes[n].name], ['UUID', nodes[n].gpus[g].uuid], ['container', trainers[n].container], ['device', `nvidia${g}`],
  ['gpu', String(g)], ['modelName', 'NVIDIA H100 80GB HBM3'], ['namespace', trainers[n].namespace], ['pci_bus_id', nodes[n].gpus[g].bus], ['pod', trainers[n].name],
];

function target(r, i, n) {
  const time = -1000000 * (1 + r.below(900)); // scrapes have milliseconds
  const start = time - 3600000000000;
  const of = (type) => [['prometheus.type', type]];
  const gpus = nodes[n].gpus.map((_, g) => labels(n, g));
  const families = [
    ...GAUGES.map(([name, description, value]) => ({ name, description, metadata: of('gauge'), points: gpus.map((attributes) => ({ attributes, time, value: value(r) })) })),
    ...COUNTERS.map(([name, description, value]) => ({ name, description, metadata: of('counter'), sum: true,
      points: gpus.map((attributes, g) => ({ attributes, time, start, value: value(i, n * 8 + g) })) })),
    ...SCRAPE.map(([name, description, unit, value]) => ({ name, description, unit, metadata: of('gauge'), points: [{ attributes: [], time, value: value(r) }] })),
  ];
  const exporter = exporters[n];
  const address = `10.244.${n + 1}.${17 + n}`;
  return { scope: { name: 'github.com/open-telemetry/opentelemetry-collector-contrib/receiver/prometheusreceiver', version: '0.152.0' },
    attributes: [['service.name', 'dcgm-exporter'], ['server.address', address], ['service.instance.id', `${address}:9400`], ['server.port', '9400'], ['url.scheme', 'http'],
      ['k8s.pod.name', exporter.name], ['k8s.namespace.name', exporter.namespace], ...k8sattributes(exporter, r), ...detected(nodes[n])],
    metrics: r.walk(families) };
}

function requests(count) {
  return Array.from({ length: count }, (_, i) => {
    const r = random(5000 + i);
    return { signal: 'metrics', resources: nodes.map((__, n) => target(r, i, n)) };
  });
}
export const RECORDS = nodes.length * (8 * (GAUGES.length + COUNTERS.length) + SCRAPE.length);
export const steps = 0;
export const bodies = (form, count = BODIES) => requests(count).map((request) => Body.encode(request, form));
