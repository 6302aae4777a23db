/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/context_priv.h"

#include "base/format.h"
#include "base/table/grow.h"
#include "warehouse/telemetry_sql.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Metrics that have a name in signals.def. */
static const struct {
    const char *metric;
    enum tc__signal signal;
} NAMES[] = {
#define SIGNAL(id, metric, unit) {metric, TC__SIGNAL_##id},
#define ALSO(id, metric) {metric, TC__SIGNAL_##id},
#include "diagnose/signals.def"
#undef SIGNAL
#undef ALSO
};

/* ---- reading ---- */

/* Columns of the telemetry. */
enum {
    COL_METRIC,
    COL_NODE,
    COL_GPU,
    COL_RANK,
    COL_POD,
    COL_POINT,
    COL_DIGEST,
    COL_WINDOWS,
    COL_MEAN,
    COL_MAX,
    COL_MIN,
    COL_LAST,
};

#define SERIES_KEY "metric, node_name, gpu_uuid, rank_id, pod_uid, point"
#define SERIES_SUMS                                                                        \
    "count(*) AS counted, sum(mean) AS total, count(mean) AS means, max(max) AS highest, " \
    "min(min) AS lowest, max(last) AS latest"
#define SERIES_NUMBERS                                                                   \
    "CAST(sum(counted) AS BIGINT) AS windows, " TC_TELEMETRY_ROUND(                      \
        "sum(total) / sum(means)") " AS mean, max(highest) AS max, min(lowest) AS min, " \
                                   "max(latest) AS last"
static const char TELEMETRY_SQL[] = TC_TELEMETRY_SUMS(SERIES_SUMS) "run_id IN (";
#define SERIES_COLUMNS SERIES_KEY ", max(source_digest) AS digest, " SERIES_NUMBERS
#define SERIES_GROUPS "GROUP BY " SERIES_KEY " ORDER BY " SERIES_KEY
static const char TEXTS_SQL[] = TC_TELEMETRY_TEXTS(SERIES_COLUMNS) SERIES_GROUPS;

static struct tc_bind bind_text(struct tc_slice text)
{
    return (struct tc_bind){.type = TC_COLUMN_TEXT, .as.text = text};
}

static tc_status ask_telemetry(struct tc_warehouse *w, const struct tc_bind *runs, size_t run_count,
                               struct tc_answer *out, struct tc_error *err)
{
    struct tc_grow sql = {0};
    tc_grow_str(&sql, tc_slice_cstr(TELEMETRY_SQL));
    for (size_t i = 0; i < run_count; i++) {
        tc_grow_str(&sql, i == 0 ? TC_LIT("?") : TC_LIT(", ?"));
    }
    tc_grow_lit(&sql, ") AND metric IN (");
    for (size_t i = 0; i < TC_COUNT(NAMES); i++) {
        tc_grow_format(&sql, "{}'{}'", i == 0 ? "" : ", ", NAMES[i].metric);
    }
    tc_grow_lit(&sql, ")");
    tc_grow_str(&sql, tc_slice_make(TEXTS_SQL, sizeof TEXTS_SQL)); /* with its end */
    tc_status status = sql.failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the question")
                                  : tc_answer_query(w, sql.buf.data, runs, run_count, out, err);
    tc_grow_fini(&sql);
    return status;
}

static double real_or_nan(const struct tc_answer *a, size_t row, size_t column)
{
    return tc_answer_known(a, row, column) ? tc_answer_real(a, row, column) : (double)NAN;
}

static enum tc__signal signal_of(struct tc_slice metric)
{
    size_t row = tc_slice_row(metric, NAMES, metric);
    return row < TC_COUNT(NAMES) ? NAMES[row].signal : TC__SIGNALS;
}

