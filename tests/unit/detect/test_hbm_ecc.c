/* SPDX-License-Identifier: Apache-2.0 */
/* Every event here is invented. */
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

#define KEY(name) "tracecore.alert.hbm_ecc." name
#define AT(seconds) ((INT64_C(1767225600) + (seconds)) * TC_SECOND) /* 2026-01-01T00:00:00Z */
#define WINDOW 600
#define UUID "GPU-aaaaaaaa-0000-0000-0000-000000000003"

static int set_up(void **state)
{
    *state = tc_harness_create(&tc_detector_hbm_ecc, NULL);
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
    ev.scope.pci = (struct tc_bdf){.bus = 0xb3, .known = true};
    ev.scope.pid = 1234;
    ev.xid.code = code;
    ev.xid.process = TC_LIT("python");
    ev.raw = (struct tc_raw){.source = 1, .offset = (uint64_t)(seconds + 1000), .length = 90};
    return ev;
}

static struct tc_event metric(int64_t seconds, enum tc_metric metric, double value)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-07");
    ev.scope.gpu_uuid = TC_LIT(UUID);
    ev.scope.gpu_index = 3;
    ev.scope.ns = TC_LIT("ml");
    ev.scope.pod = TC_LIT("worker-3");
    ev.metric.metric = (uint16_t)metric;
    ev.metric.value = value;
    ev.raw = (struct tc_raw){.source = 2, .offset = (uint64_t)(seconds + 1000), .length = 120};
    return ev;
}

static struct tc_event inventory(int64_t seconds)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_GPU_INVENTORY);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-07");
    ev.scope.gpu_uuid = TC_LIT(UUID);
    ev.scope.pci = (struct tc_bdf){.bus = 0xb3, .known = true};
    return ev;
}

static void feed(struct tc_harness *h, struct tc_event ev)
{
    tc_harness_feed(h, &ev);
}

/* The last finding once all is told that is due by then; NULL when there is none. */
static const struct tc_finding *told(struct tc_harness *h, int64_t seconds)
{
    tc_harness_tick(h, AT(seconds));
    if (tc_harness_count(h) == 0) {
        return NULL;
    }
    tc_harness_conforms(tc_harness_finding(h, -1));
    return tc_harness_finding(h, -1);
}

static void an_uncorrectable_xid_is_told_with_its_process(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 48));
    assert_int_equal(tc_harness_count(h), 0); /* what else happened then may still come */
    const struct tc_finding *f = told(h, 1);
    assert_int_equal(tc_harness_count(h), 1);
    assert_text(f->pattern_id, "3");
    assert_text(f->key, "gpu-07|0000:b3:00.0|2026-01-01T00:00:00Z");
    assert_text(f->discriminator, "uncorrectable");
    assert_int_equal(f->severity, TC_SEVERITY_CRITICAL);
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_text(f->headline, "GPU 0000:b3:00.0 of node gpu-07: 1 uncorrectable memory error, "
                             "Xid 48, at 00:00:00");
    assert_says(f->remediation, "Drain node gpu-07, reset GPU 0000:b3:00.0");
    assert_int_equal(tc_harness_int(f, KEY("uncorrected_errors")), 1);
    assert_text(f->scope.node, "gpu-07");
    assert_true(f->scope.pci.known);
    assert_int_equal(f->scope.pid, 1234);
    assert_int_equal(f->evidence_count, 1);
    assert_text(f->evidence[0].kind, "xid");
    assert_text(f->evidence[0].uid, "xid:gpu-07:0000:b3:00.0:48:2026-01-01T00:00:00Z");
    assert_says(f->evidence[0].description, ", process python, pid 1234");
    assert_int_equal(f->evidence[0].raw.offset, 1000);
}

static struct tc_event cuda(int64_t seconds, const char *node, int32_t rank)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_DRIVER_FAULT);
    ev.time_ns = AT(seconds);
    ev.scope.node = tc_slice_cstr(node);
    ev.scope.rank = rank;
    ev.fault.fault = TC_LIT("cuda_ecc");
    ev.raw = (struct tc_raw){.source = 3, .offset = (uint64_t)(seconds + 1000), .length = 60};
    return ev;
}

static void an_error_that_a_process_met_is_told_where_nothing_else_is_known(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event other = cuda(0, "gpu-07", 4);
    other.fault.fault = TC_LIT("cuda_illegal_address");
    feed(h, other);
    assert_null(told(h, 1));
    feed(h, cuda(2, "gpu-07", 4));
    feed(h, cuda(3, "gpu-07", 4));
    const struct tc_finding *f = told(h, 5);
    assert_int_equal(tc_harness_count(h), 1);
    assert_text(f->discriminator, "uncorrectable");
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
    assert_says(f->headline, "GPU of rank 4 of node gpu-07: 1 uncorrectable memory error");
    assert_says(f->remediation, "Find the GPU of rank 4 on node gpu-07");
    assert_int_equal(f->scope.rank, 4);
    assert_text(f->scope.node, "gpu-07");
    assert_int_equal(tc_harness_int(f, KEY("uncorrected_errors")), 1);
    /* Another rank is another GPU; of a process nothing at all may be known. */
    feed(h, cuda(6, "gpu-07", 5));
    feed(h, cuda(6, "", -1));
    (void)told(h, 9);
    assert_int_equal(tc_harness_count(h), 3);
}

static void what_the_driver_tells_is_not_told_again_for_a_process(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 94));
    feed(h, cuda(2, "gpu-07", 4));
    feed(h, cuda(2, "", -1));
    const struct tc_finding *f = told(h, 5);
    assert_int_equal(tc_harness_count(h), 1);
    assert_text(f->discriminator, "contained");
    /* On another node it is another error, and so it is an hour later. */
    feed(h, cuda(6, "gpu-08", 9));
    (void)told(h, 9);
    assert_int_equal(tc_harness_count(h), 2);
    feed(h, cuda(3600, "gpu-07", 11));
    (void)told(h, 3602);
    assert_int_equal(tc_harness_count(h), 3);
}

