// SPDX-License-Identifier: Apache-2.0
// Where each node lies, and drawing them: one pass over a canvas, some 10,000 rectangles. A state has a shape as well as a
// colour: critical is a square with a cross, warning a triangle.
import { colour } from './theme.js';

const GAP = 2;
const RACK_GAP = 12;
const TITLE = 16;
// So many nodes or fewer have their names above their tiles.
const LABELLED = 80;
const NAMES = {
  critical: 'critical',
  warning: 'warning',
  ok: 'cell',
  ground: 'ground',
  tile: 'raised',
  accent: 'accent',
  faint: 'faint',
  criticalTile: 'critical-soft',
  warningTile: 'warning-soft',
};

/** Racks in order of their names, those of two zones apart; without racks one block. */
function blocksOf(nodes) {
  const byRack = new Map();
  const hasZones = new Set(nodes.map((node) => node.zone).filter(Boolean)).size > 1;
  for (const node of nodes) {
    const rack = [hasZones && node.zone, node.rack].filter(Boolean).join(' ');
    if (!byRack.has(rack)) byRack.set(rack, []);
    byRack.get(rack).push(node);
  }
  const compare = (a, b) => a.localeCompare(b, 'en', { numeric: true });
  return [...byRack]
    .sort(([a], [b]) => compare(a, b))
    .map(([rack, list]) => ({ rack, nodes: list.sort((a, b) => compare(a.name, b.name)) }));
}

function tileOf(count, gpus) {
  const cell = count > 700 ? 4 : count > 400 ? 6 : count > 200 ? 8 : count > 40 ? 12 : 18;
  const label = count <= LABELLED ? 14 : 0;
  const across = Math.max(1, Math.min(4, gpus || 1));
  const down = Math.max(1, Math.ceil((gpus || 1) / across));
  const width = Math.max(across * (cell + 1) + 3, 14);
  const height = Math.max(down * (cell + 1) + 3, 14);
  // Tiles with names stand farther apart.
  return { cell, across, width, height, label, gapX: label ? 8 : GAP, gapY: (label ? 6 : GAP) + label };
}

/** { width, height, tiles, at(x, y), step(name, key) } */
export function layOut(nodes, width) {
  const gpus = Math.max(0, ...nodes.slice(0, 2000).map((node) => node.gpus.length));
  const tile = tileOf(nodes.length, gpus);
  const blocks = blocksOf(nodes);
  const hasRacks = blocks.length > 1 || blocks[0]?.rack;
  const tiles = [];
  const titles = [];
  let x = 0;
  let y = 0;
  let rowHeight = 0;
  const stepX = tile.width + tile.gapX;
  const stepY = tile.height + tile.gapY;
  const fit = Math.max(1, Math.floor((width + tile.gapX) / stepX));
  for (const block of blocks) {
    const perRow = hasRacks ? Math.min(block.nodes.length, Math.ceil(Math.sqrt(block.nodes.length)), fit) : fit;
    const blockWidth = Math.max(perRow * stepX - tile.gapX, hasRacks ? 46 : 0);
    const top = (hasRacks ? TITLE : 0) + tile.label;
    if (x > 0 && x + blockWidth > width) {
      x = 0;
      y += rowHeight + RACK_GAP;
      rowHeight = 0;
    }
    if (hasRacks) titles.push({ text: block.rack || 'no rack', x, y: y + 11, width: blockWidth });
    for (const [i, node] of block.nodes.entries())
      tiles.push({ node, x: x + (i % perRow) * stepX, y: y + top + Math.floor(i / perRow) * stepY });
    x += blockWidth + RACK_GAP;
    rowHeight = Math.max(rowHeight, top + Math.ceil(block.nodes.length / perRow) * stepY - tile.gapY);
  }
  const hit = (px, py) => tiles.find((t) => px >= t.x && px < t.x + stepX && py >= t.y - tile.label && py < t.y + tile.height + GAP)?.node;
  const step = (name, key) => {
    const from = tiles.find((t) => t.node.name === name);
    if (!from) return tiles[0]?.node;
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
    let best = null;
    let least = Infinity;
    for (const t of tiles) {
      const ahead = (t.x - from.x) * dx + (t.y - from.y) * dy;
      const aside = Math.abs((t.x - from.x) * dy) + Math.abs((t.y - from.y) * dx);
      const far = ahead + aside * 4;
      if (ahead > 0 && far < least) [best, least] = [t, far];
    }
    return (best ?? from).node;
  };
  return { width, height: y + rowHeight + 2, tile, tiles, titles, at: hit, step };
}

function drawShape(ctx, colours, state, x, y, size) {
  ctx.fillStyle = colours[state];
  if (state === 'critical') {
    ctx.fillRect(x, y, size, size);
    if (size < 5) return;
    ctx.strokeStyle = colours.ground;
    ctx.lineWidth = Math.max(1, size / 7);
    ctx.beginPath();
    ctx.moveTo(x + size * 0.25, y + size * 0.25);
    ctx.lineTo(x + size * 0.75, y + size * 0.75);
    ctx.moveTo(x + size * 0.75, y + size * 0.25);
    ctx.lineTo(x + size * 0.25, y + size * 0.75);
    ctx.stroke();
  } else if (state === 'warning') {
    ctx.beginPath();
    ctx.moveTo(x + size / 2, y);
    ctx.lineTo(x + size, y + size);
    ctx.lineTo(x, y + size);
    ctx.fill();
  } else {
    ctx.fillRect(x, y, size, size);
  }
}

export function drawFleet(canvas, plan, { chosen, found }) {
  const dpr = devicePixelRatio || 1;
  canvas.width = Math.round(plan.width * dpr);
  canvas.height = Math.round(plan.height * dpr);
  canvas.style.width = `${plan.width}px`;
  canvas.style.height = `${plan.height}px`;
  const colours = Object.fromEntries(Object.entries(NAMES).map(([key, name]) => [key, colour(name)]));
  const ctx = canvas.getContext('2d');
  ctx.scale(dpr, dpr);
  ctx.font = '11px system-ui, sans-serif';
  ctx.fillStyle = colours.faint;
  for (const title of plan.titles) ctx.fillText(title.text, title.x, title.y, title.width);
  const { tile } = plan;
  for (const { node, x, y } of plan.tiles) {
    ctx.globalAlpha = found && !found.has(node.name) ? 0.18 : 1;
    if (tile.label) {
      ctx.fillStyle = node.state === 'ok' ? colours.faint : colours[node.state];
      ctx.fillText(node.name, x, y - 4, tile.width);
    }
    ctx.fillStyle = node.state === 'ok' ? colours.tile : colours[`${node.state}Tile`];
    ctx.fillRect(x, y, tile.width, tile.height);
    const cells = node.gpus.length ? node.gpus : [{ state: node.state }];
    cells.forEach((gpu, i) => {
      drawShape(
        ctx,
        colours,
        gpu.state,
        x + 2 + (i % tile.across) * (tile.cell + 1),
        y + 2 + Math.floor(i / tile.across) * (tile.cell + 1),
        tile.cell,
      );
    });
    if (node.state !== 'ok') {
      ctx.strokeStyle = colours[node.state];
      ctx.lineWidth = 1.4;
      ctx.strokeRect(x + 0.5, y + 0.5, tile.width - 1, tile.height - 1);
    }
    if (node.name === chosen) {
      ctx.strokeStyle = colours.accent;
      ctx.lineWidth = 2.5;
      ctx.strokeRect(x - 1.5, y - 1.5, tile.width + 3, tile.height + 3);
    }
  }
  ctx.globalAlpha = 1;
}
