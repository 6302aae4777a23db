/* SPDX-License-Identifier: Apache-2.0 */
#include "net/query.h"

/* Appends text, decoded; false when it is not what may stand in a name. */
static bool decode(struct tc_buf *b, struct tc_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        int c = (unsigned char)text.ptr[i];
        if (c == '+') {
            c = ' ';
        } else if (c == '%') {
            uint64_t code = 0;
            if (text.len - i < 3 || tc_slice_hex(tc_slice_make(text.ptr + i + 1, 2), &code) != 2) {
                return false;
            }
            c = (int)code;
            i += 2;
        }
        if (c < ' ' || c == 0x7f) {
            return false;
        }
        tc_buf_char(b, (char)c);
    }
    return !b->overflowed;
}

bool tc_query_next(struct tc_slice *io_rest, struct tc_buf *b, struct tc_slice *out_key,
                   struct tc_slice *out_value, bool *out_bad)
{
    while (io_rest->len > 0) {
        struct tc_slice value;
        struct tc_slice pair = tc_slice_cut(*io_rest, '&', io_rest);
        struct tc_slice key = tc_slice_cut(pair, '=', &value);
        if (pair.len == 0) {
            continue;
        }
        size_t start = b->len;
        bool good = decode(b, key);
        size_t middle = b->len;
        good = decode(b, value) && good;
        struct tc_slice all = tc_buf_slice(b);
        *out_bad = !good;
        *out_key = tc_slice_make(all.ptr + start, middle - start);
        *out_value = tc_slice_make(all.ptr + middle, b->len - middle);
        return true;
    }
    return false;
}
