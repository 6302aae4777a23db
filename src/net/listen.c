/* SPDX-License-Identifier: Apache-2.0 */
/* Listening and accepting. */
#include "net/net_priv.h"
#include "observe/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESS_MAX 256
#define BACKLOG 1024

/* Plain sockets. */

static ssize_t plain_read(struct tc_conn *c, void *to, size_t len)
{
    return recv(c->fd, to, len, 0);
}

static ssize_t plain_write(struct tc_conn *c, const struct iovec *iov, int count)
{
    struct iovec list[TC_NET_IOV_MAX];
    memcpy(list, iov, (size_t)count * sizeof *iov);
    struct msghdr message = {.msg_iov = list, .msg_iovlen = (size_t)count};
    return sendmsg(c->fd, &message, MSG_NOSIGNAL);
}

static void plain_half_close(struct tc_conn *c)
{
    (void)shutdown(c->fd, SHUT_WR);
}

static void plain_close(struct tc_conn *c)
{
    (void)close(c->fd);
}

static const struct tc__io io_plain = {
    .read = plain_read,
    .write = plain_write,
    .half_close = plain_half_close,
    .close = plain_close,
};

/* Accepting. */

/* Out of files or memory: the connections that wait in the kernel are not lost by waiting, and a
 * loop that tries again at once would do nothing else. */
static void rest(struct tc_net *n)
{
    tc_count(TC_COUNT_CONN_REFUSED_RESOURCES, 1);
    for (size_t i = 0; i < n->listener_count; i++) {
        if (n->listeners[i].on_accept != NULL) {
            (void)event_del(n->listeners[i].on_accept);
        }
    }
    n->accept_at = tc_net_mono_ns(n) + TC_NET_ACCEPT_REST_NS;
    tc__timer_arm(n);
}

/*
 * Over the limit a sender is told so and closed at once: it can back off, or go elsewhere. Left in
 * the kernel's queue it would wait for a server that looks alive, until its own timeout.
 */
static void refuse(const struct tc__listener *l, int fd)
{
    tc_count(TC_COUNT_CONN_REFUSED_LIMIT, 1);
    struct tc_slice words = l->tls == NULL ? l->proto->refusal : TC_EMPTY;
    if (words.len > 0) {
        (void)send(fd, words.ptr, words.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)shutdown(fd, SHUT_WR);
    }
    (void)close(fd);
}

static struct tc_peer peer_of(const struct sockaddr_storage *address)
{
    struct tc_peer peer = {.is_v6 = false};
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
        memcpy(peer.bytes, &v4->sin_addr, sizeof v4->sin_addr);
    } else if (address->ss_family == AF_INET6) {
        const struct in6_addr *v6 =
            &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
        bool is_mapped = IN6_IS_ADDR_V4MAPPED(v6);
        peer.is_v6 = !is_mapped;
        memcpy(peer.bytes, v6->s6_addr + (is_mapped ? 12 : 0), is_mapped ? 4 : sizeof peer.bytes);
    }
    return peer;
}

static bool accept_connection(struct tc__listener *l, int fd, struct tc_peer peer)
{
    static const int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    void *session = l->tls != NULL ? tc__tls_session(l->tls, fd) : NULL;
    struct tc_conn *c = NULL;
    if (l->tls == NULL || session != NULL) {
        c = tc__net_attach(l, fd, session != NULL ? &tc__io_tls : &io_plain, session);
    }
    if (c == NULL) {
        tc__tls_session_free(session);
        (void)close(fd);
        return false;
    }
    c->peer = peer;
    return true;
}

static void accept_some(struct tc__listener *l, int fd)
{
    struct tc_net *n = l->net;
    /* Those who come too often wait as the others do, also to be accepted. */
    (void)event_priority_set(l->on_accept, tc__net_urgent_left(l) ? TC__URGENT : TC__ORDINARY);
    for (int i = 0; i < TC_NET_ACCEPTS_PER_WAKE; i++) {
        struct sockaddr_storage address = {0};
        socklen_t address_len = sizeof address;
        int peer =
            accept4(fd, (struct sockaddr *)&address, &address_len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (peer >= 0 && !tc__net_has_room(l) && !tc__net_evict(l, false)) {
            refuse(l, peer);
        } else if (peer >= 0) {
            if (!accept_connection(l, peer, peer_of(&address))) {
                rest(n);
                return;
            }
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            if (!tc__net_evict(l, true)) {
                rest(n);
                return;
            }
        } else if (errno == EAGAIN) {
            return;
        } /* anything else is about the one connection that was to be accepted */
    }
}

static void on_accept(evutil_socket_t fd, short what, void *context)
{
    (void)what;
    tc_loop_enter();
    accept_some(context, fd);
    tc_loop_leave();
}

/* Listening. */

/* "host:port" and "[v6]:port" into two strings. */
static bool split(const char *address, char *host, size_t host_cap, const char **out_port)
{
    const char *colon = strrchr(address, ':');
    if (colon == NULL || colon[1] == '\0') {
        return false;
    }
    size_t len = (size_t)(colon - address);
    if (len >= 2 && address[0] == '[' && address[len - 1] == ']') {
        address++;
        len -= 2;
    } else if (memchr(address, ':', len) != NULL) {
        return false;
    }
    if (len == 0 || len >= host_cap) {
        return false;
    }
    memcpy(host, address, len);
    host[len] = '\0';
    *out_port = colon + 1;
    return true;
}

static int open_socket(const struct addrinfo *info)
{
    static const int on = 1;
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (fd < 0) {
        return -1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, info->ai_addr, info->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
        int error = errno;
        (void)close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static tc_status open_address(const char *address, int *out_fd, struct tc_error *err)
{
    char host[ADDRESS_MAX];
    const char *port = NULL;
    if (!split(address, host, sizeof host, &port)) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "%s: not an address to listen on; write host:port, such as 127.0.0.1:4318 "
                       "or [::1]:4318, and 0.0.0.0 for all interfaces",
                       address);
    }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int code = getaddrinfo(host, port, &hints, &found);
    if (code != 0) {
        return tc_fail(err, TC_E_USAGE, 0, "%s: %s; name an address of this machine and a port",
                       address, gai_strerror(code));
    }
    int fd = -1;
    int error = 0;
    for (const struct addrinfo *i = found; i != NULL && fd < 0; i = i->ai_next) {
        fd = open_socket(i);
        error = fd < 0 ? errno : 0;
    }
    freeaddrinfo(found);
    if (fd >= 0) {
        *out_fd = fd;
        return TC_OK;
    }
    const char *remedy = "choose another address";
    if (error == EADDRINUSE) {
        remedy = "stop what listens there, or choose another port";
    } else if (error == EACCES) {
        remedy = "ports below 1024 need a privilege; choose a higher one";
    } else if (error == EADDRNOTAVAIL) {
        remedy = "it is no address of this machine";
    }
    return tc_fail(err, TC_E_IO, 0, "cannot listen on %s: %s; %s", address, strerror(error),
                   remedy);
}

static uint16_t port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } name = {0};
    socklen_t len = sizeof name;
    if (getsockname(fd, &name.any, &len) != 0) {
        return 0;
    }
    return ntohs(name.any.sa_family == AF_INET6 ? name.v6.sin6_port : name.v4.sin_port);
}

