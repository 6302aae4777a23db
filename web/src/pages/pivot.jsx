// SPDX-License-Identifier: Apache-2.0
// The pivot: a slower run, its affected points, what stands out there, a node, a request, the bytes. Each step a click.
import { useState } from 'preact/hooks';
import '../style/runs.css';
import { part, useAsk } from '../base/api.js';
import { gpuName, number, pattern, ratio } from '../base/format.js';
import { useRows } from '../base/keys.js';
import { go, href } from '../base/route.js';
import { WholeFile } from '../ui/file.jsx';
import { RunSeries } from '../ui/series.jsx';
import { Answer, Crumbs, Empty, Panel, Tone, When, Wide } from '../ui/parts.jsx';

const MAIN = ['ttft_p50_ms', 'ttft_p99_ms', 'tpot_p50_ms', 'e2e_p99_ms', 'output_token_throughput', 'step_mean_ms', 'tokens_per_second'];

function Steps({ query }) {
  const { run, against, point, node } = query;
  const steps = [
    ['Run', run, { run, against }],
    ['Point', point, { run, against, point }],
    ['Node', node, { run, against, point, node }],
  ];
  const at = node ? 2 : point ? 1 : 0;
  return (
    <ol class="steps" aria-label="Steps">
      {steps.map(([name, value, to], i) => (
        <li key={name}>
          {value && i <= at ? (
            <a href={href(['pivot'], to)} aria-current={i === at ? 'step' : undefined}>
              {name}: {value}
            </a>
          ) : (
            <span>{name}</span>
          )}
        </li>
      ))}
      <li>
        <span>Bytes</span>
      </li>
    </ol>
  );
}

function Points({ data, query }) {
  if (data.points.length === 0)
    return (
      <Empty title="No point to compare">
        <p>The run and the base have no point in common.</p>
      </Empty>
    );
  return data.points.map((point) => {
    const main = point.metrics.filter((m) => MAIN.includes(m.metric));
    const shown = main.length ? main : point.metrics;
    const worse = point.metrics.filter((m) => m.worse).length;
    return (
      <Panel
        key={point.point}
        title={<code>{point.point}</code>}
        says={`${worse} of ${point.metrics.length} metrics worse`}
        flush
        actions={
          <a class="button main-one" data-row href={href(['pivot'], { ...query, point: point.point })}>
            What stands out here
          </a>
        }
      >
        <Wide>
          <table>
            <thead>
              <tr>
                <th>metric</th>
                <th class="right">base</th>
                <th class="right">this run</th>
                <th class="right">ratio</th>
                <th>verdict</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((m) => (
                <tr key={m.metric}>
                  <td class="metric-name">{m.metric}</td>
                  <td class="right num">{number(m.base)}</td>
                  <td class="right num">
                    {number(m.run)} <span class="faint">{m.unit}</span>
                  </td>
                  <td class="right num">{ratio(m.ratio)}</td>
                  <td>{m.worse ? <Tone kind="critical">worse</Tone> : <Tone kind="quiet">not worse</Tone>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Wide>
      </Panel>
    );
  });
}

function Far({ z }) {
  if (Math.abs(z) >= 1000) return 'all others equal';
  return `${z > 0 ? '+' : '−'}${number(Math.abs(z))} MADs`;
}

function Series({ data, query }) {
  const [opened, setOpened] = useState(-1);
  const [plotted, setPlotted] = useState(-1);
  return (
    <Panel title="Stands out among its peers" says={`${data.series_read} series read`} flush>
      {data.series.length === 0 ? (
        <p class="wait-none soft">No series stands out here.</p>
      ) : (
        <Wide>
          <table>
            <thead>
              <tr>
                <th>where</th>
                <th>metric</th>
                <th class="right">value</th>
                <th class="right">median of {data.series[0].peer_count} peers</th>
                <th>how far</th>
                <th>evidence</th>
              </tr>
            </thead>
            <tbody>
              {data.series.map((s, i) => (
                <>
                  <tr
                    key={i}
                    data-row
                    tabIndex={0}
                    onKeyDown={(e) => {
                      if (e.key === 'Enter' && s.node) go(['pivot'], { ...query, node: s.node });
                    }}
                  >
                    <td>
                      {s.node ? (
                        <a tabIndex={-1} href={href(['pivot'], { ...query, node: s.node })}>
                          {s.node}
                        </a>
                      ) : (
                        (s.pod_uid ?? 'the run')
                      )}{' '}
                      {s.gpu && (
                        <span class="faint nowrap" title={s.gpu}>
                          GPU {gpuName(s.gpu)}
                        </span>
                      )}{' '}
                      {s.rank !== null && <span class="faint">rank {s.rank}</span>}
                    </td>
                    <td>
                      <span class="metric-name">{s.metric}</span> <span class="faint">{s.family}</span>
                    </td>
                    <td class="right num nowrap">
                      <strong>{number(s.value)}</strong> <span class="faint">{s.unit}</span>
                    </td>
                    <td class="right num">{number(s.median)}</td>
                    <td class="nowrap">
                      <Tone kind="warning">
                        <Far z={s.z} />
                      </Tone>
                      {s.by_time_only && <span class="faint"> by time only</span>}
                    </td>
                    <td class="nowrap">
                      <button
                        type="button"
                        class="button small"
                        aria-expanded={plotted === i}
                        onClick={() => setPlotted(plotted === i ? -1 : i)}
                      >
                        Plot
                      </button>{' '}
                      {s.digest && (
                        <button
                          type="button"
                          class="button small"
                          aria-expanded={opened === i}
                          onClick={() => setOpened(opened === i ? -1 : i)}
                        >
                          {opened === i ? 'Close' : 'Open the bytes'}
                        </button>
                      )}
                    </td>
                  </tr>
                  {plotted === i && (
                    <tr key={`${i}p`}>
                      <td colSpan={6}>
                        <RunSeries run={data.run_id} metric={s.metric} family={s.family} node={s.node} />
                      </td>
                    </tr>
                  )}
                  {opened === i && (
                    <tr key={`${i}b`}>
                      <td colSpan={6}>
                        <WholeFile digest={s.digest} find={s.gpu ?? s.node} />
                      </td>
                    </tr>
                  )}
                </>
              ))}
            </tbody>
          </table>
        </Wide>
      )}
    </Panel>
  );
}

function Requests({ rows }) {
  const [opened, setOpened] = useState(null);
  if (!rows?.length) return null;
  const columns = Object.keys(rows[0]).filter((c) => !/digest|pointer/.test(c));
  return (
    <Panel title="The slowest requests" flush>
      <Wide>
        <table>
          <thead>
            <tr>
              {columns.map((c) => (
                <th key={c}>{c.replaceAll('_', ' ')}</th>
              ))}
              <th>evidence</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, i) => (
              <>
                <tr key={i}>
                  {columns.map((c) => (
                    <td key={c} class="num">
                      {typeof row[c] === 'number' ? number(row[c]) : (row[c] ?? '–')}
                    </td>
                  ))}
                  <td>
                    {row.source_digest && (
                      <button
                        type="button"
                        class="button small"
                        aria-expanded={opened === i}
                        onClick={() => setOpened(opened === i ? null : i)}
                      >
                        Open the bytes
                      </button>
                    )}
                  </td>
                </tr>
                {opened === i && (
                  <tr key={`${i}b`}>
                    <td colSpan={columns.length + 1}>
                      <WholeFile digest={row.source_digest} pointer={row.source_pointer} find={row.request_id} />
                    </td>
                  </tr>
                )}
              </>
            ))}
          </tbody>
        </table>
      </Wide>
    </Panel>
  );
}

