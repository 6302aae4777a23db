/* SPDX-License-Identifier: Apache-2.0 */
#include "outbox/outbox_priv.h"

/* The id is a digest already; one that is not, from a log that somebody else wrote, may be mixed up
 * with another. */
static struct tc_lru_key key_of(const struct tc__record *r)
{
    return (struct tc_lru_key){
        {tc_slice_hash(r->mark.incident_id, 1), tc_slice_hash(r->mark.incident_id, 2)}};
}

void tc__marks_put(struct tc_lru *marks, const struct tc__record *r)
{
    struct tc__mark_place *p = tc_lru_put(marks, key_of(r), r->mark.status == TC_VERDICT_RESOLVED);
    *p = (struct tc__mark_place){.number = r->number};
}

bool tc__marks_is_latest(const struct tc_lru *marks, const struct tc__record *r)
{
    const struct tc__mark_place *p = tc_lru_find(marks, key_of(r));
    return p != NULL && p->number == r->number;
}
