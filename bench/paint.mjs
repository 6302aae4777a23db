// SPDX-License-Identifier: Apache-2.0
// ./dev bench --paint: how soon the incident page shows its first rows in Chromium, each time without a cache, and how many
// bytes that takes. One JSON line; exit 1 when the median is over 300 ms or a load over 250 kB.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Daemon } from '../tests/e2e/support/daemon.mjs';
import { logs } from '../tests/e2e/support/otlp.mjs';
import { get, post, until } from '../tests/e2e/support/wire.mjs';

const usage = `usage: ./dev bench --paint [OPTIONS]

  --loads N       pages that are opened, the first not counted (20)
  --incidents N   that there are (300)
`;
const { values: given } = parseArgs({ options: {
  loads: { type: 'string', default: '20' },
  incidents: { type: 'string', default: '300' },
  help: { type: 'boolean', short: 'h', default: false },
} });
if (given.help) { process.stdout.write(usage); process.exit(0); }

const PAINT_MS = 300;
const BYTES = 250000;
const { chromium } = createRequire(new URL('../tests/package.json', import.meta.url))('playwright-core');
const work = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_paint_'));
const daemon = new Daemon(path.join(work, 'daemon'), { log: { level: 'warn' } });

/** The time at which rows were in the page and a frame with them had been drawn. */
async function load(browser) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.addInitScript(() => {
    new MutationObserver(() => {
      if (window.rowsAt || !document.querySelector('.story')) return;
      window.rowsAt = performance.now();
      requestAnimationFrame(() => requestAnimationFrame(() => { window.paintedAt = performance.now(); }));
    }).observe(document, { childList: true, subtree: true });
  });
  await page.goto(`http://${daemon.api}/`);
  await page.waitForFunction(() => window.paintedAt);
  await page.waitForTimeout(300); // what comes after the first rows counts as bytes
  const seen = await page.evaluate(() => ({
    rows: window.rowsAt, painted: window.paintedAt,
    bytes: [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].reduce((sum, one) => sum + one.transferSize, 0),
  }));
  await context.close();
  return seen;
}

let status = 2;
try {
  await daemon.start();
  for (let i = 0; i < Number(given.incidents); i += 1) {
    const line = `NVRM: Xid (PCI:0000:${(16 + (i % 8)).toString(16)}:00): 48, pid=${4711 + i}, name=python, DBE (double bit error)`;
    await post(daemon.http, 'logs', logs({ 'k8s.node.name': `gpu-${i >> 3}` }, [{ body: line }]));
  }
  await until('the incidents', async () => JSON.parse((await get(daemon.api, '/api/v1/fleet/health')).body).summary.open_incidents >= Number(given.incidents));
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  const all = [];
  for (let i = 0; i < Number(given.loads); i += 1) all.push(await load(browser));
  await browser.close();
  const sorted = all.slice(1).map((one) => Math.round(one.painted)).sort((a, b) => a - b);
  const line = { bench: 'paint', loads: sorted.length, median_ms: sorted[sorted.length >> 1], least_ms: sorted[0], most_ms: sorted.at(-1), bytes: all.at(-1).bytes };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  status = line.median_ms > PAINT_MS || line.bytes > BYTES ? 1 : 0;
  if (status) process.stderr.write(`paint: MISSED: ${line.median_ms} ms (limit ${PAINT_MS}), ${line.bytes} bytes (limit ${BYTES})\n`);
  await daemon.stop();
} catch (error) {
  process.stderr.write(`paint: ${error.stack}\n`);
} finally {
  await daemon.destroy();
  fs.rmSync(work, { recursive: true, force: true });
}
process.exit(status);
