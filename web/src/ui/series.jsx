// SPDX-License-Identifier: Apache-2.0
// Telemetry over time: a metric of a run, a line per node and GPU; or the metrics of a node around an incident.
import { useEffect, useState } from 'preact/hooks';
import { part, post, useAsk } from '../base/api.js';
import { count, gpuName } from '../base/format.js';
import { Answer } from './parts.jsx';
import { Plot } from './plot.jsx';

const SERIES_MAX = 16;
const AROUND_MS = 20 * 60e3;
const PLOTS_MAX = 4;

/** Series with times of their own on one axis: { x, series }. */
function joined(list) {
  const x = [...new Set(list.flatMap((one) => one.points.map(([at]) => at)))].sort((a, b) => a - b);
  return {
    x: x.map((at) => at / 1000),
    series: list.map((one) => {
      const values = new Map(one.points.map(([at, mean]) => [at, mean]));
      return { name: one.name, values: x.map((at) => values.get(at) ?? null) };
    }),
  };
}

const nameOf = (one) =>
  [one.node, one.gpu && `GPU ${gpuName(one.gpu)}`, one.rank !== null && `rank ${one.rank}`].filter(Boolean).join(' ') || one.metric;

/** One metric of a run. The series that are asked about come first. */
export function RunSeries({ run, metric, family, node }) {
  const asked = useAsk(`runs/${part(run)}/series`, { metric, family, limit: SERIES_MAX, points: 400 });
  return (
    <Answer of={asked} wait="Reading the series">
      {(data) => {
        if (data.series.length === 0) return <p class="soft">No series of it is stored.</p>;
        const list = data.series.map((one) => ({ ...one, name: nameOf(one) })).sort((a, b) => (b.node === node) - (a.node === node));
        return (
          <>
            <Plot time label={`${metric} over time`} unit={list[0].unit} {...joined(list)} />
            {data.truncated && <p class="faint">The first {count(SERIES_MAX, 'series', 'series')} are shown.</p>}
          </>
        );
      }}
    </Answer>
  );
}

const quote = (text) => `'${text.replaceAll("'", "''")}'`;
const iso = (ms) => new Date(ms).toISOString();

/** The metrics of a node that moved most around a stretch of time. */
export function NodeSeries({ node, from, to }) {
  const [rows, setRows] = useState(null);
  useEffect(() => {
    const controller = new AbortController();
    const sql = `SELECT metric, any_value(unit) AS unit, gpu_uuid, window_start, avg(mean) AS mean FROM telemetry_slice_fact WHERE node_name = ${quote(node)} AND window_start BETWEEN ${quote(iso(from - AROUND_MS))}::TIMESTAMP AND ${quote(iso(to + AROUND_MS))}::TIMESTAMP GROUP BY metric, gpu_uuid, window_start ORDER BY metric, gpu_uuid, window_start`;
    post('sql', { sql }, { signal: controller.signal }).then(
      (data) => setRows(data.rows),
      () => setRows([]),
    );
    return () => controller.abort();
  }, [node, from, to]);
  if (!rows || rows.length === 0) return null;
  const metrics = new Map();
  for (const [metric, unit, gpu, at, mean] of rows) {
    if (mean === null) continue;
    if (!metrics.has(metric)) metrics.set(metric, { metric, unit, series: new Map() });
    const { series } = metrics.get(metric);
    const name = gpu ? `GPU ${gpuName(gpu)}` : node;
    if (!series.has(name)) series.set(name, { name, points: [] });
    series.get(name).points.push([Date.parse(at.includes('Z') ? at : `${at.replace(' ', 'T')}Z`), mean]);
  }
  const moved = ({ series }) =>
    Math.max(
      ...[...series.values()].map(({ points }) => {
        const values = points.map(([, v]) => v);
        return (Math.max(...values) - Math.min(...values)) / (Math.abs(values[0]) + 1e-9);
      }),
    );
  const shown = [...metrics.values()]
    .filter((one) => [...one.series.values()].some(({ points }) => points.length > 2))
    .sort((a, b) => moved(b) - moved(a))
    .slice(0, PLOTS_MAX);
  if (shown.length === 0) return null;
  const lines = [{ at: from / 1000, label: 'began', tone: 'critical' }];
  return (
    <div class="columns">
      {shown.map((one) => (
        <figure key={one.metric}>
          <h3>
            <code>{one.metric}</code> <span class="faint">{one.unit}</span>
          </h3>
          <Plot
            time
            height={170}
            unit={one.unit}
            lines={lines}
            label={`${one.metric} of ${node}`}
            {...joined([...one.series.values()].slice(0, 8))}
          />
        </figure>
      ))}
    </div>
  );
}
