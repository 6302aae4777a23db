/* SPDX-License-Identifier: Apache-2.0 */
/* The narrow hypothesis: what the playbooks say of the run, the checks behind it, the incidents of
 * the runs, and the experiment that would prove or refute it. */
#include "report/report_priv.h"

#define INCIDENTS_MAX 10

/* ---- the hypothesis ---- */

static struct tc_slice kept(struct tc_report *r, struct tc_grow *g)
{
    r->doc.failed = r->doc.failed || g->failed;
    struct tc_slice text = tc_doc_text(&r->doc, "{}", tc_grow_slice(g));
    tc_grow_fini(g);
    return text;
}

static void put_hypothesis(struct tc_report *r, const struct tc_diagnosis *diagnosis)
{
    struct tc_doc *d = &r->doc;
    struct tc_grow g = {0};
    struct tc_doc_spans *s = tc_doc_paragraph(d);
    const struct tc_hypothesis *h = &diagnosis->hypotheses[0];
    if (!diagnosis->has_answer) {
        tc_doc_say(d, s,
                   "No cause is claimed: no playbook recognises this run, or what it would "
                   "check is not recorded.");
    }
    if (diagnosis->hypothesis_count == 0) {
        return;
    }
    tc_doc_say(d, s, "{}", diagnosis->has_answer ? "" : " What a check speaks for all the same: ");
    tc_doc_stress(d, s, "{}", tc_check_cause(h->check->info));
    tc_where_words(&h->check->where, &g);
    struct tc_slice where = kept(r, &g);
    tc_doc_say(d, s, "{} ({} confidence; playbook ", tc_when(where.len > 0, ", {}", where),
               tc_sureness_name(h->confidence));
    tc_doc_add(d, s, TC_DOC_CODE, tc_slice_cstr(tc_playbook_name(h->playbook->info)));
    tc_doc_say(d, s, ").");
    if (diagnosis->has_answer && h->playbook->why[0] != '\0') {
        tc_doc_say(d, s, " The playbook recognises the run: {}.", (const char *)h->playbook->why);
    }
}

static void put_proofs(struct tc_report *r, struct tc_doc_spans *cell, const struct tc_check *check)
{
    for (size_t i = 0; i < check->proof_count; i++) {
        if (i > 0 && tc_slice_eq(check->proofs[i].digest, check->proofs[i - 1].digest)) {
            continue; /* two metrics of one file */
        }
        tc_doc_say(&r->doc, cell, "{}", i == 0 ? "" : ", ");
        if (check->proofs[i].digest.len > 0) {
            tc_doc_add(&r->doc, cell, TC_DOC_CODE, check->proofs[i].digest);
        } else {
            tc_doc_say(&r->doc, cell, "what the daemon got");
        }
    }
    if (check->verdict.len > 0) {
        tc_doc_say(&r->doc, cell, "{}incident ", check->proof_count > 0 ? "; " : "");
        tc_doc_add(&r->doc, cell, TC_DOC_CODE, check->verdict);
    }
}

/* The checks that found something to say. */
static void put_checks(struct tc_report *r, const struct tc_diagnosis *diagnosis)
{
    struct tc_doc *d = &r->doc;
    struct tc_doc_table *t = NULL;
    for (size_t p = 0; p < TC_PLAYBOOK_COUNT; p++) {
        const struct tc_playbook *book = &diagnosis->playbooks[p];
        for (size_t i = 0; i < book->check_count && !d->failed; i++) {
            const struct tc_check *check = &book->checks[i];
            bool is_shown =
                check->answer == TC_CHECK_SUPPORTS ||
                (check->answer == TC_CHECK_CONTRADICTS && book->recognised == TC_RECOGNISED_YES);
            if (!is_shown) {
                continue;
            }
            if (t == NULL) {
                t = tc_doc_table(d, TC_LIT("What the checks read in the telemetry of the run: "
                                           "readings of one run, so no interval can be given; "
                                           "each with the file that it stands in"));
                tc_doc_column(d, t, TC_LIT("check"), false);
                tc_doc_column(d, t, TC_LIT("answer"), false);
                tc_doc_column(d, t, TC_LIT("what it read"), false);
                tc_doc_column(d, t, TC_LIT("evidence"), false);
            }
            tc_doc_row(d, t);
            tc_doc_say(d, tc_doc_cell(d, t), "{}", tc_check_title(check->info));
            tc_doc_stress(d, tc_doc_cell(d, t), "{}", tc_check_answer_name(check->answer));
            tc_doc_say(d, tc_doc_cell(d, t), "{}", (const char *)check->numbers);
            put_proofs(r, tc_doc_cell(d, t), check);
        }
    }
}

