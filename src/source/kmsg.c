/* SPDX-License-Identifier: Apache-2.0 */
#include "source/kmsg.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/os/io.h"
#include "source/text_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel gives one record at a time, of at most 8 KiB (CONSOLE_EXT_LOG_MAX); more in one that
 * stands in for it is cut. */
#define RECORD_MAX ((size_t)8192)
#define BODY_MAX ((size_t)128 << 10)
/* Records that come shortly after each other are stored together. */
#define GATHER_NS (TC_SECOND / 20)
/* What cannot be opened or read is tried again. */
#define RETRY_NS (10 * TC_SECOND)
/* A file that stands in for the device does not wake anybody. */
#define POLL_NS (TC_SECOND / 5)
#define BOOT_MAX 64
#define STREAM TC_LIT("kernel")

/* Invariant: body[0..used) are whole records, the last of which is `last`; all up to `stored` is
 * durable. */
struct kmsg {
    char *path;
    char *node;
    char boot[BOOT_MAX];
    int fd;
    bool is_device;  /* one record a read */
    bool has_stored; /* a position of this boot is known */
    uint64_t stored;
    bool has_last;
    uint64_t last;
    uint64_t records;
    size_t used;
    size_t rest; /* bytes of a record that is not whole, behind the others */
    char body[BODY_MAX + RECORD_MAX];
};

static void destroy(void *state)
{
    struct kmsg *k = state;
    if (k != NULL) {
        if (k->fd >= 0) {
            (void)close(k->fd);
        }
        free(k->path);
        free(k->node);
        free(k);
    }
}

static void read_boot(struct kmsg *k)
{
    ssize_t n = tc_io_read_path("/proc/sys/kernel/random/boot_id", k->boot, sizeof k->boot - 1);
    struct tc_slice boot = tc_slice_trim(tc_slice_make(k->boot, n < 0 ? 0 : (size_t)n));
    k->boot[boot.len] = '\0';
    if (boot.len == 0) {
        memcpy(k->boot, "unknown", sizeof "unknown");
    }
}

tc_status tc_kmsg_create(const struct tc_kmsg_config *config, void **out_state,
                         struct tc_error *err)
{
    struct kmsg *k = calloc(1, sizeof *k);
    if (k != NULL) {
        k->fd = -1;
        k->path = strdup(config->path);
        k->node = tc__text_copy(config->node);
    }
    if (k == NULL || k->path == NULL || k->node == NULL) {
        destroy(k);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the kernel's log");
    }
    if (config->boot.len > 0 && config->boot.len < sizeof k->boot) {
        memcpy(k->boot, config->boot.ptr, config->boot.len);
    } else {
        read_boot(k);
    }
    *out_state = k;
    return TC_OK;
}

/* "BOOT NUMBER" */
static void restore(void *of, struct tc_slice stream, struct tc_slice position)
{
    struct kmsg *k = of;
    struct tc_slice number;
    struct tc_slice boot = tc_slice_cut(position, ' ', &number);
    if (tc_slice_eq(stream, STREAM) && tc_slice_eq(boot, tc_slice_cstr(k->boot)) &&
        tc_slice_is_u64(number, &k->stored)) {
        k->has_stored = true;
    }
}

/* ---- records ---- */

/* The number of a record: "6,1234,98765,-;text". */
static bool record_number(struct tc_slice record, uint64_t *out)
{
    uint64_t level = 0;
    size_t n = tc_slice_u64(record, &level);
    if (n == 0 || n >= record.len || record.ptr[n] != ',') {
        return false;
    }
    return tc_slice_u64(tc_slice_from(record, n + 1), out) > 0;
}

/* Keeps a record that is at the end of the body, unless it was stored before. */
static void take_record(struct kmsg *k, struct tc_source_port *port, size_t len)
{
    uint64_t number = 0;
    if (!record_number(tc_slice_make(k->body + k->used, len), &number)) {
        return; /* no record: it cannot be told whether it was read before */
    }
    if (k->has_stored && number <= k->stored) {
        return;
    }
    uint64_t expected = k->has_last ? k->last + 1 : k->has_stored ? k->stored + 1 : number;
    if (number > expected) {
        tc_port_lost(port, number - expected);
    }
    k->last = number;
    k->has_last = true;
    k->records++;
    k->used += len;
}

/* When the machine booted, as the kernel's clock counts: it stands still while suspended. */
static int64_t boot_time(void)
{
    return tc_wall_ns() - tc_mono_ns();
}

