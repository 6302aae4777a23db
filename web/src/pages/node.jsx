// SPDX-License-Identifier: Apache-2.0
// A node: what is wrong with it now, its GPUs, and its history ("the third time in 30 days").
import '../style/fleet.css';
import { part, useAsk } from '../base/api.js';
import { count, gpuName, millis, ordinal, pattern } from '../base/format.js';
import { STATES } from '../base/fleet.js';
import { useRows } from '../base/keys.js';
import { href } from '../base/route.js';
import { Answer, Crumbs, Panel, Severity, Tone, When, Wide } from '../ui/parts.jsx';

const DAYS = 30;
const DAY_MS = 864e5;

function Days({ history, now }) {
  const days = Array.from({ length: DAYS }, () => 0);
  for (const one of history) {
    const ago = Math.floor((now - millis(one.first_seen)) / DAY_MS);
    if (ago >= 0 && ago < DAYS) days[DAYS - 1 - ago]++;
  }
  const most = Math.max(1, ...days);
  return (
    <div class="days" role="img" aria-label={`Incidents of the last ${DAYS} days, oldest first: ${days.join(', ')}`}>
      {days.map((n, i) => (
        <i
          key={i}
          class={n ? (n > 1 ? 'bad' : 'some') : ''}
          style={{ height: `${n ? 12 + (n / most) * 32 : 3}px` }}
          title={`${DAYS - 1 - i} days before: ${n}`}
        />
      ))}
    </div>
  );
}

/** Each incident with how often its pattern had come by then. */
function numbered(list) {
  const seen = new Map();
  return [...list]
    .sort((a, b) => millis(a.first_seen) - millis(b.first_seen))
    .map((one) => {
      seen.set(one.pattern, (seen.get(one.pattern) ?? 0) + 1);
      return { ...one, nth: seen.get(one.pattern) };
    })
    .reverse();
}

function History({ list }) {
  return (
    <Wide>
      <table>
        <thead>
          <tr>
            <th>when (UTC)</th>
            <th>state</th>
            <th>what</th>
            <th>how often</th>
          </tr>
        </thead>
        <tbody>
          {numbered(list).map((one) => (
            <tr key={one.incident_id}>
              <td>
                <When at={one.first_seen} />
              </td>
              <td>{one.resolved ? <Tone kind="good">resolved</Tone> : <Tone kind="warning">not resolved</Tone>}</td>
              <td>
                <a href={href(['incidents', one.incident_id])}>{one.headline}</a>
                <br />
                {one.severity && <Severity of={one.severity} open={!one.resolved} />} <span class="faint">{pattern(one.pattern)}</span>
                {one.remediation && !one.resolved && <p class="soft clip2">{one.remediation}</p>}
              </td>
              <td class="nowrap">
                {one.nth > 1 ? <Tone kind="warning">the {ordinal(one.nth)} time</Tone> : <span class="faint">the first time</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

function Again({ patterns }) {
  const often = patterns.filter((one) => one.last_30_days > 1);
  if (often.length === 0) return null;
  return (
    <Panel title="Again">
      <ul class="stack tight">
        {often.map((one) => (
          <li key={one.pattern} class="again">
            <Tone kind="warning">
              {pattern(one.pattern)}: the {ordinal(one.last_30_days)} time in {DAYS} days
            </Tone>
          </li>
        ))}
      </ul>
      <p class="soft">What comes back after its remedy is a fault of the part: think of returning it.</p>
    </Panel>
  );
}

function Gpu({ gpu, at }) {
  const { tone, word } = STATES[gpu.state] ?? STATES.ok;
  const where = [gpuName(gpu.uuid), gpu.pod && `pod ${gpu.pod}`, gpu.rank !== null && gpu.rank !== undefined && `rank ${gpu.rank}`]
    .filter(Boolean)
    .join(', ');
  return (
    <div class={`gpu is-${tone}`}>
      <span class="row apart tight">
        <strong>GPU {gpu.index ?? at}</strong>
        <Tone kind={tone}>{word}</Tone>
      </span>
      {gpu.pci && <code class="faint">{gpu.pci}</code>}
      <span class="faint" title={gpu.uuid}>
        {where}
      </span>
      {gpu.incident_ids?.slice(0, 2).map((id) => (
        <a key={id} class="link" href={href(['incidents', id])}>
          incident {id.slice(0, 8)}
        </a>
      ))}
    </div>
  );
}

function Body({ node, past }) {
  const { tone, word } = STATES[node.state] ?? STATES.ok;
  const open = node.incidents.filter((one) => one.status === 'open').sort((a, b) => b.root - a.root);
  const isRecent = (one) => Date.now() - millis(one.first_seen) < DAYS * DAY_MS;
  const history = past?.incidents ?? [];
  return (
    <div class="stack">
      <div class="head">
        <div class="grow">
          <h1>{node.node}</h1>
          <p>
            {[node.rack && `rack ${node.rack}`, node.zone, count(node.gpus.length, 'GPU')].filter(Boolean).join(' · ')}
            {node.last_seen && (
              <>
                {' '}
                · heard of <When at={node.last_seen} since />
              </>
            )}
          </p>
        </div>
        <Tone kind={tone} tag>
          {node.open ? `${word}: ${count(node.open, 'open incident')}` : word}
        </Tone>
      </div>
      {past && <Again patterns={past.patterns} />}
      {open.length > 0 && (
        <Panel title="Now" flush>
          <ul class="trouble">
            {open.map((one) => (
              <li key={one.incident_id}>
                <a data-row href={href(['incidents', one.incident_id])}>
                  <span class="row tight">
                    <Severity of={one.severity} />
                    <span class="faint">{pattern(one.pattern)}</span>
                  </span>
                  <strong>{one.headline}</strong>
                </a>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {node.gpus.length > 0 && (
        <Panel title="GPUs">
          <div class="gpus">
            {node.gpus.map((gpu, i) => (
              <Gpu key={gpu.uuid ?? i} gpu={gpu} at={i} />
            ))}
          </div>
        </Panel>
      )}
      {past && (
        <Panel
          title="History"
          says={`${count(history.length, 'incident')} told${history.some(isRecent) ? `; bars are the last ${DAYS} days` : ''}`}
          flush
        >
          {history.some(isRecent) && (
            <div class="pad-days">
              <Days history={history} now={Date.now()} />
            </div>
          )}
          {history.length > 0 && <History list={history} />}
        </Panel>
      )}
    </div>
  );
}

export default function NodePage({ parts }) {
  useRows();
  const [name] = parts;
  const asked = useAsk(`fleet/nodes/${part(name)}`, {}, { every: 10000 });
  const past = useAsk(`fleet/nodes/${part(name)}/history`, { limit: 500 });
  return (
    <>
      <Crumbs of={[{ name: 'Fleet', to: ['fleet'] }, { name }]} />
      <Answer of={asked} wait="Asking for the node">
        {(node) => <Body node={node} past={past.data} />}
      </Answer>
    </>
  );
}
