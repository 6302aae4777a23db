// SPDX-License-Identifier: Apache-2.0
// The signals of a story on one axis of time, a lane per place. A mark is a piece of evidence; its shape is its source.
import { useEffect, useRef, useState } from 'preact/hooks';
import { clock, millis, span } from '../base/format.js';
import { nodeOf } from '../base/story.js';

const LANE = 30;
const TOP = 26;
const LANES_MAX = 16;
const RANKS_APART = 8;

const SOURCES = {
  xid: ['kernel', 'M0-6 6 0 0 6-6 0Z'],
  kernel: ['kernel', 'M0-6 6 0 0 6-6 0Z'],
  pod: ['Kubernetes', 'M-5-5H5V5H-5Z'],
  nccl: ['NCCL', 'M0-6 6 5H-6Z'],
  metric: ['metrics', 'M0-5A5 5 0 1 1 0 5 5 5 0 0 1 0-5Z'],
  step: ['training', 'M-6-2H6V2H-6Z'],
};
function sourceOf(kind) {
  if (/^(xid|kmsg|kernel|oom|aer|nvlink_error|link|pcie)/.test(kind)) return SOURCES.xid;
  if (/^(pod|k8s|event|node_cond|evict)/.test(kind)) return SOURCES.pod;
  if (/^(nccl|collective)/.test(kind)) return SOURCES.nccl;
  if (/^(step|train|checkpoint|loss|rank)/.test(kind)) return SOURCES.step;
  return SOURCES.metric;
}

/** Where a piece of evidence is from: a rank, or a node as its uid or its verdict says. */
function laneOf(item, verdict, nodes) {
  const rank = /^rank (\d+)\b/.exec(item.description ?? '');
  if (rank) return { name: `rank ${rank[1]}`, rank: Number(rank[1]) };
  const named = (item.uid ?? '').split(':').find((part) => nodes.has(part));
  const inWords = [...nodes].find((node) => (item.description ?? '').includes(node));
  const node = named ?? inWords ?? nodeOf(verdict);
  if (node) return { name: node };
  return { name: verdict['job.id'] ? `job ${verdict['job.id']}` : (verdict['k8s.pod.name'] ?? 'elsewhere') };
}

function collect(verdicts) {
  const nodes = new Set(verdicts.map(nodeOf).filter(Boolean));
  const marks = [];
  for (const verdict of verdicts) {
    (verdict.evidence_trail ?? []).forEach((item, i) => {
      const at = millis(item.time);
      if (Number.isNaN(at)) return;
      marks.push({
        at,
        item,
        verdict,
        key: `${verdict.incident_id.slice(0, 8)}.${i}`,
        lane: laneOf(item, verdict, nodes),
        source: sourceOf(item.kind),
      });
    });
  }
  const ranks = new Set(marks.filter((mark) => mark.lane.rank !== undefined).map((mark) => mark.lane.rank));
  if (ranks.size > RANKS_APART) {
    for (const mark of marks) if (mark.lane.rank !== undefined) mark.lane = { name: `${ranks.size} ranks` };
  }
  return marks.sort((a, b) => a.at - b.at);
}

function ticks(from, to, room) {
  const want = Math.max(2, Math.floor(room / 110));
  const steps = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5,
  ];
  const step = steps.find((s) => (to - from) / s <= want) ?? 6048e5;
  const out = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) out.push(t);
  return { step, out };
}

function useWidth() {
  const ref = useRef(null);
  const [width, setWidth] = useState(900);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(260, entry.contentRect.width)));
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

export function Timeline({ verdicts, opened, onOpen }) {
  const [ref, width] = useWidth();
  const marks = collect(verdicts);
  const byName = (a, b) => /^rank /.test(a) - /^rank /.test(b) || a.localeCompare(b, 'en', { numeric: true });
  const lanes = [...new Set(marks.map((mark) => mark.lane.name))].sort(byName).slice(0, LANES_MAX);
  const left = width < 560 ? 74 : 120;
  const from = marks.length ? marks[0].at : 0;
  const to = marks.length ? marks.at(-1).at : 1;
  const pad = Math.max((to - from) * 0.04, 200);
  const room = width - left - 16;
  const x = (at) => left + ((at - from + pad) / (to - from + 2 * pad)) * room;
  const axis = ticks(from - pad, to + pad, room);
  const height = TOP + lanes.length * LANE + 6;
  const label = (t) => (axis.step < 1000 ? new Date(t).toISOString().slice(11, 23) : new Date(t).toISOString().slice(11, 19));
  const used = [...new Map(marks.map((mark) => [mark.source[0], mark.source])).values()];
  // Marks of a lane that would lie on one another are stacked a little apart.
  const busy = new Map();
  const lift = (mark) => {
    const slot = `${mark.lane.name}:${Math.round(x(mark.at) / 9)}`;
    busy.set(slot, (busy.get(slot) ?? -1) + 1);
    return Math.min(busy.get(slot), 2) * 6 - (busy.get(slot) ? 6 : 0);
  };
  return (
    <figure ref={ref}>
      {marks.length === 0 ? (
        <p class="soft">No piece of evidence has a time.</p>
      ) : (
        <svg
          class="timeline"
          width={width}
          height={height}
          role="group"
          aria-label={`${marks.length} signals from ${clock(new Date(from).toISOString())} to ${clock(new Date(to).toISOString())}`}
        >
          {axis.out.map((t) => (
            <g key={t}>
              <line class="tick" x1={x(t)} x2={x(t)} y1={TOP - 6} y2={height} />
              <text class="tick-text" x={x(t)} y={12} text-anchor="middle">
                {label(t)}
              </text>
            </g>
          ))}
          {lanes.map((name, i) => (
            <g key={name}>
              <line class="lane" x1={left} x2={width} y1={TOP + i * LANE + LANE / 2} y2={TOP + i * LANE + LANE / 2} />
              <text class="lane-text" x={0} y={TOP + i * LANE + LANE / 2 + 4}>
                {name.length > left / 8 ? `${name.slice(0, left / 8)}…` : name}
              </text>
            </g>
          ))}
          {marks
            .filter((mark) => lanes.includes(mark.lane.name))
            .map((mark) => (
              <a
                key={mark.key}
                href={`#${mark.key}`}
                class={`mark is-${mark.verdict.severity}${opened === mark.key ? ' opened' : ''}`}
                onClick={(event) => {
                  event.preventDefault();
                  onOpen(mark.key);
                }}
              >
                <title>{`${mark.lane.name}, ${clock(mark.item.time)}, +${span(mark.at - from)}: ${mark.item.description}`}</title>
                <path
                  d={mark.source[1]}
                  transform={`translate(${x(mark.at)} ${TOP + lanes.indexOf(mark.lane.name) * LANE + LANE / 2 + lift(mark)})`}
                />
              </a>
            ))}
        </svg>
      )}
      <figcaption class="row legend">
        {used.map(([name, shape]) => (
          <span key={name} class="row tight">
            <svg width="14" height="14" viewBox="-8 -8 16 16" aria-hidden="true">
              <path d={shape} />
            </svg>
            {name}
          </span>
        ))}
        {marks.length > 0 && (
          <span class="faint">
            {marks.length} signals within {span(to - from)}
          </span>
        )}
      </figcaption>
    </figure>
  );
}
