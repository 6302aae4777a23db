/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "live/live_priv.h"
#include "unit/live/live_testing.h"

static void a_verdict_leaves_once_its_event_has_waited(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    struct tc_event ev = evicted("gpu-07", "loader-3", T0);
    feed_at(t, &ev, T0 + MS);
    assert_true(tc_live_due(t->live) == T0 + MS + TC_LIVE_CONFIG_DEFAULT.hold_ns);
    advance_to(t, T0 + MS + TC_LIVE_CONFIG_DEFAULT.hold_ns - 1);
    assert_int_equal(t->count, 0);
    assert_int_equal(counts_of(t).held, 1);
    advance_to(t, T0 + MS + TC_LIVE_CONFIG_DEFAULT.hold_ns);
    assert_int_equal(t->count, 1);
    assert_int_equal(t->told[0].status, TC_VERDICT_OPEN);
    assert_int_equal(counts_of(t).held, 0);
    assert_int_equal(counts_of(t).opened, 1);
    assert_int_equal(counts_of(t).incidents, 1);
    assert_int_equal(counts_of(t).open, 1);
    run_to(t, T0 + 3 * TC_SECOND);
    assert_int_equal(t->count, 1);
    test_destroy(t);
}

static void what_changes_is_updated_and_then_resolved(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    struct tc_event ev = pressure("gpu-07", "False", T0);
    feed_at(t, &ev, T0);
    ev = evicted("gpu-07", "loader-3", T0 + TC_SECOND);
    feed_at(t, &ev, T0 + TC_SECOND);
    run_to(t, T0 + 2 * TC_SECOND);
    assert_int_equal(t->count, 1);
    ev = pressure("gpu-07", "True", T0 + TC_SECOND / 2);
    feed_at(t, &ev, T0 + 3 * TC_SECOND);
    run_to(t, T0 + 4 * TC_SECOND);
    assert_int_equal(t->count, 2);
    assert_int_equal(t->told[1].status, TC_VERDICT_UPDATED);
    ev = pressure("gpu-07", "False", T0 + 5 * TC_SECOND);
    feed_at(t, &ev, T0 + 5 * TC_SECOND);
    run_to(t, T0 + 5 * TC_SECOND + 100 * MS);
    assert_int_equal(t->count, 3);
    assert_int_equal(t->told[2].status, TC_VERDICT_RESOLVED);
    assert_memory_equal(t->told[0].id, t->told[2].id, TC_INCIDENT_ID_LEN);
    struct tc_live_counts counts = counts_of(t);
    assert_int_equal(counts.opened, 1);
    assert_int_equal(counts.updated, 1);
    assert_int_equal(counts.resolved, 1);
    assert_int_equal(counts.verdicts, 3);
    assert_int_equal(counts.incidents, 1);
    assert_int_equal(counts.open, 0);
    assert_int_equal(counts.late, 1);
    test_destroy(t);
}

/* Whatever comes together is handed over in order: the pressure was there before the eviction. */
static void what_comes_together_is_put_in_order(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    struct tc_event ev = evicted("gpu-07", "loader-3", T0 + TC_SECOND);
    feed_at(t, &ev, T0 + 2 * TC_SECOND);
    ev = pressure("gpu-07", "True", T0);
    feed_at(t, &ev, T0 + 2 * TC_SECOND + 19 * MS);
    run_to(t, T0 + 2 * TC_SECOND + 39 * MS);
    struct tc_live_counts counts = counts_of(t);
    assert_int_equal(counts.opened, 1);
    /* The eviction was due first, but had not gone when the pressure came. */
    assert_int_equal(counts.late, 0);
    test_destroy(t);
    t = test_create(NULL);
    ev = evicted("gpu-07", "loader-3", T0 + TC_SECOND);
    feed_at(t, &ev, T0 + 2 * TC_SECOND);
    ev = pressure("gpu-07", "True", T0);
    feed_at(t, &ev, T0 + 2 * TC_SECOND);
    run_to(t, T0 + 2 * TC_SECOND + 20 * MS);
    counts = counts_of(t);
    assert_int_equal(counts.late, 0);
    assert_int_equal(counts.opened, 1);
    assert_int_equal(counts.updated, 0);
    test_destroy(t);
}

/* One that comes while others wait goes before those that are dated after it. */
static void events_are_in_order_that_come_within_the_hold(void **state)
{
    (void)state;
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    config.hold_ns = 100 * MS;
    struct live_test *t = test_create(&config);
    /* Each is dated before the one that came 40 ms earlier, over more than a block of slots. */
    for (int i = 0; i < 300; i++) {
        struct tc_event ev = quiet_event("gpu-07", T0 - 200 * TC_SECOND + i / 2 * TC_SECOND -
                                                       i % 2 * 3 * TC_SECOND / 2);
        feed_at(t, &ev, T0 + i * 40 * MS);
        run_to(t, T0 + i * 40 * MS);
    }
    run_to(t, T0 + 20 * TC_SECOND);
    assert_int_equal(counts_of(t).events, 300);
    assert_int_equal(counts_of(t).late, 0);
    assert_int_equal(counts_of(t).too_late, 0);
    test_destroy(t);
}

/* The eviction as the API server's event and as the pod's state, dated alike: which of them comes
 * first does not matter. */
static void the_id_does_not_depend_on_who_is_faster(void **state)
{
    (void)state;
    char ids[2][TC_INCIDENT_ID_LEN];
    for (int turn = 0; turn < 2; turn++) {
        struct live_test *t = test_create(NULL);
        struct tc_event told = evicted("gpu-07", "loader-3", T0 - TC_SECOND);
        struct tc_event pod;
        tc_event_init(&pod, TC_EVENT_POD_STATE);
        pod.time_ns = told.time_ns;
        pod.scope = told.scope;
        pod.pod.phase = TC_LIT("Failed");
        pod.pod.reason = told.k8s.reason;
        pod.pod.message = told.k8s.message;
        told.uid = TC_LIT("6897835f-6dd5-4b95-8dbf-2e9eeb3d32a6");
        feed_at(t, turn == 0 ? &told : &pod, T0);
        feed_at(t, turn == 0 ? &pod : &told, T0 + MS);
        run_to(t, T0 + TC_SECOND);
        assert_true(t->count > 0);
        memcpy(ids[turn], t->told[0].id, sizeof ids[turn]);
        test_destroy(t);
    }
    assert_memory_equal(ids[0], ids[1], sizeof ids[0]);
}

