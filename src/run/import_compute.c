/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns that no tool writes: made from what the files of a run say together. A value is made only
 * when all of its parts are known, and its definition says how.
 */
#include "run/import_priv.h"

#include "base/json/json.h"
#include "run/scaling_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFINED(name, what, in, how)                        \
    ((struct tc__definition){.tool = TC_LIT(TC__MADE_TOOL), \
                             .field = TC_LIT(name),         \
                             .measures = TC_LIT(what),      \
                             .source_unit = TC_LIT(in),     \
                             .unit = TC_LIT(in),            \
                             .note = TC_LIT(how)})

/* ---- definitions of what was made ---- */

tc_status tc__made_add(struct tc__import *i, struct tc__made *made, struct tc_rows *rows,
                       size_t row, size_t column, double value,
                       const struct tc__definition *definition, struct tc_error *err)
{
    size_t at = 0;
    if (!isfinite(value) || made->count == TC__MADE_MAX) {
        return TC_OK;
    }
    TC_TRY(tc__definition_keep(i, definition, &at, err));
    tc_rows_seek(rows, row);
    tc_rows_real(rows, column, value);
    made->columns[made->count] = tc_slice_cstr(rows->columns[column].name);
    made->ids[made->count++] = i->definitions[at].id;
    return TC_OK;
}

struct pair {
    struct tc_slice column;
    struct tc_slice id;
};

static int by_column(const void *a, const void *b)
{
    return tc_slice_cmp(((const struct pair *)a)->column, ((const struct pair *)b)->column);
}

static bool is_made(const struct tc__made *made, struct tc_slice column)
{
    for (size_t n = 0; n < made->count; n++) {
        if (tc_slice_eq(made->columns[n], column)) {
            return true;
        }
    }
    return false;
}

/* The row's definitions with those of what was made, in order of the columns. */
static tc_status merge(const struct tc__made *made, struct tc_json root, struct tc_grow *out)
{
    struct pair pairs[TC_TABLE_COLUMNS_MAX + TC__MADE_MAX];
    size_t count = 0;
    struct tc_json value;
    struct tc_slice column;
    struct tc_json_iter it = tc_json_iter_make(root);
    while (count < TC_TABLE_COLUMNS_MAX && tc_json_iter_next(&it, &column, &value)) {
        pairs[count].column = column;
        count += !is_made(made, column) && tc_json_string(value, &pairs[count].id) ? 1 : 0;
    }
    for (size_t n = 0; n < made->count; n++) {
        pairs[count++] = (struct pair){made->columns[n], made->ids[n]};
    }
    qsort(pairs, count, sizeof *pairs, by_column);
    struct tc_json_out j = tc_json_object_grow(out);
    for (size_t n = 0; n < count; n++) {
        tc_json_key_plain(&j, pairs[n].column);
        tc_json_add_str(&j, pairs[n].id);
    }
    tc_json_end_object(&j);
    return out->failed ? TC_E_NOMEM : TC_OK;
}

tc_status tc__made_define(const struct tc__made *made, struct tc_json_parser *parser,
                          struct tc_rows *rows, size_t row, size_t column, struct tc_error *err)
{
    struct tc_grow g = {0};
    struct tc_json root;
    struct tc_slice old =
        tc_rows_is_null(rows, column, row) ? TC_LIT("{}") : tc_rows_get_text(rows, column, row);
    if (made->count == 0) {
        return TC_OK;
    }
    tc_status status = tc_json_parse(parser, old, &root, err);
    if (status == TC_OK) {
        status = merge(made, root, &g);
    }
    if (status == TC_OK) {
        tc_rows_seek(rows, row);
        status = tc_rows_text(rows, column, tc_grow_slice(&g));
    }
    tc_grow_fini(&g);
    return status == TC_E_NOMEM ? tc__import_nomem(err) : status;
}

/* ---- serving ---- */

static double gpus_of_run(const struct tc__import *i)
{
    const struct tc__fact *gpus = tc__fact_of(i, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT);
    return gpus == NULL || gpus->integer <= 0 ? (double)NAN : (double)gpus->integer;
}

