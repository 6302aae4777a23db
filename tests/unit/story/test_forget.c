/* SPDX-License-Identifier: Apache-2.0 */
/* Which incidents make room for others. */
#include "story/incident_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void add(struct tc_incident_table *k, const char *id, enum tc_severity severity,
                enum tc_verdict_status status, int64_t last_ns)
{
    struct tc_finding finding = {.pattern_id = TC_LIT("3"),
                                 .key = tc_slice_cstr(id),
                                 .severity = severity,
                                 .last_ns = last_ns};
    struct tc_verdict v = {.finding = &finding, .incident_id = tc_slice_cstr(id), .status = status};
    assert_int_equal(tc_incident_table_add(k, &v), TC_OK);
}

static void the_least_worth_knowing_goes_first(void **state)
{
    (void)state;
    static const char *const order[] = {"over", "info", "old warning", "warning", "old critical"};
    struct tc_incident_table k = {0};
    add(&k, "old critical", TC_SEVERITY_CRITICAL, TC_VERDICT_OPEN, 1);
    add(&k, "old warning", TC_SEVERITY_WARNING, TC_VERDICT_UPDATED, 2);
    add(&k, "warning", TC_SEVERITY_WARNING, TC_VERDICT_OPEN, 3);
    add(&k, "info", TC_SEVERITY_INFO, TC_VERDICT_OPEN, 4);
    add(&k, "over", TC_SEVERITY_CRITICAL, TC_VERDICT_RESOLVED, 5);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        assert_int_not_equal(tc_incident_table_find(&k, tc_slice_cstr(order[i])), TC_INCIDENT_NONE);
        tc_incident_table_forget(&k, 1);
        assert_int_equal(tc_incident_table_find(&k, tc_slice_cstr(order[i])), TC_INCIDENT_NONE);
    }
    tc_incident_table_fini(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_least_worth_knowing_goes_first)};
    return cmocka_run_group_tests_name("story_forget", tests, NULL, NULL);
}
