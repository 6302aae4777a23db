/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/result/result_testing.h"

/* ---- Megatron-LM ---- */

#define ITERATION(n, ms, tflops, loss)                                                         \
    " [2025-05-27 15:23:07] iteration " n "/    24000 | consumed samples:          1024 | "    \
    "elapsed time per iteration (ms): " ms " | throughput per GPU (TFLOP/s/GPU): " tflops      \
    " | learning rate: 1.500000E-06 | global batch size:  1024 | lm loss: " loss               \
    " | loss scale: 1.0 | grad norm: 5.960 | num zeros: 0.0 | number of skipped iterations:  " \
    " 0 | number of nan iterations:   0 |"

static void megatron_leaves_the_first_iterations_out(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        LINES("using world size: 16, data-parallel size: 4, context-parallel size: 1, "
              "tensor-model-parallel size: 4, pipeline-model-parallel size: 1",
              "[default0]:" ITERATION("       1", "271607.0", "40.4", "1.192634E+01"),
              "[default0]:" ITERATION("      10", "9000.0", "390.0", "1.1E+01"),
              "[default0]:" ITERATION("      20", "2000.0", "400.0", "9.5E+00"),
              "[default7]:" ITERATION("      20", "2000.0", "400.0", "9.5E+00"),
              "[default0]:" ITERATION("      30", "4000.0", "500.0", "9.0E+00"),
              "[default0]: validation loss at iteration 30 | lm loss value: 8.75E+00 | lm loss "
              "PPL: 6.3E+03 |",
              "[default0]:[after training is done] datetime: 2025-05-27 16:00:00"),
        "megatron");
    const struct tc_result_row *row = find_row(r, TC_TABLE_TRAINING, 0);
    assert_real(row, TC_TRAINING_STEPS, 30);
    assert_real(row, TC_TRAINING_STEP_MEAN, 3000);
    assert_real(row, TC_TRAINING_STEP_P50, 3000);
    assert_real(row, TC_TRAINING_STEP_P99, 3980);
    assert_real(row, TC_TRAINING_TFLOPS, 450);
    assert_real(row, TC_TRAINING_LOSS, 9);
    assert_real(row, TC_TRAINING_QUALITY, 8.75);
    /* 1024 / 2 s and 1024 / 4 s */
    assert_real(row, TC_TRAINING_SAMPLES_PER_S, 384);
    assert_real(row, TC_TRAINING_GPUS, 16);
    assert_cell(row, TC_TRAINING_SCALE_POINT, "gpus=16");
    assert_unknown(row, TC_TRAINING_TOKENS_PER_S_GPU);
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, "16");
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_NODE_COUNT, "");
    assert_fact(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_DEPLOYMENT, "tp=4 pp=1 cp=1 dp=4");
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "succeeded");
    assert_fact(r, TC_TABLE_RUN, TC_RUN_WORKLOAD_TYPE, "training");
    assert_real(find_slice(r, "step_time", "", 0), TC_SLICE_COUNT, 2);
    assert_string_equal(find_slice(r, "step_time", "", 0)->definitions[TC_SLICE_MEAN]->field,
                        "elapsed time per iteration");
    assert_false(has_contradiction(r));
    assert_defined(r);
    tc_result_destroy(r);
}

/* Of Megatron-DeepSpeed, MindSpeed and Megatron Bridge. */
static void megatron_has_other_wordings(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        LINES("[2024-03-07 15:27:02,646] [INFO] [timer.py:260:stop] epoch=0/micro_step=199/"
              "global_step=199, RunningAvgSamplesPerSec=58.7, CurrSamplesPerSec=61.3, "
              "MemAllocated=6.01GB, MaxMemAllocated=19.52GB",
              " iteration      199/  317892 | consumed samples:       152832 | consumed tokens:    "
              "625999872 | elapsed time per iteration (ms): 14287.5 | learning rate: 2.407E-04 | "
              "gloabl batch size:   768 | lm loss: 5.905366E+00 | loss scale: 8192.0 | actual "
              "seqlen:  4096 | samples per second: 53.753 | tokens per gpu per second (tgs): "
              "4590.5 | TFLOPs: 167.52 |",
              " iteration      200/  317892 | consumed samples:       153600 | elapsed time per "
              "iteration (ms): 100.5/110.0 | learning rate: 2.407E-04 | global batch size:   768 | "
              "lm loss: nan | samples per second: 55.753 | tokens per gpu per second (tgs): "
              "4592.5 | TFLOPs: 169.52 |",
              " iteration      201/  317892 | consumed samples:       15"),
        "megatron");
    const struct tc_result_row *row = find_row(r, TC_TABLE_TRAINING, 0);
    assert_real(row, TC_TRAINING_TOKENS_PER_S_GPU, 4591.5);
    assert_real(row, TC_TRAINING_TFLOPS, 168.52);
    assert_real(row, TC_TRAINING_SAMPLES_PER_S, 54.753);
    assert_real(row, TC_TRAINING_STEP_MEAN, 7194);
    assert_unknown(row, TC_TRAINING_LOSS);
    assert_unknown(row, TC_TRAINING_STARTED);
    assert_true(has_note(r, "is nan or infinite in 1 of 2", false));
    assert_true(has_note(r, "the last line is cut off", false));
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "");
    tc_result_destroy(r);
}

