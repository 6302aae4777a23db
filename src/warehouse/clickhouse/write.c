/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions on a server that has none. Rows are sent in blocks, each with a number of its own
 * that was never used before. Nobody sees a block until the ledger names it, and the ledger gets
 * all blocks of a transaction with one insert, which ClickHouse does wholly or not at all. A block
 * whose fate is not known (the server died, the connection broke) is sent again under another
 * number, so it does not matter whether the first one arrived. The ledger's lines may be sent again
 * as they are: it is a set.
 */
#include "base/clock.h"
#include "base/format.h"
#include "base/json/out.h"
#include "warehouse/clickhouse/clickhouse_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define ENTRIES_MAX ((size_t)1 << 20)
/* Lines of the ledger in one statement. More would be no longer one insert for ClickHouse. */
#define LEDGER_BYTES_MAX ((size_t)64 << 20)

static tc_status no_memory(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory for rows on their way to ClickHouse");
}

tc_status tc__ch_next_id(struct tc__ch *ch, uint64_t *out, struct tc_error *err)
{
    uint32_t chance = 0;
    if (getrandom(&chance, sizeof chance, 0) != (ssize_t)sizeof chance) {
        return tc_fail(err, TC_E_IO, 0, "the system gives no random numbers");
    }
    uint64_t id = (uint64_t)(tc_wall_ns() / 1000000) << TC__CH_CHANCE_BITS |
                  (chance & ((UINT32_C(1) << TC__CH_CHANCE_BITS) - 1));
    ch->last_id = id > ch->last_id ? id : ch->last_id + 1;
    *out = ch->last_id;
    return TC_OK;
}

tc_status tc__ch_add_entry(struct tc__ch *ch, const struct tc__ch_entry *entry,
                           struct tc_error *err)
{
    if (tc_grow_items(ch->entries, ch->entry_cap, ch->entry_count + 1, ENTRIES_MAX) != TC_OK) {
        return no_memory(err);
    }
    ch->entries[ch->entry_count++] = *entry;
    return TC_OK;
}

/* ---- rows that go ---- */

/* How many blocks were dropped so far. */
static tc_status count_drops(struct tc__ch *ch, uint64_t *out, struct tc_error *err)
{
    struct tc_grow sql = {0};
    *out = 0;
    tc_grow_format(&sql,
                   "SELECT count() FROM " TC__CH_LEDGER " WHERE kind = {} FORMAT TabSeparated",
                   (int)TC__CH_DROP);
    tc_status status =
        sql.failed ? no_memory(err) : tc__ch_int(&ch->client, tc_grow_slice(&sql), out, err);
    tc_grow_fini(&sql);
    return status;
}

/* Rows of a dropped block that stay were written anew: not by two at a time. */
static tc_status check_drops(struct tc__ch *ch, struct tc_error *err)
{
    uint64_t now = 0;
    if (ch->drop_count == 0) {
        return TC_OK;
    }
    TC_TRY(count_drops(ch, &now, err));
    return now == ch->drops_seen ? TC_OK
                                 : tc_fail(err, TC_E_USAGE, 0,
                                           "somebody else forgets rows in this ClickHouse at the "
                                           "same time; nothing was changed, try again");
}

static void put_forget(struct tc_grow *g, const struct tc_forget *what)
{
    const struct tc_table_info *info = tc_table_info(what->table);
    size_t room = 512;
    for (size_t i = 0; i < what->key_count; i++) {
        room += 6 * what->keys[i].len + 4;
    }
    if (!tc_grow_room(g, room)) {
        return;
    }
    struct tc_buf *b = &g->buf;
    tc_buf_char(b, '{');
    if (what->key_count > 0) {
        (void)tc_format(b, "\"key\":\"{}\",\"keys\":[", info->columns[what->key_column].name);
        for (size_t i = 0; i < what->key_count; i++) {
            tc_buf_str(b, i == 0 ? TC_EMPTY : TC_LIT(","));
            tc_buf_json(b, what->keys[i]);
        }
        tc_buf_lit(b, "],");
    }
    if (what->before_us != INT64_MIN) {
        (void)tc_format(b, "\"time\":\"{}\",\"before\":{},", info->columns[what->time_column].name,
                        what->before_us);
    }
    if (what->want_null) {
        (void)tc_format(b, "\"null\":\"{}\",", info->columns[what->null_column].name);
    }
    tc_buf_lit(b, "\"version\":1}");
}

tc_status tc__ch_forget(void *engine, const struct tc_forget *what, uint64_t *out_count,
                        struct tc_error *err)
{
    struct tc__ch *ch = engine;
    struct tc__ch_entry entry = {.kind = TC__CH_FORGET, .table = what->table};
    /* What was appended before goes too. */
    TC_TRY(tc__ch_flush(ch, what->table, err));
    if (tc__ch_is_large(what->table)) {
        return tc__ch_forget_large(ch, what, out_count, err);
    }
    TC_TRY(tc__ch_next_id(ch, &entry.id, err));
    put_forget(&entry.detail, what);
    tc_status status = entry.detail.failed
                           ? no_memory(err)
                           : tc__engine_duckdb.forget(ch->local, what, out_count, err);
    if (status == TC_OK && *out_count > 0) {
        status = tc__ch_add_entry(ch, &entry, err);
        entry.detail = status == TC_OK ? (struct tc_grow){0} : entry.detail;
    }
    tc_grow_fini(&entry.detail);
    return status;
}

