/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finding with its identity: what leaves the engine and what renderers,
 * exporters and the warehouse take. Borrowed until the callback returns.
 */
#ifndef TC_EVENT_VERDICT_H
#define TC_EVENT_VERDICT_H

#include "base/slice.h"
#include "base/status.h"
#include "event/finding.h"

#define TC_INCIDENT_ID_LEN 32 /* hex digits: the first half of a SHA-256 */

struct tc_verdict_cause {
    struct tc_slice incident_id; /* empty when the cause is no longer known */
    struct tc_slice why;
};

struct tc_recurrence;

struct tc_verdict {
    const struct tc_finding *finding;
    struct tc_slice incident_id;
    enum tc_verdict_status status;
    int64_t first_ns; /* of the whole incident, not only of this finding */
    /* Event time when it was opened; TC_TIME_NONE when it was told only because the input ended. */
    int64_t detected_ns;
    uint64_t content; /* hash of what the finding says: another one is news */
    const struct tc_verdict_cause *causes;
    size_t cause_count;
    struct tc_slice group; /* incident id of the first root of its story; "" alone */
    const struct tc_recurrence *recurrence; /* event/offence.h; NULL: none, or below the count */
};

typedef tc_status (*tc_verdict_fn)(void *context, const struct tc_verdict *verdict);

const char *tc_severity_name(enum tc_severity severity);
const char *tc_confidence_name(enum tc_confidence confidence);
const char *tc_verdict_status_name(enum tc_verdict_status status);

#endif
