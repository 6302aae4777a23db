// SPDX-License-Identifier: Apache-2.0
// Two sides and what changed between them: every replicate is shown, and nothing is called a difference without its proof.
import '../style/runs.css';
import { useAsk } from '../base/api.js';
import { chance, count, number, ratio } from '../base/format.js';
import { go, href, set } from '../base/route.js';
import { Word, groupsOf } from '../ui/choose.jsx';
import { Answer, Crumbs, Empty, Panel, Switch, Tone, Wide } from '../ui/parts.jsx';
import { Curves, Ratio, Strip } from '../ui/strip.jsx';

const KINDS = { worse: 'critical', better: 'good', different: 'info', unstable: 'warning', multimodal: 'warning' };
const LATENCIES = ['e2e_p99_ms', 'ttft_p99_ms', 'tpot_p99_ms', 'e2e_p50_ms', 'ttft_p50_ms'];
const THROUGHPUTS = ['output_token_throughput', 'total_token_throughput', 'request_throughput'];

const concurrencyOf = (point) => /concurrency=(\S+)/.exec(point)?.[1] ?? /rate=(\S+)/.exec(point)?.[1] ?? point;

function Row({ series, reach, runs }) {
  const kind = KINDS[series.verdict] ?? 'quiet';
  const labels = (side) => side.run_indexes?.map((i) => runs[side === series.base ? 0 : 1][i]);
  return (
    <tr>
      <td>
        <Tone kind={kind}>{series.verdict}</Tone>
      </td>
      <td>
        <a class="metric-name break" href={href(['trend'], { metric: series.metric, point: series.point })} title="Its history">
          {series.metric}
        </a>
      </td>
      <td class="num nowrap">
        {number(series.base.median)} <span class="faint">→</span> {number(series.candidate.median)}
        <br />
        <span class="faint">{series.unit}</span>
      </td>
      <td class="num nowrap">
        <strong>{ratio(series.ratio)}</strong>
        <br />
        <span class="faint">{Number.isFinite(series.ratio_low) ? `${number(series.ratio_low)} to ${number(series.ratio_high)}` : ''}</span>
      </td>
      <td class="plot">
        <Ratio value={series.ratio} low={series.ratio_low} high={series.ratio_high} reach={reach} kind={kind} />
      </td>
      <td class="plot cell-plot">
        <Strip
          unit={series.unit}
          sides={[
            { name: 'base', ...series.base, labels: labels(series.base) },
            { name: 'candidate', ...series.candidate, labels: labels(series.candidate) },
          ]}
        />
      </td>
      <td class="num faint nowrap">
        p {chance(series.p_corrected ?? series.p)}
        <br />n {series.base.n}+{series.candidate.n}, {series.effect}
      </td>
    </tr>
  );
}

function Point({ point, series, runs, query }) {
  const ratios = series.flatMap((one) => [one.ratio_low, one.ratio_high, one.ratio]).filter((r) => r > 0 && Number.isFinite(r));
  const reach = Math.max(1.05, ...ratios.map((r) => (r < 1 ? 1 / r : r))) * 1.04;
  return (
    <Panel
      title={<code>{point}</code>}
      says={`${series.filter((s) => s.verdict === 'worse').length} worse, ${series.filter((s) => s.verdict === 'better').length} better`}
      flush
      actions={
        <a class="button small" href={href(['pivot'], { run: runs[1][0], against: query.base, point })}>
          What stands out here
        </a>
      }
    >
      <Wide>
        <table class="dense">
          <thead>
            <tr>
              <th>verdict</th>
              <th>metric</th>
              <th>base → candidate</th>
              <th>ratio, interval</th>
              <th>against 1</th>
              <th>every run: ○ base ◆ candidate</th>
              <th>test</th>
            </tr>
          </thead>
          <tbody>
            {series.map((one) => (
              <Row key={one.metric} series={one} reach={reach} runs={runs} />
            ))}
          </tbody>
        </table>
      </Wide>
    </Panel>
  );
}

function Pareto({ data, query }) {
  const has = (name) => data.series.some((s) => s.metric === name);
  const latency = query.y && has(query.y) ? query.y : LATENCIES.find(has);
  const throughput = THROUGHPUTS.find(has);
  if (!latency || !throughput) return null;
  const find = (metric, point) => data.series.find((s) => s.metric === metric && s.point === point);
  const points = [...new Set(data.series.map((s) => s.point))];
  const side = (name, which) => ({
    name,
    points: points
      .map((point) => ({
        x: find(throughput, point)?.[which].median,
        y: find(latency, point)?.[which].median,
        low: find(latency, point)?.[which].low,
        high: find(latency, point)?.[which].high,
        label: concurrencyOf(point),
      }))
      .filter((p) => Number.isFinite(p.x) && Number.isFinite(p.y))
      .sort((a, b) => Number(a.label) - Number(b.label)),
  });
  const unit = data.series.find((s) => s.metric === latency)?.unit ?? '';
  return (
    <Panel
      title="Latency against throughput"
      says="Medians of the runs over the concurrency."
      actions={
        <Switch
          label="Latency"
          value={latency}
          options={LATENCIES.filter(has).map((name) => [name, name.replace(/_ms$/, '').replace('_', ' ')])}
          onChange={(y) => set({ y })}
        />
      }
    >
      <Curves
        sides={[side(query.base, 'base'), side(query.candidate, 'candidate')]}
        xName={throughput.replaceAll('_', ' ')}
        yName={`${latency.replaceAll('_', ' ')} ${unit && !latency.endsWith(unit) ? unit : ''}`}
        better="down and to the right is better"
      />
    </Panel>
  );
}

