#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: demo.sh PROGRAM
#
# What `./dev run --demo` does after the build: starts the daemon in a directory of its own, adds
# the example runs, and sends it a simulated fleet, the last hour in a minute and then as time goes
# by. SIGINT or SIGTERM ends all of it; the directory goes with it, unless TC_DEMO_DIR named it.
#
# TC_DEMO_DIR      where the data is kept, instead of a temporary directory
# TC_DEMO_NODES    nodes of the fleet (32)
# TC_DEMO_SPEED    how fast the last hour is sent (60 times: a minute)
set -eu
cd "$(dirname "$0")/.."

program=$1
nodes=${TC_DEMO_NODES:-32}
speed=${TC_DEMO_SPEED:-60}
if [ -n "${TC_DEMO_DIR-}" ]; then
  dir=$TC_DEMO_DIR
  mkdir -p "$dir"
else
  dir=$(mktemp -d "${TMPDIR:-/tmp}/tracecore-demo.XXXXXX")
fi
export TRACECORE_DATA_DIR="$dir/data"

daemon=
sender=
# Children are told to end by their numbers, and waited for.
# shellcheck disable=SC2317 # the trap calls it
finish() {
  status=$?
  trap '' INT TERM
  trap - EXIT
  for pid in $sender $daemon; do
    kill -TERM "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  if [ -z "${TC_DEMO_DIR-}" ]; then
    rm -rf "$dir"
    say "demo: ended; $dir is removed"
  else
    say "demo: ended; the data stays in $dir (rm -r it when you are done)"
  fi
  exit "$status"
}
say() { printf '%s\n' "$*" >&2; }
fail() {
  say "demo: $*"
  tail -n 5 "$dir/daemon.log" >&2 || true
  exit 1
}
trap finish EXIT
trap 'exit 0' INT TERM

# In the background, so that a signal ends the wait for it at once; and in a session of its own, so
# that Ctrl-C is ours alone: a daemon that is told twice to end does not finish what it does.
run() {
  setsid "$@" &
  sender=$!
  rc=0
  wait "$sender" || rc=$?
  sender=
  return "$rc"
}

# Hot metrics take what the simulated hour is about, and show it soon. This machine is no part of it.
export TRACECORE_SOURCES_KMSG_ENABLED=false TRACECORE_SOURCES_JOURNAL_ENABLED=false
TRACECORE_HOT_METRICS_STALE=2h TRACECORE_HOT_METRICS_WINDOW=10s \
  setsid "$program" serve --announce >"$dir/announced" 2>"$dir/daemon.log" &
daemon=$!
tries=0
while [ ! -s "$dir/announced" ]; do
  kill -0 "$daemon" 2>/dev/null || { daemon=; fail "the daemon did not start; its last words:"; }
  tries=$((tries + 1))
  [ "$tries" -le 300 ] || fail "the daemon did not say where it listens"
  sleep 0.1
done
http=$(sed -n 's/.*"http": *"\([^"]*\)".*/\1/p' "$dir/announced")
api=$(sed -n 's/.*"api": *"\([^"]*\)".*/\1/p' "$dir/announced")

cat >&2 <<TEXT
A demonstration: everything in it is simulated.
  dashboard and API  http://$api
  metrics            http://$api/metrics
  OTLP/HTTP          http://$http
  data               $dir/data (the log of the daemon: $dir/daemon.log)
Try, in another terminal:
  export TRACECORE_DATA_DIR=$dir/data
  $program incidents --api http://$api
  $program run list
  $program compare monday tuesday
Ctrl-C ends it.
TEXT

"$program" detect --json examples/nightly/dmesg-gpu-12.txt >"$dir/verdicts.ndjson" 2>/dev/null || true
add_runs() {
  for group in monday tuesday; do
    for n in 1 2 3 4 5; do
      set -- --contract examples/nightly/contract.yaml --replicate-group "$group" --run-id "$group-$n" \
        --result examples/nightly/"$group-$n"/*.json --telemetry examples/nightly/"$group-$n"/dcgm.prom \
        --artifact examples/nightly/probe.json
      [ "$group-$n" != tuesday-1 ] || set -- "$@" --verdicts "$dir/verdicts.ndjson"
      run "$program" run add -q "$@" >>"$dir/runs.log" 2>&1 || return 1
    done
  done
  for group in base candidate; do
    for n in 1 2 3; do
      run "$program" run add -q --replicate-group "$group" --run-id "$group-$n" \
        --result examples/benchmark/"$group-$n"/*.json --telemetry examples/benchmark/"$group-$n"/dcgm.prom \
        >>"$dir/runs.log" 2>&1 || return 1
    done
  done
}
add_runs || fail "the example runs could not be added: $dir/runs.log"
say "demo: 16 runs are there; the last hour of $nodes nodes follows"

# send HOURS SPEED SEED FAULTS: as collectors of a cluster would.
send() {
  run "$program" simulate -q --nodes "$nodes" --hours "$1" --speed "$2" --seed "$3" --faults "$4" --now \
    --otlp "http://$http" --upload "http://$api" 2>>"$dir/simulate.log" ||
    kill -0 "$daemon" 2>/dev/null || fail "the daemon ended"
}
send 1 "$speed" 7 mixed
say "demo: from now on the fleet goes on in real time, with a fault every few minutes"
seed=8
while kill -0 "$daemon" 2>/dev/null; do
  send 1 1 "$seed" "mixed, hbm_ecc count=2, thermal_throttle count=3, network_link_fault count=3, pod_evicted count=3"
  seed=$((seed + 1))
done
daemon=
fail "the daemon ended; its last words:"
