/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/story/stories.h"

#include "base/time.h"
#include "offline/groups.h"

#include <stdlib.h>

/* ---- which verdicts are one story ---- */

/* The verdict that a story is known by: the root that its group is named after. */
static size_t name_of(const struct tc_incident_table *k, const struct tc_groups *g, size_t index)
{
    size_t root = g->origins[index] == TC_INCIDENT_NONE ? index : g->origins[index];
    struct tc_slice group = k->items[root].verdict.group;
    size_t named = group.len == 0 ? TC_INCIDENT_NONE : tc_incident_table_find(k, group);
    return named != TC_INCIDENT_NONE && g->origins[named] == TC_INCIDENT_NONE ? named : root;
}

/* Roots come first, then what tells something new, then more of the same. */
static int class_of(const struct tc_incident_table *k, const struct tc_groups *g, size_t index)
{
    if (g->origins[index] == TC_INCIDENT_NONE) {
        return 0;
    }
    return tc_group_is_repeat(k, index) ? 2 : 1;
}

/* Whether a is to be told before b, where both are roots. */
static bool is_graver(const struct tc_verdict *a, const struct tc_verdict *b)
{
    bool a_open = a->status != TC_VERDICT_RESOLVED;
    bool b_open = b->status != TC_VERDICT_RESOLVED;
    return a_open != b_open ? a_open : a->finding->severity > b->finding->severity;
}

/* The gravest root comes first, the others stay in order. */
static void lead_with_gravest(const struct tc_verdict **roots, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        best = is_graver(roots[i], roots[best]) ? i : best;
    }
    const struct tc_verdict *first = roots[best];
    for (; best > 0; best--) {
        roots[best] = roots[best - 1];
    }
    roots[0] = first;
}

/* ---- which stories are shown ---- */

static bool is_address(struct tc_slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] != '.' && (name.ptr[i] < '0' || name.ptr[i] > '9')) {
            return false;
        }
    }
    return true;
}

/* Case and, where one of them has none, the domain do not matter. */
static bool is_same_host(struct tc_slice a, struct tc_slice b)
{
    struct tc_slice a_domain = TC_EMPTY;
    struct tc_slice b_domain = TC_EMPTY;
    struct tc_slice a_host = tc_slice_cut(a, '.', &a_domain);
    struct tc_slice b_host = tc_slice_cut(b, '.', &b_domain);
    bool whole = is_address(a) || is_address(b) || (a_domain.len > 0 && b_domain.len > 0);
    return whole ? tc_slice_eq_nocase(a, b) : tc_slice_eq_nocase(a_host, b_host);
}

static bool is_same_text(struct tc_slice a, struct tc_slice b)
{
    return tc_slice_eq(a, b);
}

/* Whether one of the scopes that a verdict lists is on the node. */
static bool lists_node(const struct tc_finding *f, struct tc_slice node)
{
    for (size_t i = 0; i < f->attr_count; i++) {
        const struct tc_attr *a = &f->attrs[i];
        for (size_t n = 0; a->type == TC_ATTR_SCOPES && n < a->count; n++) {
            if (is_same_host(a->scopes[n].node, node)) {
                return true;
            }
        }
    }
    return false;
}

/* Whether a name is that of the scope, or one that an attribute `.<one>` or `.<one>s` lists. */
static bool names(const struct tc_finding *f, struct tc_slice scope, struct tc_slice one,
                  struct tc_slice wanted, bool (*same)(struct tc_slice, struct tc_slice))
{
    if (scope.len > 0 && same(scope, wanted)) {
        return true;
    }
    for (size_t i = 0; i < f->attr_count; i++) {
        const struct tc_attr *a = &f->attrs[i];
        struct tc_slice key = a->key;
        key.len -= a->type == TC_ATTR_STRINGS && tc_slice_ends(key, TC_LIT("s"));
        if (!tc_slice_ends(key, one)) {
            continue;
        }
        if (a->type == TC_ATTR_STRING && same(a->string, wanted)) {
            return true;
        }
        for (size_t n = 0; a->type == TC_ATTR_STRINGS && n < a->count; n++) {
            if (same(a->strings[n], wanted)) {
                return true;
            }
        }
    }
    return false;
}

static bool verdict_matches(const struct tc_verdict *v, const struct tc_story_filter *filter)
{
    const struct tc_finding *f = v->finding;
    if (filter->since_ns != TC_TIME_NONE && tc_time_is_date(f->last_ns) &&
        f->last_ns < filter->since_ns) {
        return false;
    }
    if (filter->node != NULL &&
        !names(f, f->scope.node, TC_LIT(".node"), tc_slice_cstr(filter->node), is_same_host) &&
        !lists_node(f, tc_slice_cstr(filter->node))) {
        return false;
    }
    if (filter->job != NULL &&
        !names(f, f->scope.job, TC_LIT(".job"), tc_slice_cstr(filter->job), is_same_text)) {
        return false;
    }
    return filter->incident == NULL ||
           tc_slice_starts(v->incident_id, tc_slice_cstr(filter->incident));
}

