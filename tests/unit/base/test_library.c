/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/os/library.h"

#include <string.h>

struct functions {
    double (*cos)(double x);
    double (*lacking)(double x);
    double (*sqrt)(double x);
};

static void functions_are_found_and_the_first_that_lacks_is_named(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"cos", "tc_no_such_function", "sqrt", "tc_nor_this"};
    struct functions f;
    void *library = tc_library_open("libm.so.6", NULL);
    assert_non_null(library);
    assert_string_equal(tc_library_bind(library, NAMES, 3, &f), "tc_no_such_function");
    assert_null(f.lacking);
    assert_true(f.cos(0) >= 1 && f.sqrt(16) >= 4 && f.sqrt(16) <= 4);
    assert_null(tc_library_bind(library, NAMES, 1, &f));
    void *all[4];
    assert_string_equal(tc_library_bind(library, NAMES, 4, all), "tc_no_such_function");
    tc_library_close(library);
}

static void a_library_that_is_not_there_is_said(void **state)
{
    (void)state;
    struct tc_error err = {0};
    assert_null(tc_library_open("/no/such/library.so", &err));
    assert_non_null(strstr(err.message, "/no/such/library.so"));
    assert_null(tc_library_open("/dev/null", NULL));
    tc_library_close(NULL);
}

static void a_library_that_rested_goes_on(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"cos", "sin", "sqrt"};
    struct functions f;
    void *library = tc_library_open("libm.so.6", NULL);
    assert_non_null(library);
    tc_library_rest(library);
    assert_null(tc_library_bind(library, NAMES, 3, &f));
    assert_true(f.cos(0) >= 1);
    tc_library_rest(library);
    tc_library_rest(library);
    assert_true(f.cos(0) >= 1 && f.sqrt(16) >= 4 && f.sqrt(16) <= 4);
    tc_library_close(library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_found_and_the_first_that_lacks_is_named),
        cmocka_unit_test(a_library_that_is_not_there_is_said),
        cmocka_unit_test(a_library_that_rested_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
