/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_PROBE_PROBE_PRIV_H
#define TC_PROBE_PROBE_PRIV_H

#include "probe/probe.h"

/* Sets a fact that is not known yet. Trimmed, cut to fit, without control characters. */
void tc__probe_set(struct tc_probe *p, enum tc_probe_fact fact, struct tc_slice value);
void tc__probe_copy(char *to, size_t cap, struct tc_slice value);
/* The GPU of that index, made when it is new; NULL beyond the limit. */
struct tc_probe_gpu *tc__probe_gpu(struct tc_probe *p, uint64_t index);
void tc__probe_name(struct tc_probe_gpu *g, struct tc_slice name);

/* Each takes an output of its kind; false when it is none. */
bool tc__probe_smi(struct tc_probe *p, struct tc_slice bytes);
bool tc__probe_smi_list(struct tc_probe *p, struct tc_slice bytes);  /* -L and nvlink --status */
bool tc__probe_smi_query(struct tc_probe *p, struct tc_slice bytes); /* --query-gpu, CSV */
bool tc__probe_smi_log(struct tc_probe *p, struct tc_slice bytes);   /* -q */
bool tc__probe_topo(struct tc_probe *p, struct tc_slice bytes);
bool tc__probe_driver(struct tc_probe *p, struct tc_slice bytes); /* /proc/driver/nvidia/version */
bool tc__probe_cuda(struct tc_probe *p, struct tc_slice bytes);   /* version.json, version.txt */
bool tc__probe_os(struct tc_probe *p, struct tc_slice bytes);     /* os-release */
bool tc__probe_uname(struct tc_probe *p, struct tc_slice bytes);  /* uname -a */
bool tc__probe_cpu(struct tc_probe *p, struct tc_slice bytes);    /* /proc/cpuinfo, lscpu */
const char *tc__probe_own(struct tc_probe *p, struct tc_slice bytes); /* texts of ours */

/* The texts of columns that are made of several things. */
void tc__probe_nvlink(const struct tc_probe *p, struct tc_buf *out);
void tc__probe_affinity(const struct tc_probe *p, struct tc_buf *out);

#endif
