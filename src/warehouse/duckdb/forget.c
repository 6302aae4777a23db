/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are deleted. */
#include "base/format.h"
#include "warehouse/duckdb/duckdb_priv.h"

#define SQL_MAX 2048
/* Keys of one DELETE: more are done in parts. */
#define KEYS_MAX 256

struct deletion {
    struct tc_buf sql;
    const struct tc_table_info *info;
    const struct tc__split *split; /* NULL: it is not */
    struct tc_bind binds[KEYS_MAX + 1];
    size_t bind_count;
};

static bool is_of_scope(const struct deletion *x, size_t column)
{
    return x->split != NULL && x->split->kind->is_of_scope(column);
}

/* " AND column", or what finds the rows whose scope has it; end_condition closes it. */
static void begin_condition(struct deletion *x, size_t column)
{
    (void)tc_format(&x->sql, " AND {}\"{}\"",
                    tc_when(is_of_scope(x, column),
                            TC__SCOPE_ID " IN (SELECT " TC__SCOPE_ID " FROM {} WHERE ",
                            x->split == NULL ? "" : x->split->kind->scopes),
                    x->info->columns[column].name);
}

/* A column of the view that is made of others cannot be asked for here. */
static bool is_made(const struct deletion *x, size_t column)
{
    return x->split != NULL && x->split->kind->expression != NULL &&
           x->split->kind->expression(column) != NULL;
}

static void end_condition(struct deletion *x, size_t column)
{
    if (is_of_scope(x, column)) {
        tc_buf_char(&x->sql, ')');
    }
}

static void put_keys(struct deletion *x, size_t column, const struct tc_slice *keys, size_t count)
{
    begin_condition(x, column);
    tc_buf_lit(&x->sql, " IN (");
    for (size_t i = 0; i < count; i++) {
        tc_buf_str(&x->sql, i == 0 ? TC_LIT("?") : TC_LIT(",?"));
        x->binds[x->bind_count++] = (struct tc_bind){.type = TC_COLUMN_TEXT, .as.text = keys[i]};
    }
    tc_buf_char(&x->sql, ')');
    end_condition(x, column);
}

static tc_status forget_some(struct tc__duckdb *d, const struct tc_forget *what,
                             const struct tc_slice *keys, size_t key_count, int64_t *out_count,
                             struct tc_error *err)
{
    char sql[SQL_MAX + KEYS_MAX * 2];
    bool cut = false;
    struct deletion x = {
        .sql = tc_buf_make(sql, sizeof sql),
        .info = &d->base->schema->tables[what->table],
    };
    size_t split = tc__duckdb_split_of(d, what->table);
    x.split = split < TC__SPLITS ? &d->base->splits[split] : NULL;
    if ((key_count > 0 && is_made(&x, what->key_column)) ||
        (what->before_us != INT64_MIN && is_made(&x, what->time_column)) ||
        (what->want_null && is_made(&x, what->null_column))) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0, "rows of %s are not forgotten by that column",
                       x.info->name);
    }
    (void)tc_format(&x.sql, "DELETE FROM \"{}\" WHERE true",
                    d->base->has_runs ? tc__join_stored(what->table, x.info->name)
                    : x.split != NULL ? x.split->kind->facts
                                      : x.info->name);
    size_t where_at = x.sql.len - (sizeof "WHERE true" - 1);
    if (key_count > 0) {
        put_keys(&x, what->key_column, keys, key_count);
    }
    if (what->before_us != INT64_MIN) {
        begin_condition(&x, what->time_column);
        tc_buf_lit(&x.sql, " < ?");
        end_condition(&x, what->time_column);
        x.binds[x.bind_count++] =
            (struct tc_bind){.type = TC_COLUMN_TIME, .as.integer = what->before_us};
    }
    if (what->want_null) {
        begin_condition(&x, what->null_column);
        tc_buf_lit(&x.sql, " IS NULL");
        end_condition(&x, what->null_column);
    }
    if (what->table == TC_TABLE_RUN_SCOPE && d->base->has_runs) {
        TC_TRY(tc__join_note_gone(d, tc_slice_from(tc_buf_slice(&x.sql), where_at), x.binds,
                                  x.bind_count, err));
    }
    struct tc_query query = {
        .sql = tc_buf_slice(&x.sql), .binds = x.binds, .bind_count = x.bind_count};
    TC_TRY(tc__duckdb_query(d, &query, tc__duckdb_take_int, out_count, &cut, err));
    d->has_forgotten = d->has_forgotten || (x.split != NULL && *out_count > 0);
    return TC_OK;
}

tc_status tc__duckdb_forget(void *engine, const struct tc_forget *what, uint64_t *out_count,
                            struct tc_error *err)
{
    uint64_t sum = 0;
    size_t at = 0;
    do {
        size_t left = what->key_count - at;
        size_t part = left < KEYS_MAX ? left : KEYS_MAX;
        int64_t count = 0;
        TC_TRY(forget_some(engine, what, what->keys + at, part, &count, err));
        sum += (uint64_t)count;
        at += part;
    } while (at < what->key_count);
    *out_count = sum;
    return TC_OK;
}
