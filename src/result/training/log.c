/* SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"
#include "codec/codec.h"
#include "result/lines_priv.h"
#include "result/training/priv.h"

#define S(literal) TC_LIT(literal)
#define LINE_MAX_BYTES 4096

/* A line, or what was drawn over another one. */
static bool next_text(const struct tc__train_program *program, struct tc__lines *lines,
                      struct tc_slice *out)
{
    return program->overwrites ? tc__lines_next_part(lines, out) : tc__lines_next(lines, out);
}

static bool read_line(const struct tc__train_log *l, struct tc_slice line, char *plain, long *rank,
                      struct tc_slice *out_text, struct tc__train_line *out)
{
    *out_text = tc__line_bare(tc__line_plain(line, plain, LINE_MAX_BYTES), rank);
    *out = (struct tc__train_line){
        .at_ns = TC_TIME_NONE, .step = -1, .step_ms = TC_UNKNOWN, .validation = TC_UNKNOWN};
    return l->program->read_line(l, *out_text, out);
}

static bool is_step(const struct tc__train_log *l, struct tc_slice line, long *out_rank)
{
    char plain[LINE_MAX_BYTES];
    struct tc__train_line v;
    struct tc_slice text;
    return tc_slice_contains(line, tc_slice_cstr(l->program->mark)) &&
           read_line(l, line, plain, out_rank, &text, &v) && v.word == TC_TRAIN_STEP && v.step >= 0;
}

/* The lowest rank that has lines of steps. */
static void choose_rank(struct tc__train_log *l, struct tc_slice bytes)
{
    struct tc__lines lines = tc__lines_of(bytes);
    struct tc_slice line;
    while (next_text(l->program, &lines, &line)) {
        long rank = -1;
        if (is_step(l, line, &rank) && (!l->has_rank || rank < l->rank)) {
            l->rank = rank;
            l->has_rank = true;
        }
    }
}

/* Whether a line is of a step: which one it is may depend on the line before. */
static bool settle_step(const struct tc__train_run *run, struct tc__train_line *v)
{
    if (v->word == TC_TRAIN_STEP && v->step == TC__TRAIN_LAST_STEP && run->lines > 0) {
        v->step = run->last_step;
    }
    return v->word == TC_TRAIN_STEP && v->step >= 0;
}

static bool counts(const struct tc__train_log *l, long rank)
{
    return !l->has_rank || rank == l->rank;
}

/* A row says which run it is of, where there are several: that must be known with the first. */
static void count_runs(struct tc__train_log *l, struct tc_slice bytes)
{
    struct tc__train_run run;
    struct tc__lines lines = tc__lines_of(bytes);
    struct tc_slice line;
    tc__train_run_begin(&run);
    l->runs = 1;
    while (next_text(l->program, &lines, &line)) {
        char plain[LINE_MAX_BYTES];
        struct tc__train_line v;
        struct tc_slice text;
        long rank = -1;
        if (!read_line(l, line, plain, &rank, &text, &v) || !counts(l, rank)) {
            continue;
        }
        run.completed |= v.word == TC_TRAIN_DONE;
        if (!settle_step(&run, &v) || (run.lines > 0 && v.step == run.last_step)) {
            continue;
        }
        if (tc__train_is_new_run(&run, v.step)) {
            l->runs++;
            tc__train_run_begin(&run);
        }
        tc__train_run_count(&run, v.step);
    }
}

static tc_status next_run(struct tc__train_log *l)
{
    tc_status status = tc__train_put_run(l);
    l->completed += l->run.completed;
    tc__train_run_fini(&l->run);
    tc__train_run_begin(&l->run);
    l->run_number++;
    return status;
}

static tc_status on_line(struct tc__train_log *l, size_t number, struct tc_slice line)
{
    char plain[LINE_MAX_BYTES];
    struct tc__train_line v;
    struct tc_slice text;
    struct tc_slice behind;
    long rank = -1;
    bool ours = read_line(l, line, plain, &rank, &text, &v);
    l->cut_line = 0;
    if (!ours) {
        if (tc__train_after(text, l->program->begins, &behind)) {
            l->cut_line = number;
        }
        if (l->program->read_other != NULL) {
            l->program->read_other(l, text);
        }
        return TC_OK;
    }
    if (!counts(l, rank)) {
        return TC_OK;
    }
    v.at_ns = tc__train_time(text, &v.has_zone);
    l->no_zone |= v.at_ns != TC_TIME_NONE && !v.has_zone;
    bool is_step = settle_step(&l->run, &v);
    if (is_step && tc__train_is_new_run(&l->run, v.step)) {
        TC_TRY(next_run(l));
    }
    if (is_step || v.word != TC_TRAIN_STEP) {
        tc__train_on_step(l, number, &v);
    }
    return TC_OK;
}

static void tell_status(struct tc__train_log *l)
{
    if (l->completed > 0) {
        tc_result_fact_text(l->r, TC_TABLE_RUN, TC_RUN_STATUS,
                            l->completed == l->runs ? S("succeeded") : S("incomplete"));
    }
    if (l->runs > 1) {
        tc_result_note(l->r, false, "", "step",
                       "%zu runs follow each other in one log: each has a row, log_run in its "
                       "scale_point says which",
                       l->runs);
    }
}

static tc_status read_log(struct tc__train_log *l, const struct tc_result_input *in)
{
    struct tc__lines lines = tc__lines_of(in->bytes);
    struct tc_slice line;
    choose_rank(l, in->bytes);
    count_runs(l, in->bytes);
    while (next_text(l->program, &lines, &line)) {
        TC_TRY(on_line(l, lines.line, line));
    }
    if (l->run.lines == 0) {
        return tc_fail(l->err, TC_E_MALFORMED, 0, "no line '%s' of training", l->program->wants);
    }
    l->completed += l->run.completed;
    TC_TRY(tc__train_put_run(l));
    if (l->cut_line > 0) {
        tc_result_note(l->r, false, tc_as_line(l->cut_line), "step",
                       "the last line is cut off: this step is left out");
    }
    tell_status(l);
    return TC_OK;
}

tc_status tc__train_read(const struct tc__train_program *program, const struct tc_result_input *in,
                         struct tc_result *r, struct tc_error *err)
{
    struct tc__train_log l = {.r = r, .err = err, .program = program, .run_number = 1};
    tc_train_search_init(&l.search);
    tc__train_run_begin(&l.run);
    tc_status status = read_log(&l, in);
    tc__train_run_fini(&l.run);
    TC_TRY(status);
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_WORKLOAD_TYPE, S("training"));
    tc_result_fact_text(r, TC_TABLE_SOFTWARE, TC_SOFTWARE_FRAMEWORK,
                        tc_slice_cstr(program->framework));
    return TC_OK;
}

int tc__train_sniff(const struct tc__train_program *program, const struct tc_result_input *in)
{
    struct tc__train_log l = {.program = program};
    struct tc__lines lines = tc__lines_of(in->bytes);
    struct tc_slice line;
    long rank = 0;
    tc_train_search_init(&l.search);
    while (next_text(program, &lines, &line)) {
        if (is_step(&l, line, &rank)) {
            return TC_SNIFF_LIKELY;
        }
    }
    return TC_SNIFF_NO;
}
