/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of result readers share: a text is read, and rows are found by what they say.
 */
#ifndef TC_TESTS_RUN_RESULT_TESTING_H
#define TC_TESTS_RUN_RESULT_TESTING_H

#include "result/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline struct tc_result *read_bytes(struct tc_slice bytes, const char *tool)
{
    struct tc_result *r = NULL;
    struct tc_error err = {.message = ""};
    tc_status status = tc_result_read(TC_LIT("file"), bytes, NULL, &r, &err);
    if (status != TC_OK) {
        fail_msg("%s", err.message);
    }
    assert_string_equal(tc_result_reader(r)->name, tool);
    return r;
}

/* The text must be read, by that reader. */
static inline struct tc_result *read_text(const char *text, const char *tool)
{
    return read_bytes(tc_slice_cstr(text), tool);
}

/* Lines that are joined; the last result's text is lost with the next call. */
static inline const char *join_lines(const char *const *lines, size_t count)
{
    static char text[1 << 16];
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "%s\n", lines[i]);
        assert_true(len < sizeof text);
    }
    return text;
}
#define LINES(...)                                 \
    join_lines((const char *const[]){__VA_ARGS__}, \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* The text must be refused with a message that has all of the parts. */
static inline void refuse_text(const char *text, const char *tool, const char *part)
{
    struct tc_result *r = NULL;
    struct tc_error err = {.message = ""};
    const struct tc_reader *reader = tc_reader_by_name(tc_slice_cstr(tool));
    assert_non_null(reader);
    tc_status status = tc_result_read(TC_LIT("file"), tc_slice_cstr(text), reader, &r, &err);
    assert_int_not_equal(status, TC_OK);
    assert_null(r);
    if (strstr(err.message, part) == NULL) {
        fail_msg("'%s' is not in '%s'", part, err.message);
    }
}

static inline bool cell_is(const struct tc_result_row *row, size_t column, const char *text)
{
    return tc_result_known(row, column) &&
           tc_slice_eq(tc_result_get_text(row, column), tc_slice_cstr(text));
}

/* The n-th slice of that metric whose point has the part; NULL when there is none. */
static inline const struct tc_result_row *find_slice(const struct tc_result *r, const char *metric,
                                                     const char *part, size_t n)
{
    for (size_t i = 0; i < tc_result_rows(r); i++) {
        const struct tc_result_row *row = tc_result_row_at(r, i);
        if (row->table == TC_TABLE_SLICE && cell_is(row, TC_SLICE_METRIC, metric) &&
            (part[0] == '\0' ||
             tc_slice_contains(tc_result_get_text(row, TC_SLICE_POINT), tc_slice_cstr(part))) &&
            n-- == 0) {
            return row;
        }
    }
    return NULL;
}

static inline const struct tc_result_row *find_row(const struct tc_result *r, enum tc_table table,
                                                   size_t n)
{
    for (size_t i = 0; i < tc_result_rows(r); i++) {
        const struct tc_result_row *row = tc_result_row_at(r, i);
        if (row->table == table && n-- == 0) {
            return row;
        }
    }
    return NULL;
}

static inline void assert_real(const struct tc_result_row *row, size_t column, double want)
{
    assert_non_null(row);
    const struct tc_column *c = &tc_table_info(row->table)->columns[column];
    if (!tc_result_known(row, column)) {
        fail_msg("%s is not known", c->name);
    }
    double got = c->type == TC_COLUMN_REAL ? tc_result_get_real(row, column)
                                           : (double)tc_result_get_int(row, column);
    if (fabs(got - want) > 1e-9 * fmax(1, fabs(want))) {
        fail_msg("%s is %.17g, not %.17g", c->name, got, want);
    }
}

static inline void assert_unknown(const struct tc_result_row *row, size_t column)
{
    assert_non_null(row);
    assert_false(tc_result_known(row, column));
}

static inline void assert_cell(const struct tc_result_row *row, size_t column, const char *want)
{
    assert_non_null(row);
    if (!cell_is(row, column, want)) {
        fail_msg("%.*s is not %s", TC_FMT(tc_result_get_text(row, column)), want);
    }
}

static inline void assert_fact(const struct tc_result *r, enum tc_table table, size_t column,
                               const char *want)
{
    const struct tc_rows *facts = tc_result_facts(r, table);
    char got[256] = "";
    if (facts == NULL || tc_rows_is_null(facts, column, 0)) {
        assert_string_equal(got, want);
        return;
    }
    if (facts->columns[column].type == TC_COLUMN_TEXT) {
        (void)snprintf(got, sizeof got, "%.*s", TC_FMT(tc_rows_get_text(facts, column, 0)));
    } else {
        (void)snprintf(got, sizeof got, "%lld", (long long)tc_rows_get_int(facts, column, 0));
    }
    assert_string_equal(got, want);
}

static inline bool has_note(const struct tc_result *r, const char *part, bool contradiction)
{
    for (size_t i = 0; i < tc_result_notes(r, NULL); i++) {
        const struct tc_result_note *note = tc_result_note_at(r, i);
        if (note->contradiction == contradiction &&
            tc_slice_contains(note->text, tc_slice_cstr(part))) {
            return true;
        }
    }
    return false;
}

static inline bool has_contradiction(const struct tc_result *r)
{
    return has_note(r, "", true);
}

/* Every measured value of a row has a definition, and one of a slice its unit in it. */
static inline void assert_defined(const struct tc_result *r)
{
    for (size_t i = 0; i < tc_result_rows(r); i++) {
        const struct tc_result_row *row = tc_result_row_at(r, i);
        if (row->table != TC_TABLE_SLICE) {
            continue;
        }
        assert_true(tc_result_known(row, TC_SLICE_METRIC));
        assert_true(tc_result_known(row, TC_SLICE_FAMILY));
        for (size_t c = TC_SLICE_MIN; c <= TC_SLICE_LAST; c++) {
            if (tc_result_known(row, c)) {
                assert_non_null(row->definitions[c]);
                assert_true(tc_slice_eq(tc_slice_cstr(row->definitions[c]->unit),
                                        tc_result_get_text(row, TC_SLICE_UNIT)));
            }
        }
    }
}

#endif
