/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One import writes at a time: each must see the rows of the one before, or a dimension would be
 * there twice and two replicates would have one number. A rebuild of the tables keeps imports away
 * in the same way.
 */
#ifndef TC_RUN_LOCK_H
#define TC_RUN_LOCK_H

#include "base/status.h"

/* Waits for another owner, at most a minute. The lock goes with the descriptor, or its process. */
TC_CHECKED tc_status tc_runs_lock(const char *data_dir, int *out_fd, struct tc_error *err);

#endif
