/* SPDX-License-Identifier: Apache-2.0 */
#include "publish/values.h"

#include "base/arena.h"
#include "base/table/grow.h"
#include "base/time.h"
#include "publish/claim.h"
#include "stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of one query. */
#define ROWS_MAX 100000
#define TIME_NS (60 * TC_SECOND)
/* What the dip test must find unlikely. */
#define MODES_ALPHA 0.05

static tc_status no_memory(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory for the values of a query");
}

/* Scratch for the statistics of some values. */
struct scratch {
    struct tc_arena arena;
    void *block;
};

static tc_status open_scratch(struct scratch *s, size_t values, struct tc_error *err)
{
    size_t bytes = TC_SORTED_BYTES(values) + TC_DIP_BYTES(values);
    s->block = malloc(bytes);
    if (s->block == NULL) {
        return no_memory(err);
    }
    tc_arena_init(&s->arena, "values", s->block, bytes);
    return TC_OK;
}

static void close_scratch(struct scratch *s)
{
    if (s->block != NULL) {
        tc_arena_fini(&s->arena);
        free(s->block);
    }
}

/* ---- from rows to values ---- */

struct taking {
    struct tc_values *v;
    struct tc_error *err;
};

static size_t column_of(const struct tc_rows *rows, const char *name)
{
    size_t c = 0;
    while (c < rows->column_count && strcmp(rows->columns[c].name, name) != 0) {
        c++;
    }
    return c;
}

static bool is_number(enum tc_column_type type)
{
    return type == TC_COLUMN_REAL || type == TC_COLUMN_INT;
}

static tc_status take_row(struct taking *t, const struct tc_rows *rows, size_t row, size_t run,
                          size_t value)
{
    struct tc_values *v = t->v;
    if (tc_rows_is_null(rows, run, row) || tc_rows_get_text(rows, run, row).len > TC_RUN_ID_MAX) {
        return tc_fail(t->err, TC_E_USAGE, 0, "the query has a row without a run_id");
    }
    struct tc_slice id = tc_rows_get_text(rows, run, row);
    double x = rows->columns[value].type == TC_COLUMN_REAL
                   ? tc_rows_get_real(rows, value, row)
                   : (double)tc_rows_get_int(rows, value, row);
    if (tc_rows_is_null(rows, value, row) || !isfinite(x)) {
        return tc_fail(t->err, TC_E_USAGE, 0,
                       "the query has no value for run %.*s: leave it out, or add what it lacks",
                       TC_FMT(id));
    }
    if (tc_grow_items(v->items, v->cap, v->count + 1, ROWS_MAX) != TC_OK) {
        return no_memory(t->err);
    }
    struct tc_run_value *item = &v->items[v->count++];
    *item = (struct tc_run_value){.value = x, .rows = 1};
    (void)snprintf(item->run_id, sizeof item->run_id, "%.*s", TC_FMT(id));
    return TC_OK;
}

static tc_status take_rows(void *context, const struct tc_rows *rows)
{
    struct taking *t = context;
    size_t run = column_of(rows, "run_id");
    size_t value = column_of(rows, "value");
    if (run == rows->column_count || value == rows->column_count ||
        rows->columns[run].type != TC_COLUMN_TEXT || !is_number(rows->columns[value].type)) {
        return tc_fail(t->err, TC_E_USAGE, 0,
                       "the query has to give the columns run_id and value (a number): SELECT "
                       "run_id, ttft_p99_ms AS value FROM ...");
    }
    for (size_t row = 0; row < rows->count; row++) {
        TC_TRY(take_row(t, rows, row, run, value));
    }
    return TC_OK;
}

static int by_run(const void *a, const void *b)
{
    return strcmp(((const struct tc_run_value *)a)->run_id,
                  ((const struct tc_run_value *)b)->run_id);
}

/* One value for each run. */
static tc_status reduce(struct tc_values *v, struct scratch *s, double *room, struct tc_error *err)
{
    size_t to = 0;
    for (size_t from = 0, end; from < v->count; from = end) {
        struct tc_sorted sorted;
        tc_arena_mark mark = tc_arena_snapshot(&s->arena);
        for (end = from; end < v->count && by_run(&v->items[end], &v->items[from]) == 0; end++) {
            room[end - from] = v->items[end].value;
        }
        TC_TRY(tc_sorted_make(room, end - from, &s->arena, &sorted, err));
        v->items[to] = v->items[from];
        v->items[to].value = tc_sorted_median(sorted);
        v->items[to++].rows = (int64_t)(end - from);
        tc_arena_rewind(&s->arena, mark);
    }
    v->count = to;
    return to <= TC_CLAIM_RUNS_MAX
               ? TC_OK
               : tc_fail(err, TC_E_LIMIT, 0, "the query has values of %zu runs, more than %d", to,
                         TC_CLAIM_RUNS_MAX);
}

