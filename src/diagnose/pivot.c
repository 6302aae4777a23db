/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/pivot.h"

#include "base/arena.h"
#include "base/format.h"
#include "base/table/grow.h"
#include "base/table/sort.h"
#include "stats/stats.h"
#include "warehouse/telemetry_sql.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PEERS_MIN 4
/* Peers that are nearly equal: a difference counts against a hundredth of their median. */
#define LEAST_SPREAD 0.01
#define REQUESTS_MAX "10"
/* In a group of fewer, the peers of a value are the others: one odd value would hide itself. */
#define SMALL_GROUP 16
/* Incidents that began so long before the point may be why. */
#define BEFORE_US INT64_C(600000000)

struct tc__pivot_memory {
    struct tc_answer run;
    struct tc_answer base;
    struct tc_pivot_series *base_series;
    size_t base_count;
};

/* ---- reading ---- */

enum {
    COL_FAMILY,
    COL_METRIC,
    COL_UNIT,
    COL_NODE,
    COL_GPU,
    COL_RANK,
    COL_POD,
    COL_POINT,
    COL_DIGEST,
    COL_JOIN,
    COL_MEAN,
};

/* One row per series. A GPU is on one node and in one pod: those are keys only where there is no
 * GPU. */
#define SERIES_SUMS "sum(mean) AS total, count(mean) AS counted"
#define SERIES_OF "run_id = ?{} AND mean IS NOT NULL"
#define SERIES_COLUMNS                                                                          \
    "max(family) AS family, metric, max(unit) AS unit, max(node_name) AS node_name, gpu_uuid, " \
    "rank_id, max(pod_uid) AS pod_uid, point, max(source_digest) AS digest, "                   \
    "max(" TC_TELEMETRY_RUN_JOIN                                                                \
    ") AS run_join, " TC_TELEMETRY_ROUND("sum(total) / sum(counted)") " AS mean"
#define SERIES_GROUPS                                                                            \
    "GROUP BY metric, gpu_uuid, rank_id, point, CASE WHEN gpu_uuid IS NULL THEN node_name END, " \
    "CASE WHEN gpu_uuid IS NULL THEN pod_uid END"
static const char SERIES_SQL[] =
    TC_TELEMETRY_SUMS(SERIES_SUMS) SERIES_OF TC_TELEMETRY_TEXTS(SERIES_COLUMNS) SERIES_GROUPS;

static struct tc_bind bind_text(struct tc_slice text)
{
    return (struct tc_bind){.type = TC_COLUMN_TEXT, .as.text = text};
}

static struct tc_bind bind_time(int64_t us)
{
    return (struct tc_bind){.type = TC_COLUMN_TIME, .as.integer = us};
}

static bool has_time(const struct tc_slow_point *point)
{
    return point != NULL && point->started_us != INT64_MIN && point->ended_us != INT64_MIN;
}

/* A query with a condition in it, which may be empty. */
static tc_status ask(struct tc_warehouse *w, const char *sql, const char *condition,
                     const struct tc_bind *binds, size_t count, struct tc_answer *out,
                     struct tc_error *err)
{
    struct tc_grow text = {0};
    const char *gap = strstr(sql, "{}");
    tc_grow_str(&text, tc_slice_make(sql, (size_t)(gap - sql)));
    tc_grow_str(&text, tc_slice_cstr(condition));
    tc_grow_str(&text, tc_slice_make(gap + 2, strlen(gap + 2) + 1)); /* with its end */
    tc_status status = text.failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the question")
                                   : tc_answer_query(w, text.buf.data, binds, count, out, err);
    tc_grow_fini(&text);
    return status;
}

static void fill_series(struct tc_pivot_series *s, const struct tc_answer *a, size_t row)
{
    *s = (struct tc_pivot_series){
        .family = tc_answer_text(a, row, COL_FAMILY),
        .metric = tc_answer_text(a, row, COL_METRIC),
        .unit = tc_answer_text(a, row, COL_UNIT),
        .node = tc_answer_text(a, row, COL_NODE),
        .gpu = tc_answer_text(a, row, COL_GPU),
        .pod_uid = tc_answer_text(a, row, COL_POD),
        .point = tc_answer_text(a, row, COL_POINT),
        .digest = tc_answer_text(a, row, COL_DIGEST),
        .rank = tc_answer_known(a, row, COL_RANK) ? tc_answer_int(a, row, COL_RANK) : -1,
        .is_fuzzy = tc_slice_eq(tc_answer_text(a, row, COL_JOIN), TC_LIT("time")),
        .value = tc_answer_known(a, row, COL_MEAN) ? tc_answer_real(a, row, COL_MEAN) : (double)NAN,
        .median = (double)NAN,
    };
}

