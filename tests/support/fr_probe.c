/* SPDX-License-Identifier: Apache-2.0 */
#include "support/fr_probe.h"

#include "base/assert.h"
#include "base/os/block.h"

#define PLENTY ((size_t)1 << 20)

static tc_status keep(void *context, const struct tc_event *ev)
{
    struct tc_fr_probe *p = context;
    if (p->fail_at != 0 && p->count + 1 >= p->fail_at) {
        return TC_E_IO;
    }
    TC_ASSERT(p->count < TC_FR_PROBE_EVENTS_MAX);
    p->events[p->count++] = *ev;
    return TC_OK;
}

static void open_arena(struct tc_arena *a, const char *name, size_t size, struct tc_block **block)
{
    *block = tc_block_new(size);
    TC_ASSERT(*block != NULL);
    tc_arena_init(a, name, (*block)->bytes, size);
}

static void close_arena(struct tc_arena *a, struct tc_block *block)
{
    tc_arena_fini(a);
    tc_block_free(block);
}

void tc_fr_probe_run(struct tc_fr_probe *p, struct tc_slice bytes, const char *name)
{
    tc_fr_probe_fini(p);
    open_arena(&p->arena, "test arena", p->arena_bytes == 0 ? PLENTY : p->arena_bytes,
               &p->arena_block);
    open_arena(&p->scratch, "test scratch", p->scratch_bytes == 0 ? PLENTY : p->scratch_bytes,
               &p->scratch_block);
    p->cursor = (struct tc_codec_cursor){0};
    p->err = (struct tc_error){0};
    p->count = 0;
    struct tc_codec_input in = {.bytes = bytes,
                                .name = tc_slice_cstr(name),
                                .source = 7,
                                .job = TC_LIT("job-1"),
                                .boot_ns = TC_TIME_NONE,
                                .now_ns = TC_TIME_NONE};
    struct tc_codec_out out = {
        .event = keep, .context = p, .arena = &p->arena, .scratch = &p->scratch, .pause = p->pause};
    p->status = tc_codec_flight_recorder.decode(&in, &p->cursor, &out, &p->err);
    TC_ASSERT(p->scratch.used == 0 && !p->scratch.overflowed);
    TC_ASSERT(p->cursor.done);
}

void tc_fr_probe_fini(struct tc_fr_probe *p)
{
    if (p->arena.block != NULL) {
        close_arena(&p->arena, p->arena_block);
        close_arena(&p->scratch, p->scratch_block);
    }
}

const struct tc_event *tc_fr_probe_event(const struct tc_fr_probe *p, enum tc_event_kind kind,
                                         size_t n)
{
    for (size_t i = 0; i < p->count; i++) {
        if (p->events[i].kind == kind && n-- == 0) {
            return &p->events[i];
        }
    }
    return NULL;
}

size_t tc_fr_probe_count(const struct tc_fr_probe *p, enum tc_event_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++) {
        count += p->events[i].kind == kind;
    }
    return count;
}
