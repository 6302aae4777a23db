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

#define KEY(name) "tracecore.alert.thermal_throttle." name
#define AT(seconds) ((INT64_C(1767225600) + (seconds)) * TC_SECOND) /* 2026-01-01T00:00:00Z */
#define HW_THERMAL 0x48
#define SW_THERMAL 0x20
#define POWER_BRAKE 0x88
#define HW_SLOWDOWN 0x8
#define HARMLESS 0x117 /* idle, application clocks, power cap, sync boost, display */

static int set_up(void **state)
{
    *state = tc_harness_create(&tc_detector_thermal_throttle, NULL);
    assert_int_equal(tc_harness_init_status(*state), TC_OK);
    return 0;
}

static int tear_down(void **state)
{
    tc_harness_destroy(*state);
    return 0;
}

static const char *const UUIDS[] = {"GPU-0", "GPU-1", "GPU-2", "GPU-3", "GPU-4", "GPU-5"};

static struct tc_event metric(int64_t seconds, int gpu, enum tc_metric metric, double value)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-07");
    ev.scope.gpu_uuid = tc_slice_cstr(UUIDS[gpu]);
    ev.scope.gpu_index = gpu;
    ev.scope.ns = TC_LIT("ml");
    ev.scope.pod = TC_LIT("worker-3");
    ev.metric.metric = (uint16_t)metric;
    ev.metric.value = value;
    ev.raw = (struct tc_raw){
        .source = 2, .offset = (uint64_t)(seconds + 10000), .length = 120 + (uint32_t)gpu};
    return ev;
}

static struct tc_event reasons(int64_t seconds, int gpu, double bits)
{
    return metric(seconds, gpu, TC_METRIC_GPU_THROTTLE, bits);
}

static struct tc_event in_rack(struct tc_event ev, const char *node)
{
    ev.scope.node = tc_slice_cstr(node);
    ev.metric.rack = TC_LIT("r12");
    return ev;
}

static void feed(struct tc_harness *h, struct tc_event ev)
{
    tc_harness_feed(h, &ev);
}

/* The reasons of one GPU every ten seconds, both ends included. */
static void slow(struct tc_harness *h, int gpu, int64_t from, int64_t to, double bits)
{
    for (int64_t t = from; t <= to; t += 10) {
        feed(h, reasons(t, gpu, bits));
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

/* One moment as told by an exporter with a gauge for each reason, last to first when told to. */
static void reasons_one_by_one(struct tc_harness *h, int64_t seconds, unsigned bits, bool backwards)
{
    static const struct {
        const char *name;
        unsigned bit;
    } all[] = {{"hw_power_brake_slowdown", 0x80},
               {"hw_slowdown", 0x8},
               {"hw_thermal_slowdown", 0x40},
               {"sw_thermal_slowdown", 0x20}};
    for (unsigned i = 0; i < 4; i++) {
        unsigned at = backwards ? 3 - i : i;
        struct tc_event ev = reasons(seconds, 3, bits & all[at].bit);
        ev.metric.device = tc_slice_cstr(all[at].name);
        ev.raw.offset = (uint64_t)(seconds + 10000) * 8 + at;
        feed(h, ev);
    }
}

static void reasons_that_come_one_by_one_are_one_sample(void **state)
{
    (void)state;
    for (int backwards = 0; backwards < 2; backwards++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_thermal_throttle, NULL);
        reasons_one_by_one(h, -10, 0, backwards);
        reasons_one_by_one(h, 0, HW_THERMAL, backwards);
        reasons_one_by_one(h, 15, HW_THERMAL, backwards);
        tc_harness_finish(h, AT(15));
        assert_int_equal(tc_harness_count(h), 0); /* 15 s */
        reasons_one_by_one(h, 30, HW_THERMAL, backwards);
        reasons_one_by_one(h, 20, 0, backwards); /* late */
        tc_harness_finish(h, AT(30));
        assert_int_equal(tc_harness_count(h), 1);
        const struct tc_finding *f = tc_harness_finding(h, 0);
        tc_harness_conforms(f);
        assert_text(f->discriminator, "hw_thermal"); /* and not the slowdown that comes with it */
        assert_int_equal(f->evidence[0].raw.offset, 10000 * 8 + 1);
        assert_says(f->evidence[0].description, ", reasons 0x48");
        for (int64_t at = 45; at <= 120; at += 15) {
            reasons_one_by_one(h, at, 0, backwards);
        }
        tc_harness_tick(h, AT(130));
        assert_int_equal(tc_harness_count(h), 2);
        assert_true(tc_harness_finding(h, 1)->resolved);
        tc_harness_destroy(h);
    }
}

static void single_reasons_count_only_where_no_sample_has_all(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t at = 0; at <= 120; at += 15) {
        reasons_one_by_one(h, at, HW_SLOWDOWN, false);
        feed(h, reasons(at, 3, HARMLESS));
    }
    tc_harness_finish(h, AT(120));
    assert_int_equal(tc_harness_count(h), 0);
}

