/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables in ClickHouse. On one server they are MergeTree tables. With a cluster each is two:
 * the rows of a shard (NAME_shard; replicated where the servers have the macros for it), and a
 * Distributed table under the name itself.
 */
#include "base/clock.h"
#include "base/format.h"
#include "warehouse/clickhouse/clickhouse_priv.h"

#include <string.h>

static const struct tc__ch_layout LEDGER = {
    .name = TC__CH_LEDGER,
    .order = "tbl, id",
    .shard = "batch", /* lines that belong together are written by one insert, or not at all */
    .columns = {{"tbl", TC__CH_WORD, 0},
                {"id", TC__CH_NUMBER, 0},
                {"batch", TC__CH_NUMBER, 0},
                {"kind", TC__CH_NUMBER, 0},
                {"rows", TC__CH_NUMBER, 0},
                {"detail", TC__CH_WORD, 0}},
    .column_count = 6,
};

static const struct tc__ch_layout VERSIONS = {
    .name = TC__CH_VERSIONS,
    .order = "version",
    .shard = "version",
    .columns = {{"version", TC__CH_NUMBER, 0}, {"since", TC__CH_MOMENT, 0}},
    .column_count = 2,
};

void tc__ch_put_text(struct tc_grow *g, struct tc_slice text)
{
    tc_grow_lit(g, "'");
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        tc_grow_str(g, c == '\'' || c == '\\' ? TC_LIT("\\") : TC_EMPTY);
        tc_grow_str(g, c == '\0' ? TC_LIT("\\0") : tc_slice_make(text.ptr + i, 1));
    }
    tc_grow_lit(g, "'");
}

/* One of the hosts: tables are made on each of them. */
struct place {
    struct tc__ch *ch;
    struct tc__ch_client *client;
    bool is_cluster;
    bool is_replicated;
};

static tc_status run(const struct place *p, struct tc_grow *sql, struct tc_error *err)
{
    tc_status status = sql->failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for a statement")
                                   : tc__ch_run(p->client, tc_grow_slice(sql), err);
    tc_grow_fini(sql);
    return status;
}

static tc_status create(const struct place *p, const struct tc__ch_layout *l, struct tc_error *err)
{
    struct tc_grow sql = {0};
    tc_grow_format(&sql, "CREATE TABLE IF NOT EXISTS {}{} (", l->name,
                   p->is_cluster ? "_shard" : "");
    for (size_t i = 0; i < l->column_count; i++) {
        tc_grow_format(&sql, "{}`{}` {}", i == 0 ? "" : ", ", l->columns[i].name,
                       tc__ch_type_name(l->columns[i].type));
    }
    tc_grow_format(&sql, ") ENGINE = {}{}MergeTree", p->is_replicated ? "Replicated" : "",
                   l->replaces ? "Replacing" : "");
    if (p->is_replicated) {
        tc_grow_format(&sql, "('/clickhouse/tracecore/{}/{}/{}', '{}')", "{shard}",
                       &p->ch->url.database[0], l->name, "{replica}");
    } else {
        tc_grow_lit(&sql, "()");
    }
    tc_grow_format(
        &sql, "{} ORDER BY ({})",
        tc_when(l->partition != NULL, " PARTITION BY {}", l->partition == NULL ? "" : l->partition),
        l->order);
    return run(p, &sql, err);
}

static tc_status create_distributed(const struct place *p, const struct tc__ch_layout *l,
                                    struct tc_error *err)
{
    struct tc_grow sql = {0};
    tc_grow_format(&sql,
                   "CREATE TABLE IF NOT EXISTS {} AS {}_shard ENGINE = Distributed('{}', '{}', "
                   "'{}_shard', {})",
                   l->name, l->name, p->ch->url.cluster, p->ch->url.database, l->name, l->shard);
    return run(p, &sql, err);
}

/* Columns that a later version brought. */
static tc_status add_columns(const struct place *p, const struct tc__ch_layout *l,
                             const char *suffix, struct tc_error *err)
{
    for (size_t i = 0; i < l->column_count; i++) {
        struct tc_grow ask = {0};
        struct tc_grow sql = {0};
        uint64_t there = 1;
        tc_grow_format(&ask,
                       "SELECT count() FROM system.columns WHERE database = '{}' AND table = "
                       "'{}{}' AND name = '{}' FORMAT TabSeparated",
                       p->ch->url.database, l->name, suffix, l->columns[i].name);
        tc_status status = tc__ch_int(p->client, tc_grow_slice(&ask), &there, err);
        tc_grow_fini(&ask);
        TC_TRY(status);
        if (there == 0) {
            tc_grow_format(&sql, "ALTER TABLE {}{} ADD COLUMN `{}` {}", l->name, suffix,
                           l->columns[i].name, tc__ch_type_name(l->columns[i].type));
            TC_TRY(run(p, &sql, err));
        }
    }
    return TC_OK;
}

