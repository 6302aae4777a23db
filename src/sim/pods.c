/* SPDX-License-Identifier: Apache-2.0 */
/* The life of pods: they are there or come into being, and end as their job does. */
#include "sim/kernel_priv.h"

static void start_pod(struct tc_sim *s, const struct sim_pod *pod, int64_t at_ns)
{
    const char *container = tc__sim_container(pod);
    tc__sim_pod_event(s, pod, at_ns - 18 * TC_SECOND, false, "default-scheduler", "Scheduled",
                      tc__sim_text(s, "Successfully assigned {}/{} to {}",
                                   tc__sim_pod_namespace(pod), tc__sim_pod_name(pod),
                                   tc__sim_node(pod->node)));
    tc__sim_pod_event(s, pod, at_ns - 3 * TC_SECOND, false, "kubelet", "Pulled",
                      TC_LIT("Container image already present on machine"));
    tc__sim_pod_event(s, pod, at_ns - 2 * TC_SECOND, false, "kubelet", "Created",
                      tc__sim_text(s, "Created container: {}", container));
    tc__sim_pod_event(s, pod, at_ns - TC_SECOND, false, "kubelet", "Started",
                      tc__sim_text(s, "Started container {}", container));
    tc__sim_pod_object(s, pod, at_ns, SIM_POD_RUNNING, 0, "", TC_EMPTY);
}

/* The driver cleans up behind processes that were killed: Xid 45 on their GPUs. */
static void clean_up(struct tc_sim *s, uint32_t node, int64_t at_ns)
{
    for (uint32_t gpu = 0; gpu < s->options.gpus_per_node; gpu++) {
        uint64_t d = sim_draw(s->options.seed, SIM_FOR_DETAIL, 9, (uint64_t)node << 32 | gpu);
        if (s->noise_percent > 0 && sim_chance(d, 400000)) {
            tc__sim_xid(s, node, gpu, at_ns - sim_between(d, 100, 1500) * SIM_MS, 45,
                        "Ch 00000008");
        }
    }
}

static void end_pod(struct tc_sim *s, const struct sim_job *j, uint32_t k)
{
    struct sim_pod pod = tc__sim_job_pod(s, j->id, k);
    uint64_t d = sim_draw(s->options.seed, SIM_FOR_DETAIL, 10, (uint64_t)j->id << 32 | k);
    int64_t at = j->end_ns + sim_between(d, 0, 4000) * SIM_MS;
    uint32_t culprit = j->culprit == SIM_NONE ? SIM_NONE : j->culprit / s->options.gpus_per_node;
    switch (j->fate) {
    case SIM_FATE_DONE:
        tc__sim_pod_object(s, &pod, at, SIM_POD_SUCCEEDED, 0, "Completed", TC_EMPTY);
        break;
    case SIM_FATE_ALL:
        if (j->hang == SIM_HANG_GONE && k == culprit) {
            tc__sim_pod_object(s, &pod, j->stop_ns + 3 * TC_SECOND, SIM_POD_FAILED, 139, "Error",
                               TC_EMPTY);
            break;
        }
        clean_up(s, pod.node, at);
        tc__sim_pod_object(s, &pod, at, SIM_POD_FAILED, 134, "Error", TC_EMPTY);
        break;
    case SIM_FATE_ONE:
        if (k == j->fate_node) {
            tc__sim_pod_object(s, &pod, j->end_ns, SIM_POD_FAILED, 1, "Error", TC_EMPTY);
            break;
        }
        clean_up(s, pod.node, at + 6 * TC_SECOND);
        tc__sim_pod_event(s, &pod, at + 5 * TC_SECOND, false, "kubelet", "Killing",
                          TC_LIT("Stopping container trainer"));
        break;
    case SIM_FATE_PLANNED:
        tc__sim_pod_event(s, &pod, at, false, "default-scheduler", "Preempted",
                          TC_LIT("Preempted by pod 6d1f2a60-4d0c-4f6f-9a0e-5a7e2f1c9b11 on node"));
        tc__sim_pod_event(s, &pod, at + TC_SECOND, false, "kubelet", "Killing",
                          TC_LIT("Stopping container trainer"));
        break;
    }
}

void tc__sim_pods(struct tc_sim *s)
{
    for (uint32_t i = 0; i < s->jobs.count; i++) {
        const struct sim_job *j = tc__sim_job(s, i);
        for (uint32_t k = 0; k < j->nodes; k++) {
            struct sim_pod pod = tc__sim_job_pod(s, i, k);
            if (j->warm) {
                tc__sim_pod_object(s, &pod, s->options.start_ns + k * SIM_MS, SIM_POD_RUNNING, 0,
                                   "", TC_EMPTY);
            } else {
                start_pod(s, &pod, j->begin_ns - 30 * TC_SECOND + k * 40 * SIM_MS);
            }
            if (j->end_ns < s->end_ns) {
                end_pod(s, j, k);
            }
        }
    }
    for (uint32_t node = 0; node < s->options.nodes; node++) {
        for (uint32_t gpu = 0; s->nodes[node].use == SIM_DEV && gpu < s->options.gpus_per_node;
             gpu++) {
            struct sim_pod pod = tc__sim_dev_pod(node, gpu, 0);
            tc__sim_pod_object(s, &pod, s->options.start_ns + gpu * SIM_MS, SIM_POD_RUNNING, 0, "",
                               TC_EMPTY);
        }
    }
}
