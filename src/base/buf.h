/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded text builder on the caller's memory. It never grows: what does not
 * fit is left out, and overflowed says so until the next reset. One check at
 * the end is enough.
 */
#ifndef TC_BASE_BUF_H
#define TC_BASE_BUF_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Invariant: len <= cap. */
struct tc_buf {
    char *data;
    size_t len;
    size_t cap;
    bool overflowed;
};

/* Borrows data for the buffer's whole life. */
static inline struct tc_buf tc_buf_make(char *data, size_t cap)
{
    return (struct tc_buf){data, 0, cap, false};
}

static inline void tc_buf_reset(struct tc_buf *b)
{
    b->len = 0;
    b->overflowed = false;
}

static inline struct tc_slice tc_buf_slice(const struct tc_buf *b)
{
    return tc_slice_make(b->data, b->len);
}

/* What was appended since a remembered length. */
static inline struct tc_slice tc_buf_since(const struct tc_buf *b, size_t start)
{
    return tc_slice_make(b->data + start, b->len - start);
}

/* memcpy, out of line: see tc_copy_short. */
void tc_copy_long(char *to, const char *from, size_t len) __attribute__((noinline));

/*
 * memcpy for the short pieces that text is made of: overlapping moves instead of a
 * call. The caller has checked the room; the builtins leave out a second check.
 */
static inline __attribute__((always_inline)) void tc_copy_short(char *to, const char *from,
                                                                size_t len)
{
    if (len >= 16) {
        if (len > 64) {
            tc_copy_long(to, from, len);
            return;
        }
        if (len > 32) {
            char middle[16];
            __builtin_memcpy(middle, from + 16, 16);
            __builtin_memcpy(to + 16, middle, 16);
            __builtin_memcpy(middle, from + len - 32, 16);
            __builtin_memcpy(to + len - 32, middle, 16);
        }
        char head[16];
        char tail[16];
        __builtin_memcpy(head, from, 16);
        __builtin_memcpy(tail, from + len - 16, 16);
        __builtin_memcpy(to, head, 16);
        __builtin_memcpy(to + len - 16, tail, 16);
    } else if (len >= 8) {
        uint64_t head;
        uint64_t tail;
        __builtin_memcpy(&head, from, 8);
        __builtin_memcpy(&tail, from + len - 8, 8);
        __builtin_memcpy(to, &head, 8);
        __builtin_memcpy(to + len - 8, &tail, 8);
    } else if (len >= 4) {
        uint32_t head;
        uint32_t tail;
        __builtin_memcpy(&head, from, 4);
        __builtin_memcpy(&tail, from + len - 4, 4);
        __builtin_memcpy(to, &head, 4);
        __builtin_memcpy(to + len - 4, &tail, 4);
    } else if (len > 0) {
        to[0] = from[0];
        to[len / 2] = from[len / 2];
        to[len - 1] = from[len - 1];
    }
}

/* The same where len is known to be 64 at most: no call is left. */
static inline __attribute__((always_inline)) void tc_copy_64(char *to, const char *from, size_t len)
{
    if (len > 64) {
        __builtin_unreachable();
    }
    tc_copy_short(to, from, len);
}

static inline void tc_buf_put(struct tc_buf *b, const char *bytes, size_t len)
{
    if (__builtin_expect(len > b->cap - b->len, 0)) {
        b->overflowed = true;
        return;
    }
    tc_copy_short(b->data + b->len, bytes, len);
    b->len += len;
}

/* For a length the compiler knows. */
static inline __attribute__((always_inline)) void tc_buf_const(struct tc_buf *b, const char *bytes,
                                                               size_t len)
{
    if (__builtin_expect(len > b->cap - b->len, 0)) {
        b->overflowed = true;
        return;
    }
    __builtin_memcpy(b->data + b->len, bytes, len);
    b->len += len;
}

static inline void tc_buf_char(struct tc_buf *b, char c)
{
    if (__builtin_expect(b->len == b->cap, 0)) {
        b->overflowed = true;
        return;
    }
    b->data[b->len++] = c;
}

/*
 * For hot paths: room for `bytes` is asked for once, what is written behind the
 * returned pointer with the tc_put functions is not checked again, and tc_buf_end
 * takes it over. NULL, and overflowed, when there is no room.
 */
