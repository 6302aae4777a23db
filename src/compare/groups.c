/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/groups.h"

#include "base/assert.h"
#include "base/format.h"

#include <stdlib.h>

/* ---- the columns ---- */

static const char *const IDENTITY[TC_GROUP_FACTS] = {
    [TC_GROUP_RUN_ID] = "run_id",
    [TC_GROUP_RUN_NAME] = "name",
    [TC_GROUP_REPLICATE_GROUP] = "replicate_group",
    [TC_GROUP_REPLICATE_INDEX] = "replicate_index",
    [TC_GROUP_CASE_ID] = "benchmark_case_id",
    [TC_GROUP_STATUS] = "status",
    [TC_GROUP_STARTED] = "started_at",
    [TC_GROUP_ENDED] = "ended_at",
    [TC_GROUP_MIN_REPLICATES] = "min_replicates",
    [TC_GROUP_CONFIDENCE] = "confidence_level",
    [TC_GROUP_CONTRACT] = "contract_digest",
    [TC_GROUP_VARIABLE] = "variable_under_test",
};

static const char *const RUN_FACTS[] = {
    "benchmark_class", "workload_type",        "cadence", "scheduler_path", "tools",
    "gpu_hour_usd",    "workload_spec_digest",
};

static const struct {
    enum tc_table table;
    const char *key;
    const char *part;
} DIMENSIONS[] = {
    {TC_TABLE_WORKLOAD, "workload_key", "workload"},
    {TC_TABLE_SOFTWARE, "software_key", "software"},
    {TC_TABLE_HARDWARE, "hardware_key", "hardware"},
    {TC_TABLE_CLUSTER, "cluster_key", "cluster"},
};

/* Of a dimension: not its key, and not what the run's row has itself. */
static bool is_fact(const struct tc_column *column)
{
    struct tc_slice name = tc_slice_cstr(column->name);
    return !tc_slice_ends(name, TC_LIT("_key")) &&
           !tc_slice_is_any(name, "workload_spec_digest", "scheduler_path");
}

/* Walks the columns of dimensions: the n-th, and the dimension that it is of. */
static const struct tc_column *dimension_column(size_t n, size_t *out_dimension)
{
    for (size_t d = 0; d < TC_COUNT(DIMENSIONS); d++) {
        const struct tc_table_info *t = tc_table_info(DIMENSIONS[d].table);
        for (size_t c = 0; c < t->column_count; c++) {
            if (is_fact(&t->columns[c]) && n-- == 0) {
                *out_dimension = d;
                return &t->columns[c];
            }
        }
    }
    return NULL;
}

const char *tc_group_part(size_t column)
{
    size_t dimension = 0;
    size_t before = TC_GROUP_FACTS + TC_COUNT(RUN_FACTS);
    return column >= before && dimension_column(column - before, &dimension) != NULL
               ? DIMENSIONS[dimension].part
               : "run";
}

size_t tc_group_column_count(void)
{
    size_t count = TC_GROUP_FACTS + TC_COUNT(RUN_FACTS);
    size_t dimension = 0;
    for (size_t n = 0; dimension_column(n, &dimension) != NULL; n++) {
        count++;
    }
    return count;
}

/* ---- queries ---- */

/* All runs with what is known of them, under names that are unique. */
static void put_view(struct tc_grow *sql)
{
    size_t d = 0;
    const struct tc_column *column = NULL;
    tc_grow_lit(sql, "(SELECT r.*");
    for (size_t n = 0; (column = dimension_column(n, &d)) != NULL; n++) {
        tc_grow_format(sql, ", d{}.{}", d, column->name);
    }
    tc_grow_lit(sql, " FROM benchmark_run_fact r");
    for (d = 0; d < TC_COUNT(DIMENSIONS); d++) {
        tc_grow_format(sql, " LEFT JOIN {} d{} ON d{}.{} = r.{}",
                       tc_table_info(DIMENSIONS[d].table)->name, d, d, DIMENSIONS[d].key,
                       DIMENSIONS[d].key);
    }
    tc_grow_lit(sql, ") AS run");
}

