/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request, whichever protocol brought it: http1 and http2 make it, handlers answer it, now or
 * later, exactly once. Everything in it lives until it was answered.
 */
#ifndef TC_NET_REQUEST_H
#define TC_NET_REQUEST_H

#include "base/slice.h"
#include "base/status.h"
#include "net/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What happened, in words that both protocols have. X(NAME, HTTP status, gRPC status) */
#define TC_ANSWER_MAP(X)                                                          \
    X(OK, 200, 0)                                                                 \
    X(ACCEPTED, 202, 0)                                                           \
    X(PARTIAL, 206, 0)                                                            \
    X(NOT_MODIFIED, 304, 0)                                                       \
    X(BAD, 400, 3) /* INVALID_ARGUMENT: do not send it again */                   \
    X(UNAUTHENTICATED, 401, 16)                                                   \
    X(FORBIDDEN, 403, 7)                                                          \
    X(NOT_FOUND, 404, 12) /* UNIMPLEMENTED */                                     \
    X(WRONG_METHOD, 405, 12)                                                      \
    X(TIMEOUT, 408, 4)                                                            \
    X(CONFLICT, 409, 9)  /* FAILED_PRECONDITION */                                \
    X(TOO_LARGE, 413, 8) /* RESOURCE_EXHAUSTED without RetryInfo: do not retry */ \
    X(UNSUPPORTED, 415, 12)                                                       \
    X(BAD_RANGE, 416, 11)                                                         \
    X(UNPROCESSABLE, 422, 3)                                                      \
    X(TOO_MANY, 429, 8) /* RESOURCE_EXHAUSTED with RetryInfo */                   \
    X(HEADERS_TOO_LARGE, 431, 8)                                                  \
    X(INTERNAL, 500, 13)                                                          \
    X(BUSY, 503, 14) /* UNAVAILABLE: try again after retry_after_s */

enum tc_answer {
#define TC_ANSWER_ENUM(name, http, grpc) TC_ANSWER_##name,
    TC_ANSWER_MAP(TC_ANSWER_ENUM)
#undef TC_ANSWER_ENUM
};

int tc_answer_http(enum tc_answer a);
int tc_answer_grpc(enum tc_answer a);

enum tc_method { TC_METHOD_GET, TC_METHOD_HEAD, TC_METHOD_POST, TC_METHOD_PUT, TC_METHOD_OTHER };
enum tc_protocol { TC_PROTOCOL_HTTP, TC_PROTOCOL_GRPC };

struct tc_spool;

struct tc_header {
    struct tc_slice name;
    struct tc_slice value;
};

struct tc_response {
    enum tc_answer answer;
    struct tc_slice content_type; /* of HTTP; "" when there is no body */
    struct tc_slice body;         /* HTTP: the body; gRPC with OK: the message, without its frame */
    struct tc_slice message;      /* gRPC: grpc-message; HTTP: shown when there is no body */
    struct tc_slice allow;        /* Allow of WRONG_METHOD */
    unsigned retry_after_s;       /* 0: none is said */
    /* More headers, of HTTP. A value with a control character is left out. */
    const struct tc_header *headers;
    size_t header_count;
    /* Called once, when the body is not needed any more: it is written from where it is, however
     * long, and not copied. NULL: it is the caller's, and copied. */
    void (*release)(void *context);
    void *release_context;
    /* Of a refusal by `begin`: it is sent so much later, and ends an HTTP/1 connection. Its texts
     * are static then. */
    int64_t delay_ns;
};

/* Where a request comes from: the IPv4 address, or the network (64 bits) of the IPv6 address, with
 * zeros behind it. */
struct tc_peer {
    unsigned char bytes[8];
    bool is_v6;
};

struct tc_request;

/* How a protocol sends an answer. Copies what it needs; the request is gone afterwards. */
typedef void (*tc_respond_fn)(struct tc_request *r, const struct tc_response *response);

