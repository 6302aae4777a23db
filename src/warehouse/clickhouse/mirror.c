/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small tables (all but slices and requests) are whole in the local database. The ledger says
 * what belongs to them: entries in the order of their numbers, blocks of rows and what was
 * forgotten of those before. New entries behind those that are here are added; anything else, such
 * as a writer that was slow, and the table is read anew.
 */
#include "base/clock.h"
#include "base/format.h"
#include "warehouse/clickhouse/clickhouse_priv.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX ((size_t)1 << 24)
#define KEYS_MAX ((size_t)1 << 20)
#define LIST_TRIES 3
/* One answer to a person is made of many queries: so long the ledger is not asked again. */
#define LOOK_FOR (TC_SECOND / 10)

/* ---- what the ledger says ---- */

static const struct tc_column LOOK_COLUMNS[] = {
    {.name = "tbl", .type = TC_COLUMN_TEXT},
    {.name = "count", .type = TC_COLUMN_INT},
    {.name = "mix", .type = TC_COLUMN_INT},
    {.name = "last", .type = TC_COLUMN_INT},
};
static const struct tc__ch_field LOOK_FIELDS[] = {
    {TC__CH_WORD, 0}, {TC__CH_NUMBER, 1}, {TC__CH_NUMBER, 2}, {TC__CH_NUMBER, 3}};

static tc_status take_look(void *context, struct tc_rows *rows, struct tc_error *err)
{
    struct tc__ch *ch = context;
    enum tc_table table;
    (void)err;
    for (size_t i = 0; i < rows->count; i++) {
        uint64_t last = (uint64_t)tc_rows_get_int(rows, 3, i);
        ch->last_id = last > ch->last_id ? last : ch->last_id;
        if (!tc_rows_is_null(rows, 0, i) && tc_table_parse(tc_rows_get_text(rows, 0, i), &table)) {
            ch->states[table] = (struct tc__ch_state){(uint64_t)tc_rows_get_int(rows, 1, i),
                                                      (uint64_t)tc_rows_get_int(rows, 2, i)};
        }
    }
    return TC_OK;
}

tc_status tc__ch_ask(struct tc__ch *ch, struct tc_slice sql, struct tc_rows *rows,
                     const struct tc__ch_field *fields, size_t count, tc__ch_take_fn take,
                     void *context, struct tc_error *err)
{
    struct tc__ch_reader reader = {.fields = fields,
                                   .field_count = count,
                                   .rows = rows,
                                   .take = take,
                                   .context = context,
                                   .err = err};
    if (rows == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for rows");
    }
    tc_status status = tc__ch_select(&ch->client, sql, tc__ch_reader_take, &reader, err);
    tc_status end = tc__ch_reader_end(&reader);
    tc_rows_destroy(rows);
    return status == TC_OK ? end : status;
}

tc_status tc__ch_look(struct tc__ch *ch, struct tc_error *err)
{
    if (ch->looked_ns != 0 && tc_mono_ns() - ch->looked_ns < LOOK_FOR) {
        return TC_OK;
    }
    memset(ch->states, 0, sizeof ch->states);
    TC_TRY(tc__ch_ask(
        ch,
        TC_LIT("SELECT tbl, count() AS c, groupBitXor(id) AS m, max(id) AS l FROM " TC__CH_LEDGER
               " GROUP BY tbl FORMAT RowBinary"),
        tc_rows_create_for(LOOK_COLUMNS, TC_COUNT(LOOK_COLUMNS)), LOOK_FIELDS,
        TC_COUNT(LOOK_FIELDS), take_look, ch, err));
    ch->looked_ns = tc_mono_ns();
    return TC_OK;
}

/* ---- the entries of a table ---- */

struct listed {
    struct tc__ch_entry *items;
    size_t count;
    size_t cap;
};

