/* SPDX-License-Identifier: Apache-2.0 */
/* What Prometheus expects every program to tell of its process. */
#include "base/format.h"
#include "base/time.h"
#include "observe/metrics_priv.h"

#include <dirent.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

/* More descriptors than any limit allows. */
#define FDS_MAX (1 << 20)

/* The start of a small file of /proc; empty when it cannot be read. */
static struct tc_slice read_small(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, size);
    if (fd >= 0) {
        (void)close(fd);
    }
    return tc_slice_make(text, len < 0 ? 0 : (size_t)len);
}

static struct tc_slice skip_words(struct tc_slice s, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)tc_slice_cut(s, ' ', &s);
    }
    return s;
}

/* Kernel time of boot plus the start in ticks since then: proc(5). */
static bool start_ns(uint64_t *out)
{
    char text[1024];
    uint64_t ticks = 0;
    struct timespec boot;
    struct timespec now;
    struct tc_slice stat = read_small("/proc/self/stat", text, sizeof text);
    long per_second = sysconf(_SC_CLK_TCK);
    /* The name of the program, in brackets, may hold anything. */
    size_t close_at = TC_NPOS;
    for (size_t i = 0; i < stat.len; i++) {
        close_at = stat.ptr[i] == ')' ? i : close_at;
    }
    if (close_at == TC_NPOS || per_second <= 0 ||
        tc_slice_u64(skip_words(tc_slice_from(stat, close_at + 2), 19), &ticks) == 0 ||
        clock_gettime(CLOCK_BOOTTIME, &boot) != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return false;
    }
    int64_t boot_ns = (now.tv_sec - boot.tv_sec) * TC_SECOND + now.tv_nsec - boot.tv_nsec;
    *out = (uint64_t)boot_ns + ticks * ((uint64_t)TC_SECOND / (uint64_t)per_second);
    return true;
}

static bool resident_bytes(uint64_t *out)
{
    char text[256];
    uint64_t pages = 0;
    struct tc_slice statm = read_small("/proc/self/statm", text, sizeof text);
    long page = sysconf(_SC_PAGESIZE);
    if (page <= 0 || tc_slice_u64(skip_words(statm, 1), &pages) == 0) {
        return false;
    }
    *out = pages * (uint64_t)page;
    return true;
}

static bool open_fds(uint64_t *out)
{
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL) {
        return false;
    }
    uint64_t count = 0;
    for (size_t i = 0; i < FDS_MAX; i++) {
        const struct dirent *entry = readdir(dir);
        if (entry == NULL) {
            break;
        }
        count += entry->d_name[0] != '.';
    }
    (void)closedir(dir);
    *out = count - 1; /* not the one of this walk */
    return true;
}

static void put_u64(struct tc_buf *b, const char *name, uint64_t value)
{
    (void)tc_format(b, "{} {}\n", name, value);
}

static void put_seconds(struct tc_buf *b, const char *name, uint64_t ns)
{
    (void)tc_format(b, "{} ", name);
    tc__metrics_seconds(b, ns);
    tc_buf_char(b, '\n');
}

void tc__metrics_process(struct tc_buf *b)
{
    uint64_t value = 0;
    struct timespec cpu;
    if (resident_bytes(&value)) {
        tc__metrics_head(b, "process_resident_memory_bytes", "gauge",
                         "Resident memory size in bytes.");
        put_u64(b, "process_resident_memory_bytes", value);
    }
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0) {
        tc__metrics_head(b, "process_cpu_seconds_total", "counter",
                         "User and system time spent, in seconds.");
        put_seconds(b, "process_cpu_seconds_total",
                    (uint64_t)cpu.tv_sec * (uint64_t)TC_SECOND + (uint64_t)cpu.tv_nsec);
    }
    if (start_ns(&value)) {
        tc__metrics_head(b, "process_start_time_seconds", "gauge",
                         "Start of the process, in seconds since 1970.");
        put_seconds(b, "process_start_time_seconds", value);
    }
    if (open_fds(&value)) {
        tc__metrics_head(b, "process_open_fds", "gauge", "Open file descriptors.");
        put_u64(b, "process_open_fds", value);
    }
}
