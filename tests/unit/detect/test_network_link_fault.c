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

#define KEY(name) "tracecore.alert.network_link_fault." name
#define AT(seconds) ((INT64_C(1767225600) + (seconds)) * TC_SECOND) /* 2026-01-01T00:00:00Z */

static int set_up(void **state)
{
    *state = tc_harness_create(&tc_detector_network_link_fault, NULL);
    assert_int_equal(tc_harness_init_status(*state), TC_OK);
    return 0;
}

static int tear_down(void **state)
{
    tc_harness_destroy(*state);
    return 0;
}

static struct tc_event line(int64_t seconds, const char *fault, const char *device)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_NETWORK_FAULT);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-07");
    ev.fault.fault = tc_slice_cstr(fault);
    ev.fault.device = tc_slice_cstr(device);
    ev.raw = (struct tc_raw){.source = 1, .offset = (uint64_t)(seconds + 100000), .length = 60};
    return ev;
}

static struct tc_event sample(int64_t seconds, enum tc_metric metric, const char *device,
                              double value)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-07");
    ev.metric.metric = (uint16_t)metric;
    ev.metric.device = tc_slice_cstr(device);
    ev.metric.value = value;
    ev.raw = (struct tc_raw){.source = 2, .offset = (uint64_t)(seconds + 100000), .length = 40};
    return ev;
}

static void feed(struct tc_harness *h, struct tc_event ev)
{
    tc_harness_tick(h, ev.time_ns);
    tc_harness_feed(h, &ev);
}

/* The node lives: a metric that is about something else, every half minute. */
static void live(struct tc_harness *h, int64_t from, int64_t to)
{
    for (int64_t s = from; s <= to; s += 30) {
        feed(h, sample(s, TC_METRIC_GPU_TEMP, "", 50));
    }
}

static void flap(struct tc_harness *h, int64_t seconds, const char *device)
{
    feed(h, line(seconds, "link_down", device));
    feed(h, line(seconds + 2, "link_up", device));
}

static void three_flaps_in_the_window_are_a_fault(void **state)
{
    struct tc_harness *h = *state;
    flap(h, 0, "ens1f0np0");
    flap(h, 300, "ens1f0np0");
    tc_harness_tick(h, AT(400));
    assert_int_equal(tc_harness_count(h), 0);
    flap(h, 600, "ens1f0np0"); /* the edge is inside */
    tc_harness_tick(h, AT(606));
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->discriminator, "link_flap");
    assert_int_equal(f->severity, TC_SEVERITY_WARNING);
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_text(f->headline, "Port ens1f0np0 of node gpu-07 went down 3 times within 10 min");
    assert_says(f->remediation, "On node gpu-07, port ens1f0np0: ");
    assert_text(f->scope.node, "gpu-07");
    assert_int_equal(tc_harness_int(f, KEY("flaps")), 3);
    assert_text(tc_harness_text(f, KEY("device")), "ens1f0np0");
    assert_int_equal(f->evidence_count, 3);
    assert_text(f->evidence[0].kind, "network_fault");
    assert_int_equal(f->first_ns, AT(0));
}

static void a_flap_after_the_window_starts_again(void **state)
{
    struct tc_harness *h = *state;
    flap(h, 0, "eth0");
    flap(h, 300, "eth0");
    flap(h, 601, "eth0");
    tc_harness_tick(h, AT(700));
    assert_int_equal(tc_harness_count(h), 0);
    flap(h, 900, "eth0");
    tc_harness_tick(h, AT(910));
    assert_int_equal(tc_harness_count(h), 1);
    assert_int_equal(tc_harness_finding(h, 0)->first_ns, AT(300));
}

static void ports_and_nodes_are_counted_apart(void **state)
{
    struct tc_harness *h = *state;
    flap(h, 0, "eth0");
    flap(h, 100, "eth1");
    flap(h, 200, "eth2");
    struct tc_event ev = line(300, "link_down", "eth0");
    ev.scope.node = TC_LIT("gpu-08");
    feed(h, ev);
    flap(h, 400, "eth0");
    tc_harness_tick(h, AT(500));
    assert_int_equal(tc_harness_count(h), 0);
}

static void a_flap_told_by_card_bond_and_port_is_one(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t s = 0; s <= 200; s += 100) {
        struct tc_event card = line(s, "link_down", "ens1f0");
        (void)tc_bdf_parse(TC_LIT("0000:5c:00.0"), &card.scope.pci);
        struct tc_event port = line(s, "ib_link_down", "mlx5_3");
        port.scope.pci = card.scope.pci;
        feed(h, card);
        feed(h, port);
        feed(h, line(s, "bond_link_down", "ens1f0"));
        feed(h, card); /* from a second log */
        card = line(s + 3, "link_up", "ens1f0");
        port.fault.fault = TC_LIT("ib_link_up");
        port.time_ns = card.time_ns;
        feed(h, card);
        feed(h, port);
        feed(h, line(s + 3, "bond_link_up", "ens1f0"));
        tc_harness_tick(h, AT(s + 20));
        assert_int_equal(tc_harness_count(h), s == 200);
    }
    const struct tc_finding *f = tc_harness_finding(h, 0);
    assert_int_equal(tc_harness_int(f, KEY("flaps")), 3);
    assert_int_equal(f->scope.pci.bus, 0x5c);
}

