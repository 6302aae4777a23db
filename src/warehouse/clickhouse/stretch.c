/* SPDX-License-Identifier: Apache-2.0 */
/* The large tables by time: rows go straight from the answer to whoever takes them, and are never
 * in the local database. */
#include "base/clock.h"
#include "base/format.h"
#include "warehouse/clickhouse/clickhouse_priv.h"

#include <string.h>

/* A time of a row as a number: what is none is the smallest, as in the layouts. */
static const char *time_of(enum tc_table table)
{
    return table == TC_TABLE_SLICE ? "window_start"
                                   : "ifNull(started_at, toInt64('-9223372036854775808'))";
}

static const struct tc_column MINUTE_COLUMNS[] = {
    {.name = "minute", .type = TC_COLUMN_TIME},
    {.name = "rows", .type = TC_COLUMN_INT},
};
static const struct tc__ch_field MINUTE_FIELDS[] = {{TC__CH_MOMENT, 0}, {TC__CH_NUMBER, 1}};

static tc_status take_minutes(void *context, struct tc_rows *rows, struct tc_error *err)
{
    (void)err;
    return tc__stretch_take(context, rows);
}

tc_status tc__ch_minutes(void *engine, enum tc_table table, tc_minute_fn take, void *context,
                         struct tc_error *err)
{
    struct tc__ch *ch = engine;
    struct tc__minutes minutes = {take, context};
    struct tc_grow sql = {0};
    tc__ch_client_calm(&ch->client);
    tc_grow_format(&sql,
                   "SELECT m, count() AS c FROM (SELECT {} AS t, toInt64(if(t < " TC__CH_BEFORE_ALL
                   ", t, t - ((t % {}) + {}) % {})) AS m FROM {} WHERE ",
                   time_of(table), TC_MINUTE_US, TC_MINUTE_US, TC_MINUTE_US,
                   ch->layouts[table].name);
    tc__ch_put_visible(ch, &sql, table);
    tc_grow_lit(&sql, ") GROUP BY m ORDER BY m FORMAT RowBinary");
    tc_status status =
        sql.failed
            ? tc_fail(err, TC_E_NOMEM, 0, "no memory for a query")
            : tc__ch_ask(ch, tc_grow_slice(&sql),
                         tc_rows_create_for(MINUTE_COLUMNS, TC_COUNT(MINUTE_COLUMNS)),
                         MINUTE_FIELDS, TC_COUNT(MINUTE_FIELDS), take_minutes, &minutes, err);
    tc_grow_fini(&sql);
    return status;
}

struct passing {
    tc_rows_fn take;
    void *context;
};

static tc_status pass_on(void *context, struct tc_rows *rows, struct tc_error *err)
{
    const struct passing *p = context;
    (void)err;
    return p->take(p->context, rows);
}

tc_status tc__ch_read(void *engine, enum tc_table table, int64_t from_us, int64_t to_us,
                      tc_rows_fn take, void *context, struct tc_error *err)
{
    struct tc__ch *ch = engine;
    struct tc__ch_field fields[TC_TABLE_COLUMNS_MAX + 1];
    struct tc__ch_scan scan = {.is_read = true};
    struct passing passing = {take, context};
    struct tc_grow sql = {0};
    memset(scan.columns, true, sizeof scan.columns);
    tc__ch_client_calm(&ch->client);
    if (from_us == TC_NO_TIME) {
        tc_grow_format(&scan.where, "{} < " TC__CH_BEFORE_ALL, time_of(table));
    } else {
        tc_grow_format(&scan.where, "{} >= {} AND {} < {}", time_of(table), from_us, time_of(table),
                       to_us);
    }
    size_t count = tc__ch_put_fetch(ch, &sql, table, &scan, fields);
    tc_status status = sql.failed || scan.where.failed
                           ? tc_fail(err, TC_E_NOMEM, 0, "no memory for a query")
                           : tc__ch_ask(ch, tc_grow_slice(&sql), tc_rows_create(table), fields,
                                        count, pass_on, &passing, err);
    tc_grow_fini(&scan.where);
    tc_grow_fini(&sql);
    return status;
}

/* Inserts into the ledger that ran already when we began. Those that began since are of others, who
 * are alive. */
tc_status tc__ch_settle(void *engine, struct tc_error *err)
{
    struct tc__ch *ch = engine;
    struct tc__ch_wait wait = {0};
    int64_t begun_ns = tc_mono_ns();
    tc__ch_client_calm(&ch->client);
    for (;;) {
        struct tc_grow sql = {0};
        uint64_t count = 0;
        tc_grow_format(
            &sql,
            "SELECT count() FROM system.processes WHERE query LIKE 'INSERT INTO " TC__CH_LEDGER
            "%' AND elapsed * 1000 > {} FORMAT TabSeparated",
            (tc_mono_ns() - begun_ns) / 1000000);
        tc_status status = sql.failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for a query")
                                      : tc__ch_int(&ch->client, tc_grow_slice(&sql), &count, err);
        tc_grow_fini(&sql);
        if (status != TC_OK || count == 0) {
            return status;
        }
        (void)!tc_fail(err, TC_E_AGAIN, 0, "a command that ended is still being written");
        if (!tc__ch_wait(&ch->client, &wait, err)) {
            return err->status;
        }
    }
}
