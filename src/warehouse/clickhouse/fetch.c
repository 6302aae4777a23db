/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the large tables, as many as a query needs, into the local database. */
#include "base/format.h"
#include "warehouse/clickhouse/clickhouse_priv.h"

#include <string.h>

/* Rows of one fetch; the local database would take more memory and time than anybody waits. */
#define ROWS_MAX UINT64_C(50000000)

/* "prefix(1, 2)": what this transaction has done to blocks of a table. */
static void put_own(const struct tc__ch *ch, struct tc_grow *g, enum tc_table table,
                    enum tc__ch_entry_kind kind, const char *prefix)
{
    bool any = false;
    for (size_t i = 0; i < ch->entry_count; i++) {
        if (ch->entries[i].table == table && ch->entries[i].kind == kind) {
            tc_grow_format(g, "{}{}", any ? ", " : prefix, ch->entries[i].id);
            any = true;
        }
    }
    tc_grow_str(g, any ? TC_LIT(")") : TC_EMPTY);
}

void tc__ch_put_visible(const struct tc__ch *ch, struct tc_grow *g, enum tc_table table)
{
    const char *name = tc_table_info(table)->name;
    tc_grow_format(
        g,
        "((" TC__CH_BLOCK " GLOBAL IN (SELECT id FROM " TC__CH_LEDGER
        " WHERE tbl = '{}' AND kind = {} AND id GLOBAL NOT IN (SELECT id FROM " TC__CH_LEDGER
        " WHERE tbl = '{}' AND kind = {}))",
        name, (int)TC__CH_ROWS, name, (int)TC__CH_DROP);
    put_own(ch, g, table, TC__CH_DROP, " AND " TC__CH_BLOCK " NOT IN (");
    tc_grow_lit(g, ")");
    put_own(ch, g, table, TC__CH_ROWS, " OR " TC__CH_BLOCK " IN (");
    tc_grow_lit(g, ")");
}

/* The columns of a layout that are asked for, and where they go. */
static size_t put_columns(struct tc_grow *g, const struct tc__ch_layout *l,
                          const struct tc__ch_scan *scan, struct tc__ch_field *fields, size_t count)
{
    for (size_t i = 0; i < l->column_count; i++) {
        const struct tc__ch_column *c = &l->columns[i];
        if (c->from != SIZE_MAX && scan->columns[c->from]) {
            tc_grow_format(g, "{}`{}`", count == 0 ? "" : ", ", c->name);
            fields[count++] = (struct tc__ch_field){c->type, c->from};
        }
    }
    return count;
}

static void put_where(const struct tc__ch *ch, struct tc_grow *g, enum tc_table table,
                      const struct tc__ch_scan *scan)
{
    tc_grow_format(g, " FROM {} WHERE ", ch->layouts[table].name);
    if (!scan->by_block) {
        tc__ch_put_visible(ch, g, table);
    }
    if (scan->where.buf.len > 0) {
        tc_grow_format(g, "{}({})", scan->by_block ? "" : " AND ", tc_grow_slice(&scan->where));
    }
    if (scan->where_texts.buf.len > 0 && table != TC_TABLE_SLICE) {
        tc_grow_format(g, " AND ({})", tc_grow_slice(&scan->where_texts));
    } else if (scan->where_texts.buf.len > 0) {
        tc_grow_format(
            g, " AND " TC__CH_SERIES " GLOBAL IN (SELECT " TC__CH_SERIES " FROM {} WHERE {})",
            ch->series.name, tc_grow_slice(&scan->where_texts));
    }
}

/* Slices with the texts of their series, if any are asked for. */
static size_t put_slices(const struct tc__ch *ch, struct tc_grow *g, const struct tc__ch_scan *scan,
                         struct tc__ch_field *fields)
{
    struct tc__ch_field texts[TC_TABLE_COLUMNS_MAX];
    struct tc_grow facts = {0};
    struct tc_grow series = {0};
    size_t count = put_columns(&facts, &ch->layouts[TC_TABLE_SLICE], scan, fields, 0);
    size_t text_count = put_columns(&series, &ch->series, scan, texts, 0);
    tc_grow_format(g, "SELECT {}{}", tc_grow_slice(&facts), count > 0 ? ", " : "");
    if (text_count == 0) {
        tc_grow_lit(g, "toUInt64(0)"); /* a row of nothing would have no bytes */
        put_where(ch, g, TC_TABLE_SLICE, scan);
    } else {
        tc_grow_format(g, "{} FROM (SELECT {}{}" TC__CH_SERIES, tc_grow_slice(&series),
                       tc_grow_slice(&facts), count > 0 ? ", " : "");
        put_where(ch, g, TC_TABLE_SLICE, scan);
        /* A series may be there twice until ClickHouse has merged them: any of them will do. */
        tc_grow_format(g,
                       ") AS f GLOBAL ANY LEFT JOIN (SELECT " TC__CH_SERIES
                       ", {} FROM {}) AS s USING " TC__CH_SERIES,
                       tc_grow_slice(&series), ch->series.name);
    }
    memcpy(fields + count, texts, text_count * sizeof texts[0]);
    count += text_count;
    if (text_count == 0) {
        fields[count++] = (struct tc__ch_field){TC__CH_NUMBER, SIZE_MAX};
    }
    g->failed |= facts.failed || series.failed;
    tc_grow_fini(&facts);
    tc_grow_fini(&series);
    return count;
}