static void every_xid_has_its_discriminator(void **state)
{
    (void)state;
    static const struct {
        int64_t code;
        const char *discriminator; /* NULL: not about memory */
        enum tc_severity severity;
        const char *advice;
    } cases[] = {
        {48, "uncorrectable", TC_SEVERITY_CRITICAL, "Drain node gpu-07, reset"},
        {63, "remap_pending", TC_SEVERITY_WARNING, "at the next idle moment"},
        {64, "remap_failed", TC_SEVERITY_CRITICAL, "return the board"},
        {92, "corrected_storm", TC_SEVERITY_WARNING, "Keep running and watch"},
        {94, "contained", TC_SEVERITY_CRITICAL, "Restart the application that was hit"},
        {95, "uncontained", TC_SEVERITY_CRITICAL, "restart all that ran on it"},
        {140, "uncorrectable", TC_SEVERITY_CRITICAL, "Drain node"},
        {171, "uncorrectable", TC_SEVERITY_CRITICAL, "Drain node"},
        {172, "uncorrectable", TC_SEVERITY_CRITICAL, "Drain node"},
        {13, NULL, TC_SEVERITY_INFO, ""},
        {31, NULL, TC_SEVERITY_INFO, ""},
        {79, NULL, TC_SEVERITY_INFO, ""},
        {0, NULL, TC_SEVERITY_INFO, ""},
        {-1, NULL, TC_SEVERITY_INFO, ""},
        {INT64_MAX, NULL, TC_SEVERITY_INFO, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_hbm_ecc, NULL);
        feed(h, xid(0, cases[i].code));
        const struct tc_finding *f = told(h, 1);
        assert_int_equal(f != NULL, cases[i].discriminator != NULL);
        if (f != NULL) {
            assert_true(tc_slice_eq(f->discriminator, tc_slice_cstr(cases[i].discriminator)));
            assert_int_equal(f->severity, cases[i].severity);
            assert_true(tc_slice_contains(f->remediation, tc_slice_cstr(cases[i].advice)));
            assert_in_range(f->headline.len, 40, 160);
        }
        tc_harness_destroy(h);
    }
}

static void the_worst_names_the_incident_and_all_is_one(void **state)
{
    struct tc_harness *h = *state;
    feed(h, inventory(-100));
    feed(h, metric(-10, TC_METRIC_GPU_ECC_DBE, 0));
    feed(h, xid(0, 63));
    feed(h, xid(0, 94));
    const struct tc_finding *f = told(h, 1);
    assert_text(f->discriminator, "contained");
    assert_says(f->remediation, "Restart pod ml/worker-3");
    feed(h, xid(2, 48));
    f = told(h, 3);
    assert_text(f->discriminator, "uncorrectable");
    feed(h, metric(20, TC_METRIC_GPU_ECC_DBE, 1));
    f = told(h, 21);
    assert_int_equal(tc_harness_int(f, KEY("uncorrected_errors")), 1); /* the same error */
    assert_int_equal(f->evidence_count, 4);
    feed(h, xid(30, 64));
    f = told(h, 31);
    assert_text(f->discriminator, "remap_failed");
    feed(h, xid(40, 95)); /* less bad than what is known */
    f = told(h, 41);
    assert_text(f->discriminator, "remap_failed");
    assert_int_equal(tc_harness_count(h), 5);
    for (long i = 0; i < 5; i++) {
        assert_true(tc_slice_eq(tc_harness_finding(h, i)->key, f->key));
    }
    assert_text(f->key, "gpu-07|" UUID "|2026-01-01T00:00:00Z");
    assert_text(f->scope.gpu_uuid, UUID);
    assert_int_equal(f->scope.gpu_index, 3);
    assert_text(f->scope.pod, "worker-3");
    assert_says(f->headline, "GPU 3 (0000:b3:00.0) of node gpu-07: ");
    assert_says(f->headline, ", Xid 48, 63, 64, 94 and 95, first at ");
}

static void a_counter_rises_from_its_baseline_and_not_over_a_restart(void **state)
{
    struct tc_harness *h = *state;
    feed(h, metric(0, TC_METRIC_GPU_ECC_DBE, 7)); /* history */
    feed(h, metric(30, TC_METRIC_GPU_ECC_DBE, 7));
    feed(h, metric(60, TC_METRIC_GPU_ECC_DBE, 0)); /* the driver was loaded again */
    feed(h, metric(61, TC_METRIC_GPU_ECC_DBE_AGG, 12));
    feed(h, metric(90, TC_METRIC_GPU_ECC_DBE_AGG, 0));  /* a sample that failed ... */
    feed(h, metric(95, TC_METRIC_GPU_ECC_DBE_AGG, 12)); /* ... is no rise when it is back */
    assert_null(told(h, 100));
    feed(h, metric(120, TC_METRIC_GPU_ECC_DBE, 2));
    const struct tc_finding *f = told(h, 121);
    assert_text(f->discriminator, "uncorrectable");
    assert_int_equal(tc_harness_int(f, KEY("uncorrected_errors")), 2);
    assert_int_equal(f->first_ns, AT(120));
    assert_text(f->evidence[0].kind, "ecc_counter");
    feed(h, metric(121, TC_METRIC_GPU_ECC_DBE_AGG, 14)); /* the same two */
    feed(h, metric(122, TC_METRIC_GPU_ECC_DBE, 2));
    f = told(h, 200);
    assert_int_equal(tc_harness_int(f, KEY("uncorrected_errors")), 2);
}

