/* SPDX-License-Identifier: Apache-2.0 */
/* What is the same for all engines: which one is taken, and checks of what they are asked. */
#include "warehouse/warehouse.h"

#include "base/assert.h"
#include "warehouse/clickhouse/url_priv.h"
#include "warehouse/engine_priv.h"

#include <stdlib.h>
#include <string.h>

struct tc_warehouse {
    const struct tc__engine *engine;
    void *object;
    bool in_transaction;
    bool failed; /* a call since begin did not succeed: only a rollback is left */
};

static tc_status wrap(const struct tc__engine *engine, void *object,
                      struct tc_warehouse **out_warehouse, struct tc_error *err)
{
    struct tc_warehouse *w = calloc(1, sizeof *w);
    if (w == NULL) {
        engine->close(object);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to open the warehouse");
    }
    w->engine = engine;
    w->object = object;
    *out_warehouse = w;
    return TC_OK;
}

tc_status tc_warehouse_open(const struct tc_warehouse_config *config,
                            struct tc_warehouse **out_warehouse, struct tc_error *err)
{
    void *object = NULL;
    if (config->data_dir == NULL || config->data_dir[0] == '\0') {
        return tc_fail(err, TC_E_USAGE, 0, "the warehouse has no data directory");
    }
    if (config->url != NULL && config->url[0] != '\0') {
        TC_TRY(tc__engine_clickhouse.open(config, &object, err));
        return wrap(&tc__engine_clickhouse, object, out_warehouse, err);
    }
    if (!config->own) {
        tc_status status = tc__engine_daemon.open(config, &object, err);
        if (status == TC_OK) {
            return wrap(&tc__engine_daemon, object, out_warehouse, err);
        }
        if (status != TC_E_NOTFOUND) {
            return status;
        }
    }
    TC_TRY(tc__engine_duckdb.open(config, &object, err));
    return wrap(&tc__engine_duckdb, object, out_warehouse, err);
}

tc_status tc_warehouse_check_url(const char *url, struct tc_error *err)
{
    struct tc__ch_url parsed;
    return url == NULL || url[0] == '\0' ? TC_OK : tc__ch_url_parse(url, &parsed, err);
}

void tc_warehouse_close(struct tc_warehouse *w)
{
    if (w == NULL) {
        return;
    }
    tc_warehouse_rollback(w);
    w->engine->close(w->object);
    free(w);
}

tc_status tc_warehouse_share(struct tc_warehouse *w, struct tc_warehouse **out_warehouse,
                             struct tc_error *err)
{
    void *object = NULL;
    TC_TRY(w->engine->share(w->object, &object, err));
    return wrap(w->engine, object, out_warehouse, err);
}

void tc_warehouse_rest(struct tc_warehouse *w)
{
    if (w->engine->rest != NULL) {
        w->engine->rest();
    }
}

const char *tc_warehouse_engine(const struct tc_warehouse *w)
{
    return w->engine->describe(w->object);
}

/* Remembers that the transaction cannot be committed any more. */
static tc_status after(struct tc_warehouse *w, tc_status status)
{
    w->failed |= status != TC_OK;
    return status;
}

tc_status tc_warehouse_begin(struct tc_warehouse *w, struct tc_error *err)
{
    TC_ASSERT(!w->in_transaction);
    TC_TRY(w->engine->begin(w->object, err));
    w->in_transaction = true;
    w->failed = false;
    return TC_OK;
}

tc_status tc_warehouse_commit(struct tc_warehouse *w, struct tc_error *err)
{
    TC_ASSERT(w->in_transaction);
    if (w->failed) {
        tc_warehouse_rollback(w);
        return tc_fail(err, TC_E_USAGE, 0, "nothing was written: a part of it failed before");
    }
    w->in_transaction = false;
    return w->engine->commit(w->object, err);
}

void tc_warehouse_rollback(struct tc_warehouse *w)
{
    if (w->in_transaction) {
        w->in_transaction = false;
        w->engine->rollback(w->object);
    }
}

tc_status tc_warehouse_append(struct tc_warehouse *w, enum tc_table table,
                              const struct tc_rows *rows, struct tc_error *err)
{
    TC_ASSERT(w->in_transaction && tc_rows_are_of(rows, table) && rows->count <= TC_ROWS_MAX);
    size_t column = 0;
    size_t row = 0;
    if (rows->count == 0) {
        return TC_OK;
    }
    if (!tc_rows_are_sound(rows, &column, &row)) {
        return after(w, tc_fail(err, TC_E_MALFORMED, row,
                                "%s: %s of row %zu is not UTF-8, or no time of the years 1 to 9999",
                                tc_table_info(table)->name, rows->columns[column].name, row));
    }
    return after(w, w->engine->append(w->object, table, rows, err));
}

