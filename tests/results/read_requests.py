#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests of result files: a reading of our own beside that of the program.

usage: read_requests.py PRINT_REQUESTS

PRINT_REQUESTS is tests/results/print_requests.c. The files are made here, random and hostile ones for each tool;
AIPerf's sample is read in place where $TC_SAMPLES has it.
"""

import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import uuid

EPOCH = 1_762_000_000.0
MS_MAX = 1e12


def good(value, most=MS_MAX):
    """A number that can be, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return value if 0 <= value <= most else None


def tokens(value):
    value = good(value)
    return int(value) if value is not None and value == int(value) else None


def moment(seconds):
    return round(seconds * 1e6) if good(seconds, 9e9) is not None and seconds >= 1e9 else None


# ---- what each tool's file says ----


def of_lists(document, where):
    """vLLM and SGLang: lists side by side, in seconds."""
    def at(name, n):
        values = document.get(name)
        value = values[n] if values is not None and n < len(values) else None
        return None if isinstance(value, float) and math.isnan(value) else value

    for n, ttft in enumerate(document["ttfts"]):
        gaps, latency, length = at("itls", n), at("latencies", n), at("output_lens", n)
        error, start = at("errors", n) or None, at("start_times", n)
        failed = bool(error) or not isinstance(ttft, (int, float)) or (ttft == 0 and "errors" not in document)
        row = {"source_pointer": f"{where}/ttfts/{n}", "status": "error" if failed else "ok", "error": error,
               "input_tokens": tokens(at("input_lens", n)), "started_at": None if start is None else moment(start)}
        if not failed:
            if latency is None and gaps is not None:
                latency = ttft + sum(gaps)
            row["ttft_ms"] = good(ttft * 1000)
            row["output_tokens"] = tokens(length)
            if latency is not None:
                row["e2e_ms"] = good(latency * 1000)
                if length is not None and length > 1:
                    row["tpot_ms"] = good((latency - ttft) * 1000 / (length - 1))
            if start is not None:
                row["first_token_at"] = moment(start + ttft)
                row["ended_at"] = None if latency is None else moment(start + latency)
        yield row


def of_aiperf(document, where):
    metadata, metrics = document["metadata"], document["metrics"]
    if metadata.get("benchmark_phase", metadata.get("credit_phase")) == "warmup":
        return
    value = lambda name: good(metrics.get(name, {}).get("value"))
    start = metadata.get("request_start_ns", metadata.get("timestamp_ns"))
    end = metadata.get("request_end_ns")
    row = {"source_pointer": where, "request_id": metadata.get("x_request_id"), "status": "ok",
           "started_at": start // 1000, "ttft_ms": value("time_to_first_token" if "time_to_first_token" in metrics else "ttft"),
           "tpot_ms": value("inter_token_latency"),
           "e2e_ms": value("request_latency"), "input_tokens": tokens(value("input_sequence_length")),
           "output_tokens": tokens(value("output_sequence_length"))}
    if row["ttft_ms"] is not None:
        row["first_token_at"] = (start + int(row["ttft_ms"] * 1e6)) // 1000
    if end is None and row["e2e_ms"] is not None:
        end = start + int(row["e2e_ms"] * 1e6)
    row["ended_at"] = None if end is None else end // 1000
    error = document.get("error")
    cancelled = metadata.get("was_cancelled") or (error or {}).get("type") == "RequestCancellationError"
    if error or cancelled:
        row.update(status="cancelled" if cancelled else "error", error=(error or {}).get("message"))
    yield row


def of_inference_perf(request, where):
    info = request["info"]
    info = {**info, **info.get("response_metrics", {}), **info.get("request_metrics", {}).get("text", {})}
    start, end = request["start_time"], request["end_time"]
    row = {"source_pointer": where, "status": "ok", "started_at": moment(start), "ended_at": moment(end)}
    if request["error"]:
        yield {**row, "status": "error", "error": request["error"]["error_msg"]}
        return
    stamps, length = info["output_token_times"], info["output_tokens"]
    row.update(e2e_ms=good((end - start) * 1000), input_tokens=tokens(info["input_tokens"]),
               output_tokens=tokens(length))
    if len(stamps) > 1:
        row.update(ttft_ms=good((stamps[0] - start) * 1000), first_token_at=moment(stamps[0]))
        if length > 1:
            row["tpot_ms"] = good((stamps[-1] - stamps[0]) * 1000 / (length - 1))
    yield row