static void the_lifetime_counter_alone_is_enough(void **state)
{
    struct tc_harness *h = *state;
    feed(h, metric(0, TC_METRIC_GPU_ECC_DBE_AGG, 12));
    feed(h, metric(30, TC_METRIC_GPU_ECC_DBE_AGG, 13));
    assert_text(told(h, 31)->discriminator, "uncorrectable");
}

static void corrected_errors_need_their_number_inside_the_window(void **state)
{
    (void)state;
    static const struct {
        int64_t interval;
        double step;
        int samples;
        bool fires;
    } cases[] = {
        {60, 10, 10, true},       /* 100 in 600 s, to the second */
        {60, 9.9, 10, false},     /* 99 */
        {600, 100, 1, true},      /* all between two samples */
        {601, 100, 1, false},     /* over more than a window: its share of one */
        {3600, 599, 1, false},    /* 99 a window */
        {3600, 600, 1, true},     /* 100 a window */
        {300, 49, 40, false},     /* 98 a window, for hours: a trickle */
        {15, 2, 400, false},      /* 80 a window */
        {10, 2, 70, true},        /* 120 a window */
        {86400, 5000, 30, false}, /* a few a minute, sampled once a day */
    };
    static const enum tc_metric metrics[] = {TC_METRIC_GPU_ECC_SBE, TC_METRIC_GPU_ECC_SBE_AGG};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_hbm_ecc, NULL);
        for (int k = 0; k <= cases[i / 2].samples; k++) {
            feed(h, metric(k * cases[i / 2].interval, metrics[i % 2], 50 + k * cases[i / 2].step));
        }
        const struct tc_finding *f = told(h, 40 * 86400);
        assert_int_equal(f != NULL, cases[i / 2].fires);
        if (f != NULL) {
            assert_text(f->discriminator, "corrected_storm");
            assert_int_equal(f->severity, TC_SEVERITY_WARNING);
            assert_true(tc_harness_int(f, KEY("corrected_errors")) >= 100);
            assert_int_equal(tc_harness_int(f, KEY("window_seconds")), WINDOW);
        }
        tc_harness_destroy(h);
    }
}

static void both_counters_of_corrected_errors_count_once(void **state)
{
    struct tc_harness *h = *state;
    for (int k = 0; k <= 10; k++) {
        feed(h, metric(k * 60, TC_METRIC_GPU_ECC_SBE, k * 6));
        feed(h, metric(k * 60, TC_METRIC_GPU_ECC_SBE_AGG, 1000 + k * 6));
    }
    assert_null(told(h, 700)); /* 60, not 120 */
}

static void a_storm_is_told_once_and_when_it_doubles_and_ends_when_calm(void **state)
{
    struct tc_harness *h = *state;
    int64_t t = 0;
    double errors = 0;
    feed(h, metric(t, TC_METRIC_GPU_ECC_SBE, errors));
    for (int k = 0; k < 100; k++) {
        feed(h, metric(t += 30, TC_METRIC_GPU_ECC_SBE, errors += 60));
        (void)told(h, t + 1);
    }
    assert_in_range(tc_harness_count(h), 2, 60);
    assert_false(tc_harness_finding(h, -1)->resolved);
    for (int k = 0; k < 19; k++) {
        feed(h, metric(t += 30, TC_METRIC_GPU_ECC_SBE, errors));
    }
    (void)told(h, t + 1);
    assert_false(tc_harness_finding(h, -1)->resolved);
    feed(h, metric(t + 60, TC_METRIC_GPU_ECC_SBE, errors));
    const struct tc_finding *f = told(h, t + 61);
    assert_true(f->resolved);
    assert_says(f->evidence[f->evidence_count - 1].description, "has fallen");
    assert_int_equal(tc_harness_int(f, KEY("corrected_errors")), 1200);
}

static void a_flag_that_is_up_stands_in_the_first_sample_too(void **state)
{
    (void)state;
    static const struct {
        enum tc_metric metric;
        double value;
        const char *discriminator;
    } cases[] = {
        {TC_METRIC_GPU_ROW_PENDING, 1, "remap_pending"},
        {TC_METRIC_GPU_ROW_FAILURE, 1, "remap_failed"},
        {TC_METRIC_GPU_PAGES_PENDING, 3, "remap_pending"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_hbm_ecc, NULL);
        feed(h, metric(0, cases[i].metric, cases[i].value));
        const struct tc_finding *f = told(h, 1);
        assert_non_null(f);
        assert_true(tc_slice_eq(f->discriminator, tc_slice_cstr(cases[i].discriminator)));
        assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
        assert_text(f->evidence[0].kind, "remap_state");
        for (int64_t t = 30; t < 3000; t += 30) { /* scraped again and again */
            feed(h, metric(t, cases[i].metric, cases[i].value));
        }
        (void)told(h, 3001);
        assert_int_equal(tc_harness_count(h), 1);
        feed(h, metric(3030, cases[i].metric, 0));
        f = told(h, 3031);
        assert_int_equal(tc_harness_count(h), 2);
        assert_true(f->resolved);
        assert_int_equal(f->last_ns, AT(3030));
        feed(h, metric(3060, cases[i].metric, cases[i].value)); /* another incident */
        f = told(h, 3061);
        assert_false(f->resolved);
        assert_false(tc_slice_eq(f->key, tc_harness_finding(h, 0)->key));
        tc_harness_destroy(h);
    }
}

static void a_flag_that_is_down_says_nothing(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t t = 0; t < 600; t += 30) {
        feed(h, metric(t, TC_METRIC_GPU_ROW_PENDING, 0));
        feed(h, metric(t, TC_METRIC_GPU_ROW_FAILURE, 0));
        feed(h, metric(t, TC_METRIC_GPU_PAGES_PENDING, 0));
        feed(h, metric(t, TC_METRIC_GPU_ROWS_UNC, 4)); /* remapped long ago */
        feed(h, metric(t, TC_METRIC_GPU_ROWS_COR, 1));
        feed(h, metric(t, TC_METRIC_GPU_TEMP, 95));
    }
    assert_null(told(h, 700));
}

