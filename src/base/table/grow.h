/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that grows up to a bound. A text of unknown length is a tc_buf: after a failure nothing is
 * added and `failed` stays set, so that one check at the end is enough. Arrays: tc_grow_items.
 */
#ifndef TC_BASE_TABLE_GROW_H
#define TC_BASE_TABLE_GROW_H

#include "base/buf.h"
#include "base/digest.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_GROW_MAX ((size_t)256 << 20)

struct tc_grow {
    struct tc_buf buf;
    bool failed; /* no memory, or longer than TC_GROW_MAX */
};

/* Starts as all zero. Frees what it holds; empty again. */
void tc_grow_fini(struct tc_grow *g);
/* Room for `bytes` more, to be used with the tc_buf functions on g->buf; false once it failed. */
bool tc_grow_room(struct tc_grow *g, size_t bytes);

void tc_grow_str(struct tc_grow *g, struct tc_slice s);
void tc_grow_i64(struct tc_grow *g, int64_t value);

/*
 * An array on the heap that doubles: room for `needed` items of it, at most `max`. `items` and
 * `cap` are the variables that hold it and how many items it has room for; NULL and 0 to begin
 * with. TC_E_LIMIT, TC_E_NOMEM: it is as it was. The owner frees it.
 */
#define tc_grow_items(items, cap, needed, max) \
    tc_grow_array(&(items), &(cap), (needed), (max), sizeof *(items))
/* The same for items whose type the caller does not know; io_items is where the pointer is. */
TC_CHECKED tc_status tc_grow_array(void *io_items, size_t *io_cap, size_t needed, size_t max,
                                   size_t item_bytes);

#define tc_grow_lit(g, s) tc_grow_str((g), TC_LIT(s))

static inline struct tc_slice tc_grow_slice(const struct tc_grow *g)
{
    return tc_buf_slice(&g->buf);
}

#endif
