/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#ifndef TC_SOURCE_SCRAPE_PRIV_H
#define TC_SOURCE_SCRAPE_PRIV_H

#include "base/buf.h"
#include "base/json/out.h"
#include "http_client/http_client.h"
#include "source/answer_priv.h"
#include "source/scrape/scrape.h"

#include <pthread.h>

#define TC__TARGET_URL_MAX 1024
/* It is a label of /metrics. */
#define TC__TARGET_NAME_MAX 128
#define TC__TARGET_NODE_MAX 256
/* GPUs of one target that are watched, and bytes of what one is called. */
#define TC__TARGET_GPUS_MAX 64
#define TC__TARGET_GPU_NAME_MAX 64

/* ---- target.c: what the configuration says of a target ---- */

struct tc__target_address {
    char name[TC__TARGET_NAME_MAX];      /* what it is called: given, else the URL */
    char url[TC__TARGET_URL_MAX];        /* all of it */
    char base[TC__TARGET_URL_MAX];       /* "http://host:port" */
    char path[TC__TARGET_URL_MAX];       /* "/metrics?x=y" */
    char node[TC__TARGET_NODE_MAX];      /* of samples that name none */
    char token_file[TC__TARGET_URL_MAX]; /* empty: none */
};

/* A line; local is this host's name. TC_E_USAGE: it is none, and why. */
TC_CHECKED tc_status tc__target_read(struct tc_slice line, struct tc_slice local,
                                     struct tc__target_address *out, struct tc_error *err);
/* When target `index` of `count` is asked next, after now_ns: they are spread over the interval
 * from start_ns on, and one that took long leaves turns out. */
int64_t tc__target_turn(int64_t start_ns, int64_t interval_ns, size_t index, size_t count,
                        int64_t now_ns);

/* ---- answer.c: what a target says ---- */

/* The GPUs that a target told of. */
struct tc__gpu {
    char name[TC__TARGET_GPU_NAME_MAX];
    bool is_seen;    /* in the answer that is looked at */
    bool is_gone;    /* it was said to be missing */
    unsigned missed; /* answers in a row without it */
};

struct tc__gpus {
    struct tc__gpu list[TC__TARGET_GPUS_MAX];
    size_t count;
    uint64_t gone_total; /* how often one was found missing */
};

/* Looks through an answer. tell is called for each that is missing now, or is there again. */
void tc__gpus_look(struct tc__gpus *g, struct tc_slice text,
                   void (*tell)(void *context, const char *gpu, bool is_gone), void *context);

/* ---- scrape.c ---- */

struct tc__target {
    struct tc__target_address at;
    struct tc_scrape *of;
    struct tc_source_port *port;
    struct tc_http_client *client;
    size_t index;
    pthread_t thread;
    /* What follows is guarded by the source's lock. */
    enum tc_source_state state;
    int64_t since_ns;
    int64_t answered_ns; /* wall clock, 0: never */
    int64_t took_ns;     /* the last answer */
    unsigned tries;      /* failed, in a row */
    uint64_t failures;
    uint64_t answers;
    uint64_t samples; /* in the last answer */
    struct tc__gpus gpus;
    char error[TC_ERROR_MESSAGE_MAX];
};

struct tc_scrape {
    pthread_mutex_t lock;
    int64_t interval_ns;
    int64_t start_ns; /* monotonic */
    bool is_guess;
    bool is_given_up; /* a guess that was wrong; guarded by the lock */
    size_t count;
    struct tc__target targets[TC_SCRAPE_TARGETS_MAX];
};

/* ---- health.c: how the targets are ---- */

/* One did not answer as it should. */
void tc__target_failed(struct tc__target *t, const char *why);
/* It did, with that text. */
void tc__target_answered(struct tc__target *t, struct tc_slice text, int64_t took_ns);
/* See struct tc_source_kind. */
void tc__scrape_describe(void *state, struct tc_json_out *j);
void tc__scrape_metrics(void *state, struct tc_buf *b);

#endif
