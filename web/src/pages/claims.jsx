// SPDX-License-Identifier: Apache-2.0
// The published numbers, and the way to the reports.
import '../style/claims.css';
import { useAsk } from '../base/api.js';
import { number } from '../base/format.js';
import { useRows } from '../base/keys.js';
import { go, href, set } from '../base/route.js';
import { groupsOf } from '../ui/choose.jsx';
import { Answer, Command, Empty, Panel, Tone, When, Wide } from '../ui/parts.jsx';

const AUDIENCES = [
  ['engineering', 'the hypothesis, the repro, the next experiment'],
  ['product', 'the impact, how sure it is, the next step'],
  ['partner', 'what is ours, what is upstream, the smallest change'],
];

function Numbers({ data, q }) {
  const fits = ({ number_id: id, claim }) =>
    `${id} ${claim?.metric} ${claim?.point} ${claim?.report_row}`.toLowerCase().includes(q.toLowerCase());
  const list = data.numbers.filter(fits);
  if (data.numbers.length === 0) {
    return (
      <Empty title="No number is published yet">
        <p>
          Exploring is free, claiming is not: a number is published when its runs meet what their contract asks for. What is missing is
          named.
        </p>
        <Command>tracecore publish monday --metric output_token_throughput --point concurrency=64</Command>
      </Empty>
    );
  }
  return (
    <Panel title="Published numbers" says="Each can be walked back to its bytes." flush>
      <Wide>
        <table>
          <thead>
            <tr>
              <th>number</th>
              <th>what</th>
              <th class="right">value</th>
              <th class="right">interval</th>
              <th class="right">runs</th>
              <th>published (UTC)</th>
              <th>state</th>
            </tr>
          </thead>
          <tbody>
            {list.map(({ number_id: id, published_at: at, retracted_at: retracted, reason, by, claim }) => (
              <tr
                key={id}
                data-row
                tabIndex={0}
                onKeyDown={(e) => {
                  if (e.key === 'Enter') go(['claims', id]);
                }}
              >
                <td>
                  <a class="mono nowrap" tabIndex={-1} href={href(['claims', id])}>
                    {id}
                  </a>
                </td>
                <td>{claim?.report_row}</td>
                <td class="right num nowrap">
                  <strong>{number(claim?.value)}</strong> <span class="faint">{claim?.unit}</span>
                </td>
                <td class="right num nowrap">
                  {number(claim?.confidence?.low)} to {number(claim?.confidence?.high)}
                </td>
                <td class="right num">{claim?.runs?.length}</td>
                <td>
                  <When at={at} />
                  <br />
                  <span class="faint">by {by}</span>
                </td>
                <td>{retracted ? <Tone kind="critical">retracted: {reason}</Tone> : <Tone kind="info">open it to verify</Tone>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </Panel>
  );
}

function Reports() {
  const asked = useAsk('runs', { limit: 200 });
  const groups = groupsOf(asked.data?.runs ?? []);
  if (groups.length === 0) return null;
  const [latest] = groups;
  const older = groups.slice(1).find((g) => g.runs[0].name === latest.runs[0].name);
  const pair = older ? { base: older.group, candidate: latest.group } : { base: latest.group };
  return (
    <Panel title="Reports" says={older ? `${latest.group} against ${older.group}` : latest.group}>
      <div class="audiences">
        {AUDIENCES.map(([id, says]) => (
          <a key={id} class="audience" href={href(['report'], { ...pair, for: id })}>
            <strong>For {id}</strong>
            <span class="soft">{says}</span>
          </a>
        ))}
      </div>
    </Panel>
  );
}

export default function Claims({ query }) {
  useRows();
  const asked = useAsk('numbers', { limit: 200 });
  return (
    <>
      <div class="head">
        <div class="grow">
          <h1>Claims</h1>
          <p>Numbers that were published, and what proves each.</p>
        </div>
        <input
          class="field search"
          type="search"
          placeholder="Search: number, metric, point"
          aria-label="Search"
          value={query.q ?? ''}
          onInput={(e) => set({ q: e.currentTarget.value })}
        />
      </div>
      <div class="stack">
        <Answer of={asked} wait="Asking for numbers">
          {(data) => <Numbers data={data} q={query.q ?? ''} />}
        </Answer>
        <Reports />
      </div>
    </>
  );
}
