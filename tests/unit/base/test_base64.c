/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base64.h"

#include <string.h>

static void it_is_that_of_rfc_4648(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}};
    uint8_t bytes[64];
    char text[64];
    size_t len = 0;
    for (size_t i = 0; i < TC_COUNT(pairs); i++) {
        const char *end = tc_base64_put(text, tc_slice_cstr(pairs[i][0]), true);
        assert_true(
            tc_slice_eq(tc_slice_make(text, (size_t)(end - text)), tc_slice_cstr(pairs[i][1])));
        size_t bare = strcspn(pairs[i][1], "=");
        end = tc_base64_put(text, tc_slice_cstr(pairs[i][0]), false);
        assert_true(tc_slice_eq(tc_slice_make(text, (size_t)(end - text)),
                                tc_slice_make(pairs[i][1], bare)));
        assert_true(tc_base64_get(tc_slice_cstr(pairs[i][1]), bytes, &len));
        assert_int_equal(len, strlen(pairs[i][0]));
        assert_memory_equal(bytes, pairs[i][0], len);
    }
    assert_true(tc_base64_get(TC_LIT("-_8"), bytes, &len)); /* URL-safe, not padded */
    assert_int_equal(len, 2);
    assert_memory_equal(bytes, "\xfb\xff", 2);
    static const char *const bad[] = {"Z", "Zg=", "Zg===", "Z g=", "Zh==", "=", "====", "Zm9=Zg=="};
    for (size_t i = 0; i < TC_COUNT(bad); i++) {
        assert_false(tc_base64_get(tc_slice_cstr(bad[i]), bytes, &len));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_that_of_rfc_4648),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
