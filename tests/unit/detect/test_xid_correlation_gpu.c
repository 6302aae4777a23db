/* SPDX-License-Identifier: Apache-2.0 */
/* What xid_correlation takes from exporters: the last Xid of a GPU, and who uses it. All invented.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "detect/detector.h"
#include "event/metric.h"
#include "support/assert_text.h"
#include "support/detect_harness.h"

#include <stdio.h>

#define KEY(name) "tracecore.alert.xid_correlation." name
#define AT(seconds) ((INT64_C(1767225600) + (seconds)) * TC_SECOND) /* 2026-01-01T00:00:00Z */
#define UUID "GPU-8d5f3a10-0000-4000-8000-00000000b300"
#define OTHER_UUID "GPU-8d5f3a10-0000-4000-8000-000000001b00"

static int set_up(void **state)
{
    *state = tc_harness_create(&tc_detector_xid_correlation, NULL);
    assert_int_equal(tc_harness_init_status(*state), TC_OK);
    return 0;
}

static int tear_down(void **state)
{
    tc_harness_destroy(*state);
    return 0;
}

static struct tc_event xid(int64_t seconds, int64_t code)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_XID);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-07");
    assert_int_not_equal(tc_bdf_parse(TC_LIT("0000:b3:00.0"), &ev.scope.pci), 0);
    ev.xid.code = code;
    ev.raw = (struct tc_raw){.source = 0, .offset = (uint64_t)(seconds + 1000), .length = 80};
    return ev;
}

static struct tc_event inventory(void)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_GPU_INVENTORY);
    ev.scope.node = TC_LIT("gpu-07");
    assert_int_not_equal(tc_bdf_parse(TC_LIT("0000:b3:00.0"), &ev.scope.pci), 0);
    ev.scope.gpu_uuid = TC_LIT(UUID);
    return ev;
}

static struct tc_event failed(int64_t seconds, const char *pod)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_POD_STATE);
    ev.time_ns = AT(seconds);
    ev.uid = tc_slice_cstr(pod);
    ev.scope.node = TC_LIT("gpu-07");
    ev.scope.ns = TC_LIT("ml");
    ev.scope.pod = tc_slice_cstr(pod);
    ev.scope.pod_uid = tc_slice_cstr(pod);
    ev.pod.phase = TC_LIT("Failed");
    ev.pod.reason = TC_LIT("Error");
    ev.pod.exit_code = 1;
    ev.raw = (struct tc_raw){.source = 1, .offset = 7, .length = 300};
    return ev;
}

static struct tc_event sample(int64_t seconds, enum tc_metric metric, double value)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-07");
    ev.scope.gpu_uuid = TC_LIT(UUID);
    ev.scope.gpu_index = 3;
    ev.metric.metric = (uint16_t)metric;
    ev.metric.value = value;
    ev.raw = (struct tc_raw){.source = 2, .offset = (uint64_t)(seconds + 5000), .length = 90};
    return ev;
}

/* A sample of the last Xid of the GPU. */
static struct tc_event last_xid(int64_t seconds, double code)
{
    return sample(seconds, TC_METRIC_GPU_XID_LAST, code);
}

/* A sample that says which pod uses a GPU. */
static struct tc_event used_by(int64_t seconds, const char *pod, const char *uuid)
{
    struct tc_event ev = sample(seconds, TC_METRIC_GPU_TEMP, 40);
    ev.scope.gpu_uuid = tc_slice_cstr(uuid);
    ev.scope.ns = TC_LIT("ml");
    ev.scope.pod = tc_slice_cstr(pod);
    return ev;
}

static void feed(struct tc_harness *h, struct tc_event ev)
{
    tc_harness_feed(h, &ev);
}

static int64_t xid_count(struct tc_harness *h)
{
    return tc_harness_int(tc_harness_finding(h, -1), KEY("xid_count"));
}

static void a_gauge_that_changes_is_an_xid(void **state)
{
    struct tc_harness *h = *state;
    feed(h, last_xid(0, 0));
    feed(h, last_xid(15, 79));
    feed(h, last_xid(30, 79));
    feed(h, last_xid(45, 79));
    feed(h, failed(55, "a"));
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->headline, "Pod ml/a on gpu-07 failed 40 s after Xid 79 (GPU has fallen off the "
                             "bus) on " UUID);
    assert_text(f->scope.gpu_uuid, UUID);
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
    assert_int_equal(tc_harness_int(f, KEY("xid_count")), 1);
    assert_int_equal(tc_harness_int(f, KEY("seconds_before")), 40);
    assert_says(f->evidence[0].description, "the last Xid of the exporter since this sample");
    assert_int_equal(f->evidence[0].raw.offset, 5015);
}

