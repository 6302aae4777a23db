// SPDX-License-Identifier: Apache-2.0
// Canonical JSON against Node's own: ECMAScript's number and string spelling is what RFC 8785 is
// defined by, and its sort of names compares UTF-16 code units.
//
//   node oracle.mjs FILTER [seed]
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';

const [filter, seedText] = process.argv.slice(2);
let state = BigInt(seedText ?? 8785);
const mask = (1n << 64n) - 1n;
function random() { // splitmix64
  state = (state + 0x9e3779b97f4a7c15n) & mask;
  let z = state;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask;
  return z ^ (z >> 31n);
}
const below = (n) => Number(random() % BigInt(n));

function ask(lines) {
  const done = spawnSync(filter, { input: lines.join('\n') + '\n', maxBuffer: 1 << 30 });
  assert.equal(done.status, 0, done.stderr?.toString());
  const out = done.stdout.toString().split('\n');
  assert.equal(out.pop(), '');
  assert.equal(out.length, lines.length);
  return out;
}

function canonical(value) {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return '[' + value.map(canonical).join(',') + ']';
  return '{' + Object.keys(value).sort().map((k) => JSON.stringify(k) + ':' + canonical(value[k])).join(',') + '}';
}

// ---- doubles
const view = new DataView(new ArrayBuffer(8));
const fromBits = (bits) => { view.setBigUint64(0, bits & mask); return view.getFloat64(0); };
const doubles = [];
const take = (d) => { if (Number.isFinite(d)) doubles.push(d); };
for (let i = 0; i < 120000; i++) take(fromBits(random()));
for (let e = 0n; e < 2047n; e++) { // every power of two and its neighbours: uneven gaps
  for (const d of [-2n, -1n, 0n, 1n, 2n]) take(fromBits((e << 52n) + d));
}
for (let i = 0n; i < 3000n; i++) take(fromBits(i)); // the smallest there are
for (let e = -330; e < 310; e++) {
  for (let d = 1; d < 10; d++) take(Number(`${d}e${e}`));
  for (let i = 0; i < 20; i++) take(Number(`${below(10)}.${random()}e${e}`));
  for (let i = 0; i < 20; i++) take(Number(`${below(1000)}e${e}`));
}
for (let i = 0; i < 20000; i++) take(below(2 ** 31) / 1000);
for (let i = 0; i < 20000; i++) take(Number(random() >> BigInt(below(64))));
{
  const spelt = doubles.map((d) => (Object.is(d, -0) ? '-0.0' : d.toExponential(20)));
  const got = ask(spelt);
  const want = doubles.map((d) => JSON.stringify(d));
  let bad = 0;
  for (let i = 0; i < doubles.length; i++) {
    if (got[i] !== want[i] && bad++ < 10) console.log(`${spelt[i]}: got ${got[i]}, want ${want[i]}`);
  }
  assert.equal(bad, 0, `${bad} of ${doubles.length} numbers differ`);
  assert.deepEqual(ask(want), want, 'a canonical number is its own canonical form');
}

// ---- integers: those that are doubles, and no others
{
  const lines = [];
  const fits = [];
  for (let i = 0; i < 40000; i++) {
    const bits = 50 + below(40);
    let n = ((random() << 64n) | random()) & ((1n << BigInt(bits)) - 1n);
    if (i % 2) n = BigInt(Number(n)); // a double
    if (i % 3 === 0) n = -n;
    lines.push(n.toString());
    fits.push(BigInt(Number(n)) === n || JSON.stringify(Number(n)) === n.toString());
  }
  const got = ask(lines);
  for (let i = 0; i < lines.length; i++) {
    if (fits[i]) assert.equal(got[i], JSON.stringify(Number(lines[i])), lines[i]);
    else assert.match(got[i], /^! .*integer/, lines[i]);
  }
}

// ---- whole documents, names of all planes, other spellings of the same
const pieces = ['a', 'b', 'Z', '1', '10', '', '"', '\\', '/', '\n', '\b', '\u000b', '\u001f', '\u007f', '\u0080',
  '\u00f6', '\u20ac', '\ud7ff', '\ue000', '\ufb33', '\uffff', '\u{10000}', '\u{1f600}', '\u{10ffff}', '\u2028'];
const word = () => Array.from({ length: below(4) }, () => pieces[below(pieces.length)]).join('');
function value(depth) {
  switch (below(depth > 5 ? 5 : 7)) {
    case 0: return null;
    case 1: return below(2) === 1;
    case 2: return doubles[below(doubles.length)];
    case 3: return below(1000) - 500;
    case 4: return word();
    case 5: return Array.from({ length: below(6) }, () => value(depth + 1));
    default: return Object.fromEntries(Array.from({ length: below(8) }, () => [word(), value(depth + 1)]));
  }
}
const blank = () => [' ', '', '\t', '', '\r', ''][below(6)];
function spellString(s) { // any character may be escaped
  let out = '"';
  for (let i = 0; i < s.length; i++) {
    const unit = s.charCodeAt(i);
    const high = unit >= 0xd800 && unit < 0xdc00;
    const whole = high ? s.slice(i, i + 2) : s[i];
    if (below(3) === 0) for (const u of whole.split('')) out += '\\u' + u.charCodeAt(0).toString(16).padStart(4, '0');
    else out += JSON.stringify(whole).slice(1, -1);
    i += whole.length - 1;
  }
  return out + '"';
}
function spell(v) {
  if (typeof v === 'string') return spellString(v);
  if (typeof v === 'number') return [JSON.stringify(v), v.toExponential(), v.toExponential(20)][below(3)];
  if (v === null || typeof v !== 'object') return JSON.stringify(v);
  if (Array.isArray(v)) return '[' + v.map((x) => blank() + spell(x) + blank()).join(',') + blank() + ']';
  const keys = Object.keys(v).sort(() => below(3) - 1);
  return '{' + keys.map((k) => blank() + spellString(k) + blank() + ':' + blank() + spell(v[k])).join(',') + blank() + '}';
}
{
  const values = Array.from({ length: 20000 }, () => value(0));
  const want = values.map(canonical);
  assert.deepEqual(ask(values.map(spell)), want);
  assert.deepEqual(ask(values.map(spell)), want, 'another spelling');
  assert.deepEqual(ask(want), want, 'canonical form of the canonical form');
  console.log(`${doubles.length} numbers, 40000 integers, ${values.length} documents agree`);
}
