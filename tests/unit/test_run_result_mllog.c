/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run_result_testing.h"

#define TOOL "mllog"
#define AT(ms, type, key, value, meta)                                                    \
    ":::MLLOG {\"namespace\": \"\", \"time_ms\": " #ms ", \"event_type\": \"" type        \
    "\", \"key\": \"" key "\", \"value\": " value ", \"metadata\": {\"file\": \"a.py\", " \
    "\"lineno\": 1" meta "}}\n"
#define INIT(ms) AT(ms, "INTERVAL_START", "init_start", "null", "")
#define START(ms) AT(ms, "INTERVAL_START", "run_start", "null", "")
#define STOP(ms, status) AT(ms, "INTERVAL_END", "run_stop", "null", ", \"status\": \"" status "\"")

static void time_to_train_is_from_start_to_stop(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        "some other text\n[rank0]: " INIT(1000) AT(1500, "POINT_IN_TIME", "global_batch_size",
                                                   "256", "")
            AT(1500, "POINT_IN_TIME", "submission_benchmark", "\"bert\"", "")
                AT(1500, "POINT_IN_TIME", "number_of_nodes", "2", "")
                    AT(1500, "POINT_IN_TIME", "accelerators_per_node", "8", "")
                        AT(1500, "POINT_IN_TIME", "target_accuracy", "0.72", "")
                            AT(2000, "INTERVAL_END", "init_stop", "null", "") "0: " START(2500)
                                AT(3000, "INTERVAL_START", "block_start", "1", "")
                                    AT(5000, "INTERVAL_END", "block_stop", "1", "")
                                        AT(5000, "POINT_IN_TIME", "tracked_stats",
                                           "{\"throughput\": 100.0, \"train_step_time\": 0.5}", "")
                                            AT(6000, "POINT_IN_TIME", "tracked_stats",
                                               "{\"throughput\": 300.0, \"train_step_time\": 0.25}",
                                               "") AT(7000, "POINT_IN_TIME", "eval_accuracy",
                                                      "0.70", ", \"epoch_num\": 1")
                                                AT(8000, "POINT_IN_TIME", "eval_accuracy", "0.73",
                                                   ", \"epoch_num\": 2") STOP(8500, "success"),
        TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_TRAINING, 0);
    assert_real(row, TC_TRAINING_TIME_TO_TRAIN, 6);
    assert_real(row, TC_TRAINING_STARTED, 2500000);
    assert_real(row, TC_TRAINING_ENDED, 8500000);
    assert_real(row, TC_TRAINING_SAMPLES_PER_S, 200);
    assert_real(row, TC_TRAINING_STEP_MEAN, 375);
    assert_unknown(row, TC_TRAINING_STEP_P99);
    assert_real(row, TC_TRAINING_QUALITY, 0.73);
    assert_real(row, TC_TRAINING_QUALITY_TARGET, 0.72);
    assert_real(row, TC_TRAINING_GPUS, 16);
    assert_cell(row, TC_TRAINING_SCALE_POINT, "gpus=16 batch=256");
    assert_cell(row, TC_TRAINING_PHASE, "train");
    assert_real(find_slice(r, "eval_accuracy", "epoch_num=1", 0), TC_SLICE_LAST, 0.70);
    assert_real(find_slice(r, "block_time", "", 0), TC_SLICE_MEAN, 2);
    assert_real(find_slice(r, "init_time", "", 0), TC_SLICE_MAX, 1);
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "succeeded");
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STARTED, "1000000");
    assert_fact(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL, "bert");
    assert_false(has_contradiction(r));
    assert_defined(r);
    tc_result_destroy(r);
}

static void a_log_without_an_end_is_incomplete(void **state)
{
    (void)state;
    struct tc_result *r =
        read_text(START(1000) AT(5000, "POINT_IN_TIME", "eval_accuracy", "1", ""), TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_TRAINING, 0);
    assert_unknown(row, TC_TRAINING_TIME_TO_TRAIN);
    assert_unknown(row, TC_TRAINING_ENDED);
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "incomplete");
    assert_true(has_note(r, "no run_stop", false));
    tc_result_destroy(r);
    /* A line that was cut while it was written. */
    r = read_text(START(1000) ":::MLLOG {\"namespace\": \"\", \"time_ms\": 20", TOOL);
    assert_true(has_note(r, "the last line is cut off", false));
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "incomplete");
    tc_result_destroy(r);
}

