// SPDX-License-Identifier: Apache-2.0
// The address holds the state of the page: #/runs/tuesday-1?against=monday. What is behind the # never
// reaches a server, and any static server serves it.
import { useEffect, useState } from 'preact/hooks';

export function parse(hash) {
  const text = hash.replace(/^#\/?/, '');
  const cut = text.indexOf('?');
  const path = cut < 0 ? text : text.slice(0, cut);
  const decode = (word) => {
    try {
      return decodeURIComponent(word);
    } catch {
      return word;
    }
  };
  return {
    parts: path.split('/').filter(Boolean).map(decode),
    query: Object.fromEntries(new URLSearchParams(cut < 0 ? '' : text.slice(cut + 1))),
  };
}

/** href(['runs', id], { against }) is an address; what is empty is left out. */
export function href(parts, query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const search = new URLSearchParams(kept).toString();
  return `#/${parts.map(encodeURIComponent).join('/')}${search ? `?${search}` : ''}`;
}

export function go(parts, query, { replace = false } = {}) {
  const to = href(parts, query);
  if (replace) {
    history.replaceState(null, '', to);
    dispatchEvent(new HashChangeEvent('hashchange'));
  } else {
    location.hash = to;
  }
}

/** The same page with some of its state changed. */
export function set(changes, options = { replace: true }) {
  const { parts, query } = parse(location.hash);
  go(parts, { ...query, ...changes }, options);
}

export function useRoute() {
  const [route, setRoute] = useState(() => parse(location.hash));
  useEffect(() => {
    const changed = () => setRoute(parse(location.hash));
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return route;
}
