#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Result files of versions that the samples lack, and files that are broken, through `run read`.

usage: variants.py [--keep DIR]

Good ones must equal the independent reading. Bad ones must be refused, or told as a contradiction,
with the place and the field in the message. Files that are cut off anywhere never crash and never
give half a result. $TC_BINARY is the program.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import compare
import made
from made import changed, lines, text

AIPERF_CSV = """Metric,avg,min,max,sum,p1,p5,p10,p25,p50,p75,p90,p95,p99,std
HTTP Chunks Received,435.50,38.00,1853.00,41805.00,77.90,85.75,105.00,162.00,255.50,583.50,981.50,1267.00,1780.75,399.50
HTTP Waiting (TTFB) (ms),153.75,74.25,341.50,14777.30,78.41,88.23,91.91,117.12,136.25,189.66,224.24,248.50,292.50,54.03
OSL Mismatch Diff % (%),-78.75,-98.25,-9.50,-7562.30,-96.25,-95.86,-94.92,-92.14,-87.50,-71.56,-52.10,-38.00,-13.00,19.52
Request Latency (ms),2617.75,284.00,10683.50,251304.81,508.09,582.38,686.46,1038.46,1560.00,3393.58,5869.75,7053.50,10438.00,2294.58

Metric,Value
Request Count,96.00
Request Throughput (requests/sec),0.75


Endpoint,GPU_Index,GPU_Name,GPU_UUID,Metric,avg,min,max,sum,p1,p5,p10,p25,p50,p75,p90,p95,p99,std
"""

GENAI_CSV = """Metric,avg,min,max,p99,p95,p90,p75,p50,p25
Time To First Token (ms),60.00,50.00,80.00,75.00,70.00,66.00,62.00,60.00,55.00
Request Latency (ms),"1,900.00","1,800.00","2,000.00","1,990.00","1,950.00","1,940.00","1,920.00","1,900.00","1,850.00"

Metric,Value
Request Throughput (per sec),2.00
"""


# Of 2024: nanoseconds, no lengths; of 2025: more percentiles, counts, and tables of each GPU.
GENAI_CSV_2024 = """Metric,avg,min,max,p99,p95,p90,p75,p50,p25\r
Time To First Token (ns),2000000,2000000,2000000,2000000,2000000,2000000,2000000,2000000,2000000\r
Inter Token Latency (ns),1500000,1000000,2000000,1990000,1950000,1900000,1750000,1500000,1250000\r
Request Latency (ns),8000000,7000000,9000000,8980000,8900000,8800000,8500000,8000000,7500000\r
Num Output Token,4.50,3.00,6.00,5.97,5.85,5.70,5.25,4.50,3.75\r
\r
Metric,Value\r
Output Token Throughput (per sec),900.00\r
Request Throughput (per sec),200.00\r
"""

GENAI_CSV_2025 = """Metric,avg,min,max,p99,p95,p90,p75,p50,p25,p10,p5,p1
Time To First Token (ms),"1,146.31",208.05,"3,388.32","3,388.05","3,359.56","3,215.06","1,330.93",640.07,286.52,250.00,240.00,230.00
Time To Second Token (ms),26.05,0.00,133.51,96.12,36.56,34.88,34.35,33.55,1.78,1.00,0.50,0.10
Request Latency (ms),"6,406.20","5,371.47","9,608.72","9,436.13","9,046.58","9,028.16","6,549.60","5,690.23","5,493.63","5,400.00","5,390.00","5,380.00"
Inter Token Latency (ms),30.35,27.59,35.60,35.23,33.88,32.53,31.05,30.13,29.04,28.00,27.80,27.60
Output Sequence Length (tokens),174.45,164.00,187.00,186.22,183.10,180.10,177.00,174.00,171.75,170.00,169.00,165.00

Metric,Value
Output Token Throughput (tokens/sec),261.25
Request Throughput (per sec),1.50
Request Count (count),40.00

Metric,GPU,avg,min,max,p99,p95,p90,p75,p50,p25
GPU Power Usage (W),gpu0,45.85,45.20,46.50,46.49,46.44,46.37,46.17,45.85,45.53
GPU Power Usage (W),gpu1,55.85,55.20,56.50,56.49,56.44,56.37,56.17,55.85,55.53

Metric,GPU,Value
GPU Power Limit (W),gpu0,300.00
"""