static tc_status make_table(const struct place *p, const struct tc__ch_layout *l, uint64_t have,
                            struct tc_error *err)
{
    TC_TRY(create(p, l, err));
    if (have > 0) {
        TC_TRY(add_columns(p, l, p->is_cluster ? "_shard" : "", err));
    }
    if (p->is_cluster) {
        TC_TRY(create_distributed(p, l, err));
        return have > 0 ? add_columns(p, l, "", err) : TC_OK;
    }
    return TC_OK;
}

static tc_status make_tables(struct tc__ch *ch, struct tc__ch_client *client, uint64_t have,
                             struct tc_error *err)
{
    struct place p = {.ch = ch, .client = client, .is_cluster = ch->url.cluster[0] != '\0'};
    uint64_t macros = 0;
    if (p.is_cluster) {
        TC_TRY(tc__ch_int(client,
                          TC_LIT("SELECT count() FROM system.macros WHERE macro IN ('shard', "
                                 "'replica') FORMAT TabSeparated"),
                          &macros, err));
        p.is_replicated = macros == 2;
    }
    TC_TRY(make_table(&p, &LEDGER, have, err));
    TC_TRY(make_table(&p, &ch->series, have, err));
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        TC_TRY(make_table(&p, &ch->layouts[i], have, err));
    }
    return make_table(&p, &VERSIONS, have, err);
}

/* The same on the other hosts, each asked by itself: ON CLUSTER would need ZooKeeper. */
static tc_status make_on_others(struct tc__ch *ch, uint64_t have, struct tc_error *err)
{
    for (size_t i = 1; i < ch->url.host_count; i++) {
        struct tc__ch_client other;
        tc_status status = tc__ch_client_open(&other, &ch->url, i, &ch->config, err);
        status = status == TC_OK ? tc__ch_client_greet(&other, err) : status;
        status = status == TC_OK ? make_tables(ch, &other, have, err) : status;
        tc__ch_client_close(&other);
        TC_TRY(status);
    }
    return TC_OK;
}

static tc_status read_version(struct tc__ch *ch, uint64_t *out, struct tc_error *err)
{
    uint64_t there = 0;
    *out = 0;
    TC_TRY(tc__ch_int(&ch->client, TC_LIT("EXISTS TABLE " TC__CH_VERSIONS " FORMAT TabSeparated"),
                      &there, err));
    return there == 0 ? TC_OK
                      : tc__ch_int(&ch->client,
                                   TC_LIT("SELECT max(version) FROM " TC__CH_VERSIONS
                                          " FORMAT TabSeparated"),
                                   out, err);
}

tc_status tc__ch_migrate(struct tc__ch *ch, enum tc_warehouse_mode mode, struct tc_error *err)
{
    uint64_t have = 0;
    struct tc_grow sql = {0};
    const char *database = ch->url.database;
    TC_TRY(read_version(ch, &have, err));
    if (have > TC_SCHEMA_VERSION) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "the database %s has schema version %llu, this program knows up to %d: use "
                       "a newer tracecore, or another database",
                       database, (unsigned long long)have, TC_SCHEMA_VERSION);
    }
    if (have == TC_SCHEMA_VERSION) {
        return TC_OK;
    }
    if (mode == TC_WAREHOUSE_READ) {
        return have == 0
                   ? tc_fail(err, TC_E_NOTFOUND, 0,
                             "there is no warehouse in the database %s of ClickHouse at %s yet: "
                             "nothing was added to it",
                             database, ch->client.host)
                   : tc_fail(err, TC_E_UNSUPPORTED, 0,
                             "the database %s has schema version %llu, this program reads %d: open "
                             "it once for writing (tracecore run add, or start the daemon)",
                             database, (unsigned long long)have, TC_SCHEMA_VERSION);
    }
    /* The other shards first: a table here says that all are there. */
    TC_TRY(make_on_others(ch, have, err));
    TC_TRY(make_tables(ch, &ch->client, have, err));
    tc_grow_format(&sql, "INSERT INTO " TC__CH_VERSIONS " (version, since) VALUES ({}, {})",
                   TC_SCHEMA_VERSION, tc_wall_ns() / 1000);
    return run(&(struct place){.ch = ch, .client = &ch->client}, &sql, err);
}
