/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_hang from flags of watchdogs and reports of NCCL's monitor. Every event is invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "detect/detector.h"
#include "support/assert_text.h"
#include "support/detect_harness.h"

#include <stdio.h>
#include <stdlib.h>

#define KEY(name) "tracecore.alert.nccl_hang." name
#define AT(seconds) ((INT64_C(1767225600) + (seconds)) * TC_SECOND) /* 2026-01-01T00:00:00Z */

static int set_up(void **state)
{
    *state = tc_harness_create(&tc_detector_nccl_hang, NULL);
    assert_int_equal(tc_harness_init_status(*state), TC_OK);
    return 0;
}

static int tear_down(void **state)
{
    tc_harness_destroy(*state);
    return 0;
}

static struct tc_event flag(int64_t seconds, int32_t rank, double value)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.time_ns = AT(seconds);
    ev.scope.job = TC_LIT("llm-7");
    ev.scope.node = TC_LIT("gpu-07");
    ev.scope.rank = rank;
    ev.metric.metric = TC_METRIC_HANG_FLAG;
    ev.metric.value = value;
    ev.raw = (struct tc_raw){.source = 1, .offset = (uint64_t)(seconds * 100 + rank), .length = 9};
    return ev;
}

static struct tc_event ras(int64_t seconds, int64_t rank, int64_t size, int64_t ops,
                           const char *status)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_NCCL_RAS);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("10.0.0.5");
    ev.scope.pid = 800 + rank;
    ev.scope.gpu_index = (int32_t)rank;
    ev.scope.rank = (int32_t)rank;
    ev.ras.comm = TC_LIT("0xa7");
    ev.ras.comm_rank = rank;
    ev.ras.comm_size = size;
    ev.ras.ops = ops;
    ev.ras.status = tc_slice_cstr(status);
    ev.raw = (struct tc_raw){.source = 2, .offset = (uint64_t)(seconds * 100 + rank), .length = 9};
    return ev;
}

static void feed(struct tc_harness *h, struct tc_event ev)
{
    tc_harness_tick(h, ev.time_ns);
    tc_harness_feed(h, &ev);
}

/* A report of four running ranks with these counts. */
static void report(struct tc_harness *h, int64_t seconds, int64_t a, int64_t b, int64_t c,
                   int64_t d)
{
    const int64_t ops[] = {a, b, c, d};
    for (int64_t r = 0; r < 4; r++) {
        feed(h, ras(seconds, r, 4, ops[r], "running"));
    }
}

static const struct tc_attr *attr_of(const struct tc_finding *f, const char *key)
{
    for (size_t i = 0; i < f->attr_count; i++) {
        if (tc_slice_eq(f->attrs[i].key, tc_slice_cstr(key))) {
            return &f->attrs[i];
        }
    }
    fail();
    return NULL;
}

static void assert_ranks(const struct tc_finding *f, const char *key, const int32_t *ranks,
                         size_t count)
{
    const struct tc_attr *a = attr_of(f, key);
    assert_int_equal(a->type, TC_ATTR_INTS);
    assert_int_equal(a->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(a->ints[i], ranks[i]);
    }
}

#define RANKS(...) ((const int32_t[]){__VA_ARGS__}), sizeof((int32_t[]){__VA_ARGS__}) / 4

static void flags_of_one_sample_are_one_verdict(void **state)
{
    struct tc_harness *h = *state;
    for (int32_t r = 7; r >= 0; r--) {
        feed(h, flag(0, r, 1));
    }
    assert_int_equal(tc_harness_count(h), 0);
    tc_harness_tick(h, AT(1));
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->discriminator, "watchdog");
    assert_int_equal(f->severity, TC_SEVERITY_CRITICAL);
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
    assert_text(f->headline, "The watchdogs of ranks 0, 1, 2, 3, 4, 5, 6 and 7 of job llm-7 say "
                             "that nothing finishes on their GPUs");
    assert_ranks(f, KEY("waiting_ranks"), RANKS(0, 1, 2, 3, 4, 5, 6, 7));
    assert_int_equal(attr_of(f, KEY("culprit_ranks"))->count, 0);
    assert_int_equal(tc_harness_int(f, KEY("members")), 8);
    assert_text(f->scope.job, "llm-7");
    assert_int_equal(f->evidence_count, 2);
    assert_text(f->evidence[0].kind, "metric");
}

