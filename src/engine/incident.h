/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of incidents: a finding opens one, changes it, or resolves it. The
 * same finding again says nothing. Keyed by pattern and join key; the id is a
 * digest of both and of the first evidence, so it is the same on every machine.
 * Bounded: the incident idle for longest is forgotten first, and counted.
 */
#ifndef TC_ENGINE_INCIDENT_H
#define TC_ENGINE_INCIDENT_H

#include "base/arena.h"
#include "base/map.h"
#include "base/ring.h"
#include "event/verdict.h"

#include <stdbool.h>
#include <stdint.h>

struct tc_incidents {
    struct tc_ring ring; /* one record an incident, re-written when it changes */
    struct tc_map index;
    uint64_t opened;
    uint64_t updated;
    uint64_t resolved;
    uint64_t unchanged;
};

/* About one incident per 512 bytes. False when the arena is full. */
bool tc_incidents_init(struct tc_incidents *t, struct tc_arena *arena, size_t bytes);

/*
 * Passes a finding through the table. *out_new is false when it changes nothing;
 * otherwise *out is filled: its causes are in scratch, its ids in the table, where
 * the next finding may drop them. now_ns is when an incident that this opens was
 * detected. Borrows finding.
 */
TC_CHECKED tc_status tc_incidents_apply(struct tc_incidents *t, const struct tc_finding *finding,
                                        int64_t now_ns, struct tc_arena *scratch,
                                        struct tc_verdict *out, bool *out_new);

#endif
