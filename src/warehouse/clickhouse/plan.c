/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rows of the large tables a query reads. DuckDB is asked: its plan says of each scan which
 * filters it has pushed down to it, and which columns it takes. Every filter of a scan holds for
 * all rows that leave it, so rows that do not fulfil it need not be fetched; what is fetched too
 * much is filtered again.
 *
 * A run's rows are those that name it, and those without a run that the local database finds to be
 * its own (decision 21): in place of run_id = 'x' both are fetched, the second by the run's time.
 */
#include "base/format.h"
#include "warehouse/clickhouse/clickhouse_priv.h"
#include "warehouse/clickhouse/filter_priv.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 128
/* Around a run's time. */
#define MARGIN_US (INT64_C(20) * 60 * 1000000)

/* The tables that DuckDB makes of a large one, and how many scans a plan has of them. */
struct scans {
    const char *facts;
    const char *texts;
    enum tc_table table;
    size_t fact_count;
    size_t text_count;
    bool is_all; /* one of the scans has no filter */
};

struct planning {
    struct tc__ch *ch;
    struct tc__ch_plan *plan;
    struct tc__filter *filter;
    struct scans scans[2];
    struct tc_error *err;
    tc_status status;
};

/* ---- literals ---- */

/* A text of a filter, in which quotes are doubled. */
static void put_value(struct tc_grow *g, struct tc_slice text)
{
    tc_grow_lit(g, "'");
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '\'') {
            i++; /* the second */
        }
        tc_grow_str(g, c == '\'' || c == '\\' ? TC_LIT("\\") : TC_EMPTY);
        tc_grow_str(g, tc_slice_make(&text.ptr[i], 1));
    }
    tc_grow_lit(g, "'");
}

static void put_list(struct tc_grow *g, const struct tc__filter *f, const struct tc__filter_term *t,
                     void (*put)(struct tc_grow *, struct tc_slice))
{
    for (size_t i = 0; i < t->count; i++) {
        tc_grow_str(g, i == 0 ? TC_EMPTY : TC_LIT(", "));
        put(g, f->values[t->first + i]);
    }
}

/* The same for DuckDB: it stands there as DuckDB wrote it. */
static void put_as_it_is(struct tc_grow *g, struct tc_slice text)
{
    tc_grow_format(g, "'{}'", text);
}

/* ---- rows without a run ---- */

static tc_status take_span(void *context, const struct tc_rows *rows)
{
    struct tc__ch_span *s = context;
    if (rows->count > 0) {
        s->count = tc_rows_get_int(rows, 0, 0);
        s->from_us = tc_rows_is_null(rows, 1, 0) ? INT64_MIN : tc_rows_get_int(rows, 1, 0);
        s->to_us = tc_rows_is_null(rows, 2, 0) ? INT64_MAX : tc_rows_get_int(rows, 2, 0);
    }
    return TC_OK;
}

tc_status tc__ch_span_of(struct tc__ch *ch, struct tc_slice condition, struct tc__ch_span *out,
                         struct tc_error *err)
{
    struct tc_grow sql = {0};
    bool cut = false;
    *out = (struct tc__ch_span){0};
    tc_grow_format(&sql,
                   "SELECT count(*), CASE WHEN count(window_start) = count(*) THEN "
                   "min(window_start) END, CASE WHEN count(window_end) = count(*) THEN "
                   "max(window_end) END FROM run_scope_fact WHERE {}",
                   condition);
    struct tc_query query = {.sql = tc_grow_slice(&sql)};
    tc_status status = sql.failed
                           ? tc_fail(err, TC_E_NOMEM, 0, "no memory for a query")
                           : tc__engine_duckdb.query(ch->local, &query, take_span, out, &cut, err);
    tc_grow_fini(&sql);
    return status;
}

/* Of the runs of a term. */
static tc_status span_of(struct planning *p, const struct tc__filter_term *t,
                         struct tc__ch_span *out)
{
    struct tc_grow condition = {0};
    tc_grow_lit(&condition, "run_id IN (");
    put_list(&condition, p->filter, t, put_as_it_is);
    tc_grow_lit(&condition, ")");
    tc_status status = condition.failed
                           ? tc_fail(p->err, TC_E_NOMEM, 0, "no memory for a query")
                           : tc__ch_span_of(p->ch, tc_grow_slice(&condition), out, p->err);
    tc_grow_fini(&condition);
    return status;
}

