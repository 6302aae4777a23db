/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of an event so that a later verdict can point at it: when it was,
 * where its bytes lie, and the id its producer gave it. Of fixed size, so that a
 * record may hold several and change them in place.
 */
#ifndef TC_DETECT_MARK_PRIV_H
#define TC_DETECT_MARK_PRIV_H

#include "event/event.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A UUID has 36 bytes. A longer id is not kept: then one is made from the facts. */
#define TC_MARK_UID_MAX 56

struct tc_mark {
    int64_t time_ns;
    struct tc_raw raw;
    uint8_t uid_len;
    bool known;
    char uid[TC_MARK_UID_MAX];
};

static inline struct tc_mark tc__mark(const struct tc_event *ev)
{
    struct tc_mark m = {.time_ns = ev->time_ns, .raw = ev->raw, .known = true};
    if (ev->uid.len > 0 && ev->uid.len <= TC_MARK_UID_MAX) {
        memcpy(m.uid, ev->uid.ptr, ev->uid.len);
        m.uid_len = (uint8_t)ev->uid.len;
    }
    return m;
}

/* The order of marks; of two at one time the first in the input is first. */
static inline bool tc__mark_before(const struct tc_mark *a, const struct tc_mark *b)
{
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns;
    }
    return a->raw.source == b->raw.source ? a->raw.offset < b->raw.offset
                                          : a->raw.source < b->raw.source;
}

/* Keeps the earlier of what is there and m. True when that is m. */
static inline bool tc__mark_first(struct tc_mark *io, const struct tc_mark *m)
{
    bool take = !io->known || tc__mark_before(m, io);
    *io = take ? *m : *io;
    return take;
}

/* Keeps the later of what is there and m. True when that is m. */
static inline bool tc__mark_last(struct tc_mark *io, const struct tc_mark *m)
{
    bool take = !io->known || tc__mark_before(io, m);
    *io = take ? *m : *io;
    return take;
}

/* The same telling, or another source's of the same instant. */
static inline bool tc__mark_same(const struct tc_mark *a, const struct tc_mark *b)
{
    return a->known == b->known && a->time_ns == b->time_ns &&
           (a->raw.source != b->raw.source || a->raw.offset == b->raw.offset);
}

/* The producer's id, or what `made` says when there is none. Points into the mark. */
static inline struct tc_slice tc__mark_uid(const struct tc_mark *m, struct tc_slice made)
{
    return m->uid_len > 0 ? tc_slice_make(m->uid, m->uid_len) : made;
}

#endif
