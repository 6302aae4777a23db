/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec.h"

#include "base/limits.h"
#include "base/time.h"
#include "codec/decode_priv.h"
#include "codec/kmsg/kmsg_priv.h"
#include "codec/kubectl/priv.h"

/* Lines that decide what an input is. */
#define SNIFF_LINES 600

static tc_status deliver_one(struct tc__kubectl *k, size_t from, size_t to, struct tc_event *ev)
{
    size_t length = to > from ? to - from : 0;
    ev->raw = (struct tc_raw){.source = k->in->source,
                              .length = (uint32_t)(length < TC_LINE_MAX ? length : TC_LINE_MAX),
                              .offset = from};
    k->cursor->events++;
    k->cursor->undated += ev->time_ns == TC_TIME_NONE;
    return k->out->event(k->out->context, ev);
}

tc_status tc__kubectl_deliver(struct tc__kubectl *k, size_t from, size_t to, struct tc_event *ev)
{
    struct tc_event quoted;
    TC_TRY(deliver_one(k, from, to, ev));
    return tc__kmsg_quoted(ev, k->out->arena, &quoted) ? deliver_one(k, from, to, &quoted) : TC_OK;
}

static tc_status read_line(struct tc__kubectl *k, const struct tc__kubectl_line *line,
                           bool *out_ours)
{
    *out_ours = false;
    TC_TRY(tc__kubectl_row(k, line, out_ours));
    if (*out_ours) {
        k->block.before = TC_EMPTY;
        return TC_OK;
    }
    return tc__kubectl_key(k, line, out_ours);
}

/* Blocks and tables go on over many lines: one call reads all. */
static tc_status walk(struct tc__kubectl *k, size_t most)
{
    struct tc__kubectl_line line;
    size_t at = 0;
    for (size_t lines = 0; lines < most; lines++) {
        tc_arena_mark mark = tc_arena_snapshot(k->out->arena);
        bool ours = false;
        if (!tc__kubectl_next(k->in, at, k->out->arena, &line)) {
            break;
        }
        TC_TRY(read_line(k, &line, &ours));
        if (!ours) {
            tc_arena_rewind(k->out->arena, mark);
            if (line.text.len > 0) {
                TC_TRY(tc__codec_unknown(k->in, k->cursor, k->out, line.at, line.raw.len,
                                         "no rule for this line"));
            }
        }
        k->cursor->cut += line.raw.len > TC_LINE_MAX;
        at = line.next;
    }
    return tc__kubectl_close(k);
}

static tc_status decode(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, struct tc_error *err)
{
    struct tc__kubectl k = {.in = in, .cursor = cursor, .out = out};
    (void)err;
    if (cursor->done) {
        return TC_OK;
    }
    TC_TRY(walk(&k, SIZE_MAX));
    cursor->offset = in->bytes.len;
    cursor->done = true;
    return TC_OK;
}

static tc_status drop_event(void *context, const struct tc_event *ev)
{
    (void)context;
    (void)ev;
    return TC_OK;
}

static int sniff(struct tc_codec_head head)
{
    char room[4096];
    struct tc_arena arena;
    struct tc_codec_input in = {
        .bytes = head.bytes, .boot_ns = TC_TIME_NONE, .now_ns = TC_TIME_NONE};
    struct tc_codec_cursor cursor = {0};
    struct tc_codec_out out = {.event = drop_event, .arena = &arena};
    struct tc__kubectl k = {.in = &in, .cursor = &cursor, .out = &out};
    tc_arena_init(&arena, "sniff", room, sizeof room);
    tc_status status = walk(&k, SNIFF_LINES);
    tc_arena_fini(&arena);
    if (status != TC_OK) {
        return TC_SNIFF_NO;
    }
    bool block = k.maybe > 0 && cursor.events > 0;
    return k.sure > 0 || block ? TC_SNIFF_LIKELY : k.maybe > 0 ? TC_SNIFF_MAYBE : TC_SNIFF_NO;
}

const struct tc_codec tc_codec_kubectl = {
    .name = "kubectl",
    .summary = "what kubectl prints for people: describe, and tables of pods, nodes and events",
    .known_by = "the shape of rows of kubectl get and describe, or its keys and titles",
    .gives = "pod_state, k8s_event, node_condition, rank_place",
    .example = "51m  Warning  Evicted  pod/worker-2  The node was low on resource: memory.",
    .ordered = false,
    .picks_lines = true,
    .sniff = sniff,
    .decode = decode,
};
