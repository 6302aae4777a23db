/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#ifndef TC_SERVER_INGEST_PRIV_H
#define TC_SERVER_INGEST_PRIV_H

#include "server/cited.h"
#include "server/ingest/forwarded.h"
#include "server/ingest/ingest.h"
#include "server/ingest/sender.h"

/*
 * One request from its check until its bytes are stored and detection has read them or will read
 * them from the store. The tape of its body is the reader's from the check to the end of `store`. A
 * job that waits longer keeps a copy, where the pool has memory to spare: then tape_memory holds
 * it, and the job is in the list `with_tape`.
 */
struct tc__ingest_job {
    struct tc_commit_job commit; /* first: the committer gives it back */
    struct tc_cited_pending cited;
    struct tc__ingest_job *next; /* of the free ones */
    struct tc_ingest *in;
    struct tc_request *request; /* NULL once answered */
    bool is_settled;            /* durable, or could not be made so: `stored` */
    bool is_waiting;            /* for detection */
    bool is_left;               /* detection reads it from the store */
    tc_status stored;
    struct tc_waiting waiting;
    struct tc_pool_claim claim; /* memory for what a compressed body holds */
    int64_t claim_until_ns;
    enum tc_encoding encoding;
    bool is_long; /* the thread checked it: there is no tape */
    struct tc_body_check check;
    struct tc_buffer *body;
    enum tc_otlp_signal signal;
    enum tc_otlp_form form;
    struct tc_otlp_tape tape;
    struct tc_buffer *tape_memory;
    struct tc__ingest_job *next_tape;
    struct tc__ingest_job **at_tape; /* what points to this job in that list */
    /* Another daemon forwarded it; a piece of a source has its name before its bytes. */
    struct tc_forwarded_batch forwarded;
    bool is_source;
    size_t body_at;
    struct tc_buffer *long_name; /* of a piece of a source */
    char name[TC_SENDER_MAX + TC_FORWARDED_NAME_MAX];
};

struct tc_ingest {
    struct tc_ingest_parts parts;
    struct tc_service service;
    struct tc__ingest_job *free_jobs;
    struct tc__ingest_job *with_tape; /* the one that has to wait longest first */
    size_t free_count;
    size_t in_flight;
};

/* job.c. NULL: no memory. */
struct tc__ingest_job *tc__ingest_job_take(struct tc_ingest *in);
/* With all that it has. */
void tc__ingest_job_give(struct tc__ingest_job *j);
/* Takes the tape for longer than the reader has it. Traces have none: no pattern reads them. */
void tc__ingest_tape_keep(struct tc__ingest_job *j);
/* The job is without it afterwards. NULL: it has none. */
struct tc_buffer *tc__ingest_tape_release(struct tc__ingest_job *j);
/* For tc_pool_set_spare: a body needs the memory, and one that waits is parsed again. */
bool tc__ingest_give_spare(void *context);

#endif