static void a_gpu_that_is_slowed_for_long_enough_is_told(void **state)
{
    struct tc_harness *h = *state;
    feed(h, metric(-5, 3, TC_METRIC_GPU_TEMP, 84));
    feed(h, reasons(-5, 3, HARMLESS));
    feed(h, metric(0, 3, TC_METRIC_GPU_TEMP, 86));
    feed(h, metric(0, 3, TC_METRIC_GPU_MEM_TEMP, 97));
    slow(h, 3, 0, 20, HW_THERMAL);
    feed(h, metric(30, 3, TC_METRIC_GPU_TEMP, 91));
    slow(h, 3, 30, 40, HW_THERMAL);
    assert_null(told(h, 59)); /* more of the node may follow */
    const struct tc_finding *f = told(h, 60);
    assert_int_equal(tc_harness_count(h), 1);
    assert_text(f->pattern_id, "4");
    assert_text(f->key, "node|gpu-07|2026-01-01T00:00:00Z");
    assert_text(f->discriminator, "hw_thermal");
    assert_int_equal(f->severity, TC_SEVERITY_WARNING);
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_text(f->headline, "GPU 3 of node gpu-07 is slowed by heat for 40 s, up to 91 C");
    assert_says(f->remediation, "Check the heat sink, the fan and the airflow of GPU 3 of node");
    assert_text(tc_harness_text(f, KEY("level")), "gpu");
    assert_int_equal(tc_harness_int(f, KEY("seconds")), 40);
    assert_int_equal(tc_harness_int(f, KEY("gpu_count")), 1);
    assert_int_equal(tc_harness_int(f, KEY("temperature_celsius")), 91);
    assert_int_equal(tc_harness_int(f, KEY("memory_temperature_celsius")), 97);
    assert_text(f->scope.gpu_uuid, "GPU-3");
    assert_int_equal(f->scope.gpu_index, 3);
    assert_text(f->scope.pod, "worker-3");
    assert_int_equal(f->first_ns, AT(0));
    assert_int_equal(f->last_ns, AT(40));
    assert_int_equal(f->evidence_count, 3);
    assert_text(f->evidence[0].uid, "clock_event:gpu-07:GPU-3:2026-01-01T00:00:00Z");
    assert_says(f->evidence[0].description, ", reasons 0x48");
    assert_int_equal(f->evidence[2].time_ns, AT(40));
    assert_text(f->evidence[1].kind, "temperature");
    assert_int_equal(f->evidence[1].raw.offset, 10030);
}

static void every_reason_has_its_discriminator(void **state)
{
    (void)state;
    static const struct {
        double bits;
        const char *discriminator; /* NULL: never counts */
        const char *advice;
    } cases[] = {
        {0x40, "hw_thermal", "Check the heat sink"},
        {0x48, "hw_thermal", "Check the heat sink"},
        {0x60, "hw_thermal", "Check the heat sink"},
        {0x20, "sw_thermal", "Check the heat sink"},
        {0x24, "sw_thermal", "Check the heat sink"},
        {0x80, "power_brake", "Check the power supplies"},
        {0x88, "power_brake", "Check the power supplies"},
        {0xc8, "hw_thermal", "Check the heat sink"},
        {0x08, "hw_slowdown", "Check cooling and power supply"},
        {0x28, "hw_slowdown", "Check cooling and power supply"},
        {0x00, NULL, ""},
        {0x01, NULL, ""},
        {0x02, NULL, ""},
        {0x04, NULL, ""},
        {0x10, NULL, ""},
        {0x100, NULL, ""},
        {HARMLESS, NULL, ""},
        {0x200, NULL, ""}, /* a bit that is not known yet */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_thermal_throttle, NULL);
        slow(h, 0, 0, 600, cases[i].bits);
        const struct tc_finding *f = told(h, 700);
        assert_int_equal(f != NULL, cases[i].discriminator != NULL);
        if (f != NULL) {
            assert_true(tc_slice_eq(f->discriminator, tc_slice_cstr(cases[i].discriminator)));
            assert_true(tc_slice_contains(f->remediation, tc_slice_cstr(cases[i].advice)));
            assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL); /* no temperature */
            assert_in_range(f->headline.len, 40, 160);
        }
        tc_harness_destroy(h);
    }
}

static void the_time_includes_its_edge_and_one_sample_is_no_proof(void **state)
{
    (void)state;
    static const struct {
        int64_t times[4];
        int count;
        bool fires;
    } cases[] = {
        {{0, 30}, 2, true},
        {{0, 29}, 2, false},
        {{0}, 1, false},
        {{0, 180}, 2, true},
        {{0, 181}, 2, false}, /* nobody saw what was in between */
        {{0, 20, 201, 225}, 4, false},
        {{0, 20, 201, 231}, 4, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_thermal_throttle, NULL);
        for (int k = 0; k < cases[i].count; k++) {
            feed(h, reasons(cases[i].times[k], 0, HW_THERMAL));
        }
        assert_int_equal(told(h, 1000) != NULL, cases[i].fires);
        tc_harness_destroy(h);
    }
}

static void one_clear_sample_ends_the_run(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t t = 0; t < 1000; t += 30) {
        slow(h, 0, t, t + 20, HW_THERMAL);
        feed(h, reasons(t + 25, 0, HARMLESS));
    }
    assert_null(told(h, 2000));
}

static void hardware_and_software_in_turns_are_one_run(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t t = 0; t <= 60; t += 10) {
        feed(h, reasons(t, 0, t % 40 == 0 ? HW_THERMAL : SW_THERMAL));
    }
    assert_text(told(h, 200)->discriminator, "sw_thermal"); /* the one more often */
    for (int64_t t = 0; t <= 60; t += 10) { /* heat and the power brake are not one thing */
        feed(h, reasons(t, 1, t % 20 == 0 ? SW_THERMAL : POWER_BRAKE));
    }
    (void)told(h, 400);
    assert_int_equal(tc_harness_count(h), 1);
}

