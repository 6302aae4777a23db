/* SPDX-License-Identifier: Apache-2.0 */
/* What every reader of YAML has from libfyaml: its events, its complaint, and the place of both. */
#include "base/yaml/events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct seen {
    size_t scalars;
    size_t stop_at; /* the scalar that is refused; 0: none */
};

static tc_status on_event(void *context, const struct tc_yaml_event *event)
{
    struct seen *seen = context;
    seen->scalars += event->type == TC_YAML_SCALAR;
    return seen->scalars > 0 && seen->scalars == seen->stop_at ? TC_E_UNSUPPORTED : TC_OK;
}

static tc_status events_of(const char *text, struct seen *seen, struct tc_yaml_problem *problem)
{
    memset(problem, 'x', sizeof *problem);
    return tc_yaml_events(tc_slice_cstr(text), on_event, seen, problem);
}

static void events_come_until_the_end(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct tc_yaml_problem problem;
    assert_int_equal(events_of("a: [1, 2]\nb: c\n", &seen, &problem), TC_OK);
    assert_int_equal(seen.scalars, 5);
    assert_string_equal(problem.text, "");
}

static void an_empty_text_has_none(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct tc_yaml_problem problem;
    assert_int_equal(events_of("", &seen, &problem), TC_OK);
    assert_int_equal(tc_yaml_events(TC_EMPTY, on_event, &seen, &problem), TC_OK);
    assert_int_equal(seen.scalars, 0);
    assert_string_equal(problem.text, "");
}

static void what_the_reader_refuses_is_its_own_problem(void **state)
{
    (void)state;
    struct seen seen = {.stop_at = 2};
    struct tc_yaml_problem problem;
    assert_int_equal(events_of("[1, 2, 3", &seen, &problem), TC_E_UNSUPPORTED);
    assert_int_equal(seen.scalars, 2);
    assert_string_equal(problem.text, "");
}

static void what_is_no_yaml_is_told_with_its_place(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct tc_yaml_problem problem;
    assert_int_equal(events_of("a: 1\nb: \"c", &seen, &problem), TC_E_MALFORMED);
    assert_string_equal(problem.text, "double-quoted scalar without closing quote");
    assert_int_equal(problem.at.line, 2);
    assert_int_equal(problem.at.column, 5); /* behind the quote */
    assert_int_equal(seen.scalars, 3);
}

static void a_problem_is_printable_and_ends(void **state)
{
    (void)state;
    struct seen seen = {0};
    struct tc_yaml_problem problem;
    char text[2048];
    /* An alias of nothing: libfyaml repeats its name. */
    memset(text, 'n', sizeof text);
    memcpy(text, "%TAG \x01 ", 7);
    text[sizeof text - 1] = '\0';
    assert_int_equal(events_of(text, &seen, &problem), TC_E_MALFORMED);
    size_t len = strnlen(problem.text, sizeof problem.text);
    assert_true(len > 0 && len < sizeof problem.text);
    for (size_t i = 0; i < len; i++) {
        assert_true(problem.text[i] >= ' ' && problem.text[i] <= '~');
    }
}

static void a_place_counts_lines_and_characters(void **state)
{
    (void)state;
    struct tc_slice text = TC_LIT("ab\nc\xc3\xa4"
                                  "d\n");
    static const struct {
        size_t offset;
        unsigned line;
        unsigned column;
    } cases[] = {{0, 1, 1}, {2, 1, 3}, {3, 2, 1}, {4, 2, 2}, {6, 2, 3}, {8, 3, 1}, {99, 3, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_yaml_place at = tc_yaml_place_of(text, cases[i].offset);
        assert_int_equal(at.line, cases[i].line);
        assert_int_equal(at.column, cases[i].column);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_until_the_end),
        cmocka_unit_test(an_empty_text_has_none),
        cmocka_unit_test(what_the_reader_refuses_is_its_own_problem),
        cmocka_unit_test(what_is_no_yaml_is_told_with_its_place),
        cmocka_unit_test(a_problem_is_printable_and_ends),
        cmocka_unit_test(a_place_counts_lines_and_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
