/* SPDX-License-Identifier: Apache-2.0 */
/* A small table of questions with answers that are known, for tests of the protocol. All of it is
 * here, because programs that fuzz link no tests. */
#ifndef TC_TESTS_SUPPORT_MCP_TABLE_H
#define TC_TESTS_SUPPORT_MCP_TABLE_H

#include "base/json/out.h"
#include "mcp/mcp.h"

#include <stdio.h>
#include <string.h>

/* What the table saw, and is to do. */
struct mcp_table {
    size_t asked;          /* questions */
    tc_status fails_with;  /* TC_OK: it answers */
    size_t item_bytes;     /* of each item of a list; 0: few */
    size_t items;          /* that there are */
    struct tc_slice bytes; /* of evidence */
    int64_t last_limit;
    char last[64]; /* the name of the last question */
};

/* The questions' own function gets only what is asked: the table is with who asks. */
static struct mcp_table *now;

static tc_status list(const struct tc_asked *asked, struct tc_reply *out, const char *name,
                      const char *id)
{
    struct tc_json_out j = tc_json_object_grow(&out->body);
    int64_t limit = tc_asked_value(asked, "limit")->count;
    char text[32];
    char filling[8192];
    size_t filled = now->item_bytes < sizeof filling ? now->item_bytes : sizeof filling;
    memset(filling, 'x', sizeof filling);
    now->last_limit = limit;
    tc_json_key_plain(&j, tc_slice_cstr(name));
    tc_json_add_array(&j);
    for (size_t i = 0; i < now->items && i < (size_t)limit; i++) {
        (void)snprintf(text, sizeof text, "%s-%zu", name, i);
        tc_json_add_object(&j);
        tc_json_key_plain(&j, tc_slice_cstr(id));
        tc_json_add_cstr(&j, text);
        tc_json_put_cstr(&j, "name", "nightly");
        tc_json_put_cstr(&j, "headline", "Xid 74");
        tc_json_put_str(&j, "filling", tc_slice_make(filling, filled));
        tc_json_end_object(&j);
    }
    tc_json_end_array(&j);
    if (now->items > (size_t)limit) {
        tc_json_put_cstr(&j, "next", "more");
    }
    (void)tc_json_end_line(&j);
    return out->body.failed ? TC_E_NOMEM : TC_OK;
}

static tc_status answer_runs(const struct tc_asked *asked, struct tc_reply *out,
                             struct tc_error *err)
{
    (void)err;
    return list(asked, out, "runs", "run_id");
}

static tc_status answer_incidents(const struct tc_asked *asked, struct tc_reply *out,
                                  struct tc_error *err)
{
    (void)err;
    return list(asked, out, "incidents", "incident_id");
}

/* An object with one text in it, over two lines. */
static tc_status answer_one(const struct tc_asked *asked, struct tc_reply *out,
                            struct tc_error *err)
{
    struct tc_slice id = tc_asked_text(asked, asked->question->params[0].name);
    if (tc_slice_eq(id, TC_LIT("none"))) {
        return tc_fail(err, TC_E_NOTFOUND, 0, "there is no \"none\"");
    }
    tc_grow_lit(&out->body, "{\"id\":");
    struct tc_json_out j = tc_json_out_grow(&out->body);
    tc_json_add_str(&j, id);
    tc_grow_lit(&out->body, ",\n\"list\":[1,\n2.50,[]]}\n");
    return out->body.failed ? TC_E_NOMEM : TC_OK;
}

static tc_status answer_bytes(const struct tc_asked *asked, struct tc_reply *out,
                              struct tc_error *err)
{
    uint64_t from = 0;
    struct tc_slice at = tc_asked_text(asked, "at");
    if (at.len > 0 && tc_slice_u64(at, &from) == 0) {
        return tc_fail(err, TC_E_USAGE, 0, "at takes two numbers");
    }
    tc_grow_str(&out->body, tc_slice_from(now->bytes, (size_t)from));
    out->content_type = "application/octet-stream";
    return out->body.failed ? TC_E_NOMEM : TC_OK;
}

