/* SPDX-License-Identifier: Apache-2.0 */
/* The loop: its life, its listeners, and the memory of its connections. */
#include "net/net.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/time.h"
#include "net/net_priv.h"
#include "observe/loop.h"

#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNS_PER_BLOCK 32
/* Callbacks between two looks at the sockets and the timer: few, so that an urgent connection waits
 * for few. */
#define CALLBACKS_PER_TURN 16

struct tc__conn_block {
    struct tc__conn_block *next;
    max_align_t conns[]; /* CONNS_PER_BLOCK connections, each with its protocol's state */
};

/* Time. */

static int64_t mono_now(void *context)
{
    (void)context;
    return tc_clock_ns(CLOCK_MONOTONIC);
}

static int64_t wall_now(void *context)
{
    (void)context;
    return tc_clock_ns(CLOCK_REALTIME);
}

int64_t tc_net_mono_ns(const struct tc_net *n)
{
    return n->clock.mono(n->clock.context);
}

int64_t tc_net_wall_ns(const struct tc_net *n)
{
    return n->clock.wall(n->clock.context);
}

void tc__net_clock(struct tc_net *n, struct tc__clock clock)
{
    n->clock = clock;
}

struct tc_slice tc__net_date(struct tc_net *n)
{
    static const char days[][4] = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    int64_t now_s = tc_net_wall_ns(n) / TC_SECOND;
    now_s = now_s < 0 ? 0 : now_s;
    if (now_s != n->date_s || n->date[0] == '\0') {
        struct tc_civil t;
        tc_time_to_civil(now_s * TC_SECOND, &t);
        n->date_s = now_s;
        /* 1970-01-01 was a Thursday. */
        (void)snprintf(n->date, sizeof n->date, "%s, %02d %s %04d %02d:%02d:%02d GMT",
                       days[now_s / 86400 % 7], t.day, months[t.month - 1], t.year % 10000, t.hour,
                       t.minute, t.second);
    }
    return tc_slice_cstr(n->date);
}

/* Connections. */

static void on_read(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    tc_loop_enter();
    tc__conn_readable(context);
    tc_loop_leave();
}

static void on_write(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    tc_loop_enter();
    tc__conn_writable(context);
    tc_loop_leave();
}

