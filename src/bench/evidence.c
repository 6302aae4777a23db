/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The raw store: batches of 1,024 log records appended and committed, and sealed, by compression
 * level, beside the same bytes through plain write and fdatasync.
 */
#include "base/clock.h"
#include "base/time.h"
#include "bench/alloc_count.h"
#include "bench/bench.h"
#include "cli/output/say.h"
#include "evidence/store.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RECORDS 1024
#define BODIES 16
#define BODY_MAX ((size_t)RECORDS * 320)
#define BATCHES 1024
#define GROUP 8
#define WARM 64 /* batches that are not measured */

struct bodies {
    char bytes[BODIES][BODY_MAX];
    size_t len[BODIES];
};

struct times {
    int64_t wall_ns;
    int64_t cpu_ns;
    int64_t best_ns; /* of a group, of the processor: what it takes when nobody disturbs */
};

static struct times now(void)
{
    return (struct times){tc_mono_ns(), tc_clock_ns(CLOCK_THREAD_CPUTIME_ID), INT64_MAX};
}

static struct times since(struct times start)
{
    struct times end = now();
    return (struct times){end.wall_ns - start.wall_ns, end.cpu_ns - start.cpu_ns, start.best_ns};
}

/* A group ended: *io_last is when the one before did. */
static void end_group(struct times *t, struct times *io_last)
{
    struct times end = now();
    int64_t cpu_ns = end.cpu_ns - io_last->cpu_ns;
    t->best_ns = cpu_ns < t->best_ns ? cpu_ns : t->best_ns;
    *io_last = end;
}

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A protobuf field of text. */
static size_t put_text(char *out, char tag, const char *text, size_t len)
{
    out[0] = tag;
    out[1] = (char)len;
    memcpy(out + 2, text, len);
    return len + 2;
}

/* One log record as agents send them: times that grow, a message, attributes that vary. */
static size_t put_record(char *out, uint64_t n, uint64_t *state)
{
    static const char *const messages[] = {
        "NVRM: Xid (PCI:0000:%02llx:00): 79, pid=%llu, GPU has fallen off the bus.",
        "step %llu: loss=2.%llu lr=0.0003 grad_norm=0.91 tokens/s=41822",
        "NCCL INFO Channel %02llu/0 : %llu[7] -> 12[0] [send] via NET/IB/3/GDRDMA",
        "kernel: nvidia-nvswitch%llu: link %llu retrained, lane 3 recovered",
    };
    char text[120];
    char uuid[48];
    uint64_t r = random_next(state);
    uint64_t time_ns = UINT64_C(1762000000000000000) + n * 1000000 + r % 1000000;
    size_t len = 0;
    out[len++] = '\x09';
    memcpy(out + len, &time_ns, sizeof time_ns);
    len += sizeof time_ns;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int text_len = snprintf(text, sizeof text, messages[r % 4], (unsigned long long)(r >> 8) % 64,
                            (unsigned long long)(r >> 20) % 100000);
#pragma GCC diagnostic pop
    len += put_text(out + len, '\x2a', text, (size_t)text_len);
    len += put_text(out + len, '\x0a', "gpu.uuid", 8);
    int uuid_len = snprintf(uuid, sizeof uuid, "GPU-6f1b2c3d-%04llx-%04llx-%012llx",
                            (unsigned long long)(r >> 40) % 64, (unsigned long long)(r >> 46) % 8,
                            (unsigned long long)((r >> 40) % 512 * 0x9e3779b97f4a7) >> 4);
    len += put_text(out + len, '\x12', uuid, (size_t)uuid_len);
    len += put_text(out + len, '\x0a', "k8s.pod.name", 12);
    len += put_text(out + len, '\x12', "llm-pretrain-worker-417-x7k2p", 29);
    len += put_text(out + len, '\x0a', "job.id", 6);
    len += put_text(out + len, '\x12', "slurm-884213", 12);
    len += put_text(out + len, '\x1a', "ERROR", 5);
    len += put_text(out + len, '\x0a', "gpu.index", 9);
    out[len++] = (char)(r >> 40) % 8;
    len += put_text(out + len, '\x0a', "rank", 4);
    out[len++] = (char)(r >> 52);
    return len;
}

