/* SPDX-License-Identifier: Apache-2.0 */
/* Published numbers: the list, the way of one back to its bytes, and publishing. */
#include "answers/cursor.h"
#include "answers/question.h"
#include "evidence/files/files.h"
#include "publish/compose.h"
#include "publish/lineage.h"
#include "publish/made.h"
#include "publish/numbers.h"
#include "publish/publish.h"

#include <stdlib.h>

/* ---- the list ---- */

struct listed {
    const struct tc_number *number;
};

static int newest_first(const void *a, const void *b)
{
    uint64_t x = ((const struct listed *)a)->number->seq;
    uint64_t y = ((const struct listed *)b)->number->seq;
    return x > y ? -1 : x < y ? 1 : 0;
}

static void put_log(struct tc_json_out *j, const struct tc_audit_chain *chain)
{
    tc_json_put_object(j, "audit");
    tc_json_put_u64(j, "entries", chain->entries);
    tc_json_key(j, "head");
    if (chain->entries > 0) {
        tc_json_add_digest(j, &chain->head);
    } else {
        tc_json_add_null(j);
    }
    tc_json_put_bool(j, "whole", chain->broken_at == 0);
    tc_json_put_str_or_null(j, "why", tc_slice_cstr(chain->broken_at > 0 ? chain->why : NULL));
    tc_json_end_object(j);
}

/* Up to `limit` numbers behind the cursor; the last of them, NULL for none. */
static tc_status put_numbers(struct tc_json_out *j, const struct tc_asked *asked,
                             const struct listed *sorted, size_t count,
                             const struct tc_cursor *after, const struct tc_number **out_last,
                             bool *out_more)
{
    size_t limit = (size_t)tc_asked_value(asked, "limit")->count;
    bool all = tc_asked_value(asked, "all")->flag;
    tc_status status = TC_OK;
    for (size_t i = 0, put = 0; i < count && !*out_more && status != TC_E_NOMEM; i++) {
        const struct tc_number *number = sorted[i].number;
        struct tc_claim claim;
        struct tc_error ignored;
        if ((number->is_retracted && !all) ||
            (after->is_given && (int64_t)number->seq >= after->at)) {
            continue;
        }
        status = tc_claim_read(number->claim, &claim, &ignored);
        *out_more = status == TC_OK && put == limit;
        if (status == TC_OK && put < limit) {
            tc_number_json(j, number, &claim);
            *out_last = number;
            put++;
        }
        tc_claim_fini(&claim);
    }
    return status == TC_E_NOMEM ? status : TC_OK;
}

static tc_status list_numbers(const struct tc_asked *asked, const struct tc_numbers *numbers,
                              const struct tc_cursor *after, struct tc_reply *out,
                              struct tc_error *err)
{
    struct listed *sorted = calloc(numbers->count + 1, sizeof *sorted);
    const struct tc_number *last = NULL;
    bool more = false;
    if (sorted == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the list");
    }
    for (size_t i = 0; i < numbers->count; i++) {
        sorted[i].number = &numbers->items[i];
    }
    qsort(sorted, numbers->count, sizeof *sorted, newest_first);
    struct tc_json_out j = tc_json_object_grow(&out->body);
    tc_json_put_array(&j, "numbers");
    tc_status status = put_numbers(&j, asked, sorted, numbers->count, after, &last, &more);
    tc_json_end_array(&j);
    put_log(&j, &numbers->chain);
    tc_cursor_put(&j, asked->question, more, last == NULL ? 0 : (int64_t)last->seq,
                  tc_slice_cstr(last == NULL ? "" : last->id));
    (void)tc_json_end_line(&j);
    free(sorted);
    return status == TC_OK ? TC_OK : tc_fail(err, status, 0, "no memory for the list");
}

static tc_status answer_numbers(const struct tc_asked *asked, struct tc_reply *out,
                                struct tc_error *err)
{
    struct tc_numbers numbers = {0};
    struct tc_cursor after;
    TC_TRY(tc_cursor_read(asked, &after, err));
    tc_status status = tc_numbers_read(asked->data_dir, &numbers, err);
    if (status == TC_OK) {
        status = list_numbers(asked, &numbers, &after, out, err);
    }
    tc_numbers_fini(&numbers);
    return status;
}

static const struct tc_param NUMBERS_PARAMS[] = {
    {.name = "all",
     .help = "Also numbers that were retracted.",
     .kind = TC_PARAM_FLAG,
     .standard = "false"},
    TC_PARAM_LIMIT("50", 1000),
    TC_PARAM_CURSOR,
};

