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

#define KEY(name) "tracecore.alert.nvlink_degraded." name
#define AT(seconds) ((INT64_C(1767225600) + (seconds)) * TC_SECOND) /* 2026-01-01T00:00:00Z */
#define JOIN 10
#define WINDOW 300
#define GPU "GPU-0a"
#define DOWN 2
#define UP 3

static int set_up(void **state)
{
    *state = tc_harness_create(&tc_detector_nvlink_degraded, NULL);
    assert_int_equal(tc_harness_init_status(*state), TC_OK);
    return 0;
}

static int tear_down(void **state)
{
    tc_harness_destroy(*state);
    return 0;
}

static struct tc_event sxid(int64_t seconds, int64_t code, const char *severity, int64_t link)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_SXID);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-04");
    ev.scope.pci = (struct tc_bdf){0, 5, 0, 0, true};
    ev.xid.code = code;
    ev.xid.severity = tc_slice_cstr(severity);
    ev.xid.link = link;
    ev.raw = (struct tc_raw){.source = 1, .offset = (uint64_t)(seconds + 1000), .length = 80};
    return ev;
}

static struct tc_event xid(int64_t seconds, int64_t code, const char *severity, int64_t link)
{
    struct tc_event ev = sxid(seconds, code, severity, link);
    ev.kind = TC_EVENT_XID;
    ev.scope.pci.bus = 0xb3;
    return ev;
}

static struct tc_event on_bus(struct tc_event ev, unsigned bus)
{
    ev.scope.pci.bus = (uint8_t)bus;
    ev.raw.offset += bus;
    return ev;
}

static struct tc_event metric(int64_t seconds, enum tc_metric which, const char *link, double value)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-04");
    ev.scope.gpu_uuid = TC_LIT(GPU);
    ev.scope.gpu_index = 3;
    ev.metric.metric = (uint16_t)which;
    ev.metric.device = tc_slice_cstr(link);
    ev.metric.value = value;
    ev.raw = (struct tc_raw){.source = 2,
                             .offset = (uint64_t)(seconds + 1000) * 64 + ev.metric.device.len * 8 +
                                       (uint64_t)which % 8,
                             .length = 90};
    return ev;
}

static struct tc_event inventory(int64_t seconds)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_GPU_INVENTORY);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-04");
    ev.scope.pci = (struct tc_bdf){0, 0xb3, 0, 0, true};
    ev.scope.gpu_uuid = TC_LIT(GPU);
    return ev;
}

static void feed(struct tc_harness *h, struct tc_event ev)
{
    tc_harness_feed(h, &ev);
}

static void link_state(struct tc_harness *h, int64_t seconds, const char *link, double value)
{
    feed(h, metric(seconds, TC_METRIC_NVLINK_STATE, link, value));
}

/* ---- switches -------------------------------------------------------------------------------- */

static void a_fatal_sxid_is_told_when_nothing_can_join_any_more(void **state)
{
    struct tc_harness *h = *state;
    feed(h, sxid(0, 20034, "fatal", 30));
    feed(h, sxid(2, 20034, "fatal", 28));
    tc_harness_tick(h, AT(JOIN));
    assert_int_equal(tc_harness_count(h), 0);
    tc_harness_tick(h, AT(JOIN) + 1);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->pattern_id, "9");
    assert_text(f->key, "gpu-04|0000:05:00.0|2026-01-01T00:00:00Z");
    assert_text(f->discriminator, "fatal_sxid");
    assert_int_equal(f->severity, TC_SEVERITY_CRITICAL);
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_text(f->headline, "NVSwitch 0000:05:00.0 on node gpu-04: fatal SXid 20034 (LTSSM fault "
                             "up, the link went down) on links 28, 30");
    assert_says(f->remediation, "restart the fabric manager");
    assert_int_equal(tc_harness_int(f, KEY("sxid")), 20034);
    assert_int_equal(f->evidence_count, 2);
    assert_text(f->evidence[0].uid, "sxid:gpu-04:0000:05:00.0:2026-01-01T00:00:00Z");
    feed(h, sxid(60, 20034, "fatal", 30)); /* nothing new */
    tc_harness_tick(h, AT(100));
    assert_int_equal(tc_harness_count(h), 1);
    feed(h, sxid(120, 20034, "fatal", 31)); /* another link */
    tc_harness_tick(h, AT(200));
    assert_int_equal(tc_harness_count(h), 2);
    assert_true(tc_slice_eq(tc_harness_finding(h, 1)->key, f->key));
    feed(h, sxid(100000, 20034, "fatal", 30)); /* a day later */
    tc_harness_tick(h, AT(100100));
    assert_int_equal(tc_harness_count(h), 3);
    assert_false(tc_slice_eq(tc_harness_finding(h, 2)->key, f->key));
}

