/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchtitan's log: "step: 20  loss: 11.83506  grad_norm: 9.6669  memory: 48.87GiB(51.44%)  tps:
 * 4,376  tflops: 253.41  mfu: 25.62%", with colours and whatever stands before it. tps is tokens
 * per second of one device since the line before (step 1 and every log_freq steps). Older versions
 * have wps for tps and no tflops. Logs of several ranks repeat the same steps: the lowest rank
 * counts.
 *
 * Steps up to WARMUP_STEPS are left out of the statistics if there are later ones: compilation and
 * allocation fall on them. How long a step took is not in the log. Where lines carry a time, it is
 * the time between two lines divided by the steps between them; otherwise it stays unknown.
 */
#include "base/buf.h"
#include "base/time.h"
#include "codec/codec.h"
#include "result/lines_priv.h"
#include "result/map.h"
#include "result/stats_priv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define S(literal) TC_LIT(literal)

#define WARMUP_STEPS 10
#define LINE_MAX_BYTES 4096
#define STEP_MAX INT64_C(1000000000000)

enum value { LOSS, GRAD_NORM, MEMORY, MEMORY_PCT, TPS, TFLOPS, MFU, VALUES };

struct line_values {
    int64_t step;
    bool is_validation;
    double values[VALUES];
    bool known[VALUES];
    bool not_finite[VALUES]; /* written as nan or inf: not known, but logged */
    int64_t at_ns;           /* TC_TIME_NONE: none */
};

struct log {
    struct tc_result *r;
    struct tc_error *err;
    long rank; /* whose lines count; -1: lines without one */
    bool has_rank;
    size_t first_line;
    size_t lines;
    int64_t last_step;
    int64_t last_ns;
    int64_t steps; /* of the last line */
    int64_t first_step;
    int64_t first_ns;
    int64_t end_ns;
    size_t restarts;
    double loss; /* NaN, of these two: not known */
    double validation;
    double memory_max;
    size_t not_finite_line[VALUES]; /* the first one; 0: none */
    size_t not_finite[VALUES];
    size_t cut_line; /* the last line, if it begins like one of a step and is none; 0: it is not */
    struct tc__stats stats[VALUES];
    struct tc__stats warm[VALUES]; /* of the first steps: used when there are no others */
    struct tc__stats step_ms;
};

#define AFTER "mean over the logged steps after the first 10, or over all if there are no others"

static const struct {
    const char *name;
    const char *field; /* of the definition */
    const char *unit;
    const char *measures;
} VALUE_OF[VALUES] = {
    [LOSS] = {"loss:", "loss", "", "training_loss"},
    [GRAD_NORM] = {"grad_norm:", "grad_norm", "", "gradient_norm"},
    [MEMORY] = {"memory:", "memory", "GiB", "memory_reserved_peak"},
    [MEMORY_PCT] = {NULL, "memory_pct", "%", "memory_reserved_peak_share"},
    [TPS] = {"tps:", "tps", "tokens/s", "tokens_per_second_per_gpu"},
    [TFLOPS] = {"tflops:", "tflops", "TFLOP/s", "tflops_per_gpu"},
    [MFU] = {"mfu:", "mfu", "%", "mfu"},
};

static const struct tc_definition TPS_OF = {"tps.mean", "tokens_per_second_per_gpu", "tokens/s",
                                            "tokens/s", "of one device; " AFTER};
static const struct tc_definition TFLOPS_OF = {"tflops.mean", "tflops_per_gpu", "TFLOP/s",
                                               "TFLOP/s", "of one device; " AFTER};
static const struct tc_definition MFU_OF = {"mfu.mean", "mfu", "%", "%", AFTER};
static const struct tc_definition LOSS_OF = {"loss.last", "training_loss", "", "",
                                             "of the last logged step"};
static const struct tc_definition VALIDATION_OF = {"validate.loss.last", "validation_loss", "", "",
                                                   "of the last validation"};
static const struct tc_definition MEMORY_OF = {"memory.max", "memory_reserved_peak", "GiB", "GiB",
                                               "largest of what was logged; reserved"};
static const struct tc_definition STEP_OF = {
    "step_time", "step_time", "ms", "ms",
    "time between two lines of the log / steps between them; a mean over log_freq steps; after the "
    "first 10 steps"};

static const struct tc_definition RELIABILITY_OF = {
    "reliability", "reliability", "%", "%",
    "(last step - first step) x median step time / (time of the last line - time of the first); "
    "steps that are done again after a restart count once"};

