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

#define KEY(name) "tracecore.alert.pcie_rate_collapse." name
#define AT(seconds) ((INT64_C(1767225600) + (seconds)) * TC_SECOND) /* 2026-01-01T00:00:00Z */
#define WINDOW 300
#define GPU "GPU-0a"

static const struct tc_bdf GPU_AT = {0, 0xb3, 0, 0, true};
static const struct tc_bdf PORT_AT = {0, 0xb2, 1, 0, true};

static int set_up(void **state)
{
    *state = tc_harness_create(&tc_detector_pcie_aer, NULL);
    assert_int_equal(tc_harness_init_status(*state), TC_OK);
    return 0;
}

static int tear_down(void **state)
{
    tc_harness_destroy(*state);
    return 0;
}

static struct tc_event aer(int64_t seconds, const char *severity)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_AER);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-04");
    ev.scope.pci = GPU_AT;
    ev.aer.reporter = PORT_AT;
    ev.aer.severity = tc_slice_cstr(severity);
    ev.aer.layer = TC_LIT("data_link");
    ev.aer.errors = TC_LIT("BadTLP");
    ev.aer.status = 0x40;
    ev.aer.mask = 0x2000;
    ev.raw = (struct tc_raw){.source = 1, .offset = (uint64_t)(seconds + 1000), .length = 80};
    return ev;
}

static struct tc_event metric(int64_t seconds, enum tc_metric which, double value)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-04");
    ev.scope.gpu_uuid = TC_LIT(GPU);
    ev.scope.gpu_index = 3;
    ev.metric.metric = (uint16_t)which;
    ev.metric.value = value;
    ev.raw = (struct tc_raw){
        .source = 2, .offset = (uint64_t)(seconds + 1000) * 16 + which % 16, .length = 90};
    return ev;
}

static struct tc_event inventory(int64_t seconds)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_GPU_INVENTORY);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-04");
    ev.scope.pci = GPU_AT;
    ev.scope.gpu_uuid = TC_LIT(GPU);
    return ev;
}

static struct tc_event line(int64_t seconds, struct tc_bdf at, int64_t width, int64_t width_max)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_PCIE_LINK);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-04");
    ev.scope.pci = GPU_AT;
    ev.aer.reporter = at;
    ev.aer.speed_gts = 2.5;
    ev.aer.speed_gts_max = 32;
    ev.aer.width = width;
    ev.aer.width_max = width_max;
    ev.raw = (struct tc_raw){.source = 1, .offset = 7, .length = 90};
    return ev;
}

static void feed(struct tc_harness *h, struct tc_event ev)
{
    tc_harness_feed(h, &ev);
}

static struct tc_event counted(struct tc_event ev, int64_t count)
{
    ev.aer.count = count;
    return ev;
}

/* Link and utilisation of one scrape; a negative value is not sampled. */
static void scrape(struct tc_harness *h, int64_t seconds, double gen, double width, double util)
{
    if (gen >= 0) {
        feed(h, metric(seconds, TC_METRIC_GPU_PCIE_GEN, gen));
        feed(h, metric(seconds, TC_METRIC_GPU_PCIE_GEN_MAX, 5));
    }
    if (width >= 0) {
        feed(h, metric(seconds, TC_METRIC_GPU_PCIE_WIDTH, width));
        feed(h, metric(seconds, TC_METRIC_GPU_PCIE_WIDTH_MAX, 16));
    }
    if (util >= 0) {
        feed(h, metric(seconds, TC_METRIC_GPU_UTIL, util));
    }
}

static void scrapes(struct tc_harness *h, int64_t from, int64_t to, double gen, double width,
                    double util)
{
    for (int64_t at = from; at <= to; at += 30) {
        scrape(h, at, gen, width, util);
    }
}

static void corrected(struct tc_harness *h, int64_t from, int64_t step, int count)
{
    for (int i = 0; i < count; i++) {
        feed(h, aer(from + i * step, "corrected"));
    }
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void a_fatal_error_is_critical_at_once(void **state)
{
    struct tc_harness *h = *state;
    feed(h, inventory(-5));
    feed(h, aer(0, "fatal"));
    assert_int_equal(tc_harness_count(h), 0); /* the instant may have more */
    tc_harness_tick(h, AT(1));
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->pattern_id, "5");
    assert_text(f->key, "gpu-04|0000:b3:00.0|errors|2026-01-01T00:00:00Z");
    assert_text(f->discriminator, "fatal");
    assert_int_equal(f->severity, TC_SEVERITY_CRITICAL);
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_text(f->headline,
                "GPU 0000:b3:00.0 on node gpu-04 reported a fatal PCIe error: BadTLP (data link "
                "layer)");
    assert_says(f->remediation, "Drain node gpu-04");
    assert_text(f->scope.gpu_uuid, GPU);
    assert_text(tc_harness_text(f, KEY("device_type")), "gpu");
    assert_text(tc_harness_text(f, KEY("reporter")), "0000:b2:01.0");
    assert_int_equal(tc_harness_int(f, KEY("fatal_count")), 1);
    assert_int_equal(f->evidence_count, 1);
    assert_text(f->evidence[0].uid, "aer:gpu-04:0000:b3:00.0:fatal:2026-01-01T00:00:00Z");
    assert_int_equal(f->evidence[0].raw.offset, 1000);
}