/* False: the daemon ends. */
static bool put(struct kmsg *k, struct tc_source_port *port)
{
    char position[BOOT_MAX + 32];
    struct tc_buf b = tc_buf_make(position, sizeof position);
    if (k->used == 0) {
        return true;
    }
    (void)tc_format(&b, "{} {}", k->boot, k->last);
    struct tc_source_chunk chunk = {
        .name = tc_slice_cstr(k->path),
        .format = TC_LIT("kmsg"),
        .node = tc_slice_cstr(k->node),
        .boot_ns = boot_time(),
        .stream = STREAM,
        .position = tc_buf_slice(&b),
        .body = tc_slice_make(k->body, k->used),
        .records = k->records,
    };
    if (tc_port_put(port, &chunk, 1) != TC_OK) {
        return false;
    }
    k->stored = k->last;
    k->has_stored = true;
    memmove(k->body, k->body + k->used, k->rest);
    k->used = k->records = 0;
    return true;
}

/* ---- reading ---- */

/* What stands in for the device gives bytes: a record ends before the line that begins the next
 * one, and lines that begin with a blank belong to it. */
static void split(struct kmsg *k, struct tc_source_port *port)
{
    for (;;) {
        struct tc_slice bytes = tc_slice_make(k->body + k->used, k->rest);
        size_t end = 0;
        do {
            size_t n = tc_slice_find_byte(tc_slice_from(bytes, end), '\n');
            if (n == TC_NPOS) {
                return;
            }
            end += n + 1;
        } while (end < bytes.len && bytes.ptr[end] == ' ');
        size_t before = k->used;
        take_record(k, port, end);
        k->rest -= end;
        if (k->used == before) {
            memmove(k->body + k->used, k->body + k->used + end, k->rest);
        }
    }
}

enum got { GOT_SOME, GOT_NOTHING, GOT_END, GOT_ERROR };

static enum got read_some(struct kmsg *k, struct tc_source_port *port)
{
    size_t at = k->used + k->rest;
    size_t room = sizeof k->body - at;
    ssize_t n = read(k->fd, k->body + at, room < RECORD_MAX ? room : RECORD_MAX);
    if (n < 0 && errno == EPIPE) {
        return GOT_SOME; /* overwritten: the next record's number says how many */
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return GOT_NOTHING;
    }
    if (n <= 0) {
        return n == 0 ? GOT_END : GOT_ERROR;
    }
    if (k->is_device) {
        take_record(k, port, (size_t)n);
        return GOT_SOME;
    }
    k->rest += (size_t)n;
    split(k, port);
    if (k->rest >= RECORD_MAX) { /* no line of the kernel's is so long */
        tc_port_lost(port, 1);
        k->rest = 0;
    }
    return GOT_SOME;
}

static bool open_log(struct kmsg *k, struct tc_source_port *port)
{
    struct stat st;
    char text[128];
    k->fd = open(k->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (k->fd < 0) {
        bool is_right = errno == EPERM || errno == EACCES;
        tc_port_fail(port, "%s: %s%s", k->path, strerror_r(errno, text, sizeof text),
                     is_right
                         ? "; run as root or with CAP_SYSLOG (AmbientCapabilities=CAP_SYSLOG), "
                           "or set kernel.dmesg_restrict to 0"
                         : "");
        return false;
    }
    k->is_device = fstat(k->fd, &st) == 0 && S_ISCHR(st.st_mode);
    k->has_last = false;
    k->used = k->rest = k->records = 0;
    tc_port_ok(port);
    tc_port_watches(port, 1);
    return true;
}

static void close_log(struct kmsg *k, struct tc_source_port *port)
{
    (void)close(k->fd);
    k->fd = -1;
    tc_port_watches(port, 0);
}

/* Until it has to be opened again, or the end: false. */
static bool follow(struct kmsg *k, struct tc_source_port *port)
{
    while (!tc_port_is_stopping(port)) {
        enum got got = read_some(k, port);
        if (got == GOT_SOME && k->used < BODY_MAX) {
            continue;
        }
        if (got == GOT_ERROR) {
            char text[128];
            tc_port_fail(port, "%s: %s", k->path, strerror_r(errno, text, sizeof text));
            return true;
        }
        tc_port_behind(port, got == GOT_SOME);
        if (!put(k, port)) {
            return false;
        }
        if (got == GOT_NOTHING && tc_port_wait(port, k->fd, RETRY_NS)) {
            (void)tc_port_wait(port, -1, GATHER_NS);
        } else if (got == GOT_END) { /* a file, or a FIFO that nobody writes to */
            (void)tc_port_wait(port, -1, POLL_NS);
        }
    }
    return false;
}

static void run(void *state, struct tc_source_port *port)
{
    struct kmsg *k = state;
    tc_port_positions(port, restore, k);
    while (!tc_port_is_stopping(port)) {
        if (open_log(k, port)) {
            bool go_on = follow(k, port);
            close_log(k, port);
            if (!go_on) {
                return;
            }
        }
        (void)tc_port_wait(port, -1, RETRY_NS);
    }
}

const struct tc_source_kind tc_source_kmsg = {.name = "kmsg", .run = run, .destroy = destroy};