static const struct tc_member NUMBERS_MEMBERS[] = {
    {.name = "numbers",
     .type = "array",
     .help = "Newest first: number_id, when and by whom, and the claim."},
    {.name = "audit",
     .type = "object",
     .help = "The audit log: its acts, and whether it is whole."},
    TC_MEMBER_NEXT,
};

const struct tc_question tc_question_numbers = {
    .name = "numbers",
    .path = "/api/v1/numbers",
    .summary = "list published numbers",
    .help = "Lists the numbers that were published, newest first, with their claims.",
    .place = TC_PLACE_TABLES,
    .params = NUMBERS_PARAMS,
    .param_count = TC_COUNT(NUMBERS_PARAMS),
    .members = NUMBERS_MEMBERS,
    .member_count = TC_COUNT(NUMBERS_MEMBERS),
    .answer = answer_numbers,
};

/* ---- lineage ---- */

static tc_status check_number(const struct tc_asked *asked, const struct tc_numbers *numbers,
                              struct tc_files *files, struct tc_reply *out, struct tc_error *err)
{
    struct tc_slice id = tc_asked_text(asked, "number");
    const struct tc_number *number = tc_numbers_find(numbers, id);
    struct tc_lineage_want want = {
        .data_dir = asked->data_dir, .w = asked->warehouse, .files = files, .numbers = numbers};
    struct tc_chain chain;
    struct tc_claim claim;
    if (number == NULL) {
        return tc_fail(err, TC_E_NOTFOUND, 0, "%.*s is not in the audit log%s",
                       TC_FMT(tc_slice_head(id, 80)),
                       numbers->chain.broken_at > 0 ? ", which is broken" : "");
    }
    tc_status status = tc_lineage_check(&want, number, &chain, &claim, err);
    if (status == TC_OK) {
        struct tc_json_out j = tc_json_out_grow(&out->body);
        tc_lineage_json(&j, number->id, &claim, &chain);
        (void)tc_json_done_line(&j);
    }
    tc_claim_fini(&claim);
    return status;
}

static tc_status answer_lineage(const struct tc_asked *asked, struct tc_reply *out,
                                struct tc_error *err)
{
    struct tc_numbers numbers = {0};
    struct tc_files *files = NULL;
    tc_status status = tc_numbers_read(asked->data_dir, &numbers, err);
    if (status == TC_OK) {
        status = tc_files_open(asked->data_dir, false, &files, err);
    }
    if (status == TC_OK) {
        status = check_number(asked, &numbers, files, out, err);
    }
    tc_files_close(files);
    tc_numbers_fini(&numbers);
    return status;
}

static const struct tc_param LINEAGE_PARAMS[] = {
    {.name = "number",
     .help = "The id of the published number: num-...",
     .kind = TC_PARAM_TEXT,
     .flags = TC_PARAM_NEEDED | TC_PARAM_IN_PATH},
};

static const struct tc_member LINEAGE_MEMBERS[] = {
    {.name = "number_id", .type = "string", .help = "The number."},
    {.name = "publication_safe", .type = "boolean", .help = "Every step holds."},
    {.name = "broken_step", .type = "string null", .help = "The step that does not."},
    {.name = "steps",
     .type = "array",
     .help = "Audit log, report row, query, tables, runs, manifests, signatures, raw files, the "
             "number made again: each holds, is broken, or was not checked, and why."},
    {.name = "claim", .type = "object null", .help = "What was published."},
};

const struct tc_question tc_question_lineage = {
    .name = "lineage",
    .tool = "lineage",
    .path = "/api/v1/numbers/{number}/lineage",
    .summary = "follow a published number back to its raw bytes",
    .help = "Checks each step from a published number to what it was made of: hashes the raw files "
            "again and makes the number again from them. May take seconds.",
    .place = TC_PLACE_TABLES,
    .needs_warehouse = true,
    .params = LINEAGE_PARAMS,
    .param_count = TC_COUNT(LINEAGE_PARAMS),
    .members = LINEAGE_MEMBERS,
    .member_count = TC_COUNT(LINEAGE_MEMBERS),
    .answer = answer_lineage,
};

/* ---- publishing ---- */

