#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: build_web.sh DIR
#
# Builds the dashboard from web/ into DIR: dist/ (the files), ui.bin (all of them, compressed) and ui_files.c
# (the table of server/api/ui_files.h). Nothing to do when the sources are those of the last time, so that several
# build trees share one DIR. Packages are installed when the lock file changed.
set -eu

[ "$#" -eq 1 ] || {
  echo "usage: build_web.sh DIR" >&2
  exit 2
}
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/../web"

# Trees that build at the same time wait for one another.
exec 9>"$out/lock"
flock 9

sources=$(find . ../tools/build_web.sh ../tools/embed_web.mjs -name node_modules -prune -o -type f -print |
  LC_ALL=C sort | xargs -d '\n' sha256sum | sha256sum)
if [ -f "$out/ui_files.c" ] && [ -f "$out/ui.bin" ] && [ "$(cat "$out/sources" 2>/dev/null)" = "$sources" ]; then
  touch "$out/ui.bin" "$out/ui_files.c"
  exit 0
fi
rm -f "$out/sources"
if ! cmp -s package-lock.json node_modules/.installed-lock; then
  npm ci --no-audit --no-fund --loglevel=error >&2
  cp package-lock.json node_modules/.installed-lock
fi
TC_WEB_OUT=$out/dist node node_modules/vite/bin/vite.js build --logLevel warn >&2
node ../tools/embed_web.mjs "$out/dist" "$out"
printf '%s\n' "$sources" >"$out/sources"
