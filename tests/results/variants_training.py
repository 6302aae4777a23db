#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of training, collectives and storage as other versions, launchers and log collectors leave them.

usage: variants_training.py [NAME...]

Each case is made by hand after a shape that was met in public repositories, with the values that must
come out of it written beside it. $TC_BINARY is the program.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import compare
import variants_training_cases as cases

CUT_STEP = 149

def read(path):
    done = subprocess.run([os.environ["TC_BINARY"], "run", "read", "--json", str(path)], capture_output=True, timeout=120)
    said = done.stderr.decode("utf-8", "replace")
    lines = [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]
    return done.returncode, lines, said


def value_of(lines, key):
    """key: (table, column), or (metric, point, statistic) of the one slice with all words of point."""
    if len(key) == 2:
        found = [line[key[1]] for line in lines if key[0] in (line.get("table"), line.get("facts")) and key[1] in line]
        return found[0] if len(found) == 1 else found
    metric, point, statistic = key
    found = [line.get(statistic) for line in lines if line.get("metric") == metric
             and set(point.split()) <= set(line.get("point", "").split())]
    return found[0] if len(found) == 1 else found


def check(folder, case):
    path = folder / f"{case.name}.txt"
    path.write_bytes(case.text if isinstance(case.text, bytes) else case.text.encode("utf-8"))
    status, lines, said = read(path)
    wrong = []
    if status != 0:
        return [f"exits with {status}: {said[-400:]}"]
    readers = {line["reader"] for line in lines}
    if readers != {case.reader}:
        wrong.append(f"read by {readers}, not by {case.reader}")
    for key, want in case.values.items():
        have = value_of(lines, key)
        if have != want and not (isinstance(want, float) and isinstance(have, (int, float)) and abs(have - want) <= 1e-12 * abs(want)):
            wrong.append(f"{key}: {have!r} instead of {want!r}")
    notes = [line["note"] for line in lines if "note" in line]
    for words in case.notes:
        if not any(words in note for note in notes):
            wrong.append(f"no note '{words}': {notes}")
    if len(notes) != len(case.notes):
        wrong.append(f"{len(notes)} notes instead of {len(case.notes)}: {notes}")
    if any(line.get("contradiction") for line in lines):
        wrong.append(f"a contradiction: {notes}")
    return wrong


def check_cut(folder, case):
    """Cut off anywhere: never a crash, and an error that is said."""
    content = case.text.encode("utf-8")
    paths = []
    for size in range(1, len(content), CUT_STEP):
        paths.append(folder / f"{case.name}_{size}")
        paths[-1].write_bytes(content[:size])
    done = subprocess.run([os.environ["TC_BINARY"], "run", "read", *map(str, paths)], capture_output=True, timeout=300)
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode not in (0, 1, 2) or "Sanitizer" in said or (done.returncode == 2 and not said):
        return [f"cut off: exits with {done.returncode}: {said[-600:]}"]
    return []


def check_bad(folder, name, content, words):
    path = folder / name
    path.write_bytes(content)
    status, _, said = read(path)
    return [] if status == 2 and words in said else [f"exits with {status}, lacks '{words}': {said[-300:]}"]


def main():
    if "TC_BINARY" not in os.environ:
        print(__doc__)
        return 2
    failed = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in cases.all_cases():
            if len(sys.argv) > 1 and case.name not in sys.argv[1:]:
                continue
            count += 1
            for line in check(pathlib.Path(folder), case) + check_cut(pathlib.Path(folder), case):
                print(f"{case.name}: {line}")
                failed += 1
        for name, tool, text in cases.readings():
            path = pathlib.Path(folder) / f"{name}.log"
            path.write_text(text, encoding="utf-8", newline="")
            count += 1
            for line in compare.differences(path, tool, 1e-12):
                print(f"{name}: {line}")
                failed += 1
        for name, content, words in cases.bad_cases():
            for line in check_bad(pathlib.Path(folder), name, content, words):
                print(f"{name}: {line}")
                failed += 1
    print(f"{count} cases as expected" if failed == 0 else f"{failed} are wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
