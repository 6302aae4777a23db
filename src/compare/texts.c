/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/texts_priv.h"

#include <stdlib.h>

#define SLOTS_FIRST 64

/* ---- the index ---- */

uint32_t tc__text_index_next(const struct tc__text_index *ix, uint64_t hash, size_t *io_at)
{
    for (; *io_at < ix->slot_count; (*io_at)++) {
        uint32_t slot = ix->slots[(hash + *io_at) & (ix->slot_count - 1)];
        if (slot == 0) {
            break;
        }
        if (ix->hashes[slot - 1] == hash) {
            (*io_at)++;
            return slot - 1;
        }
    }
    return TC__TEXT_INDEX_NONE;
}

static void place(struct tc__text_index *ix, uint32_t item)
{
    size_t at = ix->hashes[item] & (ix->slot_count - 1);
    while (ix->slots[at] != 0) {
        at = (at + 1) & (ix->slot_count - 1);
    }
    ix->slots[at] = item + 1;
}

static tc_status grow_slots(struct tc__text_index *ix)
{
    size_t wanted = ix->slot_count == 0 ? SLOTS_FIRST : 2 * ix->slot_count;
    uint32_t *slots = calloc(wanted, sizeof *slots);
    if (slots == NULL) {
        return TC_E_NOMEM;
    }
    free(ix->slots);
    ix->slots = slots;
    ix->slot_count = wanted;
    for (uint32_t item = 0; item < ix->count; item++) {
        place(ix, item);
    }
    return TC_OK;
}

tc_status tc__text_index_add(struct tc__text_index *ix, uint64_t hash, size_t max)
{
    TC_TRY(tc_grow_items(ix->hashes, ix->hash_cap, ix->count + 1, max));
    if (2 * (ix->count + 1) > ix->slot_count) {
        TC_TRY(grow_slots(ix));
    }
    ix->hashes[ix->count] = hash;
    place(ix, (uint32_t)ix->count);
    ix->count++;
    return TC_OK;
}

void tc__text_index_fini(struct tc__text_index *ix)
{
    free(ix->hashes);
    free(ix->slots);
    *ix = (struct tc__text_index){0};
}

/* ---- names ---- */

tc_status tc__texts_id(struct tc__texts *n, struct tc_slice text, uint32_t *out_id)
{
    uint64_t hash = tc_slice_hash(text, 0);
    size_t at = 0;
    for (;;) {
        uint32_t item = tc__text_index_next(&n->index, hash, &at);
        if (item == TC__TEXT_INDEX_NONE) {
            break;
        }
        if (tc_slice_eq(tc__texts_text(n, item), text)) {
            *out_id = item;
            return TC_OK;
        }
    }
    TC_TRY(tc_grow_items(n->items, n->cap, n->index.count + 1, TC__TEXTS_MAX));
    size_t start = n->text.buf.len;
    tc_grow_str(&n->text, text);
    if (n->text.failed) {
        return TC_E_NOMEM;
    }
    TC_TRY(tc__text_index_add(&n->index, hash, TC__TEXTS_MAX));
    *out_id = (uint32_t)(n->index.count - 1);
    n->items[*out_id] = (struct tc__text){start, text.len};
    return TC_OK;
}

struct tc_slice tc__texts_text(const struct tc__texts *n, uint32_t id)
{
    return n->items[id].len == 0
               ? TC_EMPTY
               : tc_slice_make(n->text.buf.data + n->items[id].at, n->items[id].len);
}

void tc__texts_fini(struct tc__texts *n)
{
    tc__text_index_fini(&n->index);
    tc_grow_fini(&n->text);
    free(n->items);
    *n = (struct tc__texts){0};
}