function Sides({ data }) {
  const Side = ({ name, of, tools }) => (
    <div class="side-card">
      <strong>{name}</strong>
      <code>{of.word}</code>
      <span class="faint">
        {of.kind.replaceAll('_', ' ')}, {count(of.runs.length, 'run')}
        {tools?.length ? `, ${tools.join(', ')}` : ''}
        {of.left_out ? `, ${of.left_out} left out` : ''}
      </span>
    </div>
  );
  const differs = data.differs ?? data.differences ?? [];
  return (
    <div class="stack tight">
      <div class="sides">
        <Side name="base" of={data.base} tools={data.base_tools} />
        <Side name="candidate" of={data.candidate} tools={data.candidate_tools} />
      </div>
      <p class="soft">
        {data.confounded ? (
          <Tone kind="warning">More than the variable under test differs</Tone>
        ) : differs.length === 0 ? (
          'Nothing else that is known differs. '
        ) : (
          'What differs: '
        )}
        {differs.map((d, i) => (
          <span key={i}>
            {' '}
            <code>{d.part ? `${d.part}.${d.field}` : (d.field ?? JSON.stringify(d))}</code>{' '}
            {d.base !== undefined && `${d.base} → ${d.candidate}`};
          </span>
        ))}
        {data.unknown_on_both_sides?.length > 0 &&
          ` Of ${data.unknown_on_both_sides.join(', ')} nothing is known on either side: they may differ.`}
        {data.interleaved === false &&
          ' One side was measured as a whole before the other: what changed in between by itself cannot be told from the change.'}
      </p>
    </div>
  );
}

function Result({ data, query }) {
  const all = query.all === '1';
  const shown = data.series.filter((s) => all || s.main);
  const points = [...new Set(shown.map((s) => s.point))];
  const runs = [data.base.runs, data.candidate.runs];
  return (
    <div class="stack">
      <div class="row top">
        <Tone kind={KINDS[data.verdict] ?? 'quiet'} tag>
          {data.verdict}
        </Tone>
      </div>
      <p class="says">{data.answer}</p>
      <Sides data={data} />
      <Pareto data={data} query={query} />
      <div class="row apart">
        <Switch
          label="Metrics"
          value={all ? 'all' : 'main'}
          options={[
            ['main', 'Main metrics'],
            ['all', `All ${data.series.length} series`],
          ]}
          onChange={(to) => set({ all: to === 'all' ? '1' : '' })}
        />
        <div class="row tight">
          <a class="button main-one" href={href(['diagnose'], { run: runs[1][0], against: query.base })}>
            Why? Diagnose {runs[1][0]}
          </a>
          <a class="button" href={href(['report'], { base: query.base, candidate: query.candidate })}>
            Report
          </a>
        </div>
      </div>
      {points.map((point) => (
        <Point key={point} point={point} series={shown.filter((s) => s.point === point)} runs={runs} query={query} />
      ))}
      {data.not_compared?.length > 0 && (
        <Panel title="Not compared">
          <ul>
            {data.not_compared.map((s, i) => (
              <li key={i} class="soft">
                <code>{s.metric}</code> at {s.point}: {s.why}
              </li>
            ))}
          </ul>
        </Panel>
      )}
      <p class="faint">
        {number(data.confidence * 100)} % confidence; a run is a replicate; Mann-Whitney rank test, p corrected for {data.tests_main} tests
        of main metrics and {data.tests_other} of the others (Benjamini-Hochberg). At least {data.min_replicates} runs a side are asked for.
      </p>
    </div>
  );
}

export default function Compare({ query }) {
  const runs = useAsk('runs', { limit: 200 });
  const ready = query.base && query.candidate;
  const asked = useAsk(ready ? 'compare' : null, { base: query.base, candidate: query.candidate });
  const list = runs.data?.runs ?? [];
  const groups = groupsOf(list);
  return (
    <>
      <Crumbs of={[{ name: 'Runs', to: ['runs'] }, { name: 'Compare' }]} />
      <div class="head">
        <div class="grow">
          <h1>Compare</h1>
        </div>
        <Word label="base" value={query.base} runs={list} hint="monday" onSet={(base) => set({ base })} />
        <Word label="candidate" value={query.candidate} runs={list} hint="tuesday" onSet={(candidate) => set({ candidate })} />
        <button
          type="button"
          class="button"
          disabled={!ready}
          onClick={() => go(['compare'], { ...query, base: query.candidate, candidate: query.base })}
        >
          Swap
        </button>
      </div>
      {!ready && (
        <Empty title="Choose two sides">
          <p>
            A run, a group of replicates, or a condition such as <code>cadence = 'nightly'</code>.
          </p>
          <div class="row tight">
            {groups.slice(0, 5).map(
              (group, i) =>
                groups[i + 1] && (
                  <a key={group.group} class="button" href={href(['compare'], { base: groups[i + 1].group, candidate: group.group })}>
                    {groups[i + 1].group} and {group.group}
                  </a>
                ),
            )}
          </div>
        </Empty>
      )}
      {ready && (
        <Answer of={asked} wait="Comparing">
          {(data) => <Result data={data} query={query} />}
        </Answer>
      )}
    </>
  );
}
