/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of a tape (codec/otlp/wire.h): the checks of both notations (pb.c, json.c) write them
 * while they go over the body; the mappings to events and to samples read them, so that there is
 * one of each. A node is a value or a message; what is inside follows it, up to `next`. Strings are
 * places in the body; those of JSON that had escapes are in the tape's text.
 *
 * Counting and limits are here too: they are the same for both notations. What is over a limit is
 * taken off the tape again.
 */
#ifndef TC_CODEC_OTLP_TAPE_PRIV_H
#define TC_CODEC_OTLP_TAPE_PRIV_H

#include "base/slice.h"
#include "base/status.h"
#include "codec/otlp/names_priv.h"
#include "codec/otlp/schema_priv.h"
#include "codec/otlp/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum tc__otlp_node_type {
    TC__OTLP_N_MESSAGE, /* at, length: its bytes in the body */
    TC__OTLP_N_EMPTY,   /* an AnyValue that holds nothing, or null */
    TC__OTLP_N_STRING,  /* at, length */
    TC__OTLP_N_INT,
    TC__OTLP_N_DOUBLE,
    TC__OTLP_N_BOOL,  /* integer: 0 or 1 */
    TC__OTLP_N_BYTES, /* at, length: as the notation has them; only ids of traces are read */
    TC__OTLP_N_ARRAY,
    TC__OTLP_N_PAIRS,
    TC__OTLP_N_PAIR, /* at, length: the key; the value follows if there is one */
    /* The attributes of a data point that came before: at, length: their nodes on this tape, two
     * for each pair */
    TC__OTLP_N_AGAIN,
};

struct tc__otlp_node {
    union {
        struct {
            uint32_t at;
            uint32_t length;
        };
        int64_t integer;
        double number;
    };
    uint32_t next;
    uint8_t keep; /* enum tc__otlp_keep */
    uint8_t type; /* enum tc__otlp_node_type */
    bool own;     /* at is in text, not in the body */
    /* Of a pair: what attrs.c calls its key, where the check knew it; else 0. Of a message with a
     * resource: enum tc__otlp_resource_place. */
    uint8_t name;
};

/* Where the resource of an entry is, so that nobody has to go over all its records to find it. */
enum tc__otlp_resource_place {
    TC__OTLP_RESOURCE_NONE,
    TC__OTLP_RESOURCE_FIRST, /* the node behind the entry's, and no other */
    TC__OTLP_RESOURCE_ANY,   /* the last of the entry's nodes of that kind */
};

_Static_assert(sizeof(struct tc__otlp_node) == 16, "a tape is as long as its nodes");
/* See tc__otlp_write_kind; little-endian as base/pb.h is. */
_Static_assert(offsetof(struct tc__otlp_node, next) == 8 &&
                   offsetof(struct tc__otlp_node, keep) == 12 &&
                   offsetof(struct tc__otlp_node, type) == 13 &&
                   offsetof(struct tc__otlp_node, own) == 14 &&
                   offsetof(struct tc__otlp_node, name) == 15,
               "half of a node is one number");

static inline struct tc_slice tc__otlp_node_text(const struct tc_otlp_tape *t,
                                                 const struct tc__otlp_node *n)
{
    return tc_slice_make((n->own ? t->text.ptr : t->body.ptr) + n->at, n->length);
}

/* Levels of messages above values, and messages for each level of values. */
#define TC__OTLP_LEVELS 20
#define TC__OTLP_LEVELS_EACH 5
/* Whatever the limits say. */
#define TC__OTLP_DEPTH_CAP 1024
#define TC__OTLP_FRAMES (TC__OTLP_LEVELS + TC__OTLP_LEVELS_EACH * TC__OTLP_DEPTH_CAP)
#define TC__OTLP_OWNERS 4
#define TC__OTLP_NO_NODE UINT32_MAX

/* A message, or in JSON a list, that is being read. */
struct tc__otlp_frame {
    const struct tc__otlp_message *message;
    const struct tc__otlp_field *field; /* it came under; NULL for the request */
    uint32_t node;                      /* TC__OTLP_NO_NODE: it has none */
    uint32_t end;                       /* protobuf: where it ends */
    uint32_t attributes;
    bool keeps;    /* what is inside may have nodes */
    bool list;     /* JSON: the elements of field */
    bool first;    /* JSON: nothing was read inside yet */
    uint8_t guess; /* JSON: the field that may come next */
};

