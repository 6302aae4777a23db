/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json/out.h"

#include "base/json/json.h"

#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char memory[1 << 16];
static struct tc_buf buf;
static struct tc_json_out j;

static int setup(void **state)
{
    (void)state;
    buf = tc_buf_make(memory, sizeof memory);
    j = tc_json_out_make(&buf);
    return 0;
}

static void assert_text(const struct tc_buf *b, const char *want)
{
    assert_int_equal(b->len, strlen(want));
    assert_memory_equal(b->data, want, b->len);
}

static uint64_t next_random(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static void every_type_is_written(void **state)
{
    (void)state;
    struct tc_digest digest = {{0xab, 0xcd}};
    struct tc_time_cache cache = {.known = false};
    tc_json_add_object(&j);
    tc_json_put_str(&j, "str", TC_LIT("a\"b"));
    tc_json_put_cstr(&j, "cstr", "c");
    tc_json_put_plain(&j, "plain", TC_LIT("p"));
    tc_json_put_str_or_null(&j, "some", TC_LIT("s"));
    tc_json_put_str_or_null(&j, "none", TC_EMPTY);
    tc_json_put_i64(&j, "i64", INT64_MIN);
    tc_json_put_u64(&j, "u64", UINT64_MAX);
    tc_json_put_f64(&j, "f64", 0.1);
    tc_json_put_f64(&j, "nan", (double)NAN);
    tc_json_put_bool(&j, "yes", true);
    tc_json_put_bool(&j, "no", false);
    tc_json_put_null(&j, "null");
    tc_json_put_time(&j, "time", 1500000000);
    tc_json_key(&j, "again");
    tc_json_add_time_cached(&j, 1500000000, &cache);
    tc_json_put_digest(&j, "digest", &digest);
    tc_json_put_raw(&j, "raw", TC_LIT("[1,2]"));
    tc_json_put_some(&j, "left out", TC_EMPTY);
    tc_json_put_some(&j, "kept", TC_LIT("k"));
    tc_json_key_str(&j, TC_LIT("key \"\n"));
    tc_json_add_str(&j, TC_EMPTY);
    tc_json_key_plain(&j, TC_LIT("column"));
    tc_json_add_i64_text(&j, -7);
    tc_json_end_object(&j);
    assert_true(tc_json_done(&j));
    assert_text(&buf,
                "{\"str\":\"a\\\"b\",\"cstr\":\"c\",\"plain\":\"p\",\"some\":\"s\","
                "\"none\":null,\"i64\":-9223372036854775808,\"u64\":18446744073709551615,"
                "\"f64\":0.1,\"nan\":null,\"yes\":true,\"no\":false,\"null\":null,"
                "\"time\":\"1970-01-01T00:00:01.500Z\",\"again\":\"1970-01-01T00:00:01.500Z\""
                ",\"digest\":\"sha256:abcd0000000000000000000000000000000000000000000000000000"
                "00000000\",\"raw\":[1,2],\"kept\":\"k\",\"key \\\"\\n\":\"\",\"column\":\"-7\"}");
}

static void objects_and_arrays_nest(void **state)
{
    (void)state;
    tc_json_add_array(&j);
    tc_json_add_object(&j);
    tc_json_end_object(&j);
    tc_json_add_array(&j);
    tc_json_end_array(&j);
    tc_json_add_raw(&j, TC_EMPTY);
    tc_json_add_raw(&j, TC_LIT("1,2"));
    tc_json_add_object(&j);
    tc_json_put_array(&j, "a");
    tc_json_add_bool(&j, true);
    tc_json_add_null(&j);
    tc_json_end_array(&j);
    tc_json_put_object(&j, "o");
    tc_json_put_object(&j, "p");
    tc_json_end_object(&j);
    tc_json_put_u64(&j, "q", 1);
    tc_json_end_object(&j);
    tc_json_put_array(&j, "e");
    tc_json_add_raw(&j, TC_EMPTY);
    tc_json_end_array(&j);
    tc_json_end_object(&j);
    tc_json_add_f64(&j, 1.5);
    tc_json_end_array(&j);
    assert_true(tc_json_done(&j));
    assert_text(&buf, "[{},[],1,2,{\"a\":[true,null],\"o\":{\"p\":{},\"q\":1},\"e\":[]},1.5]");
}

static void lines_follow_each_other(void **state)
{
    (void)state;
    tc_json_add_object(&j);
    tc_json_put_u64(&j, "n", 1);
    tc_json_end_object(&j);
    assert_true(tc_json_done_line(&j));
    tc_json_add_str(&j, TC_LIT("x"));
    assert_true(tc_json_done_line(&j));
    struct tc_json_out next = tc_json_object_make(&buf);
    tc_json_put_u64(&next, "n", 2);
    assert_true(tc_json_end_line(&next));
    assert_text(&buf, "{\"n\":1}\n\"x\"\n{\"n\":2}\n");
}

static void bytes_that_are_not_utf8_are_replaced(void **state)
{
    (void)state;
    tc_json_add_array(&j);
    tc_json_add_str(&j, TC_LIT("\xff\xe2\x82z\x01\t"));
    tc_json_add_str(&j, TC_LIT("\xe2\x82\xac"));
    tc_json_end_array(&j);
    assert_text(&buf, "[\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\\u0001\\t\",\"\xe2\x82\xac\"]");
}

/* ---- random documents ---- */

/* A document is a function of its seed: written once, and read again with the same seed. */
static struct tc_slice random_text(uint64_t *seed, char *room, size_t max)
{
    static const char *const CHARACTERS[] = {
        "a", "\"", "\\", "\n", "\x01", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "{", ","};
    struct tc_buf b = tc_buf_make(room, max);
    size_t count = next_random(seed) % 8 == 0 ? next_random(seed) % 900 : next_random(seed) % 20;
    for (size_t i = 0; i < count; i++) {
        tc_buf_str(&b, tc_slice_cstr(CHARACTERS[next_random(seed) % 10]));
    }
    return tc_buf_slice(&b);
}

static double random_double(uint64_t *seed)
{
    uint64_t bits = next_random(seed);
    double value = 0;
    memcpy(&value, &bits, sizeof value);
    return isfinite(value) ? value : 1.5;
}

static void write_random(struct tc_json_out *out, uint64_t *seed, unsigned depth)
{
    char room[4096];
    char name[4096];
    uint64_t kind = next_random(seed) % (depth < 5 ? 9 : 6);
    uint64_t count = kind < 6 ? 0 : next_random(seed) % 8;
    switch (kind) {
    case 0:
        tc_json_add_str(out, random_text(seed, room, sizeof room));
        break;
    case 1:
        tc_json_add_i64(out, (int64_t)next_random(seed));
        break;
    case 2:
        tc_json_add_u64(out, next_random(seed));
        break;
    case 3:
        tc_json_add_f64(out, random_double(seed));
        break;
    case 4:
        tc_json_add_bool(out, next_random(seed) % 2 == 0);
        break;
    case 5:
        tc_json_add_null(out);
        break;
    case 6:
        tc_json_add_array(out);
        for (uint64_t i = 0; i < count; i++) {
            write_random(out, seed, depth + 1);
        }
        tc_json_end_array(out);
        break;
    default:
        tc_json_add_object(out);
        for (uint64_t i = 0; i < count; i++) {
            if (next_random(seed) % 2 == 0) {
                tc_json_key(out, "fixed");
            } else {
                tc_json_key_str(out, random_text(seed, name, sizeof name));
            }
            write_random(out, seed, depth + 1);
        }
        tc_json_end_object(out);
        break;
    }
}

static void expect_random(struct tc_json v, uint64_t *seed, unsigned depth)
{
    char room[4096];
    struct tc_slice text = TC_EMPTY;
    struct tc_slice key = TC_EMPTY;
    struct tc_json item;
    int64_t integer = 0;
    uint64_t number = 0;
    double real = 0;
    bool boolean = false;
    uint64_t kind = next_random(seed) % (depth < 5 ? 9 : 6);
    uint64_t count = kind < 6 ? 0 : next_random(seed) % 8;
    struct tc_json_iter it = tc_json_iter_make(v);
    switch (kind) {
    case 0:
        assert_true(tc_json_string(v, &text));
        assert_true(tc_slice_eq(text, random_text(seed, room, sizeof room)));
        break;
    case 1:
        assert_true(tc_json_int(v, &integer));
        assert_true(integer == (int64_t)next_random(seed));
        break;
    case 2:
        assert_true(tc_json_uint(v, &number));
        assert_true(number == next_random(seed));
        break;
    case 3:
        assert_true(tc_json_double(v, &real));
        assert_true(real == random_double(seed));
        break;
    case 4:
        assert_true(tc_json_bool(v, &boolean));
        assert_true(boolean == (next_random(seed) % 2 == 0));
        break;
    case 5:
        assert_int_equal(tc_json_type(v), TC_JSON_NULL);
        break;
    default:
        assert_int_equal(tc_json_type(v), kind == 6 ? TC_JSON_ARRAY : TC_JSON_OBJECT);
        for (uint64_t i = 0; i < count; i++) {
            assert_true(tc_json_iter_next(&it, &key, &item));
            if (kind > 6) {
                bool fixed = next_random(seed) % 2 == 0;
                assert_true(tc_slice_eq(key, fixed ? TC_LIT("fixed")
                                                   : random_text(seed, room, sizeof room)));
            }
            expect_random(item, seed, depth + 1);
        }
        assert_false(tc_json_iter_next(&it, &key, &item));
        break;
    }
}

/* ---- sinks ---- */

/* A small buffer that is emptied into a large one; the n-th time fails. */
struct sink {
    struct tc_buf buf;
    struct tc_grow all;
    size_t fail_at; /* 0: never */
    size_t calls;
    char room[TC_JSON_OUT_PIECE_MAX];
};

static bool empty_sink(void *context, size_t bytes)
{
    struct sink *s = context;
    assert_true(bytes <= TC_JSON_OUT_PIECE_MAX);
    s->calls++;
    if (s->fail_at > 0 && s->calls >= s->fail_at) {
        s->buf.len = 0;
        return false;
    }
    tc_grow_str(&s->all, tc_buf_slice(&s->buf));
    s->buf.len = 0;
    return true;
}

static void three_sinks_get_the_document_that_is_read_back(void **state)
{
    (void)state;
    static struct sink sink;
    static char large[8 << 20];
    struct tc_json_parser *parser = tc_json_parser_create();
    assert_non_null(parser);
    for (uint64_t n = 0; n < 400; n++) {
        uint64_t seeds[4] = {n, n, n, n};
        struct tc_buf b = tc_buf_make(large, sizeof large);
        struct tc_json_out fixed = tc_json_out_make(&b);
        struct tc_grow g = {0};
        struct tc_json_out growing = tc_json_out_grow(&g);
        sink = (struct sink){.buf = tc_buf_make(sink.room, sizeof sink.room)};
        struct tc_json_out sent = tc_json_out_sink(&sink.buf, empty_sink, &sink);
        write_random(&fixed, &seeds[0], 0);
        write_random(&growing, &seeds[1], 0);
        write_random(&sent, &seeds[2], 0);
        assert_true(tc_json_done(&fixed));
        assert_true(tc_json_done(&growing));
        assert_true(tc_json_done(&sent));
        tc_grow_str(&sink.all, tc_buf_slice(&sink.buf));
        assert_true(tc_slice_eq(tc_buf_slice(&b), tc_grow_slice(&g)));
        assert_true(tc_slice_eq(tc_buf_slice(&b), tc_grow_slice(&sink.all)));
        struct tc_json root;
        struct tc_error err;
        assert_int_equal(tc_json_parse(parser, tc_buf_slice(&b), &root, &err), TC_OK);
        expect_random(root, &seeds[3], 0);
        tc_grow_fini(&g);
        tc_grow_fini(&sink.all);
    }
    tc_json_parser_destroy(parser);
}

/* Long strings, escaped and raw, are cut nowhere inside of a character. */
static void long_strings_pass_through_a_small_sink(void **state)
{
    (void)state;
    static struct sink sink;
    static char text[50000];
    static const char EURO[] = "\xe2\x82\xac\"";
    for (size_t shift = 0; shift < 4; shift++) {
        for (size_t i = 0; i < sizeof text; i++) {
            text[i] = i < shift ? 'x' : EURO[(i - shift) % 4];
        }
        struct tc_slice s = tc_slice_make(text, sizeof text);
        struct tc_grow want = {0};
        struct tc_grow g = {0};
        tc_grow_lit(&want, "[");
        assert_true(tc_grow_room(&want, 6 * s.len + 2));
        tc_buf_json(&want.buf, s);
        tc_grow_lit(&want, ",\"");
        tc_grow_str(&want, s);
        tc_grow_lit(&want, "\",");
        tc_grow_str(&want, s);
        tc_grow_lit(&want, "]");
        sink = (struct sink){.buf = tc_buf_make(sink.room, sizeof sink.room)};
        struct tc_json_out outs[2] = {tc_json_out_sink(&sink.buf, empty_sink, &sink),
                                      tc_json_out_grow(&g)};
        for (size_t i = 0; i < 2; i++) {
            tc_json_add_array(&outs[i]);
            tc_json_add_str(&outs[i], s);
            tc_json_add_plain(&outs[i], s);
            tc_json_add_raw(&outs[i], s);
            tc_json_end_array(&outs[i]);
            assert_true(tc_json_done(&outs[i]));
        }
        tc_grow_str(&sink.all, tc_buf_slice(&sink.buf));
        assert_true(tc_slice_eq(tc_grow_slice(&want), tc_grow_slice(&sink.all)));
        assert_true(tc_slice_eq(tc_grow_slice(&want), tc_grow_slice(&g)));
        tc_grow_fini(&g);
        tc_grow_fini(&want);
        tc_grow_fini(&sink.all);
    }
}

static void write_example(struct tc_json_out *out)
{
    struct tc_digest digest = {{1}};
    tc_json_add_object(out);
    tc_json_put_str(out, "string", TC_LIT("a\nb"));
    tc_json_put_plain(out, "plain", TC_LIT("abc"));
    tc_json_put_i64(out, "integer", -1);
    tc_json_put_f64(out, "real", 0.25);
    tc_json_put_bool(out, "boolean", true);
    tc_json_put_time(out, "time", 0);
    tc_json_put_digest(out, "digest", &digest);
    tc_json_key_str(out, TC_LIT("key"));
    tc_json_add_raw(out, TC_LIT("[1]"));
    tc_json_key_plain(out, TC_LIT("column"));
    tc_json_add_u64(out, 12345);
    tc_json_put_array(out, "list");
    tc_json_add_null(out);
    tc_json_end_array(out);
    tc_json_end_object(out);
}

static void a_fixed_buffer_fits_to_the_byte(void **state)
{
    (void)state;
    write_example(&j);
    assert_true(tc_json_done(&j));
    size_t exact = buf.len;
    for (size_t cap = 0; cap <= exact; cap++) {
        char *room = malloc(cap + 1); /* on the heap, so that a sanitizer sees the byte behind it */
        assert_non_null(room);
        room[cap] = '#';
        struct tc_buf b = tc_buf_make(room, cap);
        struct tc_json_out out = tc_json_out_make(&b);
        write_example(&out);
        assert_int_equal(tc_json_done(&out), cap == exact);
        assert_int_equal(b.overflowed, cap != exact);
        assert_int_equal(room[cap], '#');
        free(room);
    }
}

static void a_sink_that_fails_is_told_at_the_end(void **state)
{
    (void)state;
    static struct sink sink;
    static char text[50000];
    memset(text, '\n', sizeof text);
    for (size_t fail_at = 1; fail_at < 40; fail_at++) {
        sink = (struct sink){.buf = tc_buf_make(sink.room, sizeof sink.room), .fail_at = fail_at};
        struct tc_json_out out = tc_json_out_sink(&sink.buf, empty_sink, &sink);
        tc_json_add_array(&out);
        tc_json_add_plain(&out, tc_slice_make(text, sizeof text));
        tc_json_add_str(&out, tc_slice_make(text, sizeof text));
        tc_json_add_raw(&out, tc_slice_make(text, sizeof text));
        tc_json_end_array(&out);
        assert_false(tc_json_done(&out));
        assert_false(tc_json_done_line(&out));
        tc_grow_fini(&sink.all);
    }
}

static void growth_ends_at_its_limit(void **state)
{
    (void)state;
    static char text[1 << 20];
    struct tc_grow g = {0};
    struct tc_json_out out = tc_json_out_grow(&g);
    memset(text, 'x', sizeof text);
    tc_json_add_array(&out);
    for (size_t i = 0; i <= TC_GROW_MAX / sizeof text; i++) {
        tc_json_add_plain(&out, tc_slice_make(text, sizeof text));
        assert_int_equal(g.failed, (i + 1) * (sizeof text + 3) > TC_GROW_MAX);
    }
    tc_json_end_array(&out);
    assert_false(tc_json_done(&out));
    assert_true(g.failed);
    assert_true(g.buf.len <= TC_GROW_MAX);
    tc_grow_fini(&g);
}

/* ---- misuse ---- */

static void key_in_array(void)
{
    tc_json_add_array(&j);
    tc_json_key(&j, "k");
}

static void key_at_top(void)
{
    tc_json_key(&j, "k");
}

static void key_behind_document(void)
{
    tc_json_add_null(&j);
    tc_json_key(&j, "k");
}

static void key_behind_key(void)
{
    tc_json_add_object(&j);
    tc_json_key(&j, "k");
    tc_json_key_str(&j, TC_LIT("l"));
}

static void value_without_key(void)
{
    tc_json_add_object(&j);
    tc_json_add_null(&j);
}

static void end_behind_key(void)
{
    tc_json_add_object(&j);
    tc_json_key(&j, "k");
    tc_json_end_object(&j);
}

static void end_of_the_other_kind(void)
{
    tc_json_add_object(&j);
    tc_json_end_array(&j);
}

static void end_without_beginning(void)
{
    tc_json_end_object(&j);
}

static void two_documents(void)
{
    tc_json_add_null(&j);
    tc_json_add_null(&j);
}

static void done_inside(void)
{
    tc_json_add_array(&j);
    (void)tc_json_done(&j);
}

static void done_with_nothing(void)
{
    (void)tc_json_done(&j);
}

static void too_deep(void)
{
    for (size_t i = 0; i <= TC_JSON_OUT_DEPTH_MAX; i++) {
        tc_json_add_array(&j);
    }
}

static void misuse_aborts(void **state)
{
    (void)state;
    static void (*const MISUSES[])(void) = {
        key_in_array,      key_at_top,     key_behind_document,   key_behind_key,
        value_without_key, end_behind_key, end_of_the_other_kind, end_without_beginning,
        two_documents,     done_inside,    done_with_nothing,     too_deep};
    for (size_t i = 0; i < sizeof MISUSES / sizeof MISUSES[0]; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            (void)signal(SIGABRT, SIG_DFL);
            (void)close(STDERR_FILENO);
            MISUSES[i]();
            _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

static void nesting_goes_to_its_limit(void **state)
{
    (void)state;
    for (size_t i = 0; i < TC_JSON_OUT_DEPTH_MAX; i++) {
        tc_json_add_array(&j);
    }
    for (size_t i = 0; i < TC_JSON_OUT_DEPTH_MAX; i++) {
        tc_json_end_array(&j);
    }
    assert_true(tc_json_done(&j));
    assert_int_equal(buf.len, 2 * TC_JSON_OUT_DEPTH_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_type_is_written, setup),
        cmocka_unit_test_setup(objects_and_arrays_nest, setup),
        cmocka_unit_test_setup(lines_follow_each_other, setup),
        cmocka_unit_test_setup(bytes_that_are_not_utf8_are_replaced, setup),
        cmocka_unit_test_setup(three_sinks_get_the_document_that_is_read_back, setup),
        cmocka_unit_test_setup(long_strings_pass_through_a_small_sink, setup),
        cmocka_unit_test_setup(a_fixed_buffer_fits_to_the_byte, setup),
        cmocka_unit_test_setup(a_sink_that_fails_is_told_at_the_end, setup),
        cmocka_unit_test_setup(growth_ends_at_its_limit, setup),
        cmocka_unit_test_setup(misuse_aborts, setup),
        cmocka_unit_test_setup(nesting_goes_to_its_limit, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
