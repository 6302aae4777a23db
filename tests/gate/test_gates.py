#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Both benchmark gates, on this build: they pass as they are, and each goes red when it must."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(os.environ["TC_SOURCE_DIR"])
FILES = {"registry": ROOT / "bench/registry.tsv", "baseline": ROOT / "bench/baseline/detectors.tsv",
         "detectors": ROOT / "src/detect/detectors.def"}
NO_VALGRIND = dict(os.environ, PATH="/nonexistent")

failed = 0


def expect(status, says, what, arguments, env=None):
    global failed
    result = subprocess.run([sys.executable, "-B", ROOT / "bench/gate.py", *arguments], env=env,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    good = result.returncode == status and says in result.stdout
    print(f"{'ok' if good else 'FAILED'}: {what} (exit {result.returncode})")
    if not good:
        print(f"expected exit {status} and {says!r} in:\n{result.stdout}")
        failed = 1


def sub(pattern, replacement):
    """A change of a file that must change it."""
    def change(text):
        changed = re.sub(pattern, replacement, text, flags=re.M)
        assert changed != text, pattern
        return changed
    return change


def scale(name, factor):
    """The first number of a row, times a factor."""
    return sub(rf"^({name}\t)([\d.]+)", lambda m: f"{m[1]}{float(m[2]) * factor:.1f}")


def doubled(text):
    return text + text.splitlines()[-1] + "\n"


def last_row_raised(text):
    """The last row is read although no newline ends it."""
    return re.sub(r"\t0\n\Z", "\t1", text)


# what, exit status, what is said, and the changes of the files that the gate reads
MUTATIONS = [
    ("a raised ceiling", 1, "lower it", {"registry": sub(r"^(nccl_hang\t1024\t)0$", r"\g<1>1")}),
    ("allocations above the ceiling", 1, "BREACH straggler: allocs/event 0.5 > ceiling 0",
     {"check": sub(r'("straggler".*"allocs_per_event": )0', r"\g<1>0.5")}),
    ("instructions above the baseline", 1, "BREACH pod_evicted: instructions/event",
     {"baseline": scale("pod_evicted", 0.8)}),
    ("a doubled baseline", 1, "BREACH hbm_ecc: baseline", {"baseline": scale("hbm_ecc", 2)}),
    ("a baseline 20 % too high", 1, "lower it", {"baseline": scale("xid_correlation", 1.2)}),
    ("heap bytes above the baseline", 1, "bytes/event 1 > baseline 0",
     {"check": sub(r'"bytes_per_event": 0', '"bytes_per_event": 1')}),
    ("an empty registry", 2, "no row for detector", {"registry": lambda text: ""}),
    ("a registry of comments", 2, "no row for detector", {"registry": sub(r"^(?=\w)", "# ")}),
    ("a deleted row of the registry", 2, "no row for detector pcie_aer", {"registry": sub(r"^pcie_aer.*\n", "")}),
    ("a deleted last row of the registry", 2, "no row for detector xid_correlation",
     {"registry": sub(r"^xid_correlation.*\n", "")}),
    ("a deleted row of the baseline", 2, "no row for detector pcie_aer", {"baseline": sub(r"^pcie_aer.*\n", "")}),
    ("an empty baseline", 2, "no row for detector", {"baseline": lambda text: ""}),
    ("a doubled row of the registry", 2, "has two rows", {"registry": doubled}),
    ("a doubled row of the baseline", 2, "has two rows", {"baseline": doubled}),
    ("a registry without a final newline, as it is", 0, "", {"registry": lambda text: text[:-1]}),
    ("a raised last row without a final newline", 1, "BREACH xid_correlation", {"registry": last_row_raised}),
    ("a row of no detector", 2, "no_such_detector is not a detector",
     {"registry": lambda text: text + "no_such_detector\t1024\t0\n"}),
    ("a detector without rows", 2, "no row for detector new_one",
     {"detectors": lambda text: text + "DETECTOR(new_one)\n"}),
    ("a list without detectors", 2, "no list of detectors", {"detectors": lambda text: "/* none */\n"}),
    ("another window", 2, "as the registry has it", {"registry": sub(r"^(nccl_hang\t)1024", r"\g<1>2048")}),
    ("a row without its window", 2, "numbers are needed", {"registry": sub(r"^(nccl_hang\t)1024\t", r"\g<1>")}),
    ("a ceiling that is no number", 2, "not a number", {"registry": sub(r"^(nccl_hang\t1024\t)0", r"\g<1>nan")}),
    ("a baseline that is no number", 2, "not a number", {"baseline": sub(r"^(nccl_hang\t)[\d.]+", r"\g<1>inf")}),
    ("a baseline below 0", 2, "not a number", {"baseline": sub(r"^(nccl_hang\t)", r"\g<1>-")}),
    ("a detector that was not measured", 2, "no row for detector hbm_ecc", {"check": sub(r'^.*"hbm_ecc".*\n', "")}),
    ("a detector that was measured twice", 2, "measured twice", {"check": doubled}),
    ("a measurement without its allocations", 2, "no allocs_per_event",
     {"check": sub(r'"allocs_per_event": [^,]*, ', "")}),
    ("a measurement without its instructions", 2, "no instructions_per_event",
     {"check": sub(r', "instructions_per_event": [\d.]+', "")}),
    ("no measurements", 2, "no row for detector", {"check": lambda text: ""}),
]


def mutate(folder, measurements):
    for what, status, says, changes in MUTATIONS:
        arguments = ["--check", str(measurements)]
        for name, change in changes.items():
            source = measurements if name == "check" else FILES[name]
            Path(folder, name).write_text(change(source.read_text()))
            arguments += [f"--{name}", f"{folder}/{name}"]
        expect(status, says, what, arguments)


def main():
    with tempfile.TemporaryDirectory() as folder:
        measurements = Path(folder, "measurements")
        expect(0, "nccl_hang", "allocations are gated without valgrind", ["--allocs"], NO_VALGRIND)
        expect(2, "--allocs", "all of it needs valgrind", [], NO_VALGRIND)
        expect(2, "No such file", "a program that is not built", ["--allocs"], dict(os.environ, TC_BINARY="/none"))
        if not shutil.which("valgrind"):
            print("valgrind is not installed: the rest is skipped")
            return failed or 77
        expect(0, "", "everything can be measured", ["--measure", str(measurements)])
        expect(0, "nccl_hang", "the gates pass as committed", ["--check", str(measurements)])
        if not failed:
            mutate(folder, measurements)
    return failed


sys.exit(main())
