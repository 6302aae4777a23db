/* SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"
#include "verdict/export.h"

/* A request is eight deep, a level of a verdict four, a value two. */
_Static_assert(4 * TC_EXPORT_DEPTH_MAX + 10 <= TC_JSON_OUT_DEPTH_MAX, "a verdict fits");
#define END_BYTES (sizeof "[]}]}]}" - 1)

/* Appendix B of OpenTelemetry's log data model: syslog's Critical is ERROR2. */
static const struct {
    const char *severity;
    uint64_t number;
} SEVERITIES[] = {{"info", 9}, {"warning", 13}, {"critical", 18}};

static void put_attribute(struct tc_json_out *j, struct tc_slice key, struct tc_slice value)
{
    tc_json_add_object(j);
    tc_json_put_str(j, "key", key);
    tc_json_put_object(j, "value");
    tc_json_put_str(j, "stringValue", value);
    tc_json_end_object(j);
    tc_json_end_object(j);
}

void tc_export_begin(struct tc_json_out *j, const struct tc_export_origin *origin)
{
    tc_json_add_object(j);
    tc_json_put_array(j, "resourceLogs");
    tc_json_add_object(j);
    tc_json_put_object(j, "resource");
    tc_json_put_array(j, "attributes");
    put_attribute(j, TC_LIT("service.name"), TC_LIT("tracecore"));
    if (origin->instance_id.len > 0) {
        put_attribute(j, TC_LIT("service.instance.id"), origin->instance_id);
    }
    tc_json_end_array(j);
    tc_json_end_object(j);
    tc_json_put_array(j, "scopeLogs");
    tc_json_add_object(j);
    tc_json_put_object(j, "scope");
    tc_json_put_plain(j, "name", TC_LIT("tracecore.verdict"));
    tc_json_put_some(j, "version", origin->version);
    tc_json_end_object(j);
    tc_json_put_array(j, "logRecords");
}

void tc_export_end(struct tc_json_out *j)
{
    tc_json_end_array(j); /* logRecords */
    tc_json_end_object(j);
    tc_json_end_array(j); /* scopeLogs */
    tc_json_end_object(j);
    tc_json_end_array(j); /* resourceLogs */
    tc_json_end_object(j);
}

/* A value that holds no others. */
static void put_scalar(struct tc_json_out *j, struct tc_json v)
{
    struct tc_slice text;
    int64_t integer = 0;
    double real = 0;
    bool boolean = false;
    tc_json_add_object(j);
    if (tc_json_string(v, &text)) {
        tc_json_put_str(j, "stringValue", text);
    } else if (tc_json_bool(v, &boolean)) {
        tc_json_put_bool(j, "boolValue", boolean);
    } else if (tc_json_type(v) == TC_JSON_INT && tc_json_int(v, &integer)) {
        tc_json_put_i64_text(j, "intValue", integer);
    } else if (tc_json_double(v, &real)) {
        tc_json_put_f64(j, "doubleValue", real);
    } /* else null: a value that is not set */
    tc_json_end_object(j);
}

struct level {
    struct tc_json_iter iter;
    bool is_object;
};

/* The members of a verdict as attributes. Walks with a stack of its own: the depth is bounded. */
static tc_status put_attributes(struct tc_json_out *j, struct tc_json root, struct tc_error *err)
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
                tc_json_end_array(j);
                tc_json_end_object(j);
                tc_json_end_object(j);
            }
            if (depth > 0 && stack[depth - 1].is_object) {
                tc_json_end_object(j);
            }
            continue;
        }
        if (top->is_object) {
            tc_json_add_object(j);
            tc_json_put_str(j, "key", key);
            tc_json_key(j, "value");
        }
        enum tc_json_type type = tc_json_type(v);
        if (type != TC_JSON_OBJECT && type != TC_JSON_ARRAY) {
            put_scalar(j, v);
            if (top->is_object) {
                tc_json_end_object(j);
            }
            continue;
        }
        if (depth == TC_EXPORT_DEPTH_MAX) {
            return tc_fail(err, TC_E_MALFORMED, 0, "a verdict of more than %d levels",
                           TC_EXPORT_DEPTH_MAX);
        }
        bool is_object = type == TC_JSON_OBJECT;
        tc_json_add_object(j);
        tc_json_key_plain(j, is_object ? TC_LIT("kvlistValue") : TC_LIT("arrayValue"));
        tc_json_add_object(j);
        tc_json_put_array(j, "values");
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

static void put_severity(struct tc_json_out *j, struct tc_json v)
{
    struct tc_slice text = tc_json_get_string(v, TC_LIT("severity"));
    for (size_t i = 0; i < TC_COUNT(SEVERITIES); i++) {
        if (tc_slice_eq(text, tc_slice_cstr(SEVERITIES[i].severity))) {
            tc_json_put_u64(j, "severityNumber", SEVERITIES[i].number);
            tc_json_put_str(j, "severityText", text);
        }
    }
}

static tc_status put_record(struct tc_json_out *j, struct tc_json root, int64_t observed_ns,
                            struct tc_error *err)
{
    int64_t event_ns = event_time(root, observed_ns);
    tc_json_add_object(j);
    tc_json_put_i64_text(j, "timeUnixNano", event_ns < 0 ? 0 : event_ns);
    tc_json_put_i64_text(j, "observedTimeUnixNano", observed_ns < 0 ? 0 : observed_ns);
    put_severity(j, root);
    tc_json_put_plain(j, "eventName", TC_LIT("tracecore.verdict"));
    tc_json_put_object(j, "body");
    tc_json_put_str(j, "stringValue", tc_json_get_string(root, TC_LIT("headline")));
    tc_json_end_object(j);
    tc_json_put_array(j, "attributes");
    TC_TRY(put_attributes(j, root, err));
    tc_json_end_array(j);
    tc_json_end_object(j);
    return j->b->overflowed || j->b->cap - j->b->len < END_BYTES
               ? tc_fail(err, TC_E_LIMIT, 0, "no room for another verdict in this request")
               : TC_OK;
}

tc_status tc_export_add(struct tc_json_out *j, struct tc_json_parser *parser, struct tc_slice line,
                        int64_t observed_ns, struct tc_error *err)
{
    struct tc_json root;
    TC_TRY(tc_json_parse(parser, line, &root, err));
    if (tc_json_type(root) != TC_JSON_OBJECT) {
        return tc_fail(err, TC_E_MALFORMED, 0, "a verdict that is no object");
    }
    struct tc_json_out writer = *j;
    struct tc_buf was = *j->b;
    tc_status status = put_record(j, root, observed_ns, err);
    if (status != TC_OK) {
        *j->b = was;
        *j = writer;
    }
    return status;
}