static void a_nonfatal_error_is_critical_where_a_job_loses_by_it(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event other = aer(0, "nonfatal");
    struct tc_event mellanox = aer(0, "nonfatal");
    mellanox.scope.pci.bus = 0x5c;
    mellanox.aer.device_id = TC_LIT("15b3:1021");
    feed(h, other);
    feed(h, mellanox);
    tc_harness_tick(h, AT(1));
    assert_int_equal(tc_harness_count(h), 2);
    for (long i = 0; i < 2; i++) {
        const struct tc_finding *f = tc_harness_finding(h, i);
        tc_harness_conforms(f);
        bool nic = f->scope.pci.bus == 0x5c;
        assert_text(f->discriminator, "nonfatal");
        assert_int_equal(f->severity, nic ? TC_SEVERITY_CRITICAL : TC_SEVERITY_WARNING);
    }
    tc_harness_clear(h);
    feed(h, metric(5, TC_METRIC_GPU_UTIL, 0));
    feed(h, inventory(5));
    struct tc_event audio = aer(10, "nonfatal");
    audio.scope.pci.function = 1; /* another function of the same board */
    feed(h, audio);
    tc_harness_tick(h, AT(11));
    const struct tc_finding *f = tc_harness_finding(h, 0);
    assert_int_equal(f->severity, TC_SEVERITY_CRITICAL);
    assert_int_equal(f->scope.gpu_index, 3);
    assert_says(f->headline, "GPU 3 (0000:b3:00.1)");
}

static void a_network_card_is_named_by_what_names_it(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event fault;
    tc_event_init(&fault, TC_EVENT_NETWORK_FAULT);
    fault.time_ns = AT(-100);
    fault.scope.node = TC_LIT("gpu-04");
    fault.scope.pci = GPU_AT;
    fault.fault.device = TC_LIT("0000:b3:00.0");
    feed(h, fault); /* an address is no name */
    fault.fault.device = TC_LIT("ens1f0");
    feed(h, fault);
    feed(h, fault);
    feed(h, aer(0, "nonfatal"));
    tc_harness_tick(h, AT(1));
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(tc_harness_text(f, KEY("device_type")), "nic");
    assert_text(tc_harness_text(f, KEY("device")), "ens1f0");
    assert_says(f->headline, "NIC ens1f0 (0000:b3:00.0)");
}

static void a_storm_begins_at_its_threshold(void **state)
{
    struct tc_harness *h = *state;
    corrected(h, 0, 6, 49);
    tc_harness_tick(h, AT(295));
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, aer(WINDOW, "corrected")); /* the edge of the window is inside */
    tc_harness_tick(h, AT(WINDOW + 1));
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->discriminator, "corrected_storm");
    assert_int_equal(f->severity, TC_SEVERITY_WARNING);
    assert_int_equal(tc_harness_int(f, KEY("corrected_count")), 50);
    assert_int_equal(f->first_ns, AT(0));
    assert_int_equal(f->last_ns, AT(WINDOW));
    assert_int_equal(f->evidence_count, 2);
}

static void beyond_the_window_is_a_trickle(void **state)
{
    struct tc_harness *h = *state;
    corrected(h, 0, 6, 49);
    struct tc_event over = aer(WINDOW, "corrected");
    over.time_ns += 1;
    feed(h, over);
    for (int64_t at = 400; at < 40000; at += 7) {
        feed(h, aer(at, "corrected"));
    }
    tc_harness_tick(h, AT(50000));
    assert_int_equal(tc_harness_count(h), 0);
}

static void an_event_may_stand_for_many_errors(void **state)
{
    struct tc_harness *h = *state;
    feed(h, counted(aer(0, "corrected"), 49));
    tc_harness_tick(h, AT(1));
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, counted(aer(2, "corrected"), -7)); /* at least one */
    tc_harness_tick(h, AT(3));
    assert_int_equal(tc_harness_count(h), 1);
    for (int i = 0; i < 1000; i++) {
        feed(h, counted(aer(4, "corrected"), INT64_MAX));
    }
    tc_harness_tick(h, AT(4 + WINDOW)); /* a window since it was told */
    assert_int_equal(tc_harness_count(h), 2);
    assert_true(tc_harness_int(tc_harness_finding(h, 1), KEY("corrected_count")) > 50);
}