tc_status tc_warehouse_forget(struct tc_warehouse *w, const struct tc_forget *what,
                              uint64_t *out_count, struct tc_error *err)
{
    TC_ASSERT(w->in_transaction);
    const struct tc_table_info *info = tc_table_info(what->table);
    bool by_key = what->key_count > 0;
    bool by_time = what->before_us != INT64_MIN;
    if (!by_key && !by_time && !what->want_null) {
        return tc_fail(err, TC_E_USAGE, 0, "will not forget all rows of %s: say which", info->name);
    }
    TC_ASSERT(!by_key || (what->key_column < info->column_count &&
                          info->columns[what->key_column].type == TC_COLUMN_TEXT));
    TC_ASSERT(!by_time || (what->time_column < info->column_count &&
                           info->columns[what->time_column].type == TC_COLUMN_TIME));
    TC_ASSERT(!what->want_null || what->null_column < info->column_count);
    return after(w, w->engine->forget(w->object, what, out_count, err));
}

tc_status tc_warehouse_query(struct tc_warehouse *w, const struct tc_query *query, tc_rows_fn take,
                             void *context, bool *out_cut, struct tc_error *err)
{
    bool cut = false;
    tc_status status = w->engine->query(w->object, query, take, context, &cut, err);
    if (status == TC_OK && out_cut != NULL) {
        *out_cut = cut;
    }
    return after(w, status);
}

void tc_warehouse_interrupt(struct tc_warehouse *w)
{
    w->engine->interrupt(w->object);
}

struct one_integer {
    int64_t value;
    bool wrong; /* not one column of whole numbers */
};

static tc_status take_integer(void *context, const struct tc_rows *rows)
{
    struct one_integer *one = context;
    enum tc_column_type type = rows->column_count == 0 ? TC_COLUMN_TEXT : rows->columns[0].type;
    one->wrong = type != TC_COLUMN_INT && type != TC_COLUMN_TIME && type != TC_COLUMN_BOOL;
    if (!one->wrong && rows->count > 0 && !tc_rows_is_null(rows, 0, 0)) {
        one->value = rows->columns[0].cells[0].integer;
    }
    return TC_OK;
}

tc_status tc_warehouse_int(struct tc_warehouse *w, const char *sql, const struct tc_bind *binds,
                           size_t bind_count, int64_t fallback, int64_t *out, struct tc_error *err)
{
    struct one_integer one = {fallback, false};
    struct tc_query query = {
        .sql = tc_slice_cstr(sql), .binds = binds, .bind_count = bind_count, .rows_max = 1};
    TC_TRY(tc_warehouse_query(w, &query, take_integer, &one, NULL, err));
    if (one.wrong) {
        return tc_fail(err, TC_E_USAGE, 0, "gives no whole number: %s", sql);
    }
    *out = one.value;
    return TC_OK;
}

tc_status tc_warehouse_parquet(struct tc_warehouse *w, enum tc_table table, size_t time_column,
                               int64_t before_us, const char *path, uint64_t *out_rows,
                               struct tc_error *err)
{
    const struct tc_table_info *info = tc_table_info(table);
    uint64_t rows = 0;
    TC_ASSERT(before_us == INT64_MIN || (time_column < info->column_count &&
                                         info->columns[time_column].type == TC_COLUMN_TIME));
    TC_TRY(
        after(w, w->engine->parquet(w->object, table, time_column, before_us, path, &rows, err)));
    if (out_rows != NULL) {
        *out_rows = rows;
    }
    return TC_OK;
}

tc_status tc_warehouse_minutes(struct tc_warehouse *w, enum tc_table table, tc_minute_fn take,
                               void *context, struct tc_error *err)
{
    bool by_time = tc_stretch_column(table) != SIZE_MAX && w->engine->minutes != NULL;
    return after(w, by_time ? w->engine->minutes(w->object, table, take, context, err)
                            : tc__stretch_minutes(w->engine, w->object, table, take, context, err));
}

tc_status tc_warehouse_read(struct tc_warehouse *w, enum tc_table table, int64_t from_us,
                            int64_t to_us, tc_rows_fn take, void *context, struct tc_error *err)
{
    bool by_time = tc_stretch_column(table) != SIZE_MAX && w->engine->read != NULL;
    return after(w, by_time ? w->engine->read(w->object, table, from_us, to_us, take, context, err)
                            : tc__stretch_read(w->engine, w->object, table, from_us, to_us, take,
                                               context, err));
}

tc_status tc_warehouse_settle(struct tc_warehouse *w, struct tc_error *err)
{
    return w->engine->settle == NULL ? TC_OK : after(w, w->engine->settle(w->object, err));
}

bool tc_warehouse_is_url(const char *text)
{
    return tc_slice_find(tc_slice_cstr(text), TC_LIT("://")) != TC_NPOS;
}

tc_status tc_warehouse_same_url(const char *a, const char *b, bool *out, struct tc_error *err)
{
    struct tc__ch_url urls[2];
    TC_TRY(tc__ch_url_parse(a, &urls[0], err));
    TC_TRY(tc__ch_url_parse(b, &urls[1], err));
    *out = strcmp(urls[0].hosts[0], urls[1].hosts[0]) == 0 &&
           strcmp(urls[0].database, urls[1].database) == 0;
    return TC_OK;
}
