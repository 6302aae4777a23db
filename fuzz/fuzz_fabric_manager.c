/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes through the reader of Fabric Manager's log; pausing after each event changes nothing.
 */
#include "base/assert.h"
#include "base/limits.h"
#include "codec/codec.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct count {
    struct tc_slice bytes;
    struct tc_codec_out *out;
    uint64_t events;
    uint64_t digest;
    bool pause;
};

static tc_status on_event(void *context, const struct tc_event *ev)
{
    struct count *c = context;
    TC_ASSERT(ev->kind == TC_EVENT_SXID && ev->xid.code >= 0);
    TC_ASSERT(ev->time_ns >= 0 && ev->time_ns <= TC_TIME_MAX);
    TC_ASSERT(ev->raw.length > 0 && ev->raw.length <= TC_LINE_MAX);
    TC_ASSERT(ev->raw.offset + ev->raw.length <= c->bytes.len);
    TC_ASSERT(tc_event_cmp(ev, ev) == 0);
    c->events++;
    c->digest = tc_hash_mix(c->digest, ev->raw.offset + (uint64_t)ev->time_ns);
    c->out->pause = c->pause;
    return TC_OK;
}

static tc_status on_unknown(void *context, uint64_t offset, size_t length, const char *why)
{
    const struct count *c = context;
    TC_ASSERT(why[0] != '\0' && length > 0 && offset + length <= c->bytes.len);
    return TC_OK;
}

static struct count run(struct tc_slice bytes, bool pause)
{
    struct count c = {.bytes = bytes, .pause = pause};
    struct tc_codec_out out = {.event = on_event, .unknown = on_unknown, .context = &c};
    struct tc_codec_input in = {.bytes = bytes, .want_unknown = !pause};
    struct tc_codec_cursor cursor = {0};
    struct tc_error err;
    c.out = &out;
    while (!cursor.done) {
        size_t before = cursor.offset;
        TC_ASSERT(tc_codec_fabric_manager.decode(&in, &cursor, &out, &err) == TC_OK);
        TC_ASSERT(cursor.done || cursor.offset > before);
    }
    return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_slice bytes = tc_slice_make((const char *)data, size);
    (void)tc_codec_sniff(&tc_codec_fabric_manager, tc_slice_head(bytes, TC_SNIFF_BYTES), true,
                         TC_EMPTY);
    struct count all = run(bytes, false);
    struct count paused = run(bytes, true);
    TC_ASSERT(all.events == paused.events && all.digest == paused.digest);
    return 0;
}
