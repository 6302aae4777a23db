#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent reading of inference-perf's reports, for compare.py."""

import json
import sys

import yaml

SERVING = {"time_to_first_token": "ttft", "time_per_output_token": "tpot", "inter_token_latency": "itl",
           "request_latency": "e2e"}
STATISTICS = {"mean": "mean", "min": "min", "max": "max", "median": "p50", "p95": "p95", "p99": "p99"}
SERVER_SECONDS = ("request_latency", "time_to_first_token", "time_per_output_token")
SERVER_OTHER = ("kv_cache_usage_percentage", "queue_len", "prompt_len", "output_len", "num_requests_swapped",
                "num_preemptions_total", "prefix_cache_hit_percent")


def spread(metric, values, factor=1, in_row=False):
    """in_row: its 90th percentile is a column of the row; a slice has none, and it is one of its own."""
    if not in_row:
        ninetieth(metric, values, factor)
    known = {STATISTICS[k]: v * factor for k, v in (values or {}).items() if k in STATISTICS}
    if known:
        print(f"row telemetry_slice_fact\nmetric={metric}")
        for name, value in known.items():
            print(f"{name}={value!r}")


def ninetieth(metric, values, factor=1):
    if (values or {}).get("p90") is not None:
        print(f"row telemetry_slice_fact\nmetric={metric}.p90\nlast={values['p90'] * factor!r}")


def single(metric, value):
    if value is not None:
        print(f"row telemetry_slice_fact\nmetric={metric}\nlast={value!r}")


def server(good):
    for name in SERVER_SECONDS:
        spread(f"server.{name}", good[name], 1000)
    for name in SERVER_OTHER:
        spread(f"server.{name}", good[name])
    single("server.count", good["count"])
    single("server.rate", good["rate"])
    single("server.prompt_len.rate", good["prompt_len"]["rate"])
    single("server.output_len.rate", good["output_len"]["rate"])


def serving(report, good, load):
    bad = report["failures"]["count"]
    print("row serving_outcome_fact")
    for name, short in SERVING.items():
        for key, stat in (("mean", "mean"), ("median", "p50"), ("p90", "p90"), ("p95", "p95"), ("p99", "p99")):
            print(f"{short}_{stat}_ms={good['latency'][name][key] * 1000!r}")
    print(f"requests={load['count']}\ncompleted={good['count']}\nerrors={bad}\nerror_rate={bad / load['count']!r}")
    for column, key in (("request_throughput", "requests_per_sec"), ("output_token_throughput", "output_tokens_per_sec"),
                        ("input_token_throughput", "input_tokens_per_sec"),
                        ("total_token_throughput", "total_tokens_per_sec")):
        print(f"{column}={good['throughput'][key]!r}")
    for column, value in (("request_rate", load.get("requested_rate")), ("duration_s", report.get("benchmark_time_seconds")),
                          ("input_tokens", good.get("prompt_tokens", {}).get("total"))):
        if value is not None:
            print(f"{column}={value!r}")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    report = json.loads(text) if text.startswith("{") else yaml.safe_load(text)
    good, load = report["successes"], report["load_summary"]
    if "latency" not in good:
        server(good)
        return
    serving(report, good, load)
    for name in ("time_to_first_token", "time_per_output_token", "inter_token_latency", "request_latency",
                 "normalized_time_per_output_token"):
        spread(name, good["latency"][name], 1000, in_row=name in SERVING)
    spread("prompt_len", good["prompt_len"])
    spread("output_len", good["output_len"])
    spread("request_size_bytes", good.get("request_size_bytes"))
    for kind, members in (("image", ("count", "pixels", "bytes", "aspect_ratio")),
                          ("video", ("count", "frames", "pixels", "bytes", "aspect_ratio")),
                          ("audio", ("count", "seconds", "bytes"))):
        for member in members:
            spread(f"{kind}_{member}", good.get(kind, {}).get(member), 1000 if member == "seconds" else 1)
    spread("schedule_delay", load["schedule_delay"], 1000)
    single("send_duration", load.get("send_duration"))
    single("achieved_rate", load.get("achieved_rate"))
    for name in ("cached", "uncached"):
        single(f"prompt_tokens.{name}", good.get("prompt_tokens", {}).get(name))
    for name in ("images", "videos", "audios"):
        single(f"{name}_per_sec", good["throughput"].get(f"{name}_per_sec"))
    single("token_count_mismatches", good.get("token_count_mismatches"))


main()
