/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/result/result_testing.h"

#define TOOL "torchtitan"
#define AT(s) "[titan] 2025-05-01 12:00:" s ",000 - root - INFO - "
#define STEP(n, loss, tps)                                                                 \
    "\x1b[31mstep: " n "  \x1b[32mloss: " loss "  \x1b[38;2;180;60;0mgrad_norm:  3.1000  " \
    "\x1b[38;2;54;234;195mmemory: 48.87GiB(51.44%)  \x1b[34mtps: " tps                     \
    "  \x1b[36mtflops: 253.41  \x1b[35mmfu: 25.62%\x1b[39m"

static void steps_after_the_warm_up_count(void **state)
{
    (void)state;
    const char *text = LINES(
        "[rank0]:" AT("00") "CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory",
        "[rank0]:" AT("01") "\x1b[34mModel llama3 8B \x1b[31msize: 8,030,261,248 total parameters",
        "[rank0]:" AT("01") "Trainer is initialized with global batch size 64, and more",
        "[rank0]:" AT("02") STEP(" 1", "12.2713", "1,000"),
        "[rank0]:" AT("10") STEP("10", "11.5000", "2,000"),
        "[rank0]:" AT("20") STEP("20", "10.5000", "4,000"),
        "[rank1]:" AT("20") STEP("20", "10.5000", "9,000"),
        "[rank0]:" AT("25") "validate step: 20  loss:  9.1  memory: 50.00GiB(52.00%)  tps: 9,999",
        "[rank0]:" AT("40") STEP("30", "9.5000", "5,000"),
        "[rank0]:" AT("41") "Training completed");
    struct tc_result *r = read_text(text, TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_TRAINING, 0);
    assert_real(row, TC_TRAINING_TOKENS_PER_S_GPU, 4500);
    assert_unknown(row, TC_TRAINING_TOKENS_PER_S);
    assert_real(row, TC_TRAINING_MFU, 25.62);
    assert_real(row, TC_TRAINING_TFLOPS, 253.41);
    assert_real(row, TC_TRAINING_MEMORY_PEAK, 48.87);
    assert_real(row, TC_TRAINING_LOSS, 9.5);
    assert_real(row, TC_TRAINING_QUALITY, 9.1);
    assert_real(row, TC_TRAINING_STEPS, 30);
    /* 10 s and 20 s for ten steps. */
    assert_real(row, TC_TRAINING_STEP_MEAN, 1500);
    assert_real(row, TC_TRAINING_STEP_P50, 1500);
    assert_real(row, TC_TRAINING_STEP_P95, 1950);
    const struct tc_result_row *tps = find_slice(r, "tps", "", 0);
    assert_real(tps, TC_SLICE_COUNT, 2);
    assert_real(tps, TC_SLICE_MIN, 4000);
    assert_real(tps, TC_SLICE_RANK, 0);
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_MODEL, "NVIDIA H100 80GB HBM3");
    assert_fact(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL, "llama3 8B");
    assert_fact(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_BATCHING_POLICY, "global_batch_size=64");
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "succeeded");
    assert_fact(r, TC_TABLE_RUN, TC_RUN_WORKLOAD_TYPE, "training");
    assert_false(has_contradiction(r));
    assert_defined(r);
    tc_result_destroy(r);
}

static void older_lines_have_fewer_values(void **state)
{
    (void)state;
    /* Without times, without tflops; "wps" was the name of tokens per second. */
    struct tc_result *r =
        read_text("step:  1  loss: 10.9  memory:  9.95GiB(10.47%)  wps: 1,024  mfu: 6.91%\n"
                  "step:  5  loss: 10.1  memory:  9.99GiB(10.51%)  wps: 3,072  mfu: 9.11%\n",
                  TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_TRAINING, 0);
    /* There are no steps after the tenth: all count. */
    assert_real(row, TC_TRAINING_TOKENS_PER_S_GPU, 2048);
    assert_unknown(row, TC_TRAINING_TFLOPS);
    assert_unknown(row, TC_TRAINING_STEP_MEAN);
    assert_unknown(row, TC_TRAINING_STARTED);
    assert_real(row, TC_TRAINING_MEMORY_PEAK, 9.99);
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "");
    tc_result_destroy(r);
}

static void a_diverged_run_keeps_its_last_step(void **state)
{
    (void)state;
    struct tc_result *r = read_text(LINES(AT("10") STEP("10", "11.5000", "2,000"),
                                          AT("20") STEP("20", "10.5000", "4,000"),
                                          AT("30") STEP("30", "     nan", "5,000")),
                                    TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_TRAINING, 0);
    assert_real(row, TC_TRAINING_STEPS, 30);
    assert_unknown(row, TC_TRAINING_LOSS);
    assert_real(row, TC_TRAINING_TOKENS_PER_S_GPU, 4500);
    assert_real(find_slice(r, "loss", "", 0), TC_SLICE_COUNT, 1);
    assert_true(has_note(r, "is nan or infinite in 1 of 3 logged steps", false));
    tc_result_destroy(r);
}

