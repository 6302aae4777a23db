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
    struct tc_ring ring; /* one record per incident, re-written when it changes */
    struct tc_map index;
    uint64_t last_cause; /* where in the ring the cause named last was, TC_RING_NONE for none */
    uint64_t opened;
    uint64_t updated;
    uint64_t resolved;
    uint64_t unchanged;
};

/* What has left this process about an incident, for whoever tells: see live/live.h. */
struct tc_incident_told {
    uint64_t hash;    /* of the verdict with its links, as it was told last */
    uint64_t content; /* of its finding then */
    int64_t at_ns;    /* on the teller's clock */
    uint8_t status;   /* enum tc_verdict_status, as it was told last */
    bool opened;      /* it was told at all */
    bool earlier;     /* the last time by an earlier process */
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
    uint64_t content; /* of the finding, as the table has it */
    uint64_t told;    /* of the verdict with its links: equal means nothing new to tell */
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

/*
 * Seeds the table: a finding of that key belongs to this incident and keeps its id. The first one
 * is always passed on, whatever it says. TC_E_MALFORMED when the id is none, TC_E_LIMIT when the
 * key is too long to be kept.
 */
TC_CHECKED tc_status tc_incidents_restore(struct tc_incidents *t,
                                          const struct tc_incident_mark *mark);

/*
 * What was told of an incident, to be read and changed until the next call of the table; NULL when
 * the table forgot it. *out_content is of its latest finding.
 */
struct tc_incident_told *tc_incidents_told(struct tc_incidents *t, struct tc_slice pattern_id,
                                           struct tc_slice key, uint64_t *out_content);

#endif
