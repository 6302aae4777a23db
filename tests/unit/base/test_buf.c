/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"

#include "base/json/json.h"
#include "base/url.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char memory[8192];
static struct tc_buf buf;

static int setup(void **state)
{
    (void)state;
    buf = tc_buf_make(memory, sizeof memory);
    return 0;
}

static uint64_t next_random(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static void assert_buf(const char *want)
{
    assert_int_equal(buf.len, strlen(want));
    assert_memory_equal(buf.data, want, buf.len);
    assert_false(buf.overflowed);
    tc_buf_reset(&buf);
}

static void text_is_appended(void **state)
{
    (void)state;
    tc_buf_put(&buf, "abc", 2);
    tc_buf_char(&buf, '-');
    tc_buf_lit(&buf, "lit");
    tc_buf_str(&buf, TC_LIT("str"));
    tc_buf_str(&buf, TC_EMPTY);
    size_t start = buf.len;
    tc_buf_lit(&buf, "since");
    assert_true(tc_slice_eq(tc_buf_since(&buf, start), TC_LIT("since")));
    assert_true(tc_slice_eq(tc_buf_slice(&buf), TC_LIT("ab-litstrsince")));
    assert_buf("ab-litstrsince");
}

static void what_does_not_fit_is_left_out_and_told_until_reset(void **state)
{
    (void)state;
    char four[5] = "....";
    buf = tc_buf_make(four, 4);
    tc_buf_lit(&buf, "abc");
    assert_false(buf.overflowed);
    tc_buf_lit(&buf, "de");
    assert_true(buf.overflowed);
    assert_int_equal(buf.len, 3);
    tc_buf_char(&buf, 'd'); /* it fits, and the overflow stays known */
    assert_true(buf.overflowed);
    assert_memory_equal(four, "abcd", 5);
    tc_buf_char(&buf, 'e');
    assert_int_equal(buf.len, 4);
    tc_buf_reset(&buf);
    assert_false(buf.overflowed);
    tc_buf_lit(&buf, "wxyz");
    assert_false(buf.overflowed);
    tc_buf_char(&buf, '!');
    assert_true(buf.overflowed);
    assert_memory_equal(four, "wxyz", 5);
}

static void an_empty_buffer_overflows_at_once(void **state)
{
    (void)state;
    buf = tc_buf_make(NULL, 0);
    tc_buf_str(&buf, TC_EMPTY);
    assert_false(buf.overflowed);
    tc_buf_char(&buf, 'x');
    assert_true(buf.overflowed);
    tc_buf_reset(&buf);
    tc_buf_u64(&buf, 1);
    assert_true(buf.overflowed);
}

static void integers_print_as_printf_does(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int i = 0; i < 2000; i++) {
        uint64_t v = next_random(&seed) >> (next_random(&seed) % 64);
        char want[32];
        (void)snprintf(want, sizeof want, "%" PRIu64, v);
        tc_buf_u64(&buf, v);
        assert_buf(want);
        (void)snprintf(want, sizeof want, "%" PRId64, (int64_t)(0 - v));
        tc_buf_i64(&buf, (int64_t)(0 - v));
        assert_buf(want);
    }
    for (uint64_t v = 0; v < 12000; v++) { /* those that come from a table, and what joins them */
        char want[32];
        (void)snprintf(want, sizeof want, "%" PRIu64, v * 83);
        tc_buf_u64(&buf, v * 83);
        assert_buf(want);
    }
    for (uint64_t v = 0; v < 1100; v++) {
        char want[32];
        (void)snprintf(want, sizeof want, "%" PRIu64, v);
        tc_buf_u64(&buf, v);
        assert_buf(want);
    }
    static const struct {
        int64_t value;
        const char *text;
    } ends[] = {{0, "0"},
                {9, "9"},
                {10, "10"},
                {99, "99"},
                {100, "100"},
                {-1, "-1"},
                {-10, "-10"},
                {-100, "-100"},
                {INT64_MAX, "9223372036854775807"},
                {INT64_MIN, "-9223372036854775808"}};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        tc_buf_i64(&buf, ends[i].value);
        assert_buf(ends[i].text);
    }
    tc_buf_u64(&buf, UINT64_MAX);
    assert_buf("18446744073709551615");
}