static void masked_errors_do_not_count(void **state)
{
    struct tc_harness *h = *state;
    for (int i = 0; i < 100; i++) {
        struct tc_event ev = aer(i, i % 2 == 0 ? "corrected" : "fatal");
        ev.aer.status = 0x2000;
        feed(h, ev);
    }
    tc_harness_tick(h, AT(200));
    assert_int_equal(tc_harness_count(h), 0);
    struct tc_event partly = aer(300, "fatal");
    partly.aer.status = 0x2020;
    feed(h, partly);
    tc_harness_tick(h, AT(301));
    assert_int_equal(tc_harness_count(h), 1);
}

static void a_report_told_again_is_one_report(void **state)
{
    struct tc_harness *h = *state;
    for (int i = 0; i < 30; i++) {
        struct tc_event ev = aer(i, "corrected");
        ev.uid = tc_slice_cstr(i % 2 == 0 ? "even" : "odd");
        char uid[16];
        ev.uid = tc_slice_make(uid, (size_t)snprintf(uid, sizeof uid, "aer-%d", i));
        feed(h, ev);
        feed(h, ev);
    }
    for (int i = 30; i < 45; i++) {
        struct tc_event ev = aer(i, "corrected");
        feed(h, ev);
        ev.raw.source = 9; /* a second collector of the same log */
        feed(h, ev);
    }
    for (int i = 45; i < 49; i++) {
        struct tc_event ev = aer(i, "corrected");
        ev.time_ns += 1000; /* no device makes two reports in a microsecond */
        feed(h, ev);
        feed(h, ev);
    }
    tc_harness_tick(h, AT(50));
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, aer(51, "corrected"));
    tc_harness_tick(h, AT(52));
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("corrected_count")), 50);
}

/* A journal that is sent on dates the lines some milliseconds later; another log goes on later. */
static void a_storm_in_two_logs_is_counted_once(void **state)
{
    struct tc_harness *h = *state;
    for (int i = 0; i < 600; i++) {
        struct tc_event ev = aer(i / 10, "corrected");
        ev.time_ns += (i % 10) * (TC_SECOND / 10) + 1;
        feed(h, ev);
        if (i >= 3 && i < 400) {
            ev.raw.source = 9;
            ev.time_ns -= 3 * (TC_SECOND / 10) - 3000000;
            feed(h, ev);
        }
    }
    for (int i = 0; i < 10; i++) {
        struct tc_event ev = aer(65 + i, "corrected");
        ev.raw.source = 10;
        feed(h, ev);
    }
    tc_harness_finish(h, AT(100));
    int64_t count = tc_harness_int(tc_harness_finding(h, -1), KEY("corrected_count"));
    assert_int_equal(count, 610);
}

static void errors_of_one_second_all_count(void **state)
{
    struct tc_harness *h = *state;
    corrected(h, 0, 0, 50);
    tc_harness_tick(h, AT(1));
    assert_int_equal(tc_harness_count(h), 1);
    assert_says(tc_harness_finding(h, 0)->headline, "50 corrected PCIe errors in less than 1 s");
}

static void devices_and_nodes_are_apart(void **state)
{
    struct tc_harness *h = *state;
    for (int i = 0; i < 60; i++) {
        struct tc_event ev = aer(i, "corrected");
        ev.scope.pci.bus = (uint8_t)(i % 2);
        feed(h, ev);
        ev.scope.node = TC_LIT("gpu-05");
        feed(h, ev);
    }
    tc_harness_tick(h, AT(61));
    assert_int_equal(tc_harness_count(h), 0);
}

static void a_storm_that_becomes_fatal_is_one_incident(void **state)
{
    struct tc_harness *h = *state;
    corrected(h, 0, 1, 50);
    feed(h, aer(60, "nonfatal"));
    feed(h, aer(70, "fatal"));
    feed(h, aer(80, "nonfatal")); /* no worse */
    tc_harness_tick(h, AT(90));
    assert_int_equal(tc_harness_count(h), 3);
    assert_text(tc_harness_finding(h, 0)->discriminator, "corrected_storm");
    assert_text(tc_harness_finding(h, 1)->discriminator, "nonfatal");
    assert_text(tc_harness_finding(h, 2)->discriminator, "fatal");
    for (long i = 0; i < 3; i++) {
        tc_harness_conforms(tc_harness_finding(h, i));
        assert_true(tc_slice_eq(tc_harness_finding(h, i)->key, tc_harness_finding(h, 0)->key));
    }
    assert_int_equal(tc_harness_finding(h, 2)->evidence[0].time_ns, AT(0));
    tc_harness_tick(h, AT(10000)); /* silence does not clear what is fatal */
    assert_int_equal(tc_harness_count(h), 3);
}