/* A block that this transaction has sent: its line is taken back. */
static bool take_back(struct tc__ch *ch, uint64_t id)
{
    for (size_t i = 0; id > ch->begun_id && i < ch->entry_count; i++) {
        if (ch->entries[i].id == id && ch->entries[i].kind == TC__CH_ROWS) {
            ch->entries[i] = ch->entries[--ch->entry_count];
            return true;
        }
    }
    return false;
}

tc_status tc__ch_drop(struct tc__ch *ch, enum tc_table table, uint64_t id, uint64_t rows,
                      struct tc_error *err)
{
    struct tc__ch_entry entry = {.id = id, .kind = TC__CH_DROP, .table = table, .rows = rows};
    if (take_back(ch, id)) {
        return TC_OK;
    }
    if (ch->drop_count++ == 0) {
        TC_TRY(count_drops(ch, &ch->drops_seen, err));
    }
    return tc__ch_add_entry(ch, &entry, err);
}

/* ---- transactions ---- */

static void drop_entries(struct tc__ch *ch)
{
    ch->drop_count = 0;
    for (size_t i = 0; i < ch->entry_count; i++) {
        tc_grow_fini(&ch->entries[i].detail);
    }
    ch->entry_count = 0;
}

tc_status tc__ch_begin(void *engine, struct tc_error *err)
{
    struct tc__ch *ch = engine;
    bool wanted[TC_TABLE_COUNT];
    memset(wanted, true, sizeof wanted);
    tc__ch_client_calm(&ch->client);
    tc__ch_client_calm(&ch->flight.client);
    ch->looked_ns = 0;
    TC_TRY(tc__ch_look(ch, err));
    TC_TRY(tc__ch_refresh(ch, wanted, err));
    TC_TRY(tc__engine_duckdb.begin(ch->local, err));
    ch->begun_id = ch->last_id;
    ch->in_transaction = true;
    return TC_OK;
}

void tc__ch_rollback(void *engine)
{
    struct tc__ch *ch = engine;
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        ch->parts[i].there = false; /* it may have been filled within the transaction */
    }
    tc__ch_lanes_reset(ch);
    drop_entries(ch);
    ch->in_transaction = false;
    ch->looked_ns = 0;
    tc__engine_duckdb.rollback(ch->local);
}

/* One statement: its lines are one block, which is there or not. */
static tc_status write_ledger(struct tc__ch *ch, struct tc_error *err)
{
    struct tc_grow sql = {0};
    uint64_t batch = 0;
    TC_TRY(tc__ch_next_id(ch, &batch, err));
    tc_grow_lit(&sql, "INSERT INTO " TC__CH_LEDGER " (tbl, id, batch, kind, rows, detail) VALUES");
    for (size_t i = 0; i < ch->entry_count; i++) {
        const struct tc__ch_entry *e = &ch->entries[i];
        tc_grow_format(&sql, "{} ('{}', {}, {}, {}, {}, ", i == 0 ? "" : ",",
                       tc_table_info(e->table)->name, e->id, batch, (int)e->kind, e->rows);
        tc__ch_put_text(&sql, tc_grow_slice(&e->detail));
        tc_grow_lit(&sql, ")");
    }
    tc_status status = sql.failed ? no_memory(err)
                       : sql.buf.len > LEDGER_BYTES_MAX
                           ? tc_fail(err, TC_E_LIMIT, 0, "too much for one transaction")
                           : tc__ch_run(&ch->client, tc_grow_slice(&sql), err);
    tc_grow_fini(&sql);
    return status;
}

/* The rows are gone for all who ask; that they still take space is no reason to fail. */
static void tidy(struct tc__ch *ch)
{
    struct tc_error err = {0};
    if (tc__ch_tidy(ch, &err) != TC_OK && ch->client.says != NULL) {
        char text[TC_ERROR_MESSAGE_MAX + 96];
        (void)snprintf(text, sizeof text,
                       "the rows are forgotten; their space is freed next time, now it failed: %s",
                       err.message);
        ch->client.says(ch->client.says_context, text);
    }
}

tc_status tc__ch_commit(void *engine, struct tc_error *err)
{
    struct tc__ch *ch = engine;
    tc_status status = TC_OK;
    for (size_t i = 0; i < TC_TABLE_COUNT && status == TC_OK; i++) {
        status = tc__ch_flush(ch, (enum tc_table)i, err);
    }
    status = status == TC_OK ? check_drops(ch, err) : status;
    if (status == TC_OK && ch->entry_count > 0) {
        status = write_ledger(ch, err);
    }
    if (status != TC_OK) {
        tc__ch_rollback(ch);
        return status;
    }
    for (size_t i = 0; i < ch->entry_count; i++) {
        tc__ch_mirror_add(ch, &ch->entries[i]);
        ch->parts[ch->entries[i].table].there = false;
    }
    bool has_drops = ch->drop_count > 0;
    drop_entries(ch);
    ch->in_transaction = false;
    ch->looked_ns = 0;
    TC_TRY(tc__engine_duckdb.commit(ch->local, err));
    if (has_drops) {
        tidy(ch);
    }
    return TC_OK;
}

void tc__ch_write_fini(struct tc__ch *ch)
{
    tc__ch_lanes_fini(ch);
    drop_entries(ch);
    free(ch->entries);
}
