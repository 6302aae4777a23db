// SPDX-License-Identifier: Apache-2.0
// Verdicts joined to stories: what links hold together is one row, its root first. The links come from the daemon
// (incident_group, caused_by); here they are only put in order.
import { millis } from './format.js';

export const SEVERITIES = ['critical', 'warning', 'info'];
const weight = { critical: 0, warning: 1, info: 2 };

export const isOpen = (verdict) => verdict.status !== 'resolved';
export const isRoot = (verdict) => !(verdict.caused_by?.length > 0);
export const nodeOf = (verdict) => verdict['k8s.node.name'];

/** Where a verdict is, as words and addresses. */
export function placesOf(verdict) {
  const out = [];
  const add = (kind, name, to) => {
    if (name !== undefined && name !== '') out.push({ kind, name: String(name), to });
  };
  add('node', nodeOf(verdict), nodeOf(verdict) && ['fleet', nodeOf(verdict)]);
  add('GPU', verdict['gpu.index'] !== undefined ? verdict['gpu.index'] : (verdict['pci.bdf'] ?? verdict['gpu.uuid']?.slice(-8)));
  const ns = verdict['k8s.namespace.name'];
  const pod = verdict['k8s.pod.name'];
  add('pod', pod && (ns ? `${ns}/${pod}` : pod));
  add('job', verdict['job.id']);
  add('rank', verdict.rank);
  return out;
}

function sum(verdicts) {
  const open = verdicts.filter(isOpen);
  const counted = open.length ? open : verdicts;
  const times = verdicts.flatMap((v) => [millis(v.first_seen), millis(v.last_seen)]).filter((t) => !Number.isNaN(t));
  return {
    open: open.length > 0,
    severity: counted.map((v) => v.severity).sort((a, b) => weight[a] - weight[b])[0] ?? 'info',
    first: times.length ? Math.min(...times) : NaN,
    last: times.length ? Math.max(...times) : NaN,
  };
}

/** Roots first, then by time. */
export function order(verdicts) {
  return [...verdicts].sort(
    (a, b) => isRoot(b) - isRoot(a) || (millis(a.first_seen) || 0) - (millis(b.first_seen) || 0) || weight[a.severity] - weight[b.severity],
  );
}

export function stories(verdicts) {
  const groups = new Map();
  for (const verdict of verdicts) {
    const key = verdict.incident_group ?? verdict.incident_id;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(verdict);
  }
  return [...groups]
    .map(([id, members]) => {
      const verdicts = order(members);
      return { id, root: verdicts[0], verdicts, ...sum(members) };
    })
    .sort((a, b) => b.open - a.open || weight[a.severity] - weight[b.severity] || (b.last || 0) - (a.last || 0));
}

/** Does a story hold the words that are looked for, all of them, anywhere? */
export function matches(story, words) {
  if (!words) return true;
  story.text ??= story.verdicts
    .map((v) =>
      [
        v.headline,
        v.remediation,
        v['pattern.name'],
        v.severity,
        v.status,
        v.incident_id,
        ...placesOf(v).map((p) => `${p.kind} ${p.name}`),
      ].join(' '),
    )
    .join(' ')
    .toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => story.text.includes(word));
}