const Incidents = ({ list }) =>
  list?.length > 0 && (
    <Panel title="Incidents meanwhile">
      <ul class="stack tight">
        {list.map((one) => (
          <li key={one.incident_id}>
            <a class="link" href={href(['incidents', one.incident_id])}>
              {one.headline}
            </a>{' '}
            <span class="faint">
              {pattern(one.pattern)}, <When at={one.first_seen} />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );

export default function Pivot({ query }) {
  useRows();
  const { run, against, point, node } = query;
  const asked = useAsk(run && against ? `runs/${part(run)}/pivot` : null, { base: against, point, node });
  return (
    <>
      <Crumbs of={[{ name: 'Runs', to: ['runs'] }, { name: run ?? 'no run', to: run && ['runs', run] }, { name: 'What got slower' }]} />
      <div class="head">
        <div class="grow">
          <h1>
            {run} against {against}
          </h1>
          <p>{node ? `Node ${node}` : point ? 'What stands out at this point' : 'Which points got slower'}</p>
        </div>
        <a class="button" href={href(['diagnose'], { run, against })}>
          Diagnose
        </a>
      </div>
      <div class="stack">
        <Steps query={query} />
        {!run || !against ? (
          <Empty title="A run and a base are needed">
            <p>Open them from the list of runs.</p>
          </Empty>
        ) : (
          <Answer of={asked} wait="Asking what got slower">
            {(data) =>
              data.points ? (
                <Points data={data} query={query} />
              ) : (
                <>
                  <Series data={data} query={query} />
                  <Requests rows={data.requests} />
                  <Incidents list={data.incidents} />
                </>
              )
            }
          </Answer>
        )}
      </div>
    </>
  );
}