void tc__ch_put_span(struct tc_grow *g, enum tc_table table, const struct tc__ch_span *s)
{
    bool is_slice = table == TC_TABLE_SLICE;
    if (s->to_us < INT64_MAX - MARGIN_US) {
        tc_grow_format(g, " AND {} <= {}", is_slice ? "window_start" : "started_at",
                       s->to_us + MARGIN_US);
    }
    if (s->from_us > INT64_MIN + MARGIN_US) {
        tc_grow_format(g, " AND {} >= {}", is_slice ? "window_end" : "started_at",
                       s->from_us - MARGIN_US);
    }
}

/* ---- terms ---- */

static const char *sign_text(enum tc__filter_sign sign)
{
    static const char *const texts[] = {
        [TC__FILTER_IN] = "IN",    [TC__FILTER_FROM] = ">=",  [TC__FILTER_AFTER] = ">",
        [TC__FILTER_UNTIL] = "<=", [TC__FILTER_BEFORE] = "<", [TC__FILTER_AT] = "=",
    };
    return texts[sign];
}

static void put_run(struct planning *p, struct tc_grow *g, enum tc_table table,
                    const struct tc__filter_term *t)
{
    struct tc__ch_span span;
    const char *run = table == TC_TABLE_SLICE ? "run_id" : "ifNull(run_id, '')";
    p->status = p->status == TC_OK ? span_of(p, t, &span) : p->status;
    if (p->status != TC_OK) {
        return;
    }
    tc_grow_format(g, "({} IN (", run);
    put_list(g, p->filter, t, put_value);
    tc_grow_lit(g, ")");
    if (span.count > 0) {
        tc_grow_format(g, " OR ({} = ''", run);
        tc__ch_put_span(g, table, &span);
        tc_grow_lit(g, ")");
    }
    tc_grow_lit(g, ")");
}

/* DuckDB keeps other columns of requests in parts (request.c there): a filter is on a part. */
static bool is_kept_whole(size_t column)
{
    return column == TC_REQUEST_RUN_ID || column == TC_REQUEST_WORKLOAD_POINT ||
           column == TC_REQUEST_STARTED || column == TC_REQUEST_JOB_UID ||
           column == TC_REQUEST_POD_UID || column == TC_REQUEST_POD_NAME ||
           column == TC_REQUEST_NODE || column == TC_REQUEST_TOOL ||
           column == TC_REQUEST_SOURCE_DIGEST;
}

/* One term, if the column is one that rows over there have. */
static void put_term(struct planning *p, struct tc_grow *g, enum tc_table table,
                     const struct tc__filter_term *t)
{
    const struct tc_table_info *info = tc_table_info(table);
    size_t i = 0;
    while (i < info->column_count &&
           !tc_slice_eq(t->column, tc_slice_cstr(info->columns[i].name))) {
        i++;
    }
    bool is_text = t->sign == TC__FILTER_IN;
    if (i == info->column_count ||
        info->columns[i].type != (is_text ? TC_COLUMN_TEXT : TC_COLUMN_TIME) ||
        (table == TC_TABLE_REQUEST && !is_kept_whole(i))) {
        return;
    }
    tc_grow_str(g, g->buf.len == 0 ? TC_EMPTY : TC_LIT(" AND "));
    bool is_run =
        i == (size_t)(table == TC_TABLE_SLICE ? (int)TC_SLICE_RUN_ID : (int)TC_REQUEST_RUN_ID);
    if (is_run) {
        put_run(p, g, table, t);
    } else if (is_text) {
        tc_grow_format(g, "{} IN (", info->columns[i].name);
        put_list(g, p->filter, t, put_value);
        tc_grow_lit(g, ")");
    } else {
        tc_grow_format(g, "{} {} {}", info->columns[i].name, sign_text(t->sign), t->time_us);
    }
}

/* Every word of a text that is the name of a column. */
static void note_columns(struct tc__ch_scan *scan, enum tc_table table, struct tc_slice text)
{
    const struct tc_table_info *info = tc_table_info(table);
    for (size_t at = 0; at < text.len;) {
        size_t len = 0;
        while (at + len < text.len && tc_is_word(text.ptr[at + len])) {
            len++;
        }
        for (size_t i = 0; len > 0 && i < info->column_count; i++) {
            scan->columns[i] |= tc_slice_eq(tc_slice_make(text.ptr + at, len),
                                            tc_slice_cstr(info->columns[i].name));
        }
        scan->needs_run |= tc_slice_eq(tc_slice_make(text.ptr + at, len), TC_LIT(TC__JOIN_FOUND));
        at += len + 1;
    }
}

