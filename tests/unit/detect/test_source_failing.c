/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "detect/detector.h"
#include "support/assert_text.h"
#include "support/detect_harness.h"

#include <stdio.h>

#define AT(seconds) ((INT64_C(1767225600) + (seconds)) * TC_SECOND) /* 2026-01-01T00:00:00Z */

static int set_up(void **state)
{
    *state = tc_harness_create(&tc_detector_source_failing, NULL);
    assert_int_equal(tc_harness_init_status(*state), TC_OK);
    return 0;
}

static int tear_down(void **state)
{
    tc_harness_destroy(*state);
    return 0;
}

static struct tc_event state_of(int64_t seconds, const char *source, const char *state)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_SOURCE_STATE);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-07");
    ev.source.source = tc_slice_cstr(source);
    ev.source.state = tc_slice_cstr(state);
    ev.source.since_ns = AT(seconds - 300);
    ev.source.message = TC_LIT("Connection refused");
    ev.raw = (struct tc_raw){.source = 1, .offset = (uint64_t)seconds, .length = 90};
    return ev;
}

static void feed(struct tc_harness *h, struct tc_event ev)
{
    tc_harness_feed(h, &ev);
}

static void a_failure_is_an_incident_until_it_is_over(void **state)
{
    struct tc_harness *h = *state;
    feed(h, state_of(600, "scrape", "failing"));
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, -1);
    tc_harness_conforms(f);
    assert_false(f->resolved);
    assert_int_equal(f->severity, TC_SEVERITY_WARNING);
    assert_int_equal(f->first_ns, AT(300));
    assert_int_equal(f->evidence_count, 1);
    assert_int_equal(f->evidence[0].raw.offset, 600);
    assert_text(f->discriminator, "one_source");
    assert_text(f->headline,
                "Source scrape of node gpu-07 stopped working at 00:05:00: Connection refused");
    feed(h, state_of(700, "scrape", "ok"));
    assert_int_equal(tc_harness_count(h), 2);
    tc_harness_conforms(tc_harness_finding(h, -1));
    assert_true(tc_harness_finding(h, -1)->resolved);
    assert_int_equal(tc_harness_finding(h, -1)->evidence_count, 2);
    assert_true(tc_slice_eq(tc_harness_finding(h, -1)->key, f->key));
}

static void sources_of_a_node_are_one_incident(void **state)
{
    struct tc_harness *h = *state;
    feed(h, state_of(600, "scrape", "failing"));
    feed(h, state_of(601, "journal", "failing"));
    const struct tc_finding *f = tc_harness_finding(h, -1);
    assert_text(f->discriminator, "several_sources");
    assert_says(f->headline, "Source scrape and 1 more of node gpu-07");
    assert_true(tc_slice_eq(tc_harness_finding(h, 0)->key, f->key));
    feed(h, state_of(650, "scrape", "ok"));
    assert_false(tc_harness_finding(h, -1)->resolved);
    feed(h, state_of(660, "journal", "ok"));
    assert_true(tc_harness_finding(h, -1)->resolved);
    assert_int_equal(tc_harness_count(h), 4);
    /* The next is another, and tells nothing of the first. */
    feed(h, state_of(4000, "journal", "failing"));
    assert_false(tc_slice_eq(tc_harness_finding(h, -1)->key, f->key));
    assert_int_equal(tc_harness_finding(h, -1)->evidence_count, 1);
    assert_text(tc_harness_finding(h, -1)->discriminator, "one_source");
}

static void nodes_have_incidents_of_their_own(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event other = state_of(601, "scrape", "failing");
    feed(h, state_of(600, "scrape", "failing"));
    other.scope.node = TC_LIT("gpu-08");
    feed(h, other);
    assert_false(tc_slice_eq(tc_harness_finding(h, 0)->key, tc_harness_finding(h, 1)->key));
}

static void what_is_no_news_is_not_told(void **state)
{
    struct tc_harness *h = *state;
    feed(h, state_of(500, "scrape", "ok"));
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, state_of(600, "scrape", "failing"));
    feed(h, state_of(601, "scrape", "failing"));
    assert_int_equal(tc_harness_count(h), 1);
    feed(h, state_of(700, "scrape", "ok"));
    feed(h, state_of(701, "scrape", "ok"));
    assert_int_equal(tc_harness_count(h), 2);
}

static void what_lacks_something_is_ignored(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = state_of(600, "", "failing");
    feed(h, ev);
    ev = state_of(600, "scrape", "starting");
    feed(h, ev);
    ev = state_of(600, "a-name-that-is-longer-than-any-source's", "failing");
    feed(h, ev);
    assert_int_equal(tc_harness_count(h), 0);
    assert_int_equal(tc_harness_stats(h).ignored, 3);
    ev = state_of(600, "scrape", "failing");
    ev.scope.node = TC_EMPTY;
    ev.source.since_ns = AT(9000); /* after it was told: it is not believed */
    feed(h, ev);
    assert_int_equal(tc_harness_finding(h, -1)->confidence, TC_CONFIDENCE_PARTIAL);
    assert_int_equal(tc_harness_finding(h, -1)->first_ns, AT(600));
}

static void sources_are_bounded(void **state)
{
    struct tc_harness *h = *state;
    char name[32];
    for (int i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof name, "source-%d", i);
        feed(h, state_of(600 + i, name, "failing"));
    }
    assert_int_equal(tc_harness_count(h), 16);
    assert_int_equal(tc_harness_stats(h).ignored, 24);
    tc_harness_conforms(tc_harness_finding(h, -1));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_failure_is_an_incident_until_it_is_over), TEST(sources_of_a_node_are_one_incident),
        TEST(nodes_have_incidents_of_their_own),         TEST(what_is_no_news_is_not_told),
        TEST(what_lacks_something_is_ignored),           TEST(sources_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
