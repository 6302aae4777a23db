/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, closing, transactions. */
#include "base/clock.h"
#include "warehouse/duckdb/scan_priv.h"
#include "warehouse/duckdb/sql_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What queries may write to disk when they do not fit into memory. */
#define TEMP_BYTES_MAX "16GiB"
/*
 * Scopes that a query asks for, up to which DuckDB looks at each of them to leave out row groups
 * without any. Beyond it looks at the lowest and the highest, which are far apart when many runs
 * have the same point. Looking at 60,000 takes longer than what it saves.
 */
#define JOIN_KEYS_MAX "4096"
/* The three headers that a database begins with. */
#define HEADERS_BYTES (3 * 4096)
#define RETRY_FIRST_NS (10 * TC_SECOND / 1000)
#define RETRY_MAX_NS (TC_SECOND / 4)
/* A file that is being made is longer than its headers after so long. */
#define MAKING_NS (3 * TC_SECOND)
/* A database up to this size is worked on by one thread. */
#define SMALL_BYTES ((off_t)8 << 20)

tc_status tc__duckdb_fail(struct tc_error *err, tc_status status, const char *what,
                          const char *message)
{
    struct tc_slice rest;
    struct tc_slice line = tc_slice_cut(
        tc_slice_cstr(message == NULL ? tc_status_text(status) : message), '\n', &rest);
    return tc_fail(err, status, 0, "%s%s%.*s", what, what[0] == '\0' ? "" : ": ", TC_FMT(line));
}

const struct tc__duckdb_type tc__duckdb_types[] = {
    [TC_COLUMN_TEXT] = {DUCKDB_TYPE_VARCHAR, "VARCHAR"},
    [TC_COLUMN_INT] = {DUCKDB_TYPE_BIGINT, "BIGINT"},
    [TC_COLUMN_REAL] = {DUCKDB_TYPE_DOUBLE, "DOUBLE"},
    [TC_COLUMN_BOOL] = {DUCKDB_TYPE_BOOLEAN, "BOOLEAN"},
    [TC_COLUMN_TIME] = {DUCKDB_TYPE_TIMESTAMP, "TIMESTAMP"},
    [TC__COLUMN_UUID] = {DUCKDB_TYPE_UUID, "UUID"},
};

tc_status tc__duckdb_run(struct tc__duckdb *d, const char *sql, const char *what,
                         struct tc_error *err)
{
    duckdb_result result;
    tc_status status = TC_OK;
    if (d->api->query(d->connection, sql, &result) != DuckDBSuccess) {
        status = tc__duckdb_fail(err, TC_E_IO, what, d->api->result_error(&result));
    }
    d->api->destroy_result(&result);
    return status;
}

tc_status tc__duckdb_take_int(void *context, const struct tc_rows *rows)
{
    int64_t *out = context;
    if (rows->count > 0 && rows->column_count > 0 && rows->columns[0].type == TC_COLUMN_INT &&
        !tc_rows_is_null(rows, 0, 0)) {
        *out = rows->columns[0].cells[0].integer;
    }
    return TC_OK;
}

tc_status tc__duckdb_ask(struct tc__duckdb *d, struct tc_slice sql, int64_t *out,
                         struct tc_error *err)
{
    struct tc_query query = {.sql = sql};
    bool cut = false;
    return tc__duckdb_query(d, &query, tc__duckdb_take_int, out, &cut, err);
}

/* ---- opening ---- */

/* Of a small database (path NULL: none that is kept) each table is one task or two, and a second
 * thread only costs: that it is woken, and that the first waits in a loop while it has the task. */
static unsigned thread_count(const struct tc_warehouse_config *config, const char *path)
{
    struct stat st;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    bool is_small = path != NULL && (stat(path, &st) != 0 || st.st_size <= SMALL_BYTES);
    if (config->threads > 0) {
        return config->threads;
    }
    bool is_little = config->mode == TC_WAREHOUSE_READ || config->few_rows;
    return cores <= 0 || (is_small && is_little) ? 1 : (unsigned)cores;
}

/*
 * Of a database in memory, whose plans say what has to be put into it: they have to show all
 * filters, also of tables that are empty yet, and each table once.
 */
#define SCRATCH_WITHOUT "statistics_propagation,late_materialization"
#define SCRATCH_PATH ":memory:"

