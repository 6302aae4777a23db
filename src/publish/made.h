/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables made anew from the raw files of some runs, in a directory that goes with them: a query
 * that is run on them says what the bytes say, and not what the tables of data_dir say. They are in
 * $TMPDIR, else /var/tmp, readable by their owner alone.
 */
#ifndef TC_PUBLISH_MADE_H
#define TC_PUBLISH_MADE_H

#include "base/digest.h"
#include "base/status.h"
#include "run/again.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stddef.h>

/* All zero: there are none yet. */
struct tc_made {
    char dir[4096];
    struct tc_warehouse *w;
    bool is_whole;
    struct tc_digest key; /* of the runs that are in it */
};

/*
 * Makes the tables of these runs and no others: what a row says may depend on the other runs.
 * Tables that are there already are taken if they are of the same runs, by the digest of all
 * records; the bytes behind those were checked by the caller. why names the run that failed.
 */
TC_CHECKED tc_status tc_made_fill(struct tc_made *m, const struct tc_run_record *const *records,
                                  size_t count, const struct tc_digest *key,
                                  const struct tc_run_bytes *bytes, struct tc_error *err);
/* Frees what it holds, also after a failure. */
void tc_made_close(struct tc_made *m);

#endif
