/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC over HTTP/2, room-private. nghttp2 keeps the protocol; what is ours:
 *   session.c  the connection: bytes in, bytes out, deadlines, the end
 *   admit.c    memory of messages: who waits for it
 *   stall.c    what happens when the pool has no room for those who wait
 *   stream.c   what nghttp2 tells of streams; from headers and DATA to one request
 *   answer.c   answers
 *   health.c   grpc.health.v1
 *   text.c     grpc-timeout, grpc-message, grpc-status-details-bin
 *   guard.c    counts frames before nghttp2 sees them
 *   mem.c      memory of nghttp2 and of streams, counted for each connection
 */
#ifndef TC_NET_HTTP2_PRIV_H
#define TC_NET_HTTP2_PRIV_H

#include "base/slice.h"
#include "base/status.h"
#include "net/net.h"
#include "net/request.h"
#include "observe/metrics.h"

#include <nghttp2/nghttp2.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a call may send before it has memory; then its window is opened for the message. */
#define TC_H2_STREAM_WINDOW ((size_t)4 << 10)
/* What a client sends that has not seen that yet (RFC 9113, 6.9.2). */
#define TC_H2_FIRST_WINDOW ((size_t)65535)
#define TC_H2_CONN_WINDOW (8 << 20)
#define TC_H2_TEXT_BYTES 320   /* of a request's headers that are kept, without more memory */
#define TC_H2_OUT_BYTES 128    /* of an answer, without more memory */
#define TC_H2_MESSAGE_MAX 1024 /* of grpc-message, before it is encoded */
#define TC_H2_FRAME_BYTES 5    /* before a gRPC message: flag and length */
#define TC_H2_SECOND INT64_C(1000000000)

/* gRPC's own numbers, where enum tc_answer has no word. */
enum {
    TC_GRPC_OK = 0,
    TC_GRPC_INVALID_ARGUMENT = 3,
    TC_GRPC_DEADLINE_EXCEEDED = 4,
    TC_GRPC_NOT_FOUND = 5,
    TC_GRPC_RESOURCE_EXHAUSTED = 8,
    TC_GRPC_UNIMPLEMENTED = 12,
    TC_GRPC_INTERNAL = 13,
    TC_GRPC_UNAVAILABLE = 14,
};

/* ---- memory ---- */

/* One connection's account: `used` is what nghttp2 and our streams hold, never over `cap`. */
struct tc__h2_mem {
    size_t used;
    size_t cap;
};

/* Aligned for anything. NULL: over the cap, or no memory. */
void *tc__h2_alloc(struct tc__h2_mem *m, size_t bytes);
/* m NULL: the account is gone or the block was taken off it. p may be NULL. */
void tc__h2_free(struct tc__h2_mem *m, void *p);
/* Takes a block off the account, as the connection is gone and the block is not. */
void tc__h2_disown(struct tc__h2_mem *m, const void *p);
/* The hooks of nghttp2 on this account. */
nghttp2_mem tc__h2_hooks(struct tc__h2_mem *m);
/* How often memory was asked of the system; for tests. */
uint64_t tc__h2_mallocs(void);

/* ---- guard ---- */

/* Why a connection is ended: X(NAME, HTTP/2 error code, debug data of the GOAWAY) */
#define TC_H2_END_MAP(X)                                            \
    X(SHUTDOWN, NGHTTP2_NO_ERROR, "shutdown")                       \
    X(IDLE, NGHTTP2_NO_ERROR, "idle")                               \
    X(REQUESTS, NGHTTP2_NO_ERROR, "max_requests")                   \
    X(RESETS, NGHTTP2_ENHANCE_YOUR_CALM, "too_many_resets")         \
    X(PINGS, NGHTTP2_ENHANCE_YOUR_CALM, "too_many_pings")           \
    X(FRAMES, NGHTTP2_ENHANCE_YOUR_CALM, "too_many_control_frames") \
    X(HEADERS, NGHTTP2_ENHANCE_YOUR_CALM, "header_list_too_large")  \
    X(HANDSHAKE, NGHTTP2_SETTINGS_TIMEOUT, "no_settings")           \
    X(SLOW_HEADERS, NGHTTP2_ENHANCE_YOUR_CALM, "headers_too_slow")  \
    X(PROTOCOL, NGHTTP2_PROTOCOL_ERROR, "protocol_error")           \
    X(MEMORY, NGHTTP2_INTERNAL_ERROR, "memory")                     \
    X(PREFACE, NGHTTP2_PROTOCOL_ERROR, "bad_preface")               \
    X(HTTP1, NGHTTP2_HTTP_1_1_REQUIRED, "http1")

