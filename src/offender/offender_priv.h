/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the memory of offenders. */
#ifndef TC_OFFENDER_OFFENDER_PRIV_H
#define TC_OFFENDER_OFFENDER_PRIV_H

#include "offender/offender.h"

/* A thing is well when what it had is over for so long ... */
#define TC__WELL_NS (300 * TC_SECOND)
/* ... or, where nobody said that it is over, was not seen for so long: as long as a story lets
 * effects follow causes. */
#define TC__QUIET_NS (3600 * TC_SECOND)
/* Earlier failures that are cited, and that text names. */
#define TC__CITED_MAX 8

/* The name of a pattern whose incidents count; NULL: they do not. */
const char *tc__offender_pattern(struct tc_slice pattern_id);
bool tc__offender_is_known(const struct tc_lru_key *name);
/* Whether two incidents are about one thing: by the strongest name that both have. */
bool tc__offender_is_same(const struct tc_offence *a, const struct tc_offence *b);
/* Whether they are about one node. */
bool tc__offender_is_same_node(const struct tc_offence *a, const struct tc_offence *b);

/* The sentences of a verdict whose thing has failed so often. False when the arena is full. */
bool tc__offender_words(const struct tc_finding *f, const struct tc_recurrence *r,
                        struct tc_arena *arena, struct tc_judgement *out);

#endif
