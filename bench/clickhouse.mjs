// SPDX-License-Identifier: Apache-2.0
// ./dev bench --clickhouse: ten million telemetry slices into a ClickHouse of its own on loopback, and the pivot over them.
// Exit 1 below 500,000 rows a second, or when a step takes more than 200 ms at the median.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { noClickHouse, startClickHouse } from '../tests/e2e/support/clickhouse.mjs';

if (process.argv.includes('--help')) {
  process.stdout.write('usage: ./dev bench --clickhouse [--rows N] [--json]\n');
  process.exit(0);
}
if (noClickHouse) {
  process.stderr.write(`${noClickHouse}: apt install clickhouse-server\n`);
  process.exit(2);
}
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'tc_bench_ch_'));
const [server] = await startClickHouse(home, 1, { onDisk: true });
let status = 2;
try {
  await server.sql('CREATE DATABASE bench');
  const before = server.spent();
  const program = path.join(path.dirname(process.env.TC_BINARY), 'bench/bench_warehouse');
  const done = spawnSync(program, ['--clickhouse', `clickhouse://default@${server.address}/bench`, ...process.argv.slice(2)], { stdio: 'inherit' });
  status = done.status ?? 2;
  if (status < 2) {
    const disk = await server.sql("SELECT sum(bytes_on_disk) / sum(rows) FROM system.parts WHERE database = 'bench' AND table = 'telemetry_slice' AND active");
    const rows = Number(await server.sql('SELECT count() FROM bench.telemetry_slice'));
    const us = ((server.spent() - before) * 1e6) / rows; // merges and the pivot too
    process.stdout.write(`  on disk ${Number(disk).toFixed(1)} bytes a row; the server spent ${us.toFixed(2)} us of processor time on each\n`);
  }
} finally {
  await server.kill();
  fs.rmSync(home, { recursive: true, force: true });
}
process.exit(status);