/* Every 10 iterations are logged, so a run that began anew is seen at 10. */
static void megatron_runs_are_told_apart(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        LINES(ITERATION("10", "900.0", "100.0", "9"), ITERATION("20", "100.0", "200.0", "8"),
              ITERATION("30", "100.0", "200.0", "7"), ITERATION("10", "900.0", "100.0", "9"),
              ITERATION("20", "300.0", "400.0", "8")),
        "megatron");
    assert_real(find_row(r, TC_TABLE_TRAINING, 0), TC_TRAINING_STEP_MEAN, 100);
    assert_real(find_row(r, TC_TABLE_TRAINING, 1), TC_TRAINING_STEP_MEAN, 300);
    assert_cell(find_row(r, TC_TABLE_TRAINING, 1), TC_TRAINING_SCALE_POINT, "log_run=2");
    tc_result_destroy(r);
    /* One that was restarted from a checkpoint is not. */
    r = read_text(
        LINES(ITERATION("10", "900.0", "100.0", "9"), ITERATION("20", "100.0", "200.0", "8"),
              ITERATION("30", "100.0", "200.0", "7"), ITERATION("20", "300.0", "200.0", "8"),
              ITERATION("30", "300.0", "200.0", "7")),
        "megatron");
    assert_real(find_row(r, TC_TABLE_TRAINING, 0), TC_TRAINING_RESTARTS, 1);
    assert_null(find_row(r, TC_TABLE_TRAINING, 1));
    tc_result_destroy(r);
}

/* ---- NeMo ---- */

#define NEMO(n, seconds, more)                                                         \
    "Training epoch 0, iteration " n "/99 | lr: 6.897e-06 | global_batch_size: 128 | " \
    "global_step: " n " | max_memory_reserved: 127785762816 | max_memory_allocated: "  \
    "115792977920 | reduced_train_loss: 11.96 | train_step_timing in s: " seconds      \
    " | TFLOPS_per_GPU: 1.249e+03 | consumed_samples: 5888" more

static void nemo_2_is_read(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        LINES("All distributed processes registered. Starting with 8 processes",
              "0: " NEMO("0", "60.5", ""), "0: " NEMO("9", "30.0", ""), "0: " NEMO("10", "6.0", ""),
              "0: " NEMO("11", "7.0", " | val_loss: 2.861 | val_ppl: 17.57"),
              "0: `Trainer.fit` stopped: `max_steps=12` reached."),
        "nemo");
    const struct tc_result_row *row = find_row(r, TC_TABLE_TRAINING, 0);
    /* They count from 0. */
    assert_real(row, TC_TRAINING_STEPS, 12);
    assert_real(row, TC_TRAINING_STEP_MEAN, 6500);
    assert_real(row, TC_TRAINING_TFLOPS, 1249);
    assert_real(row, TC_TRAINING_LOSS, 11.96);
    assert_real(row, TC_TRAINING_QUALITY, 2.861);
    assert_real(row, TC_TRAINING_MEMORY_PEAK, 127785762816.0 / 1073741824.0);
    assert_real(row, TC_TRAINING_GPUS, 8);
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "succeeded");
    assert_real(find_slice(r, "global_batch_size", "", 0), TC_SLICE_MEAN, 128);
    assert_defined(r);
    tc_result_destroy(r);
    /* Of another version, with a time before it. */
    r = read_text(
        "[2025-10-17T11:32:59+08:00] Training epoch 0, iteration 527/999 | lr: 0.0001758 | "
        "global_batch_size: 32 | global_step: 527 | reduced_train_loss: 2.792 | "
        "train_step_timing in s: 2.389 | tokens_per_sec_per_gpu: 6.859e+03 | "
        "consumed_samples: 16896 | val_loss: 3.624\n",
        "nemo");
    row = find_row(r, TC_TABLE_TRAINING, 0);
    assert_real(row, TC_TRAINING_TOKENS_PER_S_GPU, 6859);
    assert_real(row, TC_TRAINING_STEP_P50, 2389);
    assert_false(has_note(r, "UTC", false));
    tc_result_destroy(r);
}

