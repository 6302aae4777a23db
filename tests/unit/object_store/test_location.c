/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of object stores: what is taken, and what is said of what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "object_store/location.h"

#include <string.h>

static struct tc_s3_location location;
static struct tc_error err;

static tc_status read_url(const char *url)
{
    err = (struct tc_error){0};
    return tc_s3_location_read(tc_slice_cstr(url), &location, &err);
}

static void whole_addresses_are_taken(void **state)
{
    (void)state;
    assert_int_equal(read_url("s3://buck-et.1/a/b_c?endpoint=http://127.0.0.1:9000/&region=eu-1"),
                     TC_OK);
    assert_string_equal(location.bucket, "buck-et.1");
    assert_string_equal(location.prefix, "a/b_c/");
    assert_string_equal(location.endpoint, "http://127.0.0.1:9000");
    assert_string_equal(location.region, "eu-1");
    assert_int_equal(read_url("s3://abc/p/?region=x&endpoint=https://[::1]:1"), TC_OK);
    assert_string_equal(location.prefix, "p/");
    assert_string_equal(location.endpoint, "https://[::1]:1");
}

static void the_rest_has_defaults(void **state)
{
    (void)state;
    assert_int_equal(read_url("s3://abc"), TC_OK);
    assert_string_equal(location.prefix, "");
    assert_string_equal(location.region, "us-east-1");
    assert_string_equal(location.endpoint, "https://s3.us-east-1.amazonaws.com");
    assert_int_equal(read_url("s3://abc/?region=eu-central-1"), TC_OK);
    assert_string_equal(location.endpoint, "https://s3.eu-central-1.amazonaws.com");
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        const char *said;
    } cases[] = {
        {"", "s3://"},
        {"http://abc/x", "s3://"},
        {"s3://", "bucket"},
        {"s3://ab", "bucket"},
        {"s3://Abc", "bucket"},
        {"s3://a..b", "bucket"},
        {"s3://-ab", "bucket"},
        {"s3://a234567890123456789012345678901234567890123456789012345678901234", "bucket"},
        {"s3://abc//x", "prefix"},
        {"s3://abc/a/../b", "prefix"},
        {"s3://abc/./b", "prefix"},
        {"s3://abc/a b", "prefix"},
        {"s3://abc/a%20b", "prefix"},
        {"s3://abc/\r\nx", "prefix"},
        {"s3://abc?endpoint=host:9000", "endpoint"},
        {"s3://abc?endpoint=https://", "endpoint"},
        {"s3://abc?endpoint=https://h/path", "endpoint"},
        {"s3://abc?endpoint=https://u@h", "endpoint"},
        {"s3://abc?region=", "region"},
        {"s3://abc?region=a/b", "region"},
        {"s3://abc?key=secret", "\"key\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_url(cases[i].url), TC_E_USAGE);
        if (strstr(err.message, cases[i].said) == NULL) {
            fail_msg("%s: %s", cases[i].url, err.message);
        }
    }
}

static void lengths_are_bounded(void **state)
{
    (void)state;
    char url[1024] = "s3://abc/";
    memset(url + 9, 'x', 254);
    assert_int_equal(read_url(url), TC_OK);
    assert_int_equal(strlen(location.prefix), 255);
    url[9 + 254] = 'x';
    assert_int_equal(read_url(url), TC_E_USAGE);
    memset(url, 0, sizeof url);
    memcpy(url, "s3://abc?region=", 16);
    memset(url + 16, 'r', 63);
    assert_int_equal(read_url(url), TC_OK);
    url[16 + 63] = 'r';
    assert_int_equal(read_url(url), TC_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_addresses_are_taken),
        cmocka_unit_test(the_rest_has_defaults),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(lengths_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