static void the_hardwares_own_bit_counts_alone_only(void **state)
{
    struct tc_harness *h = *state;
    slow(h, 0, 0, 20, HW_THERMAL);
    slow(h, 0, 30, 50, HW_SLOWDOWN);
    slow(h, 0, 60, 80, POWER_BRAKE);
    assert_null(told(h, 200));
}

static void the_beginning_is_that_of_the_first(void **state)
{
    struct tc_harness *h = *state;
    feed(h, reasons(0, 0, HW_THERMAL));
    slow(h, 1, 10, 40, HW_THERMAL); /* known to be slowed first, but not slowed first */
    feed(h, reasons(60, 0, HW_THERMAL));
    const struct tc_finding *f = told(h, 100);
    assert_text(f->key, "node|gpu-07|2026-01-01T00:00:00Z");
    assert_int_equal(f->first_ns, AT(0));
}

static void it_is_told_again_when_it_worsens(void **state)
{
    struct tc_harness *h = *state;
    slow(h, 0, 0, 60, SW_THERMAL);
    assert_text(told(h, 61)->discriminator, "sw_thermal");
    slow(h, 0, 70, 150, HW_THERMAL);
    const struct tc_finding *f = told(h, 200);
    assert_int_equal(tc_harness_count(h), 2);
    assert_text(f->discriminator, "hw_thermal");
    assert_true(tc_slice_eq(f->key, tc_harness_finding(h, 0)->key));
    slow(h, 0, 210, 400, SW_THERMAL); /* better, but not over */
    (void)told(h, 500);
    assert_int_equal(tc_harness_count(h), 2);
}

static void it_is_over_when_clear_for_long_enough(void **state)
{
    struct tc_harness *h = *state;
    slow(h, 0, 0, 60, HW_THERMAL);
    assert_false(told(h, 61)->resolved);
    slow(h, 0, 70, 120, HARMLESS); /* 50 s clear */
    slow(h, 0, 130, 130, HW_THERMAL);
    slow(h, 0, 140, 190, HARMLESS);
    (void)told(h, 199);
    assert_int_equal(tc_harness_count(h), 1);
    slow(h, 0, 200, 200, HARMLESS);
    const struct tc_finding *f = told(h, 200);
    assert_int_equal(tc_harness_count(h), 2);
    assert_true(f->resolved);
    assert_int_equal(f->last_ns, AT(200));
    assert_says(f->headline, " was slowed by heat");
    assert_says(f->evidence[f->evidence_count - 1].description, "nothing slows it any more");
    slow(h, 0, 210, 260, HW_THERMAL); /* again: another incident */
    f = told(h, 300);
    assert_int_equal(tc_harness_count(h), 3);
    assert_false(tc_slice_eq(f->key, tc_harness_finding(h, 0)->key));
}

static void what_is_over_before_it_was_told_is_told_once(void **state)
{
    (void)state;
    struct tc_harness_options options = {.param = "grace", .value = 300 * TC_SECOND};
    struct tc_harness *h = tc_harness_create(&tc_detector_thermal_throttle, &options);
    slow(h, 0, 0, 60, HW_THERMAL);
    slow(h, 0, 70, 140, 0);
    assert_int_equal(tc_harness_count(h), 1);
    assert_true(told(h, 1000)->resolved);
    assert_int_equal(tc_harness_count(h), 1);
    tc_harness_destroy(h);
}

static void several_gpus_of_a_node_are_the_nodes(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t t = 0; t <= 60; t += 10) {
        feed(h, metric(t, 1, TC_METRIC_GPU_TEMP, 88));
        feed(h, reasons(t, 2, HW_THERMAL));
        feed(h, reasons(t, 1, HW_THERMAL));
    }
    const struct tc_finding *f = told(h, 60);
    assert_int_equal(tc_harness_count(h), 1);
    assert_text(tc_harness_text(f, KEY("level")), "node");
    assert_int_equal(f->severity, TC_SEVERITY_WARNING);
    assert_int_equal(tc_harness_int(f, KEY("gpu_count")), 2);
    assert_says(f->headline, "2 GPUs of node gpu-07 are slowed by heat for ");
    assert_says(f->remediation, "Check the fans, the air inlet and the coolant of node gpu-07");
    assert_text(f->scope.node, "gpu-07");
    assert_int_equal(f->scope.gpu_uuid.len, 0);
    assert_text(f->evidence[0].uid, "clock_event:gpu-07:GPU-1:2026-01-01T00:00:00Z");
    assert_text(f->evidence[1].uid, "clock_event:gpu-07:GPU-2:2026-01-01T00:00:00Z");
}

static void one_gpu_that_becomes_several_stays_one_incident(void **state)
{
    struct tc_harness *h = *state;
    slow(h, 0, 0, 300, HW_THERMAL);
    assert_text(tc_harness_text(told(h, 300), KEY("level")), "gpu");
    slow(h, 1, 300, 360, HW_THERMAL);
    const struct tc_finding *f = told(h, 400);
    assert_int_equal(tc_harness_count(h), 2);
    assert_text(tc_harness_text(f, KEY("level")), "node");
    assert_true(tc_slice_eq(f->key, tc_harness_finding(h, 0)->key));
    slow(h, 0, 310, 380, 0); /* the first is clear, the second is not */
    (void)told(h, 401);
    assert_int_equal(tc_harness_count(h), 2);
    slow(h, 1, 370, 440, 0);
    f = told(h, 441);
    assert_int_equal(tc_harness_count(h), 3);
    assert_true(f->resolved);
    assert_text(tc_harness_text(f, KEY("level")), "node");
    assert_int_equal(tc_harness_int(f, KEY("gpu_count")), 2);
}

