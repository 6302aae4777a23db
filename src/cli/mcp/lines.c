/* SPDX-License-Identifier: Apache-2.0 */
/* Messages from standard input: read while others are answered, so that cancelling works. */
#include "base/table/grow.h"
#include "cli/mcp/priv.h"
#include "mcp/mcp.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Messages that wait; then standard input does. */
#define QUEUE_MAX 64
#define READ_BYTES 65536

struct line {
    char *text;
    size_t len;
};

/*
 * Invariant: with `lock` held, queue[first] to queue[first + count) (modulo QUEUE_MAX) are the
 * messages that nobody took yet; `now` is the one that is being answered, its text NULL in between.
 */
struct tc_mcp_lines {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    struct tc_mcp_source *source;
    int fd;
    int stop_fd; /* readable: the thread is to end */
    struct line queue[QUEUE_MAX];
    size_t first;
    size_t count;
    struct line now;
    bool is_cancelled; /* of `now` */
    bool has_ended;
    bool is_stopping;
    struct tc_grow partial; /* of the thread: what has no line end yet */
};

static struct tc_slice text_of(const struct line *line)
{
    return tc_slice_make(line->text, line->len);
}

static bool is_request(const struct line *line, struct tc_slice id)
{
    struct tc_slice own;
    return line->text != NULL && tc_mcp_request_id(text_of(line), &own) && tc_slice_eq(own, id);
}

/* With the lock held. A request that waits is dropped, one that runs is stopped. */
static void cancel(struct tc_mcp_lines *l, struct tc_slice id)
{
    if (is_request(&l->now, id)) {
        l->is_cancelled = true;
        tc_mcp_source_stop(l->source);
        return;
    }
    for (size_t i = 0; i < l->count; i++) {
        struct line *line = &l->queue[(l->first + i) % QUEUE_MAX];
        if (is_request(line, id)) {
            line->len = 0; /* an empty line is skipped */
            return;
        }
    }
}

/* Takes over the text. */
static void enqueue(struct tc_mcp_lines *l, struct line line)
{
    struct tc_slice id;
    (void)pthread_mutex_lock(&l->lock);
    if (tc_mcp_cancels(text_of(&line), &id)) {
        cancel(l, id);
        free(line.text);
    } else {
        while (l->count == QUEUE_MAX && !l->is_stopping) {
            (void)pthread_cond_wait(&l->changed, &l->lock);
        }
        if (l->is_stopping) {
            free(line.text);
        } else {
            l->queue[(l->first + l->count++) % QUEUE_MAX] = line;
        }
    }
    (void)pthread_cond_broadcast(&l->changed);
    (void)pthread_mutex_unlock(&l->lock);
}

/* The line in `partial` is whole. */
static bool end_line(struct tc_mcp_lines *l)
{
    struct tc_slice text = tc_slice_trim(tc_grow_slice(&l->partial));
    struct line line = {NULL, text.len};
    if (text.len > 0) {
        line.text = malloc(text.len);
        if (line.text == NULL) {
            return false;
        }
        memcpy(line.text, text.ptr, text.len);
        enqueue(l, line);
    }
    l->partial.buf.len = 0;
    return true;
}

/* Of a line that is too long, one byte too many is kept: it is refused for that. */
static void keep_part(struct tc_mcp_lines *l, struct tc_slice part)
{
    size_t room = TC_MCP_MESSAGE_MAX + 1 - l->partial.buf.len;
    tc_grow_str(&l->partial, tc_slice_head(part, room));
}

static bool take_bytes(struct tc_mcp_lines *l, struct tc_slice bytes)
{
    while (bytes.len > 0) {
        size_t end = tc_slice_find_byte(bytes, '\n');
        keep_part(l, end == TC_NPOS ? bytes : tc_slice_head(bytes, end));
        if (l->partial.failed || (end != TC_NPOS && !end_line(l))) {
            return false;
        }
        bytes = end == TC_NPOS ? TC_EMPTY : tc_slice_from(bytes, end + 1);
    }
    return true;
}