static void ranks_that_report_no_hang_are_not_blamed(void **state)
{
    struct tc_harness *h = *state;
    for (int32_t r = 0; r < 4; r++) {
        feed(h, flag(0, r, r == 2 ? 0 : 1));
    }
    tc_harness_tick(h, AT(1));
    const struct tc_finding *f = tc_harness_finding(h, 0);
    assert_ranks(f, KEY("waiting_ranks"), RANKS(0, 1, 3));
    assert_int_equal(attr_of(f, KEY("culprit_ranks"))->count, 0);
    assert_int_equal(tc_harness_int(f, KEY("members")), 4);
}

static void ranks_that_join_update_the_verdict_until_all_went_on(void **state)
{
    struct tc_harness *h = *state;
    feed(h, flag(0, 0, 1));
    feed(h, flag(0, 1, 0));
    tc_harness_tick(h, AT(1));
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_finding(h, 0)->scope.rank, 0);
    feed(h, flag(30, 0, 1)); /* the same again */
    feed(h, flag(30, 1, 1));
    tc_harness_tick(h, AT(31));
    assert_int_equal(tc_harness_count(h), 2);
    assert_true(tc_slice_eq(tc_harness_finding(h, 0)->key, tc_harness_finding(h, 1)->key));
    feed(h, flag(60, 0, 0));
    feed(h, flag(60, 1, 1));
    tc_harness_tick(h, AT(61));
    assert_int_equal(tc_harness_count(h), 3);
    assert_false(tc_harness_finding(h, 2)->resolved);
    feed(h, flag(90, 1, 0));
    tc_harness_tick(h, AT(91));
    assert_int_equal(tc_harness_count(h), 4);
    const struct tc_finding *f = tc_harness_finding(h, 3);
    tc_harness_conforms(f);
    assert_true(f->resolved);
    assert_text(f->headline, "No watchdog of job llm-7 reports a hang any more");
    feed(h, flag(120, 1, 1)); /* another incident */
    tc_harness_tick(h, AT(121));
    assert_false(tc_slice_eq(tc_harness_finding(h, 4)->key, f->key));
}

static void flags_that_are_never_set_say_nothing(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t s = 0; s < 600; s += 30) {
        for (int32_t r = 0; r < 8; r++) {
            feed(h, flag(s, r, 0));
        }
    }
    tc_harness_tick(h, AT(700));
    assert_int_equal(tc_harness_count(h), 0);
    struct tc_event ev = flag(700, -1, 1);
    feed(h, ev);
    ev = flag(700, 1, 1);
    ev.time_ns = TC_TIME_NONE;
    tc_harness_feed(h, &ev);
    ev = flag(700, 1, 1);
    ev.metric.metric = TC_METRIC_GPU_TEMP;
    feed(h, ev);
    tc_harness_tick(h, AT(800));
    assert_int_equal(tc_harness_count(h), 0);
    assert_int_equal(tc_harness_stats(h).ignored, 2);
}

static void jobs_are_told_apart(void **state)
{
    struct tc_harness *h = *state;
    feed(h, flag(0, 0, 1));
    struct tc_event ev = flag(0, 0, 1);
    ev.scope.job = TC_LIT("llm-8");
    feed(h, ev);
    ev.scope.job = TC_EMPTY;
    feed(h, ev);
    tc_harness_tick(h, AT(1));
    assert_int_equal(tc_harness_count(h), 3);
    assert_text(tc_harness_finding(h, 2)->headline,
                "The watchdogs of rank 0 say that nothing finishes on their GPUs");
}

static void a_late_sample_does_not_end_it(void **state)
{
    struct tc_harness *h = *state;
    feed(h, flag(60, 0, 1));
    tc_harness_tick(h, AT(61));
    struct tc_event ev = flag(30, 0, 0);
    tc_harness_feed(h, &ev);
    tc_harness_tick(h, AT(62));
    assert_int_equal(tc_harness_count(h), 1);
}