static void nodes_without_a_rack_are_told_apart(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t t = 0; t <= 60; t += 10) {
        struct tc_event other = reasons(t, 1, HW_THERMAL);
        other.scope.node = TC_LIT("gpu-08");
        feed(h, reasons(t, 0, HW_THERMAL));
        feed(h, other);
    }
    (void)told(h, 100);
    assert_int_equal(tc_harness_count(h), 2);
}

/* Samples without a label: the objects of the nodes say where they stand. */
static void the_rack_of_a_node_is_learned(void **state)
{
    struct tc_harness *h = *state;
    static const char *const nodes[] = {"gpu-07", "gpu-08"};
    for (size_t i = 0; i < 2; i++) {
        struct tc_event ev;
        tc_event_init(&ev, TC_EVENT_NODE_CONDITION);
        ev.scope.node = tc_slice_cstr(nodes[i]);
        ev.k8s.rack = TC_LIT("r12");
        feed(h, ev);
        feed(h, ev);
    }
    for (int64_t t = 0; t <= 60; t += 10) {
        for (int i = 0; i < 4; i++) {
            struct tc_event ev = in_rack(reasons(t, i, HW_THERMAL), nodes[i / 2]);
            ev.metric.rack = TC_EMPTY;
            feed(h, ev);
        }
    }
    const struct tc_finding *f = told(h, 100);
    assert_text(tc_harness_text(f, KEY("rack")), "r12");
    assert_text(tc_harness_text(f, KEY("level")), "rack");
}

static void several_nodes_of_a_rack_are_the_racks(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t t = 0; t <= 60; t += 10) {
        feed(h, in_rack(reasons(t, 0, HW_THERMAL), "gpu-07"));
        feed(h, in_rack(reasons(t, 1, HW_THERMAL), "gpu-07"));
    }
    const struct tc_finding *f = told(h, 100);
    assert_text(tc_harness_text(f, KEY("level")), "node");
    assert_text(tc_harness_text(f, KEY("rack")), "r12");
    for (int64_t t = 110; t <= 160; t += 10) {
        feed(h, in_rack(reasons(t, 2, HW_THERMAL), "gpu-08"));
        feed(h, in_rack(reasons(t, 3, HW_THERMAL), "gpu-08"));
    }
    f = told(h, 200);
    assert_int_equal(tc_harness_count(h), 2);
    assert_true(tc_slice_eq(f->key, tc_harness_finding(h, 0)->key));
    assert_text(tc_harness_text(f, KEY("level")), "rack");
    assert_int_equal(tc_harness_int(f, KEY("node_count")), 2);
    assert_int_equal(tc_harness_int(f, KEY("gpu_count")), 4);
    assert_says(f->headline, "4 GPUs of 2 nodes in rack r12 are slowed by heat for ");
    assert_says(f->remediation, "Check the cooling of rack r12");
    assert_int_equal(f->scope.node.len, 0);
}

/* A GPU of r12 by its index alone: each node has its own. */
static void feed_in_rack(struct tc_harness *h, int64_t seconds, const char *node, int32_t gpu,
                         double bits)
{
    struct tc_event ev = in_rack(reasons(seconds, 0, bits), node);
    ev.scope.gpu_uuid = TC_EMPTY;
    ev.scope.gpu_index = gpu;
    feed(h, ev);
}

/* Findings of that level, each incident counted once. */
static size_t incidents_of(struct tc_harness *h, const char *level)
{
    size_t incidents = 0;
    for (long i = 0; i < (long)tc_harness_count(h); i++) {
        const struct tc_finding *f = tc_harness_finding(h, i);
        bool again = false;
        for (long k = 0; k < i; k++) {
            again = again || tc_slice_eq(tc_harness_finding(h, k)->key, f->key);
        }
        tc_harness_conforms(f);
        incidents += !again && tc_slice_eq(tc_harness_text(f, KEY("level")), tc_slice_cstr(level));
    }
    return incidents;
}

/* Single GPUs of two nodes may be hot by chance; of three, or several of each of two, are not. */
static void a_few_gpus_of_a_rack_are_not_the_rack(void **state)
{
    (void)state;
    static const char *const nodes[] = {"gpu-07", "gpu-08", "gpu-09"};
    static const struct {
        int gpus[3]; /* of each node */
        size_t of_gpus;
        size_t of_nodes;
        size_t of_racks;
    } cases[] = {
        {{1, 1, 0}, 2, 0, 0}, {{2, 1, 0}, 1, 1, 0}, {{8, 1, 0}, 1, 1, 0},
        {{2, 2, 0}, 0, 0, 1}, {{1, 1, 1}, 0, 0, 1},
    };
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_thermal_throttle, NULL);
        for (int64_t t = 0; t <= 60; t += 10) {
            for (int n = 0; n < 3; n++) {
                for (int gpu = 0; gpu < cases[i].gpus[n]; gpu++) {
                    feed_in_rack(h, t, nodes[n], gpu, HW_THERMAL);
                }
            }
        }
        (void)told(h, 100);
        assert_int_equal(incidents_of(h, "gpu"), cases[i].of_gpus);
        assert_int_equal(incidents_of(h, "node"), cases[i].of_nodes);
        assert_int_equal(incidents_of(h, "rack"), cases[i].of_racks);
        tc_harness_destroy(h);
    }
}

