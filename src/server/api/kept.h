/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that are kept while what they were made from has not changed, so that a hundred open
 * pages, or a page that is asked for every second, cost one query. A bounded table: what was asked
 * for longest ago goes first. Pure: the time is an argument. The loop's.
 */
#ifndef TC_SERVER_API_KEPT_H
#define TC_SERVER_API_KEPT_H

#include "answers/question.h"
#include "base/slice.h"
#include "server/api/body.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_kept;

/* What was asked, and how it is sent. Borrowed. */
struct tc_kept_key {
    const struct tc_question *question;
    struct tc_slice path;
    struct tc_slice query;
    bool is_gzip; /* who asks takes gzip */
};

/* What an answer was made from, as numbers that grow with each change. */
struct tc_kept_from {
    uint64_t told; /* by people and commands, or an incident: they look for it at once */
    uint64_t fed;  /* by what streams in: a few seconds later is early enough */
    int64_t at_ns; /* monotonic: when it was asked for */
};

enum tc_kept_use {
    TC_KEPT_NONE,
    TC_KEPT_GOOD,
    TC_KEPT_OLD, /* it may be given once more: somebody should ask anew */
};

/* NULL: no memory. At most `bytes` of bodies. */
struct tc_kept *tc_kept_create(size_t bytes);
void tc_kept_destroy(struct tc_kept *k);

/* Borrowed until the next call. `now` is what an answer would be made from now. */
struct tc_api_body *tc_kept_find(struct tc_kept *k, const struct tc_kept_key *key,
                                 const struct tc_kept_from *now, enum tc_kept_use *out_use,
                                 int64_t *out_age_ns);
/* Takes a use of its own; takes the place of an older answer. Too long a body is not kept. */
void tc_kept_put(struct tc_kept *k, const struct tc_kept_key *key, const struct tc_kept_from *from,
                 struct tc_api_body *body);

bool tc_kept_is_same(const struct tc_kept_key *a, const struct tc_kept_key *b);

#endif
