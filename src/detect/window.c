/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/window_priv.h"

#include "base/assert.h"

#include <string.h>

/* ---- shares ---- */

/* Room to move records is kept free as long as there is a reason to. */
static void set_slack(struct tc_window *w)
{
    size_t most = w->ring.size_max / 8;
    size_t slack = 2 * w->record_max < most ? 2 * w->record_max : most;
    w->slack = w->share_count < 2 ? 0 : slack;
}

/* The record's bytes are its owner's. */
static void take_share(struct tc_window *w, struct tc_ring_record *rec, uint32_t sender)
{
    rec->owner = (uint16_t)(sender % TC__SHARES);
    uint32_t *share = &w->shares[rec->owner];
    if (*share == 0) {
        w->share_count++;
        set_slack(w);
    }
    *share += rec->len;
    if (rec->len > w->record_max) {
        w->record_max = rec->len;
        set_slack(w);
    }
}

/* The oldest record is about to leave. */
static void give_share(struct tc_window *w)
{
    const struct tc_ring_record *rec = tc_ring_header(&w->ring, w->ring.tail);
    uint32_t *share = &w->shares[rec->owner];
    *share -= rec->len;
    if (*share == 0) {
        w->share_count--;
        set_slack(w);
    }
}

static uint32_t largest_share(const struct tc_window *w)
{
    uint32_t largest = 0;
    for (uint32_t i = 1; i < TC__SHARES; i++) {
        largest = w->shares[i] > w->shares[largest] ? i : largest;
    }
    return largest;
}

/* Whether another sender holds more than the owner of the oldest record. */
static bool is_spared(struct tc_window *w)
{
    uint32_t share = w->shares[tc_ring_header(&w->ring, w->ring.tail)->owner];
    if (w->share_count < 2) {
        return false;
    }
    if (share >= w->shares[w->largest]) {
        w->largest = largest_share(w);
    }
    return share < w->shares[w->largest];
}

uint32_t tc__window_presser(const struct tc_window *w, uint32_t *out_bytes)
{
    uint32_t largest = w->ring.dropped_count == 0 ? 0 : largest_share(w);
    *out_bytes = w->ring.dropped_count == 0 ? 0 : w->shares[largest];
    return largest;
}

/* A record that was last seen then is the oldest now, or new: the detector looks when it is too
 * old. What is behind the oldest is looked at when that has gone. */
static void expire_at(const struct tc_window *w, int64_t seen_ns)
{
    if (w->kept_ns != TC_KEPT_ALWAYS && seen_ns + w->kept_ns < w->base->expires_ns) {
        w->base->expires_ns = seen_ns + w->kept_ns;
    }
}

/* The oldest record has gone: another one is that. */
static void expire_next(const struct tc_window *w)
{
    const struct tc_window_head *oldest = tc_ring_at(&w->ring, w->ring.tail);
    if (oldest != NULL) {
        expire_at(w, oldest->seen_ns);
    }
}

void tc__window_expire(struct tc_window *w, int64_t before_ns)
{
    const struct tc_window_head *oldest;
    while ((oldest = tc_ring_at(&w->ring, w->ring.tail)) != NULL && oldest->seen_ns < before_ns) {
        give_share(w);
        tc_ring_pop(&w->ring);
    }
    expire_next(w);
}

