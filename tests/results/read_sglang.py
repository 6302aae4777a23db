#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What SGLang's bench_serving wrote, one object per line."""

from reading import add_details, load, main, number, put

COLUMNS = {
    "completed": "completed",
    "duration": "duration_s",
    "benchmark_duration": "duration_s",
    "total_input_tokens": "input_tokens",
    "total_input": "input_tokens",
    "total_output_tokens": "output_tokens",
    "total_output": "output_tokens",
    "request_throughput": "request_throughput",
    "input_throughput": "input_token_throughput",
    "output_throughput": "output_token_throughput",
    "total_throughput": "total_token_throughput",
    "max_concurrency": "concurrency",
    "request_rate": "request_rate",
    "std_itl_ms": "jitter_ms",
}
LATENCIES = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e_latency": "e2e"}
SINGLE = ("concurrency", "accept_length", "max_output_tokens_per_s", "max_concurrent_requests",
          "total_output_tokens_retokenized", "total_output_retokenized", "total_input_vision_tokens",
          "output_throughput_retokenized", "total_throughput_retokenized")
WORDS = {"mean": "mean", "median": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}


def read(path):
    rows = []
    for run in load(path):
        row = {}
        for key, column in COLUMNS.items():
            put(row, column, run.get(key))
        for name, measure in LATENCIES.items():
            mean = number(run.get(f"mean_{name}_ms"))
            if mean is not None and abs(mean) < 1e-3:
                continue
            for word, statistic in WORDS.items():
                put(row, f"{measure}_{statistic}_ms", run.get(f"{word}_{name}_ms"))
        if "itl_mean_ms" not in row and "mean_itl_ms" in run:
            row.pop("jitter_ms", None)
        add_details(row, run)
        if "requests" in row:
            row["error_rate"] = row["errors"] / row["requests"]
        rows.append(("serving_outcome_fact", row))
        for key, value in run.items():
            if key in SINGLE or (key.startswith(("std_", "max_")) and key.endswith("_ms") and key != "std_itl_ms"):
                mean = number(run.get("mean_" + key.partition("_")[2]))
                if number(value) is not None and (key in SINGLE or mean is None or abs(mean) >= 1e-3):
                    rows.append(("telemetry_slice_fact", {"metric": key, "last": float(value)}))
    return rows


if __name__ == "__main__":
    main(read)
