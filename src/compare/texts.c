/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/texts_priv.h"

#include <stdlib.h>

tc_status tc__texts_id(struct tc__texts *n, struct tc_slice text, uint32_t *out_id)
{
    uint64_t hash = tc_slice_hash(text, 0);
    size_t at = 0;
    for (;;) {
        uint32_t item = tc_hash_index_next(&n->index, hash, &at);
        if (item == TC_HASH_INDEX_NONE) {
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
    TC_TRY(tc_hash_index_add(&n->index, hash, TC__TEXTS_MAX));
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
    tc_hash_index_fini(&n->index);
    tc_grow_fini(&n->text);
    free(n->items);
    *n = (struct tc__texts){0};
}
