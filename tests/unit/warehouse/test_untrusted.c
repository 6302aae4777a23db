/* SPDX-License-Identifier: Apache-2.0 */
/* What people's queries may not do: files, settings, writing, more than one statement. */
#include "support/warehouse_room.h"
#include "warehouse/duckdb/sql_priv.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static tc_status ignore(void *context, const struct tc_rows *rows)
{
    size_t *count = context;
    *count += rows->count;
    return TC_OK;
}

static tc_status ask(struct tc_warehouse *w, const char *sql, struct tc_error *err)
{
    size_t rows = 0;
    struct tc_query query = {.sql = tc_slice_cstr(sql), .untrusted = true};
    return tc_warehouse_query(w, &query, ignore, &rows, NULL, err);
}

/* @ stands for the data directory. */
static const char *const ATTACKS[] = {
    /* files */
    "SELECT * FROM read_csv('@/secret.csv')",
    "SELECT * FROM read_csv_auto('@/secret.csv')",
    "SELECT * FROM READ_TEXT('@/secret.csv')",
    "SELECT * FROM \"read_text\"('@/secret.csv')",
    "SELECT * FROM system.main.read_text ('@/secret.csv')",
    "SELECT * FROM read_text/**/('@/secret.csv')",
    "SELECT * FROM read_text -- (\n ('@/secret.csv')",
    "SELECT * FROM read_blob('@/secret.csv')",
    "SELECT * FROM read_json('@/secret.csv')",
    "SELECT * FROM read_ndjson_objects('@/secret.csv')",
    "SELECT * FROM read_parquet('@/secret.csv')",
    "SELECT * FROM parquet_metadata('@/secret.csv')",
    "SELECT * FROM parquet_schema('@/secret.csv')",
    "SELECT * FROM parquet_scan('@/secret.csv')",
    "SELECT * FROM sniff_csv('@/secret.csv')",
    "SELECT * FROM glob('@/*')",
    "SELECT * FROM tracecore_sort_buffer(1)",
    "SELECT * FROM '@/secret.csv'",
    "SELECT * FROM '@/warehouse.out/x.csv'",
    "SELECT * FROM \"@/secret.csv\"",
    "SELECT (SELECT content FROM read_text('@/secret.csv'))",
    "WITH a AS (FROM read_text('@/secret.csv')) SELECT * FROM a",
    "SELECT * FROM query('SELECT * FROM read_' || 'text(''@/secret.csv'')')",
    "SELECT * FROM query_table('@/secret.csv')",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
    "COPY (SELECT 1) TO '@/out.csv'",
    "COPY (SELECT 1) TO '@/warehouse.out/out.csv'",
    "COPY benchmark_run_fact FROM '@/secret.csv'",
    "EXPORT DATABASE '@/export'",
    "EXPORT DATABASE '@/warehouse.out'",
    "IMPORT DATABASE '@/export'",
    "ATTACH '@/other.db' AS other",
    "ATTACH ':memory:' AS other",
    "DETACH warehouse",
    "USE temp",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '@/x.duckdb_extension'",
    "CREATE SECRET s (TYPE s3, KEY_ID 'x', SECRET 'y')",
    /* settings */
    "SET memory_limit = '100GB'",
    "SET enable_external_access = true",
    "SET GLOBAL lock_configuration = false",
    "RESET enable_external_access",
    "SET VARIABLE x = 1",
    "PRAGMA enable_profiling = 'json'",
    "PRAGMA profiling_output = '@/profile'",
    "PRAGMA memory_limit = '100GB'",
    "PRAGMA database_list",
    "CALL pragma_version()",
    "CALL enable_logging('QueryLog', storage = 'file', storage_path = '@/log')",
    "SELECT * FROM enable_logging(storage = 'file', storage_path = '@/log')",
    "SELECT * FROM disable_logging()",
    "SELECT * FROM truncate_duckdb_logs()",
    "SELECT write_log('x')",
    "SELECT setseed(0.5)",
    /* writing */
    "INSERT INTO benchmark_run_fact (run_id) VALUES ('x')",
    "UPDATE benchmark_run_fact SET run_id = 'x'",
    "DELETE FROM benchmark_run_fact",
    "TRUNCATE benchmark_run_fact",
    "WITH a AS (SELECT 1) DELETE FROM benchmark_run_fact",
    "WITH a AS (SELECT 1) INSERT INTO benchmark_run_fact (run_id) SELECT 'x'",
    "/* SELECT */ DELETE FROM benchmark_run_fact",
    "-- SELECT\nDELETE FROM benchmark_run_fact",
    "DROP TABLE benchmark_run_fact",
    "CREATE TABLE x (a INT)",
    "CREATE TEMP TABLE x (a INT)",
    "CREATE OR REPLACE VIEW v AS SELECT 1",
    "CREATE MACRO f(x) AS x",
    "ALTER TABLE benchmark_run_fact ADD COLUMN x INT",
    "CREATE INDEX i ON benchmark_run_fact (run_id)",
    "CHECKPOINT",
    "FORCE CHECKPOINT",
    "VACUUM",
    "ANALYZE",
    "SELECT * FROM checkpoint()",
    "SELECT * FROM force_checkpoint()",
    "SELECT nextval('s')",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "DEALLOCATE p",
    "EXPLAIN ANALYZE DELETE FROM benchmark_run_fact",
    "EXPLAIN ANALYZE SELECT 1",
    "EXPLAIN (ANALYZE) DELETE FROM benchmark_run_fact",
    "EXPLAIN (FORMAT json) SELECT 1",
    "explain/**/analyze COPY (SELECT 1) TO '@/warehouse.out/out.csv'",
    "EXPLAIN DELETE FROM benchmark_run_fact",
    /* more than one */
    "SELECT 1; SELECT 2",
    "PIVOT benchmark_run_fact ON name USING count(*); SELECT 2",
    "PIVOT benchmark_run_fact ON name USING count(*); CREATE TEMP TABLE x (a INT)",
    "CREATE TEMP TYPE t AS ENUM (SELECT 'a'); SELECT 2",
    "PIVOT (FROM read_text('@/secret.csv')) ON content USING count(*)",
    "PIVOT '@/secret.csv' ON content USING count(*)",
    "SELECT 1; DROP TABLE benchmark_run_fact",
    "SELECT 1;; DROP TABLE benchmark_run_fact; --",
    "SELECT [1]) AS g(c0); DROP TABLE benchmark_run_fact; --",
    /* addresses, and insides of the engine */
    "SELECT * FROM arrow_scan(1, 2, 3)",
    "SELECT * FROM seq_scan()",
    "SELECT * FROM seq_scan('benchmark_run_fact')",
    "SELECT getenv('HOME')",
    /* what runs long, or makes much, within one value: no limit would end it */
    "SELECT levenshtein('a', 'b')",
    "SELECT \"Levenshtein\"('a', 'b')",
    "SELECT 'a'.levenshtein('b')",
    "SELECT DISTINCT ON (x) levenshtein(x, x) FROM (SELECT 'a' AS x)",
    "SELECT x, levenshtein(x, x) AS y, (1) FROM (SELECT 'a' AS x)",
    "SELECT damerau_levenshtein('a', 'b')",
    "SELECT editdist3('a', 'b')",
    "SELECT jaccard('a', 'b')",
    "SELECT jaro_winkler_similarity('a', 'b')",
    "SELECT repeat('x', 3)",
    "SELECT length(main.repeat('x', 3))",
    "SELECT lpad('x', 9, 'ab')",
    "SELECT rpad('x', 9, 'ab')",
    "SELECT format('{:>9}', 'x')",
    "SELECT printf('%9s', 'x')",
    "SELECT bar(1, 0, 9, 9)",
    "SELECT replace('aa', 'a', 'bb')",
    "SELECT regexp_replace('aa', 'a', 'bb', 'g')",
    "SELECT list_resize([1], 9)",
    "SELECT list_reduce([1, 2], lambda x, y: x + y)",
    "SELECT list_sum(range(9))",
    "SELECT 1, generate_series(1, 9)",
    "SELECT unnest(range(9))",
    "SELECT [1] IS DISTINCT FROM range(9)",
    "SELECT repeat('1', 9)::BIT",
    "SELECT bitstring('1', 9)",
    "SELECT bitstring_agg(range, 0, 9) FROM range(9)",
    "SELECT * FROM repeat('x', 9)",
    "SELECT * FROM test_all_types()",
};

