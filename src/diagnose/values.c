/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of rows, their quotients, and the one among its peers that is odd. */
#include "base/number.h"
#include "base/table/sort.h"
#include "diagnose/context_priv.h"
#include "stats/stats.h"

#include <math.h>
#include <string.h>

#define PEERS_MIN 4

struct tc_slice tc__point_value(struct tc_slice point, const char *key)
{
    struct tc_slice name = tc_slice_cstr(key);
    while (point.len > 0) {
        size_t end = 0;
        while (end < point.len && point.ptr[end] != ',') {
            end += point.ptr[end] == '\\' && end + 1 < point.len ? 2 : 1;
        }
        struct tc_slice pair = tc_slice_head(point, end);
        if (pair.len > name.len && tc_slice_starts(pair, name) && pair.ptr[name.len] == '=') {
            return tc_slice_from(pair, name.len + 1);
        }
        point = tc_slice_from(point, end + 1);
    }
    return TC_EMPTY;
}

/* ---- groups ---- */

static struct tc_slice key_of(struct tc__context *c, const struct tc__row *row,
                              const struct tc__want *want)
{
    switch (want->by) {
    case TC__BY_ALL:
        return TC_LIT("all");
    case TC__BY_NODE:
        return row->node;
    case TC__BY_GPU:
        return row->gpu;
    case TC__BY_RANK: {
        char text[24];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_buf_i64(&b, row->rank);
        return row->rank < 0 ? TC_EMPTY : tc_arena_copy(&c->arena, tc_buf_slice(&b));
    }
    case TC__BY_CONTAINER:
        return tc_slice_or(row->pod_uid, tc__point_value(row->point, "pod"));
    case TC__BY_LABEL:
        return tc__point_value(row->point, want->label);
    }
    return TC_EMPTY;
}

static bool is_wanted(const struct tc__row *row, const struct tc__want *want)
{
    if (isnan(row->mean)) {
        return false;
    }
    if (want->key == NULL) {
        return true;
    }
    struct tc_slice value = tc__point_value(row->point, want->key);
    return want->equals == NULL ? value.len > 0 : tc_slice_eq(value, tc_slice_cstr(want->equals));
}

static int compare_values(const void *a, const void *b, void *context)
{
    const struct tc__value *x = a;
    const struct tc__value *y = b;
    (void)context;
    int order = tc_slice_cmp(x->key, y->key);
    return order != 0 ? order : tc_slice_cmp(x->detail, y->detail);
}

/* Sorts, and merges what has the same key. */
static struct tc__values merge(struct tc__context *c, struct tc__value *items, size_t count,
                               enum tc__how how)
{
    const void **order = tc_new(&c->arena, const void *, 2 * count);
    struct tc__value *out = tc_new(&c->arena, struct tc__value, count);
    size_t kept = 0;
    size_t merged = 0;
    if (order == NULL || out == NULL) {
        return (struct tc__values){NULL, 0};
    }
    for (size_t i = 0; i < count; i++) {
        order[i] = &items[i];
    }
    tc_sort_ptrs(order, order + count, count, compare_values, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct tc__value *v = order[i];
        struct tc__value *last = kept > 0 ? &out[kept - 1] : NULL;
        if (last == NULL || compare_values(last, v, NULL) != 0) {
            out[kept++] = *v;
            merged = 1;
            continue;
        }
        merged++;
        last->row = v->row->mean > last->row->mean ? v->row : last->row;
        last->value = how == TC__SUM   ? last->value + v->value
                      : how == TC__MIN ? fmin(last->value, v->value)
                                       : last->value + (v->value - last->value) / (double)merged;
    }
    return (struct tc__values){out, kept};
}

struct tc__values tc__collect(struct tc__context *c, enum tc__side side, enum tc__signal signal,
                              const struct tc__want *want)
{
    struct tc__span span = c->spans[side][signal];
    struct tc__value *items = tc_new(&c->arena, struct tc__value, span.count);
    size_t count = 0;
    for (size_t i = 0; items != NULL && i < span.count; i++) {
        struct tc_slice key =
            is_wanted(&span.rows[i], want) ? key_of(c, &span.rows[i], want) : TC_EMPTY;
        if (key.len > 0) {
            items[count++] =
                (struct tc__value){.key = key,
                                   .detail = want->by == TC__BY_CONTAINER
                                                 ? tc__point_value(span.rows[i].point, "container")
                                                 : TC_EMPTY,
                                   .value = span.rows[i].mean,
                                   .row = &span.rows[i]};
        }
    }
    return count == 0 ? (struct tc__values){NULL, 0} : merge(c, items, count, want->how);
}

