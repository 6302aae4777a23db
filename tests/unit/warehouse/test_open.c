/* SPDX-License-Identifier: Apache-2.0 */
/* Opening: older, newer, locked, broken and missing databases; a writer that is killed; several
 * views. */
#include "support/warehouse_room.h"
#include "warehouse/duckdb/duckdb_priv.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SLICES "SELECT count(*) FROM telemetry_slice_fact"

static void expect_open(struct wh_room *room, enum tc_warehouse_mode mode, tc_status want,
                        const char *words)
{
    struct tc_warehouse_config config = wh_config(room, mode);
    struct tc_warehouse *w = NULL;
    struct tc_error err = {0};
    tc_status status = tc_warehouse_open(&config, &w, &err);
    if (status != want || strstr(err.message, words) == NULL) {
        fail_msg("status %d, message: %s", (int)status, err.message);
    }
    assert_null(w);
}

static void put_file(const struct wh_room *room, const void *bytes, size_t len)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/warehouse.duckdb", room->dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

/* ---- schemas ---- */

static const struct tc_column V1_A[] = {
    {"id", TC_COLUMN_TEXT, 1, "", ""},
    {"n", TC_COLUMN_INT, 1, "", ""},
};
static const struct tc_column V3_A[] = {
    {"id", TC_COLUMN_TEXT, 1, "", ""}, {"n", TC_COLUMN_INT, 1, "", ""},
    {"r", TC_COLUMN_REAL, 2, "", ""},  {"ok", TC_COLUMN_BOOL, 3, "", ""},
    {"at", TC_COLUMN_TIME, 3, "", ""},
};
static const struct tc_column V3_B[] = {{"key", TC_COLUMN_TEXT, 3, "", ""}};
static const struct tc_table_info V1_TABLES[] = {{"a", 1, "", V1_A, 2}};
static const struct tc_table_info V3_TABLES[] = {{"a", 1, "", V3_A, 5}, {"b", 3, "", V3_B, 1}};
static const struct tc__schema V1 = {1, V1_TABLES, 1};
static const struct tc__schema V3 = {3, V3_TABLES, 2};

static tc_status take_int(void *context, const struct tc_rows *rows)
{
    int64_t *out = context;
    if (rows->count > 0) {
        *out = rows->columns[0].cells[0].integer;
    }
    return TC_OK;
}

static int64_t ask(void *engine, const char *sql)
{
    int64_t value = -1;
    bool cut = false;
    struct tc_error err = {0};
    struct tc_query query = {.sql = tc_slice_cstr(sql)};
    if (tc__engine_duckdb.query(engine, &query, take_int, &value, &cut, &err) != TC_OK) {
        fail_msg("%s: %s", sql, err.message);
    }
    return value;
}

static void *open_schema(struct wh_room *room, const struct tc__schema *schema,
                         enum tc_warehouse_mode mode)
{
    struct tc_warehouse_config config = wh_config(room, mode);
    struct tc_error err = {0};
    void *engine = NULL;
    if (tc__duckdb_open_with(&config, schema, &engine, &err) != TC_OK) {
        fail_msg("open: %s", err.message);
    }
    return engine;
}

static void add_row(void *engine, const struct tc__schema *schema)
{
    struct tc_error err = {0};
    const struct tc_table_info *info = &schema->tables[0];
    struct tc_rows *rows = tc_rows_create_for(info->columns, info->column_count);
    assert_true(tc_rows_add(rows));
    assert_int_equal(tc_rows_text(rows, 0, TC_LIT("x")), TC_OK);
    tc_rows_int(rows, 1, 5);
    assert_int_equal(tc__engine_duckdb.begin(engine, &err), TC_OK);
    assert_int_equal(tc__engine_duckdb.append(engine, (enum tc_table)0, rows, &err), TC_OK);
    assert_int_equal(tc__engine_duckdb.commit(engine, &err), TC_OK);
    tc_rows_destroy(rows);
}