/* Each of two nodes is told for itself and then they are the rack: the first goes on as the rack,
 * the second follows from it. One that is clear again is resolved while the other is hot. */
static void what_was_told_of_nodes_goes_on_in_the_rack(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t t = 0; t <= 60; t += 10) {
        feed_in_rack(h, t, "gpu-07", 0, HW_THERMAL);
        feed_in_rack(h, t + 5, "gpu-08", 0, HW_THERMAL);
    }
    (void)told(h, 100);
    assert_int_equal(tc_harness_count(h), 2);
    for (int64_t t = 110; t <= 160; t += 10) {
        feed_in_rack(h, t, "gpu-07", 1, HW_THERMAL);
        feed_in_rack(h, t, "gpu-08", 1, HW_THERMAL);
    }
    (void)told(h, 200);
    assert_int_equal(tc_harness_count(h), 4);
    const struct tc_finding *rack = tc_harness_finding(h, 2);
    const struct tc_finding *part = tc_harness_finding(h, 3);
    assert_text(tc_harness_text(rack, KEY("level")), "rack");
    assert_true(tc_slice_eq(rack->key, tc_harness_finding(h, 0)->key));
    assert_true(tc_slice_eq(part->key, tc_harness_finding(h, 1)->key));
    assert_int_equal(part->cause_count, 1);
    assert_true(tc_slice_eq(part->causes[0].key, rack->key));
}

static void a_node_that_is_clear_is_resolved_beside_another(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t t = 0; t <= 160; t += 10) {
        feed_in_rack(h, t, "gpu-07", 0, t <= 60 ? HW_THERMAL : 0);
        feed_in_rack(h, t + 5, "gpu-08", 0, HW_THERMAL);
    }
    (void)told(h, 200);
    size_t resolved = 0;
    for (long i = 0; i < (long)tc_harness_count(h); i++) {
        const struct tc_finding *f = tc_harness_finding(h, i);
        resolved += f->resolved;
        assert_true(!f->resolved || tc_slice_eq(f->scope.node, TC_LIT("gpu-07")));
    }
    assert_int_equal(resolved, 1);
    for (int64_t t = 210; t <= 300; t += 10) {
        feed_in_rack(h, t, "gpu-07", 0, HW_THERMAL);
    }
    (void)told(h, 340);
    assert_int_equal(incidents_of(h, "gpu"), 3); /* hot again: another one */
}

static void the_counter_of_time_slowed_is_a_proof_too(void **state)
{
    (void)state;
    static const struct {
        int64_t interval;
        double share; /* of the time, in nanoseconds */
        int samples;
        bool fires;
    } cases[] = {
        {15, 0.9, 2, true},     /* 30 s */
        {15, 0.5, 2, true},     /* half of the time */
        {15, 0.49, 40, false},  /* less */
        {29, 1.0, 1, false},    /* 29 s */
        {60, 0.6, 1, true},     /* a counter covers all of the time between two samples */
        {15, 0.001, 40, false}, /* what microseconds would look like: not claimed */
        {15, 2.0, 40, false},   /* faster than time: not a time */
        {181, 1.0, 3, false},   /* samples too far apart */
        {15, 0.0, 40, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_thermal_throttle, NULL);
        for (int k = 0; k <= cases[i].samples; k++) {
            double ns = (double)(k * cases[i].interval * TC_SECOND);
            feed(h, metric(k * cases[i].interval, 0, TC_METRIC_GPU_THERMAL_VIOLATION,
                           5e9 + ns * cases[i].share));
        }
        const struct tc_finding *f = told(h, 10000);
        assert_int_equal(f != NULL, cases[i].fires);
        if (f != NULL) {
            assert_text(f->discriminator, "sw_thermal");
            assert_says(f->evidence[0].description, "time slowed by heat");
        }
        tc_harness_destroy(h);
    }
}

static void the_counter_of_time_slowed_tells_the_end_too(void **state)
{
    struct tc_harness *h = *state;
    double value = 0;
    int64_t t = 0;
    for (; t <= 120; t += 30, value += 25e9) {
        feed(h, metric(t, 0, TC_METRIC_GPU_THERMAL_VIOLATION, value));
    }
    assert_false(told(h, t)->resolved);
    value -= 25e9;
    feed(h, metric(t, 0, TC_METRIC_GPU_THERMAL_VIOLATION, value));
    assert_false(told(h, t)->resolved);
    feed(h, metric(t + 30, 0, TC_METRIC_GPU_THERMAL_VIOLATION, value));
    assert_true(told(h, t + 30)->resolved);
}

static void a_restart_of_the_counter_is_no_rise(void **state)
{
    struct tc_harness *h = *state;
    feed(h, metric(0, 0, TC_METRIC_GPU_THERMAL_VIOLATION, 500e9));
    feed(h, metric(30, 0, TC_METRIC_GPU_THERMAL_VIOLATION, 0));
    feed(h, metric(60, 0, TC_METRIC_GPU_THERMAL_VIOLATION, 0));
    assert_null(told(h, 200));
}

