/* SPDX-License-Identifier: Apache-2.0 */
/* TLS of a listener: the same connection, with OpenSSL between it and the socket. */
#include "net/net_priv.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What a listener speaks, by the name of its protocol: length and name, as ALPN has them. */
static const struct {
    const char *proto;
    struct tc_slice alpn;
} alpns[] = {
    {"http", {"\x08http/1.1", 9}},
    {"grpc", {"\x02h2", 3}},
};

static int choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                       const unsigned char *offered, unsigned offered_len, void *context)
{
    const struct tc_slice *ours = context;
    unsigned char *chosen = NULL;
    (void)ssl;
    int result = SSL_select_next_proto(&chosen, out_len, (const unsigned char *)ours->ptr,
                                       (unsigned)ours->len, offered, offered_len);
    *out = chosen;
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* The library's newest reason, for a person. */
static const char *reason(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_last_error());
    return text != NULL ? text : strerror(errno);
}

/* Only clients with a certificate of one of these authorities are let in. */
static tc_status ask_clients(SSL_CTX *x, const char *ca_path, struct tc_error *err)
{
    static const unsigned char id[] = "tracecore";
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(ca_path);
    if (names == NULL || SSL_CTX_load_verify_file(x, ca_path) != 1 ||
        /* Without it a session that is resumed is refused. */
        SSL_CTX_set_session_id_context(x, id, sizeof id - 1) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return tc_fail(err, TC_E_IO, 0,
                       "cannot read the certificates of the clients' authorities %s: %s; it is to "
                       "be a PEM file",
                       ca_path, reason());
    }
    SSL_CTX_set_client_CA_list(x, names); /* its own from here on */
    SSL_CTX_set_verify(x, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return TC_OK;
}

static tc_status load_files(SSL_CTX *x, const struct tc_net_tls *files, struct tc_error *err)
{
    if (SSL_CTX_use_certificate_chain_file(x, files->cert_path) != 1) {
        return tc_fail(err, TC_E_IO, 0,
                       "cannot read the certificate %s: %s; it is to be a PEM file",
                       files->cert_path, reason());
    }
    if (SSL_CTX_use_PrivateKey_file(x, files->key_path, SSL_FILETYPE_PEM) != 1) {
        return tc_fail(err, TC_E_IO, 0,
                       "cannot read the private key %s: %s; it is to be a PEM file of the key of "
                       "%s",
                       files->key_path, reason(), files->cert_path);
    }
    if (SSL_CTX_check_private_key(x) != 1) {
        return tc_fail(err, TC_E_IO, 0, "the key %s does not belong to the certificate %s",
                       files->key_path, files->cert_path);
    }
    return files->client_ca_path == NULL ? TC_OK : ask_clients(x, files->client_ca_path, err);
}

tc_status tc__tls_context(const struct tc_net_tls *files, const char *proto_name,
                          struct ssl_ctx_st **out_context, struct tc_error *err)
{
    ERR_clear_error();
    SSL_CTX *x = SSL_CTX_new(TLS_server_method());
    if (x == NULL || SSL_CTX_set_min_proto_version(x, TLS1_2_VERSION) != 1) {
        SSL_CTX_free(x);
        return tc_fail(err, TC_E_NOMEM, 0, "cannot set up TLS: %s", reason());
    }
    /* A peer that only closes its socket is at its end, as without TLS; requests have lengths. */
    (void)SSL_CTX_set_options(x, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF |
                                     SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    (void)SSL_CTX_set_mode(x, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    (void)SSL_CTX_set_session_cache_mode(x, SSL_SESS_CACHE_OFF); /* tickets need no memory here */
    tc_status status = load_files(x, files, err);
    if (status != TC_OK) {
        SSL_CTX_free(x);
        return status;
    }
    for (size_t i = 0; i < TC_COUNT(alpns); i++) {
        if (strcmp(alpns[i].proto, proto_name) == 0) {
            union { /* OpenSSL's context is not const; it is only read */
                const struct tc_slice *slice;
                void *context;
            } ours = {.slice = &alpns[i].alpn};
            SSL_CTX_set_alpn_select_cb(x, choose_alpn, ours.context);
        }
    }
    *out_context = x;
    return TC_OK;
}

void tc__tls_context_free(struct ssl_ctx_st *context)
{
    SSL_CTX_free(context);
}

void *tc__tls_session(struct ssl_ctx_st *context, int fd)
{
    SSL *ssl = SSL_new(context);
    if (ssl == NULL || SSL_set_fd(ssl, fd) != 1) {
        SSL_free(ssl);
        return NULL;
    }
    SSL_set_accept_state(ssl);
    return ssl;
}

void tc__tls_session_free(void *session)
{
    SSL_free(session);
}

/* 0: the end, -1 with errno: not now, or broken. */
static ssize_t outcome(struct tc_conn *c, int result)
{
    switch (SSL_get_error(c->io_state, result)) {
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_WANT_WRITE:
        c->read_wants_write = true;
        errno = EAGAIN;
        return -1;
    case SSL_ERROR_WANT_READ:
        errno = EAGAIN;
        return -1;
    case SSL_ERROR_SYSCALL:
        errno = errno == 0 ? ECONNRESET : errno;
        return -1;
    default:
        errno = EPROTO;
        return -1;
    }
}

static ssize_t tls_read(struct tc_conn *c, void *to, size_t len)
{
    size_t got = 0;
    while (got < len) { /* a record at a time */
        size_t left = len - got;
        ERR_clear_error();
        errno = 0;
        int result = SSL_read(c->io_state, (char *)to + got, left > INT_MAX ? INT_MAX : (int)left);
        if (result <= 0) {
            /* An end or an error behind bytes is told by the next read. */
            ssize_t other = outcome(c, result);
            return got > 0 ? (ssize_t)got : other;
        }
        got += (size_t)result;
    }
    return (ssize_t)got;
}

static ssize_t tls_write(struct tc_conn *c, const struct iovec *iov, int count)
{
    size_t sent = 0;
    for (int i = 0; i < count; i++) {
        size_t done = 0;
        while (done < iov[i].iov_len) {
            size_t left = iov[i].iov_len - done;
            ERR_clear_error();
            errno = 0;
            int result = SSL_write(c->io_state, (const char *)iov[i].iov_base + done,
                                   left > INT_MAX ? INT_MAX : (int)left);
            if (result <= 0) {
                if (sent > 0) {
                    return (ssize_t)sent;
                }
                ssize_t other = outcome(c, result);
                c->read_wants_write = false; /* it is the write that waits */
                if (other == 0) {
                    errno = EPIPE;
                }
                return -1;
            }
            done += (size_t)result;
            sent += (size_t)result;
        }
    }
    return (ssize_t)sent;
}

static bool tls_buffered(const struct tc_conn *c)
{
    return SSL_pending(c->io_state) > 0 ||
           (SSL_get_shutdown(c->io_state) & SSL_RECEIVED_SHUTDOWN) != 0;
}

/* A peer that leaves says so first, and closes its socket later: no event tells of the second while
 * the first is not read. */
static enum tc__waiting tls_look(struct tc_conn *c)
{
    char byte = 0;
    ERR_clear_error();
    errno = 0;
    int result = SSL_peek(c->io_state, &byte, 1);
    if (result > 0) {
        return TC__WAITING_BYTES;
    }
    bool later = outcome(c, result) < 0 && errno == EAGAIN;
    return later ? TC__WAITING_NONE : TC__WAITING_END;
}

static void tls_half_close(struct tc_conn *c)
{
    ERR_clear_error();
    (void)SSL_shutdown(c->io_state); /* as far as it goes: the socket's end says it too */
    (void)shutdown(c->fd, SHUT_WR);
}

static void tls_close(struct tc_conn *c)
{
    SSL_free(c->io_state);
    (void)close(c->fd);
}

const struct tc__io tc__io_tls = {
    .read = tls_read,
    .write = tls_write,
    .buffered = tls_buffered,
    .look = tls_look,
    .half_close = tls_half_close,
    .close = tls_close,
};
