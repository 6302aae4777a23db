/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sources that are not in time: a node, and whose clock dates what is told of it. Sources that
 * are in time are not kept and cost nothing. docs/internals/late.md
 *
 * How fast a clock is: the greatest difference of an event's time and its arrival in the last one
 * to two minutes, rounded up to a second. Everything of that source is moved back by it, so that
 * nothing lies in the future and what it tells keeps its order.
 *
 * Pure, and a function of the events and their arrivals alone: what was stored gives the same
 * corrections again. All memory is taken at creation.
 */
#ifndef TC_LIVE_SOURCES_H
#define TC_LIVE_SOURCES_H

#include "base/slice.h"
#include "base/table/lru.h"
#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_SOURCE_NAME_MAX 96
#define TC_SOURCES_MAX 4096

struct tc_source {
    char name[TC_SOURCE_NAME_MAX]; /* of the node; "" where events name none */
    uint8_t name_len;
    uint8_t clock; /* enum tc_event_clock */
    /* Of whoever tells: that its clock is fast, and that it comes late, was told and holds; that
     * some of it cannot be judged was told. */
    bool clock_told;
    bool late_told;
    bool unjudged_told;
    int64_t ahead_ns;        /* how fast its clock is; 0: not */
    int64_t listed_ns;       /* of who keeps a list of that: what it has */
    int64_t ahead_max_ns[2]; /* of this minute and the one before */
    int64_t minute;          /* of arrival, which the first of them is of */
    int64_t late_ns;         /* how far behind its last late event was */
    int64_t late_arrival_ns; /* and when that came */
    int64_t late_from_ns;    /* what they tell of */
    int64_t late_to_ns;
    uint64_t corrected; /* events */
    uint64_t late;
    bool unjudged; /* some of what came late */
};

struct tc_sources_table {
    struct tc_lru sources;
    int64_t ahead_until_ns; /* some clock is fast until then: after it nothing is looked up */
};

/* False when there is no memory. */
bool tc_sources_init(struct tc_sources_table *t);
void tc_sources_fini(struct tc_sources_table *t);
void tc_sources_reset(struct tc_sources_table *t);

/* What stands for the source of an event that `sender` sent: nobody moves the times of what others
 * say of a node. */
struct tc_lru_key tc_sources_key(const struct tc_event *ev, uint32_t sender);

/*
 * By how much the times of an event's source are to be moved back: 0 for most. An event that is
 * dated after clock_ns by more than ahead_ns, which is allowed, says how fast its source's clock
 * is.
 */
int64_t tc_sources_look_up_ahead(struct tc_sources_table *t, const struct tc_event *ev,
                                 uint32_t sender, int64_t clock_ns, int64_t ahead_ns);
static inline int64_t tc_sources_ahead(struct tc_sources_table *t, const struct tc_event *ev,
                                       uint32_t sender, int64_t clock_ns, int64_t ahead_ns)
{
    return ev->time_ns - clock_ns <= ahead_ns && clock_ns > t->ahead_until_ns
               ? 0
               : tc_sources_look_up_ahead(t, ev, sender, clock_ns, ahead_ns);
}
/* No clock is taken to be faster than this: such a date is wrong. */
#define TC_SOURCE_AHEAD_MAX_NS (24 * 3600 * TC_SECOND)
/* An event came too late to be judged with others of its time, by late_ns. Its source, until the
 * next call. */
struct tc_source *tc_sources_note_late(struct tc_sources_table *t, const struct tc_event *ev,
                                       int64_t late_ns, int64_t clock_ns);
/* The source of an event; NULL when it is in time. */
struct tc_source *tc_sources_find(const struct tc_sources_table *t, const struct tc_event *ev,
                                  uint32_t sender);
/* Events that came late cannot be judged any more: all that were late in this stretch. */
void tc_sources_note_unjudged(struct tc_sources_table *t, int64_t from_ns, int64_t to_ns);

/* Whether something of that node came late, whoever sent it. */
bool tc_sources_is_late(struct tc_sources_table *t, struct tc_slice node);
/* In no order that means anything, for at < count. */
size_t tc_sources_count(const struct tc_sources_table *t);
struct tc_source *tc_sources_at(struct tc_sources_table *t, size_t at);

/* A source that has not been late for so long is in time again. */
#define TC_SOURCE_IN_TIME_NS (60 * TC_SECOND)

#endif