static void numbers_fit_exactly_or_overflow(void **state)
{
    (void)state;
    static const uint64_t values[] = {0, 9, 10, 12345, 99999999, 100000000, UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char want[32];
        size_t len = (size_t)snprintf(want, sizeof want, "%" PRIu64, values[i]);
        for (size_t cap = 0; cap < 24; cap++) {
            char *room = malloc(cap == 0 ? 1 : cap); /* AddressSanitizer sees a byte too many */
            assert_non_null(room);
            buf = tc_buf_make(room, cap);
            tc_buf_u64(&buf, values[i]);
            assert_int_equal(buf.overflowed, cap < len);
            assert_true(buf.len <= cap);
            if (cap >= len) {
                assert_int_equal(buf.len, len);
                assert_memory_equal(room, want, len);
            }
            free(room);
        }
    }
}

static void short_copies_touch_exactly_their_bytes(void **state)
{
    (void)state;
    for (size_t len = 0; len < 100; len++) {
        char *from = malloc(len + 1);
        char *to = malloc(len + 2);
        assert_true(from != NULL && to != NULL);
        for (size_t i = 0; i < len; i++) {
            from[i] = (char)(i * 7 + 1);
        }
        memset(to, '#', len + 2);
        tc_copy_short(to + 1, from, len);
        assert_memory_equal(to + 1, from, len);
        assert_true(to[0] == '#' && to[len + 1] == '#');
        free(from);
        free(to);
    }
}

static void room_that_was_asked_for_is_filled_without_checks(void **state)
{
    (void)state;
    char room[16];
    buf = tc_buf_make(room, sizeof room);
    tc_buf_char(&buf, '<');
    assert_null(tc_buf_begin(&buf, 16));
    assert_true(buf.overflowed);
    assert_int_equal(buf.len, 1);
    buf.overflowed = false;
    char *p = tc_buf_begin(&buf, 15);
    assert_ptr_equal(p, room + 1);
    p = tc_put_lit(p, "a=");
    p = tc_put_u64(p, 70);
    p = tc_put_str(p, TC_LIT(";"));
    p = tc_put_str(p, TC_EMPTY);
    tc_buf_end(&buf, p);
    assert_buf("<a=70;");
}

static void plain_text_needs_no_escaping(void **state)
{
    (void)state;
    assert_true(tc_slice_is_plain(TC_EMPTY));
    for (size_t len = 1; len < 20; len++) {
        for (size_t at = 0; at < len; at++) {
            for (unsigned c = 0; c < 256; c++) {
                char text[20];
                memset(text, '!', sizeof text);
                text[at] = (char)c;
                struct tc_slice s = tc_slice_make(text, len);
                bool want = c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
                assert_int_equal(tc_slice_is_plain(s), want);
            }
        }
    }
}

static void hex_is_padded_and_cut_to_its_digits(void **state)
{
    (void)state;
    tc_buf_hex(&buf, 0xab, 4);
    assert_buf("00ab");
    tc_buf_hex(&buf, 0x123, 2);
    assert_buf("23");
    tc_buf_hex(&buf, UINT64_MAX, 16);
    assert_buf("ffffffffffffffff");
    tc_buf_hex(&buf, 7, 1);
    assert_buf("7");
}

static void doubles_read_back_as_themselves(void **state)
{
    (void)state;
    static const double some[] = {
        0.1,    -0.0, 1.0 / 3, 1e22,  1e23,    DBL_MAX, DBL_MIN,           5e-324, -2.5, 1e15,
        123456, 1e-7, 0.3,     2.5e9, 1.1e300, 1 << 30, 4503599627370497.5};
    uint64_t seed = 9;
    for (size_t i = 0; i < 20000; i++) {
        double value = 0;
        uint64_t bits = next_random(&seed);
        memcpy(&value, &bits, sizeof value);
        if (i < sizeof some / sizeof some[0]) {
            value = some[i];
        }
        if (!isfinite(value)) {
            continue;
        }
        tc_buf_f64(&buf, value);
        tc_buf_char(&buf, '\0');
        double back = strtod(memory, NULL);
        assert_memory_equal(&back, &value, sizeof value);
        tc_buf_reset(&buf);
    }
}

static void doubles_are_short_where_they_can_be(void **state)
{
    (void)state;
    tc_buf_f64(&buf, 0.1);
    assert_buf("0.1");
    tc_buf_f64(&buf, 32);
    assert_buf("32");
    tc_buf_f64(&buf, -2.5);
    assert_buf("-2.5");
    tc_buf_f64(&buf, 9.95); /* sixteen digits would show 9.949999999999999 */
    assert_buf("9.95");
    tc_buf_f64(&buf, 1.0 / 3);
    assert_buf("0.3333333333333333");
}