static size_t files_in(const char *dir)
{
    size_t count = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    while (readdir(d) != NULL) {
        count++;
    }
    (void)closedir(d);
    return count;
}

static void put_file(const struct wh_room *room, const char *name)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", room->dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("secret\n", file);
    (void)fclose(file);
}

static void attacks_change_and_show_nothing(void **state)
{
    struct wh_room *room = *state;
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    char out[200];
    (void)snprintf(out, sizeof out, "%s/warehouse.out", room->dir);
    assert_int_equal(mkdir(out, 0700), 0);
    put_file(room, "secret.csv");
    wh_add_slices(w, 0, 10);
    size_t files = files_in(room->dir);
    for (size_t i = 0; i < sizeof ATTACKS / sizeof ATTACKS[0]; i++) {
        char sql[600];
        struct tc_error err = {0};
        size_t len = 0;
        for (const char *p = ATTACKS[i]; *p != '\0'; p++) {
            len +=
                (size_t)snprintf(sql + len, sizeof sql - len, "%.*s",
                                 *p == '@' ? (int)sizeof room->dir : 1, *p == '@' ? room->dir : p);
        }
        tc_status status = ask(w, sql, &err);
        if (status != TC_E_USAGE || err.message[0] == '\0') {
            fail_msg("%s: status %d, %s", sql, (int)status, err.message);
        }
        assert_int_equal(files_in(room->dir), files);
        assert_int_equal(files_in(out), 2);
    }
    assert_int_equal(wh_count(w, "SELECT count(*) FROM telemetry_slice_fact"), 10);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM duckdb_tables() WHERE NOT internal"),
                     TC_TABLE_COUNT + 5); /* slices and requests are two; the version, claims on
                                             runs and what is to be done about them have one */
    /* It is all still as it was told to be. */
    assert_int_equal(wh_count(w, "SELECT count(*) FROM duckdb_settings() WHERE "
                                 "(name = 'enable_external_access' AND value = 'false') OR "
                                 "(name = 'lock_configuration' AND value = 'true') OR "
                                 "(name = 'autoload_known_extensions' AND value = 'false') OR "
                                 "(name = 'autoinstall_known_extensions' AND value = 'false')"),
                     4);
    tc_warehouse_close(w);
}

