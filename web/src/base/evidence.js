// SPDX-License-Identifier: Apache-2.0
// The bytes behind a claim: the daemon quotes them with the lines around, after it checked the digest of the whole.
import { ask, part, request } from './api.js';

const CONTEXT = 4;
const CITED_MAX = 65536;
// A file that is searched for a word is fetched as a whole, up to this size.
const SEARCH_MAX = 4 << 20;

/** What a verdict cites: { kind, lines, rows, size, ... } */
export const readCited = (raw, signal) =>
  ask(`evidence/${part(raw.digest)}/view`, { at: `${raw.offset},${Math.min(raw.length, CITED_MAX)}`, context: CONTEXT }, { signal });

/** The beginning of a file, or the lines of it that hold a word. */
export async function readFile(digest, word, signal) {
  const view = await ask(`evidence/${part(digest)}/view`, { context: CONTEXT }, { signal });
  if (!word || view.kind !== 'text' || view.size > SEARCH_MAX) return { view, found: [] };
  const text = await (await request(`evidence/${part(digest)}`, {}, { signal })).text();
  const found = text
    .split('\n')
    .map((line, i) => ({ line, number: i + 1 }))
    .filter(({ line }) => line.includes(word));
  return { view, found };
}

/** 32 digits as 16 pairs. */
export const pairs = (hex) => hex.replace(/../g, '$& ').trim();
