/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MLPerf Training's logs: lines with ":::MLLOG {...}" (0.5 and 0.6: other marks, see
 * priv.h) among whatever else was printed. Time to train is run_stop - run_start and
 * counts only for a run that succeeded; a log without run_stop is incomplete, not fast. Several
 * runs may follow each other in one log. What was reported on the way (evaluations, blocks, epochs,
 * tracked statistics) is kept as slices.
 */
#include "base/buf.h"
#include "base/time.h"
#include "codec/codec.h"
#include "result/mllog/priv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define S(literal) TC_LIT(literal)

static const struct tc_definition QUALITY = {"eval_accuracy", "quality", "", "",
                                             "the last one of the metric that was evaluated first"};
static const struct tc_definition EVALUATION = {"eval_accuracy", "quality", "", "",
                                                "of one evaluation"};
static const struct tc_definition ERROR = {"eval_error", "quality_error", "", "",
                                           "less is better; the last one"};
static const struct tc_definition ERROR_EVALUATION = {"eval_error", "quality_error", "", "",
                                                      "less is better; of one evaluation"};

static void reset_run(struct tc__mllog_run *run)
{
    for (size_t i = 0; i < TC__MLLOG_SPANS; i++) {
        tc__stats_fini(&run->spans[i]);
    }
    for (size_t i = 0; i < run->series_count; i++) {
        tc__stats_fini(&run->series[i].stats);
    }
    *run = (struct tc__mllog_run){.quality = TC_UNKNOWN, .target = TC_UNKNOWN, .loss = TC_UNKNOWN};
}

static tc_status next_run(struct tc__mllog_log *l)
{
    TC_TRY(tc__mllog_end_run(l));
    l->runs++;
    reset_run(&l->run);
    return TC_OK;
}

/* ---- events ---- */

static void copy_name(char out[TC__MLLOG_NAME_BYTES], struct tc_slice name)
{
    struct tc_buf b = tc_buf_make(out, TC__MLLOG_NAME_BYTES - 1);
    memset(out, 0, TC__MLLOG_NAME_BYTES);
    tc_buf_printable(&b, tc_slice_head(name, TC__MLLOG_NAME_BYTES / 4));
}

static void add_evaluation(struct tc__mllog_log *l, const struct tc__mllog_event *e,
                           struct tc_slice metric, double value)
{
    static const char *const places[] = {"epoch_num", "samples_count", "step_num"};
    struct tc__mllog_run *run = &l->run;
    bool is_error = tc_slice_eq(e->key, S("eval_error"));
    double number = 0;
    char name[TC__MLLOG_NAME_BYTES];
    char data[160];
    struct tc_buf point = tc_buf_make(data, sizeof data);
    copy_name(name, metric);
    if (isnan(run->quality)) {
        memcpy(run->quality_name, name, sizeof name);
        run->quality_of = is_error ? &ERROR : &QUALITY;
    }
    if (strcmp(run->quality_name, name) == 0) {
        run->quality = value;
    }
    tc__mllog_point(l, &point);
    tc_map_point_text(&point, "metric", tc_slice_cstr(name));
    for (size_t i = 0; i < TC_COUNT(places); i++) {
        /* 0.5 says epoch. */
        if (tc_map_number_at(e->metadata, places[i], &number) ||
            (i == 0 && tc_map_number_at(e->metadata, "epoch", &number))) {
            tc_map_point_number(&point, places[i], number);
        }
    }
    struct tc_result_row *row =
        tc__mllog_slice(l, e->line, is_error ? "eval_error" : "eval_accuracy", "");
    tc_result_text(row, TC_SLICE_POINT, tc_buf_slice(&point));
    if (e->ns > 0) {
        tc_result_time(row, TC_SLICE_START, e->ns);
        tc_result_time(row, TC_SLICE_END, e->ns);
    }
    tc_result_real(row, TC_SLICE_LAST, value, is_error ? &ERROR_EVALUATION : &EVALUATION);
}

