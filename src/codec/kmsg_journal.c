/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel messages out of the systemd journal: `journalctl -o export` and
 * `-o json`. An export is read record by record, never by searching for the
 * text: the length of a binary field is honoured, so a program that logs
 * something that looks like a kernel's record inside its message is not believed.
 */
#include "base/json_raw.h"
#include "base/limits.h"
#include "codec/kmsg_priv.h"

#define FIELD_NAME_MAX 64 /* journald's own limit */

/* The fields of a record that matter here. */
struct fields {
    struct tc_slice message;
    struct tc_slice hostname;
    struct tc_slice transport;
    struct tc_slice identifier;
    struct tc_slice realtime;
    struct tc_slice monotonic;
    bool has_message;
    bool torn; /* the record ends inside a field */
};

/* Of several values of one field the first counts: journald writes its own ahead. */
static void set_once(struct tc_slice *field, struct tc_slice value)
{
    if (field->ptr == NULL) {
        *field = value;
    }
}

static void set_field(struct fields *f, struct tc_slice name, struct tc_slice value)
{
    if (f == NULL) {
        return;
    }
    if (tc_slice_eq(name, TC_LIT("MESSAGE"))) {
        set_once(&f->message, value);
        f->has_message = true;
    } else if (tc_slice_eq(name, TC_LIT("_HOSTNAME"))) {
        set_once(&f->hostname, value);
    } else if (tc_slice_eq(name, TC_LIT("_TRANSPORT"))) {
        set_once(&f->transport, value);
    } else if (tc_slice_eq(name, TC_LIT("SYSLOG_IDENTIFIER"))) {
        set_once(&f->identifier, value);
    } else if (tc_slice_eq(name, TC_LIT("__REALTIME_TIMESTAMP"))) {
        set_once(&f->realtime, value);
    } else if (tc_slice_eq(name, TC_LIT("__MONOTONIC_TIMESTAMP"))) {
        set_once(&f->monotonic, value);
    }
}

static int64_t usec_time(struct tc_slice text)
{
    uint64_t usec = 0;
    if (!tc_slice_is_u64(text, &usec) || usec > INT64_MAX / 1000) {
        return TC_TIME_NONE;
    }
    return (int64_t)usec * 1000;
}

/*
 * Without a transport the identifier decides, and without either it may be the kernel's;
 * but not in a torn record, which may have lost both.
 */
static bool is_kernels(const struct fields *f)
{
    if (f->transport.len > 0) {
        return tc_slice_eq(f->transport, TC_LIT("kernel"));
    }
    if (f->torn) {
        return false;
    }
    return f->identifier.len == 0 || tc_slice_eq(f->identifier, TC_LIT("kernel"));
}

static void fill_line(const struct tc_codec_input *in, const struct fields *f, struct tc_slice raw,
                      struct tc__kmsg_line *out)
{
    int64_t uptime_ns = usec_time(f->monotonic);
    *out = (struct tc__kmsg_line){.raw = raw,
                                  .node = f->hostname.len > 0 ? f->hostname : in->node,
                                  .time_ns = usec_time(f->realtime),
                                  .uptime_ns = TC_TIME_NONE,
                                  .count = 1,
                                  .origin = is_kernels(f) ? TC__KMSG_KERNEL : TC__KMSG_FOREIGN,
                                  .framed = true,
                                  .sure = true,
                                  .torn = f->torn};
    if (out->time_ns == TC_TIME_NONE && uptime_ns != TC_TIME_NONE) {
        out->uptime_ns = uptime_ns;
        int64_t ns = 0;
        if (in->boot_ns != TC_TIME_NONE && !__builtin_add_overflow(in->boot_ns, uptime_ns, &ns)) {
            out->time_ns = ns;
        }
    }
    tc__kmsg_frame_message(in, tc_slice_head(f->message, TC_LINE_MAX), out);
}

/* The index of the end of the line that starts at `at`. */
static size_t line_end(struct tc_slice s, size_t at)
{
    size_t length = tc_slice_find_byte(tc_slice_from(s, at), '\n');
    return length == TC_NPOS ? s.len : at + length;
}

bool tc__kmsg_is_export(struct tc_slice bytes)
{
    size_t start = 0;
    while (start < bytes.len && bytes.ptr[start] == '\n') {
        start++;
    }
    struct tc_slice s = tc_slice_head(tc_slice_from(bytes, start), FIELD_NAME_MAX + 1);
    size_t len = 0;
    while (len < s.len && ((s.ptr[len] >= 'A' && s.ptr[len] <= 'Z') || s.ptr[len] == '_' ||
                           (len > 0 && s.ptr[len] >= '0' && s.ptr[len] <= '9'))) {
        len++;
    }
    return len > 0 && len < s.len && s.ptr[len] == '=' &&
           (s.ptr[0] == '_' || tc_slice_starts(s, TC_LIT("MESSAGE=")));
}

