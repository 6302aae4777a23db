/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps of ranks. The first byte chooses how much memory there is; the rest is the
 * input. Every event must point into the input and name a rank and a place.
 */
#include "base/assert.h"
#include "codec/codec.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ARENA_BYTES ((size_t)4 << 20)
#define SMALL_BYTES ((size_t)512)

static tc_status on_event(void *context, const struct tc_event *ev)
{
    const struct tc_slice *text = context;
    TC_ASSERT(ev->raw.offset < text->len && ev->raw.length <= text->len - ev->raw.offset);
    TC_ASSERT(ev->kind == TC_EVENT_RANK_PLACE && ev->scope.rank >= 0);
    TC_ASSERT(ev->scope.node.len + ev->scope.gpu_uuid.len + ev->scope.pod.len > 0);
    TC_ASSERT(ev->time_ns == TC_TIME_NONE);
    return TC_OK;
}

static tc_status on_unknown(void *context, uint64_t offset, size_t length, const char *why)
{
    const struct tc_slice *text = context;
    TC_ASSERT(offset <= text->len && length <= text->len - offset && why != NULL);
    return TC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char arena_block[ARENA_BYTES];
    static char scratch_block[ARENA_BYTES];
    uint8_t mode = size == 0 ? 0 : data[0];
    struct tc_slice text = size == 0 ? TC_EMPTY : tc_slice_make((const char *)data + 1, size - 1);
    struct tc_arena arena;
    struct tc_arena scratch;
    struct tc_error err = {0};
    struct tc_codec_cursor cursor = {0};
    tc_arena_init(&arena, "arena", arena_block, sizeof arena_block);
    tc_arena_init(&scratch, "scratch", scratch_block, (mode & 1) != 0 ? SMALL_BYTES : ARENA_BYTES);
    struct tc_codec_out out = {.event = on_event,
                               .unknown = on_unknown,
                               .context = &text,
                               .arena = &arena,
                               .scratch = &scratch};
    struct tc_codec_input in = {
        .bytes = text, .boot_ns = TC_TIME_NONE, .now_ns = TC_TIME_NONE, .want_unknown = true};
    int score = tc_codec_sniff(&tc_codec_rank_map, text, true, TC_EMPTY);
    TC_ASSERT(score >= TC_SNIFF_NO && score <= TC_SNIFF_SURE);
    tc_status status = tc_codec_rank_map.decode(&in, &cursor, &out, &err);
    TC_ASSERT(status == TC_OK || status == TC_E_MALFORMED || status == TC_E_NOMEM);
    TC_ASSERT((cursor.done || status == TC_E_NOMEM) && (status == TC_OK || err.offset <= text.len));
    TC_ASSERT(status == TC_E_NOMEM || scratch.used == 0);
    tc_arena_fini(&arena);
    tc_arena_fini(&scratch);
    return 0;
}
