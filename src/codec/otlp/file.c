/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of OTLP one after another in a file: see file_priv.h. */
#include "codec/otlp/file_priv.h"

#include "base/json/raw.h"
#include "codec/json_walk_priv.h"

/* Length before each request, as the Collector's file exporter writes protobuf. */
#define FRAME_BYTES 4
/* The largest request in a file. */
#define REQUEST_MAX ((size_t)256 << 20)

/* One request: a bad one is left out. The first failure is kept in `first`. */
static tc_status read_request(const struct tc__otlp_file *f, struct tc_otlp_reader *r,
                              struct tc_slice body, struct tc_error *first)
{
    struct tc_otlp_tape tape;
    struct tc_error why = {0};
    uint64_t offset = (uint64_t)(body.ptr - f->bytes.ptr);
    if (tc_otlp_check(r, f->signal, f->form, body, &tape, &why) != TC_OK) {
        f->bad(f->context, offset + why.offset, f->not_one);
        if (first->status == TC_OK) {
            *first = why;
            first->offset += offset;
        }
        return TC_OK;
    }
    return f->take(f->context, r, &tape);
}

static struct tc_otlp_reader *make_reader(const struct tc__otlp_file *f, size_t body_max,
                                          struct tc_error *err)
{
    if (f->reader != NULL) {
        return f->reader;
    }
    struct tc_otlp_limits limits = TC_OTLP_LIMITS_FILE;
    struct tc_otlp_reader *r = tc_otlp_reader_create(&limits, body_max);
    if (r == NULL) {
        (void)tc_fail(err, TC_E_NOMEM, 0, "no memory for requests of %zu bytes", body_max);
    }
    return r;
}

static void drop_reader(const struct tc__otlp_file *f, struct tc_otlp_reader *r)
{
    if (r != f->reader) {
        tc_otlp_reader_destroy(r);
    }
}

static tc_status fail_long(size_t length, struct tc_error *err)
{
    return tc_fail(err, TC_E_LIMIT, 0, "a request of %zu bytes; at most %zu are read", length,
                   REQUEST_MAX);
}

/* ---- JSON ---- */

bool tc__otlp_file_has(struct tc_slice bytes, const char *member)
{
    size_t at = 0;
    return tc__json_has_member(bytes, tc__json_start(bytes), &member, 1, &at) &&
           tc__json_byte_is(bytes, at, '[');
}

/* Whether a line of its own begins with what begins a request. */
static bool begins_request(struct tc_slice bytes, size_t at)
{
    size_t inside = tc__json_skip_space(bytes, at + 1);
    return tc__json_byte_is(bytes, at, '{') &&
           tc_slice_starts(tc_slice_from(bytes, inside), TC_LIT("\"resource"));
}

/*
 * The next request from *io_at on. A line that was torn (the exporter was killed) ends where the
 * next one begins, so it costs nothing but itself. False at the end.
 */
static bool next_request(struct tc_slice bytes, size_t *io_at, struct tc_slice *out)
{
    size_t start = tc__json_skip_space(bytes, *io_at);
    if (start >= bytes.len) {
        return false;
    }
    size_t newline = tc_slice_find_byte(tc_slice_from(bytes, start), '\n');
    size_t line_end = newline == TC_NPOS ? bytes.len : start + newline;
    size_t next = tc__json_skip_space(bytes, line_end);
    struct tc_slice text = bytes;
    if (next < bytes.len && begins_request(bytes, next)) {
        text = tc_slice_head(bytes, line_end);
    }
    size_t at = start;
    if (tc_json_raw_value(text, &at, out)) {
        *io_at = at;
    } else {
        *io_at = text.len;
        *out = tc_slice_make(bytes.ptr + start, text.len - start);
    }
    return true;
}

/* All requests: one after another, or the elements of an array. Without a reader only their
 * lengths are seen. */