/* ---- scans ---- */

/* The texts of a member that is a text or a list of them, one by one. */
struct texts {
    struct tc_json_iter it;
    struct tc_json one;
    bool is_list;
    bool is_done;
};

static struct texts texts_of(struct tc_json info, const char *member)
{
    struct texts t = {.is_done = !tc_json_get(info, tc_slice_cstr(member), &t.one)};
    t.is_list = !t.is_done && tc_json_type(t.one) == TC_JSON_ARRAY;
    if (t.is_list) {
        t.it = tc_json_iter_make(t.one);
    }
    return t;
}

static bool next_text(struct texts *t, struct tc_slice *out)
{
    *out = TC_EMPTY;
    if (t->is_done) {
        return false;
    }
    if (t->is_list) {
        struct tc_json item;
        return tc_json_iter_next(&t->it, NULL, &item) && tc_json_string(item, out);
    }
    t->is_done = true;
    return tc_json_string(t->one, out);
}

/* DuckDB names no columns when it takes all of them. */
static void note_projections(struct tc__ch_scan *scan, enum tc_table table, struct tc_json info)
{
    struct texts t = texts_of(info, "Projections");
    struct tc_slice text;
    bool any = false;
    while (next_text(&t, &text)) {
        any |= text.len > 0;
        note_columns(scan, table, text);
    }
    if (!any) {
        memset(scan->columns, true, sizeof scan->columns);
    }
}

/* A filter with a line break in its value comes in two pieces: the first has an odd number of
 * quotes, and nothing here is to be believed. */
static void note_filters(struct planning *p, struct tc__ch_scan *scan, enum tc_table table,
                         struct tc_json info, struct tc_grow *where)
{
    struct texts t = texts_of(info, "Filters");
    struct tc_slice text;
    bool is_torn = false;
    while (next_text(&t, &text)) {
        note_columns(scan, table, text);
        is_torn |= tc_slice_count(text, '\'') % 2 != 0;
        if (tc__filter_parse(text, p->filter)) {
            for (size_t i = 0; i < p->filter->term_count; i++) {
                put_term(p, where, table, &p->filter->terms[i]);
            }
        }
    }
    if (is_torn) {
        tc_buf_reset(&where->buf);
    }
}

static void note_scan(struct planning *p, struct scans *s, bool is_texts, struct tc_json info)
{
    struct tc__ch_scan *scan = &p->plan->scans[s->table];
    struct tc_grow where = {0};
    struct tc_grow *all = is_texts ? &scan->where_texts : &scan->where;
    size_t *count = is_texts ? &s->text_count : &s->fact_count;
    scan->is_read = true;
    note_projections(scan, s->table, info);
    note_filters(p, scan, s->table, info, &where);
    s->is_all |= !is_texts && where.buf.len == 0;
    if (where.buf.len > 0) {
        tc_grow_format(all, "{}({})", all->buf.len == 0 ? "" : " OR ", tc_grow_slice(&where));
    }
    (*count)++;
    all->failed |= where.failed;
    tc_grow_fini(&where);
}

static void look_at(struct planning *p, struct tc_json node)
{
    struct tc_json info;
    struct tc_slice rest;
    if (!tc_json_get(node, TC_LIT("extra_info"), &info)) {
        return;
    }
    struct tc_slice name = tc_json_get_string(info, TC_LIT("Table"));
    for (struct tc_slice part = name; part.len > 0; part = rest) {
        name = tc_slice_cut(part, '.', &rest); /* behind the database's and the schema's */
    }
    for (size_t i = 0; i < TC_COUNT(p->scans); i++) {
        struct scans *s = &p->scans[i];
        bool is_texts = tc_slice_eq(name, tc_slice_cstr(s->texts));
        if (is_texts || tc_slice_eq(name, tc_slice_cstr(s->facts))) {
            note_scan(p, s, is_texts, info);
        }
    }
}

/* All nodes of the plan, with a stack of our own. */
static tc_status walk(struct planning *p, struct tc_json root)
{
    struct tc_json_iter stack[DEPTH_MAX];
    size_t depth = 1;
    stack[0] = tc_json_iter_make(root);
    while (depth > 0) {
        struct tc_json node;
        struct tc_json children;
        if (!tc_json_iter_next(&stack[depth - 1], NULL, &node)) {
            depth--;
            continue;
        }
        look_at(p, node);
        if (tc_json_get(node, TC_LIT("children"), &children)) {
            if (depth == DEPTH_MAX) {
                return tc_fail(p->err, TC_E_LIMIT, 0, "the query is nested too deep");
            }
            stack[depth++] = tc_json_iter_make(children);
        }
    }
    return p->status;
}

