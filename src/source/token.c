/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/io.h"
#include "source/token_priv.h"

tc_status tc__token_header(const char *path, struct tc_buf *b, struct tc_error *err)
{
    if (path[0] == '\0') {
        return TC_OK;
    }
    char bytes[TC__TOKEN_HEADER_MAX - 64];
    ssize_t n = tc_io_read_path(path, bytes, sizeof bytes);
    if (n < 0) {
        return tc_fail_errno(err, path);
    }
    struct tc_slice token = tc_slice_trim(tc_slice_make(bytes, (size_t)n));
    bool is_token = token.len > 0 && (size_t)n < sizeof bytes;
    for (size_t i = 0; i < token.len; i++) {
        is_token = is_token && token.ptr[i] > ' ' && token.ptr[i] < 0x7f;
    }
    if (!is_token) {
        return tc_fail(err, TC_E_USAGE, 0, "%s: holds no bearer token: one line without blanks",
                       path);
    }
    tc_buf_lit(b, "Authorization: Bearer ");
    tc_buf_str(b, token);
    tc_buf_lit(b, "\r\n");
    return TC_OK;
}
