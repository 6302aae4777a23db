/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/kernel_priv.h"

void tc__sim_xid_line(struct tc_sim *s, uint32_t node, uint32_t gpu, int64_t at_ns, uint32_t xid,
                      bool process, struct tc_arg rest)
{
    struct tc_arg bus = tc_as_hex(tc__sim_bus(gpu), 2);
    uint64_t serial = sim_draw(s->options.seed, SIM_FOR_UUID, node, 100 + gpu);
    /* The driver introduces a GPU before its first Xid, and every time since. */
    tc__sim_kernel(s, node, at_ns - 40000, "NVRM: GPU at PCI:0000:{}:00: GPU-{}", bus,
                   tc__sim_gpu_uuid(s, node, gpu));
    tc__sim_kernel(s, node, at_ns - 20000, "NVRM: GPU Board Serial Number: 16{}",
                   tc_as_digits(sim_below(serial, 99999999), 8));
    tc__sim_kernel(s, node, at_ns, "NVRM: Xid (PCI:0000:{}:00): {}, {}, {}", bus, xid,
                   process ? tc_when(true, "pid={}, name=python3", tc__sim_pid(s, node, gpu))
                           : TC_ARG("pid='<unknown>', name=<unknown>"),
                   rest);
    tc__sim_set(s, node, gpu, at_ns, SIM_XID, xid);
}

void tc__sim_aer(struct tc_sim *s, uint32_t node, uint32_t bus, int64_t at_ns, enum sim_aer kind,
                 uint32_t vendor_device)
{
    static const struct {
        const char *severity;
        const char *layer;
        const char *agent;
        uint32_t status, mask;
        const char *bit;
    } KINDS[] = {
        [SIM_AER_CORRECTED] = {"Corrected", "Data Link Layer", "Receiver ID", 0x40, 0xe000,
                               "[ 6] BadTLP                "},
        [SIM_AER_NONFATAL] = {"Uncorrected (Non-Fatal)", "Transaction Layer", "Requester ID",
                              0x4000, 0x400000, "[14] CmpltTO                (First)"},
        [SIM_AER_FATAL] = {"Uncorrected (Fatal)", "Data Link Layer", "Receiver ID", 0x20, 0x400000,
                           "[ 5] SDES                   (First)"},
    };
    struct tc_arg at = tc_as_hex(bus, 2);
    struct tc_arg device =
        tc_when(true, "{} 0000:{}:00.0", kind == SIM_AER_FATAL ? "pcieport" : "nvidia", at);
    tc__sim_kernel(s, node, at_ns,
                   "pcieport 0000:{}:01.0: AER: {} error message received from 0000:{}:00.0",
                   tc_as_hex(bus - 1, 2), KINDS[kind].severity, at);
    tc__sim_kernel(s, node, at_ns + 8000, "{}: PCIe Bus Error: severity={}, type={}, ({})", device,
                   KINDS[kind].severity, KINDS[kind].layer, KINDS[kind].agent);
    tc__sim_kernel(s, node, at_ns + 15000, "{}:   device [{}:{}] error status/mask={}/{}", device,
                   tc_as_hex(vendor_device >> 16, 4), tc_as_hex(vendor_device & 0xffff, 4),
                   tc_as_hex(KINDS[kind].status, 8), tc_as_hex(KINDS[kind].mask, 8));
    tc__sim_kernel(s, node, at_ns + 20000, "{}:    {}", device, KINDS[kind].bit);
}

void tc__sim_oom(struct tc_sim *s, const struct sim_pod *pod, int64_t at_ns, bool global,
                 const char *task, uint32_t pid)
{
    char text[SIM_NAME_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_slice uid = tc_format(&b, "{}", tc__sim_pod_uid(s, pod));
    for (size_t i = 0; i < uid.len; i++) {
        text[i] = text[i] == '-' ? '_' : text[i];
    }
    uint64_t id = sim_draw(s->options.seed, SIM_FOR_DETAIL, 3, (uint64_t)pod->node << 32 | pid);
    int adjusted = global ? 1000 : 937;
    struct tc_arg scope =
        tc_when(true, "cri-containerd-{}{}{}.scope", tc_as_hex(tc_random_mix(id), 16),
                tc_as_hex(tc_random_mix(id + 1), 16), tc_as_hex(tc_random_mix(id + 2), 16));
    struct tc_arg group = tc_when(
        true, "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice", uid);
    tc__sim_kernel(s, pod->node, at_ns - 900000,
                   "{} invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj={}",
                   task, adjusted);
    tc__sim_kernel(
        s, pod->node, at_ns,
        "oom-kill:constraint={},nodemask=(null),cpuset={},mems_allowed=0-1,{},task_memcg={}/{},"
        "task={},pid={},uid=0",
        global ? "CONSTRAINT_NONE" : "CONSTRAINT_MEMCG", global ? TC_ARG("/") : scope,
        global ? TC_ARG("global_oom") : tc_when(true, "oom_memcg={}", group), group, scope, task,
        pid);
    tc__sim_kernel(s, pod->node, at_ns + 60000,
                   "{}: Killed process {} ({}) total-vm:268435456kB, anon-rss:{}kB, file-rss:0kB, "
                   "shmem-rss:1048576kB, UID:0 pgtables:131072kB oom_score_adj:{}",
                   global ? "Out of memory" : "Memory cgroup out of memory", pid, task,
                   64000000 + sim_below(id, 9000000), adjusted);
}

void tc__sim_link(struct tc_sim *s, uint32_t node, uint32_t port, int64_t at_ns, bool up)
{
    static const uint8_t BUS[SIM_PORTS] = {0x18, 0x40, 0x4f, 0x5e, 0x9a, 0xc0, 0xce, 0xdc};
    tc__sim_kernel(s, node, at_ns, "mlx5_core 0000:{}:00.0 ens{}np0: Link {}",
                   tc_as_hex(BUS[port % SIM_PORTS], 2), port % SIM_PORTS + 1, up ? "up" : "down");
}

void tc__sim_nfs(struct tc_sim *s, uint32_t node, int64_t at_ns, bool ok)
{
    tc__sim_kernel(s, node, at_ns, "nfs: server 10.40.0.{} {}", node % 4 + 11,
                   ok ? "OK" : "not responding, still trying");
}

void tc__sim_io_error(struct tc_sim *s, uint32_t node, int64_t at_ns, uint32_t sector)
{
    tc__sim_kernel(s, node, at_ns,
                   "blk_update_request: I/O error, dev nvme2n1, sector {} op 0x1:(WRITE) flags "
                   "0x8800 phys_seg 3 prio class 0",
                   sector);
    tc__sim_kernel(s, node, at_ns + 30000,
                   "Buffer I/O error on dev nvme2n1p1, logical block {}, lost async page write",
                   sector / 8);
}
