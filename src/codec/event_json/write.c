/* SPDX-License-Identifier: Apache-2.0 */
/* The writing half of our own event format. */
#include "base/assert.h"
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

static void write_quoted(struct tc_buf *b, const struct tc_field *f, const void *at)
{
    tc_buf_char(b, '"');
    if (f->type == TC_FIELD_TIME) {
        tc_buf_time(b, *(const int64_t *)at);
    } else if (f->type == TC_FIELD_KEY) {
        tc_buf_hex(b, *(const uint64_t *)at, 16);
    } else if (f->type == TC_FIELD_BDF) {
        tc_buf_bdf(b, *(const struct tc_bdf *)at);
    } else if (f->type == TC_FIELD_METRIC) {
        tc_buf_str(b, tc_metric_info((enum tc_metric) * (const uint16_t *)at)->name);
    } else {
        uint8_t state = *(const uint8_t *)at;
        TC_ASSERT(state < TC__EVENT_STATES);
        tc_buf_str(b, tc__event_states[state]);
    }
    tc_buf_char(b, '"');
}

static void write_value(struct tc_buf *b, const struct tc_field *f, const void *at)
{
    switch (f->type) {
    case TC_FIELD_STRING:
        tc_buf_json(b, *(const struct tc_slice *)at);
        return;
    case TC_FIELD_TIME:
        /* The calendar of base/time.h begins in 1970; a clock that was set wrong does not. */
        if (*(const int64_t *)at < 0) {
            tc_buf_i64(b, *(const int64_t *)at);
            return;
        }
        write_quoted(b, f, at);
        return;
    case TC_FIELD_I64:
        tc_buf_i64(b, *(const int64_t *)at);
        return;
    case TC_FIELD_I32:
        tc_buf_i64(b, *(const int32_t *)at);
        return;
    case TC_FIELD_F64:
        tc_buf_f64(b, *(const double *)at);
        return;
    case TC_FIELD_BOOL:
        tc_buf_lit(b, "true");
        return;
    case TC_FIELD_KEY:
    case TC_FIELD_BDF:
    case TC_FIELD_STATE:
    case TC_FIELD_METRIC:
        write_quoted(b, f, at);
        return;
    }
}

static void write_raw(struct tc_buf *b, const struct tc_raw *raw, const struct tc_sources *sources)
{
    struct tc_source_view view = {0};
    if (sources == NULL || raw->source == TC_SOURCE_NONE ||
        !sources->view(sources->context, raw->source, &view)) {
        return;
    }
    tc_buf_lit(b, ",\"raw\":{\"digest\":");
    tc_buf_json(b, view.digest);
    tc_buf_lit(b, ",\"offset\":");
    tc_buf_u64(b, raw->offset);
    tc_buf_lit(b, ",\"length\":");
    tc_buf_u64(b, raw->length);
    tc_buf_char(b, '}');
}

void tc_event_json_write(struct tc_buf *b, const struct tc_event *ev,
                         const struct tc_sources *sources)
{
    size_t count = 0;
    const struct tc_field *fields = tc_fields(&count);
    uint32_t kind_bit = TC_EVENT_BIT(ev->kind);
    tc_buf_lit(b, "{\"kind\":\"");
    tc_buf_str(b, tc_event_kind_name(ev->kind));
    tc_buf_char(b, '"');
    for (size_t i = 0; i < count; i++) {
        const struct tc_field *f = &fields[i];
        const void *at = (const char *)ev + f->offset;
        if ((f->kinds & kind_bit) != 0 && present(f, at)) {
            tc_buf_lit(b, ",\"");
            tc_buf_str(b, f->name);
            tc_buf_lit(b, "\":");
            write_value(b, f, at);
        }
    }
    write_raw(b, &ev->raw, sources);
    tc_buf_char(b, '}');
}
