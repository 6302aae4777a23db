// SPDX-License-Identifier: Apache-2.0
// What followed from what: a column per step away from the cause. Verdicts of one pattern with the same cause are one box.
import { href } from '../base/route.js';
import { millis, pattern, span } from '../base/format.js';
import { isOpen, isRoot } from '../base/story.js';
import { Severity } from './parts.jsx';

const WIDTH = 214;
const HEIGHT = 118;
const GAP_X = 36;
const GAP_Y = 14;
const DEPTH_MAX = 12;

function depths(verdicts) {
  const byId = new Map(verdicts.map((v) => [v.incident_id, v]));
  const depth = new Map();
  const of = (v, left) => {
    if (depth.has(v.incident_id)) return depth.get(v.incident_id);
    const causes = (v.caused_by ?? []).map((c) => byId.get(c.incident_id)).filter(Boolean);
    const found = isRoot(v) || causes.length === 0 || left === 0 ? 0 : 1 + Math.max(...causes.map((c) => of(c, left - 1)));
    depth.set(v.incident_id, found);
    return found;
  };
  for (const v of verdicts) of(v, DEPTH_MAX);
  return depth;
}

function fold(verdicts, depth) {
  const boxes = new Map();
  const causes = new Set(verdicts.flatMap((v) => (v.caused_by ?? []).map((c) => c.incident_id)));
  for (const v of verdicts) {
    const from = (v.caused_by ?? [])
      .map((c) => c.incident_id)
      .sort()
      .join();
    const key = causes.has(v.incident_id) || isRoot(v) ? v.incident_id : `${v['pattern.name']}|${from}`;
    if (!boxes.has(key)) boxes.set(key, { key, verdicts: [], depth: depth.get(v.incident_id) });
    boxes.get(key).verdicts.push(v);
  }
  return [...boxes.values()];
}

function place(boxes) {
  const columns = [];
  for (const box of boxes) (columns[box.depth] ??= []).push(box);
  columns.forEach((column, x) =>
    column?.forEach((box, y) => {
      box.x = x * (WIDTH + GAP_X);
      box.y = y * (HEIGHT + GAP_Y);
    }),
  );
  return {
    width: columns.length * (WIDTH + GAP_X) - GAP_X,
    height: Math.max(...columns.map((c) => c?.length ?? 0)) * (HEIGHT + GAP_Y) - GAP_Y,
  };
}

export function Graph({ verdicts, chosen }) {
  const boxes = fold(verdicts, depths(verdicts));
  const size = place(boxes);
  const boxOf = new Map(boxes.flatMap((box) => box.verdicts.map((v) => [v.incident_id, box])));
  const edges = new Map();
  for (const box of boxes) {
    for (const cause of box.verdicts[0].caused_by ?? []) {
      const from = boxOf.get(cause.incident_id);
      if (from && from !== box) edges.set(`${from.key}>${box.key}`, { from, to: box });
    }
  }
  const start = Math.min(...verdicts.map((v) => millis(v.first_seen)).filter((t) => !Number.isNaN(t)));
  return (
    <div class="graph-scroll" tabIndex={0} role="group" aria-label="What followed from what">
      <div class="graph" style={{ width: `${size.width}px`, height: `${size.height}px` }}>
        <svg width={size.width} height={size.height} aria-hidden="true">
          {[...edges.values()].map(({ from, to }) => {
            const x1 = from.x + WIDTH;
            const y1 = from.y + HEIGHT / 2;
            const y2 = to.y + HEIGHT / 2;
            return (
              <path
                key={`${from.key}>${to.key}`}
                class="edge"
                d={`M${x1} ${y1}C${x1 + GAP_X / 2} ${y1} ${to.x - GAP_X / 2} ${y2} ${to.x - 7} ${y2}m-6-4 6 4-6 4`}
              />
            );
          })}
        </svg>
        {boxes.map((box) => {
          const [v] = box.verdicts;
          const late = millis(v.first_seen) - start;
          return (
            <a
              key={box.key}
              class={`box is-${isOpen(v) ? v.severity : 'done'}${box.verdicts.some((one) => one.incident_id === chosen) ? ' chosen' : ''}`}
              href={href(['incidents', v.incident_id])}
              style={{ left: `${box.x}px`, top: `${box.y}px`, width: `${WIDTH}px`, height: `${HEIGHT}px` }}
              title={v.caused_by?.map((c) => c.why).join('\n')}
            >
              <span class="row apart tight">
                <Severity of={v.severity} open={isOpen(v)} />
                <span class="faint num">{late > 0 ? `+${span(late)}` : 'first'}</span>
              </span>
              <strong>
                {box.verdicts.length > 1 ? `${box.verdicts.length} × ${pattern(v['pattern.name'])}` : pattern(v['pattern.name'])}
              </strong>
              <span class="clip soft">{v.headline}</span>
            </a>
          );
        })}
      </div>
    </div>
  );
}
