/* SPDX-License-Identifier: Apache-2.0 */
/* Each check of the playbooks, on both sides of each threshold. */
#include "diagnose/checks_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROWS_MAX 256
#define OUTCOMES_MAX 16

/* A context in memory: rows in any order, outcomes of one point. */
struct world {
    struct tc__context c;
    struct tc__row rows[TC__SIDES][ROWS_MAX];
    size_t counts[TC__SIDES];
    struct tc_point point;
    struct tc_slow_point slow;
    struct tc_series series[OUTCOMES_MAX];
    struct tc_outcome outcomes[OUTCOMES_MAX];
    struct tc_playbook playbook;
    struct tc_check check;
    struct tc__row sorted[TC__SIDES][ROWS_MAX];
    char block[1 << 18];
};

static struct world *w;

static int begin(void **state)
{
    (void)state;
    w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->point = (struct tc_point){.text = TC_LIT("p"), .table = TC_TABLE_SERVING};
    w->slow = (struct tc_slow_point){.point = &w->point, .worst = 1};
    w->c.points.points = &w->slow;
    w->c.points.point_count = 1;
    w->c.points.outcomes = w->outcomes;
    tc_arena_init(&w->c.arena, "test", w->block, sizeof w->block);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tc_arena_fini(&w->c.arena);
    free(w);
    return 0;
}

static struct tc__row *put(enum tc__side side, enum tc__signal signal, const char *node,
                           const char *point, double mean)
{
    struct tc__row *row = &w->rows[side][w->counts[side]++];
    *row = (struct tc__row){.signal = signal,
                            .metric = TC_LIT("m"),
                            .node = tc_slice_cstr(node),
                            .point = tc_slice_cstr(point),
                            .digest = TC_LIT("sha256:1"),
                            .rank = -1,
                            .mean = mean,
                            .max = mean,
                            .min = mean,
                            .last = mean,
                            .windows = 5};
    return row;
}

/* The same value on four nodes, the last of which is odd. */
static void put_nodes(enum tc__side side, enum tc__signal signal, double value, double odd)
{
    static const char *const nodes[] = {"n1", "n2", "n3", "n4"};
    static const char *const gpus[] = {"GPU-1", "GPU-2", "GPU-3", "GPU-4"};
    for (size_t i = 0; i < 4; i++) {
        struct tc__row *row = put(side, signal, nodes[i], "", i == 3 ? odd : value);
        row->gpu = tc_slice_cstr(gpus[i]);
        row->rank = (int64_t)i;
    }
}

static void outcome(const char *name, double run, double base)
{
    size_t n = w->c.points.outcome_count++;
    w->series[n] = (struct tc_series){.name = tc_slice_cstr(name), .point = &w->point};
    w->outcomes[n] = (struct tc_outcome){.series = &w->series[n],
                                         .run = run,
                                         .base = base,
                                         .low = base,
                                         .high = base,
                                         .ratio = run / base};
}

static void arrange(void)
{
    for (enum tc__side side = 0; side < TC__SIDES; side++) {
        size_t at = 0;
        for (enum tc__signal s = 0; s < TC__SIGNALS; s++) {
            size_t from = at;
            for (size_t i = 0; i < w->counts[side]; i++) {
                if (w->rows[side][i].signal == s) {
                    w->sorted[side][at++] = w->rows[side][i];
                }
            }
            w->c.spans[side][s] = (struct tc__span){&w->sorted[side][from], at - from};
        }
    }
}

static enum tc_check_answer ask(tc__check_fn check)
{
    arrange();
    w->check = (struct tc_check){.where.rank = -1};
    check(&w->c, &w->playbook, &w->check);
    assert_true(tc_arena_ok(&w->c.arena));
    if (w->check.answer == TC_CHECK_NO_DATA) {
        assert_string_equal(w->check.numbers, "");
    } else {
        assert_true(strlen(w->check.numbers) > 0);
    }
    return w->check.answer;
}

static enum tc_recognised look(tc__recognise_fn recognise)
{
    arrange();
    return recognise(&w->c, &w->playbook);
}

