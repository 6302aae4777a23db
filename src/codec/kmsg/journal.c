/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel messages out of the systemd journal: `journalctl -o export`, `-o json`
 * and `-o json-pretty`. An export is read record by record, never by searching for
 * the text: the length of a binary field is honoured, so a program that logs
 * something that looks like a kernel's record inside its message is not believed.
 * Journald writes control characters as binary fields, so a carriage return at the
 * end of a line was put there by whoever copied the file.
 */
#include "base/json/raw.h"
#include "base/limits.h"
#include "codec/kmsg/kmsg_priv.h"

#define FIELD_NAME_MAX 64 /* journald's own limit */

/* The fields of a record that matter here. */
struct fields {
    struct tc_slice message;
    struct tc_slice numbers; /* JSON: the message as an array of its bytes */
    struct tc_slice hostname;
    struct tc_slice transport;
    struct tc_slice identifier;
    struct tc_slice realtime;
    struct tc_slice monotonic;
    bool has_message;
    bool torn; /* the record ends inside a field */
    size_t torn_at;
};

/* Of several values of one field the first counts: journald writes its own ahead. */
static void set_field(struct fields *f, struct tc_slice name, struct tc_slice value)
{
    static const struct {
        struct tc_slice name;
        size_t offset;
    } known[] = {
        {{"MESSAGE", 7}, offsetof(struct fields, message)},
        {{"_HOSTNAME", 9}, offsetof(struct fields, hostname)},
        {{"_TRANSPORT", 10}, offsetof(struct fields, transport)},
        {{"SYSLOG_IDENTIFIER", 17}, offsetof(struct fields, identifier)},
        {{"__REALTIME_TIMESTAMP", 20}, offsetof(struct fields, realtime)},
        {{"__MONOTONIC_TIMESTAMP", 21}, offsetof(struct fields, monotonic)},
    };
    for (size_t i = 0; f != NULL && i < TC_COUNT(known); i++) {
        struct tc_slice *field = (struct tc_slice *)(void *)((char *)f + known[i].offset);
        if (tc_slice_eq(name, known[i].name)) {
            *field = field->ptr == NULL ? value : *field;
            f->has_message = f->has_message || field == &f->message;
            return;
        }
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

static enum tc__kmsg_origin origin_of(const struct fields *f)
{
    if (is_kernels(f)) {
        return TC__KMSG_KERNEL;
    }
    return tc_slice_eq(f->identifier, TC_LIT("systemd-oomd")) ? TC__KMSG_OOMD : TC__KMSG_FOREIGN;
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
                                  .origin = origin_of(f),
                                  .framed = true,
                                  .sure = true,
                                  .numbers = f->numbers,
                                  .torn = f->torn,
                                  .torn_at = f->torn_at};
    if (out->time_ns == TC_TIME_NONE && uptime_ns != TC_TIME_NONE) {
        tc__kmsg_set_uptime(in, uptime_ns, out);
    }
    tc__kmsg_frame_message(in, tc_slice_head(f->message, TC_LINE_MAX), out);
}

/* The index of the end of the line that starts at `at`. */
static size_t line_end(struct tc_slice s, size_t at)
{
    size_t length = tc_slice_find_byte(tc_slice_from(s, at), '\n');
    return length == TC_NPOS ? s.len : at + length;
}

/* The bytes of an empty line at `at`, 0 when it is not empty. */
static size_t empty_line(struct tc_slice s, size_t at)
{
    if (at < s.len && s.ptr[at] == '\n') {
        return 1;
    }
    bool returned = at < s.len && s.ptr[at] == '\r';
    return returned && at + 1 < s.len && s.ptr[at + 1] == '\n' ? 2 : 0;
}

/* Where the first line from `at` on that is not empty starts. */
static size_t skip_empty(struct tc_slice s, size_t at)
{
    size_t length = 0;
    at += at == 0 ? tc_slice_bom(s) : 0;
    while ((length = empty_line(s, at)) > 0) {
        at += length;
    }
    return at;
}

static struct tc_slice without_return(struct tc_slice line)
{
    return tc_slice_ends(line, TC_LIT("\r")) ? tc_slice_head(line, line.len - 1) : line;
}

/* How many bytes of s a field's name has. */
static size_t name_length(struct tc_slice s)
{
    size_t len = 0;
    while (len < s.len && len <= FIELD_NAME_MAX &&
           (tc__kmsg_is_upper(s.ptr[len]) || s.ptr[len] == '_' ||
            (len > 0 && tc__kmsg_is_digit(s.ptr[len])))) {
        len++;
    }
    return len;
}

static bool is_export(struct tc_slice bytes)
{
    struct tc_slice s = tc_slice_from(bytes, skip_empty(bytes, 0));
    size_t len = name_length(s);
    return len > 0 && len < s.len && s.ptr[len] == '=' &&
           (s.ptr[0] == '_' || tc_slice_starts(s, TC_LIT("MESSAGE=")));
}

/* Whether the line at `at` is this brace and nothing else. */
static bool is_brace(struct tc_slice s, size_t at, char brace)
{
    return at < s.len && s.ptr[at] == brace && (at + 1 == s.len || empty_line(s, at + 1) > 0);
}

static bool is_pretty(struct tc_slice bytes)
{
    size_t start = skip_empty(bytes, 0);
    if (!is_brace(bytes, start, '{')) {
        return false;
    }
    size_t end = line_end(bytes, start);
    struct tc_slice s = tc__kmsg_skip_spaces(tc_slice_from(bytes, end + 1));
    if (!tc__kmsg_take(&s, TC_LIT("\""))) {
        return false;
    }
    size_t len = name_length(s);
    return len > 0 && len < s.len && s.ptr[len] == '"';
}

enum tc__kmsg_shape tc__kmsg_shape_of(struct tc_slice bytes)
{
    if (is_export(bytes)) {
        return TC__KMSG_EXPORT;
    }
    return is_pretty(bytes) ? TC__KMSG_PRETTY : TC__KMSG_LINES;
}

/*
 * One field at *io_at, which is no empty line. A name without '=' is followed by
 * eight bytes of little-endian length, that many bytes and a newline. False when it is torn.
 */
static bool next_field(struct tc_slice s, size_t *io_at, struct fields *f)
{
    size_t end = line_end(s, *io_at);
    struct tc_slice line = tc_slice_make(s.ptr + *io_at, end - *io_at);
    line = without_return(line);
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
    size_t behind = at + (size_t)length;
    size_t newline = empty_line(s, behind);
    if (newline == 0 && behind < s.len) {
        return false;
    }
    set_field(f, line, tc_slice_make(s.ptr + at, (size_t)length));
    *io_at = behind + newline;
    return true;
}

/* The record of s, the input's first bytes, that starts at *io_at. */
static bool next_export(const struct tc_codec_input *in, struct tc_slice s, size_t *io_at,
                        struct tc__kmsg_line *out)
{
    struct fields f = {0};
    size_t start = skip_empty(s, *io_at);
    if (start >= s.len) {
        *io_at = s.len;
        return false;
    }
    size_t at = start;
    size_t end = s.len;
    while (at < s.len) {
        size_t empty = empty_line(s, at);
        if (empty > 0) {
            end = at;
            at += empty;
            break;
        }
        if (!next_field(s, &at, out == NULL ? NULL : &f)) {
            f.torn = true;
            f.torn_at = at;
            at = s.len;
        }
    }
    *io_at = at;
    if (out != NULL) {
        /* The newline of the last field is not part of the record. */
        struct tc_slice raw = tc_slice_make(s.ptr + start, end - start);
        if (tc_slice_ends(raw, TC_LIT("\n"))) {
            raw = without_return(tc_slice_head(raw, raw.len - 1));
        }
        fill_line(in, &f, raw, out);
    }
    return true;
}

static bool is_newline(char c)
{
    return c == '\n' || c == '\r';
}

/* Whether an empty line ends at `at`. */
static bool is_behind_empty(struct tc_slice s, size_t at)
{
    if (at < 2 || s.ptr[at - 1] != '\n') {
        return false;
    }
    return s.ptr[at - 2] == '\n' || (at >= 3 && s.ptr[at - 2] == '\r' && s.ptr[at - 3] == '\n');
}

static bool prev_export(const struct tc_codec_input *in, size_t *io_at, struct tc__kmsg_line *out)
{
    struct tc_slice s = in->bytes;
    if (*io_at < 2) {
        return false;
    }
    /* Back over the empty line above, to the next one or to the start of the input. */
    size_t stop = *io_at > TC_LINE_MAX ? *io_at - TC_LINE_MAX : 0;
    size_t start = *io_at - 1;
    while (start > stop && is_newline(s.ptr[start - 1])) {
        start--;
    }
    while (start > stop && !is_behind_empty(s, start)) {
        start--;
    }
    /*
     * Read forwards it must end where we came from, else the empty line lay inside a field. A
     * field made to deceive this can lend its neighbour a severity, but makes no event.
     */
    struct tc_slice above = tc_slice_head(s, *io_at);
    size_t end = start;
    if ((start == stop && start != 0) || !next_export(in, above, &end, out)) {
        return false;
    }
    if (skip_empty(above, end) != above.len || out->torn) {
        return false;
    }
    *io_at = start;
    return true;
}

/*
 * Where the record or line that starts at `at` ends. Strings hold no newlines, so a brace alone
 * on its line opens or closes a record; a torn one ends where the next opens.
 */
static size_t pretty_end(struct tc_slice s, size_t at)
{
    size_t end = line_end(s, at);
    if (!is_brace(s, at, '{')) {
        return end;
    }
    while (end + 1 < s.len && !is_brace(s, end + 1, '{')) {
        size_t start = end + 1;
        end = line_end(s, start);
        if (is_brace(s, start, '}')) {
            break;
        }
    }
    return end;
}

static bool next_pretty(const struct tc_codec_input *in, size_t *io_at, struct tc__kmsg_line *out)
{
    struct tc_slice s = in->bytes;
    size_t start = skip_empty(s, *io_at);
    if (start >= s.len) {
        *io_at = s.len;
        return false;
    }
    size_t end = pretty_end(s, start);
    *io_at = end < s.len ? end + 1 : end;
    if (out != NULL) {
        struct tc_slice raw = without_return(tc_slice_make(s.ptr + start, end - start));
        bool record = is_brace(s, start, '{');
        tc__kmsg_frame(in, record ? raw : tc_slice_head(raw, TC_LINE_MAX), out);
        out->raw = raw;
    }
    return true;
}

/* Only a whole record is a neighbour. */
static bool prev_pretty(const struct tc_codec_input *in, size_t *io_at, struct tc__kmsg_line *out)
{
    struct tc_slice s = in->bytes;
    size_t stop = *io_at > TC_LINE_MAX ? *io_at - TC_LINE_MAX : 0;
    size_t end = *io_at;
    while (end > stop && is_newline(s.ptr[end - 1])) {
        end--;
    }
    if (end < stop + 2 || end == *io_at || s.ptr[end - 2] != '\n' || !is_brace(s, end - 1, '}')) {
        return false;
    }
    for (size_t at = end - 1; at > stop;) {
        const char *newline = memrchr(s.ptr + stop, '\n', at - 1 - stop);
        size_t start = newline == NULL ? stop : (size_t)(newline - s.ptr) + 1;
        start += start == 0 ? tc_slice_bom(s) : 0;
        if (is_brace(s, start, '{')) {
            *io_at = start;
            size_t next = start;
            return next_pretty(in, &next, out);
        }
        if (newline == NULL || is_brace(s, start, '}')) {
            return false;
        }
        at = start;
    }
    return false;
}

bool tc__kmsg_record_next(enum tc__kmsg_shape shape, const struct tc_codec_input *in, size_t *io_at,
                          struct tc__kmsg_line *out)
{
    return shape == TC__KMSG_EXPORT ? next_export(in, in->bytes, io_at, out)
                                    : next_pretty(in, io_at, out);
}

bool tc__kmsg_record_prev(enum tc__kmsg_shape shape, const struct tc_codec_input *in, size_t *io_at,
                          struct tc__kmsg_line *out)
{
    return shape == TC__KMSG_EXPORT ? prev_export(in, io_at, out) : prev_pretty(in, io_at, out);
}

/*
 * A string's content between its quotes, escapes as written; a bare number as it is; of
 * several values the first. Bytes that are not text stay the array they are.
 */
static struct tc_slice json_text(struct tc_slice value)
{
    struct tc_slice first;
    size_t at = 0;
    if (tc_json_raw_element(value, &at, &first) && first.ptr[0] == '"') {
        value = first;
    }
    if (value.len >= 2 && value.ptr[0] == '"') {
        return tc_slice_make(value.ptr + 1, value.len - 2);
    }
    bool kept = value.len > 0 && (tc__kmsg_is_digit(value.ptr[0]) || value.ptr[0] == '[');
    return kept ? value : TC_EMPTY;
}

/*
 * Whether the value is a message as an array of numbers, in one of the three spacings that
 * the literals of codec.c find.
 */
static bool is_numbers(struct tc_slice key, struct tc_slice value)
{
    const char *colon = key.ptr + key.len;
    struct tc_slice gap = tc_slice_make(colon, (size_t)(value.ptr - colon));
    return tc_slice_eq(key, TC_LIT("MESSAGE")) && tc_slice_starts(value, TC_LIT("[")) &&
           json_text(value).ptr == value.ptr &&
           (tc_slice_eq(gap, TC_LIT("\":")) || tc_slice_eq(gap, TC_LIT("\": ")) ||
            tc_slice_eq(gap, TC_LIT("\" : ")));
}

/*
 * Escapes are left as written: kernel messages have hardly any, and every string
 * stays a slice of the input.
 */
bool tc__kmsg_frame_json(const struct tc_codec_input *in, struct tc_slice raw,
                         struct tc__kmsg_line *out)
{
    struct fields f = {0};
    struct tc_slice key;
    struct tc_slice value;
    size_t at = 0;
    while (tc_json_raw_member(raw, &at, &key, &value)) {
        if (is_numbers(key, value) && !f.has_message) {
            f.numbers = value;
            f.message = tc_slice_head(value, 0);
            f.has_message = true;
        }
        set_field(&f, key, json_text(value));
    }
    if (!f.has_message || (f.realtime.len == 0 && f.transport.len == 0)) {
        return false;
    }
    struct tc_slice rest = tc_slice_trim(tc_slice_from(raw, at));
    f.torn = !tc_slice_starts(rest, TC_LIT("}"));
    fill_line(in, &f, raw, out);
    return true;
}

bool tc__kmsg_unpack(const struct tc_codec_input *in, struct tc_arena *arena,
                     struct tc__kmsg_line *io_line)
{
    struct tc_slice array = io_line->numbers;
    struct tc_slice element;
    size_t room = 1;
    for (size_t i = 0; i < array.len && room < TC_LINE_MAX; i++) {
        room += array.ptr[i] == ',';
    }
    char *text = tc_new(arena, char, room);
    if (text == NULL) {
        return false;
    }
    size_t len = 0;
    size_t at = 0;
    while (len < room && tc_json_raw_element(array, &at, &element)) {
        uint64_t byte = 0;
        if (!tc_slice_is_u64(element, &byte) || byte > UINT8_MAX) {
            return true;
        }
        text[len++] = (char)(unsigned char)byte;
    }
    tc__kmsg_frame_message(in, tc_slice_make(text, len), io_line);
    return true;
}