/* What comes after the hold of the others is late. */
static void events_are_late_that_come_after_the_hold(void **state)
{
    (void)state;
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    config.hold_ns = 100 * MS;
    struct live_test *t = test_create(&config);
    struct tc_event later = quiet_event("gpu-07", T0 - TC_SECOND);
    struct tc_event earlier = quiet_event("gpu-07", T0 - 2 * TC_SECOND);
    feed_at(t, &later, T0);
    run_to(t, T0 + 100 * MS);
    feed_at(t, &earlier, T0 + 101 * MS);
    run_to(t, T0 + TC_SECOND);
    assert_int_equal(counts_of(t).late, 1);
    test_destroy(t);
}

static void without_a_hold_events_go_straight_through(void **state)
{
    (void)state;
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    config.hold_ns = 0;
    struct live_test *t = test_create(&config);
    struct tc_event ev = evicted("gpu-07", "loader-3", T0);
    feed_at(t, &ev, T0);
    assert_int_equal(counts_of(t).held, 0);
    advance_to(t, T0);
    assert_int_equal(t->count, 1);
    test_destroy(t);
}

/* ---- senders with wrong clocks ---- */

static void what_is_late_counts_up_to_the_lateness(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    int64_t lateness = t->config.lateness_ns;
    struct tc_event ev = quiet_event("gpu-08", T0);
    feed_at(t, &ev, T0);
    run_to(t, T0 + 20 * MS);
    ev = evicted("gpu-07", "loader-3", T0 - lateness - 1);
    feed_at(t, &ev, T0 + 20 * MS);
    run_to(t, T0 + TC_SECOND);
    assert_int_equal(t->count, 0);
    assert_int_equal(counts_of(t).too_late, 1);
    assert_int_equal(counts_of(t).late, 0);
    ev.time_ns++;
    feed_at(t, &ev, T0 + TC_SECOND);
    run_to(t, T0 + 2 * TC_SECOND);
    assert_int_equal(t->count, 1);
    assert_int_equal(counts_of(t).too_late, 1);
    assert_int_equal(counts_of(t).late, 1);
    ev = evicted("gpu-09", "loader-4", T0 - 3600 * TC_SECOND);
    assert_int_equal(tc_live_feed(t->live, &ev, T0 + 2 * TC_SECOND, true), TC_OK);
    run_to(t, T0 + 3 * TC_SECOND);
    assert_int_equal(t->count, 2);
    assert_int_equal(counts_of(t).late, 2);
    test_destroy(t);
}

static void what_is_ahead_waits_for_its_time_or_is_corrected(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    int64_t ahead = t->config.ahead_ns;
    struct tc_event ev = evicted("gpu-07", "loader-3", T0 + ahead);
    feed_at(t, &ev, T0);
    assert_int_equal(counts_of(t).ahead, 0);
    run_to(t, T0 + ahead - 1);
    assert_int_equal(t->count, 0);
    assert_int_equal(counts_of(t).held, 1);
    assert_true(tc_live_due(t->live) == T0 + ahead);
    run_to(t, T0 + ahead);
    assert_int_equal(t->count, 1);
    int64_t now = T0 + 2 * TC_SECOND;
    ev = evicted("gpu-08", "loader-4", now + ahead + 1);
    feed_at(t, &ev, now);
    assert_int_equal(counts_of(t).ahead, 1);
    run_to(t, now + 20 * MS);
    assert_int_equal(t->count, 2);
    assert_true(counts_of(t).engine_ns <= now);
    test_destroy(t);
}

static void a_fast_clock_is_corrected_until_it_is_right_again(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    int64_t fast = 600 * TC_SECOND;
    struct tc_event ev = evicted("gpu-07", "loader-1", T0 + fast);
    feed_at(t, &ev, T0);
    /* An older one of the same source keeps its distance, one of another source its time. */
    ev = evicted("gpu-07.cluster", "loader-2", T0 + fast - 30 * TC_SECOND);
    feed_at(t, &ev, T0);
    ev = evicted("gpu-08", "loader-3", T0);
    feed_at(t, &ev, T0);
    run_to(t, T0 + TC_SECOND);
    assert_int_equal(t->count, 3);
    assert_int_equal(counts_of(t).ahead, 2);
    for (size_t i = 0; i < t->count; i++) {
        bool older = strstr(t->told[i].key, "loader-2") != NULL;
        assert_true(t->told[i].mark.first_ns == T0 - (older ? 30 * TC_SECOND : 0));
    }
    assert_int_equal(tc_sources_count(tc_live_sources(t->live)), 1);
    assert_true(tc_sources_at(tc_live_sources(t->live), 0)->ahead_ns == fast);
    /* The clock is set right: two minutes later nothing is corrected any more. */
    int64_t now = T0 + 180 * TC_SECOND;
    ev = evicted("gpu-07", "loader-4", now);
    feed_at(t, &ev, now);
    run_to(t, now + TC_SECOND);
    assert_int_equal(t->count, 4);
    assert_int_equal(counts_of(t).ahead, 2);
    assert_true(t->told[3].mark.first_ns == now);
    test_destroy(t);
}

static void nobody_moves_the_times_of_what_others_send(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    struct tc_event ev = evicted("gpu-07", "loader-1", T0 + 600 * TC_SECOND);
    tc_live_sender(t->live, 7);
    feed_at(t, &ev, T0);
    tc_live_sender(t->live, 8);
    ev = evicted("gpu-07", "loader-2", T0);
    feed_at(t, &ev, T0);
    run_to(t, T0 + TC_SECOND);
    assert_int_equal(t->count, 2);
    assert_int_equal(counts_of(t).ahead, 1);
    assert_int_equal(counts_of(t).too_late, 0);
    test_destroy(t);
}