static void what_is_no_number_prints_null(void **state)
{
    (void)state;
    tc_buf_f64(&buf, (double)NAN);
    assert_buf("null");
    tc_buf_f64(&buf, HUGE_VAL);
    assert_buf("null");
    tc_buf_f64(&buf, -HUGE_VAL);
    assert_buf("null");
}

static void json_strings_escape_what_json_demands(void **state)
{
    (void)state;
    tc_buf_json(&buf, TC_EMPTY);
    assert_buf("\"\"");
    tc_buf_json(&buf, TC_LIT("a\"b\\c\nd\re\tf"));
    assert_buf("\"a\\\"b\\\\c\\nd\\re\\tf\"");
    tc_buf_json(&buf, TC_LIT("\0\x01\x1f\x20\x7f"));
    assert_buf("\"\\u0000\\u0001\\u001f \x7f\"");
    tc_buf_json(&buf, TC_LIT("/"));
    assert_buf("\"/\"");
}

/* Eight bytes are looked at in one go: every byte value at every place of such a word. */
static void escaping_does_not_depend_on_the_place_of_a_byte(void **state)
{
    (void)state;
    for (unsigned c = 0; c < 0x80; c++) {
        for (size_t at = 0; at < 20; at++) {
            char text[20];
            char want[40];
            size_t len = 0;
            memset(text, '!', sizeof text); /* 0x21, the neighbour of '"' and of the controls */
            text[at] = (char)c;
            want[len++] = '"';
            for (size_t i = 0; i < sizeof text; i++) {
                char esc[8] = {text[i], '\0'};
                if (text[i] == '"' || text[i] == '\\') {
                    (void)snprintf(esc, sizeof esc, "\\%c", text[i]);
                } else if (text[i] == '\n' || text[i] == '\r' || text[i] == '\t') {
                    (void)snprintf(esc, sizeof esc, "\\%c",
                                   text[i] == '\n' ? 'n' : (text[i] == '\r' ? 'r' : 't'));
                } else if ((unsigned char)text[i] < 0x20) {
                    (void)snprintf(esc, sizeof esc, "\\u%04x", (unsigned)text[i]);
                }
                memcpy(want + len, esc, strlen(esc));
                len += strlen(esc);
            }
            want[len++] = '"';
            tc_buf_json(&buf, tc_slice_make(text, sizeof text));
            assert_int_equal(buf.len, len);
            assert_memory_equal(buf.data, want, len);
            tc_buf_reset(&buf);
        }
    }
}

#define BAD "\xef\xbf\xbd"

static void bytes_that_are_not_utf8_become_one_replacement_each(void **state)
{
    (void)state;
    const struct {
        struct tc_slice in;
        const char *out;
    } cases[] = {
        {TC_LIT("\xc3\xa9"), "\"\xc3\xa9\""},                 /* U+00E9 */
        {TC_LIT("\xe2\x82\xac"), "\"\xe2\x82\xac\""},         /* U+20AC */
        {TC_LIT("\xf0\x9f\x92\xa5"), "\"\xf0\x9f\x92\xa5\""}, /* U+1F4A5 */
        {TC_LIT("\xf4\x8f\xbf\xbf"), "\"\xf4\x8f\xbf\xbf\""}, /* the last of all */
        {TC_LIT("\xf4\x90\x80\x80"), "\"" BAD BAD BAD BAD "\""},
        {TC_LIT("\xf5\x80\x80\x80"), "\"" BAD BAD BAD BAD "\""},
        {TC_LIT("\x80"), "\"" BAD "\""},
        {TC_LIT("\xc0\x80"), "\"" BAD BAD "\""},         /* overlong NUL */
        {TC_LIT("\xc1\xbf"), "\"" BAD BAD "\""},         /* overlong DEL */
        {TC_LIT("\xe0\x9f\xbf"), "\"" BAD BAD BAD "\""}, /* overlong */
        {TC_LIT("\xe0\xa0\x80"), "\"\xe0\xa0\x80\""},
        {TC_LIT("\xed\x9f\xbf"), "\"\xed\x9f\xbf\""},
        {TC_LIT("\xed\xa0\x80"), "\"" BAD BAD BAD "\""}, /* a surrogate */
        {TC_LIT("\xf0\x8f\xbf\xbf"), "\"" BAD BAD BAD BAD "\""},
        {TC_LIT("\xf0\x90\x80\x80"), "\"\xf0\x90\x80\x80\""},
        {TC_LIT("\xe2\x82"), "\"" BAD BAD "\""}, /* torn */
        {TC_LIT("\xc3"), "\"" BAD "\""},
        {TC_LIT("\xe2\x82z"), "\"" BAD BAD "z\""},
        {TC_LIT("abcdefg\xff"), "\"abcdefg" BAD "\""},
        {TC_LIT("abcdefgh\xff"
                "ijklmnop"),
         "\"abcdefgh" BAD "ijklmnop\""},
    };
    /* Torn by the length, while the rest of it lies behind the end. */
    tc_buf_json(&buf, tc_slice_make("\xe2\x82\xac", 2));
    assert_buf("\"" BAD BAD "\"");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tc_buf_json(&buf, cases[i].in);
        assert_buf(cases[i].out);
    }
}

