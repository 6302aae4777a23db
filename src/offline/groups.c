/* SPDX-License-Identifier: Apache-2.0 */
#include "offline/groups.h"

#include <stdlib.h>

/* Causes of causes; a verdict at the end of a longer chain, or in a circle, stands for itself. */
#define CHAIN_MAX 64

/* The first cause that is among what was kept. */
static size_t cause_of(const struct tc_incident_table *k, size_t index)
{
    const struct tc_verdict *v = &k->items[index].verdict;
    for (size_t i = 0; i < v->cause_count; i++) {
        size_t at = v->causes[i].incident_id.len == 0
                        ? TC_INCIDENT_NONE
                        : tc_incident_table_find(k, v->causes[i].incident_id);
        if (at != TC_INCIDENT_NONE) {
            return at;
        }
    }
    return TC_INCIDENT_NONE;
}

/* The verdict under which this one is listed, or TC_INCIDENT_NONE: it stands for itself. */
static size_t origin_of(const struct tc_incident_table *k, size_t index)
{
    size_t at = index;
    for (unsigned steps = 0; steps < CHAIN_MAX; steps++) {
        size_t cause = k->items[at].finding.root ? TC_INCIDENT_NONE : cause_of(k, at);
        if (cause == TC_INCIDENT_NONE) {
            return at == index ? TC_INCIDENT_NONE : at;
        }
        at = cause;
    }
    return TC_INCIDENT_NONE;
}

tc_status tc_groups_init(struct tc_groups *g, const struct tc_incident_table *kept)
{
    g->origins = calloc(kept->count + 1, sizeof *g->origins);
    g->first = calloc(kept->count + 2, sizeof *g->first);
    g->list = calloc(kept->count + 1, sizeof *g->list);
    if (g->origins == NULL || g->first == NULL || g->list == NULL) {
        return TC_E_NOMEM;
    }
    for (size_t i = 0; i < kept->count; i++) {
        g->origins[i] = origin_of(kept, i);
        if (g->origins[i] != TC_INCIDENT_NONE) {
            g->first[g->origins[i] + 2]++;
        }
    }
    for (size_t i = 2; i < kept->count + 2; i++) {
        g->first[i] += g->first[i - 1];
    }
    for (size_t i = 0; i < kept->count; i++) {
        if (g->origins[i] != TC_INCIDENT_NONE) {
            g->list[g->first[g->origins[i] + 1]++] = i;
        }
    }
    return TC_OK;
}

void tc_groups_fini(struct tc_groups *g)
{
    free(g->origins);
    free(g->first);
    free(g->list);
}

bool tc_group_is_repeat(const struct tc_incident_table *kept, size_t index)
{
    size_t cause = cause_of(kept, index);
    return cause != TC_INCIDENT_NONE && tc_slice_eq(kept->items[cause].finding.pattern_name,
                                                    kept->items[index].finding.pattern_name);
}
