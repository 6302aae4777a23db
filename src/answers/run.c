/* SPDX-License-Identifier: Apache-2.0 */
#include "answers/run.h"
#include "answers/question.h"
#include "diagnose/base.h"

#include <stdlib.h>

/* One query per part, each with the run's id as its only parameter. */
/* Added up in an order of its own: a sum of doubles depends on it, and engines keep rows in theirs.
 */
#define SLICE_VALUE "CASE WHEN mean IS NULL THEN last ELSE mean END"

static const struct {
    const char *name;
    const char *sql;
    bool single; /* one row or none: an object, not a list */
} PARTS[TC_PART_COUNT] = {
    [TC_PART_RUN] = {"run", "SELECT * FROM benchmark_run_fact WHERE run_id = ?", true},
    [TC_PART_SOFTWARE] = {"software", TC_RUN_DIMENSION_SQL("software_version_dim", "software_key"),
                          true},
    [TC_PART_HARDWARE] = {"hardware", TC_RUN_DIMENSION_SQL("hardware_topology_dim", "hardware_key"),
                          true},
    [TC_PART_CLUSTER] = {"cluster", TC_RUN_DIMENSION_SQL("cluster_region_dim", "cluster_key"),
                         true},
    [TC_PART_WORKLOAD] = {"workload", TC_RUN_DIMENSION_SQL("workload_dim", "workload_key"), true},
    [TC_PART_LINEAGE] = {"lineage", "SELECT * FROM artifact_lineage_dim WHERE run_id = ?", true},
    [TC_PART_SERVING] = {"serving", TC_RUN_SERVING_SQL, false},
    [TC_PART_REQUESTS] = {"requests",
                          "SELECT workload_point, concurrency, request_rate, count(*) AS requests, "
                          "count(CASE WHEN status = 'error' THEN 1 END) AS errors, "
                          "count(CASE WHEN status = 'cancelled' THEN 1 END) AS cancelled, tool "
                          "FROM serving_request_fact WHERE run_id = ? "
                          "GROUP BY workload_point, concurrency, request_rate, tool "
                          "ORDER BY workload_point, concurrency, request_rate, tool",
                          false},
    [TC_PART_TRAINING] = {"training", TC_RUN_TRAINING_SQL, false},
    [TC_PART_TELEMETRY] =
        {"telemetry",
         "SELECT family, metric, unit, count(*) AS slices, "
         "sum(count) AS samples, min(window_start) AS first, max(window_end) AS "
         "last, "
         "min(CASE WHEN min IS NOT NULL THEN min WHEN last IS NOT NULL THEN last "
         "ELSE mean END) AS min, "
         "avg(" SLICE_VALUE " ORDER BY " SLICE_VALUE ") AS mean, "
         "max(CASE WHEN max IS NOT NULL THEN max WHEN last IS NOT NULL THEN last "
         "ELSE mean END) AS max, "
         "min(run_join) AS run_join "
         "FROM telemetry_slice_fact WHERE run_id = ? GROUP BY family, metric, unit "
         "ORDER BY family, metric, unit",
         false},
    [TC_PART_VERDICTS] =
        {"verdicts",
         "SELECT incident_id, pattern, status, confidence, first_seen, headline, run_join, "
         "node_name, cause_incident_id, severity, remediation "
         "FROM verdict_fact WHERE run_id = ? ORDER BY first_seen, incident_id, told_at",
         false},
    [TC_PART_UNDECIDED] =
        {"undecided",
         "SELECT DISTINCT v.incident_id AS incident_id, v.pattern AS pattern, v.first_seen AS "
         "first_seen, v.headline AS headline, s.kind AS kind, s.name AS name "
         "FROM verdict_fact v JOIN run_scope_fact s ON (s.kind = 'node' AND s.name = v.node_name) "
         "OR (s.kind = 'job' AND s.name = v.job_uid) OR (s.kind = 'pod_uid' AND s.name = "
         "v.pod_uid) WHERE s.run_id = ? AND v.run_id IS NULL AND v.first_seen >= s.window_start "
         "AND v.first_seen <= s.window_end ORDER BY 3, 1, 5, 6",
         false},
    [TC_PART_SCOPE] = {"scope",
                       "SELECT kind, name, window_start, window_end, source FROM run_scope_fact "
                       "WHERE run_id = ? ORDER BY kind, name, window_start, window_end",
                       false},
    [TC_PART_DEFINITIONS] =
        {"definitions",
         "SELECT d.* FROM metric_definition_dim d WHERE d.tool IN ("
         "SELECT tool FROM serving_outcome_fact WHERE run_id = ?) "
         "OR d.tool IN (SELECT tool FROM training_outcome_fact WHERE run_id = ?) "
         "OR d.tool IN (SELECT family FROM telemetry_slice_fact WHERE run_id = ?) "
         "OR d.tool = 'tracecore' ORDER BY d.definition_id",
         false},
    [TC_PART_POINTS] =
        {"points",
         "SELECT s.family, s.point, s.metric, CASE WHEN s.mean IS NULL THEN s.last "
         "ELSE s.mean END AS value, s.unit " TC_RUN_SLICES_FROM
         "LIKE '%\"' || s.family || '\"%' AND s.point IS NOT NULL AND (s.mean IS NOT "
         "NULL OR s.last IS NOT NULL) ORDER BY s.family, s.point, s.metric",
         false},
};

