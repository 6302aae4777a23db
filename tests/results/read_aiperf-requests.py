#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""AIPerf's requests, one per line: distributions over those that succeeded."""

import json
import math

from reading import STATISTICS, main

LATENCIES = {
    "time_to_first_token": "ttft",
    "ttft": "ttft",
    "inter_token_latency": "tpot",
    "inter_chunk_latency": "itl",
    "request_latency": "e2e",
}


def percentile(ordered, p):
    at = (len(ordered) - 1) * p / 100
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def statistics(values):
    ordered = sorted(values)
    mean = math.fsum(ordered) / len(ordered)
    out = {"mean": mean}
    out.update({f"p{p}": percentile(ordered, p) for p in (50, 90, 95, 99)})
    out["std"] = math.sqrt(math.fsum((v - mean) ** 2 for v in ordered) / len(ordered))
    out.update(min=ordered[0], max=ordered[-1], count=float(len(ordered)))
    return out


def read(path):
    values = {}
    completed = errors = 0
    starts, ends = [], []
    with open(path, encoding="utf-8") as file:
        for line in file:
            request = json.loads(line)
            metadata = request["metadata"]
            if metadata.get("benchmark_phase", metadata.get("credit_phase")) == "warmup":
                continue
            if request.get("error"):
                errors += 1
                continue
            completed += 1
            metrics = request["metrics"]
            start = metadata.get("request_start_ns", metadata.get("timestamp_ns"))
            starts.append(start)
            if "request_end_ns" in metadata:
                ends.append(metadata["request_end_ns"])
            elif "max_response_timestamp" in metrics:
                ends.append(metrics["max_response_timestamp"]["value"])
            else:
                ends.append(start + int(metrics["request_latency"]["value"] * 1e6))
            for name, metric in metrics.items():
                if name.endswith("_timestamp") or name == "request_count":
                    continue
                value = metric["value"]
                values.setdefault(name, []).extend(value if isinstance(value, list) else [value])
    seconds = (max(ends) - min(starts)) / 1e9
    row = {
        "completed": float(completed),
        "errors": float(errors),
        "requests": float(completed + errors),
        "error_rate": errors / (completed + errors),
        "duration_s": seconds,
        "request_throughput": completed / seconds,
    }
    slices = []
    for name, series in values.items():
        found = statistics([float(v) for v in series])
        if name in LATENCIES:
            for statistic in STATISTICS:
                row[f"{LATENCIES[name]}_{statistic}_ms"] = found[statistic]
        if name == "inter_chunk_latency":
            row["jitter_ms"] = found["std"]
        for prefix, kind in (("input", "input_sequence_length"), ("output", "output_sequence_length")):
            if name == kind:
                row[f"{prefix}_tokens"] = float(sum(series))
                row[f"{prefix}_token_throughput"] = sum(series) / seconds
        part = {"metric": name}
        part.update({key: found[key] for key in ("count", "min", "max", "mean", "p50", "p95", "p99")})
        slices.append(("telemetry_slice_fact", part))
    return [("serving_outcome_fact", row)] + slices


if __name__ == "__main__":
    main(read)