static void downs_without_ups_count_too(void **state)
{
    struct tc_harness *h = *state;
    feed(h, line(0, "link_down", "eth0"));
    feed(h, line(9, "link_down", "eth0")); /* the same, from another log */
    feed(h, line(100, "link_down", "eth0"));
    tc_harness_tick(h, AT(150));
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, line(200, "link_down", "eth0"));
    tc_harness_tick(h, AT(206));
    assert_int_equal(tc_harness_count(h), 1);
}

static void counters_count_flaps(void **state)
{
    static const struct {
        enum tc_metric metric;
        double enough;
        double short_of;
    } cases[] = {
        {TC_METRIC_IB_LINK_DOWNED, 3, 2},
        {TC_METRIC_IB_LINK_RECOVERY, 3, 2},
        {TC_METRIC_NET_CARRIER_CHANGES, 6, 5},
        {TC_METRIC_NET_CARRIER_DOWNS, 3, 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int enough = 0; enough < 2; enough++) {
            struct tc_harness *h = tc_harness_create(&tc_detector_network_link_fault, NULL);
            double rise = enough ? cases[i].enough : cases[i].short_of;
            feed(h, sample(0, cases[i].metric, "mlx5_0", 40));
            feed(h, sample(60, cases[i].metric, "mlx5_0", 40 + rise));
            feed(h, sample(60, cases[i].metric, "mlx5_0", 40 + rise)); /* scraped twice */
            assert_int_equal(tc_harness_count(h), enough);
            if (enough) {
                const struct tc_finding *f = tc_harness_finding(h, 0);
                tc_harness_conforms(f);
                assert_text(f->evidence[0].kind, "metric");
                assert_int_equal(tc_harness_int(f, KEY("flaps")), 3);
            }
            tc_harness_destroy(h);
        }
    }
}

static void a_counter_that_starts_again_is_no_flap(void **state)
{
    struct tc_harness *h = *state;
    feed(h, sample(0, TC_METRIC_IB_LINK_DOWNED, "mlx5_0", 200));
    feed(h, sample(60, TC_METRIC_IB_LINK_DOWNED, "mlx5_0", 0));
    feed(h, sample(120, TC_METRIC_IB_LINK_DOWNED, "mlx5_0", 2));
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, sample(180, TC_METRIC_IB_LINK_DOWNED, "mlx5_0", 3));
    assert_int_equal(tc_harness_count(h), 1);
}

static void odd_carrier_changes_are_kept_for_the_next(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t i = 0; i <= 6; i++) {
        feed(h, sample(30 * i, TC_METRIC_NET_CARRIER_CHANGES, "eth0", (double)(10 + i)));
        assert_int_equal(tc_harness_count(h), i == 6);
    }
}

static void ports_that_go_down_together_were_taken_down(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t s = 0; s < 500; s += 100) { /* a driver that is loaded again and again */
        for (int p = 0; p < 4; p++) {
            char device[32];
            (void)snprintf(device, sizeof device, "ens%df0", p);
            feed(h, line(s + p, "link_down", device));
        }
        for (int p = 0; p < 4; p++) {
            char device[32];
            (void)snprintf(device, sizeof device, "ens%df0", p);
            feed(h, line(s + 20 + p, "link_up", device));
        }
    }
    live(h, 520, 900);
    assert_int_equal(tc_harness_count(h), 0);
}

static void ports_that_stay_down_together_are_told_by_metrics_only(void **state)
{
    struct tc_harness *h = *state;
    for (int p = 0; p < 3; p++) {
        char device[32];
        (void)snprintf(device, sizeof device, "ens%df0", p);
        feed(h, sample(0, TC_METRIC_NET_UP, device, 1));
        feed(h, line(10, "link_down", device));
    }
    live(h, 15, 200);
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, sample(210, TC_METRIC_NET_UP, "ens0f0", 0));
    feed(h, sample(270, TC_METRIC_NET_UP, "ens0f0", 0));
    assert_int_equal(tc_harness_count(h), 1);
    assert_text(tc_harness_finding(h, 0)->discriminator, "link_down");
}

/* One scrape of an interface, its parts in either order. */
static void admin_scrape(struct tc_harness *h, int64_t s, double up, double admin, bool backwards)
{
    for (int i = 0; i < 2; i++) {
        bool state = (i == 0) != backwards;
        feed(h, state ? sample(s, TC_METRIC_NET_UP, "ens1f0", up)
                      : sample(s, TC_METRIC_NET_ADMIN_UP, "ens1f0", admin));
    }
}

