/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that writes evidence. Whatever waits is appended and made durable together; then each
 * job is told how it ended, in the loop's thread. While one group is on its way to the disk the
 * next one gathers, so a slow disk makes larger groups, not more of them. What
 * nobody waits for gathers a little longer.
 */
#ifndef TC_SERVER_COMMITTER_H
#define TC_SERVER_COMMITTER_H

#include "base/status.h"
#include "evidence/store.h"

#include <stdbool.h>
#include <stddef.h>

struct event_base;
struct tc_committer;

/* One batch on its way. The batch's body and name stay valid until settled is called. */
struct tc_commit_job {
    struct tc_commit_job *next; /* the committer's own */
    struct tc_batch batch;      /* its number is given by tc_committer_put */
    bool is_awaited;            /* somebody waits for it: it is written at once */
    bool wants_digest;          /* of the body; made by the thread that stores it */
    bool has_digest;            /* when it is settled */
    struct tc_digest digest;
    /* Called in the loop's thread, once. status is TC_OK when the batch is durable. */
    void (*settled)(struct tc_commit_job *job, tc_status status);
};

/* Borrows store, which no other thread may append to from now on. */
TC_CHECKED tc_status tc_committer_create(struct tc_store *store, struct event_base *base,
                                         struct tc_committer **out_committer, struct tc_error *err);
/* Waits for the jobs that are there, settles them, ends the thread. */
void tc_committer_destroy(struct tc_committer *c);

/* Takes a job and numbers its batch. From the loop's thread. */
void tc_committer_put(struct tc_committer *c, struct tc_commit_job *job);

/* The disk is full: nothing should be put until this is false again. Any thread. */
bool tc_committer_is_full(const struct tc_committer *c);
/* Bytes of bodies that wait in memory, not those of files, and jobs. From the loop's thread. */
size_t tc_committer_waiting_bytes(const struct tc_committer *c);
size_t tc_committer_waiting(const struct tc_committer *c);
/* The number that was given last. From the loop's thread. */
uint64_t tc_committer_last_number(const struct tc_committer *c);
/* Batches up to this one are settled: durable, or will never be. Any thread. */
uint64_t tc_committer_settled(const struct tc_committer *c);
/* Called in the loop's thread whenever that number has grown. Before the first job. */
void tc_committer_listen(struct tc_committer *c, void (*grown)(void *context), void *context);

#endif
