/* SPDX-License-Identifier: Apache-2.0 */
/* The logs of training pods, as the Collector passes them on. */
#ifndef TC_SIM_TRAIN_PRIV_H
#define TC_SIM_TRAIN_PRIV_H

#include "sim/k8s_priv.h"
#include "sim/otlp_priv.h"

/* Begins an element of "resourceLogs" for a pod; records follow, then tc__sim_end_logs. */
void tc__sim_begin_logs(struct tc_buf *b, const struct sim_pod *pod);
void tc__sim_end_logs(struct tc_buf *b);
/* A record up to its attributes, which follow, then tc__sim_end_record. */
void tc__sim_begin_record(struct tc_buf *b, int64_t at_ns, bool error, struct tc_slice body);
void tc__sim_end_record(struct tc_buf *b);

/* A line of a rank's log, planned. */
void tc__sim_rank_says(struct tc_sim *s, const struct sim_pod *pod, uint32_t rank, int64_t at_ns,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The watchdog of a rank: no step for so long. */
void tc__sim_rank_stalls(struct tc_sim *s, const struct sim_pod *pod, uint32_t rank, int64_t at_ns,
                         uint32_t step, int64_t since_ns);

#endif