static void a_gauge_that_was_up_from_the_start_or_fell_is_none(void **state)
{
    struct tc_harness *h = *state;
    feed(h, last_xid(0, 79));
    feed(h, last_xid(15, 79));
    feed(h, last_xid(30, 0));
    feed(h, failed(55, "a"));
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, last_xid(60, 48));
    feed(h, last_xid(50, 95)); /* older than the last one: it says nothing */
    feed(h, failed(70, "b"));
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("xid")), 48);
    assert_int_equal(xid_count(h), 1);
}

static void application_xids_of_a_gauge_never_blame(void **state)
{
    struct tc_harness *h = *state;
    feed(h, last_xid(0, 0));
    feed(h, last_xid(15, 13));
    feed(h, last_xid(30, 43));
    feed(h, last_xid(35, 1e18));
    feed(h, failed(55, "a"));
    assert_int_equal(tc_harness_count(h), 0);
}

static void each_gpu_has_a_gauge_of_its_own(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event other = last_xid(0, 0);
    other.scope.gpu_uuid = TC_LIT(OTHER_UUID);
    struct tc_event unnamed = last_xid(0, 0);
    unnamed.scope.gpu_uuid = TC_EMPTY;
    feed(h, last_xid(0, 79));
    feed(h, other);
    feed(h, unnamed);
    feed(h, failed(10, "a"));
    assert_int_equal(tc_harness_count(h), 0);
    other.time_ns = AT(15);
    other.metric.value = 79;
    unnamed.time_ns = AT(15);
    unnamed.metric.value = 79;
    feed(h, other);
    feed(h, unnamed);
    feed(h, failed(20, "b"));
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(xid_count(h), 2);
}

/* The line, the two samples around it, the pod and which GPU it is, in any order. */
static void the_line_and_the_gauge_of_an_xid_are_one(void **state)
{
    (void)state;
    static const int orders[][5] = {
        {0, 1, 2, 3, 4}, {4, 1, 0, 2, 3}, {1, 2, 3, 0, 4}, {1, 2, 0, 4, 3}, {4, 1, 2, 3, 0},
    };
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_xid_correlation, NULL);
        const struct tc_event events[] = {xid(10, 79), last_xid(0, 0), last_xid(15, 79),
                                          failed(55, "a"), inventory()};
        for (size_t k = 0; k < 5; k++) {
            feed(h, events[orders[i][k]]);
        }
        const struct tc_finding *f = tc_harness_finding(h, -1);
        assert_int_equal(tc_harness_int(f, KEY("xid_count")), 1);
        assert_int_equal(tc_harness_int(f, KEY("seconds_before")), 45); /* the line's */
        assert_int_equal(f->evidence[0].raw.source, 0);
        tc_harness_destroy(h);
    }
}

static void a_line_of_another_code_time_or_gpu_is_another_xid(void **state)
{
    (void)state;
    for (int what = 0; what < 3; what++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_xid_correlation, NULL);
        struct tc_event line = xid(110, 79);
        line.xid.code = what == 0 ? 48 : 79;
        line.time_ns = what == 1 ? AT(30) : line.time_ns;
        line.scope.pci.bus = what == 2 ? 0x1b : line.scope.pci.bus;
        struct tc_event place = inventory();
        place.scope.pci = line.scope.pci;
        place.scope.gpu_uuid = what == 2 ? TC_LIT(OTHER_UUID) : TC_LIT(UUID);
        feed(h, place);
        feed(h, last_xid(100, 0));
        feed(h, line);
        feed(h, last_xid(115, 79));
        feed(h, failed(155, "a"));
        assert_int_equal(xid_count(h), 2);
        tc_harness_destroy(h);
    }
}

static void a_gauge_of_a_line_before_the_window_joins_nothing(void **state)
{
    struct tc_harness *h = *state;
    feed(h, inventory());
    feed(h, last_xid(0, 0));
    feed(h, xid(10, 79));
    feed(h, last_xid(15, 79));
    feed(h, failed(312, "a"));
    assert_int_equal(tc_harness_count(h), 0);
}