static void expect(tc__check_fn check, enum tc_check_answer answer)
{
    assert_string_equal(tc_check_answer_name(ask(check)), tc_check_answer_name(answer));
}

/* Forgets all rows and outcomes. */
static void anew(void)
{
    w->counts[TC__RUN] = w->counts[TC__BASE] = 0;
    w->c.points.outcome_count = 0;
}

static void no_check_says_anything_without_data(void **state)
{
    (void)state;
#define PLAYBOOK(id, name, title) assert_int_equal(look(tc__recognise_##id), TC_RECOGNISED_NO_DATA);
#define CHECK(playbook, id, name, title, weight, cause, patterns, experiment) \
    expect(tc__check_##id, TC_CHECK_NO_DATA);
#include "diagnose/playbooks.def"
#undef PLAYBOOK
#undef CHECK
}

/* ---- tail ---- */

static void a_tail_is_twice_the_p99_and_hardly_more_mean(void **state)
{
    static const struct {
        double p99;
        double mean;
        enum tc_recognised want;
    } cases[] = {{200, 119, TC_RECOGNISED_YES},
                 {199, 100, TC_RECOGNISED_NO},
                 {400, 120, TC_RECOGNISED_NO},
                 {200, 90, TC_RECOGNISED_YES}};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        anew();
        outcome("e2e_p99_ms", cases[i].p99, 100);
        outcome("e2e_mean_ms", cases[i].mean, 100);
        assert_int_equal(look(tc__recognise_tail), cases[i].want);
    }
}

static void a_queue_explains_a_third_of_the_rise(void **state)
{
    (void)state;
    outcome("e2e_p99_ms", 300, 100);
    outcome("e2e_mean_ms", 100, 100);
    outcome("queue_p99_ms", 60, 0);
    expect(tc__check_queue, TC_CHECK_SUPPORTS);
    assert_true(w->check.strength == 0.7);
    w->outcomes[2].run = 59;
    expect(tc__check_queue, TC_CHECK_CONTRADICTS);
    w->outcomes[2].run = 120;
    expect(tc__check_queue, TC_CHECK_SUPPORTS);
    assert_true(w->check.strength == 1);
}

static void without_a_histogram_waiting_requests_serve(void **state)
{
    (void)state;
    put(TC__RUN, TC__SIGNAL_WAITING, "n1", "pod=a", 2);
    put(TC__BASE, TC__SIGNAL_WAITING, "n1", "pod=a", 1);
    expect(tc__check_queue, TC_CHECK_SUPPORTS);
    w->rows[TC__RUN][0].mean = 1.9;
    expect(tc__check_queue, TC_CHECK_CONTRADICTS);
}

static void put_throttled(enum tc__side side, const char *point, double share)
{
    put(side, TC__SIGNAL_CFS_PERIODS, "n1", point, 10)->pod_uid = TC_LIT("uid");
    put(side, TC__SIGNAL_CFS_THROTTLED, "n1", point, 10 * share)->pod_uid = TC_LIT("uid");
}

static void throttling_is_a_quarter_of_the_periods_and_more_than_before(void **state)
{
    static const struct {
        double run;
        double base;
        enum tc_check_answer want;
    } cases[] = {{0.25, 0.1, TC_CHECK_SUPPORTS},
                 {0.24, 0.1, TC_CHECK_CONTRADICTS},
                 {0.5, 0.375, TC_CHECK_SUPPORTS},
                 {0.5, 0.45, TC_CHECK_CONTRADICTS}};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        anew();
        put_throttled(TC__RUN, "container=main,pod=server-1", cases[i].run);
        put_throttled(TC__BASE, "container=main,pod=server-1", cases[i].base);
        expect(tc__check_throttling, cases[i].want);
        expect(tc__check_starved_throttling, cases[i].want);
    }
}