/* Buckets say nothing alone; events are no measurements. */
static bool is_measured(const struct tc_pivot_series *s)
{
    return isfinite(s->value) && !tc_slice_ends(s->metric, TC_LIT("_bucket")) &&
           !tc_slice_eq(s->metric, TC_LIT("kubernetes_events"));
}

static tc_status make_series(const struct tc_answer *a, struct tc_pivot_series **out, size_t *count,
                             struct tc_error *err)
{
    struct tc_pivot_series *series = calloc(a->row_count + 1, sizeof *series);
    *out = series;
    if (series == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the telemetry");
    }
    for (size_t row = 0; row < a->row_count; row++) {
        fill_series(&series[*count], a, row);
        *count += is_measured(&series[*count]);
    }
    return TC_OK;
}

/* ---- peers ---- */

/* What kind of thing a series is about. */
static unsigned level_of(const struct tc_pivot_series *s)
{
    return s->gpu.len > 0 ? 3 : s->rank >= 0 ? 4 : s->pod_uid.len > 0 ? 2 : s->node.len > 0 ? 1 : 0;
}

/* Peers have the same metric, kind of scope and, if that leaves enough of them, other labels. */
static uint64_t group_of(const struct tc_pivot_series *s, bool with_point)
{
    uint64_t hash = tc_hash_mix(tc_slice_hash(s->metric, 0), level_of(s));
    return with_point ? tc_hash_mix(hash, tc_slice_hash(s->point, 1)) : hash;
}

struct peers {
    struct tc_sort_pair *pairs; /* group and place */
    struct tc_sort_pair *scratch;
    double *values;
    size_t count;
    struct tc_arena arena;
    void *block;
};

static tc_status peers_init(struct peers *p, size_t count, struct tc_error *err)
{
    size_t bytes = TC_SORTED_BYTES(count) + 4096;
    *p = (struct peers){.pairs = calloc(count + 1, sizeof *p->pairs),
                        .scratch = calloc(count + 1, sizeof *p->scratch),
                        .values = calloc(count + 1, sizeof *p->values),
                        .block = malloc(bytes)};
    if (p->pairs == NULL || p->scratch == NULL || p->values == NULL || p->block == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to compare the telemetry");
    }
    tc_arena_init(&p->arena, "peers", p->block, bytes);
    return TC_OK;
}

static void peers_fini(struct peers *p)
{
    if (p->arena.name != NULL) {
        tc_arena_fini(&p->arena);
    }
    free(p->pairs);
    free(p->scratch);
    free(p->values);
    free(p->block);
}

static void judge_one(struct tc_pivot_series *s, struct tc_spread peers, size_t count,
                      enum tc_peers which)
{
    peers.scale = fmax(peers.scale, LEAST_SPREAD * fabs(peers.median));
    double z = tc_robust_z(&peers, s->value);
    s->median = peers.median;
    s->z = fmax(-TC_PIVOT_Z_MAX, fmin(TC_PIVOT_Z_MAX, z));
    s->peer_count = count;
    s->peers = which;
}

static tc_status spread_of(struct peers *p, const double *values, size_t count,
                           struct tc_spread *out)
{
    struct tc_sorted sorted;
    struct tc_error err;
    tc_arena_reset(&p->arena);
    TC_TRY(tc_sorted_make(values, count, &p->arena, &sorted, &err));
    *out = tc_sorted_spread(sorted);
    return TC_OK;
}

/* A small group of the run, each member against the others. */
static tc_status judge_small(struct peers *p, struct tc_pivot_series *series,
                             const struct tc_sort_pair *members, const double *values, size_t count)
{
    double others[SMALL_GROUP];
    for (size_t i = 0; i < count; i++) {
        struct tc_spread spread;
        size_t n = 0;
        for (size_t other = 0; other < count; other++) {
            if (other != i) {
                others[n++] = values[other];
            }
        }
        TC_TRY(spread_of(p, others, n, &spread));
        judge_one(&series[members[i].value], spread, count, TC_PEERS_RUN);
    }
    return TC_OK;
}

/* Judges the series of one group against values, which are the group's own or the base's. */
static tc_status judge_group(struct peers *p, struct tc_pivot_series *series,
                             const struct tc_sort_pair *members, size_t count, const double *values,
                             size_t value_count, enum tc_peers which)
{
    struct tc_spread spread;
    if (value_count < PEERS_MIN) {
        return TC_OK;
    }
    if (which == TC_PEERS_RUN && count <= SMALL_GROUP) {
        return judge_small(p, series, members, values, count);
    }
    TC_TRY(spread_of(p, values, value_count, &spread));
    for (size_t i = 0; i < count; i++) {
        judge_one(&series[members[i].value], spread, value_count, which);
    }
    return TC_OK;
}

