/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's own monitor: the RAS service of a job is asked for its report, as `ncclras -v` does. A
 * report that says the same as the last one is not stored each time; one that tells of a fault is.
 */
#ifndef TC_SOURCE_NCCLRAS_NCCLRAS_H
#define TC_SOURCE_NCCLRAS_NCCLRAS_H

#include "source/source.h"

/* Where the service listens unless it is told otherwise (NCCL_RAS_ADDR). */
#define TC_NCCLRAS_LOCAL "127.0.0.1:28028"
#define TC_NCCLRAS_TARGETS_MAX 64

struct tc_ncclras_config {
    struct tc_slice targets; /* one a line: "HOST:PORT [node=NAME] [job=NAME]" */
    struct tc_slice node;    /* this host: what loopback addresses are of */
    int64_t interval_ns;
    int64_t timeout_ns; /* of one report */
};

extern const struct tc_source_kind tc_source_ncclras;

/* Copies all; nothing is connected yet. TC_E_USAGE: what is wrong with which target; TC_E_NOMEM. */
TC_CHECKED tc_status tc_ncclras_create(const struct tc_ncclras_config *config, void **out_state,
                                       struct tc_error *err);
/* Whether the service answers at TC_NCCLRAS_LOCAL now. */
bool tc_ncclras_is_there(void);

#endif