#define BAR(count, loss, step, seconds)                                                \
    "\rEpoch 0: :  60%|\xe2\x96\x88\xe2\x96\x88    | " count                           \
    "/10000 [4:26:54<2:56:09, v_num=0, reduced_train_loss=" loss ", global_step=" step \
    ", consumed_samples=96384.0, train_step_timing in s=" seconds

static void nemo_1_draws_a_bar(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "Epoch 0: :   0%|          | 0/10000 [00:00<?]" BAR("1", "11.50", "0.000", "49.50]") BAR(
            "2011", "0.0252", "2.01e+3", "2.000]") BAR("2012", "0.0252", "2.01e+3", "4.000]")
            BAR("2012", "0.0252", "2.01e+3",
                "4.000, val_loss=0.0917]") "[rank: 1] Monitored metric val_loss did not improve\n",
        "nemo");
    const struct tc_result_row *row = find_row(r, TC_TABLE_TRAINING, 0);
    assert_real(row, TC_TRAINING_STEPS, 2012);
    /* What was drawn twice counts once. */
    assert_real(row, TC_TRAINING_STEP_MEAN, 3000);
    assert_real(find_slice(r, "step_time", "", 0), TC_SLICE_COUNT, 2);
    assert_real(row, TC_TRAINING_LOSS, 0.0252);
    assert_real(row, TC_TRAINING_QUALITY, 0.0917);
    assert_fact(r, TC_TABLE_SOFTWARE, TC_SOFTWARE_FRAMEWORK, "NeMo");
    tc_result_destroy(r);
    /* Without an end. */
    r = read_text("Epoch 1: : 1it [00:04,  4.36s/it, v_num=d3c7, reduced_train_loss=0.674, "
                  "global_step=1.000, consumed_samples=128.0, train_step_timing in s=3.370, "
                  "batch_time=4.400, samples/sec=14.60]\n",
                  "nemo");
    assert_real(find_row(r, TC_TABLE_TRAINING, 0), TC_TRAINING_STEP_MEAN, 3370);
    tc_result_destroy(r);
}

/* ---- DeepSpeed ---- */

#define STEP(at, n)                                                                          \
    "[2023-11-07 01:55:" at "] [INFO] [logging.py:96:log_dist] [Rank 0] step=" n             \
    ", skipped=4, lr=[4.99804827338393e-05, 4.99804827338393e-05], mom=[(0.9, 0.95), (0.9, " \
    "0.95)]"
#define TIMER(at, n, running, now, memory)                                                      \
    "[2023-11-07 01:55:" at "] [INFO] [timer.py:260:stop] epoch=0/micro_step=40/global_step=" n \
    ", RunningAvgSamplesPerSec=" running ", CurrSamplesPerSec=" now                             \
    ", MemAllocated=4.32GB, MaxMemAllocated=" memory "GB"

