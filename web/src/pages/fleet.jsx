// SPDX-License-Identifier: Apache-2.0
// The fleet as a heat map on a canvas: a rack is a block, a node a tile, a GPU a cell of it. The nodes that need
// somebody are listed in words beside it.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import '../style/fleet.css';
import { useAsk } from '../base/api.js';
import { count, number } from '../base/format.js';
import { useKeys, useRows } from '../base/keys.js';
import { go, href, set } from '../base/route.js';
import { drawFleet, layOut } from '../ui/heatmap.js';
import { Answer, Command, Empty, Panel, Tone } from '../ui/parts.jsx';
import { useTheme } from '../ui/theme.js';
import { nodesOf, STATES } from '../base/fleet.js';

const LISTED = 60;

function Map({ nodes, chosen, onChoose, found }) {
  const canvas = useRef(null);
  const box = useRef(null);
  const [width, setWidth] = useState(0);
  const [theme] = useTheme();
  const [over, setOver] = useState(null);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const plan = useMemo(() => (width ? layOut(nodes, width) : null), [nodes, width]);
  useEffect(() => {
    if (plan) drawFleet(canvas.current, plan, { chosen, found });
  }, [plan, theme, chosen, found]);
  const at = (event) => {
    const rect = canvas.current.getBoundingClientRect();
    return plan?.at(event.clientX - rect.left, event.clientY - rect.top);
  };
  useKeys((key) => {
    if (!/^Arrow/.test(key) || !plan) return false;
    onChoose(plan.step(chosen, key)?.name);
    return true;
  });
  return (
    <div ref={box}>
      <canvas
        ref={canvas}
        class="heat"
        role="img"
        aria-label={`Heat map of ${nodes.length} nodes; those that need somebody are listed beside it`}
        onMouseMove={(e) => setOver(at(e)?.name ?? null)}
        onMouseLeave={() => setOver(null)}
        onClick={(e) => {
          const node = at(e);
          if (node) go(['fleet', node.name]);
        }}
      />
      <p class="under num">
        {(over ?? chosen) ? (
          <Under node={nodes.find((n) => n.name === (over ?? chosen))} />
        ) : (
          <span class="faint">Point at a node, or use the arrow keys; a click or Enter opens it.</span>
        )}
      </p>
    </div>
  );
}

function Under({ node }) {
  if (!node) return null;
  return (
    <>
      <strong>{node.name}</strong> <Tone kind={STATES[node.state].tone}>{STATES[node.state].word}</Tone>{' '}
      <span class="soft">
        {[node.rack, node.zone].filter(Boolean).map((place) => `${place}, `)}
        {count(node.gpus.length, 'GPU')}
        {node.open ? `, ${count(node.open, 'open incident')}` : ''} {node.headline}
      </span>
    </>
  );
}

function Legend({ nodes }) {
  return (
    <div class="row legend-row">
      {Object.entries(STATES).map(([state, { word, tone }]) => {
        const n = nodes.filter((node) => node.state === state).length;
        return (
          n > 0 && (
            <button type="button" key={state} class="button small plain" onClick={() => set({ q: word })}>
              <Tone kind={tone}>
                {number(n)} {word}
              </Tone>
            </button>
          )
        );
      })}
    </div>
  );
}

function Body({ data, query, live }) {
  const nodes = useMemo(() => nodesOf(data, live.incidents), [data, live.at]);
  const words = (query.q ?? '').toLowerCase();
  const fits = (node) =>
    !words || `${node.name} ${node.rack ?? ''} ${node.zone ?? ''} ${STATES[node.state].word} ${node.headline}`.toLowerCase().includes(words);
  const found = useMemo(() => (words ? new Set(nodes.filter(fits).map((n) => n.name)) : null), [nodes, words]);
  const gpus = nodes.reduce((sum, node) => sum + node.gpus.length, 0);
  const trouble = nodes
    .filter((node) => (words ? fits(node) : node.state !== 'ok'))
    .sort((a, b) => STATES[a.state].weight - STATES[b.state].weight || b.open - a.open);
  useKeys((key) => {
    if (key !== 'Enter' || !query.node || document.activeElement?.closest('[data-row]')) return false;
    go(['fleet', query.node]);
    return true;
  });
  if (nodes.length === 0) {
    return (
      <Empty title="No node is known yet">
        <p>Nodes are learnt from telemetry that names them: kernel logs, Kubernetes events and objects, scrapes of exporters.</p>
        <Command>{`tracecore simulate --nodes 32 --otlp http://${location.hostname}:4318 --now --upload ${location.origin}`}</Command>
      </Empty>
    );
  }
  return (
    <div class="fleet">
      <Panel
        title={`${count(nodes.length, 'node')}, ${count(gpus, 'GPU')}`}
        says={
          new Set(nodes.map((n) => n.rack).filter(Boolean)).size
            ? 'A block is a rack, a tile a node, a cell a GPU.'
            : 'A tile is a node, a cell a GPU.'
        }
      >
        <Legend nodes={nodes} />
        <Map nodes={nodes} chosen={query.node} found={found} onChoose={(node) => set({ node })} />
      </Panel>
      <Panel title={words ? 'Found' : 'Needs somebody'} says={trouble.length ? undefined : 'Nothing.'} flush>
        <ul class="trouble">
          {trouble.slice(0, LISTED).map((node) => (
            <li key={node.name}>
              <a data-row href={href(['fleet', node.name])}>
                <span class="row apart tight">
                  <strong>{node.name}</strong>
                  <Tone kind={STATES[node.state].tone}>{STATES[node.state].word}</Tone>
                </span>
                <span class="soft clip2">{node.headline || (node.rack ?? '')}</span>
              </a>
            </li>
          ))}
        </ul>
        {trouble.length > LISTED && <p class="wait faint">and {trouble.length - LISTED} more</p>}
      </Panel>
    </div>
  );
}

export default function Fleet({ query, live }) {
  useRows();
  const asked = useAsk('fleet', {}, { every: 5000 });
  return (
    <>
      <div class="head">
        <div class="grow">
          <h1>Fleet</h1>
          <p>Every node and GPU that telemetry named.</p>
        </div>
        <input
          class="field search"
          type="search"
          placeholder="Search: node, rack, zone, state"
          aria-label="Search"
          value={query.q ?? ''}
          onInput={(e) => set({ q: e.currentTarget.value })}
        />
      </div>
      <Answer of={asked} wait="Asking for the fleet">
        {(data) => <Body data={data} query={query} live={live} />}
      </Answer>
    </>
  );
}
