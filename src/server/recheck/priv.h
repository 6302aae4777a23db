/* SPDX-License-Identifier: Apache-2.0 */
/* Inside rechecks: what is under way, and what is watched. */
#ifndef TC_SERVER_RECHECK_PRIV_H
#define TC_SERVER_RECHECK_PRIV_H

#include "offline/pipeline.h"
#include "server/recheck/recheck.h"
#include "stored/ordered.h"

#include <pthread.h>
#include <stdatomic.h>

#define TC__WATCHED_MAX 256
/* The same while it is not yet known which of them live detection finds again. */
#define TC__RESTORED_MAX 4096
#define TC__WATCHED_KEY_MAX 512
#define TC__DIGESTS_MAX 256
#define TC__CAUSES_MAX 16

enum tc__recheck_state {
    TC__RECHECK_IDLE,
    TC__RECHECK_RUNNING,  /* ordered, offline, digests, status, error and spent_ns are the thread's
                           */
    TC__RECHECK_ADOPTING, /* the thread has ended; its findings are taken over */
};

/* An open incident that live detection does not know of. */
struct tc__watched {
    char pattern_id[8];
    char key[TC__WATCHED_KEY_MAX];
    size_t key_len;
    int64_t first_ns;
    int64_t until_ns;
    int64_t next_ns;
    int64_t pause_ns;
    bool is_restored; /* an earlier process told it; nobody looked whether live knows it */
};

struct tc__digest_of {
    uint64_t number;
    struct tc_digest digest;
};

struct tc_recheck {
    struct tc_config config;
    struct tc_live *live;
    struct tc_cited *cited;
    const char *evidence_dir;
    enum tc__recheck_state state;
    pthread_t thread;
    atomic_bool cancel;
    atomic_bool done;
    struct tc_stretch late;    /* that is looked at */
    struct tc_stretch stretch; /* the same with the incidents that it touches */
    int64_t end_ns;
    bool is_recorded; /* what comes is of the past: it was not told when it happened */
    struct tc_ordered *ordered;
    struct tc_offline offline;
    tc_status status;
    struct tc_error error;
    int64_t spent_ns; /* of processor time */
    size_t adopted;   /* findings looked at */
    uint64_t news;    /* of them that changed something */
    int64_t pause_ns; /* while nothing new is found */
    int64_t next_ns;  /* no recheck begins before */
    int64_t looked_ns;
    struct tc__watched *watched;
    size_t watched_count;
    size_t watched_cap;
    size_t restored;                               /* that made room for newer ones */
    struct tc__digest_of digests[TC__DIGESTS_MAX]; /* of bodies that findings cite: the thread's */
    size_t digest_count;
};

/* An incident that only a recheck found, and that is open. */
void tc__recheck_watch(struct tc_recheck *r, const struct tc_finding *f, struct tc_slice key,
                       int64_t now_ns);
/* Looks at those whose time has come. */
void tc__recheck_look(struct tc_recheck *r, int64_t now_ns);

/* Logs, once each, which sources are not in time, and when they are again. */
void tc__recheck_say_sources(struct tc_recheck *r, int64_t now_ns);

#endif