static void quiet_ends_a_storm_and_the_next_is_another(void **state)
{
    struct tc_harness *h = *state;
    corrected(h, 0, 1, 60);
    tc_harness_tick(h, AT(59 + WINDOW));
    assert_int_equal(tc_harness_count(h), 1);
    struct tc_event any = metric(60 + WINDOW, TC_METRIC_GPU_UTIL, 1);
    feed(h, any);
    assert_int_equal(tc_harness_count(h), 2);
    const struct tc_finding *f = tc_harness_finding(h, 1);
    tc_harness_conforms(f);
    assert_true(f->resolved);
    assert_int_equal(tc_harness_int(f, KEY("corrected_count")), 60);
    assert_says(f->headline, "; none for 5 min");
    corrected(h, 1000, 1, 50);
    tc_harness_tick(h, AT(1100));
    assert_int_equal(tc_harness_count(h), 3);
    assert_false(tc_slice_eq(tc_harness_finding(h, 2)->key, f->key));
    assert_int_equal(tc_harness_finding(h, 2)->first_ns, AT(1000));
}

static void a_fatal_error_a_day_later_is_another_incident(void **state)
{
    struct tc_harness *h = *state;
    feed(h, aer(0, "fatal"));
    feed(h, aer(3600, "fatal")); /* one more of the same: told when a window has passed */
    tc_harness_tick(h, AT(3601));
    assert_int_equal(tc_harness_count(h), 2);
    assert_true(tc_slice_eq(tc_harness_finding(h, 0)->key, tc_harness_finding(h, 1)->key));
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 1), KEY("fatal_count")), 2);
    feed(h, aer(3600 + 86401, "fatal"));
    tc_harness_tick(h, AT(3600 + 86402));
    assert_int_equal(tc_harness_count(h), 3);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 2), KEY("fatal_count")), 1);
    assert_false(tc_slice_eq(tc_harness_finding(h, 0)->key, tc_harness_finding(h, 2)->key));
}

static void a_storm_costs_one_verdict_a_window_at_most(void **state)
{
    struct tc_harness *h = *state;
    for (int i = 0; i < 10000; i++) {
        struct tc_event ev = aer(0, i % 100 == 99 ? "nonfatal" : "corrected");
        ev.time_ns = AT(0) + i * INT64_C(6000000);
        feed(h, ev);
    }
    tc_harness_tick(h, AT(61));
    assert_int_equal(tc_harness_count(h), 2); /* a storm, and then the first that is worse */
    assert_text(tc_harness_finding(h, 1)->discriminator, "nonfatal");
    tc_harness_tick(h, AT(1000));
    assert_int_equal(tc_harness_count(h), 3); /* how many they were */
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 2), KEY("nonfatal_count")), 100);
    assert_int_equal(tc_harness_stats(h).dropped, 0);
}

static void late_errors_find_their_place(void **state)
{
    struct tc_harness *h = *state;
    corrected(h, 100, 1, 25);
    corrected(h, 50, 1, 25);
    tc_harness_tick(h, AT(126));
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_finding(h, 0)->first_ns, AT(50));
    assert_int_equal(tc_harness_stats(h).late, 0);
    feed(h, aer(-4000, "corrected")); /* a newer error has its place */
    assert_int_equal(tc_harness_stats(h).late, 1);
    feed(h, metric(200, TC_METRIC_GPU_UTIL, 5));
    feed(h, metric(190, TC_METRIC_GPU_UTIL, 95));
    assert_int_equal(tc_harness_stats(h).late, 2);
}

static void what_lacks_the_essentials_is_ignored(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = aer(0, "fatal");
    ev.scope.pci.known = false;
    ev.aer.reporter.known = false;
    feed(h, ev);
    feed(h, aer(0, "dreadful"));
    feed(h, aer(0, ""));
    ev = aer(0, "fatal");
    ev.time_ns = TC_TIME_NONE;
    feed(h, ev);
    static char huge[300];
    ev = aer(0, "fatal");
    ev.scope.node = tc_slice_make(huge, sizeof huge);
    feed(h, ev);
    ev = metric(0, TC_METRIC_GPU_PCIE_GEN, 1);
    ev.scope.gpu_uuid = TC_EMPTY;
    ev.scope.gpu_index = -1;
    feed(h, ev);
    ev = line(0, GPU_AT, 8, 16);
    ev.scope.pci.known = false;
    feed(h, ev);
    tc_harness_tick(h, AT(10));
    assert_int_equal(tc_harness_count(h), 0);
    assert_int_equal(tc_harness_stats(h).ignored, 7);
}

