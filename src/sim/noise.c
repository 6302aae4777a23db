/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens in a healthy cluster and looks like a fault. Rates are for a node, GPU
 * or job and an hour, in millionths; docs/simulate.md says where they come from.
 * Labelled pieces are in the truth as noise: no verdict may name them.
 */
#include "sim/kernel_priv.h"

/* One kind of noise on one place. */
struct spot {
    uint32_t node;
    uint32_t gpu;
    int64_t at_ns;
    uint64_t luck;
};

static void label(struct tc_sim *s, const struct spot *p, const char *pattern, int64_t end_ns,
                  const char *what)
{
    tc__sim_truth(s, true, pattern, NULL, p->at_ns, end_ns, what)->node = p->node;
}

/* An application does something wrong, the driver says so, its pod ends, somebody starts another.
 */
static void crash(struct tc_sim *s, const struct spot *p)
{
    static const struct {
        uint32_t xid;
        const char *rest;
    } KINDS[] = {
        {31, "Ch 00000018, intr 10000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ "
             "0x7f2a_4c000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"},
        {13, "Graphics SM Warp Exception on (GPC 3, TPC 1, SM 0): Out Of Range Address"},
        {43, "Ch 00000018"},
        {45, "Ch 00000010"},
    };
    uint32_t k = sim_below(p->luck, 4);
    tc__sim_xid(s, p->node, p->gpu, p->at_ns, KINDS[k].xid, KINDS[k].rest);
    struct sim_pod pod = tc__sim_dev_pod(p->node, p->gpu, 0);
    int64_t fails = p->at_ns + sim_between(p->luck, 300, 20000) * SIM_MS;
    tc__sim_pod_object(s, &pod, fails, SIM_POD_FAILED, 139, "Error", TC_EMPTY);
    struct sim_pod next = tc__sim_dev_pod(p->node, p->gpu, 1);
    tc__sim_pod_object(s, &next, fails + 90 * TC_SECOND, SIM_POD_RUNNING, 0, "", TC_EMPTY);
    label(s, p, "xid_correlation", fails, "an application's Xid; its pod ends");
}

static void corrected_trickle(struct tc_sim *s, const struct spot *p)
{
    tc__sim_raise(s, p->node, p->gpu, p->at_ns, SIM_SBE, sim_between(p->luck, 1, 3));
    label(s, p, "hbm_ecc", p->at_ns, "a few corrected memory errors");
}

static void aer_trickle(struct tc_sim *s, const struct spot *p)
{
    uint32_t count = (uint32_t)sim_between(p->luck, 1, 4);
    for (uint32_t i = 0; i < count; i++) {
        tc__sim_aer(s, p->node, tc__sim_bus(p->gpu), p->at_ns + i * 11 * TC_SECOND,
                    SIM_AER_CORRECTED, 0x10de2330u);
    }
    label(s, p, "pcie_aer", p->at_ns + count * 11 * TC_SECOND, "a few corrected PCIe errors");
}

static void one_flap(struct tc_sim *s, const struct spot *p)
{
    int64_t up = p->at_ns + sim_between(p->luck, 1500, 20000) * SIM_MS;
    tc__sim_link(s, p->node, p->gpu, p->at_ns, false);
    tc__sim_link(s, p->node, p->gpu, up, true);
    label(s, p, "network_link_fault", up, "a port goes down once, for seconds");
}

/* Hot for a moment: too short to be seen by two scrapes. */
static void warm_moment(struct tc_sim *s, const struct spot *p)
{
    int64_t until = p->at_ns + sim_between(p->luck, 4, 24) * TC_SECOND;
    tc__sim_set(s, p->node, p->gpu, p->at_ns, SIM_REASONS, 0x20);
    tc__sim_set(s, p->node, p->gpu, p->at_ns, SIM_HEAT, 18);
    tc__sim_set(s, p->node, p->gpu, until, SIM_REASONS, 0);
    tc__sim_set(s, p->node, p->gpu, until, SIM_HEAT, 0);
    label(s, p, "thermal_throttle", until, "slowed by heat for seconds");
}

