#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare `tracecore run read` with the independent reading of the same file.

usage: compare.py TOOL FILE... [--tolerance X]   one reading beside ours
       compare.py --samples [TOOL]               every sample of a tool that has a reading
       compare.py --selftest                     a changed number is found

The reading is read_TOOL.py beside this script: it prints "row TABLE" and "column=value" lines.
Rows must come in the same order (slices: any), with the same columns and the same numbers: equal as doubles, or,
where both sides compute them, within 1e-12. $TC_BINARY is the program, $TC_SAMPLES has the samples.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NOT_MEASURED = {"file", "reader", "table", "where", "definitions", "tool", "tool_version", "source_pointer",
                "workload_point", "started_at", "ended_at", "family", "unit", "point", "node_name", "gpu_uuid",
                "phase", "scale_point", "final_quality_name", "rank_id", "job_uid", "pod_uid", "request_class",
                "window_start", "window_end"}
# Tool: its samples, and how exact the numbers have to be.
SAMPLES = {
    "vllm": ([], 0.0),
    "inferencex": (["vllm-bench-serve/*.json"], 1e-15),
    "sglang": (["sglang-bench-serving/*.jsonl"], 0.0),
    "aiperf": (["aiperf/*_aiperf.json", "aiperf/*_aiperf.csv"], 0.0),
    "aiperf-requests": (["aiperf/*.jsonl"], 1e-12),
    "genai-perf": ([], 0.0),
    "guidellm": (["guidellm/*.json"], 1e-15),
    "fio": (["fio/*.json"], 1e-15),
    "inference-perf": (["inference-perf/*.json", "inference-perf/*.yaml"], 1e-15),
    "llm-d": (["llm-d-benchmark-report/*_example.yaml"], 1e-15),
    "mllog": (["mlperf-mllog/*_result_*.txt"], 1e-12),
    "mlperf-inference": (["mlperf-inference/mlperf_*"], 1e-15),
    "nccl-tests": (["nccl-tests/aws_*.txt", "nccl-tests/pkb_*.txt"], 0.0),
}


def ours(path, tool):
    binary = os.environ["TC_BINARY"]
    done = subprocess.run([binary, "run", "read", "--json", str(path)], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"{path}: run read exits with {done.returncode}: {done.stderr or done.stdout[-2000:]}")
    rows = []
    for line in done.stdout.splitlines():
        row = json.loads(line)
        if row.get("contradiction"):
            sys.exit(f"{path}: a false alarm: {line}")
        if "table" not in row:
            continue
        if row["reader"] != tool:
            sys.exit(f"{path}: read by {row['reader']}, not by {tool}")
        columns = {key: value for key, value in row.items() if key not in NOT_MEASURED}
        rows.append((row["table"], columns))
    return rows


def theirs(path, tool):
    script = HERE / f"read_{tool}.py"
    done = subprocess.run([sys.executable, "-B", str(script), str(path)], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"{script.name} {path}: {done.stderr}")
    rows = []
    for line in done.stdout.splitlines():
        if line.startswith("row "):
            rows.append((line[4:], {}))
        else:
            column, _, value = line.partition("=")
            rows[-1][1][column] = value
    return rows


def same(a, b, tolerance):
    """a is ours; b a text."""
    if isinstance(a, str):
        return a == b
    try:
        b = float(b)
    except ValueError:
        return False
    return a == b or abs(a - b) <= tolerance * max(abs(a), abs(b))


def in_order(rows):
    """The slices behind a row by their metric: in which order they come is not of interest."""
    point = 0
    keyed = []
    for table, row in rows:
        is_slice = table == "telemetry_slice_fact"
        point += not is_slice
        keyed.append((point, is_slice, str(row.get("metric", "")) if is_slice else "", table, row))
    return [(table, row) for _, _, _, table, row in sorted(keyed, key=lambda key: key[:3])]


def differences(path, tool, tolerance, reading=None):
    left, right = ours(path, tool), theirs(reading or path, tool)
    found = []
    left, right = in_order(left), in_order(right)
    if [table for table, _ in left] != [table for table, _ in right]:
        found.append(f"{len(left)} rows of ours, {len(right)} of the reading, or in another order")
        return found
    for index, ((table, mine), (_, other)) in enumerate(zip(left, right)):
        for column in sorted(set(mine) | set(other)):
            if column not in mine or column not in other:
                found.append(f"row {index} {table}.{column}: ours {mine.get(column)}, reading {other.get(column)}")
            elif not same(mine[column], other[column], tolerance):
                found.append(f"row {index} {table}.{column}: ours {mine[column]!r}, reading {other[column]}")
    return found


def check(paths, tool, tolerance):
    bad = 0
    for path in paths:
        for line in differences(path, tool, tolerance):
            print(f"{path}: {line}")
            bad += 1
    return bad


def check_samples(tools):
    root = pathlib.Path(os.environ.get("TC_SAMPLES", "")) / "results"
    if not root.is_dir():
        print(f"skipped: no samples in {root}")
        return 77
    bad = count = 0
    for tool in tools:
        patterns, tolerance = SAMPLES[tool]
        paths = sorted(path for pattern in patterns for path in root.glob(pattern))
        if patterns and not paths:
            print(f"skipped: no samples of {tool}")
            continue
        bad += check(paths, tool, tolerance)
        count += len(paths)
    print(f"{count} files, {bad} differences")
    return 1 if bad else 0


def selftest():
    """The comparison sees one digit."""
    run = {"model_id": "m", "completed": 4, "num_prompts": 4, "duration": 2.0, "request_throughput": 2.0,
           "mean_ttft_ms": 10.5, "median_ttft_ms": 10.0, "p99_ttft_ms": 12.0}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "run.json"
        path.write_text(json.dumps(run), encoding="utf-8")
        if differences(path, "vllm", 0.0):
            return 1
        left = ours(path, "vllm")
        left[0][1]["ttft_mean_ms"] = 10.500000000000002
        right = theirs(path, "vllm")
        return 0 if not same(left[0][1]["ttft_mean_ms"], right[0][1]["ttft_mean_ms"], 0.0) else 1


def main():
    args = sys.argv[1:]
    if args[:1] == ["--selftest"]:
        return selftest()
    if args[:1] == ["--samples"]:
        return check_samples(args[1:] or sorted(SAMPLES))
    if len(args) < 2 or args[0].startswith("-"):
        print(__doc__)
        return 2
    tolerance = 0.0
    if "--tolerance" in args:
        at = args.index("--tolerance")
        tolerance = float(args[at + 1])
        del args[at:at + 2]
    return 1 if check(args[1:], args[0], tolerance) else 0


if __name__ == "__main__":
    sys.exit(main())
