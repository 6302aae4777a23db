// SPDX-License-Identifier: Apache-2.0
// The fleet as the daemon says it: columns, because there may be 10,000 GPUs; here they become nodes with their GPUs.

export const STATES = {
  critical: { word: 'critical', tone: 'critical', weight: 0 },
  warning: { word: 'warning', tone: 'warning', weight: 1 },
  ok: { word: 'no open incident', tone: 'good', weight: 2 },
};

/** [{ name, rack, zone, state, open, lastSeen, gpus: [{ index, uuid, pci, state, open }], headline }] */
export function nodesOf(data, live) {
  const { nodes, gpus, states } = data;
  const state = (n) => (STATES[states[n]] ? states[n] : 'ok');
  // What is said of a node: the worst of its incidents, and of those the one that explains the others.
  const weight = (incident) => (STATES[incident.severity]?.weight ?? 3) * 2 + (live.get(incident.incident_id)?.caused_by ? 1 : 0);
  const lead = new Map();
  for (const incident of data.incidents) {
    const known = lead.get(incident.node);
    if (incident.node !== null && (!known || weight(incident) < weight(known))) lead.set(incident.node, incident);
  }
  return nodes.name.map((name, i) => {
    const own = [];
    for (let g = nodes.first_gpu[i]; g < nodes.first_gpu[i] + nodes.gpu_count[i]; g++) {
      own.push({ index: gpus.index[g], uuid: gpus.uuid[g], pci: gpus.pci[g], state: state(gpus.state[g]), open: gpus.open[g] });
    }
    return {
      name,
      rack: nodes.rack[i],
      zone: nodes.zone[i],
      state: state(nodes.state[i]),
      open: nodes.open[i],
      lastSeen: nodes.last_seen[i],
      gpus: own,
      headline: lead.get(i)?.headline ?? '',
    };
  });
}
