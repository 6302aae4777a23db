/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of requests that ask for less than the whole. Pure. */
#ifndef TC_SERVER_API_HTTP_H
#define TC_SERVER_API_HTTP_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether If-None-Match names the tag, or all. Weak ones count as the strong (RFC 9110 13.1.2). */
bool tc_http_has_tag(struct tc_slice if_none_match, struct tc_slice etag);
/* Whether Accept-Encoding takes gzip. */
bool tc_http_takes_gzip(struct tc_slice accept_encoding);

enum tc_http_range {
    TC_HTTP_RANGE_NONE, /* no Range, or one that may be ignored: not bytes, or several */
    TC_HTTP_RANGE_BAD,  /* no bytes lie in it */
    TC_HTTP_RANGE_FROM, /* from `first`, `length` bytes */
    TC_HTTP_RANGE_LAST, /* the last `length` bytes */
};
/* "bytes=0-99", "bytes=100-", "bytes=-100". UINT64_MAX: up to the end. */
enum tc_http_range tc_http_range_of(struct tc_slice range, uint64_t *out_first,
                                    uint64_t *out_length);

#endif