static inline char *tc_buf_begin(struct tc_buf *b, size_t bytes)
{
    if (__builtin_expect(bytes > b->cap - b->len, 0)) {
        b->overflowed = true;
        return NULL;
    }
    return b->data + b->len;
}

static inline void tc_buf_end(struct tc_buf *b, const char *end)
{
    b->len = (size_t)(end - b->data);
}

#define tc_put_lit(p, s) ((char *)__builtin_memcpy((p), (s), sizeof(s) - 1) + (sizeof(s) - 1))

static inline __attribute__((always_inline)) char *tc_put_str(char *p, struct tc_slice s)
{
    tc_copy_short(p, s.ptr, s.len);
    return p + s.len;
}

/* Numbers of up to three digits, ready to be copied. */
#define TC_SMALL_COUNT 1000
struct tc_small {
    char text[3];
    uint8_t len;
};
extern const struct tc_small tc_smalls[TC_SMALL_COUNT];
extern const char tc_pairs[201]; /* "000102...99" */

/* 0..99 as two digits. */
static inline char *tc_put_two(char *p, uint32_t value)
{
    __builtin_memcpy(p, tc_pairs + (size_t)value * 2, 2);
    return p + 2;
}

/* For tc_put_u64: from TC_SMALL_COUNT on. */
char *tc_put_large(char *p, uint64_t value);

#define TC_PUT_U64_MAX 20
/* Writes the digits, and four bytes at least; returns the end of the digits. */
static inline char *tc_put_u64(char *p, uint64_t value)
{
    if (value >= TC_SMALL_COUNT) {
        return tc_put_large(p, value);
    }
    __builtin_memcpy(p, &tc_smalls[value], sizeof tc_smalls[value]);
    return p + tc_smalls[value].len;
}

static inline char *tc_put_i64(char *p, int64_t value)
{
    if (value < 0) {
        *p++ = '-';
        return tc_put_u64(p, 0 - (uint64_t)value);
    }
    return tc_put_u64(p, (uint64_t)value);
}

/* Two lower-case hex digits for each byte; count is a multiple of 16. */
char *tc_put_hex_bytes(char *p, const uint8_t *bytes, size_t count);

/* A string literal: the length is a constant, so the copy is a few stores. */
#define tc_buf_lit(b, s) tc_buf_const((b), (s), sizeof(s) - 1)

static inline void tc_buf_str(struct tc_buf *b, struct tc_slice s)
{
    if (s.len > 0) {
        tc_buf_put(b, s.ptr, s.len);
    }
}

void tc_buf_u64(struct tc_buf *b, uint64_t value);
void tc_buf_i64(struct tc_buf *b, int64_t value);
/* Lower-case hex, zero-padded to `digits` (1..16). */
void tc_buf_hex(struct tc_buf *b, uint64_t value, unsigned digits);
/* The shortest form that reads back as the same double; NaN and infinities as "null". */
void tc_buf_f64(struct tc_buf *b, double value);

/*
 * s between double quotes as a JSON string. Control characters are escaped;
 * bytes that are not UTF-8 become U+FFFD each, so that the output always is.
 */
void tc_buf_json(struct tc_buf *b, struct tc_slice s);
/* The same without the quotes. */
void tc_buf_escaped(struct tc_buf *b, struct tc_slice s);

/* Length of the valid UTF-8 sequence at s[0], or 0: RFC 3629, no surrogates, no overlong forms.
 * There is at least one byte left. */
size_t tc_utf8_len(const unsigned char *s, size_t left);

/* Whether the sequence of that length drives a terminal, or changes what is seen, and is not seen
 * itself: C0 and C1 controls, marks of direction, separators of lines, characters without shape. */
bool tc_utf8_is_invisible(const unsigned char *at, size_t len);

/* True when s is printable ASCII without quote and backslash: as JSON it needs no escaping. */
bool tc_slice_is_plain(struct tc_slice s);

/*
 * s for a person's terminal: control characters and bytes that are not UTF-8 as
 * \xNN, so that nothing from outside can move the cursor.
 */
void tc_buf_printable(struct tc_buf *b, struct tc_slice s);

#endif
