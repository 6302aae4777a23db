/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop and its connections: listens, accepts, reads and writes; protocols (http1, http2) say
 * what the bytes mean. libevent is the loop; sockets are read straight into a buffer of the loop's
 * own, so a connection that is idle costs its state and nothing else. One thread.
 */
#ifndef TC_NET_NET_H
#define TC_NET_NET_H

#include "base/slice.h"
#include "base/status.h"
#include "net/pool.h"
#include "net/request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_net;
struct tc_conn;
struct event_base;

/* Limits of all listeners; each is a key of the configuration (limits.*). */
struct tc_net_limits {
    size_t connections_max;     /* of all listeners that have none of their own */
    size_t own_connections_max; /* of a listener that has */
    size_t streams_max;         /* HTTP/2: at once on one connection */
    size_t header_bytes_max;    /* of one request: line and headers, or the header list */
    size_t headers_max;
    size_t body_bytes_max;        /* as it comes, compressed or not */
    size_t output_bytes_max;      /* waiting to be written to one connection */
    int64_t header_timeout_ns;    /* from the first byte of a request to the end of its headers */
    int64_t body_timeout_ns;      /* from there to the end of the body; again for each 16 MiB */
    int64_t idle_timeout_ns;      /* between requests */
    int64_t write_timeout_ns;     /* without progress */
    int64_t memory_wait_ns;       /* for room in the pool, before a request is refused */
    size_t resets_per_s_max;      /* HTTP/2: streams reset by the client, a second */
    size_t requests_per_conn_max; /* 0: no bound; then the connection is closed gracefully */
};

/* What a connection is doing, for the choice of who makes room: docs/internals/connections.md. */
enum tc_use {
    TC_USE_BUSY,  /* a request is handled, or its bytes come as they should */
    TC_USE_BEGUN, /* nothing was completed on it yet */
    TC_USE_IDLE,  /* between two requests */
    TC_USE_SLOW,  /* what comes, comes too slowly */
};

/* A request slower than that, and as old, is slow. */
#define TC_SLOW_BYTES_PER_S 1024
#define TC_SLOW_AGE_NS INT64_C(1000000000)

/* Whether so many bytes in that time are too few. */
static inline bool tc_is_slow(size_t bytes, int64_t age_ns)
{
    return age_ns >= TC_SLOW_AGE_NS &&
           bytes < (uint64_t)(age_ns / TC_SLOW_AGE_NS) * TC_SLOW_BYTES_PER_S;
}

/* While others wait for memory, a body has stopped coming when nothing came for that long, or when
 * it comes slower than that. */
#define TC_STALLED_NS INT64_C(1000000000)
#define TC_STALLED_BYTES_PER_S ((uint64_t)16 << 10)

/* Of a body that began at since_ns, of which so many bytes came, the last at last_ns. */
static inline bool tc_is_stalled(size_t bytes, int64_t since_ns, int64_t last_ns, int64_t now_ns)
{
    int64_t age_ns = now_ns - since_ns;
    return now_ns - last_ns >= TC_STALLED_NS ||
           (age_ns >= TC_STALLED_NS &&
            bytes < (uint64_t)(age_ns / TC_STALLED_NS) * TC_STALLED_BYTES_PER_S);
}

/* What a protocol does with a connection. All calls come from the loop. */
struct tc_proto {
    const char *name;   /* "http", "grpc" */
    size_t state_bytes; /* zeroed, one for each connection */
    tc_status (*open)(struct tc_conn *c, void *state);
    /* Bytes that came; takes all of them. A failure closes the connection. */
    tc_status (*input)(struct tc_conn *c, void *state, struct tc_slice bytes);
    /* What was written has gone out: more may be written. May be NULL. */
    tc_status (*drained)(struct tc_conn *c, void *state);
    /* The deadline that tc_conn_deadline set has passed. Says what is to be said and ends it. */
    void (*expired)(struct tc_conn *c, void *state);
    /* The daemon wants to end: finish what runs, begin nothing (GOAWAY, Connection: close). */
    void (*shutdown)(struct tc_conn *c, void *state);
    /* The connection is gone. Requests that wait for an answer lose their `of`. */
    void (*close)(struct tc_conn *c, void *state);
    /*
     * Where the next bytes belong, so that they are read there and not copied: *out_len > 0 bytes.
     * NULL: nowhere, they go to `input`. May be NULL.
     */
    void *(*room)(struct tc_conn *c, void *state, size_t *out_len);
    /* So many bytes came to where `room` said; instead of `input`. */
    tc_status (*filled)(struct tc_conn *c, void *state, size_t len);
    size_t read_bytes; /* the most `input` is given at once; 0: as much as the loop reads */
    /* The same for now, when it is less. May be NULL. */
    size_t (*read_most)(const struct tc_conn *c, const void *state);
    /* What it is doing, and since when (monotonic; untouched when it is busy). May be NULL. */
    enum tc_use (*use)(const struct tc_conn *c, const void *state, int64_t *out_since_ns);
    /* The peer has closed its side while reading is paused. May be NULL. */
    void (*peer_closed)(struct tc_conn *c, void *state);
    /* Others wait for memory: bodies that have stopped coming are refused. May be NULL. */
    void (*reclaim)(struct tc_conn *c, void *state, int64_t now_ns);
    struct tc_slice refusal; /* said to a connection over connections_max; may be empty */
};

