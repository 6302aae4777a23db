/* SPDX-License-Identifier: Apache-2.0 */
#include "server/warehouse/service.h"

#include "base/clock.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "server/warehouse/service_priv.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 64
/* The listener, what wakes us up, and the clients. */
#define POLL_MAX (TC_WAREHOUSE_CLIENTS_MAX + 2)
/* When a descriptor or a thread cannot be had: before the next try. */
#define SHORTAGE_MS 100
/* Before a query that did not end is interrupted again. */
#define INTERRUPT_MS 50

struct tc_warehouse_service {
    struct tc_warehouse_service_config config;
    struct tc_warehouse_hub *hub;
    int listen_fd;
    int wake_fd; /* eventfd: look at the clients again, or at `stopping` */
    pthread_t thread;
    pthread_mutex_t lock; /* of stopping, and of each client's state */
    bool stopping;
    int64_t stop_by_ns; /* monotonic; until then clients are waited for */
    size_t stuck;       /* clients that did not end */
    struct tc__warehouse_client clients[TC_WAREHOUSE_CLIENTS_MAX];
};

static void poke(int fd)
{
    uint64_t one = 1;
    ssize_t n = write(fd, &one, sizeof one);
    (void)n; /* one that is full is readable as well */
}

static void calm(int fd)
{
    uint64_t count = 0;
    ssize_t n = read(fd, &count, sizeof count);
    (void)n;
}

/* ---- a client's thread, as its file sees the service ---- */

void tc__warehouse_client_busy(struct tc__warehouse_client *c, bool busy)
{
    struct tc_warehouse_service *s = c->service;
    (void)pthread_mutex_lock(&s->lock);
    c->busy = busy;
    c->noticed = false;
    c->gave_up = false;
    (void)pthread_mutex_unlock(&s->lock);
    if (busy) {
        poke(s->wake_fd); /* from now on its socket is watched */
    }
}

const struct tc_warehouse_service_config *tc__warehouse_config(const struct tc_warehouse_service *s)
{
    return &s->config;
}

struct tc_warehouse_hub *tc__warehouse_hub(const struct tc_warehouse_service *s)
{
    return s->hub;
}

static void *client_main(void *context)
{
    struct tc__warehouse_client *c = context;
    struct tc_warehouse_service *s = c->service;
    tc__warehouse_client_serve(c);
    tc_wire_link_fini(&c->link);
    (void)pthread_mutex_lock(&s->lock);
    c->state = TC__CLIENT_ENDED;
    (void)pthread_mutex_unlock(&s->lock);
    poke(s->wake_fd);
    return NULL;
}

/* ---- accepting ---- */

/* Another user's process, though the socket's mode should have kept it away. */
static bool is_stranger(int fd)
{
    struct ucred peer = {0};
    socklen_t len = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0 ||
           (peer.uid != geteuid() && peer.uid != 0);
}

