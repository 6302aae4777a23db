/* SPDX-License-Identifier: Apache-2.0 */
/* What was told of incidents, over all time: by filters, and of one node. */
#include "answers/cursor.h"
#include "answers/question.h"
#include "base/format.h"
#include "base/time.h"
#include "warehouse/answer.h"

#define BINDS_MAX 16
#define MONTH_NS (30 * 24 * 3600 * TC_SECOND)

/* A verdict of a file that says no time of its own has none: it comes last. */
#define TOLD "CASE WHEN told_at IS NULL THEN first_seen ELSE told_at END"

struct wish {
    struct tc_grow sql;
    struct tc_bind binds[BINDS_MAX];
    size_t bind_count;
};

static void bind_text(struct wish *w, struct tc_slice text)
{
    w->binds[w->bind_count++] = (struct tc_bind){.type = TC_COLUMN_TEXT, .as.text = text};
}

static void bind_time(struct wish *w, int64_t us)
{
    w->binds[w->bind_count++] = (struct tc_bind){.type = TC_COLUMN_TIME, .as.integer = us};
}

static tc_status ask(const struct tc_asked *asked, struct wish *w, struct tc_answer *out,
                     struct tc_error *err)
{
    struct tc_query query = {.sql = tc_grow_slice(&w->sql),
                             .binds = w->binds,
                             .bind_count = w->bind_count,
                             .time_ns = asked->time_ns};
    tc_status status = w->sql.failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the query")
                                     : tc_answer_ask(asked->warehouse, &query, out, err);
    tc_grow_fini(&w->sql);
    return status;
}

/* ---- the list ---- */

enum { LIST_DIGEST, LIST_TOLD };

/* Columns that a search looks at. */
static const char *const SEARCHED[] = {"headline", "incident_id", "node_name", "gpu_uuid",
                                       "pod_name", "culprits",    "run_id"};

static void where_text(struct wish *w, const char *column, struct tc_slice text)
{
    if (text.len > 0) {
        tc_grow_format(&w->sql, "AND {} = ? ", column);
        bind_text(w, text);
    }
}

static void where_found(struct wish *w, struct tc_slice words)
{
    if (words.len == 0) {
        return;
    }
    for (size_t n = 0; n < TC_COUNT(SEARCHED); n++) {
        tc_grow_format(&w->sql, "{}position(lower(?) IN lower({})) > 0 ", n == 0 ? "AND (" : "OR ",
                       SEARCHED[n]);
        bind_text(w, words);
    }
    tc_grow_lit(&w->sql, ") ");
}

static void make_list(const struct tc_asked *asked, const struct tc_cursor *after, size_t limit,
                      struct wish *w)
{
    const struct tc_param_value *since = tc_asked_value(asked, "since");
    tc_grow_lit(&w->sql,
                "SELECT verdict_digest, told, incident_id, status, pattern, severity, confidence, "
                "headline, remediation, first_seen, detected_at, run_id, run_join, job_uid, "
                "pod_uid, pod_name, "
                "pod_namespace, node_name, gpu_uuid, rank_id, culprits, cause_incident_id, "
                "evidence FROM (SELECT *, " TOLD " AS told FROM verdict_fact) WHERE 1 = 1 ");
    where_text(w, "incident_id", tc_asked_text(asked, "incident"));
    where_text(w, "node_name", tc_asked_text(asked, "node"));
    where_text(w, "pattern", tc_asked_text(asked, "pattern"));
    where_text(w, "status", tc_asked_text(asked, "status"));
    where_text(w, "run_id", tc_asked_text(asked, "run"));
    if (since->is_given) {
        tc_grow_lit(&w->sql, "AND told >= ? ");
        bind_time(w, since->count / 1000);
    }
    where_found(w, tc_asked_text(asked, "q"));
    if (after->is_given) {
        tc_grow_lit(&w->sql, "AND (told < ? OR (told = ? AND verdict_digest > ?)) ");
        bind_time(w, after->at);
        bind_time(w, after->at);
        bind_text(w, after->key);
    }
    tc_grow_format(&w->sql, "ORDER BY told DESC, verdict_digest LIMIT {}", limit + 1);
}

