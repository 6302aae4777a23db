/* SPDX-License-Identifier: Apache-2.0 */
/* Every event here is invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "detect/detector.h"
#include "event/xid.h"
#include "support/assert_text.h"
#include "support/detect_harness.h"

#include <stdio.h>

#define KEY(name) "tracecore.alert.gpu_fault." name
#define AT(seconds) ((INT64_C(1767225600) + (seconds)) * TC_SECOND) /* 2026-01-01T00:00:00Z */
#define SCRAPES 4
#define APART 86400

static const char *const UUIDS[] = {
    "GPU-aaaaaaaa-0000-0000-0000-000000000000", "GPU-aaaaaaaa-0000-0000-0000-000000000001",
    "GPU-aaaaaaaa-0000-0000-0000-000000000002", "GPU-aaaaaaaa-0000-0000-0000-000000000003",
    "GPU-aaaaaaaa-0000-0000-0000-000000000004", "GPU-aaaaaaaa-0000-0000-0000-000000000005",
};

static int set_up(void **state)
{
    *state = tc_harness_create(&tc_detector_gpu_fault, NULL);
    assert_int_equal(tc_harness_init_status(*state), TC_OK);
    return 0;
}

static int tear_down(void **state)
{
    tc_harness_destroy(*state);
    return 0;
}

static struct tc_event event(int64_t seconds, enum tc_event_kind kind)
{
    struct tc_event ev;
    tc_event_init(&ev, kind);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-07");
    ev.raw = (struct tc_raw){.source = 1, .offset = (uint64_t)(seconds + 100000), .length = 90};
    return ev;
}

static struct tc_event xid(int64_t seconds, int64_t code, const char *message)
{
    struct tc_event ev = event(seconds, TC_EVENT_XID);
    ev.scope.pci = (struct tc_bdf){.bus = 0xb3, .known = true};
    ev.scope.pid = 1234;
    ev.xid.code = code;
    ev.xid.process = TC_LIT("python");
    ev.xid.message = tc_slice_cstr(message);
    return ev;
}

static struct tc_event sentence(int64_t seconds, const char *fault)
{
    struct tc_event ev = event(seconds, TC_EVENT_DRIVER_FAULT);
    ev.scope.pci = (struct tc_bdf){.bus = 0xb3, .known = true};
    ev.fault.fault = tc_slice_cstr(fault);
    return ev;
}

static struct tc_event health(int64_t seconds, const char *message)
{
    struct tc_event ev = event(seconds, TC_EVENT_GPU_HEALTH);
    ev.scope.pci = (struct tc_bdf){.bus = 0xb3, .known = true};
    ev.health.system = TC_LIT("driver");
    ev.health.severity = TC_LIT("failure");
    ev.health.message = tc_slice_cstr(message);
    return ev;
}

static struct tc_event metric(int64_t seconds, unsigned gpu, enum tc_metric metric, double value)
{
    struct tc_event ev = event(seconds, TC_EVENT_METRIC);
    ev.scope.gpu_uuid = tc_slice_cstr(UUIDS[gpu]);
    ev.scope.gpu_index = (int32_t)gpu;
    ev.metric.metric = (uint16_t)metric;
    ev.metric.value = value;
    ev.raw.source = 2;
    return ev;
}

static struct tc_event inventory(int64_t seconds)
{
    struct tc_event ev = event(seconds, TC_EVENT_GPU_INVENTORY);
    ev.scope.gpu_uuid = tc_slice_cstr(UUIDS[3]);
    ev.scope.pci = (struct tc_bdf){.bus = 0xb3, .known = true};
    return ev;
}

static void feed(struct tc_harness *h, struct tc_event ev)
{
    tc_harness_feed(h, &ev);
}

