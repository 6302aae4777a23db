/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore run list`: the runs, newest first. */
#include "answers/runs.h"
#include "base/format.h"
#include "cli/command.h"
#include "cli/output/say.h"
#include "cli/run/run.h"
#include "cli/since.h"

#define LIMIT_DEFAULT 50
#define ID_LEN (sizeof "run-0123456789abcdef" - 1)

/* False when something is wrong with the arguments, which was said. */
static bool make_wish(const struct tc_run_args *args, struct tc_runs_want *w, uint64_t *out_limit)
{
    int64_t since = 0;
    *w = (struct tc_runs_want){.name = tc_slice_cstr(args->name),
                               .benchmark_class = tc_slice_cstr(args->benchmark_class),
                               .has_since = args->since != NULL};
    if (args->benchmark_class != NULL &&
        !tc_slice_is_any(w->benchmark_class, "exploratory", "publication_grade", "realism_grade")) {
        tc_say("run", "--class takes exploratory, publication_grade or realism_grade, not \"%s\"",
               args->benchmark_class);
        return false;
    }
    if (args->since != NULL && !tc_since_parse(args->since, &since)) {
        tc_say("run",
               "--since takes a time such as 2026-11-15T03:00:00Z or how long ago, such as 15m "
               "or 2h, not \"%s\"",
               args->since);
        return false;
    }
    w->since_us = since / 1000;
    if (args->limit != NULL && !tc_slice_is_u64(tc_slice_cstr(args->limit), out_limit)) {
        tc_say("run", "--limit takes a number, 0 for all, not \"%s\"", args->limit);
        return false;
    }
    return true;
}

/* Ids that are digests are short for people: the start of one is enough for `run show`. */
#define ID_SHOWN 12

static void put_cell(struct tc_text_table *t, const struct tc_answer *s, size_t row, size_t column)
{
    struct tc_grow g = {0};
    tc_answer_value(&g, s, row, column);
    struct tc_slice text = tc_grow_slice(&g);
    if (column == TC_RUNS_ID && text.len == ID_LEN && tc_slice_starts(text, TC_LIT("run-"))) {
        text = tc_slice_head(text, ID_SHOWN);
    } else if (column == TC_RUNS_CLASS && tc_slice_ends(text, TC_LIT("_grade"))) {
        text = tc_slice_head(text, text.len - sizeof "_grade" + 1);
    } else if (column == TC_RUNS_STARTED) {
        text = tc_slice_head(text, sizeof "2026-11-16" - 1);
    }
    t->failed |= g.failed;
    tc_text_table_cell(t, text);
    tc_grow_fini(&g);
}

static void put_table(struct tc_grow *g, const struct tc_answer *s, size_t count)
{
    static const struct {
        const char *head;
        size_t column;
        bool right;
    } columns[] = {
        {"run", TC_RUNS_ID, false},          {"name", TC_RUNS_NAME, false},
        {"class", TC_RUNS_CLASS, false},     {"status", TC_RUNS_STATUS, false},
        {"started", TC_RUNS_STARTED, false}, {"incidents", TC_RUNS_INCIDENTS, true},
        {"points", TC_RUNS_POINTS, true},    {"rep", TC_RUNS_REPLICATE, true},
        {"type", TC_RUNS_TYPE, false},
    };
    bool any = false;
    for (size_t row = 0; row < count; row++) {
        any = any || tc_answer_int(s, row, TC_RUNS_INCIDENTS) > 0;
    }
    struct tc_text_table t = {.flexible = 1, .flexible_min = 14};
    size_t used[TC_COUNT(columns)];
    for (size_t c = 0; c < TC_COUNT(columns); c++) {
        if (any || columns[c].column != TC_RUNS_INCIDENTS) {
            used[t.column_count] = columns[c].column;
            t.heads[t.column_count] = columns[c].head;
            t.right[t.column_count++] = columns[c].right;
        }
    }
    for (size_t row = 0; row < count; row++) {
        for (size_t c = 0; c < t.column_count; c++) {
            put_cell(&t, s, row, used[c]);
        }
    }
    (void)tc_text_table_print(&t, g, "");
    tc_text_table_fini(&t);
}

static int print_list(const struct tc_run_args *args, uint64_t limit, const struct tc_answer *s)
{
    struct tc_grow g = {0};
    bool is_some = args->name != NULL || args->benchmark_class != NULL || args->since != NULL;
    size_t count = limit == 0 || s->row_count < limit ? s->row_count : (size_t)limit;
    size_t left = s->row_count - count;
    if (args->json) {
        struct tc_json_out j = tc_json_out_grow(&g);
        for (size_t row = 0; row < count; row++) {
            tc_answer_row_json(&j, s, row);
            (void)tc_json_done_line(&j);
        }
    } else if (count > 0) {
        put_table(&g, s, count);
    }
    if (count == 0) {
        tc_say("run", "%s",
               is_some ? "no run is like that"
                       : "there is no run yet; add one with `tracecore run add`");
    } else if (left > 0) {
        tc_say("run", "%s%zu more; --limit 0 shows all", s->cut ? "more than " : "", left);
    }
    return tc_output_grown("run", &g, TC_EXIT_OK);
}

int tc_run_list(const struct tc_run_args *args)
{
    struct tc_runs_want want;
    struct tc_answer s;
    struct tc_error err = {0};
    uint64_t limit = LIMIT_DEFAULT;
    if (!make_wish(args, &want, &limit)) {
        return tc_command_misused(&tc_command_run);
    }
    struct tc_warehouse *warehouse = tc_run_open(args);
    if (warehouse == NULL) {
        return TC_EXIT_BAD;
    }
    int code = TC_EXIT_BAD;
    if (tc_runs_list(warehouse, &want, &s, &err) != TC_OK) {
        tc_say("run", "%s", err.message);
    } else {
        code = print_list(args, limit, &s);
        tc_answer_fini(&s);
    }
    tc_warehouse_close(warehouse);
    return code;
}