struct tc__listener *tc__net_listener(struct tc_net *n, const struct tc_proto *proto,
                                      const struct tc_service *service)
{
    if (n->listener_count == TC_NET_LISTENERS_MAX) {
        return NULL;
    }
    struct tc__listener *l = &n->listeners[n->listener_count++];
    *l = (struct tc__listener){
        .net = n, .pool = n->pool, .proto = proto, .service = service, .fd = -1};
    return l;
}

/* From its files, as they are now. */
static tc_status read_tls(const struct tc__listener *l, struct ssl_ctx_st **out,
                          struct tc_error *err)
{
    struct tc_net_tls files = {l->cert_path, l->key_path, l->client_ca_path};
    return tc__tls_context(&files, l->proto->name, out, err);
}

static tc_status load_tls(struct tc__listener *l, const struct tc_net_tls *tls,
                          struct tc_error *err)
{
    bool asks = tls->client_ca_path != NULL && tls->client_ca_path[0] != '\0';
    l->cert_path = strdup(tls->cert_path);
    l->key_path = strdup(tls->key_path);
    l->client_ca_path = asks ? strdup(tls->client_ca_path) : NULL;
    if (l->cert_path == NULL || l->key_path == NULL || (asks && l->client_ca_path == NULL)) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a listener");
    }
    return read_tls(l, &l->tls, err);
}

/* pool: the listener's own, NULL: it shares. */
static tc_status listen_with(struct tc_net *n, const char *address, const struct tc_proto *proto,
                             const struct tc_service *service, const struct tc_net_tls *tls,
                             struct tc_pool *pool, uint16_t *out_port, struct tc_error *err)
{
    int fd = -1;
    TC_TRY(open_address(address, &fd, err));
    struct tc__listener *l = tc__net_listener(n, proto, service);
    if (l == NULL) {
        (void)close(fd);
        return tc_fail(err, TC_E_LIMIT, 0, "%s: more than %d addresses to listen on", address,
                       TC_NET_LISTENERS_MAX);
    }
    l->fd = fd;
    if (pool != NULL) {
        l->is_apart = true;
        l->pool = pool;
        tc__net_memory_watch(n, pool);
    }
    tc_status status = tls == NULL ? TC_OK : load_tls(l, tls, err);
    if (status == TC_OK) {
        l->on_accept = event_new(n->base, fd, EV_READ | EV_PERSIST, on_accept, l);
        if (l->on_accept == NULL ||
            event_priority_set(l->on_accept, l->is_apart ? TC__URGENT : TC__ORDINARY) != 0 ||
            event_add(l->on_accept, NULL) != 0) {
            status = tc_fail(err, TC_E_NOMEM, 0, "no memory for a listener");
        }
    }
    if (status != TC_OK) {
        tc__listener_fini(l);
        n->listener_count--;
        return status;
    }
    if (out_port != NULL) {
        *out_port = port_of(fd);
    }
    return TC_OK;
}

tc_status tc_net_listen(struct tc_net *n, const char *address, const struct tc_proto *proto,
                        const struct tc_service *service, const struct tc_net_tls *tls,
                        uint16_t *out_port, struct tc_error *err)
{
    return listen_with(n, address, proto, service, tls, NULL, out_port, err);
}

tc_status tc_net_listen_apart(struct tc_net *n, const char *address, const struct tc_proto *proto,
                              const struct tc_service *service, const struct tc_net_tls *tls,
                              struct tc_pool *pool, uint16_t *out_port, struct tc_error *err)
{
    return listen_with(n, address, proto, service, tls, pool, out_port, err);
}

tc_status tc_net_reload_tls(struct tc_net *n, struct tc_error *err)
{
    tc_status first = TC_OK;
    for (size_t i = 0; i < n->listener_count; i++) {
        struct tc__listener *l = &n->listeners[i];
        struct ssl_ctx_st *fresh = NULL;
        if (l->tls == NULL) {
            continue;
        }
        tc_status status = read_tls(l, &fresh, first == TC_OK ? err : NULL);
        if (status == TC_OK) {
            tc__tls_context_free(l->tls); /* sessions that run keep theirs */
            l->tls = fresh;
        } else if (first == TC_OK) {
            first = status;
        }
    }
    return first;
}
