/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of the warehouse's socket: what goes in comes out, and nothing else gets through. */
#include "warehouse/daemon/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000000)

static struct tc_slice body_of(struct tc_wire_out *o)
{
    struct tc_error err = {0};
    assert_int_equal(tc_wire_end(o, &err), TC_OK);
    return tc_slice_make(o->data + TC_WIRE_HEAD_BYTES, o->len - TC_WIRE_HEAD_BYTES);
}

static struct tc_rows *some_rows(size_t count)
{
    static const struct tc_column columns[] = {
        {.name = "text", .type = TC_COLUMN_TEXT}, {.name = "int", .type = TC_COLUMN_INT},
        {.name = "real", .type = TC_COLUMN_REAL}, {.name = "bool", .type = TC_COLUMN_BOOL},
        {.name = "time", .type = TC_COLUMN_TIME},
    };
    struct tc_rows *rows = tc_rows_create_for(columns, 5);
    assert_non_null(rows);
    for (size_t i = 0; i < count; i++) {
        assert_true(tc_rows_add(rows));
        if (i % 3 != 0) {
            assert_int_equal(
                tc_rows_text(rows, 0, i % 2 == 0 ? TC_LIT("caf\xc3\xa9\0\xff") : TC_LIT("")),
                TC_OK);
        }
        tc_rows_int(rows, 1, INT64_MIN + (int64_t)i);
        tc_rows_real(rows, 2, 1.5 * (double)i);
        tc_rows_int(rows, 3, (int64_t)(i % 2));
        tc_rows_int(rows, 4, 1762000000000000 + (int64_t)i);
    }
    return rows;
}

static void assert_same_rows(const struct tc_rows *a, const struct tc_rows *b)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->column_count, b->column_count);
    for (size_t c = 0; c < a->column_count; c++) {
        assert_string_equal(a->columns[c].name, b->columns[c].name);
        assert_int_equal(a->columns[c].type, b->columns[c].type);
        for (size_t i = 0; i < a->count; i++) {
            assert_int_equal(tc_rows_is_null(a, c, i), tc_rows_is_null(b, c, i));
            if (tc_rows_is_null(a, c, i)) {
                continue;
            }
            if (a->columns[c].type == TC_COLUMN_TEXT) {
                assert_true(tc_slice_eq(tc_rows_get_text(a, c, i), tc_rows_get_text(b, c, i)));
            } else {
                assert_int_equal(a->columns[c].cells[i].integer, b->columns[c].cells[i].integer);
            }
        }
    }
}

static void rows_come_back(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 63, 64, 65, TC_ROWS_MAX};
    struct tc_error err = {0};
    struct tc_wire_out o = {0};
    struct tc_rows *got = NULL;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct tc_rows *rows = some_rows(counts[i]);
        tc_wire_begin(&o, TC_WIRE_ROWS);
        tc_wire_put_rows(&o, rows);
        struct tc_rows *before = got;
        assert_int_equal(tc_wire_get_rows(body_of(&o), &got, &err), TC_OK);
        assert_true(before == NULL || before == got); /* the same columns: used again */
        assert_same_rows(rows, got);
        tc_rows_destroy(rows);
    }
    tc_rows_destroy(got);
    tc_wire_out_fini(&o);
}

/* Every frame that is cut short is refused; so is one that is longer. */
static void cut_rows_are_refused(void **state)
{
    (void)state;
    struct tc_error err = {0};
    struct tc_wire_out o = {0};
    struct tc_rows *rows = some_rows(70);
    struct tc_rows *got = NULL;
    tc_wire_begin(&o, TC_WIRE_ROWS);
    tc_wire_put_rows(&o, rows);
    struct tc_slice body = body_of(&o);
    for (size_t len = 0; len < body.len; len++) {
        char *copy = malloc(len + 1); /* exactly as long: a look behind it is seen */
        assert_non_null(copy);
        memcpy(copy, body.ptr, len);
        assert_int_equal(tc_wire_get_rows(tc_slice_make(copy, len), &got, &err), TC_E_MALFORMED);
        free(copy);
    }
    tc_rows_destroy(rows);
    tc_rows_destroy(got);
    tc_wire_out_fini(&o);
}