static const struct tc_column ENTRY_COLUMNS[] = {
    {.name = "id", .type = TC_COLUMN_INT},
    {.name = "kind", .type = TC_COLUMN_INT},
    {.name = "rows", .type = TC_COLUMN_INT},
    {.name = "detail", .type = TC_COLUMN_TEXT},
};
static const struct tc__ch_field ENTRY_FIELDS[] = {
    {TC__CH_NUMBER, 0}, {TC__CH_NUMBER, 1}, {TC__CH_NUMBER, 2}, {TC__CH_WORD, 3}};

static tc_status take_entries(void *context, struct tc_rows *rows, struct tc_error *err)
{
    struct listed *l = context;
    if (tc_grow_items(l->items, l->cap, l->count + rows->count, ENTRIES_MAX) != TC_OK) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the ledger");
    }
    for (size_t i = 0; i < rows->count; i++) {
        struct tc__ch_entry *e = &l->items[l->count++];
        *e = (struct tc__ch_entry){
            .id = (uint64_t)tc_rows_get_int(rows, 0, i),
            .kind = tc_rows_get_int(rows, 1, i) == TC__CH_FORGET ? TC__CH_FORGET : TC__CH_ROWS,
            .rows = (uint64_t)tc_rows_get_int(rows, 2, i)};
        if (!tc_rows_is_null(rows, 3, i)) {
            tc_grow_str(&e->detail, tc_rows_get_text(rows, 3, i));
        }
    }
    return TC_OK;
}

static void drop_list(struct listed *l)
{
    for (size_t i = 0; i < l->count; i++) {
        tc_grow_fini(&l->items[i].detail);
    }
    free(l->items);
}

static tc_status list(struct tc__ch *ch, enum tc_table table, struct listed *out,
                      struct tc_error *err)
{
    struct tc_grow sql = {0};
    tc_grow_format(&sql,
                   "SELECT DISTINCT id, kind, rows, detail FROM " TC__CH_LEDGER
                   " WHERE tbl = '{}' ORDER BY id FORMAT RowBinary",
                   tc_table_info(table)->name);
    tc_status status = tc__ch_ask(ch, tc_grow_slice(&sql),
                                  tc_rows_create_for(ENTRY_COLUMNS, TC_COUNT(ENTRY_COLUMNS)),
                                  ENTRY_FIELDS, TC_COUNT(ENTRY_FIELDS), take_entries, out, err);
    tc_grow_fini(&sql);
    return status;
}

/* ---- into the local table ---- */

tc_status tc__ch_take_local(void *context, struct tc_rows *rows, struct tc_error *err)
{
    const struct tc__ch_into *into = context;
    return tc__engine_duckdb.append(into->ch->local, into->table, rows, err);
}

/* The blocks from one entry to another. */
static tc_status read_blocks(struct tc__ch *ch, enum tc_table table,
                             const struct tc__ch_entry *from, const struct tc__ch_entry *to,
                             struct tc_error *err)
{
    const struct tc__ch_layout *l = &ch->layouts[table];
    const struct tc_table_info *info = tc_table_info(table);
    struct tc__ch_field fields[TC_TABLE_COLUMNS_MAX];
    struct tc__ch_into into = {ch, table};
    struct tc_grow sql = {0};
    uint64_t want = 0;
    for (const struct tc__ch_entry *e = from; e <= to; e++) {
        want += e->rows;
    }
    tc_grow_lit(&sql, "SELECT ");
    for (size_t i = 1; i < l->column_count; i++) {
        tc_grow_format(&sql, "{}`{}`", i == 1 ? "" : ", ", l->columns[i].name);
        fields[i - 1] = (struct tc__ch_field){l->columns[i].type, l->columns[i].from};
    }
    tc_grow_format(&sql,
                   " FROM {} WHERE " TC__CH_BLOCK " >= {} AND " TC__CH_BLOCK
                   " <= {} AND " TC__CH_BLOCK " GLOBAL IN (SELECT id FROM " TC__CH_LEDGER
                   " WHERE tbl = '{}') ORDER BY " TC__CH_BLOCK " FORMAT RowBinary",
                   l->name, from->id, to->id, info->name);
    struct tc__ch_reader reader = {.fields = fields,
                                   .field_count = l->column_count - 1,
                                   .rows = tc_rows_create(table),
                                   .take = tc__ch_take_local,
                                   .context = &into,
                                   .err = err};
    tc_status status =
        sql.failed || reader.rows == NULL
            ? tc_fail(err, TC_E_NOMEM, 0, "no memory for rows")
            : tc__ch_select(&ch->client, tc_grow_slice(&sql), tc__ch_reader_take, &reader, err);
    tc_status end = tc__ch_reader_end(&reader);
    tc_rows_destroy(reader.rows);
    tc_grow_fini(&sql);
    TC_TRY(status);
    TC_TRY(end);
    return reader.row_count == want
               ? TC_OK
               : tc_fail(err, TC_E_MALFORMED, 0,
                         "%s in ClickHouse has %llu rows where its ledger says %llu: somebody "
                         "deleted or added some",
                         info->name, (unsigned long long)reader.row_count,
                         (unsigned long long)want);
}