static void the_bits_know_better_than_the_counter(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t t = 0; t <= 60; t += 30) {
        feed(h, metric(t, 0, TC_METRIC_GPU_THERMAL_VIOLATION, (double)(t * TC_SECOND)));
    }
    assert_text(told(h, 100)->discriminator, "sw_thermal");
    slow(h, 0, 100, 140, HW_THERMAL);
    assert_text(told(h, 200)->discriminator, "hw_thermal");
    assert_int_equal(tc_harness_count(h), 2);
}

static void power_caps_and_heat_alone_raise_nothing(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t t = 0; t <= 600; t += 10) {
        feed(h, metric(t, 0, TC_METRIC_GPU_TEMP, 95));
        feed(h, metric(t, 0, TC_METRIC_GPU_POWER_VIOLATION, (double)(t * TC_SECOND)));
        feed(h, reasons(t, 0, 4));
    }
    assert_null(told(h, 1000));
}

static void a_temperature_that_is_old_or_none_is_not_used(void **state)
{
    struct tc_harness *h = *state;
    feed(h, metric(-181, 0, TC_METRIC_GPU_TEMP, 90));
    slow(h, 0, 0, 40, HW_THERMAL);
    feed(h, metric(41, 0, TC_METRIC_GPU_TEMP, 0));
    feed(h, metric(42, 0, TC_METRIC_GPU_TEMP, 9e18));
    const struct tc_finding *f = told(h, 100);
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
    assert_false(tc_harness_has(f, KEY("temperature_celsius")));
}

static void samples_that_come_late_or_twice_say_nothing(void **state)
{
    struct tc_harness *h = *state;
    feed(h, reasons(0, 0, HW_THERMAL));
    feed(h, reasons(20, 0, HARMLESS));
    feed(h, reasons(20, 0, HW_THERMAL)); /* another word of the same time */
    feed(h, reasons(10, 0, HW_THERMAL));
    feed(h, reasons(30, 0, HW_THERMAL));
    feed(h, reasons(59, 0, HW_THERMAL));
    feed(h, reasons(25, 0, HW_THERMAL));
    assert_null(told(h, 200));
}

static void the_times_are_knobs(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t value;
        int64_t slow_until;
        int64_t interval;
        bool fires;
    } cases[] = {
        {"sustained", 100 * TC_SECOND, 90, 10, false},
        {"sustained", 100 * TC_SECOND, 100, 10, true},
        {"gap", 20 * TC_SECOND, 200, 20, true},
        {"gap", 20 * TC_SECOND, 200, 25, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness_options options = {.param = cases[i].name, .value = cases[i].value};
        struct tc_harness *h = tc_harness_create(&tc_detector_thermal_throttle, &options);
        for (int64_t t = 0; t <= cases[i].slow_until; t += cases[i].interval) {
            feed(h, reasons(t, 0, HW_THERMAL));
        }
        assert_int_equal(told(h, 1000) != NULL, cases[i].fires);
        tc_harness_destroy(h);
    }
    struct tc_harness_options clear = {.param = "clear", .value = 10 * TC_SECOND};
    struct tc_harness *h = tc_harness_create(&tc_detector_thermal_throttle, &clear);
    slow(h, 0, 0, 40, HW_THERMAL);
    slow(h, 0, 50, 60, 0);
    assert_true(told(h, 61)->resolved);
    tc_harness_destroy(h);

    struct tc_harness_options three = {.param = "gpus", .value = 3};
    h = tc_harness_create(&tc_detector_thermal_throttle, &three);
    slow(h, 0, 0, 40, HW_THERMAL);
    slow(h, 1, 0, 40, HW_THERMAL);
    const struct tc_finding *f = told(h, 100);
    assert_text(tc_harness_text(f, KEY("level")), "gpu");
    assert_says(f->headline, "2 GPUs of node gpu-07 are slowed");
    slow(h, 2, 60, 100, HW_THERMAL);
    assert_text(tc_harness_text(told(h, 200), KEY("level")), "node");
    tc_harness_destroy(h);
}

static void the_most_of_the_gpus_name_the_group(void **state)
{
    struct tc_harness *h = *state;
    slow(h, 0, 0, 40, SW_THERMAL);
    slow(h, 1, 0, 40, SW_THERMAL);
    slow(h, 2, 0, 40, HW_THERMAL);
    assert_text(told(h, 100)->discriminator, "sw_thermal");
    slow(h, 3, 60, 100, HW_THERMAL);
    assert_text(told(h, 200)->discriminator, "hw_thermal"); /* as many: the worse */
}

static void what_names_no_gpu_or_no_time_is_counted(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event bare = reasons(0, 0, HW_THERMAL);
    bare.scope.gpu_uuid = TC_EMPTY;
    bare.scope.gpu_index = -1;
    struct tc_event undated = reasons(0, 0, HW_THERMAL);
    undated.time_ns = TC_TIME_NONE;
    static char rack[300];
    memset(rack, 'r', sizeof rack);
    struct tc_event wide = reasons(0, 0, HW_THERMAL);
    wide.metric.rack = tc_slice_make(rack, sizeof rack);
    feed(h, bare);
    feed(h, undated);
    feed(h, wide);
    feed(h, reasons(0, 0, -1));
    feed(h, reasons(0, 0, 9.3e18));
    assert_null(told(h, 100));
    assert_int_equal(tc_harness_stats(h).ignored, 5);
}

