#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent reading of a Megatron-LM log of one rank and one run, for compare.py."""

import datetime
import re
import sys

import training_reading as training

FIELDS = {"lm loss": r"\| lm loss: (\S+)", "grad norm": r"grad norm: (\S+)",
          "throughput per GPU": r"(?:throughput per GPU \(TFLOP/s/GPU\)|TFLOPs): (\S+)",
          "tokens per gpu per second": r"tokens per gpu per second \(tgs\): (\S+)",
          "samples per second": r"samples per second: (\S+)", "global batch size": r"global batch size:\s*(\d+)"}


def main():
    text = training.plain(sys.argv[1])
    steps, step_ms, row, times = {name: {} for name in FIELDS}, {}, {}, []
    for line in text.splitlines():
        head = re.search(r"iteration\s+(\d+)/\s*\d+ \|.*elapsed time per iteration \(ms\): ([\d.]+)", line)
        if not head:
            continue
        step, step_ms[int(head[1])] = int(head[1]), float(head[2])
        when = re.search(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)\]", line)
        if when:
            times.append((datetime.datetime.fromisoformat(when[1]), step))
        for name, pattern in FIELDS.items():
            found = re.search(pattern, line)
            if found:
                steps[name][step] = float(found[1])
        if step not in steps["samples per second"]:
            steps["samples per second"][step] = steps["global batch size"][step] / (step_ms[step] / 1000)
    row["steps"], row["final_loss"] = max(step_ms), list(steps["lm loss"].values())[-1]
    found = re.findall(r"validation loss at iteration \d+ \| lm loss value: (\S+)", text)
    if found:
        row["final_quality"] = float(found[-1])
    found = re.search(r"using world size: (\d+)", text)
    if found:
        row["gpus"] = int(found[1])
    training.add_reliability(row, times, step_ms, 1)
    training.show(row, steps, 1, step_ms, {"tflops_per_gpu": "throughput per GPU", "samples_per_second": "samples per second",
                                           "tokens_per_second_per_gpu": "tokens per gpu per second"})


main()
