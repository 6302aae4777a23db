/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts and incidents by pattern and severity: what alerts are made of. */
#include "base/format.h"
#include "detect/detector.h"
#include "event/verdict.h"
#include "observe/metrics.h"
#include "observe/metrics_priv.h"

#include <stdatomic.h>

#define SEVERITIES (TC_SEVERITY_CRITICAL + 1)
#define STATUSES (TC_VERDICT_RESOLVED + 1)

static struct {
    atomic_uint_fast64_t told[TC__PATTERNS_MAX][SEVERITIES][STATUSES];
    atomic_uint_fast64_t open[TC__PATTERNS_MAX][SEVERITIES];
} verdicts;

void tc_verdict_count(size_t detector, enum tc_severity severity, enum tc_verdict_status status)
{
    if (detector < TC__PATTERNS_MAX && (size_t)severity < SEVERITIES && (size_t)status < STATUSES) {
        atomic_fetch_add_explicit(&verdicts.told[detector][severity][status], 1,
                                  memory_order_relaxed);
    }
}

void tc_open_incidents_reset(void)
{
    for (size_t i = 0; i < TC__PATTERNS_MAX; i++) {
        for (size_t s = 0; s < SEVERITIES; s++) {
            atomic_store_explicit(&verdicts.open[i][s], 0, memory_order_relaxed);
        }
    }
}

void tc_open_incident_count(size_t detector, enum tc_severity severity)
{
    if (detector < TC__PATTERNS_MAX && (size_t)severity < SEVERITIES) {
        atomic_fetch_add_explicit(&verdicts.open[detector][severity], 1, memory_order_relaxed);
    }
}

/* name{pattern="...",severity="..."[,status="..."]} value */
static void put(struct tc_buf *b, const char *name, const char *pattern, size_t severity,
                const char *status, uint64_t value)
{
    char labels[128];
    struct tc_buf text = tc_buf_make(labels, sizeof labels - 1);
    (void)tc_format(&text, "pattern=\"{}\",severity=\"{}\"", pattern,
                    tc_severity_name((enum tc_severity)severity));
    labels[text.len] = '\0';
    tc__metrics_series(b, name, "", labels, status == NULL ? NULL : "status", status);
    tc_buf_u64(b, value);
    tc_buf_char(b, '\n');
}

void tc__metrics_verdicts(struct tc_buf *b)
{
    static const char told[] = "tracecore_detector_verdicts_total";
    static const char open[] = "tracecore_detector_incidents_open";
    size_t count = 0;
    const struct tc_detector *const *all = tc_detectors(&count);
    tc__metrics_head(b, told, "counter", "Verdicts told, by pattern, severity and status.");
    for (size_t i = 0; i < count * SEVERITIES * STATUSES; i++) {
        size_t severity = i / STATUSES % SEVERITIES;
        size_t pattern = i / STATUSES / SEVERITIES;
        enum tc_verdict_status status = (enum tc_verdict_status)(i % STATUSES);
        put(b, told, all[pattern]->name, severity, tc_verdict_status_name(status),
            atomic_load_explicit(&verdicts.told[pattern][severity][status], memory_order_relaxed));
    }
    tc__metrics_head(b, open, "gauge", "Incidents that are not resolved, by pattern and severity.");
    for (size_t i = 0; i < count * SEVERITIES; i++) {
        size_t severity = i % SEVERITIES;
        size_t pattern = i / SEVERITIES;
        put(b, open, all[pattern]->name, severity, NULL,
            atomic_load_explicit(&verdicts.open[pattern][severity], memory_order_relaxed));
    }
}