/* A scrape of the GPUs whose bits are set. */
static void scrape(struct tc_harness *h, int64_t seconds, unsigned gpus)
{
    for (unsigned gpu = 0; gpu < TC_COUNT(UUIDS); gpu++) {
        if ((gpus & 1U << gpu) != 0) {
            feed(h, metric(seconds, gpu, TC_METRIC_GPU_TEMP, 55));
        }
    }
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

static void a_gpu_that_fell_off_the_bus_is_told_with_what_to_do(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 79, "GPU has fallen off the bus."));
    assert_int_equal(tc_harness_count(h), 0); /* what else happened then may still come */
    const struct tc_finding *f = told(h, 2);
    assert_int_equal(tc_harness_count(h), 1);
    assert_text(f->pattern_id, "13");
    assert_text(f->key, "gpu-07|0000:b3:00.0|2026-01-01T00:00:00Z");
    assert_text(f->discriminator, "off_the_bus");
    assert_int_equal(f->severity, TC_SEVERITY_CRITICAL);
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_text(f->headline, "GPU 0000:b3:00.0 of node gpu-07: GPU has fallen off the bus, Xid 79, "
                             "at 00:00:00");
    assert_says(f->remediation, "drain and power-cycle the node; check seating");
    assert_says(f->remediation, "Clears when it answers again after a driver load or a boot.");
    assert_int_equal(f->scope.pid, 1234);
    assert_int_equal(f->evidence_count, 1);
    assert_text(f->evidence[0].uid, "xid:gpu-07:0000:b3:00.0:79:2026-01-01T00:00:00Z");
}

static void every_fatal_xid_of_hardware_has_one_owner(void **state)
{
    static const struct tc_detector *const owners[] = {&tc_detector_gpu_fault, &tc_detector_hbm_ecc,
                                                       &tc_detector_nvlink_degraded};
    (void)state;
    size_t count = 0;
    const struct tc_xid *table = tc_xid_table(&count);
    for (size_t i = 0; i < count; i++) {
        unsigned told_by = 0;
        for (size_t k = 0; k < TC_COUNT(owners); k++) {
            struct tc_harness *h = tc_harness_create(owners[k], NULL);
            struct tc_event ev = xid(0, table[i].code, "");
            ev.xid.severity = TC_LIT("fatal");
            feed(h, ev);
            tc_harness_tick(h, AT(30));
            told_by += tc_harness_count(h) > 0 ? 1 : 0;
            tc_harness_destroy(h);
        }
        bool hardware = table[i].class == TC_XID_HARDWARE;
        if (told_by > (hardware ? 1 : 0) ||
            (hardware && table[i].severity >= TC_XID_ERROR && told_by != 1)) {
            fail_msg("Xid %d is told by %u patterns", table[i].code, told_by);
        }
    }
}

static void an_xid_that_is_not_decisive_is_not_told(void **state)
{
    struct tc_harness *h = *state;
    static const int32_t codes[] = {13, 31, 43, 45, 68, 38, 93, 121, 125, 106, 48, 74, 9999};
    for (size_t i = 0; i < TC_COUNT(codes); i++) {
        feed(h, xid((int64_t)i, codes[i], ""));
    }
    assert_null(told(h, 100));
}

static void xids_of_one_gpu_are_one_incident_and_the_gravest_is_first(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 109, ""));
    const struct tc_finding *f = told(h, 2);
    assert_text(f->discriminator, "other_hardware");
    assert_int_equal(f->severity, TC_SEVERITY_WARNING);
    feed(h, xid(3, 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"));
    f = told(h, 5);
    assert_text(f->discriminator, "needs_reset");
    feed(h, xid(6, 119, ""));
    f = told(h, 8);
    assert_text(f->discriminator, "firmware");
    assert_int_equal(f->severity, TC_SEVERITY_CRITICAL);
    assert_says(f->headline, "Xid 119, 154 and 109, first at");
    assert_int_equal(tc_harness_count(h), 3);
    assert_text(f->key, "gpu-07|0000:b3:00.0|2026-01-01T00:00:00Z");
    assert_int_equal(f->evidence_count, 3);
    assert_text(f->evidence[0].uid, "xid:gpu-07:0000:b3:00.0:109:2026-01-01T00:00:00Z");
}

static void the_recovery_action_decides(void **state)
{
    static const struct {
        const char *to;
        const char *action; /* NULL: nothing is told */
    } rows[] = {
        {"0x1 (GPU Reset Required)", "reset the GPU"},
        {"0x2 (Node Reboot Required)", "drain and reboot the node"},
        {"0x4 (Drain and Reset)", "drain and reset the GPU"},
        {"0x3 (Drain P2P)", NULL},
        {"0x0 (None)", NULL},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "GPU recovery action changed from 0x7 (Other) to %s",
                       rows[i].to);
        struct tc_harness *h = tc_harness_create(&tc_detector_gpu_fault, NULL);
        feed(h, xid(0, 154, text));
        const struct tc_finding *f = told(h, 2);
        assert_int_equal(f != NULL, rows[i].action != NULL);
        if (f != NULL) {
            assert_text(f->discriminator, "needs_reset");
            assert_says(f->remediation, rows[i].action);
        }
        tc_harness_destroy(h);
    }
}

