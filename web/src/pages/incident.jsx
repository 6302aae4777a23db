// SPDX-License-Identifier: Apache-2.0
// One incident as a story: what, where, what to do first; then why, the signals on one axis of time, what followed,
// and each claim down to its bytes.
import { useEffect, useState } from 'preact/hooks';
import '../style/incident.css';
import { part, useAsk } from '../base/api.js';
import { clock, count, day, millis, pattern, span } from '../base/format.js';
import { useRows } from '../base/keys.js';
import { href, set } from '../base/route.js';
import { isOpen, nodeOf, placesOf, stories } from '../base/story.js';
import { Graph } from '../ui/graph.jsx';
import { Bytes } from '../ui/bytes.jsx';
import { Timeline } from '../ui/timeline.jsx';
import { Answer, Copy, Crumbs, Panel, Place, Severity, Trouble, Wait, When } from '../ui/parts.jsx';

const WHY_LINES = 3;
const EVIDENCE_SHOWN = 12;

/** What a verdict says beyond the parts that all have. */
function details(verdict) {
  const prefix = `tracecore.alert.${verdict['pattern.name']}.`;
  return Object.entries(verdict)
    .filter(([key, value]) => key.startsWith(prefix) && typeof value !== 'object')
    .map(([key, value]) => [key.slice(prefix.length).replaceAll('_', ' '), String(value)]);
}

function Head({ story, verdict }) {
  const places = placesOf(verdict);
  return (
    <header class={`lead is-${story.open ? story.severity : 'good'}`}>
      <div class="row tight">
        <Severity of={verdict.severity} open={isOpen(verdict)} tag />
        <span class="soft">{pattern(verdict['pattern.name'])}</span>
        <span class="faint">
          since <When at={verdict.first_seen} />
          {story.open ? '' : `, for ${span(story.last - story.first)}`}
        </span>
        {verdict.confidence && verdict.confidence !== 'full' && (
          <span class="chip">
            <b>confidence</b>
            {verdict.confidence}
          </span>
        )}
      </div>
      <h1>{verdict.headline}</h1>
      <div class="row tight">
        {places.map((place) => (
          <Place key={place.kind} place={place} />
        ))}
      </div>
    </header>
  );
}

function First({ story, verdict }) {
  if (!isOpen(verdict)) {
    return (
      <section class="first done">
        <h2>Nothing to do</h2>
        <p>It is over: it lasted {span(millis(verdict.last_seen) - millis(verdict.first_seen))}.</p>
      </section>
    );
  }
  return (
    <section class="first">
      <h2>Do this first</h2>
      <p>{verdict.remediation}</p>
      <div class="row tight">
        <Copy text={verdict.remediation} label="Copy" />
        <Copy text={location.href} label="Copy a link to this page" />
        {verdict !== story.root && (
          <a class="button small" href={href(['incidents', story.root.incident_id])}>
            The cause is another: open it
          </a>
        )}
      </div>
    </section>
  );
}

function Evidence({ item, at, opened, first, showWho }) {
  const open = opened === at;
  return (
    <li class={open ? 'open' : ''}>
      <button type="button" class="claim" data-row aria-expanded={open} onClick={() => set({ e: open ? '' : at })}>
        <span class="num faint nowrap">{item.time ? clock(item.time) : 'no time'}</span>
        <span class="chip">{item.kind.replaceAll('_', ' ')}</span>
        <span class="grow">
          {item.description}
          {showWho && <span class="faint"> · {pattern(item.who)}</span>}
        </span>
        <span class="faint num nowrap">{item.time && first ? `+${span(millis(item.time) - first)}` : ''}</span>
        <span class="twist" aria-hidden="true">
          {open ? '−' : '+'}
        </span>
      </button>
      {open &&
        (item.raw ? (
          <Bytes raw={item.raw} />
        ) : (
          <p class="soft">The bytes of this are no longer in the store, or it came from outside of it.</p>
        ))}
    </li>
  );
}

function Trail({ verdicts, opened, first }) {
  const [all, setAll] = useState(false);
  const items = verdicts.flatMap((v) =>
    (v.evidence_trail ?? []).map((e, i) => ({ ...e, who: v['pattern.name'], key: `${v.incident_id.slice(0, 8)}.${i}` })),
  );
  const at = items.findIndex((item) => item.key === opened);
  const shown = all || at >= EVIDENCE_SHOWN ? items : items.slice(0, EVIDENCE_SHOWN);
  if (items.length === 0) return <p class="soft">No evidence is listed.</p>;
  return (
    <>
      <ul class="claims">
        {shown.map((item) => (
          <Evidence key={item.key} item={item} at={item.key} opened={opened} first={first} showWho={verdicts.length > 1} />
        ))}
      </ul>
      {shown.length < items.length && (
        <button type="button" class="button" onClick={() => setAll(true)}>
          All {items.length}
        </button>
      )}
    </>
  );
}

/** "Third time this month": what else happened on the node. */
function Before({ node }) {
  const asked = useAsk(node ? `fleet/nodes/${part(node)}/history` : null, { limit: 200 });
  if (!asked.data) return null;
  const history = asked.data.incidents;
  if (history.length < 2) return null;
  return (
    <a class="chip" href={href(['fleet', node])}>
      <b>history</b>
      {count(history.length, 'incident')} on {node}
    </a>
  );
}

/** The metrics of the node at that time; the code that draws them comes after the story is there. */
function Metrics(props) {
  const [Series, setSeries] = useState(null);
  useEffect(() => {
    import('../ui/series.jsx').then(
      (module) => setSeries(() => module.NodeSeries),
      () => {},
    );
  }, []);
  return (
    Series && (
      <div class="metrics">
        <Series {...props} />
      </div>
    )
  );
}

