/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes through the kernel log codec. Besides not crashing it must keep its
 * promises: evidence and strings lie in the input or the arena, and visiting every
 * line, only those that the scan finds, or pausing after each event gives the same
 * events.
 */
#include "base/assert.h"
#include "base/limits.h"
#include "codec/codec.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ARENA_BYTES (2 * TC_LINE_MAX) /* any message made of numbers fits */

struct count {
    const struct tc_codec_input *in;
    struct tc_codec_out *out;
    uint64_t events;
    uint64_t digest;  /* of kinds, places and times, in order */
    tc_status status; /* how it ended, and where when that was in an error */
    size_t error_offset;
    bool pause;
};

static tc_status on_event(void *context, const struct tc_event *ev)
{
    struct count *c = context;
    TC_ASSERT((unsigned)ev->kind < TC_EVENT_KIND_COUNT);
    TC_ASSERT(ev->raw.length > 0 && ev->raw.length <= TC_LINE_MAX);
    TC_ASSERT(ev->raw.offset + ev->raw.length <= c->in->bytes.len);
    c->events++;
    c->digest = tc_hash_mix(c->digest, (uint64_t)ev->kind);
    c->digest = tc_hash_mix(c->digest, ev->raw.offset);
    c->digest = tc_hash_mix(c->digest, (uint64_t)ev->time_ns);
    c->digest = tc_hash_mix(c->digest, tc_slice_hash(ev->scope.node, 0));
    /* Equal to itself: reads every byte of every field. */
    TC_ASSERT(tc_event_cmp(ev, ev) == 0);
    c->out->pause = c->pause;
    return TC_OK;
}

static tc_status on_unknown(void *context, uint64_t offset, size_t length, const char *why)
{
    const struct count *c = context;
    TC_ASSERT(why[0] != '\0');
    TC_ASSERT(length > 0 && offset + length <= c->in->bytes.len);
    return TC_OK;
}

static struct count run(struct tc_codec_input in, bool want_unknown, bool pause)
{
    static char block[ARENA_BYTES];
    struct tc_arena arena;
    struct tc_codec_cursor cursor = {0};
    struct tc_error err;
    struct count c = {.in = &in, .pause = pause};
    struct tc_codec_out out = {
        .event = on_event, .unknown = on_unknown, .context = &c, .arena = &arena};
    c.out = &out;
    in.want_unknown = want_unknown;
    tc_arena_init(&arena, "fuzz", block, sizeof block);
    while (!cursor.done) {
        size_t before = cursor.offset;
        tc_status status = tc_codec_kmsg.decode(&in, &cursor, &out, &err);
        TC_ASSERT(status == TC_OK || status == TC_E_NOMEM || status == TC_E_MALFORMED);
        TC_ASSERT(status != TC_E_MALFORMED || (cursor.done && err.offset < in.bytes.len));
        c.status = status;
        c.error_offset = status == TC_E_MALFORMED ? err.offset : 0;
        TC_ASSERT(cursor.done || cursor.offset > before || status == TC_E_NOMEM);
        TC_ASSERT(cursor.offset <= in.bytes.len);
        tc_arena_reset(&arena);
    }
    TC_ASSERT(cursor.events == c.events);
    tc_arena_fini(&arena);
    return c;
}

/* The first byte chooses what is known about the input from outside. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t hints = size > 0 ? data[0] : 0;
    struct tc_slice bytes = tc_slice_make((const char *)data, size);
    struct tc_codec_input in = {
        .bytes = bytes,
        .node = TC_LIT("node"),
        .boot_ns = (hints & 1) != 0 ? INT64_C(1700000000) * TC_SECOND : TC_TIME_NONE,
        .now_ns = (hints & 2) != 0 ? INT64_C(1750000000) * TC_SECOND : TC_TIME_NONE,
        .utc_offset_s = (hints & 4) != 0 ? -19800 : 0,
    };
    (void)tc_codec_sniff(&tc_codec_kmsg, tc_slice_head(bytes, TC_SNIFF_BYTES),
                         size <= TC_SNIFF_BYTES, TC_EMPTY);
    struct count all = run(in, true, false);
    struct count scanned = run(in, false, false);
    struct count paused = run(in, false, true);
    TC_ASSERT(all.events == scanned.events && all.digest == scanned.digest);
    TC_ASSERT(all.events == paused.events && all.digest == paused.digest);
    TC_ASSERT(all.status == scanned.status && all.error_offset == scanned.error_offset);
    TC_ASSERT(all.status == paused.status && all.error_offset == paused.error_offset);
    return 0;
}