static void a_port_that_somebody_took_down_is_not_told(void **state)
{
    (void)state;
    for (int backwards = 0; backwards < 2; backwards++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_network_link_fault, NULL);
        admin_scrape(h, 0, 1, 1, backwards);
        feed(h, line(10, "link_down", "ens1f0"));
        for (int64_t s = 15; s <= 300; s += 15) {
            admin_scrape(h, s, 0, 0, backwards);
        }
        live(h, 310, 500);
        assert_int_equal(tc_harness_count(h), 0);
        for (int64_t s = 600; s <= 660; s += 15) { /* meant to be up again, and stays down */
            admin_scrape(h, s, 0, 1, backwards);
        }
        assert_int_equal(tc_harness_count(h), 0); /* from 615 on: 45 s */
        admin_scrape(h, 675, 0, 1, backwards);
        assert_int_equal(tc_harness_count(h), 1);
        admin_scrape(h, 690, 0, 0, backwards); /* taken down after it was told: still that fault */
        admin_scrape(h, 705, 0, 0, backwards);
        assert_int_equal(tc_harness_count(h), 1);
        admin_scrape(h, 720, 1, 1, backwards);
        assert_int_equal(tc_harness_count(h), 2);
        assert_true(tc_harness_finding(h, 1)->resolved);
        tc_harness_destroy(h);
    }
}

static void two_ports_at_once_are_each_their_own(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t s = 0; s <= 200; s += 100) {
        feed(h, line(s, "link_down", "eth0"));
        feed(h, line(s + 1, "link_down", "eth1"));
        feed(h, line(s + 4, "link_up", "eth0"));
        feed(h, line(s + 5, "link_up", "eth1"));
    }
    tc_harness_tick(h, AT(300));
    assert_int_equal(tc_harness_count(h), 2);
}

static void lines_of_the_boot_do_not_count(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t s = 0; s <= 100; s += 20) {
        struct tc_event ev = line(s, "link_down", "eth0");
        ev.uptime_ns = s * TC_SECOND;
        feed(h, ev);
        feed(h, line(s + 12, "link_up", "eth0"));
    }
    tc_harness_tick(h, AT(200));
    assert_int_equal(tc_harness_count(h), 0);
}

static void a_link_that_stays_down_while_its_node_lives_is_a_fault(void **state)
{
    struct tc_harness *h = *state;
    live(h, 0, 60);
    feed(h, line(70, "link_down", "eth0"));
    live(h, 90, 129);
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, sample(130, TC_METRIC_GPU_TEMP, "", 50)); /* 60 s */
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->discriminator, "link_down");
    assert_int_equal(f->severity, TC_SEVERITY_CRITICAL);
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_text(f->headline, "Port eth0 of node gpu-07 went down at 00:01:10 and has not come up");
    assert_int_equal(tc_harness_int(f, KEY("down_seconds")), 60);
    feed(h, line(200, "link_up", "eth0"));
    f = tc_harness_finding(h, -1);
    tc_harness_conforms(f);
    assert_true(f->resolved);
    assert_text(f->headline, "Port eth0 of node gpu-07 is up again after 2 min 10 s");
    assert_int_equal(f->severity, TC_SEVERITY_INFO);
}

/* No sample comes between the time that counts and the line that ends it. */
static void the_line_that_ends_it_proves_how_long_it_was_down(void **state)
{
    (void)state;
    static const struct {
        int64_t up;
        size_t count;
    } cases[] = {{129, 0}, {130, 2}, {132, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_network_link_fault, NULL);
        live(h, 0, 60);
        feed(h, line(70, "link_down", "eth0"));
        live(h, 80, 128);
        feed(h, line(cases[i].up, "link_up", "eth0"));
        live(h, 133, 400);
        assert_int_equal(tc_harness_count(h), cases[i].count);
        if (cases[i].count > 0) {
            assert_text(tc_harness_finding(h, 0)->discriminator, "link_down");
            assert_true(tc_harness_finding(h, 1)->resolved);
        }
        tc_harness_destroy(h);
    }
}

static void a_link_of_a_node_that_is_gone_is_no_fault(void **state)
{
    struct tc_harness *h = *state;
    live(h, 0, 60);
    feed(h, line(61, "link_down", "eth0"));
    struct tc_event other = sample(0, TC_METRIC_GPU_TEMP, "", 50);
    other.scope.node = TC_LIT("gpu-08");
    for (int64_t s = 90; s < 900; s += 30) {
        other.time_ns = AT(s);
        feed(h, other);
    }
    assert_int_equal(tc_harness_count(h), 0);
}

static void a_reboot_is_no_fault(void **state)
{
    struct tc_harness *h = *state;
    live(h, 0, 60);
    feed(h, line(61, "link_down", "eth0"));
    live(h, 240, 270); /* back after three minutes */
    feed(h, line(290, "link_up", "eth0"));
    live(h, 300, 900);
    assert_int_equal(tc_harness_count(h), 0);
}

static void a_link_that_is_still_down_long_after_a_gap_is_partial(void **state)
{
    struct tc_harness *h = *state;
    feed(h, line(0, "link_down", "eth0"));
    live(h, 240, 359);
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, sample(360, TC_METRIC_GPU_TEMP, "", 50)); /* two minutes after it came back */
    assert_int_equal(tc_harness_count(h), 1);
    tc_harness_conforms(tc_harness_finding(h, 0));
    assert_int_equal(tc_harness_finding(h, 0)->confidence, TC_CONFIDENCE_PARTIAL);
}

