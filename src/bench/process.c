/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Benchmarks of the shipped program as its users start it: a child process, timed from outside. It
 * is the tracecore in the folder of this program, which has no allocation counter in front of it.
 */
#include "base/clock.h"
#include "bench/bench.h"
#include "cli/output/say.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STARTS 101

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
static bool run_shipped(char *const *argv, int64_t *out_ns, int *out_status)
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
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return false;
        }
    }
    *out_ns = tc_mono_ns() - start;
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
        int status = 0;
        if (!run_shipped(argv, &times[i], &status) || status != 0) {
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
