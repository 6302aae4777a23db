#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Triton's perf_analyzer: the table of -f with the csv module, or the requests of --profile-export-file."""

import csv
import json

from reading import main, percentile, put

COLUMNS = {"Inferences/Second": ("request_throughput", 1.0), "Server Queue": ("queue_mean_ms", 1e-3), "Avg latency": ("e2e_mean_ms", 1e-3),
           "Concurrency": ("concurrency", 1.0), "Request Rate": ("request_rate", 1.0),
           **{f"p{p} latency": (f"e2e_p{p}_ms", 1e-3) for p in (50, 90, 95, 99)}}


def read_table(path):
    rows = []
    with open(path, encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            row, slices = {}, []
            for name, value in line.items():
                if name in COLUMNS:
                    put(row, COLUMNS[name][0], value, COLUMNS[name][1])
                else:
                    slices.append(("telemetry_slice_fact", {"metric": name, "last": float(value) * 1e-3}))
            rows += [("serving_outcome_fact", row)] + slices
    return rows


def spread(row, name, values):
    if values:
        row[f"{name}_mean_ms"] = sum(values) / len(values)
        for p in (50, 90, 95, 99):
            row[f"{name}_p{p}_ms"] = percentile(sorted(values), p)


def read(path):
    if path.endswith(".csv"):
        return read_table(path)
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    rows = []
    for one in document["experiments"]:
        load, row = one["experiment"], {}
        good = [request for request in one["requests"] if request["response_timestamps"]]
        put(row, "request_rate" if load["mode"] == "request_rate" else "concurrency", load["value"])
        row["requests"], row["completed"] = float(len(one["requests"])), float(len(good))
        row["errors"] = row["requests"] - row["completed"]
        row["error_rate"] = row["errors"] / row["requests"]
        row["duration_s"] = (max(r["response_timestamps"][-1] for r in good) - min(r["timestamp"] for r in good)) / 1e9
        row["request_throughput"] = len(good) / row["duration_s"]
        spread(row, "e2e", [(r["response_timestamps"][-1] - r["timestamp"]) / 1e6 for r in good])
        several = [r for r in good if len(r["response_timestamps"]) > 1]
        spread(row, "ttft", [(r["response_timestamps"][0] - r["timestamp"]) / 1e6 for r in several])
        spread(row, "itl", [(b - a) / 1e6 for r in several for a, b in zip(r["response_timestamps"], r["response_timestamps"][1:])])
        rows.append(("serving_outcome_fact", row))
    return rows


if __name__ == "__main__":
    main(read)
