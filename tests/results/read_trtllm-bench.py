#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trtllm-bench: the file of --report_json with the json module, or one printed report of today by its labels."""

import json
import re

from reading import main, put

SLICES = {"min": "minimum", "max": "maximum", "mean": "average", "p50": "p50", "p95": "p95", "p99": "p99"}
LABELS = {"num_requests": "Number of requests", "avg_num_concurrent_requests": "Number of concurrent requests",
          "request_throughput_req_s": "Request Throughput (req/sec)",
          "system_output_throughput_tok_s": "Total Output Throughput (tokens/sec)",
          "system_total_throughput_tok_s": "Total Token Throughput (tokens/sec)", "total_latency_ms": "Total Latency (ms)",
          "output_throughput_per_user_tok_s": "Per User Output Throughput [w/ ctx] (tps/user)",
          "output_throughput_per_gpu_tok_s": "Per GPU Output Throughput (tps/gpu)",
          "token_output_speed_tok_s": "Per User Output Speed (tps/user)"}


def from_text(text):
    """What both have, flat: the members of the JSON, and the three distributions."""
    values = {}
    for key, label in LABELS.items():
        found = re.search(rf"^{re.escape(label)}:\s*(\S+)$", text, re.M)
        values[key] = float(found[1]) if found else None
    spreads = {}
    for tag, name in (("Latency", "request_latency"), ("TTFT", "ttft"), ("TPOT", "tpot"), ("GTPS", "gen_tps")):
        spreads[name] = {stat.strip().lower(): float(value)
                         for stat, value in re.findall(rf"^\[{tag}\] (\w+)\s*: (\S+)$", text, re.M)}
    return values, spreads


def from_json(document):
    values = {**document["request_info"], **document["performance"], **document["streaming_metrics"]}
    return values, {"request_latency": values["request_latency_percentiles_ms"], "ttft": values["ttft_percentiles"],
                    "tpot": values["tpot_percentiles"], "gen_tps": values["gen_tps_percentiles"]}


def read(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    values, spreads = from_json(json.loads(text)) if text.startswith("{") else from_text(text)
    row, slices = {}, []
    for column, key in (("completed", "num_requests"), ("request_throughput", "request_throughput_req_s"),
                        ("output_token_throughput", "system_output_throughput_tok_s"),
                        ("total_token_throughput", "system_total_throughput_tok_s")):
        put(row, column, values[key])
    put(row, "duration_s", values["total_latency_ms"], 1e-3)
    for name, column in (("request_latency", "e2e"), ("ttft", "ttft"), ("tpot", "tpot")):
        for stat, key in (("mean", "average"), *((p, p) for p in ("p50", "p90", "p95", "p99"))):
            put(row, f"{column}_{stat}_ms", spreads[name][key])
    for name, spread in spreads.items():
        if spread:
            slices.append({"metric": name, **{stat: spread[key] for stat, key in SLICES.items()}})
    for key in ("avg_num_concurrent_requests", "output_throughput_per_user_tok_s", "output_throughput_per_gpu_tok_s",
                "token_output_speed_tok_s"):
        slices.append({"metric": key, "last": values[key]})
    return [("serving_outcome_fact", row)] + [("telemetry_slice_fact", part) for part in slices]


if __name__ == "__main__":
    main(read)