static void cells_outside_of_the_text_are_refused(void **state)
{
    (void)state;
    static const struct tc_column column = {.name = "t", .type = TC_COLUMN_TEXT};
    static const struct tc_column flag = {.name = "b", .type = TC_COLUMN_BOOL};
    struct tc_error err = {0};
    struct tc_wire_out o = {0};
    struct tc_rows *got = NULL;
    struct tc_rows *rows = tc_rows_create_for(&column, 1);
    assert_true(rows != NULL && tc_rows_add(rows));
    assert_int_equal(tc_rows_text(rows, 0, TC_LIT("abc")), TC_OK);
    static const uint32_t places[][2] = {{0, 4}, {1, 3}, {4, 0}, {UINT32_MAX, 2}, {2, UINT32_MAX}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        rows->columns[0].cells[0].text.at = places[i][0];
        rows->columns[0].cells[0].text.len = places[i][1];
        tc_wire_begin(&o, TC_WIRE_ROWS);
        tc_wire_put_rows(&o, rows);
        assert_int_equal(tc_wire_get_rows(body_of(&o), &got, &err), TC_E_MALFORMED);
    }
    tc_rows_destroy(rows);
    rows = tc_rows_create_for(&flag, 1);
    assert_true(rows != NULL && tc_rows_add(rows));
    tc_rows_int(rows, 0, 1);
    rows->columns[0].cells[0].integer = 2;
    tc_wire_begin(&o, TC_WIRE_ROWS);
    tc_wire_put_rows(&o, rows);
    assert_int_equal(tc_wire_get_rows(body_of(&o), &got, &err), TC_E_MALFORMED);
    tc_rows_destroy(rows);
    tc_rows_destroy(got);
    tc_wire_out_fini(&o);
}

static void appended_rows_are_of_their_table(void **state)
{
    (void)state;
    struct tc_error err = {0};
    struct tc_wire_out o = {0};
    struct tc_rows *got = NULL;
    enum tc_table table = TC_TABLE_RUN;
    struct tc_rows *rows = tc_rows_create(TC_TABLE_VERDICT);
    assert_true(rows != NULL && tc_rows_add(rows));
    assert_int_equal(tc_rows_text(rows, TC_VERDICT_HEADLINE, TC_LIT("a headline")), TC_OK);
    tc_wire_begin(&o, TC_WIRE_APPEND);
    tc_wire_put_append(&o, TC_TABLE_VERDICT, rows);
    assert_int_equal(tc_wire_get_append(body_of(&o), &table, &got, &err), TC_OK);
    assert_int_equal(table, TC_TABLE_VERDICT);
    assert_same_rows(rows, got);
    tc_wire_begin(&o, TC_WIRE_APPEND);
    tc_wire_put_append(&o, TC_TABLE_RUN, rows);
    assert_int_equal(tc_wire_get_append(body_of(&o), &table, &got, &err), TC_E_MALFORMED);
    tc_wire_begin(&o, TC_WIRE_APPEND);
    tc_wire_put_append(&o, TC_TABLE_COUNT, rows);
    assert_int_equal(tc_wire_get_append(body_of(&o), &table, &got, &err), TC_E_MALFORMED);
    tc_rows_destroy(rows);
    tc_rows_destroy(got);
    tc_wire_out_fini(&o);
}

static void queries_come_back(void **state)
{
    (void)state;
    struct tc_error err = {0};
    struct tc_wire_out o = {0};
    struct tc_query got;
    struct tc_bind *binds = NULL;
    const struct tc_bind all[] = {
        {.type = TC_COLUMN_TEXT, .as.text = TC_LIT("x")},
        {.type = TC_COLUMN_TEXT, .is_null = true},
        {.type = TC_COLUMN_REAL, .as.real = 0.25},
        {.type = TC_COLUMN_TIME, .as.integer = 7},
    };
    struct tc_query query = {.sql = TC_LIT("SELECT ?"),
                             .binds = all,
                             .bind_count = 4,
                             .untrusted = true,
                             .rows_max = 9,
                             .time_ns = 11};
    tc_wire_begin(&o, TC_WIRE_QUERY);
    tc_wire_put_query(&o, &query);
    struct tc_slice body = body_of(&o);
    assert_int_equal(tc_wire_get_query(body, &got, &binds, &err), TC_OK);
    assert_true(tc_slice_eq(got.sql, query.sql) && got.untrusted);
    assert_int_equal(got.rows_max, 9);
    assert_int_equal(got.time_ns, 11);
    assert_int_equal(got.bind_count, 4);
    assert_true(tc_slice_eq(got.binds[0].as.text, TC_LIT("x")));
    assert_true(got.binds[1].is_null);
    assert_true(got.binds[2].as.real == 0.25 && got.binds[3].as.integer == 7);
    free(binds);
    for (size_t len = 0; len < body.len; len++) {
        assert_int_equal(tc_wire_get_query(tc_slice_head(body, len), &got, &binds, &err),
                         TC_E_MALFORMED);
    }
    tc_wire_out_fini(&o);
}