static void times_out_of_range_are_counted_and_left_out(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    static const int64_t bad[] = {-1, TC_TIME_MAX + 1, INT64_MAX, INT64_MIN + 1};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct tc_event ev = evicted("gpu-07", "loader-3", bad[i]);
        feed_at(t, &ev, T0);
    }
    struct tc_event ev = evicted("gpu-07", "loader-3", TC_TIME_NONE);
    feed_at(t, &ev, T0);
    run_to(t, T0 + TC_SECOND);
    assert_int_equal(counts_of(t).misdated, 4);
    assert_int_equal(counts_of(t).undated, 1);
    assert_int_equal(counts_of(t).events, 5);
    assert_true(counts_of(t).engine_ns == TC_TIME_NONE);
    /* A clock may be a day fast; a date further away is wrong. */
    ev.time_ns = T0 + TC_SECOND + TC_SOURCE_AHEAD_MAX_NS + 1;
    feed_at(t, &ev, T0 + TC_SECOND);
    assert_int_equal(counts_of(t).misdated, 5);
    ev.time_ns--;
    feed_at(t, &ev, T0 + TC_SECOND);
    run_to(t, T0 + 2 * TC_SECOND);
    assert_int_equal(counts_of(t).ahead, 1);
    assert_true(counts_of(t).engine_ns <= T0 + 2 * TC_SECOND);
    test_destroy(t);
}

/* ---- what comes too late ---- */

static const struct tc_stretch_wait SOON = {
    .quiet_ns = 2 * TC_SECOND, .longest_ns = 10 * TC_SECOND, .silence_ns = 60 * TC_SECOND};

static void late_events_mark_the_time_that_they_tell_of(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    struct tc_stretch stretch;
    struct tc_event ev = quiet_event("gpu-08", T0);
    feed_at(t, &ev, T0);
    run_to(t, T0 + 20 * MS);
    for (int64_t i = 0; i < 3; i++) {
        ev = evicted("gpu-07", "loader-3", T0 - (300 - i) * TC_SECOND);
        feed_at(t, &ev, T0 + TC_SECOND);
    }
    run_to(t, T0 + 2 * TC_SECOND);
    assert_int_equal(t->count, 0);
    assert_int_equal(counts_of(t).too_late, 3);
    assert_int_equal(tc_live_stretches(t->live), 1);
    const struct tc_source *source = tc_sources_at(tc_live_sources(t->live), 0);
    assert_memory_equal(source->name, "gpu-07", source->name_len);
    assert_int_equal(source->late, 3);
    /* Not before it is quiet, or has lasted too long. */
    assert_false(tc_live_take_stretch(t->live, &SOON, &stretch));
    run_to(t, T0 + 3 * TC_SECOND + 10 * MS);
    assert_true(tc_live_take_stretch(t->live, &SOON, &stretch));
    assert_true(stretch.from_ns == T0 - 300 * TC_SECOND);
    assert_true(stretch.to_ns == T0 - 298 * TC_SECOND);
    assert_int_equal(stretch.events, 3);
    assert_int_equal(tc_live_stretches(t->live), 0);
    test_destroy(t);
}

static void what_is_older_than_the_window_is_not_judged_and_that_is_known(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    int64_t window = t->config.window_ns;
    struct tc_event ev = quiet_event("gpu-08", T0);
    feed_at(t, &ev, T0);
    run_to(t, T0 + 20 * MS);
    ev = evicted("gpu-07", "loader-3", T0 - window);
    feed_at(t, &ev, T0 + 20 * MS);
    run_to(t, T0 + 40 * MS);
    assert_int_equal(counts_of(t).unjudged, 0);
    assert_int_equal(tc_live_stretches(t->live), 1);
    ev = evicted("gpu-09", "loader-4", T0 - window - TC_SECOND);
    feed_at(t, &ev, T0 + 40 * MS);
    run_to(t, T0 + 60 * MS);
    assert_int_equal(counts_of(t).unjudged, 1);
    assert_int_equal(tc_live_stretches(t->live), 1);
    size_t unjudged = 0;
    for (size_t i = 0; i < tc_sources_count(tc_live_sources(t->live)); i++) {
        const struct tc_source *s = tc_sources_at(tc_live_sources(t->live), i);
        unjudged += s->unjudged;
        assert_true(!s->unjudged || s->name[5] == '9');
    }
    assert_int_equal(unjudged, 1);
    test_destroy(t);
}

/* A list of all objects is told again and again, with states from long ago. */
static void a_state_that_is_told_again_marks_nothing(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    struct tc_stretch stretch;
    struct tc_event ev = quiet_event("gpu-08", T0);
    feed_at(t, &ev, T0);
    run_to(t, T0 + 20 * MS);
    ev = pressure("gpu-07", "True", T0 - 3600 * TC_SECOND);
    feed_at(t, &ev, T0 + 20 * MS);
    run_to(t, T0 + 3 * TC_SECOND);
    assert_true(tc_live_take_stretch(t->live, &SOON, &stretch));
    feed_at(t, &ev, T0 + 3 * TC_SECOND);
    run_to(t, T0 + 4 * TC_SECOND);
    assert_int_equal(tc_live_stretches(t->live), 0);
    assert_int_equal(tc_sources_count(tc_live_sources(t->live)), 0);
    ev.time_ns += TC_SECOND; /* another transition */
    feed_at(t, &ev, T0 + 4 * TC_SECOND);
    run_to(t, T0 + 5 * TC_SECOND);
    assert_int_equal(tc_live_stretches(t->live), 1);
    test_destroy(t);
}

struct taken {
    struct tc_story *story;
};

static tc_status take_verdict(void *context, const struct tc_verdict *v)
{
    struct taken *taken = context;
    return tc_story_add(taken->story, v);
}

/* What an engine of its own makes of these events. */
static struct tc_story *judged(const struct tc_event *events, size_t count)
{
    struct taken taken = {tc_story_create()};
    struct tc_engine_out out = {.verdict = take_verdict, .context = &taken};
    struct tc_engine *engine = NULL;
    struct tc_error err;
    assert_int_equal(tc_engine_create(&out, &engine, &err), TC_OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(tc_engine_feed(engine, &events[i]), TC_OK);
    }
    assert_int_equal(tc_engine_tick(engine), TC_OK);
    tc_engine_destroy(engine);
    return taken.story;
}