static tc_status answer_verdicts(const struct tc_asked *asked, struct tc_reply *out,
                                 struct tc_error *err)
{
    size_t limit = (size_t)tc_asked_value(asked, "limit")->count;
    struct tc_cursor after;
    struct tc_answer rows;
    struct wish w = {0};
    TC_TRY(tc_cursor_read(asked, &after, err));
    make_list(asked, &after, limit, &w);
    TC_TRY(ask(asked, &w, &rows, err));
    bool has_more = rows.row_count > limit;
    size_t count = has_more ? limit : rows.row_count;
    struct tc_json_out j = tc_json_object_grow(&out->body);
    tc_json_put_array(&j, "verdicts");
    for (size_t row = 0; row < count; row++) {
        tc_answer_row_json(&j, &rows, row);
    }
    tc_json_end_array(&j);
    tc_cursor_put(&j, asked->question, has_more,
                  has_more ? tc_answer_int(&rows, count - 1, LIST_TOLD) : 0,
                  has_more ? tc_answer_text(&rows, count - 1, LIST_DIGEST) : TC_EMPTY);
    (void)tc_json_end_line(&j);
    tc_answer_fini(&rows);
    return TC_OK;
}

static const struct tc_param LIST_PARAMS[] = {
    {.name = "incident", .help = "Only of this incident.", .kind = TC_PARAM_TEXT},
    {.name = "node", .help = "Only on this node.", .kind = TC_PARAM_TEXT},
    {.name = "pattern", .help = "Only of this pattern, as nccl_hang.", .kind = TC_PARAM_TEXT},
    {.name = "run", .help = "Only of the run with this id.", .kind = TC_PARAM_TEXT},
    {.name = "status",
     .help = "Only what was told as this.",
     .kind = TC_PARAM_WORD,
     .words = "opened updated resolved"},
    {.name = "since", .help = "Only what was told then or later.", .kind = TC_PARAM_TIME},
    {.name = "q",
     .help = "Only verdicts that have this text in their headline, ids or names, whatever the "
             "case of letters.",
     .kind = TC_PARAM_TEXT},
    TC_PARAM_LIMIT("50", 1000),
    TC_PARAM_CURSOR,
};

static const struct tc_member LIST_MEMBERS[] = {
    {.name = "verdicts",
     .type = "array",
     .help =
         "Newest first: what was told of an incident, when, where, how grave it is, what to do, "
         "and its evidence. severity and remediation are null of what an older version stored."},
    TC_MEMBER_NEXT,
};

const struct tc_question tc_question_verdicts = {
    .name = "verdicts",
    .path = "/api/v1/verdicts",
    .summary = "search the history of verdicts",
    .help = "All that was ever told of incidents, newest first, by incident, node, pattern, run, "
            "time or words. What is open now is in `incidents`.",
    .place = TC_PLACE_TABLES,
    .needs_warehouse = true,
    .keeps = true,
    .params = LIST_PARAMS,
    .param_count = TC_COUNT(LIST_PARAMS),
    .members = LIST_MEMBERS,
    .member_count = TC_COUNT(LIST_MEMBERS),
    .answer = answer_verdicts,
};

/* ---- one node ---- */

/* Each incident as it was told last; what is told at the same moment is one. */
#define NODE_INCIDENTS                                                                             \
    "SELECT v.incident_id AS incident_id, min(v.pattern) AS pattern, max(CASE WHEN v.status = "    \
    "'resolved' THEN 1 ELSE 0 END) = 1 AS resolved, min(v.first_seen) AS first_seen, "             \
    "max(v.told) AS told_at, max(v.severity) AS severity, max(v.headline) AS headline, "           \
    "max(v.remediation) AS remediation, max(v.confidence) AS confidence, "                         \
    "max(v.gpu_uuid) AS gpu_uuid, max(v.run_id) AS run_id, max(l.times) AS times_told FROM "       \
    "(SELECT *, " TOLD " AS told FROM verdict_fact WHERE node_name = ?) v JOIN (SELECT "           \
    "incident_id, max(" TOLD ") AS last, count(*) AS times FROM verdict_fact WHERE node_name = ? " \
    "GROUP BY incident_id) l ON l.incident_id = v.incident_id AND l.last = v.told GROUP BY "       \
    "v.incident_id ORDER BY 4 DESC, 1 LIMIT "

