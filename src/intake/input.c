/* SPDX-License-Identifier: Apache-2.0 */
#include "intake/input.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/os/io.h"
#include "base/os/spool.h"
#include "base/table/grow.h"
#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files below this are copied: reading them is as fast as mapping, and a copy cannot shrink. */
#define COPY_BELOW ((size_t)1 << 20)
/* All copies together; ten thousand small dumps are mapped rather than held in memory. */
#define COPY_TOTAL_MAX ((size_t)256 << 20)
/* Standard input, and files that do not tell their size, are read into memory up to this. */
#define STREAM_MAX ((size_t)2 << 30)
#define READ_BYTES ((size_t)64 << 10)
/* Pages are given back in steps of this, and kept for as long behind the reader. */
#define PASS_STEP ((size_t)16 << 20)
/* How the process ends when a file it reads is gone: as for any unreadable input. */
#define EXIT_BAD 2
/* Enough of the beginning to tell text from anything else. */
#define TEXT_PROBE 4096

/*
 * Mappings that may lose their file. A signal handler is told an address and nothing else, so
 * the list it searches has to be the process's. Changed by one thread, and never while the
 * handler can run: that is only when a mapping is read.
 */
struct tc_mapping {
    char *start;
    size_t size;
    volatile sig_atomic_t shrunk;
    struct tc_mapping *next;
    struct tc_mapping *prev;
};

static struct tc_mapping *mappings;

static bool add_mapping(struct tc_input *in, void *start, size_t size)
{
    struct tc_mapping *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return false;
    }
    m->start = start;
    m->size = size;
    m->next = mappings;
    if (mappings != NULL) {
        mappings->prev = m;
    }
    mappings = m;
    in->mapping = m;
    return true;
}

static void drop_mapping(struct tc_mapping *m)
{
    if (m == NULL) {
        return;
    }
    if (m->next != NULL) {
        m->next->prev = m->prev;
    }
    if (m->prev != NULL) {
        m->prev->next = m->next;
    } else {
        mappings = m->next;
    }
    free(m);
}

/* What a thing that is no regular file is, and how to read it all the same. */
static tc_status refuse_kind(mode_t mode, struct tc_error *err)
{
    const char *kind = S_ISFIFO(mode)   ? "a pipe"
                       : S_ISSOCK(mode) ? "a socket"
                       : S_ISCHR(mode)  ? "a character device"
                       : S_ISBLK(mode)  ? "a block device"
                       : S_ISDIR(mode)  ? "a directory"
                                        : "not a file";
    return tc_fail(err, TC_E_UNSUPPORTED, 0,
                   "is %s, not a regular file; send its content to standard input and give \"-\"",
                   kind);
}

/* Everything up to the end of fd. size_hint is a guess, not a promise. */
static tc_status read_all(int fd, size_t size_hint, struct tc_slice *out, struct tc_error *err)
{
    size_t cap = size_hint + 1; /* the read that finds the end needs a byte of room */
    size_t len = 0;
    char *data = malloc(cap);
    while (data != NULL) {
        ssize_t n = read(fd, data + len, cap - len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            free(data);
            return tc_fail_errno(err, "cannot be read");
        }
        if (n == 0) {
            *out = tc_slice_make(data, len);
            return TC_OK;
        }
        len += (size_t)n;
        if (len > STREAM_MAX) {
            free(data);
            return tc_fail(err, TC_E_LIMIT, len,
                           "is longer than 2 GiB; write it to a file and give the file");
        }
        if (len == cap &&
            tc_grow_items(data, cap, len + READ_BYTES, STREAM_MAX + READ_BYTES) != TC_OK) {
            break;
        }
    }
    free(data);
    return tc_fail(err, TC_E_NOMEM, 0, "no memory for its content");
}

static tc_status take_content(struct tc_input *in, int fd, const struct stat *st, size_t *io_copied,
                              struct tc_error *err)
{
    size_t size = (size_t)st->st_size;
    if (size >= COPY_BELOW || (size > 0 && *io_copied + size > COPY_TOTAL_MAX)) {
        void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map != MAP_FAILED && !add_mapping(in, map, size)) {
            (void)munmap(map, size);
            return tc_fail(err, TC_E_NOMEM, 0, "no memory for its mapping");
        }
        if (map != MAP_FAILED) {
            (void)madvise(map, size, MADV_SEQUENTIAL);
            in->bytes = tc_slice_make(map, size);
            in->mapped = true;
            return TC_OK;
        }
        if (size > STREAM_MAX) {
            return tc_fail_errno(err, "cannot be mapped");
        }
    }
    TC_TRY(read_all(fd, size, &in->bytes, err));
    *io_copied += in->bytes.len;
    return TC_OK;
}