static void sort_groups(struct peers *p, const struct tc_pivot_series *series, size_t count,
                        bool with_point)
{
    p->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (series[i].peers == TC_PEERS_NONE) {
            p->pairs[p->count++] = (struct tc_sort_pair){group_of(&series[i], with_point), i};
        }
    }
    tc_sort_keys(p->pairs, p->scratch, p->count);
}

/* All series that have no peers yet, against each other. */
static tc_status judge_within(struct peers *p, struct tc_pivot_series *series, size_t count,
                              bool with_point)
{
    sort_groups(p, series, count, with_point);
    for (size_t from = 0, to = 0; from < p->count; from = to) {
        size_t n = 0;
        for (to = from; to < p->count && p->pairs[to].key == p->pairs[from].key; to++) {
            p->values[n++] = series[p->pairs[to].value].value;
        }
        TC_TRY(judge_group(p, series, &p->pairs[from], n, p->values, n, TC_PEERS_RUN));
    }
    return TC_OK;
}

/* What is left, against the same metric of the base: both sorted by group, side by side. */
static tc_status judge_against(struct peers *p, struct peers *base, struct tc_pivot *out)
{
    const struct tc__pivot_memory *m = out->memory;
    size_t at = 0;
    sort_groups(p, out->series, out->series_count, false);
    sort_groups(base, m->base_series, m->base_count, false);
    for (size_t from = 0, to = 0; from < p->count; from = to) {
        uint64_t key = p->pairs[from].key;
        size_t n = 0;
        while (to < p->count && p->pairs[to].key == key) {
            to++;
        }
        for (; at < base->count && base->pairs[at].key <= key; at++) {
            if (base->pairs[at].key == key) {
                base->values[n++] = m->base_series[base->pairs[at].value].value;
            }
        }
        TC_TRY(judge_group(base, out->series, &p->pairs[from], to - from, base->values, n,
                           TC_PEERS_BASE));
    }
    return TC_OK;
}

/* ---- the answer ---- */

static int compare_series(const void *a, const void *b)
{
    const struct tc_pivot_series *x = a;
    const struct tc_pivot_series *y = b;
    int order = TC_ORDER(fabs(y->z), fabs(x->z));
    order = order != 0 ? order : tc_slice_cmp(x->metric, y->metric);
    order = order != 0 ? order : tc_slice_cmp(x->node, y->node);
    order = order != 0 ? order : tc_slice_cmp(x->gpu, y->gpu);
    order = order != 0 ? order : TC_ORDER(x->rank, y->rank);
    order = order != 0 ? order : tc_slice_cmp(x->pod_uid, y->pod_uid);
    return order != 0 ? order : tc_slice_cmp(x->point, y->point);
}

/* Keeps what is odd, or all of the node that was asked for. */
static void keep_wanted(struct tc_pivot *p, struct tc_slice node)
{
    size_t kept = 0;
    p->read = p->series_count;
    for (size_t i = 0; i < p->series_count; i++) {
        p->unjudged += p->series[i].peers == TC_PEERS_NONE;
        bool wanted = node.len > 0 ? tc_slice_eq(p->series[i].node, node)
                                   : fabs(p->series[i].z) > TC_OUTLIER_Z;
        if (wanted) {
            p->series[kept++] = p->series[i];
        }
    }
    p->series_count = kept;
    qsort(p->series, kept, sizeof *p->series, compare_series);
}

static tc_status judge_by_base(struct tc_warehouse *w, const struct tc_group *base,
                               struct tc_pivot *out, struct tc_error *err)
{
    struct tc__pivot_memory *m = out->memory;
    struct tc_bind latest = bind_text(tc_group_text(base, base->run_count - 1, TC_GROUP_RUN_ID));
    struct peers run = {0};
    struct peers before = {0};
    TC_TRY(ask(w, SERIES_SQL, "", &latest, 1, &m->base, err));
    TC_TRY(make_series(&m->base, &m->base_series, &m->base_count, err));
    tc_status status = peers_init(&run, out->series_count, err);
    status = status == TC_OK ? peers_init(&before, m->base_count, err) : status;
    status = status == TC_OK ? judge_against(&run, &before, out) : status;
    peers_fini(&run);
    peers_fini(&before);
    return status;
}

static tc_status judge(struct tc_warehouse *w, const struct tc_pivot_want *want,
                       struct tc_pivot *out, struct tc_error *err)
{
    struct peers p;
    size_t alone = 0;
    tc_status status = peers_init(&p, out->series_count, err);
    status = status == TC_OK ? judge_within(&p, out->series, out->series_count, true) : status;
    status = status == TC_OK ? judge_within(&p, out->series, out->series_count, false) : status;
    peers_fini(&p);
    TC_TRY(status);
    for (size_t i = 0; i < out->series_count; i++) {
        alone += out->series[i].peers == TC_PEERS_NONE;
    }
    return alone == 0 || want->base == NULL || want->base->run_count == 0
               ? TC_OK
               : judge_by_base(w, want->base, out, err);
}