static void gauges_tell_of_a_link_that_was_up(void **state)
{
    static const struct {
        enum tc_metric metric;
        double up;
        double down;
        double other;
    } cases[] = {{TC_METRIC_NET_UP, 1, 0, 1}, {TC_METRIC_IB_STATE, 4, 1, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_network_link_fault, NULL);
        for (int64_t s = 0; s < 600; s += 30) { /* never up: nobody uses it */
            feed(h, sample(s, cases[i].metric, "mlx5_9", cases[i].down));
        }
        assert_int_equal(tc_harness_count(h), 0);
        feed(h, sample(600, cases[i].metric, "mlx5_1", cases[i].up));
        feed(h, sample(630, cases[i].metric, "mlx5_1", cases[i].down));
        feed(h, sample(660, cases[i].metric, "mlx5_1", cases[i].down));
        feed(h, sample(689, cases[i].metric, "mlx5_1", cases[i].down));
        assert_int_equal(tc_harness_count(h), 0);
        feed(h, sample(690, cases[i].metric, "mlx5_1", cases[i].down));
        assert_int_equal(tc_harness_count(h), 1);
        tc_harness_conforms(tc_harness_finding(h, 0));
        feed(h, sample(720, cases[i].metric, "mlx5_1", cases[i].up));
        assert_true(tc_harness_finding(h, -1)->resolved);
        tc_harness_clear(h);
        feed(h, sample(750, cases[i].metric, "mlx5_1", cases[i].other));
        feed(h, sample(900, cases[i].metric, "mlx5_1", cases[i].other));
        assert_int_equal(tc_harness_count(h), 0);
        tc_harness_destroy(h);
    }
}

static void errors_above_the_rate_are_a_fault(void **state)
{
    static const enum tc_metric metrics[] = {TC_METRIC_IB_SYMBOL_ERRORS, TC_METRIC_IB_RCV_ERRORS};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_network_link_fault, NULL);
        feed(h, sample(0, metrics[i], "mlx5_0", 5000));
        feed(h, sample(30, metrics[i], "mlx5_0", 5050));
        feed(h, sample(60, metrics[i], "mlx5_0", 5099));
        assert_int_equal(tc_harness_count(h), 0);
        feed(h, sample(90, metrics[i], "mlx5_0", 5100));
        assert_int_equal(tc_harness_count(h), 1);
        const struct tc_finding *f = tc_harness_finding(h, 0);
        tc_harness_conforms(f);
        assert_text(f->discriminator, "symbol_errors");
        assert_int_equal(tc_harness_int(f, KEY("errors")), 100);
        assert_true(tc_slice_contains(f->headline, i == 0
                                                       ? TC_LIT("100 symbol errors within 10 min")
                                                       : TC_LIT("100 receive errors")));
        feed(h, sample(120, metrics[i], "mlx5_0", 5190)); /* not twice as many */
        assert_int_equal(tc_harness_count(h), 1);
        feed(h, sample(150, metrics[i], "mlx5_0", 5200));
        assert_int_equal(tc_harness_count(h), 2);
        tc_harness_tick(h, AT(760));
        assert_int_equal(tc_harness_count(h), 3);
        assert_true(tc_harness_finding(h, -1)->resolved);
        tc_harness_conforms(tc_harness_finding(h, -1));
        tc_harness_destroy(h);
    }
}

static void slow_errors_never_add_up(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t i = 0; i < 200; i++) {
        feed(h, sample(60 * i, TC_METRIC_IB_SYMBOL_ERRORS, "mlx5_0", (double)(9 * i)));
    }
    assert_int_equal(tc_harness_count(h), 0);
}

static void scrape(struct tc_harness *h, int64_t s, double packets, double drops, double errors)
{
    feed(h, sample(s, TC_METRIC_NET_RX_ERRORS, "eth0", errors));
    feed(h, sample(s, TC_METRIC_NET_RX_PACKETS, "eth0", packets));
    feed(h, sample(s, TC_METRIC_NET_RX_DROPS, "eth0", drops));
}

static void loss_for_a_minute_is_a_fault(void **state)
{
    struct tc_harness *h = *state;
    scrape(h, 0, 1e6, 100, 100);
    scrape(h, 30, 1.1e6, 2100, 100); /* 2 % */
    scrape(h, 60, 1.2e6, 3100, 1100);
    assert_int_equal(tc_harness_count(h), 0);
    scrape(h, 90, 1.3e6, 5100, 1100); /* closes the scrape at 60 */
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->discriminator, "packet_loss");
    assert_int_equal(f->confidence, TC_CONFIDENCE_FULL);
    assert_text(f->headline,
                "Port eth0 of node gpu-07 loses up to 1.9 % of what it receives, for 1 min");
    assert_int_equal(f->first_ns, AT(0));
    scrape(h, 120, 1.4e6, 5100, 1100);
    scrape(h, 150, 1.5e6, 5100, 1100);
    scrape(h, 180, 1.6e6, 5100, 1100);
    assert_int_equal(tc_harness_count(h), 1);
    scrape(h, 210, 1.7e6, 5100, 1100); /* calm from 120 to 180 */
    assert_int_equal(tc_harness_count(h), 2);
    assert_true(tc_harness_finding(h, -1)->resolved);
    tc_harness_conforms(tc_harness_finding(h, -1));
}

