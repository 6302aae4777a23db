# SPDX-License-Identifier: Apache-2.0
"""The cases of variants_training.py."""

import collections
import json

Case = collections.namedtuple("Case", "name reader text values notes")
TRAINING = "training_outcome_fact"
RUN = "benchmark_run_fact"
WORKLOAD = "workload_dim"


def mllog(ms, key, value=None, **metadata):
    event = {"namespace": "", "time_ms": ms, "event_type": "POINT_IN_TIME", "key": key, "value": value,
             "metadata": dict({"file": "train.py", "lineno": 7}, **metadata)}
    return ":::MLLOG " + json.dumps(event)


def mll(seconds, key, value=None, **metadata):
    body = {"value": value, "metadata": dict({"lineno": 7, "file": "train.py"}, **metadata)}
    return f":::MLL {seconds} {key}: {json.dumps(body)}"


def mlp(seconds, key, value=...):
    tail = "" if value is ... else f": {json.dumps(value)}"
    return f":::MLPv0.5.0 gnmt {seconds} (a path/train.py:19) {key}{tail}"


def lines(*texts):
    return "\n".join(texts) + "\n"


START, STOP = mllog(10000, "run_start"), mllog(70000, "run_stop", status="success")


def mllog_cases():
    yield Case("mlperf_0_5", "mllog", lines(
        mlp("100.5", "run_clear_caches"), mlp("101.25", "input_batch_size", 1024), mlp("110.000000001", "run_start"),
        mlp("120.0", "eval_start", 1), mlp("122.5", "eval_stop", 1),
        mlp("123.0", "eval_accuracy", {"value": 20.5, "epoch": 1}), mlp("123.1", "eval_target", 21.8),
        "I1108 12:00:00 log.py:3] " + mlp("123.1", "eval_target", 21.8),
        mlp("124.0", "model_hp_name") + ": not quoted", mlp("180.0", "eval_accuracy", {"value": 22.0, "epoch": 2}),
        mlp("190.500000001", "run_stop", {"success": True}), mlp("191.0", "run_final")), {
            (TRAINING, "time_to_train_s"): 80.5, (TRAINING, "final_quality"): 22.0, (TRAINING, "quality_target"): 21.8,
            (TRAINING, "scale_point"): "batch=1024", ("eval_time", "", "mean"): 2.5, (RUN, "status"): "succeeded",
            ("eval_accuracy", "epoch_num=1", "last"): 20.5, (WORKLOAD, "model"): "gnmt"}, [])
    yield Case("mlperf_0_5_no_success", "mllog", lines(mlp("1.0", "run_start"), mlp("9.0", "run_stop", {"success": "false"})),
               {(TRAINING, "time_to_train_s"): [], (RUN, "status"): "failed"}, ["not success"])
    yield Case("mlperf_0_6", "mllog", lines(
        mll("0.0", "submission_benchmark", "ssd"), mll("1560192582.4531183", "cache_clear"),
        mll("1560192590.0", "init_start"), mll("1560192600.0", "init_stop"), mll("1560192600.25", "run_start"),
        mll("1560192700.0", "eval_accuracy", 0.2312, epoch_num=50), mll("1560192701.75", "run_stop", status="success")), {
            (TRAINING, "time_to_train_s"): 101.5, (TRAINING, "final_quality"): 0.2312, ("init_time", "", "mean"): 10,
            (RUN, "started_at"): 1560192582453118, (WORKLOAD, "model"): "ssd"}, [])
    yield Case("mlperf_hpc", "mllog", lines(
        mllog(1000, "number_of_nodes", 4), mllog(1000, "accelerators_per_node", 0), mllog(1000, "target_mae", 0.124), START,
        mllog(11000, "staging_start"), mllog(21000, "staging_stop"), mllog(40000, "eval_error", 0.25, epoch_num=1),
        mllog(60000, "eval_error", 0.125, epoch_num=2), STOP), {
            (TRAINING, "final_quality"): 0.125, (TRAINING, "final_quality_name"): "eval_error", (TRAINING, "gpus"): [],
            (TRAINING, "quality_target"): 0.124, ("staging_time", "", "mean"): 10, ("eval_error", "epoch_num=1", "last"): 0.25}, [])
    yield Case("mlperf_hpc_instances", "mllog", lines(*(
        mllog(1000 * place + 10 * instance, key, value, status=status, instance=instance)
        for place, key, value, status in ((1, "run_start", None, ""), (2, "eval_accuracy", 0.5, ""), (9, "run_stop", None, "success"))
        for instance in range(3))), {(TRAINING, "time_to_train_s"): 8, ("eval_accuracy", "", "last"): 0.5}, ["6 lines of other ranks"])
    yield Case("mllog_two_metrics", "mllog", lines(
        START, mllog(20000, "eval_accuracy", {"BBOX": 0.30, "SEGM": 0.25}, epoch_num=1),
        mllog(60000, "eval_accuracy", {"BBOX": 0.38, "SEGM": 0.34}, epoch_num=2), STOP), {
            (TRAINING, "final_quality"): 0.38, (TRAINING, "final_quality_name"): "BBOX",
            ("eval_accuracy", "metric=SEGM epoch_num=2", "last"): 0.34}, [])
    yield Case("mllog_throughput", "mllog", lines(START, mllog(20000, "throughput", 2000.0, epoch_num=1), mllog(30000, "throughput", 3000.0), STOP), {
        (TRAINING, "samples_per_second"): 2500, ("tracked_stats.throughput", "", "max"): 3000}, [])
    yield Case("mllog_nan", "mllog", lines(
        START, mllog(20000, "eval_accuracy", float("nan")), mllog(21000, "tracked_stats", {"loss": float("inf"), "throughput": 4}),
        mllog(30000, "run_stop", status="aborted")), {
            (TRAINING, "samples_per_second"): 4, (TRAINING, "final_quality"): []}, ["no numbers", "aborted"])
    yield Case("mllog_ranks_on_one_line", "mllog", lines(
        "0: " + START + "1: " + mllog(10001, "number_of_nodes", 2), '0: :::MLLOG {"namespace": "", "ti[1] Loading',
        "2024-06-01T12:00:00.123Z " + mllog(20000, "eval_accuracy", 0.5), "+ grep -c ':::MLLOG' log", STOP), {
            (TRAINING, "time_to_train_s"): 60, (TRAINING, "final_quality"): 0.5, ("hardware_topology_dim", "node_count"): 2},
               ["1 lines are broken and left out, here first: no JSON"])
    yield Case("mllog_told_twice", "mllog", lines(
        START, "INFO:mlperf:" + START, mllog(20000, "eval_accuracy", 0.5), "INFO:mlperf:" + mllog(20000, "eval_accuracy", 0.5), STOP),
               {("eval_accuracy", "", "last"): 0.5}, [])
    yield Case("mllog_fractions_of_ms", "mllog", lines(mllog(10000.25, "run_start"), mllog(12000.75, "run_stop", status="success")),
               {(TRAINING, "time_to_train_s"): 2.0005}, [])


