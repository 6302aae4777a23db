#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent reading of llm-d's benchmark reports, for compare.py."""

import re
import sys

import yaml

FACTORS = {"s": 1000, "s/token": 1000, "seconds": 1000, "MB": 1e6, "GB": 1e9, "TB": 1e12, "MiB": 2**20, "GiB": 2**30,
           "TiB": 2**40, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12, "GiB/s": 2**30, "MB/s": 1e6, "GB/s": 1e9,
           "TB/s": 1e12}
COLUMNS = {"mean": "mean", "min": "min", "max": "max", "p50": "p50", "p95": "p95", "p99": "p99", "value": "last"}
NOISE = {"aggregate", "aggregated", "components", "statistics", "time_series", "series", "pods", "controllers",
         "replica_health"}
OTHER = {"mode", "stddev", "p0p1", "p1", "p5", "p10", "p25", "p75", "p90", "p99p9", "count"}
LATENCY = {"time_to_first_token": "ttft", "time_per_output_token": "tpot", "inter_token_latency": "itl",
           "request_latency": "e2e"}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def statistics(names, values, factor):
    known = {COLUMNS[k]: v * factor if factor != 1 else v for k, v in values.items() if k in COLUMNS and is_number(v)}
    if not known and "count" not in values:
        return
    print(f"row telemetry_slice_fact\nmetric={'.'.join(names)}")
    for name, value in known.items():
        print(f"{name}={value!r}")
    if "count" in values:
        print(f"count={values['count']}")


def walk(names, value, inside):
    """inside: single numbers count here."""
    if isinstance(value, list):
        for item in value:
            if isinstance(item, (dict, list)):
                if isinstance(item, dict):
                    of_object(names, item)
                walk(names, item, inside)
        return
    for key, item in value.items():
        if key in ("series", "profiling"):
            continue
        here = names if key in NOISE else names + [key]
        counts = inside or key in ("observability", "component_health", "session_performance")
        if isinstance(item, (dict, list)):
            if isinstance(item, dict):
                of_object(here, item)
            walk(here, item, counts)
        elif is_number(item) and inside and "units" not in value and key not in COLUMNS and key not in OTHER:
            print(f"row telemetry_slice_fact\nmetric={'.'.join(here)}\nlast={item!r}")


def of_object(names, item):
    if isinstance(item.get("units"), str):
        factor = FACTORS.get(item["units"], 1)
        statistics(names, item, factor)
        for point in item.get("series", []):
            statistics(names, point, factor)


def serving(report, measured, old):
    """The columns of the one row."""
    for name, short in LATENCY.items():
        values = measured["latency"].get(name, {})
        for stat in ("mean", "p50", "p90", "p95", "p99"):
            if stat in values:
                print(f"{short}_{stat}_ms={values[stat] * FACTORS.get(values['units'], 1)!r}")
        if name == "inter_token_latency" and "stddev" in values:
            print(f"jitter_ms={values['stddev']!r}")
    requests = measured["requests"]
    failed = requests["failures"] + requests.get("incomplete", 0)
    print(f"requests={requests['total']}\nerrors={failed}\ncompleted={requests['total'] - failed}")
    print(f"error_rate={failed / requests['total']!r}")
    for column, was, now in (("request_throughput", "requests_per_sec", "request_rate"),
                             ("output_token_throughput", "output_tokens_per_sec", "output_token_rate"),
                             ("input_token_throughput", "input_tokens_per_sec", "input_token_rate"),
                             ("total_token_throughput", "total_tokens_per_sec", "total_token_rate")):
        print(f"{column}={measured['throughput'][was] if old else measured['throughput'][now]['mean']!r}")
    if old:
        print(f"duration_s={report['metrics']['time']['duration']!r}")
    else:
        print(f"duration_s={re.fullmatch(r'PT(.*)S', report['run']['time']['duration']).group(1)}")
        print(f"request_rate={report['scenario']['load']['standardized']['rate_qps']!r}")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        report = yaml.safe_load(file)
    old = "metrics" in report
    measured = report["metrics"] if old else report["results"]["request_performance"]["aggregate"]
    print("row serving_outcome_fact")
    serving(report, measured, old)
    walk([], report["metrics"] if old else report["results"], False)


main()
