/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that copies sealed objects of evidence to an object store (evidence.remote), oldest
 * first. Nothing waits for it: while the store is slow or away, objects stay here.
 */
#ifndef TC_SERVER_SHIPPER_H
#define TC_SERVER_SHIPPER_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct tc_shipper;
struct tc_store;
struct tc_config;

/* Borrows store and config, whose evidence.remote is not empty. */
TC_CHECKED tc_status tc_shipper_create(struct tc_store *store, const struct tc_config *config,
                                       struct tc_shipper **out_shipper, struct tc_error *err);
/* Ends a request that is under way: that object is sent again by the next process. */
void tc_shipper_destroy(struct tc_shipper *shipper);

struct tc_shipper_stats {
    uint64_t failures;
    int64_t level_ns;   /* when an object was last copied, or none waited; our clock */
    int64_t failing_ns; /* since when it fails; 0: it does not */
    struct tc_error why;
};
void tc_shipper_stats(struct tc_shipper *shipper, struct tc_shipper_stats *out);

#endif
