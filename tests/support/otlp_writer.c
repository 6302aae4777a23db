/* SPDX-License-Identifier: Apache-2.0 */
#include "support/otlp_writer.h"

#include "base/json/json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 100

enum kind { VARINT, ZIGZAG, FIXED64, FIXED32, DOUBLE, BOOL, STRING, HEX, MESSAGE };

struct row {
    const char *of;   /* message */
    const char *name; /* in JSON */
    unsigned number;
    enum kind kind;
    const char *type; /* of a message */
};

/* opentelemetry-proto, v1. */
static const struct row ROWS[] = {
    {"Request", "resourceLogs", 1, MESSAGE, "ResourceLogs"},
    {"Request", "resourceMetrics", 1, MESSAGE, "ResourceMetrics"},
    {"Request", "resourceSpans", 1, MESSAGE, "ResourceSpans"},
    {"ResourceLogs", "resource", 1, MESSAGE, "Resource"},
    {"ResourceLogs", "scopeLogs", 2, MESSAGE, "ScopeLogs"},
    {"ResourceLogs", "schemaUrl", 3, STRING, NULL},
    {"ScopeLogs", "scope", 1, MESSAGE, "Scope"},
    {"ScopeLogs", "logRecords", 2, MESSAGE, "LogRecord"},
    {"ScopeLogs", "schemaUrl", 3, STRING, NULL},
    {"LogRecord", "timeUnixNano", 1, FIXED64, NULL},
    {"LogRecord", "observedTimeUnixNano", 11, FIXED64, NULL},
    {"LogRecord", "severityNumber", 2, VARINT, NULL},
    {"LogRecord", "severityText", 3, STRING, NULL},
    {"LogRecord", "body", 5, MESSAGE, "AnyValue"},
    {"LogRecord", "attributes", 6, MESSAGE, "KeyValue"},
    {"LogRecord", "droppedAttributesCount", 7, VARINT, NULL},
    {"LogRecord", "flags", 8, FIXED32, NULL},
    {"LogRecord", "traceId", 9, HEX, NULL},
    {"LogRecord", "spanId", 10, HEX, NULL},
    {"LogRecord", "eventName", 12, STRING, NULL},
    {"Resource", "attributes", 1, MESSAGE, "KeyValue"},
    {"Resource", "droppedAttributesCount", 2, VARINT, NULL},
    {"Scope", "name", 1, STRING, NULL},
    {"Scope", "version", 2, STRING, NULL},
    {"Scope", "attributes", 3, MESSAGE, "KeyValue"},
    {"KeyValue", "key", 1, STRING, NULL},
    {"KeyValue", "value", 2, MESSAGE, "AnyValue"},
    {"AnyValue", "stringValue", 1, STRING, NULL},
    {"AnyValue", "boolValue", 2, BOOL, NULL},
    {"AnyValue", "intValue", 3, VARINT, NULL},
    {"AnyValue", "doubleValue", 4, DOUBLE, NULL},
    {"AnyValue", "arrayValue", 5, MESSAGE, "ArrayValue"},
    {"AnyValue", "kvlistValue", 6, MESSAGE, "KeyValueList"},
    {"ArrayValue", "values", 1, MESSAGE, "AnyValue"},
    {"KeyValueList", "values", 1, MESSAGE, "KeyValue"},
    {"ResourceMetrics", "resource", 1, MESSAGE, "Resource"},
    {"ResourceMetrics", "scopeMetrics", 2, MESSAGE, "ScopeMetrics"},
    {"ScopeMetrics", "scope", 1, MESSAGE, "Scope"},
    {"ScopeMetrics", "metrics", 2, MESSAGE, "Metric"},
    {"Metric", "name", 1, STRING, NULL},
    {"Metric", "description", 2, STRING, NULL},
    {"Metric", "unit", 3, STRING, NULL},
    {"Metric", "gauge", 5, MESSAGE, "Gauge"},
    {"Metric", "sum", 7, MESSAGE, "Sum"},
    {"Metric", "histogram", 9, MESSAGE, "Histogram"},
    {"Metric", "exponentialHistogram", 10, MESSAGE, "ExponentialHistogram"},
    {"Metric", "summary", 11, MESSAGE, "Summary"},
    {"Gauge", "dataPoints", 1, MESSAGE, "NumberDataPoint"},
    {"Sum", "dataPoints", 1, MESSAGE, "NumberDataPoint"},
    {"Sum", "aggregationTemporality", 2, VARINT, NULL},
    {"Sum", "isMonotonic", 3, BOOL, NULL},
    {"Histogram", "dataPoints", 1, MESSAGE, "HistogramDataPoint"},
    {"Histogram", "aggregationTemporality", 2, VARINT, NULL},
    {"NumberDataPoint", "attributes", 7, MESSAGE, "KeyValue"},
    {"NumberDataPoint", "startTimeUnixNano", 2, FIXED64, NULL},
    {"NumberDataPoint", "timeUnixNano", 3, FIXED64, NULL},
    {"NumberDataPoint", "asDouble", 4, DOUBLE, NULL},
    {"NumberDataPoint", "asInt", 6, FIXED64, NULL},
    {"NumberDataPoint", "flags", 8, VARINT, NULL},
    {"HistogramDataPoint", "attributes", 9, MESSAGE, "KeyValue"},
    {"HistogramDataPoint", "timeUnixNano", 3, FIXED64, NULL},
    {"HistogramDataPoint", "count", 4, FIXED64, NULL},
    {"HistogramDataPoint", "sum", 5, DOUBLE, NULL},
    {"HistogramDataPoint", "bucketCounts", 6, FIXED64, NULL},
    {"HistogramDataPoint", "explicitBounds", 7, DOUBLE, NULL},
    {"ExponentialHistogram", "dataPoints", 1, MESSAGE, "ExponentialHistogramDataPoint"},
    {"ExponentialHistogram", "aggregationTemporality", 2, VARINT, NULL},
    {"ExponentialHistogramDataPoint", "startTimeUnixNano", 2, FIXED64, NULL},
    {"ExponentialHistogramDataPoint", "timeUnixNano", 3, FIXED64, NULL},
    {"ExponentialHistogramDataPoint", "count", 4, FIXED64, NULL},
    {"Summary", "dataPoints", 1, MESSAGE, "SummaryDataPoint"},
    {"SummaryDataPoint", "timeUnixNano", 3, FIXED64, NULL},
    {"SummaryDataPoint", "count", 4, FIXED64, NULL},
    {"SummaryDataPoint", "sum", 5, DOUBLE, NULL},
    {"SummaryDataPoint", "quantileValues", 6, MESSAGE, "ValueAtQuantile"},
    {"ValueAtQuantile", "quantile", 1, DOUBLE, NULL},
    {"ValueAtQuantile", "value", 2, DOUBLE, NULL},
    {"ResourceSpans", "resource", 1, MESSAGE, "Resource"},
    {"ResourceSpans", "scopeSpans", 2, MESSAGE, "ScopeSpans"},
    {"ScopeSpans", "scope", 1, MESSAGE, "Scope"},
    {"ScopeSpans", "spans", 2, MESSAGE, "Span"},
    {"Span", "traceId", 1, HEX, NULL},
    {"Span", "spanId", 2, HEX, NULL},
    {"Span", "name", 5, STRING, NULL},
    {"Span", "kind", 6, VARINT, NULL},
    {"Span", "startTimeUnixNano", 7, FIXED64, NULL},
    {"Span", "endTimeUnixNano", 8, FIXED64, NULL},
    {"Span", "attributes", 9, MESSAGE, "KeyValue"},
    {"Span", "status", 15, MESSAGE, "Status"},
    {"Status", "message", 2, STRING, NULL},
    {"Status", "code", 3, VARINT, NULL},
};

