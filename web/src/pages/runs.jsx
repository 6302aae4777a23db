// SPDX-License-Identifier: Apache-2.0
// The runs, replicates together, newest first; what can be asked of each is one click away.
import '../style/runs.css';
import { useAsk } from '../base/api.js';
import { count, day } from '../base/format.js';
import { useRows } from '../base/keys.js';
import { go, href, set } from '../base/route.js';
import { groupsOf } from '../ui/choose.jsx';
import { Answer, Command, Empty, Tone, When, Wide } from '../ui/parts.jsx';

const CLASSES = { publication_grade: 'publication', realism_grade: 'realism' };

function Group({ group, older }) {
  const [first] = group.runs;
  const incidents = group.runs.reduce((sum, run) => sum + (run.incidents ?? 0), 0);
  return (
    <section class="panel">
      <header class="group-head">
        <h2>{group.isGroup ? group.group : first.run_id}</h2>
        <p class="faint">
          {first.name} · {count(group.runs.length, 'run')} · {day(first.started_at)}
        </p>
        {incidents > 0 && (
          <Tone kind="warning" tag>
            {count(incidents, 'incident')} meanwhile
          </Tone>
        )}
        <div class="row tight group-acts">
          {older && (
            <a class="button small" href={href(['compare'], { base: older.group, candidate: group.group })}>
              Compare with {older.group}
            </a>
          )}
          {older && (
            <a class="button small" href={href(['pivot'], { run: first.run_id, against: older.group })}>
              What got slower
            </a>
          )}
          <a class="button small" href={href(['report'], { base: older?.group ?? group.group, candidate: older ? group.group : '' })}>
            Report
          </a>
        </div>
      </header>
      <Wide>
        <table>
          <thead>
            <tr>
              <th>run</th>
              <th>started (UTC)</th>
              <th>status</th>
              <th>class</th>
              <th class="right">points</th>
              <th class="right">incidents</th>
              <th>may be published</th>
            </tr>
          </thead>
          <tbody>
            {group.runs.map((run) => (
              <tr
                key={run.run_id}
                data-row
                tabIndex={0}
                onKeyDown={(e) => {
                  if (e.key === 'Enter') go(['runs', run.run_id]);
                }}
              >
                <td>
                  <a class="mono" tabIndex={-1} href={href(['runs', run.run_id])}>
                    {run.run_id}
                  </a>
                </td>
                <td>
                  <When at={run.started_at} />
                </td>
                <td>
                  {run.status === 'succeeded' ? (
                    <Tone kind="good">{run.status}</Tone>
                  ) : (
                    <Tone kind="critical">{run.status ?? 'not known'}</Tone>
                  )}
                </td>
                <td>{CLASSES[run.benchmark_class] ?? 'no contract'}</td>
                <td class="right num">{run.points}</td>
                <td class="right num">{run.incidents || '–'}</td>
                <td>{run.publishable ? <Tone kind="good">yes</Tone> : <Tone kind="quiet">not yet</Tone>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </section>
  );
}

function List({ data, q }) {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const runs = data.runs.filter((run) =>
    words.every((word) =>
      `${run.run_id} ${run.name} ${run.replicate_group} ${run.benchmark_class} ${run.status}`.toLowerCase().includes(word),
    ),
  );
  const groups = groupsOf(runs);
  if (data.runs.length === 0) {
    return (
      <Empty title="No run so far">
        <p>
          A run is what a benchmark tool wrote, and the contract that says what was measured. The tutorial's runs come with the sources:
        </p>
        <Command>
          {
            'tracecore run add --contract examples/nightly/contract.yaml --replicate-group monday --run-id monday-1 --result examples/nightly/monday-1/*.json --telemetry examples/nightly/monday-1/dcgm.prom'
          }
        </Command>
      </Empty>
    );
  }
  if (groups.length === 0)
    return (
      <Empty title="Nothing fits">
        <p>No run has these words.</p>
      </Empty>
    );
  return (
    <div class="stack">
      {groups.map((group, i) => (
        <Group key={group.group} group={group} older={groups.slice(i + 1).find((other) => other.runs[0].name === group.runs[0].name)} />
      ))}
      {data.next && (
        <p class="faint">
          There are more: search by SQL at{' '}
          <a href={href(['ask'], { sql: 'SELECT run_id, name, started_at FROM benchmark_run_fact ORDER BY started_at DESC' })}>Ask</a>.
        </p>
      )}
    </div>
  );
}

export default function Runs({ query }) {
  useRows();
  const asked = useAsk('runs', { limit: 200 }, { every: 15000 });
  return (
    <>
      <div class="head">
        <div class="grow">
          <h1>Runs</h1>
          <p>What changed, and what proves it.</p>
        </div>
        <input
          class="field search"
          type="search"
          placeholder="Search: run, group, name"
          aria-label="Search"
          value={query.q ?? ''}
          onInput={(e) => set({ q: e.currentTarget.value })}
        />
        <a class="button" href={href(['compare'])}>
          Compare
        </a>
        <a class="button" href={href(['trend'])}>
          Trend
        </a>
      </div>
      <Answer of={asked} wait="Asking for runs">
        {(data) => <List data={data} q={query.q ?? ''} />}
      </Answer>
    </>
  );
}
