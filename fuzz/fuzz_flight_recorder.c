/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a Flight Recorder dump. Besides what the sanitizers see, what comes out is checked:
 * a failure is one event that says why, evidence lies inside the input, and nothing stays behind in
 * the working memory.
 */
#include "base/assert.h"
#include "codec/codec.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    const struct tc_codec_input *in;
    size_t events;
    size_t failures;
    int64_t entries;
    int64_t records;
    uint64_t sum;
};

/* Reads every byte, so that a slice that points nowhere is found. */
static void touch(struct seen *s, struct tc_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        s->sum += (uint8_t)text.ptr[i];
    }
}

static tc_status on_event(void *context, const struct tc_event *ev)
{
    struct seen *s = context;
    size_t size = s->in->bytes.len;
    s->events++;
    TC_ASSERT(ev->raw.offset <= size && ev->raw.length <= size - ev->raw.offset);
    TC_ASSERT(ev->scope.rank == 1);
    if (ev->kind == TC_EVENT_NCCL_DUMP) {
        TC_ASSERT(s->events == 1);
        touch(s, ev->dump.version);
        touch(s, ev->dump.library);
        touch(s, ev->dump.error);
        s->failures += ev->dump.error.len > 0;
        s->entries = ev->dump.entries;
    } else if (ev->kind == TC_EVENT_NCCL_GROUP) {
        TC_ASSERT(ev->group.group_key != 0);
        touch(s, ev->group.group);
        touch(s, ev->group.group_desc);
        touch(s, ev->group.ranks);
    } else if (ev->kind == TC_EVENT_NCCL_STATUS) {
        touch(s, ev->status.group);
    } else {
        TC_ASSERT(ev->kind == TC_EVENT_NCCL_RECORD && ev->nccl.state <= TC_NCCL_COMPLETED);
        TC_ASSERT(ev->nccl.peer >= -1 && ev->nccl.from_dump);
        touch(s, ev->nccl.group);
        touch(s, ev->nccl.group_desc);
        touch(s, ev->nccl.op);
        touch(s, ev->nccl.sizes_in);
        touch(s, ev->nccl.sizes_out);
        touch(s, ev->nccl.dtypes_in);
        touch(s, ev->nccl.dtypes_out);
        s->records++;
    }
    return TC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char arena_block[1 << 18];
    static unsigned char scratch_block[1 << 20];
    struct tc_arena arena;
    struct tc_arena scratch;
    struct tc_codec_input in = {.bytes = {(const char *)data, size},
                                .name = TC_LIT("_dump_1"),
                                .boot_ns = TC_TIME_NONE,
                                .now_ns = TC_TIME_NONE};
    struct seen s = {.in = &in};
    struct tc_codec_cursor cursor = {0};
    struct tc_error err = {0};
    tc_arena_init(&arena, "fuzz arena", arena_block, sizeof arena_block);
    tc_arena_init(&scratch, "fuzz scratch", scratch_block, sizeof scratch_block);
    struct tc_codec_out out = {
        .event = on_event, .context = &s, .arena = &arena, .scratch = &scratch};

    (void)tc_codec_sniff(&tc_codec_flight_recorder, in.bytes, true, in.name);
    tc_status status = tc_codec_flight_recorder.decode(&in, &cursor, &out, &err);
    TC_ASSERT(cursor.done && cursor.events == s.events && scratch.used == 0);
    if (status == TC_OK) {
        TC_ASSERT(s.failures == 0 && s.entries == s.records);
    } else {
        TC_ASSERT(s.failures == 1 && s.events == 1 && err.status == status);
        TC_ASSERT(err.offset <= size && err.message[0] != '\0');
    }
    tc_arena_fini(&arena);
    tc_arena_fini(&scratch);
    return 0;
}
