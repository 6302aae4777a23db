# SPDX-License-Identifier: Apache-2.0
"""Result files by hand: older and newer keys of each tool than the samples have. All made up."""

import copy
import json

VLLM = {
    "date": "20251104-221500", "endpoint_type": "openai-chat", "backend": "openai-chat", "label": None,
    "model_id": "example/model-8b", "tokenizer_id": "example/model-8b", "num_prompts": 200, "tp": "2",
    "request_rate": 4.5, "burstiness": 1.0, "max_concurrency": 32, "duration": 50.0, "completed": 198, "failed": 2,
    "total_input_tokens": 202752, "total_output_tokens": 25344, "request_throughput": 3.96, "request_goodput": 3.5,
    "output_throughput": 506.88, "total_token_throughput": 4561.92, "max_output_tokens_per_s": 812.0,
    "max_concurrent_requests": 40, "rtfx": 0.0,
    "mean_ttft_ms": 120.25, "median_ttft_ms": 100.5, "std_ttft_ms": 33.0, "p90_ttft_ms": 180.0, "p99_ttft_ms": 250.0,
    "p99.9_ttft_ms": 300.75,
    "mean_tpot_ms": 21.5, "median_tpot_ms": 21.0, "std_tpot_ms": 2.0, "p90_tpot_ms": 24.0, "p99_tpot_ms": 30.0,
    "mean_itl_ms": 21.25, "median_itl_ms": 20.0, "std_itl_ms": 9.5, "p90_itl_ms": 25.0, "p99_itl_ms": 61.0,
    "mean_e2el_ms": 2800.0, "median_e2el_ms": 2750.0, "std_e2el_ms": 90.0, "p90_e2el_ms": 2900.0, "p99_e2el_ms": 3100.0,
}

SGLANG = {
    "tag": None, "backend": "sglang", "dataset_name": "random", "request_rate": float("inf"), "max_concurrency": 16,
    "sharegpt_output_len": None, "random_input_len": 1024, "random_output_len": 512, "random_range_ratio": 1.0,
    "server_info": {"model_path": "example/model-8b", "tp_size": 4, "dp_size": 1, "dtype": "bfloat16",
                    "quantization": "fp8", "version": "0.5.3", "internal_states": [{"avg_spec_accept_length": 2.5}]},
    "duration": 60.0, "completed": 240, "total_input_tokens": 245760, "total_input_text_tokens": 245760,
    "total_input_vision_tokens": 0, "total_output_tokens": 122880, "total_output_tokens_retokenized": 122800,
    "request_throughput": 4.0, "input_throughput": 4096.0, "output_throughput": 2048.0, "total_throughput": 6144.0,
    "mean_e2e_latency_ms": 3900.0, "median_e2e_latency_ms": 3850.5, "std_e2e_latency_ms": 120.0,
    "p99_e2e_latency_ms": 4200.0, "mean_ttft_ms": 90.0, "median_ttft_ms": 80.0, "std_ttft_ms": 12.0,
    "p99_ttft_ms": 150.0, "mean_tpot_ms": 7.4, "median_tpot_ms": 7.3, "std_tpot_ms": 0.2, "p99_tpot_ms": 8.0,
    "mean_itl_ms": 7.5, "median_itl_ms": 7.0, "std_itl_ms": 4.0, "p95_itl_ms": 12.0, "p99_itl_ms": 22.0,
    "max_itl_ms": 110.0, "concurrency": 15.6, "accept_length": 2.5, "max_output_tokens_per_s": 2600.0,
    "max_concurrent_requests": 18,
}

# What --save-detailed and --output-details add: seconds, one element per request.
DETAILS = {
    "input_lens": [8, 8, 8, 8], "output_lens": [4, 4, 0, 1], "ttfts": [0.125, 0.25, 0.0, 0.5],
    "itls": [[0.015625, 0.03125, 0.0625], [0.0078125, 0.125, 0.25], [], []],
    "latencies": [0.25, 0.75, 0.0, 0.5], "generated_texts": ["a", "b", "", "c"], "errors": ["", "", "no", ""],
}

