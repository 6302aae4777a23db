/* SPDX-License-Identifier: Apache-2.0 */
/* Queries: checked, bound, run as a stream, and given on as rows. */
#include "base/assert.h"
#include "base/time.h"
#include "warehouse/duckdb/duckdb_priv.h"
#include "warehouse/duckdb/sql_priv.h"
#include "warehouse/duckdb/types_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SQL_MAX ((size_t)4 << 20)
/* What is not ours has no room for long values. */
#define UNTRUSTED_SQL_MAX ((size_t)64 << 10)
#define COLUMNS_MAX 1024
/* Between looks whether another thread is done. */
#define PAUSE_MIN_NS 20000L
#define PAUSE_MAX_NS 1000000L

/* A query on its way. Everything that end_job releases. */
struct job {
    struct tc__duckdb *d;
    const struct tc_query *query;
    struct tc_error *err;
    struct tc__sql_look look;
    char *sql; /* with values in the place of parameters where that is possible, and a NUL */
    size_t sql_len;
    size_t bind_count; /* that are left to bind */
    char *cast;        /* around it, where columns have to be made text; NULL: not needed */
    duckdb_extracted_statements statements;
    duckdb_prepared_statement prepared;
    duckdb_pending_result pending;
    duckdb_result result;
    struct tc_column *columns;
    char (*names)[64];
    struct tc__duckdb_value *values; /* how to read each column */
    bool *as_text;                   /* which columns have to be cast to text ... */
    bool *as_json;                   /* ... and which of them as JSON */
    size_t column_count;
    struct tc_rows *rows;
    uint64_t sent;
    bool called; /* the caller has seen the columns */
    bool has_result;
    bool has_pending;
};

/* ---- the time limit ---- */

struct watchdog {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct timespec deadline;
    struct tc__duckdb *d;
    bool running;
    bool done;
};

static void *watch(void *context)
{
    struct watchdog *w = context;
    int rc = 0;
    (void)pthread_mutex_lock(&w->lock);
    while (!w->done && rc == 0) {
        rc = pthread_cond_timedwait(&w->wake, &w->lock, &w->deadline);
    }
    if (!w->done) {
        tc__duckdb_interrupt(w->d);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return NULL;
}

static tc_status start_watchdog(struct watchdog *w, struct tc__duckdb *d, int64_t time_ns,
                                struct tc_error *err)
{
    pthread_condattr_t attr;
    *w = (struct watchdog){.d = d};
    if (time_ns <= 0) {
        return TC_OK;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &w->deadline);
    int64_t ns = w->deadline.tv_nsec + time_ns % TC_SECOND;
    w->deadline.tv_sec += (time_t)(time_ns / TC_SECOND + ns / TC_SECOND);
    w->deadline.tv_nsec = (long)(ns % TC_SECOND);
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&w->wake, &attr);
    (void)pthread_condattr_destroy(&attr);
    if (pthread_create(&w->thread, NULL, watch, w) != 0) {
        return tc_fail(err, TC_E_NOMEM, 0, "no thread to keep the time limit of a query");
    }
    w->running = true;
    return TC_OK;
}

static void stop_watchdog(struct watchdog *w)
{
    if (w->running) {
        (void)pthread_mutex_lock(&w->lock);
        w->done = true;
        (void)pthread_cond_signal(&w->wake);
        (void)pthread_mutex_unlock(&w->lock);
        (void)pthread_join(w->thread, NULL);
        (void)pthread_cond_destroy(&w->wake);
        (void)pthread_mutex_destroy(&w->lock);
    }
}

void tc__duckdb_interrupt(void *engine)
{
    struct tc__duckdb *d = engine;
    atomic_store(&d->interrupted, true);
    d->api->interrupt(d->connection);
}

/* ---- errors ---- */

static tc_status interrupted(const struct job *j)
{
    return tc_fail(j->err, TC_E_LIMIT, 0, "%s",
                   j->query->time_ns > 0 ? "the query took too long and was stopped"
                                         : "the query was stopped");
}

/* DuckDB's message without the excerpt of the query that follows it. */
static tc_status fail_with(const struct job *j, tc_status status, const char *message)
{
    char text[TC_ERROR_MESSAGE_MAX];
    struct tc_slice all = tc_slice_cstr(message == NULL ? "the query failed" : message);
    size_t excerpt = tc_slice_find(all, TC_LIT("\n\nLINE "));
    all = tc_slice_head(all, excerpt == TC_NPOS ? all.len : excerpt);
    size_t len = all.len < sizeof text ? all.len : sizeof text - 1;
    memcpy(text, all.ptr, len);
    text[len] = '\0';
    for (size_t i = 0; i < len; i++) {
        text[i] = text[i] == '\n' || text[i] == '\r' ? ' ' : text[i];
    }
    return tc_fail(j->err, status, 0, "%s", text);
}

