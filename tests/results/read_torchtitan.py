#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent reading of a torchtitan log of one rank, for compare.py."""

import datetime
import re
import sys

WARM_UP = 10
LINE = re.compile(r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) .*?step:\s*(?P<step>\d+)\s+loss:\s*(?P<loss>\S+)\s+"
                  r"grad_norm:\s*(?P<grad_norm>\S+)\s+memory:\s*(?P<memory>[\d.]+)GiB\((?P<memory_pct>[\d.]+)%\)\s+"
                  r"tps:\s*(?P<tps>[\d,]+)\s+tflops:\s*(?P<tflops>[\d,.]+)\s+mfu:\s*(?P<mfu>[\d.]+)%")


def percentile(values, p):
    ordered = sorted(values)
    at = p * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = re.sub(r"\x1b\[[0-9;]*m", "", file.read())
    lines = []
    for found in LINE.finditer(text):
        line = {k: v if k == "time" else float(v.replace(",", "")) for k, v in found.groupdict().items()}
        line["time"] = datetime.datetime.strptime(line["time"], "%Y-%m-%d %H:%M:%S,%f")
        lines.append(line)
    later = [line for line in lines if line["step"] > WARM_UP] or lines
    steps = [(b["time"] - a["time"]).total_seconds() * 1000 / (b["step"] - a["step"])
             for a, b in zip(lines, lines[1:]) if a["step"] >= WARM_UP]
    mean = lambda name: sum(line[name] for line in later) / len(later)
    print(f"row training_outcome_fact\nsteps={int(lines[-1]['step'])}")
    print(f"step_time_mean_ms={sum(steps) / len(steps)!r}")
    for p in (50, 95, 99):
        print(f"step_time_p{p}_ms={percentile(steps, p / 100)!r}")
    print(f"tokens_per_second_per_gpu={mean('tps')!r}\ntflops_per_gpu={mean('tflops')!r}\nmfu_pct={mean('mfu')!r}")
    print(f"final_loss={lines[-1]['loss']!r}\nmemory_peak_gib={max(line['memory'] for line in lines)!r}")
    for name in ("loss", "grad_norm", "memory", "memory_pct", "tps", "tflops", "mfu", "step_time"):
        values = steps if name == "step_time" else [line[name] for line in later]
        print(f"row telemetry_slice_fact\nmetric={name}\ncount={len(values)}")
        print(f"min={min(values)!r}\nmax={max(values)!r}\nmean={sum(values) / len(values)!r}")
        for p in (50, 95, 99):
            print(f"p{p}={percentile(values, p / 100)!r}")


main()
