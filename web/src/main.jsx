// SPDX-License-Identifier: Apache-2.0
// The shell: navigation, theme, help. The incidents are in the first file; other pages come when they are opened.
import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import './style/main.css';
import { useKeys } from './base/keys.js';
import { startLive, useLive } from './base/live.js';
import { go, href, useRoute } from './base/route.js';
import { stories } from './base/story.js';
import { Incidents } from './pages/incidents.jsx';
import { Trouble, Wait } from './ui/parts.jsx';
import { Help, Nav } from './ui/shell.jsx';
import { useTheme } from './ui/theme.js';

const PAGES = {
  incidents: { more: () => import('./pages/incident.jsx') },
  fleet: { load: () => import('./pages/fleet.jsx'), more: () => import('./pages/node.jsx') },
  runs: { load: () => import('./pages/runs.jsx'), more: () => import('./pages/run.jsx') },
  compare: { load: () => import('./pages/compare.jsx') },
  trend: { load: () => import('./pages/trend.jsx') },
  pivot: { load: () => import('./pages/pivot.jsx') },
  diagnose: { load: () => import('./pages/diagnose.jsx') },
  claims: { load: () => import('./pages/claims.jsx'), more: () => import('./pages/claim.jsx') },
  report: { load: () => import('./pages/report.jsx') },
  ask: { load: () => import('./pages/ask.jsx') },
};
const SECTION = { compare: 'runs', trend: 'runs', pivot: 'runs', diagnose: 'runs', report: 'claims' };

/** A page whose code comes when it is opened. */
function Lazy({ load, ...props }) {
  const [page, setPage] = useState(null);
  useEffect(() => {
    let here = true;
    setPage(null);
    load().then(
      (module) => here && setPage(() => module.default),
      () => here && setPage(() => () => <Trouble error={{ status: 0, message: '' }} again={() => location.reload()} />),
    );
    return () => {
      here = false;
    };
  }, [load]);
  const Page = page;
  return Page ? <Page {...props} /> : <Wait />;
}

function Page({ route, live }) {
  const [name = 'incidents', ...rest] = route.parts;
  const page = PAGES[name];
  if (!page) return <Trouble error={{ status: 404, message: 'There is no such page.' }} />;
  const load = rest.length ? (page.more ?? page.load) : page.load;
  if (!load) return <Incidents live={live} query={route.query} />;
  return <Lazy key={`${name}/${rest.length ? 'one' : ''}`} load={load} parts={rest} query={route.query} live={live} />;
}

function App() {
  const route = useRoute();
  const live = useLive();
  const [theme, setTheme] = useTheme();
  const [help, setHelp] = useState(false);
  const main = useRef(null);
  const chord = useRef(0);
  const section = route.parts[0] ?? 'incidents';
  useEffect(() => {
    scrollTo(0, 0);
  }, [route.parts.join('/')]);
  useKeys((key) => {
    const places = { i: 'incidents', f: 'fleet', r: 'runs', c: 'claims', a: 'ask' };
    if (chord.current && places[key]) {
      chord.current = 0;
      go([places[key]]);
      return true;
    }
    chord.current = 0;
    if (key === 'g') chord.current = 1;
    else if (key === '?') setHelp(true);
    else if (key === '/') document.querySelector('input[type=search], textarea')?.focus();
    else if (key === 'Escape' && help) setHelp(false);
    else if (key === 'Escape' && route.parts.length > 1) go([SECTION[section] ?? section]);
    else if (key === 'Escape' && SECTION[section]) go([SECTION[section]]);
    else return false;
    return true;
  });
  const open = stories([...live.incidents.values()]).filter((story) => story.open).length;
  useEffect(() => {
    document.title = `${open ? `(${open}) ` : ''}${section} · tracecore`;
  }, [open, section]);
  return (
    <div class="shell">
      <a class="skip" href={href(route.parts, route.query)} onClick={() => main.current.focus()}>
        To the content
      </a>
      <Nav
        section={SECTION[section] ?? section}
        open={open}
        link={live.link}
        theme={theme}
        setTheme={setTheme}
        help={() => setHelp(true)}
      />
      <main class="main" ref={main} tabIndex={-1}>
        <Page route={route} live={live} />
      </main>
      {help && <Help close={() => setHelp(false)} />}
    </div>
  );
}

startLive().then(() => render(<App />, document.getElementById('app')));
