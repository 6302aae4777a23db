/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection: non-blocking sockets and poll, so that a deadline and another thread's wish to
 * stop end every wait. TLS goes through a BIO of our own, which never raises SIGPIPE.
 */
#include "base/clock.h"
#include "base/time.h"
#include "http_client/http_client_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* One wait: long enough to be cheap, and what is left of a deadline fits an int of milliseconds. */
#define WAIT_MAX_MS 60000

static int wait_ms(int64_t until_ns)
{
    int64_t left_ms = (until_ns - tc_mono_ns() + 999999) / 1000000;
    return (int)(left_ms < 0 ? 0 : left_ms > WAIT_MAX_MS ? WAIT_MAX_MS : left_ms);
}

/* Waits until the socket is ready for `events`, which come back in *out_ready (may be NULL). */
static tc_status wait_ready(const struct tc__http_conn *c, short events, int64_t until_ns,
                            short *out_ready, const char *what, struct tc_error *err)
{
    for (;;) {
        struct pollfd fds[2] = {{.fd = c->fd, .events = events},
                                {.fd = c->stop_fd, .events = POLLIN}};
        int ms = wait_ms(until_ns);
        int count = poll(fds, 2, ms);
        if (count < 0 && errno != EINTR) {
            return tc_fail(err, TC_E_IO, 0, "%s: poll: %s", c->url->authority, strerror(errno));
        }
        if (count > 0 && fds[1].revents != 0) {
            return tc_fail(err, TC_E_IO, 0, "%s: stopped while %s", c->url->authority, what);
        }
        if (count > 0 && fds[0].revents != 0) {
            if (out_ready != NULL) {
                *out_ready = fds[0].revents;
            }
            return TC_OK;
        }
        if (wait_ms(until_ns) == 0) {
            return tc_fail(err, TC_E_IO, 0,
                           "%s: timed out while %s; is it up, and is the time limit long enough?",
                           c->url->authority, what);
        }
    }
}

/* ---- TLS ----------------------------------------------------------------------------------- */

static int bio_fd(BIO *b)
{
    const struct tc__http_conn *c = BIO_get_data(b);
    return c->fd;
}

static int bio_result(BIO *b, ssize_t n, int retry)
{
    BIO_clear_retry_flags(b);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        BIO_set_flags(b, retry | BIO_FLAGS_SHOULD_RETRY);
    }
    return (int)n;
}

static int bio_write(BIO *b, const char *data, int len)
{
    return bio_result(b, send(bio_fd(b), data, (size_t)len, MSG_NOSIGNAL), BIO_FLAGS_WRITE);
}

static int bio_read(BIO *b, char *data, int len)
{
    return bio_result(b, recv(bio_fd(b), data, (size_t)len, 0), BIO_FLAGS_READ);
}

static long bio_ctrl(BIO *b, int command, long number, void *pointer)
{
    (void)b;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

/* The reason of OpenSSL's last error. */
static const char *tls_reason(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    return reason == NULL ? "the connection was closed" : reason;
}

static tc_status prepare_tls(struct tc__http_conn *c, struct tc_error *err)
{
    if (c->ctx == NULL) {
        SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
        if (ctx == NULL || SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1 ||
            SSL_CTX_set_default_verify_paths(ctx) != 1) {
            SSL_CTX_free(ctx);
            return tc_fail(err, TC_E_IO, 0, "%s: TLS cannot be set up: %s", c->url->authority,
                           tls_reason());
        }
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
        (void)SSL_CTX_set_mode(ctx,
                               SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        c->ctx = ctx;
    }
    if (c->bio == NULL) {
        BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tracecore");
        if (method == NULL || BIO_meth_set_write(method, bio_write) != 1 ||
            BIO_meth_set_read(method, bio_read) != 1 || BIO_meth_set_ctrl(method, bio_ctrl) != 1) {
            BIO_meth_free(method);
            return tc_fail(err, TC_E_NOMEM, 0, "no memory for TLS");
        }
        c->bio = method;
    }
    return TC_OK;
}

static bool expect_peer(SSL *ssl, const struct tc__http_url *url)
{
    if (url->is_literal) {
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), url->host) == 1;
    }
    char name[TC__HTTP_HOST_MAX]; /* the macro takes no const, and copies */
    memcpy(name, url->host, sizeof name);
    return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

/* Whether OpenSSL wants to be called again, after waiting for *out_events. */
static bool tls_wants(SSL *ssl, int result, short *out_events)
{
    int why = SSL_get_error(ssl, result);
    *out_events = why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
}

static tc_status fail_handshake(struct tc__http_conn *c, struct tc_error *err)
{
    long verdict = SSL_get_verify_result(c->ssl);
    if (verdict != X509_V_OK) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "%s: its certificate is not trusted: %s; SSL_CERT_FILE can name a PEM file "
                       "with the authority's",
                       c->url->authority, X509_verify_cert_error_string(verdict));
    }
    return tc_fail(err, TC_E_IO, 0, "%s: TLS handshake: %s; does it speak https?",
                   c->url->authority, tls_reason());
}