/* Whose records go when a limit is passed. */
struct tc__otlp_owner {
    uint64_t records;
    uint64_t rejected;
    uint32_t count;
    uint32_t text_length;
    const char *why;
};

/* Attributes of a data point that were read, so that the same bytes need not be read again: a
 * scrape has all metrics of one thing, so what comes under a metric comes under the next one. */
#define TC__OTLP_RUNS 1024

struct tc__otlp_run {
    uint32_t at; /* in the body: behind the first tag, or in JSON the list */
    uint32_t length;
    uint32_t node; /* the first, of two for each pair */
    uint32_t pairs;
};

/*
 * A check while it goes on. Invariants: depth <= TC__OTLP_FRAMES; nodes has room for one more
 * than cap, so that a node can always be written: a full tape is noticed at the end.
 */
struct tc__otlp_build {
    struct tc__otlp_schema schema;
    struct tc_otlp_limits limits;
    struct tc__otlp_node *nodes;
    uint32_t count;
    uint32_t cap;
    char *text;
    uint32_t text_length;
    struct tc__otlp_frame *frames;
    uint32_t depth;
    uint32_t values; /* AnyValues among the frames */
    uint32_t left;   /* objects that may still come */
    struct tc__otlp_owner owners[TC__OTLP_OWNERS];
    unsigned owner_depth;
    const struct tc__otlp_names *names; /* of attributes of log records; NULL: not looked up */
    unsigned uses;             /* of the attributes of this log record: enum tc__otlp_use */
    uint32_t unread;           /* the first of them of TC__OTLP_USE_NONE */
    bool has_runs;             /* of data points */
    struct tc__otlp_run *runs; /* TC__OTLP_RUNS of this body's */
    uint32_t run_count;
    uint32_t run_next; /* the one that may come again now; < run_count, or == */
    bool keeps;        /* a tape is wanted */
    bool is_full;
    struct tc_otlp_counts counts;
    struct tc_slice body;
    struct tc_error *err;
};

/* Fails at a byte of the body, with the path of the fields that lead there; field may be NULL. */
TC_CHECKED tc_status tc__otlp_build_fail(struct tc__otlp_build *b, size_t at,
                                         const struct tc__otlp_field *field, const char *why)
    __attribute__((cold));

/* So many objects more; false when they are too many. */
static inline bool tc__otlp_count(struct tc__otlp_build *b, uint32_t objects)
{
    if (__builtin_expect(b->left < objects, 0)) {
        return false;
    }
    b->left -= objects;
    return true;
}

static inline struct tc__otlp_node *tc__otlp_add(struct tc__otlp_build *b, unsigned keep,
                                                 unsigned type)
{
    struct tc__otlp_node *n = &b->nodes[b->count];
    n->keep = (uint8_t)keep;
    n->type = (uint8_t)type;
    n->own = false;
    n->name = 0;
    if (__builtin_expect(b->count < b->cap, 1)) {
        b->count++;
    } else {
        b->is_full = true;
    }
    n->next = b->count;
    return n;
}

/* Keeps the value that was written behind the last node. */
static inline void tc__otlp_keep_value(struct tc__otlp_build *b, unsigned keep)
{
    struct tc__otlp_node *n = &b->nodes[b->count];
    n->keep = (uint8_t)keep;
    n->own = false;
    n->name = 0;
    n->next = ++b->count;
}

/* The two halves of a node, each written at once: pairs are most of what a tape holds. */
static inline void tc__otlp_write_place(struct tc__otlp_node *n, size_t at, size_t length)
{
    uint64_t place = (uint64_t)at | (uint64_t)length << 32;
    memcpy((char *)n, &place, sizeof place);
}

static inline void tc__otlp_write_kind(struct tc__otlp_node *n, uint32_t next, unsigned keep,
                                       unsigned type, uint8_t name)
{
    uint64_t kind = next | (uint64_t)(keep | type << 8 | (unsigned)name << 24) << 32;
    memcpy((char *)n + offsetof(struct tc__otlp_node, next), &kind, sizeof kind);
}

/* Writes a pair to node number `at`, whose value was written one node further on. */
static inline void tc__otlp_write_pair(struct tc__otlp_build *b, uint32_t at, unsigned keep,
                                       struct tc_slice key, uint8_t name)
{
    struct tc__otlp_node *pair = &b->nodes[at];
    tc__otlp_write_place(pair, (size_t)(key.ptr - b->body.ptr), key.len);
    tc__otlp_write_kind(pair, at + 2, keep, TC__OTLP_N_PAIR, name);
    tc__otlp_write_kind(pair + 1, at + 2, TC__OTLP_K_VALUE, pair[1].type, 0);
}

