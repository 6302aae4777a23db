/* SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"
#include "result/training/priv.h"

#include <math.h>
#include <stdio.h>

#define S(literal) TC_LIT(literal)

static const struct tc_definition GAP_OF = {
    "step_time", "step_time", "ms", "ms",
    "time between two lines of the log / steps between them; a mean over log_freq steps; after the "
    "first 10 steps"};

static const struct tc_definition RELIABILITY_OF = {
    "reliability", "reliability", "%", "%",
    "(last step - first step) x median step time / (time of the last line - time of the first); "
    "steps that are done again after a restart count once"};

void tc__train_run_begin(struct tc__train_run *run)
{
    *run = (struct tc__train_run){.second_step = -1,
                                  .last_ns = TC_TIME_NONE,
                                  .first_ns = TC_TIME_NONE,
                                  .end_ns = TC_TIME_NONE,
                                  .validation = TC_UNKNOWN};
    for (size_t i = 0; i < TC__TRAIN_VALUES_MAX; i++) {
        run->last[i] = TC_UNKNOWN;
        run->max[i] = TC_UNKNOWN;
    }
}

void tc__train_run_fini(struct tc__train_run *run)
{
    for (size_t i = 0; i < TC__TRAIN_VALUES_MAX; i++) {
        tc__stats_fini(&run->stats[i]);
        tc__stats_fini(&run->warm[i]);
    }
    tc__stats_fini(&run->step_ms);
    tc__stats_fini(&run->warm_step_ms);
    tc__stats_fini(&run->gap_ms);
}

bool tc__train_is_new_run(const struct tc__train_run *run, int64_t step)
{
    /* A log that began with the run has its first line at a step that is no more than the steps
     * between two lines. */
    int64_t interval = run->second_step > run->first_step ? run->second_step - run->first_step : 0;
    bool from_start = run->first_step <= 1 || run->first_step <= interval;
    return run->lines > 0 &&
           (run->completed || (step < run->last_step && step <= run->first_step && from_start));
}

void tc__train_run_count(struct tc__train_run *run, int64_t step)
{
    if (run->lines == 0) {
        run->first_step = step;
    } else if (run->second_step < 0) {
        run->second_step = step;
    }
    run->last_step = step;
    run->steps = step > run->steps ? step : run->steps;
    run->lines++;
}

/* ---- a step ---- */

static void add_values(struct tc__train_log *l, size_t number, const struct tc__train_line *v,
                       bool is_warm)
{
    struct tc__train_run *run = &l->run;
    for (size_t i = 0; i < l->program->value_count; i++) {
        if (run->last_known[i]) {
            continue;
        }
        if (v->known[i]) {
            tc__stats_add(is_warm ? &run->warm[i] : &run->stats[i], v->values[i]);
            run->max[i] =
                isnan(run->max[i]) || v->values[i] > run->max[i] ? v->values[i] : run->max[i];
        } else if (v->not_finite[i] && run->not_finite[i]++ == 0) {
            run->not_finite_line[i] = number;
        }
        if (v->known[i] || v->not_finite[i]) {
            run->last[i] = v->known[i] ? v->values[i] : TC_UNKNOWN;
            run->last_known[i] = true;
        }
    }
}

static void add_gap(struct tc__train_log *l, const struct tc__train_line *v, bool is_warm)
{
    struct tc__train_run *run = &l->run;
    int64_t warm_up = l->program->first_step + TC__TRAIN_WARMUP - 1;
    if (run->lines > 0 && v->step > run->last_step && !is_warm && v->at_ns != TC_TIME_NONE &&
        run->last_ns != TC_TIME_NONE && v->at_ns >= run->last_ns && run->last_step >= warm_up) {
        tc__stats_add(&run->gap_ms,
                      (double)(v->at_ns - run->last_ns) / 1e6 / (double)(v->step - run->last_step));
    }
}

static void on_train(struct tc__train_log *l, size_t number, const struct tc__train_line *v)
{
    struct tc__train_run *run = &l->run;
    bool is_warm = v->step < l->program->first_step + TC__TRAIN_WARMUP;
    bool again = run->lines > 0 && v->step == run->last_step;
    if (again && !l->program->merges) {
        return; /* other ranks tell the same, often without their number */
    }
    if (!again) {
        for (size_t i = 0; i < TC__TRAIN_VALUES_MAX; i++) {
            run->last_known[i] = false;
        }
        run->restarts += run->lines > 0 && v->step < run->last_step;
        add_gap(l, v, is_warm);
    }
    add_values(l, number, v, is_warm);
    if (!isnan(v->step_ms)) {
        tc__stats_add(is_warm ? &run->warm_step_ms : &run->step_ms, v->step_ms);
    }
    if (!again) {
        tc__train_run_count(run, v->step);
        run->last_ns = v->at_ns;
    }
}

