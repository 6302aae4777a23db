/* SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"
#include "verdict/export.h"

#define END "]}]}]}"
#define RECORD_BEGIN "{\"timeUnixNano\":\""

/* Appendix B of OpenTelemetry's log data model: syslog's Critical is ERROR2. */
static const struct {
    const char *severity;
    const char *number;
} SEVERITIES[] = {{"info", "9"}, {"warning", "13"}, {"critical", "18"}};

void tc_export_begin(struct tc_buf *b, const struct tc_export_origin *origin)
{
    tc_buf_lit(b, "{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\","
                  "\"value\":{\"stringValue\":\"tracecore\"}}");
    if (origin->instance_id.len > 0) {
        tc_buf_lit(b, ",{\"key\":\"service.instance.id\",\"value\":{\"stringValue\":");
        tc_buf_json(b, origin->instance_id);
        tc_buf_lit(b, "}}");
    }
    tc_buf_lit(b, "]},\"scopeLogs\":[{\"scope\":{\"name\":\"tracecore.verdict\"");
    if (origin->version.len > 0) {
        tc_buf_lit(b, ",\"version\":");
        tc_buf_json(b, origin->version);
    }
    tc_buf_lit(b, "},\"logRecords\":[");
}

void tc_export_end(struct tc_buf *b)
{
    tc_buf_lit(b, END);
}

/* A value that holds no others. */
static void put_scalar(struct tc_buf *b, struct tc_json v)
{
    struct tc_slice text;
    int64_t integer = 0;
    double real = 0;
    bool boolean = false;
    if (tc_json_string(v, &text)) {
        tc_buf_lit(b, "{\"stringValue\":");
        tc_buf_json(b, text);
    } else if (tc_json_bool(v, &boolean)) {
        tc_buf_lit(b, "{\"boolValue\":");
        tc_buf_str(b, boolean ? TC_LIT("true") : TC_LIT("false"));
    } else if (tc_json_type(v) == TC_JSON_INT && tc_json_int(v, &integer)) {
        tc_buf_lit(b, "{\"intValue\":\"");
        tc_buf_i64(b, integer);
        tc_buf_char(b, '"');
    } else if (tc_json_double(v, &real)) {
        tc_buf_lit(b, "{\"doubleValue\":");
        tc_buf_f64(b, real);
    } else {
        tc_buf_char(b, '{'); /* null: a value that is not set */
    }
    tc_buf_char(b, '}');
}

struct level {
    struct tc_json_iter iter;
    bool is_object;
    bool has_any;
};

/* The members of a verdict as attributes. Walks with a stack of its own: the depth is bounded. */
static tc_status put_attributes(struct tc_buf *b, struct tc_json root, struct tc_error *err)
{
    struct level stack[TC_EXPORT_DEPTH_MAX] = {
        {.iter = tc_json_iter_make(root), .is_object = true}};
    size_t depth = 1;
    while (depth > 0) {
        struct level *top = &stack[depth - 1];
        struct tc_slice key;
        struct tc_json v;
        if (!tc_json_iter_next(&top->iter, &key, &v)) {
            depth--;
            if (depth > 0) {
                tc_buf_lit(b, "]}}");
                tc_buf_str(b, stack[depth - 1].is_object ? TC_LIT("}") : TC_EMPTY);
            }
            continue;
        }
        tc_buf_str(b, top->has_any ? TC_LIT(",") : TC_EMPTY);
        top->has_any = true;
        if (top->is_object) {
            tc_buf_lit(b, "{\"key\":");
            tc_buf_json(b, key);
            tc_buf_lit(b, ",\"value\":");
        }
        enum tc_json_type type = tc_json_type(v);
        if (type != TC_JSON_OBJECT && type != TC_JSON_ARRAY) {
            put_scalar(b, v);
            tc_buf_str(b, top->is_object ? TC_LIT("}") : TC_EMPTY);
            continue;
        }
        if (depth == TC_EXPORT_DEPTH_MAX) {
            return tc_fail(err, TC_E_MALFORMED, 0, "a verdict of more than %d levels",
                           TC_EXPORT_DEPTH_MAX);
        }
        bool is_object = type == TC_JSON_OBJECT;
        tc_buf_str(b, is_object ? TC_LIT("{\"kvlistValue\":{\"values\":[")
                                : TC_LIT("{\"arrayValue\":{\"values\":["));
        stack[depth++] = (struct level){.iter = tc_json_iter_make(v), .is_object = is_object};
    }
    return TC_OK;
}

/* The time of what is told: of an opening when it was seen, later that of the latest event. */
static int64_t event_time(struct tc_json v, int64_t fallback_ns)
{
    bool opens = tc_slice_eq(tc_json_get_string(v, TC_LIT("status")), TC_LIT("open"));
    int64_t ns = 0;
    struct tc_slice text = tc_json_get_string(v, TC_LIT("detected_at"));
    if (!opens || tc_time_parse(text, 0, &ns) == 0) {
        text = tc_json_get_string(v, TC_LIT("last_seen"));
        return tc_time_parse(text, 0, &ns) == 0 ? fallback_ns : ns;
    }
    return ns;
}

static void put_severity(struct tc_buf *b, struct tc_json v)
{
    struct tc_slice text = tc_json_get_string(v, TC_LIT("severity"));
    for (size_t i = 0; i < TC_COUNT(SEVERITIES); i++) {
        if (tc_slice_eq(text, tc_slice_cstr(SEVERITIES[i].severity))) {
            tc_buf_lit(b, ",\"severityNumber\":");
            tc_buf_str(b, tc_slice_cstr(SEVERITIES[i].number));
            tc_buf_lit(b, ",\"severityText\":");
            tc_buf_json(b, text);
        }
    }
}

static void put_time(struct tc_buf *b, int64_t ns)
{
    tc_buf_u64(b, ns < 0 ? 0 : (uint64_t)ns);
}

tc_status tc_export_add(struct tc_buf *b, struct tc_json_parser *parser, struct tc_slice line,
                        int64_t observed_ns, struct tc_error *err)
{
    struct tc_json root;
    TC_TRY(tc_json_parse(parser, line, &root, err));
    if (tc_json_type(root) != TC_JSON_OBJECT) {
        return tc_fail(err, TC_E_MALFORMED, 0, "a verdict that is no object");
    }
    struct tc_buf was = *b;
    tc_buf_str(b, b->len > 0 && b->data[b->len - 1] == '}' ? TC_LIT(",") : TC_EMPTY);
    tc_buf_lit(b, RECORD_BEGIN);
    put_time(b, event_time(root, observed_ns));
    tc_buf_lit(b, "\",\"observedTimeUnixNano\":\"");
    put_time(b, observed_ns);
    tc_buf_char(b, '"');
    put_severity(b, root);
    tc_buf_lit(b, ",\"eventName\":\"tracecore.verdict\",\"body\":{\"stringValue\":");
    tc_buf_json(b, tc_json_get_string(root, TC_LIT("headline")));
    tc_buf_lit(b, "},\"attributes\":[");
    tc_status status = put_attributes(b, root, err);
    tc_buf_lit(b, "]}");
    if (status == TC_OK && (b->overflowed || b->cap - b->len < sizeof END)) {
        status = tc_fail(err, TC_E_LIMIT, 0, "no room for another verdict in this request");
    }
    if (status != TC_OK) {
        *b = was;
    }
    return status;
}
