#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent reading of LoadGen's summary and of NVIDIA's metadata, for compare.py."""

import json
import re
import sys


def summary(text):
    values = dict(re.findall(r"^\s*([^:\n]+?)\s*:\s*(\S.*?)\s*$", text, re.M))
    latency = {name: int(values[f"{key} latency (ns)"]) * 1e-6
               for name, key in (("mean", "Mean"), ("p50", "50.00 percentile"), ("p90", "90.00 percentile"),
                                 ("p95", "95.00 percentile"), ("p99", "99.00 percentile"), ("min", "Min"), ("max", "Max"))}
    print("row serving_outcome_fact")
    print(f"request_rate={values['target_qps']}")
    processed = re.search(r"Processed (\d+) queries", text).group(1)
    print(f"completed={processed}")
    print(f"request_throughput={values['Completed samples per second']}")
    for name in ("mean", "p50", "p90", "p95", "p99"):
        print(f"e2e_{name}_ms={latency[name]!r}")
    print("row telemetry_slice_fact\nmetric=latency")
    for name, value in latency.items():
        if name != "p90":
            print(f"{name}={value!r}")
    for name, key in (("completed_samples_per_second", "Completed samples per second"),
                      ("samples_per_second", "Samples per second")):
        print(f"row telemetry_slice_fact\nmetric={name}\nlast={values[key]}")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    if not text.startswith("{"):
        summary(text)
        return
    rate = json.loads(text)["result_scheduled_samples_per_sec"]
    print(f"row serving_outcome_fact\nrequest_throughput={rate!r}")
    print(f"row telemetry_slice_fact\nmetric=scheduled_samples_per_second\nlast={rate!r}")


main()