/* Pods of another night have other names. */
static void a_sidecar_that_was_always_throttled_is_no_cause(void **state)
{
    (void)state;
    put_throttled(TC__RUN, "container=shipper,pod=server-1", 0.5);
    put(TC__BASE, TC__SIGNAL_CFS_PERIODS, "n1", "container=shipper,pod=old", 10)->pod_uid =
        TC_LIT("other");
    put(TC__BASE, TC__SIGNAL_CFS_THROTTLED, "n1", "container=shipper,pod=old", 5)->pod_uid =
        TC_LIT("other");
    expect(tc__check_throttling, TC_CHECK_CONTRADICTS);
}

static void a_restart_counts_where_the_pod_serves(void **state)
{
    (void)state;
    struct tc__row *row = put(TC__RUN, TC__SIGNAL_RESTARTS, "", "container=main,pod=a", 0.01);
    row->pod_uid = TC_LIT("uid-a");
    expect(tc__check_restarts, TC_CHECK_SUPPORTS);
    assert_true(w->check.strength < TC__CLAIM_STRENGTH);
    put(TC__RUN, TC__SIGNAL_WAITING, "n7", "pod=a", 0);
    expect(tc__check_restarts, TC_CHECK_SUPPORTS);
    assert_true(w->check.strength > 0.9);
    assert_memory_equal(w->check.where.node.ptr, "n7", 2);
    w->rows[TC__RUN][0].max = 0;
    expect(tc__check_restarts, TC_CHECK_CONTRADICTS);
}

static void pods_that_were_away_show_in_readiness_replicas_and_events(void **state)
{
    (void)state;
    put(TC__RUN, TC__SIGNAL_REPLICAS, "", "deployment=server", 3)->min = 2;
    expect(tc__check_restarts, TC_CHECK_SUPPORTS);
    w->rows[TC__RUN][0].min = 3;
    expect(tc__check_restarts, TC_CHECK_CONTRADICTS);
    put(TC__RUN, TC__SIGNAL_EVENTS, "", "kind=Pod,name=a,reason=Evicted", 1);
    expect(tc__check_restarts, TC_CHECK_SUPPORTS);
    put(TC__BASE, TC__SIGNAL_EVENTS, "", "kind=Pod,name=b,reason=Evicted", 1);
    expect(tc__check_restarts, TC_CHECK_CONTRADICTS);
}

static void dns_is_slow_from_ten_milliseconds_and_three_times(void **state)
{
    static const struct {
        double run;
        double base;
        enum tc_check_answer want;
    } cases[] = {{0.0101, 0.001, TC_CHECK_SUPPORTS},
                 {0.0099, 0.001, TC_CHECK_CONTRADICTS},
                 {0.05, 0.016, TC_CHECK_SUPPORTS},
                 {0.05, 0.017, TC_CHECK_CONTRADICTS}};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        anew();
        put(TC__RUN, TC__SIGNAL_DNS_SUM, "", "zone=.", cases[i].run);
        put(TC__RUN, TC__SIGNAL_DNS_COUNT, "", "zone=.", 1);
        put(TC__BASE, TC__SIGNAL_DNS_SUM, "", "zone=.", cases[i].base);
        put(TC__BASE, TC__SIGNAL_DNS_COUNT, "", "zone=.", 1);
        expect(tc__check_dns, cases[i].want);
    }
    anew();
    put(TC__RUN, TC__SIGNAL_DNS_RESPONSES, "", "rcode=SERVFAIL", 1);
    put(TC__RUN, TC__SIGNAL_DNS_RESPONSES, "", "rcode=NOERROR", 99);
    expect(tc__check_dns, TC_CHECK_SUPPORTS);
    w->rows[TC__RUN][1].mean = 110;
    expect(tc__check_dns, TC_CHECK_CONTRADICTS);
}

/* ---- low utilisation ---- */