/* Even our own statements reach no file elsewhere and change no setting. */
static void the_second_fence_holds_without_the_first(void **state)
{
    struct wh_room *room = *state;
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    put_file(room, "secret.csv");
    static const char *const sqls[] = {
        "SELECT * FROM read_text('%s/secret.csv')",
        "COPY (SELECT 1) TO '%s/out.csv'",
        "ATTACH '%s/other.db' AS other",
        "SET enable_external_access = true -- %s",
        "SET lock_configuration = false -- %s",
        "SET allowed_directories = ['%s/']",
    };
    for (size_t i = 0; i < sizeof sqls / sizeof sqls[0]; i++) {
        char sql[400];
        size_t rows = 0;
        struct tc_error err = {0};
        const char *at = strstr(sqls[i], "%s");
        (void)snprintf(sql, sizeof sql, "%.*s%s%s", (int)(at - sqls[i]), sqls[i], room->dir,
                       at + 2);
        struct tc_query query = {.sql = tc_slice_cstr(sql)};
        if (tc_warehouse_query(w, &query, ignore, &rows, NULL, &err) == TC_OK) {
            fail_msg("%s was allowed", sql);
        }
    }
    tc_warehouse_close(w);
}

static void questions_are_answered(void **state)
{
    static const char *const sqls[] = {
        "SELECT 1",
        "select count(*) from telemetry_slice_fact",
        "  \n-- which?\nSELECT 1;",
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 9) FROM t",
        "FROM telemetry_slice_fact SELECT run_id LIMIT 1",
        "VALUES (1), (2)",
        "TABLE benchmark_run_fact",
        "SHOW TABLES",
        "DESCRIBE telemetry_slice_fact",
        "SUMMARIZE telemetry_slice_fact",
        "PIVOT benchmark_run_fact ON name USING count(*) GROUP BY status;",
        "PIVOT benchmark_run_fact ON name IN ('a', 'b') USING count(*)",
        "FROM (PIVOT benchmark_run_fact ON name USING list(run_id))",
        "UNPIVOT benchmark_run_fact ON name, status",
        "FROM benchmark_run_fact SELECT run_id",
        "DESCRIBE benchmark_run_fact",
        "EXPLAIN SELECT * FROM telemetry_slice_fact",
        "(SELECT 1) UNION ALL (SELECT 2)",
        "SELECT query_text FROM published_number",
        "SELECT 'read_csv(''x'')', \"query\" FROM (SELECT 1 AS query)",
        "SELECT quantile_cont(mean, 0.5) OVER (PARTITION BY metric) FROM telemetry_slice_fact",
        "SELECT name FROM duckdb_settings() LIMIT 1",
        "WITH a(x) AS (VALUES (1)), b(y) AS MATERIALIZED (SELECT x FROM a) FROM a, b",
        "SELECT i FROM range(3) AS t(i) JOIN generate_series(1, 3) AS u(j) ON (i = j)",
        "SELECT metric, count(*) FILTER (WHERE mean > 0) FROM telemetry_slice_fact GROUP BY ALL",
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY mean) FROM telemetry_slice_fact",
        "SELECT mean::DECIMAL(18, 3), CAST(mean AS VARCHAR(9)) FROM telemetry_slice_fact",
        "SELECT median(mean), mode(metric), quantile_cont(mean, [0.5, 0.99]), stddev(mean) FROM "
        "telemetry_slice_fact WHERE metric IN ('a', 'b') AND NOT (mean IS NULL)",
        "SELECT row_number() OVER (ORDER BY mean), lag(mean) OVER (ORDER BY mean) FROM "
        "telemetry_slice_fact",
        "SELECT date_trunc('hour', now()), extract(year FROM now()), epoch_ms(now()::TIMESTAMP), "
        "time_bucket(INTERVAL (5) MINUTE, now()::TIMESTAMP), strftime(now(), '%Y')",
        "SELECT split_part(lower(trim(' A/b ')), '/', 1), substr('abc', 2), concat('a', 'b'), "
        "regexp_extract('a1', '[0-9]+'), coalesce(NULL, nullif(1, 2)), round(1.25, 1), greatest(1, "
        "2)",
        "SELECT list(range), string_agg(range::VARCHAR, ','), arg_max(range, -range) FROM range(9)",
    };
    struct tc_warehouse *w = wh_open(*state, TC_WAREHOUSE_WRITE);
    wh_add_slices(w, 0, 10);
    for (size_t i = 0; i < sizeof sqls / sizeof sqls[0]; i++) {
        struct tc_error err = {0};
        if (ask(w, sqls[i], &err) != TC_OK) {
            fail_msg("%s: %s", sqls[i], err.message);
        }
    }
    tc_warehouse_close(w);
}

