/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows on their way. Each table has a block that is filled; one that is full is sent by another
 * thread, while the next is filled. That thread tries once. What is to be sent again is sent by the
 * owner of the transaction, under another number.
 */
#include "base/format.h"
#include "warehouse/clickhouse/clickhouse_priv.h"

#include <stdlib.h>
#include <string.h>

/* The more rows a block has, the less the server has to merge. Two of them are in memory. */
#define BLOCK_ROWS 300000
#define BLOCK_BYTES ((size_t)48 << 20)

static tc_status no_memory(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory for rows on their way to ClickHouse");
}

static void put_insert(struct tc_grow *sql, const struct tc__ch_layout *l)
{
    tc_buf_reset(&sql->buf);
    tc_grow_format(sql, "INSERT INTO {} (", l->name);
    for (size_t i = 0; i < l->column_count; i++) {
        tc_grow_format(sql, "{}`{}`", i == 0 ? "" : ", ", l->columns[i].name);
    }
    tc_grow_lit(sql, ") FORMAT Native");
}

/* The statement and its rows, as they are sent, without a number. The block is empty again. */
static tc_status prepare(struct tc__ch *ch, struct tc__ch_block *block,
                         const struct tc__ch_layout *layout, struct tc_error *err)
{
    struct tc__ch_flight *f = &ch->flight;
    put_insert(&f->sql, layout);
    tc_buf_reset(&f->body.buf);
    tc__ch_block_put(&f->body, block, layout, &ch->strands, &f->ids);
    f->row_count = block->row_count;
    tc__ch_block_reset(block, layout);
    if (f->sql.failed || f->body.failed) {
        f->sql.failed = false;
        f->body.failed = false;
        return no_memory(err);
    }
    return TC_OK;
}

static tc_status number(struct tc__ch *ch, struct tc_error *err)
{
    struct tc__ch_flight *f = &ch->flight;
    TC_TRY(tc__ch_next_id(ch, &f->id, err));
    tc__ch_block_number(&f->body, f->ids, f->id);
    return TC_OK;
}

/* What is prepared, until it is there; each attempt is another block. */
static tc_status send_prepared(struct tc__ch *ch, struct tc__ch_wait *wait, struct tc_error *err)
{
    struct tc__ch_flight *f = &ch->flight;
    tc_status status;
    do {
        TC_TRY(number(ch, err));
        status = tc__ch_insert(&f->client, tc_grow_slice(&f->sql), tc_grow_slice(&f->body), err);
    } while (status == TC_E_AGAIN && tc__ch_wait(&ch->client, wait, err));
    return status == TC_E_AGAIN ? err->status : status;
}

static tc_status note_sent(struct tc__ch *ch, enum tc_table table, struct tc_error *err)
{
    struct tc__ch_entry entry = {
        .kind = TC__CH_ROWS, .table = table, .id = ch->flight.id, .rows = ch->flight.row_count};
    return tc__ch_add_entry(ch, &entry, err);
}

/* ---- in another thread ---- */

static void *fly(void *context)
{
    struct tc__ch_flight *f = context;
    f->status = tc__ch_insert(&f->client, tc_grow_slice(&f->sql), tc_grow_slice(&f->body), &f->err);
    return NULL;
}

/* Waits for the block that is being sent. */
static tc_status land(struct tc__ch *ch, struct tc_error *err)
{
    struct tc__ch_flight *f = &ch->flight;
    struct tc__ch_wait wait = {0};
    if (!f->is_on) {
        return TC_OK;
    }
    (void)pthread_join(f->thread, NULL);
    f->is_on = false;
    tc_status status = f->status;
    if (status != TC_OK) {
        *err = f->err;
    }
    if (status == TC_E_AGAIN) {
        status = tc__ch_wait(&ch->client, &wait, err) ? send_prepared(ch, &wait, err) : err->status;
    }
    return status == TC_OK ? note_sent(ch, f->table, err) : status;
}

/* A block that is full: on its way when this returns. */
static tc_status launch(struct tc__ch *ch, enum tc_table table, struct tc_error *err)
{
    struct tc__ch_flight *f = &ch->flight;
    f->table = table;
    TC_TRY(prepare(ch, &ch->lanes[table], &ch->layouts[table], err));
    TC_TRY(number(ch, err));
    f->is_on = pthread_create(&f->thread, NULL, fly, f) == 0;
    return f->is_on ? TC_OK : tc_fail(err, TC_E_NOMEM, 0, "no thread to send rows to ClickHouse");
}