# Of 2024: milliseconds under names that have no unit.
SGLANG_OLD = {
    "backend": "sglang", "dataset_name": "random", "request_rate": 8.0, "completed": 100, "total_input": 51200,
    "total_output": 25600, "total_output_retokenized": 25590, "mean_e2e_latency": 5000.0,
    "median_e2e_latency": 4900.0, "median_ttft": 210.0, "median_itl": 18.0, "output_token_throughput": 1024.0,
    "sharegpt_output_len": None, "random_input_len": 512, "random_output_len": 256, "random_range_ratio": 0.5,
    "benchmark_duration": 25.0,
}

INFERENCEX = {
    "hw": "b200", "conc": 64, "image": "vllm/vllm-openai:v0.11.0", "model": "example/model-70b",
    "infmax_model_prefix": "70b", "framework": "vllm", "precision": "fp4", "spec_decoding": "none", "disagg": False,
    "isl": 1024, "osl": 1024, "is_multinode": False, "tp": 8, "ep": 1, "dp_attention": "false",
    "tput_per_gpu": 2500.5, "output_tput_per_gpu": 1250.25, "input_tput_per_gpu": 1250.25,
    "mean_ttft": 0.25, "median_ttft": 0.2, "std_ttft": 0.0625, "p99_ttft": 0.5,
    "mean_tpot": 0.015625, "mean_intvty": 64.0, "median_tpot": 0.0125, "median_intvty": 80.0,
    "std_tpot": 0.00390625, "std_intvty": 256.0, "p99_tpot": 0.03125, "p99_intvty": 32.0,
    "mean_itl": 0.015625, "median_itl": 0.0125, "std_itl": 0.0078125, "p99_itl": 0.0625,
    "mean_e2el": 16.0, "median_e2el": 15.5, "std_e2el": 1.0, "p99_e2el": 20.0,
}


# Agentic: from AIPerf's requests, so its itl is per request.
INFERENCEX_AGENTIC = {
    "hw": "b200", "users": 4, "image": "vllm/vllm-openai:v0.19.1", "model": "example/model-70b", "framework": "vllm",
    "precision": "fp4", "scenario_type": "agentic-coding", "is_multinode": False, "tp": 8, "ep": 8,
    "num_requests_total": 93, "num_requests_successful": 93, "mean_qps": 0.0625, "median_qps": 0.0, "p90_qps": 0.0,
    "mean_ttft": 2.0, "median_ttft": 0.5, "p90_ttft": 1.5, "p99_ttft": 32.0, "p99.9_ttft": 37.0,
    "mean_ttlt": 38.0, "median_ttlt": 33.0, "p90_ttlt": 50.0, "p99_ttlt": 124.0, "p99.9_ttlt": 400.0,
    "mean_itl": 0.0104, "median_itl": 0.0105, "p90_itl": 0.0112, "p99_itl": 0.0126, "p99.9_itl": 0.0142,
    "mean_input_tokens": 83729.5, "p99_input_tokens": 127223.5, "server_gpu_cache_hit_rate": 0.9,
    "total_prompt_tokens": 8628846, "total_generation_tokens": 317525, "input_tput_tps": 5743.25,
    "output_tput_tps": 234.5, "total_tput_tps": 5977.75, "duration_seconds": 1356.0, "tput_per_gpu": 747.25,
    "output_tput_per_gpu": 29.25, "input_tput_per_gpu": 718.0, "kv_offload_bytes_gpu_to_cpu": None,
}


def spread(mean, p50, p75, p90, p95, std):
    return {"mean": mean, "p50": p50, "p75": p75, "p90": p90, "p95": p95, "std": std}