static void they_have_no_room_for_long_values(void **state)
{
    enum { MOST = 64 << 10 };
    struct tc_warehouse *w = wh_open(*state, TC_WAREHOUSE_WRITE);
    struct tc_error err = {0};
    size_t rows = 0;
    char *large = malloc(MOST + 1);
    assert_non_null(large);
    memset(large, ' ', MOST + 1);
    memcpy(large, "SELECT 1", 8);
    struct tc_query query = {.sql = tc_slice_make(large, MOST), .untrusted = true};
    assert_int_equal(tc_warehouse_query(w, &query, ignore, &rows, NULL, &err), TC_OK);
    query.sql.len++;
    assert_int_equal(tc_warehouse_query(w, &query, ignore, &rows, NULL, &err), TC_E_USAGE);
    assert_non_null(strstr(err.message, "65536 bytes"));
    free(large);
    tc_warehouse_close(w);
}

static void the_files_are_ours_alone(void **state)
{
    const struct wh_room *room = *state;
    mode_t mask = umask(022);
    struct tc_warehouse *w = wh_open(*state, TC_WAREHOUSE_WRITE);
    wh_add_slices(w, 0, 10);
    static const char *const names[] = {"warehouse.duckdb", "warehouse.duckdb.wal"};
    for (size_t i = 0; i < 2; i++) {
        char path[300];
        struct stat st;
        (void)snprintf(path, sizeof path, "%s/%s", room->dir, names[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
    tc_warehouse_close(w);
    (void)umask(mask);
}

static void in_a_transaction_they_see_what_was_appended(void **state)
{
    struct tc_warehouse *w = wh_open(*state, TC_WAREHOUSE_WRITE);
    struct tc_error err = {0};
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    wh_append_slices(w, 0, 10);
    size_t rows = 0;
    struct tc_query query = {.sql = TC_LIT("SELECT * FROM telemetry_slice_fact"),
                             .untrusted = true};
    assert_int_equal(tc_warehouse_query(w, &query, ignore, &rows, NULL, &err), TC_OK);
    assert_int_equal(rows, 10);
    assert_int_equal(tc_warehouse_commit(w, &err), TC_OK);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM telemetry_slice_fact"), 10);
    tc_warehouse_close(w);
}

static void words_are_told_from_strings_and_comments(void **state)
{
    (void)state;
    static const struct {
        const char *sql;
        int end; /* -1: all of it */
        bool reads;
        const char *banned;
    } cases[] = {
        {"", -1, false, ""},
        {"SELECT 1", -1, true, ""},
        {"SELECT 1;x", 8, true, ""},
        {"SELECT ';'", -1, true, ""},
        {"SELECT 'it''s;';", 15, true, ""},
        {"SELECT \"a\"\";b\";", 14, true, ""},
        {"SELECT $1;", 9, true, ""},
        {"SELECT $$;$$;", 12, true, ""},
        {"SELECT $a$;$$;$a$;", 17, true, ""},
        {"SELECT $a$;", -1, true, ""},
        {"SELECT e'\\';';", 13, true, ""},
        {"SELECT 1 /* ; /* ; */ ; */;", 26, true, ""},
        {"SELECT 1 /* ;", -1, true, ""},
        {"SELECT 1 --;", -1, true, ""},
        {"SELECT 1 --;\n;", 13, true, ""},
        {"SELECT 'open", -1, true, ""},
        {"/**/select read_csv ( 1 )", -1, true, "read_csv"},
        {"select \"Force_Checkpoint\"()", -1, true, "Force_Checkpoint"},
        {"select read_csv, query", -1, true, ""},
        {"select 'glob'('x')", -1, true, ""},
        {"selects 1", -1, false, ""},
        {"'select' 1", -1, false, ""},
        {"\"select\" 1", -1, false, ""},
        {"EXPLAIN SELECT 1", -1, true, ""},
        {"EXPLAIN ANALYZE SELECT 1", -1, false, ""},
        {"EXPLAIN (FORMAT json) SELECT 1", -1, false, ""},
        {"SELECT range(3)", -1, true, "range"},
        {"FROM range(3)", -1, true, ""},
        {"FROM range(3) t(i)", -1, true, ""},
        {"SELECT (1) nosuch(i, 1)", -1, true, "nosuch"},
        {"SELECT DISTINCT ON (i) nosuch(i)", -1, true, "nosuch"},
        {"WITH a(x) AS (FROM b), b(y) AS NOT MATERIALIZED (FROM a) FROM a", -1, true, ""},
        {"SELECT a, nosuch(b) AS c", -1, true, "nosuch"},
        {"SELECT a, nosuch(b", -1, true, "nosuch"},
        {"EXPLAIN", -1, false, ""},
        {"(((", -1, true, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc__sql_look look;
        size_t len = strlen(cases[i].sql);
        /* Without room behind it, so that the sanitizer sees a step too far. */
        char *exact = malloc(len == 0 ? 1 : len);
        memcpy(exact, cases[i].sql, len);
        tc__sql_look(tc_slice_make(exact, len), &look);
        if (look.end != (cases[i].end < 0 ? len : (size_t)cases[i].end) ||
            look.reads != cases[i].reads ||
            !tc_slice_eq(look.banned, tc_slice_cstr(cases[i].banned))) {
            fail_msg("%s: end %zu, reads %d, banned %.*s", cases[i].sql, look.end, look.reads,
                     TC_FMT(look.banned));
        }
        free(exact);
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, wh_setup, wh_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(attacks_change_and_show_nothing),
        T(the_second_fence_holds_without_the_first),
        T(questions_are_answered),
        T(they_have_no_room_for_long_values),
        T(the_files_are_ours_alone),
        T(in_a_transaction_they_see_what_was_appended),
        cmocka_unit_test(words_are_told_from_strings_and_comments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
