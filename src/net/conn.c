/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection: reading, writing, ending. Nothing is closed while the protocol runs: calls from
 * inside of it leave marks, and tc__conn_settle acts on them afterwards.
 */
#include "base/assert.h"
#include "net/net_priv.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <string.h>

void tc__conn_why(struct tc_conn *c, enum tc_counter why)
{
    if (c->why == TC_COUNT_CONN_CLOSED_DONE) {
        c->why = why;
    }
}

void tc__conn_kill(struct tc_conn *c, enum tc_counter why)
{
    tc__conn_why(c, why);
    c->phase = TC__CONN_DEAD;
    c->proto_at = 0;
    c->own_at = 0;
    tc__conn_touch(c);
}

/* Settles c later in this turn of the loop, unless that happens anyway. */
void tc__conn_touch(struct tc_conn *c)
{
    struct tc_net *n = c->net;
    if (c->busy > 0 || c->dirty) {
        return;
    }
    c->dirty = true;
    c->next_dirty = n->dirty;
    n->dirty = c;
    if (!n->dirty_woken) {
        n->dirty_woken = true;
        event_active(n->on_dirty, EV_TIMEOUT, 0);
    }
}

/* Output. */

/* The owner gets its bytes back. */
static void let_go(struct tc_conn *c)
{
    void (*release)(void *context) = c->release;
    c->release = NULL;
    c->held = TC_EMPTY;
    if (release != NULL) {
        release(c->release_context);
    }
}

void tc__conn_drop_output(struct tc_conn *c)
{
    while (c->chain != NULL) {
        struct tc_buffer *b = c->chain;
        c->chain = b->next;
        tc_buffer_give(b);
    }
    c->chain_last = NULL;
    c->chain_start = 0;
    c->inline_start = 0;
    c->inline_end = 0;
    c->pending = 0;
    let_go(c);
}

static size_t put_inline(struct tc_conn *c, struct tc_slice bytes)
{
    if (c->chain != NULL) {
        return 0;
    }
    size_t room = sizeof c->inline_out - c->inline_end;
    size_t len = bytes.len < room ? bytes.len : room;
    memcpy(c->inline_out + c->inline_end, bytes.ptr, len);
    c->inline_end += len;
    c->pending += len;
    return len;
}

static size_t put_chain(struct tc_conn *c, struct tc_slice bytes)
{
    struct tc_buffer *b = c->chain_last;
    if (b == NULL || b->len == b->cap) {
        b = tc_pool_take(c->of->pool, bytes.len < TC_NET_OUTPUT_BUFFER_BYTES
                                          ? bytes.len
                                          : TC_NET_OUTPUT_BUFFER_BYTES);
        if (b == NULL) {
            return 0;
        }
        if (c->chain_last == NULL) {
            c->chain = b;
        } else {
            c->chain_last->next = b;
        }
        c->chain_last = b;
    }
    size_t len = bytes.len < b->cap - b->len ? bytes.len : b->cap - b->len;
    memcpy(b->data + b->len, bytes.ptr, len);
    b->len += len;
    c->pending += len;
    return len;
}

static void consume(struct tc_conn *c, size_t len)
{
    TC_ASSERT(len <= c->pending);
    c->pending -= len;
    size_t of_inline = c->inline_end - c->inline_start;
    of_inline = len < of_inline ? len : of_inline;
    c->inline_start += of_inline;
    len -= of_inline;
    if (c->inline_start == c->inline_end) {
        c->inline_start = 0;
        c->inline_end = 0;
    }
    while (len > 0 && c->chain != NULL) {
        struct tc_buffer *b = c->chain;
        size_t of_buffer = b->len - c->chain_start;
        of_buffer = len < of_buffer ? len : of_buffer;
        c->chain_start += of_buffer;
        len -= of_buffer;
        if (c->chain_start == b->len) {
            c->chain = b->next;
            c->chain_last = c->chain == NULL ? NULL : c->chain_last;
            c->chain_start = 0;
            tc_buffer_give(b);
        }
    }
    TC_ASSERT(len <= c->held.len); /* what is pending beyond those is held */
    c->held = tc_slice_from(c->held, len);
    if (c->held.len == 0) {
        let_go(c);
    }
}