# Later agentic aggregates: objects, and a total that counts the warm-up.
INFERENCEX_NESTED = {
    "hw": "h100", "conc": 4, "image": "lmsysorg/sglang:v0.5.9", "model": "example/model-70b", "framework": "sglang",
    "precision": "fp4", "spec_decoding": "mtp", "disagg": False, "scenario_type": "agentic-coding",
    "is_multinode": False, "num_gpus": 8, "tp": 8, "ep": 1, "pp": 1, "dp_attention": "false", "kv_offloading": "none",
    "num_requests_total": 160, "num_requests_successful": 112,
    "request_accounting": {"records_total": 160, "records_profiled": 112, "records_dropped_total": 48,
                           "records_warmup_dropped": 44, "records_error_dropped": 5, "error_categories": {"500": 5}},
    "dataset": {"source_type": "public_dataset", "loader": "example_traces"},
    "request_metrics": {
        "qps": {"window_seconds": 1, "samples": 3273, **spread(0.03125, 0.0, 0.0, 0.0, 0.0, 0.25)},
        "latency": {"ttft": spread(2.0, 0.5, 1.0, 1.5, 4.0, 0.75), "e2el": spread(38.0, 33.0, 40.0, 50.0, 60.0, 9.0),
                    "itl": spread(0.015625, 0.0125, 0.0156, 0.02, 0.03125, 0.004),
                    "tpot": spread(0.015625, 0.0125, 0.0156, 0.02, 0.03125, 0.004),
                    "intvty": spread(64.0, 80.0, 64.5, 50.0, 32.0, 20.0)},
        "tokens": {"input": spread(94525.5, 59135, 92244, 336077.5, 396892.25, 116182.5)},
        "throughput": {"input": {"tokens_per_second": 3216.5}, "output": {"tokens_per_second": 26.5},
                       "total": {"tokens_per_second": 3243.0}, "duration_seconds": 3291.75,
                       "per_gpu": {"total_tput_tps": 405.375, "output_tput_tps": 3.3125}},
        "cache": {"theoretical_cache_hit_rate": 0.96875}},
    "server_metrics": {"present": True, "cache": {"gpu_cache_hit_rate": 0.375, "cpu_cache_hit_rate": None},
                       "kv_cache": {"gpu_usage_pct": 0.1875, "gpu_total_tokens": 4382208}},
    "kv_cache_pool_tokens": 4382208, "avg_power_w": 295.75, "total_gpu_energy_j": 8609784.5,
    "joules_per_output_token": 100.25,
}


def metric(unit, average, spread, count=40):
    return {"unit": unit, "avg": average, "p1": average - spread, "p5": average - spread, "p10": average - spread,
            "p25": average - spread / 2, "p50": average, "p75": average + spread / 2, "p90": average + spread,
            "p95": average + spread, "p99": average + 2 * spread, "min": average - spread, "max": average + 2 * spread,
            "std": spread / 2, "count": count}


AIPERF = {
    "schema_version": "1.3", "aiperf_version": "0.4.0", "benchmark_id": "b-1",
    "request_throughput": {"unit": "requests/sec", "avg": 8.0}, "request_count": {"unit": "requests", "avg": 40.0},
    "request_latency": metric("sec", 2.5, 0.5), "time_to_first_token": metric("ms", 120.0, 20.0),
    "time_to_second_token": metric("ms", 15.0, 2.0), "inter_token_latency": metric("ms", 12.0, 1.0),
    "inter_chunk_latency": metric("ms", 12.5, 4.0, 5000),
    "output_token_throughput": {"unit": "tokens/sec", "avg": 1600.0},
    "output_token_throughput_per_user": metric("tokens/sec/user", 80.0, 5.0),
    "benchmark_duration": {"unit": "sec", "avg": 5.0}, "total_osl": {"unit": "tokens", "avg": 8000.0},
    "input_config": {"endpoint": {"model_names": ["example/model-8b"], "type": "chat", "streaming": True},
                     "input": {"prompt": {"input_tokens": {"mean": 512}, "output_tokens": {"mean": 200}}},
                     "loadgen": {"concurrency": 20, "request_count": 40}},
    "was_cancelled": False, "error_summary": [], "start_time": "2025-11-04T22:15:00.5",
    "end_time": "2025-11-04T22:15:05.75",
}

