/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from a format and typed arguments:
 *
 *     tc_format(b, "Drain node {}, reset {} and restart {}", node, tc_as_gpu(scope), pod);
 *
 * Each "{}" is one argument: a number, a string, a slice, or what a tc_as_ function makes of a
 * noun (a time, a duration, a count, a list). An argument of another type does not compile; a
 * number of arguments other than the number of "{}" is found by tools/check_formats.py, and aborts.
 * Nothing is allocated; what does not fit sets b->overflowed, as everything on a tc_buf does.
 *
 * A character constant is an int: write "c", not 'c'.
 */
#ifndef TC_BASE_FORMAT_H
#define TC_BASE_FORMAT_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_arg;
typedef void (*tc_arg_fn)(struct tc_buf *b, const struct tc_arg *arg);

/* Borrows what it points at until it is formatted. */
struct tc_arg {
    tc_arg_fn write; /* NULL: text, as it is */
    union {
        struct tc_slice text;
        struct {
            const void *object;
            size_t count;
        };
        int64_t integer;
        uint64_t natural;
        double real;
    };
    union {
        const char *word;
        size_t limit;
    };
};

/* For tc_format: formats args[0], the format, with the others. Returns what was appended. */
struct tc_slice tc_format_args(struct tc_buf *b, const struct tc_arg *args, size_t count);

/* Appends to b and returns the slice of what was appended. Up to 15 arguments. */
#define tc_format(b, ...) \
    tc_format_args((b), (const struct tc_arg[]){TC_ARGS(__VA_ARGS__)}, TC_ARG_COUNT(__VA_ARGS__))

/* An argument that is itself a format, or nothing when the condition is false. Its arguments are
 * looked at either way. It is good until the end of the block that it stands in. */
#define tc_when(condition, ...)                                               \
    tc_arg_nested((condition), (const struct tc_arg[]){TC_ARGS(__VA_ARGS__)}, \
                  TC_ARG_COUNT(__VA_ARGS__))

/* What `write` makes of an object, which it finds in arg->object. */
static inline struct tc_arg tc_as_written(tc_arg_fn write, const void *object)
{
    return (struct tc_arg){.write = write, .object = object};
}

/* "2026-11-15T03:04:05.123Z", see tc_buf_time. */
struct tc_arg tc_as_time(int64_t ns);
/* "5 min 3 s", see tc_buf_duration. */
struct tc_arg tc_as_duration(int64_t ns);
/* Decimal, with zeros in front up to `digits` digits (1..19). */
struct tc_arg tc_as_digits(uint64_t value, size_t digits);
/* Lower-case hex of `digits` digits (1..16). */
struct tc_arg tc_as_hex(uint64_t value, size_t digits);
/* "1 error", "3 errors". */
struct tc_arg tc_as_count(int64_t count, const char *noun);
/* "3", "3 and 5", "0, 1, 2 and 9 more": `shown` of them at most. */
struct tc_arg tc_as_ints(const int32_t *items, size_t count, size_t shown);
struct tc_arg tc_as_list(const struct tc_slice *items, size_t count, size_t shown);
/* A slice, or the word when it is empty. */
struct tc_arg tc_as_known(struct tc_slice text, const char *otherwise);

/* The rest makes arguments of what tc_format is given. */

struct tc_arg tc_arg_nested(bool condition, const struct tc_arg *args, size_t count);
void tc_arg_write_i64(struct tc_buf *b, const struct tc_arg *arg);
void tc_arg_write_u64(struct tc_buf *b, const struct tc_arg *arg);
void tc_arg_write_f64(struct tc_buf *b, const struct tc_arg *arg);

static inline struct tc_arg tc_arg_self(struct tc_arg arg)
{
    return arg;
}

static inline struct tc_arg tc_arg_text(struct tc_slice text)
{
    return (struct tc_arg){.text = text};
}

static inline struct tc_arg tc_arg_cstr(const char *text)
{
    return (struct tc_arg){.text = tc_slice_cstr(text)};
}

static inline struct tc_arg tc_arg_i64(int64_t value)
{
    return (struct tc_arg){.write = tc_arg_write_i64, .integer = value};
}

static inline struct tc_arg tc_arg_u64(uint64_t value)
{
    return (struct tc_arg){.write = tc_arg_write_u64, .natural = value};
}

static inline struct tc_arg tc_arg_f64(double value)
{
    return (struct tc_arg){.write = tc_arg_write_f64, .real = value};
}

#define TC_ARG(x) \
    _Generic((x),                  \
             struct tc_arg         \
             : tc_arg_self,        \
               struct tc_slice     \
             : tc_arg_text,        \
               char *              \
             : tc_arg_cstr,        \
               const char *        \
             : tc_arg_cstr,        \
               int                 \
             : tc_arg_i64,         \
               int64_t             \
             : tc_arg_i64,         \
               unsigned            \
             : tc_arg_u64,         \
               uint64_t            \
             : tc_arg_u64,         \
               double              \
             : tc_arg_f64)(x)

#define TC_ARG_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, which, ...) which
#define TC_ARG_COUNT(...) \
    TC_ARG_PICK(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define TC_ARGS(...)                                                                           \
    TC_ARG_PICK(__VA_ARGS__, TC_ARGS_16, TC_ARGS_15, TC_ARGS_14, TC_ARGS_13, TC_ARGS_12,       \
                TC_ARGS_11, TC_ARGS_10, TC_ARGS_9, TC_ARGS_8, TC_ARGS_7, TC_ARGS_6, TC_ARGS_5, \
                TC_ARGS_4, TC_ARGS_3, TC_ARGS_2, TC_ARGS_1, 0)                                 \
    (__VA_ARGS__)
#define TC_ARGS_1(x) TC_ARG(x)
#define TC_ARGS_2(x, ...) TC_ARG(x), TC_ARGS_1(__VA_ARGS__)
#define TC_ARGS_3(x, ...) TC_ARG(x), TC_ARGS_2(__VA_ARGS__)
#define TC_ARGS_4(x, ...) TC_ARG(x), TC_ARGS_3(__VA_ARGS__)
#define TC_ARGS_5(x, ...) TC_ARG(x), TC_ARGS_4(__VA_ARGS__)
#define TC_ARGS_6(x, ...) TC_ARG(x), TC_ARGS_5(__VA_ARGS__)
#define TC_ARGS_7(x, ...) TC_ARG(x), TC_ARGS_6(__VA_ARGS__)
#define TC_ARGS_8(x, ...) TC_ARG(x), TC_ARGS_7(__VA_ARGS__)
#define TC_ARGS_9(x, ...) TC_ARG(x), TC_ARGS_8(__VA_ARGS__)
#define TC_ARGS_10(x, ...) TC_ARG(x), TC_ARGS_9(__VA_ARGS__)
#define TC_ARGS_11(x, ...) TC_ARG(x), TC_ARGS_10(__VA_ARGS__)
#define TC_ARGS_12(x, ...) TC_ARG(x), TC_ARGS_11(__VA_ARGS__)
#define TC_ARGS_13(x, ...) TC_ARG(x), TC_ARGS_12(__VA_ARGS__)
#define TC_ARGS_14(x, ...) TC_ARG(x), TC_ARGS_13(__VA_ARGS__)
#define TC_ARGS_15(x, ...) TC_ARG(x), TC_ARGS_14(__VA_ARGS__)
#define TC_ARGS_16(x, ...) TC_ARG(x), TC_ARGS_15(__VA_ARGS__)

#endif
