#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a result of vLLM's bench serve says, read with the json module alone."""

from reading import add_details, load, main, number, put

COLUMNS = {
    "num_prompts": "requests",
    "completed": "completed",
    "failed": "errors",
    "duration": "duration_s",
    "total_input_tokens": "input_tokens",
    "total_output_tokens": "output_tokens",
    "request_throughput": "request_throughput",
    "input_throughput": "input_token_throughput",
    "output_throughput": "output_token_throughput",
    "total_token_throughput": "total_token_throughput",
    "request_goodput": "goodput",
    "max_concurrency": "concurrency",
    "multi_turn_concurrency": "concurrency",
    "request_rate": "request_rate",
    "std_itl_ms": "jitter_ms",
}
LATENCIES = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2e", "latency": "e2e"}
WORDS = {"mean": "mean", "median": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}


SINGLE = ("max_output_tokens_per_s", "max_concurrent_requests", "good_completed", "rtfx", "spec_decode_acceptance_rate",
          "spec_decode_acceptance_length", "spec_decode_num_drafts", "spec_decode_draft_tokens",
          "spec_decode_accepted_tokens")


def kept_aside(key, run):
    """Statistics without a column: deviations, other percentiles; not those of a mean over nothing."""
    word, _, rest = key.partition("_")
    if key in SINGLE:
        return True
    if number(run.get(f"mean_{rest}")) == 0:
        return False
    if key == "std_itl_ms" or rest not in {f"{name}_ms" for name in LATENCIES}:
        return False
    return word not in WORDS


def read(path):
    rows = []
    for run in load(path):
        row = {}
        for key, column in COLUMNS.items():
            put(row, column, run.get(key))
        for name, measure in LATENCIES.items():
            if number(run.get(f"mean_{name}_ms")) == 0:
                continue
            for word, statistic in WORDS.items():
                put(row, f"{measure}_{statistic}_ms", run.get(f"{word}_{name}_ms"))
        if number(run.get("mean_itl_ms")) == 0:
            row.pop("jitter_ms", None)
        add_details(row, run)
        if "requests" in row and row.get("requests") == row.get("completed"):
            row.setdefault("errors", 0.0)
        if "requests" not in row and "completed" in row and "errors" in row:
            row["requests"] = row["completed"] + row["errors"]
        if "requests" in row and "errors" in row:
            row["error_rate"] = row["errors"] / row["requests"]
        rows.append(("serving_outcome_fact", row))
        for key, value in run.items():
            if number(value) is not None and kept_aside(key, run):
                rows.append(("telemetry_slice_fact", {"metric": key, "last": number(value)}))
    return rows


if __name__ == "__main__":
    main(read)