static tc_status make_config(const struct tc__duckdb_api *api,
                             const struct tc_warehouse_config *config, const char *path,
                             duckdb_config *out, struct tc_error *err)
{
    char memory[32];
    char threads[16];
    char temp[TC__DUCKDB_PATH_MAX + 16];
    bool scratch = path == NULL;
    size_t bytes = config->memory_bytes > 0 ? config->memory_bytes : TC_WAREHOUSE_MEMORY_DEFAULT;
    (void)snprintf(memory, sizeof memory, "%zuKiB", bytes / 1024);
    (void)snprintf(threads, sizeof threads, "%u", thread_count(config, path));
    (void)snprintf(temp, sizeof temp, "%s/" TC__DUCKDB_TEMP_DIR, config->data_dir);
    const char *const options[][2] = {
        {"access_mode", config->mode == TC_WAREHOUSE_READ && !scratch ? "READ_ONLY" : "READ_WRITE"},
        {"memory_limit", memory},
        {"threads", threads},
        {"temp_directory", temp},
        {"max_temp_directory_size", TEMP_BYTES_MAX},
        {"autoinstall_known_extensions", "false"},
        {"autoload_known_extensions", "false"},
        {"allow_community_extensions", "false"},
        {"allow_persistent_secrets", "false"},
        {"storage_compatibility_version", scratch ? "latest" : "v1.4.0"},
        {"preserve_insertion_order", "false"}, /* else one thread inserts */
        {"dynamic_or_filter_threshold", JOIN_KEYS_MAX},
        {"disabled_optimizers", scratch ? SCRATCH_WITHOUT : ""},
    };
    duckdb_config made = NULL;
    if (api->create_config(&made) != DuckDBSuccess) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for DuckDB's settings");
    }
    for (size_t i = 0; i < TC_COUNT(options); i++) {
        if (api->set_config(made, options[i][0], options[i][1]) != DuckDBSuccess) {
            api->destroy_config(&made);
            return tc_fail(err, TC_E_UNSUPPORTED, 0, "DuckDB does not take %s = %s", options[i][0],
                           options[i][1]);
        }
    }
    *out = made;
    return TC_OK;
}

static void sleep_ns(int64_t ns)
{
    struct timespec t = tc_timespec(ns);
    (void)nanosleep(&t, NULL);
}

static bool says(const char *message, const char *words)
{
    return message != NULL && strstr(message, words) != NULL;
}

/* The process that has it, from "(PID 123)" in DuckDB's message; 0 when it does not say. */
static uint64_t holder_of(const char *message)
{
    uint64_t pid = 0;
    const char *at = message == NULL ? NULL : strstr(message, "(PID ");
    if (at != NULL) {
        (void)tc_slice_u64(tc_slice_cstr(at + strlen("(PID ")), &pid);
    }
    return pid;
}

/* Why a database could not be opened, in our words where we know better. */
static tc_status explain(const char *path, const char *message, struct tc_error *err)
{
    if (says(message, "Could not set lock")) {
        uint64_t pid = holder_of(message);
        char who[48] = "another process";
        if (pid != 0) {
            (void)snprintf(who, sizeof who, "process %llu", (unsigned long long)pid);
        }
        return tc_fail(err, TC_E_IO, 0, "%s is in use by %s; try again when it is done", path, who);
    }
    /* Told by the cache of instances: for reading here, for writing there. */
    if (says(message, "different configuration")) {
        return tc_fail(err, TC_E_IO, 0, "%s is open in this process already, otherwise", path);
    }
    if (says(message, "not a valid DuckDB database file")) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "%s is not a database; move it away to begin a new one", path);
    }
    bool is_damaged = says(message, "Could not read enough bytes") || says(message, "orrupt") ||
                      says(message, "checksum") || says(message, "erializ");
    return tc__duckdb_fail(err, is_damaged ? TC_E_MALFORMED : TC_E_IO, path, message);
}

/* Whether the file is so short, and so new, that another process may just be making it. */
static bool is_being_made(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_size < HEADERS_BYTES &&
           tc_wall_ns() - st.st_mtim.tv_sec * TC_SECOND < MAKING_NS;
}

