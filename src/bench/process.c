/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Benchmarks of the shipped program as its users start it: a child process, timed from outside. It
 * is the tracecore in the folder of this program, which has no allocation counter in front of it.
 */
#include "base/clock.h"
#include "base/os/io.h"
#include "bench/bench.h"
#include "cli/say.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define STARTS 101
#define LOG_RUNS 5
#define LOG_XIDS 8

/* The path of the tracecore beside this program; false when it does not fit. */
static bool find_shipped(char *out, size_t size)
{
    ssize_t len = readlink("/proc/self/exe", out, size);
    const char *slash = len > 0 && (size_t)len < size ? memrchr(out, '/', (size_t)len) : NULL;
    size_t folder_len = slash == NULL ? 0 : (size_t)(slash - out) + 1;
    if (folder_len == 0 || folder_len + sizeof "tracecore" > size) {
        return false;
    }
    memcpy(out + folder_len, "tracecore", sizeof "tracecore");
    return true;
}

/* Runs tracecore with the arguments, output thrown away. False when it could not. */
static bool run_shipped(char *const *argv, int64_t *out_ns, long *out_rss_kb, int *out_status)
{
    char program[PATH_MAX];
    if (!find_shipped(program, sizeof program)) {
        return false;
    }
    int64_t start = tc_mono_ns();
    pid_t child = fork();
    if (child < 0) {
        return false;
    }
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0) {
            _exit(127);
        }
        (void)execv(program, argv);
        _exit(127);
    }
    int status = 0;
    struct rusage usage;
    while (wait4(child, &status, 0, &usage) < 0) {
        if (errno != EINTR) {
            return false;
        }
    }
    *out_ns = tc_mono_ns() - start;
    *out_rss_kb = usage.ru_maxrss;
    *out_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return true;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static bool say_line(struct tc_output *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool say_line(struct tc_output *out, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return len > 0 && (size_t)len < sizeof text &&
           tc_output_put(out, tc_slice_make(text, (size_t)len));
}

bool tc_bench_startup(const struct tc_bench *b, const struct tc_bench_options *o,
                      struct tc_output *out)
{
    (void)b;
    (void)o;
    char name[] = "tracecore";
    char version[] = "--version";
    char *argv[] = {name, version, NULL};
    int64_t times[STARTS];
    for (size_t i = 0; i < STARTS; i++) {
        long rss_kb = 0;
        int status = 0;
        if (!run_shipped(argv, &times[i], &rss_kb, &status) || status != 0) {
            tc_say("tracecore-bench", "startup: cannot run the tracecore beside this program");
            return false;
        }
    }
    qsort(times, STARTS, sizeof times[0], compare);
    const int64_t *median = &times[STARTS / 2];
    return say_line(out,
                    "{\"bench\":\"startup\",\"runs\":%d,\"min_ms\":%.3f,\"median_ms\":%.3f,"
                    "\"max_ms\":%.3f}\n",
                    STARTS, (double)times[0] / 1e6, (double)*median / 1e6,
                    (double)times[STARTS - 1] / 1e6);
}

/* One block of ordinary kernel lines, a little different each time. */
static size_t fill_block(char *block, size_t size, uint64_t *io_uptime_us)
{
    static const char *const lines[] = {
        "IPv6: ADDRCONF(NETDEV_CHANGE): cali%llu: link becomes ready",
        "audit: type=1400 audit(1731700000.%llu:1234): apparmor=\"ALLOWED\" operation=\"open\"",
        "docker0: port %llu(veth0a1b2c3) entered blocking state",
        "nvidia-nvswitch2: open (major=%llu)",
        "TCP: request_sock_TCP: Possible SYN flooding on port %llu. Sending cookies.",
        "systemd[1]: Started Session %llu of user root.",
        "perf: interrupt took too long (%llu > 2500), lowering kernel.perf_event_max_sample_rate",
    };
    size_t len = 0;
    for (size_t i = 0; len + 256 < size; i++) {
        int n = snprintf(block + len, size - len, "[%llu.%06llu] ",
                         (unsigned long long)(*io_uptime_us / 1000000),
                         (unsigned long long)(*io_uptime_us % 1000000));
        len += (size_t)n;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        n = snprintf(block + len, size - len, lines[i % 7], (unsigned long long)i);
#pragma GCC diagnostic pop
        len += (size_t)n;
        block[len++] = '\n';
        *io_uptime_us += 1371;
    }
    return len;
}

static bool write_log(int fd, uint64_t bytes)
{
    static char block[1 << 20];
    uint64_t uptime_us = 1000000;
    uint64_t written = 0;
    uint64_t next_xid = bytes / LOG_XIDS / 2;
    while (written < bytes) {
        size_t len = fill_block(block, sizeof block, &uptime_us);
        if (written >= next_xid) {
            len += (size_t)snprintf(block + len, sizeof block - len,
                                    "[%llu.000001] NVRM: Xid (PCI:0000:b3:00): 79, "
                                    "GPU has fallen off the bus.\n",
                                    (unsigned long long)(uptime_us / 1000000));
            next_xid += bytes / LOG_XIDS;
        }
        if (!tc_io_write(fd, tc_slice_make(block, len))) {
            return false;
        }
        written += len;
    }
    return true;
}

static bool time_log(char *path, uint64_t bytes, struct tc_output *out)
{
    char name[] = "tracecore";
    char detect[] = "detect";
    char boot[] = "--boot-time=2026-11-01T00:00:00Z";
    char *argv[] = {name, detect, boot, path, NULL};
    int64_t times[LOG_RUNS];
    long rss_kb = 0;
    for (size_t i = 0; i < LOG_RUNS; i++) { /* the first run also brings it into the cache */
        int status = 0;
        if (!run_shipped(argv, &times[i], &rss_kb, &status) || status != 0) {
            tc_say("tracecore-bench", "kernel_log: detect ended with %d", status);
            return false;
        }
    }
    qsort(times, LOG_RUNS, sizeof times[0], compare);
    const int64_t *median = &times[LOG_RUNS / 2];
    return say_line(out,
                    "{\"bench\":\"kernel_log\",\"bytes\":%llu,\"runs\":%d,\"best_gb_per_s\":"
                    "%.3f,\"median_gb_per_s\":%.3f}\n",
                    (unsigned long long)bytes, LOG_RUNS, (double)bytes / (double)times[0],
                    (double)bytes / (double)*median);
}

bool tc_bench_kernel_log(const struct tc_bench *b, const struct tc_bench_options *o,
                         struct tc_output *out)
{
    (void)b;
    const char *folder = getenv("TMPDIR");
    char path[512];
    int len =
        snprintf(path, sizeof path, "%s/tracecore-bench-XXXXXX", folder == NULL ? "/tmp" : folder);
    int fd = len > 0 && (size_t)len < sizeof path ? mkstemp(path) : -1;
    if (fd < 0) {
        tc_say("tracecore-bench", "kernel_log: cannot make a file in %s: %s (set TMPDIR)",
               folder == NULL ? "/tmp" : folder, strerror(errno));
        return false;
    }
    bool ok = write_log(fd, o->log_bytes);
    if (!ok) {
        tc_say("tracecore-bench", "kernel_log: cannot write %s: %s", path, strerror(errno));
    }
    (void)close(fd);
    ok = ok && time_log(path, o->log_bytes, out);
    (void)unlink(path);
    return ok;
}