PERF_ANALYZER_CSV = """Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,Server Compute Infer,Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency,Avg latency,request/response,response wait
1,69.2,225,2148,64,206,11781,19,0,13891,18795,19753,21018,14000,7,13000
3,84.2,237,1768,21673,209,11742,17,0,35398,43984,47085,51701,36000,7,35000
"""

TRTLLM_TEXT = """===========================================================
= PYTORCH BACKEND
===========================================================
Model:\t\t\texample/model-8b
TensorRT LLM Version:\t1.2.0
Dtype:\t\t\tbfloat16
Quantization:\t\tFP8

= REQUEST DETAILS
Number of requests:             5000
Number of concurrent requests:  3279.7000
Average Input Length (tokens):  2048.0000
Average Output Length (tokens): 128.0000
= WORLD + RUNTIME INFORMATION
TP Size:                2
PP Size:                1
= PERFORMANCE OVERVIEW
Request Throughput (req/sec):                     43.2089
Total Output Throughput (tokens/sec):             5530.7382
Total Token Throughput (tokens/sec):              94022.5497
Total Latency (ms):                               115716.9214
Average request latency (ms):                     75903.4456
Per User Output Throughput [w/ ctx] (tps/user):   2.0563
Per GPU Output Throughput (tps/gpu):              2765.3691
Average time-to-first-token [TTFT] (ms):          52667.0339
Average time-per-output-token [TPOT] (ms):        182.9639
Per User Output Speed (tps/user):                 5.4656

[TPOT] MINIMUM: 32.8005
[TPOT] MAXIMUM: 208.4667
[TPOT] AVERAGE: 182.9639
[TPOT] P50    : 204.0463
[TPOT] P90    : 206.3863
[TPOT] P95    : 206.5064
[TPOT] P99    : 206.5821
[TTFT] MINIMUM: 3914.7621
[TTFT] MAXIMUM: 107501.2487
[TTFT] AVERAGE: 52667.0339
[TTFT] P50    : 52269.7072
[TTFT] P90    : 96583.7187
[TTFT] P95    : 101978.4566
[TTFT] P99    : 106563.4497
[Latency] P50    : 78509.2102
[Latency] P90    : 110804.0017
[Latency] P95    : 111302.9101
[Latency] P99    : 111618.2158
[Latency] MINIMUM: 24189.0838
[Latency] MAXIMUM: 111668.0964
[Latency] AVERAGE: 75903.4456
"""


