#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent reading of a NeMo log of one run, for compare.py: the lines of 2.x, or the bars of 1.x."""

import re
import sys

import training_reading as training

FIELDS = {"reduced_train_loss": r"reduced_train_loss[:=] ?([^\s,\]]+)", "TFLOPS_per_GPU": r"TFLOPS_per_GPU: (\S+)",
          "tokens_per_sec_per_gpu": r"tokens_per_sec_per_gpu: (\S+)", "max_memory_reserved": r"max_memory_reserved: (\S+)",
          "global_batch_size": r"global_batch_size: (\S+)"}


def main():
    steps, step_ms, row, seen = {name: {} for name in FIELDS}, {}, {}, set()
    for line in re.split(r"[\r\n]", training.plain(sys.argv[1])):
        timing = re.search(r"train_step_timing in s[:=] ?([\d.e+-]+)", line)
        step = re.search(r"global_step: (\d+)", line)
        bar = re.search(r"(\d+)/\d+ \[", line)
        if not timing or not (step or bar):
            continue
        step = int(step[1]) if step else int(bar[1]) - 1
        found = re.search(r"val_loss[:=] ?([^\s,\]]+)", line)
        if found:
            row["final_quality"] = float(found[1])
        if step in seen:
            continue
        seen.add(step)
        step_ms[step] = float(timing[1]) * 1000
        for name, pattern in FIELDS.items():
            found = re.search(pattern, line)
            if found:
                steps[name][step] = float(found[1]) / (2**30 if name == "max_memory_reserved" else 1)
    row["steps"], row["final_loss"] = max(step_ms) + 1, list(steps["reduced_train_loss"].values())[-1]
    if steps["max_memory_reserved"]:
        row["memory_peak_gib"] = max(steps["max_memory_reserved"].values())
    training.show(row, steps, 0, step_ms, {"tflops_per_gpu": "TFLOPS_per_GPU",
                                           "tokens_per_second_per_gpu": "tokens_per_sec_per_gpu"})


main()