static void rows_that_are_remapped_now_are_partial(void **state)
{
    struct tc_harness *h = *state;
    feed(h, metric(0, TC_METRIC_GPU_ROWS_UNC, 4));
    feed(h, metric(30, TC_METRIC_GPU_ROWS_UNC, 5));
    const struct tc_finding *f = told(h, 31);
    assert_text(f->discriminator, "remap_pending");
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
    assert_int_equal(tc_harness_int(f, KEY("remapped_rows")), 1);
    feed(h, metric(31, TC_METRIC_GPU_ROW_PENDING, 1));
    f = told(h, 32);
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
}

static void a_reset_mends_what_it_can(void **state)
{
    (void)state;
    static const struct {
        int64_t code;
        bool mended;
    } cases[] = {{48, true}, {94, true}, {95, true}, {63, true}, {92, true}, {64, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_hbm_ecc, NULL);
        feed(h, inventory(-60));
        feed(h, metric(-30, TC_METRIC_GPU_ECC_DBE, 3));
        feed(h, xid(0, cases[i].code));
        feed(h, metric(30, TC_METRIC_GPU_ECC_DBE, 0));
        const struct tc_finding *f = told(h, 31);
        assert_int_equal(f->resolved, cases[i].mended);
        if (cases[i].mended) {
            assert_says(f->evidence[f->evidence_count - 1].description, "the GPU was reset");
        }
        tc_harness_destroy(h);
    }
}

static void a_reset_does_not_mend_what_a_flag_still_says(void **state)
{
    struct tc_harness *h = *state;
    feed(h, metric(0, TC_METRIC_GPU_ECC_SBE, 9));
    feed(h, metric(0, TC_METRIC_GPU_ROW_PENDING, 1));
    feed(h, metric(30, TC_METRIC_GPU_ECC_SBE, 0));
    assert_false(told(h, 31)->resolved);
    feed(h, metric(60, TC_METRIC_GPU_ROW_PENDING, 0));
    assert_true(told(h, 61)->resolved);
}

static void a_reset_from_before_the_error_does_not_end_it(void **state)
{
    struct tc_harness *h = *state;
    feed(h, inventory(-60));
    feed(h, metric(-30, TC_METRIC_GPU_ECC_DBE, 3));
    feed(h, xid(40, 48));
    feed(h, metric(40, TC_METRIC_GPU_ECC_DBE, 0));
    assert_false(told(h, 41)->resolved);
}

static void the_last_xid_of_an_exporter_counts_when_it_becomes_another(void **state)
{
    struct tc_harness *h = *state;
    feed(h, metric(0, TC_METRIC_GPU_XID_LAST, 48)); /* from whenever */
    feed(h, metric(30, TC_METRIC_GPU_XID_LAST, 48));
    feed(h, metric(60, TC_METRIC_GPU_XID_LAST, 31));
    assert_null(told(h, 61));
    feed(h, metric(90, TC_METRIC_GPU_XID_LAST, 48));
    feed(h, metric(120, TC_METRIC_GPU_XID_LAST, 48));
    const struct tc_finding *f = told(h, 121);
    assert_int_equal(tc_harness_count(h), 1);
    assert_text(f->discriminator, "uncorrectable");
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
    assert_says(f->evidence[0].description, "An exporter told of Xid 48");
}

static void the_line_and_the_exporter_tell_of_one_xid(void **state)
{
    struct tc_harness *h = *state;
    feed(h, inventory(-60));
    feed(h, metric(-30, TC_METRIC_GPU_XID_LAST, 0));
    struct tc_event count = metric(0, TC_METRIC_GPU_XID_COUNT, 0);
    count.metric.device = TC_LIT("48");
    feed(h, count);
    feed(h, xid(10, 48));
    feed(h, metric(30, TC_METRIC_GPU_XID_LAST, 48));
    count.time_ns = AT(30);
    count.metric.value = 1;
    feed(h, count);
    const struct tc_finding *f = told(h, 200);
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_int_equal(tc_harness_int(f, KEY("uncorrected_errors")), 1);
}

static void the_xid_count_of_an_exporter_counts_what_is_more_than_before(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event count = metric(0, TC_METRIC_GPU_XID_COUNT, 1);
    count.metric.device = TC_LIT("94");
    feed(h, count); /* in the last minutes */
    const struct tc_finding *f = told(h, 1);
    assert_text(f->discriminator, "contained");
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
    static const char *const others[] = {"31", "", "x", "-1", "99999999999999999999"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        count.time_ns += TC_SECOND;
        count.metric.device = tc_slice_cstr(others[i]);
        feed(h, count);
    }
    (void)told(h, 200);
    assert_int_equal(tc_harness_count(h), 1);
}

static void a_line_that_is_told_twice_counts_once(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event other = xid(0, 48);
    other.time_ns += TC_SECOND / 2; /* another collector, with a finer clock */
    other.raw.source = 7;
    feed(h, xid(0, 48));
    feed(h, xid(0, 48));
    feed(h, other);
    const struct tc_finding *f = told(h, 1);
    assert_int_equal(tc_harness_int(f, KEY("uncorrected_errors")), 1);
    feed(h, xid(5, 48));
    feed(h, xid(0, 48)); /* late */
    f = told(h, 6);
    assert_int_equal(tc_harness_int(f, KEY("uncorrected_errors")), 2);
    assert_int_equal(tc_harness_count(h), 2);
}

