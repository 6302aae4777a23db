/* SPDX-License-Identifier: Apache-2.0 */
#include "server/otlp_answer.h"

/* Wire types of protobuf, and a field's tag of one byte. */
#define VARINT 0
#define BYTES 2
#define TAG(field, type) ((char)((field) << 3 | (type)))
#define VARINT_BYTES_MAX 10
#define VARINT_MORE 0x80

static void put_varint(struct tc_buf *b, uint64_t value)
{
    while (value >= VARINT_MORE) {
        tc_buf_char(b, (char)(value | VARINT_MORE));
        value >>= 7;
    }
    tc_buf_char(b, (char)value);
}

static size_t varint_bytes(uint64_t value)
{
    size_t n = 1;
    for (; value >= VARINT_MORE; value >>= 7) {
        n++;
    }
    return n;
}

static void put_bytes(struct tc_buf *b, unsigned field, struct tc_slice bytes)
{
    if (bytes.len > 0) {
        tc_buf_char(b, TAG(field, BYTES));
        put_varint(b, bytes.len);
        tc_buf_str(b, bytes);
    }
}

/* All three responses have partial_success as field 1, with a count as 1 and a message as 2. */
static void ok_protobuf(struct tc_buf *b, uint64_t rejected, struct tc_slice why)
{
    size_t message = why.len == 0 ? 0 : 1 + varint_bytes(why.len) + why.len;
    tc_buf_char(b, TAG(1, BYTES));
    put_varint(b, 1 + varint_bytes(rejected) + message);
    tc_buf_char(b, TAG(1, VARINT));
    put_varint(b, rejected);
    put_bytes(b, 2, why);
}

static struct tc_slice rejected_key(enum tc_otlp_signal signal)
{
    switch (signal) {
    case TC_OTLP_LOGS:
        return TC_LIT("rejectedLogRecords");
    case TC_OTLP_METRICS:
        return TC_LIT("rejectedDataPoints");
    case TC_OTLP_TRACES:
        return TC_LIT("rejectedSpans");
    }
    return TC_EMPTY;
}

void tc_otlp_answer_ok(struct tc_buf *b, enum tc_otlp_signal signal, enum tc_otlp_form form,
                       uint64_t rejected, struct tc_slice why)
{
    if (form == TC_OTLP_PROTOBUF) {
        if (rejected > 0) {
            ok_protobuf(b, rejected, why);
        }
        return;
    }
    if (rejected == 0) {
        tc_buf_lit(b, "{}");
        return;
    }
    tc_buf_lit(b, "{\"partialSuccess\":{\"");
    tc_buf_str(b, rejected_key(signal));
    tc_buf_lit(b, "\":\"");
    tc_buf_u64(b, rejected);
    tc_buf_lit(b, "\",\"errorMessage\":");
    tc_buf_json(b, why);
    tc_buf_lit(b, "}}");
}

void tc_otlp_answer_failure(struct tc_buf *b, enum tc_otlp_form form, enum tc_answer answer,
                            struct tc_slice message)
{
    uint64_t code = (uint64_t)tc_answer_grpc(answer);
    if (form == TC_OTLP_PROTOBUF) {
        tc_buf_char(b, TAG(1, VARINT));
        put_varint(b, code);
        put_bytes(b, 2, message);
        return;
    }
    tc_buf_lit(b, "{\"code\":");
    tc_buf_u64(b, code);
    tc_buf_lit(b, ",\"message\":");
    tc_buf_json(b, message);
    tc_buf_lit(b, "}");
}

struct tc_slice tc_otlp_content_type(enum tc_otlp_form form)
{
    return form == TC_OTLP_PROTOBUF ? TC_LIT("application/x-protobuf") : TC_LIT("application/json");
}