struct bytes {
    char *data;
    size_t len;
    size_t cap;
    bool bad;
    bool padded;
};

static void put(struct bytes *b, const void *from, size_t len)
{
    if (b->len + len > b->cap) {
        b->cap = 2 * (b->len + len) + 64;
        b->data = realloc(b->data, b->cap);
    }
    if (len > 0) {
        memcpy(b->data + b->len, from, len);
    }
    b->len += len;
}

static void put_varint(struct bytes *b, uint64_t v)
{
    do {
        unsigned char byte = (unsigned char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        put(b, &byte, 1);
        v >>= 7;
    } while (v > 0);
}

static void put_tag(struct bytes *b, unsigned number, unsigned wire)
{
    put_varint(b, (uint64_t)number << 3 | wire);
}

static void put_block(struct bytes *b, unsigned number, const void *from, size_t len)
{
    put_tag(b, number, 2);
    put_varint(b, len);
    if (b->padded) {
        b->data[b->len - 1] = (char)(unsigned char)(b->data[b->len - 1] | 0x80);
        put(b, "", 1);
    }
    put(b, from, len);
}

static const struct row *find(const char *of, struct tc_slice name)
{
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        if (strcmp(ROWS[i].of, of) == 0 && tc_slice_eq(tc_slice_cstr(ROWS[i].name), name)) {
            return &ROWS[i];
        }
    }
    return NULL;
}