static void the_pod_that_uses_the_gpu_makes_it_full(void **state)
{
    struct tc_harness *h = *state;
    feed(h, inventory());
    feed(h, used_by(-60, "a", UUID));
    feed(h, used_by(-45, "a", UUID));
    feed(h, xid(0, 79));
    feed(h, failed(40, "a"));
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_text(f->scope.gpu_uuid, UUID);
    assert_int_equal(f->evidence_count, 3);
    assert_text(f->evidence[0].kind, "gpu_use");
    assert_text(f->evidence[0].uid, "gpu_use:" UUID ":ml/a");
    assert_text(f->evidence[0].description,
                "GPU " UUID " is used by pod ml/a, as its exporter says");
    assert_int_equal(f->evidence[0].time_ns, AT(-60));
    assert_int_equal(f->evidence[0].raw.offset, 4940);
    assert_text(f->evidence[1].kind, "xid");
    assert_false(tc_slice_contains(f->remediation, TC_LIT("Check first")));
}

static void a_gpu_that_moved_to_another_pod_before_is_not_the_pods(void **state)
{
    struct tc_harness *h = *state;
    feed(h, inventory());
    feed(h, used_by(-60, "a", UUID));
    feed(h, used_by(-30, "b", UUID));
    feed(h, xid(0, 79));
    feed(h, used_by(20, "c", UUID)); /* after the Xid: no matter */
    feed(h, failed(40, "b"));
    assert_int_equal(tc_harness_finding(h, 0)->confidence, TC_CONFIDENCE_FULL);
    feed(h, failed(41, "c")); /* nothing says that it used any GPU then */
    assert_int_equal(tc_harness_finding(h, 1)->confidence, TC_CONFIDENCE_PARTIAL);
    feed(h, failed(42, "a")); /* it is known to have used one, and that one went to b */
    assert_int_equal(tc_harness_count(h), 2);
}

static void a_gpu_that_came_back_is_the_pods_again(void **state)
{
    struct tc_harness *h = *state;
    feed(h, inventory());
    feed(h, used_by(-90, "a", UUID));
    feed(h, used_by(-60, "b", UUID));
    feed(h, used_by(-30, "a", UUID));
    feed(h, xid(-45, 79));
    feed(h, failed(0, "b"));
    assert_int_equal(tc_harness_finding(h, -1)->confidence, TC_CONFIDENCE_FULL);
    feed(h, xid(5, 79));
    feed(h, failed(40, "a"));
    assert_int_equal(tc_harness_finding(h, -1)->confidence, TC_CONFIDENCE_FULL);
}

static void pods_that_share_a_gpu_are_all_its_users(void **state)
{
    struct tc_harness *h = *state;
    feed(h, inventory());
    for (int64_t t = -60; t < 0; t += 15) {
        feed(h, used_by(t, "a", UUID));
        feed(h, used_by(t, "b", UUID));
    }
    feed(h, xid(0, 79));
    feed(h, failed(40, "a"));
    feed(h, failed(41, "b"));
    assert_int_equal(tc_harness_count(h), 2);
    assert_int_equal(tc_harness_finding(h, 0)->confidence, TC_CONFIDENCE_FULL);
    assert_int_equal(tc_harness_finding(h, 1)->confidence, TC_CONFIDENCE_FULL);
}

static void the_xid_of_a_gpu_that_another_pod_uses_is_not_its_cause(void **state)
{
    struct tc_harness *h = *state;
    feed(h, inventory());
    feed(h, used_by(-60, "a", OTHER_UUID));
    feed(h, used_by(-60, "b", UUID));
    feed(h, xid(0, 79));
    feed(h, failed(40, "a"));
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, failed(41, "b"));
    assert_int_equal(tc_harness_count(h), 1);
}

static void a_pod_of_several_gpus_uses_each_of_them(void **state)
{
    struct tc_harness *h = *state;
    feed(h, inventory());
    feed(h, used_by(-60, "a", UUID));
    feed(h, used_by(-60, "a", OTHER_UUID));
    feed(h, xid(0, 79));
    feed(h, failed(40, "a"));
    assert_int_equal(tc_harness_finding(h, 0)->confidence, TC_CONFIDENCE_FULL);
}

