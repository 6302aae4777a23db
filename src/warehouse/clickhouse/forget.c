/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of the large tables that are forgotten. Nothing is deleted where it stands: a block all of
 * whose rows go is dropped, and of one in which some stay those are sent again, in a new block. The
 * ledger says both with the insert that ends the transaction.
 *
 * Which run a row belongs to that names none only the local database knows. Blocks with such rows
 * are fetched, some at a time, and the local database forgets.
 */
#include "base/format.h"
#include "warehouse/clickhouse/clickhouse_priv.h"
#include "warehouse/duckdb/sql_priv.h"

#include <stdlib.h>
#include <string.h>

/* Rows that are in the local database at a time. */
#define CHUNK_ROWS 200000
#define BLOCKS_MAX ((size_t)1 << 20)

struct block {
    uint64_t id;
    uint64_t rows;
    uint64_t sure; /* rows that go whatever the local database finds */
};

struct blocks {
    struct block *items;
    size_t count;
    size_t cap;
};

static tc_status no_memory(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory to forget rows");
}

/* ---- which rows ---- */

static size_t run_column(enum tc_table table)
{
    return table == TC_TABLE_SLICE ? (size_t)TC_SLICE_RUN_ID : (size_t)TC_REQUEST_RUN_ID;
}

static void put_time(struct tc_grow *g, const struct tc_forget *what)
{
    const char *name = tc_table_info(what->table)->columns[what->time_column].name;
    if (what->before_us == INT64_MIN) {
        tc_grow_lit(g, "1");
    } else if (what->table == TC_TABLE_SLICE) {
        tc_grow_format(g, "({} > " TC__CH_BEFORE_ALL " AND {} < {})", name, name, what->before_us);
    } else {
        tc_grow_format(g, "ifNull({} < {}, 0)", name, what->before_us);
    }
}

/* "run_id IN (...)" for the local database, and " IN (...)" for ClickHouse. */
static void put_keys(const struct tc_forget *what, struct tc_grow *local, struct tc_grow *there)
{
    tc_grow_lit(local, "run_id IN (");
    tc_grow_lit(there, " IN (");
    for (size_t i = 0; i < what->key_count; i++) {
        tc_grow_format(local, "{}'{}'", i == 0 ? "" : ", ", tc__sql_quoted(what->keys[i]));
        tc_grow_str(there, i == 0 ? TC_EMPTY : TC_LIT(", "));
        tc__ch_put_text(there, what->keys[i]);
    }
    tc_grow_lit(local, ")");
    tc_grow_lit(there, ")");
}

/* *sure: rows that go; *maybe: all that might. Both are conditions in ClickHouse's SQL. */
static tc_status put_conditions(struct tc__ch *ch, const struct tc_forget *what,
                                struct tc_grow *sure, struct tc_grow *maybe, struct tc_error *err)
{
    const char *run = what->table == TC_TABLE_SLICE ? "run_id" : "ifNull(run_id, '')";
    struct tc__ch_span span;
    struct tc_grow local = {0};
    struct tc_grow keys = {0};
    struct tc_grow found = {0}; /* rows of which a run might be found */
    if (what->key_count > 0) {
        put_keys(what, &local, &keys);
    } else {
        tc_grow_lit(&local, "true");
        tc_grow_lit(&keys, " = ''");
    }
    tc_status status = local.failed || keys.failed
                           ? no_memory(err)
                           : tc__ch_span_of(ch, tc_grow_slice(&local), &span, err);
    if (status == TC_OK) {
        tc_grow_format(&found, "({} = '' AND {}", run, span.count > 0 ? "1" : "0");
        tc__ch_put_span(&found, what->table, &span);
        tc_grow_lit(&found, ")");
        put_time(sure, what);
        put_time(maybe, what);
        tc_grow_format(sure, " AND {}{}{}", run, tc_grow_slice(&keys),
                       tc_when(what->key_count == 0, " AND NOT {}", tc_grow_slice(&found)));
        tc_grow_format(maybe, " AND ({}{}{})", run, tc_grow_slice(&keys),
                       tc_when(what->key_count > 0, " OR {}", tc_grow_slice(&found)));
        status = found.failed || sure->failed || maybe->failed ? no_memory(err) : TC_OK;
    }
    tc_grow_fini(&local);
    tc_grow_fini(&keys);
    tc_grow_fini(&found);
    return status;
}