static void a_reset_that_another_pattern_needs_is_its_own(void **state)
{
    struct tc_harness *h = *state;
    const char *reset = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)";
    feed(h, xid(0, 154, reset));
    feed(h, xid(0, 95, ""));
    assert_null(told(h, 10));
    feed(h, xid(300, 154, reset));
    assert_null(told(h, 310));
    feed(h, xid(1000, 154, reset));
    assert_non_null(told(h, 1010));
}

static void sentences_of_the_driver_are_facts(void **state)
{
    static const struct {
        const char *fault;
        const char *health;
        const char *discriminator; /* NULL: nothing is told */
    } rows[] = {
        {"gpu_init_failed", NULL, "init_failed"},
        {"gpu_probe_failed", NULL, "init_failed"},
        {"gpu_unreachable", NULL, "off_the_bus"},
        {"gpu_no_power", NULL, "other_hardware"},
        {"gpu_reset_failed", NULL, "other_hardware"},
        {"gpu_ras_fatal", NULL, "other_hardware"},
        {"gpu_reset_ok", NULL, NULL},
        {"gpu_not_supported", NULL, NULL},
        {"gpu_firmware_missing", NULL, NULL},
        {"nvml_failed", NULL, NULL},
        {NULL, "GPU is lost", "off_the_bus"},
        {NULL, "GPU Recovery Action : Reset", "needs_reset"},
        {NULL, "Reset Required : Yes", "needs_reset"},
        {NULL, "Unable to determine the device handle for GPU3: 0000:B3:00.0: Unknown Error",
         "init_failed"},
        {NULL, "Unable to determine the device handle for GPU 0000:B3:00.0: Not Found", NULL},
        {NULL, "the driver cannot read the GPU's values", NULL},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_gpu_fault, NULL);
        feed(h, rows[i].fault != NULL ? sentence(0, rows[i].fault) : health(0, rows[i].health));
        const struct tc_finding *f = told(h, 2);
        assert_int_equal(f != NULL, rows[i].discriminator != NULL);
        if (f != NULL) {
            assert_true(tc_slice_eq(f->discriminator, tc_slice_cstr(rows[i].discriminator)));
        }
        tc_harness_destroy(h);
    }
}

static void a_reset_that_worked_ends_it(void **state)
{
    struct tc_harness *h = *state;
    feed(h, sentence(0, "gpu_ras_fatal"));
    assert_false(told(h, 2)->resolved);
    feed(h, sentence(5, "gpu_reset_ok"));
    assert_true(told(h, 10)->resolved);
}

static void without_a_node_it_is_partial(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = sentence(0, "gpu_init_failed");
    ev.scope.node = TC_EMPTY;
    feed(h, ev);
    const struct tc_finding *f = told(h, 2);
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
    assert_int_equal(f->scope.node.len, 0);
}

static void names_that_become_known_are_told(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 79, ""));
    assert_int_equal(told(h, 2)->scope.gpu_uuid.len, 0);
    feed(h, inventory(3));
    assert_true(tc_slice_eq(told(h, 5)->scope.gpu_uuid, tc_slice_cstr(UUIDS[3])));
    assert_int_equal(tc_harness_count(h), 2);
}

static void a_gpu_that_misses_scrapes_is_gone(void **state)
{
    struct tc_harness *h = *state;
    int64_t at = 0;
    for (unsigned i = 0; i < 5; i++, at += 15) {
        scrape(h, at, 0x3f);
    }
    int64_t first = at;
    for (unsigned i = 0; i < SCRAPES; i++, at += 15) {
        scrape(h, at, 0x37);
    }
    assert_null(told(h, at - 1)); /* the last of them is not over yet */
    scrape(h, at, 0x37);
    const struct tc_finding *f = told(h, at + 2);
    assert_non_null(f);
    assert_text(f->discriminator, "gone");
    assert_int_equal(f->severity, TC_SEVERITY_CRITICAL);
    assert_int_equal(f->scope.gpu_index, 3);
    assert_true(f->first_ns == AT(first));
    assert_int_equal(tc_harness_int(f, KEY("missed_scrapes")), SCRAPES);
    assert_int_equal(f->evidence_count, 2);
    assert_true(f->evidence[0].time_ns == AT(first - 15));
    scrape(h, at + 15, 0x3f);
    f = told(h, at + 20);
    assert_true(f->resolved);
    assert_int_equal(tc_harness_count(h), 2);
}

