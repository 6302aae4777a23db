/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/pb.h"
#include "hot/remote.h"

#include <stdlib.h>
#include <string.h>

static const char PAGE[] = "# HELP b help\n# TYPE b gauge\n"
                           "b{zone=\"z\",cluster=\"a\\\"b\"} 0.5\n"
                           "b{stat=\"max\"} 2\n"
                           "# HELP c_total help\n# TYPE c_total counter\n"
                           "c_total 7\n";

static char strings[1 << 16];
static struct tc_arena arena;
static struct tc_error err;

static const struct tc_remote_page page = {
    .text = {PAGE, sizeof PAGE - 1}, .instance = {"node-1", 6}, .time_ms = 1794805200123};

static int set_up(void **state)
{
    (void)state;
    tc_arena_init(&arena, "strings", strings, sizeof strings);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tc_arena_fini(&arena);
    return 0;
}

/* The next field, which has a length. */
static struct tc_slice field(struct tc_pb *p, uint32_t want)
{
    uint32_t number = 0;
    unsigned wire = 0;
    size_t len = 0;
    assert_true(tc_pb_tag(p, &number, &wire));
    assert_int_equal(number, want);
    assert_int_equal(wire, TC_PB_LENGTH);
    assert_true(tc_pb_length(p, &len));
    struct tc_slice bytes = tc_slice_make((const char *)p->at, len);
    p->at += len;
    return bytes;
}

static void assert_label(struct tc_pb *series, const char *name, const char *value)
{
    struct tc_pb label = tc_pb_make(field(series, 1));
    assert_true(tc_slice_eq(field(&label, 1), tc_slice_cstr(name)));
    assert_true(tc_slice_eq(field(&label, 2), tc_slice_cstr(value)));
    assert_ptr_equal(label.at, label.end);
}

static void assert_sample(struct tc_pb *series, double want)
{
    struct tc_pb sample = tc_pb_make(field(series, 2));
    uint32_t number = 0;
    unsigned wire = 0;
    uint64_t bits = 0;
    uint64_t time = 0;
    double value = 0;
    assert_true(tc_pb_tag(&sample, &number, &wire) && number == 1 && wire == TC_PB_FIXED64);
    assert_true(tc_pb_fixed64(&sample, &bits));
    memcpy(&value, &bits, sizeof value);
    assert_true(value == want);
    assert_true(tc_pb_tag(&sample, &number, &wire) && number == 2 && wire == TC_PB_VARINT);
    assert_true(tc_pb_varint(&sample, &time));
    assert_int_equal(time, 1794805200123);
    assert_ptr_equal(series->at, series->end);
}

static void samples_are_series_with_sorted_labels(void **state)
{
    (void)state;
    char bytes[4096];
    struct tc_buf out = tc_buf_make(bytes, sizeof bytes);
    size_t count = 0;
    assert_int_equal(tc_remote_encode(&page, 0, &arena, &out, &count, &err), TC_OK);
    assert_int_equal(count, 3);
    struct tc_pb request = tc_pb_make(tc_buf_slice(&out));
    struct tc_pb series = tc_pb_make(field(&request, 1));
    assert_label(&series, "__name__", "b");
    assert_label(&series, "cluster", "a\"b");
    assert_label(&series, "instance", "node-1");
    assert_label(&series, "job", "tracecore");
    assert_label(&series, "zone", "z");
    assert_sample(&series, 0.5);
    (void)field(&request, 1);
    series = tc_pb_make(field(&request, 1));
    assert_label(&series, "__name__", "c_total");
    assert_label(&series, "instance", "node-1");
    assert_label(&series, "job", "tracecore");
    assert_sample(&series, 7);
    assert_ptr_equal(request.at, request.end);
}

static void what_does_not_fit_comes_in_the_next_request(void **state)
{
    (void)state;
    char bytes[250];
    size_t first = 0;
    size_t requests = 0;
    for (;;) {
        struct tc_buf out = tc_buf_make(bytes, sizeof bytes);
        size_t count = 0;
        tc_arena_reset(&arena);
        assert_int_equal(tc_remote_encode(&page, first, &arena, &out, &count, &err), TC_OK);
        if (count == 0) {
            assert_int_equal(out.len, 0);
            break;
        }
        assert_true(requests++ < 3 && out.len > 0 && !out.overflowed);
        first += count;
    }
    assert_int_equal(first, 3);
    assert_true(requests > 1);
    struct tc_buf none = tc_buf_make(bytes, 20);
    size_t count = 0;
    assert_int_equal(tc_remote_encode(&page, 0, &arena, &none, &count, &err), TC_E_LIMIT);
}

static void an_empty_page_is_no_request(void **state)
{
    (void)state;
    char bytes[64];
    struct tc_buf out = tc_buf_make(bytes, sizeof bytes);
    struct tc_remote_page empty = {.instance = TC_LIT("x")};
    size_t count = 1;
    assert_int_equal(tc_remote_encode(&empty, 0, &arena, &out, &count, &err), TC_OK);
    assert_int_equal(count, 0);
}

/* Reads literals back, as Snappy's description of its format has them. */
static void literals_have_their_lengths(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 60, 61, 65535, 65536, 65537, 200000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t len = lengths[i];
        char *bytes = malloc(len + 1);
        char *packed = malloc(tc_remote_packed_max(len));
        assert_true(bytes != NULL && packed != NULL);
        for (size_t n = 0; n < len; n++) {
            bytes[n] = (char)(n * 31 % 251);
        }
        struct tc_buf out = tc_buf_make(packed, tc_remote_packed_max(len));
        tc_remote_pack(tc_slice_make(bytes, len), &out);
        assert_false(out.overflowed);
        struct tc_pb p = tc_pb_make(tc_buf_slice(&out));
        uint64_t said = 0;
        size_t got = 0;
        assert_true(tc_pb_varint(&p, &said));
        assert_int_equal(said, len);
        while (p.at < p.end) {
            assert_int_equal(p.at[0], 61 << 2);
            size_t part = (size_t)p.at[1] + ((size_t)p.at[2] << 8) + 1;
            assert_true(part <= (size_t)(p.end - p.at) - 3 && part <= len - got);
            assert_memory_equal(p.at + 3, bytes + got, part);
            got += part;
            p.at += 3 + part;
        }
        assert_int_equal(got, len);
        free(bytes);
        free(packed);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(samples_are_series_with_sorted_labels),
        TEST(what_does_not_fit_comes_in_the_next_request),
        TEST(an_empty_page_is_no_request),
        TEST(literals_have_their_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
