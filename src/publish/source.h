/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the bytes are that a claim stands on: the files and the ledger of a data_dir, or a packet
 * that was exported from one.
 */
#ifndef TC_PUBLISH_SOURCE_H
#define TC_PUBLISH_SOURCE_H

#include "base/digest.h"
#include "base/status.h"
#include "evidence/files/files.h"
#include "publish/claim.h"
#include "run/again.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_made;

/* What goes with a run beside its files. */
struct tc_run_proof {
    char *record; /* what the ledger says of it, its very bytes; NULL: nothing */
    size_t record_len;
    bool is_signed;
    struct tc_digest signature; /* of the envelope */
};

/* Contents by digest. Checked: TC_E_NOTFOUND, TC_E_MALFORMED as evidence/files/files.h has them. */
struct tc_source {
    void *context;
    tc_status (*read)(void *context, const struct tc_digest *digest, uint64_t size_max,
                      char **out_bytes, size_t *out_len, struct tc_error *err);
    tc_status (*check)(void *context, const struct tc_digest *digest, uint64_t *out_size,
                       struct tc_error *err);
    struct tc_run_bytes bytes;
    struct tc_run_proof *proofs; /* one for each run of the claim */
    size_t proof_count;
    struct tc_made *made; /* for tables that several claims may share; NULL: each has its own */
};

/* Of a data_dir; the proofs are read for the runs of a claim. tc_source_fini frees what it holds,
 * also after a failure. */
TC_CHECKED tc_status tc_source_stored(const char *data_dir, struct tc_files *files,
                                      struct tc_warehouse *w, const struct tc_claim *claim,
                                      struct tc_source *out, struct tc_error *err);
void tc_source_fini(struct tc_source *source);

#endif
