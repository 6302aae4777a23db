/* SPDX-License-Identifier: Apache-2.0 */
/* What of the ClickHouse engine needs no server: addresses, errors, filters of plans, rows as
 * bytes. */
#include "warehouse/clickhouse/binary_priv.h"
#include "warehouse/clickhouse/client_priv.h"
#include "warehouse/clickhouse/filter_priv.h"
#include "warehouse/clickhouse/url_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- addresses ---- */

static void an_address_is_taken_apart(void **state)
{
    (void)state;
    struct tc__ch_url u;
    struct tc_error err;
    assert_int_equal(tc__ch_url_parse("clickhouse://host/db", &u, &err), TC_OK);
    assert_string_equal(u.hosts[0], "host:8123");
    assert_string_equal(u.user, "default");
    assert_string_equal(u.database, "db");
    assert_int_equal(u.wait_ns, INT64_C(120000000000));
    assert_false(u.tls);
    assert_int_equal(tc__ch_url_parse("clickhouses://me@[::1]/db", &u, &err), TC_OK);
    assert_string_equal(u.hosts[0], "[::1]:8443");
    assert_true(u.tls);
    assert_int_equal(tc__ch_url_parse("clickhouse://me@a:1,b:2/db?cluster=c&wait=7&password_file="
                                      "/run/x&ca_file=/ca.pem",
                                      &u, &err),
                     TC_OK);
    assert_int_equal(u.host_count, 2);
    assert_string_equal(u.hosts[1], "b:2");
    assert_string_equal(u.cluster, "c");
    assert_string_equal(u.password_file, "/run/x");
    assert_string_equal(u.ca_file, "/ca.pem");
    assert_int_equal(u.wait_ns, INT64_C(7000000000));
}

static void a_bad_address_says_what_is_wrong(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"http://host/db", "begins with neither"},
        {"clickhouse://host", "names no database"},
        {"clickhouse://host/a b", "names no database"},
        {"clickhouse:///db", "no host"},
        {"clickhouse://host:0/db", "no host"},
        {"clickhouse://host:70000/db", "no host"},
        {"clickhouse://host:x/db", "no host"},
        {"clickhouse://ho'st/db", "no host"},
        {"clickhouse://me:secret@host/db", "has a password"},
        {"clickhouse://m;e@host/db", "user with other signs"},
        {"clickhouse://a,b/db", "several hosts and no cluster"},
        {"clickhouse://host/db?what=1", "option \"what\""},
        {"clickhouse://host/db?wait=x", "wait=x cannot be"},
        {"clickhouse://host/db?wait=86401", "wait=86401 cannot be"},
        {"clickhouse://host/db?cluster=a'b", "cannot be"},
    };
    for (size_t i = 0; i < TC_COUNT(bad); i++) {
        struct tc__ch_url u;
        struct tc_error err = {0};
        assert_int_equal(tc__ch_url_parse(bad[i][0], &u, &err), TC_E_USAGE);
        assert_non_null(strstr(err.message, bad[i][1]));
        assert_null(strstr(err.message, "secret"));
    }
}

/* ---- errors ---- */

static void errors_of_old_and_new_servers_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        tc_status status;
        const char *says;
    } told[] = {
        {"Code: 193, e.displayText() = DB::Exception: Wrong password for user u, e.what() = x",
         TC_E_USAGE, "refuses the user \"u\""},
        {"Code: 516. DB::Exception: u: Authentication failed. (AUTHENTICATION_FAILED)", TC_E_USAGE,
         "TRACECORE_CLICKHOUSE_PASSWORD"},
        {"Code: 81, e.displayText() = DB::Exception: Database d doesn't exist, e.what() = x",
         TC_E_USAGE, "CREATE DATABASE d"},
        {"Code: 46. DB::Exception: Unknown function f", TC_E_UNSUPPORTED, "18.16 or newer"},
        {"Code: 279, e.displayText() = DB::NetException: All connection tries failed.", TC_E_AGAIN,
         "All connection tries failed"},
        {"Code: 497. DB::Exception: u: Not enough privileges", TC_E_USAGE, "does not let"},
        {"Code: 701. DB::Exception: Requested cluster 'c' not found", TC_E_USAGE, "?cluster="},
        {"Code: 4242. DB::Exception: something new", TC_E_IO, "error 4242: something new"},
        {"<html>no such page", TC_E_IO, "not as ClickHouse does"},
    };
    struct tc__ch_url url = {.user = "u", .database = "d"};
    struct tc__ch_client c = {.url = &url, .host = "h:1", .version_text = "18.16.1"};
    struct tc_error err;
    for (size_t i = 0; i < TC_COUNT(told); i++) {
        assert_int_equal(tc__ch_explain(&c, 500, tc_slice_cstr(told[i].body), &err),
                         told[i].status);
        assert_non_null(strstr(err.message, told[i].says));
    }
    assert_int_equal(tc__ch_explain(&c, 503, TC_LIT("busy"), &err), TC_E_AGAIN);
}

