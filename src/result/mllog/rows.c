/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of one run of an MLPerf Training log.
 */
#include "base/buf.h"
#include "base/time.h"
#include "result/mllog/priv.h"

#include <stdio.h>
#include <string.h>

#define S(literal) TC_LIT(literal)

#define SPAN(name, note)                                                                           \
    {                                                                                              \
        name "_start", name "_stop", {name "_stop-" name "_start", name "_time", "ms", "s", note}, \
            name "_time"                                                                           \
    }

const struct tc__mllog_span tc__mllog_spans[TC__MLLOG_SPANS] = {
    SPAN("init", NULL),  SPAN("staging", "of MLPerf HPC: data to the nodes"),
    SPAN("block", NULL), SPAN("epoch", NULL),
    SPAN("eval", NULL),
};

static const struct tc_definition TIME_TO_TRAIN = {"run_stop-run_start", "time_to_train", "ms", "s",
                                                   "of a run whose run_stop says success"};
static const struct tc_definition TARGET = {"target_accuracy", "quality_target", "", "", NULL};
static const struct tc_definition LOSS = {"train_loss", "training_loss", "", "", "the last one"};
static const struct tc_definition STEPS = {"run_stop.step_num", "steps", "steps", "steps",
                                           "step_num of run_stop"};
static const struct tc_definition THROUGHPUT = {
    "tracked_stats.throughput.mean", "samples_per_second", "samples/s", "samples/s",
    "mean of what was reported, each value over the time since the one before; samples as the "
    "benchmark counts them (of some language models: tokens)"};
static const struct tc_definition STEP_TIME = {
    "tracked_stats.train_step_time.mean", "step_time", "s", "ms",
    "mean of what was reported, each value itself a mean over the steps since the one before"};

/* ---- the end of a run ---- */

struct tc_result_row *tc__mllog_slice(struct tc__mllog_log *l, size_t line, const char *metric,
                                      const char *unit)
{
    char where[32];
    (void)snprintf(where, sizeof where, "line:%zu", line);
    return tc_map_add_slice(l->r, tc_slice_cstr(where), TC_EMPTY, metric, unit);
}

void tc__mllog_point(const struct tc__mllog_log *l, struct tc_buf *b)
{
    if (l->runs > 0) {
        tc_map_point_number(b, "log_run", (double)(l->runs + 1));
    }
}

static tc_status check_stats(struct tc__mllog_log *l, const struct tc__stats *s, const char *what)
{
    return s->status == TC_OK
               ? TC_OK
               : tc_fail(l->err, s->status, 0, "line %zu: too many values of %s", l->line, what);
}

static tc_status add_series(struct tc__mllog_log *l, struct tc_result_row *training)
{
    struct tc__mllog_run *run = &l->run;
    for (size_t i = 0; i < run->series_count; i++) {
        struct tc__mllog_series *s = &run->series[i];
        TC_TRY(check_stats(l, &s->stats, s->name));
        bool step = strcmp(s->name, "train_step_time") == 0;
        bool throughput = strcmp(s->name, "throughput") == 0;
        double mean = tc__stats_mean(&s->stats);
        if (throughput) {
            tc_result_real(training, TC_TRAINING_SAMPLES_PER_S, mean, &THROUGHPUT);
        } else if (step) {
            tc_result_real(training, TC_TRAINING_STEP_MEAN, mean * 1000, &STEP_TIME);
        }
        const char *unit = throughput ? "samples/s" : step ? "s" : "";
        char field[TC__MLLOG_NAME_BYTES + 16];
        char data[64];
        struct tc_buf point = tc_buf_make(data, sizeof data);
        (void)snprintf(field, sizeof field, "tracked_stats.%s", s->name);
        tc__mllog_point(l, &point);
        struct tc_result_row *row = tc__mllog_slice(l, run->line, field, unit);
        tc_result_text(row, TC_SLICE_POINT, tc_buf_slice(&point));
        tc__stats_slice(&s->stats, row,
                        tc_result_define(l->r, field, s->name, unit, unit, "as reported"));
    }
    return TC_OK;
}

