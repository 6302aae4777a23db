/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window of a join: records with their strings in one ring, found by
 * identity through one index and walked by what they have in common (their node)
 * through chains, newest first. Every step is constant on average; what a walk
 * may visit is bounded by its caller.
 *
 * A record starts with struct tc_window_head. Its slices point into the record
 * itself: the ring's block does not move.
 */
#ifndef TC_DETECT_WINDOW_PRIV_H
#define TC_DETECT_WINDOW_PRIV_H

#include "base/arena.h"
#include "base/map.h"
#include "base/ring.h"
#include "base/slice.h"
#include "detect/detector.h"
#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A member of a record: its bytes, or those that a slice leads to. */
struct tc_field {
    uint16_t offset;
    uint16_t size; /* 0 ends a list of fields */
    bool is_text;
};

#define TC_FIELD(type, member)                               \
    {                                                        \
        offsetof(type, member), sizeof(((type *)0)->member), \
            _Generic(((type *)0)->member, struct tc_slice    \
                     : true, default                         \
                     : false)                                \
    }
/* The offset of a slice in a record; a member of another type does not compile. */
#define TC_TEXT(type, member) \
    _Generic(((type *)0)->member, struct tc_slice : offsetof(type, member))

#define TC_RECORD_FIELDS_MAX 9
#define TC_RECORD_TEXTS_MAX 15
#define TC_RECORD_KEYS_MAX 3

/*
 * What a window has to know of its records. Members must have no padding that is not zero: a key
 * is compared by its bytes.
 */
struct tc_record_type {
    size_t size;
    size_t text_min;                       /* every record has at least so many bytes of strings */
    size_t texts[TC_RECORD_TEXTS_MAX + 1]; /* the slices that are kept with the record; 0 ends */
    /* What a record is found by. The first is what tc__window_get looks for and makes one record
     * of; the others are other names: see tc__window_index. */
    struct tc_field keys[TC_RECORD_KEYS_MAX][TC_RECORD_FIELDS_MAX + 1];
    /* What records of a chain have in common; none: the window is not walked. */
    struct tc_field chain[TC_RECORD_FIELDS_MAX + 1];
};

struct tc_window_head {
    uint64_t pos;    /* its own name in the ring */
    uint64_t older;  /* the next record of its chain; may have left the ring */
    int64_t seen_ns; /* the newest time folded into it: expiry looks at this */
};

/* Invariant: both maps lead only to records of the ring, or to records that have left it. */
struct tc_window {
    struct tc_ring ring;
    struct tc_map index;
    struct tc_map chains;
    const struct tc_record_type *type;
    struct tc_arena *scratch;
    int64_t kept_ns;        /* how long a record is kept after it was last seen */
    struct tc_window *next; /* of the same detector */
    int64_t lost_ns;        /* nothing newer than this was pushed out; INT64_MIN when nothing was */
    bool bare;              /* a pod without a uid was kept: see window_pod_priv.h */
};

#define TC_KEPT_ALWAYS INT64_MAX

/*
 * A window of the detector: the engine lets go of what was last seen kept_ns ago or is pushed out
 * of ring_bytes, and counts the latter. False when the detector's arena is full.
 */
bool tc__window_open(struct tc_window *w, struct tc_detector_base *base,
                     const struct tc_record_type *type, size_t ring_bytes, int64_t kept_ns);
/* The newest record with the key of this one, which need not be complete otherwise; NULL when
 * there is none. */
void *tc__window_get(const struct tc_window *w, const void *key);
/* The same by another key of the type. */
void *tc__window_get_by(const struct tc_window *w, unsigned which, const void *key);
/*
 * Keeps a copy of record with its strings, which may lie in the same window: found by its first
 * key from now on, and in front of its chain, unless the first field of that is an empty text.
 * NULL when scratch is full. Pushes out the oldest records when the ring is.
 */
void *tc__window_add(struct tc_window *w, const void *record, int64_t seen_ns);
/* The record with the key of this one, or this one added. NULL when scratch is full. */
void *tc__window_get_or_add(struct tc_window *w, const void *record, int64_t seen_ns);
/* Makes a key of the type lead to a record that was added. */
void tc__window_index(struct tc_window *w, unsigned which, const void *record);
/* Writes record over `old`, the same one in the window, when no string of it has changed; its
 * slices are the window's then. False when it has to be added anew. */
bool tc__window_update(const struct tc_window *w, void *old, void *record, int64_t seen_ns);
/* The newest record of the key's chain, and the one before; NULL when there is none. */
void *tc__window_newest(const struct tc_window *w, const void *key);
static inline void *tc__window_older(const struct tc_window *w, const void *record);

/* The bytes a record of `size` and at least `text` bytes of strings takes in the ring. */
#define TC_WINDOW_RECORD_BYTES(size, text) ((8 + (size) + (text) + 7) / 8 * 8)

/* Lets go of the oldest records that were last seen before a time. */
void tc__window_expire(struct tc_window *w, int64_t before_ns);

/*
 * Many occurrences of one thing as one: a span is kept no longer than a step, so
 * that a storm costs what its first event costs. Invariant: first_ns <= last_ns.
 */
struct tc_span {
    int64_t first_ns;
    int64_t last_ns;
    int64_t count;
    struct tc_raw first_raw;
    struct tc_raw last_raw;
};

/* The order of evidence of one time: by source, then by place. */
bool tc__raw_before(struct tc_raw a, struct tc_raw b);

struct tc_span tc__span_make(int64_t time_ns, struct tc_raw raw);
/* Adds an occurrence. Of two at the same time the first in the input is the evidence. */
void tc__span_add(struct tc_span *span, int64_t time_ns, struct tc_raw raw);
/*
 * How many occurrences lie in [from_ns, to_ns], which is longer than the span;
 * when there is one, the last known of them. Only the ends of a span are known: one
 * that reaches over an edge counts without the end that is outside.
 */
int64_t tc__span_inside(const struct tc_span *span, int64_t from_ns, int64_t to_ns, int64_t *out_ns,
                        struct tc_raw *out_raw);

static inline void *tc__window_older(const struct tc_window *w, const void *record)
{
    return tc_ring_at(&w->ring, ((const struct tc_window_head *)record)->older);
}

static inline void *tc__window_at(const struct tc_window *w, uint64_t pos)
{
    return tc_ring_at(&w->ring, pos);
}

#endif
