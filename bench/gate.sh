#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The benchmark gates. See usage() below and docs/performance.md.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
binary=${TC_BINARY:-$here/../build/release/tracecore}
bench=$binary-bench
registry=$here/registry.tsv
baseline=$here/baseline/detectors.tsv
tolerance=10

usage() {
  cat <<'TEXT'
usage: ./dev bench [OPTIONS]

Measures every detector and checks two gates:
  1. heap allocations per event are at most the ceiling in bench/registry.tsv;
  2. instructions (callgrind) and heap bytes per event are within 10 % of
     bench/baseline/detectors.tsv. Time is printed, never gated.

  --measure FILE       only measure, into FILE
  --check FILE         only check the measurements in FILE
  --registry FILE      other ceilings
  --baseline FILE      another baseline
  --update-baseline    write the measured instructions and bytes as the new baseline
  --against-go         also run the Go re-creation of the nccl_hang detector (needs
                       golang-go) and print how many times less time this one takes; it must
                       be ten times less to the same output
  --all                also: linearity, 1 GB kernel log, start-up time
  --serve [OPTIONS]    instead: the daemon under load: records a second, memory, latency
                       (--serve --help)
  --chaos [OPTIONS]    instead: kill -9 under load, 200 times: nothing that was
                       acknowledged is lost (--rounds N, --seed S)

  --warehouse [OPTIONS]
                       instead: ten million telemetry slices: load, room on disk, queries
                       (--rows N, --dir DIR, --json)

Exit status: 0 within the gates, 1 a gate is breached, 2 something could not be measured.
TEXT
}

fail() {
  echo "bench: $1" >&2
  exit 2
}

# Instructions per event: the difference between a long and a short run leaves out start-up.
instructions() {
  name=$1
  short=8
  long=40
  for windows in $short $long; do
    out=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null \
      "$bench" --windows="$windows" "$name" 2>&1 >/dev/null) || return 1
    echo "$out" | sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
  done | awk -v events=$(((long - short) * 1024)) '
    NR == 1 { a = $1 }
    NR == 2 { b = $1 }
    END { if (NR != 2) exit 1; printf "%.1f\n", (b - a) / events }'
}

measure() {
  : >"$1"
  names=$(awk -F'\t' '!/^#/ && NF >= 3 { print $1 }' "$registry")
  for name in $names; do
    line=$("$bench" "$name" 2>/dev/null | head -n 1) || line=
    case $line in
      '{"bench":'*) ;;
      *) continue ;; # the check finds that it is missing
    esac
    if command -v valgrind >/dev/null 2>&1; then
      if count=$(instructions "$name"); then
        line=$(echo "$line" | sed 's/,"instructions_per_event":[^,}]*//; s/}$//')
        line="$line,\"instructions_per_event\":$count}"
      fi
    fi
    echo "$line" >>"$1"
  done
}

# The value of a key in the measurement of a benchmark; empty when it is not there.
value() {
  sed -n "s/^{\"bench\":\"$2\".*\"$3\":\([0-9.e+-]*\).*/\1/p" "$1" | head -n 1
}

check() {
  file=$1
  status=0
  printf '%-18s %14s %8s %16s %16s %12s\n' bench allocs/event ceiling instr/event baseline ns/event
  while IFS="$(printf '\t')" read -r name window ceiling; do
    case $name in '#'* | '') continue ;; esac
    allocs=$(value "$file" "$name" allocs_per_event)
    bytes=$(value "$file" "$name" bytes_per_event)
    instr=$(value "$file" "$name" instructions_per_event)
    ns=$(value "$file" "$name" ns_per_event)
    want=$(awk -F'\t' -v n="$name" '$1 == n { print $2, $3 }' "$baseline")
    printf '%-18s %14s %8s %16s %16s %12s\n' "$name" "${allocs:-none}" "$ceiling" "${instr:-none}" \
      "${want%% *}" "${ns:-none}"
    if [ -z "$allocs" ] || [ -z "$bytes" ] || [ -z "$instr" ] || [ -z "$want" ]; then
      echo "bench: no measurement for gated bench $name (window $window)" >&2
      status=2
      continue
    fi
    breach=$(awk -v a="$allocs" -v c="$ceiling" -v i="$instr" -v b="$bytes" -v bi="${want%% *}" \
      -v bb="${want##* }" -v t="$tolerance" 'BEGIN {
        if (a + 0 > c + 0) print "allocs/event " a " > ceiling " c
        if (i > bi * (1 + t / 100)) print "instructions/event " i " > baseline " bi " + " t " %"
        if (b > bb * (1 + t / 100)) print "bytes/event " b " > baseline " bb " + " t " %"
        if (i < bi * (1 - t / 100)) print "better" > "/dev/stderr"
      }' 2>/dev/null)
    if [ -n "$breach" ]; then
      echo "$breach" | sed "s/^/BREACH $name: /" >&2
      [ "$status" -eq 2 ] || status=1
    fi
  done <"$registry"
  return "$status"
}

