/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/format.h"
#include "base/time.h"
#include "support/assert_text.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define FORMATS(wanted, ...)                                  \
    do {                                                      \
        char text[256];                                       \
        struct tc_buf b = tc_buf_make(text, sizeof text);     \
        struct tc_slice got = tc_format(&b, __VA_ARGS__);     \
        assert_true(tc_slice_eq(got, tc_slice_cstr(wanted))); \
    } while (0)

static void every_type_has_its_form(void **state)
{
    (void)state;
    int32_t small = -7;
    const char *word = "word";
    FORMATS("-7 -9000000000 7 18446744073709551615 42 0.5", "{} {} {} {} {} {}", small,
            INT64_C(-9000000000), 7U, UINT64_MAX, sizeof(char[42]), 0.5);
    FORMATS("word, slice and literal", "{}, {} and {}", word, TC_LIT("slice"), "literal");
    FORMATS("", "{}{}", "", TC_EMPTY);
    FORMATS("argument", "{}", tc_arg_text(TC_LIT("argument")));
}

static void only_an_empty_pair_of_braces_is_an_argument(void **state)
{
    (void)state;
    FORMATS("", "");
    FORMATS("plain", "plain");
    FORMATS("1", "{}", 1);
    FORMATS("12", "{}{}", 1, 2);
    FORMATS("{ 1 {x} {", "{ {} {x} {", 1);
    FORMATS("{1}", "{{}}", 1);
}

static void what_was_appended_is_returned(void **state)
{
    (void)state;
    char text[64];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    assert_text(tc_format(&b, "one {}", 1), "one 1");
    assert_text(tc_format(&b, ", two"), ", two");
    assert_text(tc_buf_slice(&b), "one 1, two");
}

static void arguments_are_made_before_the_first_is_written(void **state)
{
    (void)state;
    char text[64];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_slice got = tc_format(&b, "<{}>", tc_format(&b, "inner {}", 1));
    assert_text(got, "<inner 1>");
    assert_text(tc_buf_slice(&b), "inner 1<inner 1>");
}

static void text_that_does_not_fit_is_said_to_overflow(void **state)
{
    (void)state;
    char text[8];
    for (size_t cap = 0; cap <= sizeof text; cap++) {
        struct tc_buf b = tc_buf_make(text, cap);
        (void)tc_format(&b, "abc{}ef", "d");
        assert_int_equal(b.overflowed, cap < 6);
        assert_true(b.len <= cap);
    }
}

static void write_twice(struct tc_buf *b, const struct tc_arg *arg)
{
    const char *word = arg->object;
    (void)tc_format(b, "{}{}", word, word);
}

static void nouns_are_written_as_people_read_them(void **state)
{
    (void)state;
    FORMATS("2026-01-01T00:00:00Z for 5 min 3 s", "{} for {}",
            tc_as_time(INT64_C(1767225600) * TC_SECOND), tc_as_duration(303 * TC_SECOND));
    FORMATS("at 00:05:03, undated", "{}, {}",
            tc_as_moment(INT64_C(1767225903) * TC_SECOND + 999999999), tc_as_moment(TC_TIME_NONE));
    FORMATS("0 errors, 1 error, 2 errors", "{}, {}, {}", tc_as_count(0, "error"),
            tc_as_count(1, "error"), tc_as_count(2, "error"));
    FORMATS("00ff", "{}", tc_as_hex(255, 4));
    FORMATS("007 000 1234 0", "{} {} {} {}", tc_as_digits(7, 3), tc_as_digits(0, 3),
            tc_as_digits(1234, 3), tc_as_digits(0, 1));
    FORMATS("n1, (unknown)", "{}, {}", tc_as_known(TC_LIT("n1"), "(unknown)"),
            tc_as_known(TC_EMPTY, "(unknown)"));
    FORMATS("yoyo", "{}", tc_as_written(write_twice, "yo"));
}

