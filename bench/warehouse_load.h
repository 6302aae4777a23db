/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmarks of the warehouse share: limits, times, questions, options. */
#ifndef TC_BENCH_WAREHOUSE_LOAD_H
#define TC_BENCH_WAREHOUSE_LOAD_H

#include "bench_common.h"

#include "warehouse/duckdb/duckdb_priv.h"

#define ROWS_DEFAULT 10000000
#define REPEATS 20

/* The limits, for 10 million rows on two cores. */
#define LIMIT_ROWS_PER_S 500000.0
#define LIMIT_BYTES_PER_ROW 48.0
#define LIMIT_QUERY_MS 100.0 /* at the median: the longest of twenty is often a neighbour's */

#define LIMIT_REMOTE_MS 200.0 /* of ClickHouse, over loopback */

static uint64_t file_bytes(const char *dir)
{
    char path[600];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/" TC__DUCKDB_FILE, dir);
    if (stat(path, &st) != 0) {
        die(path, "is not there");
    }
    return (uint64_t)st.st_size;
}

/* ---- loading ---- */

#define BATCH TC_ROWS_MAX

/* Where the rows of a table come from. */
struct feed {
    enum tc_table table;
    void *context;
    /* The next rows, at most `left` and a batch; how many. Outside of the time that is taken. */
    size_t (*make)(void *context, struct tc_rows *rows, size_t left);
    /* Puts them into rows, within that time. NULL: make has. */
    void (*put)(void *context, struct tc_rows *rows);
    /* Whether a transaction ends behind what was made. */
    bool (*ends)(void *context);
};

static void put_text(struct tc_rows *rows, size_t column, const char *text)
{
    if (tc_rows_text(rows, column, tc_slice_cstr(text)) != TC_OK) {
        die("rows", "no room for text");
    }
}

/* What it took to load and to make durable. */
static struct spent load_rows(const char *dir, const struct feed *feed, size_t count)
{
    struct tc_error err;
    struct tc_rows *rows = tc_rows_create(feed->table);
    struct tc_warehouse *w = open_in(dir, TC_WAREHOUSE_WRITE);
    struct spent took = {0, 0};
    if (rows == NULL) {
        die("rows", "no memory");
    }
    must(tc_warehouse_begin(w, &err), "begin", &err);
    for (size_t done = 0; done < count;) {
        tc_rows_reset(rows);
        done += feed->make(feed->context, rows, count - done);
        struct spent begin = spent_now();
        if (feed->put != NULL) {
            feed->put(feed->context, rows);
        }
        must(tc_warehouse_append(w, feed->table, rows, &err), "append", &err);
        if (feed->ends(feed->context)) {
            must(tc_warehouse_commit(w, &err), "commit", &err);
            must(tc_warehouse_begin(w, &err), "begin", &err);
        }
        add_since(&took, begin);
    }
    struct spent begin = spent_now();
    must(tc_warehouse_commit(w, &err), "commit", &err);
    tc_warehouse_close(w); /* and a checkpoint */
    add_since(&took, begin);
    tc_rows_destroy(rows);
    return took;
}

/* ---- questions ---- */

static tc_status count_rows(void *context, const struct tc_rows *rows)
{
    size_t *count = context;
    *count += rows->count;
    return TC_OK;
}

struct question {
    const char *name;
    const char *sql;
    size_t bind_count;
    struct tc_bind binds[5];
};

/* What one question took, REPEATS times. */
static void say_times(const char *name, size_t rows, int64_t took_ns[REPEATS], struct spent spent,
                      bool gate)
{
    qsort(took_ns, REPEATS, sizeof took_ns[0], compare_ns);
    double p50 = (double)took_ns[REPEATS / 2] / 1e6;
    double max = (double)took_ns[REPEATS - 1] / 1e6;
    double cpu = (double)spent.cpu_ns / REPEATS / 1e6;
    if (as_json) {
        printf("{\"bench\":\"warehouse\",\"query\":\"%s\",\"rows\":%zu,\"p50_ms\":%.1f,"
               "\"max_ms\":%.1f,\"cpu_ms\":%.1f}\n",
               name, rows, p50, max, cpu);
    } else {
        printf("  %-44s %6zu rows   p50 %6.1f ms   max %6.1f ms   processor %6.1f ms\n", name, rows,
               p50, max, cpu);
    }
    double limit = warehouse_url == NULL ? LIMIT_QUERY_MS : LIMIT_REMOTE_MS;
    if (gate && p50 > limit) {
        breach(name, p50, limit, "ms at the median");
    }
}

