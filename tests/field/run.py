#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small incidents in the formats of real programs: half of them must be told, half must not.

  run.py [REGEX]       run the cases whose name matches, all of them without one
  run.py --pattern P   run those of one pattern
  run.py --show NAME   run one and print everything
  run.py --selftest    a wrong verdict, a false alarm and a gap that closed are noticed

The cases were written by people who had not seen the program, from what real programs print. A case
is held to what it expects, no more: goldens are the business of tests/replay. The program is
$TC_BINARY, or build/release/tracecore.
"""

import contextlib
import importlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from field import CASES, Case, mismatch
from when import moment

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
import severity

SCALE = severity.read_table(severity.PAGE.read_text())
MODULES = sorted(p.stem for p in HERE.glob("*.py") if "\ncase = Pattern(" in p.read_text())
# A file is as old as this, in seconds of the morning, unless its case says otherwise.
WRITTEN = 3600

# Cases that are right and that the program does not hold yet. One that holds leaves the table.
KNOWN_GAPS = {}


def binary():
    return os.environ.get("TC_BINARY", str(HERE.parent.parent / "build/release/tracecore"))


def write(case, folder):
    for name, content in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        at = moment(case.times.get(name, WRITTEN)).timestamp()
        os.utime(path, (at, at))


def detect(case):
    """The program's run, and the last verdict of each incident."""
    with tempfile.TemporaryDirectory(prefix="field-") as folder:
        write(case, pathlib.Path(folder))
        paths = [] if "." in case.args else sorted(case.files)  # "." is the folder as a whole
        command = [binary(), "detect", "--json", *case.args, *paths]
        run = subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=False)
    last = {}
    for line in run.stdout.splitlines():
        verdict = json.loads(line)
        last[verdict["incident_id"]] = verdict
    return run, list(last.values())


def complaints(case, run, verdicts):
    """What is wrong, as words; empty when the case holds."""
    if run.returncode != case.exit:
        yield f"exit status {run.returncode}, not {case.exit}"
    yield from filter(None, (severity.complaint(SCALE, v) for v in verdicts))
    left = list(verdicts)
    for expected in case.expected:
        same = [v for v in left if v["pattern.name"] == expected["pattern"]]
        if not same:
            yield f"no {expected['pattern']}"
            continue
        # Of several the one that fits best.
        best = min(same, key=lambda v: len(mismatch(v, expected)))
        left.remove(best)
        for wrong in mismatch(best, expected):
            yield f"{expected['pattern']}: {wrong}"
    for verdict in left:
        yield f"not expected: {verdict['pattern.name']} {verdict['discriminator']}"


def tell(case, run, verdicts):
    for verdict in verdicts:
        words = ("pattern.name", "discriminator", "confidence", "status", "headline")
        print("   said:", " | ".join(str(verdict[w]) for w in words))
    for line in run.stderr.decode(errors="replace").splitlines()[:4]:
        print("   stderr:", line)
    if case.why:
        print("   why:", case.why)


def run_all(names):
    failed = 0
    for name in names:
        case = CASES[name]
        run, verdicts = detect(case)
        wrong = list(complaints(case, run, verdicts))
        if name in KNOWN_GAPS:
            if wrong:
                print(f"gap  {name}: {KNOWN_GAPS[name]}")
                continue
            wrong = ["it holds: take it out of KNOWN_GAPS"]
        if wrong:
            failed += 1
            print(f"FAIL {name} ({case.pattern}): {'; '.join(wrong)}")
            tell(case, run, verdicts)
    return failed


def selftest():
    """The program's answer to one case, held against wrong expectations."""
    case = CASES["ecc_f01_xid48_dmesgT"]
    run, verdicts = detect(case)
    others = {
        "a false alarm": [],
        "a missing verdict": case.expected + [{"pattern": "pcie_aer"}],
        "a wrong field": [dict(case.expected[0], disc="contained")],
    }
    missed = [
        what
        for what, expected in others.items()
        if not list(complaints(Case(**{**vars(case), "expected": expected}), run, verdicts))
    ]
    KNOWN_GAPS[case.name] = "selftest"
    with contextlib.redirect_stdout(io.StringIO()):
        if run_all([case.name]) != 1:
            missed.append("a gap that closed")
    unknown = sorted(set(KNOWN_GAPS) - set(CASES))
    return missed + [f"{name}, which is no case" for name in unknown]


def main(arguments):
    for module in MODULES:
        importlib.import_module(module)
    if arguments == ["--selftest"]:
        missed = selftest()
        for what in missed:
            print(f"not noticed: {what}")
        return 1 if missed else 0
    if len(arguments) == 2 and arguments[0] == "--show":
        case = CASES[arguments[1]]
        run, verdicts = detect(case)
        tell(case, run, verdicts)
        print("\n".join(complaints(case, run, verdicts)) or "holds")
        return 0
    if len(arguments) == 2 and arguments[0] == "--pattern":
        names = [name for name, case in CASES.items() if case.pattern == arguments[1]]
    elif len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        sys.exit(__doc__)
    else:
        names = [name for name in CASES if re.search(arguments[0] if arguments else ".", name)]
    failed = run_all(names)
    quiet = sum(1 for name in names if not CASES[name].expected)
    print(f"{len(names)} cases, {quiet} of them silent: {failed} failed")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
