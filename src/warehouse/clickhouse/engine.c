/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, closing, queries. */
#include "base/format.h"
#include "base/time.h"
#include "warehouse/clickhouse/clickhouse_priv.h"
#include "warehouse/duckdb/sql_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The daemon has something else to do meanwhile, and tries again by itself. */
#define OWN_WAIT (5 * TC_SECOND)

/* ---- opening ---- */

static void close_ch(void *engine)
{
    struct tc__ch *ch = engine;
    tc__ch_client_close(&ch->client);
    if (ch->local != NULL) {
        tc__engine_duckdb.close(ch->local);
    }
    tc__ch_write_fini(ch);
    tc__ch_mirror_fini(ch);
    tc_json_parser_destroy(ch->parser);
    free(ch->data_dir);
    free(ch);
}

static tc_status open_all(struct tc__ch *ch, struct tc_error *err)
{
    void *local = NULL;
    TC_TRY(tc__ch_client_open(&ch->client, &ch->url, 0, &ch->config, err));
    TC_TRY(tc__ch_client_open(&ch->flight.client, &ch->url, 0, &ch->config, err));
    TC_TRY(tc__ch_client_greet(&ch->client, err));
    TC_TRY(tc__ch_migrate(ch, ch->config.mode, err));
    TC_TRY(tc__duckdb_open_scratch(&ch->config, &local, err));
    ch->local = local;
    (void)snprintf(ch->description, sizeof ch->description, "clickhouse %s",
                   ch->client.version_text);
    return TC_OK;
}

static tc_status open_with(const struct tc_warehouse_config *config, const struct tc__ch_url *url,
                           void **out, struct tc_error *err)
{
    struct tc__ch *ch = calloc(1, sizeof *ch);
    if (ch == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to open the warehouse");
    }
    ch->url = *url;
    ch->client.wake_fd = -1;
    ch->flight.client.wake_fd = -1;
    ch->config = *config;
    ch->data_dir = strdup(config->data_dir);
    ch->config.data_dir = ch->data_dir;
    ch->parser = tc_json_parser_create();
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        tc__ch_layout_of((enum tc_table)i, &ch->layouts[i]);
    }
    tc__ch_series_layout(&ch->series);
    tc_status status = ch->data_dir == NULL || ch->parser == NULL
                           ? tc_fail(err, TC_E_NOMEM, 0, "no memory to open the warehouse")
                           : open_all(ch, err);
    if (status != TC_OK) {
        close_ch(ch);
        return status;
    }
    *out = ch;
    return TC_OK;
}

static tc_status open_ch(const struct tc_warehouse_config *config, void **out, struct tc_error *err)
{
    struct tc__ch_url url;
    TC_TRY(tc__ch_url_parse(config->url, &url, err));
    if (config->own && url.wait_ns > OWN_WAIT) {
        url.wait_ns = OWN_WAIT;
    }
    return open_with(config, &url, out, err);
}

static tc_status share(void *engine, void **out, struct tc_error *err)
{
    const struct tc__ch *ch = engine;
    return open_with(&ch->config, &ch->url, out, err);
}

static const char *describe(const void *engine)
{
    const struct tc__ch *ch = engine;
    return ch->description;
}

/* ---- queries ---- */

static bool has(struct tc_slice sql, const char *name)
{
    return tc_slice_find_nocase(sql, tc_slice_cstr(name)) != TC_NPOS;
}

/* The tables whose names stand in it, wherever; true for large ones too. */
static void find_tables(struct tc_slice sql, bool wanted[TC_TABLE_COUNT])
{
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        const char *name = tc_table_info((enum tc_table)i)->name;
        wanted[i] = has(sql, tc__join_stored((enum tc_table)i, name)) || has(sql, name);
    }
    wanted[TC_TABLE_SLICE] |= has(sql, "telemetry_scope");
    wanted[TC_TABLE_RUN_SCOPE] |= wanted[TC_TABLE_SLICE] || wanted[TC_TABLE_REQUEST] ||
                                  wanted[TC_TABLE_VERDICT] || has(sql, TC__JOIN_CLAIMS);
}

/* Whether the local database will refuse it anyway, or looks at no rows. */
static bool reads_nothing(const struct tc_query *query)
{
    struct tc__sql_look look;
    struct tc_slice sql = tc_slice_trim(query->sql);
    bool looks = tc_slice_starts_any(sql, "EXPLAIN", "explain", "DESCRIBE", "describe", "SHOW",
                                     "show", "Explain", "Describe", "Show");
    tc__sql_look(query->sql, &look);
    return looks || (query->untrusted && (!look.reads || !look.is_alone || look.banned.len > 0));
}

/* Whether slices without a run could belong to those that are asked for. */
static bool tells_all(const struct tc__ch_scan *scan)
{
    return tc_slice_find(tc_grow_slice(&scan->where), TC_LIT(" OR (run_id = ''")) == TC_NPOS;
}