/* A number, or one for each metric: {"BBOX": 0.38, "SEGM": 0.34}. */
static void on_evaluation(struct tc__mllog_log *l, const struct tc__mllog_event *e)
{
    struct tc_slice metric = tc_map_string_at(e->metadata, "metric");
    double value = 0;
    if (tc_map_number(e->value, &value)) {
        add_evaluation(l, e, metric.len > 0 ? metric : e->key, value);
        return;
    }
    struct tc_json_iter it = tc_json_iter_make(e->value);
    struct tc_slice key;
    struct tc_json v;
    size_t taken = 0;
    while (tc_json_type(e->value) == TC_JSON_OBJECT && tc_json_iter_next(&it, &key, &v)) {
        if (tc_map_number(v, &value)) {
            add_evaluation(l, e, key, value);
            taken++;
        }
    }
    if (taken == 0 && l->not_numbers++ == 0) {
        l->not_number_line = e->line;
    }
}

static void add_tracked(struct tc__mllog_log *l, struct tc_slice key, double value)
{
    struct tc__mllog_run *run = &l->run;
    char name[TC__MLLOG_NAME_BYTES];
    size_t i = 0;
    copy_name(name, key);
    if (strcmp(name, "train_loss") == 0 || strcmp(name, "reduced_train_loss") == 0) {
        run->loss = value;
    }
    while (i < run->series_count && strcmp(run->series[i].name, name) != 0) {
        i++;
    }
    if (i == TC__MLLOG_STATS_MAX) {
        tc_result_note(l->r, false, "", "tracked_stats",
                       "more than %d members of tracked_stats: '%s' is left out",
                       TC__MLLOG_STATS_MAX, name);
        return;
    }
    if (i == run->series_count) {
        memcpy(run->series[i].name, name, sizeof name);
        run->series_count++;
    }
    tc__stats_add(&run->series[i].stats, value);
}

/* tracked_stats has an object; before 2.0 throughput was an event of its own. */
static void on_tracked(struct tc__mllog_log *l, const struct tc__mllog_event *e)
{
    struct tc_json_iter it = tc_json_iter_make(e->value);
    struct tc_slice key;
    struct tc_json v;
    double value = 0;
    if (tc_json_type(e->value) != TC_JSON_OBJECT) {
        if (tc_slice_eq(e->key, S("throughput")) && tc_map_number(e->value, &value)) {
            add_tracked(l, e->key, value);
        }
        return;
    }
    while (tc_json_iter_next(&it, &key, &v)) {
        if (tc_map_number(v, &value)) {
            add_tracked(l, key, value);
        }
    }
}

static void on_span(struct tc__mllog_log *l, const struct tc__mllog_event *e)
{
    struct tc__mllog_run *run = &l->run;
    for (size_t i = 0; i < TC__MLLOG_SPANS; i++) {
        if (tc_slice_eq(e->key, tc_slice_cstr(tc__mllog_spans[i].start))) {
            run->open[i] = true;
            run->opened_ns[i] = e->ns;
        } else if (run->open[i] && tc_slice_eq(e->key, tc_slice_cstr(tc__mllog_spans[i].stop))) {
            if (e->ns < run->opened_ns[i]) {
                tc_result_note(l->r, true, tc_as_line(l->line), tc__mllog_spans[i].stop,
                               "%s is %.3f s before %s", tc__mllog_spans[i].stop,
                               (double)(run->opened_ns[i] - e->ns) / TC_SECOND,
                               tc__mllog_spans[i].start);
            }
            tc__stats_add(&run->spans[i], (double)(e->ns - run->opened_ns[i]) / TC_SECOND);
            run->open[i] = false;
        }
    }
}

static tc_status on_start(struct tc__mllog_log *l, const struct tc__mllog_event *e)
{
    struct tc__mllog_run *run = &l->run;
    if (run->has_start && run->has_stop) {
        TC_TRY(next_run(l));
        run->line = l->line;
        run->has_events = true;
    } else if (run->has_start) {
        tc_result_note(l->r, false, tc_as_line(l->line), "run_start",
                       "another run_start in the same run: the first one counts");
        return TC_OK;
    }
    run->has_start = true;
    run->start_ns = e->ns;
    return TC_OK;
}

