/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/kernel_priv.h"

/* The driver introduces a GPU before its first Xid, and every time since. */
static void introduce(struct tc_sim *s, uint32_t node, uint32_t gpu, int64_t at_ns)
{
    char uuid[SIM_NAME_MAX];
    struct tc_buf b = tc_buf_make(uuid, sizeof uuid);
    tc__sim_gpu_uuid(s, &b, node, gpu);
    tc__sim_kernel(s, node, at_ns - 40000, "NVRM: GPU at PCI:0000:%02x:00: %.*s", tc__sim_bus(gpu),
                   TC_FMT(tc_buf_slice(&b)));
    tc__sim_kernel(s, node, at_ns - 20000, "NVRM: GPU Board Serial Number: 16%08u",
                   sim_below(sim_draw(s->options.seed, SIM_FOR_UUID, node, 100 + gpu), 99999999));
}

void tc__sim_xid(struct tc_sim *s, uint32_t node, uint32_t gpu, int64_t at_ns, uint32_t xid,
                 const char *rest)
{
    introduce(s, node, gpu, at_ns);
    tc__sim_kernel(s, node, at_ns, "NVRM: Xid (PCI:0000:%02x:00): %u, pid=%u, name=python3, %s",
                   tc__sim_bus(gpu), xid, tc__sim_pid(s, node, gpu), rest);
    tc__sim_set(s, node, gpu, at_ns, SIM_XID, xid);
}

void tc__sim_xid_plain(struct tc_sim *s, uint32_t node, uint32_t gpu, int64_t at_ns, uint32_t xid,
                       const char *rest)
{
    introduce(s, node, gpu, at_ns);
    tc__sim_kernel(s, node, at_ns,
                   "NVRM: Xid (PCI:0000:%02x:00): %u, pid='<unknown>', "
                   "name=<unknown>, %s",
                   tc__sim_bus(gpu), xid, rest);
    tc__sim_set(s, node, gpu, at_ns, SIM_XID, xid);
}

void tc__sim_aer(struct tc_sim *s, uint32_t node, uint32_t bus, int64_t at_ns, enum sim_aer kind,
                 uint32_t vendor_device)
{
    static const struct {
        const char *header;
        const char *severity;
        const char *layer;
        const char *agent;
        uint32_t status, mask;
        const char *bit;
    } KINDS[] = {
        [SIM_AER_CORRECTED] = {"Corrected", "Corrected", "Data Link Layer", "Receiver ID", 0x40,
                               0xe000, "[ 6] BadTLP                "},
        [SIM_AER_NONFATAL] = {"Uncorrected (Non-Fatal)", "Uncorrected (Non-Fatal)",
                              "Transaction Layer", "Requester ID", 0x4000, 0x400000,
                              "[14] CmpltTO                (First)"},
        [SIM_AER_FATAL] = {"Uncorrected (Fatal)", "Uncorrected (Fatal)", "Data Link Layer",
                           "Receiver ID", 0x20, 0x400000, "[ 5] SDES                   (First)"},
    };
    const char *driver = kind == SIM_AER_FATAL ? "pcieport" : "nvidia";
    tc__sim_kernel(s, node, at_ns,
                   "pcieport 0000:%02x:01.0: AER: %s error message received from "
                   "0000:%02x:00.0",
                   bus - 1, KINDS[kind].header, bus);
    tc__sim_kernel(s, node, at_ns + 8000,
                   "%s 0000:%02x:00.0: PCIe Bus Error: severity=%s, type=%s, "
                   "(%s)",
                   driver, bus, KINDS[kind].severity, KINDS[kind].layer, KINDS[kind].agent);
    tc__sim_kernel(s, node, at_ns + 15000,
                   "%s 0000:%02x:00.0:   device [%04x:%04x] error status/mask=%08x/%08x", driver,
                   bus, vendor_device >> 16, vendor_device & 0xffff, KINDS[kind].status,
                   KINDS[kind].mask);
    tc__sim_kernel(s, node, at_ns + 20000, "%s 0000:%02x:00.0:    %s", driver, bus,
                   KINDS[kind].bit);
}

