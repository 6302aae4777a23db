// SPDX-License-Identifier: Apache-2.0
// The small parts that every page uses.
import { useState } from 'preact/hooks';
import { ago, digest as shortDigest, stamp } from '../base/format.js';
import { href } from '../base/route.js';
import { setToken, token } from '../base/api.js';

const SHAPES = {
  critical: 'M6 0 12 6 6 12 0 6Z',
  warning: 'M6 .5 12 11.5H0Z',
  info: 'M6 1a5 5 0 1 1 0 10A5 5 0 0 1 6 1Z',
  good: 'M1 6.6 4.4 10 11 2.4 9.6 1.2 4.3 7.3 2.3 5.3Z',
  quiet: 'M2 5h8v2H2Z',
};

/** A word with a colour and a shape of its own. */
export function Tone({ kind, children, tag = false }) {
  return (
    <span class={`tone is-${kind}${tag ? ' tag' : ''}`}>
      <svg viewBox="0 0 12 12" aria-hidden="true">
        <path d={SHAPES[kind] ?? SHAPES.quiet} />
      </svg>
      {children}
    </span>
  );
}

export const Severity = ({ of, open = true, tag }) =>
  open ? (
    <Tone kind={of} tag={tag}>
      {of}
    </Tone>
  ) : (
    <Tone kind="good" tag={tag}>
      resolved
    </Tone>
  );

export function When({ at, since = false }) {
  if (!at) return <span class="faint">no time</span>;
  return (
    <time class="num nowrap" dateTime={at} title={`${stamp(at)} UTC`}>
      {since ? ago(at) : stamp(at)}
    </time>
  );
}

export function Place({ place }) {
  const inner = (
    <>
      <b>{place.kind}</b>
      {place.name}
    </>
  );
  return place.to ? (
    <a class="chip" href={href(place.to)}>
      {inner}
    </a>
  ) : (
    <span class="chip">{inner}</span>
  );
}

export function Copy({ text, label = 'Copy' }) {
  const [done, setDone] = useState(false);
  const copy = async (event) => {
    event.preventDefault();
    event.stopPropagation();
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
      setTimeout(() => setDone(false), 1200);
    } catch {
      /* without the right to, the text can still be marked */
    }
  };
  return (
    <button type="button" class="button small plain" onClick={copy}>
      {done ? 'Copied' : label}
    </button>
  );
}

export const Command = ({ children }) => (
  <div class="command">
    {children}
    <Copy text={String(children)} />
  </div>
);
export const Digest = ({ of }) => <code title={of}>{shortDigest(of)}</code>;

export function Crumbs({ of }) {
  return (
    <nav class="crumbs" aria-label="Where you are">
      {of.map((step, i) => (
        <>
          {i > 0 && <span aria-hidden="true">/</span>}
          {step.to ? <a href={href(step.to, step.query)}>{step.name}</a> : <span>{step.name}</span>}
        </>
      ))}
    </nav>
  );
}

export function Panel({ title, says, children, flush = false, actions, id }) {
  return (
    <section class="panel" id={id}>
      {title && (
        <header>
          <h2>{title}</h2>
          {says && <p>{says}</p>}
          {actions && (
            <div class="row grow apart">
              <span />
              {actions}
            </div>
          )}
        </header>
      )}
      <div class={flush ? 'flush' : 'body'}>{children}</div>
    </section>
  );
}

export const Empty = ({ title, children }) => (
  <div class="panel empty">
    <h2>{title}</h2>
    {children}
  </div>
);
export const Wait = ({ children = 'Loading' }) => (
  <p class="wait" role="status">
    {children}
  </p>
);

function TokenForm() {
  const [text, setText] = useState('');
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        setToken(text.trim());
      }}
    >
      <input
        class="field grow"
        type="password"
        autocomplete="off"
        aria-label="Token"
        placeholder="token"
        value={text}
        onInput={(e) => setText(e.currentTarget.value)}
      />
      <button class="button main-one" type="submit">
        Use it
      </button>
      {token() && (
        <button class="button" type="button" onClick={() => setToken('')}>
          Forget the one in use
        </button>
      )}
    </form>
  );
}

/** What went wrong and what to do about it. */
export function Trouble({ error, again }) {
  if (error.status === 401 || (error.status === 403 && /scope|token/i.test(error.message))) {
    return (
      <div class="panel empty">
        <h2>A token is needed</h2>
        <p>
          {error.message}. The daemon's configuration has <code>auth.tokens</code>; one with the scope <code>read</code> will do. It is kept
          until this tab is closed, and sent to this daemon only.
        </p>
        <TokenForm />
      </div>
    );
  }
  return (
    <div class="problem stack tight" role="alert">
      <h2>{error.status === 0 ? 'The daemon does not answer' : error.status === 404 ? 'Not found' : 'That did not work'}</h2>
      <p>{error.status === 0 ? 'Is tracecore serve running, and does this machine reach it? What is shown may be old.' : error.message}</p>
      {error.parameter && (
        <p>
          The parameter is <code>{error.parameter}</code>.
        </p>
      )}
      {again && (
        <div>
          <button type="button" class="button" onClick={again}>
            Try again
          </button>
        </div>
      )}
    </div>
  );
}

/** The three states of a question: an error, waiting, and its answer. */
export function Answer({ of, children, wait }) {
  if (of.data === undefined && of.error) return <Trouble error={of.error} again={of.again} />;
  if (of.data === undefined) return <Wait>{wait}</Wait>;
  return (
    <>
      {of.error && <Trouble error={of.error} again={of.again} />}
      {children(of.data)}
    </>
  );
}

/** What may be wider than the page scrolls by itself, by the keyboard too. */
export const Wide = ({ children, kind = 'table-wrap', label = 'Table' }) => (
  <div class={kind} tabIndex={0} role="group" aria-label={label}>
    {children}
  </div>
);

/** What is asked of a run or a number: met or not, and why. */
export function Conditions({ list }) {
  const kind = { met: 'good', not_met: 'critical' };
  return (
    <dl class="conditions">
      {list.map((one) => (
        <>
          <dt key={one.condition}>
            <Tone kind={kind[one.state] ?? 'quiet'}>{one.condition.replaceAll('_', ' ')}</Tone>
          </dt>
          <dd class="soft">
            {one.state === 'met' ? '' : `${one.state.replaceAll('_', ' ')}: `}
            {one.why}
          </dd>
        </>
      ))}
    </dl>
  );
}

export function Switch({ label, value, options, onChange }) {
  return (
    <div class="switch" role="group" aria-label={label}>
      {options.map(([id, name]) => (
        <button type="button" key={id} aria-pressed={id === value} onClick={() => onChange(id)}>
          {name}
        </button>
      ))}
    </div>
  );
}
