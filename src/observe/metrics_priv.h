/* SPDX-License-Identifier: Apache-2.0 */
/* How a line of Prometheus text is written: metrics.c and metrics_process.c. */
#ifndef TC_OBSERVE_METRICS_PRIV_H
#define TC_OBSERVE_METRICS_PRIV_H

#include "base/buf.h"

#include <stdint.h>

#define TC__PATTERNS_MAX 64

/* "# HELP name help" and "# TYPE name type". */
void tc__metrics_head(struct tc_buf *b, const char *name, const char *type, const char *help);
/* Nanoseconds as seconds. */
void tc__metrics_seconds(struct tc_buf *b, uint64_t ns);
/* "name{labels,key="value"} ": labels and key may be empty and NULL. */
void tc__metrics_series(struct tc_buf *b, const char *name, const char *suffix, const char *labels,
                        const char *key, const char *value);
/* metrics_verdicts.c: verdicts and incidents by pattern and severity. */
void tc__metrics_verdicts(struct tc_buf *b);
/* metrics_alerts.c: the receivers of alerts. */
void tc__metrics_alerts(struct tc_buf *b);
/* Memory, time, start and descriptors of this process. What /proc does not tell is left out. */
void tc__metrics_process(struct tc_buf *b);

#endif
