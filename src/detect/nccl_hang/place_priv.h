/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a culprit runs, by all that is known, and what was read of its node: nobody is sent to a
 * log that was given.
 */
#ifndef TC_DETECT_NCCL_HANG_PLACE_PRIV_H
#define TC_DETECT_NCCL_HANG_PLACE_PRIV_H

#include "detect/detector.h"
#include "detect/finding_priv.h"
#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Culprits of one verdict that are listed with their places. */
#define NCCL_PLACES_MAX 64

/* What kernel logs are read into. */
#define NCCL_NODE_KINDS                                                                      \
    (TC_EVENT_BIT(TC_EVENT_XID) | TC_EVENT_BIT(TC_EVENT_SXID) | TC_EVENT_BIT(TC_EVENT_AER) | \
     TC_EVENT_BIT(TC_EVENT_PCIE_LINK) | TC_EVENT_BIT(TC_EVENT_GPU_INVENTORY) |               \
     TC_EVENT_BIT(TC_EVENT_OOM_KILL) | TC_EVENT_BIT(TC_EVENT_MEMORY_ERROR) |                 \
     TC_EVENT_BIT(TC_EVENT_STORAGE_ERROR) | TC_EVENT_BIT(TC_EVENT_STUCK_TASK) |              \
     TC_EVENT_BIT(TC_EVENT_PROCESS_FAULT) | TC_EVENT_BIT(TC_EVENT_DRIVER_FAULT))

struct nccl_nodes;

/* NULL when the arena is full. Borrows both for its whole life. */
struct nccl_nodes *tc__nodes_create(struct tc_detector_base *base,
                                    const struct tc_directory *directory);
/* Takes in an event of NCCL_NODE_KINDS. */
void tc__nodes_on_event(struct nccl_nodes *n, const struct tc_event *ev);

/* Adds node, pod and GPU to the scope of a rank. Good until the directory learns again. */
void tc__nodes_place(const struct nccl_nodes *n, struct tc_scope *io);

/* "rank 3 on node gpu-07 (pod train/worker-0, GPU 3)". */
struct tc_arg tc__nodes_as_place(const struct tc_scope *place);

/* " on nodes gpu-01 and gpu-02", of several culprits; nothing when one of them is not known. */
struct tc_arg tc__nodes_as_nodes(const struct tc_scope *places, size_t count);

/* What to do about the GPU of a culprit, by what was read of its node since a time. */
struct nccl_check {
    const struct nccl_nodes *nodes;
    const struct tc_scope *place;
    int64_t since_ns;
};

/* "its node logged Xid 79 at 05:06:08; ..." The object is a nccl_check. */
struct tc_arg tc__nodes_as_check(const struct nccl_check *check);

/* The attribute `culprits`, where more than a rank is known of one of them. Sets nothing else.
 * Borrows the places until the draft is emitted. */
void tc__nodes_put_culprits(struct tc_draft *d, const struct tc_scope *places, size_t count);

#endif
