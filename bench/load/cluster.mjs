// SPDX-License-Identifier: Apache-2.0
// Who sends the mix and the gauges: eight nodes of eight GPUs with the resource attributes that a gateway
// Collector passes on: those of the receiver first, then what the k8sattributes and the
// resourcedetection processors add.
import { random } from './body.mjs';

export const NODES = 8;
export const GPUS = 8;
const r = random(7);
const uuid = () => `${r.hex(8)}-${r.hex(4)}-4${r.hex(3)}-${r.pick(['8', '9', 'a', 'b'])}${r.hex(3)}-${r.hex(12)}`;
const suffix = () => Array.from({ length: 5 }, () => r.pick([...'bcdfghjklmnpqrstvwxz2456789'])).join('');

export const nodes = Array.from({ length: NODES }, (_, n) => ({
  name: `ip-10-42-${16 + n}-${20 + r.below(200)}.eu-north-1.compute.internal`,
  instance: `i-0${r.hex(16)}`, bootId: r.hex(32), machineId: r.hex(32), address: `10.42.${16 + n}.${20 + r.below(200)}`,
  gpus: Array.from({ length: GPUS }, (__, g) => ({ uuid: `GPU-${uuid()}`, bus: `00000000:${['18', '2A', '3A', '5D', '9A', 'AB', 'BA', 'DB'][g]}:00.0` })),
}));

/** What the resourcedetection processor adds, of system and ec2. */
export const detected = (node) => [
  ['host.name', node.name], ['os.type', 'linux'], ['cloud.provider', 'aws'], ['cloud.platform', 'aws_ec2'], ['cloud.region', 'eu-north-1'],
  ['cloud.account.id', '418273645501'], ['cloud.availability_zone', 'eu-north-1b'], ['host.id', node.instance], ['host.image.id', 'ami-0d2f8c1a7be3390e4'],
  ['host.type', 'p5.48xlarge'], ['k8s.cluster.name', 'train-eu-north-1'],
];

const pod = (node, namespace, name, container, image, tag, owner) => ({
  node, namespace, name, container, image, tag, owner, uid: uuid(), id: r.hex(64), restarts: r.below(3),
  start: `2026-11-${String(10 + r.below(7)).padStart(2, '0')}T0${r.below(10)}:${10 + r.below(49)}:${10 + r.below(49)}Z`,
});

/** The pods of the training job, one a node. */
export const trainers = nodes.map((node, n) => pod(node, 'llm-pretrain', `pretrain-70b-worker-0-${n}`, 'pytorch', 'registry.example.com/train/torchtitan', '2026.11.2-cu128',
  ['k8s.job.name', 'pretrain-70b-worker-0']));
export const exporters = nodes.map((node) => pod(node, 'gpu-operator', `nvidia-dcgm-exporter-${suffix()}`, 'nvidia-dcgm-exporter', 'nvcr.io/nvidia/k8s/dcgm-exporter', '4.2.3-4.1.3-ubuntu22.04',
  ['k8s.daemonset.name', 'nvidia-dcgm-exporter']));
const APPS = [
  ['kube-system', 'coredns-7d5b8c9f4', 'coredns', 'registry.k8s.io/coredns/coredns', 'v1.11.3', 'k8s.deployment.name', 'coredns'],
  ['kube-system', 'kube-proxy', 'kube-proxy', 'registry.k8s.io/kube-proxy', 'v1.31.2', 'k8s.daemonset.name', 'kube-proxy'],
  ['calico-system', 'calico-node', 'calico-node', 'docker.io/calico/node', 'v3.29.0', 'k8s.daemonset.name', 'calico-node'],
  ['ingress-nginx', 'ingress-nginx-controller-5f4c9d7b6b', 'controller', 'registry.k8s.io/ingress-nginx/controller', 'v1.11.3', 'k8s.deployment.name', 'ingress-nginx-controller'],
  ['serving', 'vllm-llama-70b-6c7d9f8b5d', 'vllm', 'docker.io/vllm/vllm-openai', 'v0.8.5', 'k8s.deployment.name', 'vllm-llama-70b'],
  ['serving', 'router-79b6c5d4f8', 'router', 'registry.example.com/serving/router', '1.18.0', 'k8s.deployment.name', 'router'],
  ['gpu-operator', 'nvidia-device-plugin-daemonset', 'nvidia-device-plugin', 'nvcr.io/nvidia/k8s-device-plugin', 'v0.17.0', 'k8s.daemonset.name', 'nvidia-device-plugin-daemonset'],
  ['storage', 'csi-lustre-node', 'lustre-csi', 'registry.example.com/storage/lustre-csi', 'v1.2.0', 'k8s.daemonset.name', 'csi-lustre-node'],
];
export const apps = nodes.flatMap((node) => APPS.map(([namespace, name, container, image, tag, kind, owner]) =>
  pod(node, namespace, `${name}-${suffix()}`, container, image, tag, [kind, owner])));

/** What the k8sattributes processor adds to the resource of a pod's logs or metrics; it walks a map. */
export const k8sattributes = (p, chance) => chance.walk([
  ['k8s.node.name', p.node.name], ['k8s.pod.start_time', p.start], p.owner, ['container.image.name', p.image], ['container.image.tag', p.tag],
  ['container.id', p.id], ['k8s.pod.ip', `10.244.${p.restarts + 3}.${p.id.charCodeAt(0)}`],
]);

/** Resource of what the filelog receiver's container operator read. */
export const containerResource = (p, chance) => [
  ...chance.walk([['k8s.pod.name', p.name], ['k8s.pod.uid', p.uid], ['k8s.namespace.name', p.namespace], ['k8s.container.name', p.container],
    ['k8s.container.restart_count', String(p.restarts)]]),
  ...k8sattributes(p, chance), ...detected(p.node),
];
export const logFile = (p) => `/var/log/pods/${p.namespace}_${p.name}_${p.uid}/${p.container}/${p.restarts}.log`;
