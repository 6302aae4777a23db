/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Kubernetes says, as the Collector's two receivers pass it on: Events as log
 * records with attributes, objects as structured bodies. Each text is one element of
 * "resourceLogs".
 */
#ifndef TC_SIM_K8S_PRIV_H
#define TC_SIM_K8S_PRIV_H

#include "sim/sim_priv.h"

/* A pod: of a job on its k-th node, or one of people's. */
struct sim_pod {
    uint32_t job; /* SIM_NONE: people's */
    uint32_t k;
    uint32_t dev;
    uint32_t node;
};

struct sim_pod tc__sim_job_pod(const struct tc_sim *s, uint32_t job, uint32_t k);
struct sim_pod tc__sim_dev_pod(uint32_t node, uint32_t gpu, uint32_t life);
/* "train" or "people". */
struct tc_slice tc__sim_pod_namespace(const struct sim_pod *pod);
/* Borrows the pod. */
struct tc_arg tc__sim_pod_name(const struct sim_pod *pod);
struct tc_arg tc__sim_pod_uid(const struct tc_sim *s, const struct sim_pod *pod);
/* "notebook" or "trainer". */
const char *tc__sim_container(const struct sim_pod *pod);

/* An Event about a pod. reporter: kubelet, scheduler and so on. */
void tc__sim_pod_event(struct tc_sim *s, const struct sim_pod *pod, int64_t at_ns, bool warning,
                       const char *reporter, const char *reason, struct tc_slice message);
/* An Event about a node. */
void tc__sim_node_event(struct tc_sim *s, uint32_t node, int64_t at_ns, bool warning,
                        const char *reporter, const char *reason, struct tc_slice message);

enum sim_pod_phase { SIM_POD_RUNNING, SIM_POD_SUCCEEDED, SIM_POD_FAILED, SIM_POD_EVICTED };

/* The pod object as it is now. exit_code, reason: of its container, once it ended. */
void tc__sim_pod_object(struct tc_sim *s, const struct sim_pod *pod, int64_t at_ns,
                        enum sim_pod_phase phase, int exit_code, const char *reason,
                        struct tc_slice message);
/* The node object with one of its pressures on or off. */
void tc__sim_node_object(struct tc_sim *s, uint32_t node, int64_t at_ns, const char *condition,
                         bool on, const char *reason, const char *message);

#endif