static tc_status settle(struct tc_values *v, struct tc_error *err)
{
    struct scratch s = {0};
    double *room = malloc((v->count + 1) * sizeof *room);
    tc_status status = room == NULL ? no_memory(err) : open_scratch(&s, v->count, err);
    if (status == TC_OK) {
        qsort(v->items, v->count, sizeof *v->items, by_run);
        status = reduce(v, &s, room, err);
    }
    close_scratch(&s);
    free(room);
    return status;
}

tc_status tc_values_query(struct tc_warehouse *w, struct tc_slice sql, struct tc_values *out,
                          struct tc_error *err)
{
    struct tc_error why = {0};
    struct taking t = {.v = out, .err = &why};
    const struct tc_query query = {
        .sql = sql, .untrusted = true, .rows_max = ROWS_MAX, .time_ns = TIME_NS};
    bool cut = false;
    *out = (struct tc_values){0};
    tc_status status = tc_warehouse_query(w, &query, take_rows, &t, &cut, err);
    if (status != TC_OK) {
        if (why.status != TC_OK) {
            *err = why;
        }
        return status;
    }
    if (cut) {
        return tc_fail(err, TC_E_LIMIT, 0, "the query has more than %d rows", ROWS_MAX);
    }
    return out->count == 0 ? TC_OK : settle(out, err);
}

void tc_values_fini(struct tc_values *v)
{
    free(v->items);
    *v = (struct tc_values){0};
}

/* ---- are they the claim's? ---- */

static bool is_same(double a, double b, double tolerance)
{
    if (isnan(a) || isnan(b)) {
        return isnan(a) && isnan(b);
    }
    return a == b || fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

bool tc_values_are_of(const struct tc_values *v, const struct tc_claim *claim, double tolerance,
                      char out_what[TC_ERROR_MESSAGE_MAX])
{
    size_t at = 0;
    for (size_t i = 0; i < claim->run_count; i++) {
        const struct tc_claim_run *run = &claim->runs[i];
        const struct tc_run_value *made = at < v->count ? &v->items[at] : NULL;
        int order = made == NULL ? -1 : tc_slice_cmp(run->run_id, tc_slice_cstr(made->run_id));
        if (order < 0 && run->is_basis) {
            continue;
        }
        if (order < 0) {
            (void)snprintf(out_what, TC_ERROR_MESSAGE_MAX, "there is no value of run %.*s",
                           TC_FMT(run->run_id));
            return false;
        }
        if (order > 0 || run->is_basis) {
            (void)snprintf(out_what, TC_ERROR_MESSAGE_MAX,
                           "there is a value of run %s, which the number does not stand on",
                           made->run_id);
            return false;
        }
        if (!is_same(made->value, run->value, tolerance) || made->rows != run->rows) {
            (void)snprintf(out_what, TC_ERROR_MESSAGE_MAX,
                           "run %s has %.17g (%lld rows), the claim says %.17g (%lld)",
                           made->run_id, made->value, (long long)made->rows, run->value,
                           (long long)run->rows);
            return false;
        }
        at++;
    }
    if (at < v->count) {
        (void)snprintf(out_what, TC_ERROR_MESSAGE_MAX,
                       "there is a value of run %s, which the number does not stand on",
                       v->items[at].run_id);
    }
    return at == v->count;
}

/* ---- from values to the number ---- */

static tc_status make(struct scratch *s, const double *values, size_t count, double level,
                      struct tc_statistic *out, bool *is_outlier, struct tc_error *err)
{
    struct tc_sorted sorted;
    struct tc_dip dip = {.p = (double)NAN};
    TC_TRY(tc_sorted_make(values, count, &s->arena, &sorted, err));
    struct tc_median_interval interval = tc_sorted_median_interval(sorted, level);
    struct tc_spread spread = tc_sorted_spread(sorted);
    if (count >= TC_DIP_MIN) {
        TC_TRY(tc_dip_test(sorted, &s->arena, &dip));
    }
    for (size_t i = 0; is_outlier != NULL && i < count; i++) {
        is_outlier[i] = tc_is_outlier(&spread, values[i]);
    }
    *out = (struct tc_statistic){
        .value = tc_sorted_median(sorted),
        .low = count > 1 ? interval.low : (double)NAN,
        .high = count > 1 ? interval.high : (double)NAN,
        .level = count > 1 ? interval.level : (double)NAN,
        .spread = count > 1 ? spread.scale : (double)NAN,
        .is_multimodal = dip.p < MODES_ALPHA,
    };
    return TC_OK;
}

tc_status tc_statistic_make(const double *values, size_t count, double level,
                            struct tc_statistic *out, bool *is_outlier, struct tc_error *err)
{
    struct scratch s = {0};
    TC_TRY(open_scratch(&s, count, err));
    tc_status status = make(&s, values, count, level, out, is_outlier, err);
    close_scratch(&s);
    return status;
}

bool tc_values_are_same(double a, double b)
{
    return is_same(a, b, TC_VALUES_SAME);
}
