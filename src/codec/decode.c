/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/decode_priv.h"

#include "base/buf.h"

tc_status tc__decode_emit_lasting(struct tc__decode *d, struct tc_event *ev)
{
    ev->raw = (struct tc_raw){
        .source = d->in->source,
        .length = d->raw_length > UINT32_MAX ? UINT32_MAX : (uint32_t)d->raw_length,
        .offset = d->raw_offset,
    };
    if (ev->time_ns == TC_TIME_NONE) {
        ev->time_ns = d->seen_ns;
    }
    d->cursor->events++;
    d->cursor->undated += ev->time_ns == TC_TIME_NONE;
    return d->out->event(d->out->context, ev);
}

tc_status tc__decode_emit(struct tc__decode *d, struct tc_event *ev)
{
    struct tc_codec_out *out = d->out;
    const uint16_t *offsets = d->strings.offsets[ev->kind];
    if (d->strings.counts[ev->kind] == 0) {
        d->strings.counts[ev->kind] =
            (uint8_t)tc_event_strings(ev->kind, d->strings.offsets[ev->kind]);
    }
    for (size_t i = 0; i < d->strings.counts[ev->kind]; i++) {
        struct tc_slice *s = tc_event_string(ev, offsets[i]);
        if (s->len == 0) {
            *s = TC_EMPTY;
        } else if (!tc__decode_lasts(d, *s)) {
            *s = tc_arena_copy(out->arena, *s);
        }
    }
    if (!tc_arena_ok(out->arena) || !tc_arena_ok(out->scratch)) {
        return tc_fail(d->err, TC_E_NOMEM, d->raw_offset,
                       "no room for the text of a Kubernetes object");
    }
    return tc__decode_emit_lasting(d, ev);
}

tc_status tc__codec_unknown(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                            const struct tc_codec_out *out, uint64_t offset, size_t length,
                            const char *why)
{
    cursor->unknown++;
    return !in->want_unknown || out->unknown == NULL
               ? TC_OK
               : out->unknown(out->context, offset, length, why);
}

tc_status tc__decode_unknown(struct tc__decode *d, const char *why)
{
    return tc__codec_unknown(d->in, d->cursor, d->out, d->raw_offset, d->raw_length, why);
}

tc_status tc__decode_json(struct tc__decode *d, struct tc_slice json, const char *what,
                          struct tc__value *out)
{
    struct tc__value root = {.v = {NULL, 0}, .there = true};
    struct tc_error why = {0};
    tc_status status = tc_json_parse(d->parser, json, &root.v, &why);
    if (status == TC_E_MALFORMED || status == TC_E_LIMIT) {
        *out = (struct tc__value){0};
        if (d->bad.status == TC_OK) {
            (void)tc_fail(&d->bad, status, d->raw_offset, "%s: %s", what, why.message);
        }
        return TC_OK;
    }
    if (status != TC_OK) {
        return tc_fail(d->err, status, d->raw_offset, "%s: %s", what, why.message);
    }
    *out = root;
    return TC_OK;
}

struct tc_slice tc__join(struct tc_arena *arena, struct tc_slice a, struct tc_slice between,
                         struct tc_slice b)
{
    size_t len = a.len + between.len + b.len;
    char *bytes = tc_new(arena, char, len);
    if (bytes == NULL) {
        return TC_EMPTY;
    }
    struct tc_buf text = tc_buf_make(bytes, len);
    tc_buf_str(&text, a);
    tc_buf_str(&text, between);
    tc_buf_str(&text, b);
    return tc_buf_slice(&text);
}