/* A list of all GPUs whose bits are set. */
static void list(struct tc_harness *h, int64_t seconds, unsigned gpus, int64_t attached)
{
    for (unsigned gpu = 0; gpu < TC_COUNT(UUIDS); gpu++) {
        struct tc_event ev = event(seconds, TC_EVENT_GPU_INVENTORY);
        ev.scope.gpu_uuid = tc_slice_cstr(UUIDS[gpu]);
        ev.fault.fault = TC_LIT("listed");
        ev.fault.count = attached;
        if ((gpus & 1U << gpu) != 0) {
            feed(h, ev);
        }
    }
}

static void a_gpu_that_misses_rare_scrapes_is_gone(void **state)
{
    struct tc_harness *h = *state;
    scrape(h, 0, 0x3f);
    scrape(h, 600, 0x3f);
    scrape(h, 1200, 0x37);
    assert_null(told(h, 1210));
    scrape(h, 1800, 0x37);
    scrape(h, 1810, 0x37);
    assert_int_equal(told(h, 1812)->scope.gpu_index, 3);
}

static void a_gpu_that_is_not_in_the_next_list_is_gone(void **state)
{
    static const struct {
        unsigned before;
        unsigned after;
        int64_t attached;
        bool gone;
    } rows[] = {
        {0x3f, 0x37, 1, true},  {0x3f, 0x37, 5, true},
        {0x3f, 0x37, 6, false}, /* the list is cut off */
        {0x3f, 0x33, 1, false}, /* two: somebody sees some of them only */
        {0x07, 0x03, 1, false}, /* too few to say */
        {0x1f, 0x2f, 1, false}, /* another board instead */
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_gpu_fault, NULL);
        list(h, 0, rows[i].before, 1);
        list(h, 3600, rows[i].after, rows[i].attached);
        list(h, 3610, rows[i].after, rows[i].attached);
        const struct tc_finding *f = told(h, 3620);
        assert_int_equal(f != NULL, rows[i].gone);
        tc_harness_destroy(h);
    }
}

static void an_address_without_a_handle_is_the_gpu_that_is_not_listed(void **state)
{
    struct tc_harness *h = *state;
    list(h, 0, 0x3f, 1);
    feed(h,
         health(3600, "Unable to determine the device handle for GPU 0000:B3:00.0: Unknown Error"));
    list(h, 3600, 0x37, 1);
    list(h, 3610, 0x37, 1);
    const struct tc_finding *f = told(h, 3620);
    assert_text(f->discriminator, "init_failed");
    assert_true(tc_slice_eq(f->scope.gpu_uuid, tc_slice_cstr(UUIDS[3])));
}

static struct tc_event plugin_xid(int64_t seconds, int64_t code, unsigned gpu)
{
    struct tc_event ev = xid(seconds, code, "");
    ev.scope.node = TC_EMPTY;
    ev.scope.pci = (struct tc_bdf){0};
    ev.scope.gpu_uuid = tc_slice_cstr(UUIDS[gpu]);
    return ev;
}

static void an_xid_by_uuid_and_by_address_is_one(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_gpu_fault, NULL);
        feed(h, order == 0 ? xid(0, 119, "") : plugin_xid(0, 119, 3));
        feed(h, order == 0 ? plugin_xid(12, 119, 3) : xid(12, 119, ""));
        const struct tc_finding *f = told(h, 20);
        assert_true(tc_slice_eq(f->scope.gpu_uuid, tc_slice_cstr(UUIDS[3])));
        assert_text(f->scope.node, "gpu-07");
        assert_true(f->scope.pci.known);
        tc_harness_destroy(h);
    }
}

static void another_xid_or_a_later_one_is_another_gpu(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 119, ""));
    feed(h, plugin_xid(5, 79, 3));
    assert_int_equal(told(h, 10)->scope.node.len, 0);
    feed(h, plugin_xid(100, 119, 4));
    assert_int_equal(told(h, 110)->scope.node.len, 0);
}

static void gpus_that_break_together_say_so(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event other = xid(1, 79, "");
    other.scope.pci.bus = 0xc4;
    feed(h, xid(0, 79, ""));
    feed(h, other);
    assert_says(told(h, 5)->headline, "with 1 more of the node");
    other.time_ns = AT(60);
    other.scope.pci.bus = 0xc5;
    feed(h, other);
    const struct tc_finding *f = told(h, 65);
    assert_int_equal(tc_slice_find(f->headline, TC_LIT("more GPUs")), TC_NPOS);
}