static tc_status read_requests(struct tc_warehouse *w, const struct tc_pivot_want *want,
                               struct tc_pivot *out, struct tc_error *err)
{
    static const char sql[] =
        "SELECT request_id, trace_id, node_name, pod_name, started_at, queue_ms, ttft_ms, e2e_ms, "
        "source_digest, source_pointer FROM serving_request_fact WHERE run_id = ?{} AND e2e_ms IS "
        "NOT NULL ORDER BY e2e_ms DESC, request_id LIMIT " REQUESTS_MAX;
    struct tc_bind binds[4] = {bind_text(want->run_id)};
    struct tc_grow condition = {0};
    size_t count = 1;
    if (want->point != NULL && want->point->point->table == TC_TABLE_SERVING) {
        const struct tc_point *point = want->point->point;
        tc_grow_lit(&condition, " AND workload_point = ?");
        binds[count++] = bind_text(point->key);
        if (!isnan(point->concurrency)) {
            tc_grow_lit(&condition, " AND concurrency = ?");
            binds[count++] =
                (struct tc_bind){.type = TC_COLUMN_REAL, .as.real = point->concurrency};
        }
    }
    if (want->node.len > 0) {
        tc_grow_lit(&condition, " AND node_name = ?");
        binds[count++] = bind_text(want->node);
    }
    tc_grow_str(&condition, tc_slice_make("", 1));
    tc_status status = condition.failed
                           ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the question")
                           : ask(w, sql, condition.buf.data, binds, count, &out->requests, err);
    tc_grow_fini(&condition);
    return status;
}

/* Verdicts of the run that began in the time of the point, or ten minutes before. */
static tc_status read_incidents(struct tc_warehouse *w, const struct tc_pivot_want *want,
                                struct tc_pivot *out, struct tc_error *err)
{
    static const char sql[] =
        "SELECT incident_id, max(pattern) AS pattern, max(headline) AS headline, max(node_name) AS "
        "node_name, min(first_seen) AS first_seen, max(run_join) AS run_join FROM verdict_fact "
        "WHERE run_id = ?{} GROUP BY incident_id ORDER BY first_seen, incident_id LIMIT 100";
    struct tc_bind binds[4] = {bind_text(want->run_id)};
    size_t count = 1;
    bool timed = has_time(want->point);
    if (timed) {
        binds[count++] = bind_time(want->point->started_us - BEFORE_US);
        binds[count++] = bind_time(want->point->ended_us);
    }
    if (want->node.len > 0) {
        binds[count++] = bind_text(want->node);
    }
    const char *condition = timed && want->node.len > 0
                                ? " AND first_seen >= ? AND first_seen <= ? AND node_name = ?"
                            : timed              ? " AND first_seen >= ? AND first_seen <= ?"
                            : want->node.len > 0 ? " AND node_name = ?"
                                                 : "";
    return ask(w, sql, condition, binds, count, &out->incidents, err);
}

static tc_status read_all(struct tc_warehouse *w, const struct tc_pivot_want *want,
                          struct tc_pivot *out, struct tc_error *err)
{
    struct tc_bind binds[3] = {bind_text(want->run_id)};
    bool timed = has_time(want->point);
    if (timed) {
        binds[1] = bind_time(want->point->ended_us);
        binds[2] = bind_time(want->point->started_us);
    }
    TC_TRY(ask(w, SERIES_SQL, timed ? " AND window_start < ? AND window_end > ?" : "", binds,
               timed ? 3 : 1, &out->memory->run, err));
    TC_TRY(make_series(&out->memory->run, &out->series, &out->series_count, err));
    TC_TRY(judge(w, want, out, err));
    keep_wanted(out, want->node);
    TC_TRY(read_requests(w, want, out, err));
    return read_incidents(w, want, out, err);
}

tc_status tc_pivot_read(struct tc_warehouse *w, const struct tc_pivot_want *want,
                        struct tc_pivot *out, struct tc_error *err)
{
    struct tc_pivot p = {.memory = calloc(1, sizeof *p.memory)};
    tc_status status = p.memory == NULL ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the answer")
                                        : read_all(w, want, &p, err);
    if (status != TC_OK) {
        tc_pivot_fini(&p);
        return status;
    }
    *out = p;
    return TC_OK;
}

void tc_pivot_fini(struct tc_pivot *p)
{
    if (p->memory != NULL) {
        tc_answer_fini(&p->memory->run);
        tc_answer_fini(&p->memory->base);
        free(p->memory->base_series);
    }
    free(p->memory);
    free(p->series);
    tc_answer_fini(&p->requests);
    tc_answer_fini(&p->incidents);
    *p = (struct tc_pivot){0};
}
