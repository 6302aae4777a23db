#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# release_notes.sh [FROM [TO]]: the commits from FROM (the last tag, else the beginning) to TO (HEAD), by room, as
# Markdown. Subjects are "room: imperative summary" (CONTRIBUTING.md); what has no room comes last.
set -eu
cd "$(dirname "$0")/.."
to=${2-HEAD}
from=${1-$(git describe --tags --abbrev=0 "$to" 2>/dev/null || true)}
printf '# %s\n\n' "$(git describe --tags --always "$to")"
git log --no-merges --reverse --format=%s "${from:+$from..}$to" | awk '
  {
    room = "other"
    text = $0
    if (match($0, /^[a-z0-9_, \/-]+: /)) {
      room = substr($0, 1, RLENGTH - 2)
      text = substr($0, RLENGTH + 1)
    }
    if (!(room in lines)) order[++count] = room
    lines[room] = lines[room] "- " text "\n"
  }
  END {
    for (i = 1; i <= count; i++) if (order[i] != "other") printf "## %s\n\n%s\n", order[i], lines[order[i]]
    if ("other" in lines) printf "## other\n\n%s\n", lines["other"]
  }'
