/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How detection follows what is stored. Either it is level with it, and reads each batch that waits
 * in memory, with its tape, when no socket wants the loop; or it is behind, and reads batches
 * through the thread of batch_reader.h in the order of their numbers: at start (the replay), after
 * something that takes long (an upload, a long request), and when it cannot keep up although
 * senders wait for it. A batch is read once, by one way or the other. The loop gives it a few
 * milliseconds and then looks at its sockets. The loop's thread.
 */
#ifndef TC_SERVER_FOLLOW_CATCH_UP_H
#define TC_SERVER_FOLLOW_CATCH_UP_H

#include "base/os/spool.h"
#include "base/status.h"
#include "server/detection.h"
#include "server/follow/batch_reader.h"

#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct tc_catch_up;

/* The longest body that the loop reads itself. */
#define TC_LEVEL_BODY_BYTES ((size_t)4 << 20)
/* And the most objects in it. */
#define TC_LEVEL_OBJECTS ((size_t)262144)

struct tc_catch_up_config {
    struct event_base *base;
    struct tc_detection *detection;       /* borrowed */
    struct tc_batch_reader_config reader; /* all but wake */
    bool is_off;                          /* nothing is judged here: batches only count as such */
    int64_t started_ns;                   /* our clock, before anything new can come */
    int64_t window_ns;                    /* of the past that is read again */
    uint64_t bytes_max;                   /* of it; 0: no bound */
    uint64_t memory_bytes;                /* of all requests: three quarters may wait */
    /* Events were fed: time may have come for something. */
    void (*fed)(void *context);
    void *context;
};

/* Finds out what is to be replayed, up to batch `last`; tc_catch_up_start begins it. */
TC_CHECKED tc_status tc_catch_up_create(const struct tc_catch_up_config *config, uint64_t last,
                                        struct tc_catch_up **out_catch_up, struct tc_error *err);
/* The log says when it ends, and every ten seconds how far it is. */
void tc_catch_up_start(struct tc_catch_up *c);
/* What was read and not fed is read again after the next start. */
void tc_catch_up_destroy(struct tc_catch_up *c);

/* When detection reads a batch. */
enum tc_catch_up_when {
    TC_CATCH_UP_PROMPTLY, /* it waits in memory, for a moment: its sender need not */
    TC_CATCH_UP_SOON,     /* it waits in memory, behind so many that its sender waits too */
    TC_CATCH_UP_LATER,    /* from the store */
};

/* A batch that waits in memory; a part of what the caller keeps of it. */
struct tc_waiting {
    struct tc_waiting *next;
    uint64_t bytes;
    uint64_t records;
    int64_t since_ns;                     /* monotonic */
    bool is_answered;                     /* no sender waits for it: sockets come first */
    void (*turn)(struct tc_waiting *own); /* it is read now: calls tc_catch_up_took */
};

/*
 * A batch comes that has so many bytes and records: when it is read. Promptly and soon: the caller
 * calls tc_catch_up_wait. Later: it calls tc_catch_up_later and, when the batch is settled,
 * tc_catch_up_settled. Each in the order of the numbers.
 */
enum tc_catch_up_when tc_catch_up_when(const struct tc_catch_up *c, uint64_t bytes,
                                       uint64_t records);
void tc_catch_up_took(struct tc_catch_up *c, const struct tc_batch *batch);
/* Borrows w until its turn; bytes, records, is_answered and turn are set. */
void tc_catch_up_wait(struct tc_catch_up *c, struct tc_waiting *w);
/* Detection may have room again: what waits for it is read, for a few milliseconds. */
void tc_catch_up_resume(struct tc_catch_up *c);
/* The same at the end, whatever room there is and however long it takes. */
void tc_catch_up_take_waiting(struct tc_catch_up *c);
void tc_catch_up_later(struct tc_catch_up *c);
/* is_stored: it is durable. Takes spool, see tc_batch_reader_want. */
void tc_catch_up_settled(struct tc_catch_up *c, const struct tc_batch *batch, bool is_stored,
                         struct tc_spool *spool);

/* Whether nothing is judged here. What comes is "later", and never read. */
bool tc_catch_up_is_off(const struct tc_catch_up *c);
/* Whether our clock is not to be told to detection: its time is that of what it reads. */
bool tc_catch_up_is_behind(const struct tc_catch_up *c);

struct tc_catch_up_progress {
    bool is_replaying; /* until all of it was told */
    uint64_t batches;  /* of the replay, done and in all; bytes are those of their bodies */
    uint64_t batches_total;
    uint64_t bytes;
    uint64_t bytes_total;
    uint64_t behind; /* batches after the replay that are stored and not judged yet, at most */
};

void tc_catch_up_progress(const struct tc_catch_up *c, struct tc_catch_up_progress *out);

#endif