def good():
    """name, tool, text, tolerance"""
    vllm = made.VLLM
    yield "vllm", "vllm", text(vllm), 0.0
    yield "vllm_lines", "vllm", lines([vllm, changed(vllm, max_concurrency=64)]), 0.0
    yield "vllm_appended", "vllm", lines([vllm, vllm])[:-1], 0.0
    yield "vllm_old", "vllm", text(changed(vllm, failed=..., num_prompts=198, request_rate="inf")), 0.0
    yield "vllm_burst", "vllm", text(changed(vllm, request_rate="inf", max_concurrency=None)), 0.0
    yield "vllm_infinity", "vllm", text(changed(vllm, request_rate=float("inf"))), 0.0
    yield "vllm_nan", "vllm", text(changed(vllm, mean_itl_ms=float("nan"), p99_itl_ms=float("nan"))), 0.0
    yield "vllm_nothing_streamed", "vllm", text(changed(vllm, mean_itl_ms=0.0, median_itl_ms=0.0, p90_itl_ms=0.0,
                                                        p99_itl_ms=0.0, std_itl_ms=0.0)), 0.0
    yield "vllm_strings", "vllm", text(changed(vllm, duration="50.0", mean_ttft_ms="120.25")), 0.0
    yield "vllm_more_keys", "vllm", text(changed(vllm, colour="blue", ttfts=[0.1, 0.2], itls=[[0.01], []])), 0.0
    few = changed(vllm, num_prompts=4, completed=3, failed=..., total_input_tokens=24, total_output_tokens=9, duration=1.0,
                  request_throughput=3.0, output_throughput=9.0, **{key: ... for key in vllm if key.endswith("_ms")})
    yield "vllm_detailed", "vllm", text({**few, **made.DETAILS, "mean_ttft_ms": 280.0}), 1e-12
    yield "sglang_detailed", "sglang", lines([{**changed(made.SGLANG, completed=3, duration=1.0, request_throughput=3.0,
                                                         output_throughput=9.0, total_output_tokens=9,
                                                         **{key: ... for key in made.SGLANG if key.endswith(("ttft_ms", "itl_ms"))}),
                                               **changed(made.DETAILS, latencies=...)}]), 1e-12
    yield "vllm_one_line", "vllm", lines([vllm]), 0.0
    yield "vllm_bom", "vllm", "\ufeff" + text(vllm), 0.0
    yield "vllm_crlf", "vllm", text(vllm).replace("\n", "\r\n"), 0.0
    yield "vllm_latencies_only", "vllm", text(changed(vllm, **{key: ... for key in vllm if key in (
        "completed", "failed", "duration", "total_input_tokens", "total_output_tokens", "request_goodput", "max_concurrency")
        or "throughput" in key or key.startswith("max_")})), 0.0
    yield "vllm_multi_turn", "vllm", text({**changed(vllm, date="2026-09-04T20:34:56Z", num_prompts=..., request_rate=...,
                                                     max_concurrency=..., p50_ttft_ms=100.5), "mode": "multi_turn",
                                           "num_conversations": 66, "multi_turn_concurrency": 2, "conversations_failed": 0,
                                           "per_turn_metrics": [{"turn_index": 0, "completed": 66, "mean_ttft_ms": 1.0}]}), 0.0
    yield "vllm_ramp_up", "vllm", text(changed(vllm, request_rate="inf", max_concurrency=None, ramp_up_strategy="linear",
                                               ramp_up_start_rps=1, ramp_up_end_rps=10,
                                               rps_change_events=[{"rps": 1, "timestamp": "t"}])), 0.0
    yield "vllm_speculative", "vllm", text(changed(vllm, spec_decode_acceptance_rate=72.5, spec_decode_num_drafts=1260,
                                                   spec_decode_draft_tokens=3780, spec_decode_accepted_tokens=2723,
                                                   spec_decode_per_position_acceptance_rates=[0.85, 0.75])), 0.0
    yield "vllm_fork_2024", "vllm", text({**changed(vllm, failed=..., num_prompts=198, max_concurrency=..., input_throughput=99.5,
                                                    **{key: ... for key in vllm if "_e2el_" in key}),
                                          "mean_latency_ms": 2400.0, "median_latency_ms": 1400.5, "std_latency_ms": 260.0,
                                          "p99_latency_ms": 8300.25}), 0.0
    nothing = changed(vllm, completed=0, failed=200, request_throughput=0.0, output_throughput=0.0, total_token_throughput=0.0,
                      total_input_tokens=0, total_output_tokens=0, request_goodput=None,
                      **{key: 0.0 for key in vllm if key.endswith("_ms")})
    yield "vllm_one_of_two", "vllm", text([vllm, nothing]), 0.0
    yield "vllm_all_failed", "vllm", text(nothing), 0.0
    yield "sglang_not_streamed", "sglang", lines([changed(made.SGLANG, mean_tpot_ms=-4e-06, median_tpot_ms=-3e-06, p99_tpot_ms=0.0,
                                                          mean_itl_ms=0.0, median_itl_ms=0.0, std_itl_ms=0.0, p95_itl_ms=0.0,
                                                          p99_itl_ms=0.0, max_itl_ms=0.0)]), 0.0
    yield "sglang_below_zero", "sglang", lines([changed(made.SGLANG, median_tpot_ms=-3e-06)]), 0.0
    yield "sglang_of_attributes", "sglang", lines([{**changed(made.SGLANG, total_input_tokens=..., total_output_tokens=...,
                                                              total_output_tokens_retokenized=...),
                                                    "total_input": 245760, "total_output": 122880,
                                                    "total_output_retokenized": 122800, "total_throughput_retokenized": 6143.5}]), 0.0
    yield "sglang", "sglang", lines([made.SGLANG, changed(made.SGLANG, request_rate=2.0)]), 0.0
    yield "sglang_one", "sglang", lines([made.SGLANG]), 0.0
    yield "sglang_no_server", "sglang", lines([changed(made.SGLANG, server_info=None)]), 0.0
    yield "inferencex", "inferencex", text(made.INFERENCEX), 0.0
    yield "inferencex_list", "inferencex", text([made.INFERENCEX, changed(made.INFERENCEX, tp=4, conc=8)]), 0.0
    yield "inferencex_agentic", "inferencex", text(made.INFERENCEX_AGENTIC), 0.0
    yield "inferencex_nested", "inferencex", text(made.INFERENCEX_NESTED), 1e-15
    yield "inferencex_part", "inferencex", text({"hw": "h100", "framework": "sglang", "scenario_type": "agentic-coding", "conc": 1,
                                                 "tp": 1, "avg_power_w": 500, "output_tput_per_gpu": 250, "median_intvty": 50}), 0.0
    yield "vllm_sweep", "vllm", text([changed(vllm, run_number=0), changed(vllm, run_number=1)]), 0.0
    yield "aiperf", "aiperf", text(made.AIPERF), 1e-15
    yield "aiperf_errors", "aiperf", text(changed(made.AIPERF, error_summary=[{"count": 2}, {"count": 3}])), 1e-15
    yield "aiperf_phases", "aiperf", text(made.AIPERF_PHASES), 1e-15
    yield "aiperf_two_phases", "aiperf", text(changed(made.AIPERF_PHASES, input_config__phases__0__exclude_from_results=False,
                                                      input_config__phases__0__name="first")), 1e-15
    yield "aiperf_sweep", "aiperf", text(made.AIPERF_SWEEP), 1e-15
    yield "aiperf_sweep_trials", "aiperf", text(made.AIPERF_SWEEP_TRIALS), 1e-15
    yield "aiperf_aggregate", "aiperf", text(made.AIPERF_AGGREGATE), 1e-15
    yield "genai_perf", "genai-perf", text(made.GENAI_PERF), 0.0
    yield "genai_2024.csv", "genai-perf", GENAI_CSV_2024, 1e-15
    yield "genai_2025.csv", "genai-perf", GENAI_CSV_2025, 0.0
    yield "perf_analyzer.csv", "perf-analyzer", PERF_ANALYZER_CSV, 1e-15
    yield "perf_analyzer_export", "perf-analyzer", text(made.PERF_ANALYZER), 1e-12
    yield "trtllm", "trtllm-bench", text(made.TRTLLM), 1e-15
    yield "trtllm.txt", "trtllm-bench", TRTLLM_TEXT, 1e-15
    yield "aiperf_requests", "aiperf-requests", lines(made.requests()), 1e-12
    yield "aiperf_requests_no_error", "aiperf-requests", lines([changed(one, error=...) for one in made.requests()[:-1]]), 1e-12
    yield "guidellm", "guidellm", text(made.GUIDELLM), 1e-15
    failing = changed(made.GUIDELLM, benchmarks__0__metrics__request_totals={"successful": 0, "errored": 64, "incomplete": 0},
                      **{f"benchmarks__0__metrics__{name}": made.outcome(made.NOTHING)
                         for name in made.GUIDELLM["benchmarks"][0]["metrics"] if name != "request_totals"})
    yield "guidellm_one_fails", "guidellm", text(changed(made.GUIDELLM, benchmarks=made.GUIDELLM["benchmarks"] + failing["benchmarks"])), 1e-15