static size_t random_text(uint64_t *seed, char *out, size_t max)
{
    size_t len = next_random(seed) % max;
    for (size_t i = 0; i < len; i++) {
        uint64_t r = next_random(seed);
        out[i] = (char)(r % 4 == 0 ? r >> 8 : 'a' + (r >> 8) % 26);
    }
    return len;
}

static void every_text_is_valid_json_and_valid_text_reads_back(void **state)
{
    (void)state;
    struct tc_json_parser *parser = tc_json_parser_create();
    assert_non_null(parser);
    uint64_t seed = 11;
    for (int i = 0; i < 5000; i++) {
        char text[200];
        size_t len = random_text(&seed, text, sizeof text);
        bool ascii = true;
        for (size_t j = 0; j < len; j++) {
            if (i % 2 == 0) {
                text[j] &= 0x7f;
            }
            ascii = ascii && (text[j] & 0x80) == 0;
        }
        struct tc_json root;
        struct tc_slice back;
        tc_buf_reset(&buf);
        tc_buf_json(&buf, tc_slice_make(text, len));
        assert_false(buf.overflowed);
        assert_int_equal(tc_json_parse(parser, tc_buf_slice(&buf), &root, NULL), TC_OK);
        assert_true(tc_json_string(root, &back));
        if (ascii) {
            assert_true(tc_slice_eq(back, tc_slice_make(text, len)));
        }
        /* A second round changes nothing: what came out is valid. */
        char first[2048];
        size_t first_len = buf.len;
        assert_true(first_len < sizeof first);
        memcpy(first, buf.data, first_len);
        tc_buf_reset(&buf);
        tc_buf_json(&buf, back);
        assert_int_equal(buf.len, first_len);
        assert_memory_equal(buf.data, first, first_len);
    }
    tc_json_parser_destroy(parser);
}

static void printable_text_cannot_move_a_cursor(void **state)
{
    (void)state;
    tc_buf_printable(&buf, TC_LIT("a\x1b[2J\n\x7f\0z"));
    assert_buf("a\\x1b[2J\\x0a\\x7f\\x00z");
    tc_buf_printable(&buf, TC_LIT("\xc3\xa9 \xf0\x9f\x92\xa5"));
    assert_buf("\xc3\xa9 \xf0\x9f\x92\xa5");
    tc_buf_printable(&buf, TC_LIT("\xc2\x9b"
                                  "2J")); /* CSI as U+009B */
    assert_buf("\\xc2\\x9b"
               "2J");
    tc_buf_printable(&buf, TC_LIT("\xc2\xa0"));
    assert_buf("\xc2\xa0");
    tc_buf_printable(&buf, TC_LIT("\xff\xe2\x82"));
    assert_buf("\\xff\\xe2\\x82");
    tc_buf_printable(&buf, TC_EMPTY);
    assert_buf("");
}

static void printable_text_has_nothing_that_is_not_seen(void **state)
{
    (void)state;
    static const char *const hidden[] = {"\xe2\x80\x8b",    "\xe2\x81\xa0", "\xe2\x81\xaf",
                                         "\xef\xbb\xbf",    "\xef\xbf\xb9", "\xf3\xa0\x80\x81",
                                         "\xf3\xa0\x81\xbf"};
    static const char *const shown[] = {"\xe2\x80\x8c", "\xe2\x80\x8d", "\xe2\x81\xb0",
                                        "\xef\xbf\xbd", "\xf3\xa0\x84\x80"};
    char text[64];
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_buf_printable(&b, tc_slice_cstr(hidden[i]));
        assert_int_equal(text[0], '\\');
    }
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_buf_printable(&b, tc_slice_cstr(shown[i]));
        assert_true(tc_slice_eq(tc_buf_slice(&b), tc_slice_cstr(shown[i])));
    }
}

