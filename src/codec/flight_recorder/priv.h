/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the Flight Recorder codec: two readers of plain data (pickle.c,
 * json.c) behind one kind of value, the reader of the dump's schema on top of
 * them (dump.c), and the codec itself (codec.c).
 *
 * A document is never built as a tree. A container is the range of bytes that
 * makes it; looking into one walks that range again. So memory follows the
 * widest level of the document, not its size, and a range is also what a record
 * shows as its evidence. Shared objects of a pickle could make such walks
 * quadratic: every walk is charged to a budget (tc__fr_charge).
 */
#ifndef TC_CODEC_FLIGHT_RECORDER_PRIV_H
#define TC_CODEC_FLIGHT_RECORDER_PRIV_H

#include "base/arena.h"
#include "base/json/json.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/table/map.h"
#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tc__fr_type {
    TC__FR_UNSET, /* a field that is not there, a memo id that is not given */
    TC__FR_MARK,  /* only on the pickle machine's stack */
    TC__FR_NONE,
    TC__FR_BOOL,
    TC__FR_INT,    /* fits int64_t */
    TC__FR_NUMBER, /* any other number; its value is not kept */
    TC__FR_STRING,
    TC__FR_BYTES,
    TC__FR_LIST,
    TC__FR_TUPLE,
    TC__FR_DICT,
};

/* One value of the document; copy it freely. Offsets are bytes of the input. */
struct tc__fr_value {
    union {
        int64_t integer; /* INT, BOOL; on a MARK, the mark below it */
        struct {
            uint32_t at; /* STRING: the text; a container: the bytes that make it */
            uint32_t end;
        };
    };
    uint32_t start; /* where the value stands; a pickled reference stands elsewhere than `at` */
    uint32_t memo;  /* pickle: memo id + 1 of a container that may still grow, 0 none */
    uint32_t count; /* pickle: items of a container, keys and values of a dict counted each */
    uint8_t type;   /* enum tc__fr_type */
    uint8_t depth;  /* pickle: levels of containers, this one included */
    bool shared;    /* on the stack: taken from the memo; in the memo: taken at least once */
    bool escaped;   /* JSON: a string with a backslash */
};

/* Chunk n holds twice as many values as chunk n - 1: grows without moving. */
#define TC__FR_POOL_CHUNKS 16

struct tc__fr_pool {
    struct tc__fr_value *chunks[TC__FR_POOL_CHUNKS];
};

/* An open document. Invariant: parser is NULL exactly when it is a pickle. */
struct tc__fr_doc {
    struct tc_slice bytes;
    struct tc_arena *scratch;
    struct tc_error *err;
    uint64_t work_left;
    struct tc_json_parser *parser;
    struct tc__fr_pool stack;
    struct tc__fr_pool memo;
    uint32_t memo_count;
};

/*
 * Check the whole document and give its root. Anything torn, refused or too large
 * is found here: after this, walking finds the same structure again.
 */
TC_CHECKED tc_status tc__fr_pickle_open(struct tc__fr_doc *doc, struct tc__fr_value *out_root);
TC_CHECKED tc_status tc__fr_json_open(struct tc__fr_doc *doc, struct tc__fr_value *out_root);

/* The items of a container (keys and values of a dict in turn) into items[tc__fr_count()]. */
void tc__fr_pickle_items(struct tc__fr_doc *doc, const struct tc__fr_value *v,
                         struct tc__fr_value *items);
/* How many there are; items NULL: they are only counted. */
size_t tc__fr_json_items(struct tc__fr_doc *doc, const struct tc__fr_value *v,
                         struct tc__fr_value *items);

/* The text of an escaped JSON string, in arena. */
TC_CHECKED tc_status tc__fr_json_unescape(struct tc__fr_doc *doc, const struct tc__fr_value *v,
                                          struct tc_arena *arena, struct tc_slice *out);

/* Pay for looking at that many bytes, on behalf of the value at offset. TC_E_LIMIT when
 * the document's references have made us look at the same bytes too often. */
TC_CHECKED tc_status tc__fr_charge(struct tc__fr_doc *doc, uint64_t bytes, size_t offset);

/* The failure of a full scratch arena. */
tc_status tc__fr_scratch_full(struct tc__fr_doc *doc, size_t offset);

/* The range of bytes that proves something. */
struct tc__fr_range {
    uint32_t at;
    uint32_t length;
};

struct tc__fr_group {
    struct tc_ev_group ev;
    struct tc__fr_range range;
    const int32_t *members; /* global ranks by group-local rank */
    size_t member_count;
    size_t last; /* 1 + index of its newest record, 0 none */
};

struct tc__fr_status {
    struct tc_ev_status ev;
    struct tc__fr_range range;
    bool has_p2p;  /* the dump has transfers of it */
    bool has_last; /* the dump has the collective that is said to have completed last */
};

struct tc__fr_record {
    struct tc_ev_nccl ev;
    struct tc__fr_range range;
    int64_t time_ns;
    int64_t p2p_seq;   /* of a transfer, or of what closes a batch; -1 none */
    size_t before;     /* 1 + index of the record before it in its group, 0 none */
    bool closes_batch; /* of operations that were issued together */
};