/*
 * One field at *io_at, which is no empty line. A name without '=' is followed by
 * eight bytes of little-endian length and that many bytes. False when it is torn.
 */
static bool next_field(struct tc_slice s, size_t *io_at, struct fields *f)
{
    size_t end = line_end(s, *io_at);
    struct tc_slice line = tc_slice_make(s.ptr + *io_at, end - *io_at);
    size_t equals = tc_slice_find_byte(line, '=');
    if (equals != TC_NPOS) {
        set_field(f, tc_slice_head(line, equals), tc_slice_from(line, equals + 1));
        *io_at = end < s.len ? end + 1 : end;
        return true;
    }
    uint64_t length = 0;
    size_t at = end + 1;
    if (end == s.len || s.len - at < sizeof length) {
        return false;
    }
    for (size_t i = sizeof length; i-- > 0;) {
        length = length << 8 | (uint8_t)s.ptr[at + i];
    }
    at += sizeof length;
    if (length > s.len - at) {
        return false;
    }
    set_field(f, line, tc_slice_make(s.ptr + at, (size_t)length));
    at += (size_t)length;
    *io_at = at < s.len ? at + 1 : at;
    return true;
}

/* The record of s, the input's first bytes, that starts at *io_at. */
static bool next_record(const struct tc_codec_input *in, struct tc_slice s, size_t *io_at,
                        struct tc__kmsg_line *out)
{
    struct fields f = {0};
    size_t start = *io_at;
    while (start < s.len && s.ptr[start] == '\n') {
        start++;
    }
    if (start >= s.len) {
        *io_at = s.len;
        return false;
    }
    size_t at = start;
    size_t end = s.len;
    while (at < s.len) {
        if (s.ptr[at] == '\n') {
            end = at;
            at++;
            break;
        }
        if (!next_field(s, &at, out == NULL ? NULL : &f)) {
            f.torn = true;
            at = s.len;
        }
    }
    *io_at = at;
    /* The newline of the last field is not part of the record. */
    if (end > start && s.ptr[end - 1] == '\n') {
        end--;
    }
    if (out != NULL) {
        fill_line(in, &f, tc_slice_make(s.ptr + start, end - start), out);
    }
    return true;
}

bool tc__kmsg_export_next(const struct tc_codec_input *in, size_t *io_at, struct tc__kmsg_line *out)
{
    return next_record(in, in->bytes, io_at, out);
}

bool tc__kmsg_export_prev(const struct tc_codec_input *in, size_t *io_at, struct tc__kmsg_line *out)
{
    struct tc_slice s = in->bytes;
    if (*io_at < 2) {
        return false;
    }
    /* Back over the empty line above, to the next one or to the start of the input. */
    size_t stop = *io_at > TC_LINE_MAX ? *io_at - TC_LINE_MAX : 0;
    size_t start = *io_at - 1;
    while (start > stop && s.ptr[start - 1] == '\n') {
        start--;
    }
    while (start > stop && !(start >= 2 && s.ptr[start - 1] == '\n' && s.ptr[start - 2] == '\n')) {
        start--;
    }
    /*
     * Read forwards it must end where we came from, else the empty line lay inside a field. A
     * field made to deceive this can lend its neighbour a severity, but makes no event.
     */
    struct tc_slice above = tc_slice_head(s, *io_at);
    size_t end = start;
    if ((start == stop && start != 0) || !next_record(in, above, &end, out)) {
        return false;
    }
    while (end < above.len && s.ptr[end] == '\n') {
        end++;
    }
    if (end != above.len || out->torn) {
        return false;
    }
    *io_at = start;
    return true;
}

/* A string's content between its quotes, escapes as written; a bare number as it is. */
static struct tc_slice json_text(struct tc_slice value)
{
    if (value.len >= 2 && value.ptr[0] == '"') {
        return tc_slice_make(value.ptr + 1, value.len - 2);
    }
    return value.len > 0 && value.ptr[0] >= '0' && value.ptr[0] <= '9' ? value : TC_EMPTY;
}

/*
 * Escapes are left as written: kernel messages have hardly any, and every string
 * stays a slice of the input. A message that is not text comes as an array of
 * numbers and is not read.
 */
bool tc__kmsg_frame_json(const struct tc_codec_input *in, struct tc_slice raw,
                         struct tc__kmsg_line *out)
{
    struct fields f = {0};
    struct tc_slice key;
    struct tc_slice value;
    size_t at = 0;
    while (tc_json_raw_member(raw, &at, &key, &value)) {
        set_field(&f, key, json_text(value));
    }
    if (!f.has_message || (f.realtime.len == 0 && f.transport.len == 0)) {
        return false;
    }
    f.torn = !tc_slice_starts(tc__kmsg_skip_spaces(tc_slice_from(raw, at)), TC_LIT("}"));
    fill_line(in, &f, raw, out);
    return true;
}