/* NaN when it is not known. */
static double cell(const struct tc_rows *rows, size_t column, size_t row)
{
    if (tc_rows_is_null(rows, column, row)) {
        return (double)NAN;
    }
    return rows->columns[column].type == TC_COLUMN_REAL
               ? tc_rows_get_real(rows, column, row)
               : (double)tc_rows_get_int(rows, column, row);
}

static double duration_s(const struct tc_rows *rows, size_t row)
{
    double told = cell(rows, TC_SERVING_DURATION_S, row);
    double between =
        (cell(rows, TC_SERVING_ENDED, row) - cell(rows, TC_SERVING_STARTED, row)) / 1e6;
    return isnan(told) && between > 0 ? between : told;
}

static tc_status cost_of_row(struct tc__import *i, struct tc_rows *rows, size_t row,
                             struct tc__made *made, struct tc_error *err)
{
    const struct tc__definition of_request = DEFINED(
        "cost_per_request_usd", "cost_per_request", "USD",
        "gpu_hour_usd of the run x gpu_count of its hardware x duration_s / 3600 / completed");
    const struct tc__definition of_token =
        DEFINED("cost_per_token_usd", "cost_per_token", "USD",
                "gpu_hour_usd of the run x gpu_count of its hardware x duration_s / 3600 / "
                "output_tokens");
    double usd = i->gpu_hour_usd * gpus_of_run(i) * duration_s(rows, row) / 3600;
    double requests = cell(rows, TC_SERVING_COMPLETED, row);
    double tokens = cell(rows, TC_SERVING_OUTPUT_TOKENS, row);
    if (tc_rows_is_null(rows, TC_SERVING_COST_PER_REQUEST, row) && requests > 0) {
        TC_TRY(tc__made_add(i, made, rows, row, TC_SERVING_COST_PER_REQUEST, usd / requests,
                            &of_request, err));
    }
    if (tc_rows_is_null(rows, TC_SERVING_COST_PER_TOKEN, row) && tokens > 0) {
        TC_TRY(tc__made_add(i, made, rows, row, TC_SERVING_COST_PER_TOKEN, usd / tokens, &of_token,
                            err));
    }
    return TC_OK;
}

static tc_status serving_row(struct tc__import *i, struct tc_json_parser *parser,
                             struct tc_rows *rows, size_t row, struct tc_error *err)
{
    struct tc__made made = {.count = 0};
    TC_TRY(cost_of_row(i, rows, row, &made, err));
    TC_TRY(tc__queue_fill(i, rows, row, &made, err));
    return tc__made_define(&made, parser, rows, row, TC_SERVING_DEFINITIONS, err);
}

/* ---- training ---- */

/* GPUs of a row whose log does not say: those of the run. */
static tc_status put_gpus(const struct tc__import *i, struct tc_rows *rows, size_t row,
                          struct tc_error *err)
{
    double gpus = gpus_of_run(i);
    char text[40];
    if (isnan(gpus) || !tc_rows_is_null(rows, TC_TRAINING_GPUS, row)) {
        return TC_OK;
    }
    tc_rows_seek(rows, row);
    tc_rows_int(rows, TC_TRAINING_GPUS, (int64_t)gpus);
    if (!tc_rows_is_null(rows, TC_TRAINING_SCALE_POINT, row)) {
        return TC_OK;
    }
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_buf_lit(&b, "gpus=");
    tc_buf_i64(&b, (int64_t)gpus);
    return tc_rows_text(rows, TC_TRAINING_SCALE_POINT, tc_buf_slice(&b)) == TC_OK
               ? TC_OK
               : tc__import_nomem(err);
}

static tc_status put_tokens(struct tc__import *i, struct tc_rows *rows, size_t row,
                            struct tc__made *made, struct tc_error *err)
{
    const struct tc__definition definition = DEFINED(
        "tokens_per_second", "tokens_per_second", "tokens/s", "tokens_per_second_per_gpu x gpus");
    if (!tc_rows_is_null(rows, TC_TRAINING_TOKENS_PER_S, row)) {
        return TC_OK;
    }
    return tc__made_add(i, made, rows, row, TC_TRAINING_TOKENS_PER_S,
                        cell(rows, TC_TRAINING_TOKENS_PER_S_GPU, row) *
                            cell(rows, TC_TRAINING_GPUS, row),
                        &definition, err);
}

