#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""real.py PROGRAM SAMPLES: telemetry of real machines, and small inputs that were once wrong.

SAMPLES/real has pieces that other people published, with what an expert concludes; SAMPLES/gaps
inputs of our own. Every piece must be read, no verdict may be false, and what an expert wants must
be told, except by the patterns that do not exist yet. Exits with 77 where there are no samples.
"""
import json
import os
import subprocess
import sys

NOT_YET = {"gpu_fault", "rank_crash"}

# folder, arguments, pattern, what the verdict must say besides
GAPS = [
    ("01-undated", ["notime.txt"], "hbm_ecc", {"undated": True}),
    ("01-undated", ["delta.txt"], "hbm_ecc", {"undated": True}),
    ("01-undated", ["dmesgH.txt"], "hbm_ecc", {}),
    ("02-prefixes", ["dmesg-n7.txt"], "hbm_ecc", {"k8s.node.name": "n7"}),
    ("02-prefixes", ["dmesg-zh.txt"], "hbm_ecc", {}),
    ("02-prefixes", ["dx.txt"], "hbm_ecc", {}),
    ("02-prefixes", ["okt.txt"], "hbm_ecc", {"k8s.node.name": "balrog"}),
    ("02-prefixes", ["raw.txt"], "hbm_ecc", {}),
    ("02-prefixes", ["sonic.txt"], "hbm_ecc", {"k8s.node.name": "host1"}),
    ("02-prefixes", ["talos.txt"], "hbm_ecc", {"k8s.node.name": "10.1.1.9"}),
    ("10-several-slurm-jobs", ["--map", "mapAB.csv", "sl", "dmesg-gpu20.txt"], "checkpoint_stall",
     {"job.id": "jobA"}),
    ("11-wrapped", ["docker.json"], "hbm_ecc", {}),
    ("11-wrapped", ["loki.json"], "hbm_ecc", {"k8s.node.name": "gpu07"}),
    ("11-wrapped", ["time-n1.txt.gz"], "hbm_ecc", {"k8s.node.name": "n1"}),
]


def detect(program, folder, arguments):
    """The last state of each incident, and what was said on standard error."""
    p = subprocess.run([program, "detect", "--json", *arguments], cwd=folder, capture_output=True,
                       text=True, errors="replace", timeout=120)
    last = {}
    for line in p.stdout.splitlines():
        verdict = json.loads(line)
        last[verdict["incident_id"]] = verdict
    return list(last.values()), p.stderr


def fits(verdict, want):
    return (verdict["pattern.name"] == want["pattern"]
            and want.get("discriminator", verdict["discriminator"]) == verdict["discriminator"]
            and all(verdict.get(k) == x for k, x in want.get("fields", {}).items()))


def check_piece(program, folder):
    expect = json.load(open(os.path.join(folder, "expect.json")))
    files = sorted(os.path.join("in", name) for name in os.listdir(os.path.join(folder, "in")))
    verdicts, err = detect(program, folder, [*expect["args"], *files])
    wanted = [w for w in expect["want"] if w["pattern"] not in NOT_YET]
    allowed = {w["pattern"] for w in expect["want"]} | set(expect["may_also_say"])
    wrong = [f"false: {v['pattern.name']}" for v in verdicts if v["pattern.name"] not in allowed]
    wrong += [f"missed: {w['pattern']}" for w in wanted if not any(fits(v, w) for v in verdicts)]
    if "not a format we read" in err:
        wrong.append("not read")
    return wrong


def main():
    program, samples = os.path.abspath(sys.argv[1]), sys.argv[2]
    real, gaps = os.path.join(samples, "real"), os.path.join(samples, "gaps")
    if not os.path.isdir(real) or not os.path.isdir(gaps):
        print(f"skipped: there are no samples in {samples}")
        sys.exit(77)
    failed = 0
    for name in sorted(os.listdir(real)):
        folder = os.path.join(real, name)
        if os.path.isdir(os.path.join(folder, "in")):
            wrong = check_piece(program, folder)
            failed += bool(wrong)
            for why in wrong:
                print(f"real/{name}: {why}")
    for name, arguments, pattern, fields in GAPS:
        verdicts, _ = detect(program, os.path.join(gaps, name), arguments)
        if not any(fits(v, {"pattern": pattern, "fields": fields}) for v in verdicts):
            print(f"gaps/{name} {' '.join(arguments)}: no {pattern} with {fields}")
            failed += 1
    sys.exit(failed > 0)


main()