static void the_line_decides_what_is_fatal_then_the_number(void **state)
{
    (void)state;
    static const struct {
        int64_t code;
        const char *severity;
        int verdicts;
        enum tc_confidence confidence;
    } rows[] = {
        {20034, "fatal", 1, TC_CONFIDENCE_FULL},    {20034, "nonfatal", 0, TC_CONFIDENCE_FULL},
        {20034, "", 1, TC_CONFIDENCE_PARTIAL},      {22003, "", 1, TC_CONFIDENCE_PARTIAL},
        {12028, "", 0, TC_CONFIDENCE_FULL},         {12028, "nonfatal", 0, TC_CONFIDENCE_FULL},
        {20012, "nonfatal", 0, TC_CONFIDENCE_FULL}, {22012, "", 0, TC_CONFIDENCE_FULL},
        {22012, "fatal", 1, TC_CONFIDENCE_FULL},    {99999, "fatal", 1, TC_CONFIDENCE_FULL},
        {99999, "", 0, TC_CONFIDENCE_FULL},         {INT64_MAX, "fatal", 1, TC_CONFIDENCE_FULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_nvlink_degraded, NULL);
        for (int k = 0; k < 50; k++) {
            feed(h, sxid(k, rows[i].code, rows[i].severity, -1));
        }
        tc_harness_tick(h, AT(100));
        assert_int_equal(tc_harness_count(h), rows[i].verdicts);
        if (rows[i].verdicts > 0) {
            tc_harness_conforms(tc_harness_finding(h, 0));
            assert_int_equal(tc_harness_finding(h, 0)->confidence, rows[i].confidence);
        }
        tc_harness_destroy(h);
    }
}

static void other_lines_of_an_error_do_not_make_it_fatal(void **state)
{
    struct tc_harness *h = *state;
    feed(h, sxid(0, 20034, "nonfatal", 3));
    feed(h, sxid(0, 20034, "", -1));
    feed(h, sxid(1, 12028, "nonfatal", 3));
    feed(h, sxid(100, 20034, "", -1)); /* before the line that says so */
    feed(h, sxid(101, 20034, "nonfatal", 3));
    tc_harness_tick(h, AT(200));
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, sxid(300, 20034, "", -1));
    feed(h, sxid(301, 20034, "fatal", 3)); /* and this one says fatal */
    tc_harness_tick(h, AT(400));
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_finding(h, 0)->confidence, TC_CONFIDENCE_FULL);
}

static void gpus_join_the_switch_before_and_after(void **state)
{
    struct tc_harness *h = *state;
    for (unsigned i = 0; i < 4; i++) {
        feed(h, on_bus(xid(i, 74, "", 2), 0x10 + i));
    }
    feed(h, sxid(5, 22003, "fatal", -1));
    feed(h, on_bus(sxid(6, 22003, "fatal", -1), 6)); /* a second switch, later */
    for (unsigned i = 4; i < 8; i++) {
        feed(h, on_bus(xid(7 + i, 74, "", 2), 0x10 + i));
        feed(h, on_bus(xid(7 + i, 74, "", 3), 0x10 + i));
    }
    tc_harness_tick(h, AT(60));
    tc_harness_tick(h, AT(61));
    const struct tc_finding *last = NULL;
    for (size_t i = 0; i < tc_harness_count(h); i++) {
        const struct tc_finding *f = tc_harness_finding(h, (long)i);
        tc_harness_conforms(f);
        assert_text(f->discriminator, "fatal_sxid");
        last = f->scope.pci.bus == 5 ? f : last;
        assert_true(f->scope.pci.bus == 5 || !tc_harness_has(f, KEY("gpu_count")));
    }
    assert_non_null(last);
    assert_int_equal(tc_harness_int(last, KEY("gpu_count")), 8); /* all to the first */
    assert_says(last->headline, "; 8 GPUs lost links with it");
    assert_says(last->remediation, "the whole fabric is lost");
}