static void put_query(struct tc_grow *sql, struct tc_slice where)
{
    size_t d = 0;
    const struct tc_column *column = NULL;
    for (size_t n = 0; n < TC_COUNT(IDENTITY); n++) {
        tc_grow_format(sql, "{}{}", n == 0 ? "SELECT " : ", ", IDENTITY[n]);
    }
    for (size_t n = 0; n < TC_COUNT(RUN_FACTS); n++) {
        tc_grow_format(sql, ", {}", RUN_FACTS[n]);
    }
    for (size_t n = 0; (column = dimension_column(n, &d)) != NULL; n++) {
        tc_grow_format(sql, ", {}", column->name);
    }
    tc_grow_lit(sql, " FROM ");
    put_view(sql);
    /* A line of its own: the condition may end in a comment. */
    tc_grow_format(sql,
                   " WHERE ({}\n) ORDER BY CASE WHEN status IN ('failed', 'incomplete') THEN 1 "
                   "ELSE 0 END, started_at, run_id",
                   where);
}

static struct tc_bind bind_text(struct tc_slice text)
{
    return (struct tc_bind){.type = TC_COLUMN_TEXT, .as.text = text};
}

static tc_status no_memory(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory for a group of runs");
}

/* The runs that fulfil `where`, whose `?` is the word. */
static tc_status ask_word(struct tc_warehouse *w, const char *where, struct tc_slice word,
                          struct tc_answer *out, struct tc_error *err)
{
    struct tc_grow sql = {0};
    struct tc_bind bind = bind_text(word);
    put_query(&sql, tc_slice_cstr(where));
    struct tc_query query = {
        .sql = tc_grow_slice(&sql), .binds = &bind, .bind_count = 1, .rows_max = TC_GROUP_RUNS_MAX};
    tc_status status = sql.failed ? no_memory(err) : tc_answer_ask(w, &query, out, err);
    tc_grow_fini(&sql);
    return status;
}

/* ---- conditions ---- */

static bool looks_like_condition(struct tc_slice word)
{
    for (size_t n = 0; n < word.len; n++) {
        if (tc_slice_find_byte(TC_LIT(" \t\n=<>!()'\"~"), word.ptr[n]) != TC_NPOS) {
            return true;
        }
    }
    return false;
}

/* The engine's message has lines with the query in it. */
static tc_status bad_condition(struct tc_slice word, tc_status status, struct tc_error *err)
{
    char why[TC_ERROR_MESSAGE_MAX];
    struct tc_slice rest;
    struct tc_slice line = tc_slice_cut(tc_slice_cstr(err->message), '\n', &rest);
    struct tc_buf b = tc_buf_make(why, sizeof why);
    tc_buf_str(&b, tc_slice_head(line, 130));
    struct tc_slice shown = tc_slice_head(word, 60);
    return tc_fail(err, status, 0,
                   "no run, group or name is \"%.*s\"%s, nor is it a condition: %.*s",
                   TC_FMT(shown), shown.len < word.len ? "…" : "", TC_FMT(tc_buf_slice(&b)));
}

/*
 * That a condition is one expression is for the engine to say. Where it stands without brackets,
 * one that closes the brackets of the query below does not parse; what would end the CASE does not
 * parse there. So what passes here ends nothing.
 */
static tc_status check_expression(struct tc_warehouse *w, struct tc_slice word,
                                  struct tc_error *err)
{
    struct tc_grow sql = {0};
    struct tc_answer answer;
    tc_grow_format(&sql, "SELECT CASE WHEN {}\nTHEN 1 END FROM ", word);
    put_view(&sql);
    tc_grow_lit(&sql, " LIMIT 0");
    struct tc_query query = {
        .sql = tc_grow_slice(&sql), .untrusted = true, .time_ns = TC_GROUP_TIME_NS};
    tc_status status = sql.failed ? no_memory(err) : tc_answer_ask(w, &query, &answer, err);
    if (status == TC_OK) {
        tc_answer_fini(&answer);
    }
    tc_grow_fini(&sql);
    return status;
}

