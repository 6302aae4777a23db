#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""AIPerf's summary, JSON or CSV: columns and slices."""

import csv
import json

from reading import STATISTICS, main, number, put

LATENCIES = {
    "time_to_first_token": "ttft",
    "ttft": "ttft",
    "inter_token_latency": "tpot",
    "inter_chunk_latency": "itl",
    "request_latency": "e2e",
}
SINGLE = {
    "request_throughput": "request_throughput",
    "output_token_throughput": "output_token_throughput",
    "request_count": "completed",
    "error_request_count": "errors",
    "benchmark_duration": "duration_s",
    "total_isl": "input_tokens",
    "total_input_sequence_length": "input_tokens",
    "total_osl": "output_tokens",
    "total_output_sequence_length": "output_tokens",
}
KEYS = {"mean": "avg", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}
TO_MS = {"ms": 1.0, "sec": 1000.0, "ns": 1e-6}


def from_csv(path):
    """The tables of the CSV as the JSON would have them."""
    metrics = {}
    names = None
    with open(path, encoding="utf-8", newline="") as file:
        for fields in csv.reader(file):
            if not fields:
                names = None
            elif fields[0] == "Metric":
                names = ["avg" if name == "Value" else name for name in fields]
            elif names:
                label, _, unit = fields[0].partition(" (")
                metric = {"unit": unit.rstrip(")")}
                metric.update(zip(names[1:], map(float, fields[1:])))
                metrics[label.lower().replace(" ", "_")] = metric
    return metrics


def read(path):
    if path.endswith(".csv"):
        document = {"records": from_csv(path)}
    else:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    metrics = document.get("records", document)
    row = {}
    slices = []
    for name, metric in metrics.items():
        if not isinstance(metric, dict) or number(metric.get("avg")) is None:
            continue
        if name.endswith("_timestamp"):
            continue
        if name in SINGLE:
            put(row, SINGLE[name], metric["avg"])
            continue
        if name in LATENCIES:
            for statistic in STATISTICS:
                put(row, f"{LATENCIES[name]}_{statistic}_ms", metric.get(KEYS[statistic]), TO_MS[metric["unit"]])
        if name == "inter_chunk_latency":
            put(row, "jitter_ms", metric.get("std"), TO_MS[metric["unit"]])
        part = {"metric": name}
        for column, key in (("count", "count"), ("min", "min"), ("max", "max"), ("mean", "avg"), ("p50", "p50"),
                            ("p95", "p95"), ("p99", "p99")):
            put(part, column, metric.get(key), TO_MS.get(metric["unit"], 1.0) if key != "count" else 1.0)
        slices.append(("telemetry_slice_fact", part))
    if "errors" not in row and "error_summary" in document:
        row["errors"] = float(sum(kind["count"] for kind in document["error_summary"]))
    if "completed" in row and "errors" in row:
        row["requests"] = row["completed"] + row["errors"]
        row["error_rate"] = row["errors"] / row["requests"]
    config = document.get("input_config", {})
    load = {**config.get("runtime", {}), **config.get("loadgen", {})}
    put(row, "concurrency", load.get("concurrency"))
    put(row, "request_rate", load.get("request_rate"))
    return [("serving_outcome_fact", row)] + slices


if __name__ == "__main__":
    main(read)
