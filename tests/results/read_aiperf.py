#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""AIPerf's summary, JSON or CSV: columns and slices."""

import csv
import json
import re

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
    "total_token_throughput": "total_token_throughput",
    "goodput": "goodput",
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
                of_gpu = names[1] == "GPU"  # a table of each GPU, which is part of the name
                values = [float(field.replace(",", "")) for field in fields[1 + of_gpu:]]
                metric.update(zip(names[1 + of_gpu:], values))
                metrics[label.lower().replace(" ", "_") + (f".{fields[1]}" if of_gpu else "")] = metric
    return metrics


def metrics_of(metrics, of_requests=True):
    """A row and slices of {name: {unit, avg, p50, ...}}; the deviation may be that of several runs."""
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
        factor = TO_MS.get(metric["unit"], 1.0)
        if name in LATENCIES:
            for statistic in STATISTICS:
                put(row, f"{LATENCIES[name]}_{statistic}_ms", metric.get(KEYS[statistic]), factor)
        if name == "inter_chunk_latency" and of_requests:
            put(row, "jitter_ms", metric.get("std"), factor)
        part = {"metric": name}
        for column, key in (("count", "count"), ("min", "min"), ("max", "max"), ("mean", "avg"), ("p50", "p50"),
                            ("p95", "p95"), ("p99", "p99")):
            put(part, column, metric.get(key), factor if key != "count" else 1.0)
        slices.append(("telemetry_slice_fact", part))
        for key, value in metric.items() if name in LATENCIES else ():
            other = re.fullmatch(r"p[0-9.]+", key) and key not in KEYS.values()
            if other or (key == "std" and of_requests and name != "inter_chunk_latency"):
                part = {"metric": f"{name}.{key}"}
                put(part, "last", value, factor)
                slices.append(("telemetry_slice_fact", part))
    return row, slices


def load_of(config):
    """Concurrency and rate: of the settings, later of the one phase that counts."""
    load = {**config.get("runtime", {}), **config.get("loadgen", {})}
    counted = [phase for phase in config.get("phases", []) if not phase.get("exclude_from_results")]
    if len(counted) == 1:
        load = {"concurrency": counted[0].get("concurrency"), "request_rate": counted[0].get("rate")}
    return load


def read_sweep(document):
    """A row per combination: as a run's file, or (of several runs) the mean of every statistic."""
    rows = []
    for one in document["per_combination_metrics"]:
        row, slices = metrics_of(one["metrics"], of_requests=False)
        for key, metric in one["metrics"].items():
            if "avg" in metric:
                continue
            name, _, statistic = key.rpartition("_")
            words = {value: word for word, value in KEYS.items()}
            factor = TO_MS.get(metric["unit"], 1.0)
            if name in LATENCIES and statistic in words:
                put(row, f"{LATENCIES[name]}_{words[statistic]}_ms", metric["mean"], factor)
            elif name in SINGLE and statistic == "avg":
                put(row, SINGLE[name], metric["mean"])
            else:
                slices.append(("telemetry_slice_fact", {"metric": key, "last": metric["mean"] * factor}))
        for name, value in one["parameters"].items():
            last = name.rpartition(".")[2]
            put(row, {"concurrency": "concurrency", "rate": "request_rate"}.get(last, "ignored"), value)
        row.pop("ignored", None)
        rows += [("serving_outcome_fact", row)] + slices
    return rows


def read(path):
    if path.endswith(".csv"):
        document = {"records": from_csv(path)}
    else:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    if document.get("metadata", {}).get("aggregation_type") == "confidence":
        document = {"per_combination_metrics": [{"parameters": {}, "metrics": document["metrics"]}]}
    if "per_combination_metrics" in document:
        return read_sweep(document)
    row, slices = metrics_of(document.get("records", document))
    if "errors" not in row and "error_summary" in document:
        row["errors"] = float(sum(kind["count"] for kind in document["error_summary"]))
    if "completed" in row and "errors" in row:
        row["requests"] = row["completed"] + row["errors"]
        row["error_rate"] = row["errors"] / row["requests"]
    load = load_of(document.get("input_config", {}))
    put(row, "concurrency", load.get("concurrency"))
    put(row, "request_rate", load.get("request_rate"))
    return [("serving_outcome_fact", row)] + slices


if __name__ == "__main__":
    main(read)