static tc_status ask_condition(struct tc_warehouse *w, struct tc_slice word, struct tc_answer *out,
                               struct tc_error *err)
{
    struct tc_grow sql = {0};
    put_query(&sql, word);
    struct tc_query query = {.sql = tc_grow_slice(&sql),
                             .untrusted = true,
                             .rows_max = TC_GROUP_RUNS_MAX,
                             .time_ns = TC_GROUP_TIME_NS};
    tc_status status = sql.failed ? no_memory(err) : check_expression(w, word, err);
    if (status == TC_OK) {
        status = tc_answer_ask(w, &query, out, err);
    }
    tc_grow_fini(&sql);
    if (status == TC_E_USAGE) {
        return bad_condition(word, status, err);
    }
    if (status == TC_OK && out->row_count == 0) {
        tc_answer_fini(out);
        return tc_fail(err, TC_E_NOTFOUND, 0, "no run fulfils the condition %.*s",
                       TC_FMT(tc_slice_head(word, 160)));
    }
    return status;
}

/* ---- the start of a word, and words that are not there ---- */

#define SHOWN_MAX 4

/* What begins with the word: ids, groups and names, each once. */
static const char *const STARTS[] = {
    "SELECT DISTINCT run_id FROM benchmark_run_fact WHERE run_id >= ? AND run_id <= ? ORDER BY 1",
    ("SELECT DISTINCT replicate_group FROM benchmark_run_fact WHERE replicate_group >= ? AND "
     "replicate_group <= ? ORDER BY 1"),
    "SELECT DISTINCT name FROM benchmark_run_fact WHERE name >= ? AND name <= ? ORDER BY 1",
};

static tc_status fail_several(struct tc_slice word, const struct tc_answer *found,
                              struct tc_error *err)
{
    char list[160];
    struct tc_buf b = tc_buf_make(list, sizeof list);
    for (size_t n = 0; n < found->row_count && n < SHOWN_MAX; n++) {
        struct tc_slice text = tc_answer_text(found, n, 0);
        (void)tc_format(&b, "{}{}", n == 0 ? "" : ", ", tc_as_printable(tc_slice_head(text, 32)));
    }
    return tc_fail(err, TC_E_NOTFOUND, 0, "\"%.*s\" is the start of %zu: %.*s%s; give more of it",
                   TC_FMT(tc_slice_head(word, 40)), found->row_count, TC_FMT(tc_buf_slice(&b)),
                   found->row_count > SHOWN_MAX ? ", …" : "");
}

/* The one thing that begins with the word, as an answer of one row; no row when nothing does. */
static tc_status find_start(struct tc_warehouse *w, struct tc_slice word, struct tc_answer *out,
                            struct tc_error *err)
{
    struct tc_grow end = {0};
    tc_grow_format(&end, "{}\xf4\x8f\xbf\xbf", word); /* the last character there is */
    struct tc_bind range[] = {bind_text(word), bind_text(tc_grow_slice(&end))};
    tc_status status = end.failed ? no_memory(err) : TC_OK;
    *out = (struct tc_answer){0};
    for (size_t n = 0; status == TC_OK && out->row_count == 0 && n < TC_COUNT(STARTS); n++) {
        tc_answer_fini(out);
        status = tc_answer_query(w, STARTS[n], range, TC_COUNT(range), out, err);
    }
    tc_grow_fini(&end);
    if (status == TC_OK && out->row_count > 1) {
        status = fail_several(word, out, err);
        tc_answer_fini(out);
    }
    return status;
}

