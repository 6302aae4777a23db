/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/result/result_testing.h"

#define TOOL "mllog"
/* An event; `more` are members of its metadata. */
#define MORE(ms, key, value, more)                                                                \
    ":::MLLOG {\"namespace\": \"\", \"time_ms\": " #ms ", \"event_type\": \"X\", \"key\": \"" key \
    "\", \"value\": " value ", \"metadata\": {\"file\": \"a.py\", \"lineno\": 1" more "}}"
#define EVENT(ms, key, value) MORE(ms, key, value, "")
#define INIT(ms) EVENT(ms, "init_start", "null")
#define START(ms) EVENT(ms, "run_start", "null")
#define STOP(ms, status) MORE(ms, "run_stop", "null", ", \"status\": \"" status "\"")

static void time_to_train_is_from_start_to_stop(void **state)
{
    (void)state;
    const char *text =
        LINES("some other text", "[rank0]: " INIT(1000), EVENT(1500, "global_batch_size", "256"),
              EVENT(1500, "submission_benchmark", "\"bert\""), EVENT(1500, "number_of_nodes", "2"),
              EVENT(1500, "accelerators_per_node", "8"), EVENT(1500, "target_accuracy", "0.72"),
              EVENT(2000, "init_stop", "null"), "0: " START(2500), EVENT(3000, "block_start", "1"),
              EVENT(5000, "block_stop", "1"),
              EVENT(5000, "tracked_stats", "{\"throughput\": 100.0, \"train_step_time\": 0.5}"),
              EVENT(6000, "tracked_stats", "{\"throughput\": 300.0, \"train_step_time\": 0.25}"),
              MORE(7000, "eval_accuracy", "0.70", ", \"epoch_num\": 1"),
              MORE(8000, "eval_accuracy", "0.73", ", \"epoch_num\": 2"), STOP(8500, "success"));
    struct tc_result *r = read_text(text, TOOL);
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
    struct tc_result *r = read_text(LINES(START(1000), EVENT(5000, "eval_accuracy", "1")), TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_TRAINING, 0);
    assert_unknown(row, TC_TRAINING_TIME_TO_TRAIN);
    assert_unknown(row, TC_TRAINING_ENDED);
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "incomplete");
    assert_true(has_note(r, "no run_stop", false));
    tc_result_destroy(r);
    /* A line that was cut while it was written. */
    r = read_text(LINES(START(1000), ":::MLLOG {\"namespace\": \"\", \"time_ms\": 20"), TOOL);
    assert_true(has_note(r, "the last line is cut off", false));
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "incomplete");
    tc_result_destroy(r);
}

static void a_run_that_was_aborted_failed(void **state)
{
    (void)state;
    struct tc_result *r = read_text(LINES(START(1000), STOP(5000, "aborted")), TOOL);
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
    struct tc_result *r = read_text(LINES(START(5000), STOP(1000, "success")), TOOL);
    assert_true(has_note(r, "run_stop is 4.000 s before run_start", true));
    assert_unknown(find_row(r, TC_TABLE_TRAINING, 0), TC_TRAINING_TIME_TO_TRAIN);
    tc_result_destroy(r);
    r = read_text(LINES(STOP(1000, "success"), START(5000)), TOOL);
    assert_true(has_note(r, "without a run_start", true));
    tc_result_destroy(r);
    r = read_text(LINES(START(1000), EVENT(5000, "epoch_start", "1"),
                        EVENT(4000, "epoch_stop", "1"), STOP(6000, "success")),
                  TOOL);
    assert_true(has_note(r, "epoch_stop is 1.000 s before epoch_start", true));
    tc_result_destroy(r);
}

static void runs_may_follow_each_other(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        LINES(INIT(100), START(1000), START(1001), STOP(3000, "success"), STOP(3001, "success"),
              INIT(4000), START(5000), INIT(7000), START(8000), STOP(9500, "success")),
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
    const char *text =
        LINES(START(1000), MORE(2000, "eval_accuracy", "114.4", ", \"metric\": \"FID\""),
              MORE(2001, "eval_accuracy", "0.14", ", \"metric\": \"CLIP\""),
              MORE(3000, "eval_accuracy", "76.7", ", \"metric\": \"FID\""),
              MORE(3001, "eval_accuracy", "0.16", ", \"metric\": \"CLIP\""),
              EVENT(3001, "eval_accuracy", "null"), STOP(6000, "success"));
    struct tc_result *r = read_text(text, TOOL);
    assert_real(find_row(r, TC_TABLE_TRAINING, 0), TC_TRAINING_QUALITY, 76.7);
    assert_cell(find_row(r, TC_TABLE_TRAINING, 0), TC_TRAINING_QUALITY_NAME, "FID");
    assert_real(find_slice(r, "eval_accuracy", "metric=CLIP", 1), TC_SLICE_LAST, 0.16);
    tc_result_destroy(r);
}

