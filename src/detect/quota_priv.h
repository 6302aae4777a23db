/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of a fixed number of entries that are given up together, shared by senders: once a table
 * is three quarters full, a sender that made most of all entries makes no more, so that the others
 * find room. A sender that is alone has all of it.
 */
#ifndef TC_DETECT_QUOTA_PRIV_H
#define TC_DETECT_QUOTA_PRIV_H

#include "detect/window_priv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Invariant: total is the sum of made, senders how many of them are not 0. */
struct tc_quota {
    uint32_t made[TC__SHARES]; /* entries, by sender */
    uint32_t total;
    uint32_t senders;
    bool refused; /* an entry, since somebody asked */
};

/* Whether a sender may make another entry in a table that has `count` of `max`. */
static inline bool tc__quota_admits(struct tc_quota *q, uint32_t sender, size_t count, size_t max)
{
    uint32_t made = q->made[sender % TC__SHARES];
    bool refused = count >= max / 4 * 3 && q->senders > 1 && made > q->total / 2;
    q->refused = q->refused || refused;
    return !refused;
}

/* It made one. */
static inline void tc__quota_take(struct tc_quota *q, uint32_t sender)
{
    uint32_t *made = &q->made[sender % TC__SHARES];
    q->senders += *made == 0;
    ++*made;
    q->total++;
}

/* Whether an entry was refused since this was last asked. */
static inline bool tc__quota_refused(struct tc_quota *q)
{
    bool refused = q->refused;
    q->refused = false;
    return refused;
}

/* The tables are empty. */
static inline void tc__quota_reset(struct tc_quota *q)
{
    memset(q, 0, sizeof *q);
}

#endif
