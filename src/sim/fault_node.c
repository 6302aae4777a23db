/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of a GPU, a link or a node that leave the jobs running, and of people's pods. */
#include "sim/kernel_priv.h"
#include "sim/spec_priv.h"

static struct sim_truth *gpu_truth(struct tc_sim *s, const struct sim_ask *ask, const char *pattern,
                                   const char *discriminator, int64_t end_ns, const char *what)
{
    struct sim_truth *t = tc__sim_truth(s, false, pattern, discriminator, ask->at_ns, end_ns, what);
    t->node = ask->node;
    t->gpu = ask->gpu;
    return t;
}

/* A pod of people's is at fault, or suffers, rather than its GPU. */
static void blame_pod(struct sim_truth *t, const struct sim_pod *pod)
{
    t->node = SIM_NONE;
    t->gpu = SIM_NONE;
    t->dev = pod->dev;
}

/* ---- hbm_ecc ------------------------------------------------------------------------------- */

enum { ECC_UNCORRECTABLE, ECC_CONTAINED, ECC_PENDING, ECC_FAILED, ECC_STORM };

static void corrected_storm(struct tc_sim *s, const struct sim_ask *ask)
{
    int64_t until = ask->at_ns + sim_between(ask->luck, 8 * 60, 14 * 60) * TC_SECOND;
    for (int64_t at = ask->at_ns; at < until; at += 5 * TC_SECOND) {
        uint64_t d = tc_random_mix(ask->luck + (uint64_t)at);
        tc__sim_raise(s, ask->node, ask->gpu, at, SIM_SBE, sim_between(d, 1, 6));
    }
    (void)gpu_truth(s, ask, "hbm_ecc", "corrected_storm", until,
                    "hundreds of corrected memory errors in minutes");
}

/* The pod that used the GPU fails with the error `root`. */
static void fail_user(struct tc_sim *s, const struct sim_ask *ask, uint32_t root)
{
    struct sim_pod pod = tc__sim_dev_pod(ask->node, ask->gpu, 0);
    int64_t fails = ask->at_ns + sim_between(ask->luck, 2, 20) * TC_SECOND;
    tc__sim_pod_object(s, &pod, fails, SIM_POD_FAILED, 1, "Error", TC_EMPTY);
    struct sim_truth *t = gpu_truth(s, ask, "xid_correlation", "hardware_xid", fails,
                                    "the pod that used the GPU fails");
    t->dev = pod.dev;
    t->causes[0] = root;
}

void tc__sim_fault_hbm_ecc(struct tc_sim *s, const struct sim_ask *ask)
{
    static const struct {
        uint32_t xid;
        const char *rest;
        const char *discriminator;
        const char *what;
    } KINDS[] = {
        [ECC_UNCORRECTABLE] = {48,
                               "An uncorrectable double bit error (DBE) has been detected on GPU "
                               "in the framebuffer at partition 1, subpartition 0.",
                               "uncorrectable", "an uncorrectable memory error"},
        [ECC_CONTAINED] = {94, "Contained: SM (0x1). RST: No, D-RST: No", "contained",
                           "an uncorrectable memory error that cost one process"},
        [ECC_PENDING] = {63, "Row Remapper: New row marked for remapping, reset gpu to activate.",
                         "remap_pending", "a row waits to be remapped"},
        [ECC_FAILED] = {64, "Row Remapper: Error (unable to remap row)", "remap_failed",
                        "a row cannot be remapped"},
    };
    uint32_t v = ask->variant;
    if (v == ECC_STORM) {
        corrected_storm(s, ask);
        return;
    }
    if (v == ECC_UNCORRECTABLE || v == ECC_CONTAINED) {
        tc__sim_raise(s, ask->node, ask->gpu, ask->at_ns, SIM_DBE, 1);
    }
    tc__sim_xid_line(s, ask->node, ask->gpu, ask->at_ns, KINDS[v].xid, v == ECC_CONTAINED,
                     TC_ARG(KINDS[v].rest));
    if (v == ECC_PENDING) {
        tc__sim_set(s, ask->node, ask->gpu, ask->at_ns, SIM_REMAP_PENDING, 1);
        tc__sim_raise(s, ask->node, ask->gpu, ask->at_ns, SIM_ROWS_UNCORRECTABLE, 1);
    } else if (v == ECC_FAILED) {
        tc__sim_set(s, ask->node, ask->gpu, ask->at_ns, SIM_REMAP_FAILURE, 1);
    }
    const struct sim_truth *t =
        gpu_truth(s, ask, "hbm_ecc", KINDS[v].discriminator, ask->at_ns, KINDS[v].what);
    if (v == ECC_CONTAINED && s->nodes[ask->node].use == SIM_DEV) {
        fail_user(s, ask, t->number);
    }
}

/* ---- thermal_throttle ---------------------------------------------------------------------- */