static void the_port_stands_in_for_an_unknown_device_and_no_node_is_no_bar(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = aer(0, "fatal");
    ev.scope.pci.known = false;
    ev.scope.node = TC_EMPTY;
    ev.aer.errors = TC_EMPTY;
    ev.aer.layer = TC_LIT("onion");
    ev.uid = TC_LIT("told-by-producer");
    feed(h, ev);
    tc_harness_tick(h, AT(1));
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->headline, "PCIe device 0000:b2:01.0 on node (unknown) reported a fatal PCIe "
                             "error");
    assert_text(f->evidence[0].uid, "told-by-producer");
    assert_false(tc_harness_has(f, KEY("layer")));
    assert_false(tc_harness_has(f, KEY("reporter")));
}

/* ---- links ----------------------------------------------------------------------------------- */

static void a_slow_link_of_a_busy_gpu_is_a_collapse(void **state)
{
    struct tc_harness *h = *state;
    feed(h, inventory(-1));
    scrape(h, 0, 1, 16, 97);
    scrape(h, 15, 1, 16, 97);
    scrape(h, 29, 1, 16, 97); /* 29 s */
    tc_harness_tick(h, AT(30));
    assert_int_equal(tc_harness_count(h), 0);
    scrape(h, 30, 1, 16, 97);
    tc_harness_tick(h, AT(31));
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->discriminator, "rate_collapse");
    assert_text(f->key, "gpu-04|GPU-0a|rate|2026-01-01T00:00:00Z");
    assert_int_equal(f->severity, TC_SEVERITY_WARNING);
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_text(f->headline, "GPU 3 (0000:b3:00.0) on node gpu-04 runs at PCIe Gen 1 x16 instead "
                             "of Gen 5 x16 while busy (97 %), for 30 s");
    assert_int_equal(tc_harness_int(f, KEY("gen")), 1);
    assert_int_equal(tc_harness_int(f, KEY("gen_max")), 5);
    assert_int_equal(tc_harness_int(f, KEY("utilization")), 97);
    scrapes(h, 60, 900, 1, 16, 97);
    assert_int_equal(tc_harness_count(h), 1); /* told once */
}

static void two_samples_are_not_enough(void **state)
{
    struct tc_harness *h = *state;
    scrape(h, 0, 1, 16, 97);
    scrape(h, 90, 1, 16, 97);
    tc_harness_tick(h, AT(91));
    assert_int_equal(tc_harness_count(h), 0);
    scrape(h, 93, 1, 16, 97);
    tc_harness_tick(h, AT(94));
    assert_int_equal(tc_harness_count(h), 1);
}

static void samples_far_apart_are_no_run(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t at = 0; at < 1000; at += 121) {
        scrape(h, at, 1, 16, 97);
    }
    tc_harness_tick(h, AT(2000));
    assert_int_equal(tc_harness_count(h), 0);
}

static void an_idle_link_may_be_slow(void **state)
{
    struct tc_harness *h = *state;
    scrapes(h, 0, 600, 1, 16, 9.9);
    scrapes(h, 630, 660, 1, 16, 10); /* two samples of work, then rest */
    scrapes(h, 690, 690, 1, 16, 0);
    scrapes(h, 720, 750, 1, 16, 99);
    scrapes(h, 780, 1200, 5, 16, 99);
    tc_harness_tick(h, AT(1300));
    assert_int_equal(tc_harness_count(h), 0);
}

static void missing_lanes_of_an_idle_gpu_are_not_told(void **state)
{
    struct tc_harness *h = *state;
    scrapes(h, 0, 300, 5, 8, 0);
    tc_harness_tick(h, AT(400));
    assert_int_equal(tc_harness_count(h), 0);
}

static void missing_lanes_without_utilisation_are_partial(void **state)
{
    struct tc_harness *h = *state;
    scrapes(h, 0, 60, 5, 8, -1);
    tc_harness_tick(h, AT(61));
    assert_int_equal(tc_harness_count(h), 1);
    tc_harness_conforms(tc_harness_finding(h, 0));
    assert_int_equal(tc_harness_finding(h, 0)->confidence, TC_CONFIDENCE_PARTIAL);
    scrapes(h, 90, 90, 5, 8, 50); /* now it is known to be busy */
    tc_harness_tick(h, AT(91));
    assert_int_equal(tc_harness_count(h), 2);
    assert_int_equal(tc_harness_finding(h, 1)->confidence, TC_CONFIDENCE_FULL);
    assert_true(tc_slice_eq(tc_harness_finding(h, 0)->key, tc_harness_finding(h, 1)->key));
    scrapes(h, 120, 120, 5, 4, 50); /* worse */
    tc_harness_tick(h, AT(121));
    assert_int_equal(tc_harness_count(h), 3);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 2), KEY("width")), 4);
}

static void a_slow_speed_without_utilisation_says_nothing(void **state)
{
    struct tc_harness *h = *state;
    scrapes(h, 0, 600, 1, 16, -1);
    tc_harness_tick(h, AT(700));
    assert_int_equal(tc_harness_count(h), 0);
}

