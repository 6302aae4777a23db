/* SPDX-License-Identifier: Apache-2.0 */
#include "http_client/http_client.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define GZIP_LEVEL 1          /* telemetry repeats itself: more effort saves little */
#define GZIP_WINDOW (15 + 16) /* gzip's head and tail around it */
#define GZIP_MEMORY 8

tc_status tc_http_gzip(struct tc_slice bytes, char **io_buf, size_t *io_cap, size_t *out_len)
{
    if (bytes.len > UINT_MAX / 2) {
        return TC_E_LIMIT;
    }
    z_stream z;
    memset(&z, 0, sizeof z);
    if (deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
        return TC_E_NOMEM;
    }
    size_t need = deflateBound(&z, (uLong)bytes.len);
    if (need > *io_cap) {
        char *buf = realloc(*io_buf, need);
        if (buf == NULL) {
            (void)deflateEnd(&z);
            return TC_E_NOMEM;
        }
        *io_buf = buf;
        *io_cap = need;
    }
    union {
        const char *in;
        Bytef *out;
    } input = {.in = bytes.ptr}; /* zlib does not write to it */
    z.next_in = input.out;
    z.avail_in = (uInt)bytes.len;
    z.next_out = (Bytef *)*io_buf;
    z.avail_out = (uInt)*io_cap;
    int result = deflate(&z, Z_FINISH);
    *out_len = z.total_out;
    (void)deflateEnd(&z);
    return result == Z_STREAM_END ? TC_OK : TC_E_LIMIT;
}
