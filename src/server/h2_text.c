/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small languages of gRPC's headers: timeouts, percent-encoded messages, and the status with
 * details that a retry needs.
 * https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
#include "server/h2_priv.h"

#include <string.h>

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
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
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

/* Protobuf into a fixed place; `over` once it did not fit. */
struct writer {
    unsigned char *at;
    unsigned char *end;
    bool over;
};

static void put_byte(struct writer *w, unsigned char byte)
{
    if (w->at == w->end) {
        w->over = true;
        return;
    }
    *w->at++ = byte;
}

static void put_varint(struct writer *w, uint64_t value)
{
    while (value > 127) {
        put_byte(w, (unsigned char)(value | 128));
        value >>= 7;
    }
    put_byte(w, (unsigned char)value);
}

static void put_number(struct writer *w, unsigned field, uint64_t value)
{
    put_varint(w, (uint64_t)field << 3);
    put_varint(w, value);
}

static void put_bytes(struct writer *w, unsigned field, struct tc_slice bytes)
{
    put_varint(w, (uint64_t)field << 3 | 2);
    put_varint(w, bytes.len);
    if ((size_t)(w->end - w->at) < bytes.len) {
        w->over = true;
        return;
    }
    if (bytes.len > 0) {
        memcpy(w->at, bytes.ptr, bytes.len);
        w->at += bytes.len;
    }
}

static struct tc_slice written(const struct writer *w, const unsigned char *from)
{
    return tc_slice_make((const char *)from, (size_t)(w->at - from));
}

static size_t base64(struct tc_slice bytes, char *out, size_t cap)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t len = 0;
    unsigned held = 0;
    unsigned bits = 0;
    if ((bytes.len * 8 + 5) / 6 > cap) {
        return 0;
    }
    for (size_t i = 0; i < bytes.len; i++) {
        held = held << 8 | (unsigned char)bytes.ptr[i];
        bits += 8;
        while (bits >= 6) {
            bits -= 6;
            out[len++] = digits[(held >> bits) & 63];
        }
    }
    if (bits > 0) {
        out[len++] = digits[(held << (6 - bits)) & 63];
    }
    return len;
}

size_t tc__grpc_details(int grpc_status, struct tc_slice message, unsigned retry_after_s, char *out,
                        size_t cap)
{
    unsigned char duration[16];
    unsigned char retry[32];
    unsigned char any[96];
    unsigned char status[TC_H2_MESSAGE_MAX + 128];
    struct writer w = {duration, duration + sizeof duration, false};
    put_number(&w, 1, retry_after_s); /* google.protobuf.Duration.seconds */
    struct writer r = {retry, retry + sizeof retry, w.over};
    put_bytes(&r, 1, written(&w, duration)); /* google.rpc.RetryInfo.retry_delay */
    struct writer a = {any, any + sizeof any, r.over};
    put_bytes(&a, 1, TC_LIT("type.googleapis.com/google.rpc.RetryInfo"));
    put_bytes(&a, 2, written(&r, retry));
    struct writer s = {status, status + sizeof status, a.over};
    put_number(&s, 1, (uint64_t)grpc_status); /* google.rpc.Status */
    put_bytes(&s, 2, message);
    put_bytes(&s, 3, written(&a, any));
    return s.over ? 0 : base64(written(&s, status), out, cap);
}