static void the_thresholds_are_knobs(void **state)
{
    (void)state;
    struct tc_harness_options two = {.param = "uncorrected", .value = 2};
    struct tc_harness *h = tc_harness_create(&tc_detector_hbm_ecc, &two);
    feed(h, xid(0, 48));
    assert_null(told(h, 1));
    feed(h, xid(WINDOW + 1, 48)); /* not inside one window */
    assert_null(told(h, WINDOW + 2));
    feed(h, xid(2 * WINDOW, 48));
    assert_non_null(told(h, 2 * WINDOW + 1));
    tc_harness_destroy(h);

    struct tc_harness_options few = {.param = "corrected", .value = 5};
    h = tc_harness_create(&tc_detector_hbm_ecc, &few);
    feed(h, metric(0, TC_METRIC_GPU_ECC_SBE, 0));
    feed(h, metric(30, TC_METRIC_GPU_ECC_SBE, 4));
    assert_null(told(h, 31));
    feed(h, metric(60, TC_METRIC_GPU_ECC_SBE, 5));
    assert_non_null(told(h, 61));
    tc_harness_destroy(h);

    struct tc_harness_options shorter = {.param = "window", .value = 60 * TC_SECOND};
    h = tc_harness_create(&tc_detector_hbm_ecc, &shorter);
    feed(h, metric(0, TC_METRIC_GPU_ECC_SBE, 0));
    feed(h, metric(30, TC_METRIC_GPU_ECC_SBE, 60));
    feed(h, metric(91, TC_METRIC_GPU_ECC_SBE, 120));
    assert_null(told(h, 92));
    feed(h, metric(100, TC_METRIC_GPU_ECC_SBE, 220));
    assert_non_null(told(h, 101));
    tc_harness_destroy(h);

    struct tc_harness_options apart = {.param = "apart", .value = 100 * TC_SECOND};
    h = tc_harness_create(&tc_detector_hbm_ecc, &apart);
    feed(h, xid(0, 48));
    (void)told(h, 1);
    feed(h, xid(100, 48));
    (void)told(h, 101);
    assert_true(tc_slice_eq(tc_harness_finding(h, 0)->key, tc_harness_finding(h, 1)->key));
    feed(h, xid(201, 48));
    (void)told(h, 202);
    assert_false(tc_slice_eq(tc_harness_finding(h, 0)->key, tc_harness_finding(h, 2)->key));
    tc_harness_destroy(h);
}

static void gpus_are_told_apart(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event other_node = xid(0, 48);
    other_node.scope.node = TC_LIT("gpu-08");
    struct tc_event other_slot = xid(0, 48);
    other_slot.scope.pci.bus = 0xb4;
    feed(h, xid(0, 48));
    feed(h, other_node);
    feed(h, other_slot);
    feed(h, metric(0, TC_METRIC_GPU_ROW_FAILURE, 1)); /* nothing says which of them it is */
    (void)told(h, 1);
    assert_int_equal(tc_harness_count(h), 4);
}

static void names_that_become_known_join_what_was_apart(void **state)
{
    struct tc_harness *h = *state;
    feed(h, metric(-30, TC_METRIC_GPU_ECC_DBE, 0));
    feed(h, xid(0, 48));
    const struct tc_finding *f = told(h, 1);
    assert_int_equal(f->scope.gpu_uuid.len, 0);
    feed(h, inventory(2));
    f = told(h, 3);
    assert_int_equal(tc_harness_count(h), 2);
    assert_text(f->scope.gpu_uuid, UUID);
    assert_true(tc_slice_eq(f->key, tc_harness_finding(h, 0)->key));
    feed(h, metric(30, TC_METRIC_GPU_ECC_DBE, 2));
    f = told(h, 31);
    assert_true(tc_slice_eq(f->key, tc_harness_finding(h, 0)->key));
    assert_int_equal(tc_harness_int(f, KEY("uncorrected_errors")), 2);
}

static void the_pod_that_was_hit_stays_named(void **state)
{
    struct tc_harness *h = *state;
    feed(h, metric(-30, TC_METRIC_GPU_ECC_DBE, 0));
    feed(h, metric(0, TC_METRIC_GPU_ECC_DBE, 1));
    struct tc_event next = metric(30, TC_METRIC_GPU_ROW_PENDING, 1);
    next.scope.pod = TC_LIT("worker-9");
    feed(h, next);
    assert_text(told(h, 31)->scope.pod, "worker-3");
}

static void the_rank_of_a_gpu_is_named(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event place;
    tc_event_init(&place, TC_EVENT_RANK_PLACE);
    place.time_ns = AT(-60);
    place.scope.node = TC_LIT("gpu-07");
    place.scope.gpu_index = 3;
    place.scope.rank = 11;
    place.scope.job = TC_LIT("pretrain");
    feed(h, place);
    feed(h, metric(0, TC_METRIC_GPU_ROW_FAILURE, 1));
    const struct tc_finding *f = told(h, 1);
    assert_int_equal(f->scope.rank, 11);
    assert_text(f->scope.job, "pretrain");
}

static void a_log_that_names_no_node_is_partial(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = xid(0, 48);
    ev.scope.node = TC_EMPTY;
    feed(h, ev);
    ev.scope.pci.bus = 0xb4;
    feed(h, ev);
    const struct tc_finding *f = told(h, 1);
    assert_int_equal(tc_harness_count(h), 2);
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
    assert_int_equal(f->scope.node.len, 0);
    assert_says(f->headline, "GPU 0000:b4:00.0 of a node that is not named: ");
}

static void what_names_no_gpu_or_no_time_is_counted(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event bare = xid(0, 48);
    bare.scope.pci.known = false;
    struct tc_event undated = xid(0, 48);
    undated.time_ns = TC_TIME_NONE;
    struct tc_event below = metric(0, TC_METRIC_GPU_ECC_DBE, -1);
    struct tc_event huge = metric(0, TC_METRIC_GPU_ROW_FAILURE, 9.3e18);
    feed(h, bare);
    feed(h, undated);
    feed(h, below);
    feed(h, huge);
    assert_null(told(h, 10));
    assert_int_equal(tc_harness_stats(h).ignored, 4);
}

