/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the configuration: as strings, and what is wrong with one. */
#ifndef TC_SOURCE_TEXT_PRIV_H
#define TC_SOURCE_TEXT_PRIV_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* To be freed; NULL: no memory. Reads nothing behind the slice, which strndup may. */
static inline char *tc__text_copy(struct tc_slice s)
{
    char *text = malloc(s.len + 1);
    if (text != NULL) {
        if (s.len > 0) {
            memcpy(text, s.ptr, s.len);
        }
        text[s.len] = '\0';
    }
    return text;
}

/* Into an array of so many bytes; false: it does not fit. */
static inline bool tc__text_fill(char *to, size_t size, struct tc_slice s)
{
    if (s.len >= size) {
        return false;
    }
    if (s.len > 0) {
        memcpy(to, s.ptr, s.len);
    }
    to[s.len] = '\0';
    return true;
}

#define TC__TEXT_SHOWN_MAX 120

/* TC_E_USAGE with the line, as far as it is shown, and what is wrong with it. */
TC_CHECKED static inline tc_status tc__text_wrong(struct tc_error *err, struct tc_slice line,
                                                  const char *why)
{
    return tc_fail(err, TC_E_USAGE, 0, "\"%.*s\": %s",
                   TC_FMT(tc_slice_head(line, TC__TEXT_SHOWN_MAX)), why);
}

#endif
