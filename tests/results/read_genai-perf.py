#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GenAI-Perf's summary: the shape of AIPerf's, with other settings beside it."""

import json

import read_aiperf
from reading import main, put


def read(path):
    rows = read_aiperf.read(path)
    row = rows[0][1]
    if path.endswith(".csv"):
        return rows
    with open(path, encoding="utf-8") as file:
        config = json.load(file).get("input_config", {})
    stimulus = config.get("perf_analyzer", {}).get("stimulus", {})
    put(row, "concurrency", config.get("concurrency", stimulus.get("concurrency")))
    put(row, "request_rate", config.get("request_rate", stimulus.get("request_rate")))
    return rows


if __name__ == "__main__":
    main(read)
