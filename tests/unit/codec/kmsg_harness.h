/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the tests of the kernel log codec: decodes a text and keeps what came
 * out. Every text is decoded three times: visiting every line, visiting only the
 * lines that the scan finds, and pausing after every event. All three must agree,
 * so a rule whose literal is missing from the scan fails each of its tests. Each line is also
 * judged by itself, with and without the scan, as records of OpenTelemetry are.
 */
#ifndef TC_TESTS_KMSG_HARNESS_H
#define TC_TESTS_KMSG_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "codec/codec.h"
#include "codec/kmsg/kmsg_priv.h"

#include <string.h>

#define HARNESS_EVENTS 256
#define HARNESS_ARENA 65536

struct unknown {
    uint64_t offset;
    size_t length;
    const char *why;
};

struct result {
    struct tc_event events[HARNESS_EVENTS];
    size_t count;
    struct unknown unknown[HARNESS_EVENTS];
    size_t unknown_count;
    struct tc_codec_cursor cursor;
    tc_status status;
    size_t error_offset;
    size_t calls;
    bool pause;
    struct tc_codec_out *out;
    struct tc_arena arena;
    char block[HARNESS_ARENA];
};

static inline tc_status harness_event(void *context, const struct tc_event *ev)
{
    struct result *r = context;
    assert_true(r->count < HARNESS_EVENTS);
    r->events[r->count++] = *ev;
    r->out->pause = r->pause;
    return TC_OK;
}

static inline tc_status harness_unknown(void *context, uint64_t offset, size_t length,
                                        const char *why)
{
    struct result *r = context;
    assert_true(r->unknown_count < HARNESS_EVENTS);
    r->unknown[r->unknown_count++] = (struct unknown){offset, length, why};
    return TC_OK;
}

static inline struct tc_codec_input harness_input(struct tc_slice bytes)
{
    return (struct tc_codec_input){.bytes = bytes,
                                   .source = 3,
                                   .node = TC_LIT("node-of-input"),
                                   .boot_ns = TC_TIME_NONE,
                                   .now_ns = TC_TIME_NONE,
                                   .want_unknown = true};
}

static inline void harness_decode(struct result *r, const struct tc_codec_input *in, bool pause)
{
    struct tc_codec_out out = {
        .event = harness_event, .unknown = harness_unknown, .context = r, .arena = &r->arena};
    struct tc_error err = {0};
    memset(r, 0, offsetof(struct result, block));
    r->out = &out;
    r->pause = pause;
    tc_arena_init(&r->arena, "harness", r->block, sizeof r->block);
    do {
        r->status = tc_codec_kmsg.decode(in, &r->cursor, &out, &err);
        r->calls++;
        r->error_offset = err.offset;
        assert_true(r->calls <= HARNESS_EVENTS + 1);
    } while (pause && r->status == TC_OK && !r->cursor.done);
    r->out = NULL;
}

static inline void assert_same_events(const struct result *a, const struct result *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_int_equal(tc_event_cmp(&a->events[i], &b->events[i]), 0);
        assert_int_equal(a->events[i].raw.offset, b->events[i].raw.offset);
        assert_int_equal(a->events[i].raw.length, b->events[i].raw.length);
    }
    assert_int_equal(a->cursor.events, b->cursor.events);
    assert_int_equal(a->cursor.undated, b->cursor.undated);
}

static inline void assert_scan_agrees(const struct tc_codec_input *in)
{
    static char block[HARNESS_ARENA];
    struct tc_scan scan;
    struct tc_slice rest = in->bytes;
    tc__kmsg_scan_init(&scan);
    while (rest.len > 0) {
        struct tc_arena arena;
        struct tc_event ev;
        struct tc__kmsg_line line;
        tc__kmsg_frame(in, tc_slice_cut(rest, '\n', &rest), &line);
        tc_arena_init(&arena, "line", block, sizeof block);
        struct tc__kmsg_context c = {
            .in = in, .line = &line, .lines = &line, .line_count = 1, .arena = &arena};
        enum tc__kmsg_verdict verdict = tc__kmsg_apply(&c, &ev);
        c.scan = &scan;
        assert_int_equal(tc__kmsg_apply(&c, &ev), verdict);
        tc_arena_fini(&arena);
    }
}

/* Decodes an input that ends in `status`, the three ways. The result lives until the next call. */
static inline const struct result *decode_to(struct tc_codec_input in, tc_status status)
{
    static struct result all;
    static struct result other;
    in.want_unknown = true;
    harness_decode(&all, &in, false);
    assert_int_equal(all.status, status);
    assert_true(all.cursor.done);
    assert_int_equal(all.cursor.offset, in.bytes.len);
    assert_int_equal(all.cursor.events, all.count);
    assert_int_equal(all.cursor.unknown, all.unknown_count);
    assert_scan_agrees(&in);

    in.want_unknown = false;
    harness_decode(&other, &in, false);
    assert_int_equal(other.status, status);
    assert_int_equal(other.error_offset, all.error_offset);
    assert_same_events(&all, &other);
    assert_int_equal(other.unknown_count, 0);

    harness_decode(&other, &in, true);
    assert_int_equal(other.status, status);
    assert_int_equal(other.error_offset, all.error_offset);
    assert_true(other.calls == all.count + 1 || status != TC_OK);
    assert_same_events(&all, &other);
    return &all;
}

static inline const struct result *decode_input(struct tc_codec_input in)
{
    return decode_to(in, TC_OK);
}

static inline const struct result *decode_text(const char *text)
{
    return decode_input(harness_input(tc_slice_cstr(text)));
}

/* The event of a text that has exactly one. */
static inline const struct tc_event *one_event(const char *text, enum tc_event_kind kind)
{
    const struct result *r = decode_text(text);
    assert_int_equal(r->count, 1);
    assert_int_equal(r->events[0].kind, kind);
    return &r->events[0];
}

/* A text of one line without an event; checks the reason. */
static inline void assert_unknown(const char *text, const char *why)
{
    const struct result *r = decode_text(text);
    assert_int_equal(r->count, 0);
    assert_int_equal(r->unknown_count, 1);
    assert_string_equal(r->unknown[0].why, why);
}

static inline void assert_slice(struct tc_slice s, const char *expected)
{
    struct tc_slice e = tc_slice_cstr(expected);
    assert_int_equal(s.len, e.len);
    if (e.len > 0) {
        assert_memory_equal(s.ptr, e.ptr, e.len);
    }
}

static inline void assert_bdf(struct tc_bdf bdf, const char *expected)
{
    char text[16];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    if (bdf.known) {
        tc_buf_bdf(&b, bdf);
    }
    assert_slice(tc_buf_slice(&b), expected);
}

static inline int64_t at(const char *iso)
{
    int64_t ns = 0;
    assert_int_equal(tc_time_parse(tc_slice_cstr(iso), 0, &ns), strlen(iso));
    return ns;
}

#endif
