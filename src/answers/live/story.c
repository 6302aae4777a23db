/* SPDX-License-Identifier: Apache-2.0 */
#include "answers/live/story.h"

#include "base/time.h"

#include <stdlib.h>

/* Of a story that has more, the rest is counted. */
#define IDS_MAX 64
#define NODES_MAX 16
#define PATTERNS_MAX 16

/* Roots before what followed, of those the open and the gravest first, then by time. */
static int cmp_in_story(const struct tc_verdict *x, const struct tc_verdict *y)
{
    bool x_root = x->cause_count == 0;
    bool y_root = y->cause_count == 0;
    if (x_root != y_root) {
        return x_root ? -1 : 1;
    }
    if (x_root && tc_live_is_open(x) != tc_live_is_open(y)) {
        return tc_live_is_open(x) ? -1 : 1;
    }
    if (x_root && x->finding->severity != y->finding->severity) {
        return x->finding->severity > y->finding->severity ? -1 : 1;
    }
    if (x->first_ns != y->first_ns) {
        return x->first_ns < y->first_ns ? -1 : 1;
    }
    return tc_slice_cmp(x->incident_id, y->incident_id);
}

static int cmp_items(const void *a, const void *b)
{
    const struct tc_verdict *x = *(const struct tc_verdict *const *)a;
    const struct tc_verdict *y = *(const struct tc_verdict *const *)b;
    int order = tc_slice_cmp(tc_live_story_id(x), tc_live_story_id(y));
    return order != 0 ? order : cmp_in_story(x, y);
}

void tc_live_stories_sort(struct tc_live_list *l)
{
    if (l->count > 0) {
        qsort(l->items, l->count, sizeof l->items[0], cmp_items);
    }
}

static void add(struct tc_live_story *s, const struct tc_verdict *v)
{
    bool is_open = tc_live_is_open(v);
    bool counts = is_open || s->open == 0;
    if (is_open && s->open == 0) {
        s->severity = v->finding->severity; /* what is over says nothing any more */
    } else if (counts && v->finding->severity > s->severity) {
        s->severity = v->finding->severity;
    }
    s->open += is_open;
    s->roots += v->cause_count == 0;
    s->count++;
    if (tc_time_is_date(v->first_ns) &&
        (s->first_ns == TC_TIME_NONE || v->first_ns < s->first_ns)) {
        s->first_ns = v->first_ns;
    }
    s->last_ns = v->finding->last_ns > s->last_ns ? v->finding->last_ns : s->last_ns;
}

struct tc_live_story tc_live_story_at(const struct tc_live_list *l, size_t at)
{
    struct tc_live_story s = {.items = &l->items[at],
                              .severity = TC_SEVERITY_INFO,
                              .first_ns = TC_TIME_NONE,
                              .last_ns = TC_TIME_NONE};
    struct tc_slice id = tc_live_story_id(l->items[at]);
    while (at < l->count && tc_slice_eq(tc_live_story_id(l->items[at]), id)) {
        add(&s, l->items[at++]);
    }
    return s;
}

/* An array of what differs in one field of the verdicts, so many at most. */
static void put_different(struct tc_json_out *j, const struct tc_live_story *s, bool is_nodes)
{
    struct tc_slice seen[NODES_MAX > PATTERNS_MAX ? NODES_MAX : PATTERNS_MAX];
    size_t most = is_nodes ? NODES_MAX : PATTERNS_MAX;
    size_t count = 0;
    tc_json_add_array(j);
    for (size_t i = 0; i < s->count && count < most; i++) {
        const struct tc_finding *f = s->items[i]->finding;
        struct tc_slice text = is_nodes ? f->scope.node : f->pattern_name;
        bool is_new = text.len > 0;
        for (size_t n = 0; n < count && is_new; n++) {
            is_new = !tc_slice_eq(seen[n], text);
        }
        if (is_new) {
            seen[count++] = text;
            tc_json_add_str(j, text);
        }
    }
    tc_json_end_array(j);
}

void tc_live_put_story(struct tc_json_out *j, const struct tc_live_story *s)
{
    const struct tc_verdict *lead = s->items[0];
    const struct tc_finding *f = lead->finding;
    tc_json_put_plain(j, "id", tc_live_story_id(lead));
    tc_json_put_plain(j, "status", s->open > 0 ? TC_LIT("open") : TC_LIT("resolved"));
    tc_json_put_cstr(j, "severity", tc_severity_name(s->severity));
    tc_json_put_cstr(j, "confidence", tc_confidence_name(f->confidence));
    tc_json_put_plain(j, "pattern", f->pattern_name);
    tc_json_put_str(j, "headline", f->headline);
    tc_json_put_str(j, "what_to_do", f->remediation);
    tc_json_put_object(j, "where");
    tc_live_put_where(j, &f->scope);
    tc_json_end_object(j);
    tc_json_key(j, "nodes");
    put_different(j, s, true);
    tc_json_key(j, "patterns");
    put_different(j, s, false);
    tc_live_put_time(j, "first_seen", s->first_ns);
    tc_live_put_time(j, "last_seen", s->last_ns);
    tc_json_put_u64(j, "incident_count", s->count);
    tc_json_put_u64(j, "root_count", s->roots);
    tc_json_put_u64(j, "open_count", s->open);
    tc_json_put_array(j, "incident_ids");
    for (size_t i = 0; i < s->count && i < IDS_MAX; i++) {
        tc_json_add_plain(j, s->items[i]->incident_id);
    }
    tc_json_end_array(j);
}
