// SPDX-License-Identifier: Apache-2.0
// One run: what it measured, on what, whether it may be published, and the files behind it.
import { useState } from 'preact/hooks';
import '../style/runs.css';
import { part, useAsk } from '../base/api.js';
import { bytes, count, number, pattern } from '../base/format.js';
import { href } from '../base/route.js';
import { groupsOf } from '../ui/choose.jsx';
import { WholeFile } from '../ui/file.jsx';
import { Answer, Conditions, Crumbs, Digest, Panel, Tone, When, Wide } from '../ui/parts.jsx';
import { RunSeries } from '../ui/series.jsx';
import { Curves } from '../ui/strip.jsx';

const SERVING = [
  'concurrency',
  'request_rate',
  'ttft_p50_ms',
  'ttft_p99_ms',
  'tpot_p50_ms',
  'tpot_p99_ms',
  'e2e_p50_ms',
  'e2e_p99_ms',
  'output_token_throughput',
  'request_throughput',
  'errors',
  'cost_per_token_usd',
];
const TRAINING = [
  'phase',
  'gpus',
  'step_mean_ms',
  'step_p50_ms',
  'step_p95_ms',
  'step_p99_ms',
  'tokens_per_second',
  'samples_per_second',
  'mfu',
  'scaling_efficiency',
  'reliability',
  'restarts',
];

