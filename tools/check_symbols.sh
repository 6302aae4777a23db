#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: check_symbols.sh BUILD-DIR | --selftest
#
# External symbols of the rooms' archives (BUILD-DIR/libtc_*.a) must start with tc_ (tc__ is
# external but private to its room). Exceptions: main, LLVMFuzzerTestOneInput, weak C++ symbols
# of json.cpp, the allocator's names in alloc_count.c, and what sanitizers and coverage add. Prints archive:object: symbol, exits 1.
set -eu

# The plugin-aware nm reads the objects of a link-time-optimised build as well.
nm="nm"
if command -v gcc-nm >/dev/null 2>&1; then
  nm=gcc-nm
fi

# Reads `nm -A` lines: archive:object:address type name.
filter() {
  awk '
    {
      name = $NF
      type = $(NF - 1)
      where = $1
      sub(/:[0-9a-fA-F]*$/, "", where)
    }
    name ~ /^tc_/ || name == "main" || name == "LLVMFuzzerTestOneInput" { next }
    where ~ /json\.cpp\.o$/ && type ~ /^[WVu]$/ && name ~ /^(_Z|DW\.ref\.)/ { next }
    where ~ /alloc_count\.c\.o$/ && name ~ /^(malloc|calloc|realloc|aligned_alloc|posix_memalign)$/ { next }
    name ~ /^(__odr_asan|__asan_|__sancov|__prof[cdvn]_|__llvm_|__covrec_|__emutls)/ { next }
    { print where ": " name " (" type ")"; bad = 1 }
    END { exit bad }
  '
}

check() {
  found=0
  failed=0
  for archive in "$1"/libtc_*.a; do
    [ -f "$archive" ] || continue
    # The tests support library is no room.
    case $archive in */libtc_testing.a) continue ;; esac
    found=$((found + 1))
    "$nm" -A -g --defined-only "$archive" 2>/dev/null | sed "s|^$1/||" | filter || failed=1
  done
  if [ "$found" -eq 0 ]; then
    echo "check_symbols: no libtc_*.a in $1: skipped" >&2
    exit 77
  fi
  return "$failed"
}

expect() {
  if printf '%s\n' "$2" | filter >/dev/null; then got=passes; else got=fails; fi
  if [ "$got" != "$1" ]; then
    echo "selftest: expected $1: $2"
    bad=1
  fi
}

selftest() {
  bad=0
  expect passes 'libtc_base.a:arena.c.o:0000000000000000 T tc_arena_init'
  expect passes 'libtc_base.a:arena.c.o:0000000000000000 T tc__arena_grow'
  expect passes 'libtc_base.a:json.cpp.o:0000000000000000 W _ZN8simdjson6parserD1Ev'
  expect passes 'libtc_base.a:a.c.o:0000000000000001 B __odr_asan.tc_x'
  expect fails 'libtc_base.a:arena.c.o:0000000000000000 T arena_init'
  expect fails 'libtc_base.a:arena.c.o:0000000000000000 D tcount'
  expect fails 'libtc_base.a:arena.c.o:0000000000000008 C counter'
  expect fails 'libtc_base.a:json.cpp.o:0000000000000000 T _Z5parsev'
  expect fails 'libtc_base.a:arena.c.o:0000000000000000 W _ZN8simdjson6parserD1Ev'
  return "$bad"
}

case ${1-} in
  --selftest) selftest ;;
  '' | -*)
    sed -n 's/^# \{0,1\}//; 3,7p' "$0" >&2
    exit 2
    ;;
  *) check "${1%/}" ;;
esac