def bad():
    """name, text, exit status, what must be said"""
    vllm = made.VLLM
    yield "empty", "", 2, ["empty"]
    yield "blanks", " \n\n", 2, ["nothing but blanks"]
    yield "gzip", b"\x1f\x8b\x08\x00\x00", 2, ["gzip", "unpack"]
    yield "unknown_json", '{"a": 1}', 2, ["no reader knows", "vllm", "aiperf"]
    yield "unknown_text", "hello\nworld\n", 2, ["no reader knows"]
    yield "no_json", '{"a": 1,}', 2, ["line 1"]
    yield "deep_error", '{"completed": 1, "b": {"c": [1, 2, tru]}}', 2, ["/b/c", "line 1"]
    yield "behind", text(vllm) + "\nDone.\n", 2, ["behind the end"]
    yield "latency_of_nothing", text(changed(vllm, completed=0, failed=200)), 1, ["ttft_mean_ms is 120.25", "no request succeeded"]
    yield "no_completed", text(changed(vllm, completed="many")), 2, ["completed"]
    yield "p50_above_p99", text(changed(vllm, median_ttft_ms=260.0)), 1, ["ttft_p90_ms", "260", "180"]
    yield "p90_above_p99", text(changed(vllm, p90_tpot_ms=31.0)), 1, ["p90_tpot_ms", "31"]
    yield "negative_latency", text(changed(vllm, mean_ttft_ms=-1.0)), 1, ["mean_ttft_ms", "negative"]
    yield "negative_duration", text(changed(vllm, duration=-50.0)), 1, ["duration", "negative"]
    yield "requests_add_up", text(changed(vllm, failed=3)), 1, ["num_prompts", "200", "198", "3"]
    yield "more_completed", text(changed(vllm, failed=..., completed=201)), 1, ["201", "200"]
    yield "negative_count", text(changed(vllm, failed=-2, num_prompts=196)), 1, ["failed", "negative"]
    yield "torn_line", lines([vllm, vllm])[:-40], 2, ["cut off", "line 2"]
    yield "bad_second_line", lines([vllm]) + '{"completed": nope}\n', 2, ["line 2"]
    yield "vllm_ramps", text(changed(vllm, request_rate="inf", ramp_up_strategy="linear", ramp_up_start_rps=1,
                                     ramp_up_end_rps=10)), 0, ["open_loop", "ramp_up_start_rps=1 ramp_up_end_rps=10"]
    yield "aiperf_dataset", text(made.AIPERF_PHASES), 0, ["dataset=multi_turn rate=7.5", "open_loop", "example-model"]
    yield "guidellm_replay", text(changed(made.GUIDELLM, benchmarks__0__config__strategy={"type_": "replay"})), 0, ["guidellm"]
    yield "aiperf_p50", text(changed(made.AIPERF, request_latency__p50=9.5)), 1, ["request_latency"]
    yield "aiperf_unit", text(changed(made.AIPERF, time_to_first_token__unit="furlongs")), 0, ["furlongs"]
    yield "aiperf_nothing", text(changed(made.AIPERF, request_count__avg=0.0)), 1, ["request_count", "no request succeeded"]
    yield "aiperf_all_failed", lines(made.requests()[-1:] * 2), 0, ["no request succeeded", "failed", "2"]
    yield "aiperf_no_request", lines(made.requests()[:1] * 2), 2, ["no request of the profiling phase"]
    yield "aiperf_backwards", text(changed(made.AIPERF, end_time="2025-11-04T22:14:00")), 1, ["ended_at", "before"]
    yield "guidellm_nothing", text(changed(made.GUIDELLM, benchmarks__0__metrics__request_totals__successful=0)), 1, [
        "/benchmarks/0", "request_totals"]
    yield "guidellm_negative", text(changed(made.GUIDELLM, benchmarks__0__duration=-1.0)), 1, ["duration"]
    yield "inferencex_p50", text(changed(made.INFERENCEX, median_ttft=0.75)), 1, ["median_ttft"]
    nothing = changed(made.SGLANG, completed=0, **{key: 0.0 for key in made.SGLANG if key.endswith("_ms")})
    yield "sglang_nothing", lines([nothing] * 2), 0, ["line:1", "completed", "nothing was", "failed"]
    yield "sglang_one_nothing", lines([made.SGLANG, nothing]), 0, ["line:2", "completed", "nothing was", "succeeded"]
    yield "tpot_negative", lines([changed(made.SGLANG, median_tpot_ms=-0.5)]), 1, ["median_tpot_ms", "negative"]


