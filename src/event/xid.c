/* SPDX-License-Identifier: Apache-2.0 */
#include "event/xid.h"

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

const struct tc_xid *tc_xid_table(size_t *out_count)
{
    *out_count = TC_COUNT(XIDS);
    return XIDS;
}

/* Where a code is in XIDS, counted from 1; 0 is none. */
enum {
    PLACE_NONE,
#define XID(number, class_id, severity_id, text, advice) PLACE_##number,
#include "event/xid.def"
#undef XID
};

static const uint8_t PLACES[] = {
#define XID(number, class_id, severity_id, text, advice) [number] = PLACE_##number,
#include "event/xid.def"
#undef XID
};
_Static_assert(TC_COUNT(XIDS) <= UINT8_MAX, "every place fits");

const struct tc_xid *tc_xid_find(int64_t code)
{
    bool has = code >= 0 && code < (int64_t)TC_COUNT(PLACES) && PLACES[code] != PLACE_NONE;
    return has ? &XIDS[PLACES[code] - 1] : NULL;
}

bool tc_xid_is_nvlink(int64_t code)
{
    return code == 74 || (code >= 144 && code <= 150);
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