static void the_rank_that_is_behind_for_the_threshold_is_named(void **state)
{
    struct tc_harness *h = *state;
    report(h, 0, 41, 41, 40, 41);
    report(h, 150, 41, 41, 40, 41);
    report(h, 299, 41, 41, 40, 41);
    tc_harness_tick(h, AT(300));
    assert_int_equal(tc_harness_count(h), 0);
    report(h, 300, 41, 41, 40, 41);
    tc_harness_tick(h, AT(301));
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->discriminator, "missing_rank");
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_text(f->headline, "Communicator 0xa7 (4 ranks) waits for rank 2: 40 collectives issued, "
                             "others 41, for 5 min");
    assert_ranks(f, KEY("culprit_ranks"), RANKS(2));
    assert_ranks(f, KEY("waiting_ranks"), RANKS(0, 1, 3));
    assert_int_equal(tc_harness_int(f, KEY("stall_seconds")), 300);
    assert_int_equal(tc_harness_int(f, KEY("seq")), 41);
    assert_text(tc_harness_text(f, KEY("process_group")), "0xa7");
    assert_int_equal(f->scope.rank, 2);
    assert_int_equal(f->scope.pid, 802);
    assert_int_equal(f->scope.gpu_index, 2);
    assert_int_equal(f->evidence_count, 3);
    assert_text(f->evidence[0].kind, "nccl_ras");
    report(h, 600, 43, 43, 43, 43);
    tc_harness_tick(h, AT(601));
    f = tc_harness_finding(h, -1);
    assert_true(f->resolved);
    tc_harness_conforms(f);
    assert_text(f->headline, "Communicator 0xa7 goes on after 10 min");
}

static void counts_that_move_are_no_hang(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t i = 0; i < 10; i++) {
        report(h, 300 * i, 41 + i, 41 + i, 40 + i, 41 + i);
    }
    tc_harness_tick(h, AT(9000));
    assert_int_equal(tc_harness_count(h), 0);
}

static void equal_counts_that_stand_still_are_silence(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t i = 0; i < 10; i++) {
        report(h, 300 * i, 41, 41, 41, 41);
    }
    tc_harness_tick(h, AT(9000));
    assert_int_equal(tc_harness_count(h), 0);
}

static void most_behind_blames_nobody(void **state)
{
    struct tc_harness *h = *state;
    report(h, 0, 41, 40, 40, 40);
    report(h, 400, 41, 40, 40, 40);
    tc_harness_tick(h, AT(401));
    assert_int_equal(tc_harness_count(h), 0);
    report(h, 1000, 41, 41, 40, 40); /* half of them: they are waited for */
    report(h, 1400, 41, 41, 40, 40);
    tc_harness_tick(h, AT(1401));
    assert_int_equal(tc_harness_count(h), 1);
    assert_ranks(tc_harness_finding(h, 0), KEY("culprit_ranks"), RANKS(2, 3));
}

static void a_missing_or_dead_rank_is_named_at_once(void **state)
{
    static const char *const words[] = {"missing", "dead"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_nccl_hang, NULL);
        feed(h, ras(0, 0, 4, 41, "running"));
        feed(h, ras(0, 1, 4, 40, "running"));
        feed(h, ras(0, 2, 4, 41, "aborted"));
        feed(h, ras(0, 3, 4, -1, words[i]));
        tc_harness_tick(h, AT(1));
        assert_int_equal(tc_harness_count(h), 1);
        const struct tc_finding *f = tc_harness_finding(h, 0);
        tc_harness_conforms(f);
        assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
        assert_text(f->headline, "Communicator 0xa7 (4 ranks) has lost rank 3");
        assert_ranks(f, KEY("culprit_ranks"), RANKS(3));
        assert_ranks(f, KEY("waiting_ranks"), RANKS(0, 1, 2));
        assert_says(attr_of(f, KEY("culprit_reasons"))->strings[0], "(node 10.0.0.5, pid 803)");
        tc_harness_destroy(h);
    }
}

