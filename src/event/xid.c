/* SPDX-License-Identifier: Apache-2.0 */
#include "event/xid.h"

#include <stddef.h>

static const struct tc_xid XIDS[] = {
#define XID(number, class_id, severity_id, text, advice) \
    {.code = (number),                                   \
     .class = TC_XID_##class_id,                         \
     .severity = TC_XID_##severity_id,                   \
     .name = (text),                                     \
     .action = (advice)},
#include "event/xid.def"
#undef XID
};

#define XID_COUNT TC_COUNT(XIDS)

const struct tc_xid *tc_xid_table(size_t *out_count)
{
    *out_count = XID_COUNT;
    return XIDS;
}

const struct tc_xid *tc_xid_find(int64_t code)
{
    size_t low = 0;
    size_t high = XID_COUNT;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (XIDS[middle].code < code) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < XID_COUNT && XIDS[low].code == code ? &XIDS[low] : NULL;
}

const char *tc_xid_class_name(enum tc_xid_class class)
{
    switch (class) {
    case TC_XID_HARDWARE:
        return "hardware";
    case TC_XID_APPLICATION:
        return "application";
    case TC_XID_DRIVER:
        return "driver";
    case TC_XID_INFO:
        return "info";
    }
    return "unknown";
}

const char *tc_xid_severity_name(enum tc_xid_severity severity)
{
    switch (severity) {
    case TC_XID_NOTICE:
        return "notice";
    case TC_XID_WARNING:
        return "warning";
    case TC_XID_ERROR:
        return "error";
    case TC_XID_FATAL:
        return "fatal";
    }
    return "unknown";
}
