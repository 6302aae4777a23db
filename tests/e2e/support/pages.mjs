// SPDX-License-Identifier: Apache-2.0
// The dashboard in Debian's Chromium, through playwright-core: pages by name, and what a page must never do.
import fs from 'node:fs';
import { chromium } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
export const browserPath = process.env.TC_CHROMIUM ?? PLACES.find((path) => fs.existsSync(path));

/** Everything that there is to see; `world` has the ids that the tests know. */
export const pagesOf = (world) => ({
  incidents: '#/incidents?show=all',
  incident: `#/incidents/${world.incident}?e=${world.incident.slice(0, 8)}.0`,
  fleet: '#/fleet',
  node: `#/fleet/${world.node}`,
  runs: '#/runs',
  run: '#/runs/tuesday-1',
  compare: '#/compare?base=monday&candidate=tuesday',
  trend: '#/trend?metric=output_token_throughput',
  pivot: '#/pivot?run=tuesday-1&against=monday',
  'pivot-point': '#/pivot?run=tuesday-1&against=monday&point=in%3D1024+out%3D128+concurrency%3D64',
  diagnose: '#/diagnose?run=tuesday-1&against=monday',
  claims: '#/claims',
  claim: `#/claims/${world.number}`,
  report: '#/report?base=monday&candidate=tuesday&for=product',
  ask: `#/ask?run=1&sql=${encodeURIComponent('SELECT run_id, concurrency, output_token_throughput FROM serving_outcome_fact ORDER BY run_id, concurrency')}`,
});

export async function launch() {
  return chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

/** A page that writes down what it must not do: errors, violations of the policy, requests to elsewhere. */
export async function open(browser, origin, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  const faults = [];
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()} ${message.location().url}`);
  });
  page.on('pageerror', (error) => faults.push(`script: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(origin)) faults.push(`request to ${request.url()}`);
  });
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  return { page, faults, close: () => context.close() };
}

/** Opens a page by its address and waits until nothing on it waits. */
export async function visit(page, origin, hash) {
  await page.goto(`${origin}/${hash}`);
  await page.waitForSelector('main h1, main .empty, main .problem');
  await page.waitForFunction(() => !document.querySelector('.wait'));
}