static tc_status fail_query(struct job *j, const char *message)
{
    return atomic_load(&j->d->interrupted) ? interrupted(j) : fail_with(j, TC_E_USAGE, message);
}

static tc_status fail_result(struct job *j)
{
    const char *message = j->d->api->result_error(&j->result);
    if (atomic_load(&j->d->interrupted)) {
        return interrupted(j);
    }
    switch (j->d->api->result_error_type(&j->result)) {
    case DUCKDB_ERROR_INTERRUPT:
        return interrupted(j);
    case DUCKDB_ERROR_OUT_OF_MEMORY:
        return fail_with(j, TC_E_LIMIT, message);
    case DUCKDB_ERROR_IO:
    case DUCKDB_ERROR_FATAL:
    case DUCKDB_ERROR_INTERNAL:
        return fail_with(j, TC_E_IO, message);
    default:
        return fail_with(j, TC_E_USAGE, message);
    }
}

/* ---- preparing ---- */

static tc_status copy_sql(struct job *j)
{
    struct tc_slice sql = j->query->sql;
    size_t sql_max = j->query->untrusted ? UNTRUSTED_SQL_MAX : SQL_MAX;
    if (sql.len > sql_max) {
        return tc_fail(j->err, TC_E_USAGE, 0, "a query has at most %zu bytes", sql_max);
    }
    if (sql.len > 0 && memchr(sql.ptr, '\0', sql.len) != NULL) {
        return tc_fail(j->err, TC_E_USAGE, 0, "a query has no NUL bytes");
    }
    size_t size = tc__sql_values_max(sql, j->query->binds, j->query->bind_count);
    j->sql = malloc(size + 1);
    if (j->sql == NULL) {
        return tc_fail(j->err, TC_E_NOMEM, 0, "no memory for a query");
    }
    struct tc_buf b = tc_buf_make(j->sql, size);
    if (tc__sql_put_values(&b, sql, j->query->binds, j->query->bind_count)) {
        j->bind_count = 0;
    } else {
        tc_buf_reset(&b);
        tc_buf_str(&b, sql);
        j->bind_count = j->query->bind_count;
    }
    j->sql[b.len] = '\0';
    j->sql_len = b.len;
    return TC_OK;
}

static tc_status not_a_query(const struct job *j)
{
    return tc_fail(
        j->err, TC_E_USAGE, 0,
        "only queries that read are allowed: SELECT, FROM, WITH, VALUES, PIVOT, UNPIVOT, "
        "DESCRIBE, SHOW, SUMMARIZE, EXPLAIN without options");
}

/* What is not ours, before DuckDB binds it. */
static tc_status check_words(const struct job *j)
{
    const struct tc__sql_look *look = &j->look;
    if (!j->query->untrusted || (look->reads && look->banned.len == 0)) {
        return TC_OK;
    }
    return look->banned.len == 0
               ? not_a_query(j)
               : tc_fail(j->err, TC_E_USAGE, 0, "%.*s() is not allowed in a query%s",
                         TC_FMT(look->banned),
                         tc__sql_is_series(look->banned)
                             ? ", except right after FROM or JOIN"
                             : "; docs/sql.md lists what is (columns are named by AS t(a))");
}

/* And when DuckDB has said what it is. */
static tc_status check_type(const struct job *j)
{
    duckdb_statement_type type = j->d->api->prepared_statement_type(j->prepared);
    bool reads = type == DUCKDB_STATEMENT_TYPE_SELECT || type == DUCKDB_STATEMENT_TYPE_EXPLAIN;
    return reads || !j->query->untrusted ? TC_OK : not_a_query(j);
}