/* More than 105 %: the parts are not of the same steps. */
static tc_status put_reliability(struct tc__import *i, struct tc_rows *rows, size_t row,
                                 struct tc__made *made, struct tc_error *err)
{
    const struct tc__definition definition =
        DEFINED("training_reliability_pct", "reliability", "%",
                "steps x median step time (the mean, where there is no median) / (ended_at - "
                "started_at)");
    double step_ms = cell(rows, TC_TRAINING_STEP_P50, row);
    step_ms = isnan(step_ms) ? cell(rows, TC_TRAINING_STEP_MEAN, row) : step_ms;
    double total_ms =
        (cell(rows, TC_TRAINING_ENDED, row) - cell(rows, TC_TRAINING_STARTED, row)) / 1000;
    double share = 100 * cell(rows, TC_TRAINING_STEPS, row) * step_ms / total_ms;
    if (!tc_rows_is_null(rows, TC_TRAINING_RELIABILITY, row) || !(total_ms > 0) ||
        !(share >= 0 && share <= 105)) {
        return TC_OK;
    }
    return tc__made_add(i, made, rows, row, TC_TRAINING_RELIABILITY, share > 100 ? 100 : share,
                        &definition, err);
}

static tc_status scaling_row(struct tc__import *i, struct tc_json_parser *parser,
                             struct tc_rows *rows, size_t row, struct tc_error *err)
{
    struct tc__made made = {.count = 0};
    TC_TRY(tc__made_add(i, &made, rows, row, TC_TRAINING_SCALING,
                        tc__scaling_of(i->scaling, rows, row), &tc__scaling_definition, err));
    return tc__made_define(&made, parser, rows, row, TC_TRAINING_DEFINITIONS, err);
}

static tc_status training_row(struct tc__import *i, struct tc_json_parser *parser,
                              struct tc_rows *rows, size_t row, struct tc_error *err)
{
    size_t at = 0;
    struct tc__made made = {.count = 0};
    TC_TRY(put_gpus(i, rows, row, err));
    TC_TRY(put_tokens(i, rows, row, &made, err));
    TC_TRY(put_reliability(i, rows, row, &made, err));
    tc__scaling_add(i->scaling, rows, row);
    /* Other runs of the case may make it known later. */
    TC_TRY(tc__definition_keep(i, &tc__scaling_definition, &at, err));
    return tc__made_define(&made, parser, rows, row, TC_TRAINING_DEFINITIONS, err);
}

/* ---- all ---- */

static tc_status compute(struct tc__import *i, struct tc_json_parser *parser, struct tc_error *err)
{
    const struct {
        enum tc_table table;
        tc_status (*row)(struct tc__import *i, struct tc_json_parser *parser, struct tc_rows *rows,
                         size_t row, struct tc_error *err);
    } kinds[] = {{TC_TABLE_SERVING, serving_row},
                 {TC_TABLE_TRAINING, training_row},
                 {TC_TABLE_TRAINING, scaling_row}};
    for (size_t k = 0; k < TC_COUNT(kinds); k++) {
        const struct tc__batches *b = &i->batches[kinds[k].table];
        for (size_t n = 0; n < b->count; n++) {
            for (size_t row = 0; row < b->items[n]->count; row++) {
                TC_TRY(kinds[k].row(i, parser, b->items[n], row, err));
            }
        }
    }
    return TC_OK;
}

tc_status tc__import_compute(struct tc__import *i, struct tc_error *err)
{
    struct tc_json_parser *parser = tc_json_parser_create();
    i->scaling = calloc(1, sizeof *i->scaling);
    tc__queue_sort(i);
    tc_status status =
        parser == NULL || i->scaling == NULL ? tc__import_nomem(err) : compute(i, parser, err);
    free(i->scaling);
    i->scaling = NULL;
    tc_json_parser_destroy(parser);
    return status;
}