/* 0.5 says {"success": true}, or "true". */
static struct tc_slice status_of(const struct tc__mllog_event *e)
{
    struct tc_json v;
    bool yes = false;
    if (!tc_map_at(e->metadata, "success", &v)) {
        return tc_map_string_at(e->metadata, "status");
    }
    yes = (tc_json_bool(v, &yes) && yes) || tc_slice_eq_nocase(tc_map_string_at(v, ""), S("true"));
    return yes ? S("success") : S("no success");
}

static void on_stop(struct tc__mllog_log *l, const struct tc__mllog_event *e)
{
    struct tc__mllog_run *run = &l->run;
    if (!run->has_start) {
        tc_result_note(l->r, true, tc_as_line(l->line), "run_stop",
                       "run_stop without a run_start before it");
    }
    if (run->has_stop) {
        tc_result_note(l->r, false, tc_as_line(l->line), "run_stop",
                       "another run_stop in the same run: the first one counts");
        return;
    }
    run->has_stop = true;
    run->stop_ns = e->ns;
    copy_name(run->status, status_of(e));
    (void)tc_map_int_at(e->metadata, "step_num", &run->steps);
}

/* A number that the log says once, of several spellings. */
static void on_setting(struct tc__mllog_log *l, const struct tc__mllog_event *e)
{
    struct tc__mllog_run *run = &l->run;
    int64_t number = 0;
    double real = 0;
    struct tc_slice text;
    bool whole = tc_map_int_at(e->value, "", &number);
    if (tc_slice_eq(e->key, S("global_batch_size")) && whole) {
        run->batch = number;
        char data[64];
        (void)snprintf(data, sizeof data, "global_batch_size=%" PRId64, number);
        tc_result_fact_text(l->r, TC_TABLE_WORKLOAD, TC_WORKLOAD_BATCHING_POLICY,
                            tc_slice_cstr(data));
    } else if (tc_slice_eq(e->key, S("number_of_nodes")) && whole) {
        run->nodes = number;
        tc_result_fact_int(l->r, TC_TABLE_HARDWARE, TC_HARDWARE_NODE_COUNT, number);
    } else if (tc_slice_eq(e->key, S("accelerators_per_node")) && whole) {
        run->per_node = number;
    } else if (tc_slice_eq(e->key, S("submission_benchmark")) && tc_json_string(e->value, &text)) {
        tc_result_fact_text(l->r, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL, text);
    } else if (tc_slice_eq(e->key, S("train_loss")) && tc_map_number(e->value, &real)) {
        run->loss = real;
    } else if (tc__word_in(e->key, "target_accuracy quality_target target_quality target_iou "
                                   "target_avg_lddt_ca_value target_mae target_forces_mae")) {
        (void)tc_map_number(e->value, &run->target);
    }
}

static tc_status on_event(struct tc__mllog_log *l, const struct tc__mllog_event *e)
{
    struct tc__mllog_run *run = &l->run;
    bool begins = tc_slice_eq(e->key, S("init_start")) || tc_slice_eq(e->key, S("cache_clear"));
    if (begins && run->has_start) {
        TC_TRY(next_run(l));
    }
    if (!run->has_events) {
        run->line = l->line;
        run->has_events = true;
    }
    if (e->ns > 0) { /* what was written before is dated 0 */
        l->first_ns = !l->has_time || e->ns < l->first_ns ? e->ns : l->first_ns;
        l->last_ns = !l->has_time || e->ns > l->last_ns ? e->ns : l->last_ns;
        l->has_time = true;
    }
    tc_result_fact_text(l->r, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL, e->benchmark);
    if (tc_slice_eq(e->key, S("run_start"))) {
        return on_start(l, e);
    }
    if (tc_slice_eq(e->key, S("run_stop"))) {
        on_stop(l, e);
    } else if (tc_slice_eq(e->key, S("eval_accuracy")) || tc_slice_eq(e->key, S("eval_error"))) {
        on_evaluation(l, e);
    } else if (tc_slice_eq(e->key, S("tracked_stats")) || tc_slice_eq(e->key, S("throughput"))) {
        on_tracked(l, e);
    } else {
        on_span(l, e);
        on_setting(l, e);
    }
    return TC_OK;
}

/* ---- lines ---- */