static tc_status begin_tls(struct tc__http_conn *c, struct tc_error *err)
{
    TC_TRY(prepare_tls(c, err));
    ERR_clear_error();
    c->ssl = SSL_new(c->ctx);
    BIO *bio = c->ssl == NULL ? NULL : BIO_new(c->bio);
    if (bio == NULL || !expect_peer(c->ssl, c->url)) {
        BIO_free(bio);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for TLS");
    }
    BIO_set_data(bio, c);
    BIO_set_init(bio, 1);
    SSL_set_bio(c->ssl, bio, bio);
    for (;;) {
        int result = SSL_connect(c->ssl);
        short events = 0;
        if (result == 1) {
            return TC_OK;
        }
        if (!tls_wants(c->ssl, result, &events)) {
            return fail_handshake(c, err);
        }
        TC_TRY(wait_ready(c, events, c->deadline_ns, NULL, "beginning TLS", err));
    }
}

/* ---- connecting ---------------------------------------------------------------------------- */

void tc__http_conn_init(struct tc__http_conn *c, const struct tc__http_url *url)
{
    *c = (struct tc__http_conn){.url = url, .fd = -1, .stop_fd = -1};
}

void tc__http_conn_close(struct tc__http_conn *c)
{
    SSL_free(c->ssl);
    c->ssl = NULL;
    if (c->fd >= 0) {
        (void)close(c->fd);
        c->fd = -1;
    }
}

void tc__http_conn_fini(struct tc__http_conn *c)
{
    tc__http_conn_close(c);
    SSL_CTX_free(c->ctx);
    BIO_meth_free(c->bio);
}

static tc_status refuse(const struct tc__http_conn *c, int code, struct tc_error *err)
{
    return tc_fail(err, TC_E_IO, 0, "%s: cannot connect: %s%s", c->url->authority, strerror(code),
                   code == ECONNREFUSED ? "; is it running, and is the port right?" : "");
}

static tc_status connect_one(struct tc__http_conn *c, const struct addrinfo *a, int64_t until_ns,
                             struct tc_error *err)
{
    c->fd = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
    if (c->fd < 0) {
        return refuse(c, errno, err);
    }
    int on = 1;
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(c->fd, a->ai_addr, a->ai_addrlen) != 0) {
        if (errno != EINPROGRESS) {
            return refuse(c, errno, err);
        }
        TC_TRY(wait_ready(c, POLLOUT, until_ns, NULL, "connecting", err));
        int code = 0;
        socklen_t len = sizeof code;
        if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &code, &len) != 0 || code != 0) {
            return refuse(c, code == 0 ? errno : code, err);
        }
    }
    return TC_OK;
}