/* The run of a slice is asked for: by these it is found where the slice does not name one. */
static void note_run(struct tc__ch_scan *scan)
{
    static const size_t names[] = {
        TC_SLICE_RUN_ID,  TC_SLICE_START,           TC_SLICE_END, TC_SLICE_NODE, TC_SLICE_JOB_UID,
        TC_SLICE_POD_UID, TC_SLICE_SCHEDULER_RUN_ID};
    scan->needs_run |= scan->columns[TC_SLICE_RUN_ID] || scan->columns[TC_SLICE_JOIN];
    for (size_t i = 0; scan->needs_run && i < TC_COUNT(names); i++) {
        scan->columns[names[i]] = true;
    }
}

/* What of the filters can be used for all that is fetched. */
static void settle(struct planning *p, const struct tc_query *query)
{
    for (size_t i = 0; i < TC_COUNT(p->scans); i++) {
        const struct scans *s = &p->scans[i];
        struct tc__ch_scan *scan = &p->plan->scans[s->table];
        if (s->is_all) {
            tc_buf_reset(&scan->where.buf);
        }
        /* Of the view, used once: rows that the one side filters out are not needed of the other.
         */
        bool is_pair = s->fact_count == 1 && s->text_count == 1 &&
                       tc_slice_find_nocase(query->sql, tc_slice_cstr(s->texts)) == TC_NPOS;
        if (!is_pair) {
            tc_buf_reset(&scan->where_texts.buf);
        }
        if (s->table == TC_TABLE_REQUEST) {
            /* DuckDB keeps requests in columns of its own. */
            memset(scan->columns, true, sizeof scan->columns);
            scan->needs_run = true;
        } else {
            note_run(scan);
        }
    }
}

/* ---- the plan ---- */

static tc_status take_plan(void *context, const struct tc_rows *rows)
{
    struct tc_grow *g = context;
    size_t last = rows->column_count - 1;
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->columns[last].type == TC_COLUMN_TEXT && !tc_rows_is_null(rows, last, i)) {
            tc_grow_str(g, tc_rows_get_text(rows, last, i));
        }
    }
    return g->failed ? TC_E_NOMEM : TC_OK;
}

static tc_status explain(struct tc__ch *ch, const struct tc_query *query, struct tc_grow *out,
                         struct tc_error *err)
{
    struct tc_grow sql = {0};
    bool cut = false;
    tc_grow_lit(&sql, "EXPLAIN (FORMAT json) ");
    tc_grow_str(&sql, query->sql);
    struct tc_query asked = {
        .sql = tc_grow_slice(&sql), .binds = query->binds, .bind_count = query->bind_count};
    tc_status status = sql.failed
                           ? tc_fail(err, TC_E_NOMEM, 0, "no memory for a query")
                           : tc__engine_duckdb.query(ch->local, &asked, take_plan, out, &cut, err);
    tc_grow_fini(&sql);
    return status;
}

tc_status tc__ch_plan_make(struct tc__ch *ch, const struct tc_query *query, struct tc__ch_plan *out,
                           struct tc_error *err)
{
    struct tc_grow text = {0};
    struct tc_json root;
    struct planning p = {
        .ch = ch,
        .plan = out,
        .filter = malloc(sizeof *p.filter),
        .scans = {{"telemetry_slice", "telemetry_scope", TC_TABLE_SLICE, 0, 0, false},
                  {"serving_request", "serving_request_scope", TC_TABLE_REQUEST, 0, 0, false}},
        .err = err,
        .status = TC_OK,
    };
    memset(out, 0, sizeof *out);
    tc_status status = p.filter == NULL ? tc_fail(err, TC_E_NOMEM, 0, "no memory for a query")
                                        : explain(ch, query, &text, err);
    if (status == TC_OK) {
        status = tc_json_parse(ch->parser, tc_grow_slice(&text), &root, err);
        status = status == TC_OK ? walk(&p, root)
                                 : tc_fail(err, TC_E_IO, 0, "DuckDB gives no plan of the query");
    }
    if (status == TC_OK) {
        settle(&p, query);
    }
    tc_grow_fini(&text);
    free(p.filter);
    return status;
}

void tc__ch_plan_fini(struct tc__ch_plan *plan)
{
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        tc_grow_fini(&plan->scans[i].where);
        tc_grow_fini(&plan->scans[i].where_texts);
    }
}
