/* SPDX-License-Identifier: Apache-2.0 */
/* Which tables have rows of runs that do not say so, what was brought, and the rows' runs. */
#include "warehouse/duckdb/join_priv.h"

#include "base/format.h"
#include "warehouse/duckdb/duckdb_priv.h"
#include "warehouse/duckdb/join_sql_priv.h"
#include "warehouse/run_claims.h"

#include <string.h>

#define SQL_MAX 8192

static const struct tc_column CLAIM_COLUMNS[] = {
    [TC__CLAIM_KIND] = {"kind", TC_COLUMN_TEXT, 2, "", ""},
    [TC__CLAIM_NAME] = {"name", TC_COLUMN_TEXT, 2, "", ""},
    [TC__CLAIM_DOMAIN] = {"domain", TC_COLUMN_TEXT, 2, "", ""},
    [TC__CLAIM_RUN_ID] = {"run_id", TC_COLUMN_TEXT, 2, "", ""},
    [TC__CLAIM_IN_WINDOW] = {"in_window", TC_COLUMN_BOOL, 2, "", ""},
    [TC__CLAIM_FROM] = {"from_time", TC_COLUMN_TIME, 2, "", ""},
    [TC__CLAIM_TO] = {"to_time", TC_COLUMN_TIME, 2, "", ""},
    [TC__CLAIM_AFTER] = {"after_time", TC_COLUMN_TIME, 2, "", ""},
    [TC__CLAIM_BEFORE] = {"before_time", TC_COLUMN_TIME, 2, "", ""},
};
const struct tc_table_info tc__join_claims = {TC__JOIN_CLAIMS, 2, "", CLAIM_COLUMNS,
                                              TC_COUNT(CLAIM_COLUMNS)};

/* A name of a run that came or went, with its window; or a table that got rows, and of when. */
enum { PENDING_TABLE, PENDING_KIND, PENDING_NAME, PENDING_FROM, PENDING_TO };
static const struct tc_column PENDING_COLUMNS[] = {
    [PENDING_TABLE] = {"table_name", TC_COLUMN_TEXT, 2, "", ""},
    [PENDING_KIND] = {"kind", TC_COLUMN_TEXT, 2, "", ""},
    [PENDING_NAME] = {"name", TC_COLUMN_TEXT, 2, "", ""},
    [PENDING_FROM] = {"from_time", TC_COLUMN_TIME, 2, "", ""},
    [PENDING_TO] = {"to_time", TC_COLUMN_TIME, 2, "", ""},
};
const struct tc_table_info tc__join_pending = {TC__JOIN_PENDING, 2, "", PENDING_COLUMNS,
                                               TC_COUNT(PENDING_COLUMNS)};

/* A name that rows have, and the expression for it. */
struct row_name {
    enum tc_run_name name;
    const char *sql;
    const char *domain; /* of a node; NULL: of none */
};

/*
 * f is the table. Where `place` is given, its rows have the names, as p, and scope_id links both.
 * Rows that last have an end, others are of a moment. Measurements are joined in windows only.
 */
struct joined {
    enum tc_table table;
    const char *stored;
    const char *place;
    size_t run_column;
    size_t time_column;
    size_t end_column; /* time_column: of a moment */
    const char *begin;
    const char *end; /* NULL: of a moment */
    bool is_measured;
    struct row_name names[8]; /* in the order in which they are tried; sql NULL: the end */
};