/* Opens the file, waiting for another process that has it. */
static tc_status open_database(const struct tc__duckdb_api *api, const char *path,
                               duckdb_config options, int64_t wait_ns, duckdb_database *out,
                               struct tc_error *err)
{
    int64_t begun_ns = tc_mono_ns();
    int64_t pause_ns = RETRY_FIRST_NS;
    for (;;) {
        char *message = NULL;
        if (api->get_or_create_from_cache(api->cache, path, out, options, &message) ==
            DuckDBSuccess) {
            return TC_OK;
        }
        int64_t left_ns = wait_ns - (tc_mono_ns() - begun_ns);
        bool waits = says(message, "Could not set lock") ||
                     (says(message, "not a valid DuckDB database file") && is_being_made(path));
        if (!waits || left_ns <= 0) {
            tc_status status = explain(path, message, err);
            api->free(message);
            return status;
        }
        api->free(message);
        sleep_ns(pause_ns < left_ns ? pause_ns : left_ns);
        pause_ns = pause_ns * 2 < RETRY_MAX_NS ? pause_ns * 2 : RETRY_MAX_NS;
    }
}

/* The folder and the file before DuckDB sees them: its own messages say less. */
static tc_status look_at_files(const struct tc_warehouse_config *config, const char *path,
                               struct tc_error *err)
{
    struct stat st;
    if (config->mode == TC_WAREHOUSE_WRITE && mkdir(config->data_dir, 0700) != 0 &&
        errno != EEXIST) {
        return tc_fail(err, TC_E_IO, 0, "cannot make the data directory %s: %s", config->data_dir,
                       strerror(errno));
    }
    bool there = stat(path, &st) == 0;
    if (!there && errno != ENOENT && errno != ENOTDIR) {
        return tc_fail(err, TC_E_IO, 0, "cannot open %s: %s", path, strerror(errno));
    }
    if (!there && config->mode == TC_WAREHOUSE_READ) {
        return tc_fail(err, TC_E_NOTFOUND, 0,
                       "there is no warehouse in %s yet: nothing was added to it",
                       config->data_dir);
    }
    int how = config->mode == TC_WAREHOUSE_READ ? R_OK : R_OK | W_OK;
    if (there && (!S_ISREG(st.st_mode) || access(path, how) != 0)) {
        return tc_fail(err, TC_E_IO, 0, "cannot open %s: %s", path,
                       S_ISREG(st.st_mode) ? strerror(errno) : "it is not a file");
    }
    return TC_OK;
}

/*
 * From here on SQL reaches no file but those in the out folder, and no setting changes. In this
 * order, for each bars the one before it.
 */
static tc_status lock(struct tc__duckdb *d, struct tc_error *err)
{
    char sql[TC__DUCKDB_PATH_MAX * 2 + 64];
    struct tc_buf b = tc_buf_make(sql, sizeof sql);
    struct tc_error ignored;
    (void)tc_format(&b, "SET allowed_directories = ['{}/" TC__DUCKDB_OUT_DIR "/']",
                    tc__sql_quoted(tc_slice_cstr(d->base->data_dir)));
    tc_buf_char(&b, '\0');
    if (b.overflowed) {
        return tc_fail(err, TC_E_LIMIT, 0, "the path of the data directory is too long");
    }
    /* Times are UTC; a DuckDB without time zones does not know the setting, and needs none. */
    (void)!tc__duckdb_run(d, "SET GLOBAL TimeZone = 'UTC'", "", &ignored);
    TC_TRY(tc__duckdb_run(d, sql, "DuckDB cannot be locked", err));
    TC_TRY(tc__duckdb_run(d, "SET enable_external_access = false", "DuckDB cannot be locked", err));
    return tc__duckdb_run(d, "SET lock_configuration = true", "DuckDB cannot be locked", err);
}

/*
 * Our functions, then the lock. A second open in the process is the same database: it is locked,
 * and whoever locked it has registered them. To look for them among DuckDB's, which are described
 * one by one for that, took a quarter of the time of an open.
 */
static tc_status prepare(struct tc__duckdb *d, bool writes, struct tc_error *err)
{
    int64_t locked = 0;
    TC_TRY(tc__duckdb_ask(d, TC_LIT("SELECT CAST(current_setting('lock_configuration') AS BIGINT)"),
                          &locked, err));
    if (locked != 0) {
        return TC_OK;
    }
    TC_TRY(tc__id_text_register(d, err));
    if (writes) {
        TC_TRY(tc__scan_register(d, err));
    }
    return lock(d, err);
}

