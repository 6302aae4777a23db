#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: tests/tsan/run.sh [TEST...]
#
# Builds the program with ThreadSanitizer (preset tsan) and runs end-to-end tests against it, by default those of the
# API, its streams and MCP. A daemon that was reported exits with 66, which fails its test; the reports are printed.
set -eu
cd "$(dirname "$0")/../.."
[ "$#" -gt 0 ] || set -- api mcp_live warehouse_daemon
cmake --preset tsan >/dev/null
cmake --build build/tsan --target tracecore
reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT
export TSAN_OPTIONS="suppressions=$PWD/tests/tsan/suppressions.txt exitcode=66 history_size=4 log_path=$reports/report"
export TC_SOURCE_DIR="$PWD" TC_BINARY="$PWD/build/tsan/tracecore"
status=0
for name; do
  node --test "tests/e2e/$name.test.mjs" || status=1
done
for report in "$reports"/*; do
  [ -f "$report" ] || continue
  cat "$report"
  status=1
done
exit "$status"
