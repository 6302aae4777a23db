/* SPDX-License-Identifier: Apache-2.0 */
#include "telemetry/slices_priv.h"

#include "base/time.h"

#include <string.h>

/* Parts of the memory for texts: of series, of keys as producers write them. */
#define HEAP_SHARE 2
#define KEYS_SHARE 3

bool tc__book_init(struct tc__book *b, struct tc_arena *arena, size_t series_max)
{
    *b = (struct tc__book){
        .series_max = series_max, .alias_max = series_max, .free_at = TC__NO_SERIES};
    b->series =
        tc_arena_alloc_raw(arena, series_max * sizeof *b->series, alignof(struct tc__series));
    b->aliases =
        tc_arena_alloc_raw(arena, series_max * sizeof *b->aliases, alignof(struct tc__alias));
    b->items = tc_arena_alloc_raw(arena, series_max * sizeof *b->items, alignof(void *));
    b->items_scratch = tc_arena_alloc_raw(arena, series_max * sizeof *b->items, alignof(void *));
    return tc_map_init(&b->map, arena, series_max) &&
           tc_map_init(&b->alias_map, arena, series_max) && tc_arena_ok(arena);
}

bool tc__book_texts(struct tc__book *b, struct tc_arena *arena, size_t bytes)
{
    b->heap_max = bytes / (HEAP_SHARE + KEYS_SHARE) * HEAP_SHARE;
    b->keys_max = bytes - b->heap_max;
    b->heap_max = b->heap_max < UINT32_MAX ? b->heap_max : UINT32_MAX;
    b->keys_max = b->keys_max < UINT32_MAX ? b->keys_max : UINT32_MAX;
    b->heap = tc_arena_alloc_raw(arena, b->heap_max, 1);
    b->keys = tc_arena_alloc_raw(arena, b->keys_max, 1);
    return tc_arena_ok(arena);
}

/* ---- aliases ---- */

static bool is_alias(const struct tc__book *b, const struct tc__alias *a, struct tc_slice key)
{
    return a->len == key.len && memcmp(b->keys + a->at, key.ptr, key.len) == 0;
}

const struct tc__alias *tc__alias_find(struct tc__book *b, struct tc_slice key, uint64_t *out_hash)
{
    size_t next = b->alias_next < b->alias_count ? b->alias_next : 0;
    if (next < b->alias_count && is_alias(b, &b->aliases[next], key)) {
        b->alias_next = next + 1;
        return &b->aliases[next];
    }
    *out_hash = tc_slice_hash(key, 0);
    struct tc_map_iter it = tc_map_find(&b->alias_map, *out_hash);
    uint64_t at = 0;
    while ((at = tc_map_next(&b->alias_map, &it)) != 0) {
        if (is_alias(b, &b->aliases[at - 1], key)) {
            b->alias_next = (size_t)at;
            return &b->aliases[at - 1];
        }
    }
    return NULL;
}

static void forget_aliases(struct tc__book *b)
{
    tc_map_reset(&b->alias_map);
    b->alias_count = 0;
    b->alias_next = 0;
    b->keys_len = 0;
}

void tc__alias_add(struct tc__book *b, struct tc_slice key, uint64_t hash, uint32_t series,
                   const struct tc__identity *id)
{
    if (key.len > b->keys_max) {
        return;
    }
    if (b->alias_count == b->alias_max || key.len > b->keys_max - b->keys_len) {
        forget_aliases(b);
    }
    if (!tc_map_add(&b->alias_map, hash, b->alias_count + 1, 0)) {
        return;
    }
    struct tc__alias *a = &b->aliases[b->alias_count++];
    *a = (struct tc__alias){.hash = hash,
                            .scale = id->scale,
                            .at = (uint32_t)b->keys_len,
                            .len = (uint32_t)key.len,
                            .series = series,
                            .how = id->how};
    b->alias_next = b->alias_count;
    memcpy(b->keys + b->keys_len, key.ptr, key.len);
    b->keys_len += key.len;
}

/* ---- series ---- */

static uint64_t hash_of(const struct tc__identity *id)
{
    uint64_t hash = tc_hash_mix(id->family, (uint64_t)id->rank);
    for (size_t i = 0; i < TC__TEXT_COUNT; i++) {
        hash = tc_slice_hash(id->text[i], hash);
    }
    return hash;
}

static bool is_series(const struct tc__book *b, const struct tc__series *s,
                      const struct tc__identity *id)
{
    if (s->family != id->family || s->rank != id->rank || s->type != id->type) {
        return false;
    }
    const char *at = b->heap + s->at;
    for (size_t i = 0; i < TC__TEXT_COUNT; i++) {
        if (s->len[i] != id->text[i].len ||
            (s->len[i] > 0 && memcmp(at, id->text[i].ptr, s->len[i]) != 0)) {
            return false;
        }
        at += s->len[i];
    }
    return true;
}

/* A slot that is free; TC__NO_SERIES when there is none. */
static uint32_t take_slot(struct tc__book *b)
{
    uint32_t slot = b->free_at;
    if (slot != TC__NO_SERIES) {
        b->free_at = b->series[slot].at;
    } else if (b->series_count < b->series_max) {
        slot = (uint32_t)b->series_count++;
    }
    return slot;
}

