/* SPDX-License-Identifier: Apache-2.0 */
#include "base/assert.h"
#include "directory/directory_priv.h"

#include <stdalign.h>
#include <string.h>

/* Senders share a table: an entry counts for one of so many shares, by the sender's number. */
#define SHARES 256
/* A table is crowded when less than such a part of it is free. */
#define SPARE_SHARE 64
/* Entries that are dealt with in one piece. */
#define TIDY_PIECE 256

bool tc__table_init(struct tc__table *t, const struct tc__table_kind *kind, struct tc_arena *arena,
                    uint32_t max, size_t text_bytes, struct tc__tables *of)
{
    *t = (struct tc__table){.kind = kind, .max = max, .of = of};
    t->entries = tc_arena_alloc_raw(arena, max * kind->size, alignof(max_align_t));
    bool ok = tc_map_init(&t->index, arena, (size_t)max * kind->name_count);
    for (size_t i = 0; i < 2; i++) {
        unsigned char *text = tc_arena_alloc_raw(arena, text_bytes, 1);
        if (text == NULL) {
            return false;
        }
        tc_arena_init(&t->text[i], "directory", text, text_bytes);
    }
    return ok && t->entries != NULL;
}

/* Where in the index a name of key is, or would be; NULL for an entry without such a name. */
static void *find(const struct tc__table *t, const void *key, uint32_t name,
                  struct tc_map_iter *out)
{
    uint64_t hash = t->kind->hash(key, name);
    *out = tc_map_find(&t->index, hash);
    for (uint64_t v; hash != 0 && (v = tc_map_next(&t->index, out)) != 0;) {
        void *entry = tc__table_at(t, v - 1);
        if (t->kind->same(entry, key, name)) {
            return entry;
        }
    }
    return NULL;
}

void *tc__table_find(const struct tc__table *t, const void *key, uint32_t name)
{
    struct tc_map_iter it;
    return find(t, key, name, &it);
}

bool tc__table_has_room(const struct tc__table *t)
{
    const struct tc_arena *text = &t->text[t->half];
    /* Names that were given up stay in the index until room is made. Text counts twice, as the
     * arena of a sanitizer build leaves gaps. */
    return t->count < t->max &&
           t->index.used + t->kind->name_count < (t->index.mask_max + 1) / 4 * 3 &&
           text->size - text->used >= 2 * t->kind->text_count * TC_SCOPE_TEXT_MAX;
}

bool tc__table_is_crowded(const struct tc__table *t)
{
    const struct tc_arena *text = &t->text[t->half];
    uint32_t spare = t->max / SPARE_SHARE;
    return t->count + spare >= t->max ||
           t->index.used + (size_t)spare * t->kind->name_count >= (t->index.mask_max + 1) / 4 * 3 ||
           text->size - text->used <
               text->size / SPARE_SHARE + 2 * t->kind->text_count * TC_SCOPE_TEXT_MAX;
}

static void lead(struct tc__table *t, void *entry, uint32_t name)
{
    struct tc_map_iter it;
    uint64_t value = (uint64_t)((unsigned char *)entry - t->entries) / t->kind->size + 1;
    const void *old = find(t, entry, name, &it);
    if (old != NULL) {
        tc_map_replace(&it, value);
    } else if (it.hash != 0) {
        bool added = tc_map_add(&t->index, it.hash, value, 1);
        TC_ASSERT(added);
    }
}

void *tc__table_write(struct tc__table *t, void *entry, const void *value)
{
    struct tc_arena *text = &t->text[t->half];
    bool is_new = entry == NULL;
    alignas(max_align_t) unsigned char before[TC__ENTRY_BYTES_MAX];
    if (is_new) {
        entry = tc__table_at(t, t->count++);
    } else {
        memcpy(before, entry, t->kind->size);
    }
    memcpy(entry, value, t->kind->size);
    for (size_t i = 0; i < t->kind->text_count; i++) {
        struct tc_slice *s = tc__text_at(entry, t->kind->texts[i]);
        if (s->len == 0) {
            *s = TC_EMPTY;
        } else if (!is_new && tc_slice_eq(*s, *tc__text_at(before, t->kind->texts[i]))) {
            *s = *tc__text_at(before, t->kind->texts[i]);
        } else {
            *s = tc_arena_copy(text, *s);
        }
    }
    TC_ASSERT(tc_arena_ok(text));
    ((struct tc_entry *)entry)->heard = ++t->heard;
    ((struct tc_entry *)entry)->owner = t->of->sender % SHARES;
    t->of->has_grown = true;
    for (uint32_t name = 0; name < t->kind->name_count; name++) {
        lead(t, entry, name);
    }
    return entry;
}

static size_t text_bytes(const struct tc__table *t, struct tc_entry *entry)
{
    size_t bytes = 0;
    for (size_t i = 0; i < t->kind->text_count; i++) {
        bytes += tc__text_at(entry, t->kind->texts[i])->len;
    }
    return bytes;
}

