/* SPDX-License-Identifier: Apache-2.0 */
/* The tables in DuckDB: made, brought up to date, or refused. */
#include "base/format.h"
#include "warehouse/duckdb/duckdb_priv.h"

#include <stdio.h>
#include <time.h>

/* Not one of tables.def: it says of which version they are. The newest row counts. */
#define VERSION_TABLE "tracecore_schema"
#define VERSION_SQL "SELECT max(version) FROM " VERSION_TABLE
#define DDL_MAX ((size_t)16 << 10)

static tc_status run_ddl(struct tc__duckdb *d, struct tc_buf *b, const char *what,
                         struct tc_error *err)
{
    tc_buf_char(b, '\0');
    if (b->overflowed) {
        return tc_fail(err, TC_E_LIMIT, 0, "%s has too many columns", what);
    }
    return tc__duckdb_run(d, b->data, what, err);
}

static tc_status create_table(struct tc__duckdb *d, const struct tc_table_info *info,
                              struct tc_error *err)
{
    char ddl[DDL_MAX];
    struct tc_buf b = tc_buf_make(ddl, sizeof ddl);
    /* Names are ours, of tables.def: no quote in them. */
    (void)tc_format(&b, "CREATE TABLE \"{}\" (", info->name);
    for (size_t i = 0; i < info->column_count; i++) {
        const struct tc_column *c = &info->columns[i];
        (void)tc_format(&b, "{}\"{}\" {}", i == 0 ? "" : ", ", c->name,
                        tc__duckdb_types[c->type].sql);
    }
    tc_buf_char(&b, ')');
    return run_ddl(d, &b, info->name, err);
}

static tc_status add_columns(struct tc__duckdb *d, const struct tc_table_info *info, unsigned have,
                             struct tc_error *err)
{
    char ddl[DDL_MAX];
    for (size_t i = 0; i < info->column_count; i++) {
        const struct tc_column *c = &info->columns[i];
        if (c->since <= have) {
            continue;
        }
        struct tc_buf b = tc_buf_make(ddl, sizeof ddl);
        (void)tc_format(&b, "ALTER TABLE \"{}\" ADD COLUMN \"{}\" {}", info->name, c->name,
                        tc__duckdb_types[c->type].sql);
        TC_TRY(run_ddl(d, &b, info->name, err));
    }
    return TC_OK;
}

static tc_status create_or_add(struct tc__duckdb *d, const struct tc_table_info *info,
                               unsigned have, struct tc_error *err)
{
    return info->since > have ? create_table(d, info, err) : add_columns(d, info, have, err);
}

/* A table that is split: two tables, the numbers of the one, and the view. */
static tc_status upgrade_split(struct tc__duckdb *d, const struct tc__split *s, unsigned have,
                               struct tc_error *err)
{
    char ddl[DDL_MAX];
    struct tc_buf b = tc_buf_make(ddl, sizeof ddl);
    struct tc_buf sequence = tc_buf_make(ddl, sizeof ddl);
    TC_TRY(create_or_add(d, &s->facts.info, have, err));
    TC_TRY(create_or_add(d, &s->scopes.info, have, err));
    (void)tc_format(&sequence, "CREATE SEQUENCE IF NOT EXISTS {}", s->kind->sequence);
    TC_TRY(run_ddl(d, &sequence, s->kind->sequence, err));
    if (d->base->has_runs) {
        return TC_OK; /* the view is made with those of the others */
    }
    tc__split_put_view(&b, s, TC__VIEW_PLAIN);
    return run_ddl(d, &b, s->table->name, err);
}

/* Verdicts: a table under another name, which a database of version 1 has under its own. */
static tc_status upgrade_verdicts(struct tc__duckdb *d, const struct tc_table_info *info,
                                  unsigned have, struct tc_error *err)
{
    const struct tc_table_info *stored = &d->base->verdicts;
    char ddl[DDL_MAX];
    struct tc_buf b = tc_buf_make(ddl, sizeof ddl);
    if (have == 1) {
        (void)tc_format(&b, "ALTER TABLE {} RENAME TO {}", info->name, stored->name);
        TC_TRY(run_ddl(d, &b, info->name, err));
    }
    return create_or_add(d, stored, have, err);
}

/* What finds the runs of rows. */
static tc_status upgrade_join(struct tc__duckdb *d, unsigned have, struct tc_error *err)
{
    if (!d->base->has_runs) {
        return TC_OK;
    }
    TC_TRY(create_or_add(d, &tc__join_claims, have, err));
    TC_TRY(create_or_add(d, &tc__join_pending, have, err));
    return tc__join_upgrade(d, err);
}