static void what_misses_too_few_scrapes_is_not_gone(void **state)
{
    struct tc_harness *h = *state;
    int64_t at = 0;
    for (unsigned round = 0; round < 20; round++) {
        scrape(h, at, 0x3f);
        for (unsigned i = 1; i < SCRAPES; i++) {
            scrape(h, at + 15 * i, 0x37);
        }
        at += 15 * SCRAPES;
    }
    assert_null(told(h, at + 10));
}

static void scrapes_that_follow_too_fast_make_nothing_gone(void **state)
{
    struct tc_harness *h = *state;
    scrape(h, 0, 0x3f);
    scrape(h, 15, 0x3f);
    for (int64_t at = 17; at < 15 + 60; at += 2) {
        scrape(h, at, 0x37);
    }
    assert_null(told(h, 80));
}

static void gpus_that_leave_together_are_not_gone(void **state)
{
    static const unsigned stay[] = {0x07, 0x00};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(stay); i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_gpu_fault, NULL);
        scrape(h, 0, 0x3f);
        for (int64_t at = 15; at < 600; at += 15) {
            scrape(h, at, stay[i]);
        }
        assert_null(told(h, 700));
        tc_harness_destroy(h);
    }
}

static void samples_of_a_ranks_own_process_are_no_scrape(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t at = 0; at < 600; at += 15) {
        for (unsigned gpu = 0; gpu < (at < 60 ? 6U : 5U); gpu++) {
            struct tc_event ev = metric(at, gpu, TC_METRIC_GPU_TEMP, 50);
            ev.scope.rank = (int32_t)gpu;
            feed(h, ev);
        }
    }
    assert_null(told(h, 700));
}

static void it_is_over_when_the_gpu_answers_after_the_driver_was_loaded(void **state)
{
    struct tc_harness *h = *state;
    feed(h, inventory(-1));
    feed(h, xid(0, 79, ""));
    assert_non_null(told(h, 2));
    feed(h, metric(10, 3, TC_METRIC_GPU_TEMP, 50)); /* what the exporter remembers */
    assert_false(told(h, 12)->resolved);
    feed(h, sentence(100, "driver_load_ok"));
    assert_false(told(h, 102)->resolved);
    feed(h, metric(110, 3, TC_METRIC_GPU_TEMP, 50));
    const struct tc_finding *f = told(h, 112);
    assert_true(f->resolved);
    assert_text(f->evidence[f->evidence_count - 2].kind, "driver_load");
    assert_text(f->evidence[f->evidence_count - 1].kind, "answer");
    /* The next one is another incident. */
    feed(h, xid(200, 79, ""));
    f = told(h, 202);
    assert_false(f->resolved);
    assert_true(f->first_ns == AT(200));
}

static void a_boot_that_kubernetes_tells_of_counts_too(void **state)
{
    struct tc_harness *h = *state;
    feed(h, inventory(-1));
    feed(h, xid(0, 120, ""));
    assert_non_null(told(h, 2));
    struct tc_event ev = event(100, TC_EVENT_K8S_EVENT);
    ev.k8s.reason = TC_LIT("Rebooted");
    ev.k8s.object_kind = TC_LIT("Node");
    feed(h, ev);
    feed(h, metric(110, 3, TC_METRIC_GPU_POWER, 70));
    assert_true(told(h, 112)->resolved);
}

static void no_action_ends_it(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 62, ""));
    assert_non_null(told(h, 2));
    feed(h, xid(9, 154, "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"));
    assert_true(told(h, 12)->resolved);
}

static void an_exporters_xid_counts_when_it_changes(void **state)
{
    struct tc_harness *h = *state;
    feed(h, metric(0, 3, TC_METRIC_GPU_XID_LAST, 79));
    assert_null(told(h, 2));
    feed(h, metric(30, 3, TC_METRIC_GPU_XID_LAST, 31));
    assert_null(told(h, 32));
    feed(h, metric(60, 3, TC_METRIC_GPU_XID_LAST, 119));
    const struct tc_finding *f = told(h, 62);
    assert_text(f->discriminator, "firmware");
    assert_says(f->evidence[0].description, "An exporter told of Xid 119");
    struct tc_event ev = metric(90, 3, TC_METRIC_GPU_XID_COUNT, 2);
    ev.metric.device = TC_LIT("79");
    feed(h, ev);
    assert_text(told(h, 92)->discriminator, "off_the_bus");
    ev.time_ns = AT(120);
    size_t count = tc_harness_count(h);
    feed(h, ev);
    (void)told(h, 300);
    assert_int_equal(tc_harness_count(h), count);
}

