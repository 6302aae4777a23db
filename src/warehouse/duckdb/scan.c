/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A large buffer goes into the table as the result of a table function, which DuckDB reads with all
 * its threads: packing takes most of the time, and an appender packs with the caller's alone.
 *
 * A table function can be named in any query. This one gives nothing without the ticket of the
 * buffer that is being taken, which only the INSERT made for it has.
 */
#include "base/assert.h"
#include "base/format.h"
#include "warehouse/duckdb/scan_priv.h"

#include <stdio.h>
#include <sys/random.h>

#define FUNCTION_NAME "tracecore_sort_buffer"
#define SQL_MAX 1024

/* Piles that are being read, in all databases of the process. */
static pthread_mutex_t scans_lock = PTHREAD_MUTEX_INITIALIZER;
static struct tc__scan *scans;

static struct tc__scan *find_scan(uint64_t ticket)
{
    (void)pthread_mutex_lock(&scans_lock);
    struct tc__scan *s = scans;
    while (s != NULL && s->ticket != ticket) {
        s = s->next;
    }
    (void)pthread_mutex_unlock(&scans_lock);
    return s;
}

static void bind(duckdb_bind_info info)
{
    const struct tc__duckdb_api *api = tc__duckdb_api_now();
    duckdb_value value = api->bind_get_parameter(info, 0);
    uint64_t ticket = api->get_uint64(value);
    api->destroy_value(&value);
    struct tc__scan *scan = find_scan(ticket);
    if (scan == NULL) {
        api->bind_set_error(info, "there is no such buffer");
        return;
    }
    const struct tc_table_info *t = scan->table;
    for (size_t i = 0; i < t->column_count; i++) {
        duckdb_logical_type type =
            api->create_logical_type(tc__duckdb_types[t->columns[i].type].type);
        api->bind_add_result_column(info, t->columns[i].name, type);
        api->destroy_logical_type(&type);
    }
    api->bind_set_cardinality(info, scan->buffer->row_count, true);
    api->bind_set_bind_data(info, scan, NULL);
}

static void init(duckdb_init_info info)
{
    tc__duckdb_api_now()->init_set_max_threads(info, TC__SCAN_THREADS);
}

/* Each thread has a part of the buffer to itself, as many rows as DuckDB packs at once: rows that
 * another one took would leave it with less, which DuckDB packs worse. */
static void init_thread(duckdb_init_info info)
{
    const struct tc__duckdb_api *api = tc__duckdb_api_now();
    struct tc__scan *scan = api->init_get_bind_data(info);
    unsigned at = atomic_fetch_add(&scan->threads, 1);
    struct tc__scan_thread *t = &scan->places[at < TC__SCAN_THREADS ? at : TC__SCAN_THREADS];
    if (at < TC__SCAN_THREADS) {
        t->lane = atomic_fetch_add(&scan->lanes, 1);
    }
    /* A place in the array: nothing to free. */
    api->init_set_init_data(info, t, NULL);
}

/* The first of the next rows; of a part that no thread came for, when the own one is done. */
static size_t next_rows(struct tc__scan *scan, struct tc__scan_thread *t)
{
    while (t->lane < TC__SCAN_THREADS && t->next_row >= scan->lane_rows) {
        *t = (struct tc__scan_thread){.lane = atomic_fetch_add(&scan->lanes, 1)};
    }
    if (t->lane >= TC__SCAN_THREADS) {
        return SIZE_MAX;
    }
    size_t at = t->lane * scan->lane_rows + t->next_row;
    t->next_row += TC_ROWS_MAX;
    return at;
}

static void scan_rows(duckdb_function_info info, duckdb_data_chunk output)
{
    const struct tc__duckdb_api *api = tc__duckdb_api_now();
    struct tc__scan *scan = api->function_get_bind_data(info);
    struct tc__pick picks[TC_ROWS_MAX];
    size_t at = next_rows(scan, api->function_get_local_init_data(info));
    size_t count = at == SIZE_MAX ? 0 : tc__sort_buffer_picks(scan->buffer, at, picks);
    if (count > 0) {
        size_t columns = api->data_chunk_get_column_count(output);
        for (size_t i = 0; i < columns; i++) {
            tc__duckdb_copy_column(api, api->data_chunk_get_vector(output, i), i, picks, count);
        }
    }
    api->data_chunk_set_size(output, count);
}

tc_status tc__scan_register(struct tc__duckdb *d, struct tc_error *err)
{
    const struct tc__duckdb_api *api = d->api;
    duckdb_table_function f = api->create_table_function();
    duckdb_logical_type number = api->create_logical_type(DUCKDB_TYPE_UBIGINT);
    api->table_function_set_name(f, FUNCTION_NAME);
    api->table_function_add_parameter(f, number);
    api->table_function_set_bind(f, bind);
    api->table_function_set_init(f, init);
    api->table_function_set_local_init(f, init_thread);
    api->table_function_set_function(f, scan_rows);
    bool ok = api->register_table_function(d->connection, f) == DuckDBSuccess;
    api->destroy_logical_type(&number);
    api->destroy_table_function(&f);
    return ok ? TC_OK : tc_fail(err, TC_E_IO, 0, "DuckDB does not take a table function");
}

tc_status tc__scan_insert(struct tc__duckdb *d, const struct tc_table_info *table,
                          struct tc__sort_buffer *buffer, struct tc_error *err)
{
    char sql[SQL_MAX];
    struct tc_buf b = tc_buf_make(sql, sizeof sql);
    size_t batches = (buffer->row_count + TC_ROWS_MAX - 1) / TC_ROWS_MAX;
    struct tc__scan scan = {
        .buffer = buffer,
        .table = table,
        .lane_rows = (batches + TC__SCAN_THREADS - 1) / TC__SCAN_THREADS * TC_ROWS_MAX,
    };
    scan.places[TC__SCAN_THREADS].lane = TC__SCAN_THREADS;
    if (getrandom(&scan.ticket, sizeof scan.ticket, 0) != (ssize_t)sizeof scan.ticket) {
        return tc_fail(err, TC_E_IO, 0, "the system gives no random numbers");
    }
    (void)pthread_mutex_lock(&scans_lock);
    scan.next = scans;
    scans = &scan;
    (void)pthread_mutex_unlock(&scans_lock);
    (void)tc_format(&b, "INSERT INTO {} (", scan.table->name);
    for (size_t i = 0; i < scan.table->column_count; i++) {
        (void)tc_format(&b, "{}\"{}\"", i == 0 ? "" : ", ", scan.table->columns[i].name);
    }
    (void)tc_format(&b, ") SELECT * FROM " FUNCTION_NAME "({}::UBIGINT)", scan.ticket);
    tc_buf_char(&b, '\0');
    TC_ASSERT(!b.overflowed); /* names are ours */
    tc_status status = tc__duckdb_run(d, sql, "the rows cannot be added", err);
    (void)pthread_mutex_lock(&scans_lock);
    for (struct tc__scan **s = &scans; *s != NULL; s = &(*s)->next) {
        if (*s == &scan) {
            *s = scan.next;
            break;
        }
    }
    (void)pthread_mutex_unlock(&scans_lock);
    return status;
}