static tc_status add_spans(struct tc__mllog_log *l)
{
    for (size_t i = 0; i < TC__MLLOG_SPANS; i++) {
        struct tc__stats *s = &l->run.spans[i];
        char data[64];
        struct tc_buf point = tc_buf_make(data, sizeof data);
        TC_TRY(check_stats(l, s, tc__mllog_spans[i].metric));
        if (s->count == 0) {
            continue;
        }
        tc__mllog_point(l, &point);
        struct tc_result_row *row = tc__mllog_slice(l, l->run.line, tc__mllog_spans[i].metric, "s");
        tc_result_text(row, TC_SLICE_POINT, tc_buf_slice(&point));
        tc__stats_slice(s, row, &tc__mllog_spans[i].definition);
    }
    return TC_OK;
}

static void run_times(struct tc__mllog_log *l, struct tc_result_row *row)
{
    struct tc__mllog_run *run = &l->run;
    bool success = run->has_stop && strcmp(run->status, "success") == 0;
    if (run->has_start) {
        tc_result_time(row, TC_TRAINING_STARTED, run->start_ns);
    }
    if (run->has_stop) {
        tc_result_time(row, TC_TRAINING_ENDED, run->stop_ns);
    }
    if (!run->has_start || !run->has_stop) {
        l->incomplete++;
        tc_result_note(l->r, false, tc_as_line(l->line), run->has_start ? "run_stop" : "run_start",
                       "the log has no %s: the run is incomplete, and its time to train not known",
                       run->has_start ? "run_stop" : "run_start");
    } else if (run->stop_ns < run->start_ns) {
        tc_result_note(l->r, true, tc_as_line(l->line), "run_stop",
                       "run_stop is %.3f s before run_start",
                       (double)(run->start_ns - run->stop_ns) / TC_SECOND);
    } else if (success) {
        tc_result_real(row, TC_TRAINING_TIME_TO_TRAIN,
                       (double)(run->stop_ns - run->start_ns) / TC_SECOND, &TIME_TO_TRAIN);
    } else {
        l->failed++;
        tc_result_note(l->r, false, tc_as_line(l->line), "status",
                       "run_stop says '%.40s', not success: its time to train is not known",
                       run->status);
    }
}

tc_status tc__mllog_end_run(struct tc__mllog_log *l)
{
    struct tc__mllog_run *run = &l->run;
    char data[160];
    struct tc_buf scale = tc_buf_make(data, sizeof data);
    struct tc_result_row *row = tc_result_add(l->r, TC_TABLE_TRAINING, "line:%zu", run->line);
    tc_result_text(row, TC_TRAINING_PHASE, S("train"));
    run_times(l, row);
    if (run->nodes > 0 && run->per_node > 0 && run->nodes < INT32_MAX &&
        run->per_node < INT32_MAX) {
        tc_result_int(row, TC_TRAINING_GPUS, run->nodes * run->per_node, NULL);
        tc_result_fact_int(l->r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT,
                           run->nodes * run->per_node);
        tc_map_point_number(&scale, "gpus", (double)(run->nodes * run->per_node));
    }
    if (run->batch > 0) {
        tc_map_point_number(&scale, "batch", (double)run->batch);
    }
    tc__mllog_point(l, &scale);
    tc_result_text(row, TC_TRAINING_SCALE_POINT, tc_buf_slice(&scale));
    if (run->steps > 0) {
        tc_result_int(row, TC_TRAINING_STEPS, run->steps, &STEPS);
    }
    tc_result_real(row, TC_TRAINING_QUALITY, run->quality, run->quality_of);
    tc_result_text(row, TC_TRAINING_QUALITY_NAME, tc_slice_cstr(run->quality_name));
    tc_result_real(row, TC_TRAINING_QUALITY_TARGET, run->target, &TARGET);
    tc_result_real(row, TC_TRAINING_LOSS, run->loss, &LOSS);
    TC_TRY(add_series(l, row));
    return add_spans(l);
}