static int gather(struct tc_conn *c, struct iovec *iov, size_t *out_bytes)
{
    int count = 0;
    *out_bytes = 0;
    if (c->inline_end > c->inline_start) {
        iov[count].iov_base = c->inline_out + c->inline_start;
        iov[count].iov_len = c->inline_end - c->inline_start;
        *out_bytes += iov[count++].iov_len;
    }
    size_t start = c->chain_start;
    for (struct tc_buffer *b = c->chain; b != NULL && count < TC_NET_IOV_MAX; b = b->next) {
        iov[count].iov_base = b->data + start;
        iov[count].iov_len = b->len - start;
        *out_bytes += iov[count++].iov_len;
        start = 0;
    }
    if (c->held.len > 0 && count < TC_NET_IOV_MAX) {
        size_t len = c->held.len < TC_NET_WAKE_BYTES ? c->held.len : TC_NET_WAKE_BYTES;
        iov[count].iov_base = (void *)(uintptr_t)c->held.ptr; /* it is only read */
        iov[count].iov_len = len;
        *out_bytes += iov[count++].iov_len;
    }
    return count;
}

/* One write of what waits; true when the peer took all that was offered. */
static bool write_some(struct tc_conn *c, size_t *io_moved)
{
    struct iovec iov[TC_NET_IOV_MAX];
    size_t offered = 0;
    int count = gather(c, iov, &offered);
    ssize_t wrote = c->io->write(c, iov, count);
    if (wrote < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            tc__conn_kill(c, TC_COUNT_CONN_CLOSED_PEER);
        }
        return false;
    }
    TC_ASSERT((size_t)wrote <= offered);
    tc_count(TC_COUNT_NET_BYTES_OUT, (uint64_t)wrote);
    *io_moved += (size_t)wrote;
    consume(c, (size_t)wrote);
    return (size_t)wrote == offered;
}

/* A connection that the loop cannot watch would never be heard of again. */
static void watch_or_end(struct tc_conn *c, struct event *event)
{
    if (event_add(event, NULL) != 0) {
        tc__conn_kill(c, TC_COUNT_CONN_CLOSED_ERROR);
    }
}

static void wait_writable(struct tc_conn *c, bool wait)
{
    wait = wait || c->read_wants_write;
    if (wait == c->writing || c->fd < 0) {
        return;
    }
    c->writing = wait;
    if (wait) {
        watch_or_end(c, c->on_write);
    } else {
        (void)event_del(c->on_write);
    }
}

static void flush(struct tc_conn *c)
{
    const struct tc_proto *proto = c->of->proto;
    size_t moved = 0;
    bool all = true;
    while (c->pending > 0 && all && moved < TC_NET_WAKE_BYTES && c->phase != TC__CONN_DEAD) {
        all = write_some(c, &moved);
        if (c->pending == 0 && c->phase == TC__CONN_OPEN && proto->drained != NULL) {
            c->busy++;
            if (proto->drained(c, tc__conn_state(c)) != TC_OK) {
                tc__conn_why(c, TC_COUNT_CONN_CLOSED_ERROR);
                tc_conn_finish(c);
            }
            c->busy--;
        }
    }
    if (c->phase == TC__CONN_DEAD) {
        return;
    }
    if (c->pending == 0) {
        c->own_at = 0;
    } else if (moved > 0 || c->own_at == 0) {
        c->own_at = tc_net_mono_ns(c->net) + c->net->limits.write_timeout_ns;
        tc__timer_update(c);
    }
    wait_writable(c, c->pending > 0);
}

tc_status tc_conn_write(struct tc_conn *c, struct tc_slice bytes)
{
    if (c->phase != TC__CONN_OPEN) {
        return TC_E_IO;
    }
    TC_ASSERT(c->release == NULL); /* nothing goes out of turn */
    size_t max = c->net->limits.output_bytes_max;
    if (c->pending > max || bytes.len > max - c->pending) {
        tc__conn_kill(c, TC_COUNT_CONN_CLOSED_OUTPUT);
        return TC_E_LIMIT;
    }
    tc__conn_touch(c);
    while (bytes.len > 0) {
        size_t len = put_inline(c, bytes);
        len = len > 0 ? len : put_chain(c, bytes);
        if (len == 0) {
            /* No memory: what the peer takes at once needs none. */
            size_t moved = 0;
            (void)write_some(c, &moved);
            if (moved == 0 || c->phase == TC__CONN_DEAD) {
                tc__conn_kill(c, TC_COUNT_CONN_CLOSED_OUTPUT);
                return TC_E_LIMIT;
            }
        }
        bytes = tc_slice_from(bytes, len);
    }
    return TC_OK;
}

