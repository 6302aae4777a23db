/* SPDX-License-Identifier: Apache-2.0 */
/* Values of HTTP headers that repeat what the body says. */
#include "base/base64.h"
#include "mcp/mcp_priv.h"

/* Names and addresses of ours are shorter. */
#define VALUE_MAX 1024

#define BEGIN "=?base64?"
#define END "?="

bool tc__header_eq(struct tc_slice header, struct tc_slice value)
{
    uint8_t bytes[VALUE_MAX / 4 * 3 + 3];
    size_t len = 0;
    if (header.len == 0) {
        return false;
    }
    if (header.len < sizeof BEGIN + sizeof END - 2 || !tc_slice_starts(header, TC_LIT(BEGIN)) ||
        !tc_slice_ends(header, TC_LIT(END))) {
        return tc_slice_eq(header, value);
    }
    struct tc_slice text = tc_slice_from(header, sizeof BEGIN - 1);
    text.len -= sizeof END - 1;
    return text.len <= VALUE_MAX && tc_base64_get(text, bytes, &len) &&
           tc_slice_eq(tc_slice_make((const char *)bytes, len), value);
}
