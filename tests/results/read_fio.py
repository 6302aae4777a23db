#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent reading of fio's JSON, for compare.py."""

import json
import sys


def row(metric, **values):
    print(f"row telemetry_slice_fact\nmetric={metric}")
    for name, value in values.items():
        if value is not None:
            print(f"{name}={value!r}")


def latency(direction, part, kind):
    for name, factor in ((f"{kind}_ns", 1e-3), (kind, 1)):
        if name in part:
            value = part[name]
            break
    else:
        return
    if value["mean"] == 0 and value["max"] == 0:
        return
    percentiles = {float(p): v for p, v in value.get("percentile", {}).items()}
    row(f"{direction}_{kind}", min=value["min"] * factor, max=value["max"] * factor, mean=value["mean"] * factor,
        count=value.get("N"),
        **{f"p{p}": percentiles[p] * factor for p in (50, 95, 99) if p in percentiles})


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    for job in report["jobs"]:
        for direction in ("read", "write", "trim"):
            part = job.get(direction, {})
            if not part.get("io_bytes"):
                continue
            row(f"{direction}_bw", mean=part["bw_bytes"] if "bw_bytes" in part else part["bw"] * 1024)
            if part.get("bw_samples", part["bw_mean"]) > 0:
                row(f"{direction}_bw_sampled", min=part["bw_min"] * 1024, max=part["bw_max"] * 1024,
                    mean=part["bw_mean"] * 1024, count=part.get("bw_samples"))
            row(f"{direction}_iops", mean=part["iops"], count=part.get("total_ios"))
            if part.get("iops_samples"):
                row(f"{direction}_iops_sampled", min=part["iops_min"], max=part["iops_max"], mean=part["iops_mean"],
                    count=part["iops_samples"])
            for kind in ("slat", "clat", "lat"):
                latency(direction, part, kind)


main()
