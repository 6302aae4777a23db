/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log records that are tracecore's own events: a line of event_json as the body, or the fields of
 * one as attributes. The record stays the evidence, and tells what the event does not.
 */
#include "base/limits.h"
#include "codec/otlp/record_priv.h"

#define S(literal) TC_LIT(literal)

/* Of all strings of an event together. */
#define TEXT_MAX (TC_LINE_MAX * 4)

static struct tc__event_draft draft_of(const struct tc__otlp *o)
{
    return (struct tc__event_draft){.utc_offset_s = o->decode.in->utc_offset_s,
                                    .advice = "write one JSON object a line"};
}

/* What the event does not say is the record's. */
static void fill_scope(struct tc_scope *io, const struct tc_scope *of)
{
    io->node = tc_slice_or(io->node, of->node);
    io->ns = tc_slice_or(io->ns, of->ns);
    io->pod = tc_slice_or(io->pod, of->pod);
    io->pod_uid = tc_slice_or(io->pod_uid, of->pod_uid);
    io->container = tc_slice_or(io->container, of->container);
    io->job = tc_slice_or(io->job, of->job);
    io->gpu_uuid = tc_slice_or(io->gpu_uuid, of->gpu_uuid);
    io->pci = io->pci.known ? io->pci : of->pci;
    io->rank = io->rank >= 0 ? io->rank : of->rank;
    io->gpu_index = io->gpu_index >= 0 ? io->gpu_index : of->gpu_index;
}

/* Delivers the event, or tells why there is none: status and why are those of reading it. */
static tc_status settle_event(struct tc__otlp *o, const struct tc__otlp_record *r,
                              struct tc__event_draft *d, tc_status status,
                              const struct tc_error *why)
{
    struct tc_scope scope = TC_SCOPE_NONE;
    bool told = o->decode.in->want_unknown;
    if (status == TC_E_NOTFOUND) {
        return told ? tc__decode_unknown(&o->decode, "unknown kind") : TC_OK;
    }
    if (status == TC_E_MALFORMED) {
        if (o->decode.bad.status == TC_OK) {
            (void)tc_fail(&o->decode.bad, status, o->decode.raw_offset, "a log record: %s",
                          why->message);
        }
        return told ? tc__decode_unknown(&o->decode, "malformed event") : TC_OK;
    }
    if (status != TC_OK) {
        return tc_fail(o->decode.err, status, o->decode.raw_offset, "%s", why->message);
    }
    if (d->unknown_field && told) {
        TC_TRY(tc__decode_unknown(&o->decode, "unknown field"));
    }
    tc__otlp_scope(o, r, &scope);
    fill_scope(&d->event.scope, &scope);
    if (d->event.time_ns == TC_TIME_NONE) {
        d->event.time_ns = tc__otlp_time(r);
    }
    return tc__decode_emit(&o->decode, &d->event);
}

tc_status tc__otlp_event_line(struct tc__otlp *o, const struct tc__otlp_record *r,
                              struct tc_slice line)
{
    struct tc__event_draft d = draft_of(o);
    struct tc_error why = {0};
    TC_TRY(tc__otlp_flush(o));
    if (o->line_parser == NULL) {
        o->line_parser = tc_json_parser_create();
    }
    if (o->line_parser == NULL) {
        return tc_fail(o->decode.err, TC_E_NOMEM, o->decode.raw_offset,
                       "no memory for a JSON parser");
    }
    tc_status status = tc__event_read(&o->event_index, o->line_parser, line, &d, &why);
    o->decode.cursor->cut += line.len > TEXT_MAX;
    return settle_event(o, r, &d, status, &why);
}

/* The value as event_json has it for a field of that type; false when there is none. */
static bool value_of(struct tc__otlp *o, enum tc_field_type type, struct tc__otlp_value v,
                     struct tc__event_value *out)
{
    bool is_number = tc__otlp_number(&v, &out->number);
    out->text = tc__otlp_text(o, &v);
    switch (type) {
    case TC_FIELD_I64:
    case TC_FIELD_I32:
        if (!is_number || out->number < -9e18 || out->number > 9e18) {
            return false;
        }
        out->type = TC_JSON_INT;
        out->integer = (int64_t)out->number;
        return true;
    case TC_FIELD_F64:
        out->type = TC_JSON_DOUBLE;
        return is_number;
    case TC_FIELD_BOOL:
        out->type = TC_JSON_BOOL;
        out->truth = tc_slice_eq(out->text, S("true"));
        return true;
    case TC_FIELD_STRING:
    case TC_FIELD_TIME:
    case TC_FIELD_KEY:
    case TC_FIELD_BDF:
    case TC_FIELD_STATE:
    case TC_FIELD_METRIC:
        out->type = TC_JSON_STRING;
        return out->text.len > 0;
    }
    return false;
}

tc_status tc__otlp_event(struct tc__otlp *o, const struct tc__otlp_record *r,
                         enum tc_event_kind kind)
{
    struct tc__event_draft d = draft_of(o);
    struct tc__value_iter it = tc__value_attributes(r->v);
    struct tc_error why = {0};
    struct tc_slice key;
    struct tc__value attribute;
    tc_status status = TC_OK;
    size_t bytes = 0;
    TC_TRY(tc__otlp_flush(o));
    tc__event_begin(&d, kind);
    for (size_t n = 0; n < TC__OTLP_LABELS_MAX && tc__value_next(&it, &key, &attribute); n++) {
        struct tc__event_value value = {0};
        bool again = false;
        const struct tc_field *f = tc__event_field(&o->event_index, &d, key, &again);
        if (f == NULL || again || !value_of(o, f->type, tc__otlp_value_read(attribute), &value)) {
            continue;
        }
        bytes += value.text.len;
        if (bytes > TEXT_MAX) {
            return tc__decode_unknown(&o->decode, "an event with too long values");
        }
        status = status != TC_OK ? status : tc__event_put(&d, f, &value, &why);
    }
    tc__event_end(&d);
    return settle_event(o, r, &d, status, &why);
}
