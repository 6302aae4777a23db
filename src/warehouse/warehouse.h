/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The warehouse: the tables of tables.def in some engine. Nothing above this header knows which:
 * DuckDB in a file of data_dir, a daemon that has it open (over its socket), or ClickHouse.
 * docs/internals/warehouse.md says how they are found.
 *
 * A warehouse belongs to one thread. SQL here is a portable subset: SELECT with joins, WHERE,
 * GROUP BY, HAVING, ORDER BY, LIMIT, count, sum, min, max, avg, CASE, CAST to standard types,
 * LIKE, IN, `?` for parameters. Quantiles and other functions of engines do not belong to it. The
 * order of rows is nobody's, and a sum of doubles depends on it: where an answer shows one, it is
 * sum(x ORDER BY x), or rounded (telemetry_sql.h).
 */
#ifndef TC_WAREHOUSE_WAREHOUSE_H
#define TC_WAREHOUSE_WAREHOUSE_H

#include "base/slice.h"
#include "base/status.h"
#include "warehouse/rows.h"
#include "warehouse/tables.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_warehouse;

enum tc_warehouse_mode {
    TC_WAREHOUSE_READ,  /* must be there; nothing is written, not even a migration */
    TC_WAREHOUSE_WRITE, /* made when it is not there, migrated when it is older */
};

/* Says, once, what is being waited for: from the thread that waits. */
typedef void (*tc_warehouse_wait_fn)(void *context, const char *text);

struct tc_warehouse_config {
    const char *data_dir;
    /* "clickhouse://user@host/database" (docs/clickhouse.md); NULL or "": in data_dir. */
    const char *url;
    enum tc_warehouse_mode mode;
    size_t memory_bytes;       /* of the engine; 0: its default below */
    unsigned threads;          /* 0: as many as cores, or one where there is little to do */
    bool few_rows;             /* WRITE: little will be written */
    int64_t wait_ns;           /* how long another process that has it open is waited for */
    bool own;                  /* the daemon itself: never ask a socket */
    tc_warehouse_wait_fn says; /* may be NULL */
    void *says_context;
};

/* The environment may say where the engine's library is. */
#define TC_WAREHOUSE_LIBRARY_VARIABLE "TRACECORE_DUCKDB"
/* And, for commands, where the warehouse is; and the password of a user there. */
#define TC_WAREHOUSE_URL_VARIABLE "TRACECORE_WAREHOUSE"
#define TC_WAREHOUSE_PASSWORD_VARIABLE "TRACECORE_CLICKHOUSE_PASSWORD"

#define TC_WAREHOUSE_MEMORY_DEFAULT ((size_t)1 << 30)

/*
 * Asks the daemon when one runs on data_dir, else opens the database itself. TC_E_NOTFOUND: there
 * is none (READ). TC_E_UNSUPPORTED: a newer schema, or no engine can be loaded; err says what to
 * do. TC_E_MALFORMED: it is damaged, or no database. TC_E_IO: it cannot be opened, or another
 * process has it.
 */
TC_CHECKED tc_status tc_warehouse_open(const struct tc_warehouse_config *config,
                                       struct tc_warehouse **out_warehouse, struct tc_error *err);
/* Whether a url is well formed, or none: TC_E_USAGE says what is wrong with it. */
TC_CHECKED tc_status tc_warehouse_check_url(const char *url, struct tc_error *err);
/* Whether a text is meant as a url, and not as a path. */
bool tc_warehouse_is_url(const char *text);
/* Whether two urls are of one database, as far as their text says. */
TC_CHECKED tc_status tc_warehouse_same_url(const char *a, const char *b, bool *out,
                                           struct tc_error *err);
void tc_warehouse_close(struct tc_warehouse *w);
/* A second view of the same database, for another thread. Closed before the first. */
TC_CHECKED tc_status tc_warehouse_share(struct tc_warehouse *w, struct tc_warehouse **out_warehouse,
                                        struct tc_error *err);
/* Nothing is to be written for a while: memory that is not needed meanwhile is given back. Other
 * threads may go on with views of the same database. */
