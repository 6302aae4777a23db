/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmarks that have programs of their own share: times, failures, a folder. */
#ifndef TC_BENCH_COMMON_H
#define TC_BENCH_COMMON_H

#include "base/clock.h"
#include "base/time.h"
#include "warehouse/warehouse.h"

#include <ftw.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool as_json;
static int status;

/* Wall and processor time. The machine may be busy with other things: the second says so. */
struct spent {
    int64_t wall_ns;
    int64_t cpu_ns; /* of all threads */
};

static struct spent spent_now(void)
{
    struct timespec cpu;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return (struct spent){tc_mono_ns(), cpu.tv_sec * TC_SECOND + cpu.tv_nsec};
}

static void add_since(struct spent *sum, struct spent begin)
{
    struct spent now = spent_now();
    sum->wall_ns += now.wall_ns - begin.wall_ns;
    sum->cpu_ns += now.cpu_ns - begin.cpu_ns;
}

static void die(const char *what, const char *why)
{
    (void)fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(2);
}

static void must(tc_status result, const char *what, const struct tc_error *err)
{
    if (result != TC_OK) {
        die(what, err->message);
    }
}

static void breach(const char *what, double value, double limit, const char *unit)
{
    (void)fprintf(stderr, "BREACH %s: %.1f %s, the limit is %.1f\n", what, value, unit, limit);
    status = 1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)ftw;
    return type == FTW_DP ? rmdir(path) : unlink(path);
}

static void remove_folder(const char *dir)
{
    (void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* NULL: in a folder. */
static const char *warehouse_url = NULL;

static struct tc_warehouse *open_in(const char *dir, enum tc_warehouse_mode mode)
{
    struct tc_warehouse_config config = {
        .data_dir = dir, .url = warehouse_url, .mode = mode, .own = true};
    struct tc_warehouse *w = NULL;
    struct tc_error err;
    must(tc_warehouse_open(&config, &w, &err), "open", &err);
    return w;
}

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

#endif