static void a_use_that_is_told_late_makes_it_full(void **state)
{
    struct tc_harness *h = *state;
    feed(h, inventory());
    feed(h, xid(0, 79));
    feed(h, failed(40, "a"));
    assert_int_equal(tc_harness_finding(h, -1)->confidence, TC_CONFIDENCE_PARTIAL);
    feed(h, used_by(-10, "a", UUID));
    assert_int_equal(tc_harness_count(h), 2);
    assert_int_equal(tc_harness_finding(h, -1)->confidence, TC_CONFIDENCE_FULL);
    feed(h, used_by(-5, "b", UUID)); /* it had gone to another before the Xid */
    assert_int_equal(tc_harness_count(h), 3);
    tc_harness_conforms(tc_harness_finding(h, -1));
    assert_true(tc_harness_finding(h, -1)->resolved);
    assert_says(tc_harness_finding(h, -1)->headline, "its own GPU is another");
}

static void the_address_of_a_sample_is_as_good_as_an_inventory(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = used_by(-60, "a", UUID);
    ev.scope.pci = xid(0, 79).scope.pci;
    feed(h, ev);
    feed(h, xid(0, 79));
    feed(h, failed(40, "a"));
    assert_int_equal(tc_harness_finding(h, 0)->confidence, TC_CONFIDENCE_FULL);
}

static void floods_of_users_and_gauges_are_bounded(void **state)
{
    struct tc_harness *h = *state;
    char name[48];
    for (int i = 0; i < 80000; i++) {
        (void)snprintf(name, sizeof name, "GPU-%d", i);
        feed(h, used_by(i / 400, "a", name));
        struct tc_event gauge = last_xid(i / 400, 0);
        gauge.scope.gpu_uuid = tc_slice_cstr(name);
        feed(h, gauge);
        (void)snprintf(name, sizeof name, "p%d", i);
        feed(h, used_by(i / 400, name, UUID));
    }
    assert_true(tc_harness_stats(h).dropped > 0);
    feed(h, inventory());
    feed(h, xid(200, 79));
    feed(h, failed(240, name));
    assert_int_equal(tc_harness_finding(h, -1)->confidence, TC_CONFIDENCE_FULL);
}

static void samples_that_go_on_for_long_cost_one_record(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t i = 0; i < 50000; i++) {
        feed(h, used_by(i, "a", UUID));
        feed(h, last_xid(i, i < 49990 ? 0 : 79));
    }
    assert_int_equal(tc_harness_stats(h).dropped, 0);
    feed(h, failed(50000, "a"));
    assert_int_equal(xid_count(h), 1);
    assert_int_equal(tc_harness_finding(h, -1)->confidence, TC_CONFIDENCE_FULL);
}

static void other_metrics_and_samples_without_a_time_are_nothing(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event host = sample(0, TC_METRIC_GPU_TEMP, 1);
    host.scope.gpu_uuid = TC_EMPTY;
    feed(h, host);
    assert_int_equal(tc_harness_stats(h).ignored, 0);
    struct tc_event undated = used_by(0, "a", UUID);
    undated.time_ns = TC_TIME_NONE;
    feed(h, undated);
    struct tc_event nowhere = last_xid(0, 79);
    nowhere.scope.node = TC_EMPTY;
    feed(h, nowhere);
    assert_int_equal(tc_harness_stats(h).ignored, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_gauge_that_changes_is_an_xid),
        TEST(a_gauge_that_was_up_from_the_start_or_fell_is_none),
        TEST(application_xids_of_a_gauge_never_blame),
        TEST(each_gpu_has_a_gauge_of_its_own),
        TEST(the_line_and_the_gauge_of_an_xid_are_one),
        TEST(a_line_of_another_code_time_or_gpu_is_another_xid),
        TEST(a_gauge_of_a_line_before_the_window_joins_nothing),
        TEST(the_pod_that_uses_the_gpu_makes_it_full),
        TEST(a_gpu_that_moved_to_another_pod_before_is_not_the_pods),
        TEST(a_gpu_that_came_back_is_the_pods_again),
        TEST(pods_that_share_a_gpu_are_all_its_users),
        TEST(the_xid_of_a_gpu_that_another_pod_uses_is_not_its_cause),
        TEST(a_pod_of_several_gpus_uses_each_of_them),
        TEST(a_use_that_is_told_late_makes_it_full),
        TEST(the_address_of_a_sample_is_as_good_as_an_inventory),
        TEST(floods_of_users_and_gauges_are_bounded),
        TEST(samples_that_go_on_for_long_cost_one_record),
        TEST(other_metrics_and_samples_without_a_time_are_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
