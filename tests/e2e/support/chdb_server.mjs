// SPDX-License-Identifier: Apache-2.0
// A ClickHouse of today behind the HTTP interface, as far as the program uses it: the engine is that of the npm package
// chdb (half a gigabyte, so no part of ./dev test). By hand; docs/internals/clickhouse.md says how the tests are run on it:
//   node tests/e2e/support/chdb_server.mjs NODE_MODULES FOLDER PORT
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';

const [modules, folder, port] = process.argv.slice(2);
const { Session } = createRequire(path.join(path.resolve(modules), 'x'))('chdb');
fs.mkdirSync(folder, { recursive: true });
const session = new Session(path.join(folder, 'data'));
let last = Promise.resolve();
let inserts = 0;

/** One statement after the other, as the engine has one database in use. */
function inTurn(work) {
  last = last.then(work, work);
  return last;
}

async function answer(database, query, body) {
  await session.queryAsync(`USE ${database}`);
  const insert = /^INSERT INTO (.*) FORMAT (\w+)\s*$/su.exec(query);
  if (!insert) {
    const format = /\sFORMAT (\w+)\s*$/u.exec(query)?.[1] ?? 'TabSeparated';
    return (await session.queryAsync(query, { format })).bytes();
  }
  const file = path.join(folder, `insert-${++inserts}`);
  fs.writeFileSync(file, body);
  try {
    return (await session.queryAsync(`INSERT INTO ${insert[1]} SELECT * FROM file('${file}', '${insert[2]}')`)).bytes();
  } finally {
    fs.rmSync(file);
  }
}

http.createServer((request, reply) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    const body = Buffer.concat(parts);
    const asked = new URL(request.url, 'http://x').searchParams;
    const query = asked.get('query') ?? body.toString();
    if (query === '') {
      reply.end('Ok.\n');
      return;
    }
    inTurn(() => answer(asked.get('database') ?? 'default', query, body)).then(
      (bytes) => reply.end(bytes),
      (error) => {
        if (process.env.SHOW) console.error(`${query.slice(0, 2000)}\n  ${error.message}`);
        reply.writeHead(500, { 'content-type': 'text/plain' }).end(`Code: ${error.clickhouseCode}. DB::Exception: ${error.message}\n`);
      },
    );
  });
}).listen(Number(port), '127.0.0.1', () => console.log(`chdb at 127.0.0.1:${port}`));