static size_t conn_stride(const struct tc_proto *proto)
{
    size_t bytes = sizeof(struct tc_conn) + proto->state_bytes;
    return (bytes + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
}

static bool grow(struct tc__listener *l)
{
    size_t stride = conn_stride(l->proto);
    struct tc__conn_block *b = calloc(1, sizeof *b + CONNS_PER_BLOCK * stride);
    if (b == NULL) {
        return false;
    }
    b->next = l->blocks;
    l->blocks = b;
    for (size_t i = 0; i < CONNS_PER_BLOCK; i++) {
        struct tc_conn *c = (struct tc_conn *)((char *)b->conns + i * stride);
        c->next_free = l->waiting;
        l->waiting = c;
    }
    return true;
}

/* Events are made once for each slot, and told of another socket each time. */
static bool prepare_events(struct tc_conn *c, int fd)
{
    struct event_base *base = c->net->base;
    if (c->on_read == NULL) {
        c->on_read = event_new(base, -1, 0, on_read, c);
    }
    if (c->on_write == NULL) {
        c->on_write = event_new(base, -1, 0, on_write, c);
    }
    return c->on_read != NULL && c->on_write != NULL &&
           event_assign(c->on_read, base, fd, EV_READ | EV_PERSIST, on_read, c) == 0 &&
           event_assign(c->on_write, base, fd, EV_WRITE | EV_PERSIST, on_write, c) == 0 &&
           (!c->is_urgent || event_priority_set(c->on_read, TC__URGENT) == 0);
}

static struct tc_conn *take_slot(struct tc__listener *l, int fd)
{
    struct tc_net *n = l->net;
    if (!tc__timer_reserve(n, n->connections + 1) || (l->waiting == NULL && !grow(l))) {
        return NULL;
    }
    struct tc_conn *c = l->waiting;
    struct event *read_event = c->on_read;
    struct event *write_event = c->on_write;
    struct tc_conn *next = c->next_free;
    /* All but the bytes of the inline output, which are written before they are read. */
    memset(c, 0, offsetof(struct tc_conn, inline_out));
    memset(tc__conn_state(c), 0, l->proto->state_bytes);
    c->net = n;
    c->of = l;
    c->on_read = read_event;
    c->on_write = write_event;
    c->fd = fd;
    c->heap_index = SIZE_MAX;
    c->why = TC_COUNT_CONN_CLOSED_DONE;
    c->next_free = next;
    c->is_urgent = tc__net_take_urgent(l);
    if (!prepare_events(c, fd)) {
        return NULL;
    }
    l->waiting = next;
    c->next_free = NULL;
    return c;
}

struct tc_conn *tc__net_attach(struct tc__listener *l, int fd, const struct tc__io *io,
                               void *io_state)
{
    struct tc_net *n = l->net;
    struct tc_conn *c = take_slot(l, fd);
    if (c == NULL) {
        return NULL;
    }
    c->io = io;
    c->io_state = io_state;
    c->all.next = n->all;
    if (n->all != NULL) {
        n->all->all.prev = c;
    }
    n->all = c;
    n->connections++;
    l->connections++;
    tc_count(TC_COUNT_CONN_ACCEPTED, 1);
    tc_gauge(TC_COUNT_CONN_OPEN, (int64_t)n->connections);
    c->busy++;
    tc_status status = l->proto->open(c, tc__conn_state(c));
    c->busy--;
    if (status != TC_OK) {
        tc__conn_kill(c, TC_COUNT_CONN_CLOSED_ERROR);
    } else {
        tc_conn_pause(c, c->paused);
        tc__conn_touch(c); /* what open wrote */
    }
    return c;
}

void tc__conn_destroy(struct tc_conn *c)
{
    struct tc_net *n = c->net;
    struct tc__listener *l = c->of;
    TC_ASSERT(c->busy == 0 && !c->dirty);
    c->phase = TC__CONN_DEAD;
    c->busy++; /* what close says to the connection is not acted upon */
    l->proto->close(c, tc__conn_state(c));
    c->busy--;
    (void)event_del(c->on_read);
    (void)event_del(c->on_write);
    tc__timer_remove(c);
    tc__conn_drop_output(c);
    c->io->close(c);
    if (c->all.prev != NULL) {
        c->all.prev->all.next = c->all.next;
    } else {
        n->all = c->all.next;
    }
    if (c->all.next != NULL) {
        c->all.next->all.prev = c->all.prev;
    }
    c->next_free = l->waiting;
    l->waiting = c;
    n->connections--;
    l->connections--;
    tc_count(c->why, 1);
    tc_gauge(TC_COUNT_CONN_OPEN, (int64_t)n->connections);
}

size_t tc_net_connections(const struct tc_net *n)
{
    return n->connections;
}

/* The loop's own callbacks. */

void tc__net_turn(struct tc_net *n)
{
    while (n->dirty != NULL) {
        struct tc_conn *c = n->dirty;
        n->dirty = c->next_dirty;
        c->dirty = false;
        tc__conn_settle(c);
    }
    n->dirty_woken = false;
}

static void on_dirty(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    tc_loop_enter();
    tc__net_turn(context);
    tc_loop_leave();
}

static void listen_again(struct tc_net *n)
{
    n->accept_at = 0;
    for (size_t i = 0; i < n->listener_count; i++) {
        struct tc__listener *l = &n->listeners[i];
        if (l->on_accept != NULL && event_add(l->on_accept, NULL) != 0) {
            n->accept_at = tc_net_mono_ns(n) + TC_NET_ACCEPT_REST_NS; /* once more */
        }
    }
}

void tc__net_tick(struct tc_net *n)
{
    n->timer_at = 0;
    int64_t now = tc_net_mono_ns(n);
    if (n->accept_at != 0 && n->accept_at <= now) {
        listen_again(n);
    }
    size_t left = 2 * n->connections; /* a deadline that is set into the past waits for its turn */
    struct tc_conn *c = tc__timer_due(n, now);
    while (c != NULL && left-- > 0) {
        if (c->own_at != 0 && c->own_at <= now) {
            c->own_at = 0;
            tc__conn_kill(c, c->phase == TC__CONN_LINGERING ? TC_COUNT_CONN_CLOSED_DONE
                                                            : TC_COUNT_CONN_CLOSED_TIMEOUT_WRITE);
        } else {
            c->proto_at = 0;
            c->busy++;
            c->of->proto->expired(c, tc__conn_state(c));
            c->busy--;
            tc__conn_touch(c);
        }
        c = tc__timer_due(n, now);
    }
    tc__timer_arm(n);
}

static void on_timer(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    tc_loop_enter();
    tc__net_tick(context);
    tc_loop_leave();
}

struct tc_net *tc_net_create(const struct tc_net_limits *limits, struct tc_pool *pool)
{
    struct tc_net *n = calloc(1, sizeof *n);
    struct event_config *config = event_config_new();
    if (n == NULL || config == NULL) {
        goto failed;
    }
    n->pool = pool;
    n->limits = *limits;
    n->clock = (struct tc__clock){mono_now, wall_now, NULL};
    /* A callback that wakes itself (TLS with more to read) must not keep the sockets waiting. */
    (void)event_config_set_max_dispatch_interval(config, NULL, CALLBACKS_PER_TURN, TC__ORDINARY);
    n->base = event_base_new_with_config(config);
    n->requests = tc__requests_create();
    n->shared = malloc(TC_NET_READ_BYTES);
    if (n->base == NULL || event_base_priority_init(n->base, TC__PRIORITIES) != 0 ||
        n->requests == NULL || n->shared == NULL) {
        goto failed;
    }
    n->on_dirty = event_new(n->base, -1, 0, on_dirty, n);
    n->on_timer = evtimer_new(n->base, on_timer, n);
    if (n->on_dirty == NULL || n->on_timer == NULL || !tc__net_memory_init(n)) {
        goto failed;
    }
    event_config_free(config);
    (void)signal(SIGPIPE, SIG_IGN);
    return n;
failed:
    if (config != NULL) {
        event_config_free(config);
    }
    tc_net_destroy(n);
    return NULL;
}

void tc_net_limit(struct tc_net *n, const struct tc_net_limits *limits)
{
    n->limits = *limits;
}

struct event_base *tc_net_base(struct tc_net *n)
{
    return n->base;
}

static void close_listener(struct tc__listener *l)
{
    if (l->on_accept != NULL) {
        event_free(l->on_accept);
        l->on_accept = NULL;
    }
    if (l->fd >= 0) {
        (void)close(l->fd);
        l->fd = -1;
    }
}

void tc__listener_fini(struct tc__listener *l)
{
    close_listener(l);
    for (struct tc_conn *c = l->waiting; c != NULL; c = c->next_free) {
        if (c->on_read != NULL) {
            event_free(c->on_read);
        }
        if (c->on_write != NULL) {
            event_free(c->on_write);
        }
    }
    while (l->blocks != NULL) {
        struct tc__conn_block *next = l->blocks->next;
        free(l->blocks);
        l->blocks = next;
    }
    tc__tls_context_free(l->tls);
    free(l->cert_path);
    free(l->key_path);
    free(l->client_ca_path);
}

void tc_net_destroy(struct tc_net *n)
{
    if (n == NULL) {
        return;
    }
    for (struct tc_conn *c = n->all; c != NULL; c = c->all.next) {
        tc__conn_kill(c, TC_COUNT_CONN_CLOSED_SHUTDOWN);
    }
    tc__net_turn(n);
    tc__net_memory_fini(n);
    for (size_t i = 0; i < n->listener_count; i++) {
        tc__listener_fini(&n->listeners[i]);
    }
    if (n->on_dirty != NULL) {
        event_free(n->on_dirty);
    }
    if (n->on_timer != NULL) {
        event_free(n->on_timer);
    }
    if (n->base != NULL) {
        event_base_free(n->base);
    }
    tc__requests_destroy(n->requests);
    free(n->heap);
    free(n->shared);
    free(n);
}

void tc_net_shutdown(struct tc_net *n)
{
    n->ending = true;
    n->accept_at = 0;
    for (size_t i = 0; i < n->listener_count; i++) {
        close_listener(&n->listeners[i]);
    }
    for (struct tc_conn *c = n->all; c != NULL; c = c->all.next) {
        if (c->phase == TC__CONN_OPEN) {
            c->busy++;
            c->of->proto->shutdown(c, tc__conn_state(c));
            c->busy--;
            tc__conn_touch(c);
        }
    }
}