static void ask(struct tc_warehouse *w, const struct question *q, bool gate)
{
    int64_t took_ns[REPEATS];
    struct spent spent = {0, 0};
    struct tc_error err;
    size_t rows = 0;
    struct tc_query query = {
        .sql = tc_slice_cstr(q->sql), .binds = q->binds, .bind_count = q->bind_count};
    for (int i = 0; i < REPEATS; i++) {
        struct spent begin = spent_now();
        rows = 0;
        must(tc_warehouse_query(w, &query, count_rows, &rows, NULL, &err), q->name, &err);
        took_ns[i] = tc_mono_ns() - begin.wall_ns;
        add_since(&spent, begin);
    }
    say_times(q->name, rows, took_ns, spent, gate);
}

static struct tc_bind text(const char *s)
{
    return (struct tc_bind){.type = TC_COLUMN_TEXT, .as.text = tc_slice_cstr(s)};
}

static void say_load(const char *how, size_t count, struct spent took, uint64_t bytes)
{
    double seconds = (double)took.wall_ns / 1e9;
    double cpu_us = (double)took.cpu_ns / 1e3 / (double)count;
    if (as_json) {
        printf(
            "{\"bench\":\"warehouse\",\"how\":\"%s\",\"rows\":%zu,\"seconds\":%.2f,"
            "\"rows_per_s\":%.0f,\"cpu_us_per_row\":%.2f,\"bytes\":%llu,\"bytes_per_row\":%.1f}\n",
            how, count, seconds, (double)count / seconds, cpu_us, (unsigned long long)bytes,
            (double)bytes / (double)count);
    } else {
        printf("%-12s %zu rows in %.1f s: %.0f rows/s, %.2f us of processor and %.1f bytes on disk "
               "a row\n",
               how, count, seconds, (double)count / seconds, cpu_us, (double)bytes / (double)count);
    }
    (void)fflush(stdout);
}

/* What --keep names: a folder that stays, whose rows are loaded once. */
static const char *keep = NULL;

static size_t read_options(int argc, char **argv, char *dir, size_t size)
{
    static const struct option options[] = {{"rows", required_argument, NULL, 'r'},
                                            {"dir", required_argument, NULL, 'd'},
                                            {"keep", required_argument, NULL, 'k'},
                                            {"clickhouse", required_argument, NULL, 'c'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    uint64_t rows = ROWS_DEFAULT;
    int option = 0;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'r' && tc_slice_is_u64(tc_slice_cstr(optarg), &rows) && rows > 0) {
            continue;
        }
        if (option == 'd') {
            (void)snprintf(dir, size, "%s/tc_bench_XXXXXX", optarg);
        } else if (option == 'k') {
            keep = optarg;
        } else if (option == 'c') {
            warehouse_url = optarg;
        } else if (option == 'j') {
            as_json = true;
        } else {
            (void)fprintf(
                option == 'h' ? stdout : stderr,
                "usage: %s [--rows N] [--dir DIR] [--keep DIR] [--clickhouse URL] [--json]\n",
                argv[0]);
            exit(option == 'h' ? 0 : 2);
        }
    }
    return (size_t)rows;
}

/* After a load and its questions. */
static void judge_load(size_t count, struct spent took, uint64_t bytes)
{
    double rate = (double)count / ((double)took.wall_ns / 1e9);
    double per_row = (double)bytes / (double)count;
    if (rate < LIMIT_ROWS_PER_S) {
        breach("rows a second", rate, LIMIT_ROWS_PER_S, "rows/s");
    }
    if (per_row > LIMIT_BYTES_PER_ROW) {
        breach("bytes on disk", per_row, LIMIT_BYTES_PER_ROW, "bytes per row");
    }
}

#endif
