// SPDX-License-Identifier: Apache-2.0
// uPlot as a component: series over time or over an index, in the colours of the theme.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import '../style/uplot.css';
import { number } from '../base/format.js';
import { colour, useTheme } from './theme.js';

export const PALETTE = ['accent', 'new-dot', 'info', 'critical', 'good', 'base-dot', 'warning', 'soft'];
const DASHES = [[], [6, 4], [2, 3], [8, 3, 2, 3]];

/** Times of an axis in UTC: the day where steps are days, seconds where they are seconds. */
const times = (_, splits, axis, space, step) =>
  splits.map((at) => {
    const text = new Date(at * 1000).toISOString();
    return step >= 86400 ? text.slice(5, 10) : text.slice(11, step < 60 ? 19 : 16);
  });

/** Vertical lines with a word at the top: [{ at, label, tone }]. */
function linesPlugin(lines) {
  return {
    hooks: {
      draw: (u) => {
        const { ctx } = u;
        ctx.save();
        ctx.font = `${12 * devicePixelRatio}px sans-serif`;
        for (const line of lines) {
          const x = u.valToPos(line.at, 'x', true);
          ctx.strokeStyle = ctx.fillStyle = colour(line.tone ?? 'warning');
          ctx.lineWidth = 2 * devicePixelRatio;
          ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
          ctx.beginPath();
          ctx.moveTo(x, u.bbox.top);
          ctx.lineTo(x, u.bbox.top + u.bbox.height);
          ctx.stroke();
          if (line.label) ctx.fillText(line.label, x + 6 * devicePixelRatio, u.bbox.top + 14 * devicePixelRatio);
        }
        ctx.restore();
      },
    },
  };
}

/**
 * @param x       values of the axis: seconds since 1970 with `time`, else an index with `names`
 * @param series  [{ name, values, points, width }]
 * @param lines   what is marked on the axis
 */
export function Plot({ x, series, time = false, names, unit, lines = [], height = 260, label }) {
  const ref = useRef(null);
  const [theme] = useTheme();
  useEffect(() => {
    const axis = { stroke: colour('faint'), grid: { stroke: colour('line'), width: 1 }, ticks: { show: false }, font: '11px sans-serif' };
    const u = new uPlot(
      {
        width: ref.current.clientWidth || 600,
        height,
        legend: { live: true },
        padding: [10, 30, 0, 0],
        cursor: { points: { size: 8 } },
        tzDate: (ts) => uPlot.tzDate(new Date(ts * 1e3), 'Etc/UTC'),
        scales: { x: { time } },
        axes: [
          {
            ...axis,
            ...(names
              ? {
                  values: (_, splits) => splits.map((i) => (Number.isInteger(i) ? (names[i] ?? '') : '')),
                  rotate: names.length > 12 ? -40 : 0,
                  size: names.length > 12 ? 70 : 34,
                }
              : time
                ? { values: times }
                : {}),
          },
          { ...axis, size: 72, values: (_, splits) => splits.map(number) },
        ],
        series: [
          names
            ? { label: 'run', value: (_, v) => names[v] ?? '' }
            : time
              ? { label: 'UTC', value: (_, at) => (at ? new Date(at * 1000).toISOString().slice(0, 19).replace('T', ' ') : '') }
              : { label: 'x' },
          ...series.map((one, i) => ({
            label: one.name,
            stroke: colour(PALETTE[i % PALETTE.length]),
            width: one.width ?? 2,
            dash: DASHES[Math.floor(i / PALETTE.length) % DASHES.length],
            points: { show: one.points ?? x.length < 80, size: 7, fill: colour(PALETTE[i % PALETTE.length]) },
            value: (_, v) => (v === null || v === undefined ? '–' : `${number(v)}${unit ? ` ${unit}` : ''}`),
            spanGaps: true,
          })),
        ],
        plugins: [linesPlugin(lines)],
      },
      [x, ...series.map((one) => one.values)],
      ref.current,
    );
    const observer = new ResizeObserver(([entry]) => u.setSize({ width: Math.max(200, entry.contentRect.width), height }));
    observer.observe(ref.current);
    return () => {
      observer.disconnect();
      u.destroy();
    };
  }, [theme, JSON.stringify([x, series, lines, names])]);
  return <div class="plot-box" ref={ref} role="img" aria-label={label ?? series.map((one) => one.name).join(', ')} />;
}
