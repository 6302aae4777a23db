/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

const char *tc_status_text(tc_status status)
{
    switch (status) {
#define TC_STATUS_TEXT(name, value, text) \
    case TC_##name:                       \
        return text;
        TC_STATUS_MAP(TC_STATUS_TEXT)
#undef TC_STATUS_TEXT
    }
    return "unknown status";
}

/* In parentheses, for clang-tidy takes the name for a macro. */
tc_status(tc_fail)(struct tc_error *err, tc_status status, size_t offset, const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        err->status = status;
        err->offset = offset;
        if (vsnprintf(err->message, sizeof err->message, format, args) < 0) {
            err->message[0] = '\0';
        }
        va_end(args);
    }
    return status;
}