/* A whole dump. Arrays live in the scratch arena, made strings in `arena`. */
struct tc__fr_dump {
    struct tc_slice version;
    struct tc_slice library;
    int64_t newest_ns; /* of its records; TC_TIME_NONE */
    int64_t rank;      /* as the dump says; -1 when it does not */
    struct tc__fr_group *groups;
    size_t group_count;
    struct tc__fr_status *statuses;
    size_t status_count;
    struct tc__fr_record *records;
    size_t record_count;
};

/* A text made from a list, by the bytes of that list. */
#define TC__FR_CACHE_SLOTS 256

struct tc__fr_cached_text {
    uint64_t hash; /* 0: never used */
    struct tc__fr_range range;
    struct tc_slice text;
    bool is_dtypes;
};

/* The state of reading one dump. */
struct tc__fr_reader {
    struct tc__fr_doc *doc;
    struct tc_arena *arena; /* for strings that outlive the call */
    struct tc_slice job;
    struct tc__fr_dump *dump;
    struct tc_map group_index;  /* name -> 1 + index in dump->groups */
    struct tc_map status_index; /* pg_id -> 1 + index in dump->statuses */
    struct tc__fr_cached_text *cache;
    size_t last_loose; /* 1 + index of the newest record of a group that is not configured */
    bool newer;        /* than the formats we know */
};

static inline bool tc__fr_is_absent(const struct tc__fr_value *v)
{
    return v->type == TC__FR_UNSET || v->type == TC__FR_NONE;
}

static inline struct tc__fr_range tc__fr_range_of(const struct tc__fr_value *v)
{
    return (struct tc__fr_range){v->at, v->end - v->at};
}

/* The failure of a value that is not what its field wants. */
tc_status tc__fr_wrong_type(struct tc__fr_reader *r, const struct tc__fr_value *v,
                            const char *field, const char *wanted);

/* How many items a container has; a key and its value are two. */
size_t tc__fr_count(struct tc__fr_reader *r, const struct tc__fr_value *v);
/* The items of a container, in scratch. */
TC_CHECKED tc_status tc__fr_items(struct tc__fr_reader *r, const struct tc__fr_value *v,
                                  struct tc__fr_value **out_items, size_t *out_count);
/* The text of a STRING; `arena` is used only when it has to be made. */
TC_CHECKED tc_status tc__fr_text(struct tc__fr_reader *r, const struct tc__fr_value *v,
                                 struct tc_arena *arena, struct tc_slice *out);
/* The members of a dict that have one of the names; the others are UNSET. */
TC_CHECKED tc_status tc__fr_gather(struct tc__fr_reader *r, const struct tc__fr_value *dict,
                                   const struct tc_slice *names, struct tc__fr_value *fields,
                                   size_t field_count);

/* A field of one type; one that is absent leaves *out as it is. */
TC_CHECKED tc_status tc__fr_get_string(struct tc__fr_reader *r, const struct tc__fr_value *v,
                                       const char *field, struct tc_slice *out);
TC_CHECKED tc_status tc__fr_get_int(struct tc__fr_reader *r, const struct tc__fr_value *v,
                                    const char *field, int64_t *out);
/* An integer, or the text of one: so the JSON variant writes pg_status. */
TC_CHECKED tc_status tc__fr_get_int_text(struct tc__fr_reader *r, const struct tc__fr_value *v,
                                         const char *field, int64_t *out);
TC_CHECKED tc_status tc__fr_get_bool(struct tc__fr_reader *r, const struct tc__fr_value *v,
                                     const char *field, bool *out);
/* Nanoseconds; TC_TIME_NONE when absent or 0, which the JSON variant writes for "not yet". */
TC_CHECKED tc_status tc__fr_get_time(struct tc__fr_reader *r, const struct tc__fr_value *v,
                                     const char *field, int64_t *out);

/* NULL when the dump has none. */
struct tc__fr_group *tc__fr_find_group(struct tc__fr_reader *r, struct tc_slice name);
struct tc__fr_status *tc__fr_find_status(struct tc__fr_reader *r, int64_t pg_id);

/* One record; links its pg_id's state to its group. */
TC_CHECKED tc_status tc__fr_entry_read(struct tc__fr_reader *r, const struct tc__fr_value *v,
                                       struct tc__fr_record *out);

/* The state of the group a record is of, NULL when the dump does not say. */
static inline struct tc__fr_status *tc__fr_status_of(struct tc__fr_reader *r,
                                                     const struct tc__fr_record *record)
{
    return record->ev.pg_id < 0 ? NULL : tc__fr_find_status(r, record->ev.pg_id);
}

/* settle.c: takes in the next record, in the order of the dump; and when all are there. */
void tc__fr_link(struct tc__fr_reader *r, struct tc__fr_group *group, struct tc__fr_status *status,
                 struct tc__fr_record *record);
void tc__fr_settle(struct tc__fr_reader *r);

/* Read the schema of a dump from an opened document: all of it or nothing. */
TC_CHECKED tc_status tc__fr_dump_read(struct tc__fr_doc *doc, const struct tc__fr_value *root,
                                      struct tc_slice job, struct tc_arena *arena,
                                      struct tc__fr_dump *out);

#endif