void tc__sim_fault_thermal_throttle(struct tc_sim *s, const struct sim_ask *ask)
{
    static const struct {
        const char *discriminator;
        int64_t bits;
        int64_t heat;
    } KINDS[] = {
        {"hw_thermal", 0x48, 30},
        {"sw_thermal", 0x20, 24},
        {"power_brake", 0x88, 2},
        {"hw_thermal", 0x48, 30}, /* the whole node */
    };
    uint32_t v = ask->variant;
    bool whole = v == 3 && s->options.gpus_per_node > 1;
    int64_t until = ask->at_ns + sim_between(ask->luck, 4 * 60, 14 * 60) * TC_SECOND;
    for (uint32_t gpu = 0; gpu < s->options.gpus_per_node; gpu++) {
        if (!whole && gpu != ask->gpu) {
            continue;
        }
        int64_t at = ask->at_ns + gpu * 700 * SIM_MS;
        tc__sim_slow(s, ask->node, gpu, at, until, KINDS[v].bits, KINDS[v].heat, 92);
    }
    struct sim_truth *t = gpu_truth(s, ask, "thermal_throttle", KINDS[v].discriminator, until,
                                    "a GPU is slowed down");
    if (whole) {
        t->gpu = SIM_NONE;
        t->what = "all GPUs of a node are slowed down by heat";
    }
}

/* ---- pcie_aer ------------------------------------------------------------------------------ */

#define H100 0x10de2330u
#define SWITCH_PORT 0x10001c03u /* Broadcom */

void tc__sim_fault_pcie_aer(struct tc_sim *s, const struct sim_ask *ask)
{
    uint32_t bus = tc__sim_bus(ask->gpu);
    int64_t at = ask->at_ns;
    if (ask->variant == 0) {
        /* Of a storage device that training does not use. */
        tc__sim_aer(s, ask->node, 0x71, at, SIM_AER_FATAL, SWITCH_PORT);
        struct sim_truth *t = gpu_truth(s, ask, "pcie_aer", "fatal", at, "a PCIe link died");
        t->gpu = SIM_NONE;
        t->device = "0000:71:00.0";
    } else if (ask->variant == 1) {
        tc__sim_aer(s, ask->node, bus, at, SIM_AER_NONFATAL, H100);
        (void)gpu_truth(s, ask, "pcie_aer", "nonfatal", at, "an uncorrected PCIe error");
    } else if (ask->variant == 2) {
        int64_t until = at + sim_between(ask->luck, 3 * 60, 6 * 60) * TC_SECOND;
        for (uint64_t i = 0; at < until; i++) {
            tc__sim_aer(s, ask->node, bus, at, SIM_AER_CORRECTED, H100);
            tc__sim_raise(s, ask->node, ask->gpu, at, SIM_REPLAYS, 1);
            at += sim_between(tc_random_mix(ask->luck + i), 400, 2600) * SIM_MS;
        }
        (void)gpu_truth(s, ask, "pcie_aer", "corrected_storm", until,
                        "dozens of corrected PCIe errors in minutes");
    } else {
        tc__sim_set(s, ask->node, ask->gpu, at, SIM_WIDTH, 8);
        (void)gpu_truth(s, ask, "pcie_aer", "rate_collapse", s->end_ns,
                        "a PCIe link has half of its lanes");
    }
}

/* ---- nvlink_degraded ----------------------------------------------------------------------- */

void tc__sim_fault_nvlink_degraded(struct tc_sim *s, const struct sim_ask *ask)
{
    int64_t at = ask->at_ns;
    uint32_t link = sim_below(ask->luck, 18);
    if (ask->variant == 0) {
        struct tc_arg error = tc_when(true, "nvidia-nvswitch{}: SXid (PCI:0000:{}:00.0): 20034",
                                      link % 4, tc_as_hex(5 + link % 4, 2));
        tc__sim_kernel(s, ask->node, at, "{}, Fatal, Link {} LTSSM Fault Up", error, link + 20);
        tc__sim_kernel(s, ask->node, at + 60000,
                       "{}, Severity 1 Engine instance {} Sub-engine instance 00", error,
                       link + 20);
        struct sim_truth *t = gpu_truth(s, ask, "nvlink_degraded", "fatal_sxid", at,
                                        "a switch reports a fatal error of a link");
        t->gpu = SIM_NONE;
    } else if (ask->variant == 1) {
        struct tc_arg rest = tc_when(
            true, "NVLink: fatal error detected on link {}(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
            link);
        tc__sim_xid_plain(s, ask->node, ask->gpu, at, 74, rest);
        (void)gpu_truth(s, ask, "nvlink_degraded", "nvlink_xid", at, "a link of a GPU failed");
    } else {
        int64_t until = at + sim_between(ask->luck, 5 * 60, 9 * 60) * TC_SECOND;
        for (uint64_t i = 0; at < until; at += 10 * TC_SECOND, i++) {
            tc__sim_raise(s, ask->node, ask->gpu, at, SIM_NVLINK_CRC,
                          sim_between(tc_random_mix(ask->luck + i), 80, 400));
        }
        (void)gpu_truth(s, ask, "nvlink_degraded", NULL, until,
                        "thousands of checksum errors of NVLink in minutes");
    }
}

