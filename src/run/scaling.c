/* SPDX-License-Identifier: Apache-2.0 */
#include "run/scaling_priv.h"

#include "base/json/json.h"
#include "run/update.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs of one case whose rows change at once. */
#define RUNS_MAX 200000
/* Two values that differ by rounding only are the same. */
#define SAME 1e-9

#define SLICE(literal)               \
    {                                \
        literal, sizeof(literal) - 1 \
    }

const struct tc__definition tc__scaling_definition = {
    .id = SLICE(TC__MADE_TOOL ":scaling_efficiency_pct"),
    .tool = SLICE(TC__MADE_TOOL),
    .field = SLICE("scaling_efficiency_pct"),
    .measures = SLICE("scaling_efficiency"),
    .source_unit = SLICE("%"),
    .unit = SLICE("%"),
    .note = SLICE("tokens/s (else samples/s) of one GPU / the mean of it at the fewest GPUs of the "
                  "same case, tool and phase"),
};

static double per_gpu_of(const struct tc_rows *rows, size_t row, int64_t gpus)
{
    static const size_t in_all[] = {TC_TRAINING_TOKENS_PER_S, TC_TRAINING_SAMPLES_PER_S};
    if (!tc_rows_is_null(rows, TC_TRAINING_TOKENS_PER_S_GPU, row)) {
        return tc_rows_get_real(rows, TC_TRAINING_TOKENS_PER_S_GPU, row);
    }
    for (size_t n = 0; n < TC_COUNT(in_all); n++) {
        if (!tc_rows_is_null(rows, in_all[n], row)) {
            return tc_rows_get_real(rows, in_all[n], row) / (double)gpus;
        }
    }
    return (double)NAN;
}

/* What a row says; false when it does not say all. */
static bool read_row(const struct tc_rows *rows, size_t row, uint64_t *out_key, int64_t *out_gpus,
                     double *out_per_gpu)
{
    static const size_t names[] = {TC_TRAINING_TOOL, TC_TRAINING_PHASE};
    *out_key = 0;
    for (size_t n = 0; n < TC_COUNT(names); n++) {
        struct tc_slice name =
            tc_rows_is_null(rows, names[n], row) ? TC_EMPTY : tc_rows_get_text(rows, names[n], row);
        *out_key = tc_slice_hash(name, *out_key + 1);
    }
    *out_gpus = tc_rows_get_int(rows, TC_TRAINING_GPUS, row);
    *out_per_gpu = *out_gpus > 0 ? per_gpu_of(rows, row, *out_gpus) : (double)NAN;
    return isfinite(*out_per_gpu) && *out_per_gpu > 0;
}

void tc__scaling_add(struct tc__scaling *s, const struct tc_rows *rows, size_t row)
{
    uint64_t key;
    int64_t gpus;
    double per_gpu;
    size_t at = 0;
    if (!read_row(rows, row, &key, &gpus, &per_gpu)) {
        return;
    }
    while (at < s->count && s->bases[at].key != key) {
        at++;
    }
    if (at == TC__SCALING_MAX) {
        return;
    }
    struct tc__scaling_base *b = &s->bases[at];
    if (at == s->count) {
        *b = (struct tc__scaling_base){.key = key, .gpus_min = gpus, .gpus_max = gpus};
        s->count++;
    }
    if (gpus < b->gpus_min) {
        b->gpus_min = gpus;
        b->per_gpu = 0;
        b->rows = 0;
    }
    b->gpus_max = gpus > b->gpus_max ? gpus : b->gpus_max;
    if (gpus == b->gpus_min) {
        b->per_gpu += per_gpu;
        b->rows++;
    }
}

double tc__scaling_of(const struct tc__scaling *s, const struct tc_rows *rows, size_t row)
{
    uint64_t key;
    int64_t gpus;
    double per_gpu;
    if (!read_row(rows, row, &key, &gpus, &per_gpu)) {
        return (double)NAN;
    }
    for (size_t n = 0; n < s->count; n++) {
        const struct tc__scaling_base *b = &s->bases[n];
        if (b->key == key && b->gpus_min < b->gpus_max) {
            return 100 * per_gpu / (b->per_gpu / (double)b->rows);
        }
    }
    return (double)NAN;
}

/* ---- in the warehouse ---- */

struct settling {
    struct tc__scaling scaling;
    struct tc_json_parser *parser;
    char (*runs)[256]; /* whose rows change */
    size_t count;
    size_t cap;
    bool failed;
};

