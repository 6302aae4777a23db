/* SPDX-License-Identifier: Apache-2.0 */
#include "base/url.h"

void tc_buf_url(struct tc_buf *b, struct tc_slice text)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (tc_is_word(c) || c == '-' || c == '.' || c == '~') {
            tc_buf_char(b, c);
        } else {
            tc_buf_char(b, '%');
            tc_buf_char(b, digits[(unsigned char)c >> 4]);
            tc_buf_char(b, digits[(unsigned char)c & 15]);
        }
    }
}