static void a_storm_of_xids_is_one_incident_and_few_tellings(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t i = 0; i < 60000; i++) {
        struct tc_event ev = xid(0, 48);
        ev.time_ns += i * TC_SECOND / 100;
        if (i % 100 == 0) {
            tc_harness_tick(h, ev.time_ns);
        }
        feed(h, ev);
    }
    const struct tc_finding *f = told(h, 700);
    assert_int_equal(tc_harness_int(f, KEY("uncorrected_errors")), 60000);
    assert_in_range(tc_harness_count(h), 2, 40);
    assert_int_equal(tc_harness_stats(h).dropped, 0);
    assert_int_equal(f->evidence_count, 2); /* the first and the last */
}

/* An uncorrected error of a GPU on a node of that number. */
static struct tc_event xid_on(char name[32], unsigned node, int64_t seconds)
{
    (void)snprintf(name, 32, "invented-%u", node);
    struct tc_event ev = xid(seconds, 48);
    ev.scope.node = tc_slice_cstr(name);
    return ev;
}

/* One sender makes up more nodes than there are places, all at once or over minutes: a real fault
 * on another node is raised all the same, and so is each of the others. */
static void invented_nodes_do_not_hide_a_fault(void **state)
{
    struct tc_harness *h = *state;
    char name[32];
    size_t told_count = 0;
    for (unsigned i = 0; i < 60000; i++) {
        struct tc_event ev = xid_on(name, i, i < 30000 ? 0 : i / 1000);
        feed(h, ev);
        if (i % 10 == 9) { /* what the harness holds is bounded */
            told_count += tc_harness_count(h);
            tc_harness_clear(h);
        }
        if (i >= 30000 && i % 1000 == 999) {
            tc_harness_tick(h, ev.time_ns + 1);
            told_count += tc_harness_count(h);
            tc_harness_clear(h);
        }
    }
    assert_int_equal(told_count, 60000);
    assert_true(tc_harness_stats(h).dropped > 0);
    struct tc_event real = xid(61, 48);
    real.scope.node = TC_LIT("gpu-07");
    feed(h, real);
    const struct tc_finding *f = told(h, 62);
    assert_non_null(f);
    assert_true(tc_slice_find(f->headline, TC_LIT("gpu-07")) != TC_NPOS);
}

/* An incident that had to make room goes on under its name when there is more about it. */
static void an_incident_that_made_room_keeps_its_key(void **state)
{
    struct tc_harness *h = *state;
    char name[32];
    char key[256];
    struct tc_event first = xid(0, 48);
    feed(h, first);
    const struct tc_finding *f = told(h, 1);
    assert_non_null(f);
    (void)snprintf(key, sizeof key, "%.*s", TC_FMT(f->key));
    tc_harness_clear(h);
    for (unsigned i = 0; i < 20000; i++) { /* fewer than the GPUs that are known */
        struct tc_event ev = xid_on(name, i, 2 + i / 1000);
        feed(h, ev);
        if (i % 1000 == 999) {
            tc_harness_tick(h, ev.time_ns + 1);
            tc_harness_clear(h);
        }
    }
    feed(h, xid(40, 94));
    f = told(h, 41);
    assert_non_null(f);
    assert_true(tc_slice_eq(f->key, tc_slice_cstr(key)));
}

/* More GPUs with open incidents than there are places: each is told, and none of them twice. */
static void open_incidents_are_told_once_whoever_makes_room(void **state)
{
    struct tc_harness *h = *state;
    char name[32];
    size_t opened = 0;
    for (int64_t round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 25000; i++) {
            (void)snprintf(name, sizeof name, "GPU-%u", i);
            struct tc_event ev = metric(600 * round + i / 100, TC_METRIC_GPU_ROW_PENDING, 1);
            ev.scope.gpu_uuid = tc_slice_cstr(name);
            ev.scope.gpu_index = -1;
            feed(h, ev);
            if (i % 1000 == 999) {
                tc_harness_tick(h, ev.time_ns + 1);
                opened += round == 0 ? tc_harness_count(h) : 0;
                assert_true(round == 0 || tc_harness_count(h) == 0);
                tc_harness_clear(h);
            }
        }
    }
    assert_int_equal(opened, 25000);
    assert_true(tc_harness_stats(h).dropped > 0);
}

static void many_gpus_fill_the_window_and_are_counted(void **state)
{
    struct tc_harness *h = *state;
    char name[32];
    for (unsigned i = 0; i < 60000; i++) {
        (void)snprintf(name, sizeof name, "GPU-%u", i);
        struct tc_event ev = metric(i / 100, TC_METRIC_GPU_ROW_PENDING, 1);
        ev.scope.gpu_uuid = tc_slice_cstr(name);
        ev.scope.gpu_index = -1;
        feed(h, ev);
        if (i % 1000 == 0) {
            tc_harness_tick(h, ev.time_ns);
            tc_harness_clear(h);
        }
    }
    assert_true(tc_harness_stats(h).dropped > 1000);
}

