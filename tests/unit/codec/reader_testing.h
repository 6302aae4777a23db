/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of readers of text share: the events that a codec makes of a text, and looking for
 * one. */
#ifndef TC_TESTS_UNIT_CODEC_READER_TESTING_H
#define TC_TESTS_UNIT_CODEC_READER_TESTING_H

#include "base/limits.h"
#include "base/time.h"
#include "codec/codec.h"
#include "event/metric.h"

#include <stdlib.h>
#include <string.h>

#define READER_EVENTS_MAX 512

struct reader_got {
    struct tc_event events[READER_EVENTS_MAX];
    size_t count;
    unsigned char block[1 << 18]; /* strings that had to be made */
    struct tc_arena arena;
};

static inline tc_status reader_on_event(void *context, const struct tc_event *ev)
{
    struct reader_got *g = context;
    assert_true(g->count < READER_EVENTS_MAX);
    g->events[g->count++] = *ev;
    return TC_OK;
}

/* Free it with reader_free. The bytes are copied to a block of their exact size. */
static inline struct reader_got *reader_decode(const struct tc_codec *codec, const char *text,
                                               size_t length)
{
    static char *copy;
    struct reader_got *g = calloc(1, sizeof *g);
    free(copy);
    copy = malloc(length + (length == 0));
    assert_true(g != NULL && copy != NULL);
    memcpy(copy, text, length);
    tc_arena_init(&g->arena, "test", g->block, sizeof g->block);
    struct tc_codec_out out = {.event = reader_on_event, .context = g, .arena = &g->arena};
    struct tc_codec_input in = {.bytes = tc_slice_make(copy, length),
                                .boot_ns = TC_TIME_NONE,
                                .now_ns = INT64_C(1793700000) * TC_SECOND};
    struct tc_codec_cursor cursor = {0};
    struct tc_error err;
    while (!cursor.done) {
        assert_int_equal(tc_codec_decode(codec, &in, &cursor, &out, &err), TC_OK);
    }
    assert_int_equal(cursor.events, g->count);
    for (size_t i = 0; i < g->count; i++) {
        assert_true(g->events[i].raw.offset + g->events[i].raw.length <= length);
    }
    return g;
}

static inline void reader_free(struct reader_got *g)
{
    tc_arena_fini(&g->arena);
    free(g);
}

/* The n-th sample of a metric; NULL. */
static inline const struct tc_event *reader_metric(const struct reader_got *g,
                                                   enum tc_metric metric, size_t n)
{
    for (size_t i = 0; i < g->count; i++) {
        if (g->events[i].kind == TC_EVENT_METRIC && g->events[i].metric.metric == metric &&
            n-- == 0) {
            return &g->events[i];
        }
    }
    return NULL;
}

static inline const struct tc_event *reader_kind(const struct reader_got *g,
                                                 enum tc_event_kind kind, size_t n)
{
    for (size_t i = 0; i < g->count; i++) {
        if (g->events[i].kind == kind && n-- == 0) {
            return &g->events[i];
        }
    }
    return NULL;
}

/* Every beginning of a text can be read, and nothing outside of it is. */
static inline void reader_cut_anywhere(const struct tc_codec *codec, const char *text)
{
    for (size_t length = 0; length <= strlen(text); length += 1 + length / 64) {
        reader_free(reader_decode(codec, text, length));
        (void)tc_codec_sniff(codec, tc_slice_make(text, length), true, TC_EMPTY);
    }
}

static inline int reader_sniff(const struct tc_codec *codec, const char *text)
{
    return tc_codec_sniff(codec, tc_slice_cstr(text), true, TC_EMPTY);
}

#define assert_slice(slice, text) assert_true(tc_slice_eq((slice), tc_slice_cstr(text)))

#endif
