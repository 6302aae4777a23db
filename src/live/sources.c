/* SPDX-License-Identifier: Apache-2.0 */
#include "live/sources.h"

#include "base/time.h"
#include "directory/directory.h"

#include <string.h>

#define MINUTE_NS (60 * TC_SECOND)

bool tc_sources_init(struct tc_sources_table *t)
{
    t->ahead_until_ns = TC_TIME_NONE;
    return tc_lru_init(&t->sources, TC_SOURCES_MAX, sizeof(struct tc_source));
}

void tc_sources_fini(struct tc_sources_table *t)
{
    tc_lru_fini(&t->sources);
}

void tc_sources_reset(struct tc_sources_table *t)
{
    t->ahead_until_ns = TC_TIME_NONE;
    tc_lru_reset(&t->sources);
}

/* A node by its short or its full name is one source. */
struct tc_lru_key tc_sources_key(const struct tc_event *ev, uint32_t sender)
{
    struct tc_slice node = tc_directory_host_label(ev->scope.node);
    uint64_t clock = tc_hash_mix(tc_event_clock(ev->kind), sender);
    return (struct tc_lru_key){{tc_slice_hash(node, clock), tc_slice_hash(node, clock + 16)}};
}

static struct tc_source *put_source(struct tc_sources_table *t, const struct tc_event *ev,
                                    uint32_t sender)
{
    struct tc_lru_key key = tc_sources_key(ev, sender);
    bool fresh = tc_lru_find(&t->sources, key) == NULL;
    struct tc_source *s = tc_lru_put(&t->sources, key, false);
    if (fresh) {
        struct tc_slice name = tc_slice_head(ev->scope.node, TC_SOURCE_NAME_MAX);
        s->name_len = (uint8_t)name.len;
        s->clock = (uint8_t)tc_event_clock(ev->kind);
        if (name.len > 0) {
            memcpy(s->name, name.ptr, name.len);
        }
    }
    return s;
}

/* This minute of arrival becomes the one before when another begins. */
static void move_minutes(struct tc_source *s, int64_t clock_ns)
{
    int64_t minute = clock_ns / MINUTE_NS;
    if (minute == s->minute) {
        return;
    }
    s->ahead_max_ns[1] = minute == s->minute + 1 ? s->ahead_max_ns[0] : 0;
    s->ahead_max_ns[0] = 0;
    s->minute = minute;
    s->ahead_ns = s->ahead_max_ns[1];
}

static void note_ahead(struct tc_sources_table *t, struct tc_source *s, int64_t by_ns,
                       int64_t clock_ns)
{
    by_ns = (by_ns + TC_SECOND - 1) / TC_SECOND * TC_SECOND;
    s->ahead_max_ns[0] = by_ns > s->ahead_max_ns[0] ? by_ns : s->ahead_max_ns[0];
    s->ahead_ns = by_ns > s->ahead_ns ? by_ns : s->ahead_ns;
    t->ahead_until_ns = clock_ns + 2 * MINUTE_NS;
}

int64_t tc_sources_look_up_ahead(struct tc_sources_table *t, const struct tc_event *ev,
                                 uint32_t sender, int64_t clock_ns, int64_t ahead_ns)
{
    int64_t by_ns = ev->time_ns - clock_ns;
    struct tc_source *s =
        by_ns > ahead_ns ? put_source(t, ev, sender) : tc_sources_find(t, ev, sender);
    if (s == NULL) {
        return 0;
    }
    move_minutes(s, clock_ns);
    if (by_ns > ahead_ns) {
        note_ahead(t, s, by_ns, clock_ns);
    }
    s->corrected += s->ahead_ns > 0;
    return s->ahead_ns;
}

struct tc_source *tc_sources_find(const struct tc_sources_table *t, const struct tc_event *ev,
                                  uint32_t sender)
{
    return tc_lru_find(&t->sources, tc_sources_key(ev, sender));
}

struct tc_source *tc_sources_note_late(struct tc_sources_table *t, const struct tc_event *ev,
                                       int64_t late_ns, int64_t clock_ns)
{
    struct tc_source *s = put_source(t, ev, ev->sender);
    bool again = s->late > 0;
    s->late++;
    s->late_ns = late_ns;
    s->late_arrival_ns = clock_ns;
    s->late_from_ns = again && s->late_from_ns < ev->time_ns ? s->late_from_ns : ev->time_ns;
    s->late_to_ns = again && s->late_to_ns > ev->time_ns ? s->late_to_ns : ev->time_ns;
    return s;
}

void tc_sources_note_unjudged(struct tc_sources_table *t, int64_t from_ns, int64_t to_ns)
{
    for (size_t i = 0; i < t->sources.count; i++) {
        struct tc_source *s = tc_sources_at(t, i);
        if (s->late > 0 && s->late_from_ns <= to_ns && s->late_to_ns >= from_ns) {
            s->unjudged = true;
        }
    }
}

bool tc_sources_is_late(struct tc_sources_table *t, struct tc_slice node)
{
    for (size_t i = 0; i < t->sources.count; i++) {
        const struct tc_source *s = tc_sources_at(t, i);
        if (s->late > 0 && node.len > 0 &&
            tc_directory_is_same_host(tc_slice_make(s->name, s->name_len), node)) {
            return true;
        }
    }
    return false;
}

size_t tc_sources_count(const struct tc_sources_table *t)
{
    return t->sources.count;
}

struct tc_source *tc_sources_at(struct tc_sources_table *t, size_t at)
{
    return tc_lru_at(&t->sources, at);
}
