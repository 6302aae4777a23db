/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nobody sees any more goes from the disks, on each host: a month that has nothing else is
 * dropped; of one that has, rows are deleted when they are many. Lines of the ledger about blocks
 * of which no row is left go too. All of it may be done twice, and be left at any point.
 */
#include "base/clock.h"
#include "base/format.h"
#include "base/time.h"
#include "warehouse/clickhouse/clickhouse_priv.h"

#include <stdlib.h>

#define MONTHS_MAX 4096
/* Lines of the ledger that one statement deletes. */
#define LINES_MAX 50000
/* Rows of a month are deleted when they are one in so many: all its rows are written anew for it.
 */
#define PART_OF_MONTH 4
/* No transaction takes that long: a block that the ledger does not name by then is of one that
 * ended. */
#define STALE_MS (INT64_C(24) * 3600 * 1000)

struct tidying {
    struct tc__ch *ch;
    struct tc__ch_client *client; /* of the host */
    enum tc_table table;
    const char *suffix;
    struct tc_grow whole;  /* statements of months that go, each with a line break */
    struct tc_grow months; /* of which some rows go: "202511, 202512" */
};

static tc_status no_memory(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory to free space");
}

/* Finishes a statement, and runs it. */
static tc_status run(struct tc__ch_client *client, struct tc_grow *sql, struct tc_error *err)
{
    tc_status status = sql->failed ? no_memory(err) : tc__ch_run(client, tc_grow_slice(sql), err);
    tc_grow_fini(sql);
    return status;
}

/* Rows of dropped blocks, and of transactions that never ended. The database is named: what
 * deletes rows runs later, without ours. */
static void put_dead(const struct tidying *t, struct tc_grow *g)
{
    const char *name = tc_table_info(t->table)->name;
    const char *database = t->ch->url.database;
    int64_t stale = (tc_wall_ns() / 1000000 - STALE_MS) << TC__CH_CHANCE_BITS;
    tc_grow_format(g,
                   "(" TC__CH_BLOCK " IN (SELECT id FROM {}." TC__CH_LEDGER
                   " WHERE tbl = '{}' AND kind = {}) OR (" TC__CH_BLOCK " < {} AND " TC__CH_BLOCK
                   " NOT IN (SELECT id FROM {}." TC__CH_LEDGER " WHERE tbl = '{}')))",
                   database, name, (int)TC__CH_DROP, stale, database, name);
}

/* ---- months ---- */

static const struct tc_column MONTH_COLUMNS[] = {{.name = "month", .type = TC_COLUMN_INT},
                                                 {.name = "rows", .type = TC_COLUMN_INT},
                                                 {.name = "dead", .type = TC_COLUMN_INT}};
static const struct tc__ch_field MONTH_FIELDS[] = {
    {TC__CH_NUMBER, 0}, {TC__CH_NUMBER, 1}, {TC__CH_NUMBER, 2}};

static tc_status take_months(void *context, struct tc_rows *rows, struct tc_error *err)
{
    struct tidying *t = context;
    for (size_t i = 0; i < rows->count; i++) {
        int64_t month = tc_rows_get_int(rows, 0, i);
        int64_t all = tc_rows_get_int(rows, 1, i);
        int64_t dead = tc_rows_get_int(rows, 2, i);
        if (dead == all) {
            tc_grow_format(&t->whole, "ALTER TABLE {}{} DROP PARTITION {}\n",
                           t->ch->layouts[t->table].name, t->suffix, month);
        } else if (dead >= all / PART_OF_MONTH) {
            tc_grow_format(&t->months, "{}{}", t->months.buf.len == 0 ? "" : ", ", month);
        }
    }
    return t->whole.failed || t->months.failed ? no_memory(err) : TC_OK;
}

static tc_status find_months(struct tidying *t, struct tc_error *err)
{
    const struct tc__ch_layout *l = &t->ch->layouts[t->table];
    struct tc_grow sql = {0};
    tc_grow_format(&sql, "SELECT toUInt64({}) AS m, count() AS c, countIf(", l->partition);
    put_dead(t, &sql);
    tc_grow_format(&sql,
                   ") AS d FROM {}{} GROUP BY m HAVING d > 0 ORDER BY m LIMIT {} FORMAT RowBinary",
                   l->name, t->suffix, MONTHS_MAX);
    struct tc__ch_reader reader = {.fields = MONTH_FIELDS,
                                   .field_count = TC_COUNT(MONTH_FIELDS),
                                   .rows =
                                       tc_rows_create_for(MONTH_COLUMNS, TC_COUNT(MONTH_COLUMNS)),
                                   .take = take_months,
                                   .context = t,
                                   .err = err};
    tc_status status =
        sql.failed || reader.rows == NULL
            ? no_memory(err)
            : tc__ch_select(t->client, tc_grow_slice(&sql), tc__ch_reader_take, &reader, err);
    tc_status end = tc__ch_reader_end(&reader);
    tc_rows_destroy(reader.rows);
    tc_grow_fini(&sql);
    return status == TC_OK ? end : status;
}

