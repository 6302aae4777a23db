#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GuideLLM's report: a row per benchmark, over the successful requests."""

from reading import STATISTICS, load, main, put

LATENCIES = {
    "time_to_first_token_ms": ("ttft", 1.0),
    "inter_token_latency_ms": ("tpot", 1.0),
    "request_latency": ("e2e", 1000.0),
}
RATES = {
    "requests_per_second": "request_throughput",
    "output_tokens_per_second": "output_token_throughput",
    "prompt_tokens_per_second": "input_token_throughput",
    "tokens_per_second": "total_token_throughput",
}


def statistic(distribution, name):
    if name == "mean":
        return distribution["mean"]
    return distribution["percentiles"][name]


def read_one(benchmark):
    row = {}
    slices = []
    metrics = benchmark["metrics"]
    totals = metrics["request_totals"]
    put(row, "completed", totals["successful"])
    put(row, "errors", totals["errored"])
    row["requests"] = row["completed"] + row["errors"]
    row["error_rate"] = row["errors"] / row["requests"]
    put(row, "duration_s", benchmark["duration"])
    put(row, "input_tokens", metrics["prompt_token_count"]["successful"]["total_sum"])
    put(row, "output_tokens", metrics["output_token_count"]["successful"]["total_sum"])
    for name, column in RATES.items():
        put(row, column, metrics[name]["successful"]["mean"])
    strategy = benchmark["config"]["strategy"]
    if strategy["type_"] in ("constant", "poisson"):
        put(row, "request_rate", strategy["rate"])
    elif strategy["type_"] == "concurrent":
        put(row, "concurrency", strategy["streams"])
    for name, metric in metrics.items():
        if name == "request_totals" or "successful" not in metric:
            continue
        distribution = metric["successful"]
        if distribution["count"] == 0:
            continue
        factor = 1000.0 if name == "request_latency" else 1.0
        if name in LATENCIES:
            measure, factor = LATENCIES[name]
            for wanted in STATISTICS:
                put(row, f"{measure}_{wanted}_ms", statistic(distribution, wanted), factor)
        part = {"metric": name}
        put(part, "count", distribution["count"])
        for wanted in ("min", "max", "mean"):
            put(part, wanted, distribution[wanted], factor)
        for wanted in ("p50", "p95", "p99"):
            put(part, wanted, statistic(distribution, wanted), factor)
        slices.append(("telemetry_slice_fact", part))
    if totals.get("incomplete") is not None:
        slices.append(("telemetry_slice_fact",
                       {"metric": "request_totals.incomplete", "last": float(totals["incomplete"])}))
    return [("serving_outcome_fact", row)] + slices


def read(path):
    return [row for benchmark in load(path)[0]["benchmarks"] for row in read_one(benchmark)]


if __name__ == "__main__":
    main(read)