static void what_a_recheck_found_is_told_once_and_keeps_its_identity(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    struct tc_event ev = quiet_event("gpu-08", T0);
    struct tc_live_adopted out;
    feed_at(t, &ev, T0);
    run_to(t, T0 + 20 * MS);
    struct tc_event late[] = {pressure("gpu-07", "True", T0 - 610 * TC_SECOND),
                              evicted("gpu-07", "loader-3", T0 - 600 * TC_SECOND)};
    struct tc_story *story = judged(late, 2);
    assert_int_equal(tc_story_verdicts(story)->count, 1);
    const struct tc_finding *f = &tc_story_verdicts(story)->items[0].finding;
    assert_int_equal(tc_live_adopt(t->live, f, false, &out), TC_OK);
    assert_false(out.is_news);
    assert_false(tc_live_is_kept(t->live, f->pattern_id, f->key));
    assert_int_equal(tc_live_adopt(t->live, f, true, &out), TC_OK);
    assert_true(out.is_news && out.is_opened);
    run_to(t, T0 + TC_SECOND);
    assert_int_equal(t->count, 1);
    assert_int_equal(t->told[0].status, TC_VERDICT_OPEN);
    assert_true(tc_live_is_kept(t->live, f->pattern_id, f->key));
    assert_false(tc_live_is_over(t->live, f->pattern_id, f->key));
    assert_int_equal(tc_live_adopt(t->live, f, true, &out), TC_OK);
    assert_false(out.is_news);
    /* What ends earlier than what is known is no news, what ends it is. */
    struct tc_finding other = *f;
    other.last_ns -= 1;
    other.headline = TC_LIT("another");
    assert_int_equal(tc_live_adopt(t->live, &other, true, &out), TC_OK);
    assert_false(out.is_news);
    other = *f;
    other.first_ns += 1;
    other.headline = TC_LIT("another");
    assert_int_equal(tc_live_adopt(t->live, &other, true, &out), TC_OK);
    assert_false(out.is_news);
    other = *f;
    other.resolved = true;
    other.last_ns += TC_SECOND;
    assert_int_equal(tc_live_adopt(t->live, &other, true, &out), TC_OK);
    assert_true(out.is_news);
    run_to(t, T0 + 3 * TC_SECOND);
    assert_int_equal(t->count, 2);
    assert_int_equal(t->told[1].status, TC_VERDICT_RESOLVED);
    assert_true(tc_live_is_over(t->live, f->pattern_id, f->key));
    assert_memory_equal(t->told[1].id, t->told[0].id, TC_INCIDENT_ID_LEN);
    tc_story_destroy(story);
    test_destroy(t);
}

/* A recheck does not know who has run where for hours. */
static void what_names_less_of_the_same_facts_is_no_news(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    struct tc_live_adopted out;
    struct tc_event ev = evicted("gpu-07", "loader-3", T0);
    feed_at(t, &ev, T0);
    run_to(t, T0 + TC_SECOND);
    assert_int_equal(t->count, 1);
    struct tc_story *story = judged(&ev, 1);
    struct tc_finding less = tc_story_verdicts(story)->items[0].finding;
    less.scope.pod_uid = TC_EMPTY;
    less.headline = TC_LIT("without its uid");
    assert_int_equal(tc_live_adopt(t->live, &less, true, &out), TC_OK);
    assert_false(out.is_news);
    /* With more of them, or a later end, it is. */
    struct tc_finding more = tc_story_verdicts(story)->items[0].finding;
    struct tc_scope culprits[1] = {more.scope};
    struct tc_attr attr = {
        .key = TC_LIT("culprits"), .type = TC_ATTR_SCOPES, .scopes = culprits, .count = 1};
    more.attrs = &attr;
    more.attr_count = 1;
    assert_int_equal(tc_live_adopt(t->live, &more, true, &out), TC_OK);
    assert_true(out.is_news);
    struct tc_finding without = tc_story_verdicts(story)->items[0].finding;
    assert_int_equal(tc_live_adopt(t->live, &without, true, &out), TC_OK);
    assert_false(out.is_news);
    without.severity = TC_SEVERITY_CRITICAL;
    without.headline = TC_LIT("worse than it seemed");
    assert_int_equal(tc_live_adopt(t->live, &without, true, &out), TC_OK);
    assert_true(out.is_news);
    tc_story_destroy(story);
    test_destroy(t);
}

/* A dump that ends hands over what others said no sooner: it would not be in order. */
static void the_end_of_a_file_does_not_cut_the_hold_short(void **state)
{
    (void)state;
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    config.hold_ns = 100 * MS;
    struct live_test *t = test_create(&config);
    struct tc_event later = quiet_event("gpu-07", T0 - TC_SECOND);
    struct tc_event earlier = quiet_event("gpu-07", T0 - 2 * TC_SECOND);
    struct tc_event dumped = quiet_event("gpu-07", T0 - 3 * TC_SECOND);
    feed_at(t, &later, T0);
    assert_int_equal(tc_live_feed(t->live, &dumped, T0 + 5 * MS, true), TC_OK);
    assert_int_equal(tc_live_end_of_file(t->live, T0 + 10 * MS, false), TC_OK);
    assert_int_equal(counts_of(t).held, 2);
    feed_at(t, &earlier, T0 + 20 * MS);
    run_to(t, T0 + 5 * TC_SECOND);
    assert_int_equal(counts_of(t).late, 0);
    /* What was handed over is none that others wait for. */
    assert_int_equal(counts_of(t).held, 0);
    assert_int_equal(tc_live_feed(t->live, &dumped, T0 + 6 * TC_SECOND, true), TC_OK);
    assert_int_equal(tc_live_end_of_file(t->live, T0 + 6 * TC_SECOND, false), TC_OK);
    assert_int_equal(counts_of(t).held, 0);
    test_destroy(t);
}

