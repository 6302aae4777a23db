// SPDX-License-Identifier: Apache-2.0
// SQL over the warehouse, read only: the tables at hand, rows as a table and as a plot.
import { useEffect, useRef, useState } from 'preact/hooks';
import '../style/ask.css';
import { post, useAsk } from '../base/api.js';
import { count, number } from '../base/format.js';
import { go } from '../base/route.js';
import { Command, Panel, Switch, Trouble, Wait, Wide } from '../ui/parts.jsx';
import { Plot } from '../ui/plot.jsx';

const EXAMPLES = [
  ['Latest verdicts', 'SELECT told_at, pattern, severity, headline FROM verdict_fact ORDER BY told_at DESC LIMIT 50'],
  [
    'Nodes with most incidents',
    'SELECT node_name, count(DISTINCT incident_id) AS incidents FROM verdict_fact WHERE node_name IS NOT NULL GROUP BY ALL ORDER BY incidents DESC LIMIT 20',
  ],
  [
    'Throughput of each run',
    'SELECT r.run_id, s.concurrency, s.output_token_throughput, s.e2e_p99_ms FROM serving_outcome_fact s JOIN benchmark_run_fact r USING (run_id) ORDER BY r.started_at',
  ],
  [
    'GPU temperature by minute',
    "SELECT window_start, max(max) AS hottest FROM telemetry_slice_fact WHERE metric = 'gpu_temperature' GROUP BY ALL ORDER BY window_start",
  ],
];
const ROWS_SHOWN = 500;

const show = (value) =>
  value === null ? (
    <span class="faint">NULL</span>
  ) : typeof value === 'number' ? (
    number(value)
  ) : typeof value === 'object' ? (
    JSON.stringify(value)
  ) : (
    String(value)
  );

/** A plot where there is one to make: the first column of times or numbers is the axis, other numbers are series. */
function Drawing({ names, rows }) {
  const isTime = (v) => typeof v === 'string' && /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/.test(v);
  const column = (i) => rows.map((row) => row[i]);
  const numeric = names
    .map((_, i) => i)
    .filter((i) => column(i).some((v) => typeof v === 'number') && column(i).every((v) => v === null || typeof v === 'number'));
  const time = names.findIndex((_, i) => rows.length && column(i).every((v) => isTime(v)));
  const series = numeric.slice(0, 8);
  if (series.length === 0 || rows.length < 2) return <p class="soft">A plot needs two rows and a column of numbers.</p>;
  if (time >= 0) {
    const sorted = [...rows].sort((a, b) => (a[time] < b[time] ? -1 : 1));
    return (
      <Plot
        time
        x={sorted.map((row) => Date.parse(row[time]) / 1000)}
        series={series.map((i) => ({ name: names[i], values: sorted.map((row) => row[i]) }))}
      />
    );
  }
  const label = names.findIndex((_, i) => !numeric.includes(i));
  return (
    <Plot
      x={rows.map((_, i) => i)}
      names={rows.map((row, i) => String(label >= 0 ? row[label] : i))}
      series={series.map((i) => ({ name: names[i], values: column(i) }))}
    />
  );
}

