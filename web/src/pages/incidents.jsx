// SPDX-License-Identifier: Apache-2.0
// The first page: what is wrong now, the worst first, and what to do about each without opening it.
import '../style/incidents.css';
import { ago, count, pattern, span } from '../base/format.js';
import { useRows } from '../base/keys.js';
import { href, set } from '../base/route.js';
import { SEVERITIES, matches, placesOf, stories } from '../base/story.js';
import { Command, Empty, Place, Severity, Switch, Tone, Trouble, Wait } from '../ui/parts.jsx';

const FILTERS = [
  ['open', 'Open'],
  ['resolved', 'Resolved'],
  ['all', 'All'],
];
const ROWS_MAX = 200;

function Summary({ all }) {
  const open = all.filter((story) => story.open);
  if (open.length === 0) return <Tone kind="good">Nothing is open</Tone>;
  return (
    <span class="row">
      {SEVERITIES.map((severity) => [severity, open.filter((story) => story.severity === severity).length])
        .filter(([, n]) => n > 0)
        .map(([severity, n]) => (
          <Tone key={severity} kind={severity}>
            {n} {severity}
          </Tone>
        ))}
    </span>
  );
}

/** How often each pattern is among what is open: a filter by one click. */
function Patterns({ all, chosen }) {
  const counts = new Map();
  for (const story of all) {
    const name = story.root['pattern.name'];
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  if (counts.size < 2) return null;
  return (
    <div class="row tight" role="group" aria-label="Patterns">
      {[...counts]
        .sort((a, b) => b[1] - a[1])
        .slice(0, 8)
        .map(([name, n]) => (
          <button
            type="button"
            key={name}
            class="chip pick"
            aria-pressed={chosen === name}
            onClick={() => set({ pattern: chosen === name ? '' : name })}
          >
            {pattern(name)}
            <b class="num">{n}</b>
          </button>
        ))}
    </div>
  );
}

function Row({ story, fresh }) {
  const { root, verdicts } = story;
  const followed = verdicts.length - 1;
  const isFresh = verdicts.some((verdict) => fresh.has(verdict.incident_id));
  return (
    <li>
      <a
        class={`story is-${story.open ? story.severity : 'done'}${isFresh ? ' fresh' : ''}`}
        data-row
        href={href(['incidents', root.incident_id])}
      >
        <span class="story-kind">
          <Severity of={story.severity} open={story.open} />
          <span class="faint num">{ago(new Date(story.last || Date.now()).toISOString())}</span>
        </span>
        <span class="story-says">
          <strong>{root.headline}</strong>
          {story.open && root.remediation && (
            <span class="todo">
              <b>To do</b>
              {root.remediation}
            </span>
          )}
          <span class="row tight where">
            {placesOf(root)
              .slice(0, 4)
              .map((place) => (
                <Place key={place.kind} place={{ ...place, to: null }} />
              ))}
            <span class="faint">{pattern(root['pattern.name'])}</span>
            {followed > 0 && <span class="faint">· {count(followed, 'more that followed', 'more that followed')}</span>}
            {!story.open && !Number.isNaN(story.first) && <span class="faint">· lasted {span(story.last - story.first)}</span>}
          </span>
        </span>
      </a>
    </li>
  );
}

function Nothing({ live, filtered }) {
  if (filtered) {
    return (
      <Empty title="Nothing fits">
        <p>No story has these words. Fewer words, or the filter All, show more.</p>
        <a class="button" href={href(['incidents'], { show: 'all' })}>
          Show all
        </a>
      </Empty>
    );
  }
  return (
    <Empty title={live.incidents.size ? 'Nothing is open' : 'No incident so far'}>
      <p>
        Telemetry is judged as it arrives. Is nothing sent yet? A collector's OTLP exporter points to port 4317 (gRPC) or 4318 (HTTP) of
        this machine, or a file is uploaded:
      </p>
      <Command>{`curl -H 'Content-Type: application/octet-stream' --data-binary @dmesg.txt '${location.origin}/api/v1/upload?name=dmesg-gpu-07.txt'`}</Command>
      <Command>./dev run --demo</Command>
    </Empty>
  );
}

export function Incidents({ live, query }) {
  useRows();
  const { show = 'open', q = '', pattern: only } = query;
  const all = stories([...live.incidents.values()]);
  const open = all.filter((story) => story.open);
  const shown = all.filter(
    (story) => (show === 'all' || story.open === (show === 'open')) && matches(story, q) && (!only || story.root['pattern.name'] === only),
  );
  if (live.link === 'starting' && all.length === 0) return <Wait>Asking for incidents</Wait>;
  return (
    <>
      <div class="head">
        <div class="grow">
          <h1>Incidents</h1>
          <p>
            <Summary all={all} />
          </p>
        </div>
        <input
          class="field search"
          type="search"
          placeholder="Search: node, pod, pattern, words"
          aria-label="Search"
          value={q}
          onInput={(e) => set({ q: e.currentTarget.value })}
        />
        <Switch label="Which" value={show} options={FILTERS} onChange={(to) => set({ show: to === 'open' ? '' : to })} />
      </div>
      <div class="stack">
        {live.error && <Trouble error={live.error} />}
        <Patterns all={show === 'open' ? open : all} chosen={only} />
        {shown.length > 0 && (
          <ul class="stories panel">
            {shown.slice(0, ROWS_MAX).map((story) => (
              <Row key={story.id} story={story} fresh={live.fresh} />
            ))}
          </ul>
        )}
        {shown.length > ROWS_MAX && (
          <p class="faint">
            The first {ROWS_MAX} of {shown.length}: search to see others.
          </p>
        )}
        {shown.length === 0 && !live.error && <Nothing live={live} filtered={Boolean(q || only)} />}
      </div>
    </>
  );
}