/* An answer that stays open, and who is told of its end. */
struct tc_stream_owner {
    /* The peer is gone, was too slow, or the daemon ends: nothing may be said any more. Not called
     * after tc_stream_end. */
    void (*gone)(void *context);
    void *context;
    size_t pending_max; /* bytes that may wait for the peer */
};

/* How a protocol keeps an answer open. */
struct tc_stream_ops {
    /* False: it cannot, and nothing was said. */
    bool (*begin)(struct tc_request *r, const struct tc_response *head);
    tc_status (*write)(struct tc_request *r, struct tc_slice bytes);
    size_t (*pending)(const struct tc_request *r);
    void (*end)(struct tc_request *r);
};

struct tc_request {
    enum tc_protocol protocol;
    enum tc_method method;
    struct tc_slice path;  /* decoded once, without the query; no NUL in it */
    struct tc_slice query; /* as it came */
    struct tc_slice content_type;
    struct tc_slice content_encoding; /* "" or "identity": none; of the message for gRPC */
    struct tc_slice authorization;
    struct tc_slice host;   /* of HTTP, with the port; without a pointer: HTTP/1.0 without one */
    struct tc_slice origin; /* of HTTP: what a browser says about the page, "" if nobody does */
    struct tc_slice fetch_site; /* Sec-Fetch-Site, the same */
    /* Of HTTP, each "" when it is not there. */
    struct tc_slice accept;
    struct tc_slice accept_encoding;
    struct tc_slice if_none_match;
    struct tc_slice range;
    struct tc_slice last_event_id;
    struct tc_slice mcp_version; /* MCP-Protocol-Version, Mcp-Method, Mcp-Name */
    struct tc_slice mcp_method;
    struct tc_slice mcp_name;
    struct tc_slice tracecore_batch; /* Tracecore-Batch: which batch of which agent it is */
    struct tc_peer peer;
    struct tc_buffer *body; /* NULL: empty. May be taken by setting it to NULL */
    struct tc_spool *spool; /* set by `begin`: the body goes there as it comes. May be taken too */
    int64_t arrival_ns;     /* wall clock when it was complete */
    void *handler_data;     /* the handler's own, while it works on it */
    /* Set by the handler while it works on it: the peer has closed its side meanwhile, and the
     * answer may reach nobody. It is answered all the same. */
    void (*left)(struct tc_request *r);
    tc_respond_fn respond;
    const struct tc_stream_ops *stream_ops; /* NULL: answers of this protocol do not stay open */
    struct tc_stream_owner stream;
    void *of; /* the protocol's own; NULL once the peer is gone: answering is still right then */
};

/* The one way to answer. After it the request is not to be touched. */
void tc_request_respond(struct tc_request *r, const struct tc_response *response);

/*
 * The other way: the head goes out (its body is ignored), and the answer stays open until
 * tc_stream_end, or until owner->gone was called. False: this protocol cannot, and the request is
 * still to be answered. HEAD is answered by tc_request_respond.
 */
bool tc_request_stream(struct tc_request *r, const struct tc_response *head,
                       const struct tc_stream_owner *owner);
/* Some more of the answer. TC_E_LIMIT: more than pending_max would wait, and nothing was taken.
 * What is longer than that is taken when nothing waits. */
TC_CHECKED tc_status tc_stream_write(struct tc_request *r, struct tc_slice bytes);
/* Bytes that wait for the peer. */
size_t tc_stream_pending(const struct tc_request *r);
/* The end of the answer, and of the request. */
void tc_stream_end(struct tc_request *r);

/*
 * What a listener serves. `begin` (may be NULL) is asked once the head is there and before any of
 * the body: anything but OK is the answer, and *io_body_max may be changed for this request.
 * `handle` gets the whole request.
 */
struct tc_service {
    enum tc_answer (*begin)(void *context, struct tc_request *head, size_t *io_body_max,
                            struct tc_response *out_refusal);
    void (*handle)(void *context, struct tc_request *r);
    void *context;
};

#endif