static tc_status fail_unknown(struct tc_warehouse *w, struct tc_slice word, struct tc_error *err)
{
    static const char all[] = "SELECT run_id, 0 FROM benchmark_run_fact UNION SELECT "
                              "replicate_group, 0 FROM benchmark_run_fact UNION SELECT name, 0 "
                              "FROM benchmark_run_fact UNION SELECT run_id, 1 FROM "
                              "artifact_lineage_dim WHERE run_id NOT IN (SELECT run_id FROM "
                              "benchmark_run_fact) ORDER BY 2, 1";
    struct tc_answer names;
    size_t best = 0;
    size_t least = SIZE_MAX;
    struct tc_slice shown = tc_slice_head(word, 60);
    TC_TRY(tc_answer_query(w, all, NULL, 0, &names, err));
    for (size_t row = 0; row < names.row_count; row++) {
        struct tc_slice name = tc_answer_text(&names, row, 0);
        size_t distance = name.len > 0 ? tc_slice_distance(word, name) : SIZE_MAX;
        if (distance < least) {
            least = distance;
            best = row;
        }
    }
    tc_status status = TC_E_NOTFOUND;
    if (names.row_count == 0) {
        (void)tc_fail(err, status, 0, "there are no runs yet; `tracecore run add` adds one");
    } else if (least == 0 && tc_answer_int(&names, best, 1) == 1) {
        (void)tc_fail(err, status, 0,
                      "run %.*s was moved by `tracecore retain` to a snapshot in data_dir/cold",
                      TC_FMT(shown));
    } else if (least <= 1 + word.len / 3) {
        (void)tc_fail(err, status, 0,
                      "there is no run, group or name \"%.*s\"; did you mean \"%.*s\"?",
                      TC_FMT(shown), TC_FMT(tc_slice_head(tc_answer_text(&names, best, 0), 80)));
    } else {
        (void)tc_fail(err, status, 0,
                      "there is no run, group or name \"%.*s\"; `tracecore run list` shows those "
                      "there are",
                      TC_FMT(shown));
    }
    tc_answer_fini(&names);
    return status;
}

/* ---- the group ---- */

static const struct {
    enum tc_group_kind kind;
    const char *where;
} EXACT[] = {
    {TC_GROUP_RUN, "run_id = ?"},
    {TC_GROUP_REPLICATES, "replicate_group = ?"},
    {TC_GROUP_NAME, "name = ?"},
};

static tc_status ask_exact(struct tc_warehouse *w, struct tc_slice word, struct tc_group *g,
                           struct tc_error *err)
{
    for (size_t n = 0; n < TC_COUNT(EXACT) && g->runs.row_count == 0; n++) {
        tc_answer_fini(&g->runs);
        g->kind = EXACT[n].kind;
        TC_TRY(ask_word(w, EXACT[n].where, word, &g->runs, err));
    }
    return TC_OK;
}

static tc_status ask_any(struct tc_warehouse *w, struct tc_slice word, struct tc_group *g,
                         struct tc_error *err)
{
    struct tc_answer start;
    TC_TRY(ask_exact(w, word, g, err));
    if (g->runs.row_count > 0) {
        return TC_OK;
    }
    if (looks_like_condition(word)) {
        tc_answer_fini(&g->runs);
        g->kind = TC_GROUP_CONDITION;
        return ask_condition(w, word, &g->runs, err);
    }
    TC_TRY(find_start(w, word, &start, err));
    tc_status status = start.row_count == 1 ? ask_exact(w, tc_answer_text(&start, 0, 0), g, err)
                                            : fail_unknown(w, word, err);
    tc_answer_fini(&start);
    return status;
}

