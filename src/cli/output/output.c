/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output/output.h"

#include "base/os/io.h"
#include "cli/output/say.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void tc_output_init(struct tc_output *o, int fd)
{
    o->fd = fd;
    o->error = 0;
    o->escape = TC_ESCAPE_NOTHING;
    o->sequence_len = 0;
    o->buf = tc_buf_make(o->data, sizeof o->data);
}

void tc_output_escape_on_terminal(struct tc_output *o, enum tc_output_escape escape)
{
    (void)tc_output_flush(o);
    o->escape = isatty(o->fd) == 1 ? escape : TC_ESCAPE_NOTHING;
}

static void write_bytes(struct tc_output *o, struct tc_slice s)
{
    if (o->error == 0 && !tc_io_write(o->fd, s)) {
        o->error = errno;
    }
}

static size_t sequence_need(unsigned char first)
{
    return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
}

/* \uNNNN, or two of them beyond 16 bits. The sequence is right. */
static void put_json_escape(struct tc_buf *b, const unsigned char *at, size_t len)
{
    uint32_t code = len == 1 ? at[0] : at[0] & (0x7fU >> len);
    for (size_t i = 1; i < len; i++) {
        code = code << 6 | (at[i] & 0x3fU);
    }
    if (code > 0xffff) {
        tc_buf_lit(b, "\\u");
        tc_buf_hex(b, 0xd800 + ((code - 0x10000) >> 10), 4);
        code = 0xdc00 + ((code - 0x10000) & 0x3ff);
    }
    tc_buf_lit(b, "\\u");
    tc_buf_hex(b, code, 4);
}

/* The character in o->sequence, whole or broken off. */
static void put_sequence(struct tc_output *o, struct tc_buf *b)
{
    struct tc_slice s = tc_slice_make((const char *)o->sequence, o->sequence_len);
    size_t len = s.len > 0 ? tc_utf8_len(o->sequence, s.len) : 0;
    bool is_hidden = len == s.len && tc_utf8_is_invisible(o->sequence, len) && s.ptr[0] != '\n';
    o->sequence_len = 0;
    if (is_hidden && o->escape == TC_ESCAPE_JSON) {
        put_json_escape(b, o->sequence, len);
    } else if (is_hidden || (len != s.len && o->escape == TC_ESCAPE_TEXT)) {
        tc_buf_printable(b, s);
    } else {
        tc_buf_str(b, s);
    }
}

/* A character may be cut in two where the buffer is full. */
static void write_escaped(struct tc_output *o, struct tc_slice s)
{
    char text[4096];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    for (size_t i = 0; i < s.len; i++) {
        unsigned char byte = (unsigned char)s.ptr[i];
        if (o->sequence_len > 0 && (byte & 0xc0) != 0x80) {
            put_sequence(o, &b);
        }
        o->sequence[o->sequence_len++] = byte;
        if (o->sequence_len == sequence_need(o->sequence[0])) {
            put_sequence(o, &b);
        }
        if (b.len > sizeof text - 64) {
            write_bytes(o, tc_buf_slice(&b));
            tc_buf_reset(&b);
        }
    }
    write_bytes(o, tc_buf_slice(&b));
}

static void write_through(struct tc_output *o, struct tc_slice s)
{
    if (o->escape == TC_ESCAPE_NOTHING) {
        write_bytes(o, s);
    } else {
        write_escaped(o, s);
    }
}

bool tc_output_flush(struct tc_output *o)
{
    write_through(o, tc_buf_slice(&o->buf));
    tc_buf_reset(&o->buf);
    return o->error == 0;
}

bool tc_output_put(struct tc_output *o, struct tc_slice s)
{
    if (s.len > sizeof o->data - o->buf.len && !tc_output_flush(o)) {
        return false;
    }
    if (s.len > sizeof o->data) {
        write_through(o, s);
    } else {
        tc_buf_str(&o->buf, s);
    }
    return o->error == 0;
}

bool tc_output_format_args(struct tc_output *o, const struct tc_arg *args, size_t count)
{
    size_t start = o->buf.len;
    struct tc_grow all = {0};
    (void)tc_format_args(&o->buf, args, count);
    if (o->buf.overflowed) { /* not behind what waits: on its own */
        o->buf.len = start;
        o->buf.overflowed = false;
        tc_grow_format_args(&all, args, count);
        o->error = all.failed && o->error == 0 ? ENOMEM : o->error;
        (void)tc_output_put(o, tc_grow_slice(&all));
        tc_grow_fini(&all);
    }
    return o->error == 0;
}

static void put_blanks(struct tc_buf *b, size_t len, size_t width)
{
    for (; len < width; len++) {
        tc_buf_char(b, ' ');
    }
}

static void write_padded(struct tc_buf *b, const struct tc_arg *arg)
{
    tc_buf_str(b, arg->text);
    put_blanks(b, arg->text.len, arg->limit);
}

struct tc_arg tc_as_padded(struct tc_slice text, size_t width)
{
    return (struct tc_arg){.write = write_padded, .text = text, .limit = width};
}

static void write_right(struct tc_buf *b, const struct tc_arg *arg)
{
    char digits[TC_PUT_U64_MAX + 4];
    put_blanks(b, (size_t)(tc_put_u64(digits, arg->natural) - digits), arg->limit);
    tc_buf_u64(b, arg->natural);
}

struct tc_arg tc_as_right(uint64_t value, size_t width)
{
    return (struct tc_arg){.write = write_right, .natural = value, .limit = width};
}

static bool make_room(void *context, size_t bytes)
{
    (void)bytes; /* the buffer is larger than any piece */
    return tc_output_flush(context);
}

struct tc_json_out tc_output_json(struct tc_output *o)
{
    _Static_assert(sizeof o->data >= TC_JSON_OUT_PIECE_MAX, "a piece fits");
    return tc_json_out_sink(&o->buf, make_room, o);
}

struct tc_json_out tc_output_object(struct tc_output *o)
{
    struct tc_json_out j = tc_output_json(o);
    tc_json_add_object(&j);
    return j;
}

int tc_output_end(struct tc_output *o, const char *command, int status)
{
    if (tc_output_flush(o)) {
        return status;
    }
    if (o->error == EPIPE) {
        return TC_EXIT_PIPE;
    }
    char text[128];
    return tc_refuse(command, "cannot write standard output: %s",
                     strerror_r(o->error, text, sizeof text));
}

int tc_output_grown(const char *command, struct tc_grow *g, int status)
{
    static struct tc_output out;
    if (g->failed) {
        tc_say(command, "no memory for the answer");
        tc_grow_fini(g);
        return TC_EXIT_BAD;
    }
    tc_output_init(&out, STDOUT_FILENO);
    (void)tc_output_put(&out, tc_grow_slice(g));
    tc_grow_fini(g);
    return tc_output_end(&out, command, status);
}
