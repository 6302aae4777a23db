/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop with a clock that only the test moves, a service that keeps what it is asked, and peers
 * without sockets: what they send and how their reads and writes go is up to the test.
 */
#ifndef TC_TESTS_NET_PROBE_H
#define TC_TESTS_NET_PROBE_H

#include "base/slice.h"
#include "base/time.h"
#include "net/net.h"
#include "net/net_priv.h"

#define NET_PROBE_HELD_MAX 64
#define NET_PROBE_TEXT_MAX 512

/* What the last request that reached the service was. */
struct net_probe_seen {
    enum tc_method method;
    char path[NET_PROBE_TEXT_MAX];
    char query[NET_PROBE_TEXT_MAX];
    char content_type[NET_PROBE_TEXT_MAX];
    char content_encoding[NET_PROBE_TEXT_MAX];
    char authorization[NET_PROBE_TEXT_MAX];
    char host[NET_PROBE_TEXT_MAX];
    char origin[NET_PROBE_TEXT_MAX];
    char fetch_site[NET_PROBE_TEXT_MAX];
    size_t body_len; /* in memory or in a file */
    uint64_t body_hash;
    int64_t arrival_ns;
};

struct net_probe {
    struct tc_pool *pool;
    struct tc_net *net;
    struct tc__listener *listener; /* of HTTP, without a socket */
    struct tc_service service;
    int64_t mono_ns;
    int64_t wall_ns;
    bool holds; /* the service answers when the test says so */
    size_t begun;
    size_t handled;
    struct net_probe_seen seen;
    struct tc_request *held[NET_PROBE_HELD_MAX];
    size_t held_count;
    enum tc_answer begin_answer; /* TC_ANSWER_OK: takes all */
    size_t begin_body_max;       /* 0: leaves it */
    int64_t begin_delay_ns;      /* of a refusal */
    const char *spool_dir;       /* NULL: bodies stay in memory */
    struct tc_response answer;   /* body empty: the request's own comes back */
};

/* Small enough to be reached, large enough not to be in the way. */
struct tc_net_limits net_probe_limits(void);
void net_probe_init(struct net_probe *p, const struct tc_net_limits *limits, size_t pool_bytes);
void net_probe_fini(struct net_probe *p);
/* Moves both clocks and lets deadlines pass. */
void net_probe_wait(struct net_probe *p, int64_t ns);
/* Answers the oldest request that is held. */
void net_probe_answer(struct net_probe *p);

struct net_peer {
    struct net_probe *probe;
    struct tc_conn *conn; /* NULL: closed */
    struct tc_slice in;   /* to be read */
    bool in_ends;         /* behind it the peer has closed its side */
    size_t read_most;     /* bytes that one read gives; 0: as many as there are */
    int read_errno;       /* 0: EAGAIN where there are no bytes */
    size_t reads;
    char *out;
    size_t out_len;
    size_t out_cap;
    size_t write_room; /* bytes it takes before EAGAIN */
    int write_errno;
    bool half_closed;
};

/* A connection of HTTP, with nothing sent yet. */
void net_peer_open(struct net_peer *peer, struct net_probe *p);
/* Sends the bytes and lets the loop look at them. */
void net_peer_send(struct net_peer *peer, struct tc_slice bytes);
void net_peer_say(struct net_peer *peer, const char *text);
/* The peer closes its side. */
void net_peer_end(struct net_peer *peer);
/* It takes that many bytes more. */
void net_peer_writable(struct net_peer *peer, size_t bytes);
/* All that was written to it so far; with a NUL behind it. */
const char *net_peer_heard(struct net_peer *peer);
/* Forgets that. */
void net_peer_forget(struct net_peer *peer);
/* How many status lines were heard; the last one's status in *out_status (may be NULL). */
size_t net_peer_answers(struct net_peer *peer, int *out_status);
void net_peer_fini(struct net_peer *peer);

#endif
