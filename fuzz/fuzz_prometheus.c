/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes through the reader of Prometheus text. Besides not crashing it must keep its
 * promises: evidence lies in the input and strings in the input or the arena, values are finite,
 * and looking at every line, only at those of metrics that are read, or pausing after each event
 * gives the same events.
 */
#include "base/assert.h"
#include "base/limits.h"
#include "codec/codec.h"
#include "codec/prometheus/prometheus.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STRINGS_BYTES (2 * TC_LINE_MAX)
#define SCRATCH_BYTES ((size_t)2 << 20)

struct count {
    const struct tc_codec_input *in;
    struct tc_codec_out *out;
    uint64_t events;
    uint64_t unknown;
    uint64_t digest; /* of everything in the events, in order */
    tc_status status;
    size_t error_offset;
    bool pause;
};

static tc_status on_event(void *context, const struct tc_event *ev)
{
    struct count *c = context;
    TC_ASSERT(ev->kind == TC_EVENT_METRIC || ev->kind == TC_EVENT_RANK_PLACE);
    TC_ASSERT(ev->raw.length > 0 && ev->raw.length <= TC_LINE_MAX);
    TC_ASSERT(ev->raw.offset + ev->raw.length <= c->in->bytes.len);
    TC_ASSERT(ev->time_ns == TC_TIME_NONE || (ev->time_ns >= 0 && ev->time_ns <= TC_TIME_MAX));
    c->events++;
    c->digest = tc_hash_mix(c->digest, (uint64_t)ev->kind);
    c->digest = tc_hash_mix(c->digest, ev->raw.offset);
    c->digest = tc_hash_mix(c->digest, (uint64_t)ev->time_ns);
    c->digest = tc_hash_mix(c->digest, tc_slice_hash(ev->scope.node, 0));
    if (ev->kind == TC_EVENT_METRIC) {
        uint64_t bits = 0;
        TC_ASSERT(ev->metric.metric > TC_METRIC_NONE && ev->metric.metric < TC_METRIC_COUNT);
        TC_ASSERT(isfinite(ev->metric.value));
        memcpy(&bits, &ev->metric.value, sizeof bits);
        c->digest = tc_hash_mix(c->digest, bits);
        c->digest = tc_hash_mix(c->digest, tc_slice_hash(ev->metric.device, 0));
    }
    /* Equal to itself: reads every byte of every field. */
    TC_ASSERT(tc_event_cmp(ev, ev) == 0);
    c->out->pause = c->pause;
    return TC_OK;
}

static tc_status on_unknown(void *context, uint64_t offset, size_t length, const char *why)
{
    struct count *c = context;
    TC_ASSERT(why[0] != '\0');
    TC_ASSERT(length > 0 && offset + length <= c->in->bytes.len);
    c->unknown++;
    return TC_OK;
}

static struct count run(struct tc_codec_input in, bool want_unknown, bool pause)
{
    static char strings_block[STRINGS_BYTES];
    static char scratch_block[SCRATCH_BYTES];
    struct tc_arena strings;
    struct tc_arena scratch;
    struct tc_codec_cursor cursor = {0};
    struct tc_error err;
    struct count c = {.in = &in, .pause = pause};
    struct tc_codec_out out = {.event = on_event,
                               .unknown = on_unknown,
                               .context = &c,
                               .arena = &strings,
                               .scratch = &scratch};
    c.out = &out;
    in.want_unknown = want_unknown;
    tc_arena_init(&strings, "strings", strings_block, sizeof strings_block);
    tc_arena_init(&scratch, "scratch", scratch_block, sizeof scratch_block);
    while (!cursor.done) {
        size_t before = cursor.offset;
        tc_status status = tc_codec_prometheus.decode(&in, &cursor, &out, &err);
        TC_ASSERT(status == TC_OK || status == TC_E_NOMEM || status == TC_E_MALFORMED);
        TC_ASSERT(status != TC_E_MALFORMED || (cursor.done && err.offset < in.bytes.len));
        TC_ASSERT(cursor.done || cursor.offset > before || status == TC_E_NOMEM);
        TC_ASSERT(cursor.offset <= in.bytes.len);
        c.status = status;
        c.error_offset = status == TC_E_MALFORMED ? err.offset : 0;
        if (status == TC_E_NOMEM && cursor.offset == before) {
            break; /* a larger arena would be given */
        }
        tc_arena_reset(&strings);
        tc_arena_reset(&scratch);
    }
    TC_ASSERT(cursor.events == c.events);
    TC_ASSERT(!want_unknown || cursor.unknown == c.unknown);
    c.unknown = cursor.unknown;
    tc_arena_fini(&strings);
    tc_arena_fini(&scratch);
    return c;
}

/* The first byte chooses what is known about the input from outside. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t hints = size > 0 ? data[0] : 0;
    struct tc_slice bytes = tc_slice_make((const char *)data, size);
    struct tc_codec_input in = {
        .bytes = bytes,
        .node = (hints & 1) != 0 ? TC_LIT("node") : TC_EMPTY,
        .boot_ns = TC_TIME_NONE,
        .now_ns = TC_TIME_NONE,
        .taken_ns = (hints & 2) != 0 ? INT64_C(1750000000) * TC_SECOND : TC_TIME_NONE,
        .interval_ns = (hints & 4) != 0 ? INT64_C(3600) * TC_SECOND : 0,
        .utc_offset_s = (hints & 8) != 0 ? -19800 : 0,
    };
    struct tc_prom_count count;
    struct tc_slice head = tc_slice_head(bytes, TC_SNIFF_BYTES);
    (void)tc_codec_sniff(&tc_codec_prometheus, head, size <= TC_SNIFF_BYTES, TC_EMPTY);
    (void)tc_codec_prometheus.in_order(head);
    tc_prom_count_begin(&count, bytes);
    while (tc_prom_count_more(&count)) {
    }
    TC_ASSERT(count.scrapes.count >= 1);
    TC_ASSERT(count.scrapes.marker_at + count.scrapes.marker_len <= size);
    struct count all = run(in, true, false);
    struct count read = run(in, false, false);
    struct count paused = run(in, false, true);
    TC_ASSERT(all.status == TC_E_NOMEM || all.status == read.status);
    if (all.status != TC_E_NOMEM && paused.status != TC_E_NOMEM) {
        TC_ASSERT(all.events == read.events && all.digest == read.digest);
        TC_ASSERT(all.events == paused.events && all.digest == paused.digest);
        TC_ASSERT(all.error_offset == read.error_offset && paused.status == read.status);
    }
    return 0;
}
