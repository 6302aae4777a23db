/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proof that a store is what was written: every checksum of every batch, the SHA-256 of each
 * object, every line of both indexes, the digest of each cited body. Reads while the daemon writes.
 */
#ifndef TC_EVIDENCE_VERIFY_H
#define TC_EVIDENCE_VERIFY_H

#include "evidence/store.h"

/* What is wrong, or worth knowing, and where. Borrowed during the call. */
struct tc_verify_finding {
    const char *path;
    uint64_t offset; /* in the file */
    uint64_t number; /* of the batch; 0: none, or it is not known */
    const char *text;
};

struct tc_verify_sink {
    void *context;
    /* How much there is to do, roughly; then what was done since the last call. May be NULL. */
    void (*begin)(void *context, size_t files, uint64_t bytes);
    void (*advance)(void *context, uint64_t bytes, size_t files);
    void (*damage)(void *context, const struct tc_verify_finding *finding);
    /* No damage: a tail that will be cut, what was set aside before. May be NULL. */
    void (*note)(void *context, const struct tc_verify_finding *finding);
};

struct tc_verify_result {
    uint64_t objects;
    uint64_t segments; /* in open/ */
    uint64_t batches;
    uint64_t bytes; /* of the files */
    uint64_t citations;
    uint64_t citations_gone; /* of batches that were deleted to make room */
    uint64_t set_aside;      /* damage that a start of the daemon has put in quarantine */
    uint64_t torn_bytes;     /* at the end of an open segment: cut at the next start */
    uint64_t damaged;        /* findings */
    uint64_t remote;         /* of the objects: fetched from the object store, and checked */
    uint64_t unreachable;    /* what could not be fetched, or was not tried again after that */
};

/* TC_OK when all could be read, damaged or not; or all but what is unreachable: then err says why
 * the first of it is. TC_E_IO, with a message, when not. */
TC_CHECKED tc_status tc_evidence_verify(struct tc_evidence *e, const struct tc_verify_sink *sink,
                                        struct tc_verify_result *out, struct tc_error *err);

#endif
