/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ClickHouse engine. ClickHouse keeps the rows and adds up telemetry; questions are answered by
 * a DuckDB in memory, the same engine as ever, which is filled with the rows that a question needs.
 * docs/internals/clickhouse.md says why, and what may be asked.
 *
 * url.c, client.c, explain.c: the server. binary.c, block.c, strand.c: rows as bytes. lane.c:
 * blocks on their way. schema.c: tables. write.c: transactions. forget.c, tidy.c: rows of the large
 * tables that go. mirror.c: the small tables, kept whole. plan.c, fetch.c: the parts of the large
 * ones that a query reads. stretch.c: their rows by time. sums.c: telemetry added up over there.
 * engine.c: the rest.
 */
#ifndef TC_WAREHOUSE_CLICKHOUSE_CLICKHOUSE_PRIV_H
#define TC_WAREHOUSE_CLICKHOUSE_CLICKHOUSE_PRIV_H

#include "base/json/json.h"
#include "base/table/grow.h"
#include "warehouse/clickhouse/binary_priv.h"
#include "warehouse/clickhouse/client_priv.h"
#include "warehouse/duckdb/duckdb_priv.h"
#include "warehouse/engine_priv.h"

#include <pthread.h>

#define TC__CH_LEDGER "tracecore_ledger"
#define TC__CH_VERSIONS "tracecore_schema"
/* A block's number is the millisecond in which it was drawn, and chance. */
#define TC__CH_CHANCE_BITS 22
/* A literal that is less than any time. */
#define TC__CH_BEFORE_ALL "-9000000000000000000"

/* DROP: the block of that number is there no longer. */
enum tc__ch_entry_kind { TC__CH_ROWS, TC__CH_FORGET, TC__CH_DROP };

/* A line of the ledger. Rows are there once the line of their block is, and not before. */
struct tc__ch_entry {
    uint64_t id; /* of rows: of their block */
    enum tc__ch_entry_kind kind;
    enum tc_table table;
    uint64_t rows;
    struct tc_grow detail; /* of FORGET: which rows, as JSON */
};

/* A block that another thread sends, while the next one is filled. */
struct tc__ch_flight {
    /* For inserts only: a connection that a question has left would be made anew by libcurl when it
     * has ended, and the rows sent twice. */
    struct tc__ch_client client;
    bool is_on;
    pthread_t thread;
    enum tc_table table;
    uint64_t id;
    size_t row_count;
    struct tc_grow sql;
    struct tc_grow body; /* sent again, under another number, if it is not known to have arrived */
    struct tc__ch_ids ids;
    tc_status status;
    struct tc_error err;
};

/* What the ledger said of a table when it was last looked at. */
struct tc__ch_state {
    uint64_t count;
    uint64_t mix;
};

/* A small table, whole, in the local database. */
struct tc__ch_mirror {
    struct tc__ch_state state;
    uint64_t *ids; /* of the entries that are in it, in order */
    size_t count;
    size_t cap;
};

/* A part of a large table, in the local database. */
struct tc__ch_part {
    bool there;
    struct tc__ch_state state;
    struct tc_grow sql; /* that fetched it */
};

struct tc__ch {
    struct tc__ch_url url;
    struct tc_warehouse_config config;
    char *data_dir;
    struct tc__ch_client client;
    struct tc__duckdb *local;
    struct tc_json_parser *parser;
    struct tc__ch_layout layouts[TC_TABLE_COUNT];
    struct tc__ch_layout series;
    struct tc__ch_state states[TC_TABLE_COUNT]; /* as of the last look */
    int64_t looked_ns;                          /* 0: it has to be asked */
    struct tc__ch_mirror mirrors[TC_TABLE_COUNT];
    struct tc__ch_part parts[TC_TABLE_COUNT];
    /* The transaction. */
    bool in_transaction;
    uint64_t last_id;
    uint64_t begun_id;   /* the last one before it */
    uint64_t drops_seen; /* in the ledger, before it dropped any */
    size_t drop_count;   /* of entries */
    struct tc__ch_block lanes[TC_TABLE_COUNT];
    struct tc__ch_block series_lane;
    struct tc__ch_flight flight;
    struct tc__scope_map sent; /* series that are there */
    /* Those of slices. The series of each is there, or in its lane. */
    struct tc__ch_strands strands;
    struct tc__ch_entry *entries;
    size_t entry_count;
    size_t entry_cap;
    char description[64];
};