static size_t column_named(const struct tc_table_info *info, struct tc_slice name)
{
    size_t i = 0;
    while (i < info->column_count && !tc_slice_eq(name, tc_slice_cstr(info->columns[i].name))) {
        i++;
    }
    return i;
}

static tc_status bad_entry(struct tc_error *err)
{
    return tc_fail(err, TC_E_MALFORMED, 0,
                   "a line of " TC__CH_LEDGER " is none that this program writes");
}

static bool get_column(struct tc_json v, const char *member, const struct tc_table_info *info,
                       enum tc_column_type type, size_t *out)
{
    *out = column_named(info, tc_json_get_string(v, tc_slice_cstr(member)));
    return *out < info->column_count &&
           (type == TC_COLUMN_BOOL || info->columns[*out].type == type);
}

/* What put_forget of write.c wrote, done to the local table. */
static tc_status forget_again(struct tc__ch *ch, enum tc_table table,
                              const struct tc__ch_entry *entry, struct tc_error *err)
{
    const struct tc_table_info *info = tc_table_info(table);
    struct tc_forget what = {.table = table, .before_us = INT64_MIN};
    struct tc_slice *keys = NULL;
    size_t cap = 0;
    struct tc_json root;
    struct tc_json value;
    uint64_t gone = 0;
    bool ok = tc_json_parse(ch->parser, tc_grow_slice(&entry->detail), &root, NULL) == TC_OK;
    if (ok && tc_json_get(root, TC_LIT("keys"), &value)) {
        struct tc_json_iter it = tc_json_iter_make(value);
        struct tc_json item;
        ok = get_column(root, "key", info, TC_COLUMN_TEXT, &what.key_column);
        while (ok && tc_json_iter_next(&it, NULL, &item)) {
            ok = tc_grow_items(keys, cap, what.key_count + 1, KEYS_MAX) == TC_OK &&
                 tc_json_string(item, &keys[what.key_count]);
            what.key_count += ok;
        }
        what.keys = keys;
        ok = ok && what.key_count > 0;
    }
    if (ok && tc_json_get(root, TC_LIT("before"), &value)) {
        ok = tc_json_int(value, &what.before_us) &&
             get_column(root, "time", info, TC_COLUMN_TIME, &what.time_column);
    }
    if (ok && tc_json_get(root, TC_LIT("null"), &value)) {
        what.want_null = true;
        ok = get_column(root, "null", info, TC_COLUMN_BOOL, &what.null_column);
    }
    ok = ok && (what.key_count > 0 || what.before_us != INT64_MIN || what.want_null);
    tc_status status = ok ? tc__engine_duckdb.forget(ch->local, &what, &gone, err) : bad_entry(err);
    free(keys);
    return status;
}

