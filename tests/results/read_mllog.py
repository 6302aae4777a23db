#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent reading of one run of an MLPerf Training log, for compare.py."""

import json
import sys

SPANS = ("init", "staging", "block", "epoch", "eval")


def percentile(values, p):
    ordered = sorted(values)
    at = p * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def spread(metric, values):
    print(f"row telemetry_slice_fact\nmetric={metric}\ncount={len(values)}")
    print(f"mean={sum(values) / len(values)!r}\nmin={min(values)!r}\nmax={max(values)!r}")
    for p in (50, 95, 99):
        print(f"p{p}={percentile(values, p / 100)!r}")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        events = [json.loads(line.split(":::MLLOG", 1)[1]) for line in file if ":::MLLOG" in line]
    evaluations = [e for e in events if e["key"] == "eval_accuracy"]
    tracked = {}
    for e in events:
        if e["key"] == "tracked_stats":
            for name, value in e["value"].items():
                tracked.setdefault(name, []).append(value)
    for e in evaluations:
        print(f"row telemetry_slice_fact\nmetric=eval_accuracy\nlast={e['value']!r}")
    times = {key: [e["time_ms"] for e in events if e["key"] == key] for key in {e["key"] for e in events}}
    stop = [e for e in events if e["key"] == "run_stop"]
    print("row training_outcome_fact")
    if stop and stop[0]["metadata"].get("status") == "success":
        print(f"time_to_train_s={(times['run_stop'][0] - times['run_start'][0]) / 1000!r}")
    if stop and "step_num" in stop[0]["metadata"]:
        print(f"steps={stop[0]['metadata']['step_num']}")
    if evaluations:
        first = evaluations[0]["metadata"].get("metric")
        print(f"final_quality={[e['value'] for e in evaluations if e['metadata'].get('metric') == first][-1]!r}")
    if "throughput" in tracked:
        print(f"samples_per_second={sum(tracked['throughput']) / len(tracked['throughput'])!r}")
    if "train_step_time" in tracked:
        print(f"step_time_mean_ms={sum(tracked['train_step_time']) / len(tracked['train_step_time']) * 1000!r}")
    for name, values in tracked.items():
        spread(f"tracked_stats.{name}", values)
    for span in SPANS:
        if times.get(f"{span}_stop"):
            pairs = zip(times[f"{span}_start"], times[f"{span}_stop"])
            spread(f"{span}_time", [(b - a) / 1000 for a, b in pairs])


main()
