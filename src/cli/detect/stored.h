/* SPDX-License-Identifier: Apache-2.0 */
/* What a daemon has stored, as the input of `detect --data-dir`. */
#ifndef TC_CLI_DETECT_STORED_H
#define TC_CLI_DETECT_STORED_H

#include "cli/data.h"
#include "event/source.h"
#include "evidence/store.h"
#include "stored/ordered.h"

#include <stddef.h>
#include <stdint.h>

struct tc_stored_digest;

/* Zeroed is empty. */
struct tc_stored {
    char dir[TC_DATA_PATH_BYTES];
    struct tc_ordered *ordered;
    struct tc_evidence *evidence;
    struct tc_stored_digest *digests; /* of the batches that verdicts cite */
    size_t digest_count;
    size_t digest_cap;
};

/*
 * Opens the store of a data_dir (NULL: the default one) for events from since_ns on; TC_TIME_NONE:
 * for all. False when it cannot, which was said.
 */
bool tc_stored_open(struct tc_stored *s, const char *command, const char *data_dir,
                    int64_t since_ns, size_t memory_bytes);
void tc_stored_close(struct tc_stored *s);
/* For rendering. Borrows s. */
struct tc_sources tc_stored_sources(struct tc_stored *s);

#endif
