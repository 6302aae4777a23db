#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: fetch_duckdb.sh DIR
#
# Puts DuckDB's library and header into DIR (libduckdb.so, duckdb.h, LICENSE), from the npm packages
# named below, which are checked against their pinned SHA-512 before anything of them is used. No
# script of a package is run. Nothing to do when they are there already. Several may run at once:
# each works in a folder of its own, and the first to end renames it into place.
set -eu

version=1.4.4
header=duckdb@$version
header_file=package/src/duckdb/src/include/duckdb.h
header_sha512=844249e61c9517454b8f776638ba6c5ab411d1bddde1892ab72826ea25178c72430e74aa83f5122b171be6abcdace84560f824b5ac94e9d5c2b603ea7269a9a2

die() {
  printf 'fetch_duckdb: %s\n' "$*" >&2
  exit 1
}

[ "$#" -eq 1 ] || die "usage: fetch_duckdb.sh DIR"
dir=$1
[ ! -f "$dir/libduckdb.so" ] || [ ! -f "$dir/duckdb.h" ] || exit 0

case $(uname -s)-$(uname -m) in
  Linux-x86_64)
    library=@duckdb/node-bindings-linux-x64@$version-r.3
    library_sha512=679f73a5421c662947066719a66c1f1708bafce0272a5550084f7f3468190854aa61e6fede28f91d0cb6ea1a75d06222bf71f151018877c1d5b3ddb1da3bdc91
    ;;
  Linux-aarch64)
    library=@duckdb/node-bindings-linux-arm64@$version-r.3
    library_sha512=a85dbf5a107e8bef22b3ad11ae94d8ff9667cb02146b2b818955d2b90e2bad19f59b582f7caa8fbe3c926e20e3620428ffa397bbf7dac74282d605e7356a0b10
    ;;
  *)
    die "no library is pinned for $(uname -s) $(uname -m); install DuckDB 1.x (library and duckdb.h) where the compiler finds it"
    ;;
esac
command -v npm >/dev/null 2>&1 ||
  die "npm is missing: install nodejs and npm, or DuckDB 1.x (library and duckdb.h) where the compiler finds it"

mkdir -p "$(dirname "$dir")" || die "cannot make $(dirname "$dir")"
work=$(mktemp -d "$dir.XXXXXX") || die "cannot make a folder beside $dir"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$work/packed" "$work/out"

# fetch PACKAGE SHA512 FILE...: the files of a package into $work/out.
fetch() {
  package=$1
  want=$2
  shift 2
  rm -f "$work"/packed/*.tgz
  (cd "$work/packed" && npm pack --silent --ignore-scripts "$package" >/dev/null) ||
    die "npm pack $package failed (is there a network?)"
  set -- "$(echo "$work"/packed/*.tgz)" "$@"
  [ -f "$1" ] || die "npm pack $package gave no file"
  have=$(sha512sum "$1")
  have=${have%% *}
  [ "$have" = "$want" ] ||
    die "$package is not what was pinned: SHA-512 $have, expected $want; nothing was installed"
  archive=$1
  shift
  for file in "$@"; do
    tar -xzOf "$archive" "$file" >"$work/out/${file##*/}" || die "$package holds no $file"
  done
}

fetch "$header" "$header_sha512" "$header_file"
fetch "$library" "$library_sha512" package/libduckdb.so package/LICENSE
chmod 0644 "$work"/out/*

# The rename fails when another was first: what it made is as good.
mv -T "$work/out" "$dir" 2>/dev/null || true
if [ ! -f "$dir/libduckdb.so" ] || [ ! -f "$dir/duckdb.h" ]; then
  die "$dir is there but has no libduckdb.so and duckdb.h; remove it and try again"
fi