static void loss_below_the_share_or_the_time_is_none(void **state)
{
    struct tc_harness *h = *state;
    double packets = 0;
    double drops = 0;
    for (int64_t i = 0; i < 20; i++) { /* exactly 1 % */
        scrape(h, 30 * i, packets, drops, 0);
        packets += 99000;
        drops += 1000;
    }
    for (int64_t i = 20; i < 60; i++) { /* 5 %, in every third interval */
        scrape(h, 30 * i, packets, drops, 0);
        packets += 95000;
        drops += i % 3 == 0 ? 5000 : 0;
    }
    assert_int_equal(tc_harness_count(h), 0);
}

static void an_idle_port_and_a_restart_lose_nothing(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t i = 0; i < 20; i++) {
        scrape(h, 30 * i, (double)(999 * i), (double)(500 * i), 0);
    }
    assert_int_equal(tc_harness_count(h), 0);
    scrape(h, 600, 5, 90000, 0);
    scrape(h, 660, 6, 95000, 0);
    scrape(h, 720, 7, 99000, 0);
    assert_int_equal(tc_harness_count(h), 0);
}

static void probes_lost_for_a_minute_are_partial(void **state)
{
    struct tc_harness *h = *state;
    feed(h, sample(0, TC_METRIC_PING_LOSS, "10.0.0.9", 0.05));
    feed(h, sample(30, TC_METRIC_PING_LOSS, "10.0.0.9", 0.02));
    feed(h, sample(59, TC_METRIC_PING_LOSS, "10.0.0.9", 0.02));
    assert_int_equal(tc_harness_count(h), 0);
    feed(h, sample(60, TC_METRIC_PING_LOSS, "10.0.0.9", 0.011));
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->discriminator, "packet_loss");
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
    assert_text(f->headline,
                "Up to 5.0 % of the probes from node gpu-07 to 10.0.0.9 are lost, for 1 min");
    assert_int_equal(tc_harness_int(f, KEY("loss_ppm")), 50000);
    feed(h, sample(90, TC_METRIC_PING_LOSS, "10.0.0.9", 0));
    assert_int_equal(tc_harness_count(h), 1);
    feed(h, sample(150, TC_METRIC_PING_LOSS, "10.0.0.9", 0));
    assert_true(tc_harness_finding(h, -1)->resolved);
}

static void probes_that_are_all_lost_or_hardly_say_nothing(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t s = 0; s < 600; s += 30) {
        feed(h, sample(s, TC_METRIC_PING_LOSS, "10.0.0.9", 1));
        feed(h, sample(s, TC_METRIC_PING_LOSS, "10.0.0.8", 0.01));
        feed(h, sample(s, TC_METRIC_PING_LOSS, "10.0.0.7", 1.5));
        feed(h, sample(s, TC_METRIC_PING_LOSS, "10.0.0.6", -0.5));
    }
    assert_int_equal(tc_harness_count(h), 0);
    assert_int_equal(tc_harness_stats(h).ignored, 40);
}

static void a_module_error_is_a_cable_fault_at_once(void **state)
{
    struct tc_harness *h = *state;
    feed(h, line(0, "port_module_high_temperature", "0000:5c:00.0"));
    feed(h, line(0, "port_module_high_temperature", "0000:5c:00.0")); /* of another log */
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->discriminator, "cable_fault");
    assert_says(f->headline, "high temperature");
    assert_int_equal(tc_harness_int(f, KEY("module_errors")), 1);
    feed(h, line(5, "port_module_error", ""));
    assert_int_equal(tc_harness_count(h), 2);
    tc_harness_conforms(tc_harness_finding(h, -1));
    assert_says(tc_harness_finding(h, -1)->headline, "Port (not named) of node gpu-07");
}

