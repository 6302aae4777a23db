#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent reading of a DeepSpeed log without a pipeline, for compare.py."""

import datetime
import re
import sys

import training_reading as training

STEP = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\].*\[Rank 0\] step=(\d+), skipped=")
TIMER = re.compile(r"global_step=(\d+), RunningAvgSamplesPerSec=([\d.]+), CurrSamplesPerSec=([\d.]+), .*MaxMemAllocated=([\d.]+)GB")


def main():
    text = training.plain(sys.argv[1])
    steps = {"RunningAvgSamplesPerSec": {}, "CurrSamplesPerSec": {}, "MaxMemAllocated": {}}
    for found in TIMER.finditer(text):
        for name, value in zip(steps, found.groups()[1:]):
            steps[name][int(found[1])] = float(value)
    times = [(datetime.datetime.strptime(when, "%Y-%m-%d %H:%M:%S,%f"), int(step)) for when, step in STEP.findall(text)]
    gaps = {b[1]: (b[0] - a[0]).total_seconds() * 1000 / (b[1] - a[1]) for a, b in zip(times, times[1:])
            if a[1] >= training.WARM_UP}
    row = {"steps": times[-1][1], "memory_peak_gib": max(steps["MaxMemAllocated"].values())}
    training.add_reliability(row, times, gaps, 1)
    training.show(row, steps, 1, gaps, {"samples_per_second": "CurrSamplesPerSec"})


main()
