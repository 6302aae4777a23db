/* SPDX-License-Identifier: Apache-2.0 */
/* What publishing asks of the run, as far as its own files say. */
#include "run/import_priv.h"

#include "base/json/json.h"
#include "result/map.h"
#include "run/conditions.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MIX_MAX 64
#define METRICS_MAX 64
/* A length that was measured may differ from the frozen one by a twentieth: tokenizers add some. */
#define LENGTH_SLACK 0.05

struct conditions {
    struct tc__import *i;
    struct tc_condition items[TC_CONDITIONS_MAX];
    size_t count;
    bool failed;
};

static void add(struct conditions *c, const char *name, enum tc_condition_state state,
                const char *format, ...) __attribute__((format(printf, 4, 5)));

static void add(struct conditions *c, const char *name, enum tc_condition_state state,
                const char *format, ...)
{
    char room[512];
    struct tc_condition *to = &c->items[c->count];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(room, sizeof room, format, arguments);
    va_end(arguments);
    size_t used = len < 0 ? 0 : (size_t)len < sizeof room ? (size_t)len : sizeof room - 1;
    if (c->count == TC_CONDITIONS_MAX ||
        !tc__import_pool_copy(&c->i->pool, tc_slice_make(room, used), &to->why)) {
        c->failed = true;
        return;
    }
    to->name = tc_slice_cstr(name);
    to->state = state;
    c->count++;
}

static enum tc_condition_state met_if(bool holds)
{
    return holds ? TC_CONDITION_MET : TC_CONDITION_NOT_MET;
}

/* ---- the workload ---- */

struct length {
    double in;
    double out; /* NaN, of both: not known */
    double weight;
    bool measured;
};

static bool is_near(double a, double b)
{
    return isnan(a) || fabs(a - b) <= LENGTH_SLACK * b + 1;
}

/* Entries of the contract's mix; the last one but `count` is their mean. */
static size_t read_mix(const struct tc__import *i, struct length *mix)
{
    struct tc_slice text = tc_contract_workload_json(i->contract, "sequenceLengthMix");
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_json root;
    struct tc_json entry;
    struct tc_error err;
    size_t count = 0;
    if (parser != NULL && text.len > 0 && tc_json_parse(parser, text, &root, &err) == TC_OK) {
        struct tc_json_iter it = tc_json_iter_make(root);
        while (count < MIX_MAX && tc_json_iter_next(&it, NULL, &entry)) {
            struct length *l = &mix[count];
            l->in = tc_map_real_at(entry, "inputTokens");
            l->out = tc_map_real_at(entry, "outputTokens");
            l->weight = tc_map_real_at(entry, "weight");
            l->measured = false;
            count += isnan(l->in) || isnan(l->out) ? 0 : 1;
        }
    }
    tc_json_parser_destroy(parser);
    return count;
}

/* "in=1024 out=128 ..." */
static double in_point(struct tc_slice point, const char *key)
{
    double value = (double)NAN;
    while (point.len > 0) {
        struct tc_slice word = tc_slice_cut(point, ' ', &point);
        struct tc_slice text;
        if (tc_slice_eq(tc_slice_cut(word, '=', &text), tc_slice_cstr(key)) &&
            tc_map_parse_number(text, &value)) {
            return value;
        }
    }
    return (double)NAN;
}

static double mean_of(const struct tc_rows *rows, size_t row, size_t tokens)
{
    double completed = (double)tc_rows_get_int(rows, TC_SERVING_COMPLETED, row);
    return tc_rows_is_null(rows, tokens, row) || completed <= 0
               ? (double)NAN
               : (double)tc_rows_get_int(rows, tokens, row) / completed;
}

