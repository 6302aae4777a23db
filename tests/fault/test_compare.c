/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparison and trend with allocations of ours failing in turn: no crash, no leak, and a status
 * that says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compare/trend.h"
#include "support/compare_rows.h"
#include "support/faulty.h"
#include "support/warehouse_room.h"

#include <stdio.h>
#include <stdlib.h>

#define CALLS_MAX 20000
#define RUNS 6

static struct tc_warehouse *w;

static tc_status scenario(struct tc_error *err)
{
    static const struct tc_slice metric = {"ttft", 4};
    static const struct tc_compare_options options = {0};
    static const struct tc_trend_options history = {
        .want = {.metrics = &metric, .metric_count = 1}};
    struct tc_comparison c;
    struct tc_trend t;
    struct tc_grow g = {0};
    TC_TRY(tc_compare(w, TC_LIT("base"), TC_LIT("name = 'candidate'"), &options, &c, err));
    struct tc_json_out j = tc_json_out_grow(&g);
    tc_comparison_json(&j, &c);
    bool written = tc_json_done(&j) && !g.failed;
    tc_grow_fini(&g);
    tc_comparison_fini(&c);
    if (!written) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for JSON");
    }
    TC_TRY(tc_trend(w, &history, &t, err));
    tc_trend_fini(&t);
    return TC_OK;
}

/* All of the first, then fewer and fewer: each costs a comparison. */
static void allocations_fail_in_turn(void **state)
{
    (void)state;
    bool hit = true;
    long at = 1;
    for (; hit && at < CALLS_MAX; at += 1 + at / 12) {
        struct tc_error err = {0};
        *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .fail_at = at};
        tc_status status = scenario(&err);
        hit = tc_faulty_plan->hit;
        tc_faulty_plan->fault = FAULT_NONE;
        assert_int_equal(status == TC_OK, !hit);
        assert_true(!hit || err.message[0] != '\0');
    }
    assert_true(at > 100);
    assert_true(at < CALLS_MAX);
}

static int setup(void **state)
{
    if (tc_faulty_init() != 0 || wh_setup(state) != 0) {
        return -1;
    }
    w = wh_open(*state, TC_WAREHOUSE_WRITE);
    for (size_t n = 0; n < 2 * RUNS; n++) {
        char id[32];
        const char *side = n < RUNS ? "base" : "candidate";
        (void)snprintf(id, sizeof id, "run-%zu", n);
        cr_add_run(w, &(struct cr_run){.id = id,
                                       .name = side,
                                       .group = side,
                                       .case_id = "case-1",
                                       .software = side,
                                       .started_s = (int64_t)n});
        cr_add_serving(w, &(struct cr_serving){id, "in=1", 64, NULL, NULL,
                                               100 + (double)n + (n < RUNS ? 0 : 50), 1000});
        cr_add_slice(w, id, "busbw", "GB/s", "size=8", 1, (double)n);
    }
    return 0;
}

static int teardown(void **state)
{
    tc_warehouse_close(w);
    return wh_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(allocations_fail_in_turn, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