static tc_status bind(struct job *j)
{
    const struct tc__duckdb_api *api = j->d->api;
    for (size_t i = 0; i < j->bind_count; i++) {
        const struct tc_bind *b = &j->query->binds[i];
        duckdb_state state = DuckDBError;
        if (b->is_null) {
            state = api->bind_null(j->prepared, i + 1);
        } else {
            switch (b->type) {
            case TC_COLUMN_TEXT:
                state = api->bind_varchar_length(
                    j->prepared, i + 1, b->as.text.len == 0 ? "" : b->as.text.ptr, b->as.text.len);
                break;
            case TC_COLUMN_INT:
                state = api->bind_int64(j->prepared, i + 1, b->as.integer);
                break;
            case TC_COLUMN_REAL:
                state = api->bind_double(j->prepared, i + 1, b->as.real);
                break;
            case TC_COLUMN_BOOL:
                state = api->bind_boolean(j->prepared, i + 1, b->as.integer != 0);
                break;
            case TC_COLUMN_TIME:
                state = api->bind_timestamp(j->prepared, i + 1, (duckdb_timestamp){b->as.integer});
                break;
            }
        }
        if (state != DuckDBSuccess) {
            const char *message = api->prepare_error(j->prepared);
            return fail_query(j, message != NULL ? message : "a value does not fit its parameter");
        }
    }
    return TC_OK;
}

static void end_result(struct job *j)
{
    if (j->has_result) {
        j->d->api->destroy_result(&j->result);
    }
    if (j->has_pending) {
        j->d->api->destroy_pending(&j->pending);
    }
    j->has_result = false;
    j->has_pending = false;
}

/*
 * Works on the query's tasks until there is a result or a fault, either of which execute_pending
 * then takes. By itself that waits in a loop while other threads have the tasks: a core for
 * nothing.
 */
static void wait_for_result(struct job *j)
{
    long pause_ns = PAUSE_MIN_NS;
    for (;;) {
        duckdb_pending_state state = j->d->api->pending_execute_task(j->pending);
        if (state == DUCKDB_PENDING_NO_TASKS_AVAILABLE) {
            (void)nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
            pause_ns = pause_ns < PAUSE_MAX_NS ? 2 * pause_ns : pause_ns;
        } else if (state == DUCKDB_PENDING_RESULT_NOT_READY) {
            pause_ns = PAUSE_MIN_NS;
        } else {
            return;
        }
    }
}

static tc_status execute(struct job *j)
{
    const struct tc__duckdb_api *api = j->d->api;
    TC_TRY(bind(j));
    j->has_pending = true;
    if (api->pending_prepared_streaming(j->prepared, &j->pending) != DuckDBSuccess) {
        return fail_query(j, api->pending_error(j->pending));
    }
    wait_for_result(j);
    j->has_result = true;
    return api->execute_pending(j->pending, &j->result) == DuckDBSuccess ? TC_OK : fail_result(j);
}

/*
 * A PIVOT that does not list its columns is several statements: each of the first makes a temporary
 * type of the values that there are. They are run; the transaction of the query ends them.
 */
static tc_status make_pivot_types(struct job *j, idx_t count)
{
    const struct tc__duckdb_api *api = j->d->api;
    for (idx_t i = 0; i + 1 < count; i++) {
        if (api->prepare_extracted_statement(j->d->connection, j->statements, i, &j->prepared) !=
            DuckDBSuccess) {
            return fail_query(j, api->prepare_error(j->prepared));
        }
        if (api->prepared_statement_type(j->prepared) != DUCKDB_STATEMENT_TYPE_CREATE) {
            return not_a_query(j);
        }
        TC_TRY(execute(j));
        end_result(j);
        api->destroy_prepare(&j->prepared);
    }
    return TC_OK;
}

/* Exactly one statement of sql, prepared. */
static tc_status prepare(struct job *j, const char *sql)
{
    const struct tc__duckdb_api *api = j->d->api;
    idx_t count = api->extract_statements(j->d->connection, sql, &j->statements);
    if (count == 0) {
        const char *message = api->extract_statements_error(j->statements);
        return message != NULL ? fail_query(j, message)
                               : tc_fail(j->err, TC_E_USAGE, 0, "the query is empty");
    }
    if (count != 1 && !j->look.is_alone) {
        return tc_fail(j->err, TC_E_USAGE, 0, "one statement at a time, not %llu",
                       (unsigned long long)count);
    }
    TC_TRY(check_words(j));
    TC_TRY(make_pivot_types(j, count));
    if (api->prepare_extracted_statement(j->d->connection, j->statements, count - 1,
                                         &j->prepared) != DuckDBSuccess) {
        return fail_query(j, api->prepare_error(j->prepared));
    }
    return check_type(j);
}

static void unprepare(struct job *j)
{
    j->d->api->destroy_prepare(&j->prepared);
    j->d->api->destroy_extracted(&j->statements);
}