static tc_status check_publish(const struct tc_asked *asked, struct tc_error *err)
{
    bool has_group = tc_asked_text(asked, "group").len > 0;
    if (has_group == (tc_asked_text(asked, "query").len > 0)) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "of which runs? give either \"group\" (a run, a replicate group, a name or "
                       "a condition) or \"query\" (SQL that gives run_id and value)");
    }
    if (has_group && tc_asked_text(asked, "unit").len > 0) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "\"unit\" goes with \"query\": the metric of a group has its own");
    }
    return TC_OK;
}

static tc_status answer_publish(const struct tc_asked *asked, struct tc_reply *out,
                                struct tc_error *err)
{
    struct tc_publish_outcome outcome = {0};
    struct tc_files *files = NULL;
    TC_TRY(check_publish(asked, err));
    TC_TRY(tc_files_open(asked->data_dir, false, &files, err));
    const struct tc_publish_want want = {
        .data_dir = asked->data_dir,
        .w = asked->warehouse,
        .files = files,
        .metric = tc_asked_text(asked, "metric"),
        .definition_id = tc_asked_text(asked, "definition"),
        .unit = tc_asked_text(asked, "unit"),
        .point = tc_asked_text(asked, "point"),
        .report_row = tc_asked_text(asked, "report_row"),
        .query = tc_asked_text(asked, "query"),
        .unstable = tc_asked_text(asked, "unstable"),
        .by = asked->by,
        .now_ns = asked->now_ns,
        .dry_run = tc_asked_value(asked, "dry_run")->flag,
    };
    tc_status status = tc_publish_of(&want, tc_asked_text(asked, "group"), &outcome, err);
    if (status == TC_OK) {
        struct tc_json_out j = tc_json_out_grow(&out->body);
        tc_publish_json(&j, &outcome);
        (void)tc_json_done_line(&j);
    }
    tc_publish_fini(&outcome);
    tc_files_close(files);
    return status;
}

static const struct tc_param PUBLISH_PARAMS[] = {
    {.name = "group",
     .help = "Of which runs: a run, a replicate group, a name, or an SQL condition.",
     .kind = TC_PARAM_TEXT},
    {.name = "query",
     .help = "Instead of a group: a query that gives run_id and value.",
     .kind = TC_PARAM_TEXT},
    {.name = "metric",
     .help = "What is published: a column of the outcomes, as ttft_p99_ms; of a query what its "
             "values are.",
     .kind = TC_PARAM_TEXT,
     .flags = TC_PARAM_NEEDED},
    {.name = "point",
     .help = "Where it was measured, if at several points: words of it, as concurrency=64.",
     .kind = TC_PARAM_TEXT},
    {.name = "definition",
     .help = "Whose definition, if the runs have values of several: vllm:p99_ttft_ms.",
     .kind = TC_PARAM_TEXT},
    {.name = "unit", .help = "Of a query: the unit of its values.", .kind = TC_PARAM_TEXT},
    {.name = "report_row",
     .help = "Where the number stands, in words. Group, metric and point unless given.",
     .kind = TC_PARAM_TEXT},
    {.name = "unstable",
     .help = "Why it is published although conditions are not met: with the statement that it is "
             "unstable or not representative.",
     .kind = TC_PARAM_TEXT},
    {.name = "dry_run",
     .help = "Judge it and make it again, and publish nothing.",
     .kind = TC_PARAM_FLAG,
     .standard = "false"},
};

static const struct tc_member PUBLISH_MEMBERS[] = {
    {.name = "number_id", .type = "string null", .help = "The number; null: it may not be."},
    {.name = "may_be_published", .type = "boolean", .help = "Its conditions are met, or excused."},
    {.name = "published", .type = "boolean", .help = "It was published just now."},
    {.name = "was_there", .type = "boolean", .help = "It had been published before."},
    {.name = "steps", .type = "array", .help = "What was checked on the way."},
    {.name = "claim", .type = "object", .help = "The claim, with its conditions."},
};

const struct tc_question tc_question_publish = {
    .name = "publish",
    .path = "/api/v1/publish",
    .summary = "turn a result into a published number, if it may be",
    .help = "Publishes the median of one value per run, if the runs have a valid contract, are "
            "enough, their files are what was stored, and these files give the same number again. "
            "What is not met is in claim.conditions.",
    .place = TC_PLACE_TABLES,
    .scope = TC_SCOPE_ADMIN,
    .posts = true,
    .needs_warehouse = true,
    .params = PUBLISH_PARAMS,
    .param_count = TC_COUNT(PUBLISH_PARAMS),
    .members = PUBLISH_MEMBERS,
    .member_count = TC_COUNT(PUBLISH_MEMBERS),
    .answer = answer_publish,
};
