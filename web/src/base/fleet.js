// SPDX-License-Identifier: Apache-2.0
// Nodes with their state: the worst of their open incidents. A node is known by the directory, an incident by detection.
import { isOpen, nodeOf } from './story.js';

export const STATES = {
  critical: { word: 'critical', tone: 'critical', weight: 0 },
  warning: { word: 'warning', tone: 'warning', weight: 1 },
  info: { word: 'info', tone: 'info', weight: 2 },
  good: { word: 'no open incident', tone: 'good', weight: 3 },
};

const worse = (a, b) => (STATES[a].weight <= STATES[b].weight ? a : b);

/** Which GPU of a node a verdict is about: its place in the list, or -1. */
function gpuAt(gpus, verdict) {
  return gpus.findIndex((gpu) => (gpu.uuid && gpu.uuid === verdict['gpu.uuid']) || (gpu.pci && gpu.pci === verdict['pci.bdf'])
    || (gpu.index !== undefined && gpu.index !== null && gpu.index === verdict['gpu.index']));
}

export function nodesOf(data, incidents) {
  const byNode = new Map();
  for (const verdict of incidents.values()) {
    const name = nodeOf(verdict);
    if (!name || !isOpen(verdict)) continue;
    if (!byNode.has(name)) byNode.set(name, []);
    byNode.get(name).push(verdict);
  }
  return data.nodes.map((node) => {
    const name = node.name ?? node.node;
    const open = byNode.get(name) ?? [];
    const gpus = (node.gpus ?? []).map((gpu) => ({ ...gpu, state: 'good' }));
    let state = 'good';
    for (const verdict of open) {
      state = worse(state, verdict.severity);
      const at = gpuAt(gpus, verdict);
      if (at >= 0) gpus[at].state = worse(gpus[at].state, verdict.severity);
    }
    const first = open.sort((a, b) => STATES[a.severity].weight - STATES[b.severity].weight)[0];
    return { name, rack: node.rack ?? null, gpus, state, open: open.length, headline: first?.headline ?? '', raw: node };
  });
}