HEAD = """\
#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       
"""
ROWS = """\
        1024           256     float     sum      -1    20.00    0.05    0.10      0    21.00    0.04    0.09      0
        2048           512     float     sum      -1   160642    0.10    0.20      0   2225678.4    0.09    0.18      0
"""
TAIL = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.1425 \n#\n"
TOLD = "# Collective test starting: all_reduce_perf\n"
ROW_VALUES = {("time", "op=all_reduce size=1024 in_place=0", "mean"): 20.0, ("busbw", "op=all_reduce size=2048 in_place=1", "mean"): 0.18,
              ("time", "op=all_reduce size=2048 in_place=1", "mean"): 2225678.4, ("avg_busbw", "op=all_reduce", "mean"): 0.1425,
              (RUN, "status"): "succeeded"}


def behind(prefix, text):
    return "".join(prefix + line + "\n" for line in text.splitlines())


def nccl_cases():
    for name, prefix in (("tag", "[1,0]<stdout>:"), ("openmpi5", "[prterun-node1-4242@1,0]<stdout>: "),
                         ("sagemaker", "[1,mpirank:0,algo-1]<stdout>:"), ("time", "2024-05-01T00:00:00.123456789Z "),
                         ("host", "worker-0: "), ("pod", "[pod/nccl-launcher-x2x/mpi] "), ("timed_tag", "Wed May  1 10:00:00 2024<stdout>:"),
                         ("torchrun", "[default0]:")):
        yield Case(f"nccl_{name}", "nccl-tests", behind(prefix, TOLD + HEAD + ROWS + TAIL), ROW_VALUES, [])
    info = "10-0-0-7:3801:3850 [0] NCCL INFO Connected all rings\n"
    torn = ("           8             2     float     sum      -1" + info + info +
            "    27.50    0.01    0.02      0    26.96    0.03    0.04      0\n")
    yield Case("nccl_torn_row", "nccl-tests", TOLD + HEAD + torn + ROWS + TAIL, {
        **ROW_VALUES, ("time", "size=8 root=-1 in_place=0", "mean"): 27.5, ("busbw", "size=8 in_place=1", "mean"): 0.04}, [])
    torn = ("           8             2     float     sum      -1    27.50    0.01    0.02      0" + info +
            "       26    0.03    0.04      0\n")
    yield Case("nccl_torn_half", "nccl-tests", TOLD + HEAD + torn + ROWS + TAIL, {
        **ROW_VALUES, ("wrong", "size=8 in_place=0", "last"): 0, ("time", "size=8 in_place=1", "mean"): 26}, [])
    torn = "           8             2     float     sum      -1" + info
    yield Case("nccl_torn_lost", "nccl-tests", TOLD + HEAD + torn + ROWS + TAIL, ROW_VALUES, ["broke this row off"])
    yield Case("nccl_cut_row", "nccl-tests", TOLD + HEAD + ROWS + "        4096          1024     float     sum      -1    30.", {
        ("time", "op=all_reduce size=1024 in_place=0", "mean"): 20.0, ("time", "size=4096", "mean"): [], (RUN, "status"): "unknown"},
               ["the last line is cut off", "no average"])
    yield Case("nccl_numbers_in_the_log", "nccl-tests", TOLD + HEAD + "12 34 56 lines of something else\n" + ROWS + TAIL, ROW_VALUES, [])
    yield Case("nccl_too_slow", "nccl-tests", TOLD + HEAD + ROWS + TAIL.replace("0.1425 ", "0.1425 FAILED"),
               {**ROW_VALUES, (RUN, "status"): "failed"}, ["below the one that was asked for"])
    yield Case("nccl_other_column", "nccl-tests", TOLD + HEAD.replace("root", "root  algo") +
               ROWS.replace("  -1 ", "  -1 Ring ") + TAIL, ROW_VALUES, ["'algo' is not known"])
    yield Case("nccl_2_0_2", "nccl-tests", """\
# nThread 1 nGpus 2 minBytes 1 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 validation: 0
# Using devices
#   Rank  0 on       node device  0 [0x05] GPU X
#   Rank  1 on       node device  1 [0x06] GPU X

#                                                 out-of-place                    in-place
#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res
    10000000      10000000    char     sum    1.628   6.14   9.21    0e+00    1.932   5.18   7.77      N/A
 Out of bounds values : 0 OK
 Avg bus bandwidth    : 8.49
""", {("time", "size=10000000 type=char redop=sum in_place=0", "mean"): 1628.0, ("time", "in_place=1", "mean"): 1932.0,
      ("error", "in_place=0", "last"): 0, ("avg_busbw", "", "mean"): 8.49, ("hardware_topology_dim", "gpu_count"): 2},
               ["which collective"])
    yield Case("nccl_1", "nccl-tests", """\
$ ./build/test/single/all_gather_test 10000000
#                                                 out-of-place                    in-place
#      bytes             N    type      op  root     time  algbw  busbw      res     time  algbw  busbw      res
    10000000      10000000    char     sum     0    1.628   6.14   9.21    0e+00    1.932   5.18   7.77    0e+00
""", {("time", "op=all_gather root=0 in_place=0", "mean"): 1628.0}, ["no average"])
    yield Case("rccl_versions", "nccl-tests", TOLD + "rccl-tests: Version develop:33cc4df\nRCCL version : 2.26.6-heads/drop:c3b8de4\n" + HEAD +
               ROWS.replace("      0    21", "    128    21") + TAIL.replace("0 OK", "1 FAILED"), {
                   ("software_version_dim", "nccl_version"): "2.26.6-heads/drop:c3b8de4", (RUN, "status"): "failed",
                   ("wrong", "size=1024 in_place=0", "last"): 128}, ["128 wrong elements", "1 FAILED"])
    one = ROWS.splitlines()[0][:84] + "\n"
    yield Case("rccl_one_place", "nccl-tests", TOLD + HEAD + one + TAIL, {
        ("time", "op=all_reduce size=1024", "mean"): 20.0, ("time", "in_place=0", "mean"): []}, ["one place"])
    entries = [{"numCycle": 0, "name": "ReduceScatter", "nodes": 2, "ranks": 16, "ranksPerNode": 8, "gpusPerRank": 1, "size": size,
                "type": "bfloat16", "redop": "sum", "inPlace": place, "time": 20.5 + place, "algBw": 1.5, "busBw": 2.5,
                "wrong": "N/A" if place else "0"} for size in (1024, 2048) for place in (0, 1)]
    values = {("time", "op=reduce_scatter size=1024 type=bfloat16 in_place=1", "mean"): 21.5, (RUN, "status"): "succeeded",
              ("wrong", "size=2048", "last"): 0, ("busbw", "size=2048 in_place=0", "mean"): 2.5,
              ("hardware_topology_dim", "gpu_count"): 16, ("hardware_topology_dim", "node_count"): 2}
    yield Case("rccl_json", "nccl-tests", "[\n" + ",\n".join(map(json.dumps, entries)) + "\n]\n", values, [])
    head = "numCycle,collective,nodes,ranks,ranksPerNode,gpusPerRank,size,type,redop,inplace,time,algbw,busbw,#wrong"
    yield Case("rccl_csv", "nccl-tests", lines(head, *(",".join(json.dumps(v) for v in e.values()) for e in entries)), values, [])