static void a_rate_without_its_maximum_says_nothing(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t at = 0; at < 600; at += 30) {
        feed(h, metric(at, TC_METRIC_GPU_PCIE_GEN, 1));
        feed(h, metric(at, TC_METRIC_GPU_PCIE_WIDTH, 1));
        feed(h, metric(at, TC_METRIC_GPU_PCIE_WIDTH_MAX, 0)); /* cannot be read */
        feed(h, metric(at, TC_METRIC_GPU_PCIE_GEN_MAX, 1e300));
        feed(h, metric(at, TC_METRIC_GPU_UTIL, 100));
        feed(h, metric(at, TC_METRIC_GPU_UTIL, -1));
        feed(h, metric(at, TC_METRIC_GPU_TEMP, 60));
    }
    tc_harness_tick(h, AT(700));
    assert_int_equal(tc_harness_count(h), 0);
}

static void the_link_that_is_back_while_busy_resolves(void **state)
{
    struct tc_harness *h = *state;
    scrapes(h, 0, 60, 1, 16, 97);
    scrapes(h, 90, 120, 5, 16, 0); /* at its maximum, but idle: that proves little */
    tc_harness_tick(h, AT(121));
    assert_int_equal(tc_harness_count(h), 1);
    scrapes(h, 150, 150, 5, 16, 60);
    tc_harness_tick(h, AT(151));
    assert_int_equal(tc_harness_count(h), 2);
    const struct tc_finding *f = tc_harness_finding(h, 1);
    tc_harness_conforms(f);
    assert_true(f->resolved);
    assert_says(f->headline, "is back at PCIe Gen 5 x16");
    scrapes(h, 180, 240, 1, 16, 97); /* soon after: the same incident */
    tc_harness_tick(h, AT(241));
    assert_int_equal(tc_harness_count(h), 3);
    assert_true(tc_slice_eq(tc_harness_finding(h, 2)->key, f->key));
    scrapes(h, 270, 270, 5, 16, 97);
    scrapes(h, 3000, 3060, 1, 16, 97); /* long after: another */
    tc_harness_tick(h, AT(3061));
    assert_int_equal(tc_harness_count(h), 5);
    assert_false(tc_slice_eq(tc_harness_finding(h, 4)->key, f->key));
}

static void the_kernels_line_counts_for_lanes_at_the_device_only(void **state)
{
    (void)state;
    static const struct {
        struct tc_bdf at;
        int64_t width;
        size_t verdicts;
    } rows[] = {
        {{0, 0xb3, 0, 0, true}, 8, 1},
        {{0, 0xb2, 1, 0, true}, 8, 0},  /* a slot by design */
        {{0, 0xb3, 0, 0, true}, 16, 0}, /* only the speed, before training */
        {{0, 0xb3, 0, 0, true}, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_pcie_aer, NULL);
        feed(h, line(-600, rows[i].at, rows[i].width, 16));
        feed(h, inventory(-500));
        tc_harness_tick(h, AT(-400));
        assert_int_equal(tc_harness_count(h), 0); /* never alone */
        scrapes(h, 0, 60, -1, -1, 80);
        tc_harness_tick(h, AT(61));
        assert_int_equal(tc_harness_count(h), rows[i].verdicts);
        if (rows[i].verdicts > 0) {
            tc_harness_conforms(tc_harness_finding(h, 0));
            assert_int_equal(tc_harness_finding(h, 0)->confidence, TC_CONFIDENCE_PARTIAL);
            assert_int_equal(tc_harness_int(tc_harness_finding(h, 0), KEY("width")), 8);
        }
        tc_harness_destroy(h);
    }
}

static void samples_of_the_link_overrule_the_kernels_line(void **state)
{
    struct tc_harness *h = *state;
    feed(h, line(-600, GPU_AT, 8, 16));
    feed(h, inventory(-500));
    scrapes(h, 0, 300, 5, 16, 90);
    tc_harness_tick(h, AT(400));
    assert_int_equal(tc_harness_count(h), 0);
}