/* Rows of it stay over there: it may be larger than this machine. */
static inline bool tc__ch_is_large(enum tc_table table)
{
    return table == TC_TABLE_SLICE || table == TC_TABLE_REQUEST;
}

/* A literal for ClickHouse, which knows backslashes. */
void tc__ch_put_text(struct tc_grow *g, struct tc_slice text);

/* The tables: made or brought up to date; in READ mode only looked at. */
TC_CHECKED tc_status tc__ch_migrate(struct tc__ch *ch, enum tc_warehouse_mode mode,
                                    struct tc_error *err);

/* ---- lane.c ---- */
TC_CHECKED tc_status tc__ch_append(void *engine, enum tc_table table, const struct tc_rows *rows,
                                   struct tc_error *err);
/* All rows of a table that were appended are there behind it, as entries. */
TC_CHECKED tc_status tc__ch_flush(struct tc__ch *ch, enum tc_table table, struct tc_error *err);
/* No rows are on their way any more. */
void tc__ch_lanes_reset(struct tc__ch *ch);
void tc__ch_lanes_fini(struct tc__ch *ch);

/* ---- write.c ---- */
/* A number for a block. Larger than any that this connection has seen: what is forgotten is what
 * came before. */
TC_CHECKED tc_status tc__ch_next_id(struct tc__ch *ch, uint64_t *out, struct tc_error *err);
TC_CHECKED tc_status tc__ch_add_entry(struct tc__ch *ch, const struct tc__ch_entry *entry,
                                      struct tc_error *err);
TC_CHECKED tc_status tc__ch_forget(void *engine, const struct tc_forget *what, uint64_t *out_count,
                                   struct tc_error *err);
/* A block of rows is there no longer. */
TC_CHECKED tc_status tc__ch_drop(struct tc__ch *ch, enum tc_table table, uint64_t id, uint64_t rows,
                                 struct tc_error *err);
TC_CHECKED tc_status tc__ch_begin(void *engine, struct tc_error *err);
TC_CHECKED tc_status tc__ch_commit(void *engine, struct tc_error *err);
void tc__ch_rollback(void *engine);
void tc__ch_write_fini(struct tc__ch *ch);

/* ---- forget.c, tidy.c ---- */
TC_CHECKED tc_status tc__ch_forget_large(struct tc__ch *ch, const struct tc_forget *what,
                                         uint64_t *out_count, struct tc_error *err);
/* Blocks that are dropped in the ledger go from the disks: whole months at once. */
TC_CHECKED tc_status tc__ch_tidy(struct tc__ch *ch, struct tc_error *err);

/* ---- mirror.c ---- */
typedef tc_status (*tc__ch_take_fn)(void *context, struct tc_rows *rows, struct tc_error *err);
/* A statement of ours whose answer is taken by a function, through rows that are destroyed. */
TC_CHECKED tc_status tc__ch_ask(struct tc__ch *ch, struct tc_slice sql, struct tc_rows *rows,
                                const struct tc__ch_field *fields, size_t count,
                                tc__ch_take_fn take, void *context, struct tc_error *err);
/* Asks the ledger how the tables are. */
TC_CHECKED tc_status tc__ch_look(struct tc__ch *ch, struct tc_error *err);
/* Brings those small tables up to date that wanted[] names; not within a transaction. */
TC_CHECKED tc_status tc__ch_refresh(struct tc__ch *ch, const bool wanted[TC_TABLE_COUNT],
                                    struct tc_error *err);