/* What can be read, without waiting for more; 0 at the end, or when it is time to stop. */
static size_t read_some(const struct tc_mcp_lines *l, char *to, size_t room)
{
    struct pollfd fds[2] = {{.fd = l->fd, .events = POLLIN}, {.fd = l->stop_fd, .events = POLLIN}};
    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR) {
            return 0;
        }
        if (fds[1].revents != 0) {
            return 0;
        }
        if (fds[0].revents != 0) {
            ssize_t n = read(l->fd, to, room);
            if (n >= 0 || errno != EINTR) {
                return n < 0 ? 0 : (size_t)n;
            }
        }
    }
}

static void *read_lines(void *context)
{
    struct tc_mcp_lines *l = context;
    char *block = malloc(READ_BYTES);
    size_t len = 0;
    while (block != NULL && (len = read_some(l, block, READ_BYTES)) > 0 &&
           take_bytes(l, tc_slice_make(block, len))) {
    }
    (void)end_line(l); /* the last line may have no end */
    free(block);
    (void)pthread_mutex_lock(&l->lock);
    l->has_ended = true;
    (void)pthread_cond_broadcast(&l->changed);
    (void)pthread_mutex_unlock(&l->lock);
    return NULL;
}

struct tc_mcp_lines *tc_mcp_lines_create(int fd, struct tc_mcp_source *source)
{
    struct tc_mcp_lines *l = calloc(1, sizeof *l);
    if (l == NULL) {
        return NULL;
    }
    l->fd = fd;
    l->source = source;
    l->stop_fd = eventfd(0, EFD_CLOEXEC);
    (void)pthread_mutex_init(&l->lock, NULL);
    (void)pthread_cond_init(&l->changed, NULL);
    if (l->stop_fd < 0 || pthread_create(&l->thread, NULL, read_lines, l) != 0) {
        if (l->stop_fd >= 0) {
            (void)close(l->stop_fd);
        }
        free(l);
        return NULL;
    }
    return l;
}

void tc_mcp_lines_destroy(struct tc_mcp_lines *l)
{
    if (l == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&l->lock);
    l->is_stopping = true;
    (void)pthread_cond_broadcast(&l->changed);
    (void)pthread_mutex_unlock(&l->lock);
    (void)eventfd_write(l->stop_fd, 1);
    (void)pthread_join(l->thread, NULL);
    (void)close(l->stop_fd);
    for (size_t i = 0; i < l->count; i++) {
        free(l->queue[(l->first + i) % QUEUE_MAX].text);
    }
    free(l->now.text);
    tc_grow_fini(&l->partial);
    (void)pthread_cond_destroy(&l->changed);
    (void)pthread_mutex_destroy(&l->lock);
    free(l);
}

bool tc_mcp_lines_next(struct tc_mcp_lines *l, struct tc_slice *out_line)
{
    (void)pthread_mutex_lock(&l->lock);
    while (l->now.len == 0 && (l->count > 0 || !l->has_ended)) {
        if (l->count == 0) {
            (void)pthread_cond_wait(&l->changed, &l->lock);
            continue;
        }
        free(l->now.text); /* NULL, or of a request that was cancelled while it waited */
        l->now = l->queue[l->first];
        l->first = (l->first + 1) % QUEUE_MAX;
        l->count--;
        (void)pthread_cond_broadcast(&l->changed);
    }
    l->is_cancelled = false;
    tc_mcp_source_begin(l->source);
    *out_line = text_of(&l->now);
    (void)pthread_mutex_unlock(&l->lock);
    return out_line->len > 0;
}

bool tc_mcp_lines_done(struct tc_mcp_lines *l)
{
    (void)pthread_mutex_lock(&l->lock);
    bool is_wanted = !l->is_cancelled;
    free(l->now.text);
    l->now = (struct line){0};
    (void)pthread_mutex_unlock(&l->lock);
    return is_wanted;
}
