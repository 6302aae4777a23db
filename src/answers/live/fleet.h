/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes and GPUs as detection knows them, each with its state: the gravest of the open incidents
 * that are about it. Pointers into struct tc_live, good until it is fed again; the loop's thread.
 */
#ifndef TC_ANSWERS_LIVE_FLEET_H
#define TC_ANSWERS_LIVE_FLEET_H

#include "answers/live/list.h"
#include "base/table/hash_index.h"
#include "directory/directory.h"

#include <stdint.h>

#define TC_FLEET_NONE UINT32_MAX

/* Numbers of the columns; "info" changes no state. */
enum tc_fleet_state { TC_FLEET_OK, TC_FLEET_WARNING, TC_FLEET_CRITICAL };
const char *tc_fleet_state_name(enum tc_fleet_state state);

struct tc_fleet_node {
    struct tc_slice name;
    struct tc_slice rack; /* "" while nobody said */
    struct tc_slice zone;
    enum tc_fleet_state state;
    uint32_t open;      /* incidents */
    uint32_t first_gpu; /* they lie together */
    uint32_t gpu_count;
    int64_t last_ns; /* TC_TIME_NONE: not known */
};

struct tc_fleet_gpu {
    const struct tc_gpu *gpu;
    uint32_t node; /* TC_FLEET_NONE: not known */
    enum tc_fleet_state state;
    uint32_t open;
};

struct tc_fleet {
    struct tc_live_list incidents; /* as they are kept, newest first */
    struct tc_fleet_node *nodes;   /* by name */
    size_t node_count;
    size_t node_cap;
    struct tc_fleet_gpu *gpus; /* by node, then by index; those of no node last */
    size_t gpu_count;
    size_t gpu_cap;
    /* The fleet's own. */
    struct tc_hash_index node_index; /* by name */
    struct tc_hash_index gpu_index;  /* by id */
    size_t last;                     /* the node that was named last: its GPUs come together */
    bool failed;
};

/* TC_E_IO: not at this moment; try again. tc_fleet_fini is due in any case. */
TC_CHECKED tc_status tc_fleet_read(const struct tc_asked *asked, struct tc_fleet *out,
                                   struct tc_error *err);
void tc_fleet_fini(struct tc_fleet *f);

/* Indexes, or TC_FLEET_NONE. The first takes a name with or without its domain. */
uint32_t tc_fleet_find_node(const struct tc_fleet *f, struct tc_slice name);
uint32_t tc_fleet_find_gpu(const struct tc_fleet *f, const struct tc_gpu *gpu);

#endif
