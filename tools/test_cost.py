#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each test costs: processor time (user and system, with all processes that it waits for).

usage: tools/test_cost.py [--preset asan|release] [--node] [--jobs N] [REGEX]

Runs the tests of build/PRESET whose name matches, and prints one line for each, the dearest first:
seconds of processor time, of them user and system, thousands of page faults, wall time, exit status,
name. In the release build, only its own tests: those labelled gate; in others, all but those. --node:
instead, the files of tests/e2e and tests/schema, against build/release/tracecore. Children that nobody
waits for are not counted.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def of_ctest(preset):
    """(name, command, folder, environment) of each test of a build."""
    out = subprocess.run(["ctest", "--test-dir", ROOT / "build" / preset, "--show-only=json-v1"],
                         stdout=subprocess.PIPE, check=True).stdout
    for test in json.loads(out)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        gate = "gate" in properties.get("LABELS", [])
        if "command" in test and gate == (preset == "release"):
            environment = dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
            yield test["name"], test["command"], properties.get("WORKING_DIRECTORY", ROOT), environment


def of_node():
    environment = {"TC_SOURCE_DIR": str(ROOT), "TC_BINARY": str(ROOT / "build/release/tracecore"),
                   "TC_SAMPLES": str(ROOT.parent / "shared/samples")}
    for folder in ("e2e", "schema"):
        for path in sorted((ROOT / "tests" / folder).glob("*.test.mjs")):
            yield str(path.relative_to(ROOT)), ["node", "--test", str(path)], ROOT, environment


def cost(test):
    name, command, folder, environment = test
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
        os.chdir(folder)
        os.execvpe(command[0], command, {**os.environ, **environment})
    _, status, used = os.wait4(pid, 0)
    wall = time.monotonic() - began
    code = os.waitstatus_to_exitcode(status)
    print(f"{used.ru_utime + used.ru_stime:8.2f} status {code} {name}", file=sys.stderr, flush=True)
    return (used.ru_utime + used.ru_stime, used.ru_utime, used.ru_stime, used.ru_minflt / 1000, wall, code,
            name)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--preset", default="asan")
    parser.add_argument("--node", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("regex", nargs="?", default=".")
    options = parser.parse_args()
    tests = of_node() if options.node else of_ctest(options.preset)
    chosen = [test for test in tests if re.search(options.regex, test[0])]
    with ThreadPoolExecutor(options.jobs) as pool:
        costs = sorted(pool.map(cost, chosen), reverse=True)
    for line in costs:
        print("%8.2f user %7.2f sys %6.2f faults %6.0f wall %7.2f status %d %s" % line)
    print("%8.2f user %7.2f sys %6.2f faults %6.0f of %d tests"
          % (*(sum(c[i] for c in costs) for i in range(4)), len(costs)))


if __name__ == "__main__":
    main()
