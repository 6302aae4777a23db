/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#ifndef TC_SERVER_FORWARD_PRIV_H
#define TC_SERVER_FORWARD_PRIV_H

#include "evidence/store.h"
#include "outbox/post.h"
#include "server/forward/forward.h"
#include "server/forward/place.h"

#include <pthread.h>
#include <stdatomic.h>

/* How it is with one receiver. */
struct tc__forward_stats {
    uint64_t batches; /* taken, by this process */
    uint64_t bytes;   /* of their bodies */
    uint64_t refused; /* batches that it does not want: they are left out */
    uint64_t retries;
    uint64_t waiting;   /* batches that are stored and not taken, at most */
    int64_t oldest_ns;  /* arrival of the one that is its turn; 0: none is */
    int64_t failing_ns; /* since when; 0: it does not fail */
    struct tc_error why;
};

/* One receiver, and its thread. `stats` and `position` are under the lock of all. */
struct tc__endpoint {
    struct tc_forward *of;
    const char *url; /* of place */
    pthread_t thread;
    bool is_started;
    int wake_fd;
    uint64_t position;
    struct tc__forward_stats stats;
    /* The thread's own from here on. */
    struct tc_evidence *evidence; /* NULL: not open */
    struct tc_post post;
    uint64_t until; /* of this walk: what is durable */
    bool is_long;   /* the client has the time for a long body */
    char *plain;    /* a body with its name before it */
    size_t plain_cap;
    char *packed; /* a body as gzip */
    size_t packed_cap;
};

struct tc_forward {
    struct tc_forward_parts parts;
    int stop_fd; /* readable: all are to end */
    pthread_mutex_t lock;
    struct tc_forward_place place; /* the id; positions are those of the endpoints */
    int64_t saved_ns;              /* monotonic */
    bool is_changed;
    pthread_mutex_t saver;
    size_t count;
    struct tc__endpoint endpoints[TC_FORWARD_ENDPOINTS_MAX];
};

/* send.c: until the batch is taken or refused. TC_E_AGAIN: the daemon ends. */
TC_CHECKED tc_status tc__forward_batch(struct tc__endpoint *e, const struct tc_batch *batch);
/* Waits; false at the end. */
bool tc__forward_sleep(const struct tc__endpoint *e, int64_t ns, bool until_news);

/* forward.c. Notes that it fails, or does not any more. */
void tc__forward_failing(struct tc__endpoint *e, const struct tc_error *why);
void tc__forward_works(struct tc__endpoint *e);
/* Saves how far all are, if that has changed; seldom, unless `now`. */
void tc__forward_save(struct tc_forward *f, bool now);

/* show.c: for tc_metrics_more; context is the whole. */
void tc__forward_metrics(void *context, struct tc_buf *b);

#endif
