/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single requests of result files. They may be too many to keep: a file that has some is read once
 * more when its rows are written. Each gets the point of the row that it was measured for; those of
 * a file that has nothing but requests get the point of the tool's summary, where that is given
 * too.
 */
#include "run/import_priv.h"

#include "base/assert.h"
#include "result/requests.h"

#include <stdlib.h>
#include <string.h>

#define REQUESTS_SUFFIX "-requests"

/* A row of serving_outcome_fact that the import has. */
struct place {
    const struct tc_rows *rows;
    size_t row;
};

static struct place serving_at(const struct tc__import *i, uint64_t index)
{
    const struct tc__batches *b = &i->batches[TC_TABLE_SERVING];
    size_t n = 0;
    while (n < b->count && index >= b->items[n]->count) {
        index -= b->items[n++]->count;
    }
    TC_ASSERT(n < b->count);
    return (struct place){b->items[n], (size_t)index};
}

/* ---- which point they belong to ---- */

static bool same_cell(struct place a, struct place b, size_t column)
{
    bool null = tc_rows_is_null(a.rows, column, a.row);
    if (null || tc_rows_is_null(b.rows, column, b.row)) {
        return null == tc_rows_is_null(b.rows, column, b.row);
    }
    return a.rows->columns[column].type == TC_COLUMN_TEXT
               ? tc_slice_eq(tc_rows_get_text(a.rows, column, a.row),
                             tc_rows_get_text(b.rows, column, b.row))
               : a.rows->columns[column].cells[a.row].integer ==
                     b.rows->columns[column].cells[b.row].integer;
}

static bool same_point(struct place a, struct place b)
{
    return same_cell(a, b, TC_SERVING_WORKLOAD_POINT) && same_cell(a, b, TC_SERVING_CONCURRENCY) &&
           same_cell(a, b, TC_SERVING_REQUEST_RATE);
}

/* The tool's summary: "aiperf" of "aiperf-requests". */
static bool is_summary_of(const struct tc__source *summary, const struct tc__source *requests)
{
    struct tc_slice name = tc_slice_cstr(requests->reader->name);
    return !summary->left_out && summary->reader != NULL &&
           tc_slice_ends(name, TC_LIT(REQUESTS_SUFFIX)) &&
           tc_slice_eq(tc_slice_cstr(summary->reader->name),
                       tc_slice_head(name, name.len - strlen(REQUESTS_SUFFIX)));
}

/* Rows of summaries that may be of the requests: all, or those with as many that succeeded. */
struct candidates {
    uint64_t first;
    size_t count;
    bool differ; /* in their points */
};

static struct candidates find_rows(const struct tc__import *i, const struct tc__source *s,
                                   bool same_count)
{
    struct candidates c = {0};
    struct place own = serving_at(i, s->first_serving);
    for (size_t n = 0; n < i->source_count; n++) {
        const struct tc__source *o = &i->sources[n];
        for (uint64_t at = 0; is_summary_of(o, s) && at < o->servings; at++) {
            struct place there = serving_at(i, o->first_serving + at);
            if (same_count && !same_cell(own, there, TC_SERVING_COMPLETED)) {
                continue;
            }
            c.first = c.count == 0 ? o->first_serving + at : c.first;
            c.differ |= c.count > 0 && !same_point(serving_at(i, c.first), there);
            c.count++;
        }
    }
    return c;
}

/* The tool's percentiles of the point against those of the requests. */
static tc_status check_bounds(struct tc__import *i, size_t source, struct tc_error *err)
{
    const struct tc__source *s = &i->sources[source];
    struct place there = serving_at(i, s->requests_row);
    struct tc_bounds_miss misses[TC_BOUNDS_MISSES_MAX];
    size_t count =
        s->bounds == NULL ? 0 : tc_result_bounds_check(s->bounds, there.rows, there.row, misses);
    for (size_t n = 0; n < count; n++) {
        TC_TRY(tc__import_warnf(i, source, err, there.rows->columns[misses[n].column].name,
                                "is %.6g in the summary, the requests give %.6g to %.6g",
                                misses[n].told, misses[n].low, misses[n].high));
    }
    return TC_OK;
}

tc_status tc__import_join_requests(struct tc__import *i, struct tc_error *err)
{
    for (size_t n = 0; n < i->source_count; n++) {
        struct tc__source *s = &i->sources[n];
        if (s->left_out || s->requests == 0 || s->servings != 1) {
            continue;
        }
        s->requests_row = s->first_serving;
        struct candidates c = find_rows(i, s, false);
        if (c.differ) {
            c = find_rows(i, s, true);
        }
        if (c.count > 0 && !c.differ) {
            s->requests_row = c.first;
            TC_TRY(check_bounds(i, n, err));
        }
    }
    return TC_OK;
}

/* ---- rows ---- */

struct writing {
    struct tc__import *i;
    const struct tc__source *source;
    uint64_t rows;
};

static void fill_real(struct tc_rows *rows, size_t column, struct place from, size_t from_column)
{
    for (size_t row = 0; row < rows->count; row++) {
        if (!tc_rows_is_null(from.rows, from_column, from.row)) {
            tc_rows_seek(rows, row);
            tc_rows_real(rows, column, tc_rows_get_real(from.rows, from_column, from.row));
        }
    }
}

static tc_status write_batch(void *context, size_t serving, struct tc_rows *rows,
                             struct tc_error *err)
{
    struct writing *w = context;
    const struct tc__source *s = w->source;
    struct place point =
        serving_at(w->i, s->servings == 1 ? s->requests_row : s->first_serving + serving);
    struct tc_slice words =
        tc_rows_is_null(point.rows, TC_SERVING_WORKLOAD_POINT, point.row)
            ? TC_EMPTY
            : tc_rows_get_text(point.rows, TC_SERVING_WORKLOAD_POINT, point.row);
    TC_TRY(tc__rows_fill(rows, TC_REQUEST_RUN_ID, tc_slice_cstr(w->i->run_id), err));
    TC_TRY(tc__rows_fill(rows, TC_REQUEST_JOIN, TC_LIT("given"), err));
    TC_TRY(tc__rows_fill(rows, TC_REQUEST_SOURCE_DIGEST, tc_slice_cstr(s->digest_text), err));
    TC_TRY(tc__rows_fill(rows, TC_REQUEST_WORKLOAD_POINT, words, err));
    fill_real(rows, TC_REQUEST_CONCURRENCY, point, TC_SERVING_CONCURRENCY);
    fill_real(rows, TC_REQUEST_REQUEST_RATE, point, TC_SERVING_REQUEST_RATE);
    w->rows += rows->count;
    return tc__import_append(w->i, TC_TABLE_REQUEST, rows, err);
}

tc_status tc__import_write_requests(struct tc__import *i, uint64_t *io_rows, struct tc_error *err)
{
    for (size_t n = 0; n < i->source_count; n++) {
        const struct tc__source *s = &i->sources[n];
        struct writing w = {.i = i, .source = s};
        char *bytes = NULL;
        size_t len = 0;
        if (s->left_out || s->requests == 0) {
            continue;
        }
        TC_TRY(tc__read_again(s, TC_RESULT_BYTES_MAX, &bytes, &len, err));
        tc_status status =
            tc_result_read_requests(tc_slice_cstr(s->file->path), tc_slice_make(bytes, len),
                                    s->reader, write_batch, &w, err);
        free(bytes);
        TC_TRY(status);
        *io_rows += w.rows;
    }
    return TC_OK;
}