static void an_older_database_is_brought_up_to_date(void **state)
{
    struct wh_room *room = *state;
    void *engine = open_schema(room, &V1, TC_WAREHOUSE_WRITE);
    add_row(engine, &V1);
    tc__engine_duckdb.close(engine);
    engine = open_schema(room, &V3, TC_WAREHOUSE_WRITE);
    assert_int_equal(ask(engine, "SELECT max(version) FROM tracecore_schema"), 3);
    assert_int_equal(ask(engine, "SELECT count(*) FROM a WHERE n = 5 AND r IS NULL AND ok IS NULL"),
                     1);
    assert_int_equal(ask(engine, "SELECT count(*) FROM b"), 0);
    add_row(engine, &V3);
    assert_int_equal(ask(engine, "SELECT count(*) FROM a"), 2);
    tc__engine_duckdb.close(engine);
    engine = open_schema(room, &V3, TC_WAREHOUSE_READ);
    assert_int_equal(ask(engine, "SELECT count(*) FROM tracecore_schema"), 2);
    assert_int_equal(ask(engine, "SELECT count(*) FROM a"), 2);
    tc__engine_duckdb.close(engine);
}

static void reading_never_migrates(void **state)
{
    struct wh_room *room = *state;
    struct tc_warehouse_config config = wh_config(room, TC_WAREHOUSE_READ);
    struct tc_error err = {0};
    void *engine = open_schema(room, &V1, TC_WAREHOUSE_WRITE);
    tc__engine_duckdb.close(engine);
    assert_int_equal(tc__duckdb_open_with(&config, &V3, &engine, &err), TC_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "has schema version 1, this program reads 3"));
    assert_non_null(strstr(err.message, "open it once for writing"));
    engine = open_schema(room, &V1, TC_WAREHOUSE_READ);
    assert_int_equal(ask(engine, "SELECT count(*) FROM tracecore_schema"), 1);
    tc__engine_duckdb.close(engine);
}

static void a_newer_database_is_refused(void **state)
{
    struct wh_room *room = *state;
    struct tc_error err = {0};
    void *engine = open_schema(room, &V3, TC_WAREHOUSE_WRITE);
    tc__engine_duckdb.close(engine);
    for (int mode = TC_WAREHOUSE_READ; mode <= TC_WAREHOUSE_WRITE; mode++) {
        struct tc_warehouse_config config = wh_config(room, (enum tc_warehouse_mode)mode);
        assert_int_equal(tc__duckdb_open_with(&config, &V1, &engine, &err), TC_E_UNSUPPORTED);
        assert_non_null(strstr(err.message, "has schema version 3, this program knows up to 1"));
        assert_non_null(strstr(err.message, "use a newer tracecore"));
    }
}

/* A migration that cannot be done leaves the database as it was. */
static void a_failed_migration_changes_nothing(void **state)
{
    struct wh_room *room = *state;
    static const struct tc_column bad[] = {{"n", TC_COLUMN_INT, 1, "", ""},
                                           {"n", TC_COLUMN_INT, 2, "", ""}};
    static const struct tc_column fresh[] = {{"z", TC_COLUMN_INT, 2, "", ""}};
    static const struct tc_table_info tables[] = {{"c", 2, "", fresh, 1}, {"a", 1, "", bad, 2}};
    static const struct tc__schema broken = {2, tables, 2};
    struct tc_warehouse_config config = wh_config(room, TC_WAREHOUSE_WRITE);
    struct tc_error err = {0};
    void *engine = open_schema(room, &V1, TC_WAREHOUSE_WRITE);
    tc__engine_duckdb.close(engine);
    assert_int_equal(tc__duckdb_open_with(&config, &broken, &engine, &err), TC_E_IO);
    engine = open_schema(room, &V1, TC_WAREHOUSE_WRITE);
    assert_int_equal(ask(engine, "SELECT count(*) FROM duckdb_tables() WHERE NOT internal"), 2);
    assert_int_equal(ask(engine, "SELECT max(version) FROM tracecore_schema"), 1);
    tc__engine_duckdb.close(engine);
}

static void someone_elses_database_is_left_alone(void **state)
{
    struct wh_room *room = *state;
    struct tc_error err = {0};
    void *engine = open_schema(room, &V1, TC_WAREHOUSE_WRITE);
    assert_int_equal(tc__duckdb_run(engine, "DROP TABLE tracecore_schema", "", &err), TC_OK);
    tc__engine_duckdb.close(engine);
    expect_open(room, TC_WAREHOUSE_WRITE, TC_E_MALFORMED, "is no warehouse of tracecore");
}

/* ---- files ---- */

