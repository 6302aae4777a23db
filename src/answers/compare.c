/* SPDX-License-Identifier: Apache-2.0 */
#include "answers/compare.h"
#include "answers/question.h"
#include "run/judged.h"

#define MAIN_MAX 128

/* The metrics that the first contract of a group lists. */
static tc_status judged_by(struct tc_warehouse *w, const char *dir, struct tc_slice word,
                           struct tc_grow *out, struct tc_error *err)
{
    struct tc_group group;
    tc_status status = TC_OK;
    TC_TRY(tc_group_find(w, word, 0, &group, err));
    for (size_t run = 0; run < group.run_count; run++) {
        if (tc_group_text(&group, run, TC_GROUP_CONTRACT).len > 0) {
            status =
                tc_run_judged_by(w, dir, tc_group_text(&group, run, TC_GROUP_RUN_ID), out, err);
            break;
        }
    }
    tc_group_fini(&group);
    return status;
}

tc_status tc_compare_judged(struct tc_warehouse *w, const char *data_dir, struct tc_slice base,
                            struct tc_slice candidate, const struct tc_compare_options *options,
                            struct tc_comparison *out, struct tc_error *err)
{
    struct tc_slice main_metrics[MAIN_MAX];
    struct tc_compare_options judged = *options;
    struct tc_grow text = {0};
    tc_status status = judged_by(w, data_dir, candidate, &text, err);
    struct tc_slice rest = tc_grow_slice(&text);
    judged.main_metrics = main_metrics;
    judged.main_metric_count = 0;
    while (rest.len > 0 && judged.main_metric_count < MAIN_MAX) {
        main_metrics[judged.main_metric_count++] = tc_slice_cut(rest, ' ', &rest);
    }
    if (status == TC_OK) {
        status = tc_compare(w, base, candidate, &judged, out, err);
    }
    tc_grow_fini(&text);
    return status;
}

/* ---- the question ---- */

static tc_status answer(const struct tc_asked *asked, struct tc_reply *out, struct tc_error *err)
{
    struct tc_slice metrics[TC_PARAM_VALUES_MAX];
    struct tc_slice points[TC_PARAM_VALUES_MAX];
    struct tc_compare_options options = {
        .want = {.metrics = metrics,
                 .metric_count = tc_asked_texts(asked, "metric", metrics, TC_COUNT(metrics)),
                 .points = points,
                 .point_count = tc_asked_texts(asked, "point", points, TC_COUNT(points))},
        .confidence = tc_asked_value(asked, "confidence")->real,
    };
    struct tc_comparison c;
    TC_TRY(tc_compare_judged(asked->warehouse, asked->data_dir, tc_asked_text(asked, "base"),
                             tc_asked_text(asked, "candidate"), &options, &c, err));
    struct tc_json_out j = tc_json_out_grow(&out->body);
    tc_comparison_json(&j, &c);
    (void)tc_json_done_line(&j);
    tc_comparison_fini(&c);
    return TC_OK;
}

static const struct tc_param PARAMS[] = {
    {.name = "base",
     .help = "What it is compared with: a run's id, a replicate group, a name (all its runs), or "
             "an SQL condition on runs and their software, hardware, cluster and workload.",
     .kind = TC_PARAM_TEXT,
     .flags = TC_PARAM_NEEDED},
    {.name = "candidate",
     .help = "What is judged, in the same ways.",
     .kind = TC_PARAM_TEXT,
     .flags = TC_PARAM_NEEDED},
    {.name = "metric",
     .help = "Only these metrics: a name, the start of one, or a glob. May be repeated.",
     .kind = TC_PARAM_TEXT,
     .flags = TC_PARAM_MANY},
    {.name = "point",
     .help = "Only these workload points: words of them, as in concurrency=64. May be repeated.",
     .kind = TC_PARAM_TEXT,
     .flags = TC_PARAM_MANY},
    {.name = "confidence",
     .help = "How sure a verdict must be. The contract's unless given, else 0.95.",
     .kind = TC_PARAM_REAL,
     .least = 0.5,
     .most = 0.999999},
};

static const struct tc_member MEMBERS[] = {
    {.name = "answer", .type = "string", .help = "The answer in one or two sentences."},
    {.name = "verdict", .type = "string", .help = "One word for all of it."},
    {.name = "counts", .type = "object", .help = "How many series have which verdict."},
    {.name = "confidence", .type = "number", .help = "How sure a verdict is."},
    {.name = "min_replicates", .type = "integer", .help = "Runs a side that are enough."},
    {.name = "tests_main", .type = "integer", .help = "Tests of main metrics."},
    {.name = "tests_other", .type = "integer", .help = "Tests of the others."},
    {.name = "base", .type = "object", .help = "The runs of one side."},
    {.name = "candidate", .type = "object", .help = "The runs of the other."},
    {.name = "base_tools", .type = "array", .help = "Benchmark tools of one side."},
    {.name = "candidate_tools", .type = "array", .help = "Benchmark tools of the other."},
    {.name = "confounded",
     .type = "boolean",
     .help = "More differs than the variable under test: the numbers cannot tell why."},
    {.name = "variable_under_test", .type = "string null", .help = "As the contracts say."},
    {.name = "interleaved", .type = "boolean", .help = "Both sides were measured by turns."},
    {.name = "runs_on_both_sides", .type = "integer", .help = "Runs that both words mean."},
    {.name = "unknown_on_both_sides", .type = "array", .help = "What nothing is known of."},
    {.name = "differs", .type = "array", .help = "What else differs."},
    {.name = "series",
     .type = "array",
     .help = "Per metric and point: both sides with all values, ratio with its interval, test, "
             "verdict."},
    {.name = "not_compared", .type = "array", .help = "Series that have no counterpart."},
};

const struct tc_question tc_question_compare = {
    .name = "compare",
    .tool = "compare_runs",
    .path = "/api/v1/compare",
    .summary = "compare two groups of runs",
    .help = "Compares two groups of runs metric by metric and point by point: medians, their ratio "
            "with an interval, a rank test, and a verdict (better, worse, no difference shown, not "
            "enough runs). Says what else differs between the two sides.",
    .place = TC_PLACE_TABLES,
    .needs_warehouse = true,
    .keeps = true,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .members = MEMBERS,
    .member_count = TC_COUNT(MEMBERS),
    .answer = answer,
};