static void ranks_that_say_the_same_count_once(void **state)
{
    (void)state;
    struct tc_result *r = read_text(LINES("0: " START(1000), "1: " START(1001),
                                          "1: " EVENT(2000, "eval_accuracy", "0.5"),
                                          "0: " EVENT(2001, "eval_accuracy", "0.5"),
                                          "0: " STOP(3000, "success"), "1: " STOP(3002, "success")),
                                    TOOL);
    assert_real(find_row(r, TC_TABLE_TRAINING, 0), TC_TRAINING_TIME_TO_TRAIN, 2);
    assert_null(find_row(r, TC_TABLE_TRAINING, 1));
    assert_non_null(find_slice(r, "eval_accuracy", "", 0));
    assert_null(find_slice(r, "eval_accuracy", "", 1));
    assert_true(has_note(r, "3 lines of other ranks are left out", false));
    tc_result_destroy(r);
}

static void broken_lines_are_named(void **state)
{
    (void)state;
    struct tc_result *r = read_text(LINES(":::MLLOG {\"key\" ", START(1000),
                                          ":::MLLOG {\"time_ms\": 1}", STOP(3000, "success")),
                                    TOOL);
    assert_real(find_row(r, TC_TABLE_TRAINING, 0), TC_TRAINING_TIME_TO_TRAIN, 2);
    assert_true(has_note(r, "2 lines are broken and left out, here first: no JSON", false));
    tc_result_destroy(r);
    static const struct {
        const char *text;
        const char *said;
    } cases[] = {
        {":::MLLOG {\"key\" \nx\n", "line 1: no JSON"},
        {":::MLLOG {\"time_ms\": 1}\nx\n", "line 1: key"},
        {":::MLLOG {\"key\": \"run_start\", \"time_ms\": -1}\nx\n", "line 1: time_ms"},
        {":::MLLOG {\"key\": \"run_start\", \"time_ms\": 1e30}\nx\n", "line 1: time_ms"},
        {":::MLLOG {\"key\": \"run_start\"}\nx\n", "line 1: time_ms"},
        {":::MLL x run_start: {}\nx\n", "line 1: seconds"},
        {":::MLL 99999999999999 run_start: {}\nx\n", "line 1: seconds"},
        {":::MLL 1.5x run_start: {}\nx\n", "line 1: seconds"},
        {":::MLL 1.5 run_start {}\nx\n", "line 1: key"},
        {":::MLL 1.5 run_start: {\nx\n", "line 1: no JSON"},
        {":::MLPv0.5.0 ncf x (a:1) run_start\nx\n", "line 1: seconds"},
        {":::MLPv0.5.0 ncf 1.5 run_start\nx\n", "line 1: a place"},
        {":::MLPv0.5.0 ncf 1.5 (a:1) \nx\n", "line 1: key"},
        {":::MLPv0.5.0 ncf 1.5 (a:1) run_stop: {\nx\n", "line 1: no JSON"},
        {"nothing of it\n", "no line with"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        refuse_text(cases[i].text, TOOL, cases[i].said);
    }
}

static void older_versions_have_other_marks(void **state)
{
    (void)state;
    struct tc_result *r = read_text(
        LINES(":::MLPv0.5.0 ncf 1.000000001 (a b.py:1) run_start", ":::MLPv0.5.0",
              ":::MLPv0.5.0 ncf 2.5 (a.py:1) eval_accuracy: {\"epoch\": 1, \"value\": 0.5}",
              ":::MLPv0.5.0 ncf 3.000000001 (a.py:1) run_stop: {\"success\": true}"),
        TOOL);
    const struct tc_result_row *row = find_row(r, TC_TABLE_TRAINING, 0);
    assert_real(row, TC_TRAINING_TIME_TO_TRAIN, 2);
    assert_real(row, TC_TRAINING_QUALITY, 0.5);
    assert_non_null(find_slice(r, "eval_accuracy", "epoch_num=1", 0));
    assert_fact(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL, "ncf");
    assert_defined(r);
    tc_result_destroy(r);
    r = read_text(LINES(":::MLL 0.0 submission_benchmark: {\"value\": \"ssd\"}",
                        ":::MLL 10.5 run_start: {\"value\": null}",
                        ":::MLL 12.75 run_stop: {\"metadata\": {\"status\": \"success\"}}"),
                  TOOL);
    assert_real(find_row(r, TC_TABLE_TRAINING, 0), TC_TRAINING_TIME_TO_TRAIN, 2.25);
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STARTED, "10500000");
    tc_result_destroy(r);
}

static void nan_is_not_known(void **state)
{
    (void)state;
    struct tc_result *r =
        read_text(LINES(START(1000), EVENT(2000, "eval_accuracy", "NaN"),
                        EVENT(2000, "eval_error", "Infinity"), STOP(3000, "success")),
                  TOOL);
    assert_unknown(find_row(r, TC_TABLE_TRAINING, 0), TC_TRAINING_QUALITY);
    assert_true(has_note(r, "2 evaluations are no numbers", false));
    tc_result_destroy(r);
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
        cmocka_unit_test(ranks_that_say_the_same_count_once),
        cmocka_unit_test(broken_lines_are_named),
        cmocka_unit_test(older_versions_have_other_marks),
        cmocka_unit_test(nan_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