static struct length measured(const struct tc_rows *rows, size_t row)
{
    struct tc_slice point = tc_rows_is_null(rows, TC_SERVING_WORKLOAD_POINT, row)
                                ? TC_EMPTY
                                : tc_rows_get_text(rows, TC_SERVING_WORKLOAD_POINT, row);
    struct length l = {.in = in_point(point, "in"), .out = in_point(point, "out")};
    l.in = isnan(l.in) ? mean_of(rows, row, TC_SERVING_INPUT_TOKENS) : l.in;
    l.out = isnan(l.out) ? mean_of(rows, row, TC_SERVING_OUTPUT_TOKENS) : l.out;
    return l;
}

static struct length mean_of_mix(const struct length *mix, size_t count)
{
    struct length mean = {0};
    double weights = 0;
    for (size_t n = 0; n < count; n++) {
        double weight = isnan(mix[n].weight) ? 1 : mix[n].weight;
        mean.in += weight * mix[n].in;
        mean.out += weight * mix[n].out;
        weights += weight;
    }
    mean.in /= weights;
    mean.out /= weights;
    return mean;
}

/* Marks what of the mix a row measured: an entry, or all of it mixed; false: something else. */
static bool mark(struct length *mix, size_t count, const struct length *l)
{
    bool found = false;
    struct length mean = mean_of_mix(mix, count);
    for (size_t n = 0; n < count; n++) {
        if (is_near(l->in, mix[n].in) && is_near(l->out, mix[n].out)) {
            mix[n].measured = true;
            found = true;
        }
    }
    if (!found && is_near(l->in, mean.in) && is_near(l->out, mean.out)) {
        for (size_t n = 0; n < count; n++) {
            mix[n].measured = true;
        }
        return true;
    }
    return found;
}

/* What was measured and is not in the mix, or the other way round. */
struct difference {
    enum { LENGTHS_SAME, LENGTHS_UNKNOWN, LENGTHS_OTHER, LENGTHS_MISSING } kind;
    struct length measured;
    struct length frozen;
};

static struct difference compare_lengths(const struct tc__import *i)
{
    struct length mix[MIX_MAX];
    const struct tc__batches *b = &i->batches[TC_TABLE_SERVING];
    size_t count = read_mix(i, mix);
    for (size_t n = 0; count > 0 && n < b->count; n++) {
        for (size_t row = 0; row < b->items[n]->count; row++) {
            struct length l = measured(b->items[n], row);
            if (isnan(l.in) && isnan(l.out)) {
                return (struct difference){.kind = LENGTHS_UNKNOWN};
            }
            if (!mark(mix, count, &l)) {
                return (struct difference){LENGTHS_OTHER, l, mix[0]};
            }
        }
    }
    for (size_t n = 0; n < count; n++) {
        if (!mix[n].measured) {
            return (struct difference){.kind = LENGTHS_MISSING, .frozen = mix[n]};
        }
    }
    return (struct difference){.kind = LENGTHS_SAME};
}

static void check_lengths(struct conditions *c)
{
    struct difference d = compare_lengths(c->i);
    switch (d.kind) {
    case LENGTHS_SAME:
        add(c, "workload", TC_CONDITION_MET, "the results are of what the contract froze");
        break;
    case LENGTHS_UNKNOWN:
        add(c, "workload", TC_CONDITION_NOT_CHECKABLE,
            "the results do not say how long requests were");
        break;
    case LENGTHS_OTHER:
        add(c, "workload", TC_CONDITION_NOT_MET,
            "measured with %.0f input and %.0f output tokens, which the contract did not freeze "
            "(%.0f and %.0f first)",
            d.measured.in, d.measured.out, d.frozen.in, d.frozen.out);
        break;
    case LENGTHS_MISSING:
        add(c, "workload", TC_CONDITION_NOT_MET,
            "%.0f input and %.0f output tokens of the contract's mix were not measured",
            d.frozen.in, d.frozen.out);
        break;
    }
}

bool tc__import_is_of_other(const struct tc__import *i)
{
    bool lengths = i->contract != NULL && i->batches[TC_TABLE_SERVING].rows > 0 &&
                   compare_lengths(i).kind == LENGTHS_OTHER;
    return i->of_other_model || i->of_other_type || i->of_other_workload != NULL || lengths;
}