/* Of what a scan asks for, the slices that name no run: their run is found here. */
static tc_status fetch_unsaid(struct tc__ch *ch, const struct tc__ch_scan *scan,
                              struct tc_error *err)
{
    struct tc__ch_scan unsaid = *scan;
    unsaid.where = (struct tc_grow){0};
    tc_grow_format(&unsaid.where, "({}) AND run_id = ''", tc_grow_slice(&scan->where));
    tc_status status = tc__ch_fetch(ch, TC_TABLE_SLICE, &unsaid, err);
    tc_grow_fini(&unsaid.where);
    return status;
}

static tc_status fetch_large(struct tc__ch *ch, const struct tc_query *query,
                             struct tc_grow *out_sql, size_t *out_binds_used, struct tc_error *err)
{
    struct tc__ch_plan plan;
    tc_status status = tc__ch_plan_make(ch, query, &plan, err);
    const struct tc__ch_scan *slices = &plan.scans[TC_TABLE_SLICE];
    bool is_some = slices->is_read && slices->where.buf.len > 0;
    if (status == TC_OK && is_some) {
        bool all = tells_all(slices);
        status = tc__ch_sums(ch, query, all, out_sql, out_binds_used, err);
        if (status == TC_OK && out_sql->buf.len > 0 && !all) {
            status = fetch_unsaid(ch, slices, err);
        }
    }
    for (size_t i = 0; status == TC_OK && out_sql->buf.len == 0 && i < TC_TABLE_COUNT; i++) {
        if (plan.scans[i].is_read) {
            status = tc__ch_fetch(ch, (enum tc_table)i, &plan.scans[i], err);
        }
    }
    tc__ch_plan_fini(&plan);
    return status;
}

static tc_status get_ready(struct tc__ch *ch, const struct tc_query *query, struct tc_grow *out_sql,
                           size_t *out_binds_used, struct tc_error *err)
{
    bool wanted[TC_TABLE_COUNT];
    if (reads_nothing(query)) {
        return TC_OK;
    }
    find_tables(query->sql, wanted);
    /* Within a transaction the small tables are as they were at its beginning. */
    if (!ch->in_transaction) {
        TC_TRY(tc__ch_look(ch, err));
        TC_TRY(tc__ch_refresh(ch, wanted, err));
    }
    return wanted[TC_TABLE_SLICE] || wanted[TC_TABLE_REQUEST]
               ? fetch_large(ch, query, out_sql, out_binds_used, err)
               : TC_OK;
}

static tc_status query_ch(void *engine, const struct tc_query *query, tc_rows_fn take,
                          void *context, bool *out_cut, struct tc_error *err)
{
    struct tc__ch *ch = engine;
    struct tc_query local = *query;
    struct tc_grow sql = {0};
    size_t used = 0;
    tc__ch_client_calm(&ch->client);
    tc_status status = get_ready(ch, query, &sql, &used, err);
    if (status == TC_OK && sql.buf.len > 0) {
        local.sql = tc_grow_slice(&sql);
        local.binds = query->binds + used;
        local.bind_count = query->bind_count - used;
    }
    status = status == TC_OK
                 ? tc__engine_duckdb.query(ch->local, &local, take, context, out_cut, err)
                 : status;
    tc_grow_fini(&sql);
    return status;
}

static void interrupt(void *engine)
{
    struct tc__ch *ch = engine;
    tc__ch_client_interrupt(&ch->client);
    tc__ch_client_interrupt(&ch->flight.client);
    tc__engine_duckdb.interrupt(ch->local);
}

static tc_status parquet(void *engine, enum tc_table table, size_t time_column, int64_t before_us,
                         const char *path, uint64_t *out_rows, struct tc_error *err)
{
    struct tc__ch *ch = engine;
    struct tc_grow sql = {0};
    struct tc_grow none = {0};
    size_t used = 0;
    tc__ch_client_calm(&ch->client);
    tc_table_select(&sql, table);
    if (before_us != INT64_MIN) {
        tc_grow_format(&sql, " WHERE \"{}\" < make_timestamp({})",
                       tc_table_info(table)->columns[time_column].name, before_us);
    }
    struct tc_query all = {.sql = tc_grow_slice(&sql)};
    tc_status status = sql.failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for a query")
                                  : get_ready(ch, &all, &none, &used, err);
    tc_grow_fini(&sql);
    tc_grow_fini(&none);
    return status == TC_OK ? tc__engine_duckdb.parquet(ch->local, table, time_column, before_us,
                                                       path, out_rows, err)
                           : status;
}

const struct tc__engine tc__engine_clickhouse = {
    .name = "clickhouse",
    .open = open_ch,
    .close = close_ch,
    .share = share,
    .describe = describe,
    .begin = tc__ch_begin,
    .commit = tc__ch_commit,
    .rollback = tc__ch_rollback,
    .append = tc__ch_append,
    .forget = tc__ch_forget,
    .query = query_ch,
    .interrupt = interrupt,
    .parquet = parquet,
    .minutes = tc__ch_minutes,
    .read = tc__ch_read,
    .settle = tc__ch_settle,
};