def run(paths, *options):
    binary = os.environ["TC_BINARY"]
    return subprocess.run([binary, "run", "read", *options, *map(str, paths)], capture_output=True, timeout=300)


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def check_good(folder):
    failed = 0
    for name, tool, content, tolerance in good():
        path = write(folder, name if "." in name else f"{name}.json", content)
        reading = path
        if content.startswith("\ufeff"):
            reading = write(folder, f"{name}_plain.json", content[1:])
        for line in compare.differences(path, tool, tolerance, reading):
            print(f"{name}: {line}")
            failed += 1
    return failed


def check_bad(folder):
    failed = 0
    for name, content, status, words in bad():
        path = write(folder, f"{name}.json", content)
        done = run([path])
        said = (done.stdout + done.stderr).decode("utf-8", "replace")
        missing = [word for word in words if word not in said]
        if done.returncode != status or missing:
            print(f"{name}: exits with {done.returncode}, not {status}; lacks {missing}: {said[-600:]}")
            failed += 1
    return failed


def check_cut(folder):
    """Cut off at every hundredth byte: refused with the place, or (lines) never half a line."""
    failed = 0
    for name, tool, content, _ in good():
        content = content.encode("utf-8")
        paths = [write(folder, f"cut_{name}_{size}.json", content[:size]) for size in range(1, len(content), 100)]
        done = run(paths, "--json")
        said = done.stderr.decode("utf-8", "replace")
        if done.returncode not in (0, 1, 2) or "Sanitizer" in said:
            print(f"{name}: exits with {done.returncode}: {said[-2000:]}")
            failed += 1
        if "lines" in name or "." in name or tool in ("sglang", "aiperf-requests"):
            continue
        told = said.count("cut off")
        if told < len(paths) - 2:
            print(f"{name}: {len(paths)} torn files, {told} of them told: {said[-600:]}")
            failed += 1
    return failed


