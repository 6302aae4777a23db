#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""InferenceX: vLLM's names without _ms, in seconds."""

import read_vllm
from reading import load, main, put


def read(path):
    rows = read_vllm.read(path, suffix="", factor=1000.0)
    served = [row for table, row in rows if table == "serving_outcome_fact"]
    for row, run in zip(served, load(path)):
        put(row, "concurrency", run.get("conc", run.get("max_concurrency")))
        put(row, "jitter_ms", run.get("std_itl"), 1000.0)
    return rows


if __name__ == "__main__":
    main(read)