static void a_gpu_without_a_node_is_told_alone(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t t = 0; t <= 60; t += 10) {
        for (int gpu = 0; gpu < 2; gpu++) {
            struct tc_event ev = reasons(t, gpu, HW_THERMAL);
            ev.scope.node = TC_EMPTY;
            feed(h, ev);
        }
    }
    const struct tc_finding *f = told(h, 100);
    assert_int_equal(tc_harness_count(h), 2);
    assert_says(f->headline, "of a node that is not named is slowed");
}

static void other_names_of_a_gpu_are_told(void **state)
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
    struct tc_event inventory;
    tc_event_init(&inventory, TC_EVENT_GPU_INVENTORY);
    inventory.time_ns = AT(-60);
    inventory.scope.node = TC_LIT("gpu-07");
    inventory.scope.gpu_uuid = TC_LIT("GPU-3");
    inventory.scope.pci = (struct tc_bdf){.bus = 0xb3, .known = true};
    feed(h, inventory);
    slow(h, 3, 0, 40, HW_THERMAL);
    const struct tc_finding *f = told(h, 100);
    assert_int_equal(f->scope.rank, 11);
    assert_text(f->scope.job, "pretrain");
    assert_true(f->scope.pci.known);
}

static void a_rack_with_more_gpus_than_fit_is_counted(void **state)
{
    struct tc_harness *h = *state;
    char name[32];
    for (int64_t t = 0; t <= 40; t += 20) {
        for (unsigned i = 0; i < 1000; i++) {
            (void)snprintf(name, sizeof name, "n%u", i);
            feed(h, in_rack(reasons(t, 0, HW_THERMAL), name));
            struct tc_event ev = in_rack(reasons(t, 0, HW_THERMAL), name);
            ev.scope.gpu_uuid = ev.scope.node;
            feed(h, ev);
        }
    }
    const struct tc_finding *f = told(h, 100);
    assert_int_equal(tc_harness_count(h), 1);
    assert_true(f->incomplete);
    assert_true(tc_harness_int(f, KEY("gpu_count")) >= 1000);
    assert_true(tc_harness_stats(h).dropped >= 800);
    assert_in_range(f->evidence_count, 2, 8);
}

static void many_gpus_fill_the_window_and_are_counted(void **state)
{
    struct tc_harness *h = *state;
    char name[32];
    for (unsigned i = 0; i < 60000; i++) {
        (void)snprintf(name, sizeof name, "GPU-%u", i);
        struct tc_event ev = reasons(i / 1000, 0, HW_THERMAL);
        ev.scope.gpu_uuid = tc_slice_cstr(name);
        ev.scope.gpu_index = -1;
        feed(h, ev);
    }
    assert_true(tc_harness_stats(h).dropped > 1000);
    (void)told(h, 1000);
}

/* dcgm-exporter measures every half minute: who scrapes more often sees each number twice. */
static void a_number_that_was_not_measured_anew_ends_nothing(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t t = 0; t <= 120; t += 15) {
        double slowed_ns = (double)(t / 30 * 30) * 0.9 * 1e9;
        feed(h, metric(t, 3, TC_METRIC_GPU_THERMAL_VIOLATION, slowed_ns));
    }
    const struct tc_finding *f = told(h, 200);
    assert_non_null(f);
    assert_text(f->discriminator, "sw_thermal");
}