static void drop_base(struct tc__duckdb_base *base)
{
    if (atomic_fetch_sub(&base->references, 1) == 1) {
        base->api->close(&base->database);
        (void)pthread_mutex_destroy(&base->join_lock);
        free(base);
    }
}

/* Another connection. Takes a reference of base, also when it fails. */
static tc_status connect_to(struct tc__duckdb_base *base, struct tc__duckdb **out,
                            struct tc_error *err)
{
    struct tc__duckdb *d = calloc(1, sizeof *d);
    if (d != NULL && base->api->connect(base->database, &d->connection) != DuckDBSuccess) {
        free(d);
        d = NULL;
    }
    if (d == NULL) {
        drop_base(base);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a connection to the warehouse");
    }
    d->base = base;
    d->api = base->api;
    *out = d;
    return TC_OK;
}

static void close_duckdb(void *engine)
{
    struct tc__duckdb *d = engine;
    tc__duckdb_free_lanes(d);
    d->api->disconnect(&d->connection);
    drop_base(d->base);
    free(d);
}

static tc_status open_base(const struct tc_warehouse_config *config,
                           const struct tc__schema *schema, bool scratch,
                           struct tc__duckdb_base *base, struct tc_error *err)
{
    char path[TC__DUCKDB_PATH_MAX + 32];
    duckdb_config options = NULL;
    TC_TRY(tc__duckdb_load(&base->api, err));
    if (snprintf(base->data_dir, sizeof base->data_dir, "%s", config->data_dir) >=
        (int)sizeof base->data_dir) {
        return tc_fail(err, TC_E_LIMIT, 0, "the path of the data directory is too long");
    }
    (void)snprintf(path, sizeof path, "%s/" TC__DUCKDB_FILE, config->data_dir);
    if (scratch) {
        (void)snprintf(path, sizeof path, SCRATCH_PATH);
    } else {
        TC_TRY(look_at_files(config, path, err));
    }
    TC_TRY(make_config(base->api, config, scratch ? NULL : path, &options, err));
    bool there = scratch || access(path, F_OK) == 0;
    tc_status status =
        open_database(base->api, path, options, config->wait_ns, &base->database, err);
    if (status == TC_OK && !there) {
        (void)!chmod(path, 0600); /* DuckDB makes it as the umask says */
    }
    base->api->destroy_config(&options);
    const char *version = base->api->library_version();
    (void)snprintf(base->description, sizeof base->description, "duckdb %s",
                   version[0] == 'v' ? version + 1 : version);
    base->schema = schema;
    base->is_own = config->own;
    base->is_scratch = scratch;
    tc__split_init(&base->splits[TC__SPLIT_SLICE], &tc__split_slices, schema);
    tc__split_init(&base->splits[TC__SPLIT_REQUEST], &tc__split_requests, schema);
    base->has_runs = schema->table_count > TC_TABLE_RUN_SCOPE;
    if (base->has_runs) {
        base->verdicts = schema->tables[TC_TABLE_VERDICT];
        base->verdicts.name = tc__join_stored(TC_TABLE_VERDICT, base->verdicts.name);
    }
    (void)pthread_mutex_init(&base->join_lock, NULL);
    atomic_init(&base->references, 1);
    return status;
}

static tc_status open_any(const struct tc_warehouse_config *config, const struct tc__schema *schema,
                          bool scratch, void **out, struct tc_error *err)
{
    bool writes = scratch || config->mode == TC_WAREHOUSE_WRITE;
    struct tc__duckdb_base *base = calloc(1, sizeof *base);
    struct tc__duckdb *d = NULL;
    if (base == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to open the warehouse");
    }
    tc_status status = open_base(config, schema, scratch, base, err);
    if (status != TC_OK) {
        free(base);
        return status;
    }
    TC_TRY(connect_to(base, &d, err));
    status = prepare(d, writes, err);
    if (status == TC_OK) {
        status = tc__duckdb_migrate(d, writes ? TC_WAREHOUSE_WRITE : TC_WAREHOUSE_READ, err);
    }
    /* Here nobody else writes yet; while the daemon runs, somebody may. */
    if (status == TC_OK && config->own && config->mode == TC_WAREHOUSE_WRITE) {
        status = tc__scopes_sweep(d, err);
    }
    if (status == TC_OK && config->mode == TC_WAREHOUSE_WRITE && base->has_runs) {
        status = tc__join_settle_left(d, err);
    }
    if (status != TC_OK) {
        close_duckdb(d);
        return status;
    }
    *out = d;
    return TC_OK;
}

