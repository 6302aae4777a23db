/* SPDX-License-Identifier: Apache-2.0 */
/* What is there and what is left, minute by minute. */
#include "cli/migrate/migrate.h"

#include <stdlib.h>

void tc_migrate_minutes_fini(struct tc_migrate_minutes *m)
{
    free(m->items);
    *m = (struct tc_migrate_minutes){0};
}

tc_status tc_migrate_minutes_add(struct tc_migrate_minutes *m, const struct tc_minute *minute)
{
    TC_TRY(tc_grow_items(m->items, m->cap, m->count + 1, TC_MIGRATE_MINUTES_MAX));
    m->items[m->count++] = *minute;
    return TC_OK;
}

uint64_t tc_migrate_minutes_rows(const struct tc_migrate_minutes *m)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < m->count; i++) {
        rows += m->items[i].rows;
    }
    return rows;
}

static int by_time(const void *key, const void *item)
{
    int64_t want = *(const int64_t *)key;
    int64_t have = ((const struct tc_minute *)item)->minute_us;
    return want < have ? -1 : want > have;
}

/* 0: it is not there. */
static uint64_t rows_in_minute(const struct tc_migrate_minutes *m, int64_t minute_us)
{
    const struct tc_minute *found =
        m->count == 0 ? NULL : bsearch(&minute_us, m->items, m->count, sizeof *m->items, by_time);
    return found == NULL ? 0 : found->rows;
}

bool tc_migrate_minutes_fit(const struct tc_migrate_minutes *source,
                            const struct tc_migrate_minutes *target, struct tc_minute *out)
{
    for (size_t i = 0; i < target->count; i++) {
        if (rows_in_minute(source, target->items[i].minute_us) != target->items[i].rows) {
            *out = target->items[i];
            return false;
        }
    }
    return true;
}

bool tc_migrate_next_chunk(const struct tc_migrate_minutes *source,
                           const struct tc_migrate_minutes *target, bool there, uint64_t rows_max,
                           size_t *io_at, struct tc_migrate_chunk *out)
{
    bool begun = false;
    for (; *io_at < source->count; (*io_at)++) {
        const struct tc_minute *minute = &source->items[*io_at];
        bool is_there = rows_in_minute(target, minute->minute_us) > 0;
        if (begun && (is_there != there || out->rows + minute->rows > rows_max)) {
            break;
        }
        if (is_there != there) {
            continue;
        }
        if (!begun) {
            *out = (struct tc_migrate_chunk){.from_us = minute->minute_us};
        }
        begun = true;
        out->rows += minute->rows;
        if (minute->minute_us == TC_NO_TIME) { /* is read by itself */
            out->to_us = TC_NO_TIME;
            (*io_at)++;
            break;
        }
        out->to_us = minute->minute_us + TC_MINUTE_US;
    }
    return begun;
}