/* ---- filters ---- */

static void filters_of_a_scan_are_read(void **state)
{
    (void)state;
    static struct tc__filter f;
    assert_true(tc__filter_parse(TC_LIT("run_id='it''s'"), &f));
    assert_int_equal(f.term_count, 1);
    assert_true(tc_slice_eq(f.terms[0].column, TC_LIT("run_id")));
    assert_true(tc_slice_eq(f.values[0], TC_LIT("it''s")));
    assert_true(tc__filter_parse(TC_LIT("optional: metric IN ('a', 'b AND x=''c''')"), &f));
    assert_int_equal(f.terms[0].count, 2);
    assert_true(tc__filter_parse(TC_LIT("window_start>='2026-01-01 00:00:00.5'::TIMESTAMP AND "
                                        "window_start<'2026-01-02 00:00:00'::TIMESTAMP"),
                                 &f));
    assert_int_equal(f.term_count, 2);
    assert_int_equal(f.terms[0].sign, TC__FILTER_FROM);
    assert_int_equal(f.terms[0].time_us, INT64_C(1767225600500000));
    assert_int_equal(f.terms[1].sign, TC__FILTER_BEFORE);
}

static void what_is_no_filter_filters_nothing(void **state)
{
    (void)state;
    static struct tc__filter f;
    static const char *const others[] = {
        "",
        "mean IS NOT NULL",
        "run_id='a' OR metric='b'",
        "run_id='a' AND mean>1.0",
        "run_id>='a'",
        "run_id!='a'",
        "run_id='a",
        "run_id IN ('a', 'b'",
        "run_id IN ()",
        "='a'",
        "window_start>='today'::TIMESTAMP",
        "run_id='a' AND ",
    };
    for (size_t i = 0; i < TC_COUNT(others); i++) {
        assert_false(tc__filter_parse(tc_slice_cstr(others[i]), &f));
        assert_int_equal(f.term_count, 0);
    }
}

/* ---- rows as bytes ---- */

static struct tc_rows *two_slices(void)
{
    struct tc_rows *rows = tc_rows_create(TC_TABLE_SLICE);
    assert_non_null(rows);
    (void)tc_rows_add(rows);
    assert_int_equal(tc_rows_text(rows, TC_SLICE_RUN_ID, TC_LIT("run-1")), TC_OK);
    assert_int_equal(tc_rows_text(rows, TC_SLICE_METRIC, TC_LIT("m")), TC_OK);
    assert_int_equal(tc_rows_text(rows, TC_SLICE_NODE, TC_LIT("")), TC_OK);
    tc_rows_int(rows, TC_SLICE_START, 5);
    tc_rows_int(rows, TC_SLICE_RANK, -3);
    tc_rows_real(rows, TC_SLICE_MEAN, 0.1);
    (void)tc_rows_add(rows);
    return rows;
}

struct taken {
    size_t rows;
    struct tc_rows *copy;
};

static tc_status keep(void *context, struct tc_rows *rows, struct tc_error *err)
{
    struct taken *t = context;
    (void)err;
    for (size_t i = 0; i < rows->count; i++) {
        (void)tc_rows_add(t->copy);
        assert_int_equal(tc_rows_copy_row(t->copy, rows, i, SIZE_MAX), TC_OK);
    }
    t->rows += rows->count;
    return TC_OK;
}

/* Reads bytes that come in pieces; what is left of them is the reader's status. */
static tc_status read_back(const struct tc__ch_layout *l, struct tc_slice bytes, size_t piece,
                           struct taken *out)
{
    struct tc__ch_field fields[TC_TABLE_COLUMNS_MAX];
    struct tc_error err;
    for (size_t i = 0; i < l->column_count; i++) {
        fields[i] = (struct tc__ch_field){l->columns[i].type, l->columns[i].from};
    }
    *out = (struct taken){.copy = tc_rows_create(TC_TABLE_SLICE)};
    struct tc__ch_reader r = {.fields = fields,
                              .field_count = l->column_count,
                              .rows = tc_rows_create(TC_TABLE_SLICE),
                              .take = keep,
                              .context = out,
                              .err = &err};
    for (size_t at = 0; at < bytes.len; at += piece) {
        (void)tc__ch_reader_take(&r, tc_slice_head(tc_slice_from(bytes, at), piece));
    }
    tc_status status = tc__ch_reader_end(&r);
    tc_rows_destroy(r.rows);
    return status;
}