void tc_warehouse_rest(struct tc_warehouse *w);
/* "duckdb 1.4.4", "daemon (duckdb 1.4.4)": for people. Lives as long as w. */
const char *tc_warehouse_engine(const struct tc_warehouse *w);

/* ---- writing: between begin and commit, all or nothing ---- */

TC_CHECKED tc_status tc_warehouse_begin(struct tc_warehouse *w, struct tc_error *err);
TC_CHECKED tc_status tc_warehouse_commit(struct tc_warehouse *w, struct tc_error *err);
/* Also after a failed call in between. */
void tc_warehouse_rollback(struct tc_warehouse *w);
/* Appends rows of a table (tc_rows_create(table)). Borrows rows. */
TC_CHECKED tc_status tc_warehouse_append(struct tc_warehouse *w, enum tc_table table,
                                         const struct tc_rows *rows, struct tc_error *err);

/* Which rows to delete: those that fulfil all that is set. */
struct tc_forget {
    enum tc_table table;
    size_t key_column; /* with key_count keys: text column that must be one of keys */
    const struct tc_slice *keys;
    size_t key_count;   /* 0: any */
    size_t time_column; /* TIME column that must be before `before_us` */
    int64_t before_us;  /* INT64_MIN: any */
    size_t null_column; /* column that must be NULL ... */
    bool want_null;     /* ... when this is set */
};
/* *out_count: how many there were. Asking for all rows of a table is TC_E_USAGE. */
TC_CHECKED tc_status tc_warehouse_forget(struct tc_warehouse *w, const struct tc_forget *what,
                                         uint64_t *out_count, struct tc_error *err);

/* ---- reading ---- */

/* A value for a `?`. */
struct tc_bind {
    enum tc_column_type type;
    bool is_null;
    union {
        int64_t integer;
        double real;
        struct tc_slice text;
    } as;
};

struct tc_query {
    struct tc_slice sql;
    const struct tc_bind *binds;
    size_t bind_count;
    /* From people: exactly one statement that only reads, no files, no settings. Our own queries
     * leave it false. */
    bool untrusted;
    uint64_t rows_max; /* 0: no bound; more rows: the rest is left out and *out_cut says so */
    int64_t time_ns;   /* 0: no bound; TC_E_LIMIT when it takes longer */
};

/*
 * Borrows rows. Called at least once, with no rows when there are none, so that the columns are
 * known. A failure ends the query and is returned.
 */
typedef tc_status (*tc_rows_fn)(void *context, const struct tc_rows *rows);

/*
 * TC_E_USAGE with the engine's message for SQL that is wrong or not allowed. Types that tables do
 * not have come as TEXT. out_cut may be NULL.
 */
TC_CHECKED tc_status tc_warehouse_query(struct tc_warehouse *w, const struct tc_query *query,
                                        tc_rows_fn take, void *context, bool *out_cut,
                                        struct tc_error *err);
/* Ends the query that runs, from a signal handler or another thread: it returns TC_E_LIMIT. */
void tc_warehouse_interrupt(struct tc_warehouse *w);

/* Our own queries that give one integer (a count, say); fallback when there is no row or NULL. */
TC_CHECKED tc_status tc_warehouse_int(struct tc_warehouse *w, const char *sql,
                                      const struct tc_bind *binds, size_t bind_count,
                                      int64_t fallback, int64_t *out, struct tc_error *err);

/* Reads every value of a table; fails when a part of it is damaged or cut off. */
TC_CHECKED tc_status tc_warehouse_read_all(struct tc_warehouse *w, enum tc_table table,
                                           struct tc_error *err);
/* How long the database's file must be at least. Of no use while another process writes to it. */
TC_CHECKED tc_status tc_warehouse_file_bytes(struct tc_warehouse *w, int64_t *out_bytes,
                                             struct tc_error *err);

/*
 * Writes one table to a Parquet file (made anew, durable, then renamed into place): all rows, or
 * those before `before_us` in time_column. *out_rows may be NULL.
 */
TC_CHECKED tc_status tc_warehouse_parquet(struct tc_warehouse *w, enum tc_table table,
                                          size_t time_column, int64_t before_us, const char *path,
                                          uint64_t *out_rows, struct tc_error *err);

#endif
