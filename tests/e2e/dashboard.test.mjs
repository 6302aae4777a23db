// SPDX-License-Identifier: Apache-2.0
// The dashboard in a real browser, against the real daemon: the tutorial's story by clicks, nothing that a strict policy
// forbids, script in every shown field stays text, and nothing serious for those who read by ear, keyboard or contrast.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { Daemon, run, workspace } from './support/daemon.mjs';
import { browserPath, launch, open, pagesOf, visit } from './support/pages.mjs';
import { get } from './support/wire.mjs';
import { addTutorial, simulate, untilIncidents, upload, uploadIncident, uploadNight } from './support/world.mjs';

const axe = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const space = workspace('dashboard');
const world = { node: 'gpu-07' };
const daemons = [];
let daemon;
let origin;
let browser;
const skip = browserPath ? false : 'no Chromium here';

async function start(name, config) {
  daemons.push(new Daemon(space.file(name), config));
  return daemons.at(-1).start();
}

before(
  async () => {
    if (skip) return;
    daemons.push(new Daemon(space.file('daemon')));
    [daemon] = daemons;
    world.number = addTutorial(daemon.dataDir, space.file('tutorial'));
    await daemon.start();
    origin = `http://${daemon.api}`;
    await uploadIncident(daemon);
    await uploadNight(daemon);
    simulate(daemon, { nodes: 16 });
    const found = (v) => v['pattern.name'] === 'hbm_ecc' && v['k8s.node.name'] === 'gpu-07';
    world.incident = (await untilIncidents(daemon, 'the example incident', (list) => list.some(found))).find(found).incident_id;
    browser = await launch();
  },
  { timeout: 300000 },
);
after(async () => {
  await browser?.close();
  await Promise.all(daemons.map((one) => one.destroy()));
  space.remove();
});

/** A page of the test's own; in the end it must have done nothing that it must not do. */
async function withPage({ at = origin, ignore, ...options }, work) {
  const { page, faults, close } = await open(browser, at, options);
  try {
    await work(page);
    assert.deepEqual(
      faults.filter((fault) => !ignore?.test(fault)),
      [],
    );
  } finally {
    await close();
  }
}
const said = (page, selector) => page.locator(selector).first().innerText();

describe('what is embedded', { skip }, () => {
  test('is small, cached and under a strict policy', async () => {
    const index = await get(daemon.api, '/', { headers: { accept: 'text/html' } });
    assert.equal(index.status, 200);
    assert.match(index.headers['content-security-policy'], /default-src 'none'.*script-src 'self'; style-src 'self'/);
    assert.doesNotMatch(index.headers['content-security-policy'], /unsafe/);
    const html = index.body.toString();
    assert.doesNotMatch(html, /<style|style=|<script(?![^>]*src=)|https?:/);
    for (const [, path] of html.matchAll(/(?:src|href)="(\/(?!api\/)[^"]+)"/g)) {
      const file = await get(daemon.api, path, { headers: { 'accept-encoding': 'gzip' } });
      assert.equal(file.status, 200, path);
      if (path.startsWith('/assets/')) assert.match(file.headers['cache-control'], /immutable/);
      assert.equal((await get(daemon.api, path, { headers: { 'if-none-match': file.headers.etag } })).status, 304, path);
    }
  });
});

