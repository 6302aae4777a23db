/* SPDX-License-Identifier: Apache-2.0 */
/*
 * citations.idx: one line per cited batch. Lines have one width and each its checksum, so that the
 * file can be read from either end and a torn last line is seen.
 */
#ifndef TC_EVIDENCE_CITE_PRIV_H
#define TC_EVIDENCE_CITE_PRIV_H

#include "evidence/store.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define TC__CITE_BYTES 128
/* Numbers that were cited last: a verdict that grows cites the same batches again. */
#define TC__CITE_RECENT 4096

struct tc__citations {
    pthread_mutex_t mutex;
    bool has_mutex;
    int fd; /* -1 when it could not be opened */
    bool dirty;
    uint64_t size; /* whole lines */
    uint64_t recent[TC__CITE_RECENT];
};

struct tc__citation {
    uint64_t number;
    struct tc_digest digest;
};

/* Calls `take` for each good line, last first, until it returns false; `bad` (may be NULL) for each
 * damaged one. 0 or errno. A file that is not there has no lines. */
int tc__cite_each(const char *dir, bool (*take)(void *context, const struct tc__citation *c),
                  void (*bad)(void *context, uint64_t offset), void *context);

#endif