static void starved_is_a_fifth_less_and_idle_gpus(void **state)
{
    (void)state;
    outcome("tokens_per_second", 80, 100);
    assert_int_equal(look(tc__recognise_starved), TC_RECOGNISED_NO_DATA);
    put_nodes(TC__RUN, TC__SIGNAL_GPU_UTIL, 85, 85);
    put_nodes(TC__BASE, TC__SIGNAL_GPU_UTIL, 100, 100);
    assert_int_equal(look(tc__recognise_starved), TC_RECOGNISED_YES);
    w->outcomes[0].ratio = 0.81;
    assert_int_equal(look(tc__recognise_starved), TC_RECOGNISED_NO);
    anew();
    outcome("tokens_per_second", 80, 100);
    put_nodes(TC__RUN, TC__SIGNAL_GPU_UTIL, 86, 86);
    put_nodes(TC__BASE, TC__SIGNAL_GPU_UTIL, 100, 100);
    assert_int_equal(look(tc__recognise_starved), TC_RECOGNISED_NO);
    /* A collective that waits counts as utilisation; power does not lie. */
    put_nodes(TC__RUN, TC__SIGNAL_GPU_POWER, 450, 450);
    put_nodes(TC__BASE, TC__SIGNAL_GPU_POWER, 500, 500);
    assert_int_equal(look(tc__recognise_starved), TC_RECOGNISED_YES);
}

struct spread_case {
    tc__check_fn check;
    enum tc__signal signal;
    enum tc__signal per; /* TC__SIGNALS: none */
    const char *point;
    double above;
    double below;
    double base;
};

/* What half of the nodes share; a value on either side, and what one node alone has. */
static void starvation_is_what_most_nodes_share(void **state)
{
    static const struct spread_case cases[] = {
        {tc__check_loader, TC__SIGNAL_DATA_LOADING, TC__SIGNALS, "", 20, 19.9, 2},
        {tc__check_loader, TC__SIGNAL_CPU_PRESSURE, TC__SIGNALS, "", 0.3, 0.29, 0.01},
        {tc__check_storage, TC__SIGNAL_DISK_READ_TIME, TC__SIGNAL_DISK_READS, "", 0.0051, 0.0049,
         0.001},
        {tc__check_storage, TC__SIGNAL_NFS_TIME, TC__SIGNAL_NFS_REQUESTS, "operation=READ", 0.021,
         0.019, 0.001},
        {tc__check_storage, TC__SIGNAL_IO_PRESSURE, TC__SIGNALS, "", 0.2, 0.19, 0.01},
        {tc__check_storage, TC__SIGNAL_DISK_BUSY, TC__SIGNALS, "", 0.9, 0.89, 0.2},
        {tc__check_network, TC__SIGNAL_PING_LOSS, TC__SIGNALS, "device=x", 0.01, 0.009, 0},
        {tc__check_network, TC__SIGNAL_PING_RTT, TC__SIGNALS, "device=x", 1, 0.9, 0.2},
        {tc__check_network, TC__SIGNAL_TCP_RETRANSMITS, TC__SIGNAL_TCP_SENT, "", 0.0051, 0.0049,
         0.0001},
        {tc__check_network, TC__SIGNAL_NET_BAD, TC__SIGNALS, "", 10, 9, 0.1},
        {tc__check_network, TC__SIGNAL_IB_WAIT, TC__SIGNALS, "", 1e5, 9e4, 1000},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        const struct spread_case *k = &cases[i];
        for (int variant = 0; variant < 3; variant++) {
            double value = variant == 0 ? k->above : k->below;
            anew();
            put_nodes(TC__RUN, k->signal, value, variant == 2 ? k->above * 9 : value);
            put_nodes(TC__BASE, k->signal, k->base, k->base);
            if (k->per != TC__SIGNALS) {
                put_nodes(TC__RUN, k->per, 1, 1);
                put_nodes(TC__BASE, k->per, 1, 1);
            }
            for (size_t n = 0; n < w->counts[TC__RUN]; n++) {
                w->rows[TC__RUN][n].point = tc_slice_cstr(k->point);
                w->rows[TC__BASE][n].point = tc_slice_cstr(k->point);
            }
            if (ask(k->check) != (variant == 0 ? TC_CHECK_SUPPORTS : TC_CHECK_CONTRADICTS)) {
                fail_msg("case %zu, variant %d: %s", i, variant,
                         tc_check_answer_name(w->check.answer));
            }
        }
    }
}