static void fill(struct bodies *b)
{
    uint64_t state = UINT64_C(0x2545f4914f6cdd1d);
    for (size_t i = 0; i < BODIES; i++) {
        b->len[i] = 0;
        for (size_t k = 0; k < RECORDS; k++) {
            b->len[i] += put_record(b->bytes[i] + b->len[i], i * RECORDS + k, &state);
        }
    }
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)ftw;
    return type == FTW_DP ? rmdir(path) : unlink(path);
}

static void say_result(struct tc_output *out, const char *how, struct times t, uint64_t bytes,
                       uint64_t disk, uint64_t allocs)
{
    char line[512];
    double seconds = (double)t.wall_ns / 1e9;
    double records = (double)BATCHES * RECORDS;
    int len = snprintf(line, sizeof line,
                       "{\"bench\":\"evidence\",%s,\"batches\":%d,\"records\":%.0f,\"group\":%d,"
                       "\"bytes\":%llu,\"mb_per_s\":%.1f,\"records_per_s\":%.0f,"
                       "\"cpu_ns_per_record\":%.1f,\"best_cpu_ns_per_record\":%.1f,"
                       "\"ratio\":%.2f,\"allocs_per_batch\":%.3f}\n",
                       how, BATCHES, records, GROUP, (unsigned long long)bytes,
                       (double)bytes / 1e6 / seconds, records / seconds, (double)t.cpu_ns / records,
                       (double)t.best_ns / (GROUP * RECORDS), (double)bytes / (double)disk,
                       (double)allocs / BATCHES);
    (void)tc_output_put(out, tc_slice_make(line, (size_t)len));
}

static bool store_batches(struct tc_store *s, const struct bodies *b, size_t from, size_t to,
                          uint64_t *out_bytes, struct times *start, struct tc_error *err)
{
    struct times last = *start;
    for (size_t i = from; i < to; i++) {
        struct tc_batch batch = {
            .number = tc_store_next_number(s),
            .arrival_ns = (int64_t)i * TC_SECOND / 1000,
            .kind = TC_BATCH_LOGS_PROTOBUF,
            .body = tc_slice_make(b->bytes[i % BODIES], b->len[i % BODIES]),
        };
        *out_bytes += batch.body.len;
        if (tc_store_append(s, &batch, err) != TC_OK ||
            ((i + 1) % GROUP == 0 && tc_store_commit(s, err) != TC_OK)) {
            return false;
        }
        if ((i + 1) % GROUP == 0) {
            end_group(start, &last);
        }
    }
    return true;
}

/* What who appends pays. */
static bool run_store(const char *dir, const struct bodies *b, struct tc_output *out)
{
    struct tc_store_config config = {.segment_bytes = (size_t)64 << 20,
                                     .segment_ns = 3600 * TC_SECOND,
                                     .compression = TC_STORE_COMPRESSION_DEFAULT,
                                     .seals_apart = true};
    struct tc_store *s = NULL;
    struct tc_error err;
    struct tc_store_stats before;
    struct tc_store_stats after;
    uint64_t bytes = 0;
    struct times start = now();
    if (tc_store_open(dir, &config, NULL, NULL, &s, &err) != TC_OK ||
        !store_batches(s, b, 0, WARM, &bytes, &start, &err)) {
        tc_say("tracecore-bench", "evidence: %s", err.message);
        tc_store_close(s);
        return false;
    }
    tc_store_stats(s, &before);
    uint64_t allocs = tc_alloc_count_now().calls;
    start = now();
    bytes = 0;
    bool fine = store_batches(s, b, WARM, WARM + BATCHES, &bytes, &start, &err);
    struct times t = since(start);
    allocs = tc_alloc_count_now().calls - allocs;
    tc_store_stats(s, &after);
    tc_store_close(s);
    if (!fine) {
        tc_say("tracecore-bench", "evidence: %s", err.message);
        return false;
    }
    say_result(out, "\"how\":\"store\",\"level\":null", t, bytes,
               after.bytes_out - before.bytes_out, allocs);
    return true;
}

