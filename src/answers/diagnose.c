/* SPDX-License-Identifier: Apache-2.0 */
#include "answers/analysis.h"
#include "answers/question.h"
#include "diagnose/base.h"

tc_status tc_diagnose_against(struct tc_warehouse *w, const struct tc_group *run,
                              struct tc_slice against, struct tc_group *base,
                              struct tc_diagnosis **out, struct tc_error *err)
{
    tc_status status = tc_base_find(w, run, against, base, err);
    bool has_base = status == TC_OK && base->run_count > 0;
    if (status == TC_OK && !has_base && against.len > 0) {
        return tc_fail(err, TC_E_NOTFOUND, 0,
                       "no run of \"%.*s\" succeeded: there is nothing to compare with",
                       TC_FMT(tc_slice_head(against, 100)));
    }
    if (status != TC_OK && (against.len > 0 || status != TC_E_NOTFOUND)) {
        return status;
    }
    return tc_diagnose(w, tc_group_text(run, 0, TC_GROUP_RUN_ID), has_base ? base : NULL, out, err);
}

/* ---- the question ---- */

static tc_status answer(const struct tc_asked *asked, struct tc_reply *out, struct tc_error *err)
{
    struct tc_group run;
    struct tc_group base = {0};
    struct tc_diagnosis *d = NULL;
    TC_TRY(tc_one_run_find(asked->warehouse, tc_asked_text(asked, "run"), &run, err));
    tc_status status = tc_diagnose_against(asked->warehouse, &run, tc_asked_text(asked, "against"),
                                           &base, &d, err);
    if (status == TC_OK) {
        struct tc_json_out j = tc_json_out_grow(&out->body);
        tc_diagnosis_json(&j, d);
        (void)tc_json_done_line(&j);
        tc_diagnosis_destroy(d);
    }
    tc_group_fini(&base);
    tc_group_fini(&run);
    return status;
}

static const struct tc_param PARAMS[] = {
    {.name = "run",
     .help = "The run: its id, the start of one, or its name.",
     .kind = TC_PARAM_TEXT,
     .flags = TC_PARAM_NEEDED | TC_PARAM_IN_PATH},
    {.name = "against",
     .help = "What it is compared with: a run, a replicate group, a name, or an SQL condition. "
             "Earlier runs of the same case unless given.",
     .kind = TC_PARAM_TEXT},
};

static const struct tc_member MEMBERS[] = {
    {.name = "run_id", .type = "string", .help = "The run."},
    {.name = "name", .type = "string null", .help = "Its name."},
    {.name = "against", .type = "string null", .help = "What it was compared with."},
    {.name = "base_runs", .type = "integer", .help = "How many runs that is."},
    {.name = "series", .type = "integer", .help = "Series of telemetry that were read; 0: none."},
    {.name = "answer",
     .type = "object null",
     .help = "The first of the hypotheses, when its playbook is recognised; null: nothing is "
             "claimed."},
    {.name = "hypotheses",
     .type = "array",
     .help = "Causes that the evidence speaks for, the likeliest first, with the experiment that "
             "would tell."},
    {.name = "playbooks",
     .type = "array",
     .help = "Each scenario: whether it is recognised, and its checks with numbers, evidence "
             "digests and incidents."},
};

const struct tc_question tc_question_diagnose = {
    .name = "diagnose",
    .tool = "diagnose_run",
    .path = "/api/v1/runs/{run}/diagnose",
    .summary = "find the likely cause of a slow run",
    .help = "Goes through the four playbooks (tail latency, low GPU utilisation, straggler, "
            "scheduler backpressure) for one run: each check says supports, contradicts or no "
            "data, with its numbers; causes are ranked by the evidence for them.",
    .place = TC_PLACE_TABLES,
    .needs_warehouse = true,
    .keeps = true,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .members = MEMBERS,
    .member_count = TC_COUNT(MEMBERS),
    .answer = answer,
};