function Rows({ rows, columns }) {
  const used = columns.filter((c) => rows.some((row) => row[c] !== null && row[c] !== undefined));
  return (
    <Wide>
      <table class="dense">
        <thead>
          <tr>
            <th>point</th>
            {used.map((c) => (
              <th key={c} class="right">
                {c.replaceAll('_', ' ').replace(' ms', ' (ms)')}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={i}>
              <td class="nowrap">{row.workload_point ?? row.scale_point ?? row.phase ?? 'all'}</td>
              {used.map((c) => (
                <td key={c} class="right num">
                  {typeof row[c] === 'number' ? number(row[c]) : (row[c] ?? '–')}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

const Known = ({ of, skip = [] }) => {
  const facts = Object.entries(of ?? {}).filter(
    ([key, value]) => value !== null && !key.endsWith('_key') && !skip.includes(key) && key !== 'run_id',
  );
  if (facts.length === 0) return <p class="soft">Nothing is recorded.</p>;
  return (
    <dl class="facts">
      {facts.map(([key, value]) => (
        <>
          <dt key={key}>{key.replaceAll('_', ' ')}</dt>
          <dd>
            {typeof value === 'object' ? (
              JSON.stringify(value)
            ) : String(value).startsWith('sha256:') ? (
              <Digest of={value} />
            ) : (
              String(value)
            )}
          </dd>
        </>
      ))}
    </dl>
  );
};

function Files({ list }) {
  const [opened, setOpened] = useState(null);
  return (
    <ul>
      {list.map((file) => (
        <li key={file.digest + file.name} class="check">
          <span class="faint">{file.role}</span>
          <div class="stack tight">
            <span class="row tight">
              <code>{file.name}</code>
              <span class="faint num">{bytes(file.size)}</span>
              <Digest of={file.digest} />
              <button
                type="button"
                class="button small"
                aria-expanded={opened === file.digest}
                onClick={() => setOpened(opened === file.digest ? null : file.digest)}
              >
                {opened === file.digest ? 'Close' : 'Open the bytes'}
              </button>
            </span>
            {opened === file.digest && <WholeFile digest={file.digest} />}
          </div>
        </li>
      ))}
    </ul>
  );
}

function Telemetry({ list, run }) {
  const [opened, setOpened] = useState(null);
  return (
    <Wide>
      <table>
        <thead>
          <tr>
            <th>metric</th>
            <th>family</th>
            <th class="right">min</th>
            <th class="right">mean</th>
            <th class="right">max</th>
            <th class="right">slices</th>
            <th>over time</th>
          </tr>
        </thead>
        <tbody>
          {list.map((t) => (
            <>
              <tr key={t.metric + t.family}>
                <td class="metric-name">{t.metric}</td>
                <td>{t.family}</td>
                <td class="right num">{number(t.min)}</td>
                <td class="right num">{number(t.mean)}</td>
                <td class="right num">
                  {number(t.max)} <span class="faint">{t.unit}</span>
                </td>
                <td class="right num">{t.slices}</td>
                <td>
                  <button
                    type="button"
                    class="button small"
                    aria-expanded={opened === t}
                    onClick={() => setOpened(opened === t ? null : t)}
                  >
                    {opened === t ? 'Close' : 'Plot'}
                  </button>
                </td>
              </tr>
              {opened === t && (
                <tr key={`${t.metric} plot`}>
                  <td colSpan={7}>
                    <RunSeries run={run} metric={t.metric} family={t.family} />
                  </td>
                </tr>
              )}
            </>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

function Body({ data, older }) {
  const { run, serving = [], training = [], verdicts = [], telemetry = [] } = data;
  const curve = serving
    .map((row) => ({
      x: row.output_token_throughput,
      y: row.e2e_p99_ms ?? row.ttft_p99_ms,
      label: String(row.concurrency ?? row.request_rate ?? ''),
    }))
    .filter((p) => Number.isFinite(p.x) && Number.isFinite(p.y))
    .sort((a, b) => a.label - b.label);
  return (
    <div class="stack">
      <div class="head">
        <div class="grow">
          <h1>{run.run_id}</h1>
          <p>
            {run.name} · {run.benchmark_class?.replaceAll('_', ' ') ?? 'no contract'} · <When at={run.started_at} /> UTC · {run.status}
            {run.replicate_group ? ` · of group ${run.replicate_group}` : ''}
          </p>
        </div>
        {older && (
          <a class="button main-one" href={href(['pivot'], { run: run.run_id, against: older })}>
            What got slower than {older}
          </a>
        )}
        {older && (
          <a class="button" href={href(['diagnose'], { run: run.run_id, against: older })}>
            Diagnose
          </a>
        )}
        {older && run.replicate_group && (
          <a class="button" href={href(['compare'], { base: older, candidate: run.replicate_group })}>
            Compare
          </a>
        )}
      </div>
      {verdicts.length > 0 && (
        <Panel title={count(verdicts.length, 'incident')} says="while it ran">
          <ul class="stack tight">
            {verdicts.map((v) => (
              <li key={v.incident_id}>
                <Tone kind={v.status === 'resolved' ? 'good' : 'warning'}>{v.status}</Tone>{' '}
                <a class="link" href={href(['incidents', v.incident_id])}>
                  {v.headline}
                </a>{' '}
                <span class="faint">{pattern(v.pattern)}</span>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {serving.length > 0 && (
        <Panel title="Serving" flush>
          <Rows rows={serving} columns={SERVING} />
        </Panel>
      )}
      {curve.length > 1 && (
        <Panel title="Latency against throughput">
          <Curves
            sides={[{ name: run.run_id, points: curve }]}
            xName="output token throughput"
            yName="latency p99 (ms)"
            better="down and to the right is better"
          />
        </Panel>
      )}
      {training.length > 0 && (
        <Panel title="Training" flush>
          <Rows rows={training} columns={TRAINING} />
        </Panel>
      )}
      <div class="columns">
        <Panel title="May it be published?" says={run.publishable ? 'Yes' : 'Not yet'}>
          <Conditions list={data.conditions ?? run.conditions ?? []} />
        </Panel>
        <div class="stack">
          <Panel title="Hardware">
            <Known of={data.hardware} />
          </Panel>
          <Panel title="Software">
            <Known of={data.software} />
          </Panel>
          <Panel title="Workload">
            <Known of={data.workload} />
          </Panel>
        </div>
      </div>
      {telemetry.length > 0 && (
        <Panel title="Telemetry" says="while it ran" flush>
          <Telemetry list={telemetry} run={run.run_id} />
        </Panel>
      )}
      <Panel title="Files" says="kept under their digests">
        <Files list={data.lineage?.raw_uris ?? []} />
      </Panel>
    </div>
  );
}

export default function Run({ parts }) {
  const [id] = parts;
  const asked = useAsk(`runs/${part(id)}`);
  const runs = useAsk('runs', { limit: 200 });
  const groups = groupsOf(runs.data?.runs ?? []);
  const at = groups.findIndex((group) => group.runs.some((run) => run.run_id === id));
  const older = at < 0 ? null : groups.slice(at + 1).find((group) => group.runs[0].name === groups[at].runs[0].name)?.group;
  return (
    <>
      <Crumbs of={[{ name: 'Runs', to: ['runs'] }, { name: id }]} />
      <Answer of={asked} wait="Asking for the run">
        {(data) => <Body data={data} older={older} />}
      </Answer>
    </>
  );
}
