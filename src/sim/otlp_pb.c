/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP's JSON as protobuf, by a table of the messages that a fleet uses (opentelemetry-proto 1.x).
 * Messages are written inside of each other; the length of one is put in front of it when it ends.
 * The depth is bounded and kept on a stack of its own.
 */
#include "base/json/json.h"
#include "base/limits.h"
#include "base/pb.h"
#include "sim/sim.h"

#include <string.h>

enum message {
    M_NONE,
    M_RESOURCE_LOGS,
    M_SCOPE_LOGS,
    M_LOG_RECORD,
    M_RESOURCE_METRICS,
    M_SCOPE_METRICS,
    M_METRIC,
    M_GAUGE,
    M_SUM,
    M_POINT,
    M_RESOURCE,
    M_SCOPE,
    M_KEY_VALUE,
    M_ANY,
    M_ARRAY,
    M_LIST,
};

enum type { T_STRING, T_BOOL, T_VARINT, T_FIXED64, T_DOUBLE, T_MESSAGE };

struct field {
    enum message in;
    const char *name;
    uint32_t number;
    enum type type;
    enum message of; /* T_MESSAGE; a JSON array is a repeated one */
};

static const struct field FIELDS[] = {
    {M_RESOURCE_LOGS, "resource", 1, T_MESSAGE, M_RESOURCE},
    {M_RESOURCE_LOGS, "scopeLogs", 2, T_MESSAGE, M_SCOPE_LOGS},
    {M_SCOPE_LOGS, "scope", 1, T_MESSAGE, M_SCOPE},
    {M_SCOPE_LOGS, "logRecords", 2, T_MESSAGE, M_LOG_RECORD},
    {M_LOG_RECORD, "timeUnixNano", 1, T_FIXED64, M_NONE},
    {M_LOG_RECORD, "severityNumber", 2, T_VARINT, M_NONE},
    {M_LOG_RECORD, "severityText", 3, T_STRING, M_NONE},
    {M_LOG_RECORD, "body", 5, T_MESSAGE, M_ANY},
    {M_LOG_RECORD, "attributes", 6, T_MESSAGE, M_KEY_VALUE},
    {M_LOG_RECORD, "observedTimeUnixNano", 11, T_FIXED64, M_NONE},
    {M_LOG_RECORD, "eventName", 12, T_STRING, M_NONE},
    {M_RESOURCE_METRICS, "resource", 1, T_MESSAGE, M_RESOURCE},
    {M_RESOURCE_METRICS, "scopeMetrics", 2, T_MESSAGE, M_SCOPE_METRICS},
    {M_SCOPE_METRICS, "scope", 1, T_MESSAGE, M_SCOPE},
    {M_SCOPE_METRICS, "metrics", 2, T_MESSAGE, M_METRIC},
    {M_METRIC, "name", 1, T_STRING, M_NONE},
    {M_METRIC, "gauge", 5, T_MESSAGE, M_GAUGE},
    {M_METRIC, "sum", 7, T_MESSAGE, M_SUM},
    {M_GAUGE, "dataPoints", 1, T_MESSAGE, M_POINT},
    {M_SUM, "dataPoints", 1, T_MESSAGE, M_POINT},
    {M_SUM, "aggregationTemporality", 2, T_VARINT, M_NONE},
    {M_SUM, "isMonotonic", 3, T_BOOL, M_NONE},
    {M_POINT, "timeUnixNano", 3, T_FIXED64, M_NONE},
    {M_POINT, "asDouble", 4, T_DOUBLE, M_NONE},
    {M_POINT, "attributes", 7, T_MESSAGE, M_KEY_VALUE},
    {M_RESOURCE, "attributes", 1, T_MESSAGE, M_KEY_VALUE},
    {M_SCOPE, "name", 1, T_STRING, M_NONE},
    {M_SCOPE, "version", 2, T_STRING, M_NONE},
    {M_KEY_VALUE, "key", 1, T_STRING, M_NONE},
    {M_KEY_VALUE, "value", 2, T_MESSAGE, M_ANY},
    {M_ANY, "stringValue", 1, T_STRING, M_NONE},
    {M_ANY, "boolValue", 2, T_BOOL, M_NONE},
    {M_ANY, "intValue", 3, T_VARINT, M_NONE},
    {M_ANY, "doubleValue", 4, T_DOUBLE, M_NONE},
    {M_ANY, "arrayValue", 5, T_MESSAGE, M_ARRAY},
    {M_ANY, "kvlistValue", 6, T_MESSAGE, M_LIST},
    {M_ARRAY, "values", 1, T_MESSAGE, M_ANY},
    {M_LIST, "values", 1, T_MESSAGE, M_KEY_VALUE},
};

/* ---- the wire ------------------------------------------------------------------------------ */

