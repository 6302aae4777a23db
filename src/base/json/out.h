/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing JSON: the one place that knows commas, brackets, quotes and escapes. The text goes to a
 * tc_buf that is fixed, that grows (base/table/grow.h), or that is emptied by a callback whenever
 * it is full (a file, standard output). What does not fit sets `overflowed` of that tc_buf, as with
 * the tc_buf functions: one check at the end, by tc_json_done or of the sink itself, is enough.
 *
 * tc_json_put_* write a member of an object: the key is a string literal that needs no escaping.
 * tc_json_add_* write an element of an array, the value behind tc_json_key, or the document.
 * A key without a value, a value without a key, or an end without a beginning is a TC_ASSERT.
 */
#ifndef TC_BASE_JSON_OUT_H
#define TC_BASE_JSON_OUT_H

#include "base/assert.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/slice.h"
#include "base/table/grow.h"
#include "base/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values inside of each other. */
#define TC_JSON_OUT_DEPTH_MAX 96

/*
 * Makes room for `bytes` more in the buffer: grows it, or empties it. False, for good, when that
 * fails. No call asks for more than TC_JSON_OUT_PIECE_MAX.
 */
typedef bool (*tc_json_room_fn)(void *context, size_t bytes);
#define TC_JSON_OUT_PIECE_MAX 4096

/*
 * Invariants: `lead` is the byte in front of the next key or element: the bracket of an object or
 * array that has nothing in it yet, or a comma; 0 behind a key and at the start. So a bracket that
 * was opened is not in the buffer before its first member, or its end. ends[1..depth] are the
 * brackets that close what is open; ends[0] is 0.
 */
struct tc_json_out {
    struct tc_buf *b;
    tc_json_room_fn make_room; /* NULL: the buffer is all there is */
    void *context;
    uint8_t depth;
    char lead;
    char ends[TC_JSON_OUT_DEPTH_MAX + 1];
};

/* Borrow the buffer, and what is around it, for the writer's life. Writing begins behind what is
 * in it. */
struct tc_json_out tc_json_out_make(struct tc_buf *b);
struct tc_json_out tc_json_out_grow(struct tc_grow *g);
struct tc_json_out tc_json_out_sink(struct tc_buf *b, tc_json_room_fn make_room, void *context);

/* The document is complete. False when some of it was lost: the buffer overflowed, or its sink
 * failed. */
bool tc_json_done(struct tc_json_out *j);
/* The same, and a newline; another document may follow. */
bool tc_json_done_line(struct tc_json_out *j);

/* For tc_json_key: `text` is the literal ,"key": of which the first byte is replaced. */
void tc_json_key_slowly(struct tc_json_out *j, struct tc_slice text);
static inline __attribute__((always_inline)) void tc_json_key_literal(struct tc_json_out *j,
                                                                      const char *text, size_t len)
{
    struct tc_buf *b = j->b;
    TC_ASSERT(j->lead != 0 && j->ends[j->depth] == '}');
    if (__builtin_expect(len > b->cap - b->len, 0)) {
        tc_json_key_slowly(j, tc_slice_make(text, len));
        return;
    }
    char *p = b->data + b->len;
    __builtin_memcpy(p, text, len);
    *p = j->lead;
    b->len += len;
    j->lead = 0;
}

#define tc_json_key(j, key) tc_json_key_literal((j), ",\"" key "\":", sizeof(key) + 3)
/* A key that is not known before; it is escaped. */
void tc_json_key_str(struct tc_json_out *j, struct tc_slice key);
/* The same where tc_slice_is_plain holds: the name of a column or attribute of ours. */
void tc_json_key_plain(struct tc_json_out *j, struct tc_slice key);

void tc_json_add_object(struct tc_json_out *j);
void tc_json_end_object(struct tc_json_out *j);
void tc_json_add_array(struct tc_json_out *j);
void tc_json_end_array(struct tc_json_out *j);

/* A writer whose document is an object that has begun. */
static inline struct tc_json_out tc_json_object_make(struct tc_buf *b)
{
    struct tc_json_out j = tc_json_out_make(b);
    tc_json_add_object(&j);
    return j;
}

static inline struct tc_json_out tc_json_object_grow(struct tc_grow *g)
{
    struct tc_json_out j = tc_json_out_grow(g);
    tc_json_add_object(&j);
    return j;
}

/* The end of an object that is a document, and a newline: see tc_json_done_line. */
static inline bool tc_json_end_line(struct tc_json_out *j)
{
    tc_json_end_object(j);
    return tc_json_done_line(j);
}