tc_status tc_conn_write_held(struct tc_conn *c, struct tc_slice bytes,
                             void (*release)(void *context), void *context)
{
    if (c->phase != TC__CONN_OPEN || c->release != NULL) {
        release(context);
        return TC_E_IO;
    }
    c->held = bytes;
    c->release = release;
    c->release_context = context;
    c->pending += bytes.len;
    tc__conn_touch(c);
    return TC_OK;
}

size_t tc_conn_pending(const struct tc_conn *c)
{
    return c->pending;
}

/* Input. */

static void watch(struct tc_conn *c, bool on)
{
    if (c->reading == on || c->fd < 0) {
        return;
    }
    c->reading = on;
    if (on) {
        watch_or_end(c, c->on_read);
    } else {
        (void)event_del(c->on_read);
    }
}

void tc_conn_pause(struct tc_conn *c, bool paused)
{
    /* Pausing is only noted: a sender that waits for its answer sends nothing, and then the event
     * need not be taken out and put back. tc__conn_readable takes it out if it has to. */
    c->paused = paused;
    if (!paused) {
        watch(c, true);
        if (c->fd >= 0 && c->io->buffered != NULL && c->io->buffered(c)) {
            event_active(c->on_read, EV_READ, 0);
        }
    }
}

/* The peer has sent its last byte. What waits for it is still written. */
static void ended(struct tc_conn *c)
{
    c->eof = true;
    tc__conn_why(c, TC_COUNT_CONN_CLOSED_PEER);
    if (c->pending > 0 && c->phase == TC__CONN_OPEN) {
        c->phase = TC__CONN_FINISHING;
        watch(c, false);
    } else if (c->phase != TC__CONN_FINISHING) {
        c->phase = TC__CONN_DEAD;
    } else {
        watch(c, false);
    }
}

/* Reads once; how many bytes, 0 when there are none now or ever. */
static size_t read_some(struct tc_conn *c, void *to, size_t len)
{
    ssize_t got = c->io->read(c, to, len);
    if (got > 0) {
        tc_count(TC_COUNT_NET_BYTES_IN, (uint64_t)got);
        return (size_t)got;
    }
    if (got == 0) {
        ended(c);
    } else if (errno != EAGAIN && errno != EINTR) {
        c->eof = true;
        tc__conn_kill(c,
                      errno == ECONNRESET ? TC_COUNT_CONN_CLOSED_PEER : TC_COUNT_CONN_CLOSED_ERROR);
    }
    return 0;
}

/* One read for the protocol; false when the connection has no more for now. */
static bool read_for_proto(struct tc_conn *c, size_t *io_budget)
{
    const struct tc_proto *proto = c->of->proto;
    void *state = tc__conn_state(c);
    size_t want = proto->read_bytes > 0 && proto->read_bytes < TC_NET_READ_BYTES
                      ? proto->read_bytes
                      : TC_NET_READ_BYTES;
    size_t most = proto->read_most != NULL ? proto->read_most(c, state) : want;
    want = most < want ? most : want;
    size_t room = 0;
    void *to = proto->room != NULL ? proto->room(c, state, &room) : NULL;
    want = to != NULL ? room : want;
    size_t got = read_some(c, to != NULL ? to : c->net->shared, want);
    if (got == 0) {
        return false;
    }
    *io_budget -= got < *io_budget ? got : *io_budget;
    c->busy++;
    tc_status status =
        to != NULL ? proto->filled(c, state, got)
                   : proto->input(c, state, tc_slice_make((const char *)c->net->shared, got));
    c->busy--;
    if (status != TC_OK) {
        tc__conn_why(c, TC_COUNT_CONN_CLOSED_ERROR);
        tc_conn_finish(c);
    }
    /* The rest of a body that was read to its place seldom has more behind it: that is worth
     * a wake-up then, and not a failing read now. Nor is more read for a protocol that takes
     * little at once: those bytes may be many requests, and others wait. */
    return got == want && to == NULL && proto->read_bytes == 0;
}

