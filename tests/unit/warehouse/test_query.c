/* SPDX-License-Identifier: Apache-2.0 */
/* Queries: types, parameters, bounds, interrupts, and what people may not ask. */
#include "support/warehouse_room.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The rows as text: columns "name:type", then rows, with | between cells. */
struct dump {
    char text[8192];
    size_t len;
    size_t rows;
    size_t calls;
    tc_status answer;
};

static void put(struct dump *d, struct tc_slice s)
{
    size_t room = sizeof d->text - d->len - 1;
    size_t len = s.len < room ? s.len : room;
    memcpy(d->text + d->len, len == 0 ? "" : s.ptr, len);
    d->len += len;
    d->text[d->len] = '\0';
}

static void put_cell(struct dump *d, const struct tc_rows *r, size_t column, size_t row)
{
    char text[64];
    if (tc_rows_is_null(r, column, row)) {
        put(d, TC_LIT("NULL"));
    } else if (r->columns[column].type == TC_COLUMN_TEXT) {
        put(d, tc_rows_get_text(r, column, row));
    } else if (r->columns[column].type == TC_COLUMN_REAL) {
        (void)snprintf(text, sizeof text, "%.15g", r->columns[column].cells[row].real);
        put(d, tc_slice_cstr(text));
    } else {
        (void)snprintf(text, sizeof text, "%lld", (long long)r->columns[column].cells[row].integer);
        put(d, tc_slice_cstr(text));
    }
}

static tc_status dump_rows(void *context, const struct tc_rows *r)
{
    struct dump *d = context;
    for (size_t c = 0; d->calls == 0 && c < r->column_count; c++) {
        put(d, c == 0 ? TC_EMPTY : TC_LIT("|"));
        put(d, tc_slice_cstr(tc_column_type_name(r->columns[c].type)));
    }
    for (size_t i = 0; i < r->count; i++) {
        for (size_t c = 0; c < r->column_count; c++) {
            put(d, c == 0 ? TC_LIT("\n") : TC_LIT("|"));
            put_cell(d, r, c, i);
        }
    }
    d->calls++;
    d->rows += r->count;
    return d->answer;
}

static tc_status count_only(void *context, const struct tc_rows *r)
{
    struct dump *d = context;
    d->rows += r->count;
    d->calls++;
    return d->answer;
}

static void expect(struct tc_warehouse *w, const char *sql, const char *want)
{
    struct dump d = {.text = ""};
    struct tc_error err = {0};
    for (int untrusted = 0; untrusted < 2; untrusted++) {
        struct tc_query query = {.sql = tc_slice_cstr(sql), .untrusted = untrusted == 1};
        d = (struct dump){.text = ""};
        if (tc_warehouse_query(w, &query, dump_rows, &d, NULL, &err) != TC_OK) {
            fail_msg("%s: %s", sql, err.message);
        }
        assert_string_equal(d.text, want);
    }
}

static void types_that_tables_do_not_have_are_exact(void **state)
{
    struct tc_warehouse *w = wh_open(*state, TC_WAREHOUSE_WRITE);
    expect(w,
           "SELECT 1, 1::TINYINT, 2::UTINYINT, 3::SMALLINT, 4::USMALLINT, 5::UINTEGER, 6::UBIGINT",
           "int|int|int|int|int|int|int\n1|1|2|3|4|5|6");
    expect(w, "SELECT -1::HUGEINT, 9223372036854775807::HUGEINT, 7::UHUGEINT, true, NULL",
           "int|int|int|bool|int\n-1|9223372036854775807|7|1|NULL");
    expect(w, "SELECT (-9223372036854775808)::HUGEINT", "int\n-9223372036854775808");
    expect(w,
           "SELECT 1.5, -0.1::DECIMAL(4,1), 12345.678::DECIMAL(9,3), 99999999999.9999, 0.5::FLOAT",
           "real|real|real|real|real\n1.5|-0.1|12345.678|99999999999.9999|0.5");
    expect(w, "SELECT 1::DECIMAL(16,0), 123456789012345678.5::DECIMAL(38,4)",
           "text|text\n1|123456789012345678.5000");
    expect(w, "SELECT 'nan'::DOUBLE, 'inf'::DOUBLE, 'infinity'::TIMESTAMP, 'x'",
           "real|real|time|text\nnan|inf|NULL|x");
    expect(w,
           "SELECT TIMESTAMP '1970-01-01 00:00:01.000002', TIMESTAMP_S '1970-01-01 00:00:01', "
           "TIMESTAMP_MS '1970-01-01 00:00:01.5', TIMESTAMPTZ '1970-01-01 02:00:01+02'",
           "time|time|time|time\n1000002|1000000|1500000|1000000");
    expect(
        w,
        "SELECT TIMESTAMP_NS '1970-01-01 00:00:00.000000001', DATE '2026-01-02', TIME '03:04:05', "
        "INTERVAL 3 DAY",
        "text|text|text|text\n1970-01-01 00:00:00.000000001|2026-01-02|03:04:05|3 days");
    expect(w,
           "SELECT [1, 2] AS a, {'k': 'v'} AS a, MAP {'x': 1}, 'b'::BLOB, "
           "'550e8400-e29b-41d4-a716-446655440000'::UUID, 7 AS a",
           "text|text|text|text|text|int\n[1,2]|{\"k\":\"v\"}|{\"x\":1}|b|"
           "550e8400-e29b-41d4-a716-446655440000|7");
    tc_warehouse_close(w);
}