enum tc__h2_end {
    TC_H2_END_NONE,
#define TC_H2_END_ENUM(name, code, text) TC_H2_END_##name,
    TC_H2_END_MAP(TC_H2_END_ENUM)
#undef TC_H2_END_ENUM
};

/* Follows the frames of one connection. Zeroed at the start. Each *_until_ns is a bucket: how far
 * the frames that came reach into the future at the allowed rate. */
struct tc__h2_guard {
    size_t preface; /* bytes of it that came */
    size_t skip;    /* of the present frame's payload */
    unsigned char head[9];
    size_t head_len;
    int64_t reset_until_ns;
    int64_t ping_until_ns;
    int64_t frame_until_ns;
};

/* Looks at bytes before nghttp2 does. NONE: go on; else the connection is to end for that. */
enum tc__h2_end tc__h2_guard_scan(struct tc__h2_guard *g, struct tc_slice bytes, int64_t now_ns,
                                  size_t resets_per_s);
/* A reset that the client caused, by RST_STREAM or by a stream error. True: too many. */
bool tc__h2_guard_reset(struct tc__h2_guard *g, int64_t now_ns, size_t resets_per_s);

/* ---- streams ---- */

struct tc__h2_stream;

/* Bytes that came while the pool had no room; the connection is not read until they are gone. */
struct tc__h2_stall {
    unsigned char *data; /* NULL: no stall */
    size_t len;
    size_t chunk_at; /* body of that stream, which nghttp2 has handed over ... */
    size_t chunk_len;
    int32_t stream_id;
    size_t rest_at; /* ... and what it has not seen */
    int64_t since_ns;
};

/* One connection: the state of tc_proto_grpc. */
struct tc__h2 {
    struct tc_conn *conn;
    nghttp2_session *session;
    struct tc__h2_mem mem;
    struct tc__h2_guard guard;
    struct tc__h2_stall stall;
    const unsigned char *stuck; /* set by a callback: the part of a chunk that found no room */
    size_t stuck_len;
    int32_t stuck_id;
    struct tc__h2_stream *streams; /* all that have a stream or a handler */
    size_t stream_count;
    size_t open_count;  /* those that nghttp2 knows */
    size_t streams_now; /* what the client is allowed at once, at most streams_max */
    int64_t changed_ns; /* when that was changed */
    uint64_t request_count;
    int64_t armed_ns;     /* what tc_conn_deadline was told; 0: nothing */
    int64_t handshake_ns; /* when SETTINGS and their ACK have to be there; 0: they are, or not a
                             byte came */
    int64_t idle_ns;      /* since when there is no stream */
    int64_t last_call_ns; /* when the final GOAWAY follows the first; 0: none was sent */
    size_t first_flight;  /* body bytes that came before our settings were known */
    bool is_early;        /* it has some of them in memory without a turn */
    bool is_known;        /* it has brought a whole message */
    bool settings_seen;
    bool settings_acked;
    enum tc__h2_end why; /* of our own GOAWAY */
    bool busy;           /* in nghttp2 or on a walk over streams: nothing is sent meanwhile */
    bool paused;         /* tc_conn_pause was told */
    bool ending;         /* GOAWAY was sent: it ends with the last stream */
    bool closing;        /* nothing is taken any more; it ends once the GOAWAY is written */
    bool ended;          /* the session is not to be used any more */
};