static void a_job_that_ends_or_begins_is_no_hang(void **state)
{
    static const char *const words[] = {"finalizing", "init"};
    struct tc_harness *h = *state;
    for (size_t i = 0; i < 2; i++) {
        int64_t at = (int64_t)i * 1000;
        for (int64_t s = at; s <= at + 600; s += 300) {
            feed(h, ras(s, 0, 4, 41, words[i]));
            feed(h, ras(s, 1, 4, 40, "running"));
            feed(h, ras(s, 2, 4, -1, "dead"));
            feed(h, ras(s, 3, 4, -1, "no_comm"));
        }
    }
    tc_harness_tick(h, AT(9000));
    assert_int_equal(tc_harness_count(h), 0);
}

static void ranks_that_left_a_communicator_count_for_nothing(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t s = 0; s <= 600; s += 300) {
        feed(h, ras(s, 0, 3, 41, "running"));
        feed(h, ras(s, 1, 3, 41, "running"));
        feed(h, ras(s, 2, 3, -1, "no_comm"));
    }
    tc_harness_tick(h, AT(700));
    assert_int_equal(tc_harness_count(h), 0);
}

static void a_rank_is_named_by_its_largest_communicator(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t r = 0; r < 4; r++) {
        struct tc_event ev = ras(0, r, 4, 41, r == 3 ? "dead" : "running");
        feed(h, ev);
        if (r >= 2) {
            ev.ras.comm = TC_LIT("0xb1");
            ev.ras.comm_rank = r - 2;
            ev.ras.comm_size = 2;
            feed(h, ev);
        }
    }
    tc_harness_tick(h, AT(1));
    assert_int_equal(tc_harness_count(h), 1);
    assert_text(tc_harness_text(tc_harness_finding(h, 0), KEY("process_group")), "0xa7");
}

static void without_global_ranks_those_of_the_communicator_are_named(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t r = 0; r < 4; r++) {
        struct tc_event ev = ras(0, r, 4, 41, r == 1 ? "missing" : "running");
        ev.scope.rank = -1;
        feed(h, ev);
    }
    tc_harness_tick(h, AT(1));
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_ranks(f, KEY("culprit_ranks"), RANKS(1));
    assert_int_equal(f->scope.rank, -1);
}

static void a_report_that_comes_twice_or_late_changes_nothing(void **state)
{
    struct tc_harness *h = *state;
    for (int times = 0; times < 2; times++) {
        for (int64_t r = 0; r < 4; r++) {
            struct tc_event ev = ras(100, r, 4, 41, r == 1 ? "dead" : "running");
            tc_harness_feed(h, &ev);
        }
    }
    tc_harness_tick(h, AT(101));
    assert_int_equal(tc_harness_count(h), 1);
    for (int64_t r = 0; r < 4; r++) {
        struct tc_event ev = ras(50, r, 4, 41, "running");
        tc_harness_feed(h, &ev);
    }
    tc_harness_tick(h, AT(102));
    assert_false(tc_harness_finding(h, -1)->resolved);
}

static void the_threshold_is_the_detectors(void **state)
{
    (void)state;
    struct tc_harness_options options = {.param = "threshold", .value = 60 * TC_SECOND};
    struct tc_harness *h = tc_harness_create(&tc_detector_nccl_hang, &options);
    report(h, 0, 41, 41, 40, 41);
    report(h, 60, 41, 41, 40, 41);
    tc_harness_tick(h, AT(61));
    assert_int_equal(tc_harness_count(h), 1);
    tc_harness_destroy(h);
}

static void unusable_reports_are_ignored(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = ras(0, 0, 4, 1, "dead");
    ev.ras.comm = TC_EMPTY;
    tc_harness_feed(h, &ev);
    ev = ras(0, 0, 4, 1, "dead");
    ev.ras.comm_rank = -1;
    tc_harness_feed(h, &ev);
    ev = ras(0, 0, 1, 1, "dead"); /* a group of one */
    tc_harness_feed(h, &ev);
    ev = ras(0, 0, 4, 1, "dead");
    ev.time_ns = TC_TIME_NONE;
    tc_harness_feed(h, &ev);
    tc_harness_tick(h, AT(10));
    assert_int_equal(tc_harness_count(h), 0);
    assert_int_equal(tc_harness_stats(h).ignored, 4);
}