size_t tc__ch_put_fetch(const struct tc__ch *ch, struct tc_grow *g, enum tc_table table,
                        const struct tc__ch_scan *scan, struct tc__ch_field *fields)
{
    size_t count = 0;
    if (table == TC_TABLE_SLICE) {
        count = put_slices(ch, g, scan, fields);
    } else {
        tc_grow_lit(g, "SELECT ");
        count = put_columns(g, &ch->layouts[table], scan, fields, 0);
        put_where(ch, g, table, scan);
    }
    tc_grow_lit(g, " FORMAT RowBinary");
    return count;
}

struct taking {
    struct tc__ch_into into;
    uint64_t rows;
    bool needs_run;
};

/* The local database looks for the run of rows that have none: not when nobody asks for it. */
static tc_status take(void *context, struct tc_rows *rows, struct tc_error *err)
{
    struct taking *t = context;
    size_t run =
        t->into.table == TC_TABLE_SLICE ? (size_t)TC_SLICE_RUN_ID : (size_t)TC_REQUEST_RUN_ID;
    t->rows += rows->count;
    if (t->rows > ROWS_MAX) {
        return tc_fail(err, TC_E_LIMIT, 0,
                       "the query reads more than 50 million rows of %s out of ClickHouse; say "
                       "which run_id, metric or time is meant",
                       tc_table_info(t->into.table)->name);
    }
    for (size_t i = 0; !t->needs_run && i < rows->count; i++) {
        tc_rows_seek(rows, i);
        tc_status status = tc_rows_text(rows, run, TC_LIT("-"));
        if (status != TC_OK) {
            return tc_fail(err, status, 0, "no memory for rows of ClickHouse");
        }
    }
    return tc__ch_take_local(&t->into, rows, err);
}

static tc_status fill(struct tc__ch *ch, enum tc_table table, const struct tc__ch_scan *scan,
                      struct tc_slice sql, const struct tc__ch_field *fields, size_t count,
                      struct tc_error *err)
{
    struct tc_forget all = {.table = table, .before_us = INT64_MIN};
    struct taking taking = {.into = {ch, table}, .needs_run = scan->needs_run};
    struct tc__ch_reader reader = {.fields = fields,
                                   .field_count = count,
                                   .rows = tc_rows_create(table),
                                   .take = take,
                                   .context = &taking,
                                   .err = err};
    uint64_t gone = 0;
    tc_status status = reader.rows == NULL ? tc_fail(err, TC_E_NOMEM, 0, "no memory for rows")
                                           : tc__engine_duckdb.forget(ch->local, &all, &gone, err);
    status = status == TC_OK ? tc__ch_select(&ch->client, sql, tc__ch_reader_take, &reader, err)
                             : status;
    tc_status end = tc__ch_reader_end(&reader);
    tc_rows_destroy(reader.rows);
    return status == TC_OK ? end : status;
}

tc_status tc__ch_fetch(struct tc__ch *ch, enum tc_table table, const struct tc__ch_scan *scan,
                       struct tc_error *err)
{
    struct tc__ch_field fields[TC_TABLE_COLUMNS_MAX + 1];
    struct tc__ch_part *part = &ch->parts[table];
    struct tc_grow sql = {0};
    if (ch->in_transaction) {
        TC_TRY(tc__ch_flush(ch, table, err)); /* what this transaction brings is part of it */
    }
    size_t count = tc__ch_put_fetch(ch, &sql, table, scan, fields);
    if (sql.failed || scan->where.failed || scan->where_texts.failed) {
        tc_grow_fini(&sql);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a query");
    }
    if (part->there && tc_slice_eq(tc_grow_slice(&sql), tc_grow_slice(&part->sql)) &&
        memcmp(&part->state, &ch->states[table], sizeof part->state) == 0) {
        tc_grow_fini(&sql);
        return TC_OK;
    }
    part->there = false;
    tc_grow_fini(&part->sql);
    part->sql = sql;
    part->state = ch->states[table];
    tc_status status = ch->in_transaction ? TC_OK : tc__engine_duckdb.begin(ch->local, err);
    TC_TRY(status);
    status = fill(ch, table, scan, tc_grow_slice(&part->sql), fields, count, err);
    if (!ch->in_transaction && status == TC_OK) {
        status = tc__engine_duckdb.commit(ch->local, err);
    } else if (!ch->in_transaction) {
        tc__engine_duckdb.rollback(ch->local);
    }
    part->there = status == TC_OK;
    return status;
}
