#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Both benchmark gates, on this build: they pass as they are, and each goes red when it must.
set -u

root=${TC_SOURCE_DIR:?}
gate="$root/bench/gate.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
failed=0

expect() {
  want=$1
  what=$2
  shift 2
  sh "$gate" "$@" >"$work/out" 2>&1
  got=$?
  if [ "$got" -eq "$want" ]; then
    echo "ok: $what (exit $got)"
  else
    echo "FAILED: $what: exit $got, expected $want"
    cat "$work/out"
    failed=1
  fi
}

says() {
  if ! grep -q "$1" "$work/out"; then
    echo "FAILED: no \"$1\" in:"
    cat "$work/out"
    failed=1
  fi
}

command -v valgrind >/dev/null 2>&1 || { echo "valgrind is not installed: skipped"; exit 77; }
sh "$gate" --measure "$work/m" || exit 1
expect 0 "the gates pass as committed" --check "$work/m"

sed 's/^\(nccl_hang\t1024\t\).*/\1-1/' "$root/bench/registry.tsv" >"$work/registry"
expect 1 "a tightened ceiling is breached" --check "$work/m" --registry "$work/registry"
says "BREACH nccl_hang: allocs/event"

awk -F'\t' -v OFS='\t' '$1 == "pod_evicted" { $2 = $2 * 0.8 } { print }' \
  "$root/bench/baseline/detectors.tsv" >"$work/baseline"
expect 1 "a lowered baseline of instructions is breached" --check "$work/m" --baseline "$work/baseline"
says "BREACH pod_evicted: instructions/event"

sed 's/"bytes_per_event":0/"bytes_per_event":1/' "$work/m" >"$work/m2"
expect 1 "heap bytes above the baseline are a breach" --check "$work/m2"
says "bytes/event"

printf 'no_such_detector\t1024\t0\n' | cat "$root/bench/registry.tsv" - >"$work/registry"
expect 2 "a gated benchmark without a measurement fails closed" --check "$work/m" --registry "$work/registry"
says "no measurement for gated bench no_such_detector"

sed 's/"allocs_per_event":[^,]*,//' "$work/m" >"$work/m3"
expect 2 "a measurement without its allocations fails closed" --check "$work/m3"
exit "$failed"
