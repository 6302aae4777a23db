// SPDX-License-Identifier: Apache-2.0
// A report for one of the three audiences: the document that `tracecore report` writes, with every number's lineage.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import '../style/claims.css';
import { useAsk } from '../base/api.js';
import { number, ratio } from '../base/format.js';
import { href, set } from '../base/route.js';
import { Word } from '../ui/choose.jsx';
import { Answer, Command, Crumbs, Digest, Empty, Panel, Switch, Tone, Wide } from '../ui/parts.jsx';
import { Curves, Strip } from '../ui/strip.jsx';

const AUDIENCES = [
  ['engineering', 'Engineering'],
  ['product', 'Product'],
  ['partner', 'Partner'],
];

/** Ids of the numbers of a report that are published: only those have a page. */
const Published = createContext(new Set());

function Figure({ of }) {
  const published = useContext(Published);
  const says = of.kind === 'ratio' ? ratio(of.value) : `${number(of.value)}${of.unit ? ` ${of.unit}` : ''}`;
  const sure = of.interval ? `${number(of.interval.low)} to ${number(of.interval.high)} at ${of.interval.level}` : of.no_interval;
  const title = `${sure}; n ${of.n}; ${of.id}`;
  return published.has(of.id) ? (
    <a class="figure-number" href={href(['claims', of.id])} title={title}>
      {says}
    </a>
  ) : (
    <span class="figure-number" title={title}>
      {says}
    </span>
  );
}

const Spans = ({ of }) =>
  of.map((span, i) => {
    if (span.number) return <Figure key={i} of={span.number} />;
    if (span.strong !== undefined) return <strong key={i}>{span.strong}</strong>;
    return span.code !== undefined ? <code key={i}>{span.code}</code> : span.text;
  });

function Drawing({ plot }) {
  const unit = /\(([^)]*)\)$/.exec(plot.x ?? '')?.[1];
  const strip = plot.kind === 'strip';
  return (
    <figure>
      <h3>{plot.title}</h3>
      {strip ? (
        <Strip
          unit={unit}
          width={560}
          sides={plot.sides.map((s) => ({
            name: s.name,
            values: s.marks.map((m) => m.x),
            labels: s.marks.map((m) => m.label),
            median: s.median?.value,
            low: s.median?.interval?.low,
            high: s.median?.interval?.high,
          }))}
        />
      ) : (
        <Curves
          sides={plot.sides.map((s) => ({
            name: s.name,
            points: s.marks.map((m) => ({ x: m.x, y: m.y, low: m.low, high: m.high, label: m.label ?? '' })),
          }))}
          xName={plot.x ?? ''}
          yName={plot.y ?? ''}
        />
      )}
      <figcaption>{plot.describes}</figcaption>
    </figure>
  );
}

function Table({ table }) {
  return (
    <figure>
      <Wide>
        <table>
          <thead>
            <tr>
              {table.columns.map((c) => (
                <th key={c}>{c}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {table.rows.map((row, i) => (
              <tr key={i}>
                {row.map((cell, k) => (
                  <td key={k}>
                    <Spans of={cell} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
      <figcaption>{table.caption}</figcaption>
    </figure>
  );
}

/** Items that follow one another are one list. */
function gather(blocks) {
  const out = [];
  for (const block of blocks) {
    if (block.item && out.at(-1)?.items) out.at(-1).items.push(block.item);
    else out.push(block.item ? { items: [block.item] } : block);
  }
  return out;
}

function Block({ block }) {
  if (block.heading !== undefined) return block.level > 2 ? <h3>{block.heading}</h3> : <h2>{block.heading}</h2>;
  if (block.items)
    return (
      <ul>
        {block.items.map((item, i) => (
          <li key={i}>
            <Spans of={item} />
          </li>
        ))}
      </ul>
    );
  if (block.paragraph)
    return (
      <p>
        <Spans of={block.paragraph} />
      </p>
    );
  if (block.note)
    return (
      <p class="note">
        <Spans of={block.note} />
      </p>
    );
  if (block.command !== undefined) return <Command>{block.command}</Command>;
  if (block.table) return <Table table={block.table} />;
  return block.plot ? <Drawing plot={block.plot} /> : null;
}

function Paper({ data }) {
  const published = new Set(data.lineage.filter((n) => n.published).map((n) => n.id));
  return (
    <Published.Provider value={published}>
      <div class="stack">
        <article class="panel paper">
          <div class="body">
            <h1>{data.title}</h1>
            <p class="says">
              <Spans of={data.answer} />
            </p>
            <dl class="facts">
              {data.facts.map((f) => (
                <>
                  <dt key={f.name}>{f.name}</dt>
                  <dd>
                    <Spans of={f.says} />
                  </dd>
                </>
              ))}
            </dl>
            {gather(data.blocks).map((block, i) => (
              <Block key={i} block={block} />
            ))}
          </div>
        </article>
        <Panel title="Lineage" says={`${data.lineage.length} numbers, each with its query`}>
          <Wide>
            <table>
              <thead>
                <tr>
                  <th>id</th>
                  <th>what</th>
                  <th>query</th>
                  <th>published</th>
                </tr>
              </thead>
              <tbody>
                {data.lineage.map((n) => (
                  <tr key={n.id}>
                    <td class="mono nowrap">{n.published ? <a href={href(['claims', n.id])}>{n.id}</a> : n.id}</td>
                    <td>{n.what}</td>
                    <td>
                      <a href={href(['ask'], { sql: n.query, run: 1 })}>
                        <Digest of={n.query_spec_digest} />
                      </a>
                    </td>
                    <td>{n.published ? <Tone kind="good">yes</Tone> : <Tone kind="quiet">no</Tone>}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Wide>
        </Panel>
      </div>
    </Published.Provider>
  );
}

export default function Report({ query }) {
  const runs = useAsk('runs', { limit: 200 });
  const { base, candidate } = query;
  const audience = query.for || 'engineering';
  const asked = useAsk(base ? 'report' : null, { runs: candidate || base, base: candidate ? base : '', for: audience });
  const list = runs.data?.runs ?? [];
  return (
    <>
      <Crumbs of={[{ name: 'Claims', to: ['claims'] }, { name: 'Report' }]} />
      <div class="head">
        <div class="grow">
          <h1>Report</h1>
        </div>
        <Word label="base, or the only one" value={base} runs={list} hint="monday" onSet={(to) => set({ base: to })} />
        <Word label="candidate" value={candidate} runs={list} hint="tuesday" onSet={(to) => set({ candidate: to })} />
        <Switch label="For whom" value={audience} options={AUDIENCES} onChange={(to) => set({ for: to })} />
      </div>
      {!base ? (
        <Empty title="Choose runs">
          <p>A run or a group, or two of them.</p>
        </Empty>
      ) : (
        <Answer of={asked} wait="Writing the report">
          {(data) => <Paper data={data} />}
        </Answer>
      )}
    </>
  );
}
