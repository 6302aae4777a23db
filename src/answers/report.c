/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"
#include "answers/question.h"
#include "report/document/render.h"

static void put_document(struct tc_reply *out, const struct tc_doc *d, struct tc_slice format)
{
    if (tc_slice_eq(format, TC_LIT("markdown"))) {
        out->content_type = "text/markdown; charset=utf-8";
        tc_doc_markdown(d, &out->body);
    } else if (tc_slice_eq(format, TC_LIT("html"))) {
        out->content_type = "text/html; charset=utf-8";
        tc_doc_html(d, &out->body);
    } else {
        struct tc_json_out j = tc_json_out_grow(&out->body);
        tc_doc_json(d, &j);
        (void)tc_json_done_line(&j);
    }
}

static tc_status answer(const struct tc_asked *asked, struct tc_reply *out, struct tc_error *err)
{
    struct tc_report_want want = {.runs = tc_asked_text(asked, "runs"),
                                  .base = tc_asked_text(asked, "base"),
                                  .version = TC_LIT(TC_VERSION_FULL)};
    struct tc_report *r = NULL;
    if (!tc_audience_parse(tc_asked_text(asked, "for"), &want.audience)) {
        return tc_fail(err, TC_E_USAGE, 0, "\"for\" takes engineering, product or partner");
    }
    TC_TRY(tc_report_create(asked->warehouse, &want, &r, err));
    put_document(out, tc_report_document(r), tc_asked_text(asked, "format"));
    tc_report_destroy(r);
    return TC_OK;
}

static const struct tc_param PARAMS[] = {
    {.name = "runs",
     .help = "On which runs: a run, a replicate group, a name, or an SQL condition; of a "
             "comparison the candidate.",
     .kind = TC_PARAM_TEXT,
     .flags = TC_PARAM_NEEDED},
    {.name = "base",
     .help = "What they are compared with. Without it there is no comparison.",
     .kind = TC_PARAM_TEXT},
    {.name = "for",
     .help = "Who reads it.",
     .kind = TC_PARAM_WORD,
     .words = "engineering product partner",
     .standard = "engineering"},
    {.name = "format",
     .help = "As which document: JSON, Markdown, or one HTML file with plots.",
     .kind = TC_PARAM_WORD,
     .words = "json markdown html",
     .standard = "json"},
};

const struct tc_question tc_question_report = {
    .name = "report",
    .path = "/api/v1/report",
    .summary = "write a report on runs for one audience",
    .help = "A report on runs, or on a comparison, for engineers, product people or partners. "
            "Every number has its runs, its interval and a lineage id.",
    .place = TC_PLACE_TABLES,
    .needs_warehouse = true,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .media = "application/json text/markdown text/html",
    .answer = answer,
};