static const struct joined JOINED[] = {
    {.table = TC_TABLE_SLICE,
     .stored = "telemetry_slice",
     .place = "telemetry_scope",
     .run_column = TC_SLICE_RUN_ID,
     .time_column = TC_SLICE_START,
     .end_column = TC_SLICE_END,
     .begin = "f.window_start",
     .end = "f.window_end",
     .is_measured = true,
     .names = {{TC_RUN_NAME_POD_UID, "p.pod_uid", NULL},
               {TC_RUN_NAME_JOB, "p.job_uid", NULL},
               {TC_RUN_NAME_SCHEDULER, "p.scheduler_run_id", NULL},
               {TC_RUN_NAME_SCHEDULER, "p.job_uid", NULL},
               {TC_RUN_NAME_NODE, TC__HOST("p.node_name"), TC__DOMAIN("p.node_name")}}},
    {.table = TC_TABLE_REQUEST,
     .stored = "serving_request",
     .place = "serving_request_scope",
     .run_column = TC_REQUEST_RUN_ID,
     .time_column = TC_REQUEST_STARTED,
     .end_column = TC_REQUEST_STARTED,
     .begin = "f.started_at",
     .is_measured = true,
     .names = {{TC_RUN_NAME_POD_UID, "p.pod_uid", NULL},
               {TC_RUN_NAME_POD, "p.pod_name", NULL},
               {TC_RUN_NAME_JOB, "p.job_uid", NULL},
               {TC_RUN_NAME_SCHEDULER, "p.job_uid", NULL},
               {TC_RUN_NAME_NODE, TC__HOST("p.node_name"), TC__DOMAIN("p.node_name")}}},
    {.table = TC_TABLE_VERDICT,
     .stored = "verdict",
     .run_column = TC_VERDICT_RUN_ID,
     .time_column = TC_VERDICT_TOLD,
     .end_column = TC_VERDICT_TOLD,
     .begin = "coalesce(f.first_seen, f.detected_at, f.told_at)",
     .names = {{TC_RUN_NAME_POD_UID, "f.pod_uid", NULL},
               {TC_RUN_NAME_POD, "f.pod_namespace || '/' || f.pod_name", NULL},
               {TC_RUN_NAME_POD, "f.pod_name", NULL},
               {TC_RUN_NAME_JOB, "f.job_uid", NULL},
               {TC_RUN_NAME_SCHEDULER, "f.job_uid", NULL},
               {TC_RUN_NAME_NODE, TC__HOST("f.node_name"), TC__DOMAIN("f.node_name")}}},
};
_Static_assert(TC_COUNT(JOINED) <= TC__JOIN_TABLES_MAX, "there is room for what each brings");

static const struct joined *joined_of(enum tc_table table)
{
    for (size_t i = 0; i < TC_COUNT(JOINED); i++) {
        if (JOINED[i].table == table) {
            return &JOINED[i];
        }
    }
    return NULL;
}

const char *tc__join_stored(enum tc_table table, const char *name)
{
    const struct joined *j = joined_of(table);
    return j == NULL ? name : j->stored;
}

/* ---- the tables ---- */

static tc_status run_sql(struct tc__duckdb *d, struct tc_buf *b, const char *what,
                         struct tc_error *err)
{
    tc_buf_char(b, '\0');
    return b->overflowed ? tc_fail(err, TC_E_LIMIT, 0, "%s: the statement is too long", what)
                         : tc__duckdb_run(d, b->data, what, err);
}

/* The view of a table that is stored as one; said: without what was found. */
static void put_view(struct tc_buf *b, const struct joined *j, const struct tc_table_info *info,
                     bool said)
{
    (void)tc_format(b, "CREATE OR REPLACE VIEW \"{}{}\" AS SELECT ", info->name,
                    said ? TC_TABLE_SAID : "");
    for (size_t i = 0; i < info->column_count; i++) {
        const char *name = info->columns[i].name;
        bool is_run = strcmp(name, "run_id") == 0 || strcmp(name, "run_join") == 0;
        tc_buf_str(b, i == 0 ? TC_EMPTY : TC_LIT(", "));
        if (said && is_run) {
            (void)tc_format(b, "CASE WHEN f." TC__JOIN_FOUND " IS NULL THEN f.{} END AS {}", name,
                            name);
        } else {
            (void)tc_format(b, "f.\"{}\"", name);
        }
    }
    (void)tc_format(b, " FROM {} f", j->stored);
}

static tc_status make_view(struct tc__duckdb *d, const struct joined *j, bool said,
                           struct tc_error *err)
{
    const struct tc_table_info *info = &d->base->schema->tables[j->table];
    char sql[SQL_MAX];
    struct tc_buf b = tc_buf_make(sql, sizeof sql);
    size_t split = tc__duckdb_split_of(d, j->table);
    if (split < TC__SPLITS) {
        tc__split_put_view(&b, &d->base->splits[split], said ? TC__VIEW_SAID : TC__VIEW_FOUND);
    } else {
        put_view(&b, j, info, said);
    }
    return run_sql(d, &b, info->name, err);
}

