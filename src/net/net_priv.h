/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the loop: connections, how their bytes move, and their deadlines. Tests and fuzzers
 * bring a tc__io and a clock of their own; everything above those two is what runs in production.
 */
#ifndef TC_NET_NET_PRIV_H
#define TC_NET_NET_PRIV_H

#include "net/net.h"
#include "net/request_priv.h"
#include "observe/metrics.h"

#include <sys/types.h>
#include <sys/uio.h>

struct event;
struct ssl_ctx_st;

/* Bytes of the loop's buffer: what one read brings when the protocol names no other place. */
#define TC_NET_READ_BYTES ((size_t)256 << 10)
/* Read or written for one connection before the others get their turn. */
#define TC_NET_WAKE_BYTES ((size_t)512 << 10)
#define TC_NET_ACCEPTS_PER_WAKE 64
/* That part of connections_max is kept for each listener: whoever fills one leaves the others, the
 * health checks among them, reachable. */
#define TC_NET_SHARE 16
/* Who has been idle, or has begun, for that long makes room before others do. */
#define TC_NET_EVICT_NS INT64_C(1000000000)
/* Connections to a listener apart that are looked at before all others: that many at once, then
 * one in so long. Beyond that rate they wait their turn, so that the others get one. */
#define TC_NET_URGENT_COUNT 32
#define TC_NET_URGENT_NS INT64_C(10000000)
#define TC_NET_LISTENERS_MAX 16
/* Without files or memory for a connection the listeners rest that long. */
#define TC_NET_ACCEPT_REST_NS INT64_C(100000000)
/* After the last answer the peer has that much time, and that many bytes, to notice the end. */
#define TC_NET_LINGER_NS INT64_C(2000000000)
#define TC_NET_LINGER_BYTES ((size_t)16 << 20)
/* Output that costs no buffer: an answer without much of a body, also when the pool is spent. */
#define TC_NET_INLINE_BYTES 1024
#define TC_NET_OUTPUT_BUFFER_BYTES ((size_t)64 << 10)
#define TC_NET_IOV_MAX 16

/* Priorities of events. What says nothing is ordinary: libevent takes the middle. */
enum { TC__URGENT, TC__ORDINARY, TC__IDLE, TC__PRIORITIES };

/* How bytes move. Results and errno are those of read(2) and writev(2) on a non-blocking socket. */
/* What a connection has for us that is not read for now. */
enum tc__waiting {
    TC__WAITING_NONE,  /* nothing of the protocol's */
    TC__WAITING_BYTES, /* as the next read will say */
    TC__WAITING_END,   /* the peer sends no more */
};

struct tc__io {
    ssize_t (*read)(struct tc_conn *c, void *to, size_t len);
    /* Less than all of it only when the peer takes no more now. */
    ssize_t (*write)(struct tc_conn *c, const struct iovec *iov, int count);
    /* Bytes that came and that no event will tell of. NULL: never. */
    bool (*buffered)(const struct tc_conn *c);
    /* Looks behind what is around the protocol's bytes, and takes none of them. NULL: there is
     * nothing around them. */
    enum tc__waiting (*look)(struct tc_conn *c);
    void (*half_close)(struct tc_conn *c);
    void (*close)(struct tc_conn *c);
};

extern const struct tc__io tc__io_tls;

enum tc__conn_phase {
    TC__CONN_OPEN,
    TC__CONN_FINISHING, /* what waits is written, what comes is dropped */
    TC__CONN_LINGERING, /* all is written and said to be; waits for the peer to close */
    TC__CONN_DEAD,      /* to be closed as soon as no call of the protocol runs */
};

struct tc__conn_list {
    struct tc_conn *prev;
    struct tc_conn *next;
};

/*
 * The protocol's state follows in the same block. Invariants: pending is the sum of what waits in
 * inline_out, in the chain and of `held`, and is written in that order. queued_at is never later
 * than the earliest deadline while queued.
 */
struct tc_conn {
    struct tc_net *net;
    struct tc__listener *of;
    struct tc__conn_list all;
    struct tc_conn *next_dirty;
    struct tc_conn *next_free;
    const struct tc__io *io;
    void *io_state;
    struct event *on_read;
    struct event *on_write;
    int fd; /* -1: a test's */
    struct tc_peer peer;
    unsigned busy;
    enum tc__conn_phase phase;
    enum tc_counter why; /* what its end is counted as */
    bool paused;
    bool reading; /* on_read is added */
    bool writing;
    bool dirty; /* has output or an end that the loop has not looked at */
    bool read_wants_write;
    bool eof;
    bool is_urgent;   /* until it was read once */
    int64_t proto_at; /* deadlines, monotonic; 0: none */
    int64_t own_at;
    int64_t queued_at;
    size_t heap_index; /* SIZE_MAX: not queued */
    size_t lingered;
    size_t pending;
    size_t inline_start;
    size_t inline_end;
    struct tc_buffer *chain;
    struct tc_buffer *chain_last;
    size_t chain_start;   /* of the first buffer: what was written of it */
    struct tc_slice held; /* the owner's bytes, until release */
    void (*release)(void *context);
    void *release_context;
    char inline_out[TC_NET_INLINE_BYTES];
};

