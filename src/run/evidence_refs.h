/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of data_dir/files the rows of a warehouse refer to: what must not be removed. */
#ifndef TC_RUN_EVIDENCE_REFS_H
#define TC_RUN_EVIDENCE_REFS_H

#include "base/digest.h"
#include "evidence/files/files.h"
#include "warehouse/warehouse.h"

/* A tc_files_needed_fn; the context is a struct tc_warehouse. */
enum tc_needed tc_run_evidence_refs(void *warehouse, const struct tc_digest *digest);

#endif
