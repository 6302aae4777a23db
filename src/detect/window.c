/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/window_priv.h"

#include "base/assert.h"

#include <string.h>

bool tc__window_init(struct tc_window *w, struct tc_arena *arena, size_t ring_bytes, size_t records,
                     size_t names, bool chains)
{
    *w = (struct tc_window){.lost_ns = INT64_MIN};
    return tc_ring_init(&w->ring, arena, ring_bytes) &&
           tc_map_init(&w->index, arena, records * names) &&
           (!chains || tc_map_init(&w->chains, arena, records));
}

void tc__window_expire(struct tc_window *w, int64_t before_ns)
{
    uint64_t pos = TC_RING_NONE;
    for (;;) {
        const struct tc_window_head *oldest = tc_ring_oldest(&w->ring, &pos);
        if (oldest == NULL || oldest->seen_ns >= before_ns) {
            return;
        }
        tc_ring_pop(&w->ring);
    }
}

struct tc_window_place tc__window_find(const struct tc_window *w, const struct tc_map *map,
                                       uint64_t hash, tc_window_same_fn same, const void *key)
{
    struct tc_window_place place = {NULL, NULL, hash};
    uint64_t newest = TC_RING_NONE;
    struct tc_map_iter it = tc_map_find(map, hash);
    for (uint64_t pos; (pos = tc_map_next(map, &it)) != 0;) {
        void *record = tc_ring_at(&w->ring, pos);
        if (record != NULL && pos > newest && same(record, key)) {
            newest = pos;
            place.record = record;
            place.slot = it.slot;
        } else if (record == NULL && place.slot == NULL) {
            /* A slot whose record has left serves the next one under the same hash. */
            place.slot = it.slot;
        }
    }
    return place;
}

static struct tc_slice *slice_at(void *record, size_t offset)
{
    return (struct tc_slice *)(void *)((char *)record + offset);
}

void *tc__window_push(struct tc_window *w, struct tc_arena *scratch, const void *record,
                      size_t size, const size_t *offsets, size_t offset_count, int64_t seen_ns)
{
    tc_arena_mark mark = tc_arena_snapshot(scratch);
    size_t text = 0;
    for (size_t i = 0; i < offset_count; i++) {
        text += ((const struct tc_slice *)(const void *)((const char *)record + offsets[i]))->len;
    }
    char *copy = tc_arena_alloc_raw(scratch, size + text, _Alignof(max_align_t));
    if (copy == NULL) {
        return NULL;
    }
    memcpy(copy, record, size);
    size_t at = size;
    for (size_t i = 0; i < offset_count; i++) {
        struct tc_slice s = *slice_at(copy, offsets[i]);
        if (s.len > 0) {
            memcpy(copy + at, s.ptr, s.len);
            at += s.len;
        }
    }

    uint64_t dropped = w->ring.dropped_count;
    uint64_t pos = TC_RING_NONE;
    char *kept = tc_ring_push(&w->ring, size + text, &pos);
    TC_ASSERT(kept != NULL);
    memcpy(kept, copy, size + text);
    at = size;
    for (size_t i = 0; i < offset_count; i++) {
        struct tc_slice *s = slice_at(kept, offsets[i]);
        s->ptr = kept + at;
        at += s->len;
    }
    *(struct tc_window_head *)(void *)kept = (struct tc_window_head){pos, TC_RING_NONE, seen_ns};
    if (w->ring.dropped_count != dropped) {
        /* Records leave in the order in which they came: the oldest left bounds the ones gone. */
        const struct tc_window_head *oldest = tc_ring_oldest(&w->ring, &pos);
        w->lost_ns = oldest->seen_ns > w->lost_ns ? oldest->seen_ns : w->lost_ns;
    }
    tc_arena_rewind(scratch, mark);
    return kept;
}

bool tc__window_rewrite(void *old, void *record, size_t size, const size_t *offsets,
                        size_t offset_count, int64_t seen_ns)
{
    for (size_t i = 0; i < offset_count; i++) {
        if (!tc_slice_eq(*slice_at(old, offsets[i]), *slice_at(record, offsets[i]))) {
            return false;
        }
    }
    for (size_t i = 0; i < offset_count; i++) {
        *slice_at(record, offsets[i]) = *slice_at(old, offsets[i]);
    }
    struct tc_window_head head = *(struct tc_window_head *)old;
    head.seen_ns = seen_ns;
    memcpy(old, record, size);
    *(struct tc_window_head *)old = head;
    return true;
}

void tc__window_put(struct tc_window *w, struct tc_map *map, struct tc_window_place place,
                    const void *record)
{
    uint64_t pos = ((const struct tc_window_head *)record)->pos;
    if (place.slot != NULL) {
        place.slot->value = pos;
        return;
    }
    /* The maps have room for every record of the ring. */
    bool added = tc_map_add(map, place.hash, pos, w->ring.tail);
    TC_ASSERT(added);
}

void tc__window_chain(struct tc_window *w, struct tc_window_place place, void *record)
{
    if (place.record != NULL) {
        /* The record may have left during the push; then the name leads nowhere. */
        ((struct tc_window_head *)record)->older = place.slot->value;
    }
    tc__window_put(w, &w->chains, place, record);
}

struct tc_span tc__span_make(int64_t time_ns, struct tc_raw raw)
{
    return (struct tc_span){time_ns, time_ns, 1, raw, raw};
}

bool tc__raw_before(struct tc_raw a, struct tc_raw b)
{
    return a.source == b.source ? a.offset < b.offset : a.source < b.source;
}

void tc__span_add(struct tc_span *span, int64_t time_ns, struct tc_raw raw)
{
    span->count++;
    if (time_ns < span->first_ns ||
        (time_ns == span->first_ns && tc__raw_before(raw, span->first_raw))) {
        span->first_ns = time_ns;
        span->first_raw = raw;
    }
    if (time_ns > span->last_ns ||
        (time_ns == span->last_ns && tc__raw_before(raw, span->last_raw))) {
        span->last_ns = time_ns;
        span->last_raw = raw;
    }
}

int64_t tc__span_inside(const struct tc_span *span, int64_t from_ns, int64_t to_ns, int64_t *out_ns,
                        struct tc_raw *out_raw)
{
    bool first_in = span->first_ns >= from_ns && span->first_ns <= to_ns;
    bool last_in = span->last_ns >= from_ns && span->last_ns <= to_ns;
    if (!first_in && !last_in) {
        return 0;
    }
    *out_ns = last_in ? span->last_ns : span->first_ns;
    *out_raw = last_in ? span->last_raw : span->first_raw;
    return first_in && last_in ? span->count : span->count - 1;
}
