/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/raw.h"

static size_t skip_space(struct tc_slice s, size_t at)
{
    while (at < s.len && tc_json_is_space(s.ptr[at])) {
        at++;
    }
    return at;
}

/* The index behind the string that opens at s[at], or TC_NPOS when it does not close. */
static size_t string_end(struct tc_slice s, size_t at)
{
    for (size_t i = at + 1; i < s.len;) {
        const char *quote = memchr(s.ptr + i, '"', s.len - i);
        if (quote == NULL) {
            return TC_NPOS;
        }
        size_t end = (size_t)(quote - s.ptr);
        size_t slashes = 0;
        while (end - slashes > at + 1 && s.ptr[end - slashes - 1] == '\\') {
            slashes++;
        }
        if (slashes % 2 == 0) {
            return end + 1;
        }
        i = end + 1;
    }
    return TC_NPOS;
}

/* The index behind the object or array that opens at s[at]. Brackets are only counted:
 * the parser proper finds those that do not match. */
static size_t container_end(struct tc_slice s, size_t at)
{
    size_t depth = 0;
    for (size_t i = at; i < s.len;) {
        char c = s.ptr[i];
        if (c == '"') {
            i = string_end(s, i);
            if (i == TC_NPOS) {
                return TC_NPOS;
            }
            continue;
        }
        if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            depth--;
        }
        i++;
        if (depth == 0) {
            return i;
        }
    }
    return TC_NPOS;
}

bool tc_json_raw_value(struct tc_slice text, size_t *io_at, struct tc_slice *out)
{
    size_t start = skip_space(text, *io_at);
    if (start >= text.len) {
        return false;
    }
    size_t end = start;
    char c = text.ptr[start];
    if (c == '"') {
        end = string_end(text, start);
    } else if (c == '{' || c == '[') {
        end = container_end(text, start);
    } else {
        while (end < text.len && strchr(",]} \t\r\n:", text.ptr[end]) == NULL) {
            end++;
        }
    }
    if (end == TC_NPOS || end == start) {
        return false;
    }
    *io_at = end;
    *out = tc_slice_make(text.ptr + start, end - start);
    return true;
}

/* Steps over the opening bracket or the comma in front of the next item. */
static bool next_item(struct tc_slice text, size_t *io_at, char open)
{
    size_t at = skip_space(text, *io_at);
    if (at >= text.len || text.ptr[at] != (*io_at == 0 ? open : ',')) {
        return false;
    }
    *io_at = at + 1;
    return true;
}

/* A value inside a container. A number or literal that runs to the end of the text may go on
 * behind it: only strings and containers show by themselves that they are whole. */
static bool inner_value(struct tc_slice text, size_t *io_at, struct tc_slice *out)
{
    struct tc_slice value;
    if (!tc_json_raw_value(text, io_at, &value)) {
        return false;
    }
    char c = value.ptr[0];
    if (*io_at == text.len && c != '"' && c != '{' && c != '[') {
        return false;
    }
    *out = value;
    return true;
}

bool tc_json_raw_element(struct tc_slice array, size_t *io_at, struct tc_slice *out)
{
    return next_item(array, io_at, '[') && inner_value(array, io_at, out);
}

bool tc_json_raw_member(struct tc_slice object, size_t *io_at, struct tc_slice *out_key,
                        struct tc_slice *out)
{
    struct tc_slice key;
    if (!next_item(object, io_at, '{') || !tc_json_raw_value(object, io_at, &key) || key.len < 2 ||
        key.ptr[0] != '"') {
        return false;
    }
    size_t at = skip_space(object, *io_at);
    if (at >= object.len || object.ptr[at] != ':') {
        return false;
    }
    *io_at = at + 1;
    *out_key = tc_slice_make(key.ptr + 1, key.len - 2);
    return inner_value(object, io_at, out);
}

bool tc_json_raw_get(struct tc_slice object, struct tc_slice key, struct tc_slice *out)
{
    struct tc_slice name;
    struct tc_slice value;
    for (size_t at = 0; tc_json_raw_member(object, &at, &name, &value);) {
        if (tc_slice_eq(name, key)) {
            *out = value;
            return true;
        }
    }
    return false;
}