static tc_status upgrade_joined(struct tc__duckdb *d, const struct joined *j, struct tc_error *err)
{
    char sql[256];
    struct tc_buf b = tc_buf_make(sql, sizeof sql);
    (void)tc_format(&b, "ALTER TABLE {} ADD COLUMN IF NOT EXISTS " TC__JOIN_FOUND " TINYINT",
                    j->stored);
    TC_TRY(run_sql(d, &b, j->stored, err));
    TC_TRY(make_view(d, j, false, err));
    return make_view(d, j, true, err);
}

tc_status tc__join_upgrade(struct tc__duckdb *d, struct tc_error *err)
{
    for (size_t i = 0; i < TC_COUNT(JOINED); i++) {
        TC_TRY(upgrade_joined(d, &JOINED[i], err));
    }
    return TC_OK;
}

/* ---- what is brought ---- */

void tc__join_begin(struct tc__join *j)
{
    j->is_any = false;
    for (size_t i = 0; i < TC__JOIN_TABLES_MAX; i++) {
        j->ranges[i].from_us = INT64_MAX;
        j->ranges[i].to_us = INT64_MIN;
    }
    if (j->pending != NULL) {
        tc_rows_reset(j->pending);
    }
}

void tc__join_fini(struct tc__join *j)
{
    tc_rows_destroy(j->pending);
    j->pending = NULL;
}

static tc_status append_pending(struct tc__duckdb *d, struct tc_error *err)
{
    struct tc_rows *rows = d->join.pending;
    tc_status status = rows == NULL || rows->count == 0
                           ? TC_OK
                           : tc__duckdb_append_to(d, TC__LANE_PENDING, rows, err);
    if (rows != NULL) {
        tc_rows_reset(rows);
    }
    return status;
}

static tc_status add_pending(struct tc__duckdb *d, struct tc_error *err)
{
    struct tc__join *j = &d->join;
    if (j->pending == NULL) {
        j->pending = tc_rows_create_for(PENDING_COLUMNS, TC_COUNT(PENDING_COLUMNS));
    }
    if (j->pending == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for rows");
    }
    if (!tc_rows_add(j->pending)) {
        TC_TRY(append_pending(d, err));
        (void)tc_rows_add(j->pending);
    }
    j->is_any = true;
    return TC_OK;
}

static void copy_time(struct tc_rows *to, size_t column, const struct tc_rows *rows, size_t from,
                      size_t row)
{
    if (!tc_rows_is_null(rows, from, row)) {
        tc_rows_int(to, column, tc_rows_get_int(rows, from, row));
    }
}

static tc_status note_name(struct tc__duckdb *d, const struct tc_rows *rows, size_t row,
                           struct tc_error *err)
{
    char host[TC_RUN_NAME_BYTES];
    enum tc_run_name kind;
    if (tc_rows_is_null(rows, TC_RUN_SCOPE_KIND, row) ||
        tc_rows_is_null(rows, TC_RUN_SCOPE_NAME, row)) {
        return TC_OK;
    }
    struct tc_slice word = tc_rows_get_text(rows, TC_RUN_SCOPE_KIND, row);
    struct tc_slice name = tc_rows_get_text(rows, TC_RUN_SCOPE_NAME, row);
    if (!tc_run_name_parse(word, &kind) || name.len > sizeof host) {
        return TC_OK;
    }
    TC_TRY(add_pending(d, err));
    struct tc_rows *pending = d->join.pending;
    name = kind == TC_RUN_NAME_NODE ? tc_run_node_of(name, host).host : name;
    copy_time(pending, PENDING_FROM, rows, TC_RUN_SCOPE_START, row);
    copy_time(pending, PENDING_TO, rows, TC_RUN_SCOPE_END, row);
    return tc_rows_text(pending, PENDING_KIND, word) == TC_OK &&
                   tc_rows_text(pending, PENDING_NAME, name) == TC_OK
               ? TC_OK
               : tc_fail(err, TC_E_NOMEM, 0, "no memory for rows");
}

