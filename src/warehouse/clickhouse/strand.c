/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/clickhouse/strand_priv.h"

#include "base/table/sort.h"
#include "warehouse/clickhouse/binary_priv.h"

#include <stdlib.h>
#include <string.h>

#define STRANDS_MAX ((size_t)1 << 24)
#define STRANDS_MANY ((size_t)1 << 19)
#define TEXTS_MANY ((size_t)64 << 20)

/* ---- strands ---- */

/* The columns that make a strand: its run and metric, and the texts of its series. */
static size_t columns_of(const struct tc__ch_layout *series, size_t out[TC_TABLE_COLUMNS_MAX])
{
    size_t count = 0;
    out[count++] = TC_SLICE_RUN_ID;
    out[count++] = TC_SLICE_METRIC;
    for (size_t i = 1; i < series->column_count; i++) {
        out[count++] = series->columns[i].from;
    }
    return count;
}

static struct tc_slice text_of(const struct tc_rows *rows, size_t column, size_t row)
{
    return tc_rows_is_null(rows, column, row) ? TC_EMPTY : tc_rows_get_text(rows, column, row);
}

/* A strand that was not met before. */
static tc_status add(struct tc__ch_strands *s, const struct tc__ch_layout *series,
                     const struct tc_rows *rows, size_t row)
{
    struct tc_slice run = text_of(rows, TC_SLICE_RUN_ID, row);
    struct tc_slice metric = text_of(rows, TC_SLICE_METRIC, row);
    struct tc__ch_strand one = {.series = tc__ch_series_of(series, rows, row),
                                .at = s->texts.buf.len,
                                .run_len = (uint32_t)run.len,
                                .metric_len = (uint32_t)metric.len};
    tc_grow_str(&s->texts, run);
    tc_grow_str(&s->texts, metric);
    if (s->texts.failed || tc_grow_items(s->items, s->cap, s->count + 1, STRANDS_MAX) != TC_OK) {
        return TC_E_NOMEM;
    }
    s->items[s->count++] = one;
    return TC_OK;
}

tc_status tc__ch_strands_of(struct tc__ch_strands *s, const struct tc__ch_layout *series,
                            const struct tc_rows *rows, uint32_t *out, struct tc_error *err)
{
    struct tc__scope_key keys[TC_ROWS_MAX];
    size_t columns[TC_TABLE_COLUMNS_MAX];
    size_t column_count = columns_of(series, columns);
    if (!s->is_ready) {
        TC_TRY(tc__scope_secret(s->secret, err));
        s->is_ready = true;
    }
    tc__scope_hash(s->secret, rows, columns, column_count, keys);
    for (size_t i = 0; i < rows->count; i++) {
        int64_t number = tc__scope_map_get(&s->seen, keys[i]);
        if (number == 0) {
            tc_status status = add(s, series, rows, i);
            number = (int64_t)s->count;
            status = status == TC_OK ? tc__scope_map_put(&s->seen, keys[i], number) : status;
            if (status != TC_OK) {
                return tc_fail(err, status, 0, "no memory for rows on their way to ClickHouse");
            }
        }
        out[i] = (uint32_t)(number - 1);
    }
    return TC_OK;
}

struct tc_slice tc__ch_strand_run(const struct tc__ch_strands *s, const struct tc__ch_strand *one)
{
    return tc_slice_make(s->texts.buf.data + one->at, one->run_len);
}

struct tc_slice tc__ch_strand_metric(const struct tc__ch_strands *s,
                                     const struct tc__ch_strand *one)
{
    return tc_slice_make(s->texts.buf.data + one->at + one->run_len, one->metric_len);
}

bool tc__ch_strands_are_many(const struct tc__ch_strands *s)
{
    return s->count >= STRANDS_MANY || s->texts.buf.len >= TEXTS_MANY;
}

void tc__ch_strands_reset(struct tc__ch_strands *s)
{
    tc__scope_map_reset(&s->seen);
    free(s->items);
    tc_grow_fini(&s->texts);
    *s = (struct tc__ch_strands){0};
}

/* ---- order ---- */

/* As ClickHouse compares texts: by bytes. */
static int compare(const void *a, const void *b, void *context)
{
    const struct tc__ch_strands *s = context;
    const struct tc__ch_strand *x = a;
    const struct tc__ch_strand *y = b;
    int order = tc_slice_cmp(tc__ch_strand_run(s, x), tc__ch_strand_run(s, y));
    order =
        order == 0 ? tc_slice_cmp(tc__ch_strand_metric(s, x), tc__ch_strand_metric(s, y)) : order;
    return order == 0 ? TC_ORDER(x->series, y->series) : order;
}

/* The strands that have rows, in order; the places of their rows. */
static bool sort_strands(struct tc__ch_order *o, struct tc__ch_strands *s, const uint32_t *of,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (s->items[of[i]].rows++ == 0) {
            o->strands[o->strand_count++] = of[i];
        }
    }
    const void **items = calloc(2 * o->strand_count + 1, sizeof *items);
    if (items == NULL) {
        return false;
    }
    for (size_t i = 0; i < o->strand_count; i++) {
        items[i] = &s->items[o->strands[i]];
    }
    tc_sort_ptrs(items, items + o->strand_count, o->strand_count, compare, s);
    uint32_t at = 0;
    for (size_t i = 0; i < o->strand_count; i++) {
        o->strands[i] = (uint32_t)((const struct tc__ch_strand *)items[i] - s->items);
        s->items[o->strands[i]].next = at;
        at += s->items[o->strands[i]].rows;
    }
    free(items);
    return true;
}

static bool is_sorted(const int64_t *times, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (times[i] < times[i - 1]) {
            return false;
        }
    }
    return true;
}

/* Rows to the places of their strands, the earliest first. */
static bool place_rows(const struct tc__ch_order *o, struct tc__ch_strands *s, const uint32_t *of,
                       const int64_t *times, size_t count)
{
    struct tc_sort_pair *pairs = NULL;
    if (!is_sorted(times, count)) {
        pairs = calloc(2 * count, sizeof *pairs);
        if (pairs == NULL) {
            return false;
        }
        for (size_t i = 0; i < count; i++) {
            pairs[i] = (struct tc_sort_pair){(uint64_t)times[i] ^ UINT64_C(1) << 63, i};
        }
        tc_sort_keys(pairs, pairs + count, count);
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t row = pairs == NULL ? (uint32_t)i : (uint32_t)pairs[i].value;
        o->rows[s->items[of[row]].next++] = row;
    }
    free(pairs);
    return true;
}

bool tc__ch_order_make(struct tc__ch_order *o, struct tc__ch_strands *s, const uint32_t *of,
                       const int64_t *times, size_t count)
{
    *o = (struct tc__ch_order){.rows = calloc(count + 1, sizeof *o->rows),
                               .strands = calloc(count + 1, sizeof *o->strands)};
    return o->rows != NULL && o->strands != NULL && sort_strands(o, s, of, count) &&
           place_rows(o, s, of, times, count);
}

void tc__ch_order_fini(struct tc__ch_order *o, struct tc__ch_strands *s)
{
    for (size_t i = 0; i < o->strand_count; i++) {
        s->items[o->strands[i]].rows = 0;
    }
    free(o->rows);
    free(o->strands);
    *o = (struct tc__ch_order){0};
}
