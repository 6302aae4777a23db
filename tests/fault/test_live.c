/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live with every allocation failing in turn: it says so, goes on, and in the end has told the
 * same incidents, each opened once. And without a failure: events cost no allocation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "live/live.h"
#include "support/faulty.h"

#include <stdio.h>
#include <string.h>

#define T0 (INT64_C(1772600000) * TC_SECOND)
#define MS (TC_SECOND / 1000)
#define PODS 3
#define CALLS_MAX 200

static unsigned opened;
static unsigned other;

static tc_status take(void *context, const struct tc_verdict *v,
                      const struct tc_incident_mark *mark)
{
    (void)context;
    (void)mark;
    opened += v->status == TC_VERDICT_OPEN;
    other += v->status != TC_VERDICT_OPEN;
    return TC_OK;
}

static struct tc_event evicted(const char *pod, int64_t time_ns)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_K8S_EVENT);
    ev.time_ns = time_ns;
    ev.uid = tc_slice_cstr(pod);
    ev.scope.node = TC_LIT("gpu-07");
    ev.scope.ns = TC_LIT("ml");
    ev.scope.pod = tc_slice_cstr(pod);
    ev.k8s.object_kind = TC_LIT("Pod");
    ev.k8s.object_name = ev.scope.pod;
    ev.k8s.reason = TC_LIT("Evicted");
    ev.k8s.message = TC_LIT("The node was low on resource: memory.");
    return ev;
}

/* Feeds the pods, and then goes on until nothing fails; how many calls failed. */
static unsigned run(struct tc_live *l)
{
    static const char *const pods[PODS] = {"loader-1", "loader-2", "loader-3"};
    unsigned failures = 0;
    int64_t now_ns = T0;
    for (size_t i = 0; i < PODS; i++, now_ns += 30 * MS) {
        struct tc_event ev = evicted(pods[i], now_ns);
        failures += tc_live_feed(l, &ev, now_ns, false) != TC_OK;
        failures += tc_live_advance(l, now_ns + 20 * MS) != TC_OK;
    }
    for (int i = 0; i < 3; i++, now_ns += TC_SECOND) {
        failures += tc_live_advance(l, now_ns) != TC_OK;
    }
    return failures;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    struct tc_live_out out = {take, NULL};
    bool hit = true;
    for (long n = 0; hit; n++) {
        struct tc_live *l = NULL;
        struct tc_error err = {0};
        assert_true(n < CALLS_MAX);
        opened = other = 0;
        *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .fail_at = n};
        tc_status status = tc_live_create(&config, &out, &l, &err);
        unsigned failures = status == TC_OK ? run(l) : 0;
        hit = tc_faulty_plan->hit;
        tc_faulty_plan->fault = FAULT_NONE;
        assert_true(status == TC_OK || (hit && status == TC_E_NOMEM && err.message[0] != '\0'));
        if (status == TC_OK) {
            /* A verdict that could not be kept is lost with its event; what was kept is told. */
            assert_true(opened == PODS || (hit && failures > 0 && opened >= PODS - 1));
            assert_true(hit || failures == 0);
        }
        tc_live_destroy(l);
    }
}

static void events_cost_no_allocation(void **state)
{
    (void)state;
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    struct tc_live_out out = {take, NULL};
    struct tc_live *l = NULL;
    struct tc_error err = {0};
    assert_int_equal(tc_live_create(&config, &out, &l, &err), TC_OK);
    assert_int_equal(run(l), 0);
    for (int i = 0; i < 60000; i++) {
        if (i == 20000) { /* by then the links of the open incidents know who runs where */
            *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .fail_at = -1};
        }
        struct tc_event ev;
        tc_event_init(&ev, TC_EVENT_METRIC);
        int64_t now_ns = T0 + 10 * TC_SECOND + i * (MS / 10);
        ev.time_ns = now_ns - (i % 7) * MS;
        ev.scope.node = TC_LIT("gpu-08");
        ev.scope.gpu_index = i % 8;
        ev.metric.metric = TC_METRIC_GPU_TEMP;
        ev.metric.value = 50;
        assert_int_equal(tc_live_feed(l, &ev, now_ns, false), TC_OK);
        if (i % 10 == 0) {
            assert_int_equal(tc_live_advance(l, now_ns), TC_OK);
        }
    }
    long calls = tc_faulty_plan->calls;
    tc_faulty_plan->fault = FAULT_NONE;
    assert_int_equal(calls, 0);
    tc_live_destroy(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(events_cost_no_allocation),
    };
    return tc_faulty_init() != 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