static void gpus_of_other_nodes_and_times_stand_alone(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event elsewhere = xid(0, 74, "", 2);
    elsewhere.scope.node = TC_LIT("gpu-05");
    feed(h, sxid(0, 20034, "fatal", 1));
    feed(h, elsewhere);
    feed(h, xid(JOIN + 1, 74, "", 2));
    tc_harness_tick(h, AT(60));
    assert_int_equal(tc_harness_count(h), 3);
    struct tc_event edge = on_bus(xid(100, 74, "", 2), 0x20);
    feed(h, edge);
    feed(h, on_bus(sxid(100 + JOIN, 20034, "fatal", 1), 9)); /* the edge is inside */
    tc_harness_tick(h, AT(200));
    assert_int_equal(tc_harness_count(h), 4);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, 3), KEY("gpu_count")), 1);
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

static void xids_of_nvlink_are_told(void **state)
{
    (void)state;
    static const struct {
        int64_t code;
        const char *severity;
        size_t verdicts;
    } rows[] = {
        {74, "", 1},      {144, "fatal", 1}, {150, "fatal", 1}, {149, "nonfatal", 0},
        {145, "", 0},     {151, "fatal", 0}, {143, "fatal", 0}, {79, "", 0},
        {73, "fatal", 0}, {-1, "fatal", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_nvlink_degraded, NULL);
        feed(h, inventory(-1));
        struct tc_event ev = xid(0, rows[i].code, rows[i].severity, 8);
        ev.xid.unit = TC_LIT("NETIR_LINK_EVT_WITH_A_LONG_NAME");
        feed(h, ev);
        tc_harness_tick(h, AT(60));
        assert_int_equal(tc_harness_count(h), rows[i].verdicts);
        if (rows[i].verdicts > 0) {
            const struct tc_finding *f = tc_harness_finding(h, 0);
            tc_harness_conforms(f);
            assert_text(f->discriminator, "nvlink_xid");
            assert_text(f->scope.gpu_uuid, GPU);
            assert_int_equal(tc_harness_int(f, KEY("xid")), rows[i].code);
            assert_text(tc_harness_text(f, KEY("unit")), "NETIR_LINK_EVT_WITH_A_LO");
        }
        tc_harness_destroy(h);
    }
}

static void a_gpu_without_a_node_is_known_by_its_address(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = xid(0, 74, "", 200); /* no such link: not listed */
    ev.scope.node = TC_EMPTY;
    feed(h, ev);
    tc_harness_tick(h, AT(60));
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->headline, "GPU 0000:b3:00.0 on node (unknown): Xid 74 (NVLink error)");
    assert_false(tc_harness_has(f, KEY("links")));
}

static void a_link_that_was_up_and_is_down_is_told(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t at = 0; at <= 60; at += 30) {
        link_state(h, at, "L1", at < 60 ? UP : DOWN);
        link_state(h, at, "3", at < 60 ? UP : 1);
        link_state(h, at, "4", UP);
        link_state(h, at, "5", DOWN); /* never up */
        link_state(h, at, "6", 1);
        link_state(h, at, "7", at < 60 ? UP : 0); /* not there: says nothing */
        link_state(h, at, "99", at < 60 ? UP : DOWN);
        link_state(h, at, "", at < 60 ? UP : DOWN);
    }
    tc_harness_tick(h, AT(60 + JOIN) + 1);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->discriminator, "link_down");
    assert_text(f->headline, "GPU 3 on node gpu-04: NVLinks 1, 3 went down");
    assert_int_equal(f->severity, TC_SEVERITY_CRITICAL);
    assert_text(f->key, "gpu-04|GPU-0a|2026-01-01T00:01:00Z");
    assert_int_equal(f->evidence[0].time_ns, AT(30));
    assert_text(f->evidence[0].kind, "link_state");
    link_state(h, 90, "1", DOWN);
    tc_harness_tick(h, AT(200));
    assert_int_equal(tc_harness_count(h), 1);
    link_state(h, 210, "1", UP);
    tc_harness_tick(h, AT(211));
    assert_int_equal(tc_harness_count(h), 1); /* the other is still down */
    link_state(h, 240, "3", UP);
    tc_harness_tick(h, AT(241));
    assert_int_equal(tc_harness_count(h), 2);
    f = tc_harness_finding(h, 1);
    tc_harness_conforms(f);
    assert_true(f->resolved);
    assert_says(f->headline, "went down, up again");
    link_state(h, 300, "1", DOWN); /* soon after: the same incident */
    tc_harness_tick(h, AT(400));
    assert_int_equal(tc_harness_count(h), 3);
    assert_true(tc_slice_eq(tc_harness_finding(h, 2)->key, f->key));
}