static void transfers_that_are_never_acknowledged_name_node_and_peer(void **state)
{
    struct tc_harness *h = *state;
    struct tc_event ev = line(0, "ib_completion_error", "10.0.0.9");
    for (int64_t status = 0; status < 24; status++) { /* others are no fault of the network */
        ev.fault.status = status;
        if (status != 12) {
            feed(h, ev);
        }
    }
    assert_int_equal(tc_harness_count(h), 0);
    ev.fault.status = 12;
    feed(h, ev);
    assert_int_equal(tc_harness_count(h), 1);
    const struct tc_finding *f = tc_harness_finding(h, 0);
    tc_harness_conforms(f);
    assert_text(f->discriminator, "ib_retry_exceeded");
    assert_int_equal(f->confidence, TC_CONFIDENCE_PARTIAL);
    assert_int_equal(f->severity, TC_SEVERITY_CRITICAL);
    assert_text(f->headline,
                "10.0.0.9 does not acknowledge what node gpu-07 sends over InfiniBand or RoCE");
    assert_says(f->remediation, "way to 10.0.0.9");
    assert_int_equal(tc_harness_int(f, KEY("retry_errors")), 1);
    /* A storm is told when it has doubled; another peer is another incident. */
    for (int64_t s = 1; s < 8; s++) {
        struct tc_event again = line(s, "ib_completion_error", "10.0.0.9");
        again.fault.status = 12;
        feed(h, again);
    }
    assert_int_equal(tc_harness_count(h), 4);
    assert_int_equal(tc_harness_int(tc_harness_finding(h, -1), KEY("retry_errors")), 8);
    struct tc_event unnamed = line(9, "ib_completion_error", "");
    unnamed.fault.status = 12;
    feed(h, unnamed);
    assert_int_equal(tc_harness_count(h), 5);
    assert_says(tc_harness_finding(h, -1)->headline, "A peer does not acknowledge");
    tc_harness_conforms(tc_harness_finding(h, -1));
    struct tc_event undated = line(0, "ib_completion_error", "10.0.0.10");
    undated.time_ns = TC_TIME_UNDATED_MIN + 5;
    undated.fault.status = 12;
    tc_harness_feed(h, &undated);
    assert_int_equal(tc_harness_count(h), 6);
    for (int64_t i = 0; i < 9; i++) { /* without times nothing is known of flaps */
        undated = line(0, i % 2 == 0 ? "link_down" : "link_up", "eth0");
        undated.time_ns = TC_TIME_UNDATED_MIN + 1000 * i;
        tc_harness_feed(h, &undated);
    }
    assert_int_equal(tc_harness_count(h), 6);
}

static void what_else_the_card_says_is_no_fault(void **state)
{
    static const char *const faults[] = {"cable_unplugged", "insufficient_power",
                                         "device_health",   "access_reg_failed",
                                         "link_up",         ""};
    struct tc_harness *h = *state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        for (int64_t s = 0; s < 100; s += 10) {
            feed(h, line(s, faults[i], "eth0"));
        }
    }
    live(h, 100, 400);
    assert_int_equal(tc_harness_count(h), 0);
}

static void virtual_interfaces_are_left_out(void **state)
{
    static const char *const names[] = {"veth12ab", "cali317e2eeb40", "lo",         "docker0",
                                        "bond0",    "eth0.100",       "cilium_net", ""};
    struct tc_harness *h = *state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        feed(h, sample(0, TC_METRIC_NET_CARRIER_CHANGES, names[i], 1));
        feed(h, sample(30, TC_METRIC_NET_CARRIER_CHANGES, names[i], 100));
        feed(h, line(40, "link_down", names[i]));
        feed(h, line(60, "link_down", names[i]));
        feed(h, line(80, "link_down", names[i]));
    }
    tc_harness_tick(h, AT(100));
    assert_int_equal(tc_harness_count(h), 0);
}

static void faults_of_one_port_are_one_incident(void **state)
{
    struct tc_harness *h = *state;
    live(h, 0, 30);
    flap(h, 31, "eth0");
    flap(h, 41, "eth0");
    flap(h, 51, "eth0");
    live(h, 60, 90);
    assert_int_equal(tc_harness_count(h), 1);
    char key[128];
    struct tc_slice first = tc_harness_finding(h, 0)->key;
    assert_true(first.len < sizeof key);
    memcpy(key, first.ptr, first.len);
    feed(h, line(91, "link_down", "eth0"));
    live(h, 120, 180);
    const struct tc_finding *f = tc_harness_finding(h, -1);
    assert_text(f->discriminator, "link_down");
    assert_true(tc_slice_eq(f->key, tc_slice_make(key, first.len)));
    feed(h, line(182, "port_module_error", "eth0"));
    f = tc_harness_finding(h, -1);
    assert_text(f->discriminator, "cable_fault");
    assert_int_equal(f->severity, TC_SEVERITY_CRITICAL);
    tc_harness_conforms(f);
    assert_true(tc_slice_eq(f->key, tc_slice_make(key, first.len)));
}

static void flapping_ends_after_a_quiet_window_and_can_begin_anew(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t s = 0; s < 90; s += 30) {
        flap(h, s, "eth0");
    }
    tc_harness_tick(h, AT(100));
    assert_int_equal(tc_harness_count(h), 1);
    tc_harness_tick(h, AT(660));
    assert_int_equal(tc_harness_count(h), 1);
    tc_harness_tick(h, AT(661));
    assert_int_equal(tc_harness_count(h), 2);
    const struct tc_finding *f = tc_harness_finding(h, -1);
    tc_harness_conforms(f);
    assert_true(f->resolved);
    assert_text(f->headline, "Port eth0 of node gpu-07 has not gone down for 10 min");
    struct tc_slice key = f->key;
    for (int64_t s = 2000; s < 2090; s += 30) {
        flap(h, s, "eth0");
    }
    tc_harness_tick(h, AT(2100));
    f = tc_harness_finding(h, -1);
    assert_false(f->resolved);
    assert_false(tc_slice_eq(f->key, key)); /* another incident */
    assert_int_equal(tc_harness_int(f, KEY("flaps")), 3);
}

static void a_storm_is_a_few_verdicts(void **state)
{
    struct tc_harness *h = *state;
    for (int64_t i = 0; i < 5000; i++) {
        flap(h, 12 * i, "eth0");
    }
    assert_true(tc_harness_count(h) < 20);
    assert_true(tc_harness_int(tc_harness_finding(h, -1), KEY("flaps")) > 2000);
}

