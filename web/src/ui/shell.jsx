// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef } from 'preact/hooks';
import { href } from '../base/route.js';

const ICONS = {
  incidents: 'M12 3 2.5 20h19L12 3Zm0 7v4m0 3v.01',
  fleet: 'M3 4h7v7H3zM14 4h7v7h-7zM3 15h7v5H3zM14 15h7v5h-7z',
  runs: 'M4 20V10m5.5 10V4M15 20v-7m5 7V7',
  claims: 'M12 3 4 6v6c0 4.5 3.4 7.6 8 9 4.6-1.4 8-4.5 8-9V6l-8-3Zm-3.5 9 2.5 2.5 4.5-5',
  ask: 'M4 6h16M4 12h10M4 18h7m6-3v.01M17 12a2 2 0 1 1 2 2c-1 0-2 .7-2 2',
};
const PLACES = [
  ['incidents', 'Incidents'],
  ['fleet', 'Fleet'],
  ['runs', 'Runs'],
  ['claims', 'Claims'],
  ['ask', 'Ask'],
];
const LINKS = {
  starting: 'connecting',
  live: 'live',
  polling: 'asks every 10 s',
  down: 'no connection',
  refused: 'token needed',
};

export function Nav({ section, open, link, theme, setTheme, help }) {
  const other = theme === 'dark' ? 'light' : 'dark';
  return (
    <nav class="side" aria-label="Pages">
      <a class="brand" href={href(['incidents'])}>
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <path class="curve" d="M3 20h7l3-12 5 17 4-10h7" />
        </svg>
        tracecore
      </a>
      {PLACES.map(([id, name]) => (
        <a key={id} class="place" href={href([id])} aria-current={id === section ? 'page' : undefined}>
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <path d={ICONS[id]} />
          </svg>
          {name}
          {id === 'incidents' && open > 0 && (
            <span class="badge num">
              {open}
              <span class="hidden-words"> open</span>
            </span>
          )}
        </a>
      ))}
      <div class="foot">
        <span class="said" role="status">
          <span class={`dot ${link}`} />
          {LINKS[link]}
        </span>
        <div class="row tight">
          <button type="button" class="button small" onClick={() => setTheme(other)} title={`Show it ${other}`}>
            {other === 'light' ? 'Light' : 'Dark'}
          </button>
          <button type="button" class="button small" onClick={help} title="Keys" aria-label="Keys">
            ?
          </button>
        </div>
      </div>
    </nav>
  );
}

const KEYS = [
  ['j  k', 'next row, the one before'],
  ['Enter', 'open it'],
  ['/', 'search, or the query'],
  ['Esc', 'back; out of a field'],
  ['g i', 'incidents'],
  ['g f', 'fleet'],
  ['g r', 'runs'],
  ['g c', 'claims'],
  ['g a', 'ask'],
  ['← → ↑ ↓', 'in the heat map of the fleet'],
  ['?', 'this list'],
];

export function Help({ close }) {
  const ref = useRef(null);
  useEffect(() => {
    ref.current.showModal();
  }, []);
  return (
    <dialog ref={ref} onClose={close} aria-labelledby="help-title">
      <div class="stack">
        <h2 id="help-title">Keys</h2>
        <dl class="facts">
          {KEYS.map(([key, what]) => (
            <>
              <dt key={key}>
                <kbd>{key}</kbd>
              </dt>
              <dd>{what}</dd>
            </>
          ))}
        </dl>
        <p class="soft">The address of a page holds its state: send it to somebody, and they see the same.</p>
        <div>
          <button type="button" class="button main-one" onClick={() => ref.current.close()}>
            Close
          </button>
        </div>
      </div>
    </dialog>
  );
}