static void check_workload(struct conditions *c)
{
    const struct tc__import *i = c->i;
    if (i->of_other_model || i->of_other_type || i->of_other_workload != NULL) {
        add(c, "workload", TC_CONDITION_NOT_MET,
            "the results are of another %s than the contract's",
            i->of_other_model  ? "model"
            : i->of_other_type ? "type of workload"
                               : i->of_other_workload);
    } else if (!i->results_name_model) {
        add(c, "workload", TC_CONDITION_NOT_CHECKABLE, "the results do not name the model");
    } else if (i->batches[TC_TABLE_SERVING].rows > 0) {
        check_lengths(c);
    } else {
        add(c, "workload", TC_CONDITION_MET, "the results are of the contract's model");
    }
}

/* ---- metrics ---- */

/* Whether a row has a value in one of the columns. */
static bool has_one(const struct tc_rows *rows, size_t row, struct tc_slice columns)
{
    while (columns.len > 0) {
        struct tc_slice name = tc_slice_cut(columns, ' ', &columns);
        for (size_t n = 0; n < rows->column_count; n++) {
            if (tc_slice_eq(name, tc_slice_cstr(rows->columns[n].name)) &&
                !tc_rows_is_null(rows, n, row)) {
                return true;
            }
        }
    }
    return false;
}

static size_t rows_without(const struct tc__import *i, enum tc_table table, struct tc_slice metric)
{
    struct tc_slice columns = tc_contract_metric_columns(metric);
    const struct tc__batches *b = &i->batches[table];
    size_t missing = 0;
    for (size_t n = 0; n < b->count; n++) {
        for (size_t row = 0; row < b->items[n]->count; row++) {
            missing += has_one(b->items[n], row, columns) ? 0 : 1;
        }
    }
    return b->rows == 0 ? 1 : missing;
}

static void check_metrics(struct conditions *c)
{
    struct tc_grow missing = {0};
    bool scales = false;
    for (size_t k = 0; k < 2 * METRICS_MAX; k++) {
        bool of_training = k >= METRICS_MAX;
        struct tc_slice metric = tc_contract_metric(c->i->contract, of_training, k % METRICS_MAX);
        bool is_scaling = tc_slice_eq(metric, TC_LIT("scaling_efficiency_pct"));
        scales |= is_scaling;
        if (metric.len > 0 && !is_scaling &&
            rows_without(c->i, of_training ? TC_TABLE_TRAINING : TC_TABLE_SERVING, metric) > 0) {
            tc_grow_str(&missing, missing.buf.len > 0 ? TC_LIT(", ") : TC_EMPTY);
            tc_grow_str(&missing, metric);
        }
    }
    c->failed |= missing.failed;
    if (missing.buf.len > 0) {
        add(c, "metrics", TC_CONDITION_NOT_MET, "not known at every point: %.*s",
            TC_FMT(tc_slice_head(tc_grow_slice(&missing), 400)));
    } else {
        add(c, "metrics", TC_CONDITION_MET, "those that the contract is judged by are known");
    }
    if (scales && c->count < TC_CONDITIONS_MAX) {
        c->items[c->count++] = tc_condition_scaling(
            rows_without(c->i, TC_TABLE_TRAINING, TC_LIT("scaling_efficiency_pct")) == 0);
    }
    tc_grow_fini(&missing);
}

/* ---- software and hardware ---- */

struct wanted {
    enum tc_table table;
    size_t column;
};

static void check_known(struct conditions *c, const char *name, const struct wanted *wanted,
                        size_t count, const char *how)
{
    struct tc_grow missing = {0};
    for (size_t n = 0; n < count; n++) {
        if (tc__fact_of(c->i, wanted[n].table, wanted[n].column) == NULL) {
            tc_grow_str(&missing, missing.buf.len > 0 ? TC_LIT(", ") : TC_EMPTY);
            tc_grow_str(
                &missing,
                tc_slice_cstr(tc_table_info(wanted[n].table)->columns[wanted[n].column].name));
        }
    }
    c->failed |= missing.failed;
    if (missing.buf.len > 0) {
        add(c, name, TC_CONDITION_NOT_MET, "not recorded: %.*s; %s",
            TC_FMT(tc_grow_slice(&missing)), how);
    } else {
        add(c, name, TC_CONDITION_MET, "recorded");
    }
    tc_grow_fini(&missing);
}