static void cpus_without_idle_time_are_the_loaders(void **state)
{
    (void)state;
    put(TC__RUN, TC__SIGNAL_NODE_CPU, "n1", "cpu=0,mode=idle", 0.1);
    put(TC__BASE, TC__SIGNAL_NODE_CPU, "n1", "cpu=0,mode=idle", 0.25);
    expect(tc__check_loader, TC_CHECK_SUPPORTS);
    w->rows[TC__RUN][0].mean = 0.11;
    expect(tc__check_loader, TC_CHECK_CONTRADICTS);
    w->rows[TC__RUN][0].mean = 0.1;
    w->rows[TC__BASE][0].mean = 0.24;
    expect(tc__check_loader, TC_CHECK_CONTRADICTS);
}

/* ---- straggler ---- */

static void spikes_are_a_third_above_the_median_and_more_than_before(void **state)
{
    static const struct {
        double p99;
        double base;
        enum tc_recognised want;
    } cases[] = {{130, 100, TC_RECOGNISED_YES},
                 {129, 100, TC_RECOGNISED_NO},
                 {144, 120, TC_RECOGNISED_YES},
                 {143, 120, TC_RECOGNISED_NO}};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        anew();
        outcome("step_time_p99_ms", cases[i].p99, cases[i].base);
        outcome("step_time_p50_ms", 100, 100);
        assert_int_equal(look(tc__recognise_straggler), cases[i].want);
    }
}

static void steps_that_are_slow_most_of_the_time_need_a_node_that_stands_out(void **state)
{
    (void)state;
    outcome("step_time_p99_ms", 102, 100);
    outcome("step_time_p50_ms", 100, 100);
    outcome("step_time_mean_ms", 110, 100);
    assert_int_equal(look(tc__recognise_straggler), TC_RECOGNISED_NO);
    w->playbook.check_count = 1;
    w->playbook.checks[0] = (struct tc_check){.answer = TC_CHECK_SUPPORTS, .strength = 0.5};
    assert_int_equal(look(tc__recognise_straggler), TC_RECOGNISED_YES);
    w->playbook.checks[0].strength = 0.49;
    assert_int_equal(look(tc__recognise_straggler), TC_RECOGNISED_NO);
    w->playbook.checks[0].strength = 0.5;
    w->outcomes[2].ratio = 1.09;
    assert_int_equal(look(tc__recognise_straggler), TC_RECOGNISED_NO);
}

static void a_server_without_steps_needs_a_verdict_on_a_node(void **state)
{
    (void)state;
    assert_int_equal(look(tc__recognise_straggler), TC_RECOGNISED_NO_DATA);
    outcome("output_token_throughput", 87, 100);
    w->outcomes[0].is_worse = true;
    w->playbook.check_count = 1;
    w->playbook.checks[0] = (struct tc_check){.answer = TC_CHECK_SUPPORTS, .strength = 1};
    assert_int_equal(look(tc__recognise_straggler), TC_RECOGNISED_NO_DATA);
    w->playbook.checks[0].verdict = TC_LIT("incident-1");
    assert_int_equal(look(tc__recognise_straggler), TC_RECOGNISED_NO_DATA); /* of no node */
    w->playbook.checks[0].where.node = TC_LIT("n2");
    assert_int_equal(look(tc__recognise_straggler), TC_RECOGNISED_YES);
    assert_string_equal(w->playbook.why, "output_token_throughput is 0.87 times the base's, and "
                                         "node n2 has a proven fault");
    w->playbook.checks[0].answer = TC_CHECK_CONTRADICTS;
    assert_int_equal(look(tc__recognise_straggler), TC_RECOGNISED_NO_DATA);
    w->playbook.checks[0].answer = TC_CHECK_SUPPORTS;
    w->outcomes[0].is_worse = false;
    assert_int_equal(look(tc__recognise_straggler), TC_RECOGNISED_NO_DATA);
}

struct odd_case {
    tc__check_fn check;
    enum tc__signal signal;
    double usual;
    double odd;
    double not_odd;
};

