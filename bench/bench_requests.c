/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The warehouse with ten million requests:
 *
 *   bench_requests [--rows N] [--dir DIR] [--json]
 *
 * Loads them through tc_rows as an import does, counts the bytes on disk, and asks for the slowest
 * ones, each question 20 times. They are of four runs with five points each, as a load generator
 * writes them: in the order in which they end, with random ids (a UUID and a trace), times, four
 * latencies of microseconds, tokens, status, 64 pods on as many nodes, and their line. Exits 1 when
 * a limit of docs/internals/warehouse.md is breached, 2 when something could not be measured.
 */
#include "warehouse_load.h"

#include <math.h>

#define RUNS 4
#define POINTS 5
#define PODS 64
#define START_US INT64_C(1762000000000000)

struct maker {
    uint64_t state;
    size_t next;
    size_t made;      /* last */
    size_t per_point; /* requests */
    int64_t now_us;
};

static uint64_t random_word(struct maker *m)
{
    m->state ^= m->state << 13;
    m->state ^= m->state >> 7;
    m->state ^= m->state << 17;
    return m->state * UINT64_C(0x2545f4914f6cdd1d);
}

/* 0 .. 1 */
static double random_part(struct maker *m)
{
    return (double)(random_word(m) >> 11) / 0x1p53;
}

/* Microseconds, most near the middle, a tail of some that take up to ten times as long. */
static double latency_ms(struct maker *m, double typical_ms)
{
    double part = random_part(m);
    double ms = typical_ms * (0.6 + 0.5 * random_part(m) - 0.25 * log(1 - part * 0.999999));
    return nearbyint(ms * 1000) / 1000;
}

static void name_run(char *out, size_t size, size_t run)
{
    (void)snprintf(out, size, "run-%016llx",
                   (unsigned long long)((run + 1) * UINT64_C(0x9e3779b97f4a7c15)));
}

static void name_point(char *out, size_t size, size_t point)
{
    (void)snprintf(out, size, "in=%zu out=128 dataset=random", (size_t)128 << point);
}

static void put_names(struct tc_rows *rows, struct maker *m, size_t run, size_t point)
{
    char text[96];
    size_t pod = random_word(m) >> 58;
    name_run(text, sizeof text, run);
    put_text(rows, TC_REQUEST_RUN_ID, text);
    put_text(rows, TC_REQUEST_JOIN, "given");
    uint64_t a = random_word(m);
    uint64_t b = random_word(m);
    (void)snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(a >> 32),
                   (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xffff), (unsigned)(b >> 48),
                   (unsigned long long)(b & 0xffffffffffff));
    put_text(rows, TC_REQUEST_REQUEST_ID, text);
    (void)snprintf(text, sizeof text, "%016llx%016llx", (unsigned long long)random_word(m),
                   (unsigned long long)random_word(m));
    put_text(rows, TC_REQUEST_TRACE_ID, text);
    name_point(text, sizeof text, point);
    put_text(rows, TC_REQUEST_WORKLOAD_POINT, text);
    (void)snprintf(text, sizeof text, "vllm-decode-%02zu", pod);
    put_text(rows, TC_REQUEST_POD_NAME, text);
    (void)snprintf(text, sizeof text, "6f1c2d3e-0000-4000-8000-0000000000%02zx", pod);
    put_text(rows, TC_REQUEST_POD_UID, text);
    (void)snprintf(text, sizeof text, "gpu-node-%02zu", pod);
    put_text(rows, TC_REQUEST_NODE, text);
    put_text(rows, TC_REQUEST_TOOL, "aiperf-requests");
    (void)snprintf(text, sizeof text, "sha256:%064zx", run * POINTS + point);
    put_text(rows, TC_REQUEST_SOURCE_DIGEST, text);
    (void)snprintf(text, sizeof text, "line:%zu", m->next % m->per_point + 1);
    put_text(rows, TC_REQUEST_SOURCE_POINTER, text);
}