static void facts_far_apart_are_two_incidents(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 79, ""));
    (void)told(h, 2);
    feed(h, xid(APART, 79, ""));
    assert_true(told(h, APART + 120)->first_ns == AT(0));
    feed(h, xid(2 * APART + 1, 79, ""));
    assert_true(told(h, 2 * APART + 120)->first_ns == AT(2 * APART + 1));
}

static void the_same_fact_is_told_again_after_a_minute(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t at = 0; at < 50; at++) {
        feed(h, xid(at, 119, ""));
    }
    assert_non_null(told(h, 50));
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = told(h, 200);
    assert_int_equal(tc_harness_count(h), 2);
    assert_says(f->evidence[0].description, ", 50 times, the last at 00:00:49");
}

static void undated_facts_are_told_at_the_end(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = xid(0, 79, "");
    ev.time_ns = TC_TIME_UNDATED_MIN + 5;
    feed(h, ev);
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 1);
    tc_harness_conforms(tc_harness_finding(h, 0));
}

static void what_is_over_before_it_was_told_is_told_as_resolved(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = xid(0, 119, "");
    ev.time_ns = TC_TIME_UNDATED_MIN + 5;
    feed(h, ev);
    ev = xid(0, 154, "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)");
    ev.time_ns = TC_TIME_UNDATED_MIN + 6;
    feed(h, ev);
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 1);
    assert_true(tc_harness_finding(h, 0)->resolved);
}

static void a_late_fact_of_an_incident_that_is_over_is_counted(void **state)
{
    struct tc_harness *h = *state;
    feed(h, xid(0, 62, ""));
    (void)told(h, 2);
    feed(h, xid(9, 154, "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"));
    (void)told(h, 12);
    size_t count = tc_harness_count(h);
    feed(h, xid(5, 62, ""));
    (void)told(h, 20);
    assert_int_equal(tc_harness_count(h), count);
    assert_int_equal(tc_harness_stats(h).late, 1);
}

static void a_full_window_drops_the_oldest_and_counts(void **state)
{
    struct tc_harness *h = *state;
    char node[16];
    for (unsigned i = 0; i < 30000; i++) {
        struct tc_event ev = xid(i / 100, 79, "");
        int len = snprintf(node, sizeof node, "n%u", i);
        ev.scope.node = tc_slice_make(node, (size_t)len);
        feed(h, ev);
        if (i % 1000 == 0) {
            tc_harness_clear(h);
        }
    }
    assert_true(tc_harness_stats(h).dropped > 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_gpu_that_fell_off_the_bus_is_told_with_what_to_do),
        TEST(every_fatal_xid_of_hardware_has_one_owner),
        TEST(an_xid_that_is_not_decisive_is_not_told),
        TEST(xids_of_one_gpu_are_one_incident_and_the_gravest_is_first),
        TEST(the_recovery_action_decides),
        TEST(a_reset_that_another_pattern_needs_is_its_own),
        TEST(sentences_of_the_driver_are_facts),
        TEST(a_reset_that_worked_ends_it),
        TEST(without_a_node_it_is_partial),
        TEST(names_that_become_known_are_told),
        TEST(a_gpu_that_misses_scrapes_is_gone),
        TEST(a_gpu_that_misses_rare_scrapes_is_gone),
        TEST(a_gpu_that_is_not_in_the_next_list_is_gone),
        TEST(an_address_without_a_handle_is_the_gpu_that_is_not_listed),
        TEST(an_xid_by_uuid_and_by_address_is_one),
        TEST(another_xid_or_a_later_one_is_another_gpu),
        TEST(gpus_that_break_together_say_so),
        TEST(what_misses_too_few_scrapes_is_not_gone),
        TEST(scrapes_that_follow_too_fast_make_nothing_gone),
        TEST(gpus_that_leave_together_are_not_gone),
        TEST(samples_of_a_ranks_own_process_are_no_scrape),
        TEST(it_is_over_when_the_gpu_answers_after_the_driver_was_loaded),
        TEST(a_boot_that_kubernetes_tells_of_counts_too),
        TEST(no_action_ends_it),
        TEST(an_exporters_xid_counts_when_it_changes),
        TEST(facts_far_apart_are_two_incidents),
        TEST(the_same_fact_is_told_again_after_a_minute),
        TEST(undated_facts_are_told_at_the_end),
        TEST(what_is_over_before_it_was_told_is_told_as_resolved),
        TEST(a_late_fact_of_an_incident_that_is_over_is_counted),
        TEST(a_full_window_drops_the_oldest_and_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
