/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several sources that tell of the same facts, each a little earlier or later: the kernel's log,
 * and a journal that was sent on. A fact is as often as the source tells that tells most. One that
 * joins the others starts where they were a moment ago, so a log that goes on in another file
 * counts on.
 */
#ifndef TC_DETECT_TELLER_PRIV_H
#define TC_DETECT_TELLER_PRIV_H

#include "base/time.h"

#include <stdbool.h>
#include <stdint.h>

#define TC_TELLERS_MAX 4

struct tc_teller {
    uint32_t source;
    int64_t count; /* 0: a free place */
    int64_t last_ns;
};

struct tc_tellers {
    struct tc_teller items[TC_TELLERS_MAX];
    int64_t told;     /* facts so far */
    int64_t since_ns; /* a second that begins then ... */
    int64_t at;       /* ... with so many told */
    int64_t before;   /* told when the one before it began */
};

static inline bool tc__tell_near(int64_t a_ns, int64_t b_ns)
{
    return a_ns - b_ns < TC_SECOND && b_ns - a_ns < TC_SECOND;
}

/* True when what the source tells is news, false when another one has told it. */
static inline bool tc__tell(struct tc_tellers *t, uint32_t source, int64_t time_ns)
{
    struct tc_teller *own = &t->items[0];
    bool others = false;
    for (unsigned i = 0; i < TC_TELLERS_MAX; i++) {
        struct tc_teller *s = &t->items[i];
        bool is_own = s->count > 0 && s->source == source;
        others = others || (!is_own && s->count > 0 && tc__tell_near(time_ns, s->last_ns));
        bool own_found = own->count > 0 && own->source == source;
        own = is_own || (!own_found && s->last_ns < own->last_ns) ? s : own;
    }
    if (time_ns - t->since_ns >= TC_SECOND) {
        t->before = time_ns - t->since_ns >= 2 * TC_SECOND ? t->told : t->at;
        t->at = t->told;
        t->since_ns = time_ns;
    }
    bool goes_on = own->count > 0 && own->source == source && tc__tell_near(time_ns, own->last_ns);
    int64_t joins = others ? t->before : t->told;
    *own = (struct tc_teller){source, (goes_on ? own->count : joins) + 1, time_ns};
    bool news = own->count > t->told;
    t->told = news ? own->count : t->told;
    return news;
}

#endif