static struct tc_event switch_link(int64_t seconds, const char *device, double value)
{
    struct tc_event ev = metric(seconds, TC_METRIC_NVLINK_STATE, device, value);
    ev.scope.gpu_uuid = TC_EMPTY;
    ev.scope.gpu_index = -1;
    return ev;
}

static void a_link_of_a_switch_that_was_up_and_is_down_is_told(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t at = 0; at <= 60; at += 30) {
        feed(h, switch_link(at, "nvswitch1/7", at < 60 ? UP : DOWN));
        feed(h, switch_link(at, "nvswitch1/71", at < 60 ? UP : 1));
        feed(h, switch_link(at, "nvswitch1/8", DOWN)); /* never up */
        feed(h, switch_link(at, "nvswitch2/7", UP));
        feed(h, switch_link(at, "7", at < 60 ? UP : DOWN)); /* of which switch? */
        feed(h, switch_link(at, "/7", at < 60 ? UP : DOWN));
        struct tc_event nowhere = switch_link(at, "nvswitch1/9", at < 60 ? UP : DOWN);
        nowhere.scope.node = TC_EMPTY;
        feed(h, nowhere);
    }
    assert_int_equal(tc_harness_stats(h).ignored, 9);
    tc_harness_tick(h, AT(60 + JOIN) + 1);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->discriminator, "link_down");
    assert_text(f->headline, "NVSwitch nvswitch1 on node gpu-04: NVLinks 7, 71 went down");
    assert_text(f->key, "gpu-04|nvswitch1|2026-01-01T00:01:00Z");
    assert_says(f->remediation, "GPUs behind the links of NVSwitch nvswitch1");
    feed(h, switch_link(90, "nvswitch1/7", DOWN));
    feed(h, switch_link(90, "nvswitch1/71", UP));
    tc_harness_tick(h, AT(110));
    assert_int_equal(tc_harness_count(h), 1);
    feed(h, switch_link(120, "nvswitch1/7", UP));
    tc_harness_tick(h, AT(121));
    assert_int_equal(tc_harness_count(h), 2);
    tc_harness_conforms(tc_harness_finding(h, 1));
    assert_true(tc_harness_finding(h, 1)->resolved);
}

/* The SXid names the switch by its address, samples name it by its number: one incident. */
static void samples_of_a_switch_add_nothing_to_its_fatal_sxid(void **state)
{
    struct tc_harness *h = *state;
    feed(h, switch_link(0, "nvswitch1/30", UP));
    feed(h, sxid(12, 20034, "fatal", 30));
    feed(h, switch_link(15, "nvswitch1/30", DOWN));
    feed(h, switch_link(30, "nvswitch1/30", DOWN));
    tc_harness_tick(h, AT(200));
    assert_int_equal(tc_harness_count(h), 1);
    assert_text(tc_harness_finding(h, 0)->discriminator, "fatal_sxid");
    assert_false(tc_harness_has(tc_harness_finding(h, 0), KEY("gpu_count")));
}

static void a_link_that_is_back_in_no_time_is_not_told(void **state)
{
    struct tc_harness *h = *state;
    link_state(h, 0, "1", UP);
    link_state(h, 1, "1", DOWN);
    link_state(h, 5, "1", UP);
    tc_harness_tick(h, AT(60));
    assert_int_equal(tc_harness_count(h), 0);
    link_state(h, 61, "1", DOWN);
    link_state(h, 61, "1", UP);   /* two exporters that disagree */
    link_state(h, 55, "1", DOWN); /* late */
    tc_harness_tick(h, AT(200));
    assert_int_equal(tc_harness_count(h), 0);
    assert_int_equal(tc_harness_stats(h).late, 1);
}