/* Live detection does not know what came late: that it says less later is no news. */
static void what_a_recheck_found_stands_until_more_is_known(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    struct tc_live_adopted out;
    struct tc_event ev = evicted("gpu-07", "loader-3", T0);
    feed_at(t, &ev, T0);
    run_to(t, T0 + TC_SECOND);
    assert_int_equal(t->count, 1);
    struct tc_story *story = judged(&ev, 1);
    struct tc_finding more = tc_story_verdicts(story)->items[0].finding;
    struct tc_evidence evidence[8];
    for (size_t i = 0; i < 8; i++) {
        evidence[i] = more.evidence[0];
    }
    more.evidence = evidence;
    more.evidence_count = 8;
    more.first_ns -= 90 * TC_SECOND;
    more.headline = TC_LIT("with what came late");
    assert_int_equal(tc_live_adopt(t->live, &more, false, &out), TC_OK);
    assert_true(out.is_news && !out.is_opened);
    run_to(t, T0 + 3 * TC_SECOND);
    assert_int_equal(t->count, 2);
    /* Live detection learns of a reason, and has something to say. */
    struct tc_event low = pressure("gpu-07", "True", T0 - 10 * TC_SECOND);
    feed_at(t, &low, T0 + 3 * TC_SECOND);
    run_to(t, T0 + 6 * TC_SECOND);
    assert_int_equal(t->count, 2);
    assert_int_equal(tc_live_stretches(t->live), 1);
    /* That it is over is more; from then on it is live detection's own again. */
    low = pressure("gpu-07", "False", T0 + 7 * TC_SECOND);
    feed_at(t, &low, T0 + 7 * TC_SECOND);
    run_to(t, T0 + 9 * TC_SECOND);
    assert_int_equal(t->count, 3);
    assert_int_equal(t->told[2].status, TC_VERDICT_RESOLVED);
    const struct tc_incident_table *kept = tc_story_verdicts(t->live->story);
    assert_int_equal(kept->count, 1);
    assert_false(kept->items[0].said.checked);
    tc_story_destroy(story);
    test_destroy(t);
}

/* Whatever live detection says that a recheck may not have known is taken. */
static void what_says_more_than_a_recheck_found_is_taken(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    struct tc_incident_entry kept = {.finding = {.first_ns = T0,
                                                 .last_ns = T0 + TC_SECOND,
                                                 .severity = TC_SEVERITY_WARNING,
                                                 .evidence_count = 3},
                                     .verdict = {.status = TC_VERDICT_UPDATED},
                                     .said = {.checked = true}};
    struct tc_finding less = kept.finding;
    less.first_ns++;
    assert_true(tc__live_keeps_checked(t->live, &kept, &less));
    assert_int_equal(tc_live_stretches(t->live), 1);
    struct tc_finding f = less;
    f.first_ns = T0; /* as early */
    assert_false(tc__live_keeps_checked(t->live, &kept, &f));
    f = less;
    f.severity = TC_SEVERITY_CRITICAL;
    assert_false(tc__live_keeps_checked(t->live, &kept, &f));
    f = less;
    f.evidence_count = 4;
    assert_false(tc__live_keeps_checked(t->live, &kept, &f));
    f = less;
    f.resolved = true;
    assert_false(tc__live_keeps_checked(t->live, &kept, &f));
    kept.verdict.status = TC_VERDICT_RESOLVED;
    assert_true(tc__live_keeps_checked(t->live, &kept, &f));
    assert_false(tc__live_keeps_checked(t->live, &kept, &less)); /* it goes on */
    kept.verdict.status = TC_VERDICT_UPDATED;
    kept.said.checked = false; /* live detection found it itself */
    assert_false(tc__live_keeps_checked(t->live, &kept, &less));
    kept.said.checked = true;
    t->live->adopting = true; /* another recheck says so */
    assert_false(tc__live_keeps_checked(t->live, &kept, &less));
    test_destroy(t);
}

/* Names end in numbers, as keys do: another node is another incident. */
static void what_a_recheck_found_of_another_node_is_its_own_incident(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    struct tc_live_adopted out;
    struct tc_event late = evicted("gpu-07", "loader-3", T0);
    struct tc_story *story = judged(&late, 1);
    struct tc_finding one = tc_story_verdicts(story)->items[0].finding;
    one.key = one.scope.node = TC_LIT("gpu-07");
    assert_int_equal(tc_live_adopt(t->live, &one, true, &out), TC_OK);
    run_to(t, T0 + TC_SECOND);
    assert_int_equal(t->count, 1);
    struct tc_finding other = one;
    other.key = other.scope.node = TC_LIT("gpu-08");
    assert_int_equal(tc_live_adopt(t->live, &other, false, &out), TC_OK);
    assert_false(out.is_news);
    assert_int_equal(tc_live_adopt(t->live, &other, true, &out), TC_OK);
    assert_true(out.is_news);
    run_to(t, T0 + 3 * TC_SECOND);
    assert_int_equal(t->count, 2);
    assert_memory_not_equal(t->told[1].id, t->told[0].id, TC_INCIDENT_ID_LEN);
    tc_story_destroy(story);
    test_destroy(t);
}

static void a_stretch_is_widened_by_the_incidents_that_it_touches(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    int64_t margin = t->config.margin_ns;
    struct tc_event ev = evicted("gpu-07", "loader-3", T0);
    feed_at(t, &ev, T0);
    run_to(t, T0 + TC_SECOND);
    assert_int_equal(t->count, 1);
    struct tc_stretch near = {.from_ns = T0 + margin, .to_ns = T0 + margin};
    tc_live_widen(t->live, &near);
    assert_true(near.from_ns == T0 && near.to_ns == T0 + margin);
    struct tc_stretch far = {.from_ns = T0 + margin + 1, .to_ns = T0 + margin + 1};
    tc_live_widen(t->live, &far);
    assert_true(far.from_ns == T0 + margin + 1);
    test_destroy(t);
}

static void time_goes_on_in_silence(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    struct tc_event ev = quiet_event("gpu-08", T0);
    feed_at(t, &ev, T0);
    run_to(t, T0 + 60 * TC_SECOND);
    int64_t behind = T0 + 60 * TC_SECOND - counts_of(t).engine_ns;
    assert_true(behind >= t->config.silence_ns && behind < t->config.silence_ns + 100 * MS);
    test_destroy(t);
}