static void write_message(struct bytes *b, const char *of, struct tc_json v, int depth);

static void write_hex(struct bytes *b, const struct row *row, struct tc_json v)
{
    struct tc_slice s = TC_EMPTY;
    char id[64];
    b->bad = b->bad || !tc_json_string(v, &s) || s.len > sizeof id || s.len % 2 != 0;
    for (size_t i = 0; !b->bad && i < s.len; i += 2) {
        uint64_t byte = 0;
        b->bad = tc_slice_hex(tc_slice_make(s.ptr + i, 2), &byte) != 2;
        id[i / 2] = (char)(unsigned char)byte;
    }
    put_block(b, row->number, id, s.len / 2);
}

static void write_value(struct bytes *b, const struct row *row, struct tc_json v, int depth)
{
    int64_t integer = 0;
    double number = 0;
    bool flag = false;
    struct tc_slice s = TC_EMPTY;
    struct bytes inner = {.padded = b->padded};
    switch (row->kind) {
    case VARINT:
    case ZIGZAG:
        b->bad = b->bad || !tc_json_int(v, &integer);
        put_tag(b, row->number, 0);
        put_varint(b, (uint64_t)integer);
        break;
    case FIXED64:
        b->bad = b->bad || !tc_json_int(v, &integer);
        put_tag(b, row->number, 1);
        put(b, &integer, 8);
        break;
    case FIXED32:
        b->bad = b->bad || !tc_json_int(v, &integer);
        put_tag(b, row->number, 5);
        put(b, &integer, 4);
        break;
    case DOUBLE:
        b->bad = b->bad || !tc_json_double(v, &number);
        put_tag(b, row->number, 1);
        put(b, &number, 8);
        break;
    case BOOL:
        b->bad = b->bad || !tc_json_bool(v, &flag);
        put_tag(b, row->number, 0);
        put_varint(b, flag);
        break;
    case STRING:
        b->bad = b->bad || !tc_json_string(v, &s);
        put_block(b, row->number, s.ptr, s.len);
        break;
    case HEX:
        write_hex(b, row, v);
        break;
    case MESSAGE:
        write_message(&inner, row->type, v, depth);
        b->bad = b->bad || inner.bad;
        put_block(b, row->number, inner.data, inner.len);
        free(inner.data);
        break;
    }
}

static void write_message(struct bytes *b, const char *of, struct tc_json v, int depth)
{
    struct tc_slice key;
    struct tc_json member;
    struct tc_json element;
    if (tc_json_type(v) != TC_JSON_OBJECT || depth > DEPTH_MAX) {
        b->bad = true;
        return;
    }
    struct tc_json_iter it = tc_json_iter_make(v);
    while (tc_json_iter_next(&it, &key, &member)) {
        const struct row *row = find(of, key);
        if (row == NULL) {
            b->bad = true;
        } else if (tc_json_type(member) == TC_JSON_ARRAY) {
            struct tc_json_iter list = tc_json_iter_make(member);
            while (tc_json_iter_next(&list, NULL, &element)) {
                write_value(b, row, element, depth + 1);
            }
        } else {
            write_value(b, row, member, depth + 1);
        }
    }
}

bool tc_otlp_write(struct tc_slice json, bool padded, char **out, size_t *out_length)
{
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_json root;
    struct bytes b = {.padded = padded};
    b.bad = parser == NULL || tc_json_parse(parser, json, &root, NULL) != TC_OK;
    if (!b.bad) {
        write_message(&b, "Request", root, 0);
    }
    tc_json_parser_destroy(parser);
    if (b.bad) {
        free(b.data);
        return false;
    }
    *out = b.data;
    *out_length = b.len;
    return true;
}
