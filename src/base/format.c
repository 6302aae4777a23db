/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format.h"

#include "base/time.h"

/* What a format on growing text is given to begin with; twice as much when it does not fit. */
#define GROW_BYTES 256

struct tc_slice tc_format_args(struct tc_buf *b, const struct tc_arg *args, size_t count)
{
    struct tc_formatting f = tc_format_begin(b, args);
    for (size_t i = 1; i < count; i++) {
        f = tc_format_arg(f);
    }
    return tc_format_end(f);
}

void tc_grow_format_args(struct tc_grow *g, const struct tc_arg *args, size_t count)
{
    size_t start = g->buf.len;
    for (size_t room = GROW_BYTES; tc_grow_room(g, room); room *= 2) {
        (void)tc_format_args(&g->buf, args, count);
        if (!g->buf.overflowed) {
            return;
        }
        g->buf.len = start;
        g->buf.overflowed = false;
    }
}

static void write_nothing(struct tc_buf *b, const struct tc_arg *arg)
{
    (void)b;
    (void)arg;
}

static void write_nested(struct tc_buf *b, const struct tc_arg *arg)
{
    (void)tc_format_args(b, arg->object, arg->count);
}

struct tc_arg tc_arg_nested(bool condition, const struct tc_arg *args, size_t count)
{
    return (struct tc_arg){
        .write = condition ? write_nested : write_nothing, .object = args, .count = count};
}

void tc_arg_write_text(struct tc_buf *b, struct tc_slice text)
{
    tc_buf_str(b, text);
}

void tc_arg_write_i64(struct tc_buf *b, const struct tc_arg *arg)
{
    tc_buf_i64(b, arg->integer);
}

void tc_arg_write_u64(struct tc_buf *b, const struct tc_arg *arg)
{
    tc_buf_u64(b, arg->natural);
}

void tc_arg_write_f64(struct tc_buf *b, const struct tc_arg *arg)
{
    tc_buf_f64(b, arg->real);
}

static void write_digits(struct tc_buf *b, const struct tc_arg *arg)
{
    uint64_t unit = 1;
    for (size_t i = 1; i < arg->limit; i++) {
        unit *= 10;
    }
    for (; arg->natural < unit && unit > 1; unit /= 10) {
        tc_buf_char(b, '0');
    }
    tc_buf_u64(b, arg->natural);
}

struct tc_arg tc_as_digits(uint64_t value, size_t digits)
{
    TC_ASSERT(digits >= 1 && digits <= 19);
    return (struct tc_arg){.write = write_digits, .natural = value, .limit = digits};
}

static void write_time(struct tc_buf *b, const struct tc_arg *arg)
{
    if (tc_time_is_date(arg->integer)) {
        tc_buf_time(b, arg->integer);
    } else {
        tc_buf_lit(b, "an unknown time");
    }
}

struct tc_arg tc_as_time(int64_t ns)
{
    return (struct tc_arg){.write = write_time, .integer = ns};
}

static void write_moment(struct tc_buf *b, const struct tc_arg *arg)
{
    struct tc_civil c;
    if (!tc_time_is_date(arg->integer)) {
        tc_format(b, "undated");
        return;
    }
    tc_time_to_civil(arg->integer, &c);
    tc_format(b, "at {}:{}:{}", tc_as_digits((uint64_t)c.hour, 2),
              tc_as_digits((uint64_t)c.minute, 2), tc_as_digits((uint64_t)c.second, 2));
}

struct tc_arg tc_as_moment(int64_t ns)
{
    return (struct tc_arg){.write = write_moment, .integer = ns};
}

static void write_duration(struct tc_buf *b, const struct tc_arg *arg)
{
    tc_buf_duration(b, arg->integer);
}

struct tc_arg tc_as_duration(int64_t ns)
{
    return (struct tc_arg){.write = write_duration, .integer = ns};
}

static void write_hex(struct tc_buf *b, const struct tc_arg *arg)
{
    tc_buf_hex(b, arg->natural, (unsigned)arg->limit);
}

struct tc_arg tc_as_hex(uint64_t value, size_t digits)
{
    return (struct tc_arg){.write = write_hex, .natural = value, .limit = digits};
}

static void write_count(struct tc_buf *b, const struct tc_arg *arg)
{
    (void)tc_format(b, "{} {}{}", arg->integer, arg->word, arg->integer == 1 ? "" : "s");
}

struct tc_arg tc_as_count(int64_t count, const char *noun)
{
    return (struct tc_arg){.write = write_count, .integer = count, .word = noun};
}

/* What stands before item i of a list. */
static const char *separator(const struct tc_arg *list, size_t i)
{
    return i == 0 ? "" : i + 1 == list->count ? " and " : ", ";
}

static size_t shown(const struct tc_arg *list)
{
    return list->count < list->limit ? list->count : list->limit;
}

static void write_more(struct tc_buf *b, const struct tc_arg *list)
{
    if (shown(list) < list->count) {
        (void)tc_format(b, " and {} more", list->count - shown(list));
    }
}

static void write_ints(struct tc_buf *b, const struct tc_arg *arg)
{
    const int32_t *items = arg->object;
    for (size_t i = 0; i < shown(arg); i++) {
        tc_buf_str(b, tc_slice_cstr(separator(arg, i)));
        tc_buf_i64(b, items[i]);
    }
    write_more(b, arg);
}

struct tc_arg tc_as_ints(const int32_t *items, size_t count, size_t most)
{
    return (struct tc_arg){.write = write_ints, .object = items, .count = count, .limit = most};
}

static void write_list(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct tc_slice *items = arg->object;
    for (size_t i = 0; i < shown(arg); i++) {
        tc_buf_str(b, tc_slice_cstr(separator(arg, i)));
        tc_buf_str(b, items[i]);
    }
    write_more(b, arg);
}

struct tc_arg tc_as_list(const struct tc_slice *items, size_t count, size_t most)
{
    return (struct tc_arg){.write = write_list, .object = items, .count = count, .limit = most};
}

struct tc_arg tc_as_known(struct tc_slice text, const char *otherwise)
{
    return tc_arg_text(text.len > 0 ? text : tc_slice_cstr(otherwise));
}

static void write_printable(struct tc_buf *b, const struct tc_arg *arg)
{
    tc_buf_printable(b, arg->text);
}

struct tc_arg tc_as_printable(struct tc_slice text)
{
    return (struct tc_arg){.write = write_printable, .text = text};
}

static void write_digest(struct tc_buf *b, const struct tc_arg *arg)
{
    tc_buf_digest(b, arg->object);
}

struct tc_arg tc_as_digest(const struct tc_digest *digest)
{
    return tc_as_written(write_digest, digest);
}
