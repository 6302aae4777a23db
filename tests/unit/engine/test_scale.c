/* SPDX-License-Identifier: Apache-2.0 */
/* How much is kept grows with the cluster that an engine is made for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/engine.h"

#include <stdio.h>

#define RANKS 100000
#define GPUS 40000

static tc_status ignore_verdict(void *context, const struct tc_verdict *verdict)
{
    (void)context;
    (void)verdict;
    return TC_OK;
}

static struct tc_engine *create(int64_t gpus)
{
    struct tc_engine_out out = {.verdict = ignore_verdict, .gpus = gpus, .lag_ns = TC_SECOND};
    struct tc_engine *e = NULL;
    struct tc_error err;
    assert_int_equal(tc_engine_create(&out, &e, &err), TC_OK);
    return e;
}

static uint64_t dropped(const struct tc_engine *e)
{
    size_t count = 0;
    uint64_t sum = 0;
    (void)tc_detectors(&count);
    for (size_t i = 0; i < count; i++) {
        struct tc_detector_stats stats;
        tc_engine_detector_stats(e, i, &stats);
        sum += stats.dropped;
    }
    return sum;
}

/* Ranks of jobs of 64 that have each begun a collective: ranks, seats and records of nccl_hang,
 * lanes and cohorts of straggler. */
static void feed_ranks(struct tc_engine *e)
{
    for (int32_t i = 0; i < RANKS; i++) {
        char job[32];
        char node[32];
        struct tc_event ev;
        tc_event_init(&ev, TC_EVENT_NCCL_RECORD);
        (void)snprintf(job, sizeof job, "job-%d", i / 64);
        (void)snprintf(node, sizeof node, "gpu-%05d", i / 8);
        ev.time_ns = 1000 * TC_SECOND;
        ev.scope.job = tc_slice_cstr(job);
        ev.scope.node = tc_slice_cstr(node);
        ev.scope.rank = i % 64;
        ev.nccl.group = TC_LIT("0");
        ev.nccl.group_key = tc_nccl_group_key(ev.scope.job, ev.nccl.group, TC_EMPTY);
        ev.nccl.op = TC_LIT("all_reduce");
        ev.nccl.seq = 7;
        ev.nccl.state = TC_NCCL_STARTED;
        assert_int_equal(tc_engine_feed(e, &ev), TC_OK);
    }
}

static size_t known_gpus(struct tc_engine *e)
{
    for (int i = 0; i < GPUS; i++) {
        char node[32];
        struct tc_event ev;
        tc_event_init(&ev, TC_EVENT_METRIC);
        (void)snprintf(node, sizeof node, "gpu-%05d", i / 8);
        ev.time_ns = 1000 * TC_SECOND;
        ev.scope.node = tc_slice_cstr(node);
        ev.scope.gpu_index = i % 8;
        ev.metric.value = 40;
        assert_int_equal(tc_engine_feed(e, &ev), TC_OK);
    }
    size_t known = 0;
    for (int i = 0; i < GPUS; i++) {
        char node[32];
        struct tc_scope scope = TC_SCOPE_NONE;
        (void)snprintf(node, sizeof node, "gpu-%05d", i / 8);
        scope.node = tc_slice_cstr(node);
        scope.gpu_index = i % 8;
        known += tc_directory_gpu(tc_engine_directory(e), &scope) != NULL;
    }
    return known;
}

static void a_larger_cluster_fits_when_it_is_said(void **state)
{
    (void)state;
    struct tc_engine *usual = create(0);
    feed_ranks(usual);
    assert_true(dropped(usual) > 0);
    assert_true(known_gpus(usual) < GPUS);
    tc_engine_destroy(usual);

    struct tc_engine *large = create(RANKS);
    feed_ranks(large);
    assert_int_equal(dropped(large), 0);
    assert_int_equal(known_gpus(large), GPUS);
    /* Anew, too. */
    assert_int_equal(tc_engine_reset(large), TC_OK);
    feed_ranks(large);
    assert_int_equal(dropped(large), 0);
    tc_engine_destroy(large);
}

static void memory_is_doubled_until_it_is_enough(void **state)
{
    (void)state;
    const struct {
        int64_t gpus;
        size_t times;
    } cases[] = {
        {-1, 1},      {0, 1},          {1, 1},     {10000, 1},   {10001, 2},
        {20000, 2},   {20001, 4},      {80000, 8}, {100000, 16}, {TC_ENGINE_GPUS_MAX, 16},
        {160001, 16}, {INT64_MAX, 16},
    };
    size_t count = 0;
    const struct tc_detector *const *all = tc_detectors(&count);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_engine *e = create(cases[i].gpus);
        for (size_t d = 0; d < count; d++) {
            assert_int_equal(tc_engine_detector_budget(e, d),
                             cases[i].times * all[d]->arena_bytes + all[d]->state_bytes);
        }
        assert_int_equal(tc_engine_detector_budget(e, count), 0);
        tc_engine_destroy(e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_larger_cluster_fits_when_it_is_said),
        cmocka_unit_test(memory_is_doubled_until_it_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