/* Per pattern: in all, and in the month before now. */
#define NODE_PATTERNS                                                                            \
    "SELECT pattern, count(DISTINCT incident_id) AS incidents, count(DISTINCT CASE WHEN "        \
    "first_seen >= ? THEN incident_id END) AS last_30_days, min(first_seen) AS first_seen, "     \
    "max(first_seen) AS last_seen FROM verdict_fact WHERE node_name = ? GROUP BY pattern ORDER " \
    "BY 3 DESC, 2 DESC, 1"

static tc_status read_node(const struct tc_asked *asked, struct tc_answer *incidents,
                           struct tc_answer *patterns, struct tc_error *err)
{
    struct tc_slice node = tc_asked_text(asked, "node");
    struct wish of_incidents = {0};
    struct wish of_patterns = {0};
    tc_grow_lit(&of_incidents.sql, NODE_INCIDENTS);
    tc_grow_i64(&of_incidents.sql, tc_asked_value(asked, "limit")->count + 1);
    bind_text(&of_incidents, node);
    bind_text(&of_incidents, node);
    tc_grow_lit(&of_patterns.sql, NODE_PATTERNS);
    bind_time(&of_patterns, (asked->now_ns - MONTH_NS) / 1000);
    bind_text(&of_patterns, node);
    tc_status status = ask(asked, &of_incidents, incidents, err);
    if (status != TC_OK) {
        tc_grow_fini(&of_patterns.sql);
        return status;
    }
    status = ask(asked, &of_patterns, patterns, err);
    if (status != TC_OK) {
        tc_answer_fini(incidents);
    }
    return status;
}

static tc_status answer_node(const struct tc_asked *asked, struct tc_reply *out,
                             struct tc_error *err)
{
    size_t limit = (size_t)tc_asked_value(asked, "limit")->count;
    struct tc_answer incidents;
    struct tc_answer patterns;
    TC_TRY(read_node(asked, &incidents, &patterns, err));
    struct tc_json_out j = tc_json_object_grow(&out->body);
    tc_json_put_str(&j, "node", tc_asked_text(asked, "node"));
    tc_json_key(&j, "patterns");
    tc_answer_rows_json(&j, &patterns);
    tc_json_put_array(&j, "incidents");
    for (size_t row = 0; row < incidents.row_count && row < limit; row++) {
        tc_answer_row_json(&j, &incidents, row);
    }
    tc_json_end_array(&j);
    tc_json_put_bool(&j, "truncated", incidents.row_count > limit);
    (void)tc_json_end_line(&j);
    tc_answer_fini(&incidents);
    tc_answer_fini(&patterns);
    return TC_OK;
}

static const struct tc_param NODE_PARAMS[] = {
    {.name = "node",
     .help = "The name of the node.",
     .kind = TC_PARAM_TEXT,
     .flags = TC_PARAM_NEEDED | TC_PARAM_IN_PATH},
    TC_PARAM_LIMIT("100", 1000),
};

static const struct tc_member NODE_MEMBERS[] = {
    {.name = "node", .type = "string", .help = "The node."},
    {.name = "patterns",
     .type = "array",
     .help = "Per pattern: incidents in all and in the last 30 days, first and last."},
    {.name = "incidents",
     .type = "array",
     .help = "Each incident as it was told last, newest first."},
    {.name = "truncated", .type = "boolean", .help = "There are more incidents."},
};

const struct tc_question tc_question_node_history = {
    .name = "node_history",
    .path = "/api/v1/fleet/nodes/{node}/history",
    .summary = "incidents of a node over time",
    .help = "The incidents of one node over all time, and how often each pattern came: whether "
            "this is the third time this month. A node that nothing was told of has none.",
    .place = TC_PLACE_TABLES,
    .needs_warehouse = true,
    .keeps = true,
    .params = NODE_PARAMS,
    .param_count = TC_COUNT(NODE_PARAMS),
    .members = NODE_MEMBERS,
    .member_count = TC_COUNT(NODE_MEMBERS),
    .answer = answer_node,
};