/* By what keys of that frame are looked up; NULL: they are not. */
static inline const struct tc__otlp_names *tc__otlp_names_in(const struct tc__otlp_build *b,
                                                             const struct tc__otlp_frame *frame)
{
    return frame->message->role == TC__OTLP_RECORD ? b->names : NULL;
}

/* What attrs.c calls a key, of which the pair becomes that node. Keys of a record come in any order
 * (the Collector's are those of a Go map), so that of the record before does not help. */
static inline uint8_t tc__otlp_name_by(struct tc__otlp_build *b, const struct tc__otlp_names *names,
                                       struct tc_slice key, uint32_t node)
{
    if (names == NULL) {
        return TC__OTLP_NAME_NOT_LOOKED_UP;
    }
    uint8_t name = tc__otlp_name(names, key);
    unsigned use = names->use[name];
    b->unread = (use & ~b->uses & TC__OTLP_USE_NONE) != 0 ? node : b->unread;
    b->uses |= use;
    return name;
}

/* The frame of the request, which has no field and no node. */
static inline void tc__otlp_open(struct tc__otlp_build *b, enum tc__otlp_message_id request)
{
    b->frames[0] = (struct tc__otlp_frame){.message = &b->schema.messages[request],
                                           .node = TC__OTLP_NO_NODE,
                                           .end = (uint32_t)b->body.len,
                                           .keeps = b->keeps,
                                           .first = true};
    b->depth = 1;
}

static inline void tc__otlp_reject(struct tc__otlp_build *b, const char *why)
{
    struct tc__otlp_owner *o = &b->owners[b->owner_depth > 0 ? b->owner_depth - 1 : 0];
    o->why = o->why == NULL ? why : o->why;
}

/* A message begins under the frame `up`; at and length are its bytes (length may come later). */
TC_CHECKED tc_status tc__otlp_begin(struct tc__otlp_build *b, const struct tc__otlp_frame *up,
                                    const struct tc__otlp_field *f, size_t at, size_t length);
/* The topmost frame's message ends. */
void tc__otlp_end(struct tc__otlp_build *b);

/* Whether what comes under field f of the frame are the first attributes of a data point. */
static inline bool tc__otlp_is_run(const struct tc__otlp_build *b,
                                   const struct tc__otlp_frame *frame,
                                   const struct tc__otlp_field *f)
{
    return b->has_runs && frame->message->role == TC__OTLP_RECORD && frame->keeps &&
           frame->attributes == 0 && f->keep == TC__OTLP_K_ATTRIBUTE;
}

/* The bytes from `at` on that are those of the same point of the metric before, whose attributes
 * become this point's; 0 when they are others. There are `room` bytes. */
size_t tc__otlp_same_run(struct tc__otlp_build *b, struct tc__otlp_frame *frame, const void *at,
                         size_t room);
/* Remembers attributes that were just read, whose nodes are all from `node` on. */
void tc__otlp_keep_run(struct tc__otlp_build *b, const void *at, const void *end, uint32_t node);

/* Room for the value of field f of the frame: the node to write, or NULL when it is not kept. */
struct tc__otlp_node *tc__otlp_value_node(struct tc__otlp_build *b,
                                          const struct tc__otlp_frame *frame,
                                          const struct tc__otlp_field *f, unsigned type);

/* A string of that length came: limits. */
static inline void tc__otlp_measure(struct tc__otlp_build *b, const struct tc__otlp_field *f,
                                    size_t length)
{
    if (__builtin_expect(length > b->limits.key_bytes_max, 0)) {
        if (f->keep == TC__OTLP_K_KEY) {
            tc__otlp_reject(b, "a key of an attribute is too long");
        } else if (length > b->limits.value_bytes_max) {
            tc__otlp_reject(b, "a string is too long");
        }
    } else if (__builtin_expect(length > b->limits.value_bytes_max, 0) &&
               f->keep != TC__OTLP_K_KEY) {
        tc__otlp_reject(b, "a string is too long");
    }
}

/* Each goes over the whole body, as a request of that message. */
TC_CHECKED tc_status tc__otlp_pb_check(struct tc__otlp_build *b, enum tc__otlp_message_id request);
TC_CHECKED tc_status tc__otlp_json_check(struct tc__otlp_build *b,
                                         enum tc__otlp_message_id request);

#endif
