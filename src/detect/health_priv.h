/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a finding of DCGM or of the driver (event gpu_health) says, where that is clear: the
 * wordings, in one place for the detectors that take them for a fact.
 */
#ifndef TC_DETECT_HEALTH_PRIV_H
#define TC_DETECT_HEALTH_PRIV_H

#include "directory/directory.h"
#include "event/event.h"

#include <stdint.h>

/* The node of a log that names none: its GPUs are told apart by address or index alone. */
#define TC__NO_NODE TC_LIT("(name unknown)")

enum tc__health {
    TC__HEALTH_UNCLEAR,
    TC__HEALTH_SLOWED, /* by heat */
    TC__HEALTH_ROW_FAILURE,
    TC__HEALTH_ROW_PENDING,
    TC__HEALTH_PAGES_PENDING,
    TC__HEALTH_UNCORRECTED, /* number: how many errors */
    TC__HEALTH_LINK_DOWN,   /* number: the link */
};

/* *out_number is the number that stands where the wording has one, else 1. */
enum tc__health tc__health_of(const struct tc_ev_health *h, int64_t *out_number);
/* The GPU of such an event, also of a log that names no node; NULL when it names no GPU. */
const struct tc_gpu *tc__health_gpu(struct tc_directory *d, const struct tc_event *ev);

#endif
