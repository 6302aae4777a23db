/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/window_priv.h"

#include "base/assert.h"

#include <string.h>

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

bool tc__window_open(struct tc_window *w, struct tc_detector_base *base,
                     const struct tc_record_type *type, size_t ring_bytes, int64_t kept_ns)
{
    *w = (struct tc_window){.type = type,
                            .scratch = base->scratch,
                            .kept_ns = kept_ns,
                            .next = base->windows,
                            .lost_ns = INT64_MIN};
    base->windows = w;
    size_t records = ring_bytes / TC_WINDOW_RECORD_BYTES(type->size, type->text_min);
    size_t keys = 0;
    while (keys < TC_RECORD_KEYS_MAX && type->keys[keys][0].size > 0) {
        keys++;
    }
    return tc_ring_init(&w->ring, base->arena, ring_bytes) &&
           (keys == 0 || tc_map_init(&w->index, base->arena, records * keys)) &&
           (type->chain[0].size == 0 || tc_map_init(&w->chains, base->arena, records));
}

static struct tc_slice text_at(const void *record, size_t offset)
{
    return *(const struct tc_slice *)(const void *)((const char *)record + offset);
}

/* The bytes that a field compares. */
static struct tc_slice field_of(const void *record, const struct tc_field *field)
{
    return field->is_text ? text_at(record, field->offset)
                          : tc_slice_make((const char *)record + field->offset, field->size);
}

/* Fields of the usual sizes of numbers are hashed and compared as such: no call for any of them. */
static inline __attribute__((always_inline)) bool
is_number(const void *record, const struct tc_field *field, uint64_t *out)
{
    const char *at = (const char *)record + field->offset;
    uint32_t four = 0;
    switch (field->size) {
    case sizeof *out:
        memcpy(out, at, sizeof *out);
        return true;
    case sizeof four:
        memcpy(&four, at, sizeof four);
        *out = four;
        return true;
    case sizeof *at:
        *out = (unsigned char)*at;
        return true;
    default:
        return false;
    }
}

static uint64_t hash_fields(const void *record, const struct tc_field *field, uint64_t seed)
{
    for (; field->size > 0; field++) {
        uint64_t number = 0;
        seed = is_number(record, field, &number) ? tc_hash_mix(seed, number)
                                                 : tc_slice_hash(field_of(record, field), seed);
    }
    return seed;
}

static bool same_fields(const void *a, const void *b, const struct tc_field *field)
{
    for (; field->size > 0; field++) {
        uint64_t x = 0;
        uint64_t y = 0;
        bool same = is_number(a, field, &x) && is_number(b, field, &y)
                        ? x == y
                        : tc_slice_eq(field_of(a, field), field_of(b, field));
        if (!same) {
            return false;
        }
    }
    return true;
}

/* Where a record is, or belongs. Good until the next put_record into the same map. */
struct place {
    void *record; /* NULL when there is none */
    struct tc_map_slot *slot;
    uint64_t hash;
};

/* The newest record of `map` (w->index or w->chains) with these fields of the key. */
static struct place find_newest(const struct tc_window *w, const struct tc_map *map,
                                const struct tc_field *fields, uint64_t seed, const void *key)
{
    uint64_t hash = hash_fields(key, fields, seed);
    struct place place = {NULL, NULL, hash};
    uint64_t newest = TC_RING_NONE;
    struct tc_map_iter it = tc_map_find(map, hash);
    for (uint64_t pos; (pos = tc_map_next(map, &it)) != 0;) {
        void *record = tc_ring_at(&w->ring, pos);
        if (record != NULL && pos > newest && same_fields(record, key, fields)) {
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

/* One index holds all keys of a type: the number of the key keeps them apart. */
static struct place find_key(const struct tc_window *w, unsigned which, const void *key)
{
    return find_newest(w, &w->index, w->type->keys[which], which + 1, key);
}

static struct place find_chain(const struct tc_window *w, const void *key)
{
    return find_newest(w, &w->chains, w->type->chain, 0, key);
}

/* Makes `place` lead to a record that was just pushed. */
static void put_record(const struct tc_window *w, struct tc_map *map, struct place place,
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

/* The same for w->chains: the record goes in front of its chain. */
static void chain_record(struct tc_window *w, struct place place, void *record)
{
    if (place.record != NULL) {
        /* The record may have left during the push; then the name leads nowhere. */
        ((struct tc_window_head *)record)->older = place.slot->value;
    }
    put_record(w, &w->chains, place, record);
}

void *tc__window_get(const struct tc_window *w, const void *key)
{
    return find_key(w, 0, key).record;
}

void *tc__window_get_by(const struct tc_window *w, unsigned which, const void *key)
{
    return find_key(w, which, key).record;
}

void *tc__window_newest(const struct tc_window *w, const void *key)
{
    return find_chain(w, key).record;
}

void tc__window_index(struct tc_window *w, unsigned which, const void *record)
{
    put_record(w, &w->index, find_key(w, which, record), record);
}

/* A list of offsets ends at 0. */
static size_t text_count(const struct tc_record_type *type)
{
    size_t count = 0;
    while (type->texts[count] != 0) {
        count++;
    }
    return count;
}

static size_t text_bytes(const void *record, const struct tc_record_type *type)
{
    size_t bytes = 0;
    for (size_t i = 0; type->texts[i] != 0; i++) {
        bytes += text_at(record, type->texts[i]).len;
    }
    return bytes;
}

static struct tc_slice *slice_at(void *record, size_t offset)
{
    return (struct tc_slice *)(void *)((char *)record + offset);
}

/*
 * A copy of record with its strings, which may lie in the same window: they pass through scratch.
 * NULL when that is full. The newest record of the ring; not yet found or walked.
 */
static void *push_record(struct tc_window *w, const void *record, int64_t seen_ns)
{
    struct tc_arena *scratch = w->scratch;
    size_t size = w->type->size;
    const size_t *offsets = w->type->texts;
    size_t offset_count = text_count(w->type);
    tc_arena_mark mark = tc_arena_snapshot(scratch);
    size_t text = text_bytes(record, w->type);
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
    TC_ASSERT(size + text <= w->ring.size / 2 - sizeof(struct tc_ring_record));
    char *kept = tc_ring_push_raw(&w->ring, size + text, &pos);
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

void *tc__window_add(struct tc_window *w, const void *record, int64_t seen_ns)
{
    const struct tc_record_type *type = w->type;
    void *kept = push_record(w, record, seen_ns);
    if (kept == NULL) {
        return NULL;
    }
    if (type->keys[0][0].size > 0) {
        tc__window_index(w, 0, kept);
    }
    if (type->chain[0].size > 0 && field_of(kept, &type->chain[0]).len > 0) {
        chain_record(w, find_chain(w, kept), kept);
    }
    return kept;
}

void *tc__window_get_or_add(struct tc_window *w, const void *record, int64_t seen_ns)
{
    void *known = tc__window_get(w, record);
    return known != NULL ? known : tc__window_add(w, record, seen_ns);
}

bool tc__window_update(const struct tc_window *w, void *old, void *record, int64_t seen_ns)
{
    const size_t *offsets = w->type->texts;
    size_t offset_count = text_count(w->type);
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
    memcpy(old, record, w->type->size);
    *(struct tc_window_head *)old = head;
    return true;
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
