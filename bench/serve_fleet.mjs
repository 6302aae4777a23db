// SPDX-License-Identifier: Apache-2.0
// What a healthy cluster sends: eight nodes of eight GPUs. Each node's agent sends batches of 512 log
// records, seven in eight of them harmless lines of the kernel, the rest the training steps of its
// eight ranks; a scraper sends the DCGM gauges of all 64 GPUs. Nothing in it is a fault.
import { gauge, logs, metrics } from '../tests/e2e/support/otlp.mjs';

const NODES = 8;
const GPUS = 8;
const LINES = 448;
export const ROUND_STEPS = 8; // per rank
const STEP_NS = 250000000n;
export const ROUND_NS = BigInt(ROUND_STEPS) * STEP_NS;
/** Log records and data points of one round. */
export const ROUND_RECORDS = NODES * (LINES + GPUS * ROUND_STEPS) + 2 * 8 * NODES * GPUS;

const KERNEL = [
  (i) => `audit: type=1400 audit(1762000000.${i}:${i}): apparmor="ALLOWED" operation="open" class="file" profile="containerd" pid=${1000 + i} comm="runc"`,
  (i) => `cni0: port ${1 + (i % 30)}(veth${(0x3fa0 + i).toString(16)}) entered forwarding state`,
  (i) => `IPv6: ADDRCONF(NETDEV_CHANGE): veth${(0x3fa0 + i).toString(16)}: link becomes ready`,
  (i) => `EXT4-fs (nvme${i % 8}n1p1): mounted filesystem with ordered data mode. Quota mode: none.`,
  (i) => `mlx5_core 0000:${(0x18 + (i % 8)).toString(16)}:00.0: Port module event: module 0, Cable plugged`,
  (i) => `nvidia-uvm: Loaded the UVM driver, major device number ${500 + (i % 9)}.`,
  (i) => `perf: interrupt took too long (${2500 + i} > 2496), lowering kernel.perf_event_max_sample_rate to 79750`,
  (i) => `device veth${(0x3fa0 + i).toString(16)} left promiscuous mode`,
  (i) => `systemd[1]: Started session-${i}.scope - Session ${i} of User ops.`,
  (i) => `TCP: request_sock_TCP: Possible SYN flooding on port ${8000 + (i % 100)}. Sending cookies.`,
];

const nodeName = (n) => `gpu-node-${String(n).padStart(3, '0')}`;
const resourceOf = (n) => ({
  'service.name': 'node-agent', 'service.version': '0.145.0', 'host.name': nodeName(n), 'os.type': 'linux',
  'k8s.cluster.name': 'train-a', 'k8s.node.name': nodeName(n), 'k8s.namespace.name': 'llm',
  'k8s.pod.name': `pretrain-worker-${n}`, 'k8s.pod.uid': `8f0c2a1e-0000-4000-8000-00000000000${n}`,
  'k8s.container.name': 'pytorch', 'cloud.region': 'eu-north-1', 'host.type': 'p5.48xlarge',
});

const line = (n, i, time) => ({
  time, severity: 9, body: KERNEL[i % KERNEL.length](i),
  attributes: {
    _TRANSPORT: 'kernel', SYSLOG_IDENTIFIER: 'kernel', SYSLOG_FACILITY: '0', PRIORITY: '6', _HOSTNAME: nodeName(n),
    _BOOT_ID: '3f1c9a52d7e84b0e9d1b5a6c7e8f9012', _MACHINE_ID: 'a0b1c2d3e4f5061728394a5b6c7d8e9f', _RUNTIME_SCOPE: 'system',
    _SOURCE_MONOTONIC_TIMESTAMP: String(884213000000 + i * 1000), 'log.iostream': 'journal',
  },
});

const stepRecord = (n, gpu, step, time) => ({
  time, severity: 9, body: `step: ${step}  loss: 2.${1000 + (step % 977)}  grad_norm: 0.${100 + (step % 89)}  tps: 7,${100 + gpu}`,
  attributes: {
    'gen_ai.training.step': step, 'gen_ai.training.phase': 'train', 'training.step.duration': 0.25, rank: n * GPUS + gpu,
    'job.id': 'pretrain-70b', 'gpu.index': gpu, world_size: NODES * GPUS, local_rank: gpu, loss: 2.1, 'log.logger': 'torchtitan',
  },
});

function nodeLogs(n, startNs, step) {
  const records = [];
  for (let i = 0; i < LINES; i++) {
    const time = startNs + (ROUND_NS * BigInt(i)) / BigInt(LINES);
    records.push(line(n, i, time));
    if (i % 7 === 6) {
      const at = (i - 6) / 7;
      const turn = Math.floor(at / GPUS);
      records.push(stepRecord(n, at % GPUS, step + turn, startNs + BigInt(turn + 1) * STEP_NS - STEP_NS / 2n + BigInt(at % GPUS) * 100000n));
    }
  }
  return logs(resourceOf(n), records);
}

const DCGM = [
  ['DCGM_FI_DEV_GPU_TEMP', 61], ['DCGM_FI_DEV_MEMORY_TEMP', 71], ['DCGM_FI_DEV_POWER_USAGE', 655.5], ['DCGM_FI_DEV_SM_CLOCK', 1980],
  ['DCGM_FI_DEV_GPU_UTIL', 99], ['DCGM_FI_DEV_FB_USED', 71234], ['DCGM_FI_DEV_XID_ERRORS', 0], ['DCGM_FI_DEV_CLOCK_THROTTLE_REASONS', 0],
];

function scrape(time) {
  const gpus = Array.from({ length: NODES * GPUS }, (_, g) => ({
    gpu: String(g % GPUS), UUID: `GPU-6f1b2c3d-0000-4000-8000-${String(100000000000 + g)}`, pci_bus_id: `00000000:${(0x18 + (g % GPUS)).toString(16)}:00.0`,
    device: `nvidia${g % GPUS}`, modelName: 'NVIDIA H100 80GB HBM3', Hostname: nodeName(Math.floor(g / GPUS)), DCGM_FI_DRIVER_VERSION: '570.86.15',
    container: 'pytorch', namespace: 'llm', pod: `pretrain-worker-${Math.floor(g / GPUS)}`,
  }));
  return metrics({ 'service.name': 'dcgm-exporter', 'k8s.cluster.name': 'train-a', 'k8s.namespace.name': 'monitoring', 'server.port': '9400' },
    DCGM.map(([name, value]) => gauge({ name, points: gpus.map((attributes, g) => ({ time, value: value === 0 ? 0 : value + (g % 3), attributes })) })));
}

/** The requests of two seconds that begin at a time and a step: [{ signal, body }]. */
export function fleetRound(startNs, step) {
  const requests = Array.from({ length: NODES }, (_, n) => ({ signal: 'logs', body: nodeLogs(n, startNs, step) }));
  for (const part of [0n, 1n]) requests.push({ signal: 'metrics', body: scrape(startNs + part * ROUND_NS / 2n) });
  return requests;
}
