/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run once more: its files out of the evidence, and the import over them, with the words that
 * the ledger has of it. The rows are what this program reads from those bytes, whatever the tables
 * say. For a rebuild, and for recomputing what was published.
 */
#ifndef TC_RUN_AGAIN_H
#define TC_RUN_AGAIN_H

#include "base/digest.h"
#include "base/status.h"
#include "run/import.h"
#include "run/record.h"
#include "warehouse/warehouse.h"

#include <stdint.h>

/* Where the bytes are. Borrows everything. */
struct tc_run_bytes {
    void *context;
    /* Writes the content with that digest to an open file. It is checked: another content is
     * TC_E_MALFORMED, none TC_E_NOTFOUND. */
    tc_status (*copy)(void *context, const struct tc_digest *digest, int to, uint64_t *out_size,
                      struct tc_error *err);
    void (*progress)(void *context, uint64_t bytes); /* after each file; may be NULL */
};

struct tc_files;
/* Those of data_dir/files. */
struct tc_run_bytes tc_run_bytes_of(struct tc_files *files);

/* What is wrong with a run, in one sentence. */
#define TC_RUN_WHY_BYTES 256

/*
 * Writes the rows of the run into w, in a transaction of its own. The files lie in the directory
 * `work` meanwhile, which is made and removed. Other imports into w are the caller's to keep away.
 * why: the first error that the import told; empty if it told none.
 */
TC_CHECKED tc_status tc_run_again(struct tc_warehouse *w, const struct tc_run_record *record,
                                  const struct tc_run_bytes *bytes, const char *work,
                                  char why[TC_RUN_WHY_BYTES], struct tc_error *err);

#endif