static void deepspeed_has_two_lines_per_step(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        LINES("[2023-11-07 01:54:00,000] [INFO] [launch.py:151:main] nnodes=2, num_local_procs=8, "
              "node_rank=0",
              "[2023-11-07 01:54:00,000] [INFO] [launch.py:163:main] dist_world_size=16",
              STEP("10,000", "10"), TIMER("10,002", "10", "25.0", "25.5", "38.49"),
              STEP("20,000", "20"), TIMER("20,002", "20", "26.0", "30.0", "38.50"),
              STEP("40,000", "30"), TIMER("40,002", "30", "27.0", "32.0", "38.40")),
        "deepspeed");
    const struct tc_result_row *row = find_row(r, TC_TABLE_TRAINING, 0);
    assert_real(row, TC_TRAINING_STEPS, 30);
    /* 10 s and 20 s for ten steps. */
    assert_real(row, TC_TRAINING_STEP_MEAN, 1500);
    assert_real(row, TC_TRAINING_SAMPLES_PER_S, 31);
    assert_real(row, TC_TRAINING_MEMORY_PEAK, 38.5);
    assert_unknown(row, TC_TRAINING_LOSS);
    assert_real(row, TC_TRAINING_GPUS, 16);
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, "16");
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_NODE_COUNT, "2");
    assert_real(find_slice(r, "RunningAvgSamplesPerSec", "", 0), TC_SLICE_COUNT, 2);
    assert_defined(r);
    tc_result_destroy(r);
    /* The first versions have one rate, over all steps, and count micro steps beside it. */
    r = read_text(LINES(STEP("10,000", "10"),
                        "[2021-01-01 00:00:00,000] [INFO] "
                        "[timer.py:154:stop] 0/40, SamplesPerSec=7.5",
                        STEP("20,000", "20"),
                        "[2021-01-01 00:00:00,000] [INFO] "
                        "[timer.py:154:stop] 0/80, SamplesPerSec=8.5"),
                  "deepspeed");
    row = find_row(r, TC_TABLE_TRAINING, 0);
    assert_real(row, TC_TRAINING_STEPS, 20);
    assert_real(row, TC_TRAINING_SAMPLES_PER_S, 8.5);
    assert_null(find_row(r, TC_TABLE_TRAINING, 1));
    tc_result_destroy(r);
}

static void deepspeed_pipelines_and_the_profiler(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        LINES(
            "steps: 10 loss: 6.5508 iter time (s): 0.936 samples/sec: 130.5",
            "-------------------------- DeepSpeed Flops Profiler --------------------------",
            "Profile Summary at step 2:",
            "world size:                                                             32",
            "fwd latency:                                                            1.55 s",
            "bwd latency:                                                            -2.9601e+08 "
            "us",
            "iter latency:                                                           487.61 ms",
            "FLOPS per GPU = 3 * fwd flops per GPU / iter latency:                   13.63 TFLOPS",
            "samples/second:                                                         32.93",
            "steps: 200 loss: 5.5508 lm loss: 5.5103 moe loss: 0.0405 iter time (s): 0.936 "
            "samples/sec: 136.706"),
        "deepspeed");
    const struct tc_result_row *row = find_row(r, TC_TABLE_TRAINING, 0);
    assert_real(row, TC_TRAINING_STEP_MEAN, 936);
    assert_real(row, TC_TRAINING_LOSS, 5.5508);
    assert_real(row, TC_TRAINING_SAMPLES_PER_S, 136.706);
    assert_real(row, TC_TRAINING_GPUS, 32);
    assert_real(find_slice(r, "flops_profiler.fwd_latency", "", 0), TC_SLICE_LAST, 1550);
    assert_real(find_slice(r, "flops_profiler.iter_latency", "", 0), TC_SLICE_LAST, 487.61);
    assert_real(find_slice(r, "flops_profiler.flops_per_gpu", "", 0), TC_SLICE_LAST, 13.63);
    assert_real(find_slice(r, "flops_profiler.samples_per_second", "", 0), TC_SLICE_LAST, 32.93);
    assert_null(find_slice(r, "flops_profiler.bwd_latency", "", 0));
    assert_defined(r);
    tc_result_destroy(r);
}

static void what_has_no_step_is_refused(void **state)
{
    (void)state;
    refuse_text("saving checkpoint at iteration 100 to /ckpt\n", "megatron",
                "no line 'iteration N");
    refuse_text("Epoch 0: 0/15\n", "nemo", "no line 'Training epoch");
    refuse_text("one step=1 more\n", "deepspeed", "no line '[Rank 0] step=10");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(megatron_leaves_the_first_iterations_out),
        cmocka_unit_test(megatron_has_other_wordings),
        cmocka_unit_test(megatron_runs_are_told_apart),
        cmocka_unit_test(nemo_2_is_read),
        cmocka_unit_test(nemo_1_draws_a_bar),
        cmocka_unit_test(deepspeed_has_two_lines_per_step),
        cmocka_unit_test(deepspeed_pipelines_and_the_profiler),
        cmocka_unit_test(what_has_no_step_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
