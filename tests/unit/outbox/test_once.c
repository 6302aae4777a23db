/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Once means once: detection and the outbox together, over restarts, with more incidents than any
 * of the tables on the way holds at a time.
 */
#include "base/time.h"
#include "live/live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/outbox/outbox_testing.h"

#define T0 (INT64_C(1772600000) * TC_SECOND)
#define INCIDENTS 20000
/* An advance links all incidents, which is most of the work here: one in forty seconds of events.
 */
#define EVENTS_PER_ADVANCE 4096
#define RESTARTS 3

struct told {
    uint64_t opened;
    uint64_t other;
};

static tc_status put_mark(const struct tc_incident_mark *mark)
{
    tc_status status;
    while ((status = tc_outbox_put(box, mark, TC_LIT("{}"), 0)) == TC_E_LIMIT) {
        (void)usleep(1000); /* the disk is slower than this test */
    }
    return status;
}

static tc_status tell(void *context, const struct tc_verdict *v,
                      const struct tc_incident_mark *mark)
{
    struct told *told = context;
    told->opened += v->status == TC_VERDICT_OPEN;
    told->other += v->status != TC_VERDICT_OPEN;
    return put_mark(mark);
}

static tc_status restore(void *context, const struct tc_incident_mark *mark)
{
    return tc_live_restore(context, mark);
}

/* A pod of a node is evicted: a verdict by itself. */
static void feed_eviction(struct tc_live *live, unsigned n)
{
    char node[32];
    char pod[32];
    (void)snprintf(node, sizeof node, "gpu-%u", n);
    (void)snprintf(pod, sizeof pod, "loader-%u", n);
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_K8S_EVENT);
    ev.time_ns = T0 + (int64_t)n * (TC_SECOND / 100);
    ev.uid = tc_slice_cstr(pod);
    ev.scope.node = tc_slice_cstr(node);
    ev.scope.ns = TC_LIT("ml");
    ev.scope.pod = tc_slice_cstr(pod);
    ev.scope.pod_uid = tc_slice_cstr(pod);
    ev.k8s.object_kind = TC_LIT("Pod");
    ev.k8s.object_name = ev.scope.pod;
    ev.k8s.reason = TC_LIT("Evicted");
    ev.k8s.message = TC_LIT("The node was low on resource: memory. Threshold quantity: 100Mi, "
                            "available: 60Mi. ");
    if (n % EVENTS_PER_ADVANCE == 0) {
        assert_int_equal(tc_live_advance(live, ev.time_ns), TC_OK);
    }
    assert_int_equal(tc_live_feed(live, &ev, ev.time_ns, false), TC_OK);
}

/* One life of a daemon that sees the evictions [from, to) and remembers as many as that, 0 for the
 * default; it begins with their replay, or they are new. */
static void live_once(bool replaying, unsigned from, unsigned to, size_t remembered,
                      struct told *told)
{
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    struct tc_outbox_config box_config = plain_config();
    config.told_max = remembered == 0 ? config.told_max : remembered;
    box_config.marks_max = remembered;
    struct tc_live *live = NULL;
    struct tc_live_out out = {tell, told};
    assert_int_equal(tc_live_create(&config, &out, &live, &err), TC_OK);
    assert_int_equal(tc_outbox_open(&box_config, restore, live, &box, &err), TC_OK);
    assert_int_equal(tc_outbox_start(box, &err), TC_OK);
    assert_int_equal(tc_live_replaying(live, replaying), TC_OK);
    for (unsigned n = from; n < to; n++) {
        feed_eviction(live, n);
    }
    assert_int_equal(tc_live_replaying(live, false), TC_OK);
    assert_int_equal(tc_live_drain(live, T0 + (int64_t)to * (TC_SECOND / 100)), TC_OK);
    tc_outbox_close(box, WAIT_LONG);
    tc_live_destroy(live);
}

static void each_incident_is_opened_once_over_restarts(void **state)
{
    (void)state;
    struct told told = {0};
    live_once(false, 0, INCIDENTS, 0, &told);
    assert_int_equal(told.opened, INCIDENTS);
    for (int i = 0; i < RESTARTS; i++) {
        live_once(true, 0, INCIDENTS, 0, &told);
        assert_int_equal(told.opened, INCIDENTS);
    }
    assert_int_equal(told.other, 0);
}

static void what_is_forgotten_is_forgotten_by_both(void **state)
{
    (void)state;
    struct told told = {0};
    live_once(false, 0, 150, 100, &told);
    assert_int_equal(told.opened, 150);
    for (int i = 0; i < RESTARTS; i++) { /* the hundred told last are known */
        live_once(true, 50, 150, 100, &told);
        assert_int_equal(told.opened, 150);
    }
    live_once(true, 49, 50, 100, &told); /* the one before them is not, and takes a place */
    assert_int_equal(told.opened, 151);
    live_once(true, 51, 150, 100, &told);
    assert_int_equal(told.opened, 151);
    live_once(true, 50, 51, 100, &told);
    assert_int_equal(told.opened, 152);
    assert_int_equal(told.other, 0);
}

static tc_status count_mark(void *context, const struct tc_incident_mark *mark)
{
    size_t *count = context;
    (void)mark;
    ++*count;
    return TC_OK;
}

/* Bytes that this process has read so far; 0 where the kernel does not count them. */
static uint64_t bytes_read(void)
{
    unsigned long long count = 0;
    FILE *f = fopen("/proc/self/io", "r");
    if (f != NULL) {
        count = fscanf(f, "rchar: %llu", &count) == 1 ? count : 0;
        (void)fclose(f);
    }
    return count;
}

static void a_restart_does_not_read_the_log_once_per_incident(void **state)
{
    (void)state;
    enum { TOLD = 2000, LOG_BYTES_MAX = 1 << 20, PASSES_MAX = 8 };
    struct tc_outbox_config config = plain_config();
    assert_int_equal(tc_outbox_open(&config, NULL, NULL, &box, &err), TC_OK);
    assert_int_equal(tc_outbox_start(box, &err), TC_OK);
    for (unsigned n = 0; n < TOLD; n++) {
        char id[32];
        (void)snprintf(id, sizeof id, "inc-%u", n);
        struct tc_incident_mark mark = {
            .pattern_id = TC_LIT("1"), .key = tc_slice_cstr(id), .incident_id = tc_slice_cstr(id)};
        assert_int_equal(put_mark(&mark), TC_OK);
    }
    tc_outbox_close(box, WAIT_LONG);
    size_t restored = 0;
    uint64_t before = bytes_read();
    assert_int_equal(tc_outbox_open(&config, count_mark, &restored, &box, &err), TC_OK);
    uint64_t bytes = bytes_read() - before;
    tc_outbox_close(box, WAIT_LONG);
    assert_int_equal(restored, TOLD);
    assert_in_range(bytes, 0, PASSES_MAX * LOG_BYTES_MAX);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)
    const struct CMUnitTest tests[] = {
        CASE(a_restart_does_not_read_the_log_once_per_incident),
        CASE(each_incident_is_opened_once_over_restarts),
        CASE(what_is_forgotten_is_forgotten_by_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