/* Deletes rows of those months. The server does it when it likes, part by part. */
static tc_status delete_rows(struct tidying *t, struct tc_error *err)
{
    const struct tc__ch_layout *l = &t->ch->layouts[t->table];
    struct tc_grow ask = {0};
    struct tc_grow sql = {0};
    uint64_t running = 0;
    tc_grow_format(&ask,
                   "SELECT count() FROM system.mutations WHERE database = '{}' AND table = '{}{}' "
                   "AND NOT is_done FORMAT TabSeparated",
                   t->ch->url.database, l->name, t->suffix);
    tc_status status =
        ask.failed ? no_memory(err) : tc__ch_int(t->client, tc_grow_slice(&ask), &running, err);
    tc_grow_fini(&ask);
    if (status != TC_OK || running > 0) {
        return status;
    }
    tc_grow_format(&sql, "ALTER TABLE {}{} DELETE WHERE {} IN ({}) AND ", l->name, t->suffix,
                   l->partition, tc_grow_slice(&t->months));
    put_dead(t, &sql);
    return run(t->client, &sql, err);
}

static tc_status tidy_table(struct tidying *t, struct tc_error *err)
{
    tc_status status = find_months(t, err);
    struct tc_slice rest = tc_grow_slice(&t->whole);
    while (status == TC_OK && rest.len > 0) {
        status = tc__ch_run(t->client, tc_slice_cut(rest, '\n', &rest), err);
    }
    if (status == TC_OK && t->months.buf.len > 0) {
        status = delete_rows(t, err);
    }
    tc_grow_fini(&t->whole);
    tc_grow_fini(&t->months);
    return status;
}

/* ---- the ledger ---- */

static tc_status take_lines(void *context, struct tc_rows *rows, struct tc_error *err)
{
    struct tc_grow *g = context;
    for (size_t i = 0; i < rows->count; i++) {
        tc_grow_format(g, "{}{}", g->buf.len == 0 ? "" : ", ",
                       (uint64_t)tc_rows_get_int(rows, 0, i));
    }
    return g->failed ? no_memory(err) : TC_OK;
}

/* Blocks that were dropped and of which no row is left anywhere. */
static tc_status find_lines(struct tc__ch *ch, enum tc_table table, struct tc_grow *out,
                            struct tc_error *err)
{
    static const struct tc_column column = {.name = "id", .type = TC_COLUMN_INT};
    static const struct tc__ch_field field = {TC__CH_NUMBER, 0};
    struct tc_grow sql = {0};
    tc_grow_format(
        &sql,
        "SELECT DISTINCT id FROM " TC__CH_LEDGER
        " WHERE tbl = '{}' AND kind = {} AND id GLOBAL NOT IN (SELECT DISTINCT " TC__CH_BLOCK
        " FROM {}) LIMIT {} FORMAT RowBinary",
        tc_table_info(table)->name, (int)TC__CH_DROP, ch->layouts[table].name, LINES_MAX);
    tc_status status = sql.failed
                           ? no_memory(err)
                           : tc__ch_ask(ch, tc_grow_slice(&sql), tc_rows_create_for(&column, 1),
                                        &field, 1, take_lines, out, err);
    tc_grow_fini(&sql);
    return status;
}

static tc_status delete_lines(struct tidying *t, struct tc_slice lines, struct tc_error *err)
{
    struct tc_grow sql = {0};
    tc_grow_format(&sql, "ALTER TABLE " TC__CH_LEDGER "{} DELETE WHERE tbl = '{}' AND id IN ({})",
                   t->suffix, tc_table_info(t->table)->name, lines);
    return run(t->client, &sql, err);
}

/* ---- hosts ---- */

static tc_status on_each(struct tc__ch *ch, enum tc_table table, struct tc_slice lines,
                         struct tc_error *err)
{
    const char *suffix = ch->url.cluster[0] == '\0' ? "" : "_shard";
    for (size_t i = 0; i < ch->url.host_count; i++) {
        struct tc__ch_client client;
        struct tidying t = {.ch = ch, .client = &client, .table = table, .suffix = suffix};
        tc_status status = tc__ch_client_open(&client, &ch->url, i, &ch->config, err);
        status = status != TC_OK  ? status
                 : lines.len == 0 ? tidy_table(&t, err)
                                  : delete_lines(&t, lines, err);
        tc__ch_client_close(&client);
        TC_TRY(status);
    }
    return TC_OK;
}

tc_status tc__ch_tidy(struct tc__ch *ch, struct tc_error *err)
{
    static const enum tc_table tables[] = {TC_TABLE_SLICE, TC_TABLE_REQUEST};
    for (size_t i = 0; i < TC_COUNT(tables); i++) {
        struct tc_grow lines = {0};
        tc_status status = on_each(ch, tables[i], TC_EMPTY, err);
        status = status == TC_OK ? find_lines(ch, tables[i], &lines, err) : status;
        if (status == TC_OK && lines.buf.len > 0) {
            status = on_each(ch, tables[i], tc_grow_slice(&lines), err);
        }
        tc_grow_fini(&lines);
        TC_TRY(status);
    }
    return TC_OK;
}