def check_genai_csv(folder):
    path = write(folder, "genai.csv", GENAI_CSV)
    rows = compare.ours(path, "genai-perf")
    row = rows[0][1]
    want = {"ttft_mean_ms": 60.0, "e2e_mean_ms": 1900.0, "e2e_p99_ms": 1990.0, "request_throughput": 2.0}
    wrong = {key: row.get(key) for key, value in want.items() if row.get(key) != value}
    if wrong:
        print(f"genai_csv: {wrong} instead of {want}")
    return len(wrong)


def check_aiperf_csv(folder):
    """The unit stands in the last parentheses; what is not measured of requests is left out."""
    rows = compare.ours(write(folder, "aiperf.csv", AIPERF_CSV), "aiperf")
    slices = {row["metric"]: row for table, row in rows[1:]}
    want = {"http_waiting_(ttfb)": 153.75, "http_chunks_received": 435.5, "osl_mismatch_diff_%": -78.75, "request_latency": 2617.75}
    wrong = {key: value for key, value in want.items() if slices.get(key, {}).get("mean") != value}
    if rows[0][1].get("completed") != 96 or "request_latency.p75" not in slices:
        wrong["completed"] = rows[0][1]
    if wrong:
        print(f"aiperf_csv: lacks {wrong}, has {sorted(slices)}")
    return len(wrong)


def main():
    if "TC_BINARY" not in os.environ:
        print(__doc__)
        return 2
    with tempfile.TemporaryDirectory() as made_here:
        folder = pathlib.Path(sys.argv[2] if sys.argv[1:2] == ["--keep"] else made_here)
        failed = check_good(folder) + check_bad(folder) + check_cut(folder) + check_genai_csv(folder) + check_aiperf_csv(folder)
    print("all as expected" if failed == 0 else f"{failed} are wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