/* Puts the length of what was written since `start` in front of it. */
static void put_length(struct tc_buf *b, size_t start)
{
    char text[10];
    struct tc_buf length = tc_buf_make(text, sizeof text);
    size_t len = b->len - start;
    tc_pb_put_varint(&length, len);
    if (b->overflowed || length.len > b->cap - b->len) {
        b->overflowed = true;
        return;
    }
    memmove(b->data + start + length.len, b->data + start, len);
    memcpy(b->data + start, text, length.len);
    b->len += length.len;
}

static bool put_scalar(struct tc_buf *b, const struct field *f, struct tc_json v)
{
    struct tc_slice text;
    int64_t integer = 0;
    double real = 0;
    bool boolean = false;
    switch (f->type) {
    case T_STRING:
        if (!tc_json_string(v, &text)) {
            return false;
        }
        tc_pb_put_bytes(b, f->number, text);
        return true;
    case T_BOOL:
        if (!tc_json_bool(v, &boolean)) {
            return false;
        }
        tc_pb_put_number(b, f->number, boolean);
        return true;
    case T_VARINT:
    case T_FIXED64:
        if (!tc_json_int(v, &integer)) {
            return false;
        }
        if (f->type == T_VARINT) {
            tc_pb_put_number(b, f->number, (uint64_t)integer);
        } else {
            tc_pb_put_fixed64(b, f->number, (uint64_t)integer);
        }
        return true;
    case T_DOUBLE:
        if (!tc_json_double(v, &real)) {
            return false;
        }
        uint64_t bits = 0;
        memcpy(&bits, &real, sizeof bits);
        tc_pb_put_fixed64(b, f->number, bits);
        return true;
    case T_MESSAGE:
        break;
    }
    return false;
}

/* ---- the walk ------------------------------------------------------------------------------ */

/* A message that is being written, or the elements of a repeated one. */
struct level {
    struct tc_json_iter iter;
    enum message message;      /* of a message */
    const struct field *field; /* of a repeated one; NULL for a message */
    size_t start;              /* of a message: where its bytes begin */
};

struct walk {
    struct tc_buf *b;
    struct level stack[2 * TC_JSON_DEPTH_MAX];
    size_t depth;
};

static const struct field *find_field(enum message in, struct tc_slice name)
{
    for (size_t i = 0; i < TC_COUNT(FIELDS); i++) {
        if (FIELDS[i].in == in && tc_slice_eq(name, tc_slice_cstr(FIELDS[i].name))) {
            return &FIELDS[i];
        }
    }
    return NULL;
}

static bool push(struct walk *w, struct level level)
{
    if (w->depth == TC_COUNT(w->stack)) {
        return false;
    }
    w->stack[w->depth++] = level;
    return true;
}

static bool begin_message(struct walk *w, const struct field *f, struct tc_json v)
{
    if (tc_json_type(v) != TC_JSON_OBJECT) {
        return false;
    }
    tc_pb_put_tag(w->b, f->number, TC_PB_LENGTH);
    return push(w,
                (struct level){.iter = tc_json_iter_make(v), .message = f->of, .start = w->b->len});
}

/* One member of the message on top, or one element of the list there. */
static bool put_member(struct walk *w, struct tc_slice key, struct tc_json v)
{
    const struct level *top = &w->stack[w->depth - 1];
    const struct field *f = top->field == NULL ? find_field(top->message, key) : top->field;
    if (f == NULL) {
        return false;
    }
    if (f->type != T_MESSAGE) {
        return put_scalar(w->b, f, v);
    }
    if (top->field == NULL && tc_json_type(v) == TC_JSON_ARRAY) {
        return push(w, (struct level){.iter = tc_json_iter_make(v), .field = f});
    }
    return begin_message(w, f, v);
}

tc_status tc_sim_protobuf(struct tc_buf *out, struct tc_json_parser *parser,
                          enum tc_sim_signal signal, struct tc_slice json, struct tc_error *err)
{
    struct tc_json root;
    TC_TRY(tc_json_parse(parser, json, &root, err));
    const struct field request = {.number = 1,
                                  .type = T_MESSAGE,
                                  .of =
                                      signal == TC_SIM_LOGS ? M_RESOURCE_LOGS : M_RESOURCE_METRICS};
    struct walk w = {.b = out};
    bool ok = begin_message(&w, &request, root);
    while (ok && w.depth > 0) {
        struct level *top = &w.stack[w.depth - 1];
        struct tc_slice key;
        struct tc_json v;
        if (tc_json_iter_next(&top->iter, &key, &v)) {
            ok = put_member(&w, key, v);
            continue;
        }
        if (top->field == NULL) {
            put_length(out, top->start);
        }
        w.depth--;
    }
    return ok ? TC_OK : tc_fail(err, TC_E_MALFORMED, 0, "a field that OTLP does not have here");
}
