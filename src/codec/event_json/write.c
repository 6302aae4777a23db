/* SPDX-License-Identifier: Apache-2.0 */
/* The writing half of our own event format. */
#include "base/assert.h"
#include "base/json/out.h"
#include "codec/event_json/event_json.h"
#include "codec/event_json/event_json_priv.h"
#include "event/fields.h"

#include <math.h>

const struct tc_slice tc__event_states[TC__EVENT_STATES] = {
    [TC_NCCL_SCHEDULED] = {"scheduled", 9},
    [TC_NCCL_STARTED] = {"started", 7},
    [TC_NCCL_COMPLETED] = {"completed", 9},
};

static bool present(const struct tc_field *f, const void *at)
{
    switch (f->type) {
    case TC_FIELD_STRING:
        return ((const struct tc_slice *)at)->len > 0;
    case TC_FIELD_TIME:
        return *(const int64_t *)at != TC_TIME_NONE;
    case TC_FIELD_I64:
        return *(const int64_t *)at != f->none;
    case TC_FIELD_I32:
        return *(const int32_t *)at != f->none;
    case TC_FIELD_KEY:
        return *(const uint64_t *)at != 0;
    case TC_FIELD_F64:
        return *(const double *)at != 0 && isfinite(*(const double *)at);
    case TC_FIELD_BOOL:
        return *(const bool *)at;
    case TC_FIELD_BDF:
        return ((const struct tc_bdf *)at)->known;
    case TC_FIELD_STATE:
        return true;
    case TC_FIELD_METRIC:
        return *(const uint16_t *)at != TC_METRIC_NONE;
    }
    return false;
}

static struct tc_slice text_of(struct tc_buf *b, const struct tc_field *f, const void *at)
{
    if (f->type == TC_FIELD_KEY) {
        tc_buf_hex(b, *(const uint64_t *)at, 16);
    } else if (f->type == TC_FIELD_BDF) {
        tc_buf_bdf(b, *(const struct tc_bdf *)at);
    } else if (f->type == TC_FIELD_METRIC) {
        return tc_metric_info((enum tc_metric) * (const uint16_t *)at)->name;
    } else {
        uint8_t state = *(const uint8_t *)at;
        TC_ASSERT(state < TC__EVENT_STATES);
        return tc__event_states[state];
    }
    return tc_buf_slice(b);
}

static void write_value(struct tc_json_out *j, const struct tc_field *f, const void *at)
{
    char text[32];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    switch (f->type) {
    case TC_FIELD_STRING:
        tc_json_add_str(j, *(const struct tc_slice *)at);
        return;
    case TC_FIELD_TIME:
        /* The calendar of base/time.h begins in 1970; a clock that was set wrong does not. */
        if (*(const int64_t *)at < 0) {
            tc_json_add_i64(j, *(const int64_t *)at);
        } else {
            tc_json_add_time(j, *(const int64_t *)at);
        }
        return;
    case TC_FIELD_I64:
        tc_json_add_i64(j, *(const int64_t *)at);
        return;
    case TC_FIELD_I32:
        tc_json_add_i64(j, *(const int32_t *)at);
        return;
    case TC_FIELD_F64:
        tc_json_add_f64(j, *(const double *)at);
        return;
    case TC_FIELD_BOOL:
        tc_json_add_bool(j, true);
        return;
    case TC_FIELD_KEY:
    case TC_FIELD_BDF:
    case TC_FIELD_STATE:
    case TC_FIELD_METRIC:
        tc_json_add_plain(j, text_of(&b, f, at));
        return;
    }
}

static void write_raw(struct tc_json_out *j, const struct tc_raw *raw,
                      const struct tc_sources *sources)
{
    struct tc_source_view view = {0};
    if (sources == NULL || raw->source == TC_SOURCE_NONE ||
        !sources->view(sources->context, raw->source, &view)) {
        return;
    }
    tc_json_put_object(j, "raw");
    tc_json_put_str(j, "digest", view.digest);
    if (view.member.len > 0) {
        tc_json_put_str(j, "member", view.member);
    }
    tc_json_put_u64(j, "offset", raw->offset);
    tc_json_put_u64(j, "length", raw->length);
    tc_json_end_object(j);
}

void tc_event_json_write(struct tc_buf *b, const struct tc_event *ev,
                         const struct tc_sources *sources)
{
    size_t count = 0;
    const struct tc_field *fields = tc_fields(&count);
    uint32_t kind_bit = TC_EVENT_BIT(ev->kind);
    struct tc_json_out j = tc_json_object_make(b);
    tc_json_put_plain(&j, "kind", tc_event_kind_name(ev->kind));
    for (size_t i = 0; i < count; i++) {
        const struct tc_field *f = &fields[i];
        const void *at = (const char *)ev + f->offset;
        if ((f->kinds & kind_bit) != 0 && present(f, at)) {
            tc_json_key_plain(&j, f->name);
            write_value(&j, f, at);
        }
    }
    write_raw(&j, &ev->raw, sources);
    tc_json_end_object(&j);
}
