/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of our own events takes any bytes. Every event it makes must be
 * written, read back as the same event, and written alike.
 */
#include "base/assert.h"
#include "base/limits.h"
#include "codec/codec.h"
#include "codec/event_json/event_json.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
    struct tc_codec_out out;
    size_t size; /* of the input */
    bool pause_each;
    struct tc_event copy; /* of the second reading */
    size_t copies;
};

static alignas(16) unsigned char first_block[512 << 10];
static alignas(16) unsigned char second_block[512 << 10];
static char first_text[TC_LINE_MAX * 5];
static char second_text[TC_LINE_MAX * 5];

static tc_status take_copy(void *context, const struct tc_event *ev)
{
    struct run *run = context;
    run->copy = *ev;
    run->copies++;
    return TC_OK;
}

static tc_status no_unknown(void *context, uint64_t offset, size_t length, const char *why)
{
    (void)context;
    (void)offset;
    (void)length;
    /* Our own reader understands all that our own writer writes. */
    TC_ASSERT(why == NULL);
    return TC_OK;
}

static tc_status check_event(void *context, const struct tc_event *ev)
{
    struct run *run = context;
    struct tc_buf a = tc_buf_make(first_text, sizeof first_text);
    struct tc_buf b = tc_buf_make(second_text, sizeof second_text);
    struct tc_arena arena;
    struct tc_error err;
    run->out.pause = run->pause_each;
    tc_event_json_write(&a, ev, NULL);
    if (a.len > TC_LINE_MAX * 4) {
        return TC_OK;
    }
    TC_ASSERT(!a.overflowed);
    tc_arena_init(&arena, "second", second_block, sizeof second_block);
    struct run inner = {0};
    inner.out = (struct tc_codec_out){
        .event = take_copy, .unknown = no_unknown, .context = &inner, .arena = &arena};
    struct tc_codec_input in = {.bytes = tc_buf_slice(&a), .want_unknown = true};
    struct tc_codec_cursor cursor = {0};
    TC_ASSERT(tc_codec_event_json.decode(&in, &cursor, &inner.out, &err) == TC_OK);
    TC_ASSERT(inner.copies == 1 && cursor.done);
    TC_ASSERT(tc_event_cmp(ev, &inner.copy) == 0);
    tc_event_json_write(&b, &inner.copy, NULL);
    TC_ASSERT(tc_slice_eq(tc_buf_slice(&a), tc_buf_slice(&b)));
    TC_ASSERT(tc_codec_sniff(&tc_codec_event_json, tc_buf_slice(&a), true, TC_EMPTY) ==
              TC_SNIFF_SURE);
    tc_arena_fini(&arena);
    return TC_OK;
}

static tc_status any_unknown(void *context, uint64_t offset, size_t length, const char *why)
{
    const struct run *run = context;
    TC_ASSERT(why != NULL && length > 0 && offset + length <= run->size);
    return TC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_slice bytes = tc_slice_make((const char *)data, size);
    struct tc_arena arena;
    struct tc_error err = {0};
    struct tc_codec_cursor cursor = {0};
    struct run run = {.size = size, .pause_each = size % 2 == 1};
    tc_arena_init(&arena, "first", first_block, sizeof first_block);
    run.out = (struct tc_codec_out){
        .event = check_event, .unknown = any_unknown, .context = &run, .arena = &arena};
    struct tc_codec_input in = {.bytes = bytes, .want_unknown = true};
    (void)tc_codec_sniff(&tc_codec_event_json, bytes, true, TC_EMPTY);
    size_t last = 0;
    tc_status status = TC_OK;
    do {
        status = tc_codec_event_json.decode(&in, &cursor, &run.out, &err);
        TC_ASSERT(cursor.done || cursor.offset > last);
        last = cursor.offset;
        tc_arena_reset(&arena);
    } while (status == TC_OK && !cursor.done);
    TC_ASSERT(status == TC_OK || (status == TC_E_MALFORMED && err.offset < size));
    TC_ASSERT(cursor.done && cursor.offset == size);
    tc_arena_fini(&arena);
    return 0;
}
