#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: check_spdx.sh [FILE...]
#
# Every file of ours whose syntax allows comments carries an SPDX line in its first five. Checks
# the given files, or the whole tree. Recorded inputs and goldens are data and are left alone.
set -eu
cd "$(dirname "$0")/.."

list() {
  if [ "$#" -gt 0 ]; then
    printf '%s\n' "$@"
  elif git rev-parse --git-dir >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard
  else
    find . -type f | sed 's|^\./||' | grep -Ev '^build/|(^|/)node_modules/'
  fi
}

# Of the names it reads, those of files that must carry the line.
choose() {
  while IFS= read -r file; do
    case $file in
      tests/data/* | tests/replay/* | tests/tickets/*-* | fuzz/corpus/* | examples/*) continue ;;
      dev | .ci/run | tools/hooks/* | .clang-format | .clang-tidy | .editorconfig | .gitignore) ;;
      CMakeLists.txt | */CMakeLists.txt | *.cmake | *.c | *.h | *.cpp | *.def | *.py | *.sh) ;;
      *.js | *.mjs | *.ts | *.tsx | *.jsx | *.css | *.sql | *.dict | *.yml | *.yaml) ;;
      *) continue ;;
    esac
    [ ! -s "$file" ] || printf '%s\n' "$file"
  done
}

# One awk for all files: a process for each of 1,500 takes seconds.
missing=$(list "$@" | choose | xargs -r -d '\n' awk '
  function judge() {
    if (name != "" && !found)
      print name ":1: no line '\''SPDX-License-Identifier: Apache-2.0'\'' in the first five"
  }
  FNR == 1 { judge(); name = FILENAME; found = 0 }
  FNR <= 5 && /SPDX-License-Identifier: Apache-2\.0/ { found = 1 }
  END { judge() }')
[ -z "$missing" ] || {
  printf '%s\n' "$missing"
  exit 1
}
