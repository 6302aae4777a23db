/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes through a codec. The first byte chooses how much memory there is and whether the sink
 * pauses; the rest is the input. Every event must point into the input and hold readable strings.
 */
#ifndef TC_FUZZ_CODEC_RUN_H
#define TC_FUZZ_CODEC_RUN_H

#include "base/assert.h"
#include "codec/codec.h"
#include "event/fields.h"

#include <stddef.h>
#include <stdint.h>

#define FUZZ_ARENA_BYTES ((size_t)256 << 10)
#define FUZZ_SMALL_BYTES ((size_t)512)
/* Enough calls for an input that pauses after each of its documents. */
#define FUZZ_CALLS_MAX 4096

struct fuzz_sink {
    struct tc_codec_out out;
    size_t input_bytes;
    bool pauses;
    unsigned sum; /* keeps the reads of the strings */
};

static tc_status fuzz_event(void *context, const struct tc_event *ev)
{
    struct fuzz_sink *sink = context;
    size_t count = 0;
    const struct tc_field *fields = tc_fields(&count);
    TC_ASSERT(ev->raw.offset <= sink->input_bytes);
    TC_ASSERT(ev->raw.length <= sink->input_bytes - ev->raw.offset);
    TC_ASSERT(ev->raw.length > 0);
    for (size_t i = 0; i < count; i++) {
        if (fields[i].type == TC_FIELD_STRING && (fields[i].kinds & TC_EVENT_BIT(ev->kind)) != 0) {
            const struct tc_slice *s = (const void *)((const char *)ev + fields[i].offset);
            for (size_t j = 0; j < s->len; j++) {
                sink->sum += (unsigned char)s->ptr[j];
            }
        }
    }
    sink->out.pause = sink->pauses;
    return TC_OK;
}

static tc_status fuzz_unknown(void *context, uint64_t offset, size_t length, const char *why)
{
    const struct fuzz_sink *sink = context;
    TC_ASSERT(offset <= sink->input_bytes && length <= sink->input_bytes - offset);
    TC_ASSERT(why != NULL);
    return TC_OK;
}

static int fuzz_codec(const struct tc_codec *codec, const uint8_t *data, size_t size)
{
    static char arena_block[FUZZ_ARENA_BYTES];
    static char scratch_block[FUZZ_ARENA_BYTES];
    uint8_t mode = size == 0 ? 0 : data[0];
    struct tc_arena arena;
    struct tc_arena scratch;
    struct tc_slice text = size == 0 ? TC_EMPTY : tc_slice_make((const char *)data + 1, size - 1);
    tc_arena_init(&arena, "arena", arena_block,
                  (mode & 1) != 0 ? FUZZ_SMALL_BYTES : FUZZ_ARENA_BYTES);
    tc_arena_init(&scratch, "scratch", scratch_block,
                  (mode & 2) != 0 ? FUZZ_SMALL_BYTES : FUZZ_ARENA_BYTES);
    struct fuzz_sink sink = {
        .out = {.event = fuzz_event, .unknown = fuzz_unknown, .arena = &arena, .scratch = &scratch},
        .input_bytes = text.len,
        .pauses = (mode & 4) != 0,
    };
    sink.out.context = &sink;
    struct tc_codec_input in = {
        .bytes = text, .boot_ns = TC_TIME_NONE, .now_ns = TC_TIME_NONE, .want_unknown = true};
    struct tc_codec_cursor cursor = {0};
    struct tc_error err = {0};
    int score = tc_codec_sniff(codec, tc_slice_head(text, TC_SNIFF_BYTES),
                               text.len <= TC_SNIFF_BYTES, TC_EMPTY);
    TC_ASSERT(score >= TC_SNIFF_NO && score <= TC_SNIFF_SURE);
    tc_status status = TC_OK;
    for (size_t i = 0; i < FUZZ_CALLS_MAX && status == TC_OK && !cursor.done; i++) {
        size_t before = cursor.offset;
        status = tc_codec_decode(codec, &in, &cursor, &sink.out, &err);
        TC_ASSERT(cursor.offset <= text.len);
        TC_ASSERT(status != TC_OK || cursor.done || cursor.offset > before);
        TC_ASSERT(scratch.used == 0);
    }
    TC_ASSERT(status == TC_OK || err.offset <= text.len);
    tc_arena_fini(&arena);
    tc_arena_fini(&scratch);
    return 0;
}

#endif