/* Finds out which names lead to an entry. Those that have any are listed with when they were heard
 * of. */
static void list_entry(struct tc__tidy *y, uint32_t at)
{
    struct tc__table *t = y->table;
    struct tc_entry *entry = tc__table_at(t, at);
    entry->leads = 0;
    for (uint32_t name = 0; name < t->kind->name_count; name++) {
        entry->leads |= (uint32_t)(tc__table_find(t, entry, name) == entry) << name;
    }
    if (entry->leads != 0) {
        y->order[y->live++] = (struct tc_sort_pair){entry->heard, at};
    }
}

/* Closes the gap before an entry, with its strings in the other arena and in a new index. */
static void move_entry(struct tc__tidy *y, uint32_t at)
{
    struct tc__table *t = y->table;
    struct tc_arena *text = &t->text[t->half ^ 1];
    struct tc_entry *entry = tc__table_at(t, y->kept);
    if (((struct tc_entry *)tc__table_at(t, at))->leads == 0) {
        return;
    }
    memmove(entry, tc__table_at(t, at), t->kind->size);
    for (size_t k = 0; k < t->kind->text_count; k++) {
        struct tc_slice *s = tc__text_at(entry, t->kind->texts[k]);
        *s = s->len == 0 ? TC_EMPTY : tc_arena_copy(text, *s);
    }
    y->kept++;
    for (uint32_t name = 0; name < t->kind->name_count; name++) {
        if ((entry->leads >> name & 1) != 0) {
            lead(t, entry, name);
        }
    }
}

/* What an entry takes of a table, in bytes of its text: at least its part of that. */
static size_t cost_of(const struct tc__table *t, struct tc_entry *entry)
{
    size_t bytes = text_bytes(t, entry);
    size_t least = t->text[0].size / t->max;
    return bytes > least ? bytes : least;
}

/* The most that a sender keeps when all together keep three quarters: those with less keep all. */
static size_t fair_share(const struct tc__table *t, const size_t costs[SHARES])
{
    size_t low = 0;
    size_t high = t->text[0].size / 4 * 3;
    while (low < high) {
        size_t share = high - (high - low) / 2;
        size_t sum = 0;
        for (size_t i = 0; i < SHARES; i++) {
            sum += costs[i] < share ? costs[i] : share;
        }
        low = sum <= t->text[0].size / 4 * 3 ? share : low;
        high = sum <= t->text[0].size / 4 * 3 ? high : share - 1;
    }
    return low;
}

/* Decides who goes: no name leads to those any more. */
static void share_room(struct tc__tidy *y)
{
    struct tc__table *t = y->table;
    size_t costs[SHARES] = {0};
    size_t taken[SHARES] = {0};
    size_t kept = 0;
    tc_sort_keys(y->order, y->order + y->live, y->live);
    for (size_t i = 0; i < y->live; i++) {
        struct tc_entry *entry = tc__table_at(t, y->order[i].value);
        costs[entry->owner] += cost_of(t, entry);
    }
    size_t share = fair_share(t, costs);
    for (size_t i = y->live; i-- > 0;) {
        struct tc_entry *entry = tc__table_at(t, y->order[i].value);
        taken[entry->owner] += cost_of(t, entry);
        bool fits = taken[entry->owner] <= share;
        kept += fits;
        entry->leads = fits ? entry->leads : 0;
    }
    t->forgotten += y->live - kept;
    tc_arena_reset(&t->text[t->half ^ 1]);
    tc_map_reset(&t->index);
}

static void end_tidy(struct tc__tidy *y)
{
    struct tc__table *t = y->table;
    TC_ASSERT(tc_arena_ok(&t->text[t->half ^ 1]));
    t->count = y->kept;
    t->half ^= 1;
}

bool tc__tidy_some(struct tc__tidy *y)
{
    uint32_t left = y->table->count - y->at;
    uint32_t end = y->at + (left < TIDY_PIECE ? left : TIDY_PIECE);
    if (y->stage == TC__TIDY_SHARE) {
        share_room(y);
        y->stage = TC__TIDY_MOVE;
        return false;
    }
    for (; y->at < end; y->at++) {
        if (y->stage == TC__TIDY_LIST) {
            list_entry(y, y->at);
        } else {
            move_entry(y, y->at);
        }
    }
    if (end < y->table->count) {
        return false;
    }
    y->at = 0;
    if (y->stage == TC__TIDY_LIST) {
        y->stage = TC__TIDY_SHARE;
        return false;
    }
    end_tidy(y);
    return true;
}

void tc__table_make_room(struct tc__table *t, struct tc_sort_pair *order)
{
    struct tc__tidy y = {.table = t, .order = order};
    while (!tc__tidy_some(&y)) {
    }
}