static void put_row(struct tc_rows *rows, struct maker *m)
{
    size_t at = m->next / m->per_point;
    size_t point = at % POINTS;
    bool failed = random_word(m) % 500 == 0;
    (void)tc_rows_add(rows);
    put_names(rows, m, at / POINTS % RUNS, point);
    double out = floor(32 + 224 * random_part(m));
    double ttft = latency_ms(m, 40 + 30 * (double)point);
    double tpot = latency_ms(m, 12);
    double e2e = nearbyint((ttft + tpot * (out - 1)) * 1000) / 1000;
    int64_t end_us = m->now_us += (int64_t)(random_word(m) % 400);
    int64_t start_us = end_us - (int64_t)nearbyint(e2e * 1000);
    tc_rows_int(rows, TC_REQUEST_STARTED, start_us);
    tc_rows_int(rows, TC_REQUEST_ENDED, end_us);
    tc_rows_real(rows, TC_REQUEST_CONCURRENCY, 512);
    put_text(rows, TC_REQUEST_STATUS, failed ? "error" : "ok");
    if (failed) {
        put_text(rows, TC_REQUEST_ERROR, "Timeout on reading data from socket");
    } else {
        tc_rows_int(rows, TC_REQUEST_FIRST_TOKEN, start_us + (int64_t)nearbyint(ttft * 1000));
        tc_rows_real(rows, TC_REQUEST_QUEUE, latency_ms(m, 4));
        tc_rows_real(rows, TC_REQUEST_TTFT, ttft);
        tc_rows_real(rows, TC_REQUEST_TPOT, tpot);
        tc_rows_real(rows, TC_REQUEST_E2E, e2e);
        tc_rows_int(rows, TC_REQUEST_OUTPUT_TOKENS, (int64_t)out);
    }
    tc_rows_int(rows, TC_REQUEST_INPUT_TOKENS,
                (int64_t)(((size_t)128 << point) + random_word(m) % 64));
    m->next++;
}

static size_t make_rows(void *context, struct tc_rows *rows, size_t left)
{
    struct maker *m = context;
    m->made = left < BATCH ? left : BATCH;
    for (size_t i = 0; i < m->made; i++) {
        put_row(rows, m);
    }
    return m->made;
}

/* One transaction for a run. */
static bool run_ends(void *context)
{
    const struct maker *m = context;
    size_t per_run = m->per_point * POINTS;
    return (m->next - m->made) / per_run != m->next / per_run;
}

static struct spent load(const char *dir, size_t count)
{
    struct maker m = {.state = UINT64_C(0x9e3779b97f4a7c15),
                      .now_us = START_US,
                      .per_point = count / (RUNS * POINTS) + 1};
    const struct feed feed = {
        .table = TC_TABLE_REQUEST, .context = &m, .make = make_rows, .ends = run_ends};
    return load_rows(dir, &feed, count);
}

#define OF_POINT " WHERE run_id = ? AND workload_point = ?"

static void ask_all(const char *dir, bool gate)
{
    char run[32];
    char point[64];
    name_run(run, sizeof run, 1);
    name_point(point, sizeof point, 3);
    const struct question questions[] = {
        {"the hundred slowest requests of a point",
         "SELECT request_id, trace_id, node_name, pod_name, started_at, ttft_ms, e2e_ms "
         "FROM serving_request_fact" OF_POINT " ORDER BY e2e_ms DESC LIMIT 100",
         2,
         {text(run), text(point)}},
        {"the slowest nodes of a point",
         "SELECT node_name, count(*) AS requests, quantile_cont(ttft_ms, 0.99) AS ttft_p99 FROM "
         "serving_request_fact" OF_POINT " GROUP BY node_name ORDER BY ttft_p99 DESC LIMIT 10",
         2,
         {text(run), text(point)}},
        {"how many requests each run has",
         "SELECT run_id, count(*) AS requests, count(error) AS failed FROM serving_request_fact "
         "GROUP BY run_id ORDER BY run_id",
         0,
         {{0}}},
    };
    struct tc_warehouse *w = open_in(dir, TC_WAREHOUSE_READ);
    for (size_t i = 0; i < TC_COUNT(questions); i++) {
        ask(w, &questions[i], gate && i == 0);
    }
    tc_warehouse_close(w);
}

int main(int argc, char **argv)
{
    char dir[400] = "/tmp/tc_bench_XXXXXX";
    char base[500];
    size_t count = read_options(argc, argv, dir, sizeof dir);
    if (mkdtemp(dir) == NULL) {
        die(dir, "cannot be made");
    }
    (void)snprintf(base, sizeof base, "%s/requests", dir);
    bool gate = count >= ROWS_DEFAULT;
    struct spent took = load(base, count);
    uint64_t bytes = file_bytes(base);
    say_load("requests", count, took, bytes);
    ask_all(base, gate);
    if (gate) {
        judge_load(count, took, bytes);
    }
    remove_folder(dir);
    return status;
}