def fio_latency(low, mean, high, **percentiles):
    named = {f"{float(key[1:]):.6f}": value for key, value in percentiles.items()}
    return {"min": low, "max": high, "mean": mean, "stddev": 0.5, "N": 40, "percentile": named}


def fio_document(version, job):
    return {"fio version": version, "timestamp": 1444144664, "time": "Tue Oct  6 11:17:44 2015", "jobs": [
        {"jobname": "one", "groupid": 0, "error": 0, "eta": 0, "elapsed": 26, "read": {
            "io_bytes": 7116, "bw": 275, "iops": 68.5, "runtime": 25788, "total_ios": 40, **job}}]}


def fio_cases():
    old = {"clat": fio_latency(10, 20.5, 40, p50=20, p95=30, p99=39), "bw_agg": float("nan"), "bw_mean": float("nan")}
    text = json.dumps(fio_document("fio-2.2.10", old), indent=2)
    values = {("read_bw", "job=one", "mean"): 281600, ("read_clat", "job=one", "p99"): 39, ("read_clat", "job=one", "mean"): 20.5,
              ("read_iops", "job=one", "count"): 40, ("read_bw_sampled", "", "mean"): []}
    yield Case("fio_2_nan", "fio", text.replace("NaN", "-nan"), values, [])
    yield Case("fio_2_text_around", "fio", "fio: forcing use of threads.\n" + text.replace("NaN", "nan") + "\n\nRun status group 0:\n", values, [])
    few = {"bw_bytes": 281600, "clat_ns": fio_latency(937200, 937200.0, 937200, p50=938000, p95=938000, p99=938000)}
    yield Case("fio_3_few", "fio", json.dumps(fio_document("fio-3.36", few)),
               {("read_clat", "", "p99"): 938.0, ("read_clat", "", "max"): 937.2}, [])