static void the_odd_one_out_is_the_straggler(void **state)
{
    static const struct odd_case cases[] = {
        {tc__check_ranks, TC__SIGNAL_STEP_SECONDS, 1, 1.11, 1.09},
        {tc__check_ranks, TC__SIGNAL_MATMUL, 100, 111, 109},
        {tc__check_ranks, TC__SIGNAL_COLLECTIVE, 112, 100, 109},
        {tc__check_ranks, TC__SIGNAL_COLLECTIVE_BANDWIDTH, 112, 100, 109},
        {tc__check_pcie, TC__SIGNAL_PCIE_WIDTH, 16, 8, 16},
        {tc__check_pcie, TC__SIGNAL_PCIE_GEN, 5, 4, 5},
        {tc__check_pcie, TC__SIGNAL_PCIE_REPLAYS, 0, 0.1, 0.09},
        {tc__check_nvlink, TC__SIGNAL_NVLINK_ERRORS, 0, 0.1, 0.09},
        {tc__check_thermal, TC__SIGNAL_SM_CLOCK, 2000, 1900, 1910},
        {tc__check_thermal, TC__SIGNAL_THERMAL_VIOLATION, 0, 1e7, 9e6},
        {tc__check_nic, TC__SIGNAL_IB_ERRORS, 0, 0.1, 0.09},
        {tc__check_nic, TC__SIGNAL_NET_BAD, 0, 10, 9},
        {tc__check_nic, TC__SIGNAL_NET_FLAPS, 0, 0.002, 0.001},
        {tc__check_nic, TC__SIGNAL_PING_LOSS, 0, 0.01, 0.009},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        const struct odd_case *k = &cases[i];
        anew();
        put_nodes(TC__RUN, k->signal, k->usual, k->odd);
        if (k->signal == TC__SIGNAL_SM_CLOCK) {
            put_nodes(TC__RUN, TC__SIGNAL_GPU_TEMP, 60, 79);
        }
        if (ask(k->check) != TC_CHECK_SUPPORTS) {
            fail_msg("case %zu is not found: %s", i, w->check.numbers);
        }
        assert_memory_equal(w->check.where.node.ptr, "n4", 2);
        assert_int_equal(w->check.proof_count > 0, 1);
        anew();
        put_nodes(TC__RUN, k->signal, k->usual, k->not_odd);
        if (k->signal == TC__SIGNAL_SM_CLOCK) {
            put_nodes(TC__RUN, TC__SIGNAL_GPU_TEMP, 60, 79);
        }
        if (k->signal != TC__SIGNAL_THERMAL_VIOLATION && ask(k->check) != TC_CHECK_CONTRADICTS) {
            fail_msg("case %zu is found: %s", i, w->check.numbers);
        }
    }
}

static void a_hot_gpu_at_full_clock_is_no_straggler(void **state)
{
    (void)state;
    put_nodes(TC__RUN, TC__SIGNAL_SM_CLOCK, 1980, 1980);
    put_nodes(TC__RUN, TC__SIGNAL_GPU_TEMP, 60, 86);
    expect(tc__check_thermal, TC_CHECK_CONTRADICTS);
    assert_non_null(strstr(w->check.numbers, "86 C on n4"));
}

static void thermal_slowdown_that_the_driver_reports_is_heat(void **state)
{
    (void)state;
    put(TC__RUN, TC__SIGNAL_GPU_THROTTLE, "n1", "", 0x40);
    expect(tc__check_thermal, TC_CHECK_SUPPORTS);
    w->rows[TC__RUN][0].max = 0x4; /* the power cap */
    arrange();
    w->check = (struct tc_check){.where.rank = -1};
    tc__check_thermal(&w->c, &w->playbook, &w->check);
    assert_int_equal(w->check.answer, TC_CHECK_CONTRADICTS);
}

/* All links slow down when the GPUs idle. */
static void links_that_are_all_slow_are_idle(void **state)
{
    (void)state;
    put_nodes(TC__RUN, TC__SIGNAL_PCIE_GEN, 1, 1);
    put_nodes(TC__RUN, TC__SIGNAL_PCIE_GEN_MAX, 5, 5);
    expect(tc__check_pcie, TC_CHECK_CONTRADICTS);
}