/* Of when the rows are that have no run. */
static void note_rows(struct tc__join *to, const struct joined *j, const struct tc_rows *rows)
{
    size_t at = (size_t)(j - JOINED);
    for (size_t i = 0; i < rows->count; i++) {
        if (!tc_rows_is_null(rows, j->run_column, i) || tc_rows_is_null(rows, j->time_column, i)) {
            continue;
        }
        int64_t from_us = tc_rows_get_int(rows, j->time_column, i);
        int64_t to_us = tc_rows_get_int(rows, j->end_column, i);
        to->is_any = true;
        to->ranges[at].from_us =
            from_us < to->ranges[at].from_us ? from_us : to->ranges[at].from_us;
        to->ranges[at].to_us = to_us > to->ranges[at].to_us ? to_us : to->ranges[at].to_us;
    }
}

tc_status tc__join_note(struct tc__duckdb *d, enum tc_table table, const struct tc_rows *rows,
                        struct tc_error *err)
{
    const struct joined *j = joined_of(table);
    if (!d->base->has_runs) {
        return TC_OK;
    }
    if (j != NULL) {
        note_rows(&d->join, j, rows);
    }
    for (size_t i = 0; table == TC_TABLE_RUN_SCOPE && i < rows->count; i++) {
        TC_TRY(note_name(d, rows, i, err));
    }
    return TC_OK;
}

tc_status tc__join_note_gone(struct tc__duckdb *d, struct tc_slice where,
                             const struct tc_bind *binds, size_t bind_count, struct tc_error *err)
{
    char sql[SQL_MAX];
    struct tc_buf b = tc_buf_make(sql, sizeof sql);
    int64_t ignored = 0;
    bool cut = false;
    (void)tc_format(&b,
                    "INSERT INTO " TC__JOIN_PENDING " SELECT NULL, kind, " TC__NAME_KEY
                    ", window_start, window_end FROM run_scope_fact {}",
                    where);
    struct tc_query query = {.sql = tc_buf_slice(&b), .binds = binds, .bind_count = bind_count};
    d->join.is_any = true;
    return b.overflowed ? tc_fail(err, TC_E_LIMIT, 0, "too many runs at once")
                        : tc__duckdb_query(d, &query, tc__duckdb_take_int, &ignored, &cut, err);
}

tc_status tc__join_flush(struct tc__duckdb *d, struct tc_error *err)
{
    for (size_t i = 0; d->join.is_any && i < TC_COUNT(JOINED); i++) {
        if (d->join.ranges[i].from_us > d->join.ranges[i].to_us) {
            continue;
        }
        TC_TRY(add_pending(d, err));
        tc_rows_int(d->join.pending, PENDING_FROM, d->join.ranges[i].from_us);
        tc_rows_int(d->join.pending, PENDING_TO, d->join.ranges[i].to_us);
        if (tc_rows_text(d->join.pending, PENDING_TABLE, tc_slice_cstr(JOINED[i].stored)) !=
            TC_OK) {
            return tc_fail(err, TC_E_NOMEM, 0, "no memory for rows");
        }
    }
    return append_pending(d, err);
}

/* ---- rows get their run ---- */

/* Of what is noted. */
struct todo {
    int64_t names;  /* bits of the kinds that are noted */
    int64_t claims; /* bits of the kinds that runs claim now */
    int64_t rows;   /* ranges of this table */
    int64_t from_us;
    int64_t to_us;
};

/* Only rows that overlap what is noted: of the others nothing changes. */
static void put_range(struct tc_buf *b, const struct joined *j, const struct todo *t)
{
    if (j->is_measured) {
        (void)tc_format(b, " AND {} <= make_timestamp({}) AND {} >= make_timestamp({})", j->begin,
                        t->to_us, j->end == NULL ? j->begin : j->end, t->from_us);
    }
}

static void put_set(struct tc_buf *b, const struct joined *j, const char *run, const char *join,
                    const char *found)
{
    (void)tc_format(b, "UPDATE {} AS f SET run_id = {}, " TC__JOIN_FOUND " = {}", j->stored, run,
                    found);
    if (j->place == NULL) { /* others have it from what was found */
        (void)tc_format(b, ", run_join = {}", join);
    }
}

