/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that are kept once, with small numbers for them; and the index that finds them. */
#ifndef TC_COMPARE_TEXTS_PRIV_H
#define TC_COMPARE_TEXTS_PRIV_H

#include "base/grow.h"
#include "base/slice.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Finds items by hash; the items themselves are elsewhere, under the numbers 0 .. count-1. */
struct tc__text_index {
    uint64_t *hashes; /* of each item */
    size_t hash_cap;
    uint32_t *slots; /* item + 1; 0: free */
    size_t slot_count;
    size_t count;
};

#define TC__TEXT_INDEX_NONE UINT32_MAX

/* The next item of that hash behind `*io_at`, which is 0 to begin with; TC__TEXT_INDEX_NONE. */
uint32_t tc__text_index_next(const struct tc__text_index *ix, uint64_t hash, size_t *io_at);
/* Adds item number ix->count. */
TC_CHECKED tc_status tc__text_index_add(struct tc__text_index *ix, uint64_t hash, size_t max);
void tc__text_index_fini(struct tc__text_index *ix);

struct tc__text {
    size_t at;
    size_t len;
};

struct tc__texts {
    struct tc__text_index index;
    struct tc_grow text;
    struct tc__text *items;
    size_t cap;
};

#define TC__TEXTS_MAX (1u << 20)

/* The number of a text, which is kept when it is new. TC_E_LIMIT, TC_E_NOMEM. */
TC_CHECKED tc_status tc__texts_id(struct tc__texts *n, struct tc_slice text, uint32_t *out_id);
/* Good until the next text is kept. */
struct tc_slice tc__texts_text(const struct tc__texts *n, uint32_t id);
void tc__texts_fini(struct tc__texts *n);

#endif