/* The statement again, with the columns that tables have no type for cast to text by DuckDB. */
static tc_status prepare_cast(struct job *j)
{
    size_t size = j->look.end + j->column_count * 64 + 128;
    j->cast = malloc(size);
    if (j->cast == NULL) {
        return tc_fail(j->err, TC_E_NOMEM, 0, "no memory for a query");
    }
    struct tc_buf b = tc_buf_make(j->cast, size);
    tc_buf_lit(&b, "SELECT ");
    for (size_t i = 0; i < j->column_count; i++) {
        const char *cast = !j->as_text[i] ? "" : j->as_json[i] ? "CAST(to_json(" : "CAST(";
        const char *end = !j->as_text[i] ? "" : j->as_json[i] ? ") AS VARCHAR)" : " AS VARCHAR)";
        (void)tc_format(&b, "{}{}c{}{}", i == 0 ? "" : ",", cast, i, end);
    }
    /* On a line of its own: the statement may end in a comment. */
    (void)tc_format(&b, " FROM ({}\n) AS given(", tc_slice_make(j->sql, j->look.end));
    for (size_t i = 0; i < j->column_count; i++) {
        (void)tc_format(&b, "{}c{}", i == 0 ? "" : ",", i);
    }
    tc_buf_lit(&b, ")");
    tc_buf_char(&b, '\0');
    TC_ASSERT(!b.overflowed);
    unprepare(j);
    return prepare(j, j->cast);
}

static tc_status make_columns(struct job *j, size_t count)
{
    size_t room = count == 0 ? 1 : count;
    if (count > COLUMNS_MAX) {
        return tc_fail(j->err, TC_E_USAGE, 0, "a query has at most %d columns", COLUMNS_MAX);
    }
    j->columns = calloc(room, sizeof *j->columns);
    j->names = calloc(room, sizeof *j->names);
    j->values = calloc(room, sizeof *j->values);
    j->as_text = calloc(room, sizeof *j->as_text);
    j->as_json = calloc(room, sizeof *j->as_json);
    if (j->columns == NULL || j->names == NULL || j->values == NULL || j->as_text == NULL ||
        j->as_json == NULL) {
        return tc_fail(j->err, TC_E_NOMEM, 0, "no memory for a query");
    }
    j->column_count = count;
    return TC_OK;
}

static void name_column(struct job *j, size_t column, const char *name)
{
    (void)snprintf(j->names[column], sizeof j->names[column], "%s", name == NULL ? "" : name);
    j->columns[column].name = j->names[column];
}

/*
 * The columns of the prepared statement, unless they depend on the type of a parameter: then they
 * are known when it runs, and column_count stays 0.
 */
static tc_status describe_prepared(struct job *j, bool *out_any_text)
{
    const struct tc__duckdb_api *api = j->d->api;
    size_t count = (size_t)api->prepared_statement_column_count(j->prepared);
    for (size_t i = 0; i < count; i++) {
        if (api->prepared_statement_column_type(j->prepared, i) == DUCKDB_TYPE_INVALID) {
            return TC_OK;
        }
    }
    TC_TRY(make_columns(j, count));
    for (size_t i = 0; i < count; i++) {
        const char *name = api->prepared_statement_column_name(j->prepared, i);
        name_column(j, i, name);
        api->free((void *)(uintptr_t)name);
        j->as_text[i] = tc__duckdb_needs_text(api, j->prepared, i);
        j->as_json[i] = tc__duckdb_is_nested(api->prepared_statement_column_type(j->prepared, i));
        *out_any_text |= j->as_text[i];
    }
    return TC_OK;
}

static tc_status describe_result(struct job *j, bool *out_any_text)
{
    const struct tc__duckdb_api *api = j->d->api;
    size_t count = (size_t)api->column_count(&j->result);
    TC_TRY(make_columns(j, count));
    for (size_t i = 0; i < count; i++) {
        name_column(j, i, api->column_name(&j->result, i));
        j->as_text[i] = !tc__duckdb_value_of(api, &j->result, i, &j->values[i]);
        j->as_json[i] = tc__duckdb_is_nested(j->values[i].from);
        *out_any_text |= j->as_text[i];
    }
    return TC_OK;
}

static tc_status get_ready(struct job *j)
{
    const struct tc__duckdb_api *api = j->d->api;
    bool any_text = false;
    TC_TRY(copy_sql(j));
    tc__sql_look(tc_slice_make(j->sql, j->sql_len), &j->look);
    TC_TRY(prepare(j, j->sql));
    if (api->nparams(j->prepared) != j->bind_count) {
        return tc_fail(j->err, TC_E_USAGE, 0,
                       "the query has %llu parameters, %zu values were given",
                       (unsigned long long)api->nparams(j->prepared), j->bind_count);
    }
    TC_TRY(describe_prepared(j, &any_text));
    return any_text ? prepare_cast(j) : TC_OK;
}