static void fill_row(struct tc__row *r, const struct tc_answer *a, size_t n, enum tc__signal signal)
{
    *r = (struct tc__row){
        .signal = signal,
        .metric = tc_answer_text(a, n, COL_METRIC),
        .node = tc_answer_text(a, n, COL_NODE),
        .gpu = tc_answer_text(a, n, COL_GPU),
        .pod_uid = tc_answer_text(a, n, COL_POD),
        .point = tc_answer_text(a, n, COL_POINT),
        .digest = tc_answer_text(a, n, COL_DIGEST),
        .rank = tc_answer_known(a, n, COL_RANK) ? tc_answer_int(a, n, COL_RANK) : -1,
        .mean = real_or_nan(a, n, COL_MEAN),
        .max = real_or_nan(a, n, COL_MAX),
        .min = real_or_nan(a, n, COL_MIN),
        .last = real_or_nan(a, n, COL_LAST),
        .windows = real_or_nan(a, n, COL_WINDOWS),
    };
}

/* Rows of one signal side by side; those of one metric are in the order of the query. */
static tc_status arrange(struct tc__context *c, enum tc__side side, struct tc_error *err)
{
    const struct tc_answer *a = &c->telemetry[side];
    size_t counts[TC__SIGNALS] = {0};
    size_t at = 0;
    if (a->row_count == 0) {
        return TC_OK;
    }
    struct tc__row *rows = calloc(a->row_count, sizeof *rows);
    if (rows == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the telemetry");
    }
    c->rows[side] = rows;
    for (size_t n = 0; n < a->row_count; n++) {
        enum tc__signal signal = signal_of(tc_answer_text(a, n, COL_METRIC));
        counts[signal < TC__SIGNALS ? signal : 0] += signal < TC__SIGNALS;
    }
    for (enum tc__signal s = 0; s < TC__SIGNALS; s++) {
        c->spans[side][s] = (struct tc__span){rows + at, 0};
        at += counts[s];
    }
    for (size_t n = 0; n < a->row_count; n++) {
        enum tc__signal signal = signal_of(tc_answer_text(a, n, COL_METRIC));
        if (signal < TC__SIGNALS) {
            struct tc__span *span = &c->spans[side][signal];
            fill_row(rows + (span->rows - rows) + span->count++, a, n, signal);
        }
    }
    return TC_OK;
}

/* Each verdict as it was told last comes first. */
static const char VERDICTS_SQL[] =
    "SELECT incident_id, pattern, confidence, headline, node_name, gpu_uuid, rank_id, first_seen "
    "FROM verdict_fact WHERE run_id = ? AND pattern IS NOT NULL ORDER BY first_seen, incident_id, "
    "told_at DESC";
/* Other runs of the same name or model: has somebody made the experiment already? */
#define OTHERS_FROM                                                                               \
    "FROM benchmark_run_fact r LEFT JOIN workload_dim v ON v.workload_key = r.workload_key JOIN " \
    "benchmark_run_fact o ON o.run_id <> r.run_id LEFT JOIN workload_dim w ON w.workload_key = "  \
    "o.workload_key "
#define OTHERS_WHERE "WHERE r.run_id = ? AND (o.name = r.name OR w.model = v.model) "
static const char OTHERS_SQL[] =
    "SELECT o.run_id, o.name, CASE WHEN o.workload_spec_digest = r.workload_spec_digest THEN 1 "
    "ELSE 0 END AS same, c.tenant_mode, w.dataset, s.p99, t.spikes, t.tokens " OTHERS_FROM
    "LEFT JOIN cluster_region_dim c ON c.cluster_key = o.cluster_key "
    "LEFT JOIN (SELECT run_id, max(e2e_p99_ms) AS p99 FROM serving_outcome_fact GROUP BY run_id) s "
    "ON s.run_id = o.run_id LEFT JOIN (SELECT run_id, max(step_time_p99_ms / step_time_p50_ms) AS "
    "spikes, max(tokens_per_second_per_gpu) AS tokens FROM training_outcome_fact GROUP BY run_id) "
    "t ON t.run_id = o.run_id " OTHERS_WHERE "ORDER BY o.started_at DESC, o.run_id LIMIT 200";
static const char OTHER_NODES_SQL[] =
    "SELECT n.run_id, n.name " OTHERS_FROM "JOIN run_scope_fact n ON n.run_id = o.run_id AND "
    "n.kind = 'node' " OTHERS_WHERE "ORDER BY n.run_id, n.name LIMIT 20000";

