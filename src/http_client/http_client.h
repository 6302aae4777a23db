/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way out for all HTTP: one server per client, HTTP/1.1, blocking, with deadlines. It sends
 * OTLP downstream (outbox), a simulated fleet (simulate --otlp) and questions to a daemon (status),
 * and keeps its connection between calls. Redirects are not followed, and the proxies of the
 * environment (http_proxy and the like) are not used. https: certificates are verified against the
 * system's trust store (SSL_CERT_FILE and SSL_CERT_DIR name others).
 *
 * libcurl does the work and is loaded with the first client: docs/decisions/0016-libcurl.md.
 *
 * One thread at a time. A name is looked up with the system's resolver, whose own time limits
 * (resolv.conf) hold for that part; everything after it ends by the call's deadline.
 */
#ifndef TC_HTTP_CLIENT_HTTP_CLIENT_H
#define TC_HTTP_CLIENT_HTTP_CLIENT_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a reply; what is longer is cut, and the connection closed. A daemon's incidents need most. */
#define TC_HTTP_REPLY_MAX ((size_t)4 << 20)
/* A Retry-After beyond this counts as this. */
#define TC_HTTP_RETRY_AFTER_MAX 86400

struct tc_http_client;

/*
 * url: "http://host:port" or "https://...", a path in it comes before that of the calls. TC_E_USAGE
 * when it is none, TC_E_UNSUPPORTED without libcurl; nothing is connected yet. timeout_ns is for a
 * whole call.
 */
TC_CHECKED tc_status tc_http_client_create(const char *url, int64_t timeout_ns,
                                           struct tc_http_client **out_client,
                                           struct tc_error *err);
void tc_http_client_destroy(struct tc_http_client *c);

/* A call ends at once, with TC_E_IO, while this descriptor is readable: how another thread or a
 * signal ends it. Borrowed; -1: none. */
void tc_http_client_stop_on(struct tc_http_client *c, int fd);

/* PEM files of https: the authorities that are trusted instead of the system's, and what this side
 * shows of itself. NULL or "": as it is; or PEM that is in no file, which is copied. Before the
 * first call. */
struct tc_http_tls {
    const char *ca_file;
    const char *cert_file;
    const char *key_file;
    struct tc_slice ca_pem;
    struct tc_slice cert_pem;
    struct tc_slice key_pem;
};
TC_CHECKED tc_status tc_http_client_tls(struct tc_http_client *c, const struct tc_http_tls *tls,
                                        struct tc_error *err);

/* Replies may be compressed (gzip); their bodies are given unpacked, and cut as such.
 * Without zlib in libcurl nothing changes. */
void tc_http_client_take_gzip(struct tc_http_client *c);

struct tc_http_reply {
    int status;             /* 200 */
    unsigned retry_after_s; /* 0: not said */
    struct tc_slice body;   /* of the client, until the next call; cut at TC_HTTP_REPLY_MAX */
};

/*
 * headers: "Name: value\r\n" lines or empty. Any reply is TC_OK, whatever its status; TC_E_IO with
 * a message when there was none, TC_E_UNSUPPORTED when its certificate is not trusted. A kept
 * connection that the server closed meanwhile is made anew, once: then the request may have been
 * sent twice.
 */
TC_CHECKED tc_status tc_http_client_call(struct tc_http_client *c, const char *method,
                                         const char *path, struct tc_slice headers,
                                         struct tc_slice body, struct tc_http_reply *out_reply,
                                         struct tc_error *err);

/* Takes bytes of a body as they come; false: no more are wanted. */
typedef bool (*tc_http_sink)(void *context, struct tc_slice bytes);

/*
 * A GET, or with a body a POST, whose answer, if the status is 200, goes to the sink as it comes,
 * however long it is and lasts: until the server ends it, the sink wants no more, the stop
 * descriptor is readable or timeout_ns have passed. Bodies of other replies are in the reply.
 * TC_OK: the server ended it in good order, or the sink did; otherwise as above, after what the
 * sink has taken. While the sink waits nothing is read, so that the server waits too.
 */
TC_CHECKED tc_status tc_http_client_stream(struct tc_http_client *c, const char *path,
                                           struct tc_slice headers, struct tc_slice body,
                                           int64_t timeout_ns, tc_http_sink sink, void *context,
                                           struct tc_http_reply *out_reply, struct tc_error *err);

/*
 * bytes as gzip, for a body with "Content-Encoding: gzip". *io_buf grows as needed: the caller
 * frees it. TC_E_LIMIT for more than 2 GiB.
 */
TC_CHECKED tc_status tc_http_gzip(struct tc_slice bytes, char **io_buf, size_t *io_cap,
                                  size_t *out_len);

#endif