def of_guidellm(request, where, status):
    timings = request.get("info", {}).get("timings", {})
    pick = lambda *values: next((v for v in values if v is not None), None)
    seconds = lambda v: None if v is None else moment(v)
    latency = request.get("request_latency")
    yield {
        "source_pointer": where, "status": status, "request_id": request.get("request_id"),
        "error": pick(request.get("error"), request.get("info", {}).get("error")),
        "started_at": seconds(pick(request.get("start_time"), timings.get("request_start"))),
        "ended_at": seconds(pick(request.get("end_time"), timings.get("request_end"))),
        "first_token_at": seconds(pick(request.get("first_token_time"), timings.get("first_token_iteration"))),
        "ttft_ms": good(request.get("time_to_first_token_ms")), "tpot_ms": good(request.get("inter_token_latency_ms")),
        "e2e_ms": None if latency is None else good(latency * 1000),
        "input_tokens": tokens(pick(request.get("prompt_tokens"), request.get("input_metrics", {}).get("text_tokens"))),
        "output_tokens": tokens(pick(request.get("output_tokens"), request.get("output_metrics", {}).get("text_tokens"))),
    }


def expected(tool, content):
    rows = []
    if tool in ("vllm", "sglang"):
        lines = [line for line in content.splitlines() if line]
        for n, line in enumerate(lines):
            rows += of_lists(json.loads(line), f"line:{n + 1}" if len(lines) > 1 else "")
    elif tool == "aiperf":
        lines = content.splitlines()
        for n, line in enumerate(lines):
            rows += of_aiperf(json.loads(line), f"line:{n + 1}")
    elif tool == "inference-perf":
        for n, request in enumerate(json.loads(content)):
            rows += of_inference_perf(request, f"/{n}")
    else:
        for b, benchmark in enumerate(json.loads(content)["benchmarks"]):
            for name, status in (("successful", "ok"), ("errored", "error"), ("incomplete", "cancelled")):
                for n, request in enumerate(benchmark["requests"][name]):
                    rows += of_guidellm(request, f"/benchmarks/{b}/requests/{name}/{n}", status)
    return [{key: value for key, value in row.items() if value is not None} for row in rows]


# ---- made files ----

WEIRD = [0, -0.5, 1e-9, 1e300, float("nan"), 3.25]


def latency(r, weird):
    return r.choice(WEIRD) if weird and r.random() < 0.2 else r.uniform(0.01, 2)


def make_lists(r, tool, weird):
    n = r.randrange(1, 40)
    errors = [r.choice(["", "", "", "Bad \u00fcn\n" + "x" * r.randrange(9)]) for _ in range(n)]
    errors[0] = ""
    failed = [bool(e) for e in errors]
    lists = {
        "ttfts": [0.0 if bad else latency(r, False) for bad in failed],
        "itls": [[] if bad else [r.uniform(0.001, 0.1) for _ in range(r.randrange(6))] for bad in failed],
        "output_lens": [0 if bad else r.choice([1, 2, 17, 300]) for bad in failed],
        "input_lens": [r.randrange(1, 5000) for _ in range(n)], "errors": errors,
    }
    if r.random() < 0.5:
        lists["latencies"] = [0.0 if bad else t + latency(r, weird) for bad, t in zip(failed, lists["ttfts"])]
    if r.random() < 0.5:
        base = r.choice([EPOCH, 12345.5])
        lists["start_times"] = [base + r.uniform(0, 100) for _ in range(n)]
    if weird:
        name = r.choice([key for key in lists if key != "ttfts"])
        lists[name] = lists[name][:r.randrange(n)] if r.random() < 0.5 else lists[name] + lists[name][:1]
        if name == "errors":
            lists["ttfts"] = [t or 0.5 for t in lists["ttfts"]]
    summary = {"backend": tool, "model_id": "m", "request_rate": 4.0, "max_concurrency": 8, "duration": 9.0,
               "completed": n - sum(failed), "total_input_tokens": 10, "total_output_tokens": 10,
               "request_throughput": 1.0, "output_throughput": 1.0}
    if tool == "vllm":
        summary.update(num_prompts=n, mean_ttft_ms=1.0, median_ttft_ms=1.0, p99_ttft_ms=1.0)
    else:
        summary.update(dataset_name="random", random_input_len=8, random_output_len=8, mean_e2e_latency_ms=1.0,
                       median_e2e_latency_ms=1.0, mean_ttft_ms=1.0, median_ttft_ms=1.0)
    return json.dumps({**summary, **lists})


def make_aiperf(r, weird):
    lines = []
    for n in range(r.randrange(2, 40)):
        metric = lambda unit, value: {"value": value, "unit": unit}
        start = int(EPOCH * 1e9) + r.randrange(10**11)
        document = {"metadata": {"x_request_id": str(uuid.UUID(int=r.getrandbits(128))), "worker_id": "w",
                                 "request_start_ns": start, "benchmark_phase": r.choice(["profiling"] * 5 + ["warmup"])},
                    "metrics": {"time_to_first_token": metric("ms", latency(r, weird) * 100),
                                "inter_token_latency": metric("ms", latency(r, weird)),
                                "request_latency": metric("ms", latency(r, weird) * 1000),
                                "input_sequence_length": metric("tokens", r.randrange(9999)),
                                "output_sequence_length": metric("tokens", r.randrange(9999))}}
        if r.random() < 0.5:
            document["metadata"]["request_end_ns"] = start + r.randrange(10**10)
        if n > 1 and r.random() < 0.2:
            document["error"] = {"code": 500, "type": r.choice(["X", "RequestCancellationError"]), "message": "no"}
            document["metrics"] = {}
        if n < 2:
            document["metadata"]["benchmark_phase"] = "profiling"
        lines.append(json.dumps(document))
    return "\n".join(lines) + "\n"