/* ---- network_link_fault -------------------------------------------------------------------- */

void tc__sim_fault_network_link_fault(struct tc_sim *s, const struct sim_ask *ask)
{
    uint32_t port = ask->gpu;
    int64_t at = ask->at_ns;
    int64_t end = at + sim_between(ask->luck, 3 * 60, 15 * 60) * TC_SECOND;
    if (ask->variant == 0) {
        uint32_t flaps = (uint32_t)sim_between(ask->luck, 4, 8);
        for (uint32_t i = 0; i < flaps; i++) {
            uint64_t d = tc_random_mix(ask->luck + i);
            tc__sim_link(s, ask->node, port, at, false);
            end = at + sim_between(d, 2000, 9000) * SIM_MS;
            tc__sim_link(s, ask->node, port, end, true);
            at = end + sim_between(tc_random_mix(d), 20000, 60000) * SIM_MS;
        }
    } else {
        tc__sim_link(s, ask->node, port, at, false);
        tc__sim_link(s, ask->node, port, end, true);
    }
    struct sim_truth *t =
        gpu_truth(s, ask, "network_link_fault", ask->variant == 0 ? "link_flap" : "link_down", end,
                  ask->variant == 0 ? "a port goes up and down" : "a port is down");
    t->gpu = SIM_NONE;
}

/* ---- host_oom, pod_evicted ----------------------------------------------------------------- */

void tc__sim_fault_host_oom(struct tc_sim *s, const struct sim_ask *ask)
{
    struct sim_pod pod = tc__sim_dev_pod(ask->node, ask->gpu, 0);
    bool global = ask->variant == 1;
    tc__sim_oom(s, &pod, ask->at_ns, global, "python3", tc__sim_pid(s, ask->node, ask->gpu));
    tc__sim_pod_object(s, &pod, ask->at_ns + 2 * TC_SECOND, SIM_POD_FAILED, 137,
                       global ? "Error" : "OOMKilled", TC_EMPTY);
    struct sim_truth *t = gpu_truth(s, ask, "host_oom", NULL, ask->at_ns,
                                    "the kernel kills a pod's process for memory");
    blame_pod(t, &pod);
}

void tc__sim_fault_pod_evicted(struct tc_sim *s, const struct sim_ask *ask)
{
    static const struct {
        const char *condition;
        const char *on, *off;
        const char *said_on, *said_off;
        const char *event;
        const char *note;
        const char *discriminator;
    } KINDS[] = {
        {"MemoryPressure", "KubeletHasInsufficientMemory", "KubeletHasSufficientMemory",
         "kubelet has insufficient memory available", "kubelet has sufficient memory available",
         "NodeHasInsufficientMemory",
         "The node was low on resource: memory. Threshold quantity: 100Mi, available: 61864Ki. "
         "Container notebook was using 81Gi, request is 32Gi, has larger consumption of memory. ",
         "memory_pressure"},
        {"DiskPressure", "KubeletHasDiskPressure", "KubeletHasNoDiskPressure",
         "kubelet has disk pressure", "kubelet has no disk pressure", "NodeHasDiskPressure",
         "The node was low on resource: ephemeral-storage. Threshold quantity: 94489280512, "
         "available: 81920Mi. Container notebook was using 412Gi, request is 0, has larger "
         "consumption of ephemeral-storage. ",
         NULL},
        {"PIDPressure", "KubeletHasInsufficientPID", "KubeletHasSufficientPID",
         "kubelet has insufficient PID available", "kubelet has sufficient PID available",
         "NodeHasInsufficientPID",
         "The node was low on resource: pids. Threshold quantity: 10%, "
         "available: 6%. ",
         NULL},
    };
    uint32_t v = ask->variant % 3;
    int64_t at = ask->at_ns;
    int64_t pressed = at - sim_between(ask->luck, 5, 90) * TC_SECOND;
    struct sim_pod pod = tc__sim_dev_pod(ask->node, ask->gpu, 0);
    if (ask->variant != 3) {
        tc__sim_node_object(s, ask->node, pressed, KINDS[v].condition, true, KINDS[v].on,
                            KINDS[v].said_on);
        tc__sim_node_event(
            s, ask->node, pressed, false, "kubelet", KINDS[v].event,
            tc__sim_text(s, "Node {} status is now: {}", tc__sim_node(ask->node), KINDS[v].event));
        tc__sim_node_object(s, ask->node, at + 6 * SIM_MINUTE, KINDS[v].condition, false,
                            KINDS[v].off, KINDS[v].said_off);
    }
    struct tc_slice note = tc_slice_cstr(KINDS[v].note);
    tc__sim_pod_event(s, &pod, at, true, "kubelet", "Evicted", note);
    tc__sim_pod_object(s, &pod, at + TC_SECOND, SIM_POD_EVICTED, 137, "Error", note);
    struct sim_truth *t =
        gpu_truth(s, ask, "pod_evicted", KINDS[v].discriminator, at, "the kubelet evicts a pod");
    blame_pod(t, &pod);
}
