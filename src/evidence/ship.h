/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that go to an object store (evidence.remote), and come back to be read. This room keeps
 * the books: which objects wait, which have a verified copy (shipped.idx), where that is (the file
 * `remote`). Whoever speaks to the store does the rest. docs/internals/remote-evidence.md.
 */
#ifndef TC_EVIDENCE_SHIP_H
#define TC_EVIDENCE_SHIP_H

#include "evidence/store.h"

/* ---- writing: one thread ---- */

/* Of a path; with the NUL. */
#define TC_STORE_PATH_BYTES 4096

/*
 * The oldest object that has no verified copy and whose batches come after number `after`, and the
 * file with its bytes. *out_any false: there is none.
 */
TC_CHECKED tc_status tc_store_unshipped(struct tc_store *s, uint64_t after,
                                        struct tc_object_info *out_info,
                                        char out_path[TC_STORE_PATH_BYTES], bool *out_any,
                                        struct tc_error *err);
/* Its copy was verified: durable when it returns. From now on the object may be deleted here. */
TC_CHECKED tc_status tc_store_mark_shipped(struct tc_store *s, const struct tc_object_info *info,
                                           struct tc_error *err);

/* ---- reading ---- */

#define TC_REMOTE_TEXT_MAX 1024

/* Where the objects of a store have been copied to, as the store itself notes it. */
struct tc_remote_place {
    char url[TC_REMOTE_TEXT_MAX];
    char credentials[TC_REMOTE_TEXT_MAX]; /* a file; "": the environment's */
};
/* TC_E_NOTFOUND: its objects were never shipped. */
TC_CHECKED tc_status tc_remote_place_read(const char *dir, struct tc_remote_place *out,
                                          struct tc_error *err);

/*
 * How a reader gets an object that is here no more. fetch gives a descriptor with its bytes, whose
 * SHA-256 it has checked; the reader closes it. TC_E_AGAIN: the object store cannot be reached, or
 * refuses; TC_E_MALFORMED: its copy is damaged or gone. err names object and cause.
 */
struct tc_evidence_remote {
    tc_status (*fetch)(void *context, const struct tc_object_info *info, int *out_fd,
                       struct tc_error *err);
    void (*destroy)(void *context); /* with the reader */
    void *context;
    const char *name; /* of the place, for messages; lives as long as context */
};
/* Without it such objects count as deleted. Takes remote's context. */
void tc_evidence_fetch_from(struct tc_evidence *e, const struct tc_evidence_remote *remote);
/* Where a walk begins that is to see what arrived from since_ns on and is in the object store
 * alone: *io_from, or before it. */
TC_CHECKED tc_status tc_evidence_remote_from(struct tc_evidence *e, int64_t since_ns,
                                             uint64_t *io_from, struct tc_error *err);

#endif
