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
    ("03-fqdn-and-short-name", ["syslog-fqdn", "pod_fail.json"], "xid_correlation", {}),
    ("04-config-mount-of-another-pod", ["steps.json", "fm_cm.json"], None, {}),
    ("05-rank-of-another-job", ["--map", "mapA.csv", "fr4", "foo2.json"], "nccl_hang",
     {"caused_by": None}),
    ("06-oom-of-a-pod-with-eight-ranks", ["steps_err.json", "dmesg-gpu07.txt", "pod_run_env.json"],
     "host_oom", {"root": True, "rank": None}),
    ("07-one-port-by-two-names", ["dmesg-n2.txt", "node_exporter-n2.prom"], "network_link_fault",
     {}),
    ("08-when-was-it-evicted", ["pod_ev.json", "ev_ev.json"], "pod_evicted",
     {"first_seen": "2026-11-03T10:00:00Z", "detected_at": "2026-11-03T10:00:00Z"}),
    ("09-torn-dumps", ["fr3"], "nccl_hang",
     {"tracecore.alert.nccl_hang.culprit_ranks": [12, 13, 14, 15],
      "tracecore.alert.nccl_hang.unreadable_ranks": [3]}),
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
    allowed = {w["pattern"] for w in expect["want"]} | set(expect["may_also_say"])
    wrong = [f"false: {v['pattern.name']}" for v in verdicts if v["pattern.name"] not in allowed]
    wrong += [f"missed: {w['pattern']}" for w in expect["want"] if not any(fits(v, w) for v in verdicts)]
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
        right = [v for v in verdicts if fits(v, {"pattern": pattern, "fields": fields})]
        several = [v for v in verdicts if v["pattern.name"] == pattern]
        if pattern is None and verdicts:
            print(f"gaps/{name} {' '.join(arguments)}: {verdicts[0]['pattern.name']}")
            failed += 1
        if pattern is not None and (len(right) != 1 or len(several) != 1):
            print(f"gaps/{name} {' '.join(arguments)}: not one {pattern} with {fields}")
            failed += 1
    sys.exit(failed > 0)


main()