void tc__train_on_step(struct tc__train_log *l, size_t number, const struct tc__train_line *v)
{
    struct tc__train_run *run = &l->run;
    if (v->word == TC_TRAIN_DONE) {
        run->completed = run->lines > 0;
        return;
    }
    if (run->first_line == 0) {
        run->first_line = number;
    }
    if (v->at_ns != TC_TIME_NONE) {
        run->first_ns =
            run->first_ns == TC_TIME_NONE || v->at_ns < run->first_ns ? v->at_ns : run->first_ns;
        run->end_ns =
            run->end_ns == TC_TIME_NONE || v->at_ns > run->end_ns ? v->at_ns : run->end_ns;
    }
    if (v->word == TC_TRAIN_EVAL || !isnan(v->validation)) {
        run->validation = v->validation;
    }
    if (v->word == TC_TRAIN_STEP) {
        on_train(l, number, v);
    }
}

/* ---- rows ---- */

static struct tc__stats *stats_of(struct tc__train_run *run, size_t value)
{
    return run->stats[value].count > 0 ? &run->stats[value] : &run->warm[value];
}

static struct tc__stats *step_times(struct tc__train_run *run)
{
    return run->step_ms.count > 0        ? &run->step_ms
           : run->warm_step_ms.count > 0 ? &run->warm_step_ms
                                         : &run->gap_ms;
}

static const struct tc_definition *step_of(const struct tc__train_log *l)
{
    return l->run.step_ms.count + l->run.warm_step_ms.count > 0 ? l->program->step_of : &GAP_OF;
}

static void put_value(struct tc__train_log *l, struct tc_result_row *row, size_t i)
{
    static const char *const suffix[] = {
        [TC__TRAIN_MEAN] = "mean", [TC__TRAIN_LAST] = "last", [TC__TRAIN_MAX] = "max"};
    const struct tc__train_value *v = &l->program->values[i];
    const struct tc__stats *s = stats_of(&l->run, i);
    char field[96];
    if (v->column == TC_MAP_NO_COLUMN) {
        return;
    }
    double value = v->take == TC__TRAIN_MAX    ? l->run.max[i]
                   : v->take == TC__TRAIN_LAST ? l->run.last[i]
                   : s->count > 0              ? tc__stats_mean(s)
                                               : TC_UNKNOWN;
    (void)snprintf(field, sizeof field, "%s.%s", v->field, suffix[v->take]);
    tc_result_real(row, v->column, value,
                   tc_result_define(l->r, field, v->measures, v->unit, v->unit, v->note));
}

static void scale_point(const struct tc__train_log *l, struct tc_buf *b)
{
    if (l->gpus > 0) {
        tc_map_point_number(b, "gpus", (double)l->gpus);
    }
    if (l->runs > 1) {
        tc_map_point_number(b, "log_run", (double)l->run_number);
    }
}

static void put_slice(struct tc__train_log *l, const char *metric, const char *unit,
                      struct tc__stats *s, const struct tc_definition *definition)
{
    char data[64];
    struct tc_buf point = tc_buf_make(data, sizeof data);
    if (s->count == 0) {
        return;
    }
    struct tc_result_row *row = tc_result_add(l->r, TC_TABLE_SLICE, "line:%zu", l->run.first_line);
    tc_result_text(row, TC_SLICE_METRIC, tc_slice_cstr(metric));
    tc_result_text(row, TC_SLICE_UNIT, tc_slice_cstr(unit));
    if (l->has_rank && l->rank >= 0) {
        tc_result_int(row, TC_SLICE_RANK, l->rank, NULL);
    }
    scale_point(l, &point);
    tc_result_text(row, TC_SLICE_POINT, tc_buf_slice(&point));
    tc_map_slice_window(row, l->run.first_ns, l->run.end_ns);
    tc__stats_slice(s, row, definition);
}