static const struct tc_param LIST[] = {
    {.name = "limit",
     .help = "So many.",
     .kind = TC_PARAM_COUNT,
     .standard = "100",
     .least = 1,
     .most = 1000},
    {.name = "cursor", .help = "Where to go on.", .kind = TC_PARAM_TEXT},
};
static const struct tc_param ONE[] = {
    {.name = "id", .help = "Which.", .kind = TC_PARAM_TEXT, .flags = TC_PARAM_NEEDED},
};
static const struct tc_param BYTES[] = {
    {.name = "digest", .help = "Which.", .kind = TC_PARAM_TEXT, .flags = TC_PARAM_NEEDED},
    {.name = "at", .help = "Which part.", .kind = TC_PARAM_TEXT},
};
static const struct tc_member RUNS_MEMBERS[] = {
    {.name = "runs", .type = "array", .help = "Runs."},
    {.name = "next", .type = "string", .help = "Cursor.", .may_lack = true},
};
static const struct tc_member INCIDENTS_MEMBERS[] = {
    {.name = "incidents", .type = "array", .help = "Incidents."},
};
static const struct tc_member ONE_MEMBERS[] = {
    {.name = "id", .type = "string", .help = "Which."},
    {.name = "list", .type = "array", .help = "Numbers."},
};

#define PARTS(list_, members_)                                                \
    .params = (list_), .param_count = TC_COUNT(list_), .members = (members_), \
    .member_count = TC_COUNT(members_)

static const struct tc_question RUNS = {.name = "runs",
                                        .tool = "list_runs",
                                        .path = "/runs",
                                        .summary = "runs",
                                        .help = "Lists runs.",
                                        .answer = answer_runs,
                                        PARTS(LIST, RUNS_MEMBERS)};
static const struct tc_question INCIDENTS = {.name = "incidents",
                                             .tool = "list_incidents",
                                             .path = "/incidents",
                                             .summary = "incidents",
                                             .help = "Lists incidents.",
                                             .place = TC_PLACE_LIVE,
                                             .answer = answer_incidents,
                                             PARTS(LIST, INCIDENTS_MEMBERS)};
static const struct tc_question RUN = {.name = "run",
                                       .path = "/runs/{id}",
                                       .summary = "a run",
                                       .help = "One run.",
                                       .answer = answer_one,
                                       PARTS(ONE, ONE_MEMBERS)};
static const struct tc_question INCIDENT = {.name = "incident",
                                            .tool = "explain_incident",
                                            .path = "/incidents/{id}",
                                            .summary = "an incident",
                                            .help = "One incident.",
                                            .place = TC_PLACE_LIVE,
                                            .answer = answer_one,
                                            PARTS(ONE, ONE_MEMBERS)};
static const struct tc_question EVIDENCE = {.name = "evidence",
                                            .tool = "get_bytes",

                                            .path = "/evidence/{digest}",
                                            .summary = "bytes",
                                            .help = "Raw bytes.",
                                            .answer = answer_bytes,
                                            .params = BYTES,
                                            .param_count = TC_COUNT(BYTES)};
static const struct tc_question PUBLISH = {.name = "publish",
                                           .tool = "publish_number",
                                           .path = "/publish",
                                           .summary = "publish",
                                           .help = "Writes.",
                                           .scope = TC_SCOPE_ADMIN,
                                           .answer = answer_one,
                                           PARTS(ONE, ONE_MEMBERS)};
static const struct tc_question *const TABLE[] = {&RUNS,     &INCIDENTS, &RUN,
                                                  &INCIDENT, &EVIDENCE,  &PUBLISH};

static tc_status ask(void *context, struct tc_asked *asked, struct tc_reply *out,
                     struct tc_error *err)
{
    struct mcp_table *table = context;
    now = table;
    table->asked++;
    (void)snprintf(table->last, sizeof table->last, "%s", asked->question->name);
    if (table->fails_with != TC_OK) {
        return table->fails_with;
    }
    return tc_question_answer(asked, out, err);
}

static inline struct tc_mcp *mcp_table_create(struct mcp_table *table)
{
    struct tc_mcp_parts parts = {
        .questions = TABLE, .question_count = TC_COUNT(TABLE), .ask = ask, .context = table};
    return tc_mcp_create(&parts);
}

#endif