static void what_cannot_be_opened_is_said_clearly(void **state)
{
    struct wh_room *room = *state;
    expect_open(room, TC_WAREHOUSE_READ, TC_E_NOTFOUND, "there is no warehouse in");
    static const char text[] = "this is a note that somebody left here, and no database at all";
    char large[20000];
    memset(large, 'x', sizeof large);
    put_file(room, text, sizeof text);
    expect_open(room, TC_WAREHOUSE_READ, TC_E_MALFORMED, "is not a database");
    expect_open(room, TC_WAREHOUSE_WRITE, TC_E_MALFORMED, "is not a database");
    put_file(room, large, sizeof large);
    expect_open(room, TC_WAREHOUSE_WRITE, TC_E_MALFORMED, "is not a database");
    char path[300];
    (void)snprintf(path, sizeof path, "%s/warehouse.duckdb", room->dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    expect_open(room, TC_WAREHOUSE_WRITE, TC_E_IO, "it is not a file");
    assert_int_equal(rmdir(path), 0);

    struct wh_room deep = {.threads = 1};
    (void)snprintf(deep.dir, sizeof deep.dir, "%.80s/none/deeper", room->dir);
    expect_open(&deep, TC_WAREHOUSE_READ, TC_E_NOTFOUND, "there is no warehouse in");
    expect_open(&deep, TC_WAREHOUSE_WRITE, TC_E_IO, "cannot make the data directory");
    deep.dir[0] = '\0';
    expect_open(&deep, TC_WAREHOUSE_WRITE, TC_E_USAGE, "no data directory");
}

/* A database with a hole in it does not take the program down. */
static void a_damaged_database_is_an_error(void **state)
{
    struct wh_room *room = *state;
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    wh_add_slices(w, 0, 200000);
    tc_warehouse_close(w);
    char path[300];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/warehouse.duckdb", room->dir);
    assert_int_equal(stat(path, &st), 0);
    /* The head that says where everything is. */
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, 4096, SEEK_SET), 0);
    for (int i = 0; i < 8192; i++) {
        (void)fputc(0x5a, file);
    }
    assert_int_equal(fclose(file), 0);
    struct tc_warehouse_config config = wh_config(room, TC_WAREHOUSE_READ);
    struct tc_error err = {0};
    tc_status status = tc_warehouse_open(&config, &w, &err);
    assert_true(status == TC_E_IO || status == TC_E_MALFORMED);
    assert_non_null(strstr(err.message, "warehouse.duckdb"));
    /* And one that ends too early. */
    assert_int_equal(truncate(path, st.st_size / 2), 0);
    assert_int_not_equal(tc_warehouse_open(&config, &w, &err), TC_OK);
}

static void odd_paths_are_taken_literally(void **state)
{
    struct wh_room *room = *state;
    struct wh_room odd = {.threads = 1};
    (void)snprintf(odd.dir, sizeof odd.dir, "%.80s/it's [a] \\ \"dir\", \xc3\xbc", room->dir);
    struct tc_warehouse *w = wh_open(&odd, TC_WAREHOUSE_WRITE);
    char path[300];
    uint64_t rows = 0;
    struct tc_error err = {0};
    wh_add_slices(w, 0, 10);
    (void)snprintf(path, sizeof path, "%s/out.parquet", odd.dir);
    if (tc_warehouse_parquet(w, TC_TABLE_SLICE, 0, INT64_MIN, path, &rows, &err) != TC_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(rows, 10);
    tc_warehouse_close(w);
}

static void a_file_without_permission_is_an_error(void **state)
{
    struct wh_room *room = *state;
    if (geteuid() == 0) {
        skip(); /* root may read anything */
    }
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    tc_warehouse_close(w);
    char path[300];
    (void)snprintf(path, sizeof path, "%s/warehouse.duckdb", room->dir);
    assert_int_equal(chmod(path, 0400), 0);
    expect_open(room, TC_WAREHOUSE_WRITE, TC_E_IO, "Permission denied");
    w = wh_open(room, TC_WAREHOUSE_READ);
    tc_warehouse_close(w);
    assert_int_equal(chmod(path, 0), 0);
    expect_open(room, TC_WAREHOUSE_READ, TC_E_IO, "Permission denied");
}

/* ---- other processes ---- */

/* Starts a child that opens the warehouse, does work, tells so, and waits to be killed. */
static pid_t start_child(struct wh_room *room, void (*work)(struct tc_warehouse *w))
{
    int pipes[2];
    char byte = 0;
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
        work(w);
        (void)!write(pipes[1], "r", 1);
        for (;;) {
            (void)pause();
        }
    }
    (void)close(pipes[1]);
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    (void)close(pipes[0]);
    return pid;
}

