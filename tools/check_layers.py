#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the #include lines of src/ against the direction of dependency between the rooms.

usage: check_layers.py [--root DIR] [--selftest] [--help]

The table of rooms is the tc_room() lines of cmake/rooms.cmake, so what links and what may be
included cannot drift apart. A header named priv.h is private to its folder, one named *_priv.h to
its room. A room that the table allows and no file includes is a breach too: the table says what is
used. Prints file:line for each breach and exits 1 if there is one.
--selftest proves on made-up trees that every rule goes red.
"""
import argparse
import pathlib
import re
import sys
import tempfile

INCLUDE = re.compile(r'^[ \t]*#[ \t]*(?:include|embed)[ \t]*(?:"([^"]+)"|<([^>]+)>)')
ROOM = re.compile(r"^tc_room\(([a-z_]+)((?:[ \t]+[a-z_]+)*)\)", re.M)
SUFFIXES = {".c", ".h", ".cpp", ".def"}
CPP_FILE = "base/json/json.cpp"

# Third-party headers: (pattern, where it may be included, in words). The first match decides.
# A place is a room, or one file of it.
THIRD_PARTY = [
    (r"duckdb\.h$", {"warehouse"}),
    (r"(event2/|event\.h$|evhttp\.h$)", {"net", "server"}),
    (r"nghttp2/", {"net"}),
    (r"openssl/(ssl|ssl2|ssl3|tls1|dtls1|srtp)\.h$", {"net"}),
    (r"openssl/(bio|err|pem|x509|x509v3|x509_vfy)\.h$", {"base", "evidence", "net"}),
    (r"openssl/", {"base", "evidence"}),
    (r"simdjson", {CPP_FILE}),
    (r"curl/", {"http_client"}),
    (r"archive(_entry)?\.h", {"intake"}),
    (r"libfyaml\.h$", {"base"}),
    (r"zstd(_errors)?\.h$", {"evidence", "net"}),
    (r"lz4\.h$", {"evidence"}),
    (r"zlib\.h$", {"http_client", "net"}),
    (r"http_parser\.h$", {"net"}),
]

# These rooms are pure: a recorded day replays identically. No files, sockets or threads.
PURE = {"alert", "codec", "detect", "engine", "live", "score", "sim", "stats", "story", "verdict"}
CLOCK = "base/clock.h"
IMPURE_HEADERS = re.compile(
    r"(pthread|threads|unistd|fcntl|dirent|poll|signal|netdb)\.h$"
    r"|sys/(socket|stat|mman|epoll|file|time|select|uio|un)\.h$|(netinet|arpa)/"
)


def read_table(root):
    """room -> the set of rooms it may include, itself among them."""
    text = (root / "cmake" / "rooms.cmake").read_text(encoding="utf-8")
    table = {room: {room, *lower.split()} for room, lower in ROOM.findall(text)}
    if "base" not in table:
        sys.exit("check_layers: no tc_room() lines in cmake/rooms.cmake")
    return table


def check_quoted(table, room, name, target):
    """What is wrong with #include "target" in the file name of room; None if nothing is."""
    parts = target.split("/")
    if len(parts) < 2 or ".." in parts or parts[0] not in table:
        return f'include "{target}" by room: "room/file.h"'
    if parts[0] not in table[room]:
        return f'{room} may not include "{target}" (it may include: {allowed(table, room)})'
    if room in PURE and target == CLOCK:
        return f'"{target}" in {room}: the room is pure (no files, sockets, clock or threads)'
    if parts[-1] == "priv.h" and parts[:-1] != name.split("/")[:-1]:
        return f'"{target}" is private to src/{"/".join(parts[:-1])}'
    if parts[0] != room and parts[-1].endswith("_priv.h"):
        return f'"{target}" is private to {parts[0]}'
    return None


def allowed(table, room):
    return " ".join(sorted(table[room] - {room})) or "nothing"


