/* SPDX-License-Identifier: Apache-2.0 */
/* The page of hot metrics with every allocation of ours failing in turn: none of it is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "observe/metrics.h"
#include "server/hot_page.h"
#include "server/remote_write.h"
#include "support/faulty.h"

#define CALLS_MAX 40

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

static void remote_write_without_memory(void **state)
{
    (void)state;
    struct tc_config config = {.limits_output = 1 << 20,
                               .hot_metrics_series = 100,
                               .hot_metrics_window = 1,
                               .hot_metrics_stale = 1};
    struct tc_hot_page *page = tc_hot_page_create(&config);
    assert_non_null(page);
    struct tc_remote_write_config remote = {.url = "http://127.0.0.1:1/write",
                                            .interval_ns = 3600 * TC_SECOND,
                                            .timeout_ns = TC_SECOND,
                                            .page = page};
    bool failed = false;
    long at = 0;
    for (; at < CALLS_MAX; at++) {
        struct tc_remote_write *r = NULL;
        struct tc_error err = {0};
        *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .write_fd = -1, .fail_at = at};
        tc_status status = tc_remote_write_start(&remote, &r, &err);
        bool hit = tc_faulty_plan->hit;
        *tc_faulty_plan = (struct plan){0};
        assert_true((status == TC_OK) == (r != NULL));
        assert_true(status == TC_OK || err.message[0] != '\0');
        failed = failed || status == TC_E_NOMEM;
        tc_remote_write_stop(r);
        if (!hit) {
            assert_int_equal(status, TC_OK);
            break;
        }
    }
    assert_true(failed && at < CALLS_MAX);
    tc_hot_page_destroy(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_without_memory),
        cmocka_unit_test(remote_write_without_memory),
    };
    if (tc_faulty_init() != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