static void lists_name_the_first_and_count_the_rest(void **state)
{
    (void)state;
    const int32_t ranks[] = {0, 1, 2, 3};
    FORMATS("", "{}", tc_as_ints(ranks, 0, 3));
    FORMATS("0", "{}", tc_as_ints(ranks, 1, 3));
    FORMATS("0 and 1", "{}", tc_as_ints(ranks, 2, 3));
    FORMATS("0, 1 and 2", "{}", tc_as_ints(ranks, 3, 3));
    FORMATS("0, 1, 2 and 1 more", "{}", tc_as_ints(ranks, 4, 3));
    const struct tc_slice names[] = {TC_LIT("a"), TC_LIT("b"), TC_LIT("c")};
    FORMATS("a, b and c", "{}", tc_as_list(names, 3, 9));
    FORMATS("a and 2 more", "{}", tc_as_list(names, 3, 1));
}

static void optional_parts_are_formats_of_their_own(void **state)
{
    (void)state;
    for (int pid = -1; pid < 1; pid++) {
        FORMATS(pid < 0 ? "Xid 48" : "Xid 48, pid 0 (deep 1)", "Xid {}{}", 48,
                tc_when(pid >= 0, ", pid {}{}", pid, tc_when(true, " (deep {})", 1)));
    }
}

static void fifteen_arguments_are_the_most(void **state)
{
    (void)state;
    FORMATS("123456789101112131415", "{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}", 1, 2, 3, 4, 5, 6, 7, 8, 9,
            10, 11, 12, 13, 14, 15);
}

/* True when the format aborts in a child. */
static bool aborts(const char *format, int argument)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char text[64];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        (void)close(STDERR_FILENO);
        (void)signal(SIGABRT, SIG_DFL);
        (void)tc_format(&b, format, argument);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
}

static void as_many_arguments_as_braces_are_needed(void **state)
{
    (void)state;
    assert_false(aborts("{}", 1));
    assert_true(aborts("none", 1));
    assert_true(aborts("{} {}", 1));
}

static void text_that_grows_takes_a_format_of_any_length(void **state)
{
    (void)state;
    static char long_text[5000];
    struct tc_grow g = {0};
    struct tc_digest digest = {{0}};
    memset(long_text, 'x', sizeof long_text);
    tc_grow_format(&g, "{} and {}", 1, "two");
    assert_true(tc_slice_eq(tc_grow_slice(&g), TC_LIT("1 and two")));
    tc_grow_format(&g, "|{}|", tc_slice_make(long_text, sizeof long_text));
    assert_false(g.failed || g.buf.overflowed);
    assert_int_equal(g.buf.len, sizeof "1 and two" - 1 + sizeof long_text + 2);
    assert_int_equal(g.buf.data[g.buf.len - 1], '|');
    tc_grow_fini(&g);
    tc_grow_format(&g, "{} {}", tc_as_printable(TC_LIT("a\033b")), tc_as_digest(&digest));
    assert_true(tc_slice_starts(tc_grow_slice(&g), TC_LIT("a\\x1bb sha256:0000")));
    tc_grow_fini(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_that_grows_takes_a_format_of_any_length),
        cmocka_unit_test(every_type_has_its_form),
        cmocka_unit_test(only_an_empty_pair_of_braces_is_an_argument),
        cmocka_unit_test(what_was_appended_is_returned),
        cmocka_unit_test(arguments_are_made_before_the_first_is_written),
        cmocka_unit_test(text_that_does_not_fit_is_said_to_overflow),
        cmocka_unit_test(nouns_are_written_as_people_read_them),
        cmocka_unit_test(lists_name_the_first_and_count_the_rest),
        cmocka_unit_test(optional_parts_are_formats_of_their_own),
        cmocka_unit_test(fifteen_arguments_are_the_most),
        cmocka_unit_test(as_many_arguments_as_braces_are_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
