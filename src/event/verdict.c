/* SPDX-License-Identifier: Apache-2.0 */
#include "event/verdict.h"

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
