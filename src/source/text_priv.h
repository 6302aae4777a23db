/* SPDX-License-Identifier: Apache-2.0 */
/* A slice as a string of its own. */
#ifndef TC_SOURCE_TEXT_PRIV_H
#define TC_SOURCE_TEXT_PRIV_H

#include "base/slice.h"

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

#endif
