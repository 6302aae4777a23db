/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small languages of gRPC's headers: timeouts, percent-encoded messages, and the status with
 * details that a retry needs.
 * https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
#include "base/base64.h"
#include "base/pb.h"
#include "net/http2/priv.h"

#define TIMEOUT_DIGITS_MAX 8
#define TIMEOUT_MAX (INT64_C(100) * 24 * 3600 * TC_H2_SECOND)

bool tc__grpc_timeout(struct tc_slice text, int64_t *out_ns)
{
    static const struct {
        char unit;
        int64_t ns;
    } units[] = {{'n', 1},
                 {'u', 1000},
                 {'m', 1000000},
                 {'S', TC_H2_SECOND},
                 {'M', 60 * TC_H2_SECOND},
                 {'H', 3600 * TC_H2_SECOND}};
    if (text.len < 2 || text.len > TIMEOUT_DIGITS_MAX + 1) {
        return false;
    }
    uint64_t count = 0;
    if (!tc_slice_is_u64(tc_slice_head(text, text.len - 1), &count)) {
        return false;
    }
    for (size_t i = 0; i < TC_COUNT(units); i++) {
        if (text.ptr[text.len - 1] == units[i].unit) {
            /* Eight digits of hours do not fit in ns. */
            bool fits = (int64_t)count < TIMEOUT_MAX / units[i].ns;
            *out_ns = fits ? (int64_t)count * units[i].ns : TIMEOUT_MAX;
            return true;
        }
    }
    return false;
}

size_t tc__grpc_message(struct tc_slice text, char *out, size_t cap)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        bool plain = c >= ' ' && c <= '~' && c != '%';
        if (len + (plain ? 1 : 3) > cap) {
            break;
        }
        if (plain) {
            out[len++] = (char)c;
        } else {
            out[len++] = '%';
            out[len++] = hex[c >> 4];
            out[len++] = hex[c & 15];
        }
    }
    return len;
}

size_t tc__grpc_details(int grpc_status, struct tc_slice message, unsigned retry_after_s, char *out,
                        size_t cap)
{
    char duration[16];
    char retry[32];
    char any[96];
    char status[TC_H2_MESSAGE_MAX + 128];
    struct tc_buf d = tc_buf_make(duration, sizeof duration);
    tc_pb_put_number(&d, 1, retry_after_s); /* google.protobuf.Duration.seconds */
    struct tc_buf r = tc_buf_make(retry, sizeof retry);
    tc_pb_put_bytes(&r, 1, tc_buf_slice(&d)); /* google.rpc.RetryInfo.retry_delay */
    struct tc_buf a = tc_buf_make(any, sizeof any);
    tc_pb_put_bytes(&a, 1, TC_LIT("type.googleapis.com/google.rpc.RetryInfo"));
    tc_pb_put_bytes(&a, 2, tc_buf_slice(&r));
    struct tc_buf s = tc_buf_make(status, sizeof status);
    tc_pb_put_number(&s, 1, (uint64_t)grpc_status); /* google.rpc.Status */
    tc_pb_put_bytes(&s, 2, message);
    tc_pb_put_bytes(&s, 3, tc_buf_slice(&a));
    bool fits = !d.overflowed && !r.overflowed && !a.overflowed && !s.overflowed &&
                TC_BASE64_BARE_LEN(s.len) <= cap;
    return fits ? (size_t)(tc_base64_put(out, tc_buf_slice(&s), false) - out) : 0;
}