static tc_status read_telemetry(struct tc__context *c, struct tc_warehouse *w,
                                const struct tc_group *base, struct tc_error *err)
{
    struct tc_bind binds[TC_DIAGNOSE_BASE_MAX];
    struct tc_bind run = bind_text(c->run_id);
    TC_TRY(ask_telemetry(w, &run, 1, &c->telemetry[TC__RUN], err));
    TC_TRY(arrange(c, TC__RUN, err));
    if (base == NULL || base->run_count == 0) {
        return TC_OK;
    }
    c->base_runs = base->run_count < TC_DIAGNOSE_BASE_MAX ? base->run_count : TC_DIAGNOSE_BASE_MAX;
    for (size_t i = 0; i < c->base_runs; i++) {
        binds[i] =
            bind_text(tc_group_text(base, base->run_count - c->base_runs + i, TC_GROUP_RUN_ID));
    }
    TC_TRY(ask_telemetry(w, binds, c->base_runs, &c->telemetry[TC__BASE], err));
    return arrange(c, TC__BASE, err);
}

static tc_status read_all(struct tc__context *c, struct tc_warehouse *w,
                          const struct tc_group *base, struct tc_error *err)
{
    struct tc_bind run = bind_text(c->run_id);
    struct tc_group group = {0};
    TC_TRY(tc_answer_query(w, "SELECT run_id, name FROM benchmark_run_fact WHERE run_id = ?", &run,
                           1, &c->run, err));
    if (c->run.row_count == 0) {
        return tc_fail(err, TC_E_NOTFOUND, 0, "the run is not there");
    }
    TC_TRY(tc_group_find(w, c->run_id, TC_GROUP_WITH_FAILED, &group, err));
    tc_status status = tc_points_read(w, &group, base, &c->points, err);
    tc_group_fini(&group);
    TC_TRY(status);
    TC_TRY(tc_answer_query(w, VERDICTS_SQL, &run, 1, &c->verdicts, err));
    TC_TRY(tc_answer_query(w, OTHERS_SQL, &run, 1, &c->others, err));
    TC_TRY(tc_answer_query(w, OTHER_NODES_SQL, &run, 1, &c->other_nodes, err));
    return read_telemetry(c, w, base, err);
}

/* What the largest check needs: each row once as a value and once sorted. */
#define ROW_BYTES 256
#define BLOCK_BYTES ((size_t)256 << 10)

tc_status tc__context_read(struct tc_warehouse *w, struct tc_slice run_id,
                           const struct tc_group *base, struct tc__context **out,
                           struct tc_error *err)
{
    struct tc__context *c = calloc(1, sizeof *c);
    *out = c;
    if (c == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the diagnosis");
    }
    c->run_id = run_id;
    TC_TRY(read_all(c, w, base, err));
    c->run_id = tc_answer_text(&c->run, 0, 0);
    size_t bytes = BLOCK_BYTES +
                   ROW_BYTES * (c->telemetry[TC__RUN].row_count + c->telemetry[TC__BASE].row_count);
    c->block = malloc(bytes);
    if (c->block == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the diagnosis");
    }
    tc_arena_init(&c->arena, "diagnosis", c->block, bytes);
    return TC_OK;
}

void tc__context_destroy(struct tc__context *c)
{
    if (c == NULL) {
        return;
    }
    tc_points_fini(&c->points);
    tc_answer_fini(&c->run);
    tc_answer_fini(&c->verdicts);
    tc_answer_fini(&c->others);
    tc_answer_fini(&c->other_nodes);
    for (enum tc__side side = 0; side < TC__SIDES; side++) {
        tc_answer_fini(&c->telemetry[side]);
        free(c->rows[side]);
    }
    if (c->block != NULL) {
        tc_arena_fini(&c->arena);
    }
    free(c->block);
    free(c);
}

bool tc__has(const struct tc__context *c, enum tc__side side, enum tc__signal signal)
{
    return c->spans[side][signal].count > 0;
}