enum tc__h2_phase {
    TC_H2_HEAD,     /* headers come */
    TC_H2_BODY,     /* the message comes */
    TC_H2_HANDLED,  /* the service has it */
    TC_H2_DELAYED,  /* a refusal is sent later; what still comes is thrown away */
    TC_H2_ANSWERED, /* an answer is on its way; what still comes is thrown away */
};

/*
 * A call. It lives while nghttp2 knows its stream (`open`) or the service has its request
 * (`with_handler`). req.of is this while an answer of the service would be sent.
 */
struct tc__h2_stream {
    struct tc_request req;
    struct tc__h2 *h; /* NULL: the connection is gone */
    struct tc__h2_stream *next;
    struct tc__h2_stream **link;
    int32_t id;
    enum tc__h2_phase phase;
    bool open;
    bool with_handler;
    bool remote_done; /* END_STREAM came */

    /* head */
    struct tc_slice path; /* with the query */
    struct tc_slice timeout;
    size_t header_count;
    size_t header_bytes;
    void *more; /* chain of blocks for text that did not fit */
    size_t text_len;
    char text[TC_H2_TEXT_BYTES];

    /* body */
    unsigned char frame[TC_H2_FRAME_BYTES];
    size_t frame_len;
    size_t message_len; /* as the frame says */
    size_t body_max;
    struct tc_pool_claim claim; /* of a message that waits */
    bool is_admitted;           /* it has memory, for all of it or a part */
    size_t window;              /* what was allowed to come */
    size_t came;                /* of the message */
    int64_t came_ns;            /* when the last of it did */
    int64_t since_ns;           /* when the head, or the body, began to come */
    int64_t due_ns;             /* what the phase allows; 0: any time */
    int64_t deadline_ns;        /* grpc-timeout; 0: none */

    /* answer */
    struct tc_response delayed; /* in the phase of that name */
    unsigned char *out;         /* out_inline or a block */
    size_t out_len;
    size_t out_at;
    bool trailers; /* grpc-status: 0 follows the data */
    unsigned char out_inline[TC_H2_OUT_BYTES];

    /* grpc.health.v1.Health/Watch */
    struct tc__h2_stream *watch_next;
    struct tc__h2_stream **watch_link; /* NULL: does not watch */
    bool watch_known;                  /* the name is one of ours */
    bool watch_over;                   /* it ends with the next read */
    unsigned watch_told;               /* the last state that was sent; 0: none */
};

void tc__h2_callbacks(nghttp2_session_callbacks *cbs);
/* Takes body bytes of a stream; how many there was memory for. */
size_t tc__h2_take(struct tc__h2_stream *s, const unsigned char *data, size_t len);
/* The call of that stream, or NULL when it is gone. */
struct tc__h2_stream *tc__h2_find(struct tc__h2 *h, int32_t id);
/* Bytes that are thrown away give their window back all the same. */
void tc__h2_consume(struct tc__h2 *h, int32_t id, size_t len);
/* Frees s when neither side needs it. */
void tc__h2_release(struct tc__h2_stream *s);
/* The connection goes: every stream loses it. */
void tc__h2_orphan(struct tc__h2 *h);

/* ---- answers ---- */

/* Ends a call without a message: trailers only. */
void tc__h2_fail(struct tc__h2_stream *s, int grpc_status, struct tc_slice message,
                 unsigned retry_after_s);
/* Plain HTTP for those who do not speak gRPC. */
void tc__h2_refuse(struct tc__h2_stream *s, const char *http_status, struct tc_slice text);
/* OK with one message. */
void tc__h2_reply(struct tc__h2_stream *s, struct tc_slice message);
/* The service's answer. */
void tc__h2_respond(struct tc_request *r, const struct tc_response *response);
/* Headers of an answer that is OK so far, and where its data come from. */
void tc__h2_begin_reply(struct tc__h2_stream *s, nghttp2_data_source_read_callback read);
/* Trailers behind the data, OK or UNAVAILABLE, for the read callback that has told the last. */
bool tc__h2_end_reply(struct tc__h2_stream *s, bool ok, uint32_t *data_flags);