static void end_child(pid_t pid)
{
    int status = 0;
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

static void do_nothing(struct tc_warehouse *w)
{
    (void)w;
}

static void append_without_commit(struct tc_warehouse *w)
{
    struct tc_error err = {0};
    wh_add_slices(w, 0, 1000);
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    wh_append_slices(w, 1000, 300000);
}

static void another_process_is_named_and_waited_for(void **state)
{
    struct wh_room *room = *state;
    char words[64];
    pid_t pid = start_child(room, do_nothing);
    (void)snprintf(words, sizeof words, "is in use by process %ld", (long)pid);
    expect_open(room, TC_WAREHOUSE_WRITE, TC_E_IO, words);
    expect_open(room, TC_WAREHOUSE_READ, TC_E_IO, words);
    struct tc_warehouse_config config = wh_config(room, TC_WAREHOUSE_READ);
    struct tc_warehouse *w = NULL;
    struct tc_error err = {0};
    config.wait_ns = 30000000;
    assert_int_equal(tc_warehouse_open(&config, &w, &err), TC_E_IO);
    /* One that goes away meanwhile. */
    pid_t killer = fork();
    if (killer == 0) {
        (void)usleep(100000);
        (void)kill(pid, SIGKILL);
        _exit(0);
    }
    config.wait_ns = INT64_C(60000000000);
    if (tc_warehouse_open(&config, &w, &err) != TC_OK) {
        fail_msg("%s", err.message);
    }
    tc_warehouse_close(w);
    assert_int_equal(waitpid(killer, NULL, 0), killer);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_killed_writer_leaves_what_was_committed(void **state)
{
    struct wh_room *room = *state;
    pid_t pid = start_child(room, append_without_commit);
    end_child(pid);
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_READ);
    assert_int_equal(wh_count(w, SLICES), 1000);
    tc_warehouse_close(w);
    w = wh_open(room, TC_WAREHOUSE_WRITE);
    assert_int_equal(wh_count(w, SLICES), 1000);
    wh_add_slices(w, 1000, 1000);
    tc_warehouse_close(w);
    w = wh_open(room, TC_WAREHOUSE_READ);
    assert_int_equal(wh_count(w, SLICES), 2000);
    tc_warehouse_close(w);
}

/* ---- several views ---- */

struct writer {
    struct tc_warehouse *w;
    size_t first;
};

static void *write_some(void *context)
{
    struct writer *writer = context;
    for (size_t i = 0; i < 10; i++) {
        wh_add_slices(writer->w, writer->first + i * 100, 100);
        assert_true(wh_count(writer->w, SLICES) >= (int64_t)(i + 1) * 100);
    }
    return NULL;
}

static int64_t threads_of(const struct tc_warehouse_config *config)
{
    struct tc_warehouse *w = NULL;
    struct tc_error err = {0};
    assert_int_equal(tc_warehouse_open(config, &w, &err), TC_OK);
    int64_t threads = wh_count(w, "SELECT CAST(current_setting('threads') AS BIGINT)");
    tc_warehouse_close(w);
    return threads;
}

static void a_small_database_has_one_thread(void **state)
{
    struct wh_room *room = *state;
    char path[200];
    int64_t cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct tc_warehouse_config writes = wh_config(room, TC_WAREHOUSE_WRITE);
    writes.threads = 0;
    struct tc_warehouse_config few = writes;
    few.few_rows = true;
    struct tc_warehouse_config reads = writes;
    reads.mode = TC_WAREHOUSE_READ;
    assert_int_equal(threads_of(&few), 1);
    assert_int_equal(threads_of(&writes), cores);
    assert_int_equal(threads_of(&reads), 1);
    reads.threads = 2;
    assert_int_equal(threads_of(&reads), 2);
    reads.threads = 0;
    /* DuckDB does not mind what is behind its last block. */
    (void)snprintf(path, sizeof path, "%s/warehouse.duckdb", room->dir);
    assert_int_equal(truncate(path, 9 << 20), 0);
    assert_int_equal(threads_of(&reads), cores);
    assert_int_equal(threads_of(&few), cores);
}

static void two_threads_write_through_views_of_their_own(void **state)
{
    struct wh_room *room = *state;
    struct tc_error err = {0};
    struct writer writers[2] = {{wh_open(room, TC_WAREHOUSE_WRITE), 0}, {NULL, 100000}};
    pthread_t threads[2];
    assert_int_equal(tc_warehouse_share(writers[0].w, &writers[1].w, &err), TC_OK);
    assert_string_equal(tc_warehouse_engine(writers[0].w), tc_warehouse_engine(writers[1].w));
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, write_some, &writers[i]), 0);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(wh_count(writers[0].w, SLICES), 2000);
    /* What one has begun, the other does not see. */
    assert_int_equal(tc_warehouse_begin(writers[0].w, &err), TC_OK);
    wh_append_slices(writers[0].w, 0, 10);
    assert_int_equal(wh_count(writers[0].w, SLICES), 2010);
    assert_int_equal(wh_count(writers[1].w, SLICES), 2000);
    tc_warehouse_rollback(writers[0].w);
    tc_warehouse_close(writers[1].w);
    assert_int_equal(wh_count(writers[0].w, SLICES), 2000);
    tc_warehouse_close(writers[0].w);
}

