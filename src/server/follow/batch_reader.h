/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that reads stored batches for detection: at start what is replayed, later what takes
 * long (uploaded files, long requests) and what came while detection was behind. It makes the
 * events, copies them into chunks and lets them wait in a bounded queue; the loop takes a chunk
 * when it has time. In the order of the batches' numbers, each once.
 */
#ifndef TC_SERVER_FOLLOW_BATCH_READER_H
#define TC_SERVER_FOLLOW_BATCH_READER_H

#include "base/digest.h"
#include "base/os/spool.h"
#include "base/status.h"
#include "codec/otlp/wire.h"
#include "event/event.h"
#include "evidence/store.h"
#include "server/follow/judged.h"
#include "server/ingest/sender.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_batch_reader;

struct tc_batch_reader_config {
    const char *data_dir;     /* for the file that says what was judged; copied */
    const char *evidence_dir; /* copied */
    struct tc_otlp_limits otlp;
    size_t body_max;
    /* Called from the thread: there is a chunk, or more than one. */
    void (*wake)(void *context);
    void *context;
};

TC_CHECKED tc_status tc_batch_reader_create(const struct tc_batch_reader_config *config,
                                            struct tc_batch_reader **out_reader,
                                            struct tc_error *err);
/* Ends the thread, wherever it is; what it read and nobody took is read again after the next start.
 * Writes what was judged. */
void tc_batch_reader_destroy(struct tc_batch_reader *r);

/* Some events of one batch, or none. The rest of it follows, up to the one with is_last. */
struct tc_chunk {
    struct tc_chunk *next; /* the reader's */
    uint64_t number;       /* of the batch */
    int64_t arrival_ns;
    uint64_t body_bytes;
    bool is_file;
    bool is_found; /* a file that a source found, not one that somebody sent */
    bool is_first;
    bool is_last;
    /* Not of a batch: all that was asked for and is there has been read; number is the next. */
    bool is_end;
    char sender[TC_SENDER_MAX]; /* of a batch, where it is_first */
    bool has_digest;            /* of the body, where it is long */
    struct tc_digest digest;
    size_t used;
    size_t cap;
    /* Records of an event each, one after another: tc_chunk_event. */
    unsigned char *data;
};

/* The event at *io_at, which is moved behind it; NULL behind the last. */
const struct tc_event *tc_chunk_event(const struct tc_chunk *c, size_t *io_at);

/* Counts and logs that a batch could not be read to its end. Any thread. */
void tc_batch_say_unread(const struct tc_batch *batch, const struct tc_error *err);

/* ---- the loop's thread ---- */

/* What is stored from `from` to `until`: once, before anything else. */
void tc_batch_reader_begin(struct tc_batch_reader *r, uint64_t from, uint64_t until);
/*
 * Batch `number` is durable and to be read, as is all since the one that was said last and that
 * nobody else reads. Takes spool (may be NULL): the mapped body of a file, read from there while
 * the process runs.
 */
void tc_batch_reader_want(struct tc_batch_reader *r, uint64_t number, struct tc_spool *spool,
                          struct tc_slice body);
/* The next chunk, to be given back; NULL: there is none yet. */
struct tc_chunk *tc_batch_reader_take(struct tc_batch_reader *r);
void tc_batch_reader_give(struct tc_batch_reader *r, struct tc_chunk *c);
/* All up to that batch was judged and told. Written seldom. */
void tc_batch_reader_judged(struct tc_batch_reader *r, const struct tc_judged *judged);

#endif