static uint32_t add_series(struct tc__book *b, const struct tc__identity *id, uint64_t hash)
{
    size_t bytes = 0;
    for (size_t i = 0; i < TC__TEXT_COUNT; i++) {
        bytes += id->text[i].len;
    }
    if (bytes > b->heap_max - b->heap_len || b->live == b->series_max) {
        b->wants_sweep = true;
        return TC__NO_SERIES;
    }
    uint32_t slot = take_slot(b);
    if (!tc_map_add(&b->map, hash, (uint64_t)slot + 1, 0)) {
        b->series[slot] = (struct tc__series){.at = b->free_at};
        b->free_at = slot;
        b->wants_sweep = true;
        return TC__NO_SERIES;
    }
    struct tc__series *s = &b->series[slot];
    *s = (struct tc__series){.hash = hash,
                             .seen_ns = TC_TIME_NONE,
                             .base_ns = TC_TIME_NONE,
                             .rank = id->rank,
                             .at = (uint32_t)b->heap_len,
                             .family = id->family,
                             .type = id->type,
                             .used = true};
    for (size_t i = 0; i < TC__TEXT_COUNT; i++) {
        s->len[i] = (uint16_t)id->text[i].len;
        if (id->text[i].len > 0) {
            memcpy(b->heap + b->heap_len, id->text[i].ptr, id->text[i].len);
            b->heap_len += id->text[i].len;
        }
    }
    b->live++;
    b->order_known = false;
    return slot;
}

uint32_t tc__series_get(struct tc__book *b, const struct tc__identity *id)
{
    uint64_t hash = hash_of(id);
    struct tc_map_iter it = tc_map_find(&b->map, hash);
    uint64_t at = 0;
    while ((at = tc_map_next(&b->map, &it)) != 0) {
        if (is_series(b, &b->series[at - 1], id)) {
            return (uint32_t)(at - 1);
        }
    }
    return add_series(b, id, hash);
}

/* ---- order ---- */

static int series_cmp(const void *a, const void *b, void *context)
{
    const struct tc__book *book = context;
    const struct tc__series *x = a;
    const struct tc__series *y = b;
    if (x->family != y->family) {
        return tc_slice_cmp(tc__family_name((enum tc__family)x->family),
                            tc__family_name((enum tc__family)y->family));
    }
    const char *x_at = book->heap + x->at;
    const char *y_at = book->heap + y->at;
    for (size_t i = 0; i < TC__TEXT_COUNT; i++) {
        int order = tc_slice_cmp(tc_slice_make(x_at, x->len[i]), tc_slice_make(y_at, y->len[i]));
        if (order != 0) {
            return order;
        }
        x_at += x->len[i];
        y_at += y->len[i];
    }
    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    return (int)x->type - (int)y->type;
}

/* The used slots into items; how many. */
static size_t list_series(struct tc__book *b)
{
    size_t count = 0;
    for (size_t i = 0; i < b->series_count; i++) {
        if (b->series[i].used) {
            b->items[count++] = &b->series[i];
        }
    }
    return count;
}

void tc__book_sort(struct tc__book *b)
{
    if (b->order_known) {
        return;
    }
    size_t count = list_series(b);
    tc_sort_ptrs(b->items, b->items_scratch, count, series_cmp, b);
    for (size_t i = 0; i < count; i++) {
        const struct tc__series *s = b->items[i];
        b->series[s - b->series].order = (uint32_t)i;
    }
    b->order_known = true;
}

/* ---- forgetting ---- */

static int place_cmp(const void *a, const void *b, void *context)
{
    const struct tc__series *x = a;
    const struct tc__series *y = b;
    (void)context;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Moves the texts of used slots together. */
static void pack_heap(struct tc__book *b)
{
    size_t count = list_series(b);
    size_t to = 0;
    tc_sort_ptrs(b->items, b->items_scratch, count, place_cmp, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct tc__series *item = b->items[i];
        struct tc__series *s = &b->series[item - b->series];
        size_t bytes = 0;
        for (size_t k = 0; k < TC__TEXT_COUNT; k++) {
            bytes += s->len[k];
        }
        memmove(b->heap + to, b->heap + s->at, bytes);
        s->at = (uint32_t)to;
        to += bytes;
    }
    b->heap_len = to;
}

uint64_t tc__book_sweep(struct tc__book *b, int64_t before_ns)
{
    uint64_t gone = 0;
    for (size_t i = 0; i < b->series_count; i++) {
        struct tc__series *s = &b->series[i];
        if (s->used && s->cells == 0 && s->seen_ns < before_ns) {
            *s = (struct tc__series){.at = b->free_at};
            b->free_at = (uint32_t)i;
            gone++;
        }
    }
    b->wants_sweep = false;
    if (gone == 0) {
        return 0;
    }
    b->live -= gone;
    pack_heap(b);
    tc_map_reset(&b->map);
    for (size_t i = 0; i < b->series_count; i++) {
        if (b->series[i].used) {
            (void)tc_map_add(&b->map, b->series[i].hash, i + 1, 0);
        }
    }
    /* They may lead to series that are gone. */
    forget_aliases(b);
    b->order_known = false;
    return gone;
}
