// SPDX-License-Identifier: Apache-2.0
// A node: what is wrong with it now, its GPUs, and its history ("the third time this month").
import '../style/fleet.css';
import { useMemo } from 'preact/hooks';
import { part, useAsk } from '../base/api.js';
import { count, gpuName, millis, ordinal, pattern } from '../base/format.js';
import { nodesOf } from '../base/fleet.js';
import { useRows } from '../base/keys.js';
import { href } from '../base/route.js';
import { isOpen, nodeOf } from '../base/story.js';
import { Answer, Crumbs, Panel, Severity, Tone, When } from '../ui/parts.jsx';

const DAYS = 30;
const DAY_MS = 864e5;

/** "the third time this month", for each pattern that came more than once. */
function again(history, now) {
  const times = new Map();
  for (const one of history) {
    if (now - millis(one.first_seen) > DAYS * DAY_MS) continue;
    times.set(one.pattern, (times.get(one.pattern) ?? 0) + 1);
  }
  return [...times].filter(([, n]) => n > 1).sort((a, b) => b[1] - a[1]);
}

function Days({ history, now }) {
  const days = Array.from({ length: DAYS }, () => 0);
  for (const one of history) {
    const ago = Math.floor((now - millis(one.first_seen)) / DAY_MS);
    if (ago >= 0 && ago < DAYS) days[DAYS - 1 - ago]++;
  }
  const most = Math.max(1, ...days);
  return <div class="days" role="img" aria-label={`Incidents of the last ${DAYS} days, oldest first: ${days.join(', ')}`}>{days.map((n, i) => <i key={i} class={n ? (n > 1 ? 'bad' : 'some') : ''} style={{ height: `${n ? 12 + (n / most) * 32 : 3}px` }} title={`${DAYS - 1 - i} days before: ${n}`} />)}</div>;
}

function History({ list }) {
  const seen = new Map();
  const rows = [...list].sort((a, b) => millis(a.first_seen) - millis(b.first_seen)).map((one) => {
    seen.set(one.pattern, (seen.get(one.pattern) ?? 0) + 1);
    return { ...one, nth: seen.get(one.pattern) };
  }).reverse();
  return (
    <div class="table-wrap"><table>
      <thead><tr><th>when (UTC)</th><th>state</th><th>what</th><th>how often</th></tr></thead>
      <tbody>{rows.map((one) => <tr key={one.incident_id}><td><When at={one.first_seen} /></td><td><Severity of={one.severity ?? 'info'} open={one.status !== 'resolved'} /></td><td><a href={href(['incidents', one.incident_id])}>{one.headline}</a><br /><span class="faint">{pattern(one.pattern)}</span></td><td class="nowrap">{one.nth > 1 ? <Tone kind="warning">the {ordinal(one.nth)} time</Tone> : <span class="faint">the first time</span>}</td></tr>)}</tbody>
    </table></div>
  );
}

const same = (verdict) => ({ incident_id: verdict.incident_id, pattern: verdict['pattern.name'], severity: verdict.severity, status: verdict.status, headline: verdict.headline, first_seen: verdict.first_seen });

function Body({ name, node, live, past }) {
  const here = [...live.incidents.values()].filter((v) => nodeOf(v) === name);
  const open = here.filter(isOpen);
  const history = useMemo(() => [...new Map([...(past ?? []).map((one) => ({ ...one, pattern: one.pattern ?? one['pattern.name'] })), ...here.map(same)].map((one) => [one.incident_id, one])).values()], [past, live.at]);
  const now = Math.max(Date.now() - DAYS * DAY_MS, ...history.map((one) => millis(one.first_seen) || 0), 0) || Date.now();
  const often = again(history, now);
  return (
    <div class="stack">
      <div class="head"><div class="grow"><h1>{name}</h1><p>{[node?.rack, node && count(node.gpus.length, 'GPU'), ...Object.values(node?.raw?.labels ?? {})].filter(Boolean).join(' · ')}</p></div>{open.length ? <Tone kind={node?.state ?? open[0].severity} tag>{count(open.length, 'open incident')}</Tone> : <Tone kind="good" tag>no open incident</Tone>}</div>
      {often.length > 0 && <Panel title="Again"><ul class="stack tight">{often.map(([name_, n]) => <li key={name_} class="again"><Tone kind="warning">{pattern(name_)}: the {ordinal(n)} time in {DAYS} days</Tone></li>)}</ul><p class="soft">A fault that comes back after the remedy is one of the hardware: think of returning the part.</p></Panel>}
      {open.length > 0 && <Panel title="Now"><ul class="stack tight">{open.map((v) => <li key={v.incident_id}><a data-row class="link" href={href(['incidents', v.incident_id])}>{v.headline}</a><p class="soft">{v.remediation}</p></li>)}</ul></Panel>}
      {node?.gpus.length > 0 && <Panel title="GPUs"><div class="gpus">{node.gpus.map((gpu, i) => <div key={gpu.uuid ?? i} class={`gpu is-${gpu.state}`}><span class="row apart tight"><strong>GPU {gpu.index ?? i}</strong><Tone kind={gpu.state}>{gpu.state === 'good' ? 'no open incident' : gpu.state}</Tone></span><code class="faint">{gpu.pci ?? ''}</code><span class="faint" title={gpu.uuid}>{gpuName(gpu.uuid) ?? ''}{gpu.pod ? `, pod ${gpu.pod}` : ''}{gpu.rank !== undefined && gpu.rank !== null ? `, rank ${gpu.rank}` : ''}</span></div>)}</div></Panel>}
      <Panel title="History" says={`${count(history.length, 'incident')} known; bars are the last ${DAYS} days`} flush><div class="pad-days"><Days history={history} now={now} /></div>{history.length > 0 && <History list={history} />}</Panel>
    </div>
  );
}

export default function NodePage({ parts, live }) {
  useRows();
  const [name] = parts;
  const asked = useAsk(`fleet/${part(name)}`);
  const past = useAsk(`fleet/${part(name)}/history`, { limit: 500 });
  return (
    <>
      <Crumbs of={[{ name: 'Fleet', to: ['fleet'] }, { name }]} />
      <Answer of={asked} wait="Asking for the node">
        {(data) => <Body name={name} node={nodesOf({ nodes: [data.node?.name ? data.node : data] }, live.incidents)[0]} live={live} past={past.data?.incidents ?? past.data?.history ?? []} />}
      </Answer>
    </>
  );
}