const struct tc__value *tc__find_value(struct tc__values values, const struct tc__value *like)
{
    size_t low = 0;
    size_t high = values.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_values(&values.items[middle], like, NULL);
        if (order == 0) {
            return &values.items[middle];
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return NULL;
}

struct tc__values tc__quotient(struct tc__context *c, enum tc__side side, enum tc__signal a,
                               enum tc__signal b, const struct tc__want *want)
{
    struct tc__values above = tc__collect(c, side, a, want);
    struct tc__values below = tc__collect(c, side, b, want);
    size_t kept = 0;
    for (size_t i = 0; i < above.count; i++) {
        const struct tc__value *match = tc__find_value(below, &above.items[i]);
        if (match != NULL && match->value > 0) {
            struct tc__value v = above.items[i];
            v.value /= match->value;
            above.items[kept++] = v;
        }
    }
    above.count = kept;
    return above;
}

double tc__mean_of(struct tc__values values)
{
    double sum = 0;
    for (size_t i = 0; i < values.count; i++) {
        sum += values.items[i].value;
    }
    return values.count == 0 ? (double)NAN : sum / (double)values.count;
}

/* ---- peers ---- */

static bool sort_values(struct tc__context *c, struct tc__values values, struct tc_sorted *out)
{
    struct tc_error err;
    double *numbers = tc_new(&c->arena, double, values.count);
    for (size_t i = 0; numbers != NULL && i < values.count; i++) {
        numbers[i] = values.items[i].value;
    }
    return numbers != NULL && tc_sorted_make(numbers, values.count, &c->arena, out, &err) == TC_OK;
}

double tc__median_of(struct tc__context *c, struct tc__values values)
{
    struct tc_sorted sorted;
    return values.count > 0 && sort_values(c, values, &sorted) ? tc_sorted_median(sorted)
                                                               : (double)NAN;
}

/* The peers of the farthest value are the others: one odd value in few would hide itself. */
struct tc__odd_one tc__odd_one_out(struct tc__context *c, struct tc__values values, int sign,
                                   double least)
{
    struct tc__odd_one found = {NULL, 0, (double)NAN};
    struct tc_sorted sorted;
    if (values.count < PEERS_MIN || !sort_values(c, values, &sorted)) {
        return found;
    }
    struct tc_sorted others = {sorted.x + (sign > 0 ? 0 : 1), sorted.n - 1};
    double farthest = sign > 0 ? sorted.x[sorted.n - 1] : sorted.x[0];
    struct tc_spread peers = tc_sorted_spread(others);
    peers.scale = fmax(peers.scale, least * fabs(peers.median));
    found.median = peers.median;
    found.z = tc_robust_z(&peers, farthest) * sign;
    for (size_t i = 0; found.z > TC_OUTLIER_Z && found.value == NULL && i < values.count; i++) {
        found.value = values.items[i].value == farthest ? &values.items[i] : NULL;
    }
    return found;
}

/* ---- what a check says ---- */

void tc__check_proof(struct tc_check *check, const struct tc__row *row)
{
    if (row == NULL || check->proof_count == TC_CHECK_PROOFS) {
        return;
    }
    for (size_t i = 0; i < check->proof_count; i++) {
        if (tc_slice_eq(check->proofs[i].digest, row->digest) &&
            tc_slice_eq(check->proofs[i].metric, row->metric)) {
            return;
        }
    }
    check->proofs[check->proof_count++] = (struct tc_proof){row->digest, row->metric};
}

void tc__check_where(struct tc_check *check, const struct tc__row *row)
{
    check->where.node = tc_slice_or(check->where.node, row->node);
    check->where.gpu = tc_slice_or(check->where.gpu, row->gpu);
    check->where.rank = check->where.rank < 0 ? row->rank : check->where.rank;
    check->where.pod = tc_slice_or(
        check->where.pod,
        tc_slice_or(tc__point_value(row->point, "pod"),
                    tc_slice_or(tc__point_value(row->point, "pod_name"), row->pod_uid)));
}

void tc__check_say_args(struct tc_check *check, const struct tc_arg *args, size_t count)
{
    size_t len = strlen(check->numbers);
    struct tc_buf b = tc_buf_make(check->numbers + len, sizeof check->numbers - 1 - len);
    if (len > 0) {
        tc_buf_str(&b, TC_LIT("; "));
    }
    (void)tc_format_args(&b, args, count);
    if (b.overflowed) { /* a part of a number would be another number */
        check->numbers[len] = '\0';
        return;
    }
    check->numbers[len + b.len] = '\0';
}

void tc__check_support(struct tc_check *check, double strength, const struct tc__row *row)
{
    check->answer = TC_CHECK_SUPPORTS;
    check->strength = fmax(check->strength, strength);
    if (row != NULL) {
        tc__check_proof(check, row);
    }
}

void tc__check_oppose(struct tc_check *check)
{
    if (check->answer == TC_CHECK_NO_DATA) {
        check->answer = TC_CHECK_CONTRADICTS;
    }
}
