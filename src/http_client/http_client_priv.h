/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the HTTP client: addresses, the connection under it, and times in headers. */
#ifndef TC_HTTP_CLIENT_HTTP_CLIENT_PRIV_H
#define TC_HTTP_CLIENT_HTTP_CLIENT_PRIV_H

#include "base/slice.h"
#include "base/status.h"

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC__HTTP_HOST_MAX 256
#define TC__HTTP_PATH_MAX 1024

struct tc__http_url {
    bool tls;
    bool is_literal;              /* the host is a number, not a name */
    char host[TC__HTTP_HOST_MAX]; /* without brackets */
    char port[6];
    char authority[TC__HTTP_HOST_MAX + 8]; /* host:port, as it is said and sent */
    char path[TC__HTTP_PATH_MAX];          /* "" or "/...", without a slash at the end */
};

TC_CHECKED tc_status tc__http_url_parse(const char *text, struct tc__http_url *out,
                                        struct tc_error *err);

/* Retry-After: seconds or an HTTP date; 0 when it is neither or past. */
unsigned tc__http_retry_after(struct tc_slice value, int64_t now_ns);

/* A connection. Invariant: ssl is NULL without TLS or before the handshake; fd is -1 when closed.
 */
struct tc__http_conn {
    const struct tc__http_url *url;
    SSL_CTX *ctx; /* made with the first TLS connection, kept */
    BIO_METHOD *bio;
    SSL *ssl;
    int fd;
    int stop_fd;
    int64_t deadline_ns;
};

void tc__http_conn_init(struct tc__http_conn *c, const struct tc__http_url *url);
void tc__http_conn_fini(struct tc__http_conn *c);
void tc__http_conn_close(struct tc__http_conn *c);
TC_CHECKED tc_status tc__http_conn_open(struct tc__http_conn *c, struct tc_error *err);

/*
 * What is gone of bytes, in *out_sent, also when it fails. Ends early with TC_OK when the peer has
 * something to say before it was given everything (without TLS) or takes nothing any more.
 */
TC_CHECKED tc_status tc__http_conn_send(struct tc__http_conn *c, struct tc_slice bytes,
                                        size_t *out_sent, struct tc_error *err);
/* At least one byte, or 0 at the end of the stream, a reset being one too. */
TC_CHECKED tc_status tc__http_conn_receive(struct tc__http_conn *c, char *buf, size_t size,
                                           size_t *out_len, struct tc_error *err);

#endif