describe('the story of the tutorial, by clicks', { skip }, () => {
  test('a slower night, the point, the node, the bytes', () =>
    withPage({}, async (page) => {
      await visit(page, origin, '');
      await page.click('nav a:has-text("Runs")');
      await page.click('a:has-text("Compare with monday")');
      await page.waitForSelector('.says');
      assert.match(await said(page, '.says'), /Worse at 2 of 2 points/);
      assert.equal(await page.locator('.curves').count(), 1, 'latency over throughput');
      const strip = await page.locator('.strip').first().getAttribute('aria-label');
      assert.match(strip, /base: .*; candidate: /, 'every replicate is told');
      await page.locator('section:has(code:text-is("in=1024 out=128 concurrency=64")) >> a:has-text("What stands out here")').click();
      await page.waitForSelector('text=Stands out among its peers');
      const row = page.locator('tr', { hasText: 'nvlink_crc_flit_errors' });
      assert.match(await row.innerText(), /gpu-12/);
      await row.getByRole('button', { name: 'Open the bytes' }).click();
      await page.waitForSelector('.bytes mark');
      assert.match(await said(page, '.bytes'), /DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL/);
      await row.getByRole('link', { name: 'gpu-12' }).click();
      await page.waitForSelector('.steps [aria-current]:has-text("gpu-12")');
      await page.click('a:has-text("Diagnose")');
      await page.waitForSelector('text=an NVLink has errors');
      assert.match(page.url(), /#\/diagnose\?run=tuesday-\d&against=monday/);
      await page.click('a:has-text("The incident")');
      await page.waitForSelector('h1:has-text("Xid 74")');
      await page.click('.claim');
      await page.waitForSelector('.bytes mark');
      assert.match(await said(page, '.bytes mark'), /Xid \(PCI:0000:43:00\): 74/);
    }));

  test('the published number, each link verified; then a byte is changed', () =>
    withPage({}, async (page) => {
      await visit(page, origin, '#/claims');
      await page.click(`a:has-text("${world.number}")`);
      await page.waitForSelector('text=publication-safe');
      assert.equal(await page.locator('.link-step.is-good').count(), await page.locator('.link-step').count());
      const digest = JSON.parse(run(['run', 'show', 'monday-3', '--json', '--data-dir', daemon.dataDir]).text)
        .lineage.raw_uris.find((file) => file.name === 'vllm-c64.json')
        .digest.slice('sha256:'.length);
      const stored = fs
        .readdirSync(`${daemon.dataDir}/files`, { recursive: true })
        .map(String)
        .find((name) => name.endsWith(digest));
      const file = `${daemon.dataDir}/files/${stored}`;
      const bytes = fs.readFileSync(file);
      const mode = fs.statSync(file).mode;
      fs.chmodSync(file, 0o600);
      fs.writeFileSync(file, Buffer.concat([bytes.subarray(0, 100), Buffer.from('X'), bytes.subarray(101)]));
      try {
        await page.click('button:has-text("Verify again")');
        await page.waitForSelector('text=broken at raw files');
        assert.equal(await page.locator('.link-step.is-critical').count(), 1);
      } finally {
        fs.writeFileSync(file, bytes);
        fs.chmodSync(file, mode);
      }
    }));

  test('an incident: what to do, the signals, what followed, the line', () =>
    withPage({}, async (page) => {
      await visit(page, origin, '#/incidents?q=gpu-07');
      assert.match(await said(page, '.story .todo'), /Drain node gpu-07/);
      await page.keyboard.press('j');
      await page.keyboard.press('Enter');
      await page.waitForSelector('.first');
      assert.match(await said(page, '.first'), /Drain node gpu-07, reset GPU 1/);
      await page.locator('.timeline .mark').nth(9).waitFor(); // the signals of all places
      await page.locator('.graph .box').nth(2).waitFor(); // what followed
      await page.locator('.timeline .mark').first().click();
      await page.waitForSelector('.bytes mark');
      assert.match(page.url(), /e=/, 'the opened evidence is in the address');
      await page.reload();
      await page.waitForSelector('.bytes mark');
    }));
});

describe('live', { skip }, () => {
  test('a new incident appears by itself, and leaves the keyboard where it was', () =>
    withPage({}, async (page) => {
      await visit(page, origin, '');
      await page.waitForSelector('.dot.live', { state: 'attached' });
      await upload(
        daemon,
        'dmesg-gpu-99.txt',
        '2026-11-17T10:00:00,000000+00:00 NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n',
      );
      await page.waitForSelector('.story:has-text("gpu-99")');
    }));
  test('keys: ? opens the help, / the search, g f the fleet', () =>
    withPage({}, async (page) => {
      await visit(page, origin, '');
      await page.keyboard.press('?');
      await page.waitForSelector('dialog[open]');
      await page.keyboard.press('Escape');
      await page.waitForSelector('dialog', { state: 'detached' });
      await page.keyboard.press('/');
      await page.keyboard.type('nothing has these words');
      await page.waitForSelector('text=Nothing fits');
      assert.match(page.url(), /q=nothing/);
      await page.keyboard.press('Escape');
      await page.keyboard.press('g');
      await page.keyboard.press('f');
      await page.waitForSelector('canvas.heat');
    }));
});

describe('a large fleet', { skip }, () => {
  /** What the daemon would say of so many nodes with eight GPUs each, in racks of sixteen. */
  function fleet(nodes) {
    const each = Array.from({ length: nodes }, (_, i) => i);
    const gpus = Array.from({ length: nodes * 8 }, (_, i) => i);
    const state = (i) => (i === 3 ? 2 : 0);
    return {
      states: ['ok', 'warning', 'critical'],
      summary: {},
      nodes: {
        name: each.map((i) => `gpu-${String(i).padStart(4, '0')}`),
        rack: each.map((i) => `r${Math.floor(i / 16)}`),
        zone: each.map(() => null),
        state: each.map(state),
        open: each.map((i) => (i === 3 ? 1 : 0)),
        first_gpu: each.map((i) => i * 8),
        gpu_count: each.map(() => 8),
        last_seen: each.map(() => null),
      },
      gpus: {
        node: gpus.map((i) => Math.floor(i / 8)),
        index: gpus.map((i) => i % 8),
        uuid: gpus.map(() => null),
        pci: gpus.map(() => null),
        state: gpus.map((i) => (i === 25 ? 2 : 0)),
        open: gpus.map(() => 0),
      },
      incidents: [{ incident_id: 'x', severity: 'critical', pattern: 'hbm_ecc', headline: 'one is broken', node: 3, gpu: 25 }],
    };
  }
  test('1,250 nodes and 10,000 GPUs are one picture that arrow keys walk', () =>
    withPage({ ignore: /status of 404/ }, async (page) => {
      await page.route('**/api/v1/fleet', (route) => route.fulfill({ json: fleet(1250) }));
      await visit(page, origin, '#/fleet');
      await page.waitForSelector('text=1,250 nodes, 10,000 GPUs');
      assert.match(await said(page, '.trouble'), /gpu-0003\s+critical\s+one is broken/);
      const inked = await page.evaluate(() => {
        const canvas = document.querySelector('canvas.heat');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let n = 0;
        for (let i = 3; i < data.length; i += 4) n += data[i] > 0;
        return n / (data.length / 4);
      });
      assert.ok(inked > 0.3, `${inked} of the canvas is drawn`);
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      await page.waitForSelector('.under strong:has-text("gpu-0001")');
      await page.keyboard.press('Enter');
      await page.waitForSelector('.crumbs:has-text("gpu-0001")');
    }));
});

describe('what is bad', { skip }, () => {
  test('script in every field that telemetry fills stays text', async () => {
    const evil = await start('evil', {});
    const at = `http://${evil.api}`;
    const bad = '<img src=x onerror=alert(1)>';
    const event = {
      kind: 'Event',
      apiVersion: 'v1',
      metadata: { name: 'e1', namespace: 'train', uid: 'e1' },
      type: 'Warning',
      reason: 'Evicted',
      message: `The node was low on resource: memory. ${bad}`,
      involvedObject: { kind: 'Pod', name: `pod${bad}`, namespace: `train${bad}`, uid: 'u2' },
      source: { component: 'kubelet', host: `node${bad}` },
      firstTimestamp: '2026-11-17T10:00:00Z',
      lastTimestamp: '2026-11-17T10:00:00Z',
    };
    await upload(evil, 'events.json', JSON.stringify({ kind: 'List', apiVersion: 'v1', items: [event] }));
    const xid = `NVRM: Xid (PCI:0000:3b:00): 79, pid='1', name=${bad}, GPU has fallen off the bus.`;
    await upload(evil, 'dmesg.txt', `2026-11-17T10:00:00,000000+00:00 ${xid}\n`);
    const list = await untilIncidents(evil, 'both incidents', (all) => all.length > 1);
    assert.ok(
      list.some((v) => v.headline.includes(bad)),
      'the daemon tells the name as it was sent',
    );
    // A node or page that does not exist is a 404, which the browser writes to the console by itself.
    await withPage({ at, ignore: /status of 404/ }, async (page) => {
      let ran = false;
      page.on('dialog', (dialog) => {
        ran = true;
        dialog.dismiss();
      });
      for (const hash of [
        '',
        '#/fleet',
        ...list.slice(0, 3).map((v) => `#/incidents/${v.incident_id}?e=${v.incident_id.slice(0, 8)}.0`),
        `#/fleet/${encodeURIComponent(`node${bad}`)}`,
        `#/incidents?q=${encodeURIComponent(bad)}`,
        `#/runs?q=${encodeURIComponent(bad)}`,
        `#/${encodeURIComponent(bad)}`,
      ]) {
        await visit(page, at, hash);
        assert.equal(await page.locator('main img, main script').count(), 0, hash);
        assert.equal(ran, false, `script ran on ${hash}`);
      }
      await visit(page, at, '');
      assert.ok((await said(page, '.stories')).includes(bad), 'it is shown as text');
    });
  });

  test('a token is asked for, kept for the tab, and sent', async () => {
    const sha = crypto.createHash('sha256').update('right').digest('hex');
    const guarded = await start('guarded', { auth: { tokens: [{ name: 'reader', sha256: sha, scopes: ['read'] }] } });
    const { page, close } = await open(browser, `http://${guarded.api}`);
    await page.goto(`http://${guarded.api}/`);
    await page.waitForSelector('text=A token is needed');
    await page.fill('input[type=password]', 'right');
    await page.click('button:has-text("Use it")');
    await page.waitForSelector('text=No incident so far');
    assert.equal(await page.evaluate(() => sessionStorage.getItem('tracecore.token')), 'right');
    assert.equal(await page.evaluate(() => document.cookie + JSON.stringify(localStorage)), '{}');
    await page.goto(`http://${guarded.api}/#/fleet`);
    await page.waitForSelector('text=No node is known yet');
    await close();
  });

  test('without anything each page says what to do; without a daemon too', async () => {
    const empty = await start('empty', {});
    const at = `http://${empty.api}`;
    const { page, close } = await open(browser, at);
    for (const [hash, words] of [
      ['', /upload/],
      ['#/fleet', /simulate/],
      ['#/runs', /run add/],
      ['#/claims', /tracecore publish/],
    ]) {
      await visit(page, at, hash);
      await page.waitForSelector('.empty .command');
      assert.match(await said(page, '.empty'), words, hash);
    }
    await empty.stop();
    await page.click('nav a:has-text("Runs")');
    await page.waitForSelector('text=The daemon does not answer');
    await close();
  });
});

describe('for everybody', { skip }, () => {
  for (const colorScheme of ['dark', 'light']) {
    for (const width of [1280, 390]) {
      test(`axe finds nothing serious, and nothing is too wide: ${colorScheme}, ${width} px`, () =>
        withPage({ colorScheme, viewport: { width, height: 844 } }, async (page) => {
          const found = [];
          for (const [name, hash] of Object.entries(pagesOf(world))) {
            await visit(page, origin, hash);
            await page.evaluate(axe);
            const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
            for (const one of violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')) {
              found.push(
                `${name}: ${one.id}: ${one.nodes
                  .slice(0, 3)
                  .map((node) => node.html.slice(0, 160))
                  .join(' | ')}`,
              );
            }
            const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
            if (over > 0) found.push(`${name}: ${over} pixels too wide`);
          }
          assert.deepEqual(found, []);
        }));
    }
  }
});