static void links_that_went_down_with_a_switch_join_it(void **state)
{
    struct tc_harness *h = *state;
    link_state(h, 0, "1", UP);
    feed(h, sxid(12, 20034, "fatal", 30));
    link_state(h, 60, "1", DOWN); /* a scrape later: somewhere in between */
    link_state(h, 120, "1", DOWN);
    tc_harness_tick(h, AT(200));
    tc_harness_tick(h, AT(201));
    assert_int_equal(tc_harness_count(h), 2);
    const struct tc_finding *f = tc_harness_finding(h, 1);
    tc_harness_conforms(f);
    assert_text(f->discriminator, "fatal_sxid");
    assert_int_equal(tc_harness_int(f, KEY("gpu_count")), 1);
}

static void an_xid_and_a_link_that_is_down_are_one_incident(void **state)
{
    struct tc_harness *h = *state;
    feed(h, inventory(-1));
    link_state(h, 0, "14", UP);
    feed(h, xid(10, 74, "", 14));
    tc_harness_tick(h, AT(30));
    link_state(h, 60, "14", DOWN);
    tc_harness_tick(h, AT(100));
    assert_int_equal(tc_harness_count(h), 2);
    assert_text(tc_harness_finding(h, 0)->discriminator, "nvlink_xid");
    assert_text(tc_harness_finding(h, 1)->discriminator, "link_down");
    assert_true(tc_slice_eq(tc_harness_finding(h, 0)->key, tc_harness_finding(h, 1)->key));
    tc_harness_conforms(tc_harness_finding(h, 1));
}

/* ---- counters -------------------------------------------------------------------------------- */

static size_t rises(enum tc_metric which, double step, int count, double total_step)
{
    struct tc_harness *h = tc_harness_create(&tc_detector_nvlink_degraded, NULL);
    for (int i = 0; i <= count; i++) {
        feed(h, metric(10 * i, which, "2", 70000 + i * step));
        if (total_step > 0) {
            feed(h, metric(10 * i, which, "", 90000 + i * total_step));
        }
    }
    tc_harness_tick(h, AT(10 * count + 1));
    size_t verdicts = tc_harness_count(h);
    if (verdicts > 0) {
        tc_harness_conforms(tc_harness_finding(h, 0));
        assert_text(tc_harness_finding(h, 0)->discriminator, "error_storm");
        assert_int_equal(tc_harness_finding(h, 0)->severity, TC_SEVERITY_WARNING);
    }
    tc_harness_destroy(h);
    return verdicts;
}

static void counters_have_their_thresholds(void **state)
{
    (void)state;
    assert_int_equal(rises(TC_METRIC_NVLINK_CRC_FLIT, 99.9, 10, 0), 0);
    assert_int_equal(rises(TC_METRIC_NVLINK_CRC_FLIT, 100, 10, 0), 1);
    assert_int_equal(rises(TC_METRIC_NVLINK_CRC_DATA, 100, 10, 0), 1);
    assert_int_equal(rises(TC_METRIC_NVLINK_REPLAYS, 9, 11, 0), 0);
    assert_int_equal(rises(TC_METRIC_NVLINK_REPLAYS, 10, 10, 0), 1);
    assert_int_equal(rises(TC_METRIC_NVLINK_RECOVERIES, 1, 9, 0), 0);
    assert_int_equal(rises(TC_METRIC_NVLINK_RECOVERIES, 1, 10, 0), 1);
    /* The links and their sum are the same errors. */
    assert_int_equal(rises(TC_METRIC_NVLINK_RECOVERIES, 1, 9, 1), 0);
    assert_int_equal(rises(TC_METRIC_NVLINK_BANDWIDTH, 1000, 90, 0), 0);
}

