/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that are kept once, with small numbers for them. */
#ifndef TC_COMPARE_TEXTS_PRIV_H
#define TC_COMPARE_TEXTS_PRIV_H

#include "base/slice.h"
#include "base/status.h"
#include "base/table/grow.h"
#include "base/table/hash_index.h"

#include <stddef.h>
#include <stdint.h>

struct tc__text {
    size_t at;
    size_t len;
};

struct tc__texts {
    struct tc_hash_index index;
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
