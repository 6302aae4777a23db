/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's log as it is written: /dev/kmsg, record by record. Records have numbers, so it is
 * known which were read before a restart and which were overwritten before they could be read.
 */
#ifndef TC_SOURCE_KMSG_H
#define TC_SOURCE_KMSG_H

#include "source/source.h"

struct tc_kmsg_config {
    const char *path;     /* "/dev/kmsg"; a file or a FIFO with such records for tests */
    struct tc_slice node; /* whose kernel it is */
    struct tc_slice boot; /* names this boot; empty: the system's boot_id */
};

extern const struct tc_source_kind tc_source_kmsg;

/* Copies all. TC_E_NOMEM. */
TC_CHECKED tc_status tc_kmsg_create(const struct tc_kmsg_config *config, void **out_state,
                                    struct tc_error *err);

#endif