static void long_sql_is_refused_on_our_side(void **state)
{
    (void)state;
    struct tc_error err = {0};
    struct tc_wire_out o = {0};
    char *sql = calloc(1, TC_WIRE_SQL_MAX + 1);
    assert_non_null(sql);
    struct tc_query query = {.sql = tc_slice_make(sql, TC_WIRE_SQL_MAX)};
    tc_wire_begin(&o, TC_WIRE_QUERY);
    tc_wire_put_query(&o, &query);
    assert_int_equal(tc_wire_end(&o, &err), TC_OK);
    query.sql.len++;
    tc_wire_begin(&o, TC_WIRE_QUERY);
    tc_wire_put_query(&o, &query);
    assert_int_equal(tc_wire_end(&o, &err), TC_E_LIMIT);
    free(sql);
    tc_wire_out_fini(&o);
}

static void what_to_forget_comes_back(void **state)
{
    (void)state;
    struct tc_error err = {0};
    struct tc_wire_out o = {0};
    struct tc_forget got;
    struct tc_slice *keys = NULL;
    const struct tc_slice two[] = {TC_LIT("run-1"), TC_LIT("run-2")};
    struct tc_forget what = {.table = TC_TABLE_SLICE,
                             .key_column = TC_SLICE_RUN_ID,
                             .keys = two,
                             .key_count = 2,
                             .time_column = TC_SLICE_END,
                             .before_us = 5,
                             .null_column = TC_SLICE_SOURCE_DIGEST,
                             .want_null = true};
    tc_wire_begin(&o, TC_WIRE_FORGET);
    tc_wire_put_forget(&o, &what);
    struct tc_slice body = body_of(&o);
    assert_int_equal(tc_wire_get_forget(body, &got, &keys, &err), TC_OK);
    assert_int_equal(got.key_count, 2);
    assert_true(tc_slice_eq(got.keys[1], two[1]) && got.want_null);
    assert_int_equal(got.before_us, 5);
    free(keys);
    for (size_t len = 0; len < body.len; len++) {
        assert_int_equal(tc_wire_get_forget(tc_slice_head(body, len), &got, &keys, &err),
                         TC_E_MALFORMED);
    }
    what.key_column = TC_SLICE_COUNT; /* no text */
    tc_wire_begin(&o, TC_WIRE_FORGET);
    tc_wire_put_forget(&o, &what);
    assert_int_equal(tc_wire_get_forget(body_of(&o), &got, &keys, &err), TC_E_MALFORMED);
    what.key_column = TC_SLICE_RUN_ID;
    what.time_column = TC_SLICE_COLUMNS;
    tc_wire_begin(&o, TC_WIRE_FORGET);
    tc_wire_put_forget(&o, &what);
    assert_int_equal(tc_wire_get_forget(body_of(&o), &got, &keys, &err), TC_E_MALFORMED);
    tc_wire_out_fini(&o);
}

static void parquet_needs_an_absolute_path(void **state)
{
    (void)state;
    struct tc_error err = {0};
    struct tc_wire_out o = {0};
    struct tc_wire_parquet got;
    const struct {
        struct tc_slice path;
        tc_status status;
    } rows[] = {{TC_LIT("/tmp/a.parquet"), TC_OK},
                {TC_LIT("a.parquet"), TC_E_MALFORMED},
                {TC_LIT(""), TC_E_MALFORMED},
                {TC_LIT("/tmp/a\0b"), TC_E_MALFORMED}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tc_wire_begin(&o, TC_WIRE_PARQUET);
        tc_wire_put_parquet(&o, TC_TABLE_SLICE, 0, INT64_MIN, rows[i].path);
        assert_int_equal(tc_wire_get_parquet(body_of(&o), &got, &err), rows[i].status);
    }
    tc_wire_out_fini(&o);
}

static void errors_come_back(void **state)
{
    (void)state;
    struct tc_error err = {0};
    struct tc_error got = {0};
    struct tc_wire_out o = {0};
    (void)!tc_fail(&err, TC_E_USAGE, 12, "no such column");
    tc_wire_begin(&o, TC_WIRE_ERROR);
    tc_wire_put_error(&o, &err);
    assert_int_equal(tc_wire_get_error(body_of(&o), &got), TC_E_USAGE);
    assert_string_equal(got.message, "no such column");
    assert_int_equal(got.offset, 12);
    err.status = TC_OK; /* an error that is none */
    tc_wire_begin(&o, TC_WIRE_ERROR);
    tc_wire_put_error(&o, &err);
    assert_int_equal(tc_wire_get_error(body_of(&o), &got), TC_E_MALFORMED);
    tc_wire_out_fini(&o);
}

/* ---- sockets ---- */

static void pair(struct tc_wire_link *a, struct tc_wire_link *b)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    *a = (struct tc_wire_link){.fd = fds[0], .wake_fd = -1};
    *b = (struct tc_wire_link){.fd = fds[1], .wake_fd = -1};
}

