/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "detect/counter_priv.h"

static void a_counter_rises_from_its_baseline_and_not_over_a_restart(void **state)
{
    (void)state;
    struct tc_counter c = {0};
    assert_true(tc__counter_rise(&c, 40, 10) == 0); /* the baseline */
    assert_true(tc__counter_rise(&c, 42, 20) == 2);
    assert_true(tc__counter_rise(&c, 99, 20) == 0); /* not newer */
    assert_true(tc__counter_rise(&c, 99, 15) == 0); /* late */
    assert_true(tc__counter_rise(&c, 42, 30) == 0);
    assert_true(tc__counter_rise(&c, 3, 40) == 0); /* its producer started again */
    assert_true(tc__counter_rise(&c, 5, 50) == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_rises_from_its_baseline_and_not_over_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