/* What is paid later: one segment of all batches, compressed anew and sealed. */
static bool run_seal(const char *dir, const struct bodies *b, int level, struct tc_output *out)
{
    struct tc_store_config config = {.segment_bytes = (size_t)1 << 30,
                                     .segment_ns = (BATCHES - 1) * (TC_SECOND / 1000),
                                     .compression = level,
                                     .seals_apart = true};
    struct tc_store_pause never = {0};
    struct tc_store *s = NULL;
    struct tc_error err;
    struct tc_store_stats stats;
    struct times start = now();
    uint64_t bytes = 0;
    char path[300];
    char how[64];
    bool sealed = false;
    (void)snprintf(path, sizeof path, "%s/seal%d", dir, level);
    bool fine = tc_store_open(path, &config, NULL, NULL, &s, &err) == TC_OK &&
                store_batches(s, b, 0, BATCHES, &bytes, &start, &err);
    uint64_t allocs = tc_alloc_count_now().calls;
    start = now();
    fine = fine && tc_store_seal(s, &never, &sealed, &err) == TC_OK;
    struct times t = since(start);
    t.best_ns = t.cpu_ns / (BATCHES / GROUP);
    allocs = tc_alloc_count_now().calls - allocs;
    if (fine) {
        tc_store_stats(s, &stats);
        (void)snprintf(how, sizeof how, "\"how\":\"seal\",\"level\":%d", level);
        say_result(out, how, t, bytes, stats.object_bytes, allocs);
    } else {
        tc_say("tracecore-bench", "evidence: %s", err.message);
    }
    tc_store_close(s);
    return fine;
}

/* What the disk does with the same bytes when nobody compresses, checks or orders them. */
static bool run_plain(const char *dir, const struct bodies *b, struct tc_output *out)
{
    char path[300];
    uint64_t bytes = 0;
    (void)snprintf(path, sizeof path, "%s/plain", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool fine = fd >= 0;
    struct times start = now();
    struct times last = start;
    for (size_t i = 0; i < BATCHES && fine; i++) {
        size_t len = b->len[i % BODIES];
        fine = write(fd, b->bytes[i % BODIES], len) == (ssize_t)len &&
               ((i + 1) % GROUP != 0 || fdatasync(fd) == 0);
        bytes += len;
        if ((i + 1) % GROUP == 0) {
            end_group(&start, &last);
        }
    }
    struct times t = since(start);
    if (fd >= 0) {
        (void)close(fd);
    }
    if (!fine) {
        tc_say("tracecore-bench", "evidence: cannot write %s", path);
        return false;
    }
    say_result(out, "\"how\":\"plain\",\"level\":null", t, bytes, bytes, 0);
    return true;
}

bool tc_bench_evidence(const struct tc_bench *b, const struct tc_bench_options *o,
                       struct tc_output *out)
{
    static const int levels[] = {-7, -2, TC_STORE_COMPRESSION_DEFAULT, 3};
    char dir[256];
    const char *tmp = getenv("TMPDIR");
    (void)b;
    (void)o;
    struct bodies *bodies = malloc(sizeof *bodies);
    (void)snprintf(dir, sizeof dir, "%.200s/tracecore-bench-XXXXXX", tmp == NULL ? "/tmp" : tmp);
    if (bodies == NULL || mkdtemp(dir) == NULL) {
        free(bodies);
        tc_say("tracecore-bench", "evidence: cannot make a directory in %s",
               tmp == NULL ? "/tmp" : tmp);
        return false;
    }
    fill(bodies);
    bool fine = run_plain(dir, bodies, out) && run_store(dir, bodies, out);
    for (size_t i = 0; i < TC_COUNT(levels) && fine; i++) {
        fine = run_seal(dir, bodies, levels[i], out);
    }
    (void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(bodies);
    return fine;
}
