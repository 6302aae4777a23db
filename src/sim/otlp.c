/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/otlp_priv.h"

#define VALUE_MAX 256
#define RECEIVERS "github.com/open-telemetry/opentelemetry-collector-contrib/receiver/"

void tc__sim_end(struct tc_json_out *j, const char *brackets)
{
    for (const char *c = brackets; *c != '\0'; c++) {
        if (*c == ']') {
            tc_json_end_array(j);
        } else {
            tc_json_end_object(j);
        }
    }
}

void tc__sim_begin_key(struct tc_json_out *j, const char *key)
{
    tc_json_add_object(j);
    tc_json_put_plain(j, "key", tc_slice_cstr(key));
    tc_json_put_object(j, "value");
}

void tc__sim_put_string(struct tc_json_out *j, const char *key, struct tc_slice value)
{
    tc__sim_begin_key(j, key);
    tc_json_put_str(j, "stringValue", value);
    tc__sim_end(j, "}}");
}

void tc__sim_put_int(struct tc_json_out *j, const char *key, int64_t value)
{
    tc__sim_begin_key(j, key);
    tc_json_put_i64_text(j, "intValue", value);
    tc__sim_end(j, "}}");
}

void tc__sim_put_seconds(struct tc_json_out *j, const char *key, int64_t ms)
{
    char text[32];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc__sim_begin_key(j, key);
    tc_json_put_raw(j, "doubleValue",
                    tc_format(&b, "{}.{}", ms / 1000, tc_as_digits((uint64_t)ms % 1000, 3)));
    tc__sim_end(j, "}}");
}

void tc__sim_put_args(struct tc_json_out *j, const char *key, const struct tc_arg *args,
                      size_t count)
{
    char text[VALUE_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc__sim_put_string(j, key, tc_format_args(&b, args, count));
}

void tc__sim_begin_resource(struct tc_json_out *j)
{
    tc_json_add_object(j);
    tc_json_put_object(j, "resource");
    tc_json_put_array(j, "attributes");
}

void tc__sim_begin_scope(struct tc_json_out *j, const char *scopes, const char *receiver,
                         const char *records)
{
    tc_json_key_plain(j, tc_slice_cstr(scopes));
    tc_json_add_array(j);
    tc_json_add_object(j);
    tc_json_put_object(j, "scope");
    if (receiver != NULL) {
        char text[VALUE_MAX];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_json_put_plain(j, "name", tc_format(&b, RECEIVERS "{}", receiver));
    }
    tc_json_end_object(j);
    tc_json_key_plain(j, tc_slice_cstr(records));
    tc_json_add_array(j);
}

void tc__sim_end_records(struct tc_json_out *j)
{
    tc__sim_end(j, "]}]}");
}

void tc__sim_begin_record(struct tc_json_out *j, const struct sim_record *r)
{
    tc_json_add_object(j);
    tc_json_put_i64_text(j, "timeUnixNano", r->at_ns);
    if (r->observed_ns != 0) {
        tc_json_put_i64_text(j, "observedTimeUnixNano", r->observed_ns);
    }
    if (r->severity != 0) {
        tc_json_put_u64(j, "severityNumber", r->severity);
    }
    if (r->severity_text != NULL) {
        tc_json_put_cstr(j, "severityText", r->severity_text);
    }
    tc_json_put_object(j, "body");
    tc_json_put_str(j, "stringValue", r->body);
    tc_json_end_object(j);
    tc_json_put_array(j, "attributes");
}