static void put_times(struct tc__train_log *l, struct tc_result_row *row)
{
    struct tc__train_run *run = &l->run;
    if (run->first_ns != TC_TIME_NONE) {
        tc_result_time(row, TC_TRAINING_STARTED, run->first_ns);
        tc_result_time(row, TC_TRAINING_ENDED, run->end_ns);
        tc_result_fact_time(l->r, TC_TABLE_RUN, TC_RUN_STARTED, run->first_ns);
        tc_result_fact_time(l->r, TC_TABLE_RUN, TC_RUN_ENDED, run->end_ns);
        if (l->run_number == 1 && l->no_zone) {
            tc_result_note(l->r, false, "", "time", "times without a zone are taken as UTC");
        }
    }
    struct tc__stats *s = step_times(run);
    if (s->count > 0) {
        tc_result_real(row, TC_TRAINING_STEP_MEAN, tc__stats_mean(s), step_of(l));
        tc_result_real(row, TC_TRAINING_STEP_P50, tc__stats_percentile(s, 0.5), step_of(l));
        tc_result_real(row, TC_TRAINING_STEP_P95, tc__stats_percentile(s, 0.95), step_of(l));
        tc_result_real(row, TC_TRAINING_STEP_P99, tc__stats_percentile(s, 0.99), step_of(l));
    }
}

/* What is not steps (compilation, checkpoints, hangs, the work that a restart throws away) is not
 * productive. */
static void put_reliability(struct tc__train_log *l, struct tc_result_row *row)
{
    struct tc__train_run *run = &l->run;
    struct tc__stats *s = step_times(run);
    double total_ms = (double)(run->end_ns - run->first_ns) / 1e6;
    if (s->count == 0 || run->first_ns == TC_TIME_NONE || total_ms <= 0) {
        return;
    }
    double median = tc__stats_percentile(s, 0.5);
    double share = 100 * (double)(run->steps - run->first_step) * median / total_ms;
    tc_result_real(row, TC_TRAINING_RELIABILITY, share > 100 ? 100 : share, &RELIABILITY_OF);
}

static void put_row(struct tc__train_log *l)
{
    char data[64];
    struct tc_buf scale = tc_buf_make(data, sizeof data);
    struct tc__train_run *run = &l->run;
    struct tc_result_row *row = tc_result_add(l->r, TC_TABLE_TRAINING, "line:%zu", run->first_line);
    tc_result_text(row, TC_TRAINING_PHASE, S("train"));
    tc_result_int(row, TC_TRAINING_STEPS, run->steps + 1 - l->program->first_step, NULL);
    scale_point(l, &scale);
    tc_result_text(row, TC_TRAINING_SCALE_POINT, tc_buf_slice(&scale));
    if (l->gpus > 0) {
        tc_result_int(row, TC_TRAINING_GPUS, l->gpus, NULL);
    }
    put_times(l, row);
    put_reliability(l, row);
    for (size_t i = 0; i < l->program->value_count; i++) {
        put_value(l, row, i);
    }
    if (!isnan(run->validation)) {
        tc_result_real(row, TC_TRAINING_QUALITY, run->validation, l->program->validation_of);
        tc_result_text(row, TC_TRAINING_QUALITY_NAME, S("validation_loss"));
    }
    if (run->restarts > 0) {
        tc_result_int(row, TC_TRAINING_RESTARTS, (int64_t)run->restarts, NULL);
        tc_result_note(l->r, false, "", "step", "steps went back %zu times: restarts in one log",
                       run->restarts);
    }
}

static tc_status first_failure(const struct tc__train_run *run)
{
    for (size_t i = 0; i < TC__TRAIN_VALUES_MAX; i++) {
        if (run->stats[i].status != TC_OK || run->warm[i].status != TC_OK) {
            return run->stats[i].status != TC_OK ? run->stats[i].status : run->warm[i].status;
        }
    }
    return run->step_ms.status != TC_OK ? run->step_ms.status : run->gap_ms.status;
}

tc_status tc__train_put_run(struct tc__train_log *l)
{
    struct tc__train_run *run = &l->run;
    tc_status status = first_failure(run);
    if (status != TC_OK) {
        return tc_fail(l->err, status, 0, "too many steps in one log");
    }
    put_row(l);
    for (size_t i = 0; i < l->program->value_count; i++) {
        const struct tc__train_value *v = &l->program->values[i];
        put_slice(l, v->field, v->unit, stats_of(run, i),
                  tc_result_define(l->r, v->field, v->measures, v->unit, v->unit,
                                   "of the logged steps after the first 10"));
    }
    put_slice(l, "step_time", "ms", step_times(run), step_of(l));
    for (size_t i = 0; i < l->program->value_count; i++) {
        if (run->not_finite[i] > 0) {
            tc_result_note(l->r, false, tc_as_line(run->not_finite_line[i]),
                           l->program->values[i].field,
                           "is nan or infinite in %zu of %zu logged steps, here first: unknown "
                           "there",
                           run->not_finite[i], run->lines);
        }
    }
    return TC_OK;
}