/* ---- one line ---- */

/* A number with commas, behind which other characters may stand: 4,376  48.87GiB  25.62% */
static bool number_at(struct tc_slice text, double *out, struct tc_slice *out_rest)
{
    char digits[64];
    struct tc_buf b = tc_buf_make(digits, sizeof digits);
    size_t at = 0;
    while (at < text.len && text.ptr[at] == ' ') {
        at++;
    }
    for (; at < text.len; at++) {
        char c = text.ptr[at];
        bool exponent = (c == 'e' || c == 'E') && b.len > 0 && at + 1 < text.len &&
                        (text.ptr[at + 1] == '-' || text.ptr[at + 1] == '+');
        if ((c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || exponent) {
            tc_buf_char(&b, c);
        } else if (c != ',') {
            break;
        }
    }
    *out_rest = tc_slice_from(text, at);
    return !b.overflowed && tc_map_parse_number(tc_buf_slice(&b), out);
}

/* As Python prints a loss that diverged. */
static bool is_not_finite(struct tc_slice text)
{
    struct tc_slice word = tc__word_next(&text);
    if (word.len > 0 && (word.ptr[0] == '-' || word.ptr[0] == '+')) {
        word = tc_slice_from(word, 1);
    }
    return tc_slice_eq_nocase(word, S("nan")) || tc_slice_eq_nocase(word, S("inf"));
}

/* Behind the name, which begins a word. */
static bool after_name(struct tc_slice text, const char *name, struct tc_slice *out)
{
    struct tc_slice rest = text;
    while (tc__text_after(rest, tc_slice_cstr(name), &rest)) {
        const char *start = rest.ptr - strlen(name);
        if (start == text.ptr || start[-1] == ' ' || start[-1] == '\t') {
            *out = rest;
            return true;
        }
    }
    return false;
}

static bool read_values(struct tc_slice text, struct line_values *v)
{
    struct tc_slice rest;
    struct tc_slice tail;
    double number = 0;
    *v = (struct line_values){.at_ns = TC_TIME_NONE};
    if (!after_name(text, "step:", &rest) || !number_at(rest, &number, &tail) || number < 0 ||
        number > (double)STEP_MAX || number != floor(number)) {
        return false;
    }
    v->step = (int64_t)number;
    v->is_validation = tc_slice_contains(text, S("validate step:"));
    for (size_t i = 0; i < VALUES; i++) {
        const char *name = VALUE_OF[i].name;
        bool there = name != NULL && (after_name(text, name, &rest) ||
                                      (i == TPS && after_name(text, "wps:", &rest)));
        v->known[i] = there && number_at(rest, &v->values[i], &tail);
        v->not_finite[i] = there && !v->known[i] && is_not_finite(rest);
        if (v->known[i] && i == MEMORY && tc_slice_starts(tail, S("GiB("))) {
            struct tc_slice unused;
            v->known[MEMORY_PCT] =
                number_at(tc_slice_from(tail, 4), &v->values[MEMORY_PCT], &unused);
            i = MEMORY_PCT;
        }
    }
    return (v->known[LOSS] || v->not_finite[LOSS]) && (v->known[TPS] || v->known[MEMORY]);
}

/* "[titan] 2025-05-01 12:00:00,123 - root - INFO - step: ...": the first time in the line. */
static int64_t time_of(struct tc_slice text)
{
    int64_t ns = TC_TIME_NONE;
    for (size_t at = 0; at + 10 < text.len; at++) {
        bool digit = text.ptr[at] >= '1' && text.ptr[at] <= '2';
        bool begins = at == 0 || text.ptr[at - 1] == ' ' || text.ptr[at - 1] == '[' ||
                      text.ptr[at - 1] == ':';
        if (digit && begins && tc_time_parse(tc_slice_from(text, at), 0, &ns) > 0) {
            return ns;
        }
    }
    return TC_TIME_NONE;
}

static bool is_step_line(struct tc_slice line)
{
    char plain[LINE_MAX_BYTES];
    struct line_values v;
    long rank = 0;
    if (!tc_slice_contains(line, S("step:")) || !tc_slice_contains(line, S("loss:"))) {
        return false;
    }
    line = tc__line_plain(line, plain, sizeof plain);
    return read_values(tc__line_bare(line, &rank), &v);
}

/* ---- the log ---- */

static void on_train(struct log *l, size_t number, const struct line_values *v)
{
    bool is_warm = v->step <= WARMUP_STEPS;
    if (l->lines > 0 && v->step == l->last_step) {
        return; /* other ranks tell the same, often without their number */
    }
    if (l->lines > 0 && v->step < l->last_step) {
        l->restarts++;
    } else if (l->lines > 0 && !is_warm && v->at_ns != TC_TIME_NONE && l->last_ns != TC_TIME_NONE &&
               v->at_ns >= l->last_ns && l->last_step >= WARMUP_STEPS) {
        tc__stats_add(&l->step_ms,
                      (double)(v->at_ns - l->last_ns) / 1e6 / (double)(v->step - l->last_step));
    }
    for (size_t i = 0; i < VALUES; i++) {
        if (v->known[i]) {
            tc__stats_add(is_warm ? &l->warm[i] : &l->stats[i], v->values[i]);
        } else if (v->not_finite[i] && l->not_finite[i]++ == 0) {
            l->not_finite_line[i] = number;
        }
    }
    if (v->known[MEMORY] && v->values[MEMORY] > l->memory_max) {
        l->memory_max = v->values[MEMORY];
    }
    l->loss = v->known[LOSS] ? v->values[LOSS] : TC_UNKNOWN;
    l->last_step = v->step;
    l->last_ns = v->at_ns;
    l->steps = v->step > l->steps ? v->step : l->steps;
    l->first_step = l->lines == 0 || v->step < l->first_step ? v->step : l->first_step;
    l->lines++;
}

/* Facts about the machine and the software that stand in other lines. */
static void on_other(struct log *l, struct tc_slice text)
{
    struct tc_slice rest;
    struct tc_slice tail;
    double number = 0;
    if (tc__text_after(text, S(" capacity: "), &rest)) {
        /* "CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory" */
        size_t with = tc_slice_find(rest, S(" with "));
        if (with != TC_NPOS && tc_slice_contains(rest, S("GiB"))) {
            tc_result_fact_text(l->r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_MODEL,
                                tc_slice_head(rest, with));
            if (number_at(tc_slice_from(rest, with + 6), &number, &tail) && number > 0 &&
                number < 1e6) {
                tc_result_fact_int(l->r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_MEMORY,
                                   (int64_t)(number * 1024));
            }
        }
    } else if (tc__text_after(text, S("torchtitan version: "), &rest)) {
        tc_result_tool_version(l->r, tc__word_next(&rest));
    } else if (tc__text_after(text, S("Model "), &rest) && tc_slice_contains(rest, S(" size: "))) {
        /* "Model llama3 8B size: 8,030,261,248 total parameters" */
        tc_result_fact_text(l->r, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL,
                            tc_slice_head(rest, tc_slice_find(rest, S(" size: "))));
    } else if (tc__text_after(text, S("global batch size "), &rest) &&
               number_at(rest, &number, &tail)) {
        char data[64];
        (void)snprintf(data, sizeof data, "global_batch_size=%.0f", number);
        tc_result_fact_text(l->r, TC_TABLE_WORKLOAD, TC_WORKLOAD_BATCHING_POLICY,
                            tc_slice_cstr(data));
    }
}

static void on_line(struct log *l, size_t number, struct tc_slice line)
{
    char plain[LINE_MAX_BYTES];
    struct line_values v;
    long rank = -1;
    struct tc_slice text = tc__line_bare(tc__line_plain(line, plain, sizeof plain), &rank);
    l->cut_line = 0;
    if (!read_values(text, &v)) {
        struct tc_slice behind;
        if (after_name(text, "step:", &behind)) {
            l->cut_line = number;
        }
        on_other(l, text);
        return;
    }
    if (l->has_rank && rank != l->rank) {
        return;
    }
    v.at_ns = time_of(text);
    if (l->first_line == 0) {
        l->first_line = number;
    }
    if (v.at_ns != TC_TIME_NONE) {
        l->first_ns = l->first_ns == TC_TIME_NONE || v.at_ns < l->first_ns ? v.at_ns : l->first_ns;
        l->end_ns = l->end_ns == TC_TIME_NONE || v.at_ns > l->end_ns ? v.at_ns : l->end_ns;
    }
    if (v.is_validation) {
        l->validation = v.known[LOSS] ? v.values[LOSS] : TC_UNKNOWN;
        return;
    }
    on_train(l, number, &v);
}

/* The lowest rank that has step lines. */
static void choose_rank(struct log *l, struct tc_slice bytes)
{
    struct tc__lines lines = tc__lines_of(bytes);
    struct tc_slice line;
    while (tc__lines_next(&lines, &line)) {
        char plain[LINE_MAX_BYTES];
        long rank = -1;
        if (!is_step_line(line)) {
            continue;
        }
        (void)tc__line_bare(tc__line_plain(line, plain, sizeof plain), &rank);
        if (!l->has_rank || rank < l->rank) {
            l->rank = rank;
            l->has_rank = true;
        }
    }
}

/* ---- rows ---- */

static struct tc__stats *stats_of(struct log *l, enum value value)
{
    return l->stats[value].count > 0 ? &l->stats[value] : &l->warm[value];
}

static void put_mean(struct log *l, struct tc_result_row *row, size_t column, enum value value,
                     const struct tc_definition *definition)
{
    struct tc__stats *s = stats_of(l, value);
    if (s->count > 0) {
        tc_result_real(row, column, tc__stats_mean(s), definition);
    }
}

static void put_slice(struct log *l, const char *metric, const char *unit, struct tc__stats *s,
                      const struct tc_definition *definition)
{
    if (s->count == 0) {
        return;
    }
    struct tc_result_row *row = tc_result_add(l->r, TC_TABLE_SLICE, "line:%zu", l->first_line);
    tc_result_text(row, TC_SLICE_METRIC, tc_slice_cstr(metric));
    tc_result_text(row, TC_SLICE_UNIT, tc_slice_cstr(unit));
    if (l->has_rank && l->rank >= 0) {
        tc_result_int(row, TC_SLICE_RANK, l->rank, NULL);
    }
    tc_map_slice_window(row, l->first_ns, l->end_ns);
    tc__stats_slice(s, row, definition);
}

static void tell_gaps(struct log *l)
{
    for (size_t i = 0; i < VALUES; i++) {
        if (l->not_finite[i] > 0) {
            tc_result_note(l->r, false, tc_as_line(l->not_finite_line[i]), VALUE_OF[i].field,
                           "is nan or infinite in %zu of %zu logged steps, here first: unknown "
                           "there",
                           l->not_finite[i], l->lines);
        }
    }
    if (l->cut_line > 0) {
        tc_result_note(l->r, false, tc_as_line(l->cut_line), "step",
                       "the last line is cut off: this step is left out");
    }
}

/* What is not steps (compilation, checkpoints, hangs, the work that a restart throws away) is not
 * productive. */
static void put_reliability(struct log *l, struct tc_result_row *row)
{
    double total_ms = (double)(l->end_ns - l->first_ns) / 1e6;
    if (l->step_ms.count == 0 || l->first_ns == TC_TIME_NONE || total_ms <= 0) {
        return;
    }
    double median = tc__stats_percentile(&l->step_ms, 0.5);
    double share = 100 * (double)(l->steps - l->first_step) * median / total_ms;
    tc_result_real(row, TC_TRAINING_RELIABILITY, share > 100 ? 100 : share, &RELIABILITY_OF);
}

static void put_rows(struct log *l)
{
    struct tc_result_row *row = tc_result_add(l->r, TC_TABLE_TRAINING, "line:%zu", l->first_line);
    tc_result_text(row, TC_TRAINING_PHASE, S("train"));
    tc_result_int(row, TC_TRAINING_STEPS, l->steps, NULL);
    if (l->first_ns != TC_TIME_NONE) {
        tc_result_time(row, TC_TRAINING_STARTED, l->first_ns);
        tc_result_time(row, TC_TRAINING_ENDED, l->end_ns);
        tc_result_fact_time(l->r, TC_TABLE_RUN, TC_RUN_STARTED, l->first_ns);
        tc_result_fact_time(l->r, TC_TABLE_RUN, TC_RUN_ENDED, l->end_ns);
        tc_result_note(l->r, false, "", "time", "times without a zone are taken as UTC");
    }
    if (l->step_ms.count > 0) {
        tc_result_real(row, TC_TRAINING_STEP_MEAN, tc__stats_mean(&l->step_ms), &STEP_OF);
        tc_result_real(row, TC_TRAINING_STEP_P50, tc__stats_percentile(&l->step_ms, 0.5), &STEP_OF);
        tc_result_real(row, TC_TRAINING_STEP_P95, tc__stats_percentile(&l->step_ms, 0.95),
                       &STEP_OF);
        tc_result_real(row, TC_TRAINING_STEP_P99, tc__stats_percentile(&l->step_ms, 0.99),
                       &STEP_OF);
    }
    put_reliability(l, row);
    put_mean(l, row, TC_TRAINING_TOKENS_PER_S_GPU, TPS, &TPS_OF);
    put_mean(l, row, TC_TRAINING_TFLOPS, TFLOPS, &TFLOPS_OF);
    put_mean(l, row, TC_TRAINING_MFU, MFU, &MFU_OF);
    tc_result_real(row, TC_TRAINING_LOSS, l->loss, &LOSS_OF);
    if (!isnan(l->validation)) {
        tc_result_real(row, TC_TRAINING_QUALITY, l->validation, &VALIDATION_OF);
        tc_result_text(row, TC_TRAINING_QUALITY_NAME, S("validation_loss"));
    }
    if (l->memory_max > 0) {
        tc_result_real(row, TC_TRAINING_MEMORY_PEAK, l->memory_max, &MEMORY_OF);
    }
    if (l->restarts > 0) {
        tc_result_int(row, TC_TRAINING_RESTARTS, (int64_t)l->restarts, NULL);
        tc_result_note(l->r, false, "", "step", "steps went back %zu times: restarts in one log",
                       l->restarts);
    }
    for (size_t i = 0; i < VALUES; i++) {
        put_slice(l, VALUE_OF[i].field, VALUE_OF[i].unit, stats_of(l, (enum value)i),
                  tc_result_define(l->r, VALUE_OF[i].field, VALUE_OF[i].measures, VALUE_OF[i].unit,
                                   VALUE_OF[i].unit, "of the logged steps after the first 10"));
    }
    put_slice(l, "step_time", "ms", &l->step_ms, &STEP_OF);
}

static tc_status read_log(struct log *l, const struct tc_result_input *in)
{
    struct tc__lines lines = tc__lines_of(in->bytes);
    struct tc_slice line;
    choose_rank(l, in->bytes);
    while (tc__lines_next(&lines, &line)) {
        on_line(l, lines.line, line);
        if (tc_slice_contains(line, S("Training completed"))) {
            tc_result_fact_text(l->r, TC_TABLE_RUN, TC_RUN_STATUS, S("succeeded"));
        }
    }
    if (l->lines == 0) {
        return tc_fail(l->err, TC_E_MALFORMED, 0,
                       "no line 'step: ... loss: ... tps: ...' of training");
    }
    for (size_t i = 0; i < VALUES; i++) {
        if (l->stats[i].status != TC_OK) {
            return tc_fail(l->err, l->stats[i].status, 0, "too many steps in one log");
        }
    }
    put_rows(l);
    tell_gaps(l);
    return TC_OK;
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    struct log l = {.r = r,
                    .err = err,
                    .first_ns = TC_TIME_NONE,
                    .end_ns = TC_TIME_NONE,
                    .last_ns = TC_TIME_NONE,
                    .loss = TC_UNKNOWN,
                    .validation = TC_UNKNOWN};
    tc_status status = read_log(&l, in);
    for (size_t i = 0; i < VALUES; i++) {
        tc__stats_fini(&l.stats[i]);
        tc__stats_fini(&l.warm[i]);
    }
    tc__stats_fini(&l.step_ms);
    TC_TRY(status);
    tc_result_fact_text(r, TC_TABLE_RUN, TC_RUN_WORKLOAD_TYPE, S("training"));
    tc_result_fact_text(r, TC_TABLE_SOFTWARE, TC_SOFTWARE_FRAMEWORK, S("torchtitan"));
    return TC_OK;
}

static int sniff(const struct tc_result_input *in)
{
    struct tc__lines lines = tc__lines_of(in->bytes);
    struct tc_slice line;
    while (tc__lines_next(&lines, &line)) {
        if (is_step_line(line)) {
            return TC_SNIFF_LIKELY;
        }
    }
    return TC_SNIFF_NO;
}

const struct tc_reader tc_reader_torchtitan = {
    .name = "torchtitan",
    .summary = "torchtitan logs (step: ... loss: ... tps: ... mfu: ...)",
    .forms = 1u << TC_RESULT_TEXT,
    .sniff = sniff,
    .read = read_file,
};