def check_third_party(room, name, target):
    """The same for a header that is not ours, quoted or not."""
    for pattern, places in THIRD_PARTY:
        if re.match(pattern, target):
            if room in places or name in places:
                return None
            return f"<{target}> belongs only in {' and '.join(sorted(places))}"
    if room in PURE and IMPURE_HEADERS.match(target):
        return f"<{target}> in {room}: the room is pure (no files, sockets, clock or threads)"
    return None


def check_file(table, root, path, used):
    """Yields the breaches of a file; adds to used the rooms that it includes."""
    src = root / "src"
    name = path.relative_to(src).as_posix()
    shown = path.relative_to(root).as_posix()
    room = name.split("/")[0]
    if "/" not in name or room not in table:
        yield f"{shown}:1: not in a room of cmake/rooms.cmake"
        return
    if path.suffix == ".cpp" and name != CPP_FILE:
        yield f"{shown}:1: src/{CPP_FILE} is the only C++ file"
    text = path.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        quoted, system = found.groups()
        wrong = check_third_party(room, name, quoted or system)
        if wrong is None and quoted and not is_third_party(quoted):
            wrong = check_quoted(table, room, name, quoted)
            used.setdefault(room, set()).add(quoted.split("/")[0])
        if wrong is None and system and system.split("/")[0] in table and "/" in system:
            wrong = f"our own <{system}> is included with quotes"
        if wrong:
            yield f"{shown}:{number}: {wrong}"


def is_third_party(target):
    return any(re.match(pattern, target) for pattern, _ in THIRD_PARTY)


def check_tree(root):
    table = read_table(root)
    breaches = []
    used = {}
    for path in sorted((root / "src").rglob("*")):
        if path.suffix in SUFFIXES and path.is_file():
            breaches.extend(check_file(table, root, path, used))
    return breaches, unused(table, used)


def unused(table, used):
    """What the table allows to a room and no file of it includes."""
    return [f"cmake/rooms.cmake: {room} includes nothing of {lower}: take it out of its line"
            for room in table for lower in sorted(table[room] - {room} - used.get(room, set()))]