/* That these entries, of this transaction, are in the mirrors too. */
void tc__ch_mirror_add(struct tc__ch *ch, const struct tc__ch_entry *entry);
void tc__ch_mirror_fini(struct tc__ch *ch);
/* A tc__ch_reader's take: rows go into the local table. */
struct tc__ch_into {
    struct tc__ch *ch;
    enum tc_table table;
};
TC_CHECKED tc_status tc__ch_take_local(void *context, struct tc_rows *rows, struct tc_error *err);

/* ---- plan.c ---- */
/* What a query reads of a large table: a condition in ClickHouse's SQL that holds for all the rows
 * that it can use, and which columns. */
struct tc__ch_scan {
    bool is_read;
    struct tc_grow where;       /* on the table with the block; empty: all rows */
    struct tc_grow where_texts; /* on the series; empty: all */
    bool columns[TC_TABLE_COLUMNS_MAX];
    bool needs_run; /* it matters to which run a row belongs */
    bool by_block;  /* `where` names the blocks: the ledger need not be asked */
};
struct tc__ch_plan {
    struct tc__ch_scan scans[TC_TABLE_COUNT];
};
TC_CHECKED tc_status tc__ch_plan_make(struct tc__ch *ch, const struct tc_query *query,
                                      struct tc__ch_plan *out, struct tc_error *err);
void tc__ch_plan_fini(struct tc__ch_plan *plan);
/* From when to when runs have names, by which rows that name no run are found to be theirs; an
 * unknown end is any time. */
struct tc__ch_span {
    int64_t from_us;
    int64_t to_us;
    int64_t count; /* of names; 0: no row is */
};
/* Of the runs that a condition on run_scope_fact says. */
TC_CHECKED tc_status tc__ch_span_of(struct tc__ch *ch, struct tc_slice condition,
                                    struct tc__ch_span *out, struct tc_error *err);
/* " AND ..." for the rows of that time. */
void tc__ch_put_span(struct tc_grow *g, enum tc_table table, const struct tc__ch_span *span);

/* ---- fetch.c ---- */
/* " _block IN (what the ledger has)", and what this transaction has sent. */
void tc__ch_put_visible(const struct tc__ch *ch, struct tc_grow *g, enum tc_table table);
/* The statement that reads what a scan asks for; *fields, TC_TABLE_COLUMNS_MAX + 1, are its
 * columns. Returns how many. */
size_t tc__ch_put_fetch(const struct tc__ch *ch, struct tc_grow *g, enum tc_table table,
                        const struct tc__ch_scan *scan, struct tc__ch_field *fields);
/* Makes the local table hold the rows that the scan asks for. */
TC_CHECKED tc_status tc__ch_fetch(struct tc__ch *ch, enum tc_table table,
                                  const struct tc__ch_scan *scan, struct tc_error *err);

/* ---- stretch.c: the engine's minutes, read and settle ---- */
TC_CHECKED tc_status tc__ch_settle(void *engine, struct tc_error *err);
TC_CHECKED tc_status tc__ch_minutes(void *engine, enum tc_table table, tc_minute_fn take,
                                    void *context, struct tc_error *err);
TC_CHECKED tc_status tc__ch_read(void *engine, enum tc_table table, int64_t from_us, int64_t to_us,
                                 tc_rows_fn take, void *context, struct tc_error *err);

/* ---- sums.c ---- */
/* A query of telemetry_sql.h: the sums are made over there. *out_sql, for the local database, is
 * empty when the query is none. all: every slice that counts names its run; otherwise it adds up
 * those too that are in the local table, which are to be those that do not. *out_binds_used: so
 * many of the query's are not in it any more. */
TC_CHECKED tc_status tc__ch_sums(struct tc__ch *ch, const struct tc_query *query, bool all,
                                 struct tc_grow *out_sql, size_t *out_binds_used,
                                 struct tc_error *err);

#endif
