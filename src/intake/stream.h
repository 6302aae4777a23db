/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An input as an ordered stream of events, for tc_merge. An input is read whole
 * and sorted, within a budget that all streams share. A large one whose codec
 * delivers in order is read a batch at a time instead, and two batches are kept
 * in sight, so that local disorder is repaired and memory does not depend on the
 * file's size.
 *
 * Events without a date keep the order of their lines: they are given times before all dates
 * (TC_TIME_UNDATED_MIN), which no two inputs share.
 *
 * Arenas never grow, so a codec that needs more strings than fit is given more
 * room and the same bytes again.
 */
#ifndef TC_INTAKE_STREAM_H
#define TC_INTAKE_STREAM_H

#include "base/os/block.h"
#include "base/status.h"
#include "codec/codec.h"
#include "event/event.h"
#include "event/fields.h"
#include "intake/held.h"
#include "intake/hints.h"
#include "intake/input.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_STREAM_BATCH 8192
/* Inputs up to this are sorted whole, whatever their codec says about their order. */
#define TC_STREAM_WHOLE_MAX ((size_t)64 << 20)

/* Memory that grows by being thrown away: the room a codec works in. */
struct tc_room {
    struct tc_arena arena;
    struct tc_block *block;
};

struct tc_stream_pool;

/* Told once for an input that could not be read to its end. */
typedef void (*tc_stream_error_fn)(void *context, const struct tc_input *input,
                                   const struct tc_error *err);
/* Told about bytes that were not understood, each once, in the order of the file. */
typedef tc_status (*tc_stream_unknown_fn)(void *context, const struct tc_input *input,
                                          uint64_t offset, size_t length, const char *why);
/* Told now and then: bytes decoded since the last call, and whether the input is finished. */
typedef void (*tc_stream_progress_fn)(void *context, size_t bytes, bool finished);

/* What the streams of one run share. One thread. */
struct tc_stream_pool {
    size_t budget_bytes; /* for held events and for each room */
    size_t held_bytes;
    size_t batch;     /* events of one batch */
    size_t whole_max; /* TC_STREAM_WHOLE_MAX; tests lower it */
    int32_t utc_offset_s;
    struct tc_hints *hints; /* for events that name a node --boot-time knows; may be NULL */
    struct tc_room strings;
    struct tc_room scratch;
    const void **sort_scratch;
    size_t sort_cap;
    tc_stream_error_fn error;
    tc_stream_progress_fn progress;
    tc_stream_unknown_fn unknown;
    void *context; /* of all three, each of which may be NULL */
    /* Told of every event before it is put in order; may change its time. NULL: nobody is. */
    void (*adjust)(const void *context, struct tc_event *ev);
    const void *adjust_context;
    bool file_order; /* events leave as they stand in the file; nothing is sorted */
    struct tc_event_strings event_strings;
};

/* Zeroes the pool and makes it ready for so many streams of ordered codecs. Allocates nothing. */
void tc_stream_pool_init(struct tc_stream_pool *p, size_t budget_bytes, size_t ordered_count);
void tc_stream_pool_fini(struct tc_stream_pool *p);

/*
 * Invariants: held.order[next..ready) are events that may leave, those from ready on wait for the
 * next batch; all strings of held events lie in the input's bytes or in strings.
 */
struct tc_source_stream {
    struct tc_stream_pool *pool;
    struct tc_input *input;
    uint32_t source;
    int64_t undated_slot; /* by the content, once an event has no date; -1 */
    struct tc_codec_cursor cursor;
    struct tc_held held;
    size_t held_bytes; /* as the pool has counted them, strings too */
    size_t next;
    size_t ready;
    char *strings;
    size_t strings_bytes;
    uint64_t since_boot;  /* events that left with only a time since boot */
    uint64_t timeless;    /* events that left with no time at all, though their kind has one */
    uint64_t nodeless;    /* events that left without a node */
    size_t reported;      /* bytes the progress was told about */
    uint64_t unknown_end; /* what lies before it was reported: decoding again says it again */
    bool ordered;         /* its events come in order, as far as its codec can tell */
    bool done;            /* nothing more to decode */
    bool over_budget;
    bool piecewise; /* too many events to hold: from here on in batches */
};

/* Borrows all. */
void tc_source_stream_init(struct tc_source_stream *s, struct tc_stream_pool *pool,
                           struct tc_input *input, uint32_t source);
void tc_source_stream_fini(struct tc_source_stream *s);
/* A tc_stream_fn; context is the struct tc_source_stream. */
TC_CHECKED tc_status tc_source_stream_next(void *context, const struct tc_event **out);

/*
 * How far the inputs reach: a log that goes on with lines that are no events shows that time
 * passed. The latest of all, so the order of the inputs makes no difference.
 */
int64_t tc_stream_last_time(const struct tc_stream_pool *p, const struct tc_input *inputs,
                            size_t count);

#endif
