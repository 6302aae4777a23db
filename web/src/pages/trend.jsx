// SPDX-License-Identifier: Apache-2.0
// A metric over the history of its runs: where it changed for good, and what else changed there.
import '../style/runs.css';
import { useAsk } from '../base/api.js';
import { chance, count, number, ratio } from '../base/format.js';
import { href, set } from '../base/route.js';
import { Answer, Crumbs, Panel, Switch, Tone } from '../ui/parts.jsx';
import { Plot } from '../ui/plot.jsx';

const METRICS = [
  'output_token_throughput',
  'ttft_p50_ms',
  'ttft_p99_ms',
  'tpot_p50_ms',
  'e2e_p99_ms',
  'request_throughput',
  'cost_per_token_usd',
  'step_mean_ms',
  'tokens_per_second',
  'mfu',
];

/** The median of each stretch between changes, as a series of steps. */
function levels(series) {
  const cuts = [0, ...series.changes.map((change) => change.index), series.values.length];
  const out = new Array(series.values.length).fill(null);
  for (let i = 0; i + 1 < cuts.length; i++) {
    const sorted = series.values.slice(cuts[i], cuts[i + 1]).sort((a, b) => a - b);
    if (sorted.length) out.fill(sorted[Math.floor(sorted.length / 2)], cuts[i], cuts[i + 1]);
  }
  return out;
}

function Series({ series, runs }) {
  const names = series.run_indexes.map((i) => runs[i]);
  return (
    <Panel
      title={<code>{series.point}</code>}
      says={`${series.metric}, ${series.unit ?? 'no unit'}, ${series.better === 'neither' ? 'neither way is better' : `${series.better} is better`}`}
    >
      <div class="row tight">
        {series.changes.length === 0 && <Tone kind="quiet">{series.too_short ? 'too short a history to tell' : 'no change shown'}</Tone>}
        {series.multimodal && <Tone kind="warning">several modes: its runs fall into groups</Tone>}
        {series.spikes.length > 0 && (
          <Tone kind="warning">
            {count(series.spikes.length, 'spike')}: {series.spikes.map((s) => s.run_id).join(', ')}
          </Tone>
        )}
      </div>
      <Plot
        label={`${series.metric} at ${series.point}`}
        x={names.map((_, i) => i)}
        names={names}
        unit={series.unit}
        series={[
          { name: series.metric, values: series.values, points: true, width: 1 },
          ...(series.changes.length ? [{ name: 'level', values: levels(series), points: false }] : []),
        ]}
        lines={series.changes.map((change) => ({
          at: change.index - 0.5,
          label: ratio(change.ratio),
          tone: change.verdict === 'better' ? 'good' : 'critical',
        }))}
      />
      {series.changes.map((change) => (
        <p key={change.index}>
          <Tone kind={change.verdict === 'better' ? 'good' : change.verdict === 'worse' ? 'critical' : 'info'}>{change.verdict}</Tone> at{' '}
          <a href={href(['runs', change.run_id])}>{change.run_id}</a>: {number(change.before)} → {number(change.after)} {series.unit} (
          {ratio(change.ratio)}, p {chance(change.p)}).
          {change.changed?.length > 0
            ? ` Changed there: ${change.changed.map((c) => `${c.part}.${c.field} ${c.from ?? ''} → ${c.to ?? ''}`).join('; ')}.`
            : ' Nothing that is known changed there.'}{' '}
          <a href={href(['compare'], { base: change.run_before, candidate: change.run_id })}>Compare</a>
        </p>
      ))}
    </Panel>
  );
}

export default function Trend({ query }) {
  const metric = query.metric || METRICS[0];
  const asked = useAsk('trend', { metric, runs: query.runs });
  return (
    <>
      <Crumbs of={[{ name: 'Runs', to: ['runs'] }, { name: 'Trend' }]} />
      <div class="head">
        <div class="grow">
          <h1>
            Trend of <code>{metric}</code>
          </h1>
          {asked.data && <p>{asked.data.answer}</p>}
        </div>
        <label class="word">
          <span class="faint">metric</span>
          <input class="field mono" list="metrics" value={metric} onChange={(e) => set({ metric: e.currentTarget.value.trim() })} />
          <datalist id="metrics">
            {METRICS.map((m) => (
              <option key={m} value={m} />
            ))}
          </datalist>
        </label>
        <Switch
          label="Metric"
          value={metric}
          options={[
            ['output_token_throughput', 'tokens/s'],
            ['ttft_p99_ms', 'TTFT p99'],
            ['e2e_p99_ms', 'E2E p99'],
          ]}
          onChange={(m) => set({ metric: m })}
        />
      </div>
      <Answer of={asked} wait="Reading the history">
        {(data) => (
          <div class="stack">
            {data.series
              .filter((s) => !query.point || s.point === query.point)
              .map((series) => (
                <Series key={`${series.metric} ${series.point}`} series={series} runs={data.runs.runs} />
              ))}
            {query.point && (
              <button type="button" class="button" onClick={() => set({ point: '' })}>
                All points
              </button>
            )}
            {data.series.length === 0 && <p class="soft">No run has this metric.</p>}
          </div>
        )}
      </Answer>
    </>
  );
}