static void what_is_no_rise_does_not_count(void **state)
{
    struct tc_harness *h = *state;
    feed(h, metric(0, TC_METRIC_NVLINK_CRC_FLIT, "2", 1e9));  /* the first sample */
    feed(h, metric(10, TC_METRIC_NVLINK_CRC_FLIT, "2", 900)); /* the driver was loaded again */
    feed(h, metric(20, TC_METRIC_NVLINK_CRC_FLIT, "2", 1800));
    feed(h, metric(20, TC_METRIC_NVLINK_CRC_FLIT, "2", 1800)); /* told twice */
    feed(h, metric(5, TC_METRIC_NVLINK_CRC_FLIT, "2", 1e9));   /* late */
    feed(h, metric(30, TC_METRIC_NVLINK_CRC_FLIT, "2", -5));
    tc_harness_tick(h, AT(100));
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, metric(20 + 3000, TC_METRIC_NVLINK_CRC_FLIT, "2", 1800 + 9990)); /* 999 a window */
    tc_harness_tick(h, AT(4000));
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, metric(4010, TC_METRIC_NVLINK_CRC_FLIT, "2", 1e300));
    tc_harness_tick(h, AT(4011));
    assert_int_equal(tc_harness_count(h), 1);
}

static void a_storm_ends_with_a_quiet_window(void **state)
{
    struct tc_harness *h = *state;
    for (int i = 0; i <= 10; i++) {
        feed(h, metric(10 * i, TC_METRIC_NVLINK_REPLAYS, "7", 20 * i));
    }
    tc_harness_tick(h, AT(100 + WINDOW));
    assert_int_equal(tc_harness_count(h), 1);
    assert_says(tc_harness_finding(h, 0)->headline, "NVLink replays in ");
    tc_harness_tick(h, AT(101 + WINDOW));
    assert_int_equal(tc_harness_count(h), 2);
    const struct tc_finding *f = tc_harness_finding(h, 1);
    tc_harness_conforms(f);
    assert_true(f->resolved);
    assert_int_equal(tc_harness_int(f, KEY("replay_errors")), 200);
    assert_says(f->headline, " on link 7; none for 5 min");
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void what_lacks_the_essentials_is_ignored(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = sxid(0, 20034, "fatal", 1);
    ev.scope.pci.known = false;
    feed(h, ev);
    feed(h, sxid(0, -1, "fatal", 1));
    ev = xid(0, 74, "", 1);
    ev.scope.pci.known = false;
    feed(h, ev);
    ev = metric(0, TC_METRIC_NVLINK_STATE, "1", UP);
    ev.scope.node = TC_EMPTY;
    ev.scope.gpu_uuid = TC_EMPTY;
    feed(h, ev);
    ev = sxid(0, 20034, "fatal", 1);
    ev.time_ns = TC_TIME_NONE;
    feed(h, ev);
    static char huge[300];
    ev = sxid(0, 20034, "fatal", 1);
    ev.scope.node = tc_slice_make(huge, sizeof huge);
    feed(h, ev);
    tc_harness_tick(h, AT(100));
    assert_int_equal(tc_harness_count(h), 0);
    assert_int_equal(tc_harness_stats(h).ignored, 6);
}

static void what_the_driver_says_of_the_node_is_evidence(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_DRIVER_FAULT);
    ev.time_ns = AT(-WINDOW);
    ev.scope.node = TC_LIT("gpu-04");
    ev.fault.fault = TC_LIT("nvlink_discovery_failed");
    feed(h, ev);
    ev.fault.fault = TC_LIT("gpu_init_failed");
    feed(h, ev);
    tc_harness_tick(h, AT(-1));
    assert_int_equal(tc_harness_count(h), 0); /* never alone */
    feed(h, xid(0, 74, "", 1));
    tc_harness_tick(h, AT(100));
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_int_equal(f->evidence_count, 2);
    assert_text(f->evidence[0].kind, "driver_fault");
}

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
    feed(h, xid(0, 74, "", 1));
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
        struct tc_harness *h = tc_harness_create(&tc_detector_nvlink_degraded, NULL);
        for (int64_t at = 0; at <= 90; at += 30) {
            bool bad = at >= 60;
            struct tc_event evs[] = {
                metric(at, TC_METRIC_NVLINK_STATE, "1", bad ? DOWN : UP),
                metric(at, TC_METRIC_NVLINK_STATE, "10", bad ? 1 : UP),
                metric(at, TC_METRIC_NVLINK_CRC_FLIT, "1", (double)at * 20),
                metric(at, TC_METRIC_NVLINK_CRC_DATA, "10", (double)at * 20),
                metric(at, TC_METRIC_NVLINK_CRC_FLIT, "", (double)at * 30),
                sxid(at, 20034, bad ? "fatal" : "nonfatal", 4),
                on_bus(sxid(at, 20034, bad ? "fatal" : "nonfatal", 5), 6),
                on_bus(xid(at, bad ? 74 : 31, "", 3), 0x11),
                on_bus(xid(at, bad ? 74 : 31, "", 3), 0x12),
            };
            unsigned seed = round * 7919 + 1;
            for (size_t n = sizeof evs / sizeof evs[0]; n > 0; n--) {
                seed = seed * 1103515245 + 12345;
                size_t pick = seed / 65536 % n;
                feed(h, evs[pick]);
                evs[pick] = evs[n - 1];
            }
        }
        tc_harness_tick(h, AT(200));
        tc_harness_tick(h, AT(1000));
        tc_harness_tick(h, AT(1001));
        struct tc_slice dump = tc_harness_dump(h);
        if (kept == NULL) {
            kept = h;
            first = dump;
            assert_true(tc_harness_count(h) >= 2);
            continue;
        }
        assert_int_equal(dump.len, first.len);
        assert_memory_equal(dump.ptr, first.ptr, first.len);
        tc_harness_destroy(h);
    }
    tc_harness_destroy(kept);
}

