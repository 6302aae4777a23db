/* SPDX-License-Identifier: Apache-2.0 */
/* The receivers of alerts: their names come from the configuration, so they are no rows of a table.
 */
#include "observe/metrics.h"
#include "observe/metrics_priv.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    struct tc_metrics_receiver receivers[TC_METRICS_RECEIVERS_MAX];
    size_t count;
} alerts = {.lock = PTHREAD_MUTEX_INITIALIZER};

void tc_metrics_receivers(const struct tc_metrics_receiver *receivers, size_t count)
{
    (void)pthread_mutex_lock(&alerts.lock);
    alerts.count = count < TC_METRICS_RECEIVERS_MAX ? count : TC_METRICS_RECEIVERS_MAX;
    if (alerts.count > 0) {
        memcpy(alerts.receivers, receivers, alerts.count * sizeof *receivers);
    }
    (void)pthread_mutex_unlock(&alerts.lock);
}

#define ROW(row_name, row_type, member, row_help)                                  \
    {                                                                              \
        row_name, row_type, offsetof(struct tc_metrics_receiver, member), row_help \
    }

static const struct {
    const char *name;
    const char *type;
    size_t offset;
    const char *help;
} ROWS[] = {
    ROW("tracecore_alerts_delivered_total", "counter", delivered,
        "Alerts that a receiver took: beginnings, changes, reminders and ends."),
    ROW("tracecore_alerts_failed_total", "counter", refused,
        "Alerts that a receiver refused for good (4xx, or a redirect)."),
    ROW("tracecore_alerts_retries_total", "counter", retries,
        "Requests that failed and are made again."),
    ROW("tracecore_alerts_waiting", "gauge", waiting,
        "Beginnings, escalations and ends that a receiver was not told yet."),
    ROW("tracecore_alerts_oldest_seconds", "gauge", oldest_s, "How long the first of them waits."),
    ROW("tracecore_alerts_failing", "gauge", failing,
        "1 while a receiver does not take what it is sent."),
};

void tc__metrics_alerts(struct tc_buf *b)
{
    (void)pthread_mutex_lock(&alerts.lock);
    for (size_t r = 0; r < TC_COUNT(ROWS) && alerts.count > 0; r++) {
        tc__metrics_head(b, ROWS[r].name, ROWS[r].type, ROWS[r].help);
        for (size_t i = 0; i < alerts.count; i++) {
            uint64_t value;
            memcpy(&value, (const char *)&alerts.receivers[i] + ROWS[r].offset, sizeof value);
            tc__metrics_series(b, ROWS[r].name, "", NULL, "output", alerts.receivers[i].name);
            tc_buf_u64(b, value);
            tc_buf_char(b, '\n');
        }
    }
    (void)pthread_mutex_unlock(&alerts.lock);
}
