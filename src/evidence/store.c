/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, closing, and what other threads ask. The way of a batch is in append.c. */
#include "evidence/pack_priv.h"
#include "evidence/store_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zstd.h>

uint32_t tc_sender_number(struct tc_slice sender)
{
    return sender.len == 0 ? 0 : 1 + (uint32_t)(tc_slice_hash(sender, 0) % (TC_SENDERS - 1));
}

struct tc_slice tc_batch_sender(struct tc_slice name, struct tc_slice *out_name)
{
    /* In the last line: what a client calls its file says nothing about it. */
    size_t at = name.len;
    while (at > 0 && name.ptr[at - 1] != '\n') {
        at--;
    }
    struct tc_slice line = at == 0 ? TC_EMPTY : tc_slice_from(name, at - 1);
    struct tc_slice key = TC_LIT(TC_BATCH_SENDER);
    bool said = tc_slice_starts(line, key);
    if (out_name != NULL) {
        *out_name = said ? tc_slice_head(name, at - 1) : name;
    }
    return said ? tc_slice_from(line, key.len) : TC_EMPTY;
}

const char *tc_batch_kind_name(enum tc_batch_kind kind)
{
    static const char *const names[] = {
        [TC_BATCH_LOGS_PROTOBUF] = "logs/protobuf",
        [TC_BATCH_LOGS_JSON] = "logs/json",
        [TC_BATCH_METRICS_PROTOBUF] = "metrics/protobuf",
        [TC_BATCH_METRICS_JSON] = "metrics/json",
        [TC_BATCH_TRACES_PROTOBUF] = "traces/protobuf",
        [TC_BATCH_TRACES_JSON] = "traces/json",
        [TC_BATCH_FILE] = "file",
        [TC_BATCH_SOURCE] = "source",
    };
    size_t i = (size_t)kind;
    return i < TC_COUNT(names) && names[i] != NULL ? names[i] : "unknown";
}

void tc__tell(const struct tc_store *s, const char *format, ...)
{
    char line[TC__PATH_MAX + 256];
    va_list args;
    if (s->say == NULL) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    s->say(s->say_context, line);
}

tc_status tc__store_io_error(struct tc_store *s, int error, const char *what, const char *path,
                             struct tc_error *err)
{
    if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
        atomic_store(&s->shared->full, true);
        if (s->shipping.is_on) {
            return tc_fail(err, TC_E_IO, 0,
                           "cannot %s %s: no space left; free some, or see why objects are not "
                           "copied to evidence.remote: only what is there is deleted here",
                           what, path);
        }
        return tc_fail(err, TC_E_IO, 0,
                       "cannot %s %s: no space left; free some, or lower "
                       "evidence.keep",
                       what, path);
    }
    return tc_fail(err, TC_E_IO, 0, "cannot %s %s: %s", what, path, strerror(error));
}

static tc_status set_up_memory(struct tc_store *s, struct tc_error *err)
{
    s->shared = calloc(1, sizeof *s->shared);
    s->window = malloc(TC__WINDOW_BYTES);
    s->buffer = malloc(TC__BUFFER_BYTES + TC__WINDOW_BYTES);
    s->scratch = malloc(TC__SCRATCH_BYTES);
    s->lz4_state = malloc(tc__lz4_state_bytes());
    if (s->shared == NULL || s->window == NULL || s->buffer == NULL || s->scratch == NULL ||
        s->lz4_state == NULL || pthread_mutex_init(&s->shared->mutex, NULL) != 0) {
        free(s->shared);
        s->shared = NULL;
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the evidence store");
    }
    if (s->config.compression < ZSTD_minCLevel() || s->config.compression > ZSTD_maxCLevel()) {
        return tc_fail(err, TC_E_USAGE, 0, "evidence compression level %d is not one of zstd's",
                       s->config.compression);
    }
    return TC_OK;
}

static tc_status make_dirs(struct tc_store *s, struct tc_error *err)
{
    static const char *const names[] = {"open", "objects", "quarantine"};
    char path[TC__PATH_MAX];
    int error = tc__make_dir(s->dir);
    if (error != 0) {
        return tc__store_io_error(s, error, "make directory", s->dir, err);
    }
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        tc__path(path, s->dir, names[i], NULL);
        error = tc__make_dir(path);
        if (error != 0) {
            return tc__store_io_error(s, error, "make directory", path, err);
        }
    }
    s->dir_fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->dir_fd < 0) {
        return tc__store_io_error(s, errno, "open", s->dir, err);
    }
    error = tc__sync_dir(&s->config.io, s->dir);
    return error == 0 ? TC_OK : tc__store_io_error(s, error, "sync", s->dir, err);
}