/* ---- running ---- */

static tc_status start(struct job *j)
{
    bool any_text = false;
    TC_TRY(execute(j));
    if (j->columns == NULL) {
        TC_TRY(describe_result(j, &any_text));
    }
    if (any_text) {
        end_result(j);
        TC_TRY(prepare_cast(j));
        TC_TRY(execute(j));
    }
    for (size_t i = 0; i < j->column_count; i++) {
        if (!tc__duckdb_value_of(j->d->api, &j->result, i, &j->values[i])) {
            return tc_fail(j->err, TC_E_USAGE, 0,
                           "column %s cannot be given on; cast it to VARCHAR", j->names[i]);
        }
        j->columns[i].type = j->values[i].type;
    }
    j->rows = tc_rows_create_for(j->columns, j->column_count);
    for (size_t i = 0; j->rows != NULL && i < j->column_count; i++) {
        j->rows->columns[i].is_json = j->as_json[i];
    }
    return j->rows != NULL ? TC_OK : tc_fail(j->err, TC_E_NOMEM, 0, "no memory for rows");
}

static tc_status give(struct job *j, tc_rows_fn take, void *context)
{
    j->called = true;
    j->sent += j->rows->count;
    tc_status status = take(context, j->rows);
    return status == TC_OK ? TC_OK
                           : tc_fail(j->err, status, 0, "the rows could not be given on: %s",
                                     tc_status_text(status));
}

/* All rows of a chunk, in as many batches as their text needs. */
static tc_status give_chunk(struct job *j, duckdb_data_chunk chunk, size_t count, tc_rows_fn take,
                            void *context)
{
    size_t from = 0;
    while (from < count) {
        size_t taken = 0;
        tc_rows_reset(j->rows);
        TC_TRY(tc__duckdb_read(j->d->api, chunk, j->values, from, count, j->rows, &taken, j->err));
        TC_TRY(give(j, take, context));
        from += taken;
    }
    return TC_OK;
}

static tc_status stream(struct job *j, tc_rows_fn take, void *context, bool *out_cut)
{
    const struct tc__duckdb_api *api = j->d->api;
    tc_status status = TC_OK;
    bool more = true;
    while (more && status == TC_OK) {
        if (atomic_load(&j->d->interrupted)) {
            return interrupted(j);
        }
        duckdb_data_chunk chunk = api->fetch_chunk(j->result);
        if (chunk == NULL) {
            status = api->result_error(&j->result) != NULL || atomic_load(&j->d->interrupted)
                         ? fail_result(j)
                         : TC_OK;
            break;
        }
        size_t count = (size_t)api->data_chunk_get_size(chunk);
        uint64_t left = j->query->rows_max == 0 ? UINT64_MAX : j->query->rows_max - j->sent;
        more = count > 0 && count <= left;
        *out_cut = count > left;
        status = give_chunk(j, chunk, count < left ? count : (size_t)left, take, context);
        api->destroy_data_chunk(&chunk);
    }
    if (status == TC_OK && !j->called) {
        status = give(j, take, context);
    }
    return status;
}

static void end_job(struct job *j)
{
    end_result(j);
    unprepare(j);
    tc_rows_destroy(j->rows);
    free(j->columns);
    free(j->names);
    free(j->values);
    free(j->as_text);
    free(j->as_json);
    free(j->cast);
    free(j->sql);
}

tc_status tc__duckdb_query(void *engine, const struct tc_query *query, tc_rows_fn take,
                           void *context, bool *out_cut, struct tc_error *err)
{
    struct tc__duckdb *d = engine;
    struct job j = {.d = d, .query = query, .err = err};
    struct watchdog watchdog;
    /* A transaction that cannot write is the second fence around what is not ours. */
    bool fenced = query->untrusted && !d->in_transaction;
    TC_TRY(tc__duckdb_flush(d, err));
    atomic_store(&d->interrupted, false);
    if (fenced) {
        TC_TRY(tc__duckdb_run(d, "BEGIN TRANSACTION READ ONLY", "cannot begin a query", err));
    }
    tc_status status = start_watchdog(&watchdog, d, query->time_ns, err);
    if (status == TC_OK) {
        status = get_ready(&j);
    }
    if (status == TC_OK) {
        status = start(&j);
    }
    if (status == TC_OK) {
        status = stream(&j, take, context, out_cut);
    }
    stop_watchdog(&watchdog);
    end_job(&j);
    if (fenced) {
        struct tc_error ignored;
        (void)!tc__duckdb_run(d, "ROLLBACK", "", &ignored);
    }
    return status;
}
