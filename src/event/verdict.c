/* SPDX-License-Identifier: Apache-2.0 */
#include "event/verdict.h"

#include "event/offence.h"

const char *tc_severity_name(enum tc_severity severity)
{
    switch (severity) {
    case TC_SEVERITY_INFO:
        return "info";
    case TC_SEVERITY_WARNING:
        return "warning";
    case TC_SEVERITY_CRITICAL:
        return "critical";
    }
    return "unknown";
}

const char *tc_confidence_name(enum tc_confidence confidence)
{
    return confidence == TC_CONFIDENCE_FULL ? "full" : "partial";
}

const char *tc_verdict_status_name(enum tc_verdict_status status)
{
    switch (status) {
    case TC_VERDICT_OPEN:
        return "open";
    case TC_VERDICT_UPDATED:
        return "updated";
    case TC_VERDICT_RESOLVED:
        return "resolved";
    }
    return "unknown";
}

const char *tc_thing_name(enum tc_thing thing)
{
    switch (thing) {
    case TC_THING_GPU:
        return "gpu";
    case TC_THING_PORT:
        return "port";
    case TC_THING_VOLUME:
        return "volume";
    case TC_THING_SWITCH:
        return "switch";
    case TC_THING_DEVICE:
        return "device";
    case TC_THING_NODE:
        return "node";
    case TC_THING_NONE:
    case TC_THINGS:
        break;
    }
    return "unknown";
}

const struct tc_attr *tc_finding_attr(const struct tc_finding *f, enum tc_attr_type type,
                                      struct tc_slice suffix)
{
    for (size_t i = 0; i < f->attr_count; i++) {
        if (f->attrs[i].type == type && tc_slice_ends(f->attrs[i].key, suffix)) {
            return &f->attrs[i];
        }
    }
    return NULL;
}
