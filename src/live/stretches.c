/* SPDX-License-Identifier: Apache-2.0 */
#include "live/stretches.h"

#include <string.h>

static void join(struct tc_stretch *a, const struct tc_stretch *b)
{
    a->from_ns = b->from_ns < a->from_ns ? b->from_ns : a->from_ns;
    a->to_ns = b->to_ns > a->to_ns ? b->to_ns : a->to_ns;
    a->arrived_from_ns =
        b->arrived_from_ns < a->arrived_from_ns ? b->arrived_from_ns : a->arrived_from_ns;
    a->arrived_to_ns = b->arrived_to_ns > a->arrived_to_ns ? b->arrived_to_ns : a->arrived_to_ns;
    a->events += b->events;
    a->looked = a->looked && b->looked;
}

static void remove_at(struct tc_stretches *s, size_t at)
{
    s->count--;
    memmove(&s->items[at], &s->items[at + 1], (s->count - at) * sizeof s->items[0]);
}

/* The item before the nearest gap. */
static size_t nearest(const struct tc_stretches *s)
{
    size_t best = 0;
    for (size_t i = 1; i + 1 < s->count; i++) {
        if (s->items[i + 1].from_ns - s->items[i].to_ns <
            s->items[best + 1].from_ns - s->items[best].to_ns) {
            best = i;
        }
    }
    return best;
}

static void join_next(struct tc_stretches *s, size_t at)
{
    join(&s->items[at], &s->items[at + 1]);
    remove_at(s, at + 1);
}

void tc_stretches_add(struct tc_stretches *s, const struct tc_stretch *stretch)
{
    size_t at = 0;
    while (at < s->count && s->items[at].to_ns + s->near_ns < stretch->from_ns) {
        at++;
    }
    if (at < s->count && s->items[at].from_ns - s->near_ns <= stretch->to_ns) {
        join(&s->items[at], stretch);
    } else {
        memmove(&s->items[at + 1], &s->items[at], (s->count - at) * sizeof s->items[0]);
        s->items[at] = *stretch;
        s->count++;
    }
    while (at + 1 < s->count && s->items[at + 1].from_ns - s->near_ns <= s->items[at].to_ns) {
        join_next(s, at);
    }
    if (s->count > TC_STRETCHES_MAX) {
        join_next(s, nearest(s));
    }
}

static bool is_ready(const struct tc_stretch *s, int64_t now_ns, const struct tc_stretch_wait *wait)
{
    int64_t quiet_ns = now_ns - s->arrived_to_ns;
    return s->looked
               ? quiet_ns >= wait->silence_ns
               : quiet_ns >= wait->quiet_ns || now_ns - s->arrived_from_ns >= wait->longest_ns;
}

bool tc_stretches_take(struct tc_stretches *s, int64_t now_ns, const struct tc_stretch_wait *wait,
                       struct tc_stretch *out)
{
    size_t best = s->count;
    for (size_t i = 0; i < s->count; i++) {
        if (is_ready(&s->items[i], now_ns, wait) &&
            (best == s->count || s->items[i].arrived_from_ns < s->items[best].arrived_from_ns)) {
            best = i;
        }
    }
    if (best == s->count) {
        return false;
    }
    *out = s->items[best];
    remove_at(s, best);
    return true;
}