static void a_run_that_was_aborted_failed(void **state)
{
    (void)state;
    struct tc_result *r = read_text(START(1000) STOP(5000, "aborted"), TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_TRAINING, 0);
    assert_unknown(row, TC_TRAINING_TIME_TO_TRAIN);
    assert_real(row, TC_TRAINING_ENDED, 5000000);
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "failed");
    assert_true(has_note(r, "'aborted'", false));
    tc_result_destroy(r);
}

static void an_end_before_the_start_contradicts(void **state)
{
    (void)state;
    struct tc_result *r = read_text(START(5000) STOP(1000, "success"), TOOL);
    assert_true(has_note(r, "run_stop is 4.000 s before run_start", true));
    assert_unknown(find_row(r, TC_TABLE_TRAINING, 0), TC_TRAINING_TIME_TO_TRAIN);
    tc_result_destroy(r);
    r = read_text(STOP(1000, "success") START(5000), TOOL);
    assert_true(has_note(r, "without a run_start", true));
    tc_result_destroy(r);
    r = read_text(START(1000) AT(5000, "X", "epoch_start", "1", "")
                      AT(4000, "X", "epoch_stop", "1", "") STOP(6000, "success"),
                  TOOL);
    assert_true(has_note(r, "epoch_stop is 1.000 s before epoch_start", true));
    tc_result_destroy(r);
}

static void runs_may_follow_each_other(void **state)
{
    (void)state;
    struct tc_result *r =
        read_text(INIT(100) START(1000) START(1001) STOP(3000, "success") STOP(3001, "success")
                      INIT(4000) START(5000) INIT(7000) START(8000) STOP(9500, "success"),
                  TOOL);
    assert_real(find_row(r, TC_TABLE_TRAINING, 0), TC_TRAINING_TIME_TO_TRAIN, 2);
    assert_unknown(find_row(r, TC_TABLE_TRAINING, 1), TC_TRAINING_TIME_TO_TRAIN);
    assert_real(find_row(r, TC_TABLE_TRAINING, 2), TC_TRAINING_TIME_TO_TRAIN, 1.5);
    assert_cell(find_row(r, TC_TABLE_TRAINING, 2), TC_TRAINING_SCALE_POINT, "log_run=3");
    assert_null(find_row(r, TC_TABLE_TRAINING, 3));
    assert_true(has_note(r, "another run_start", false));
    assert_true(has_note(r, "another run_stop", false));
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "incomplete");
    tc_result_destroy(r);
}

static void of_several_metrics_the_first_is_the_quality(void **state)
{
    (void)state;
    struct tc_result *r =
        read_text(START(1000) AT(2000, "X", "eval_accuracy", "114.4", ", \"metric\": \"FID\"")
                      AT(2001, "X", "eval_accuracy", "0.14", ", \"metric\": \"CLIP\"")
                          AT(3000, "X", "eval_accuracy", "76.7", ", \"metric\": \"FID\"")
                              AT(3001, "X", "eval_accuracy", "0.16", ", \"metric\": \"CLIP\"")
                                  AT(3001, "X", "eval_accuracy", "null", "") STOP(6000, "success"),
                  TOOL);
    assert_real(find_row(r, TC_TABLE_TRAINING, 0), TC_TRAINING_QUALITY, 76.7);
    assert_cell(find_row(r, TC_TABLE_TRAINING, 0), TC_TRAINING_QUALITY_NAME, "FID");
    assert_real(find_slice(r, "eval_accuracy", "metric=CLIP", 1), TC_SLICE_LAST, 0.16);
    tc_result_destroy(r);
}

static void broken_lines_are_named(void **state)
{
    (void)state;
    refuse_text(":::MLLOG {\"key\" \n" START(1000), TOOL, "line 1: no JSON");
    refuse_text(START(1000) ":::MLLOG {\"time_ms\": 1}\n", TOOL, "line 2: key");
    refuse_text(":::MLLOG {\"key\": \"run_start\", \"time_ms\": -1}\n", TOOL, "line 1: time_ms");
    refuse_text(":::MLLOG {\"key\": \"run_start\"}\n", TOOL, "line 1: time_ms");
    refuse_text("nothing of it\n", TOOL, "no line with");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_to_train_is_from_start_to_stop),
        cmocka_unit_test(a_log_without_an_end_is_incomplete),
        cmocka_unit_test(a_run_that_was_aborted_failed),
        cmocka_unit_test(an_end_before_the_start_contradicts),
        cmocka_unit_test(runs_may_follow_each_other),
        cmocka_unit_test(of_several_metrics_the_first_is_the_quality),
        cmocka_unit_test(broken_lines_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
