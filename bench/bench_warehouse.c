/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The warehouse with ten million telemetry slices:
 *
 *   bench_warehouse [--rows N] [--dir DIR] [--keep DIR] [--clickhouse URL] [--json]
 *
 * Loads them through tc_rows and data chunks, beside DuckDB's own row-by-row appender with the same
 * rows; counts the bytes on disk; asks questions of the pivot, and takes its steps (run show
 * --slower-than, diagnose), each 20 times. With --keep only the questions: the rows are loaded into
 * that folder once and stay there. Exits 1 when a limit of docs/internals/warehouse.md is breached,
 * 2 when something could not be measured.
 */
#include "warehouse_fleet.h"
#include "warehouse_load.h"
#include "warehouse_pivot.h"

/* Of the row appender's processor time to ours: some 3; what a busy machine leaves of it. */
#define LIMIT_RATIO 1.5

/* ---- the same row, in two ways ---- */

/* Texts that a slicer has at hand: made once per job. */
struct job_names {
    uint32_t job;
    char run[24];
    char job_uid[40];
    char pods[FLEET_GPUS][40];
};

static void name_job(struct job_names *n, uint32_t job)
{
    uint64_t state = (job + 77) * UINT64_C(0x9e3779b97f4a7c15);
    if (n->job == job && n->run[0] != '\0') {
        return;
    }
    n->job = job;
    fleet_run_id(n->run, sizeof n->run, job);
    (void)snprintf(n->job_uid, sizeof n->job_uid, "%08x-1111-4222-8333-%012llx",
                   (unsigned)fleet_random(&state),
                   (unsigned long long)(fleet_random(&state) >> 16));
    for (size_t i = 0; i < FLEET_GPUS; i++) {
        if (i % FLEET_NODE_GPUS == 0) {
            (void)snprintf(n->pods[i], sizeof n->pods[i], "%08x-%04x-4abc-9def-%012llx",
                           (unsigned)fleet_random(&state), (unsigned)(state & 0xffff),
                           (unsigned long long)(fleet_random(&state) >> 16));
        } else {
            memcpy(n->pods[i], n->pods[i - 1], sizeof n->pods[i]);
        }
    }
}

static uint32_t rank_of(const struct fleet_row *r)
{
    return r->gpu % (FLEET_GPUS / FLEET_JOBS);
}

static const char *point_of(const struct fleet_row *r)
{
    return r->metric == 15 || r->metric == 16 ? "link=all" : NULL;
}

static void put_row(struct tc_rows *rows, const struct fleet *f, const struct job_names *n,
                    const struct fleet_row *r)
{
    const struct fleet_metric *m = &FLEET[r->metric];
    (void)tc_rows_add(rows);
    put_text(rows, TC_SLICE_RUN_ID, n->run);
    tc_rows_int(rows, TC_SLICE_START, r->start_us);
    tc_rows_int(rows, TC_SLICE_END, r->start_us + FLEET_WINDOW_US);
    put_text(rows, TC_SLICE_FAMILY, "dcgm");
    put_text(rows, TC_SLICE_METRIC, m->name);
    put_text(rows, TC_SLICE_UNIT, m->unit);
    put_text(rows, TC_SLICE_NODE, f->nodes[r->gpu / FLEET_NODE_GPUS]);
    put_text(rows, TC_SLICE_GPU, f->gpus[r->gpu]);
    tc_rows_int(rows, TC_SLICE_RANK, rank_of(r));
    put_text(rows, TC_SLICE_JOB_UID, n->job_uid);
    put_text(rows, TC_SLICE_POD_UID, n->pods[r->gpu]);
    if (point_of(r) != NULL) {
        put_text(rows, TC_SLICE_POINT, point_of(r));
    }
    put_text(rows, TC_SLICE_JOIN, "identity");
    tc_rows_int(rows, TC_SLICE_COUNT, FLEET_SAMPLES);
    tc_rows_real(rows, TC_SLICE_MIN, r->min);
    tc_rows_real(rows, TC_SLICE_MAX, r->max);
    tc_rows_real(rows, TC_SLICE_MEAN, r->mean);
    tc_rows_real(rows, TC_SLICE_P50, r->p50);
    tc_rows_real(rows, TC_SLICE_P95, r->p95);
    tc_rows_real(rows, TC_SLICE_P99, r->p99);
    tc_rows_real(rows, TC_SLICE_LAST, r->last);
}

