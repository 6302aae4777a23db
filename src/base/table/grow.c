/* SPDX-License-Identifier: Apache-2.0 */
#include "base/table/grow.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 1023 /* and one item */

tc_status tc_grow_array(void *io_items, size_t *io_cap, size_t needed, size_t max,
                        size_t item_bytes)
{
    if (needed <= *io_cap) {
        return TC_OK;
    }
    max = max < SIZE_MAX / item_bytes ? max : SIZE_MAX / item_bytes;
    if (needed > max) {
        return TC_E_LIMIT;
    }
    size_t first = FIRST_BYTES / item_bytes + 1;
    size_t cap = *io_cap > max / 2 ? max : *io_cap * 2;
    cap = cap < needed ? needed : cap;
    cap = cap < first ? first : cap;
    cap = cap < max ? cap : max;
    void *items = NULL;
    memcpy(&items, io_items, sizeof items);
    items = realloc(items, cap * item_bytes);
    if (items == NULL) {
        return TC_E_NOMEM;
    }
    memcpy(io_items, &items, sizeof items);
    *io_cap = cap;
    return TC_OK;
}

void tc_grow_fini(struct tc_grow *g)
{
    free(g->buf.data);
    *g = (struct tc_grow){0};
}

bool tc_grow_room(struct tc_grow *g, size_t bytes)
{
    if (g->failed || bytes > TC_GROW_MAX - g->buf.len) {
        g->failed = true;
        return false;
    }
    g->failed = tc_grow_items(g->buf.data, g->buf.cap, g->buf.len + bytes, TC_GROW_MAX) != TC_OK;
    return !g->failed;
}

void tc_grow_str(struct tc_grow *g, struct tc_slice s)
{
    if (tc_grow_room(g, s.len)) {
        tc_buf_str(&g->buf, s);
    }
}

void tc_grow_i64(struct tc_grow *g, int64_t value)
{
    if (tc_grow_room(g, TC_PUT_U64_MAX + 4)) {
        tc_buf_i64(&g->buf, value);
    }
}
