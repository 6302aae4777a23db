/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "base/table/grow.h"
#include "base/time.h"
#include "score/score_priv.h"

#include <stdalign.h>
#include <stdlib.h>

#define BLOCK_BYTES ((size_t)64 << 10)

struct tc__pool_block {
    struct tc__pool_block *next;
    size_t used;
    size_t size;
    alignas(max_align_t) unsigned char data[];
};

void *tc__pool_alloc(struct tc__pool *p, size_t count, size_t size)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > TC_SCORE_MEMORY_MAX) {
        return NULL;
    }
    bytes = (bytes + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    struct tc__pool_block *b = p->blocks;
    if (b == NULL || bytes > b->size - b->used) {
        size_t want = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        if (want > TC_SCORE_MEMORY_MAX - p->total) {
            return NULL;
        }
        b = calloc(1, sizeof *b + want);
        if (b == NULL) {
            return NULL;
        }
        b->size = want;
        b->next = p->blocks;
        p->blocks = b;
        p->total += want;
    }
    void *at = b->data + b->used;
    b->used += bytes;
    return at;
}

bool tc__pool_copy(struct tc__pool *p, struct tc_slice s, struct tc_slice *out)
{
    if (s.len == 0) {
        *out = TC_EMPTY;
        return true;
    }
    char *copy = tc__pool_alloc(p, s.len, 1);
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, s.ptr, s.len);
    *out = tc_slice_make(copy, s.len);
    return true;
}

void tc__pool_fini(struct tc__pool *p)
{
    while (p->blocks != NULL) {
        struct tc__pool_block *next = p->blocks->next;
        free(p->blocks);
        p->blocks = next;
    }
    *p = (struct tc__pool){0};
}

struct tc__item *tc__items_new(struct tc__items *items)
{
    if (tc_grow_items(items->at, items->cap, items->count + 1, SIZE_MAX) != TC_OK) {
        return NULL;
    }
    struct tc__item *item = &items->at[items->count];
    *item = (struct tc__item){.gpu_index = -1,
                              .rank = -1,
                              .start_ns = TC_TIME_NONE,
                              .end_ns = TC_TIME_NONE,
                              .detected_ns = TC_TIME_NONE,
                              .line = items->count,
                              .mate = TC__NONE,
                              .noise = TC__NONE};
    items->count++;
    return item;
}

static int by_id(const void *a, const void *b)
{
    const struct tc__item *x = a;
    const struct tc__item *y = b;
    int order = tc_slice_cmp(x->id, y->id);
    if (order == 0) {
        order = x->line < y->line ? -1 : x->line > y->line;
    }
    return order;
}

void tc__items_sort(struct tc__items *items)
{
    if (items->count > 0) {
        qsort(items->at, items->count, sizeof *items->at, by_id);
    }
}

struct tc__item *tc__items_find(const struct tc__items *items, struct tc_slice id)
{
    size_t from = 0;
    size_t to = items->count;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        int order = tc_slice_cmp(items->at[mid].id, id);
        if (order == 0) {
            return &items->at[mid];
        }
        from = order < 0 ? mid + 1 : from;
        to = order < 0 ? to : mid;
    }
    return NULL;
}

void tc__items_fini(struct tc__items *items)
{
    free(items->at);
    *items = (struct tc__items){0};
}