# Of 0.9 on: the load is that of a phase, and the first one is the warm-up.
AIPERF_PHASES = {**AIPERF, "aiperf_version": "0.10.0", "goodput": None, "error_request_count": None,
                 "total_token_throughput": {"unit": "tokens/sec", "avg": 5600.0},
                 "osl_mismatch_diff_pct": metric("%", -78.0, 10.0), "http_req_data_sent": metric("KB", 11.5, 2.0),
                 "input_config": {"models": {"items": [{"name": "example-model"}]},
                                  "endpoint": {"urls": ["http://localhost"], "type": "chat", "streaming": True},
                                  "datasets": [{"name": "main", "type": "file", "format": "multi_turn", "entries": 96}],
                                  "phases": [{"name": "warmup", "type": "poisson", "exclude_from_results": True,
                                              "requests": 16, "rate": 0.25, "concurrency": 2},
                                             {"name": "profiling", "type": "poisson", "requests": 96, "rate": 7.5}]}}


def combination(parameters, metrics):
    return {"parameters": parameters, "metrics": metrics}


def one_run(metric_of_run):
    """As a sweep repeats it: the deviation and the interval are those of a single run."""
    return {**metric_of_run, "mean": metric_of_run["avg"], "std": 0.0, "cv": 0.0, "ci_low": metric_of_run["avg"],
            "ci_high": metric_of_run["avg"], "sum": 100.0}


def of_runs(unit, mean):
    return {"mean": mean, "std": 0.5, "min": mean - 1, "max": mean + 1, "cv": 0.01, "se": 0.2, "ci_low": mean - 1,
            "ci_high": mean + 1, "t_critical": 2.776, "unit": unit}


def sweep(combinations):
    return {"aggregation_type": "sweep", "num_profile_runs": 2, "num_successful_runs": 2, "failed_runs": [],
            "metadata": {"sweep_parameters": [{"name": "concurrency", "values": [16, 32]}], "num_combinations": 2,
                         "sweep_mode": "repeated", "confidence_level": 0.95},
            "per_combination_metrics": combinations, "best_configurations": {}, "pareto_optimal": [{"concurrency": 16}]}


AIPERF_SWEEP = sweep([combination({"concurrency": load}, {
    "request_throughput": one_run({"unit": "requests/sec", "avg": 8.0}),
    "request_count": one_run({"unit": "requests", "avg": 40.0}),
    "benchmark_duration": one_run({"unit": "sec", "avg": 5.0}),
    "request_latency": one_run(metric("ms", 2500.0, 500.0)), "inter_chunk_latency": one_run(metric("ms", 12.5, 4.0)),
    "http_req_sending": one_run(metric("ms", 0.5, 0.125)),
}) for load in (16, 32)])

# Several runs of a combination: every statistic of a metric is a metric, and what counts is its mean.
AIPERF_SWEEP_TRIALS = sweep([combination({"phases.profiling.concurrency": load, "datasets.main.prompts.isl": 256}, {
    "request_throughput_avg": of_runs("requests/sec", 8.0), "request_count_avg": of_runs("requests", 40.0),
    "time_to_first_token_avg": of_runs("ms", 50.0), "time_to_first_token_p99": of_runs("ms", 75.0),
    "time_to_first_token_p75": of_runs("ms", 60.0), "request_latency_p50": of_runs("sec", 2.5),
    "output_token_throughput_per_user_avg": of_runs("tokens/sec/user", 80.0),
}) for load in (16, 32)])

# profile_export_aiperf_aggregate.json
AIPERF_AGGREGATE = {
    "schema_version": "1.0", "aiperf_version": "0.8.0",
    "metadata": {"aggregation_type": "confidence", "num_profile_runs": 5, "num_successful_runs": 5, "failed_runs": [],
                 "confidence_level": 0.95, "run_labels": ["run_0001", "run_0002"]},
    "metrics": {"request_throughput_avg": of_runs("requests/sec", 47.25), "time_to_first_token_p99": of_runs("ms", 85.5),
                "inter_token_latency_avg": of_runs("ms", 8.5), "time_to_first_token_std": of_runs("ms", 4.0)},
}