SUMMARY = """\
================================================
MLPerf Results Summary
================================================
SUT name : TFLite
Scenario : Single Stream
Mode     : Performance
90th percentile latency (ns) : 141000000
Result is : VALID
  Min duration satisfied : Yes
  Min queries satisfied : Yes

================================================
Additional Stats
================================================
QPS w/ loadgen overhead         : 7.72
QPS w/o loadgen overhead        : 7.73

Min latency (ns)                : 121000000
Mean latency (ns)               : 129000000
90.00 percentile latency (ns)   : 141000000
"""


def inference_cases():
    serving = "serving_outcome_fact"
    yield Case("mlperf_inference_early_stopping", "mlperf-inference", SUMMARY.replace("Single Stream", "SingleStream").replace(
        "90th percentile latency", "90.0th percentile latency").replace("\n\n=", """
  Early stopping satisfied: Yes
Early Stopping Result:
 * Processed at least 64 queries (2048).
 * Would discard 172 highest latency queries.
 * Early stopping 90.0th percentile estimate: 151000000
 * Early stopping 99.0th percentile estimate: 262000000

=""", 1), {(serving, "completed"): 2048, (serving, "e2e_p90_ms"): 141.0, (serving, "e2e_p99_ms"): []}, [])
    detail = [("loadgen_version", "5.0.25 @ 1bc3e998cb"), ("effective_scenario", "Server"), ("effective_target_qps", 2.5),
              ("result_query_count", 8), ("result_validity", "INVALID"), ("result_min_duration_met", True),
              ("result_min_queries_met", False), ("result_90.00_percentile_latency_ns", 41000000),
              ("result_completed_samples_per_sec", 1.75), ("result_first_token_99.00_percentile_latency_ns", 5000000)]
    yield Case("mlperf_inference_detail", "mlperf-inference", lines(*(":::MLLOG " + json.dumps({
        "key": key, "value": value, "time_ms": 273.0054, "namespace": "mlperf::logging"}) for key, value in detail)), {
            (serving, "completed"): 8, (serving, "e2e_p90_ms"): 41.0, (serving, "request_throughput"): 1.75, (serving, "ttft_p99_ms"): 5.0,
            (serving, "request_rate"): 2.5, (RUN, "status"): "failed"}, ["result_min_queries_met", "INVALID"])
    yield Case("mlperf_inference_0_5", "mlperf-inference", SUMMARY, {
        (serving, "workload_point"): "scenario=SingleStream", (serving, "e2e_p90_ms"): 141.0, (serving, "request_throughput"): 7.72,
        (RUN, "status"): "succeeded"}, [])


