/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include "base/assert.h"

#include <string.h>

#define SLOTS_MIN 1024

bool tc_map_init(struct tc_map *m, struct tc_arena *arena, size_t count)
{
    size_t capacity = 16;
    /* A quarter to spare: a map that is nearly full of live entries would be rebuilt all the time.
     */
    while (capacity / 4 * 3 <= count + count / 4) {
        capacity *= 2;
    }
    m->slots = tc_new(arena, struct tc_map_slot, capacity);
    m->spare = tc_new(arena, struct tc_map_slot, capacity);
    m->mask_max = capacity - 1;
    m->mask = capacity < SLOTS_MIN ? capacity - 1 : SLOTS_MIN - 1;
    m->used = 0;
    return m->spare != NULL;
}

void tc_map_reset(struct tc_map *m)
{
    memset(m->slots, 0, (m->mask + 1) * sizeof *m->slots);
    m->used = 0;
}

static void insert(struct tc_map *m, uint64_t hash, uint64_t value)
{
    size_t at = (size_t)hash & m->mask;
    while (m->slots[at].value != 0) {
        at = (at + 1) & m->mask;
    }
    m->slots[at] = (struct tc_map_slot){hash, value};
    m->used++;
}

static size_t limit(const struct tc_map *m)
{
    return (m->mask + 1) / 4 * 3;
}

/* Moves the live entries to the spare half, with as many slots as they need: at most a third
 * of them taken, so that many inserts follow before the next move. */
static void rebuild(struct tc_map *m, uint64_t floor)
{
    struct tc_map_slot *old = m->slots;
    size_t old_mask = m->mask;
    size_t live = 0;
    for (size_t i = 0; i <= old_mask; i++) {
        live += old[i].value != 0 && old[i].value >= floor;
    }
    m->mask = m->mask_max < SLOTS_MIN ? m->mask_max : SLOTS_MIN - 1;
    while (m->mask < m->mask_max && m->mask / 3 < live) {
        m->mask = m->mask * 2 + 1;
    }
    m->slots = m->spare;
    m->spare = old;
    tc_map_reset(m);
    for (size_t i = 0; i <= old_mask; i++) {
        if (old[i].value != 0 && old[i].value >= floor) {
            insert(m, old[i].hash, old[i].value);
        }
    }
}

bool tc_map_add(struct tc_map *m, uint64_t hash, uint64_t value, uint64_t floor)
{
    TC_ASSERT(value != 0);
    if (m->used >= limit(m)) {
        rebuild(m, floor);
        if (m->used >= limit(m)) {
            return false;
        }
    }
    insert(m, hash, value);
    return true;
}
