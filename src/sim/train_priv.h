/* SPDX-License-Identifier: Apache-2.0 */
/* The logs of training pods, as the Collector passes them on. */
#ifndef TC_SIM_TRAIN_PRIV_H
#define TC_SIM_TRAIN_PRIV_H

#include "sim/k8s_priv.h"
#include "sim/otlp_priv.h"

/* Begins an element of "resourceLogs" for a pod; records follow, then tc__sim_end_records. */
void tc__sim_begin_logs(struct tc_json_out *j, const struct sim_pod *pod);

/* A line of a rank's log, planned. `said` is kept already. */
void tc__sim_rank_line(struct tc_sim *s, const struct sim_pod *pod, uint32_t rank, int64_t at_ns,
                       struct tc_slice said);
#define tc__sim_rank_says(s, pod, rank, at_ns, ...) \
    tc__sim_rank_line((s), (pod), (rank), (at_ns), tc__sim_text((s), __VA_ARGS__))
/* The watchdog of a rank: no step for so long. */
void tc__sim_rank_stalls(struct tc_sim *s, const struct sim_pod *pod, uint32_t rank, int64_t at_ns,
                         uint32_t step, int64_t since_ns);

#endif