/* Escaped as tc_buf_json does. */
void tc_json_add_str(struct tc_json_out *j, struct tc_slice s);
/* What tc_slice_is_plain holds for: our own words, names and digests. */
void tc_json_add_plain(struct tc_json_out *j, struct tc_slice s);
void tc_json_add_i64(struct tc_json_out *j, int64_t value);
void tc_json_add_u64(struct tc_json_out *j, uint64_t value);
/* In quotes, as OTLP has its 64-bit integers. */
void tc_json_add_i64_text(struct tc_json_out *j, int64_t value);
/* The shortest form that reads back as the same; null when it is not finite. */
void tc_json_add_f64(struct tc_json_out *j, double value);
void tc_json_add_bool(struct tc_json_out *j, bool value);
void tc_json_add_null(struct tc_json_out *j);
/* A string, as tc_buf_time has it. */
void tc_json_add_time(struct tc_json_out *j, int64_t ns);
void tc_json_add_time_cached(struct tc_json_out *j, int64_t ns, struct tc_time_cache *cache);
/* "sha256:..." */
void tc_json_add_digest(struct tc_json_out *j, const struct tc_digest *d);
/* One value that is JSON already, or elements with their commas; nothing when it is empty. */
void tc_json_add_raw(struct tc_json_out *j, struct tc_slice json);
/*
 * For hot paths: a value that the caller writes with the tc_put functions behind the returned
 * pointer; tc_json_end_value takes it over. Room for `bytes` is asked for once. NULL, and the
 * buffer overflowed, when there is none.
 */
char *tc_json_begin_value(struct tc_json_out *j, size_t bytes);
static inline void tc_json_end_value(struct tc_json_out *j, const char *end)
{
    tc_buf_end(j->b, end);
}

static inline void tc_json_add_cstr(struct tc_json_out *j, const char *s)
{
    tc_json_add_str(j, tc_slice_cstr(s));
}

/* null for an empty one. */
static inline void tc_json_add_str_or_null(struct tc_json_out *j, struct tc_slice s)
{
    if (s.len > 0) {
        tc_json_add_str(j, s);
    } else {
        tc_json_add_null(j);
    }
}

#define tc_json_put_object(j, key) (tc_json_key((j), key), tc_json_add_object(j))
#define tc_json_put_array(j, key) (tc_json_key((j), key), tc_json_add_array(j))
#define tc_json_put_str(j, key, s) (tc_json_key((j), key), tc_json_add_str((j), (s)))
#define tc_json_put_cstr(j, key, s) (tc_json_key((j), key), tc_json_add_cstr((j), (s)))
#define tc_json_put_plain(j, key, s) (tc_json_key((j), key), tc_json_add_plain((j), (s)))
#define tc_json_put_str_or_null(j, key, s) \
    (tc_json_key((j), key), tc_json_add_str_or_null((j), (s)))
#define tc_json_put_i64(j, key, value) (tc_json_key((j), key), tc_json_add_i64((j), (value)))
#define tc_json_put_u64(j, key, value) (tc_json_key((j), key), tc_json_add_u64((j), (value)))
#define tc_json_put_i64_text(j, key, value) \
    (tc_json_key((j), key), tc_json_add_i64_text((j), (value)))
#define tc_json_put_f64(j, key, value) (tc_json_key((j), key), tc_json_add_f64((j), (value)))
#define tc_json_put_bool(j, key, value) (tc_json_key((j), key), tc_json_add_bool((j), (value)))
#define tc_json_put_null(j, key) (tc_json_key((j), key), tc_json_add_null(j))
#define tc_json_put_time(j, key, ns) (tc_json_key((j), key), tc_json_add_time((j), (ns)))
#define tc_json_put_time_cached(j, key, ns, cache) \
    (tc_json_key((j), key), tc_json_add_time_cached((j), (ns), (cache)))
#define tc_json_put_digest(j, key, d) (tc_json_key((j), key), tc_json_add_digest((j), (d)))
#define tc_json_put_raw(j, key, json) (tc_json_key((j), key), tc_json_add_raw((j), (json)))

/* A member that is left out when it is empty. */
#define tc_json_put_some(j, key, s)           \
    do {                                      \
        struct tc_slice some_ = (s);          \
        if (some_.len > 0) {                  \
            tc_json_put_str((j), key, some_); \
        }                                     \
    } while (0)

#endif