static void append_text(const struct tc__duckdb_api *api, duckdb_appender a, const char *text)
{
    if (text == NULL) {
        (void)api->append_null(a);
    } else {
        (void)api->append_varchar_length(a, text, strlen(text));
    }
}

/* In the order of tables.def. */
static void append_row(const struct tc__duckdb_api *api, duckdb_appender a, const struct fleet *f,
                       const struct job_names *n, const struct fleet_row *r)
{
    const struct fleet_metric *m = &FLEET[r->metric];
    append_text(api, a, n->run);
    (void)api->append_timestamp(a, (duckdb_timestamp){r->start_us});
    (void)api->append_timestamp(a, (duckdb_timestamp){r->start_us + FLEET_WINDOW_US});
    append_text(api, a, "dcgm");
    append_text(api, a, m->name);
    append_text(api, a, m->unit);
    append_text(api, a, f->nodes[r->gpu / FLEET_NODE_GPUS]);
    append_text(api, a, f->gpus[r->gpu]);
    (void)api->append_int64(a, rank_of(r));
    append_text(api, a, n->job_uid);
    append_text(api, a, n->pods[r->gpu]);
    append_text(api, a, NULL);
    append_text(api, a, NULL);
    append_text(api, a, point_of(r));
    append_text(api, a, "identity");
    append_text(api, a, NULL);
    (void)api->append_int64(a, FLEET_SAMPLES);
    (void)api->append_double(a, r->min);
    (void)api->append_double(a, r->max);
    (void)api->append_double(a, r->mean);
    (void)api->append_double(a, r->p50);
    (void)api->append_double(a, r->p95);
    (void)api->append_double(a, r->p99);
    (void)api->append_double(a, r->last);
    if (api->appender_end_row(a) != DuckDBSuccess) {
        die("row appender", api->appender_error(a));
    }
}

/* ---- loading ---- */

/* Rows are made outside of the time that is taken. */
struct source {
    struct fleet fleet;
    struct job_names names[FLEET_JOBS];
    struct fleet_row rows[BATCH];
    size_t count;
};

static const struct job_names *names_of(struct source *s, const struct fleet_row *r)
{
    return &s->names[r->job % FLEET_JOBS];
}

/* The next rows, at most one batch, and never of two epochs. */
static void fill(struct source *s, size_t left)
{
    size_t epoch_rows = FLEET_SERIES * FLEET_EPOCH;
    size_t epoch_left = epoch_rows - s->fleet.next % epoch_rows;
    s->count = left < BATCH ? left : BATCH;
    s->count = s->count < epoch_left ? s->count : epoch_left;
    for (size_t i = 0; i < s->count; i++) {
        fleet_next(&s->fleet, &s->rows[i]);
        name_job(&s->names[s->rows[i].job % FLEET_JOBS], s->rows[i].job);
    }
}

static size_t make_some(void *context, struct tc_rows *rows, size_t left)
{
    struct source *s = context;
    (void)rows;
    fill(s, left);
    return s->count;
}

static void put_some(void *context, struct tc_rows *rows)
{
    struct source *s = context;
    for (size_t i = 0; i < s->count; i++) {
        put_row(rows, &s->fleet, names_of(s, &s->rows[i]), &s->rows[i]);
    }
}

/* One transaction an epoch. */
static bool epoch_ends(void *context)
{
    const struct source *s = context;
    return s->fleet.next % (FLEET_SERIES * FLEET_EPOCH) == 0;
}

static struct spent load_chunks(const char *dir, struct source *s, size_t count)
{
    const struct feed feed = {.table = TC_TABLE_SLICE,
                              .context = s,
                              .make = make_some,
                              .put = put_some,
                              .ends = epoch_ends};
    return load_rows(dir, &feed, count);
}