static void soft_switch_error(struct tc_sim *s, const struct spot *p)
{
    tc__sim_kernel(s, p->node, p->at_ns,
                   "nvidia-nvswitch{}: SXid (PCI:0000:{}:00.0): 12028, Non-fatal, Link {} egress "
                   "non-posted PRIV error",
                   p->gpu % 4, tc_as_hex(5 + p->gpu % 4, 2),
                   tc_as_digits(sim_below(p->luck, 36), 2));
    label(s, p, "nvlink_degraded", p->at_ns, "an error of a switch that costs nothing");
}

static void storage_hiccup(struct tc_sim *s, const struct spot *p)
{
    int64_t ok = p->at_ns + sim_between(p->luck, 2000, 12000) * SIM_MS;
    tc__sim_nfs(s, p->node, p->at_ns, false);
    tc__sim_nfs(s, p->node, ok, true);
    label(s, p, "checkpoint_stall", ok, "a file server is slow for seconds");
}

static void mount_typo(struct tc_sim *s, const struct spot *p)
{
    struct sim_pod pod = tc__sim_dev_pod(p->node, p->gpu, 2);
    for (uint32_t i = 0; i < 4; i++) {
        tc__sim_pod_event(s, &pod, p->at_ns + i * 20 * TC_SECOND, true, "kubelet", "FailedMount",
                          TC_LIT("MountVolume.SetUp failed for volume \"token\" : secret "
                                 "\"hub-token\" not found"));
    }
    label(s, p, "dataloader_hang", p->at_ns + SIM_MINUTE, "a pod names a secret that is not there");
}

/* Somebody drains a node for maintenance, or a larger pod needs the place. */
static void planned_end(struct tc_sim *s, const struct spot *p)
{
    struct sim_pod pod = tc__sim_dev_pod(p->node, p->gpu, 0);
    if (sim_chance(p->luck, 500000)) {
        tc__sim_pod_event(s, &pod, p->at_ns, false, "default-scheduler", "Preempted",
                          TC_LIT("Preempted by pod 0f6f4f0e-2c38-4f2b-8f5e-9a56a1f0c1d2 on node"));
    } else {
        tc__sim_pod_event(s, &pod, p->at_ns, false, "taint-eviction-controller",
                          "TaintManagerEviction", TC_LIT("Marking for deletion Pod"));
    }
    tc__sim_pod_event(s, &pod, p->at_ns + TC_SECOND, false, "kubelet", "Killing",
                      TC_LIT("Stopping container notebook"));
    label(s, p, "pod_evicted", p->at_ns + TC_SECOND, "a planned end of a pod");
}

/* A service of the host itself is killed at its limit. */
static void service_oom(struct tc_sim *s, const struct spot *p)
{
    tc__sim_kernel(s, p->node, p->at_ns,
                   "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0-1,"
                   "oom_memcg=/system.slice/fluent-bit.service,task_memcg=/system.slice/"
                   "fluent-bit.service,task=fluent-bit,pid={},uid=0",
                   3000 + p->gpu);
    tc__sim_kernel(s, p->node, p->at_ns + 50000,
                   "Memory cgroup out of memory: Killed process {} (fluent-bit) "
                   "total-vm:1048576kB, anon-rss:262144kB, file-rss:0kB, shmem-rss:0kB, UID:0 "
                   "pgtables:820kB oom_score_adj:0",
                   3000 + p->gpu);
    label(s, p, "host_oom", p->at_ns, "a service of the host is killed, no pod");
}

static void chatter(struct tc_sim *s, const struct spot *p)
{
    struct sim_pod pod = tc__sim_dev_pod(p->node, p->gpu, 3);
    tc__sim_pod_event(
        s, &pod, p->at_ns, true, "default-scheduler", "FailedScheduling",
        TC_LIT("0/256 nodes are available: 243 Insufficient nvidia.com/gpu, 13 node(s)"
               " had untolerated taint {nvidia.com/gpu: }."));
    tc__sim_pod_event(s, &pod, p->at_ns + 40 * TC_SECOND, true, "kubelet", "Unhealthy",
                      TC_LIT("Readiness probe failed: Get \"http://10.2.0.7:8888/api\": dial tcp "
                             "10.2.0.7:8888: connect: connection refused"));
    tc__sim_pod_event(s, &pod, p->at_ns + 70 * TC_SECOND, true, "kubelet", "BackOff",
                      TC_LIT("Back-off restarting failed container notebook in pod"));
}