/* From entry `at` on. */
static tc_status replay(struct tc__ch *ch, enum tc_table table, const struct listed *l, size_t at,
                        struct tc_error *err)
{
    while (at < l->count) {
        size_t end = at;
        while (end < l->count && l->items[end].kind == TC__CH_ROWS) {
            end++;
        }
        if (end > at) {
            TC_TRY(read_blocks(ch, table, &l->items[at], &l->items[end - 1], err));
        }
        if (end < l->count) {
            TC_TRY(forget_again(ch, table, &l->items[end], err));
            end++;
        }
        at = end;
    }
    return TC_OK;
}

static tc_status empty_local(struct tc__ch *ch, enum tc_table table, struct tc_error *err)
{
    uint64_t gone = 0;
    struct tc_forget all = {.table = table, .before_us = INT64_MIN};
    return tc__engine_duckdb.forget(ch->local, &all, &gone, err);
}

static tc_status keep_ids(struct tc__ch_mirror *m, const struct listed *l, struct tc_error *err)
{
    if (tc_grow_items(m->ids, m->cap, l->count, ENTRIES_MAX) != TC_OK) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the ledger");
    }
    for (size_t i = 0; i < l->count; i++) {
        m->ids[i] = l->items[i].id;
    }
    m->count = l->count;
    return TC_OK;
}

static bool begins_as(const struct tc__ch_mirror *m, const struct listed *l)
{
    bool same = m->count <= l->count;
    for (size_t i = 0; same && i < m->count; i++) {
        same = m->ids[i] == l->items[i].id;
    }
    return same;
}

static tc_status bring_up(struct tc__ch *ch, enum tc_table table, const struct listed *l,
                          struct tc_error *err)
{
    struct tc__ch_mirror *m = &ch->mirrors[table];
    bool goes_on = begins_as(m, l);
    if (goes_on && m->count == l->count) {
        return TC_OK;
    }
    TC_TRY(tc__engine_duckdb.begin(ch->local, err));
    tc_status status = goes_on ? TC_OK : empty_local(ch, table, err);
    status = status == TC_OK ? replay(ch, table, l, goes_on ? m->count : 0, err) : status;
    status = status == TC_OK ? keep_ids(m, l, err) : status;
    if (status != TC_OK) {
        tc__engine_duckdb.rollback(ch->local);
        m->count = 0;
        m->state = (struct tc__ch_state){0};
        return status;
    }
    return tc__engine_duckdb.commit(ch->local, err);
}

tc_status tc__ch_refresh(struct tc__ch *ch, const bool wanted[TC_TABLE_COUNT], struct tc_error *err)
{
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        struct tc__ch_mirror *m = &ch->mirrors[i];
        struct listed l = {0};
        bool is_same = memcmp(&m->state, &ch->states[i], sizeof m->state) == 0;
        if (!wanted[i] || is_same || tc__ch_is_large((enum tc_table)i)) {
            continue;
        }
        tc_status status = TC_E_MALFORMED;
        /* Once more: another writer may have come between the list and the rows. */
        for (unsigned tries = 0; tries < LIST_TRIES && status == TC_E_MALFORMED; tries++) {
            status = list(ch, (enum tc_table)i, &l, err);
            status = status == TC_OK ? bring_up(ch, (enum tc_table)i, &l, err) : status;
            drop_list(&l);
            l = (struct listed){0};
        }
        TC_TRY(status);
        m->state = ch->states[i];
    }
    return TC_OK;
}

void tc__ch_mirror_add(struct tc__ch *ch, const struct tc__ch_entry *entry)
{
    struct tc__ch_mirror *m = &ch->mirrors[entry->table];
    if (tc__ch_is_large(entry->table)) {
        return;
    }
    /* Without memory for it the table is read anew next time: its entries do not match. */
    if (tc_grow_items(m->ids, m->cap, m->count + 1, ENTRIES_MAX) == TC_OK) {
        m->ids[m->count++] = entry->id;
    }
}

void tc__ch_mirror_fini(struct tc__ch *ch)
{
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        free(ch->mirrors[i].ids);
        tc_grow_fini(&ch->parts[i].sql);
    }
}
