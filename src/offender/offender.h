/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of offenders: which incidents counted against which thing, and from that how often a
 * thing has failed and was well in between. docs/internals/offenders.md says what counts, what is
 * one failure and what is kept.
 *
 * What is said depends on nothing but the incidents that are kept: not on the order in which they
 * came, nor on the clock. One thread.
 */
#ifndef TC_OFFENDER_OFFENDER_H
#define TC_OFFENDER_OFFENDER_H

#include "base/arena.h"
#include "base/status.h"
#include "event/offence.h"
#include "event/verdict.h"

#include <stddef.h>
#include <stdint.h>

struct tc_offenders;

struct tc_offender_config {
    int64_t count;        /* failures from which on a thing is to be returned; 0: nothing is said */
    int64_t window_ns;    /* in which they began */
    size_t incidents_max; /* that are kept, at least 16: those that began first go first */
};

/* For a run that ends. */
#define TC_OFFENDER_CONFIG_DEFAULT \
    ((struct tc_offender_config){  \
        .count = 3, .window_ns = 7 * 86400 * TC_SECOND, .incidents_max = 100000})
/* For one that does not: the index is made anew after each change. */
#define TC_OFFENDERS_LIVE_MAX ((size_t)4096)

/* With the default. Memory grows with the incidents. NULL when there is none. */
struct tc_offenders *tc_offenders_create(void);
void tc_offenders_destroy(struct tc_offenders *o);
void tc_offenders_configure(struct tc_offenders *o, const struct tc_offender_config *config);

/* What a verdict counts against, as its detector gave it. */
struct tc_offence tc_offence_of(const struct tc_verdict *v);

/*
 * Notes an incident, or that it changed: `first_ns` and `resolved` as they are now. One that counts
 * against nothing, or has no date, is not kept. TC_E_NOMEM: all is as it was.
 */
TC_CHECKED tc_status tc_offenders_note(struct tc_offenders *o, struct tc_slice incident_id,
                                       struct tc_slice pattern_id, int64_t first_ns, bool resolved,
                                       const struct tc_offence *offence);

/* What is to be said of a verdict instead of what its detector said; NULL members: as it is. */
struct tc_judgement {
    const struct tc_recurrence *recurrence; /* NULL: nothing changes */
    struct tc_slice headline;
    struct tc_slice remediation;
};

/*
 * How often the thing of a verdict that was noted has failed, with what the detector said of it.
 * What comes out lies in the arena. TC_E_NOMEM when that is full, or the index cannot be made.
 */
TC_CHECKED tc_status tc_offenders_judge(struct tc_offenders *o, const struct tc_verdict *v,
                                        struct tc_arena *arena, struct tc_judgement *out);

#endif