static void late_lines_are_counted(void **state)
{
    struct tc_harness *h = *state;
    feed(h, line(100, "link_down", "eth0"));
    feed(h, line(110, "link_up", "eth0"));
    struct tc_event ev = line(50, "link_down", "eth0");
    tc_harness_feed(h, &ev);
    assert_int_equal(tc_harness_stats(h).late, 1);
}

static void events_that_lack_what_is_needed_are_ignored(void **state)
{
    static char name[400];
    struct tc_harness *h = *state;
    memset(name, 'x', sizeof name);
    struct tc_event ev = line(0, "link_down", "eth0");
    ev.scope.node = TC_EMPTY;
    tc_harness_feed(h, &ev);
    ev = line(0, "link_down", "eth0");
    ev.time_ns = TC_TIME_NONE;
    tc_harness_feed(h, &ev);
    ev = line(0, "link_down", "eth0");
    ev.fault.device = tc_slice_make(name, sizeof name);
    tc_harness_feed(h, &ev);
    assert_int_equal(tc_harness_stats(h).ignored, 3);
}

static void equal_times_in_any_order_say_the_same(void **state)
{
    struct tc_event events[12];
    size_t count = 0;
    struct tc_slice first = TC_EMPTY;
    struct tc_harness *runs[24];
    (void)state;
    for (int p = 0; p < 4; p++) {
        static const char *const names[] = {"eth0", "eth1", "eth2", "eth3"};
        events[count++] = line(100, "link_down", names[p]);
    }
    for (int run = 0; run < 24; run++) {
        struct tc_harness *h = tc_harness_create(&tc_detector_network_link_fault, NULL);
        runs[run] = h;
        flap(h, 0, "eth0");
        flap(h, 30, "eth0");
        live(h, 60, 90);
        for (size_t i = 0; i < count; i++) {
            feed(h, events[(i * (run % 2 == 0 ? 1 : 3) + (size_t)run) % count]);
        }
        live(h, 120, 300);
        struct tc_slice dump = tc_harness_dump(h);
        first = run == 0 ? dump : first;
        assert_true(tc_slice_eq(first, dump));
    }
    for (int run = 0; run < 24; run++) {
        tc_harness_destroy(runs[run]);
    }
}

static void knobs_are_heeded(void **state)
{
    static const struct {
        const char *param;
        int64_t value;
    } cases[] = {{"flaps", 2}, {"window", 1200 * TC_SECOND}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_harness_options options = {.param = cases[i].param, .value = cases[i].value};
        struct tc_harness *h = tc_harness_create(&tc_detector_network_link_fault, &options);
        flap(h, 0, "eth0");
        flap(h, 500, "eth0");
        flap(h, 1100, "eth0");
        tc_harness_tick(h, AT(1110));
        assert_int_equal(tc_harness_count(h), 1);
        tc_harness_destroy(h);
    }
    struct tc_harness_options hold = {.param = "hold", .value = 30 * TC_SECOND};
    struct tc_harness *h = tc_harness_create(&tc_detector_network_link_fault, &hold);
    feed(h, sample(0, TC_METRIC_PING_LOSS, "t", 0.5));
    feed(h, sample(30, TC_METRIC_PING_LOSS, "t", 0.5));
    assert_int_equal(tc_harness_count(h), 1);
    tc_harness_destroy(h);
    struct tc_harness_options loss = {.param = "loss_permille", .value = 500};
    h = tc_harness_create(&tc_detector_network_link_fault, &loss);
    feed(h, sample(0, TC_METRIC_PING_LOSS, "t", 0.5));
    feed(h, sample(60, TC_METRIC_PING_LOSS, "t", 0.5));
    assert_int_equal(tc_harness_count(h), 0);
    tc_harness_destroy(h);
    struct tc_harness_options packets = {.param = "packets", .value = 10};
    h = tc_harness_create(&tc_detector_network_link_fault, &packets);
    for (int64_t i = 0; i < 5; i++) {
        scrape(h, 30 * i, (double)(100 * i), (double)(50 * i), 0);
    }
    assert_int_equal(tc_harness_count(h), 1);
    tc_harness_destroy(h);
    struct tc_harness_options errors = {.param = "symbol_errors", .value = 10};
    h = tc_harness_create(&tc_detector_network_link_fault, &errors);
    feed(h, sample(0, TC_METRIC_IB_SYMBOL_ERRORS, "mlx5_0", 0));
    feed(h, sample(30, TC_METRIC_IB_SYMBOL_ERRORS, "mlx5_0", 10));
    assert_int_equal(tc_harness_count(h), 1);
    tc_harness_destroy(h);
    struct tc_harness_options boot = {.param = "boot", .value = 10 * TC_SECOND};
    h = tc_harness_create(&tc_detector_network_link_fault, &boot);
    feed(h, line(0, "link_down", "eth0"));
    live(h, 240, 250);
    feed(h, sample(250, TC_METRIC_GPU_TEMP, "", 50));
    assert_int_equal(tc_harness_count(h), 1);
    tc_harness_destroy(h);
}