/* Every address has its share of the time that is left. */
static tc_status connect_any(struct tc__http_conn *c, const struct addrinfo *list,
                             struct tc_error *err)
{
    int64_t left = 0;
    for (const struct addrinfo *a = list; a != NULL; a = a->ai_next) {
        left++;
    }
    tc_status status = TC_E_IO;
    for (const struct addrinfo *a = list; a != NULL && status != TC_OK; a = a->ai_next, left--) {
        int64_t now_ns = tc_mono_ns();
        tc__http_conn_close(c);
        status = connect_one(c, a, now_ns + (c->deadline_ns - now_ns) / left, err);
    }
    return status;
}

tc_status tc__http_conn_open(struct tc__http_conn *c, struct tc_error *err)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV};
    if (c->url->is_literal) {
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    }
    struct addrinfo *list = NULL;
    int code = getaddrinfo(c->url->host, c->url->port, &hints, &list);
    if (code != 0) {
        return tc_fail(err, TC_E_IO, 0, "%s: no address for this name: %s", c->url->authority,
                       code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code));
    }
    tc_status status = connect_any(c, list, err);
    freeaddrinfo(list);
    if (status == TC_OK && c->url->tls) {
        status = begin_tls(c, err);
    }
    if (status != TC_OK) {
        tc__http_conn_close(c);
    }
    return status;
}

/* ---- bytes --------------------------------------------------------------------------------- */

/* One write: what is gone; 0 when it has to wait for *out_events; -1 when the peer takes no more.
 */
static ssize_t write_some(struct tc__http_conn *c, struct tc_slice bytes, short *out_events)
{
    *out_events = POLLOUT;
    if (c->ssl != NULL) {
        size_t sent = 0;
        ERR_clear_error();
        int result = SSL_write_ex(c->ssl, bytes.ptr, bytes.len, &sent);
        if (result == 1) {
            return (ssize_t)sent;
        }
        return tls_wants(c->ssl, result, out_events) ? 0 : -1;
    }
    ssize_t n = send(c->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    }
    return n;
}

tc_status tc__http_conn_send(struct tc__http_conn *c, struct tc_slice bytes, size_t *out_sent,
                             struct tc_error *err)
{
    *out_sent = 0;
    while (*out_sent < bytes.len) {
        short events = 0;
        ssize_t n = write_some(c, tc_slice_from(bytes, *out_sent), &events);
        if (n < 0) {
            return TC_OK; /* it may have said why: the reply is read next */
        }
        *out_sent += (size_t)n;
        if (n > 0) {
            continue;
        }
        /* With TLS, tickets make it readable at any time. */
        short early = c->ssl == NULL ? POLLIN : 0;
        short ready = 0;
        TC_TRY(wait_ready(c, (short)(events | early), c->deadline_ns, &ready, "sending", err));
        if (early != 0 && (ready & POLLIN) != 0) {
            return TC_OK;
        }
    }
    return TC_OK;
}

/* One read: how much; 0 at the end; -1 when it has to wait for *out_events. */
static ssize_t read_some(struct tc__http_conn *c, char *buf, size_t size, short *out_events)
{
    *out_events = POLLIN;
    if (c->ssl != NULL) {
        size_t len = 0;
        ERR_clear_error();
        int result = SSL_read_ex(c->ssl, buf, size, &len);
        if (result == 1) {
            return (ssize_t)len;
        }
        return tls_wants(c->ssl, result, out_events) ? -1 : 0;
    }
    ssize_t n = recv(c->fd, buf, size, 0);
    if (n < 0) {
        /* A reset is an end too: whether the reply was whole then, its own length says. */
        return errno == EAGAIN || errno == EINTR ? -1 : 0;
    }
    return n;
}

tc_status tc__http_conn_receive(struct tc__http_conn *c, char *buf, size_t size, size_t *out_len,
                                struct tc_error *err)
{
    for (;;) {
        short events = 0;
        ssize_t n = read_some(c, buf, size, &events);
        if (n >= 0) {
            *out_len = (size_t)n;
            return TC_OK;
        }
        TC_TRY(wait_ready(c, events, c->deadline_ns, NULL, "waiting for its reply", err));
    }
}