/* What was found by one of the names that are noted is found anew. */
static tc_status reset(struct tc__duckdb *d, const struct joined *j, const struct todo *t,
                       struct tc_error *err)
{
    char sql[SQL_MAX];
    struct tc_buf b = tc_buf_make(sql, sizeof sql);
    put_set(&b, j, "NULL", "NULL", "NULL");
    tc_buf_lit(&b, " WHERE f." TC__JOIN_FOUND " IS NOT NULL");
    put_range(&b, j, t);
    if (j->place != NULL) {
        (void)tc_format(
            &b, " AND f." TC__SCOPE_ID " IN (SELECT p." TC__SCOPE_ID " FROM {} p WHERE false",
            j->place);
    } else {
        tc_buf_lit(&b, " AND (false");
    }
    for (const struct row_name *n = j->names; n->sql != NULL; n++) {
        if ((t->names >> n->name & 1) == 0) {
            continue;
        }
        (void)tc_format(&b,
                        " OR {} IN (SELECT q.name FROM " TC__JOIN_PENDING " q WHERE q.kind = '{}')",
                        n->sql, tc_run_name_kind(n->name));
    }
    tc_buf_char(&b, ')');
    return run_sql(d, &b, "runs cannot be taken back", err);
}

/* A name of the row is that of the claim. */
static void put_same_name(struct tc_buf *b, const char *claim, const struct row_name *n)
{
    (void)tc_format(b, "{}.kind = '{}' AND {}.name = {}", claim, tc_run_name_kind(n->name), claim,
                    n->sql);
    if (n->domain != NULL) {
        (void)tc_format(b, " AND ({}.domain = '' OR {} IN ('', {}.domain))", claim, n->domain,
                        claim);
    }
}

/* And so is its time. */
static void put_same_time(struct tc_buf *b, const struct joined *j)
{
    if (j->end == NULL) {
        (void)tc_format(b, " AND {} BETWEEN x.from_time AND x.to_time", j->begin);
    } else {
        (void)tc_format(b,
                        " AND {} <= x.to_time AND {} > x.from_time AND {} > x.after_time AND {} <= "
                        "x.before_time",
                        j->begin, j->end, j->begin, j->end);
    }
}

/* Rows that have no run yet get the one that claims this name of theirs. */
static tc_status stamp(struct tc__duckdb *d, const struct joined *j, const struct row_name *n,
                       const struct todo *t, struct tc_error *err)
{
    char sql[SQL_MAX];
    struct tc_buf b = tc_buf_make(sql, sizeof sql);
    bool is_node = n->name == TC_RUN_NAME_NODE;
    put_set(&b, j, "x.run_id", is_node ? "'time'" : "'identity'", is_node ? "2" : "1");
    if (j->place != NULL) {
        (void)tc_format(
            &b, " FROM (SELECT p." TC__SCOPE_ID ", c.* FROM {} p JOIN " TC__JOIN_CLAIMS " c ON ",
            j->place);
        put_same_name(&b, "c", n);
        tc_buf_lit(&b, ") x WHERE f." TC__SCOPE_ID " = x." TC__SCOPE_ID);
    } else {
        tc_buf_lit(&b, " FROM " TC__JOIN_CLAIMS " x WHERE ");
        put_same_name(&b, "x", n);
    }
    tc_buf_lit(&b, " AND f.run_id IS NULL");
    tc_buf_str(&b, j->is_measured ? TC_LIT(" AND x.in_window") : TC_EMPTY);
    put_same_time(&b, j);
    put_range(&b, j, t);
    return run_sql(d, &b, "rows cannot be given their run", err);
}

/* Which kinds of names a table has, as bits. */
#define KINDS_SQL                                                                           \
    "SELECT CAST(sum(DISTINCT CASE kind WHEN 'pod_uid' THEN 1 WHEN 'pod' THEN 2 WHEN 'job'" \
    " THEN 4 WHEN 'scheduler' THEN 8 WHEN 'node' THEN 16 END) AS BIGINT) FROM "
_Static_assert(TC_RUN_NAME_POD_UID == 0 && TC_RUN_NAME_POD == 1 && TC_RUN_NAME_JOB == 2 &&
                   TC_RUN_NAME_SCHEDULER == 3 && TC_RUN_NAME_NODE == 4,
               "as the query counts them");

