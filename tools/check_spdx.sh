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

bad=0
while IFS= read -r file; do
  case $file in
    tests/data/* | tests/replay/* | fuzz/corpus/* | examples/*) continue ;;
    dev | .ci/run | tools/hooks/* | .clang-format | .clang-tidy | .editorconfig | .gitignore) ;;
    CMakeLists.txt | */CMakeLists.txt | *.cmake | *.c | *.h | *.cpp | *.def | *.py | *.sh) ;;
    *.js | *.mjs | *.ts | *.tsx | *.jsx | *.css | *.sql | *.dict | *.yml | *.yaml) ;;
    *) continue ;;
  esac
  [ -s "$file" ] || continue
  if ! head -n 5 "$file" | grep -q 'SPDX-License-Identifier: Apache-2\.0'; then
    echo "$file:1: no line 'SPDX-License-Identifier: Apache-2.0' in the first five"
    bad=1
  fi
done <<EOF
$(list "$@")
EOF
exit "$bad"