update_baseline() {
  {
    echo "# SPDX-License-Identifier: Apache-2.0"
    echo "# Gate 2, made by './dev bench --update-baseline'; $(uname -m), $(gcc --version | head -n 1)"
    printf '# bench\tinstructions_per_event\tbytes_per_event\n'
    awk -F'\t' '!/^#/ && NF >= 3 { print $1 }' "$registry" | while read -r name; do
      printf '%s\t%s\t%s\n' "$name" "$(value "$1" "$name" instructions_per_event)" \
        "$(value "$1" "$name" bytes_per_event)"
    done
  } >"$baseline"
}

# with_node PROGRAM [OPTIONS]: benchmarks of the daemon are driven from Node, with what tests/ has.
with_node() {
  command -v node >/dev/null 2>&1 || fail "$1 needs Node"
  [ -d "$here/../tests/node_modules" ] || fail "$1 needs the packages of tests/: ./dev bench installs them"
  TC_BINARY=$binary TC_SOURCE_DIR=$here/.. exec node "$here/$@"
}

# ns_per_event of nccl_hang, after a name: what its output is.
turn() {
  name=$1
  shift
  "$bench" "$@" nccl_hang | sed -n "s/.*\"ns_per_event\":\([0-9.e+]*\).*/$name \1/p"
}

# The Go detector ends at verdict structs with their strings: our findings. It numbers no incidents
# and renders no JSON, so both are shown beside, and the ten times are asked of what both do.
against_go() {
  command -v go >/dev/null 2>&1 || fail "--against-go needs Go: apt-get install golang-go"
  anchor=$here/../../shared/anchors/go-nccl-hang
  [ -d "$anchor" ] || fail "--against-go needs ../shared/anchors/go-nccl-hang"
  mkdir "$work/go"
  cp "$anchor"/* "$work/go/"
  # Turn by turn, so that both see the same machine; the best of each counts. Once with the
  # collector on a core of its own, once with all of it on one.
  for _ in 1 2 3 4 5; do
    (cd "$work/go" && GOFLAGS=-mod=mod GOCACHE="$work/gocache" go test -bench=. -benchtime=1s -cpu=1,2) |
      awk '/^Benchmark/ { print "go", $3 / 1024 }'
    turn finding --no-incidents
    turn verdict --no-render
    turn json
  done | awk '
    !($1 in best) || $2 < best[$1] { best[$1] = $2 }
    function show(what, name) {
      printf "  %-44s %6.1f ns/event, %4.1f times less\n", what, best[name], best["go"] / best[name]
    }
    END {
      if (!("go" in best) || !("finding" in best) || !("verdict" in best) || !("json" in best)) exit 2
      printf "nccl_hang: go %.0f ns/event; tracecore:\n", best["go"]
      show("the same: findings with every string", "finding")
      show("and numbered as incidents, with SHA-256 ids", "verdict")
      show("and rendered as JSON", "json")
      exit best["go"] / best["finding"] < 10
    }'
}

mode=full
go=no
all=no
file=
while [ $# -gt 0 ]; do
  case $1 in
    --measure) mode=measure; file=${2:?} ; shift ;;
    --check) mode=check; file=${2:?} ; shift ;;
    --registry) registry=${2:?} ; shift ;;
    --baseline) baseline=${2:?} ; shift ;;
    --update-baseline) mode=update ;;
    --against-go) go=yes ;;
    --all) all=yes ;;
    --serve) shift; with_node serve.mjs "$@" ;;
    --chaos) shift; with_node chaos.mjs "$@" ;;
    --warehouse)
      shift
      program=$(dirname "$binary")/bench/bench_warehouse
      [ -x "$program" ] || fail "$program is not built: ./dev bench --warehouse builds it"
      exec "$program" "$@"
      ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; fail "unknown option $1" ;;
  esac
  shift
done

[ -x "$bench" ] || fail "$bench is not built: ./dev build"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
case $mode in
  measure) measure "$file"; exit 0 ;;
  check) check "$file"; exit $? ;;
  update) measure "$work/m"; update_baseline "$work/m"; cat "$baseline"; exit 0 ;;
esac

measure "$work/m"
status=0
check "$work/m" || status=$?
if [ "$all" = yes ]; then
  "$bench" scale kernel_log startup || status=2
fi
if [ "$go" = yes ]; then
  against_go || { [ "$status" -ne 0 ] || status=1; }
fi
exit "$status"