/* The same events at the same time in every order: the last word is the same. */
static void the_order_of_equal_times_does_not_matter(void **state)
{
    (void)state;
    struct tc_event events[5] = {
        xid(0, 48),
        xid(0, 63),
        xid(0, 94),
        metric(0, TC_METRIC_GPU_ROW_PENDING, 1),
        metric(0, TC_METRIC_GPU_ECC_DBE, 1),
    };
    char *first = NULL;
    for (unsigned order = 0; order < 120; order++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_hbm_ecc, NULL);
        feed(h, inventory(-60));
        feed(h, metric(-30, TC_METRIC_GPU_ECC_DBE, 0));
        unsigned left[5] = {0, 1, 2, 3, 4};
        unsigned code = order;
        for (unsigned i = 5; i > 0; i--) {
            unsigned pick = code % i;
            code /= i;
            feed(h, events[left[pick]]);
            memmove(left + pick, left + pick + 1, (4 - pick) * sizeof left[0]);
        }
        (void)told(h, 1);
        assert_int_equal(tc_harness_count(h), 1);
        struct tc_slice dump = tc_harness_dump(h);
        if (first == NULL) {
            first = strndup(dump.ptr, dump.len);
        }
        assert_true(tc_slice_eq(dump, tc_slice_cstr(first)));
        tc_harness_destroy(h);
    }
    free(first);
}

static void samples_that_come_late_or_twice_say_nothing(void **state)
{
    struct tc_harness *h = *state;
    feed(h, metric(0, TC_METRIC_GPU_ECC_DBE, 3));
    feed(h, metric(30, TC_METRIC_GPU_ECC_DBE, 3));
    feed(h, metric(15, TC_METRIC_GPU_ECC_DBE, 2));
    feed(h, metric(30, TC_METRIC_GPU_ECC_DBE, 4));
    feed(h, metric(20, TC_METRIC_GPU_ROW_PENDING, 0));
    feed(h, metric(20, TC_METRIC_GPU_ROW_PENDING, 1));
    feed(h, metric(10, TC_METRIC_GPU_ROW_PENDING, 1));
    assert_null(told(h, 60));
}

static void hostile_texts_are_cut_or_refused(void **state)
{
    struct tc_harness *h = *state;
    static char text[70000];
    memset(text, '\xff', sizeof text);
    struct tc_event ev = xid(0, 48);
    ev.xid.process = tc_slice_make(text, sizeof text);
    ev.uid = tc_slice_make(text, sizeof text);
    ev.scope.job = tc_slice_make(text, 256);
    ev.scope.node = tc_slice_make(text, 256);
    ev.scope.pod = tc_slice_make(text, 256);
    ev.scope.ns = tc_slice_make(text, 256);
    feed(h, ev);
    for (int64_t code = 60; code < 180; code++) {
        ev.xid.code = code;
        ev.uid = TC_LIT("made-elsewhere");
        ev.time_ns += TC_SECOND;
        feed(h, ev);
    }
    feed(h, metric(0, TC_METRIC_GPU_ROW_FAILURE, 1));
    (void)told(h, 1000);
    assert_int_equal(tc_harness_count(h), 2);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    assert_in_range(f->evidence_count, 7, 9);
    assert_text(f->evidence[1].uid, "made-elsewhere");
    ev.xid.code = 48;
    ev.scope.node = tc_slice_make(text, 257);
    feed(h, ev);
    assert_int_equal(tc_harness_stats(h).ignored, 1);
}

static void memory_that_is_too_small_is_reported(void **state)
{
    (void)state;
    struct tc_harness_options small_window = {.arena_bytes = 1 << 20};
    struct tc_harness *h = tc_harness_create(&tc_detector_hbm_ecc, &small_window);
    assert_int_equal(tc_harness_init_status(h), TC_E_NOMEM);
    tc_harness_destroy(h);

    /* Every size of scratch either works or says that it does not. */
    bool worked = false;
    for (size_t bytes = 256; bytes < 16384; bytes += 512) {
        struct tc_harness_options options = {.scratch_bytes = bytes};
        h = tc_harness_create(&tc_detector_hbm_ecc, &options);
        struct tc_event events[] = {metric(0, TC_METRIC_GPU_ECC_SBE, 0),
                                    metric(30, TC_METRIC_GPU_ECC_SBE, 400),
                                    metric(40, TC_METRIC_GPU_ROWS_UNC, 0)};
        tc_status status = TC_OK;
        for (size_t i = 0; i < 3 && status == TC_OK; i++) {
            status = tc_harness_try_feed(h, &events[i]);
        }
        assert_true(status == TC_OK || status == TC_E_NOMEM);
        assert_false(worked && status != TC_OK);
        worked = status == TC_OK;
        tc_harness_destroy(h);
    }
    assert_true(worked);
}

/* More GPUs at once than can wait for the next tick are told at once. */
static void a_sink_that_fails_is_passed_on(void **state)
{
    (void)state;
    struct tc_harness_options options = {.sink_status = TC_E_IO};
    struct tc_harness *h = tc_harness_create(&tc_detector_hbm_ecc, &options);
    char name[32];
    tc_status status = TC_OK;
    unsigned fed = 0;
    for (; fed < 10000 && status == TC_OK; fed++) {
        (void)snprintf(name, sizeof name, "GPU-%u", fed);
        struct tc_event ev = metric(0, TC_METRIC_GPU_ROW_FAILURE, 1);
        ev.scope.gpu_uuid = tc_slice_cstr(name);
        ev.scope.gpu_index = -1;
        status = tc_harness_try_feed(h, &ev);
    }
    assert_int_equal(status, TC_E_IO);
    assert_in_range(fed, 4000, 5000);
    tc_harness_destroy(h);
}

static void an_incident_is_named_by_all_that_is_said_when_it_begins(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 2; first++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_hbm_ecc, NULL);
        struct tc_event other = inventory(0);
        other.scope.ns = TC_LIT("ml");
        other.scope.pod = TC_LIT("worker-3");
        other.scope.container = TC_LIT("trainer");
        feed(h, first == 0 ? xid(0, 48) : other);
        feed(h, first == 0 ? other : xid(0, 48));
        struct tc_event next = metric(30, TC_METRIC_GPU_ROW_PENDING, 1);
        next.scope.pod = TC_LIT("worker-9");
        feed(h, next);
        const struct tc_finding *f = told(h, 31);
        assert_text(f->key, "gpu-07|" UUID "|2026-01-01T00:00:00Z");
        assert_text(f->scope.pod, "worker-3");
        assert_text(f->scope.container, "trainer");
        tc_harness_destroy(h);
    }
}