def make_inference_perf(r, weird):
    requests = []
    base = r.choice([EPOCH, 777.25])
    for n in range(r.randrange(1, 40)):
        start = base + r.uniform(0, 50)
        count = r.randrange(5)
        stamps = sorted(start + r.uniform(0, 2) for _ in range(count))
        info = {"input_tokens": r.randrange(999), "output_tokens": r.choice([count, 0, 1, 50]),
                "output_token_times": stamps}
        if r.random() < 0.5:
            info = {"request_metrics": {"text": {"input_tokens": info["input_tokens"]}},
                    "response_metrics": {"output_tokens": info["output_tokens"], "output_token_times": stamps}}
        bad = n > 0 and r.random() < 0.2
        requests.append({"start_time": start, "end_time": start + (1e300 if weird and r.random() < 0.1 else 2.5),
                         "request": "{}", "response": "{}", "info": info,
                         "error": {"error_type": "T", "error_msg": "it broke"} if bad else None})
    return json.dumps(requests)


def make_guidellm(r, weird):
    def request(new):
        start = EPOCH + r.uniform(0, 99)
        out = {"request_id": str(uuid.UUID(int=r.getrandbits(128))), "request_latency": latency(r, weird),
               "time_to_first_token_ms": latency(r, weird) * 100, "inter_token_latency_ms": latency(r, weird) * 10}
        if new:
            out.update(info={"timings": {"request_start": start, "request_end": start + 1, "first_token_iteration": start + .5},
                             "error": None}, input_metrics={"text_tokens": 5}, output_metrics={"text_tokens": 6})
        else:
            out.update(start_time=start, end_time=start + 1, first_token_time=start + 0.25, prompt_tokens=7, output_tokens=8)
        return out

    new = r.random() < 0.5
    distribution = {"successful": {"mean": 1.0, "median": 1.0, "count": 3, "percentiles": {"p50": 1.0}}}
    benchmarks = []
    for _ in range(r.randrange(1, 4)):
        lists = {name: [request(new) for _ in range(r.randrange(least, 9))]
                 for name, least in (("successful", 1), ("errored", 0), ("incomplete", 0))}
        for bad in lists["errored"]:
            bad.update(error="no answer") if not new else bad["info"].update(error="no answer")
        benchmarks.append({"metrics": {"request_totals": {"successful": 3, "errored": 0},
                                       "time_to_first_token_ms": distribution, "request_latency": distribution},
                           "config": {"strategy": {"type_": "synchronous"}}, "start_time": EPOCH, "end_time": EPOCH + 9,
                           "requests": lists})
    return json.dumps({"metadata": {"guidellm_version": "0.4"}, "benchmarks": benchmarks})


# ---- both readings ----


def same(column, a, b):
    if column.endswith("_at"):
        return abs(a - b) <= 1
    if isinstance(a, float) or isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-7)
    return a == b


def compare(program, path, tool, content):
    done = subprocess.run([program, str(path)], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        sys.exit(f"{path}: exit {done.returncode}: {done.stderr}")
    ours = [json.loads(line) for line in done.stdout.splitlines()]
    theirs = expected(tool, content)
    if len(ours) != len(theirs):
        sys.exit(f"{path}: {len(ours)} requests, not {len(theirs)}")
    for a, b in zip(ours, theirs):
        a.pop("tool")
        if set(a) != set(b) or not all(same(key, a[key], b[key]) for key in a):
            sys.exit(f"{path}: the program reads\n{a}\nand this is\n{b}")
    return len(ours)


def main():
    program = sys.argv[1]
    count = 0
    makers = {"vllm": lambda r, w: make_lists(r, "vllm", w), "sglang": lambda r, w: make_lists(r, "sglang", w),
              "aiperf": make_aiperf, "inference-perf": make_inference_perf, "guidellm": make_guidellm}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "file"
        for tool, make in makers.items():
            for seed in range(24):
                content = make(random.Random(f"{tool}{seed}"), seed % 2 == 1)
                path.write_text(content, encoding="utf-8")
                try:
                    count += compare(program, path, tool, content)
                except SystemExit as why:
                    sys.exit(f"{tool}, seed {seed}: {why}")
    sample = pathlib.Path(os.environ.get("TC_SAMPLES", "/nowhere")) / "results/aiperf/run1_profile_export.jsonl"
    if sample.exists():
        count += compare(program, sample, "aiperf", sample.read_text(encoding="utf-8"))
    print(f"{count} requests are the same")


if __name__ == "__main__":
    main()
