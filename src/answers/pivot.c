/* SPDX-License-Identifier: Apache-2.0 */
/* The pivot: points that are slower; what stands out in the time of one; all of a node. */
#include "diagnose/pivot.h"
#include "answers/question.h"
#include "base/format.h"
#include "diagnose/base.h"

/* Points that a sentence lists. */
#define TOLD_MAX 4

struct slower {
    struct tc_group run;
    struct tc_group base;
    struct tc_points points;
};

static tc_status no_point(const struct slower *s, struct tc_slice word, size_t hits,
                          struct tc_error *err)
{
    char text[160];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    for (size_t n = 0; n < s->points.point_count && n < TOLD_MAX; n++) {
        (void)tc_format(&b, "{}{} \"{}\"", n > 0 ? ", " : "", n + 1,
                        tc_slice_head(s->points.points[n].point->text, 32));
    }
    return tc_fail(err, TC_E_NOTFOUND, 0, "%s point \"%.*s\"; the run has %zu: %.*s",
                   hits == 0 ? "there is no" : "more than one", TC_FMT(tc_slice_head(word, 40)),
                   s->points.point_count, TC_FMT(tc_buf_slice(&b)));
}

static tc_status answer_point(const struct tc_asked *asked, const struct slower *s,
                              struct tc_json_out *j, struct tc_error *err)
{
    struct tc_slice word = tc_asked_text(asked, "point");
    struct tc_pivot_want want = {.run_id = tc_group_text(&s->run, 0, TC_GROUP_RUN_ID),
                                 .base = &s->base,
                                 .node = tc_asked_text(asked, "node")};
    struct tc_pivot pivot;
    size_t hits = 0;
    if (word.len > 0) {
        want.point = tc_points_find(&s->points, word, &hits);
        if (want.point == NULL) {
            return no_point(s, word, hits, err);
        }
    }
    TC_TRY(tc_pivot_read(asked->warehouse, &want, &pivot, err));
    tc_pivot_json(j, &want, &pivot);
    tc_pivot_fini(&pivot);
    return TC_OK;
}

static tc_status answer_about(const struct tc_asked *asked, struct slower *s, struct tc_reply *out,
                              struct tc_error *err)
{
    struct tc_json_out j = tc_json_out_grow(&out->body);
    TC_TRY(tc_points_read(asked->warehouse, &s->run, &s->base, &s->points, err));
    if (tc_asked_text(asked, "point").len > 0 || tc_asked_text(asked, "node").len > 0) {
        TC_TRY(answer_point(asked, s, &j, err));
    } else {
        tc_points_json(&j, tc_group_text(&s->run, 0, TC_GROUP_RUN_ID), &s->base, &s->points);
    }
    (void)tc_json_done_line(&j);
    return TC_OK;
}

static tc_status answer(const struct tc_asked *asked, struct tc_reply *out, struct tc_error *err)
{
    struct slower s = {0};
    tc_status status = tc_one_run_find(asked->warehouse, tc_asked_text(asked, "run"), &s.run, err);
    if (status == TC_OK) {
        status = tc_base_find(asked->warehouse, &s.run, tc_asked_text(asked, "base"), &s.base, err);
    }
    if (status == TC_OK) {
        status = answer_about(asked, &s, out, err);
    }
    tc_points_fini(&s.points);
    tc_group_fini(&s.run);
    tc_group_fini(&s.base);
    return status;
}

static const struct tc_param PARAMS[] = {
    {.name = "run",
     .help = "The run: its id, the start of one, or its name.",
     .kind = TC_PARAM_TEXT,
     .flags = TC_PARAM_NEEDED | TC_PARAM_IN_PATH},
    {.name = "base",
     .help = "What it is slower than: a run, a replicate group, a name, or an SQL condition. "
             "Earlier runs of the same case unless given.",
     .kind = TC_PARAM_TEXT},
    {.name = "point",
     .help = "Step two: what stands out in the time of this workload point: its number in the "
             "list of step one, its text, or words of it, as in concurrency=64.",
     .kind = TC_PARAM_TEXT},
    {.name = "node", .help = "Step three: all of this node.", .kind = TC_PARAM_TEXT},
};

static const struct tc_member MEMBERS[] = {
    {.name = "run_id", .type = "string", .help = "The run."},
    {.name = "against", .type = "string null", .help = "What it was compared with."},
    {.name = "base_runs", .type = "integer", .help = "How many runs that is."},
    {.name = "points",
     .type = "array",
     .help = "Step one: workload points, the worst first, with their metrics beside the base's.",
     .may_lack = true},
    {.name = "point", .type = "string null", .help = "The point asked for.", .may_lack = true},
    {.name = "node", .type = "string null", .help = "The node asked for.", .may_lack = true},
    {.name = "series_read", .type = "integer", .help = "Series looked at.", .may_lack = true},
    {.name = "series_without_peers",
     .type = "integer",
     .help = "Series that could not be judged.",
     .may_lack = true},
    {.name = "series",
     .type = "array",
     .help = "What stands out among its peers (of a node: all), the farthest first, with the "
             "digest of its raw file.",
     .may_lack = true},
    {.name = "requests",
     .type = "array",
     .help = "The slowest requests, with where they stand in the raw file.",
     .may_lack = true},
    {.name = "incidents", .type = "array", .help = "Incidents in that time.", .may_lack = true},
};

const struct tc_question tc_question_pivot = {
    .name = "pivot",
    .tool = "pivot",
    .path = "/api/v1/runs/{run}/pivot",
    .summary = "from a slow run to its bytes, step by step",
    .help = "From a slow run to the raw evidence. Without point and node: the workload points "
            "where it is slower. With point: nodes, GPUs, ranks and requests that stand out in "
            "its time, and incidents. With node: all series of that node, with their files.",
    .place = TC_PLACE_TABLES,
    .needs_warehouse = true,
    .keeps = true,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .members = MEMBERS,
    .member_count = TC_COUNT(MEMBERS),
    .answer = answer,
};