extern const struct tc_proto tc_proto_http;
extern const struct tc_proto tc_proto_grpc;

/* NULL: no memory. The pool is borrowed and outlives all requests. SIGPIPE is ignored from here on:
 * a peer that is gone is an error of the write. */
struct tc_net *tc_net_create(const struct tc_net_limits *limits, struct tc_pool *pool);
/* Closes all connections at once. Requests may be answered even after it. */
void tc_net_destroy(struct tc_net *n);
struct event_base *tc_net_base(struct tc_net *n);
void tc_net_limit(struct tc_net *n, const struct tc_net_limits *limits);

/* TLS of a listener: PEM files; NULL: plain. */
struct tc_net_tls {
    const char *cert_path;
    const char *key_path;
    const char *client_ca_path; /* whose clients are let in; NULL or "": nobody is asked */
};

/*
 * Listens on "host:port" ("[::1]:4318", port 0: any). The service is borrowed for good. *out_port
 * (may be NULL) is the port. The error names the address and what to do.
 */
TC_CHECKED tc_status tc_net_listen(struct tc_net *n, const char *address,
                                   const struct tc_proto *proto, const struct tc_service *service,
                                   const struct tc_net_tls *tls, uint16_t *out_port,
                                   struct tc_error *err);
/*
 * The same for a listener that is to answer whatever happens to the others: it has
 * own_connections_max connections of its own and memory of its own (borrowed, as that of
 * tc_net_create), and a connection that comes to it is looked at before those of the others.
 */
TC_CHECKED tc_status tc_net_listen_apart(struct tc_net *n, const char *address,
                                         const struct tc_proto *proto,
                                         const struct tc_service *service,
                                         const struct tc_net_tls *tls, struct tc_pool *pool,
                                         uint16_t *out_port, struct tc_error *err);
/* Reads the certificates anew, for connections that come. One that fails stays as it was; the error
 * is that of the first. */
TC_CHECKED tc_status tc_net_reload_tls(struct tc_net *n, struct tc_error *err);
/* No new connections; each protocol's shutdown. All are gone once tc_net_connections is 0. */
void tc_net_shutdown(struct tc_net *n);
size_t tc_net_connections(const struct tc_net *n);

/* For protocols. */
const struct tc_net_limits *tc_conn_limits(const struct tc_conn *c);
const struct tc_service *tc_conn_service(const struct tc_conn *c);
struct tc_pool *tc_conn_pool(const struct tc_conn *c);
struct tc_peer tc_conn_peer(const struct tc_conn *c);
/* Queues bytes (copied) to be written. TC_E_LIMIT: over output_bytes_max, the connection is closed.
 */
TC_CHECKED tc_status tc_conn_write(struct tc_conn *c, struct tc_slice bytes);
/*
 * Queues bytes behind all others, to be written from where they are; `release` is called once they
 * are out or the connection is gone, also when this fails. Nothing is written behind them until
 * `drained` was called. They do not count for output_bytes_max: they are somebody's already.
 */
TC_CHECKED tc_status tc_conn_write_held(struct tc_conn *c, struct tc_slice bytes,
                                        void (*release)(void *context), void *context);
/* Bytes that wait to be written. */
size_t tc_conn_pending(const struct tc_conn *c);
/* Stops and starts reading: how a sender is made to wait. */
void tc_conn_pause(struct tc_conn *c, bool paused);
/* `expired` is called at this moment of the monotonic clock; 0: never. */
void tc_conn_deadline(struct tc_conn *c, int64_t at_ns);
/*
 * Once what waits was written (or write_timeout has passed) the connection is closed: our side
 * first, and what the peer still sends is dropped for a short while, so that the last answer
 * reaches it. No more input or deadlines; `close` comes at the end.
 */
void tc_conn_finish(struct tc_conn *c);
/* Closed as it is, once the protocol's function has returned. */
void tc_conn_close(struct tc_conn *c);
/* Wall clock and monotonic clock, now. */
int64_t tc_net_wall_ns(const struct tc_net *n);
int64_t tc_net_mono_ns(const struct tc_net *n);
struct tc_net *tc_conn_net(const struct tc_conn *c);

#endif