function Result({ data }) {
  const names = data.columns.map((column) => column.name);
  const { rows } = data;
  const [form, setForm] = useState('table');
  return (
    <Panel
      title={count(rows.length, 'row')}
      says={data.truncated ? 'There are more: the limit of rows was reached.' : undefined}
      flush
      actions={
        <Switch
          label="Show as"
          value={form}
          options={[
            ['table', 'Table'],
            ['plot', 'Plot'],
          ]}
          onChange={setForm}
        />
      }
    >
      {form === 'plot' ? (
        <div class="pad">
          <Drawing names={names} rows={rows} />
        </div>
      ) : (
        <Wide kind="table-wrap result" label="Rows">
          <table>
            <thead>
              <tr>
                {names.map((n, k) => (
                  <th key={n} class={typeof rows[0]?.[k] === 'number' ? 'right' : ''}>
                    {n}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, ROWS_SHOWN).map((row, i) => (
                <tr key={i}>
                  {row.map((value, k) => (
                    <td key={k} class={typeof value === 'number' ? 'right num' : ''}>
                      {show(value)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Wide>
      )}
    </Panel>
  );
}

function Tables({ insert }) {
  const asked = useAsk('tables');
  const [opened, setOpened] = useState('');
  if (!asked.data) return asked.error ? <Trouble error={asked.error} again={asked.again} /> : <Wait />;
  return (
    <ul class="tables">
      {asked.data.tables.map((table) => (
        <li key={table.table}>
          <button
            type="button"
            class="table-name"
            aria-expanded={opened === table.table}
            onClick={() => setOpened(opened === table.table ? '' : table.table)}
          >
            <code>{table.table}</code>
            <span class="faint num">{table.columns.length}</span>
          </button>
          {opened === table.table && (
            <div class="cols">
              <p class="soft">A row is {table.grain}.</p>
              {table.columns.map((c) => (
                <button
                  type="button"
                  key={c.name}
                  class="chip"
                  title={[c.help, c.unit].filter(Boolean).join(', ')}
                  onClick={() => insert(c.name)}
                >
                  {c.name}
                  <b>{c.type}</b>
                </button>
              ))}
            </div>
          )}
        </li>
      ))}
    </ul>
  );
}

export default function Ask({ query }) {
  const [text, setText] = useState(query.sql ?? EXAMPLES[0][1]);
  const [state, setState] = useState({});
  const area = useRef(null);
  const asked = useRef(null);
  const run = async (sql) => {
    asked.current?.abort();
    const controller = new AbortController();
    asked.current = controller;
    setState({ busy: true });
    try {
      setState({ data: await post('sql', { sql }, { signal: controller.signal }) });
    } catch (error) {
      if (error.name !== 'AbortError') setState({ error });
    }
  };
  useEffect(() => {
    if (query.sql) setText(query.sql);
    if (query.sql && query.run) run(query.sql);
    return () => asked.current?.abort();
  }, [query.sql, query.run]);
  const submit = () => {
    if (query.sql === text && query.run) run(text);
    else go(['ask'], { sql: text, run: 1 });
  };
  const insert = (word) => {
    const { selectionStart: from, selectionEnd: to } = area.current;
    setText(`${text.slice(0, from)}${word}${text.slice(to)}`);
    area.current.focus();
  };
  return (
    <>
      <div class="head">
        <div class="grow">
          <h1>Ask</h1>
          <p>SQL over the tables of the warehouse. Reading only; the address holds the query.</p>
        </div>
      </div>
      <div class="ask">
        <div class="stack">
          <form
            class="panel query"
            onSubmit={(e) => {
              e.preventDefault();
              submit();
            }}
          >
            <textarea
              ref={area}
              class="mono"
              spellcheck={false}
              aria-label="SQL"
              rows={6}
              value={text}
              onInput={(e) => setText(e.currentTarget.value)}
              onKeyDown={(e) => {
                if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) submit();
              }}
            />
            <div class="row apart">
              <div class="row tight">
                {EXAMPLES.map(([name, sql]) => (
                  <button type="button" key={name} class="button small" onClick={() => go(['ask'], { sql, run: 1 })}>
                    {name}
                  </button>
                ))}
              </div>
              <button type="submit" class="button main-one">
                Run <span class="faint-on">Ctrl Enter</span>
              </button>
            </div>
          </form>
          {state.busy && <Wait>Asking</Wait>}
          {state.error && <Trouble error={state.error} />}
          {state.data && <Result data={state.data} />}
          {!state.data && !state.busy && !state.error && <p class="soft">The same on the command line: </p>}
          {!state.data && !state.busy && !state.error && <Command>{`tracecore sql "${text}"`}</Command>}
        </div>
        <Panel title="Tables">
          <Tables insert={insert} />
        </Panel>
      </div>
    </>
  );
}