static void a_cut_last_line_is_told(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        LINES(AT("10") STEP("10", "11.5000", "2,000"), AT("20") "step: 20  loss: 10.5000  grad_no"),
        TOOL);
    assert_real(find_row(r, TC_TABLE_TRAINING, 0), TC_TRAINING_STEPS, 10);
    assert_true(has_note(r, "the last line is cut off", false));
    tc_result_destroy(r);
    r = read_text(LINES(AT("10") STEP("10", "11.5000", "2,000"), "a step: by step guide",
                        AT("11") "Training completed"),
                  TOOL);
    assert_false(has_note(r, "cut off", false));
    tc_result_destroy(r);
}

static void ranks_without_a_number_repeat_a_step(void **state)
{
    (void)state;
    const char *text = LINES("    [rank0]:" AT("01") STEP("20", "9", "10"),
                             "    [rank0]:" AT("01") STEP("20", "9", "30"),
                             AT("02") STEP("30/644 = 4.6584%", "8", "20"),
                             AT("02") STEP("30/644 = 4.6584%", "8", "90"));
    struct tc_result *r = read_text(text, TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_TRAINING, 0);
    /* Lines without a rank are of the lowest one. */
    assert_real(row, TC_TRAINING_TOKENS_PER_S_GPU, 20);
    assert_real(row, TC_TRAINING_STEPS, 30);
    assert_unknown(row, TC_TRAINING_RESTARTS);
    tc_result_destroy(r);
}

static void a_restart_is_told(void **state)
{
    (void)state;
    const char *text = LINES(AT("01") STEP("20", "9", "10"), AT("02") STEP("30", "8", "10"),
                             AT("50") STEP("20", "9", "10"), AT("51") STEP("30", "nan", "10"),
                             AT("52") STEP("40", "7", "10"));
    struct tc_result *r = read_text(text, TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_TRAINING, 0);
    assert_real(row, TC_TRAINING_RESTARTS, 1);
    assert_true(has_note(r, "went back", false));
    tc_result_destroy(r);
}

/* The same program twice into one file: never one mean over both. */
static void two_runs_have_a_row_each(void **state)
{
    (void)state;
    const char *text = LINES(AT("01") STEP(" 1", "12", "100"), AT("02") STEP("10", "11", "200"),
                             AT("04") STEP("20", "10", "4,000"), AT("20") STEP(" 1", "12", "100"),
                             AT("21") STEP("10", "11", "200"), AT("25") STEP("20", "9", "8,000"),
                             AT("26") "Training completed");
    struct tc_result *r = read_text(text, TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_TRAINING, 0);
    assert_cell(row, TC_TRAINING_SCALE_POINT, "log_run=1");
    assert_real(row, TC_TRAINING_TOKENS_PER_S_GPU, 4000);
    assert_real(row, TC_TRAINING_STEP_MEAN, 200);
    assert_unknown(row, TC_TRAINING_RESTARTS);
    row = find_row(r, TC_TABLE_TRAINING, 1);
    assert_cell(row, TC_TRAINING_SCALE_POINT, "log_run=2");
    assert_real(row, TC_TRAINING_TOKENS_PER_S_GPU, 8000);
    assert_real(row, TC_TRAINING_STEP_MEAN, 400);
    assert_real(row, TC_TRAINING_LOSS, 9);
    assert_null(find_row(r, TC_TABLE_TRAINING, 2));
    assert_real(find_slice(r, "tps", "log_run=1", 0), TC_SLICE_MEAN, 4000);
    assert_real(find_slice(r, "tps", "log_run=2", 0), TC_SLICE_MEAN, 8000);
    assert_true(has_note(r, "2 runs follow each other", false));
    /* The first of them did not say that it ended. */
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "incomplete");
    tc_result_destroy(r);
    /* What comes after the end of training is another run, whatever its steps are. */
    r = read_text(LINES(AT("01") STEP("20", "9", "10"), AT("02") "Training completed",
                        AT("03") STEP("30", "8", "30"), AT("04") "Training completed"),
                  TOOL);
    assert_real(find_row(r, TC_TABLE_TRAINING, 0), TC_TRAINING_TOKENS_PER_S_GPU, 10);
    assert_real(find_row(r, TC_TABLE_TRAINING, 1), TC_TRAINING_TOKENS_PER_S_GPU, 30);
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "succeeded");
    tc_result_destroy(r);
}

static void other_logs_are_not_taken(void **state)
{
    (void)state;
    struct tc_result *r = NULL;
    struct tc_error err;
    assert_int_equal(tc_result_read(TC_LIT("f"), TC_LIT("at step: 3 of loss: none\nsubstep: 3\n"),
                                    NULL, &r, &err),
                     TC_E_UNSUPPORTED);
    refuse_text("step: 3 of many\n", TOOL, "no line 'step:");
    refuse_text("validate step: 3  loss: 3.0  memory: 1GiB(1%)  tps: 3\n", TOOL, "no line 'step:");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_after_the_warm_up_count),
        cmocka_unit_test(older_lines_have_fewer_values),
        cmocka_unit_test(a_diverged_run_keeps_its_last_step),
        cmocka_unit_test(a_cut_last_line_is_told),
        cmocka_unit_test(ranks_without_a_number_repeat_a_step),
        cmocka_unit_test(a_restart_is_told),
        cmocka_unit_test(two_runs_have_a_row_each),
        cmocka_unit_test(other_logs_are_not_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