def titan(step, seconds, tail, prefix="[titan] 2025-06-04 08:51:{:02d},500 - root - INFO - "):
    return prefix.format(seconds) + f"step: {step:2}  loss:  8.5000  memory: 27.50GiB(28.78%)  " + tail


def torchtitan_cases():
    yield Case("titan_no_mfu", "torchtitan", lines(titan(10, 10, "tps: 7,000  tflops: 407.50  mfu: N/A"),
                                                   titan(20, 30, "tps: 1,007,000  tflops: 407.50  mfu: N/A")), {
        (TRAINING, "tokens_per_second_per_gpu"): 1007000, (TRAINING, "mfu_pct"): [], (TRAINING, "tflops_per_gpu"): 407.5,
        (TRAINING, "step_time_mean_ms"): 2000}, ["taken as UTC"])
    old = "[default{}]:2024-07-11 22:03:{:02d},500 - root - INFO - \x1b[36m"
    yield Case("titan_old_ranks", "torchtitan", lines(*(
        titan(step, 0, f"\x1b[34mwps: {1000 * (rank + 1):,}  \x1b[35mmfu: 20.50%\x1b[39m", old.format(rank, step))
        for step in (10, 20, 30) for rank in (1, 0))), {
            (TRAINING, "tokens_per_second_per_gpu"): 1000, (TRAINING, "mfu_pct"): 20.5, ("tps", "", "rank_id"): 0,
            (TRAINING, "step_time_mean_ms"): 1000, (TRAINING, "steps"): 30}, ["taken as UTC"])
    fork = "  [2025-09-11 14:09:{:02d},954794][I][components/metrics:437:log] "
    yield Case("titan_fork", "torchtitan", lines(titan(10, 10, "tps: 6,000  tflops: 62.50  mfu: 20.25%", fork),
                                                 titan(30, 20, "tps: 6,500  tflops: 62.50  mfu: 20.75%", fork)), {
        (TRAINING, "tokens_per_second_per_gpu"): 6500, (TRAINING, "mfu_pct"): 20.75, (TRAINING, "step_time_mean_ms"): 500,
        (TRAINING, "ended_at"): 1757599760954794}, ["taken as UTC"])


def storage_cases():
    summary = {"start": "2024-08-17T22:55:06.210629", "num_accelerators": 64, "num_hosts": 16, "hostname": "c002", "metric": {
        "train_au_percentage": [70.0, 71.0, 72.0], "train_au_mean_percentage": 71.0, "train_au_meet_expectation": "success",
        "train_throughput_samples_per_second": [100.0, 110.0, 120.0], "train_io_mean_MB_per_second": 2.5,
        "train_io_stdev_MB_per_second": 0.5}, "host_memory_GB": [370.0], "epochs": 3, "end": "2024-08-17T23:27:19.738037"}
    values = {("train_au", "accelerators=64 over=epochs", "max"): 72, ("train_au", "over=run", "mean"): 71,
              ("train_throughput", "hosts=16", "mean"): 110, ("train_io", "over=run", "mean"): 2621440,
              ("train_io_stdev", "", "last"): 524288, (RUN, "status"): "succeeded", (RUN, "started_at"): 1723935306210629}
    yield Case("mlperf_storage", "mlperf-storage", json.dumps(summary, indent=4), values, ["taken as UTC"])
    summary["metric"]["train_au_meet_expectation"] = "fail"
    del summary["end"]
    yield Case("mlperf_storage_missed", "mlperf-storage", json.dumps(summary), {(RUN, "status"): "failed"}, ["taken as UTC", "not used as much"])


