/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of a number that was published in a data_dir, from its row to its raw bytes. */
#ifndef TC_PUBLISH_LINEAGE_H
#define TC_PUBLISH_LINEAGE_H

#include "base/json/out.h"
#include "base/status.h"
#include "evidence/files/files.h"
#include "evidence/sign/sign.h"
#include "publish/chain.h"
#include "publish/numbers.h"
#include "warehouse/warehouse.h"

struct tc_lineage_want {
    const char *data_dir;
    struct tc_warehouse *w;
    struct tc_files *files;
    const struct tc_numbers *numbers; /* of this data_dir */
    const struct tc_sign_key *key;    /* NULL: any signature will do */
    struct tc_made *made;             /* tables that several calls share; NULL: made each time */
};

/* out_claim is filled when there is a sound entry; tc_claim_fini frees it in any case. TC_OK:
 * judged, see tc_chain_broken; a failure: it cannot be told. */
TC_CHECKED tc_status tc_lineage_check(const struct tc_lineage_want *want,
                                      const struct tc_number *number, struct tc_chain *out,
                                      struct tc_claim *out_claim, struct tc_error *err);
/* The steps of the tables and of the raw files, for a claim that is to be published. */
TC_CHECKED tc_status tc_lineage_candidate(const struct tc_lineage_want *want,
                                          const struct tc_claim *claim, struct tc_chain *out,
                                          struct tc_error *err);

/* The number, whether it is safe, its steps, its claim: one object. */
void tc_lineage_json(struct tc_json_out *j, const char *id, const struct tc_claim *claim,
                     const struct tc_chain *chain);

#endif
