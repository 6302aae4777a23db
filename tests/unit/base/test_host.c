/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/os/host.h"

static void hosts_that_are_this_one(void **state)
{
    static const char *const HOSTS[] = {"localhost",       "LocalHost", "127.0.0.1",
                                        "127.255.255.254", "127.1.2.3", "::1",
                                        "0:0:0:0:0:0:0:1"};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(HOSTS); i++) {
        assert_true(tc_host_is_loopback(tc_slice_cstr(HOSTS[i])));
    }
}

static void hosts_that_may_be_others(void **state)
{
    static const char *const HOSTS[] = {
        "",
        "127.0.0.1.example.com",
        "127.example.com",
        "127.0.0",
        "127.0.0.256",
        "128.0.0.1",
        "10.0.0.1",
        "0.0.0.0",
        "::",
        "::2",
        "[::1]",
        "localhost.",
        "localhosts",
        "1.127.0.0",
        "a-name-that-is-longer-than-any-number-of-a-host-can-be-written"};
    (void)state;
    for (size_t i = 0; i < TC_COUNT(HOSTS); i++) {
        assert_false(tc_host_is_loopback(tc_slice_cstr(HOSTS[i])));
    }
    assert_false(tc_host_is_loopback(tc_slice_make("127.0.0.1\0.evil", 15)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_that_are_this_one),
        cmocka_unit_test(hosts_that_may_be_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
