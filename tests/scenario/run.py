#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scenarios that share nothing with the simulator: other words, other timing.

  run.py SCENARIO          write it, run detect over it and score the verdicts: nothing may be
                           missed, made up, or put down to somebody else
  run.py --keep DIR NAME   the same, in a new folder DIR, which stays
  run.py --selftest        with a knob turned a little to either side, other_timing fails

The detectors are written from the catalogue and from real data. What they owe to the simulator's
habits shows here. The program is $TC_BINARY, or build/release/tracecore.
"""

import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SCENARIOS = ("other_timing", "other_wordings")
# No miss is known. One that cannot be mended would be stated here, with its reason.
BOUNDS = ["--min-precision", "1", "--min-recall", "1", "--min-culprit", "1"]

# Knobs just beyond what other_timing has on either side of the threshold.
TURNED = [
    "checkpoint_stall.threshold=598s",
    "checkpoint_stall.threshold=603s",
    "checkpoint_stall.window=230s",
    "checkpoint_stall.window=320s",
    "dataloader_hang.threshold=118s",
    "dataloader_hang.threshold=123s",
    "dataloader_hang.window=100s",
    "hbm_ecc.corrected=99",
    "hbm_ecc.corrected=101",
    "host_oom.window=58s",
    "host_oom.window=62s",
    "nccl_hang.threshold=297s",
    "nccl_hang.threshold=302s",
    "network_link_fault.flaps=2",
    "network_link_fault.flaps=4",
    "network_link_fault.hold=57s",
    "network_link_fault.hold=63s",
    "network_link_fault.window=590s",
    "network_link_fault.window=660s",
    "nvlink_degraded.crc_errors=1001",
    "nvlink_degraded.crc_errors=999",
    "pcie_aer.busy_for=29s",
    "pcie_aer.busy_for=32s",
    "pcie_aer.corrected=49",
    "pcie_aer.corrected=51",
    "pod_evicted.window=280s",
    "pod_evicted.window=320s",
    "straggler.margin_percent=18",
    "straggler.margin_percent=22",
    "thermal_throttle.sustained=29s",
    "thermal_throttle.sustained=32s",
    "xid_correlation.window=280s",
    "xid_correlation.window=320s",
]


def tracecore(*arguments, folder):
    binary = os.environ.get("TC_BINARY", str(HERE.parent.parent / "build/release/tracecore"))
    run = subprocess.run([binary, *arguments], cwd=folder, capture_output=True, timeout=120,
                         check=False)
    return run.returncode, run.stdout.decode(), run.stderr.decode()


def detect(cluster, folder, *knobs):
    """The verdicts go to a hidden file: detect leaves it alone. Returns what went wrong."""
    status, verdicts, said = tracecore("detect", "--json", "--quiet", *cluster.args, *knobs, ".",
                                       folder=folder)
    (folder / ".verdicts").write_text(verdicts)
    return [f"detect: exit status {status}: {said}"] if status > 1 else []


def unsure(cluster, folder):
    """Verdicts that are surer than they may be, or less sure than they should."""
    for fault in cluster.truth:
        want = cluster.sure.get(fault["id"])
        if want is None:
            continue
        pattern, culprit = fault["pattern"], fault["culprit"]
        got = None
        for line in (folder / ".verdicts").read_text().splitlines():
            verdict = json.loads(line)
            if verdict["pattern.name"] == pattern and culprit.items() <= verdict.items():
                got = verdict["confidence"]
        if got != want:
            yield f"{pattern} {fault['id']} ({fault['what']}): confidence is {got}, not {want}"


def score(cluster, folder):
    """What is wrong with the verdicts, as words; empty when nothing is."""
    pair = ("--truth", "truth.ndjson", ".verdicts")
    status, answer, said = tracecore("score", "--json", *BOUNDS, *pair, folder=folder)
    if status != 0:
        return [said + tracecore("score", *pair, folder=folder)[1]]
    share = json.loads(answer)["all"]["discriminator_accuracy"]
    wrong = [] if share == 1 else [f"of the discriminators, only {share} are right"]
    return wrong + list(unsure(cluster, folder))


def notices(cluster, folder, pattern):
    """Whether the verdicts of one pattern are wrong."""
    _, answer, _ = tracecore("score", "--json", "--truth", "truth.ndjson", ".verdicts",
                             folder=folder)
    row = next(row for row in json.loads(answer)["patterns"] if row["pattern"] == pattern)
    wrong = row["false_positives"] + row["false_negatives"]
    return wrong > 0 or any(pattern in words for words in unsure(cluster, folder))


def check(name, folder):
    cluster = importlib.import_module(name).tell()
    cluster.put(folder)
    wrong = detect(cluster, folder) + score(cluster, folder)
    faults = sum(1 for item in cluster.truth if item["truth"] == "fault")
    print(f"{name}: {faults} faults, {len(cluster.truth) - faults} noises: "
          f"{'FAILED' if wrong else 'ok'}")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


def selftest(folder):
    cluster = importlib.import_module("other_timing").tell()
    cluster.put(folder)
    failed = 0
    for knob in ["", *TURNED]:
        pattern = knob.partition(".")[0] or "straggler"
        broken = detect(cluster, folder, "--only", pattern, *(("--set", knob) if knob else ()))
        if broken or notices(cluster, folder, pattern) != bool(knob):
            print("not noticed:" if knob else "wrong as it is", knob, *broken)
            failed = 1
    return failed


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "--keep" and arguments[2] in SCENARIOS:
        folder = pathlib.Path(arguments[1])
        folder.mkdir(parents=True)
        return check(arguments[2], folder)
    with tempfile.TemporaryDirectory(prefix="scenario-") as folder:
        if arguments == ["--selftest"]:
            return selftest(pathlib.Path(folder))
        if len(arguments) != 1 or arguments[0] not in SCENARIOS:
            sys.exit(__doc__)
        return check(arguments[0], pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
