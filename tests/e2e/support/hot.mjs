// SPDX-License-Identifier: Apache-2.0
// Telemetry that makes every hot metric, as producers send it: OTLP in JSON.
import { nowNs } from './otlp.mjs';
import { JSON_TYPE, post } from './wire.mjs';

const attributes = (object) => Object.entries(object ?? {}).map(([key, value]) => ({ key, value: { stringValue: String(value) } }));

const point = (p) => ({ timeUnixNano: String(p.time ?? nowNs()), asDouble: p.value, attributes: attributes(p.attributes) });
const gauge = (name, points) => ({ name, gauge: { dataPoints: points.map(point) } });
const sum = (name, points) => ({ name, sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints: points.map(point) } });
const histogram = (name, points) => ({ name, histogram: { aggregationTemporality: 2, dataPoints: points.map((p) => ({
  timeUnixNano: String(p.time ?? nowNs()), count: String(p.count), sum: p.value, attributes: attributes(p.attributes),
  explicitBounds: [1], bucketCounts: [String(p.count), '0'] })) } });

/** Sends metrics; labels of `resource` are of all of them. */
export const send = (daemon, resource, metrics) => post(daemon.http, 'metrics', JSON.stringify({ resourceMetrics: [{
  resource: { attributes: attributes(resource) }, scopeMetrics: [{ metrics }] }] }), { 'content-type': JSON_TYPE });

export const make = { gauge, sum, histogram };

const GAUGES = ['DCGM_FI_DEV_GPU_UTIL', 'DCGM_FI_DEV_GPU_TEMP', 'DCGM_FI_DEV_MEMORY_TEMP', 'DCGM_FI_DEV_POWER_USAGE',
  'DCGM_FI_DEV_SM_CLOCK', 'DCGM_FI_DEV_FB_USED', 'DCGM_FI_DEV_XID_ERRORS', 'ping_loss_ratio', 'training_step_seconds',
  'training_tokens_per_second', 'training_mfu_ratio', 'vllm:num_requests_waiting', 'vllm:num_requests_running',
  'vllm:kv_cache_usage_perc'];
const SUMS = ['DCGM_FI_DEV_ECC_SBE_VOL_TOTAL', 'DCGM_FI_DEV_ECC_DBE_VOL_TOTAL', 'DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS',
  'DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS', 'DCGM_FI_DEV_THERMAL_VIOLATION', 'DCGM_FI_DEV_POWER_VIOLATION',
  'DCGM_FI_DEV_PCIE_REPLAY_COUNTER', 'DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL', 'DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL',
  'DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL', 'node_infiniband_link_downed_total', 'node_vmstat_oom_kill',
  'training_tokens_total', 'vllm:prompt_tokens_total', 'vllm:generation_tokens_total', 'vllm:request_success_total'];
const HISTOGRAMS = ['vllm:time_to_first_token_seconds', 'vllm:time_per_output_token_seconds', 'vllm:e2e_request_latency_seconds',
  'vllm:request_queue_time_seconds'];

/** One sample of a source for every hot metric; `value` rises from one to the next. */
export function sendAll(daemon, value, labels = {}) {
  const points = [{ value, count: value, attributes: { gpu: '0', UUID: 'GPU-1', ...labels } }];
  return send(daemon, { 'k8s.cluster.name': 'c1', 'cloud.region': 'eu', 'host.name': 'gpu-1' }, [
    ...GAUGES.map((name) => gauge(name, points)), ...SUMS.map((name) => sum(name, points)),
    ...HISTOGRAMS.map((name) => histogram(name, points)),
  ]);
}