static tc_status take_todo(void *context, const struct tc_rows *rows)
{
    struct todo *t = context;
    if (rows->count > 0) {
        t->rows = tc_rows_get_int(rows, 0, 0);
        t->from_us = tc_rows_is_null(rows, 1, 0) ? INT64_MAX : tc_rows_get_int(rows, 1, 0);
        t->to_us = tc_rows_is_null(rows, 2, 0) ? INT64_MIN : tc_rows_get_int(rows, 2, 0);
    }
    return TC_OK;
}

/* Whether a table got rows, and the hull of the times that are noted for it. */
static tc_status measure(struct tc__duckdb *d, const struct joined *j, struct todo *t,
                         struct tc_error *err)
{
    struct tc_bind bind = {.type = TC_COLUMN_TEXT, .as.text = tc_slice_cstr(j->stored)};
    struct tc_query query = {
        .sql =
            TC_LIT("SELECT count(table_name), min(from_time), max(to_time) FROM " TC__JOIN_PENDING
                   " WHERE kind IS NOT NULL OR table_name = ?"),
        .binds = &bind,
        .bind_count = 1};
    bool cut = false;
    return tc__duckdb_query(d, &query, take_todo, t, &cut, err);
}

static tc_status settle_table(struct tc__duckdb *d, const struct joined *j, struct todo *t,
                              struct tc_error *err)
{
    TC_TRY(measure(d, j, t, err));
    if ((t->names == 0 && t->rows == 0) || (j->is_measured && t->from_us > t->to_us)) {
        return TC_OK;
    }
    if (t->names > 0) {
        TC_TRY(reset(d, j, t, err));
    }
    for (const struct row_name *n = j->names; n->sql != NULL; n++) {
        if ((t->claims >> n->name & 1) != 0) {
            TC_TRY(stamp(d, j, n, t, err));
        }
    }
    return TC_OK;
}

static tc_status work_off(struct tc__duckdb *d, struct tc_error *err)
{
    struct todo t = {0};
    TC_TRY(tc__duckdb_ask(d, TC_LIT(KINDS_SQL TC__JOIN_PENDING), &t.names, err));
    if (t.names > 0) {
        TC_TRY(tc__join_claim(d, err));
    }
    TC_TRY(tc__duckdb_ask(d, TC_LIT(KINDS_SQL TC__JOIN_CLAIMS), &t.claims, err));
    for (size_t i = 0; i < TC_COUNT(JOINED); i++) {
        TC_TRY(settle_table(d, &JOINED[i], &t, err));
    }
    return tc__duckdb_run(d, "DELETE FROM " TC__JOIN_PENDING, TC__JOIN_PENDING, err);
}

static tc_status settle_locked(struct tc__duckdb *d, struct tc_error *err)
{
    struct tc_error ignored;
    TC_TRY(tc__duckdb_run(d, "BEGIN TRANSACTION", "cannot begin to write", err));
    d->in_transaction = true;
    tc_status status = work_off(d, err);
    tc_status ended = tc__duckdb_end_appends(d, status == TC_OK ? err : &ignored);
    status = status == TC_OK ? ended : status;
    status = status == TC_OK ? tc__duckdb_run(d, "COMMIT", "cannot commit", err) : status;
    if (status != TC_OK) {
        (void)!tc__duckdb_run(d, "ROLLBACK", "", &ignored);
    }
    d->in_transaction = false;
    return status;
}

tc_status tc__join_settle(struct tc__duckdb *d, struct tc_error *err)
{
    (void)pthread_mutex_lock(&d->base->join_lock);
    tc_status status = settle_locked(d, err);
    (void)pthread_mutex_unlock(&d->base->join_lock);
    return status;
}

tc_status tc__join_settle_left(struct tc__duckdb *d, struct tc_error *err)
{
    int64_t left = 0;
    TC_TRY(tc__duckdb_ask(d, TC_LIT("SELECT count(*) FROM " TC__JOIN_PENDING), &left, err));
    return left == 0 ? TC_OK : tc__join_settle(d, err);
}