static void replays_are_told_with_a_slow_link_and_never_alone(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t at = 0; at <= 600; at += 30) {
        feed(h, metric(at, TC_METRIC_GPU_PCIE_REPLAYS, (double)at * 100));
    }
    tc_harness_tick(h, AT(700));
    assert_int_equal(tc_harness_count(h), 0);
    for (int64_t at = 900; at <= 960; at += 30) {
        scrape(h, at, 1, 16, 97);
        /* It starts again with the driver: the first sample after that is no rise. */
        feed(h, metric(at, TC_METRIC_GPU_PCIE_REPLAYS, (double)(at - 900)));
    }
    tc_harness_tick(h, AT(961));
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_int_equal(tc_harness_int(f, KEY("replays")), 60);
    assert_text(f->evidence[f->evidence_count - 1].kind, "replays");
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void the_rank_on_the_gpu_is_named(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event place;
    tc_event_init(&place, TC_EVENT_RANK_PLACE);
    place.scope.node = TC_LIT("gpu-04");
    place.scope.gpu_uuid = TC_LIT(GPU);
    place.scope.gpu_index = 3;
    place.scope.rank = 11;
    place.scope.job = TC_LIT("llm-7");
    feed(h, place); /* without a date */
    feed(h, inventory(-1));
    feed(h, aer(0, "fatal"));
    tc_harness_tick(h, AT(60));
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_int_equal(f->scope.rank, 11);
    assert_int_equal(f->scope.gpu_index, 3);
    assert_text(f->scope.job, "llm-7");
    assert_text(f->scope.gpu_uuid, GPU);
}

static void the_order_within_an_instant_makes_no_difference(void **state)
{
    (void)state;
    struct tc_slice first = TC_EMPTY;
    struct tc_harness *kept = NULL;
    for (unsigned round = 0; round < 24; round++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_pcie_aer, NULL);
        feed(h, inventory(-1));
        for (int64_t at = 0; at <= 90; at += 30) {
            struct tc_event evs[] = {
                metric(at, TC_METRIC_GPU_PCIE_GEN, 1),
                metric(at, TC_METRIC_GPU_PCIE_GEN_MAX, 5),
                metric(at, TC_METRIC_GPU_UTIL, 50),
                metric(at, TC_METRIC_GPU_UTIL, 70),
                metric(at, TC_METRIC_GPU_PCIE_REPLAYS, (double)at),
                counted(aer(at, "corrected"), 50),
                aer(at, at < 60 ? "corrected" : "fatal"),
            };
            unsigned seed = round * 7919 + 1;
            for (size_t n = sizeof evs / sizeof evs[0]; n > 0; n--) {
                seed = seed * 1103515245 + 12345;
                size_t pick = seed / 65536 % n;
                feed(h, evs[pick]);
                evs[pick] = evs[n - 1];
            }
        }
        tc_harness_tick(h, AT(1000));
        struct tc_slice dump = tc_harness_dump(h);
        if (kept == NULL) {
            kept = h;
            first = dump;
            assert_int_equal(tc_harness_count(h), 4);
            continue;
        }
        assert_int_equal(dump.len, first.len);
        assert_memory_equal(dump.ptr, first.ptr, first.len);
        tc_harness_destroy(h);
    }
    tc_harness_destroy(kept);
}

/* Three scrapes at the usual 15 s are enough; a link that is still waking up is not. */
static void a_link_that_wakes_up_is_not_a_collapse(void **state)
{
    struct tc_harness *h = *state;
    scrapes(h, -300, -30, 1, 16, 0);
    for (int64_t at = 0; at <= 25; at += 5) {
        scrape(h, at, 1, 16, 97);
    }
    scrape(h, 29, 1, 16, 97);
    scrape(h, 30, 5, 16, 97);
    tc_harness_tick(h, AT(31));
    assert_int_equal(tc_harness_count(h), 0);
    for (int64_t at = 300; at <= 330; at += 15) {
        scrape(h, at, 1, 16, 97);
    }
    tc_harness_tick(h, AT(331));
    assert_int_equal(tc_harness_count(h), 1);
}

static size_t storm_with(const char *knob, int64_t value, int64_t step, int count)
{
    struct tc_harness_options options = {.param = knob, .value = value};
    struct tc_harness *h = tc_harness_create(&tc_detector_pcie_aer, &options);
    corrected(h, 0, step, count);
    tc_harness_tick(h, AT(step * count + 1));
    size_t verdicts = tc_harness_count(h);
    tc_harness_destroy(h);
    return verdicts;
}

static size_t collapse_with(const char *knob, int64_t value, int64_t until, double util)
{
    struct tc_harness_options options = {.param = knob, .value = value};
    struct tc_harness *h = tc_harness_create(&tc_detector_pcie_aer, &options);
    scrapes(h, 0, until, 1, 16, util);
    tc_harness_tick(h, AT(until + 1));
    size_t verdicts = tc_harness_count(h);
    tc_harness_destroy(h);
    return verdicts;
}

static void every_knob_turns_something(void **state)
{
    (void)state;
    assert_int_equal(storm_with("corrected", 5, 1, 4), 0);
    assert_int_equal(storm_with("corrected", 5, 1, 5), 1);
    assert_int_equal(storm_with("window", 40 * TC_SECOND, 1, 50), 0);
    assert_int_equal(storm_with("window", 49 * TC_SECOND, 1, 50), 1);
    assert_int_equal(storm_with("window", TC_SECOND, 0, 50), 1);
    assert_int_equal(collapse_with("busy", 80, 60, 79), 0);
    assert_int_equal(collapse_with("busy", 80, 60, 80), 1);
    assert_int_equal(collapse_with("busy_for", 120 * TC_SECOND, 90, 80), 0);
    assert_int_equal(collapse_with("busy_for", 120 * TC_SECOND, 120, 80), 1);
    assert_int_equal(collapse_with("samples", 5, 90, 80), 0);
    assert_int_equal(collapse_with("samples", 5, 120, 80), 1);
    assert_int_equal(collapse_with("replays", 1000, 60, 80), 1);
}

