// SPDX-License-Identifier: Apache-2.0
// usage: node web/screenshots.mjs [PAGE...]
//
// Pictures of every page at 1280 and 390 pixels, dark and light, in build/screenshots: for looking at. It starts a daemon
// of its own (TC_BINARY, or build/release/tracecore) and fills it from the examples and the simulator.
import fs from 'node:fs';
import path from 'node:path';

const source = path.resolve(path.dirname(new URL(import.meta.url).pathname), '..');
process.env.TC_SOURCE_DIR ??= source;
process.env.TC_BINARY ??= path.join(source, 'build/release/tracecore');
const { Daemon, workspace } = await import('../tests/e2e/support/daemon.mjs');
const { launch, open, pagesOf, visit } = await import('../tests/e2e/support/pages.mjs');
const { addTutorial, simulate, untilIncidents, uploadIncident, uploadNight } = await import('../tests/e2e/support/world.mjs');

const only = process.argv.slice(2);
const out = path.join(source, 'build/screenshots');
fs.mkdirSync(out, { recursive: true });
const space = workspace('screenshots');
const daemon = new Daemon(space.file('daemon'));
const number = addTutorial(daemon.dataDir, space.file('tutorial'));
let browser;
try {
  await daemon.start();
  await uploadIncident(daemon);
  await uploadNight(daemon);
  simulate(daemon);
  const list = await untilIncidents(daemon, 'the example incident', (all) =>
    all.some((v) => v['pattern.name'] === 'hbm_ecc' && v['k8s.node.name'] === 'gpu-07'),
  );
  const incident = list.find((v) => v['pattern.name'] === 'hbm_ecc' && v['k8s.node.name'] === 'gpu-07').incident_id;
  browser = await launch();
  const origin = `http://${daemon.api}`;
  for (const width of [1280, 390]) {
    for (const colorScheme of ['dark', 'light']) {
      const { page, faults, close } = await open(browser, origin, { colorScheme, viewport: { width, height: width === 390 ? 844 : 900 } });
      for (const [name, hash] of Object.entries(pagesOf({ incident, number, node: 'gpu-07' }))) {
        if (only.length && !only.includes(name)) continue;
        await visit(page, origin, hash);
        await page.waitForTimeout(200);
        await page.screenshot({ path: path.join(out, `${name}-${width}-${colorScheme}.png`), fullPage: true });
        const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        if (over > 0) console.error(`${name} at ${width}: ${over} pixels too wide`);
      }
      for (const fault of faults) console.error(fault);
      await close();
    }
  }
  console.log(out);
} finally {
  await browser?.close();
  await daemon.destroy();
  space.remove();
}
