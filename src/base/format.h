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

#include "base/assert.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/slice.h"
#include "base/table/grow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* Appends to b and returns the slice of what was appended. Up to 15 arguments, all of which are
 * evaluated before the first is written. */
#define tc_format(b, ...)                                                                       \
    tc_format_end(TC_STEPS(tc_format_begin((b), (const struct tc_arg[]){TC_ARGS(__VA_ARGS__)}), \
                           __VA_ARGS__))

/* The same with arguments that were made before: args[0] is the format. */
struct tc_slice tc_format_args(struct tc_buf *b, const struct tc_arg *args, size_t count);

/* The same on text that grows. */
#define tc_grow_format(g, ...)                                              \
    tc_grow_format_args((g), (const struct tc_arg[]){TC_ARGS(__VA_ARGS__)}, \
                        TC_ARG_COUNT(__VA_ARGS__))
void tc_grow_format_args(struct tc_grow *g, const struct tc_arg *args, size_t count);

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

/* "2026-11-15T03:04:05.123Z", see tc_buf_time; "an unknown time" where it is no date. */
struct tc_arg tc_as_time(int64_t ns);
/* "at 03:04:05", for sentences beside a date; "undated" where it is no date. */
struct tc_arg tc_as_moment(int64_t ns);
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
/* For a person's terminal, see tc_buf_printable. */
struct tc_arg tc_as_printable(struct tc_slice text);
/* "sha256:..." */
struct tc_arg tc_as_digest(const struct tc_digest *digest);
/* A slice, or the word when it is empty. */
struct tc_arg tc_as_known(struct tc_slice text, const char *otherwise);

/* The rest makes arguments of what tc_format is given, and writes them. */

struct tc_arg tc_arg_nested(bool condition, const struct tc_arg *args, size_t count);
void tc_arg_write_text(struct tc_buf *b, struct tc_slice text);
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

/*
 * A format that is being written, one step for each argument. The steps are inlined: the compiler
 * knows most formats and cuts them into their pieces, and it knows the types, so that what is left
 * of a step is the copy of a few bytes and a call with the argument in registers.
 */
struct tc_formatting {
    struct tc_buf *b;
    size_t start;
    const char *rest;         /* of the format */
    const struct tc_arg *arg; /* written last */
};

#define TC_STEP_FN static inline __attribute__((always_inline))

/* args[0] is the format, the arguments follow it. */
TC_STEP_FN struct tc_formatting tc_format_begin(struct tc_buf *b, const struct tc_arg *args)
{
    return (struct tc_formatting){b, b->len, args->text.ptr, args};
}

/* Appends the format up to the next "{}", which stands for the next argument. */
TC_STEP_FN struct tc_formatting tc_format_next(struct tc_formatting f)
{
    const char *brace = strstr(f.rest, "{}");
    TC_ASSERT(brace != NULL);
    if (brace > f.rest) {
        tc_buf_const(f.b, f.rest, (size_t)(brace - f.rest));
    }
    return (struct tc_formatting){f.b, f.start, brace + 2, f.arg + 1};
}

TC_STEP_FN struct tc_formatting tc_format_text(struct tc_formatting f)
{
    f = tc_format_next(f);
    tc_arg_write_text(f.b, f.arg->text);
    return f;
}

TC_STEP_FN struct tc_formatting tc_format_i64(struct tc_formatting f)
{
    f = tc_format_next(f);
    tc_buf_i64(f.b, f.arg->integer);
    return f;
}

TC_STEP_FN struct tc_formatting tc_format_u64(struct tc_formatting f)
{
    f = tc_format_next(f);
    tc_buf_u64(f.b, f.arg->natural);
    return f;
}

/* Any argument. */
TC_STEP_FN struct tc_formatting tc_format_arg(struct tc_formatting f)
{
    f = tc_format_next(f);
    if (f.arg->write == NULL) {
        tc_arg_write_text(f.b, f.arg->text);
    } else {
        f.arg->write(f.b, f.arg);
    }
    return f;
}