/* ---- health ---- */

/* True when the path is of the health service: then it answers, with the message in req.body. */
bool tc__h2_health_is(struct tc_slice path);
void tc__h2_health_call(struct tc__h2_stream *s);
/* The stream ends: it watches no more. */
void tc__h2_health_forget(struct tc__h2_stream *s);
/* No news any more: the watch ends with UNAVAILABLE. */
void tc__h2_health_end(struct tc__h2_stream *s);

/* ---- connection ---- */

int64_t tc__h2_now(const struct tc__h2 *h);
/* `expired` is to come at that moment or earlier. */
void tc__h2_due(struct tc__h2 *h, int64_t at_ns);
/* Sends what nghttp2 has, as far as there is room. Does nothing while h is busy. */
void tc__h2_pump(struct tc__h2 *h);
/* GOAWAY with that reason, then the connection closes. */
void tc__h2_end(struct tc__h2 *h, enum tc__h2_end why);
/* nghttp2 cannot go on: closes without a word. */
void tc__h2_fatal(struct tc__h2 *h);
/* Counts a request; after the last one that is allowed the client is told to go elsewhere. */
void tc__h2_count_request(struct tc__h2 *h);

/* Gives bytes to nghttp2; how many it looked at. h->stuck says whether it stopped there. */
size_t tc__h2_feed(struct tc__h2 *h, const unsigned char *data, size_t len);

/* ---- admit ---- */

/* Memory for the message as its frame says, and the window for it; or it waits, or is refused. */
void tc__h2_admit(struct tc__h2_stream *s);
/* The client knows our window now: those who wait for memory may wait in turn. */
void tc__h2_acked(struct tc__h2 *h);
/* A buffer, or a larger one, for bytes that came before there was memory for the message: of a
 * client that has not seen our settings, some 64 KiB of all its calls together. NULL: not now. */
struct tc_buffer *tc__h2_early(struct tc__h2_stream *s);
/* Such a buffer is given back, or is the message's from now on. */
void tc__h2_early_over(const struct tc__h2_stream *s);
void tc__h2_set_early(struct tc__h2 *h, bool is_early);
/* The memory is full and the message is not: the same for more of it. */
void tc__h2_admit_more(struct tc__h2_stream *s);
/* Others wait: calls whose messages have stopped coming are refused. */
void tc__h2_reclaim(struct tc_conn *c, void *state, int64_t now_ns);
/* The call is answered for want of memory; fewer at once from now on. */
void tc__h2_refuse_memory(struct tc__h2_stream *s);

/* ---- stall ---- */

/* Keeps what came from h->stuck on; `fed` bytes of data were looked at. False: the call was refused
 * instead, and what follows can be fed. */
bool tc__h2_stall(struct tc__h2 *h, const unsigned char *data, size_t len, size_t fed);
/* Bytes that came although reading was stopped. */
TC_CHECKED tc_status tc__h2_stall_more(struct tc__h2 *h, struct tc_slice bytes);
/* Goes on with what waits, as far as there is memory now. */
void tc__h2_resume(struct tc__h2 *h, int64_t now_ns);
void tc__h2_drop_stall(struct tc__h2 *h);
/* Half as many calls at once as there are; those who watch do not count. */
void tc__h2_slow_down(struct tc__h2 *h, int64_t now_ns);
/* More calls at once again, when there is memory for them. */
void tc__h2_relax(struct tc__h2 *h, int64_t now_ns);

/* ---- text ---- */

/* grpc-timeout ("5S", "100m"): false when it is not one. Never beyond a hundred days. */
bool tc__grpc_timeout(struct tc_slice text, int64_t *out_ns);
/* Percent-encoded for grpc-message; cut at what fits. The length. */
size_t tc__grpc_message(struct tc_slice text, char *out, size_t cap);
/* google.rpc.Status with RetryInfo in base64 without padding; 0 when it does not fit. */
size_t tc__grpc_details(int grpc_status, struct tc_slice message, unsigned retry_after_s, char *out,
                        size_t cap);

#endif
