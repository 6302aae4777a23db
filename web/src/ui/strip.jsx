// SPDX-License-Identifier: Apache-2.0
// Small plots as SVG: every replicate a dot, medians and intervals, and curves of latency over throughput.
import { useState } from 'preact/hooks';
import '../style/plots.css';
import { number, ratio } from '../base/format.js';
import { Wide } from './parts.jsx';

const finite = (values) => values.filter((value) => Number.isFinite(value));

/** Two rows of dots on one axis: hollow circles are the base, filled diamonds the candidate. */
export function Strip({ sides, unit, width = 206 }) {
  const all = finite(sides.flatMap((side) => [...side.values, side.low, side.high]));
  if (all.length === 0) return <span class="faint">no values</span>;
  const least = Math.min(...all);
  const most = Math.max(...all);
  const room = most - least || Math.abs(most) || 1;
  const x = (value) => 8 + ((value - least) / room) * (width - 16);
  const label = sides.map((side) => `${side.name}: ${side.values.map(number).join(', ')}`).join('; ');
  return (
    <svg class="strip" width={width} height="44" viewBox={`0 0 ${width} 44`} role="img" aria-label={`${label} ${unit ?? ''}`}>
      <line class="axis" x1="0" x2={width} y1="43" y2="43" />
      {sides.map((side, i) => {
        const y = 12 + i * 19;
        return (
          <g key={side.name} class={i === 0 ? 'side-base' : 'side-new'}>
            {Number.isFinite(side.low) && Number.isFinite(side.high) && (
              <line class="interval" x1={x(side.low)} x2={x(side.high)} y1={y} y2={y} />
            )}
            {side.values.map((value, k) => (
              <g key={k} transform={`translate(${x(value)} ${y})`}>
                <title>{`${side.labels?.[k] ?? side.name}: ${number(value)} ${unit ?? ''}`}</title>
                {i === 0 ? <circle class="dot-mark" r="4" /> : <path class="dot-mark" d="M0-5 5 0 0 5-5 0Z" />}
              </g>
            ))}
            {Number.isFinite(side.median) && <line class="median" x1={x(side.median)} x2={x(side.median)} y1={y - 9} y2={y + 9} />}
          </g>
        );
      })}
    </svg>
  );
}

/** A ratio with its interval against 1: which side is better is said in words beside it. */
export function Ratio({ value, low, high, reach, kind, width = 84 }) {
  if (!Number.isFinite(value)) return <span class="faint">not known</span>;
  const limit = Math.log(reach);
  const x = (r) => width / 2 + (Math.max(-limit, Math.min(limit, Math.log(Math.max(r, 1e-9)))) / limit) * (width / 2 - 6);
  return (
    <svg class={`ratio is-${kind}`} viewBox={`0 0 ${width} 20`} role="img" aria-label={`${ratio(value)}, ${ratio(low)} to ${ratio(high)}`}>
      <line class="one" x1={width / 2} x2={width / 2} y1="1" y2="19" />
      {Number.isFinite(low) && Number.isFinite(high) && <line class="range" x1={x(low)} x2={x(high)} y1="10" y2="10" />}
      <path class="point" d="M0-4.5 4.5 0 0 4.5-4.5 0Z" transform={`translate(${x(value)} 10)`} />
    </svg>
  );
}

function niceTicks(least, most, want) {
  const raw = (most - least) / want || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const out = [];
  for (let t = Math.ceil(least / step) * step; t <= most + step * 1e-9; t += step) out.push(t);
  return out;
}

/**
 * Curves through points { x, y, label, low, high } of one or two sides. Down and to the right is better for latency
 * over throughput, and the plot says so.
 */
export function Curves({ sides, xName, yName, better }) {
  const [over, setOver] = useState(null);
  const points = sides.flatMap((side) => side.points);
  if (points.length === 0) return <p class="soft">No point has both values.</p>;
  const width = 920;
  const height = 270;
  const [left, bottom, top, right] = [66, 42, 14, 18];
  const xs = finite(points.map((p) => p.x));
  const ys = finite(points.flatMap((p) => [p.y, p.low, p.high]));
  const xMost = Math.max(...xs) * 1.06;
  const yMost = Math.max(...ys) * 1.1;
  const x = (v) => left + (v / xMost) * (width - left - right);
  const y = (v) => height - bottom - (v / yMost) * (height - bottom - top);
  return (
    <figure>
      <Wide kind="curves-box" label="Plot">
        <svg
          class="curves"
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          aria-label={`${yName} over ${xName}: ${points.map((p) => `${p.label}: ${number(p.x)}, ${number(p.y)}`).join('; ')}`}
        >
          {niceTicks(0, yMost, 5).map((t) => (
            <g key={t}>
              <line class="grid" x1={left} x2={width - right} y1={y(t)} y2={y(t)} />
              <text class="tick-text" x={left - 8} y={y(t) + 4} text-anchor="end">
                {number(t)}
              </text>
            </g>
          ))}
          {niceTicks(0, xMost, 6).map((t) => (
            <text key={t} class="tick-text" x={x(t)} y={height - bottom + 17} text-anchor="middle">
              {number(t)}
            </text>
          ))}
          <text class="axis-name" x={left + (width - left - right) / 2} y={height - 6} text-anchor="middle">
            {xName}
          </text>
          <text class="axis-name" transform={`translate(13 ${top + (height - top - bottom) / 2}) rotate(-90)`} text-anchor="middle">
            {yName}
          </text>
          {better && (
            <text class="hint" x={width - right} y={height - bottom - 8} text-anchor="end">
              {better}
            </text>
          )}
          {sides.map((side, i) => (
            <g key={side.name} class={i === 0 ? 'side-base' : 'side-new'}>
              <path class="curve-line" d={side.points.map((p, k) => `${k ? 'L' : 'M'}${x(p.x)} ${y(p.y)}`).join('')} />
              {side.points.map((p) => (
                <g
                  key={p.label}
                  transform={`translate(${x(p.x)} ${y(p.y)})`}
                  onMouseEnter={() => setOver({ side, p })}
                  onMouseLeave={() => setOver(null)}
                >
                  {Number.isFinite(p.low) && <line class="interval" x1="0" x2="0" y1={y(p.low) - y(p.y)} y2={y(p.high) - y(p.y)} />}
                  {i === 0 ? <circle class="dot-mark" r="5" /> : <path class="dot-mark" d="M0-6.5 6.5 0 0 6.5-6.5 0Z" />}
                  <text class="point-text" x="10" y={i === 0 ? 16 : -9}>
                    {p.label}
                  </text>
                </g>
              ))}
            </g>
          ))}
        </svg>
      </Wide>
      <figcaption class="row soft">
        {sides.map((side, i) => (
          <span key={side.name} class={`row tight ${i === 0 ? 'side-base' : 'side-new'}`}>
            <svg width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true">
              {i === 0 ? <circle class="dot-mark" r="4" /> : <path class="dot-mark" d="M0-5.5 5.5 0 0 5.5-5.5 0Z" />}
            </svg>
            {side.name}
          </span>
        ))}
        <span class="faint num">
          {over ? `${over.side.name}, ${over.p.label}: ${number(over.p.x)} and ${number(over.p.y)}` : 'labels are the concurrency'}
        </span>
      </figcaption>
    </figure>
  );
}
