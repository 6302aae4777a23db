/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window of a join: records with their strings in one ring, found by
 * identity through one index and walked by what they have in common (their node)
 * through chains, newest first. Every step is constant on average; what a walk
 * may visit is bounded by its caller.
 *
 * A record starts with struct tc_window_head. Its slices point into the record
 * itself. A pointer to it is good until the next record is added: the ring may use
 * more of its block then, and records move with their slices.
 */
#ifndef TC_DETECT_WINDOW_PRIV_H
#define TC_DETECT_WINDOW_PRIV_H

#include "base/arena.h"
#include "base/slice.h"
#include "base/table/map.h"
#include "base/table/ring.h"
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
/* Members that follow each other without padding, none of them a text, as one. */
#define TC_FIELDS(type, first, last)                                                        \
    {                                                                                       \
        offsetof(type, first),                                                              \
            offsetof(type, last) + sizeof(((type *)0)->last) - offsetof(type, first), false \
    }
/* The offset of a slice in a record; a member of another type does not compile. */
#define TC_TEXT(type, member) \
    _Generic(((type *)0)->member, struct tc_slice : offsetof(type, member))

#define TC_RECORD_FIELDS_MAX 9
#define TC_RECORD_TEXTS_MAX 15
#define TC_RECORD_KEYS_MAX 4

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
    uint64_t pos;    /* its own name: where in the ring it was added */
    uint64_t older;  /* the name of the next record of its chain; may have left the ring */
    int64_t seen_ns; /* the newest time folded into it: expiry looks at this */
};

/* Senders share a window: what is kept counts for one of so many shares, by the sender's number. */
#define TC__SHARES 256

/*
 * Invariants: the maps lead only to where records of the ring are, or to records that have left it;
 * share_count is how many shares are not 0, and they add up to what the ring holds.
 *
 * When the ring is full, the oldest record goes whose share is the largest. Older ones of smaller
 * shares are moved behind the youngest. A record keeps its name then, so that whoever noted it
 * finds it: see tc__window_at.
 */
struct tc_window {
    struct tc_ring ring;
    struct tc_map index;
    struct tc_map chains;
    struct tc_map moved; /* from the names of records that were moved to where they are */
    const struct tc_record_type *type;
    struct tc_detector_base *base;
    struct tc_arena *scratch;
    uint32_t *shares; /* in bytes */
    uint32_t share_count;
    uint32_t largest;       /* a share that was the largest when it was last looked */
    size_t record_max;      /* bytes that the largest record took so far */
    size_t slack;           /* bytes that stay free so that records can be moved */
    int64_t kept_ns;        /* how long a record is kept after it was last seen */
    struct tc_window *next; /* of the same detector */
    int64_t lost_ns;        /* nothing newer than this was pushed out; INT64_MIN when nothing was */
    uint64_t chained;       /* where in the ring the record is that was last put into a chain */
    struct tc_map_slot *chain_slot; /* what leads to that; NULL: it has to be looked for */
    bool bare;                      /* a pod without a uid was kept: see window_pod_priv.h */
};

#define TC_KEPT_ALWAYS INT64_MAX

/*
 * A window of the detector: the engine lets go of what was last seen kept_ns ago or is pushed out
 * of ring_bytes times the scale, and counts the latter. False when the detector's arena is full.
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
 * NULL when scratch is full. Pushes out the oldest records of the largest share when the ring is.
 * It counts for the sender of the event, or for that of the record it is a copy of.
 */
void *tc__window_add(struct tc_window *w, const void *record, int64_t seen_ns);
/* Where the record with a key is, or belongs. Good until the next one is added to the window. */
struct tc_window_place {
    void *record; /* NULL when there is none */
    struct tc_map_slot *slot;
    uint64_t hash;
};
struct tc_window_place tc__window_find(const struct tc_window *w, const void *key);
/* Adds a record that was looked for, where it belongs: that saves to look for it again. NULL: it is
 * found by no key. */
void *tc__window_add_at(struct tc_window *w, const struct tc_window_place *place,
                        const void *record, int64_t seen_ns);
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

/* Of a record that was moved. */
void *tc__window_moved(const struct tc_window *w, uint64_t pos);

/* The record of that name; NULL when it has left the window or pos is TC_RING_NONE. */
static inline void *tc__window_at(const struct tc_window *w, uint64_t pos)
{
    return pos >= w->ring.tail || w->moved.used == 0 ? tc_ring_at(&w->ring, pos)
                                                     : tc__window_moved(w, pos);
}

static inline void *tc__window_older(const struct tc_window *w, const void *record)
{
    return tc__window_at(w, ((const struct tc_window_head *)record)->older);
}

/* The record that was added first of those that were added after that name; NULL when there is
 * none. Looks at all: for a walk that lost its place. */
void *tc__window_first_after(const struct tc_window *w, uint64_t pos);

/*
 * Of records that are listed by name in a table that is full: the index of the oldest one of the
 * sender that has the most there. One that has left comes before all.
 */
size_t tc__window_crowder(const struct tc_window *w, const uint64_t *names, size_t count);

/* The sender whose records take the most of a window that pushed some out; 0 when none did. */
uint32_t tc__window_presser(const struct tc_window *w, uint32_t *out_bytes);

#endif
