#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays recorded cases and compares the verdicts with the goldens, byte for byte.

  replay.py CASE_DIR            run one case
  replay.py --update CASE_DIR   write its golden from what the program says now
  replay.py --catalogue         every pattern has its cases, its page and its schema
  replay.py --selftest          a wrong golden, exit status or warning is noticed

A case holds
  input/           what is read
  expected.ndjson  what `tracecore detect --json ARGS input` prints, run in the case's directory
  about.md         what it shows, and where it comes from
  args             optional: more arguments, one per line
  exit             optional: the exit status, where it is not 1 for verdicts and 0 for none
  stderr           optional: texts that standard error must contain, one per line
  map.csv          optional: for --map

The files of input/ are given once as a directory, then one by one in reverse and in mixed order:
the bytes must be the same each time. The program is $TC_BINARY, or build/release/tracecore.
"""

import json
import os
import pathlib
import subprocess
import sys

# Modules that most cases do not need are imported where they are used: there are 349 processes.

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PREFIXES = ("fires_", "stays_quiet_", "degrades_")


def binary():
    return os.environ.get("TC_BINARY", str(ROOT / "build/release/tracecore"))


def read_lines(path):
    return path.read_text().splitlines() if path.exists() else []


def orders(case):
    """Ways to name the same input."""
    yield "as a directory", ["input"]
    files = sorted(str(p.relative_to(case)) for p in (case / "input").rglob("*") if p.is_file())
    if len(files) > 1:
        yield "in reverse order", files[::-1]
    if len(files) > 2:
        import random

        mixed = files[:]
        random.Random(case.name).shuffle(mixed)
        yield "in mixed order", mixed


def detect(case, paths):
    command = [binary(), "detect", "--json", *read_lines(case / "args"), *paths]
    return subprocess.run(command, cwd=case, capture_output=True, timeout=120, check=False)


def pretty(ndjson):
    """The fields of verdicts, one per line, so that a difference can be read."""
    out = []
    for line in ndjson.decode(errors="replace").splitlines():
        try:
            out += json.dumps(json.loads(line), indent=1, ensure_ascii=False).splitlines()
        except ValueError:
            out.append(line)
    return out


def complaints(case):
    """What is wrong, as text; nothing when the case holds."""
    path = case / "expected.ndjson"
    golden = path.read_bytes() if path.exists() else b"there is no expected.ndjson\n"
    status = int((read_lines(case / "exit") or ["1" if golden else "0"])[0])
    seen = set()
    for name, paths in orders(case):
        run = detect(case, paths)
        if run.stdout != golden and run.stdout not in seen:
            import difflib

            seen.add(run.stdout)
            yield f"other verdicts, with the input {name}:\n" + "\n".join(
                difflib.unified_diff(
                    pretty(golden), pretty(run.stdout), "expected.ndjson", "now", lineterm=""
                )
            )
        if run.returncode != status:
            yield f"exit status {run.returncode} and not {status}, with the input {name}"
        said = run.stderr.decode(errors="replace")
        for text in read_lines(case / "stderr"):
            if text not in said:
                yield f"standard error does not say {text!r}, with the input {name}:\n{said}"


def check(case):
    wrong = list(complaints(case))
    for text in wrong:
        print(text)
    if wrong:
        print("\nIf it should be so:")
        print(f"  tests/replay/replay.py --update {os.path.relpath(case, ROOT)}")
    return 1 if wrong else 0


def update(case):
    run = detect(case, ["input"])
    (case / "expected.ndjson").write_bytes(run.stdout)
    sys.stderr.write(run.stderr.decode(errors="replace"))
    print("\n".join(pretty(run.stdout)))
    return 0


def catalogue():
    listed = subprocess.run(
        [binary(), "detect", "--list-patterns", "--json"], capture_output=True, check=True
    )
    wrong = []
    names = [json.loads(line)["pattern.name"] for line in listed.stdout.splitlines()]
    if not names:
        wrong.append("the program lists no patterns")
    for name in names:
        cases = sorted(p.parent.name for p in (HERE / name).glob("*/about.md"))
        for prefix in PREFIXES:
            if not any(case.startswith(prefix) for case in cases):
                wrong.append(f"tests/replay/{name} has no case {prefix}*")
        for page in (f"docs/patterns/{name}.md", f"schemas/verdict/{name}.schema.json"):
            if not (ROOT / page).is_file():
                wrong.append(f"there is no {page}")
    for folder in sorted(p.parent for p in HERE.glob("*/*/input")):
        if folder.parent.name not in (*names, "story"):
            wrong.append(f"{folder.relative_to(ROOT)}: there is no such pattern")
        for part in ("about.md", "expected.ndjson"):
            if not (folder / part).is_file():
                wrong.append(f"{folder.relative_to(ROOT)} has no {part}")
    print("\n".join(wrong) if wrong else f"{len(names)} patterns have what they need")
    return 1 if wrong else 0


def selftest():
    """An empty input has no verdicts: any other expectation must be noticed."""
    events = b'{"kind":"xid","time":"2026-03-04T05:06:00Z","k8s.node.name":"gpu-07","xid":79}\n'
    import tempfile

    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        case = pathlib.Path(folder)
        (case / "input").mkdir()
        (case / "input/events.ndjson").write_bytes(events)
        (case / "expected.ndjson").write_bytes(b"")
        if list(complaints(case)):
            wrong.append("a case that holds is complained about")
        for name, content in (("expected.ndjson", "{}\n"), ("exit", "1\n"), ("stderr", "xyzzy\n")):
            old = (case / name).read_bytes() if (case / name).exists() else None
            (case / name).write_text(content)
            if not list(complaints(case)):
                wrong.append(f"a wrong {name} is not noticed")
            (case / name).write_bytes(old) if old is not None else (case / name).unlink()
    print("\n".join(wrong) if wrong else "ok")
    return 1 if wrong else 0


def main(args):
    if args == ["--catalogue"]:
        return catalogue()
    if args == ["--selftest"]:
        return selftest()
    act = update if "--update" in args else check
    cases = [pathlib.Path(a).resolve() for a in args if a != "--update"]
    if not cases or any(not (case / "input").is_dir() for case in cases):
        print(__doc__)
        return 2
    return max(act(case) for case in cases)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
