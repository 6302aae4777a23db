/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of requests and their tapes. */
#include "server/ingest/priv.h"

#include <stdlib.h>
#include <string.h>

/* Jobs that are kept to be used again. */
#define JOBS_KEPT_MAX 1024

struct tc__ingest_job *tc__ingest_job_take(struct tc_ingest *in)
{
    struct tc__ingest_job *j = in->free_jobs;
    if (j != NULL) {
        in->free_jobs = j->next;
        in->free_count--;
        memset(j, 0, sizeof *j);
    } else {
        j = calloc(1, sizeof *j);
    }
    if (j != NULL) {
        j->in = in;
        in->in_flight++;
    }
    return j;
}

void tc__ingest_tape_keep(struct tc__ingest_job *j)
{
    struct tc_ingest *in = j->in;
    if (j->is_source || j->signal == TC_OTLP_TRACES || j->is_long) {
        return;
    }
    j->tape_memory = tc_pool_take_spare(in->parts.pool, tc_otlp_tape_bytes(&j->tape));
    if (j->tape_memory == NULL) {
        return;
    }
    tc_otlp_tape_move(&j->tape, j->tape_memory->data);
    j->next_tape = in->with_tape;
    j->at_tape = &in->with_tape;
    if (j->next_tape != NULL) {
        j->next_tape->at_tape = &j->next_tape;
    }
    in->with_tape = j;
}

struct tc_buffer *tc__ingest_tape_release(struct tc__ingest_job *j)
{
    struct tc_buffer *memory = j->tape_memory;
    if (memory == NULL) {
        return NULL;
    }
    *j->at_tape = j->next_tape;
    if (j->next_tape != NULL) {
        j->next_tape->at_tape = j->at_tape;
    }
    j->tape_memory = NULL;
    return memory;
}

bool tc__ingest_give_spare(void *context)
{
    struct tc_ingest *in = context;
    if (in->parts.handoff != NULL && tc_handoff_give_back(in->parts.handoff)) {
        return true;
    }
    if (in->with_tape == NULL) {
        return false;
    }
    tc_buffer_give(tc__ingest_tape_release(in->with_tape));
    return true;
}

void tc__ingest_job_give(struct tc__ingest_job *j)
{
    struct tc_ingest *in = j->in;
    tc_buffer_give(tc__ingest_tape_release(j));
    tc_buffer_give(j->body);
    tc_buffer_give(j->long_name);
    tc_forwarded_end(in->parts.forwarded, &j->forwarded, false);
    in->in_flight--;
    if (in->free_count >= JOBS_KEPT_MAX) {
        free(j);
        return;
    }
    j->next = in->free_jobs;
    in->free_jobs = j;
    in->free_count++;
}