/* ---- blocks ---- */

static tc_status flush_series(struct tc__ch *ch, struct tc_error *err)
{
    struct tc__ch_wait wait = {0};
    if (ch->series_lane.row_count == 0) {
        return TC_OK;
    }
    /* A series is the same wherever it comes from: sent twice it is one row. */
    TC_TRY(prepare(ch, &ch->series_lane, &ch->series, err));
    return send_prepared(ch, &wait, err);
}

tc_status tc__ch_flush(struct tc__ch *ch, enum tc_table table, struct tc_error *err)
{
    struct tc__ch_block *lane = &ch->lanes[table];
    struct tc__ch_wait wait = {0};
    TC_TRY(land(ch, err));
    if (lane->row_count == 0) {
        return TC_OK;
    }
    if (table == TC_TABLE_SLICE) {
        TC_TRY(flush_series(ch, err));
    }
    TC_TRY(prepare(ch, lane, &ch->layouts[table], err));
    TC_TRY(send_prepared(ch, &wait, err));
    return note_sent(ch, table, err);
}

/* ---- rows ---- */

/* The series of a new strand, if it was not sent. */
static tc_status add_series(struct tc__ch *ch, const struct tc_rows *rows, size_t row,
                            uint64_t series, struct tc_error *err)
{
    struct tc__scope_key key = {0, series};
    if (tc__scope_map_get(&ch->sent, key) != 0) {
        return TC_OK;
    }
    return tc__ch_block_add(&ch->series_lane, &ch->series, rows, series, row, 1) &&
                   tc__scope_map_put(&ch->sent, key, 1) == TC_OK
               ? TC_OK
               : no_memory(err);
}

/* Which strand each slice is of. */
static tc_status join_strands(struct tc__ch *ch, const struct tc_rows *rows, struct tc_error *err)
{
    struct tc__ch_block *lane = &ch->lanes[TC_TABLE_SLICE];
    uint32_t numbers[TC_ROWS_MAX];
    if (lane->row_count == 0 && tc__ch_strands_are_many(&ch->strands)) {
        tc__ch_strands_reset(&ch->strands);
    }
    size_t known = ch->strands.count;
    TC_TRY(tc__ch_strands_of(&ch->strands, &ch->series, rows, numbers, err));
    for (size_t i = 0; i < rows->count; i++) {
        if (numbers[i] >= known) {
            TC_TRY(add_series(ch, rows, i, ch->strands.items[numbers[i]].series, err));
        }
    }
    return tc__ch_block_join(lane, &ch->strands, numbers, rows->count) ? TC_OK : no_memory(err);
}

tc_status tc__ch_append(void *engine, enum tc_table table, const struct tc_rows *rows,
                        struct tc_error *err)
{
    struct tc__ch *ch = engine;
    struct tc__ch_block *lane = &ch->lanes[table];
    if (table == TC_TABLE_SLICE) {
        TC_TRY(join_strands(ch, rows, err));
    }
    if (!tc__ch_block_add(lane, &ch->layouts[table], rows, 0, 0, rows->count)) {
        return no_memory(err);
    }
    if (lane->row_count >= BLOCK_ROWS ||
        tc__ch_block_bytes(lane, &ch->layouts[table]) >= BLOCK_BYTES) {
        TC_TRY(land(ch, err));
        TC_TRY(table == TC_TABLE_SLICE ? flush_series(ch, err) : TC_OK);
        TC_TRY(launch(ch, table, err));
    }
    return tc__ch_is_large(table) ? TC_OK : tc__engine_duckdb.append(ch->local, table, rows, err);
}

void tc__ch_lanes_reset(struct tc__ch *ch)
{
    struct tc__ch_flight *f = &ch->flight;
    if (f->is_on) {
        (void)pthread_join(f->thread, NULL);
        f->is_on = false;
    }
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        tc__ch_block_reset(&ch->lanes[i], &ch->layouts[i]);
    }
    tc__ch_block_reset(&ch->series_lane, &ch->series);
    tc__scope_map_reset(&ch->sent);
    tc__ch_strands_reset(&ch->strands);
}

void tc__ch_lanes_fini(struct tc__ch *ch)
{
    tc__ch_lanes_reset(ch);
    tc__ch_client_close(&ch->flight.client);
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        tc__ch_block_fini(&ch->lanes[i]);
    }
    tc__ch_block_fini(&ch->series_lane);
    tc_grow_fini(&ch->flight.sql);
    tc_grow_fini(&ch->flight.body);
}