/* Tells somebody who is not served why; as much as fits into the socket. */
static void turn_away(int fd, tc_status status, const char *why)
{
    struct tc_wire_out out = {0};
    struct tc_error err = {0};
    (void)!tc_fail(&err, status, 0, "%s", why);
    tc_wire_begin(&out, TC_WIRE_ERROR);
    tc_wire_put_error(&out, &err);
    if (tc_wire_end(&out, NULL) == TC_OK) {
        (void)!send(fd, out.data, out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    tc_wire_out_fini(&out);
    (void)close(fd);
}

static struct tc__warehouse_client *find_free(struct tc_warehouse_service *s)
{
    struct tc__warehouse_client *found = NULL;
    (void)pthread_mutex_lock(&s->lock); /* those that end write their state */
    for (size_t i = 0; i < s->config.clients && found == NULL; i++) {
        found = s->clients[i].state == TC__CLIENT_FREE ? &s->clients[i] : NULL;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return found;
}

static void start_client(struct tc_warehouse_service *s, int fd)
{
    struct tc__warehouse_client *c = find_free(s);
    if (is_stranger(fd)) {
        tc_count(TC_COUNT_WAREHOUSE_REFUSED, 1);
        turn_away(fd, TC_E_USAGE, "the daemon runs as another user: only that one may ask it");
        return;
    }
    if (c == NULL) {
        tc_count(TC_COUNT_WAREHOUSE_REFUSED, 1);
        turn_away(fd, TC_E_LIMIT,
                  "the daemon serves as many commands as it may; try again, or raise "
                  "warehouse.clients");
        return;
    }
    *c = (struct tc__warehouse_client){
        .service = s,
        .state = TC__CLIENT_RUNS,
        .link = {.fd = fd, .wake_fd = tc_warehouse_hub_leave_fd(s->hub), .leaves = true},
    };
    int code = pthread_create(&c->thread, NULL, client_main, c);
    if (code != 0) {
        c->state = TC__CLIENT_FREE;
        turn_away(fd, TC_E_LIMIT, "the daemon has no thread to spare; try again");
        return;
    }
    tc_count(TC_COUNT_WAREHOUSE_CLIENTS, 1);
}

static void accept_all(struct tc_warehouse_service *s)
{
    for (size_t i = 0; i < BACKLOG; i++) {
        int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            start_client(s, fd);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            tc_log_fields(TC_LOG_WARN, "a command that asks for the warehouse has to wait",
                          TC_LOG_CSTR("error", strerror(errno)));
            (void)poll(NULL, 0, SHORTAGE_MS);
        }
        return;
    }
}

/* ---- watching ---- */

static void reap(struct tc_warehouse_service *s)
{
    for (size_t i = 0; i < s->config.clients; i++) {
        struct tc__warehouse_client *c = &s->clients[i];
        (void)pthread_mutex_lock(&s->lock);
        bool ended = c->state == TC__CLIENT_ENDED;
        (void)pthread_mutex_unlock(&s->lock);
        if (ended) {
            (void)pthread_join(c->thread, NULL);
            c->state = TC__CLIENT_FREE;
        }
    }
}

/* Whether whoever asked has cancelled or is gone. Takes nothing from the socket. */
static bool gives_up(int fd, short events)
{
    char head[TC_WIRE_HEAD_BYTES];
    ssize_t n = recv(fd, head, sizeof head, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) ||
           (events & (POLLERR | POLLHUP)) != 0 ||
           (n > 0 && tc_wire_is_bare(tc_slice_make(head, (size_t)n), TC_WIRE_CANCEL));
}

/* Holds the lock. An engine that has not begun yet does not hear it: so it is said again. */
static void interrupt(struct tc__warehouse_client *c)
{
    if (c->state == TC__CLIENT_RUNS && c->busy) {
        tc_warehouse_interrupt(c->warehouse);
    }
}

static void notice(struct tc_warehouse_service *s, struct tc__warehouse_client *c, short events)
{
    (void)pthread_mutex_lock(&s->lock);
    if (c->state == TC__CLIENT_RUNS && c->busy && !c->noticed) {
        c->noticed = true; /* what is there stays there: it is not looked at again */
        c->gave_up = gives_up(c->link.fd, events);
        if (c->gave_up) {
            interrupt(c);
        }
    }
    (void)pthread_mutex_unlock(&s->lock);
}

/* Whom to watch. Interrupts those again that gave up and still run; *out_wait_ms is short then. */
static nfds_t list_watched(struct tc_warehouse_service *s, struct pollfd *fds,
                           struct tc__warehouse_client **whose, int *out_wait_ms)
{
    nfds_t count = 2;
    *out_wait_ms = -1;
    for (size_t i = 0; i < s->config.clients; i++) {
        struct tc__warehouse_client *c = &s->clients[i];
        if (c->state != TC__CLIENT_RUNS || !c->busy) {
            continue;
        }
        if (c->gave_up) {
            interrupt(c);
            *out_wait_ms = INTERRUPT_MS;
        } else if (!c->noticed) {
            whose[count] = c;
            fds[count++] = (struct pollfd){.fd = c->link.fd, .events = POLLIN | POLLRDHUP};
        }
    }
    return count;
}

static bool watch(struct tc_warehouse_service *s)
{
    struct pollfd fds[POLL_MAX] = {{.fd = s->wake_fd, .events = POLLIN},
                                   {.fd = s->listen_fd, .events = POLLIN}};
    struct tc__warehouse_client *whose[POLL_MAX] = {NULL};
    int wait_ms = -1;
    (void)pthread_mutex_lock(&s->lock);
    bool stopping = s->stopping;
    nfds_t count = list_watched(s, fds, whose, &wait_ms);
    (void)pthread_mutex_unlock(&s->lock);
    if (stopping) {
        return false;
    }
    if (poll(fds, count, wait_ms) < 0) {
        return true;
    }
    if (fds[0].revents != 0) {
        calm(s->wake_fd);
    }
    reap(s);
    for (nfds_t i = 2; i < count; i++) {
        if (fds[i].revents != 0) {
            notice(s, whose[i], fds[i].revents);
        }
    }
    if (fds[1].revents != 0) {
        accept_all(s);
    }
    return true;
}

/* Interrupts all that query; how many still run. */
static size_t interrupt_all(struct tc_warehouse_service *s)
{
    size_t running = 0;
    (void)pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->config.clients; i++) {
        interrupt(&s->clients[i]);
        running += s->clients[i].state == TC__CLIENT_RUNS;
    }
    (void)pthread_mutex_unlock(&s->lock);
    reap(s);
    return running;
}

/*
 * All clients end: those that wait see the hub's descriptor, those that query are interrupted. An
 * engine that is in the middle of one long function hears nothing: it is not waited for for ever.
 */
static void end_clients(struct tc_warehouse_service *s)
{
    while ((s->stuck = interrupt_all(s)) > 0 && tc_mono_ns() < s->stop_by_ns) {
        struct pollfd wake = {.fd = s->wake_fd, .events = POLLIN};
        (void)poll(&wake, 1, INTERRUPT_MS);
        calm(s->wake_fd);
    }
}

static void *service_main(void *context)
{
    struct tc_warehouse_service *s = context;
    while (watch(s)) {
    }
    end_clients(s);
    return NULL;
}

/* ---- life ---- */

static void destroy(struct tc_warehouse_service *s)
{
    int fds[] = {s->listen_fd, s->wake_fd};
    for (size_t i = 0; i < TC_COUNT(fds); i++) {
        if (fds[i] >= 0) {
            (void)close(fds[i]);
        }
    }
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
}

tc_status tc_warehouse_service_start(const struct tc_warehouse_service_config *config,
                                     struct tc_warehouse_hub *hub,
                                     struct tc_warehouse_service **out_service,
                                     struct tc_error *err)
{
    struct tc_warehouse_service *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the warehouse's socket");
    }
    s->config = *config;
    s->config.clients =
        config->clients > TC_WAREHOUSE_CLIENTS_MAX ? TC_WAREHOUSE_CLIENTS_MAX : config->clients;
    s->hub = hub;
    s->listen_fd = -1;
    s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)pthread_mutex_init(&s->lock, NULL);
    tc_status status = s->wake_fd < 0
                           ? tc_fail(err, TC_E_IO, 0, "no descriptor for the warehouse's socket")
                           : tc_wire_listen(config->data_dir, BACKLOG, &s->listen_fd, err);
    sigset_t all;
    sigset_t old;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the loop's thread */
    int code = status == TC_OK ? pthread_create(&s->thread, NULL, service_main, s) : 0;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (code != 0) {
        status = tc_fail(err, TC_E_IO, 0, "no thread for the warehouse's socket");
    }
    if (status != TC_OK) {
        destroy(s);
        return status;
    }
    *out_service = s;
    return TC_OK;
}

bool tc_warehouse_service_stop(struct tc_warehouse_service *s, int64_t wait_ns)
{
    if (s == NULL) {
        return true;
    }
    tc_wire_unlink(s->config.data_dir);
    (void)pthread_mutex_lock(&s->lock);
    s->stopping = true;
    s->stop_by_ns = tc_mono_ns() + wait_ns;
    (void)pthread_mutex_unlock(&s->lock);
    poke(s->wake_fd);
    (void)pthread_join(s->thread, NULL);
    if (s->stuck > 0) {
        tc_log_fields(TC_LOG_WARN, "queries do not end when they are told to; ending without them",
                      TC_LOG_NUMBER("queries", (int64_t)s->stuck));
        return false; /* they still use it */
    }
    destroy(s);
    return true;
}