static tc_status walk_requests(const struct tc__otlp_file *f, struct tc_otlp_reader *r,
                               size_t *io_longest, struct tc_error *first)
{
    struct tc_slice body;
    size_t at = tc__json_start(f->bytes);
    bool array = tc__json_byte_is(f->bytes, at, '[');
    struct tc_slice list = tc_slice_from(f->bytes, at);
    size_t in_list = 0;
    while (array ? tc_json_raw_element(list, &in_list, &body)
                 : next_request(f->bytes, &at, &body)) {
        *io_longest = body.len > *io_longest ? body.len : *io_longest;
        if (r != NULL) {
            TC_TRY(read_request(f, r, body, first));
        }
    }
    return TC_OK;
}

static tc_status read_json(const struct tc__otlp_file *f, struct tc_error *first,
                           struct tc_error *err)
{
    size_t longest = 0;
    /* Once for the longest, since a reader takes its memory when it is made. */
    TC_TRY(walk_requests(f, NULL, &longest, first));
    if (longest > REQUEST_MAX) {
        return fail_long(longest, err);
    }
    struct tc_otlp_reader *r = make_reader(f, longest, err);
    if (r == NULL) {
        return TC_E_NOMEM;
    }
    tc_status status = walk_requests(f, r, &longest, first);
    drop_reader(f, r);
    return status;
}

/* ---- protobuf ---- */

static bool begins_protobuf(struct tc_slice s)
{
    /* Field 1, the entries of a resource, a length that fits, and in it field 1 or 2: resource or
     * scope. */
    uint64_t length = 0;
    unsigned shift = 0;
    size_t at = 1;
    if (s.len < 3 || s.ptr[0] != 0x0a) {
        return false;
    }
    for (; at < s.len && shift < 35; at++, shift += 7) {
        length |= (uint64_t)((unsigned char)s.ptr[at] & 0x7f) << shift;
        if (((unsigned char)s.ptr[at] & 0x80) == 0) {
            at++;
            break;
        }
    }
    if (length == 0 || at >= s.len || length > s.len - at) {
        return false;
    }
    return s.ptr[at] == 0x0a || s.ptr[at] == 0x12;
}

static bool next_frame(struct tc_slice bytes, size_t *io_at, struct tc_slice *out)
{
    struct tc_slice rest = tc_slice_from(bytes, *io_at);
    size_t length = 0;
    if (rest.len < FRAME_BYTES) {
        return false;
    }
    for (size_t i = 0; i < FRAME_BYTES; i++) {
        length = length << 8 | (unsigned char)rest.ptr[i];
    }
    if (length > rest.len - FRAME_BYTES) {
        return false;
    }
    *out = tc_slice_make(rest.ptr + FRAME_BYTES, length);
    *io_at += FRAME_BYTES + length;
    return true;
}

bool tc__otlp_file_first(struct tc_slice bytes, struct tc_slice *out)
{
    size_t at = 0;
    *out = bytes;
    return begins_protobuf(bytes) || (next_frame(bytes, &at, out) && begins_protobuf(*out));
}

bool tc__otlp_file_is_protobuf(struct tc_slice bytes)
{
    struct tc_slice first;
    return tc__otlp_file_first(bytes, &first);
}

static tc_status read_protobuf(const struct tc__otlp_file *f, struct tc_error *first,
                               struct tc_error *err)
{
    struct tc_slice bytes = f->bytes;
    bool framed = !begins_protobuf(bytes);
    struct tc_slice body;
    if (bytes.len > REQUEST_MAX && !framed) {
        return fail_long(bytes.len, err);
    }
    struct tc_otlp_reader *r =
        make_reader(f, bytes.len < REQUEST_MAX ? bytes.len : REQUEST_MAX, err);
    if (r == NULL) {
        return TC_E_NOMEM;
    }
    tc_status status = TC_OK;
    size_t at = 0;
    if (!framed) {
        status = read_request(f, r, bytes, first);
    }
    while (framed && status == TC_OK && next_frame(bytes, &at, &body)) {
        status = read_request(f, r, body, first);
    }
    if (framed && status == TC_OK && at < bytes.len) {
        f->bad(f->context, at, "the last request was cut off");
    }
    drop_reader(f, r);
    return status;
}

tc_status tc__otlp_file_read(const struct tc__otlp_file *f, struct tc_error *out_first,
                             struct tc_error *err)
{
    return f->form == TC_OTLP_JSON ? read_json(f, out_first, err)
                                   : read_protobuf(f, out_first, err);
}
