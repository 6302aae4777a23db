/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contract that is read, checked and digested with every allocation of ours failing in turn: an
 * error that says so, no crash and no leak; and a check that never calls a bad contract valid.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "contract/contract.h"
#include "support/faulty.h"

#include <string.h>

#define CALLS_MAX 400

static char text[TC_CONTRACT_TEXT_MAX];

static size_t use(const char *contract, size_t len, tc_status *out)
{
    struct tc_error err;
    struct tc_contract *c = NULL;
    struct tc_slice canonical = TC_EMPTY;
    size_t told = 0;
    *out = tc_contract_parse(tc_slice_make(contract, len), &c, &err);
    if (*out == TC_OK) {
        told = tc_contract_check(c, true, NULL, NULL);
        *out = tc_contract_canonical(c, true, &canonical, &err);
        (void)tc_contract_workload_json(c, "sequenceLengthMix");
    }
    tc_contract_destroy(c);
    return told;
}

static void each_allocation_fails_in_turn(void **state)
{
    (void)state;
    struct tc_contract_values values;
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_contract_values_init(&values);
    tc_contract_template(&values, &b);
    long at = 0;
    for (bool hit = true; hit && at < CALLS_MAX; at++) {
        tc_status status = TC_OK;
        *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .write_fd = -1, .fail_at = at};
        size_t told = use(text, b.len, &status);
        hit = tc_faulty_plan->hit;
        tc_faulty_plan->fault = FAULT_NONE;
        assert_true(status == TC_OK || status == TC_E_NOMEM);
        assert_true(hit || (status == TC_OK && told == 0));
    }
    assert_true(at > 10 && at < CALLS_MAX);
}

static void a_bad_one_is_never_valid(void **state)
{
    (void)state;
    static const char bad[] = "spec: {intent: {schedulerPath: [kueue]}, layers: [a], workload: "
                              "{model: {a: [1, 2]}}, comparison: {controls: {fixed: {model: {a: "
                              "[1, 2]}}}}}\n";
    bool hit = true;
    for (long at = 0; hit && at < CALLS_MAX; at++) {
        tc_status status = TC_OK;
        *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .write_fd = -1, .fail_at = at};
        size_t told = use(bad, sizeof bad - 1, &status);
        hit = tc_faulty_plan->hit;
        tc_faulty_plan->fault = FAULT_NONE;
        assert_true(status == TC_E_NOMEM || told > 0);
    }
    assert_false(hit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_fails_in_turn),
        cmocka_unit_test(a_bad_one_is_never_valid),
    };
    return tc_faulty_init() != 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