tc_status tc__duckdb_open_with(const struct tc_warehouse_config *config,
                               const struct tc__schema *schema, void **out, struct tc_error *err)
{
    return open_any(config, schema, false, out, err);
}

tc_status tc__duckdb_open_scratch(const struct tc_warehouse_config *config, void **out,
                                  struct tc_error *err)
{
    return open_any(config, &tc__schema, true, out, err);
}

static tc_status open_duckdb(const struct tc_warehouse_config *config, void **out,
                             struct tc_error *err)
{
    tc_status status = tc__duckdb_open_with(config, &tc__schema, out, err);
    tc__duckdb_rest(); /* much of the library is needed once, to start it */
    return status;
}

static tc_status share(void *engine, void **out, struct tc_error *err)
{
    struct tc__duckdb *d = engine;
    struct tc__duckdb *other = NULL;
    atomic_fetch_add(&d->base->references, 1);
    TC_TRY(connect_to(d->base, &other, err));
    *out = other;
    return TC_OK;
}

static const char *describe(const void *engine)
{
    const struct tc__duckdb *d = engine;
    return d->base->description;
}

/* ---- transactions ---- */

static tc_status begin(void *engine, struct tc_error *err)
{
    struct tc__duckdb *d = engine;
    TC_TRY(tc__duckdb_run(d, "BEGIN TRANSACTION", "cannot begin to write", err));
    d->in_transaction = true;
    d->has_forgotten = false;
    tc__join_begin(&d->join);
    return TC_OK;
}

static void rollback(void *engine)
{
    struct tc__duckdb *d = engine;
    struct tc_error ignored;
    /* First, while there is a transaction for what they still hold. */
    (void)!tc__duckdb_end_appends(d, &ignored);
    (void)!tc__duckdb_run(d, "ROLLBACK", "", &ignored);
    for (size_t i = 0; i < TC__SPLITS; i++) {
        tc__scopes_forget(&d->writers[i].scopes);
    }
    tc__join_begin(&d->join);
    d->in_transaction = false;
}

/* DuckDB makes the log anew after each checkpoint, as the umask says: it is read by as many as the
 * database is. */
static void close_log_to_others(const struct tc__duckdb *d)
{
    char path[TC__DUCKDB_PATH_MAX + 32];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/" TC__DUCKDB_FILE, d->base->data_dir);
    if (stat(path, &st) == 0) {
        (void)snprintf(path, sizeof path, "%s/" TC__DUCKDB_FILE ".wal", d->base->data_dir);
        (void)!chmod(path, st.st_mode & 0666); /* there may be none */
    }
}

static tc_status commit(void *engine, struct tc_error *err)
{
    struct tc__duckdb *d = engine;
    tc_status status = tc__join_flush(d, err);
    status = status == TC_OK ? tc__duckdb_end_appends(d, err) : status;
    if (status == TC_OK && d->has_forgotten && !d->base->is_own &&
        atomic_load(&d->base->references) == 1) {
        status = tc__scopes_sweep(d, err);
    }
    if (status != TC_OK) {
        rollback(d);
        return status;
    }
    status = tc__duckdb_run(d, "COMMIT", "cannot commit", err);
    if (status != TC_OK) {
        rollback(d);
    }
    d->in_transaction = false;
    /* What was to be written is. That this failed is told all the same: a commit that fails leaves
     * DuckDB unfit to go on. What is left stays noted. */
    if (status == TC_OK && d->join.is_any) {
        status = tc__join_settle(d, err);
        tc__join_begin(&d->join);
    }
    close_log_to_others(d);
    return status;
}

const struct tc__engine tc__engine_duckdb = {
    .name = "duckdb",
    .open = open_duckdb,
    .close = close_duckdb,
    .share = share,
    .describe = describe,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .append = tc__duckdb_append,
    .forget = tc__duckdb_forget,
    .query = tc__duckdb_query,
    .interrupt = tc__duckdb_interrupt,
    .rest = tc__duckdb_rest,
    .parquet = tc__duckdb_parquet,
};