static tc_status take_lock(struct tc_store *s, struct tc_error *err)
{
    char path[TC__PATH_MAX];
    tc__path(path, s->dir, "LOCK", NULL);
    s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (s->lock_fd < 0) {
        return tc__store_io_error(s, errno, "open", path, err);
    }
    if (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) {
            return tc_fail(err, TC_E_IO, 0,
                           "%s is in use: another process writes to this store; stop it, or give "
                           "this one another directory",
                           path);
        }
        return tc__store_io_error(s, errno, "lock", path, err);
    }
    return TC_OK;
}

static tc_status set_up(struct tc_store *s, struct tc_error *err)
{
    TC_TRY(set_up_memory(s, err));
    TC_TRY(make_dirs(s, err));
    TC_TRY(take_lock(s, err));
    TC_TRY(tc__check_version(s->dir, err));
    TC_TRY(tc__objects_open(s, err));
    TC_TRY(tc__citations_open(s, err));
    TC_TRY(tc__shipping_open(s, err));
    TC_TRY(tc__recover(s, err));
    return TC_OK;
}

tc_status tc_store_open(const char *dir, const struct tc_store_config *config,
                        void (*say)(void *context, const char *line), void *context,
                        struct tc_store **out_store, struct tc_error *err)
{
    size_t len = strlen(dir);
    if (len == 0 || len >= TC__DIR_MAX) {
        return tc_fail(err, TC_E_USAGE, 0, "the store's directory needs a name of 1 to %d bytes",
                       TC__DIR_MAX - 1);
    }
    struct tc_store *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the evidence store");
    }
    memcpy(s->dir, dir, len + 1);
    s->config = *config;
    tc__io_init(&s->config.io);
    s->say = say;
    s->say_context = context;
    s->lock_fd = -1;
    s->dir_fd = -1;
    s->segment.fd = -1;
    s->other.fd = -1;
    s->objects.fd = -1;
    s->shipping.fd = -1;
    s->citations.fd = -1;
    tc_status status = set_up(s, err);
    if (status != TC_OK) {
        tc_store_close(s);
        return status;
    }
    s->say = NULL;
    s->is_open = true;
    *out_store = s;
    return TC_OK;
}

static void close_fd(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

void tc_store_close(struct tc_store *s)
{
    if (s == NULL) {
        return;
    }
    if (s->is_open) {
        struct tc_error err;
        (void)!tc_store_commit(s, &err); /* a lost group was never acknowledged */
    }
    if (s->shared != NULL) {
        (void)pthread_mutex_destroy(&s->shared->mutex);
    }
    tc__citations_close(&s->citations);
    close_fd(s->segment.fd);
    close_fd(s->objects.fd);
    close_fd(s->shipping.fd);
    close_fd(s->dir_fd);
    close_fd(s->lock_fd);
    free(s->lz4_state);
    free(s->scratch);
    free(s->buffer);
    free(s->window);
    free(s->shared);
    free(s);
}

uint64_t tc_store_next_number(const struct tc_store *s)
{
    return atomic_load(&s->shared->next_number);
}

void tc_store_hold(struct tc_store *s, uint64_t from)
{
    atomic_store(&s->shared->held_from, from);
    atomic_store(&s->shared->is_news, true);
}

bool tc_store_has_room(struct tc_store *s)
{
    struct statvfs fs;
    if (fstatvfs(s->dir_fd, &fs) != 0) {
        return !atomic_load(&s->shared->full);
    }
    uint64_t free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    bool room = free_bytes > s->config.reserve_bytes && free_bytes > TC__BUFFER_BYTES;
    atomic_store(&s->shared->full, !room);
    return room;
}

void tc_store_stats(const struct tc_store *s, struct tc_store_stats *out)
{
    struct tc__shared *shared = s->shared;
    (void)pthread_mutex_lock(&shared->mutex);
    *out = shared->stats;
    out->object_bytes = s->objects.kept_bytes;
    out->waiting_bytes = shared->waiting_bytes;
    out->unshipped = s->shipping.waiting;
    out->unshipped_bytes = s->shipping.waiting_bytes;
    out->shipped = s->shipping.shipped;
    out->kept_batches = s->objects.kept_batches + shared->open.batches;
    out->kept_body_bytes = s->objects.kept_body_bytes + shared->open.body_bytes;
    out->kept_bytes = s->objects.kept_bytes + shared->waiting_bytes + shared->open_bytes;
    for (size_t i = 0; i < shared->waiting_count; i++) {
        out->kept_batches += shared->waiting[i].batches;
        out->kept_body_bytes += shared->waiting[i].body_bytes;
    }
    (void)pthread_mutex_unlock(&shared->mutex);
    out->full = atomic_load(&shared->full);
}
