/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels print, as facts: each function plans the lines of one report. */
#ifndef TC_SIM_KERNEL_PRIV_H
#define TC_SIM_KERNEL_PRIV_H

#include "sim/k8s_priv.h"

/* An Xid of a GPU, and what its exporter says of it. rest stands behind the process. */
void tc__sim_xid_line(struct tc_sim *s, uint32_t node, uint32_t gpu, int64_t at_ns, uint32_t xid,
                      bool process, struct tc_arg rest);
#define tc__sim_xid(s, node, gpu, at_ns, xid, rest) \
    tc__sim_xid_line((s), (node), (gpu), (at_ns), (xid), true, TC_ARG(rest))
/* The same without a process. */
#define tc__sim_xid_plain(s, node, gpu, at_ns, xid, rest) \
    tc__sim_xid_line((s), (node), (gpu), (at_ns), (xid), false, TC_ARG(rest))

enum sim_aer { SIM_AER_CORRECTED, SIM_AER_NONFATAL, SIM_AER_FATAL };

/* A report about a device of the node: three or four lines. */
void tc__sim_aer(struct tc_sim *s, uint32_t node, uint32_t bus, int64_t at_ns, enum sim_aer kind,
                 uint32_t vendor_device);

/* The kernel kills a process of the pod. global: the node ran out, else the container's limit. */
void tc__sim_oom(struct tc_sim *s, const struct sim_pod *pod, int64_t at_ns, bool global,
                 const char *task, uint32_t pid);

/* The port of a network card goes up or down. */
void tc__sim_link(struct tc_sim *s, uint32_t node, uint32_t port, int64_t at_ns, bool up);
#define SIM_PORTS 8

void tc__sim_nfs(struct tc_sim *s, uint32_t node, int64_t at_ns, bool ok);
void tc__sim_io_error(struct tc_sim *s, uint32_t node, int64_t at_ns, uint32_t sector);

#endif