static void trouble_on_another_node_than_the_slow_rank_weighs_less(void **state)
{
    (void)state;
    put_nodes(TC__RUN, TC__SIGNAL_NVLINK_ERRORS, 0, 9);
    expect(tc__check_nvlink, TC_CHECK_SUPPORTS);
    assert_true(w->check.strength == 1);
    w->playbook.check_count = 1;
    w->playbook.checks[0] = (struct tc_check){
        .answer = TC_CHECK_SUPPORTS, .strength = 0.9, .where = {.node = TC_LIT("n4"), .rank = 3}};
    expect(tc__check_nvlink, TC_CHECK_SUPPORTS);
    assert_true(w->check.strength == 1);
    w->playbook.checks[0].where.node = TC_LIT("n1");
    expect(tc__check_nvlink, TC_CHECK_SUPPORTS);
    assert_true(w->check.strength < TC__CLAIM_STRENGTH);
}

/* ---- scheduler ---- */

static void a_full_queue_with_waiting_workloads_is_out_of_quota(void **state)
{
    (void)state;
    put(TC__RUN, TC__SIGNAL_KUEUE_PENDING, "", "cluster_queue=q,status=active", 2);
    put(TC__BASE, TC__SIGNAL_KUEUE_PENDING, "", "cluster_queue=q,status=active", 1);
    put(TC__RUN, TC__SIGNAL_KUEUE_USAGE, "", "cluster_queue=q,resource=nvidia.com/gpu", 95);
    put(TC__RUN, TC__SIGNAL_KUEUE_QUOTA, "", "cluster_queue=q,resource=nvidia.com/gpu", 100);
    expect(tc__check_quota, TC_CHECK_SUPPORTS);
    assert_int_equal(look(tc__recognise_scheduler), TC_RECOGNISED_YES);
    w->rows[TC__RUN][1].mean = 94;
    expect(tc__check_quota, TC_CHECK_CONTRADICTS);
    w->rows[TC__RUN][1].mean = 95;
    w->rows[TC__RUN][0].mean = 1.9;
    expect(tc__check_quota, TC_CHECK_CONTRADICTS);
    assert_int_equal(look(tc__recognise_scheduler), TC_RECOGNISED_NO);
}

static void admission_is_slow_by_any_of_its_parts(void **state)
{
    static const struct {
        enum tc__signal signal;
        enum tc__signal per;
        double above;
        double below;
        double base;
    } cases[] = {{TC__SIGNAL_KUEUE_CHECK_SUM, TC__SIGNAL_KUEUE_CHECK_COUNT, 60, 59, 1},
                 {TC__SIGNAL_WEBHOOK_REJECTIONS, TC__SIGNALS, 0.02, 0.019, 0.001},
                 {TC__SIGNAL_WEBHOOK_SUM, TC__SIGNAL_WEBHOOK_COUNT, 1, 0.9, 0.01},
                 {TC__SIGNAL_RECONCILE_ERRORS, TC__SIGNALS, 0.1, 0.09, 0.01},
                 {TC__SIGNAL_WORK_DEPTH, TC__SIGNALS, 5, 4.9, 0},
                 {TC__SIGNAL_WORK_SUM, TC__SIGNAL_WORK_COUNT, 10, 9, 0.1}};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        for (int variant = 0; variant < 2; variant++) {
            anew();
            put(TC__RUN, cases[i].signal, "", "name=a",
                variant == 0 ? cases[i].above : cases[i].below);
            put(TC__BASE, cases[i].signal, "", "name=a", cases[i].base);
            if (cases[i].per != TC__SIGNALS) {
                put(TC__RUN, cases[i].per, "", "name=a", 1);
                put(TC__BASE, cases[i].per, "", "name=a", 1);
            }
            if (ask(tc__check_admission) !=
                (variant == 0 ? TC_CHECK_SUPPORTS : TC_CHECK_CONTRADICTS)) {
                fail_msg("case %zu, variant %d: %s", i, variant, w->check.numbers);
            }
        }
    }
}

