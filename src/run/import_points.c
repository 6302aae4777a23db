/* SPDX-License-Identifier: Apache-2.0 */
/* Which points a run has measured: they are part of its case, and each should be there once. */
#include "run/import_priv.h"

#include <stdlib.h>

/* Points that are told one by one when they are there twice. */
#define TWICE_TOLD_MAX 20
/* Columns that make a point. */
#define PARTS_MAX 4

struct kind {
    enum tc_table table;
    size_t columns[PARTS_MAX];
    size_t count;
};

static const struct kind SERVING = {
    TC_TABLE_SERVING,
    {TC_SERVING_TOOL, TC_SERVING_WORKLOAD_POINT, TC_SERVING_CONCURRENCY, TC_SERVING_REQUEST_RATE},
    4};
static const struct kind TRAINING = {
    TC_TABLE_TRAINING, {TC_TRAINING_TOOL, TC_TRAINING_PHASE, TC_TRAINING_SCALE_POINT}, 3};
static const struct kind SLICE = {TC_TABLE_SLICE, {TC_SLICE_FAMILY, TC_SLICE_POINT}, 2};

/* Points as text, in one piece of memory. */
struct points {
    struct tc_grow text;
    struct tc_slice *items;
    size_t count;
};

static void put_part(struct tc_grow *g, const struct tc_rows *rows, size_t column, size_t row)
{
    const struct tc_rows_column *c = &rows->columns[column];
    if (tc_rows_is_null(rows, column, row)) {
        return;
    }
    tc_grow_lit(g, " ");
    if (c->type == TC_COLUMN_TEXT) {
        tc_grow_str(g, tc_rows_get_text(rows, column, row));
        return;
    }
    tc_grow_str(g, tc_slice_cstr(c->name));
    tc_grow_lit(g, "=");
    if (c->type != TC_COLUMN_REAL) {
        tc_grow_i64(g, c->cells[row].integer);
    } else if (tc_grow_room(g, 64)) {
        tc_buf_f64(&g->buf, c->cells[row].real);
    }
}

static int by_text(const void *a, const void *b)
{
    return tc_slice_cmp(*(const struct tc_slice *)a, *(const struct tc_slice *)b);
}

static void points_fini(struct points *p)
{
    tc_grow_fini(&p->text);
    free(p->items);
}

/* All points of a table, in order. */
static tc_status points_of(const struct tc__import *i, const struct kind *kind, struct points *p,
                           struct tc_error *err)
{
    const struct tc__batches *b = &i->batches[kind->table];
    size_t rows = 0;
    *p = (struct points){0};
    size_t *ends = calloc(b->rows + 1, sizeof *ends);
    p->items = calloc(b->rows + 1, sizeof *p->items);
    for (size_t n = 0; ends != NULL && n < b->count; n++) {
        for (size_t row = 0; row < b->items[n]->count; row++) {
            for (size_t c = 0; c < kind->count; c++) {
                put_part(&p->text, b->items[n], kind->columns[c], row);
            }
            ends[rows++] = p->text.buf.len;
        }
    }
    bool ok = ends != NULL && p->items != NULL && !p->text.failed;
    for (size_t n = 0; ok && n < rows; n++) {
        size_t start = n == 0 ? 0 : ends[n - 1];
        p->items[n] = tc_slice_trim(tc_slice_make(p->text.buf.data + start, ends[n] - start));
    }
    free(ends);
    if (!ok) {
        points_fini(p);
        return tc__import_nomem(err);
    }
    p->count = rows;
    if (rows > 1) {
        qsort(p->items, rows, sizeof *p->items, by_text);
    }
    return TC_OK;
}

static tc_status put_points(const struct tc__import *i, const struct kind *kind,
                            struct tc_json_out *j, size_t *io_count, struct tc_error *err)
{
    struct points p;
    TC_TRY(points_of(i, kind, &p, err));
    for (size_t n = 0; n < p.count; n++) {
        if (n == 0 || !tc_slice_eq(p.items[n], p.items[n - 1])) {
            tc_json_add_str(j, p.items[n]);
            ++*io_count;
        }
    }
    points_fini(&p);
    return TC_OK;
}

tc_status tc__import_points_json(const struct tc__import *i, struct tc_json_out *j,
                                 struct tc_error *err)
{
    size_t count = 0;
    tc_json_add_array(j);
    TC_TRY(put_points(i, &SERVING, j, &count, err));
    TC_TRY(put_points(i, &TRAINING, j, &count, err));
    if (count == 0) {
        TC_TRY(put_points(i, &SLICE, j, &count, err));
    }
    tc_json_end_array(j);
    return TC_OK;
}

/* ---- what is odd ---- */

static tc_status tell_twice(struct tc__import *i, const struct kind *kind, struct tc_error *err)
{
    struct points p;
    size_t told = 0;
    TC_TRY(points_of(i, kind, &p, err));
    tc_status status = TC_OK;
    for (size_t first = 0, end; status == TC_OK && first < p.count; first = end) {
        end = first + 1;
        while (end < p.count && tc_slice_eq(p.items[end], p.items[first])) {
            end++;
        }
        if (end - first > 1 && told++ < TWICE_TOLD_MAX) {
            status = tc__import_warnf(i, TC__NOWHERE, err, "",
                                      "the point \"%.*s\" is there %zu times: repetitions are "
                                      "better added as runs of their own",
                                      TC_FMT(p.items[first]), end - first);
        }
    }
    if (status == TC_OK && told > TWICE_TOLD_MAX) {
        status = tc__import_warnf(i, TC__NOWHERE, err, "", "%zu more points are there repeatedly",
                                  told - TWICE_TOLD_MAX);
    }
    points_fini(&p);
    return status;
}

static tc_status check_type(struct tc__import *i, struct tc_error *err)
{
    bool of_serving = tc_slice_eq(i->said.workload_type, TC_LIT("inference"));
    bool of_training = tc_slice_eq(i->said.workload_type, TC_LIT("training"));
    bool serving = i->batches[TC_TABLE_SERVING].rows > 0;
    bool training = i->batches[TC_TABLE_TRAINING].rows > 0;
    if (i->contract == NULL || !((of_serving && training) || (of_training && serving))) {
        return TC_OK;
    }
    i->of_other_type = true;
    return tc__import_warnf(i, TC__NOWHERE, err, "workload_type",
                            "the contract says %.*s, and there are results of %s",
                            TC_FMT(i->said.workload_type), of_serving ? "training" : "inference");
}

tc_status tc__import_check_points(struct tc__import *i, struct tc_error *err)
{
    TC_TRY(check_type(i, err));
    TC_TRY(tell_twice(i, &SERVING, err));
    return tell_twice(i, &TRAINING, err);
}
