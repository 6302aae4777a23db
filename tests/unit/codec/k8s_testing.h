/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the Kubernetes codec, and of Kubernetes through OTLP, share:
 * decoding a text into an array of events, and one event. Names, uids and times
 * are invented; the message has the wording of the kubelet. Included after
 * cmocka.h; TESTED_CODEC may name another codec before.
 */
#ifndef TC_TESTS_CODEC_K8S_TESTING_H
#define TC_TESTS_CODEC_K8S_TESTING_H

#include "base/arena.h"
#include "base/limits.h"
#include "codec/codec.h"

#include <stdio.h>
#include <stdlib.h>

#ifndef TESTED_CODEC
#define TESTED_CODEC tc_codec_k8s
#endif

#define EVENTS_MAX 64
#define ARENA_BYTES ((size_t)1 << 20)

static struct {
    struct tc_slice text;
    struct tc_event events[EVENTS_MAX];
    size_t count;
    size_t unknown;
    size_t calls; /* of decode */
    const char *why;
    uint64_t unknown_at;
    bool pause_after_each;
    tc_status refuse; /* what `event` returns */
    struct tc_codec_out out;
    struct tc_codec_cursor cursor;
    struct tc_error err;
    struct tc_arena arena;
    struct tc_arena scratch;
    size_t arena_bytes;
    size_t scratch_bytes;
    char arena_block[ARENA_BYTES];
    char scratch_block[ARENA_BYTES];
} t;

static inline tc_status on_event(void *context, const struct tc_event *ev)
{
    (void)context;
    assert_true(t.count < EVENTS_MAX);
    /* The evidence lies inside of the input. */
    assert_true(ev->raw.offset + ev->raw.length <= t.text.len);
    assert_int_equal(ev->raw.source, 7);
    t.events[t.count++] = *ev;
    t.out.pause = t.pause_after_each;
    return t.refuse;
}

static inline tc_status on_unknown(void *context, uint64_t offset, size_t length, const char *why)
{
    (void)context;
    assert_true(offset + length <= t.text.len);
    t.unknown++;
    t.why = why;
    t.unknown_at = offset;
    return TC_OK;
}

static inline int setup(void **state)
{
    (void)state;
    t.pause_after_each = false;
    t.refuse = TC_OK;
    t.arena_bytes = ARENA_BYTES;
    t.scratch_bytes = ARENA_BYTES;
    return 0;
}

/* Decodes a copy that ends where its block ends, so that a read past it is seen. */
static inline tc_status decode_bytes(const char *bytes, size_t len)
{
    static char *copy = NULL;
    free(copy);
    copy = malloc(len == 0 ? 1 : len);
    assert_non_null(copy);
    memcpy(copy, bytes, len);
    t.text = tc_slice_make(copy, len);
    t.count = 0;
    t.unknown = 0;
    t.calls = 0;
    t.why = "";
    t.cursor = (struct tc_codec_cursor){0};
    t.err = (struct tc_error){0};
    tc_arena_init(&t.arena, "test", t.arena_block, t.arena_bytes);
    tc_arena_init(&t.scratch, "scratch", t.scratch_block, t.scratch_bytes);
    t.out = (struct tc_codec_out){
        .event = on_event, .unknown = on_unknown, .arena = &t.arena, .scratch = &t.scratch};
    struct tc_codec_input in = {.bytes = t.text,
                                .source = 7,
                                .boot_ns = TC_TIME_NONE,
                                .now_ns = TC_TIME_NONE,
                                .want_unknown = true};
    tc_status status = TC_OK;
    do {
        t.calls++;
        status = tc_codec_decode(&TESTED_CODEC, &in, &t.cursor, &t.out, &t.err);
    } while (status == TC_OK && !t.cursor.done);
    assert_int_equal(t.scratch.used, 0);
    assert_int_equal(t.cursor.events, t.count);
    assert_int_equal(t.cursor.unknown, t.unknown);
#ifdef TESTED_ALSO
    TESTED_ALSO(t.text);
#endif
    return status;
}

static inline tc_status decode(const char *text)
{
    return decode_bytes(text, strlen(text));
}

static inline int sniff(const char *text)
{
    return tc_codec_sniff(&TESTED_CODEC, tc_slice_cstr(text), true, TC_LIT("file"));
}

static inline int64_t at(const char *text)
{
    int64_t ns = 0;
    assert_int_equal(tc_time_parse(tc_slice_cstr(text), 0, &ns), strlen(text));
    return ns;
}

#define SAME(slice, text)                                          \
    do {                                                           \
        struct tc_slice same_slice = (slice);                      \
        assert_int_equal(same_slice.len, strlen(text));            \
        assert_true(tc_slice_eq(same_slice, tc_slice_cstr(text))); \
    } while (0)

static inline struct tc_slice raw_of(size_t i)
{
    return tc_slice_make(t.text.ptr + t.events[i].raw.offset, t.events[i].raw.length);
}

#define EVICTED                                                                               \
    "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"w.1\",\"namespace\":" \
    "\"train\",\"uid\":\"e-1\",\"creationTimestamp\":\"2026-03-01T10:00:00Z\"},"              \
    "\"involvedObject\":{\"kind\":\"Pod\",\"namespace\":\"train\",\"name\":\"w-0\",\"uid\":"  \
    "\"p-1\",\"fieldPath\":\"spec.containers{trainer}\"},\"reason\":\"Evicted\",\"message\":" \
    "\"The node was low on resource: memory. Container \\\"c\\\" was using 43536Ki, which "   \
    "exceeds its request of 0.\",\"source\":{\"component\":\"kubelet\",\"host\":\"gpu-01\"}," \
    "\"firstTimestamp\":\"2026-03-01T10:00:01Z\",\"lastTimestamp\":\"2026-03-01T10:05:01Z\"," \
    "\"count\":3,\"type\":\"Warning\"}"

#endif