/* With srun -l every rank may print the same events: a key counts from the rank that was first. */
static bool is_repeat(struct tc__mllog_log *l, struct tc_slice key, long rank)
{
    uint64_t hash = tc_slice_hash(key, 0);
    if (rank < 0) {
        return false;
    }
    for (size_t i = 0; i < l->speaker_count; i++) {
        if (l->speakers[i].key_hash == hash) {
            return l->speakers[i].rank != rank;
        }
    }
    if (l->speaker_count < TC__MLLOG_SPEAKERS_MAX) {
        l->speakers[l->speaker_count++] = (struct tc__mllog_speaker){hash, rank};
    }
    return false;
}

static tc_status read_events(struct tc__mllog_log *l, struct tc__mllog_events *events)
{
    struct tc__mllog_event e;
    tc_status status;
    while ((status = tc__mllog_next(events, &e, l->err)) == TC_OK) {
        l->line = e.line;
        int64_t instance = -1;
        /* MLPerf HPC may train several models at once: the first one counts. */
        (void)tc_map_int_at(e.metadata, "instance", &instance);
        bool other = instance >= 0 && instance <= INT32_MAX && e.rank < 0;
        if (is_repeat(l, e.key, other ? (long)instance : e.rank)) {
            l->repeat_line = l->repeats++ == 0 ? l->line : l->repeat_line;
        } else {
            TC_TRY(on_event(l, &e));
        }
    }
    if (status != TC_E_NOTFOUND) {
        return status;
    }
    if (l->run.has_events) {
        return tc__mllog_end_run(l);
    }
    if (l->runs > 0) {
        return TC_OK;
    }
    return events->broken > 0
               ? tc_fail(l->err, TC_E_MALFORMED, 0, "line %zu: %s, and no other line with an event",
                         events->broken_line, events->broken_what)
               : tc_fail(l->err, TC_E_MALFORMED, 0, "no line with :::MLLOG {...}");
}

/* Lines that are left out. */
static void tell_gaps(struct tc__mllog_log *l, const struct tc__mllog_events *events)
{
    if (l->repeats > 0) {
        tc_result_note(
            l->r, false, tc_as_line(l->repeat_line), "MLLOG",
            "%zu lines of other ranks are left out: a key counts from the rank or instance "
            "that was first",
            l->repeats);
    }
    if (l->not_numbers > 0) {
        tc_result_note(l->r, false, tc_as_line(l->not_number_line), "eval_accuracy",
                       "%zu evaluations are no numbers, here first: they are left out",
                       l->not_numbers);
    }
    if (events->broken > 0) {
        tc_result_note(l->r, false, tc_as_line(events->broken_line), "MLLOG",
                       "%zu lines are broken and left out, here first: %s", events->broken,
                       events->broken_what);
    }
    if (events->cut_line > 0) {
        tc_result_note(l->r, false, tc_as_line(events->cut_line), "MLLOG",
                       "the last line is cut off");
    }
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    struct tc__mllog_log l = {.r = r, .err = err};
    reset_run(&l.run);
    struct tc__mllog_events events = tc__mllog_events_of(in);
    tc_status status = read_events(&l, &events);
    reset_run(&l.run);
    TC_TRY(status);
    tell_gaps(&l, &events);
    if (l.has_time) {
        tc_result_fact_time(r, TC_TABLE_RUN, TC_RUN_STARTED, l.first_ns);
        tc_result_fact_time(r, TC_TABLE_RUN, TC_RUN_ENDED, l.last_ns);
    }
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_WORKLOAD_TYPE, S("training"));
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_STATUS,
                        l.failed > 0       ? S("failed")
                        : l.incomplete > 0 ? S("incomplete")
                                           : S("succeeded"));
    return TC_OK;
}

static int sniff(const struct tc_result_input *in)
{
    if (!tc__mllog_has_mark(in->bytes)) {
        return TC_SNIFF_NO;
    }
    /* LoadGen, of MLPerf Inference, writes such lines as well. */
    return tc_slice_contains(in->bytes, S("\"loadgen_version\"")) ? TC_SNIFF_NO : TC_SNIFF_SURE;
}

const struct tc_reader tc_reader_mllog = {
    .name = "mllog",
    .summary = "MLPerf Training logs (:::MLLOG lines among other text)",
    .forms = 1u << TC_RESULT_TEXT,
    .sniff = sniff,
    .read = read_file,
};