/* The same with DuckDB's row appender. */
static struct spent load_by_row(const char *dir, struct source *s, size_t count)
{
    struct tc_warehouse_config config = {.data_dir = dir, .mode = TC_WAREHOUSE_WRITE, .own = true};
    struct tc_error err;
    void *engine = NULL;
    must(tc__duckdb_open_with(&config, &tc__schema, &engine, &err), "open", &err);
    struct tc__duckdb *d = engine;
    duckdb_appender a = NULL;
    struct spent took = {0, 0};
    must(tc__duckdb_run(d, "CREATE TABLE by_row AS SELECT * FROM telemetry_slice_fact LIMIT 0",
                        "by_row", &err),
         "create", &err);
    must(tc__engine_duckdb.begin(d, &err), "begin", &err);
    if (d->api->appender_create(d->connection, NULL, "by_row", &a) != DuckDBSuccess) {
        die("row appender", d->api->appender_error(a));
    }
    for (size_t done = 0; done < count; done += s->count) {
        fill(s, count - done);
        struct spent begin = spent_now();
        for (size_t i = 0; i < s->count; i++) {
            append_row(d->api, a, &s->fleet, names_of(s, &s->rows[i]), &s->rows[i]);
        }
        if (epoch_ends(s)) {
            if (d->api->appender_flush(a) != DuckDBSuccess) {
                die("row appender", d->api->appender_error(a));
            }
            must(tc__engine_duckdb.commit(d, &err), "commit", &err);
            must(tc__engine_duckdb.begin(d, &err), "begin", &err);
        }
        add_since(&took, begin);
    }
    struct spent begin = spent_now();
    if (d->api->appender_destroy(&a) != DuckDBSuccess) {
        die("row appender", "cannot end it");
    }
    must(tc__engine_duckdb.commit(d, &err), "commit", &err);
    tc__engine_duckdb.close(d);
    add_since(&took, begin);
    return took;
}

/* ---- the pivot ---- */

static struct tc_bind when(int64_t us)
{
    return (struct tc_bind){.type = TC_COLUMN_TIME, .as.integer = us};
}

static void ask_all(const char *dir, const struct fleet *f, size_t count, bool gate)
{
    char base[24];
    char run[24];
    size_t windows = count / FLEET_SERIES;
    uint32_t epoch = windows > FLEET_EPOCH ? 1 : 0;
    fleet_run_id(base, sizeof base, 0);
    fleet_run_id(run, sizeof run, epoch * FLEET_JOBS);
    const char *gpu = f->gpus[68]; /* one of the worse ones */
    const char *node = f->nodes[68 / FLEET_NODE_GPUS];
    int64_t from_us = FLEET_START_US + (int64_t)(windows / 2) * FLEET_WINDOW_US;
    const struct question questions[] = {
        {"what changed between two runs, by metric",
         "SELECT metric, b.value AS base, c.value AS candidate, b.slices FROM "
         "(SELECT metric, avg(mean) AS value, count(*) AS slices FROM telemetry_slice_fact "
         "WHERE run_id = ? GROUP BY metric) b JOIN "
         "(SELECT metric, avg(mean) AS value FROM telemetry_slice_fact "
         "WHERE run_id = ? GROUP BY metric) c USING (metric) ORDER BY metric",
         2,
         {text(base), text(run)}},
        {"one metric of two runs, node against node",
         "SELECT node_name, avg(CASE WHEN run_id = ? THEN mean END) AS base, "
         "avg(CASE WHEN run_id = ? THEN mean END) AS candidate, max(max) AS worst "
         "FROM telemetry_slice_fact WHERE run_id IN (?, ?) AND metric = 'sm_clock' "
         "GROUP BY node_name ORDER BY node_name",
         4,
         {text(base), text(run), text(base), text(run)}},
        {"the ten GPUs of a run that are lowest",
         "SELECT gpu_uuid, node_name, rank_id, avg(mean) AS value, min(min) AS low "
         "FROM telemetry_slice_fact WHERE run_id = ? AND metric = 'sm_clock' "
         "GROUP BY gpu_uuid, node_name, rank_id ORDER BY value, gpu_uuid LIMIT 10",
         1,
         {text(run)}},
        {"fifteen minutes of one node",
         "SELECT window_start, metric, gpu_uuid, mean, p99 FROM telemetry_slice_fact "
         "WHERE node_name = ? AND window_start >= ? AND window_start < ? "
         "ORDER BY window_start, metric, gpu_uuid",
         3,
         {text(node), when(from_us), when(from_us + 15 * FLEET_WINDOW_US)}},
        {"one GPU over all its time",
         "SELECT run_id, metric, count(*) AS windows, min(min) AS low, max(max) AS high "
         "FROM telemetry_slice_fact WHERE gpu_uuid = ? GROUP BY run_id, metric "
         "ORDER BY run_id, metric",
         1,
         {text(gpu)}},
        {"the evidence behind a GPU of a run",
         "SELECT DISTINCT run_join, source_digest, pod_uid, job_uid FROM telemetry_slice_fact "
         "WHERE run_id = ? AND gpu_uuid = ?",
         2,
         {text(run), text(gpu)}},
        {"runs that have a metric",
         "SELECT run_id, count(*) AS slices, min(window_start) AS first, max(window_end) AS last "
         "FROM telemetry_slice_fact WHERE metric = 'power_usage' GROUP BY run_id ORDER BY first",
         0,
         {{0}}},
    };
    struct tc_warehouse *w = open_in(dir, TC_WAREHOUSE_READ);
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        ask(w, &questions[i], gate);
    }
    tc_warehouse_close(w);
}