static void put_experiment(struct tc_report *r, const struct tc_diagnosis *diagnosis)
{
    struct tc_doc *d = &r->doc;
    struct tc_grow g = {0};
    tc_doc_heading(d, 2, TC_LIT("Proposed experiment"));
    struct tc_doc_spans *s = tc_doc_paragraph(d);
    if (diagnosis->hypothesis_count > 0) {
        tc_hypothesis_experiment(diagnosis, &diagnosis->hypotheses[0], &g);
        tc_doc_say(d, s, "{}", kept(r, &g));
        return;
    }
    tc_doc_say(d, s,
               "Add what the checks need (telemetry of the nodes, traces of requests) to a "
               "run, and ask again:");
    tc_grow_lit(&g, "tracecore diagnose ");
    tc__command_put(&g, diagnosis->run_id);
    if (tc__is_comparison(r)) {
        tc_grow_lit(&g, " --against ");
        tc__command_put(&g, r->want->base);
    }
    tc__command_end(r, &g);
}

/* ---- incidents ---- */

static void put_incidents(struct tc_report *r)
{
    struct tc_doc *d = &r->doc;
    struct tc_answer a = {0};
    struct tc_bind bind = {
        .type = TC_COLUMN_TEXT,
        .as.text = tc_group_text(tc__subject(r)->group, tc__run_to_look_at(r), TC_GROUP_RUN_ID)};
    tc_status status = tc_answer_query(
        r->w,
        "SELECT incident_id, min(pattern), min(headline), min(first_seen) FROM verdict_fact WHERE "
        "run_id = ? GROUP BY incident_id ORDER BY 4, 1 LIMIT 10",
        &bind, 1, &a, r->err);
    if (status != TC_OK) {
        r->status = status;
    }
    for (size_t row = 0; status == TC_OK && row < a.row_count; row++) {
        struct tc_doc_spans *s = tc_doc_item(d);
        tc_doc_say(d, s, "Incident ");
        tc_doc_add(d, s, TC_DOC_CODE, tc_arena_copy(&r->arena, tc_answer_text(&a, row, 0)));
        tc_doc_say(d, s, " ({}), {}: {}", tc_answer_text(&a, row, 1),
                   tc_answer_as_value(&a, row, 3), tc_answer_text(&a, row, 2));
    }
    _Static_assert(INCIDENTS_MAX == 10, "as the query says");
    tc_answer_fini(&a);
}

/* What the run is set against: a base that it is not itself in. */
static const struct tc_group *base_of(const struct tc_report *r, struct tc_slice run_id)
{
    const struct tc_group *base = tc__is_comparison(r) ? r->sides[TC_SIDE_BASE].group : NULL;
    for (size_t i = 0; base != NULL && i < base->run_count; i++) {
        if (tc_slice_eq(tc_group_text(base, i, TC_GROUP_RUN_ID), run_id)) {
            return NULL;
        }
    }
    return base;
}

void tc__part_cause(struct tc_report *r)
{
    const struct tc__side *subject = tc__subject(r);
    if (r->status != TC_OK || subject->group->run_count == 0) {
        return;
    }
    struct tc_slice run_id = tc_group_text(subject->group, tc__run_to_look_at(r), TC_GROUP_RUN_ID);
    tc_status status = tc_diagnose(r->w, run_id, base_of(r, run_id), &r->diagnosis, r->err);
    if (status != TC_OK) {
        r->status = status;
        return;
    }
    tc_doc_heading(&r->doc, 2, TC_LIT("Hypothesis"));
    put_hypothesis(r, r->diagnosis);
    put_checks(r, r->diagnosis);
    put_incidents(r);
    put_experiment(r, r->diagnosis);
}