/* The locks are of the process: without care a second open would destroy the file. */
static void opened_twice_in_one_process_it_is_one_database(void **state)
{
    struct wh_room *room = *state;
    struct tc_warehouse_config config = wh_config(room, TC_WAREHOUSE_WRITE);
    struct tc_error err = {0};
    struct tc_warehouse *first = wh_open(room, TC_WAREHOUSE_WRITE);
    struct tc_warehouse *second = NULL;
    wh_add_slices(first, 0, 10);
    assert_int_equal(tc_warehouse_open(&config, &second, &err), TC_OK);
    wh_add_slices(second, 10, 10);
    assert_int_equal(wh_count(first, SLICES), 20);
    tc_warehouse_close(second);
    config.mode = TC_WAREHOUSE_READ;
    assert_int_equal(tc_warehouse_open(&config, &second, &err), TC_E_IO);
    assert_non_null(strstr(err.message, "is open in this process already"));
    wh_add_slices(first, 20, 10);
    tc_warehouse_close(first);
    first = wh_open(room, TC_WAREHOUSE_READ);
    assert_int_equal(wh_count(first, SLICES), 30);
    tc_warehouse_close(first);
}

/* ---- the library ---- */

static void check_library(struct wh_room *room, const char *path, const char *words)
{
    int status = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        /* Nothing is loaded yet in this process: this test runs first. */
        struct tc_warehouse_config config = wh_config(room, TC_WAREHOUSE_WRITE);
        struct tc_warehouse *w = NULL;
        struct tc_error err = {0};
        (void)setenv("TRACECORE_DUCKDB", path, 1);
        bool fine = tc_warehouse_open(&config, &w, &err) == TC_E_UNSUPPORTED &&
                    strstr(err.message, words) != NULL;
        if (!fine) {
            (void)fprintf(stderr, "%s: %s\n", path, err.message);
        }
        _exit(fine ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void a_library_that_is_none_is_refused(void **state)
{
    check_library(*state, "/nowhere/libduckdb.so", "$TRACECORE_DUCKDB: /nowhere/libduckdb.so");
    check_library(*state, "libm.so.6", "is of version ?, and 1.x is wanted");
}

#define T(f) cmocka_unit_test_setup_teardown(f, wh_setup_parallel, wh_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_library_that_is_none_is_refused),
        T(an_older_database_is_brought_up_to_date),
        T(reading_never_migrates),
        T(a_newer_database_is_refused),
        T(a_failed_migration_changes_nothing),
        T(someone_elses_database_is_left_alone),
        T(what_cannot_be_opened_is_said_clearly),
        T(a_damaged_database_is_an_error),
        T(odd_paths_are_taken_literally),
        T(a_file_without_permission_is_an_error),
        T(another_process_is_named_and_waited_for),
        T(a_killed_writer_leaves_what_was_committed),
        T(a_small_database_has_one_thread),
        T(two_threads_write_through_views_of_their_own),
        T(opened_twice_in_one_process_it_is_one_database),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
