/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of ncclras. The first byte chooses how much memory there is; the rest is
 * the input. Every event must point at an object or a line of the input and name a rank.
 */
#include "base/assert.h"
#include "codec/codec.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ARENA_BYTES ((size_t)256 << 10)
#define SMALL_BYTES ((size_t)512)

static tc_status on_event(void *context, const struct tc_event *ev)
{
    const struct tc_slice *text = context;
    TC_ASSERT(ev->raw.offset < text->len && ev->raw.length <= text->len - ev->raw.offset);
    struct tc_slice raw = tc_slice_make(text->ptr + ev->raw.offset, ev->raw.length);
    TC_ASSERT(raw.len > 0 && (raw.ptr[0] == '{' || tc_slice_find_byte(raw, '\n') == TC_NPOS));
    if (ev->kind == TC_EVENT_RANK_PLACE) {
        TC_ASSERT(ev->scope.rank >= 0 && ev->scope.rank < ev->place.world_size);
    } else {
        TC_ASSERT(ev->kind == TC_EVENT_NCCL_RAS && ev->ras.comm_rank < ev->ras.comm_size);
        TC_ASSERT(ev->ras.comm.ptr >= text->ptr && ev->ras.ops >= -1);
    }
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
    static char arena_block[SMALL_BYTES];
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
    int score = tc_codec_sniff(&tc_codec_ncclras, text, true, TC_EMPTY);
    TC_ASSERT(score >= TC_SNIFF_NO && score <= TC_SNIFF_SURE);
    tc_status status = tc_codec_ncclras.decode(&in, &cursor, &out, &err);
    TC_ASSERT(status == TC_OK || status == TC_E_MALFORMED || status == TC_E_NOMEM);
    TC_ASSERT(cursor.done && (status == TC_OK || err.offset <= text.len));
    TC_ASSERT(status == TC_E_NOMEM || scratch.used == 0);
    tc_arena_fini(&arena);
    tc_arena_fini(&scratch);
    return 0;
}