static void any_order_within_a_report_says_the_same(void **state)
{
    struct tc_harness *runs[4];
    struct tc_slice first = TC_EMPTY;
    (void)state;
    for (int run = 0; run < 4; run++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_nccl_hang, NULL);
        runs[run] = h;
        for (int64_t i = 0; i < 4; i++) {
            int64_t r = (i * (run % 2 == 0 ? 1 : 3) + run) % 4;
            feed(h, ras(0, r, 4, 41, r >= 2 ? "missing" : "running"));
            feed(h, flag(0, (int32_t)r, 1));
        }
        tc_harness_tick(h, AT(1));
        struct tc_slice dump = tc_harness_dump(h);
        first = run == 0 ? dump : first;
        assert_true(tc_slice_eq(dump, first));
        assert_int_equal(tc_harness_count(h), 2);
    }
    for (int run = 0; run < 4; run++) {
        tc_harness_destroy(runs[run]);
    }
}

static void a_large_job_is_bounded(void **state)
{
    struct tc_harness *h = *state;
    for (int32_t r = 0; r < 5000; r++) {
        feed(h, flag(0, r, 1));
        feed(h, ras(0, r, 5000, 41, r % 2 == 0 ? "running" : "dead"));
    }
    tc_harness_tick(h, AT(1));
    assert_int_equal(tc_harness_count(h), 2);
    for (long i = 0; i < 2; i++) {
        tc_harness_conforms(tc_harness_finding(h, i));
    }
}

static void a_storm_of_jobs_is_bounded(void **state)
{
    struct tc_harness *h = *state;
    for (int i = 0; i < 20000; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "job-%d", i);
        struct tc_event ev = flag(i / 1000, 0, 1);
        ev.scope.job = tc_slice_cstr(name);
        feed(h, ev);
    }
    tc_harness_tick(h, AT(1000));
    assert_true(tc_harness_stats(h).dropped > 0);
}

static void a_sink_or_scratch_that_fails_is_passed_on(void **state)
{
    (void)state;
    struct tc_harness_options sink = {.sink_status = TC_E_IO};
    struct tc_harness *h = tc_harness_create(&tc_detector_nccl_hang, &sink);
    struct tc_event one = flag(0, 0, 1);
    struct tc_event two = flag(5, 1, 1);
    assert_int_equal(tc_harness_try_feed(h, &one), TC_OK);
    assert_int_equal(tc_harness_try_feed(h, &two), TC_E_IO);
    tc_harness_destroy(h);
    for (size_t bytes = 256; bytes < (size_t)1 << 18; bytes *= 2) {
        struct tc_harness_options scratch = {.scratch_bytes = bytes};
        h = tc_harness_create(&tc_detector_nccl_hang, &scratch);
        struct tc_event events[] = {ras(0, 0, 2, 1, "dead"), ras(0, 1, 2, 1, "running"),
                                    ras(9, 0, 2, 1, "dead")};
        for (size_t i = 0; i < 3; i++) {
            tc_status status = tc_harness_try_feed(h, &events[i]);
            assert_true(status == TC_OK || status == TC_E_NOMEM);
        }
        tc_harness_destroy(h);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(flags_of_one_sample_are_one_verdict),
        TEST(ranks_that_report_no_hang_are_not_blamed),
        TEST(ranks_that_join_update_the_verdict_until_all_went_on),
        TEST(flags_that_are_never_set_say_nothing),
        TEST(jobs_are_told_apart),
        TEST(a_late_sample_does_not_end_it),
        TEST(the_rank_that_is_behind_for_the_threshold_is_named),
        TEST(counts_that_move_are_no_hang),
        TEST(equal_counts_that_stand_still_are_silence),
        TEST(most_behind_blames_nobody),
        TEST(a_missing_or_dead_rank_is_named_at_once),
        TEST(a_job_that_ends_or_begins_is_no_hang),
        TEST(ranks_that_left_a_communicator_count_for_nothing),
        TEST(a_rank_is_named_by_its_largest_communicator),
        TEST(without_global_ranks_those_of_the_communicator_are_named),
        TEST(a_report_that_comes_twice_or_late_changes_nothing),
        TEST(the_threshold_is_the_detectors),
        TEST(unusable_reports_are_ignored),
        TEST(any_order_within_a_report_says_the_same),
        TEST(a_large_job_is_bounded),
        TEST(a_storm_of_jobs_is_bounded),
        TEST(a_sink_or_scratch_that_fails_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
