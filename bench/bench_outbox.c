/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a verdict takes from tc_outbox_put to its line in the file, on the disk of a directory:
 *
 *   bench_outbox [DIR [COUNT [PER_SECOND [BYTES]]]]
 *
 * One JSON line, with the syncs of the log beside it: they are most of the time.
 */
#include "base/clock.h"
#include "outbox/outbox.h"

#include <ftw.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COUNT_MAX 100000
#define LINE_MAX_BYTES ((size_t)256 << 10)

static int64_t put_ns[COUNT_MAX];
static int64_t took_ns[COUNT_MAX];
static int64_t sync_ns[2 * COUNT_MAX];
static atomic_size_t lines;
static size_t syncs;

/* The writer's thread: when lines are in the file. */
static ssize_t timed_write(int fd, const void *data, size_t len)
{
    ssize_t n = write(fd, data, len);
    int64_t now_ns = tc_mono_ns();
    const char *at = data;
    size_t line = lines;
    for (ssize_t i = 0; i < n; i++) {
        if (at[i] == '\n' && line < COUNT_MAX) {
            took_ns[line] = now_ns - put_ns[line];
            line++;
        }
    }
    lines = line;
    return n;
}

static int timed_sync(int fd)
{
    int64_t begin_ns = tc_mono_ns();
    int result = fdatasync(fd);
    if (syncs < 2 * COUNT_MAX) {
        sync_ns[syncs++] = tc_mono_ns() - begin_ns;
    }
    return result;
}

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    return *x < *y ? -1 : *x > *y;
}

static long part(const int64_t *sorted, size_t count, size_t percent)
{
    return count == 0 ? 0 : (long)(sorted[(count - 1) * percent / 100] / 1000);
}

static int take_away(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static tc_status ignore_mark(void *context, const struct tc_incident_mark *mark)
{
    (void)context;
    (void)mark;
    return TC_OK;
}

static size_t number_of(int argc, char **argv, int i, size_t fallback, size_t max)
{
    uint64_t value = 0;
    if (argc <= i || !tc_slice_is_u64(tc_slice_cstr(argv[i]), &value) || value == 0) {
        return fallback;
    }
    return value > max ? max : (size_t)value;
}

int main(int argc, char **argv)
{
    char folder[512];
    char dir[600];
    char file[600];
    (void)snprintf(folder, sizeof folder, "%s/tc_bench_XXXXXX", argc > 1 ? argv[1] : "/tmp");
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        return 2;
    }
    (void)snprintf(dir, sizeof dir, "%s/outbox", folder);
    (void)snprintf(file, sizeof file, "%s/verdicts.ndjson", folder);
    size_t count = number_of(argc, argv, 2, 1000, COUNT_MAX);
    size_t rate = number_of(argc, argv, 3, 200, 1000000);
    size_t bytes = number_of(argc, argv, 4, 3000, LINE_MAX_BYTES);
    struct tc_outbox_config config = {
        .dir = dir, .file_path = file, .io = {.write = timed_write, .sync = timed_sync}};
    struct tc_outbox *o = NULL;
    struct tc_error err = {0};
    if (tc_outbox_open(&config, ignore_mark, NULL, &o, &err) != TC_OK ||
        tc_outbox_start(o, &err) != TC_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        return 2;
    }
    static char line[LINE_MAX_BYTES];
    memset(line, 'x', bytes);
    (void)usleep(100000);
    int64_t begin_ns = tc_mono_ns();
    for (size_t i = 0; i < count; i++) {
        int64_t due_ns = begin_ns + (int64_t)i * TC_SECOND / (int64_t)rate;
        int64_t left_ns = due_ns - tc_mono_ns();
        if (left_ns > 0) {
            (void)usleep((useconds_t)(left_ns / 1000));
        }
        char id[33];
        (void)snprintf(id, sizeof id, "%032zx", i / 3);
        struct tc_incident_mark mark = {
            .pattern_id = TC_LIT("1"), .key = TC_LIT("k"), .incident_id = tc_slice_cstr(id)};
        put_ns[i] = tc_mono_ns();
        if (tc_outbox_put(o, &mark, tc_slice_make(line, bytes), 0) != TC_OK) {
            return 2;
        }
    }
    tc_outbox_close(o, 60 * TC_SECOND);
    size_t done = lines;
    qsort(took_ns, done, sizeof *took_ns, by_value);
    qsort(sync_ns, syncs, sizeof *sync_ns, by_value);
    (void)printf(
        "{\"case\":\"outbox_put_to_line\",\"verdicts\":%zu,\"per_second\":%zu,\"bytes\":%zu,"
        "\"p50_us\":%ld,\"p99_us\":%ld,\"max_us\":%ld,\"sync_p50_us\":%ld,"
        "\"sync_p99_us\":%ld,\"sync_max_us\":%ld}\n",
        done, rate, bytes, part(took_ns, done, 50), part(took_ns, done, 99),
        part(took_ns, done, 100), part(sync_ns, syncs, 50), part(sync_ns, syncs, 99),
        part(sync_ns, syncs, 100));
    return nftw(folder, take_away, 8, FTW_DEPTH | FTW_PHYS) == 0 && done == count ? 0 : 2;
}
