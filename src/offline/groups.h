/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts grouped for reading: each consequence under the verdict that it comes from in the end.
 * Grouping is a counting sort, so that a thousand consequences of a thousand causes cost no more
 * than the verdicts themselves.
 */
#ifndef TC_OFFLINE_GROUPS_H
#define TC_OFFLINE_GROUPS_H

#include "base/status.h"
#include "story/incident_table.h"

#include <stdbool.h>
#include <stddef.h>

/* Invariant: list[first[i]] .. list[first[i + 1] - 1] are the consequences of verdict i. */
struct tc_groups {
    size_t *origins; /* of each verdict, or TC_INCIDENT_NONE: it stands for itself */
    size_t *first;
    size_t *list;
};

/* Borrows kept, which has been linked. TC_E_NOMEM; tc_groups_fini is due all the same. */
TC_CHECKED tc_status tc_groups_init(struct tc_groups *g, const struct tc_incident_table *kept);
void tc_groups_fini(struct tc_groups *g);

/* More of the same: its cause is of the same pattern, as for the groups that a hang holds up. */
bool tc_group_is_repeat(const struct tc_incident_table *kept, size_t index);

#endif