static tc_status open_stdin(struct tc_input *in, size_t *io_copied, struct tc_error *err)
{
    TC_TRY(read_all(STDIN_FILENO, 65536, &in->bytes, err));
    *io_copied += in->bytes.len;
    in->mtime_ns = tc_wall_ns();
    return TC_OK;
}

static tc_status open_file(struct tc_input *in, const char *path, size_t *io_copied,
                           struct tc_error *err)
{
    struct stat st;
    /* A pipe without a writer must not make us wait before it is refused. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        bool socket = errno == ENXIO;
        return socket ? refuse_kind(S_IFSOCK, err) : tc_fail_errno(err, "cannot be opened");
    }
    tc_status status = TC_OK;
    if (fstat(fd, &st) != 0) {
        status = tc_fail_errno(err, "cannot be examined");
    } else if (!S_ISREG(st.st_mode)) {
        status = refuse_kind(st.st_mode, err);
    } else {
        in->device = st.st_dev;
        in->inode = st.st_ino;
        in->mtime_ns = st.st_mtim.tv_sec * TC_SECOND + st.st_mtim.tv_nsec;
        status = take_content(in, fd, &st, io_copied, err);
    }
    (void)close(fd);
    return status;
}

static const struct tc_input UNREAD = {.mtime_ns = TC_TIME_NONE,
                                       .boot_ns = TC_TIME_NONE,
                                       .now_ns = TC_TIME_NONE,
                                       .taken_ns = TC_TIME_NONE};

tc_status tc_input_open(struct tc_input *in, const char *path, size_t *io_copied,
                        struct tc_error *err)
{
    *in = UNREAD;
    in->path = strdup(path);
    if (in->path == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for its name");
    }
    tc_status status = strcmp(path, "-") == 0 ? open_stdin(in, io_copied, err)
                                              : open_file(in, path, io_copied, err);
    if (status != TC_OK) {
        tc_input_close(in);
    }
    return status;
}

/* Small ones are copied, as files are. */
static tc_status take_spool(struct tc_input *in, struct tc_spool *spool, size_t *io_copied,
                            struct tc_error *err)
{
    in->spool = spool;
    TC_TRY(tc_spool_map(spool, &in->bytes, err));
    if (in->bytes.len >= COPY_BELOW || *io_copied + in->bytes.len > COPY_TOTAL_MAX) {
        return TC_OK;
    }
    char *copy = malloc(in->bytes.len + 1);
    if (copy == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for its content");
    }
    memcpy(copy, in->bytes.ptr == NULL ? "" : in->bytes.ptr, in->bytes.len);
    in->bytes.ptr = copy;
    *io_copied += in->bytes.len;
    tc_spool_close(in->spool);
    in->spool = NULL;
    return TC_OK;
}

tc_status tc_input_open_member(struct tc_input *in, struct tc_input *container,
                               struct tc_slice member, struct tc_spool *spool, size_t *io_copied,
                               struct tc_error *err)
{
    *in = UNREAD;
    in->container = container;
    tc_status status = take_spool(in, spool, io_copied, err);
    if (status == TC_OK && asprintf(&in->path, "%s/%.*s", container->path, TC_FMT(member)) < 0) {
        in->path = NULL;
        status = tc_fail(err, TC_E_NOMEM, 0, "no memory for its name");
    }
    if (status != TC_OK) {
        tc_input_close(in);
        return status;
    }
    in->member = tc_slice_from(tc_slice_cstr(in->path), strlen(container->path) + 1);
    return TC_OK;
}

tc_status tc_input_share(struct tc_input *in, struct tc_input *container, struct tc_error *err)
{
    *in = *container;
    in->shared = true;
    in->container = container;
    in->path = strdup(container->path);
    if (in->path == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for its name");
    }
    return TC_OK;
}

/* The bytes are ours; the slice only lends them as const. */
static void *own_bytes(const struct tc_input *in)
{
    return (void *)(uintptr_t)in->bytes.ptr;
}

void tc_input_close(struct tc_input *in)
{
    if (in == NULL) {
        return;
    }
    if (in->shared) {
        free(in->path);
        *in = (struct tc_input){0};
        return;
    }
    if (in->mapped) {
        drop_mapping(in->mapping);
        (void)munmap(own_bytes(in), in->bytes.len);
    } else if (in->spool != NULL) {
        tc_spool_close(in->spool);
    } else {
        free(own_bytes(in));
    }
    free(in->path);
    *in = (struct tc_input){0};
}

void tc_input_pass(struct tc_input *in, size_t offset)
{
    size_t end = offset > PASS_STEP ? (offset - PASS_STEP) / PASS_STEP * PASS_STEP : 0;
    if ((in->mapped || in->spool != NULL) && end > in->passed) {
        /* From the start each time: a late look may have brought pages back. */
        (void)madvise(own_bytes(in), end, MADV_DONTNEED);
        in->passed = end;
    }
}

struct tc_slice tc_input_digest(struct tc_input *in)
{
    struct tc_digest digest;
    if (in->container != NULL) {
        return tc_input_digest(in->container);
    }
    if (!in->has_digest) {
        /* Zeros in place of what is gone have a digest too, but not the file's. */
        if (tc_digest_sha256(in->bytes, &digest) != TC_OK || tc_input_shrunk(in)) {
            return TC_EMPTY;
        }
        struct tc_buf b = tc_buf_make(in->digest, sizeof in->digest);
        tc_buf_digest(&b, &digest);
        in->has_digest = true;
    }
    return tc_slice_make(in->digest, sizeof in->digest);
}

bool tc_input_is_text(const struct tc_input *in)
{
    struct tc_slice head = tc_slice_head(in->bytes, TEXT_PROBE);
    for (size_t i = 0; i < head.len; i++) {
        unsigned char c = (unsigned char)head.ptr[i];
        /* ESC and the white space controls occur in logs. */
        if (c < 0x20 && c != 0x1b && (c < 0x09 || c > 0x0d)) {
            return false;
        }
    }
    return true;
}

uint64_t tc_input_line(const struct tc_input *in, size_t offset)
{
    const char *at = in->bytes.ptr;
    size_t left = tc_slice_head(in->bytes, offset).len;
    uint64_t line = 1;
    while (left > 0) {
        const char *found = memchr(at, '\n', left);
        if (found == NULL) {
            break;
        }
        line++;
        left -= (size_t)(found + 1 - at);
        at = found + 1;
    }
    return line;
}

static void on_bus_error(int signal_number)
{
    static const char message[] =
        "tracecore: input changed while being read: a file became shorter; copy it and try again\n";
    (void)signal_number;
    ssize_t ignored = write(STDERR_FILENO, message, sizeof message - 1);
    (void)ignored;
    _exit(EXIT_BAD);
}

void tc_input_guard(void)
{
    struct sigaction action = {.sa_handler = on_bus_error};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGBUS, &action, NULL);
}

/* Zeros take the place of all pages from the one that is gone to the end of the mapping. */
static void fill_gap(int signal_number, siginfo_t *info, void *context)
{
    int saved = errno;
    uintptr_t at = (uintptr_t)info->si_addr;
    (void)context;
    for (struct tc_mapping *m = mappings; m != NULL; m = m->next) {
        uintptr_t start = (uintptr_t)m->start;
        if (at < start || at - start >= m->size) {
            continue;
        }
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        size_t gap = (at - start) / page * page;
        void *zeros = mmap(m->start + gap, m->size - gap, PROT_READ,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (zeros == MAP_FAILED) {
            break;
        }
        m->shrunk = 1;
        errno = saved;
        return;
    }
    on_bus_error(signal_number);
}

void tc_input_go_on(void)
{
    struct sigaction action = {.sa_sigaction = fill_gap, .sa_flags = SA_SIGINFO};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGBUS, &action, NULL);
}

bool tc_input_shrunk(const struct tc_input *in)
{
    return in->mapping != NULL && in->mapping->shrunk != 0;
}