GENAI_PERF = {
    "request_throughput": {"unit": "requests/sec", "avg": 2.0}, "request_latency": metric("ms", 900.0, 50.0),
    "time_to_first_token": metric("ms", 60.0, 6.0), "time_to_second_token": metric("ms", 9.0, 1.0),
    "inter_token_latency": metric("ms", 8.5, 0.5), "output_token_throughput": {"unit": "tokens/sec", "avg": 200.0},
    "output_token_throughput_per_user": metric("tokens/sec/user", 110.0, 8.0),
    "output_sequence_length": metric("tokens", 100.0, 4.0), "input_sequence_length": metric("tokens", 256.0, 2.0),
    "request_count": {"unit": "count", "avg": 120.0},
    "telemetry_stats": {},
    "input_config": {"model": ["example-model"], "formatted_model_name": "example-model", "backend": "vllm",
                     "endpoint_type": "chat", "concurrency": 2, "request_rate": None,
                     "synthetic_input_tokens_mean": 256, "output_tokens_mean": 100, "subcommand": "profile"},
}


def request(index, phase="profiling"):
    start = 1762294500000000000 + index * 50_000_000
    return {"metadata": {"session_num": index, "x_request_id": f"r{index}", "request_start_ns": start,
                         "request_end_ns": start + 800_000_000 + index * 1_000_000, "worker_id": "worker_1",
                         "record_processor_id": "rp_1", "benchmark_phase": phase, "was_cancelled": False},
            "metrics": {"input_sequence_length": {"value": 128, "unit": "tokens"},
                        "time_to_first_token": {"value": 40.5 + index, "unit": "ms"},
                        "request_latency": {"value": 800.0 + index, "unit": "ms"},
                        "output_sequence_length": {"value": 32, "unit": "tokens"},
                        "inter_chunk_latency": {"value": [20.0 + index, 21.5, 30.25 - index], "unit": "ms"},
                        "inter_token_latency": {"value": 24.5 + index / 8, "unit": "ms"}},
            "error": None}


def requests():
    failed = {"metadata": request(9)["metadata"], "metrics": {"error_isl": {"value": 128, "unit": "tokens"}},
              "error": {"code": 500, "type": "Server", "message": "no"}}
    return [request(0, "warmup")] + [request(i) for i in range(1, 8)] + [failed]


def distribution(mean, spread, count, total=None):
    return {"mean": mean, "median": mean, "mode": mean, "variance": spread, "std_dev": spread, "min": mean - spread,
            "max": mean + 2 * spread, "count": count, "total_sum": mean * count if total is None else total,
            "percentiles": {"p001": mean - spread, "p01": mean - spread, "p05": mean - spread, "p10": mean - spread,
                            "p25": mean, "p50": mean, "p75": mean, "p90": mean + spread, "p95": mean + spread,
                            "p99": mean + 2 * spread, "p999": mean + 2 * spread}}


NOTHING = distribution(0.0, 0.0, 0)


def outcome(summary):
    return {"successful": summary, "errored": NOTHING, "incomplete": NOTHING, "total": summary}


# Of 0.3: the arguments as a text, no config.
GUIDELLM = {
    "metadata": {"version": 1, "guidellm_version": "0.3.1", "python_version": "3.12.1", "platform": "Linux"},
    "args": {"model": "example/model-8b", "data": ["{\"prompt_tokens\": 256, \"output_tokens\": 128}"]},
    "benchmarks": [{
        "type_": "generative_benchmark", "config": {"strategy": {"type_": "concurrent", "streams": 8}},
        "metrics": {
            "request_totals": {"successful": 64, "errored": 1, "incomplete": 7, "total": 72},
            "requests_per_second": outcome(distribution(3.2, 0.5, 64)),
            "request_latency": outcome(distribution(2.5, 0.25, 64)),
            "prompt_token_count": outcome(distribution(256.0, 0.0, 64)),
            "output_token_count": outcome(distribution(128.0, 0.0, 64)),
            "time_to_first_token_ms": outcome(distribution(50.0, 5.0, 64)),
            "time_per_output_token_ms": outcome(distribution(19.5, 2.0, 8192)),
            "inter_token_latency_ms": outcome(distribution(19.25, 2.0, 8128)),
            "output_tokens_per_second": outcome(distribution(409.6, 30.0, 8192)),
            "prompt_tokens_per_second": outcome(distribution(819.2, 30.0, 64)),
            "tokens_per_second": outcome(distribution(1228.8, 30.0, 8192)),
        },
        "start_time": 1762294500.5, "end_time": 1762294520.5, "duration": 20.0,
    }],
}