/* The same events at the same time in every order: the last word is the same. */
static void the_order_of_equal_times_does_not_matter(void **state)
{
    (void)state;
    char *first = NULL;
    for (unsigned order = 0; order < 24; order++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_thermal_throttle, NULL);
        for (int64_t t = 0; t <= 60; t += 15) {
            unsigned left[4] = {0, 1, 2, 3};
            unsigned code = order;
            for (unsigned i = 4; i > 0; i--) {
                unsigned pick = code % i;
                int gpu = (int)left[pick];
                code /= i;
                feed(h, metric(t, gpu, TC_METRIC_GPU_TEMP, 85));
                feed(h, in_rack(reasons(t, gpu, gpu % 2 == 0 ? HW_THERMAL : SW_THERMAL),
                                gpu < 2 ? "gpu-07" : "gpu-08"));
                memmove(left + pick, left + pick + 1, (3 - pick) * sizeof left[0]);
            }
        }
        (void)told(h, 100);
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

static void memory_that_is_too_small_is_reported(void **state)
{
    (void)state;
    struct tc_harness_options small_window = {.arena_bytes = 1 << 20};
    struct tc_harness *h = tc_harness_create(&tc_detector_thermal_throttle, &small_window);
    assert_int_equal(tc_harness_init_status(h), TC_E_NOMEM);
    tc_harness_destroy(h);

    /* Every size of scratch either works or says that it does not. */
    bool worked = false;
    for (size_t bytes = 256; bytes < 16384; bytes += 512) {
        struct tc_harness_options options = {.scratch_bytes = bytes};
        h = tc_harness_create(&tc_detector_thermal_throttle, &options);
        struct tc_event events[] = {reasons(0, 0, HW_THERMAL), reasons(40, 0, HW_THERMAL),
                                    reasons(80, 0, 0), reasons(140, 0, 0)};
        tc_status status = TC_OK;
        for (size_t i = 0; i < 4 && status == TC_OK; i++) {
            status = tc_harness_try_feed(h, &events[i]);
        }
        assert_true(status == TC_OK || status == TC_E_NOMEM);
        assert_false(worked && status != TC_OK);
        worked = status == TC_OK;
        assert_int_equal(tc_harness_count(h) == 1, worked);
        tc_harness_destroy(h);
    }
    assert_true(worked);
}

static void a_sink_that_fails_is_passed_on(void **state)
{
    (void)state;
    struct tc_harness_options options = {.sink_status = TC_E_IO};
    struct tc_harness *h = tc_harness_create(&tc_detector_thermal_throttle, &options);
    slow(h, 0, 0, 40, HW_THERMAL);
    slow(h, 0, 50, 100, 0);
    struct tc_event last = reasons(110, 0, 0);
    assert_int_equal(tc_harness_try_feed(h, &last), TC_E_IO);
    tc_harness_destroy(h);
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

#define SLOWED "Detected clocks event due to thermal violation in GPU 3."

static void what_dcgm_says_needs_no_samples(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = health(AT(0), "thermal", SLOWED);
    ev.scope.node = TC_LIT("gpu-07");
    feed(h, ev);
    const struct tc_finding *f = told(h, 60);
    assert_non_null(f);
    assert_text(f->discriminator, "sw_thermal");
    assert_text(f->headline, "GPU 3 of node gpu-07 is slowed by heat");
    assert_text(f->scope.node, "gpu-07");
    assert_int_equal(f->scope.gpu_index, 3);
    assert_text(f->evidence[0].description, "GPU 3 of node gpu-07: DCGM says that heat slows it");
    size_t count = tc_harness_count(h);
    ev.time_ns = AT(120); /* again */
    feed(h, ev);
    (void)told(h, 200);
    assert_int_equal(tc_harness_count(h), count);
    slow(h, 3, 300, 400, HARMLESS); /* and over */
    assert_true(told(h, 500)->resolved);
}

static void what_dcgm_says_needs_no_date_and_no_node(void **state)
{
    struct tc_harness *h = *state;
    feed(h, health(TC_TIME_UNDATED_MIN + 5, "thermal", SLOWED));
    tc_harness_finish(h, TC_TIME_NONE);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_says(f->headline, "GPU 3 of a node that is not named is slowed by heat");
    assert_int_equal(f->scope.node.len, 0);
}

static void other_findings_of_dcgm_say_nothing_of_heat(void **state)
{
    struct tc_harness *h = *state;
    feed(h, health(AT(0), "power", "Detected clocks event due to power violation in GPU 3."));
    feed(h, health(AT(0), "thermal", "Temperature 91 of GPU 3 exceeded the maximum of 90"));
    struct tc_event ev = health(AT(0), "thermal", "thermal violation");
    ev.scope.gpu_index = -1; /* of which GPU? */
    feed(h, ev);
    assert_null(told(h, 600));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(what_dcgm_says_needs_no_samples),
        TEST(what_dcgm_says_needs_no_date_and_no_node),
        TEST(other_findings_of_dcgm_say_nothing_of_heat),
        TEST(reasons_that_come_one_by_one_are_one_sample),
        TEST(single_reasons_count_only_where_no_sample_has_all),
        TEST(a_gpu_that_is_slowed_for_long_enough_is_told),
        TEST(every_reason_has_its_discriminator),
        TEST(the_time_includes_its_edge_and_one_sample_is_no_proof),
        TEST(one_clear_sample_ends_the_run),
        TEST(hardware_and_software_in_turns_are_one_run),
        TEST(the_hardwares_own_bit_counts_alone_only),
        TEST(the_beginning_is_that_of_the_first),
        TEST(it_is_told_again_when_it_worsens),
        TEST(it_is_over_when_clear_for_long_enough),
        TEST(what_is_over_before_it_was_told_is_told_once),
        TEST(several_gpus_of_a_node_are_the_nodes),
        TEST(one_gpu_that_becomes_several_stays_one_incident),
        TEST(nodes_without_a_rack_are_told_apart),
        TEST(several_nodes_of_a_rack_are_the_racks),
        TEST(the_rack_of_a_node_is_learned),
        TEST(a_few_gpus_of_a_rack_are_not_the_rack),
        TEST(what_was_told_of_nodes_goes_on_in_the_rack),
        TEST(a_node_that_is_clear_is_resolved_beside_another),
        TEST(the_counter_of_time_slowed_is_a_proof_too),
        TEST(the_counter_of_time_slowed_tells_the_end_too),
        TEST(a_restart_of_the_counter_is_no_rise),
        TEST(the_bits_know_better_than_the_counter),
        TEST(power_caps_and_heat_alone_raise_nothing),
        TEST(a_temperature_that_is_old_or_none_is_not_used),
        TEST(samples_that_come_late_or_twice_say_nothing),
        TEST(the_times_are_knobs),
        TEST(the_most_of_the_gpus_name_the_group),
        TEST(what_names_no_gpu_or_no_time_is_counted),
        TEST(a_gpu_without_a_node_is_told_alone),
        TEST(other_names_of_a_gpu_are_told),
        TEST(a_rack_with_more_gpus_than_fit_is_counted),
        TEST(many_gpus_fill_the_window_and_are_counted),
        TEST(a_number_that_was_not_measured_anew_ends_nothing),
        TEST(the_order_of_equal_times_does_not_matter),
        TEST(memory_that_is_too_small_is_reported),
        TEST(a_sink_that_fails_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
