/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cutting JSON text without parsing it: the byte ranges of array elements and
 * object members, so that evidence can point at the exact bytes and a large
 * list is parsed one element at a time. Strings and nesting are honoured,
 * nothing else is checked: what is cut out goes through base/json/json.h, which
 * does. Linear in the text walked; nesting needs no recursion.
 */
#ifndef TC_BASE_JSON_RAW_H
#define TC_BASE_JSON_RAW_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

static inline bool tc_json_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/*
 * The value that starts at text[*io_at] after white space. Moves *io_at behind it.
 * False when there is none or it does not end inside text.
 */
bool tc_json_raw_value(struct tc_slice text, size_t *io_at, struct tc_slice *out);

/* Start at 0; each call gives the next element of the array text. False at the end or
 * when text is not an array; a torn last element is not given. */
bool tc_json_raw_element(struct tc_slice array, size_t *io_at, struct tc_slice *out);

/* The same for the members of an object; the key comes without quotes, not unescaped. */
bool tc_json_raw_member(struct tc_slice object, size_t *io_at, struct tc_slice *out_key,
                        struct tc_slice *out);

/* The first member of that name (compared without unescaping). */
bool tc_json_raw_get(struct tc_slice object, struct tc_slice key, struct tc_slice *out);

#endif