struct tc__listener {
    struct tc_net *net;
    struct tc_pool *pool;
    bool is_apart; /* has connections and memory of its own */
    const struct tc_proto *proto;
    const struct tc_service *service;
    struct event *on_accept;
    int fd; /* -1: closed, or a test's */
    struct ssl_ctx_st *tls;
    char *cert_path;
    char *key_path;
    char *client_ca_path; /* NULL: clients need no certificate */
    size_t connections;
    struct tc_conn *waiting; /* connections to be used again */
    struct tc__conn_block *blocks;
};

struct tc__clock {
    int64_t (*mono)(void *context);
    int64_t (*wall)(void *context);
    void *context;
};

struct tc_net {
    struct event_base *base;
    struct tc_pool *pool;
    struct tc_net_limits limits;
    struct tc__clock clock;
    struct tc__requests *requests;
    struct tc__listener listeners[TC_NET_LISTENERS_MAX];
    size_t listener_count;
    struct tc_conn *all;
    size_t connections;
    struct tc_conn *dirty;
    struct event *on_dirty;
    bool dirty_woken;
    bool ending;
    struct event *on_memory; /* the pools may have something for those who wait */
    int64_t reclaimed_ns;    /* when bodies that had stopped were looked for */
    struct event *on_timer;
    int64_t timer_at;        /* 0: not armed */
    int64_t accept_at;       /* listeners rest until then; 0: they do not */
    int64_t urgent_until_ns; /* how far the urgent connections reach into the future */
    struct tc_conn **heap;
    size_t heap_len;
    size_t heap_cap;
    int64_t date_s; /* what date shows */
    char date[32];
    unsigned char *shared; /* TC_NET_READ_BYTES */
};

static inline void *tc__conn_state(struct tc_conn *c)
{
    return c + 1;
}

/* net.c */
void tc__net_clock(struct tc_net *n, struct tc__clock clock);
/* A listener without a socket. NULL: too many. */
struct tc__listener *tc__net_listener(struct tc_net *n, const struct tc_proto *proto,
                                      const struct tc_service *service);
/* Closes it and frees all of its connections, none of which is open. */
void tc__listener_fini(struct tc__listener *l);
/* A connection over io; fd may be -1. NULL: no memory, and io is not closed. One that the protocol
 * does not want is dead, and gone after this turn. */
struct tc_conn *tc__net_attach(struct tc__listener *l, int fd, const struct tc__io *io,
                               void *io_state);
/* Looks at every connection that has output or an end, as the loop does after its callbacks. */
void tc__net_turn(struct tc_net *n);
/* Deadlines up to now, as the loop's timer does. */
void tc__net_tick(struct tc_net *n);
/* "Sun, 06 Nov 1994 08:49:37 GMT" */
struct tc_slice tc__net_date(struct tc_net *n);

/* memory.c */
/* The pools serve those who wait, from now on too. */
TC_CHECKED bool tc__net_memory_init(struct tc_net *n);
void tc__net_memory_fini(struct tc_net *n);
/* A pool of this loop: it wakes the loop. */
void tc__net_memory_watch(struct tc_net *n, struct tc_pool *pool);
/* Serves those who wait for memory; takes it from bodies that have stopped coming. */
void tc__net_memory_serve(struct tc_net *n);

/* Is there room for one more connection of the listener? */
bool tc__net_has_room(const struct tc__listener *l);
/* Closes the connection that is most in the way of others, if there is one, and if it is not of
 * the share of another listener; of any listener with `anywhere`. Not from within a protocol. */
bool tc__net_evict(const struct tc__listener *l, bool anywhere);
/* Whether one more connection of the listener may be looked at before all others ... */
bool tc__net_urgent_left(const struct tc__listener *l);
/* ... and is. */
bool tc__net_take_urgent(const struct tc__listener *l);

/* conn.c */
void tc__conn_readable(struct tc_conn *c);
void tc__conn_writable(struct tc_conn *c);
void tc__conn_settle(struct tc_conn *c);
/* No more of it, counted as why unless a reason was there before. */
void tc__conn_kill(struct tc_conn *c, enum tc_counter why);
void tc__conn_why(struct tc_conn *c, enum tc_counter why);
void tc__conn_touch(struct tc_conn *c);
void tc__conn_drop_output(struct tc_conn *c);
/* net.c: closes and gives the slot back. */
void tc__conn_destroy(struct tc_conn *c);

/* timer.c */
bool tc__timer_reserve(struct tc_net *n, size_t connections);
/* The deadlines of c have changed. */
void tc__timer_update(struct tc_conn *c);
void tc__timer_remove(struct tc_conn *c);
/* The connection whose time may have come, or NULL. */
struct tc_conn *tc__timer_due(struct tc_net *n, int64_t now_ns);
void tc__timer_arm(struct tc_net *n);

/* tls.c */
TC_CHECKED tc_status tc__tls_context(const struct tc_net_tls *files, const char *proto_name,
                                     struct ssl_ctx_st **out_context, struct tc_error *err);
void tc__tls_context_free(struct ssl_ctx_st *context);
/* The state of tc__io_tls; NULL: no memory. */
void *tc__tls_session(struct ssl_ctx_st *context, int fd);
void tc__tls_session_free(void *session);

#endif