def megatron_log():
    """Every iteration, the first ones slow."""
    yield ("using world size: 16, data-parallel size: 4, context-parallel size: 1, tensor-model-parallel size: 4, "
           "pipeline-model-parallel size: 1")
    for n in range(1, 31):
        yield (f" [2025-05-27 15:23:{n:02}] iteration {n:8}/      30 | consumed samples: {256 * n:12} | elapsed time per iteration "
               f"(ms): {1000 + 9000 / n:.1f} | throughput per GPU (TFLOP/s/GPU): {400 + n / 10:.1f} | learning rate: 1.5E-06 | "
               f"global batch size:   256 | lm loss: {11 - n / 10:.6E} | loss scale: 1.0 | grad norm: {6 - n / 10:.3f} | "
               "number of skipped iterations:   0 | number of nan iterations:   0 |")
    yield " validation loss at iteration 30 | lm loss value: 7.5E+00 | lm loss PPL: 1.8E+03 |"


def nemo_log():
    for n in range(30):
        yield (f"Training epoch 0, iteration {n}/29 | lr: 6.897e-06 | global_batch_size: 128 | global_step: {n} | "
               f"max_memory_reserved: {127785762816 + n} | max_memory_allocated: 115792977920 | reduced_train_loss: {12 - n / 8} | "
               f"train_step_timing in s: {6 + 9 / (n + 1):.3f} | TFLOPS_per_GPU: {1.2 + n / 1000:.3f}e+03 | consumed_samples: 5888"
               + (" | val_loss: 3.5" if n > 20 else ""))


def nemo_bars():
    """Drawn over each other, each one twice."""
    bars = (f"Epoch 0: :  {n}%|###   | {n}/30 [06:19<07:13, v_num=0, reduced_train_loss={12 - n / 8}, global_step={n - 1:.1f}, "
            f"consumed_samples=12288.0, train_step_timing in s={6 + 9 / n:.3f}]" for n in range(1, 31))
    yield "Epoch 0: :   0%|     | 0/30 [00:00<?]\r" + "\r".join(bar + "\r" + bar for bar in bars)


def deepspeed_log():
    for n in range(10, 60, 10):
        head = f"[2023-11-07 01:55:{n:02},{n * 7:03}] [INFO] "
        yield head + f"[logging.py:96:log_dist] [Rank 0] step={n}, skipped=4, lr=[4.9e-05, 4.9e-05], mom=[(0.9, 0.95), (0.9, 0.95)]"
        yield head + (f"[timer.py:260:stop] epoch=0/micro_step={4 * n}/global_step={n}, RunningAvgSamplesPerSec={25 + n / 64}, "
                      f"CurrSamplesPerSec={26 + n / 32}, MemAllocated=4.32GB, MaxMemAllocated={38 + n / 100:.2f}GB")


def readings():
    """name, reader, text: as the independent reading of that reader has it."""
    yield "megatron", "megatron", lines(*megatron_log())
    yield "nemo_2", "nemo", lines(*nemo_log())
    yield "nemo_1", "nemo", lines(*nemo_bars())
    yield "deepspeed", "deepspeed", lines(*deepspeed_log())


def all_cases():
    yield from mllog_cases()
    yield from nccl_cases()
    yield from fio_cases()
    yield from inference_cases()
    yield from torchtitan_cases()
    yield from storage_cases()


def bad_cases():
    """name, bytes, what must be said"""
    yield "utf16", ("\ufeff" + TOLD + HEAD + ROWS).encode("utf-16-le"), "UTF-8"
    yield "nccl_short_row", (TOLD + HEAD + ROWS.splitlines()[0][:70] + "\n" + ROWS + TAIL).encode(), "line 5"
    yield "storage_nothing", b'{"num_accelerators": 8, "metric": {"train_au_meet_expectation": "success"}}', "/metric"
    yield "fio_nobody", b'{"fio version": "fio-3.43", "client_stats": [], "disk_util": []}', "jobs"
