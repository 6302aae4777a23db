/* SPDX-License-Identifier: Apache-2.0 */
/* The page of hot metrics with every allocation of ours failing in turn: none of it is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "observe/metrics.h"
#include "server/hot_page.h"
#include "support/faulty.h"

#define CALLS_MAX 20

static void a_page_without_memory(void **state)
{
    (void)state;
    struct tc_config config = {.limits_output = 1 << 20,
                               .hot_metrics_series = 100,
                               .hot_metrics_window = 1,
                               .hot_metrics_stale = 1};
    long at = 0;
    for (; at < CALLS_MAX; at++) {
        *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .write_fd = -1, .fail_at = at};
        struct tc_hot_page *page = tc_hot_page_create(&config);
        bool hit = tc_faulty_plan->hit;
        *tc_faulty_plan = (struct plan){0};
        assert_true((page == NULL) == hit);
        tc_hot_page_destroy(page);
        if (!hit) {
            break;
        }
    }
    assert_true(at > 3 && at < CALLS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_page_without_memory)};
    if (tc_faulty_init() != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
