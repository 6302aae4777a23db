/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/trend.h"
#include "answers/question.h"

static tc_status answer(const struct tc_asked *asked, struct tc_reply *out, struct tc_error *err)
{
    struct tc_slice metric = tc_asked_text(asked, "metric");
    struct tc_slice points[TC_PARAM_VALUES_MAX];
    const struct tc_param_value *level = tc_asked_value(asked, "confidence");
    struct tc_trend_options options = {
        .alpha = level->is_given ? 1 - level->real : 0,
        .runs = tc_asked_text(asked, "runs"),
        .want = {.metrics = &metric,
                 .metric_count = 1,
                 .points = points,
                 .point_count = tc_asked_texts(asked, "point", points, TC_COUNT(points))},
    };
    struct tc_trend t;
    TC_TRY(tc_trend(asked->warehouse, &options, &t, err));
    struct tc_json_out j = tc_json_out_grow(&out->body);
    tc_trend_json(&j, &t);
    (void)tc_json_done_line(&j);
    tc_trend_fini(&t);
    return TC_OK;
}

static const struct tc_param PARAMS[] = {
    {.name = "metric",
     .help = "The metric: a name, the start of one, or a glob.",
     .kind = TC_PARAM_TEXT,
     .flags = TC_PARAM_NEEDED},
    {.name = "runs",
     .help = "Which runs: a replicate group, a name, or an SQL condition. Those of the case that "
             "was measured last and has the metric unless given.",
     .kind = TC_PARAM_TEXT},
    {.name = "point",
     .help = "Only these workload points: words of them, as in concurrency=64. May be repeated.",
     .kind = TC_PARAM_TEXT,
     .flags = TC_PARAM_MANY},
    {.name = "confidence",
     .help = "How sure a change must be. 0.99 unless given: a step needs about six values on "
             "each side.",
     .kind = TC_PARAM_REAL,
     .least = 0.5,
     .most = 0.999999},
};

static const struct tc_member MEMBERS[] = {
    {.name = "answer", .type = "string", .help = "The answer in one or two sentences."},
    {.name = "alpha", .type = "number", .help = "The highest p of a change."},
    {.name = "runs", .type = "object", .help = "The runs, in the order of their start."},
    {.name = "changed", .type = "integer", .help = "Series with a change."},
    {.name = "series",
     .type = "array",
     .help = "Per metric and point: all values, where the level changed and what changed with it, "
             "spikes."},
};

const struct tc_question tc_question_trend = {
    .name = "trend",
    .path = "/api/v1/trend",
    .summary = "when a metric changed over the history of runs",
    .help = "Takes runs in the order of their start and finds where the level of a metric "
            "changed: medians before and after, the run where it changed, and what is known to "
            "have changed at that very run.",
    .place = TC_PLACE_TABLES,
    .needs_warehouse = true,
    .keeps = true,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .members = MEMBERS,
    .member_count = TC_COUNT(MEMBERS),
    .answer = answer,
};