static void statements_may_end_as_they_like(void **state)
{
    struct tc_warehouse *w = wh_open(*state, TC_WAREHOUSE_WRITE);
    expect(w, "SELECT [1];", "text\n[1]");
    expect(w, "SELECT [1] -- the end", "text\n[1]");
    expect(w, "SELECT [1]; -- the end;", "text\n[1]");
    expect(w, "SELECT [1], ';' ; /* a /* nested */ ; one */ ", "text|text\n[1]|;");
    expect(w, "SELECT [1], $$ ; $$, $t$ $$;$$ $t$, E'\\';', \"a;b\" FROM (SELECT 1 AS \"a;b\") ;",
           "text|text|text|text|int\n[1]| ; | $$;$$ |';|1");
    expect(w, "(SELECT [1])", "text\n[1]");
    expect(w, "WITH x AS (SELECT [1] AS a) SELECT a FROM x ORDER BY a LIMIT 5", "text\n[1]");
    expect(w, "FROM (VALUES ([2]), ([1])) t(a) ORDER BY a DESC", "text\n[2]\n[1]");
    tc_warehouse_close(w);
}

static void parameters_are_bound(void **state)
{
    struct tc_warehouse *w = wh_open(*state, TC_WAREHOUSE_WRITE);
    struct tc_error err = {0};
    struct dump d = {.text = ""};
    struct tc_bind binds[] = {
        {.type = TC_COLUMN_TEXT, .as.text = TC_LIT("'; DROP TABLE x; --")},
        {.type = TC_COLUMN_INT, .as.integer = INT64_MIN},
        {.type = TC_COLUMN_REAL, .as.real = 0.25},
        {.type = TC_COLUMN_BOOL, .as.integer = 1},
        {.type = TC_COLUMN_TIME, .as.integer = 1500000},
        {.type = TC_COLUMN_TEXT, .is_null = true},
        {.type = TC_COLUMN_TEXT, .as.text = TC_EMPTY},
    };
    struct tc_query query = {.sql = TC_LIT("SELECT ?, ?, ?, ?, ?, ?, ?, [1]"),
                             .binds = binds,
                             .bind_count = 7,
                             .untrusted = true};
    assert_int_equal(tc_warehouse_query(w, &query, dump_rows, &d, NULL, &err), TC_OK);
    assert_string_equal(d.text, "text|int|real|bool|time|int|text|text\n'; DROP TABLE x; --|"
                                "-9223372036854775808|0.25|1|1500000|NULL||[1]");
    /* Without the NULL they become literals, which mean the same. */
    for (int round = 0; round < 2; round++) {
        binds[5] = (struct tc_bind){.type = TC_COLUMN_TEXT, .as.text = TC_LIT("it''s \\ '")};
        query.sql = round == 0 ? TC_LIT("SELECT ?, ?, ?, ?, ?, ?, ?, [1], '?', \"?\" /* ? */ FROM "
                                        "(SELECT 3 AS \"?\") -- ?")
                               : TC_LIT("SELECT $1, $2, $3, $4, $5, $6, $7, [1], '?', 3");
        d = (struct dump){.text = ""};
        assert_int_equal(tc_warehouse_query(w, &query, dump_rows, &d, NULL, &err), TC_OK);
        assert_string_equal(d.text, "text|int|real|bool|time|text|text|text|text|int\n"
                                    "'; DROP TABLE x; --|-9223372036854775808|0.25|1|1500000|"
                                    "it''s \\ '||[1]|?|3");
    }
    query.sql = TC_LIT("SELECT ?, ?, ?, ?, ?, ?, ?");
    query.bind_count = 6;
    assert_int_equal(tc_warehouse_query(w, &query, dump_rows, &d, NULL, &err), TC_E_USAGE);
    assert_string_equal(err.message, "the query has 7 parameters, 6 values were given");
    query.bind_count = 0;
    query.sql = TC_LIT("SELECT 1");
    assert_int_equal(tc_warehouse_query(w, &query, dump_rows, &d, NULL, &err), TC_OK);
    tc_warehouse_close(w);
}