static void a_recorded_past_keeps_its_own_time(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    int64_t year = INT64_C(31536000) * TC_SECOND;
    struct tc_event ev = quiet_event("gpu-08", T0 - year);
    feed_at(t, &ev, T0);
    run_to(t, T0 + 60 * TC_SECOND);
    int64_t behind = T0 - year + 60 * TC_SECOND - counts_of(t).engine_ns;
    assert_true(behind >= t->config.silence_ns && behind < t->config.silence_ns + 100 * MS);
    test_destroy(t);
}

/* ---- our own clock ---- */

static void a_clock_that_jumps_forward_passes_no_time(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    struct tc_event ev = quiet_event("gpu-08", T0);
    feed_at(t, &ev, T0);
    run_to(t, T0 + 10 * TC_SECOND);
    int64_t before = counts_of(t).engine_ns;
    int64_t hour = 3600 * TC_SECOND;
    advance_to(t, T0 + 10 * TC_SECOND + hour);
    assert_true(counts_of(t).engine_ns - before <= 2 * TC_SECOND);
    run_to(t, T0 + 20 * TC_SECOND + hour);
    assert_true(counts_of(t).engine_ns - before <= 12 * TC_SECOND);
    assert_true(counts_of(t).engine_ns - before >= 10 * TC_SECOND);
    /* Those who send were right all the time, and are still heard. */
    ev = evicted("gpu-07", "loader-3", T0 + 20 * TC_SECOND);
    feed_at(t, &ev, T0 + 20 * TC_SECOND + hour);
    run_to(t, T0 + 21 * TC_SECOND + hour);
    assert_int_equal(t->count, 1);
    test_destroy(t);
}

static void a_clock_that_jumps_back_stalls_nothing(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    int64_t hour = 3600 * TC_SECOND;
    struct tc_event ev = quiet_event("gpu-08", T0);
    feed_at(t, &ev, T0 - 20 * MS);
    advance_to(t, T0);
    ev = evicted("gpu-07", "loader-3", T0 + MS);
    feed_at(t, &ev, T0 + MS);
    /* Held events leave, those who send are heard, and time passes. */
    advance_to(t, T0 - hour);
    assert_int_equal(t->count, 0);
    run_to(t, T0 - hour + 20 * MS);
    assert_int_equal(t->count, 1);
    ev = evicted("gpu-07", "loader-4", T0 + 60 * MS);
    feed_at(t, &ev, T0 - hour + 60 * MS);
    run_to(t, T0 - hour + 80 * MS);
    assert_int_equal(t->count, 2);
    assert_int_equal(counts_of(t).ahead, 0);
    run_to(t, T0 - hour + 60 * TC_SECOND);
    assert_true(counts_of(t).engine_ns >= T0 + 54 * TC_SECOND);
    assert_true(counts_of(t).engine_ns <= T0 + 60 * TC_SECOND);
    /* Still nobody moves time by being ahead of all others. */
    ev = quiet_event("gpu-66", T0 + hour);
    feed_at(t, &ev, T0 - hour + 60 * TC_SECOND);
    assert_int_equal(counts_of(t).ahead, 1);
    test_destroy(t);
}

/* Our clock was an hour ahead and is set right: those who send agree with it from the start. */
static void a_clock_that_is_set_right_is_believed(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    int64_t hour = 3600 * TC_SECOND;
    struct tc_event ev = quiet_event("gpu-08", T0);
    feed_at(t, &ev, T0 + hour);
    run_to(t, T0 + hour + 10 * TC_SECOND);
    advance_to(t, T0 + 10 * TC_SECOND);
    ev = evicted("gpu-66", "loader-3", T0 + hour);
    feed_at(t, &ev, T0 + 10 * TC_SECOND);
    assert_int_equal(counts_of(t).ahead, 1);
    ev = evicted("gpu-07", "loader-3", T0 + 10 * TC_SECOND);
    feed_at(t, &ev, T0 + 10 * TC_SECOND);
    run_to(t, T0 + 11 * TC_SECOND);
    assert_int_equal(t->count, 1);
    test_destroy(t);
}

/* ---- restart ---- */

static void restore(struct live_test *to, const struct live_test *from)
{
    for (size_t i = 0; i < from->count; i++) {
        assert_int_equal(tc_live_restore(to->live, &from->told[i].mark), TC_OK);
    }
    assert_int_equal(tc_live_replaying(to->live, true), TC_OK);
}

static void what_was_told_is_not_told_again_after_a_restart(void **state)
{
    (void)state;
    struct live_test *a = test_create(NULL);
    struct live_test *b = test_create(NULL);
    struct tc_event ev = evicted("gpu-07", "loader-3", T0);
    struct tc_event other = evicted("gpu-08", "loader-4", T0 + TC_SECOND);
    feed_at(a, &ev, T0);
    run_to(a, T0 + TC_SECOND);
    restore(b, a);
    feed_at(b, &ev, T0);
    run_to(b, T0 + TC_SECOND);
    feed_at(b, &other, T0 + TC_SECOND);
    run_to(b, T0 + 2 * TC_SECOND);
    assert_int_equal(b->count, 0);
    assert_int_equal(tc_live_replaying(b->live, false), TC_OK);
    assert_int_equal(b->count, 1);
    assert_int_equal(b->told[0].status, TC_VERDICT_OPEN);
    assert_memory_not_equal(b->told[0].id, a->told[0].id, TC_INCIDENT_ID_LEN);
    run_to(b, T0 + 10 * TC_SECOND);
    assert_int_equal(b->count, 1);
    test_destroy(a);
    test_destroy(b);
}

static void an_incident_that_the_replay_does_not_reach_keeps_its_identity(void **state)
{
    (void)state;
    struct live_test *a = test_create(NULL);
    struct live_test *b = test_create(NULL);
    struct tc_event ev = evicted("gpu-07", "loader-3", T0);
    feed_at(a, &ev, T0);
    run_to(a, T0 + TC_SECOND);
    restore(b, a);
    assert_int_equal(tc_live_replaying(b->live, false), TC_OK);
    assert_int_equal(b->count, 0);
    ev.time_ns += TC_SECOND;
    ev.uid = TC_LIT("another report of it");
    feed_at(b, &ev, T0 + 2 * TC_SECOND);
    run_to(b, T0 + 3 * TC_SECOND);
    for (size_t i = 0; i < b->count; i++) {
        assert_int_equal(b->told[i].status, TC_VERDICT_UPDATED);
        assert_memory_equal(b->told[i].id, a->told[0].id, TC_INCIDENT_ID_LEN);
    }
    assert_int_equal(counts_of(b).opened, 0);
    assert_int_equal(counts_of(b).incidents, 1);
    test_destroy(a);
    test_destroy(b);
}