/* A short text behind its length. */
static struct tc_slice next_text(struct tc_slice *io)
{
    size_t len = (unsigned char)io->ptr[0];
    struct tc_slice text = tc_slice_make(io->ptr + 1, len);
    *io = tc_slice_from(*io, 1 + len);
    return text;
}

/* One row as it is read, made of one as it is sent: a block of one row has the same values, behind
 * the names and types of their columns, and of NULLs a value too. */
static void put_row(struct tc_grow *g, const struct tc__ch_layout *l, const struct tc_rows *rows,
                    size_t row)
{
    static struct tc__ch_block block;
    struct tc__ch_strands strands = {0};
    struct tc__ch_layout series;
    struct tc__ch_ids ids;
    struct tc_grow sent = {0};
    struct tc_error err;
    uint32_t numbers[TC_ROWS_MAX];
    tc__ch_series_layout(&series);
    assert_int_equal(tc__ch_strands_of(&strands, &series, rows, numbers, &err), TC_OK);
    assert_true(tc__ch_block_join(&block, &strands, &numbers[row], 1));
    assert_true(tc__ch_block_add(&block, l, rows, 0, row, 1));
    assert_true(tc__ch_block_bytes(&block, l) > 0);
    tc__ch_block_put(&sent, &block, l, &strands, &ids);
    tc__ch_block_number(&sent, ids, 7);
    struct tc_slice rest = tc_grow_slice(&sent);
    assert_int_equal(rest.ptr[0], (char)l->column_count);
    assert_int_equal(rest.ptr[1], 1);
    rest = tc_slice_from(rest, 2);
    for (size_t i = 0; i < l->column_count; i++) {
        assert_true(tc_slice_eq(next_text(&rest), tc_slice_cstr(l->columns[i].name)));
        struct tc_slice type = next_text(&rest);
        assert_true(tc_slice_eq(type, tc_slice_cstr(tc__ch_type_name(l->columns[i].type))));
        bool may_be_null = tc_slice_starts(type, TC_LIT("Nullable"));
        bool is_null = may_be_null && rest.ptr[0] != 0;
        tc_grow_str(g, tc_slice_head(rest, may_be_null));
        rest = tc_slice_from(rest, may_be_null);
        size_t bytes = tc_slice_find(type, TC_LIT("String")) != TC_NPOS ? (size_t)rest.ptr[0] + 1
                       : tc_slice_find(type, TC_LIT("Int8")) != TC_NPOS ? 1
                                                                        : 8;
        tc_grow_str(g, tc_slice_head(rest, is_null ? 0 : bytes));
        rest = tc_slice_from(rest, bytes);
    }
    assert_int_equal(rest.len, 0);
    tc__ch_block_fini(&block);
    tc__ch_strands_reset(&strands);
    tc_grow_fini(&sent);
}

static void rows_come_back_in_pieces_of_any_size(void **state)
{
    (void)state;
    struct tc__ch_layout l;
    struct tc_grow g = {0};
    struct tc_rows *rows = two_slices();
    tc__ch_layout_of(TC_TABLE_SLICE, &l);
    for (size_t i = 0; i < rows->count; i++) {
        put_row(&g, &l, rows, i);
    }
    for (size_t piece = 1; piece <= g.buf.len; piece++) {
        struct taken t;
        assert_int_equal(read_back(&l, tc_grow_slice(&g), piece, &t), TC_OK);
        assert_int_equal(t.rows, 2);
        assert_true(tc_slice_eq(tc_rows_get_text(t.copy, TC_SLICE_RUN_ID, 0), TC_LIT("run-1")));
        assert_int_equal(tc_rows_get_int(t.copy, TC_SLICE_START, 0), 5);
        assert_true(tc_rows_is_null(t.copy, TC_SLICE_START, 1));
        assert_true(tc_rows_is_null(t.copy, TC_SLICE_RUN_ID, 1));
        assert_true(tc_rows_get_real(t.copy, TC_SLICE_MEAN, 0) == 0.1);
        assert_true(tc_rows_is_null(t.copy, TC_SLICE_COUNT, 0));
        tc_rows_destroy(t.copy);
    }
    for (size_t cut = 1; cut < g.buf.len / 2; cut++) {
        struct taken t;
        assert_int_equal(read_back(&l, tc_slice_head(tc_grow_slice(&g), cut), 64, &t),
                         TC_E_MALFORMED);
        tc_rows_destroy(t.copy);
    }
    tc_rows_destroy(rows);
    tc_grow_fini(&g);
}

