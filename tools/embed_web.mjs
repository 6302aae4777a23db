// SPDX-License-Identifier: Apache-2.0
// usage: embed_web.mjs DIST OUT
//
// Compresses the files of DIST into OUT/ui.bin, one after the other, and writes OUT/ui_files.c, the table that says
// which bytes are which file. The same files give the same bytes. Fails when the files are larger than they may be.
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';

// What a browser loads in total, compressed: the limit of the design.
const TOTAL_MAX = 250_000;
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const [dist, out] = process.argv.slice(2);

const files = fs
  .readdirSync(dist, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) =>
    path
      .relative(dist, path.join(entry.parentPath ?? entry.path, entry.name))
      .split(path.sep)
      .join('/'),
  )
  .sort();
let at = 0;
const rows = [];
const chunks = [];
for (const name of files) {
  const type = TYPES[path.extname(name)];
  if (!type || !/^[\w./-]+$/.test(name)) throw new Error(`${name}: not a file that is served`);
  const content = fs.readFileSync(path.join(dist, name));
  const bytes = zlib.gzipSync(content, { level: 9 });
  bytes[9] = 255; // the operating system is unknown: one byte that would differ between machines
  const etag = crypto.createHash('sha256').update(content).digest('hex').slice(0, 16);
  rows.push(
    `    {.path = "/${name}",\n     .content_type = "${type}",\n     .etag = "\\"${etag}\\"",\n     .bytes = tc__ui_bytes + ${at},\n` +
      `     .len = ${bytes.length},\n     .is_gzip = true,\n     .is_hashed = ${name.startsWith('assets/')}},\n`,
  );
  chunks.push(bytes);
  at += bytes.length;
}
if (!files.includes('index.html')) throw new Error(`${dist}: there is no index.html`);
if (at > TOTAL_MAX) throw new Error(`the dashboard is ${at} bytes, compressed; at most ${TOTAL_MAX} are allowed`);

fs.writeFileSync(path.join(out, 'ui.bin'), Buffer.concat(chunks));
fs.writeFileSync(
  path.join(out, 'ui_files.c'),
  `/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tools/embed_web.mjs: ${files.length} files, ${at} bytes. */
#include "server/api/ui_files.h"

__asm__(".section .rodata\\n"
        ".global tc__ui_bytes\\n"
        ".hidden tc__ui_bytes\\n"
        "tc__ui_bytes:\\n"
        ".incbin \\"ui.bin\\"\\n"
        ".previous\\n");
extern const unsigned char tc__ui_bytes[] __attribute__((visibility("hidden")));

const struct tc_ui_file tc_ui_files[] = {
${rows.join('')}};
const size_t tc_ui_file_count = sizeof tc_ui_files / sizeof tc_ui_files[0];
`,
);