static struct tc_event health(int64_t time_ns, const char *system, const char *message)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_GPU_HEALTH);
    ev.time_ns = time_ns;
    ev.scope.gpu_index = 3;
    ev.health.system = tc_slice_cstr(system);
    ev.health.severity = TC_LIT("warning");
    ev.health.message = tc_slice_cstr(message);
    ev.raw = (struct tc_raw){.source = 3, .offset = 7, .length = 50};
    return ev;
}

static void what_dcgm_says_of_memory_is_a_fact_where_it_is_clear(void **state)
{
    static const struct {
        const char *message;
        const char *discriminator; /* NULL: none */
    } rows[] = {
        {"GPU 3 had uncorrectable memory errors and row remapping failed.", "remap_failed"},
        {"GPU 3 had memory errors and row remappings are pending", "remap_pending"},
        {"A pending retired page has been detected in GPU 3.", "remap_pending"},
        {"Detected 2 volatile double-bit ECC error(s) in GPU 3.", "uncorrectable"},
        {"Detected some volatile double-bit ECC error(s) in GPU 3.", NULL},
        {"Detected 99 single-bit ECC errors in GPU 3.", NULL},
        {"", NULL},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_hbm_ecc, NULL);
        /* Without a date and a node; DCGM says it again and again. */
        feed(h, health(TC_TIME_UNDATED_MIN + 5, "memory", rows[i].message));
        feed(h, health(TC_TIME_UNDATED_MIN + 9, "memory", rows[i].message));
        feed(h, health(TC_TIME_UNDATED_MIN + 11, "pcie", rows[i].message));
        tc_harness_finish(h, TC_TIME_NONE);
        assert_int_equal(tc_harness_count(h), rows[i].discriminator == NULL ? 0 : 1);
        if (rows[i].discriminator != NULL) {
            const struct tc_finding *f = tc_harness_finding(h, 0);
            tc_harness_conforms(f);
            assert_true(tc_slice_eq(f->discriminator, tc_slice_cstr(rows[i].discriminator)));
            assert_int_equal(f->scope.node.len, 0);
            assert_int_equal(f->scope.gpu_index, 3);
        }
        tc_harness_destroy(h);
    }
}

static void a_flag_needs_no_node_and_a_counter_does(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = metric(0, TC_METRIC_GPU_ECC_DBE, 1);
    ev.scope = TC_SCOPE_NONE;
    ev.scope.pci = (struct tc_bdf){.bus = 0xb3, .known = true};
    feed(h, ev);
    ev.metric.value = 9; /* of another node's GPU, for all we know */
    ev.time_ns = AT(10);
    feed(h, ev);
    assert_null(told(h, 20));
    ev.metric.metric = TC_METRIC_GPU_ROW_FAILURE;
    ev.metric.value = 1;
    ev.time_ns = AT(30);
    feed(h, ev);
    assert_text(told(h, 40)->discriminator, "remap_failed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(what_dcgm_says_of_memory_is_a_fact_where_it_is_clear),
        TEST(a_flag_needs_no_node_and_a_counter_does),
        TEST(an_uncorrectable_xid_is_told_with_its_process),
        TEST(an_error_that_a_process_met_is_told_where_nothing_else_is_known),
        TEST(what_the_driver_tells_is_not_told_again_for_a_process),
        TEST(every_xid_has_its_discriminator),
        TEST(the_worst_names_the_incident_and_all_is_one),
        TEST(a_counter_rises_from_its_baseline_and_not_over_a_restart),
        TEST(the_lifetime_counter_alone_is_enough),
        TEST(corrected_errors_need_their_number_inside_the_window),
        TEST(both_counters_of_corrected_errors_count_once),
        TEST(a_storm_is_told_once_and_when_it_doubles_and_ends_when_calm),
        TEST(a_flag_that_is_up_stands_in_the_first_sample_too),
        TEST(a_flag_that_is_down_says_nothing),
        TEST(rows_that_are_remapped_now_are_partial),
        TEST(a_reset_mends_what_it_can),
        TEST(a_reset_does_not_mend_what_a_flag_still_says),
        TEST(a_reset_from_before_the_error_does_not_end_it),
        TEST(the_last_xid_of_an_exporter_counts_when_it_becomes_another),
        TEST(the_line_and_the_exporter_tell_of_one_xid),
        TEST(the_xid_count_of_an_exporter_counts_what_is_more_than_before),
        TEST(a_line_that_is_told_twice_counts_once),
        TEST(the_thresholds_are_knobs),
        TEST(gpus_are_told_apart),
        TEST(names_that_become_known_join_what_was_apart),
        TEST(an_incident_is_named_by_all_that_is_said_when_it_begins),
        TEST(the_pod_that_was_hit_stays_named),
        TEST(the_rank_of_a_gpu_is_named),
        TEST(a_log_that_names_no_node_is_partial),
        TEST(what_names_no_gpu_or_no_time_is_counted),
        TEST(a_storm_of_xids_is_one_incident_and_few_tellings),
        TEST(invented_nodes_do_not_hide_a_fault),
        TEST(an_incident_that_made_room_keeps_its_key),
        TEST(open_incidents_are_told_once_whoever_makes_room),
        TEST(many_gpus_fill_the_window_and_are_counted),
        TEST(the_order_of_equal_times_does_not_matter),
        TEST(samples_that_come_late_or_twice_say_nothing),
        TEST(hostile_texts_are_cut_or_refused),
        TEST(memory_that_is_too_small_is_reported),
        TEST(a_sink_that_fails_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