/* ---- in the order of the table ---- */

#define SLICES 1500

/* A row as it was sent. */
struct sent_row {
    uint64_t id;
    uint64_t series;
    struct tc_slice run;
    struct tc_slice metric;
    int64_t start;
    int64_t count;
};

static int64_t number_at(struct tc_slice s, size_t at)
{
    int64_t n;
    memcpy(&n, s.ptr + at, sizeof n);
    return n;
}

/* The columns of a block of slices that are looked at; `count` may be NULL, and is -1 then. */
static void take_block(const struct tc__ch_layout *l, struct tc_slice rest,
                       struct sent_row out[SLICES])
{
    assert_int_equal(rest.ptr[0], (char)l->column_count);
    assert_int_equal(((unsigned char)rest.ptr[1] & 0x7f) | (unsigned char)rest.ptr[2] << 7, SLICES);
    rest = tc_slice_from(rest, 3);
    for (size_t i = 0; i < l->column_count; i++) {
        const struct tc__ch_column *c = &l->columns[i];
        (void)next_text(&rest);
        struct tc_slice nulls = rest;
        bool may_be_null = tc_slice_starts(next_text(&nulls), TC_LIT("Nullable"));
        (void)next_text(&rest);
        nulls = rest;
        rest = tc_slice_from(rest, may_be_null ? SLICES : 0);
        for (size_t row = 0; row < SLICES; row++) {
            struct sent_row *r = &out[row];
            if (c->type == TC__CH_WORD) {
                *(c->from == TC_SLICE_RUN_ID ? &r->run : &r->metric) = next_text(&rest);
                continue;
            }
            int64_t n = number_at(rest, 0);
            rest = tc_slice_from(rest, sizeof n);
            r->id = i == 0 ? (uint64_t)n : r->id;
            r->series = i == 1 ? (uint64_t)n : r->series;
            r->start = c->from == TC_SLICE_START ? n : r->start;
            r->count = c->from != TC_SLICE_COUNT ? r->count : nulls.ptr[row] != 0 ? -1 : n;
        }
    }
    assert_int_equal(rest.len, 0);
}

static int compare_sent(const struct sent_row *a, const struct sent_row *b)
{
    int order = tc_slice_cmp(a->run, b->run);
    order = order == 0 ? tc_slice_cmp(a->metric, b->metric) : order;
    order = order == 0 ? (a->series > b->series) - (a->series < b->series) : order;
    return order == 0 ? (a->start > b->start) - (a->start < b->start) : order;
}

/* Slice i: its number is its count, every 50th has none of them, and it is of a time that goes
 * forward, or to and fro. */
static struct tc_rows *many_slices(bool is_forward)
{
    static const char *const runs[] = {"run-2", "run-10", "", "run-1"};
    static const char *const metrics[] = {"power_usage", "power", "sm_clock"};
    struct tc_rows *rows = tc_rows_create(TC_TABLE_SLICE);
    assert_non_null(rows);
    for (int i = 0; i < SLICES; i++) {
        char node[16];
        (void)snprintf(node, sizeof node, "n-%d", i % 7);
        (void)tc_rows_add(rows);
        struct tc_slice run = tc_slice_cstr(runs[i % 4]);
        if (run.len > 0) {
            assert_int_equal(tc_rows_text(rows, TC_SLICE_RUN_ID, run), TC_OK);
        }
        assert_int_equal(tc_rows_text(rows, TC_SLICE_METRIC, tc_slice_cstr(metrics[i % 3])), TC_OK);
        assert_int_equal(tc_rows_text(rows, TC_SLICE_NODE, tc_slice_cstr(node)), TC_OK);
        tc_rows_int(rows, TC_SLICE_START, is_forward ? i : i * 7919 % 1009 - 500);
        if (i % 50 != 0) {
            tc_rows_int(rows, TC_SLICE_COUNT, i);
        }
    }
    return rows;
}

