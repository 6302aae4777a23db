/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the order of events matter? Events go through the engine, the story and the JSON renderer
 * in one order after the other, and the bytes are compared.
 *
 * The engine is reset for every run, and the story made anew.
 */
#ifndef TC_TESTS_SUPPORT_ORDER_H
#define TC_TESTS_SUPPORT_ORDER_H

#include "base/slice.h"
#include "engine/engine.h"
#include "event/event.h"
#include "event/source.h"
#include "story/story.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_ORDER_EVENTS_MAX 8192
#define TC_ORDER_INPUTS_MAX 64
#define TC_ORDER_ENGINES 2
#define TC_ORDER_LAG_NS (INT64_C(10) * TC_SECOND)
#define TC_ORDER_HELD_MAX ((size_t)4096)
#define TC_ORDER_OUT_BYTES ((size_t)4 << 20)

enum tc_order_kind {
    TC_ORDER_FILES, /* inputs in any order, and events in each: sorted and merged as detect does */
    TC_ORDER_TIES,  /* straight into the engine; events of one time in any order */
    /* Straight into the engine; each input in its own order, up to TC_ORDER_LAG_NS behind the
     * others, as collectors that send in batches are. Who and what must be the same; which of
     * several reports is named first, and what is counted until when, may differ. */
    TC_ORDER_LAGGING,
    TC_ORDER_LAGGING_NODES, /* the same, with a collector a node */
    TC_ORDER_KINDS
};

struct tc_order {
    const char *name; /* for messages */
    struct tc_engine *engine;
    struct tc_engine *engines[TC_ORDER_ENGINES]; /* for events in order, and from who lags */
    struct tc_story *story;
    const struct tc_event *events; /* of all inputs, in any order; raw.source says which input */
    size_t count;
    int64_t now_ns;                   /* for the finish */
    int64_t last_ns;                  /* how far the inputs reach */
    const struct tc_sources *sources; /* for digests; may be NULL */
    struct tc_order_out *expected;
    struct tc_order_out *essence;                       /* who and what of it */
    const struct tc_event *merged[TC_ORDER_EVENTS_MAX]; /* without what two inputs tell */
    size_t merged_count;
    uint64_t held[TC_ORDER_HELD_MAX]; /* orders that were run and said the same, hashed; 0: none */
    size_t held_count;
    bool quiet; /* do not show a difference */
    bool ids;   /* the essence has incident ids, too */
};

/* All detectors, nothing fed. Ends the program when it cannot. o stays where it is. */
void tc_order_init(struct tc_order *o);
void tc_order_fini(struct tc_order *o);

/* Takes the events as they stand in o, in the canonical order; what is said of them. */
struct tc_slice tc_order_expect(struct tc_order *o);

/* Who and what of that, a sorted line a verdict, with a NUL at the end. */
const char *tc_order_essence(const struct tc_order *o);

/* Whether a shuffle of that kind says the same. Says on stderr what differs, unless quiet. Shuffles
 * that give the engine the same events in the same order are run once. */
bool tc_order_holds(struct tc_order *o, enum tc_order_kind kind, uint64_t seed);

uint64_t tc_order_random(uint64_t *io_seed);

#endif
