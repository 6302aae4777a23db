/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DuckDB engine, over several files: engine.c opens and keeps transactions,
 * schema.c makes and migrates tables, append.c, query.c, forget.c and
 * parquet.c do what they say; split.c and request.c say how the large tables are stored.
 */
#ifndef TC_WAREHOUSE_DUCKDB_DUCKDB_PRIV_H
#define TC_WAREHOUSE_DUCKDB_DUCKDB_PRIV_H

#include "warehouse/duckdb/join_priv.h"
#include "warehouse/duckdb/load_priv.h"
#include "warehouse/duckdb/scope_priv.h"
#include "warehouse/duckdb/sort_buffer_priv.h"
#include "warehouse/duckdb/split_priv.h"
#include "warehouse/engine_priv.h"
#include "warehouse/schema_priv.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define TC__DUCKDB_PATH_MAX 4096
/* In data_dir. */
#define TC__DUCKDB_FILE "warehouse.duckdb"
#define TC__DUCKDB_TEMP_DIR "warehouse.tmp"
/* The only folder that SQL may write to, and then only ours: see tc__duckdb_parquet. */
#define TC__DUCKDB_OUT_DIR "warehouse.out"

/* A database that is open, for all its connections; the last one to go closes it. */
struct tc__duckdb_base {
    const struct tc__duckdb_api *api;
    const struct tc__schema *schema;
    duckdb_database database;
    atomic_uint references;
    atomic_uint exports; /* files in the out folder so far: a name for each */
    bool is_own;         /* the daemon's: others may be writing while one forgets */
    bool is_scratch;     /* in memory, and empty when it is opened */
    struct tc__split splits[TC__SPLITS];
    struct tc_table_info verdicts; /* verdict_fact as it is stored */
    bool has_runs;                 /* the schema has run_scope_fact: join_priv.h */
    pthread_mutex_t join_lock;     /* one connection finds the runs of rows at a time */
    char data_dir[TC__DUCKDB_PATH_MAX];
    char description[32];
};

/* Lanes are numbered as tables, then those of scopes, as splits, then: */
#define TC__LANE_SCOPES TC_TABLE_COUNT
#define TC__LANE_CLAIMS (TC_TABLE_COUNT + TC__SPLITS)
#define TC__LANE_PENDING (TC_TABLE_COUNT + TC__SPLITS + 1)
#define TC__LANES (TC_TABLE_COUNT + TC__SPLITS + 2)

/* Rows on their way into a table. */
struct tc__duckdb_lane {
    duckdb_appender appender; /* NULL: none since begin */
    duckdb_data_chunk chunk;  /* NULL: never used */
};

/* Rows of a table that is split, on their way there. */
struct tc__split_writer {
    struct tc__sort_buffer buffer; /* those of this transaction that are not appended yet */
    struct tc_rows *wide;          /* a batch; NULL: the table's rows are wide, or none yet */
    struct tc_rows *narrow;        /* what a batch does not share with its scopes; or NULL */
    struct tc__scopes scopes;
};

/*
 * One connection. Invariant: an appender is open only inside a transaction, for destroying it
 * writes what it holds.
 */
struct tc__duckdb {
    struct tc__duckdb_base *base;
    const struct tc__duckdb_api *api;
    duckdb_connection connection;
    struct tc__duckdb_lane lanes[TC__LANES];
    struct tc__split_writer writers[TC__SPLITS];
    struct tc__join join;
    bool in_transaction;
    bool has_forgotten;      /* rows of a table that is split, in this transaction */
    atomic_bool interrupted; /* since the query began */
};

/* As the engine's open, with another schema: for tests of migration. */
TC_CHECKED tc_status tc__duckdb_open_with(const struct tc_warehouse_config *config,
                                          const struct tc__schema *schema, void **out,
                                          struct tc_error *err);

/* A new database in memory with the same tables, for whoever keeps the rows elsewhere. Of config it
 * takes data_dir, for what does not fit into memory, and the limits. */
TC_CHECKED tc_status tc__duckdb_open_scratch(const struct tc_warehouse_config *config, void **out,
                                             struct tc_error *err);

/* One of our own statements, its result thrown away. `what` begins the message. */
TC_CHECKED tc_status tc__duckdb_run(struct tc__duckdb *d, const char *sql, const char *what,
                                    struct tc_error *err);
/* One of our own queries that gives a whole number; *out stays when it gives none. */
TC_CHECKED tc_status tc__duckdb_ask(struct tc__duckdb *d, struct tc_slice sql, int64_t *out,
                                    struct tc_error *err);
/* For a query that gives a whole number: context is an int64_t, which stays when it gives none. */
TC_CHECKED tc_status tc__duckdb_take_int(void *context, const struct tc_rows *rows);
/* The first line of DuckDB's message, which may be NULL, into err. */
tc_status tc__duckdb_fail(struct tc_error *err, tc_status status, const char *what,
                          const char *message);

/* Makes the tables, or what an older version has not; in READ mode only looks. */
TC_CHECKED tc_status tc__duckdb_migrate(struct tc__duckdb *d, enum tc_warehouse_mode mode,
                                        struct tc_error *err);

/* How a table is split; TC__SPLITS: it is not. */
size_t tc__duckdb_split_of(const struct tc__duckdb *d, enum tc_table table);
TC_CHECKED tc_status tc__duckdb_append(void *engine, enum tc_table table,
                                       const struct tc_rows *rows, struct tc_error *err);
/* Rows of what the lane's table has. */
TC_CHECKED tc_status tc__duckdb_append_to(struct tc__duckdb *d, size_t lane,
                                          const struct tc_rows *rows, struct tc_error *err);
/* Rows into a table that is none of tables.def, and has their columns. At once, not with the
 * transaction's others. */
TC_CHECKED tc_status tc__duckdb_fill(struct tc__duckdb *d, const char *table,
                                     const struct tc_rows *rows, struct tc_error *err);
/* What a column of ours is, by its type. */
struct tc__duckdb_type {
    duckdb_type type;
    const char *sql;
};
extern const struct tc__duckdb_type tc__duckdb_types[];
/* One column of rows into a vector of DuckDB's. Texts are pointed at: they stay as long as it is
 * used. */
void tc__duckdb_copy_column(const struct tc__duckdb_api *api, duckdb_vector vector, size_t column,
                            const struct tc__pick *picks, size_t count);
/* Makes what was appended visible to queries. */
TC_CHECKED tc_status tc__duckdb_flush(struct tc__duckdb *d, struct tc_error *err);
/* Ends the appenders; what they still hold goes into the transaction. */
TC_CHECKED tc_status tc__duckdb_end_appends(struct tc__duckdb *d, struct tc_error *err);
void tc__duckdb_free_lanes(struct tc__duckdb *d);

TC_CHECKED tc_status tc__duckdb_query(void *engine, const struct tc_query *query, tc_rows_fn take,
                                      void *context, bool *out_cut, struct tc_error *err);
void tc__duckdb_interrupt(void *engine);

TC_CHECKED tc_status tc__duckdb_forget(void *engine, const struct tc_forget *what,
                                       uint64_t *out_count, struct tc_error *err);
TC_CHECKED tc_status tc__duckdb_parquet(void *engine, enum tc_table table, size_t time_column,
                                        int64_t before_us, const char *path, uint64_t *out_rows,
                                        struct tc_error *err);

#endif