static void printable_text_cannot_change_its_direction_or_break_a_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *shown;
    } cases[] = {
        {"\xd8\x9c", "\\xd8\\x9c"},       /* U+061C */
        {"\xd8\x9b", "\xd8\x9b"},         /* U+061B is a semicolon */
        {"\xe2\x80\x8d", "\xe2\x80\x8d"}, /* U+200D joins emoji */
        {"\xe2\x80\x8e", "\\xe2\\x80\\x8e"},
        {"\xe2\x80\x8f", "\\xe2\\x80\\x8f"},
        {"\xe2\x80\x90", "\xe2\x80\x90"}, /* U+2010 is a hyphen */
        {"\xe2\x80\xa7", "\xe2\x80\xa7"}, /* U+2027 is a dot */
        {"\xe2\x80\xa8", "\\xe2\\x80\\xa8"},
        {"\xe2\x80\xa9", "\\xe2\\x80\\xa9"},
        {"\xe2\x80\xaa", "\\xe2\\x80\\xaa"},
        {"\xe2\x80\xae", "\\xe2\\x80\\xae"},
        {"\xe2\x80\xaf", "\xe2\x80\xaf"}, /* U+202F is a blank */
        {"\xe2\x81\x9f", "\xe2\x81\x9f"}, /* U+205F is a blank */
        {"\xe2\x81\xa6", "\\xe2\\x81\\xa6"},
        {"\xe2\x81\xa9", "\\xe2\\x81\\xa9"},
        {"\xe2\x81\xb0", "\xe2\x81\xb0"}, /* U+2070 is a zero */
        {"\xe3\x80\xae", "\xe3\x80\xae"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tc_buf_printable(&buf, tc_slice_cstr(cases[i].text));
        assert_buf(cases[i].shown);
    }
}

/* True when the call ended its process by abort(). */
static bool aborts(void (*call)(void))
{
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)fclose(stderr);
        call();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void hex_of_17(void)
{
    tc_buf_hex(&buf, 1, 17);
}

static void hex_of_none(void)
{
    tc_buf_hex(&buf, 1, 0);
}

static void broken_promises_abort(void **state)
{
    (void)state;
    assert_true(aborts(hex_of_17));
    assert_true(aborts(hex_of_none));
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

static void only_unreserved_bytes_stand_in_an_address(void **state)
{
    (void)state;
    char out[128];
    struct tc_buf b = tc_buf_make(out, sizeof out);
    tc_buf_url(&b, TC_LIT("aZ09-._~/ ?&=%+\x7f\xff"));
    assert_true(tc_slice_eq(tc_buf_slice(&b), TC_LIT("aZ09-._~%2F%20%3F%26%3D%25%2B%7F%FF")));
    b = tc_buf_make(out, 2);
    tc_buf_url(&b, TC_LIT("/"));
    assert_true(b.overflowed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(text_is_appended),
        TEST(what_does_not_fit_is_left_out_and_told_until_reset),
        TEST(an_empty_buffer_overflows_at_once),
        TEST(integers_print_as_printf_does),
        TEST(numbers_fit_exactly_or_overflow),
        TEST(short_copies_touch_exactly_their_bytes),
        TEST(room_that_was_asked_for_is_filled_without_checks),
        TEST(plain_text_needs_no_escaping),
        TEST(hex_is_padded_and_cut_to_its_digits),
        TEST(doubles_read_back_as_themselves),
        TEST(doubles_are_short_where_they_can_be),
        TEST(what_is_no_number_prints_null),
        TEST(json_strings_escape_what_json_demands),
        TEST(escaping_does_not_depend_on_the_place_of_a_byte),
        TEST(bytes_that_are_not_utf8_become_one_replacement_each),
        TEST(every_text_is_valid_json_and_valid_text_reads_back),
        TEST(printable_text_cannot_move_a_cursor),
        TEST(printable_text_has_nothing_that_is_not_seen),
        TEST(printable_text_cannot_change_its_direction_or_break_a_line),
        TEST(only_unreserved_bytes_stand_in_an_address),
        TEST(broken_promises_abort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
