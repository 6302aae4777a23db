// SPDX-License-Identifier: Apache-2.0
// Numbers, times and names as people read them. All times are UTC, as in the logs of a cluster.

/** Made when it is first needed: making one takes longer than drawing a page of rows. */
const once = (make) => {
  let made;
  return () => (made ??= make());
};
const small = once(() => new Intl.NumberFormat('en', { maximumSignificantDigits: 4 }));
const whole = once(() => new Intl.NumberFormat('en', { maximumFractionDigits: 0 }));

/** 118.3 G: what has more digits than anybody reads. */
function large(n) {
  const power = Math.min(4, Math.floor(Math.log10(Math.abs(n)) / 3));
  return `${small().format(n / 1000 ** power)} ${['', 'k', 'M', 'G', 'T'][power]}`;
}

export function number(value) {
  if (value === null || value === undefined || value === '') return 'not known';
  const n = Number(value);
  if (!Number.isFinite(n)) return String(value);
  if (n !== 0 && Math.abs(n) < 1e-4) return n.toExponential(2);
  if (Math.abs(n) >= 1e7) return large(n);
  return Math.abs(n) >= 1000 ? whole().format(n) : small().format(n);
}

/** p values: two digits say enough. */
export const chance = (p) => (p === null || p === undefined ? 'not known' : p < 1e-4 ? 'below 0.0001' : String(Number(p.toPrecision(2))));

export const ratio = (value) => (value === null || value === undefined ? 'not known' : `${small().format(value)}×`);

export function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  let value = n;
  while (value >= 1024 && i < units.length - 1) {
    value /= 1024;
    i++;
  }
  return `${small().format(value)} ${units[i]}`;
}

export const count = (n, one, many = `${one}s`) => `${whole().format(n)} ${n === 1 ? one : many}`;
export const ordinal = (n) => {
  const words = ['', 'first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth'];
  return words[n] ?? `${n}th`;
};

export const millis = (text) => (text ? Date.parse(text) : NaN);

/** 2026-03-03 01:59:15 */
export function stamp(text) {
  const at = millis(text);
  return Number.isNaN(at) ? 'no time' : new Date(at).toISOString().slice(0, 19).replace('T', ' ');
}
export function clock(text) {
  const at = millis(text);
  return Number.isNaN(at) ? 'no time' : new Date(at).toISOString().slice(11, 19);
}
export function day(text) {
  const at = millis(text);
  return Number.isNaN(at) ? 'no date' : new Date(at).toISOString().slice(0, 10);
}

/** 95 s, 12 min, 3 h 20 min, 4 days */
export function span(ms) {
  const s = Math.round(Math.abs(ms) / 1000);
  if (Math.abs(ms) < 1000) return `${Math.round(Math.abs(ms))} ms`;
  if (s < 120) return `${s} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  if (s < 172800) return `${Math.floor(s / 3600)} h${Math.floor((s % 3600) / 60) ? ` ${Math.floor((s % 3600) / 60)} min` : ''}`;
  return `${Math.round(s / 86400)} days`;
}
export function ago(text, now = Date.now()) {
  const at = millis(text);
  if (Number.isNaN(at)) return 'no time';
  return at > now + 1000 ? `in ${span(at - now)}` : `${span(now - at)} ago`;
}

/** sha256:ed3c2eaf… for reading; the whole is in the title and in what is copied. */
export const digest = (text) => (text?.startsWith('sha256:') ? `sha256:${text.slice(7, 15)}…` : (text ?? ''));
export const gpuName = (uuid) => (uuid && uuid.length > 16 ? `…${uuid.slice(-8)}` : uuid);
/** nvlink_degraded → NVLink degraded */
const NAMES = { nccl: 'NCCL', nvlink: 'NVLink', hbm: 'HBM', ecc: 'ECC', gpu: 'GPU', pcie: 'PCIe', aer: 'AER', xid: 'Xid', oom: 'OOM' };
export function pattern(id) {
  const words = String(id ?? '')
    .split('_')
    .map((word) => NAMES[word] ?? word);
  return words.join(' ').replace(/^[a-z]/, (c) => c.toUpperCase());
}
