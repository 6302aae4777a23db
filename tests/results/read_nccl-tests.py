#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent reading of the tables of nccl-tests, for compare.py."""

import re
import sys

METRICS = {"time": "time", "cputime": "cpu_time", "algbw": "algbw", "busbw": "busbw", "#wrong": "wrong", "error": "error"}


def main():
    iterations = None
    head = None
    with open(sys.argv[1], encoding="utf-8") as file:
        for line in file:
            line = re.sub(r"^\s*\d+: ", "", line.rstrip("\n"))
            words = line.split()
            found = re.search(r"nThread .* iters: \d+ iters: (\d+)", line) or re.search(r"warmup iters: \d+ iters: (\d+)", line)
            if found:
                iterations = int(found.group(1))
            if line.startswith("#") and "busbw" in words and "size" in words:
                head = words[1:]
            elif head and words and words[0].isdigit() and len(words) == len(head):
                for name, value in zip(head, words):
                    if name not in METRICS or value == "N/A":
                        continue
                    metric = METRICS[name]
                    print("row telemetry_slice_fact")
                    print(f"metric={metric}")
                    print(f"{'last' if metric in ('wrong', 'error') else 'mean'}={float(value)!r}")
                    if metric in ("time", "cpu_time") and iterations is not None:
                        print(f"count={iterations}")
            elif line.startswith("# Avg bus bandwidth"):
                print("row telemetry_slice_fact\nmetric=avg_busbw")
                print(f"mean={float(line.split(':')[1].split()[0])!r}")


main()