static size_t verdicts_with(const char *knob, int64_t value)
{
    struct tc_harness_options options = {.param = knob, .value = value};
    struct tc_harness *h = tc_harness_create(&tc_detector_nvlink_degraded, &options);
    feed(h, sxid(0, 20034, "fatal", 1));
    feed(h, xid(15, 74, "", 1));
    for (int i = 0; i < 6; i++) {
        feed(h, on_bus(xid(100, 31, "", 1), 0xb3));
        feed(h, metric(100 * i, TC_METRIC_NVLINK_CRC_FLIT, "1", 20 * i));
        feed(h, metric(100 * i, TC_METRIC_NVLINK_REPLAYS, "1", 20 * i));
        feed(h, metric(100 * i, TC_METRIC_NVLINK_RECOVERIES, "1", i));
    }
    tc_harness_tick(h, AT(501));
    size_t verdicts = 0;
    for (size_t i = 0; i < tc_harness_count(h); i++) {
        verdicts +=
            !tc_slice_eq(tc_harness_finding(h, (long)i)->discriminator, TC_LIT("fatal_sxid"));
    }
    tc_harness_destroy(h);
    return verdicts;
}

static void every_knob_turns_something(void **state)
{
    (void)state;
    assert_int_equal(verdicts_with("join", 10 * TC_SECOND), 1);
    assert_int_equal(verdicts_with("join", 15 * TC_SECOND), 0);
    assert_int_equal(verdicts_with("window", 300 * TC_SECOND), 1);
    assert_int_equal(verdicts_with("window", 2000 * TC_SECOND), 2); /* 100 replays */
    assert_int_equal(verdicts_with("crc_errors", 40), 2);
    assert_int_equal(verdicts_with("replays", 40), 2);
    assert_int_equal(verdicts_with("recoveries", 2), 2);
}

static void a_storm_is_bounded_and_a_full_window_counts(void **state)
{
    struct tc_harness *h = *state;
    for (int i = 0; i < 10000; i++) {
        struct tc_event ev = sxid(0, 20034, "fatal", i % 300);
        ev.time_ns = AT(0) + i * INT64_C(6000000);
        feed(h, ev);
    }
    tc_harness_tick(h, AT(100));
    assert_in_range(tc_harness_count(h), 1, 2);
    assert_says(tc_harness_finding(h, -1)->headline, " and 122 more");
    tc_harness_conforms(tc_harness_finding(h, -1));
    assert_int_equal(tc_harness_stats(h).dropped, 0);
    char node[32];
    for (int i = 0; i < 12000; i++) {
        struct tc_event ev = sxid(200, 12028, "nonfatal", 1);
        ev.scope.node = tc_slice_make(node, (size_t)snprintf(node, sizeof node, "node-%d", i));
        feed(h, ev);
        ev = metric(200, TC_METRIC_NVLINK_STATE, "1", UP);
        ev.scope.node = tc_slice_cstr(node);
        ev.scope.gpu_uuid = ev.scope.node;
        feed(h, ev);
    }
    assert_true(tc_harness_stats(h).dropped > 0);
    feed(h, sxid(300, 20034, "fatal", 1));
    tc_harness_tick(h, AT(400));
    assert_text(tc_harness_finding(h, -1)->discriminator, "fatal_sxid");
}