function Body({ story, verdict, query }) {
  useRows();
  const [only, setOnly] = useState(false);
  const first = Number.isNaN(story.first) ? 0 : story.first;
  const chosen = only ? [verdict] : [verdict, ...story.verdicts.filter((v) => v !== verdict)];
  const facts = details(verdict);
  const trail = verdict.evidence_trail ?? [];
  return (
    <div class="stack">
      <Crumbs of={[{ name: 'Incidents', to: ['incidents'] }, { name: verdict.incident_id.slice(0, 8) }]} />
      <Head story={story} verdict={verdict} />
      <First story={story} verdict={verdict} />
      <div class="columns">
        <Panel title="Why">
          <ol class="why">
            {trail.slice(0, WHY_LINES).map((item, i) => (
              <li key={i}>
                <span class="num faint">{item.time ? clock(item.time) : ''}</span>
                <span>{item.description}</span>
              </li>
            ))}
          </ol>
          {(verdict.caused_by ?? []).map((cause) => (
            <p key={cause.incident_id} class="because">
              Follows from <a href={href(['incidents', cause.incident_id])}>{cause.incident_id.slice(0, 8)}</a>: {cause.why}
            </p>
          ))}
        </Panel>
        <Panel title="Facts">
          <dl class="facts">
            <dt>day</dt>
            <dd class="num">{day(verdict.first_seen)} UTC</dd>
            <dt>told</dt>
            <dd class="num">
              {verdict.detected_at
                ? `${clock(verdict.detected_at)}, ${span(millis(verdict.detected_at) - millis(verdict.first_seen))} after it began`
                : 'not known'}
            </dd>
            {verdict.discriminator && (
              <>
                <dt>kind</dt>
                <dd>{verdict.discriminator.replaceAll('_', ' ')}</dd>
              </>
            )}
            {facts.slice(0, 6).map(([name, value]) => (
              <>
                <dt key={name}>{name}</dt>
                <dd>{value}</dd>
              </>
            ))}
          </dl>
          <div class="row tight facts-foot">
            <Before node={nodeOf(verdict)} />
          </div>
        </Panel>
      </div>
      <Panel title="Signals of all places" says="One axis of time, UTC. A mark opens the bytes below.">
        <Timeline
          verdicts={story.verdicts}
          opened={query.e}
          onOpen={(key) => {
            set({ e: key });
            document.getElementById('evidence')?.scrollIntoView({ block: 'nearest' });
          }}
        />
        {nodeOf(verdict) && first > 0 && <Metrics node={nodeOf(verdict)} from={first} to={story.last} />}
      </Panel>
      {story.verdicts.length > 1 && (
        <Panel title="What followed" says="Causes at the left. Alike ones are folded.">
          <Graph verdicts={story.verdicts} chosen={verdict.incident_id} />
        </Panel>
      )}
      <Panel
        id="evidence"
        title="Evidence"
        says="Each line opens to the bytes that prove it."
        actions={
          story.verdicts.length > 1 && (
            <button type="button" class="button small" aria-pressed={only} onClick={() => setOnly(!only)}>
              {only ? 'Of the whole story' : 'Of this incident only'}
            </button>
          )
        }
      >
        <Trail verdicts={chosen} opened={query.e} first={first} />
      </Panel>
    </div>
  );
}

/** An incident that detection no longer keeps, as the warehouse has it: its last verdict, without the advice. */
function asVerdict(row) {
  const evidence = typeof row.evidence === 'string' ? JSON.parse(row.evidence) : (row.evidence ?? []);
  const known = {
    'pattern.name': row.pattern,
    incident_id: row.incident_id,
    status: row.status,
    severity: 'info',
    confidence: row.confidence,
    headline: row.headline,
    first_seen: row.first_seen,
    last_seen: row.told,
    detected_at: row.detected_at,
    'k8s.node.name': row.node_name,
    'k8s.namespace.name': row.pod_namespace,
    'k8s.pod.name': row.pod_name,
    'gpu.uuid': row.gpu_uuid,
    rank: row.rank_id,
    remediation: 'It is of the past: the warehouse keeps what was told, not the advice. The evidence is below.',
    evidence_trail: evidence.map((raw, i) => ({ kind: 'evidence', description: `Piece ${i + 1} of what it was told by`, raw })),
  };
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value !== null));
}

function Past({ id, query }) {
  const asked = useAsk('verdicts', { incident: id, limit: 1 });
  return (
    <Answer of={asked} wait="Asking the warehouse">
      {(data) => {
        if (data.verdicts.length === 0)
          return (
            <Trouble
              error={{ status: 404, message: `There is no incident ${id}, neither among those that detection keeps nor in the warehouse.` }}
            />
          );
        const [story] = stories([asVerdict(data.verdicts[0])]);
        return <Body story={story} verdict={story.root} query={query} />;
      }}
    </Answer>
  );
}

/** The story of an incident: from the list when it is there, else of the past. */
export default function Incident({ parts, query, live }) {
  const [id] = parts;
  const known = live.incidents.get(id);
  if (known) {
    const story = stories([...live.incidents.values()]).find((one) => one.verdicts.some((v) => v.incident_id === id));
    return <Body story={story} verdict={known} query={query} />;
  }
  if (live.link === 'starting') return <Wait>Asking for the incident</Wait>;
  return <Past id={id} query={query} />;
}
