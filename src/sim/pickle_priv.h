/* SPDX-License-Identifier: Apache-2.0 */
/* Pickles of protocol 2 with the opcodes that PyTorch's own pickler writes. */
#ifndef TC_SIM_PICKLE_PRIV_H
#define TC_SIM_PICKLE_PRIV_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define PICKLE_MEMO_MAX 96

struct pickle {
    struct tc_buf *b;
    const char *memo[PICKLE_MEMO_MAX]; /* literals, by address */
    uint32_t memo_count;
};

void tc__pickle_begin(struct pickle *p, struct tc_buf *b);
void tc__pickle_end(struct pickle *p);
void tc__pickle_none(struct pickle *p);
void tc__pickle_bool(struct pickle *p, bool value);
void tc__pickle_int(struct pickle *p, int64_t value);
/* A string that is written once and referred to after that: a literal, or one that lives as long
 * as the pickle. */
void tc__pickle_name(struct pickle *p, const char *name);
void tc__pickle_text(struct pickle *p, struct tc_slice text);
/* A string that is appended to p->b between the two; open says what close needs. */
size_t tc__pickle_open_text(struct pickle *p);
void tc__pickle_close_text(struct pickle *p, size_t text);
/* A dict or list: what stands between is its content. */
void tc__pickle_open_dict(struct pickle *p);
void tc__pickle_close_dict(struct pickle *p);
void tc__pickle_open_list(struct pickle *p);
void tc__pickle_close_list(struct pickle *p);
/* The last two values become a tuple. */
void tc__pickle_pair(struct pickle *p);

#endif