tc_status tc_run_shown_read(struct tc_warehouse *w, struct tc_slice run_id, bool for_people,
                            struct tc_run_shown *out, struct tc_error *err)
{
    struct tc_bind key = {.type = TC_COLUMN_TEXT, .as.text = run_id};
    struct tc_bind keys[] = {key, key, key};
    for (size_t n = 0; n < (for_people ? TC_PART_COUNT : TC_PART_JSON_END); n++) {
        size_t count = n == TC_PART_DEFINITIONS ? 3 : 1;
        TC_TRY(tc_answer_query(w, PARTS[n].sql, keys, count, &out->parts[n], err));
    }
    return out->parts[TC_PART_RUN].row_count > 0
               ? TC_OK
               : tc_fail(err, TC_E_NOTFOUND, 0, "the run is gone");
}

void tc_run_shown_fini(struct tc_run_shown *s)
{
    for (size_t n = 0; n < TC_PART_COUNT; n++) {
        tc_answer_fini(&s->parts[n]);
    }
}

void tc_run_shown_json(struct tc_json_out *j, const char *data_dir, const struct tc_run_shown *s)
{
    struct tc_conditions_now now;
    tc_json_add_object(j);
    for (size_t n = 0; n < TC_PART_JSON_END; n++) {
        const struct tc_answer *set = &s->parts[n];
        tc_json_key_plain(j, tc_slice_cstr(PARTS[n].name));
        if (!PARTS[n].single) {
            tc_answer_rows_json(j, set);
        } else if (set->row_count > 0) {
            tc_answer_row_json(j, set, 0);
        } else {
            tc_json_add_null(j);
        }
    }
    if (!tc_conditions_now_read(data_dir, s, &now)) {
        j->b->overflowed = true;
    }
    tc_json_key(j, "conditions");
    tc_conditions_write(j, now.items, now.count);
    tc_json_put_bool(j, "publishable", now.are_met);
    tc_conditions_now_fini(&now);
    tc_json_end_object(j);
}

/* ---- the question ---- */

static tc_status answer_about(const struct tc_asked *asked, struct tc_slice run_id,
                              struct tc_reply *out, struct tc_error *err)
{
    struct tc_run_shown *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the answer");
    }
    tc_status status = tc_run_shown_read(asked->warehouse, run_id, false, s, err);
    if (status == TC_OK) {
        struct tc_json_out j = tc_json_out_grow(&out->body);
        tc_run_shown_json(&j, asked->data_dir, s);
        (void)tc_json_done_line(&j);
    }
    tc_run_shown_fini(s);
    free(s);
    return status;
}

static tc_status answer(const struct tc_asked *asked, struct tc_reply *out, struct tc_error *err)
{
    struct tc_group run;
    TC_TRY(tc_one_run_find(asked->warehouse, tc_asked_text(asked, "run"), &run, err));
    tc_status status = answer_about(asked, tc_group_text(&run, 0, TC_GROUP_RUN_ID), out, err);
    tc_group_fini(&run);
    return status;
}

static const struct tc_param PARAMS[] = {
    {.name = "run",
     .help = "The run: its id, the start of one, its name, or a condition that only it meets.",
     .kind = TC_PARAM_TEXT,
     .flags = TC_PARAM_NEEDED | TC_PARAM_IN_PATH},
};

static const struct tc_member MEMBERS[] = {
    {.name = "run", .type = "object null", .help = "The row of benchmark_run_fact."},
    {.name = "software", .type = "object null", .help = "Versions that it ran with."},
    {.name = "hardware", .type = "object null", .help = "What it ran on."},
    {.name = "cluster", .type = "object null", .help = "Where it ran."},
    {.name = "workload", .type = "object null", .help = "What it ran."},
    {.name = "lineage", .type = "object null", .help = "Its raw files and their manifest."},
    {.name = "serving", .type = "array", .help = "Rows of serving_outcome_fact."},
    {.name = "requests", .type = "array", .help = "Counts of its requests by point."},
    {.name = "training", .type = "array", .help = "Rows of training_outcome_fact."},
    {.name = "telemetry", .type = "array", .help = "A line per metric of its slices."},
    {.name = "verdicts", .type = "array", .help = "Incidents in its time and on its nodes."},
    {.name = "undecided", .type = "array", .help = "Incidents that fit another run as well."},
    {.name = "scope", .type = "array", .help = "Its nodes, pods and jobs, and when."},
    {.name = "definitions", .type = "array", .help = "What its tools mean by their metrics."},
    {.name = "conditions", .type = "array", .help = "What publishing asks, and whether it is met."},
    {.name = "publishable", .type = "boolean", .help = "All conditions are met."},
};

const struct tc_question tc_question_run = {
    .name = "run",
    .path = "/api/v1/runs/{run}",
    .summary = "show all about one run",
    .help = "All that is known of one run: its row, software, hardware, cluster and workload, its "
            "outcomes, its incidents, its raw files, and what publishing asks of it.",
    .place = TC_PLACE_TABLES,
    .needs_warehouse = true,
    .keeps = true,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .members = MEMBERS,
    .member_count = TC_COUNT(MEMBERS),
    .answer = answer,
};
