/* SPDX-License-Identifier: Apache-2.0 */
#include "outbox/outbox_priv.h"

#include <stdlib.h>
#include <string.h>

/* The id is a digest already; one that is not, from a log that somebody else wrote, may be mixed up
 * with another. */
static struct tc_lru_key key_of(const struct tc__record *r)
{
    return (struct tc_lru_key){
        {tc_slice_hash(r->mark.incident_id, 1), tc_slice_hash(r->mark.incident_id, 2)}};
}

static int by_number(const void *a, const void *b)
{
    const struct tc__mark_place *x = a;
    const struct tc__mark_place *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

struct tc__mark_place *tc__marks_sorted(const struct tc_lru *marks)
{
    struct tc__mark_place *all = calloc(marks->count == 0 ? 1 : marks->count, sizeof *all);
    if (all == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < marks->count; i++) {
        memcpy(&all[i], tc_lru_at(marks, i), sizeof all[i]);
    }
    qsort(all, marks->count, sizeof *all, by_number);
    return all;
}

void tc__marks_put(struct tc_lru *marks, const struct tc__record *r)
{
    struct tc__mark_place *p = tc_lru_put(marks, key_of(r), r->mark.status == TC_VERDICT_RESOLVED);
    *p = (struct tc__mark_place){.number = r->number, .at = r->at};
}

bool tc__marks_is_latest(const struct tc_lru *marks, const struct tc__record *r)
{
    const struct tc__mark_place *p = tc_lru_find(marks, key_of(r));
    return p != NULL && p->number == r->number;
}