/* ---- in which blocks ---- */

static const struct tc_column BLOCK_COLUMNS[] = {{.name = "block", .type = TC_COLUMN_INT},
                                                 {.name = "rows", .type = TC_COLUMN_INT},
                                                 {.name = "sure", .type = TC_COLUMN_INT},
                                                 {.name = "maybe", .type = TC_COLUMN_INT}};
static const struct tc__ch_field BLOCK_FIELDS[] = {
    {TC__CH_NUMBER, 0}, {TC__CH_NUMBER, 1}, {TC__CH_NUMBER, 2}, {TC__CH_NUMBER, 3}};

static tc_status take_blocks(void *context, struct tc_rows *rows, struct tc_error *err)
{
    struct blocks *b = context;
    if (tc_grow_items(b->items, b->cap, b->count + rows->count, BLOCKS_MAX) != TC_OK) {
        return tc_fail(err, TC_E_LIMIT, 0,
                       "more than a million blocks of ClickHouse have old rows; forget those that "
                       "are older first");
    }
    for (size_t i = 0; i < rows->count; i++) {
        b->items[b->count++] = (struct block){.id = (uint64_t)tc_rows_get_int(rows, 0, i),
                                              .rows = (uint64_t)tc_rows_get_int(rows, 1, i),
                                              .sure = (uint64_t)tc_rows_get_int(rows, 2, i)};
    }
    return TC_OK;
}

static tc_status find_blocks(struct tc__ch *ch, const struct tc_forget *what, struct blocks *out,
                             struct tc_error *err)
{
    struct tc_grow sure = {0};
    struct tc_grow maybe = {0};
    struct tc_grow sql = {0};
    tc_status status = put_conditions(ch, what, &sure, &maybe, err);
    tc_grow_format(&sql,
                   "SELECT " TC__CH_BLOCK
                   " AS b, count() AS c, countIf(ifNull({}, 0)) AS s, countIf(ifNull({}, 0)) AS m "
                   "FROM {} WHERE ",
                   tc_grow_slice(&sure), tc_grow_slice(&maybe), ch->layouts[what->table].name);
    tc__ch_put_visible(ch, &sql, what->table);
    tc_grow_lit(&sql, " GROUP BY b HAVING m > 0 ORDER BY b FORMAT RowBinary");
    status = status != TC_OK ? status
             : sql.failed    ? no_memory(err)
                             : tc__ch_ask(ch, tc_grow_slice(&sql),
                                          tc_rows_create_for(BLOCK_COLUMNS, TC_COUNT(BLOCK_COLUMNS)),
                                          BLOCK_FIELDS, TC_COUNT(BLOCK_FIELDS), take_blocks, out, err);
    tc_grow_fini(&sure);
    tc_grow_fini(&maybe);
    tc_grow_fini(&sql);
    return status;
}

/* ---- blocks of which a part goes ---- */

struct keeping {
    struct tc__ch *ch;
    enum tc_table table;
    struct tc_error *err;
};

static tc_status keep_rows(void *context, const struct tc_rows *rows)
{
    const struct keeping *k = context;
    return rows->count == 0 ? TC_OK : tc__ch_append(k->ch, k->table, rows, k->err);
}

/* The rows that are left of the local table, as they were sent. */
static tc_status send_rest(struct tc__ch *ch, struct tc__ch *side, enum tc_table table,
                           struct tc_error *err)
{
    struct tc_grow sql = {0};
    struct keeping keeping = {ch, table, err};
    bool cut = false;
    tc_table_select(&sql, table);
    tc_grow_lit(&sql, TC_TABLE_SAID);
    struct tc_query query = {.sql = tc_grow_slice(&sql)};
    tc_status status =
        sql.failed ? no_memory(err)
                   : tc__engine_duckdb.query(side->local, &query, keep_rows, &keeping, &cut, err);
    tc_grow_fini(&sql);
    return status;
}