void tc__sim_oom(struct tc_sim *s, const struct sim_pod *pod, int64_t at_ns, bool global,
                 const char *task, uint32_t pid)
{
    char uid[SIM_NAME_MAX];
    struct tc_buf b = tc_buf_make(uid, sizeof uid);
    tc__sim_put_pod_uid(s, &b, pod);
    for (size_t i = 0; i < b.len; i++) {
        uid[i] = uid[i] == '-' ? '_' : uid[i];
    }
    uint64_t id = sim_draw(s->options.seed, SIM_FOR_DETAIL, 3, (uint64_t)pod->node << 32 | pid);
    char scope[SIM_NAME_MAX];
    struct tc_buf c = tc_buf_make(scope, sizeof scope);
    for (uint64_t i = 0; i < 3; i++) {
        tc_buf_hex(&c, sim_mix(id + i), 16);
    }
    struct tc_slice container = tc_buf_slice(&c);
    struct tc_slice slice = tc_slice_make(uid, b.len);
    char where[512];
    struct tc_buf w = tc_buf_make(where, sizeof where);
    tc_buf_lit(&w, "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod");
    tc_buf_str(&w, slice);
    tc_buf_lit(&w, ".slice");
    struct tc_slice group = tc_buf_slice(&w);
    tc__sim_kernel(s, pod->node, at_ns - 900000,
                   "%s invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=%d",
                   task, global ? 1000 : 937);
    if (global) {
        tc__sim_kernel(s, pod->node, at_ns,
                       "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed="
                       "0-1,global_oom,task_memcg=%.*s/cri-containerd-%.*s.scope,task=%s,pid=%u,"
                       "uid=0",
                       TC_FMT(group), TC_FMT(container), task, pid);
    } else {
        tc__sim_kernel(s, pod->node, at_ns,
                       "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-"
                       "%.*s.scope,mems_allowed=0-1,oom_memcg=%.*s,task_memcg=%.*s/cri-containerd-"
                       "%.*s.scope,task=%s,pid=%u,uid=0",
                       TC_FMT(container), TC_FMT(group), TC_FMT(group), TC_FMT(container), task,
                       pid);
    }
    tc__sim_kernel(s, pod->node, at_ns + 60000,
                   "%s: Killed process %u (%s) total-vm:268435456kB, anon-rss:%ukB, file-rss:0kB, "
                   "shmem-rss:1048576kB, UID:0 pgtables:131072kB oom_score_adj:%d",
                   global ? "Out of memory" : "Memory cgroup out of memory", pid, task,
                   64000000 + sim_below(id, 9000000), global ? 1000 : 937);
}

void tc__sim_link(struct tc_sim *s, uint32_t node, uint32_t port, int64_t at_ns, bool up)
{
    static const uint8_t BUS[SIM_PORTS] = {0x18, 0x40, 0x4f, 0x5e, 0x9a, 0xc0, 0xce, 0xdc};
    tc__sim_kernel(s, node, at_ns, "mlx5_core 0000:%02x:00.0 ens%unp0: Link %s",
                   BUS[port % SIM_PORTS], port % SIM_PORTS + 1, up ? "up" : "down");
}

void tc__sim_nfs(struct tc_sim *s, uint32_t node, int64_t at_ns, bool ok)
{
    tc__sim_kernel(s, node, at_ns, "nfs: server 10.40.0.%u %s", node % 4 + 11,
                   ok ? "OK" : "not responding, still trying");
}

void tc__sim_io_error(struct tc_sim *s, uint32_t node, int64_t at_ns, uint32_t sector)
{
    tc__sim_kernel(s, node, at_ns,
                   "blk_update_request: I/O error, dev nvme2n1, sector %u op "
                   "0x1:(WRITE) flags 0x8800 phys_seg 3 prio class 0",
                   sector);
    tc__sim_kernel(s, node, at_ns + 30000,
                   "Buffer I/O error on dev nvme2n1p1, logical block %u, "
                   "lost async page write",
                   sector / 8);
}
