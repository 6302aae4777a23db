/* SPDX-License-Identifier: Apache-2.0 */
#include "base/table/map.h"

#include <string.h>

#define SLOTS_MIN 256 /* a page: an engine has some eighty maps, most of them hardly used */

bool tc_map_init(struct tc_map *m, struct tc_arena *arena, size_t count)
{
    size_t capacity = 16;
    /* A quarter to spare: a map that is nearly full of live entries would be rebuilt all the time.
     */
    while (capacity / 4 * 3 <= count + count / 4) {
        capacity *= 2;
    }
    size_t bytes = capacity * sizeof *m->slots;
    m->slots = tc_arena_alloc_raw(arena, bytes, alignof(struct tc_map_slot));
    m->spare = tc_arena_alloc_raw(arena, bytes, alignof(struct tc_map_slot));
    m->mask_max = capacity - 1;
    m->mask = capacity < SLOTS_MIN ? capacity - 1 : SLOTS_MIN - 1;
    m->slots_most = m->spare_most = 0;
    if (m->spare == NULL) {
        return false;
    }
    tc_map_reset(m);
    return true;
}

void tc_map_reset(struct tc_map *m)
{
    memset(m->slots, 0, (m->mask + 1) * sizeof *m->slots);
    m->slots_most = m->mask + 1 > m->slots_most ? m->mask + 1 : m->slots_most;
    m->used = 0;
}

/* Moves the live entries to the spare half, with as many slots as they need: at most a third
 * of them taken, so that many inserts follow before the next move. */
bool tc_map_sweep(struct tc_map *m, uint64_t floor)
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
    size_t old_most = m->slots_most;
    m->slots = m->spare;
    m->slots_most = m->spare_most;
    m->spare = old;
    m->spare_most = old_most;
    tc_map_reset(m);
    for (size_t i = 0; i <= old_mask; i++) {
        if (old[i].value != 0 && old[i].value >= floor) {
            tc_map_insert(m, old[i].hash, old[i].value);
        }
    }
    return !tc_map_is_full(m);
}
