// SPDX-License-Identifier: Apache-2.0
// The incidents as they are now: a list once, then what changes by server-sent events. They are read with fetch and
// not with EventSource, which cannot send a token. Where there is no stream, the list is asked for again.
import { useEffect, useState } from 'preact/hooks';
import { address, ask, headers, onToken } from './api.js';

// The first page is small and shown at once (index.html has it on its way already); what detection keeps is bounded, and so is this.
const FIRST_PAGE = 10;
const PAGE = 500;
const PAGES_MAX = 10;
const RETRY_MS = [1000, 2000, 5000, 10000];
const POLL_MS = 10000;
const FIRST_WAIT_MS = 100;

const state = { incidents: new Map(), link: 'starting', error: null, at: 0, fresh: new Set() };
const listeners = new Set();
let told = 0;

function tellNow() {
  told = 0;
  for (const listener of listeners) listener({ ...state });
}

/** A storm of events is drawn once a frame. */
function tell() {
  told ||= requestAnimationFrame(tellNow);
}

/** What is there is on the screen: what comes next must not hold it up. */
const painted = () =>
  new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, 500); // a page in the background is not drawn
  });

function keep(verdict) {
  if (!verdict?.incident_id) return;
  const before = state.incidents.get(verdict.incident_id);
  state.incidents.set(verdict.incident_id, { ...before, ...verdict });
}

async function list() {
  const seen = new Map();
  let next;
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer = await ask('incidents', { limit: page ? PAGE : FIRST_PAGE, cursor: next });
    for (const verdict of answer.incidents) seen.set(verdict.incident_id, verdict);
    next = answer.next;
    if (page === 0 && state.incidents.size === 0) {
      state.incidents = new Map(seen);
      tellNow();
      await painted();
    }
    if (!next) break;
  }
  state.incidents = seen;
  state.at = Date.now();
  state.error = null;
  tell();
}

/** Calls back with { id, event, data } for each event of a stream of text, until it ends. */
export async function readEvents(body, each) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    let end;
    while ((end = text.search(/\r?\n\r?\n/)) >= 0) {
      const block = text.slice(0, end);
      text = text.slice(end).replace(/^\r?\n\r?\n/, '');
      const event = { id: '', event: 'message', data: '' };
      for (const line of block.split(/\r?\n/)) {
        const [, field, rest] = /^([^:]*):? ?(.*)$/.exec(line);
        if (field === 'data') event.data += event.data ? `\n${rest}` : rest;
        else if (field === 'id' || field === 'event') event[field] = rest;
      }
      each(event);
    }
  }
}

let last = '';
let run = 0;
const wait = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

function take(event) {
  if (event.id) last = event.id;
  if (!event.data) return;
  let said;
  try {
    said = JSON.parse(event.data);
  } catch {
    return;
  }
  const verdict = said.verdict ?? said.incident ?? said;
  if (!verdict.incident_id) return;
  keep(verdict);
  state.fresh.add(verdict.incident_id);
  setTimeout(() => state.fresh.delete(verdict.incident_id), 4000);
  state.at = Date.now();
  tell();
}

async function follow(mine) {
  const response = await fetch(address('events'), {
    headers: headers({ Accept: 'text/event-stream', ...(last ? { 'Last-Event-ID': last } : {}) }),
    cache: 'no-store',
  });
  if (!response.ok || !response.body) return false;
  state.link = 'live';
  tell();
  await readEvents(response.body, (event) => {
    if (mine === run) take(event);
  });
  return true;
}

async function go() {
  const mine = ++run;
  for (let failures = 0; mine === run;) {
    try {
      await list();
      failures = 0;
      if (!(await follow(mine))) {
        state.link = 'polling';
        tell();
        await wait(POLL_MS);
      }
    } catch (error) {
      if (mine !== run) return;
      state.error = error;
      state.link = error.status === 401 || error.status === 403 ? 'refused' : 'down';
      tell();
      if (state.link === 'refused') return;
      await wait(RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]);
    }
  }
}

/** Called once, before anything is drawn. Resolves when there is something to show, or a moment later: a page that is
 * drawn once is there sooner than one that is drawn empty first. */
export function startLive() {
  onToken(() => {
    last = '';
    go();
  });
  return new Promise((resolve) => {
    const first = () => {
      listeners.delete(first);
      resolve();
    };
    listeners.add(first);
    setTimeout(first, FIRST_WAIT_MS);
    go();
  });
}

export function useLive() {
  const [now, setNow] = useState({ ...state });
  useEffect(() => {
    listeners.add(setNow);
    setNow({ ...state });
    return () => listeners.delete(setNow);
  }, []);
  return now;
}