# (file, its line 1, a word of the complaint; None means it must pass)
CASES = [
    ("base/a.c", '#include "event/event.h"', "may not include"),
    ("base/a.c", '#include "base/arena.h"', None),
    ("event/a.h", '#include "codec/kmsg.h"', "may not include"),
    ("event/a.h", '  #  include "base/slice.h"', None),
    ("codec/a.c", '#include "detect/detector.h"', "may not include"),
    ("detect/a.c", '#include "codec/kmsg.h"', "may not include"),
    ("detect/a.c", '#include "engine/window.h"', "may not include"),
    ("verdict/a.c", '#include "detect/detector.h"', "may not include"),
    ("engine/a.c", '#include "verdict/render.h"', "may not include"),
    ("engine/a.c", '#include "detect/detector.h"', None),
    ("evidence/a.c", '#include "warehouse/warehouse.h"', "may not include"),
    ("warehouse/a.c", '#include "run/run.h"', "may not include"),
    ("warehouse/a.c", '#include "base/slice.h"', None),
    ("run/a.c", '#include "server/daemon.h"', "may not include"),
    ("run/a.c", '#include "detect/detector.h"', "may not include"),
    ("result/a.c", '#include "run/import.h"', "may not include"),
    ("net/a.c", '#include "codec/otlp/wire.h"', "may not include"),
    ("detect/hbm_ecc/a.c", '#include "detect/hbm_ecc/priv.h"', None),
    ("detect/hbm_ecc/a.c", '#include "detect/nccl_hang/priv.h"', "private to src/detect/nccl_hang"),
    ("detect/a.c", '#include "detect/nccl_hang/priv.h"', "private to src/detect/nccl_hang"),
    ("detect/hbm_ecc/a.c", '#include "detect/window_priv.h"', None),
    ("detect/hbm_ecc/a.c", '#include "codec/kmsg/codec.h"', "may not include"),
    ("server/a.c", '#include "cli/cmd.h"', "may not include"),
    ("server/a.c", '#include "net/net.h"', None),
    ("cli/a.c", '#include "server/loop.h"', None),
    ("codec/a.c", '#include "base/arena_priv.h"', "private to base"),
    ("base/a.c", '#include "base/arena_priv.h"', None),
    ("base/a.c", '#include "arena.h"', "by room"),
    ("base/a.c", '#include "../event/event.h"', "by room"),
    ("cli/a.c", "#include <event/event.h>", "with quotes"),
    ("cellar/a.c", "int x;", "not in a room"),
    ("cli/a.c", "#include <duckdb.h>", "only in warehouse"),
    ("cli/a.c", '#include "duckdb.h"', "only in warehouse"),
    ("warehouse/a.c", "#include <duckdb.h>", None),
    ("cli/a.c", "#include <event2/event.h>", "only in net and server"),
    ("server/a.c", "#include <event2/event.h>", None),
    ("server/a.c", "#include <nghttp2/nghttp2.h>", "only in net"),
    ("server/a.c", "#include <openssl/ssl.h>", "only in net"),
    ("net/a.c", "#include <openssl/ssl.h>", None),
    ("warehouse/a.c", "#include <openssl/evp.h>", "only in base and evidence"),
    ("server/a.c", "#include <openssl/sha.h>", "only in base"),
    ("base/a.c", "#include <openssl/evp.h>", None),
    ("base/a.c", "#include <simdjson.h>", "only in base/json/json.cpp"),
    ("codec/a.c", "#include <simdjson.h>", "only in base/json/json.cpp"),
    ("base/json/json.cpp", "#include <simdjson.h>", None),
    ("codec/b.cpp", "int x;", "only C++ file"),
    ("server/a.c", "#include <curl/curl.h>", "only in http_client"),
    ("http_client/a.c", "#include <curl/curl.h>", None),
    ("codec/a.c", "#include <libfyaml.h>", "only in base"),
    ("base/a.c", "#include <libfyaml.h>", None),
    ("http_client/a.c", "#include <openssl/ssl.h>", "only in net"),
    ("http_client/a.c", "#include <http_parser.h>", "only in net"),
    ("http_client/a.c", "#include <zlib.h>", None),
    ("detect/a.c", "#include <pthread.h>", "pure"),
    ("codec/a.c", "#include <sys/socket.h>", "pure"),
    ("engine/a.c", "#include <unistd.h>", "pure"),
    ("verdict/a.c", "#include <fcntl.h>", "pure"),
    ("cli/a.c", "#include <unistd.h>", None),
    ("live/a.c", '#include "base/clock.h"', "pure"),
    ("server/a.c", '#include "base/clock.h"', None),
    ("codec/a.c", "#include <string.h>", None),
]


def selftest(root):
    rooms = (root / "cmake" / "rooms.cmake").read_text(encoding="utf-8")
    failed = 0
    for name, line, expected in CASES:
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            (tree / "cmake").mkdir()
            (tree / "cmake" / "rooms.cmake").write_text(rooms, encoding="utf-8")
            path = tree / "src" / name
            path.parent.mkdir(parents=True)
            path.write_text(line + "\n", encoding="utf-8")
            got, _ = check_tree(tree)
        good = not got if expected is None else len(got) == 1 and (
            expected in got[0] and got[0].startswith(f"src/{name}:1: "))
        if not good:
            failed += 1
            print(f"selftest: {name}: {line}: expected {expected or 'no breach'}, got {got}")
    if unused({"a": {"a", "base"}}, {"a": {"a"}}) == [] or unused({"a": {"a", "base"}}, {"a": {"base"}}):
        failed += 1
        print("selftest: a room that is allowed and not used")
    print(f"check_layers: selftest: {len(CASES) - failed} of {len(CASES)} cases as expected")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent,
                        help="top of the tree to check (default: this one)")
    parser.add_argument("--selftest", action="store_true", help="prove that every rule goes red")
    args = parser.parse_args()
    if args.selftest:
        return selftest(args.root)
    breaches = [b for found in check_tree(args.root) for b in found]
    for breach in breaches:
        print(breach)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