bool tc__window_open(struct tc_window *w, struct tc_detector_base *base,
                     const struct tc_record_type *type, size_t ring_bytes, int64_t kept_ns)
{
    *w = (struct tc_window){.type = type,
                            .base = base,
                            .scratch = base->scratch,
                            .kept_ns = kept_ns,
                            .next = base->windows,
                            .lost_ns = INT64_MIN};
    base->windows = w;
    ring_bytes = tc_detector_room(base, ring_bytes);
    size_t records = ring_bytes / TC_WINDOW_RECORD_BYTES(type->size, type->text_min);
    size_t keys = 0;
    while (keys < TC_RECORD_KEYS_MAX && type->keys[keys][0].size > 0) {
        keys++;
    }
    w->shares = tc_new(base->arena, uint32_t, TC__SHARES);
    return w->shares != NULL && tc_ring_init_growing(&w->ring, base->arena, ring_bytes) &&
           tc_map_init(&w->moved, base->arena, records / 2) &&
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
        if (is_number(record, field, &number)) {
            seed = tc_hash_mix(seed, number);
            continue;
        }
        /* Many texts of a key are empty: then there is nothing to hash but that. */
        struct tc_slice text = field_of(record, field);
        seed = text.len == 0 ? tc_hash_mix(seed, 0) : tc_slice_hash(text, seed);
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

/* The newest record of `map` (w->index or w->chains) with these fields of the key. */
static struct tc_window_place find_newest(const struct tc_window *w, const struct tc_map *map,
                                          const struct tc_field *fields, uint64_t seed,
                                          const void *key)
{
    uint64_t hash = hash_fields(key, fields, seed);
    struct tc_window_place place = {NULL, NULL, hash};
    uint64_t newest = TC_RING_NONE;
    struct tc_map_iter it = tc_map_find(map, hash);
    for (uint64_t pos; (pos = tc_map_next(map, &it)) != 0;) {
        struct tc_window_head *record = tc_ring_at(&w->ring, pos);
        if (record != NULL && record->pos > newest && same_fields(record, key, fields)) {
            newest = record->pos;
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
static struct tc_window_place find_key(const struct tc_window *w, unsigned which, const void *key)
{
    return find_newest(w, &w->index, w->type->keys[which], which + 1, key);
}

static struct tc_window_place find_chain(const struct tc_window *w, const void *key)
{
    return find_newest(w, &w->chains, w->type->chain, 0, key);
}

struct tc_window_place tc__window_find(const struct tc_window *w, const void *key)
{
    return find_key(w, 0, key);
}

/* Where in the ring a record is: its name, unless it was moved. */
static uint64_t pos_of(const struct tc_window *w, const void *record)
{
    const struct tc_ring *r = &w->ring;
    uint64_t pos = ((const struct tc_window_head *)record)->pos;
    if (pos >= r->tail) {
        return pos;
    }
    size_t at = (size_t)((const unsigned char *)record - r->block) - sizeof(struct tc_ring_record);
    pos = (r->tail & ~(uint64_t)(r->size - 1)) + at;
    return pos < r->tail ? pos + r->size : pos;
}

/* Makes `place` lead to a record of the ring. */
static void put_record(const struct tc_window *w, struct tc_map *map, struct tc_window_place place,
                       const void *record)
{
    uint64_t pos = pos_of(w, record);
    if (place.slot != NULL) {
        place.slot->value = pos;
        return;
    }
    /* The maps have room for every record of the ring. */
    bool added = tc_map_add(map, place.hash, pos, w->ring.tail);
    TC_ASSERT(added);
}

/* Puts the newest record in front of its chain. A chain that is the same as the last one is not
 * looked for: its slot stays where it is until another one is put into the map. */
static void chain_record(struct tc_window *w, void *record)
{
    struct tc_window_head *last = tc_ring_at(&w->ring, w->chained);
    bool again = w->chain_slot != NULL && last != NULL && same_fields(last, record, w->type->chain);
    struct tc_window_place place = {last, w->chain_slot, 0};
    if (!again) {
        place = find_chain(w, record);
    }
    if (place.record != NULL) {
        ((struct tc_window_head *)record)->older = ((struct tc_window_head *)place.record)->pos;
    }
    put_record(w, &w->chains, place, record);
    w->chained = pos_of(w, record);
    w->chain_slot = place.slot; /* of a new one it is found the next time */
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

static struct tc_slice *slice_at(void *record, size_t offset)
{
    return (struct tc_slice *)(void *)((char *)record + offset);
}

/* ---- room ---- */

static uint64_t name_hash(uint64_t pos)
{
    return tc_hash_mix(pos, 1);
}

void *tc__window_moved(const struct tc_window *w, uint64_t pos)
{
    struct tc_map_iter it = tc_map_find(&w->moved, name_hash(pos));
    for (uint64_t at; (at = tc_map_next(&w->moved, &it)) != 0;) {
        struct tc_window_head *record = tc_ring_at(&w->ring, at);
        if (record != NULL && record->pos == pos) {
            return record;
        }
    }
    return NULL;
}

void *tc__window_first_after(const struct tc_window *w, uint64_t pos)
{
    uint64_t at = TC_RING_NONE;
    struct tc_window_head *first = NULL;
    struct tc_window_head *record = tc_ring_oldest(&w->ring, &at);
    for (; record != NULL; record = tc_ring_next(&w->ring, at, &at)) {
        bool sooner = record->pos > pos && (first == NULL || record->pos < first->pos);
        first = sooner ? record : first;
    }
    return first;
}

size_t tc__window_crowder(const struct tc_window *w, const uint64_t *names, size_t count)
{
    uint32_t held[TC__SHARES] = {0};
    uint32_t most = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tc_ring_record *record = tc__window_at(w, names[i]);
        if (record == NULL) {
            return i;
        }
        uint32_t owner = (record - 1)->owner;
        held[owner]++;
        most = held[owner] > held[most] ? owner : most;
    }
    size_t found = count;
    for (size_t i = 0; i < count; i++) {
        const struct tc_ring_record *record = tc__window_at(w, names[i]);
        bool crowds = (record - 1)->owner == most;
        found = crowds && (found == count || names[i] < names[found]) ? i : found;
    }
    return found;
}

/* What a map says of a record under a hash leads to where it is now. */
static bool redirect(const struct tc_map *map, uint64_t hash, uint64_t from, uint64_t to)
{
    struct tc_map_iter it = tc_map_find(map, hash);
    for (uint64_t pos; (pos = tc_map_next(map, &it)) != 0;) {
        if (pos == from) {
            tc_map_replace(&it, to);
            return true;
        }
    }
    return false;
}

static void redirect_keys(const struct tc_window *w, const void *record, uint64_t from, uint64_t to)
{
    const struct tc_record_type *type = w->type;
    for (unsigned i = 0; i < TC_RECORD_KEYS_MAX && type->keys[i][0].size > 0; i++) {
        (void)redirect(&w->index, hash_fields(record, type->keys[i], i + 1), from, to);
    }
    if (type->chain[0].size > 0) {
        (void)redirect(&w->chains, hash_fields(record, type->chain, 0), from, to);
    }
}

/* Moves the oldest record behind the youngest; false when there is no room to do it. */
static bool move_oldest(struct tc_window *w)
{
    struct tc_ring *r = &w->ring;
    uint64_t from = r->tail;
    const struct tc_ring_record *old = tc_ring_header(r, from);
    const char *old_bytes = (const char *)(old + 1);
    size_t len = old->len - sizeof *old;
    if (!tc_ring_has_room(r, old->len) ||
        (tc_map_is_full(&w->moved) && !tc_map_sweep(&w->moved, from))) {
        return false;
    }
    uint64_t to = TC_RING_NONE;
    char *kept = tc_ring_push_raw(r, len, &to);
    tc_ring_header(r, to)->owner = old->owner;
    memcpy(kept, old_bytes, len);
    for (size_t i = 0; w->type->texts[i] != 0; i++) {
        struct tc_slice *s = slice_at(kept, w->type->texts[i]);
        s->ptr = s->len == 0 ? kept : kept + (s->ptr - old_bytes);
    }
    uint64_t name = ((const struct tc_window_head *)(const void *)kept)->pos;
    redirect_keys(w, kept, from, to);
    if (!redirect(&w->moved, name_hash(name), from, to)) {
        tc_map_insert(&w->moved, name_hash(name), to);
    }
    tc_ring_pop(r);
    return true;
}

/* The oldest record goes, or makes way for the next. */
static void press_oldest(struct tc_window *w)
{
    uint64_t pos = TC_RING_NONE;
    const struct tc_window_head *oldest = tc_ring_oldest(&w->ring, &pos);
    int64_t seen_ns = oldest->seen_ns;
    bool over = w->kept_ns != TC_KEPT_ALWAYS && w->base->now_ns != TC_TIME_NONE &&
                seen_ns < w->base->now_ns - w->kept_ns;
    if (over || !is_spared(w) || !move_oldest(w)) {
        give_share(w);
        tc_ring_drop(&w->ring);
        w->lost_ns = seen_ns > w->lost_ns ? seen_ns : w->lost_ns;
    }
    expire_next(w);
}

/* Uses more of the ring's block; strings of records that lie elsewhere now are there too. */
static bool grow(struct tc_window *w)
{
    struct tc_ring *r = &w->ring;
    struct tc_ring_shift shift;
    if (!tc_ring_grow(r, &shift)) {
        return false;
    }
    for (uint64_t pos = shift.from; pos < shift.to; pos += tc_ring_header(r, pos)->len) {
        struct tc_ring_record *rec = tc_ring_header(r, pos);
        char *record = (char *)(rec + 1);
        for (size_t i = 0; rec->filler == 0 && w->type->texts[i] != 0; i++) {
            struct tc_slice *s = slice_at(record, w->type->texts[i]);
            s->ptr = s->len == 0 ? record : s->ptr + shift.by;
        }
    }
    return true;
}

/* Makes room for a record that takes `need`. */
static TC_SELDOM void make_room(struct tc_window *w, size_t need)
{
    struct tc_ring *r = &w->ring;
    while ((need > r->size / 2 || !tc_ring_has_room(r, need + w->slack)) && grow(w)) {
    }
    /* Once around at most: of the largest share there is a record among them. */
    uint64_t end = r->head;
    while (r->tail < r->head && !tc_ring_has_room(r, need + w->slack) &&
           (r->tail < end || !tc_ring_has_room(r, need))) {
        press_oldest(w);
    }
}

/* Whose a new record is: the sender's of the event, or else the owner's of what it is a copy of. */
static uint32_t sender_of(const struct tc_window *w, const void *record)
{
    const struct tc_ring_record *like =
        w->base->sender != 0 ? NULL
                             : tc__window_at(w, ((const struct tc_window_head *)record)->pos);
    return like == NULL ? w->base->sender : (like - 1)->owner;
}

/* What a record takes in the ring with its strings; whether it or one of them lies there. */
struct extent {
    size_t bytes;
    bool is_inside;
};

static bool is_inside(const struct tc_window *w, const void *p)
{
    return (uintptr_t)p - (uintptr_t)w->ring.block < w->ring.size_max;
}

static struct extent extent_of(const struct tc_window *w, const void *record)
{
    struct extent e = {w->type->size, is_inside(w, record)};
    for (size_t i = 0; w->type->texts[i] != 0; i++) {
        struct tc_slice s = text_at(record, w->type->texts[i]);
        e.bytes += s.len;
        e.is_inside = e.is_inside || (s.len > 0 && is_inside(w, s.ptr));
    }
    return e;
}

/* The record with its strings behind it, which are its own. */
static void copy_record(const struct tc_record_type *type, const void *record, char *to)
{
    char *text = to + type->size;
    memcpy(to, record, type->size);
    for (size_t i = 0; type->texts[i] != 0; i++) {
        struct tc_slice *s = slice_at(to, type->texts[i]);
        if (s->len > 0) {
            memcpy(text, s->ptr, s->len);
        }
        s->ptr = text;
        text += s->len;
    }
}

/*
 * A copy of record with its strings. What lies in the same window may have to make room for it, and
 * passes through scratch. NULL when that is full. The newest record of the ring; not yet found or
 * walked.
 */
static void *push_record(struct tc_window *w, const void *record, int64_t seen_ns)
{
    struct tc_arena *scratch = w->scratch;
    tc_arena_mark mark = tc_arena_snapshot(scratch);
    struct extent e = extent_of(w, record);
    uint64_t pos = TC_RING_NONE;
    uint32_t sender = sender_of(w, record);
    size_t need = tc_ring_need(e.bytes);
    TC_ASSERT(e.bytes <= w->ring.size_max / 2 - sizeof(struct tc_ring_record));
    if (e.is_inside) {
        char *copy = tc_arena_alloc_raw(scratch, e.bytes, _Alignof(max_align_t));
        if (copy == NULL) {
            return NULL;
        }
        copy_record(w->type, record, copy);
        record = copy;
    }
    if (w->ring.head + need + w->slack > w->ring.limit) {
        make_room(w, need);
    }
    char *kept = tc_ring_push_raw(&w->ring, e.bytes, &pos);
    take_share(w, tc_ring_header(&w->ring, pos), sender);
    copy_record(w->type, record, kept);
    *(struct tc_window_head *)(void *)kept = (struct tc_window_head){pos, TC_RING_NONE, seen_ns};
    expire_at(w, seen_ns);
    tc_arena_rewind(scratch, mark);
    return kept;
}

static bool has_key(const struct tc_window *w)
{
    return w->type->keys[0][0].size > 0;
}

void *tc__window_add_at(struct tc_window *w, const struct tc_window_place *place,
                        const void *record, int64_t seen_ns)
{
    const struct tc_record_type *type = w->type;
    void *kept = push_record(w, record, seen_ns);
    if (kept == NULL) {
        return NULL;
    }
    if (place != NULL) {
        put_record(w, &w->index, *place, kept);
    }
    if (type->chain[0].size > 0 && field_of(kept, &type->chain[0]).len > 0) {
        chain_record(w, kept);
    }
    return kept;
}

void *tc__window_add(struct tc_window *w, const void *record, int64_t seen_ns)
{
    struct tc_window_place place =
        has_key(w) ? find_key(w, 0, record) : (struct tc_window_place){0};
    return tc__window_add_at(w, has_key(w) ? &place : NULL, record, seen_ns);
}

void *tc__window_get_or_add(struct tc_window *w, const void *record, int64_t seen_ns)
{
    struct tc_window_place place = find_key(w, 0, record);
    return place.record != NULL ? place.record : tc__window_add_at(w, &place, record, seen_ns);
}

bool tc__window_update(const struct tc_window *w, void *old, void *record, int64_t seen_ns)
{
    const size_t *offsets = w->type->texts;
    for (size_t i = 0; offsets[i] != 0; i++) {
        if (!tc_slice_eq(*slice_at(old, offsets[i]), *slice_at(record, offsets[i]))) {
            return false;
        }
    }
    for (size_t i = 0; offsets[i] != 0; i++) {
        *slice_at(record, offsets[i]) = *slice_at(old, offsets[i]);
    }
    struct tc_window_head head = *(struct tc_window_head *)old;
    head.seen_ns = seen_ns;
    memcpy(old, record, w->type->size);
    *(struct tc_window_head *)old = head;
    return true;
}
