/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that are too many for memory, in a file without a name while they come in; then mapped.
 * They are gone when it is closed, or with the process.
 */
#ifndef TC_BASE_OS_SPOOL_H
#define TC_BASE_OS_SPOOL_H

#include "base/slice.h"
#include "base/status.h"

struct tc_spool;

/* In dir, which exists. */
TC_CHECKED tc_status tc_spool_open(const char *dir, struct tc_spool **out_spool,
                                   struct tc_error *err);
/* NULL is allowed. */
void tc_spool_close(struct tc_spool *s);

/* TC_E_IO when the disk does not take it. */
TC_CHECKED tc_status tc_spool_write(struct tc_spool *s, struct tc_slice bytes,
                                    struct tc_error *err);
/* All that was written; stays until the spool is closed. Nothing is written afterwards: the mapping
 * alone holds the file, so that many spools do not need as many descriptors. */
TC_CHECKED tc_status tc_spool_map(struct tc_spool *s, struct tc_slice *out, struct tc_error *err);

#endif
