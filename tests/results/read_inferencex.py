#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""InferenceX: vLLM's names without _ms, in seconds; aggregates with throughput per GPU."""

from reading import load, main, number, put

COLUMNS = {
    "requests": ("num_prompts", "num_requests_total"),
    "completed": ("completed", "num_requests_successful"),
    "errors": ("failed",),
    "duration_s": ("duration", "duration_seconds"),
    "input_tokens": ("total_input_tokens",),
    "output_tokens": ("total_output_tokens",),
    "request_throughput": ("request_throughput",),
    "input_token_throughput": ("input_throughput", "input_tput_tps"),
    "output_token_throughput": ("output_throughput", "output_tput_tps"),
    "total_token_throughput": ("total_token_throughput", "total_tput_tps"),
    "goodput": ("request_goodput",),
    "concurrency": ("conc", "users", "max_concurrency"),
    "request_rate": ("request_rate",),
}
WORDS = {"mean": "mean", "median": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}
ASIDE = ("tput_per_gpu", "output_tput_per_gpu", "input_tput_per_gpu", "good_completed", "total_prompt_tokens",
         "total_generation_tokens", "server_gpu_cache_hit_rate", "server_cpu_cache_hit_rate", "kv_cache_pool_tokens",
         "avg_power_w", "total_gpu_energy_j", "joules_per_output_token")
SECONDS = ("ttft", "tpot", "itl", "e2el", "ttlt")
OTHERS = ("intvty", "qps", "input_tokens", "output_tokens_actual", "output_tokens_expected")


def read_nested(run):
    """The later agentic ones: statistics in objects, seconds, and the warm-up counted in the total."""
    row, slices = {}, []
    counts, metrics = run["request_accounting"], run["request_metrics"]
    row["completed"] = float(counts["records_profiled"])
    row["requests"] = float(counts["records_total"] - counts["records_warmup_dropped"])
    row["errors"] = row["requests"] - row["completed"]
    row["error_rate"] = row["errors"] / row["requests"]
    put(row, "concurrency", run["conc"])
    put(row, "duration_s", metrics["throughput"]["duration_seconds"])
    for name, column in (("input", "input"), ("output", "output"), ("total", "total")):
        put(row, f"{column}_token_throughput", metrics["throughput"][name]["tokens_per_second"])

    def aside(name, value, factor=1.0):
        if number(value) is not None:
            slices.append(("telemetry_slice_fact", {"metric": name, "last": number(value) * factor}))

    for name, measure in (("ttft", "ttft"), ("tpot", "tpot"), ("e2el", "e2e")):
        for word, value in metrics["latency"][name].items():
            if word in ("mean", "p50", "p90", "p95", "p99"):
                put(row, f"{measure}_{word}_ms", value, 1000.0)
            else:
                aside(f"{name}.{word}", value, 1000.0)
    for group, members in (("qps", metrics["qps"]), ("intvty", metrics["latency"]["intvty"]),
                           ("tokens.input", metrics["tokens"]["input"]), ("per_gpu", metrics["throughput"]["per_gpu"]),
                           ("cache", metrics["cache"]), ("server.cache", run["server_metrics"]["cache"]),
                           ("server.kv_cache", run["server_metrics"]["kv_cache"])):
        for word, value in members.items():
            if word not in ("window_seconds", "samples"):
                aside(f"{group}.{word}", value)
    for key in ASIDE:
        aside(key, run.get(key))
    return [("serving_outcome_fact", row)] + slices


def read_one(run):
    if "request_metrics" in run:
        return read_nested(run)
    row = {}
    for column, keys in COLUMNS.items():
        for key in keys:
            if column not in row:
                put(row, column, run.get(key))
    agentic = "scenario_type" in run
    measures = {"ttft": "ttft", "tpot": "tpot", "itl": "tpot" if agentic else "itl", "e2el": "e2e", "ttlt": "e2e"}
    used = set()
    for name, measure in measures.items():
        for word, statistic in WORDS.items():
            key, column = f"{word}_{name}", f"{measure}_{statistic}_ms"
            if number(run.get(key)) is not None and column not in row:
                put(row, column, run[key], 1000.0)
                used.add(key)
    if not agentic and number(run.get("std_itl")) is not None:
        put(row, "jitter_ms", run["std_itl"], 1000.0)
        used.add("std_itl")
    if "requests" in row and row["requests"] == row.get("completed"):
        row.setdefault("errors", 0.0)
    if "requests" in row and "errors" in row:
        row["error_rate"] = row["errors"] / row["requests"]
    rows = [("serving_outcome_fact", row)]
    for key, value in run.items():
        word, _, rest = key.partition("_")
        is_statistic = word in ("mean", "median", "std") or (word[:1] == "p" and word[1:2].isdigit())
        if key in used or number(value) is None:
            continue
        if key in ASIDE or (is_statistic and rest in SECONDS + OTHERS):
            scale = 1000.0 if rest in SECONDS else 1.0
            rows.append(("telemetry_slice_fact", {"metric": key, "last": number(value) * scale}))
    return rows


def read(path):
    return [row for run in load(path) for row in read_one(run)]


if __name__ == "__main__":
    main(read)
