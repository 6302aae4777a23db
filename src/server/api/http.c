/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/http.h"

bool tc_http_has_tag(struct tc_slice if_none_match, struct tc_slice etag)
{
    while (if_none_match.len > 0) {
        struct tc_slice tag = tc_slice_trim(tc_slice_cut(if_none_match, ',', &if_none_match));
        if (tc_slice_starts(tag, TC_LIT("W/"))) {
            tag = tc_slice_from(tag, 2);
        }
        if (tc_slice_eq(tag, TC_LIT("*")) || tc_slice_eq(tag, etag)) {
            return true;
        }
    }
    return false;
}

bool tc_http_takes_gzip(struct tc_slice accept_encoding)
{
    while (accept_encoding.len > 0) {
        struct tc_slice weight;
        struct tc_slice one = tc_slice_cut(accept_encoding, ',', &accept_encoding);
        struct tc_slice coding = tc_slice_trim(tc_slice_cut(one, ';', &weight));
        weight = tc_slice_trim(weight);
        bool is_refused = tc_slice_starts(weight, TC_LIT("q=0")) &&
                          tc_slice_find_nocase(weight, TC_LIT("0.")) == TC_NPOS;
        if ((tc_slice_eq_nocase(coding, TC_LIT("gzip")) || tc_slice_eq(coding, TC_LIT("*"))) &&
            !is_refused) {
            return true;
        }
    }
    return false;
}

enum tc_http_range tc_http_range_of(struct tc_slice range, uint64_t *out_first,
                                    uint64_t *out_length)
{
    struct tc_slice last_text;
    uint64_t last = 0;
    if (!tc_slice_starts(range, TC_LIT("bytes=")) || tc_slice_find_byte(range, ',') != TC_NPOS) {
        return TC_HTTP_RANGE_NONE;
    }
    range = tc_slice_trim(tc_slice_from(range, sizeof "bytes=" - 1));
    if (tc_slice_find_byte(range, '-') == TC_NPOS) {
        return TC_HTTP_RANGE_NONE;
    }
    struct tc_slice first_text = tc_slice_cut(range, '-', &last_text);
    if (last_text.len > 0 && !tc_slice_is_u64(last_text, &last)) {
        return TC_HTTP_RANGE_NONE;
    }
    if (first_text.len == 0) {
        *out_length = last;
        return last_text.len == 0 ? TC_HTTP_RANGE_NONE
               : last == 0        ? TC_HTTP_RANGE_BAD
                                  : TC_HTTP_RANGE_LAST;
    }
    if (!tc_slice_is_u64(first_text, out_first) || (last_text.len > 0 && last < *out_first)) {
        return TC_HTTP_RANGE_NONE;
    }
    *out_length =
        last_text.len == 0 || last - *out_first == UINT64_MAX ? UINT64_MAX : last - *out_first + 1;
    return TC_HTTP_RANGE_FROM;
}
