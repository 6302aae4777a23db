/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How metrics are sliced: by the configuration, and as the ledger knows it, so that a rebuild of
 * the tables makes the same slices of the same evidence; and how traces are read.
 */
#ifndef TC_SERVER_WAREHOUSE_SLICING_H
#define TC_SERVER_WAREHOUSE_SLICING_H

#include "config/config.h"
#include "server/warehouse/requests.h"
#include "server/warehouse/slicer.h"

/* Without a handoff. Borrows evidence_dir. */
struct tc_warehouse_slicer_config tc_warehouse_slicing_of(const struct tc_config *config,
                                                          const char *evidence_dir);
/* The same for requests, without what opens the warehouse. */
struct tc_warehouse_requests_config tc_warehouse_requests_of(const struct tc_config *config,
                                                             const char *evidence_dir);
/* Into the ledger, unless its last line says the same. */
TC_CHECKED tc_status tc_warehouse_slicing_note(const char *data_dir,
                                               const struct tc_warehouse_slicer_config *slicing,
                                               struct tc_error *err);
/* What the ledger says last; stays as it is where that says nothing. Series and memory are those of
 * the one that has more. */
TC_CHECKED tc_status tc_warehouse_slicing_recall(const char *data_dir,
                                                 struct tc_warehouse_slicer_config *io_slicing,
                                                 struct tc_error *err);

#endif