/* What the local database of `side` has of some blocks; it is left as it was. */
static tc_status forget_fetched(struct tc__ch *ch, struct tc__ch *side,
                                const struct tc_forget *what, const struct block *blocks,
                                size_t count, uint64_t *io_gone, struct tc_error *err)
{
    uint64_t gone = 0;
    TC_TRY(tc__engine_duckdb.begin(side->local, err));
    tc_status status = tc__engine_duckdb.forget(side->local, what, &gone, err);
    for (size_t i = 0; status == TC_OK && gone > 0 && i < count; i++) {
        status = tc__ch_drop(ch, what->table, blocks[i].id, blocks[i].rows, err);
    }
    if (status == TC_OK && gone > 0) {
        *io_gone += gone;
        status = send_rest(ch, side, what->table, err);
    }
    tc__engine_duckdb.rollback(side->local);
    return status;
}

static tc_status forget_parts(struct tc__ch *ch, struct tc__ch *side, const struct tc_forget *what,
                              const struct block *blocks, size_t count, uint64_t *io_gone,
                              struct tc_error *err)
{
    struct tc__ch_scan scan = {.is_read = true, .needs_run = true, .by_block = true};
    memset(scan.columns, true, sizeof scan.columns);
    for (size_t i = 0; i < count; i++) {
        tc_grow_format(&scan.where, "{}{}", i == 0 ? TC__CH_BLOCK " IN (" : ", ", blocks[i].id);
    }
    tc_grow_lit(&scan.where, ")");
    tc_status status = tc__ch_fetch(side, what->table, &scan, err);
    tc_grow_fini(&scan.where);
    return status == TC_OK ? forget_fetched(ch, side, what, blocks, count, io_gone, err) : status;
}

/* A second view, which is in no transaction: a local database finds the runs of rows behind the
 * commit that brings them. */
static tc_status open_side(struct tc__ch *ch, struct tc__ch **out, struct tc_error *err)
{
    bool wanted[TC_TABLE_COUNT] = {[TC_TABLE_RUN_SCOPE] = true};
    void *side = NULL;
    TC_TRY(tc__engine_clickhouse.share(ch, &side, err));
    *out = side;
    TC_TRY(tc__ch_look(*out, err));
    return tc__ch_refresh(*out, wanted, err);
}

static tc_status forget_all_parts(struct tc__ch *ch, const struct tc_forget *what,
                                  const struct block *blocks, size_t count, uint64_t *io_gone,
                                  struct tc_error *err)
{
    struct tc__ch *side = NULL;
    uint64_t rows = 0;
    size_t from = 0;
    tc_status status = open_side(ch, &side, err);
    for (size_t i = 0; status == TC_OK && i < count; i++) {
        rows += blocks[i].rows;
        if (rows >= CHUNK_ROWS || i + 1 == count) {
            status = forget_parts(ch, side, what, &blocks[from], i + 1 - from, io_gone, err);
            from = i + 1;
            rows = 0;
        }
    }
    if (side != NULL) {
        tc__engine_clickhouse.close(side);
    }
    return status;
}

static tc_status forget_blocks(struct tc__ch *ch, const struct tc_forget *what,
                               struct blocks *blocks, uint64_t *io_gone, struct tc_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < blocks->count; i++) {
        struct block *b = &blocks->items[i];
        if (b->sure < b->rows) {
            blocks->items[kept++] = *b;
            continue;
        }
        *io_gone += b->rows;
        TC_TRY(tc__ch_drop(ch, what->table, b->id, b->rows, err));
    }
    return kept == 0 ? TC_OK : forget_all_parts(ch, what, blocks->items, kept, io_gone, err);
}

tc_status tc__ch_forget_large(struct tc__ch *ch, const struct tc_forget *what, uint64_t *out_count,
                              struct tc_error *err)
{
    struct blocks blocks = {0};
    size_t run = run_column(what->table);
    bool by_run = (what->key_count > 0) != what->want_null &&
                  (what->key_count == 0 || what->key_column == run) &&
                  (!what->want_null || what->null_column == run);
    *out_count = 0;
    if (!by_run) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "rows of %s in ClickHouse are forgotten by their run only",
                       tc_table_info(what->table)->name);
    }
    tc_status status = find_blocks(ch, what, &blocks, err);
    status = status == TC_OK ? forget_blocks(ch, what, &blocks, out_count, err) : status;
    free(blocks.items);
    return status;
}