/* Drops what comes, so that closing sends no reset ahead of the answer. */
static void linger(struct tc_conn *c, size_t budget)
{
    size_t got = 0;
    do {
        got = read_some(c, c->net->shared, TC_NET_READ_BYTES);
        c->lingered += got;
        budget -= got < budget ? got : budget;
    } while (got == TC_NET_READ_BYTES && budget > 0);
    if (c->lingered > TC_NET_LINGER_BYTES) {
        tc__conn_kill(c, TC_COUNT_CONN_CLOSED_DONE);
    }
}

static bool is_hung_up(const struct tc_conn *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};
    return c->fd >= 0 && poll(&p, 1, 0) == 1 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/* Something came that is not to be read yet. Whether the peer has closed its side, whatever of its
 * bytes is still to be read. */
static void look_for_end(struct tc_conn *c)
{
    const struct tc_proto *proto = c->of->proto;
    enum tc__waiting waiting = c->io->look != NULL ? c->io->look(c) : TC__WAITING_BYTES;
    if (waiting == TC__WAITING_NONE) {
        return; /* it was read, and more is told of */
    }
    watch(c, false);
    if (proto->peer_closed != NULL && (waiting == TC__WAITING_END || is_hung_up(c))) {
        c->busy++;
        proto->peer_closed(c, tc__conn_state(c));
        c->busy--;
        tc__conn_settle(c);
    }
}

void tc__conn_readable(struct tc_conn *c)
{
    if (c->is_urgent && event_priority_set(c->on_read, TC__ORDINARY) == 0) {
        c->is_urgent = false;
    }
    if (c->phase == TC__CONN_OPEN && c->paused) {
        look_for_end(c);
        return;
    }
    size_t budget = TC_NET_WAKE_BYTES;
    bool more = true;
    c->busy++;
    while (more && budget > 0 && c->phase == TC__CONN_OPEN && !c->paused) {
        more = read_for_proto(c, &budget);
    }
    if ((c->phase == TC__CONN_FINISHING || c->phase == TC__CONN_LINGERING) && !c->eof) {
        linger(c, budget);
    }
    c->busy--;
    if (c->phase == TC__CONN_OPEN && !c->paused && c->fd >= 0 && c->io->buffered != NULL &&
        c->io->buffered(c)) {
        event_active(c->on_read, EV_READ, 0);
    }
    tc__conn_settle(c);
}

void tc__conn_writable(struct tc_conn *c)
{
    if (c->read_wants_write) {
        c->read_wants_write = false;
        wait_writable(c, c->pending > 0);
        tc__conn_readable(c);
        return;
    }
    flush(c);
    tc__conn_settle(c);
}

/* Ending. */

void tc_conn_finish(struct tc_conn *c)
{
    if (c->phase == TC__CONN_OPEN) {
        c->phase = TC__CONN_FINISHING;
        c->proto_at = 0;
        tc_conn_pause(c, false);
        tc__conn_touch(c);
    }
}

void tc_conn_close(struct tc_conn *c)
{
    tc__conn_kill(c, TC_COUNT_CONN_CLOSED_DONE);
}

void tc__conn_settle(struct tc_conn *c)
{
    if (c->busy > 0) {
        return;
    }
    if (c->pending > 0 && c->phase != TC__CONN_DEAD && !c->writing) {
        flush(c);
    } else {
        wait_writable(c, c->pending > 0);
    }
    if (c->phase == TC__CONN_FINISHING && c->pending == 0) {
        c->phase = c->eof ? TC__CONN_DEAD : TC__CONN_LINGERING;
        if (!c->eof) {
            c->io->half_close(c);
            c->own_at = tc_net_mono_ns(c->net) + TC_NET_LINGER_NS;
            tc__timer_update(c);
        }
    }
    if (c->phase == TC__CONN_DEAD && !c->dirty) {
        tc__conn_destroy(c);
    }
}

/* What a protocol may ask. */

const struct tc_net_limits *tc_conn_limits(const struct tc_conn *c)
{
    return &c->net->limits;
}

const struct tc_service *tc_conn_service(const struct tc_conn *c)
{
    return c->of->service;
}

struct tc_pool *tc_conn_pool(const struct tc_conn *c)
{
    return c->of->pool;
}

struct tc_peer tc_conn_peer(const struct tc_conn *c)
{
    return c->peer;
}

struct tc_net *tc_conn_net(const struct tc_conn *c)
{
    return c->net;
}

void tc_conn_deadline(struct tc_conn *c, int64_t at_ns)
{
    if (c->phase == TC__CONN_OPEN) {
        c->proto_at = at_ns;
        tc__timer_update(c);
    }
}