static const struct {
    void (*make)(struct tc_sim *s, const struct spot *p);
    bool every_gpu;  /* else once per node */
    bool people;     /* only on nodes with people's pods */
    bool anywhere;   /* where there is a fault, too */
    uint32_t hourly; /* millionths */
} KINDS[] = {
    {crash, .every_gpu = true, .people = true, .hourly = 40000},
    {corrected_trickle, .every_gpu = true, .hourly = 30000},
    {aer_trickle, .hourly = 20000},
    {one_flap, .hourly = 12000},
    {warm_moment, .every_gpu = true, .hourly = 3000},
    {soft_switch_error, .hourly = 4000},
    {storage_hiccup, .hourly = 20000},
    {mount_typo, .every_gpu = true, .people = true, .hourly = 10000},
    {planned_end, .every_gpu = true, .people = true, .hourly = 20000},
    {service_oom, .hourly = 2000},
    {chatter, .every_gpu = true, .people = true, .anywhere = true, .hourly = 60000},
};

/* A fraction of the time is drawn for each place that is hit in an hour. */
static void sow(struct tc_sim *s, uint32_t kind, uint32_t node, uint32_t gpu)
{
    const struct sim_node *n = &s->nodes[node];
    if ((n->faulty && !KINDS[kind].anywhere) || (n->use != SIM_DEV && KINDS[kind].people)) {
        return;
    }
    uint32_t hours = (s->options.minutes + 59) / 60;
    for (uint32_t hour = 0; hour < hours; hour++) {
        uint64_t d = sim_draw(s->options.seed, SIM_FOR_NOISE + kind,
                              (uint64_t)node * TC_SIM_GPUS_MAX + gpu, hour);
        uint64_t rate = (uint64_t)KINDS[kind].hourly * s->noise_percent / 100;
        if (!sim_chance(d, rate > 1000000 ? 1000000 : (uint32_t)rate)) {
            continue;
        }
        struct spot p = {node, gpu, 0, tc_random_mix(d)};
        p.at_ns = s->options.start_ns + (int64_t)hour * 60 * SIM_MINUTE +
                  sim_between(d, 60 * 1000, 58 * 60 * 1000) * SIM_MS;
        if (!KINDS[kind].every_gpu) {
            p.gpu = sim_below(p.luck, s->options.gpus_per_node);
        }
        if (p.at_ns < s->end_ns - 2 * SIM_MINUTE) {
            KINDS[kind].make(s, &p);
        }
    }
}

/* Small jobs that make room for others. */
static void preempt_jobs(struct tc_sim *s)
{
    for (uint32_t i = 0; i < s->jobs.count; i++) {
        struct sim_job *j = tc__sim_job(s, i);
        uint64_t d = sim_draw(s->options.seed, SIM_FOR_NOISE + 100, i, 0);
        bool free = !j->taken && j->warm && j->stop == SIM_GOES_ON && j->nodes <= 4;
        for (uint32_t k = 0; k < j->nodes; k++) {
            free = free && !s->nodes[j->first_node + k].taken;
        }
        if (!free || !sim_chance(d, 600 * s->noise_percent)) {
            continue;
        }
        j->stop = SIM_STOP_ENDS;
        j->fate = SIM_FATE_PLANNED;
        j->stop_ns = s->options.start_ns + tc__sim_duration(s) / 1000 * sim_between(d, 200, 900);
        j->end_ns = j->stop_ns;
        j->resume_ns = TC_TIME_MAX;
        struct spot p = {j->first_node, 0, j->stop_ns, d};
        label(s, &p, "pod_evicted", j->stop_ns + 5 * TC_SECOND, "a job is preempted");
    }
}

void tc__sim_noise(struct tc_sim *s)
{
    if (s->noise_percent == 0) {
        return;
    }
    preempt_jobs(s);
    for (uint32_t kind = 0; kind < TC_COUNT(KINDS); kind++) {
        for (uint32_t node = 0; node < s->options.nodes; node++) {
            for (uint32_t gpu = 0; gpu < (KINDS[kind].every_gpu ? s->options.gpus_per_node : 1);
                 gpu++) {
                sow(s, kind, node, gpu);
            }
        }
    }
}