static void check_stack(struct conditions *c)
{
    static const struct wanted hardware[] = {{TC_TABLE_HARDWARE, TC_HARDWARE_GPU_MODEL},
                                             {TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT}};
    static const struct wanted software[] = {{TC_TABLE_SOFTWARE, TC_SOFTWARE_DRIVER},
                                             {TC_TABLE_SOFTWARE, TC_SOFTWARE_CUDA},
                                             {TC_TABLE_SOFTWARE, TC_SOFTWARE_NCCL}};
    const struct tc__fact *image = tc__fact_of(c->i, TC_TABLE_SOFTWARE, TC_SOFTWARE_IMAGE);
    check_known(c, "hardware", hardware, TC_COUNT(hardware),
                "attach the output of tracecore probe with --artifact");
    check_known(c, "software", software, TC_COUNT(software),
                "attach the output of tracecore probe with --artifact");
    if (image == NULL) {
        add(c, "image", TC_CONDITION_NOT_MET,
            "no digest of the container image; attach its pod (kubectl get pod -o json)");
    } else if (!tc_slice_contains(image->text, TC_LIT("sha256:"))) {
        add(c, "image", TC_CONDITION_NOT_MET, "\"%.*s\" is no digest", TC_FMT(image->text));
    } else {
        add(c, "image", TC_CONDITION_MET, "pinned by its digest");
    }
}

static void check_status(struct conditions *c)
{
    const struct tc__fact *status = tc__fact_of(c->i, TC_TABLE_RUN, TC_RUN_STATUS);
    if (status == NULL) {
        add(c, "status", TC_CONDITION_NOT_CHECKABLE, "the results do not say whether it succeeded");
    } else {
        add(c, "status", met_if(tc_slice_eq(status->text, TC_LIT("succeeded"))), "%.*s",
            TC_FMT(status->text));
    }
}

static void check_all(struct conditions *c, int64_t replicates, char room[TC_CONDITION_ROOM])
{
    struct tc__import *i = c->i;
    add(c, "contract", met_if(i->contract != NULL),
        i->contract != NULL ? "valid" : "there is none: the run is exploratory");
    if (i->contract != NULL) {
        check_workload(c);
        check_metrics(c);
    }
    check_status(c);
    add(c, "nothing_forced", met_if(!i->forced),
        i->forced ? "contradictions in the files were recorded with --force" : "nothing was");
    add(c, "own_results", met_if(!i->has_twin),
        i->has_twin ? "a result is one of another run of the group" : "of no other run");
    add(c, "consistent", met_if(i->disagreements == 0),
        i->disagreements == 0 ? "its files agree about software and hardware"
                              : "its files disagree about software or hardware: see its warnings");
    check_stack(c);
    add(c, "manifest", TC_CONDITION_MET, "every file is kept under its digest");
    if (i->contract != NULL && c->count + 2 <= TC_CONDITIONS_MAX) {
        c->items[c->count++] = tc_condition_replicates(replicates, i->said.min_replicates, room);
        c->items[c->count++] = tc_condition_signed(false, i->said.must_be_signed);
    }
}

tc_status tc__import_conditions(struct tc__import *i, int64_t replicates, struct tc_grow *out,
                                struct tc_error *err)
{
    struct conditions c = {.i = i};
    char room[TC_CONDITION_ROOM];
    check_all(&c, replicates, room);
    struct tc_json_out j = tc_json_out_grow(out);
    tc_conditions_write(&j, c.items, c.count);
    i->publishable = tc_conditions_met(c.items, c.count);
    return c.failed || out->failed ? tc__import_nomem(err) : TC_OK;
}
