/* SPDX-License-Identifier: Apache-2.0 */
#include "answers/cursor.h"
#include "base/base64.h"
#include "base/digest.h"
#include "base/format.h"

#include <string.h>

/* Bytes of the digest in front of the text. */
#define CHECK_BYTES 6

/* Of "runs 1763164800000000 run-1". */
static bool check_of(struct tc_slice text, uint8_t out[CHECK_BYTES])
{
    struct tc_digest digest;
    if (tc_digest_sha256(text, &digest) != TC_OK) {
        return false;
    }
    memcpy(out, digest.bytes, CHECK_BYTES);
    return true;
}

void tc_cursor_put(struct tc_json_out *j, const struct tc_question *q, bool has_more, int64_t at,
                   struct tc_slice key)
{
    char bytes[CHECK_BYTES + TC_CURSOR_KEY_MAX + 128];
    char text[TC_BASE64_LEN(sizeof bytes)];
    struct tc_buf b = tc_buf_make(bytes + CHECK_BYTES, sizeof bytes - CHECK_BYTES);
    tc_json_key(j, "next");
    (void)tc_format(&b, "{} {} {}", q->name, at, tc_slice_head(key, TC_CURSOR_KEY_MAX));
    if (!has_more || !check_of(tc_buf_slice(&b), (uint8_t *)bytes)) {
        tc_json_add_null(j);
        return;
    }
    char *end = tc_base64_put(text, tc_slice_make(bytes, CHECK_BYTES + b.len), false);
    for (char *c = text; c < end; c++) {
        *c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
    }
    tc_json_add_str(j, tc_slice_make(text, (size_t)(end - text)));
}

/* The parts of a text that was checked. */
static bool read_parts(const struct tc_question *q, struct tc_slice text, struct tc_cursor *out)
{
    struct tc_slice rest = TC_EMPTY;
    struct tc_slice name = tc_slice_cut(text, ' ', &rest);
    struct tc_slice at = tc_slice_cut(rest, ' ', &out->key);
    return tc_slice_eq(name, tc_slice_cstr(q->name)) && tc_slice_is_i64(at, &out->at) &&
           out->key.len > 0;
}

tc_status tc_cursor_read(const struct tc_asked *asked, struct tc_cursor *out, struct tc_error *err)
{
    struct tc_slice given = tc_asked_text(asked, "cursor");
    uint8_t check[CHECK_BYTES];
    size_t len = 0;
    *out = (struct tc_cursor){.is_given = given.len > 0};
    if (given.len == 0) {
        return TC_OK;
    }
    if (given.len / 4 * 3 + 3 > sizeof out->room ||
        !tc_base64_get(given, (uint8_t *)out->room, &len) || len <= CHECK_BYTES) {
        return tc_fail(err, TC_E_USAGE, 0, "\"cursor\" is none that this list gave as \"next\"");
    }
    struct tc_slice text = tc_slice_make(out->room + CHECK_BYTES, len - CHECK_BYTES);
    if (!check_of(text, check) || memcmp(check, out->room, CHECK_BYTES) != 0 ||
        !read_parts(asked->question, text, out)) {
        return tc_fail(err, TC_E_USAGE, 0, "\"cursor\" is none that this list gave as \"next\"");
    }
    return TC_OK;
}
