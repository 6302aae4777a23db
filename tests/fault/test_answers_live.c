/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The questions of what is live, with every allocation of ours failing in turn: no crash, no leak,
 * and either a failure or the very answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/asking.h"
#include "support/faulty.h"
#include "unit/live/live_testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_MAX 500

static struct asking a;

static tc_status try_at(const char *question, const char *const *pairs, long fail_at)
{
    *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .write_fd = -1, .fail_at = fail_at};
    tc_status status = asking_ask(&a, question, pairs);
    tc_faulty_plan->fault = FAULT_NONE;
    return status;
}

static void survives(const char *question, const char *const *pairs)
{
    assert_int_equal(try_at(question, pairs, -1), TC_OK);
    long calls = tc_faulty_plan->calls;
    struct tc_slice body = tc_grow_slice(&a.reply.body);
    char *good = malloc(body.len + 1);
    assert_non_null(good);
    memcpy(good, body.ptr, body.len);
    good[body.len] = '\0';
    size_t len = body.len;
    assert_true(calls > 1 && calls < CALLS_MAX);
    /* The first is the test's own. */
    for (long n = 1; n < calls; n++) {
        tc_status status = try_at(question, pairs, n);
        body = tc_grow_slice(&a.reply.body);
        if (status == TC_OK && !tc_slice_eq(body, tc_slice_make(good, len))) {
            fail_msg("%s: allocation %ld of %ld failed, and the answer is another: %.*s", question,
                     n, calls, TC_FMT(body));
        }
        if (status != TC_OK && a.err.message[0] == '\0') {
            fail_msg("%s: allocation %ld failed without a word", question, n);
        }
    }
    free(good);
}
#define SURVIVES(question, ...) survives((question), (const char *const[]){__VA_ARGS__, NULL})

static void live_questions_survive(void **state)
{
    (void)state;
    char pod[16];
    char id[TC_INCIDENT_ID_LEN + 1];
    struct live_test *test = test_create(NULL);
    struct tc_event full = pressure("gpu-07.example.org", "True", T0);
    full.k8s.rack = TC_LIT("r1");
    feed_at(test, &full, T0);
    for (int i = 0; i < 9; i++) {
        (void)snprintf(pod, sizeof pod, "train-%d", i);
        struct tc_event ev = evicted("gpu-07.example.org", pod, T0 + (i + 1) * TC_SECOND);
        feed_at(test, &ev, ev.time_ns);
    }
    run_to(test, T0 + 60 * TC_SECOND);
    asking_init(&a, NULL, "/nonexistent");
    a.live = test->live;
    SURVIVES("incidents", "limit", "2", "q", "train", "node", "gpu-07");
    SURVIVES("stories", "limit", "3");
    SURVIVES("fleet", NULL);
    SURVIVES("fleet_health", NULL);
    SURVIVES("fleet_node", "node", "gpu-07");
    struct tc_json list = ask_object(&a, "incidents", "limit", "1");
    struct tc_slice text =
        tc_json_get_string(asking_at(list, "incidents.0"), TC_LIT("incident_id"));
    (void)snprintf(id, sizeof id, "%.*s", TC_FMT(text));
    SURVIVES("incident", "id", id);
    asking_fini(&a);
    test_destroy(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(live_questions_survive)};
    return tc_faulty_init() != 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
