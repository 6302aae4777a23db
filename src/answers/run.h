/* SPDX-License-Identifier: Apache-2.0 */
/* All about one run: its row, what it ran on, what it measured, what publishing asks of it. */
#ifndef TC_ANSWERS_RUN_H
#define TC_ANSWERS_RUN_H

#include "base/json/json.h"
#include "base/json/out.h"
#include "base/slice.h"
#include "base/status.h"
#include "run/conditions.h"
#include "warehouse/answer.h"

#include <stdbool.h>
#include <stddef.h>

enum tc_run_part {
    TC_PART_RUN,
    TC_PART_SOFTWARE,
    TC_PART_HARDWARE,
    TC_PART_CLUSTER,
    TC_PART_WORKLOAD,
    TC_PART_LINEAGE,
    TC_PART_SERVING,
    TC_PART_REQUESTS,
    TC_PART_TRAINING,
    TC_PART_TELEMETRY,
    TC_PART_VERDICTS,
    TC_PART_UNDECIDED,
    TC_PART_SCOPE,
    TC_PART_DEFINITIONS,
    TC_PART_JSON_END,
    TC_PART_POINTS = TC_PART_JSON_END, /* for people: the table has them all */
    TC_PART_COUNT,
};

/* The row of a dimension that a run's row points to, and its outcomes in their order; the run's id
 * is the only parameter. */
#define TC_RUN_DIMENSION_SQL(table, key)                                              \
    "SELECT d.* FROM " table " d JOIN benchmark_run_fact r ON r." key " = d." key " " \
    "WHERE r.run_id = ?"
#define TC_RUN_SERVING_SQL                                                          \
    "SELECT * FROM serving_outcome_fact WHERE run_id = ? ORDER BY workload_point, " \
    "concurrency, request_rate, tool, source_digest, source_pointer"
#define TC_RUN_TRAINING_SQL                                                                    \
    "SELECT * FROM training_outcome_fact WHERE run_id = ? ORDER BY phase, scale_point, tool, " \
    "source_digest, source_pointer"
/* The measurements of a run's benchmark tools, its telemetry not among them; the run's id is the
 * only parameter. Families are compared with the tools that the run's row lists. */
#define TC_RUN_SLICES_FROM                                                          \
    "FROM telemetry_slice_fact s JOIN benchmark_run_fact r ON r.run_id = s.run_id " \
    "WHERE s.run_id = ? AND r.tools "
#define TC_RUN_SLICES_SQL                                                                       \
    "SELECT s.family, s.point, s.node_name, s.gpu_uuid, s.rank_id, s.request_class, s.metric, " \
    "s.unit, s.min, s.max, s.mean, s.p50, s.p95, s.p99, s.last " TC_RUN_SLICES_FROM             \
    "LIKE '%\"' || s.family || '\"%' ORDER BY s.family, s.point, s.metric, s.window_start, "    \
    "s.source_digest"

struct tc_run_shown {
    struct tc_answer parts[TC_PART_COUNT];
};

/* All parts of the run of that id, of which there is one, but TC_PART_POINTS only for people.
 * TC_E_NOTFOUND: it is gone. The caller ends *out, also after a failure; it begins as all zero. */
TC_CHECKED tc_status tc_run_shown_read(struct tc_warehouse *w, struct tc_slice run_id,
                                       bool for_people, struct tc_run_shown *out,
                                       struct tc_error *err);
void tc_run_shown_fini(struct tc_run_shown *s);
/* One object. data_dir is where its files are. */
void tc_run_shown_json(struct tc_json_out *j, const char *data_dir, const struct tc_run_shown *s);

/* What publishing asks of a run, with its evidence looked at again. */
struct tc_conditions_now {
    struct tc_condition items[TC_CONDITIONS_MAX];
    size_t count;
    bool are_met;
    char room[TC_CONDITION_ROOM];
    struct tc_json_parser *parser;
};
/* Texts are borrowed from s. False without memory; the caller ends *out either way. */
bool tc_conditions_now_read(const char *data_dir, const struct tc_run_shown *s,
                            struct tc_conditions_now *out);
void tc_conditions_now_fini(struct tc_conditions_now *c);

#endif