TC_STEP_FN struct tc_slice tc_format_end(struct tc_formatting f)
{
    TC_ASSERT(strstr(f.rest, "{}") == NULL);
    if (f.rest[0] != '\0') {
        tc_buf_const(f.b, f.rest, strlen(f.rest));
    }
    return tc_buf_since(f.b, f.start);
}

#define TC_STEP(x) \
    _Generic((x),                                  \
             struct tc_slice: tc_format_text,      \
             char *: tc_format_text,               \
             const char *: tc_format_text,         \
             int: tc_format_i64,                   \
             int64_t: tc_format_i64,               \
             unsigned: tc_format_u64,               \
             uint64_t: tc_format_u64,               \
             default: tc_format_arg)

#define TC_ARG_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, which, ...) which
#define TC_ARG_COUNT(...) \
    TC_ARG_PICK(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define TC_ARGS(...)                                                                           \
    TC_ARG_PICK(__VA_ARGS__, TC_ARGS_16, TC_ARGS_15, TC_ARGS_14, TC_ARGS_13, TC_ARGS_12,       \
                TC_ARGS_11, TC_ARGS_10, TC_ARGS_9, TC_ARGS_8, TC_ARGS_7, TC_ARGS_6, TC_ARGS_5, \
                TC_ARGS_4, TC_ARGS_3, TC_ARGS_2, TC_ARGS_1, 0)                                 \
    (__VA_ARGS__)
#define TC_STEPS(f, ...)                                                                      \
    TC_ARG_PICK(__VA_ARGS__, TC_STEPS_16, TC_STEPS_15, TC_STEPS_14, TC_STEPS_13, TC_STEPS_12, \
                TC_STEPS_11, TC_STEPS_10, TC_STEPS_9, TC_STEPS_8, TC_STEPS_7, TC_STEPS_6,     \
                TC_STEPS_5, TC_STEPS_4, TC_STEPS_3, TC_STEPS_2, TC_STEPS_1, 0)                \
    (f, __VA_ARGS__)
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
/* The first is the format, or an argument whose step was taken. */
#define TC_STEPS_1(f, x) f
#define TC_STEPS_2(f, x, y) TC_STEP(y)(f)
#define TC_STEPS_3(f, x, y, ...) TC_STEPS_2(TC_STEP(y)(f), y, __VA_ARGS__)
#define TC_STEPS_4(f, x, y, ...) TC_STEPS_3(TC_STEP(y)(f), y, __VA_ARGS__)
#define TC_STEPS_5(f, x, y, ...) TC_STEPS_4(TC_STEP(y)(f), y, __VA_ARGS__)
#define TC_STEPS_6(f, x, y, ...) TC_STEPS_5(TC_STEP(y)(f), y, __VA_ARGS__)
#define TC_STEPS_7(f, x, y, ...) TC_STEPS_6(TC_STEP(y)(f), y, __VA_ARGS__)
#define TC_STEPS_8(f, x, y, ...) TC_STEPS_7(TC_STEP(y)(f), y, __VA_ARGS__)
#define TC_STEPS_9(f, x, y, ...) TC_STEPS_8(TC_STEP(y)(f), y, __VA_ARGS__)
#define TC_STEPS_10(f, x, y, ...) TC_STEPS_9(TC_STEP(y)(f), y, __VA_ARGS__)
#define TC_STEPS_11(f, x, y, ...) TC_STEPS_10(TC_STEP(y)(f), y, __VA_ARGS__)
#define TC_STEPS_12(f, x, y, ...) TC_STEPS_11(TC_STEP(y)(f), y, __VA_ARGS__)
#define TC_STEPS_13(f, x, y, ...) TC_STEPS_12(TC_STEP(y)(f), y, __VA_ARGS__)
#define TC_STEPS_14(f, x, y, ...) TC_STEPS_13(TC_STEP(y)(f), y, __VA_ARGS__)
#define TC_STEPS_15(f, x, y, ...) TC_STEPS_14(TC_STEP(y)(f), y, __VA_ARGS__)
#define TC_STEPS_16(f, x, y, ...) TC_STEPS_15(TC_STEP(y)(f), y, __VA_ARGS__)

#endif