static tc_status add_rows(void *context, const struct tc_rows *rows)
{
    struct settling *s = context;
    for (size_t row = 0; row < rows->count; row++) {
        tc__scaling_add(&s->scaling, rows, row);
    }
    return TC_OK;
}

static bool is_same(const struct tc_rows *rows, size_t row, double value)
{
    if (isnan(value) || tc_rows_is_null(rows, TC_TRAINING_SCALING, row)) {
        return isnan(value) && tc_rows_is_null(rows, TC_TRAINING_SCALING, row);
    }
    double old = tc_rows_get_real(rows, TC_TRAINING_SCALING, row);
    return fabs(old - value) <= SAME * fabs(value);
}

/* Rows come in the order of their runs. */
static tc_status find_changes(void *context, const struct tc_rows *rows)
{
    struct settling *s = context;
    for (size_t row = 0; row < rows->count && !s->failed; row++) {
        struct tc_slice id = tc_rows_get_text(rows, TC_TRAINING_RUN_ID, row);
        bool told = s->count > 0 && tc_slice_eq(id, tc_slice_cstr(s->runs[s->count - 1]));
        if (told || is_same(rows, row, tc__scaling_of(&s->scaling, rows, row))) {
            continue;
        }
        s->failed = tc_grow_items(s->runs, s->cap, s->count + 1, RUNS_MAX) != TC_OK;
        if (!s->failed) {
            (void)snprintf(s->runs[s->count++], sizeof *s->runs, "%.*s", TC_FMT(id));
        }
    }
    return s->failed ? TC_E_NOMEM : TC_OK;
}

static tc_status edit_rows(void *context, struct tc_rows *rows)
{
    struct settling *s = context;
    struct tc_error err;
    for (size_t row = 0; row < rows->count; row++) {
        double value = tc__scaling_of(&s->scaling, rows, row);
        struct tc__made made = {.columns = {tc__scaling_definition.field},
                                .ids = {tc__scaling_definition.id},
                                .count = 1};
        tc_rows_seek(rows, row);
        if (isnan(value)) {
            tc_rows_null(rows, TC_TRAINING_SCALING);
        } else {
            tc_rows_real(rows, TC_TRAINING_SCALING, value);
            TC_TRY(tc__made_define(&made, s->parser, rows, row, TC_TRAINING_DEFINITIONS, &err));
        }
    }
    return TC_OK;
}

static tc_status query_case(struct tc_warehouse *w, struct tc_slice run_id, struct settling *s,
                            tc_rows_fn take, struct tc_error *err)
{
    struct tc_grow sql = {0};
    struct tc_bind id = {.type = TC_COLUMN_TEXT, .as.text = run_id};
    tc_table_select(&sql, TC_TABLE_TRAINING);
    tc_grow_lit(&sql, " WHERE benchmark_case_id IN (SELECT benchmark_case_id FROM "
                      "benchmark_run_fact WHERE run_id = ?) AND run_id IN (SELECT run_id FROM "
                      "benchmark_run_fact WHERE replicate_index IS NOT NULL) ORDER BY run_id");
    struct tc_query query = {.sql = tc_grow_slice(&sql), .binds = &id, .bind_count = 1};
    tc_status status = sql.failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for a query")
                                  : tc_warehouse_query(w, &query, take, s, NULL, err);
    tc_grow_fini(&sql);
    return status;
}

static tc_status settle(struct tc_warehouse *w, struct tc_slice run_id, struct settling *s,
                        struct tc_error *err)
{
    TC_TRY(query_case(w, run_id, s, add_rows, err));
    TC_TRY(query_case(w, run_id, s, find_changes, err));
    for (size_t n = 0; n < s->count; n++) {
        TC_TRY(tc_run_update(w, TC_TABLE_TRAINING, TC_TRAINING_RUN_ID, tc_slice_cstr(s->runs[n]),
                             edit_rows, s, err));
    }
    return TC_OK;
}

tc_status tc__scaling_settle(struct tc_warehouse *w, struct tc_slice run_id, struct tc_error *err)
{
    struct settling *s = calloc(1, sizeof *s);
    struct tc_json_parser *parser = tc_json_parser_create();
    tc_status status = s == NULL || parser == NULL
                           ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the scales of a case")
                           : TC_OK;
    if (status == TC_OK) {
        s->parser = parser;
        status = settle(w, run_id, s, err);
        free(s->runs);
    }
    free(s);
    tc_json_parser_destroy(parser);
    return status;
}