static void a_full_window_drops_the_oldest_and_counts(void **state)
{
    struct tc_harness *h = *state;
    char node[32];
    for (int i = 0; i < 9000; i++) {
        struct tc_event ev = aer(i, "corrected");
        ev.scope.node = tc_slice_make(node, (size_t)snprintf(node, sizeof node, "node-%d", i));
        feed(h, ev);
        ev = metric(i, TC_METRIC_GPU_PCIE_GEN, 1);
        ev.scope.node = tc_slice_cstr(node);
        ev.scope.gpu_uuid = ev.scope.node;
        feed(h, ev);
    }
    assert_true(tc_harness_stats(h).dropped > 0);
    feed(h, aer(9001, "fatal"));
    tc_harness_tick(h, AT(9002));
    assert_int_equal(tc_harness_count(h), 1);
}

static void failures_of_others_are_passed_on(void **state)
{
    (void)state;
    struct tc_harness_options sink = {.sink_status = TC_E_IO};
    struct tc_harness *h = tc_harness_create(&tc_detector_pcie_aer, &sink);
    struct tc_event ev = aer(0, "fatal");
    assert_int_equal(tc_harness_try_feed(h, &ev), TC_OK);
    ev = aer(1, "corrected");
    assert_int_equal(tc_harness_try_feed(h, &ev), TC_E_IO);
    tc_harness_destroy(h);

    struct tc_harness_options small = {.scratch_bytes = 6000};
    h = tc_harness_create(&tc_detector_pcie_aer, &small);
    ev = aer(0, "fatal");
    assert_int_equal(tc_harness_try_feed(h, &ev), TC_OK);
    ev = aer(1, "corrected");
    assert_int_equal(tc_harness_try_feed(h, &ev), TC_E_NOMEM);
    tc_harness_destroy(h);

    struct tc_harness_options tiny = {.arena_bytes = 1 << 20};
    h = tc_harness_create(&tc_detector_pcie_aer, &tiny);
    assert_int_equal(tc_harness_init_status(h), TC_E_NOMEM);
    tc_harness_destroy(h);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_fatal_error_is_critical_at_once),
        TEST(a_nonfatal_error_is_critical_where_a_job_loses_by_it),
        TEST(a_network_card_is_named_by_what_names_it),
        TEST(a_storm_begins_at_its_threshold),
        TEST(beyond_the_window_is_a_trickle),
        TEST(an_event_may_stand_for_many_errors),
        TEST(masked_errors_do_not_count),
        TEST(a_report_told_again_is_one_report),
        TEST(a_storm_in_two_logs_is_counted_once),
        TEST(errors_of_one_second_all_count),
        TEST(devices_and_nodes_are_apart),
        TEST(a_storm_that_becomes_fatal_is_one_incident),
        TEST(quiet_ends_a_storm_and_the_next_is_another),
        TEST(a_fatal_error_a_day_later_is_another_incident),
        TEST(a_storm_costs_one_verdict_a_window_at_most),
        TEST(late_errors_find_their_place),
        TEST(what_lacks_the_essentials_is_ignored),
        TEST(the_port_stands_in_for_an_unknown_device_and_no_node_is_no_bar),
        TEST(a_slow_link_of_a_busy_gpu_is_a_collapse),
        TEST(a_link_that_wakes_up_is_not_a_collapse),
        TEST(two_samples_are_not_enough),
        TEST(samples_far_apart_are_no_run),
        TEST(an_idle_link_may_be_slow),
        TEST(missing_lanes_of_an_idle_gpu_are_not_told),
        TEST(missing_lanes_without_utilisation_are_partial),
        TEST(a_slow_speed_without_utilisation_says_nothing),
        TEST(a_rate_without_its_maximum_says_nothing),
        TEST(the_link_that_is_back_while_busy_resolves),
        TEST(the_kernels_line_counts_for_lanes_at_the_device_only),
        TEST(samples_of_the_link_overrule_the_kernels_line),
        TEST(replays_are_told_with_a_slow_link_and_never_alone),
        TEST(the_rank_on_the_gpu_is_named),
        TEST(the_order_within_an_instant_makes_no_difference),
        TEST(every_knob_turns_something),
        TEST(a_full_window_drops_the_oldest_and_counts),
        TEST(failures_of_others_are_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
