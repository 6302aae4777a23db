/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/line_marks.h"

#include <stdlib.h>
#include <string.h>

static uint64_t counted(struct tc_slice bytes, size_t offset)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < offset && i < bytes.len; i++) {
        lines += bytes.ptr[i] == '\n';
    }
    return lines;
}

/* Lines of 1 to 97 bytes. The caller frees it. */
static struct tc_slice text_of(size_t len, char fill)
{
    char *text = malloc(len);
    assert_non_null(text);
    memset(text, fill, len);
    for (size_t at = 0, step = 1; at < len; at += step, step = step % 97 + 1) {
        text[at] = '\n';
    }
    return tc_slice_make(text, len);
}

static void drop(struct tc_slice text)
{
    free((void *)(uintptr_t)text.ptr);
}

static void places_asked_in_any_order_have_their_line(void **state)
{
    (void)state;
    static const size_t PLACES[] = {0, 1,       5 << 20,       (5 << 20) - 1,
                                    3, 1 << 20, (1 << 20) + 1, 4 << 20};
    struct tc_line_marks *m = calloc(1, sizeof *m);
    struct tc_slice text = text_of((5 << 20) + 17, 'x');
    assert_non_null(m);
    for (size_t i = 0; i < sizeof PLACES / sizeof PLACES[0]; i++) {
        assert_int_equal(tc_line_marks_count(m, text, PLACES[i]), counted(text, PLACES[i]));
        assert_int_equal(tc_line_marks_count(NULL, text, PLACES[i]), counted(text, PLACES[i]));
    }
    assert_int_equal(tc_line_marks_count(m, text, SIZE_MAX), counted(text, text.len));
    drop(text);
    free(m);
}

static void more_texts_than_are_remembered_are_told_apart(void **state)
{
    (void)state;
    struct tc_slice texts[TC_LINE_MARKS_TEXTS + 2];
    struct tc_line_marks *m = calloc(1, sizeof *m);
    assert_non_null(m);
    for (size_t i = 0; i < TC_LINE_MARKS_TEXTS + 2; i++) {
        texts[i] = text_of(TC_LINE_MARKS_STEP + 1000 * i, (char)(i % 2 == 0 ? '\n' : 'y'));
    }
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < TC_LINE_MARKS_TEXTS + 2; i++) {
            size_t at = texts[i].len - round;
            assert_int_equal(tc_line_marks_count(m, texts[i], at), counted(texts[i], at));
        }
    }
    for (size_t i = 0; i < TC_LINE_MARKS_TEXTS + 2; i++) {
        drop(texts[i]);
    }
    free(m);
}

static void short_and_empty_texts_are_counted_each_time(void **state)
{
    (void)state;
    struct tc_line_marks *m = calloc(1, sizeof *m);
    assert_non_null(m);
    assert_int_equal(tc_line_marks_count(m, TC_EMPTY, 0), 0);
    assert_int_equal(tc_line_marks_count(m, TC_LIT("a\nb\n"), 3), 1);
    assert_null(m->texts[0].bytes.ptr);
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_asked_in_any_order_have_their_line),
        cmocka_unit_test(more_texts_than_are_remembered_are_told_apart),
        cmocka_unit_test(short_and_empty_texts_are_counted_each_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