static void a_card_with_a_new_name_in_each_line_is_one_port(void **state)
{
    struct tc_harness *h = *state;
    char device[32];
    for (int i = 0; i < 100000; i++) {
        (void)snprintf(device, sizeof device, "eth%06d", i);
        struct tc_event ev = line(0, "link_up", device);
        (void)tc_bdf_parse(TC_LIT("0000:5c:00.0"), &ev.scope.pci);
        feed(h, ev);
    }
    flap(h, 500, device);
    flap(h, 520, device);
    flap(h, 540, device);
    tc_harness_tick(h, AT(560));
    assert_int_equal(tc_harness_count(h), 1);
    assert_text(tc_harness_text(tc_harness_finding(h, 0), KEY("device")), "eth099999");
    assert_int_equal(tc_harness_finding(h, 0)->scope.pci.bus, 0x5c);
}

static void a_full_window_drops_and_counts(void **state)
{
    struct tc_harness *h = *state;
    for (int i = 0; i < 40000; i++) {
        char device[32];
        (void)snprintf(device, sizeof device, "eth%d", i);
        feed(h, sample(i / 100, TC_METRIC_NET_CARRIER_CHANGES, device, 1));
    }
    assert_true(tc_harness_stats(h).dropped > 0);
    flap(h, 500, "eth0");
    flap(h, 520, "eth0");
    flap(h, 540, "eth0");
    tc_harness_tick(h, AT(560));
    assert_int_equal(tc_harness_count(h), 1);
}

static void a_sink_or_scratch_that_fails_is_passed_on(void **state)
{
    (void)state;
    struct tc_event ev = line(0, "port_module_error", "eth0");
    struct tc_harness_options sink = {.sink_status = TC_E_IO};
    struct tc_harness *h = tc_harness_create(&tc_detector_network_link_fault, &sink);
    assert_int_equal(tc_harness_try_feed(h, &ev), TC_E_IO);
    tc_harness_destroy(h);
    for (size_t bytes = 64; bytes < 16384; bytes *= 2) {
        struct tc_harness_options scratch = {.scratch_bytes = bytes};
        h = tc_harness_create(&tc_detector_network_link_fault, &scratch);
        tc_status status = tc_harness_try_feed(h, &ev);
        assert_true(status == TC_OK || status == TC_E_NOMEM);
        tc_harness_destroy(h);
    }
    struct tc_harness_options arena = {.arena_bytes = 4096};
    h = tc_harness_create(&tc_detector_network_link_fault, &arena);
    assert_int_equal(tc_harness_init_status(h), TC_E_NOMEM);
    tc_harness_destroy(h);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(three_flaps_in_the_window_are_a_fault),
        TEST(a_flap_after_the_window_starts_again),
        TEST(ports_and_nodes_are_counted_apart),
        TEST(a_flap_told_by_card_bond_and_port_is_one),
        TEST(downs_without_ups_count_too),
        TEST(counters_count_flaps),
        TEST(a_counter_that_starts_again_is_no_flap),
        TEST(odd_carrier_changes_are_kept_for_the_next),
        TEST(ports_that_go_down_together_were_taken_down),
        TEST(ports_that_stay_down_together_are_told_by_metrics_only),
        TEST(a_port_that_somebody_took_down_is_not_told),
        TEST(two_ports_at_once_are_each_their_own),
        TEST(lines_of_the_boot_do_not_count),
        TEST(a_link_that_stays_down_while_its_node_lives_is_a_fault),
        TEST(the_line_that_ends_it_proves_how_long_it_was_down),
        TEST(a_link_of_a_node_that_is_gone_is_no_fault),
        TEST(a_reboot_is_no_fault),
        TEST(a_link_that_is_still_down_long_after_a_gap_is_partial),
        TEST(gauges_tell_of_a_link_that_was_up),
        TEST(errors_above_the_rate_are_a_fault),
        TEST(slow_errors_never_add_up),
        TEST(loss_for_a_minute_is_a_fault),
        TEST(loss_below_the_share_or_the_time_is_none),
        TEST(an_idle_port_and_a_restart_lose_nothing),
        TEST(probes_lost_for_a_minute_are_partial),
        TEST(probes_that_are_all_lost_or_hardly_say_nothing),
        TEST(a_module_error_is_a_cable_fault_at_once),
        TEST(transfers_that_are_never_acknowledged_name_node_and_peer),
        TEST(what_else_the_card_says_is_no_fault),
        TEST(virtual_interfaces_are_left_out),
        TEST(faults_of_one_port_are_one_incident),
        TEST(flapping_ends_after_a_quiet_window_and_can_begin_anew),
        TEST(a_storm_is_a_few_verdicts),
        TEST(late_lines_are_counted),
        TEST(events_that_lack_what_is_needed_are_ignored),
        TEST(equal_times_in_any_order_say_the_same),
        TEST(knobs_are_heeded),
        TEST(a_card_with_a_new_name_in_each_line_is_one_port),
        TEST(a_full_window_drops_and_counts),
        TEST(a_sink_or_scratch_that_fails_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