def text(document):
    return json.dumps(document, indent=1)


def lines(documents):
    return "".join(json.dumps(document) + "\n" for document in documents)


def changed(document, **members):
    """A copy with members set, or left out where the value is ...; a__b goes into a."""
    copied = copy.deepcopy(document)
    for path, value in members.items():
        place = copied
        *parents, last = path.split("__")
        for name in parents:
            place = place[int(name)] if isinstance(place, list) else place[name]
        if value is ...:
            place.pop(last, None)
        else:
            place[last] = value
    return copied


# perf_analyzer's export: nanoseconds; the last request had no response.
def exported(start, *gaps):
    times = [start]
    for gap in gaps:
        times.append(times[-1] + gap)
    return {"timestamp": start, "sequence_id": 1, "response_timestamps": times[1:]}


PERF_ANALYZER = {
    "service_kind": "triton", "endpoint": "", "version": "1.2.3",
    "experiments": [
        {"experiment": {"mode": "concurrency", "value": 4}, "window_boundaries": [1, 2],
         "requests": [exported(1700000000000000000 + i * 1000000, 20000000 + i * 12345, 5000000, 6000000) for i in range(20)]
         + [exported(1700000001000000000)]},
        {"experiment": {"mode": "request_rate", "value": 2.5}, "window_boundaries": [],
         "requests": [exported(1700000002000000000 + i * 400000000, 30000000 + i) for i in range(5)]},
    ],
}

TRTLLM = {
    "engine": {"model": "example/model-8b", "model_path": "None", "engine_dir": "None", "version": "1.2.0", "backend": "Pytorch",
               "dtype": "bfloat16", "kv_cache_dtype": None, "quantization": None},
    "machine": {"name": "NVIDIA H100 80GB HBM3", "memory.total": 79.1, "clocks.mem": 2.6},
    "world_info": {"tp_size": 4, "pp_size": 1, "ep_size": None, "world_size": 4, "max_batch_size": 2048, "max_num_tokens": 8192,
                   "scheduling_policy": "GUARANTEED_NO_EVICT", "kv_cache_percentage": 0.9, "issue_rate": 1e13},
    "request_info": {"num_requests": 10, "avg_num_concurrent_requests": 3.5, "avg_input_length": 100.0, "avg_output_length": 50.0},
    "performance": {"total_latency_ms": 2000.0, "avg_request_latency_ms": 700.0, "request_throughput_req_s": 5.0,
                    "system_output_throughput_tok_s": 250.0, "system_total_throughput_tok_s": 750.0,
                    "output_throughput_per_user_tok_s": 70.0, "output_throughput_per_gpu_tok_s": 62.5,
                    "request_latency_percentiles_ms": {"p50": 700.0, "p90": 710.0, "p95": 720.0, "p99": 730.0, "minimum": 600.0,
                                                       "maximum": 730.0, "average": 700.0}},
    "streaming_metrics": {"token_output_speed_tok_s": 80.0, "avg_ttft_ms": 90.5, "avg_tpot_ms": 12.25,
                          "tpot_percentiles": {"p50": 12.0, "p90": 13.0, "p95": 13.5, "p99": 14.0, "minimum": 11.0, "maximum": 14.0,
                                               "average": 12.25},
                          "ttft_percentiles": {"p50": 90.0, "p90": 95.0, "p95": 96.0, "p99": 99.0, "minimum": 80.0, "maximum": 99.0,
                                               "average": 90.5},
                          "gen_tps_percentiles": {"p50": 80.0, "p90": 82.0, "p95": 83.0, "p99": 84.0, "minimum": 70.0,
                                                  "maximum": 84.0, "average": 80.0}},
    "dataset": {"isl_stats": {"minimum": 90, "maximum": 110, "average": 100.0}, "osl_stats": {"minimum": 50, "maximum": 50}},
}
