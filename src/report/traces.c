/* SPDX-License-Identifier: Apache-2.0 */
/* The slowest requests of the run that shows the difference most, and where their bytes are. */
#include "report/report_priv.h"
#include "warehouse/sql_text.h"

#include <math.h>

#define REQUESTS_MAX 5

enum { REQ_ID, REQ_TRACE, REQ_NODE, REQ_E2E, REQ_TTFT, REQ_DIGEST, REQ_POINTER };

size_t tc__run_to_look_at(const struct tc_report *r)
{
    const struct tc__side *subject = tc__subject(r);
    const struct tc_pair *pair =
        tc__is_comparison(r) ? tc_comparison_foremost(&r->comparison) : NULL;
    size_t run = subject->group->run_count > 0 ? subject->group->run_count - 1 : 0;
    if (pair == NULL) {
        return run; /* the latest */
    }
    const struct tc_series *s = pair->sides[TC_SIDE_CANDIDATE].series;
    double sign = s->better == TC_BETTER_HIGHER ? -1 : 1;
    double worst = -(double)INFINITY;
    for (size_t i = 0; i < s->count; i++) {
        if (sign * s->values[i] > worst) {
            worst = sign * s->values[i];
            run = s->runs[i];
        }
    }
    return run;
}

static struct tc_slice reading_query(struct tc_report *r, struct tc_slice run_id,
                                     struct tc_slice request, const char *column)
{
    struct tc_grow g = {0};
    tc_grow_format(&g,
                   "SELECT run_id, {} AS value FROM serving_request_fact WHERE run_id = ", column);
    tc_sql_put_text(&g, run_id);
    tc_grow_lit(&g, " AND request_id = ");
    tc_sql_put_text(&g, request);
    r->doc.failed = r->doc.failed || g.failed;
    struct tc_slice text = tc_doc_text(&r->doc, "{}", tc_grow_slice(&g));
    tc_grow_fini(&g);
    return text;
}

/* A latency of a request; words when it is not known. */
static void put_latency(struct tc_report *r, struct tc_doc_spans *cell, const struct tc_answer *a,
                        size_t row, size_t run, bool is_whole)
{
    struct tc_doc_number n;
    size_t column = is_whole ? REQ_E2E : REQ_TTFT;
    struct tc_slice id = tc_arena_copy(&r->arena, tc_answer_text(a, row, REQ_ID));
    struct tc_slice run_id = tc__subject(r)->basis->runs[run].run_id;
    if (!tc_answer_known(a, row, column)) {
        tc_doc_say(&r->doc, cell, "not known");
        return;
    }
    const struct tc__reading reading = {
        .metric = is_whole ? TC_LIT("e2e_ms") : TC_LIT("ttft_ms"),
        .unit = TC_LIT("ms"),
        .what = tc_doc_text(&r->doc, "request {}", id),
        .query = reading_query(r, run_id, id, is_whole ? "e2e_ms" : "ttft_ms"),
        .run = run,
        .value = tc_answer_real(a, row, column),
    };
    if (tc__reading(r, r->side_count - 1, &reading, &n)) {
        (void)tc_doc_add_number(&r->doc, cell, &n);
    }
}

static void put_requests(struct tc_report *r, const struct tc_answer *a, size_t run)
{
    struct tc_doc *d = &r->doc;
    struct tc_doc_table *t =
        tc_doc_table(d, tc_doc_text(d, "The slowest requests of {}: readings, not estimates",
                                    tc__subject(r)->basis->runs[run].run_id));
    tc_doc_column(d, t, TC_LIT("request"), false);
    tc_doc_column(d, t, TC_LIT("trace"), false);
    tc_doc_column(d, t, TC_LIT("node"), false);
    tc_doc_column(d, t, TC_LIT("until the last token"), true);
    tc_doc_column(d, t, TC_LIT("until the first"), true);
    tc_doc_column(d, t, TC_LIT("where its bytes are"), false);
    for (size_t row = 0; row < a->row_count && !d->failed; row++) {
        tc_doc_row(d, t);
        for (size_t column = REQ_ID; column <= REQ_NODE; column++) {
            tc_doc_add(d, tc_doc_cell(d, t), TC_DOC_CODE,
                       tc_arena_copy(&r->arena, tc_answer_text(a, row, column)));
        }
        put_latency(r, tc_doc_cell(d, t), a, row, run, true);
        put_latency(r, tc_doc_cell(d, t), a, row, run, false);
        tc_doc_add(d, tc_doc_cell(d, t), TC_DOC_CODE,
                   tc_doc_text(d, "{} {}", tc_answer_text(a, row, REQ_DIGEST),
                               tc_answer_text(a, row, REQ_POINTER)));
    }
}

void tc__part_traces(struct tc_report *r)
{
    struct tc_answer a = {0};
    size_t run = tc__run_to_look_at(r);
    const struct tc_group *g = tc__subject(r)->group;
    if (r->status != TC_OK || g->run_count == 0) {
        return;
    }
    struct tc_bind bind = {.type = TC_COLUMN_TEXT,
                           .as.text = tc_group_text(g, run, TC_GROUP_RUN_ID)};
    tc_status status = tc_answer_query(
        r->w,
        "SELECT request_id, trace_id, node_name, e2e_ms, ttft_ms, source_digest, source_pointer "
        "FROM serving_request_fact WHERE run_id = ? AND request_id IS NOT NULL AND e2e_ms IS NOT "
        "NULL ORDER BY e2e_ms DESC, request_id LIMIT 5",
        &bind, 1, &a, r->err);
    if (status != TC_OK) {
        r->status = status;
    } else if (a.row_count > 0) {
        _Static_assert(REQUESTS_MAX == 5, "as the query says");
        tc_doc_heading(&r->doc, 2, TC_LIT("Traces"));
        put_requests(r, &a, run);
    }
    tc_answer_fini(&a);
}