static void what_changed_while_we_were_away_is_told_at_the_end_of_the_replay(void **state)
{
    (void)state;
    struct live_test *a = test_create(NULL);
    struct live_test *b = test_create(NULL);
    struct tc_event before = pressure("gpu-07", "True", T0);
    struct tc_event ev = evicted("gpu-07", "loader-3", T0 + TC_SECOND);
    struct tc_event after = pressure("gpu-07", "False", T0 + 2 * TC_SECOND);
    feed_at(a, &before, T0);
    feed_at(a, &ev, T0 + TC_SECOND);
    run_to(a, T0 + 2 * TC_SECOND);
    assert_int_equal(a->count, 1);
    restore(b, a);
    feed_at(b, &before, T0);
    feed_at(b, &ev, T0 + TC_SECOND);
    feed_at(b, &after, T0 + 2 * TC_SECOND);
    assert_int_equal(tc_live_replaying(b->live, false), TC_OK);
    assert_int_equal(b->count, 1);
    assert_int_equal(b->told[0].status, TC_VERDICT_RESOLVED);
    test_destroy(a);
    test_destroy(b);
}

static void a_mark_that_is_none_is_refused(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    struct tc_incident_mark mark = {.pattern_id = TC_LIT("4"), .key = TC_LIT("x")};
    mark.incident_id = TC_LIT("0123");
    assert_int_equal(tc_live_restore(t->live, &mark), TC_E_MALFORMED);
    mark.incident_id = TC_LIT("0123456789abcdef0123456789abcdef");
    assert_int_equal(tc_live_restore(t->live, &mark), TC_OK);
    mark.pattern_id = TC_EMPTY;
    assert_int_equal(tc_live_restore(t->live, &mark), TC_E_MALFORMED);
    test_destroy(t);
}

/* ---- bounds ---- */

static void a_full_hold_is_cut_short_and_counted(void **state)
{
    (void)state;
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    config.hold_bytes = 16 << 10;
    struct live_test *t = test_create(&config);
    for (int i = 0; i < 1000; i++) {
        /* Backwards in time, so that each release has to sort. */
        struct tc_event ev = quiet_event("gpu-08", T0 - i);
        feed_at(t, &ev, T0 + MS);
    }
    struct tc_live_counts counts = counts_of(t);
    assert_true(counts.cut_short > 900 && counts.cut_short + counts.held == 1000);
    advance_to(t, T0 + 21 * MS);
    assert_int_equal(counts_of(t).held, 0);
    assert_int_equal(counts_of(t).late + counts_of(t).too_late > 0, 1);
    test_destroy(t);
}

static void a_full_hold_of_what_is_ahead_is_cut_short_too(void **state)
{
    (void)state;
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    config.hold_bytes = 16 << 10;
    struct live_test *t = test_create(&config);
    for (int i = 0; i < 1000; i++) {
        struct tc_event ev = quiet_event("gpu-08", T0 + TC_SECOND + (i * 7919) % 1000 * MS);
        feed_at(t, &ev, T0);
    }
    struct tc_live_counts counts = counts_of(t);
    assert_true(counts.cut_short > 900 && counts.cut_short + counts.held == 1000);
    assert_true(counts.engine_ns <= T0 + config.ahead_ns);
    run_to(t, T0 + 3 * TC_SECOND);
    assert_int_equal(counts_of(t).held, 0);
    test_destroy(t);
}

static void an_event_that_can_never_be_held_is_counted(void **state)
{
    (void)state;
    static char text[4096];
    memset(text, 'x', sizeof text);
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    config.hold_bytes = 16 << 10;
    struct live_test *t = test_create(&config);
    struct tc_event ev = evicted("gpu-07", "loader-3", T0);
    ev.k8s.message = tc_slice_make(text, sizeof text);
    feed_at(t, &ev, T0);
    assert_int_equal(counts_of(t).too_large, 1);
    assert_int_equal(counts_of(t).held, 0);
    ev.k8s.message = tc_slice_make(text, 1024);
    feed_at(t, &ev, T0);
    assert_int_equal(counts_of(t).too_large, 1);
    assert_int_equal(counts_of(t).held, 1);
    test_destroy(t);
}

static void older_incidents_make_room_for_newer_ones_and_stay_opened(void **state)
{
    (void)state;
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    config.incidents_max = 32;
    struct live_test *t = test_create(&config);
    static char pods[100][32];
    for (int i = 0; i < 100; i++) {
        (void)snprintf(pods[i], sizeof pods[i], "loader-%d", i);
        struct tc_event ev = evicted("gpu-07", pods[i], T0 + i * MS);
        feed_at(t, &ev, T0 + i * MS);
    }
    run_to(t, T0 + 2 * TC_SECOND);
    struct tc_live_counts counts = counts_of(t);
    assert_int_equal(counts.opened, 100);
    assert_true(counts.incidents <= 32 && counts.forgotten >= 68);
    /* The pressure explains all of them; those that are forgotten come back, none as new. */
    struct tc_event ev = pressure("gpu-07", "True", T0);
    feed_at(t, &ev, T0 + 3 * TC_SECOND);
    run_to(t, T0 + 5 * TC_SECOND);
    assert_int_equal(counts_of(t).opened, 100);
    assert_true(counts_of(t).updated >= 32);
    assert_true(counts_of(t).incidents <= 32);
    test_destroy(t);
}

