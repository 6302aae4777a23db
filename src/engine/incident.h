/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of incidents: a finding opens one, changes it, or resolves it. The
 * same finding again says nothing. Keyed by pattern and join key; the id is a
 * digest of both and of the first evidence, so it is the same on every machine.
 *
 * Bounded twice. The table itself holds what findings come about: the incident idle for longest
 * leaves first. What was told outlives that, in fewer bytes each: an incident that comes back keeps
 * its id and its times, and whoever tells finds what was told last. That memory forgets resolved
 * incidents first, then those told longest ago; base/table/lru.h says why the outbox forgets the
 * same.
 */
#ifndef TC_ENGINE_INCIDENT_H
#define TC_ENGINE_INCIDENT_H

#include "base/arena.h"
#include "base/table/lru.h"
#include "base/table/map.h"
#include "base/table/ring.h"
#include "event/offence.h"
#include "event/verdict.h"

#include <stdbool.h>
#include <stdint.h>

struct tc_incidents {
    struct tc_ring ring; /* one record per incident, re-written when it changes */
    struct tc_map index;
    struct tc_lru *told; /* struct tc_incident_told by pattern and join key; NULL: none is kept */
    uint64_t last_cause; /* where in the ring the cause named last was, TC_RING_NONE for none */
    uint64_t opened;
    uint64_t updated;
    uint64_t resolved;
    uint64_t unchanged;
};

/* What was last told of an incident. */
struct tc_incident_told {
    char id[TC_INCIDENT_ID_LEN];
    int64_t first_ns;
    int64_t detected_ns;
    uint64_t content; /* of its finding then */
    uint64_t hash;    /* of the verdict with its links */
    uint8_t status;   /* enum tc_verdict_status */
    bool earlier;     /* by an earlier process */
};

/*
 * The identity of an incident and what was last told of it: what a restart needs. Strings are
 * borrowed until the call returns.
 */
struct tc_incident_mark {
    struct tc_slice pattern_id;
    struct tc_slice key;
    struct tc_slice incident_id;
    enum tc_verdict_status status;
    int64_t first_ns;
    int64_t detected_ns;
    uint64_t content;          /* of the finding, as the table has it */
    uint64_t told;             /* of the verdict with its links: equal means nothing new to tell */
    struct tc_offence offence; /* what it counts against */
};

/* About one incident per 512 bytes. Borrows told for as long as t is used; NULL for none. False
 * when the arena is full. */
bool tc_incidents_init(struct tc_incidents *t, struct tc_arena *arena, size_t bytes,
                       struct tc_lru *told);

/*
 * Passes a finding through the table. *out_new is false when it changes nothing;
 * otherwise *out is filled: its causes are in scratch, its ids in the table, where
 * the next finding may drop them. now_ns is when an incident that this opens was
 * detected. Borrows finding.
 */
TC_CHECKED tc_status tc_incidents_apply(struct tc_incidents *t, const struct tc_finding *finding,
                                        int64_t now_ns, struct tc_arena *scratch,
                                        struct tc_verdict *out, bool *out_new);

/*
 * Something was told, by this process or an earlier one: a finding of that key belongs to this
 * incident and keeps its id. The first one after a restart is always passed on, whatever it says.
 * Nothing is kept where t has no memory for it. TC_E_MALFORMED when the id is none.
 */
TC_CHECKED tc_status tc_incidents_note_told(struct tc_incidents *t,
                                            const struct tc_incident_mark *mark, bool earlier);

/* What was told of an incident, until the next call of the table; NULL when nothing was, or when
 * it is forgotten. */
const struct tc_incident_told *tc_incidents_told(const struct tc_incidents *t,
                                                 struct tc_slice pattern_id, struct tc_slice key);

#endif