static void frames_come_one_by_one(void **state)
{
    (void)state;
    struct tc_wire_link a;
    struct tc_wire_link b;
    struct tc_error err = {0};
    struct tc_wire_out o = {0};
    enum tc_wire_kind kind;
    struct tc_slice body;
    uint64_t value = 0;
    pair(&a, &b);
    for (uint64_t i = 0; i < 3; i++) {
        tc_wire_begin(&o, TC_WIRE_DONE);
        tc_wire_put_done(&o, i);
        assert_int_equal(tc_wire_end(&o, &err), TC_OK);
        assert_int_equal(tc_wire_write(&a, &o, SECOND, &err), TC_OK);
    }
    tc_wire_begin(&o, TC_WIRE_CANCEL);
    assert_int_equal(tc_wire_end(&o, &err), TC_OK);
    assert_int_equal(tc_wire_write(&a, &o, SECOND, &err), TC_OK);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(tc_wire_is_bare(tc_wire_pending(&b), TC_WIRE_CANCEL), false);
        assert_int_equal(tc_wire_read(&b, SECOND, &kind, &body, &err), TC_OK);
        assert_int_equal(tc_wire_get_done(body, &value, &err), TC_OK);
        assert_int_equal(value, i);
    }
    assert_true(tc_wire_is_bare(tc_wire_pending(&b), TC_WIRE_CANCEL));
    assert_int_equal(tc_wire_read(&b, SECOND, &kind, &body, &err), TC_OK);
    assert_int_equal(kind, TC_WIRE_CANCEL);
    assert_int_equal(body.len, 0);
    tc_wire_link_fini(&a);
    assert_int_equal(tc_wire_read(&b, SECOND, &kind, &body, &err), TC_E_NOTFOUND);
    tc_wire_link_fini(&b);
    tc_wire_out_fini(&o);
}

static void a_frame_may_come_in_bits(void **state)
{
    (void)state;
    struct tc_wire_link a;
    struct tc_wire_link b;
    struct tc_error err = {0};
    struct tc_wire_out o = {0};
    enum tc_wire_kind kind;
    struct tc_slice body;
    pair(&a, &b);
    b.wake_fd = eventfd(1, 0); /* readable: a read that has to wait ends */
    tc_wire_begin(&o, TC_WIRE_DONE);
    tc_wire_put_done(&o, 77);
    assert_int_equal(tc_wire_end(&o, &err), TC_OK);
    for (size_t i = 0; i < o.len; i++) {
        assert_int_equal(tc_wire_read(&b, SECOND, &kind, &body, &err), TC_E_LIMIT);
        assert_int_equal(send(a.fd, o.data + i, 1, 0), 1);
    }
    (void)close(b.wake_fd);
    b.wake_fd = -1;
    uint64_t value = 0;
    assert_int_equal(tc_wire_read(&b, SECOND, &kind, &body, &err), TC_OK);
    assert_int_equal(tc_wire_get_done(body, &value, &err), TC_OK);
    assert_int_equal(value, 77);
    assert_int_equal(send(a.fd, o.data, 3, 0), 3);
    tc_wire_link_fini(&a);
    assert_int_equal(tc_wire_read(&b, SECOND, &kind, &body, &err), TC_E_IO);
    tc_wire_link_fini(&b);
    tc_wire_out_fini(&o);
}

static void an_announced_length_costs_nothing(void **state)
{
    (void)state;
    struct tc_wire_link a;
    struct tc_wire_link b;
    struct tc_error err = {0};
    enum tc_wire_kind kind;
    struct tc_slice body;
    uint32_t head[2] = {(uint32_t)TC_WIRE_BODY_MAX, TC_WIRE_ROWS};
    pair(&a, &b);
    assert_int_equal(send(a.fd, head, sizeof head, 0), sizeof head);
    assert_int_equal(tc_wire_read(&b, SECOND / 50, &kind, &body, &err), TC_E_IO);
    assert_true(b.cap <= (size_t)128 << 10);
    tc_wire_link_fini(&a);
    tc_wire_link_fini(&b);
    pair(&a, &b);
    head[0]++;
    assert_int_equal(send(a.fd, head, sizeof head, 0), sizeof head);
    assert_int_equal(tc_wire_read(&b, SECOND, &kind, &body, &err), TC_E_MALFORMED);
    tc_wire_link_fini(&a);
    tc_wire_link_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back),
        cmocka_unit_test(cut_rows_are_refused),
        cmocka_unit_test(cells_outside_of_the_text_are_refused),
        cmocka_unit_test(appended_rows_are_of_their_table),
        cmocka_unit_test(queries_come_back),
        cmocka_unit_test(long_sql_is_refused_on_our_side),
        cmocka_unit_test(what_to_forget_comes_back),
        cmocka_unit_test(parquet_needs_an_absolute_path),
        cmocka_unit_test(errors_come_back),
        cmocka_unit_test(frames_come_one_by_one),
        cmocka_unit_test(a_frame_may_come_in_bits),
        cmocka_unit_test(an_announced_length_costs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