static void check_order(bool is_forward)
{
    static struct sent_row sent[SLICES];
    struct tc__ch_strands strands = {0};
    struct tc__ch_block block = {0};
    struct tc__ch_layout l;
    struct tc__ch_layout series;
    struct tc__ch_ids ids;
    struct tc_grow body = {0};
    struct tc_error err;
    uint32_t numbers[TC_ROWS_MAX];
    size_t nulls = 0;
    bool seen[SLICES] = {false};
    struct tc_rows *rows = many_slices(is_forward);
    tc__ch_layout_of(TC_TABLE_SLICE, &l);
    tc__ch_series_layout(&series);
    assert_int_equal(tc__ch_strands_of(&strands, &series, rows, numbers, &err), TC_OK);
    assert_int_equal(strands.count, 4 * 3 * 7);
    assert_true(tc__ch_block_join(&block, &strands, numbers, rows->count));
    assert_true(tc__ch_block_add(&block, &l, rows, 0, 0, rows->count));
    tc__ch_block_put(&body, &block, &l, &strands, &ids);
    tc__ch_block_number(&body, ids, 42);
    take_block(&l, tc_grow_slice(&body), sent);
    for (size_t i = 0; i < SLICES; i++) {
        assert_int_equal(sent[i].id, 42);
        assert_true(i == 0 || compare_sent(&sent[i - 1], &sent[i]) <= 0);
        nulls += sent[i].count < 0;
        if (sent[i].count >= 0) {
            size_t row = (size_t)sent[i].count;
            assert_false(seen[row]);
            seen[row] = true;
            assert_int_equal(sent[i].start, tc_rows_get_int(rows, TC_SLICE_START, row));
            assert_true(sent[i].series == tc__ch_series_of(&series, rows, row));
        }
    }
    assert_int_equal(nulls, SLICES / 50);
    tc__ch_block_fini(&block);
    tc__ch_strands_reset(&strands);
    tc_rows_destroy(rows);
    tc_grow_fini(&body);
}

static void slices_are_sent_in_the_order_of_their_table(void **state)
{
    (void)state;
    check_order(true);
    check_order(false);
}

static void a_block_is_sent_again_under_another_number(void **state)
{
    (void)state;
    struct tc__ch_layout l;
    struct tc__ch_block block = {0};
    struct tc__ch_ids ids;
    struct tc_grow first = {0};
    struct tc_grow second = {0};
    struct tc_rows *rows = tc_rows_create(TC_TABLE_RUN);
    assert_non_null(rows);
    (void)tc_rows_add(rows);
    (void)tc_rows_add(rows);
    tc__ch_layout_of(TC_TABLE_RUN, &l);
    assert_true(tc__ch_block_add(&block, &l, rows, 0, 0, rows->count));
    tc__ch_block_put(&first, &block, &l, NULL, &ids);
    tc__ch_block_put(&second, &block, &l, NULL, &ids);
    assert_int_equal(ids.count, 2);
    tc__ch_block_number(&first, ids, 1);
    tc__ch_block_number(&second, ids, 2);
    assert_false(tc_slice_eq(tc_grow_slice(&first), tc_grow_slice(&second)));
    assert_int_equal(number_at(tc_grow_slice(&second), ids.at + sizeof(uint64_t)), 2);
    tc__ch_block_number(&first, ids, 2);
    assert_true(tc_slice_eq(tc_grow_slice(&first), tc_grow_slice(&second)));
    tc__ch_block_fini(&block);
    tc_rows_destroy(rows);
    tc_grow_fini(&first);
    tc_grow_fini(&second);
}

static void a_series_is_its_texts(void **state)
{
    (void)state;
    struct tc__ch_layout l;
    struct tc_rows *rows = two_slices();
    tc__ch_series_layout(&l);
    uint64_t first = tc__ch_series_of(&l, rows, 0);
    assert_int_not_equal(first, tc__ch_series_of(&l, rows, 1));
    tc_rows_seek(rows, 0);
    tc_rows_real(rows, TC_SLICE_MEAN, 5);
    assert_true(first == tc__ch_series_of(&l, rows, 0));
    tc_rows_null(rows, TC_SLICE_NODE); /* no text is another than an empty one */
    assert_true(first != tc__ch_series_of(&l, rows, 0));
    tc_rows_destroy(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_taken_apart),
        cmocka_unit_test(a_bad_address_says_what_is_wrong),
        cmocka_unit_test(errors_of_old_and_new_servers_are_told_apart),
        cmocka_unit_test(filters_of_a_scan_are_read),
        cmocka_unit_test(what_is_no_filter_filters_nothing),
        cmocka_unit_test(rows_come_back_in_pieces_of_any_size),
        cmocka_unit_test(slices_are_sent_in_the_order_of_their_table),
        cmocka_unit_test(a_block_is_sent_again_under_another_number),
        cmocka_unit_test(a_series_is_its_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
