/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An incident that counts against a thing: a GPU, a port, a volume, whatever sits at a PCI address.
 * Of its names only digests are kept, so that it has a fixed size: it is part of what is stored of
 * an incident. docs/internals/offenders.md.
 */
#ifndef TC_EVENT_OFFENCE_H
#define TC_EVENT_OFFENCE_H

#include "base/table/lru.h"
#include "event/verdict.h"

#include <stdbool.h>
#include <stdint.h>

/* Stored as numbers, so never reordered. */
enum tc_thing {
    TC_THING_NONE, /* it counts against nothing */
    TC_THING_GPU,
    TC_THING_PORT,
    TC_THING_VOLUME,
    TC_THING_SWITCH,
    TC_THING_DEVICE, /* another one on the PCI bus */
    TC_THING_NODE,   /* never of one incident: of several of its things */
    TC_THINGS
};

/*
 * The strongest first: one that goes with the thing wherever it is put (UUID, volume), its PCI
 * address on a node, its number or name on a node. Stored in this order.
 */
enum { TC_THING_OWN, TC_THING_ADDRESS, TC_THING_PLACE, TC_THING_NAMES };

/* Zeroed, and kind TC_THING_NONE, is none. A name of zeros is not known. */
struct tc_offence {
    enum tc_thing kind;
    int64_t last_ns; /* when it was last seen, or ended */
    struct tc_lru_key names[TC_THING_NAMES];
    struct tc_lru_key node; /* without its domain */
    uint64_t domain;        /* hash of that; 0 where the name had none */
};

/* An earlier failure of the same thing: its first incident. */
struct tc_recurrence_item {
    struct tc_slice incident_id;
    struct tc_slice pattern_name;
    int64_t first_ns;
};

/* The thing of a verdict has failed before, and was well in between. */
struct tc_recurrence {
    enum tc_thing thing;
    int64_t count; /* failures within the window, with this one */
    int64_t window_ns;
    const struct tc_recurrence_item *earlier; /* oldest first; of many the latest */
    size_t earlier_count;
};

/* "gpu" */
const char *tc_thing_name(enum tc_thing thing);

#endif