static void failures_of_others_are_passed_on(void **state)
{
    (void)state;
    struct tc_harness_options sink = {.sink_status = TC_E_IO};
    struct tc_harness *h = tc_harness_create(&tc_detector_nvlink_degraded, &sink);
    struct tc_event ev = sxid(0, 20034, "fatal", 1);
    assert_int_equal(tc_harness_try_feed(h, &ev), TC_OK);
    ev = sxid(20, 20034, "fatal", 1);
    assert_int_equal(tc_harness_try_feed(h, &ev), TC_E_IO);
    tc_harness_destroy(h);

    struct tc_harness_options small = {.scratch_bytes = 5000};
    h = tc_harness_create(&tc_detector_nvlink_degraded, &small);
    ev = sxid(0, 20034, "fatal", 1);
    assert_int_equal(tc_harness_try_feed(h, &ev), TC_OK);
    ev = sxid(20, 20034, "fatal", 1);
    assert_int_equal(tc_harness_try_feed(h, &ev), TC_E_NOMEM);
    tc_harness_destroy(h);

    struct tc_harness_options tiny = {.arena_bytes = 1 << 20};
    h = tc_harness_create(&tc_detector_nvlink_degraded, &tiny);
    assert_int_equal(tc_harness_init_status(h), TC_E_NOMEM);
    tc_harness_destroy(h);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

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

static void what_dcgm_says_of_a_link_that_is_down_is_told(void **state)
{
    struct tc_harness *h = *state;
    feed(h, health(TC_TIME_UNDATED_MIN + 5, "nvlink", "GPU 3's NvLink link 7 is currently down"));
    feed(h, health(TC_TIME_UNDATED_MIN + 9, "nvlink", "GPU 3's NvLink link 7 is currently down"));
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->discriminator, "link_down");
    assert_says(f->headline, "GPU 3 on node (unknown): NVLink 7");
    assert_int_equal(f->scope.node.len, 0);
}

static void other_findings_of_dcgm_say_nothing_of_links(void **state)
{
    struct tc_harness *h = *state;
    feed(h, health(AT(0), "nvlink", "Detected 120 NvLink errors in GPU 3"));
    feed(h, health(AT(0), "nvlink", "NvLink link 99999999999 is currently down"));
    feed(h, health(AT(0), "pcie", "NvLink link 1 is currently down"));
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_dcgm_says_of_a_link_that_is_down_is_told),
        TEST(other_findings_of_dcgm_say_nothing_of_links),
        TEST(a_fatal_sxid_is_told_when_nothing_can_join_any_more),
        TEST(the_line_decides_what_is_fatal_then_the_number),
        TEST(other_lines_of_an_error_do_not_make_it_fatal),
        TEST(gpus_join_the_switch_before_and_after),
        TEST(gpus_of_other_nodes_and_times_stand_alone),
        TEST(xids_of_nvlink_are_told),
        TEST(a_gpu_without_a_node_is_known_by_its_address),
        TEST(a_link_that_was_up_and_is_down_is_told),
        TEST(a_link_of_a_switch_that_was_up_and_is_down_is_told),
        TEST(samples_of_a_switch_add_nothing_to_its_fatal_sxid),
        TEST(a_link_that_is_back_in_no_time_is_not_told),
        TEST(links_that_went_down_with_a_switch_join_it),
        TEST(an_xid_and_a_link_that_is_down_are_one_incident),
        TEST(counters_have_their_thresholds),
        TEST(what_is_no_rise_does_not_count),
        TEST(a_storm_ends_with_a_quiet_window),
        TEST(what_lacks_the_essentials_is_ignored),
        TEST(what_the_driver_says_of_the_node_is_evidence),
        TEST(the_rank_on_the_gpu_is_named),
        TEST(the_order_within_an_instant_makes_no_difference),
        TEST(every_knob_turns_something),
        TEST(a_storm_is_bounded_and_a_full_window_counts),
        TEST(failures_of_others_are_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
