/* SPDX-License-Identifier: Apache-2.0 */
/* Which pattern can explain which, and what speaks against it. */
#include "base/time.h"
#include "story/story_priv.h"

static const struct tc__rule RULES[] = {
#define RULE(from, to, same, before, late, kind) \
    {.cause = {#from, sizeof(#from) - 1},        \
     .effect = {#to, sizeof(#to) - 1},           \
     .at = {kind, sizeof(kind) - 1},             \
     .before_ns = (before) * (int64_t)TC_SECOND, \
     .late_ns = (late) * (int64_t)TC_SECOND,     \
     .by = (same)},
#include "story/rules.def"
#undef RULE
};

const struct tc__rule *tc__rule_of(const struct tc_incident_entry *cause,
                                   const struct tc_incident_entry *effect)
{
    for (size_t i = 0; i < TC_COUNT(RULES); i++) {
        if (tc_slice_eq(RULES[i].cause, cause->finding.pattern_name) &&
            tc_slice_eq(RULES[i].effect, effect->finding.pattern_name)) {
            return &RULES[i];
        }
    }
    return NULL;
}

bool tc__is_cause(struct tc_slice pattern)
{
    for (size_t i = 0; i < TC_COUNT(RULES); i++) {
        if (tc_slice_eq(RULES[i].cause, pattern)) {
            return true;
        }
    }
    return false;
}

int64_t tc__effect_time(const struct tc_incident_entry *v, const struct tc__rule *rule)
{
    int64_t time_ns = v->verdict.first_ns;
    for (size_t i = 0; rule->at.len > 0 && i < v->finding.evidence_count; i++) {
        const struct tc_evidence *e = &v->finding.evidence[i];
        if (tc_slice_eq(e->kind, rule->at) && e->time_ns != TC_TIME_NONE) {
            time_ns = e->time_ns;
        }
    }
    for (size_t i = 0; rule->at.len > 0 && i < v->finding.evidence_count; i++) {
        const struct tc_evidence *e = &v->finding.evidence[i];
        time_ns =
            tc_slice_eq(e->kind, TC_LIT("xid")) && e->time_ns > time_ns ? e->time_ns : time_ns;
    }
    return time_ns;
}

bool tc__is_in_order(const struct tc__rule *rule, const struct tc_incident_entry *cause,
                     const struct tc_incident_entry *effect)
{
    int64_t at = tc__effect_time(effect, rule);
    int64_t first = cause->verdict.first_ns;
    if (at == TC_TIME_NONE || first == TC_TIME_NONE) {
        return false;
    }
    return first <= at + rule->late_ns && at - cause->finding.last_ns <= rule->before_ns;
}

/* Both sides name things of a class, and none in common. */
static bool differ(const struct tc__where *a, const struct tc__where *b, enum tc__class class)
{
    if (a->more[class] || b->more[class]) {
        return false;
    }
    for (size_t i = 0; i < a->count[class]; i++) {
        for (size_t k = 0; k < b->count[class]; k++) {
            if (a->tokens[class][i].name == b->tokens[class][k].name) {
                return false;
            }
        }
    }
    return a->count[class] > 0 && b->count[class] > 0;
}

/*
 * The same node, or pod, proves nothing when both sides name a GPU and it is another one. The same
 * number of a rank proves nothing when it runs elsewhere: every job has a rank 0.
 */
bool tc__is_contradicted(const struct tc__rule *rule, enum tc__class by,
                         const struct tc__where *cause, const struct tc__where *effect)
{
    if (by == TC__CLASS_NODE && (rule->by & BY_PORT_AT_ONCE) != 0) {
        return false; /* see is_port_at_once */
    }
    if (by == TC__CLASS_RANK) {
        return differ(cause, effect, TC__CLASS_NODE) || differ(cause, effect, TC__CLASS_POD);
    }
    if (by == TC__CLASS_GPU || (by == TC__CLASS_NODE && (rule->by & BY_WHOLE_NODE) != 0)) {
        return false;
    }
    return differ(cause, effect, TC__CLASS_GPU) ||
           (by == TC__CLASS_NODE && differ(cause, effect, TC__CLASS_POD));
}
