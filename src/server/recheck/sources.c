/* SPDX-License-Identifier: Apache-2.0 */
/* Which sources are not in time: in the log and in the status. */
#include "base/format.h"
#include "base/time.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "server/recheck/priv.h"

#define SOURCES_SHOWN 100

static struct tc_slice name_of(const struct tc_source *s)
{
    return s->name_len > 0 ? tc_slice_make(s->name, s->name_len) : TC_LIT("(no node)");
}

static const char *clock_name(const struct tc_source *s)
{
    static const char *const NAMES[] = {[TC_CLOCK_OF_NODE] = "node",
                                        [TC_CLOCK_OF_KUBERNETES] = "kubernetes",
                                        [TC_CLOCK_OF_MONITOR] = "monitor"};
    return NAMES[s->clock];
}

static bool is_fast(const struct tc_source *s, int64_t now_ns)
{
    return s->ahead_ns > 0 && now_ns / (60 * TC_SECOND) <= s->minute + 1;
}

static bool is_late(const struct tc_source *s, int64_t now_ns)
{
    return s->late > 0 && now_ns - s->late_arrival_ns <= TC_SOURCE_IN_TIME_NS;
}

/* "2m10s", until the next call. */
static struct tc_slice duration(int64_t ns, char *text, size_t size)
{
    struct tc_buf b = tc_buf_make(text, size);
    (void)tc_format(&b, "{}", tc_as_duration(ns));
    return tc_buf_slice(&b);
}

static void say_clock(struct tc_source *s, int64_t now_ns)
{
    char text[64];
    bool fast = is_fast(s, now_ns);
    if (fast == s->clock_told) {
        return;
    }
    s->clock_told = fast;
    if (fast) {
        tc_log_fields(TC_LOG_WARN, "a source's clock is fast: its times are corrected",
                      TC_LOG_TEXT("source", name_of(s)), TC_LOG_CSTR("clock", clock_name(s)),
                      TC_LOG_TEXT("ahead", duration(s->ahead_ns, text, sizeof text)));
    } else {
        tc_log_fields(TC_LOG_INFO, "a source's clock is right again",
                      TC_LOG_TEXT("source", name_of(s)), TC_LOG_CSTR("clock", clock_name(s)));
    }
}

static void say_late(struct tc_source *s, int64_t now_ns)
{
    char text[64];
    bool late = is_late(s, now_ns);
    if (late == s->late_told) {
        return;
    }
    s->late_told = late;
    if (late) {
        tc_log_fields(TC_LOG_WARN, "a source is late", TC_LOG_TEXT("source", name_of(s)),
                      TC_LOG_CSTR("clock", clock_name(s)),
                      TC_LOG_TEXT("late", duration(s->late_ns, text, sizeof text)),
                      TC_LOG_CSTR("judged", s->unjudged ? "no" : "from the store"));
    } else {
        tc_log_fields(TC_LOG_INFO, "a source is no longer late", TC_LOG_TEXT("source", name_of(s)),
                      TC_LOG_NUMBER("events", (int64_t)s->late));
    }
}

void tc__recheck_say_sources(struct tc_recheck *r, int64_t now_ns)
{
    struct tc_sources_table *all = tc_live_sources(r->live);
    for (size_t i = 0; i < tc_sources_count(all); i++) {
        struct tc_source *s = tc_sources_at(all, i);
        say_clock(s, now_ns);
        say_late(s, now_ns);
        if (s->unjudged && !s->unjudged_told) {
            s->unjudged_told = true;
            tc_log_fields(TC_LOG_WARN, "some of what a source told late was not judged",
                          TC_LOG_TEXT("source", name_of(s)));
        }
    }
}

static void describe_source(const struct tc_source *s, int64_t now_ns, struct tc_json_out *j)
{
    tc_json_add_object(j);
    tc_json_put_str(j, "source", name_of(s));
    tc_json_put_cstr(j, "clock", clock_name(s));
    if (is_fast(s, now_ns)) {
        tc_json_put_i64(j, "ahead_seconds", s->ahead_ns / TC_SECOND);
    }
    if (s->late > 0) {
        tc_json_put_i64(j, "late_seconds", s->late_ns / TC_SECOND);
        tc_json_put_u64(j, "late_events", s->late);
        tc_json_put_time(j, "late_from", s->late_from_ns);
        tc_json_put_time(j, "late_to", s->late_to_ns);
        tc_json_put_time(j, "last_late", s->late_arrival_ns);
    }
    tc_json_put_bool(j, "unjudged", s->unjudged);
    tc_json_end_object(j);
}

void tc_recheck_describe(struct tc_recheck *r, struct tc_json_out *j)
{
    struct tc_sources_table *all = tc_live_sources(r->live);
    size_t count = tc_sources_count(all);
    tc_json_put_object(j, "late");
    tc_json_put_bool(j, "checking", r->state != TC__RECHECK_IDLE);
    tc_json_put_u64(j, "waiting", tc_live_stretches(r->live));
    tc_json_put_u64(j, "rechecks", tc_counter_value(TC_COUNT_RECHECKS));
    tc_json_put_u64(j, "incidents_changed", tc_counter_value(TC_COUNT_RECHECK_NEWS));
    tc_json_put_u64(j, "unjudged_events", tc_counter_value(TC_COUNT_EVENTS_UNJUDGED));
    tc_json_put_u64(j, "sources", count);
    tc_json_put_array(j, "list");
    for (size_t i = 0; i < count && i < SOURCES_SHOWN; i++) {
        describe_source(tc_sources_at(all, i), r->looked_ns, j);
    }
    tc_json_end_array(j);
    tc_json_end_object(j);
}
