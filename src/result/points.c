/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices that stand beside a serving row (a standard deviation, a minimum) belong to its load: they
 * get its concurrency and rate into their point, and its window. Where two rows of a file have the
 * same load, the place in the file tells their slices apart.
 */
#include "base/buf.h"
#include "result/map.h"
#include "result/result_priv.h"

#include <stdlib.h>

#define POINT_MAX 1024

/* Readers may have it in the point themselves. */
static bool has_key(struct tc_slice point, struct tc_slice key)
{
    size_t at = tc_slice_find(point, key);
    return at != TC_NPOS && (at == 0 || point.ptr[at - 1] == ' ');
}

/* "in=1024 concurrency=8 rate=2.5": what the row and its slices have in common. */
static void put_load(struct tc_buf *b, const struct tc_result_row *serving)
{
    struct tc_slice point = tc_buf_slice(b);
    if (tc_result_known(serving, TC_SERVING_CONCURRENCY) &&
        !has_key(point, TC_LIT("concurrency="))) {
        tc_map_point_number(b, "concurrency", tc_result_get_real(serving, TC_SERVING_CONCURRENCY));
    }
    if (tc_result_known(serving, TC_SERVING_REQUEST_RATE) && !has_key(point, TC_LIT("rate="))) {
        tc_map_point_number(b, "rate", tc_result_get_real(serving, TC_SERVING_REQUEST_RATE));
    }
}

static uint64_t load_hash(const struct tc_result_row *serving)
{
    char data[POINT_MAX];
    struct tc_buf b = tc_buf_make(data, sizeof data);
    tc_buf_str(&b, tc_result_get_text(serving, TC_SERVING_WORKLOAD_POINT));
    put_load(&b, serving);
    return tc_slice_hash(tc_buf_slice(&b), 0);
}

static int compare_hashes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The loads of all serving rows, sorted. */
struct loads {
    uint64_t *hashes;
    size_t count;
};

static bool is_repeated(const struct loads *l, const struct tc_result_row *serving)
{
    uint64_t hash = load_hash(serving);
    const uint64_t *at =
        l->count < 2 ? NULL : bsearch(&hash, l->hashes, l->count, sizeof hash, compare_hashes);
    return at != NULL &&
           ((at > l->hashes && at[-1] == hash) || (at + 1 < l->hashes + l->count && at[1] == hash));
}

static tc_status collect(struct tc_result *r, struct loads *out, struct tc_error *err)
{
    *out = (struct loads){.hashes = calloc(r->row_count + 1, sizeof(uint64_t))};
    if (out->hashes == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the loads of %zu rows", r->row_count);
    }
    for (size_t i = 0; i < r->row_count; i++) {
        const struct tc_result_row *row = r->rows[i];
        if (row->table == TC_TABLE_SERVING) {
            out->hashes[out->count++] = load_hash(row);
        }
    }
    qsort(out->hashes, out->count, sizeof *out->hashes, compare_hashes);
    return TC_OK;
}

static void join(struct tc_result_row *slice, const struct tc_result_row *serving, bool repeated)
{
    char data[POINT_MAX];
    struct tc_buf b = tc_buf_make(data, sizeof data);
    tc_buf_str(&b, tc_result_get_text(slice, TC_SLICE_POINT));
    put_load(&b, serving);
    if (repeated) {
        tc_map_point_text(&b, "at", serving->where);
    }
    if (!b.overflowed) {
        tc_result_text(slice, TC_SLICE_POINT, tc_buf_slice(&b));
    }
    if (tc_result_known(serving, TC_SERVING_STARTED) &&
        tc_result_known(serving, TC_SERVING_ENDED) && !tc_result_known(slice, TC_SLICE_START)) {
        tc_result_int(slice, TC_SLICE_START, tc_result_get_int(serving, TC_SERVING_STARTED), NULL);
        tc_result_int(slice, TC_SLICE_END, tc_result_get_int(serving, TC_SERVING_ENDED), NULL);
    }
}

/* The same place, or one below it. */
static bool belongs(const struct tc_result_row *slice, const struct tc_result_row *serving)
{
    struct tc_slice rest = tc_slice_from(slice->where, serving->where.len);
    return tc_slice_eq(slice->where, serving->where) ||
           (serving->where.len > 0 && tc_slice_starts(slice->where, serving->where) &&
            tc_slice_starts(rest, TC_LIT("/")));
}

tc_status tc__result_join_slices(struct tc_result *r, struct tc_error *err)
{
    struct loads loads;
    TC_TRY(collect(r, &loads, err));
    const struct tc_result_row *serving = NULL;
    bool repeated = false;
    for (size_t i = 0; i < r->row_count; i++) {
        struct tc_result_row *row = r->rows[i];
        if (row->table == TC_TABLE_SERVING) {
            serving = row;
            repeated = is_repeated(&loads, row);
        } else if (row->table == TC_TABLE_SLICE && serving != NULL && belongs(row, serving)) {
            join(row, serving, repeated);
        }
    }
    free(loads.hashes);
    return TC_OK;
}