static uint64_t state_of(const struct tc_story_text *t)
{
    uint64_t state = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct tc_verdict *v = t->verdicts[i];
        char marks[] = {v->status == TC_VERDICT_RESOLVED ? 'r' : 'o',
                        (char)('0' + (int)v->finding->severity)};
        state = tc_slice_hash(v->incident_id, state);
        state = tc_slice_hash(tc_slice_make(marks, sizeof marks), state);
    }
    return state;
}

static bool story_matches(const struct tc_story_text *t, const struct tc_story_filter *filter)
{
    for (size_t i = 0; i < t->count; i++) {
        if (verdict_matches(t->verdicts[i], filter)) {
            return filter->wants == NULL || filter->wants(filter->context, state_of(t));
        }
    }
    return false;
}

/* ---- in which order ---- */

static int by_urgency(const void *a, const void *b)
{
    const struct tc_story_entry *x = a;
    const struct tc_story_entry *y = b;
    if (x->sum.resolved != y->sum.resolved) {
        return x->sum.resolved ? 1 : -1;
    }
    if (x->sum.severity != y->sum.severity) {
        return x->sum.severity > y->sum.severity ? -1 : 1;
    }
    if (x->sum.first_ns != y->sum.first_ns) {
        return x->sum.first_ns < y->sum.first_ns ? -1 : 1;
    }
    /* As the verdicts lie: no two begin at the same place. */
    return x->text.verdicts < y->text.verdicts ? -1 : 1;
}

/* Room for the verdicts of each story, one story after the other; first has one entry more. */
static void fill(struct tc_stories *s, const struct tc_incident_table *k, const struct tc_groups *g,
                 size_t *names_of, size_t *first, size_t *roots)
{
    for (size_t i = 0; i < k->count; i++) {
        names_of[i] = name_of(k, g, i);
        first[names_of[i] + 1]++;
    }
    for (size_t i = 0; i < k->count; i++) {
        first[i + 1] += first[i];
    }
    for (int class = 0; class <= 2; class ++) {
        for (size_t i = 0; i < k->count; i++) {
            if (class_of(k, g, i) == class) {
                s->verdicts[first[names_of[i]]++] = &k->items[i].verdict;
                roots[names_of[i]] += class == 0;
            }
        }
    }
}

static void choose(struct tc_stories *s, const struct tc_incident_table *k,
                   const struct tc_story_filter *filter, const size_t *end, const size_t *roots)
{
    for (size_t i = 0; i < k->count; i++) {
        size_t start = i == 0 ? 0 : end[i - 1];
        if (end[i] == start) {
            continue;
        }
        lead_with_gravest(s->verdicts + start, roots[i]);
        struct tc_story_text text = {s->verdicts + start, roots[i], end[i] - start, 0};
        s->total++;
        if (story_matches(&text, filter)) {
            s->items[s->count++] = (struct tc_story_entry){text, tc_story_sum_of(&text)};
            s->verdict_count += text.count;
        }
    }
}

/* Which verdicts of the table are shown. */
static void mark_shown(struct tc_stories *s, const struct tc_incident_table *k)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct tc_story_text *t = &s->items[i].text;
        for (size_t n = 0; n < t->count; n++) {
            size_t at = tc_incident_table_find(k, t->verdicts[n]->incident_id);
            s->shown[at] = true;
        }
    }
}

tc_status tc_stories_init(struct tc_stories *s, const struct tc_incident_table *kept,
                          const struct tc_story_filter *filter)
{
    struct tc_groups g = {0};
    size_t room = kept->count + 1;
    size_t *names_of = calloc(room, sizeof *names_of);
    size_t *first = calloc(room, sizeof *first);
    size_t *roots = calloc(room, sizeof *roots);
    *s = (struct tc_stories){.items = calloc(room, sizeof *s->items),
                             .verdicts = calloc(room, sizeof(void *)),
                             .shown = calloc(room, sizeof *s->shown)};
    tc_status status = tc_groups_init(&g, kept);
    if (names_of == NULL || first == NULL || roots == NULL || s->items == NULL ||
        s->verdicts == NULL || s->shown == NULL) {
        status = TC_E_NOMEM;
    }
    if (status == TC_OK) {
        fill(s, kept, &g, names_of, first, roots);
        choose(s, kept, filter, first, roots);
        mark_shown(s, kept);
        qsort(s->items, s->count, sizeof *s->items, by_urgency);
    }
    free(names_of);
    free(first);
    free(roots);
    tc_groups_fini(&g);
    return status;
}

void tc_stories_fini(struct tc_stories *s)
{
    free(s->items);
    free(s->verdicts);
    free(s->shown);
    *s = (struct tc_stories){0};
}