static void an_incident_is_updated_at_most_once_a_second(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    for (int i = 0; i < 300; i++) {
        struct tc_event ev = evicted("gpu-07", "loader-3", T0 + i * 10 * MS);
        ev.k8s.count = i + 1;
        ev.k8s.message = i % 2 == 0 ? TC_LIT(LOW_MEMORY) : TC_LIT("The node was low on memory.");
        feed_at(t, &ev, T0 + i * 10 * MS);
        run_to(t, T0 + i * 10 * MS);
    }
    run_to(t, T0 + 10 * TC_SECOND);
    assert_int_equal(counts_of(t).opened, 1);
    assert_true(counts_of(t).updated <= 5);
    test_destroy(t);
}

/* ---- failures ---- */

static void a_failing_sink_stops_the_telling_and_loses_nothing(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    struct tc_event ev = evicted("gpu-07", "loader-3", T0);
    feed_at(t, &ev, T0);
    ev = evicted("gpu-08", "loader-4", T0);
    feed_at(t, &ev, T0);
    t->sink_status = TC_E_IO;
    t->fail_after = 1;
    assert_int_equal(tc_live_advance(t->live, T0 + 20 * MS), TC_E_IO);
    assert_int_equal(t->count, 1);
    assert_int_equal(tc_live_advance(t->live, T0 + 30 * MS), TC_E_IO);
    assert_true(tc_live_due(t->live) <= T0 + 30 * MS);
    t->sink_status = TC_OK;
    advance_to(t, T0 + 40 * MS);
    assert_int_equal(t->count, 2);
    assert_int_equal(counts_of(t).opened, 2);
    test_destroy(t);
}

static tc_status count_one(void *context, const struct tc_verdict *v)
{
    size_t *count = context;
    assert_true(v->finding->headline.len > 0);
    ++*count;
    return *count < 100 ? TC_OK : TC_E_LIMIT;
}

static void what_is_kept_can_be_listed_newest_first(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    size_t count = 0;
    assert_int_equal(tc_live_list(t->live, 10, count_one, &count), TC_OK);
    assert_int_equal(count, 0);
    struct tc_event ev = evicted("gpu-07", "loader-3", T0);
    feed_at(t, &ev, T0);
    ev = evicted("gpu-08", "loader-4", T0 + 1);
    feed_at(t, &ev, T0);
    run_to(t, T0 + 20 * MS);
    assert_int_equal(tc_live_list(t->live, 10, count_one, &count), TC_OK);
    assert_int_equal(count, 2);
    assert_int_equal(tc_live_list(t->live, 1, count_one, &count), TC_OK);
    assert_int_equal(count, 3);
    count = 99;
    assert_int_equal(tc_live_list(t->live, 1, count_one, &count), TC_E_LIMIT);
    test_destroy(t);
}

static void a_drain_tells_what_still_waits(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    struct tc_event ev = evicted("gpu-07", "loader-3", T0);
    feed_at(t, &ev, T0);
    ev = evicted("gpu-07", "loader-4", T0 + TC_SECOND);
    feed_at(t, &ev, T0);
    assert_int_equal(tc_live_drain(t->live, T0), TC_OK);
    assert_int_equal(t->count, 2);
    assert_int_equal(counts_of(t).held, 0);
    test_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_verdict_leaves_once_its_event_has_waited),
        cmocka_unit_test(what_changes_is_updated_and_then_resolved),
        cmocka_unit_test(what_comes_together_is_put_in_order),
        cmocka_unit_test(events_are_in_order_that_come_within_the_hold),
        cmocka_unit_test(events_are_late_that_come_after_the_hold),
        cmocka_unit_test(the_id_does_not_depend_on_who_is_faster),
        cmocka_unit_test(without_a_hold_events_go_straight_through),
        cmocka_unit_test(what_is_late_counts_up_to_the_lateness),
        cmocka_unit_test(what_is_ahead_waits_for_its_time_or_is_corrected),
        cmocka_unit_test(a_fast_clock_is_corrected_until_it_is_right_again),
        cmocka_unit_test(nobody_moves_the_times_of_what_others_send),
        cmocka_unit_test(late_events_mark_the_time_that_they_tell_of),
        cmocka_unit_test(what_is_older_than_the_window_is_not_judged_and_that_is_known),
        cmocka_unit_test(a_state_that_is_told_again_marks_nothing),
        cmocka_unit_test(what_a_recheck_found_is_told_once_and_keeps_its_identity),
        cmocka_unit_test(what_names_less_of_the_same_facts_is_no_news),
        cmocka_unit_test(the_end_of_a_file_does_not_cut_the_hold_short),
        cmocka_unit_test(what_a_recheck_found_stands_until_more_is_known),
        cmocka_unit_test(what_says_more_than_a_recheck_found_is_taken),
        cmocka_unit_test(what_a_recheck_found_of_another_node_is_its_own_incident),
        cmocka_unit_test(a_stretch_is_widened_by_the_incidents_that_it_touches),
        cmocka_unit_test(times_out_of_range_are_counted_and_left_out),
        cmocka_unit_test(time_goes_on_in_silence),
        cmocka_unit_test(a_recorded_past_keeps_its_own_time),
        cmocka_unit_test(a_clock_that_jumps_forward_passes_no_time),
        cmocka_unit_test(a_clock_that_jumps_back_stalls_nothing),
        cmocka_unit_test(a_clock_that_is_set_right_is_believed),
        cmocka_unit_test(what_was_told_is_not_told_again_after_a_restart),
        cmocka_unit_test(an_incident_that_the_replay_does_not_reach_keeps_its_identity),
        cmocka_unit_test(what_changed_while_we_were_away_is_told_at_the_end_of_the_replay),
        cmocka_unit_test(a_mark_that_is_none_is_refused),
        cmocka_unit_test(a_full_hold_is_cut_short_and_counted),
        cmocka_unit_test(a_full_hold_of_what_is_ahead_is_cut_short_too),
        cmocka_unit_test(an_event_that_can_never_be_held_is_counted),
        cmocka_unit_test(older_incidents_make_room_for_newer_ones_and_stay_opened),
        cmocka_unit_test(an_incident_is_updated_at_most_once_a_second),
        cmocka_unit_test(a_failing_sink_stops_the_telling_and_loses_nothing),
        cmocka_unit_test(what_is_kept_can_be_listed_newest_first),
        cmocka_unit_test(a_drain_tells_what_still_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