static tc_status upgrade(struct tc__duckdb *d, unsigned have, struct tc_error *err)
{
    const struct tc__schema *schema = d->base->schema;
    char text[128];
    struct timespec now;
    for (size_t i = 0; i < schema->table_count; i++) {
        const struct tc_table_info *info = &schema->tables[i];
        size_t split = tc__duckdb_split_of(d, (enum tc_table)i);
        TC_TRY(split < TC__SPLITS ? upgrade_split(d, &d->base->splits[split], have, err)
               : i == TC_TABLE_VERDICT && d->base->has_runs ? upgrade_verdicts(d, info, have, err)
                                                            : create_or_add(d, info, have, err));
    }
    TC_TRY(upgrade_join(d, have, err));
    if (have == 0) {
        TC_TRY(tc__duckdb_run(
            d, "CREATE TABLE " VERSION_TABLE " (version BIGINT NOT NULL, since TIMESTAMP NOT NULL)",
            VERSION_TABLE, err));
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)snprintf(text, sizeof text,
                   "INSERT INTO " VERSION_TABLE " VALUES (%u, make_timestamp(%lld))",
                   schema->version, (long long)now.tv_sec * 1000000);
    return tc__duckdb_run(d, text, VERSION_TABLE, err);
}

/*
 * 0: the database is empty. Tables but no version: somebody else's. The version first, and only
 * where it cannot be had, which tables there are: to list them, DuckDB makes all of its own views,
 * 10 to 17 ms of each command that opens a database.
 */
static tc_status read_version(struct tc__duckdb *d, int64_t *out, struct tc_error *err)
{
    int64_t tables = 0;
    int64_t ours = 0;
    int64_t version = 0;
    tc_status status = tc__duckdb_ask(d, TC_LIT(VERSION_SQL), &version, err);
    if ((status == TC_OK && version > 0) || status == TC_E_NOMEM) {
        *out = version;
        return status;
    }
    TC_TRY(tc__duckdb_ask(d, TC_LIT("SELECT count(*) FROM duckdb_tables() WHERE NOT internal"),
                          &tables, err));
    TC_TRY(tc__duckdb_ask(
        d, TC_LIT("SELECT count(*) FROM duckdb_tables() WHERE table_name = '" VERSION_TABLE "'"),
        &ours, err));
    if (ours > 0) {
        TC_TRY(tc__duckdb_ask(d, TC_LIT(VERSION_SQL), &version, err));
    }
    if (version <= 0 && tables > 0) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "%s/" TC__DUCKDB_FILE
                       " has tables but is no warehouse of tracecore; move it away",
                       d->base->data_dir);
    }
    *out = version;
    return TC_OK;
}

static tc_status check_version(struct tc__duckdb *d, int64_t have, enum tc_warehouse_mode mode,
                               struct tc_error *err)
{
    unsigned want = d->base->schema->version;
    if (have > (int64_t)want) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "%s/" TC__DUCKDB_FILE
                       " has schema version %lld, this program knows up to %u: use a newer "
                       "tracecore, or another data directory",
                       d->base->data_dir, (long long)have, want);
    }
    if (mode == TC_WAREHOUSE_READ && have == 0) {
        /* Whoever made it died before there was a table. */
        return tc_fail(err, TC_E_NOTFOUND, 0,
                       "there is no warehouse in %s yet: nothing was added to it",
                       d->base->data_dir);
    }
    if (mode == TC_WAREHOUSE_READ && have < (int64_t)want) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "%s/" TC__DUCKDB_FILE
                       " has schema version %lld, this program reads %u: open it once for writing "
                       "(tracecore run add, or start the daemon) to bring it up to date",
                       d->base->data_dir, (long long)have, want);
    }
    return TC_OK;
}

tc_status tc__duckdb_migrate(struct tc__duckdb *d, enum tc_warehouse_mode mode,
                             struct tc_error *err)
{
    int64_t have = 0;
    tc_status status;
    if (!d->base->is_scratch) {
        TC_TRY(read_version(d, &have, err));
        TC_TRY(check_version(d, have, mode, err));
    }
    if (have == (int64_t)d->base->schema->version) {
        return TC_OK;
    }
    TC_TRY(tc__engine_duckdb.begin(d, err));
    status = upgrade(d, (unsigned)have, err);
    if (status != TC_OK) {
        tc__engine_duckdb.rollback(d);
        return status;
    }
    return tc__engine_duckdb.commit(d, err);
}