static void rows_are_bounded(void **state)
{
    struct tc_warehouse *w = wh_open(*state, TC_WAREHOUSE_WRITE);
    struct tc_error err = {0};
    static const struct {
        uint64_t max;
        size_t rows;
        bool cut;
    } cases[] = {{0, 5000, false},    {5000, 5000, false}, {4999, 4999, true},
                 {5001, 5000, false}, {2048, 2048, true},  {1, 1, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct dump d = {.text = ""};
        bool cut = !cases[i].cut;
        struct tc_query query = {.sql = TC_LIT("SELECT range FROM range(5000)"),
                                 .rows_max = cases[i].max};
        assert_int_equal(tc_warehouse_query(w, &query, count_only, &d, &cut, &err), TC_OK);
        assert_int_equal(d.rows, cases[i].rows);
        assert_int_equal(cut, cases[i].cut);
    }
    /* No rows: the columns are told all the same. */
    struct dump d = {.text = ""};
    struct tc_query none = {.sql = TC_LIT("SELECT 1 AS a WHERE false")};
    assert_int_equal(tc_warehouse_query(w, &none, dump_rows, &d, NULL, &err), TC_OK);
    assert_int_equal(d.calls, 1);
    assert_string_equal(d.text, "int");
    tc_warehouse_close(w);
}

/* Rows whose text does not fit into one batch come in several; one that fits in none is an error.
 */
static void much_text_comes_in_parts(void **state)
{
    struct tc_warehouse *w = wh_open(*state, TC_WAREHOUSE_WRITE);
    struct tc_error err = {0};
    struct dump d = {.text = ""};
    struct tc_query query = {.sql =
                                 TC_LIT("SELECT repeat('x', 20000000) AS a, range FROM range(7)")};
    assert_int_equal(tc_warehouse_query(w, &query, count_only, &d, NULL, &err), TC_OK);
    assert_int_equal(d.rows, 7);
    assert_int_equal(d.calls, 3);
    d = (struct dump){.text = ""};
    query.sql = TC_LIT("SELECT repeat('x', 67108864)");
    assert_int_equal(tc_warehouse_query(w, &query, count_only, &d, NULL, &err), TC_OK);
    query.sql = TC_LIT("SELECT repeat('x', 67108865)");
    assert_int_equal(tc_warehouse_query(w, &query, count_only, &d, NULL, &err), TC_E_LIMIT);
    tc_warehouse_close(w);
}

static void a_reader_that_fails_ends_the_query(void **state)
{
    struct tc_warehouse *w = wh_open(*state, TC_WAREHOUSE_WRITE);
    struct tc_error err = {0};
    struct dump d = {.answer = TC_E_IO};
    struct tc_query query = {.sql = TC_LIT("SELECT range FROM range(100000)")};
    assert_int_equal(tc_warehouse_query(w, &query, count_only, &d, NULL, &err), TC_E_IO);
    assert_int_equal(d.calls, 1);
    d.answer = TC_OK;
    assert_int_equal(tc_warehouse_query(w, &query, count_only, &d, NULL, &err), TC_OK);
    tc_warehouse_close(w);
}

static void wrong_sql_is_told_in_the_engines_words(void **state)
{
    struct tc_warehouse *w = wh_open(*state, TC_WAREHOUSE_WRITE);
    static const struct {
        const char *sql;
        const char *message;
    } cases[] = {
        {"SELEC 1", "syntax error at or near \"SELEC\""},
        {"SELECT * FROM nothing_here", "nothing_here does not exist"},
        {"SELECT nope FROM benchmark_run_fact", "nope"},
        {"", "the query is empty"},
        {"  -- nothing\n ;", "the query is empty"},
        {"SELECT error('boom')", "boom"},
        {"SELECT CASE WHEN range = 300000 THEN error('late') ELSE 'x' END FROM range(400000)",
         "late"},
        {"SELECT 9223372036854775808::HUGEINT AS big", "column big has a number beyond 64 bits"},
        {"SELECT 18446744073709551615::UBIGINT AS big", "column big"},
        {"SELECT 'x'::INTEGER", "Could not convert string 'x'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_error err = {0};
        struct dump d = {.text = ""};
        struct tc_query query = {.sql = tc_slice_cstr(cases[i].sql), .untrusted = i % 2 == 0};
        assert_int_equal(tc_warehouse_query(w, &query, count_only, &d, NULL, &err), TC_E_USAGE);
        if (strstr(err.message, cases[i].message) == NULL || strchr(err.message, '\n') != NULL) {
            fail_msg("%s: %s", cases[i].sql, err.message);
        }
    }
    struct tc_error err = {0};
    struct dump d = {.text = ""};
    struct tc_query query = {.sql = TC_LIT("SELECT 1\0; DROP TABLE x")};
    assert_int_equal(tc_warehouse_query(w, &query, count_only, &d, NULL, &err), TC_E_USAGE);
    char *large = malloc((4 << 20) + 1);
    memset(large, ' ', (4 << 20) + 1);
    memcpy(large, "SELECT 1", 8);
    query.sql = tc_slice_make(large, 4 << 20);
    assert_int_equal(tc_warehouse_query(w, &query, count_only, &d, NULL, &err), TC_OK);
    query.sql.len++;
    assert_int_equal(tc_warehouse_query(w, &query, count_only, &d, NULL, &err), TC_E_USAGE);
    free(large);
    tc_warehouse_close(w);
}

/* Would take hours. */
#define ENDLESS \
    "SELECT count(*) FROM range(1000000000) a JOIN range(1000000) b ON a.range % 7 = b.range % 5"

static void the_time_limit_ends_a_query(void **state)
{
    struct tc_warehouse *w = wh_open(*state, TC_WAREHOUSE_WRITE);
    static const char *const sqls[] = {ENDLESS, "SELECT range FROM range(100000000000)"};
    for (size_t i = 0; i < 2; i++) {
        struct tc_error err = {0};
        struct dump d = {.text = ""};
        struct tc_query query = {
            .sql = tc_slice_cstr(sqls[i]), .time_ns = 50000000, .untrusted = true};
        assert_int_equal(tc_warehouse_query(w, &query, count_only, &d, NULL, &err), TC_E_LIMIT);
        assert_string_equal(err.message, "the query took too long and was stopped");
        /* The next one is not hit by what was left of it. */
        assert_int_equal(wh_count(w, "SELECT 5"), 5);
    }
    tc_warehouse_close(w);
}

struct poker {
    struct tc_warehouse *w;
    atomic_bool done;
};

/* Again and again, for it may come before the query began. */
static void *poke(void *context)
{
    struct poker *p = context;
    while (!atomic_load(&p->done)) {
        (void)usleep(20000);
        tc_warehouse_interrupt(p->w);
    }
    return NULL;
}

static void another_thread_ends_a_query(void **state)
{
    struct poker p = {.w = wh_open(*state, TC_WAREHOUSE_WRITE)};
    struct tc_error err = {0};
    struct dump d = {.text = ""};
    pthread_t thread;
    struct tc_query query = {.sql = TC_LIT(ENDLESS)};
    assert_int_equal(pthread_create(&thread, NULL, poke, &p), 0);
    assert_int_equal(tc_warehouse_query(p.w, &query, count_only, &d, NULL, &err), TC_E_LIMIT);
    atomic_store(&p.done, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(err.message, "the query was stopped");
    assert_int_equal(wh_count(p.w, "SELECT 5"), 5);
    tc_warehouse_close(p.w);
}

static void large_results_do_not_fill_memory(void **state)
{
    struct wh_room *room = *state;
    struct tc_warehouse_config config = wh_config(room, TC_WAREHOUSE_WRITE);
    struct tc_warehouse *w = NULL;
    struct tc_error err = {0};
    struct dump d = {.text = ""};
    config.memory_bytes = (size_t)64 << 20;
    assert_int_equal(tc_warehouse_open(&config, &w, &err), TC_OK);
    /* 1.6 GB of them. */
    struct tc_query query = {.sql = TC_LIT("SELECT range, range + 1 FROM range(100000000)"),
                             .rows_max = 20000000};
    bool cut = false;
    assert_int_equal(tc_warehouse_query(w, &query, count_only, &d, &cut, &err), TC_OK);
    assert_true(cut);
    assert_int_equal(d.rows, 20000000);
    tc_warehouse_close(w);
}

#define T(f) cmocka_unit_test_setup_teardown(f, wh_setup, wh_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(types_that_tables_do_not_have_are_exact),
        T(statements_may_end_as_they_like),
        T(parameters_are_bound),
        T(rows_are_bounded),
        T(much_text_comes_in_parts),
        T(a_reader_that_fails_ends_the_query),
        T(wrong_sql_is_told_in_the_engines_words),
        T(the_time_limit_ends_a_query),
        T(another_thread_ends_a_query),
        T(large_results_do_not_fill_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