static void idle_nodes_beside_waiting_jobs_are_fragments(void **state)
{
    (void)state;
    put(TC__RUN, TC__SIGNAL_SLURM_PENDING, "", "partition=gpu", 3);
    put(TC__RUN, TC__SIGNAL_SLURM_IDLE, "", "partition=gpu", 8);
    put(TC__RUN, TC__SIGNAL_SLURM_LARGEST, "", "partition=gpu", 8);
    expect(tc__check_fragmentation, TC_CHECK_SUPPORTS);
    w->rows[TC__RUN][2].mean = 9; /* it needs more than there are */
    expect(tc__check_fragmentation, TC_CHECK_CONTRADICTS);
    w->rows[TC__RUN][2].mean = 8;
    w->rows[TC__RUN][0].mean = 0.9;
    expect(tc__check_fragmentation, TC_CHECK_CONTRADICTS);
}

static void constraints_keep_pods_out_and_full_nodes_are_none(void **state)
{
    (void)state;
    put(TC__RUN, TC__SIGNAL_UNSCHEDULABLE, "", "plugin=NodeAffinity", 1);
    expect(tc__check_constraints, TC_CHECK_SUPPORTS);
    w->rows[TC__RUN][0].mean = 0.9;
    expect(tc__check_constraints, TC_CHECK_CONTRADICTS);
    w->rows[TC__RUN][0].mean = 5;
    w->rows[TC__RUN][0].point = TC_LIT("plugin=NodeResourcesFit");
    expect(tc__check_constraints, TC_CHECK_CONTRADICTS);
    anew();
    put(TC__RUN, TC__SIGNAL_EVENTS, "", "kind=Pod,name=a,reason=FailedScheduling", 3);
    expect(tc__check_constraints, TC_CHECK_SUPPORTS);
    assert_true(w->check.strength < 0.8);
}

/* ---- values ---- */

static void a_label_is_found_in_a_point(void **state)
{
    (void)state;
    struct tc_slice point = TC_LIT("a=1,b=x\\,y,pod=server-1");
    assert_int_equal(tc__point_value(point, "a").len, 1);
    assert_int_equal(tc__point_value(point, "b").len, 4);
    assert_memory_equal(tc__point_value(point, "pod").ptr, "server-1", 8);
    assert_int_equal(tc__point_value(point, "y").len, 0);
    assert_int_equal(tc__point_value(point, "po").len, 0);
    assert_int_equal(tc__point_value(TC_LIT("a\\"), "a").len, 0);
    assert_int_equal(tc__point_value(TC_EMPTY, "a").len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(no_check_says_anything_without_data),
        TEST(a_tail_is_twice_the_p99_and_hardly_more_mean),
        TEST(a_queue_explains_a_third_of_the_rise),
        TEST(without_a_histogram_waiting_requests_serve),
        TEST(throttling_is_a_quarter_of_the_periods_and_more_than_before),
        TEST(a_sidecar_that_was_always_throttled_is_no_cause),
        TEST(a_restart_counts_where_the_pod_serves),
        TEST(pods_that_were_away_show_in_readiness_replicas_and_events),
        TEST(dns_is_slow_from_ten_milliseconds_and_three_times),
        TEST(starved_is_a_fifth_less_and_idle_gpus),
        TEST(starvation_is_what_most_nodes_share),
        TEST(cpus_without_idle_time_are_the_loaders),
        TEST(spikes_are_a_third_above_the_median_and_more_than_before),
        TEST(steps_that_are_slow_most_of_the_time_need_a_node_that_stands_out),
        TEST(a_server_without_steps_needs_a_verdict_on_a_node),
        TEST(the_odd_one_out_is_the_straggler),
        TEST(a_hot_gpu_at_full_clock_is_no_straggler),
        TEST(thermal_slowdown_that_the_driver_reports_is_heat),
        TEST(links_that_are_all_slow_are_idle),
        TEST(trouble_on_another_node_than_the_slow_rank_weighs_less),
        TEST(a_full_queue_with_waiting_workloads_is_out_of_quota),
        TEST(admission_is_slow_by_any_of_its_parts),
        TEST(idle_nodes_beside_waiting_jobs_are_fragments),
        TEST(constraints_keep_pods_out_and_full_nodes_are_none),
        TEST(a_label_is_found_in_a_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
