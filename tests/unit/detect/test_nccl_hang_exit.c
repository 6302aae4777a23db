/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_hang and jobs that end well. Every event is invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "detect/detector.h"
#include "support/detect_harness.h"

#include <stdio.h>

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

/* Rank 0 waits in collective 7 since `seconds`, rank 1 completed 6. */
static void hang(struct tc_harness *h, const char *job, int64_t seconds)
{
    for (int32_t rank = 0; rank < 2; rank++) {
        struct tc_event ev;
        tc_event_init(&ev, TC_EVENT_NCCL_RECORD);
        ev.time_ns = AT(seconds + rank);
        ev.scope.job = tc_slice_cstr(job);
        ev.scope.rank = rank;
        ev.nccl.group = TC_LIT("0");
        ev.nccl.group_key = tc_nccl_group_key(ev.scope.job, ev.nccl.group, TC_EMPTY);
        ev.nccl.op = TC_LIT("all_reduce");
        ev.nccl.seq = 7 - rank;
        ev.nccl.state = rank == 0 ? TC_NCCL_STARTED : TC_NCCL_COMPLETED;
        ev.nccl.from_dump = true;
        tc_harness_feed(h, &ev);
    }
}

static void place(struct tc_harness *h, const char *job, int32_t rank, const char *ns,
                  const char *pod)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_RANK_PLACE);
    ev.scope.job = tc_slice_cstr(job);
    ev.scope.rank = rank;
    ev.scope.ns = tc_slice_cstr(ns);
    ev.scope.pod = tc_slice_cstr(pod);
    tc_harness_feed(h, &ev);
}

static void pod_is(struct tc_harness *h, const char *pod, const char *phase, int64_t seconds)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_POD_STATE);
    ev.time_ns = AT(seconds);
    ev.scope.ns = TC_LIT("train");
    ev.scope.pod = tc_slice_cstr(pod);
    ev.pod.phase = tc_slice_cstr(phase);
    tc_harness_feed(h, &ev);
}

static void step(struct tc_harness *h, const char *job, const char *phase, int64_t seconds)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_TRAIN_STEP);
    ev.time_ns = AT(seconds);
    ev.scope.job = tc_slice_cstr(job);
    ev.train.phase = tc_slice_cstr(phase);
    tc_harness_feed(h, &ev);
}

static void a_job_whose_pods_all_succeeded_does_not_hang(void **state)
{
    struct tc_harness *h = *state;
    place(h, "a", 0, "train", "w-0");
    place(h, "a", 1, "train", "w-1");
    hang(h, "a", 10);
    pod_is(h, "w-0", "Succeeded", 20);
    pod_is(h, "w-1", "Succeeded", 30);
    tc_harness_finish(h, AT(4000));
    assert_int_equal(tc_harness_count(h), 0);
}

static void each_of_them_is_needed(void **state)
{
    static const struct {
        const char *places[2]; /* NULL: not known */
        const char *phases[2];
        int64_t ended;
    } cases[] = {
        {{"w-0", "w-1"}, {"Running", "Succeeded"}, 20},
        {{"w-0", "w-1"}, {"Succeeded", "Failed"}, 20},
        {{"w-0", NULL}, {"Succeeded", "Succeeded"}, 20},
        {{"w-0", "other"}, {"Succeeded", "Succeeded"}, 20},
        {{"w-0", "w-1"}, {"Succeeded", "Succeeded"}, 9}, /* before it was issued */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_nccl_hang, NULL);
        for (int32_t rank = 0; rank < 2; rank++) {
            if (cases[i].places[rank] != NULL) {
                place(h, "a", rank, "train", cases[i].places[rank]);
            }
        }
        hang(h, "a", 10);
        pod_is(h, "w-0", cases[i].phases[0], cases[i].ended);
        pod_is(h, "w-1", cases[i].phases[1], cases[i].ended);
        tc_harness_finish(h, AT(4000));
        if (tc_harness_count(h) != 1) {
            print_error("case %zu\n", i);
        }
        assert_int_equal(tc_harness_count(h), 1);
        tc_harness_destroy(h);
    }
}

static void tables_may_name_neither_job_nor_namespace(void **state)
{
    struct tc_harness *h = *state;
    place(h, "", 0, "", "w-0");
    place(h, "", 1, "", "w-0");
    hang(h, "a", 10);
    pod_is(h, "w-0", "Succeeded", 20);
    tc_harness_finish(h, AT(4000));
    assert_int_equal(tc_harness_count(h), 0);
}

static void the_end_of_one_job_is_not_that_of_another(void **state)
{
    struct tc_harness *h = *state;
    for (int32_t rank = 0; rank < 2; rank++) {
        place(h, "a", rank, "train", "w-0");
        place(h, "b", rank, "train", "w-1");
    }
    hang(h, "a", 10);
    hang(h, "b", 10);
    pod_is(h, "w-0", "Succeeded", 20);
    tc_harness_finish(h, AT(4000));
    assert_int_equal(tc_harness_count(h), 1);
    assert_true(tc_slice_eq(tc_harness_finding(h, 0)->scope.job, TC_LIT("b")));
}

static void what_was_issued_before_training_was_done_does_not_hang(void **state)
{
    static const struct {
        const char *job;
        const char *phase;
        int64_t at;
        size_t findings;
    } cases[] = {
        {"a", "done", 10, 0}, {"a", "done", 9, 1}, {"a", "eval", 20, 1}, {"b", "done", 20, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_nccl_hang, NULL);
        hang(h, "a", 10);
        step(h, cases[i].job, cases[i].phase, cases[i].at);
        tc_harness_finish(h, AT(4000));
        assert_int_equal(tc_harness_count(h), cases[i].findings);
        tc_harness_destroy(h);
    }
}

static void an_incident_ends_with_its_job(void **state)
{
    struct tc_harness *h = *state;
    hang(h, "a", 10);
    tc_harness_tick(h, AT(400));
    assert_int_equal(tc_harness_count(h), 1);
    step(h, "a", "done", 500);
    tc_harness_tick(h, AT(501));
    assert_int_equal(tc_harness_count(h), 2);
    const struct tc_finding *f = tc_harness_finding(h, 1);
    assert_true(f->resolved);
    assert_true(tc_slice_contains(f->headline, TC_LIT("ended with its job after 8 min")));
    tc_harness_conforms(f);
    tc_harness_finish(h, AT(4000));
    assert_int_equal(tc_harness_count(h), 2);
}

static void places_without_room_are_counted(void **state)
{
    struct tc_harness *h = *state;
    for (int32_t rank = 0; rank < 65536 + 3; rank++) {
        place(h, "a", rank, "train", "w-0");
        place(h, "a", rank, "train", "w-0"); /* again */
    }
    assert_int_equal(tc_harness_stats(h).ignored, 2 * 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_job_whose_pods_all_succeeded_does_not_hang),
        TEST(each_of_them_is_needed),
        TEST(tables_may_name_neither_job_nor_namespace),
        TEST(the_end_of_one_job_is_not_that_of_another),
        TEST(what_was_issued_before_training_was_done_does_not_hang),
        TEST(an_incident_ends_with_its_job),
        TEST(places_without_room_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
