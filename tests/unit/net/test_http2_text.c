/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "net/http2/priv.h"

#include <string.h>

static void timeouts_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ns; /* -1: is none */
    } cases[] = {
        {"1n", 1},
        {"20u", 20000},
        {"300m", 300000000},
        {"5S", 5 * TC_SECOND},
        {"2M", 120 * TC_SECOND},
        {"1H", 3600 * TC_SECOND},
        {"0S", 0},
        {"99999999n", 99999999},
        {"99999999S", 8640000 * TC_SECOND}, /* a hundred days at most */
        {"99999999H", 8640000 * TC_SECOND},
        {"999999999n", -1}, /* eight digits */
        {"", -1},
        {"S", -1},
        {"5", -1},
        {"5s", -1},
        {"5x", -1},
        {"-5S", -1},
        {"+5S", -1},
        {" 5S", -1},
        {"5 S", -1},
        {"0x5S", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t ns = 77;
        bool good = tc__grpc_timeout(tc_slice_cstr(cases[i].text), &ns);
        assert_int_equal(good, cases[i].ns >= 0);
        assert_int_equal(ns, cases[i].ns >= 0 ? cases[i].ns : 77);
    }
}

static void messages_are_percent_encoded_and_cut_whole(void **state)
{
    (void)state;
    char out[16];
    size_t n = tc__grpc_message(TC_LIT("a b~%\n\x7f\xff"), out, sizeof out);
    assert_int_equal(n, 16);
    assert_memory_equal(out, "a b~%25%0A%7F%FF", 16);
    for (size_t cap = 0; cap < 16; cap++) {
        n = tc__grpc_message(TC_LIT("a b~%\n\x7f\xff"), out, cap);
        assert_int_equal(n, cap <= 4 ? cap : 4 + (cap - 4) / 3 * 3);
    }
    assert_int_equal(tc__grpc_message(TC_EMPTY, out, sizeof out), 0);
}

static void details_have_no_padding_and_fit_or_are_left_out(void **state)
{
    (void)state;
    char out[2048];
    char text[TC_H2_MESSAGE_MAX];
    memset(text, 'm', sizeof text);
    /* A byte more of text: all three lengths of a last group. */
    for (size_t i = 0; i < 6; i++) {
        size_t n = tc__grpc_details(8, tc_slice_make(text, i), 1, out, sizeof out);
        size_t bytes = 2 + 2 + i + 2 + 48;
        assert_int_equal(n, (bytes * 8 + 5) / 6);
        assert_null(memchr(out, '=', n));
        assert_int_equal(tc__grpc_details(8, tc_slice_make(text, i), 1, out, n), n);
        assert_int_equal(tc__grpc_details(8, tc_slice_make(text, i), 1, out, n - 1), 0);
    }
    assert_true(tc__grpc_details(8, tc_slice_make(text, sizeof text), UINT32_MAX, out, 2048) > 0);
}

static enum tc__h2_end scan_bytes(struct tc__h2_guard *g, struct tc_slice bytes, size_t step)
{
    enum tc__h2_end end = TC_H2_END_NONE;
    while (bytes.len > 0 && end == TC_H2_END_NONE) {
        end = tc__h2_guard_scan(g, tc_slice_head(bytes, step), TC_SECOND, 10);
        bytes = tc_slice_from(bytes, step);
    }
    return end;
}

static void the_guard_sees_the_same_however_bytes_are_cut(void **state)
{
    (void)state;
    char bytes[4096];
    memcpy(bytes, NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);
    size_t n = NGHTTP2_CLIENT_MAGIC_LEN;
    /* Eleven pings, with data that look like pings between the first two. */
    for (size_t i = 0; i < 11; i++) {
        static const char ping[] = "\0\0\x08\6\0\0\0\0\0"
                                   "12345678";
        if (i == 1) {
            memcpy(bytes + n, "\0\0\x22\xee\0\0\0\0\1", 9);
            memcpy(bytes + n + 9, ping, 17);
            memcpy(bytes + n + 9 + 17, ping, 17);
            n += 9 + 34;
        }
        memcpy(bytes + n, ping, 17);
        n += 17;
    }
    for (size_t step = 1; step < n; step++) {
        struct tc__h2_guard g = {.preface = 0};
        assert_int_equal(scan_bytes(&g, tc_slice_make(bytes, n - 9), step), TC_H2_END_NONE);
        struct tc__h2_guard all = {.preface = 0};
        assert_int_equal(scan_bytes(&all, tc_slice_make(bytes, n), step), TC_H2_END_PINGS);
    }
}

static void memory_is_counted_and_capped(void **state)
{
    (void)state;
    struct tc__h2_mem m = {.cap = 10000};
    void *a = tc__h2_alloc(&m, 100);
    void *b = tc__h2_alloc(&m, 5000);
    assert_non_null(a);
    assert_non_null(b);
    assert_true(m.used >= 5100 && m.used <= 10000);
    assert_null(tc__h2_alloc(&m, 5000));
    assert_null(tc__h2_alloc(&m, SIZE_MAX));
    tc__h2_free(&m, b);
    b = tc__h2_alloc(&m, 5000);
    assert_non_null(b);
    nghttp2_mem hooks = tc__h2_hooks(&m);
    memset(a, 'a', 100);
    a = hooks.realloc(a, 300, &m);
    assert_non_null(a);
    assert_memory_equal(a, "aaaa", 4);
    assert_null(hooks.realloc(a, 9000, &m));
    assert_null(hooks.calloc(SIZE_MAX / 2, 3, &m));
    tc__h2_disown(&m, a);
    tc__h2_free(NULL, a);
    tc__h2_free(&m, b);
    tc__h2_free(&m, NULL);
    assert_int_equal(m.used, 0);
    struct tc__h2_mem large = {.cap = SIZE_MAX / 2};
    void *c = tc__h2_alloc(&large, 1 << 20); /* of no class: straight from the system */
    assert_non_null(c);
    tc__h2_free(&large, c);
    assert_int_equal(large.used, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timeouts_are_read),
        cmocka_unit_test(messages_are_percent_encoded_and_cut_whole),
        cmocka_unit_test(details_have_no_padding_and_fit_or_are_left_out),
        cmocka_unit_test(the_guard_sees_the_same_however_bytes_are_cut),
        cmocka_unit_test(memory_is_counted_and_capped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
