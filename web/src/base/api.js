// SPDX-License-Identifier: Apache-2.0
// Questions to /api/v1. A token lives as long as the tab, and is sent as a header only.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

const TOKEN = 'tracecore.token';
const listeners = new Set();

export const token = () => sessionStorage.getItem(TOKEN) ?? '';
export function setToken(value) {
  if (value) sessionStorage.setItem(TOKEN, value);
  else sessionStorage.removeItem(TOKEN);
  for (const listener of listeners) listener();
}
/** Calls back when the token changed: whoever was refused asks again. */
export function onToken(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** What went wrong, in the words of the daemon (RFC 9457) where it said some. */
export class Problem extends Error {
  constructor(status, body, path) {
    super(body?.detail ?? body?.error ?? body?.title ?? (status ? `the daemon answered ${status}` : 'the daemon does not answer'));
    this.status = status;
    this.parameter = body?.parameter;
    this.path = path;
  }
}

export function headers(more = {}) {
  const key = token();
  return key ? { ...more, Authorization: `Bearer ${key}` } : more;
}

/** A part of a path: a colon, as in a digest, may stay. */
export const part = (text) => encodeURIComponent(text).replaceAll('%3A', ':');

export function address(path, params = {}) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== '') search.append(name, String(one));
    }
  }
  const text = search.toString();
  return `/api/v1/${path}${text ? `?${text}` : ''}`;
}

async function answerOf(response, path) {
  if (response.ok) return response;
  const body = await response.json().catch(() => null);
  throw new Problem(response.status, body, path);
}

export async function request(path, params, options = {}) {
  const url = address(path, params);
  let response;
  try {
    response = await fetch(url, { ...options, headers: headers(options.headers) });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Problem(0, null, url);
  }
  return answerOf(response, url);
}

export const ask = async (path, params, options) => (await request(path, params, options)).json();
export const post = (path, body, options) =>
  ask(
    path,
    {},
    {
      ...options,
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'Content-Type': 'application/json' },
    },
  );

/**
 * A question as the state of a component: { data, error, busy, again }. With path null nothing is asked. An answer
 * stays while the next one is on its way, unless it was to another path.
 */
export function useAsk(path, params = {}, { every = 0 } = {}) {
  const [state, setState] = useState({ busy: path !== null });
  const url = path === null ? null : address(path, params);
  const asked = useRef(null);
  const load = useCallback(() => {
    asked.current?.abort();
    if (url === null) {
      setState({ busy: false });
      return;
    }
    const controller = new AbortController();
    asked.current = controller;
    setState((old) => (old.path === path ? { ...old, busy: true } : { busy: true, path }));
    ask(path, params, { signal: controller.signal }).then(
      (data) => setState({ data, path, url, busy: false }),
      (error) => {
        if (error.name !== 'AbortError') setState((old) => ({ ...old, error, busy: false }));
      },
    );
  }, [url]);
  useEffect(() => {
    load();
    const off = onToken(load);
    const timer = every
      ? setInterval(() => {
          if (!document.hidden) load();
        }, every)
      : 0;
    return () => {
      off();
      clearInterval(timer);
      asked.current?.abort();
    };
  }, [load, every]);
  return { ...state, again: load };
}
