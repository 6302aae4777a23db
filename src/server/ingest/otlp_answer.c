/* SPDX-License-Identifier: Apache-2.0 */
#include "server/ingest/otlp_answer.h"

#include "base/json/out.h"
#include "base/pb.h"

/* Of a partial success: a count and a message, which tc_otlp_answer_ok's callers keep short. */
#define PARTIAL_BYTES_MAX 1024

static void put_text(struct tc_buf *b, uint32_t number, struct tc_slice text)
{
    if (text.len > 0) {
        tc_pb_put_bytes(b, number, text);
    }
}

/* All three responses have partial_success as field 1, with a count as 1 and a message as 2. */
static void ok_protobuf(struct tc_buf *b, uint64_t rejected, struct tc_slice why)
{
    char bytes[PARTIAL_BYTES_MAX];
    struct tc_buf partial = tc_buf_make(bytes, sizeof bytes);
    tc_pb_put_number(&partial, 1, rejected);
    put_text(&partial, 2, why);
    b->overflowed |= partial.overflowed;
    tc_pb_put_bytes(b, 1, tc_buf_slice(&partial));
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
    struct tc_json_out j = tc_json_object_make(b);
    if (rejected > 0) {
        tc_json_put_object(&j, "partialSuccess");
        tc_json_key_plain(&j, rejected_key(signal));
        tc_json_add_i64_text(&j, (int64_t)rejected);
        tc_json_put_str(&j, "errorMessage", why);
        tc_json_end_object(&j);
    }
    tc_json_end_object(&j);
}

void tc_otlp_answer_failure(struct tc_buf *b, enum tc_otlp_form form, enum tc_answer answer,
                            struct tc_slice message)
{
    uint64_t code = (uint64_t)tc_answer_grpc(answer);
    if (form == TC_OTLP_PROTOBUF) {
        tc_pb_put_number(b, 1, code);
        put_text(b, 2, message);
        return;
    }
    struct tc_json_out j = tc_json_object_make(b);
    tc_json_put_u64(&j, "code", code);
    tc_json_put_str(&j, "message", message);
    tc_json_end_object(&j);
}

struct tc_slice tc_otlp_content_type(enum tc_otlp_form form)
{
    return form == TC_OTLP_PROTOBUF ? TC_LIT("application/x-protobuf") : TC_LIT("application/json");
}