/* Questions alone, of rows that are loaded once. */
static void ask_kept(struct source *s, size_t count, bool gate)
{
    char file[600];
    struct stat st;
    (void)snprintf(file, sizeof file, "%s/" TC__DUCKDB_FILE, keep);
    fleet_init(&s->fleet);
    if (stat(file, &st) != 0) {
        struct spent took = load_chunks(keep, s, count);
        say_load("data chunks", count, took, file_bytes(keep));
    }
    ask_all(keep, &s->fleet, count, gate);
    pivot_all(keep, &s->fleet, count, gate);
}

/* The same rows and the pivot over them in an empty database of a ClickHouse. */
static void load_elsewhere(struct source *s, const char *dir, size_t count, bool gate)
{
    fleet_init(&s->fleet);
    struct spent took = load_chunks(dir, s, count);
    double per_s = (double)count / ((double)took.wall_ns / 1e9);
    say_load("clickhouse", count, took, 0);
    if (gate && per_s < LIMIT_ROWS_PER_S) {
        breach("rows loaded", per_s, LIMIT_ROWS_PER_S, "a second, at least");
    }
    pivot_all(dir, &s->fleet, count, gate);
}

int main(int argc, char **argv)
{
    char dir[400] = "/tmp/tc_bench_XXXXXX";
    char chunks[500];
    char by_row[500];
    size_t count = read_options(argc, argv, dir, sizeof dir);
    struct source *s = calloc(1, sizeof *s);
    if (s != NULL && keep != NULL) {
        ask_kept(s, count, count >= ROWS_DEFAULT);
        free(s);
        return status;
    }
    if (s == NULL || mkdtemp(dir) == NULL) {
        die(dir, "cannot be made");
    }
    if (warehouse_url != NULL) {
        load_elsewhere(s, dir, count, count >= ROWS_DEFAULT);
        remove_folder(dir);
        free(s);
        return status;
    }
    (void)snprintf(chunks, sizeof chunks, "%s/chunks", dir);
    (void)snprintf(by_row, sizeof by_row, "%s/by_row", dir);
    bool gate = count >= ROWS_DEFAULT;

    fleet_init(&s->fleet);
    struct spent took = load_chunks(chunks, s, count);
    uint64_t bytes = file_bytes(chunks);
    say_load("data chunks", count, took, bytes);
    struct fleet fleet = s->fleet;

    memset(s, 0, sizeof *s);
    fleet_init(&s->fleet);
    struct spent row_took = load_by_row(by_row, s, count);
    say_load("by row", count, row_took, file_bytes(by_row));
    remove_folder(by_row);

    ask_all(chunks, &fleet, count, gate);
    pivot_all(chunks, &fleet, count, gate);
    double ratio = (double)row_took.cpu_ns / (double)took.cpu_ns;
    if (gate) {
        judge_load(count, took, bytes);
    }
    if (ratio < LIMIT_RATIO) {
        breach("row appender's processor time to ours", ratio, LIMIT_RATIO, "times");
    }
    remove_folder(dir);
    free(s);
    return status;
}