/* What the contracts of the runs ask for. */
static void sum_up(struct tc_group *g)
{
    bool several = false;
    for (size_t run = 0; run < g->run_count; run++) {
        const struct tc_answer *r = &g->runs;
        struct tc_slice variable = tc_answer_text(r, run, TC_GROUP_VARIABLE);
        int64_t least = tc_answer_int(r, run, TC_GROUP_MIN_REPLICATES);
        double level = tc_answer_known(r, run, TC_GROUP_CONFIDENCE)
                           ? tc_answer_real(r, run, TC_GROUP_CONFIDENCE)
                           : 0;
        g->min_replicates = least > g->min_replicates ? least : g->min_replicates;
        g->confidence_level = level > g->confidence_level ? level : g->confidence_level;
        g->no_replicates += tc_answer_known(r, run, TC_GROUP_REPLICATE_INDEX) ? 0 : 1;
        several |= variable.len > 0 && g->variable.len > 0 && !tc_slice_eq(variable, g->variable);
        g->variable = tc_slice_or(g->variable, variable);
    }
    if (several) {
        g->variable = TC_EMPTY;
    }
}

static tc_status check_count(const struct tc_group *g, struct tc_slice word, struct tc_error *err)
{
    struct tc_slice shown = tc_slice_head(word, 80);
    if (g->runs.cut) {
        return tc_fail(err, TC_E_LIMIT, 0,
                       "\"%.*s\" means more than %d runs; a condition can choose", TC_FMT(shown),
                       TC_GROUP_RUNS_MAX);
    }
    if (g->run_count == 0) {
        return tc_fail(err, TC_E_NOTFOUND, 0, "\"%.*s\": %s failed or %s not complete",
                       TC_FMT(shown), g->left_out == 1 ? "the run" : "all runs",
                       g->left_out == 1 ? "is" : "are");
    }
    return TC_OK;
}

tc_status tc_group_find(struct tc_warehouse *w, struct tc_slice word, unsigned flags,
                        struct tc_group *out, struct tc_error *err)
{
    struct tc_group g = {0};
    if (word.len == 0 || memchr(word.ptr, '\0', word.len) != NULL) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "which runs? An id, a replicate group, a name, or a condition");
    }
    g.text = calloc(word.len + 1, 1);
    if (g.text != NULL) {
        memcpy(g.text, word.ptr, word.len);
    }
    tc_status status = g.text == NULL ? no_memory(err) : ask_any(w, word, &g, err);
    if (status == TC_OK) {
        size_t count = g.runs.row_count;
        while ((flags & TC_GROUP_WITH_FAILED) == 0 && count > 0 &&
               tc_slice_is_any(tc_answer_text(&g.runs, count - 1, TC_GROUP_STATUS), "failed",
                               "incomplete")) {
            count--;
        }
        g.run_count = count;
        g.left_out = g.runs.row_count - count;
        status = check_count(&g, word, err);
    }
    if (status != TC_OK) {
        tc_group_fini(&g);
        return status;
    }
    sum_up(&g);
    *out = g;
    return TC_OK;
}

void tc_group_fini(struct tc_group *g)
{
    tc_answer_fini(&g->runs);
    free(g->text);
    *g = (struct tc_group){0};
}

enum tc_group_column tc_group_key(const struct tc_group *g)
{
    switch (g->kind) {
    case TC_GROUP_RUN:
        return TC_GROUP_RUN_ID;
    case TC_GROUP_REPLICATES:
        return TC_GROUP_REPLICATE_GROUP;
    case TC_GROUP_NAME:
        return TC_GROUP_RUN_NAME;
    case TC_GROUP_CONDITION:
        break;
    }
    return TC_GROUP_FACTS;
}

void tc_group_describe(const struct tc_group *g, struct tc_grow *out)
{
    static const char *const kinds[] = {
        [TC_GROUP_RUN] = "run",
        [TC_GROUP_REPLICATES] = "group",
        [TC_GROUP_NAME] = "name",
        [TC_GROUP_CONDITION] = "runs where",
    };
    struct tc_slice text = g->kind == TC_GROUP_CONDITION ? tc_slice_cstr(g->text)
                                                         : tc_group_text(g, 0, tc_group_key(g));
    tc_grow_format(out, "{} {}", kinds[g->kind], tc_as_printable(text));
}
