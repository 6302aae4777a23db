/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/cite_priv.h"

#include "evidence/store_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define NUMBER_AT (TC__HEX_BYTES + 1)
#define SUM_AT (TC__CITE_BYTES - 17)
#define LINES_AT_ONCE 512
/* Of the newest lines, whose numbers are not given out again though their batches may be lost. */
#define LINES_FOR_NUMBERS 4096

static void cite_put(char *out, const struct tc__citation *c)
{
    memset(out, ' ', TC__CITE_BYTES);
    tc__hex(out, &c->digest);
    tc__digits(out + NUMBER_AT, c->number);
    struct tc_buf sum = tc_buf_make(out + SUM_AT, 16);
    tc_buf_hex(&sum, tc__sum(out, SUM_AT, 0), 16);
    out[TC__CITE_BYTES - 1] = '\n';
}

static bool cite_get(const char *line, struct tc__citation *out)
{
    struct tc__citation c;
    struct tc_slice number = tc_slice_make(line + NUMBER_AT, TC_PUT_U64_MAX);
    if (!tc_digest_from_hex(tc_slice_make(line, TC__HEX_BYTES), &c.digest) ||
        !tc_slice_is_u64(tc_slice_trim(number), &c.number)) {
        return false;
    }
    /* The line has one form only: whatever is not it is damaged. */
    char again[TC__CITE_BYTES];
    cite_put(again, &c);
    if (memcmp(again, line, sizeof again) != 0) {
        return false;
    }
    *out = c;
    return true;
}

int tc__cite_each(const char *dir, bool (*take)(void *context, const struct tc__citation *c),
                  void (*bad)(void *context, uint64_t offset), void *context)
{
    char path[TC__PATH_MAX];
    char lines[LINES_AT_ONCE * TC__CITE_BYTES];
    struct stat st;
    tc__path(path, dir, "citations.idx", NULL);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        int error = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        return error == ENOENT ? 0 : error;
    }
    int error = 0;
    bool more = true;
    uint64_t end = (uint64_t)st.st_size / TC__CITE_BYTES * TC__CITE_BYTES;
    while (end > 0 && more && error == 0) {
        uint64_t from = end > sizeof lines ? end - sizeof lines : 0;
        ssize_t got = tc__read_at(fd, lines, (size_t)(end - from), from);
        error = got < 0 ? errno : 0;
        for (uint64_t n = got < 0 ? 0 : (uint64_t)got / TC__CITE_BYTES; n > 0 && more; n--) {
            struct tc__citation c;
            uint64_t at = (n - 1) * TC__CITE_BYTES;
            if (cite_get(lines + at, &c)) {
                more = take(context, &c);
            } else if (bad != NULL) {
                bad(context, from + at);
            }
        }
        end = from;
    }
    (void)close(fd);
    return error;
}

struct newest {
    uint64_t number;
    size_t lines;
};

static bool take_newest(void *context, const struct tc__citation *c)
{
    struct newest *n = context;
    n->number = c->number > n->number ? c->number : n->number;
    return ++n->lines < LINES_FOR_NUMBERS;
}

tc_status tc__citations_open(struct tc_store *s, struct tc_error *err)
{
    struct tc__citations *c = &s->citations;
    struct newest newest = {0};
    char path[TC__PATH_MAX];
    if (pthread_mutex_init(&c->mutex, NULL) != 0) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the evidence store");
    }
    c->has_mutex = true;
    tc__path(path, s->dir, "citations.idx", NULL);
    c->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (c->fd < 0) {
        return tc__store_io_error(s, errno, "open", path, err);
    }
    TC_TRY(tc__cut_lines(s, c->fd, path, TC__CITE_BYTES, &c->size, err));
    int error = tc__cite_each(s->dir, take_newest, NULL, &newest);
    if (error != 0) {
        return tc__store_io_error(s, error, "read", path, err);
    }
    if (newest.number >= tc_store_next_number(s) && newest.number <= TC__NUMBER_MAX) {
        atomic_store(&s->shared->next_number, newest.number + 1);
    }
    s->shared->stats.cited = c->size / TC__CITE_BYTES;
    return TC_OK;
}

void tc__citations_close(struct tc__citations *c)
{
    if (c->fd >= 0) {
        (void)close(c->fd);
    }
    if (c->has_mutex) {
        (void)pthread_mutex_destroy(&c->mutex);
    }
}

void tc__citations_sync(struct tc_store *s)
{
    struct tc__citations *c = &s->citations;
    (void)pthread_mutex_lock(&c->mutex);
    bool dirty = c->dirty;
    c->dirty = false;
    (void)pthread_mutex_unlock(&c->mutex);
    if (dirty && tc__sync_file(&s->config.io, c->fd) != 0) {
        (void)pthread_mutex_lock(&s->shared->mutex);
        s->shared->stats.cite_failures++;
        (void)pthread_mutex_unlock(&s->shared->mutex);
    }
}

/* With the mutex held. 0 or errno. */
static int add_line(struct tc_store *s, const struct tc__citation *citation)
{
    struct tc__citations *c = &s->citations;
    char line[TC__CITE_BYTES];
    uint64_t *recent = &c->recent[citation->number % TC__CITE_RECENT];
    if (*recent == citation->number) {
        return 0;
    }
    cite_put(line, citation);
    int error = tc__write_all(&s->config.io, c->fd, line, sizeof line);
    if (error != 0) {
        /* A part of a line would put all that follow out of step. */
        if (s->config.io.truncate(c->fd, (off_t)c->size) != 0) {
            error = errno;
        }
        return error;
    }
    c->size += sizeof line;
    c->dirty = true;
    *recent = citation->number;
    (void)pthread_mutex_lock(&s->shared->mutex);
    s->shared->stats.cited++;
    (void)pthread_mutex_unlock(&s->shared->mutex);
    return 0;
}

tc_status tc_store_cite(struct tc_store *s, uint64_t number, const struct tc_digest *digest,
                        struct tc_error *err)
{
    struct tc__citation c = {.number = number, .digest = *digest};
    (void)pthread_mutex_lock(&s->citations.mutex);
    int error = add_line(s, &c);
    (void)pthread_mutex_unlock(&s->citations.mutex);
    if (error != 0) {
        char path[TC__PATH_MAX];
        tc__path(path, s->dir, "citations.idx", NULL);
        return tc__store_io_error(s, error, "write", path, err);
    }
    return TC_OK;
}
